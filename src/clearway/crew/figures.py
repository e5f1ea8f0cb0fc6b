"""What coordination cost and what it saved, from the one log and from what the hooks of this machine counted.

The log tells refusals, leaks, overlaps and how long lost work lay until somebody went on with it; the counters of the
hooks (tally.py) how long they took and how much they put before models. Nothing here is kept: it is read when asked.
"""

from __future__ import annotations

from clearway import clock, wire
from clearway.db import Row, statements
from clearway.limits import STATS_DAYS, STATS_EVENTS_READ
from clearway.op import op
from clearway.tally import Tally, passages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Days, ListLimit
    from clearway.db.tx import Tx

SQL = statements(__file__)
_DAY_MS = 86_400_000
_TAKEN_ALREADY = frozenset({"ACTIVE_ATTEMPT_EXISTS", "ISSUE_RESERVED"})


@op(group="crew", cli="stats", tool=False)
def stats(tx: Tx, days: Days = STATS_DAYS, parts: ListLimit | None = None) -> dict[str, Any]:
    """Learn what coordination cost and saved: refusals, leaks, overlaps, recovery, bytes, latency.

    days: how far back.
    parts: into how many equal parts of that time it is counted, too, oldest first.
    """
    since = tx.wall - days * _DAY_MS
    log = _Log(since, days * _DAY_MS // (parts or 1), parts or 0)
    after = 0
    while events := tx.all(SQL.events, since=since, after=after, limit=STATS_EVENTS_READ):
        for event in events:
            log.read(event)
        after = events[-1].id
    return {
        "since": clock.iso(since),
        "refusals": {"total": sum(log.refusals.values()), "by_code": dict(sorted(log.refusals.items()))},
        "leaks": log.leaks,
        "overlaps": log.overlaps,
        "duplicate_work_avoided": sum(log.refusals.get(code, 0) for code in _TAKEN_ALREADY),
        "recovery": {"lost": log.lost, "recovered": len(log.recovered), **_seconds(log.recovered)},
        "hooks": _hooks(tx, since),
        **({} if parts is None else {"by_part": log.by_part}),
    }


class _Log:
    """What the log tells, event by event."""

    def __init__(self, since: int, part_ms: int, parts: int) -> None:
        self._since = since
        self._part_ms = part_ms
        self._parts = parts
        self.by_part = {name: [0] * parts for name in ("refusals", "leaks", "overlaps", "lost", "recovered")}
        self.refusals: dict[str, int] = {}
        self.leaks = 0
        self.overlaps = 0
        self.lost = 0
        self.recovered: list[int] = []  # ms
        self._waiting: dict[str, int] = {}  # issue -> when its holder was last heard of (wall ms)

    def read(self, event: Row) -> None:
        facts: dict[str, Any] = wire.loads(event.data)
        match event.type:
            case "refused":
                # Equal ones within a minute are told once; the next says how many were passed over.
                count = 1 + facts.get("repeated", 0)
                self.refusals[facts["code"]] = self.refusals.get(facts["code"], 0) + count
                self._mark("refusals", event.at, count)
            case "path_leaked":
                self.leaks += 1
                self._mark("leaks", event.at)
            case "overlap_noted":
                self.overlaps += 1
                self._mark("overlaps", event.at)
            case "attempt_expired":
                self.lost += 1
                self._mark("lost", event.at)
                self._waiting[event.issue] = event.at - facts.get("silent_ms", 0)
            case "attempt_started":
                since = self._waiting.pop(event.issue, None)
                if since is not None:
                    self.recovered.append(max(0, event.at - since))
                    self._mark("recovered", event.at)
            case _:
                pass

    def _mark(self, name: str, at: int, count: int = 1) -> None:
        """Count it in its part of the time that is looked at."""
        if self._parts:
            self.by_part[name][min(self._parts - 1, (at - self._since) // self._part_ms)] += count


def _seconds(spans: list[int]) -> dict[str, float]:
    """The half and the slowest twentieth, in seconds."""
    if not spans:
        return {}
    ordered = sorted(spans)
    last = len(ordered) - 1
    return {
        name: round(ordered[min(last, int(part * len(ordered)))] / 1_000, 1)
        for name, part in (("p50_seconds", 0.5), ("p95_seconds", 0.95))
    }


def _hooks(tx: Tx, since: int) -> dict[str, Any]:
    """What the hooks of this machine counted for the sessions of this room."""
    heard = tx.now - (tx.wall - since)
    found = Tally(tx.home).of(row.id for row in tx.all(SQL.sessions, heard=heard))
    unchecked, _ = passages(tx.home, tx.wall)
    half, most = found.percentile(0.5), found.percentile(0.95)
    spans = {} if half is None or most is None else {"p50_ms": half, "p95_ms": most}
    return {
        "calls": found.calls,
        "bytes_injected": found.said,
        **{name: round(micros / 1_000, 2) for name, micros in spans.items()},
        "unchecked_24h": unchecked,
    }
