"""Cline: a small script for each event among its hooks, the MCP server in its settings.

Cline's own way to refuse a call ends its whole run. On the command line a refused call is therefore made to fail; the
extension can only be told. Each script is a file of ours alone.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from clearway.setup.connect import hookgroups, ownfiles, servers
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import hook_command, mcp_entry, read_hook_command

CLIENT = "cline"
EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "TaskComplete",
    "TaskCancel",
    "TaskError",
    "SessionShutdown",
)
_COMMAND_LINE = "On the command line a refused call is made to fail, and the agent goes on."
_EXTENSION = (
    "Advisory only in the extension: there a refusal is told to the model and stops nothing, because Cline's own way "
    "to refuse ends the whole run. It runs hooks only where they are enabled in its settings; older versions have "
    "another folder for them."
)
_PROJECT_SCOPE = "The scripts name paths of this machine, so keep them out of git."


def installed(asked: Asked) -> bool:
    return shutil.which("cline", path=asked.environ.get("PATH", "")) is not None or os.path.isdir(_folder(asked))


def files(asked: Asked) -> list[SettingsFile]:
    project = asked.scope == "project"
    folder = os.path.join(asked.project, ".cline") if project else _folder(asked)
    script = (
        f"#!/bin/sh\n# Clearway's guard; written by `clearway connect cline`.\n{hook_command(CLIENT, asked.binding)}\n"
    )
    notes = (_COMMAND_LINE, _EXTENSION, *((_PROJECT_SCOPE,) if project else ()))
    entry = mcp_entry(asked.binding)
    scripts = [
        SettingsFile(
            CLIENT,
            # Cline takes several files for an event; the plain name is more likely to be a person's own.
            os.path.join(folder, "hooks", f"{event}.sh"),
            blank="",
            join=lambda text: ownfiles.join(text, script, _is_ours),
            part=lambda text, _: ownfiles.part(text, _is_ours),
            notes=notes if event == EVENTS[0] else (),
            mode=0o755 if project else 0o700,
            commands=_commands,
        )
        for event in EVENTS
    ]
    data = asked.environ.get("CLINE_DATA_DIR") or os.path.join(_folder(asked), "data")
    state = SettingsFile(
        CLIENT,
        os.path.join(data, "settings", "cline_mcp_settings.json"),
        blank="{}\n",
        join=lambda text: servers.join(hookgroups.plain(text), entry, {}),
        part=lambda text, original: servers.part(hookgroups.plain(text), original),
    )
    return [*scripts, state]


def probe(cwd: str, session: str) -> dict[str, Any]:
    read = {"id": "doctor", "name": "read_files", "input": {"files": [{"path": os.path.join(cwd, "README.md")}]}}
    return {"hookName": "tool_call", "taskId": session, "workspaceRoots": [cwd], "tool_call": read}


def _folder(asked: Asked) -> str:
    return asked.environ.get("CLINE_DIR") or asked.personal(".cline")


def _commands(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return lines if len(lines) == 1 and read_hook_command(lines[0]) is not None else []


def _is_ours(text: str) -> bool:
    return bool(_commands(text))
