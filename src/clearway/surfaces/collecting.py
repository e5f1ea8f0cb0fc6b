"""The word `gc`: worktrees that nobody needs any more are removed, and of every other one it is said why it stays.

Nothing is judged by its age or its name. A worktree goes only if nobody is in it, holds something in it or works on an
issue from there, if it has no change and nothing half done, and if its commits are on another branch, too. Its branch
stays, its commit gets a rescue ref, and git looks once more whether anything would be lost. A commit that no branch has
gets a rescue ref as well: git's own collection would part with it one day.
"""

from __future__ import annotations

import os
from typing import Any

import click

from clearway import paths, repository
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.guard import gitguard, rescue
from clearway.repository import Repository
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.gittrees import Git, Tree
from clearway.surfaces.options import this_run
from clearway.surfaces.render import count
from clearway.untrusted import exact, folded

_COMMITS_COUNTED = 1_000
_SHOWN_CHARS = 120
# What git leaves in a worktree's own directory while something has begun and is not done.
_HALF_DONE = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply")


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be removed, and what stays.")
def gc(dry_run: bool) -> int:
    """Remove worktrees that nobody needs any more, and say why each other one stays."""
    run = this_run()
    place = run.place
    if place is None or not place.git:
        raise Refusal("PROJECT_NOT_FOUND", f"{folded(run.folder, 200)} is in no git repository; go into one.")
    found = Collection(run, place).judged(removes=not dry_run)
    if run.as_json:
        say_json(found | {"dry_run": dry_run})
    else:
        say(_told(found, dry_run=dry_run))
    return 0


class Collection:
    """A look at all worktrees of one repository but the main one."""

    def __init__(self, run: Run, place: Repository) -> None:
        self._run = run
        self._git = Git(place.root, run.settings.environ)
        self._room = None if run.rooms.known(place) is None else run.rooms.of_repository(place)
        self._asks = Caller("clearway", host=run.rooms.liveness.host)

    def judged(self, *, removes: bool) -> dict[str, list[dict[str, str]]]:
        """What was removed, or would be, and what stays for which reason."""
        found: dict[str, list[dict[str, str]]] = {"removed": [], "kept": []}
        for tree in self._git.trees():
            if tree.is_main:
                continue
            try:
                why = self._why_kept(tree)
                facts = self._rescued(tree, stays=bool(why)) if removes else {}
                if not why and removes:
                    self._remove(tree, facts["ref"])
            except Refusal as refusal:
                why, facts = refusal.message, {}
            about = {"why": why} if why else {}
            found["kept" if why else "removed"].append(tree.shown() | about | facts)
        return found

    def _why_kept(self, tree: Tree) -> str:
        """In a few words; empty where nothing speaks for it."""
        here = os.path.realpath(self._run.folder)
        place = repository.holding(tree.root)
        if place is None:
            return "git knows it, and nothing of it is found there"
        if paths.covers(os.path.realpath(tree.root), here):
            return "you are in it"
        if tree.locked is not None:
            return f"it is locked: {folded(tree.locked, _SHOWN_CHARS)}" if tree.locked else "it is locked"
        return self._who_needs(place) or self._unsaved(place, tree)

    def _who_needs(self, place: Repository) -> str:
        if self._room is None:
            return ""
        checkout = repository.checkout_id(place, self._run.rooms.clock)
        found = self._room.run(lambda tx: gitguard.others(tx, checkout, place.root), caller=self._asks, writes=False)
        for row in (*found.workers, *found.here):
            return f"{row.agent} works on ISSUE-{row.number} in it" if row.number else f"{row.agent} is in it"
        return next((f"{row.agent} holds {folded(row.shown, _SHOWN_CHARS)} in it" for row in found.held), "")

    def _unsaved(self, place: Repository, tree: Tree) -> str:
        begun = [name for name in _HALF_DONE if os.path.exists(os.path.join(place.git, name))]
        if begun:
            return f"something has begun in it and is not done ({begun[0]})"
        said = self._git.ask("-C", tree.root, "status", "--porcelain", "-z", "--untracked-files=normal")
        changes = [line for line in said.split("\0") if line]
        if changes:
            return f"it has {count(len(changes), 'change')} that no commit has"
        lone = self._lone(tree)
        return f"{count(lone, 'commit')} of it {'is' if lone == 1 else 'are'} on no other branch" if lone else ""

    def _lone(self, tree: Tree) -> int:
        """How many of its commits no other branch has, here or as it was fetched, and no tag."""
        own = [f"--exclude={tree.branch}"] if tree.branch else []
        words = ("--count", f"--max-count={_COMMITS_COUNTED}", tree.commit, "--not")
        return int(self._git.ask("rev-list", *words, *own, "--branches", "--remotes", "--tags"))

    def _rescued(self, tree: Tree, *, stays: bool) -> dict[str, str]:
        """The ref under which its commit is kept: what goes has one, and what no branch has, each once."""
        if stays and (tree.branch or not self._lone(tree)):
            return {}
        known = self._git.ask("for-each-ref", "--format=%(refname)", f"--points-at={tree.commit}", rescue.REFS).split()
        if known:
            return {"ref": known[0]}
        ref = rescue.REFS + self._run.rooms.clock.new_id()
        self._git.ask("update-ref", ref, tree.commit, "")
        return {"ref": ref}

    def _remove(self, tree: Tree, ref: str) -> None:
        place = repository.holding(tree.root)
        checkout = "" if place is None else repository.checkout_id(place, self._run.rooms.clock)
        self._git.ask("worktree", "remove", "--", tree.root)
        if self._room is not None:
            self._room.run(lambda tx: gitguard.tell_rescue(tx, checkout, ref, "gc", []), caller=self._run.caller)


def _told(found: dict[str, list[dict[str, str]]], *, dry_run: bool) -> str:
    lines = [_line("Would remove" if dry_run else "Removed", each) for each in found["removed"]]
    lines += [_line("Kept", each) for each in found["kept"]]
    return "\n".join(lines) or "There is no worktree besides the main one."


def _line(verb: str, each: dict[str, Any]) -> str:
    why = f": {each['why']}" if "why" in each else ""
    ref = f"; its commit is kept as {each['ref']}" if "ref" in each else ""
    return f"{verb} {exact(each['path'])} ({folded(each['branch'], 80)}){why}{ref}"
