"""What `connect` promises for every client: exact, additive, repeatable, and taken back to the byte."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from clearway.config import Settings
from clearway.errors import Refusal
from clearway.setup import registrations
from clearway.setup.connect import CLIENTS, Change, connect, disconnect, installed, registered
from clearway.setup.connect.shapes import Asked
from clearway.setup.registered import Binding, read_hook_command

MORE = ["opencode", "vscode", "cursor", "windsurf", "goose", "kiro", "cline"]


class Machine:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.data = str(folder / "data")
        self.project = folder / "project"
        self.project.mkdir()
        self.environ: dict[str, str] = {"HOME": str(self.home), "PATH": ""}

    def connect(self, client: str, *, write: bool = True, scope: str = "user", name: str = "") -> list[Change]:
        return connect(
            [client],
            self.data,
            environ=self.environ,
            write=write,
            scope=scope,
            agent_name=name,
            project=str(self.project),
        )

    def disconnect(self, client: str) -> list[Change]:
        return disconnect([client], self.data, environ=self.environ, write=True, project=str(self.project))

    def settings(self, client: str) -> dict[str, Path]:
        """The files of a client, by what they are for: hooks and server."""
        asked = Asked("user", "", Binding(self.data), self.environ)
        return {
            "hooks" if file.commands and not file.serves else "server": Path(file.path)
            for file in CLIENTS[client].files(asked)
        }

    def files(self) -> dict[str, bytes]:
        found = [*self.home.rglob("*"), *self.project.rglob("*")]
        return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(found)}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_client_without_settings_gets_some_and_is_left_without_any(machine: Machine, client: str, scope: str) -> None:
    before = machine.files()
    changes = machine.connect(client, scope=scope)
    assert changes and all(change.before is None for change in changes)
    commands = registered([client], machine.data, environ=machine.environ, project=str(machine.project))
    assert commands
    for _, _, command in commands:
        found = read_hook_command(command)
        assert found is not None
        assert (found.client, found.environment) == (client, {"CLEARWAY_HOME": machine.data})
    machine.disconnect(client)
    assert {path for path, text in machine.files().items() if text} == set()
    assert before == {}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_run_changes_nothing(machine: Machine, client: str) -> None:
    shown = machine.connect(client, write=False)
    assert machine.files() == {}
    written = machine.connect(client)
    assert [change.diff for change in written] == [change.diff for change in shown]
    before = machine.files()
    assert machine.connect(client) == []
    assert machine.files() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_another_name_and_fail_mode_change_every_entry(machine: Machine, client: str) -> None:
    machine.connect(client)
    machine.environ["CLEARWAY_FAIL_CLOSED"] = "1"
    machine.connect(client, name="ada")
    baked = {"CLEARWAY_HOME": machine.data, "CLEARWAY_AGENT": "ada", "CLEARWAY_FAIL_CLOSED": "1"}
    commands = [
        read_hook_command(command) for _, _, command in registered([client], machine.data, environ=machine.environ)
    ]
    assert commands and all(command and command.environment == baked for command in commands)
    for path, text in machine.files().items():
        assert b"CLEARWAY_HOME" not in text or b"CLEARWAY_AGENT" in text, path


@pytest.mark.parametrize("client", ["opencode", "vscode", "cursor", "windsurf", "kiro", "cline"])
def test_servers_of_other_people_stay_and_come_back_to_the_byte(machine: Machine, client: str) -> None:
    """P61."""
    file = machine.settings(client)["server"]
    file.parent.mkdir(parents=True)
    table = {"opencode": "mcp", "vscode": "servers"}.get(client, "mcpServers")
    theirs = '{ "a": 1.0,\n   "TABLE": {"other": {"command": ["o"]}},\n "z": [1,  2]}\n'.replace("TABLE", table)
    file.write_text(theirs)
    machine.connect(client)
    assert json.loads(file.read_text())[table].keys() == {"other", "clearway"}
    assert file.read_text().startswith(theirs[: theirs.index("}}")])
    assert (file.parent / f"{file.name}.clearway-backup").read_text() == theirs
    machine.disconnect(client)
    assert file.read_text() == theirs


@pytest.mark.parametrize("client", ["cursor", "windsurf", "vscode", "goose"])
def test_hooks_of_other_people_stay_and_come_back_to_the_byte(machine: Machine, client: str) -> None:
    """P61."""
    machine.connect(client)
    file = machine.settings(client)["hooks"]
    if client == "goose":
        file = file.parent / "hooks" / "hooks.json"
    event = next(iter(json.loads(file.read_text())["hooks"]))
    machine.disconnect(client)
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = '{"type": "command", "command": "/home/dev/clearway/lint.sh"}'
    entry = f'{{"hooks": [{handler}]}}' if client == "goose" else handler
    theirs = f'{{\n    "hooks": {{ "{event}": [ {entry} ] }}\n}}\n'
    file.write_text(theirs)
    machine.connect(client)
    assert handler in file.read_text()
    assert len(json.loads(file.read_text())["hooks"][event]) == 2
    machine.disconnect(client)
    assert file.read_text() == theirs


@pytest.mark.parametrize("client", ["opencode", "vscode"])
def test_comments_stay_where_the_client_reads_them(machine: Machine, client: str) -> None:
    file = machine.settings(client)["server"]
    if client == "opencode":
        file = file.with_name("opencode.jsonc")
    file.parent.mkdir(parents=True)
    table = {"opencode": "mcp", "vscode": "servers"}[client]
    theirs = f"""{{
  // what I like
  "theme": "dark", /* really */
  "{table}": {{
    // the other one
    "other": {{ "command": ["o"], "url": "http://x//y" }}, // last
  }},
}}
"""
    file.write_text(theirs)
    machine.connect(client)
    text = file.read_text()
    assert all(comment in text for comment in ("// what I like", "/* really */", "// the other one", "// last"))
    plain = re.sub(r"(?m)^\s*//.*$|// last|/\*.*?\*/", "", text)
    assert "clearway" in json.loads(re.sub(r",(\s*[}\]])", r"\1", plain))[table]
    assert machine.connect(client) == []
    machine.disconnect(client)
    assert file.read_text() == theirs


@pytest.mark.parametrize("client", ["cursor", "windsurf", "kiro", "cline"])
def test_comments_are_refused_where_the_client_does_not_read_them(machine: Machine, client: str) -> None:
    file = machine.settings(client)["server"]
    file.parent.mkdir(parents=True)
    file.write_text("{} // mine\n")
    before = machine.files()
    with pytest.raises(Refusal, match="not valid JSON"):
        machine.connect(client)
    assert machine.files() == before


@pytest.mark.parametrize("client", ["opencode", "kiro", "cline"])
def test_a_file_with_our_name_that_is_not_ours_is_left_alone(machine: Machine, client: str) -> None:
    machine.connect(client)
    asked = Asked("user", "", Binding(machine.data), machine.environ)
    file = Path(CLIENTS[client].files(asked)[0].path)
    file.write_text("// something else\n")
    before = machine.files()
    with pytest.raises(Refusal, match="left alone"):
        machine.connect(client, name="ada")
    assert machine.files() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_of_somebody_else_with_our_name_is_refused(machine: Machine, client: str) -> None:
    if client in ("codex", "goose", "gemini", "qwen"):
        pytest.skip("elsewhere, or nowhere")
    file = machine.settings(client)["server"]
    file.parent.mkdir(parents=True, exist_ok=True)
    table = {"opencode": "mcp", "vscode": "servers"}.get(client, "mcpServers")
    command = ["/usr/bin/other", "mcp"] if client == "opencode" else "/usr/bin/other"
    file.write_text(json.dumps({table: {"clearway": {"command": command, "args": ["mcp"]}}}))
    with pytest.raises(Refusal, match="not ours"):
        machine.connect(client)


@pytest.mark.parametrize("client", MORE)
def test_whether_a_client_was_proved_is_said(machine: Machine, client: str) -> None:
    notes = " ".join(note for change in machine.connect(client) for note in change.notes)
    assert ("Not proved with the real client" in notes) == (client not in ("opencode", "cline"))


def test_clines_extension_is_said_to_be_only_advised(machine: Machine) -> None:
    assert "Advisory only" in " ".join(note for change in machine.connect("cline") for note in change.notes)


def test_what_goose_keeps_in_yaml_is_said_and_not_written(machine: Machine) -> None:
    settings = machine.home / ".config/goose/config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("extensions:\n  # mine\n  other: {enabled: true}\n")
    notes = " ".join(note for change in machine.connect("goose") for note in change.notes)
    assert str(settings) in notes and machine.data in notes and "args: [mcp]" in notes
    assert settings.read_text() == "extensions:\n  # mine\n  other: {enabled: true}\n"


def test_the_scripts_of_cline_can_be_run(machine: Machine) -> None:
    machine.connect("cline")
    script = machine.home / ".cline/hooks/PreToolUse.sh"
    assert os.access(script, os.X_OK)
    gone = script.read_text().replace("exec ", "exec /gone", 1).replace("test -x ", "test -x /gone", 1)
    script.write_text(gone)
    ended = subprocess.run(["sh", str(script)], input=b"{}", capture_output=True)
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert ended.stderr == b"clearway: not installed, guard open\n"


def test_installed_clients_are_found_by_their_folders(machine: Machine) -> None:
    folders = {
        "opencode": ".config/opencode",
        "vscode": ".config/Code/User",
        "cursor": ".cursor",
        "windsurf": ".codeium/windsurf",
        "goose": ".config/goose",
        "kiro": ".kiro",
        "cline": ".cline",
    }
    for client, folder in folders.items():
        assert client not in installed(machine.environ)
        (machine.home / folder).mkdir(parents=True)
        assert client in installed(machine.environ)


@pytest.mark.parametrize("client", MORE)
def test_the_doctor_knows_what_is_registered_and_tries_it(machine: Machine, client: str) -> None:
    environ = {**machine.environ, "CLEARWAY_HOME": machine.data, "PATH": os.environ["PATH"]}
    machine.environ["PATH"] = os.environ["PATH"]
    machine.connect(client)
    hooks, server = registrations.examine(client, Settings(environ), "", "")
    assert (hooks["level"], server["level"]) == ("ok", "ok"), (hooks, server)
    assert "events are registered" in hooks["message"]
    machine.connect(client, name="ada")
    assert registrations.examine(client, Settings(environ), "", "")[0]["level"] == "ok"
    machine.disconnect(client)
    assert registrations.standing(client, Settings(environ), "") is None
