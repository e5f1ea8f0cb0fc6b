"""What one git command does to a work tree that others may share, told from its words alone.

A table of git's subcommands: each gives a `Deed`. Nothing is asked of git or of the disk, but whether a word of
`git checkout` is a file. Dry runs and what only looks are no deeds; what is not in the table may be an alias.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Word = str | None  # None: it depends on more than the line

OWN_WORKTREE = "Do it in a worktree of your own: git worktree add ../NAME BRANCH."
ALL_ENTRIES = "*"  # of the stash


class Deed:
    """What a git command would do.

    `files`: it rewrites or removes files, below `paths` (None: everywhere in the tree). `head`: it moves HEAD or its
    branch. `staged`, `changed`, `untracked`: which work of others it would commit or stage. `stash`: the entry of the
    stash that it uses up. `index`: it writes the index. `branches`, `worktrees`: what it takes from under another work
    tree. `vague`: what it reaches depends on more than the line. `instead`: what to do in its place.
    """

    __slots__ = (
        "branches",
        "changed",
        "files",
        "foreach",
        "head",
        "index",
        "instead",
        "label",
        "modules",
        "paths",
        "staged",
        "stash",
        "untracked",
        "vague",
        "worktrees",
    )

    def __init__(
        self,
        label: str,
        *,
        files: bool = False,
        head: bool = False,
        paths: list[str] | None = None,
        staged: bool = False,
        changed: bool = False,
        untracked: bool = False,
        stash: str = "",
        index: bool = True,
        branches: Iterable[str] = (),
        worktrees: Iterable[str] = (),
        modules: bool = False,
        foreach: str | None = None,
        vague: bool = False,
        instead: str = OWN_WORKTREE,
    ) -> None:
        self.label = label
        self.files = files
        self.head = head
        self.paths = paths
        self.staged = staged
        self.changed = changed
        self.untracked = untracked
        self.stash = stash
        self.index = index
        self.branches = list(branches)
        self.worktrees = list(worktrees)
        self.modules = modules
        self.foreach = foreach
        self.vague = vague
        self.instead = instead

    @property
    def takes_along(self) -> bool:
        """Whether it stages or commits what stands in the tree."""
        return self.staged or self.changed or self.untracked

    @property
    def stash_is_used_up(self) -> bool:
        """Whether the entry of the stash is gone afterwards."""
        return bool(self.stash) and not self.label.endswith("apply")


def deed_of_update(of: Deed) -> Deed:
    """What the update of a submodule does in the submodule's own tree."""
    return Deed(of.label, files=True, head=True, index=False, instead=of.instead)


class Said:
    """The words behind a subcommand: options, what stands before `--` and what behind it."""

    __slots__ = ("behind", "folder", "operands", "options", "vague")

    def __init__(self, words: list[Word], folder: str, valued: frozenset[str] = frozenset()) -> None:
        self.folder = folder
        self.options: list[str] = []
        self.operands: list[str] = []
        self.behind: list[str] | None = None
        self.vague = False  # one of the words is not known
        waiting = iter(words)
        for word in waiting:
            if word is None:
                self.vague = True
            elif self.behind is not None:
                self.behind.append(word)
            elif word == "--":
                self.behind = []
            elif word[:2] == "--":
                name, sign, _ = word.partition("=")
                self.options.append(name)
                if name in valued and not sign:
                    next(waiting, None)
            elif word[:1] == "-" and len(word) > 1:
                self._letters(word, valued, waiting)
            else:
                self.operands.append(word)

    def _letters(self, word: str, valued: frozenset[str], waiting: Iterable[Word]) -> None:
        for at in range(1, len(word)):
            option = "-" + word[at]
            self.options.append(option)
            if option in valued:  # the rest of the word is its value, else the next word
                if at + 1 == len(word):
                    next(iter(waiting), None)
                return

    def has(self, *options: str) -> bool:
        """Whether one of these options is given; git takes the beginning of a long one for the whole."""
        return any(
            given == option or (len(given) > 4 and given[:2] == "--" and option.startswith(given))
            for given in self.options
            for option in options
        )

    @property
    def paths(self) -> list[str]:
        """All operands, of a command to which every operand is a path."""
        return [*self.operands, *(self.behind or [])]


def deed(name: str, words: list[Word], folder: str) -> Deed | None:
    """What `git NAME WORDS...`, started in `folder`, does; None if it does nothing to others."""
    known = _DEEDS.get(name)
    if known is None or "--help" in words or "-h" in words[:1]:
        return None
    return known(words, folder)


