"""What people decide for a room, as its hook obeys it; and calls that touch several rooms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git


class Desk:
    """Commands and hooks as a person and a client run them, with a home of their own."""

    def __init__(self, home: Path) -> None:
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(home), "CLEARWAY_HOME": str(home / "state")}

    def command(self, folder: Path, *words: str, status: int = 0, **environ: Any) -> Any:
        """Run one command with --json; its answer."""
        ran = self.run([*words, "--json"], folder, **environ)
        assert ran.returncode == status, ran.stderr + ran.stdout
        return json.loads(ran.stdout or ran.stderr)

    def run(self, words: list[str], folder: Path, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "clearway.surfaces.cli", *words],
            cwd=folder,
            env=self.environ | environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def edit(self, agent: str, file: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """The hook of an agent that is about to edit a file."""
        payload = {
            "event": "before",
            "agent": agent,
            "session": f"{agent}-1",
            "cwd": str(cwd),
            "tool": "Edit",
            "input": {"file_path": str(file)},
        }
        return self.run(["hook", "generic"], cwd, json.dumps(payload))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_hook_says_once_what_is_in_flight_in_another_worktree(desk: Desk, repo: Path) -> None:
    """P17."""
    git(repo, "worktree", "add", "-q", "-b", "feature", str(repo.parent / "feature"))
    feature = repo.parent / "feature"
    assert desk.edit("alpha", feature / "src/a.py", feature).returncode == 0
    first, second = (desk.edit("beta", repo / "src/a.py", repo) for _ in range(2))
    assert (first.returncode, second.returncode, second.stdout) == (0, 0, "")
    assert "alpha on branch feature" in first.stdout
    desk.command(repo, "config", "set", "overlap", "refuse")
    refused = desk.edit("gamma", repo / "src/a.py", repo)
    assert refused.returncode == 2
    assert "PATH_HELD" in refused.stderr


def test_the_hook_shows_a_bound_session_the_path_it_meant(desk: Desk, repo: Path) -> None:
    """C26."""
    git(repo, "worktree", "add", "-q", "-b", "feature", str(repo.parent / "feature"))
    refused = desk.edit("alpha", repo / "src/a.py", repo.parent / "feature")
    assert refused.returncode == 2
    assert refused.stderr.startswith("PATH_OTHER_CHECKOUT: ")
    assert "/repo/src/a.py is in another checkout" in refused.stderr
    assert f"use {repo.parent}/feature/src/a.py" in refused.stderr


def test_a_switched_off_guard_lets_pass_and_says_so(desk: Desk, repo: Path) -> None:
    assert desk.edit("alpha", repo / "held.txt", repo).returncode == 0
    assert desk.command(repo, "off", "30m")["state"] == "off"
    passed = desk.edit("beta", repo / "held.txt", repo)
    assert (passed.returncode, passed.stdout) == (0, "")
    assert "the guard is switched off, this passes: held.txt is held by alpha" in passed.stderr
    assert desk.edit("beta", repo / "free.txt", repo).stderr == ""
    assert desk.command(repo, "owner", "free.txt")["free"] is True
    assert desk.command(repo, "room")["guard"]["state"] == "off"
    assert "the guard is off until" in desk.run(["status"], repo).stdout
    desk.command(repo, "on")
    assert desk.edit("beta", repo / "held.txt", repo).returncode == 2


def test_a_claim_of_paths_in_two_repositories_is_all_or_nothing(desk: Desk, repo: Path, tmp_path: Path) -> None:
    """P5, P16."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "held.txt").write_text("")
    both = (str(repo / "free.txt"), str(other / "held.txt"))
    desk.command(other, "--as", "alpha", "claim", "held.txt")
    assert desk.command(repo, "--as", "beta", "claim", *both, status=4)["code"] == "PATH_HELD"
    assert desk.command(repo, "owner", "free.txt")["free"] is True
    desk.command(other, "--as", "alpha", "release")
    granted = desk.command(repo, "--as", "beta", "claim", *both, "@gpu")["granted"]
    assert {lease["path"] for lease in granted} == {"@gpu", "free.txt", str(other / "held.txt")}
    assert sorted(desk.command(repo, "--as", "beta", "release", *both)["released"]) == ["free.txt", "held.txt"]
    assert desk.command(repo, "owner", "@gpu")["agent"] == "beta"


