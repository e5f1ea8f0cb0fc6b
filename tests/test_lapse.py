"""What time and death take, when, and that a read knows it before a write has settled it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.alive import Process
from clearway.config import Caller


def ready_issue(world: World) -> None:
    world.agent("planner").ask("create_issue", title="Parser", status="ready")


def is_free(world: World, path: str = "src") -> bool:
    return world.agent("onlooker", named=True).ask("path_owner", path=path)["free"]


def is_claimable(world: World) -> bool:
    return "claimable" in world.agent("onlooker", named=True).ask("list_issues")["items"][0]


def proof(claim: dict[str, Any]) -> dict[str, str]:
    return {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


# --- time -------------------------------------------------------------------------------------------------------


def test_a_path_of_a_named_holder_lapses_at_its_term_and_not_before(world: World) -> None:
    named = world.agent("release", named=True)
    named.ask("claim_paths", paths=["src"], ttl_seconds=60)
    world.clock.forward(ms=59_999)
    named.ask("list_issues")  # a name has no signs of life
    assert not is_free(world)

    world.clock.forward(ms=1)

    assert is_free(world)
    assert not world.events("paths_released"), "a read changes nothing"
    named.ask("room", status="here")
    (event,) = world.events("paths_released")
    assert ('"lapse"' in event.data, event.agent) == (True, "release")


def test_any_question_of_a_session_carries_what_it_holds(world: World) -> None:
    """P43."""
    agent = world.agent("alpha")
    ready_issue(world)
    agent.ask("claim_issue", next=True)
    agent.ask("claim_paths", paths=["src"])

    for _ in range(31):
        world.clock.forward(minutes=1)
        agent.ask("get_issue", issue_id="ISSUE-1")

    assert not is_free(world)
    assert not is_claimable(world)
    world.agent("beta").ask("room", status="here")  # a write: it settles, and carries
    assert not world.events("paths_released", "attempt_expired")


def test_a_beat_carries_a_lease_for_its_length_from_then_on(world: World) -> None:
    agent = world.agent("alpha")
    agent.ask("claim_paths", paths=["src"], ttl_seconds=60)
    world.clock.forward(seconds=50)
    agent.ask("list_issues")

    world.clock.forward(ms=59_999)
    assert not is_free(world)
    world.agent("beta").ask("room", status="here")
    assert not is_free(world)
    world.clock.forward(ms=1)
    assert is_free(world)


def test_a_session_that_speaks_too_late_has_lost_what_it_held(world: World) -> None:
    """Time passes before the caller's own sign of life counts."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["src"], ttl_seconds=60)
    world.clock.forward(seconds=60)

    alpha.ask("room", status="back")

    assert beta.ask("claim_paths", paths=["src"])


def test_beats_carry_an_attempt_for_four_hours_after_the_last_act_on_it(world: World) -> None:
    agent = world.agent("alpha")
    ready_issue(world)
    claim = agent.ask("claim_issue", next=True)

    def tool_calls(hours: float) -> None:
        for _ in range(int(hours * 12)):
            world.clock.forward(minutes=5)
            agent.ask("room", status="working")

    tool_calls(3.9)
    agent.ask("save_attempt_note", **proof(claim), kind="progress", content="Still at it.")
    tool_calls(4)
    assert not world.events("attempt_expired")
    tool_calls(0.25)
    assert [event.attempt for event in world.events("attempt_expired")] == [claim["attempt_id"]]


def test_all_that_lapsed_ends_once_and_leaves_notes_and_status_as_they_were(world: World) -> None:
    """I32."""
    named = world.agent("release", named=True)
    for _ in range(3):
        ready_issue(world)
    claims = [named.ask("claim_issue", next=True, lease_seconds=60) for _ in range(3)]
    artifacts = [{"type": "file", "uri": "src/a.py"}]
    named.ask("save_attempt_note", **proof(claims[0]), kind="checkpoint", content="Half.", artifacts=artifacts)
    named.ask("claim_paths", paths=["src"])
    world.clock.forward(seconds=60)
    onlooker = world.agent("onlooker", named=True)
    assert len(onlooker.ask("list_issues", is_claimable=True)["items"]) == 3, "reads know before any write"

    for _ in range(2):
        onlooker.ask("room", status="looking")

    ended = world.events("attempt_expired")
    assert {event.attempt for event in ended} == {claim["attempt_id"] for claim in claims}
    assert len(ended) == 3
    notes = world.rows("SELECT automatic FROM attempt_note ORDER BY id")
    assert [note.automatic for note in notes] == [0, 1], "what the last one held is noted, once"
    assert len(world.rows("SELECT id FROM artifact")) == 1
    assert {(row.status, row.version) for row in world.rows("SELECT status, version FROM issue")} == {("ready", 1)}
    (freed,) = world.events("paths_released")
    assert '"attempt_ended"' in freed.data, "the paths of an attempt go with it"


def test_a_reread_issue_shows_the_same_before_and_after_a_write_settled_it(world: World) -> None:
    agent, onlooker = world.agent("alpha"), world.agent("onlooker", named=True)
    ready_issue(world)
    agent.ask("claim_issue", next=True)
    agent.ask("claim_paths", paths=["src"])
    agent.dies()
    questions = (("list_issues", {}), ("get_issue", {"issue_id": "ISSUE-1"}), ("path_owner", {"path": "src/a.py"}))

    before = [onlooker.ask(name, **given) for name, given in questions] + [onlooker.ask("room")["paths"]]
    onlooker.ask("room", status="settle")
    after = [onlooker.ask(name, **given) for name, given in questions] + [onlooker.ask("room")["paths"]]

    assert before == after


