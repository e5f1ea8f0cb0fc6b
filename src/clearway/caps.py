"""What may be spent: caps for one issue, for one agent in a day, and for a night; and what reaching them does.

An issue that has cost as much as it may is parked: it is blocked, with its reason, until a person makes it ready again,
and may then cost as much once more. At the cap of an agent or of a night nothing new is begun by agents; what has been
begun may come to its end. Money is counted where a client told it or the room knows the price of a model; tokens are
those that were not read from a cache. People are never stopped.
"""

from __future__ import annotations

from clearway import amounts, clock, policy
from clearway.amounts import dollars, thousands
from clearway.db import statements
from clearway.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db import Row
    from clearway.db.tx import Tx

SQL = statements(__file__)
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Cap:
    """How much may be spent: in millionths of a dollar, in tokens, or both, whichever comes first."""

    __slots__ = ("micros", "tokens")

    def __init__(self, text: str) -> None:
        self.micros, self.tokens = amounts.cap_of(text) or (None, None)

    def is_reached(self, spent: Row) -> bool:
        return (self.micros is not None and spent.micros >= self.micros) or (
            self.tokens is not None and spent.tokens >= self.tokens
        )

    def said(self, spent: Row) -> str:
        """Both sides of it, as people read them."""
        money = self.micros is not None and spent.micros >= self.micros
        if money or self.tokens is None:
            return f"{dollars(spent.micros)} of {dollars(self.micros or 0)}"
        return f"{thousands(spent.tokens)} of {thousands(self.tokens)} tokens"


def check(tx: Tx) -> None:
    """RATE_LIMITED where the caller may begin nothing more: its own cap is reached, or that of this night."""
    found = in_the_way(tx)
    if found is not None:
        said, until = found
        raise Refusal("RATE_LIMITED", f"{said}; what was begun may be finished.", until=clock.iso(until))


def in_the_way(tx: Tx) -> tuple[str, int] | None:
    """Which cap keeps the caller from beginning anything, in a sentence, and until when (wall ms)."""
    if tx.caller.human:
        return None
    text = policy.value(tx, "cost.night")
    if text:
        begun, ends = night(tx)
        spent, cap = since(tx, begun), Cap(text)
        if tx.wall < ends and cap.is_reached(spent):
            return f"What this night may cost is spent ({cap.said(spent)}); it ends at {clock.local_time(ends)}", ends
    text = policy.value(tx, "cost.agent")
    if text:
        spent, cap = since(tx, tx.wall - DAY_MS, tx.caller.agent), Cap(text)
        if cap.is_reached(spent):
            return f"What {tx.caller.agent} may cost in 24 hours is spent ({cap.said(spent)})", tx.wall + HOUR_MS
    return None


def is_over(tx: Tx, issue: str) -> str:
    """How far over its cap an issue is, in words; empty if it is not. What it cost before a person let it go on does
    not count."""
    text = policy.value(tx, "cost.issue")
    if not text:
        return ""
    spent = tx.one(SQL.of_issue, issue=issue)
    cap = Cap(text)
    return cap.said(spent) if spent is not None and cap.is_reached(spent) else ""


def settle(tx: Tx, issue: str) -> int | None:
    """Park an issue that has cost what it may and that nobody works on now; the event that tells it, if so."""
    over = is_over(tx, issue)
    row = tx.one(SQL.to_park, issue=issue) if over else None
    if row is None:
        return None
    reason = f"What it may cost is spent ({over}). Make it ready again to let it cost as much once more."
    facts: dict[str, Any] = {"changed_fields": ["status", "blocked_reason"], "status": "blocked"}
    facts["from_status"] = row.status
    event = tx.tell("status_changed", issue=issue, **facts, why="cost")
    tx.change(SQL.park, id=issue, reason=reason, event=event, wall=tx.wall)
    tx.change(SQL.forgive, issue=issue)
    return event


def since(tx: Tx, begun: int, agent: str | None = None) -> Row:
    """What was spent since a time (wall ms, to the hour), by all or by one agent."""
    row = tx.one(SQL.since, hour=begun // HOUR_MS, agent=agent)
    assert row is not None
    return row


def night(tx: Tx) -> tuple[int, int]:
    """When the last night began, and when it ends or ended (wall ms)."""
    first, last = amounts.hours_of(policy.value(tx, "night")) or (18 * 60, 8 * 60)
    begun = clock.last_at(tx.wall, first)
    return begun, begun + ((last - first) % (24 * 60) or 24 * 60) * 60_000
