"""What a command line plainly writes, read as mere text: for when the parser is not there, or not done in time.

It knows words, quotes, comments, here-documents, redirections, writers, `cd` and shells within shells, and names only
what stands there letter for letter. That is less than the parser sees and may be wrong, so what it names is asked
about, never claimed: whoever holds one of these files is protected, and nobody else notices.
"""

from __future__ import annotations

import os

from clearway.guard.shellfound import Found
from clearway.guard.shelltree import NO_FILES
from clearway.guard.shellwords import UNKNOWN, Scope, Value, is_swept
from clearway.guard.toolcall import Target
from clearway.guard.writers import SHELLS, WRAPPERS, WRITERS, Run, written_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TOKENS_MAX = 60_000
GUESSES_MAX = 512
DEPTH_MAX = 3

_BEFORE_COMMANDS = frozenset("! { } if then elif else while until do time coproc".split())
_NO_DESCRIPTOR = "0123456789-"
# Arithmetic and tests are passed over: a sign that compares is no redirection there.
_TOKENS = r"""
  (?P<escaped>\\[\s\S]?)
| (?P<single>'[^']*')
| (?P<double>"[^"\\]*(?:\\[\s\S][^"\\]*)*")
| (?P<comment>(?<![^\s;|&()`])\#[^\n]*)
| (?P<opaque>\$?\(\([^()\n]{0,200}\)\)|\[\[\s[^\n]{0,400}?\]\]|\$\{[^}\n]{0,200}\})
| (?P<document><<-?[ \t]*(?:'[^'\n]+'|"[^"\n]+"|\\?[\w.-]+))
| (?P<opened>[$<>]?\()
| (?P<closed>\))
| (?P<here><<<)
| (?P<writes>&>>?|>>|>\||>!|<>|>&|>)
| (?P<reads><&|<)
| (?P<line>\n)
| (?P<ended>[;|&`]+)
| (?P<blank>[ \t\r]+)
| (?P<text>[^\s;|&()<>'"\\$`*?{}\[~]+)
| (?P<other>[\s\S])
"""
_pattern: list[Any] = []


class _Frame:
    """One list of commands: what stands in it so far of the present one, and where it would run."""

    __slots__ = ("cwd", "literal", "pieces", "piped", "wanted", "words")

    def __init__(self, cwd: str | None) -> None:
        self.cwd = cwd  # None where that is not known
        self.words: list[str | None] = []  # None for a word that is not there letter for letter
        self.pieces: list[str] | None = None
        self.literal = True
        self.piped = False  # the command is behind a `|`
        self.wanted = ""  # what the next word is to the command: `writes`, `reads`