def is_known(name: str) -> bool:
    """Whether it is a subcommand of git's own, which no alias can replace."""
    return name in _DEEDS or name in _OTHERS


def may_act(name: str) -> bool:
    """Whether some form of the subcommand is a deed."""
    return name in _DEEDS


# Files of the tree.


def _checkout(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"}))
    label, own = "git checkout", "Name your own files: git checkout -- PATHS; or use a worktree of your own."
    if said.has("--pathspec-from-file"):
        return Deed(label, files=True, vague=True, instead=own)
    if said.has("-b", "-B", "--orphan", "--detach", "-d", "-t", "--track"):
        return Deed(label, files=True, head=True)
    if said.behind is not None:
        if said.behind or said.vague:
            return Deed(label, files=True, paths=said.behind, vague=said.vague, instead=own)
        return Deed(label, files=True, head=True) if said.operands else None
    if not said.operands:
        if said.has("-p", "--patch", "-f", "--force"):
            return Deed(label, files=True, instead=own)
        return Deed(label, files=True, head=True) if said.vague else None
    first, *rest = said.operands
    if _is_there(first, folder):
        return Deed(label, files=True, paths=said.operands, vague=said.vague, instead=own)
    if rest or said.vague:
        return Deed(label, files=True, paths=rest, vague=said.vague, instead=own)
    return Deed(label, files=True, head=True)


def _is_there(word: str, folder: str) -> bool:
    """Whether git takes a word for a path rather than for a branch."""
    if word in {".", ".."} or word[:1] == ":" or "*" in word or "?" in word:
        return True
    return "\0" not in word and os.path.lexists(os.path.join(folder, word))


def _restore(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"-s", "--source", "--conflict", "--pathspec-from-file"}))
    if said.has("--staged", "-S") and not said.has("--worktree", "-W"):
        return Deed("git restore")  # only the index
    vague = said.vague or said.has("--pathspec-from-file")
    return Deed(
        "git restore", files=True, paths=said.paths, vague=vague, instead="Name your own files: git restore -- PATHS."
    )


def _switch(words: list[Word], _: str) -> Deed | None:
    return Deed("git switch", files=True, head=True) if words else None


def _reset(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"--pathspec-from-file"}))
    if not said.has("--hard", "--merge", "--keep"):
        return Deed("git reset")  # only the index
    elsewhere = any(operand != "HEAD" for operand in said.operands) or said.vague
    own = "Bring back your own files only: git restore -- PATHS."
    return Deed("git reset --hard" if said.has("--hard") else "git reset", files=True, head=elsewhere, instead=own)


def _clean(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"-e", "--exclude"}))
    if said.has("-n", "--dry-run"):
        return None
    own = "Name your own files: git clean -f -- PATHS."
    return Deed("git clean", files=True, paths=said.paths or ["."], vague=said.vague, index=False, instead=own)


_STASH_VALUED = frozenset({"-m", "--message", "--pathspec-from-file"})
_STASH_WAYS = frozenset("list show create store push save pop apply drop clear branch".split())


def _stash(words: list[Word], folder: str) -> Deed | None:
    way = next((word for word in words[:1] if word in _STASH_WAYS), None)
    rest = words if way is None else words[1:]
    if way in {"list", "show", "create", "store"}:
        return None
    own = "Keep your own files only: git stash push -- PATHS."
    if way is None or way in {"push", "save"}:
        said = Said(rest, folder, _STASH_VALUED)
        paths = None if way == "save" else said.paths or None
        vague = said.vague or said.has("--pathspec-from-file")
        return Deed("git stash", files=True, paths=paths, vague=vague and way == "push", instead=own)
    said = Said(rest, folder)
    at = next((word for word in said.operands[-1:] if word.isdigit() or "{" in word), "0")
    entry = ALL_ENTRIES if way == "clear" else at.partition("{")[2].rstrip("}") if "{" in at else at
    if way in {"drop", "clear"}:
        return Deed(f"git stash {way}", stash=entry, index=False, instead="Leave the stash as it is; it is shared.")
    own = "Bring back your own files only: git checkout stash@{0} -- PATHS."
    return Deed(f"git stash {way}", files=True, head=way == "branch", stash=entry, instead=own)


def _read_tree(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"--prefix", "--index-output"}))
    return Deed("git read-tree", files=said.has("-u") and not said.has("-n", "--dry-run"))


