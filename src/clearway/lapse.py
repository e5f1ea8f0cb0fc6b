"""What time and death alone change; the first act of every write.

A lease lapses when its time is over and neither a beat of its session carries it nor an open call holds it, or when the
process of its session is certainly gone. Writes settle this before anything else; reads compute the same and change
nothing. This module owns the release of every kind of lease, because finishing an attempt frees paths and a death frees
everything; who loses a lease so is told at its next hook.
"""

from __future__ import annotations

from clearway import clock, policy
from clearway.alive import Process
from clearway.db import Row, statements
from clearway.leasing import attempt_lives_until, has_lapsed, path_lives_until, task_lives_until
from clearway.limits import ATTEMPT_STILL_MS, OPEN_CALL_HOLDS_MS
from clearway.untrusted import ending, folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.db import Statement
    from clearway.db.tx import Tx

SQL = statements(__file__)
_TAKEN = frozenset({"lapse", "death", "forced"})  # why a lease ended without its holder's doing
KEYED_BY_SESSION = ("claim_issue",)  # whose answers under a key are one session's (op.keyed)
STILL, FAILING, CIRCLING = "still", "failing", "circling"  # why somebody who is alive does not move
COST = "cost"  # or is not to go on
_PATHS_NOTED = 10
_NOTE_CHARS = 600


def lapse(tx: Tx) -> set[str]:
    """Let time pass: renew what beats carry, expire what has lapsed, end the sessions whose process is gone; which."""
    at = tx.opening
    if not (at.processes or any(_is_past(due, tx.now) for due in (at.path_at, at.attempt_at, at.task_at))):
        return set()
    due = _due(tx)
    attempts = _carried(tx, due.attempts, _attempt_by_beats, SQL.carry_attempt)
    for attempt in due.attempts:
        if attempt not in attempts:
            _mind_stillness(tx, attempt)
    for attempt in attempts:  # what they hold is still there to be noted
        leave_note(tx, attempt, "lapse")
    release(tx, _carried(tx, due.paths, _path_by_beats, SQL.carry_path), "lapse")
    for attempt in attempts:
        expire(tx, attempt, "lapse")
    for task in _carried(tx, due.tasks, _task_by_beats, SQL.carry_task):
        give_task_back(tx, task, "lapse")
    for session in due.dead:
        if session.ended_at is None:
            end_session(tx, session, "death")
        else:  # it said farewell, and its attempts were kept as long as it might come back
            _expire_all(tx, session, "death")
            tx.change(SQL.forget_process, id=session.session)
    return {session.session for session in due.dead if session.ended_at is None}


def _carried(tx: Tx, due: list[Row], by_beats: Callable[[Tx, Row], int], carry: Statement) -> list[Row]:
    """Renew what beats carry; what is over. What an open call holds is neither: it may come back at any moment."""
    over: list[Row] = []
    for lease in due:
        until = by_beats(tx, lease)
        if not has_lapsed(until, tx.now):
            tx.change(carry, id=lease.id, until=until)
        elif in_flight(tx, lease.session) is None:
            over.append(lease)
    return over


def path_until(tx: Tx, lease: Row) -> int:
    """When a path lease lapses, beats and open calls counted (room ms)."""
    return _held_open(tx, lease, _path_by_beats(tx, lease))


def attempt_until(tx: Tx, attempt: Row) -> int:
    """When an attempt lapses, beats and open calls counted (room ms)."""
    return _held_open(tx, attempt, _attempt_by_beats(tx, attempt))


def task_until(tx: Tx, task: Row) -> int:
    """When a task that was taken lapses, beats and open calls counted (room ms)."""
    return _held_open(tx, task, _task_by_beats(tx, task))


def in_flight(tx: Tx, session: str) -> int | None:
    """Since when a session has a call open that keeps its leases from lapsing (room ms), or None. Its client's process
    must be known and live; of one on another machine only the room can tell."""
    if session not in tx.flights:
        since = _open_since(tx, session)
        tx.flights[session] = since if since is not None and tx.now - since < OPEN_CALL_HOLDS_MS else None
    return tx.flights[session]


