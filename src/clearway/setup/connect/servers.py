"""Our entry among the MCP servers of a JSON file: `{"mcpServers": {NAME: ENTRY}}`, or a table of another name.

A server of somebody else that has our name is refused, not replaced. What the person added to our entry - arguments
after `mcp`, variables of their own - stays.
"""

from __future__ import annotations

from typing import Any, cast

from clearway.setup.connect import jsontext
from clearway.setup.registered import BAKED_VARIABLES, is_mcp_entry

NAME = "clearway"
TABLE = "mcpServers"
TAKEN = f"it has an MCP server named {NAME} that is not ours; rename that one and try again"


def join(text: str, entry: dict[str, Any], preferred: dict[str, Any], table: str = TABLE) -> str:
    """The text with our entry. `preferred` are settings the person may choose otherwise."""
    found = _servers(text, table).get(NAME)
    if found is not None and not is_mcp_entry(found):
        raise ValueError(TAKEN)
    wanted = merged(found or {}, entry)
    for name, value in preferred.items():
        wanted.setdefault(name, value)
    return text if found == wanted else jsontext.put(text, [table, NAME], wanted)


def part(text: str, original: str | None, table: str = TABLE) -> str:
    """The text without our entry, and without the table if nothing else is in it and it was not there before us."""
    servers = _servers(text, table)
    if not is_mcp_entry(servers.get(NAME)):
        return text
    text = jsontext.remove(text, [table, NAME])
    if len(servers) == 1 and not (original is not None and table in jsontext.load(original, comments=True)):
        text = jsontext.remove(text, [table])
    return text


def is_there(text: str) -> bool:
    return is_mcp_entry(_servers(text, TABLE).get(NAME))


def merged(found: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Our entry over an earlier one of ours, keeping what the person added."""
    env: Any = found.get("env")
    theirs = cast("dict[str, Any]", env) if isinstance(env, dict) else {}
    added = {name: value for name, value in theirs.items() if name not in BAKED_VARIABLES}
    return {**found, **entry, "args": found.get("args", entry["args"]), "env": {**entry["env"], **added}}


def _servers(text: str, table: str) -> dict[str, Any]:
    document = jsontext.load(text, comments=True)
    if not isinstance(document, dict):
        raise ValueError("its top level is not an object")
    servers: Any = cast("dict[str, Any]", document).get(table, {})
    if not isinstance(servers, dict):
        raise ValueError(f'"{table}" in it is not an object')
    return cast("dict[str, Any]", servers)
