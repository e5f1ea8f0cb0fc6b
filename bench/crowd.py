"""What a full room and a busy one cost the hook: ten thousand foreign leases, a hundred thousand events, a writer that
holds the room and does not let go.

The full room stands beside an empty one and both are asked in turns, so the difference is the room's and not the
machine's.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.figures import Figure, at_most
from bench.hooks import refuses
from bench.spawn import Case, Ended, Timing, measure, stays_silent
from bench.world import Client, World, client, edit, shell, start, world
from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.room import Room
from clearway.rooms import Rooms

LEASES = 10_000
EVENTS = 100_000
A_CLAIM = 64
HOLDERS = 40
MORE_MS_MAX = 1.0
BUSY_MS_MAX = 1_000
BUSY_ROUNDS = 8
_HOLD = """
import fcntl, sys, apsw
turn = open(sys.argv[1] + "-turn", "a")
fcntl.flock(turn, fcntl.LOCK_EX)
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def figures(rounds: int) -> list[Figure]:
    with ExitStack() as stack:
        empty, full = stack.enter_context(world()), stack.enter_context(world())
        holder, other = (stack.enter_context(client(f"{letter}" * 8 + "-session")) for letter in "ab")
        for here in (empty, full):
            for each in (holder, other):
                here.tell(here.hook("start", each, lambda _: start()))
            here.tell(here.hook("hold", holder, lambda _, here=here: edit(here.repository / "own.py"), stays_silent))
        path = fill(full)
        beside = zip(_cases(empty, "empty", holder, other), _cases(full, "full", holder, other), strict=True)
        timings = measure([case for pair in beside for case in pair], rounds)
        with held(path):
            busy = measure(_busy_cases(full, holder, other), BUSY_ROUNDS)
    return [*_rows(timings), *_busy_rows(busy)]


def fill(here: World) -> str:
    """Leases of other sessions on ten thousand files, and a long log; where the room is kept."""
    rooms = Rooms(Settings(here.environ))
    room = rooms.of_folder(str(here.repository))
    with_many_events(room)
    for place in range(0, LEASES, A_CLAIM):
        peer = Caller("peer", f"peer-{place // A_CLAIM % HOLDERS}", host="elsewhere", cwd=str(here.repository))
        paths = [f"held/{number // 100}/file-{number}.py" for number in range(place, min(place + A_CLAIM, LEASES))]
        rooms.ask(OPERATIONS["claim_paths"], {"paths": paths, "ttl_seconds": 28_800, "purpose": "elsewhere"}, peer)
    path = room.engine.path
    rooms.close()
    return path


def with_many_events(room: Room) -> None:
    caller = Caller("peer", "peer-0", host="elsewhere")
    for _ in range(0, EVENTS, 10_000):
        room.run(
            lambda tx: [tx.tell("refused", code="PATH_HELD", subject="a.py") for _ in range(10_000)], caller=caller
        )


@contextmanager
def held(path: str) -> Iterator[None]:
    """Another process holds the write lock of the room until the end of the block."""
    given = [sys.executable, "-c", _HOLD, path]
    process = subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    try:
        yield
    finally:
        process.communicate()


def _cases(here: World, name: str, holder: Client, other: Client) -> list[Case]:
    own = here.repository / "own.py"
    return [
        here.hook(f"{name} own", holder, lambda _: edit(own), stays_silent),
        here.hook(f"{name} free", holder, lambda place: edit(here.repository / f"free-{place}.py"), stays_silent),
        here.hook(f"{name} refusal", other, lambda _: edit(own), refuses),
        here.hook(f"{name} parser", holder, lambda _: shell(f"echo 'print(2)' > {own}"), stays_silent),
    ]


def _busy_cases(here: World, holder: Client, other: Client) -> list[Case]:
    free: Path = here.repository / "free-399.py"
    return [
        here.hook("refusal", other, lambda _: edit(here.repository / "own.py"), refuses),
        here.hook("free", other, lambda _: edit(free), _is_open),
        here.hook("own", holder, lambda _: edit(here.repository / "own.py"), stays_silent),
    ]


def _is_open(ended: Ended) -> bool:
    """Nothing can be claimed now: the edit is let through, with one line that says so."""
    return ended.status == 0 and b"deny" not in ended.output and ended.errors.count(b"\n") == 1


def _rows(timings: dict[str, Timing]) -> list[Figure]:
    def row(case: str, name: str) -> Figure:
        pairs = zip(timings[f"full {case}"].milliseconds, timings[f"empty {case}"].milliseconds, strict=True)
        more = statistics.median(full - empty for full, empty in pairs)
        empty = timings[f"empty {case}"].median
        ratio = f"{(empty + more) / empty:.2f} x empty"
        return at_most(f"{LEASES:,} leases, {EVENTS:,} events: {name}", more, MORE_MS_MAX, "ms more", ratio=ratio)

    return [
        row("own", "Edit of own file"),
        row("free", "first Edit of a free file"),
        row("refusal", "refusal"),
        row("parser", "Bash that needs the parser"),
    ]


def _busy_rows(timings: dict[str, Timing]) -> list[Figure]:
    def row(case: str, name: str) -> Figure:
        slowest = max(timings[case].milliseconds)
        return at_most(f"room locked by a writer: {name}", slowest, BUSY_MS_MAX, "ms", note="the slowest")

    return [
        row("refusal", "a held file stays held"),
        row("free", "a free file, open with a line"),
        row("own", "one's own file"),
    ]