def said_in_flight(tx: Tx, session: str) -> str:
    """What a claimer is told of a holder that is in the middle of a call; empty when it is not."""
    since = in_flight(tx, session)
    return "" if since is None else f" (tool call in flight since {clock.local_time(tx.at(since))})"


def gone(tx: Tx) -> tuple[str, str]:
    """For a read: the ids of path leases and of attempts that a write would lapse now, each joined into one text."""
    return _all_gone(tx)[:2]


def gone_tasks(tx: Tx) -> str:
    """For a read: the fences of tasks that a write would give back now, each with a space to either side."""
    return _all_gone(tx)[2]


def _all_gone(tx: Tx) -> tuple[str, str, str]:
    if tx.gone is None:
        paths, attempts, tasks = _gone(tx) if not tx.writes else ([], [], [])
        tx.gone = " ".join(paths), " ".join(attempts), "".join(f" {fence} " for fence in tasks)
    return tx.gone


def until(tx: Tx, lease: Row) -> int:
    """When a lease or attempt that was read is over, beats counted, as the next write would put it (room ms)."""
    if not has_lapsed(lease.expires_at, tx.now):
        return lease.expires_at
    if tx.writes:  # beats have been carried already
        return _held_open(tx, lease, lease.expires_at)
    gone(tx)
    carried = tx.carried.get(lease.id)
    return lease.expires_at if carried is None else carried


def is_late(tx: Tx) -> bool:
    """Whether the caller still holds what is over: a sign of life that comes now must not carry it."""
    at, mine = tx.opening, tx.caller.key
    kinds = (
        (at.path_at, SQL.paths_due, path_until),
        (at.attempt_at, SQL.attempts_due, attempt_until),
        (at.task_at, SQL.tasks_due, task_until),
    )
    return any(
        lease.session == mine and has_lapsed(until(tx, lease), tx.now)
        for due, statement, until in kinds
        if _is_past(due, tx.now)
        for lease in tx.all(statement, now=tx.now)
    )


def _gone(tx: Tx) -> tuple[list[str], list[str], list[int]]:
    due = _due(tx)
    over = {lease.id: path_until(tx, lease) for lease in due.paths}
    over |= {attempt.id: attempt_until(tx, attempt) for attempt in due.attempts}
    over |= {task.id: task_until(tx, task) for task in due.tasks}
    tx.carried = {id: until for id, until in over.items() if not has_lapsed(until, tx.now)}
    paths = [lease.id for lease in due.paths if lease.id not in tx.carried]
    attempts = [attempt.id for attempt in due.attempts if attempt.id not in tx.carried]
    tasks = [task.id for task in due.tasks if task.id not in tx.carried]
    for session in due.dead:
        tasks += [task.id for task in tx.all(SQL.tasks_of, session=session.session)]
        paths += [lease.id for lease in tx.all(SQL.paths_of, session=session.session)]
        attempts += [attempt.id for attempt in tx.all(SQL.attempts_of, session=session.session)]
    for attempt in attempts:  # what was claimed for an attempt goes with it
        paths += [lease.id for lease in tx.all(SQL.paths_for_attempt, attempt=attempt)]
    return paths, attempts, tasks


def _due(tx: Tx) -> Row:
    """What to look at now: leases at or past their term, and sessions without a living process."""
    at = tx.opening
    return Row(
        paths=tx.all(SQL.paths_due, now=tx.now) if _is_past(at.path_at, tx.now) else [],
        attempts=tx.all(SQL.attempts_due, now=tx.now) if _is_past(at.attempt_at, tx.now) else [],
        tasks=tx.all(SQL.tasks_due, now=tx.now) if _is_past(at.task_at, tx.now) else [],
        dead=dead_sessions(tx) if at.processes else [],
    )


def _is_past(at: int | None, now: int) -> bool:
    return at is not None and has_lapsed(at, now)


