"""The board shows every issue in one column, says why it is there, and counts what it does not show."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.config import Caller


@pytest.fixture
def claude(world: World) -> Agent:
    return world.agent("claude")


@pytest.fixture
def codex(world: World) -> Agent:
    return world.agent("codex")


def columns(agent: Agent, **given: Any) -> dict[str, list[str]]:
    found = agent.ask("get_board", **given)["columns"]
    return {name: [card["display_id"] for card in cards] for name, cards in found.items() if cards}


def card(agent: Agent, issue: str) -> dict[str, Any]:
    cards = [each for column in agent.ask("get_board")["columns"].values() for each in column]
    return next(each for each in cards if each["display_id"] == issue)


def test_each_issue_stands_where_it_is(world: World, claude: Agent) -> None:
    for status in ("open", "ready", "ready", "ready", "done", "cancelled"):
        claude.ask("create_issue", title=status, status=status)
    claude.ask("create_issue", title="waits", status="blocked", blocked_reason="needs a key")
    claude.ask("manage_issue_relation", source_issue_id="ISSUE-2", target_issue_id="ISSUE-3")
    claude.ask("claim_issue", issue_id="ISSUE-4")
    claude.ask("create_issue", title="put away", status="ready")
    claude.ask("archive_issue", issue_id="ISSUE-8", expected_version=1)
    assert columns(claude) == {
        "open": ["ISSUE-1"],
        "ready": ["ISSUE-2"],
        "live": ["ISSUE-4"],
        "blocked": ["ISSUE-3", "ISSUE-7"],
        "done": ["ISSUE-6", "ISSUE-5"],
    }
    counts = {"open": 1, "ready": 1, "live": 1, "blocked": 2, "review": 0, "done": 2}
    assert claude.ask("get_board")["counts"] == counts
    assert card(claude, "ISSUE-3")["waits_for"] == ["ISSUE-2"]
    assert card(claude, "ISSUE-7")["blocked_reason"] == "needs a key"


def test_a_live_card_says_who_and_until_when_and_goes_back_when_it_lapses(
    world: World, claude: Agent, codex: Agent
) -> None:
    claude.ask("create_issue", title="One", status="ready", priority="high", labels=["engine"])
    taken = claude.ask("claim_issue", issue_id="ISSUE-1")
    live = card(codex, "ISSUE-1")["live"]
    assert (live["agent"], live["session"], live["until"]) == (
        "claude",
        claude.caller.session,
        taken["lease_expires_at"],
    )
    assert (live["attempt_id"], live["kind"], live["lease_seconds"]) == (taken["attempt_id"], "work", 900)
    claude.dies()
    world.clock.forward(minutes=16)
    assert columns(codex) == {"ready": ["ISSUE-1"]}
    assert codex.ask("get_board")["counts"]["live"] == 0


def test_a_card_in_review_says_whether_it_can_still_be_reviewed(world: World, claude: Agent) -> None:
    claude.ask("create_issue", title="One", status="review")
    review = claude.ask("create_review_request", issue_id="ISSUE-1")
    shown = card(claude, "ISSUE-1")["review"]
    assert (shown["review_request_id"], shown["status"]) == (review["review_request_id"], "open")
    claude.ask("update_issue", issue_id="ISSUE-1", expected_version=1, changes={"description": "Another."})
    assert card(claude, "ISSUE-1")["review"]["stale"] is True


def test_what_failed_again_and_again_says_so(world: World, claude: Agent) -> None:
    claude.ask("create_issue", title="One", status="ready")
    for _ in range(3):
        taken = claude.ask("claim_issue", issue_id="ISSUE-1")
        keys: dict[str, Any] = {name: taken[name] for name in ("attempt_id", "lease_token")}
        claude.ask("finish_attempt", outcome="failed", failure_reason_code="other", result_summary="no", **keys)
    assert card(claude, "ISSUE-1")["needs_human"] is True


def test_columns_are_bounded_and_counted(world: World, claude: Agent) -> None:
    plan = [{"ref": f"i{n}", "title": f"{n}", "status": "ready" if n % 2 else "open"} for n in range(20)]
    claude.ask("apply_issue_plan", issues=plan, idempotency_key="k")
    found = claude.ask("get_board", cards=3)
    assert {name: len(cards) for name, cards in found["columns"].items() if cards} == {"open": 3, "ready": 3}
    assert (found["counts"]["open"], found["counts"]["ready"]) == (10, 10)


def test_what_is_urgent_comes_first_and_what_is_finished_last_on_top(world: World, claude: Agent) -> None:
    for priority in ("low", "critical", "medium"):
        claude.ask("create_issue", title=priority, status="ready", priority=priority)
    assert columns(claude)["ready"] == ["ISSUE-2", "ISSUE-3", "ISSUE-1"]
    for number in (3, 1):
        world.clock.forward(seconds=5)
        claude.ask("update_issue", issue_id=f"ISSUE-{number}", expected_version=1, changes={"status": "done"})
    assert columns(claude)["done"] == ["ISSUE-1", "ISSUE-3"]


def test_a_board_changes_nothing(world: World, claude: Agent) -> None:
    claude.ask("create_issue", title="One", status="ready")
    before = claude.ask("get_board")
    assert claude.ask("get_board") == before
    human = Agent(world, Caller("human", cwd=str(world.repo), host=world.liveness.host, human=True))
    assert human.ask("get_board")["latest_event_id"] == before["latest_event_id"]
