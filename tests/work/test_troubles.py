"""Work at which agents fail again and again: given to none by itself, shown to a person, tried again on their word."""

from __future__ import annotations

from typing import Any

from tests.conftest import Agent, World
from tests.crew.test_tasks import human
from tests.work.test_release import fail, made


def poisoned(world: World, title: str = "Cursed") -> str:
    issue = made(world.agent("claude-code"), title=title)
    for number in range(3):
        agent = world.agent("codex")
        claim = agent.ask("claim_issue", issue_id=issue)
        proof = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
        agent.ask("save_attempt_note", **proof, kind="checkpoint", content=f"Went as far as {number}")
        fail(agent, claim)
    return issue


def test_what_failed_three_times_is_given_to_no_agent_until_a_person_decides(world: World) -> None:
    """Poison work: it is not blocked, and whoever names it may claim it (I46)."""
    issue = poisoned(world)
    agent = world.agent("gemini")
    refused = agent.refused("claim_issue", next=True)
    assert refused.code == "NOTHING_TO_CLAIM"
    assert f"passed over {issue}: it failed again and again, and a person has to decide" in refused.message
    assert agent.ask("list_issues", is_claimable=True)["items"] == []
    assert agent.ask("get_issue", issue_id=issue)["needs_human"] is True
    assert agent.refused("retry_issue", issue_id=issue).code == "FORBIDDEN"

    person = human(world)
    answer = person.ask("retry_issue", issue_id=issue, content="The API key is in the vault now.")
    assert (answer["forgiven"], answer["status"]) == (3, "ready")
    claim = agent.ask("claim_issue", next=True)
    assert (claim["display_id"], claim["warnings"]) == (issue, [])
    assert "vault" in str(claim["context"])
    assert person.ask("retry_issue", issue_id=issue)["forgiven"] == 0


def test_one_more_failure_after_a_persons_word_is_one(world: World) -> None:
    issue = poisoned(world)
    person = human(world)
    person.ask("retry_issue", issue_id=issue)
    for count in range(1, 4):
        agent = world.agent("codex")
        fail(agent, agent.ask("claim_issue", next=True))
        assert agent.ask("get_issue", issue_id=issue).get("needs_human", False) is (count == 3)


def test_a_person_who_changes_what_is_asked_for_has_decided(world: World) -> None:
    issue = poisoned(world)
    agent, person = world.agent("gemini"), human(world)
    version = person.ask("get_issue", issue_id=issue)["version"]
    agent.ask("update_issue", issue_id=issue, expected_version=version, changes={"description": "Easier"})
    assert agent.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM", "an agent decides nothing of the kind"
    person.ask("update_issue", issue_id=issue, expected_version=version + 1, changes={"priority": "low"})
    assert agent.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"
    person.ask("update_issue", issue_id=issue, expected_version=version + 2, changes={"description": "Clearer"})
    assert agent.ask("claim_issue", next=True)["display_id"] == issue


def test_a_person_who_asks_for_work_gets_it_after_all_else(world: World) -> None:
    issue = poisoned(world)
    assert human(world).ask("claim_issue", next=True)["display_id"] == issue


def test_why_shows_the_last_three_attempts_side_by_side(world: World) -> None:
    issue = poisoned(world)
    told = human(world).ask("explain_issue", issue_id=issue)
    assert told["why"].startswith("its last 3 attempts failed") and f"clearway issue retry {issue}" in told["next"]
    assert [brief["checkpoint"] for brief in told["attempts"]] == [f"Went as far as {number}" for number in (2, 1, 0)]
    assert {brief["status"] for brief in told["attempts"]} == {"failed"}


def test_why_says_what_an_issue_waits_for(world: World) -> None:
    agent, other = world.agent("claude-code"), world.agent("codex")
    first, second = made(agent, title="First"), made(agent, title="Second")
    agent.ask("manage_issue_relation", action="add", source_issue_id=first, target_issue_id=second,
              relation_type="blocks")  # fmt: skip
    reasons: list[Any] = []

    def why(asker: Agent, issue: str) -> str:
        told: str = asker.ask("explain_issue", issue_id=issue)["why"]
        reasons.append(told)
        return told

    assert why(agent, second) == f"it waits for {first}"
    assert why(agent, first) == "nothing is in the way: it can be claimed"
    agent.ask("claim_issue", issue_id=first)
    assert why(other, first).startswith("claude-code works on it until ")
    kept = made(agent, title="Kept")
    agent.ask("update_issue", issue_id=kept, expected_version=1, changes={"reserved_for": "gemini"})
    assert why(other, kept) == "it is kept for gemini"
    blocked = made(agent, title="Blocked")
    agent.ask("update_issue", issue_id=blocked, expected_version=1,
              changes={"status": "blocked", "blocked_reason": "needs a key"})  # fmt: skip
    assert why(other, blocked) == "it is blocked: needs a key"
    agent.ask("claim_paths", paths=["src/a.py"])
    touching = made(other, title="Touching", paths=["src/a.py"])
    assert why(other, touching) == "claude-code holds src/a.py, which it is expected to change"
