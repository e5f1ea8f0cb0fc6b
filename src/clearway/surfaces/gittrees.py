"""The worktrees of a repository as git lists them, and git itself, asked by a word of the command line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from clearway.errors import Refusal
from clearway.untrusted import folded

GIT_SECONDS_MAX = 60


class Tree:
    """One worktree: where it is, its commit, its branch (empty where it has none), whether it is the first one, and
    why git itself would not remove it."""

    def __init__(self, root: str, commit: str, branch: str, *, is_main: bool, locked: str | None) -> None:
        self.root = root
        self.commit = commit
        self.branch = branch
        self.is_main = is_main
        self.locked = locked

    @property
    def name(self) -> str:
        return self.branch or self.commit[:10]

    def shown(self) -> dict[str, str]:
        return {"branch": self.name, "path": self.root}


class Git:
    """The git of one repository."""

    def __init__(self, root: str, environ: Mapping[str, str]) -> None:
        self.root = root
        self.environ = environ

    def ask(
        self, *words: str, environ: Mapping[str, str] | None = None, conflict: bool = False, may_fail: bool = False
    ) -> str:
        """What git says. conflict: exit status 1 is an answer, too. Raises Refusal with what it complains of."""
        try:
            done = subprocess.run(
                ["git", "-C", self.root, *words],
                env={**self.environ, "GIT_OPTIONAL_LOCKS": "0", **(environ or {})},
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
            raise Refusal("STORAGE_FAILURE", f"git failed ({said}); this needs git 2.38 or newer.")
        return done.stdout.decode("utf-8", "surrogateescape")

    def trees(self) -> list[Tree]:
        """Those that are on this disk and have a commit; the main one first."""
        trees: list[Tree] = []
        for place, block in enumerate(self.ask("worktree", "list", "--porcelain", "-z").split("\0\0")):
            facts: dict[str, str] = {}
            for line in filter(None, block.split("\0")):
                name, _, value = line.partition(" ")
                facts[name] = value
            if "worktree" in facts and "HEAD" in facts and "bare" not in facts and os.path.isdir(facts["worktree"]):
                branch = facts.get("branch", "").removeprefix("refs/heads/")
                one = Tree(facts["worktree"], facts["HEAD"], branch, is_main=place == 0, locked=facts.get("locked"))
                trees.append(one)
        return [tree for tree in trees if tree.commit.strip("0")]  # a branch without a commit has nothing to lose
