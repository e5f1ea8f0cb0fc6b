"""GitHub Copilot CLI at a desk, with hooks from `~/.copilot/hooks` and servers from `~/.copilot/mcp-config.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driving import Client, Run

from clearway.setup import live_clients
from clearway.setup.live_model import Call, Step, call, say


class CopilotCli(Client):
    """GitHub Copilot CLI without an account: its own offline mode and a model of one's own are documented."""

    driver = live_clients.Copilot()

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        return {
            "edit": self.edits(path, old, new),
            "shell redirect": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"clearway-{operation}", arguments))

    def delegate(self, task: str) -> Step:
        """Give a subagent something to do, and wait for it."""
        given = {"agent_type": "general-purpose", "name": "helper", "description": "a part", "prompt": task}
        return call(Call("task", {**given, "mode": "sync"}))

    def report(self, text: str) -> Step:
        return say(text)

    def session_of(self, run: Run) -> int:
        """The process that runs hooks."""
        return run.process.pid
