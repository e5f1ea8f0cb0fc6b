"""What waits for what, as numbers: issue.open_blockers and issue.unblocks, kept here and nowhere else.

An issue waits for each issue that blocks it and is neither finished nor archived; it unblocks each that waits for it.
Both are stored, because the order of a list and the choice of the next issue cannot be counted per question. Every
operation that adds or removes a `blocks` relation, or ends, reopens, archives or un-archives an issue, says so here.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx

SQL = statements(__file__)


def recount(tx: Tx, issues: list[str]) -> None:
    """The relations of these issues have changed."""
    tx.change(SQL.recount, issues=wire.dumps(issues))


def recount_around(tx: Tx, issue: str) -> None:
    """This issue has ended, come back, or gone to or come from the archive: those it blocks and is blocked by."""
    near = [row.id for row in tx.all(SQL.around, issue=issue)]
    if near:
        recount(tx, near)


def blockers(tx: Tx, issue: str, limit: int) -> list[Row]:
    """What an issue waits for, the most urgent first."""
    return tx.all(SQL.blockers, issue=issue, limit=limit)


def leads(after: dict[str, set[str]], start: str, goal: str) -> bool:
    """Whether one comes from a start to a goal, going on to whatever stands after each."""
    seen = {start}
    ahead = [start]
    while ahead:
        place = ahead.pop()
        if place == goal:
            return True
        fresh = after.get(place, set()) - seen
        seen |= fresh
        ahead += fresh
    return False
