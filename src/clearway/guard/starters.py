"""Which programs run a script from a file, as a table that the walk over a command line looks up.

While a script runs, an edit by another would change the text under it: a shell reads on as it goes. So what a line
starts is named beside what it writes. A text given in the line itself is no file, and neither is a module by name.
"""

from __future__ import annotations

from clearway.guard.writers import WRITERS, split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.guard.shellwords import Value
    from clearway.guard.writers import Run


class Interpreter:
    """How to find the script: options in `valued` take a value, one of `inline` (a letter in any cluster, or a long
    option) means that the text stands in the line, or that nothing is run, and operands in `words` come before it."""

    __slots__ = ("inline", "letters", "valued", "words")

    def __init__(self, valued: str = "", *, inline: str = "", letters: str = "", words: str = "") -> None:
        self.valued = frozenset(valued.split())
        self.inline = frozenset(inline.split())
        self.letters = frozenset(letters)
        self.words = frozenset(words.split())


_PYTHON = Interpreter("-W -X --check-hash-based-pycs", letters="cm")
_NODE = Interpreter(
    "-r --require --import --loader --experimental-loader -C --conditions --env-file",
    inline="--eval --print --run --check -c",
    letters="ep",
)

# By program name without its version.
INTERPRETERS: dict[str, Interpreter] = {
    "bun": Interpreter("-r --preload --cwd --env-file", inline="--eval --print", letters="ep", words="run"),
    "deno": Interpreter("-c --config --import-map --lock", words="run"),
    "escript": Interpreter(),
    "expect": Interpreter("-f", letters="c"),
    "fish": Interpreter("-C --init-command", inline="--command", letters="c"),
    "julia": Interpreter("-L --load -p --procs -t --threads", inline="--eval --print", letters="eE"),
    "lua": Interpreter("-l", letters="e"),
    "luajit": Interpreter("-l", letters="e"),
    "node": _NODE,
    "nodejs": _NODE,
    "osascript": Interpreter("-l -s", letters="e"),
    "perl": Interpreter("-I", inline="-c", letters="eE"),
    "php": Interpreter("-d -c -z", inline="--run -l --syntax-check", letters="rRB"),
    "pwsh": Interpreter("-WorkingDirectory", inline="-Command -c -EncodedCommand"),
    "pypy": _PYTHON,
    "python": _PYTHON,
    "pythonw": _PYTHON,
    "Rscript": Interpreter(letters="e"),
    "ruby": Interpreter("-I -r -C -E", inline="-c", letters="e"),
    "tclsh": Interpreter(),
    "ts-node": Interpreter("-P --project -r --require", inline="--eval --print", letters="ep"),
    "tsx": Interpreter("--tsconfig", inline="--eval --print", letters="ep"),
    "wish": Interpreter(),
}

_UV_VALUED = (
    "-p --python -w --with --with-requirements --group --extra --package --project --directory --env-file --index"
)

# Programs that run another program, or a script, behind a word of their own.
LAUNCHERS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(words.split()), frozenset(valued.split()))
    for name, words, valued in (
        ("bundle", "exec", ""),
        ("conda", "run", "-n --name -p --prefix --cwd"),
        ("hatch", "run", "-e --env"),
        ("npm", "exec x", "-w --workspace -c --call --package"),
        ("pdm", "run", "-p --project"),
        ("pipenv", "run", ""),
        ("pixi", "run", "-e --environment --manifest-path"),
        ("pnpm", "exec dlx", "-C --dir --filter"),
        ("poetry", "run", "-C --directory -P --project"),
        ("rye", "run", ""),
        ("uv", "run", _UV_VALUED),
        ("yarn", "exec dlx run", "--cwd"),
    )
}

_RUN_ANYTHING = frozenset({"pnpm", "yarn"})  # `yarn prettier`: a word that is none of their own is a program
_SCRIPT_ENDINGS = (".py", ".sh")  # what a launcher also runs by its bare name


def interpreter(program: str) -> Interpreter | None:
    """The interpreter of that name, whatever its version: `python3.12`."""
    return INTERPRETERS.get(program) or INTERPRETERS.get(program.rstrip("0123456789."))


def script_of(found: Interpreter, arguments: list[Value]) -> Value | None:
    """The file that an interpreter reads its program from, None if it reads it elsewhere."""
    options, operands = split_options(arguments, found.valued)
    for option, _ in options:
        short = option[:1] == "-" and option[:2] != "--"
        if option in found.inline or (short and not found.letters.isdisjoint(option[1:])):
            return None
    while operands and operands[0].text in found.words:
        operands = split_options(operands[1:], found.valued)[1]
    return operands[0] if operands and operands[0].text != "-" else None


def read_inline(program: str, found: Interpreter, run: Run) -> None:
    """Look at a program that stands in the line itself, or is fed to its interpreter, for what it plainly writes."""
    from clearway.guard.inline import written
    from clearway.guard.shellwords import Value

    options, operands = split_options(run.arguments, found.valued)
    given = [value for option, value in options if option in found.inline and value is not None]
    named = operands[:1] if options and operands and operands[0].text != "-" else []
    fed = [run.stdin] if run.stdin is not None and not named else []
    for text in [text for value in given or named or fed for text in value.texts]:
        paths, commands = written(text, program)
        run.walk.suspect(Value(paths), run.scope)
        for command in commands:
            run.walk.read_script(Value((command,)), run.scope.copy(), None)


def launched(program: str, arguments: list[Value]) -> list[Value]:
    """The command line behind a launcher's own words; empty if it launches nothing."""
    words, valued = LAUNCHERS[program]
    operands = split_options(arguments, valued)[1]
    if program == "uv" and [word.text for word in operands[:2]] == ["tool", "run"]:
        operands = operands[1:]
    if not operands or operands[0].text not in words:
        own = bool(operands) and program in _RUN_ANYTHING and WRITERS.get(operands[0].text or "") == "formatters"
        return operands if own else []
    rest = split_options(operands[1:], valued)[1]
    return [*rest[:1], *rest[2:]] if len(rest) > 1 and rest[1].text == "--" else rest  # `npm exec prettier -- -w f`


def is_script_name(text: str) -> bool:
    return text.endswith(_SCRIPT_ENDINGS)
