"""Connecting and disconnecting clients, on real files in a home folder of the test's own."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clearway.errors import Refusal
from clearway.setup.connect import Change, connect, disconnect, installed, registered
from clearway.setup.registered import Binding, Product, is_wait_command, read_hook_command, wait_command

OURS = "clearway-backup"
SETTINGS = """{
    "model": "opus", "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "/home/dev/clearway/lint.sh"}]}
        ],
        "Stop": [ { "hooks": [ { "type": "command", "command": "say done" } ] } ]
    }
}
"""
CONFIG = """# my Codex
model = "gpt-5.5"   # the good one

[sandbox_workspace_write]
network_access = true
writable_roots = [
  "/data", # big files
]

# the other server
[mcp_servers.other]
command = "other"
"""


class Machine:
    """A person's home folder, and the commands as typed there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.data = str(folder / "data")
        self.environ: dict[str, str] = {"HOME": str(self.home), "PATH": ""}
        self.claude_settings = self.home / ".claude" / "settings.json"
        self.claude_state = self.home / ".claude.json"
        self.codex_hooks = self.home / ".codex" / "hooks.json"
        self.codex_config = self.home / ".codex" / "config.toml"

    def connect(self, *clients: str, write: bool = True, **options: Any) -> list[Change]:
        return connect(clients or ("claude", "codex"), options.pop("data", self.data), **self._options(write, options))

    def disconnect(self, *clients: str, write: bool = True, **options: Any) -> list[Change]:
        return disconnect(clients, self.data, **self._options(write, options))

    def _options(self, write: bool, options: Mapping[str, Any]) -> dict[str, Any]:
        return {"environ": self.environ, "write": write, **options}

    def lived_in(self) -> Machine:
        """With settings of the person's own in every file."""
        for file, text in {
            self.claude_settings: SETTINGS,
            self.claude_state: '{"numStartups":3,"mcpServers":{"other":{"command":"o"}},"oauth":"x"}',
            self.codex_hooks: SETTINGS,
            self.codex_config: CONFIG,
        }.items():
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        return self

    def files(self) -> dict[str, bytes]:
        """Everything in the home folder, folders too."""
        found = sorted(self.home.rglob("*"))
        return {str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else b"" for path in found}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def events(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())["hooks"]


def ours(file: Path) -> list[dict[str, Any]]:
    """Our handlers in a file of hooks."""
    groups = [group for entries in events(file).values() for group in entries]
    return [handler for group in groups for handler in group["hooks"] if read_hook_command(handler.get("command"))]


# --- what is registered ---------------------------------------------------------------------------------------------


def test_claude_gets_its_hooks_and_its_server(machine: Machine) -> None:
    machine.connect("claude")
    after = "Edit|Write|MultiEdit|NotebookEdit|Bash|PowerShell|Agent|mcp__.*"
    assert {
        event: [group.get("matcher") for group in groups] for event, groups in events(machine.claude_settings).items()
    } == {
        "PreToolUse": ["*"],
        "PostToolUse": [after],
        "PostToolUseFailure": [after],
        "SessionStart": [None],
        "UserPromptSubmit": [None],
        "Stop": [None],
        "SubagentStart": [None],
        "SubagentStop": [None],
        "PreCompact": [None],
        "SessionEnd": [None],
        "Notification": ["idle_prompt"],
    }
    handlers = ours(machine.claude_settings)
    assert {(handler["type"], handler["timeout"]) for handler in handlers} == {("command", 5)}
    assert all(handler.keys() == {"type", "command", "timeout"} for handler in handlers)
    server = json.loads(machine.claude_state.read_text())["mcpServers"]["clearway"]
    assert (server["type"], server["args"], server["alwaysLoad"]) == ("stdio", ["mcp"], True)
    assert os.path.basename(server["command"]) == "clearway"


def test_codex_gets_its_hooks_its_server_and_its_writable_folder(machine: Machine) -> None:
    machine.connect("codex")
    names = "PreToolUse PostToolUse SessionStart UserPromptSubmit Stop SubagentStart SubagentStop PreCompact"
    assert list(events(machine.codex_hooks)) == [*names.split(), "SessionEnd", "Interrupt"]
    assert [group.get("matcher") for group in events(machine.codex_hooks)["PreToolUse"]] == ["*"]
    seconds = {event: groups[0]["hooks"][0]["timeout"] for event, groups in events(machine.codex_hooks).items()}
    assert {event for event, timeout in seconds.items() if timeout != 5} == {"SessionEnd", "Interrupt"}
    assert max(seconds.values()) == 5
    config = tomllib.loads(machine.codex_config.read_text())
    assert config["mcp_servers"]["clearway"]["args"] == ["mcp"]
    assert config["sandbox_workspace_write"]["writable_roots"] == [machine.data]


