"""Whose provider lets them do no more for now: what was said of it, and whether it is over.

A limit is believed only when it comes from a typed signal (quotasigns.py) or from the one it stops, never because of a
number in somebody's output. When it ends is known only if the provider said so; nothing is invented. After that end one
task is tried, and no other soon: success clears the limit, failure leaves it. What nobody knows the end of stays until
somebody says that it is over.
"""

from __future__ import annotations

from clearway import caps, clock
from clearway.crew.agents import works_for
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import TASK_OUTCOMES
from clearway.limits import PURPOSE_CHARS_MAX, TRIED_EVERY_MS, TRIES_MAX
from clearway.op import op
from clearway.untrusted import folded, redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import AgentName, LeaseToken, MessageRef, Purpose, QuotaEnd, QuotaSource, Yes
    from clearway.db.tx import Tx

SQL = statements(__file__)
_SHOWN_MAX = 200
_DID_WELL = frozenset(TASK_OUTCOMES) - {"failed"}


@op(
    writes=True,
    group="crew",
    keyed="agent",
    cli="limit",
    rare=("agent", "source", "task_id", "task_token"),
)
def report_limit(
    tx: Tx,
    until: QuotaEnd | None = None,
    reason: Purpose = "",
    clear: Yes = False,
    agent: AgentName | None = None,
    source: QuotaSource | None = None,
    task_id: MessageRef | None = None,
    task_token: LeaseToken | None = None,
) -> dict[str, Any]:
    """Say that your provider lets you do no more for now; what you have not begun may go to others.

    until: when it is over, as 2h or a time; leave it out if you were not told.
    clear: it is over.
    agent: whose limit it is; others than your own only the human reports.
    task_id: the task it stopped you in, with its task_token; it is free again at once.
    """
    from clearway.crew import failover, taskleases

    name = _whose(tx, agent)
    if clear:
        lifted = lift(tx, name, "reported")
        return {"agent": name, "state": "free", **({} if lifted else {"changed": False})}
    given_back = None
    if task_id is not None:
        if task_token is None:
            raise _field("task_token", "REQUIRED", "goes with task_id")
        task = taskleases.find(tx, task_id, task_token)
        given_back = taskleases.give_back(tx, taskleases.held(tx, task, task_token))
    note(tx, name, until=until, reason=reason, source=source or ("human" if tx.caller.human else "reported"))
    moved = failover.sweep(tx, given_back=given_back)
    row = tx.one(SQL.find, agent=name)
    assert row is not None
    return {**item(tx, row), **({"moved": moved} if moved else {})}


@op(group="crew", cli="limits", tool=False)
def list_limits(tx: Tx) -> dict[str, Any]:
    """List the agents that are at their limit, and who takes whose tasks then."""
    from clearway import policy

    return {
        "items": [item(tx, row) for row in tx.all(SQL.all, limit=_SHOWN_MAX)],
        "fallbacks": [{"agent": agent, "to": others} for agent, others in policy.fallbacks(tx).items()],
    }


def note(tx: Tx, agent: str, *, until: int | None, reason: str, source: str) -> int:
    """An agent is at its limit. until: in so many ms it is over, None if nobody said so. The event that tells of it."""
    known = tx.one(SQL.find, agent=agent)
    since = known if known is not None and stops(tx, known) else None  # said again, it is no younger for that
    at = None if until is None else tx.now + until
    said = folded(redacted(reason), PURPOSE_CHARS_MAX)
    facts: dict[str, Any] = {"limited": agent, "source": source}
    facts |= {} if at is None else {"until": tx.iso(at)}
    facts |= {"reason": said} if said else {}
    event = tx.tell("limit_reported", **facts)
    tx.change(
        SQL.keep,
        agent=agent,
        until=at,
        reason=said,
        source=source,
        event=event if known is None else known.event,
        **(
            {"now": tx.now, "wall": tx.wall}
            if since is None
            else {"now": since.reported_at, "wall": since.reported_wall}
        ),
    )
    return event


