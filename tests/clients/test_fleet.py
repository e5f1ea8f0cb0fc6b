"""A night of workers with real clients: Claude Code and Codex on a model that obeys the words in each item.

The arrangement and the checker are those of tests/worker/fleet.py; here every run is a real client with its own hooks
and tools, whose provider is slow, has enough, breaks or never answers. CLEARWAY_TEST_FLEET=1 plays it, for minutes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from driving import ClaudeCode, Codex, Desk, words_of_codex
from tests.conftest import git
from tests.worker.fleet import Fleet

from clearway.setup.live_model import WIRES, Call, Request, ScriptedModel, Step, Wire, call, say
from clearway.setup.live_model import _Handler as Handler  # pyright: ignore[reportPrivateUsage]

pytestmark = pytest.mark.skipif(
    not os.environ.get("CLEARWAY_TEST_FLEET"), reason="CLEARWAY_TEST_FLEET=1 plays a night with real clients"
)
WORKS = ("--from", "tasks,issues", "--write", "--target", "done", "--max-per-hour", "1000", "--timeout", "45")
STUCK_SECONDS = 60


class Obeys(ScriptedModel):
    """Does what stands in each item, whoever asks, and however many at once; it keeps no place in any script."""

    def __init__(self) -> None:
        super().__init__([])
        self._server.RequestHandlerClass = _Provider
        self.over = threading.Event()
        self._seen: set[str] = set()
        self._turn = threading.Lock()

    def answer(self, wire: Wire, request: Request) -> Step:
        if not wire.carries_tools(request.body):
            return say(wire.aside(request.body))
        item, word, folder = told(request.raw)
        if wire.turns(request.body) or not item:
            return say(f"Did {item}.")
        if word == "slow":
            self.over.wait(2)
        if word == "stuck":
            self.over.wait(STUCK_SECONDS)
        path = f"{folder}/{item}.txt"
        if request.path.partition("?")[0].endswith("/responses"):
            patch = f"*** Begin Patch\n*** Add File: {item}.txt\n+{word}\n*** End Patch\n"
            return call(Call("apply_patch", patch))
        return call(Call("Write", {"file_path": path, "content": f"{word}\n"}))

    def is_first(self, item: str) -> bool:
        with self._turn:
            first = item not in self._seen
            self._seen.add(item)
            return first


class _Provider(Handler):
    """The provider's side: what it refuses is refused before the model is asked."""

    def do_POST(self) -> None:  # noqa: N802
        raw = self._read()
        request = Request(path=self.path, body=json.loads(raw or b"{}"), raw=raw.decode())
        path = self.path.partition("?")[0]
        wire = next((wire for wire in WIRES if path.endswith(wire.ending)), None)
        model: Any = self.server.model
        if wire is None:
            self._reply({"input_tokens": 1} if path.endswith("/count_tokens") else {}, 200 if "count" in path else 404)
            return
        item, word, _ = told(request.raw) if wire.carries_tools(request.body) else ("", "", "")
        if word == "broken" or (word == "shaky" and model.is_first(item)):
            self._refuse(400, {"type": "invalid_request_error", "message": "no 429, no quota: it is broken"})
        elif word == "limited" and model.is_first(item):
            kind = "usage_limit_reached" if path.endswith("/responses") else "rate_limit_error"
            self._refuse(429, {"type": kind, "message": "enough", "resets_in_seconds": 2})
        else:
            self._speak(wire, request, model.answer(wire, request))

    def _refuse(self, status: int, error: dict[str, Any]) -> None:
        data = json.dumps({"type": "error", "error": error}).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)),
                            "x-should-retry": "false", "retry-after": "600"}.items():  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def told(raw: str) -> tuple[str, str, str]:
    """The item that a request is about, its word, and the folder that the client works in."""
    item = re.search(r"This is (task #[0-9]+)|taken the issue (ISSUE-[0-9]+)", raw)
    word = re.search(r"do it: ([a-z]+)", raw)
    folder = re.search(r"working without a person in ([^ \\]+?)\.(?:\\n| )", raw)
    if item is None or word is None or folder is None:
        return "", "", ""
    return (item[1] or item[2]).replace("task #", "task-"), word[1], folder[1]


def test_a_night_of_real_clients_ends_with_nothing_lost_and_nothing_done_twice(
    desk: Desk, claude: ClaudeCode, codex: Codex
) -> None:
    """30 tasks and 20 issues with dependencies over four workers, within 15 minutes, with kills, limits, timeouts and a
    host that goes away."""
    with Obeys() as model:
        environ = desk.environment(PYTHONPATH=os.pathsep.join(sys.path))
        for client in (claude, codex):
            environ |= client.driver.environment(str(desk.home), model.address)
        fleet = Fleet(desk.root, desk.repository, environ)
        try:
            fleet.cli("connect", "claude", "codex", "--write")
            _play(fleet, words_of_codex(codex.driver, model.address))
        finally:
            model.over.set()
            fleet.end()


def _play(fleet: Fleet, to_the_model: str) -> None:
    fleet.ask("set_setting", name="fallbacks", value="claude-code=codex;codex=claude-code")
    words = [*["fine"] * 17, *["slow"] * 5, *["limited"] * 4, *["broken"] * 2, *["stuck"] * 2]
    fleet.chance.shuffle(words)
    fleet.give_tasks(words, ["claude-code", "codex"])
    issues = ["fine"] * 20
    issues[3], issues[8], issues[15] = "shaky", "slow", "broken"
    fleet.give_issues(issues, lambda place: [place - step for step in (3, 5) if place >= step and place % 2])
    more = ("--client-args", to_the_model)
    fleet.begin(
        ["--agent", "claude", *WORKS],
        ["--agent", "claude", *WORKS],
        ["--agent", "codex", *WORKS, *more],
        ["--agent", "codex", *WORKS, *more],
    )
    fleet.tend(900, kills=10, restarts=3, every_ms=9_000)
    assert fleet.faults() == []
    assert fleet.kills >= 5
    branches = git(fleet.repo, "branch", "--format=%(refname:short)", "--list", "clearway/*").split()
    for issue in fleet.issues:
        if fleet.fate(issue) == "done":
            mine = [branch for branch in branches if branch.startswith(f"clearway/{issue}-")]
            assert any(git(fleet.repo, "ls-tree", branch, f"{issue}.txt").strip() for branch in mine), (
                f"{issue}: {mine}"
            )


def test_the_words_in_an_item_are_found(tmp_path: Path) -> None:
    prompt = "You are x, working without a person in /a/b.\nThis is task #12, a request.\n\nPlease do it: slow\n"
    assert told(json.dumps({"text": prompt})) == ("task-12", "slow", "/a/b")
