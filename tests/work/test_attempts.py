"""Claims, renewals, notes and ends of attempts, and what a stale holder is told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.lifecycle import FAILURE_CODES, INTERRUPTION_CODES
from clearway.work import attempts


def ready_issue(world: World, title: str = "Parser", **more: Any) -> str:
    return world.agent("planner").ask("create_issue", title=title, status="ready", **more)["display_id"]


def proof(claim: dict[str, Any]) -> dict[str, str]:
    """What a holder shows."""
    return {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


def complete(agent: Agent, claim: dict[str, Any], target: str = "done", **more: Any) -> dict[str, Any]:
    return agent.ask(
        "finish_attempt",
        **proof(claim),
        outcome="completed",
        result_summary="It works.",
        target_issue_status=target,
        **more,
    )


def fail(agent: Agent, claim: dict[str, Any]) -> dict[str, Any]:
    return agent.ask(
        "finish_attempt",
        **proof(claim),
        outcome="failed",
        result_summary="It does not.",
        failure_reason_code="tests_failed",
    )


# --- claiming ---------------------------------------------------------------------------------------------------


def test_a_claim_answers_all_that_is_needed_to_finish(world: World) -> None:
    """I35."""
    agent = world.agent("claude-code")
    issue = world.agent("planner").ask("create_issue", title="Parser", status="ready", description="LL(1)")

    claim = agent.ask("claim_issue", issue_id="ISSUE-1")

    assert (claim["issue_id"], claim["display_id"]) == (issue["issue_id"], "ISSUE-1")
    assert (claim["kind"], claim["issue_version"], claim["fence"]) == ("work", 1, 1)
    assert claim["event_id"] == world.events("attempt_started")[0].id
    assert claim["context"]["issue"]["description"] == "LL(1)"
    assert claim["context"]["issue"]["effective_status"] == "in_progress"
    assert "resumed" not in claim
    assert "context" not in agent.ask("claim_issue", issue_id="ISSUE-1", context=False)


def test_next_takes_the_most_urgent_then_what_unblocks_most_then_the_oldest(world: World) -> None:
    for title, priority in (("old", "low"), ("first", "high"), ("second", "high"), ("third", "high")):
        ready_issue(world, title, priority=priority)
    ready_issue(world, "epic", type="epic", priority="critical")
    world.agent("planner").ask("create_issue", title="open", priority="critical")
    world.change("UPDATE issue SET unblocks = 2 WHERE number = 3")
    agent = world.agent("claude-code")

    claims = [agent.ask("claim_issue", next=True, context=False) for _ in range(4)]

    assert [claim["display_id"] for claim in claims] == ["ISSUE-3", "ISSUE-2", "ISSUE-4", "ISSUE-1"]
    assert claims[0]["why"] == "high priority, unblocks 2"
    assert claims[1]["why"] == "high priority, the oldest of its kind"
    refusal = agent.refused("claim_issue", next=True)
    assert (refusal.code, refusal.retryable) == ("NOTHING_TO_CLAIM", True)


@pytest.mark.parametrize("given", [{}, {"issue_id": "ISSUE-1", "next": True}, {"next": False}])
def test_a_claim_names_exactly_one_way_to_choose(world: World, given: dict[str, Any]) -> None:
    refusal = world.agent("claude-code").refused("claim_issue", **given)

    assert (refusal.code, refusal.details[0]["field"]) == ("INVALID_ARGUMENT", "issue_id")


@pytest.mark.parametrize(
    ("made", "changed", "code"),
    [
        ({}, "", "ISSUE_NOT_CLAIMABLE"),
        ({"status": "ready", "type": "epic"}, "", "ISSUE_NOT_CLAIMABLE"),
        ({"status": "done"}, "", "ISSUE_NOT_CLAIMABLE"),
        ({"status": "cancelled"}, "", "ISSUE_NOT_CLAIMABLE"),
        ({"status": "blocked", "blocked_reason": "no key"}, "", "ISSUE_NOT_CLAIMABLE"),
        ({"status": "ready"}, "blocked", "ISSUE_BLOCKED"),
        ({"status": "ready"}, "archived", "ISSUE_ARCHIVED"),
    ],
)
def test_what_is_not_ready_cannot_be_claimed(world: World, made: dict[str, str], changed: str, code: str) -> None:
    """I28."""
    planner, agent = world.agent("planner"), world.agent("claude-code")
    planner.ask("create_issue", title="Parser", **made)
    if changed == "blocked":
        planner.ask("create_issue", title="First")
        planner.ask("manage_issue_relation", source_issue_id="ISSUE-2", target_issue_id="ISSUE-1")
    elif changed == "archived":
        planner.ask("archive_issue", issue_id="ISSUE-1", expected_version=1)

    refusal = agent.refused("claim_issue", issue_id="ISSUE-1")

    assert (refusal.code, refusal.retryable) == (code, False)
    assert agent.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"
    assert not world.events("attempt_started")


def test_an_issue_that_is_not_there_cannot_be_claimed(world: World) -> None:
    """I28."""
    assert world.agent("claude-code").refused("claim_issue", issue_id="ISSUE-9").code == "ISSUE_NOT_FOUND"


@pytest.mark.parametrize("seconds", [29, 3_601, 0, -1, 2**63])
def test_a_lease_is_neither_too_short_nor_too_long(world: World, seconds: int) -> None:
    """I29."""
    ready_issue(world)

    refusal = world.agent("claude-code").refused("claim_issue", next=True, lease_seconds=seconds)

    assert [(detail["field"], detail["code"]) for detail in refusal.details] == [("lease_seconds", "OUT_OF_RANGE")]
    assert not world.events("attempt_started")


@pytest.mark.parametrize(("given", "seconds"), [({}, 900), ({"lease_seconds": None}, 900), ({"lease_seconds": 30}, 30)])
def test_a_lease_that_is_not_given_is_of_fifteen_minutes(world: World, given: dict[str, Any], seconds: int) -> None:
    """I29."""
    ready_issue(world)

    world.agent("claude-code").ask("claim_issue", next=True, **given)

    assert [row.lease_ms for row in world.rows("SELECT lease_ms FROM attempt")] == [seconds * 1_000]


def test_a_second_claim_is_told_who_holds_the_issue_and_until_when(world: World) -> None:
    ready_issue(world)
    claim = world.agent("codex").ask("claim_issue", next=True)

    refusal = world.agent("claude-code").refused("claim_issue", issue_id="ISSUE-1")

    assert (refusal.code, refusal.retryable) == ("ACTIVE_ATTEMPT_EXISTS", False)
    assert refusal.facts["agent"] == "codex"
    assert refusal.facts["until"] == claim["lease_expires_at"]
    assert claim["lease_token"] not in str(refusal.as_dict())


def test_the_session_that_holds_an_issue_gets_its_token_again(world: World) -> None:
    ready_issue(world)
    agent = world.agent("claude-code")
    first = agent.ask("claim_issue", next=True)

    again = agent.ask("claim_issue", issue_id="ISSUE-1")

    assert again["resumed"] is True
    assert (proof(again), again["fence"]) == (proof(first), first["fence"])
    assert len(world.events("attempt_started")) == 1


def test_a_session_may_hold_several_issues(world: World) -> None:
    ready_issue(world)
    ready_issue(world)
    agent = world.agent("claude-code")

    claims = [agent.ask("claim_issue", next=True) for _ in range(2)]

    assert {claim["display_id"] for claim in claims} == {"ISSUE-1", "ISSUE-2"}
    assert claims[0]["fence"] < claims[1]["fence"]


def test_a_claim_key_is_answered_alike_to_the_same_session_only(world: World) -> None:
    """I34."""
    ready_issue(world)
    first, second = world.agent("claude-code"), world.agent("claude-code")

    claim = first.ask("claim_issue", issue_id="ISSUE-1", idempotency_key="k")

    assert first.ask("claim_issue", issue_id="ISSUE-1", idempotency_key="k") == claim
    conflict = first.refused("claim_issue", issue_id="ISSUE-1", lease_seconds=60, idempotency_key="k")
    assert (conflict.code, conflict.retryable) == ("IDEMPOTENCY_CONFLICT", False)
    refusal = second.refused("claim_issue", issue_id="ISSUE-1", idempotency_key="k")
    assert refusal.code == "ACTIVE_ATTEMPT_EXISTS"
    assert claim["lease_token"] not in str(refusal.as_dict())
    assert len(world.events("attempt_started")) == 1


def test_a_claim_that_is_answered_again_says_that_its_attempt_has_ended(world: World) -> None:
    """I34: the same answer, but nobody goes on working by it."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", issue_id="ISSUE-1", idempotency_key="k")
    complete(agent, claim)

    again = agent.ask("claim_issue", issue_id="ISSUE-1", idempotency_key="k")

    assert again == claim | {"attempt_status": "completed"}
    assert len(world.events("attempt_started")) == 1


