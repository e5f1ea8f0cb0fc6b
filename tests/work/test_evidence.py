"""Evidence: what hooks saw of the tests decides what an agent is told when it calls its work complete, and reviewers
see it beside what the agent says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import HOST, Agent, World

from clearway.config import Caller
from clearway.trail import Trail

GREEN, RED = 0, 1
Step = tuple[str, str, int | None]  # edit or run, what, how it ended


def edit(file: str = "app.py") -> Step:
    return ("edit", file, None)


def run(command: str = "pytest -q", status: int | None = GREEN) -> Step:
    return ("run", command, status)


def works(world: World, *steps: Step) -> tuple[Agent, dict[str, Any]]:
    """An agent that has claimed ISSUE-1, and what hooks saw it do since."""
    worker = world.agent("claude-code")
    world.agent("planner").ask("create_issue", title="Parse dates", status="ready")
    claim = worker.ask("claim_issue", issue_id="ISSUE-1", context=False)
    trail = Trail(str(world.home))
    for kind, what, status in steps:
        world.clock.forward(seconds=10)
        if kind == "edit":
            trail.changed(worker.caller.key, world.clock.wall(), [str(world.repo / what)])
        else:
            trail.ran(worker.caller.key, world.clock.wall(), what, status)
    return worker, {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


def human(world: World) -> Agent:
    return Agent(world, Caller("human", cwd=str(world.repo), host=HOST, human=True))


def finish(worker: Agent, proof: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {"outcome": "completed", "result_summary": "Done.", "target_issue_status": "review", **more}
    return worker.ask("finish_attempt", **proof, **given)


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([edit(), run()], "green"),
        ([edit(), run(status=RED), run("npm test")], "green"),
        ([edit(), run(status=RED)], "red"),
        ([edit(), run(), edit()], "stale"),
        ([edit(), run(status=RED), edit()], "red"),
        ([edit()], "untested"),
        ([edit(), run("python build.py")], "untested"),
        ([run(), edit("README.md")], "green"),
        ([edit(), run("pytest | tail", None)], "unknown"),
        ([edit("README.md")], "unedited"),
        ([run("ls -la /srv")], "unedited"),
    ],
)
def test_what_was_seen_of_the_tests_is_kept_and_told(world: World, steps: list[Step], verdict: str) -> None:
    worker, proof = works(world, *steps)
    warned = [f"NO_GREEN_RUN:{verdict}"] if verdict in ("red", "stale", "untested") else []
    assert finish(worker, proof)["warnings"] == warned
    [attempt] = worker.ask("list_attempts", issue_id="ISSUE-1")["items"]
    assert attempt["evidence"]["tests"] == verdict
    assert attempt["evidence"]["runs"] == sum(kind == "run" and "test" in what for kind, what, _ in steps)


def test_of_a_session_whose_hooks_are_not_heard_nothing_is_said(world: World) -> None:
    worker, proof = works(world)
    assert finish(worker, proof)["warnings"] == []
    assert "evidence" not in worker.ask("list_attempts", issue_id="ISSUE-1")["items"][0]


def test_what_was_done_before_the_issue_was_claimed_proves_nothing(world: World) -> None:
    worker = world.agent("claude-code")
    trail = Trail(str(world.home))
    trail.ran(worker.caller.key, world.clock.wall(), "pytest", GREEN)
    world.clock.forward(minutes=1)
    worker.ask("create_issue", title="Parse dates", status="ready")
    claim = worker.ask("claim_issue", issue_id="ISSUE-1", context=False)
    trail.changed(worker.caller.key, world.clock.wall(), [str(world.repo / "app.py")])
    proof = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
    assert finish(worker, proof)["warnings"] == ["NO_GREEN_RUN:untested"]


def test_a_room_may_refuse_work_without_a_green_run(world: World) -> None:
    worker, proof = works(world, edit(), run(), edit())
    human(world).ask("set_setting", name="evidence", value="refuse")
    given = {"outcome": "completed", "result_summary": "Done.", "target_issue_status": "done"}
    refusal = worker.refused("finish_attempt", **proof, **given)
    assert (refusal.code, refusal.facts["tests"]) == ("INVALID_STATUS_TRANSITION", "stale")
    assert "edited after the last green test run" in refusal.message
    world.clock.forward(seconds=10)
    Trail(str(world.home)).ran(worker.caller.key, world.clock.wall(), "pytest", GREEN)
    assert finish(worker, proof)["warnings"] == []


def test_failed_and_interrupted_ends_need_no_evidence(world: World) -> None:
    worker, proof = works(world, edit())
    human(world).ask("set_setting", name="evidence", value="refuse")
    ended = worker.ask(
        "finish_attempt", **proof, outcome="failed", result_summary="No.", failure_reason_code="tests_failed"
    )
    assert ended["warnings"] == []


def test_reviewers_and_the_next_agent_see_what_was_seen(world: World) -> None:
    worker, proof = works(world, edit(), run("make test", RED))
    finish(worker, proof)
    reviewer = world.agent("codex")
    asked = worker.ask("create_review_request", issue_id="ISSUE-1")["review_request_id"]
    shown = reviewer.ask("get_review_request", review_request_id=asked)["evidence"]
    assert (shown["tests"], shown["command"], shown["exit"], shown["edits"]) == ("red", "make test", 1, 1)
    context = reviewer.ask("claim_issue", review_request_id=asked)["context"]
    assert context["review"]["evidence"] == shown
    assert context["previous_attempt"]["evidence"] == shown


def test_a_room_names_its_own_test_commands(world: World) -> None:
    worker, proof = works(world, edit(), run("./verify all --fast"))
    human(world).ask("set_setting", name="test_commands", value="./verify all; tools/prove")
    assert finish(worker, proof)["warnings"] == []