class _Reading:
    """One text, from its beginning to its end."""

    def __init__(self, text: str, cwd: str, depth: int) -> None:
        self.found: dict[str, None] = {}
        self._text = text
        self._start = cwd
        self._depth = depth
        self._frame = _Frame(cwd)
        self._outer: list[_Frame] = []
        self._documents: list[tuple[str, bool]] = []

    def read(self) -> None:
        match, at = _matcher(), 0
        for _ in range(TOKENS_MAX):
            token = match(self._text, at)
            if token is None or len(self.found) >= GUESSES_MAX:
                break
            at = token.end()
            kind = token.lastgroup
            if kind == "line":
                at = self._end_line(at)
            else:
                self.STEPS[kind](self, token[0])
        self._end_command()

    def _piece(self, text: str, *, literal: bool = True) -> None:
        frame = self._frame
        frame.pieces = [*(frame.pieces or ()), text] if len(frame.pieces or ()) < 64 else frame.pieces
        frame.literal = frame.literal and literal

    def _escaped(self, token: str) -> None:
        if token != "\\\n":
            self._piece(token[1:])

    def _single(self, token: str) -> None:
        self._piece(token[1:-1])

    def _double(self, token: str) -> None:
        self._piece(token[1:-1], literal="$" not in token and "`" not in token and "\\" not in token)

    def _opaque(self, token: str) -> None:
        self._piece(token, literal=False)

    def _document(self, token: str) -> None:
        self._end_word()
        bare = token.lstrip("<")
        self._documents.append((bare.lstrip("-").strip(" \t'\"\\"), bare[:1] == "-"))

    def _opened(self, token: str) -> None:
        if token == "(":
            self._end_word()
        else:
            self._piece(token, literal=False)
        self._outer.append(self._frame)
        self._frame = _Frame(self._frame.cwd)

    def _closed(self, _: str) -> None:
        self._end_command()
        if self._outer:
            self._frame = self._outer.pop()

    def _here(self, _: str) -> None:
        self._end_word()
        self._frame.wanted = "reads"

    def _writes(self, _: str) -> None:
        frame = self._frame
        if frame.pieces and "".join(frame.pieces).isdigit():  # a descriptor
            frame.pieces = None
        self._end_word()
        frame.wanted = "writes"

    def _reads(self, token: str) -> None:
        self._writes(token)
        self._frame.wanted = "reads"

    def _blank(self, _: str) -> None:
        self._end_word()

    def _ended(self, token: str) -> None:
        frame, here = self._frame, self._frame.cwd
        piped, frame.piped = frame.piped, token in {"|", "|&"}
        self._end_command()
        if piped or token in {"|", "|&", "&"}:  # it ran in a shell of its own
            frame.cwd = here

    def _comment(self, _: str) -> None:
        return

    def _plain(self, token: str) -> None:
        self._piece(token)

    def _other(self, token: str) -> None:
        self._piece(token, literal=token == "}")

    def _end_line(self, at: int) -> int:
        """Where the next command begins: behind the here-documents of this line."""
        self._ended("")
        for word, tabs in self._documents:
            while at < len(self._text):
                end = self._text.find("\n", at)
                end = len(self._text) if end < 0 else end
                line, at = self._text[at:end], end + 1
                if (line.lstrip("\t") if tabs else line).rstrip("\r") == word:
                    break
        self._documents = []
        return at

    def _end_word(self) -> None:
        frame = self._frame
        if frame.pieces is None:
            return
        text, literal = "".join(frame.pieces), frame.literal
        frame.pieces, frame.literal = None, True
        wanted, frame.wanted = frame.wanted, ""
        if wanted == "writes" and literal:
            self._touch(text)
        elif not wanted:
            frame.words.append(text if literal or text in _BEFORE_COMMANDS else None)

    def _end_command(self) -> None:
        self._end_word()
        frame = self._frame
        words, frame.words, frame.wanted = frame.words, [], ""
        while words and _stands_before(words[0]):
            wrapper = words[0] in WRAPPERS
            del words[0]
            while wrapper and words and (words[0] or "").startswith("-"):
                del words[0]
        if not words or words[0] is None:
            return
        program, operands = words[0].rpartition("/")[2], words[1:]
        program = program if program in WRITERS else program.lower().removesuffix(".exe")
        if program in WRITERS:
            self._write(program, operands)
        elif program in {"cd", "pushd", "popd"}:
            self._go(operands)
        elif program in SHELLS and self._depth < DEPTH_MAX:
            self._shell(operands)

    def _write(self, program: str, operands: list[str | None]) -> None:
        """What the tables know of the program, as far as its words stand there."""
        here = self._frame.cwd
        if here is None:  # then only what is named whole counts
            here = "/"
            operands = [operand if operand is None or operand[:1] in {"-", "/"} else None for operand in operands]
        words = [UNKNOWN if operand is None else Value((operand,)) for operand in operands]
        found = Found()  # a writer asks no more of a walk
        run = Run(words, None, Scope(here, ""), found)  # pyright: ignore[reportArgumentType]
        for goal, _ in written_by(program, run):
            for path in goal.texts:
                if not is_swept(path):
                    self._touch(path)

    def _go(self, operands: list[str | None]) -> None:
        frame = self._frame
        goal = operands[-1] if operands else None
        known = goal is not None and goal[:1] not in {"-", "+", ""} and len(operands) == 1
        frame.cwd = os.path.normpath(os.path.join(frame.cwd, goal)) if known and goal and frame.cwd else None

    def _shell(self, operands: list[str | None]) -> None:
        for option, text in zip(operands, operands[1:], strict=False):
            if option is None or option[:1] != "-":
                return
            if option[:2] != "--" and "c" in option:
                if text is not None and self._frame.cwd is not None:
                    within = _Reading(text, self._frame.cwd, self._depth + 1)
                    within.read()
                    for path in within.found:
                        self._touch(path)
                return

    def _touch(self, path: str) -> None:
        here = self._frame.cwd
        if path.strip(_NO_DESCRIPTOR) and path not in NO_FILES and (here is not None or os.path.isabs(path)):
            self.found[path if here in {None, self._start} else os.path.join(here or "", path)] = None

    STEPS: dict[str | None, Callable[[_Reading, str], None]] = {
        "escaped": _escaped,
        "single": _single,
        "double": _double,
        "comment": _comment,
        "opaque": _opaque,
        "document": _document,
        "opened": _opened,
        "closed": _closed,
        "here": _here,
        "writes": _writes,
        "reads": _reads,
        "ended": _ended,
        "blank": _blank,
        "text": _plain,
        "other": _other,
    }


def guessed(text: str, cwd: str) -> list[Target]:
    """The files that a text of commands, started in `cwd`, plainly writes. A relative path is one from there."""
    reading = _Reading(text, cwd, 0)
    reading.read()
    return [Target(path, "edit") for path in reading.found][:GUESSES_MAX]


def _stands_before(word: str | None) -> bool:
    """What may stand before the name of a program."""
    if word is None or word in _BEFORE_COMMANDS or word in WRAPPERS:
        return word is not None
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


def _matcher() -> Callable[[str, int], Any]:
    """Compiled when it is needed, which is seldom: no other hook loads regular expressions."""
    if not _pattern:
        import re

        _pattern.append(re.compile(_TOKENS, re.VERBOSE))
    return _pattern[0].match
