"""Whether work may be called complete: what has happened to its issue while it was being done.

A change by somebody else of what was to be done must have been seen: the holder acknowledges the version and the last
work event of the issue, which the refusal carries. Smaller changes are told as warnings. Only this issue's own work
events count, and what the holder's session did itself is known to it. Failed and interrupted ends are never judged
here: they are always accepted.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import CHANGES_THE_WORK, may_move
from clearway.work import blocking, issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx

SQL = statements(__file__)
_BLOCKERS_NAMED = 5
# A field that warnings have always called by its stored name.
_CALLED = {"parent_issue_id": "parent_id"}


def check(tx: Tx, attempt: Row, issue: Row, acknowledged: dict[str, int] | None, target: str) -> list[str]:
    """Refuse a completion that overlooks something; the warnings about what it may overlook.

    target: the status that the issue shall have."""
    issues.check_not_archived(issue)
    changed = _changed_by_others(tx, attempt)
    unseen = changed & CHANGES_THE_WORK
    if issue.status == "cancelled":
        unseen |= {"status"}
    if unseen and acknowledged != _to_acknowledge(issue):
        raise _changed(issue, sorted(unseen), target)
    if issue.open_blockers:
        raise _blocked(tx, issue)
    return [f"ISSUE_CHANGED:{name}" for name in sorted(_CALLED.get(name, name) for name in changed - CHANGES_THE_WORK)]


def _changed_by_others(tx: Tx, attempt: Row) -> set[str]:
    rows = tx.all(
        SQL.changes_of_others,
        issue=attempt.issue,
        since=attempt.context_event,
        holder=attempt.session,
        caller=tx.caller.key,
    )
    return {name for row in rows for name in wire.loads(row.data)["changed_fields"]}


def _to_acknowledge(issue: Row) -> dict[str, int]:
    return {"issue_version": issue.version, "latest_event_id": issue.latest_event}


def _changed(issue: Row, fields: list[str], target: str) -> Refusal:
    name = f"ISSUE-{issue.number}"
    way_out = "Read it again; if the work still fits, finish with acknowledged_changes, else as interrupted."
    if target != issue.status and not may_move(issue.status, target):
        way_out = f"It is {issue.status} now and cannot become {target} from there: finish as interrupted."
    return Refusal(
        "ISSUE_CHANGED_DURING_ATTEMPT",
        f"{name} was changed by others while you worked on it ({', '.join(fields)}). {way_out}",
        [
            {"field": field, "code": "ACKNOWLEDGEMENT_REQUIRED", "message": "was changed during the attempt"}
            for field in fields
        ],
        issue=name,
        **_to_acknowledge(issue),
    )


def _blocked(tx: Tx, issue: Row) -> Refusal:
    name = f"ISSUE-{issue.number}"
    blockers = [f"ISSUE-{row.number}" for row in blocking.blockers(tx, issue.id, _BLOCKERS_NAMED)]
    return Refusal(
        "UNRESOLVED_BLOCKERS_ADDED",
        f"{name} now waits for {', '.join(blockers)}. Finish when that is done, or as interrupted.",
        issue=name,
        blockers=blockers,
    )
