"""`clearway worker` on the command line: what is refused before anything starts, and what is seen of workers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.surfaces.conftest import Terminal

CLIENT = """#!/bin/sh
echo "Done: $1"
"""


@pytest.fixture
def path(terminal: Terminal, tmp_path: Path) -> str:
    """Where a program of the name `tool` is found, too."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "tool").write_text(CLIENT)
    (folder / "tool").chmod(0o755)
    terminal("init")
    return f"{folder}:{terminal.environ['PATH']}"


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "--agent", "unheard-of"],
        ["run", "--agent", "claude", "--from", "thin air"],
        ["run", "--agent", "claude", "--target", "ready"],
        ["run", "--agent", "claude", "--timeout", "soon"],
        ["run", "--agent", "claude", "--timeout", "24h"],
        ["run", "--agent", "claude", "--max-per-hour", "0"],
        ["run", "--agent", "claude", "--max-per-hour", "many"],
        ["run", "--agent", "claude", "--provider", "oracle"],
        ["run", "--agent", "claude", "--provider", "http"],
        ["run", "--agent", "x", "--provider", "openrouter"],
        ["run", "--agent", "x", "--provider", "http", "--base-url", "http://example.org", "--model", "m"],
        ["run", "--agent", "x", "--provider", "openrouter", "--model", "m", "--write"],
        ["run", "--agent", "x", "--command", "'"],
        ["run", "--agent", "x", "--command", "{prompt}"],
        ["run", "--agent", "x", "--command", "nowhere-to-be-found {prompt}"],
        ["run", "--agent", "bad name"],
        ["run", "--agent", "x" * 60, "--command", "tool {prompt}"],
        ["dance", "--agent", "claude"],
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(terminal: Terminal, path: str, words: list[str]) -> None:
    assert terminal("worker", *words, "--once").err.startswith("INVALID_ARGUMENT")
    assert terminal("--json", "worker", "status").json["workers"] == []


def test_a_reserved_name_is_nobodys(terminal: Terminal, path: str) -> None:
    assert terminal("worker", "run", "--agent", "human", "--once").code == "RESERVED_NAME"


def test_outside_a_repository_nobody_works(terminal: Terminal, path: str, tmp_path: Path) -> None:
    ended = terminal("worker", "run", "--agent", "tool", "--command", "tool {prompt}", "--once", folder=tmp_path)
    assert ended.code == "PROJECT_NOT_FOUND"


def test_a_worker_is_started_and_its_answer_read(terminal: Terminal, path: str) -> None:
    """The predecessor's word for it, too."""
    terminal("send", "Count to three", "--to", "tool", "--kind", "task")
    ended = terminal("worker", "run", "--agent", "tool", "--command", "tool {prompt}", "--once", PATH=path)
    assert ended.out == "tool-worker has handed back 1.\n"
    assert "task #1: succeeded." in ended.err
    assert "Done: You are tool-worker" in terminal("--json", "inbox").json["items"][0]["text"]
    again = terminal("--json", "bridge", "--agent", "tool", "--command", "tool {prompt}", "--once", PATH=path)
    assert again.json == {"worker": "tool-worker", "done": 0}


def test_a_worker_is_activated_without_starting_anything(terminal: Terminal, path: str) -> None:
    terminal("send", "Old", "--to", "tool", "--kind", "task")
    assert "from now on" in terminal("worker", "activate", "--agent", "tool").out
    run = ["worker", "run", "--agent", "tool", "--command", "tool {prompt}", "--once"]
    assert terminal(*run, PATH=path).out == "There was nothing to do.\n"
    (known,) = terminal("--json", "worker", "status").json["activated"]
    assert known["worker"] == "tool-worker"
    assert "whatever waits" in terminal("worker-activate", "--agent", "tool", "--include-existing").out
    assert terminal(*run, PATH=path).out == "tool-worker has handed back 1.\n"
    assert "No worker is here" in terminal("worker", "status").out


CODEX = """#!{python}
import json, sys, time
if sys.argv[1] == "app-server":
    window = {{"usedPercent": 100, "resetsAt": int(time.time()) + 7200, "windowDurationMins": 300}}
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("method") == "account/rateLimits/read":
            answer = {{"rateLimits": {{"primary": window, "rateLimitReachedType": "rate_limit_reached"}}}}
            print(json.dumps({{"id": asked["id"], "result": answer}}), flush=True)
        elif "id" in asked:
            print(json.dumps({{"id": asked["id"], "result": {{}}}}), flush=True)
else:
    print(json.dumps({{"type": "turn.failed", "error": {{"message": "stream disconnected before completion"}}}}))
    sys.exit(1)
"""


def test_codex_is_asked_itself_why_a_run_failed(terminal: Terminal, path: str, tmp_path: Path) -> None:
    """Its app server says what its words do not, and when the limit ends."""
    (tmp_path / "programs" / "codex").write_text(CODEX.format(python=sys.executable))
    (tmp_path / "programs" / "codex").chmod(0o755)
    terminal("send", "Count to three", "--to", "codex", "--kind", "task")
    assert "given back" in terminal("worker", "run", "--agent", "codex", "--once", PATH=path).err
    (limit,) = terminal("--json", "limits").json["items"]
    assert (limit["agent"], limit["source"]) == ("codex-worker", "codex_app_server")
    assert "until" in limit
    (task,) = terminal("--json", "task", "list").json["items"]
    assert task["state"] == "pending"
