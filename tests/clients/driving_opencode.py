"""OpenCode at a desk, with the plugin and the server that the product's `connect` writes into `~/.config/opencode`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from driving import KEY, Client, Gate
from scripted_model import Call, Performance, ScriptedModel, Step, call


class OpenCode(Client):
    """OpenCode without an account: a provider of one's own is an ordinary setting."""

    name = "opencode"
    command_name = "opencode"

    def edits(self, path: Path, old: str, new: str) -> list[Step]:
        given = {"filePath": str(path), "oldString": old, "newString": new}
        return [call(Call("read", {"filePath": str(path)})), call(Call("edit", given))]

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        read = call(Call("read", {"filePath": str(path)}))
        return {
            "edit": self.edits(path, old, new),
            "write": [read, call(Call("write", {"filePath": str(path), "content": f"{new}\n"}))],
            "bash redirect": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def shell(self, command: str) -> Step:
        return call(Call("bash", {"command": command, "description": "a scripted command", "timeout": 600_000}))

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"clearway_{operation}", arguments))

    def stand_at(self, gate: Gate) -> Performance:
        return (yield self.shell(gate.command))

    def task(self, prompt: str) -> Step:
        """Give a subagent something to do, and wait for it."""
        return call(Call("task", {"description": "a part", "prompt": prompt, "subagent_type": "general"}))

    def _command(self, model: ScriptedModel, asks_first: bool) -> list[str]:
        return [str(self.program), "run", "--format", "json"]

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        limit = {"context": 100_000, "output": 4_000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": f"{model.address}/v1", "apiKey": KEY},
            "models": {"scripted": {"name": "scripted", "tool_call": True, "limit": limit}},
        }
        # Merged over the settings file, which is `connect`'s to write.
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "permission": "allow",
            "provider": {"scripted": provider},
        }
        return self.desk.environment(
            OPENCODE_CONFIG_CONTENT=json.dumps(settings),
            OPENCODE_DISABLE_AUTOUPDATE="1",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_LSP_DOWNLOAD="1",
        )
