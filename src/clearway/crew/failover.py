"""When an agent cannot: its tasks that nobody has begun go to the next of its fallbacks that can.

An agent cannot when its provider's limit stops it (quotas.py), or when it gives no sign of life; one whose client runs
and sleeps is not robbed. Only what is pending moves, after a grace, and can be taken by the fallback at once. It never
comes to an agent twice, nor to who sent it, so it cannot go in circles; a fallback that cannot either is passed over,
and where none can the task stays. Sender, former and new recipient are told. Whoever comes back finds itself fenced by
the task's lease.
"""

from __future__ import annotations

from clearway import clock, lapse, policy
from clearway.crew import agents, messages, quotas, roster
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import MOVED_AT_ONCE, SICK_AFTER, SICK_WITHIN_MS
from clearway.op import op
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import AgentNames, Yes
    from clearway.db.tx import Tx

SQL = statements(__file__)
_SESSIONS_READ = 50


@op(writes=True, group="crew", cli="failover activate", tool=False)
def activate_failover(tx: Tx, agents: AgentNames, include_existing: Yes = False) -> dict[str, Any]:
    """Let tasks of these agents go to their fallbacks from now on, where those that wait already stay. For the human.

    include_existing: also those that wait already.
    """
    policy.only_the_human(tx, "decides which tasks go to others")
    chains = policy.fallbacks(tx)
    without = [agent for agent in agents if agent not in chains]
    if without:
        raise Refusal(
            "INVALID_ARGUMENT",
            f"{without[0]} has no fallback; clearway config set fallbacks {without[0]}=OTHER gives it one.",
        )
    for agent in agents:
        tx.change(SQL.keep_point, agent=agent, event=0 if include_existing else tx.last_event)
    tx.tell("failover_activated", agents=agents, include_existing=include_existing)
    moved = sweep(tx)
    shown = [{"agent": agent, "to": chains[agent], "after_task": _point(tx, agent)} for agent in agents]
    return {"agents": shown, **({"moved": moved} if moved else {})}


class Move:
    """A task that is to go to another agent, and why."""

    __slots__ = ("source", "target", "task", "why")

    def __init__(self, task: Row, source: str, target: str, why: str) -> None:
        self.task = task
        self.source = source
        self.target = target
        self.why = why


class Health:
    """What is known of one agent and of those that work for it."""

    __slots__ = ("limited", "quiet_since", "sick")

    def __init__(self, limited: Row | None, quiet_since: int | None, *, sick: bool) -> None:
        self.limited = limited  # its limit, if that stops it
        self.quiet_since = quiet_since  # its last sign of life; None: it is there
        self.sick = sick  # what it took lately came to nothing


def sweep(tx: Tx, given_back: int | None = None) -> list[dict[str, Any]]:
    """Move what is to be moved now. given_back: a task that its holder has just given back, for which nobody waits."""
    return [_move(tx, move) for move in due(tx, given_back)]


def due(tx: Tx, given_back: int | None = None) -> list[Move]:
    """A read: what is to be moved now."""
    chains = policy.fallbacks(tx)
    if not chains:
        return []
    known: dict[str, Health] = {}
    moves: list[Move] = []
    for source in _sources(tx, chains):
        why, since, grace = _reason(tx, _health(tx, known, source))
        if not why and given_back is None:
            continue
        for task in tx.all(SQL.pending, agent=source, now=tx.now, limit=MOVED_AT_ONCE):
            at_once = task.id == given_back
            late = why and tx.now - max(since, _waits_since(task)) >= grace
            if not (at_once or late) or task.id <= _point(tx, task.addressed_to or source):
                continue
            target = _target(tx, known, chains, task, source)
            if target:
                moves.append(Move(task, source, target, "given_back" if at_once and not why else why))
    return moves


def _sources(tx: Tx, chains: dict[str, list[str]]) -> list[str]:
    """The agents whose tasks may move: those with fallbacks, and those that have others' tasks already."""
    return list(dict.fromkeys([*chains, *(row.target for row in tx.all(SQL.targets))]))


def _reason(tx: Tx, health: Health) -> tuple[str, int, int]:
    """Why the tasks of an agent may go elsewhere, empty if they may not; since when, and how long they wait for it."""
    if health.limited is not None:
        return "limited", health.limited.reported_at, 1_000 * policy.seconds(tx, "failover.limited_seconds")
    if health.quiet_since is not None:
        return "silent", health.quiet_since, 1_000 * policy.seconds(tx, "failover.silent_seconds")
    return "", 0, 0


def _target(tx: Tx, known: dict[str, Health], chains: dict[str, list[str]], task: Row, source: str) -> str:
    """The first of the fallbacks that can, and that has not had it."""
    first = task.addressed_to or source
    been = {first, source, task.sender, *(row.target for row in tx.all(SQL.moves_of, task=task.id))}
    for name in dict.fromkeys([*chains.get(source, ()), *chains.get(first, ())]):
        if name not in been and _is_well(tx, _health(tx, known, name)):
            return name
    return ""


