"""Edits in the text of a JSON file that other people own.

Only the piece that changes is rewritten: everything else keeps its bytes - order, spacing, number formats, line
endings. A path is a sequence of keys and indexes. Comments and commas before a closing bracket are not JSON: `load`
refuses a text that has them (ValueError), unless its client is known to read them; then they stay where they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Path = Sequence[str | int]

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_PLAIN = re.compile(r"[^\s,\]}]+")
_COMMENTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/')
_LAST_COMMA = re.compile(r",\s*[\]}]")
_COMMA_OR_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[\]}])')
_BLACK = re.compile(r"\S")
_FIRST_INDENT = re.compile(r"\n([ \t]+)\S")


@dataclass
class _Node:
    """A value in the text. `begins` is where each child's entry begins: its key in an object, itself in an array."""

    start: int
    end: int = 0
    keys: list[str] = field(default_factory=list[str])
    begins: list[int] = field(default_factory=list[int])
    children: list[_Node] = field(default_factory=list["_Node"])


def load(text: str, *, comments: bool = False) -> Any:
    """The value of the text. Raises ValueError with a sentence. comments: the client reads them, so they may stand."""
    try:
        return json.loads(_plain(text) if comments else text)
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is not valid JSON (line {problem.lineno}: {problem.msg})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def put(text: str, path: Path, value: Any) -> str:
    """Set the member of an object or replace an element of an array; missing objects on the way are made."""
    load(text, comments=True)
    root = node = _root(text)
    for depth, step in enumerate(path):
        child = _child(node, step)
        if child is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, root, node, str(step), value)
        node = child
    old = text[node.start : node.end]
    wide = "\n" in old or (not node.children and "\n" in text.strip())
    return text[: node.start] + _rendered(text, root, value, _indent_at(text, node.start), wide) + text[node.end :]


def append(text: str, path: Path, value: Any) -> str:
    """Add an element at the end of the array at `path`."""
    root = _root(text)
    return _insert(text, root, _at(root, path), None, value)


def remove(text: str, path: Path) -> str:
    """Take out one member or element with its comma; its neighbours keep their bytes."""
    parent = _at(_root(text), path[:-1])
    index = path[-1] if isinstance(path[-1], int) else _last_index(parent.keys, path[-1])
    last = len(parent.children) - 1
    if last == 0:
        start, end = parent.start + 1, parent.end - 1
        if _plain(text)[start:end] != text[start:end]:  # comments of the person's stay
            start, end = parent.begins[0], parent.children[0].end
    elif index == last:
        start, end = parent.children[index - 1].end, parent.children[index].end
    else:
        start, end = parent.begins[index], parent.begins[index + 1]
    return text[:start] + text[end:]


def _insert(text: str, root: _Node, parent: _Node, key: str | None, value: Any) -> str:
    indent = _indent_at(text, parent.start) + _unit(text)
    if parent.children:
        wide = "\n" in text[parent.start : parent.end]
        own_line = text[text.rfind("\n", 0, parent.begins[-1]) + 1 : parent.begins[-1]]
        if wide and not own_line.strip():
            indent = own_line
    else:
        wide = "\n" in text.strip() or not root.children
    entry = _rendered(text, root, value, indent, wide)
    if key is not None:
        entry = json.dumps(key, ensure_ascii=False) + (": " if wide or _spaced(text, root) else ":") + entry
    newline = _newline(text)
    if parent.children:
        gap = newline + indent if wide else " " if _spaced(text, root) else ""
        end = parent.children[-1].end
        return text[:end] + "," + gap + entry + text[end:]
    if wide:
        entry = newline + indent + entry + newline + _indent_at(text, parent.start)
    return text[: parent.start + 1] + entry + text[parent.end - 1 :]


def _rendered(text: str, root: _Node, value: Any, indent: str, wide: bool) -> str:
    if not wide:
        separators = (", ", ": ") if _spaced(text, root) else (",", ":")
        return json.dumps(value, ensure_ascii=False, separators=separators)
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    first = _FIRST_INDENT.search(text)
    return first[1] if first else "  "


def _spaced(text: str, root: _Node) -> bool:
    """Does a text of one line put a space after its colons?"""
    if not root.children or not root.keys:
        return True
    return text[root.children[0].start - 1].isspace()


def _indent_at(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _at(root: _Node, path: Path) -> _Node:
    node = root
    for step in path:
        child = _child(node, step)
        assert child is not None, path
        node = child
    return node


def _child(node: _Node, step: str | int) -> _Node | None:
    if isinstance(step, int):
        return node.children[step]
    return node.children[_last_index(node.keys, step)] if step in node.keys else None


def _last_index(keys: list[str], key: str) -> int:
    """Of a key that stands twice the last one counts, for every reader of JSON."""
    return len(keys) - 1 - keys[::-1].index(key)


def _root(text: str) -> _Node:
    text = _plain(text)
    try:
        return _node(text, _after_space(text, 0))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _plain(text: str) -> str:
    """The text with blanks in place of comments and of commas before a closing bracket: every place stays the same."""
    if "//" not in text and "/*" not in text and not _LAST_COMMA.search(text):
        return text
    bare = _COMMENTED.sub(lambda found: found[0] if found[0][0] == '"' else _BLACK.sub(" ", found[0]), text)
    return _COMMA_OR_STRING.sub(lambda found: " " if found[0] == "," and _follows_a_value(found) else found[0], bare)


def _follows_a_value(comma: re.Match[str]) -> bool:
    return comma.string[: comma.start()].rstrip()[-1:] not in ("", "[", "{", ",", ":")


def _node(text: str, start: int) -> _Node:
    """Find where each value of a valid JSON text stands."""
    node = _Node(start)
    if text[start] not in "[{":
        match = (_STRING if text[start] == '"' else _PLAIN).match(text, start)
        assert match
        node.end = match.end()
        return node
    at = _after_space(text, start + 1)
    while text[at] not in "]}":
        node.begins.append(at)
        if text[start] == "{":
            key = _STRING.match(text, at)
            assert key
            node.keys.append(json.loads(key[0]))
            at = _after_space(text, _after_space(text, key.end()) + 1)
        child = _node(text, at)
        node.children.append(child)
        at = _after_space(text, child.end)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    node.end = at + 1
    return node


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
