"""Claude Code: hooks in `settings.json`, the MCP server in `.claude.json` (user) or `.mcp.json` (project)."""

from __future__ import annotations

import os
import shutil
from typing import Any

from clearway.setup.connect import hookgroups, servers
from clearway.setup.connect.hookgroups import Wanted
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import WAIT_TIMEOUT_SECONDS, Binding, mcp_entry, wait_command

CLIENT = "claude"
# Tools that can write, and tools that can last: their end is told to the room. MultiEdit is for older clients.
_AFTER = "Edit|Write|MultiEdit|NotebookEdit|Bash|PowerShell|Agent|mcp__.*"
EVENTS: tuple[tuple[str, str | None], ...] = (
    ("PreToolUse", "*"),
    ("PostToolUse", _AFTER),
    ("PostToolUseFailure", _AFTER),
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("Stop", None),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("PreCompact", None),
    ("SessionEnd", None),
    ("Notification", "idle_prompt"),
)

# When a session has begun and when a turn is over, something begins to wait; one a session, the others leave at once.
_WAKING_EVENTS = ("SessionStart", "Stop")
AGENT = "claude-code"

_USER_SCOPE = (
    "Registered for your user: `claude --worktree` reads project settings from its own checkout, so only user-level "
    "hooks run in every worktree."
)
_PROJECT_SCOPE = (
    "Registered for this project: the entries name paths of this machine, so keep them out of git; a worktree made by "
    "`claude --worktree` then has no guard. Without --scope project every worktree has one."
)
_RESTART = "Sessions that run already keep their old hooks: start them again."
_APPROVAL = "Claude Code asks once whether to use the MCP server of this project: approve clearway."


def installed(asked: Asked) -> bool:
    found = shutil.which("claude", path=asked.environ.get("PATH", ""))
    return found is not None or os.path.isdir(_folder(asked)) or os.path.isfile(_state_file(asked))


def files(asked: Asked) -> list[SettingsFile]:
    wanted = hooks(asked.binding)
    waiters = waiting(asked.binding)
    entry = {"type": "stdio", **mcp_entry(asked.binding)}
    # Claude Code defers MCP tools: without this its model sees their names only. A person may choose otherwise.
    preferred: dict[str, Any] = {"alwaysLoad": True}
    if asked.scope == "project":
        settings = os.path.join(asked.project, ".claude", "settings.json")
        state = os.path.join(asked.project, ".mcp.json")
        notes, state_notes, mode = (_PROJECT_SCOPE, _RESTART), (_APPROVAL,), 0o644
    else:
        settings = os.path.join(_folder(asked), "settings.json")
        state = _state_file(asked)
        notes, state_notes, mode = (_USER_SCOPE, _RESTART), (), 0o600
    return [
        SettingsFile(
            CLIENT,
            settings,
            blank="{}\n",
            join=lambda text: hookgroups.join(
                hookgroups.plain(text), wanted + (waiters if asked.rewake or hookgroups.waits(text) else [])
            ),
            part=lambda text, original: hookgroups.part(hookgroups.plain(text), original),
            notes=notes,
            mode=mode,
            commands=hookgroups.commands,
        ),
        SettingsFile(
            CLIENT,
            state,
            blank="{}\n",
            join=lambda text: servers.join(hookgroups.plain(text), entry, preferred),
            part=lambda text, original: servers.part(hookgroups.plain(text), original),
            notes=state_notes,
            mode=mode,
        ),
    ]


def hooks(binding: Binding) -> list[Wanted]:
    # On other events it would guard nothing: a hook that fails there may not keep a person from their own session.
    closed = {"PreToolUse": {"onFailure": "block"}} if binding.fail_closed else {}
    return hookgroups.wanted_for(CLIENT, EVENTS, binding, more=closed)


def waiting(binding: Binding) -> list[Wanted]:
    """What wakes a session whose turn is over. It waits in the background, and its exit status 2 begins a turn."""
    command = wait_command(binding.agent or AGENT, binding)
    # Without `async` the session would begin only when the waiter has ended.
    background = {"async": True, "asyncRewake": True}
    handler = {"type": "command", "command": command, "timeout": WAIT_TIMEOUT_SECONDS, **background}
    return [Wanted(event, handler) for event in _WAKING_EVENTS]


def _folder(asked: Asked) -> str:
    return asked.environ.get("CLAUDE_CONFIG_DIR") or asked.personal(".claude")


def _state_file(asked: Asked) -> str:
    """Where Claude Code keeps the servers of this user; an older name wins where that file exists."""
    older = os.path.join(_folder(asked), ".config.json")
    if os.path.isfile(older):
        return older
    configured = asked.environ.get("CLAUDE_CONFIG_DIR")
    return os.path.join(configured, ".claude.json") if configured else asked.personal(".claude.json")