def test_who_holds_an_attempt_goes_on_after_the_machine_lost_its_secret(world: World) -> None:
    ready_issue(world)
    first = world.agent("claude-code", own_room=True)
    claim = first.ask("claim_issue", issue_id="ISSUE-1", idempotency_key="k")

    def lose_the_secret() -> Agent:
        (world.home / "secret").unlink()
        return Agent(world, first.caller, world.open_again())

    resumed = lose_the_secret().ask("claim_issue", issue_id="ISSUE-1")
    assert resumed["lease_token"] != claim["lease_token"]
    first.room = world.open_again()
    assert first.refused("renew_attempt", **proof(claim)).code == "INVALID_LEASE_TOKEN"
    first.ask("renew_attempt", **proof(resumed))

    again = lose_the_secret()
    replayed = again.ask("claim_issue", issue_id="ISSUE-1", idempotency_key="k")
    again.ask("renew_attempt", **proof(replayed))

    last = lose_the_secret()
    token = last.room.run(lambda tx: attempts.own_token(tx, claim["attempt_id"]), caller=first.caller, writes=False)
    last.ask("renew_attempt", attempt_id=claim["attempt_id"], lease_token=token)
    other = world.agent("codex", own_room=True)
    other.ask("renew_attempt", attempt_id=claim["attempt_id"], lease_token=token)


