"""Tasks: what an agent asks another to do, handed out once, done once, and answered.

A task waits until whoever it is for takes it: the most urgent first, and none that is expected to change what another
session holds. Then it has a lease (taskleases.py), and ends with the word of who has it; the result goes to who asked.
Who takes it and is lost gives it back; after too many losses it is put away and its sender told. Tasks that failed or
were put away can be asked for again.
"""

from __future__ import annotations

from clearway import clock, lapse, policy, wire
from clearway.crew import failover, messages, quotas, taskleases
from clearway.crew.agents import works_for
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import PRIORITIES, TASK_TRANSITIONS
from clearway.limits import INBOX_CHARS, MESSAGE_CHARS_MAX, RESULT_CHARS
from clearway.op import op
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        InboxLimit,
        LeaseToken,
        MessageRef,
        MessageText,
        TaskReport,
        TaskSeconds,
        TaskStates,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)
_BLOCKING_READ = 50


@op(writes=True, group="crew", core=True, cli="task next", rare=("lease_seconds",))
def next_task(tx: Tx, lease_seconds: TaskSeconds | None = None) -> dict[str, Any]:
    """Take the next task that others gave you, with its lease_token.

    lease_seconds: how long it is kept for you until you start.
    """
    task = hand_out(tx, lease_seconds)
    if task is None:
        waiting = quotas.in_the_way(tx) or _why_none(tx)
        return {"task": None, **({"waiting": waiting} if waiting else {})}
    return {"task": task}


def hand_out(
    tx: Tx, lease_seconds: int | None = None, *, since: int = -1, until: int | None = None, note: str | None = None
) -> dict[str, Any] | None:
    """The next task for the caller, which has its lease now; None when there is none.

    since, until: only what has come between these moments (room ms). note: what its sender is told.
    """
    messages.settle(tx)
    failover.sweep(tx)
    mine = tx.one(SQL.unstarted, session=tx.caller.key)
    if mine is None and quotas.in_the_way(tx) is not None:
        return None
    asked = {"now": tx.now, "since": since, "until": tx.now if until is None else until}
    chosen = mine or tx.one(SQL.next, session=tx.caller.key, **asked, **_names(tx))
    if chosen is None:
        return None
    lease = messages.take_task(tx, chosen, note, lease_seconds=lease_seconds)
    task = taskleases.find(tx, chosen.id)
    shown: dict[str, Any] = {
        "task_id": task.id,
        "from": task.sender,
        "text": task.text,
        "attempts": task.attempts,
        "lease_token": lease["lease_token"],
        "lease_expires_at": lease["lease_expires_at"],
        **_links(tx, task),
    }
    return {**shown, "resumed": True} if mine is not None else shown


@op(writes=True, group="crew", core=True, cli="task update", rare=("lease_seconds",))
def update_task(
    tx: Tx,
    task_id: MessageRef,
    lease_token: LeaseToken,
    state: TaskReport,
    result: MessageText | None = None,
    lease_seconds: TaskSeconds | None = None,
) -> dict[str, Any]:
    """Say that you start on a task, and at the end what came of it.

    lease_seconds: with started, how long from now.
    """
    task = taskleases.find(tx, task_id, lease_token)
    if task.state == state and state != "started" and taskleases.ended_as(tx, task, lease_token):
        return {"task_id": task.id, "state": state}  # said already; the answer was lost
    lease = taskleases.held(tx, task, lease_token)
    if state == "started":
        if result is not None:
            what = "comes at the end; tell what you are doing with send_message"
            raise Refusal(
                "INVALID_ARGUMENT",
                f"update_task: result {what}.",
                [{"field": "result", "code": "FORBIDDEN", "message": what}],
            )
        until = taskleases.start(tx, lease, lease_seconds)
        return {"task_id": task.id, "state": state, "lease_expires_at": tx.iso(until)}
    taskleases.end(tx, lease, state)
    tx.tell("task_ended", task=task.id, fence=lease.fence, state=state)
    quotas.tried(tx, lease.agent, task.id, state)
    tx.change(SQL.close, id=task.id)
    message = tx.one(messages.SQL.find, id=task.id)
    assert message is not None
    said = f"Task #{task.id} {state}: {result}" if result else f"Task #{task.id} {state}."
    tx.change(SQL.keep_result, id=task.id, result=messages.answer(tx, message, said))
    return {"task_id": task.id, "state": state}


