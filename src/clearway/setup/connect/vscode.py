"""VS Code's agent mode: a file of hooks beside Copilot's, the MCP server in the user's or the workspace's `mcp.json`.

VS Code also runs the hooks of Claude Code's and of Copilot's settings; a call that is asked about twice gets the same
answer twice. Copilot CLI reads the file of hooks, too; the adapter leaves alone what comes from there.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

from clearway.setup.connect import hookgroups, hooklists, servers
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import HOOK_TIMEOUT_SECONDS, hook_command, mcp_entry

CLIENT = "vscode"
EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
)
_COMMAND = "command"
_TABLE = "servers"
_NOT_PROVED = "Not proved with the real client: watch the output channel `GitHub Copilot Chat Hooks` once."
_PREVIEW = (
    "Agent hooks are a preview in VS Code, and an organisation may switch them off. If a hook does not run, add "
    '"~/.copilot/hooks": true to the setting chat.hookFilesLocations.'
)
_PROJECT_SCOPE = "The entries name paths of this machine, so keep them out of git."


def installed(asked: Asked) -> bool:
    return shutil.which("code", path=asked.environ.get("PATH", "")) is not None or os.path.isdir(_folder(asked))


def files(asked: Asked) -> list[SettingsFile]:
    project = asked.scope == "project"
    copilot = os.path.join(asked.project, ".github") if project else _copilot(asked)
    state = os.path.join(asked.project, ".vscode") if project else _folder(asked)
    handler = {"type": "command", _COMMAND: hook_command(CLIENT, asked.binding), "timeout": HOOK_TIMEOUT_SECONDS}
    wanted: dict[str, dict[str, Any]] = dict.fromkeys(EVENTS, handler)
    entry = {"type": "stdio", **mcp_entry(asked.binding)}
    mode = 0o644 if project else 0o600
    return [
        SettingsFile(
            CLIENT,
            os.path.join(copilot, "hooks", "clearway-vscode.json"),
            blank="{}\n",
            join=lambda text: hooklists.join(hookgroups.plain(text), wanted, _COMMAND),
            part=lambda text, original: hooklists.part(hookgroups.plain(text), original, _COMMAND),
            notes=(_NOT_PROVED, _PREVIEW, _PROJECT_SCOPE) if project else (_NOT_PROVED, _PREVIEW),
            mode=mode,
            commands=lambda text: hooklists.commands(text, _COMMAND),
        ),
        SettingsFile(
            CLIENT,
            os.path.join(state, "mcp.json"),
            blank="{}\n",
            join=lambda text: servers.join(text, entry, {}, _TABLE),
            part=lambda text, original: servers.part(text, original, _TABLE),
            mode=mode,
        ),
    ]


def probe(cwd: str, session: str) -> dict[str, Any]:
    given = {"filePath": os.path.join(cwd, "README.md")}
    return {
        "hookEventName": "PreToolUse",
        "sessionId": session,
        "cwd": cwd,
        "tool_name": "read_file",
        "tool_input": given,
    }


def _copilot(asked: Asked) -> str:
    return asked.environ.get("COPILOT_HOME") or asked.personal(".copilot")


def _folder(asked: Asked) -> str:
    """Where VS Code keeps a user's settings."""
    if sys.platform == "darwin":
        return asked.personal("Library", "Application Support", "Code", "User")
    if sys.platform == "win32" and asked.environ.get("APPDATA"):
        return os.path.join(asked.environ["APPDATA"], "Code", "User")
    base = asked.environ.get("XDG_CONFIG_HOME")
    return os.path.join(base, "Code", "User") if base else asked.personal(".config", "Code", "User")
