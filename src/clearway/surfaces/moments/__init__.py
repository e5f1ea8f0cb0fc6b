"""What a hook does at each moment of a session: before a call, after it, when a turn or a session begins or ends.

Each module takes one `Visit` and gives a `Decision`. They translate between a client's moments and the nouns; what may
be touched, what lapses and what is told is decided there.
"""

from __future__ import annotations

import os

from clearway import config, repository
from clearway.limits import COMPANY_MS
from clearway.opencalls import OpenCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clearway.config import Caller
    from clearway.db.tx import Tx
    from clearway.errors import Refusal
    from clearway.guard.toolcall import ToolCall
    from clearway.room import Room
    from clearway.rooms import Rooms
    from clearway.trail import Trail

OWN_TOOLS = "mcp__clearway__"  # how clients name the tools of our own server


class Decision:
    """What is answered: a reason to deny, context to add, both empty for a silent allow; a warning for the person; why
    the call passes without having been checked; what of held files could not be looked after, as it is counted."""

    __slots__ = ("context", "counted", "deny", "lost", "unchecked", "warning")

    def __init__(self, deny: str = "", context: str = "", warning: str = "") -> None:
        self.deny = deny
        self.counted = ""  # advice that was asked for and not given
        self.context = context
        self.warning = warning
        self.lost = ""
        self.unchecked: Refusal | None = None

    def add(self, text: str) -> None:
        """More context, on lines of its own."""
        self.context = "\n".join(filter(None, (self.context, text)))


def fails_closed(visit: Visit | None, environ: Mapping[str, str], folder: str = "", *, is_late: bool = False) -> bool:
    """What becomes of a call that cannot be checked: what the environment says, else what the room has decided; one
    that cannot be asked any more is remembered. folder: where the client works, if its call could not be understood.
    is_late: there is no time to ask."""
    if config.flag(environ, "CLEARWAY_FAIL_CLOSED") or config.flag(environ, "AGENT_LEASE_FAIL_CLOSED"):
        return True
    from clearway import policy
    from clearway.surfaces.moments import failing

    if visit is None:
        return failing.is_closed_at(folder, environ, is_late=is_late)
    try:
        room = visit.home
        if room is None:
            return False
        return room.run(lambda tx: policy.value(tx, "fail"), caller=visit.caller, writes=False) == "closed"
    except Exception:
        return failing.is_remembered(visit)


def has_others(tx: Tx) -> bool:
    """Whether another session may be here: by the rows, or by a beat of one that has only asked so far."""
    return bool(tx.opening.others) or (tx.beats is not None and tx.beats.others(tx.caller.key, tx.now - COMPANY_MS))


