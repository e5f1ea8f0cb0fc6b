"""GitHub Copilot CLI at a desk, with hooks from `~/.copilot/hooks` and servers from `~/.copilot/mcp-config.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driving import KEY, Client, Gate, Run
from scripted_model import Call, Performance, ScriptedModel, Step, call, say


class CopilotCli(Client):
    """GitHub Copilot CLI without an account: its own offline mode and a model of one's own are documented."""

    name = "copilot"
    command_name = "copilot"

    def edits(self, path: Path, old: str, new: str) -> list[Step]:
        given = {"path": str(path), "old_str": old, "new_str": new}
        return [call(Call("view", {"path": str(path)})), call(Call("edit", given))]

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        return {
            "edit": self.edits(path, old, new),
            "shell redirect": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def shell(self, command: str) -> Step:
        given = {"command": command, "description": "a scripted command", "mode": "sync", "initial_wait": 300}
        return call(Call("bash", given))

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"clearway-{operation}", arguments))

    def stand_at(self, gate: Gate) -> Performance:
        return (yield self.shell(gate.command))

    def delegate(self, task: str) -> Step:
        """Give a subagent something to do, and wait for it."""
        given = {"agent_type": "general-purpose", "name": "helper", "description": "a part", "prompt": task}
        return call(Call("task", {**given, "mode": "sync"}))

    def report(self, text: str) -> Step:
        return say(text)

    def session_of(self, run: Run) -> int:
        """The process that runs hooks."""
        return run.process.pid

    def _command(self, model: ScriptedModel, asks_first: bool) -> list[str]:
        return [str(self.program), "--allow-all-tools", "--allow-all-paths", "--trust-folder", "-p"]

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        return self.desk.environment(
            COPILOT_OFFLINE="true",
            COPILOT_AUTO_UPDATE="false",
            COPILOT_PROVIDER_BASE_URL=f"{model.address}/v1",
            COPILOT_PROVIDER_API_KEY=KEY,
            COPILOT_MODEL="scripted",
        )
