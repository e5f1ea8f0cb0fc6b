"""Which issue comes next: the best of those that are ready and free, and why.

Priority first, then how much it unblocks, then age. What is kept for another agent is passed over, and so is work that
is expected to change what another session holds now, in whichever checkout: two who change one file meet at the latest
when they merge.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import PRIORITIES
from clearway.work import issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx

SQL = statements(__file__)
FEW = 1_000  # issues with a label: up to here they are looked at one by one


def choose(
    tx: Tx, *, labels: list[str] | None = None, priorities: list[str] | None = None, epic: str | None = None
) -> tuple[Row, str]:
    """The best issue for the caller among those that the filters admit, and the reason in one line."""
    best = _best(tx, labels=labels, priorities=priorities, epic=epic)
    if best is None:
        filtered = labels is not None or priorities is not None or epic is not None
        what = "No issue that fits" if filtered else "No issue"
        raise Refusal(
            "NOTHING_TO_CLAIM",
            f"{what} is ready and free for you; list_issues shows what is there, create_issue adds work.",
        )
    reason = f"{PRIORITIES[best.priority]} priority"
    if best.reserved_for is not None and issues.reserved_for(tx, best) is not None:
        reason += ", reserved for you"
    reason += f", unblocks {best.unblocks}" if best.unblocks else ", the oldest of its kind"
    return issues.find(tx, best.id), reason


def another(tx: Tx) -> str | None:
    """What the caller could take instead of an issue that it cannot have."""
    best = _best(tx)
    return None if best is None else f"ISSUE-{best.number}"


def _best(
    tx: Tx, *, labels: list[str] | None = None, priorities: list[str] | None = None, epic: str | None = None
) -> Row | None:
    """The first that passes. Each priority is asked for by itself, so that none is read to be passed over."""
    ids = None if labels is None else _label_ids(tx, labels)
    wanted = sorted((PRIORITIES.index(word) for word in priorities or ()), reverse=True)
    given = {
        "epic": None if epic is None else issues.find(tx, epic).id,
        "agent": tx.caller.agent,
        "session": tx.caller.key,
        "now": tx.now,
        "labels": ids,
    }
    statement = SQL.best_of_few if ids is not None and _are_few(tx, ids) else SQL.best
    for least, most in [(place, place) for place in wanted] or [(0, len(PRIORITIES) - 1)]:
        best = tx.one(statement, least=least, most=most, **given)
        if best is not None:
            return best
    return None


def _label_ids(tx: Tx, labels: list[str]) -> str:
    rows = tx.all(SQL.label_ids, labels=wire.dumps([label.lower() for label in labels]))
    return wire.dumps([row.id for row in rows])


def _are_few(tx: Tx, labels: str) -> bool:
    counted = tx.one(SQL.labelled, labels=labels, most=FEW + 1)
    return counted is not None and counted.issues <= FEW
