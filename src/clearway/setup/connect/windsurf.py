"""Windsurf: hooks in `hooks.json` of the user or the workspace, the MCP server always in the user's settings."""

from __future__ import annotations

import os
import shutil
from typing import Any

from clearway.setup.connect import hookgroups, hooklists, servers
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import hook_command, mcp_entry

CLIENT = "windsurf"
EVENTS = (
    "pre_write_code",
    "post_write_code",
    "pre_run_command",
    "post_run_command",
    "pre_mcp_tool_use",
    "post_mcp_tool_use",
    "pre_user_prompt",
    "post_cascade_response",
)
_COMMAND = "command"
_NOT_PROVED = (
    "Not proved with the real client. Windsurf tells its model nothing but the reason of a refusal: what others do is "
    "not announced there."
)
_PROJECT_SCOPE = "The entries name paths of this machine, so keep them out of git."


def installed(asked: Asked) -> bool:
    return shutil.which("windsurf", path=asked.environ.get("PATH", "")) is not None or os.path.isdir(_folder(asked))


def files(asked: Asked) -> list[SettingsFile]:
    project = asked.scope == "project"
    folder = os.path.join(asked.project, ".windsurf") if project else _folder(asked)
    handler = {_COMMAND: hook_command(CLIENT, asked.binding), "show_output": False}
    wanted: dict[str, dict[str, Any]] = dict.fromkeys(EVENTS, handler)
    entry = mcp_entry(asked.binding)
    return [
        SettingsFile(
            CLIENT,
            os.path.join(folder, "hooks.json"),
            blank="{}\n",
            join=lambda text: hooklists.join(hookgroups.plain(text), wanted, _COMMAND),
            part=lambda text, original: hooklists.part(hookgroups.plain(text), original, _COMMAND),
            notes=(_NOT_PROVED, _PROJECT_SCOPE) if project else (_NOT_PROVED,),
            mode=0o644 if project else 0o600,
            commands=lambda text: hooklists.commands(text, _COMMAND),
        ),
        SettingsFile(
            CLIENT,
            os.path.join(_folder(asked), "mcp_config.json"),
            blank="{}\n",
            join=lambda text: servers.join(hookgroups.plain(text), entry, {}),
            part=lambda text, original: servers.part(hookgroups.plain(text), original),
        ),
    ]


def probe(cwd: str, session: str) -> dict[str, Any]:
    told = {"file_path": os.path.join(cwd, "README.md")}
    return {"agent_action_name": "pre_read_code", "trajectory_id": session, "tool_info": told}


def _folder(asked: Asked) -> str:
    return asked.personal(".codeium", "windsurf")
