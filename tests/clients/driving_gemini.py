"""Gemini CLI and Qwen Code, which was made from it, at a desk.

Both read hooks and servers from one settings file in the home folder, where `connect` finds what a person has chosen
before: here, how to sign in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driving import Client, Run

from clearway.setup import live_clients
from clearway.setup.live_model import Call, Step, call, say


class GeminiCli(Client):
    """Gemini CLI, with hooks and servers from `~/.gemini/settings.json`."""

    driver = live_clients.Gemini()
    takes_context_before = False

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        relative = str(self.desk.relative(path))
        return {
            "replace": self.edits(path, old, new),
            "write_file": [call(Call("write_file", {"file_path": relative, "content": f"{new}\n"}))],
            "shell redirect": [self.shell(f"echo '{new}' > {relative}")],
        }

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"mcp_clearway_{operation}", arguments))

    def delegate(self, task: str) -> Step:
        """Give a subagent something to do, and wait for it."""
        return call(Call("invoke_agent", {"agent_name": "generalist", "prompt": task}))

    def report(self, text: str) -> Step:
        """What a subagent says last."""
        return call(Call("complete_task", {"result": text}))

    def session_of(self, run: Run) -> int:
        """The process that runs hooks: the client starts itself again, and the first one only waits."""
        pid = run.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert len(children) == 1, children
        return int(children[0])


class QwenCode(GeminiCli):
    """Qwen Code, with hooks and servers from `~/.qwen/settings.json`."""

    driver = live_clients.Qwen()

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        return {
            "edit": self.edits(path, old, new),
            "write_file": [self.read(path), call(Call("write_file", {"file_path": str(path), "content": f"{new}\n"}))],
            "shell redirect": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def read(self, path: Path) -> Step:
        return call(Call("read_file", {"file_path": str(path)}))

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"mcp__clearway__{operation}", arguments))

    def delegate(self, task: str) -> Step:
        given = {"description": "a part", "prompt": task, "subagent_type": "general-purpose"}
        return call(Call("agent", given))

    def report(self, text: str) -> Step:
        return say(text)
