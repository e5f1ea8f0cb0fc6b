"""Shell text to a syntax tree, by `shfmt --to-json` in a child process.

It never raises and never waits past its deadline: text that the parser cannot read, or not in time, gives no tree.
Large here-documents are cut out before parsing and kept beside the tree, because an unquoted body of some megabytes
takes the parser half a minute. The cut is guessed from the text and then proved by the tree: up to the body both texts
are the same, so if the parser finds a here-document exactly there, with what was left in place of the body, it would
have found it in the whole text too. A guess that is not confirmed gives no tree.
"""

from __future__ import annotations

import os
import sys

from clearway import children, wire
from clearway.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeGuard

    from clearway.children import Printed

    Node = dict[str, Any]

# For all runs of the parser that one command needs, and for the walk over what it finds. A hook may take some seconds;
# a file that is written because a busy machine was slow is worse than a late answer.
PARSE_MS_MAX = 1_500
PARSE_BYTES_MAX = 8 * 1_048_576
TREE_BYTES_MAX = 24 * 1_048_576
RUNS_MAX = 12
CUT_FROM_BYTES = 16_384  # shorter commands are parsed as they are
CUT_BODY_BYTES_MIN = 2_048
CUTS_MAX = 64
UNENDED_MAX = 8  # here-documents whose end was looked for in vain
FALSE_ENDS_MAX = 1_000  # lines that begin like the end of a document and are not
TABS_MAX = 256
MENDS_MAX = 3
REMEMBERED_MAX = 128  # texts of which a process that stays keeps the tree
REMEMBERED_BYTES_MAX = 65_536  # of one of them, with its tree

TOO_LONG = "the command is too long to be read in time"
NO_PARSER = "the shell parser (shfmt) cannot be run"

_PLACEHOLDER = b"-\n"
_BLANKS = b" \t"
_BARE_END = b" \t\n;&|<>()`$\"'\\"


class Tree:
    """The statements of a text. `whole` is false if it stops where the syntax did. A here-document that was cut out
    stands as `Cut` in its node, as bytes of the command."""

    __slots__ = ("statements", "whole")

    def __init__(self, root: Node, whole: bool) -> None:
        self.statements: list[Node] = root.get("Stmts") or []
        self.whole = whole


def every_node(root: Any, closed: frozenset[str] = frozenset()) -> Iterator[Node]:
    """All nodes of a tree, whatever they are, without recursion. Those of the types in `closed` are not entered."""
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if _is_list(value):
            waiting.extend(value)
        elif _is_node(value):
            yield value
            if value.get("Type") not in closed:
                waiting.extend(value.values())


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_node(value: Any) -> TypeGuard[Node]:
    return isinstance(value, dict)


class Parser:
    """All parsing that one command needs, under one deadline. `failed` says why some text could not be given to the
    parser, or not be read to its end; it stays empty for text that is merely no good shell."""

    __slots__ = ("_clock", "_deadline", "_runs", "failed")

    def __init__(self) -> None:
        self._clock = Clock()
        self._deadline = self._clock.monotonic() + PARSE_MS_MAX
        self._runs = 0
        self.failed = ""

    def is_late(self) -> bool:
        return self._clock.monotonic() >= self._deadline

    def tree(self, text: str) -> Tree | None:
        """The syntax tree of a text, or of what stands before its first syntax error: a shell runs that, too."""
        data = text.encode("utf-8", "surrogatepass")
        data, bodies = _without_bodies(data) if len(data) > CUT_FROM_BYTES else (data, {})
        whole = True
        for _ in range(MENDS_MAX):
            output, error = self._run(data)
            if output:
                tree = _read(output, {at: body for at, body in bodies.items() if at < len(data)}, whole)
                self.failed = self.failed or (TOO_LONG if tree is None else "")
                return tree
            data, harmless = _mended(data, error)
            whole = whole and harmless
            if not data.strip():
                break
        return None

    def _run(self, data: bytes) -> tuple[bytes, str]:
        left = self._deadline - self._clock.monotonic()
        self._runs += 1
        if left <= 0 or self._runs > RUNS_MAX or len(data) > PARSE_BYTES_MAX:
            self.failed = self.failed or TOO_LONG
            return b"", ""
        try:
            printed = _ask_shfmt(data, left)
        except OSError:  # no such program, no memory, no descriptor left
            self.failed = NO_PARSER
            return b"", ""
        complaint = printed.complaint.decode("utf-8", "replace")
        if not printed.text and not _is_of_syntax(complaint):
            self.failed = self.failed or (NO_PARSER if complaint else TOO_LONG)
        return (b"" if complaint else printed.text), complaint


def _read(output: bytes, bodies: dict[int, bytes], whole: bool) -> Tree | None:
    try:
        root: Node = wire.loads(output)
    except ValueError:
        return None
    if bodies and not _put_back(root, bodies):
        return None
    return Tree(root, whole)


# Mending what a shell accepts and the parser does not.


def _mended(data: bytes, error: str) -> tuple[bytes, bool]:
    """The text to try after an error like `2:5: ...`, and whether it means the same to a shell."""
    place, _, reason = error.partition(": ")
    if reason.startswith("unclosed here-document `"):  # ends with the text: a shell warns and goes on
        return data + b"\n" + reason[len("unclosed here-document `") :].strip("`\n").encode() + b"\n", True
    line = place.rpartition(":")[0].rpartition(":")[2]
    above = int(line) - 1 if line.isascii() and line.isdigit() else 0
    return b"\n".join(data.split(b"\n", above)[:above]), False


# Cutting here-documents out.


