"""Sessions and agents: who is here, how the room knows, and what a session leaves when it goes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import HOST, Agent, World

from clearway.alive import Process
from clearway.config import Caller
from clearway.crew import agents


def run(agent: Agent, act: Any) -> Any:
    return agent.room.run(act, caller=agent.caller)


def present(agent: Agent) -> dict[str, str]:
    return {other["session"]: other["presence"] for other in agent.ask("room")["agents"]}


def session(world: World, key: str) -> Any:
    (row,) = world.rows("SELECT * FROM session WHERE id = :id", id=key)
    return row


def test_a_room_shows_me_the_others_and_what_they_hold(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    beta.ask("create_issue", title="Parser", status="ready")
    beta.ask("claim_issue", next=True)
    beta.ask("claim_paths", paths=["src"], purpose="parser")
    beta.ask("room", status="writing the\nparser")

    reply = alpha.ask("room")

    assert reply["me"] == {"agent": "alpha", "session": alpha.caller.key}
    (other,) = reply["agents"]
    assert (other["agent"], other["session"], other["issue"]) == ("beta", beta.caller.key, "ISSUE-1")
    assert other["doing"] == "writing the parser"
    (held,) = reply["paths"]
    assert (held["path"], held["agent"], held["purpose"], held["mode"]) == ("src", "beta", "parser", "edit")


def test_looking_at_the_room_changes_nothing_and_a_status_is_kept(world: World) -> None:
    alpha = world.agent("alpha", named=True)

    assert alpha.ask("room")["agents"] == []
    assert not world.rows("SELECT id FROM session")
    alpha.ask("room", status="here")

    assert session(world, alpha.caller.key).doing == "here"


def test_presence_follows_turns_and_signs_of_life(world: World) -> None:
    onlooker, agent = world.agent("onlooker"), world.agent("alpha")
    key = agent.caller.key
    agent.ask("room", status="starting")
    assert present(onlooker) == {key: "idle"}

    run(agent, lambda tx: agents.turn(tx, begins=True))
    assert present(onlooker)[key] == "busy"
    world.clock.forward(minutes=14.9)
    assert present(onlooker)[key] == "busy"
    world.clock.forward(minutes=0.2)
    assert present(onlooker)[key] == "stalled"
    world.clock.forward(minutes=14.9)
    assert present(onlooker)[key] == "offline"
    agent.ask("list_issues")
    assert present(onlooker)[key] == "busy"
    run(agent, lambda tx: agents.turn(tx, begins=False))
    assert present(onlooker)[key] == "idle"


def test_a_dead_client_is_not_shown_and_its_session_ends_with_the_next_write(world: World) -> None:
    """C52, in part."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("room", status="here")
    beta.ask("room", status="here")
    beta.dies()

    assert present(alpha) == {}
    alpha.ask("room", status="still here")

    assert (session(world, beta.caller.key).ended_why, session(world, alpha.caller.key).ended_at) == ("death", None)
    assert [event.session for event in world.events("session_ended")] == [beta.caller.key]


