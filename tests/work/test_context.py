"""The work context: what it holds, in which order it gives way, and that it keeps its budget."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway import wire
from clearway.work.context import fitted

LONG = "ä" * 10_000


def ready_issue(world: World, title: str = "Parser", **more: Any) -> str:
    return world.agent("planner").ask("create_issue", title=title, status="ready", **more)["display_id"]


def work(agent: Agent, *notes: tuple[str, str], lease_seconds: int = 900) -> dict[str, str]:
    """A claim of what is next, with notes; what its holder shows."""
    claim = agent.ask("claim_issue", next=True, context=False, lease_seconds=lease_seconds)
    proof = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
    for kind, content in notes:
        agent.ask("save_attempt_note", **proof, kind=kind, content=content)
    return proof


def test_a_context_tells_the_issue_with_its_texts_and_what_was_left_behind(world: World) -> None:
    """I49."""
    ready_issue(world, description="LL(1)", acceptance_criteria="Parses itself.", priority="high", type="bug")
    first, second = world.agent("claude-code"), world.agent("codex")
    proof = work(first, ("checkpoint", "Lexer done."), ("finding", "The grammar is ambiguous."))
    first.ask(
        "finish_attempt",
        **proof,
        outcome="failed",
        result_summary="Ambiguous grammar.",
        failure_reason_code="invalid_requirements",
        reason_details="Dangling else.",
        next_steps=["Choose a rule"],
        verification=["ran the suite"],
        artifacts=[{"type": "branch", "uri": "parser", "title": "Half of it"}],
    )

    context = second.ask("get_work_context", issue_id="ISSUE-1")

    issue = context["issue"]
    assert (issue["version"], issue["type"], issue["priority"], issue["status"]) == (1, "bug", "high", "ready")
    assert (issue["description"], issue["acceptance_criteria"]) == ("LL(1)", "Parses itself.")
    assert (context["checkpoint"]["content"], context["checkpoint"]["agent"]) == ("Lexer done.", "claude-code")
    assert [note["content"] for note in context["notes"]] == ["The grammar is ambiguous."]
    previous = context["previous_attempt"]
    assert (previous["status"], previous["failure_code"]) == ("failed", "invalid_requirements")
    assert (previous["result_summary"], previous["next_steps"]) == ("Ambiguous grammar.", ["Choose a rule"])
    assert (previous["reason_details"], previous["verification"]) == ("Dangling else.", ["ran the suite"])
    assert previous["artifacts"] == [{"type": "branch", "uri": "parser", "title": "Half of it"}]
    assert (context["truncated"], context["truncated_sections"]) == (False, [])
    assert list(context)[:2] == ["issue", "checkpoint"]


def test_a_context_of_nothing_says_nothing(world: World) -> None:
    ready_issue(world)

    context = world.agent("codex").ask("get_work_context", issue_id="ISSUE-1")

    lists = {"blockers", "changes", "decisions", "neighbours", "warnings"}
    assert set(context) == {"issue", "truncated", "truncated_sections", *lists}
    assert not any(context[name] for name in lists)


def test_what_was_said_last_is_the_newest_after_the_wall_clock_was_set_back(world: World) -> None:
    ready_issue(world)
    agent = world.agent("claude-code")
    world.clock.jump_wall(hours=24 * 30)
    proof = work(agent, ("checkpoint", "early"), ("finding", "early"))
    agent.ask("add_comment", issue_id="ISSUE-1", content="early")
    world.clock.jump_wall(hours=-24 * 30)
    world.clock._last_wall = -1  # another process: it does not know which ids the first one made
    for kind in ("checkpoint", "finding"):
        agent.ask("save_attempt_note", **proof, kind=kind, content="late")
    agent.ask("add_comment", issue_id="ISSUE-1", content="late")

    context = world.agent("codex").ask("get_work_context", issue_id="ISSUE-1")

    assert context["checkpoint"]["content"] == "late"
    assert [note["content"] for note in context["notes"]] == ["late", "early"]
    assert [comment["content"] for comment in context["comments"]] == ["late", "early"]


def test_the_newest_checkpoint_counts_and_important_notes_come_first(world: World) -> None:
    ready_issue(world)
    agent = world.agent("claude-code")
    proof = work(agent, ("checkpoint", "old"), ("warning", "Careful."), ("checkpoint", "new"))
    agent.ask("save_attempt_note", **proof, kind="finding", content="Matters.", important=True)
    agent.ask("save_attempt_note", **proof, kind="progress", content="Last.")

    context = agent.ask("get_work_context", issue_id="ISSUE-1")

    assert context["checkpoint"]["content"] == "new"
    assert [note["content"] for note in context["notes"]] == ["Matters.", "Last.", "Careful."]


def test_neighbours_are_what_others_are_at_and_only_while_they_live(world: World) -> None:
    for title in ("Parser", "Lexer", "Printer"):
        ready_issue(world, title)
    mine, other, dead = world.agent("claude-code"), world.agent("codex"), world.agent("gemini")
    for agent in (mine, other, dead):
        work(agent)
    dead.dies()

    context = mine.ask("get_work_context", issue_id="ISSUE-1")

    assert context["neighbours"] == [{"display_id": "ISSUE-2", "title": "Lexer", "agent": "codex"}]


@pytest.mark.parametrize("max_bytes", [1_000, 2_500, 8_000, 200_000])
def test_a_context_keeps_its_budget_whatever_the_bodies(world: World, max_bytes: int) -> None:
    """I49."""
    labels = [f"{number:02}" + "ü" * 62 for number in range(50)]
    ready_issue(world, "ß" * 300, description=LONG * 5, acceptance_criteria=LONG * 2, labels=labels)
    for _ in range(12):
        ready_issue(world, "é" * 300)
    agent = world.agent("claude-code")
    proof = work(agent, *[("finding", LONG)] * 6, ("checkpoint", LONG))
    steps = ["ö" * 1_000] * 20
    agent.ask("save_attempt_note", **proof, kind="checkpoint", content=LONG, next_steps=steps)
    agent.ask(
        "finish_attempt",
        **proof,
        outcome="interrupted",
        result_summary=LONG,
        interruption_reason_code="handoff",
        reason_details="ä" * 2_000,
        next_steps=steps,
        verification=steps,
    )
    for _ in range(11):
        work(world.agent("codex"))

    context = agent.ask("get_work_context", issue_id="ISSUE-1", max_bytes=max_bytes)

    assert len(wire.dumps(context).encode()) <= max_bytes
    assert context["truncated"] is True
    assert context["truncated_sections"]
    assert context["issue"]["title"].startswith("ß")


def test_what_gives_way_is_named_and_the_checkpoint_goes_after_the_rest() -> None:
    sections = {
        "issue": {"title": "Parser"},
        "checkpoint": {"content": "c" * 400},
        "previous_attempt": {"result_summary": "p" * 400},
        "notes": [{"content": "n" * 400}],
        "neighbours": [{"title": "x" * 400}],
    }

    cut = fitted(sections, 1_100)

    assert cut["checkpoint"] == {"content": "c" * 400}
    assert cut["truncated"] is True
    assert cut["truncated_sections"] == ["neighbours", "notes", "previous_attempt"]
    whole = fitted(sections, 10_000)
    assert (whole["truncated"], whole["truncated_sections"]) == (False, [])


def test_a_long_checkpoint_has_the_room_that_the_rest_leaves() -> None:
    sections = {"issue": {"title": "Parser"}, "checkpoint": {"content": "é" * 8_000}}

    cut = fitted(sections, 8_000)

    assert 7_900 < len(wire.dumps(cut).encode()) <= 8_000
    assert cut["truncated_sections"] == ["checkpoint"]


@pytest.mark.parametrize("max_bytes", [999, 200_001])
def test_a_budget_has_its_bounds(world: World, max_bytes: int) -> None:
    ready_issue(world)

    refusal = world.agent("codex").refused("get_work_context", issue_id="ISSUE-1", max_bytes=max_bytes)

    assert refusal.details[0]["code"] == "OUT_OF_RANGE"


def test_the_whole_way_of_an_issue_is_small(world: World) -> None:
    """List twenty, take the next one with its context, checkpoint, finish: what a model is shown of all of it."""
    agent, other = world.agent("claude-code"), world.agent("codex")
    for number in range(30):
        ready_issue(
            world, f"Issue {number:02} of twenty characters", description="d" * 500, acceptance_criteria="c" * 500
        )
    work(other, ("checkpoint", "k" * 500))
    replies = [agent.ask("list_issues", limit=20), agent.ask("claim_issue", next=True)]
    proof = {"attempt_id": replies[1]["attempt_id"], "lease_token": replies[1]["lease_token"]}
    replies.append(agent.ask("save_attempt_note", **proof, kind="checkpoint", content="k" * 500))
    done = {"outcome": "completed", "target_issue_status": "done", "result_summary": "r" * 500}
    replies.append(agent.ask("finish_attempt", **proof, **done))
    assert sum(len(wire.dumps(reply).encode()) for reply in replies) <= 8_000
