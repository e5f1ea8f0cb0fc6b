"""The danger gate, switched on for every room of this user: one line in our own `config.toml`.

It stands there because the hooks do: they run wherever the client works. A room may still decide otherwise.
"""

from __future__ import annotations

import os

from clearway.errors import Refusal
from clearway.setup.connect import files, tomltext
from clearway.setup.connect.shapes import Change

_NOTE = (
    "The danger gate refuses destructive commands of agents, not yours. In one room: clearway config set danger off."
)


def change(home: str) -> list[Change]:
    """What switching it on changes; nothing where it is on already."""
    path = os.path.join(home, "config.toml")
    before = files.read(path)
    try:
        known = "danger" in tomltext.load(before or "")
        after = tomltext.put(before or "", ("danger",), "on") if known else 'danger = "on"\n' + (before or "")
    except ValueError as problem:
        raise Refusal(
            "INVALID_ARGUMENT", f"{path} was left alone: {problem}. Nothing was written.", file=path
        ) from problem
    return [] if after == before else [Change("clearway", path, before, after, (_NOTE,))]
