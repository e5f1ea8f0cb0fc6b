"""What a thread that waits for sockets answers itself: a short question to a room that lies open before it.

To hand a question to a worker costs more than most of them take. So a thread that has to see to everybody asks a room
itself where it cannot be held up: the operation only reads, a worker has left the room open, no lock is waited for, and
a query that takes longer than a bound is broken off. Everything else raises NotAtHand: it is one for a worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.db.sqlite import SqliteEngine
from clearway.errors import Refusal
from clearway.guard import quiet
from clearway.limits import (
    HOST_AT_ONCE_MS,
    HOST_AT_ONCE_PART,
    HOST_AT_ONCE_ROUND_MS,
    HOST_ROOMS_OPEN_MAX,
    HOST_WORKER_IDLE_SECONDS,
)
from clearway.op import Operation
from clearway.room import Room
from clearway.rooms import NotAtHand, Rooms
from clearway.surfaces.host_work import Kept, Worker

if TYPE_CHECKING:
    from clearway.surfaces.host import Host

_SLOW_MAX = 1_000  # that are kept in mind


def _may_wait(operation: Operation, arguments: dict[str, Any]) -> bool:
    """Whoever writes waits for other writers and for the disk, and some ask to be kept waiting."""
    return operation.writes_with(arguments) or "wait_seconds" in arguments


class AtOnce(Kept):
    """The rooms that lie open before one thread. Only `offer` is for others."""

    def __init__(self, host: Host, later: Callable[[Callable[[], object]], object]) -> None:
        """later: lets that thread do something."""
        super().__init__(host.workers.liveness)
        self._host = host
        self._clock = Clock()
        self._later = later
        self._has: set[tuple[str, str]] = set()  # clocks and projects
        self._slow: dict[tuple[str, str], int] = {}  # until when an operation is left to workers, by folder (ns)
        self._round = 0  # how long this thread had worked when it began
        self._used = quiet.now()

    def begin_round(self) -> None:
        """All who had something to say were heard. In one round not too much is done here."""
        self._round = self._clock.worked()

    def reply(
        self,
        by: str,
        settings: Settings,
        operation: Operation,
        arguments: dict[str, Any],
        who: Callable[[Rooms], Caller],
    ) -> dict[str, Any]:
        """Answer one question, as `Rooms.ask` does."""
        shelf, began, worked = self.shelf(settings.test_clock), quiet.now(), self._clock.worked()
        if not shelf.rooms or _may_wait(operation, arguments):
            raise NotAtHand
        if worked - self._round > HOST_AT_ONCE_ROUND_MS * 1_000:
            raise NotAtHand
        code, where = "", (operation.name, "")
        rooms = Rooms(settings, say=self._host.say, shelf=shelf, opens=False)
        try:
            caller = who(rooms)
            where = operation.name, caller.cwd
            if self._slow.get(where, 0) > began:
                raise NotAtHand
            reply = rooms.ask(operation, arguments, caller)
        except Refusal as refusal:
            code = refusal.code
            if refusal.is_of_storage or code == "STORAGE_BUSY":
                self._note(where, began, worked)
                raise NotAtHand from None
            raise
        finally:
            rooms.close()
            self._used = began
        self._note(where, began, worked)
        self._host.counted.question(by, operation.name, code, quiet.elapsed(began))
        return reply

    def _note(self, where: tuple[str, str], began: int, worked: int) -> None:
        """What has taken long is left to workers for so long that it takes no more than its part of this thread. The
        time that it has worked counts: on a busy machine others work in between."""
        took = self._clock.worked() - worked
        if took > HOST_AT_ONCE_MS * 1_000:
            if len(self._slow) >= _SLOW_MAX:
                self._slow.clear()
            self._slow[where] = began + HOST_AT_ONCE_PART * took * 1_000

    # --- what lies open ---------------------------------------------------------------------------------------------

    def offer(self, worker: Worker, settings: Settings, projects: list[str]) -> None:
        """For a worker's thread: it has asked these rooms, and leaves us those that we lack."""
        shelf, clock = worker.shelf(settings.test_clock), settings.test_clock
        for project in projects:
            room = shelf.rooms.get((project, True))
            if room is None or (clock, project) in self._has or not isinstance(room.engine, SqliteEngine):
                continue
            if len(self._has) >= HOST_ROOMS_OPEN_MAX:
                return
            self._has.add((clock, project))
            del shelf.rooms[project, True]
            self._later(lambda room=room, engine=room.engine: self._put(clock, room, engine))

    def _put(self, clock: str, room: Room, engine: SqliteEngine) -> None:
        engine.hurry(HOST_AT_ONCE_MS)
        self.shelf(clock).rooms[room.project, True] = room
        self._used = quiet.now()

    def look(self) -> None:
        """Once in a while: what nobody has asked for long is closed, by somebody who has the time."""
        if not self._has or quiet.now() - self._used < HOST_WORKER_IDLE_SECONDS * 1_000_000_000:
            return
        for shelf in self._shelves.values():
            for room in shelf.rooms.values():
                self._host.workers.submit(lambda _, room=room: room.close())
            shelf.rooms.clear()
        self._close_quick()
        self._has.clear()
