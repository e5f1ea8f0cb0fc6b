"""Starts programs and says how long each took, from the spawn to the end.

Cases are interleaved, so that a busy machine is busy for all of them alike, and compared by their medians. Input and
output are files: a pipe would time this harness as well. What a case must print and how it must end is checked on
every run, because a fast failure is no result.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROUNDS_MIN = 30


@dataclass(frozen=True)
class Ended:
    """How one run ended."""

    milliseconds: float
    status: int
    output: bytes
    errors: bytes


def succeeds(ended: Ended) -> bool:
    return ended.status == 0


def stays_silent(ended: Ended) -> bool:
    return ended.status == 0 and not ended.output and not ended.errors


@dataclass(frozen=True)
class Case:
    """A program to start again and again. `payload` gives the bytes on its standard input, by round."""

    name: str
    command: Sequence[str]
    environ: Mapping[str, str]
    payload: Callable[[int], bytes] = lambda _round: b""
    expect: Callable[[Ended], bool] = succeeds


@dataclass
class Timing:
    """The times of one case, in milliseconds, and the last thing it said."""

    case: Case
    milliseconds: list[float] = field(default_factory=list)
    last: Ended | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)

    @property
    def slowest_tenth(self) -> float:
        return sorted(self.milliseconds)[int(len(self.milliseconds) * 0.9)]


class NotAsExpected(Exception):
    """A case ended otherwise than it must; its time would mean nothing."""


def measure(cases: Sequence[Case], rounds: int = ROUNDS_MIN) -> dict[str, Timing]:
    """Run every case `rounds` times, in turns, after one run each that does not count."""
    timings = {case.name: Timing(case) for case in cases}
    with tempfile.TemporaryDirectory() as folder:
        for place in range(rounds + 1):
            for case in cases:
                ended = run(case, place, Path(folder))
                timings[case.name].last = ended
                if place:
                    timings[case.name].milliseconds.append(ended.milliseconds)
    return timings


def run(case: Case, place: int, folder: Path) -> Ended:
    """Start one case once and wait for its end."""
    given, said, complained = (folder / name for name in ("input", "output", "errors"))
    given.write_bytes(case.payload(place))
    written = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(given), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(said), written, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, str(complained), written, 0o600),
    ]
    command = list(case.command)
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, dict(case.environ), file_actions=actions)
    _, status, _ = os.wait4(pid, 0)
    milliseconds = (time.perf_counter() - start) * 1_000
    ended = Ended(milliseconds, os.waitstatus_to_exitcode(status), said.read_bytes(), complained.read_bytes())
    if not case.expect(ended):
        raise NotAsExpected(
            f"{case.name}: exit {ended.status}, printed {ended.output[:300]!r}, complained {ended.errors[:600]!r}"
        )
    return ended
