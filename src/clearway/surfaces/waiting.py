"""Waiting for a path: nothing is written, and waiting is no sign of life.

A running host says when the room has changed (bell.py). Without one it is seen by a glance at the file's own counter, a
few dozen times a second. Only then is the room asked. What changes nothing in the room - a term that runs out, a
holder's process that ends - is watched beside it. `until_free` is the whole of the waiting and knows neither rooms nor
paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from clearway import arguments
from clearway.alive import Liveness, Process
from clearway.clock import Clock
from clearway.crew import leases
from clearway.errors import Refusal
from clearway.limits import WAIT_SECONDS_MAX
from clearway.surfaces.bell import SLEEP_MS, Bell

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.config import Caller
    from clearway.db import Row
    from clearway.db.tx import Tx
    from clearway.repository import Place
    from clearway.room import Room
    from clearway.rooms import Rooms

TIMED_OUT = 124  # the exit status
GLANCE_MS = 30
FAR_GLANCE_MS = 250  # at a room on a server
_PROCESS_MS = 250
_AGAIN_MS = 1_000  # a term that is over and still carried by beats is looked at again after this


class Eyes(Protocol):
    """What a wait looks with."""

    @property
    def glance_ms(self) -> int:
        """How long to sleep between two glances."""
        ...

    def look(self) -> list[Row]:
        """What is in the way, each with `left_ms`; nothing when the wait is over."""
        ...

    def changed(self) -> bool:
        """Whether anything at all has happened since the last look."""
        ...

    def ended(self, blockers: list[Row]) -> bool:
        """Whether the process of one of them is gone."""
        ...


def until_free(eyes: Eyes, clock: Clock, timeout_ms: int, pause: Callable[[float], object] | None = None) -> list[Row]:
    """Wait until nothing is in the way, at most so long; what still is when the time is over. pause: sleeps so many ms
    or less."""
    pause = pause or clock.pause
    began = clock.monotonic()
    blockers, looked = eyes.look(), began
    watched = looked
    while blockers:
        now = clock.monotonic()
        left = began + timeout_ms - now
        if left <= 0:
            break
        due = looked + max(min(each.left_ms for each in blockers), _AGAIN_MS)
        seen_to_end = now - watched >= _PROCESS_MS
        watched = now if seen_to_end else watched
        if eyes.changed() or now >= due or (seen_to_end and eyes.ended(blockers)):
            blockers, looked = eyes.look(), now
        else:
            pause(min(eyes.glance_ms, left))
    return blockers


def typed_span(word: str, option: str, typed: str, seconds_max: int) -> int:
    """A length of time as it is typed behind an option (90s, 30m, 2h, or seconds), in ms."""
    said = f"{typed}s" if typed.isdecimal() else typed
    try:
        return arguments.Span(seconds_max).check(said, option, arguments.Where("", Clock()))
    except arguments.Problem as problem:
        raise Refusal("INVALID_ARGUMENT", f"{word}: {problem.field} {problem}.") from None


def for_paths(rooms: Rooms, caller: Caller, paths: list[str], timeout: str) -> list[Row]:
    """Wait until these paths are free for the caller; what still is in the way when the time is over.

    timeout: a length of time as it is typed (30m).
    """
    timeout_ms = typed_span("wait", "timeout", timeout, WAIT_SECONDS_MAX)
    by_room: dict[int, tuple[Room, list[Place]]] = {}
    for path in paths:
        room, place = rooms.placed(path, caller.cwd)
        by_room.setdefault(id(room), (room, []))[1].append(place)
    real = Clock()  # a person waits in real time, whatever time it is in the room
    bell = Bell(rooms.settings, [room.project for room, _ in by_room.values()], real)
    try:
        return until_free(RoomEyes(list(by_room.values()), caller, rooms.liveness, bell), real, timeout_ms, bell.pause)
    finally:
        bell.close()


class RoomEyes:
    """The eyes of one caller on places in one or several rooms."""

    def __init__(
        self,
        rooms: list[tuple[Room, list[Place]]],
        caller: Caller,
        liveness: Liveness,
        bell: Bell | None = None,
    ) -> None:
        self._rooms = rooms
        self._bell = bell
        self._caller = caller
        self._liveness = liveness
        self._stamps: list[int] = []
        self._near = all(room.engine.name == "sqlite" for room, _ in rooms)

    @property
    def glance_ms(self) -> int:
        return pause_ms(self._bell, near=self._near)

    def look(self) -> list[Row]:
        self._stamps = self._glance()  # before the look: what happens between the two is seen again
        found: list[Row] = []
        for room, places in self._rooms:
            found += room.run(lambda tx, places=places: _blockers(tx, places), caller=self._caller, writes=False)
        return found

    def changed(self) -> bool:
        return not (self._bell and self._bell.is_needless()) and self._glance() != self._stamps

    def ended(self, blockers: list[Row]) -> bool:
        return any(
            self._liveness.is_dead(each.host, Process(each.boot, each.pidns, each.pid, each.started))
            for each in blockers
            if each.pid is not None
        )

    def _glance(self) -> list[int]:
        return [room.engine.stamp() for room, _ in self._rooms]


def pause_ms(bell: Bell | None, *, near: bool) -> int:
    """How long to sleep between two glances at a room."""
    if bell is not None and bell.is_there:
        return SLEEP_MS
    return GLANCE_MS if near else FAR_GLANCE_MS


def _blockers(tx: Tx, places: list[Place]) -> list[Row]:
    tx.silent = True  # whoever waits gives no sign of life by it
    return leases.blockers(tx, places)


def shown(blockers: list[Row]) -> list[dict[str, Any]]:
    """What is still in the way, as a reply shows it."""
    return [{"path": each.shown, "agent": each.agent, "session": each.session} for each in blockers]
