"""What a word of a command line can become: quotes, escapes, braces, variables and the places a shell may stand in.

A `Value` is the set of texts a word may turn into, and whether that is all it may. Where a branch or a loop leaves
several possibilities, all of them are carried; what depends on anything outside the line is simply not known. The
disk is asked two things only: whether a directory that the line changes to is there, and what names a glob finds.
"""

from __future__ import annotations

import os

from clearway.guard.shellglobs import ANY, DEEP, QUOTED, SOME, globbed, has_glob, without_quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Node = dict[str, Any]

ALTERNATIVES_MAX = 512  # texts that one word may become; what goes beyond makes the word unknown
VALUE_CHARS_MAX = 32 * 1_048_576  # of all these texts together: doubling in a loop ends here
BRACES_MAX = 64
EXPANDED_CHARS_MAX = 65_536  # a longer word with anything to expand in it is not a path

# This shows that there was a pair of quotes, even with nothing in it.
EMPTY_QUOTES = QUOTED + "\1"
_SPECIAL = "\0{},*?[]~ \t\n"
_ANSI = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Value:
    """The texts a word may become. `known` says that it can become nothing else. For those who watch: `fetched`, some
    of it comes from the network; `patterns`, what of it was there before the disk was asked for names."""

    __slots__ = ("fetched", "known", "patterns", "texts")

    def __init__(
        self, texts: Iterable[str] = (), known: bool = True, fetched: bool = False, patterns: Iterable[str] = ()
    ) -> None:
        self.texts = tuple(dict.fromkeys(texts))
        self.known = known
        self.fetched = fetched
        self.patterns = tuple(patterns)
        if len(self.texts) > ALTERNATIVES_MAX:
            self.texts, self.known = self.texts[:ALTERNATIVES_MAX], False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and (self.texts, self.known) == (other.texts, other.known)

    __hash__ = None  # type: ignore[assignment]

    @property
    def text(self) -> str | None:
        """The one text it must become, if there is just one."""
        return self.texts[0] if self.known and len(self.texts) == 1 else None

    def either(self, other: Value) -> Value:
        return Value(self.texts + other.texts, self.known and other.known, self.fetched or other.fetched)

    def then(self, other: Value) -> Value:
        """The one directly followed by the other."""
        left, right = len(self.texts), len(other.texts)
        fetched = self.fetched or other.fetched
        size = right * sum(map(len, self.texts)) + left * sum(map(len, other.texts))
        if left * right > ALTERNATIVES_MAX or size > VALUE_CHARS_MAX:
            return Value((), False, fetched)
        return Value((text + more for text in self.texts for more in other.texts), self.known and other.known, fetched)

    def map(self, change: Callable[[str], str]) -> Value:
        return Value((change(text) for text in self.texts), self.known, self.fetched)


UNKNOWN = Value((), known=False)
NOTHING = Value(("",))


def is_swept(path: str) -> bool:
    """Whether a path stands for others, that are found when the line runs."""
    return DEEP in path or ANY in path or SOME in path


def replaced(argument: Value, place: str, words: Value) -> Value:
    """An argument with what stands for these words filled in."""
    if not any(place in text for text in argument.texts):
        return argument
    texts = (text.replace(place, word) for text in argument.texts for word in words.texts)
    return Value(texts, argument.known and words.known, argument.fetched or words.fetched)


def join(values: list[Value], between: str = " ") -> Value:
    joined = NOTHING
    for number, value in enumerate(values):
        joined = joined.then(value.map(lambda text: between + text)) if number else value
    return joined


