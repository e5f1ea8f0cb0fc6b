"""`doctor --repair` mends what a program can mend, says so, and connects nobody who was not connected."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.rooms import Rooms
from clearway.setup import doctor, repairing
from clearway.setup.connect import connect


class Machine:
    """A person's home with a connected client, and a repository with work in its room."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.state = tmp_path / "state"
        self.person = tmp_path / "person"
        self.person.mkdir()
        self.environ = {"HOME": str(self.person), "CLEARWAY_HOME": str(self.state), "PATH": os.environ["PATH"]}
        for _ in range(2):  # the second one writes the day's backup
            rooms = Rooms(Settings(self.environ))
            caller = Caller("anna", cwd=str(repo), host="here")
            rooms.ask(OPERATIONS["create_issue"], {"title": "First"}, caller)
            rooms.close()
        connect(["claude"], str(self.state), environ=self.environ, write=True, agent_name="anna")

    @property
    def settings(self) -> Settings:
        return Settings(self.environ)

    @property
    def claude(self) -> Path:
        return self.person / ".claude" / "settings.json"

    @property
    def room(self) -> Path:
        (room,) = self.state.glob("rooms/*/room.db")
        return room

    def repair(self) -> list[str]:
        return repairing.repair(self.settings, str(self.repo))

    def levels(self) -> dict[str, str]:
        found = doctor.examine(self.settings, str(self.repo))
        return {check["name"]: check["level"] for check in found if check["level"] != "ok"}


@pytest.fixture
def machine(tmp_path: Path, repo: Path) -> Machine:
    return Machine(tmp_path, repo)


def test_what_is_in_order_is_left_alone(machine: Machine) -> None:
    before = machine.claude.read_bytes()
    assert machine.repair() == []
    assert machine.claude.read_bytes() == before
    assert not (machine.person / ".codex").exists()


def test_a_hook_whose_interpreter_is_gone_is_registered_again_under_its_name(machine: Machine) -> None:
    machine.claude.write_text(machine.claude.read_text().replace(sys.executable, "/gone/bin/python"))
    assert machine.levels() == {"claude_hooks": "problem"}
    assert any("registers what this version does" in sentence for sentence in machine.repair())
    assert machine.levels() == {}
    assert "CLEARWAY_AGENT=anna" in machine.claude.read_text()


def test_a_registration_that_fails_closed_goes_on_to(machine: Machine) -> None:
    environ = machine.environ | {"CLEARWAY_FAIL_CLOSED": "1"}
    connect(["claude"], str(machine.state), environ=environ, write=True)
    machine.claude.write_text(machine.claude.read_text().replace(sys.executable, "/gone/bin/python"))
    machine.repair()
    assert "CLEARWAY_FAIL_CLOSED=1" in machine.claude.read_text()
    assert sys.executable in machine.claude.read_text()


def test_a_damaged_room_is_mended(machine: Machine) -> None:
    machine.room.write_bytes(b"no database at all" * 1_000)
    assert machine.levels()["room"] == "problem"
    assert "was damaged and is now" in machine.repair()[0]
    assert machine.levels() == {"aside": "notice"}


def test_what_others_could_read_is_closed(machine: Machine) -> None:
    (machine.state / "rooms").chmod(0o755)
    assert machine.repair() == [f"{machine.state / 'rooms'} is closed to other users"]
    assert machine.levels() == {}


def test_the_report_for_programs_has_all_its_parts(machine: Machine) -> None:
    found = doctor.examine(machine.settings, str(machine.repo), full=True)
    report = doctor.report(machine.settings, str(machine.repo), found)
    assert list(report) == [
        "ok", "checks", "store", "hooks", "clients", "delivery", "receipts", "workers", "failover",
    ]  # fmt: skip
    assert report["store"]["room"] == str(machine.room)
    assert len(report["store"]["backups"]) == 1
    assert report["clients"]["claude"] == {"hooks": "ok", "mcp": "ok"}
    assert report["hooks"] == {"passed_unchecked": 0, "by_code": {}}
    assert json.dumps(report)
    assert "every index compared" in next(check["message"] for check in found if check["name"] == "integrity")
