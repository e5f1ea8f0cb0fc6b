"""What comes next, for whom, and why: priority, needs, reservations, paths, and what has failed before."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Agent, World
from tests.work.test_attempts import complete, fail, proof, ready_issue

from clearway.errors import Refusal
from clearway.work import schedule


def nth(agent: Agent, **given: Any) -> dict[str, Any]:
    return agent.ask("claim_issue", next=True, context=False, **given)


def test_an_issue_keeps_what_it_needs(world: World) -> None:
    agent = world.agent("planner")
    agent.ask("create_issue", title="Train", needs=["GPU", " linux "])

    assert agent.ask("get_issue", issue_id="ISSUE-1")["needs"] == ["gpu", "linux"]
    changes = {"needs": ["linux", "gpu"]}
    same = agent.ask("update_issue", issue_id="ISSUE-1", expected_version=1, changes=changes)
    assert same["changed_fields"] == []
    fewer = agent.ask("update_issue", issue_id="ISSUE-1", expected_version=1, changes={"needs": ["gpu"]})
    assert fewer["changed_fields"] == ["needs"]
    none = agent.ask("update_issue", issue_id="ISSUE-1", expected_version=2, changes={"needs": []})
    assert none["changed_fields"] == ["needs"]
    assert agent.ask("get_issue", issue_id="ISSUE-1")["needs"] == []


@pytest.mark.parametrize(
    "needs", [["a b"], ["a,b"], ["gpu", "GPU"], [""], ["x" * 65], [f"n{place}" for place in range(21)]]
)
def test_a_need_is_one_word_and_said_once(world: World, needs: list[str]) -> None:
    refusal = world.agent("planner").refused("create_issue", title="x", needs=needs)

    assert refusal.code in ("INVALID_ARGUMENT", "LIMIT_EXCEEDED")


@pytest.mark.parametrize(
    ("able", "issue", "why"),
    [
        (None, "ISSUE-2", "medium priority, the oldest of its kind; passed over ISSUE-1: needs gpu, linux"),
        (["linux"], "ISSUE-2", "medium priority, the oldest of its kind; passed over ISSUE-1: needs gpu"),
        (["Linux", "gpu", "net"], "ISSUE-1", "high priority, the oldest of its kind"),
    ],
)
def test_next_passes_over_what_the_caller_cannot_do(world: World, able: list[str] | None, issue: str, why: str) -> None:
    ready_issue(world, "Train", needs=["gpu", "linux"], priority="high")
    ready_issue(world, "Parser")

    claim = nth(world.agent("codex"), capabilities=able)

    assert (claim["display_id"], claim["why"]) == (issue, why)


def test_who_names_an_issue_may_take_it_whatever_it_needs(world: World) -> None:
    ready_issue(world, "Train", needs=["gpu"])

    assert world.agent("codex").ask("claim_issue", issue_id="ISSUE-1")["kind"] == "work"


def test_what_failed_again_and_again_is_passed_over_and_may_be_named(world: World) -> None:
    """I46: it is not blocked."""
    ready_issue(world, "Cursed", priority="critical")
    for _ in range(3):
        agent = world.agent("codex")
        fail(agent, agent.ask("claim_issue", issue_id="ISSUE-1"))
    ready_issue(world, "Easy", priority="low")
    agent = world.agent("codex")

    first, second = nth(agent), agent.ask("claim_issue", issue_id="ISSUE-1")

    assert first["display_id"] == "ISSUE-2"
    passed = "passed over ISSUE-1: it failed again and again, and a person has to decide"
    assert first["why"] == f"low priority, the oldest of its kind; {passed}"
    assert (second["display_id"], second["warnings"]) == ("ISSUE-1", ["REPEATED_ATTEMPT_FAILURES"])


def test_two_failures_are_no_history(world: World) -> None:
    ready_issue(world, "Hard", priority="critical")
    for _ in range(2):
        agent = world.agent("codex")
        fail(agent, agent.ask("claim_issue", issue_id="ISSUE-1"))
    ready_issue(world, "Easy")

    assert nth(world.agent("codex"))["display_id"] == "ISSUE-1"


def test_the_reason_names_whose_way_it_would_cross_and_for_whom_it_is_kept(world: World) -> None:
    holder = world.agent("claude-code")
    holder.ask("claim_paths", paths=["src/a.py"])
    ready_issue(world, "Parser", paths=["src"])
    agent = world.agent("codex")
    refusal = agent.refused("claim_issue", next=True)
    assert "passed over ISSUE-1: claude-code holds its paths" in refusal.message
    holder.ask("release_paths")
    world.agent("planner").ask(
        "update_issue", issue_id="ISSUE-1", expected_version=1, changes={"reserved_for": "gemini"}
    )

    assert "passed over ISSUE-1: kept for gemini" in agent.refused("claim_issue", next=True).message
    assert nth(world.agent("gemini"))["why"].startswith("medium priority, reserved for you")


@pytest.mark.parametrize("few", [1_000, 0])
def test_needs_and_history_count_among_labelled_issues_too(
    world: World, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clearway.work import schedule

    monkeypatch.setattr(schedule, "FEW", few)
    ready_issue(world, "Train", needs=["gpu"], labels=["ml"])
    ready_issue(world, "Read", labels=["ml"])

    assert nth(world.agent("codex"), labels=["ml"])["display_id"] == "ISSUE-2"
    assert world.agent("codex").refused("claim_issue", next=True, labels=["ml"]).code == "NOTHING_TO_CLAIM"
    assert nth(world.agent("gemini"), labels=["ml"], capabilities=["gpu"])["display_id"] == "ISSUE-1"


def test_the_next_review_is_the_most_urgent_that_others_did(world: World) -> None:
    worker, reviewer = world.agent("claude-code"), world.agent("codex")
    for title, priority in (("a", "low"), ("b", "high"), ("c", "high")):
        complete(worker, worker.ask("claim_issue", issue_id=ready_issue(world, title, priority=priority)), "review")
    complete(reviewer, reviewer.ask("claim_issue", issue_id=ready_issue(world, "own", priority="critical")), "review")
    ready_issue(world, "work", priority="critical")
    able = ready_issue(world, "needy", priority="critical", needs=["gpu"])
    worker.ask("create_review_request", issue_id=able)

    claims = [nth(reviewer, kind="review") for _ in range(3)]

    assert [(claim["display_id"], claim["kind"]) for claim in claims] == [
        ("ISSUE-2", "review"),
        ("ISSUE-3", "review"),
        ("ISSUE-1", "review"),
    ]
    assert reviewer.refused("claim_issue", next=True, kind="review").code == "NOTHING_TO_CLAIM"
    assert nth(reviewer, kind="review", capabilities=["gpu"])["display_id"] == able


def test_work_is_handed_over_to_one_agent_with_what_was_left(world: World) -> None:
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", issue_id="ISSUE-1")

    reply = agent.ask(
        "finish_attempt",
        **proof(claim),
        outcome="interrupted",
        interruption_reason_code="handoff",
        result_summary="The lexer is done.",
        hand_over_to="gemini",
    )

    assert reply["issue_version"] == agent.ask("get_issue", issue_id="ISSUE-1")["version"] == 2
    assert world.agent("codex").refused("claim_issue", issue_id="ISSUE-1").code == "ISSUE_RESERVED"
    taken = world.agent("gemini").ask("claim_issue", next=True)
    assert taken["context"]["previous_attempt"]["result_summary"] == "The lexer is done."
    assert taken["why"] == "medium priority, reserved for you, the oldest of its kind"


def test_what_is_done_is_handed_to_nobody(world: World) -> None:
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", issue_id="ISSUE-1")

    refusal = agent.refused(
        "finish_attempt",
        **proof(claim),
        outcome="completed",
        target_issue_status="done",
        result_summary="x",
        hand_over_to="gemini",
    )

    assert [(detail["field"], detail["code"]) for detail in refusal.details] == [("hand_over_to", "FORBIDDEN")]


def test_a_question_is_for_whoever_is_asked_and_its_answer_reaches_what_waited(world: World) -> None:
    agent, asked = world.agent("claude-code"), world.agent("codex")
    ready_issue(world, "Round prices")
    ready_issue(world, "To cents or to euros?", type="question", priority="critical")
    ready_issue(world, "Which locale?", type="question", priority="critical", reserved_for="codex")
    for question in ("ISSUE-2", "ISSUE-3"):
        agent.ask("manage_issue_relation", source_issue_id=question, target_issue_id="ISSUE-1")
    assert agent.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"

    given = asked.ask("claim_issue", next=True)
    assert given["display_id"] == "ISSUE-3"
    complete(asked, given)
    agent.ask("add_comment", issue_id="ISSUE-2", content="To cents.")
    agent.ask("update_issue", issue_id="ISSUE-2", expected_version=1, changes={"status": "done"})

    claim = agent.ask("claim_issue", next=True)
    assert claim["display_id"] == "ISSUE-1"
    assert {each["display_id"]: each["answer"] for each in claim["context"]["answers"]} == {
        "ISSUE-2": "To cents.",
        "ISSUE-3": "It works.",
    }


def test_what_a_session_can_do_it_may_tell_the_room_once(world: World) -> None:
    ready_issue(world, "Train", needs=["gpu"])
    agent = world.agent("codex")
    assert agent.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"

    agent.ask("room", capabilities=["GPU", "net"])

    assert agent.refused("claim_issue", next=True, capabilities=["net"]).code == "NOTHING_TO_CLAIM"
    assert nth(agent)["display_id"] == "ISSUE-1"


def test_what_was_begun_and_lost_since_then_has_come_since_then(world: World) -> None:
    """A worker leaves alone what was there before it; an issue that somebody has taken up and lost is news again."""
    agent, other = world.agent("claude-code"), world.agent("codex")
    ready_issue(world)
    since = world.events()[-1].id

    def chosen() -> int:
        wanted = schedule.Wanted(since=since)
        return world.room.run(lambda tx: schedule.choose(tx, wanted)[0].number, caller=other.caller)

    with pytest.raises(Refusal, match="No issue"):
        chosen()
    agent.ask("claim_issue", issue_id="ISSUE-1", lease_seconds=60)
    world.clock.forward(minutes=300)
    assert chosen() == 1
