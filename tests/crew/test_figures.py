"""What coordination cost and saved: the figures agree with the log, and what hooks count is all they said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conftest import Agent, World
from tests.surfaces.test_moments import Desk, desk

from clearway import tally
from clearway.limits import TALLY_BYTES_MAX
from clearway.surfaces import hooks

__all__ = ["desk"]


@pytest.fixture
def pair(world: World) -> tuple[Agent, Agent]:
    return world.agent("alpha"), world.agent("beta")


def test_refusals_are_those_of_the_log(world: World, pair: tuple[Agent, Agent]) -> None:
    """`stats` agrees with the log: equal refusals within a minute are told once, and the next says how many."""
    alpha, beta = pair
    alpha.ask("claim_paths", paths=["src"])
    alpha.ask("create_issue", title="Parser", status="ready")
    alpha.ask("claim_issue", next=True)
    for _ in range(3):
        beta.refused("claim_paths", paths=["src/a.py"])
    world.clock.forward(minutes=2)
    beta.refused("claim_paths", paths=["src/a.py"])
    beta.refused("claim_issue", issue_id="ISSUE-1")

    found = alpha.ask("stats")

    told = [json.loads(event.data) for event in world.events("refused")]
    assert found["refusals"]["total"] == sum(1 + event.get("repeated", 0) for event in told) == 5
    assert found["refusals"]["by_code"] == {"ACTIVE_ATTEMPT_EXISTS": 1, "PATH_HELD": 4}
    assert found["duplicate_work_avoided"] == 1


def test_figures_are_told_by_parts_of_the_time(world: World, pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    alpha.ask("claim_paths", paths=["src"])
    beta.refused("claim_paths", paths=["src/a.py"])
    world.clock.forward(minutes=18 * 60)
    alpha.ask("claim_paths", paths=["src"])
    for _ in range(2):
        beta.refused("claim_paths", paths=["src/b.py"])
        world.clock.forward(minutes=2)

    by_part = alpha.ask("stats", days=1, parts=4)["by_part"]

    assert by_part["refusals"] == [1, 0, 0, 2] and by_part["leaks"] == [0, 0, 0, 0]
    assert "by_part" not in alpha.ask("stats", days=1)


def test_recovery_is_counted_from_the_last_sign_of_life(world: World, pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    for title in ("Parser", "Lexer"):
        alpha.ask("create_issue", title=title, status="ready")
        alpha.ask("claim_issue", next=True)
    world.clock.forward(seconds=20)
    alpha.ask("room", status="working")
    world.clock.forward(seconds=30)
    alpha.dies()
    world.clock.forward(seconds=10)
    beta.ask("claim_issue", issue_id="ISSUE-1")
    assert beta.ask("stats")["recovery"] == {"lost": 2, "recovered": 1, "p50_seconds": 40.0, "p95_seconds": 40.0}
    world.clock.forward(minutes=1)
    beta.ask("claim_issue", issue_id="ISSUE-2")
    assert beta.ask("stats")["recovery"] == {"lost": 2, "recovered": 2, "p50_seconds": 100.0, "p95_seconds": 100.0}


def test_what_is_older_than_asked_for_is_left_out(world: World, pair: tuple[Agent, Agent]) -> None:
    alpha, beta = pair
    alpha.ask("claim_paths", paths=["src"], ttl_seconds=28_800)
    beta.refused("claim_paths", paths=["src/a.py"])
    assert alpha.ask("stats", days=1)["refusals"]["total"] == 1
    world.clock.forward(minutes=2 * 24 * 60)
    assert alpha.ask("stats", days=1)["refusals"]["total"] == 0
    assert alpha.ask("stats", days=3)["refusals"]["total"] == 1


def test_leaks_and_overlaps_are_those_of_the_log(desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b", client="codex")
    held = desk.repo / "held.txt"
    alpha.before("Write", file_path=str(held), content="mine")
    held.write_text("mine")
    alpha.after("Write", file_path=str(held), content="mine")
    beta.before("Bash", command="make all")
    held.write_text("not mine")
    beta.after("Bash", command="make all")
    leaks = desk.rows("SELECT id FROM event WHERE type = 'path_leaked'")
    assert desk.human("stats")["leaks"] == len(leaks) == 1
    assert desk.human("stats")["overlaps"] == len(desk.rows("SELECT id FROM event WHERE type = 'overlap_noted'"))


def test_every_byte_that_a_hook_puts_before_a_model_is_counted(desk: Desk) -> None:
    said = 0
    counted = 0

    def hook(session: Any, event: str, **more: Any) -> None:
        nonlocal said, counted
        answer = hooks.answered(session.client, session.payload(event, **more), session.environ)
        answer.count(1_500)
        if answer.afterwards is not None:
            answer.afterwards()
        counted += 1
        if answer.out:
            told = json.loads(answer.out)["hookSpecificOutput"]
            said += len((told.get("additionalContext", "") + told.get("permissionDecisionReason", "")).encode())

    alpha, beta = desk.session("a", start=""), desk.session("b", start="")
    for session in (alpha, beta):
        hook(session, "SessionStart", source="startup")
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(desk.repo / "held.txt")}}
    for session in (alpha, beta):
        hook(session, "PreToolUse", **edit)
    alpha.ask("send_message", to="claude-code", text="Müßiggang")
    hook(beta, "UserPromptSubmit", prompt="go on")

    found = desk.human("stats")["hooks"]

    assert said > 200, "a brief, a refusal and a message"
    assert (found["calls"], found["bytes_injected"]) == (counted, said)
    assert 1.5 <= found["p50_ms"] <= found["p95_ms"] <= 1.5 * 9 / 8 + 0.01


def test_calls_that_passed_unchecked_are_seen_in_the_room_and_in_the_figures(desk: Desk) -> None:
    """The hook's fail-open line is counted where people look."""
    beta = desk.session("b")
    assert "unchecked" not in desk.human("room")
    _, err, code = hooks.answer("claude", b"{not json", beta.environ)
    assert ("guard open" in err, code) == (True, 0)
    assert desk.human("room")["unchecked"] == 1
    assert desk.human("stats")["hooks"]["unchecked_24h"] == {"INVALID_ARGUMENT": 1}
    desk.forward(minutes=25 * 60)
    assert "unchecked" not in desk.human("room")


