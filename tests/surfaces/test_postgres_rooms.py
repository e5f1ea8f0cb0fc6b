"""A team's room on a PostgreSQL server, behind the hook and the command line as a local one is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git

from clearway import config
from clearway.db import copies
from clearway.surfaces import hooks


class Machine:
    """One machine of a team: its own state, and a clone."""

    def __init__(self, folder: Path, repo: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.home = folder / "state"
        self.repo = repo
        self.environ = {"HOME": str(folder), "CLEARWAY_HOME": str(self.home), "PATH": os.environ["PATH"]}

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "clearway.surfaces.cli", *words],
            env=self.environ | environ,
            cwd=self.repo,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def json(self, *words: str, **environ: str) -> Any:
        ended = self.run("--json", *words, **environ)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def code(self, *words: str, **environ: str) -> tuple[str, int]:
        ended = self.run(*words, **environ)
        return ended.stderr.strip().splitlines()[-1].partition(":")[0], ended.returncode

    def hook(self, event: str, session: str, file: str = "", **environ: str) -> tuple[str, str, int]:
        payload = {"event": event, "agent": session, "session": session, "cwd": str(self.repo)}
        if file:
            payload |= {"tool": "Edit", "input": {"file_path": str(self.repo / file)}}  # type: ignore[dict-item]
        return hooks.answer("generic", json.dumps(payload).encode(), self.environ | environ)

    def address(self) -> Path:
        (found,) = self.home.glob("rooms/*/address")
        return found


@pytest.fixture
def anna(tmp_path: Path, repo: Path, postgres_dsn: str) -> Machine:
    """The machine on which the team's room was made."""
    machine = Machine(tmp_path / "anna", repo)
    ended = machine.run("init", "--database", postgres_dsn, "--name", "Team")
    assert ended.returncode == 0, ended.stderr
    assert postgres_dsn not in ended.stdout + ended.stderr
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "room")
    return machine


@pytest.fixture
def other(anna: Machine, tmp_path: Path) -> Callable[[], Machine]:
    def make() -> Machine:
        git(tmp_path, "clone", "-q", str(anna.repo), "clone")
        return Machine(tmp_path / "other", tmp_path / "clone")

    return make


def test_the_repository_knows_that_there_is_a_room_and_this_machine_where(anna: Machine, postgres_dsn: str) -> None:
    assert config.read_team(str(anna.repo)) == config.read_pointer(str(anna.repo))
    assert json.loads((anna.repo / ".clearway-team.json").read_text()) == {
        "version": 1,
        "project_id": config.read_pointer(str(anna.repo)),
        "kind": "team",
    }
    assert anna.address().read_text().strip() == postgres_dsn
    assert anna.address().stat().st_mode & 0o777 == 0o600
    assert not list(anna.home.glob("rooms/*/room.db"))


def test_a_machine_that_does_not_know_the_address_makes_no_room(other: Callable[[], Machine]) -> None:
    machine = other()
    ended = machine.run("room")
    assert ended.returncode == 5
    assert "PROJECT_NOT_CONNECTED" in ended.stderr
    assert "clearway init --database DSN" in ended.stderr
    assert machine.code("init") == ("PROJECT_ALREADY_INITIALIZED", 4)
    out, err, status = machine.hook("before", "s1", "free.txt")
    assert (out, status) == ("", 0)
    assert "guard open (PROJECT_NOT_CONNECTED" in err
    assert machine.hook("before", "s1", "free.txt", CLEARWAY_FAIL_CLOSED="1")[2] == 2
    assert not list(machine.home.glob("rooms/*/room.db"))
    folder = machine.home / "rooms" / str(config.read_team(str(machine.repo)))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "address").touch()  # an empty one, as a crash may leave it
    assert machine.code("room") == ("PROJECT_NOT_CONNECTED", 5)
    assert not list(machine.home.glob("rooms/*/room.db"))


def test_two_machines_share_the_room(anna: Machine, other: Callable[[], Machine], postgres_dsn: str) -> None:
    anna.json("issue", "create", "Here", "--status", "ready")
    machine = other()
    ended = machine.run("init", "--database", postgres_dsn)
    assert ended.returncode == 0, ended.stderr
    assert "It had 1 issue already" in ended.stdout
    assert machine.json("next", CLEARWAY_AGENT="bert", CLEARWAY_SESSION="b1")["display_id"] == "ISSUE-1"
    assert anna.code("next", CLEARWAY_AGENT="anna", CLEARWAY_SESSION="a1")[0] == "NOTHING_TO_CLAIM"
    assert git(machine.repo, "status", "--porcelain") == ""


def test_the_hook_guards_what_is_held_there(anna: Machine) -> None:
    assert anna.hook("before", "s1", "held.txt") == ("", "", 0)
    out, err, status = anna.hook("before", "s2", "held.txt")
    assert (out, status) == ("", 2)
    assert "held.txt is held by s1" in err
    assert anna.json("owner", "held.txt")["agent"] == "s1"
    assert anna.hook("end", "s1") == ("", "", 0)
    assert anna.hook("before", "s2", "held.txt") == ("", "", 0)


