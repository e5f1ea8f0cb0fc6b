"""A night of workers: everything ends exactly once, or is parked with its reason; the log proves it.

The small night is always played; CLEARWAY_TEST_FLEET=1 plays one of 30 tasks and 20 issues over four workers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import git
from tests.worker.fleet import STAND_IN, Fleet

from clearway import platforms

pytestmark = pytest.mark.skipif(platforms.WINDOWS, reason="workers run on Linux and macOS")
WORKS = ("--from", "tasks,issues", "--write", "--target", "done", "--max-per-hour", "1000")


@pytest.fixture
def fleet(tmp_path: Path, repo: Path) -> Iterator[Fleet]:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("claude", "codex"):
        (programs / name).write_text(STAND_IN.format(python=sys.executable))
        (programs / name).chmod(0o755)
    (tmp_path / "person").mkdir()
    environ = {
        "HOME": str(tmp_path / "person"),
        "CLEARWAY_HOME": str(tmp_path / "state"),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    made = Fleet(tmp_path, repo, environ)
    try:
        yield made
    finally:
        made.end()


def check(fleet: Fleet) -> None:
    assert fleet.faults() == []
    branches = git(fleet.repo, "branch", "--format=%(refname:short)", "--list", "clearway/*").split()
    for issue in fleet.issues:
        if fleet.fate(issue) == "done":
            mine = [branch for branch in branches if branch.startswith(f"clearway/{issue}-")]
            files = [git(fleet.repo, "ls-tree", "--name-only", branch, f"{issue}.txt").strip() for branch in mine]
            assert f"{issue}.txt" in files, f"the work on {issue} is on none of {mine}"
    for number in fleet.tasks:
        task = fleet.task(number)
        assert ("result_id" in task) == (task["state"] != "dead_letter"), task


def test_a_short_night_ends_with_nothing_lost_and_nothing_done_twice(fleet: Fleet) -> None:
    """P57, P58, P59, C47."""
    fleet.ask("set_setting", name="fallbacks", value="claude-code=codex;codex=claude-code")
    fleet.give_tasks(["fine", "broken", "slow", "limited", "fine", "stuck"], ["claude-code", "codex"])
    fleet.give_issues(["fine", "slow", "shaky", "fine"], lambda place: [place - 1] if place in (1, 3) else [])
    fleet.begin(*[["--agent", agent, "--timeout", "4", *WORKS] for agent in ("claude", "codex", "codex")])
    fleet.tend(120, kills=2, restarts=1)
    check(fleet)
    assert all(fleet.fate(issue) == "done" for issue in fleet.issues)


@pytest.mark.skipif(not os.environ.get("CLEARWAY_TEST_FLEET"), reason="CLEARWAY_TEST_FLEET=1 plays the long night")
def test_a_long_night_ends_with_nothing_lost_and_nothing_done_twice(fleet: Fleet) -> None:
    """30 tasks and 20 issues with dependencies over four workers, with kills, limits, timeouts and a host that goes
    away, within 15 minutes."""
    fleet.ask("set_setting", name="fallbacks", value="claude-code=codex;codex=claude-code")
    words = [*["fine"] * 10, *["slow"] * 10, *["limited"] * 4, *["broken"] * 3, *["stuck"] * 3]
    fleet.chance.shuffle(words)
    fleet.give_tasks(words, ["claude-code", "codex"])
    issues = ["fine"] * 20
    issues[3], issues[8], issues[11], issues[15] = "shaky", "slow", "slow", "broken"
    fleet.give_issues(issues, lambda place: [place - step for step in (3, 5) if place >= step and place % 2])
    fleet.begin(*[["--agent", agent, "--timeout", "6", *WORKS] for agent in ("claude", "claude", "codex", "codex")])
    fleet.tend(900, kills=20, restarts=6, every_ms=1_000)
    assert fleet.kills >= 10
    check(fleet)
    parked = {issue for issue in fleet.issues if fleet.fate(issue) != "done"}
    assert "ISSUE-16" in parked
    assert len(parked) <= 4
