"""What a glance at a command line proves about git, and the record of a git command that a walk over the line finds.

`git_is_harmless` says that every git command in a line only looks, fetches or talks to a server: it changes no file of
the work tree, no index, no branch. It is modest: a line that it cannot take apart at once goes to the parser.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.guard.shellwords import Value

_BREAKS = str.maketrans(dict.fromkeys(";|&()\n", "\n"))
_QUOTES = str.maketrans(dict.fromkeys("'\"\\", ""))
# Only with more words do they change what others work on: these are left to the parser.
_HARMLESS = frozenset(
    "annotate blame cat-file check-attr check-ignore check-ref-format cherry count-objects describe diff diff-files "
    "diff-index diff-tree fetch for-each-ref fsck grep help log ls-files ls-remote ls-tree merge-base merge-tree "
    "name-rev push range-diff remote rev-list rev-parse shortlog show show-branch show-ref status tag var "
    "verify-commit verify-tag version whatchanged".split()
)
_ASKING = {
    "bisect": frozenset({"log"}),
    "config": frozenset({"--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"}),
    "notes": frozenset({"list", "show"}),
    "reflog": frozenset({"show"}),
    "stash": frozenset({"list", "show"}),
    "submodule": frozenset({"status", "summary"}),
    "worktree": frozenset({"list"}),
}
_BRANCH_CHANGES = frozenset({"--delete", "--force", "--move"})
_VALUED = frozenset({"-C"})
_PLAIN = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help", "-h"})


class GitRun:
    """One git command that a line runs: its `words` behind the program's name, the folder in which the shell stands,
    and what the line has said of git's variables. `program`: `git`, `git-stash` or `gh`."""

    __slots__ = ("folder", "names", "program", "words")

    def __init__(self, program: str, words: list[Value], folder: Value, names: dict[str, Value]) -> None:
        self.program = program
        self.words = words
        self.folder = folder
        self.names = names


def is_git(program: str) -> bool:
    """Whether a program is git, one of its parts by its own name, or GitHub's, which checks out branches."""
    return program in {"git", "gh"} or program.startswith("git-")


def git_is_harmless(command: str) -> bool:
    """Whether no git command in the line changes what others may be working on."""
    for line in command.replace("\\\n", " ").translate(_BREAKS).split("\n"):
        words = line.translate(_QUOTES).split()
        for at, word in enumerate(words):
            if is_git(word.rpartition("/")[2]) and not _looks(word, words[at + 1 :]):
                return False
    return True


def _looks(program: str, words: list[str]) -> bool:
    name = program.rpartition("/")[2]
    if name == "gh":
        return words[:2] != ["pr", "checkout"] and words[:2] != ["co"]
    if name != "git":
        words = [name[4:], *words]
    while words and words[0][:1] == "-":
        if words[0] not in _PLAIN and words[0] not in _VALUED:
            return False
        words = words[2 if words[0] in _VALUED else 1 :]
    if not words or words[0] in _HARMLESS or words[0] in _ASKING and words[1:2] and words[1] in _ASKING[words[0]]:
        return True
    return words[0] == "branch" and not any(map(_changes_branches, words[1:]))


def _changes_branches(word: str) -> bool:
    return word in _BRANCH_CHANGES or (word[:1] == "-" and word[:2] != "--" and not set("dDfmM").isdisjoint(word))
