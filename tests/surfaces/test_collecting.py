"""Worktrees are removed that nobody needs, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal
from tests.surfaces.test_forecasting import git

from clearway.worker.items import Issue


@pytest.fixture
def main_tree(terminal: Terminal) -> Path:
    (terminal.folder / "a.py").write_text("a\n")
    git(terminal.folder, "add", "-A")
    git(terminal.folder, "commit", "-q", "-m", "begin")
    assert terminal("init").status == 0
    git(terminal.folder, "add", "-A")
    git(terminal.folder, "commit", "-q", "-m", "a room")
    return terminal.folder


def tree(main_tree: Path, name: str, *how: str) -> Path:
    place = main_tree.parent / name
    git(main_tree, "worktree", "add", "-q", *(how or ("-b", name)), str(place))
    return place


def collected(terminal: Terminal, *words: str, **more: Any) -> dict[str, Any]:
    said = terminal("--json", "gc", *words, **more)
    assert said.status == 0, said.err
    found = json.loads(said.out)
    return {part: {Path(each["path"]).name: each for each in found[part]} for part in ("removed", "kept")}


def test_only_a_clean_worktree_that_nobody_uses_is_removed(terminal: Terminal, main_tree: Path) -> None:
    """C29: neither age nor name says what may go."""
    dirty, lone, live, idle = (tree(main_tree, name) for name in ("dirty", "lone", "live", "idle"))
    (dirty / "new.py").write_text("not saved\n")
    git(lone, "checkout", "-q", "--detach")
    (lone / "a.py").write_text("b\n")
    git(lone, "commit", "-q", "-am", "nowhere else")
    commit = git(lone, "rev-parse", "HEAD").strip()
    terminal("issue", "create", "Parser", "--status", "ready", folder=live)
    assert terminal("--as", "beta", "next", folder=live).status == 0

    would = collected(terminal, "--dry-run")
    assert set(would["removed"]) == {"idle"} and idle.exists(), "it was only asked"
    assert git(main_tree, "for-each-ref", "refs/clearway/rescue") == ""

    found = collected(terminal)
    assert set(found["removed"]) == {"idle"} and not idle.exists()
    whys = {name: each["why"] for name, each in found["kept"].items()}
    assert whys == {
        "dirty": "it has 1 change that no commit has",
        "lone": "1 commit of it is on no other branch",
        "live": "beta works on ISSUE-1 in it",
    }
    assert (dirty / "new.py").exists() and lone.exists() and live.exists()
    saved = git(main_tree, "for-each-ref", "--format=%(refname) %(objectname)", "refs/clearway/rescue").split("\n")
    assert {line.split(" ")[0] for line in saved if line} == {
        found["removed"]["idle"]["ref"],
        found["kept"]["lone"]["ref"],
    }
    assert any(commit in line for line in saved), "git's own collection does not take it"
    assert "idle" in git(main_tree, "branch", "--list", "idle"), "its branch stays"
    again = collected(terminal)
    assert again["removed"] == {} and again["kept"]["lone"]["ref"] == found["kept"]["lone"]["ref"]


def test_what_is_held_begun_locked_or_stood_in_stays(terminal: Terminal, main_tree: Path) -> None:
    held, begun, locked, mine, ahead = (tree(main_tree, name) for name in ("held", "begun", "locked", "mine", "ahead"))
    assert terminal("--as", "anna", "claim", str(held / "a.py")).status == 0
    merging = Path(git(begun, "rev-parse", "--absolute-git-dir").strip()) / "MERGE_HEAD"
    merging.write_text(git(begun, "rev-parse", "HEAD"))
    git(main_tree, "worktree", "lock", "--reason", "on a stick", str(locked))
    (ahead / "a.py").write_text("c\n")
    git(ahead, "commit", "-q", "-am", "not merged")
    found = collected(terminal, folder=mine)
    whys = {name: each["why"] for name, each in found["kept"].items()}
    assert found["removed"] == {} and whys == {
        "held": "anna holds a.py in it",
        "begun": "something has begun in it and is not done (MERGE_HEAD)",
        "locked": "it is locked: on a stick",
        "mine": "you are in it",
        "ahead": "1 commit of it is on no other branch",
    }
    said = terminal("gc", folder=mine)
    assert "Kept" in said.out and "anna holds a.py in it" in said.out
    assert merging.exists() and ahead.exists()
    terminal("--as", "anna", "release")
    git(main_tree, "merge", "-q", "ahead")
    assert set(collected(terminal, folder=mine)["removed"]) == {"held", "ahead"}


def test_without_git_or_without_worktrees_there_is_nothing_to_collect(terminal: Terminal, main_tree: Path) -> None:
    assert terminal("gc").out == "There is no worktree besides the main one.\n"
    assert terminal("gc", folder=main_tree.parent).code == "PROJECT_NOT_FOUND"


def test_attempts_of_the_same_instant_have_worktrees_of_their_own() -> None:
    """C29: the second half."""
    one, other = (Issue({"display_id": "ISSUE-1", "fence": fence}) for fence in (7, 8))
    assert one.branch != other.branch
