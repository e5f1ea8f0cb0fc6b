"""The door: one answer per key, what a refusal undoes and what not, what is told, and what a bug leaves behind."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import HandClock, World

from clearway import wire
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller
from clearway.db import Statement
from clearway.errors import Refusal
from clearway.room import open_machine_room, open_room


def refusals(world: World) -> list[tuple[str, int]]:
    """(code, how many were passed over before) of every refusal in the log."""
    told = [wire.loads(event.data) for event in world.events("refused")]
    return [(facts["code"], facts.get("repeated", 0)) for facts in told]


# --- one answer per key -----------------------------------------------------------------------------------------


def test_a_key_answers_the_same_request_once_for_every_session_of_the_agent(world: World) -> None:
    first, second, other = world.agent("claude-code"), world.agent("claude-code"), world.agent("codex")

    made = first.ask("create_issue", title="Parser", idempotency_key="k")

    assert first.ask("create_issue", title="Parser", idempotency_key="k") == made
    assert second.ask("create_issue", title="Parser", idempotency_key="k") == made
    assert other.ask("create_issue", title="Parser", idempotency_key="k")["display_id"] == "ISSUE-2"
    assert len(world.events("issue_created")) == 2


def test_a_key_of_another_request_is_refused(world: World) -> None:
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="Parser", idempotency_key="k")

    refusal = agent.refused("create_issue", title="Lexer", idempotency_key="k")

    assert (refusal.code, refusal.retryable) == ("IDEMPOTENCY_CONFLICT", False)
    assert len(world.rows("SELECT id FROM issue")) == 1


def test_a_key_belongs_to_its_operation(world: World) -> None:
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="Parser", status="ready", idempotency_key="k")

    assert agent.ask("claim_issue", next=True, idempotency_key="k")["display_id"] == "ISSUE-1"


def test_a_refused_request_does_not_use_its_key_up(world: World) -> None:
    agent = world.agent("claude-code")
    assert agent.refused("claim_issue", next=True, idempotency_key="k").code == "NOTHING_TO_CLAIM"
    agent.ask("create_issue", title="Parser", status="ready")

    assert agent.ask("claim_issue", next=True, idempotency_key="k")["display_id"] == "ISSUE-1"


@pytest.mark.parametrize("key", ["", " ", "x" * 129, 7])
def test_a_key_has_its_bounds(world: World, key: Any) -> None:
    refusal = world.agent("claude-code").refused("create_issue", title="Parser", idempotency_key=key)

    assert [detail["field"] for detail in refusal.details] == ["idempotency_key"]


# --- what a refusal undoes --------------------------------------------------------------------------------------


def test_a_refusal_undoes_the_operation_but_not_the_time_that_passed(world: World) -> None:
    named, agent = world.agent("release", named=True), world.agent("claude-code")
    agent.ask("create_issue", title="Parser", status="ready")
    named.ask("claim_issue", next=True, lease_seconds=60)
    world.clock.forward(seconds=60)

    agent.refused("create_issue", title="Lexer", labels=["new"], create_missing_labels=False)

    assert len(world.events("attempt_expired")) == 1
    assert len(world.events("issue_created")) == 1
    assert not world.rows("SELECT id FROM label")


@pytest.mark.parametrize("settled", [False, True], ids=["nothing was settled before", "something was settled before"])
def test_a_refusal_in_the_middle_of_a_change_is_undone_whole_and_told(world: World, *, settled: bool) -> None:
    """Where nothing came before it, the transaction itself is what is undone; what is told then has one of its own."""
    agent, other = world.agent("claude-code"), world.agent("codex")
    agent.ask("create_issue", title="Parser", status="ready")
    other.ask("claim_issue", next=True, lease_seconds=60)
    if settled:
        world.clock.forward(minutes=300)
    before = len(world.events())

    def act(tx: Any) -> None:
        tx.tell("half_done")
        tx.change(Statement("half", "UPDATE issue SET title = 'Lexer'", "UPDATE issue SET title = 'Lexer'"))
        tx.new_fence()
        raise Refusal("FORBIDDEN", "Only so far.")

    with pytest.raises(Refusal, match="Only so far"):
        world.room.run(act, caller=agent.caller)

    assert [event.type for event in world.events()[before:]] == (["attempt_expired"] if settled else []) + ["refused"]
    assert [event.id for event in world.events()] == list(range(1, len(world.events()) + 1))
    assert world.rows("SELECT title FROM issue")[0].title == "Parser"
    assert agent.ask("claim_paths", paths=["src"])["granted"][0]["fence"] == 2


def test_events_have_no_gap_whatever_is_refused(world: World) -> None:
    agent, other = world.agent("claude-code"), world.agent("codex")
    agent.ask("create_issue", title="Parser", status="ready")
    agent.ask("claim_issue", next=True)
    for _ in range(3):
        other.refused("claim_issue", issue_id="ISSUE-1")
        other.refused("claim_issue", issue_id="ISSUE-9")
        agent.refused("create_issue", title="Lexer", parent_issue_id="ISSUE-1")
        world.clock.forward(minutes=2)
    agent.ask("create_issue", title="Lexer")

    assert [event.id for event in world.events()] == list(range(1, len(world.events()) + 1))
    assert [row.number for row in world.rows("SELECT number FROM issue ORDER BY number")] == [1, 2]


def test_equal_refusals_are_told_once_a_minute_and_the_next_says_how_many(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["held.txt", "src"])
    for _ in range(3):
        beta.refused("claim_paths", paths=["held.txt"])
    assert refusals(world) == [("PATH_HELD", 0)]

    beta.refused("claim_paths", paths=["src"])  # another subject
    world.agent("gamma").refused("claim_paths", paths=["held.txt"])  # another session
    world.clock.forward(minutes=1)
    beta.refused("claim_paths", paths=["held.txt"])
    world.clock.forward(minutes=1)
    beta.refused("claim_paths", paths=["held.txt"])

    assert refusals(world) == [("PATH_HELD", 0)] * 3 + [("PATH_HELD", 2), ("PATH_HELD", 0)]


def test_only_refusals_about_possession_are_told(world: World) -> None:
    agent = world.agent("claude-code")

    agent.refused("claim_issue", issue_id="ISSUE-9")
    agent.refused("claim_issue", next=True)
    agent.refused("create_issue", title="")

    assert refusals(world) == []


def test_a_token_stands_in_no_refusal_and_in_no_event(world: World) -> None:
    first, second = world.agent("claude-code"), world.agent("codex")
    first.ask("create_issue", title="Parser", status="ready")
    claim = first.ask("claim_issue", next=True)

    told = [
        second.refused("claim_issue", issue_id="ISSUE-1"),
        second.refused("renew_attempt", attempt_id=claim["attempt_id"], lease_token=claim["lease_token"] + "x"),
    ]

    assert not any(claim["lease_token"] in str(refusal.as_dict()) for refusal in told)
    assert not any(claim["lease_token"] in event.data for event in world.events())


# --- who asked --------------------------------------------------------------------------------------------------


def test_a_write_makes_its_session_known_with_its_process(world: World) -> None:
    agent = world.agent("claude-code")

    agent.ask("create_issue", title="Parser")

    (row,) = world.rows("SELECT * FROM session")
    process = agent.caller.process
    assert process is not None
    assert (row.id, row.agent, row.pid, row.started) == (agent.caller.key, "claude-code", process.pid, process.started)
    assert (row.boot, row.pidns, row.cwd) == (process.boot, process.pidns, str(world.repo))
    assert {event.session for event in world.events()} == {agent.caller.key}


def test_a_refused_write_is_a_sign_of_life_all_the_same(world: World) -> None:
    agent = world.agent("claude-code")

    agent.refused("claim_issue", next=True)

    assert [row.beat_at for row in world.rows("SELECT beat_at FROM session")] == [world.room_now()]


def test_what_time_takes_is_told_of_the_session_that_lost_it(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("create_issue", title="Parser", status="ready")
    alpha.ask("claim_issue", next=True)
    alpha.ask("claim_paths", paths=["src"])
    alpha.dies()

    beta.ask("room", status="here")

    lost = world.events("attempt_expired", "paths_released", "session_ended")
    assert len(lost) == 3
    assert {(event.session, event.agent) for event in lost} == {(alpha.caller.key, "alpha")}


# --- bugs and broken disks --------------------------------------------------------------------------------------


def test_a_bug_rises_and_leaves_nothing_behind(world: World) -> None:
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="Parser")
    before = world.events()

    def act(tx: Any) -> None:
        tx.tell("half_done")
        tx.new_fence()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.room.run(act, caller=agent.caller)

    assert world.events() == before
    assert agent.ask("claim_paths", paths=["src"])["granted"][0]["fence"] == 1


def test_a_read_cannot_write(world: World) -> None:
    with pytest.raises(AssertionError):
        world.room.run(lambda tx: tx.tell("sneaked_in"), caller=world.agent("alpha").caller, writes=False)
    assert world.events() == []


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        ("UPDATE attempt SET status = 'active', finished_wall = NULL", "ACTIVE_ATTEMPT_EXISTS"),
        ("UPDATE issue SET status = 'half done'", "INTERNAL"),
        ("UPDATE event SET data = 'forged'", "INTERNAL"),
    ],
)
def test_what_the_database_forbids_is_refused_and_undone(world: World, broken: str, code: str) -> None:
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="Parser", status="ready")
    for _ in range(2):
        agent.ask("claim_issue", next=True, lease_seconds=30)
        world.clock.forward(minutes=300)
    agent.ask("room", status="here")

    with pytest.raises(Refusal) as caught:
        world.room.run(lambda tx: tx.change(Statement("broken", broken, broken)), caller=agent.caller)

    assert caught.value.code == code
    assert "SQL" not in caught.value.message
    assert agent.ask("claim_issue", next=True)["display_id"] == "ISSUE-1"


def test_a_failing_disk_is_not_taken_for_an_answer(world: World) -> None:
    """Nothing is told to a log that cannot be written, and what time changed is not kept by halves."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["src"])
    alpha.dies()

    def act(tx: Any) -> None:
        raise Refusal("STORAGE_FAILURE", "The disk is full.")

    with pytest.raises(Refusal):
        world.room.run(act, caller=beta.caller)

    assert not world.events("paths_released")
    assert len(world.rows("SELECT id FROM path_lease")) == 1


