"""What the host does unasked: it lets time pass in the rooms, shortens their logs, writes the day's backups, and parts
with what is old.

Without a host whoever asks next does the rest, and `clearway prune` the last; with one, whoever lost a lease hears of
it soon. A room in which nothing has happened since the last look, and that nobody is in, is left alone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clearway import keeping, retention
from clearway.db.sqlite import SqliteEngine
from clearway.errors import Refusal
from clearway.limits import HOST_SWEEP_MS
from clearway.opencalls import OpenCalls
from clearway.room import Room, beat_folder
from clearway.rooms import Rooms, daily_backup

if TYPE_CHECKING:
    from clearway.surfaces.host import Host
    from clearway.surfaces.host_work import Worker

_LOG_BYTES_LEFT = 262_144  # so much may stand in a log that nobody shortens
_ROOMS_MAX = 200
_DAY_MS = 86_400_000


class Duties:
    """When the rooms of one host were looked at, and how they were then."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._last = host.clock.monotonic()
        self._seen: dict[str, tuple[int, int]] = {}
        self._busy = False
        self._pruned: dict[str, int] = {}

    def look(self, now: int) -> None:
        """Do what is due; in a worker's thread."""
        if self._busy or now - self._last < HOST_SWEEP_MS:
            return
        self._last = now
        self._busy = True
        self._host.workers.submit(self.sweep)

    def sweep(self, worker: Worker) -> None:
        """Look at every room of this home that needs it."""
        try:
            shelf = worker.shelf(self._host.settings.test_clock)
            OpenCalls(self._host.settings.home, shelf.clock).sweep()
            for project in self._projects():
                rooms = Rooms(self._host.settings, say=self._host.say, shelf=shelf)
                try:
                    self._care_for(rooms.of_project(project))
                except Refusal as refusal:
                    if refusal.code != "STORAGE_BUSY":  # then somebody is at work there, who lets time pass
                        self._host.say(f"{project}: {refusal.code}: {refusal.message}")
                finally:
                    rooms.close()
        finally:
            self._busy = False

    def _care_for(self, room: Room) -> None:
        room.settle()
        engine = room.engine
        if not isinstance(engine, SqliteEngine):  # its server keeps it
            self._prune_daily(room)
            return
        if engine.read_only:
            return
        file = daily_backup(engine.path, room.clock)
        if not os.path.exists(file):
            keeping.daily(room, file)
        self._prune_daily(room)
        if _size(engine.path + "-wal") > _LOG_BYTES_LEFT:
            engine.checkpoint()

    def _prune_daily(self, room: Room) -> None:
        """Once a day, after the backup; and once by each new host, which cannot know."""
        day = room.clock.wall() // _DAY_MS
        if self._pruned.get(room.project) == day:
            return
        retention.prune(room, self._host.settings.home)
        self._pruned[room.project] = day

    def _projects(self) -> list[str]:
        """The rooms of this home that somebody is in, and those in files that were changed since the last look."""
        home = self._host.settings.home
        found: list[str] = []
        for project in _listed(os.path.join(home, "rooms"))[:_ROOMS_MAX]:
            file = os.path.join(home, "rooms", project, "room.db")
            state = _changed(file), _changed(file + "-wal")
            is_here = state[0] != 0 or os.path.exists(os.path.join(home, "rooms", project, "address"))
            is_new = state[0] != 0 and state != self._seen.get(project)
            if is_here and (is_new or _listed(os.path.join(beat_folder(home), project))):
                found.append(project)
                self._seen[project] = state
        return found


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _changed(file: str) -> int:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:
        return 0
