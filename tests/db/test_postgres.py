"""A room in a PostgreSQL schema: its parameters, its lock, its time, and a server that is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.conftest import HandClock

from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller
from clearway.db import Row, Statement, Statements, percent_parameters
from clearway.db.migrate import SCHEMA
from clearway.errors import Refusal
from clearway.room import Room, open_room

CALLER = Caller("claude-code", "s1", host="h")


class Server:
    """One room on the test server, opened as often as a test likes."""

    def __init__(self, dsn: str, home: Path) -> None:
        self.dsn = dsn
        self.project = Clock().new_id()
        self.schema = f"clearway_{self.project.lower()}"
        self._home = home
        self._rooms: list[Room] = []

    def open(self, clock: Clock | None = None, *, lock_wait_ms: int = 8_000, upgrade: bool = True) -> Room:
        room = open_room(
            self.project,
            home=str(self._home),
            clock=clock or Clock(),
            address=self.dsn,
            lock_wait_ms=lock_wait_ms,
            upgrade=upgrade,
        )
        self._rooms.append(room)
        return room

    def run(self, text: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(text.replace("SCHEMA", self.schema).encode())
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        for room in self._rooms:
            room.close()


@pytest.fixture
def server(postgres_dsn: str, tmp_path: Path) -> Iterator[Server]:
    server = Server(postgres_dsn, tmp_path)
    yield server
    server.close()


def create(room: Room, title: str = "Parser") -> str:
    return str(room.ask(OPERATIONS["create_issue"], {"title": title, "status": "ready"}, CALLER)["display_id"])


def refused(act: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        act()
    return caught.value


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("SELECT :a", "SELECT %(a)s"),
        ("SELECT :a, :a_b2 FROM t", "SELECT %(a)s, %(a_b2)s FROM t"),
        ("SELECT a::bigint", "SELECT a::bigint"),
        ("SELECT :a::bigint, :b", "SELECT %(a)s::bigint, %(b)s"),
        ("SELECT ':a' || :a", "SELECT ':a' || %(a)s"),
        ("SELECT 'it''s :a' || :a", "SELECT 'it''s :a' || %(a)s"),
        ("SELECT a % 2, :a", "SELECT a %% 2, %(a)s"),
        ("SELECT 'x%' LIKE :a", "SELECT 'x%%' LIKE %(a)s"),
        ("(:a, :b)", "(%(a)s, %(b)s)"),
        ("a = :a\nAND b", "a = %(a)s\nAND b"),
        ("SELECT 1", "SELECT 1"),
    ],
)
def test_named_parameters_are_written_as_the_driver_reads_them(text: str, parameters: str) -> None:
    statement = Statement("x", text, text)

    assert percent_parameters(text) == parameters
    assert statement.postgres == statement.postgres == parameters.encode(), (
        "written once, however often it is asked for"
    )
    assert statement.sqlite == text


def test_a_statement_is_one_text_for_both_engines_unless_it_says_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "noun.sql"
    file.write_text(
        "-- About the file.\n-- name: both\nSELECT 1\n\n-- name: find [sqlite]\nSELECT 2\n-- A remark.\n"
        "-- name: find [postgres]\nSELECT 3\n"
    )

    known = Statements(str(file))

    assert (known.both.sqlite, known.both.postgres) == ("SELECT 1", b"SELECT 1")
    assert (known.find.sqlite, known.find.postgres) == ("SELECT 2", b"SELECT 3")
    with pytest.raises(AttributeError, match="no statement other"):
        _ = known.other


def test_a_row_is_read_by_name() -> None:
    row = Row(a=1, b=None)

    assert (row.a, row["a"], row.b) == (1, 1, None)
    with pytest.raises(AttributeError):
        _ = row.c


def test_a_room_is_one_schema_made_by_whoever_comes_first(server: Server) -> None:
    rooms: list[Room] = []
    threads = [threading.Thread(target=lambda: rooms.append(server.open())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(rooms) == 8
    assert sorted(create(room) for room in rooms) == [f"ISSUE-{number}" for number in range(1, 9)]
    assert server.run("SELECT count(*) FROM SCHEMA.schema_migration") == [(SCHEMA,)]


def test_a_busy_room_refuses_a_write_at_its_deadline_and_still_answers_reads(server: Server) -> None:
    first, second = server.open(), server.open(lock_wait_ms=30)
    create(first)
    session = first.engine.begin(writes=True)

    refusal = refused(lambda: create(second))

    assert (refusal.code, refusal.retryable) == ("STORAGE_BUSY", True)
    assert len(second.ask(OPERATIONS["list_issues"], {}, CALLER)["items"]) == 1
    session.rollback()
    assert create(second) == "ISSUE-2", "a begin that failed left nothing behind"


def test_a_read_sees_one_moment_however_many_statements_it_has(server: Server) -> None:
    first, second = server.open(), server.open()
    create(first)
    count = "SELECT count(*) AS count FROM issue"

    def look(tx: Any) -> tuple[int, int]:
        before = tx.one(Statement("count", count, count)).count
        create(second)
        return before, tx.one(Statement("count", count, count)).count

    assert first.run(look, caller=CALLER, writes=False) == (1, 1)


def test_room_time_is_the_servers_and_not_that_of_the_machine_that_asks(server: Server) -> None:
    room = server.open()
    ((now,),) = server.run("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")

    seen = room.run(lambda tx: (tx.now, tx.wall), caller=CALLER, writes=False)

    assert all(0 <= moment - now < 60_000 for moment in seen)


def test_a_room_made_by_a_machine_a_year_ahead_has_the_servers_time(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Clock.wall
    monkeypatch.setattr(Clock, "wall", lambda self: real(self) + 365 * 86_400_000)
    room = server.open()
    monkeypatch.undo()

    (now, wall) = room.run(lambda tx: (tx.now, tx.wall), caller=CALLER, writes=False)

    assert now == wall


def test_a_room_with_a_test_clock_has_the_tests_time(server: Server) -> None:
    clock = HandClock()
    room = server.open(clock)
    before = room.run(lambda tx: tx.now, caller=CALLER)
    clock.forward(seconds=5)

    assert room.run(lambda tx: tx.now, caller=CALLER) - before == 5_000


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE SCHEMA.schema_migration SET checksum = 'x' || substr(checksum, 2) WHERE version = 1",
        "UPDATE SCHEMA.schema_migration SET version = 99 WHERE version = 1",
    ],
)
def test_a_foreign_or_newer_schema_is_refused(server: Server, text: str) -> None:
    """I4."""
    server.open()
    server.run(text)

    assert refused(lambda: server.open()).code == "STORAGE_MIGRATION"


def test_a_server_that_is_away_is_told_in_one_line_without_its_address(server: Server) -> None:
    server.dsn = "postgresql://secret-user:secret-word@127.0.0.1:1/nowhere?connect_timeout=2"

    refusal = refused(lambda: server.open())

    assert refusal.code == "STORAGE_FAILURE"
    assert "secret" not in str(refusal.as_dict())


def test_a_connection_that_the_server_ended_is_made_anew(server: Server) -> None:
    room = server.open()
    create(room)
    text = "SELECT pg_backend_pid() AS pid"

    for number, writes in ((2, True), (3, False)):
        (row,) = room.run(lambda tx: tx.all(Statement("pid", text, text)), caller=CALLER, writes=writes)
        server.run(f"SELECT pg_terminate_backend({row.pid}, 10000)")
        assert len(room.ask(OPERATIONS["list_issues"], {}, CALLER)["items"]) == number - 1
        assert create(room) == f"ISSUE-{number}"


def test_a_connection_that_ends_within_a_question_is_a_failure_and_the_next_question_is_answered(
    server: Server,
) -> None:
    room = server.open()
    text = "SELECT pg_backend_pid() AS pid"

    def act(tx: Any) -> None:
        tx.tell("half_done")
        server.run(f"SELECT pg_terminate_backend({tx.one(Statement('pid', text, text)).pid}, 10000)")
        tx.one(Statement("pid", text, text))

    assert refused(lambda: room.run(act, caller=CALLER)).code == "STORAGE_FAILURE"

    assert create(room) == "ISSUE-1"
    assert server.run("SELECT type FROM SCHEMA.event") == [("issue_created",)]


def test_what_is_not_text_in_postgresql_is_refused_before_it_gets_there(server: Server) -> None:
    room = server.open()

    refusal = refused(lambda: create(room, "a\0b"))

    assert refusal.details[0]["code"] == "NUL_NOT_ALLOWED"
    assert create(room) == "ISSUE-1"
