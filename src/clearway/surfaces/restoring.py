"""`clearway restore`: bring a held file back as its holder left it, or only show that.

The room says what is kept and who may; the file is written here, in the caller's process, in one step, with the mode it
had. What stood there before is kept aside. Newer work of the holder is never written over, and a link at that place is
replaced, not followed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from clearway import platforms, repository
from clearway.errors import Refusal
from clearway.guard import leaks, snapshots
from clearway.guard.snapshots import Copy, Store
from clearway.trail import Trail
from clearway.untrusted import ending, folded

if TYPE_CHECKING:
    from clearway.config import Caller
    from clearway.db import Row
    from clearway.room import Room
    from clearway.rooms import Rooms


class Kept:
    """What is kept of one path."""

    def __init__(self, room: Room, store: Store, checkout: str, path: str, row: Row, content: bytes | None) -> None:
        self.room = room
        self.store = store
        self.checkout = checkout
        self.path = path
        self.row = row
        self.content = content  # None: there was no such file


def find(rooms: Rooms, caller: Caller, raw: str, folder: str) -> Kept:
    """What is kept of a path as somebody wrote it. SNAPSHOT_NOT_FOUND when it cannot be brought back, NOT_YOURS for
    those who neither hold it nor changed it."""
    for path in _meant(rooms, raw, folder):
        found = repository.holding(os.path.dirname(path))
        if found is None:
            continue
        room = rooms.of_repository(found)
        checkout = repository.checkout_id(found, rooms.clock)
        key = repository.key_of(os.path.relpath(path, found.root).replace(os.sep, "/"), found.root)
        row = room.run(
            lambda tx, checkout=checkout, key=key: leaks.find(tx, checkout, key), caller=caller, writes=False
        )
        if row is not None:
            store = Store(rooms.settings.home, room.project, rooms.clock.wall())
            _check_allowed(room, caller, checkout, row)
            return Kept(room, store, checkout, path, row, _content(store, row))
    raise Refusal("SNAPSHOT_NOT_FOUND", f"Nothing is kept of {ending(raw, 120)}: nobody held it when it changed.")


def restore(rooms: Rooms, caller: Caller, kept: Kept) -> dict[str, Any]:
    """Bring it back."""
    row, name = kept.row, ending(kept.row.shown, 120)
    now = kept.store.keep(kept.path, store=False)
    if _is_so(now, row, kept):
        _note(kept, caller, snapshots.look(kept.path))
        return {"path": row.shown, "changed": False, "holder": row.agent}
    _check_not_newer(rooms, caller, kept, now)
    aside = kept.store.put_aside(kept.path)
    try:
        _put_in_place(kept, rooms.clock.new_id())
    except OSError as error:
        why = f"{name} cannot be written ({error.strerror}); nothing was changed."
        raise Refusal("STORAGE_FAILURE", why) from error
    _note(kept, caller, snapshots.look(kept.path))
    return {"path": row.shown, "changed": True, "holder": row.agent, **({"replaced": aside} if aside else {})}


def _meant(rooms: Rooms, raw: str, folder: str) -> list[str]:
    """The path itself, with the folders above it resolved, then what it leads to: what stands there now may be a link
    that somebody put in the file's place."""
    whole = os.path.normpath(os.path.join(folder, os.path.expanduser(raw)))
    itself = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
    return list(dict.fromkeys((itself, rooms.locate(raw, folder).absolute)))


def _check_allowed(room: Room, caller: Caller, checkout: str, row: Row) -> None:
    if room.run(lambda tx: leaks.may_restore(tx, checkout, row), caller=caller, writes=False) is None:
        raise Refusal(
            "NOT_YOURS",
            f"What is kept of {ending(row.shown, 120)} is {folded(row.agent, 40)}'s; that agent, who changed the file "
            "since, or the human brings it back.",
            path=row.shown,
            agent=row.agent,
        )


def _content(store: Store, row: Row) -> bytes | None:
    if row.kept == snapshots.NO_FILE:
        return None
    content = store.content(row.digest) if row.kept == snapshots.CONTENT else None
    if content is None:
        why = "is too large to be kept" if row.size > snapshots.SNAPSHOT_BYTES_MAX else "is not kept any more"
        raise Refusal("SNAPSHOT_NOT_FOUND", f"What {folded(row.agent, 40)} left in {ending(row.shown, 120)} {why}.")
    return content


def _is_so(now: Copy | None, row: Row, kept: Kept) -> bool:
    if kept.content is None:
        return now is not None and now.kept == snapshots.NO_FILE
    return now is not None and now.kept != snapshots.NO_FILE and now.digest == row.digest


def _check_not_newer(rooms: Rooms, caller: Caller, kept: Kept, now: Copy | None) -> None:
    """Whoever changed a file undoes that change and no later one; nobody undoes what the holder wrote meanwhile."""
    row = kept.row
    seen = snapshots.look(kept.path)
    by_holder = Trail(rooms.settings.home).left(row.session, kept.path)
    if seen != snapshots.ABSENT and by_holder == seen[1]:
        raise Refusal("NOT_YOURS", f"{ending(row.shown, 120)} is newer work of its holder, {folded(row.agent, 40)}.")
    why = kept.room.run(lambda tx: leaks.may_restore(tx, kept.checkout, row), caller=caller, writes=False)
    if why == "changed":
        made = kept.room.run(lambda tx: leaks.made_by(tx, kept.checkout, row.path), caller=caller, writes=False)
        if made != ("" if now is None else now.digest):
            holder = folded(row.agent, 40)
            raise Refusal(
                "NOT_YOURS", f"{ending(row.shown, 120)} has changed since your call; its holder, {holder}, decides."
            )


def _put_in_place(kept: Kept, name: str) -> None:
    """Give the path its content in one step; of a file that was not there, take it away."""
    if kept.content is None:
        os.unlink(kept.path)
        return
    folder = os.path.dirname(kept.path)
    os.makedirs(folder, exist_ok=True)
    aside = os.path.join(folder, f".{name}.clearway")
    try:
        descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            left = memoryview(kept.content)
            while left:
                left = left[os.write(descriptor, left) :]
            platforms.full_sync(descriptor)
        finally:
            os.close(descriptor)
        os.chmod(aside, kept.row.mode)
        os.replace(aside, kept.path)
    except OSError:
        if os.path.lexists(aside):
            os.unlink(aside)
        raise


def _note(kept: Kept, caller: Caller, seen: tuple[int, int, int]) -> None:
    kept.room.run(lambda tx: leaks.restored(tx, kept.checkout, kept.row, seen), caller=caller)
