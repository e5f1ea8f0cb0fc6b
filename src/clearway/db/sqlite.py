"""A room in one SQLite file, reached through apsw's own current SQLite.

Writers take the file with BEGIN IMMEDIATE and wait for each other by a jittered retry of ours: SQLite's own back-off
has tails near a second. A new file is made aside and given its name when it is whole, so nobody ever sees half a room;
a file that takes the place of another (a restored or mended room) is noticed at the next transaction. Never import the
standard `sqlite3` in a process that uses this module: two SQLite libraries in one process drop each other's locks.
"""

from __future__ import annotations

import os

from clearway import platforms
from clearway.clock import Clock
from clearway.db import Row, Statement, as_rows
from clearway.db.migrate import SCHEMA, SQL, check_history, check_usable, check_version, migrations, record
from clearway.db.turns import Turns
from clearway.driver import apsw, left
from clearway.errors import Refusal
from clearway.limits import (
    HURRY_STEPS,
    HURRY_WAITED,
    MAKING_WAIT_MS,
    RETRY_MS_MAX,
    RETRY_MS_MIN,
    RETRY_WAITED_PART,
    WAL_PAGES_BEFORE_CHECKPOINT,
    WAL_PAGES_MAX,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn, Protocol, TypeVar

    from clearway.db.migrate import Migration

    Done = TypeVar("Done")

    class Together(Protocol):
        """What the threads of one process do for each other (surfaces/host_together.py)."""

        def take(self, room: str, wait_ms: int) -> bool: ...
        def leave(self, room: str) -> None: ...
        def sync(self, log: tuple[int, int], act: Callable[[], object]) -> None: ...
        def shorten(self, room: str) -> None: ...

    class _Cursor(Protocol):
        def execute(self, statements: str, bindings: Any = None) -> _Cursor: ...
        def fetchall(self) -> list[tuple[Any, ...]]: ...
        def fetchone(self) -> tuple[Any, ...] | None: ...
        def get_description(self) -> tuple[tuple[str, ...], ...]: ...
        def __iter__(self) -> Iterator[tuple[Any, ...]]: ...

    class _Connection(Protocol):
        """What we use of apsw.Connection; its own stubs name a type that Python 3.11 has not."""

        @property
        def in_transaction(self) -> bool: ...
        def cursor(self) -> _Cursor: ...
        def execute(self, statements: str, bindings: dict[str, Any] | tuple[str, ...] | None = None) -> _Cursor: ...
        def changes(self) -> int: ...
        def pragma(self, name: str, value: str | None = None) -> Any: ...
        def set_wal_hook(self, callable: Callable[[Any, str, int], int]) -> None: ...
        def set_progress_handler(self, callable: Callable[[], bool], nsteps: int) -> None: ...
        def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]: ...
        def config(self, op: int, *args: int) -> int: ...
        def close(self) -> None: ...


# "cway": lets `file` and ourselves tell a room from another database.
APPLICATION = 0x63776179
_SETTINGS = (
    "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA wal_autocheckpoint = 0; PRAGMA busy_timeout = 0; "
    "PRAGMA temp_store = MEMORY; PRAGMA synchronous = NORMAL"
)
_READ_WRITE = apsw.SQLITE_OPEN_READWRITE
# The index of a log is memory in a file: on a full disk, or past the limit of a process, making it is an I/O error.
_CANNOT_WRITE = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError)
_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