class Visit:
    """One event of one client, and where its answer is found."""

    __slots__ = ("_home", "_looked", "_unread", "_unseen", "call", "caller", "calls", "decision", "later", "rooms")

    def __init__(self, call: ToolCall, rooms: Rooms, caller: Caller) -> None:
        self.call = call
        self.rooms = rooms
        self.caller = caller
        self.calls = OpenCalls(rooms.settings.home, rooms.clock)
        self.decision = Decision()
        self.later: list[Callable[[], object]] = []  # what can wait until the answer is out
        self._unseen: list[tuple[Room, list[int]]] = []
        self._unread: list[tuple[Room, list[int]]] = []
        self._home: Room | None = None
        self._looked = False

    @property
    def key(self) -> str:
        """Whose calls and trail are kept: the session's, or a named holder's."""
        return self.caller.key

    @property
    def trail(self) -> Trail:
        from clearway.trail import Trail

        return Trail(self.rooms.settings.home)

    @property
    def home(self) -> Room | None:
        """The room of the folder in which the client works, or None outside of any repository."""
        if not self._looked:
            found = self.folder()
            self._home = None if found is None else self.rooms.of_repository(found)
            self._looked = True
        return self._home

    def folder(self) -> repository.Repository | None:
        """The repository in which the client works."""
        if not os.path.isabs(self.caller.cwd):
            return None
        return repository.holding(os.path.realpath(self.caller.cwd))

    def workplace(self) -> tuple[str, repository.Repository | None]:
        """The folder in which the call works, and its repository. A command that goes to another repository, which has
        a room already, works there."""
        folder = os.path.join(self.caller.cwd, self.call.folder)
        if not os.path.isabs(folder):
            return folder, None
        folder = os.path.realpath(folder)
        found = repository.holding(folder)
        if self.call.command:
            from clearway.guard import glance

            for named in glance.folders(self.call.command):
                there = os.path.realpath(os.path.join(folder, os.path.expanduser(named)))
                other = repository.holding(there) if os.path.isdir(there) else None
                if other is not None and (found is None or other.root != found.root) and self.has_room(other):
                    return there, other
        return folder, found

    def has_room(self, place: repository.Repository) -> bool:
        """Whether a repository has a room here already. Makes none."""
        from clearway.errors import Refusal

        try:
            return self.rooms.known(place) is not None
        except Refusal as refusal:
            if "inside" in refusal.facts:  # our own state is kept there, and so no room
                return False
            raise

    def is_elsewhere(self) -> bool:
        """Whether another room may have to be asked about this call than that of the client's folder."""
        here, (_, there) = self.folder(), self.workplace()
        return there is not None and (here is None or here.root != there.root)

    def all_rooms(self) -> list[Room]:
        """The room in which the client works, and all in which its session has acted."""
        found = [self.home, *self.rooms.of_session(self.caller.key)]
        return list({id(room): room for room in found if room is not None}.values())

    def hear(self, room: Room, tx: Tx) -> None:
        """Take along what the session has not been told yet in this room. Costs nothing when there is nothing."""
        if not tx.opening.notices or any(known is room for known, _ in self._unseen):
            return
        from clearway.crew import notices

        found = notices.unseen(tx)
        if found is not None:
            self.decision.add(found.text)
            self._unseen.append((room, found.events))

    def read_mail(self, tx: Tx, room: Room, bytes_max: int) -> None:
        """Take along the messages that have come for the session, and what waits for its answer."""
        from clearway.crew import messages

        found = messages.unread(tx, bytes_max)
        self.decision.add(found.text)
        if found.ids:
            self._unread.append((room, found.ids))

    def listen(self) -> None:
        """Nothing is asked of the room in which the client works; it notes that the session lives."""
        room = self.home
        if room is not None:
            room.run(lambda tx: self.hear(room, tx), caller=self.caller, writes=False)

    def minds(self, asked: Callable[[Tx], bool]) -> bool:
        """Whether there is anything in the room in which the client works that is to be looked after. Most sessions are
        alone, and their hooks load nothing more."""
        room = self.home
        return room is not None and room.run(asked, caller=self.caller, writes=False)

    def still_here(self) -> None:
        """A call that lasts holds what its session has. That it ends is a sign of life, which comes before the call
        stops holding."""
        if self.calls.newest(self.key) is not None:
            for room in self.all_rooms():
                room.run(lambda _: None, caller=self.caller, writes=False)

    def was_read(self) -> None:
        """The answer has been written: what it told is not told again."""
        if self._unseen:
            from clearway.crew import notices

            for room, events in self._unseen:
                room.run(lambda tx, events=events: notices.seen(tx, events), caller=self.caller, durable=False)
            self._unseen.clear()
        if self._unread:
            from clearway.crew import messages

            for room, ids in self._unread:
                room.run(lambda tx, ids=ids: messages.show(tx, ids), caller=self.caller)
            self._unread.clear()

    def mark_calls(self) -> None:
        """Rooms on a server are told what the files of this machine say about open calls."""
        from clearway.crew import agents

        for room in self.all_rooms():
            if room.beats is None:
                room.run(agents.mark_call, caller=self.caller, durable=False)

    def end_runs(self, calls: list[tuple[str, list[str]]]) -> None:
        """These calls are over: what they held for their run is free. calls: names, and the rooms in which they held
        something."""
        from clearway.crew import leases

        for room in self.all_rooms() if any(held for _, held in calls) else []:
            names = [name for name, held in calls if room.project in held]
            if names:
                room.run(
                    lambda tx, names=names: [leases.release_run(tx, name) for name in names],
                    caller=self.caller,
                    durable=False,
                )
