"""Rooms for tests, without running the whole schema for each of thousands.

The first room of a run is made as any other, and so is every one whose maker is another process or whose migrations are
others. On PostgreSQL, what a test made is emptied when it is over and laid aside: that takes a tenth of making fifty
tables. The next room takes the schema under a new name. One that is not as migrations leave it any more, or whose
tables somebody still holds, is not used again. In SQLite, a new room is a copy of the first as it was when it was new.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql

from clearway.db import postgres, sqlite
from clearway.db.migrate import SQL as MIGRATION
from clearway.db.migrate import Migration
from clearway.db.postgres import SQL, PostgresEngine, PostgresSession
from clearway.db.sqlite import SqliteEngine, SqliteSession
from clearway.driver import apsw

_SHAPE = """
SELECT (SELECT string_agg(concat(relname, relkind, relnatts, relhastriggers, relchecks), ',' ORDER BY relname)
    FROM pg_class WHERE relnamespace = n.oid),
  (SELECT string_agg(concat(proname, md5(prosrc)), ',' ORDER BY proname) FROM pg_proc WHERE pronamespace = n.oid),
  (SELECT string_agg(concat(tgname, tgenabled), ',' ORDER BY tgname)
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = n.oid AND NOT tgisinternal)
FROM pg_namespace n WHERE nspname = %s
"""
# Few rows are deleted one by one; where there were many, the table is begun anew.
_EMPTY = """
DO $$
DECLARE
  each RECORD;
  gone BIGINT;
BEGIN
  SET LOCAL lock_timeout = 1000;
  SET LOCAL session_replication_role = replica;
  FOR each IN SELECT tablename AS name FROM pg_tables WHERE schemaname = '{schema}' AND tablename <> 'schema_migration'
  LOOP
    EXECUTE format('DELETE FROM %I.%I', '{schema}', each.name);
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone > 200 THEN
      EXECUTE format('TRUNCATE %I.%I CASCADE', '{schema}', each.name);
    END IF;
  END LOOP;
END $$
"""


def _print(migrations: list[Migration]) -> list[tuple[int, str, str]]:
    return [(each.version, each.name, each.checksum) for each in migrations]


# How the engines themselves make a room: for those who test that.
AS_EVER = ((PostgresEngine, "_create", PostgresEngine._create), (SqliteEngine, "_fill", SqliteEngine._fill))


class Spares:
    """The schemas of one server that wait to be used again."""

    def __init__(self) -> None:
        self._made: list[tuple[str, str]] = []
        self._spare: dict[str, list[str]] = {}
        self._like: dict[str, Any] = {}
        self._connections: dict[str, psycopg.Connection[Any]] = {}
        self._create = PostgresEngine._create
        self._usual = _print(postgres.migrations("postgres"))

    def install(self, patch: pytest.MonkeyPatch) -> None:
        spares = self

        def create(engine: PostgresEngine, session: PostgresSession, seed: dict[str, Any]) -> None:
            spares.create(engine, session, seed)

        patch.setattr(PostgresEngine, "_create", create)

    def create(self, engine: PostgresEngine, session: PostgresSession, seed: dict[str, Any]) -> None:
        """As the engine does it, or of a spare one."""
        is_usual = _print(postgres.migrations("postgres")) == self._usual
        if is_usual:
            self._made.append((engine._dsn, engine._schema))
        waiting = self._spare.get(engine._dsn)
        if not waiting or not is_usual:
            self._create(engine, session, seed)
            return
        rename = sql.SQL("ALTER SCHEMA {} RENAME TO {}")
        engine._live().execute(rename.format(sql.Identifier(waiting.pop()), sql.Identifier(engine._schema)))
        if not seed["test_clock"]:
            seed = {**seed, "room": session.rows(SQL.time, {})[0].now}
        session.change(MIGRATION.seed, seed)

    def lay_aside(self) -> None:
        """The test is over."""
        made, self._made = self._made, []
        for dsn, schema in made:
            try:
                connection = self._connections.get(dsn)
                if connection is None or connection.closed:
                    connection = self._connections[dsn] = psycopg.connect(dsn, autocommit=True)
                shape = connection.execute(_SHAPE, (schema,)).fetchone()
                history = connection.execute(
                    sql.SQL("SELECT version, name, checksum FROM {}.schema_migration").format(sql.Identifier(schema))
                ).fetchall()
                if (shape, history) != self._like.setdefault(dsn, (shape, history)):
                    continue
                connection.execute(_EMPTY.replace("{schema}", schema).encode())
            except (errors.LockNotAvailable, errors.UndefinedTable, errors.InsufficientPrivilege):
                continue  # in use, gone, or the server's user may not: the next one is made anew
            self._spare.setdefault(dsn, []).append(schema)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


class Mould:
    """A new room in a file, of which others are copies."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "mould.db"
        self._fill = SqliteEngine._fill
        self._usual = _print(sqlite.migrations("sqlite"))

    def install(self, patch: pytest.MonkeyPatch) -> None:
        mould = self

        def fill(engine: SqliteEngine, file: str, seed: dict[str, Any]) -> None:
            mould.fill(engine, file, seed)

        patch.setattr(SqliteEngine, "_fill", fill)

    def fill(self, engine: SqliteEngine, file: str, seed: dict[str, Any]) -> None:
        """As the engine does it, or from the mould."""
        if _print(sqlite.migrations("sqlite")) != self._usual:
            self._fill(engine, file, seed)
            return
        if not self._file.exists():
            self._file.touch()  # as the engine has one to fill
            self._fill(engine, str(self._file), seed)
            connection = apsw.Connection(str(self._file))
            connection.execute("DELETE FROM room")
            connection.close()
        shutil.copyfile(self._file, file)
        connection = apsw.Connection(file)
        try:
            connection.execute("BEGIN IMMEDIATE")
            SqliteSession(engine, connection).change(MIGRATION.seed, seed)
            connection.execute("COMMIT")
        finally:
            connection.close()
