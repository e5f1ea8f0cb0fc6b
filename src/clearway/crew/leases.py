"""Leases on paths and named resources: claim, release, owner, and what the guard asks on every edit.

A claim is all or nothing. A lease on a directory covers what is below, and overlap is looked for both ways. Runs share
a path, an edit stands alone; a counted resource has several seats. What a named holder has is open to every session of
that name. Two sessions of one client exclude each other, and with `subagents = exclude` so do the threads of a session,
to all of which the main thread's leases stay open. Places arrive resolved: only a file with several names is looked for
on the disk here, because which names it has is true only now.
"""

from __future__ import annotations

import os

from clearway import clock, lapse, paths, policy, repository, wire
from clearway.crew import worktrees
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import HARD_LINK_LOOKS_MAX, REFUSAL_BYTES_MAX, RESOURCE_SEATS_MAX
from clearway.op import op
from clearway.untrusted import ending, folded, quoted, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from clearway.arguments import Force, PathMode, PathSeconds, Placed, PlacedPaths, Purpose
    from clearway.db.tx import Tx
    from clearway.repository import Place

SQL = statements(__file__)
CONFLICTS_SHOWN = 10
RUNNING = "running"
_CONFLICTS_READ = RESOURCE_SEATS_MAX + 1
_LEASE_SECONDS = "lease.path_seconds"
_BOTH_PATHS_BYTES = 60  # with less room only the path that was asked for is named
# Whoever reads it may have the tools, or the command line alone.
_WAY_OUT = " Take other work (claim_issue or clearway next), or wait."


@op(writes=True, group="crew", core=True, cli="claim", rare=("force",))
def claim_paths(
    tx: Tx,
    paths: PlacedPaths,
    mode: PathMode = "edit",
    purpose: Purpose = "",
    ttl_seconds: PathSeconds | None = None,
    force: Force = False,
) -> dict[str, Any]:
    """Take a lease on files or directories before changing them; all or nothing.

    Files you edit are claimed by themselves; claim what comes next, or a resource such as @port:3000.

    mode: edit excludes everybody else, run only edits.
    force: allow a home or a folder above the repository.
    """
    wide = next((place for place in paths if place.wide), None)
    if wide is not None and not force:
        raise Refusal(
            "PATH_TOO_WIDE",
            f"{ending(wide.shown, 120)} takes in more than a repository; claim what you will change, or pass force.",
            path=wide.shown,
        )
    lease_ms = (ttl_seconds or policy.seconds(tx, _LEASE_SECONDS)) * 1_000
    granted = take(tx, paths, mode=mode, purpose=purpose, lease_ms=lease_ms, auto=False)
    also = worktrees.elsewhere(tx, paths)
    worktrees.told(tx, also)
    return {
        "granted": [
            {"path": _named(tx, place), "fence": lease["fence"], "expires_at": tx.iso(lease["expires_at"])}
            for place, lease in zip(paths, granted, strict=True)
        ],
        **({"elsewhere": [worktrees.shown(tx, lease) for lease in also]} if also else {}),
    }


@op(writes=True, group="crew", core=True, cli="release", rare=("force",))
def release_paths(tx: Tx, paths: PlacedPaths | None = None, force: Force = False) -> dict[str, Any]:
    """Give back paths you hold; all of them when none is named.

    force: take them from their holders; for the human only.
    """
    if force:
        return {"released": _taken_away(tx, paths)}
    if paths is None:
        return {"released": lapse.release(tx, tx.all(SQL.mine, **_me(tx)), "release")}
    freed: dict[str, Row] = {}
    for place in paths:
        found = tx.all(SQL.mine_within, checkout=place.checkout, **_span(place.key), **_me(tx))
        foreign = [] if found else conflicting(tx, place, "edit")
        if foreign:
            holder = foreign[0]
            raise Refusal(
                "NOT_YOURS",
                f"{ending(_named(tx, place), 120)} is held by {holder.agent}; "
                "only its holder or the human can release it.",
                path=place.shown,
                agent=holder.agent,
            )
        freed |= {lease.id: lease for lease in found}
    return {"released": lapse.release(tx, [*freed.values()], "release")}


