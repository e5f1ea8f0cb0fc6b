"""`get_changes` with `wait_seconds`: whoever asks for news and finds none is answered when there is some.

The operation itself never waits, since nothing may be waited for inside a transaction. The surface asks again when the
room has changed, and once more when the time is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.clock import Clock
from clearway.db import Row
from clearway.surfaces.bell import Bell
from clearway.surfaces.waiting import pause_ms, until_free

if TYPE_CHECKING:
    from clearway.config import Caller
    from clearway.op import Operation
    from clearway.rooms import Rooms

FAR_MS = 500  # between two questions to a room on a server, which nobody watches
GLANCE_SECONDS = 0.25  # between two questions to a room that this process alone asks
_A_LONG_TIME_MS = 3_600_000


def seconds_left(operation: Operation, arguments: dict[str, Any], reply: dict[str, Any]) -> int:
    """How long to wait for more than this reply says. It was checked when the question was first asked."""
    if operation.name != "get_changes" or reply["events"]:
        return 0
    return arguments.get("wait_seconds") or 0


def asked(rooms: Rooms, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """Answer an operation, waiting here for as long as it says."""
    reply = rooms.ask(operation, arguments, caller)
    seconds = seconds_left(operation, arguments, reply)
    if not seconds:
        return reply
    clock = Clock()
    bell = Bell(rooms.settings, [rooms.of_folder(caller.cwd).project], clock)
    eyes = _News(rooms, operation, arguments, caller, bell)
    try:
        until_free(eyes, clock, seconds * 1_000, bell.pause)
    finally:
        bell.close()
    return eyes.reply


class _News:
    """The eyes of one who waits for what happens next."""

    def __init__(
        self, rooms: Rooms, operation: Operation, arguments: dict[str, Any], caller: Caller, bell: Bell
    ) -> None:
        self.reply: dict[str, Any] = {}
        self._ask = lambda: rooms.ask(operation, arguments, caller)
        self._engine = rooms.of_folder(caller.cwd).engine
        self._bell = bell
        self._stamp = 0

    @property
    def glance_ms(self) -> int:
        return pause_ms(self._bell, near=self._engine.name == "sqlite")

    def look(self) -> list[Row]:
        self._stamp = self._engine.stamp()  # before the look: what happens between the two is seen again
        self.reply = self._ask()
        return [] if self.reply["events"] else [Row(left_ms=_A_LONG_TIME_MS)]

    def changed(self) -> bool:
        return not self._bell.is_needless() and self._engine.stamp() != self._stamp

    def ended(self, blockers: list[Row]) -> bool:
        return False
