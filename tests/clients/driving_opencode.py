"""OpenCode at a desk, with the plugin and the server that the product's `connect` writes into `~/.config/opencode`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driving import Client

from clearway.setup import live_clients
from clearway.setup.live_model import Call, Step, call


class OpenCode(Client):
    """OpenCode without an account: a provider of one's own is an ordinary setting."""

    driver = live_clients.OpenCode()

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        read = call(Call("read", {"filePath": str(path)}))
        return {
            "edit": self.edits(path, old, new),
            "write": [read, call(Call("write", {"filePath": str(path), "content": f"{new}\n"}))],
            "bash redirect": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"clearway_{operation}", arguments))

    def task(self, prompt: str) -> Step:
        """Give a subagent something to do, and wait for it."""
        return call(Call("task", {"description": "a part", "prompt": prompt, "subagent_type": "general"}))