def _checkout_index(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"--prefix", "--stage"}))
    if not said.has("-f", "--force") or said.has("--prefix"):
        return None
    everything = said.has("-a", "--all", "--stdin")
    own = "Name your own files: git checkout-index -f -- PATHS."
    paths = None if everything else said.paths
    return Deed("git checkout-index", files=True, paths=paths, vague=said.vague and not everything, instead=own)


def _submodule(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"--reference", "--depth", "-j", "--jobs"}))
    way = said.operands[0] if said.operands else ""
    if way == "foreach":
        line = " ".join(word for word in said.operands[1:])
        return Deed("git submodule foreach", index=False, foreach=line or None)
    if way not in {"update", "deinit"}:
        return None
    paths = [*said.operands[1:], *(said.behind or [])] or None
    own = f"Name your own submodules: git submodule {way} -- PATHS."
    return Deed(f"git submodule {way}", files=True, modules=True, paths=paths, vague=said.vague, instead=own)


def _sparse_checkout(words: list[Word], _: str) -> Deed | None:
    return None if words[:1] in ([], ["list"], ["check-rules"]) else Deed("git sparse-checkout", files=True)


# HEAD and branches.


def _moves_head(label: str, looks: str = "", ends: str = "") -> Callable[[list[Word], str], Deed | None]:
    """A command that rewrites HEAD and the tree. looks: with one of these words it does nothing; ends: with one of
    these it only forgets what was going on."""
    harmless = frozenset([*looks.split(), *ends.split()])

    def act(words: list[Word], _: str) -> Deed | None:
        if not harmless.isdisjoint([word for word in words if word is not None]):
            return None
        return Deed(label, files=True, head=True)

    return act


def _merge(words: list[Word], _: str) -> Deed | None:
    if "--quit" in words:
        return None
    if "--continue" in words:  # as a commit of what was merged before
        return Deed("git merge --continue", staged=True, instead="Ask them to finish, or merge in your own worktree.")
    return Deed("git merge", files=True, head=True)


def _rev_list(label: str) -> Callable[[list[Word], str], Deed | None]:
    def act(words: list[Word], _: str) -> Deed | None:
        return None if "--quit" in words else Deed(label, files=True, head=True)

    return act


def _bisect(words: list[Word], _: str) -> Deed | None:
    harmless = {"log", "view", "visualize", "terms", "help"}
    return None if not words or words[0] in harmless else Deed("git bisect", files=True, head=True)


def _subtree(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"-P", "--prefix", "-m", "--message"}))
    changes = not {"add", "merge", "pull"}.isdisjoint(said.operands[:1])
    return Deed("git subtree", files=True, head=True) if changes else None


def _branch(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"-u", "--set-upstream-to"}))
    if not said.has("-d", "-D", "-f", "-m", "-M", "--delete", "--force", "--move") or said.has("-a", "-r", "--all"):
        return None
    removed = said.has("-d", "-D", "--delete")
    names = said.paths if removed else said.paths[:1]
    own = "Leave the branch to whoever is on it."
    return Deed("git branch", branches=names, index=False, vague=said.vague, instead=own)


def _update_ref(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"-m"}))
    name = said.operands[0] if said.operands else ""
    if name == "HEAD":
        return Deed("git update-ref", head=True, index=False)
    if name.startswith("refs/heads/"):
        own = "Leave the branch to whoever is on it."
        return Deed("git update-ref", branches=[name[11:]], index=False, instead=own)
    return None


def _symbolic_ref(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"-m"}))
    moves = said.operands[:1] == ["HEAD"] and (len(said.operands) > 1 or said.has("-d", "--delete"))
    return Deed("git symbolic-ref", head=True, index=False) if moves else None


def _worktree(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"-b", "-B", "--reason", "--expire"}))
    way, *places = said.operands or [""]
    if way not in {"remove", "move"} or not places:
        return None
    own = "Leave it until they are done."
    return Deed(f"git worktree {way}", worktrees=places[:1], index=False, instead=own)


def _forgets(label: str, needs: str = "") -> Callable[[list[Word], str], Deed | None]:
    """A command that takes away what a lost change could be brought back from."""

    def act(words: list[Word], _: str) -> Deed | None:
        given = [word for word in words if word is not None]
        if needs and not any(word.startswith(tuple(needs.split())) for word in given):
            return None
        if "-n" in given or "--dry-run" in given:
            return None
        return Deed(label, files=True, index=False, instead="Leave it to git's own gc.")

    return act


# The index, and what goes into commits.


