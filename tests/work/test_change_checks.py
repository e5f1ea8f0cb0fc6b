"""What a completion must have seen: changes by others, blockers, the archive. Other ends are always accepted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.errors import Refusal


def claimed(world: World, agent: Agent, **given: Any) -> dict[str, Any]:
    world.agent("planner").ask("create_issue", **{"title": "Parser", "status": "ready", **given})
    return agent.ask("claim_issue", next=True, context=False)


def change(agent: Agent, issue: str = "ISSUE-1", **changes: Any) -> dict[str, Any]:
    version = agent.ask("get_issue", issue_id=issue)["version"]
    return agent.ask("update_issue", issue_id=issue, expected_version=version, changes=changes)


def finish(agent: Agent, claim: dict[str, Any], outcome: str = "completed", **more: Any) -> dict[str, Any]:
    """An end of any outcome, of the right shape."""
    shapes = {
        "completed": {"target_issue_status": "done"},
        "failed": {"failure_reason_code": "tests_failed"},
        "interrupted": {"interruption_reason_code": "handoff"},
    }
    proof = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
    return agent.ask("finish_attempt", **proof, outcome=outcome, result_summary="So it is.", **shapes[outcome], **more)


def refused(agent: Agent, claim: dict[str, Any], **more: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        finish(agent, claim, **more)
    return caught.value


def to_acknowledge(refusal: Refusal) -> dict[str, int]:
    return {name: refusal.facts[name] for name in ("issue_version", "latest_event_id")}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"description": "LL(k)"}, ["description"]),
        ({"acceptance_criteria": "Parses C++."}, ["acceptance_criteria"]),
        ({"status": "review", "title": "Lexer"}, ["status"]),
        ({"status": "blocked", "blocked_reason": "no key"}, ["blocked_reason", "status"]),
    ],
)
def test_other_work_than_was_claimed_must_be_acknowledged(
    world: World, changes: dict[str, str], fields: list[str]
) -> None:
    worker, other = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    change(other, **changes)
    if changes.get("status"):
        change(other, status="ready")

    refusal = refused(worker, claim)

    assert (refusal.code, refusal.retryable) == ("ISSUE_CHANGED_DURING_ATTEMPT", True)
    assert [(detail["field"], detail["code"]) for detail in refusal.details] == [
        (field, "ACKNOWLEDGEMENT_REQUIRED") for field in fields
    ]
    shown = worker.ask("get_issue", issue_id="ISSUE-1")
    assert (shown["status"], shown["effective_status"]) == ("ready", "in_progress")
    reply = finish(worker, claim, acknowledged_changes=to_acknowledge(refusal))
    assert (reply["issue_status"], reply["issue_version"]) == ("done", refusal.facts["issue_version"] + 1)


def test_an_acknowledgement_is_exact(world: World) -> None:
    worker, other = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    change(other, description="LL(k)")
    seen = to_acknowledge(refused(worker, claim))

    for name in seen:
        assert refused(worker, claim, acknowledged_changes={**seen, name: seen[name] - 1}).facts == {
            "issue": "ISSUE-1",
            **seen,
        }
    change(other, description="LR(1)")
    later = refused(worker, claim, acknowledged_changes=seen)

    assert later.facts["issue_version"] == seen["issue_version"] + 1
    assert finish(worker, claim, acknowledged_changes=to_acknowledge(later))["attempt_status"] == "completed"


def test_smaller_changes_are_told_as_warnings_in_order(world: World) -> None:
    """I43."""
    worker, other = world.agent("claude-code"), world.agent("codex")
    other.ask("create_issue", title="Epic", type="epic")
    claim = claimed(world, worker)
    change(other, "ISSUE-2", title="Lexer", priority="high")
    change(other, "ISSUE-2", labels=["core"])
    change(other, "ISSUE-2", type="bug", parent_issue_id="ISSUE-1")

    warnings = finish(worker, claim)["warnings"]

    assert warnings == [f"ISSUE_CHANGED:{name}" for name in ("labels", "parent_id", "priority", "title", "type")]


def test_ones_own_changes_and_notes_are_known(world: World) -> None:
    """I43."""
    worker = world.agent("claude-code")
    claim = claimed(world, worker)
    change(worker, description="LL(k)", title="Lexer", labels=["core"])
    proof = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
    worker.ask("save_attempt_note", **proof, kind="checkpoint", content="Half done.")

    assert finish(worker, claim)["warnings"] == []


def test_only_the_issues_own_work_events_count(world: World) -> None:
    """I43."""
    worker, other = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    change(other, description="LL(k)")
    seen = to_acknowledge(refused(worker, claim))
    other.ask("create_issue", title="Elsewhere", status="ready")
    change(other, "ISSUE-2", description="Other work.")
    other.refused("claim_issue", issue_id="ISSUE-1")
    worker.ask("claim_paths", paths=["src/a.py"])

    assert finish(worker, claim, acknowledged_changes=seen)["attempt_status"] == "completed"


def test_a_change_before_the_claim_needs_no_word(world: World) -> None:
    worker, other = world.agent("claude-code"), world.agent("codex")
    other.ask("create_issue", title="Parser", status="ready")
    change(other, description="LL(k)", title="Lexer")
    claim = worker.ask("claim_issue", next=True)

    assert finish(worker, claim)["warnings"] == []


def test_a_comment_changes_no_work(world: World) -> None:
    worker, other = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    other.ask("add_comment", issue_id="ISSUE-1", content="Mind the left recursion.")

    assert finish(worker, claim)["warnings"] == []


@pytest.mark.parametrize("outcome", ["failed", "interrupted"])
@pytest.mark.parametrize("meanwhile", ["changed", "cancelled", "blocked", "archived"])
def test_other_ends_are_accepted_whatever_happened_meanwhile(world: World, outcome: str, meanwhile: str) -> None:
    """I44."""
    worker, other = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    other.ask("create_issue", title="First")
    if meanwhile == "changed":
        change(other, description="LL(k)")
    elif meanwhile == "cancelled":
        change(other, status="cancelled")
    elif meanwhile == "blocked":
        other.ask("manage_issue_relation", source_issue_id="ISSUE-2", target_issue_id="ISSUE-1")
    else:
        world.change("UPDATE issue SET archived_wall = 1 WHERE number = 1")

    reply = finish(worker, claim, outcome)

    assert reply["attempt_status"] == outcome
    assert reply["issue_status"] == ("cancelled" if meanwhile == "cancelled" else "ready")


def test_a_cancelled_issue_is_not_completed_even_when_it_is_acknowledged(world: World) -> None:
    """I44."""
    worker, other = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    change(other, status="cancelled")

    refusal = refused(worker, claim)
    then = refused(worker, claim, acknowledged_changes=to_acknowledge(refusal))

    assert (refusal.code, refusal.retryable) == ("ISSUE_CHANGED_DURING_ATTEMPT", True)
    assert (then.code, then.retryable) == ("INVALID_STATUS_TRANSITION", False)
    assert finish(worker, claim, "interrupted")["issue_status"] == "cancelled"


def test_an_issue_archived_meanwhile_is_not_completed(world: World) -> None:
    worker = world.agent("claude-code")
    claim = claimed(world, worker)
    world.change("UPDATE issue SET archived_wall = 1 WHERE number = 1")

    assert refused(worker, claim).code == "ISSUE_ARCHIVED"


def test_work_is_not_complete_before_what_blocks_it(world: World) -> None:
    """I44."""
    worker, other = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    other.ask("create_issue", title="First", status="ready")
    other.ask("manage_issue_relation", source_issue_id="ISSUE-2", target_issue_id="ISSUE-1")

    refusal = refused(worker, claim)
    change(other, "ISSUE-2", status="done")

    assert (refusal.code, refusal.retryable) == ("UNRESOLVED_BLOCKERS_ADDED", True)
    assert refusal.facts["blockers"] == ["ISSUE-2"]
    assert finish(worker, claim)["issue_status"] == "done"


def test_a_refused_completion_leaves_nothing(world: World) -> None:
    worker, other = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    change(other, description="LL(k)")

    refused(worker, claim, artifacts=[{"type": "commit", "uri": "abc"}])

    assert world.rows("SELECT id FROM artifact") == []
    assert world.events("attempt_completed") == []
    assert worker.ask("list_attempts", issue_id="ISSUE-1")["items"][0]["status"] == "active"


def test_work_that_somebody_else_has_finished_can_be_completed_too(world: World) -> None:
    worker, human = world.agent("claude-code"), world.agent("codex")
    claim = claimed(world, worker)
    change(human, status="done")

    refusal = refused(worker, claim)
    reply = finish(worker, claim, acknowledged_changes=to_acknowledge(refusal))

    assert (reply["issue_status"], reply["issue_version"]) == ("done", 2)


def test_who_cancels_its_own_issue_does_not_complete_it_by_oversight(world: World) -> None:
    """I44."""
    worker = world.agent("claude-code")
    claim = claimed(world, worker)
    change(worker, status="cancelled")

    assert refused(worker, claim).code == "ISSUE_CHANGED_DURING_ATTEMPT"
