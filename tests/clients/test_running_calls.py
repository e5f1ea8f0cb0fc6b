"""Calls of real clients while they run: a script is not edited under its interpreter, in the foreground or behind it.

What matters is what the clients really tell: the question before a call, its end, and what goes on in the background.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from driving import Client, Desk, Gate, in_turn
from test_two_agents import Product, every_pair, first, product, second

from clearway.setup.live_model import Call, Performance, Shown, call, each, say

__all__ = ["first", "product", "second"]

JOB = "#!/bin/bash\n# first line\n"


def job(desk: Desk, gate: Gate) -> Path:
    """A script that stands at a gate."""
    return desk.file("job.sh", f"{JOB}{gate.command}\n")


@every_pair
def test_a_script_is_not_edited_while_it_runs(first: Client, second: Client, product: Product, desk: Desk) -> None:
    """C10, P38."""
    gate = desk.gate()
    script = job(desk, gate)
    text = script.read_text()

    def runs(shown: Shown) -> Performance:
        yield from first.stand_at(cast("Gate", SimpleNamespace(command=f"bash {script}")))
        yield say("it ran")

    running = first.start(runs)
    gate.wait_until_reached(running)
    heard: list[str] = []

    def edits(shown: Shown) -> Performance:
        heard.append((yield from each(second.edits(script, "# first line", "# another line")))[-1].text)
        yield say("no")

    second.play(edits)
    assert "job.sh" in heard[0]
    assert "(running)" in heard[0]
    assert script.read_text() == text
    gate.let_go()
    running.wait()
    second.play(in_turn(second.edits(script, "# first line", "# another line")))
    assert "# another line" in script.read_text(), "the end of the call gave it back"


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "running"])
def test_a_script_in_the_background_is_held_beyond_its_call(
    claude: Client, product: Product, desk: Desk, request: pytest.FixtureRequest, ends: bool
) -> None:
    """Claude Code tells the task that a call has begun, and at the end of a turn which ones still run."""
    make: Callable[[], Client] = lambda: type(claude)(claude.program, desk)  # noqa: E731
    background, front = desk.gate(), desk.gate()
    script = job(desk, background)

    def runs(shown: Shown) -> Performance:
        given: dict[str, Any] = {"command": f"bash {script}", "description": "a job", "run_in_background": True}
        yield call(Call("Bash", given))
        yield from claude.stand_at(front)
        yield say("done")

    running = claude.start(runs)
    background.wait_until_reached(running)
    front.wait_until_reached(running)
    if ends:
        background.let_go()
        front.let_go()
        running.wait()
    heard: list[str] = []
    other = make()

    def edits(shown: Shown) -> Performance:
        heard.append((yield from each(other.edits(script, "# first line", "# another line")))[-1].text)
        yield say("so be it")

    other.play(edits)
    assert ("(running)" in heard[0]) != ends
    assert ("# another line" in script.read_text()) == ends
    background.let_go()
    front.let_go()
    running.wait()
