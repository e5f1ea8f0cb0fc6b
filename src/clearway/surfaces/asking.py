"""One run of the command line: who asks, in which folder, and how the answer is to be written."""

from __future__ import annotations

import os

from clearway import config, repository
from clearway.clock import ID_CHARS
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.lifecycle import STATUSES, TERMINAL
from clearway.rooms import Rooms
from clearway.surfaces import callers
from clearway.surfaces.saying import columns as columns
from clearway.surfaces.saying import mention as mention
from clearway.surfaces.saying import say as say
from clearway.surfaces.saying import say_json as say_json
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx
    from clearway.op import Operation
    from clearway.repository import Repository
    from clearway.surfaces.render import Paper
    from clearway.surfaces.spelling import Command


# What stands for an argument that is found later, while the others are looked at.
_LIKELY: dict[str, Any] = {"attempt_id": "0" * ID_CHARS, "lease_token": "derived", "expected_version": 1}


# Which issues to list is said by these.
_CHOOSES = frozenset({"statuses", "effective_statuses", "include_archived", "parent_issue_id"})
_REPORTS = frozenset({"overdue"})  # whose exit status says whether there is anything to report


class Run:
    """Made by the first option that says something; rooms are opened when something is asked of them."""

    def __init__(self) -> None:
        self.as_json = False
        self.agent = ""
        self.directory = ""
        self.room = ""
        self._rooms: Rooms | None = None
        self._caller: Caller | None = None

    @property
    def settings(self) -> Settings:
        return self.rooms.settings

    @property
    def rooms(self) -> Rooms:
        if self._rooms is None:
            settings = config.settings()
            settings.room = self.room or settings.room
            self._rooms = Rooms(settings, say=mention)
        return self._rooms

    @property
    def folder(self) -> str:
        """The folder that the command is about: where it runs, or what -C says."""
        try:
            here = os.getcwd()
        except OSError:
            here = ""
        folder = os.path.join(here, os.path.expanduser(self.directory)) if self.directory else here
        if not os.path.isdir(folder):
            raise Refusal("PATH_INVALID", f"There is no folder {folded(folder, 200) or 'here any more'}.")
        if not config.is_text(folder):
            raise Refusal("PATH_INVALID", f"The path {folded(folder, 200)} is not UTF-8; give the folder another name.")
        return folder

    @property
    def place(self) -> Repository | None:
        folder = os.path.realpath(self.folder)
        found = repository.holding(folder)
        if found is None:
            from clearway import worktrees

            found = worktrees.around(folder)
        return found

    @property
    def caller(self) -> Caller:
        if self._caller is None:
            caller = self._named
            if not caller.human:
                caller = callers.in_room(caller, self.rooms.of_repository(self.place), self.settings.environ)
            self._caller = caller
        return self._caller

    @property
    def _named(self) -> Caller:
        """The caller as the command line and its surroundings name it."""
        return callers.of_command(self.settings, self.agent, self.folder, self.rooms.liveness)

    @property
    def paper(self) -> Paper:
        from clearway.surfaces.render import Paper

        now = self.rooms.clock.wall()
        wide = columns()
        environ = self.settings.environ
        colour = bool(wide) and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
        return Paper(now, columns=wide or None, colour=colour)

    def ask(self, operation: Operation, **arguments: Any) -> dict[str, Any]:
        if arguments.get("wait_seconds"):
            from clearway.surfaces import patience

            return patience.asked(self.rooms, operation, arguments, self.caller)
        return self.asked(operation, arguments)

    def asked(self, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of the room. For whoever may not write, as in a sandbox, the host does it, if there is one."""
        try:
            return self.rooms.ask(operation, arguments, self.caller)
        except Refusal as refusal:
            if refusal.code != "STORAGE_FAILURE" or self.settings.room:
                raise
            return self._asked_of_the_host(operation, arguments, refusal)

    def _asked_of_the_host(self, operation: Operation, arguments: dict[str, Any], refusal: Refusal) -> dict[str, Any]:
        """What the host answers; the refusal where there is none, or where we can write: then it may have been done."""
        from clearway.surfaces import host_start
        from clearway.surfaces.remote import Remote

        home = self.settings.home
        if not host_start.is_wanted(self.settings.environ) or host_start.can_write(home):
            raise refusal
        caller = self._caller or self._named  # the room may not even tell who this is
        with Remote(home) as host:
            try:
                return host.ask(operation, arguments, caller)
            except Refusal as answer:
                raise (refusal if answer.code == "STORAGE_CONFIGURATION" else answer) from None

    def own_token(self, held: str | int) -> str:
        """The lease token of an attempt, or of the task of this number: from the environment, else derived again for
        the session that holds it."""
        known = self.settings.environ.get("CLEARWAY_LEASE_TOKEN", "")
        return known or self.rooms.of_folder(self.folder).run(
            lambda tx: _derived_token(tx, held), caller=self.caller, writes=False
        )

    def perform(self, command: Command, given: dict[str, Any]) -> dict[str, Any]:
        """Ask what a command line means. given: what was typed, by slot."""
        from clearway.surfaces import spelling

        asked = spelling.gathered(command, given, self.folder)
        absent = [name for name in command.derived if name not in asked]
        try:
            if absent:
                # Everything else is looked at first: an attempt is sought only under a name that can be one.
                self._check(command.operation, asked | {name: _LIKELY[name] for name in absent})
                asked |= self._derived(command, asked, absent)
            if command.operation.name == "replay" and isinstance(asked.get("at"), str):
                from clearway.surfaces import eventtimes

                asked["at"] = eventtimes.last(self, "at", asked["at"])
            if not self.as_json and command.words == "issue list" and not _CHOOSES.intersection(asked):
                return self._unfinished(command.operation, asked)
            return self.ask(command.operation, **asked)
        except Refusal as refusal:
            if not self.as_json:  # a person typed other words
                refusal.message = refusal.message.replace(f"{command.operation.name}: ", f"{command.words}: ", 1)
            raise

    def _unfinished(self, listing: Operation, asked: dict[str, Any]) -> dict[str, Any]:
        """A list of issues as a person wants it who did not say which: after a year most are finished."""
        finished = sorted(TERMINAL)
        result = self.ask(listing, **asked, statuses=[status for status in STATUSES if status not in TERMINAL])
        hidden = self.ask(listing, **{**asked, "cursor": None, "limit": 1}, statuses=finished)["items"]
        return {**result, "hidden": finished} if hidden else result

    def _derived(self, command: Command, asked: dict[str, Any], absent: list[str]) -> dict[str, Any]:
        """What was not typed and can be found."""
        found: dict[str, Any] = {}
        if "attempt_id" in absent:
            found["attempt_id"] = self._own_attempt()
        if "lease_token" in absent:
            held = asked.get("task_id") or asked.get("attempt_id") or found["attempt_id"]
            found["lease_token"] = self.own_token(_number(held) if "task_id" in asked else held)
        reader = command.reads_version
        if "expected_version" in absent and reader is not None:
            subject = next(slot.name for slot in command.slots if slot.placed)
            found["expected_version"] = self.ask(reader, **{subject: asked[subject]})["version"]
        return found

    def _own_attempt(self) -> str:
        from clearway.work import current

        room = self.rooms.of_folder(self.folder)
        found = room.run(current.attempt, caller=self.caller, writes=False)
        if found is None:
            raise Refusal(
                "INVALID_ARGUMENT", "You work on nothing now; name the attempt, or take an issue with clearway next."
            )
        return found.id

    def answer(self, operation: Operation, result: dict[str, Any], words: str = "") -> int:
        """Show what the room said; the exit status. words: those it was asked with, where they say more than the
        operation."""
        from clearway.surfaces import render

        if self.as_json:
            say_json(result)
        else:
            say(render.text(operation.name, result, self.paper, words))
        return int(operation.name in _REPORTS and bool(result["items"]))

    def close(self) -> None:
        if self._rooms is not None:
            self._rooms.close()

    def _check(self, operation: Operation, asked: dict[str, Any]) -> None:
        from clearway import arguments

        arguments.checked(operation, asked, self.caller, self.rooms.clock)


def _number(written: str | int) -> int:
    """The number of a task as people write it, which was looked at already."""
    return int(str(written).strip().removeprefix("#"))


def _derived_token(tx: Tx, held: str | int) -> str:
    if isinstance(held, int):
        from clearway.crew import taskleases

        return taskleases.own_token(tx, held)
    from clearway.work import attempts

    return attempts.own_token(tx, held)
