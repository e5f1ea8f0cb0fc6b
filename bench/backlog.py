"""How fast the best issue is found among a hundred thousand: in an orderly backlog, and where much is in the way.

The backlog is written in one transaction, so that only the questions are measured. In the second one the most urgent
thousand are passed over before the answer comes: half are kept for others, half would change what another session
holds. Every claim waits for the disk, so one fsync is in each figure.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.figures import Figure, at_most
from bench.machine import fsync_ms
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import POINTER, Caller, pointer_text
from clearway.db.tx import Tx
from clearway.room import Room, open_room
from clearway.work import issues

BACKLOG = 100_000
IN_THE_WAY = 1_000
ASKED = 200

P50_MS_MAX = 5.0
P95_MS_MAX = 20.0


def figures(rounds: int) -> list[Figure]:
    return [
        *_asked("", budgeted=True),
        *_asked(", 1,000 passed over", budgeted=True, in_the_way=IN_THE_WAY),
        *_asked(", by label and priority", budgeted=False, labels=["area-7"], priorities=["medium", "low"]),
    ]


def _asked(name: str, *, budgeted: bool, in_the_way: int = 0, **filters: Any) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        took = claims(folder, in_the_way, filters)
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[18]
    label = f"claim next of {BACKLOG:,}{name}"
    disk = f"one fsync is {fsync_ms():.1f} ms of it"
    if not budgeted:
        return [Figure(f"{label}, p50", f"{p50:.2f} ms", note=disk), Figure(f"{label}, p95", f"{p95:.2f} ms")]
    return [
        at_most(f"{label}, p50", p50, P50_MS_MAX, "ms", note=disk),
        at_most(f"{label}, p95", p95, P95_MS_MAX, "ms", note=f"worst {max(took):.1f} ms"),
    ]


def claims(folder: str, in_the_way: int, filters: dict[str, Any]) -> list[float]:
    """Milliseconds of each of many claims in a row."""
    clock = Clock()
    room = open_room(clock.new_id(), home=folder, clock=clock, lock_wait_ms=60_000)
    tree = Path(folder, "tree")
    tree.mkdir()
    (tree / POINTER).write_text(pointer_text(clock.new_id()))
    _fill(room, tree, in_the_way)
    caller = Caller("bench", "alone", host="bench")
    took: list[float] = []
    for _ in range(ASKED):
        start = time.perf_counter()
        room.ask(OPERATIONS["claim_issue"], {"next": True, "context": False, **filters}, caller)
        took.append((time.perf_counter() - start) * 1_000)
    room.close()
    return took


def _fill(room: Room, tree: Path, in_the_way: int) -> None:
    def fill(tx: Tx) -> None:
        for place in range(BACKLOG):
            # Called as the function it is: a hundred thousand arguments need no checking.
            _create(tx, place, urgent=place < in_the_way)

    planner = Caller("planner", "plan", host="bench", cwd=str(tree))
    room.run(fill, caller=planner)
    room.ask(OPERATIONS["claim_paths"], {"paths": ["src/held"]}, planner)


def _create(tx: Tx, place: int, *, urgent: bool) -> None:
    issues.create_issue(
        tx,
        title=f"Issue number {place} of the backlog",
        status="ready",
        priority="critical" if urgent else ("low", "medium", "high")[place % 3],
        labels=[f"area-{place % 20}"],
        paths=[f"src/{'held' if urgent and place % 2 else place}/part.py"],
        reserved_for="somebody-else" if urgent and not place % 2 else None,
    )
