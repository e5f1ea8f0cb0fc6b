"""A real Claude Code forgets its context: what it worked on is kept, and the next context begins with it."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import Any

from driving import RUN_SECONDS_MAX, ClaudeCode, Desk
from test_two_agents import Product, product

from clearway.setup.live_model import Performance, ScriptedModel, Shown, each, say

__all__ = ["product"]


class Conversation:
    """A session that stays alive between messages."""

    def __init__(self, client: ClaudeCode, model: ScriptedModel) -> None:
        words = ["--input-format=stream-json", "--output-format=stream-json", "--verbose"]
        command = [word for word in client._command(model, False) if not word.startswith("--output-format")]  # pyright: ignore[reportPrivateUsage]
        self.process = subprocess.Popen(
            [*command, *words],
            cwd=client.desk.repository,
            env=client._environment(model),  # pyright: ignore[reportPrivateUsage]
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def say(self, text: str) -> None:
        """Say something, and wait for the end of the turn."""
        assert self.process.stdin is not None
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        self.process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
        self.process.stdin.flush()
        self.turn()

    def turn(self) -> None:
        """Wait for the end of a turn, whoever began it."""
        assert self.process.stdout is not None
        bound = threading.Timer(RUN_SECONDS_MAX, self.process.kill)
        bound.start()
        try:
            for line in self.process.stdout:
                if json.loads(line).get("type") == "result":
                    return
        finally:
            bound.cancel()
        raise AssertionError("the client ended, or began no turn in time")

    def close(self) -> None:
        """End the client without a farewell, for which it would first wait for what waits for it."""
        self.process.kill()
        self.process.communicate(timeout=30)

    def end(self) -> None:
        self.process.communicate(timeout=30)


def test_the_next_context_begins_with_where_the_work_stood(claude: ClaudeCode, product: Product, desk: Desk) -> None:
    """Semantics 7; resume after compaction keeps the leases."""
    product("issue", "create", "Split the lexer", "--type", "task", "--status", "ready")
    app = desk.file("app.py")
    claimed: dict[str, Any] = {}
    again: dict[str, Any] = {}
    heard: list[str] = []

    def works_compacts_and_goes_on(shown: Shown) -> Performance:
        claimed.update((yield claude.ask("claim_issue", next=True)).result.data)
        yield from each(claude.edits(app, "print(1)", "print(2)"))
        yield claude.shell("python3 -c 'raise SystemExit(3)'")
        shown = yield say("half of it stands")  # the compaction itself asks without tools, and is no part of this
        heard.append(shown.text)
        again.update((yield claude.ask("claim_issue", issue_id="ISSUE-1")).result.data)
        yield say("going on")

    with ScriptedModel(works_compacts_and_goes_on) as model:
        talk = Conversation(claude, model)
        talk.say("Do what the script says.")
        talk.say("/compact")
        talk.say("Go on.")
        talk.end()
    assert "ISSUE-1" in heard[0]
    assert "What was seen of it" in heard[0]
    assert "app.py" in heard[0]
    assert "exit 3" in heard[0]
    assert again["resumed"]
    assert again["lease_token"] == claimed["lease_token"]
