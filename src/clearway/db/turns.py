"""Writers of one file take turns: nobody waits long, and nobody keeps the machine busy with asking.

SQLite lets a writer that finds the file busy try again; sixteen that do so keep two cores busy with asking, and the
unlucky one waits long. So each first takes an advisory lock on a small file beside the database. One that finds it
taken looks again a few times, in ever longer pauses, and then queues for it in the kernel. The lock dies with its
process. It is a courtesy, not the protection: that stays SQLite's own lock, which also stops a writer that knows
nothing of turns.
"""

from __future__ import annotations

import os

from clearway.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# Whoever has just written writes again much faster than one that has to be woken and to read anew what changed. Pauses
# let it: sixteen that queue at once are half as quick as sixteen that look again.
LOOKS = 8
FIRST_PAUSE_MS = 0.5
LONGEST_PAUSE_MS = 8.0


class Turns:
    """The turns of one engine on one file; for one thread at a time."""

    __slots__ = ("_clock", "_file", "_held", "_locks", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._clock = Clock()  # turns are waited for in real time, whatever time it is in the room
        self._file: int | None = None
        self._held = False
        self._locks = _locks()

    def take(self, wait_ms: int) -> bool:
        """Wait for the turn. False when it did not come in time; True as well where turns cannot be taken."""
        locks = self._locks
        if locks is None:
            return True
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            locks.flock(self._file, locks.LOCK_EX | locks.LOCK_NB)
            self._held = True
        except BlockingIOError:
            self._held = self._queue(locks, wait_ms)
        except OSError:
            return True  # a folder that cannot be written, a file system without locks: SQLite alone decides
        return self._held

    def leave(self) -> None:
        locks = self._locks
        if self._held and self._file is not None and locks is not None:
            self._held = False
            locks.flock(self._file, locks.LOCK_UN)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._held = False

    def __del__(self) -> None:
        try:
            self.close()  # a descriptor is no object: nobody else would close it
        except Exception:
            pass  # the interpreter is leaving, and closes everything

    def _queue(self, locks: ModuleType, wait_ms: int) -> bool:
        began = self._clock.monotonic()
        pause = FIRST_PAUSE_MS
        for _ in range(LOOKS):
            left = wait_ms - (self._clock.monotonic() - began)
            if left <= 0:
                return False
            self._clock.pause(min(pause * (0.5 + self._clock.random(1)[0] / 255), left))
            pause = min(pause * 2, LONGEST_PAUSE_MS)
            try:
                locks.flock(self._file, locks.LOCK_EX | locks.LOCK_NB)
                return True
            except BlockingIOError:
                pass
        return self._wait(locks, max(0, wait_ms - (self._clock.monotonic() - began)))

    def _wait(self, locks: ModuleType, wait_ms: int) -> bool:
        """The kernel knows no deadline for this lock: another thread waits for it, and lets it go if it comes late."""
        import _thread

        file = self._file
        assert file is not None
        came, late, settling = _thread.allocate_lock(), [False], _thread.allocate_lock()
        came.acquire()

        def wait() -> None:
            try:
                locks.flock(file, locks.LOCK_EX)
            except OSError:
                pass  # the file was closed under us: nobody waits any more
            with settling:
                came.release()
                if late[0]:
                    os.close(file)

        _thread.start_new_thread(wait, ())
        if came.acquire(True, wait_ms / 1_000):
            return True
        with settling:
            if came.acquire(False):
                return True
            late[0] = True
            self._file = None  # the waiting thread closes it
        return False


def _locks() -> ModuleType | None:
    try:
        import fcntl
    except ImportError:  # Windows: SQLite's lock alone
        return None
    return fcntl
