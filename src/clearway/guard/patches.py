"""Which files a patch touches, in every form that agents write.

Two grammars: the marked one (`*** Begin Patch`, one header for each file) and unified diffs, plain or from git. Only
headers are read; whether the patch applies is the client's affair. Every line is looked at once, so a patch of many
megabytes costs milliseconds. Where two tools would read a doubtful line differently, the reading of the client that
applies it counts (Codex, tried by hand), and else the one that names more files: a file too many is a refusal that
can be explained, a file too few is somebody's lost work.
"""

from __future__ import annotations

from clearway.guard.toolcall import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.guard.toolcall import Action

COMMANDS = frozenset({"apply_patch", "applypatch"})  # programs that take a marked patch as argument or on stdin

_BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_MOVE = "*** Move to:"
_HEADERS: tuple[tuple[str, Action], ...] = (
    ("*** Add File:", "create"),
    ("*** Update File:", "edit"),
    ("*** Delete File:", "delete"),
    (_MOVE, "create"),
)
_SIGNS = (_BEGIN, *(header for header, _ in _HEADERS))
_MARKERS = (*_SIGNS, _END)
_NOWHERE = "/dev/null"
# What git writes in front of the old and the new name, its `mnemonicPrefix` spellings included.
_PREFIXES = frozenset({("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/")})
_HEADER_SIGNS = frozenset("@+dnrc")
_CONTEXT_SIGNS = frozenset({" ", "", "\r", "\t"})  # an empty line may have lost its space
_FALSE_STARTS_MAX = 10_000  # lines of dashes before the first header; after so many, everything is read
_ESCAPES = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_OCTAL = frozenset("01234567")
_NAME_CHARS_MAX = 65_536  # longer than any file system allows: such a name is refused where it is resolved


def targets(text: str) -> list[Target]:
    """The files that a patch touches, each once, in its order. Text that is no patch has none."""
    marked, diff = _first_marker(text), _first_diff(text)
    if marked >= 0 and not 0 <= diff < marked:
        return _each_once(_marked(text[marked:]))
    return _each_once(_unified(text[diff:])) if diff >= 0 else []


def in_array(words: list[str]) -> str | None:
    """The patch in an argument vector like `["apply_patch", text]`, which no shell will read."""
    if len(words) > 1 and words[0].rpartition("/")[2] in COMMANDS:
        return words[1]
    return None


def in_unreadable(command: str) -> list[Target]:
    """What the patches in a command line touch when its shell syntax cannot be read: judged by the lines alone."""
    places = [at for at in map(command.find, COMMANDS) if at >= 0]
    return targets(command[min(places) :]) if places else []


def _each_once(found: Iterable[Target]) -> list[Target]:
    return list(dict.fromkeys(target for target in found if target.path not in {"", _NOWHERE}))


# The marked form.


def _first_marker(text: str) -> int:
    for start, _, line in _marker_lines(text):
        if line.startswith(_SIGNS):
            return start
    return -1


def _marked(text: str) -> list[Target]:
    """Codex reads a header in an Update only at the margin (a space begins a context line), elsewhere also indented.
    A patch that is indented as a whole has its margin where its first line stands."""
    found: list[Target] = []
    inside = True
    margin = ""
    updated: Target | None = None
    for _, indent, line in _marker_lines(text):
        if updated and indent not in {"", margin}:
            continue
        if line.startswith((_BEGIN, _END)):
            inside, margin, updated = line.startswith(_BEGIN), indent, None
            continue
        target = _header(line) if inside else None
        if not target:
            continue
        found.append(target)
        if line.startswith(_MOVE) and updated:
            updated.action = "move"
        else:
            updated = target if target.action == "edit" else None
    return found


def _header(line: str) -> Target | None:
    for header, action in _HEADERS:
        path = line[len(header) :].strip()
        if path and line.startswith(header):
            return Target(path, action)
    return None


