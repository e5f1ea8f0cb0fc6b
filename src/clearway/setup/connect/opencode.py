"""OpenCode: a plugin of ours among its plugins, the MCP server in `opencode.json`.

OpenCode has no hook commands. The plugin is one file of ours alone (setup/plugins/opencode.js), with what `connect`
bakes into hook commands elsewhere in one line of it. The settings may hold comments; they stay.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import Any, cast

from clearway.limits import HOOK_WAIT_MS
from clearway.setup import registered
from clearway.setup.connect import jsontext, servers
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import Binding, is_mcp_entry, mcp_entry

CLIENT = "opencode"
EVENTS = (
    "tool.execute.before", "tool.execute.after", "chat.message", "event", "experimental.session.compacting", "dispose",
)  # fmt: skip
_PLUGIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plugins", "opencode.js")
_MARK = "// Clearway's plugin for OpenCode"
_SLOT = "const HOOK = "
_SLACK_MS = 1_000  # the hook answers by itself before the plugin gives up
_TABLE = "mcp"
_RESTART = "OpenCode reads plugins when it starts: start it again."
_PROJECT_SCOPE = "The entries name paths of this machine, so keep them out of git."
_TAKEN = "there is a plugin named clearway.js that is not ours; rename that one and try again"


def installed(asked: Asked) -> bool:
    return shutil.which("opencode", path=asked.environ.get("PATH", "")) is not None or os.path.isdir(_folder(asked))


def files(asked: Asked) -> list[SettingsFile]:
    project = asked.scope == "project"
    plugins = os.path.join(asked.project, ".opencode") if project else _folder(asked)
    settings = asked.project if project else _folder(asked)
    mode = 0o644 if project else 0o600
    return [
        SettingsFile(
            CLIENT,
            os.path.join(plugins, "plugins", "clearway.js"),
            blank="",
            join=lambda text: _plugin(text, asked.binding),
            part=lambda text, _: "" if _is_ours(text) else text,
            notes=(_RESTART, _PROJECT_SCOPE) if project else (_RESTART,),
            mode=mode,
            commands=commands,
        ),
        SettingsFile(
            CLIENT,
            _settings(settings),
            blank="{}\n",
            join=lambda text: _join(text, asked.binding),
            part=_part,
            mode=mode,
        ),
    ]


def commands(text: str) -> list[str]:
    """What the plugin runs, as the command that hooks of other clients are."""
    line = next((line for line in text.splitlines() if line.startswith(_SLOT)), "") if _is_ours(text) else ""
    try:
        hook: Any = json.loads(line.removeprefix(_SLOT))
        return [registered.shell_command(hook["interpreter"], hook["arguments"][3], CLIENT, hook["environment"])]
    except (ValueError, KeyError, IndexError, TypeError):
        return []


def probe(cwd: str, session: str) -> dict[str, Any]:
    """An event about which there is nothing to say."""
    asked = {"tool": "read", "sessionID": session, "callID": "clearway-doctor"}
    given = {"args": {"filePath": os.path.join(cwd, "README.md")}}
    return {"hook": "tool.execute.before", "input": asked, "output": given, "directory": cwd, "root": session}


def _plugin(text: str, binding: Binding) -> str:
    if text.strip() and not _is_ours(text):
        raise ValueError(_TAKEN)
    product = registered.installed_product()
    hook = {
        "interpreter": product.interpreter,
        "arguments": [*registered.ISOLATED, registered.boot(product), CLIENT],
        "environment": binding.environment(),
        "wait_ms": HOOK_WAIT_MS + _SLACK_MS,
    }
    with open(_PLUGIN, encoding="utf-8") as opened:
        return opened.read().replace(f"{_SLOT}{{}}", f"{_SLOT}{json.dumps(hook)}", 1)


def _is_ours(text: str) -> bool:
    return text.startswith(_MARK)


def _join(text: str, binding: Binding) -> str:
    found = _server(text)
    entry = mcp_entry(binding)
    if found is not None and not _is_our_server(found):
        raise ValueError(servers.TAKEN)
    theirs: Any = (found or {}).get("environment")
    added = {name: value for name, value in theirs.items() if name not in registered.BAKED_VARIABLES} if theirs else {}
    wanted = {
        "type": "local",
        "command": [entry["command"], *cast("list[str]", (found or {}).get("command", ["", *entry["args"]]))[1:]],
        "environment": {**entry["env"], **added},
        "enabled": True,
    }
    wanted = {**(found or {}), **wanted, "enabled": (found or {}).get("enabled", True)}
    return text if found == wanted else jsontext.put(text, [_TABLE, servers.NAME], wanted)


def _part(text: str, original: str | None) -> str:
    if not _is_our_server(_server(text)):
        return text
    text = jsontext.remove(text, [_TABLE, servers.NAME])
    before: Any = jsontext.load(original, comments=True) if original is not None else {}
    if not jsontext.load(text, comments=True)[_TABLE] and _TABLE not in before:
        text = jsontext.remove(text, [_TABLE])
    return text


def _server(text: str) -> dict[str, Any] | None:
    document: Any = jsontext.load(text, comments=True)
    if not isinstance(document, dict):
        raise ValueError("its top level is not an object")
    table: Any = cast("dict[str, Any]", document).get(_TABLE, {})
    if not isinstance(table, dict):
        raise ValueError(f'"{_TABLE}" in it is not an object')
    found: Any = cast("dict[str, Any]", table).get(servers.NAME)
    if found is not None and not isinstance(found, dict):
        raise ValueError(servers.TAKEN)
    return cast("dict[str, Any] | None", found)


def _is_our_server(entry: Any) -> bool:
    command: Any = entry.get("command") if isinstance(entry, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(command, list) or not command:
        return False
    words = cast("list[Any]", command)
    return is_mcp_entry({"command": words[0], "args": words[1:]})


def _folder(asked: Asked) -> str:
    given = asked.environ.get("OPENCODE_CONFIG_DIR")
    if given:
        return given
    base = asked.environ.get("XDG_CONFIG_HOME")
    return os.path.join(base, "opencode") if base else asked.personal(".config", "opencode")


def _settings(folder: str) -> str:
    """The settings file that is there; the form with comments wins, as it does in OpenCode."""
    for name in ("opencode.jsonc", "opencode.json", "config.json"):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return os.path.join(folder, "opencode.json")