def test_no_token_is_stored_in_any_file_of_the_house(world: World) -> None:
    """I34."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True, idempotency_key="k")
    agent.ask("save_attempt_note", **proof(claim), kind="checkpoint", content="Half way.", idempotency_key="n")
    agent.refused("finish_attempt", **proof(claim), outcome="completed", result_summary="x")
    complete(agent, claim, idempotency_key="f")

    token = claim["lease_token"].encode()
    for folder, _, names in os.walk(world.home):
        for name in names:
            assert token not in Path(folder, name).read_bytes(), name
    tables = ("answered", "attempt", "attempt_note", "event", "refusal_told", "session")
    assert not any(claim["lease_token"] in str(world.rows(f"SELECT * FROM {table}")) for table in tables)


# --- the token --------------------------------------------------------------------------------------------------


def test_a_lapsed_attempt_frees_the_issue_at_its_very_moment(world: World) -> None:
    """I31."""
    first, second = world.agent("claude-code"), world.agent("codex")
    ready_issue(world)
    claim = first.ask("claim_issue", next=True, lease_seconds=60)
    world.clock.forward(seconds=60)

    refusal = first.refused("renew_attempt", **proof(claim))

    assert (refusal.code, refusal.retryable) == ("LEASE_EXPIRED", False)
    assert len(world.events("attempt_expired")) == 1
    assert second.ask("list_issues")["items"][0]["claimable"] is True
    again = second.ask("claim_issue", next=True)
    assert again["attempt_id"] != claim["attempt_id"]
    assert first.refused("renew_attempt", **proof(claim)).code == "LEASE_EXPIRED"


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("renew_attempt", {}),
        ("save_attempt_note", {"kind": "progress", "content": "x"}),
        ("finish_attempt", {"outcome": "completed", "result_summary": "x", "target_issue_status": "done"}),
    ],
)
def test_a_token_is_good_until_its_term_and_not_at_it(world: World, operation: str, given: dict[str, Any]) -> None:
    """I31."""
    ready_issue(world)
    ready_issue(world)
    agent = world.agent("claude-code", named=True)  # no beats: the term alone counts
    first, second = (agent.ask("claim_issue", next=True, lease_seconds=60) for _ in range(2))
    world.clock.forward(ms=59_999)
    assert agent.ask(operation, **proof(first), **given)["attempt_id"] == first["attempt_id"]

    world.clock.forward(ms=1)

    assert agent.refused(operation, **proof(second), **given).code == "LEASE_EXPIRED"
    assert [event.attempt for event in world.events("attempt_expired")] == [second["attempt_id"]]


def test_a_wrong_token_and_a_late_one_are_told_apart(world: World) -> None:
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)
    wrong = {**proof(claim), "lease_token": "x" * 43}

    assert agent.refused("renew_attempt", **wrong).code == "INVALID_LEASE_TOKEN"
    missing = {**proof(claim), "attempt_id": "01J00000000000000000000000"}
    assert agent.refused("renew_attempt", **missing).code == "ATTEMPT_NOT_FOUND"
    complete(agent, claim)
    for token in (proof(claim), wrong):
        assert agent.refused("renew_attempt", **token).code == "ATTEMPT_NOT_ACTIVE"


def test_whoever_shows_the_token_goes_on_with_the_attempt(world: World) -> None:
    ready_issue(world)
    first, second = world.agent("claude-code"), world.agent("codex")
    claim = first.ask("claim_issue", next=True)

    second.ask("save_attempt_note", **proof(claim), kind="progress", content="Taken over.")

    assert [event.session for event in world.events("attempt_adopted")] == [second.caller.key]
    assert second.ask("claim_issue", issue_id="ISSUE-1")["resumed"] is True
    assert first.refused("claim_issue", issue_id="ISSUE-1").code == "ACTIVE_ATTEMPT_EXISTS"


def test_a_token_that_comes_before_its_term_saves_the_attempt_of_a_dead_session(world: World) -> None:
    """Whoever is named by the token is asked first, then time, then death."""
    ready_issue(world)
    first, second = world.agent("claude-code"), world.agent("codex")
    claim = first.ask("claim_issue", next=True)
    first.dies()

    assert second.ask("renew_attempt", **proof(claim))["attempt_id"] == claim["attempt_id"]

    assert not world.events("attempt_expired")
    assert world.agent("third").refused("claim_issue", issue_id="ISSUE-1").facts["agent"] == "codex"


def test_a_wrong_token_saves_nothing(world: World) -> None:
    ready_issue(world)
    first, second = world.agent("claude-code"), world.agent("codex")
    claim = first.ask("claim_issue", next=True)
    first.dies()

    assert second.refused("renew_attempt", **{**proof(claim), "lease_token": "wrong"}).code == "LEASE_EXPIRED"

    assert not world.events("attempt_adopted")


def test_a_zombie_of_the_same_name_changes_nothing(world: World) -> None:
    """C04."""
    ready_issue(world)
    old, new = world.agent("claude-code"), world.agent("claude-code")
    stale = old.ask("claim_issue", next=True, lease_seconds=60)
    world.clock.forward(seconds=60)
    current = new.ask("claim_issue", next=True)

    assert old.refused("renew_attempt", **proof(stale)).code == "LEASE_EXPIRED"
    note = old.refused("save_attempt_note", **proof(stale), kind="progress", content="still here")
    assert note.code == "LEASE_EXPIRED"
    late = old.refused(
        "finish_attempt", **proof(stale), outcome="completed", result_summary="old", target_issue_status="done"
    )
    assert late.code == "LEASE_EXPIRED"
    evidence = world.events("late_result")
    assert [(event.attempt, '"old"' in event.data) for event in evidence] == [(stale["attempt_id"], True)]
    assert complete(new, current)["attempt_status"] == "completed"
    assert [row.result_summary for row in world.rows("SELECT result_summary FROM attempt ORDER BY fence")] == [
        None,
        "It works.",
    ]


def test_a_crashed_holders_issue_is_ready_at_once_and_comes_with_its_checkpoint(world: World) -> None:
    """C01."""
    ready_issue(world)
    first, second = world.agent("claude-code"), world.agent("codex")
    second.ask("room", status="waiting")
    claim = first.ask("claim_issue", next=True)
    first.ask("save_attempt_note", **proof(claim), kind="checkpoint", content="Lexer done, parser half.")
    first.dies()

    (item,) = second.ask("list_issues")["items"]
    assert (item["status"], item["claimable"]) == ("ready", True)
    assert not world.events("attempt_expired"), "a read changes nothing"
    taken = second.ask("claim_issue", issue_id="ISSUE-1")

    assert taken["context"]["checkpoint"]["content"] == "Lexer done, parser half."
    assert taken["context"]["previous_attempt"]["status"] == "expired"
    assert [row.status for row in world.rows("SELECT status FROM attempt ORDER BY fence")] == ["expired", "active"]
    assert len(world.rows("SELECT id FROM attempt_note")) == 1


# --- renewing ---------------------------------------------------------------------------------------------------


def test_a_renewal_counts_from_now_and_writes_no_event(world: World) -> None:
    ready_issue(world)
    agent = world.agent("claude-code", named=True)
    claim = agent.ask("claim_issue", next=True, lease_seconds=60)
    events = len(world.events())
    world.clock.forward(seconds=50)

    agent.ask("renew_attempt", **proof(claim))  # 60 more, as before
    world.clock.forward(seconds=59)
    agent.ask("renew_attempt", **proof(claim), lease_seconds=600)
    world.clock.forward(seconds=599)
    agent.ask("renew_attempt", **proof(claim))  # 600 from here on

    assert len(world.events()) == events
    assert world.rows("SELECT lease_ms FROM attempt")[0].lease_ms == 600_000


# --- notes ------------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_stored_whole_and_told_without_its_words(world: World) -> None:
    """I37."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)

    reply = agent.ask(
        "save_attempt_note",
        **proof(claim),
        kind="checkpoint",
        content="Half way, secret plan.",
        next_steps=["Write the lexer", "Test it"],
        important=True,
        artifacts=[{"type": "file", "uri": "src/a.py"}, {"type": "url", "uri": "https://x.test/pr/1", "title": "PR"}],
    )

    assert len(reply["artifact_ids"]) == 2
    (event,) = world.events("checkpoint_saved")
    assert "secret plan" not in event.data
    context = agent.ask("get_work_context", issue_id="ISSUE-1")
    assert context["checkpoint"]["content"] == "Half way, secret plan."
    assert context["checkpoint"]["next_steps"] == ["Write the lexer", "Test it"]
    assert [row.uri for row in world.rows("SELECT uri FROM artifact ORDER BY id")] == [
        "src/a.py",
        "https://x.test/pr/1",
    ]


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("../x", "INVALID_PATH"),
        ("src/../../x", "INVALID_PATH"),
        ("/etc/x", "INVALID_PATH"),
        ("C:\\x", "INVALID_PATH"),
        ("C:/x", "INVALID_PATH"),
        ("file:///etc/x", "INVALID_PATH"),
        ("https://user:secret@x.test/", "INVALID_URL"),
        ("https://", "INVALID_URL"),
        ("https:///x", "INVALID_URL"),
        ("javascript:alert(1)", "INVALID_PATH"),
        (" ", "REQUIRED"),
        ("a\0b", "NUL_NOT_ALLOWED"),
    ],
)
def test_an_artifact_outside_the_repository_is_refused_and_no_note_is_kept(world: World, uri: str, code: str) -> None:
    """I37."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)

    refusal = agent.refused(
        "save_attempt_note", **proof(claim), kind="finding", content="x", artifacts=[{"type": "file", "uri": uri}]
    )

    assert [(detail["field"], detail["code"]) for detail in refusal.details] == [("artifacts[0].uri", code)]
    assert not world.rows("SELECT id FROM attempt_note")


@pytest.mark.parametrize(
    "given",
    [
        {"artifacts": [{"type": "file", "uri": f"src/{number}.py"} for number in range(21)]},
        {"next_steps": [str(number) for number in range(21)]},
        {"next_steps": ["x" * 1_001]},
        {"content": "x" * 50_001},
    ],
)
def test_a_note_has_its_bounds(world: World, given: dict[str, Any]) -> None:
    """I37."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)

    refusal = agent.refused("save_attempt_note", **proof(claim), **{"kind": "finding", "content": "x", **given})

    assert refusal.code == "LIMIT_EXCEEDED"
    assert not world.rows("SELECT id FROM attempt_note")


