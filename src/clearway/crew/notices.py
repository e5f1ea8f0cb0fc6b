"""What a session is told once, at its next hook: that it lost a lease without its doing, and who is at the work now.

The log says what happened (lapse.py notes which of its events are news to whom); here it becomes a few lines for a
model to read. A path that lapsed and is still free is no news: the next edit takes it again.
"""

from __future__ import annotations

from clearway import clock, paths, wire
from clearway.crew import leases
from clearway.db import Row, statements
from clearway.limits import NEWS_BYTES_MAX, NOTICES_SHOWN
from clearway.untrusted import ending, folded, quoted, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
_READ_MAX = 50
_HOW = {
    "lapse": "lapsed at {at} (no sign of life in time)",
    "death": "was given up at {at} (its process had ended)",
    "forced": "was taken away at {at} by the human",
}


class Unseen:
    """What has befallen the caller: the `text` for it, empty if none of it matters any more, and which `events`."""

    __slots__ = ("events", "text")

    def __init__(self, text: str, events: list[int]) -> None:
        self.text = text
        self.events = events


def unseen(tx: Tx) -> Unseen | None:
    """What the calling session has not been told yet. The door knows whether there is anything."""
    if not tx.opening.notices:
        return None
    rows = tx.all(SQL.unseen, session=tx.caller.key, limit=_READ_MAX)
    lines = [line for row in rows for line in _lines(tx, row)]
    shown = list(dict.fromkeys(lines))[:NOTICES_SHOWN]
    text = "\n".join(f"[clearway] {line}" for line in shown)
    return Unseen(within(text, NEWS_BYTES_MAX), [row.event for row in rows])


def seen(tx: Tx, events: list[int]) -> None:
    """They were told."""
    for event in events:
        tx.change(SQL.seen, session=tx.caller.key, event=event)


def _lines(tx: Tx, row: Row) -> list[str]:
    data: dict[str, Any] = wire.loads(row.data)
    if row.type == "paths_released":
        return _of_paths(tx, row, data)
    if row.type == "commit_over_lease":
        return [_of_commit(row, data)]
    return [_of_attempt(tx, row, data)] if row.number is not None else []


def _of_attempt(tx: Tx, row: Row, data: dict[str, Any]) -> str:
    holder = tx.one(SQL.holder, issue=row.issue)
    issue = f"ISSUE-{row.number} {quoted(row.title, 60)}"
    if row.type == "attempt_adopted":
        how = f"is held by another session, which showed its token, since {_at(row)}"
    else:
        how = _HOW.get(data.get("why", "forced"), _HOW["forced"]).format(at=_at(row))
    if holder is not None and holder.session == tx.caller.key:
        return f"Your lease on {issue} {how}; you have it again under a new attempt, so drop the old token."
    if holder is not None:
        return f"Your lease on {issue} {how}; {folded(holder.agent, 40)} works on it now. Stop: your result is refused."
    return f"Your lease on {issue} {how}; it is free. Stop, and claim it again if you mean to go on."


def _of_paths(tx: Tx, row: Row, data: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for lease in data["paths"][:_READ_MAX]:
        place: Any = Row(checkout=lease["checkout"], key=paths.key(lease["path"]), file=None, seats=1)
        others = leases.conflicting(tx, place, "edit")
        how = _HOW[data["why"]].format(at=_at(row))
        shown = ending(lease["path"], 80)
        if others:
            holder = folded(others[0].agent, 40)
            lines.append(
                f"Your lease on {shown} {how}; {holder} holds it now. Stop editing it, and read it again first."
            )
        elif data["why"] == "forced":
            lines.append(f"Your lease on {shown} {how}. Stop editing it, and ask before you take it again.")
    return lines


def _of_commit(row: Row, data: dict[str, Any]) -> str:
    more = f" and {len(data['paths']) - 1} more" if len(data["paths"]) > 1 else ""
    return (
        f"{folded(data['maker'], 40)} committed {ending(data['paths'][0], 80)}{more}, which you had, at {_at(row)} "
        f"({data['commit'][:10]}). Look at that commit before you go on."
    )


def _at(row: Row) -> str:
    return clock.local_time(row.at)
