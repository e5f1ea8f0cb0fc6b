"""Work that does not get on: why nobody takes an issue now, what its last attempts came to side by side, and a person's
word that it may be tried again.

An issue whose last attempts all failed is given to no agent by itself. It is not blocked: whoever names it may claim
it.
"""

from __future__ import annotations

from clearway import clock, lapse, policy, wire
from clearway.db import Row, statements
from clearway.lifecycle import CLAIM_KIND, REPEATED_FAILURES, TERMINAL
from clearway.op import op
from clearway.untrusted import folded, within
from clearway.work import blocking, issues, remarks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Comment, IssueRef
    from clearway.db.tx import Tx

SQL = statements(__file__)
_BLOCKERS_NAMED = 5
_TEXT_BYTES = 1_500  # of each text in a brief


@op(cli="issue why", tool=False)
def explain_issue(tx: Tx, issue_id: IssueRef) -> dict[str, Any]:
    """Learn why an issue is where it is: who or what it waits for, and what its last attempts came to, side by side."""
    issue = issues.find(tx, issue_id)
    briefs = [
        _brief(tx, row) for row in tx.all(SQL.last, issue=issue.id, gone=lapse.gone(tx)[1], limit=REPEATED_FAILURES)
    ]
    reason, after = _why(tx, issue)
    return {**issues.item(issue, whole=True), "why": reason, "next": after, "attempts": briefs}


@op(writes=True, cli="issue retry", tool=False)
def retry_issue(tx: Tx, issue_id: IssueRef, content: Comment | None = None) -> dict[str, Any]:
    """Let agents try an issue again at which they have failed; what failed before counts no more. For the human only.

    content: what the next one should know; it stands with the issue as a comment.
    """
    policy.only_the_human(tx, "decides that work is tried again")
    issue = issues.find(tx, issue_id)
    issues.check_not_archived(issue)
    failed = issue.failures
    if content is not None:
        remarks.add_comment(tx, issue_id, content)
    if issues.forgive(tx, issue):
        issues.note_event(tx, issue.id, tx.tell("issue_retried", issue=issue.id, failures=failed))
    return {"issue_id": issue.id, "display_id": f"ISSUE-{issue.number}", "status": issue.status, "forgiven": failed}


def _why(tx: Tx, issue: Row) -> tuple[str, str]:
    """Why it stands where it stands, and one thing to do."""
    name = f"ISSUE-{issue.number}"
    holder = issues.live_attempt(tx, issue.id) if issue.held_by else None
    if holder is not None:
        until = clock.local_time(tx.at(lapse.until(tx, holder)))
        return (
            f"{holder.agent} works on it until {until}{lapse.said_in_flight(tx, holder.session)}",
            f"clearway wait --issue {name}",
        )
    if issue.archived_wall is not None:
        return "it is archived", f"clearway issue unarchive {name}"
    if issue.status in TERMINAL:
        return f"it is {issue.status}", f"clearway issue activity {name}"
    if issues.needs_human(issue):
        said = f"its last {issue.failures} attempts failed, so no agent is given it until you decide"
        return said, f"clearway issue retry {name}, or change what it asks for: clearway issue update {name} --edit"
    return _waits(tx, issue, name)


def _waits(tx: Tx, issue: Row, name: str) -> tuple[str, str]:
    if issue.status == "blocked":
        stored = tx.one(issues.SQL.bodies, id=issue.id)
        reason = "" if stored is None or stored.blocked_reason is None else f": {folded(stored.blocked_reason, 300)}"
        return f"it is blocked{reason}", f"clearway issue update {name} --status ready"
    if issue.open_blockers:
        named = ", ".join(f"ISSUE-{row.number}" for row in blocking.blockers(tx, issue.id, _BLOCKERS_NAMED))
        return f"it waits for {named}", f"clearway graph {name}"
    kept = issues.reserved_for(tx, issue)
    if kept is not None:
        return f"it is kept for {kept}", f"clearway issue reserve {name} --for ''"
    held = tx.one(SQL.in_the_way, issue=issue.id, gone=lapse.gone(tx)[0])
    if held is not None:
        return (
            f"{held.agent} holds {folded(held.shown, 200)}, which it is expected to change",
            f"clearway why {held.shown}",
        )
    if issue.type == "epic":
        return "it is an epic, which is worked on by its children", f"clearway graph {name}"
    if issue.status not in CLAIM_KIND:
        return f"it is {issue.status} and not ready yet", f"clearway issue update {name} --status ready"
    kind = " as a review" if issue.status == "review" else ""
    return f"nothing is in the way: it can be claimed{kind}", f"clearway issue claim {name}"


def _brief(tx: Tx, row: Row) -> dict[str, Any]:
    """What one attempt left: how it ended, where it stood, and what it would have done next."""
    shown: dict[str, Any] = {
        "attempt_id": row.id,
        "agent": row.agent,
        "kind": row.kind,
        "status": row.status,
        "reason": row.failure_code or row.interruption_code,
        "started_at": clock.iso(row.started_wall),
        "ended_at": None if row.finished_wall is None else clock.iso(row.finished_wall),
        "result_summary": _cut(row.result_summary),
        "reason_details": _cut(row.reason_details),
        "next_steps": [_cut(step) for step in wire.loads(row.next_steps)] if row.next_steps else None,
    }
    note = tx.one(SQL.checkpoint, attempt=row.id)
    if note is not None:
        shown["checkpoint"] = _cut(note.content)
    return {name: value for name, value in shown.items() if value is not None}


def _cut(text: str | None) -> str | None:
    return None if text is None else within(text, _TEXT_BYTES)
