"""Issues: what is to be done. Create, read, list; and what everybody else needs to know of one.

`in_progress` is derived from a live attempt and never stored. A list carries bodies only where they were asked for.
"""

from __future__ import annotations

from clearway import clock, lapse, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.leasing import has_lapsed
from clearway.lifecycle import CLAIM_KIND, PRIORITIES, REPEATED_FAILURES, TERMINAL
from clearway.limits import ISSUE_KEY, LIST_BYTES, LIST_DEFAULT, RESERVATION_MS
from clearway.op import op
from clearway.work import blocking, cursors, listing
from clearway.work import labels as labelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        AgentName,
        Criteria,
        Cursor,
        Description,
        EffectiveStatuses,
        IssuePaths,
        IssueRef,
        IssueType,
        Labels,
        ListLimit,
        ListView,
        Needs,
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


@op(
    writes=True,
    core=True,
    keyed="agent",
    cli="issue create",
    rare=("create_missing_labels", "blocked_reason", "reserved_for", "needs"),
)
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
    paths: IssuePaths | None = None,
    needs: Needs | None = None,
    reserved_for: AgentName | None = None,
) -> dict[str, Any]:
    """Add an issue. Give it status ready when it can be worked on.

    type: epics group and are never claimed.
    paths: what the work will change.
    needs: capabilities.
    reserved_for: an agent, for a day.
    """
    check_blocked(status, blocked_reason)
    parent = None if parent_issue_id is None else epic(tx, type, parent_issue_id)
    number = tx.new_number()
    issue = tx.new_id()
    more: dict[str, Any] = {} if reserved_for is None else {"reserved_for": reserved_for}
    more |= {} if priority == "medium" else {"priority": priority}
    event = tx.tell("issue_created", issue=issue, number=number, title=title, type=type, status=status, **more)
    labelling.attach(tx, issue, labels or [], create=create_missing_labels)
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
        reserved_for=reserved_for,
        reserved_until=None if reserved_for is None else tx.now + RESERVATION_MS,
        needs=wire.dumps(sorted(needs)) if needs else None,
        event=event,
        session=tx.caller.key,
        wall=tx.wall,
        closed_wall=tx.wall if status in TERMINAL else None,
    )
    declare_paths(tx, issue, paths or [])
    return {"issue_id": issue, "display_id": f"ISSUE-{number}", "version": 1, "status": status}


@op(cli="issue show")
def get_issue(tx: Tx, issue_id: IssueRef) -> dict[str, Any]:
    """Read one issue whole: its bodies, its parent or how far its children are, and who works on it."""
    return _whole(tx, find(tx, issue_id))


def _whole(tx: Tx, issue: Row) -> dict[str, Any]:
    shown = {"id": issue.id, **item(issue, whole=True), **bodies(tx, issue)}
    if issue.type == "epic":
        shown["children"] = dict(tx.all(SQL.children, parent=issue.id, gone=lapse.gone(tx)[1])[0])
    attempt = live_attempt(tx, issue.id)
    if attempt is not None:
        shown["attempt"] = {
            "attempt_id": attempt.id,
            "agent": attempt.agent,
            "session": attempt.session,
            "kind": attempt.kind,
            "fence": attempt.fence,
            "lease_expires_at": tx.iso(lapse.until(tx, attempt)),
        }
    return shown


@op(
    core=True,
    cli="issue list",
    rare=("effective_statuses", "types", "priorities", "parent_issue_id", "is_blocked", "include_archived", "view"),
)
def list_issues(
    tx: Tx,
    statuses: Statuses | None = None,
    effective_statuses: EffectiveStatuses | None = None,
    types: Types | None = None,
    priorities: Priorities | None = None,
    labels: Labels | None = None,
    parent_issue_id: IssueRef | None = None,
    is_claimable: Yes | None = None,
    is_blocked: Yes | None = None,
    include_archived: Yes = False,
    view: ListView = "compact",
    limit: ListLimit = LIST_DEFAULT,
    cursor: Cursor | None = None,
) -> dict[str, Any]:
    """List issues without bodies, the most urgent first. To get work, call claim_issue with next instead.

    labels: any of these.
    view: full shows each as get_issue does, with its bodies.
    """
    filters = listing.Filters(
        statuses=statuses,
        effective=effective_statuses,
        types=types,
        priorities=priorities,
        labels=labels,
        parent=None if parent_issue_id is None else find(tx, parent_issue_id).id,
        claimable=is_claimable,
        blocked=is_blocked,
        archived=include_archived,
    )
    rows = listing.page(tx, filters, cursors.read(cursor, ("priority", "number")), limit + 1)
    shown = [item(row) for row in rows[:limit]] if view == "compact" else _with_bodies(tx, rows[:limit])
    reply: dict[str, Any] = {"items": shown, "has_more": len(rows) > len(shown)}
    if reply["has_more"]:
        last = rows[len(shown) - 1]
        reply["next_cursor"] = cursors.write({"priority": last.priority, "number": last.number})
    return reply


def _with_bodies(tx: Tx, rows: list[Row]) -> list[dict[str, Any]]:
    """As many of some issues as fit into one answer, each as `get_issue` shows it, and at least one."""
    shown: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        issue = _whole(tx, find(tx, f"{ISSUE_KEY}-{row.number}"))
        size += len(wire.dumps(issue).encode())
        if shown and size > LIST_BYTES:
            break
        shown.append(issue)
    return shown


