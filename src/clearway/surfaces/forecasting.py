"""The word `forecast`: which worktrees of this repository will not merge, before anybody tries.

Every two are merged in memory, by git itself; nothing is checked out, and what the merges make goes into a folder that
is thrown away. Files that both change without a conflict yet, committed or not, are named as well.
"""

from __future__ import annotations

import os
import tempfile
from itertools import combinations
from typing import Any

import click

from clearway.errors import Refusal
from clearway.surfaces.asking import say, say_json
from clearway.surfaces.gittrees import Git, Tree
from clearway.surfaces.options import this_run
from clearway.untrusted import exact, folded

WORKTREES_MAX = 40


@click.command()
def forecast() -> int:
    """Say which worktrees will not merge, and in which files; exit status 1 when there are any."""
    run = this_run()
    place = run.place
    if place is None:
        raise Refusal("PROJECT_NOT_FOUND", f"{folded(run.folder, 200)} is in no repository; go into one.")
    pairs = Forecast(Git(place.root, run.settings.environ)).pairs()
    if run.as_json:
        say_json({"pairs": pairs})
    else:
        say(_told(pairs))
    return int(any(pair["conflicts"] for pair in pairs))


class Forecast:
    """A look at all worktrees of one repository."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def pairs(self) -> list[dict[str, Any]]:
        """Every two worktrees that meet: `ours` and `theirs`, the files in which they conflict, and those that both
        change."""
        trees = self._git.trees()
        if len(trees) > WORKTREES_MAX:
            raise Refusal("LIMIT_EXCEEDED", f"There are {len(trees)} worktrees, and {WORKTREES_MAX} can be compared.")
        dirty = {
            tree.root: _names(self._git.ask("-C", tree.root, "diff", "--name-only", "-z", "HEAD")) for tree in trees
        }
        found: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory(prefix="clearway-forecast-") as aside:
            for one, other in combinations(trees, 2):
                conflicts = self._conflicts(one, other, aside)
                both = (self._changed(one, other) | dirty[one.root]) & (self._changed(other, one) | dirty[other.root])
                meet = {"conflicts": sorted(conflicts), "overlaps": sorted(both - conflicts)}
                if meet["conflicts"] or meet["overlaps"]:
                    found.append({"ours": one.shown(), "theirs": other.shown(), **meet})
        return found

    def _changed(self, one: Tree, other: Tree) -> set[str]:
        """What one has committed since the two were one. Where they never were, nothing can be said."""
        return _names(self._git.ask("diff", "--name-only", "-z", f"{other.commit}...{one.commit}", may_fail=True))

    def _conflicts(self, one: Tree, other: Tree, aside: str) -> set[str]:
        objects = os.path.join(self._git.root, self._git.ask("rev-parse", "--git-path", "objects").strip())
        known = os.pathsep.join(filter(None, [objects, self._git.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")]))
        environ = {"GIT_OBJECT_DIRECTORY": aside, "GIT_ALTERNATE_OBJECT_DIRECTORIES": known}
        words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", one.commit, other.commit)
        return _names(self._git.ask(*words, environ=environ, conflict=True).partition("\0")[2])


def _names(said: str) -> set[str]:
    return {name for name in said.split("\0") if name}


def _told(pairs: list[dict[str, Any]]) -> str:
    if not pairs:
        return "No two worktrees change the same files."
    lines: list[str] = []
    for pair in pairs:
        between = f"{folded(pair['ours']['branch'], 80)} and {folded(pair['theirs']['branch'], 80)}"
        lines += [f"{between} will not merge: {exact(name)}" for name in pair["conflicts"]]
        lines += [f"{between} both change {exact(name)}" for name in pair["overlaps"]]
    return "\n".join(lines)
