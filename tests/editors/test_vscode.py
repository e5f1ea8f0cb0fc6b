"""The VS Code extension: its own tests, and that the product says what it reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
CLEARWAY = Path(sys.executable).with_name("clearway")


def test_its_own_tests_pass() -> None:
    node = shutil.which("node")
    if node is None or not (EXTENSION / "node_modules" / "esbuild").exists():
        pytest.skip("there is no node, or `make vscode` has not installed what the extension is built with")
    ran = subprocess.run(["npm", "test"], cwd=EXTENSION, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-3_000:]
    assert "# fail 0" in ran.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


def _asked(folder: Path, *words: str) -> dict[str, Any]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "CLEARWAY_HOME": str(folder.parent / "home")}
    ran = subprocess.run(
        [str(CLEARWAY), "--json", *words], cwd=folder, env=environ, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_product_says_what_the_extension_reads(repository: Path) -> None:
    """The names that src/room.ts reads, from a room in which each of them has something to say."""
    assert _asked(repository, "status") == {}
    _asked(repository, "init")
    _asked(repository, "--as", "codex", "claim", "a.py", "--purpose", "refactor")
    _asked(repository, "issue", "create", "Parser", "--status", "ready")
    _asked(repository, "--as", "codex", "issue", "claim", "ISSUE-1")
    _asked(repository, "--as", "codex", "room", "--status", "at the lexer")
    status, room, board = (_asked(repository, word) for word in ("status", "room", "board"))
    assert {"project_id", "root", "checkout"} <= status.keys()
    assert {"agent", "session"} <= room["me"].keys()
    assert {"agent", "session", "presence"} <= room["agents"][0].keys()
    assert room["agents"][0]["doing"] == "at the lexer"
    _asked(repository, "--as", "codex", "send", "--to=human", "--", "May I?")
    (message,) = _asked(repository, "room")["messages"]
    assert (message["to"], message["state"]) == (room["me"]["agent"], "queued")
    (held,) = board["paths"]
    assert {"path", "agent", "session", "purpose", "mode", "until", "checkout"} <= held.keys()
    assert held["checkout"] == status["checkout"]
    (live,) = board["columns"]["live"]
    assert {"display_id", "title"} <= live.keys()
    assert live["live"]["agent"] == "codex"
    assert set(board["counts"]) == {"open", "ready", "live", "blocked", "review", "done"}
    since = str(board["latest_event_id"])
    _asked(repository, "--as", "codex", "release", "a.py")
    assert _asked(repository, "changes", "--since", since, "--limit", "1", "--wait-seconds", "5")["events"]


def test_what_a_person_does_there_is_a_command(repository: Path) -> None:
    _asked(repository, "init")
    _asked(repository, "--as", "codex", "room")
    file = str(repository / "b.py")
    _asked(repository, "claim", file, "--purpose", "in the editor")
    _asked(repository, "release", file)
    _asked(repository, "send", "--to=codex", "--", "--room x; hello")
    text = _asked(repository, "--as", "codex", "inbox")["items"][0]["text"]
    assert "--room x; hello" in text
