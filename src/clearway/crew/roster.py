"""Who is here and who was: the room's list of sessions, and names that are taken off it.

Live ones come first; what has ended, or has not been heard of for a day, is counted and not listed. A name is retired
by a person: its sessions that are certainly over leave the list for good, and what waited for them goes back. Whoever
runs, was heard of lately or still holds something is here, and neither it nor what is addressed to it is touched.
"""

from __future__ import annotations

from clearway import policy, proofs
from clearway.alive import Process
from clearway.crew import messages, quotas
from clearway.crew.agents import presence, seen
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lapse import dead_sessions, end_session, gone
from clearway.limits import ENDED_COUNTED_MS, ROOM_ITEMS_MAX, SESSIONS_READ_MAX, UNHEARD_MS
from clearway.op import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import AgentName, Yes
    from clearway.db.tx import Tx

SQL = statements(__file__)
_ORDER = ("busy", "stalled", "idle", "offline")
_NAMES_WITHIN_MS = 24 * 3_600_000
_EVENTS_READ = 5_000


@op(writes=True, group="crew", cli="agent retire", tool=False)
def retire_agent(tx: Tx, name: AgentName, dry_run: Yes = False) -> dict[str, Any]:
    """Take an agent off the list that will not come back; what waits for it goes back to who sent it.

    Only sessions that are over leave. For the human only.

    dry_run: only say what would happen.
    """
    policy.only_the_human(tx, "retires agents")
    sessions = tx.all(SQL.of_agent, agent=name, limit=SESSIONS_READ_MAX)
    if not sessions:
        raise Refusal("AGENT_NOT_FOUND", f"Nobody named {name} has been here; clearway who shows who was.", agent=name)
    here = [row for row in sessions if is_here(tx, row)]
    over = [row for row in sessions if row.retired_at is None and row not in here]
    back = 0 if here else _waiting_for(tx, name)
    if not dry_run:
        for row in over:
            if row.ended_at is None:
                end_session(tx, Row(session=row.id, agent=row.agent), "retired")
            tx.change(SQL.retire, id=row.id, now=tx.now)
        if over:
            tx.tell("agent_retired", name=name, sessions=len(over), kept=len(here))
        if not here:
            back = messages.retired(tx, name)
    return {
        "agent": name,
        "retired": [{"session": row.id, "seen_at": tx.iso(seen(tx, row))} for row in over],
        "kept": [{"session": row.id, "presence": presence(tx, row)} for row in here],
        "messages_returned": back,
        **({"dry_run": True} if dry_run else {}),
    }


def is_here(tx: Tx, row: Row) -> bool:
    """Whether a session may still act: it runs, was heard of lately, or holds what has not lapsed."""
    if row.holds:
        return True
    if row.ended_at is not None:
        return False
    return is_running(tx, row) or presence(tx, row) != "offline"


def listed(tx: Tx) -> tuple[list[dict[str, Any]], int]:
    """The other sessions as the room shows them, live ones first; and how many are only counted."""
    paths, attempts = gone(tx)
    mine, dead = tx.caller.key, {row.session for row in dead_sessions(tx)}
    rows = tx.all(SQL.open, paths=paths, attempts=attempts, limit=SESSIONS_READ_MAX)
    others = [row for row in rows if row.id != mine]
    shown = [row for row in others if row.id not in dead and not _is_forgotten(tx, row)]
    ended = tx.one(SQL.count_ended, since=tx.now - ENDED_COUNTED_MS, session=mine)
    counted = len(others) - len(shown) + (ended.count if ended is not None else 0)
    shown.sort(key=lambda row: (_ORDER.index(presence(tx, row)), -seen(tx, row), row.id))
    advised = proofs.advised(tx.outside.home)
    limits = quotas.limited(tx)
    listed = [_shown(tx, row, advised, limits.get(row.agent)) for row in shown[:ROOM_ITEMS_MAX]]
    return listed, counted + len(shown[ROOM_ITEMS_MAX:])


def of_two_names(tx: Tx) -> list[dict[str, str]]:
    """Sessions that lately spoke under two names, and clients whose hooks have one name and whose server has another:
    a message to one of them does not reach the other."""
    found = tx.all(SQL.two_names, after=tx.last_event - _EVENTS_READ, since=tx.wall - _NAMES_WITHIN_MS)
    found += tx.all(SQL.two_names_of_one_process)
    by_session = {row.session: {"session": row.session, "first": row.first, "second": row.second} for row in found}
    return list(by_session.values())


def _shown(tx: Tx, row: Row, advised: frozenset[str], limit: Row | None) -> dict[str, Any]:
    here = presence(tx, row)
    shown = {"agent": row.agent, "session": row.id, "presence": here, "seen_at": tx.iso(seen(tx, row))}
    if limit is not None and quotas.stops(tx, limit):
        shown["presence"] = "rate-limited" if here != "offline" else here
        if limit.until is not None and limit.until > tx.now:
            shown["limited_until"] = tx.iso(limit.until)
    if row.doing:
        shown["doing"] = row.doing
    if row.number is not None:
        shown["issue"] = f"ISSUE-{row.number}"
    if row.stuck is not None:
        shown["stuck"] = row.stuck
    if row.client in advised:
        shown["hooks"] = proofs.ADVISORY
    return shown


def _is_forgotten(tx: Tx, row: Row) -> bool:
    """Whether nobody expects it any more. A client whose machine was carried away has no process that could be seen to
    have ended."""
    return not row.holds and tx.now - seen(tx, row) >= UNHEARD_MS and not is_running(tx, row)


def is_running(tx: Tx, row: Row) -> bool:
    """Whether the process of a session's client certainly lives."""
    if row.pid is None or row.host != tx.liveness.host:
        return False
    now = tx.liveness.identify(row.pid)
    known = Process(row.boot, row.pidns, row.pid, row.started)
    same = now is not None and (now.boot, now.pidns, now.started) == (known.boot, known.pidns, known.started)
    return same and not tx.liveness.is_dead(row.host, known)


def _waiting_for(tx: Tx, name: str) -> int:
    row = tx.one(SQL.count_waiting, agent=name)
    return 0 if row is None else row.count
