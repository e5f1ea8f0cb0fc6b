"""GitHub Copilot CLI: hooks in a file of their own in its folder of hooks, the MCP server in `mcp-config.json`.

The person's own hooks need no trust; those of a project run only in a folder that Copilot trusts. Its servers are
always the person's own.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from clearway.setup.connect import hookgroups, hooklists, servers
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import HOOK_TIMEOUT_SECONDS, Binding, hook_command, mcp_entry

CLIENT = "copilot"
EVENTS = (
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "sessionStart",
    "userPromptSubmitted",
    "agentStop",
    "subagentStart",
    "subagentStop",
    "preCompact",
    "sessionEnd",
)
_COMMAND = "bash"
_VERSION = 1
_RESTART = "Sessions that run already keep their old hooks: start them again."
_PROJECT_SCOPE = (
    "Registered for this project: the entries name paths of this machine, so keep them out of git. Copilot runs them "
    "only in a folder that it trusts."
)


def installed(asked: Asked) -> bool:
    return shutil.which("copilot", path=asked.environ.get("PATH", "")) is not None or os.path.isdir(_folder(asked))


def files(asked: Asked) -> list[SettingsFile]:
    wanted = hooks(asked.binding)
    # Without it Copilot would show its model none of our tools. A person may choose fewer.
    entry = {"type": "local", **mcp_entry(asked.binding)}
    preferred: dict[str, Any] = {"tools": ["*"]}
    project = asked.scope == "project"
    folder = os.path.join(asked.project, ".github") if project else _folder(asked)
    return [
        SettingsFile(
            CLIENT,
            os.path.join(folder, "hooks", "clearway.json"),
            blank="{}\n",
            join=lambda text: hooklists.join(hookgroups.plain(text), wanted, _COMMAND, _VERSION),
            part=lambda text, original: hooklists.part(hookgroups.plain(text), original, _COMMAND),
            notes=(_PROJECT_SCOPE, _RESTART) if project else (_RESTART,),
            mode=0o644 if project else 0o600,
            commands=lambda text: hooklists.commands(text, _COMMAND),
        ),
        SettingsFile(
            CLIENT,
            os.path.join(_folder(asked), "mcp-config.json"),
            blank="{}\n",
            join=lambda text: servers.join(hookgroups.plain(text), entry, preferred),
            part=lambda text, original: servers.part(hookgroups.plain(text), original),
        ),
    ]


def hooks(binding: Binding) -> dict[str, dict[str, Any]]:
    """What each event is to run. Copilot wants no other shell than the command itself starts."""
    handler = {"type": "command", _COMMAND: hook_command(CLIENT, binding), "timeoutSec": HOOK_TIMEOUT_SECONDS}
    return dict.fromkeys(EVENTS, handler)


def _folder(asked: Asked) -> str:
    return asked.environ.get("COPILOT_HOME") or asked.personal(".copilot")
