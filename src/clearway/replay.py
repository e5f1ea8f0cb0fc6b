"""The room as it was after any event.

Told from the log alone: from the newest keyframe before that event, or from the beginning, event by event (scene.py).
What is shown of an issue besides its status is what it was called then. Nothing here changes anything.
"""

from __future__ import annotations

from clearway import clock, scene, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import PRIORITIES
from clearway.limits import LIST_MAX, REPLAY_EVENTS_AT_ONCE, REPLAY_EVENTS_MAX
from clearway.op import op
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import EventNumber, HistoryLimit
    from clearway.db.tx import Tx
    from clearway.scene import Scene

SQL = statements(__file__)
_ORDER = ("in_progress", "review", "blocked", "ready", "open")
_PURPOSE_CHARS = 120
_DESCRIBED = ("title", "type", "priority")
_CHANGES_READ_MAX = 5_000


@op(group="crew", cli="replay", tool=False)
def replay(tx: Tx, at: EventNumber | None = None, limit: HistoryLimit = LIST_MAX) -> dict[str, Any]:
    """See the room as it was after an event: who was here, what each held, which issues were not finished.

    at: the event's number; the newest if it is left out.
    limit: how many of each at most.
    """
    upto = tx.last_event if at is None else at
    if upto > tx.last_event:
        raise _refused("OUT_OF_RANGE", f"The newest event is {tx.last_event}; there is nothing after it to show.")
    return _shown(tx, as_of(tx, upto), limit)


def as_of(tx: Tx, upto: int) -> Scene:
    """What held after an event that has happened."""
    kept = tx.one(SQL.keyframe, upto=upto)
    found = scene.Scene() if kept is None else scene.unpacked(kept.state)
    between = tx.one(SQL.between, after=found.event, upto=upto)
    count = 0 if between is None else between.events
    if kept is None and count < upto:
        first = tx.one(SQL.first_keyframe)
        begins = tx.last_event if first is None or first.event is None else first.event
        message = f"What was before event {begins} is no longer kept; replay from there on."
        raise _refused("OUT_OF_RANGE", message, first_event_id=begins)
    if count > REPLAY_EVENTS_MAX:
        raise Refusal(
            "LIMIT_EXCEEDED",
            f"Between event {found.event}, from which a replay begins, and event {upto} lie {count} others; "
            f"{REPLAY_EVENTS_MAX} can be gone through at once. clearway prune keeps the state of now for later.",
        )
    types = wire.dumps(scene.TYPES)
    while rows := tx.all(SQL.events, after=found.event, upto=upto, types=types, limit=REPLAY_EVENTS_AT_ONCE):
        for event in rows:
            found.take(event)
    found.event = upto
    return found


def _shown(tx: Tx, found: Scene, limit: int) -> dict[str, Any]:
    held = {attempt[0]: attempt for attempt in found.attempts.values()}
    statuses = {issue: "in_progress" if issue in held else status for issue, status in found.issues.items()}
    counts: dict[str, int] = dict.fromkeys(_ORDER, 0)
    for status in statuses.values():
        counts[status] += 1
    event = tx.one(SQL.event, id=found.event)
    last = tx.one(SQL.last_before, id=found.event)
    return {
        "at": found.event,
        **({} if last is None else {"time": clock.iso(last.at)}),
        **({} if event is None else {"event": _event(event)}),
        "latest_event_id": tx.last_event,
        **({} if found.paused is None else {"guard": {"state": "off", **_until(found.paused)}}),
        "counts": {**{status: count for status, count in counts.items() if count}, "finished": found.finished},
        "agents": _agents(found, limit),
        "issues": _issues(tx, found, statuses, held, limit),
        "paths": _paths(found, limit),
        "tasks": _tasks(found, limit),
        "reviews": _reviews(tx, found, limit),
    }


def _until(paused: str) -> dict[str, str]:
    return {"until": paused} if paused else {}