def _is_well(tx: Tx, health: Health) -> bool:
    quiet = 0 if health.quiet_since is None else tx.now - health.quiet_since
    return health.limited is None and not health.sick and quiet < 1_000 * policy.seconds(tx, "failover.silent_seconds")


def _health(tx: Tx, known: dict[str, Health], agent: str) -> Health:
    """One of the names an agent's tasks are given to is enough. A person's client that sleeps does not count where its
    worker is at its limit: it lives from the same account."""
    if agent in known:
        return known[agent]
    family = [agent, *(agent + end for end in agents.WORKERS)]
    rows = quotas.limited(tx, family)
    stopped = {name: row for name, row in rows.items() if quotas.stops(tx, row)}
    there = False
    busy = False
    last = 0
    for session in tx.all(SQL.sessions, names=_json(family), limit=_SESSIONS_READ):
        if session.agent in stopped:
            continue
        is_there = session.ended_at is None and roster.is_running(tx, session)
        there = there or is_there
        awake = session.ended_at is None and (session.agent != agent or agents.presence(tx, session) == "busy")
        busy = busy or (awake and (is_there or agents.presence(tx, session) != "offline"))
        last = max(last, agents.seen(tx, session))
    limit = max(stopped.values(), key=lambda row: row.reported_at, default=None)
    known[agent] = Health(
        None if busy else limit,
        None if there or busy else last,
        sick=_is_sick(tx, family) or len(rows) > len(stopped),  # whether a limit is over is not known yet
    )
    return known[agent]


def _is_sick(tx: Tx, family: list[str]) -> bool:
    """Whether whatever it took lately was lost or failed."""
    since = tx.now - SICK_WITHIN_MS
    lately = [
        row
        for name in family
        for row in tx.all(SQL.lately, agent=name, limit=SICK_AFTER)
        if row.acted_at >= since and row.status != "held"
    ]
    lately = sorted(lately, key=lambda row: -row.fence)[:SICK_AFTER]
    return len(lately) == SICK_AFTER and all(row.status == "lapsed" or row.state == "failed" for row in lately)


def _move(tx: Tx, move: Move) -> dict[str, Any]:
    task = move.task
    facts = {"task": task.id, "source": move.source, "target": move.target, "why": move.why}
    event = tx.tell("task_moved", task=task.id, state="pending", to=move.target, source=move.source, why=move.why)
    tx.change(SQL.keep_move, event=event, **facts)
    tx.change(SQL.readdress, id=task.id, target=move.target, source=move.source)
    tx.change(SQL.unshow, id=task.id)
    said = f"Your task #{task.id} went from {move.source} to {move.target}: {_said(tx, move)}."
    messages.answer(tx, task, said, sender="clearway")
    told = {row.session for row in tx.all(SQL.had_it, task=task.id)}
    told |= {row.id for row in tx.all(messages.SQL.open_sessions, agent=move.source)}
    for session in sorted(told - {tx.caller.key}):
        lapse.notify(tx, session, event)
    return {"task_id": task.id, "from": move.source, "to": move.target, "why": move.why}


def _said(tx: Tx, move: Move) -> str:
    if move.why == "silent":
        return f"{move.source} gives no sign of life"
    row = next(iter(quotas.limited(tx, [move.source, *(move.source + end for end in agents.WORKERS)]).values()), None)
    until = "" if row is None or row.until is None else f" until {clock.local_moment(tx.at(row.until), tx.wall)}"
    return f"{folded(move.source, 40)} is at its provider's limit{until}"


def _waits_since(task: Row) -> int:
    """Since when nobody has it."""
    return max(task.sent_at, task.not_before, task.last_at or 0)


def _point(tx: Tx, agent: str) -> int:
    """The number after which an agent's tasks may go to others: as somebody decided, else what was sent since its
    fallbacks were."""
    row = tx.one(SQL.point, agent=agent)
    return 0 if row is None or row.event is None else row.event


def _json(names: list[str]) -> str:
    from clearway import wire

    return wire.dumps(names)


def readiness(tx: Tx) -> list[dict[str, Any]]:
    """A read: for each agent with fallbacks whether it can do its tasks, and which of them could now."""
    known: dict[str, Health] = {}
    shown: list[dict[str, Any]] = []
    for agent, others in policy.fallbacks(tx).items():
        why = _reason(tx, _health(tx, known, agent))[0]
        well = [name for name in others if _is_well(tx, _health(tx, known, name))]
        shown.append({"agent": agent, "state": why or "well", "to": others, "well": well})
    return shown
