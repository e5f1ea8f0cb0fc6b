"""Whether what a program would find by itself meets what others hold: paths with wildcards against their leases.

A name that matches is enough; of a folder that is held whole, the disk is asked whether something in it matches, within
bounds. Nothing is claimed for a sweep.
"""

from __future__ import annotations

import os

from clearway import policy
from clearway.crew import leases, worktrees
from clearway.guard.shellglobs import ANY, DEEP, QUOTED, SOME, matches
from clearway.guard.shellwords import is_swept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Row, Tx
    from clearway.repository import Place

LEASES_MAX = 10_000
ENTRIES_MAX = 4_000


class Sweep:
    """The `place` of a folder, and the `parts` of the paths below it that are meant, with wildcards in them. top: the
    folder itself, where the place is only that of a checkout in it."""

    __slots__ = ("parts", "place", "top")

    def __init__(self, place: Place, parts: list[str], top: str = "") -> None:
        self.place = place
        self.parts = parts
        self.top = top or place.absolute


def parted(path: str) -> tuple[str, list[str]]:
    """The folder in front of the first wildcard, and the parts of the path behind it."""
    parts = path.split("/")
    at = next((n for n, part in enumerate(parts) if is_swept(part)), len(parts))
    return "/".join(parts[:at]) or ("/" if path.startswith("/") else "."), [part for part in parts[at:] if part != "."]


def look(tx: Tx, sweeps: list[Sweep]) -> None:
    """A read: refuses PATH_HELD if another holds something that these would meet, and PATH_OTHER_CHECKOUT."""
    if not sweeps or policy.is_paused(tx):
        return
    worktrees.check_bound(tx, [sweep.place for sweep in sweeps])
    in_the_way: dict[str, tuple[Place, Row]] = {}
    for sweep in sweeps:
        for lease in leases.conflicting(tx, sweep.place, "edit", limit=LEASES_MAX):
            if lease.id not in in_the_way and _meets(sweep, lease.shown):
                in_the_way[lease.id] = (sweep.place, lease)
    if in_the_way:
        raise leases.held(tx, [*in_the_way.values()])


def _meets(sweep: Sweep, shown: str) -> bool:
    top, parts = sweep.top, sweep.parts
    whole = os.path.normpath(os.path.join(sweep.place.root, shown))
    if whole == top or top.startswith(whole.rstrip("/") + "/"):  # the folder lies in what is held
        return not parts or SOME in parts[-1] or _has(top, parts, top)
    below = os.path.relpath(whole, top).split("/")
    if not parts:
        return True
    return any(fits(below[:length], parts) for length in range(1, len(below) + 1)) or (
        os.path.isdir(whole) and _has(whole, parts, top)
    )


def _has(folder: str, parts: list[str], top: str) -> bool:
    """Whether there is a file in a folder that is meant; so many entries later it is taken to be."""
    entries = 0
    for where, folders, names in os.walk(folder):
        entries += len(folders) + len(names)
        if entries > ENTRIES_MAX:
            return True
        inner = os.path.relpath(where, top)
        before = [] if inner == "." else inner.split("/")
        if any(fits([*before, name], parts) for name in names):
            return True
    return False


def fits(names: list[str], parts: list[str]) -> bool:
    """Whether the names of a path are what these parts mean. One step back at most: to the last part of any folders."""
    at = part = 0
    star = back = -1
    while at < len(names):
        if part < len(parts) and parts[part] == DEEP:
            star, back = part, at
            part += 1
        elif part < len(parts) and _is(names[at], parts[part]):
            at, part = at + 1, part + 1
        elif star >= 0:
            back += 1
            at, part = back, star + 1
        else:
            return False
    return all(rest == DEEP for rest in parts[part:])


def _is(name: str, part: str) -> bool:
    if SOME in part:
        return False
    if ANY not in part and DEEP not in part:
        return name == part
    return matches(name, [QUOTED + "*" if letter in {ANY, DEEP} else letter for letter in part])