# --- opening ----------------------------------------------------------------------------------------------------


def test_a_room_of_another_project_is_refused(tmp_path: Path, clock: HandClock) -> None:
    """I4."""
    one, other = Clock().new_id(), Clock().new_id()
    open_room(one, home=str(tmp_path), clock=clock).close()
    shutil.copytree(tmp_path / "rooms" / one, tmp_path / "rooms" / other)

    with pytest.raises(Refusal) as caught:
        open_room(other, home=str(tmp_path), clock=clock)

    assert caught.value.code == "PROJECT_DATABASE_MISMATCH"


def test_a_room_keeps_the_kind_of_clock_it_was_made_with(tmp_path: Path, clock: HandClock) -> None:
    made_in_test, real = Clock().new_id(), Clock().new_id()
    open_room(made_in_test, home=str(tmp_path), clock=clock).close()
    open_room(real, home=str(tmp_path), clock=Clock()).close()

    for project, other in ((made_in_test, Clock()), (real, clock)):
        with pytest.raises(Refusal) as caught:
            open_room(project, home=str(tmp_path), clock=other)
        assert caught.value.code == "STORAGE_CONFIGURATION"


def test_what_a_house_keeps_is_its_owners_alone(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    old = os.umask(0o000)
    try:
        with_attempt(home)
        for folder, _, names in os.walk(tmp_path / "new"):
            assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
            for name in names:
                assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600, name
    finally:
        os.umask(old)


def with_attempt(home: Path) -> str:
    """A house with a room in which everything that is written down has been written once."""
    room = open_room(Clock().new_id(), home=str(home), clock=Clock())
    machine = open_machine_room(home=str(home), clock=Clock())
    caller = Caller("claude-code", "s1", host="h")
    room.ask(OPERATIONS["create_issue"], {"title": "Parser", "status": "ready"}, caller)
    room.ask(OPERATIONS["claim_issue"], {"next": True}, caller)
    machine.run(lambda tx: tx.tell("seen"), caller=caller)
    return room.engine.path


def test_what_others_could_read_is_tightened_when_a_room_is_opened(tmp_path: Path, clock: HandClock) -> None:
    project = Clock().new_id()
    open_room(project, home=str(tmp_path / "home"), clock=clock).close()
    file = tmp_path / "home" / "rooms" / project / "room.db"
    file.chmod(0o644)
    (tmp_path / "home").chmod(0o755)

    open_room(project, home=str(tmp_path / "home"), clock=clock).close()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
