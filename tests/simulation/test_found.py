"""What the worlds and the model found, each told again in the few questions that it takes, on both engines."""

from __future__ import annotations

from tests.conftest import HOST, Agent, World

from clearway import clock
from clearway.config import Caller
from clearway.crew import agents


def test_paths_that_go_with_a_lapsed_attempt_are_free_for_readers_too(world: World) -> None:
    """Until somebody wrote, a read still showed them as held."""
    holder, reader = world.agent("codex", named=True), world.agent("claude-code")
    _claims(holder, seconds=60)
    holder.ask("claim_paths", paths=["src/a.py"])
    world.clock.forward(seconds=60)
    assert reader.ask("path_owner", path="src/a.py")["free"] is True


def test_a_question_that_comes_too_late_carries_no_lease(world: World) -> None:
    """A holder that only read after its term gave a sign of life before the lapse was settled, and its lease rose."""
    holder, other = world.agent("claude-code"), world.agent("codex")
    holder.ask("claim_paths", paths=["src/a.py"], ttl_seconds=60)
    world.clock.forward(seconds=60)
    holder.ask("list_issues")
    assert other.ask("path_owner", path="src/a.py")["free"] is True
    assert other.ask("claim_paths", paths=["src/a.py"])["granted"]


def test_an_expiry_that_signs_of_life_have_carried_on_is_shown_as_it_is(world: World) -> None:
    """A read before anybody had written showed a time in the past for a lease that was alive."""
    holder, reader = world.agent("claude-code"), world.agent("codex")
    holder.ask("claim_paths", paths=["src/a.py"], ttl_seconds=60)
    world.clock.forward(seconds=50)
    holder.ask("list_issues")
    world.clock.forward(seconds=20)
    assert reader.ask("path_owner", path="src/a.py")["until"] == clock.iso(world.clock.wall() + 40_000)


def test_a_request_that_is_repeated_late_takes_nothing_back(world: World) -> None:
    """Its token adopted the attempt again, although it had been handed on since."""
    first, second = world.agent("claude-code"), world.agent("codex")
    token = _claims(first, seconds=900)
    note = {**token, "kind": "progress", "content": "Half of it."}
    answer = first.ask("save_attempt_note", **note, idempotency_key="once")
    second.ask("renew_attempt", **token)
    assert first.ask("save_attempt_note", **note, idempotency_key="once") == answer
    assert first.ask("get_issue", issue_id="ISSUE-1")["attempt"]["session"] == second.caller.key


def test_who_left_and_is_the_first_to_speak_raises_nothing(world: World) -> None:
    """The session was opened again, with a sign of life, before the lapse of its attempt was settled."""
    holder = world.agent("claude-code")
    token = _claims(holder, seconds=60)
    holder.room.run(lambda tx: agents.leave(tx, "ended"), caller=holder.caller)
    world.clock.forward(seconds=60)
    assert holder.refused("renew_attempt", **token).code == "LEASE_EXPIRED"


def test_an_attempt_that_is_carried_when_it_is_handed_over_stays_alive(world: World) -> None:
    """Past its stored term it lived by the beats of the one and lapsed for want of those of the other."""
    first, second = world.agent("claude-code"), world.agent("codex")
    second.ask("room", status="waiting")  # its last sign of life before the hand-over
    token = _claims(first, seconds=60)
    world.clock.forward(seconds=50)
    first.ask("list_issues")
    world.clock.forward(seconds=20)
    assert second.ask("renew_attempt", **token)["attempt_id"] == token["attempt_id"]


def test_a_client_that_left_and_is_started_again_in_time_finds_its_attempt(world: World) -> None:
    """Its first process was gone, and that was noticed before it was known where the session runs now."""
    holder = world.agent("claude-code")
    token = _claims(holder, seconds=900)
    holder.room.run(lambda tx: agents.leave(tx, "ended"), caller=holder.caller)
    holder.dies()
    again = Caller(
        "claude-code", holder.caller.session, cwd=str(world.repo), host=HOST, process=world.liveness.identify(999)
    )
    assert Agent(world, again).ask("renew_attempt", **token)["attempt_id"] == token["attempt_id"]


def _claims(agent: Agent, *, seconds: int) -> dict[str, str]:
    """Work begins; what its holder shows to act for it."""
    agent.ask("create_issue", title="Parser", status="ready")
    claim = agent.ask("claim_issue", next=True, lease_seconds=seconds, context=False)
    return {name: claim[name] for name in ("attempt_id", "lease_token")}