def dead_sessions(tx: Tx) -> list[Row]:
    """The sessions whose process is certainly gone and that are open, or said farewell with an issue in hand."""
    return [
        session
        for session in tx.all(SQL.with_process)
        if tx.liveness.is_dead(session.host, Process(session.boot, session.pidns, session.pid, session.started))
    ]


def end_session(tx: Tx, session: Row, why: str, *, keep_attempts: bool = False) -> None:
    """Close a session and give back what it held. session: a row with `session` and `agent`."""
    if not keep_attempts:
        _expire_all(tx, session, why)
    release(tx, tx.all(SQL.paths_of, session=session.session), why)
    tx.change(SQL.end_session, id=session.session, now=tx.now, why=why)
    tx.change(SQL.forget_told, session=session.session)
    tx.tell("session_ended", by=session, why=why)
    tx.calls.forget(session.session)
    if tx.beats is not None:
        tx.beats.forget(session.session)


def release(tx: Tx, leases: list[Row], why: str, **more: Any) -> list[str]:
    """Remove path leases; the freed paths as they were spelled. Told to the log once per session, as its own."""
    by_session: dict[str, list[Row]] = {}
    for lease in leases:
        tx.change(SQL.remove_path, id=lease.id)
        by_session.setdefault(lease.session, []).append(lease)
    for group in by_session.values():
        facts = [{"path": lease.shown, "checkout": lease.checkout, "fence": lease.fence} for lease in group]
        event = tx.tell("paths_released", by=group[0], why=why, paths=facts, **more)
        if why in _TAKEN:
            notify(tx, group[0].session, event)
    return [lease.shown for lease in leases]


def release_of_attempt(tx: Tx, attempt: str) -> list[str]:
    """The paths that were held for an attempt go with it."""
    return release(tx, tx.all(SQL.paths_for_attempt, attempt=attempt), "attempt_ended")


def expire(tx: Tx, attempt: Row, why: str) -> None:
    """An attempt whose lease is over: notes and results stay, the issue's stored status is not touched."""
    tx.change(SQL.expire, id=attempt.id, wall=tx.wall)
    beat = _beat(tx, attempt)
    silent = {} if beat is None else {"silent_ms": max(0, tx.now - beat)}  # how long the work lay still already
    told = {"why": why, "fence": attempt.fence, **silent}
    event = tx.tell("attempt_expired", issue=attempt.issue, attempt=attempt.id, by=attempt, **told)
    notify(tx, attempt.session, event)
    reopen_review(tx, attempt)
    release_of_attempt(tx, attempt.id)
    from clearway import caps

    caps.settle(tx, attempt.issue)


def reopen_review(tx: Tx, attempt: Row) -> int | None:
    """Who was to review something did not get that far: others may claim it. The event that tells it, if so."""
    review = tx.one(SQL.claimed_review, attempt=attempt.id)
    if review is None:
        return None
    tx.change(SQL.reopen_review, id=review.id)
    return tx.tell("review_reopened", issue=attempt.issue, attempt=attempt.id, by=attempt, review=review.id)


def _expire_all(tx: Tx, session: Row, why: str) -> None:
    for attempt in tx.all(SQL.attempts_of, session=session.session):
        leave_note(tx, attempt, why)
        release(tx, tx.all(SQL.paths_for_attempt, attempt=attempt.id), why)
        expire(tx, attempt, why)
    for task in tx.all(SQL.tasks_of, session=session.session):
        give_task_back(tx, task, why)


def give_task_back(tx: Tx, lease: Row, why: str) -> None:
    """Who had a task is lost: others may take it, until too many have been lost over it."""
    tx.change(SQL.lapse_task, fence=lease.id, wall=tx.wall)
    tx.change(SQL.return_task, id=lease.task)
    tx.change(SQL.return_message, id=lease.task)
    state = "pending" if lease.lapses + 1 < lease.lapses_max else "dead_letter"
    event = tx.tell("task_lapsed", by=lease, task=lease.task, fence=lease.id, why=why, state=state)
    notify(tx, lease.session, event)


