"""What a client offers while a person fills in a prompt or the address of an issue: what the room knows."""

from __future__ import annotations

from typing import Any

from clearway.catalog import OPERATIONS
from clearway.limits import COMPLETIONS_MAX, LIST_MAX
from clearway.op import Operation

_UNFINISHED = ["open", "ready", "in_progress", "review", "blocked"]


def question(argument: str) -> tuple[Operation, dict[str, Any]] | None:
    """What a room is asked for the values of an argument; None if anything can be filled in."""
    match argument:
        case "issue_id":
            return OPERATIONS["list_issues"], {"effective_statuses": _UNFINISHED, "limit": LIST_MAX}
        case "to":
            return OPERATIONS["room"], {}
        case "labels":
            return OPERATIONS["list_labels"], {"limit": LIST_MAX}
        case _:
            return None


def values(argument: str, begun: str, reply: dict[str, Any]) -> list[str]:
    """Those that go on what was begun. Of several labels the last one is being written."""
    before, comma, last = begun.rpartition(",") if argument == "labels" else ("", "", begun)
    wanted = last.strip().lower()
    known = _known(argument, reply)
    going_on = [value for value, about in known if value.lower().startswith(wanted) or (wanted and wanted in about)]
    return [before + comma + value for value in dict.fromkeys(going_on)][:COMPLETIONS_MAX]


def _known(argument: str, reply: dict[str, Any]) -> list[tuple[str, str]]:
    """Each value, and what else it can be found by."""
    match argument:
        case "issue_id":
            return [(item["display_id"], item["title"].lower()) for item in reply["items"]]
        case "to":
            return [(agent["agent"], "") for agent in reply["agents"]]
        case _:
            return [(label["name"], "") for label in reply["items"]]
