"""Programs that look for files and do something with each: `find`, `fd`.

What they will find is not asked of the disk: it is written as paths with wildcards, as far as the conditions are about
names. Other conditions (age, size, owner, what is left out) make it unknown.
"""

from __future__ import annotations

from clearway.guard.goals import below
from clearway.guard.shellglobs import ANY
from clearway.guard.shellwords import UNKNOWN, Value
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.guard.writers import Run

ACTS_MAX = 32  # of one search; what goes beyond is not followed
LEFT_OUT_MAX = 64  # words of one condition

# Folders in which nobody edits: what is left out there could not have been held.
NOBODYS = frozenset(".git .hg .mypy_cache .pytest_cache .ruff_cache .tox .venv __pycache__ node_modules venv".split())

_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_NAMES = frozenset({"-name", "-iname"})
_TELLS_NOTHING = frozenset(
    "-print -print0 -depth -d -xdev -mount -follow -true -a -and -o -or ( ) -noleaf -ls -daystart".split()
)
_FILES = frozenset({"f", "d", "l"})
_BY_NAME = frozenset({"-path", "-wholename", "-ipath", "-name", "-iname"})


class _Search:
    """A search so far: where it looks, the names it looks for, and what else limits it."""

    __slots__ = ("deep", "doubtful", "folders", "names", "paths", "starts", "within")

    def __init__(self, folders: list[Value]) -> None:
        self.folders = folders
        self.names: list[Value] = []
        self.paths: list[str] | None = None  # instead of all that is below the folders
        self.deep = True
        self.starts = True  # the folder itself is found as well
        self.within = True
        self.doubtful = False

    def found(self) -> Value:
        """The paths it may find."""
        if self.doubtful or any(not folder.texts for folder in self.folders):
            return UNKNOWN
        texts: list[str] = []
        if self.paths is not None and not self.names:
            return Value(self.paths, known=False)
        for folder in self.folders:
            for where in folder.texts:
                texts += [where] if self.starts and not self.names else []
                texts += [
                    below(where, name.replace("*", ANY).replace("?", ANY), deep=self.deep)
                    for name in (text for each in self.names or [Value(("*",))] for text in each.texts)
                    if self.within
                ]
        return Value(texts, known=False)


def find(run: Run) -> Value:
    words = run.arguments
    at = 0
    while at < len(words) and words[at].text in {"-H", "-L", "-P"}:
        at += 1
    start = at
    while at < len(words) and (words[at].text or "x")[:1] not in "-(!" and words[at].text != "":
        at += 1
    search = _Search(words[start:at] or [Value((".",))])
    acts: list[tuple[str, list[Value]]] = []
    while at < len(words):
        at = _condition(search, words, at, acts)
    if len(acts) > ACTS_MAX:
        run.walk.unknown = True
    for act, rest in acts[:ACTS_MAX]:
        _act(run, search, act, rest)
    printed = search.found()
    silent = any(act == "-delete" or act in _RUNS for act, _ in acts)
    return UNKNOWN if silent else Value((text + "\n" for text in printed.texts), known=False)


def _condition(search: _Search, words: list[Value], at: int, acts: list[tuple[str, list[Value]]]) -> int:
    """Take one condition or action in; where the next one begins."""
    word, value = words[at].text or "", words[at + 1] if at + 1 < len(words) else None
    left_out = _left_out(words, at)
    if left_out:
        return left_out
    if word in _RUNS:
        end = at + 1
        while end < len(words) and words[end].text not in {";", "+"}:
            end += 1
        acts.append((word, words[at + 1 : end]))
        return end + 1
    if word == "-delete":
        acts.append((word, []))
    elif word in _WRITES and value is not None:
        acts.append((word, [value]))
        return at + (3 if word == "-fprintf" else 2)
    elif word in _NAMES and value is not None:
        search.names.append(value if word == "-name" else _any_case(value))
        search.doubtful = search.doubtful or not value.known or any("[" in text for text in value.texts)
        return at + 2
    elif word in {"-path", "-wholename"} and value is not None:
        pattern = _path(value.text or "*")
        search.paths, search.doubtful = pattern, search.doubtful or pattern is None or bool(search.names)
        return at + 2
    elif word == "-regex" and value is not None and (named := endings((value.text or "").removeprefix(".*") + "$")):
        search.names.append(Value(f"*{each}" for each in named))
        return at + 2
    elif word == "-type" and value is not None and value.text in _FILES:
        search.starts = search.starts and value.text == "d"
        return at + 2
    elif word in {"-maxdepth", "-mindepth"} and value is not None:
        depth = value.text or ""
        search.deep = search.deep and (word == "-mindepth" or depth not in {"0", "1"})
        search.starts = search.starts and (word == "-maxdepth" or depth == "0")
        search.within = search.within and (word, depth) != ("-maxdepth", "0")
        return at + 2
    elif word not in _TELLS_NOTHING:
        search.doubtful = True
    return at + 1