def test_codex_shows_its_model_our_tools_at_once(machine: Machine) -> None:
    machine.connect()
    server = tomllib.loads(machine.codex_config.read_text())["mcp_servers"]["clearway"]
    assert server["omit_tools_from"] == ["deferred"]
    machine.codex_config.write_text(machine.codex_config.read_text().replace('["deferred"]', "[]"))
    machine.connect()
    assert tomllib.loads(machine.codex_config.read_text())["mcp_servers"]["clearway"]["omit_tools_from"] == []


def test_hooks_and_servers_are_bound_to_one_room_folder_fail_mode_and_name(machine: Machine) -> None:
    machine.environ["CLEARWAY_FAIL_CLOSED"] = "1"
    machine.connect(agent_name="ada")
    baked = {"CLEARWAY_HOME": machine.data, "CLEARWAY_AGENT": "ada", "CLEARWAY_FAIL_CLOSED": "1"}
    for file, client in ((machine.claude_settings, "claude"), (machine.codex_hooks, "codex")):
        commands = [read_hook_command(handler["command"]) for handler in ours(file)]
        assert {(command.client, tuple(command.environment.items())) for command in commands if command} == {
            (client, tuple(baked.items()))
        }
    assert json.loads(machine.claude_state.read_text())["mcpServers"]["clearway"]["env"] == baked
    assert tomllib.loads(machine.codex_config.read_text())["mcp_servers"]["clearway"]["env"] == baked


def test_a_failing_hook_blocks_tools_only_when_fail_closed_is_chosen(machine: Machine) -> None:
    machine.environ["CLEARWAY_FAIL_CLOSED"] = "1"
    machine.connect("claude")
    blocking = [
        event for event, groups in events(machine.claude_settings).items() if "onFailure" in groups[0]["hooks"][0]
    ]
    assert blocking == ["PreToolUse"]
    assert events(machine.claude_settings)["PreToolUse"][0]["hooks"][0]["onFailure"] == "block"
    del machine.environ["CLEARWAY_FAIL_CLOSED"]
    machine.connect("claude")
    assert "onFailure" not in machine.claude_settings.read_text()


def test_the_person_is_told_what_only_they_can_do(machine: Machine) -> None:
    notes = {
        client: " ".join(note for change in machine.connect(client) for note in change.notes)
        for client in ("claude", "codex")
    }
    assert "--worktree" in notes["claude"]
    assert "/hooks" in notes["codex"]


def test_a_project_scope_writes_into_the_project_only(machine: Machine, tmp_path: Path) -> None:
    project = tmp_path / "repository"
    project.mkdir()
    machine.connect(scope="project", project=str(project))
    assert machine.files() == {}
    files = sorted(str(path.relative_to(project)) for path in project.rglob("*") if path.is_file())
    assert files == [".claude/settings.json", ".codex/config.toml", ".codex/hooks.json", ".mcp.json"]
    machine.disconnect(project=str(project))
    assert [path for path in project.rglob("*") if path.is_file()] == []


def test_folders_that_the_person_has_moved_are_found(machine: Machine, tmp_path: Path) -> None:
    machine.environ |= {"CODEX_HOME": str(tmp_path / "cx"), "CLAUDE_CONFIG_DIR": str(tmp_path / "cl")}
    machine.connect()
    assert machine.files() == {}
    assert {path.name for path in (tmp_path / "cl").iterdir()} == {"settings.json", ".claude.json"}
    assert {path.name for path in (tmp_path / "cx").iterdir()} == {"hooks.json", "config.toml"}


def test_the_registered_command_runs_from_the_settings_file(machine: Machine) -> None:
    """C19. In a copy of the settings whose interpreter is gone."""
    machine.connect("claude")
    for handler in ours(machine.claude_settings):
        registered = read_hook_command(handler["command"])
        assert registered is not None
        command = handler["command"].replace(registered.interpreter, "/gone/bin/python")
        for shell in ("/bin/sh", "bash"):
            ended = subprocess.run([shell, "-c", command], input=b"{}", capture_output=True)
            assert (ended.returncode, ended.stdout) == (0, b"")
            assert ended.stderr == b"clearway: not installed, guard open\n"


