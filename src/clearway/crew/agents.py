"""Agents and their sessions: who is here, and the presence that the door notes.

A session begins when its client first speaks and ends when the client says so or its process is gone. It is retired,
never deleted; a client that comes back under the same id opens it again.
"""

from __future__ import annotations

from clearway import policy, repository, wire
from clearway.config import Caller
from clearway.db import Row, statements
from clearway.lapse import end_session, gone, hand_over, in_flight, until
from clearway.limits import BEAT_EVERY_MS, MESSAGES_IN_ROOM, PURPOSE_CHARS_MAX, ROOM_ITEMS_MAX
from clearway.op import op
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Doing, Needs
    from clearway.db.tx import Tx

SQL = statements(__file__)
IDLE_AFTER_MS = 900_000
STALLED_AFTER_MS = 1_800_000
WORKERS = ("-worker", "-bridge")  # what the name of one that works for an agent ends in
GOES_ON = frozenset({"clear", "resume", "compact"})  # how a session starts that may go on with another one's work


@op(writes=("status", "capabilities"), group="crew", core=True, cli="room", rare=("capabilities",))
def room(tx: Tx, status: Doing | None = None, capabilities: Needs | None = None) -> dict[str, Any]:
    """See who is here, what they do and which paths they hold.

    Call it before starting and when blocked.

    status: what you are doing now, for the others.
    capabilities: what you can do; next counts on it.
    """
    from clearway.crew import messages  # a hook, which asks for nobody's room, need not load it

    if status is not None:
        say_doing(tx, status)
    if capabilities is not None:
        tx.change(SQL.able, id=tx.caller.key, capabilities=wire.dumps(capabilities))
    from clearway.crew import roster
    from clearway.tally import passages

    paths, _ = gone(tx)
    agents, ended = roster.listed(tx)
    return {
        "me": {"agent": tx.caller.agent, "session": tx.caller.key},
        **({"guard": guard} if (guard := policy.pause(tx)) is not None else {}),
        "agents": agents,
        **({"ended": ended} if ended else {}),
        **({"unchecked": unchecked} if (unchecked := sum(passages(tx.home, tx.wall)[0].values())) else {}),
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
        "messages": messages.newest(tx, MESSAGES_IN_ROOM),
        "waiting_for_you": messages.waiting(tx),
        **_for_the_human(tx),
    }


def _for_the_human(tx: Tx) -> dict[str, Any]:
    """What else waits for the person who asks, and is seen nowhere else in the answer."""
    if not tx.caller.human:
        return {}
    from clearway.crew import needs

    found = [need for need in needs.listed(tx) if need["kind"] not in needs.SEEN]
    return {"needs_you": found} if found else {}


def arrive(tx: Tx) -> None:
    """Note who asks: the session exists, and has the process it runs in now. No sign of life yet, and what has ended
    stays so: time passes first, so that a caller cannot carry what it has let lapse."""
    known = tx.opening
    if known.session is None:
        tx.change(SQL.open, bound=_bound(tx.caller), **_facts(tx, tx.caller))
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


def begin_session(tx: Tx, source: str = "startup") -> str | None:
    """A client says that a session starts here: it is now the current session of its process. If it goes on with the
    work of another one there, that one's id: what it held is this one's now.

    source: how it starts, in Claude Code's words.
    """
    earlier = _predecessor(tx) if source in GOES_ON else None
    tx.tell("session_started", client=tx.caller.client, cwd=tx.caller.cwd, source=source)
    if earlier is not None:
        hand_over(tx, earlier)
    tx.change(SQL.start, id=tx.caller.key, now=tx.now, cwd=tx.caller.cwd, event=tx.last_event)
    return None if earlier is None else earlier.session


def go_on_elsewhere(tx: Tx, session: str) -> None:
    """The same in another room in which the earlier session worked."""
    earlier = tx.one(SQL.open_session, id=session)
    if earlier is not None and session != tx.caller.key:
        hand_over(tx, earlier)


def move(tx: Tx) -> None:
    """A client says that the session ends and that its work goes on under another id: nothing is given back."""
    tx.change(SQL.moving, id=tx.caller.key, now=tx.now)
    tx.farewell = True


def mark_call(tx: Tx) -> None:
    """In a room on a server: since when the caller's newest open call runs, as the files of its machine say."""
    call = tx.calls.newest(tx.caller.key)
    at = None if call is None else tx.now - max(0, tx.clock.monotonic() - call.at)
    tx.change(SQL.mark_call, id=tx.caller.key, at=at)


def leave(tx: Tx, why: str) -> None:
    """A client says that its session ends. Paths go at once; an attempt goes with the process or its term, so a
    client that comes back in time finds it."""
    end_session(tx, Row(session=tx.caller.key, agent=tx.caller.agent), why, keep_attempts=True)
    tx.farewell = True


def turn(tx: Tx, *, begins: bool) -> None:
    tx.change(SQL.turn, id=tx.caller.key, in_turn=int(begins))


def is_in_turn(tx: Tx) -> bool:
    """Whether the caller has begun a turn that it has not ended."""
    row = tx.one(SQL.open_session, id=tx.caller.key)
    return row is not None and bool(row.in_turn)


def is_busy(tx: Tx) -> bool:
    """Whether the caller is in a turn, as far as its signs of life say."""
    row = tx.one(SQL.own, id=tx.caller.key)
    return row is not None and presence(tx, row) == "busy"


def say_doing(tx: Tx, doing: str) -> None:
    tx.change(SQL.doing, id=tx.caller.key, doing=folded(doing, PURPOSE_CHARS_MAX))


def current_session(tx: Tx, host: str, boot: str, pid: int, started: str) -> str | None:
    """The session that a client's process runs now: the last one it started and did not end."""
    row = tx.one(SQL.of_process, host=host, boot=boot, pid=pid, started=started)
    return None if row is None else row.id


def presence(tx: Tx, row: Row) -> str:
    """busy, idle, stalled or offline, from the last sign of life and whether a turn is on."""
    quiet = tx.now - seen(tx, row)
    if quiet >= IDLE_AFTER_MS and in_flight(tx, row.id) is not None:
        return "busy"
    if quiet >= STALLED_AFTER_MS:
        return "offline"
    if row.in_turn:
        return "stalled" if quiet >= IDLE_AFTER_MS else "busy"
    return "idle"


def works_for(agent: str) -> str:
    """The agent whose tasks one of this name is given, too: another one for a worker, itself for everybody else."""
    return next((agent[: -len(end)] for end in WORKERS if agent.endswith(end) and agent != end), agent)


def seen(tx: Tx, row: Row) -> int:
    """The last sign of life of a session (room ms)."""
    return row.beat_at if tx.beats is None else max(row.beat_at, min(tx.now, tx.beats.last(row.id) or 0))


def _predecessor(tx: Tx) -> Row | None:
    """The session whose work the caller goes on with: one of the same process that said so, else the only other one
    there. Of several, in an editor or a server of many sessions, none is guessed; and who had begun already goes on
    with its own work."""
    process = tx.caller.process
    if process is None:
        return None
    others = tx.all(
        SQL.others_of_process,
        id=tx.caller.key,
        host=tx.caller.host,
        boot=process.boot,
        pid=process.pid,
        started=process.started,
    )
    for other in others:
        if other.moving_at is not None:
            return other
    mine = tx.one(SQL.open_session, id=tx.caller.key)
    was_begun = mine is not None and mine.briefed_event > 0  # a question alone opens a session, too
    return others[0] if len(others) == 1 and not was_begun else None


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
