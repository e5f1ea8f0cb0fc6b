"""Tasks that go to a fallback: when, to whom, told to whom, and never in circles."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Agent, World
from tests.crew.test_tasks import between_calls, give, human, state

from clearway.crew import quotas


class Crew:
    """A sender, an agent with fallbacks, and those; all are here."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.alpha, self.codex = world.agent("alpha"), world.agent("codex")
        self.claude, self.gemini = world.agent("claude-code"), world.agent("gemini")
        for agent in (self.alpha, self.codex, self.claude, self.gemini):
            agent.ask("room", status="here")
        self.person = human(world)
        self.person.ask("set_setting", name="fallbacks", value="codex=claude-code,gemini; claude-code=codex")

    def waits(self, *, minutes: float, here: tuple[Agent, ...]) -> None:
        """Time passes, in which these give signs of life."""
        left = minutes
        while left > 0:
            step = min(left, 0.5 if minutes < 5 else 5)
            self.world.clock.forward(minutes=step)
            left -= step
            for agent in here:
                agent.ask("room", status="here")

    def recipient(self, task: int) -> str:
        return self.person.ask("list_tasks", task_id=task)["items"][0]["to"]


@pytest.fixture
def crew(world: World) -> Crew:
    return Crew(world)


def taken(agent: Agent) -> dict[str, Any]:
    task = agent.ask("next_task")["task"]
    assert task is not None
    return task


def test_what_a_limited_agent_has_not_begun_goes_to_its_fallback_after_the_grace(crew: Crew) -> None:
    """P58, C47."""
    task, later = give(crew.alpha, to="codex"), give(crew.alpha, "Not yet", to="codex", not_before="3h")
    crew.world.clock.forward(minutes=5)
    answer = crew.codex.ask("report_limit", until="2h", reason="usage limit reached")
    assert (answer["agent"], answer["state"], answer["source"]) == ("codex", "limited", "reported")
    crew.world.clock.forward(seconds=59)
    assert crew.claude.ask("next_task") == {"task": None}
    crew.world.clock.forward(seconds=1)
    handed = taken(crew.claude)
    assert (handed["task_id"], handed["moved_from"]) == (task, "codex"), "at once, not when codex is free again"
    assert crew.recipient(later) == "codex", "its time has not come"
    (moved,) = crew.world.events("task_moved")
    assert f'"task":{task}' in moved.data


def test_a_limit_counts_however_many_are_newer(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "_SHOWN_MAX", 1)  # of all that are shown
    task = give(crew.alpha, to="codex")
    crew.world.clock.forward(minutes=5)
    crew.codex.ask("report_limit", until="2h")
    crew.world.clock.forward(seconds=30)
    crew.gemini.ask("report_limit", until="2h")
    crew.world.clock.forward(seconds=30)
    assert taken(crew.claude)["task_id"] == task


def test_a_limit_that_is_said_again_and_again_holds_up_nobody(crew: Crew) -> None:
    """`provider sync` may ask every few seconds."""
    task = give(crew.alpha, to="codex")
    for _ in range(6):
        crew.codex.ask("report_limit", until="2h")
        crew.world.clock.forward(seconds=10)
    assert taken(crew.claude)["task_id"] == task


def test_everybody_is_told_that_a_task_went_elsewhere(crew: Crew) -> None:
    task = give(crew.alpha, to="codex")
    crew.codex.ask("read_inbox")
    crew.codex.ask("report_limit", until="2h")
    crew.world.clock.forward(minutes=1)
    crew.world.room.settle()

    (told,) = crew.alpha.ask("read_inbox")["items"][:1]
    assert told["from"] == "clearway" and told["reply_to"] == task
    assert told["text"].startswith(
        f"Your task #{task} went from codex to claude-code: codex is at its provider's limit"
    )
    assert f"Your task #{task} went to claude-code at" in between_calls(crew.codex)
    (item,) = crew.claude.ask("read_inbox")["items"]
    assert (item["message_id"], item["state"]) == (task, "queued")
    from clearway.crew import briefing

    back = crew.world.agent("codex")
    brief = back.room.run(briefing.brief, caller=back.caller, writes=False)
    assert f"leave them there: #{task} to claude-code." in brief, "whoever comes back is told, too"
    refused = crew.codex.refused("accept_message", message_id=task)
    assert refused.code == "NOT_YOURS" and "claude-code" in refused.message


