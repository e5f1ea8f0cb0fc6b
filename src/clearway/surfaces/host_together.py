"""The threads of a host that write: one after the other in each room, and together when they wait for the disk.

Processes wait for their turn at a room in seats and in a line (db/turns.py). Threads of one process need not: each is
let in when the one before it leaves. And a sync of the log covers all that was committed before it began, so whoever
comes while one is under way shares the next with everybody else who does. What is acknowledged is on the disk, as ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from clearway.db.sqlite import shorten


class Together:
    """What db/sqlite.py asks while a host is running. For any thread."""

    def __init__(
        self,
        aside: Callable[[], object],
        back: Callable[[], object],
        submit: Callable[[Callable[[object], object]], object],
    ) -> None:
        """aside, back: whoever calls waits for the disk, and another may work meanwhile. submit: lets a worker do
        something."""
        self._submit = submit
        self._shortened: set[str] = set()  # rooms whose logs are being shortened
        self._aside = aside
        self._back = back
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._rounds: dict[tuple[int, int], _Rounds] = {}

    def take(self, room: str, wait_ms: int) -> bool:
        """Wait for the turn to write in a room. False when it did not come in time."""
        with self._lock:
            turn = self._turns.setdefault(room, threading.Lock())
        return turn.acquire(timeout=wait_ms / 1_000) if wait_ms > 0 else turn.acquire(blocking=False)

    def leave(self, room: str) -> None:
        self._turns[room].release()

    def sync(self, log: tuple[int, int], act: Callable[[], object]) -> None:
        """Return when a sync that began after now has ended well. log: which file; act: syncs it, or raises OSError."""
        with self._lock:
            rounds = self._rounds.setdefault(log, _Rounds(self._lock))
            rounds.here += 1
        self._aside()
        try:
            rounds.wait(act)
        finally:
            self._back()
            with self._lock:
                rounds.here -= 1
                if not rounds.here:  # logs come and go
                    del self._rounds[log]

    def shorten(self, room: str) -> None:
        """Let a worker bring a long log into its file: no writer waits for that."""
        with self._lock:
            if room in self._shortened:
                return
            self._shortened.add(room)
        self._submit(lambda _: self._shorten(room))

    def _shorten(self, room: str) -> None:
        self._aside()
        try:
            shorten(room)
        finally:
            self._back()
            with self._lock:
                self._shortened.discard(room)


class _Rounds:
    """The syncs of one file, one after the other."""

    __slots__ = ("_begun", "_ended", "_failed", "_turn", "here")

    def __init__(self, lock: threading.Lock) -> None:
        self._turn = threading.Condition(lock)
        self._begun = self._ended = 0
        self._failed: dict[int, tuple[int | None, str]] = {}
        self.here = 0  # who waits

    def wait(self, act: Callable[[], object]) -> None:
        with self._turn:
            mine = self._begun + 1  # the next to begin is the first that covers what is committed now
            while self._ended < mine:
                if self._begun == self._ended:
                    self._lead(act)
                else:
                    self._turn.wait()
            if mine in self._failed:
                raise OSError(*self._failed[mine])

    def _lead(self, act: Callable[[], object]) -> None:
        """Do it for all who came before. Called with the lock, which others have meanwhile."""
        self._begun += 1
        self._turn.release()
        failed: tuple[int | None, str] | None = None, "the sync was broken off"
        try:
            act()
            failed = None
        except OSError as error:
            failed = error.errno, error.strerror or type(error).__name__
        finally:
            self._turn.acquire()
            self._ended = self._begun
            if failed is not None:
                self._failed[self._ended] = failed
            self._turn.notify_all()
