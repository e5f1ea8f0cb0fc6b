"""The work context: what an agent needs to go on with an issue, within a budget of bytes.

The checkpoint comes first after the issue itself, because it is what the last agent wanted the next one to know. What
does not fit is cut by section, the least needed first, and the reply names what was cut.
"""

from __future__ import annotations

from clearway import clock, lapse, wire
from clearway.db import Row, statements
from clearway.limits import CONTEXT_BYTES
from clearway.op import op
from clearway.untrusted import within
from clearway.work import issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import ContextBytes, IssueRef
    from clearway.db.tx import Tx

SQL = statements(__file__)
NEIGHBOURS_MAX = 10
NOTES_MAX = 5
# Which sections give way first, and to how many bytes a long text in them is cut before it is dropped.
_GIVING_WAY = ("neighbours", "notes", "previous_attempt", "checkpoint", "issue")
_CUTS = (2_000, 500, 120)
_NEEDED = ("checkpoint", "issue", "previous_attempt", "notes", "neighbours")


@op(core=True, cli="issue context")
def get_work_context(tx: Tx, issue_id: IssueRef, max_bytes: ContextBytes = CONTEXT_BYTES) -> dict[str, Any]:
    """Read what is needed to work on an issue: its texts, the last checkpoint, the previous result, who is near."""
    return of_issue(tx, issues.find(tx, issue_id), max_bytes)


def of_issue(tx: Tx, issue: Row, max_bytes: int) -> dict[str, Any]:
    """The context of one issue, at most `max_bytes` of compact JSON."""
    whole: dict[str, Any] = {
        "issue": {**issues.item(issue, whole=True), **issues.bodies(tx, issue.id)},
        "checkpoint": _checkpoint(tx, issue.id),
        "previous_attempt": _previous(tx, issue.id),
        "notes": [_note(row) for row in tx.all(SQL.notes, issue=issue.id, limit=NOTES_MAX)],
        "neighbours": _neighbours(tx, issue.id),
    }
    kept = {name: section for name, section in whole.items() if section}
    return fitted(kept, max_bytes)


def fitted(sections: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    """Cut sections until all of it fits: long texts first, then whole sections, the least needed first. What room is
    left then goes back to what was cut, the most needed first."""
    cut: list[str] = []
    reply = {**sections, "truncated": False, "truncated_sections": cut}
    for longest in _CUTS:
        for name in _GIVING_WAY:
            if _size(reply) <= max_bytes:
                break
            if name in reply and _shorten(reply, name, longest):
                _name_cut(reply, cut, name)
    for name in _GIVING_WAY[:-1]:
        if _size(reply) <= max_bytes:
            break
        if reply.pop(name, None) is not None:
            _name_cut(reply, cut, name)
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


def _checkpoint(tx: Tx, issue: str) -> dict[str, Any] | None:
    row = tx.one(SQL.checkpoint, issue=issue)
    return None if row is None else {**_note(row), "agent": row.agent}


def _note(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": row.kind, "content": row.content, "at": clock.iso(row.created_wall)}
    if row.next_steps:
        shown["next_steps"] = wire.loads(row.next_steps)
    return shown


def _previous(tx: Tx, issue: str) -> dict[str, Any] | None:
    row = tx.one(SQL.previous, issue=issue)
    if row is None:
        return None
    shown: dict[str, Any] = {"status": row.status, "agent": row.agent, "ended_at": clock.iso(row.finished_wall)}
    for name in ("result_summary", "failure_code", "interruption_code", "reason_details"):
        if row[name] is not None:
            shown[name] = row[name]
    for name in ("next_steps", "verification"):
        if row[name]:
            shown[name] = wire.loads(row[name])
    return shown


def _neighbours(tx: Tx, issue: str) -> list[dict[str, Any]]:
    """What other sessions are at now."""
    rows = tx.all(SQL.neighbours, issue=issue, session=tx.caller.key, gone=lapse.gone(tx)[1], limit=NEIGHBOURS_MAX)
    return [{"display_id": f"ISSUE-{row.number}", "title": row.title, "agent": row.agent} for row in rows]
