"""The work context: what an agent needs to go on with an issue, within a budget of bytes.

The checkpoint comes first after the issue itself, because it is what the last agent wanted the next one to know. What
does not fit is cut by section, the least needed first, and the reply names what was cut.
"""

from __future__ import annotations

from clearway import clock, lapse, wire
from clearway.db import Row, statements
from clearway.lifecycle import REPEATED_FAILURES
from clearway.limits import CONTEXT_BYTES, SINCE_CHECKPOINT_BYTES
from clearway.op import op
from clearway.untrusted import readable, within
from clearway.work import blocking, decisions, evidence, issues, reviews

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import ContextBytes, IssueRef
    from clearway.db.tx import Tx

SQL = statements(__file__)
NEIGHBOURS_MAX = 10
NOTES_MAX = 5
BLOCKERS_MAX = 10
CHANGES_MAX = 10
DECISIONS_MAX = 10
ANSWERS_MAX = 10
COMMENTS_MAX = 10
ARTIFACTS_MAX = 10
COMMENT_CHARS = 2_000
# Which sections give way first, and to how many bytes a long text in them is cut before it is dropped.
_GIVING_WAY = (
    "neighbours",
    "changes",
    "notes",
    "comments",
    "blockers",
    "decisions",
    "answers",
    "previous_attempt",
    "review",
    "since_checkpoint",
    "checkpoint",
    "issue",
)
_CUTS = (2_000, 500, 120, 30)
_NEEDED = ("checkpoint", "issue", *_GIVING_WAY[-3::-1])
_BODIES = ("description", "acceptance_criteria", "blocked_reason")


@op(core=True, cli="issue context")
def get_work_context(tx: Tx, issue_id: IssueRef, max_bytes: ContextBytes = CONTEXT_BYTES) -> dict[str, Any]:
    """Read what is needed to work on an issue: its texts, checkpoint, previous result, what changed, who is near."""
    return of_issue(tx, issues.find(tx, issue_id), max_bytes)


def of_issue(tx: Tx, issue: Row, max_bytes: int) -> dict[str, Any]:
    """The context of one issue, at most `max_bytes` of compact JSON."""
    checkpoint = tx.one(SQL.checkpoint, issue=issue.id)
    whole: dict[str, Any] = {
        "issue": {**issues.item(issue, whole=True), **issues.bodies(tx, issue)},
        "checkpoint": None if checkpoint is None else _signed(checkpoint),
        "since_checkpoint": _since(tx, issue.id, checkpoint),
        "previous_attempt": _previous(tx, issue.id),
        "blockers": _blockers(tx, issue),
        "decisions": decisions.in_force(tx, issue.id, DECISIONS_MAX),
        "answers": _answers(tx, issue.id),
        "review": reviews.state(tx, issue.id),
        "notes": [_note(row) for row in tx.all(SQL.notes, issue=issue.id, limit=NOTES_MAX)] or None,
        "comments": [_comment(row) for row in tx.all(SQL.comments, issue=issue.id, limit=COMMENTS_MAX)] or None,
        "neighbours": _neighbours(tx, issue.id),
        "changes": _changes(tx, issue.id),
        "warnings": warnings(issue),
    }
    return fitted({name: readable(section) for name, section in whole.items() if section is not None}, max_bytes)


def warnings(issue: Row) -> list[str]:
    """What whoever takes this issue has to know before anything else."""
    return ["REPEATED_ATTEMPT_FAILURES"] if issue.failures >= REPEATED_FAILURES else []


