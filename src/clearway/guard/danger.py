"""The danger gate: commands that destroy what no lease protects, refused while a person has switched it on.

It watches the walk over a command line (guard/shellwalk.py), so it sees programs where a shell would run them - behind
wrappers, in variables, in substitutions - and no words that are only said: quotes, here-documents, commit messages. It
judges by tables (guard/perils.py) and follows what comes from the network until something would run it. It decides
from the line alone, takes nothing, and is no wall against somebody who hides a command on purpose.
"""

from __future__ import annotations

from clearway.guard import peril_git, peril_places, perils
from clearway.guard.shellwords import UNKNOWN, Value, join
from clearway.guard.starters import interpreter
from clearway.guard.writers import SHELLS, Run, split_options
from clearway.limits import REFUSAL_BYTES_MAX
from clearway.untrusted import folded, redacted, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.guard.shell import ShellWrites
    from clearway.guard.shellwalk import Walk
    from clearway.guard.shellwords import Scope

WAY_OUT = "Do it another way, or ask the human to run it or to say: clearway off 5m"
ALIASES_MAX = 32
WORDS_SHOWN_MAX = 8
_COMMAND_BYTES_MAX = 70
_STDIN = frozenset({"-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"})
_PROCESS_FILES = "/dev/fd/"

_FETCHERS = frozenset(
    "curl curlie wget wget2 fetch aria2c http https xh httpie lynx w3m links elinks lwp-request GET nc ncat netcat "
    "iwr irm invoke-webrequest invoke-restmethod".split()
)
_SEPARATORS = str.maketrans(dict.fromkeys(";|&()<=,\n\t!#%:@[]^~*?/", " ") | dict.fromkeys("'\"\\", ""))
_SAVERS = frozenset({"wget", "wget2", "aria2c", "fetch"})  # without being told
_SAVED_AS = frozenset({"-o", "--output", "-O", "--output-document", "--out", "--outfile"})
_FETCH_VALUED = frozenset("-o --output -O --output-document -d --data -H --header -X --request -u --user -A -e".split())
_IN_THIS_SHELL = frozenset({"eval", "source", "."})
_EVALUATORS = frozenset({"iex", "invoke-expression"})
_WITH_A_TEXT = frozenset({"su", "script", "watch", "parallel", "ssh", "trap"})
_TIMERS = frozenset({"at", "batch", "crontab"})
_CARED_FOR = _FETCHERS | _EVALUATORS | _TIMERS | {"alias", "su", "ssh", "script", "trap"}