def test_what_is_registered_can_be_asked(machine: Machine) -> None:
    assert registered([], machine.data, environ=machine.environ) == []
    machine.lived_in().connect()
    found = registered([], machine.data, environ=machine.environ)
    files = {"claude": str(machine.claude_settings), "codex": str(machine.codex_hooks)}
    assert {client: file for client, file, _ in found} == files
    assert [command for _, _, command in found] == [
        ours(file)[0]["command"] for file in (machine.claude_settings, machine.codex_hooks)
    ]


def test_json_is_a_text_to_paste_and_touches_no_file(machine: Machine) -> None:
    (change,) = machine.connect("json")
    pasted = json.loads(change.diff)
    assert pasted["mcpServers"]["clearway"]["env"] == {"CLEARWAY_HOME": machine.data}
    assert all(read_hook_command(command) for command in pasted["hooks"].values())
    assert machine.files() == {}


# --- what other people wrote ----------------------------------------------------------------------------------------


def test_without_write_the_change_is_shown_and_nothing_is_written(machine: Machine) -> None:
    before = machine.lived_in().files()
    shown = machine.connect(write=False)
    assert machine.files() == before
    assert [change.file for change in shown] == [
        str(file) for file in (machine.claude_settings, machine.claude_state, machine.codex_hooks, machine.codex_config)
    ]
    written = machine.connect()
    assert [change.diff for change in written] == [change.diff for change in shown]
    for change in shown:
        assert Path(change.file).read_text() == change.after
    assert shown[3].diff.startswith(f"--- {machine.codex_config}\n+++ {machine.codex_config}\n@@ ")
    assert f'+  "{machine.data}",\n' in shown[3].diff


def test_lines_of_the_person_stay_byte_for_byte(machine: Machine) -> None:
    machine.lived_in().connect()
    for file, text in ((machine.claude_settings, SETTINGS), (machine.codex_config, CONFIG)):
        kept = file.read_text().splitlines()
        # A line may only go on: a comma, or our group behind the last one of an array that stands in one line.
        assert [line for line in text.splitlines() if not any(new.startswith(line.rstrip(" ]")) for new in kept)] == []
    assert '"say done" } ] }, {"hooks": [{"type": "command"' in machine.claude_settings.read_text()
    assert machine.claude_state.read_text().startswith(
        '{"numStartups":3,"mcpServers":{"other":{"command":"o"},"clearway":{'
    )
    assert machine.claude_state.read_text().endswith('},"oauth":"x"}')


def test_a_persons_hook_is_kept_beside_and_inside_our_entries(machine: Machine) -> None:
    """P61."""
    machine.lived_in().connect()
    settings = json.loads(machine.claude_settings.read_text())
    theirs = {"type": "command", "command": "/home/dev/my-clearway-hook claude"}
    settings["hooks"]["PreToolUse"][1]["hooks"].append(theirs)  # shares an entry with ours
    settings["hooks"]["SessionEnd"].insert(0, {"hooks": [theirs]})  # shares the array
    machine.claude_settings.write_text(json.dumps(settings, indent=2))

    machine.connect(agent_name="other")
    machine.disconnect()

    after = events(machine.claude_settings)
    assert after == {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "/home/dev/clearway/lint.sh"}]},
            {"matcher": "*", "hooks": [theirs]},
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "SessionEnd": [{"hooks": [theirs]}],
    }


def test_the_first_backup_holds_the_original_whatever_follows(machine: Machine) -> None:
    """P61."""
    original = machine.lived_in().files()
    machine.connect()
    machine.connect(agent_name="other")
    machine.connect(data="/elsewhere")
    backups = {name.removesuffix(f".{OURS}"): text for name, text in machine.files().items() if name.endswith(OURS)}
    assert backups == {name: original[name] for name in backups}
    assert len(backups) == 4


def test_a_second_run_changes_nothing(machine: Machine) -> None:
    machine.lived_in().connect()
    before = {path: (path.stat().st_ino, path.read_bytes()) for path in machine.home.rglob("*") if path.is_file()}
    assert machine.connect() == []
    assert {
        path: (path.stat().st_ino, path.read_bytes()) for path in machine.home.rglob("*") if path.is_file()
    } == before


