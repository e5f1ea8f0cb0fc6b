"""What hooks cost and what they let pass, counted in small files of this machine.

A hook adds one line to the file of its session: how long it took from its first line on, in microseconds, and how many
bytes it put before a model. That costs it some 30 us and no database write; a file that has grown is folded into one
line. Two hooks of a session that meet in a fold may lose a line: these are figures, and no evidence.
"""

from __future__ import annotations

import os

from clearway import platforms
from clearway.beats import file_name
from clearway.limits import TALLY_BYTES_MAX, TALLY_KEPT_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PARTS = 8  # of each doubling: a length of time is known to one eighth
_FOLDED = "="
_TAIL_BYTES = 65_536
RECENT_MS = 24 * 3_600_000


class Sum:
    """Calls, the bytes they said, and how many took how long, by class of length."""

    __slots__ = ("calls", "classes", "said")

    def __init__(self) -> None:
        self.calls = 0
        self.said = 0
        self.classes: dict[int, int] = {}

    def add(self, micros: int, said: int) -> None:
        self.calls += 1
        self.said += said
        found = _class_of(micros)
        self.classes[found] = self.classes.get(found, 0) + 1

    def percentile(self, part: float) -> float | None:
        """So many microseconds took the given part of the calls at most."""
        left = part * sum(self.classes.values())
        for found in sorted(self.classes):
            left -= self.classes[found]
            if left <= 0:
                return _end_of(found)
        return None

    def read(self, text: str) -> None:
        """Add what a file says. What was cut off counts for nothing."""
        for line in text.split("\n"):
            words = line.split(" ")
            try:
                if words[0] == _FOLDED:
                    self.calls += int(words[1])
                    self.said += int(words[2])
                    for word in words[3:]:
                        name, _, count = word.partition(":")
                        self.classes[int(name)] = self.classes.get(int(name), 0) + int(count)
                elif len(words) == 2:
                    self.add(int(words[0]), int(words[1]))
            except (ValueError, IndexError):
                continue

    def line(self) -> str:
        """The same as one line of a file."""
        classes = " ".join(f"{name}:{count}" for name, count in sorted(self.classes.items()))
        return f"{_FOLDED} {self.calls} {self.said} {classes}\n"


class Tally:
    """The figures of all sessions whose clients run on this machine, in one folder."""

    __slots__ = ("_folder",)

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, "run", "figures")

    def note(self, session: str, micros: int, said: int) -> None:
        """One hook of this session is over. Lost without harm when nothing can be written."""
        file = os.path.join(self._folder, file_name(session))
        how = os.O_CREAT | os.O_APPEND | os.O_WRONLY
        try:
            try:
                descriptor = os.open(file, how, 0o600)
            except FileNotFoundError:
                os.mkdir(self._folder, 0o700)  # where nothing of ours is, nothing is begun
                descriptor = os.open(file, how, 0o600)
            try:
                os.write(descriptor, line(micros, said))
                too_long = os.fstat(descriptor).st_size > TALLY_BYTES_MAX
            finally:
                os.close(descriptor)
            if too_long:
                self._fold(file)
        except OSError:
            pass

    def of(self, sessions: Iterable[str]) -> Sum:
        """The figures of these sessions together."""
        found = Sum()
        for session in sessions:
            found.read(_read(os.path.join(self._folder, file_name(session))))
        return found

    def forget(self, session: str) -> None:
        try:
            os.unlink(os.path.join(self._folder, file_name(session)))
        except OSError:
            pass

    def sweep(self, wall: int) -> None:
        """Part with the figures of sessions that ended long ago."""
        platforms.remove_older(self._folder, wall - TALLY_KEPT_MS)

    def _fold(self, file: str) -> None:
        found = Sum()
        found.read(_read(file))
        aside = platforms.aside(file)
        descriptor = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, found.line().encode())
        finally:
            os.close(descriptor)
        os.replace(aside, file)


def passages(home: str, wall: int) -> tuple[dict[str, int], int]:
    """How many calls passed unchecked on this machine within a day, by why, and when the last did (wall ms)."""
    counted: dict[str, int] = {}
    last = 0
    for said in _tail(os.path.join(home, "run", "guard-open")).splitlines():
        at, _, code = said.partition(" ")
        if at.isdigit() and wall - int(at) < RECENT_MS and code:
            counted[code[:40]] = counted.get(code[:40], 0) + 1
            last = max(last, int(at))
    return counted, last


def line(micros: int, said: int) -> bytes:
    """One hook as it is written. The fast step writes it, too."""
    return b"%d %d\n" % (micros, said)


def _class_of(micros: int) -> int:
    octave = max(micros, _PARTS).bit_length() - _PARTS.bit_length()
    return octave * _PARTS + (max(micros, _PARTS) >> octave) - _PARTS


def _end_of(found: int) -> float:
    octave, part = divmod(found, _PARTS)
    return float((_PARTS + part + 1) << octave)


def _read(file: str) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 2 * TALLY_BYTES_MAX).decode("ascii", "replace")
    finally:
        os.close(descriptor)


def _tail(file: str) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return ""
    try:
        os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - _TAIL_BYTES), os.SEEK_SET)
        return os.read(descriptor, _TAIL_BYTES).decode("ascii", "replace")
    finally:
        os.close(descriptor)
