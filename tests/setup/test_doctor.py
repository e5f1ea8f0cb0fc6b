"""The doctor: it finds what is wrong, says how to mend it, and leaves everything as it was."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clearway import platforms
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.guard import shellparse, strangers
from clearway.guard.toolcall import ToolCall
from clearway.rooms import Rooms
from clearway.setup import doctor, registrations, waits
from clearway.setup.connect import CLIENTS, connect

ORDER = [
    "program", "shell_parser", "environment", "home", "modes", "file_system", "disk", "space", "room", "write",
    "integrity", "schema", "agreement", "log", "backups", "aside", "guard", "names",
    *(f"{client}_{what}" for client in CLIENTS for what in ("hooks", "mcp")),
    "enforcement", "git_hooks", "guard_open", "unknown_tools", "host", "latency",
]  # fmt: skip


class Machine:
    """A person's home with clients that may be connected, and one repository."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.person = tmp_path / "person"
        self.state = tmp_path / "state"
        self.repo = repo
        self.environ = {
            "HOME": str(self.person),
            "CLEARWAY_HOME": str(self.state),
            "PATH": os.environ["PATH"],
        }

    @property
    def claude(self) -> Path:
        return self.person / ".claude" / "settings.json"

    @property
    def room(self) -> Path:
        (room,) = self.state.glob("rooms/*/room.db")
        return room

    def make_room(self) -> None:
        rooms = Rooms(Settings(self.environ))
        rooms.ask(OPERATIONS["create_issue"], {"title": "First"}, Caller("anna", cwd=str(self.repo), host="here"))
        rooms.close()

    def connect(self, *clients: str, home: Path | None = None, name: str = "") -> None:
        connect(clients, str(home or self.state), environ=self.environ, write=True, agent_name=name)

    def replace_in_hooks(self, old: str, new: str) -> None:
        text = self.claude.read_text()
        assert old in text
        self.claude.write_text(text.replace(old, new))

    def examine(self, folder: Path | None = None, **environ: str) -> dict[str, dict[str, str]]:
        """The checks by their names, always all of them and in their order."""
        found = doctor.examine(Settings(self.environ | environ), str(folder or self.repo))
        assert [check["name"] for check in found] == ORDER
        assert all(set(check) <= {"name", "level", "message", "fix"} for check in found)
        return {check["name"]: check for check in found}

    def files(self) -> dict[str, bytes | None]:
        """Everything there is, but for the scratch files that SQLite keeps beside a room while one is open."""
        found = [path for root in (self.person, self.state, self.repo) for path in root.rglob("*")]
        kept = [path for path in found if not path.name.endswith(("-shm", "-wal"))]
        return {str(path): path.read_bytes() if path.is_file() else None for path in kept}


@pytest.fixture
def machine(tmp_path: Path, repo: Path) -> Machine:
    made = Machine(tmp_path, repo)
    made.person.mkdir()
    return made


@pytest.fixture
def healthy(machine: Machine) -> Machine:
    machine.make_room()
    machine.connect("claude", "codex")
    return machine


def levels(found: dict[str, dict[str, str]]) -> dict[str, str]:
    """What is not in order."""
    return {name: check["level"] for name, check in found.items() if check["level"] != "ok"}


def test_a_healthy_machine_has_nothing_to_say(healthy: Machine) -> None:
    found = healthy.examine()
    assert levels(found) == {}
    assert "11 events" in found["claude_hooks"]["message"]
    assert "/hooks" in found["codex_hooks"]["message"]


def test_nothing_is_changed(healthy: Machine) -> None:
    before = healthy.files()
    healthy.examine()
    assert healthy.files() == before


def test_nothing_is_made(machine: Machine) -> None:
    found = machine.examine()
    assert "no room yet" in found["room"]["message"]
    assert machine.examine(machine.person)["room"]["message"] == "this folder is in no repository"
    assert not machine.state.exists()


