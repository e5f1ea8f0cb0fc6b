"""Which commands are test runs, and what the end of one says. Pure.

A line counts when one of its commands is a program that runs tests. Its exit status is that of the tests only where
nothing behind them takes their place: of `pytest | tail` the status is tail's, and only what was printed tells. What
cannot be told is neither green nor red. A room may name further commands.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

GREEN, RED = 0, 1
_LINE_CHARS_MAX = 8_192
_READ_CHARS = 4_000  # of what was printed, from its end

_RUNNERS = frozenset(
    "pytest py.test tox nox jest vitest mocha ava tap rspec phpunit pest bats busted ctest prove nose2 trial karma "
    "minitest ginkgo gotestsum behave robot stestr ward cargo-nextest cucumber shellspec zunit venom artillery".split()
)
# Programs that do many things, and the words of theirs that mean tests; a word ending in `*` may go on.
_TASKS: dict[str, tuple[str, ...]] = {
    "go": ("test",),
    "cargo": ("test", "t", "nextest"),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("test*", "t", "tst", "jest", "vitest", "mocha", "playwright")),
    "deno": ("test",),
    **dict.fromkeys(("make", "gmake", "just", "task", "rake", "mage", "invoke", "doit"), ("*test*", "check", "verify")),
    **dict.fromkeys(("mvn", "mvnw"), ("test", "verify", "integration-test")),
    **dict.fromkeys(("gradle", "gradlew"), ("*test*", "*Test*", "check")),
    **dict.fromkeys(
        ("dotnet", "mix", "swift", "bazel", "bazelisk", "buck2", "sbt", "stack", "cabal", "flutter", "dart"), ("test",)
    ),
    "dune": ("test", "runtest"),
    "zig": ("test",),
    "xcodebuild": ("test",),
    "composer": ("test*",),
    "php": ("test", "*phpunit"),
    "rails": ("test*",),
    "cypress": ("run",),
    "playwright": ("test",),
    "hatch": ("test",),
    "rye": ("test",),
    "ng": ("test",),
    "nx": ("test",),
    "turbo": ("test", "run test"),
    "meson": ("test",),
    "ninja": ("test",),
    "node": ("--test",),
}
_MODULES = frozenset({"pytest", "unittest", "nose2", "tox", "nox", "doctest", "trial"})
_BEFORE = frozenset("env time timeout nice nohup sudo command exec stdbuf xvfb-run ! then do else".split())
_RUNS = {  # programs that run another, and the words between
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pixi"), "run"),
    **dict.fromkeys(("npx", "pnpx", "bunx"), ""),
    "bundle": "exec",
    "coverage": "run",
}
_GOOD = ("test result: ok.", "100% tests passed", "BUILD SUCCESS", "\nOK (", "\nOK\n", "Passed!", "\nok  \t", "\nok \t")
_BAD = (
    *("test result: FAILED", "following tests FAILED", "BUILD FAILED", "BUILD FAILURE", "\nFAILED (", "FAILURES!"),
    *("Failed!", "\nFAIL\t", "--- FAIL:", "\nFAIL\n", "Error: Process completed", "no tests ran", "Interrupted: "),
)
_PASSES = frozenset({"passed", "passing", "pass"})
_FAILS = frozenset({"failed", "failing", "failures", "failure", "errors", "error", "fail"})


def is_test(command: str, more: Sequence[Sequence[str]] = ()) -> bool:
    """Whether a line runs tests. more: what else does here, as the words with which each command begins."""
    return any(_is_run(words, more) for words, _ in _split(command))


def is_masked(command: str, more: Sequence[Sequence[str]] = ()) -> bool:
    """Whether the exit status of a line that runs tests is not that of the tests."""
    parts = _split(command)
    piped = "pipefail" in command
    seen = False
    for words, then in parts:
        seen = seen or _is_run(words, more)
        if seen and then and then != "&&" and not (then == "|" and piped):
            return True
    return False


def told(printed: str) -> int | None:
    """What the last lines say: GREEN, RED, or None where they say neither."""
    text = "\n" + printed[-_READ_CHARS:] + "\n"
    if any(sign in text for sign in _BAD):
        return RED
    words = text.replace(",", " ").replace(":", " ").replace("(", " ").replace(")", " ").replace("=", " ").split()
    passes = fails = 0
    for before, word in zip(words, words[1:], strict=False):
        if before.isascii() and before.isdigit() and len(before) < 9:
            passes += int(before) if word in _PASSES or word == "examples" else 0
            fails += int(before) if word in _FAILS else 0
    for word, after in zip(words, words[1:], strict=False):  # `# fail 0`, as TAP and node say it
        if word in ("pass", "fail") and after.isascii() and after.isdigit() and len(after) < 9:
            passes += int(after) if word == "pass" else 0
            fails += int(after) if word == "fail" else 0
    if fails:
        return RED
    return GREEN if passes or any(sign in text for sign in _GOOD) else None


def _is_run(words: list[str], more: Sequence[Sequence[str]]) -> bool:
    words = _behind_wrappers(words)
    if not words:
        return False
    if any(words[: len(known)] == list(known) for known in more if known):
        return True
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program in _RUNNERS:
        return not {"--version", "--help", "--collect-only", "--co"} & set(rest)
    if program in _TASKS:
        return any(_fits(word, known) for word in _goals(program, rest) for known in _TASKS[program])
    if program.startswith(("python", "pypy")):
        return _is_python(rest)
    is_script = "/" in words[0] or program.endswith((".sh", ".py", ".ps1", ".bat"))
    if program in ("sh", "bash", "zsh", "dash", "pwsh", "ruby", "perl") and rest:
        program, is_script = rest[0].rpartition("/")[2], rest[0][:1] != "-"
    return is_script and "test" in program.lower()


def _is_python(rest: list[str]) -> bool:
    if "-c" in rest:
        return False
    if "-m" in rest[:-1]:
        return rest[rest.index("-m") + 1] in _MODULES
    scripts = [word for word in rest if word[:1] != "-"]
    script = scripts[0].rpartition("/")[2] if scripts else ""
    return "test" in script.lower() or (script in ("manage.py", "setup.py") and "test" in scripts[1:2])


def _goals(program: str, rest: list[str]) -> list[str]:
    """The words that say what is to be done: of an npm the first two, of a make all."""
    plain = [word for word in rest if word[:1] != "-" or word == "--test"]
    if program in ("npm", "pnpm", "yarn", "bun"):
        return plain[1:2] if plain[:1] in (["run"], ["run-script"]) else plain[:1]
    return plain if program in ("make", "gmake", "just", "gradle", "gradlew", "mvn", "mvnw", "rake") else plain[:3]


def _fits(word: str, known: str) -> bool:
    if known.startswith("*") and known.endswith("*"):
        return known[1:-1] in word
    if known.startswith("*"):
        return word.endswith(known[1:])
    return word.startswith(known[:-1]) if known.endswith("*") else word == known


def _behind_wrappers(words: list[str]) -> list[str]:
    """What is really run: behind assignments, `timeout 60`, `uv run --with x` and the like."""
    while words:
        first = words[0].rpartition("/")[2]
        name, is_set, _ = first.partition("=")
        if is_set and name.isidentifier():
            words = words[1:]
        elif first in _BEFORE:
            words = words[1:]
            while words and (words[0][:1] == "-" or words[0].rstrip("smhd").isdigit()):
                words = words[1:]
        elif first in _RUNS and (not _RUNS[first] or _RUNS[first] in words[1:3]):
            start = words.index(_RUNS[first]) + 1 if _RUNS[first] else 1
            rest = words[start:]
            if first == "coverage":
                return ["python", *rest]
            while rest and rest[0][:1] == "-":
                takes = rest[0] in ("--with", "--python", "-p", "--extra", "--group", "--package", "-e", "--directory")
                rest = rest[2:] if takes and "=" not in rest[0] else rest[1:]
            words = rest
        else:
            return words
    return words


def _split(line: str) -> list[tuple[list[str], str]]:
    """The simple commands of a line as words without their quotes, and what stands behind each."""
    found: list[tuple[list[str], str]] = []
    words: list[str] = []
    word, quote, began = "", "", False
    text = line[:_LINE_CHARS_MAX] + "\n"
    place = 0
    while place < len(text):
        sign = text[place]
        place += 1
        if quote:
            if sign == quote:
                quote = ""
            else:
                word += sign
            continue
        if sign in "'\"":
            quote, began = sign, True
        elif sign == "\\":
            word += text[place : place + 1].strip("\n")
            place += 1
        elif sign in "|;&\n" and not _is_redirection(text, place - 1):
            then = sign + sign if text[place : place + 1] == sign and sign != "\n" else sign
            place += len(then) - 1
            words += [word] if word or began else []
            if words:
                found.append((words, "" if not text[place:].strip() and then == "\n" else then))
            words, word, began = [], "", False
        elif sign in " \t()":
            words += [word] if word or began else []
            word, began = "", False
        else:
            word += sign
    return found


def _is_redirection(text: str, place: int) -> bool:
    """`2>&1`, `&>` and `>|`."""
    return (text[place] == "&" and (text[place - 1 : place] in (">", "<") or text[place + 1 : place + 2] == ">")) or (
        text[place] == "|" and text[place - 1 : place] == ">"
    )