@op(group="crew", cli="task list")
def list_tasks(
    tx: Tx,
    task_id: MessageRef | None = None,
    states: TaskStates | None = None,
    limit: InboxLimit = 20,
    cursor: MessageRef | None = None,
) -> dict[str, Any]:
    """List tasks you gave or were given, newest first, with who has each and what it waits for.

    task_id: only this one, in full.
    cursor: next_cursor of the page before.
    """
    if task_id is not None:
        taskleases.find(tx, task_id)
    rows = tx.all(
        SQL.list,
        task=task_id,
        states=None if states is None else wire.dumps(states),
        before=cursor,
        all=int(tx.caller.human),
        now=tx.now,
        gone=lapse.gone_tasks(tx),
        limit=limit + 1,
        **_names(tx),
    )
    chars = MESSAGE_CHARS_MAX if task_id is not None else INBOX_CHARS
    shown = [_item(tx, row, chars) for row in rows[:limit]]
    more = len(rows) > limit
    return {"items": shown, "has_more": more, **({"next_cursor": shown[-1]["task_id"]} if more else {})}


@op(writes=True, group="crew", cli="task retry")
def retry_task(tx: Tx, task_id: MessageRef) -> dict[str, Any]:
    """Ask again for a task that failed, needs review, was cancelled, expired, or was given up. For its sender."""
    messages.settle(tx)
    task = _own(tx, task_id)
    if task.state == "pending":
        return {"task_id": task.id, "state": "pending"}
    if "pending" not in TASK_TRANSITIONS[task.state] or taskleases.is_open(task):
        what = "is done" if task.state == "succeeded" else f"is {task.state}"
        raise Refusal(
            "INVALID_STATUS_TRANSITION",
            f"Task #{task.id} {what}; only what failed, was cancelled or given up is asked for again.",
            task_id=task.id,
            state=task.state,
        )
    tx.change(SQL.ask_again, id=task.id, lapses_max=policy.seconds(tx, "task_lapses"))
    tx.change(SQL.send_again, id=task.id, now=tx.now)
    tx.change(SQL.unshow, id=task.id)
    tx.tell("task_retried", task=task.id, was=task.state, to=task.recipient)
    return {"task_id": task.id, "state": "pending"}


@op(writes=True, group="crew", cli="task cancel")
def cancel_task(tx: Tx, task_id: MessageRef) -> dict[str, Any]:
    """Take back a task that is not done yet; who works on it is told to stop. For its sender."""
    messages.settle(tx)
    task = _own(tx, task_id)
    if task.state == "cancelled":
        return {"task_id": task.id, "state": "cancelled"}
    if not taskleases.is_open(task):
        raise Refusal(
            "INVALID_STATUS_TRANSITION",
            f"Task #{task.id} is {task.state} already; there is nothing to take back.",
            task_id=task.id,
            state=task.state,
        )
    lease = taskleases.live(tx, task.id)
    event = tx.tell("task_cancelled", task=task.id, **({} if lease is None else {"fence": lease.fence}))
    if lease is None:
        tx.change(taskleases.SQL.set_state, id=task.id, state="cancelled")
    else:
        taskleases.end(tx, lease, "cancelled")
        if lease.session != tx.caller.key:
            lapse.notify(tx, lease.session, event)
    tx.change(SQL.close, id=task.id)
    message = tx.one(messages.SQL.find, id=task.id)
    if message is not None and task.sender != tx.caller.agent:
        messages.answer(tx, message, f"Task #{task.id} was cancelled by {tx.caller.agent}.", sender="clearway")
    return {"task_id": task.id, "state": "cancelled"}