def test_what_somebody_has_in_hand_stays_with_it(crew: Crew) -> None:
    """Only unaccepted, unstarted work moves."""
    accepted, started = give(crew.alpha, to="codex"), give(crew.alpha, to="codex")
    second = crew.world.agent("codex")
    crew.codex.ask("accept_message", message_id=accepted)
    token = second.ask("accept_message", message_id=started)["lease_token"]
    second.ask("update_task", task_id=started, lease_token=token, state="started")
    crew.codex.ask("report_limit", until="2h")
    crew.waits(minutes=2, here=(crew.codex, second))
    assert crew.claude.ask("next_task") == {"task": None}
    assert crew.world.events("task_moved") == []


def test_whoever_is_silent_is_robbed_later_and_whoever_sleeps_is_not(crew: Crew) -> None:
    """Fifteen minutes without a sign; a client that runs at its prompt is there."""
    task = give(crew.alpha, to="codex")
    crew.waits(minutes=60, here=(crew.alpha, crew.claude))
    assert crew.claude.ask("next_task") == {"task": None}, "its client runs"
    crew.codex.dies()
    crew.claude.ask("room", status="here")
    assert taken(crew.claude)["task_id"] == task, "for an hour nothing was heard of it"


def test_a_process_that_ends_is_silent_from_its_last_sign_on(crew: Crew) -> None:
    crew.codex.dies()
    task = give(crew.alpha, to="codex")
    crew.waits(minutes=14, here=(crew.alpha, crew.claude))
    assert crew.claude.ask("next_task") == {"task": None}
    crew.waits(minutes=1, here=(crew.claude,))
    assert taken(crew.claude)["task_id"] == task


def test_a_fallback_that_cannot_either_is_passed_over(crew: Crew) -> None:
    """C47: sick by its own limit, by silence, or by what it lost lately."""
    task = give(crew.alpha, to="codex")
    crew.claude.ask("report_limit")
    crew.codex.ask("report_limit", until="2h")
    crew.world.clock.forward(minutes=1)
    assert taken(crew.gemini)["task_id"] == task
    for _ in range(2):
        lost = give(crew.alpha, to="gemini")
        handed = crew.gemini.ask("accept_message", message_id=lost)
        crew.gemini.ask("update_task", task_id=lost, lease_token=handed["lease_token"], state="failed", result="x")
    waiting = give(crew.alpha, to="codex")
    crew.world.clock.forward(minutes=2)
    crew.world.room.settle()
    assert crew.recipient(waiting) == "codex", "nobody is well, so it stays"


def test_who_gives_tasks_back_in_order_is_not_sick(crew: Crew) -> None:
    """C47: a worker that is stopped twice has lost nothing."""
    for _ in range(2):
        given = give(crew.alpha, to="claude-code")
        handed = crew.claude.ask("accept_message", message_id=given)
        crew.claude.ask("report_limit", until="1m", task_id=given, task_token=handed["lease_token"])
        crew.claude.ask("report_limit", clear=True)
    task = give(crew.alpha, to="codex")
    crew.codex.ask("report_limit", until="2h")
    crew.world.clock.forward(minutes=1)
    crew.world.room.settle()
    assert crew.recipient(task) == "claude-code"


