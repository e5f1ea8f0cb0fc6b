"""The project of a room: what it is called, what may be asked of it, and within which bounds."""

from __future__ import annotations

import clearway
from clearway import lifecycle, limits
from clearway.db import Row, statements
from clearway.db.migrate import SCHEMA
from clearway.op import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Instructions, IssueKey, ProjectName, Yes
    from clearway.db.tx import Tx

SQL = statements(__file__)
GUIDES = ("workflow", "lifecycle", "handoff", "room")  # the MCP server offers a text of each


@op(group="admin", cli="project show")
def get_project(tx: Tx, include_instructions: Yes = False) -> dict[str, Any]:
    """Read which project this is, who you are in it, what is supported and within which limits."""
    return {
        "project": _shown(tx, _stored(tx), instructions=include_instructions),
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


@op(writes=True, group="admin", cli="project set")
def update_project(
    tx: Tx, name: ProjectName | None = None, key: IssueKey | None = None, instructions: Instructions | None = None
) -> dict[str, Any]:
    """Set the project's name, the word for its issues, and what is asked of all who work in it.

    key: PAY makes PAY-42; ISSUE-42 stays valid.
    """
    stored = _stored(tx)
    given = {"name": name, "issue_key": key, "instructions": instructions}
    after = {field: stored[field] if value is None else value for field, value in given.items()}
    after["instructions"] = after["instructions"] or None
    changed = [field for field in given if after[field] != stored[field]]
    if changed:
        tx.change(SQL.update, **after)
        shown: dict[str, Any] = {field: after[field] for field in changed if field != "instructions"}
        tx.tell("project_updated", changed_fields=[_CALLED.get(field, field) for field in changed], **shown)
    return {
        "project": _shown(tx, Row(**after), instructions=False),
        "changed_fields": [_CALLED.get(field, field) for field in changed],
    }


_CALLED = {"issue_key": "key"}


def _stored(tx: Tx) -> Row:
    stored = tx.one(SQL.show)
    assert stored is not None
    return stored


def _shown(tx: Tx, room: Row, *, instructions: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": tx.project_id, "key": room.issue_key}
    if room.name:
        shown["name"] = room.name
    if room.instructions:
        shown["has_instructions"] = True
        if instructions:
            shown["instructions"] = room.instructions
    return shown
