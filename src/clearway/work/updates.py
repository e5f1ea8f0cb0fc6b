"""Changing an issue, and putting it away.

A change names the version it was made for: of two that were made for the same one, the second is refused. What equals
the stored value is no change, and a change of nothing bumps no version and tells nothing. One change is one event,
named after the weightiest field in it.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import PRIORITIES, TERMINAL, may_move
from clearway.limits import RESERVATION_MS
from clearway.op import op
from clearway.work import blocking, issues, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Changes, IssueRef, Version, Yes
    from clearway.db.tx import Tx

SQL = statements(__file__)
# What a person changes of an issue when deciding how it goes on: what failed before counts no more then.
_DECIDES = frozenset({"description", "acceptance_criteria", "status", "reserved_for", "needs"})
# What an event says of a change besides the names of its fields: small values. Long texts are read from the issue.
TOLD = ("title", "type", "priority", "status", "parent_issue_id", "labels", "reserved_for")


@op(writes=True, core=True, keyed="agent", cli="issue update", rare=("create_missing_labels",))
def update_issue(
    tx: Tx, issue_id: IssueRef, expected_version: Version, changes: Changes, create_missing_labels: Yes = True
) -> dict[str, Any]:
    """Change an issue; null clears a field.

    expected_version: as you last read it.
    """
    issue = issues.find(tx, issue_id)
    issues.check_not_archived(issue)
    _check_version(issue, expected_version)
    before = _fields(tx, issue)
    after = _after(tx, issue, before, changes)
    changed = [name for name in before if not _equal(name, before[name], after[name])]
    status, version = after["status"], issue.version
    if changed:
        event = tx.tell(told(changed), issue=issue.id, **_facts(before, after, changed))
        if "labels" in changed:
            labels.replace(tx, issue.id, after["labels"], create=create_missing_labels)
        if "paths" in changed:
            issues.declare_paths(tx, issue.id, after["paths"])
        _store(tx, issue, before, after, event)
        version += 1
        if tx.caller.human and _DECIDES.intersection(changed):
            issues.forgive(tx, issue)
    return {**_reply(issue, version, status), "changed_fields": changed}


@op(writes=True, keyed="agent", cli="issue archive")
def archive_issue(tx: Tx, issue_id: IssueRef, expected_version: Version, archived: Yes = True) -> dict[str, Any]:
    """Put an issue away: it is hidden, keeps its history, blocks nothing and takes no more changes.

    archived: false brings it back.
    """
    issue = issues.find(tx, issue_id)
    if archived:
        issues.check_not_archived(issue)
    _check_version(issue, expected_version)
    if archived == (issue.archived_wall is not None):
        return _reply(issue, issue.version, issue.status)
    if archived:
        issues.check_free(tx, issue, "archived")
    event = tx.tell("issue_archived" if archived else "issue_unarchived", issue=issue.id)
    tx.change(SQL.archive, id=issue.id, archived_wall=tx.wall if archived else None, event=event, wall=tx.wall)
    if issue.status not in TERMINAL:
        blocking.recount_around(tx, issue.id)
    return _reply(issue, issue.version + 1, issue.status)


def _fields(tx: Tx, issue: Row) -> dict[str, Any]:
    """Everything of an issue that can be changed, under the names of the changes and in the order they are told."""
    stored = tx.one(SQL.fields, id=issue.id)
    assert stored is not None
    return {
        "title": issue.title,
        "description": stored.description,
        "acceptance_criteria": stored.acceptance_criteria,
        "type": issue.type,
        "priority": PRIORITIES[issue.priority],
        "status": issue.status,
        "blocked_reason": stored.blocked_reason,
        "parent_issue_id": stored.parent,
        "labels": wire.loads(issue.labels),
        "paths": wire.loads(stored.paths),
        "needs": wire.loads(stored.needs) if stored.needs else [],
        "reserved_for": issues.reserved_for(tx, issue),
    }


def _after(tx: Tx, issue: Row, before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The fields as they shall be. Refuses what the state machine and the rules between fields forbid."""
    sets = ("labels", "paths", "needs")
    after: dict[str, Any] = before | {name: (value or []) if name in sets else value for name, value in changes.items()}
    _check_status(issue, before, after, changes)
    if changes.get("parent_issue_id") is not None:
        after["parent_issue_id"] = issues.epic(tx, after["type"], changes["parent_issue_id"], child=issue.id)
    if after["type"] != before["type"]:
        _check_type(tx, issue, before, after)
    return after