def test_only_a_person_at_the_command_line_forces(desk: Desk, repo: Path) -> None:
    """P44."""
    desk.command(repo, "--as", "alpha", "claim", "held.txt")
    agents: list[dict[str, Any]] = [
        {"CLEARWAY_AGENT": "beta"},
        {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s"},
    ]
    for environ in agents:
        assert desk.command(repo, "release", "held.txt", "--force", status=1, **environ)["code"] == "FORBIDDEN"
    assert desk.command(repo, "--as", "beta", "release", "held.txt", "--force", status=1)["code"] == "FORBIDDEN"
    assert desk.command(repo, "release", "held.txt", "--force")["released"] == ["held.txt"]
    assert desk.command(repo, "owner", "held.txt")["free"] is True


def test_settings_come_from_the_environment_the_room_the_file_and_the_house_in_this_order(
    desk: Desk, repo: Path
) -> None:
    def lease_seconds(**environ: Any) -> tuple[str, str]:
        found = desk.command(repo, "config", "get", "lease.path_seconds", **environ)
        return found["value"], found["from"]

    assert lease_seconds() == ("1800", "default")
    file = Path(desk.environ["CLEARWAY_HOME"]) / "config.toml"
    file.write_text('overlap = "refuse"\n[lease]\npath_seconds = 600\n')
    assert lease_seconds() == ("600", "config.toml")
    assert desk.command(repo, "config", "get", "overlap")["value"] == "refuse"
    desk.command(repo, "config", "set", "lease.path_seconds", "900")
    assert lease_seconds() == ("900", "room")
    assert lease_seconds(AGENT_LEASE_TTL="60") == ("60", "environment")
    desk.command(repo, "config", "set", "lease.path_seconds")
    assert lease_seconds() == ("600", "config.toml")
    file.write_text('overlap = "perhaps"\n')
    refused = desk.command(repo, "config", "get", "overlap", status=2)
    assert "note or refuse" in refused["message"]
    assert "config.toml" in refused["message"]


def test_a_file_that_is_no_room_keeps_its_permissions(desk: Desk, repo: Path, tmp_path: Path) -> None:
    """Whoever names the wrong file with --room has not given it to us."""
    folder = tmp_path / "letters"
    folder.mkdir(mode=0o755)
    letter = folder / "letter.txt"
    letter.write_text("Dear reader,\n" * 400)
    letter.chmod(0o644)
    assert desk.command(repo, "--room", str(letter), "room", status=5)["code"].startswith("STORAGE_")
    assert [path.stat().st_mode & 0o777 for path in (letter, folder)] == [0o644, 0o755]


def test_a_wait_ends_when_the_path_is_free_and_says_when_it_did_not(desk: Desk, repo: Path) -> None:
    desk.command(repo, "--as", "alpha", "claim", "held.txt")
    late = desk.command(repo, "--as", "beta", "wait", "--path", "held.txt", "--timeout", "1s", status=124)
    assert late["blockers"][0]["agent"] == "alpha"
    assert desk.command(repo, "--as", "alpha", "wait", "--path", "held.txt") == {"free": True}
    desk.command(repo, "--as", "alpha", "claim", "free.txt", "--ttl", "1s")
    assert desk.command(repo, "--as", "beta", "wait", "--path", "free.txt", "--path", "src") == {"free": True}
    assert desk.command(repo, "wait", "--path", "free.txt", "--timeout", "soon", status=2)["code"] == "INVALID_ARGUMENT"
    assert [event["path"] for event in desk.command(repo, "history", "--path", "free.txt")["events"]][-1] == "free.txt"


def test_the_hook_of_a_subagent_keeps_to_its_own_where_the_room_decides_so(desk: Desk, repo: Path) -> None:
    """Also where the fast step would have allowed: what belongs to one thread is never quiet for another."""
    desk.command(repo, "config", "set", "subagents", "exclude")
    desk.environ["CLEARWAY_HOME"] = str(Path(desk.environ["CLEARWAY_HOME"]).resolve())

    def edit(thread: str, file: str) -> str:
        payload = {
            "hook_event_name": "PreToolUse",
            "session_id": "s1",
            "cwd": str(repo),
            "tool_name": "Edit",
            "tool_input": {"file_path": str(repo / file)},
        }
        subagent = {"agent_id": thread, "agent_type": "general-purpose"} if thread else {}
        return desk.run(["hook", "claude"], repo, json.dumps(payload | subagent)).stdout

    assert edit("one", "src/a.py") == edit("one", "src/a.py") == ""
    assert "PATH_HELD" in edit("two", "src/a.py")
    assert edit("", "src/b.py") == ""
    assert edit("two", "src/b.py") == ""


@pytest.mark.parametrize("payload", ["{", "[]", '{"hook_event_name": "PreToolUse", "tool_name": 1}'])
def test_a_call_that_cannot_be_understood_follows_the_fail_mode_of_the_room(
    desk: Desk, repo: Path, payload: str
) -> None:
    """C20: the room is that of the folder in which the hook runs, if the call names none."""
    said = desk.run(["hook", "claude"], repo, payload)
    assert said.stdout == "" and "guard open" in said.stderr
    desk.command(repo, "config", "set", "fail", "closed")
    said = desk.run(["hook", "claude"], repo, payload)
    assert json.loads(said.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
