"""A small world to measure in: a home, a repository, and clients that are alive but do nothing.

Nothing of the person's own home, rooms or environment is touched or read. A session belongs to its client's process,
so each stands for one sleeping program that ends with this world.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.spawn import Case, Ended, run, succeeds
from clearway.setup.registered import Binding, console_script, hook_command

FREE_FILES = 400


@dataclass(frozen=True)
class Client:
    """One running session of a coding agent, as far as a hook can see it."""

    session: str
    pid: int


@dataclass(frozen=True)
class World:
    """Where everything is, and what the programs of this world see of it."""

    folder: Path
    home: Path
    repository: Path
    hosted: bool = False  # whether a host may answer

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "CLEARWAY_HOME": str(self.home / "clearway"),
            "CLEARWAY_HOST": "on" if self.hosted else "off",
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "LANG": "C.UTF-8",
        }

    def hook(
        self,
        name: str,
        client: Client,
        event: Callable[[int], dict[str, Any]],
        expect: Callable[[Ended], bool] = succeeds,
    ) -> Case:
        """The registered hook command of Claude Code, given one event a round."""
        command = shlex.split(hook_command("claude", Binding(home=self.environ["CLEARWAY_HOME"])))
        environ = {**self.environ, "CLAUDE_PID": str(client.pid), "CLAUDECODE": "1"}
        common = {"session_id": client.session, "cwd": str(self.repository), "permission_mode": "acceptEdits"}

        def payload(place: int) -> bytes:
            return json.dumps(common | event(place)).encode()

        return Case(name, command, environ, payload, expect)

    def cli(self, name: str, *words: str, expect: Callable[[Ended], bool] = succeeds) -> Case:
        return Case(name, [console_script(), "-C", str(self.repository), *words], self.environ, expect=expect)

    def tell(self, case: Case) -> Ended:
        """Run a case once, for what it changes."""
        return run(case, 0, self.folder)


@contextmanager
def world(*, hosted: bool = False) -> Iterator[World]:
    """A new world with a repository that has been initialised. hosted: its clients may have a host."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name).resolve()
        made = World(folder, folder / "home", folder / "repository", hosted)
        made.home.mkdir()
        made.repository.mkdir()
        for place in range(FREE_FILES):
            (made.repository / f"free-{place}.py").write_text("print(1)\n")
        for file in ("own.py", "other.py"):
            (made.repository / file).write_text("print(1)\n")
        git = ["git", "-C", str(made.repository), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "A beginning"]):
            subprocess.run([*git, *words], check=True, env=made.environ)
        made.tell(made.cli("init", "init"))
        yield made


@contextmanager
def client(session: str) -> Iterator[Client]:
    """A session whose process is alive until the end of the block."""
    waiting = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]
    process = subprocess.Popen(waiting, stdin=subprocess.PIPE)
    try:
        yield Client(session, process.pid)
    finally:
        process.communicate()


def edit(path: Path) -> dict[str, Any]:
    """Claude Code asks before it edits a file."""
    return _before("Edit", file_path=str(path), old_string="print(1)", new_string="print(2)", replace_all=False)


def write(path: Path, content: str) -> dict[str, Any]:
    return _before("Write", file_path=str(path), content=content)


def shell(command: str) -> dict[str, Any]:
    return _before("Bash", command=command, description="a command")


def shell_ended(command: str) -> dict[str, Any]:
    """The word after a command."""
    said = {"stdout": "", "stderr": "", "interrupted": False}
    return {**shell(command), "hook_event_name": "PostToolUse", "tool_response": said}


def edit_ended(path: Path) -> dict[str, Any]:
    """The word after an edit."""
    return {**edit(path), "hook_event_name": "PostToolUse", "tool_response": {"filePath": str(path)}}


def _before(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments, "tool_use_id": "toolu_bench"}


def prompt(text: str) -> dict[str, Any]:
    return {"hook_event_name": "UserPromptSubmit", "prompt": text}


def start() -> dict[str, Any]:
    return {"hook_event_name": "SessionStart", "source": "startup"}
