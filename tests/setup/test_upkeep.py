"""What a room stores twice: `doctor --full` compares it, `--repair` writes it anew."""

from __future__ import annotations

import glob
import json
import os

from tests.conftest import HOST, Agent, World
from tests.surfaces.conftest import Terminal, environ, terminal  # noqa: F401  (fixtures)

from clearway.config import Caller
from clearway.db import copies
from clearway.setup import upkeep


def made(world: World) -> None:
    """A room with work, relations, leases and something to find."""
    codex, claude = world.agent("codex"), world.agent("claude-code")
    issues = [codex.ask("create_issue", title=f"Part {place}", status="ready")["issue_id"] for place in range(4)]
    for source, target in ((0, 1), (0, 2), (1, 3)):
        codex.ask("manage_issue_relation", source_issue_id=issues[source], target_issue_id=issues[target])
    codex.ask("add_comment", issue_id=issues[0], content="lighthouse")
    codex.ask("claim_issue", issue_id=issues[0], context=False)
    codex.ask("claim_paths", paths=["src/a.py"])
    claude.ask("claim_paths", paths=["free.txt"])


def test_a_room_in_use_agrees_with_itself(world: World) -> None:
    made(world)
    assert upkeep.faults(world.room) == []
    assert upkeep.put_right(world.room) == []
    world.clock.forward(minutes=600)
    world.agent("gemini").ask("list_issues")
    assert upkeep.faults(world.room) == []


def test_what_does_not_agree_is_named_and_put_right(world: World) -> None:
    made(world)
    before = world.rows("SELECT number, open_blockers, unblocks FROM issue ORDER BY number")
    world.change("UPDATE issue SET open_blockers = 7 WHERE number = 1")
    world.change("UPDATE issue SET unblocks = 0 WHERE number = 2")
    world.change("UPDATE room SET last_issue = 1, last_fence = 0, last_event = 3")
    world.change("DELETE FROM search_entry WHERE type = 'comment'")
    world.change("UPDATE path_lease SET attempt = 'gone' WHERE shown = 'free.txt'")
    found = "; ".join(upkeep.faults(world.room))
    for part in (
        *("counter of events is at 3", "counter of issues is at 1, and 4", "counter of fences"),
        *("of 2 issues it is wrong", "1 texts are not in the index", "1 entries of the index", "1 paths are held"),
    ):
        assert part in found
    done = upkeep.put_right(world.room)
    assert len(done) >= 4
    assert upkeep.faults(world.room) == []
    assert world.rows("SELECT number, open_blockers, unblocks FROM issue ORDER BY number") == before
    codex = world.agent("codex")
    assert codex.ask("search", query="lighthouse")["items"][0]["entity_type"] == "comment"
    assert codex.ask("path_owner", path="free.txt")["free"]
    assert codex.ask("create_issue", title="No number twice")["display_id"] == "ISSUE-5"


def test_no_number_of_a_task_or_of_a_message_is_given_out_twice(world: World) -> None:
    """A counter that was set back behind a task's lease, and behind a message whose event was lost."""
    human = Agent(world, Caller("human", cwd=str(world.repo), host=HOST, human=True))
    codex = world.agent("codex")
    for text in ("One", "Two"):
        human.ask("send_message", to="codex", text=text, kind="task")
    assert codex.ask("next_task")["task"]
    world.change("UPDATE room SET last_fence = 0, last_event = 0")
    world.change("DELETE FROM event")
    found = "; ".join(upkeep.faults(world.room))
    assert "counter of events is at 0, and" in found and "counter of fences is at 0, and 1" in found
    upkeep.put_right(world.room)
    assert world.agent("codex").ask("next_task")["task"]
    human.ask("send_message", to="codex", text="Three", kind="task")


def test_doctor_looks_at_it_and_repairs_it(terminal: Terminal) -> None:  # noqa: F811
    terminal("init")
    terminal("issue", "create", "One")
    terminal("issue", "create", "Two")
    (file,) = glob.glob(os.path.join(terminal.environ["CLEARWAY_HOME"], "rooms", "*", "room.db"))
    connection = copies.writable(file)
    connection.execute("UPDATE issue SET unblocks = 9")
    connection.close()

    def agreement(*words: str) -> str:
        checks = json.loads(terminal("--json", "doctor", *words).out)["checks"]
        level: str = next(check["level"] for check in checks if check["name"] == "agreement")
        return level

    assert (agreement(), agreement("--full")) == ("ok", "problem")
    assert "counted again" in " ".join(json.loads(terminal("--json", "doctor", "--repair").out)["repaired"])
    assert agreement("--full") == "ok"
