"""What the shell's own commands do to its directory, names and output, as far as the line alone tells.

Each gets the walk, its arguments, the scope it changes and what it will read from stdin, and gives back what it
prints. A command that is not in the table changes nothing and prints what nobody knows.
"""

from __future__ import annotations

from clearway.guard.shellwords import NOTHING, UNKNOWN, Value, ansi, join
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.shellwalk import Walk
    from clearway.guard.shellwords import Scope

    Builtin = Callable[[Walk, list[Value], Scope, Value | None], Value]


def _cd(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    where = split_options(arguments)[1]
    if not where:
        scope.before, scope.cwd = scope.cwd, scope.home
    elif where[0].text == "-":
        scope.before, scope.cwd = scope.cwd, scope.before
    elif where[0].text != "":
        scope.go(where[0])
    return NOTHING


def _pushd(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    options, where = split_options(arguments)
    if where and not options:
        scope.stack.append(scope.cwd)
        scope.go(where[0])
    else:  # turns the stack around
        scope.cwd, scope.stack = UNKNOWN, []
    return UNKNOWN


def _popd(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    scope.before, scope.cwd = scope.cwd, scope.stack.pop() if scope.stack and not arguments else UNKNOWN
    return UNKNOWN


def _pwd(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    return scope.cwd.map(lambda path: path + "\n")


def _echo(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    flags = ""
    while arguments and (arguments[0].text or "") in {"-n", "-e", "-E", "-ne", "-en"}:
        flags += arguments[0].text or ""
        arguments = arguments[1:]
    printed = join(arguments) if arguments else NOTHING
    printed = printed.map(ansi) if "e" in flags else printed
    return printed if "n" in flags else printed.then(Value(("\n",)))


def _printf(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    options, operands = split_options(arguments, frozenset({"-v"}))
    form = operands[0].text if operands else None
    printed = UNKNOWN
    if form is not None:
        printed = _formatted(ansi(form), operands[1:])
    for option, name in options:
        if option == "-v" and name is not None and name.text:
            scope.names[name.text] = printed
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


def _cat(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    files = split_options(arguments, anywhere=True)[1]
    return (fed or UNKNOWN) if all(file.text == "-" for file in files) else UNKNOWN


def _ls(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    """The names it was given, if they are files; certainly nothing more can be told from here."""
    files = split_options(arguments, anywhere=True)[1]
    return Value((text + "\n" for file in files for text in file.texts), known=False)


def _read(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    """Every line that could be read, for all rounds of the loop around it."""
    valued = frozenset({"-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"})
    options, names = split_options(arguments, valued)
    source = fed if fed is not None and not any(option in {"-u", "-d"} for option, _ in options) else UNKNOWN
    lines = Value((line for text in source.texts for line in text.split("\n")), source.known)
    wanted = [name.text for name in names if name.text] or ["REPLY"]
    for number, name in enumerate(wanted):
        last = number == len(wanted) - 1
        scope.names[name] = lines.map(lambda line, at=number, rest=last: _word_of(line, at, rest))
    for option, name in options:
        if option == "-a" and name is not None and name.text:
            scope.names[name.text] = UNKNOWN
    return NOTHING


def _word_of(line: str, number: int, rest: bool) -> str:
    words = line.split(None, number) if rest else line.split()
    return words[number].rstrip() if number < len(words) else ""


def _mapfile(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    valued = frozenset({"-d", "-n", "-O", "-s", "-u", "-C", "-c"})
    names = split_options(arguments, valued)[1]
    source = fed if fed is not None else UNKNOWN
    lines = (line for text in source.texts for line in text.split("\n") if line)
    scope.names[(names[0].text if names else None) or "MAPFILE"] = Value(lines, source.known)
    return NOTHING


def _set(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    texts = [argument.text for argument in arguments]
    if "--" in texts:
        scope.places = arguments[texts.index("--") + 1 :]
    elif any(text is None or text[:1] not in {"-", "+"} for text in texts):
        scope.places = None  # operands behind options that are not told apart here
    return NOTHING


def _shift(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    count = (arguments[0].text or "") if arguments else "1"
    scope.places = scope.places[int(count) :] if scope.places is not None and count.isdigit() else None
    return NOTHING


def _unset(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    for name in split_options(arguments)[1]:
        for text in name.texts:
            scope.names[text] = NOTHING
            scope.functions.pop(text, None)
    return NOTHING


def _eval(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    return walk.read_script(join(arguments), scope, fed) if arguments else NOTHING


def _trap(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    operands = split_options(arguments)[1]
    if len(operands) > 1 and operands[0].text not in {"", "-"}:
        walk.read_script(operands[0], scope.copy(), None)
    return NOTHING


def _silent(walk: Walk, arguments: list[Value], scope: Scope, fed: Value | None) -> Value:
    return NOTHING


BUILTINS: dict[str, Builtin] = {
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
    **dict.fromkeys((":", "[", "break", "continue", "exit", "false", "mkdir", "return", "test", "true"), _silent),
}
