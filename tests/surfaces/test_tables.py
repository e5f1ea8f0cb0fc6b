"""Columns: how wide a text is, and tables that fit whatever they are written on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.surfaces import tables
from clearway.surfaces.render import Paper

HEADS = ("ISSUE", "STATUS", "PRIORITY", "HELD BY", "TITLE")
WIDE = "修复登录页面的错误处理逻辑"
COMBINING = "Cafe\u0301 de\u0301ja\u0300 vu"


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("", 0), ("ü", 1), (WIDE, 26), (COMBINING, 12), ("한글", 4), ("👍", 2), ("ｶﾅ", 2)]
)
def test_a_text_takes_the_columns_of_its_characters(text: str, columns: int) -> None:
    assert tables.cells(text) == columns


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=40), st.integers(1, 30))
def test_what_is_cut_fits(text: str, columns: int) -> None:
    assert tables.cells(tables.cut(text, columns)) <= columns
    assert text == tables.cut(text, tables.cells(text))


def rows() -> list[list[str]]:
    return [
        ["ISSUE-1", "ready", "high", "", "Split the lexer and make every token say where it came from"],
        ["ISSUE-2", "in_progress", "", "claude-code", WIDE * 3],
        ["ISSUE-1234", "blocked", "critical", "codex", COMBINING * 5],
    ]


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("colour", [True, False])
def test_a_table_fits_the_terminal(columns: int, colour: bool) -> None:
    import click

    shown = tables.table(HEADS, rows(), columns, colour=colour)
    assert ("\x1b" in shown) == colour
    lines = click.unstyle(shown).splitlines()
    assert max(map(tables.cells, lines)) <= columns
    for name in ("ISSUE-1", "ISSUE-2", "ISSUE-1234"):
        assert any(line.startswith(name) for line in lines)


def test_wide_and_combining_characters_do_not_break_columns() -> None:
    head, *lines = tables.table(("A", "B"), [[WIDE, "x"], [COMBINING, "y"], ["plain", "z"]], None).splitlines()
    place = tables.cells(head[: head.index("B")])
    for line, last in zip(lines, "xyz", strict=True):
        assert tables.cells(line[: line.rindex(last)]) == place


def test_there_is_room_for_everything_on_a_wide_terminal() -> None:
    assert "…" not in tables.table(HEADS, rows(), 200)
    assert tables.table(HEADS, rows(), 200) == tables.table(HEADS, rows(), None)


def test_where_columns_do_not_fit_a_row_takes_two_lines() -> None:
    lines = tables.table(HEADS, rows(), 40).splitlines()
    assert lines[0].startswith("ISSUE-1  Split the lexer and make")
    assert lines[1] == "  ready  high"
    assert lines[3] == "  in_progress  claude-code"


def test_a_narrow_table_keeps_its_columns_as_long_as_they_fit() -> None:
    lines = tables.table(("ISSUE", "STATUS", "TITLE"), [["ISSUE-1", "ready", "Split the lexer into parts"]], 40)
    assert lines.splitlines() == ["ISSUE    STATUS  TITLE", "ISSUE-1  ready   Split the lexer into p…"]


def test_columns_without_anything_are_left_out() -> None:
    assert Paper(0).table(("A", "B", "C"), [["1", "", "3"]]).splitlines() == ["A  C", "1  3"]
