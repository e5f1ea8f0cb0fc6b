"""Writers of one file take turns: nobody waits long, and nobody keeps the machine busy with asking.

SQLite lets a writer that finds the file busy try again; sixteen that do so keep two cores busy with asking, and the
unlucky one waits long. So each first takes an advisory lock on a small file beside the database. Whoever finds it taken
looks for a seat: two may look for the turn again and again, so that one prepares while the other writes, and both stay
at work with what they know in the processor's caches. All others stand in line in the kernel, where they cost nothing;
the first of the line takes a seat when it is left, has not been used for a moment, or was used for long enough. It says
that it looks: behind one that was stopped there (Ctrl-Z, a debugger) nobody stands, and all look for the turn at times.

All of that dies with its process or grows old in a moment. It is a courtesy, not the protection: that stays SQLite's
own lock, which also stops a writer that knows nothing of turns. docs/why/two-write-and-the-rest-sleep.md has the
figures.
"""

from __future__ import annotations

import os

from clearway.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from types import ModuleType

LINE = "-line"  # the file of those who stand in line, beside that of the turn
SEATS = 2
SEAT_MS = 15  # how long a seat is kept while others stand in line
UNUSED_MS = 2  # a seat that was not used for so long is free
LINE_LOOK_MS = 0.3  # how often the first of the line looks for a seat
STILL_MS = 100  # a line whose first has not looked for so long does not move: that process was stopped
FREE_LOOKS = 3  # a turn that was free so many times in a row is taken without a seat: those who sit are busy elsewhere
LOOKS = 100 if (os.cpu_count() or 1) > 1 else 1  # before the first pause: whoever has the turn is about to leave it
PAUSES = 12
FIRST_PAUSE_MS = 0.05
PAUSE_GROWTH = 1.7
LONG_PAUSE_MS = 20
_WORD = 8
_SEAT = 2 * _WORD  # whose it is, and when it was last used (ms of the monotonic clock)
_FIRST = SEATS * _SEAT  # where it says when the first of the line last looked


