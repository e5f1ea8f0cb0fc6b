"""Waking a Codex thread: one line with numbers, none while the last was not taken up, and one after a limit ends.

A script stands in the place of Codex, which takes what `codex queue` and the app server of Codex 0.171.0 are asked, and
keeps it; tests/clients asks the real one.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal
from tests.surfaces.test_moments import Desk, desk
from tests.surfaces.test_waiting import ScriptedClock

from clearway.config import Settings
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.surfaces import codexwake
from clearway.surfaces.codexwake import REARM_MS

__all__ = ["desk"]

THREAD = "0199a213-81c0-7800-8aa1-bbab2a035a53"
MINUTE = 60_000
CODEX = """#!{python}
import json, os, sys
folder = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(folder, "asked"), "a") as asked:
    asked.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "app-server":
    for line in sys.stdin:
        said = json.loads(line)
        if said.get("method") == "account/rateLimits/read":
            with open(os.path.join(folder, "limits")) as limits:
                print(json.dumps({{"id": said["id"], "result": json.load(limits)}}), flush=True)
elif os.path.exists(os.path.join(folder, "broken")):
    sys.exit(1)
"""


class Stage:
    """A desk with a thread of Codex, which is idle, and the program that wakes it."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self.desk = desk
        self.folder = folder
        program = folder / "codex"
        program.write_text(CODEX.format(python=sys.executable))
        program.chmod(0o755)
        self.limited(None)
        desk.environ["PATH"] = f"{folder}{os.pathsep}{desk.environ['PATH']}"
        self.sender = desk.session("s", client="claude")
        self.thread = desk.session(THREAD, client="codex")
        self.clock = ScriptedClock()

    def limited(self, resets_at: int | None, used: int = 100) -> None:
        window = {"usedPercent": used if resets_at else 7, "resetsAt": resets_at, "windowDurationMins": 300}
        (self.folder / "limits").write_text(json.dumps({"rateLimits": {"primary": window, "secondary": None}}))

    def send(self, text: str = "Look at app.py", **more: Any) -> int:
        return self.sender.ask("send_message", to="codex", text=text, **more)["message_id"]

    def at(self, minutes: float, act: Any) -> None:
        """Let something happen while codex-wake waits; time passes for the room as well."""
        self.clock.after(int(minutes * MINUTE), act)

    def run(self, minutes: int, **more: Any) -> list[list[str]]:
        """What was queued in this time, each as its arguments."""
        for minute in range(1, minutes + 1):
            self.clock.after(minute * MINUTE, lambda: self.desk.forward(minutes=1))
        before = len(self.queued())
        rooms = Rooms(Settings(self.desk.environ))
        try:
            codexwake.keep_awake(
                rooms, "codex", str(self.desk.repo), THREAD, timeout_ms=minutes * MINUTE, clock=self.clock, **more
            )
        finally:
            rooms.close()
        return self.queued()[before:]

    def queued(self) -> list[list[str]]:
        asked = self.folder / "asked"
        lines = [json.loads(line) for line in asked.read_text().splitlines()] if asked.exists() else []
        return [line for line in lines if line[0] == "queue"]


@pytest.fixture
def stage(desk: Desk, tmp_path: Path) -> Stage:
    (tmp_path / "programs").mkdir()
    return Stage(desk, tmp_path / "programs")


def test_a_message_queues_one_line_with_numbers_only(stage: Stage) -> None:
    """C41."""
    number = stage.send("The words")
    (words,) = stage.run(2)
    text = f"[clearway] Messages wait for you: #{number} from claude-code. read_inbox shows them."
    assert words == ["queue", "--thread", THREAD, "--message", text, "--resume"]
    assert '"The words"' in stage.thread.tell("UserPromptSubmit", prompt=text)


def test_no_other_line_follows_until_it_was_taken_up(stage: Stage) -> None:
    stage.send()
    stage.at(3, stage.send)
    assert len(stage.run(10)) == 1
    stage.at(REARM_MS / MINUTE, lambda: None)
    assert len(stage.run(2)) == 1, "another run of codex-wake does not know of it"


