"""What a glance at a command line proves, without a parser.

`is_short`: it is over in a moment, so nobody needs to know that it runs. `starts_nothing`: it runs no script of this
tree. Both look at the word that each simple command begins with; a line that they cannot take apart at once is left to
the parser. They speak of lines that plainly write nothing (`writers.cannot_write`) and promise nothing about others.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

GLANCED_CHARS_MAX = 8_192  # a longer line is left to the parser
FOLDERS_MAX = 32  # commands of a line, of which it is asked where they go

_BREAKS = str.maketrans(dict.fromkeys(";|&()\n", "\n"))
_QUOTES = str.maketrans(dict.fromkeys("'\"\\", ""))
_KEYWORDS = frozenset(
    "if then elif else fi while until do done for in case esac function select coproc time [[ { } . source eval "
    "parallel watch entr xargs su script".split()
)

QUICK = frozenset(
    ": [ basename cat cd cksum cmp column comm cut date df diff dirname du echo egrep expr false fgrep file getconf "
    "grep groups head hostname id jq ls md5 md5sum nl nproc od pgrep printf ps pwd readlink realpath sha1sum "
    "sha256sum shasum sort stat strings tac test tr tree true type uname uniq uptime wc whereis which who whoami "
    "xxd".split()
)
_GIT_QUICK = frozenset(
    "blame branch cat-file check-ignore describe diff for-each-ref log ls-files ls-tree merge-base name-rev reflog "
    "remote rev-list rev-parse shortlog show status symbolic-ref tag version".split()
)
_GIT_SHOWS = ("advice.", "color.", "core.pager=cat", "core.quotepath=", "safe.directory=", "user.")  # of `git -c`
_HARMLESS_NAMES = frozenset({"GIT_DIR", "GIT_OPTIONAL_LOCKS", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "GIT_WORK_TREE"})
_BEFORE = frozenset("! then do else elif if while until".split())
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./+:@%,")
_BRACKETS = frozenset({"[", ":"})
_PARTS = str.maketrans(dict.fromkeys("=,/:@", " "))
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def is_short(command: str) -> bool:
    """Whether every program in the line is known to end at once, and to start no other."""
    if ("GIT_" in command or "LD_" in command) and not all(map(_is_harmless_name, command.split())):
        return False
    found = _commands(command)
    return found is not None and all(_is_quick(words) for words in found)


def starts_nothing(command: str, declared: bool = False) -> bool:
    """Whether no program in the line runs a script from a file, or another program that may. declared: the room names
    commands of its own, which only the parser tells."""
    from clearway.guard.starters import LAUNCHERS, interpreter
    from clearway.guard.writers import SHELLS, WRAPPERS

    if declared:
        return False
    found = _commands(command)
    if found is None:
        return False
    for words in found:
        first = words[0].translate(_QUOTES)
        program = first.rpartition("/")[2]
        if "/" in first or "<" in first or first[:1] == "~" or not first or program in _KEYWORDS:
            return False
        if program == "find" and not _find(words[1:]):
            return False
        if program in LAUNCHERS and not LAUNCHERS[program][0].isdisjoint(words):
            return False
        if program in SHELLS or program in WRAPPERS or interpreter(program) is not None:
            return False
    return True


def only_looks(command: str) -> bool:
    """Whether every program in the line that could write is used in a form that does not. It is looked for where a
    command begins; a word elsewhere is only a word, unless the program there runs what stands behind it."""
    found = _commands(command)
    if found is None:
        return False
    return all(_looks(words, found[number + 1 :]) for number, words in enumerate(found))


def folders(command: str) -> list[str]:
    """The folders that a line plainly goes to before it runs something there: `cd FOLDER`, `make -C FOLDER`."""
    if "cd " not in command and "pushd " not in command and " -C" not in command:
        return []
    found: list[str] = []
    for words in (_commands(command) or [])[:FOLDERS_MAX]:
        words = words[1:] if words[0] in _BEFORE else words
        at = 1 if words[:1] in (["cd"], ["pushd"]) else words.index("-C") + 1 if "-C" in words else 0
        rest = " ".join(words[at:]) if at else ""
        sign = rest[:1] if rest[:1] in {"'", '"'} else ""
        named = rest[1:].partition(sign)[0] if sign else rest.partition(" ")[0].translate(_QUOTES)
        found += [named] if named and named[0] != "-" else []
    return found


def _is_cut(words: list[str]) -> bool:
    """Whether a break within quotes may have cut a command short."""
    text = "".join(words)
    single, double = text.count("'"), text.count('"')
    return "\\" in text or single % 2 == 1 or double % 2 == 1 or (single > 0 and double > 0)


def _looks(words: list[str], later: list[list[str]]) -> bool:
    from clearway.guard.starters import LAUNCHERS, interpreter
    from clearway.guard.writers import RUNS_OTHERS, RUNS_TEXTS, SHELLS, SOMETIMES, SUSPECTS, WRAPPERS

    plain = [word.translate(_QUOTES) for word in words]
    while plain and (plain[0] in _BEFORE or plain[0] == ""):
        del plain[0]
    if not plain:
        return True
    first, *rest = plain
    if _is_cut(words):  # then any word behind it may be one of its own
        rest += [word.translate(_QUOTES) for more in later for word in more]
    program = first.rpartition("/")[2].lower().removesuffix(".exe")
    if (
        program in _KEYWORDS
        or program in SHELLS
        or program in RUNS_TEXTS
        or not (_NAME.issuperset(first) or first in _BRACKETS)
    ):
        return False
    runs = program in WRAPPERS or program in LAUNCHERS or program in RUNS_OTHERS or interpreter(program) is not None
    if runs and not all(SUSPECTS.isdisjoint(word.translate(_PARTS).split()) for word in rest):
        return False
    if program == "xargs":  # what it is fed becomes words of the command
        return not any(word in WRAPPERS or word in LAUNCHERS or word[:2] in {"-I", "-i", "-J"} for word in rest)
    if program in _OWN_FORMS:
        return _OWN_FORMS[program](rest)
    if program in SOMETIMES:
        letters, told = SOMETIMES[program]
        return not any(word in told or (word[:1] == "-" and not set(letters).isdisjoint(word)) for word in rest)
    return program not in SUSPECTS or program in RUNS_OTHERS


def _sed_shows(arguments: list[str]) -> bool:
    """No option to edit in place, and no script that could write to a file."""
    return not any("w" in word or (word[:1] == "-" and "i" in word) for word in arguments)


def _uniq_shows(arguments: list[str]) -> bool:
    return sum(word[:1] != "-" for word in arguments) < 2


_OWN_FORMS: dict[str, Callable[[list[str]], bool]] = {"sed": _sed_shows, "gsed": _sed_shows, "uniq": _uniq_shows}


def _commands(command: str) -> list[list[str]] | None:
    """The words of each simple command, NAME=VALUE before it left out. A break within quotes makes one too many,
    which only makes the answer more modest."""
    if len(command) > GLANCED_CHARS_MAX:
        return None
    from clearway.guard.writers import without_nowhere

    found: list[list[str]] = []
    for line in without_nowhere(command).replace("\\\n", "").translate(_BREAKS).split("\n"):
        words = line.split()
        while words and (words[0] == "!" or words[0].partition("=")[0].isidentifier() and "=" in words[0]):
            del words[0]
        if words:
            found.append(words)
    return found


def _is_quick(words: list[str]) -> bool:
    program = words[0]
    if program in QUICK:
        return True
    look = _WITH_ARGUMENTS.get(program)
    return look is not None and look(words[1:])


def _is_harmless_name(word: str) -> bool:
    """`GIT_TRACE=FILE git status` writes, `GIT_EXTERNAL_DIFF=x git diff` runs x, and so does `LD_PRELOAD=x ls`."""
    name, sign, _ = word.partition("=")
    return not sign or not name.startswith(("GIT_", "LD_", "DYLD_")) or name in _HARMLESS_NAMES


def _git(arguments: list[str]) -> bool:
    while arguments and arguments[0][:1] == "-":
        if arguments[0] == "-c" and not "".join(arguments[1:2]).translate(_QUOTES).lower().startswith(_GIT_SHOWS):
            return False
        arguments = arguments[2 if arguments[0] in {"-C", "-c"} else 1 :]
    return bool(arguments) and arguments[0] in _GIT_QUICK


def _find(arguments: list[str]) -> bool:
    return _FIND_RUNS.isdisjoint(arguments)


def _rg(arguments: list[str]) -> bool:
    """`--pre COMMAND` is run for every file."""
    return not any(each.startswith(("--pre", "--hostname-bin")) for each in arguments)


def _tail(arguments: list[str]) -> bool:
    return not any(each[:1] == "-" and ("f" in each or "F" in each or "retry" in each) for each in arguments)


def _sed(arguments: list[str]) -> bool:
    """`sed -n 1,40p FILE`: only lines by their numbers are shown."""
    if len(arguments) < 2 or arguments[0] != "-n":
        return False
    return not arguments[1].translate(_QUOTES).strip("0123456789,;p")


_WITH_ARGUMENTS: dict[str, Callable[[list[str]], bool]] = {
    "git": _git,
    "find": _find,
    "rg": _rg,
    "tail": _tail,
    "sed": _sed,
}
