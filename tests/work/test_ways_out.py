"""A refusal says the way out that there is now, and what means the same is taken as the same."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.errors import Refusal
from clearway.surfaces.mcp_tools import Offer


def claimed(agent: Agent, issue: str = "ISSUE-1", **more: Any) -> dict[str, str]:
    """An attempt on an issue, as its holder proves it."""
    claim = agent.ask("claim_issue", issue_id=issue, context=False, **more)
    return {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


def test_a_late_holder_is_told_what_became_of_its_issue(world: World) -> None:
    """I31, C04: 'claim it again' only where that would do."""
    ann, ben = world.agent("ann"), world.agent("ben")
    ann.ask("create_issue", title="Parser", status="ready")
    late = claimed(ann, lease_seconds=30)
    world.clock.forward(seconds=30)
    assert "free for others" in ann.refused("renew_attempt", **late).message

    now = claimed(ben)
    refusal = ann.refused("renew_attempt", **late)
    assert (refusal.code, refusal.facts["agent"]) == ("LEASE_EXPIRED", "ben")
    assert "ben works on it now" in refusal.message

    ben.ask("finish_attempt", **now, outcome="completed", result_summary="r", target_issue_status="done")
    assert "it is done now; stop" in ann.refused("renew_attempt", **late).message

    ann.ask("update_issue", issue_id="ISSUE-1", expected_version=2, changes={"status": "ready"})
    claimed(ann)
    assert "token of that claim" in ann.refused("renew_attempt", **late).message


@pytest.mark.parametrize("status", ["cancelled", "blocked"])
def test_what_cannot_be_completed_any_more_need_not_be_acknowledged_in_vain(world: World, status: str) -> None:
    """I44: an acknowledgement would only lead to the next refusal."""
    ann, ben = world.agent("ann"), world.agent("ben")
    ann.ask("create_issue", title="Parser", status="ready")
    mine = claimed(ann)
    changes = {"status": status, **({"blocked_reason": "a decision"} if status == "blocked" else {})}
    ben.ask("update_issue", issue_id="ISSUE-1", expected_version=1, changes=changes)

    end = {**mine, "outcome": "completed", "result_summary": "r"}
    refusal = ann.refused("finish_attempt", **end, target_issue_status="done")
    assert (refusal.code, refusal.retryable) == ("ISSUE_CHANGED_DURING_ATTEMPT", True)
    assert f"is {status} now and cannot become done" in refusal.message
    assert "acknowledged_changes" not in refusal.message


def test_null_clears_whatever_may_be_empty(world: World) -> None:
    agent = world.agent("ann")
    full = {"labels": ["ui"], "paths": ["src"], "needs": ["gpu"], "description": "d", "reserved_for": "ann"}
    agent.ask("create_issue", title="Parser", **full)

    cleared = agent.ask(
        "update_issue", issue_id="ISSUE-1", expected_version=1, changes=dict.fromkeys(full), idempotency_key="k"
    )

    assert sorted(cleared["changed_fields"]) == sorted(full)
    issue = agent.ask("get_issue", issue_id="ISSUE-1")
    assert (issue["labels"], issue["paths"], issue["needs"]) == ([], [], [])
    for name in ("title", "type", "priority", "status"):
        refusal = agent.refused("update_issue", issue_id="ISSUE-1", expected_version=2, changes={name: None})
        assert refusal.details[0]["code"] == "NULL_NOT_ALLOWED"


def test_saying_what_goes_without_saying_is_the_same_request(world: World) -> None:
    """I34, I38: a key answers again however the same request was written."""
    agent = world.agent("ann")
    first = agent.ask("create_issue", title="Parser", idempotency_key="k")
    again = agent.ask("create_issue", title="Parser", type="task", priority="medium", labels=None, idempotency_key="k")
    assert again == first
    assert agent.refused("create_issue", title="Parser", type="bug", idempotency_key="k").code == "IDEMPOTENCY_CONFLICT"


def test_an_address_begins_in_any_case(world: World) -> None:
    """I37: a scheme has no case; credentials are found in every one."""
    agent = world.agent("ann")
    agent.ask("create_issue", title="Parser", status="ready")
    note = {**claimed(agent), "kind": "finding", "content": "see"}
    agent.ask("save_attempt_note", **note, artifacts=[{"type": "url", "uri": "HTTPS://example.org/a"}])
    refusal = agent.refused("save_attempt_note", **note, artifacts=[{"type": "url", "uri": "Http://me:pw@h/a"}])
    assert refusal.details[0]["code"] == "INVALID_URL"


@pytest.mark.parametrize(
    ("profile", "name", "way_out"),
    [
        ("core", "get_issue", "--tools full has it"),
        ("full", "explain_issue", "clearway issue why"),
        ("full", "get_board", "clearway call get_board"),
        ("full", "nonsense", "call one that is listed"),
    ],
)
def test_a_tool_that_is_not_listed_says_where_it_is_had(profile: str, name: str, way_out: str) -> None:
    with pytest.raises(Refusal, match=way_out):
        Offer(profile).operation(name)