@op(group="crew", cli="owner")
def path_owner(tx: Tx, path: Placed) -> dict[str, Any]:
    """See who holds a path, what for, and until when."""
    holders = covering(tx, path) or conflicting(tx, path, "edit")
    if not holders:
        return {"path": _named(tx, path), "free": True}
    return {"path": _named(tx, path), "free": False, **_conflict(tx, holders[0], with_path=False)}


def take(
    tx: Tx, places: list[Place], *, mode: str, purpose: str, lease_ms: int, auto: bool, call: str = ""
) -> list[dict[str, Any]]:
    """Lease every place or none. Refuses PATH_HELD naming every foreign lease in the way. call: as for `take_run`."""
    check_free(tx, places, mode)
    wanted = places
    if auto:  # nobody comes to hold the whole disk by touching something
        wanted = [place for place in places if not place.wide and not covering(tx, place, mode, lasting=True)]
    return _grant_all(tx, wanted, mode=mode, purpose=purpose, lease_ms=lease_ms, auto=auto, call=call)


def take_run(tx: Tx, places: list[Place], call: str) -> list[dict[str, Any]]:
    """Hold what a call starts while it runs: others may run it too, nobody else may edit it. Refuses PATH_HELD.

    call: the client's name for that very call, with which `release_run` gives it back.
    """
    assert call
    check_free(tx, places, "run")
    lease_ms = policy.seconds(tx, _LEASE_SECONDS) * 1_000
    return _grant_all(tx, places, mode="run", purpose=RUNNING, lease_ms=lease_ms, auto=True, call=call)


def release_run(tx: Tx, call: str) -> list[str]:
    """The call has ended: what it held for its run is free."""
    return lapse.release(tx, tx.all(SQL.of_call, session=tx.caller.key, call=call), "run_ended")


def check_free(tx: Tx, places: list[Place], mode: str) -> None:
    """Refuse PATH_OTHER_CHECKOUT or PATH_HELD if the caller may not lease one of these places."""
    if mode == "edit":
        worktrees.check_bound(tx, places)
    in_the_way = [(place, lease) for place in places for lease in conflicting(tx, place, mode)]
    if in_the_way:
        raise held(tx, in_the_way)
    if mode == "edit" and policy.value(tx, "overlap") == "refuse":
        also = [(place, lease) for place in places for lease in worktrees.elsewhere(tx, [place])]
        if also:
            raise held(tx, also)


def conflicting(tx: Tx, place: Place, mode: str, *, limit: int = _CONFLICTS_READ) -> list[Row]:
    """Live leases of others that a lease of `mode` on this place would meet, the widest first."""
    who = _me(tx)
    found = tx.all(
        SQL.conflicting,
        checkout=place.checkout,
        above=wire.dumps(paths.above(place.key)),
        below_from=paths.below(place.key)[0],
        below_to=paths.below(place.key)[1],
        named=int(tx.caller.named),
        mode=mode,
        gone=lapse.gone(tx)[0],
        limit=limit,
        **who,
    )
    if place.checkout == paths.RESOURCES:
        seated = {(lease.session, lease.thread if lease.apart else "") for lease in found}
        if len(seated) < min([place.seats, *(lease.seats for lease in found)]):
            return []  # there is a seat left, by everybody's count
    return found or ([] if place.file is None else _other_names(tx, place.file, mode))


def covering(tx: Tx, place: Place, mode: str = "run", *, lasting: bool = False) -> list[Row]:
    """Live leases under which the caller may already act here: its own, and what its name holds without a session.

    lasting: only those that do not end with some other call.
    """
    return tx.all(
        SQL.covering,
        checkout=place.checkout,
        above=wire.dumps(paths.above(place.key)),
        mode=mode,
        lasting=int(lasting),
        gone=lapse.gone(tx)[0],
        **_me(tx),
    )


