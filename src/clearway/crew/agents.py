"""Agents and their sessions: who is here, and the presence that the door notes.

A session begins when its client first speaks and ends when the client says so or its process is gone. It is retired,
never deleted; a client that comes back under the same id opens it again.
"""

from __future__ import annotations

from clearway import policy, repository
from clearway.config import Caller
from clearway.db import Row, statements
from clearway.lapse import dead_sessions, end_session, gone, until
from clearway.limits import BEAT_EVERY_MS, PURPOSE_CHARS_MAX, ROOM_ITEMS_MAX
from clearway.op import op
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Doing
    from clearway.db.tx import Tx

SQL = statements(__file__)
IDLE_AFTER_MS = 900_000
STALLED_AFTER_MS = 1_800_000


@op(writes="status", group="crew", core=True, cli="room")
def room(tx: Tx, status: Doing | None = None) -> dict[str, Any]:
    """See who is here, what they do and which paths they hold.

    Call it before starting and when blocked.

    status: what you are doing now, for the others.
    """
    if status is not None:
        say_doing(tx, status)
    paths, attempts = gone(tx)
    mine = tx.caller.key
    unseen = {mine, *(session.session for session in dead_sessions(tx))}
    present = [row for row in tx.all(SQL.present, gone=attempts, limit=ROOM_ITEMS_MAX) if row.id not in unseen]
    return {
        "me": {"agent": tx.caller.agent, "session": mine},
        **({"guard": guard} if (guard := policy.pause(tx)) is not None else {}),
        "agents": [_present(tx, row) for row in present],
        "paths": [
            {
                "path": lease.shown,
                "agent": lease.agent,
                "session": lease.session,
                "purpose": folded(lease.purpose, 120),
                "mode": lease.mode,
                "until": tx.iso(until(tx, lease)),
            }
            for lease in tx.all(SQL.held, gone=paths, limit=ROOM_ITEMS_MAX)
        ],
    }


def arrive(tx: Tx) -> None:
    """Note who asks: the session exists, is open, and has the process it runs in now. No sign of life yet: time
    passes first, so that a caller cannot carry what it has let lapse."""
    known = tx.opening
    if known.session is None:
        tx.change(SQL.open, bound=_bound(tx.caller), **_facts(tx, tx.caller))
    elif known.ended_at is not None:
        reopen(tx)
    elif _other_process(known, tx.caller):
        tx.change(SQL.move, **_facts(tx, tx.caller))


def reopen(tx: Tx) -> None:
    """A session that ended begins anew."""
    tx.change(SQL.reopen, bound=_bound(tx.caller), **_facts(tx, tx.caller))


def beat(tx: Tx) -> None:
    """The caller gives a sign of life, kept at most every quarter of a minute."""
    last = tx.opening.beat_at
    if last is not None and tx.now - last >= BEAT_EVERY_MS:
        tx.change(SQL.beat, id=tx.caller.key, now=tx.now)


def begin_session(tx: Tx) -> None:
    """A client says that a session starts here: it is now the current session of its process."""
    tx.change(SQL.start, id=tx.caller.key, now=tx.now, cwd=tx.caller.cwd)
    tx.tell("session_started", client=tx.caller.client, cwd=tx.caller.cwd)


def leave(tx: Tx, why: str) -> None:
    """A client says that its session ends. Paths go at once; an attempt goes with the process or its term, so a
    client that comes back in time finds it."""
    end_session(tx, Row(session=tx.caller.key, agent=tx.caller.agent), why, keep_attempts=True)
    tx.farewell = True


def turn(tx: Tx, *, begins: bool) -> None:
    tx.change(SQL.turn, id=tx.caller.key, in_turn=int(begins))


def say_doing(tx: Tx, doing: str) -> None:
    tx.change(SQL.doing, id=tx.caller.key, doing=folded(doing, PURPOSE_CHARS_MAX))


def current_session(tx: Tx, host: str, boot: str, pid: int, started: str) -> str | None:
    """The session that a client's process runs now: the last one it started and did not end."""
    row = tx.one(SQL.of_process, host=host, boot=boot, pid=pid, started=started)
    return None if row is None else row.id


def presence(tx: Tx, row: Row) -> str:
    """busy, idle, stalled or offline, from the last sign of life and whether a turn is on."""
    seen = row.beat_at
    if tx.beats is not None:
        seen = max(seen, min(tx.now, tx.beats.last(row.id) or 0))
    quiet = tx.now - seen
    if quiet >= STALLED_AFTER_MS:
        return "offline"
    if row.in_turn:
        return "stalled" if quiet >= IDLE_AFTER_MS else "busy"
    return "idle"


def _present(tx: Tx, row: Row) -> dict[str, Any]:
    shown = {
        "agent": row.agent,
        "session": row.id,
        "presence": presence(tx, row),
        "seen_at": tx.iso(row.beat_at),
    }
    if row.doing:
        shown["doing"] = row.doing
    if row.number is not None:
        shown["issue"] = f"ISSUE-{row.number}"
    return shown


def _other_process(known: Row, caller: Caller) -> bool:
    process = caller.process
    return process is not None and (known.boot, known.pid, known.started) != (
        process.boot,
        process.pid,
        process.started,
    )


def _bound(caller: Caller) -> str | None:
    """The linked worktree in which a client works: what it writes elsewhere is refused (worktrees.py)."""
    return None if caller.named else repository.linked_worktree(caller.cwd) or None


def _facts(tx: Tx, caller: Caller) -> dict[str, Any]:
    process = caller.process
    return {
        "id": caller.key,
        "agent": caller.agent,
        "client": caller.client,
        "named": int(caller.named),
        "host": caller.host,
        "boot": process and process.boot,
        "pidns": process and process.pidns,
        "pid": process and process.pid,
        "started": process and process.started,
        "cwd": caller.cwd,
        "now": tx.now,
    }
