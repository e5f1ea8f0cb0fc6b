"""The threads of the host in which rooms are asked.

A room is for one thread, and may wait for a lock there. So each worker keeps rooms of its own, and whichever worked
last works next: one thread with warm rooms serves a quiet house, and a question that waits holds up nobody else. A
worker with nothing to do for a while closes its rooms and ends.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from clearway.alive import Liveness
from clearway.clock import Clock, FileClock
from clearway.db.sqlite import identity_of
from clearway.guard.quiet import open_as_it_is
from clearway.limits import (
    HOST_ROOMS_OPEN_MAX,
    HOST_WORKER_IDLE_SECONDS,
    HOST_WORKERS_ASIDE_MAX,
    HOST_WORKERS_AT_ONCE,
    HOST_WORKERS_MAX,
)
from clearway.rooms import Shelf


class Kept:
    """The rooms that one thread keeps open, by the clock that they were made with."""

    def __init__(self, liveness: Liveness) -> None:
        self._liveness = liveness
        self._shelves: dict[str, Shelf] = {}
        self._quick: dict[str, tuple[tuple[int, int], Any]] = {}

    def shelf(self, test_clock: str) -> Shelf:
        found = self._shelves.get(test_clock)
        if found is None:
            clock = FileClock(test_clock) if test_clock else Clock()
            found = self._shelves[test_clock] = Shelf(clock, self._liveness)
        return found

    def connect(self, file: str) -> Any:
        """The file of a room, for the one question that guard/quiet.py asks it."""
        here = identity_of(file)
        known = self._quick.get(file)
        if known is None or known[0] != here:
            if len(self._quick) >= HOST_ROOMS_OPEN_MAX or known is not None:
                self._close_quick()
            known = self._quick[file] = here, open_as_it_is(file)
        return known[1]

    def close(self) -> None:
        self._close_quick()
        for shelf in self._shelves.values():
            shelf.close()

    def close_oldest(self) -> None:
        """Those that were asked longest ago, where there are too many."""
        for shelf in self._shelves.values():
            while len(shelf.rooms) > HOST_ROOMS_OPEN_MAX:
                shelf.rooms.pop(next(iter(shelf.rooms))).close()

    def _close_quick(self) -> None:
        for _, connection in self._quick.values():
            connection.close()
        self._quick.clear()


class Worker(Kept):
    """One thread, and what it keeps."""

    def __init__(self, workers: Workers) -> None:
        super().__init__(workers.liveness)
        self._workers = workers
        self._inbox: SimpleQueue[Act | None] = SimpleQueue()
        threading.Thread(target=self._work, name="rooms", daemon=True).start()

    def give(self, act: Act | None) -> None:
        """The next thing to do; None ends it."""
        self._inbox.put(act)

    def _work(self) -> None:
        try:
            while self._do_next():
                pass
        finally:
            self.close()

    def _do_next(self) -> bool:
        try:
            act = self._inbox.get(timeout=HOST_WORKER_IDLE_SECONDS)
        except Empty:
            return not self._workers.dismiss(self)
        if act is None:
            return False
        try:
            act(self)
        except BaseException as error:
            self._workers.complain(error)
        self.close_oldest()
        self._workers.rest(self)
        return True


Act = Callable[[Worker], object]


class Workers:
    """A few threads, which is as many as one interpreter has use for; more of them when those that there are wait for
    something themselves. What is asked meanwhile waits for its turn."""

    def __init__(
        self, liveness: Liveness, complain: Callable[[BaseException], None], look_soon: Callable[[], object]
    ) -> None:
        """look_soon: somebody is to call `grow` after a moment, and again until it says that nothing waits."""
        self.liveness = liveness
        self.complain = complain
        self._look_soon = look_soon
        self._first_then: Act | None = None
        self._lock = threading.Lock()
        self._resting: list[Worker] = []
        self._waiting: deque[Act] = deque()
        self._count = 0
        self._aside = 0  # of those at work, who wait for the disk
        self._closed = False

    def submit(self, act: Act) -> None:
        with self._lock:
            if self._has_room() and self._begin(act):
                return
            self._waiting.append(act)
        self._look_soon()

    def _has_room(self) -> bool:
        aside = min(self._aside, HOST_WORKERS_ASIDE_MAX)
        return self._count - len(self._resting) - aside < HOST_WORKERS_AT_ONCE

    def step_aside(self) -> None:
        """Whoever calls waits for the disk: another may begin."""
        with self._lock:
            self._aside += 1
            if self._waiting and self._has_room() and self._count < HOST_WORKERS_MAX and self._begin(self._waiting[0]):
                self._waiting.popleft()

    def step_back(self) -> None:
        with self._lock:
            self._aside -= 1

    def grow(self) -> bool:
        """Let one more begin if nothing has moved since the last look. Whether anything waits."""
        with self._lock:
            first = self._waiting[0] if self._waiting else None
            is_stuck = first is not None and first is self._first_then and self._count < HOST_WORKERS_MAX
            if first is not None and is_stuck and self._begin(first):
                self._waiting.popleft()
            self._first_then = self._waiting[0] if self._waiting else None
            return self._first_then is not None

    def _begin(self, act: Act) -> bool:
        """Let somebody do it. False where the system gives no further thread now: then it waits."""
        if self._resting:
            self._resting.pop().give(act)
            return True
        try:
            worker = Worker(self)
        except RuntimeError:
            return False
        self._count += 1
        worker.give(act)
        return True

    def rest(self, worker: Worker) -> None:
        """This one has finished: it goes on with what waits, else it rests."""
        with self._lock:
            if self._waiting:
                worker.give(self._waiting.popleft())
            elif self._closed:
                self._count -= 1
                worker.give(None)
            else:
                self._resting.append(worker)

    def dismiss(self, worker: Worker) -> bool:
        """Whether it may end; not if it has been given something just now."""
        with self._lock:
            if worker not in self._resting:
                return False
            self._resting.remove(worker)
            self._count -= 1
            return True

    @property
    def count(self) -> int:
        """How many there are."""
        with self._lock:
            return self._count

    @property
    def waiting(self) -> int:
        """How many questions wait for one of them."""
        with self._lock:
            return len(self._waiting)

    @property
    def busy(self) -> int:
        """How many of them are at work."""
        with self._lock:
            return self._count - len(self._resting) + len(self._waiting)

    def close(self) -> None:
        """They end when they have finished."""
        with self._lock:
            self._closed = True
            while self._resting:
                self._count -= 1
                self._resting.pop().give(None)
