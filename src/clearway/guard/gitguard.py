"""Git over a work tree that several sessions share: who else has something there, and what a command would do to it.

What another live session holds, what it was the last to hold and has not committed, and the issue it works on in this
very tree are reasons to refuse. Its commits and stages are looked at file by file. The rule is here; git is asked
outside of every transaction, without locks, and only if somebody else is here.
"""

from __future__ import annotations

import os

from clearway import lapse, paths, platforms, policy, repository, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.guard import gitdeeds
from clearway.limits import GIT_STATUS_WAIT_MS, GIT_TURN_MS, REFUSAL_BYTES_MAX, UNSEEN_SESSION_MS
from clearway.untrusted import ending, folded
from clearway.worktrees import of_repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.db.tx import Tx
    from clearway.guard.gitdeeds import Deed
    from clearway.guard.gitglance import GitRun
    from clearway.repository import Repository

SQL = statements(__file__)
SESSIONS_MAX = 256
LEASES_MAX = 512
LAST_MAX = 512
FOLDERS_MAX = 8
NAMED_IN_STATUS_MAX = 128  # more paths, and git is asked about the whole tree
STATUS_BYTES_MAX = 4 * 1_048_576
_SHOWN = 3
_TOLD = 10
_TEXT_CHARS_MAX = 262_144
_VALUED = frozenset({"--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"})
# Neither locks, nor programs that a repository's settings name, nor colours.
QUIETLY = ("-c", "core.fsmonitor=false", "--no-pager")


# What a line says of git.


class Command:
    """One git command with its own options read: where it works, its subcommand, and the words behind it. `apart`: it
    uses an index of its own."""

    __slots__ = ("aliases", "apart", "folders", "git_dir", "name", "words", "work_tree")

    def __init__(self, run: GitRun, environ: Mapping[str, str]) -> None:
        words: list[str | None] = [word.text for word in run.words]
        self.folders = [folder for folder in run.folder.texts if os.path.isabs(folder)][:FOLDERS_MAX]
        self.aliases: dict[str, str] = {}
        said = {name: value.text or "" for name, value in run.names.items()}
        self.git_dir = said.get("GIT_DIR", environ.get("GIT_DIR", ""))
        self.work_tree = said.get("GIT_WORK_TREE", environ.get("GIT_WORK_TREE", ""))
        self.apart = bool(said.get("GIT_INDEX_FILE"))
        if run.program == "gh":
            checks_out = words[:2] == ["pr", "checkout"] or words[:1] == ["co"]
            words = ["gh pr checkout"] if checks_out else []
        elif run.program != "git":
            words = [run.program[4:], *words]
        else:
            words = self._own_options(words)
        self.name = (words[0] or "") if words else ""
        self.words = words[1:]

    def _own_options(self, words: list[str | None]) -> list[str | None]:
        at = 0
        while at < len(words):
            word = words[at]
            if word is None or word[:1] != "-":
                break
            name, sign, value = word.partition("=")
            takes = word in {"-C", "-c"} or (name in _VALUED and not sign)
            given = words[at + 1] if takes and at + 1 < len(words) else value
            at += 2 if takes else 1
            if word == "-C":
                self.folders = [] if given is None else [os.path.join(folder, given) for folder in self.folders]
            elif word == "-c" and given and given.startswith("alias."):
                self._alias(*given[6:].partition("=")[::2])
            elif name == "--git-dir":
                self.git_dir = given or ""
            elif name == "--work-tree":
                self.work_tree = given or ""
        return words[at:]

    def _alias(self, name: str, meaning: str) -> None:
        self.aliases[name] = meaning

    def defines(self) -> tuple[str, str] | None:
        """The alias that `git config alias.NAME MEANING` makes."""
        if self.name != "config":
            return None
        words = [word for word in self.words if word is not None and word[:2] != "--"]
        words = words[1:] if words[:1] == ["set"] else words
        named = words[0].removeprefix("alias.") if words and words[0].startswith("alias.") else ""
        return (named, words[1]) if named and len(words) > 1 else None

    def trees(self) -> list[tuple[Repository, str]]:
        """The work trees in which it works, each with the folder in which it is started."""
        found: dict[str, tuple[Repository, str]] = {}
        for folder in self.folders:
            places = [os.path.join(folder, self.work_tree)]
            if self.git_dir:
                places.append(_tree_of(os.path.realpath(os.path.join(folder, self.git_dir))))
            for place in places:
                here = repository.holding(os.path.realpath(place)) if "\0" not in place else None
                if here is not None and here.git:
                    found.setdefault(here.root, (here, os.path.realpath(folder)))
        return list(found.values())