def _left_out(words: list[Value], at: int) -> int:
    """Where it goes on behind a condition that only leaves out what nobody holds, `-not -path './.git/*'` or
    `-path ./node_modules -prune -o`; 0 if it is none."""
    texts = [word.text or "" for word in words[at : at + LEFT_OUT_MAX]]
    here = 1 if texts[0] in {"-not", "!"} else 0
    denied = here == 1
    opened = texts[here : here + 1] in (["("], ["\\("])
    here += opened
    while len(texts) > here + 1 and texts[here] in _BY_NAME and _is_nobodys(texts[here + 1]):
        here += 2
        if opened and texts[here : here + 1] in (["-o"], ["-or"]):
            here += 1
        elif opened and texts[here : here + 1] == [")"]:
            here, opened = here + 1, False
            break
        else:
            break
    else:
        return 0
    if opened:
        return 0
    if denied:
        return at + here
    return at + here + 2 if texts[here : here + 1] == ["-prune"] and texts[here + 1 :][:1] in (["-o"], ["-or"]) else 0


def _is_nobodys(pattern: str) -> bool:
    """Whether all that a pattern can match lies in such a folder."""
    return not NOBODYS.isdisjoint(pattern.split("/"))


def only_leaves_out(pattern: str) -> bool:
    """Whether lines that match are paths of such folders: `grep -v node_modules`."""
    names = [name.replace("\\", "").strip("/^$.") for name in pattern.split("|")]
    return all(f".{name}" in NOBODYS or name in NOBODYS for name in names)


def endings(pattern: str, *, extended: bool = False) -> list[str]:
    """The endings that an expression like `\\.py$` or `\\.(js|ts)$` asks for; none if it asks for anything else."""
    if pattern[-1:] != "$" or pattern[:2] != "\\.":
        return []
    names = pattern[2:-1]
    if extended and names[:1] == "(" and names[-1:] == ")":
        names = names[1:-1]
    each = names.split("|") if extended else [names]
    return [f".{name}" for name in each] if all(name.isalnum() for name in each) else []


def _path(pattern: str) -> list[str] | None:
    """`./deploy/*` and `*/name/*`, in which a star reaches across folders; None for what is less simple."""
    front = pattern.startswith("*/")
    middle = pattern.removeprefix("*/").removesuffix("/*")
    if not middle or any(sign in middle for sign in "*?[\\"):
        return None
    where = below(".", middle) if front else middle
    return [below(where) if pattern.endswith("/*") else where]


def _any_case(name: Value) -> Value:
    """As it stands, and in the two usual spellings."""
    return name.either(name.map(str.lower)).either(name.map(str.upper))


def _act(run: Run, search: _Search, act: str, rest: list[Value]) -> None:
    if act == "-delete":
        run.walk.touch(search.found(), "delete", run.scope)
    elif act in _WRITES:
        run.walk.touch(rest[0], "edit", run.scope)
    elif rest:
        found = search.found()
        filled = [
            Value((text.replace("{}", path) for text in word.texts for path in found.texts), known=False)
            if any("{}" in text for text in word.texts)
            else word
            for word in rest
        ]
        run.walk.run(filled, run.scope.copy(), UNKNOWN)


def found_by_name(run: Run) -> Value:
    """`fd -e py -x COMMAND`: every file of an ending. A pattern of `fd` is an expression, which is not read."""
    words = run.arguments
    at = next((n for n, word in enumerate(words) if word.text in {"-x", "-X", "--exec", "--exec-batch"}), len(words))
    valued = frozenset("-e --extension -t --type -d --max-depth -E --exclude -S --size --changed-within".split())
    options, operands = split_options(words[:at], valued, anywhere=True)
    endings = [value for text, value in options if text in {"-e", "--extension"} and value is not None]
    plain = {text for text, _ in options} <= {"-e", "--extension", "-t", "--type", "-H", "-I", "-0"}
    search = _Search(operands[1:] or [Value((".",))])
    search.names = [ending.map(lambda text: f"*.{text}") for ending in endings]
    search.starts = False
    search.doubtful = not plain or not all((operand.text or "") in {".", ""} for operand in operands[:1])
    if at + 1 < len(words):
        rest = words[at + 1 :]
        placed = any("{}" in text for word in rest for text in word.texts)
        _act(run, search, "-exec", rest if placed else [*rest, Value(("{}",))])
        return UNKNOWN
    return Value((text + "\n" for text in search.found().texts), known=False)