def test_a_session_that_leaves_gives_back_its_paths_and_keeps_its_attempt(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("create_issue", title="Parser", status="ready")
    claim = alpha.ask("claim_issue", next=True)
    alpha.ask("claim_paths", paths=["src"])

    run(alpha, lambda tx: agents.leave(tx, "logout"))

    assert beta.ask("path_owner", path="src")["free"] is True
    assert beta.refused("claim_issue", issue_id="ISSUE-1").code == "ACTIVE_ATTEMPT_EXISTS"
    assert session(world, alpha.caller.key).ended_why == "logout"
    again = alpha.ask("claim_issue", issue_id="ISSUE-1")
    assert (again["resumed"], again["attempt_id"]) == (True, claim["attempt_id"])
    assert session(world, alpha.caller.key).ended_at is None, "it came back"


def test_the_attempt_of_a_session_that_left_lapses_at_its_term(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("create_issue", title="Parser", status="ready")
    alpha.ask("claim_issue", next=True)
    run(alpha, lambda tx: agents.leave(tx, "logout"))
    world.clock.forward(minutes=15)

    assert beta.ask("claim_issue", next=True)["display_id"] == "ISSUE-1"


def test_a_session_that_goes_on_in_another_process_keeps_what_it_holds(world: World) -> None:
    """`--resume` brings the same session in a new process; the death of the old one takes nothing from it."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["src"])
    alpha.dies()
    alpha.caller.process = Process("boot-1", "ns-1", 999, "start-999")

    alpha.ask("room", status="back")

    assert beta.refused("claim_paths", paths=["src"]).code == "PATH_HELD"
    assert session(world, alpha.caller.key).pid == 999


def test_a_session_that_speaks_though_its_process_is_gone_begins_anew_with_nothing(world: World) -> None:
    """C05: nothing is ever held under a session that has ended."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["src"])
    alpha.dies()
    alpha.caller.process = None

    (lease,) = alpha.ask("claim_paths", paths=["deploy"])["granted"]

    row = session(world, alpha.caller.key)
    assert (row.ended_at, row.pid, row.started_at) == (None, None, world.room_now())
    assert lease["fence"] == 2
    assert beta.ask("path_owner", path="src")["free"] is True
    assert beta.refused("claim_paths", paths=["deploy"]).code == "PATH_HELD"


def test_a_long_silent_session_may_claim_again_and_holds_it_live(world: World) -> None:
    """C05."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["src/a.py"])
    world.clock.forward(minutes=60)
    beta.ask("claim_paths", paths=["src/a.py"])
    beta.ask("release_paths")

    alpha.ask("claim_paths", paths=["src/a.py"])

    assert beta.refused("claim_paths", paths=["src/a.py"]).facts["conflicts"][0]["session"] == alpha.caller.key


def test_the_current_session_of_a_process_is_the_last_it_started(world: World) -> None:
    process = Process("boot-1", "ns-1", 7, "start-7")
    first, second = (Agent(world, Caller("alpha", name, host=HOST, process=process)) for name in ("s1", "s2"))

    def current() -> str | None:
        found = agents.current_session
        return world.room.run(lambda tx: found(tx, HOST, "boot-1", 7, "start-7"), caller=first.caller, writes=False)

    assert current() is None
    run(first, agents.begin_session)
    world.clock.forward(seconds=1)
    run(second, agents.begin_session)
    assert current() == "s2"
    world.clock.forward(seconds=1)
    run(first, lambda tx: agents.turn(tx, begins=True))
    assert current() == "s2", "only a start makes a session the current one"
    run(second, lambda tx: agents.leave(tx, "clear"))
    assert current() == "s1"


def test_a_clients_start_is_told_with_its_folder(world: World) -> None:
    agent = world.agent("alpha")

    run(agent, agents.begin_session)

    (event,) = world.events("session_started")
    assert (event.session, str(world.repo) in event.data) == (agent.caller.key, True)


@pytest.mark.parametrize("status", ["", " ", "x" * 501])
def test_a_status_is_neither_empty_nor_long(world: World, status: str) -> None:
    assert world.agent("alpha").refused("room", status=status).code in ("INVALID_ARGUMENT", "LIMIT_EXCEEDED")


def test_a_room_of_many_shows_the_latest_fifty(world: World) -> None:
    for number in range(55):
        Agent(world, Caller("crowd", f"s{number}", host=HOST)).ask("room", status="here")
        world.clock.forward(seconds=1)

    shown = world.agent("onlooker").ask("room")["agents"]

    assert [other["session"] for other in shown] == [f"s{number}" for number in range(54, 4, -1)]


def test_the_process_of_a_session_is_watched_as_long_as_there_is_something_to_take(world: World) -> None:
    """Rooms keep their ended sessions; what every write looks at must not grow with them."""
    onlooker = world.agent("onlooker", named=True)
    idle, busy = world.agent("alpha"), world.agent("beta")
    onlooker.ask("create_issue", title="Parser", status="ready")
    busy.ask("claim_issue", next=True)
    idle.ask("room", status="here")

    def watched() -> set[str]:
        return {row.id for row in world.rows("SELECT id FROM session WHERE pid IS NOT NULL")}

    assert watched() == {idle.caller.key, busy.caller.key}
    for agent in (idle, busy):
        run(agent, lambda tx: agents.leave(tx, "logout"))
    assert watched() == {busy.caller.key}
    busy.dies()
    onlooker.ask("room", status="settle")
    assert watched() == set()
    assert onlooker.ask("claim_issue", issue_id="ISSUE-1")["display_id"] == "ISSUE-1"