def blockers(tx: Tx, places: list[Place]) -> list[Row]:
    """For one who waits: the leases that keep the caller from editing, each with the milliseconds it has left as things
    are, and the process whose end would free it."""
    found = {lease.id: lease for place in places for lease in conflicting(tx, place, "edit")}
    known = [row for key in found if (row := tx.one(SQL.holder, id=key)) is not None]
    return [Row(**row, left_ms=max(0, lapse.path_until(tx, row) - tx.now)) for row in known]


def held(tx: Tx, in_the_way: list[tuple[Place, Row]]) -> Refusal:
    """The refusal that an agent reads: one line with path, holder, what it does, until when, and what to do instead.

    The paths give way when room is short, from the left: holder and time are never cut.
    """
    place, lease = in_the_way[0]
    purpose = f" for {quoted(within(lease.purpose, 40), 32)}" if lease.purpose else ""
    running = " (running)" if lease.mode == "run" else ""
    running += " in another worktree" if hasattr(lease, "branch") else ""
    running += lapse.said_in_flight(tx, lease.session)
    more = len({other.shown for other, _ in in_the_way}) - 1
    until = clock.local_time(tx.at(lapse.until(tx, lease)))
    said = f"held by {folded(lease.agent, 40)}{running}{purpose} until {until}."
    others = f" and {more} more" if more else ""
    room = REFUSAL_BYTES_MAX - len(f"PATH_HELD: {others} is {said}{_WAY_OUT}".encode()) - 1
    return Refusal(
        "PATH_HELD",
        f"{_asked_and_held(tx, place, lease.shown, room)}{others} is {said}{_WAY_OUT}",
        path=place.shown,
        conflicts=[_conflict(tx, row) for _, row in in_the_way[:CONFLICTS_SHOWN]],
    )


def end_turn(tx: Tx, thread: str, background: Collection[str] = ()) -> list[str]:
    """What a thread took by editing and running goes at the end of its turn; what was claimed explicitly stays.

    background: the calls of that thread which still run.
    """
    mine = tx.all(SQL.auto_of_thread, session=tx.caller.key, thread=thread)
    return lapse.release(tx, [lease for lease in mine if lease.call not in background or not lease.call], "turn_ended")


def _taken_away(tx: Tx, places: list[Place] | None) -> list[str]:
    """Everything that is held at, above or below these places, by anybody. The log says who took it, and from whom."""
    policy.only_the_human(tx, "takes paths away from others")
    if places is None:
        raise Refusal("INVALID_ARGUMENT", "release_paths: name the paths that are to be taken from their holders.")
    found = {
        lease.id: lease
        for place in places
        for lease in tx.all(
            SQL.at, checkout=place.checkout, above=wire.dumps(paths.above(place.key)), **_span(place.key)
        )
    }
    return lapse.release(tx, [*found.values()], "forced", forced_by=tx.caller.agent)


def _other_names(tx: Tx, file: tuple[int, int], mode: str) -> list[Row]:
    """Live leases of others that hold this very file under another name (a hard link), on this machine."""
    held_here = tx.all(
        SQL.of_others,
        host=tx.caller.host,
        named=int(tx.caller.named),
        mode=mode,
        gone=lapse.gone(tx)[0],
        limit=HARD_LINK_LOOKS_MAX,
        **_me(tx),
    )
    at = repository.under_another_name(file, [os.path.join(lease.root, lease.shown) for lease in held_here])
    return [] if at is None else [held_here[at]]


