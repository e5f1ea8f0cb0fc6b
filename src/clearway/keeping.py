"""Keeping rooms: the day's backup, a backup on demand, a restored room, and the mending of a damaged one.

A backup proves itself: it is opened and examined before it gets its name. Whatever a room is replaced by, the old file
stays beside it. A damaged room is mended by the first command that proves the damage, from the newest backup and from
what can still be read; hooks come here never. No backup holds a token or the machine's secret: no room does.
"""

from __future__ import annotations

import os

from clearway import clock as clocks
from clearway import platforms
from clearway.clock import Clock
from clearway.db import copies
from clearway.db.copies import Facts
from clearway.db.salvage import salvage
from clearway.db.sqlite import SqliteEngine
from clearway.db.turns import Turns
from clearway.errors import Refusal
from clearway.limits import BACKUPS_KEPT, COMMAND_LOCK_WAIT_MS
from clearway.room import Room, beginning, was_room

# --- backups --------------------------------------------------------------------------------------------------------


def backup_folder(file: str) -> str:
    """Where the backups of the room in `file` are."""
    return os.path.join(os.path.dirname(file), "backups")


def backups(file: str) -> list[str]:
    """The backups of the room in `file`, the newest first."""
    try:
        found = [entry for entry in os.scandir(backup_folder(file)) if entry.name.endswith(".db")]
        return [entry.path for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns, reverse=True)]
    except OSError:
        return []


def daily(room: Room, file: str) -> None:
    """Write the day's backup, `file`, which nobody has yet. A full disk is no reason to refuse what was asked."""
    engine = room.engine
    if not isinstance(engine, SqliteEngine) or engine.read_only:
        return
    folder = os.path.dirname(file)
    try:
        here = copies.facts_of(engine.path)
        if here is None or not here.events:
            return
        platforms.make_private(folder)
        _write(room, file, examined=False)
        day = os.path.basename(file).partition("-")[0]
        days = [name for name in sorted(os.listdir(folder)) if name.startswith(f"{day}-") and name.endswith(".db")]
        for old in days[:-BACKUPS_KEPT]:
            os.unlink(os.path.join(folder, old))
    except (OSError, Refusal):
        pass  # doctor says how old the newest one is


def back_up(room: Room, output: str) -> Facts:
    """Write a backup of a room to a new file, while others read and write. What is in it."""
    output = os.path.abspath(output)
    if os.path.lexists(output):
        same = os.path.exists(room.engine.path) and os.path.samefile(output, room.engine.path)
        what = "is the room itself" if same else "is there already"
        raise Refusal("INVALID_ARGUMENT", f"{output} {what}; name a new file.")
    if not os.path.isdir(os.path.dirname(output)):
        raise Refusal("PATH_INVALID", f"There is no folder {os.path.dirname(output)}.")
    found = _write(room, output)
    if found is None:
        raise Refusal("INVALID_ARGUMENT", f"{output} was made by another meanwhile; name a new file.")
    return found


def _write(room: Room, output: str, *, examined: bool = True) -> Facts | None:
    """The copy has another name until it is proved. None when another took its name meanwhile."""
    aside = f"{output}.{room.clock.new_id()}.part"
    try:
        room.engine.copy_to(aside)
        found = copies.examine(aside) if examined else copies.facts_of(aside)
        if found is None or found.project != room.project:
            raise Refusal("STORAGE_CORRUPT", "The copy cannot be read again; the backup was removed.")
        copies.sync(aside)
        if not platforms.put_in_place(aside, output):
            return None
        copies.sync_folder(os.path.dirname(output))
        return found
    except OSError as error:
        raise Refusal("STORAGE_FAILURE", f"{output} cannot be written: {error.strerror}.") from error
    finally:
        copies.remove(aside)


# --- replacing a room -----------------------------------------------------------------------------------------------


class _turn:
    """The turn of a room's writers and makers: nobody begins to write a file that is being exchanged."""

    def __init__(self, file: str, wait_ms: int) -> None:
        self._turns = Turns(file + "-turn")
        self._wait_ms = wait_ms

    def __enter__(self) -> None:
        if not self._turns.take(self._wait_ms):
            raise Refusal("STORAGE_BUSY", "The room is busy with another writer; try again.")

    def __exit__(self, *_: object) -> None:
        self._turns.leave()
        self._turns.close()


