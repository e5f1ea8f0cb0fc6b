"""What is different with Gemini CLI, Qwen Code and Copilot CLI: subagents, MCP without a session, words after a call.

What they have in common with the others is in test_two_agents.py.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from driving import Desk, in_turn
from driving_copilot import CopilotCli
from driving_gemini import GeminiCli, QwenCode
from test_two_agents import CONSOLE, Product, product

from clearway.setup.live_model import Performance, Shown, each, say

__all__ = ["product"]

Other = GeminiCli | QwenCode | CopilotCli

MARK, DEEPER = "PART-ONE", "PART-TWO"
HELD = "held = 1\n"


@pytest.fixture(params=["gemini", "qwen", "copilot"])
def other(request: pytest.FixtureRequest) -> Other:
    return request.getfixturevalue(request.param)


@pytest.fixture
def held(product: Product, desk: Desk) -> Path:
    """A file that somebody else holds."""
    path = desk.file("held.py", HELD)
    _clearway(desk, "--as", "somebody", "claim", "held.py", "--purpose", "spring")
    return path


def test_a_subagents_writes_are_checked_and_belong_to_the_session(other: Other, held: Path, desk: Desk) -> None:
    tries = next(iter(other.ways_to_write(held, "held = 1", "held = 2").values()))
    works = other.ways_to_write(desk.file("free.py"), "free = 1", "free = 2")["shell redirect"]
    script = in_turn([other.delegate(f"{MARK} do it"), other.ask("room")])
    model = other.play(script, beside={MARK: [*tries, *works, other.report("done")]}).model

    heard = "\n".join(shown.text for shown in model.shown_of(MARK))
    assert "PATH_HELD" in heard
    assert held.read_text() == HELD
    assert desk.file("free.py").read_text() == "free = 2\n"
    room = model.turns[-1].result.data
    assert {path["path"]: path["agent"] for path in room["paths"]} == {"held.py": "somebody"} | (
        {} if isinstance(other, CopilotCli) else {"free.py": other.name}
    ), "Copilot tells the end of a subagent, and what it held is free"


def test_a_subagents_subagent_of_copilot_belongs_to_the_same_session(
    copilot: CopilotCli, held: Path, desk: Desk
) -> None:
    """The client names only the parent, which is a subagent itself."""
    tries = copilot.edits(held, "held = 1", "held = 2")
    works = copilot.edits(desk.file("free.py"), "free = 1", "free = 2")
    deeper = [*tries, *works, copilot.ask("room"), copilot.report("deeper is done")]
    beside = {DEEPER: deeper, MARK: [copilot.delegate(f"{DEEPER} do it"), copilot.report("done")]}
    model = copilot.play([copilot.ask("room"), copilot.delegate(f"{MARK} do it"), say("done")], beside=beside).model

    root = model.turns[1].result.data["me"]["session"]
    shown = model.shown_of(DEEPER)
    assert f"You are a subagent of copilot (session {root})" in shown[0].text
    assert any("PATH_HELD" in each.text for each in shown)
    assert held.read_text() == HELD
    room = shown[-1].result.data
    assert room["me"]["session"] == root
    assert {path["session"] for path in room["paths"] if path["agent"] == "copilot"} == {root}


def test_a_call_of_our_server_is_made_by_the_session_that_the_hooks_tell_of(
    other: Other, product: Product, desk: Desk
) -> None:
    """None of these clients but Copilot tells a server its session: the process that both belong to does."""
    edits = other.edits(desk.file("app.py"), "print(1)", "print(2)")
    room = other.play(in_turn(edits, [other.ask("room")]), asks_first=True).model.turns[-1].result.data
    (lease,) = room["paths"]
    assert lease["path"] == "app.py"
    assert lease["session"] == room["me"]["session"]


def test_what_is_told_once_reaches_the_model(other: Other, product: Product, desk: Desk) -> None:
    """Gemini and Copilot take no words before a call: they come after it."""
    gate = desk.gate()
    works = other.edits(desk.file("app.py"), "print(1)", "print(2)")
    free = other.ways_to_write(desk.file("free.py"), "free = 1", "free = 2")["shell redirect"]

    def script(shown: Shown) -> Performance:
        yield from each(works)
        yield from other.stand_at(gate)
        yield from each([*free, other.shell("pwd")])
        yield say("done")

    run = other.start(script)
    gate.wait_until_reached(run)
    _clearway(desk, "release", "app.py", "--force")
    gate.let_go()
    later = [shown.text for shown in run.wait().model.turns[len(works) + 1 :]]
    assert len(later) == 3
    assert sum("app.py" in text for text in later) == 1


def test_the_death_of_the_process_that_runs_hooks_frees_what_it_held(
    other: Other, product: Product, desk: Desk
) -> None:
    """Gemini and Qwen start themselves twice: the first process is not the session."""
    app = desk.file("app.py")
    gate = desk.gate()

    def works(shown: Shown) -> Performance:
        yield from each(other.edits(app, "print(1)", "print(2)"))
        yield from other.stand_at(gate)

    run = other.start(works)
    gate.wait_until_reached(run)
    os.kill(other.session_of(run), signal.SIGKILL)
    next_one = type(other)(other.program, desk)
    next_one.play(in_turn(next_one.edits(app, "print(2)", "print(3)")))
    assert app.read_text() == "print(3)\n"
    gate.let_go()
    run.close()


def test_gemini_is_denied_though_a_start_up_file_speaks_first(gemini: GeminiCli, held: Path, desk: Desk) -> None:
    """It was started by no shell, so the bash that runs its hooks reads `.bashrc`, and what that prints spoils JSON."""
    (desk.home / ".bashrc").write_text("echo Welcome back\n")
    steps = gemini.edits(held, "held = 1", "held = 2")
    heard = gemini.play(in_turn(steps), SHLVL="0").model.turns[-1].result.text
    assert "PATH_HELD" in heard
    assert held.read_text() == HELD


def _clearway(desk: Desk, *words: str) -> None:
    desk.run(CONSOLE, *words, CLEARWAY_HOME=str(desk.root / "state"))