def test_another_choice_changes_our_entries_where_they_stand(machine: Machine) -> None:
    machine.lived_in().connect()
    before = events(machine.claude_settings)
    machine.connect(data="/elsewhere", agent_name="ada")
    after = events(machine.claude_settings)
    assert [(event, len(groups)) for event, groups in after.items()] == [
        (event, len(groups)) for event, groups in before.items()
    ]
    assert "CLEARWAY_HOME=/elsewhere CLEARWAY_AGENT=ada" in after["Stop"][1]["hooks"][0]["command"]
    config = tomllib.loads(machine.codex_config.read_text())
    assert config["sandbox_workspace_write"]["writable_roots"] == ["/data", "/elsewhere"]
    machine.connect(data="/elsewhere")
    assert "CLEARWAY_AGENT" not in machine.codex_config.read_text() + machine.claude_state.read_text()


def test_what_the_person_added_to_our_server_stays(machine: Machine) -> None:
    machine.connect()
    state = json.loads(machine.claude_state.read_text())
    state["mcpServers"]["clearway"] |= {"alwaysLoad": False, "args": ["mcp", "--tools", "full"]}
    state["mcpServers"]["clearway"]["env"]["CLEARWAY_TOOLS"] = "core"
    machine.claude_state.write_text(json.dumps(state))
    config = machine.codex_config.read_text().replace(
        'args = ["mcp"]', 'args = ["mcp", "--tools", "full"]\nenabled = true'
    )
    machine.codex_config.write_text(config)

    machine.connect(data="/elsewhere")

    server = json.loads(machine.claude_state.read_text())["mcpServers"]["clearway"]
    assert (server["alwaysLoad"], server["args"]) == (False, ["mcp", "--tools", "full"])
    assert server["env"] == {"CLEARWAY_HOME": "/elsewhere", "CLEARWAY_TOOLS": "core"}
    server = tomllib.loads(machine.codex_config.read_text())["mcp_servers"]["clearway"]
    assert (server["args"], server["enabled"]) == (["mcp", "--tools", "full"], True)


def test_a_server_of_somebody_else_with_our_name_is_refused(machine: Machine) -> None:
    machine.lived_in().claude_state.write_text('{"mcpServers": {"clearway": {"command": "node", "args": ["x.js"]}}}')
    before = machine.files()
    with pytest.raises(Refusal, match=r"not ours") as refused:
        machine.connect()
    assert refused.value.code == "INVALID_ARGUMENT"
    assert machine.files() == before
    assert machine.disconnect() == []


def test_handlers_of_an_older_form_are_brought_up_to_date(machine: Machine) -> None:
    machine.lived_in().connect("claude")
    settings = json.loads(machine.claude_settings.read_text())
    hooks = settings["hooks"]
    hooks["PreToolUse"][1]["matcher"] = "Edit"
    hooks["PostToolUse"].append(hooks["PostToolUse"][0])
    hooks["CwdChanged"] = hooks["SessionEnd"]
    machine.claude_settings.write_text(json.dumps(settings))
    machine.connect("claude")
    assert [group.get("matcher") for group in events(machine.claude_settings)["PreToolUse"]] == ["Bash", "*"]
    assert len(events(machine.claude_settings)["PostToolUse"]) == 1
    assert "CwdChanged" not in events(machine.claude_settings)


# --- disconnecting --------------------------------------------------------------------------------------------------


def test_disconnecting_gives_every_file_its_old_bytes(machine: Machine) -> None:
    before = machine.lived_in().files()
    machine.connect()
    machine.connect(agent_name="ada", data="/elsewhere")
    machine.disconnect()
    assert machine.files() == before


@pytest.mark.parametrize(
    "text", ["", "  \n", "{}", '{ "hooks" : { } , "mcpServers":{} }', '{\n\n"hooks": {"Stop": [ ]}}\n']
)
def test_disconnecting_restores_files_that_held_next_to_nothing(machine: Machine, text: str) -> None:
    for file in (machine.claude_settings, machine.claude_state, machine.codex_hooks):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    machine.codex_config.write_text("\n# nothing yet\n[mcp_servers]\n[sandbox_workspace_write]\nwritable_roots = [ ]")
    before = machine.files()
    machine.connect()
    machine.disconnect()
    assert machine.files() == before


