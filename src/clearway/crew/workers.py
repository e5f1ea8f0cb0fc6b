"""Workers, as a room knows them: who works without a person, from when on, how often, and what is given to whom.

A worker is a session like any other, under a name of its own (`codex-worker`), so that what befalls it is not told of
the agent it works for. It is given that agent's tasks as well as its own. What came before it was activated is left to
people, and so is, for a time, what has just come while a person sits at that agent. How often it starts something in an
hour is counted here, for all processes of its name together.
"""

from __future__ import annotations

from clearway import clock
from clearway.crew import agents, taskleases, tasks
from clearway.db import Row, statements
from clearway.limits import PURPOSE_CHARS_MAX, ROOM_ITEMS_MAX, WORKER_TERM_SECONDS
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
CLIENT = "worker"
HOUR_MS = 3_600_000
_OFFLINE = "offline"


def activate(tx: Tx, agent: str, *, include_existing: bool) -> dict[str, Any]:
    """From now on: a worker of this name leaves alone what came before, unless that is to be included."""
    event = tx.tell("worker_activated", worker=agent, include_existing=include_existing)
    since, event = (-1, 0) if include_existing else (tx.now, event)
    tx.change(SQL.activate, agent=agent, since=since, event=event, wall=tx.wall)
    return {"worker": agent, "since_event": event, "include_existing": include_existing}


def since(tx: Tx) -> tuple[int, int]:
    """From which moment (room ms) and which event on the calling worker takes work; what was never activated takes
    everything."""
    row = tx.one(SQL.find, agent=tx.caller.agent)
    return (-1, 0) if row is None else (row.since_at, row.since_event)


def begin(tx: Tx) -> None:
    """The calling worker is here."""
    agents.begin_session(tx)
    say_doing(tx, "waits for work")


def leave(tx: Tx) -> None:
    agents.leave(tx, "exit")


def say_doing(tx: Tx, doing: str, *, busy: bool = False) -> None:
    """What the others see it at."""
    agents.say_doing(tx, folded(doing, PURPOSE_CHARS_MAX))
    agents.turn(tx, begins=busy)


def left_until(tx: Tx, per_hour: int) -> int | None:
    """When the calling worker may start something again (room ms); None for now."""
    row = tx.one(SQL.starts, agent=tx.caller.agent, since=tx.now - HOUR_MS)
    assert row is not None
    return row.first + HOUR_MS if row.count >= per_hour else None


def note_start(tx: Tx) -> None:
    """It starts something now."""
    tx.change(SQL.forget_starts, since=tx.now - HOUR_MS)
    tx.change(SQL.note_start, fence=tx.new_fence(), agent=tx.caller.agent, now=tx.now)


def take_task(tx: Tx, *, note: str, grace_ms: int, include_existing: bool) -> dict[str, Any] | None:
    """The next task for the calling worker, taken and begun; None when there is none for it.

    note: what its sender is told. grace_ms: what is younger is left to a person who is there for the same agent.
    """
    until = tx.now - grace_ms if grace_ms and is_attended(tx) else tx.now
    begun = -1 if include_existing else since(tx)[0]
    task = tasks.hand_out(tx, since=begun, until=until, note=note)
    if task is None:
        return None
    lease = taskleases.held(tx, taskleases.find(tx, task["task_id"]), task["lease_token"])
    taskleases.start(tx, lease, WORKER_TERM_SECONDS)
    note_start(tx)
    say_doing(tx, f"task #{task['task_id']} of {task['from']}", busy=True)
    return task | {"fence": lease.fence}


def is_attended(tx: Tx) -> bool:
    """Whether somebody is there whom the calling worker works for."""
    principal = agents.works_for(tx.caller.agent)
    if principal == tx.caller.agent:
        return False
    return any(agents.presence(tx, row) != _OFFLINE for row in tx.all(SQL.people, agent=principal))


def go_on(tx: Tx, task: int, token: str) -> None:
    """Its run goes on. Refused by what became of the task."""
    lease = taskleases.held(tx, taskleases.find(tx, task, token), token)
    taskleases.start(tx, lease, WORKER_TERM_SECONDS)


def give_back(tx: Tx, task: int, token: str) -> None:
    """It did not come to do this task: others may take it, and nobody was lost over it."""
    taskleases.give_back(tx, taskleases.held(tx, taskleases.find(tx, task, token), token))


def standing(tx: Tx) -> dict[str, Any]:
    """The workers that are here, and those that have been activated."""
    here = [_worker(tx, row) for row in tx.all(SQL.working, since=tx.now - HOUR_MS, limit=ROOM_ITEMS_MAX)]
    known = [
        {"worker": row.agent, "since_event": row.since_event, "at": clock.iso(row.set_wall)}
        for row in tx.all(SQL.activated, limit=ROOM_ITEMS_MAX)
    ]
    return {"workers": here, "activated": known}


def _worker(tx: Tx, row: Row) -> dict[str, Any]:
    return {
        "worker": row.agent,
        "session": row.id,
        "presence": agents.presence(tx, row),
        "doing": row.doing or "",
        "seen_at": tx.iso(agents.seen(tx, row)),
        "starts": row.starts,
        **({} if row.task is None else {"task_id": row.task}),
    }
