"""`clearway prune`, and how long a room keeps what it keeps for a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal


@pytest.mark.parametrize("wrong", ["0", "4000", "a month"])
def test_how_long_is_the_rooms_decision(terminal: Terminal, wrong: str) -> None:
    terminal("init")
    terminal("room", "--status", "here")
    assert terminal("prune").out.endswith("older than 30 days and are gone; work is kept.\n")
    assert terminal("config", "set", "retention_days", "7").status == 0
    said: dict[str, Any] = json.loads(terminal("--json", "prune", "--dry-run").out)
    assert said == {"days": 7, "events": 0, "messages": 0, "notices": 0, "dry_run": True}
    assert terminal("config", "set", "retention_days", wrong).code == "INVALID_ARGUMENT"
