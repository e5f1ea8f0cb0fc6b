"""The first page: its commands exist, its picture shows what the program prints, its figures stand in their place.

That its examples run and its links lead somewhere is asked of every page of the manual, this one included.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clearway.surfaces import cli

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
PICTURE = REPOSITORY / "docs" / "images" / "story.svg"
IN_A_BLOCK = re.compile(r"^(?:\$ )?(clearway .+?)(?:\s+#.*)?$", re.MULTILINE)
IN_A_SENTENCE = re.compile(r"`(clearway [^`]+)`")
CHANGING = re.compile(r"\b(?:\d{4}-\d\d-\d\d )?\d\d:\d\d\b|\d+\.\d s")  # late in the evening an hour is of tomorrow


def commands(page: str) -> list[str]:
    """Every command of ours that a page shows, in code blocks and in sentences."""
    blocks = "".join(re.findall(r"^```.*?\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    return [*IN_A_BLOCK.findall(blocks), *IN_A_SENTENCE.findall(page)]


def exists(command: str) -> bool:
    """Whether the command line knows these words and options. Nothing is run."""
    return cli.run([*shlex.split(command)[1:], "--help"]) == 0


@pytest.mark.parametrize("command", sorted(set(commands(README))))
def test_a_command_that_is_shown_exists(command: str) -> None:
    assert exists(command)


def test_a_command_that_does_not_exist_is_noticed() -> None:
    page = "Try `clearway conquer`.\n\n```console\n$ clearway init --with-magic # exits 2\n```\n"
    assert commands(page) == ["clearway init --with-magic", "clearway conquer"]
    assert not any(exists(command) for command in commands(page))
    assert exists("clearway init")


def test_the_picture_shows_what_the_rehearsal_says(tmp_path: Path) -> None:
    drawn = tmp_path / "story.svg"
    subprocess.run([sys.executable, REPOSITORY / "docs" / "draw_story.py", drawn], check=True)
    assert _said(PICTURE) == _said(drawn), "run: python docs/draw_story.py"


def test_every_figure_says_what_was_measured_and_its_budget() -> None:
    before, between, after = re.split(r"<!-- bench:(?:start|end) -->", README)
    rows = [line.strip("| ").split(" | ") for line in between.splitlines() if line.startswith("|")]
    assert before and after
    assert rows[0] == ["figure", "measured", "budget", "beside"]
    assert len(rows) > 10


def _said(picture: Path) -> list[str]:
    lines = ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")
    return [CHANGING.sub("", "".join(line.itertext())) for line in lines]