def _tree_of(git_dir: str) -> str:
    """The work tree of a git directory."""
    try:
        with open(os.path.join(git_dir, "gitdir"), encoding="utf-8", errors="surrogateescape") as opened:
            return os.path.dirname(opened.readline(4_096).strip())
    except (OSError, ValueError):
        return os.path.dirname(git_dir)


def worktrees(place: Repository) -> list[Repository]:
    """All work trees of a repository that are on this disk."""
    roots = of_repository(place.common)[:SESSIONS_MAX]
    return [found for root in roots if (found := repository.holding(root)) is not None]


def submodules(root: str) -> list[Repository]:
    """The submodules of a tree that are checked out."""
    found: list[Repository] = []
    for line in _lines(os.path.join(root, ".gitmodules")):
        name, sign, path = line.partition("=")
        place = repository.holding(os.path.join(root, path.strip().strip('"'))) if name.strip() == "path" else None
        if sign and place is not None and paths.covers(root, place.root) and place.root != root:
            found.append(place)
    return found[:FOLDERS_MAX]


def entries(place: Repository, entry: str) -> list[str]:
    """The branches on which these entries of the stash were made, the newest first: its log says so."""
    log = [line for line in _lines(os.path.join(place.common, "logs", "refs", "stash")) if "\t" in line][::-1]
    if entry != gitdeeds.ALL_ENTRIES:
        log = log[int(entry) : int(entry) + 1] if entry.isdigit() else []
    subjects = [line.partition("\t")[2].removeprefix("WIP ").removeprefix("On ").removeprefix("on ") for line in log]
    return list(dict.fromkeys(subject.partition(":")[0] for subject in subjects))


def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            return opened.read(_TEXT_CHARS_MAX).split("\n")
    except (OSError, ValueError):
        return []


# Who else is in a work tree.


class Others:
    """What other live sessions have in one work tree: `held` leases; `last`, what each was the last to hold; and
    `here`, the sessions that work in it. `turn`: who has its index, see `turn_of`. `off`: the guard is switched off.
    `way`: what the room has decided for commands over a shared tree."""

    __slots__ = ("agents", "held", "here", "last", "off", "turn", "way")

    def __init__(self) -> None:
        self.agents: dict[str, str] = {}
        self.held: list[Row] = []
        self.here: list[Row] = []
        self.last: list[Row] = []
        self.off = False
        self.turn: tuple[str, bool] = ("", False)
        self.way = ""

    def __bool__(self) -> bool:
        return bool(self.here or self.held or self.last)

    @property
    def workers(self) -> list[Row]:
        """Those who work on an issue in it."""
        return [row for row in self.here if row.number is not None]

    @property
    def present(self) -> bool:
        return bool(self.here)


def others(tx: Tx, checkout: str, root: str) -> Others:
    """A read: who else has something in this work tree."""
    found = Others()
    found.off = policy.is_paused(tx)
    found.way = policy.value(tx, "tree_git")
    gone = lapse.gone(tx)
    found.held = tx.all(SQL.held, checkout=checkout, gone=gone[0], limit=LEASES_MAX, **_me(tx))
    alive = _alive(tx, gone[1])
    found.agents = {row.id: row.agent for row in alive}
    found.turn = turn_of(tx, checkout)
    found.here = [row for row in alive if row.host == tx.caller.host and _is_in(row.cwd, root)]
    if alive:
        sessions = wire.dumps([row.id for row in alive])
        found.last = tx.all(SQL.last, checkout=checkout, sessions=sessions, limit=LAST_MAX)
    return found


