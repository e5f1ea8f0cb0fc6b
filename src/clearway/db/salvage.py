"""What can still be read of a damaged room goes into a sound one.

Each table is read as far as it goes, from both ends. A table that can be read whole replaces what the sound file has;
of a torn one, the readable rows are added to it, the newer ones winning. Leases are taken from the damaged file alone:
those of an older copy were given back long ago. Rows that then refer to nothing are left out.
"""

from __future__ import annotations

import apsw

from clearway.db.copies import FIND_AGAIN, columns, opened, tables, writable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_POSSESSION = ("path_lease",)
_ROUNDS_MAX = 20


class Salvage:
    """What became of it: the rows read, the tables that could not be read to the end, the rows that fitted nowhere."""

    __slots__ = ("left_out", "rows", "torn")

    def __init__(self) -> None:
        self.rows = 0
        self.left_out = 0
        self.torn: list[str] = []


def salvage(damaged: str, into: str) -> Salvage:
    """Read what can be read of `damaged` into the sound room in `into`."""
    done = Salvage()
    target = writable(into)
    try:
        names = [table for table in tables(target) if table not in ("schema_migration", "search_entry")]
        source = _source(damaged)
        if source is None:
            done.torn = names
            return done
        try:
            target.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")
            triggers = list(target.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))
            for name, _ in triggers:
                target.execute(f'DROP TRIGGER "{name}"')
            for table in names:
                _table(source, target, table, done)
            _leave_out_what_refers_to_nothing(target, done)
            for _, text in triggers:
                target.execute(text)
            target.execute(FIND_AGAIN)
            target.execute("COMMIT")
        finally:
            source.close()
    finally:
        target.close()
    return done


def _source(damaged: str) -> Any:
    try:
        return opened(damaged)
    except apsw.Error:
        return None


def _table(source: Any, target: Any, table: str, done: Salvage) -> None:
    try:
        here = set(columns(source, table))
    except apsw.Error:
        here = set[str]()
    shared = [name for name in columns(target, table) if name in here]
    whole = bool(shared) and _reads_whole(source, table, shared)
    if not whole:
        done.torn.append(table)
    if (whole and not _says_nothing(source, table)) or table.startswith(_POSSESSION):
        target.execute(f'DELETE FROM "{table}"')
    if not shared:
        return
    for order in ("ASC",) if whole else ("ASC", "DESC"):
        for row in _rows(source, table, shared, order):
            _insert(target, table, shared, row, done)


def _says_nothing(source: Any, table: str) -> bool:
    """The one row that says whose room it is must not be lost to a table that reads as empty."""
    return table == "room" and source.execute("SELECT count(*) FROM room").fetchone()[0] != 1


def _reads_whole(source: Any, table: str, names: list[str]) -> bool:
    try:
        for _ in source.execute(_reading(table, names, "ASC")):
            pass
        return True
    except apsw.Error:
        return False


def _rows(source: Any, table: str, names: list[str], order: str) -> Iterator[tuple[Any, ...]]:
    try:
        yield from source.execute(_reading(table, names, order))
    except apsw.Error:
        return  # as far as it goes


def _reading(table: str, names: list[str], order: str) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f'SELECT {listed} FROM "{table}" NOT INDEXED ORDER BY rowid {order}'


def _insert(target: Any, table: str, names: list[str], row: tuple[Any, ...], done: Salvage) -> None:
    listed = ", ".join(f'"{name}"' for name in names)
    places = ", ".join("?" for _ in names)
    try:
        target.execute(f'INSERT OR REPLACE INTO "{table}" ({listed}) VALUES ({places})', row)
        done.rows += 1
    except apsw.Error:
        done.left_out += 1  # a torn row breaks a rule of the schema


def _leave_out_what_refers_to_nothing(target: Any, done: Salvage) -> None:
    for _ in range(_ROUNDS_MAX):
        astray = list(target.execute("PRAGMA foreign_key_check"))
        if not astray:
            return
        for table, row, *_ in astray:
            target.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row,))
            done.left_out += 1
