"""The rehearsal: its story holds, each of its checks can fail, and it leaves nothing behind."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from clearway.alive import Liveness
from clearway.setup import scripted
from clearway.setup.narrator import COLUMNS, Narrator
from clearway.setup.rehearse import rehearse

COLOUR = re.compile(r"\x1b\[\d+m")
CHANGING = re.compile(r"\b\d\d:\d\d\b|\d+\.\d s")
REFUSED = "✗ Codex patches src/lexer.py as well. Refused before the tool runs; it reads:"


def played(*, colour: bool = False) -> tuple[bool, list[str]]:
    lines: list[str] = []
    return rehearse(lines.append, colour=colour), lines


@pytest.fixture(scope="module")
def story() -> list[str]:
    """What a newcomer reads."""
    held, lines = played()
    assert held, "\n".join(lines)
    return lines


def test_every_check_of_the_story_holds(story: list[str]) -> None:
    ticks = sum(line.startswith("  ✓ ") for line in story)
    assert ticks >= 20
    assert any(line.startswith(f"{ticks} checks, all held") for line in story)
    assert not any("✗" in line for line in story)


def test_the_words_that_the_agents_read_are_quoted(story: list[str]) -> None:
    quoted = " ".join(line.strip(" │") for line in story if line.startswith("      │ "))
    for words in (
        "1 other agent here",
        "PATH_HELD: src/lexer.py is held by claude-code",
        "LEASE_EXPIRED",
        "checkpoint",
    ):
        assert words in quoted


def test_it_ends_with_the_commands_to_go_on_by_hand(story: list[str]) -> None:
    assert [" ".join(line.split()[:2]) for line in story[-3:]] == ["clearway init", "clearway connect", "clearway room"]


def test_colour_repeats_what_is_said_and_no_line_is_too_wide(story: list[str]) -> None:
    _, coloured = played(colour=True)
    plain = [COLOUR.sub("", line) for line in coloured]
    assert plain != coloured
    assert [CHANGING.sub("", line) for line in plain] == [CHANGING.sub("", line) for line in story]
    assert [line for line in plain if len(line) > COLUMNS] == []


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[scripted.Agent] = []
    join = scripted.Stage.join

    def remembered(stage: scripted.Stage, *facts: object) -> scripted.Agent:
        joined.append(join(stage, *facts))  # type: ignore[arg-type]
        return joined[-1]

    monkeypatch.setattr(scripted.Stage, "join", remembered)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert played()[0]
    assert list(tmp_path.iterdir()) == []
    assert len(joined) == 3
    assert [agent for agent in joined if agent.lives] == []


def test_a_guard_that_refuses_nothing_fails_the_story(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted, "hook_command", lambda *_: "true")
    held, lines = played()
    assert not held
    assert f"  {REFUSED}" in lines
    closing = next(place for place, line in enumerate(lines) if line.endswith("checks failed:"))
    assert f"  {REFUSED}" in lines[closing:]


def test_a_guard_that_stands_open_with_a_warning_is_no_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted, "hook_command", lambda *_: "/bin/sh -c 'echo guard open >&2'")
    held, lines = played()
    assert not held
    assert "  ✗ Claude Code edits src/lexer.py. It was free; the edit leases it." in lines


def test_a_death_that_the_room_does_not_notice_fails_the_story(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Liveness, "is_dead", lambda *_: False)
    held, lines = played()
    assert not held
    assert "  ✗ The next question anybody asks finds the file free. No time-out to wait for." in lines
    assert any("NOTHING_TO_CLAIM" in line for line in lines)


def test_a_check_that_fails_says_what_was_expected_and_what_came() -> None:
    lines: list[str] = []
    tell = Narrator(lines.append, colour=False)
    tell.step("One and one is two.", 3, 2)
    tell.step("Water is wet.")
    tell.closing(1_234)
    assert lines == [
        "  ✗ One and one is two.",
        "    expected 2",
        "    but was  3",
        "  ✓ Water is wet.",
        "",
        "1 of 2 checks failed:",
        "  ✗ One and one is two.",
    ]
