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
    first, second = (source, target) if relation_type != "related_to" or source.id < target.id else (target, source)
    relation = {"source": first.id, "target": second.id, "type": relation_type}
    if action == "add":
        changed = _add(tx, first, second, relation)
    else:
        changed = bool(tx.change(SQL.remove, **relation))
    if changed:
        _settle(tx, action, first, second, relation_type)
    return {
        "changed": changed,
        "source": f"ISSUE-{source.number}",
        "target": f"ISSUE-{target.number}",
        "type": relation_type,
        "affected": [_affected(tx, issue.id) for issue in (source, target)],
    }


def _add(tx: Tx, source: Row, target: Row, relation: dict[str, str]) -> bool:
    if relation["type"] == "blocks" and tx.one(SQL.way, start=target.id, goal=source.id):
        raise Refusal(
            "BLOCKS_CYCLE",
            f"ISSUE-{target.number} already blocks ISSUE-{source.number}, itself or through others; "
            "remove that relation first.",
            source=f"ISSUE-{source.number}",
            target=f"ISSUE-{target.number}",
        )
    return bool(tx.change(SQL.add, **relation, session=tx.caller.key, wall=tx.wall))


def _settle(tx: Tx, action: str, source: Row, target: Row, relation_type: str) -> None:
    """Tell it at both ends, so that the history of either issue has it."""
    told = "relation_added" if action == "add" else "relation_removed"
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
