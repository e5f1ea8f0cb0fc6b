"""What becomes of held files around a call: copies of one's own, and a look at those of others before and after.

A session copies what it holds only while there is somebody from whom it could need protection. All of it comes after
the answer to the one question that can be refused, and nothing here refuses, blocks or fails a call: what cannot be
read or kept is left out, said in one line and counted.
"""

from __future__ import annotations

import os

from clearway import paths, repository
from clearway.errors import Refusal
from clearway.guard import snapshots
from clearway.guard.snapshots import Store, Taken
from clearway.limits import COPIED_PER_CALL_MAX, WATCHED_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.db import Row
    from clearway.db.tx import Tx
    from clearway.guard.snapshots import Seen
    from clearway.opencalls import OpenCall
    from clearway.repository import Place, Repository
    from clearway.room import Room
    from clearway.surfaces.moments import Visit

NOT_KEPT = "SNAPSHOT_NOT_KEPT"  # as it is counted


class Ground:
    """The checkout in which a call works, and its room."""

    __slots__ = ("checkout", "found", "key", "room", "store")

    def __init__(self, visit: Visit, found: Repository, room: Room, folder: str) -> None:
        self.found = found
        self.room = room
        self.checkout = repository.checkout_id(found, visit.rooms.clock)
        shown = os.path.relpath(folder, found.root).replace(os.sep, "/")
        self.key = paths.ROOT if shown in (".", "") else shown
        self.store = store_of(visit, room)


def store_of(visit: Visit, room: Room) -> Store:
    return Store(visit.rooms.settings.home, room.project, visit.rooms.clock.wall(), lambda: _lost(visit))


def _lost(visit: Visit) -> None:
    if not visit.decision.lost:
        visit.decision.warning += "clearway: a held file was not copied, its folder cannot be written\n"
        visit.decision.lost = NOT_KEPT


def ground(visit: Visit) -> Ground | None:
    """Where the call works; None outside of every repository."""
    folder, found = visit.workplace()
    return None if found is None else Ground(visit, found, visit.rooms.of_repository(found), folder)


# --- before a call ------------------------------------------------------------------------------------------------


def begin(visit: Visit, opened: OpenCall) -> bool:
    """The call may write what nobody can read from it: remember what the disk says of others' files, and of one's own
    that somebody else has changed. Nothing is written where there is nothing of the kind. Whether the session has been
    told here what is new in its room."""
    here = ground(visit)
    if here is None:
        return False

    def look(tx: Tx) -> tuple[list[Row], list[Row], list[Row]]:
        visit.hear(here.room, tx)
        bare = snapshots.unwatched(tx, here.checkout, COPIED_PER_CALL_MAX)
        return bare, snapshots.foreign_names(tx, here.checkout, here.key), snapshots.own(tx, here.checkout)

    bare, foreign, own = here.room.run(look, caller=visit.caller, writes=False)
    if bare:  # leased while nobody had told of this session
        _copy(visit, here, bare)
        foreign = [*bare, *foreign][:WATCHED_MAX]
    root = here.found.root
    changed = [row for row in own if snapshots.look(os.path.join(root, row.shown)) != snapshots.was(row)]
    if foreign or changed:
        opened.watched = {
            "room": here.room.project,
            "checkout": here.checkout,
            "root": root,
            "foreign": snapshots.packed(foreign, root),
            "own": snapshots.packed(changed, root),
        }
        visit.calls.note(visit.key, opened)
    return here.room is visit.home


def first(visit: Visit, room: Room, places: list[Place]) -> list[Taken]:
    """Copies of files that are about to be leased, as they are now. Folders are left to whoever claims them by name."""
    files = [place for place in places if place.repository is not None and not os.path.isdir(place.absolute)]
    taken: list[Taken] = []
    quietly(visit, lambda: taken.extend(snapshots.copies(store_of(visit, room), files)))
    return taken


# --- after a call -------------------------------------------------------------------------------------------------


def edited(visit: Visit, targets: list[str]) -> None:
    """The session's own edit is over: this is how it leaves these files."""
    by_room: dict[int, tuple[Room, list[Place]]] = {}
    for path in targets[:WATCHED_MAX]:
        place = visit.rooms.locate(path, visit.caller.cwd)
        if place.repository is not None:
            room = visit.rooms.of_repository(place.repository)
            by_room.setdefault(id(room), (room, []))[1].append(place)
    for room, places in by_room.values():
        if room.run(snapshots.has_company, caller=visit.caller, writes=False):
            keep(visit, room, snapshots.copies(store_of(visit, room), places))


def ran(visit: Visit, ended: OpenCall | None) -> None:
    """A call of the session that may have written is over: whether it changed what others hold, and how it leaves
    what it holds itself."""
    here = ground(visit)
    if here is None:  # the client has gone elsewhere meanwhile, or the repository is no more
        if ended is not None and ended.watched is not None:
            _compare(visit, ended, None)
        return
    watched = None if ended is None else ended.watched

    def look(tx: Tx) -> tuple[bool, list[Row], list[Row]]:
        visit.hear(here.room, tx)
        company = snapshots.has_company(tx)
        own = snapshots.own(tx, here.checkout)
        return company, own, snapshots.own_leases(tx, here.checkout) if company else []

    company, own, held = here.room.run(look, caller=visit.caller, writes=False)
    if company or own:
        known = (
            snapshots.unpacked((watched or {}).get("own")) if (watched or {}).get("checkout") == here.checkout else {}
        )
        keep(visit, here.room, _own_changes(here, own, held, known))
    if ended is not None and (watched is not None or company):
        _compare(visit, ended, here)


