"""Attempts given back without their tokens, failures in a row, the bound of unattended ones, and what next takes."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.conftest import HOST, Agent, World

from clearway.config import Caller
from clearway.errors import Refusal
from clearway.limits import ATTEMPT_UNATTENDED_MS
from clearway.work import schedule


def human(world: World) -> Agent:
    return Agent(world, Caller("human", client="cli", cwd=str(world.repo), host=HOST, human=True))


def made(agent: Agent, **given: Any) -> str:
    return agent.ask("create_issue", **{"title": "Parser", "status": "ready", **given})["display_id"]


def proof(claim: dict[str, Any]) -> dict[str, str]:
    return {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


def fail(agent: Agent, claim: dict[str, Any]) -> dict[str, Any]:
    ending = {"outcome": "failed", "result_summary": "It does not.", "failure_reason_code": "tests_failed"}
    return agent.ask("finish_attempt", **proof(claim), **ending)


def interrupt(agent: Agent, claim: dict[str, Any]) -> dict[str, Any]:
    ending = {"outcome": "interrupted", "result_summary": "Later.", "interruption_reason_code": "handoff"}
    return agent.ask("finish_attempt", **proof(claim), **ending)


# --- release --------------------------------------------------------------------------------------------------------


def test_the_human_gives_back_anyones_attempt(world: World) -> None:
    """I47."""
    worker, other = world.agent("claude-code"), world.agent("codex")
    made(other)
    claim = worker.ask("claim_issue", next=True)
    worker.ask("claim_paths", paths=["src/a.py"])
    worker.ask("save_attempt_note", **proof(claim), kind="checkpoint", content="Half done.")

    reply = human(world).ask("release_attempt", attempt_id=claim["attempt_id"])

    assert (reply["attempt_status"], reply["issue_status"], reply["issue_version"]) == ("interrupted", "ready", 1)
    assert reply["released_paths"] == ["src/a.py"]
    (event,) = world.events("attempt_interrupted")
    assert (event.agent, reply["latest_event_id"]) == ("human", event.id)
    again = other.ask("claim_issue", next=True)
    assert again["context"]["checkpoint"]["content"] == "Half done."
    assert again["context"]["previous_attempt"]["interruption_code"] == "user_request"
    assert worker.refused("renew_attempt", **proof(claim)).code == "ATTEMPT_NOT_ACTIVE"


def test_an_agent_gives_back_its_own_attempt_and_no_other(world: World) -> None:
    worker, other = world.agent("claude-code"), world.agent("claude-code")
    made(other)
    claim = worker.ask("claim_issue", next=True)

    refusal = other.refused("release_attempt", attempt_id=claim["attempt_id"])
    reply = worker.ask("release_attempt", attempt_id=claim["attempt_id"].lower())

    assert (refusal.code, refusal.facts["agent"]) == ("NOT_YOURS", "claude-code")
    assert reply["attempt_status"] == "interrupted"
    assert len(world.events("attempt_interrupted")) == 1


def test_what_a_named_holder_has_is_open_to_its_sessions(world: World) -> None:
    named, session = world.agent("claude-code", named=True), world.agent("claude-code")
    made(named)
    claim = named.ask("claim_issue", next=True)

    assert session.ask("release_attempt", attempt_id=claim["attempt_id"])["attempt_status"] == "interrupted"


def test_an_attempt_that_is_over_or_unknown_is_not_given_back(world: World) -> None:
    """I47."""
    worker, person = world.agent("claude-code"), human(world)
    made(worker)
    claim = worker.ask("claim_issue", next=True, lease_seconds=60)

    assert person.refused("release_attempt", attempt_id="01ARZ3NDEKTSV4RRFFQ69G5FAV").code == "ATTEMPT_NOT_FOUND"
    world.clock.forward(seconds=60)
    assert person.refused("release_attempt", attempt_id=claim["attempt_id"]).code == "ATTEMPT_NOT_ACTIVE"
    assert world.events("attempt_interrupted") == []


def test_of_two_releases_at_once_one_is_told(world: World) -> None:
    """I47."""
    worker = world.agent("claude-code")
    made(worker)
    attempt = worker.ask("claim_issue", next=True)["attempt_id"]
    people = [human(world) for _ in range(2)]
    for person in people:
        person.room = world.open_again()
    start = threading.Barrier(len(people))
    told: list[str] = []

    def release(person: Agent) -> None:
        start.wait()
        try:
            told.append(person.ask("release_attempt", attempt_id=attempt)["attempt_status"])
        except Refusal as refusal:
            told.append(refusal.code)

    threads = [threading.Thread(target=release, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(told) == ["ATTEMPT_NOT_ACTIVE", "interrupted"]
    assert len(world.events("attempt_interrupted")) == 1


# --- failures in a row ----------------------------------------------------------------------------------------------


def test_three_failures_in_a_row_call_for_a_human_and_block_nothing(world: World) -> None:
    """I46."""
    worker, other = world.agent("claude-code"), world.agent("codex")
    issue = made(other)
    for _ in range(2):
        fail(worker, worker.ask("claim_issue", issue_id=issue))
    assert "needs_human" not in other.ask("get_issue", issue_id=issue)
    worker.ask("claim_issue", issue_id=issue, lease_seconds=60)
    world.clock.forward(seconds=60)

    assert other.ask("list_issues")["items"][0]["needs_human"] is True
    assert other.ask("get_work_context", issue_id=issue)["warnings"] == ["REPEATED_ATTEMPT_FAILURES"]
    claim = other.ask("claim_issue", issue_id=issue)
    assert (claim["display_id"], claim["warnings"]) == (issue, ["REPEATED_ATTEMPT_FAILURES"])

    interrupt(other, claim)

    assert "needs_human" not in other.ask("get_issue", issue_id=issue)
    assert other.ask("claim_issue", next=True)["warnings"] == []


def test_a_finished_issue_needs_nobody(world: World) -> None:
    worker = world.agent("claude-code")
    issue = made(worker)
    for _ in range(3):
        fail(worker, worker.ask("claim_issue", issue_id=issue))

    worker.ask("update_issue", issue_id=issue, expected_version=1, changes={"status": "done"})

    assert "needs_human" not in worker.ask("get_issue", issue_id=issue)


# --- unattended attempts --------------------------------------------------------------------------------------------


def test_beats_alone_carry_an_attempt_four_hours_and_no_longer(world: World) -> None:
    """C02, as far as beats go: a busy client that never touches its attempt."""
    worker, other = world.agent("claude-code"), world.agent("codex")
    made(other)
    claim = worker.ask("claim_issue", next=True, lease_seconds=900)
    started = world.clock.elapsed

    while world.clock.elapsed - started < ATTEMPT_UNATTENDED_MS:
        world.clock.forward(minutes=10)
        worker.ask("room", status="testing")
        assert other.refused("claim_issue", issue_id="ISSUE-1").code == "ACTIVE_ATTEMPT_EXISTS"
    for _ in range(2):
        world.clock.forward(minutes=7.5)
        worker.ask("room", status="testing")

    assert other.ask("claim_issue", issue_id="ISSUE-1")["attempt_id"] != claim["attempt_id"]
    assert worker.refused("renew_attempt", **proof(claim)).code == "LEASE_EXPIRED"


@pytest.mark.parametrize("act", ["note", "renew", "claim"])
def test_an_act_that_concerns_the_attempt_begins_the_four_hours_anew(world: World, act: str) -> None:
    worker, other = world.agent("claude-code"), world.agent("codex")
    made(other)
    claim = worker.ask("claim_issue", next=True, lease_seconds=3600)

    for hour in range(6):
        world.clock.forward(minutes=59)
        worker.ask("room", status="testing")
        if hour == 2 and act == "note":
            worker.ask("save_attempt_note", **proof(claim), kind="progress", content="Still at it.")
        elif hour == 2 and act == "renew":
            worker.ask("renew_attempt", **proof(claim))
        elif hour == 2:
            assert worker.ask("claim_issue", issue_id="ISSUE-1")["resumed"] is True

    assert other.refused("claim_issue", issue_id="ISSUE-1").code == "ACTIVE_ATTEMPT_EXISTS"


# --- what comes next ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [schedule.FEW, 0])
def test_next_takes_what_the_filters_admit(world: World, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many issues have the label."""
    monkeypatch.setattr(schedule, "FEW", few)
    planner, worker = world.agent("planner"), world.agent("claude-code")
    epic = made(planner, type="epic")
    plain = made(planner, priority="critical")
    child = made(planner, parent_issue_id=epic)
    labelled = made(planner, labels=["UI"])
    low = made(planner, priority="low")

    assert worker.ask("claim_issue", next=True, labels=["ui", "core"])["display_id"] == labelled
    assert worker.ask("claim_issue", next=True, priorities=["low", "high"])["display_id"] == low
    assert worker.ask("claim_issue", next=True, epic_id=epic.lower())["display_id"] == child
    refusal = worker.refused("claim_issue", next=True, labels=["core"])
    assert (refusal.code, refusal.retryable) == ("NOTHING_TO_CLAIM", True)
    assert worker.refused("claim_issue", issue_id=plain, labels=["ui"]).code == "INVALID_ARGUMENT"
    assert worker.ask("claim_issue", next=True)["display_id"] == plain


