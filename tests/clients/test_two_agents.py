"""Two real agents in one repository, after `clearway init && clearway connect claude codex --write` and nothing else.

What is asserted is what a person would look at: the file on the disk, and what the other agent's model reads next. A
holder is kept alive at a gate while the other tries, because the end of its turn would give its files back.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from driving import Client, Desk, Gate, Run, in_turn

import clearway
from clearway.setup.live_model import Performance, Shown, each, say

CONSOLE = Path(sys.executable).with_name("clearway")
CHECKPOINT = "The lexer is split in two; the tests of nested quotes are still red."
REGISTERED = (
    *(".claude/settings.json", ".claude.json", ".codex/hooks.json", ".codex/config.toml"),
    *(".gemini/settings.json", ".copilot/hooks/clearway.json", ".copilot/mcp-config.json", ".qwen/settings.json"),
)
UNTIL = re.compile(r"until \d\d:\d\d")

Product = Callable[..., subprocess.CompletedProcess[str]]

each_way_round = pytest.mark.parametrize(
    ("first", "second"),
    [("claude", "codex"), ("codex", "claude")],
    ids=["claude-then-codex", "codex-then-claude"],
    indirect=True,
)
every_pair = pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("claude", "codex"), ("codex", "claude"), ("claude", "claude"), ("codex", "codex")),
        *(("gemini", "gemini"), ("copilot", "copilot"), ("qwen", "qwen")),
        *(("codex", "gemini"), ("codex", "copilot"), ("codex", "qwen")),
    ],
    ids=lambda name: name,
    indirect=True,
)
either = pytest.mark.parametrize("first", ["claude", "codex", "gemini", "copilot", "qwen"], indirect=True)


@pytest.fixture
def first(request: pytest.FixtureRequest) -> Client:
    """The client that comes first; `second` may be another session of the same program."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def second(request: pytest.FixtureRequest) -> Client:
    return request.getfixturevalue(request.param)


@pytest.fixture
def product(desk: Desk) -> Product:
    """The product's command line, set up.

    Only these commands know CLEARWAY_HOME. What `connect` registers has to name it: a client may clear the environment.
    """

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return desk.run(CONSOLE, *words, CLEARWAY_HOME=str(desk.root / "state"))

    run("init")
    run("connect", "claude", "codex", "gemini", "copilot", "qwen", "--write")
    return run


# One holds a file, the other tries


@every_pair
def test_what_one_edits_is_refused_to_the_other_in_every_way_of_writing(
    first: Client, second: Client, product: Product, desk: Desk
) -> None:
    """The refusal is in what the model reads next: the path, who has it, until when. The file stays as it is."""
    app = desk.file("app.py")
    gate = desk.gate()
    holder = _holding(first, app, gate)
    heard: dict[str, str] = {}

    def tries_every_way(shown: Shown) -> Performance:
        for way, steps in second.ways_to_write(app, "print(2)", "print(3)").items():
            heard[way] = (yield from each(steps))[-1].text
        yield say("none of them worked")

    second.play(tries_every_way)

    assert app.read_text() == "print(2)\n"
    for way, text in heard.items():
        assert "app.py" in text, way
        assert first.name in text, way
        assert UNTIL.search(text), way
    gate.let_go()
    holder.wait()


@every_pair
def test_a_free_file_is_open_to_the_other_in_every_way_of_writing(
    first: Client, second: Client, product: Product, desk: Desk
) -> None:
    gate = desk.gate()
    holder = _holding(first, desk.file("app.py"), gate)
    for way, steps in second.ways_to_write(desk.file("free.py"), "free = 1", "free = 2").items():
        free = desk.file("free.py", "free = 1\n")
        second.play(in_turn(steps))
        assert free.read_text() == "free = 2\n", way
    gate.let_go()
    holder.wait()


@every_pair
def test_a_claim_over_mcp_of_what_the_other_holds_is_refused_with_its_code(
    first: Client, second: Client, product: Product, desk: Desk
) -> None:
    gate = desk.gate()
    holder = _holding(first, desk.file("app.py"), gate)
    asks = in_turn([second.ask("claim_paths", paths=["app.py"])])
    refused = second.play(asks, asks_first=True).model.turns[1].result.text
    assert "PATH_HELD" in refused
    assert "app.py" in refused
    assert first.name in refused
    gate.let_go()
    holder.wait()


@every_pair
def test_the_end_of_the_turn_frees_what_was_edited(first: Client, second: Client, product: Product, desk: Desk) -> None:
    app = desk.file("app.py")
    first.play(in_turn(first.edits(app, "print(1)", "print(2)")))
    second.play(in_turn(second.edits(app, "print(2)", "print(3)")))
    assert app.read_text() == "print(3)\n"


@every_pair
def test_the_second_is_told_at_its_start_who_is_here_and_what_it_holds(
    first: Client, second: Client, product: Product, desk: Desk
) -> None:
    # New files in a new folder: a client that shows its model `git status` shows the folder, not the file.
    held = desk.file("drafts/spring/held.py", "held = 1\n")
    gate = desk.gate()
    holder = _holding(first, held, gate, "held = 1", "held = 2")

    opening = second.play([say("nothing to do")]).model.turns[0].text

    # Some clients show their models every file's name at the start.
    brief = opening.partition("[clearway]")[2]
    assert "held.py" in brief
    assert first.name in brief
    # Alone there is nothing to tell.
    assert "[clearway]" not in holder.model.turns[0].text
    gate.let_go()
    holder.wait()


