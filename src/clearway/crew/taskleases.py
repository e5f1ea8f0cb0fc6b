"""Possession of a task: taken by one session, kept by signs of life, ended by whoever shows the token.

A task is a message that somebody has to carry out (messages.py stores it, tasks.py hands it out). Whoever takes one
gets a lease and its token; the token is derived, so the session that has the task can be given it again, and only its
hash is stored. A stale holder is refused by what became of its lease; what it had to say is kept and not applied.
"""

from __future__ import annotations

from clearway import clock, lapse, policy
from clearway.crew.agents import works_for
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.leasing import has_lapsed, task_lives_until
from clearway.lifecycle import TASK_OUTCOMES
from clearway.limits import TASK_UNSTARTED_SECONDS
from clearway.untrusted import folded, redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
_OPEN = frozenset({"pending", "leased", "started"})
_WITHOUT_A_WORD = frozenset({"lapsed", "returned"})  # leases that ended before the work did


def create(tx: Tx, id: int, paths: list[str]) -> None:
    """The message of this number asks somebody to do something."""
    tx.change(SQL.create, id=id, lapses_max=policy.seconds(tx, "task_lapses"))
    for path in paths:
        tx.change(SQL.add_path, task=id, path=path)


def may_ask(tx: Tx) -> bool:
    """Whether the caller may give tasks to others in this room."""
    allowed = policy.value(tx, "task_senders")
    return tx.caller.human or allowed == "*" or tx.caller.agent in [name.strip() for name in allowed.split(",")]


def find(tx: Tx, id: int, token: str = "") -> Row:
    """The task of this number. Of those the caller has nothing to do with it is not even said that they exist. token:
    of its lease, which opens it to anybody."""
    found = tx.one(SQL.find, id=id)
    if found is None or not (_is_known(tx, found) or (token and of_token(tx, id, token) is not None)):
        raise Refusal("TASK_NOT_FOUND", "There is no such task for you; list_tasks shows yours.", task_id=id)
    return found


def _is_known(tx: Tx, task: Row) -> bool:
    """Whether the caller gave this task, is to do it, or has had it in hand."""
    mine = (tx.caller.agent, works_for(tx.caller.agent))
    known = tx.caller.human or task.sender in mine or task.recipient in mine
    return known or tx.one(SQL.last_of, task=task.id, session=tx.caller.key) is not None


def live(tx: Tx, task: int) -> Row | None:
    """The lease under which somebody has this task now."""
    return tx.one(SQL.live, task=task, gone=lapse.gone_tasks(tx))


def take(tx: Tx, message: Row, lease_seconds: int | None = None) -> dict[str, Any]:
    """The caller has this task now, for a short time until it says that it began: what it is told of its lease. Who has
    it already is told the same again."""
    held = live(tx, message.id)
    if held is not None:
        return _again(tx, held)
    task = find(tx, message.id)
    if task.state != "pending":
        raise not_leased(task)
    fence = tx.new_fence()
    token = tx.token(_subject(task.id), fence)
    lease_ms = (lease_seconds or TASK_UNSTARTED_SECONDS) * 1_000
    tx.change(
        SQL.take,
        fence=fence,
        task=task.id,
        session=tx.caller.key,
        agent=tx.caller.agent,
        token_hash=clock.token_hash(token),
        lease_ms=lease_ms,
        now=tx.now,
        expires_at=tx.now + lease_ms,
        wall=tx.wall,
    )
    tx.change(SQL.taken, id=task.id)
    event = tx.tell("task_leased", task=task.id, message=task.id, fence=fence, to=task.sender)
    if task.sender_session != tx.caller.key:
        lapse.notify(tx, task.sender_session, event)
    return _told(tx, token, tx.now + lease_ms)


def held(tx: Tx, task: Row, token: str) -> Row:
    """The live lease that this token opens. Refused by what became of it."""
    lease = live(tx, task.id)
    if lease is not None:
        ours = clock.token_hash(token) == lease.token_hash
        if ours or (lease.session == tx.caller.key and token == token_again(tx, lease)):
            return lease
    earlier = of_token(tx, task.id, token)
    if earlier is not None and earlier.status in _WITHOUT_A_WORD:
        who = f"; {folded(lease.agent, 40)} has it now" if lease is not None else ""
        raise Refusal(
            "LEASE_EXPIRED",
            f"Your lease on task #{task.id} lapsed{who}; stop, your result is kept apart.",
            task_id=task.id,
        )
    if lease is None or earlier is not None:
        raise not_leased(task)
    raise Refusal(
        "INVALID_LEASE_TOKEN", f"That is not the lease token of task #{task.id}; accept_message answers yours.",
        task_id=task.id,
    )  # fmt: skip


def start(tx: Tx, lease: Row, lease_seconds: int | None) -> int:
    """Its holder has begun, or still is at it: the longer term counts from now. When it lapses."""
    lease_ms = (lease_seconds or policy.seconds(tx, "lease.task_seconds")) * 1_000
    tx.change(SQL.start, fence=lease.fence, now=tx.now, lease_ms=lease_ms, expires_at=tx.now + lease_ms)
    tx.change(SQL.set_state, id=lease.task, state="started")
    if not lease.started:
        tx.tell("task_started", task=lease.task, fence=lease.fence)
    return tx.now + lease_ms


