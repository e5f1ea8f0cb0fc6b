"""Decisions: what was settled, for the whole project or for one issue, and why. Nothing recorded is changed.

A decision that replaces another names it, and both happen at once: there is never a moment without either. Of what is
active, the work context of every issue tells.
"""

from __future__ import annotations

from clearway import clock
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import LIST_DEFAULT
from clearway.op import op
from clearway.work import cursors, issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        Cursor,
        DecisionRef,
        DecisionStatus,
        DecisionSummary,
        DecisionText,
        IssueRef,
        ListLimit,
        Title,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)


@op(writes=True, group="plan", keyed="agent", cli="decision add")
def record_decision(
    tx: Tx,
    title: Title,
    summary: DecisionSummary,
    content: DecisionText = "",
    issue_id: IssueRef | None = None,
    status: DecisionStatus = "active",
    supersedes_id: DecisionRef | None = None,
) -> dict[str, Any]:
    """Record what was decided and why, for the project or for one issue; its summary stands in every work context.

    supersedes_id: the one it replaces.
    """
    issue = None if issue_id is None else issues.find(tx, issue_id)
    made = record(
        tx, title=title, summary=summary, content=content, issue=issue, status=status, supersedes=supersedes_id
    )
    replaced: dict[str, Any] = {} if supersedes_id is None else {"superseded_decision_id": _named(supersedes_id)}
    return {"decision_id": made, **replaced}


@op(group="plan", cli="decision list")
def list_decisions(
    tx: Tx,
    issue_id: IssueRef | None = None,
    status: DecisionStatus | None = None,
    limit: ListLimit = LIST_DEFAULT,
    cursor: Cursor | None = None,
) -> dict[str, Any]:
    """Read the decisions of the project, or of one issue, whole and newest first."""
    rows = tx.all(
        SQL.list_project if issue_id is None else SQL.list_issue,
        **({} if issue_id is None else {"issue": issues.find(tx, issue_id).id}),
        status=status,
        before=cursors.read(cursor, ("event",)).get("event"),
        limit=limit + 1,
    )
    return cursors.page(rows, limit, _shown, "event")


def record(
    tx: Tx, *, title: str, summary: str, content: str, issue: Row | None, status: str, supersedes: str | None = None
) -> str:
    """Write one decision down; its id. supersedes: the id of an active one of the same issue, or of the project."""
    if issue is not None:
        issues.check_not_archived(issue)
    scope = None if issue is None else issue.id
    replaced = None if supersedes is None else replaceable(tx, supersedes, scope, status)
    decision = tx.new_id()
    facts: dict[str, Any] = {} if replaced is None else {"supersedes": replaced}
    event = tx.tell("decision_recorded", issue=scope, decision=decision, title=title, status=status, **facts)
    if replaced is not None:
        tx.change(SQL.supersede, id=replaced)
    tx.change(
        SQL.record,
        id=decision,
        issue=scope,
        title=title,
        summary=summary,
        content=content,
        status=status,
        supersedes=replaced,
        event=event,
        session=tx.caller.key,
        agent=tx.caller.agent,
        wall=tx.wall,
    )
    if scope is not None:
        issues.note_event(tx, scope, event)
    return decision


def in_force(tx: Tx, issue: str, limit: int) -> list[dict[str, Any]]:
    """What whoever works on an issue has to know: the active decisions of it and of the project, those of the issue
    first, without their reasons."""
    return [
        {
            "decision_id": row.id,
            "title": row.title,
            "summary": row.summary,
            **({"of": "project"} if row.issue is None else {}),
        }
        for row in tx.all(SQL.in_force, issue=issue, limit=limit)
    ]


def replaceable(tx: Tx, reference: str, scope: str | None, status: str) -> str:
    """The id of a decision that can be replaced by an active one of this scope."""
    if status != "active":
        raise _field("FORBIDDEN", "Only an active decision replaces another.")
    known = tx.one(SQL.find, id=_named(reference))
    if known is None:
        raise _field("NOT_FOUND", "There is no such decision; list_decisions shows those there are.")
    if known.issue != scope:
        raise _field("SCOPE_MISMATCH", "A decision replaces one of the same issue, or one of the project.")
    if known.status != "active":
        raise _field("NOT_ACTIVE", f"That decision is {known.status}; replace the one that is active.")
    return known.id


def _named(reference: str) -> str:
    return reference.strip().upper()


def _shown(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"decision_id": row.id, "title": row.title, "status": row.status, "summary": row.summary}
    if row.content:
        shown["content"] = row.content
    if row.supersedes is not None:
        shown["supersedes_id"] = row.supersedes
    return {**shown, "agent": row.agent, "at": clock.iso(row.created_wall)}


def _field(code: str, message: str) -> Refusal:
    return Refusal("INVALID_ARGUMENT", message, [{"field": "supersedes_id", "code": code, "message": message}])
