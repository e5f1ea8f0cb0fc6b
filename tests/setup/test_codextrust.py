"""Trust in Codex's hooks: Codex is asked, bounded in time, and only where it could have been given."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from clearway.config import Settings
from clearway.setup import codextrust, registrations
from clearway.setup.connect import connect

APP_SERVER = """#!{python}
import json, sys
assert sys.argv[1:] == ["app-server"]
print("not json", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("id") == 1:
        print(json.dumps({{"id": 1, "result": {{}}}}), flush=True)
    if asked.get("method") == "hooks/list":
        print(json.dumps({{"id": 2, "result": {answer}}}), flush=True)
"""


class Machine:
    def __init__(self, folder: Path) -> None:
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        self.data = str(folder / "data")
        path = f"{self.programs}:{os.environ['PATH']}"
        self.environ = {"HOME": str(self.home), "PATH": str(self.programs), "CLEARWAY_HOME": self.data}
        connect(["codex"], self.data, environ=self.environ, write=True)
        self.environ["PATH"] = path
        self.hooks = self.home / ".codex" / "hooks.json"
        self.config = self.home / ".codex" / "config.toml"

    def codex(self, answer: object, *, sleeps: bool = False) -> None:
        program = self.programs / "codex"
        text = APP_SERVER.format(python=sys.executable, answer=json.dumps(answer))
        program.write_text("#!/bin/sh\nexec sleep 1000\n" if sleeps else text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def trust(self) -> None:
        key = f"{self.hooks}:pre_tool_use:0:0"
        self.config.write_text(f'{self.config.read_text()}\n[hooks.state."{key}"]\ntrusted_hash = "sha256:1"\n')

    def listed(self, *statuses: str) -> object:
        command = json.loads(self.hooks.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        hook = {"sourcePath": str(self.hooks), "command": command, "eventName": "preToolUse"}
        other = {"sourcePath": "/else/hooks.json", "command": command, "eventName": "stop", "trustStatus": "untrusted"}
        return {"data": [{"cwd": "/", "hooks": [other, *({**hook, "trustStatus": status} for status in statuses)]}]}

    def untrusted(self) -> list[str] | None:
        return codextrust.untrusted(str(self.hooks), str(self.home), self.environ)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_codex_nobody_can_tell(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.environ["PATH"] = str(machine.programs)
    assert machine.untrusted() is None


def test_where_nothing_is_trusted_codex_is_not_started(machine: Machine) -> None:
    machine.codex({})
    (machine.programs / "codex").write_text(f"#!/bin/sh\ntouch {machine.home}/started\n")
    assert machine.untrusted() == ["all"]
    assert not (machine.home / "started").exists()


def test_what_codex_skips_is_named(machine: Machine) -> None:
    machine.trust()
    machine.codex(machine.listed("trusted", "modified", "untrusted"))
    assert machine.untrusted() == ["preToolUse", "preToolUse"]
    machine.codex(machine.listed("trusted", "managed"))
    assert machine.untrusted() == []


@pytest.mark.parametrize("answer", [None, [], {"data": 5}, {"data": [{}]}, {"data": ["x"]}])
def test_an_answer_of_another_shape_tells_nothing(machine: Machine, answer: object) -> None:
    machine.trust()
    machine.codex(answer)
    assert machine.untrusted() is None


def test_a_codex_that_never_answers_is_not_waited_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codextrust, "ASK_SECONDS_MAX", 0.2)
    machine.trust()
    machine.codex({}, sleeps=True)
    assert machine.untrusted() is None


def test_the_doctor_says_that_codex_skips_them(machine: Machine) -> None:
    machine.codex(machine.listed("trusted"))
    hooks, _ = registrations.examine("codex", Settings(machine.environ), "", "")
    assert hooks["level"] == "problem"
    assert "not trusted" in hooks["message"] and "/hooks" in hooks["fix"]
    machine.trust()
    hooks, _ = registrations.examine("codex", Settings(machine.environ), "", "")
    assert (hooks["level"], hooks["message"].rpartition("; ")[2]) == ("ok", "Codex trusts it")