def end(tx: Tx, lease: Row, state: str) -> None:
    """Nobody has it any more: it came to this state."""
    tx.change(SQL.end, fence=lease.fence, wall=tx.wall)
    tx.change(SQL.set_state, id=lease.task, state=state)


def give_back(tx: Tx, lease: Row) -> int:
    """Who has it cannot go on, and not for its own doing: anybody may take it, and it counts as no loss. Its number."""
    tx.change(SQL.return_lease, fence=lease.fence, wall=tx.wall)
    tx.change(SQL.set_state, id=lease.task, state="pending")
    tx.change(lapse.SQL.return_message, id=lease.task)
    tx.tell("task_given_back", task=lease.task, fence=lease.fence, state="pending")
    return lease.task


def give_up(tx: Tx, id: int) -> None:
    """Nobody will be given this any more: its time is over, or whom it is for will not come back."""
    if tx.change(SQL.expire, id=id):
        tx.tell("task_expired", task=id)


def ended_as(tx: Tx, task: Row, token: str) -> bool:
    """Whether the lease of this token ended with the state that the task has: the answer was lost, and not the word."""
    lease = of_token(tx, task.id, token)
    if lease is None or lease.status != "ended" or task.state not in TASK_OUTCOMES:
        return False
    return tx.one(SQL.later, task=task.id, fence=lease.fence) is None


def of_token(tx: Tx, task: int, token: str) -> Row | None:
    """The lease, live or over, that had this token."""
    return tx.one(SQL.of_token, task=task, token_hash=clock.token_hash(token))


def token_again(tx: Tx, lease: Row) -> str:
    """The token of a lease, derived again for the session that has it. Where the machine has lost its secret meanwhile
    it is another one, which takes the place of the first."""
    token = tx.token(_subject(lease.task), lease.fence)
    tx.change(SQL.keep_token, fence=lease.fence, token_hash=clock.token_hash(token))
    return token


def own_token(tx: Tx, id: int) -> str:
    """A read: the token of a task of the calling session, derived again; of one that is over, too, to be told so."""
    task = find(tx, id)
    last = tx.one(SQL.last_of, task=task.id, session=tx.caller.key)
    if last is None:
        raise not_leased(task)
    return tx.token(_subject(task.id), last.fence)


def adopt(tx: Tx, id: int, token: str, result: str | None) -> None:
    """Before time passes: whoever shows the token of a live lease has the task from now on, from any session. And what
    comes too late is kept, whatever it is refused with."""
    lease = of_token(tx, id, token)
    if lease is None or lease.status == "ended":
        return
    over = lease.status in _WITHOUT_A_WORD or has_lapsed(lapse.task_until(tx, lease), tx.now) or _is_dead(tx, lease)
    if over and result is not None and lease.late_result is None:
        tx.change(SQL.keep_late, fence=lease.fence, result=redacted(result))
        tx.tell("late_result", task=id, fence=lease.fence)
    if over or lease.session == tx.caller.key:
        return
    # What the former holder's signs of life carried stays carried: the new one has given none yet.
    until = min(lapse.task_until(tx, lease), tx.now + lease.lease_ms)
    tx.change(SQL.adopt, fence=lease.fence, session=tx.caller.key, agent=tx.caller.agent, expires_at=until)
    tx.change(SQL.adopt_message, id=id, session=tx.caller.key)
    event = tx.tell("task_adopted", task=id, fence=lease.fence, from_session=lease.session)
    if lease.agent != tx.caller.agent:
        lapse.notify(tx, lease.session, event)


def not_leased(task: Row) -> Refusal:
    """Nobody has it in hand."""
    what = "accept_message or next_task takes it" if task.state == "pending" else "retry_task asks for it again"
    if task.state in ("leased", "started"):
        what = "another session has it"
    elif task.state == "succeeded":
        what = "there is nothing left to do"
    return Refusal("TASK_NOT_LEASED", f"Task #{task.id} is {task.state}; {what}.", task_id=task.id, state=task.state)


def is_open(task: Row) -> bool:
    return task.state in _OPEN


def _is_dead(tx: Tx, lease: Row) -> bool:
    return bool(tx.opening.processes) and any(row.session == lease.session for row in lapse.dead_sessions(tx))


def _again(tx: Tx, lease: Row) -> dict[str, Any]:
    if lease.session != tx.caller.key:
        raise Refusal(
            "NOT_YOURS",
            f"Task #{lease.task} is being done by {folded(lease.agent, 40)}; there is nothing to do about it.",
            task_id=lease.task,
            agent=lease.agent,
            until=tx.iso(lapse.until(tx, lease)),
        )
    until = task_lives_until(lease.expires_at, lease.lease_ms, tx.now, tx.now)
    tx.change(SQL.act, fence=lease.fence, now=tx.now, expires_at=until)
    return _told(tx, token_again(tx, lease), until)


def _told(tx: Tx, token: str, until: int) -> dict[str, Any]:
    return {"lease_token": token, "lease_expires_at": tx.iso(until)}


def _subject(task: int) -> str:
    """What a token is made from. The id of an attempt never looks like this."""
    return f"task {task}"
