"""Edits in the text of a TOML file that other people own.

Only lines that hold the changed value are touched: comments, order and spacing around them keep their bytes. Every
edit is checked with the standard parser: the result says what was asked, and nothing else has changed its meaning.
A place that cannot be edited so (an inline table on the way) is refused with ValueError.

Written by hand because the libraries for this rebuild the document: the one tried moved a table away from the comment
above it and, among dotted keys, put a value under a neighbour's table.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

Path = Sequence[str]
Value = str | list[str] | dict[str, str]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TEXT = re.compile(
    r'"""(?:\\.|(?!""").)*"{3,5}|' + r"'''(?:(?!''').)*'{3,5}|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'", re.DOTALL
)
_PLAIN = re.compile(r"[^,\]}#\n]+")


@dataclass(frozen=True)
class _Statement:
    """A table header, or a `key = value`. `path` is complete; `local` is the key as it stands inside its table."""

    path: tuple[str, ...]
    start: int
    end: int
    local: tuple[str, ...] = ()
    value: int = -1  # where the value begins; -1 for a header

    @property
    def table(self) -> tuple[str, ...]:
        return self.path[: len(self.path) - len(self.local)]


def load(text: str) -> dict[str, Any]:
    """The value of the text. Raises ValueError with a sentence."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ValueError(f"it is not valid TOML ({problem})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def look(document: dict[str, Any], path: Path) -> Any:
    """The value at `path`, or None."""
    found: Any = document
    for step in path:
        found = cast("dict[str, Any]", found).get(step) if isinstance(found, dict) else None
    return found


def holds_value(text: str, path: Path) -> bool:
    """Is `path` written as one `key = value`, and not as a table of its own?"""
    return any(statement.path == tuple(path) and statement.value >= 0 for statement in _statements(text))


def put(text: str, path: Path, value: Value) -> str:
    """Set a value; where its table is missing, that is added at the end of the file."""
    wanted = load(text)
    table = wanted
    for step in path[:-1]:
        below: Any = table.setdefault(step, {})
        if not isinstance(below, dict):
            raise ValueError(f'"{step}" in it is not a table')
        table = cast("dict[str, Any]", below)
    if table.get(path[-1]) == value:
        return text
    table[path[-1]] = value
    return _checked(_put(text, tuple(path), value), wanted)


def append(text: str, path: Path, element: str) -> str:
    """Add a string at the end of the array at `path`, which must be there."""
    wanted = load(text)
    look(wanted, path).append(element)
    return _checked(_append(text, _array(text, path), element), wanted)


def take(text: str, path: Path, element: str) -> str:
    """Take the first string equal to `element` out of the array at `path`."""
    wanted = load(text)
    index = look(wanted, path).index(element)
    look(wanted, path).pop(index)
    return _checked(_take(text, _array(text, path), index), wanted)


def remove(text: str, path: Path) -> str:
    """Take out a value, or a table with everything below it."""
    wanted = load(text)
    look(wanted, path[:-1]).pop(path[-1], None)
    whole = list(_statements(text))
    doomed = [number for number, statement in enumerate(whole) if statement.path[: len(path)] == tuple(path)]
    for number in reversed(doomed):
        start = text.rfind("\n", 0, whole[number].start) + 1
        if number - 1 in doomed:
            start = _line_end(text, whole[number - 1].end)  # comments between two lines of ours go with them
        elif whole[number].value < 0:
            start = _without_blank_line(text, start)
        text = text[:start] + text[_line_end(text, whole[number].end) :]
    return _checked(text, wanted)


def _checked(text: str, wanted: dict[str, Any]) -> str:
    try:
        good = _without_empty_tables(tomllib.loads(text)) == _without_empty_tables(wanted)
    except tomllib.TOMLDecodeError:
        good = False
    if not good:
        raise ValueError("it cannot be edited line by line; write its inline tables as [tables] and try again")
    return text


def _without_empty_tables(document: dict[str, Any]) -> dict[str, Any]:
    """A table that only a deeper one implied is gone with that: a difference in form, not in meaning."""
    kept = {
        key: _without_empty_tables(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        for key, value in document.items()
    }
    return {key: value for key, value in kept.items() if value != {}}


def _put(text: str, path: tuple[str, ...], value: Value) -> str:
    parent = path[:-1]
    same_table: _Statement | None = None
    spread: _Statement | None = None
    for statement in _statements(text):
        if statement.value >= 0 and statement.path == path:
            return text[: statement.value] + _rendered(value) + text[statement.end :]
        if statement.table == parent:
            same_table = statement
        elif statement.value >= 0 and statement.path[: len(parent)] == parent:
            spread = statement  # the table exists only through dotted keys, where no header may open it again
    neighbour = same_table or spread
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    if neighbour is None:
        gap = newline if text.strip() else ""
        return f"{text}{gap}[{_key(parent)}]{newline}{_key(path[-1:])} = {_rendered(value)}{newline}"
    at = _line_end(text, neighbour.end)
    indent = text[text.rfind("\n", 0, neighbour.start) + 1 : neighbour.start]
    line = f"{indent}{_key(path[len(neighbour.table) :])} = {_rendered(value)}{newline}"
    return text[:at] + line + text[at:]


def _append(text: str, start: int, element: str) -> str:
    spans, close = _elements(text, start)
    if not spans:
        return _first(text, start, close, element)
    last_start, last_end = spans[-1]
    line_start = text.rfind("\n", 0, last_start) + 1
    line_end = text.find("\n", last_end)
    if line_start <= start or text[line_start:last_start].strip() or not last_end < line_end < close:
        return f"{text[:last_end]}, {_rendered(element)}{text[last_end:]}"
    # One element a line: a comment behind the last one stays with it.
    if text[line_end - 1] == "\r":
        line_end -= 1
    newline = "\r\n" if text[line_end] == "\r" else "\n"
    entry = newline + text[line_start:last_start] + _rendered(element)
    if text[_after(_SPACE, text, last_end)] == ",":
        return text[:line_end] + entry + "," + text[line_end:]
    return text[:last_end] + "," + text[last_end:line_end] + entry + text[line_end:]


def _first(text: str, start: int, close: int, element: str) -> str:
    line_start = text.rfind("\n", 0, close) + 1
    indent = text[line_start:close]
    if line_start <= start or indent.strip():
        return text[:close] + _rendered(element) + text[close:]
    newline = "\r\n" if text[:line_start].endswith("\r\n") else "\n"
    return f"{text[:line_start]}{indent}  {_rendered(element)},{newline}{text[line_start:]}"


def _take(text: str, start: int, index: int) -> str:
    spans, _ = _elements(text, start)
    own_start, own_end = spans[index]
    line_start = text.rfind("\n", 0, own_start) + 1
    tail = _after(_SPACE, text, own_end)
    if text[tail] == ",":
        tail = _after(_SPACE, text, tail + 1)
    if line_start > start and not text[line_start:own_start].strip() and text[tail] in "#\r\n":
        return text[:line_start] + text[_line_end(text, tail) :]
    if len(spans) == 1:
        return text[:own_start] + text[tail:]
    if index == len(spans) - 1:
        return text[: spans[index - 1][1]] + text[own_end:]
    return text[:own_start] + text[spans[index + 1][0] :]


def _array(text: str, path: Path) -> int:
    """Where the array at `path` begins in the text."""
    for statement in _statements(text):
        if statement.path == tuple(path) and statement.value >= 0 and text[statement.value] == "[":
            return statement.value
    raise ValueError(f'"{".".join(path)}" in it is not an array on a line of its own')


def _statements(text: str) -> Iterator[_Statement]:
    """The headers and pairs of a valid TOML text, in order."""
    table: tuple[str, ...] = ()
    at = _after(_BLANK, text, 0)
    while at < len(text):
        start = at
        if text[at] == "[":
            inside = at + (2 if text.startswith("[[", at) else 1)
            table, at = _keys(text, inside)
            at += inside - start
            yield _Statement(table, start, at)
        else:
            local, at = _keys(text, at)
            value = _after(_SPACE, text, at + 1)
            at = _value_end(text, value)
            yield _Statement(table + local, start, at, local, value)
        at = _after(_BLANK, text, at)


def _keys(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """A dotted key, and where the sign behind it stands."""
    keys: list[str] = []
    while True:
        at = _after(_SPACE, text, at)
        match = (_TEXT if text[at] in "\"'" else _BARE_KEY).match(text, at)
        assert match, at
        keys.append(next(iter(tomllib.loads(f"{match[0]} = 0"))))
        at = _after(_SPACE, text, match.end())
        if text[at] != ".":
            return tuple(keys), at
        at += 1


def _value_end(text: str, at: int) -> int:
    if text[at] == "[":
        return _elements(text, at)[1] + 1
    if text[at] == "{":
        at = _after(_BLANK, text, at + 1)
        while text[at] != "}":
            _, at = _keys(text, at)
            at = _after(_BLANK, text, _value_end(text, _after(_SPACE, text, at + 1)))
            at = _after(_BLANK, text, at + 1) if text[at] == "," else at
        return at + 1
    match = (_TEXT if text[at] in "\"'" else _PLAIN).match(text, at)
    assert match, at
    return at + len(match[0].rstrip())


def _elements(text: str, start: int) -> tuple[list[tuple[int, int]], int]:
    """Where each element of the array at `start` stands, and where its closing bracket does."""
    spans: list[tuple[int, int]] = []
    at = _after(_BLANK, text, start + 1)
    while text[at] != "]":
        end = _value_end(text, at)
        spans.append((at, end))
        at = _after(_BLANK, text, end)
        at = _after(_BLANK, text, at + 1) if text[at] == "," else at
    return spans, at


def _rendered(value: Value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key([key])} = {_rendered(item)}" for key, item in value.items()) + " }"
    # Strings and arrays of strings are written alike in JSON and TOML, but for this one sign.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(path: Path) -> str:
    return ".".join(step if _BARE_KEY.fullmatch(step) else _rendered(step) for step in path)


def _line_end(text: str, at: int) -> int:
    """The first position of the next line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _without_blank_line(text: str, at: int) -> int:
    """`at`, or the start of the empty line above the line that begins there."""
    before = text[:at].rstrip(" \t")
    for newline in ("\r\n", "\n"):
        if before == newline or before.endswith(newline * 2):
            return len(before) - len(newline)
    return len(before)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
