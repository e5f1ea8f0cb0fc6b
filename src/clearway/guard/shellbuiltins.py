"""What the shell's own commands do to its directory, names and output, as far as the line alone tells.

Each changes the scope it runs in and gives back what it prints. A command that is not in the table changes nothing and
prints what nobody knows.
"""

from __future__ import annotations

import os

from clearway.guard.shellglobs import names_in
from clearway.guard.shellwords import ALTERNATIVES_MAX, NOTHING, UNKNOWN, Value, ansi, join
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.shellwords import Scope
    from clearway.guard.writers import Run

READ_BYTES_MAX = 65_536


def _cd(run: Run) -> Value:
    scope = run.scope
    where = split_options(run.arguments)[1]
    if not where:
        scope.before, scope.cwd = scope.cwd, scope.home
    elif where[0].text == "-":
        scope.before, scope.cwd = scope.cwd, scope.before
    elif where[0].text != "":
        scope.go(where[0], may_be_new=run.walk.ran_programs)
    return NOTHING


def _pushd(run: Run) -> Value:
    options, where = split_options(run.arguments)
    if where and not options:
        run.scope.stack.append(run.scope.cwd)
        run.scope.go(where[0], may_be_new=run.walk.ran_programs)
    else:  # turns the stack around
        run.scope.cwd, run.scope.stack = UNKNOWN, []
    return UNKNOWN


def _popd(run: Run) -> Value:
    scope = run.scope
    back = scope.stack.pop() if scope.stack and not run.arguments else UNKNOWN
    scope.before, scope.cwd = scope.cwd, back
    return UNKNOWN


def _pwd(run: Run) -> Value:
    return run.scope.cwd.map(lambda path: path + "\n")


def _echo(run: Run) -> Value:
    words = run.arguments
    flags = ""
    while words and (words[0].text or "") in {"-n", "-e", "-E", "-ne", "-en"}:
        flags += words[0].text or ""
        words = words[1:]
    printed = join(words) if words else NOTHING
    printed = printed.map(ansi) if "e" in flags else printed
    return printed if "n" in flags else printed.then(Value(("\n",)))


def _printf(run: Run) -> Value:
    options, operands = split_options(run.arguments, frozenset({"-v"}))
    form = operands[0].text if operands else None
    printed = _formatted(ansi(form), operands[1:]) if form is not None else UNKNOWN
    for option, name in options:
        if option == "-v" and name is not None and name.text:
            run.scope.names[name.text] = printed
            return NOTHING
    return printed


def _formatted(form: str, arguments: list[Value]) -> Value:
    """`%s` and `%b` filled in, the form repeated until the arguments are used up; unknown for any other directive."""
    form = form.replace("%%", "\1")
    pieces = form.replace("%b", "%s").split("%s")
    if any("%" in piece for piece in pieces):
        return UNKNOWN
    printed = NOTHING
    waiting = list(arguments)
    while True:
        for number, piece in enumerate(pieces):
            if number:
                printed = printed.then(waiting.pop(0) if waiting else NOTHING)
            printed = printed.then(Value((piece.replace("\1", "%"),)))
        if not waiting or len(pieces) == 1:
            return printed


def _cat(run: Run) -> Value:
    files = split_options(run.arguments, anywhere=True)[1]
    if all(file.text == "-" for file in files):
        return run.stdin or UNKNOWN
    return read_file(files[0], run.scope) if len(files) == 1 else UNKNOWN


def _ls(run: Run) -> Value:
    """The names it was given, and what is in folders; there may be more of them when the line runs."""
    options, files = split_options(run.arguments, anywhere=True)
    if any("l" in option or "R" in option for option, _ in options):
        return UNKNOWN
    names: list[str] = []
    for text in (text for file in files or [Value((".",))] for text in file.texts):
        folders = [os.path.join(here, text) for here in run.scope.cwd.texts]
        folder = next(filter(os.path.isdir, folders), "")
        if folder and not any(option == "-d" for option, _ in options):
            names += [name for name in names_in(folder)[:ALTERNATIVES_MAX] if name[:1] != "."]
        else:
            names.append(text)
    return Value((name + "\n" for name in names), known=False)


