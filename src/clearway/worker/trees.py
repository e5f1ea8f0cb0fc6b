"""The worktree and branch that a worker writes in: made for one piece of work, saved as commits, and cleared away.

It lies in the home, beside the rooms, so nobody's work tree is touched. What a client leaves uncommitted is committed
on its branch, whatever came of the run: nothing that was written is lost, and nothing is merged. A lock says that
somebody works in it; what a killed worker left is saved and cleared by the next one that comes.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from clearway import platforms
from clearway.errors import Refusal
from clearway.limits import WORKER_DIFF_LINES
from clearway.untrusted import folded

_GIT_SECONDS = 120
_LOCK = ".lock"
_BRANCHES = "clearway/"
_COMMITS_NAMED = 10
_SET = ("-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false")
_TITLE_CHARS = 200


@dataclass(frozen=True)
class Commit:
    id: str
    title: str


@dataclass(frozen=True)
class Saved:
    """What a branch holds that its base does not: the newest commits first, and what they change in lines of git."""

    branch: str
    commits: list[Commit]
    stat: list[str]


class Tree:
    """One worktree, held by this process."""

    def __init__(self, git: Git, folder: str, branch: str, base: str, lock: int) -> None:
        self.folder = folder
        self.branch = branch
        self._git = git
        self._base = base
        self._lock = lock

    def save(self, message: str, author: str) -> Saved:
        """Commit what is uncommitted; all that the branch has now."""
        self._git.commit_all(self.folder, message, author)
        log = self._git.say(
            self.folder, "log", "--format=%H %s", f"--max-count={_COMMITS_NAMED}", f"{self._base}..HEAD"
        )
        commits = [Commit(line[:40], folded(line[41:], _TITLE_CHARS)) for line in log.splitlines()]
        stat = self._git.say(self.folder, "diff", "--stat=100", f"{self._base}..HEAD") if commits else ""
        lines = stat.splitlines()
        cut = [*lines[:WORKER_DIFF_LINES], "...", *lines[-1:]] if len(lines) > WORKER_DIFF_LINES + 1 else lines
        return Saved(self._git.branch_of(self.folder) or self.branch, commits, [line.strip() for line in cut])

    def clear(self) -> None:
        """Take the worktree away; the branch stays if it holds anything."""
        try:
            self._git.clear(self.folder, self.branch, self._base)
        finally:
            os.close(self._lock)
            _forget(self.folder + _LOCK)


class Git:
    """The git of one repository, asked by a program of ours: no hook of the repository runs for it. A client may write
    all that lies in its worktree; so where git looks for its settings is never asked of anything in there."""

    def __init__(self, root: str, environ: Mapping[str, str]) -> None:
        self.root = root
        kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        self._environ = kept | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        self._stores: dict[str, str] = {}  # of each worktree, where git keeps what it knows of it

    def say(self, folder: str, *words: str) -> str:
        """What git prints. Raises Refusal with its last line."""
        where = [] if folder == self.root else [f"--git-dir={self._store(folder)}", f"--work-tree={folder}"]
        command = ["git", *_SET, "-C", folder, *where, *words]
        try:
            done = subprocess.run(
                command,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_GIT_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise Refusal("STORAGE_FAILURE", f"git {words[0]} did not run ({type(error).__name__}).") from error
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            why = folded(lines[-1] if lines else f"exit {done.returncode}", 200)
            raise Refusal("STORAGE_FAILURE", f"git {words[0]} failed in {folded(folder, 200)}: {why}.")
        return done.stdout.decode("utf-8", "replace")

    def check_base(self) -> None:
        """Refuse a repository in which no branch can begin."""
        try:
            self.base()
        except Refusal:
            raise Refusal("INVALID_ARGUMENT", f"{self.root} has no commit yet; --write begins from one.") from None

    def base(self) -> str:
        """The commit that is checked out."""
        return self.say(self.root, "rev-parse", "--verify", "HEAD^{commit}").strip()

    def unlock(self, folder: str) -> None:
        """Take away the lock of an index whose git was killed with its worker."""
        _forget(os.path.join(self._store(folder), "index.lock"))

    def _store(self, folder: str) -> str:
        """Where git keeps what it knows of a worktree, as the repository itself says."""
        if folder not in self._stores:
            common = self.say(self.root, "rev-parse", "--git-common-dir").removesuffix("\n")
            above = os.path.join(self.root, common, "worktrees")
            for name in os.listdir(above) if os.path.isdir(above) else []:
                store = os.path.join(above, name)
                if _worktree_of(store) == os.path.realpath(folder):
                    self._stores[folder] = store
        if folder not in self._stores:
            raise Refusal("STORAGE_FAILURE", f"{folded(folder, 200)} is no worktree of {folded(self.root, 200)}.")
        return self._stores[folder]

    def commit_all(self, folder: str, message: str, author: str) -> None:
        self.say(folder, "add", "--all")
        if not self.say(folder, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty"):
            return
        who = ("-c", f"user.name={author}", "-c", f"user.email={author}@clearway.invalid", "-c", "commit.gpgSign=false")
        self.say(folder, *who, "commit", "--quiet", "--no-verify", "--message", message)

    def branch_of(self, folder: str) -> str:
        return self.say(folder, "branch", "--show-current").strip()

    def clear(self, folder: str, branch: str, base: str) -> None:
        self.say(self.root, "worktree", "remove", "--force", "--force", folder)
        self._stores.pop(folder, None)
        if base and not self.say(self.root, "log", "--format=%H", "--max-count=1", f"{base}..{branch}").strip():
            self.say(self.root, "branch", "--quiet", "-D", branch)


def make(git: Git, home: str, project: str, name: str) -> Tree:
    """A new worktree on a new branch, from the commit that is checked out in the repository now."""
    above = _folder(home, project)
    folder = os.path.join(above, name)
    lock = platforms.hold_alone(folder + _LOCK)
    if lock is None:
        raise Refusal("STORAGE_BUSY", f"Another process works in {folded(folder, 200)}.")
    try:
        base = git.base()
        git.say(git.root, "worktree", "add", "--quiet", "-b", _BRANCHES + name, folder, base)
    except BaseException:
        os.close(lock)
        _forget(folder + _LOCK)
        raise
    return Tree(git, folder, _BRANCHES + name, base, lock)


def sweep(git: Git, home: str, project: str, author: str) -> list[str]:
    """Save and clear the worktrees of this repository that nobody works in any more; their branches."""
    above = _folder(home, project)
    saved: list[str] = []
    for file in sorted(os.listdir(above)):
        folder = os.path.join(above, file.removesuffix(_LOCK))
        if not file.endswith(_LOCK):
            continue
        lock = platforms.hold_alone(os.path.join(above, file))
        if lock is None:
            continue
        try:
            if os.path.isdir(folder):
                git.unlock(folder)
                git.commit_all(folder, "Save what a worker left that was lost", author)
                saved.append(git.branch_of(folder))
                git.clear(folder, "", "")
            _forget(folder + _LOCK)
        except Refusal:
            pass  # of another clone, or broken: it is looked at again next time
        finally:
            os.close(lock)
    return saved


def _worktree_of(store: str) -> str:
    """The folder of the worktree of which git keeps this; empty where it does not say."""
    try:
        with open(os.path.join(store, "gitdir"), "rb") as file:
            link = os.fsdecode(file.read(8_192)).removesuffix("\n")
    except OSError:
        return ""
    return os.path.realpath(os.path.dirname(os.path.join(store, link)))


def _folder(home: str, project: str) -> str:
    folder = os.path.join(home, "worktrees", project)
    platforms.make_private(folder)
    return folder


def _forget(file: str) -> None:
    try:
        os.unlink(file)
    except OSError:
        pass