def find(tx: Tx, reference: str) -> Row:
    """The issue that ISSUE-42 (in any case, or with the number alone) or an id means, or ISSUE_NOT_FOUND."""
    text = reference.strip().upper()
    key, dash, number = text.rpartition("-")
    by_number = number.isascii() and number.isdigit() and len(number) <= 18
    by_number = by_number and (key in (ISSUE_KEY, tx.opening.issue_key) if dash else True)
    issue = tx.one(SQL.find, id=text, number=int(number) if by_number else -1, **_judged(tx))
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
    status, held_by = issue["status"], issue["held_by"]  # by key: a list asks for hundreds
    blockers, labels = issue["open_blockers"], issue["labels"]
    place: int = issue["priority"]
    priority = PRIORITIES[place]
    shown: dict[str, Any] = {
        "display_id": f"ISSUE-{issue['number']}",
        "type": issue["type"],
        "title": issue["title"],
        "status": status,
    }
    if whole or (held_by and status != "in_progress"):
        shown["effective_status"] = "in_progress" if held_by else status
    if whole or priority != "medium":
        shown["priority"] = priority
    names: list[str] = [] if labels == "[]" else sorted(wire.loads(labels))
    if whole or names:
        shown["labels"] = names
    if whole or blockers:
        shown["open_blockers"] = blockers
    claimable = is_claimable(issue)
    if whole or claimable:
        shown["claimable"] = claimable
    shown["version"] = issue["version"]
    shown["updated_at"] = clock.iso(issue["updated_wall"])
    if held_by:
        shown["held_by"] = held_by
    if needs_human(issue):
        shown["needs_human"] = True
    return shown


def is_claimable(issue: Row) -> bool:
    return (
        issue["archived_wall"] is None
        and issue["type"] != "epic"
        and issue["status"] in CLAIM_KIND
        and issue["open_blockers"] == 0
        and not issue["held_by"]
    )


def needs_human(issue: Row) -> bool:
    """Whether agents have failed at it so often in a row that one more will hardly do better."""
    return issue["failures"] >= REPEATED_FAILURES and issue["status"] not in TERMINAL


def forgive(tx: Tx, issue: Row) -> bool:
    """A person has decided about it: what failed before counts no more. Whether anything did."""
    return bool(issue.failures) and bool(tx.change(SQL.forgive, id=issue.id, fence=tx.opening.last_fence))


def reserved_for(tx: Tx, issue: Row) -> str | None:
    """The agent for which an issue is kept, while it is."""
    return None if issue.reserved_until is None or has_lapsed(issue.reserved_until, tx.now) else issue.reserved_for


def bodies(tx: Tx, found: Row) -> dict[str, Any]:
    """The long texts and the rest that only one issue at a time is asked for."""
    issue = tx.one(SQL.bodies, id=found.id)
    assert issue is not None
    shown: dict[str, Any] = {
        "description": issue.description,
        "acceptance_criteria": issue.acceptance_criteria,
        "parent": None if issue.parent_number is None else f"ISSUE-{issue.parent_number}",
        "paths": sorted(wire.loads(issue.paths)),
        "needs": wire.loads(issue.needs) if issue.needs else [],
        "reserved_for": reserved_for(tx, found),
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
    if (status in TERMINAL) != (issue.status in TERMINAL):
        blocking.recount_around(tx, issue.id)
    return issue.version + 1


def note_event(tx: Tx, issue: str, event: int) -> None:
    """Remember the newest work event of an issue; refusals and messages never move it."""
    tx.change(SQL.note_event, id=issue, event=event)


def declare_paths(tx: Tx, issue: str, paths: list[str]) -> None:
    """Say which files and folders the work on an issue is expected to change: exactly these."""
    tx.change(SQL.forget_paths, issue=issue)
    for path in paths:
        tx.change(SQL.declare_path, issue=issue, path=path)


def check_not_archived(issue: Row) -> None:
    if issue.archived_wall is not None:
        name = f"ISSUE-{issue.number}"
        raise Refusal("ISSUE_ARCHIVED", f"{name} is archived; un-archive it first.", issue=name)


def check_free(tx: Tx, issue: Row, what: str) -> None:
    """Refuse to make something else of an issue that is being worked on."""
    holder = live_attempt(tx, issue.id) if issue.held_by else None
    if holder is not None:
        until = clock.local_time(tx.at(holder.expires_at))
        raise Refusal(
            "ACTIVE_ATTEMPT_EXISTS",
            f"ISSUE-{issue.number} is being worked on by {holder.agent} until {until} and cannot become {what} now.",
            issue=f"ISSUE-{issue.number}",
            agent=holder.agent,
            until=tx.iso(holder.expires_at),
        )


def check_blocked(status: str, reason: str | None) -> None:
    if status == "blocked" and reason is None:
        raise _field("blocked_reason", "REQUIRED", "A blocked issue needs a blocked_reason.")
    if status != "blocked" and reason is not None:
        raise _field("blocked_reason", "FORBIDDEN", "blocked_reason goes only with status blocked.")


def epic(tx: Tx, type: str, reference: str, *, child: str | None = None) -> str:
    """The id of the epic that an issue of this type may have for its parent. child: the issue, if it exists."""
    if type == "epic":
        raise Refusal("INVALID_EPIC_PARENT", "An epic has no parent; leave parent_issue_id out.")
    try:
        parent = find(tx, reference)
    except Refusal:
        parent = None
    if parent is None or parent.type != "epic" or parent.archived_wall is not None or parent.id == child:
        raise Refusal("INVALID_EPIC_PARENT", "The parent of a task or bug is an epic that is not archived.")
    return parent.id


def _judged(tx: Tx) -> dict[str, Any]:
    """What a statement needs that judges an issue by its attempts."""
    return {"gone": lapse.gone(tx)[1], "streak": REPEATED_FAILURES}


def _field(name: str, code: str, message: str) -> Refusal:
    return Refusal("INVALID_ARGUMENT", message, [{"field": name, "code": code, "message": message}])
