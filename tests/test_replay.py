"""The room as it was: a replay agrees with what the room really was, at every event."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Agent, World
from tests.simulation import worlds
from tests.simulation.deeds import Story
from tests.simulation.playing import steps_of

from clearway import replay, retention, scene
from clearway.config import Caller
from clearway.crew import agents, leases
from clearway.repository import locate

PARTS = ("issues", "archived", "attempts", "paths", "tasks", "reviews", "finished")
NOBODY = Caller("clearway")
DAY = 24 * 60


def silently(act: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def look(tx: Any) -> Any:
        tx.silent = True
        return act(tx)

    return look


def told(found: scene.Scene) -> dict[str, Any]:
    return {name: getattr(found, name) for name in PARTS} | {"paused": found.paused is not None}


class Witness:
    """Looks at a room again and again, and later compares what it saw with what a replay tells."""

    def __init__(self, room: Any) -> None:
        self.room = room
        self.seen: dict[int, tuple[dict[str, Any], set[str]]] = {}

    def look(self) -> None:
        found = self.room.run(silently(scene.now), caller=NOBODY, writes=False)
        self.seen[found.event] = (told(found), set(found.sessions))

    def compare(self, *, first: int = 0) -> int:
        """How many moments were compared."""
        moments = [number for number in self.seen if number >= first]
        for number in moments:
            found = self.room.run(
                silently(lambda tx, number=number: replay.as_of(tx, number)), caller=NOBODY, writes=False
            )
            was, here = self.seen[number]
            differs = {name: (part, was[name]) for name, part in told(found).items() if part != was[name]}
            assert not differs, f"at event {number}: told, and was: {differs}"
            assert set(found.sessions) <= here, f"at event {number}"
        return len(moments)


@pytest.mark.parametrize("seed", [*map(str, range(6)), "postgres"])
def test_a_replay_agrees_with_the_room_at_every_event_of_a_world(seed: str, request: pytest.FixtureRequest) -> None:
    """Agents that race, crash, forget and lapse; nothing but the log knows afterwards how it was."""
    dsn = request.getfixturevalue("postgres_dsn") if seed == "postgres" else None
    folder = Path(tempfile.mkdtemp(prefix="replay-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        world = worlds.World(f"replay {seed}", folder, dsn)
        story, witness = Story(world), Witness(world.rooms[0])
        for step in steps_of(f"replay {seed}", 120):
            story.play(step)
            witness.look()
        assert witness.compare() > 20
        world.close()
    finally:
        shutil.rmtree(folder)


def rich_story(world: World, look: Callable[[], None]) -> tuple[Agent, Agent, Agent]:
    """Everything that a scene has, each step looked at."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    human = Agent(world, Caller("human", cwd=str(world.repo), host="here", human=True))

    def step(agent: Agent, operation: str, **arguments: Any) -> dict[str, Any]:
        answer = agent.ask(operation, **arguments)
        look()
        return answer

    alpha.room.run(agents.begin_session, caller=alpha.caller)
    epic = step(alpha, "create_issue", title="Everything", type="epic", status="open")["issue_id"]
    one = step(alpha, "create_issue", title="Parser", status="ready", priority="high", parent_issue_id=epic)
    two = step(alpha, "create_issue", title="Printer", status="ready")
    step(alpha, "create_issue", title="Old news", status="done")
    claim = step(alpha, "claim_issue", issue_id=one["issue_id"])
    step(alpha, "claim_paths", paths=["src"], purpose="the parser")
    step(alpha, "claim_paths", paths=["src"], purpose="still the parser")
    step(beta, "claim_paths", paths=["@port:3000"])
    beta.refused("claim_paths", paths=["src/a.py"])
    look()
    token = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
    artifacts = [{"type": "branch", "uri": "parser"}]
    step(alpha, "save_attempt_note", **token, kind="finding", content="It is slow.", artifacts=artifacts)
    step(alpha, "finish_attempt", **token, outcome="completed", target_issue_status="review", result_summary="Done.")
    request = step(alpha, "create_review_request", issue_id=one["issue_id"])
    review = step(beta, "claim_issue", review_request_id=request["review_request_id"])
    step(
        beta,
        "finish_attempt",
        attempt_id=review["attempt_id"],
        lease_token=review["lease_token"],
        outcome="completed",
        review_outcome="changes_requested",
        result_summary="Names.",
    )
    version = step(alpha, "get_issue", issue_id=two["issue_id"])["version"]
    step(human, "update_issue", issue_id=two["issue_id"], expected_version=version, changes={"title": "Press"})
    step(human, "archive_issue", issue_id=two["issue_id"], expected_version=version + 1)
    step(human, "archive_issue", issue_id=two["issue_id"], expected_version=version + 2, archived=False)
    for state in ("cancelled", "open"):
        version = human.ask("get_issue", issue_id=two["issue_id"])["version"]
        step(human, "update_issue", issue_id=two["issue_id"], expected_version=version, changes={"status": state})
    task = step(human, "send_message", to="beta", text="Look at the tests", kind="task")["message_id"]
    lease = step(beta, "accept_message", message_id=task)["lease_token"]
    step(beta, "update_task", task_id=task, lease_token=lease, state="started")
    step(beta, "update_task", task_id=task, lease_token=lease, state="failed", result="No time")
    step(human, "retry_task", task_id=task)
    step(human, "pause_guard", duration="5m")
    step(human, "resume_guard")
    step(human, "set_setting", name="subagents", value="exclude")
    threads(world, beta, look)
    world.clock.forward(minutes=120)
    step(human, "room", status="looking")
    alpha.room.run(lambda tx: agents.leave(tx, "exit"), caller=alpha.caller)
    look()
    return alpha, beta, human


