"""Why an issue does not get on, on a terminal: three attempts side by side, and a person's word."""

from __future__ import annotations

from tests.surfaces.conftest import Terminal


def poisoned(terminal: Terminal) -> None:
    terminal("issue", "create", "Cursed", "--status", "ready")
    for agent in ("anna", "bert", "cleo"):
        terminal("--as", agent, "issue", "claim", "ISSUE-1")
        terminal("--as", agent, "attempt", "finish", "--outcome", "failed", "--reason", "tests_failed",
                 "--summary", f"{agent} saw the parser loop")  # fmt: skip


def test_why_of_an_issue_shows_its_attempts_side_by_side(terminal: Terminal) -> None:
    poisoned(terminal)
    told = terminal("why", "ISSUE-1").out
    assert "its last 3 attempts failed" in told and "Next: clearway issue retry ISSUE-1" in told
    (row,) = [line for line in told.splitlines() if line.count(" saw the parser") > 1]
    assert row.index("cleo") < row.index("bert") < row.index("anna"), "the newest first"
    assert terminal("issue", "why", "1").out == told
    assert terminal("--json", "why", "ISSUE-1").json["needs_human"] is True


def test_why_of_a_path_is_asked_as_before(terminal: Terminal) -> None:
    assert "is free" in terminal("why", "app.py").out
    assert "is free" in terminal("why", "lib-2").out


def test_a_person_lets_it_be_tried_again(terminal: Terminal) -> None:
    poisoned(terminal)
    assert terminal("--as", "dora", "next").status == 3
    assert "may be tried again" in terminal("issue", "retry", "ISSUE-1", "Use the old parser.").out
    assert terminal("--as", "dora", "next").status == 0


def test_what_waits_for_a_person_is_counted_wherever_they_look(terminal: Terminal) -> None:
    assert "clearway needs" not in terminal().out and terminal("needs").out == "Nothing waits for you.\n"
    poisoned(terminal)
    assert "1 thing waits for you: clearway needs." in terminal().out
    assert "needs you 1" in terminal("status").out
    assert "ready, needs you" in terminal("issue", "list").out
    assert "! ISSUE-1" in terminal("needs").out and "clearway why ISSUE-1" in terminal("needs").out
    assert "needs_you" not in terminal("--json", "--as", "anna", "status").json