def test_a_note_key_makes_one_note(world: World) -> None:
    """I38."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)
    note = {**proof(claim), "kind": "finding", "content": "It is slow.", "idempotency_key": "k"}

    first, second = agent.ask("save_attempt_note", **note), agent.ask("save_attempt_note", **note)

    assert first == second
    assert len(world.rows("SELECT id FROM attempt_note")) == len(world.events("attempt_note_saved")) == 1
    assert agent.refused("save_attempt_note", **{**note, "content": "Other."}).code == "IDEMPOTENCY_CONFLICT"


# --- finishing --------------------------------------------------------------------------------------------------

WORK_SHAPES: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"outcome": "completed"}, [("target_issue_status", "REQUIRED")]),
    ({"outcome": "completed", "target_issue_status": "blocked"}, [("blocked_reason", "REQUIRED")]),
    (
        {"outcome": "completed", "target_issue_status": "done", "blocked_reason": "x"},
        [("blocked_reason", "FORBIDDEN")],
    ),
    (
        {"outcome": "completed", "target_issue_status": "done", "reason_details": "x"},
        [("reason_details", "FORBIDDEN")],
    ),
    (
        {"outcome": "completed", "target_issue_status": "done", "review_outcome": "approved"},
        [("review_outcome", "FORBIDDEN")],
    ),
    (
        {"outcome": "completed", "target_issue_status": "done", "failure_reason_code": "timeout"},
        [("failure_reason_code", "FORBIDDEN")],
    ),
    (
        {"outcome": "completed", "review_outcome": "approved"},
        [("review_outcome", "FORBIDDEN"), ("target_issue_status", "REQUIRED")],
    ),
    ({"outcome": "failed"}, [("failure_reason_code", "REQUIRED")]),
    (
        {"outcome": "failed", "failure_reason_code": "timeout", "target_issue_status": "ready"},
        [("target_issue_status", "FORBIDDEN")],
    ),
    (
        {"outcome": "failed", "interruption_reason_code": "handoff"},
        [("failure_reason_code", "REQUIRED"), ("interruption_reason_code", "FORBIDDEN")],
    ),
    ({"outcome": "interrupted"}, [("interruption_reason_code", "REQUIRED")]),
    (
        {"outcome": "interrupted", "interruption_reason_code": "handoff", "failure_reason_code": "timeout"},
        [("failure_reason_code", "FORBIDDEN")],
    ),
]


@pytest.mark.parametrize(("given", "problems"), WORK_SHAPES)
def test_an_end_of_the_wrong_shape_leaves_the_attempt_active(
    world: World, given: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    """I40."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)

    refusal = agent.refused("finish_attempt", **proof(claim), result_summary="x", **given)

    assert (refusal.code, refusal.retryable) == ("INVALID_ARGUMENT", False)
    assert [(detail["field"], detail["code"]) for detail in refusal.details] == problems
    assert agent.ask("renew_attempt", **proof(claim))


