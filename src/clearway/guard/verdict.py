"""The one decision of the guard: may this session touch these places?

Held by another: refused, from a read. Covered by a lease of one's own: allowed, and nothing is written. Free: claimed
for the session that edits, all of it or nothing. Time, death and the log are the door's business.
"""

from __future__ import annotations

from clearway.crew import leases
from clearway.limits import PATH_LEASE_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.repository import Place

PURPOSE = "editing"


def look(tx: Tx, places: list[Place]) -> list[Place]:
    """A read: the places that are free and would have to be claimed. Refuses PATH_HELD."""
    in_the_way = [(place, lease) for place in places for lease in leases.conflicting(tx, place, "edit")]
    if in_the_way:
        raise leases.held(tx, in_the_way)
    return [place for place in places if not leases.covering(tx, place, "edit")]


def claim(tx: Tx, places: list[Place]) -> list[int]:
    """Lease the free ones for the calling session, all or nothing; their fences, should the call be refused elsewhere."""
    granted = leases.take(tx, places, mode="edit", purpose=PURPOSE, lease_ms=PATH_LEASE_SECONDS * 1_000, auto=True)
    return [lease["fence"] for lease in granted]
