"""What has happened: the log from a number on, the story of one issue, and the attempts on it.

The log is read forwards and without a gap: who goes on from `next_event_id` misses nothing and reads nothing twice. A
story and a list of attempts are read backwards, the newest first, with the words that were left; a page ends when it
has grown long enough, so that its size does not depend on theirs. No reply has a token in it.
"""

from __future__ import annotations

from clearway import clock, lapse, wire
from clearway.db import Row, statements
from clearway.limits import CHANGES_DEFAULT, LIST_DEFAULT
from clearway.op import op
from clearway.work import cursors, evidence, issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        ActivityTypes,
        AttemptStatuses,
        ChangesLimit,
        ChangesWait,
        Cursor,
        EventNumber,
        EventTypes,
        IssueRef,
        ListLimit,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)
_LATE_MAX = 5  # of the results that came too late, as many are shown with an attempt


@op(core=True, cli="changes", rare=("event_types", "wait_seconds"))
def get_changes(
    tx: Tx,
    since_event_id: EventNumber = 0,
    issue_id: IssueRef | None = None,
    event_types: EventTypes | None = None,
    limit: ChangesLimit = CHANGES_DEFAULT,
    wait_seconds: ChangesWait = 0,
) -> dict[str, Any]:
    """Read what happened after an event. Go on from next_event_id.

    wait_seconds: how long to wait for an event if there is none.
    """
    del wait_seconds  # nothing waits inside a transaction: the surfaces ask again
    rows = tx.all(
        SQL.changes,
        since=since_event_id,
        issue=None if issue_id is None else issues.find(tx, issue_id).id,
        types=None if event_types is None else wire.dumps(event_types),
        limit=limit + 1,
    )
    more = len(rows) > limit
    latest = tx.last_event
    return {
        "events": [_event(row) for row in rows[:limit]],
        "latest_event_id": latest,
        "next_event_id": rows[limit - 1].id if more else latest,
        "has_more": more,
    }


@op(cli="issue activity")
def get_issue_activity(
    tx: Tx,
    issue_id: IssueRef,
    types: ActivityTypes | None = None,
    limit: ListLimit = LIST_DEFAULT,
    cursor: Cursor | None = None,
) -> dict[str, Any]:
    """Read the story of an issue, newest first: what was said, decided, noted, found and changed, and each attempt.

    types: artifacts are whatever came with some.
    """
    rows = tx.all(
        SQL.story,
        issue=issues.find(tx, issue_id).id,
        before=cursors.read(cursor, ("event",)).get("event"),
        types=None if types is None else wire.dumps(types),
        limit=limit + 1,
    )
    return cursors.page(rows, limit, lambda row: _told(tx, row), "event", "id")


@op(cli="attempt list")
def list_attempts(
    tx: Tx,
    issue_id: IssueRef | None = None,
    statuses: AttemptStatuses | None = None,
    limit: ListLimit = LIST_DEFAULT,
    cursor: Cursor | None = None,
) -> dict[str, Any]:
    """List who worked on an issue, or on all, and with what result, newest first. Results that came late are shown."""
    rows = tx.all(
        SQL.attempts,
        issue=None if issue_id is None else issues.find(tx, issue_id).id,
        statuses=None if statuses is None else wire.dumps(statuses),
        before=cursors.read(cursor, ("fence",)).get("fence"),
        gone=lapse.gone(tx)[1],
        limit=limit + 1,
    )
    return cursors.page(rows, limit, lambda row: _attempt(tx, row), "fence")


