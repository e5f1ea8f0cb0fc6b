"""Programs that run what is given to them in ways of their own, and the one whose answer moves a shell.

Each takes the run and gives back what it prints, as builtins do. They change nothing in the shell around them.
"""

from __future__ import annotations

import os

from clearway import repository
from clearway.guard.finders import endings, find, found_by_name, only_leaves_out
from clearway.guard.goals import base_name, below, beside
from clearway.guard.shell import of_windows
from clearway.guard.shellglobs import ANY
from clearway.guard.shellwords import UNKNOWN, Value, join, replaced
from clearway.guard.starters import interpreter, script_of
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.writers import Run


def _watch(run: Run) -> Value:
    valued = frozenset({"-n", "--interval", "-q", "--equexit"})
    options, words = split_options(run.arguments, valued)
    if words and any(option in {"-x", "--exec"} for option, _ in options):
        return run.walk.run(words, run.scope.copy(), None)
    return run.walk.read_script(join(words), run.scope.copy(), None) if words else UNKNOWN


def _with_a_text(run: Run) -> Value:
    """`su me -c TEXT`, `script -qc TEXT file`."""
    for option, text in split_options(run.arguments, frozenset({"-c", "--command"}), anywhere=True)[0]:
        if option in {"-c", "--command"} and text is not None:
            run.walk.read_script(text, run.scope.copy(), run.stdin)
    run.walk.ran_programs = True
    return UNKNOWN


_LISTS_NAMES = frozenset("-- -z -c --cached --deduplicate".split())  # of all files; which are changed, is not known


def _git(run: Run) -> Value:
    """`git rev-parse --show-toplevel`, with which so many lines begin, and the files that `git ls-files` lists."""
    words = [argument.text for argument in run.arguments]
    if words == ["rev-parse", "--show-toplevel"]:
        roots = [repository.holding(folder) for folder in run.scope.cwd.texts]
        return Value((f"{root.root}\n" for root in roots if root), run.scope.cwd.known and None not in roots)
    run.walk.ran_programs = True
    if words[:1] == ["ls-files"] and all(word and (word[0] != "-" or word in _LISTS_NAMES) for word in words[1:]):
        given = [word for word in run.arguments[1:] if word.text not in _LISTS_NAMES]
        listed = [_listed(word) for word in given] or [Value((below("."),))]
        return Value((text.removeprefix("./") + "\n" for each in listed for text in each.texts), known=False)
    return UNKNOWN


def _listed(word: Value) -> Value:
    """Of git's patterns, a star reaches across folders."""
    return word.map(lambda text: below(".", text.replace("*", ANY)) if "*" in text and "/" not in text else text)


def _entr(run: Run) -> Value:
    """`ls | entr COMMAND`: run whenever a file changes."""
    words = split_options(run.arguments)[1]
    return run.walk.run(words, run.scope.copy(), None) if words else UNKNOWN


def _parallel(run: Run) -> Value:
    """`parallel COMMAND ::: WORDS`, or with the lines it is fed."""
    valued = frozenset("-j --jobs -N -n -I -a --arg-file -S --joblog --results --delay --timeout -d".split())
    words = split_options(run.arguments, valued)[1]
    at = next((number for number, word in enumerate(words) if word.text in {":::", ":::+", "::::"}), len(words))
    command, given = words[:at], [word for word in words[at:] if (word.text or "")[:3] != ":::"]
    fed = run.stdin or UNKNOWN
    lines = Value(line for text in fed.texts for line in text.split("\n") if line)
    every = Value(text for word in given for text in word.texts) if at < len(words) else Value(lines.texts, fed.known)
    if not command:
        return run.walk.read_script(every, run.scope.copy(), None)
    placed = any("{}" in text for word in command for text in word.texts)
    filled = [replaced(word, "{}", every) for word in command] if placed else [*command, every]
    if len(filled) == 1 or " " in (filled[0].text or ""):
        return run.walk.read_script(join(filled), run.scope.copy(), None)
    return run.walk.run(filled, run.scope.copy(), None)


def _later(run: Run) -> Value:
    """`at now`, `batch`: commands on stdin, run in this folder."""
    if run.stdin is None or any(word.text == "-f" for word in run.arguments):
        run.walk.unknown = True
        return UNKNOWN
    return run.walk.read_script(run.stdin, run.scope.copy(), None)


