"""Limits of providers: believed from those who know, ended when they said, tried carefully, and shown to everybody."""

from __future__ import annotations

import pytest
from tests.conftest import Agent, World
from tests.crew.test_tasks import give, human


@pytest.fixture
def pair(world: World) -> tuple[Agent, Agent]:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    for agent in (alpha, beta):
        agent.ask("room", status="here")
    return alpha, beta


def shown(agent: Agent, name: str) -> dict[str, str]:
    return next(each for each in agent.ask("room")["agents"] if each["agent"] == name)


def tries(world: World, agent: Agent) -> bool:
    """Whether the agent is given a task now; it gives it back as failed."""
    task = agent.ask("next_task")["task"]
    if task is None:
        return False
    proof = {"task_id": task["task_id"], "lease_token": task["lease_token"]}
    agent.ask("update_task", **proof, state="failed", result="No")
    return True


def test_everybody_sees_that_an_agent_is_at_its_limit_and_until_when(world: World, pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    said = beta.ask("report_limit", until="2h", reason="weekly limit")
    there = shown(alpha, "beta")
    assert (there["presence"], there["limited_until"]) == ("rate-limited", said["until"])
    assert alpha.ask("list_limits")["items"] == [{**said}]
    world.clock.forward(minutes=121)
    assert "limited_until" not in shown(alpha, "beta")
    beta.ask("report_limit")
    there = shown(alpha, "beta")
    assert there["presence"] == "rate-limited" and "limited_until" not in there, "nobody said when"
    assert beta.ask("report_limit", clear=True) == {"agent": "beta", "state": "free"}
    assert beta.ask("report_limit", clear=True) == {"agent": "beta", "state": "free", "changed": False}
    assert shown(alpha, "beta")["presence"] == "idle"
    assert [row.type for row in world.events("limit_reported", "limit_cleared")] == [
        *("limit_reported", "limit_reported", "limit_cleared"),
    ]


def test_nobody_reports_the_limit_of_another_but_the_human(world: World, pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    assert alpha.refused("report_limit", agent="beta").code == "NOT_YOURS"
    assert world.agent("beta-worker").ask("report_limit", agent="beta")["agent"] == "beta"
    person = human(world)
    assert person.refused("report_limit").code == "INVALID_ARGUMENT"
    assert person.ask("report_limit", agent="beta", until="30m")["source"] == "human"
    assert person.ask("report_limit", agent="beta", clear=True)["state"] == "free"
    assert beta.refused("report_limit", until="8d").code in ("INVALID_ARGUMENT", "LIMIT_EXCEEDED")
    assert beta.refused("report_limit", until="yesterday").code == "INVALID_ARGUMENT"


def test_a_reset_may_be_said_in_every_way_people_and_programs_write_it(world: World, pair: tuple[Agent, Agent]) -> None:
    _, beta = pair
    soon = world.clock.wall() // 1_000 + 7_200
    from clearway.clock import iso

    answers = [beta.ask("report_limit", until=text)["until"] for text in ("2h", "+2h", str(soon), iso(soon * 1_000))]
    assert len(set(answers)) == 1


def test_a_limit_without_an_end_is_not_guessed_to_be_over(world: World, pair: tuple[Agent, Agent]) -> None:
    """Unknown is not recovered: no probe until somebody clears it."""
    alpha, beta = pair
    give(alpha)
    beta.ask("report_limit")
    for _ in range(8):
        world.clock.forward(minutes=600)
        answer = beta.ask("next_task")
        assert answer["task"] is None and answer["waiting"]["reason"].startswith("you are at your limit")
    beta.ask("report_limit", clear=True)
    assert beta.ask("next_task")["task"] is not None


def test_after_its_end_one_task_is_tried_and_success_clears_it(world: World, pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    give(alpha, "One")
    give(alpha, "Two")
    beta.ask("report_limit", until="1h")
    world.clock.forward(minutes=59)
    assert beta.ask("next_task")["waiting"]["until"]
    world.clock.forward(minutes=1)
    first = beta.ask("next_task")["task"]
    assert first["text"] == "One"
    proof = {"task_id": first["task_id"], "lease_token": first["lease_token"]}
    beta.ask("update_task", **proof, state="started")
    assert beta.ask("next_task")["waiting"]["reason"].startswith("one task is tried")
    beta.ask("update_task", **proof, state="succeeded", result="Yes")
    assert alpha.ask("list_limits")["items"] == []
    assert beta.ask("next_task")["task"]["text"] == "Two"


def test_what_fails_is_tried_again_after_a_quarter_of_an_hour_and_four_times(
    world: World, pair: tuple[Agent, Agent]
) -> None:
    alpha, beta = pair
    for number in range(8):
        give(alpha, f"Task {number}")
    beta.ask("report_limit", until="1h")
    world.clock.forward(minutes=60)
    tried = 0
    for _ in range(200):
        tried += tries(world, beta)
        world.clock.forward(minutes=5)
    assert tried == 4
    (limit,) = alpha.ask("list_limits")["items"]
    assert (limit["state"], limit["tries"]) == ("unknown", 4)


def test_a_new_end_renews_a_limit(world: World, pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    give(alpha)
    give(alpha)
    beta.ask("report_limit", until="1h")
    world.clock.forward(minutes=60)
    assert tries(world, beta)
    beta.ask("report_limit", until="1h", source="retry_after")
    world.clock.forward(minutes=30)
    assert not tries(world, beta)
    world.clock.forward(minutes=30)
    assert tries(world, beta)


def test_a_sender_sees_that_its_task_waits_for_a_limit(pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    task = give(alpha)
    said = beta.ask("report_limit", until="2h")
    (item,) = alpha.ask("list_tasks", task_id=task)["items"]
    assert item["waiting"] == {"reason": "beta is at its provider's limit", "until": said["until"]}


def test_a_key_repeats_the_answer_and_tells_nothing_twice(world: World, pair: tuple[Agent, Agent]) -> None:
    _, beta = pair
    first = beta.ask("report_limit", until="1h", idempotency_key="k")
    assert beta.ask("report_limit", until="1h", idempotency_key="k") == first
    assert len(world.events("limit_reported")) == 1


def test_a_task_taken_by_name_counts_as_tried_too(world: World, pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    task = give(alpha)
    beta.ask("report_limit", until="1h")
    world.clock.forward(minutes=60)
    token = beta.ask("accept_message", message_id=task)["lease_token"]
    beta.ask("update_task", task_id=task, lease_token=token, state="succeeded", result="Yes")
    assert alpha.ask("list_limits")["items"] == []