def _without_bodies(data: bytes) -> tuple[bytes, dict[int, bytes]]:
    """The text with its large here-documents emptied, and what stood at which offset of the new text."""
    kept: list[bytes] = []
    bodies: dict[int, bytes] = {}
    done = length = 0
    for start, end in _large_bodies(data):
        kept += [data[done:start], _PLACEHOLDER]
        length += start - done
        bodies[length] = data[start:end]
        length += len(_PLACEHOLDER)
        done = end
    return b"".join([*kept, data[done:]]), bodies


def _large_bodies(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the bodies of what look like here-documents begin and end."""
    at = unended = 0
    for _ in range(CUTS_MAX):
        at = data.find(b"<<", at)
        line_end = data.find(b"\n", at)
        if at < 0 or line_end < 0 or unended > UNENDED_MAX:
            return
        delimiter = _delimiter(data[at + 2 : line_end])
        end = _terminator(data, line_end, *delimiter) if delimiter else -1
        if end < 0:
            at += 3 if data[at + 2 : at + 3] == b"<" else 2
            unended += delimiter is not None
            continue
        if end - line_end > CUT_BODY_BYTES_MIN:
            yield line_end + 1, end
        at = end


def _delimiter(rest: bytes) -> tuple[bytes, bool, bool] | None:
    """Of what follows `<<` in its line: the word that ends the document, whether tabs may stand before it, and whether
    it is quoted. None if there is none, or a second document in the same line."""
    if b"<<" in rest or rest[:1] == b"<":
        return None
    tabs = rest[:1] == b"-"
    rest = rest[tabs:].lstrip(_BLANKS)
    quote = rest[:1]
    if quote in {b"'", b'"'}:
        word, closed, _ = rest[1:].partition(quote)
        return (word, tabs, True) if closed and word else None
    bare = rest.lstrip(b"\\")
    length = next((at for at, byte in enumerate(bare) if byte in _BARE_END), len(bare))
    return (bare[:length], tabs, bare != rest) if length else None


def _terminator(data: bytes, line_end: int, word: bytes, tabs: bool, quoted: bool) -> int:
    """Where the line that ends the document begins, or -1. `line_end` is the end of the line with the operator."""
    at = line_end
    for _ in range(FALSE_ENDS_MAX):
        at = data.find(word if tabs else b"\n" + word, at)
        if at < 0:
            break
        start = at - _tabs_before(data, at) if tabs else at + 1
        at = (at if tabs else at + 1) + len(word)
        if data[start - 1 : start] == b"\n" and start > line_end and data[at : at + 1] in {b"\n", b"\r", b""}:
            # A line of an unquoted document that ends with a backslash swallows the next: leave that to the parser.
            return start if quoted or data[start - 2 : start - 1] != b"\\" else -1
    return -1


def _tabs_before(data: bytes, at: int) -> int:
    near = data[max(0, at - TABS_MAX) : at]
    return len(near) - len(near.rstrip(b"\t"))


def _put_back(root: Node, bodies: dict[int, bytes]) -> bool:
    """Give every here-document that was cut out its body again; false if one of them is none."""
    documents = {_offset(node["Hdoc"]): node["Hdoc"] for node in every_node(root) if "Hdoc" in node}
    for at, body in bodies.items():
        document = documents.get(at)
        if document is None or _text(document) != _PLACEHOLDER.decode():
            return False
        document["Cut"] = body
    return True


def _offset(node: Node) -> int:
    return node["Pos"]["Offset"]


def _text(document: Node) -> str:
    return "".join(part.get("Value", "?") for part in document["Parts"]).rstrip("\t")


# The child process.


def _ask_shfmt(data: bytes, wait_ms: int) -> Printed:
    """The tree as JSON, or what the parser said against the text; both empty if it took too long."""
    beside = os.path.join(os.path.dirname(sys.executable or ""), "shfmt")
    program = beside if os.path.isabs(beside) and os.access(beside, os.X_OK) else "shfmt"
    if known := REMEMBERED.get(data):
        return known
    arguments = ["--to-json", "-ln=bash"]
    printed = children.run(program, arguments, {}, given=data, wait_ms=wait_ms, bytes_max=TREE_BYTES_MAX)
    if (
        _remembers
        and not printed.late
        and (printed.text or _is_of_syntax(printed.complaint.decode("utf-8", "replace")))
    ):
        _keep_in_mind(data, printed)
    return printed


# What the parser said of a text does not depend on anything else. A process that stays keeps it: clients ask before a
# command and after it, and agents give the same command again.
REMEMBERED: dict[bytes, Printed] = {}
_remembers: list[bool] = []


def remember() -> None:
    """From now on keep what the parser says, within bounds."""
    _remembers[:] = [True]


def forget() -> None:
    """Keep nothing any more."""
    _remembers.clear()
    REMEMBERED.clear()


def _keep_in_mind(data: bytes, printed: Printed) -> None:
    if len(data) + len(printed.text) + len(printed.complaint) > REMEMBERED_BYTES_MAX:
        return
    while len(REMEMBERED) >= REMEMBERED_MAX:  # other threads do the same
        REMEMBERED.pop(next(iter([*REMEMBERED]), b""), None)
    REMEMBERED[data] = printed


def can_parse() -> bool:
    """Whether the parser is there and does its work."""
    parser = Parser()
    tree = parser.tree("echo > f")
    return tree is not None and bool(tree.statements)


def _is_of_syntax(complaint: str) -> bool:
    """An error like `2:5: ...`, not the last words of a program that broke."""
    line, _, column = complaint.partition(": ")[0].removeprefix("<standard input>:").partition(":")
    return line.isdigit() and column.isdigit()