def _alive(tx: Tx, gone: str) -> list[Row]:
    """The sessions of others that may come back to what they wrote: their process lives, or, where none is known, they
    have given a sign of life within the term."""
    dead = {row.session for row in lapse.dead_sessions(tx)} if tx.opening.processes else set[str]()
    found: list[Row] = []
    for row in tx.all(SQL.others, gone=gone, limit=SESSIONS_MAX, **_me(tx)):
        seen = max(row.beat_at, (tx.beats.last(row.id) or 0) if tx.beats is not None else 0)
        if row.id not in dead and (row.pid is not None or tx.now - seen < UNSEEN_SESSION_MS):
            found.append(row)
    return found


def _is_in(cwd: str | None, root: str) -> bool:
    if not cwd or not os.path.isabs(cwd):
        return False
    here = repository.holding(os.path.realpath(cwd))
    return here is not None and here.root == root


def _me(tx: Tx) -> dict[str, Any]:
    return {"session": tx.caller.key, "agent": tx.caller.agent, "named": int(tx.caller.named)}


def last_holder(tx: Tx, checkout: str, key: str) -> str:
    """Whose the uncommitted content of a path is: the session that held it as the last."""
    row = tx.one(SQL.last_of, checkout=checkout, above=wire.dumps(paths.above(key)))
    return "" if row is None else row.session


# What is dirty.


class Dirty:
    """One path that differs from the last commit."""

    __slots__ = ("changed", "path", "staged", "untracked")

    def __init__(self, path: str, staged: bool, changed: bool, untracked: bool) -> None:
        self.path = path
        self.staged = staged
        self.changed = changed
        self.untracked = untracked


def dirty(root: str, wanted: list[str], environ: Mapping[str, str]) -> list[Dirty] | None:
    """What differs at or below these paths, as git says; None if it did not say it in time."""
    limited = [f":(top,literal){path}" for path in wanted if path != paths.ROOT]
    limited = limited if len(limited) == len(wanted) <= NAMED_IN_STATUS_MAX else []
    status = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames"]
    printed = ask(root, [*status, "--", *limited], environ)
    return None if printed is None else _listed(printed)


def ask(root: str, words: list[str], environ: Mapping[str, str]) -> bytes | None:
    """What git prints, asked without locks; None if it failed or was late."""
    from clearway import children

    asked = {name: environ[name] for name in ("PATH", "HOME") if name in environ}
    asked |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        said = children.run(
            "git", ["-C", root, *QUIETLY, *words], asked, wait_ms=GIT_STATUS_WAIT_MS, bytes_max=STATUS_BYTES_MAX
        )
    except OSError:
        return None
    return None if said.late or said.complaint.startswith(b"fatal") else said.text


def _listed(printed: bytes) -> list[Dirty]:
    found: list[Dirty] = []
    for entry in printed.decode("utf-8", "surrogateescape").split("\0"):
        kind = entry[:1]
        if kind == "?":
            found.append(Dirty(entry[2:], False, False, True))
        elif kind in {"1", "u"}:
            path = entry.split(" ", 8 if kind == "1" else 10)[-1]
            unmerged = kind == "u"
            found.append(Dirty(path, unmerged or entry[2] != ".", unmerged or entry[3] != ".", False))
    return found


def key(path: str, root: str) -> str:
    """The room's key of a path from the root."""
    return paths.key(path, folds=platforms.ignores_case(root), composes=platforms.MACOS)


# What a command would meet.


