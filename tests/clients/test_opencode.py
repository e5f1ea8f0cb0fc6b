"""A real OpenCode with the plugin that `connect` writes: denials, context, subagents, its MCP server, its absence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import Desk, Gate, Run, in_turn
from driving_opencode import OpenCode

import clearway
from clearway.setup.live_model import Performance, ScriptedModel, Shown, Step, each, say

CONSOLE = Path(sys.executable).with_name("clearway")
Product = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def product(desk: Desk) -> Product:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return desk.run(CONSOLE, *words, CLEARWAY_HOME=str(desk.root / "state"))

    run("init")
    run("connect", "opencode", "--write")
    return run


def test_what_a_named_holder_has_is_refused_in_every_way_of_writing(
    opencode: OpenCode, product: Product, desk: Desk
) -> None:
    app = desk.file("app.py")
    product("--as", "alpha", "claim", "app.py", "--purpose", "the lexer")
    heard: dict[str, str] = {}

    def tries_every_way(shown: Shown) -> Performance:
        for way, steps in opencode.ways_to_write(app, "print(1)", "print(3)").items():
            heard[way] = (yield from each(steps))[-1].text
        yield say("none of them worked")

    opencode.play(tries_every_way)

    assert app.read_text() == "print(1)\n"
    assert {way: "alpha" in text and "app.py" in text for way, text in heard.items()} == dict.fromkeys(heard, True)


def test_a_free_file_is_written_in_every_way_and_held_meanwhile(
    opencode: OpenCode, product: Product, desk: Desk
) -> None:
    for way, steps in opencode.ways_to_write(desk.file("free.py"), "free = 1", "free = 2").items():
        free = desk.file("free.py", "free = 1\n")
        gate = desk.gate()
        run = _then_stands(opencode, steps, gate)
        assert free.read_text() == "free = 2\n", way
        assert "opencode" in product("owner", "free.py").stdout, way
        gate.let_go()
        assert run.wait().exit_status == 0
        assert "opencode" not in product("owner", "free.py").stdout, way


def test_the_model_is_told_at_its_start_what_others_hold(opencode: OpenCode, product: Product, desk: Desk) -> None:
    product("--as", "alpha", "claim", "app.py", "--purpose", "the lexer")
    first, second = opencode.play(in_turn([opencode.shell("true")])).model.turns[:2]
    assert "app.py" in first.text and "alpha" in first.text
    assert "alpha" not in second.text


def test_a_subagent_works_under_the_leases_of_its_session(opencode: OpenCode, product: Product, desk: Desk) -> None:
    app, free = desk.file("app.py"), desk.file("free.py")
    product("--as", "alpha", "claim", "app.py")
    mine = desk.file("mine.py", "mine = 1\n")
    subagent = [
        *opencode.edits(app, "print(1)", "print(3)"),
        *opencode.edits(free, "free = 1", "free = 2"),
        *opencode.edits(mine, "mine = 2", "mine = 3"),
        say("done"),
    ]
    script = in_turn(opencode.edits(mine, "mine = 1", "mine = 2"), [opencode.task("PART-A do it")])
    model = ScriptedModel(script, beside={"PART-A": subagent}).begin()
    run = Run(desk, model, [*opencode._command(model, False), "Do it."], opencode._environment(model))  # pyright: ignore[reportPrivateUsage]
    assert run.wait().exit_status == 0
    refused = model.shown_of("PART-A")[2].text
    assert "alpha" in refused and "app.py" in refused
    assert (app.read_text(), free.read_text(), mine.read_text()) == ("print(1)\n", "free = 2\n", "mine = 3\n")


def test_its_server_knows_the_session_of_its_hooks(opencode: OpenCode, product: Product, desk: Desk) -> None:
    edits = opencode.edits(desk.file("app.py"), "print(1)", "print(2)")
    room = opencode.play(in_turn(edits, [opencode.ask("room")])).model.turns[-1].result.text
    assert "app.py" in room
    sessions = set(room.split('"session":"')[1:])
    assert all(session.startswith("ses_") for session in sessions), room


def test_a_claim_over_mcp_of_what_another_holds_is_refused(opencode: OpenCode, product: Product, desk: Desk) -> None:
    product("--as", "alpha", "claim", "app.py")
    refused = opencode.play(in_turn([opencode.ask("claim_paths", paths=["app.py"])])).model.turns[1].result.text
    assert "PATH_HELD" in refused and "alpha" in refused


def test_a_running_script_is_held_until_its_call_ends(opencode: OpenCode, product: Product, desk: Desk) -> None:
    gate = desk.gate()
    desk.file("job.sh", f"{gate.command}\n")
    run = opencode.start(in_turn([opencode.shell("sh job.sh"), opencode.shell("true")]))
    gate.wait_until_reached(run)
    assert "opencode" in product("owner", "job.sh").stdout
    gate.let_go()
    assert run.wait().exit_status == 0
    assert "opencode" not in product("owner", "job.sh").stdout


@pytest.mark.parametrize("gone", ["interpreter", "package"])
def test_it_works_unhindered_when_the_product_is_gone(
    opencode: OpenCode, product: Product, desk: Desk, gone: str
) -> None:
    """C19."""
    product("--as", "alpha", "claim", "free.py")
    folder = Path(sys.prefix) if gone == "interpreter" else Path(clearway.__file__).parent.parent
    plugin = desk.home / ".config/opencode/plugins/clearway.js"
    assert str(folder) in plugin.read_text()
    plugin.write_text(plugin.read_text().replace(str(folder), str(desk.root / "gone")))
    for way, steps in opencode.ways_to_write(desk.file("free.py"), "free = 1", "free = 2").items():
        free = desk.file("free.py", "free = 1\n")
        turns = opencode.play(in_turn(steps)).model.turns
        assert free.read_text() == "free = 2\n", way
        assert len(turns) == len(steps) + 1, way


def test_a_hook_that_never_answers_costs_its_bound_and_no_more(
    opencode: OpenCode, product: Product, desk: Desk
) -> None:
    plugin = desk.home / ".config/opencode/plugins/clearway.js"
    stuck = desk.file("stuck.sh", "#!/bin/sh\nexec sleep 100000\n")
    stuck.chmod(0o755)
    text = plugin.read_text()
    text = text.replace(str(Path(sys.executable)), str(stuck)).replace('"wait_ms": 5', '"wait_ms": 0')
    plugin.write_text(text)
    steps: list[Step] = opencode.edits(desk.file("free.py"), "free = 1", "free = 2")
    opencode.play(in_turn(steps))
    assert desk.file("free.py").read_text() == "free = 2\n"


def _then_stands(opencode: OpenCode, steps: list[Step], gate: Gate) -> Run:
    def works(shown: Shown) -> Performance:
        yield from each(steps)
        yield from opencode.stand_at(gate)
        yield say("finished")

    run = opencode.start(works)
    gate.wait_until_reached(run)
    return run
