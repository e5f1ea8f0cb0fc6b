"""How issues stand to each other: what blocks what, what belongs together, what is the same.

`blocks` never runs in a circle, not even through finished or archived issues, since those can come back. Adding what
is there and removing what is not change nothing and tell nothing. A relation is no change of an issue: its version
stays.
"""

from __future__ import annotations

from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.op import op
from clearway.work import blocking, issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import IssueRef, RelationAction, RelationType
    from clearway.db.tx import Tx

SQL = statements(__file__)


@op(writes=True, group="plan", keyed="agent", cli="issue link")
def manage_issue_relation(
    tx: Tx,
    source_issue_id: IssueRef,
    target_issue_id: IssueRef,
    relation_type: RelationType = "blocks",
    action: RelationAction = "add",
) -> dict[str, Any]:
    """Say that one issue blocks another, belongs with it or duplicates it; or that it no longer does.

    source_issue_id: the one that blocks, or is the duplicate.
    """
    source, target = issues.find(tx, source_issue_id), issues.find(tx, target_issue_id)
    if source.id == target.id:
        raise Refusal("SELF_RELATION", f"ISSUE-{source.number} cannot be related to itself; name two issues.")
    for issue in (source, target):
        issues.check_not_archived(issue)
    act = relate if action == "add" else _part
    return {
        "changed": act(tx, source, target, relation_type),
        "source": f"ISSUE-{source.number}",
        "target": f"ISSUE-{target.number}",
        "type": relation_type,
        "affected": [_affected(tx, issue.id) for issue in (source, target)],
    }


def relate(tx: Tx, source: Row, target: Row, relation_type: str) -> bool:
    """Put two issues that are not archived into relation. Was it new?"""
    first, second = _ordered(source, target, relation_type)
    if relation_type == "blocks" and tx.one(SQL.way, start=second.id, goal=first.id):
        raise Refusal(
            "BLOCKS_CYCLE",
            f"ISSUE-{second.number} already blocks ISSUE-{first.number}, itself or through others; "
            "remove that relation first.",
            source=f"ISSUE-{first.number}",
            target=f"ISSUE-{second.number}",
        )
    ends = {"source": first.id, "target": second.id, "type": relation_type}
    if not tx.change(SQL.add, **ends, session=tx.caller.key, wall=tx.wall):
        return False
    _settle(tx, "relation_added", first, second, relation_type)
    return True


def _part(tx: Tx, source: Row, target: Row, relation_type: str) -> bool:
    """Take a relation back. Was there one?"""
    first, second = _ordered(source, target, relation_type)
    if not tx.change(SQL.remove, source=first.id, target=second.id, type=relation_type):
        return False
    _settle(tx, "relation_removed", first, second, relation_type)
    return True


def _ordered(source: Row, target: Row, relation_type: str) -> tuple[Row, Row]:
    """Belonging together has no direction, and is kept in one."""
    return (target, source) if relation_type == "related_to" and target.id < source.id else (source, target)


def _settle(tx: Tx, told: str, source: Row, target: Row, relation_type: str) -> None:
    """Tell it at both ends, so that the history of either issue has it."""
    facts: dict[str, Any] = {
        "relation": relation_type,
        "source": f"ISSUE-{source.number}",
        "target": f"ISSUE-{target.number}",
    }
    for issue in (source, target):
        issues.note_event(tx, issue.id, tx.tell(told, issue=issue.id, **facts))
    if relation_type == "blocks":
        blocking.recount(tx, [source.id, target.id])


def _affected(tx: Tx, issue_id: str) -> dict[str, Any]:
    issue = issues.find(tx, issue_id)
    return {"id": issue.id, "version": issue.version, "claimable": issues.is_claimable(issue)}