def test_a_task_never_goes_in_circles_nor_back_to_who_asked(crew: Crew) -> None:
    """C47: it moves once along the chain."""
    task = give(crew.alpha, to="codex")
    own = give(crew.claude, to="codex")
    crew.codex.ask("report_limit", until="2h")
    crew.world.clock.forward(minutes=1)
    crew.world.room.settle()
    assert (crew.recipient(task), crew.recipient(own)) == ("claude-code", "gemini")
    crew.codex.ask("report_limit", clear=True)
    crew.claude.ask("report_limit", until="2h")
    crew.world.clock.forward(minutes=1)
    crew.world.room.settle()
    assert crew.recipient(task) == "gemini", "not back to codex, which had it"
    crew.gemini.ask("report_limit", until="2h")
    crew.world.clock.forward(minutes=30)
    crew.world.room.settle()
    assert crew.recipient(task) == "gemini"
    assert len(crew.world.events("task_moved")) == 3


def test_a_worker_gives_back_what_its_limit_stopped_and_a_fallback_has_it_at_once(crew: Crew) -> None:
    """P58: not after the reset of the source, and the worker that comes back is fenced by its token."""
    crew.codex.dies()
    worker = crew.world.agent("codex-worker")
    task = give(crew.alpha, to="codex")
    handed = taken(worker)
    worker.ask("update_task", task_id=task, lease_token=handed["lease_token"], state="started")
    answer = worker.ask(
        "report_limit", until="5h", source="exit_status", task_id=task, task_token=handed["lease_token"]
    )
    assert answer["moved"] == [{"task_id": task, "from": "codex", "to": "claude-code", "why": "limited"}]
    again = taken(crew.claude)
    assert again["task_id"] == task and again["lease_token"] != handed["lease_token"]
    late = worker.refused("update_task", task_id=task, lease_token=handed["lease_token"], state="succeeded")
    assert (late.code, "claude-code has it now" in late.message) == ("LEASE_EXPIRED", True)
    crew.claude.ask("update_task", task_id=task, lease_token=again["lease_token"], state="succeeded", result="Done")
    assert state(crew.alpha, task) == "succeeded"


def test_a_sender_that_repeats_itself_is_not_refused_after_a_move(crew: Crew) -> None:
    first = give(crew.alpha, to="codex", dedupe_key="once")
    crew.codex.ask("report_limit")
    crew.world.clock.forward(minutes=1)
    crew.world.room.settle()
    assert give(crew.alpha, to="codex", dedupe_key="once") == first


def test_what_waited_before_the_fallbacks_were_decided_stays_until_somebody_says_so(world: World) -> None:
    """A15: activation points, and --include-existing."""
    alpha, codex, claude = world.agent("alpha"), world.agent("codex"), world.agent("claude-code")
    for agent in (alpha, codex, claude):
        agent.ask("room", status="here")
    old = give(alpha, to="codex")
    person = human(world)
    assert person.refused("activate_failover", agents=["codex"]).code == "INVALID_ARGUMENT"
    person.ask("set_setting", name="fallbacks", value="codex=claude-code")
    codex.ask("report_limit")
    world.clock.forward(minutes=2)
    assert claude.ask("next_task") == {"task": None}
    assert claude.refused("activate_failover", agents=["codex"]).code == "FORBIDDEN"
    answer = person.ask("activate_failover", agents=["codex"], include_existing=True)
    assert answer["moved"] == [{"task_id": old, "from": "codex", "to": "claude-code", "why": "limited"}]
    younger = give(alpha, to="codex")
    person.ask("activate_failover", agents=["codex"])
    world.clock.forward(minutes=2)
    world.room.settle()
    assert person.ask("list_tasks", task_id=younger)["items"][0]["to"] == "codex"


@pytest.mark.parametrize("value", ["codex", "codex=", "codex=codex", "a=b;a=c", "codex=bad name"])
def test_a_chain_that_means_nothing_is_refused(value: str, crew: Crew) -> None:
    refused = crew.person.refused("set_setting", name="fallbacks", value=value)
    assert (refused.code, "codex=claude-code" in refused.message) == ("INVALID_ARGUMENT", True)
