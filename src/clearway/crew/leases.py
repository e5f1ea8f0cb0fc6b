"""Leases on paths: claim, release, owner, and what the guard asks on every edit.

A claim is all or nothing. A lease on a directory covers what is below, and overlap is looked for both ways. Runs share
a path, an edit stands alone. What a named holder has is open to every session of that name; two sessions of one client
exclude each other. Places arrive resolved: nothing here touches the disk.
"""

from __future__ import annotations

from clearway import clock, lapse, paths, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import PATH_LEASE_SECONDS, REFUSAL_BYTES_MAX
from clearway.op import op
from clearway.untrusted import ending, folded, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Force, PathMode, PathSeconds, Placed, PlacedPaths, Purpose
    from clearway.db.tx import Tx
    from clearway.repository import Place

SQL = statements(__file__)
CONFLICTS_SHOWN = 10
_WAY_OUT = " Take other work (clearway next) or try again later."


@op(writes=True, group="crew", core=True, cli="claim")
def claim_paths(
    tx: Tx,
    paths: PlacedPaths,
    mode: PathMode = "edit",
    purpose: Purpose = "",
    ttl_seconds: PathSeconds = PATH_LEASE_SECONDS,
    force: Force = False,
) -> dict[str, Any]:
    """Take a lease on files or directories before changing them; all or nothing.

    A file you edit is claimed by itself; claim what you will need next.

    mode: edit excludes everybody else, run only edits.
    force: allow a home or a folder above the repository.
    """
    wide = next((place for place in paths if place.wide), None)
    if wide is not None and not force:
        raise Refusal(
            "PATH_TOO_WIDE",
            f"{folded(wide.shown, 120)} takes in more than a repository; claim what you will change, or pass force.",
            path=wide.shown,
        )
    granted = take(tx, paths, mode=mode, purpose=purpose, lease_ms=ttl_seconds * 1_000, auto=False)
    return {
        "granted": [
            {"path": lease["path"], "fence": lease["fence"], "expires_at": tx.iso(lease["expires_at"])}
            for lease in granted
        ]
    }


@op(writes=True, group="crew", core=True, cli="release")
def release_paths(tx: Tx, paths: PlacedPaths | None = None) -> dict[str, Any]:
    """Give back paths you hold; all of them when none is named."""
    if paths is None:
        return {"released": lapse.release(tx, tx.all(SQL.mine, session=tx.caller.key), "release")}
    freed: list[Row] = []
    for place in paths:
        found = tx.all(SQL.mine_within, session=tx.caller.key, checkout=place.checkout, **_span(place.key))
        foreign = [] if found else conflicting(tx, place, "edit")
        if foreign:
            holder = foreign[0]
            raise Refusal(
                "NOT_YOURS",
                f"{folded(place.shown, 120)} is held by {holder.agent}; only its holder or the human can release it.",
                path=place.shown,
                agent=holder.agent,
            )
        freed += [lease for lease in found if lease.id not in {known.id for known in freed}]
    return {"released": lapse.release(tx, freed, "release")}


@op(group="crew", cli="owner")
def path_owner(tx: Tx, path: Placed) -> dict[str, Any]:
    """See who holds a path, what for, and until when."""
    holders = covering(tx, path) or conflicting(tx, path, "edit")
    if not holders:
        return {"path": path.shown, "free": True}
    return {"path": path.shown, "free": False, **_conflict(tx, holders[0], with_path=False)}


def take(tx: Tx, places: list[Place], *, mode: str, purpose: str, lease_ms: int, auto: bool) -> list[dict[str, Any]]:
    """Lease every place or none. Refuses PATH_HELD naming every foreign lease in the way."""
    in_the_way = [(place, lease) for place in places for lease in conflicting(tx, place, mode)]
    if in_the_way:
        raise held(tx, in_the_way)
    attempt = tx.one(SQL.current_attempt, session=tx.caller.key)
    granted: list[dict[str, Any]] = []
    for place in places:
        if auto and (place.wide or covering(tx, place, mode)):
            continue  # nobody comes to hold the whole disk by touching something
        granted.append(
            _grant(tx, place, mode, purpose, lease_ms, auto=auto, attempt=None if attempt is None else attempt.id)
        )
    if granted:
        facts = [{name: lease[name] for name in ("path", "checkout", "fence")} for lease in granted]
        tx.tell("paths_claimed", mode=mode, auto=auto, purpose=purpose, paths=facts)
    return granted