class SqliteSession:
    """One transaction on the file."""

    __slots__ = ("_connection", "_cursor", "_durable", "_engine")

    def __init__(
        self, engine: SqliteEngine, connection: _Connection, cursor: _Cursor | None = None, *, durable: bool = False
    ) -> None:
        self._engine = engine
        self._connection = connection
        self._cursor = cursor or connection.cursor()
        self._durable = durable

    def rows(self, statement: Statement, values: dict[str, Any]) -> list[Row]:
        try:
            cursor = self._cursor.execute(statement.sqlite, statement.bound(values))
            if statement.columns:
                return as_rows(statement.columns, cursor.fetchall())
            first = cursor.fetchone()
            if first is None:
                return []
            statement.columns = tuple(each[0] for each in cursor.get_description())
            return as_rows(statement.columns, (first, *cursor))
        except apsw.Error as error:
            _refuse(error, self._engine.path)

    def change(self, statement: Statement, values: dict[str, Any]) -> int:
        try:
            self._cursor.execute(statement.sqlite, statement.bound(values))
            return self._connection.changes()
        except apsw.Error as error:
            _refuse(error, self._engine.path)

    def change_each(self, statement: Statement, rows: list[dict[str, Any]]) -> None:
        for values in rows:
            self.change(statement, values)

    def savepoint(self) -> None:
        with _translated(self._engine.path):
            self._connection.execute("SAVEPOINT act")

    def undo(self) -> None:
        with _translated(self._engine.path):
            self._connection.execute("ROLLBACK TO act")

    def commit(self) -> None:
        try:
            self._cursor.execute("COMMIT")
        except apsw.Error as error:
            _refuse(error, self._engine.path)
        self._engine.committed()
        if self._durable:
            self._engine.reach_the_disk()

    def leave(self) -> None:
        """End a write that changed nothing. What it answers may be another's promise, not yet on the disk."""
        self.rollback()
        if self._durable:
            self._engine.reach_the_disk()

    def execute(self, text: str) -> None:
        """Run the text of a schema change."""
        with _translated(self._engine.path):
            for _ in self._connection.execute(text):
                pass

    def rollback(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error:
            self._engine.drop()  # what cannot be rolled back is closed, which does the same
        finally:
            self._engine.leave_turn()


class SqliteEngine:
    """The file of one room, opened by one thread at a time."""

    name = "sqlite"
    together: Together | None = None  # how threads of one process write in one room, where there are several

    def __init__(self, path: str, clock: Clock, *, lock_wait_ms: int) -> None:
        self.path = path
        self._clock = clock
        self._waiting = Clock()  # locks are waited for in real time, whatever time it is in the room
        self._lock_wait_ms = lock_wait_ms
        self._connection: _Connection | None = None
        self._cursor: _Cursor | None = None  # one for all its transactions
        self._log: int | None = None
        self._wal_pages = 0
        self._checkpoint_at = WAL_PAGES_BEFORE_CHECKPOINT
        self._identity = (0, 0)
        self._frozen = False  # what was opened does not see what others write
        self._hurry_ms = 0  # how long a transaction may take, once `hurry` was called
        self._until = self._worked = 0
        self._opened = self._commits = 0
        self._company: Together | None = None  # in which this engine has its turn
        self._log_file = (0, 0)
        self.turns = Turns(path + "-turn")
        self.read_only = False
        self._unwritable: apsw.Error | None = None  # why, when it is more than a file or folder that is closed to us

    def __del__(self) -> None:
        try:
            if self._log is not None:
                os.close(self._log)  # as in Turns: nobody else would
        except Exception:
            pass

    # --- opening ------------------------------------------------------------------------------------------------

    def migrate(self, seed: dict[str, Any] | None, *, upgrade: bool) -> bool:
        """Open the file, made from `seed` if it is not there. True when this call made it. Only with `upgrade` is an
        older schema brought forward; else it is used as it is if what it lacks was only added. A newer one is refused
        by all."""
        made = False
        if not os.path.exists(self.path):
            if seed is None:
                raise Refusal("PROJECT_NOT_FOUND", f"There is no room at {self.path}.")
            made = self._create(seed)
        version = self._open()
        check_version(version, self.path)
        if upgrade and not self.read_only:
            self._upgrade(version)
        elif version < SCHEMA:  # the number is a note; what was applied is what the history says
            pending = self._pending(self.begin(writes=False))
            check_usable(pending[0].version - 1 if pending else SCHEMA, self.name, self.path)
        return made

    def _create(self, seed: dict[str, Any]) -> bool:
        """One of those who come first makes the file; whoever is exchanging one for another is not disturbed."""
        folder = os.path.dirname(self.path)
        aside = f"{self.path}.{os.getpid()}-{self._clock.new_id()}.new"
        with _translated(self.path):
            platforms.make_private(folder)
            kind = platforms.network_file_system(os.path.realpath(folder))
            if kind:
                raise Refusal(
                    "STORAGE_CONFIGURATION",
                    f"{folder} is on a network file system ({kind}), where locks cannot be trusted; set CLEARWAY_HOME "
                    "to a local folder, or use a PostgreSQL room.",
                )
            if not self.turns.take(max(self._lock_wait_ms, MAKING_WAIT_MS)):
                raise apsw.BusyError("another maker had its turn all the time")
            try:
                if os.path.exists(self.path):
                    return False
                os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                self._fill(aside, seed)
                self._part_with_an_old_log()
                return platforms.put_in_place(aside, self.path)
            finally:
                self.turns.leave()
                for left in (aside, aside + "-wal", aside + "-shm"):
                    if os.path.exists(left):
                        os.unlink(left)

    def _part_with_an_old_log(self) -> None:
        """Somebody removed a room and left its log: beside a new room, it would be applied to that."""
        for suffix in ("-wal", "-shm"):
            if os.path.exists(self.path + suffix):
                os.replace(self.path + suffix, f"{self.path}.lost{suffix}")

    def _fill(self, file: str, seed: dict[str, Any]) -> None:
        connection = _opened(file, _READ_WRITE)
        try:
            self._use_write_ahead_log(connection)
            connection.execute("BEGIN IMMEDIATE")
            session = SqliteSession(self, connection)
            for migration in migrations(self.name):
                connection.execute(migration.text)
                record(session, migration, seed["wall"])
            session.change(SQL.seed, seed)
            connection.execute(f"PRAGMA user_version = {SCHEMA}; PRAGMA application_id = {APPLICATION}; COMMIT")
        finally:
            connection.close()

    def _use_write_ahead_log(self, connection: _Connection) -> None:
        mode = self._retry(lambda: connection.pragma("journal_mode", "wal"))
        if mode != "wal":
            raise Refusal("STORAGE_CONFIGURATION", f"{self.path} cannot use write-ahead logging (it stays {mode}).")

    def _open(self) -> int:
        with _translated(self.path):
            try:
                self._frozen = self.read_only = False
                version = self._connect(left(self.path, identity_of(self.path)) or _opened(self.path, _READ_WRITE))
                platforms.keep_private(self.path)  # not before it proved to be a room: it may be somebody else's file
                return version
            except _CANNOT_WRITE as error:
                if not os.path.exists(self.path):
                    raise
                self._unwritable = error if isinstance(error, (apsw.FullError, apsw.IOError)) else None
                return self._open_read_only()

    def _open_read_only(self) -> int:
        """A folder in which nothing can be written, and a disk that is full, still answer who holds what."""
        self.read_only = True
        try:
            return self._connect(_opened(address_of(self.path, "mode=ro"), _READ_ONLY))
        except _CANNOT_WRITE:
            pass
        self._frozen = True
        if os.path.exists(self.path + "-wal"):
            # The log cannot be indexed in a file beside it. An immutable database would be read without it, and miss
            # what was committed; without locks, and alone as it believes, SQLite indexes the log in its own memory.
            connection = _opened(address_of(self.path, "mode=ro&vfs=unix-none"), _READ_ONLY)
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            return self._connect(connection)
        return self._connect(_opened(address_of(self.path, "immutable=1"), _READ_ONLY))

    def _connect(self, connection: _Connection) -> int:
        self._identity = identity_of(self.path)
        try:
            # Without this a statement is prepared anew whenever a value that could sway its plan changes: a lookup
            # takes 9 us instead of 60.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            self._retry(lambda: _to_the_end(connection.execute(_SETTINGS)))
            connection.set_wal_hook(self._saw_wal)
            if self._hurry_ms:
                connection.set_progress_handler(self._is_too_late, HURRY_STEPS)
            # Each of these looks into the file, which another may be opening or closing as the only one.
            version = self._retry(lambda: connection.pragma("user_version"))
            if self._retry(lambda: connection.pragma("application_id")) != APPLICATION:
                raise Refusal(
                    "STORAGE_CORRUPT",
                    f"{self.path} is not a room of Clearway; move it away or restore a backup.",
                    file=self.path,
                )
            mode = "" if self.read_only else self._retry(lambda: connection.pragma("journal_mode"))
            if mode not in ("", "wal"):  # a copy that was put in its place
                self._use_write_ahead_log(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._cursor = connection, connection.cursor()
        self._opened += 1
        return int(version)

    def _upgrade(self, version: int) -> None:
        if self._pending(self.begin(writes=False)):
            self._back_up()
        elif version == SCHEMA:
            return
        session = self.begin(writes=True)
        try:
            for migration in self._pending(session, goes_on=True):  # another process may have been first
                session.execute(migration.text)
                record(session, migration, self._clock.wall())
            session.execute(f"PRAGMA user_version = {SCHEMA}")
            session.commit()
        except BaseException:
            session.rollback()
            raise

    def _pending(self, session: SqliteSession, *, goes_on: bool = False) -> list[Migration]:
        """What the room lacks, after a look at whether its history is a beginning of ours."""
        try:
            applied = list(session.rows(SQL.history, {}))
            check_history(applied, self.name, self.path)
        finally:
            if not goes_on:
                session.rollback()
        return migrations(self.name)[len(applied) :]

    def _back_up(self) -> None:
        folder = os.path.join(os.path.dirname(self.path), "backups")
        platforms.make_private(folder)
        self.copy_to(os.path.join(folder, f"before-schema-{SCHEMA}-{self._clock.new_id()}.db"))

    def copy_to(self, file: str) -> None:
        """Write a whole and compact copy of what is committed now, beside all readers and writers. `file` is new."""
        with _translated(self.path):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._current().execute("VACUUM INTO ?", (file,))

    # --- transactions -------------------------------------------------------------------------------------------

    def begin(self, *, writes: bool, durable: bool = True, wait_ms: int | None = None) -> SqliteSession:
        """Begin a transaction. durable: its commit waits for the disk. wait_ms: how long for another writer, at most;
        else as long as this engine waits."""
        if self._hurry_ms:
            self._until = self._waiting.monotonic() + HURRY_WAITED * self._hurry_ms
            self._worked = self._waiting.worked()
        try:
            if writes:
                wait_ms = self._lock_wait_ms if wait_ms is None else wait_ms
                return SqliteSession(self, self._begin_write(wait_ms), self._cursor, durable=durable)
            connection = self._current()
            self._retry(lambda: _begin_read(connection))
            return SqliteSession(self, connection, self._cursor)
        except (apsw.Error, OSError) as error:
            _refuse(error, self.path)

    def _begin_write(self, wait_ms: int) -> _Connection:
        began = self._waiting.monotonic()
        company = self.together
        if company is not None and not company.take(self.path, wait_ms):
            raise apsw.BusyError("another thread had its turn all the time")
        self._company = company
        try:
            if not self.turns.take(max(0, wait_ms - (self._waiting.monotonic() - began))):
                raise apsw.BusyError("another writer had its turn all the time")
            connection = self._current()
            if self.read_only:
                self.drop()  # perhaps it can be written again
                connection = self._live()
            if self.read_only:
                raise self._unwritable or apsw.ReadOnlyError("nothing can be written beside the file")
            try:
                connection.execute("BEGIN IMMEDIATE")
            except (apsw.BusyError, apsw.ProtocolError):  # a writer that knows nothing of turns
                self._retry(lambda: connection.execute("BEGIN IMMEDIATE"), began + wait_ms)
            return connection
        except BaseException:
            self.leave_turn()
            raise

    def leave_turn(self) -> None:
        """Let the next one write. Also for one who has not got so far."""
        self.turns.leave()
        company, self._company = self._company, None
        if company is not None:
            company.leave(self.path)

    def _current(self) -> _Connection:
        """The connection to the file that has this name now."""
        if self._connection is not None and (self._frozen or identity_of(self.path) != self._identity):
            self.drop()
        return self._live()

    def drop(self) -> None:
        """Close the file; the next transaction opens it again."""
        connection, self._connection, self._cursor = self._connection, None, None
        if self._log is not None:
            os.close(self._log)
            self._log = None
        self._wal_pages, self._checkpoint_at = 0, WAL_PAGES_BEFORE_CHECKPOINT
        if connection is not None:
            connection.close()

    def hurry(self, ms: int) -> None:
        """From now on nothing is waited for here, and a question that takes longer is broken off as STORAGE_BUSY:
        whoever asks has others to see to, and lets somebody else ask again."""
        self._lock_wait_ms, self._hurry_ms = 0, ms
        if self._connection is not None:
            self._connection.set_progress_handler(self._is_too_late, HURRY_STEPS)

    def _is_too_late(self) -> bool:
        """By the time it has worked: on a busy machine others work in between."""
        is_long = self._waiting.worked() - self._worked > 1_000 * self._hurry_ms
        return is_long or self._waiting.monotonic() > self._until

    def constraint(self, error: Exception) -> str | None:
        """The name of the rule that the database says was broken."""
        if not isinstance(error, apsw.ConstraintError):
            return None
        text = str(error)
        return {"UNIQUE constraint failed: attempt.issue": "attempt_live"}.get(text, text)

    def stamp(self) -> int:
        """A number that changes whenever somebody else has committed. A glance, not a question: for those who wait."""
        with _translated(self.path):
            return int(self._current().pragma("data_version"))

    def integrity(self, *, full: bool = False) -> list[str]:
        """What a check of the whole file finds wrong; nothing in a sound one. full: indexes are compared, too."""
        with _translated(self.path):
            connection = self._current()
            found = [str(row[0]) for row in connection.execute(f"PRAGMA {'integrity' if full else 'quick'}_check(10)")]
            astray = [f"a row of {row[0]} refers to a {row[2]} that is not there" for row in _astray(connection)]
        return [*([] if found == ["ok"] else found), *astray]

    def version(self) -> tuple[int, int, int]:
        """What is different after every change, others' and our own."""
        return self.stamp(), self._commits, self._opened

    def committed(self) -> None:
        self._commits += 1
        self.ended()

    def ended(self) -> None:
        """A write is over: let the next one in. Without a host, whichever writer sees a long write-ahead log shortens
        it: beside the next writers, or before them when they leave no gap in which the log could begin anew."""
        if self._wal_pages < self._checkpoint_at or self._connection is None:
            self.leave_turn()
        elif self._wal_pages < WAL_PAGES_MAX:
            self.leave_turn()
            if self.together is None:
                self._shorten()
            else:  # the answer need not wait for that
                self.together.shorten(self.path)
                self._checkpoint_at = self._wal_pages + WAL_PAGES_BEFORE_CHECKPOINT
        else:
            self._shorten()
            self.leave_turn()

    def reach_the_disk(self) -> None:
        """Wait until all that is committed is on the disk. SQLite would do so inside the commit, while every other
        writer waits; here the next one writes meanwhile, and one sync serves all that came before it
        (docs/why/the-disk-is-waited-for-outside.md)."""
        try:
            if self._log is None:
                self._log = os.open(self.path + "-wal", os.O_RDWR | os.O_CLOEXEC)
                facts = os.fstat(self._log)
                self._log_file = facts.st_dev, facts.st_ino
            log, together = self._log, self.together
            if together is None:
                platforms.sync_data(log)
            else:
                together.sync(self._log_file, lambda: platforms.sync_data(log))
        except (apsw.Error, OSError) as error:
            _refuse(error, self.path)

    def checkpoint(self) -> None:
        """Bring the write-ahead log into the file, as far as nobody reads it: so that no writer has to."""
        with _translated(self.path):
            self._current()
            self._shorten()

    def _shorten(self) -> None:
        assert self._connection is not None
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error:
            pass  # somebody else is at it, or the disk is full: the log stays long, nothing is lost
        self._checkpoint_at = self._wal_pages + WAL_PAGES_BEFORE_CHECKPOINT

    def close(self) -> None:
        self.drop()
        self.turns.close()

    def _live(self) -> _Connection:
        if self._connection is None:
            self._open()
        assert self._connection is not None
        return self._connection

    def _saw_wal(self, connection: object, database: str, pages: int) -> int:
        if pages < self._wal_pages:  # the log began anew
            self._checkpoint_at = WAL_PAGES_BEFORE_CHECKPOINT
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _retry(self, act: Callable[[], Done], deadline: int | None = None) -> Done:
        """Try until the lock is ours or the deadline is past. The longer the wait, the longer the jittered pauses: a
        lock that comes free is taken soon, and many who wait long do not keep the machine busy."""
        began = self._waiting.monotonic()
        deadline = began + self._lock_wait_ms if deadline is None else deadline
        while True:
            try:
                return act()
            except (apsw.BusyError, apsw.ProtocolError):
                now = self._waiting.monotonic()
                if now >= deadline:
                    raise
            longest = min(RETRY_MS_MIN + (now - began) / RETRY_WAITED_PART, RETRY_MS_MAX)
            self._waiting.pause(RETRY_MS_MIN + (longest - RETRY_MS_MIN) * self._waiting.random(1)[0] / 255)


def shorten(path: str) -> None:
    """Bring the write-ahead log of a room into its file, beside whoever has it open."""
    try:
        connection = _opened(path, _READ_WRITE)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        finally:
            connection.close()
    except apsw.Error:
        pass  # it is gone, somebody else is at it, or the disk is full: the log stays long, nothing is lost


def _to_the_end(cursor: _Cursor) -> None:
    """Some statements answer, and whatever follows them in one text waits until they have been heard."""
    for _ in cursor:
        pass


def address_of(file: str, options: str) -> str:
    """A file as SQLite's URIs name it."""
    return "file:" + file.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?" + options


def identity_of(file: str) -> tuple[int, int]:
    """Which file has this name."""
    try:
        facts = os.stat(file)
    except OSError:
        return 0, 0
    return facts.st_dev, facts.st_ino


def _astray(connection: _Connection) -> list[tuple[Any, ...]]:
    return list(connection.execute("PRAGMA foreign_key_check"))[:10]


def _opened(file: str, flags: int) -> _Connection:
    return apsw.Connection(file, flags=flags)


def _begin_read(connection: _Connection) -> None:
    """Begin and look: only a first look takes the snapshot, and it may meet a lock (a log that is being recovered)."""
    connection.execute("BEGIN")
    try:
        connection.pragma("schema_version")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


class _translated:
    """Turns what the driver and the disk say in the block into refusals."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (apsw.Error, OSError)):
            _refuse(error, self._path)


def _refuse(error: apsw.Error | OSError, path: str) -> NoReturn:
    """Raise the refusal that this error means; a broken rule stays as it is, for `constraint`."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError, apsw.ProtocolError, apsw.InterruptError)):
        raise Refusal("STORAGE_BUSY", "The room is busy with another writer; try again.") from error
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        raise Refusal(
            "STORAGE_CORRUPT",
            f"The room at {path} is damaged; run clearway doctor to see what can be saved.",
            file=path,
        ) from error
    if isinstance(error, (apsw.FullError, apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError, OSError)):
        raise Refusal(
            "STORAGE_FAILURE",
            f"The room at {path} cannot be used: {_reason(error)}; nothing was changed. See that its disk has room and "
            "that you may write there, or name another folder in CLEARWAY_HOME.",
        ) from error
    raise error


def _reason(error: BaseException) -> str:
    if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return "the disk is full"
    if isinstance(error, apsw.ReadOnlyError):
        return "it is read-only"
    if isinstance(error, apsw.CantOpenError):
        return "its file cannot be opened"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "the disk reports an error"
