"""The story of a path, from the log: who held it, who was refused, how it came free, and what to do now.

Only the log is asked, newest first and within a bound, and it is shown as it was told. Nothing here changes anything.
"""

from __future__ import annotations

from clearway import clock, paths, policy, repository, wire
from clearway.crew import leases
from clearway.db import Row, statements
from clearway.limits import HISTORY_EVENTS_READ_MAX, LIST_DEFAULT
from clearway.op import op
from clearway.untrusted import folded, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import HistoryLimit, Placed
    from clearway.db.tx import Tx
    from clearway.repository import Place

SQL = statements(__file__)
_READ_AT_ONCE = 500
_REFUSED = "refused"
_KEPT = (
    *("why", "mode", "purpose", "message", "code", "forced_by", "repeated", "how", "command", "ref"),
    *("holder", "holder_session", "until"),
)


@op(group="crew", cli="why")
def path_history(tx: Tx, path: Placed, limit: HistoryLimit = LIST_DEFAULT) -> dict[str, Any]:
    """Learn why a path is held or was refused: its story, newest first, and what to do next."""
    told, more = _told(tx, path, limit)
    holders = leases.covering(tx, path) or leases.conflicting(tx, path, "edit")
    now = leases.path_owner(tx, path)
    if holders:
        since = tx.one(SQL.since, id=holders[0].id)
        now |= {"since": tx.iso(since.claimed_at)} if since is not None else {}
        now |= {"issue": f"ISSUE-{since.number}"} if since is not None and since.number is not None else {}
    return {**now, "next": _next(tx, path, holders), "events": told, "has_more": more}


def _told(tx: Tx, place: Place, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """What the log has about a path and whatever covers or lies below it; whether there is more than was asked for."""
    found: list[dict[str, Any]] = []
    first = tx.one(SQL.floor, read=HISTORY_EVENTS_READ_MAX - 1)
    floor, before = 0 if first is None else first.id, tx.last_event + 1
    while True:
        events = tx.all(SQL.events, before=before, floor=floor, names=_names(place), limit=_READ_AT_ONCE)
        for event in events:
            shown = _shown(event, place)
            if shown is not None:
                if len(found) == limit:
                    return found, True
                found.append(shown)
        if len(events) < _READ_AT_ONCE:
            return found, floor > 0
        before = events[-1].id


def _names(place: Place) -> str | None:
    """What the text of an event about a path, about what covers it or about what lies below it has in it: cheaply
    looked for, and only of a key that stands in such a text as it is."""
    odd = any(sign in place.key + place.shown for sign in '"\\')
    if odd or not place.key.isascii() or place.key == paths.ROOT:
        return None
    first, *rest = place.key.lower().split("/")
    ends = [f'"{first}', f"/{first}", *(f"/{part}" for part in rest)]
    return wire.dumps(['."', f"{(rest or [first])[-1]}/", *(end + close for end in ends for close in ('"', '/"'))])


def _shown(event: Row, place: Place) -> dict[str, Any] | None:
    """An event as the story tells it, or None when it is about other paths."""
    facts: dict[str, Any] = wire.loads(event.data)
    about = [facts.get("subject", "")] if event.type == _REFUSED else _here(facts, place)
    met = [path for path in about if path and _is_met(place, path)]
    if not met:
        return None
    shown = {"id": event.id, "at": clock.iso(event.at), "type": event.type, "agent": event.agent}
    shown |= {"session": event.session, "path": met[0]}
    return shown | {name: _said(facts[name]) for name in _KEPT if facts.get(name)}


def _here(facts: dict[str, Any], place: Place) -> list[str]:
    listed: list[dict[str, Any]] = facts.get("paths", [])
    return [each["path"] for each in listed if each.get("checkout", place.checkout) == place.checkout]


def _is_met(place: Place, shown: str) -> bool:
    """Whether a path as it was spelled once is this one, above it or below it."""
    key = paths.key(shown)
    return paths.overlap(place.key, key if place.key == paths.key(place.shown) else paths.folded(key))


def _said(fact: Any) -> Any:
    return folded(fact, 240) if isinstance(fact, str) else fact


def _next(tx: Tx, place: Place, holders: list[Row]) -> str:
    """One thing to do now."""
    name = typed(repository.seen_from(tx.caller.cwd, place, place.shown))
    if place.key == paths.ROOT:
        return "clearway why PATH tells more of one path."
    if policy.is_paused(tx):
        return "The guard is switched off; clearway on switches it on."
    if not holders:
        return f"It is free: clearway claim {name}, or just edit it."
    if holders[0].session == tx.caller.key:
        return f"It is yours; clearway release {name} gives it back."
    if tx.caller.human:
        return f"clearway wait --path {name}, or take it away: clearway release {name} --force."
    return f"Take other work (claim_issue or clearway next), or wait: clearway wait --path {name}."
