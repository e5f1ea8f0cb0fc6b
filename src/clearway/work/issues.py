"""Issues: what is to be done. Create, read, list; and what everybody else needs to know of one.

`in_progress` is derived from a live attempt and never stored. A list never carries bodies.
"""

from __future__ import annotations

from clearway import clock, lapse, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import CLAIM_KIND, PRIORITIES, TERMINAL
from clearway.limits import LIST_DEFAULT
from clearway.op import op
from clearway.work import cursors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        Criteria,
        Cursor,
        Description,
        EffectiveStatuses,
        IssueRef,
        IssueType,
        Labels,
        ListLimit,
        Priorities,
        Priority,
        Reason,
        Status,
        Statuses,
        Title,
        Types,
        Yes,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)


@op(writes=True, core=True, keyed="agent", cli="issue create")
def create_issue(
    tx: Tx,
    title: Title,
    type: IssueType = "task",
    description: Description | None = None,
    acceptance_criteria: Criteria | None = None,
    status: Status = "open",
    priority: Priority = "medium",
    parent_issue_id: IssueRef | None = None,
    blocked_reason: Reason | None = None,
    labels: Labels | None = None,
    create_missing_labels: Yes = True,
) -> dict[str, Any]:
    """Add an issue. Give it status ready when it can be worked on.

    type: epics group and are never claimed.
    """
    _check_blocked(status, blocked_reason)
    parent = None if parent_issue_id is None else _epic(tx, type, parent_issue_id)
    number = tx.new_number()
    issue = tx.new_id()
    event = tx.tell("issue_created", issue=issue, number=number, title=title, type=type, status=status)
    tx.change(
        SQL.create,
        id=issue,
        number=number,
        type=type,
        title=title,
        description=description,
        acceptance_criteria=acceptance_criteria,
        status=status,
        priority=PRIORITIES.index(priority),
        parent=parent,
        blocked_reason=blocked_reason,
        event=event,
        session=tx.caller.key,
        wall=tx.wall,
        closed_wall=tx.wall if status in TERMINAL else None,
    )
    _label(tx, issue, labels or [], create=create_missing_labels)
    return {"issue_id": issue, "display_id": f"ISSUE-{number}", "version": 1, "status": status}


@op(cli="issue show")
def get_issue(tx: Tx, issue_id: IssueRef) -> dict[str, Any]:
    """Read one issue whole: its bodies, its parent, and who works on it."""
    issue = find(tx, issue_id)
    shown = {"id": issue.id, **item(issue, whole=True), **bodies(tx, issue.id)}
    attempt = live_attempt(tx, issue.id)
    if attempt is not None:
        shown["attempt"] = {
            "attempt_id": attempt.id,
            "agent": attempt.agent,
            "session": attempt.session,
            "kind": attempt.kind,
            "fence": attempt.fence,
            "lease_expires_at": tx.iso(attempt.expires_at),
        }
    return shown


@op(core=True, cli="issue list")
def list_issues(
    tx: Tx,
    statuses: Statuses | None = None,
    effective_statuses: EffectiveStatuses | None = None,
    types: Types | None = None,
    priorities: Priorities | None = None,
    labels: Labels | None = None,
    parent_issue_id: IssueRef | None = None,
    is_claimable: Yes | None = None,
    include_archived: Yes = False,
    limit: ListLimit = LIST_DEFAULT,
    cursor: Cursor | None = None,
) -> dict[str, Any]:
    """List issues without bodies, the most urgent first. To get work, call claim_issue with next instead.

    labels: issues with any of these.
    """
    after = cursors.read(cursor, ("priority", "number"))
    rows = tx.all(
        SQL.list,
        statuses=_joined(statuses),
        effective=_joined(effective_statuses),
        types=_joined(types),
        priorities=_joined(None if priorities is None else [str(PRIORITIES.index(word)) for word in priorities]),
        labels=None if labels is None else wire.dumps([label.lower() for label in labels]),
        parent=None if parent_issue_id is None else find(tx, parent_issue_id).id,
        claimable=None if is_claimable is None else int(is_claimable),
        archived=int(include_archived),
        after_priority=after.get("priority"),
        after_number=after.get("number"),
        gone=lapse.gone(tx)[1],
        limit=limit + 1,
    )
    shown = rows[:limit]
    reply: dict[str, Any] = {"items": [item(row) for row in shown], "has_more": len(rows) > limit}
    if reply["has_more"]:
        reply["next_cursor"] = cursors.write({"priority": shown[-1].priority, "number": shown[-1].number})
    return reply


def find(tx: Tx, reference: str) -> Row:
    """The issue that ISSUE-42 (in any case, or with the number alone) or an id means, or ISSUE_NOT_FOUND."""
    text = reference.strip().upper()
    number = text.rpartition("-")[2]
    by_number = number.isascii() and number.isdigit() and len(number) <= 18
    issue = tx.one(SQL.find, id=text, number=int(number) if by_number else -1, gone=lapse.gone(tx)[1])
    if issue is None:
        raise Refusal(
            "ISSUE_NOT_FOUND", "There is no such issue; list_issues shows those there are.", issue=reference[:40]
        )
    return issue