class Turns:
    """The turns of one engine on one file; for one thread at a time."""

    __slots__ = ("_clock", "_file", "_held", "_late", "_line", "_locks", "_me", "_path", "_seat", "_until", "_used")

    def __init__(self, path: str, clock: Clock | None = None) -> None:
        self._path = path
        self._clock = clock or Clock()  # turns are waited for in real time, whatever time it is in the room
        self._file: int | None = None
        self._line: int | None = None  # who stands in line locks this file, and it says who sits
        self._held = False
        self._late: dict[str, LockType] = {}  # of threads that wait in the kernel for what nobody waits for any more
        self._locks = _locks()
        self._me = b""
        self._seat: int | None = None
        self._used = self._until = 0

    def take(self, wait_ms: int) -> bool:
        """Wait for the turn. False when it did not come in time; True as well where turns cannot be taken."""
        locks = self._locks
        if locks is None:
            return True
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            stands = self._seat is not None and self._gives_way(locks, self._seat)
            self._held = True  # or may be, when something breaks this off: `leave` lets go of it, too
            if not stands:
                locks.flock(self._file, locks.LOCK_EX | locks.LOCK_NB)
                return True
        except BlockingIOError:
            stands = False
        except OSError:
            self._held = False
            return True  # a folder that cannot be written, a file system without locks: SQLite alone decides
        try:
            self._held = self._queue(locks, wait_ms, stands=stands)
        except OSError:
            pass  # the same: it may be ours
        return self._held

    def leave(self) -> None:
        locks = self._locks
        if self._held and self._file is not None and locks is not None:
            self._held = False
            locks.flock(self._file, locks.LOCK_UN)
            if self._seat is not None:
                self._keep(self._clock.monotonic())

    def close(self) -> None:
        files, self._file, self._line, self._seat = (self._file, self._line), None, None, None
        self._held = False
        for file in files:
            if file is not None:
                os.close(file)

    def __del__(self) -> None:
        try:
            self.close()  # a descriptor is no object: nobody else would close it
        except Exception:
            pass  # the interpreter is leaving, and closes everything

    # --- waiting ------------------------------------------------------------------------------------------------

    def _queue(self, locks: ModuleType, wait_ms: int, *, stands: bool) -> bool:
        """Wait for a seat, and there for the turn. stands: in line first, since a seat was had for long enough."""
        if wait_ms <= 0:
            return stands and self._is_mine(locks)
        until = self._clock.monotonic() + wait_ms
        if self._opens() and (stands or not self._sits()) and not self._stand(locks, until):
            return False
        for _ in range(LOOKS):
            if self._is_mine(locks):
                return True
        pause = FIRST_PAUSE_MS
        for _ in range(PAUSES):
            now = self._clock.monotonic()
            if now >= until:
                return False
            self._clock.pause(min(pause, until - now))
            if self._is_mine(locks):
                return True
            pause *= PAUSE_GROWTH
            if self._seat is not None:
                self._keep(now)
        return bool(self._wait(locks, "_file", until))

    def _is_mine(self, locks: ModuleType) -> bool:
        try:
            locks.flock(self._file, locks.LOCK_EX | locks.LOCK_NB)
            return True
        except BlockingIOError:
            return False

    def _stand(self, locks: ModuleType, until: int) -> bool:
        """Wait in line for a seat, or for a turn that those who sit do not use. True as well when the line does not
        move. False when the time is over."""
        try:
            came = self._wait(locks, "_line", until)
            if not came:
                return came is None
            free = 0
            while not self._sits():
                free = free + 1 if self._is_mine(locks) else 0
                if free == FREE_LOOKS:
                    return True
                if free:
                    locks.flock(self._file, locks.LOCK_UN)
                now = self._clock.monotonic()
                if now >= until:
                    return False
                self._say(now.to_bytes(_WORD, "big"), _FIRST)
                self._clock.pause(LINE_LOOK_MS)
            return True
        finally:
            if self._line is not None:
                locks.flock(self._line, locks.LOCK_UN)

    def _wait(self, locks: ModuleType, name: str, until: int) -> bool | None:
        """Wait in the kernel; None when that is no use. It knows no deadline for a lock: another thread waits for it,
        and lets it go if it comes late."""
        import _thread

        file = getattr(self, name)
        try:
            locks.flock(file, locks.LOCK_EX | locks.LOCK_NB)
            return True
        except BlockingIOError:
            pass
        in_line = name == "_line"
        if in_line and not self._moves():
            return None
        if name in self._late and self._late[name].locked():  # one such thread is enough
            return None if in_line else self._looks(locks, until)
        came, moves, left = False, True, max(0, until - self._clock.monotonic())
        has_come, late, settling = _thread.allocate_lock(), [False], _thread.allocate_lock()
        has_come.acquire()

        def wait() -> None:
            try:
                locks.flock(file, locks.LOCK_EX)
            except OSError:
                pass  # the file was closed under us: nobody waits any more
            with settling:
                has_come.release()
                if late[0]:
                    os.close(file)

        try:
            _thread.start_new_thread(wait, ())
        except RuntimeError:  # there are no more threads
            return None if in_line else self._looks(locks, until)
        try:
            while not came and moves:
                step = min(left, STILL_MS) if in_line else left
                came = has_come.acquire(True, step / 1_000)
                left -= step
                if left <= 0:
                    break
                moves = not in_line or self._moves()
        finally:  # also when a signal breaks it off
            with settling:
                if not came and not (came := has_come.acquire(False)):
                    late[0], self._late[name] = True, has_come
                    setattr(self, name, None)  # the waiting thread closes it
        return came if came or moves else None

    def _looks(self, locks: ModuleType, until: int) -> bool:
        while (now := self._clock.monotonic()) < until:
            self._clock.pause(min(LONG_PAUSE_MS, until - now))
            if self._is_mine(locks):
                return True
        return False

    # --- seats --------------------------------------------------------------------------------------------------

    def _opens(self) -> bool:
        """Whether there are seats: none where no more files can be opened."""
        if self._line is None:
            try:
                self._line = os.open(self._path + LINE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError:
                return False
            self._me = self._clock.random(_WORD)
        return True

    def _sits(self) -> bool:
        """Take a seat that is free, or go on sitting."""
        assert self._line is not None
        now = self._clock.monotonic()
        said = os.pread(self._line, SEATS * _SEAT, 0).ljust(SEATS * _SEAT, b"\0")
        for seat in range(SEATS):
            whose, used = said[seat * _SEAT :][:_WORD], int.from_bytes(said[seat * _SEAT :][_WORD:_SEAT], "big")
            if whose == self._me or not 0 <= now - used <= UNUSED_MS:
                if whose != self._me or self._seat is None:
                    self._until = now + SEAT_MS
                self._seat = seat
                self._keep(now)
                return True
        self._seat = None
        return False

    def _keep(self, now: int) -> None:
        self._used = now
        assert self._seat is not None
        self._say(self._me + now.to_bytes(_WORD, "big"), self._seat * _SEAT)

    def _say(self, what: bytes, where: int) -> None:
        assert self._line is not None
        try:
            os.pwrite(self._line, what, where)
        except OSError:
            pass  # a full disk: others believe that the seat is free, and sit there, too

    def _moves(self) -> bool:
        """Whether the first of the line is at work: all others would wait for one that was stopped."""
        assert self._line is not None
        looked = int.from_bytes(os.pread(self._line, _WORD, _FIRST), "big")
        return 0 <= self._clock.monotonic() - looked <= STILL_MS

    def _gives_way(self, locks: ModuleType, seat: int) -> bool:
        """Leave a seat that is ours no more. True when others have stood in line for long enough."""
        now = self._clock.monotonic()
        if now - self._used > UNUSED_MS:
            self._seat = None
        elif now >= self._until:
            try:
                locks.flock(self._line, locks.LOCK_EX | locks.LOCK_NB)
                locks.flock(self._line, locks.LOCK_UN)
            except BlockingIOError:
                if self._moves():
                    self._say(bytes(_SEAT), seat * _SEAT)
                    self._seat = None
                    return True
            self._until = now + SEAT_MS
        return False


def _locks() -> ModuleType | None:
    try:
        import fcntl
    except ImportError:  # Windows: SQLite's lock alone
        return None
    return fcntl