def _event(event: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"type": event.type, "agent": event.agent, "session": event.session}
    if event.number is not None:
        shown["display_id"] = f"ISSUE-{event.number}"
    return {**shown, "data": wire.loads(event.data)}


def _agents(found: Scene, limit: int) -> list[dict[str, Any]]:
    """Who was here, the last to act first; whoever holds something is, in any case."""
    known = dict(found.sessions)
    holders = [(held[3], held[4]) for held in found.paths.values()]
    holders += [(attempt[1], attempt[2]) for attempt in found.attempts.values()]
    holders += [(task[2], task[3]) for task in found.tasks.values() if task[2] is not None]
    for session, agent in holders:
        known.setdefault(session, [agent, 0])
    ordered = sorted(known.items(), key=lambda pair: (-pair[1][1], pair[0]))
    return [
        {"agent": agent, "session": session, **({"acted_at": clock.iso(wall)} if wall else {})}
        for session, (agent, wall) in ordered[:limit]
    ]


def _issues(
    tx: Tx, found: Scene, statuses: dict[str, str], held: dict[str, list[Any]], limit: int
) -> list[dict[str, Any]]:
    """The unfinished, those in somebody's hands first."""
    ranked = sorted(statuses, key=lambda issue: (_ORDER.index(statuses[issue]), issue))[:limit]
    names = _named(tx, ranked, found.event)
    shown: list[dict[str, Any]] = []
    for issue in ranked:
        named = names.get(issue)
        if named is None:
            continue
        each = {"display_id": f"ISSUE-{named['number']}", "type": named["type"], "title": named["title"]}
        each["status"] = found.issues[issue]
        if issue in held:
            each |= {"effective_status": "in_progress", "held_by": held[issue][2], "session": held[issue][1]}
        if named["priority"] != "medium":
            each["priority"] = named["priority"]
        shown.append(each)
    return shown


def _named(tx: Tx, issues: list[str], upto: int) -> dict[str, dict[str, Any]]:
    """Number, title, type and priority of issues, as they were after an event. What the log never said is as now."""
    ids = wire.dumps(issues)
    names: dict[str, dict[str, Any]] = {
        row.id: {"number": row.number, "title": row.title, "type": row.type, "priority": PRIORITIES[row.priority]}
        for row in tx.all(SQL.issues, ids=ids)
    }
    for row in reversed(tx.all(SQL.described, ids=ids, upto=upto, limit=_CHANGES_READ_MAX)):
        facts = wire.loads(row.data)
        created = {"priority": "medium"} if row.type == "issue_created" else {}
        if row.issue in names:  # of a damaged room that was mended, the log may know more than the tables
            names[row.issue] |= created | {name: facts[name] for name in _DESCRIBED if name in facts}
    return names


def _paths(found: Scene, limit: int) -> list[dict[str, Any]]:
    newest = sorted(found.paths.items(), reverse=True)[:limit]
    return [
        {
            "path": held[1],
            "agent": held[4],
            "session": held[3],
            "mode": held[2],
            **({"purpose": folded(held[5], _PURPOSE_CHARS)} if held[5] else {}),
        }
        for _, held in newest
    ]


def _tasks(found: Scene, limit: int) -> list[dict[str, Any]]:
    return [
        {"task_id": id, "state": state, **({"to": to} if to else {}), **({} if agent is None else {"agent": agent})}
        for id, (state, to, _, agent) in sorted(found.tasks.items())[:limit]
    ]


def _reviews(tx: Tx, found: Scene, limit: int) -> list[dict[str, Any]]:
    few = list(found.reviews.items())[:limit]
    numbers = {row.id: row.number for row in tx.all(SQL.issues, ids=wire.dumps([issue for _, (issue, _) in few]))}
    return [
        {"review_request_id": review, "display_id": f"ISSUE-{numbers[issue]}", "status": status}
        for review, (issue, status) in few
        if issue in numbers
    ]


def _refused(code: str, message: str, **facts: int) -> Refusal:
    return Refusal("INVALID_ARGUMENT", message, [{"field": "at", "code": code, "message": message}], **facts)
