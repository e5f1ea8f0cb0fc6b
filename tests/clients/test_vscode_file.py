"""Copilot CLI reads the file in which VS Code's hooks stand: it is not disturbed by it, and asks nobody twice."""

from __future__ import annotations

import sys
from pathlib import Path

from driving import Desk, in_turn
from driving_copilot import CopilotCli

CONSOLE = Path(sys.executable).with_name("clearway")


def test_copilot_cli_beside_the_hooks_of_vs_code(copilot: CopilotCli, desk: Desk) -> None:
    state = str(desk.root / "state")
    for words in (("init",), ("connect", "copilot", "vscode", "--write"), ("--as", "alpha", "claim", "app.py")):
        desk.run(CONSOLE, *words, CLEARWAY_HOME=state)
    app, free = desk.file("app.py"), desk.file("free.py")
    steps = [*copilot.edits(app, "print(1)", "print(2)"), *copilot.edits(free, "free = 1", "free = 2")]
    outcome = copilot.play(in_turn(steps))
    assert "alpha" in outcome.model.turns[2].text
    assert (app.read_text(), free.read_text()) == ("print(1)\n", "free = 2\n")
    room = desk.run(CONSOLE, "--json", "room", CLEARWAY_HOME=state).stdout
    assert "vscode" not in room