def test_the_program_says_it_in_json_and_by_its_exit_status(healthy: Machine) -> None:
    def run(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "clearway.surfaces.cli", *words]
        ended = subprocess.run(command, env=healthy.environ, cwd=healthy.repo, capture_output=True, text=True)
        assert ended.stderr == ""
        return ended.returncode, ended.stdout

    status, out = run("doctor", "--json")
    assert (status, json.loads(out)["ok"]) == (0, True)
    assert [check["name"] for check in json.loads(out)["checks"]] == ORDER
    healthy.room.parent.parent.chmod(0o755)
    status, out = run("doctor", "--json")
    assert (status, json.loads(out)["ok"]) == (1, False)
    status, out = run("doctor")
    assert status == 1
    assert "problem  modes" in out
    assert "-> chmod" in out


# --- where things are kept --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["secret", "rooms", "rooms/*"])
def test_what_others_can_read_is_a_problem(healthy: Machine, place: str) -> None:
    (healthy.state / "secret").write_bytes(b"s" * 32)
    (healthy.state / "secret").chmod(0o600)
    (path,) = healthy.state.glob(place)
    assert healthy.examine()["modes"]["level"] == "ok"
    path.chmod(0o755)
    found = healthy.examine()["modes"]
    assert (found["level"], found["fix"]) == ("problem", f"chmod -R go= {healthy.state}")
    subprocess.run(found["fix"], shell=True, check=True)
    assert healthy.examine()["modes"]["level"] == "ok"


def test_what_every_command_closes_is_only_told(healthy: Machine) -> None:
    healthy.state.chmod(0o755)
    healthy.room.chmod(0o644)
    assert levels(healthy.examine()) == {"modes": "notice"}
    assert levels(healthy.examine()) == {}


def test_a_network_file_system_is_a_problem(healthy: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "network_file_system", lambda path: "nfs4")
    found = healthy.examine()["file_system"]
    assert found["level"] == "problem"
    assert "nfs4" in found["message"]


def test_a_disk_that_takes_nothing_is_a_problem(healthy: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(doctor.os, "fsync", full)
    found = healthy.examine()["disk"]
    assert found["level"] == "problem"
    assert "No space left" in found["message"]
    assert not list(healthy.state.glob(".doctor-*"))


def test_a_home_that_is_no_folder_is_a_problem(machine: Machine) -> None:
    machine.state.write_text("")
    assert levels(machine.examine())["home"] == "problem"


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({"AGENT_LEASE_DB": "/x"}, "AGENT_LEASE_DB"),
        ({"AGENT_LEASE_DB": "/x", "AGENT_LEASE_SOCKET": "/y"}, "AGENT_LEASE_DB and AGENT_LEASE_SOCKET"),
        ({"CLEARWAY_OFF": "1"}, "CLEARWAY_OFF"),
    ],
)
def test_variables_that_do_something_unexpected_are_named(
    machine: Machine, variables: dict[str, str], word: str
) -> None:
    found = machine.examine(None, **variables)["environment"]
    assert found["level"] == "notice"
    assert word in found["message"]


def test_the_fail_mode_is_said(machine: Machine) -> None:
    assert "fail open" in machine.examine()["environment"]["message"]
    assert "fail closed" in machine.examine(CLEARWAY_FAIL_CLOSED="1")["environment"]["message"]


# --- the room ---------------------------------------------------------------------------------------------------------


def test_a_room_that_is_no_database_is_a_problem_and_left_alone(healthy: Machine) -> None:
    healthy.room.write_bytes(b"no database at all" * 1_000)
    before = healthy.files()
    found = healthy.examine()
    assert found["room"]["level"] == "problem"
    assert "STORAGE_CORRUPT" in found["room"]["message"]
    assert "backup" in found["room"]["fix"]
    assert healthy.files() == before


def test_damage_inside_the_file_is_found(healthy: Machine) -> None:
    """The file opens and answers; a row that breaks the schema's rules is seen only by looking."""
    connection = apsw.Connection(str(healthy.room))
    connection.pragma("ignore_check_constraints", True)
    connection.execute("UPDATE issue SET version = 0")
    connection.close()
    assert levels(healthy.examine()) == {"integrity": "problem"}