def read_file(file: Value, scope: Scope) -> Value:
    """The text of a small file, as it is now: by the time that the line runs it may be another."""
    path = os.path.join(scope.cwd.text or "", file.text or "")
    try:
        if not os.path.isabs(path) or not os.path.isfile(path) or os.path.getsize(path) > READ_BYTES_MAX:
            return UNKNOWN
        with open(path, encoding="utf-8") as opened:
            return Value((opened.read(READ_BYTES_MAX),), known=False)
    except (OSError, ValueError):
        return UNKNOWN


def _read(run: Run) -> Value:
    """Every line that could be read, for all rounds of the loop around it."""
    options, names = split_options(run.arguments, frozenset({"-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"}))
    elsewhere = any(option == "-u" or (option == "-d" and value and value.text) for option, value in options)
    source = UNKNOWN if run.stdin is None or elsewhere else run.stdin
    texts = [text.replace("\0", "\n") for text in source.texts]  # `-d ''`: after `-print0`
    lines = Value((line for text in texts for line in text.split("\n")), source.known, source.fetched)
    wanted = [name.text for name in names if name.text] or ["REPLY"]
    for number, name in enumerate(wanted):
        last = number == len(wanted) - 1
        run.scope.names[name] = lines.map(lambda line, at=number, rest=last: _word_of(line, at, rest))
    for option, name in options:
        if option == "-a" and name is not None and name.text:
            split = not run.scope.names.keys() & {"IFS"}
            every = (word for line in lines.texts for word in line.split())
            run.scope.names[name.text] = Value(every, lines.known) if split else UNKNOWN
    return NOTHING


def _word_of(line: str, number: int, rest: bool) -> str:
    words = line.split(None, number) if rest else line.split()
    return words[number].rstrip() if number < len(words) else ""


def _mapfile(run: Run) -> Value:
    names = split_options(run.arguments, frozenset({"-d", "-n", "-O", "-s", "-u", "-C", "-c"}))[1]
    source = run.stdin or UNKNOWN
    lines = (line for text in source.texts for line in text.split("\n") if line)
    run.scope.names[(names[0].text if names else None) or "MAPFILE"] = Value(lines, source.known)
    return NOTHING


def _set(run: Run) -> Value:
    texts = [argument.text for argument in run.arguments]
    if any(text and text[0] == "-" and "e" in text for text in texts):
        run.scope.stops = True
    if "--" in texts:
        run.scope.places = run.arguments[texts.index("--") + 1 :]
    elif any(text is None or text[:1] not in {"-", "+"} for text in texts):
        run.scope.places = None  # operands behind options that are not told apart here
    return NOTHING


def _shift(run: Run) -> Value:
    count = (run.arguments[0].text or "") if run.arguments else "1"
    places = run.scope.places
    run.scope.places = places[int(count) :] if places is not None and count.isdigit() and len(count) < 9 else None
    return NOTHING


def _unset(run: Run) -> Value:
    for name in split_options(run.arguments)[1]:
        for text in name.texts:
            run.scope.names[text] = NOTHING
            run.scope.functions.pop(text, None)
    return NOTHING


def _eval(run: Run) -> Value:
    return run.walk.read_script(join(run.arguments), run.scope, run.stdin) if run.arguments else NOTHING


def _source(run: Run) -> Value:
    """A script whose commands run in this shell. It may go anywhere and name anything; that is not followed."""
    text = run.walk.read_from(run.arguments[0], run.stdin) if run.arguments else None
    if text is not None:
        return run.walk.read_script(text, run.scope, None)
    if run.arguments:
        run.walk.start(run.arguments[0], run.scope)
    run.walk.ran_programs = True
    return UNKNOWN


def _trap(run: Run) -> Value:
    operands = split_options(run.arguments)[1]
    if len(operands) > 1 and operands[0].text not in {"", "-"}:
        run.walk.read_script(operands[0], run.scope.copy(), None)
    return NOTHING


def _silent(_: Run) -> Value:
    return NOTHING


BUILTINS: dict[str, Callable[[Run], Value]] = {
    "cd": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "pwd": _pwd,
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "ls": _ls,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "eval": _eval,
    "trap": _trap,
    ".": _source,
    "source": _source,
    **dict.fromkeys((":", "[", "break", "continue", "exit", "false", "return", "test", "true"), _silent),
}