def _grant_all(
    tx: Tx, places: list[Place], *, mode: str, purpose: str, lease_ms: int, auto: bool, call: str = ""
) -> list[dict[str, Any]]:
    if not places:
        return []
    attempt = tx.one(SQL.current_attempt, session=tx.caller.key)
    for checkout, place in {place.checkout: place for place in places}.items():
        branch = "" if place.repository is None else repository.branch(place.root)
        root = "" if checkout == paths.RESOURCES else place.root
        tx.change(SQL.see_checkout, id=checkout, host=tx.caller.host, root=root, branch=branch, now=tx.now)
    facts: dict[str, Any] = {
        "mode": mode,
        "session": tx.caller.key,
        "thread": tx.caller.thread,
        "apart": _me(tx)["apart"],
        "auto": int(auto),
        "attempt": None if attempt is None else attempt.id,
        "purpose": purpose,
        "lease_ms": lease_ms,
        "expires_at": tx.now + lease_ms,
    }
    granted = [_grant(tx, place, facts, call) for place in places]
    told = [{name: lease[name] for name in ("path", "checkout", "fence", "key") if name in lease} for lease in granted]
    more: dict[str, Any] = {"thread": tx.caller.thread} if facts["apart"] else {}
    more |= {"call": call} if call else {}
    tx.tell("paths_claimed", mode=mode, auto=auto, purpose=purpose, paths=told, **more)
    return granted


def _grant(tx: Tx, place: Place, facts: dict[str, Any], call: str) -> dict[str, Any]:
    """Renew what the caller has here, else lease it anew."""
    fence = tx.new_fence()
    if call or not tx.change(
        SQL.renew, checkout=place.checkout, path=place.key, fence=fence, seats=place.seats, **facts
    ):
        tx.change(
            SQL.grant,
            id=tx.new_id(),
            checkout=place.checkout,
            path=place.key,
            shown=place.shown,
            agent=tx.caller.agent,
            named=int(tx.caller.named),
            call=call,
            seats=place.seats,
            fence=fence,
            now=tx.now,
            **facts,
        )
    if facts["mode"] == "edit" and place.checkout != paths.RESOURCES:
        last = {"session": facts["session"], "agent": tx.caller.agent, "fence": fence, "now": tx.now}
        tx.change(SQL.note_last, checkout=place.checkout, path=place.key, shown=place.shown, **last)
    told = {"path": place.shown, "checkout": place.checkout, "fence": fence, "expires_at": facts["expires_at"]}
    return told if place.key == place.shown else {**told, "key": place.key}


def _me(tx: Tx) -> dict[str, Any]:
    """Who the caller is to a lease. apart: whether the threads of one session are others to each other."""
    return {
        "session": tx.caller.key,
        "agent": tx.caller.agent,
        "thread": tx.caller.thread,
        "apart": int(policy.value(tx, "subagents") == "exclude"),
    }


def _conflict(tx: Tx, lease: Row, *, with_path: bool = True) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": lease.shown} if with_path else {}
    shown |= {"agent": lease.agent, "session": lease.session}
    shown |= {"purpose": folded(lease.purpose, 120)} if lease.purpose else {}
    return shown | {"mode": lease.mode, "until": tx.iso(lapse.until(tx, lease))}


def _asked_and_held(tx: Tx, place: Place, has: str, room: int) -> str:
    """The path that was asked for, and the lease at, above or below it when that is another path, in so many bytes."""
    asked = _named(tx, place)
    if place.shown == has or room < _BOTH_PATHS_BYTES:
        return ending(asked, room)
    held = ending(repository.seen_from(tx.caller.cwd, place, has), room // 3)
    by = f" (in it {held})" if paths.covers(place.shown, has) else f" (by a lease on {held})"
    return ending(asked, room - len(by.encode())) + by


def _named(tx: Tx, place: Place) -> str:
    """A place as the caller would name it."""
    return repository.seen_from(tx.caller.cwd, place, place.shown)


def _span(key: str) -> dict[str, str]:
    low, high = paths.below(key)
    return {"path": key, "below_from": low, "below_to": high}