def _windows(run: Run) -> Value:
    """`pwsh -Command TEXT`, `cmd /c TEXT`: their backslashes are slashes."""
    words = run.arguments
    for at, word in enumerate(words):
        option = (word.text or "").lower()
        if option in {"/c", "/k", "//c"} or (len(option) > 1 and "-command".startswith(option)):
            return run.walk.read_script(join(words[at + 1 :]).map(of_windows), run.scope.copy(), None)
        if option[:1] not in {"-", "/"}:
            break
    run.walk.ran_programs = True
    if run.stdin is not None and (not words or words[-1].text == "-"):
        return run.walk.read_script(run.stdin.map(of_windows), run.scope.copy(), None)
    reads = interpreter("pwsh")
    script = script_of(reads, words) if reads else None
    if script is not None:
        run.walk.start(script, run.scope)
    return UNKNOWN


def _base(run: Run) -> Value:
    words = split_options(run.arguments, frozenset({"-s", "--suffix"}), anywhere=True)
    ending = next((value.text for _, value in words[0] if value is not None), None)
    names = words[1]
    if ending is None and len(names) == 2 and not words[0]:
        ending, names = names[1].text, names[:1]
    made = [name.map(base_name) for name in names]
    cut = ending or ""
    return _lines([name.map(lambda text: text.removesuffix(cut)) for name in made])


def _folder(run: Run) -> Value:
    names = split_options(run.arguments, anywhere=True)[1]
    return _lines([name.map(lambda text: os.path.dirname(text.rstrip("/")) or ".") for name in names])


def _real(run: Run) -> Value:
    """`realpath FILE`: the whole path; links are followed where the path is used."""
    options, names = split_options(run.arguments, frozenset({"--relative-to", "--relative-base"}), anywhere=True)
    if any(text[:10] == "--relative" for text, _ in options) or not run.scope.cwd.text:
        return UNKNOWN
    here = run.scope.cwd.text
    return _lines([name.map(lambda text: os.path.normpath(os.path.join(here, text))) for name in names])


def _read_link(run: Run) -> Value:
    if any(word.text in {"-f", "-e", "-m", "--canonicalize"} for word in run.arguments):
        return _real(run)
    return UNKNOWN


def _lines(names: list[Value]) -> Value:
    return join([beside(name, "\n") for name in names], "") if names else UNKNOWN


def _grep(run: Run) -> Value:
    """Behind a search, `grep -v node_modules`: the same lines, as far as anybody may hold them; `grep '\\.py$'`: those
    that end so."""
    options, words = split_options(run.arguments, anywhere=True)
    letters = "".join(text.lstrip("-") for text, _ in options)
    if run.stdin is None or len(words) != 1 or letters.strip("Ev"):
        return UNKNOWN
    if letters.count("v") == 1:
        return run.stdin if only_leaves_out(words[0].text or "?") else UNKNOWN
    asked = endings(words[0].text or "", extended="E" in letters) if "v" not in letters else []
    if not asked:
        return UNKNOWN
    lines = [line for text in run.stdin.texts for line in text.split("\n") if line]
    kept = [each + "\n" for line in lines for ending in asked for each in _ended(line, ending)]
    return Value(dict.fromkeys(kept), known=False)


def _ended(line: str, ending: str) -> list[str]:
    """The part of what a line may be that ends so; with wildcards, it is any name."""
    if line.endswith(ending):
        return [line]
    return [line + ending] if line.endswith(ANY) else []


def _passes(run: Run) -> Value:
    """`sort`, with nothing but stdin to read: the same lines."""
    if run.stdin is None or any((word.text or "")[:1] != "-" for word in run.arguments):
        return UNKNOWN
    return run.stdin


RUNNERS: dict[str, Callable[[Run], Value]] = {
    "at": _later,
    "basename": _base,
    "batch": _later,
    "cmd": _windows,
    "dirname": _folder,
    "entr": _entr,
    "fd": found_by_name,
    "fdfind": found_by_name,
    "find": find,
    "git": _git,
    "egrep": _grep,
    "grep": _grep,
    "parallel": _parallel,
    "powershell": _windows,
    "pwsh": _windows,
    "readlink": _read_link,
    "realpath": _real,
    "script": _with_a_text,
    "sort": _passes,
    "su": _with_a_text,
    "tac": _passes,
    "uniq": _passes,
    "watch": _watch,
}