def test_a_file_that_has_grown_is_folded_and_says_the_same(tmp_path: Any) -> None:
    (tmp_path / "run").mkdir()
    counter = tally.Tally(str(tmp_path))
    micros = [50 + 37 * number % 9_000 for number in range(TALLY_BYTES_MAX // 4)]
    for each in micros:
        counter.note("s", each, 3)
    file = tmp_path / "run" / "figures" / "s"
    assert file.stat().st_size < TALLY_BYTES_MAX
    assert file.read_text().startswith("= ")
    found = counter.of(["s", "nobody"])
    assert (found.calls, found.said) == (len(micros), 3 * len(micros))
    half = sorted(micros)[len(micros) // 2]
    assert half <= (found.percentile(0.5) or 0) <= half * 9 / 8 + 1


def test_a_damaged_file_of_figures_harms_nobody(tmp_path: Any) -> None:
    (tmp_path / "run" / "figures").mkdir(parents=True)
    (tmp_path / "run" / "figures" / "s").write_bytes(b"12 0\n= x\n\xff\xfe 3\n= 1\n40 2\n7")
    found = tally.Tally(str(tmp_path)).of(["s"])
    assert (found.calls, found.said) == (3, 2), (
        "a line that was cut off counts for nothing, or for as little as it says"
    )


def test_nothing_is_begun_where_nothing_of_ours_is(tmp_path: Any) -> None:
    tally.Tally(str(tmp_path / "state")).note("s", 1, 1)
    assert not (tmp_path / "state").exists()