def _check_status(issue: Row, before: dict[str, Any], after: dict[str, Any], changes: dict[str, Any]) -> None:
    """The state machine; and a reason exactly with blocked. Leaving blocked clears it."""
    old, new = before["status"], after["status"]
    if "status" in changes and not may_move(old, new):
        so = "already; leave status out" if old == new else f"and cannot become {new} from there"
        raise Refusal(
            "INVALID_STATUS_TRANSITION",
            f"ISSUE-{issue.number} is {old} {so}.",
            issue=f"ISSUE-{issue.number}",
            status=old,
        )
    if new != "blocked" and changes.get("blocked_reason") is None:
        after["blocked_reason"] = None
    issues.check_blocked(new, after["blocked_reason"])


def _check_type(tx: Tx, issue: Row, before: dict[str, Any], after: dict[str, Any]) -> None:
    """An epic has no parent and is worked on by nobody; what has children is an epic."""
    if after["type"] == "epic":
        issues.check_free(tx, issue, "an epic")
        if after["parent_issue_id"] is not None:
            raise Refusal(
                "INVALID_EPIC_PARENT",
                f"ISSUE-{issue.number} has a parent and so cannot be an epic; clear parent_issue_id with it.",
            )
    elif before["type"] == "epic" and tx.one(SQL.a_child, id=issue.id):
        raise Refusal(
            "INVALID_EPIC_PARENT",
            f"ISSUE-{issue.number} has children and so stays an epic; give them another parent first.",
        )


def _equal(name: str, one: Any, other: Any) -> bool:
    if name == "labels":
        return {label.lower() for label in one} == {label.lower() for label in other}
    return set(one) == set(other) if name in ("paths", "needs") else bool(one == other)


def told(changed: list[str]) -> str:
    if "status" in changed:
        return "status_changed"
    return "labels_changed" if "labels" in changed else "issue_updated"


def _facts(before: dict[str, Any], after: dict[str, Any], changed: list[str]) -> dict[str, Any]:
    facts = {"changed_fields": changed, **{name: after[name] for name in TOLD if name in changed}}
    return {**facts, "from_status": before["status"]} if "status" in changed else facts


def _store(tx: Tx, issue: Row, before: dict[str, Any], after: dict[str, Any], event: int) -> None:
    old, new = before["status"] in TERMINAL, after["status"] in TERMINAL
    until = issue.reserved_until if after["reserved_for"] == before["reserved_for"] else tx.now + RESERVATION_MS
    tx.change(
        SQL.update,
        id=issue.id,
        title=after["title"],
        description=after["description"],
        acceptance_criteria=after["acceptance_criteria"],
        type=after["type"],
        priority=PRIORITIES.index(after["priority"]),
        status=after["status"],
        blocked_reason=after["blocked_reason"],
        parent=after["parent_issue_id"],
        needs=wire.dumps(sorted(after["needs"])) if after["needs"] else None,
        reserved_for=after["reserved_for"],
        reserved_until=None if after["reserved_for"] is None else until,
        closed=int(new),
        event=event,
        wall=tx.wall,
    )
    if old != new:
        blocking.recount_around(tx, issue.id)


def _check_version(issue: Row, expected: int) -> None:
    if issue.version != expected:
        raise Refusal(
            "VERSION_CONFLICT",
            f"ISSUE-{issue.number} is at version {issue.version}, not {expected}; read it again before you change it.",
            issue=f"ISSUE-{issue.number}",
            version=issue.version,
        )


def _reply(issue: Row, version: int, status: str) -> dict[str, Any]:
    return {
        "issue_id": issue.id,
        "display_id": f"ISSUE-{issue.number}",
        "version": version,
        "status": status,
        "effective_status": "in_progress" if issue.held_by else status,
    }