class Scope:
    """Where a shell stands and what its names mean, at one point of the line."""

    __slots__ = ("before", "cwd", "failed", "functions", "home", "names", "places", "stack", "start", "stops")

    def __init__(self, cwd: str, home: str) -> None:
        self.start = self.cwd = Value((cwd,))
        self.before = UNKNOWN
        self.home = Value((home,)) if home else UNKNOWN
        self.names: dict[str, Value] = {}
        self.functions: dict[str, Node] = {}
        self.places: list[Value] | None = None  # the positional parameters, where they are known
        self.stack: list[Value] = []  # of pushd
        self.failed: list[Scope] = []  # what is true instead if the last command has failed
        self.stops = False  # at the first failure, by `set -e`

    def copy(self) -> Scope:
        new = Scope.__new__(Scope)
        new.become(self)
        return new

    def become(self, other: Scope) -> None:
        self.start, self.home, self.cwd, self.before = other.start, other.home, other.cwd, other.before
        self.names, self.functions = dict(other.names), dict(other.functions)
        self.places = None if other.places is None else list(other.places)
        self.stack = list(other.stack)
        self.failed, self.stops = list(other.failed), other.stops

    def merge(self, other: Scope) -> None:
        """Afterwards, either of the two may be true."""
        self.go_on()
        for failed in other.failed:
            self.merge(failed)
        self.cwd, self.before = self.cwd.either(other.cwd), self.before.either(other.before)
        for name in self.names.keys() | other.names.keys():
            self.names[name] = self.look_up(name).either(other.look_up(name))
        self.functions.update(other.functions)
        if self.places != other.places:
            self.places = None

    def differs(self, other: Scope) -> bool:
        return self.cwd != other.cwd or self.names != other.names or self.places != other.places

    def look_up(self, name: str) -> Value:
        if name in self.names:
            return self.names[name]
        if name in {"@", "*"} or name.isdigit():
            return self._place(name)
        return {"HOME": self.home, "PWD": self.cwd, "OLDPWD": self.before}.get(name, UNKNOWN)

    def _place(self, name: str) -> Value:
        if self.places is None or name == "0":
            return UNKNOWN
        if name.isdigit():
            number = int(name[:9])
            return self.places[number - 1] if number <= len(self.places) else NOTHING
        every = Value()
        for place in self.places:
            every = every.either(place)
        return every if self.places else NOTHING

    def go(self, where: Value, *, may_be_new: bool = True) -> None:
        """Change the directory, the way a shell does it: `..` takes back the last step, whatever links there are.
        Unless the directory `may_be_new`, one that is not there is doubted until the line says that it goes on."""
        goals = [os.path.normpath(os.path.join(here, path)) for here in self.cwd.texts for path in where.texts]
        known = self.cwd.known and where.known
        if not may_be_new and not self.stops and not all(map(_may_be_there, goals)):
            self.failed.append(self.copy())
        self.before, self.cwd = self.cwd, Value(goals, known)

    def go_on(self) -> None:
        """The next command runs whether or not the last one has failed."""
        for failed in self.lost():
            self.merge(failed)

    def lost(self) -> list[Scope]:
        """The next command runs only if the last one has not failed: the scopes in which it has."""
        failed, self.failed = self.failed, []
        return failed

    def locate(self, path: str) -> Value:
        """Where a path leads from here: as it was written, unless the line has changed the directory."""
        if self.cwd == self.start or os.path.isabs(path):
            return Value((path,))
        return Value((os.path.join(here, path) for here in self.cwd.texts), self.cwd.known)


def _may_be_there(folder: str) -> bool:
    return not os.path.isabs(folder) or os.path.isdir(folder)


# `${name...}`

_LETTERS: dict[str, Callable[[str], str]] = {
    ",,": str.lower,
    "^^": str.upper,
    ",": lambda text: text[:1].lower() + text[1:],
    "^": lambda text: text[:1].upper() + text[1:],
}


def defaulted(value: Value, sign: str, other: Value) -> Value:
    """`${name:-other}` and its relatives; what changes letters, all of them or the first."""
    if sign in {":?", "?"}:
        return value
    if sign in _LETTERS:
        return value.map(_LETTERS[sign]) if other.text == "" else UNKNOWN
    if sign in {":+", "+"}:
        instead = other if any(value.texts) or not value.known else Value()
        return instead.either(NOTHING) if "" in value.texts or not value.known else instead
    if sign not in {":-", "-", ":=", "="}:
        return UNKNOWN
    if not value.known:
        return Value((*value.texts, *other.texts), False, value.fetched or other.fetched)
    if sign[0] != ":" or "" not in value.texts:
        return value
    return Value((*filter(None, value.texts), *other.texts), other.known)


def rewritten(value: Value, part: Node) -> Value:
    """`${name/old/new}`, `${name:1:2}`, where all stands there letter for letter; unknown for the others."""
    change, piece = part.get("Repl"), part.get("Slice")
    if change:
        old, new = _literal(change.get("Orig")), _literal(change.get("With")) or ""
        if not old or any(sign in old + new for sign in "*?[\\#%&"):
            return UNKNOWN
        return value.map(lambda text: text.replace(old, new, -1 if change.get("All") else 1))
    if piece:
        start, length = _literal(piece.get("Offset")) or "", _literal(piece.get("Length"))
        if not _is_number(start) or (piece.get("Length") and not _is_number(length or "")):
            return UNKNOWN
        end = None if length is None else int(start[:9]) + int(length[:9])
        return value.map(lambda text: text[int(start[:9]) : end])
    return UNKNOWN


