"""Files that hold a whole room: what is in one, whether it is sound, and how it takes the place of another.

A backup is such a file, and so is what a damaged room is mended from. Nothing here decides; keeping.py does.
"""

from __future__ import annotations

import os

import apsw

from clearway import platforms
from clearway.clock import Clock
from clearway.db.migrate import SCHEMA
from clearway.db.sqlite import APPLICATION, SqliteEngine, address_of
from clearway.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_BESIDE = ("", "-wal", "-shm")
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%' ORDER BY rowid"
_DERIVED = ("search_entry", "schema_migration")  # made by triggers from the rest, or by the making of the file
# What can be found is what there is at the end, whatever came in which order; the triggers write the index.
FIND_AGAIN = """
INSERT INTO search_words (search_words) VALUES ('delete-all'); DELETE FROM search_entry;
INSERT INTO search_entry (number, type, entity, issue)
SELECT row_number() OVER (ORDER BY created_wall, entity), type, entity, issue FROM search_source
"""
# Where numbers stand that were given out (setup/upkeep.sql looks there as well).
_EVENTS = ("event.id", "message.id", "decision.event", "review_request.event", "keyframe.event")
_FENCES = ("attempt.fence", "path_lease.fence", "task_lease.fence", "worker_start.fence")
_FACTS = "SELECT project_id, test_clock, last_event, last_issue, last_fence, anchor_wall FROM room"


class Facts:
    """What a file says about the room in it."""

    __slots__ = ("events", "fences", "issues", "project", "schema", "test_clock", "wall")

    def __init__(self, schema: int, row: tuple[Any, ...]) -> None:
        self.schema = schema
        self.project, self.test_clock, self.events, self.issues, self.fences, self.wall = row


def examine(file: str) -> Facts:
    """The facts of a sound room. STORAGE_CORRUPT for a damaged one, STORAGE_MIGRATION for one that is newer than us."""
    try:
        connection = opened(file)
        try:
            faults = _faults(connection)
            if faults:
                raise Refusal("STORAGE_CORRUPT", f"{file} is damaged: {faults[0]}.")
            return _facts(connection, file)
        finally:
            connection.close()
    except (apsw.Error, OSError) as error:
        raise Refusal("STORAGE_CORRUPT", f"{file} is not a room of Clearway that can be read.") from error


def facts_of(file: str) -> Facts | None:
    """The facts of a room that may be damaged, as far as they can be read."""
    try:
        connection = opened(file)
        try:
            return _facts(connection, file)
        finally:
            connection.close()
    except (apsw.Error, OSError, Refusal):
        return None


def is_damaged(file: str) -> bool:
    """Whether a file is damaged, looked at twice: an error of the disk that passes is no damage."""
    return all(_looks_damaged(file) for _ in range(2))