# One dies at its work, the other goes on


@each_way_round
@pytest.mark.parametrize("reap", [True, False], ids=["reaped", "zombie"])
def test_the_next_agent_reads_the_checkpoint_of_the_one_that_was_killed(
    first: Client, second: Client, product: Product, desk: Desk, reap: bool
) -> None:
    product("issue", "create", "Split the lexer", "--type", "task", "--status", "ready")
    app = desk.file("app.py")
    gate = desk.gate()
    lost: dict[str, Any] = {}
    found: dict[str, Any] = {}

    def works_and_is_killed(shown: Shown) -> Performance:
        lost.update((yield first.ask("claim_issue", next=True)).result.data)
        yield from each(first.edits(app, "print(1)", "print(2)"))
        yield from _saves_a_checkpoint(first, lost)
        yield from first.stand_at(gate)

    def takes_over(shown: Shown) -> Performance:
        found.update((yield second.ask("claim_issue", next=True)).result.data)
        yield from each(second.edits(app, "print(2)", "print(3)"))
        yield say("taken over")

    killed = first.start(works_and_is_killed, asks_first=True)
    gate.wait_until_reached(killed)
    killed.kill(reap=reap)
    read_next = second.play(takes_over, asks_first=True).model.asked[1].raw

    assert found["issue_id"] == lost["issue_id"]
    assert found["attempt_id"] != lost["attempt_id"]
    assert CHECKPOINT in read_next
    assert read_next.count(found["lease_token"]) == 1
    assert lost["lease_token"] not in read_next
    assert app.read_text() == "print(3)\n"


@every_pair
def test_an_issue_at_work_is_not_given_to_the_other(
    first: Client, second: Client, product: Product, desk: Desk
) -> None:
    product("issue", "create", "Split the lexer", "--type", "task", "--status", "ready")
    gate = desk.gate()

    def works(shown: Shown) -> Performance:
        yield first.ask("claim_issue", next=True)
        yield from first.stand_at(gate)
        yield say("stopped")

    holder = first.start(works, asks_first=True)
    gate.wait_until_reached(holder)
    asks = in_turn([second.ask("claim_issue", next=True), second.ask("claim_issue", issue_id="ISSUE-1")])
    nothing, taken = (shown.result.text for shown in second.play(asks, asks_first=True).model.turns[1:])

    assert "NOTHING_TO_CLAIM" in nothing
    assert "ACTIVE_ATTEMPT_EXISTS" in taken
    assert first.name in taken
    gate.let_go()
    holder.wait()


# The set-up itself


@either
def test_hooks_and_server_of_a_client_use_the_home_that_was_set_up(first: Client, product: Product, desk: Desk) -> None:
    edits = first.edits(desk.file("app.py"), "print(1)", "print(2)")
    room = first.play(in_turn(edits, [first.ask("room")]), asks_first=True).model.turns[-1].result.text
    assert "app.py" in room
    assert not list(desk.home.glob(".local/share/clearway"))


@either
@pytest.mark.parametrize("gone", ["interpreter", "package"])
def test_a_client_works_unhindered_when_the_product_is_gone(
    first: Client, product: Product, desk: Desk, gone: str
) -> None:
    """Every way of writing works, the turn ends once, and the client ends well."""
    folder = Path(sys.prefix) if gone == "interpreter" else Path(clearway.__file__).parent.parent
    assert _lead_nowhere(desk, folder) > 0, f"nothing that is registered names {folder}"
    for way, steps in first.ways_to_write(desk.file("free.py"), "free = 1", "free = 2").items():
        free = desk.file("free.py", "free = 1\n")
        turns = first.play(in_turn(steps)).model.turns
        assert free.read_text() == "free = 2\n", way
        assert len(turns) == len(steps) + 1, way


def _holding(client: Client, path: Path, gate: Gate, old: str = "print(1)", new: str = "print(2)") -> Run:
    """A session that has edited a file and is in the middle of its turn."""

    def edits_and_stays(shown: Shown) -> Performance:
        yield from each(client.edits(path, old, new))
        yield from client.stand_at(gate)
        yield say("finished")

    run = client.start(edits_and_stays)
    gate.wait_until_reached(run)
    assert path.read_text() == f"{new}\n", run.story()
    return run


def _saves_a_checkpoint(client: Client, claim: dict[str, Any]) -> Generator[Any, Shown, None]:
    shown = yield client.ask(
        "save_attempt_note",
        attempt_id=claim["attempt_id"],
        lease_token=claim["lease_token"],
        kind="checkpoint",
        content=CHECKPOINT,
    )
    assert "note_id" in shown.result.data


def _lead_nowhere(desk: Desk, folder: Path) -> int:
    """Let everything the product registered lead to a folder that does not exist; how often it was named."""
    count = 0
    for place in REGISTERED:
        path = desk.home / place
        text = path.read_text()
        count += text.count(str(folder))
        path.write_text(text.replace(str(folder), str(desk.root / "gone")))
    return count