def threads(world: World, agent: Agent, look: Callable[[], None]) -> None:
    """Two threads of one session, and two runs of one program, the second of which is told twice."""
    place = locate("run.py", str(world.repo), str(world.repo.parent), world.clock)
    for thread in ("one", "two", "one"):
        caller = Caller(
            **{name: getattr(agent.caller, name) for name in ("agent", "session", "cwd", "host", "process")}
        )
        caller.thread = thread
        Agent(world, caller).ask("claim_paths", paths=[f"docs/{thread}.md", "docs/both.md"][: 1 + (thread == "one")])
        look()
    for call in ("call-1", "call-2", "call-2"):
        agent.room.run(lambda tx, call=call: leases.take_run(tx, [place], call), caller=agent.caller)
        look()


def test_a_replay_agrees_with_the_room_at_every_step_of_a_story(world: World) -> None:
    """Issues put away and brought back, reviews, tasks, threads apart, resources, runs, lapse and farewell."""
    witness = Witness(world.room)
    rich_story(world, witness.look)
    assert witness.compare() > 30


def test_a_replay_begins_at_what_was_kept_when_the_rest_is_gone(world: World) -> None:
    witness = Witness(world.room)
    _, _, human = rich_story(world, witness.look)
    before = world.events()[-1].id
    world.clock.forward(minutes=31 * DAY)
    human.ask("room", status="back")
    room = world.open_again()
    retention.prune(room, str(world.home))
    gamma = world.agent("gamma")
    for path in ("src", "docs"):
        gamma.ask("claim_paths", paths=[path])
        witness.look()
    first = world.rows("SELECT min(event) AS event FROM keyframe")[0].event
    assert first > before - 5
    assert witness.compare(first=first) >= 2

    refused = gamma.refused("replay", at=3)

    assert refused.code == "INVALID_ARGUMENT"
    assert f"event {first}" in refused.message and refused.facts["first_event_id"] == first
    room.close()


def test_a_replay_shows_issues_as_they_were_called_then(world: World) -> None:
    alpha = world.agent("alpha")
    made = alpha.ask("create_issue", title="Parser", status="ready")
    then = alpha.ask("get_changes")["latest_event_id"]
    changes = {"title": "Reader", "priority": "critical", "type": "bug"}
    alpha.ask("update_issue", issue_id=made["issue_id"], expected_version=1, changes=changes)
    alpha.ask("claim_issue", issue_id=made["issue_id"])

    (was,) = alpha.ask("replay", at=then)["issues"]
    (now,) = alpha.ask("replay")["issues"]

    assert was == {"display_id": "ISSUE-1", "type": "task", "title": "Parser", "status": "ready"}
    assert now["title"] == "Reader" and now["priority"] == "critical" and now["type"] == "bug"
    assert (now["effective_status"], now["held_by"]) == ("in_progress", "alpha")


def test_of_too_many_changes_a_replay_knows_the_newest(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_CHANGES_READ_MAX", 1)
    alpha = world.agent("alpha")
    made = alpha.ask("create_issue", title="First", status="ready")
    for version, title in enumerate(("Second", "Third"), 1):
        alpha.ask("update_issue", issue_id=made["issue_id"], expected_version=version, changes={"title": title})
    then = alpha.ask("get_changes")["latest_event_id"]
    alpha.ask("update_issue", issue_id=made["issue_id"], expected_version=3, changes={"title": "Fourth"})
    assert [each["title"] for each in alpha.ask("replay", at=then)["issues"]] == ["Third"]


def test_a_replay_says_who_held_what_and_what_had_just_happened(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["src"], purpose="the parser")
    beta.refused("claim_paths", paths=["src/a.py"])
    collision = world.events("refused")[0].id
    alpha.ask("release_paths")

    was = beta.ask("replay", at=collision)

    assert was["event"]["type"] == "refused" and was["event"]["agent"] == "beta"
    assert [(path["path"], path["agent"], path["purpose"]) for path in was["paths"]] == [("src", "alpha", "the parser")]
    assert "alpha" in {agent["agent"] for agent in was["agents"]}
    assert beta.ask("replay")["paths"] == []
    assert beta.ask("replay", at=0)["counts"] == {"finished": 0}


def test_what_has_not_happened_yet_is_not_shown(world: World) -> None:
    alpha = world.agent("alpha")
    assert alpha.refused("replay", at=99).code == "INVALID_ARGUMENT"


def test_a_replay_is_bounded_and_counts_what_it_leaves_out(world: World) -> None:
    alpha = world.agent("alpha")
    for number in range(12):
        alpha.ask("create_issue", title=f"Issue {number}", status="ready")
    was = alpha.ask("replay", limit=5)
    assert len(was["issues"]) == 5
    assert was["counts"] == {"ready": 12, "finished": 0}


def test_a_replay_of_too_much_is_refused_and_says_what_helps(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    alpha = world.agent("alpha")
    for number in range(6):
        alpha.ask("create_issue", title=f"Issue {number}")
    monkeypatch.setattr(replay, "REPLAY_EVENTS_MAX", 4)
    refused = alpha.refused("replay", at=6)
    assert refused.code == "LIMIT_EXCEEDED" and "prune" in refused.message
    assert alpha.ask("replay", at=4)["counts"]["open"] == 4
    retention.prune(world.open_again(), str(world.home))
    alpha.ask("create_issue", title="Later")
    assert alpha.ask("replay")["counts"]["open"] == 7