def _event(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": row.id, "type": row.type, "at": clock.iso(row.at)}
    if row.issue is not None:
        shown["issue_id"] = row.issue
        if row.number is not None:
            shown["display_id"] = f"ISSUE-{row.number}"
    return {**shown, "agent": row.agent, "session": row.session, "data": wire.loads(row.data)}


def _told(tx: Tx, row: Row) -> dict[str, Any]:
    """One event with the words that belong to it, and the artifacts that came with it."""
    data = wire.loads(row.data)
    made = data.pop("artifact_ids", [])
    kind, entity, words = "event", str(row.id), data
    if row.kind == "comments":
        kind, entity, words = "comment", data["comment"], _comment(tx, data["comment"])
    elif row.kind == "attempt_notes":
        kind, entity, words = "attempt_note", data["note"], _note(tx, data["note"])
    elif row.kind == "decisions":
        kind, entity = "decision", data["decision"]
        words = dict(tx.one(SQL.decision, id=entity) or data)
    elif row.kind == "reviews":
        kind, entity = "review", data["review"]
        words = data | dict(tx.one(SQL.findings, id=entity, event=row.id) or {})
    elif row.kind == "attempts":
        kind, entity = "attempt", row.attempt
        words = data | (_result(tx.one(SQL.result, id=row.attempt)) if row.type in _ENDS else {})
    if made:
        rows = tx.all(SQL.made, issue=row.issue, ids=wire.dumps(made))
        words = {**words, "artifacts": [_artifact(each) for each in rows]}
    return {
        "entity_type": kind,
        "entity_id": entity,
        "event_id": row.id,
        "event_type": row.type,
        "occurred_at": clock.iso(row.at),
        "agent": row.agent,
        "session": row.session,
        **words,
    }


_ENDS = frozenset({"attempt_completed", "attempt_failed", "attempt_interrupted"})


def _comment(tx: Tx, comment: str) -> dict[str, Any]:
    row = tx.one(SQL.comment, id=comment)
    return {} if row is None else {"content": row.content}


def _note(tx: Tx, note: str) -> dict[str, Any]:
    row = tx.one(SQL.note, id=note)
    if row is None:
        return {}
    shown: dict[str, Any] = {"kind": row.kind, "content": row.content}
    if row.next_steps:
        shown["next_steps"] = wire.loads(row.next_steps)
    for name in ("important", "automatic"):
        if row[name]:
            shown[name] = True
    return shown


def _result(row: Row | None) -> dict[str, Any]:
    """What an attempt left when it ended."""
    if row is None:
        return {}
    shown: dict[str, Any] = {}
    for name in ("result_summary", "failure_code", "interruption_code", "reason_details"):
        if row[name] is not None:
            shown[name] = row[name]
    for name in ("next_steps", "verification"):
        if row[name]:
            shown[name] = wire.loads(row[name])
    return shown


def _artifact(row: Row) -> dict[str, Any]:
    shown = {name: row[name] for name in ("id", "type", "uri", "title") if row[name] is not None}
    return {**shown, "metadata": wire.loads(row.metadata)} if row.metadata else shown


def _attempt(tx: Tx, row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "attempt_id": row.id,
        "issue_id": row.issue,
        "display_id": f"ISSUE-{row.number}",
        "agent": row.agent,
        "session": row.session,
        "kind": row.kind,
        "status": row.status,
        "fence": row.fence,
        "started_at": clock.iso(row.started_wall),
    }
    if row.status == "active":
        shown["lease_expires_at"] = tx.iso(lapse.attempt_until(tx, row))
    elif row.finished_wall is not None:
        shown["finished_at"] = clock.iso(row.finished_wall)
    shown |= _result(row)
    seen = evidence.of_attempt(tx, row.id)
    if seen is not None:
        shown["evidence"] = seen
    artifacts = tx.all(SQL.artifacts, issue=row.issue, attempt=row.id)
    if artifacts:
        shown["artifacts"] = [_artifact(each) for each in artifacts]
    late = tx.all(SQL.late_results, issue=row.issue, attempt=row.id, limit=_LATE_MAX)
    if late:
        shown["late_results"] = [
            {"at": clock.iso(event.at), "result_summary": wire.loads(event.data)["result_summary"]} for event in late
        ]
    return shown
