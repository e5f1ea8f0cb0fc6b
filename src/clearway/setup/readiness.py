"""Is the room ready to be left alone? Mail that waits, who works without a person, and who would go on for whom.

Only looks, for `doctor --json`: nothing is taken, and nobody is noted as here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway import clock, policy, worktrees
from clearway.config import Caller, Settings
from clearway.crew import failover, quotas, workers
from clearway.crew.agents import works_for
from clearway.db import statements
from clearway.errors import Refusal
from clearway.rooms import Rooms

if TYPE_CHECKING:
    from clearway.db.tx import Tx

SQL = statements(__file__)
PARTS = ("delivery", "receipts", "workers", "failover")


def facts(settings: Settings, folder: str, *, lock_wait_ms: int) -> dict[str, Any]:
    """The parts, each empty where there is no room or it cannot be asked."""
    nothing: dict[str, Any] = {name: {} for name in PARTS}
    place = worktrees.around(folder)
    rooms = Rooms(settings, upgrade=False, lock_wait_ms=lock_wait_ms)
    try:
        if place is None or rooms.known(place) is None:
            return nothing
        room = rooms.of_repository(place)
        return room.run(_looked, caller=Caller("clearway", host=room.liveness.host), writes=False)
    except (OSError, Refusal):
        return nothing  # the checks say what is wrong
    finally:
        rooms.close()


def _looked(tx: Tx) -> dict[str, Any]:
    tx.silent = True
    mail = tx.one(SQL.mail, now=tx.now)
    assert mail is not None
    return {
        "delivery": {
            "not_delivered": mail.queued,
            "held_back": mail.held_back,
            **({} if mail.queued_wall is None else {"oldest_at": clock.iso(mail.queued_wall)}),
        },
        "receipts": {
            "not_answered": mail.seen,
            **({} if mail.seen_wall is None else {"oldest_at": clock.iso(mail.seen_wall)}),
        },
        "workers": {**workers.standing(tx), "tasks": {row.state: row.count for row in tx.all(SQL.tasks)}},
        "failover": _failover(tx),
    }


def _failover(tx: Tx) -> dict[str, Any]:
    """Who goes on for whom, who is at a limit, and for whom of those nobody does or could."""
    chains = policy.fallbacks(tx)
    limited = {agent: quotas.state(tx, row) for agent, row in quotas.limited(tx).items()}
    alone = sorted({works_for(agent) for agent in limited} - set(chains))
    stuck = [chain["agent"] for chain in failover.readiness(tx) if chain["state"] != "well" and not chain["well"]]
    return {
        "fallbacks": chains,
        "limited": limited,
        "without_fallback": [agent for agent in alone if limited.get(agent, "limited") != "over"],
        **({"no_fallback_is_well": stuck} if stuck else {}),
    }