def _commit(words: list[Word], folder: str) -> Deed | None:
    valued = "-m --message -F --file -C --reuse-message -c --reedit-message -t --template --author --date --trailer "
    valued += "--fixup --squash --cleanup --pathspec-from-file"
    said = Said(words, folder, frozenset(valued.split()))
    if said.has("--dry-run"):
        return None
    label, own = "git commit", "Name your own files: git commit -m TEXT -- PATHS."
    if said.has("-a", "--all"):
        return Deed("git commit -a", staged=True, changed=True, instead=own)
    if said.paths and not said.has("-i", "--include"):
        return Deed(label, staged=True, changed=True, paths=said.paths, vague=said.vague, instead=own)
    if said.has("--pathspec-from-file") or (said.vague and said.behind is not None):
        return Deed(label)
    return Deed(label, staged=True, instead=own)


def _add(words: list[Word], folder: str) -> Deed | None:
    said = Said(words, folder, frozenset({"--chmod", "--pathspec-from-file"}))
    if said.has("-n", "--dry-run", "--refresh", "-N", "--intent-to-add") or said.has("--pathspec-from-file"):
        return None
    own = "Name your own files: git add PATHS."
    everywhere = said.has("-A", "--all", "-u", "--update", "--no-ignore-removal")
    if not said.paths and (said.vague or not everywhere):
        return Deed("git add")  # nothing, or what nobody can know
    tracked = said.has("-u", "--update")
    label = "git add" if said.paths else "git add -u" if tracked else "git add -A"
    return Deed(label, changed=True, untracked=not tracked, paths=said.paths or None, vague=said.vague, instead=own)


def _index(label: str) -> Callable[[list[Word], str], Deed | None]:
    """A command that writes the index, and whose paths others look after."""
    return lambda _words, _folder: Deed(label)


_RUNNING = "--show-current-patch"
_DEEDS: dict[str, Callable[[list[Word], str], Deed | None]] = {
    "add": _add,
    "am": _moves_head("git am", looks=_RUNNING, ends="--quit"),
    "apply": _index("git apply"),
    "bisect": _bisect,
    "branch": _branch,
    "checkout": _checkout,
    "checkout-index": _checkout_index,
    "cherry-pick": _rev_list("git cherry-pick"),
    "clean": _clean,
    "commit": _commit,
    "filter-branch": _moves_head("git filter-branch"),
    "filter-repo": _moves_head("git filter-repo", looks="--analyze --dry-run"),
    "gh pr checkout": _moves_head("gh pr checkout"),
    "gc": _forgets("git gc", needs="--prune=now --prune=all"),
    "merge": _merge,
    "mv": _index("git mv"),
    "prune": _forgets("git prune"),
    "pull": _moves_head("git pull", looks="--dry-run"),
    "read-tree": _read_tree,
    "rebase": _moves_head("git rebase", looks=_RUNNING, ends="--quit"),
    "reflog": _forgets("git reflog", needs="expire delete"),
    "reset": _reset,
    "restore": _restore,
    "revert": _rev_list("git revert"),
    "rm": _index("git rm"),
    "sparse-checkout": _sparse_checkout,
    "stage": _add,
    "stash": _stash,
    "submodule": _submodule,
    "subtree": _subtree,
    "switch": _switch,
    "symbolic-ref": _symbolic_ref,
    "update-index": _index("git update-index"),
    "update-ref": _update_ref,
    "worktree": _worktree,
}
_OTHERS = frozenset(
    "annotate archimport archive bisect blame bugreport bundle cat-file check-attr check-ignore check-mailmap "
    "check-ref-format cherry citool clone column commit-graph commit-tree config count-objects credential cvsimport "
    "daemon describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch fetch-pack "
    "fmt-merge-msg for-each-ref for-each-repo format-patch fsck fsmonitor--daemon get-tar-commit-id grep gui "
    "hash-object help hook http-fetch http-push imap-send index-pack init init-db instaweb interpret-trailers lfs log "
    "ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge-base merge-file merge-index merge-one-file "
    "merge-tree mergetool mktag mktree multi-pack-index name-rev notes pack-objects pack-redundant pack-refs patch-id "
    "prune-packed push quiltimport range-diff receive-pack remote repack replace request-pull rerere rev-list "
    "rev-parse send-email send-pack shell shortlog show show-branch show-index show-ref status stripspace svn tag "
    "unpack-file unpack-objects update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag "
    "version whatchanged write-tree".split()
)