def test_a_turn_ends_also_in_a_room_in_which_the_client_does_not_work(anna: Machine, tmp_path: Path) -> None:
    """Which rooms a session is in is known by files, although its beats there are rows."""
    anna.hook("before", "s1", "held.txt")
    payload = {"event": "stop", "agent": "s1", "session": "s1", "cwd": str(tmp_path)}
    assert hooks.answer("generic", json.dumps(payload).encode(), anna.environ) == ("", "", 0)
    assert anna.json("owner", "held.txt")["free"] is True


def test_a_server_that_is_gone_follows_the_fail_mode(anna: Machine) -> None:
    anna.address().write_text("postgresql://nobody@127.0.0.1:1/none\n")
    out, err, status = anna.hook("before", "s1", "held.txt")
    assert (out, status) == ("", 0)
    assert "guard open (STORAGE_FAILURE" in err
    assert anna.hook("before", "s1", "held.txt", CLEARWAY_FAIL_CLOSED="1")[2] == 2
    assert anna.code("room") == ("STORAGE_FAILURE", 5)


@pytest.mark.parametrize(
    ("address", "code"),
    [("postgresql://nobody@127.0.0.1:1/none", "STORAGE_FAILURE"), ("nonsense", "STORAGE_CONFIGURATION")],
)
def test_an_address_that_leads_nowhere_changes_nothing(tmp_path: Path, repo: Path, address: str, code: str) -> None:
    machine = Machine(tmp_path / "anna", repo)
    assert machine.code("init", "--database", address) == (code, 5)
    assert git(repo, "status", "--porcelain") == ""
    assert not list(machine.home.glob("rooms/*/address"))


def test_a_wrong_server_is_noticed_by_a_team(other: Callable[[], Machine], anna: Machine, postgres_dsn: str) -> None:
    """A project with a team file is never begun anew at another address."""
    machine = other()
    (machine.repo / ".clearway-team.json").unlink()
    (machine.repo / ".clearway.json").write_text(config.pointer_text("01JD0000000000000000000000"))
    (machine.repo / ".clearway-team.json").write_text(config.team_text("01JD0000000000000000000000"))
    ended = machine.run("init", "--database", postgres_dsn)
    assert ended.returncode == 3
    assert "no room of this project at that address" in ended.stderr


def test_a_local_room_with_issues_is_not_hidden_by_one_on_a_server(
    tmp_path: Path, repo: Path, postgres_dsn: str
) -> None:
    """C35: init never starts empty beside existing work without saying so."""
    machine = Machine(tmp_path / "anna", repo)
    machine.json("issue", "create", "Here")
    assert machine.code("init", "--database", postgres_dsn) == ("PROJECT_ALREADY_INITIALIZED", 4)
    assert machine.json("issue", "list")["items"][0]["title"] == "Here"


def test_a_local_room_without_issues_steps_aside(tmp_path: Path, repo: Path, postgres_dsn: str) -> None:
    machine = Machine(tmp_path / "anna", repo)
    machine.hook("before", "s1", "held.txt")
    ended = machine.run("init", "--database", postgres_dsn)
    assert ended.returncode == 0, ended.stderr
    assert "The empty room that was here is now" in ended.stdout
    assert not list(machine.home.glob("rooms/*/room.db"))
    assert machine.json("issue", "create", "There")["display_id"] == "ISSUE-1"


def test_a_room_can_be_named_for_one_command(anna: Machine, tmp_path: Path, postgres_dsn: str) -> None:
    anna.json("issue", "create", "Here")
    anna.address().unlink()
    assert anna.json("--room", postgres_dsn, "issue", "list")["items"][0]["title"] == "Here"
    assert anna.json("issue", "list", CLEARWAY_ROOM=postgres_dsn)["items"][0]["title"] == "Here"
    assert anna.code("--room", str(tmp_path / "none.db"), "issue", "list") == ("PROJECT_NOT_FOUND", 3)


def test_a_team_can_take_its_room_with_it(anna: Machine, tmp_path: Path) -> None:
    """I62: a logical copy in one file, which any machine can open."""
    anna.json("issue", "create", "Here")
    anna.hook("before", "s1", "held.txt")
    made = anna.json("backup", "--output", str(tmp_path / "team.db"))
    assert made["latest_event_id"] == copies.examine(str(tmp_path / "team.db")).events
    found = anna.json("--room", str(tmp_path / "team.db"), "issue", "list")["items"]
    assert [item["title"] for item in found] == ["Here"]
    refused = anna.code("restore-backup", str(tmp_path / "team.db"))
    assert refused == ("STORAGE_CONFIGURATION", 5)


def test_the_doctor_looks_at_a_room_on_a_server(anna: Machine) -> None:
    found = {check["name"]: check for check in anna.json("doctor")["checks"]}
    assert "PostgreSQL schema" in found["room"]["message"]
    assert found["write"]["level"] == "ok"
