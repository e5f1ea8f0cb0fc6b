"""Which worktrees will not merge, said before anybody tries."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.conftest import World
from tests.surfaces.conftest import Terminal


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def trees(terminal: Terminal, tmp_path: Path) -> tuple[Path, Path]:
    """Two worktrees of the repository at the terminal, each on a branch of its own."""
    repo = terminal.folder
    (repo / "src").mkdir(exist_ok=True)
    (repo / "src" / "a.py").write_text("one\ntwo\nthree\nfour\nfive\nsix\nseven\n")
    (repo / "b.py").write_text("b\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "begin")
    made = (tmp_path / "w1", tmp_path / "w2")
    for place, name in zip(made, ("one", "two"), strict=True):
        git(repo, "worktree", "add", "-q", "-b", name, str(place))
    return made


def change(tree: Path, name: str, old: str, new: str, *, commit: bool = True) -> None:
    file = tree / name
    file.write_text(file.read_text().replace(old, new))
    if commit:
        git(tree, "commit", "-q", "-am", f"change {name}")


def test_two_worktrees_that_change_the_same_lines_are_named_with_the_file(
    terminal: Terminal, trees: tuple[Path, Path]
) -> None:
    """C31."""
    change(trees[0], "src/a.py", "two", "TWO")
    change(trees[1], "src/a.py", "two", "zwei")
    objects = {file for _, _, files in os.walk(terminal.folder / ".git" / "objects") for file in files}

    told = terminal("forecast")

    assert (told.status, told.out) == (1, "one and two will not merge: src/a.py\n")
    (pair,) = json.loads(terminal("--json", "forecast").out)["pairs"]
    assert (pair["ours"]["branch"], pair["theirs"]["branch"], pair["conflicts"]) == ("one", "two", ["src/a.py"])
    after = {file for _, _, files in os.walk(terminal.folder / ".git" / "objects") for file in files}
    assert after == objects, "nothing is left in the repository"


def test_what_both_change_in_other_places_is_named_as_such(terminal: Terminal, trees: tuple[Path, Path]) -> None:
    change(trees[0], "src/a.py", "one", "ONE")
    change(trees[1], "src/a.py", "seven", "SEVEN", commit=False)
    told = terminal("forecast")
    assert (told.status, told.out) == (0, "one and two both change src/a.py\n")


def test_worktrees_that_keep_apart_are_no_news(terminal: Terminal, trees: tuple[Path, Path]) -> None:
    change(trees[0], "src/a.py", "one", "ONE")
    change(trees[1], "b.py", "b", "B")
    told = terminal("forecast")
    assert (told.status, told.out) == (0, "No two worktrees change the same files.\n")
    assert terminal("forecast", folder=trees[0].parent).code in ("PROJECT_NOT_FOUND", "PATH_INVALID")


def test_work_that_meets_what_others_have_in_flight_is_offered_last(world: World) -> None:
    """C31: the second half."""
    alpha = world.agent("alpha")
    alpha.ask("claim_paths", paths=["src/a.py"])
    alpha.ask("create_issue", title="Same file", status="ready", priority="high", paths=["src/a.py"])
    alpha.ask("create_issue", title="Another file", status="ready", paths=["src/b.py"])
    assert world.agent("gamma").ask("claim_issue", next=True)["display_id"] == "ISSUE-2"
