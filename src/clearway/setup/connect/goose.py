"""Goose: a plugin of hooks, which is ours alone. Its settings are YAML, which nobody here edits: `connect` says what to
paste.

A text of somebody's hand in YAML cannot be changed faithfully without a parser that keeps comments, and one file is no
reason for a dependency. `goose configure` adds a server in five answers.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, cast

from clearway import __version__
from clearway.setup.connect import hookgroups, ownfiles
from clearway.setup.connect.hookgroups import Wanted
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import HOOK_TIMEOUT_SECONDS, Binding, mcp_entry

CLIENT = "goose"
# No matcher anywhere: one that Goose cannot read switches its rule off without a word.
EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
_NOT_PROVED = (
    "Not proved with the real client. Goose tells its model nothing but the reason of a refusal, and says nothing of "
    "subagents."
)
_PROJECT_SCOPE = "The entries name paths of this machine, so keep them out of git."


def installed(asked: Asked) -> bool:
    return shutil.which("goose", path=asked.environ.get("PATH", "")) is not None or os.path.isdir(_settings(asked))


def files(asked: Asked) -> list[SettingsFile]:
    project = asked.scope == "project"
    folder = os.path.join(asked.project if project else asked.personal(), ".agents", "plugins", "clearway")
    wanted = hooks(asked.binding)
    mode = 0o644 if project else 0o600
    manifest = ownfiles.rendered(
        {"name": "clearway", "version": __version__, "description": "Shows each tool call to Clearway's guard."}
    )
    return [
        SettingsFile(
            CLIENT,
            os.path.join(folder, "hooks", "hooks.json"),
            blank="{}\n",
            join=lambda text: hookgroups.join(hookgroups.plain(text), wanted),
            part=lambda text, original: hookgroups.part(hookgroups.plain(text), original),
            notes=(_NOT_PROVED, _to_paste(asked), *((_PROJECT_SCOPE,) if project else ())),
            mode=mode,
            commands=hookgroups.commands,
        ),
        SettingsFile(
            CLIENT,
            os.path.join(folder, "plugin.json"),
            blank="",
            join=lambda text: ownfiles.join(text, manifest, _is_ours),
            part=lambda text, _: ownfiles.part(text, _is_ours),
            mode=mode,
            commands=lambda _: [],
        ),
    ]


def hooks(binding: Binding) -> list[Wanted]:
    more = {"PreToolUse": {"on_failure": "block"}} if binding.fail_closed else None
    events = [(event, None) for event in EVENTS]
    return hookgroups.wanted_for(CLIENT, events, binding, timeout=HOOK_TIMEOUT_SECONDS, more=more)


def probe(cwd: str, session: str) -> dict[str, Any]:
    given = {"path": os.path.join(cwd, "README.md")}
    asked = {"event": "PreToolUse", "tool_name": "developer__read", "tool_input": given, "tool_call_id": "doctor"}
    return {**asked, "session_id": session, "working_dir": cwd}


def _to_paste(asked: Asked) -> str:
    entry = mcp_entry(asked.binding)
    envs = ", ".join(f"{name}: {value!r}" for name, value in entry["env"].items())
    return (
        f"For the tools add this under `extensions:` in {os.path.join(_settings(asked), 'config.yaml')} (or run `goose "
        f"configure`): clearway: {{name: clearway, type: stdio, enabled: true, cmd: {entry['command']!r}, "
        f"args: [mcp], envs: {{{envs}}}, timeout: 300}}"
    )


def _settings(asked: Asked) -> str:
    base = asked.environ.get("XDG_CONFIG_HOME")
    return os.path.join(base, "goose") if base else asked.personal(".config", "goose")


def _is_ours(text: str) -> bool:
    found: Any = ownfiles.loaded(text)
    return isinstance(found, dict) and cast("dict[str, Any]", found).get("name") == "clearway"
