"""Named statements: read when the first is asked for, or all at once by those who live long."""

from __future__ import annotations

from pathlib import Path

import pytest

from clearway import db


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
