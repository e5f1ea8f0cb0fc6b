"""Which programs write where, as tables that the walk over a command line looks up.

A new writer is one function and one row: it gets the arguments as they may turn out and names the paths it changes.
Programs that run another command and shells that read a text have tables of their own. What stands in none of them is
taken not to write; whatever it does is found out after the call. Most hooks only ask `cannot_write`, so the walk's own
modules are loaded when it walks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.guard.shellwalk import Walk
    from clearway.guard.shellwords import Scope, Value
    from clearway.guard.toolcall import Action

SCANNED_CHARS_MAX = 65_536  # a longer command goes to the parser without being looked at first

_SEPARATORS = str.maketrans(dict.fromkeys(";|&()<=,\n\t!#%:@[]^~*?/", " ") | dict.fromkeys("'\"\\", ""))


def cannot_write(command: str) -> bool:
    """Whether a command line plainly writes nothing that reading it could show: no redirection, none of the programs
    in these tables under any quoting, and nothing that could hide one. No parser is needed then."""
    if len(command) > SCANNED_CHARS_MAX or any(sign in command for sign in ">$`{"):
        return False
    plain = command.replace("\\\n", "").translate(_SEPARATORS)
    words = plain.split()
    if not SUSPECTS.isdisjoint(words):
        return False
    if "git" not in plain and "gh" not in words:
        return True
    from clearway.guard.gitglance import git_is_harmless

    return git_is_harmless(command)


class Run:
    """One program about to run: its arguments, what it will read from stdin (None: nothing was given to it), and the
    shell around it."""

    __slots__ = ("arguments", "scope", "stdin", "walk")

    def __init__(self, arguments: list[Value], stdin: Value | None, scope: Scope, walk: Walk) -> None:
        self.arguments = arguments
        self.stdin = stdin
        self.scope = scope
        self.walk = walk


def split_options(
    arguments: list[Value], valued: frozenset[str] = frozenset(), *, anywhere: bool = False
) -> tuple[list[tuple[str, Value | None]], list[Value]]:
    """Options, with the values of those in `valued`, and the rest. Options end at the first operand, unless they may
    stand `anywhere`."""
    from clearway.guard.shellwords import Value

    options: list[tuple[str, Value | None]] = []
    operands: list[Value] = []
    waiting = iter(arguments)
    for argument in waiting:
        text = argument.text
        if text == "--":
            break
        if text is None or text in {"", "-"} or text[0] != "-":
            operands.append(argument)
            if not anywhere:
                break
            continue
        option, attached = _option(text, valued)
        value = Value((attached,)) if attached else None
        if not attached and option in valued:
            value = next(waiting, None)
        options.append((option, value))
    return options, operands + list(waiting)


def _option(text: str, valued: frozenset[str]) -> tuple[str, str]:
    """The option in `-x`, `-xVALUE`, `-abx`, `--long` or `--long=VALUE`, and the value attached to it."""
    if text.startswith("--"):
        name, _, attached = text.partition("=")
        return name, attached
    for at in range(1, len(text)):
        if "-" + text[at] in valued:
            return "-" + text[at], text[at + 1 :]
    return text, ""


# Programs that write to what their arguments name.


def _tee(run: Run) -> Iterable[tuple[Value, Action]]:
    return [(operand, "edit") for operand in split_options(run.arguments, anywhere=True)[1]]


_PATCH_VALUED = frozenset(
    "-i --input -o --output -d --directory -D -F -p -B -r -V -x -Y -z -g".split(),
)


def _patched_file(run: Run) -> Iterable[tuple[Value, Action]]:
    """`patch FILE`, whatever names stand in the patch; `patch -o FILE`."""
    from clearway.guard.shellwords import Value

    options, operands = split_options(run.arguments, _PATCH_VALUED, anywhere=True)
    given = dict(options)
    if "--dry-run" in given:
        return []
    other = given.get("-o") or given.get("--output")
    goals = [other] if other else operands[:1]
    folder = given.get("-d") or given.get("--directory")
    return [(folder.then(Value(("/",))).then(goal) if folder else goal, "edit") for goal in goals]


WRITERS: dict[str, Callable[[Run], Iterable[tuple[Value, Action]]]] = {
    "patch": _patched_file,
    "tee": _tee,
}


# Programs that apply a patch: each gives the text of the patch, or None if it applies none.


def _marked_patch(run: Run) -> Value | None:
    return run.arguments[0] if run.arguments else run.stdin


def _patch(run: Run) -> Value | None:
    from clearway.guard.shellwords import UNKNOWN

    options, operands = split_options(run.arguments, _PATCH_VALUED, anywhere=True)
    given = {option for option, _ in options}
    if "--dry-run" in given or operands or given & {"-o", "--output"}:  # then the file is named
        return None
    return UNKNOWN if given & {"-i", "--input", "-d", "--directory"} else run.stdin


def _git(run: Run) -> Value | None:
    from clearway.guard.shellwords import UNKNOWN

    valued = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
    options, words = split_options(run.arguments, valued)
    if not words or words[0].text not in {"apply", "am"}:
        return None
    more, files = split_options(words[1:], frozenset({"-p", "-C"}), anywhere=True)
    given = {option for option, _ in more}
    if given & {"--check", "--stat", "--numstat", "--summary"} and "--apply" not in given:
        return None
    elsewhere = any(option in {"-C", "--work-tree"} for option, _ in options) or "--directory" in given
    from_files = any(file.text != "-" for file in files)
    return UNKNOWN if words[0].text == "am" or from_files or elsewhere else run.stdin


PATCHERS: dict[str, Callable[[Run], Value | None]] = {
    "apply_patch": _marked_patch,
    "applypatch": _marked_patch,
    "patch": _patch,
    "git": _git,
}


# Programs that run the command behind them.


class Wrapper:
    """How to find that command: `valued` options take a value, so many operands are `skipped`, NAME=VALUE is allowed
    before it if it `assigns`, and options in `moves` change the directory."""

    __slots__ = ("assigns", "here", "moves", "skipped", "valued")

    def __init__(
        self,
        valued: str = "",
        *,
        skipped: int = 0,
        assigns: bool = False,
        here: bool = False,
        moves: str = "",
    ) -> None:
        self.valued = frozenset(valued.split()) | frozenset(moves.split())
        self.skipped = skipped
        self.assigns = assigns
        self.here = here  # in the shell itself, not in a process of its own
        self.moves = frozenset(moves.split())


WRAPPERS: dict[str, Wrapper] = {
    "builtin": Wrapper(here=True),
    "busybox": Wrapper(),
    "caffeinate": Wrapper("-t -w"),
    "chronic": Wrapper(),
    "command": Wrapper(here=True),
    "doas": Wrapper("-u -C"),
    "env": Wrapper("-u --unset -S --split-string -P", assigns=True, moves="-C --chdir"),
    "exec": Wrapper("-a", here=True),
    "fakeroot": Wrapper("-l -s -i -b"),
    "flock": Wrapper("-w --timeout -E --conflict-exit-code", skipped=1),
    "gtimeout": Wrapper("-s --signal -k --kill-after", skipped=1),
    "ionice": Wrapper("-c --class -n --classdata -p --pid"),
    "nice": Wrapper("-n --adjustment"),
    "noglob": Wrapper(here=True),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "stdbuf": Wrapper("-i --input -o --output -e --error"),
    "sudo": Wrapper(
        "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout -U "
        "--other-user -R --chroot",
        assigns=True,
        moves="-D --chdir",
    ),
    "taskset": Wrapper(skipped=1),
    "time": Wrapper("-f --format -o --output"),
    "timeout": Wrapper("-s --signal -k --kill-after", skipped=1),
    "unbuffer": Wrapper(),
    "winpty": Wrapper(),
}

XARGS_VALUED = frozenset(
    "-a --arg-file -d --delimiter -E -I -J -L --max-lines -n --max-args -P --max-procs -R -s --max-chars".split()
)

# Programs that read a text as commands.
SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "mksh", "ash"})

SUSPECTS = frozenset({*WRITERS, *PATCHERS, *SHELLS, "eval", "apply", "am"}) - {"git"}
