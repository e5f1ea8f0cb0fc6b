"""Cline's command line at a desk, with hooks from `~/.cline/hooks` and servers from its own settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driving import Client

from clearway.setup import live_clients
from clearway.setup.live_model import Call, Step, call


class ClineCli(Client):
    """Cline without an account: a provider of one's own is named once, as a person would."""

    driver = live_clients.Cline()

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        return {
            "editor": self.edits(path, old, new),
            "a command": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"clearway__{operation}", arguments))
