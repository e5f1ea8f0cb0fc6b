"""What is held, checkout by checkout, and what agents say to each other: as a person sees the whole of it at once.

Reading changes nothing: nothing counts as seen because a person looked at it here.
"""

from __future__ import annotations

from clearway import lapse, policy
from clearway.crew import messages
from clearway.db import Row, statements
from clearway.limits import HOLDINGS_SHOWN_MAX, LETTERS_DEFAULT
from clearway.op import op
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import AgentName, InboxLimit, IssueRef, MessageRef
    from clearway.db.tx import Tx

SQL = statements(__file__)
_CHARS = 2_000


@op(group="crew", tool=False)
def get_holdings(tx: Tx) -> dict[str, Any]:
    """Read which paths are held in every checkout, by whom, what for and until when, and where checkouts overlap."""
    gone = lapse.gone(tx)[0]
    rows = tx.all(SQL.held, gone=gone, limit=HOLDINGS_SHOWN_MAX + 1)
    shown = rows[:HOLDINGS_SHOWN_MAX]
    places = {row.checkout: row for row in shown}
    checkouts = [
        {"checkout": row.checkout, "root": row.root, "branch": row.branch, "host": row.host} for row in places.values()
    ]
    return {
        "checkouts": checkouts,
        "paths": [_held(tx, row) for row in shown],
        **({"has_more": True} if len(rows) > len(shown) else {}),
    }


def _held(tx: Tx, row: Row) -> dict[str, Any]:
    return {
        "path": row.shown,
        "checkout": row.checkout,
        "agent": row.agent,
        "session": row.session,
        "mode": row.mode,
        **({"purpose": folded(row.purpose, 120)} if row.purpose else {}),
        **({"issue": f"ISSUE-{row.number}"} if row.number is not None else {}),
        **({"call": True} if row.call else {}),
        "since": tx.iso(row.claimed_at),
        "until": tx.iso(lapse.until(tx, row)),
        "lease_seconds": row.lease_ms // 1_000,
        **({"elsewhere": row.elsewhere} if row.elsewhere else {}),
    }


@op(group="crew", tool=False)
def list_messages(
    tx: Tx,
    agent: AgentName | None = None,
    issue_id: IssueRef | None = None,
    before: MessageRef | None = None,
    limit: InboxLimit = LETTERS_DEFAULT,
) -> dict[str, Any]:
    """Read what was said in the room, newest first, without receipts. For the human only.

    agent: only what it sent or was sent.
    """
    policy.only_the_human(tx, "reads what others say to each other")
    issue = None if issue_id is None else messages.issue_named(tx, issue_id)
    rows = tx.all(SQL.letters, agent=agent, issue=issue, before=before, limit=limit + 1)
    items = [{**messages.item(tx, row, chars=_CHARS), **_receipts(row)} for row in rows[:limit]]
    more = {"before": items[-1]["message_id"]} if len(rows) > limit else {}
    return {"items": items, "has_more": len(rows) > limit, **more}


def _receipts(row: Row) -> dict[str, Any]:
    from clearway.clock import iso

    told = {"seen_at": row.seen_wall, "taken_at": row.taken_wall}
    shown: dict[str, Any] = {name: iso(wall) for name, wall in told.items() if wall is not None}
    return shown | ({"session": row.sender_session} if row.sender_session else {})