def conflicting(tx: Tx, place: Place, mode: str) -> list[Row]:
    """Live leases of others that a lease of `mode` on this place would meet, the widest first."""
    return tx.all(
        SQL.conflicting,
        checkout=place.checkout,
        above=wire.dumps(paths.above(place.key)),
        below_from=paths.below(place.key)[0],
        below_to=paths.below(place.key)[1],
        session=tx.caller.key,
        agent=tx.caller.agent,
        named=int(tx.caller.named),
        mode=mode,
        gone=lapse.gone(tx)[0],
    )


def covering(tx: Tx, place: Place, mode: str = "run") -> list[Row]:
    """Live leases under which the caller may already act here: its own, and what its name holds without a session."""
    return tx.all(
        SQL.covering,
        checkout=place.checkout,
        above=wire.dumps(paths.above(place.key)),
        session=tx.caller.key,
        agent=tx.caller.agent,
        mode=mode,
        gone=lapse.gone(tx)[0],
    )


def held(tx: Tx, in_the_way: list[tuple[Place, Row]]) -> Refusal:
    """The refusal that an agent reads: one line with path, holder, what it does, until when, and what to do instead.

    The paths give way when room is short, from the left: holder and time are never cut.
    """
    place, lease = in_the_way[0]
    purpose = f" for {quoted(lease.purpose, 32)}" if lease.purpose else ""
    running = " (running)" if lease.mode == "run" else ""
    more = len({other.shown for other, _ in in_the_way}) - 1
    said = f"held by {lease.agent}{running}{purpose} until {clock.local_time(tx.at(lease.expires_at))}."
    others = f" and {more} more" if more else ""
    room = REFUSAL_BYTES_MAX - len(f"PATH_HELD: {others} is {said}{_WAY_OUT}".encode()) - 1
    return Refusal(
        "PATH_HELD",
        f"{_asked_and_held(place.shown, lease.shown, room)}{others} is {said}{_WAY_OUT}",
        path=place.shown,
        conflicts=[_conflict(tx, row) for _, row in in_the_way[:CONFLICTS_SHOWN]],
    )


def end_turn(tx: Tx, thread: str) -> list[str]:
    """What a thread took by editing goes at the end of its turn; what was claimed explicitly stays."""
    return lapse.release(tx, tx.all(SQL.auto_of_thread, session=tx.caller.key, thread=thread), "turn_ended")


def _grant(
    tx: Tx, place: Place, mode: str, purpose: str, lease_ms: int, *, auto: bool, attempt: str | None
) -> dict[str, Any]:
    fence = tx.new_fence()
    expires_at = tx.now + lease_ms
    tx.change(SQL.see_checkout, id=place.checkout, host=tx.caller.host, root=place.root, now=tx.now)
    tx.change(
        SQL.grant,
        id=tx.new_id(),
        checkout=place.checkout,
        path=place.key,
        shown=place.shown,
        mode=mode,
        session=tx.caller.key,
        agent=tx.caller.agent,
        named=int(tx.caller.named),
        thread=tx.caller.thread,
        auto=int(auto),
        attempt=attempt,
        purpose=purpose,
        fence=fence,
        lease_ms=lease_ms,
        now=tx.now,
        expires_at=expires_at,
    )
    return {"path": place.shown, "checkout": place.checkout, "fence": fence, "expires_at": expires_at}


def _conflict(tx: Tx, lease: Row, *, with_path: bool = True) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": lease.shown} if with_path else {}
    shown |= {"agent": lease.agent, "session": lease.session}
    shown |= {"purpose": folded(lease.purpose, 120)} if lease.purpose else {}
    return shown | {"mode": lease.mode, "until": tx.iso(lease.expires_at)}


def _asked_and_held(asked: str, has: str, room: int) -> str:
    """The path that was asked for, and the lease that covers it when that is another, in so many bytes."""
    if asked == has:
        return ending(asked, room)
    by = f" (by a lease on {ending(has, room // 3)})"
    return ending(asked, room - len(by.encode())) + by


def _span(key: str) -> dict[str, str]:
    low, high = paths.below(key)
    return {"path": key, "below_from": low, "below_to": high}
