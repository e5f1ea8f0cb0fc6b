"""Kiro: a file of hooks that is ours alone, the MCP server in `settings/mcp.json`, of the user or of the workspace.

This is the form of its third generation (CLI 3, IDE 1). The second keeps hooks inside each agent's own file, where one
that is forgotten guards nothing: `kiro-cli agent migrate` brings those forward.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, cast

from clearway.setup.connect import hookgroups, ownfiles, servers
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import HOOK_TIMEOUT_SECONDS, Binding, hook_command, mcp_entry, read_hook_command

CLIENT = "kiro"
EVENTS = ("PreToolUse", "PostToolUse", "SessionStart", "UserPromptSubmit", "Stop")
_NOT_PROVED = "Not proved with the real client. It needs Kiro CLI 3 or IDE 1: older ones do not read this file."
_PROJECT_SCOPE = "The entries name paths of this machine, so keep them out of git."


def installed(asked: Asked) -> bool:
    path = asked.environ.get("PATH", "")
    found = shutil.which("kiro-cli", path=path) or shutil.which("kiro", path=path)
    return found is not None or os.path.isdir(asked.personal(".kiro"))


def files(asked: Asked) -> list[SettingsFile]:
    project = asked.scope == "project"
    folder = os.path.join(asked.project, ".kiro") if project else asked.personal(".kiro")
    wanted, entry = hooks(asked.binding), mcp_entry(asked.binding)
    mode = 0o644 if project else 0o600
    return [
        SettingsFile(
            CLIENT,
            os.path.join(folder, "hooks", "clearway.json"),
            blank="",
            join=lambda text: ownfiles.join(text, wanted, _is_ours),
            part=lambda text, _: ownfiles.part(text, _is_ours),
            notes=(_NOT_PROVED, _PROJECT_SCOPE) if project else (_NOT_PROVED,),
            mode=mode,
            commands=lambda text: list(dict.fromkeys(_commands(text))) if _is_ours(text) else [],
        ),
        SettingsFile(
            CLIENT,
            os.path.join(folder, "settings", "mcp.json"),
            blank="{}\n",
            join=lambda text: servers.join(hookgroups.plain(text), entry, {}),
            part=lambda text, original: servers.part(hookgroups.plain(text), original),
            mode=mode,
        ),
    ]


def hooks(binding: Binding) -> str:
    action = {"type": "command", "command": hook_command(CLIENT, binding)}
    more = {"action": action, "timeout": HOOK_TIMEOUT_SECONDS, "enabled": True}
    listed = [{"name": f"clearway-{event.lower()}", "trigger": event, **more} for event in EVENTS]
    return ownfiles.rendered({"version": "v1", "hooks": listed})


def probe(cwd: str, session: str) -> dict[str, Any]:
    given = {"operations": [{"mode": "Line", "path": os.path.join(cwd, "README.md")}]}
    asked = {"hook_event_name": "PreToolUse", "tool_name": "fs_read", "tool_input": given}
    return {**asked, "session_id": session, "cwd": cwd}


def _commands(text: str) -> list[Any]:
    """The command of each hook in the file, None for one that has none."""
    document = ownfiles.loaded(text)
    listed: Any = cast("dict[str, Any]", document).get("hooks") if isinstance(document, dict) else None
    found: list[Any] = []
    for hook in cast("list[Any]", listed) if isinstance(listed, list) else []:
        action: Any = cast("dict[str, Any]", hook).get("action") if isinstance(hook, dict) else None
        found.append(cast("dict[str, Any]", action).get("command") if isinstance(action, dict) else None)
    return found


def _is_ours(text: str) -> bool:
    commands = _commands(text)
    return bool(commands) and all(read_hook_command(command) is not None for command in commands)
