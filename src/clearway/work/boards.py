"""The board: what is ready, live, blocked, in review, open and done, each as short cards, at one moment.

A card says why it is where it is: who works on it and until when, what it waits for, where its review stands. Columns
are read up to a bound, the most urgent first, what is finished newest first, and counted up to a bound; nothing here is
as long as the project is.
"""

from __future__ import annotations

from clearway import clock, lapse, wire
from clearway.db import Row, statements
from clearway.lifecycle import PRIORITIES, REPEATED_FAILURES
from clearway.limits import BLOCKERS_SHOWN, BOARD_CARDS, BOARD_COUNTED_MAX
from clearway.op import op
from clearway.untrusted import folded
from clearway.work import issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import GraphNodes
    from clearway.db.tx import Tx

SQL = statements(__file__)
_REASON_CHARS = 160


@op(group="plan", tool=False)
def get_board(tx: Tx, cards: GraphNodes = BOARD_CARDS) -> dict[str, Any]:
    """Read the board of the project: a column for each state of the work, with cards and how many there are.

    cards: of one column at most.
    """
    gone = lapse.gone(tx)[1]
    ids = {row.id for status in ("open", "blocked") for row in tx.all(SQL.of_status, status=status, limit=cards)}
    ids |= {row.id for status in ("ready", "review") for row in tx.all(SQL.free, status=status, limit=cards)}
    ids |= {row.id for row in tx.all(SQL.waiting, limit=cards)}
    ids |= {row.id for row in tx.all(SQL.finished, limit=cards)}
    ids |= {row.issue for row in tx.all(SQL.live, gone=gone, limit=cards)}
    rows = tx.all(SQL.cards, ids=wire.dumps(sorted(ids)), gone=gone, streak=REPEATED_FAILURES)
    columns: dict[str, list[dict[str, Any]]] = {name: [] for name in _COLUMNS}
    for row in sorted(rows, key=_place):
        column = columns[_column(row)]
        if len(column) < cards:
            column.append(_card(tx, row))
    return {"columns": columns, "counts": _counts(tx, gone), "latest_event_id": tx.last_event}


_COLUMNS = ("open", "ready", "live", "blocked", "review", "done")


def _column(row: Row) -> str:
    if row.status in ("done", "cancelled"):
        return "done"
    if row.attempt is not None:
        return "live"
    if row.status == "blocked" or row.open_blockers and row.status in ("ready", "review"):
        return "blocked"
    return row.status


def _place(row: Row) -> tuple[int, int]:
    """Where a card stands in its column: what is finished newest first, all else the most urgent first."""
    if row.closed_wall is not None:
        return -row.closed_wall, -row.number
    return -row.priority, row.number


def _card(tx: Tx, row: Row) -> dict[str, Any]:
    card: dict[str, Any] = {"display_id": f"ISSUE-{row.number}", "title": row.title, "version": row.version}
    card["updated_at"] = clock.iso(row.updated_wall)
    if row.type != "task":
        card["type"] = row.type
    if PRIORITIES[row.priority] != "medium":
        card["priority"] = PRIORITIES[row.priority]
    labels: list[str] = wire.loads(row.labels)
    if labels:
        card["labels"] = sorted(labels)
    if row.status == "cancelled":
        card["status"] = row.status
    if row.attempt is not None:
        until = lapse.until(tx, Row(id=row.attempt, session=row.session, expires_at=row.expires_at))
        card["live"] = {
            "attempt_id": row.attempt,
            "agent": row.agent,
            "session": row.session,
            "kind": row.kind,
            "since": clock.iso(row.started_wall),
            "until": tx.iso(until),
            "lease_seconds": row.lease_ms // 1_000,
        }
    if row.open_blockers:
        waits = [f"ISSUE-{blocker.number}" for blocker in tx.all(SQL.blockers, issue=row.id, limit=BLOCKERS_SHOWN)]
        card["waits_for"] = waits
        card["open_blockers"] = row.open_blockers
    if row.blocked_reason is not None:
        card["blocked_reason"] = folded(row.blocked_reason, _REASON_CHARS)
    reserved = issues.reserved_for(tx, row)
    if reserved is not None:
        card["reserved_for"] = reserved
    if issues.needs_human(row):
        card["needs_human"] = True
    review = tx.one(SQL.review, issue=row.id)
    if review is not None:
        card["review"] = {"review_request_id": review.id, "status": review.status, "version": review.version}
        card["review"] |= {"issue_version": review.issue_version} | ({"stale": True} if review.stale else {})
    return card


def _counts(tx: Tx, gone: str) -> dict[str, int]:
    """How many there are of each column, up to a bound: a number at the bound stands for as many or more."""
    most = BOARD_COUNTED_MAX
    counts = {status: _count(tx, SQL.count_status, status=status, limit=most) for status in ("open", "blocked")}
    counts |= {status: _count(tx, SQL.count_free, status=status, limit=most) for status in ("ready", "review")}
    counts["blocked"] += _count(tx, SQL.count_waiting, limit=most)
    counts["done"] = sum(_count(tx, SQL.count_status, status=status, limit=most) for status in ("done", "cancelled"))
    counts["live"] = 0
    for row in tx.all(SQL.live, gone=gone, limit=most):
        counts["live"] += 1
        counts["blocked" if row.open_blockers or row.status == "blocked" else row.status] -= 1
    return {name: min(most, max(0, counts[name])) for name in _COLUMNS}


def _count(tx: Tx, statement: Any, **given: Any) -> int:
    row = tx.one(statement, **given)
    return 0 if row is None else row.issues
