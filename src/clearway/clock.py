"""Room time, ids and randomness: the only module that reads them.

Room time runs with the monotonic clock that all processes of a boot share and that stops while the machine sleeps, so
neither a jump of the wall clock nor a night in a bag frees a live lease or lengthens one. A room keeps an anchor (boot,
monotonic, wall, room) that its writes renew; across a reboot the wall-clock difference counts if it is believable.
"""

from __future__ import annotations

import os
import time

from clearway import platforms
from clearway.errors import Refusal
from clearway.limits import REBOOT_GAP_MS_MAX
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_WALL_MAX = 2**48 - 1
ID_CHARS = 26
_SAID: dict[int, str] = {}
_HASHED_BYTES = 64  # that SHA-256 takes at once
_ISO_CHARS = len("2026-08-01T14:00:00Z")
_DAYS_TO_1970 = 719_469  # from the last of February of the year 0
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]
_SHIFTS = range(5 * (ID_CHARS - 2), -1, -10)
_RANDOM_CHARS = _RANDOM_BITS // 5
_TIME_SHIFTS = range(5 * (ID_CHARS - _RANDOM_CHARS - 2), -1, -10)
_LETTERS = (_CROCKFORD * 8).encode()  # which letter each byte is


class Clock:
    """What the time is, and the source of ids. Tests and the simulation replace it; nothing else may."""

    __slots__ = ("_boot", "_last", "_last_wall")

    def __init__(self) -> None:
        self._boot = ""
        self._last = ""
        self._last_wall = -1

    def monotonic(self) -> int:
        """Milliseconds since some point of this boot; stands still while the machine sleeps."""
        return time.monotonic_ns() // 1_000_000

    def worked(self) -> int:
        """Microseconds of processor time that this thread has used."""
        return time.thread_time_ns() // 1_000

    def wall(self) -> int:
        """Milliseconds since 1970 UTC, as the machine believes."""
        return time.time_ns() // 1_000_000

    def boot(self) -> str:
        """Which boot of the machine this is."""
        self._boot = self._boot or platforms.boot_id()
        return self._boot

    def random(self, count: int) -> bytes:
        return os.urandom(count)

    def pause(self, milliseconds: float) -> None:
        """Wait between two tries for a lock."""
        time.sleep(milliseconds / 1_000)

    def new_id(self, after: str | None = None) -> str:
        """A ULID: sortable, monotonic within this process, 26 characters. after: one that another process made, maybe
        before the wall clock was set back; the new one sorts behind it."""
        wall = self.wall()
        if wall > self._last_wall:
            made = self._stamped(wall)
            self._last_wall = wall
        else:  # same millisecond, or the wall clock went back
            made = _next(self._last)
        self._last = made
        if after is None or made > after:
            return made
        return self._stamped(min((_number(after) >> _RANDOM_BITS) + 1, _WALL_MAX))

    def _stamped(self, wall: int) -> str:
        """Ten letters of time, and sixteen of chance: the low bits of as many bytes."""
        time_letters = "".join([_PAIRS[wall >> shift & 1023] for shift in _TIME_SHIFTS])
        return time_letters + self.random(_RANDOM_CHARS).translate(_LETTERS).decode("ascii")