def live_attempt(tx: Tx, issue: str) -> Row | None:
    """The attempt that holds an issue now."""
    return tx.one(SQL.live_attempt, issue=issue, gone=lapse.gone(tx)[1])


def item(issue: Row, *, whole: bool = False) -> dict[str, Any]:
    """An issue as lists show it. What says nothing is left out unless `whole`."""
    effective = "in_progress" if issue.held_by else issue.status
    claimable = is_claimable(issue)
    shown: dict[str, Any] = {
        "display_id": f"ISSUE-{issue.number}",
        "type": issue.type,
        "title": issue.title,
        "status": issue.status,
    }
    if whole or effective != issue.status:
        shown["effective_status"] = effective
    if whole or PRIORITIES[issue.priority] != "medium":
        shown["priority"] = PRIORITIES[issue.priority]
    labels: list[str] = wire.loads(issue.labels)
    if whole or labels:
        shown["labels"] = sorted(labels)
    if whole or issue.open_blockers:
        shown["open_blockers"] = issue.open_blockers
    if whole or claimable:
        shown["claimable"] = claimable
    shown["version"] = issue.version
    shown["updated_at"] = clock.iso(issue.updated_wall)
    if issue.held_by:
        shown["held_by"] = issue.held_by
    return shown


def is_claimable(issue: Row) -> bool:
    return (
        issue.archived_wall is None
        and issue.type != "epic"
        and issue.status in CLAIM_KIND
        and issue.open_blockers == 0
        and not issue.held_by
    )


def bodies(tx: Tx, issue_id: str) -> dict[str, Any]:
    """The long texts and the rest that only one issue at a time is asked for."""
    issue = tx.one(SQL.bodies, id=issue_id)
    assert issue is not None
    shown: dict[str, Any] = {
        "description": issue.description,
        "acceptance_criteria": issue.acceptance_criteria,
        "parent": None if issue.parent_number is None else f"ISSUE-{issue.parent_number}",
        "blocked_reason": issue.blocked_reason,
        "created_at": clock.iso(issue.created_wall),
        "closed_at": None if issue.closed_wall is None else clock.iso(issue.closed_wall),
        "archived_at": None if issue.archived_wall is None else clock.iso(issue.archived_wall),
    }
    return {name: value for name, value in shown.items() if value is not None}


def move(tx: Tx, issue: Row, status: str, event: int, *, blocked_reason: str | None = None) -> int:
    """Set a new stored status and bump the version; the new version. The transition was checked by the caller."""
    tx.change(
        SQL.move,
        id=issue.id,
        status=status,
        blocked_reason=blocked_reason,
        closed_wall=tx.wall if status in TERMINAL else None,
        event=event,
        wall=tx.wall,
    )
    return issue.version + 1


def note_event(tx: Tx, issue: str, event: int) -> None:
    """Remember the newest work event of an issue; refusals and messages never move it."""
    tx.change(SQL.note_event, id=issue, event=event)


def _check_blocked(status: str, reason: str | None) -> None:
    if status == "blocked" and reason is None:
        raise _field("blocked_reason", "REQUIRED", "A blocked issue needs a blocked_reason.")
    if status != "blocked" and reason is not None:
        raise _field("blocked_reason", "FORBIDDEN", "blocked_reason goes only with status blocked.")


def _epic(tx: Tx, child: str, reference: str) -> str:
    try:
        parent = find(tx, reference)
    except Refusal:
        parent = None
    if child == "epic" or parent is None or parent.type != "epic" or parent.archived_wall is not None:
        raise Refusal("INVALID_EPIC_PARENT", "The parent of a task or bug is an epic that is not archived.")
    return parent.id


def _label(tx: Tx, issue: str, names: list[str], *, create: bool) -> None:
    for name in names:
        normal = name.lower()
        known = tx.one(SQL.label, normal=normal)
        if known is None and not create:
            raise Refusal("LABEL_NOT_FOUND", f"There is no label {name[:64]!r}; pass create_missing_labels to make it.")
        label = tx.new_id() if known is None else known.id
        if known is None:
            tx.change(SQL.create_label, id=label, name=name, normal=normal, wall=tx.wall)
        tx.change(SQL.attach_label, issue=issue, label=label)


def _joined(words: list[str] | None) -> str | None:
    """A set of words for SQL: found by instr with its separators."""
    return None if words is None else "," + ",".join(words) + ","


def _field(name: str, code: str, message: str) -> Refusal:
    return Refusal("INVALID_ARGUMENT", message, [{"field": name, "code": code, "message": message}])