def test_what_was_not_taken_up_is_queued_again_after_a_while(stage: Stage) -> None:
    """C41: B is re-woken within the bound."""
    first = stage.send()
    later: list[int] = []
    stage.at(3, lambda: later.append(stage.send()))
    lines = stage.run(17)
    assert len(lines) == 2
    assert f"#{first} from" in lines[1][4] and f"#{later[0]} from" in lines[1][4]


def test_what_was_shown_or_is_a_broadcast_wakes_nobody(stage: Stage) -> None:
    """P56."""
    stage.send(kind="result")
    stage.sender.ask("send_message", to="*", text="Hello all")
    stage.send()
    stage.thread.ask("read_inbox")
    assert stage.run(5) == []


def test_a_thread_that_works_is_left_alone_until_its_turn_is_over(stage: Stage) -> None:
    stage.thread.tell("UserPromptSubmit", prompt="work")
    stage.send()
    assert stage.run(3) == []
    stage.thread.raw("Stop")
    assert len(stage.run(1)) == 1


def test_one_line_follows_the_end_of_a_limit(stage: Stage) -> None:
    resets_at = (stage.clock.wall() + 40 * MINUTE) // 1_000
    stage.limited(resets_at)
    for minute in (1, 5, 20):
        stage.at(minute, stage.send)
    stage.at(39, lambda: stage.limited(None))
    lines = stage.run(50)
    assert len(lines) == 1
    assert lines[0][4].count("from claude-code") == 3


def test_a_line_that_could_not_be_queued_is_tried_again(stage: Stage) -> None:
    """C41: the wake command fails once."""
    stage.send()
    (stage.folder / "broken").touch()
    stage.at(0.5, (stage.folder / "broken").unlink)
    assert len(stage.run(3)) == 2


def test_looking_after_a_thread_is_no_sign_of_its_life(stage: Stage) -> None:
    before = stage.desk.rows("SELECT id, beat_at, ended_at FROM session ORDER BY id")
    stage.send()
    stage.run(5)
    after = stage.desk.rows("SELECT id, beat_at, ended_at FROM session ORDER BY id")
    assert [row for row in after if row.id == THREAD] == [row for row in before if row.id == THREAD]
    assert {row.id for row in after} == {row.id for row in before}, "nor does it come into the room"


def test_the_thread_is_the_one_that_was_named(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "codex").write_text(CODEX.format(python=sys.executable))
    (programs / "codex").chmod(0o755)
    (programs / "limits").write_text("{}")
    path = f"{programs}{os.pathsep}{terminal.environ['PATH']}"
    terminal("init")
    assert terminal("codex-wake", "--once", PATH=path).code == "INVALID_ARGUMENT"
    assert terminal("codex-wake", "--once", "--thread", "my thread", PATH=path).code == "INVALID_ARGUMENT"
    assert terminal("codex-wake", "--once", "--thread", THREAD, PATH="/nowhere").code == "INVALID_ARGUMENT"
    terminal("config", "set", "codex_thread", THREAD)
    assert terminal("codex-wake", "--once", PATH=path).status == 124
    terminal("send", "Good morning", "--to", "codex")
    assert terminal("codex-wake", "--once", PATH=path).status == 0
    other = THREAD.replace("0", "1")
    assert terminal("codex-wake", "--once", PATH=path, CLEARWAY_CODEX_THREAD=other).status == 0
    asked = [json.loads(line) for line in (programs / "asked").read_text().splitlines()]
    assert [line[2] for line in asked if line[0] == "queue"] == [THREAD, other]


def test_one_of_them_looks_after_a_thread(stage: Stage) -> None:
    def second() -> None:
        with pytest.raises(Refusal, match="Another codex-wake"):
            stage.run(0, once=True)

    stage.at(0.5, second)
    assert stage.run(1) == []