def over(visit: Visit, calls: list[OpenCall]) -> None:
    """These calls are over without a word of their own: those in the background, and what was broken off."""
    for call in calls:
        if call.watched is not None and call.acts:
            quietly(visit, lambda call=call: _compare(visit, call, None, later=True))


def _compare(visit: Visit, ended: OpenCall, here: Ground | None, *, later: bool = False) -> None:
    """later: the session is told at its next hook, since this one may not be able to tell it anything."""
    from clearway.guard import leaks

    watched = ended.watched or {}
    root, checkout, project = (watched.get(name) for name in ("root", "checkout", "room"))
    if watched and isinstance(root, str) and isinstance(checkout, str):
        room = next((room for room in visit.all_rooms() if room.project == project), None)
    elif here is not None:
        root, checkout, room = here.found.root, here.checkout, here.room
    else:
        return
    if room is None:
        return
    before = snapshots.unpacked(watched.get("foreign"))
    key = paths.ROOT if here is None or here.checkout != checkout else here.key

    def look(tx: Tx) -> tuple[list[Row], int]:
        rows = {row.path: row for row in snapshots.foreign(tx, checkout, key)}
        rows |= {row.path: row for row in snapshots.at(tx, checkout, before.keys() - rows.keys())}
        mine = tx.caller.key
        return [row for row in rows.values() if row.session != mine], leaks.begun_at(tx, ended.at)

    rows, began_at = room.run(look, caller=visit.caller, writes=False)
    store = store_of(visit, room)
    changes = leaks.compare(
        root, rows, before, began_at, store, lambda row, path, seen: _by_trail(visit, row, path, seen)
    )
    if changes:
        told = room.run(lambda tx: leaks.judge(tx, checkout, changes, later=later), caller=visit.caller, durable=False)
        if not later:
            visit.decision.add(leaks.context(told, root, visit.caller.cwd))


def _by_trail(visit: Visit, row: Row, path: str, seen: Seen) -> bool:
    """Whether the holder's own hook saw it leave the file so."""
    return seen != snapshots.ABSENT and visit.trail.left(row.session, path) == seen[1]


def _own_changes(here: Ground, own: list[Row], held: list[Row], known: dict[str, Seen]) -> list[Taken]:
    """What the session holds and is not as its snapshot says. known: what was so already when its call began, and so
    is not its doing."""
    taken: list[Taken] = []
    rows = {row.path: row for row in own}
    names = {row.path: row.shown for row in own}
    for lease in held:
        place = os.path.join(here.found.root, lease.shown)
        if os.path.isdir(place):
            for shown in snapshots.below(place, lease.shown, WATCHED_MAX - len(names)):
                names.setdefault(repository.key_of(shown, here.found.root), shown)
        else:
            names.setdefault(lease.path, lease.shown)
    for key, shown in names.items():
        path = os.path.join(here.found.root, shown)
        now, row = snapshots.look(path), rows.get(key)
        if row is not None and (now == snapshots.was(row) or now[1] == row.noticed or now == known.get(key)):
            continue
        copy = here.store.keep(path)
        if copy is not None:
            taken.append(Taken(here.checkout, key, shown, copy))
    return taken


# --- when somebody comes ------------------------------------------------------------------------------------------


def arrived(visit: Visit) -> None:
    """The session is company from now on: what others hold here and nobody has copied yet is copied now."""
    here = ground(visit)
    if here is not None:
        rows = here.room.run(lambda tx: snapshots.unwatched(tx, here.checkout), caller=visit.caller, writes=False)
        _copy(visit, here, rows, prunes=True)


def _copy(visit: Visit, here: Ground, rows: list[Row], *, prunes: bool = False) -> None:
    """What is behind these leases, as it is now. prunes: part with what is old in any case, and not now and then."""
    root = here.found.root
    taken = [(row, snapshots.of_lease(here.store, here.checkout, root, row.path, row.shown)) for row in rows]

    def write(tx: Tx) -> None:
        for row, copied in taken:
            snapshots.write(tx, copied, holder=row, leased=[(here.checkout, row.path)])
        if prunes or any(snapshots.is_time_to_prune(each.copy.digest) for _, copied in taken for each in copied):
            snapshots.prune(tx, here.store)

    here.room.run(write, caller=visit.caller, durable=False)


# --- writing down --------------------------------------------------------------------------------------------------


def keep(visit: Visit, room: Room, taken: list[Taken]) -> None:
    """Write down how files were left."""
    if not taken:
        return
    store = store_of(visit, room)

    def write(tx: Tx) -> None:
        snapshots.write(tx, taken)
        if any(snapshots.is_time_to_prune(each.copy.digest) for each in taken):
            snapshots.prune(tx, store)

    room.run(write, caller=visit.caller, durable=False)


def quietly(visit: Visit, act: Callable[[], object]) -> object:
    """Nothing here may fail a call, not even a mistake of ours where the guard fails closed: what goes wrong is said in
    one line, and counted."""
    try:
        return act()
    except Refusal as refusal:
        why = refusal.code
    except Exception as error:
        why = type(error).__name__
    if not visit.decision.lost:
        visit.decision.warning += f"clearway: held files are not watched over now ({why})\n"
        visit.decision.lost = NOT_KEPT
    return None
