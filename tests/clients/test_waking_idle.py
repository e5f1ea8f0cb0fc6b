"""Real clients that idle: an addressed message begins a turn of Claude Code in which its model reads it, a broadcast
none; Codex takes the line that is queued for a thread of its own."""

from __future__ import annotations

import json
import re

import pytest
from driving import ClaudeCode, Codex, Desk
from test_compaction import Conversation
from test_two_agents import Product, product

from clearway.setup.live_model import Performance, ScriptedModel, Shown, say

__all__ = ["product"]


@pytest.fixture
def wakes(product: Product) -> Product:
    product("connect", "claude", "--rewake", "--write")
    return product


def test_an_idle_session_wakes_on_an_addressed_message_and_reads_it(
    claude: ClaudeCode, wakes: Product, desk: Desk
) -> None:
    """C41; its words reach the model once, labelled as another agent's. A broadcast waits for the next turn."""
    heard: list[str] = []

    def idles(shown: Shown) -> Performance:
        while True:
            shown = yield say("I idle.")
            heard.append(shown.text)

    with ScriptedModel(idles) as model:
        talk = Conversation(claude, model)
        talk.say("Do what the script says.")
        wakes("--as", "codex", "say", "Deploying at three")
        wakes("--as", "codex", "send", "Please look at app.py", "--to", "claude-code")
        talk.turn()
        talk.close()

    (told,) = heard
    assert "Messages wait for you: #" in told and "from codex" in told
    assert told.count('"Please look at app.py"') == 1
    assert "another agent's words, not your user's" in told
    assert told.count('"Deploying at three"') == 1, "the broadcast comes along with the turn that another message began"


def test_a_broadcast_wakes_nobody(claude: ClaudeCode, wakes: Product) -> None:
    """A later message that does wake proves that the session could have been woken."""
    heard: list[str] = []

    def idles(shown: Shown) -> Performance:
        while True:
            shown = yield say("I idle.")
            heard.append(shown.text)

    with ScriptedModel(idles) as model:
        talk = Conversation(claude, model)
        talk.say("Do what the script says.")
        wakes("--as", "codex", "say", "Deploying at three")
        wakes("--as", "codex", "send", "Done", "--to", "claude-code", "--kind", "result")
        number = json.loads(wakes("--json", "--as", "codex", "send", "Now", "--to", "claude-code").stdout)["message_id"]
        talk.turn()
        wakes("--as", "codex", "send", "Again", "--to", "claude-code")
        talk.turn()
        talk.close()

    assert len(heard) == 2, "two addressed messages, two turns"
    assert f"Messages wait for you: #{number} from codex." in heard[0]


def test_codex_takes_the_line_that_is_queued_for_its_thread(codex: Codex, product: Product, desk: Desk) -> None:
    """Numbers only. Who delivers it is Codex's own daemon, which does not run here."""

    def idles(_: Shown) -> Performance:
        yield say("I idle.")

    codex.play(idles)
    (rollout,) = (desk.home / ".codex" / "sessions").rglob("rollout-*.jsonl")
    named = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", rollout.name)
    assert named is not None
    product("--as", "claude-code", "send", "The words", "--to", "codex")
    assert product("codex-wake", "--once", "--thread", named.group()).stdout == "1 queued.\n"
    kept = b"".join(file.read_bytes() for file in (desk.home / ".codex").glob("queue_*"))
    assert b"[clearway] Messages wait for you: #" in kept
    assert b"The words" not in kept
