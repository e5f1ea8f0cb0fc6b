"""A real Cline on the command line: a refused call fails with its reason, and the run goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from driving import Desk, in_turn
from driving_cline import ClineCli

from clearway.setup.live_model import Performance, Shown, each, say

CONSOLE = Path(sys.executable).with_name("clearway")
Product = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def product(desk: Desk) -> Product:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return desk.run(CONSOLE, *words, CLEARWAY_HOME=str(desk.root / "state"))

    run("init")
    run("connect", "cline", "--write")
    return run


def test_what_another_holds_is_not_written_and_the_run_goes_on(cline: ClineCli, product: Product, desk: Desk) -> None:
    app, new, free = desk.file("app.py"), desk.file("new.py"), desk.file("free.py")
    product("--as", "alpha", "claim", "app.py", "new.py")
    heard: dict[str, str] = {}

    def tries_every_way(shown: Shown) -> Performance:
        for way, steps in cline.ways_to_write(app, "print(1)", "print(3)").items():
            heard[way] = (yield from each(steps))[-1].text
        heard["a new file"] = (yield cline.edits(new, "", "new = 1")[-1]).text
        yield from each(cline.edits(free, "free = 1", "free = 2"))
        yield say("finished")

    outcome = cline.play(tries_every_way)

    assert {way: "PATH_HELD" in text and "alpha" in text for way, text in heard.items()} == dict.fromkeys(heard, True)
    assert (app.read_text(), new.exists(), free.read_text()) == ("print(1)\n", False, "free = 2\n")
    assert "finished" in outcome.stdout


def test_its_server_knows_the_session_of_its_hooks(cline: ClineCli, product: Product, desk: Desk) -> None:
    edits = cline.edits(desk.file("app.py"), "print(1)", "print(2)")
    room = cline.play(in_turn(edits, [cline.ask("room")])).model.turns[-1].result.text
    assert "app.py" in room


def test_it_works_unhindered_when_the_product_is_gone(cline: ClineCli, product: Product, desk: Desk) -> None:
    """C19."""
    product("--as", "alpha", "claim", "free.py")
    for script in (desk.home / ".cline/hooks").iterdir():
        script.write_text(script.read_text().replace(sys.prefix, str(desk.root / "gone")))
    for way, steps in cline.ways_to_write(desk.file("free.py"), "free = 1", "free = 2").items():
        free = desk.file("free.py", "free = 1\n")
        cline.play(in_turn(steps))
        assert free.read_text() == "free = 2\n", way
