"""The packages of integrations/, installed by the client's own means and nothing else: no `connect`, no baked path."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from driving import ClaudeCode, Client, Codex, Desk, in_turn
from driving_gemini import GeminiCli
from test_two_agents import UNTIL

from clearway.setup.live_model import Call, Performance, ScriptedModel, Shown, Step, call, each, say

PROGRAMS = Path(sys.executable).parent
PACKAGES = Path(__file__).parents[2] / "integrations"


class Plugged(ClaudeCode):
    """Claude Code with our plugin and nothing in its settings."""

    def _command(self, model: ScriptedModel, asks_first: bool) -> list[str]:
        program, *rest = super()._command(model, asks_first)
        allowed = "--allowedTools=Bash,mcp__plugin_clearway_clearway"
        words = [allowed if word.startswith("--allowedTools") else word for word in rest]
        return [program, "--plugin-dir", str(PACKAGES / "claude-code"), *words]

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        environ = super()._environment(model)
        return {**environ, "PATH": f"{PROGRAMS}:{environ['PATH']}", "CLEARWAY_HOME": str(self.desk.root / "state")}

    def ask(self, operation: str, **arguments: object) -> Step:
        return call(Call(f"mcp__plugin_clearway_clearway__{operation}", arguments))


class Extended(GeminiCli):
    """Gemini with our extension and nothing in its settings."""

    def __init__(self, program: Path, desk: Desk) -> None:
        super().__init__(program, desk)
        desk.run(self.program, "extensions", "link", PACKAGES / "gemini", "--consent", GEMINI_API_KEY="unused")

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        environ = super()._environment(model)
        return {**environ, "PATH": f"{PROGRAMS}:{environ['PATH']}", "CLEARWAY_HOME": str(self.desk.root / "state")}


class Copied(Codex):
    """Codex with our files copied into its folder."""

    def __init__(self, program: Path, desk: Desk) -> None:
        super().__init__(program, desk)
        shutil.copytree(PACKAGES / "codex", desk.home / ".codex", dirs_exist_ok=True)

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        # No home of ours by environment: Codex hands its servers little of it, and they would look in another room.
        environ = super()._environment(model)
        return {**environ, "PATH": f"{PROGRAMS}:{environ['PATH']}"}


@pytest.fixture(
    params=[(Plugged, "claude"), (Extended, "gemini"), (Copied, "codex")], ids=["claude", "gemini", "codex"]
)
def plugged(request: pytest.FixtureRequest, desk: Desk) -> Client:
    kind, name = request.param
    return kind(request.getfixturevalue(name).program.resolve(), desk)


def test_a_plugin_alone_guards_and_coordinates(plugged: Client, desk: Desk) -> None:
    """Hooks refuse what another session holds; the server knows which session asks it."""
    app = desk.file("app.py")
    gate = desk.gate()

    def holds(shown: Shown) -> Performance:
        yield from each(plugged.edits(app, "print(1)", "print(2)"))
        yield from plugged.stand_at(gate)
        yield say("done")

    holder = plugged.start(holds)
    gate.wait_until_reached(holder)
    heard: dict[str, str] = {}

    def tries(shown: Shown) -> Performance:
        heard["edit"] = (yield from each(plugged.edits(app, "print(2)", "print(3)")))[-1].text
        heard["claim"] = (yield plugged.ask("claim_paths", paths=["app.py"])).text
        heard["free"] = (yield plugged.ask("claim_paths", paths=["free.py"])).text
        heard["write"] = (yield from each(plugged.edits(desk.file("free.py"), "free = 1", "free = 2")))[-1].text
        yield say("one of them worked")

    plugged.play(tries, asks_first=True)
    assert app.read_text() == "print(2)\n"
    assert "app.py" in heard["edit"] and UNTIL.search(heard["edit"])
    assert "PATH_HELD" in heard["claim"]
    assert '"granted"' in heard["free"]
    assert desk.file("free.py").read_text() == "free = 2\n", "the session that claimed it is the one that writes"
    gate.let_go()
    holder.wait()


def test_without_the_product_a_plugin_lets_everything_through(plugged: Client, desk: Desk) -> None:
    app = desk.file("app.py")
    plugged.play(in_turn(plugged.edits(app, "print(1)", "print(2)")), PATH=f"{desk.programs}:/usr/bin:/bin")
    assert app.read_text() == "print(2)\n"