def _marker_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Lines that begin with a marker: (where, indentation, the rest of the line)."""
    at = text.find("*** ")
    while at >= 0:
        end = at + 4
        if text.startswith(_MARKERS, at):
            start = text.rfind("\n", 0, at) + 1
            end = text.find("\n", at)
            end = len(text) if end < 0 else end  # only a line's first word can be a marker
            if not text[start:at].strip():
                yield start, text[start:at], text[at:end].rstrip()
        at = text.find("*** ", end)


# Unified diffs.


class _File:
    """What the headers of one file have said so far."""

    __slots__ = ("action", "copied", "named", "new", "old", "renamed")

    def __init__(self, old: str = "", new: str = "") -> None:
        self.old = old
        self.new = new
        self.action: Action = "edit"
        self.renamed = ""
        self.copied = False
        self.named = False  # its `---` and `+++` lines have been seen

    def is_about(self, old: str, new: str) -> bool:
        """Whether these `---` and `+++` names can belong to the file that `diff --git` announced."""
        return not self.named and {old, new} <= {self.old, self.new, self.renamed, _NOWHERE}

    def name(self, old: str, new: str) -> None:
        self.named = True
        if not self.renamed and not self.copied:
            self.old, self.new = old, new

    def targets(self) -> Iterator[Target]:
        if self.renamed:
            yield Target(self.renamed, "move")
        if self.renamed or self.copied or self.action == "create" or self.old == _NOWHERE:
            yield Target(self.new, "create")
        elif self.action == "delete" or self.new == _NOWHERE:
            yield Target(self.old, "delete")
        else:
            yield Target(self.new, "edit")
            if self.old != self.new:
                yield Target(self.old, "edit")  # `patch` takes whichever of the two exists


def _first_diff(text: str) -> int:
    """Where the first header of a diff stands: a git line, or `---` with `+++` below it."""
    git, first = _line_start(text, "diff --git ", 0), _line_start(text, "--- ", 0)
    plain = first
    for _ in range(_FALSE_STARTS_MAX):
        if plain < 0 or text.startswith("+++ ", text.find("\n", plain) + 1):
            break
        plain = _line_start(text, "--- ", plain + 1)
    else:
        plain = first
    return min((start for start in (git, plain) if start >= 0), default=-1)


def _line_start(text: str, sign: str, after: int) -> int:
    if after == 0 and text.startswith(sign):
        return 0
    return text.find("\n" + sign, after) + 1 or -1


def _unified(text: str) -> Iterator[Target]:
    lines = iter(text.split("\n"))
    file = _File()
    above = ""
    line = next(lines, None)
    while line is not None:
        following = None
        if line[:1] not in _HEADER_SIGNS:
            pass
        elif line.startswith("@@"):
            following = _after_hunk(lines, *_hunk_size(line))
        elif line.startswith("diff --git "):
            yield from file.targets()
            file = _File(*_names_of_git(line[len("diff --git ") :].rstrip()))
        elif line.startswith("+++ ") and above.startswith("--- "):
            old, new = _without_prefixes(_name(above[4:]), _name(line[4:]))
            if not file.is_about(old, new):
                yield from file.targets()
                file = _File()
            file.name(old, new)
        else:
            _extend(file, line)
        above = line
        line = following if following is not None else next(lines, None)
    yield from file.targets()


def _after_hunk(lines: Iterator[str], old: int, new: int) -> str | None:
    """The line behind a hunk that shows so many lines of the old and of the new file. What looks like a header inside
    is text; a line that cannot stand in a hunk ends it, because then the numbers were wrong."""
    while old > 0 or new > 0:
        line = next(lines, None)
        if line is None:
            return None
        sign = line[:1]
        if sign == "+":
            new -= 1
        elif sign == "-":
            old -= 1
        elif sign in _CONTEXT_SIGNS:
            old -= 1
            new -= 1
        elif sign != "\\":
            return line
    return None


def _hunk_size(line: str) -> tuple[int, int]:
    """`@@ -1,4 +1,5 @@` -> (4, 5). A hunk without numbers shows nothing that could be counted."""
    parts = line.split(" ", 3)
    if len(parts) < 3 or not (parts[1].startswith("-") and parts[2].startswith("+")):
        return 0, 0
    return _count(parts[1]), _count(parts[2])


def _count(span: str) -> int:
    _, comma, count = span.partition(",")
    if not comma:
        return 1
    return int(count) if count.isascii() and count.isdigit() and len(count) < 10 else 0


def _extend(file: _File, line: str) -> None:
    """One of git's extended header lines."""
    if line.startswith("deleted file mode"):
        file.action = "delete"
    elif line.startswith("new file mode"):
        file.action = "create"
    elif line.startswith("rename from "):
        file.renamed = _name(line[12:])
    elif line.startswith("rename to "):
        file.new = _name(line[10:])
    elif line.startswith("copy to "):
        file.new, file.copied = _name(line[8:]), True


def _names_of_git(names: str) -> tuple[str, str]:
    """The two names of a `diff --git` line. Without quotes only equal names can be told apart where they have spaces;
    different ones are told again by the lines that follow."""
    if names.startswith('"'):
        old, end = _unquoted(names)
        return _without_prefixes(old, _name(names[end:]))
    if names.endswith('"'):
        old, _, new = names.partition(' "')
        return _without_prefixes(old, _name('"' + new))
    middle = len(names) // 2
    old, new = names[:middle], names[middle + 1 :]
    if names[middle : middle + 1] == " " and (old == new or old[2:] == new[2:]):
        return _without_prefixes(old, new)
    old, apart, new = names.partition(" b/")
    return _without_prefixes(old, "b/" + new) if apart else ("", "")


def _without_prefixes(old: str, new: str) -> tuple[str, str]:
    pair = (old[:2], new[:2])
    if pair in _PREFIXES or pair[::-1] in _PREFIXES:
        return old[2:], new[2:]
    if new == _NOWHERE and pair[0] in {"a/", "b/"}:
        return old[2:], new
    if old == _NOWHERE and pair[1] in {"a/", "b/"}:
        return old, new[2:]
    return old, new


def _name(text: str) -> str:
    """A file name in a header: in C quotes, or up to the tab that a time stamp follows."""
    text = text.strip(" \r")
    return _unquoted(text)[0] if text.startswith('"') else text.partition("\t")[0].rstrip(" \r")


def _unquoted(text: str) -> tuple[str, int]:
    """A name in C quotes, and where it ends. Bytes beyond ASCII stand as octal escapes."""
    found = bytearray()
    at, end = 1, min(len(text), _NAME_CHARS_MAX)
    while at < end and text[at] != '"':
        digits = text[at + 1 : at + 4]
        if text[at] != "\\":
            found += text[at].encode("utf-8", "surrogatepass")
            at += 1
        elif len(digits) == 3 and set(digits) <= _OCTAL:
            found.append(int(digits, 8) & 255)
            at += 4
        else:
            found += _ESCAPES.get(digits[:1], digits[:1]).encode("utf-8", "surrogatepass")
            at += 2
    return found.decode("utf-8", "surrogateescape"), at + 1