def test_files_that_were_not_there_are_gone_again(machine: Machine) -> None:
    machine.connect()
    machine.disconnect()
    assert [name for name, text in machine.files().items() if text] == []


def test_folders_that_were_made_for_our_files_are_gone_with_them(machine: Machine, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    machine.connect(scope="project", project=str(project))
    assert (project / ".claude").is_dir()
    machine.disconnect(project=str(project))
    assert list(project.iterdir()) == []

    machine.connect()
    (machine.claude_settings.parent / "mine.md").write_text("mine")
    machine.disconnect()
    assert [path.name for path in machine.claude_settings.parent.iterdir()] == ["mine.md"]
    assert not machine.codex_hooks.parent.exists()


def test_disconnecting_without_write_only_shows_it(machine: Machine) -> None:
    machine.lived_in().connect()
    before = machine.files()
    assert len(machine.disconnect(write=False)) == 4
    assert machine.files() == before


def test_what_changed_since_stays_when_our_entries_go(machine: Machine) -> None:
    machine.lived_in().connect()
    # Claude Code writes its file anew all the time, in its own style.
    state = json.loads(machine.claude_state.read_text()) | {"numStartups": 4}
    machine.claude_state.write_text(json.dumps(state, indent=2))
    machine.claude_settings.write_text(machine.claude_settings.read_text().replace('"opus"', '"sonnet"'))
    machine.codex_config.write_text(machine.codex_config.read_text() + '\n[projects."/a"]\ntrust_level = "trusted"\n')

    machine.disconnect()

    assert machine.claude_settings.read_text() == SETTINGS.replace('"opus"', '"sonnet"')
    del state["mcpServers"]["clearway"]
    assert machine.claude_state.read_text() == json.dumps(state, indent=2)
    assert machine.codex_config.read_text() == CONFIG + '\n[projects."/a"]\ntrust_level = "trusted"\n'


def test_empty_places_of_the_person_stay_when_our_entries_go(machine: Machine) -> None:
    machine.claude_settings.parent.mkdir()
    machine.claude_settings.write_text('{"hooks": {"Stop": [], "Setup": []}}')
    machine.connect("claude")
    machine.claude_settings.write_text(machine.claude_settings.read_text()[:-1] + ', "model": "opus"}')
    machine.disconnect("claude")
    assert json.loads(machine.claude_settings.read_text()) == {"hooks": {"Stop": [], "Setup": []}, "model": "opus"}


def test_a_writable_folder_the_person_had_listed_is_not_taken_back(machine: Machine) -> None:
    machine.lived_in().codex_config.write_text(CONFIG.replace("/data", machine.data))
    machine.connect()
    machine.codex_config.write_text(machine.codex_config.read_text() + "\n[tui]\n")
    machine.disconnect()
    config = tomllib.loads(machine.codex_config.read_text())
    assert config["sandbox_workspace_write"]["writable_roots"] == [machine.data]


def test_the_person_is_told_when_codex_will_doubt_other_hooks(machine: Machine) -> None:
    machine.connect("codex")
    hooks = json.loads(machine.codex_hooks.read_text())
    hooks["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "say done"}]})
    machine.codex_hooks.write_text(json.dumps(hooks))
    (change,) = [change for change in machine.disconnect("codex") if change.notes]
    assert "trusted again" in change.notes[0]


def test_disconnecting_where_nothing_is_connected_changes_nothing(machine: Machine) -> None:
    before = machine.lived_in().files()
    assert machine.disconnect() == []
    assert machine.files() == before


def test_a_repository_in_the_home_folder_is_disconnected_once(machine: Machine) -> None:
    machine.lived_in().connect("claude")
    machine.disconnect("claude", project=str(machine.home))
    assert machine.claude_settings.read_text() == SETTINGS


# --- all or nothing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claude_settings", '{\n  // mine\n  "hooks": {}\n}'),
        ("claude_settings", '{"hooks": []}'),
        ("claude_settings", '{"hooks": {"Stop": {}}}'),
        ("claude_state", '{"mcpServers": '),
        ("claude_state", "[]"),
        ("codex_hooks", "\ufeff{}"),
        ("codex_config", "model = \n"),
        ("codex_config", "mcp_servers = 3\n"),
        ("codex_config", "sandbox_workspace_write = { network_access = true }\n"),
        ("codex_config", '[sandbox_workspace_write]\nwritable_roots = "/data"\n'),
    ],
)
def test_a_file_we_cannot_edit_is_named_and_nothing_is_written_anywhere(machine: Machine, name: str, text: str) -> None:
    file: Path = getattr(machine.lived_in(), name)
    file.write_text(text)
    before = machine.files()
    with pytest.raises(Refusal, match=str(file)) as refused:
        machine.connect()
    assert (refused.value.code, refused.value.exit_status) == ("INVALID_ARGUMENT", 2)
    assert machine.files() == before


