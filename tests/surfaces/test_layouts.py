"""Repositories that are not one folder with `.git` in it: bare with worktrees, submodules, git directories apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import git
from tests.surfaces.conftest import Terminal

from clearway.config import Settings
from clearway.rooms import Rooms
from clearway.surfaces.web_door import rooms_here


def bare(repo: Path) -> tuple[Path, Path]:
    """A worktree of a bare repository, and the git directory."""
    common, tree = repo.parent / "shop.git", repo.parent / "shop"
    git(repo, "clone", "-q", "--bare", str(repo), str(common))
    git(common, "worktree", "add", "-q", str(tree), "-b", "work")
    return tree, common


def apart(repo: Path) -> tuple[Path, Path]:
    common, tree = repo.parent / "apart", repo.parent / "tree"
    git(repo, "init", "-q", "--separate-git-dir", str(common), str(tree))
    return tree, common


def submodule(repo: Path) -> tuple[Path, Path]:
    whole = repo.parent / "whole"
    git(repo, "init", "-q", str(whole))
    git(whole, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "sub")
    return whole / "sub", whole / ".git" / "modules" / "sub"


def broken(repo: Path) -> tuple[Path, Path]:
    """A worktree of a repository whose path has a line break in it."""
    main, tree = repo.parent / "two\nlines ", repo.parent / "tree"
    git(repo, "clone", "-q", str(repo), str(main))
    git(main, "worktree", "add", "-q", str(tree), "-b", "work")
    return tree, main / ".git"


LAYOUTS = pytest.mark.parametrize("layout", [bare, apart, submodule])
Layout = Callable[[Path], tuple[Path, Path]]


@LAYOUTS
def test_wherever_its_git_directory_is_a_repository_is_shown_and_taken_leave_of(
    terminal: Terminal, layout: Layout
) -> None:
    """C26, C19: in the browser's list of rooms, and when Clearway goes."""
    tree, common = layout(terminal.folder)
    before = {str(file) for file in common.rglob("*")}
    assert terminal("claim", "x", folder=tree).status == 0
    assert terminal("git-hooks", "install", folder=tree).status == 0
    rooms = Rooms(Settings(terminal.environ))
    assert [room["folder"] for room in rooms_here(rooms)] == [str(tree)]
    rooms.close()
    gone = terminal("--json", "uninstall", "--data", "--write").json
    assert gone["git_hooks"] == [str(tree)]
    assert {str(file) for file in common.rglob("*")} - {str(common / "hooks")} <= before


def test_a_worktree_of_a_repository_with_a_line_break_in_its_path_is_one_of_it(terminal: Terminal) -> None:
    tree, common = broken(terminal.folder)
    assert terminal("--as", "anna", "claim", "src/a.py", folder=common.parent).status == 0
    said = terminal("--as", "ben", "claim", "src/a.py", folder=tree)
    assert said.status == 0 and "in flight in another worktree" in said.out
    assert terminal("--as", "carl", "claim", "src/a.py", folder=tree).code == "PATH_HELD"
    assert terminal("--as", "carl", "claim", "../two\nlines /src/a.py", folder=tree).code == "PATH_HELD"


def test_a_bare_repository_has_the_room_of_its_worktrees(terminal: Terminal) -> None:
    """C26: whoever stands in it sees them, and no second room begins there."""
    tree, common = bare(terminal.folder)
    terminal("issue", "create", "Ship", folder=tree)
    for folder in (common, common / "refs"):
        assert terminal("--json", "issue", "list", folder=folder).json["items"][0]["title"] == "Ship"
    refused = terminal("init", folder=common)
    assert refused.code == "PATH_INVALID" and "git worktree list" in refused.err
    assert not (common / ".clearway.json").exists()
    assert terminal("doctor", folder=common).out.count("in no repository") == 0
