"""Git commands that are given paths: which files of the work tree they put back, move or delete.

What takes the whole tree along is judged elsewhere (`gitguard`): there it matters who works in the checkout at all.
"""

from __future__ import annotations

from clearway.guard.goals import deletes, edits, exists, landed, under
from clearway.guard.shellwords import Value
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.goals import Goals
    from clearway.guard.writers import Run

_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
_RESTORE_VALUED = frozenset({"-s", "--source", "--conflict", "--pathspec-from-file"})
_CHECKOUT_VALUED = frozenset({"-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"})
_NEW_VALUED = frozenset("-b -B --branch --depth --name --origin --output-directory --reason --reference".split())
_WHOLE = frozenset({".", ":/", "*", "./", ":", "..", ":(top)"})


def _git(run: Run) -> Goals:
    options, words = split_options(run.arguments, _GIT_VALUED)
    if not words or words[0].text is None:
        return []
    paths = _PATHS.get(words[0].text)
    if paths is None:
        return _written(run, words)
    folder = None
    for text, value in options:
        if text in {"-C", "--work-tree"} and value is not None:
            folder = value if folder is None else under(folder, [value])[0]
    inner = run
    if folder is not None:
        from clearway.guard.writers import Run as Inner

        scope = run.scope.copy()
        scope.go(folder)
        inner = Inner(run.arguments, run.stdin, scope, run.walk)
    return [(goal, action) for found, action in paths(inner, words[1:]) for goal in under(folder, [found])]


def _written(run: Run, words: list[Value]) -> Goals:
    """`git diff --output=FILE`, `git archive -o FILE`, `git bundle create FILE`, `git format-patch -o FOLDER`, and the
    folder that a clone or a worktree is made in."""
    verb, *rest = words
    options, operands = split_options(rest, _NEW_VALUED | {"--output", "-o"}, anywhere=True)
    if verb.text == "bundle":
        return edits(operands[1:2]) if operands and operands[0].text == "create" else []
    made = operands[1:2] if verb.text == "clone" else []
    if verb.text in {"worktree", "submodule"} and operands and operands[0].text == "add":
        made = operands[1:2] if verb.text == "worktree" else operands[2:3]
    elif verb.text == "format-patch":
        made = [value for text, value in options if text in {"-o", "--output-directory"} and value is not None]
    for folder in made:  # what comes there is new; whoever holds the place is asked
        run.walk.suspect(folder, run.scope)
    names = {"--output", "-o"} if verb.text == "archive" else {"--output"}
    return edits(value for text, value in options if text in names and value is not None)


def _swept(run: Run, words: list[Value]) -> list[Value]:
    """Paths as git takes them: a folder stands for what is in it, and patterns are git's own."""
    from clearway.guard.goals import found_by

    taken = [Value((text for text in word.texts if not _is_left_out(text)), word.known) for word in words]
    named = [Value((_across(text) for text in word.texts if text not in _WHOLE), word.known) for word in taken]
    return [found_by(word, run.scope, ()) for word in named if word.texts or not word.known]


def _is_left_out(text: str) -> bool:
    """`:!path`, `:(top,exclude)path`: what is not taken along."""
    return text[:2] in {":!", ":^"} or (text[:2] == ":(" and "exclude" in text.partition(")")[0])


def _across(text: str) -> str:
    """A path without git's magic words; its star reaches across folders."""
    bare = text.partition(")")[2] if text.startswith(":(") else text.removeprefix(":/")
    return f"**/{bare}" if "*" in bare and "/" not in bare else bare


def _behind_dashes(words: list[Value]) -> tuple[list[Value], list[Value], bool]:
    for at, word in enumerate(words):
        if word.text == "--":
            return words[:at], words[at + 1 :], True
    return words, [], False


def _checkout(run: Run, words: list[Value]) -> Goals:
    before, paths, dashes = _behind_dashes(words)
    options, names = split_options(before, _CHECKOUT_VALUED, anywhere=True)
    if any(text in {"-b", "-B", "--orphan", "--detach", "-d", "-p", "--patch"} for text, _ in options):
        return []
    if not dashes:  # a name that is a file here, or behind a tree
        paths = [name for name in names if any(_is_path(text, run) for text in name.texts)]
    return edits(_swept(run, paths))


def _is_path(text: str, run: Run) -> bool:
    return "*" in text or text.startswith(":") or exists(text, run.scope)


def _restore(run: Run, words: list[Value]) -> Goals:
    options, paths = split_options(words, _RESTORE_VALUED, anywhere=True)
    texts = {text for text, _ in options}
    staged = bool(texts & {"-S", "--staged"}) and not texts & {"-W", "--worktree"}
    return [] if staged or texts & {"-p", "--patch"} else edits(_swept(run, paths))


def _rm(run: Run, words: list[Value]) -> Goals:
    options, paths = split_options(words, frozenset({"--pathspec-from-file"}), anywhere=True)
    if {text for text, _ in options} & {"--cached", "-n", "--dry-run"}:
        return []
    return deletes(_swept(run, paths))


def _mv(run: Run, words: list[Value]) -> Goals:
    options, paths = split_options(words, anywhere=True)
    if len(paths) < 2 or {text for text, _ in options} & {"-n", "--dry-run"}:
        return []
    return [*deletes(paths[:-1]), *edits(landed(run, paths[:-1], paths[-1]))]


def _clean(run: Run, words: list[Value]) -> Goals:
    options, paths = split_options(words, frozenset({"-e", "--exclude"}), anywhere=True)
    letters = "".join(text for text, _ in options if text[:2] != "--")
    if "n" in letters or ("f" not in letters and "--force" not in {text for text, _ in options}):
        return []
    return deletes(_swept(run, paths))


def _stash(run: Run, words: list[Value]) -> Goals:
    """Only with paths: the rest takes the whole tree along."""
    before, paths, dashes = _behind_dashes(words)
    if before and before[0].text not in {"push", "save"} and not (before[0].text or "").startswith("-"):
        return []
    if not dashes:
        options, names = split_options(before[1:], frozenset({"-m", "--message"}), anywhere=True)
        paths = names if before and before[0].text == "push" else []
        if any(text == "-p" for text, _ in options):
            return []
    return edits(_swept(run, paths))


def _checkout_index(_: Run, words: list[Value]) -> Goals:
    options, paths = split_options(words, frozenset({"--prefix", "--stage"}), anywhere=True)
    prefix = next((value for text, value in options if text == "--prefix"), None)
    return edits(paths if prefix is None else [prefix.then(path) for path in paths])


def _merge_file(_: Run, words: list[Value]) -> Goals:
    options, files = split_options(words, frozenset({"-L"}), anywhere=True)
    return [] if any(text in {"-p", "--stdout"} for text, _ in options) else edits(files[:1])


def _config(_: Run, words: list[Value]) -> Goals:
    options = split_options(words, frozenset({"-f", "--file"}), anywhere=True)[0]
    reads = {"--get", "--get-all", "-l", "--list", "--get-regexp"} & {text for text, _ in options}
    return [] if reads else edits(value for text, value in options if text in {"-f", "--file"} and value is not None)


_PATHS: dict[str, Callable[[Run, list[Value]], Goals]] = {
    "checkout": _checkout,
    "checkout-index": _checkout_index,
    "clean": _clean,
    "config": _config,
    "merge-file": _merge_file,
    "mv": _mv,
    "restore": _restore,
    "rm": _rm,
    "stash": _stash,
}

TABLE: dict[str, Callable[[Run], Goals]] = {"git": _git}
