"""The word `forecast`: which worktrees of this repository will not merge, before anybody tries.

Every two are merged in memory, by git itself; nothing is checked out, and what the merges make goes into a folder that
is thrown away. Files that both change without a conflict yet, committed or not, are named as well.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import click

from clearway.errors import Refusal
from clearway.surfaces.asking import say, say_json
from clearway.surfaces.options import this_run
from clearway.untrusted import exact, folded

WORKTREES_MAX = 40
GIT_SECONDS_MAX = 60


class Tree:
    """One worktree: where it is, the commit and the branch it is on, and what differs from that on the disk."""

    def __init__(self, root: str, commit: str, branch: str) -> None:
        self.root = root
        self.commit = commit
        self.branch = branch
        self.dirty: set[str] = set()

    def shown(self) -> dict[str, str]:
        return {"branch": self.branch, "path": self.root}


@click.command()
def forecast() -> int:
    """Say which worktrees will not merge, and in which files; exit status 1 when there are any."""
    run = this_run()
    place = run.place
    if place is None:
        raise Refusal("PROJECT_NOT_FOUND", f"{folded(run.folder, 200)} is in no repository; go into one.")
    pairs = Forecast(place.root, run.settings.environ).pairs()
    if run.as_json:
        say_json({"pairs": pairs})
    else:
        say(_told(pairs))
    return int(any(pair["conflicts"] for pair in pairs))


class Forecast:
    """A look at all worktrees of one repository."""

    def __init__(self, root: str, environ: Mapping[str, str]) -> None:
        self._root = root
        self._environ = environ

    def pairs(self) -> list[dict[str, Any]]:
        """Every two worktrees that meet: `ours` and `theirs`, the files in which they conflict, and those that both
        change."""
        trees = self._trees()
        if len(trees) > WORKTREES_MAX:
            raise Refusal("LIMIT_EXCEEDED", f"There are {len(trees)} worktrees, and {WORKTREES_MAX} can be compared.")
        for tree in trees:
            tree.dirty = _names(self._git("-C", tree.root, "diff", "--name-only", "-z", "HEAD"))
        found: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory(prefix="clearway-forecast-") as aside:
            for one, other in combinations(trees, 2):
                conflicts = self._conflicts(one, other, aside)
                both = (self._changed(one, other) | one.dirty) & (self._changed(other, one) | other.dirty)
                meet = {"conflicts": sorted(conflicts), "overlaps": sorted(both - conflicts)}
                if meet["conflicts"] or meet["overlaps"]:
                    found.append({"ours": one.shown(), "theirs": other.shown(), **meet})
        return found

    def _trees(self) -> list[Tree]:
        trees: list[Tree] = []
        for block in self._git("worktree", "list", "--porcelain", "-z").split("\0\0"):
            facts: dict[str, str] = {}
            for line in filter(None, block.split("\0")):
                name, _, value = line.partition(" ")
                facts[name] = value
            if "worktree" in facts and "HEAD" in facts and "bare" not in facts and os.path.isdir(facts["worktree"]):
                branch = facts.get("branch", "").removeprefix("refs/heads/") or facts["HEAD"][:10]
                trees.append(Tree(facts["worktree"], facts["HEAD"], branch))
        return [tree for tree in trees if tree.commit.strip("0")]  # a branch without a commit has nothing to merge

    def _changed(self, one: Tree, other: Tree) -> set[str]:
        """What one has committed since the two were one. Where they never were, nothing can be said."""
        return _names(self._git("diff", "--name-only", "-z", f"{other.commit}...{one.commit}", may_fail=True))

    def _conflicts(self, one: Tree, other: Tree, aside: str) -> set[str]:
        objects = os.path.join(self._root, self._git("rev-parse", "--git-path", "objects").strip())
        known = os.pathsep.join(filter(None, [objects, self._environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")]))
        environ = {"GIT_OBJECT_DIRECTORY": aside, "GIT_ALTERNATE_OBJECT_DIRECTORIES": known}
        words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", one.commit, other.commit)
        return _names(self._git(*words, environ=environ, conflict=True).partition("\0")[2])

    def _git(
        self, *words: str, environ: Mapping[str, str] | None = None, conflict: bool = False, may_fail: bool = False
    ) -> str:
        """What git says. conflict: exit status 1 is an answer, too."""
        try:
            done = subprocess.run(
                ["git", "-C", self._root, *words],
                env={**self._environ, "GIT_OPTIONAL_LOCKS": "0", **(environ or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=GIT_SECONDS_MAX,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise Refusal("STORAGE_FAILURE", f"git could not be asked: {folded(why, 200)}; is it on PATH?") from error
        if done.returncode and not may_fail and not (conflict and done.returncode == 1):
            said = folded(done.stderr.decode("utf-8", "replace"), 200)
            raise Refusal("STORAGE_FAILURE", f"git failed ({said}); forecast needs git 2.38 or newer.")
        return done.stdout.decode("utf-8", "surrogateescape")


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