def opened(file: str) -> Any:
    """A connection that changes nothing, whether or not there is a write-ahead log without its index."""
    connection = _readable(address_of(file, "mode=ro"))
    try:
        connection.pragma("schema_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        connection = _readable(address_of(file, "mode=ro&vfs=unix-none"))
        connection.pragma("locking_mode", "exclusive")
    except BaseException:
        connection.close()
        raise
    return connection


def _readable(address: str) -> Any:
    return apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def writable(file: str) -> Any:
    return apsw.Connection(file, flags=apsw.SQLITE_OPEN_READWRITE)


def tables(connection: Any) -> list[str]:
    """The tables of our own, in the order in which they refer to each other."""
    return [row[0] for row in connection.execute(_TABLES)]


def columns(connection: Any, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def fill(
    file: str, seed: dict[str, Any], clock: Clock, contents: Iterable[tuple[str, Iterator[dict[str, Any]]]]
) -> None:
    """Make a room from the rows of another engine. seed: its first row, which `contents` replaces."""
    engine = SqliteEngine(file, clock, lock_wait_ms=0)
    engine.migrate(seed, upgrade=False)
    engine.close()
    os.unlink(file + "-turn")
    connection = writable(file)
    try:
        connection.execute("BEGIN IMMEDIATE; DELETE FROM room")
        known = set(tables(connection))
        for table, rows in contents:
            if table not in known or table in _DERIVED:
                continue
            for row in rows:
                names = ", ".join(f'"{name}"' for name in row)
                places = ", ".join(f":{name}" for name in row)
                connection.execute(f'INSERT INTO "{table}" ({names}) VALUES ({places})', row)
        connection.execute(FIND_AGAIN)
        connection.execute("COMMIT")
    finally:
        connection.close()


def continue_after(file: str, others: Iterable[Facts | None]) -> None:
    """Numbers that may have been given out since this copy was made are not given out again."""
    found = [other for other in others if other is not None]
    connection = writable(file)
    try:
        known = {"fence": max((o.fences for o in found), default=0), "issue": max((o.issues for o in found), default=0)}
        connection.execute(
            f"UPDATE room SET last_event = {_last(_EVENTS)},"
            " last_issue = max(last_issue, :issue, (SELECT coalesce(max(number), 0) FROM issue)),"
            f" last_fence = max(last_fence, :fence, {_last(_FENCES)}) + 1000",
            known,
        )
    finally:
        connection.close()


def _last(columns: tuple[str, ...]) -> str:
    """The highest number in these columns. Of a damaged file one table may know more than another."""
    each = (column.partition(".") for column in columns)
    return f"max(0, {', '.join(f'(SELECT coalesce(max({name}), 0) FROM {table})' for table, _, name in each)})"


def exchange(file: str, new: str, mark: str) -> str:
    """Give a finished file the name of a room; what had it before is kept beside it. The name it has then, or empty.

    Only for one who has the turn of the room's writers: makers and writers wait for that, and notice the new file.
    """
    kept = step_aside(file, mark)
    if not platforms.put_in_place(new, file):
        raise Refusal("STORAGE_BUSY", f"Another room took the name {file} meanwhile; try again.")
    sync_folder(os.path.dirname(file))
    return kept


def step_aside(file: str, mark: str) -> str:
    """Rename a room's file. Its log goes with it: a log of one database beside another would be applied to it."""
    kept, number = f"{file}.{mark}", 1
    while os.path.exists(kept):
        number += 1
        kept = f"{file}.{mark}-{number}"
    was_there = os.path.exists(file)
    for suffix in _BESIDE:
        if os.path.exists(file + suffix):
            os.rename(file + suffix, kept + suffix)
    return kept if was_there else ""


def sync(file: str) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        platforms.full_sync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: str) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # a system on which a folder cannot be opened
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def remove(file: str) -> None:
    """Remove a file that was not finished, and what SQLite kept beside it."""
    for suffix in (*_BESIDE, "-turn", "-turn-line", "-journal"):
        if os.path.lexists(file + suffix):
            os.unlink(file + suffix)


def _looks_damaged(file: str) -> bool:
    if os.path.getsize(file) == 0:
        return True  # made, and never filled
    try:
        connection = opened(file)
        try:
            return bool(_faults(connection))
        finally:
            connection.close()
    except (apsw.CorruptError, apsw.NotADBError):
        return True
    except apsw.Error:
        return False


def _faults(connection: Any) -> list[str]:
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(10)")]
    if found != ["ok"]:
        return found
    return [f"a row of {row[0]} refers to nothing" for row in connection.execute("PRAGMA foreign_key_check")][:10]


def _facts(connection: Any, file: str) -> Facts:
    if connection.pragma("application_id") != APPLICATION:
        raise Refusal("STORAGE_CORRUPT", f"{file} is not a room of Clearway.")
    schema = connection.pragma("user_version")
    if schema > SCHEMA:
        raise Refusal(
            "STORAGE_MIGRATION",
            f"{file} was written by a newer Clearway (schema {schema}, this one knows {SCHEMA}); upgrade Clearway.",
        )
    row = connection.execute(_FACTS).fetchone()
    if row is None:
        raise Refusal("STORAGE_CORRUPT", f"{file} does not say whose room it is.")
    return Facts(schema, row)
