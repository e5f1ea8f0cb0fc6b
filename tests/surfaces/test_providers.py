"""The words about what providers allow: what Codex says of itself, and what a person says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal

from clearway.setup import codexlimits

# Answers in the shape of Codex 0.171.0 (`codex app-server generate-json-schema`); the last two stand for no login and
# for a program that says nothing.
FULL = {"usedPercent": 100, "windowDurationMins": 300, "resetsAt": 1_900_000_000}
HALF = {"usedPercent": 50, "windowDurationMins": 10_080, "resetsAt": 1_900_500_000}
ANSWERS: list[tuple[Any, str, int | None]] = [
    ({"rateLimits": {"primary": FULL, "secondary": HALF}}, "limited", 1_900_000_000_000),
    ({"rateLimits": {"primary": FULL, "secondary": {**FULL, "resetsAt": None}}}, "limited", None),
    ({"rateLimits": {"primary": HALF, "rateLimitReachedType": "rate_limit_reached"}}, "limited", None),
    ({"rateLimits": {"primary": FULL, "rateLimitReachedType": "workspace_owner_credits_depleted"}}, "limited", None),
    ({"rateLimits": {"spendControlReached": True, "individualLimit": {"resetsAt": 1_900_000_000}}}, "limited",
     1_900_000_000_000),
    ({"ordinaryUsageAllowed": False, "rateLimits": {"primary": HALF}}, "limited", None),
    ({"ordinaryUsageAllowed": True, "rateLimits": {"primary": HALF}}, "allowed", None),
    ({"ordinaryUsageAllowed": None, "rateLimits": {"primary": {**FULL, "usedPercent": 3}}}, "unknown", None),
    ({"rateLimits": {"primary": HALF}, "rateLimitsByLimitId": {"other": {"primary": FULL}}}, "unknown", None),
    ({"rateLimits": {"primary": HALF}, "rateLimitsByLimitId": {"codex": {"primary": FULL}}}, "limited",
     1_900_000_000_000),
    ({"rateLimits": None}, "unknown", None),
    (None, "unknown", None),
    ("429", "unknown", None),
]  # fmt: skip
PROGRAM = """#!{python}
import json, os, sys
for line in sys.stdin:
    said = json.loads(line)
    if said.get("method") == "account/rateLimits/read":
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "answer")) as answer:
            print(json.dumps({{"id": said["id"], **json.load(answer)}}), flush=True)
"""


@pytest.mark.parametrize(("answer", "state", "until"), ANSWERS)
def test_a_typed_answer_means_what_it_says_and_no_more(answer: Any, state: str, until: int | None) -> None:
    """Neither percentages nor times that are past make a limit end."""
    said = codexlimits.read(answer)
    assert (said.state, said.until) == (state, until)


@pytest.fixture
def codex(terminal: Terminal, tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "codex"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    terminal.environ["PATH"] = f"{folder}:{terminal.environ['PATH']}"
    return folder / "answer"


def test_codex_is_asked_and_what_it_says_stands_in_the_room(terminal: Terminal, codex: Path) -> None:
    codex.write_text(json.dumps({"result": {"rateLimits": {"primary": {**FULL, "resetsAt": None}}}}))
    assert "codex is at its limit until somebody says" in terminal("provider", "sync").out
    assert "reached" in terminal("limits").out and "codex app server" in terminal("limits").out
    codex.write_text(json.dumps({"error": {"code": -32600, "message": "codex account authentication required"}}))
    told = terminal("provider", "sync")
    assert told.status == 0 and "Nobody knows: codex account authentication required" in told.out
    assert terminal("--json", "limits").json["items"][0]["state"] == "limited", "unknown is not recovered"
    codex.write_text(json.dumps({"result": {"ordinaryUsageAllowed": True, "rateLimits": {}}}))
    assert "its limit was lifted" in terminal("provider", "sync").out
    assert terminal("--json", "limits").json["items"] == []


def test_a_person_clears_limits_and_an_agent_its_own(terminal: Terminal) -> None:
    terminal("--as", "codex", "limit", "--until", "2h", "--reason", "weekly limit")
    terminal("limit", "--agent", "gemini")
    assert terminal("--as", "codex", "provider", "clear", "gemini").status == 1
    cleared = terminal("--json", "provider", "clear", "codex", "gemini", "cline").json
    assert cleared == {"cleared": ["codex", "gemini"]}
    assert terminal("provider", "clear").status == 2


def test_a_person_decides_who_goes_on_for_whom(terminal: Terminal) -> None:
    terminal("config", "set", "fallbacks", "codex=claude-code")
    assert "What codex cannot do goes to claude-code." in terminal("limits").out
    assert "Tasks of codex after #" in terminal("failover", "activate", "codex").out
    assert "All tasks of codex that wait" in terminal("failover-activate", "codex", "--include-existing").out
    terminal("--as", "claude-code", "room", "--status", "here")
    terminal("--as", "codex", "room", "--status", "here")
    assert "is at its limit until" in terminal("--as", "codex", "limit", "--until", "30m").out
    assert "rate-limited" in terminal("who").out
