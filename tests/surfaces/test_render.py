"""Answers as people read them: times by how far away they are, tables that fit, colour only where it is wanted."""

from __future__ import annotations

import click
import pytest

from clearway.surfaces import render
from clearway.surfaces.render import Paper

NOON = 1_780_315_200_000  # 2026-06-01T12:00:00Z


@pytest.mark.parametrize(
    ("iso", "distance"),
    [
        ("2026-06-01T12:00:00Z", "now"),
        ("2026-06-01T12:00:59Z", "in 59 s"),
        ("2026-06-01T12:11:59Z", "in 12 min"),
        ("2026-06-01T13:30:00Z", "in 90 min"),
        ("2026-06-01T15:00:00Z", "in 3 h"),
        ("2026-06-04T12:00:00Z", "in 3 days"),
        ("2026-06-01T11:30:00Z", "30 min ago"),
    ],
)
def test_a_time_is_said_by_how_far_away_it_is(iso: str, distance: str) -> None:
    assert Paper(NOON).distance(iso) == distance


def test_a_time_of_another_day_has_its_day() -> None:
    paper = Paper(NOON)
    assert len(paper.moment("2026-06-01T12:10:00Z")) == len("12:10")
    assert paper.moment("2026-07-01T12:10:00Z").startswith("2026-07-01 ")
    assert paper.until("2026-06-01T12:10:00Z").endswith("(in 10 min)")


def test_a_table_fits_the_terminal_and_leaves_out_what_is_empty() -> None:
    rows = [["ISSUE-1", "ready", "", "A title that is much longer than a terminal is wide, [red]truly[/red]"]]
    heads = ("ISSUE", "STATUS", "LABELS", "TITLE")
    assert Paper(NOON).table(heads, rows).splitlines() == [
        "ISSUE    STATUS  TITLE",
        "ISSUE-1  ready   A title that is much longer than a terminal is wide, [red]truly[/red]",
    ]
    lines = Paper(NOON, columns=40).table(heads, rows).splitlines()
    assert len(lines) == 2
    assert all(len(click.unstyle(line)) <= 40 for line in lines)
    assert click.unstyle(lines[1]).startswith("ISSUE-1  ready")


def test_colour_is_for_terminals_that_want_it() -> None:
    rows = [["ISSUE-1", "ready"]]
    assert "\x1b[32m" in Paper(NOON, columns=40, colour=True).table(("ISSUE", "STATUS"), rows)
    assert "\x1b[32m" not in Paper(NOON, columns=40).table(("ISSUE", "STATUS"), rows)
    assert "\x1b" not in Paper(NOON).table(("ISSUE", "STATUS"), rows)


def test_an_answer_without_words_of_its_own_is_printed_by_field() -> None:
    assert render.text("make_coffee", {"cups": 2, "sorts": ["a"], "note": "x\ny"}, Paper(NOON)).splitlines() == [
        "cups: 2",
        'sorts: ["a"]',
        "note: x y",
    ]