class Watch:
    """What a walk tells about one command line. `why` says in one line what is dangerous in it, empty if nothing is."""

    __slots__ = ("_aliases", "_fetches", "_files", "_goals", "_hungry", "why")

    def __init__(self) -> None:
        self.why = ""
        self._fetches = False  # something in this stage of a pipe prints what it downloads
        self._goals: tuple[str, ...] = ()  # where what the next program prints goes
        self._aliases: dict[str, Value] = {}
        self._files: set[str] = set()  # into which the line has saved what it fetched
        self._hungry = False  # something reads a program from a pipe that is not known yet: `>(sh)`

    def cares(self, command: str) -> bool:
        """Whether a word of a line that hides none (`cannot_write`, `starts_nothing`) may be dangerous."""
        words = command.replace("\\\n", "").translate(_SEPARATORS).split()
        if any(perils.is_perilous(word) or word.lower() in _CARED_FOR for word in words):
            return True
        return any(word.startswith("git") for word in words) and not peril_git.NAMES.isdisjoint(words)

    def before(self, name: Value, arguments: list[Value], fed: Value | None, scope: Scope, walk: Walk) -> None:
        """A program is about to be run."""
        if name.fetched:
            self._found("$(...)", "runs what it downloads")
        for text in name.texts:
            if text in scope.functions:
                if not self.why and _multiplies(text, scope.functions[text]):
                    self._found(f"{text}()", "starts itself twice, without end")
            elif text in self._aliases:
                meant = self._aliases.pop(text)  # in its own text it means the program again
                walk.read_script(join([meant, *arguments]), scope.copy(), fed)
                self._aliases[text] = meant
            else:
                self._judge(text, Run(arguments, fed, scope, walk))

    def printed(self, name: Value, arguments: list[Value], fed: Value | None, printed: Value) -> Value:
        """What a program has printed, marked if it comes from the network."""
        goals, self._goals = self._goals, ()
        printed = self._marked(name, arguments, fed, printed)
        if printed.fetched:
            self._files.update(goals)
            self._fetches = self._fetches or not goals
        return printed

    def writes_to(self, goal: Value) -> None:
        """What comes next prints into a file."""
        self._goals = goal.texts

    def piped(self, printed: Value) -> Value:
        """What a stage of a pipe hands on. What a loop or a branch prints is not known, only where it is from."""
        fetches, self._fetches = self._fetches, False
        return Value(printed.texts, printed.known, True) if fetches and printed is UNKNOWN else printed

    def _marked(self, name: Value, arguments: list[Value], fed: Value | None, printed: Value) -> Value:
        if printed.fetched:
            return printed
        fetchers = [_base(text).lower() for text in name.texts if _base(text).lower() in _FETCHERS]
        fetches = bool(fetchers) and not _saved_as(fetchers[0], arguments)[0]
        if fetches or (fed is not None and fed.fetched):
            return Value(printed.texts, printed.known and not fetches, True)
        return printed

    def done(self, found: ShellWrites) -> None:
        """The walk is over: what the line writes to, by whatever program."""
        for target in found.targets:
            if peril_places.is_disk(target.path):
                self._found(f"> {target.path}", "overwrites a disk")
            elif peril_places.is_history(target.path):
                self._found(f"> {target.path}", "wipes the shell's history")

    def _judge(self, name: str, run: Run) -> None:
        program = _base(name)
        if program == "alias":
            self._alias(run.arguments)
        self._follow_downloads(name, program, run)
        if self.why:
            return
        why = perils.peril(program, run)
        if not why and program == "git":
            why = peril_git.peril(run)
        elif not why and program.startswith("git-"):
            why = peril_git.by_own_name(program, run)
        if why:
            self._found(_shown(program, run.arguments), why)

    def _alias(self, arguments: list[Value]) -> None:
        for argument in arguments:
            name, sign, text = (argument.text or "").partition("=")
            if sign and name and len(self._aliases) < ALIASES_MAX:
                self._aliases[name] = Value((text,))

    # Downloads.

    def _follow_downloads(self, name: str, program: str, run: Run) -> None:
        if program.lower() in _FETCHERS:
            self._files.update(_saved_as(program.lower(), run.arguments)[1])
            return
        fed = run.stdin
        fetched = fed is not None and fed.fetched
        if program == "tee" and fetched:
            self._files.update(perils.texts(split_options(run.arguments, anywhere=True)[1]))
        if name in self._files or name.removeprefix("./") in self._files:
            self._found(name, "runs what the line has just downloaded")
        if fetched and self._hungry and any(text.startswith(_PROCESS_FILES) for text in perils.texts(run.arguments)):
            self._found(_shown(program, run.arguments), "runs what it downloads")
        codes = _codes(program, run)
        if interpreter(program) is not None:
            self._within(program, codes, run)
        if any(code.fetched for code in codes):
            self._found(_shown(program, run.arguments), "runs what it downloads")
        elif any(text in self._files or text.removeprefix("./") in self._files for text in perils.texts(codes)):
            self._found(_shown(program, run.arguments), "runs what the line has just downloaded")
        self._hungry = self._hungry or any(code is UNKNOWN for code in codes)

    def _within(self, program: str, codes: list[Value], run: Run) -> None:
        """A program that stands in the line itself and deletes whole folders."""
        from clearway.guard import inline

        for text in perils.texts(codes):
            for goal in inline.trees(text, program):
                lost = peril_places.lost(run.scope, Value((goal,)))
                if lost:
                    self._found(_shown(program, run.arguments), f"deletes {lost}")

    def _found(self, what: str, why: str) -> None:
        if self.why:
            return
        shown = within(folded(redacted(what[:1_000]), _COMMAND_BYTES_MAX), _COMMAND_BYTES_MAX)
        self.why = f"{shown} {why}"


