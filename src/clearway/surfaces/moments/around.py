"""Checkouts that a command takes along without naming them: the one that it works in, by `rm -rf ..`, and worktrees
within a folder that is moved or deleted.

What is held in them belongs to other rooms, or to other checkouts of the same one, so each is asked about as a whole.
"""

from __future__ import annotations

import os

from clearway.errors import Refusal
from clearway.guard import sweeps
from clearway.guard.sweeps import Sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.guard.toolcall import Target
    from clearway.repository import Place
    from clearway.surfaces.moments import Visit

ENTRIES_MAX = 256  # of folders that are looked through for worktrees
_DEPTH_MAX = 2
_GOES = frozenset({"delete", "move"})


def checkouts(visit: Visit, found: list[Target]) -> list[Sweep]:
    """What to ask about, beside the paths themselves."""
    here = visit.folder()
    root = "" if here is None else here.root.rstrip(os.sep) + os.sep
    folder = os.path.join(visit.caller.cwd, visit.call.folder)
    asked: list[Sweep] = []
    known = {root}
    for target in found:
        top, parts = sweeps.parted(target.path)
        outer = os.path.normpath(os.path.join(folder, top))
        if len(outer) < len(root) and root.startswith((real := os.path.realpath(outer)).rstrip(os.sep) + os.sep):
            if real != root.rstrip(os.sep):
                asked.append(Sweep(visit.rooms.locate(root, folder), parts, real))
        if target.action in _GOES and not parts and os.path.isdir(outer) and not os.path.islink(outer):
            inner = [path for path in _within(outer) if f"{path}{os.sep}" not in known]
            known.update(f"{path}{os.sep}" for path in inner)
            asked += [Sweep(place, []) for path in inner if (place := _with_a_room(visit, path)) is not None]
    return asked


def _with_a_room(visit: Visit, root: str) -> Place | None:
    """The place of a checkout, if anybody can hold something in it: none is made by looking."""
    try:
        place = visit.rooms.locate(root, root)
        return place if place.repository is not None and visit.rooms.known(place.repository) is not None else None
    except Refusal:
        return None


def _within(top: str) -> Iterator[str]:
    """The worktrees and clones a little below a folder."""
    left, folders = ENTRIES_MAX, [(top, 0)]
    while folders and left > 0:
        where, depth = folders.pop()
        try:
            names = os.listdir(where)[:left]
        except OSError:
            continue
        left -= len(names)
        if where != top and ".git" in names:
            yield where
        elif depth < _DEPTH_MAX:
            inner = [os.path.join(where, name) for name in names if name not in {".git", "node_modules"}]
            folders += [(path, depth + 1) for path in inner if os.path.isdir(path) and not os.path.islink(path)]