@pytest.mark.parametrize("hours", [1, 24 * 30, -1, -24 * 30])
def test_a_jump_of_the_wall_clock_frees_nothing_and_lengthens_nothing(world: World, hours: float) -> None:
    """P49."""
    agent = world.agent("release", named=True)
    ready_issue(world)
    agent.ask("claim_issue", next=True, lease_seconds=60)
    agent.ask("claim_paths", paths=["src"], ttl_seconds=60)

    world.clock.jump_wall(hours=hours)
    world.clock.forward(ms=59_999)
    assert (is_free(world), is_claimable(world)) == (False, False)
    world.clock.forward(ms=1)
    assert (is_free(world), is_claimable(world)) == (True, True)


def test_a_lease_taken_while_the_wall_clock_was_a_month_ahead_keeps_its_term(world: World) -> None:
    """P49."""
    world.clock.jump_wall(hours=24 * 30)
    world.agent("release", named=True).ask("claim_paths", paths=["src"], ttl_seconds=60)

    world.clock.jump_wall(hours=-24 * 30)
    world.clock.forward(seconds=60)

    assert is_free(world)


def test_a_night_asleep_does_not_count(world: World) -> None:
    """The clock that all processes share stands still while the machine sleeps; the wall clock does not."""
    world.agent("alpha").ask("claim_paths", paths=["src"])

    world.clock.jump_wall(hours=9)

    assert not is_free(world)


# --- death ------------------------------------------------------------------------------------------------------


def test_a_death_frees_everything_with_the_next_question(world: World) -> None:
    """P44."""
    agent = world.agent("alpha")
    ready_issue(world)
    agent.ask("claim_issue", next=True)
    agent.ask("claim_paths", paths=["src"])
    assert (is_free(world), is_claimable(world)) == (False, False)

    agent.dies()

    assert (is_free(world), is_claimable(world)) == (True, True)
    beta = world.agent("beta")
    assert beta.ask("claim_paths", paths=["src"])
    assert beta.ask("claim_issue", next=True)
    (ended,) = world.events("session_ended")
    assert (ended.session, '"death"' in ended.data) == (agent.caller.key, True)


def test_only_the_dead_sessions_leases_go(world: World) -> None:
    """P40."""
    first, second = world.agent("claude-code"), world.agent("claude-code")
    first.ask("claim_paths", paths=["src"])
    second.ask("claim_paths", paths=["deploy"])

    second.dies()

    assert (is_free(world, "src"), is_free(world, "deploy")) == (False, True)


def test_a_process_of_another_host_or_none_at_all_is_not_judged(world: World) -> None:
    process = Process("boot-1", "ns-1", 7, "start-7")
    world.liveness.dead.add(7)
    elsewhere = Agent(world, Caller("alpha", "s1", cwd=str(world.repo), host="other-host", process=process))
    unknown = Agent(world, Caller("alpha", "s2", cwd=str(world.repo), host="test-host"))

    elsewhere.ask("claim_paths", paths=["src"])
    unknown.ask("claim_paths", paths=["deploy"])
    world.agent("beta").ask("room", status="here")

    assert (is_free(world, "src"), is_free(world, "deploy")) == (False, False)


def test_a_fleet_that_slept_together_wakes_with_what_it_held(world: World) -> None:
    """C07: two hours of sleep are no time that passes, so nobody loses a lease and nobody is set aside for it."""
    fleet = [world.agent("claude-code", f"s{place}") for place in range(6)]
    claims = []
    for place, agent in enumerate(fleet):
        agent.ask("create_issue", title=f"Work {place}", status="ready")
        claims.append(agent.ask("claim_issue", next=True, lease_seconds=60))
        agent.ask("claim_paths", paths=[f"src/{place}.py"], ttl_seconds=60)
    world.clock.forward(seconds=50)
    world.clock.jump_wall(hours=2)  # the wall clock went on; the monotonic one stood still
    world.clock.forward(seconds=9)
    thief = world.agent("codex", "thief")
    assert thief.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"
    assert thief.refused("claim_paths", paths=["src"]).code == "PATH_HELD"
    for agent, claim in zip(fleet, claims, strict=True):
        agent.ask("renew_attempt", attempt_id=claim["attempt_id"], lease_token=claim["lease_token"])
    assert not world.events("attempt_expired", "paths_released")


def test_what_was_over_first_is_told_first(world: World) -> None:
    """I32: both engines tell a sweep alike."""
    agents = [world.agent(name) for name in ("anna", "ben", "carl")]
    for agent, seconds in zip(agents, (90, 30, 60), strict=True):
        agent.ask("create_issue", title="Parser", status="ready")
        agent.ask("claim_issue", next=True, lease_seconds=seconds)
    world.clock.forward(seconds=90)
    agents[0].ask("create_issue", title="Lexer")
    assert [event.agent for event in world.events("attempt_expired")] == ["ben", "carl", "anna"]