@pytest.mark.parametrize("summary", ["", " \n"])
def test_an_end_without_a_summary_is_refused(world: World, summary: str) -> None:
    """I40."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)

    refusal = agent.refused(
        "finish_attempt", **proof(claim), outcome="failed", failure_reason_code="timeout", result_summary=summary
    )

    assert [(detail["field"], detail["code"]) for detail in refusal.details] == [("result_summary", "REQUIRED")]


def test_an_issue_in_review_is_claimed_for_review_and_decided_by_its_outcome(world: World) -> None:
    """I13, I40."""
    worker, reviewer = world.agent("claude-code"), world.agent("codex")
    for outcome, status, more in (
        ("approved", "done", {}),
        ("changes_requested", "ready", {}),
        ("blocked", "blocked", {"blocked_reason": "no key"}),
    ):
        issue = ready_issue(world)
        complete(worker, worker.ask("claim_issue", issue_id=issue), "review")
        claim = reviewer.ask("claim_issue", issue_id=issue)
        assert claim["kind"] == "review"
        refusal = reviewer.refused(
            "finish_attempt", **proof(claim), outcome="completed", result_summary="x", target_issue_status="done"
        )
        assert [(detail["field"], detail["code"]) for detail in refusal.details] == [
            ("review_outcome", "REQUIRED"),
            ("target_issue_status", "FORBIDDEN"),
        ]

        reply = reviewer.ask(
            "finish_attempt",
            **proof(claim),
            outcome="completed",
            result_summary="Read it.",
            review_outcome=outcome,
            **more,
        )

        assert reply["issue_status"] == status


@pytest.mark.parametrize(
    ("target", "more", "version"),
    [("done", {}, 2), ("review", {}, 2), ("blocked", {"blocked_reason": "no key"}, 2), ("ready", {}, 1)],
)
def test_completed_work_moves_the_issue_where_it_says(
    world: World, target: str, more: dict[str, str], version: int
) -> None:
    """I13, I41: ready from ready is accepted, and is no change."""
    ready_issue(world)
    agent = world.agent("claude-code")

    reply = complete(agent, agent.ask("claim_issue", next=True), target, **more)

    assert (reply["issue_status"], reply["issue_version"]) == (target, version)
    shown = agent.ask("get_issue", issue_id="ISSUE-1")
    assert (shown["status"], shown["effective_status"], shown["version"]) == (target, target, version)
    assert (shown.get("blocked_reason"), "closed_at" in shown) == (more.get("blocked_reason"), target == "done")
    assert reply["latest_event_id"] == world.events("attempt_completed")[0].id


def test_an_issue_that_moved_meanwhile_cannot_be_moved_from_where_it_was(world: World) -> None:
    """I44."""
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)
    world.change("UPDATE issue SET status = 'cancelled', closed_wall = 1")

    refusal = agent.refused(
        "finish_attempt", **proof(claim), outcome="completed", result_summary="x", target_issue_status="done"
    )

    assert (refusal.code, refusal.retryable) == ("ISSUE_CHANGED_DURING_ATTEMPT", True)
    assert fail(agent, claim)["issue_status"] == "cancelled"


@pytest.mark.parametrize(
    ("outcome", "field", "codes"),
    [
        ("failed", "failure_reason_code", FAILURE_CODES),
        ("interrupted", "interruption_reason_code", INTERRUPTION_CODES),
    ],
)
def test_failed_and_interrupted_work_leaves_the_issue_claimable(
    world: World, outcome: str, field: str, codes: tuple[str, ...]
) -> None:
    """I41."""
    ready_issue(world)
    agent = world.agent("claude-code")
    for code in codes:
        claim = agent.ask("claim_issue", issue_id="ISSUE-1", context=False)

        reply = agent.ask(
            "finish_attempt",
            **proof(claim),
            outcome=outcome,
            result_summary="No.",
            reason_details="Why not.",
            **{field: code},
        )

        assert (reply["attempt_status"], reply["issue_status"], reply["issue_version"]) == (outcome, "ready", 1)
        assert agent.ask("get_issue", issue_id="ISSUE-1")["claimable"] is True


def test_an_end_gives_back_the_paths_of_its_attempt_and_no_others(world: World) -> None:
    agent = world.agent("claude-code")
    agent.ask("claim_paths", paths=["free.txt"])
    ready_issue(world)
    claim = agent.ask("claim_issue", next=True)
    agent.ask("claim_paths", paths=["held.txt", "src"])

    reply = complete(agent, claim)

    assert sorted(reply["released_paths"]) == ["held.txt", "src"]
    other = world.agent("codex")
    assert other.ask("path_owner", path="src/a.py")["free"] is True
    assert other.ask("path_owner", path="free.txt")["agent"] == "claude-code"


def test_an_end_under_a_key_is_told_once_and_answered_alike(world: World) -> None:
    ready_issue(world)
    agent = world.agent("claude-code")
    claim = agent.ask("claim_issue", next=True)

    first = complete(agent, claim, idempotency_key="end")

    assert complete(agent, claim, idempotency_key="end") == first
    assert len(world.events("attempt_completed")) == 1


def test_three_failures_in_a_row_warn_the_next_and_a_success_between_does_not(world: World) -> None:
    """I46, I35."""
    ready_issue(world)
    agent = world.agent("claude-code")
    for _ in range(2):
        fail(agent, agent.ask("claim_issue", next=True, context=False))
    agent.ask("claim_issue", next=True, lease_seconds=30)
    world.clock.forward(minutes=300)  # longer than beats may carry it
    assert agent.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM", "a person has to decide first"
    warned = agent.ask("claim_issue", issue_id="ISSUE-1")

    assert warned["warnings"] == ["REPEATED_ATTEMPT_FAILURES"]
    assert agent.ask("get_issue", issue_id="ISSUE-1")["status"] == "ready"
    agent.ask(
        "finish_attempt",
        **proof(warned),
        outcome="interrupted",
        result_summary="Handing over.",
        interruption_reason_code="handoff",
    )
    assert agent.ask("claim_issue", next=True)["warnings"] == []