class Reach:
    """Which keys a command's paths take in: all of them without any, and with one that cannot be read here."""

    __slots__ = ("_all", "_globs", "_keys", "_without")

    def __init__(self, given: list[str] | None, vague: bool, folder: str, root: str) -> None:
        self._all = given is None or vague
        self._keys: list[str] = []
        self._globs: list[str] = []
        without = [bare for spec in given or () if (bare := _excluded(spec))]
        self._without = Reach(without, False, folder, root) if without else None
        taken = [spec for spec in given or () if not _excluded(spec)]
        self._all = self._all or not taken
        for spec in taken:
            self._add(spec, folder, root)

    def _add(self, spec: str, folder: str, root: str) -> None:
        if spec[:2] == ":/" or spec.startswith(":(top)"):
            spec, folder = spec[2:] if spec[1] == "/" else spec[6:], root
        elif spec[:1] == ":":
            self._all = True
            return
        whole = os.path.normpath(os.path.join(folder, spec))
        if "\0" in whole or not paths.covers(root.rstrip("/"), whole):
            return
        found = key(os.path.relpath(whole, root), root)
        (self._globs if any(sign in spec for sign in "*?[") else self._keys).append(found)

    def __contains__(self, path: str) -> bool:
        if self._without is not None and path in self._without:
            return False
        return self._all or any(paths.covers(each, path) for each in self._keys) or self._matches(path)

    def meets(self, lease: str) -> bool:
        """Whether something at, above or below a leased path is taken in."""
        without = self._without is not None and lease in self._without
        return not without and (lease in self or any(paths.overlap(each, lease) for each in self._keys))

    def _matches(self, path: str) -> bool:
        if not self._globs:
            return False
        from fnmatch import fnmatchcase

        return any(fnmatchcase(path, each) or fnmatchcase(path, each + "/*") for each in self._globs)


def _excluded(spec: str) -> str:
    """What a pathspec leaves out: `:!path`, `:^path`, `:(exclude)path`; empty for others."""
    if spec[:2] in {":!", ":^"}:
        return spec[2:]
    return spec[10:] if spec.startswith(":(exclude)") else ""


class Hit:
    """One thing of another session that a command would meet."""

    __slots__ = ("agent", "number", "path", "session")

    def __init__(self, agent: str, session: str, path: str = "", number: int | None = None) -> None:
        self.agent = agent
        self.session = session
        self.path = path
        self.number = number


def hits_by_lease(found: Others, deed: Deed, reach: Reach) -> list[Hit]:
    """What a rewrite of the tree meets that is held, and whose work on HEAD it would move."""
    hits: list[Hit] = []
    if deed.files or deed.head:
        hits += [Hit(row.agent, row.session, row.shown) for row in found.held if reach.meets(row.path)]
    if deed.head:
        hits += [Hit(row.agent, row.id, number=row.number) for row in found.workers]
    return hits


def hits_in(tx: Tx, checkout: str, root: str, found: Others, deed: Deed, reach: Reach, of: list[Dirty]) -> list[Hit]:
    """A read: which of these dirty files are another live session's."""
    hits: list[Hit] = []
    for each in of:
        taken = (
            (deed.staged and each.staged) or (deed.changed and each.changed) or (deed.untracked and each.untracked)
            if deed.takes_along
            else True
        )
        path = key(each.path, root)
        if not taken or path not in reach:
            continue
        holder = next((row for row in found.held if row.mode == "edit" and paths.covers(row.path, path)), None)
        if holder is not None:
            hits.append(Hit(holder.agent, holder.session, each.path))
        elif any(paths.covers(row.path, path) for row in found.last):
            session = last_holder(tx, checkout, path)
            if session in found.agents:
                hits.append(Hit(found.agents[session], session, each.path))
    return hits


def unknown(found: Others) -> list[Hit]:
    """What is taken for dirty when git does not say what is: all that others were the last to hold."""
    return [Hit(found.agents[row.session], row.session, row.shown) for row in found.last]


