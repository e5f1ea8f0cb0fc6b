"""Programs that run what is given to them in ways of their own, and the one whose answer moves a shell.

Each takes the run and gives back what it prints, as builtins do. They change nothing in the shell around them.
"""

from __future__ import annotations

from clearway import repository
from clearway.guard.shellwords import UNKNOWN, Value, join
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.writers import Run

_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FOUND = Value((), known=False)


def _find(run: Run) -> Value:
    """`find ... -exec COMMAND {} ;`: what is found is not known, the rest of the command is."""
    at = 0
    while at < len(run.arguments):
        word = run.arguments[at].text
        at += 1
        if word not in _FIND_RUNS:
            continue
        end = at
        while end < len(run.arguments) and run.arguments[end].text not in {";", "+"}:
            end += 1
        words = [_FOUND if "{}" in (each.text or "") else each for each in run.arguments[at:end]]
        if words:
            run.walk.run(words, run.scope.copy(), UNKNOWN)
        at = end
    return UNKNOWN


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


def _git(run: Run) -> Value:
    """`git rev-parse --show-toplevel`, with which so many lines begin."""
    words = [argument.text for argument in run.arguments]
    if words == ["rev-parse", "--show-toplevel"]:
        roots = [repository.holding(folder) for folder in run.scope.cwd.texts]
        return Value((f"{root.root}\n" for root in roots if root), run.scope.cwd.known and None not in roots)
    run.walk.ran_programs = True
    return UNKNOWN


RUNNERS: dict[str, Callable[[Run], Value]] = {
    "find": _find,
    "git": _git,
    "script": _with_a_text,
    "su": _with_a_text,
    "watch": _watch,
}