def _literal(word: Node | None) -> str | None:
    """A word of one piece without anything to expand; None for another."""
    parts: list[Node] = (word or {}).get("Parts") or []
    return parts[0]["Value"] if len(parts) == 1 and parts[0]["Type"] == "Lit" else None


def trimmed(value: Value, sign: str, pattern: str) -> Value:
    """`${name%.txt}`, `${name%/*}`, `${name##*/}`: patterns with no more than one star, at the open end."""
    front = sign[0] == "#"
    bare = (pattern[1:] if pattern[:1] == "*" else pattern) if front else pattern.removesuffix("*")
    if any(character in bare for character in "*?[\\") or not bare:
        return UNKNOWN
    if bare == pattern:
        return value.map(lambda text: text.removeprefix(bare) if front else text.removesuffix(bare))
    first = sign in {"#", "%%"}

    def cut(text: str) -> str:
        at = text.find(bare) if first else text.rfind(bare)
        return text if at < 0 else text[at + len(bare) :] if front else text[:at]

    return value.map(cut)


# Texts with marks: what was quoted can still be told from what was not.


def quoted(text: str) -> str:
    return EMPTY_QUOTES + _marked(text, _SPECIAL)


def substituted(text: str) -> str:
    """What a variable or command gave, outside quotes: it is split and globbed, but its braces are only text."""
    return _marked(text, "\0{},~")


def _marked(text: str, characters: str) -> str:
    for character in characters:
        if character in text:
            text = text.replace(character, QUOTED + character)
    return text


def plain(text: str) -> str:
    return text.replace(EMPTY_QUOTES, "").replace(QUOTED, "") if QUOTED in text else text


def unescaped(text: str) -> str:
    """A piece outside quotes: a backslash quotes the character behind it."""
    first, *rest = text.split("\\")
    pieces = [first]
    rest = iter(rest)
    for piece in rest:
        if not piece:  # two backslashes in a row: the second is quoted, what follows it is not
            pieces.append(QUOTED + "\\" + next(rest, ""))
        elif piece[0] != "\n":
            pieces.append((QUOTED + piece[0] if piece[0] in _SPECIAL else piece[0]) + piece[1:])
        else:
            pieces.append(piece[1:])
    return "".join(pieces)


def unescaped_within(text: str, escapable: str) -> str:
    """A piece inside double quotes or a here-document, where a backslash quotes only some characters."""
    if "\\" not in text:
        return text
    first, *rest = text.split("\\")
    pieces = [first]
    rest = iter(rest)
    for piece in rest:
        if not piece:
            pieces.append("\\" + next(rest, ""))
        elif piece[0] == "\n":
            pieces.append(piece[1:])
        else:
            pieces.append(piece if piece[0] in escapable else "\\" + piece)
    return "".join(pieces)


def ansi(text: str) -> str:
    """What stands between `$'` and `'`, or what `printf` and `echo -e` write."""
    if "\\" not in text:
        return text
    pieces: list[str] = []
    at = 0
    while (slash := text.find("\\", at)) >= 0:
        letter = text[slash + 1 : slash + 2]
        pieces.append(text[at:slash])
        character, at = _ansi_escape(text, slash + 1, letter)
        pieces.append(character)
    whole = "".join([*pieces, text[at:]])
    try:  # several bytes may have been one letter
        return whole if whole.isascii() else whole.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return whole


def _ansi_escape(text: str, at: int, letter: str) -> tuple[str, int]:
    for sign, base, digits in (("x", 16, 2), ("u", 16, 4), ("U", 16, 8)):
        if letter == sign:
            number, end = _number(text, at + 1, base, digits)
            if sign == "x" and number >= 0:
                return _byte(number), end
            return (chr(number) if 0 <= number < 0x110000 else "\\" + sign), end
    if letter in "01234567" and letter:
        number, end = _number(text, at, 8, 4 if letter == "0" else 3)
        return _byte(number & 255), end
    if letter == "c":
        return "", at + 2
    return _ANSI.get(letter, letter), at + 1


def _byte(number: int) -> str:
    return chr(number) if number < 128 else chr(0xDC00 + number)


def _number(text: str, at: int, base: int, digits: int) -> tuple[int, int]:
    end = at
    while end < at + digits and text[end : end + 1] in tuple("0123456789abcdefABCDEF"[: 8 if base == 8 else None]):
        end += 1
    return (int(text[at:end], base) if end > at else -1), end


