"""Gemini CLI and Qwen Code, which was made from it, at a desk.

Both read hooks and servers from one settings file in the home folder, where `connect` finds what a person has chosen
before: here, how to sign in.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from driving import KEY, Client, Desk, Gate, Run
from scripted_model import Call, Performance, ScriptedModel, Step, call, say


class GeminiCli(Client):
    """Gemini CLI, with hooks and servers from `~/.gemini/settings.json`."""

    name = "gemini"
    command_name = "gemini"
    takes_context_before = False

    def __init__(self, program: Path, desk: Desk) -> None:
        super().__init__(program, desk)
        settings = desk.home / f".{self.command_name}" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        there = json.loads(settings.read_text()) if settings.exists() else {}
        settings.write_text(json.dumps(there | self._settings(), indent=2) + "\n")

    def edits(self, path: Path, old: str, new: str) -> list[Step]:
        given = {"file_path": str(path), "instruction": "do it", "old_string": old, "new_string": new}
        return [call(Call("replace", given))]

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        relative = str(self.desk.relative(path))
        return {
            "replace": self.edits(path, old, new),
            "write_file": [call(Call("write_file", {"file_path": relative, "content": f"{new}\n"}))],
            "shell redirect": [self.shell(f"echo '{new}' > {relative}")],
        }

    def shell(self, command: str) -> Step:
        return call(Call("run_shell_command", {"command": command, "description": "a scripted command"}))

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"mcp_clearway_{operation}", arguments))

    def stand_at(self, gate: Gate) -> Performance:
        return (yield self.shell(gate.command))

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

    def _settings(self) -> dict[str, Any]:
        return {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
        }

    def _command(self, model: ScriptedModel, asks_first: bool) -> list[str]:
        return [str(self.program), "--yolo", "--output-format=json", "--prompt"]

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        return self.desk.environment(
            GEMINI_API_KEY=KEY,
            GOOGLE_GEMINI_BASE_URL=model.address,
            SHLVL="1",
        )


class QwenCode(GeminiCli):
    """Qwen Code, with hooks and servers from `~/.qwen/settings.json`."""

    name = "qwen"
    command_name = "qwen"

    def edits(self, path: Path, old: str, new: str) -> list[Step]:
        # The client itself refuses to edit what was not read.
        given = {"file_path": str(path), "old_string": old, "new_string": new}
        return [self.read(path), call(Call("edit", given))]

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        return {
            "edit": self.edits(path, old, new),
            "write_file": [self.read(path), call(Call("write_file", {"file_path": str(path), "content": f"{new}\n"}))],
            "shell redirect": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def read(self, path: Path) -> Step:
        return call(Call("read_file", {"file_path": str(path)}))

    def shell(self, command: str) -> Step:
        given = {"command": command, "description": "a scripted command", "is_background": False}
        return call(Call("run_shell_command", given))

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"mcp__clearway__{operation}", arguments))

    def delegate(self, task: str) -> Step:
        given = {"description": "a part", "prompt": task, "subagent_type": "general-purpose"}
        return call(Call("agent", given))

    def report(self, text: str) -> Step:
        return say(text)

    def _settings(self) -> dict[str, Any]:
        return {
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "general": {"disableAutoUpdate": True},
            # It would ask the model of its own accord, with tools, what to remember.
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
            "privacy": {"usageStatisticsEnabled": False},
        }

    def _command(self, model: ScriptedModel, asks_first: bool) -> list[str]:
        return [str(self.program), "--yolo", "--prompt"]

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        return self.desk.environment(
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=f"{model.address}/v1",
            OPENAI_MODEL="scripted",
            SHLVL="1",
        )