def leave_note(tx: Tx, attempt: Row, why: str) -> None:
    """An automatic checkpoint of an attempt that its holder did not end: what the room knows of where it stood. Nothing
    is scanned here: the room is waiting."""
    held = tx.all(SQL.paths_for_attempt, attempt=attempt.id)
    if not held:
        return
    more = f" and {len(held) - _PATHS_NOTED} more" if len(held) > _PATHS_NOTED else ""
    shown = ", ".join(ending(lease.shown, 100) for lease in held[:_PATHS_NOTED])
    content = f"Automatic, when the lease was lost ({why}). It held: {shown}{more}."
    last = tx.one(SQL.last_note, attempt=attempt.id)
    if last is not None:
        content += f"\nLast note ({last.kind}): {folded(last.content, _NOTE_CHARS)}"
    note = {"id": note_id(tx, attempt, "checkpoint"), "attempt": attempt.id, "issue": attempt.issue, "wall": tx.wall}
    tx.change(SQL.leave_note, content=content, **note)


def note_id(tx: Tx, attempt: Row, kind: str) -> str:
    """The id of a new note on an attempt. Notes are read by their ids: it is behind those it comes after, whatever was
    done to the wall clock."""
    newest = tx.one(SQL.newest_note, attempt=attempt.id, issue=attempt.issue, kind=kind)
    return tx.new_id(None if newest is None else newest.id)


def hand_over(tx: Tx, earlier: Row) -> None:
    """All that an earlier session of the same client held is the caller's now: leases, attempts, answers, and what it
    was to be told. The earlier one is over. earlier: a row with `session` and `agent`."""
    both = {"earlier": earlier.session, "later": tx.caller.key}
    release(tx, tx.all(SQL.held_by_both, **both), "moved")
    tx.change(SQL.move_paths, agent=tx.caller.agent, **both)
    tx.change(SQL.move_last, agent=tx.caller.agent, **both)
    tx.change(SQL.move_snapshots, agent=tx.caller.agent, **both)
    tx.change(SQL.move_attempts, agent=tx.caller.agent, **both)
    tx.change(SQL.move_tasks, agent=tx.caller.agent, **both)
    tx.change(SQL.move_taken, **both)
    for operation in KEYED_BY_SESSION:
        tx.change(SQL.move_answers, operation=operation, **both)
    tx.change(SQL.move_notices, **both)
    tx.change(SQL.forget_notices, session=earlier.session)
    tx.change(SQL.move_mail, **both)
    tx.change(SQL.move_shown, **both)
    tx.change(SQL.move_heard, **both)
    tx.change(SQL.move_checkpoint, **both)
    tx.change(SQL.move_doing, **both)
    tx.tell("session_continued", from_session=earlier.session)
    tx.change(SQL.end_session, id=earlier.session, now=tx.now, why="moved")
    tx.tell("session_ended", by=earlier, why="moved")
    if tx.beats is not None:
        tx.beats.forget(earlier.session)


def notify(tx: Tx, session: str, event: int) -> None:
    """This event is to be told to that session at its next hook."""
    tx.change(SQL.notify, session=session, event=event)
    if tx.beats is not None:
        tx.beats.stir(session)


def current_attempt(tx: Tx, session: str = "") -> Row | None:
    """What a session works on, the calling one if none is named, with what is known of its getting on."""
    return tx.one(SQL.current_attempt, session=session or tx.caller.key, gone=gone(tx)[1])


def warn(tx: Tx, attempt: Row, why: str, **facts: Any) -> None:
    """Somebody who is alive does not move: the session is told, a person sees it, and from now on its beats do not
    renew the attempt, unless the room has decided otherwise. Any act of the session takes it back."""
    how = "lapse" if why == COST else policy.value(tx, "stuck")
    if how == "off":
        return
    to = tx.now + attempt.lease_ms if how == "lapse" else None
    tx.change(SQL.warn, id=attempt.id, now=tx.now, why=why, to=to)
    more = {} if to is None else {"until": tx.iso(to)}
    event = tx.tell("attempt_stuck", issue=attempt.issue, attempt=attempt.id, by=attempt, why=why, **facts, **more)
    notify(tx, attempt.session, event)