def test_a_file_that_is_not_text_is_refused(machine: Machine) -> None:
    machine.lived_in().codex_config.write_bytes(b'model = "\xff"\n')
    with pytest.raises(Refusal, match=r"config\.toml is not UTF-8"):
        machine.connect()


def test_a_folder_that_cannot_be_written_is_refused_and_nothing_is_written(machine: Machine) -> None:
    (machine.home / ".codex").write_text("a file stands where the folder should be")
    before = machine.files()
    with pytest.raises(Refusal) as refused:
        machine.connect()
    assert (refused.value.code, refused.value.exit_status) == ("STORAGE_CONFIGURATION", 5)
    assert machine.files() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="a mode stops nobody who is root")
@pytest.mark.parametrize("place", [".codex", ".codex/config.toml"])
def test_what_is_read_only_is_refused_and_nothing_is_written(machine: Machine, place: str) -> None:
    before = machine.lived_in().files()
    path = machine.home / place
    mode = path.stat().st_mode
    path.chmod(mode & ~0o222)
    try:
        with pytest.raises(Refusal) as refused:
            machine.connect()
    finally:
        path.chmod(mode)
    assert refused.value.code == "STORAGE_CONFIGURATION"
    assert machine.files() == before


@pytest.mark.parametrize("failing", range(8))
def test_a_failure_in_the_middle_takes_back_what_was_written(
    machine: Machine, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight renames: four backups, four files."""
    before = machine.lived_in().files()
    replace = os.replace
    calls = iter(range(100))

    def replace_but_one(source: str, target: str) -> None:
        if next(calls) == failing:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_but_one)
    with pytest.raises(Refusal, match=r"No space left on device") as refused:
        machine.connect()
    assert refused.value.code == "STORAGE_CONFIGURATION"
    assert machine.files() == before


def test_a_file_that_another_program_changes_meanwhile_is_not_overwritten(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.lived_in()
    mkstemp = tempfile.mkstemp

    def mkstemp_while_claude_writes(*args: Any, **options: Any) -> tuple[int, str]:
        machine.claude_state.write_text('{"numStartups":4}')
        return mkstemp(*args, **options)

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp_while_claude_writes)
    before = machine.files() | {".claude.json": b'{"numStartups":4}'}
    with pytest.raises(Refusal) as refused:
        machine.connect()
    assert (refused.value.code, refused.value.retryable) == ("STORAGE_BUSY", True)
    assert machine.files() == before


def test_a_link_is_followed_and_modes_stay(machine: Machine, tmp_path: Path) -> None:
    machine.lived_in()
    kept = tmp_path / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    kept.write_text(SETTINGS)
    kept.chmod(0o640)
    machine.claude_settings.unlink()
    machine.claude_settings.symlink_to(kept)
    machine.connect("claude")
    assert machine.claude_settings.is_symlink()
    assert len(ours(kept)) == 11
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert os.listdir(kept.parent) == ["claude.json"]
    backup = machine.claude_settings.with_name(f"settings.json.{OURS}")
    assert (backup.read_text(), stat.S_IMODE(backup.stat().st_mode)) == (SETTINGS, 0o640)
    machine.disconnect("claude")
    assert machine.claude_settings.is_symlink()
    assert kept.read_text() == SETTINGS


def test_new_files_of_the_person_are_private(machine: Machine) -> None:
    machine.connect()
    assert {stat.S_IMODE(path.stat().st_mode) for path in machine.home.rglob("*") if path.is_file()} == {0o600}


# --- what is asked --------------------------------------------------------------------------------------------------


def test_without_a_name_the_installed_clients_are_connected(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"claude, codex, .*json"):
        connect([], machine.data, environ=machine.environ)
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.touch(mode=0o755)
    machine.environ["PATH"] = str(program.parent)
    assert installed(machine.environ) == ["codex"]
    assert {change.client for change in connect([], machine.data, environ=machine.environ)} == {"codex"}
    machine.claude_state.write_text("{}")
    assert installed(machine.environ) == ["claude", "codex"]


@pytest.mark.parametrize(
    ("clients", "options", "code"),
    [
        (["emacs"], {}, "INVALID_ARGUMENT"),
        (["claude"], {"scope": "planet"}, "INVALID_ARGUMENT"),
        (["claude"], {"scope": "project"}, "INVALID_ARGUMENT"),
        (["claude"], {"agent_name": "a b"}, "INVALID_ARGUMENT"),
        (["claude"], {"agent_name": "human"}, "RESERVED_NAME"),
        (["claude"], {"environ": {}}, "STORAGE_CONFIGURATION"),
    ],
)
def test_what_makes_no_sense_is_refused(
    machine: Machine, clients: list[str], options: dict[str, Any], code: str
) -> None:
    with pytest.raises(Refusal) as refused:
        connect(clients, machine.data, **{"environ": machine.environ, "write": True, **options})
    assert refused.value.code == code
    assert machine.files() == {}


# --- waking ---------------------------------------------------------------------------------------------------------


def waiters(file: Path) -> dict[str, list[dict[str, Any]]]:
    """What waits in the background, by event."""
    return {
        event: [handler for group in groups for handler in group["hooks"] if is_wait_command(handler.get("command"))]
        for event, groups in events(file).items()
    }


def test_messages_wake_a_session_where_that_was_asked_for(machine: Machine) -> None:
    machine.lived_in().connect("claude")
    assert not any(waiters(machine.claude_settings).values())
    hooks_before = ours(machine.claude_settings)
    machine.connect("claude", rewake=True)
    found = {event: handlers for event, handlers in waiters(machine.claude_settings).items() if handlers}
    assert set(found) == {"SessionStart", "Stop"}
    (handler,) = found["Stop"]
    assert found["SessionStart"] == [handler]
    assert handler["async"] is handler["asyncRewake"] is True
    assert "wait --rewake --for claude-code --timeout 24h" in handler["command"]
    assert f"CLEARWAY_HOME={machine.data}" in handler["command"]
    assert handler["timeout"] > 24 * 3600
    assert ours(machine.claude_settings) == hooks_before
    assert machine.connect("claude", rewake=True) == []


def test_what_was_asked_for_once_stays_until_the_client_is_disconnected(machine: Machine) -> None:
    original = machine.lived_in().files()
    machine.connect("claude", rewake=True)
    assert machine.connect("claude") == []
    machine.connect("claude", agent_name="ada")
    (handler,) = waiters(machine.claude_settings)["Stop"]
    assert "CLEARWAY_AGENT=ada" in handler["command"]
    assert "--for ada" in handler["command"]
    machine.disconnect()
    assert machine.files() == original


def test_only_claude_code_is_woken_by_a_hook(machine: Machine) -> None:
    with pytest.raises(Refusal, match="codex-wake"):
        machine.connect("codex", rewake=True)
    assert machine.files() == {}


def test_a_waiter_without_its_product_wakes_nobody(machine: Machine, tmp_path: Path) -> None:
    """Exit status 2 begins a turn: neither a missing interpreter nor a missing package may end so."""
    gone = Product(str(tmp_path / "gone"), (str(tmp_path),))
    empty = Product(sys.executable, (str(tmp_path),))
    for product in (gone, empty):
        command = wait_command("claude-code", Binding(machine.data), product)
        ended = subprocess.run(command, shell=True, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
        assert (ended.returncode, ended.stdout) == (0, "")
        assert "guard open" in ended.stderr


def test_the_registered_waiter_is_our_command_line(machine: Machine, repo: Path) -> None:
    machine.connect("claude", rewake=True)
    command = waiters(machine.claude_settings)["Stop"][0]["command"].replace("24h", "1s")
    ended = subprocess.run(
        ["/bin/sh", "-c", command],
        input=json.dumps({"session_id": "s", "cwd": str(repo)}),
        env={**machine.environ, "PATH": os.environ["PATH"], "CLAUDE_PID": str(os.getpid()), "CLEARWAY_HOST": "off"},
        cwd=repo,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
