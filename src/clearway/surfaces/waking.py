"""Waiting for messages and for an issue, and waking a client whose turn is over.

What wakes is a message that somebody has to take and that was not shown to the session yet; broadcasts, results and
what is held back do not. `--rewake` is what a client runs in the background: it says numbers and no text (its context
hook brings that), leaves with its client, and never wakes one session by the words of one sender without end.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from clearway import platforms, wire
from clearway.alive import Liveness, Process
from clearway.clock import Clock
from clearway.config import Caller
from clearway.crew import agents, messages
from clearway.db import Row
from clearway.errors import Refusal
from clearway.limits import PAYLOAD_BYTES_MAX, WAIT_SECONDS_MAX
from clearway.surfaces.bell import Bell
from clearway.surfaces.waiting import pause_ms, typed_span, until_free
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.room import Room
    from clearway.rooms import Rooms

WAKES = 2  # the exit status on which a client begins a turn
_AGAIN_MS = 5_000  # a room that cannot be asked is asked again after this
_CLEARED_MS = 3 * WAIT_SECONDS_MAX * 1_000
_A_LONG_TIME_MS = 60_000  # when nothing is due, so often it is looked whether something is


class Arrivals:
    """The eyes of one session on what comes for it. Nothing in the way means that something has come.

    client: the process whose end ends the wait. idle: only what comes while no turn is on counts; what comes during one
    is seen when that is over.
    """

    def __init__(
        self,
        room: Room,
        caller: Caller,
        liveness: Liveness,
        client: Process | None = None,
        *,
        idle: bool = False,
        bell: Bell | None = None,
    ) -> None:
        self.found: list[Row] = []
        self.left = False  # the session has ended, or the client whose session this is
        self.room = room
        self._caller = caller
        self._liveness = liveness
        self._client = client
        self._idle = idle
        self._stamp = 0
        self._bell = bell

    @property
    def glance_ms(self) -> int:
        return pause_ms(self._bell, near=self.room.engine.name == "sqlite")

    def look(self) -> list[Row]:
        self._stamp = self.room.engine.stamp()  # before the look: what happens between the two is seen again
        self.found = []
        if self.ended([]):
            return []
        due = self.room.run(self._ask, caller=self._caller, writes=False)
        if self.found or self.left:
            return []
        return [Row(left_ms=_A_LONG_TIME_MS if due is None else due)]

    def _ask(self, tx: Tx) -> int | None:
        tx.silent = True  # whoever waits gives no sign of life by it
        if self._idle and tx.opening.ended_at is not None:  # whoever goes on in its place has a waiter of its own
            self.left = True
            return None
        if self._idle and agents.is_busy(tx):
            return None
        self.found = messages.waking(tx)
        return messages.next_due(tx)

    def changed(self) -> bool:
        return not (self._bell and self._bell.is_needless()) and self.room.engine.stamp() != self._stamp

    def ended(self, blockers: list[Row]) -> bool:
        if self._client is not None and self._liveness.is_dead(self._caller.host, self._client):
            self.left = True
        return self.left


def for_mail(rooms: Rooms, caller: Caller, folder: str, timeout: str) -> list[dict[str, Any]]:
    """Wait for a message to the caller; those that came, which are now shown to it. Empty when the time is over."""
    room = rooms.of_folder(folder)
    clock = Clock()
    bell = Bell(rooms.settings, [room.project], clock)
    eyes = Arrivals(room, caller, rooms.liveness, bell=bell)
    _until(eyes, bell, clock, span(timeout))
    return [] if not eyes.found else room.run(lambda tx: messages.handed(tx, eyes.found), caller=caller)


def for_issue(rooms: Rooms, caller: Caller, folder: str, issue: str, timeout: str) -> bool:
    """Wait until nobody works on an issue; whether that came."""
    room = rooms.of_folder(folder)
    clock = Clock()
    bell = Bell(rooms.settings, [room.project], clock)
    return not _until(_Holder(room, caller, rooms.liveness, issue, bell), bell, clock, span(timeout))


def _until(eyes: Arrivals, bell: Bell, clock: Clock, timeout_ms: int) -> list[Row]:
    try:
        return until_free(eyes, clock, timeout_ms, bell.pause)
    finally:
        bell.close()


class _Holder(Arrivals):
    """The eyes of one who waits for the end of somebody's work."""

    def __init__(self, room: Room, caller: Caller, liveness: Liveness, issue: str, bell: Bell) -> None:
        super().__init__(room, caller, liveness, bell=bell)
        self._issue = issue

    def look(self) -> list[Row]:
        from clearway.work import issues

        self._stamp = self.room.engine.stamp()

        def ask(tx: Tx) -> Row | None:
            tx.silent = True
            return issues.live_attempt(tx, issues.find(tx, self._issue).id)

        holder = self.room.run(ask, caller=self._caller, writes=False)
        return [] if holder is None else [Row(left_ms=1_000)]


