"""Save all uncommitted work of a work tree under a ref, before something runs over it.

Neither the index nor a file of the tree is touched: what is there goes into a copy of the index, from that into a
commit, and the commit gets a ref that nobody's branch has. Its tree is the work tree with all files that are not
ignored; its parents are HEAD, the index as it was, and the entries of the stash, so none of them can be lost.
"""

from __future__ import annotations

import os

from clearway import children
from clearway.clock import Clock
from clearway.guard.gitguard import QUIETLY
from clearway.limits import RESCUE_WAIT_MS, RESCUES_KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.repository import Repository

REFS = "refs/clearway/rescue/"
_INDEX_BYTES_MAX = 256 * 1_048_576
_STASHES_MAX = 16
_PRINTED_BYTES_MAX = 65_536
# A repository's hooks hear nothing of it, and nothing is signed, asked for or packed.
_ALONE = ("-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "core.safecrlf=false", "-c", "advice.all=false")
_WHO = {
    "GIT_AUTHOR_NAME": "clearway",
    "GIT_AUTHOR_EMAIL": "clearway@localhost",
    "GIT_COMMITTER_NAME": "clearway",
    "GIT_COMMITTER_EMAIL": "clearway@localhost",
}


class NotSaved(Exception):
    """Why the work could not be saved, in a few words."""


class Saved:
    """The ref under which work was saved, empty if there was nothing to save. `whole`: no file was left out because it
    could not be read."""

    __slots__ = ("ref", "whole")

    def __init__(self, ref: str, whole: bool) -> None:
        self.ref = ref
        self.whole = whole


def save(place: Repository, name: str, why: str, environ: Mapping[str, str]) -> Saved:
    """Save what is uncommitted in this work tree as refs/clearway/rescue/NAME. Raises NotSaved."""
    own = os.path.join(place.git, f"clearway-rescue-{name}")
    try:
        return _Rescue(place, own, environ).save(REFS + name, why)
    except OSError as error:
        raise NotSaved(error.strerror or "an error of the disk") from error
    finally:
        for left in (own, f"{own}.lock"):
            if os.path.lexists(left):
                os.unlink(left)


class _Rescue:
    """One rescue: git, asked some times over a copy of the index within one deadline."""

    __slots__ = ("_clock", "_complained", "_deadline", "_environ", "_index", "_place")

    def __init__(self, place: Repository, index: str, environ: Mapping[str, str]) -> None:
        self._place = place
        self._index = index
        self._environ = {name: environ[name] for name in ("PATH", "HOME") if name in environ}
        self._environ |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_INDEX_FILE": index} | _WHO
        self._complained = False  # the last question
        self._clock = Clock()
        self._deadline = self._clock.monotonic() + RESCUE_WAIT_MS

    def save(self, ref: str, why: str) -> Saved:
        _copy(os.path.join(self._place.git, "index"), self._index)
        head = self._asked("rev-parse", "--quiet", "--verify", "HEAD")
        base = self._asked("rev-parse", "--quiet", "--verify", "HEAD^{tree}") if head else ""
        index = self._asked("write-tree")  # nothing while there are conflicts
        self._asked("add", "--all", "--ignore-errors", "--", ":/")
        whole = not self._complained
        tree = self._asked("write-tree", must=True)
        stashes = self._asked("rev-list", "-g", f"--max-count={_STASHES_MAX}", "refs/stash", "--").split()
        if tree == base and index in ("", base) and not stashes:
            return Saved("", whole)
        parents = [head] if head else []
        if index and index not in (base, tree):
            parents.append(self._commit(index, parents, "The index, as it was."))
        commit = self._commit(tree, [*parents, *stashes], f"Saved by clearway before {why}.")
        self._asked("update-ref", ref, commit, "", must=True)
        self._forget_the_oldest()
        return Saved(ref, whole)

    def _commit(self, tree: str, parents: list[str], message: str) -> str:
        above = [word for parent in dict.fromkeys(parents) for word in ("-p", parent)]
        return self._asked("commit-tree", tree, *above, "-m", message, must=True)

    def _forget_the_oldest(self) -> None:
        known = self._asked("for-each-ref", "--format=%(refname)", "--sort=-refname", REFS).split()
        for ref in known[RESCUES_KEPT : RESCUES_KEPT + 8]:
            self._asked("update-ref", "-d", ref)

    def _asked(self, *words: str, must: bool = False) -> str:
        """What git prints, empty if it could not do it."""
        left = self._deadline - self._clock.monotonic()
        arguments = ["-C", self._place.root, *QUIETLY, *_ALONE, *words]
        if left <= 0:
            raise NotSaved("git did not answer in time")
        said = children.run("git", arguments, self._environ, wait_ms=left, bytes_max=_PRINTED_BYTES_MAX)
        if said.late:
            raise NotSaved("git did not answer in time")
        self._complained = any(line.startswith((b"fatal", b"error")) for line in said.complaint.splitlines())
        if must and self._complained:
            raise NotSaved(f"git {words[0]} failed")
        return "" if self._complained else said.text.decode("utf-8", "replace").strip()


def _copy(source: str, goal: str) -> None:
    """A copy of the index, if there is one: what git knows of the files on the disk makes it quick."""
    try:
        descriptor = os.open(source, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        if os.fstat(descriptor).st_size > _INDEX_BYTES_MAX:
            raise NotSaved("the index is too large")
        made = os.open(goal, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            while part := os.read(descriptor, 1_048_576):
                os.write(made, part)
        finally:
            os.close(made)
    finally:
        os.close(descriptor)
