"""Named statements: read when the first is asked for, or all at once by those who live long."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import apsw
import pytest

from clearway import catalog, db
from clearway.db.migrate import migrations


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "noun.sql").write_text(
        "-- name: find\nSELECT 1\n\n-- name: differs [sqlite]\nSELECT 2\n-- name: differs [postgres]\nSELECT 3\n"
    )
    return tmp_path / "noun.py"


def test_a_file_is_read_when_a_statement_is_asked_for(module: Path) -> None:
    found = db.statements(str(module))
    module.with_suffix(".sql").write_text("-- name: find\nSELECT 4\n")
    assert found.find.sqlite == "SELECT 4"
    assert found.find.postgres == b"SELECT 4"


def test_who_has_read_all_needs_no_file_any_more(module: Path) -> None:
    """A server whose files are exchanged under it keeps the statements that belong to its code."""
    found = db.statements(str(module))
    db.read_all()
    module.with_suffix(".sql").unlink()
    assert (found.find.sqlite, found.differs.sqlite, found.differs.postgres) == ("SELECT 1", "SELECT 2", b"SELECT 3")


def test_a_statement_that_is_not_there_is_a_mistake_of_ours(module: Path) -> None:
    with pytest.raises(AttributeError, match=r"noun\.sql has no statement found"):
        _ = db.statements(str(module)).found


def test_values_are_bound_in_the_order_in_which_sqlite_counts_them() -> None:
    """By name at first, in their order from then on: of every statement there is, as SQLite itself counts."""
    connection = apsw.Connection(":memory:")
    for migration in migrations("sqlite"):
        connection.execute(migration.text)
    assert [catalog.OPERATIONS[name].name for name in catalog.OPERATIONS], "all nouns are loaded"
    db.read_all()
    ours = [known for known in db._ALL if "postgres" not in known._path]
    said = [each for known in ours for each in vars(known).values() if isinstance(each, db.Statement)]
    assert len(said) > 300
    for statement in said:
        cursor = connection.execute(f"EXPLAIN {statement.sqlite}", defaultdict(int))
        names = [str(name) for name in cursor.bindings_names]
        assert db.parameters_of(statement.sqlite) == names, statement.name

        fresh = db.Statement(statement.name, statement.sqlite, "")
        values = {name: place for place, name in enumerate(names)} | {"of_another": -1}
        given = [fresh.bound(values) for _ in range(20)]
        assert given[0] == values
        assert given[-1] == tuple(range(len(names)))