def test_a_room_that_somebody_holds_too_long_is_a_problem(healthy: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LOCK_WAIT_MS", 1)
    writer = apsw.Connection(str(healthy.room))
    writer.execute("BEGIN IMMEDIATE")
    found = healthy.examine()
    writer.close()
    assert found["write"]["level"] == "problem"
    assert "STORAGE_BUSY" in found["write"]["message"]


def test_a_newer_room_is_a_problem_and_left_alone(healthy: Machine) -> None:
    connection = apsw.Connection(str(healthy.room))
    connection.pragma("user_version", 999)
    connection.close()
    found = healthy.examine()
    assert "STORAGE_MIGRATION" in found["room"]["message"]
    assert found["write"]["level"] == "ok"


# --- what is registered -----------------------------------------------------------------------------------------------


def test_a_client_that_is_installed_and_not_connected_is_worth_a_word(machine: Machine) -> None:
    nothing = {"PATH": "/nonexistent"}
    assert machine.examine(None, **nothing)["claude_hooks"]["message"] == "not installed here"
    (machine.person / ".claude").mkdir()
    found = machine.examine(None, **nothing)
    assert (found["claude_hooks"]["level"], found["claude_hooks"]["fix"]) == (
        "notice",
        "clearway connect claude --write",
    )
    assert found["codex_hooks"]["level"] == "ok"


def test_an_interpreter_that_is_gone_means_that_nothing_is_guarded(healthy: Machine) -> None:
    healthy.replace_in_hooks(sys.executable, "/gone/bin/python")
    found = healthy.examine()["claude_hooks"]
    assert found["level"] == "problem"
    assert "/gone/bin/python" in found["message"]
    assert found["fix"] == "clearway connect claude --write"


def test_another_installation_that_works_is_only_noticed(healthy: Machine, tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.symlink_to(sys.executable)
    healthy.replace_in_hooks(sys.executable, str(other))
    found = healthy.examine()["claude_hooks"]
    assert found["level"] == "notice"
    assert f"it starts {other}" in found["message"]


def test_a_package_that_is_gone_is_found_by_running_the_hook(healthy: Machine) -> None:
    package = str(Path(doctor.__file__).parents[2])
    healthy.replace_in_hooks(package, "/gone/src")
    found = healthy.examine()["claude_hooks"]
    assert found["level"] == "problem"
    assert "guard open" in found["message"]


def test_a_registration_with_a_room_of_its_own_is_a_problem(machine: Machine, tmp_path: Path) -> None:
    machine.connect("claude", home=tmp_path / "other")
    found = machine.examine()["claude_hooks"]
    assert found["level"] == "problem"
    assert str(tmp_path / "other") in found["message"]
    assert not (tmp_path / "other").exists(), "the hook was not run"


def test_a_registered_name_is_kept_by_the_remedy(machine: Machine) -> None:
    machine.connect("claude", name="anna")
    assert levels(machine.examine(PATH="/usr/bin:/bin")) == {}
    machine.replace_in_hooks(sys.executable, "/gone/bin/python")
    assert machine.examine()["claude_hooks"]["fix"] == "clearway connect claude --write --as anna"


def test_a_server_without_hooks_guards_nothing(healthy: Machine) -> None:
    healthy.claude.unlink()
    found = healthy.examine()
    assert found["claude_hooks"]["level"] == "problem"
    assert found["claude_mcp"]["level"] == "ok"


def test_hooks_without_a_server_are_noticed(healthy: Machine) -> None:
    (healthy.person / ".claude.json").unlink()
    assert levels(healthy.examine()) == {"claude_mcp": "notice"}


def test_an_event_that_is_missing_is_noticed(healthy: Machine) -> None:
    settings = json.loads(healthy.claude.read_text())
    del settings["hooks"]["SessionEnd"]
    healthy.claude.write_text(json.dumps(settings))
    assert levels(healthy.examine()) == {"claude_hooks": "notice"}


@pytest.mark.parametrize("text", ["{", "// a comment\n{}", '{"hooks": ' + "[" * 100_000, "\xff"])
def test_settings_that_cannot_be_read_are_a_problem(healthy: Machine, text: str) -> None:
    healthy.claude.write_text(text, encoding="latin-1")
    found = healthy.examine()["claude_hooks"]
    assert found["level"] == "problem"
    assert str(healthy.claude) in found["message"]


def test_a_hook_that_answers_something_else_is_a_problem(healthy: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def stub(status: int, out: bytes) -> Callable[..., subprocess.CompletedProcess[bytes]]:
        return lambda *_, **__: subprocess.CompletedProcess([], status, out, b"")

    for status, out in ((2, b""), (0, b'{"hookSpecificOutput": {}}'), (127, b"")):
        monkeypatch.setattr(registrations.subprocess, "run", stub(status, out))
        found = healthy.examine()["claude_hooks"]
        assert found["level"] == "problem"
        assert f"exit {status}" in found["message"]


def test_a_hook_that_hangs_is_a_problem(healthy: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registrations, "_HOOK_SECONDS_MAX", 0.001)
    assert "did not answer" in healthy.examine()["claude_hooks"]["message"]


def test_what_is_registered_for_the_project_counts_too(machine: Machine) -> None:
    machine.make_room()
    settings = {"environ": machine.environ, "write": True, "scope": "project", "project": str(machine.repo)}
    connect(["claude"], str(machine.state), **settings)  # pyright: ignore[reportArgumentType]
    found = machine.examine()["claude_hooks"]
    assert found["level"] == "ok"
    assert str(machine.repo) in found["message"]
    assert shutil.which("claude") or machine.examine(machine.person)["claude_hooks"]["message"] == "not installed here"


# --- what happened ----------------------------------------------------------------------------------------------------


def test_calls_that_passed_unchecked_are_counted_for_a_day(healthy: Machine) -> None:
    now = Clock().wall()
    lines = [
        f"{now - 1_000} STORAGE_BUSY", f"{now - 2_000} INTERNAL", f"{now - 3_000} STORAGE_BUSY",
        f"{now - 25 * 3_600_000} STORAGE_BUSY", "nonsense", "", "\xff", f"{now}",
    ]  # fmt: skip
    file = healthy.state / "run" / "guard-open"
    file.parent.mkdir(exist_ok=True)
    file.parent.chmod(0o700)
    file.write_text("\n".join(lines), encoding="latin-1")
    found = healthy.examine()
    assert levels(found) == {"guard_open": "notice"}
    assert "3 calls" in found["guard_open"]["message"]
    assert "(INTERNAL 1, STORAGE_BUSY 2)" in found["guard_open"]["message"]


def test_a_parser_that_does_not_run_is_a_problem(healthy: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellparse.sys, "executable", "")
    monkeypatch.setenv("PATH", "")
    found = healthy.examine()["shell_parser"]
    assert found["level"] == "problem"
    assert "shfmt" in found["message"]


def test_tools_that_seem_to_write_are_listed(machine: Machine) -> None:
    """C17."""
    strangers.note(str(machine.state), ToolCall(client="codex", tool="mcp__x__write_everything"))
    found = machine.examine()["unknown_tools"]
    assert found["level"] == "notice"
    assert "codex mcp__x__write_everything" in found["message"]


def test_a_session_of_two_names_is_noticed(healthy: Machine) -> None:
    rooms = Rooms(Settings(healthy.environ))
    for name in ("claude-code", "planner"):
        caller = Caller(name, "session-1", cwd=str(healthy.repo), host="here")
        rooms.ask(OPERATIONS["create_issue"], {"title": name}, caller)
    rooms.close()
    found = healthy.examine()["names"]
    assert found["level"] == "notice"
    assert "session-1 goes by claude-code and planner" in found["message"]


def test_it_says_how_long_a_client_waits_and_leaves_no_trace(machine: Machine) -> None:
    """C38: client-side latency as a distribution."""
    machine.make_room()
    before = machine.files()
    found = doctor.examine(Settings(machine.environ), str(machine.repo), hook_runs=3)[-1]
    assert found["name"] == "latency"
    assert re.fullmatch(
        r"a hook takes [0-9.]+ ms here from its start to its end \(half of 3\), most [0-9.]+ ms, the slowest [0-9.]+"
        r" ms",
        found["message"],
    )
    assert machine.files() == before


def test_what_is_slow_is_worth_a_word(machine: Machine) -> None:
    assert waits.examined([1.0] * 18 + [200.0] * 2)["level"] == "notice"
    assert waits.examined([1.0] * 99 + [200.0])["level"] == "ok"
    assert waits.spread([float(place) for place in range(1, 101)]) == {
        "runs": 100,
        "p50_ms": 50.0,
        "p95_ms": 95.0,
        "max_ms": 100.0,
    }
    assert machine.examine()["latency"]["message"].startswith("not measured")