def restore(file: str, backup: str, project: str, clock: Clock, *, force: bool) -> tuple[Facts, str]:
    """Put a backup in the place of a room that is missing, older or, with `force`, newer. What is in it, and where the
    room that was there is kept now."""
    found = copies.examine(backup)
    if found.project != project:
        raise Refusal("PROJECT_DATABASE_MISMATCH", f"{backup} belongs to another project; nothing was changed.")
    if os.path.exists(file) and os.path.samefile(file, backup):
        raise Refusal("INVALID_ARGUMENT", f"{backup} is the room itself; nothing was changed.")
    platforms.make_private(os.path.dirname(file))
    aside = f"{file}.{clock.new_id()}.new"
    with _turn(file, COMMAND_LOCK_WAIT_MS):
        old = copies.facts_of(file) if os.path.exists(file) else None
        if old is not None and old.events > found.events and not force:
            raise Refusal(
                "PROJECT_ALREADY_INITIALIZED",
                f"The room has newer work than this backup (event {old.events}, the backup ends at {found.events}); "
                "--force restores it and keeps the room aside.",
            )
        try:
            _take(backup, aside)
            copies.continue_after(aside, [old])
            copies.sync(aside)
            kept = copies.exchange(file, aside, f"replaced-{_stamp(clock)}")
        finally:
            copies.remove(aside)
    return found, kept


def project_in(backup: str) -> str:
    """Whose room a backup holds. Refuses what is no sound backup."""
    if not os.path.isfile(backup):
        raise Refusal("PATH_INVALID", f"There is no file {backup}.")
    return copies.examine(backup).project


def move_aside(file: str, clock: Clock, why: str) -> str:
    """Take a room's name away from a file that is not to be asked any more. Its name then, empty if there was none."""
    if not os.path.exists(file):
        return ""
    with _turn(file, COMMAND_LOCK_WAIT_MS):
        return copies.step_aside(file, f"{why}-{_stamp(clock)}")


def mend(file: str, project: str, clock: Clock, wait_ms: int) -> str | None:
    """Mend a room that is proved to be damaged, or gone beside what is left of it. What was done and what is lost, in
    one sentence; None when there is nothing to mend."""
    aside = f"{file}.{clock.new_id()}.new"
    with _turn(file, wait_ms):
        is_gone = not os.path.exists(file)
        if not is_gone and not copies.is_damaged(file):
            return None
        damaged = _leftover(file) if is_gone else file
        newest = next((backup for backup in backups(file) if _serves(backup, project)), None)
        if is_gone and damaged is None and newest is None:
            return None
        try:
            if newest is not None:
                _take(newest, aside)
            else:
                _begin(aside, project, clock)
            told = _mended(aside, damaged, newest)
            copies.examine(aside)
            copies.sync(aside)
            kept = copies.exchange(file, aside, f"corrupt-{_stamp(clock)}")
        finally:
            copies.remove(aside)
    where = f"{file} was damaged and is now {kept}" if kept else f"{file} was gone"
    return f"{where}; {told}"


def _mended(aside: str, damaged: str | None, newest: str | None) -> str:
    """Add to the copy what can be read of the damaged file. What it has now, and what it lacks."""
    before = copies.facts_of(aside)
    assert before is not None
    base = "an empty room was begun" if newest is None else f"the backup {os.path.basename(newest)} was restored"
    if damaged is None:
        copies.continue_after(aside, [])
        return f"{base}, and what was written after it is lost."
    old = copies.facts_of(damaged)
    done = salvage(damaged, aside)
    copies.continue_after(aside, [old])
    after = copies.facts_of(aside)
    assert after is not None
    read = f"{base} and {max(0, after.events - before.events)} newer events were read from the damaged file"
    if not done.torn and not done.left_out:
        return f"{read}; nothing is lost."
    what = f"what stood in {', '.join(done.torn)} and could not be read" if done.torn else "nothing whole"
    more = f"; {done.left_out} rows that no longer fit were left out" if done.left_out else ""
    return f"{read}; lost is {what}{more}."


def _serves(backup: str, project: str) -> bool:
    try:
        return copies.examine(backup).project == project
    except Refusal:
        return False


def _begin(aside: str, project: str, clock: Clock) -> None:
    engine = SqliteEngine(aside, clock, lock_wait_ms=0)
    engine.migrate(beginning(project, clock), upgrade=False)
    engine.close()


def _take(backup: str, aside: str) -> None:
    descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with open(backup, "rb") as source, open(descriptor, "wb") as target:
        while block := source.read(1_048_576):
            target.write(block)


def _leftover(file: str) -> str | None:
    """The newest file that once was this room and was moved aside."""
    room = os.path.basename(file)
    found = [entry for entry in os.scandir(os.path.dirname(file)) if was_room(entry.name, room) and entry.is_file()]
    newest = max(found, key=lambda entry: entry.stat().st_ctime_ns, default=None)
    return None if newest is None else newest.path


def _stamp(clock: Clock) -> str:
    return clocks.iso(clock.wall()).replace(":", "").replace("-", "")