@pytest.mark.parametrize(
    ("declared", "held", "passed_over"),
    [
        ("src/a.py", "src/a.py", True),
        ("src", "src/a.py", True),
        ("src/a.py", "src", True),
        (".", "src/a.py", True),
        ("src/a.py", "src/b.py", False),
        ("sr", "src/a.py", False),
        ("src/a.pyc", "src/a.py", False),
    ],
)
def test_next_passes_over_what_others_are_editing(world: World, declared: str, held: str, *, passed_over: bool) -> None:
    planner, editor, worker = world.agent("planner"), world.agent("codex"), world.agent("claude-code")
    urgent, other = made(planner, paths=[declared], priority="high"), made(planner)
    editor.ask("claim_paths", paths=[held])

    assert worker.ask("claim_issue", next=True)["display_id"] == (other if passed_over else urgent)
    if passed_over:
        assert editor.ask("claim_issue", next=True)["display_id"] == urgent


def test_paths_that_were_given_back_are_no_reason(world: World) -> None:
    planner, editor, worker = world.agent("planner"), world.agent("codex"), world.agent("claude-code")
    issue = made(planner, paths=["src"])
    editor.ask("claim_paths", paths=["src/a.py"], ttl_seconds=60)
    assert worker.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"

    world.clock.forward(seconds=60)

    assert worker.ask("claim_issue", next=True)["display_id"] == issue
