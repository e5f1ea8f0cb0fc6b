"""The project of a room: what it is called, what may be asked of it, and within which bounds."""

from __future__ import annotations

import clearway
from clearway import lifecycle, limits
from clearway.db import statements
from clearway.db.migrate import SCHEMA
from clearway.op import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
GUIDES = ("workflow", "lifecycle", "handoff", "room")  # the MCP server offers a text of each


@op(group="admin", cli="project show")
def get_project(tx: Tx) -> dict[str, Any]:
    """Read which project this is, who you are in it, what is supported and within which limits."""
    room = tx.one(SQL.show)
    assert room is not None
    return {
        "project": {"id": tx.project_id, **({"name": room.name} if room.name else {})},
        "session": {"agent": tx.caller.agent, "session": tx.caller.key},
        "versions": {"clearway": clearway.__version__, "schema": SCHEMA},
        "limits": {
            "list_default": limits.LIST_DEFAULT,
            "list_max": limits.LIST_MAX,
            "title_chars": limits.TITLE_CHARS_MAX,
            "description_chars": limits.DESCRIPTION_CHARS_MAX,
            "note_chars": limits.NOTE_CHARS_MAX,
            "steps": limits.STEPS_MAX,
            "artifacts": limits.ARTIFACTS_MAX,
            "paths_per_claim": limits.PATHS_PER_CLAIM_MAX,
            "issue_lease_seconds": [limits.ISSUE_LEASE_SECONDS_MIN, limits.ISSUE_LEASE_SECONDS_MAX],
            "path_lease_seconds": [limits.PATH_LEASE_SECONDS_MIN, limits.PATH_LEASE_SECONDS_MAX],
        },
        "supported": {
            "types": list(lifecycle.TYPES),
            "statuses": list(lifecycle.STATUSES),
            "transitions": {status: list(targets) for status, targets in lifecycle.TRANSITIONS.items()},
            "priorities": list(lifecycle.PRIORITIES),
            "note_kinds": list(lifecycle.NOTE_KINDS),
            "path_modes": list(lifecycle.PATH_MODES),
        },
        "guides": [f"clearway://guide/{name}" for name in GUIDES],
        "latest_event_id": tx.last_event,
    }
