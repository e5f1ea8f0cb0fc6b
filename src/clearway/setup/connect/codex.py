"""Codex: hooks in `hooks.json`, the MCP server and the sandbox's writable folders in `config.toml`.

Codex runs only hooks that the person has trusted in its `/hooks` screen, and skips the others without a word. Trust
is the person's decision: it is asked for in a note, never written here.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from clearway.setup.connect import hookgroups, servers, tomltext
from clearway.setup.connect.hookgroups import Wanted
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import BAKED_VARIABLES, Binding, is_mcp_entry, mcp_entry

CLIENT = "codex"
EVENTS: tuple[tuple[str, str | None], ...] = (
    ("PreToolUse", "*"),
    ("PostToolUse", "*"),
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("Stop", None),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("PreCompact", None),
    ("SessionEnd", None),
    ("Interrupt", None),
)
# Codex cuts these to 3 s itself; asked for more, it warns the person at every start.
_SHORTER = {"SessionEnd": {"timeout": 3}, "Interrupt": {"timeout": 3}}

_TRUST = (
    "Codex skips hooks it was not told to trust, without a word, and asks again after every change: start `codex`, "
    "type /hooks and trust the clearway hooks."
)
_MOVED = "Other hooks stand at another place now: Codex skips them, too, until they are trusted again in /hooks."
_PROJECT_SCOPE = (
    "Codex reads .codex of a project only where that project is trusted; the entries name paths of this machine, so "
    "keep them out of git."
)
_SERVER = ("mcp_servers", servers.NAME)
# Without it Codex shows a model only the server's name, and keeps the tools for a search that it may never make.
_DEFERRING = "omit_tools_from"
_ROOTS = ("sandbox_workspace_write", "writable_roots")


def installed(asked: Asked) -> bool:
    return shutil.which("codex", path=asked.environ.get("PATH", "")) is not None or os.path.isdir(_folder(asked))


def files(asked: Asked) -> list[SettingsFile]:
    wanted = hooks(asked.binding)
    project = asked.scope == "project"
    folder = os.path.join(asked.project, ".codex") if project else _folder(asked)
    mode = 0o644 if project else 0o600
    return [
        SettingsFile(
            CLIENT,
            os.path.join(folder, "hooks.json"),
            blank="{}\n",
            join=lambda text: hookgroups.join(hookgroups.plain(text), wanted),
            part=lambda text, original: hookgroups.part(hookgroups.plain(text), original),
            notes=(_TRUST, _PROJECT_SCOPE) if project else (_TRUST,),
            mode=mode,
            remark=_moved,
            commands=hookgroups.commands,
        ),
        SettingsFile(
            CLIENT,
            os.path.join(folder, "config.toml"),
            blank="",
            join=lambda text: join(text, asked.binding),
            part=part,
            mode=mode,
        ),
    ]


def hooks(binding: Binding) -> list[Wanted]:
    return hookgroups.wanted_for(CLIENT, EVENTS, binding, more=_SHORTER)


def join(text: str, binding: Binding) -> str:
    """The text of `config.toml` with our server, and with our data folder among those a sandboxed shell may write."""
    found: Any = tomltext.look(tomltext.load(text), _SERVER)
    if found is not None and not is_mcp_entry(found):
        raise ValueError(servers.TAKEN)
    earlier_home = tomltext.look(found or {}, ("env", "CLEARWAY_HOME"))
    text = _join_server(text, servers.merged(found or {}, mcp_entry(binding)))
    roots: Any = tomltext.look(tomltext.load(text), _ROOTS)
    if not isinstance(roots, list | None):
        raise ValueError(f'"{".".join(_ROOTS)}" in it is not an array')
    if isinstance(earlier_home, str) and earlier_home != binding.home and earlier_home in (roots or []):
        text = tomltext.take(text, _ROOTS, earlier_home)
    if roots is None:
        return tomltext.put(text, _ROOTS, [binding.home])
    return text if binding.home in roots else tomltext.append(text, _ROOTS, binding.home)


def part(text: str, original: str | None) -> str:
    """The text of `config.toml` without what we put there."""
    before = tomltext.load(original or "")
    found: Any = tomltext.look(tomltext.load(text), _SERVER)
    if not is_mcp_entry(found):
        return text
    home: Any = tomltext.look(found, ("env", "CLEARWAY_HOME"))
    roots: Any = tomltext.look(tomltext.load(text), _ROOTS)
    text = tomltext.remove(text, _SERVER)
    # The folder is ours to take back only if it was not among the roots before us.
    if home in (roots or []) and home not in (tomltext.look(before, _ROOTS) or []):
        text = tomltext.take(text, _ROOTS, home)
        if not tomltext.look(tomltext.load(text), _ROOTS) and tomltext.look(before, _ROOTS) is None:
            text = tomltext.remove(text, _ROOTS)
    for table in ("sandbox_workspace_write", "mcp_servers"):
        if tomltext.look(tomltext.load(text), (table,)) == {} and table not in before:
            text = tomltext.remove(text, (table,))
    return text


def _moved(before: str, after: str) -> tuple[str, ...]:
    """Codex knows a trusted hook by its place in the file."""
    return (_MOVED,) if hookgroups.foreign_places(before) != hookgroups.foreign_places(after) else ()


def _join_server(text: str, entry: dict[str, Any]) -> str:
    text = tomltext.put(text, (*_SERVER, "command"), entry["command"])
    text = tomltext.put(text, (*_SERVER, "args"), entry["args"])
    if tomltext.look(tomltext.load(text), (*_SERVER, _DEFERRING)) is None:
        text = tomltext.put(text, (*_SERVER, _DEFERRING), ["deferred"])
    table = (*_SERVER, "env")
    if tomltext.holds_value(text, table):
        return tomltext.put(text, table, entry["env"])
    for name in BAKED_VARIABLES:
        if name in entry["env"]:
            text = tomltext.put(text, (*table, name), entry["env"][name])
        elif tomltext.look(tomltext.load(text), (*table, name)) is not None:
            text = tomltext.remove(text, (*table, name))
    return text


def _folder(asked: Asked) -> str:
    return asked.environ.get("CODEX_HOME") or asked.personal(".codex")