def sentence(why: str) -> str:
    """The one line for the agent: what, why, what to do instead."""
    return f"{within(why, REFUSAL_BYTES_MAX - len(f'FORBIDDEN: . {WAY_OUT}'))}. {WAY_OUT}"


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _shown(program: str, arguments: list[Value]) -> str:
    words = [argument.text or (argument.patterns or argument.texts or ("...",))[0] for argument in arguments]
    return " ".join([program, *words[:WORDS_SHOWN_MAX]])


def _saved_as(program: str, arguments: list[Value]) -> tuple[bool, list[str]]:
    """Whether a download goes into a file, and into which: what is named, or the last part of the address."""
    options, operands = split_options(arguments, _FETCH_VALUED, anywhere=True)
    files = [text for option, value in options if option in _SAVED_AS and value is not None for text in value.texts]
    named = [text for text in files if "://" not in text]
    if named:
        return not _STDIN & set(named), named
    if not files and program not in _SAVERS:
        return False, []
    addresses = [text for text in [*perils.texts(operands), *files] if "://" in text]
    return bool(files), [text.rstrip("/").partition("?")[0].rpartition("/")[2] for text in addresses]


def _codes(program: str, run: Run) -> list[Value]:
    """What an interpreter would run: texts, the files they are in, or what it reads."""
    if program in _IN_THIS_SHELL:
        return _or_stdin(run.arguments if program == "eval" else run.arguments[:1], run)
    if program.lower() in _EVALUATORS:
        return [*run.arguments, run.stdin or Value()]
    if program in _TIMERS:
        return [run.stdin or Value()]
    if program in _WITH_A_TEXT:
        return run.arguments
    if program in SHELLS or program == "fish":
        return _of_shell(run)
    reads = interpreter(program)
    if reads is None:
        return []
    options, operands = split_options(run.arguments, reads.valued)
    while operands and operands[0].text in reads.words:
        operands = split_options(operands[1:], reads.valued)[1]
    if operands:
        return _or_stdin(operands[:1], run)
    return [value for _, value in options if value is not None] or [run.stdin or Value()]


def _of_shell(run: Run) -> list[Value]:
    """`sh -c TEXT`, `sh FILE`, `sh`, `sh -s ARGUMENTS`."""
    options, operands = split_options(run.arguments, frozenset({"--rcfile", "--init-file", "-o", "-O"}))
    letters = {letter for option, _ in options if option[:2] != "--" for letter in option[1:]}
    if operands and ("c" in letters or "s" not in letters):
        return _or_stdin(operands[:1], run)
    files = [value for option, value in options if option in {"--rcfile", "--init-file"} and value is not None]
    return [*files, run.stdin or Value()]


def _or_stdin(named: list[Value], run: Run) -> list[Value]:
    reads = any(text in _STDIN for text in perils.texts(named))
    return [run.stdin or Value()] if reads else named


def _multiplies(name: str, body: Any) -> bool:
    """Whether a function calls itself at least twice at once: the fork bomb, under any name."""
    from clearway.guard.shellparse import every_node

    calls = 0
    at_once = False
    for node in every_node(body):
        at_once = at_once or node.get("Op") in {"|", "|&"} or node.get("Background") is True
        if node.get("Type") == "CallExpr" and node.get("Args"):
            parts: list[Any] = node["Args"][0]["Parts"]
            calls += len(parts) == 1 and parts[0].get("Value") == name
    return calls >= 2 and at_once