def _own(tx: Tx, id: int) -> Row:
    """A task that the caller gave to somebody."""
    task = taskleases.find(tx, id)
    if task.sender != tx.caller.agent and not tx.caller.human:
        raise Refusal(
            "NOT_YOURS",
            f"Task #{task.id} was given by {folded(task.sender, 40)}, who alone can ask again or take it back.",
            task_id=task.id,
            agent=task.sender,
        )
    return task


def _names(tx: Tx) -> dict[str, str]:
    return {"agent": tx.caller.agent, "principal": works_for(tx.caller.agent)}


def _why_none(tx: Tx) -> dict[str, Any]:
    """What the most urgent task waits for that the caller cannot have now; empty if there is none."""
    first = tx.one(SQL.not_yet, now=tx.now, session=tx.caller.key, **_names(tx))
    return {} if first is None else {"task_id": first.id, **_waits_for(tx, first)}


def _waits_for(tx: Tx, task: Row) -> dict[str, Any]:
    """Why a task that nobody has is not handed out now."""
    if task.held_back is not None:
        return {"reason": "a person has to read it first"}
    if task.not_before > tx.now:
        return {"reason": "its time has not come", "until": tx.iso(task.not_before)}
    mine = task.recipient in _names(tx).values()
    paths, _ = lapse.gone(tx)
    session = tx.caller.key if mine else ""
    blocking = tx.all(SQL.blocking, task=task.id, session=session, gone=paths, limit=_BLOCKING_READ)
    if not blocking:
        return {} if mine else quotas.waits_for(tx, task.recipient)
    until, _, held = max((lapse.until(tx, lease), lease.id, lease) for lease in blocking)
    return {
        "reason": "path held",
        "path": held.shown,
        "agent": held.agent,
        "session": held.session,
        "until": tx.iso(until),
        "seconds_left": max(0, -(-(until - tx.now) // 1_000)),
    }


def _links(tx: Tx, task: Row) -> dict[str, Any]:
    """What belongs to a task: the message it answers, its issue, its paths."""
    shown: dict[str, Any] = {} if task.reply_to is None else {"reply_to": task.reply_to}
    if task.addressed_to is not None:
        shown["moved_from"] = task.addressed_to
    issue = None if task.issue is None else tx.one(messages.SQL.issue_name, id=task.issue)
    if issue is not None:
        shown["issue_id"] = f"ISSUE-{issue.number}"
    paths = [row.path for row in tx.all(SQL.paths, task=task.id)]
    return {**shown, "paths": paths} if paths else shown


def _item(tx: Tx, task: Row, chars: int) -> dict[str, Any]:
    hidden = task.held_back is not None and not tx.caller.human and task.sender != tx.caller.agent
    text = "" if hidden else task.text
    shown: dict[str, Any] = {
        "task_id": task.id,
        "from": task.sender,
        "to": task.recipient,
        "text": text[:chars],
        "state": task.shown,
        "attempts": task.attempts,
        "at": clock.iso(task.sent_wall),
        **_links(tx, task),
    }
    if len(text) > chars:
        shown["truncated"] = True
    if task.priority != PRIORITIES.index("medium"):
        shown["priority"] = PRIORITIES[task.priority]
    if task.holder is not None:
        lease = Row(id=task.fence, session=task.session, expires_at=task.lease_expires_at)
        shown |= {"agent": task.holder, "session": task.session, "lease_expires_at": tx.iso(lapse.until(tx, lease))}
    if task.shown == "pending":
        waits_for = _waits_for(tx, task)
        shown |= {"waiting": waits_for} if waits_for else {}
    if task.expires_at is not None and task.shown == "pending":
        shown["expires_at"] = tx.iso(task.expires_at)
    if task.result is not None:
        shown["result_id"] = task.result
    late = tx.one(SQL.late, task=task.id)
    if late is not None:
        shown["late_result"] = late.late_result[: max(chars, RESULT_CHARS)]
    return shown
