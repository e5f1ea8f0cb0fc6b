"""Parting with what is old: what goes, what never does, and from where a replay can begin."""

from __future__ import annotations

import json

import pytest
from tests.conftest import Agent, World

from clearway import retention, scene

DAY = 24 * 60


def pruned(world: World, *, dry: bool = False) -> retention.Pruned:
    room = world.open_again()
    try:
        return retention.prune(room, str(world.home), dry=dry)
    finally:
        room.close()


def busy_day(world: World) -> tuple[Agent, Agent]:
    """Work, paths and messages, all of it done and over."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    for agent in (alpha, beta):
        agent.ask("room", status="here")
    alpha.ask("create_issue", title="Parser", status="ready")
    alpha.ask("claim_paths", paths=["src"])
    alpha.ask("release_paths")
    alpha.ask("send_message", to="*", text="Hello all")
    number = alpha.ask("send_message", to="beta", text="Look at this")["message_id"]
    beta.ask("accept_message", message_id=number)
    return alpha, beta


def types(world: World) -> set[str]:
    return {event.type for event in world.events()}


def test_work_is_kept_for_ever_and_the_rest_for_its_time(world: World) -> None:
    busy_day(world)
    before = len(world.events())
    world.clock.forward(minutes=29 * DAY)
    world.agent("gamma").ask("room", status="here")
    assert pruned(world).events == 0
    world.clock.forward(minutes=3 * DAY)
    delta = world.agent("delta")
    delta.ask("room", status="here")
    done = pruned(world)
    assert done.events > 3 and done.messages == 2
    assert "issue_created" in types(world)
    assert "paths_claimed" not in types(world)
    assert len(world.events()) < before
    assert world.rows("SELECT id FROM message") == []
    assert world.rows("SELECT message FROM message_shown") == []
    assert delta.ask("get_changes", event_types=["issue_created"])["events"]
    assert pruned(world).events == 0
    world.clock.forward(minutes=31 * DAY)
    pruned(world)
    assert types(world) == {"issue_created"}


def test_a_wall_clock_that_is_set_ahead_purges_nothing(world: World) -> None:
    busy_day(world)
    before = world.events()
    world.clock.jump_wall(hours=24 * 60)
    world.agent("gamma").ask("room", status="here")
    assert pruned(world).messages == 0
    assert world.events()[: len(before)] == before


def test_unfinished_work_and_what_was_never_shown_stay(world: World) -> None:
    alpha, beta = busy_day(world)
    task = alpha.ask("send_message", to="beta", text="Do it", kind="task")["message_id"]
    unread = alpha.ask("send_message", to="nobody-yet", text="When you are here")["message_id"]
    done = alpha.ask("send_message", to="beta", text="And this", kind="task")["message_id"]
    lease = beta.ask("accept_message", message_id=done)["lease_token"]
    for state in ("started", "succeeded"):
        beta.ask("update_task", task_id=done, lease_token=lease, state=state)
    world.clock.forward(minutes=31 * DAY)
    pruned(world)
    assert [row.id for row in world.rows("SELECT id FROM message ORDER BY id")] == [task, unread]
    assert [row.id for row in world.rows("SELECT id FROM task")] == [task]


def test_what_somebody_has_still_to_be_told_of_stays_until_nobody_will_come(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["src"], ttl_seconds=60)
    world.clock.forward(minutes=5)
    beta.ask("claim_paths", paths=["src"])
    (told,) = world.rows("SELECT event FROM notice WHERE session = :session", session=alpha.caller.key)
    world.clock.forward(minutes=31 * DAY)
    beta.ask("room", status="still here")
    alpha.ask("get_changes", limit=1)
    pruned(world)
    assert world.rows("SELECT id FROM event WHERE id = :id", id=told.event)


def test_before_events_go_the_state_of_the_room_is_kept(world: World) -> None:
    alpha, _ = busy_day(world)
    claim = alpha.ask("claim_issue", next=True)
    world.clock.forward(minutes=31 * DAY)
    epsilon = world.agent("epsilon")
    epsilon.ask("claim_paths", paths=["docs"])
    pruned(world)
    newest = world.rows("SELECT event, state FROM keyframe ORDER BY event DESC LIMIT 1")[0]
    state = scene.unpacked(newest.state)
    assert state.event == newest.event
    assert list(state.issues.values()) == ["ready"]
    assert claim["lease_token"] not in json.dumps([state.attempts, state.issues])
    assert [(path[1], path[4]) for path in state.paths.values()] == [("docs", "epsilon")]
    gone = {row.id for row in world.rows("SELECT id FROM event")}
    assert all(number in gone for number in range(newest.event + 1, world.events()[-1].id + 1))


def test_a_dry_run_changes_nothing_and_counts_the_same(world: World) -> None:
    busy_day(world)
    world.clock.forward(minutes=31 * DAY)
    world.agent("gamma").ask("room", status="here")
    before = world.events()
    would = pruned(world, dry=True)
    assert world.events() == before and world.rows("SELECT event FROM keyframe") == []
    assert pruned(world).as_dict() == would.as_dict()


def test_nobody_comes_in_to_tidy_up(world: World) -> None:
    busy_day(world)
    world.clock.forward(minutes=31 * DAY)
    pruned(world)
    assert {row.agent for row in world.rows("SELECT agent FROM session")} == {"alpha", "beta"}


def test_a_busy_room_keeps_its_state_after_so_many_events(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a day, too, so that a replay need not go through all of it."""
    monkeypatch.setattr(retention, "_EVENTS_BETWEEN", 5)
    agent = world.agent("alpha")
    for number in range(12):
        agent.ask("create_issue", title=f"Issue {number}")
        pruned(world)
    kept = [row.event for row in world.rows("SELECT event FROM keyframe ORDER BY event")]
    assert kept == [1, 6, 11]