def _mind_stillness(tx: Tx, attempt: Row) -> None:
    """An attempt that beats carry, or an open call holds: when did it last move? Only of a session whose hooks are
    heard anything can be said."""
    if attempt.warned_at is None and tx.now - attempt.acted_at < ATTEMPT_STILL_MS:
        return
    edited = _edited(tx, attempt.session)
    if edited is None or in_flight(tx, attempt.session) is not None:
        return
    if attempt.warned_at is not None:
        if _moves_again(attempt, edited):
            tx.change(SQL.unwarn, id=attempt.id)
    elif (quiet := tx.now - max(attempt.acted_at, edited)) >= ATTEMPT_STILL_MS:
        warn(tx, attempt, STILL, minutes=quiet // 60_000)


def _edited(tx: Tx, session: str) -> int | None:
    """When hooks saw a session change a file last (room ms), 0 for never; None if they have seen nothing of it."""
    from clearway.trail import Trail  # asked for once an hour

    wall = Trail(tx.home).edited(session) if tx.home else None
    return wall if not wall else tx.now - max(0, tx.wall - wall)


def _moves_again(attempt: Row, edited: int | None) -> bool:
    """Whether an edit came after the warning. One that only goes on in the circle takes nothing back."""
    return edited is not None and edited > attempt.warned_at and attempt.warned_why not in (CIRCLING, COST)


def _path_by_beats(tx: Tx, lease: Row) -> int:
    return path_lives_until(lease.expires_at, lease.lease_ms, _beat(tx, lease))


def _attempt_by_beats(tx: Tx, attempt: Row) -> int:
    beat, acted, to = _beat(tx, attempt), attempt.acted_at, attempt.carried_to
    if beat is not None and (to is not None or tx.now - acted >= ATTEMPT_STILL_MS):
        edited = _edited(tx, attempt.session)
        if edited is not None:  # an edit is an act, too; the room itself is not told of it
            acted = max(acted, edited)
        if to is not None and (_moves_again(attempt, edited) or (edited is None and attempt.warned_why != COST)):
            to = None  # on a machine that does not see what the session does nobody can say that it stands still
    return attempt_lives_until(attempt.expires_at, attempt.lease_ms, beat, acted, to)


def _task_by_beats(tx: Tx, task: Row) -> int:
    ponders = task.started == 0 and task.in_turn == 1 and task.pid is not None
    return task_lives_until(task.expires_at, task.lease_ms, _beat(tx, task), task.acted_at, ponders=ponders)


def _held_open(tx: Tx, lease: Row, until: int) -> int:
    """An open call holds what beats do not carry, but nothing is written for it: it may come back at any moment."""
    since = in_flight(tx, lease.session) if has_lapsed(until, tx.now) else None
    return until if since is None else since + OPEN_CALL_HOLDS_MS


def _open_since(tx: Tx, session: str) -> int | None:
    known = tx.one(SQL.process_of, session=session)
    if known is None or known.pid is None or known.ended_at is not None:
        return None
    if tx.liveness.is_dead(known.host, Process(known.boot, known.pidns, known.pid, known.started)):
        return None
    if known.host != tx.liveness.host:
        return known.call_at
    call = tx.calls.newest(session)
    return None if call is None else tx.now - max(0, tx.clock.monotonic() - call.at)


def _beat(tx: Tx, lease: Row) -> int | None:
    """The last sign of life of the session that holds this lease. A named holder gives none: term only."""
    if lease.named or lease.ended_at is not None:
        return None
    from_file = tx.beats.last(lease.session) if tx.beats is not None else None
    return lease.beat_at if from_file is None else max(lease.beat_at, min(from_file, tx.now))
