"""What agents were refused as dangerous lately, for the person who looks at a room."""

from __future__ import annotations

from clearway import clock, wire
from clearway.db import statements
from clearway.guard.danger import WAY_OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
EVENTS_READ_MAX = 500
LATELY_MS = 24 * 3_600_000


def lately(tx: Tx) -> dict[str, Any] | None:
    """How many commands were refused as dangerous in the last day, and the newest of them; None if none was."""
    rows = tx.all(SQL.refused, since=tx.wall - LATELY_MS, after=tx.last_event - EVENTS_READ_MAX)
    found = [(row, wire.loads(row.data)) for row in rows]
    found = [(row, data) for row, data in found if WAY_OUT in data["message"]]
    if not found:
        return None
    newest, data = found[0]
    count = sum(1 + int(told.get("repeated", 0)) for _, told in found)
    return {"count": count, "agent": newest.agent, "at": clock.iso(newest.at), "what": data["subject"]}
