"""How fast issues are claimed through the door of a SQLite room, alone and by sixteen processes at once.

Every claim is durable: its commit waits for the disk, so one fsync a claim is the floor. In the race most issues belong
to one process, and every tenth is asked for by all of them: exactly one may get it, or the figure is void.
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from bench import floor
from bench.figures import Figure, at_least, at_most, size
from bench.machine import fsync_ms
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.room import Room, open_room

ALONE = 2_000
PROCESSES = 16
EACH = 200
SHARED_EVERY = 10
PACED_CLAIMS = 40
PACED_PAUSE_SECONDS = 0.05

ALONE_PER_SECOND_MIN = 4_000
TOGETHER_PER_SECOND_MIN = 3_000
PACED_MS_MAX = 5.0
QUICK_FSYNC_MS = 0.2  # on a slower disk a claim may take two of its fsyncs longer
CLAIM_REPLY_BYTES_MAX = 700


@dataclass(frozen=True)
class Asked:
    """What one process did in a race: when it began and ended, what it got, and how long each answer took."""

    began: float
    ended: float
    won: list[str]
    milliseconds: list[float]


def figures(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        alone = claims_alone(folder)
        together = race(folder, EACH, 0.0)
        paced = race(folder, PACED_CLAIMS, PACED_PAUSE_SECONDS)
    return [*alone, *_race_rows(together), _paced_row(paced)]


def claims_alone(folder: str) -> list[Figure]:
    room, issues = room_with_issues(folder, ALONE)
    caller = Caller("bench", "alone", host="bench")
    start = time.perf_counter()
    for issue in issues:
        reply = claim(room, caller, issue)
    seconds = time.perf_counter() - start
    room.close()
    least = floor.alone()
    return [
        at_least("claims, one process", ALONE / seconds, ALONE_PER_SECOND_MIN, "/s", ratio=_of(ALONE / seconds, least)),
        at_most("claim_issue reply without context", size(reply), CLAIM_REPLY_BYTES_MAX, "B"),
    ]


def race(folder: str, each: int, pause: float) -> list[Asked]:
    """All processes start together, each with its own issues and the shared ones."""
    shared_count = each // SHARED_EVERY
    own_count = each - shared_count
    room, issues = room_with_issues(folder, PROCESSES * own_count + shared_count)
    project = Path(room.engine.path).parent.name
    room.close()
    shared, own = issues[:shared_count], issues[shared_count:]
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(PROCESSES)
    with context.Manager() as manager:
        results = manager.list()
        runners = []
        for place in range(PROCESSES):
            issues_here = _mixed(own[place::PROCESSES], shared)
            asking = (folder, project, place, issues_here, pause, ready, results)
            runners.append(context.Process(target=_ask, args=asking))
        for runner in runners:
            runner.start()
        for runner in runners:
            runner.join()
        asked = list(results)
    won = sorted(issue for one in asked for issue in one.won)
    if len(asked) != PROCESSES or won != sorted(issues):
        raise AssertionError(f"{len(asked)} of {PROCESSES} answered; {len(won)} claims of {len(issues)} issues")
    return asked


def room_with_issues(folder: str, count: int) -> tuple[Room, list[str]]:
    clock = Clock()
    room = open_room(clock.new_id(), home=folder, clock=clock, lock_wait_ms=60_000)
    caller = Caller("planner", "plan", host="bench")
    made = [
        room.ask(OPERATIONS["create_issue"], {"title": f"Issue number {place} of the bench", "status": "ready"}, caller)
        for place in range(count)
    ]
    return room, [issue["display_id"] for issue in made]


def claim(room: Room, caller: Caller, issue: str) -> dict[str, Any]:
    return room.ask(OPERATIONS["claim_issue"], {"issue_id": issue, "context": False}, caller)


def _mixed(own: list[str], shared: list[str]) -> list[str]:
    """The shared issues spread evenly among a process's own."""
    mixed: list[str] = []
    step = max(1, len(own) // max(1, len(shared)))
    for place, issue in enumerate(own):
        mixed.append(issue)
        if place % step == 0 and place // step < len(shared):
            mixed.append(shared[place // step])
    return mixed


def _ask(
    folder: str, project: str, place: int, issues: list[str], pause: float, ready: Barrier, results: list[Asked]
) -> None:
    room = open_room(project, home=folder, clock=Clock(), lock_wait_ms=60_000)
    caller = Caller(f"bench-{place}", f"session-{place}", host="bench")
    first, *issues = issues
    claim(room, caller, first)  # loads what only the first question loads; never a shared issue
    won, took = [first], list[float]()
    ready.wait()
    began = time.time()
    time.sleep(pause * place / PROCESSES)
    for issue in issues:
        start = time.perf_counter()
        try:
            claim(room, caller, issue)
            won.append(issue)
        except Refusal as refusal:
            if refusal.code != "ACTIVE_ATTEMPT_EXISTS":
                raise
        took.append((time.perf_counter() - start) * 1_000)
        time.sleep(pause)
    results.append(Asked(began, time.time(), won, took))
    room.close()


def _race_rows(asked: list[Asked]) -> list[Figure]:
    seconds = max(one.ended for one in asked) - min(one.began for one in asked)
    total = sum(len(one.milliseconds) for one in asked)
    slowest = max(milliseconds for one in asked for milliseconds in one.milliseconds)
    note = f"slowest answer {slowest:.0f} ms"
    ratio = _of(total / seconds, floor.together(PROCESSES))
    return [
        at_least(
            f"claims, {PROCESSES} processes", total / seconds, TOGETHER_PER_SECOND_MIN, "/s", ratio=ratio, note=note
        ),
        at_most("double claims", 0, 0, "claims"),
    ]


def _of(per_second: float, least: float) -> str:
    return f"{per_second / least:.2f} x bare SQLite ({least:,.0f} /s)"


def _paced_row(asked: list[Asked]) -> Figure:
    took = [milliseconds for one in asked for milliseconds in one.milliseconds]
    p99 = statistics.quantiles(took, n=100)[98]
    note = f"median {statistics.median(took):.2f} ms"
    fsync = fsync_ms()
    budget = PACED_MS_MAX if fsync <= QUICK_FSYNC_MS else PACED_MS_MAX + 2 * fsync
    return at_most(f"claim p99, {PROCESSES} paced agents", p99, budget, "ms", note=note)
