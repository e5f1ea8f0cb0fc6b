"""Gemini CLI, Qwen Code and Copilot CLI: what is registered where. What holds for every client is in another file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clearway.config import Settings
from clearway.setup import registrations
from clearway.setup.connect import connect, disconnect, installed
from clearway.setup.registered import read_hook_command

# As a person may have written them: with comments, an own order and an own hook.
COMMENTED = """// mine
{
  "theme": "dark", // easy on the eyes
  "hooks": {
    /* my linter */
    "BeforeTool": [
      // first
      { "matcher": "write_file", "hooks": [{ "type": "command", "command": "/home/dev/clearway/lint.sh" }] } // and last
    ],
    "AfterTool": [] // nothing yet
    // the end
  },
  "mcpServers": {
    // the other one
    "other": { "command": "other" } // it is slow
  },
  "ui": {} // all of it
}
"""


class Machine:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.data = str(folder / "data")
        self.environ: dict[str, str] = {"HOME": str(self.home), "PATH": ""}

    def connect(self, client: str, **options: Any) -> list[Any]:
        return connect([client], self.data, environ=self.environ, write=True, **options)

    def disconnect(self, client: str) -> None:
        disconnect([client], self.data, environ=self.environ, write=True)

    def read(self, *parts: str) -> dict[str, Any]:
        return json.loads(self.home.joinpath(*parts).read_text())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_gemini_gets_hooks_and_server_in_one_file(machine: Machine) -> None:
    machine.connect("gemini")
    written = machine.read(".gemini", "settings.json")
    assert {event: groups[0].get("matcher") for event, groups in written["hooks"].items()} == {
        "BeforeTool": "*",
        "AfterTool": "write_file|replace|run_shell_command|invoke_agent|mcp_.*",
        "BeforeAgent": None,
        "AfterAgent": None,
        "SessionStart": None,
        "SessionEnd": None,
        "PreCompress": "manual",
    }
    handler = written["hooks"]["BeforeTool"][0]["hooks"][0]
    assert (handler["type"], handler["name"], handler["timeout"]) == ("command", "clearway", 5_000)
    server = written["mcpServers"]["clearway"]
    assert (server["args"], server["env"]) == (["mcp"], {"CLEARWAY_HOME": machine.data})
    assert "trust" not in server, "whether to be asked is the person's to decide"


def test_qwen_gets_claudes_events(machine: Machine) -> None:
    machine.connect("qwen")
    written = machine.read(".qwen", "settings.json")
    assert list(written["hooks"]) == [
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionStart", "UserPromptSubmit", "Stop"),
        *("SubagentStop", "PreCompact", "SessionEnd"),
    ]
    assert {group["hooks"][0]["timeout"] for groups in written["hooks"].values() for group in groups} == {5_000}
    assert written["mcpServers"]["clearway"]["env"] == {"CLEARWAY_HOME": machine.data}


def test_copilot_gets_a_file_of_hooks_and_its_server(machine: Machine) -> None:
    machine.connect("copilot")
    hooks = machine.read(".copilot", "hooks", "clearway.json")
    assert hooks["version"] == 1
    assert list(hooks["hooks"]) == [
        *("preToolUse", "postToolUse", "postToolUseFailure", "sessionStart", "userPromptSubmitted", "agentStop"),
        *("subagentStart", "subagentStop", "preCompact", "sessionEnd"),
    ]
    for (handler,) in hooks["hooks"].values():
        found = read_hook_command(handler["bash"])
        assert found is not None
        assert (found.client, handler["timeoutSec"]) == ("copilot", 5)
    server = machine.read(".copilot", "mcp-config.json")["mcpServers"]["clearway"]
    assert (server["type"], server["args"], server["tools"]) == ("local", ["mcp"], ["*"])


def test_which_tools_copilot_shows_is_the_persons_choice(machine: Machine) -> None:
    machine.connect("copilot")
    file = machine.home / ".copilot" / "mcp-config.json"
    written = json.loads(file.read_text())
    written["mcpServers"]["clearway"]["tools"] = ["room"]
    file.write_text(json.dumps(written))
    assert machine.connect("copilot") == []


def test_a_folder_that_the_person_has_moved_is_found(machine: Machine, tmp_path: Path) -> None:
    machine.environ["COPILOT_HOME"] = str(tmp_path / "elsewhere")
    machine.connect("copilot")
    assert (tmp_path / "elsewhere" / "hooks" / "clearway.json").is_file()
    assert (tmp_path / "elsewhere" / "mcp-config.json").is_file()
    assert not (machine.home / ".copilot").exists()


@pytest.mark.parametrize("client", ["gemini", "qwen"])
def test_comments_and_order_stay_and_come_back_to_the_byte(machine: Machine, client: str) -> None:
    """P61."""
    file = machine.home / f".{client}" / "settings.json"
    file.parent.mkdir()
    file.write_text(COMMENTED)
    machine.connect(client)
    joined = file.read_text()
    for line in COMMENTED.splitlines():
        for comment in (part for part in (line.partition("//")[1:], line.partition("/*")[1:]) if part[0]):
            assert "".join(comment).strip() in joined
    assert machine.connect(client) == []
    assert file.with_name("settings.json.clearway-backup").read_text() == COMMENTED
    machine.disconnect(client)
    assert file.read_text() == COMMENTED


def test_hooks_of_other_people_in_our_file_of_copilot_stay(machine: Machine) -> None:
    file = machine.home / ".copilot" / "hooks" / "clearway.json"
    file.parent.mkdir(parents=True)
    theirs = '{"version":1,"hooks":{"preToolUse":[{"type":"command","bash":"/home/dev/clearway/lint.sh"}]}}\n'
    file.write_text(theirs)
    machine.connect("copilot")
    assert len(machine.read(".copilot", "hooks", "clearway.json")["hooks"]["preToolUse"]) == 2
    machine.disconnect("copilot")
    assert file.read_text() == theirs


@pytest.mark.parametrize(("client", "folder"), [("gemini", ".gemini"), ("qwen", ".qwen"), ("copilot", ".copilot")])
def test_a_client_is_found_by_its_folder_and_known_to_the_doctor(
    machine: Machine, client: str, folder: str, tmp_path: Path
) -> None:
    assert client not in installed(machine.environ)
    (machine.home / folder).mkdir()
    assert client in installed(machine.environ)
    settings = Settings({**machine.environ, "CLEARWAY_HOME": machine.data})
    hooks, server = registrations.examine(client, settings, "", "")
    assert (hooks["level"], server["level"]) == ("notice", "notice")
    machine.connect(client)
    hooks, server = registrations.examine(client, settings, "", "")
    assert (hooks["level"], server["level"]) == ("ok", "ok"), (hooks, server)


@pytest.mark.skipif(sys.platform != "linux", reason="whether bash reads its start-up file for a socket differs")
def test_the_doctor_hears_what_spoils_the_words_of_geminis_hooks(machine: Machine) -> None:
    machine.connect("gemini")
    settings = Settings({**machine.environ, "PATH": "/usr/bin:/bin", "CLEARWAY_HOME": machine.data})
    assert registrations.examine("gemini", settings, "", "")[0]["level"] == "ok"
    (machine.home / ".bashrc").write_text("echo Welcome back\n")
    hooks, _ = registrations.examine("gemini", settings, "", "")
    assert hooks["level"] == "notice"
    assert ".bashrc" in hooks["message"]


@pytest.mark.parametrize("client", ["gemini", "qwen", "copilot"])
def test_a_registered_command_ends_well_when_the_product_is_gone(machine: Machine, client: str, tmp_path: Path) -> None:
    machine.connect(client)
    gone = str(tmp_path / "gone")
    for file in machine.home.rglob("*.json"):
        for value in _commands(json.loads(file.read_text())):
            found = read_hook_command(value)
            assert found is not None
            command = value.replace(found.interpreter, gone)
            ended = subprocess.run(["bash", "-c", command], input=b"{}", capture_output=True, check=False)
            assert (ended.returncode, ended.stdout) == (0, b"")


def _commands(document: dict[str, Any]) -> list[str]:
    handlers = [
        handler
        for groups in document.get("hooks", {}).values()
        for group in groups
        for handler in group.get("hooks", [group])
    ]
    return [handler.get("bash") or handler["command"] for handler in handlers]