class FileClock(Clock):
    """A clock that tests move across processes: a file with two integers, room ms and wall offset ms."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def monotonic(self) -> int:
        return self._read()[0]

    def wall(self) -> int:
        return sum(self._read())

    def boot(self) -> str:
        return "test-clock"

    def _read(self) -> tuple[int, int]:
        """Whoever moves the clock may just be writing the file, so a second look comes before a refusal."""
        for wait_ms in (1, 5, 25, 0):
            try:
                with open(self._path, encoding="utf-8") as file:
                    room, offset = file.read().split()
                return int(room), int(offset)
            except (OSError, ValueError):
                self.pause(wait_ms)
        raise Refusal(
            "STORAGE_CONFIGURATION",
            f"CLEARWAY_TEST_CLOCK must name a file with two integers, and {folded(self._path, 200)} is none.",
        )


def room_time(anchor: tuple[str, int, int, int], clock: Clock) -> int:
    """Room time now, from the anchor (boot, monotonic ms, wall ms, room ms) of the last write. Never below it."""
    boot, monotonic, wall, room = anchor
    if clock.boot() == boot:
        return room + max(0, clock.monotonic() - monotonic)
    gap = clock.wall() - wall
    return room + (gap if 0 <= gap <= REBOOT_GAP_MS_MAX else 0)


def iso(wall_ms: int) -> str:
    """A wall-clock time as people and JSON read it: UTC, to the second."""
    seconds = wall_ms // 1_000
    said = _SAID.get(seconds)
    if said is None:
        year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
        said = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        _SAID.clear()  # one is enough: what is asked again is asked in the same second
        _SAID[seconds] = said
    return said


def moment(said: str) -> int:
    """The wall-clock time (ms) that `iso` wrote; another spelling of ISO 8601 is read, too."""
    if len(said) != _ISO_CHARS or said[-1] != "Z":
        from datetime import datetime

        return round(datetime.fromisoformat(said).timestamp() * 1_000)
    year, month, day = int(said[:4]), int(said[5:7]), int(said[8:10])
    year, since_march = (year - 1, month + 9) if month < 3 else (year, month - 3)  # a leap day is the last of its year
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * since_march + 2) // 5 + day - _DAYS_TO_1970
    return ((days * 24 + int(said[11:13])) * 60 + int(said[14:16])) * 60_000 + int(said[17:19]) * 1_000


def local_day(wall_ms: int) -> str:
    """The date on this machine's clock."""
    moment = time.localtime(wall_ms // 1_000)
    return f"{moment.tm_year:04}-{moment.tm_mon:02}-{moment.tm_mday:02}"


def local_time(wall_ms: int) -> str:
    """Hours and minutes on this machine's clock, for a sentence that a person or an agent reads."""
    moment = time.localtime(wall_ms // 1_000)
    return f"{moment.tm_hour:02}:{moment.tm_min:02}"


def local_moment(wall_ms: int, now_ms: int) -> str:
    """The same, with the date when it is not today."""
    day = local_day(wall_ms)
    return local_time(wall_ms) if day == local_day(now_ms) else f"{day} {local_time(wall_ms)}"


def last_at(wall_ms: int, minute: int) -> int:
    """When clocks here last showed this minute of the day (wall ms)."""
    now = time.localtime(wall_ms // 1_000)
    begun = wall_ms
    for days in (0, 1):
        day = (now.tm_year, now.tm_mon, now.tm_mday - days, minute // 60, minute % 60, 0, -1, -1, -1)
        begun = round(time.mktime(day) * 1_000)
        if begun <= wall_ms:
            break
    return begun


def tokens(secret: bytes) -> Callable[[str, int], str]:
    """What makes the capability of an attempt from its id and fence: derived, so it can be given again and need not be
    stored."""
    from clearway import wire

    # HMAC with SHA-256, as RFC 2104 has it: the library's loads OpenSSL, which takes longer than to claim.
    key = (secret if len(secret) <= _HASHED_BYTES else platforms.sha256(secret).digest()).ljust(_HASHED_BYTES, b"\0")
    inner = platforms.sha256(bytes(byte ^ 0x36 for byte in key))
    outer = platforms.sha256(bytes(byte ^ 0x5C for byte in key))

    def token(attempt: str, fence: int) -> str:
        said, signed = inner.copy(), outer.copy()
        said.update(f"{attempt}|{fence}".encode())
        signed.update(said.digest())
        return wire.in_address(signed.digest())

    return token


def token_hash(text: str) -> str:
    return platforms.digest(text.encode("utf-8", "surrogatepass"))


def stable_id(text: str, wall_ms: int | None = None) -> str:
    """An id that always follows from the same text: of something that has another name elsewhere."""
    number = int(token_hash(text), 16)
    if wall_ms is None:
        return _crockford(number >> 128)
    return _crockford(wall_ms << _RANDOM_BITS | number & ((1 << _RANDOM_BITS) - 1))


def is_id(text: str) -> bool:
    return len(text) == ID_CHARS and text[0] <= "7" and all(letter in _CROCKFORD for letter in text)


def _number(text: str) -> int:
    value = 0
    for letter in text:
        value = value << 5 | _CROCKFORD.index(letter)
    return value


def _next(made: str) -> str:
    place = _CROCKFORD.index(made[-1]) + 1
    return made[:-1] + _CROCKFORD[place] if place < len(_CROCKFORD) else _crockford(_number(made) + 1)


def _crockford(value: int) -> str:
    return "".join([_PAIRS[value >> shift & 1023] for shift in _SHIFTS])
