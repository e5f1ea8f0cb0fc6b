"""What people decide for a room: who may, what may be said, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import HOST, Agent, World

from clearway import policy
from clearway.config import Caller
from clearway.db.sqlite import SqliteEngine
from clearway.policy import Outside


@pytest.fixture
def human(world: World) -> Agent:
    return Agent(world, Caller("human", cwd=str(world.repo), host=HOST, human=True))


def test_a_setting_holds_for_everybody_until_it_is_taken_back(world: World, human: Agent) -> None:
    alpha = world.agent("alpha", own_room=True)
    assert alpha.ask("get_setting", name="overlap")["value"] == "note"
    assert human.ask("set_setting", name="overlap", value="refuse")["from"] == "room"
    assert alpha.ask("get_setting", name="overlap")["value"] == "refuse"
    human.ask("set_setting", name="overlap")
    assert alpha.ask("get_setting", name="overlap") == {
        "name": "overlap",
        "value": "note",
        "from": "default",
        "default": "note",
        "allowed": "note|refuse",
        "about": "the same path held in another worktree",
    }


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("overlap", "perhaps", "note or refuse"),
        ("subagents", "Share", "share or exclude"),
        ("fail", "", None),
        ("lease.path_seconds", "0", "1 to 28800"),
        ("lease.path_seconds", "28801", "1 to 28800"),
        ("lease.path_seconds", "10m", "1 to 28800"),
        ("lease.issue_seconds", "29", "30 to 3600"),
        ("human", "a\nb", "64 letters"),
        ("human", "clearway", "a free name"),
        ("human", "system", "a free name"),
        ("human", "*", "a free name"),
        ("human", "Jo Doe", "letters, digits"),
        ("declared_commands", "make; @gpu", "separated by ;"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_allowed(human: Agent, name: str, value: str, allowed: str | None) -> None:
    refusal = human.refused("set_setting", name=name, value=value)
    assert refusal.code == "INVALID_ARGUMENT"
    assert allowed is None or allowed in refusal.message
    assert human.ask("get_setting", name=name)["from"] == "default"


def test_an_unknown_setting_is_refused_with_those_there_are(human: Agent) -> None:
    for refusal in (
        human.refused("get_setting", name="colour"),
        human.refused("set_setting", name="colour", value="1"),
    ):
        assert refusal.code == "INVALID_ARGUMENT"
        assert "worktree_binding" in refusal.message


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [("set_setting", {"name": "overlap", "value": "note"}), ("pause_guard", {}), ("resume_guard", {})],
)
def test_only_the_human_decides(world: World, operation: str, arguments: dict[str, Any]) -> None:
    for agent in (world.agent("alpha"), world.agent("beta", named=True)):
        assert agent.refused(operation, **arguments).code == "FORBIDDEN"


def test_what_was_decided_is_in_the_log(world: World, human: Agent) -> None:
    human.ask("set_setting", name="fail", value="closed")
    human.ask("pause_guard", duration="30m")
    human.ask("resume_guard")
    told = [(event.type, event.agent) for event in world.events()]
    assert told == [("setting_changed", "human"), ("guard_paused", "human"), ("guard_resumed", "human")]


def test_leases_are_as_long_as_the_room_decides_unless_the_caller_says(world: World, human: Agent) -> None:
    alpha = world.agent("alpha")
    human.ask("set_setting", name="lease.path_seconds", value="60")
    alpha.ask("claim_paths", paths=["src/a.py"])
    alpha.ask("claim_paths", paths=["src/b.py"], ttl_seconds=90)
    held = world.rows("SELECT shown, lease_ms FROM path_lease ORDER BY shown")
    assert [(row.shown, row.lease_ms) for row in held] == [("src/a.py", 60_000), ("src/b.py", 90_000)]


def test_a_pause_is_shown_to_all_and_ends_by_itself(world: World, human: Agent) -> None:
    alpha = world.agent("alpha")
    assert "guard" not in alpha.ask("room")
    human.ask("pause_guard", duration="30m")
    assert alpha.ask("room")["guard"]["state"] == "off"
    world.clock.forward(minutes=30)
    assert "guard" not in alpha.ask("room")
    human.ask("pause_guard")
    world.clock.forward(minutes=600)
    assert alpha.ask("room")["guard"] == {"state": "off"}
    human.ask("resume_guard")
    assert "guard" not in alpha.ask("room")


@pytest.mark.parametrize("duration", ["", "30", "m", "-1m", "0s", "200h", "1d", "1.5h", 30, "３0m"])
def test_a_length_of_time_is_a_number_with_its_unit(human: Agent, duration: Any) -> None:
    assert human.refused("pause_guard", duration=duration).code == "INVALID_ARGUMENT"


def test_declared_commands_name_the_resources_they_need(world: World, human: Agent) -> None:
    human.ask("set_setting", name="declared_commands", value="make pack @build:2; npm run e2e @port:3000 @db:test ;")
    found = world.room.run(policy.declared, caller=human.caller, writes=False)
    assert found == [(["make", "pack"], ["@build:2"]), (["npm", "run", "e2e"], ["@port:3000", "@db:test"])]


def test_full_durability_brings_every_commit_to_the_disk(
    world: World, human: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    if world.room.engine.name != "sqlite":
        pytest.skip("one engine shows it")
    durable: list[bool] = []
    begin = SqliteEngine.begin

    def noted(self: SqliteEngine, *, writes: bool, durable: bool = True, wait_ms: int | None = None) -> Any:
        if writes:
            kinds.append(durable)
        return begin(self, writes=writes, durable=durable, wait_ms=wait_ms)

    kinds = durable
    monkeypatch.setattr(SqliteEngine, "begin", noted)
    alpha = world.agent("alpha", own_room=True)
    alpha.room.run(lambda tx: None, caller=alpha.caller, durable=False)
    human.ask("set_setting", name="durability", value="full")
    kinds.clear()
    alpha.room.run(lambda tx: None, caller=alpha.caller, durable=False)
    alpha.room.run(lambda tx: None, caller=alpha.caller, durable=False)
    assert kinds == [False, True, True]  # learned once, at the cost of one beginning


def test_a_predecessors_variables_are_understood() -> None:
    assert Outside({"AGENT_LEASE_FAIL_CLOSED": "1", "AGENT_LEASE_TTL": "90"}, "").environment == {
        "fail": "closed",
        "lease.path_seconds": "90",
    }
