"""The pseudo client `json`: the entries to paste by hand into a client that `connect` does not know."""

from __future__ import annotations

import json

from clearway.setup.registered import HOOK_CLIENTS, HOOK_TIMEOUT_SECONDS, Binding, hook_command, mcp_entry

CLIENT = "json"


def text(binding: Binding) -> str:
    """One JSON object: the MCP server's entry, and the hook command for each client whose payload we can read."""
    entries = {
        "mcpServers": {"clearway": {"type": "stdio", **mcp_entry(binding)}},
        "hooks": {client: hook_command(client, binding) for client in HOOK_CLIENTS},
        "hook_timeout_seconds": HOOK_TIMEOUT_SECONDS,
    }
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
