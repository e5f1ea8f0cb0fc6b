"""What blocks what: the rules of relations, and the two numbers that follow from them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conftest import Agent, World


def made(agent: Agent, *titles: str, **given: Any) -> list[str]:
    return [agent.ask("create_issue", title=title, **{"status": "ready", **given})["display_id"] for title in titles]


def relate(agent: Agent, source: str, target: str, **more: Any) -> dict[str, Any]:
    return agent.ask("manage_issue_relation", source_issue_id=source, target_issue_id=target, **more)


def numbers(world: World) -> list[tuple[int, int]]:
    """(open_blockers, unblocks) of every issue, in the order of creation; checked against the relations."""
    counted = world.rows(
        """SELECT i.open_blockers, i.unblocks,
          (SELECT count(*) FROM issue_relation r JOIN issue o ON o.id = r.source WHERE r.target = i.id
            AND r.type = 'blocks' AND o.archived_wall IS NULL AND o.status NOT IN ('done', 'cancelled')) AS blockers,
          (SELECT count(*) FROM issue_relation r JOIN issue o ON o.id = r.target WHERE r.source = i.id
            AND r.type = 'blocks' AND o.archived_wall IS NULL AND o.status NOT IN ('done', 'cancelled')) AS waiting
        FROM issue i ORDER BY i.number"""
    )
    for row in counted:
        assert (row.open_blockers, row.unblocks) == (row.blockers, row.waiting)
    return [(row.open_blockers, row.unblocks) for row in counted]


def set_status(agent: Agent, issue: str, status: str) -> None:
    version = agent.ask("get_issue", issue_id=issue)["version"]
    agent.ask("update_issue", issue_id=issue, expected_version=version, changes={"status": status})


def archive(agent: Agent, issue: str, *, archived: bool = True) -> None:
    version = agent.ask("get_issue", issue_id=issue)["version"]
    agent.ask("archive_issue", issue_id=issue, expected_version=version, archived=archived)


def test_a_blocked_issue_waits_and_says_for_what(world: World) -> None:
    """I20, I28."""
    agent = world.agent("planner")
    first, second = made(agent, "A", "B")

    reply = relate(agent, first, second)

    assert (reply["changed"], reply["source"], reply["target"], reply["type"]) == (True, first, second, "blocks")
    ids = [agent.ask("get_issue", issue_id=issue)["id"] for issue in (first, second)]
    assert reply["affected"] == [
        {"id": ids[0], "version": 1, "claimable": True},
        {"id": ids[1], "version": 1, "claimable": False},
    ]
    items = {item["display_id"]: item for item in agent.ask("list_issues")["items"]}
    assert items[second]["open_blockers"] == 1
    assert "claimable" not in items[second]
    refusal = agent.refused("claim_issue", issue_id=second)
    assert (refusal.code, refusal.facts["blockers"]) == ("ISSUE_BLOCKED", [first])
    assert [blocker["display_id"] for blocker in agent.ask("get_work_context", issue_id=second)["blockers"]] == [first]
    assert numbers(world) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("end", ["done", "cancelled", "archived", "removed", "finished"])
def test_what_waited_goes_on_when_its_blocker_ends(world: World, end: str) -> None:
    """I20."""
    agent = world.agent("planner")
    first, second = made(agent, "A", "B")
    relate(agent, first, second)

    if end == "archived":
        archive(agent, first)
    elif end == "removed":
        assert relate(agent, first, second, action="remove")["changed"] is True
    elif end == "finished":
        claim = agent.ask("claim_issue", issue_id=first)
        token = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
        agent.ask(
            "finish_attempt", **token, outcome="completed", target_issue_status="done", result_summary="It works."
        )
    else:
        set_status(agent, first, end)

    assert agent.ask("get_issue", issue_id=second)["claimable"] is True
    assert numbers(world)[1] == (0, 0)
    assert agent.ask("claim_issue", issue_id=second)["display_id"] == second


def test_a_blocker_that_comes_back_blocks_again(world: World) -> None:
    agent = world.agent("planner")
    first, second, third = made(agent, "A", "B", "C")
    relate(agent, first, second)
    relate(agent, third, first)
    set_status(agent, first, "done")
    assert numbers(world) == [(1, 1), (0, 0), (0, 0)]

    set_status(agent, first, "ready")
    assert numbers(world) == [(1, 1), (1, 0), (0, 1)]
    archive(agent, first)
    assert numbers(world) == [(1, 1), (0, 0), (0, 0)]
    archive(agent, first, archived=False)

    assert numbers(world) == [(1, 1), (1, 0), (0, 1)]


def test_what_unblocks_most_comes_next(world: World) -> None:
    agent = world.agent("planner")
    made(agent, "old")
    key, *waiting = made(agent, "key", "B", "C")
    for issue in waiting:
        relate(agent, key, issue)

    claim = agent.ask("claim_issue", next=True)

    assert claim["display_id"] == key
    assert claim["why"] == "medium priority, unblocks 2"


def test_saying_it_twice_changes_nothing(world: World) -> None:
    """I20."""
    agent = world.agent("planner")
    first, second = made(agent, "A", "B")

    absent = relate(agent, first, second, action="remove")
    relate(agent, first, second)
    told = len(world.events())
    again = relate(agent, first, second)

    assert (absent["changed"], again["changed"]) == (False, False)
    assert len(world.events()) == told
    assert numbers(world) == [(0, 1), (1, 0)]


def test_a_relation_is_told_at_both_ends_and_changes_no_version(world: World) -> None:
    agent = world.agent("planner")
    first, second = made(agent, "A", "B")

    relate(agent, first, second)
    relate(agent, first, second, action="remove")

    told = world.events("relation_added", "relation_removed")
    assert [event.type for event in told] == ["relation_added"] * 2 + ["relation_removed"] * 2
    assert len({event.issue for event in told}) == 2
    assert json.loads(told[0].data) == {"relation": "blocks", "source": first, "target": second}
    assert {agent.ask("get_issue", issue_id=issue)["version"] for issue in (first, second)} == {1}


def test_blocks_never_runs_in_a_circle(world: World) -> None:
    agent = world.agent("planner")
    first, second, third = made(agent, "A", "B", "C")
    relate(agent, first, second)
    relate(agent, second, third)
    set_status(agent, second, "done")

    refusal = agent.refused("manage_issue_relation", source_issue_id=third, target_issue_id=first)

    assert (refusal.code, refusal.retryable) == ("BLOCKS_CYCLE", False)
    assert numbers(world) == [(0, 0), (1, 1), (0, 0)]
    assert relate(agent, first, third)["changed"] is True
    assert relate(agent, third, first, relation_type="duplicates")["changed"] is True


def test_nothing_is_related_to_itself(world: World) -> None:
    agent = world.agent("planner")
    (issue,) = made(agent, "A")

    for kind in ("blocks", "related_to", "duplicates"):
        given = {"source_issue_id": issue, "target_issue_id": issue.lower(), "relation_type": kind}
        assert agent.refused("manage_issue_relation", **given).code == "SELF_RELATION"
    missing = agent.refused("manage_issue_relation", source_issue_id=issue, target_issue_id="ISSUE-9")
    assert missing.code == "ISSUE_NOT_FOUND"


def test_belonging_together_has_no_direction_and_the_others_have(world: World) -> None:
    agent = world.agent("planner")
    first, second = made(agent, "A", "B")

    relate(agent, second, first, relation_type="related_to")
    relate(agent, second, first, relation_type="duplicates")

    assert relate(agent, first, second, relation_type="related_to")["changed"] is False
    assert relate(agent, first, second, relation_type="duplicates")["changed"] is True
    assert relate(agent, first, second, relation_type="related_to", action="remove")["changed"] is True
    assert numbers(world) == [(0, 0), (0, 0)]
