"""Cursor: hooks in `hooks.json`, the MCP server in `mcp.json`, both of the user or of the project."""

from __future__ import annotations

import os
import shutil
from typing import Any

from clearway.setup.connect import hookgroups, hooklists, servers
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import HOOK_TIMEOUT_SECONDS, Binding, hook_command, mcp_entry

CLIENT = "cursor"
_WRITES = "Write|StrReplace|Edit|Delete|Shell|MCP:.*"
EVENTS: tuple[tuple[str, str | None], ...] = (
    ("preToolUse", _WRITES),
    ("postToolUse", _WRITES),
    ("beforeSubmitPrompt", None),
    ("stop", None),
    ("sessionStart", None),
    ("sessionEnd", None),
)
_COMMAND = "command"
_VERSION = 1
_NOT_PROVED = "Not proved with the real client: look once in Cursor's settings under Hooks whether they run."
_PROJECT_SCOPE = (
    "Cursor runs a project's hooks only in a workspace that it trusts; the entries name paths of this machine, so keep "
    "them out of git."
)


def installed(asked: Asked) -> bool:
    path = asked.environ.get("PATH", "")
    found = shutil.which("cursor", path=path) or shutil.which("cursor-agent", path=path)
    return found is not None or os.path.isdir(asked.personal(".cursor"))


def files(asked: Asked) -> list[SettingsFile]:
    project = asked.scope == "project"
    folder = os.path.join(asked.project, ".cursor") if project else asked.personal(".cursor")
    wanted, entry = hooks(asked.binding), mcp_entry(asked.binding)
    mode = 0o644 if project else 0o600
    return [
        SettingsFile(
            CLIENT,
            os.path.join(folder, "hooks.json"),
            blank="{}\n",
            join=lambda text: hooklists.join(hookgroups.plain(text), wanted, _COMMAND, _VERSION),
            part=lambda text, original: hooklists.part(hookgroups.plain(text), original, _COMMAND),
            notes=(_NOT_PROVED, _PROJECT_SCOPE) if project else (_NOT_PROVED,),
            mode=mode,
            commands=lambda text: hooklists.commands(text, _COMMAND),
        ),
        SettingsFile(
            CLIENT,
            os.path.join(folder, "mcp.json"),
            blank="{}\n",
            join=lambda text: servers.join(hookgroups.plain(text), entry, {}),
            part=lambda text, original: servers.part(hookgroups.plain(text), original),
            mode=mode,
        ),
    ]


def hooks(binding: Binding) -> dict[str, dict[str, Any]]:
    handler: dict[str, Any] = {_COMMAND: hook_command(CLIENT, binding), "timeout": HOOK_TIMEOUT_SECONDS}
    return {event: handler | ({"matcher": matcher} if matcher else {}) for event, matcher in EVENTS}


def probe(cwd: str, session: str) -> dict[str, Any]:
    given = {"path": os.path.join(cwd, "README.md")}
    asked = {"hook_event_name": "preToolUse", "tool_name": "Read", "tool_input": given}
    return {**asked, "conversation_id": session, "workspace_roots": [cwd], "cwd": cwd}
