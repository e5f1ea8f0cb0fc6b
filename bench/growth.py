"""What size costs: the same questions asked in turns of a small room and of a large one.

Each issue has a body of about half a kilobyte, a label, five events and, one in ten, a comment; one in a hundred was
worked on and has a result. Words are as unequal as in a language: a few are in almost every text. The rooms are written
by the operations themselves, but in a few large transactions, so that only the questions are measured.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.figures import Figure, at_most
from bench.machine import fsync_ms
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller
from clearway.db.tx import Tx
from clearway.room import Room, open_room
from clearway.work import attempts, issues, remarks

SMALL, LARGE, HUGE = 1_000, 100_000, 1_000_000
GROWTH_MAX = 2.0
SEARCH_MS_MAX = 50.0
TOGETHER = 10_000  # issues written in one transaction
RARE = 10  # issues with the rare label
EVENTS_BESIDE = 4  # of an issue, besides that of its creation
STATUSES = ("done",) * 11 + ("ready",) * 6 + ("open",) * 2 + ("cancelled",)
CALLER = Caller("bench", "alone", host="bench")


@dataclass
class Grown:
    """A room of some size, and what its questions took (ms)."""

    room: Room
    size: int
    last_event: int
    took: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def ask(self, name: str, operation: str, **arguments: Any) -> dict[str, Any]:
        start = time.perf_counter()
        reply = self.room.ask(OPERATIONS[operation], arguments, CALLER)
        self.took.setdefault(name, []).append((time.perf_counter() - start) * 1_000)
        return reply


class Language:
    """Words that are unequally common."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self._chance.choices(letters, k=self._chance.randint(3, 10))) for _ in range(20_000)]

    def text(self, count: int) -> str:
        places = (int(self._chance.paretovariate(0.6)) - 1 for _ in range(count))
        return " ".join(self.words[place % len(self.words)] for place in places)


WORDS = Language(7)


def figures(rounds: int, *, sizes: tuple[int, ...] = (SMALL, LARGE)) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        rooms = [_grown(Path(folder, str(size)), size) for size in sizes]
        try:
            for place in range(max(rounds, 60)):
                for grown in rooms:
                    _ask_all(grown, place)
        finally:
            for grown in rooms:
                grown.room.close()
        return [*_compared(rooms), *(_file(Path(folder, str(grown.size)), grown) for grown in rooms)]


def _compared(rooms: list[Grown]) -> list[Figure]:
    small, large = rooms[0], rooms[-1]
    disk = f"one fsync is {fsync_ms():.1f} ms of it"
    shown: list[Figure] = []
    for name, took in large.took.items():
        one, other = statistics.median(small.took[name]), statistics.median(took)
        if name.startswith("search"):
            continue
        note = f"{one:.2f} ms with {small.size:,}, {other:.2f} ms with {large.size:,}"
        note += f"; {disk}" if name == "claim next" else ""
        shown.append(at_most(f"{name}, {large.size:,} issues", other / one, GROWTH_MAX, "x", note=note))
    for grown in rooms:
        every = sorted(ms for name, took in grown.took.items() if name.startswith("search") for ms in took)
        p95 = statistics.quantiles(every, n=20)[18]
        name = f"search, {grown.size:,} issues, p95"
        note = f"p50 {statistics.median(every):.2f} ms, worst {every[-1]:.1f} ms"
        shown.append(at_most(name, p95, SEARCH_MS_MAX, "ms", note=note))
    return shown


def _file(folder: Path, grown: Grown) -> Figure:
    size = sum(file.stat().st_size for file in folder.rglob("room.db*"))
    per_issue = f"{size / grown.size / 1_000:.1f} kB an issue"
    return Figure(f"the file, {grown.size:,} issues", f"{size / 1_000_000:,.0f} MB", note=per_issue)


def _ask_all(grown: Grown, place: int) -> None:
    """Every question once."""
    words = WORDS.words
    grown.ask("first page of a list", "list_issues")
    grown.ask("list, by status", "list_issues", statuses=["ready"])
    grown.ask("list, a rare label", "list_issues", labels=["rare"])
    grown.ask("list, nothing in it", "list_issues", statuses=["blocked"])
    grown.ask("changes", "get_changes", since_event_id=max(0, grown.last_event - 50))
    claimed = grown.ask("claim next", "claim_issue", next=True, context=False)
    grown.ask("context", "get_work_context", issue_id=claimed["display_id"])
    common, middle, rare = words[0], words[40 + place], words[4_000 + place * 7]
    for query in (
        common,
        middle,
        rare,
        f"{common} {middle}",
        f"{common} {rare}",
        f'"{common} {words[1]}"',
        f"{middle[:3]}*",
        f"{middle} OR {rare}",
        f"{common} -{words[1]}",
        f"{words[2]} {words[3]} {words[5]}",
        "src/part.py",
        f"nothing-like-{place}",
    ):
        grown.ask(f"search {query}", "search", query=query)


def _grown(folder: Path, size: int) -> Grown:
    """A new room with so many issues."""
    folder.mkdir()
    clock = Clock()
    room = open_room(clock.new_id(), home=str(folder), clock=clock, lock_wait_ms=60_000)
    language = Language(7)
    start = time.perf_counter()
    for first in range(0, size, TOGETHER):
        last = min(size, first + TOGETHER)
        part = partial(_fill, language=language, size=size, places=range(first, last))
        room.run(part, caller=CALLER, durable=False)
        if sys.stderr.isatty() or size >= HUGE:
            print(f"\r  {last:,} issues, {time.perf_counter() - start:,.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    latest = room.ask(OPERATIONS["get_changes"], {"since_event_id": 0, "limit": 1}, CALLER)["latest_event_id"]
    return Grown(room, size, latest)


def _fill(tx: Tx, *, language: Language, size: int, places: range) -> None:
    # Called as the functions they are: so many arguments need no checking.
    for place in places:
        worked = place % 100 == 99
        made = issues.create_issue(
            tx,
            title=f"{language.text(6)} {place}",
            description=f"{language.text(70)} src/part{place % 50}.py",
            acceptance_criteria=language.text(10),
            status="ready" if worked else STATUSES[place % len(STATUSES)],
            priority=("low", "medium", "high")[place % 3],
            labels=["rare"] if place % (size // RARE) == 7 else [f"area-{place % 20}"],
        )
        beside = EVENTS_BESIDE
        if place % 10 == 0:
            remarks.add_comment(tx, issue_id=made["issue_id"], content=language.text(20))
            beside -= 1
        if worked:
            _work(tx, made["issue_id"], language)
            beside -= 2
        for _ in range(beside):
            event = tx.tell("issue_updated", issue=made["issue_id"], changed_fields=["description"])
            issues.note_event(tx, made["issue_id"], event)


def _work(tx: Tx, issue: str, language: Language) -> None:
    claim = attempts.claim_issue(tx, issue_id=issue, context=False)
    attempts.finish_attempt(
        tx,
        claim["attempt_id"],
        claim["lease_token"],
        "completed",
        language.text(30),
        target_issue_status="done",
        verification=[language.text(5)],
    )
