"""Writers of one file take turns: in the order they came, woken by the system and not by asking again and again.

SQLite lets a writer that finds the file busy try again; sixteen that do so keep two cores busy with asking, and the
unlucky one waits long. So each first takes an advisory lock on a small file beside the database, and waits for it in
the kernel. It dies with its process. It is a courtesy, not the protection: that stays SQLite's own lock, which also
stops a writer that knows nothing of turns.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


class Turns:
    """The turns of one engine on one file; for one thread at a time."""

    __slots__ = ("_file", "_held", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: int | None = None
        self._held = False

    def take(self, wait_ms: int) -> bool:
        """Wait for the turn. False when it did not come in time; True as well where turns cannot be taken."""
        locks = _locks()
        if locks is None:
            return True
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            locks.flock(self._file, locks.LOCK_EX | locks.LOCK_NB)
            self._held = True
        except BlockingIOError:
            self._held = self._wait(locks, wait_ms)
        except OSError:
            return True  # a folder that cannot be written, a file system without locks: SQLite alone decides
        return self._held

    def leave(self) -> None:
        if self._held and self._file is not None:
            self._held = False
            locks = _locks()
            assert locks is not None
            locks.flock(self._file, locks.LOCK_UN)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._held = False

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
