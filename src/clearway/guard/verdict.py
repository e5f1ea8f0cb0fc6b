"""The one decision of the guard: may this session touch these places?

Held by another: refused, from a read. Covered by a lease of one's own: allowed, and nothing is written. Free: claimed
for the session that edits, all of it or nothing. While the human has switched the guard off, everything is allowed and
nothing is claimed. Time, death and the log are the door's business.
"""

from __future__ import annotations

from clearway import policy
from clearway.crew import leases, worktrees
from clearway.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.guard.snapshots import Taken
    from clearway.repository import Place

PURPOSE = "editing"


def look(tx: Tx, places: list[Place]) -> list[Place]:
    """A read: the places that are free and would have to be claimed. Refuses PATH_HELD and PATH_OTHER_CHECKOUT."""
    if policy.is_paused(tx):
        return []
    leases.check_free(tx, places, "edit")
    return [place for place in places if not leases.covering(tx, place, "edit", lasting=True)]


def is_due(tx: Tx, places: list[Place]) -> bool:
    """A read: whether the caller's own lease on one of these is past its stored term, and beats alone carry it. A write
    renews it then: else every edit would have to look as closely as this one."""
    at = tx.opening.path_at
    if at is None or at > tx.now or policy.is_paused(tx):
        return False
    own = (lease for place in places for lease in leases.covering(tx, place, "edit"))
    return any(lease.expires_at <= tx.now for lease in own)


def claim(tx: Tx, places: list[Place], call: str = "") -> list[int]:
    """Lease the free ones for the calling session, all or nothing; their fences, should another room refuse.

    call: the call with whose end they go, if that is not the end of the turn.
    """
    if policy.is_paused(tx):
        return []
    lease_ms = policy.seconds(tx, "lease.path_seconds") * 1_000
    granted = leases.take(tx, places, mode="edit", purpose=PURPOSE, lease_ms=lease_ms, auto=True, call=call)
    return [lease["fence"] for lease in granted]


def look_run(tx: Tx, places: list[Place], needs: list[Place]) -> bool:
    """A read: whether something would have to be held for a run. Refuses PATH_HELD."""
    if policy.is_paused(tx):
        return False
    leases.check_free(tx, places, "run")
    leases.check_free(tx, needs, "edit")
    return bool(places or needs)


def run(tx: Tx, places: list[Place], needs: list[Place], call: str) -> list[int]:
    """Hold what this call starts, and the resources it needs, for as long as it runs; the fences. Refuses PATH_HELD
    while another edits or has it."""
    if policy.is_paused(tx):
        return []
    lease_ms = policy.seconds(tx, "lease.path_seconds") * 1_000
    purpose = leases.RUNNING
    granted = leases.take_run(tx, places, call)
    granted += leases.take(tx, needs, mode="edit", purpose=purpose, lease_ms=lease_ms, auto=True, call=call)
    return [lease["fence"] for lease in granted]


def has_company(tx: Tx) -> bool:
    """A read: whether there is another session on this machine, from whom what is claimed may need protection."""
    from clearway.guard import snapshots

    return snapshots.has_company(tx)


def keep(tx: Tx, copied: list[Taken]) -> None:
    """How the places that were just claimed look now, for the comparison after other sessions' calls."""
    if copied:
        from clearway.guard import snapshots

        snapshots.write(tx, copied)


def notices(tx: Tx, places: list[Place]) -> list[str]:
    """What the session has to know of places that it was just given: one line each, each told once."""
    return worktrees.notices(tx, places)


def waived(tx: Tx, places: list[Place]) -> str:
    """A read: the one line that says what the guard, if it were not switched off, would have refused here."""
    if not policy.is_paused(tx):
        return ""
    try:
        leases.check_free(tx, places, "edit")
    except Refusal as refusal:
        return f"clearway: the guard is switched off, this passes: {refusal.message}"
    return ""