def expanded(marked: str, scope: Scope) -> Value:
    """All words that a marked text stands for, still marked, after braces, the tilde and the names that a glob finds on
    the disk now. There may be other names when the line runs, so then this is not all."""
    if len(marked) > EXPANDED_CHARS_MAX:
        return UNKNOWN
    found: list[str] = []
    known = True
    for word in braces(marked):
        if word.startswith("~"):
            sign, slash, rest = word[1:].partition("/")
            where = {"": scope.home, "+": scope.cwd, "-": scope.before}.get(sign, UNKNOWN)
            if not where.texts:
                known = False
                continue
            word = quoted(where.texts[0]) + slash + rest
        if has_glob(word):
            known = False
            names = globbed(word, scope.cwd.texts[0] if scope.cwd.texts else "")
            found += map(quoted, names) if names else [word] if _stays(word, scope) else []
            continue
        found.append(word)
    return Value(found, known)


def _stays(pattern: str, scope: Scope) -> bool:
    """Whether a pattern that finds nothing is likely to be meant as it stands, which a shell then takes it for: the
    folder `[id]`, an address with a question mark, a file whose name looks like a pattern."""
    bare = plain(pattern)
    if "://" in bare or not any(sign in without_quoted(pattern) for sign in "*?"):
        return True
    return any(os.path.lexists(os.path.join(here, bare)) for here in scope.cwd.texts)


def fields(marked: str) -> list[str]:
    """The words that an expansion falls into, plain. Quotes keep together and keep even nothing."""
    first, *rest = marked.split(QUOTED)
    words: list[str | None] = [None]
    _append_split(words, first)
    for piece in rest:
        words[-1] = (words[-1] or "") + ("" if piece[:1] == "\1" else piece[:1])
        _append_split(words, piece[1:])
    return [word for word in words if word is not None]


def _append_split(words: list[str | None], text: str) -> None:
    """Add text to the last word; blanks in it begin new ones."""
    for number, part in enumerate(text.replace("\t", " ").replace("\n", " ").split(" ")):
        if number:
            words.append(None)
        if part:
            words[-1] = (words[-1] or "") + part


def braces(marked: str) -> list[str]:
    """`a{b,c}` -> ab, ac; `a{1..3}` -> a1, a2, a3. More braces than anyone writes are left as they are."""
    words = [marked]
    for _ in range(BRACES_MAX):
        place = next((number for number, word in enumerate(words) if _first_brace(word)), None)
        if place is None or len(words) > ALTERNATIVES_MAX:
            break
        start, commas, end = _first_brace(words[place]) or (0, [], 0)
        word = words[place]
        edges = [start, *commas, end]
        inside = [word[left + 1 : right] for left, right in zip(edges, edges[1:], strict=False)]
        steps = inside if commas else _range(inside[0])
        words[place : place + 1] = [word[:start] + step + word[end + 1 :] for step in steps]
    return words


def _range(text: str) -> list[str]:
    """What stands for `1..9`, `a..e` or `1..9..2` in braces."""
    first, last, *more = text.split("..")
    step = max(1, abs(int(more[0]))) if more else 1
    letters = first.isalpha()
    start, stop = (ord(first), ord(last)) if letters else (int(first), int(last))
    numbers = range(start, stop + 1, step) if start <= stop else range(start, stop - 1, -step)
    width = max(len(first), len(last)) if not letters and (first[:1] == "0" or last[:1] == "0") else 0
    return [chr(number) if letters else str(number).zfill(width) for number in numbers[:ALTERNATIVES_MAX]]


def _is_range(text: str) -> bool:
    ends = text.split("..")
    if not 2 <= len(ends) <= 3 or not all(ends) or max(map(len, ends)) > 9:
        return False
    numbers = [end.removeprefix("-") for end in ends]
    letters = all(len(end) == 1 and end.isascii() and end.isalpha() for end in ends[:2])
    return (letters or all(map(_is_number, numbers[:2]))) and all(map(_is_number, numbers[2:]))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _first_brace(word: str) -> tuple[int, list[int], int] | None:
    """Where the first brace with a comma or a range in it opens, its own commas, and where it closes."""
    if "{" not in word or ("," not in word and ".." not in word):
        return None
    opened: list[tuple[int, list[int]]] = []
    best: tuple[int, list[int], int] | None = None
    before = ""
    for at, character in enumerate(word):
        if before == QUOTED:
            before = ""
            continue
        before = character
        if character == "{":
            opened.append((at, []))
        elif character == "," and opened:
            opened[-1][1].append(at)
        elif character == "}" and opened:
            start, commas = opened.pop()
            is_list = commas or _is_range(word[start + 1 : at])
            if is_list and (best is None or start < best[0]):
                best = (start, commas, at)
    return best