def rewake(rooms: Rooms, agent: str, folder: str, timeout: str) -> int:
    """What a client runs when a session has begun or a turn is over: 2 and numbers on stderr when a message has come,
    0 whatever else happens. Its payload on stdin says whose session it is."""
    try:
        payload = _payload()
        session = payload.get("session_id") or rooms.settings.session
        where = payload.get("cwd") or folder
        if rooms.settings.off or not isinstance(session, str) or not session or not isinstance(where, str):
            return 0
        place = alone(rooms.settings.home, session, Clock().wall())
        if place is None:  # another one waits for this session already
            return 0
        try:
            return _rewake(rooms, Caller(agent, session, cwd=where, host=rooms.liveness.host), span(timeout))
        finally:
            os.close(place)
    except Exception:
        return 0  # a client reads any other status as a message


def _rewake(rooms: Rooms, caller: Caller, timeout_ms: int) -> int:
    pid = rooms.settings.environ.get("CLAUDE_PID") or rooms.settings.environ.get("CLEARWAY_PID") or ""
    client = rooms.liveness.identify(int(pid)) if pid.isascii() and pid.isdigit() else None
    if (pid and client is None) or (client is not None and _ends_with_its_turn(client.pid)):
        return 0
    clock = Clock()
    until = clock.monotonic() + timeout_ms
    while (left := until - clock.monotonic()) > 0:
        try:
            room = rooms.of_folder(caller.cwd)
            bell = Bell(rooms.settings, [room.project], clock)
            eyes = Arrivals(room, caller, rooms.liveness, client, idle=True, bell=bell)
            _until(eyes, bell, clock, left)
            if eyes.left or not eyes.found:
                return 0
            return _wake(eyes, caller)
        except Refusal as refusal:
            # Nobody else waits for this session: what passes is waited out.
            if not refusal.is_of_storage or (client is not None and rooms.liveness.is_dead(caller.host, client)):
                return 0
            clock.pause(min(_AGAIN_MS, left))
    return 0


def _ends_with_its_turn(pid: int) -> bool:
    """Whether a client was asked one question (`claude -p`): it is never idle, and before it ends it waits half a
    minute for whoever waits for it."""
    words = platforms.command_line(pid)
    return bool({"-p", "--print"} & set(words)) and not any("stream-json" in word for word in _inputs(words))


def _inputs(words: list[str]) -> list[str]:
    """How a client takes what it is told, if its command line says."""
    option = "--input-format"
    after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == option]
    return [*after, *(word for word in words if word.startswith(f"{option}="))]


def _wake(eyes: Arrivals, caller: Caller) -> int:
    eyes.room.run(lambda tx: messages.woke(tx, eyes.found), caller=caller, durable=False)
    print(pointer(eyes.found), file=sys.stderr, flush=True)
    return WAKES


def pointer(found: list[Row]) -> str:
    """What a woken model reads first: numbers and senders, and none of their words."""
    named = ", ".join(f"#{message.id} from {folded(message.sender, 40)}" for message in found)
    return f"[clearway] Messages wait for you: {named}. read_inbox shows them."


def span(timeout: str) -> int:
    """A length of time as it is typed, in ms."""
    return typed_span("wait", "timeout", timeout, WAIT_SECONDS_MAX)


def _payload() -> dict[str, Any]:
    """What the client's hook says, if it says anything."""
    source = getattr(sys.stdin, "buffer", None)
    if source is None or sys.stdin.isatty():
        return {}
    read = wire.loads(source.read(PAYLOAD_BYTES_MAX) or b"{}")
    return read if wire.is_object(read) else {}


def alone(home: str, session: str, wall: int) -> int | None:
    """The place of the one who waits for a session, or None. Places in which nobody can wait any more are cleared."""
    file = _lock_of(home, session)
    held = platforms.hold_alone(file)
    if held is not None:
        os.utime(held)
        platforms.remove_older(os.path.dirname(file), wall - _CLEARED_MS)
    return held


def _lock_of(home: str, session: str) -> str:
    folder = os.path.join(home, "run", "wake")
    platforms.make_private(folder)
    return os.path.join(folder, platforms.digest(session.encode("utf-8", "surrogatepass"))[:32])