def lift(tx: Tx, agent: str, why: str) -> bool:
    """An agent is no longer at its limit; whether it was."""
    if not tx.change(SQL.forget, agent=agent):
        return False
    tx.tell("limit_cleared", limited=agent, why=why)
    return True


def limited(tx: Tx, names: list[str] | None = None) -> dict[str, Row]:
    """The agents that a limit was reported of, by their names, the newest first. names: only these."""
    if names is None:
        found = tx.all(SQL.all, limit=_SHOWN_MAX)
    else:
        known = [row for name in names if (row := tx.one(SQL.find, agent=name)) is not None]
        found = sorted(known, key=lambda row: -row.reported_at)
    return {row.agent: row for row in found}


def state(tx: Tx, row: Row) -> str:
    """limited: until its end, or because nobody knows that; over: its end has come, and one task shows whether that is
    so; unknown: it was tried so often that nobody guesses any more."""
    if row.until is None or row.until > tx.now:
        return "limited"
    if row.tries < TRIES_MAX or tx.now - row.tried_at < TRIED_EVERY_MS:
        return "over"
    return "unknown"


def stops(tx: Tx, row: Row) -> bool:
    """Whether nothing can be expected of this agent now."""
    return state(tx, row) != "over"


def in_the_way(tx: Tx) -> dict[str, Any] | None:
    """Why the caller is given no task now, None if it may have one."""
    capped = caps.in_the_way(tx)
    if capped is not None:
        return {"reason": capped[0], "until": clock.iso(capped[1])}
    row = tx.one(SQL.find, agent=tx.caller.agent)
    if row is None:
        return None
    if state(tx, row) == "over":
        again = (row.tried_at or 0) + TRIED_EVERY_MS
        if not row.tries or tx.now >= again:
            return None
        return {"reason": "one task is tried after your limit, the next later", "until": tx.iso(again)}
    until = {} if row.until is None or row.until <= tx.now else {"until": tx.iso(row.until)}
    return {"reason": "you are at your limit; report_limit with clear says that it is over", **until}


def waits_for(tx: Tx, agent: str) -> dict[str, Any]:
    """Why a task for this agent is not done now, as far as a limit is why; empty otherwise."""
    row = tx.one(SQL.find, agent=agent)
    if row is None or not stops(tx, row):
        return {}
    until = {} if row.until is None or row.until <= tx.now else {"until": tx.iso(row.until)}
    return {"reason": f"{folded(agent, 40)} is at its provider's limit", **until}


def trying(tx: Tx, task: int) -> None:
    """The caller was given this task; after the end of a limit it is the one that shows whether it is over."""
    tx.change(SQL.trying, agent=tx.caller.agent, task=task, now=tx.now)


def tried(tx: Tx, agent: str, task: int, outcome: str) -> None:
    """A task that an agent had came to this: whoever does one well is not at its limit."""
    row = tx.one(SQL.find, agent=agent)
    if row is not None and row.tried_task == task and outcome in _DID_WELL:
        lift(tx, agent, "recovered")


def item(tx: Tx, row: Row) -> dict[str, Any]:
    """A limit as lists show it."""
    shown: dict[str, Any] = {"agent": row.agent, "state": state(tx, row), "source": row.source}
    if row.until is not None:
        shown["until"] = tx.iso(row.until)
    if row.reason:
        shown["reason"] = row.reason
    if row.tries:
        shown["tries"] = row.tries
    return {**shown, "since": tx.iso(row.reported_at)}


def _whose(tx: Tx, agent: str | None) -> str:
    mine = tx.caller.agent
    if tx.caller.human:
        if agent is None:
            raise _field("agent", "REQUIRED", "says whose limit it is")
        return agent
    if agent is not None and works_for(agent) != works_for(mine):
        raise Refusal("NOT_YOURS", f"{folded(agent, 40)} reports its own limit, or the human does.", agent=agent)
    return agent or mine


def _field(name: str, code: str, message: str) -> Refusal:
    return Refusal(
        "INVALID_ARGUMENT", f"report_limit: {name} {message}.", [{"field": name, "code": code, "message": message}]
    )
