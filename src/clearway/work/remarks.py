"""Remarks: what is said about an issue, by anyone, at any time. Nothing said is changed or taken back."""

from __future__ import annotations

from clearway.db import statements
from clearway.op import op
from clearway.work import issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Comment, IssueRef
    from clearway.db.tx import Tx

SQL = statements(__file__)


@op(writes=True, keyed="agent", cli="issue comment")
def add_comment(tx: Tx, issue_id: IssueRef, content: Comment) -> dict[str, Any]:
    """Say something about an issue to whoever works on it next. For your own attempt, save a note instead."""
    issue = issues.find(tx, issue_id)
    issues.check_not_archived(issue)
    newest = tx.one(SQL.newest, issue=issue.id)
    comment = tx.new_id(None if newest is None else newest.id)  # they are read by their ids
    tx.change(
        SQL.comment,
        id=comment,
        issue=issue.id,
        session=tx.caller.key,
        agent=tx.caller.agent,
        content=content,
        wall=tx.wall,
    )
    issues.note_event(tx, issue.id, tx.tell("comment_added", issue=issue.id, comment=comment))
    return {"comment_id": comment}
