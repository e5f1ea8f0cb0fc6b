"""Schema changes: numbered without gap, told apart by their text, and equal to the tables that the rules are."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest

from clearway import lifecycle
from clearway.db import Row, migrate
from clearway.db.migrate import SCHEMA, check_history, check_version, migrations
from clearway.errors import Refusal

FOLDER = Path(migrate.__file__).parent / "migrations"


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_migrations_are_numbered_from_one_without_gap_up_to_the_schema(engine: str) -> None:
    assert [migration.version for migration in migrations(engine)] == list(range(1, SCHEMA + 1))
    assert all(migration.text.strip() for migration in migrations(engine))


def test_every_file_belongs_to_a_migration() -> None:
    names = {file.name for file in FOLDER.iterdir() if file.suffix == ".sql"}

    stems = {name.split(".")[0] for name in names}
    assert len(stems) == SCHEMA
    assert names <= {f"{stem}{kind}.sql" for stem in stems for kind in ("", ".sqlite", ".postgres")}
    assert {f"{stem}.sql" for stem in stems} <= names


def test_an_engine_reads_the_common_text_and_its_own() -> None:
    sqlite, postgres = migrations("sqlite")[0].text, migrations("postgres")[0].text

    assert "STRICT" in sqlite
    assert "plpgsql" not in sqlite
    assert "BIGINT" in postgres
    assert 'TEXT COLLATE "C"' in postgres
    assert not re.search(r"^[^-]*\b(STRICT|INTEGER)\b", postgres.split("CREATE FUNCTION")[0], re.MULTILINE)


def test_a_checksum_follows_the_text() -> None:
    one, other = (migrate.Migration(1, "room", text) for text in ("a", "b"))

    assert len(one.checksum) == 64
    assert one.checksum != other.checksum
    assert one.checksum == migrate.Migration(1, "room", "a").checksum


def history() -> list[Row]:
    return [
        Row(version=migration.version, name=migration.name, checksum=migration.checksum)
        for migration in migrations("sqlite")
    ]


def test_a_history_that_is_a_beginning_of_ours_is_fine() -> None:
    for length in range(1, SCHEMA + 1):
        check_history(history()[:length], "sqlite", "here")
    check_version(SCHEMA, "here")


@pytest.mark.parametrize("change", [{"version": 2}, {"name": "x"}, {"checksum": "0" * 64}])
def test_a_history_that_is_not_is_refused_with_the_step(change: dict[str, object]) -> None:
    """I4."""
    rows = history()
    rows[0] = Row(**{**rows[0], **change})

    with pytest.raises(Refusal) as caught:
        check_history(rows, "sqlite", "here")

    assert caught.value.code == "STORAGE_MIGRATION"
    assert "here" in caught.value.message


def test_a_newer_schema_says_what_to_do() -> None:
    with pytest.raises(Refusal) as caught:
        check_version(SCHEMA + 1, "here")

    assert "upgrade Clearway" in caught.value.message


def checks() -> dict[tuple[str, str], tuple[str, ...]]:
    """(table, column) -> the words that its CHECK allows, as the last migration leaves them."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for migration in migrations("sqlite"):
        for table, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\) STRICT", migration.text, re.DOTALL):
            for column, words in re.findall(r"^\s+(\w+) .*?CHECK \(\1 IN \(('.*?')\)\)", body, re.MULTILINE):
                found[table, column] = tuple(word.strip(" '") for word in words.split(","))
            for column, words in re.findall(
                r"^\s+(\w+) [^(\n]*CHECK \(\s+((?:\1 = '\w+'(?: OR )?)+)", body, re.MULTILINE
            ):
                found[table, column] = tuple(re.findall(r"'(\w+)'", words))
    return found


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("issue", "type", lifecycle.TYPES),
        ("issue", "status", lifecycle.STATUSES),
        ("attempt", "status", lifecycle.ATTEMPT_STATUSES),
        ("attempt", "kind", ("work", "review")),
        ("attempt_note", "kind", lifecycle.NOTE_KINDS),
        ("path_lease", "mode", lifecycle.PATH_MODES),
    ],
)
def test_the_schema_allows_the_words_of_the_lifecycle_and_no_others(
    table: str, column: str, words: tuple[str, ...]
) -> None:
    assert checks()[table, column] == words


def test_every_status_can_be_left_or_is_reached_again() -> None:
    """I13."""
    assert set(lifecycle.TRANSITIONS) == set(lifecycle.STATUSES)
    pairs = {(status, target) for status, targets in lifecycle.TRANSITIONS.items() for target in targets}
    assert pairs == {
        ("open", "ready"),
        ("open", "cancelled"),
        ("ready", "blocked"),
        ("ready", "review"),
        ("ready", "done"),
        ("ready", "cancelled"),
        ("blocked", "ready"),
        ("blocked", "cancelled"),
        ("review", "ready"),
        ("review", "blocked"),
        ("review", "done"),
        ("review", "cancelled"),
        ("done", "ready"),
        ("cancelled", "open"),
    }
    assert all(
        lifecycle.may_move(one, other) is ((one, other) in pairs)
        for one in lifecycle.STATUSES
        for other in lifecycle.STATUSES
    )


def test_what_fails_is_found_without_reading_every_attempt() -> None:
    """An index that also has the column is a scan of all that ever was, and SQLite prefers it where it may."""
    connection = apsw.Connection(":memory:")
    for migration in migrations("sqlite"):
        connection.execute(migration.text)
    plan = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN SELECT * FROM failing_issue")]
    assert any("attempt_failed" in step for step in plan), plan
    assert not any("attempt_issue" in step for step in plan), plan