def stashed(root: str, entry: str, environ: Mapping[str, str]) -> list[Dirty]:
    """The files in one entry of the stash, or in all."""
    if entry == gitdeeds.ALL_ENTRIES:
        words = ["log", "-g", "--first-parent", "-m", "--name-only", "-z", "--format=", "refs/stash"]
    elif entry.isdigit():
        words = ["diff", "--name-only", "-z", "--no-renames", f"stash@{{{entry}}}^1", f"stash@{{{entry}}}"]
    else:
        return []
    printed = ask(root, words, environ) or b""
    names = printed.decode("utf-8", "surrogateescape").replace("\n", "\0").split("\0")
    return [Dirty(name, True, True, True) for name in dict.fromkeys(names) if name]


# What is said.


def refusal(deed: Deed, hits: list[Hit]) -> Refusal:
    """One line: what would be met, whose it is, and what to do instead."""
    agent = folded(hits[0].agent, 40)
    named = list(dict.fromkeys(hit.path for hit in hits if hit.path))
    if named:
        verb = "take along what is" if deed.takes_along else "change what is"
        fixed = f"{deed.label} would {verb} {agent}'s here: . {deed.instead}"
        text = f"{deed.label} would {verb} {agent}'s here: {_paths(named, fixed)}. {deed.instead}"
    elif hits[0].number is not None:
        text = f"{deed.label} would move HEAD under {agent}, at work on ISSUE-{hits[0].number} here. {deed.instead}"
    else:
        text = f"{deed.label} would take this work tree from {agent}, who works in it. {deed.instead}"
    facts = [{"path": hit.path, "agent": hit.agent, "session": hit.session} for hit in hits[:_TOLD]]
    return Refusal("PATH_HELD", text, path=named[0] if named else ".", conflicts=facts)


def _paths(named: list[str], fixed: str) -> str:
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    room = REFUSAL_BYTES_MAX - len(f"PATH_HELD: {fixed}{more}".encode())
    shown = named[:_SHOWN]
    if sum(len(path.encode()) + 2 for path in shown) > room:
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        return ending(shown[0], max(16, REFUSAL_BYTES_MAX - len(f"PATH_HELD: {fixed}{more}".encode()))) + more
    return ", ".join(ending(path, room) for path in shown) + more


# One commit at a time.


def turn_name(checkout: str) -> str:
    """The resource that whoever writes a work tree's index has for the length of the call."""
    return f"@git:{checkout[:9]}"


def turn_of(tx: Tx, checkout: str) -> tuple[str, bool]:
    """Who has the index now, and whether it is so long that git's own lock may decide."""
    row = tx.one(SQL.turn, path=turn_name(checkout), gone=lapse.gone(tx)[0], **_me(tx))
    return ("", False) if row is None else (row.agent, tx.now - row.claimed_at >= GIT_TURN_MS)


def turn_refusal(agent: str) -> Refusal:
    said = f"{folded(agent, 40)} is at git's index in this work tree just now; run this again in a few seconds."
    return Refusal("PATH_HELD", said, path="@git")


# What was saved, and what was left behind.


def tell_rescue(tx: Tx, checkout: str, ref: str, command: str, hits: list[Hit]) -> None:
    """The log says that uncommitted work was saved before a command ran over it, and its owners are told."""
    names = list(dict.fromkeys(hit.path for hit in hits if hit.path))[:_TOLD]
    owners = {hit.session for hit in hits if hit.path}
    facts = [{"path": name, "checkout": checkout} for name in names]
    event = tx.tell("work_rescued", ref=ref, command=command, paths=facts)
    for session in sorted(owners):
        lapse.notify(tx, session, event)


def git_works_in(root: str) -> bool:
    """Whether a git process of this machine stands in the tree. Where that cannot be seen, it is taken to."""
    folders = platforms.working_folders("git")
    return folders is None or any(paths.covers(root, folder) for folder in folders)
