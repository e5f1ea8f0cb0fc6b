"""The list of who is here: live ones first, ghosts counted, and names that are taken off it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import HOST, Agent, World

from clearway.config import Caller
from clearway.crew import agents, roster

DAY = 24 * 60


@pytest.fixture
def human(world: World) -> Agent:
    return Agent(world, Caller("human", host=HOST, human=True, cwd=str(world.repo)))


def ghosts(world: World, count: int, name: str = "codex") -> list[Agent]:
    """Sessions that ended abruptly: half of them killed here, half of which nothing was heard any more."""
    found: list[Agent] = []
    for number in range(count):
        ghost = world.agent(name, f"{name}-ghost-{number}")
        if number % 2:
            ghost.caller.process = None
        ghost.ask("room", status="working")
        if not number % 2:
            ghost.dies()
        found.append(ghost)
    return found


def listed(agent: Agent) -> list[str]:
    return [other["session"] for other in agent.ask("room")["agents"]]


def sessions(reply: list[dict[str, Any]]) -> set[str]:
    return {each["session"] for each in reply}


def test_live_ones_come_first_and_ghosts_are_counted(world: World, human: Agent) -> None:
    """C52: 40 sessions over 3 days, 37 ended abruptly."""
    for _ in range(3):
        ghosts(world, 12 if _ else 13, name=f"codex{_}")
        world.clock.forward(minutes=DAY)
    quiet, busy, idle = (world.agent("codex", key) for key in ("quiet", "busy", "idle"))
    quiet.ask("room", status="far away")
    world.clock.forward(minutes=40)
    idle.ask("room", status="here")
    world.clock.forward(minutes=1)
    busy.ask("room", status="here")
    busy.room.run(lambda tx: agents.turn(tx, begins=True), caller=busy.caller)

    room = human.ask("room")

    assert [agent["session"] for agent in room["agents"]] == ["busy", "idle", "quiet"]
    assert [agent["presence"] for agent in room["agents"]] == ["busy", "idle", "offline"]
    assert room["ended"] == 37


def test_a_retired_name_leaves_the_list_and_what_waited_for_it_goes_back(world: World, human: Agent) -> None:
    """C52, C43: a dead address bounces to the sender."""
    ghosts(world, 6)
    sender = world.agent("gemini")
    sender.ask("send_message", to="codex", text="Are you there?")
    world.clock.forward(minutes=2 * DAY)
    sender.ask("room", status="still here")

    plan = human.ask("retire_agent", name="codex", dry_run=True)
    assert (len(plan["retired"]), plan["kept"], plan["messages_returned"]) == (6, [], 1)
    assert sender.ask("read_inbox")["items"][0]["state"] == "queued", "a dry run touches nothing"
    assert not world.events("agent_retired")

    done = human.ask("retire_agent", name="codex")
    assert sessions(done["retired"]) == sessions(plan["retired"])
    assert human.ask("room").get("ended", 0) == 0
    back = sender.ask("read_inbox")["items"][0]
    assert "came back: codex was retired" in back["text"]
    assert sender.refused("send_message", to="codex", text="Hello?").code == "AGENT_NOT_FOUND"
    assert human.ask("retire_agent", name="codex")["retired"] == [], "a second time there is nothing left to do"


def test_retiring_touches_nobody_who_is_here(world: World, human: Agent) -> None:
    """C52: no live participant, claim or message a live one needs."""
    ghosts(world, 4)
    runs, holds, works = (world.agent("codex", key) for key in ("runs", "holds", "works"))
    runs.ask("room", status="idle for days, and open")
    holds.caller.process = None
    works.caller.process = None
    world.clock.forward(minutes=3 * DAY)
    works.ask("create_issue", title="Parser", status="ready")
    works.ask("claim_issue", next=True, lease_seconds=3600)
    holds.ask("claim_paths", paths=["src"], ttl_seconds=28_800)
    sender = world.agent("gemini")
    number = sender.ask("send_message", to="codex", text="For whoever is next")["message_id"]
    world.clock.forward(minutes=45)

    done = human.ask("retire_agent", name="codex")

    assert sessions(done["kept"]) == {"runs", "holds", "works"}
    assert len(done["retired"]) == 4
    assert done["messages_returned"] == 0
    assert {path["session"] for path in human.ask("room")["paths"]} == {"holds"}
    assert sender.refused("claim_issue", issue_id="ISSUE-1").code == "ACTIVE_ATTEMPT_EXISTS"
    assert number in [item["message_id"] for item in runs.ask("read_inbox")["items"]]


def test_an_agent_that_comes_back_is_on_the_list_again(world: World, human: Agent) -> None:
    (ghost,) = ghosts(world, 1)
    world.clock.forward(minutes=DAY)
    human.ask("retire_agent", name="codex")
    ghost.caller.process = world.liveness.identify(4_711)
    ghost.ask("room", status="back")
    assert listed(human) == [ghost.caller.key]
    other = world.agent("gemini")
    assert other.ask("send_message", to="codex", text="Welcome back")["state"] == "queued"


def test_only_a_person_retires_agents_that_have_been_here(world: World, human: Agent) -> None:
    agent = world.agent("codex")
    agent.ask("room", status="here")
    assert agent.refused("retire_agent", name="codex").code == "FORBIDDEN"
    assert human.refused("retire_agent", name="nobody").code == "AGENT_NOT_FOUND"


def test_a_session_of_two_names_is_noticed(world: World) -> None:
    """What is sent to one of its names does not reach it under the other."""

    def names(agent: Agent) -> list[dict[str, str]]:
        return agent.room.run(roster.of_two_names, caller=agent.caller, writes=False)

    hooks, other = world.agent("claude-code", "session-1"), world.agent("codex")
    hooks.ask("create_issue", title="Parser")
    other.ask("create_issue", title="Lexer")
    assert names(other) == []
    server = Agent(world, Caller("planner", "session-1", host=HOST, process=hooks.caller.process))
    server.ask("create_issue", title="Printer")
    assert names(other) == [{"session": "session-1", "first": "claude-code", "second": "planner"}]


def test_a_server_that_goes_by_another_name_than_its_hooks_is_noticed(world: World) -> None:
    hooks = world.agent("claude-code", "session-1")
    hooks.ask("room", status="here")
    server = Agent(world, Caller("planner", "mcp-1", host=HOST, process=hooks.caller.process))
    server.ask("room", status="here")
    found = server.room.run(roster.of_two_names, caller=server.caller, writes=False)
    assert found == [{"session": "mcp-1", "first": "planner", "second": "claude-code"}]
