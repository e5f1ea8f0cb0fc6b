"""Parting with what nobody needs any more: events of the crew and of the guard, handled messages, and what is kept of
both, once they are older than the room's `retention_days`.

Work stays for ever, unfinished work and what somebody has still to be told of stay as long as they are that. Age is
measured in room time, so a wall clock that is set ahead purges nothing. Before events go, the state of the room is kept
compressed at a later event (a keyframe), from which a replay begins. It happens in small steps, between which others
write; it is asked for by the host once a day and by `clearway prune`, never by opening a room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway import policy, scene, wire
from clearway.config import Caller
from clearway.db import statements
from clearway.guard import snapshots

if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.room import Room
    from clearway.scene import Scene

SQL = statements(__file__)
_DAY_MS = 86_400_000
_AT_ONCE = 2_000  # rows of one step
_STRETCH = 20_000  # events that one step looks at
_KEYFRAMES = 6  # within the time that is kept
_EVENTS_BETWEEN = 20_000  # two keyframes, so that a replay need not read more

# The rest is work, or what people decided: it is kept for ever.
PASSING = (
    *("session_started", "session_ended", "session_continued", "agent_retired"),
    *("paths_claimed", "paths_released", "overlap_noted", "path_leaked", "path_changed_outside", "path_restored"),
    *("message_sent", "message_seen", "message_taken", "message_released", "message_undeliverable"),
    *("task_leased", "task_started", "task_ended", "task_lapsed", "task_adopted", "task_retried", "task_cancelled"),
    *(
        "task_expired",
        "task_given_back",
        "task_moved",
        "limit_reported",
        "limit_cleared",
        "refused",
        "command_classified",
        "work_rescued",
        "doctor",
    ),
)


class Pruned:
    """What went, or would go."""

    __slots__ = ("days", "events", "messages", "notices")

    def __init__(self, days: int) -> None:
        self.days = days
        self.events = 0
        self.messages = 0
        self.notices = 0

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def prune(room: Room, home: str, *, dry: bool = False) -> Pruned:
    """Part with what is older than the room keeps. dry: only count."""
    caller = Caller("clearway", host=room.liveness.host)
    days, now, wall = room.run(_when, caller=caller, writes=False)
    before = now - days * _DAY_MS
    pruned = Pruned(days)
    upto = room.run(lambda tx: _known_by(tx, before), caller=caller, writes=False)
    if not dry:
        _keep_state(room, caller, upto, days * _DAY_MS // _KEYFRAMES)
    _prune_messages(room, caller, before, pruned, dry=dry)
    _prune_notices(room, caller, before, upto, pruned, dry=dry)
    _prune_events(room, caller, upto, pruned, dry=dry)
    if not dry:
        room.tidy(lambda tx: _prune_traces(tx, before, upto))
        store = snapshots.Store(home, room.project, wall)
        room.tidy(lambda tx: snapshots.prune(tx, store))
    return pruned


def _when(tx: Tx) -> tuple[int, int, int]:
    tx.silent = True
    return int(policy.value(tx, "retention_days")), tx.now, tx.wall


def _known_by(tx: Tx, before: int) -> int:
    tx.silent = True
    known = tx.one(SQL.known_by, before=before)
    return 0 if known is None or known.id is None else int(known.id)


def _keep_state(room: Room, caller: Caller, upto: int, every_ms: int) -> None:
    """See to it that there is a keyframe at the last event that goes, or later, and one now and then. It is read
    without a lock, and packed outside of any transaction."""

    def look(tx: Tx) -> tuple[Scene, int, int] | None:
        tx.silent = True
        newest = tx.one(SQL.newest_keyframe)
        if newest is not None and newest.event >= max(upto, 1):
            few = tx.last_event - newest.event < _EVENTS_BETWEEN
            if newest.event == tx.last_event or (tx.now - newest.at < every_ms and few):
                return None
        return scene.now(tx), tx.now, tx.wall

    found = room.run(look, caller=caller, writes=False)
    if found is None or not found[0].event:
        return
    kept, now, wall = found
    frame = {"event": kept.event, "now": now, "wall": wall, "state": scene.packed(kept, wall)}
    room.tidy(lambda tx: tx.change(SQL.keep_keyframe, **frame))


def _prune_messages(room: Room, caller: Caller, before: int, pruned: Pruned, *, dry: bool) -> None:
    limit = 1_000_000 if dry else _AT_ONCE
    while True:
        found = room.run(lambda tx: tx.all(SQL.old_messages, before=before, limit=limit), caller=caller, writes=False)
        pruned.messages += len(found)
        if dry or not found:
            return
        ids = wire.dumps([row.id for row in found])

        def forget(tx: Tx, ids: str = ids) -> None:
            for statement in (SQL.forget_task_leases, SQL.forget_task_paths, SQL.forget_tasks, SQL.forget_messages):
                tx.change(statement, ids=ids)

        room.tidy(forget)


def _prune_notices(room: Room, caller: Caller, before: int, upto: int, pruned: Pruned, *, dry: bool) -> None:
    """What was to be told to sessions that have not been heard of for as long."""

    def look(tx: Tx) -> list[Any]:
        found = tx.all(SQL.old_notices, before=before, upto=upto, limit=_AT_ONCE)
        beats = tx.beats
        return [
            row for row in found if row.ended_at is not None or beats is None or (beats.last(row.session) or 0) < before
        ]

    found = room.run(look, caller=caller, writes=False)
    pruned.notices = len(found)
    if found and not dry:
        room.tidy(lambda tx: [tx.change(SQL.forget_notice, session=row.session, event=row.event) for row in found])


def _prune_events(room: Room, caller: Caller, upto: int, pruned: Pruned, *, dry: bool) -> None:
    types = wire.dumps(PASSING)
    for after in range(0, upto, _STRETCH):
        last = min(after + _STRETCH, upto)
        rows = room.run(
            lambda tx, after=after, last=last: tx.all(SQL.old_events, after=after, upto=last, types=types),
            caller=caller,
            writes=False,
        )
        pruned.events += len(rows)
        for start in range(0, 0 if dry else len(rows), _AT_ONCE):
            ids = wire.dumps([row.id for row in rows[start : start + _AT_ONCE]])
            room.tidy(lambda tx, ids=ids: tx.change(SQL.forget_events, ids=ids))


def _prune_traces(tx: Tx, before: int, upto: int) -> None:
    tx.change(SQL.forget_shown)
    tx.change(SQL.forget_moves)
    for statement in (SQL.forget_wakes, SQL.forget_refusals, SQL.forget_commits):
        tx.change(statement, before=before)
    tx.change(SQL.forget_keyframes, upto=upto)
