"""A room in one PostgreSQL schema, for teams on several machines.

One writer at a time, as in SQLite: a transaction-scoped advisory lock of the room is taken first, so rules proved on
one engine hold on the other. Time is the server's. The driver is imported with this module, and this module only when
a room's address says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.numeric import Int8Dumper

from clearway.clock import Clock
from clearway.db import Row, Statement, as_rows, statements
from clearway.db.migrate import SCHEMA, check_history, check_usable, check_version, migrations, record
from clearway.db.migrate import SQL as MIGRATION
from clearway.errors import Refusal

SQL = statements(__file__)
_READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PATIENCE_MS = 1_000  # who waits less for a lock is a hook, and has no time for a server that does not answer
_OPTIONAL = b")s IS NULL"
_PREPARED_MAX = 500  # more than the house has statements
_NOT_DURABLE = "SET LOCAL synchronous_commit = off"


class PostgresSession:
    """One transaction on the schema."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection

    def rows(self, statement: Statement, values: dict[str, Any]) -> list[Row]:
        with _translated():
            cursor = self._execute(statement, values)
            return as_rows(tuple(column.name for column in cursor.description or ()), cursor.fetchall())

    def change(self, statement: Statement, values: dict[str, Any]) -> int:
        with _translated():
            return self._execute(statement, values).rowcount

    def change_each(self, statement: Statement, rows: list[dict[str, Any]]) -> None:
        with _translated():
            self._connection.cursor().executemany(statement.postgres, rows)

    def _execute(self, statement: Statement, values: dict[str, Any]) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run a statement, planned once for the connection. An optional filter, `:x IS NULL OR y = :x`, has no type
        that the server could plan it with: its values are written into the text."""
        text = statement.postgres
        if _OPTIONAL in text:
            return psycopg.ClientCursor(self._connection).execute(text, values)
        return self._connection.execute(text, values, prepare=True)

    def savepoint(self) -> None:
        with _translated():
            self._connection.execute("SAVEPOINT act")

    def undo(self) -> None:
        with _translated():
            self._connection.execute("ROLLBACK TO SAVEPOINT act")

    def commit(self) -> None:
        with _translated():
            self._connection.execute("COMMIT")

    def leave(self) -> None:
        """End a write that changed nothing."""
        self.rollback()

    def rollback(self) -> None:
        try:
            if not self._connection.closed:
                self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._connection.close()  # the server is gone, and with it the transaction


class PostgresEngine:
    """The schema of one room, used by one thread at a time."""

    name = "postgres"

    def __init__(self, dsn: str, schema: str, clock: Clock, *, lock_wait_ms: int) -> None:
        self.path = f"the PostgreSQL schema {schema}"
        self._dsn = dsn
        self._schema = schema
        self._clock = clock
        self._lock_wait_ms = lock_wait_ms
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def migrate(self, seed: dict[str, Any] | None, *, upgrade: bool) -> bool:
        """Open the schema, made from `seed` if it is not there. True when this call made it. A sound schema is opened
        without waiting for its writers."""
        if self._is_current(seed, upgrade=upgrade):
            return False
        session = self.begin(writes=True)
        try:
            made = not self._exists(session)
            if made:
                assert seed is not None
                self._create(session, seed)
            else:
                self._bring_forward(session)
            session.commit()
            return made
        except BaseException:
            session.rollback()
            raise

    def _is_current(self, seed: dict[str, Any] | None, *, upgrade: bool) -> bool:
        """Whether there is nothing to do. Refuses what can be neither used nor brought forward."""
        session = self.begin(writes=False)
        try:
            if not self._exists(session):
                if seed is None:
                    raise Refusal(
                        "PROJECT_NOT_FOUND", f"There is no room of this project at that address ({self.path})."
                    )
                return False
            applied = session.rows(MIGRATION.history, {})
        finally:
            session.rollback()
        version = max((row.version for row in applied), default=0)
        check_version(version, self.path)
        if upgrade:
            check_history(applied, self.name, self.path)
        elif version < SCHEMA:
            check_usable(version, self.name, self.path)
        return version == SCHEMA or not upgrade

    def begin(self, *, writes: bool, durable: bool = True, wait_ms: int | None = None) -> PostgresSession:
        """Begin a transaction. durable: its commit waits for the disk. wait_ms: how long for another writer, at most;
        else as long as this engine waits."""
        wait_ms = self._lock_wait_ms if wait_ms is None else wait_ms
        text = self._begin_write(durable=durable, wait_ms=wait_ms) if writes else _READ
        try:
            return self._begun(text)
        except Refusal:
            if self._connection is None or not self._connection.closed:
                raise
        return self._begun(text)  # the server ended an idle connection: nothing was asked on it yet

    def _begun(self, text: bytes) -> PostgresSession:
        session = PostgresSession(self._live())
        try:
            with _translated():
                self._live().execute(text)
        except BaseException:
            session.rollback()
            raise
        return session

    def _begin_write(self, *, durable: bool, wait_ms: int) -> bytes:
        """All that a write begins with, in one journey: the room's lock, how long to wait for it, what a commit waits
        for."""
        lock = f"SELECT pg_advisory_xact_lock(hashtextextended('{self._schema}', 0))"
        return f"BEGIN; SET LOCAL lock_timeout = {max(1, wait_ms)}; {lock}; {'' if durable else _NOT_DURABLE}".encode()

    def constraint(self, error: Exception) -> str | None:
        if isinstance(error, psycopg.errors.IntegrityError):
            return error.diag.constraint_name or str(error)
        return None

    def stamp(self) -> int:
        """A number that changes whenever somebody has told the log something: for those who wait."""
        session = self.begin(writes=False)
        try:
            return session.rows(SQL.stamp, {})[0].last_event
        finally:
            session.rollback()

    def version(self) -> None:
        """To know whether anything has changed costs as much as to ask."""

    def integrity(self, *, full: bool = False) -> list[str]:
        """A server looks after its own files."""
        return []

    def copy_to(self, file: str) -> None:
        """Write all that is committed now as a room in one SQLite file. `file` is new."""
        from clearway.db import copies

        session = self.begin(writes=False)
        try:
            row = session.rows(SQL.whose, {})[0]
            seed = {**row, "wall": 0, "boot": "", "monotonic": 0, "room": 0}
            names = [each.name for each in session.rows(SQL.tables, {"schema": self._schema})]
            copies.fill(file, seed, self._clock, ((name, self._contents(name)) for name in names))
        finally:
            session.rollback()

    def _contents(self, table: str) -> Generator[dict[str, Any]]:
        with _translated():
            cursor = self._live().cursor()
            cursor.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))
            names = [column.name for column in cursor.description or []]
            for row in cursor:
                yield dict(zip(names, row, strict=True))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _live(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            with _translated():
                in_a_hurry = self._lock_wait_ms < _PATIENCE_MS
                self._connection = psycopg.connect(
                    self._dsn,
                    autocommit=True,
                    connect_timeout=2 if in_a_hurry else 10,
                    tcp_user_timeout=3_000 if in_a_hurry else 30_000,
                )
                self._connection.prepared_max = _PREPARED_MAX
                self._connection.adapters.register_dumper(int, Int8Dumper)  # one plan, however large the number
                self._connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(self._schema)))
        return self._connection

    def _exists(self, session: PostgresSession) -> bool:
        return session.rows(SQL.exists, {"schema": self._schema})[0].present

    def _create(self, session: PostgresSession, seed: dict[str, Any]) -> None:
        connection = self._live()
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self._schema)))
        for migration in migrations(self.name):
            connection.execute(migration.text.encode())
            record(session, migration, seed["wall"])
        if not seed["test_clock"]:  # the server's time, not that of the machine that came first
            seed = {**seed, "room": session.rows(SQL.time, {})[0].now}
        session.change(MIGRATION.seed, seed)

    def _bring_forward(self, session: PostgresSession) -> None:
        applied = session.rows(MIGRATION.history, {})
        check_history(applied, self.name, self.path)
        for migration in migrations(self.name)[len(applied) :]:
            self._live().execute(migration.text.encode())
            record(session, migration, self._clock.wall())


@contextlib.contextmanager
def _translated() -> Generator[None]:
    """Turn what the driver says into refusals; a broken rule stays as it is, for `constraint`."""
    try:
        yield
    except psycopg.errors.IntegrityError:
        raise
    except psycopg.errors.LockNotAvailable as error:
        raise Refusal("STORAGE_BUSY", "The room is busy with another writer; try again.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise Refusal(
            "STORAGE_FAILURE",
            "The room's PostgreSQL server does not answer; nothing was changed. See that it runs and is reached, or "
            "give its new address: clearway init --database DSN.",
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise Refusal(
            "STORAGE_CONFIGURATION",
            "The PostgreSQL user of this address may not use the room; ask the server's owner for the right to.",
        ) from error
    except psycopg.ProgrammingError as error:
        if error.sqlstate is not None:
            raise  # a statement of ours is wrong
        raise Refusal("STORAGE_CONFIGURATION", "The address of the room's PostgreSQL server cannot be read.") from error
