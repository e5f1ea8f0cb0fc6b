"""`clearway report`: the morning page says what landed, what was parked and why, what tests said, what it cost, and
what waits for a person; as text, Markdown, JSON, or one HTML file that stands alone. `clearway cost` as a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.conftest import Terminal

from clearway.trail import Trail

HOSTILE = "<script>alert(1)</script> | [x](javascript:y) \x1b[31m"


@pytest.fixture
def night(terminal: Terminal) -> Terminal:
    """One issue landed, one failed, one is blocked, one in work; a question waits, and money was spent."""
    for title in ("Parse dates", HOSTILE, "Deploy", "Write docs"):
        assert terminal("issue", "create", title, "--status", "ready").status == 0
    terminal("issue", "create", "Which zone?", "--type", "question", "--status", "ready")
    ends = {
        "1": ("--outcome", "completed", "--target", "done", "--summary", "Dates are parsed."),
        "2": ("--outcome", "failed", "--failure-reason-code", "tests_failed", "--summary", "Two tests fail."),
    }
    for number, words in ends.items():
        claim = terminal("--json", "--as", "codex-worker", "issue", "claim", f"ISSUE-{number}").json
        token = claim["lease_token"]
        if number == "1":
            home = terminal.environ["CLEARWAY_HOME"]
            key = terminal("--json", "attempt", "list").json["items"][0]["session"]
            Trail(home).ran(key, 4_000_000_000_000, "pytest -q", 0)
        spent = '{"input_tokens": 1000, "output_tokens": 500, "cost_usd": "0.75", "attempt_id": "' + claim["attempt_id"]
        assert terminal("--as", "codex-worker", "call", "report_cost", spent + '"}').status == 0
        done = terminal("--as", "codex-worker", "attempt", "finish", claim["attempt_id"], "--token", token, *words)
        assert done.status == 0, done.err
    terminal("issue", "update", "ISSUE-3", "--status", "blocked", "--blocked-reason", "Needs the key.")
    terminal("--as", "claude-worker", "issue", "claim", "ISSUE-4")
    return terminal


def test_the_morning_page_has_everything_that_came_of_the_night(night: Terminal) -> None:
    told = night("--json", "report", "--since", "1h").json
    assert [each["display_id"] for each in told["landed"]] == ["ISSUE-1"]
    assert told["landed"][0]["evidence"]["tests"] == "green"
    parked = {each["display_id"]: each["why"] for each in told["parked"]}
    assert parked["ISSUE-3"] == "Needs the key."
    assert parked["ISSUE-2"] == "tests failed: Two tests fail."
    assert [each["display_id"] for each in told["running"]] == ["ISSUE-4"]
    assert (told["created"], told["landed_count"], told["attempts"]) == (5, 1, 3)
    assert told["costs"]["total"]["cost_usd"] == 1.5
    kinds = [each["kind"] for each in told["waiting"]]
    assert {"question", "blocked"} <= set(kinds)
    assert night("--json", "--as", "codex", "report").json["waiting"] == [], "that is for nobody else"
    assert night("--json", "--as", "codex", "top").json["needs_you"] == []

    text = night("report", "--since", "1h").out
    for word in ("Landed (1)", "Parked (2)", "Still in work (1)", "Waits for you", "green", "$0.75", "tests failed"):
        assert word in text, text
    assert "\x1b" not in text


def test_what_was_before_is_not_in_it(night: Terminal) -> None:
    told = night("--json", "report", "--since", "2099-01-01T00:00Z").json
    assert (told["landed"], told["parked"], told["created"]) == ([], [], 0)
    assert night("report", "--since", "yesterday").code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_it_can_be_kept_as_a_file_in_which_nothing_of_others_means_anything(
    night: Terminal, tmp_path: Path, ending: str
) -> None:
    file = tmp_path / f"report.{ending}"
    assert night("report", "--since", "1h", "--output", str(file)).status == 0
    text = file.read_text()
    assert "Parse dates" in text and "Needs the key." in text
    if ending == "html":
        assert "<script" not in text and "&lt;script&gt;" in text and "http://" not in text and "https://" not in text
    elif ending == "md":
        assert "<script" not in text and "\\[x\\]" in text


def test_cost_is_a_table_by_what_one_asks_for(night: Terminal) -> None:
    told = night("cost").out
    assert "ISSUE-1" in told and "$0.75" in told and "In all: $1.50." in told
    assert "codex-worker" in night("cost", "--by", "agent", "--since", "1h").out
    assert "Nothing was spent" in night("cost", "--agent", "nobody").out
