"""Cline's command line at a desk, with hooks from `~/.cline/hooks` and servers from its own settings."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from driving import KEY, RUN_SECONDS_MAX, Client, Gate
from scripted_model import Call, Performance, ScriptedModel, Step, call


class ClineCli(Client):
    """Cline without an account: a provider of one's own is named once, as a person would."""

    name = "cline"
    command_name = "cline"

    def edits(self, path: Path, old: str, new: str) -> list[Step]:
        return [call(Call("editor", {"path": str(path), "old_text": old, "new_text": new}))]

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        return {
            "editor": self.edits(path, old, new),
            "a command": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def shell(self, command: str) -> Step:
        return call(Call("run_commands", {"commands": [command]}))

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"clearway__{operation}", arguments))

    def stand_at(self, gate: Gate) -> Performance:
        return (yield self.shell(gate.command))

    def _command(self, model: ScriptedModel, asks_first: bool) -> list[str]:
        provider = ["-p", "openai-compatible", "-k", KEY, "-m", "scripted", "-b", f"{model.address}/v1"]
        subprocess.run(
            [self.program, "auth", *provider],
            cwd=self.desk.repository,
            env=self._environment(model),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=RUN_SECONDS_MAX,
            check=True,
        )
        return [str(self.program), "--json", "-P", "openai-compatible", "-m", "scripted"]

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        return self.desk.environment()
