"""What a session reads is remembered, and it is told, once, when it edits what another session has changed since."""

from __future__ import annotations

import os

from clearway import clock, wire
from clearway.errors import Refusal
from clearway.guard import readset
from clearway.untrusted import ending, folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx
    from clearway.surfaces.moments import Visit

_NAMES = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "notebookPath", "target_file")
_LOOKED_AT = 64  # files of one call
_INPUTS = ("tool_input", "toolInput", "input", "toolArgs", "args")


def mind(visit: Visit) -> list[str]:
    """Before a read: note it. Before an edit: the lines about what it goes by an old reading of; each told once."""
    home, key = visit.rooms.settings.home, visit.key
    if visit.call.kind == "read":
        path = _read_path(visit)
        if path:
            readset.note(home, key, path)
        return []
    lines: list[str] = []
    for target in visit.call.targets[:_LOOKED_AT]:
        path = _absolute(visit, target.path)
        changed = readset.changed_since(home, key, path)
        if changed is not None:
            lines += _line(visit, path, changed)
    return lines


def edited(visit: Visit, paths: list[str]) -> None:
    """The session knows what it wrote itself."""
    for path in paths:
        readset.note(visit.rooms.settings.home, visit.key, path)


def _line(visit: Visit, path: str, changed: int) -> list[str]:
    """Only another session's own doing is told about: what a person or a program does is not known."""
    from clearway.guard import snapshots

    try:
        place = visit.rooms.locate(path, visit.caller.cwd)
        if place.repository is None:
            return []
        room = visit.rooms.of_repository(place.repository)

        def look(tx: Tx) -> str:
            row = tx.one(snapshots.SQL.find, checkout=place.checkout, path=place.key)
            if row is None or row.session == visit.key or row.modified != changed:
                return ""
            return f"was changed by {folded(row.agent, 40)} at {clock.local_time(row.taken_wall)}"

        said = room.run(look, caller=visit.caller, writes=False)
    except Refusal:
        return []
    if not said:
        return []
    readset.note(visit.rooms.settings.home, visit.key, path)
    return [f"[clearway] {ending(place.shown, 80)} {said}, after you last read it: read it again."]


def _read_path(visit: Visit) -> str:
    raw = visit.call.raw
    given: Any = next((raw[name] for name in _INPUTS if raw.get(name) is not None), None)
    if not wire.is_object(given):
        return ""
    path = next((given[name] for name in _NAMES if given.get(name)), None)
    return _absolute(visit, path) if isinstance(path, str) else ""


def _absolute(visit: Visit, path: str) -> str:
    return os.path.normpath(os.path.join(visit.caller.cwd, visit.call.folder, path))
