"""One run of the command line: who asks, in which folder, and how the answer is to be written."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from clearway import config, repository, wire
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.op import Operation
from clearway.repository import Repository
from clearway.rooms import Rooms
from clearway.surfaces import callers
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.surfaces.render import Paper


class Run:
    """Made by the first option that says something; rooms are opened when something is asked of them."""

    def __init__(self) -> None:
        self.as_json = False
        self.agent = ""
        self.directory = ""
        self._rooms: Rooms | None = None
        self._caller: Caller | None = None

    @property
    def settings(self) -> Settings:
        return self.rooms.settings

    @property
    def rooms(self) -> Rooms:
        if self._rooms is None:
            self._rooms = Rooms(config.settings())
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
        return folder

    @property
    def place(self) -> Repository | None:
        return repository.holding(os.path.realpath(self.folder))

    @property
    def caller(self) -> Caller:
        if self._caller is None:
            caller = callers.of_command(self.settings, self.agent, self.folder, self.rooms.liveness)
            if not caller.human:
                caller = callers.in_room(caller, self.rooms.of_repository(self.place), self.settings.environ)
            self._caller = caller
        return self._caller

    @property
    def paper(self) -> Paper:
        from clearway.surfaces.render import Paper

        now = self.rooms.clock.wall()
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0
        except (OSError, ValueError, AttributeError):
            columns = 0
        if not columns:
            return Paper(now)
        environ = self.settings.environ
        return Paper(now, columns=columns, colour=not environ.get("NO_COLOR") and environ.get("TERM") != "dumb")

    def ask(self, operation: Operation, **arguments: Any) -> dict[str, Any]:
        return self.rooms.ask(operation, arguments, self.caller)

    def own_token(self, attempt: str) -> str:
        """The lease token of an attempt: from the environment, else derived again for the session that holds it."""
        from clearway.work import attempts

        known = self.settings.environ.get("CLEARWAY_LEASE_TOKEN", "")
        room = self.rooms.of_folder(self.folder)
        return known or room.run(lambda tx: attempts.own_token(tx, attempt), caller=self.caller, writes=False)

    def answer(self, operation: Operation, result: dict[str, Any]) -> None:
        from clearway.surfaces import render

        if self.as_json:
            say_json(result)
        else:
            click.echo(render.text(operation.name, result, self.paper))

    def close(self) -> None:
        if self._rooms is not None:
            self._rooms.close()


def say_json(result: Any) -> None:
    """One line of JSON on stdout, in UTF-8 whatever the locale says."""
    click.echo(wire.dumps(result).encode("utf-8", "backslashreplace"))


def this_run() -> Run:
    """The run that the current command belongs to."""
    return click.get_current_context().ensure_object(Run)