def fitted(sections: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    """Cut sections until all of it fits: long texts first, then whole sections, the least needed first. What room is
    left then goes back to what was cut, the most needed first."""
    cut: list[str] = []
    reply: dict[str, Any] = {**sections, "truncated": False, "truncated_sections": cut}
    for longest in _CUTS:
        for name in _GIVING_WAY:
            if _size(reply) <= max_bytes:
                break
            if name in reply and _shorten(reply, name, longest):
                _name_cut(reply, cut, name)
    for name in _GIVING_WAY[:-1]:
        if _size(reply) <= max_bytes:
            break
        if reply.pop(name, None):
            _name_cut(reply, cut, name)
    if _size(reply) > max_bytes:  # texts of nothing but characters that take six bytes each
        for body in _BODIES:
            reply["issue"].pop(body, None)
    for name in _NEEDED:
        if name in cut and name in reply:
            reply[name] = _longest_that_fits(reply, name, sections[name], max_bytes)
            if reply[name] == sections[name]:
                cut.remove(name)
    return reply


def _longest_that_fits(reply: dict[str, Any], name: str, section: Any, max_bytes: int) -> Any:
    """As much of a section that was cut as the rest of the reply leaves room for."""
    best, low, high = reply[name], 0, max_bytes
    while low < high:
        middle = (low + high + 1) // 2
        tried = _shortened(section, middle)
        if _size({**reply, name: tried}) <= max_bytes:
            best, low = tried, middle
        else:
            high = middle - 1
    return best


def _shorten(reply: dict[str, Any], name: str, longest: int) -> bool:
    shorter = _shortened(reply[name], longest)
    changed = shorter != reply[name]
    reply[name] = shorter
    return changed


def _shortened(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return within(value, longest)
    if isinstance(value, list):
        return [_shortened(item, longest) for item in value][: max(1, longest // 100)]  # type: ignore[var-annotated]
    if isinstance(value, dict):
        return {key: _shortened(item, longest) for key, item in value.items()}  # type: ignore[var-annotated]
    return value


def _name_cut(reply: dict[str, Any], cut: list[str], name: str) -> None:
    reply["truncated"] = True
    if name not in cut:
        cut.append(name)


def _size(reply: dict[str, Any]) -> int:
    return len(wire.dumps(reply).encode())


def _blockers(tx: Tx, issue: Row) -> list[dict[str, Any]]:
    rows = blocking.blockers(tx, issue.id, BLOCKERS_MAX) if issue.open_blockers else []
    return [{"display_id": f"ISSUE-{row.number}", "title": row.title, "status": row.status} for row in rows]


def _answers(tx: Tx, issue: str) -> list[dict[str, Any]] | None:
    """What came of the questions that this issue waited for."""
    rows = tx.all(SQL.answers, issue=issue, limit=ANSWERS_MAX)
    return [{"display_id": f"ISSUE-{row.number}", "title": row.title, "answer": row.answer} for row in rows] or None


def _since(tx: Tx, issue: str, checkpoint: Row | None) -> dict[str, Any] | None:
    """What was observed after the newest written checkpoint, where nobody had the time to write another."""
    row = tx.one(SQL.since_checkpoint, issue=issue, after="" if checkpoint is None else checkpoint.id)
    return None if row is None else {**_signed(row), "content": within(row.content, SINCE_CHECKPOINT_BYTES)}


def _changes(tx: Tx, issue: str) -> list[dict[str, Any]]:
    """What others did to the issue since the last attempt on it began; the newest first."""
    last = tx.one(SQL.last_attempt, issue=issue, gone=lapse.gone(tx)[1])
    since = 0 if last is None else last.context_event
    rows = tx.all(SQL.changes, issue=issue, since=since, session=tx.caller.key, limit=CHANGES_MAX)
    return [_change(row) for row in rows]


def _change(row: Row) -> dict[str, Any]:
    facts = wire.loads(row.data)
    shown = {"id": row.id, "type": row.type, "at": clock.iso(row.at), "agent": row.agent}
    return shown | {name: facts[name] for name in ("changed_fields", "relation", "source", "target") if name in facts}


def _comment(row: Row) -> dict[str, Any]:
    return {"agent": row.agent, "at": clock.iso(row.created_wall), "content": within(row.content, COMMENT_CHARS)}


def _signed(row: Row) -> dict[str, Any]:
    return {**_note(row), "agent": row.agent}


def _note(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": row.kind, "content": row.content, "at": clock.iso(row.created_wall)}
    if row.next_steps:
        shown["next_steps"] = wire.loads(row.next_steps)
    return shown


def _previous(tx: Tx, issue: str) -> dict[str, Any] | None:
    row = tx.one(SQL.previous, issue=issue, gone=lapse.gone(tx)[1], wall=tx.wall)
    if row is None:
        return None
    shown: dict[str, Any] = {
        "status": row.status,
        "agent": row.agent,
        "ended_at": clock.iso(row.ended_wall),
    }
    for name in ("result_summary", "failure_code", "interruption_code", "reason_details"):
        if row[name] is not None:
            shown[name] = row[name]
    for name in ("next_steps", "verification"):
        if row[name]:
            shown[name] = wire.loads(row[name])
    made = tx.all(SQL.artifacts, issue=issue, attempt=row.id, limit=ARTIFACTS_MAX)
    if made:
        shown["artifacts"] = [{name: each[name] for name in ("type", "uri", "title") if each[name]} for each in made]
    seen = evidence.of_attempt(tx, row.id)
    return shown if seen is None else {**shown, "evidence": seen}


def _neighbours(tx: Tx, issue: str) -> list[dict[str, Any]]:
    """What other sessions are at now."""
    rows = tx.all(SQL.neighbours, issue=issue, session=tx.caller.key, gone=lapse.gone(tx)[1], limit=NEIGHBOURS_MAX)
    return [{"display_id": f"ISSUE-{row.number}", "title": row.title, "agent": row.agent} for row in rows]
