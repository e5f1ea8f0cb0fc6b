"""What came of the work since a time: what landed, what waits for a review, what was parked and why, what still runs.

An issue stands in one of these lists, by what it is now; an attempt that ended without landing says why it did.
"""

from __future__ import annotations

from clearway import amounts, clock, lapse
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import OUTCOMES_MAX
from clearway.op import op
from clearway.untrusted import folded
from clearway.work import evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Since
    from clearway.db.tx import Tx

SQL = statements(__file__)
_CHARS = 300
_LINKS_MAX = 5


@op(group="work", tool=False)
def get_outcomes(tx: Tx, since: Since) -> dict[str, Any]:
    """Tell what came of the work since a time: landed, to be reviewed, parked and why, and what still runs.

    since: 18:00 (the last time it was), 90m, 12h, 7d, or a time.
    """
    begun = amounts.moment_of(since, tx.wall)
    if begun is None:
        raise Refusal(
            "INVALID_ARGUMENT", f"since must be 18:00, 90m, 12h, 7d or 2026-11-30T18:00Z, not {folded(since, 40)!r}."
        )
    gone = lapse.gone(tx)[1]
    asked = {"since": begun, "gone": gone, "limit": OUTCOMES_MAX}
    counts = tx.one(SQL.counts, since=begun)
    assert counts is not None
    return {
        "since": clock.iso(begun),
        "until": clock.iso(tx.wall),
        "created": counts.created,
        "landed_count": counts.landed,
        "attempts": counts.attempts,
        "landed": [_landed(tx, row) for row in tx.all(SQL.landed, since=begun, limit=OUTCOMES_MAX)],
        "review": [_landed(tx, row) for row in tx.all(SQL.in_review, **asked)],
        "parked": [_parked(tx, row) for row in tx.all(SQL.parked, **asked)],
        "running": [_running(row) for row in tx.all(SQL.running, gone=gone, limit=OUTCOMES_MAX)],
    }


def _landed(tx: Tx, row: Row) -> dict[str, Any]:
    shown = _named(row)
    if row.attempt is None:
        return shown
    shown |= {"agent": row.agent, "attempt_id": row.attempt}
    if row.result_summary:
        shown["result_summary"] = folded(row.result_summary, _CHARS)
    links = [_link(each) for each in tx.all(SQL.links, attempt=row.attempt, limit=_LINKS_MAX)]
    if links:
        shown["links"] = links
    return _with_evidence(tx, shown, row.attempt)


def _parked(tx: Tx, row: Row) -> dict[str, Any]:
    """Why it is not done: what blocks it, else how the last attempt ended."""
    shown = {**_named(row), "status": row.status}
    if row.status == "blocked":
        shown["why"] = folded(row.blocked_reason, _CHARS)
    if row.attempt is None:
        return shown
    shown |= {"agent": row.agent, "attempt_id": row.attempt, "ended_as": row.ended}
    code = row.failure_code or row.interruption_code
    said = row.reason_details or row.result_summary
    parts = [code.replace("_", " ") if code else "", folded(said, _CHARS) if said else ""]
    if row.ended == "expired":
        parts.append("its lease ended")
    told = ": ".join(filter(None, parts))
    shown.setdefault("why", told)
    if row.next_steps:
        shown["next_steps"] = folded(row.next_steps, _CHARS)
    return _with_evidence(tx, shown, row.attempt)


def _running(row: Row) -> dict[str, Any]:
    shown = {**_named(row), "agent": row.agent, "attempt_id": row.attempt, "started_at": clock.iso(row.started_wall)}
    return {**shown, "stuck": row.warned_why} if row.warned_why else shown


def _with_evidence(tx: Tx, shown: dict[str, Any], attempt: str) -> dict[str, Any]:
    seen = evidence.of_attempt(tx, attempt)
    return shown if seen is None else {**shown, "evidence": seen}


def _named(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"display_id": f"ISSUE-{row.number}", "title": row.title}
    return shown if row.at is None else {**shown, "at": clock.iso(row.at)}


def _link(row: Row) -> dict[str, Any]:
    return {name: folded(row[name], _CHARS) for name in ("type", "uri", "title") if row[name] is not None}
