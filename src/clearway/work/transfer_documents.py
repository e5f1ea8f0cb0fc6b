"""Reading documents of other people's making: JSON line by line, or one large JSON value piece by piece.

Never is more of a document turned into objects than one record, so 50 MB cost little more memory than their text. What
is wrong is gathered with its JSON path and, as far as it is known, its line; nothing here decides what a record means.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import IO, Any

from clearway.errors import Refusal
from clearway.limits import IMPORT_BYTES_MAX, IMPORT_FAULTS_SHOWN, IMPORT_LINE_BYTES_MAX
from clearway.untrusted import folded

_SPACE = " \t\r\n"
_MESSAGE_CHARS = 200
_NAME_CHARS = 64

# What is wrong with one field -> what the whole document is refused with.
_REFUSED_WITH = {
    "UNSUPPORTED": "UNSUPPORTED_FIELD",
    "FORMAT_VERSION": "UNSUPPORTED_FORMAT_VERSION",
    "MAX_RUNES": "LIMIT_EXCEEDED",
    "MAX_ITEMS": "LIMIT_EXCEEDED",
    "MAX_BYTES": "LIMIT_EXCEEDED",
    "BLOCKS_CYCLE": "BLOCKS_CYCLE",
    "SELF_RELATION": "SELF_RELATION",
    "INVALID_EPIC_PARENT": "INVALID_EPIC_PARENT",
}


class Faults:
    """What is wrong with a document. The first decides how it is refused, so many are kept and not all."""

    def __init__(self) -> None:
        self.count = 0
        self.details: list[dict[str, Any]] = []

    def add(self, path: str, code: str, message: str, line: int = 0) -> None:
        self.count += 1
        if len(self.details) < IMPORT_FAULTS_SHOWN:
            at = {"line": line} if line else {}
            self.details.append({"field": path, "code": code, "message": folded(message, _MESSAGE_CHARS), **at})

    def refuse(self) -> None:
        """Refuse the document if anything is wrong with it."""
        if not self.count:
            return
        first = self.details[0]
        where = f"{first['field']} (line {first['line']})" if "line" in first else first["field"]
        more = f" ({self.count - 1} more)" if self.count > 1 else ""
        raise Refusal(
            _REFUSED_WITH.get(first["code"], "INVALID_ARGUMENT"),
            f"Nothing was imported: {where} {first['message']}{more}.",
            self.details,
        )


class Unreadable(Exception):
    """A document that ends too early or is none: nothing behind the place can be trusted."""

    def __init__(self, path: str, code: str, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.path = path
        self.code = code
        self.message = message
        self.line = line


class Text:
    """A document as it was handed in, or a file: read as often as needed, from its beginning."""

    def __init__(self, opened: Callable[[], IO[bytes]]) -> None:
        self._opened = opened

    def whole(self) -> str:
        with self._opened() as file:
            raw = file.read(IMPORT_BYTES_MAX + 1)
        if len(raw) > IMPORT_BYTES_MAX:
            raise Unreadable("$", "MAX_BYTES", f"has more than {IMPORT_BYTES_MAX // 1_048_576} MiB")
        return _decoded(raw, "$", 0).removeprefix("\ufeff")

    def head(self) -> str:
        """How it begins: enough to tell its format."""
        with self._opened() as file:
            return file.read(65_536).decode("utf-8", "replace").removeprefix("\ufeff").lstrip(_SPACE)

    def lines(self) -> Iterator[tuple[int, int, Any]]:
        """The JSON values of a document with one on each line: (place, number of the line, value)."""
        place = 0
        size = 0
        with self._opened() as file:
            for number, raw in enumerate(iter(lambda: file.readline(IMPORT_LINE_BYTES_MAX + 1), b""), 1):
                size += len(raw)
                if len(raw) > IMPORT_LINE_BYTES_MAX:
                    message = f"has more than {IMPORT_LINE_BYTES_MAX // 1_048_576} MiB on one line"
                    raise Unreadable(f"$[{place}]", "MAX_BYTES", message, number)
                if size > IMPORT_BYTES_MAX:
                    message = f"goes beyond the {IMPORT_BYTES_MAX // 1_048_576} MiB that a document may have"
                    raise Unreadable(f"$[{place}]", "MAX_BYTES", message, number)
                text = _decoded(raw, f"$[{place}]", number)
                text = (text.removeprefix("\ufeff") if number == 1 else text).strip(_SPACE)
                if text:
                    yield place, number, value_of(text, f"$[{place}]", number)
                    place += 1


class Pieces:
    """One large JSON object, or array, whose members are looked at one by one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._arrays: dict[str, int] = {}
        self.members: dict[str, Any] = {}
        start = self._space(0)
        if text[start : start + 1] == "[":
            self._arrays[""] = start
            end = self._through_array(start, "$")
        else:
            end = self._through_object(start)
        if text[self._space(end) :]:
            raise self._broken(self._space(end), "$", "goes on behind its end")

    @property
    def names(self) -> set[str]:
        return set(self.members) | (set(self._arrays) - {""})

    def is_array(self, name: str) -> bool:
        return name in self._arrays

    def items(self, name: str = "") -> Iterator[tuple[int, Any]]:
        """The elements of an array that stands under this name; of the document, if that is one."""
        start = self._arrays.get(name)
        if start is not None:
            for place, value, _ in self._elements(start, f"$.{name}" if name else "$"):
                yield place, value

    def _through_object(self, start: int) -> int:
        if self._text[start : start + 1] != "{":
            raise self._broken(start, "$", "is neither an object nor an array")
        place = self._space(start + 1)
        if self._text[place : place + 1] == "}":
            return place + 1
        while True:
            name, place = self._value(place, "$")
            if not isinstance(name, str):
                raise self._broken(place, "$", "has a member without a name")
            path = f"$.{folded(name, _NAME_CHARS)}"
            if name in self.members or name in self._arrays:
                raise Unreadable(path, "DUPLICATE", "stands twice", self._line(place))
            place = self._space(self._sign(place, ":", path))
            if self._text[place : place + 1] == "[":
                self._arrays[name] = place
                place = self._through_array(place, path)
            else:
                self.members[name], place = self._value(place, path)
            place = self._space(place)
            if self._text[place : place + 1] == "}":
                return place + 1
            place = self._space(self._sign(place, ",", path))

    def _through_array(self, start: int, path: str) -> int:
        end = start + 1
        for _, _, behind in self._elements(start, path):
            end = behind
        return self._sign(end, "]", path)

    def _elements(self, start: int, path: str) -> Iterator[tuple[int, Any, int]]:
        """(place, value, where it ends). After the last one the closing bracket follows."""
        at = self._space(start + 1)
        if self._text[at : at + 1] == "]":
            return
        place = 0
        while True:
            value, end = self._value(at, f"{path}[{place}]")
            yield place, value, end
            place += 1
            at = self._space(end)
            if self._text[at : at + 1] == "]":
                return
            at = self._space(self._sign(at, ",", f"{path}[{place}]"))

    def _value(self, at: int, path: str) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self._text, at)
        except _Twice as twice:
            raise Unreadable(f"{path}..{twice.name}", "DUPLICATE", "stands twice", self._line(at)) from None
        except json.JSONDecodeError as error:
            raise self._broken(error.pos, path, "ends too early or is broken") from None
        except (RecursionError, ValueError) as error:
            raise self._broken(at, path, f"cannot be read ({_why(error)})") from None

    def _sign(self, at: int, sign: str, path: str) -> int:
        at = self._space(at)
        if self._text[at : at + 1] != sign:
            raise self._broken(at, path, "ends too early or is broken")
        return at + 1

    def _space(self, at: int) -> int:
        text, end = self._text, len(self._text)
        while at < end and text[at] in _SPACE:
            at += 1
        return at

    def _broken(self, at: int, path: str, message: str) -> Unreadable:
        return Unreadable(path, "INVALID_JSON", message, self._line(at))

    def _line(self, at: int) -> int:
        return self._text.count("\n", 0, at) + 1


def value_of(text: str, path: str, line: int) -> Any:
    """One JSON value, and nothing behind it."""
    try:
        value, end = _DECODER.raw_decode(text, 0)
    except _Twice as twice:
        raise Unreadable(f"{path}..{twice.name}", "DUPLICATE", "stands twice", line) from None
    except json.JSONDecodeError:
        raise Unreadable(path, "INVALID_JSON", "ends too early or is broken", line) from None
    except (RecursionError, ValueError) as error:
        raise Unreadable(path, "INVALID_JSON", f"cannot be read ({_why(error)})", line) from None
    if text[end:].strip(_SPACE):
        raise Unreadable(path, "INVALID_JSON", "goes on behind its end", line)
    return value


def is_broken(text: str) -> bool:
    """Whether half of a surrogate pair stands alone in a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


class _Twice(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = folded(name, _NAME_CHARS)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two equal names one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Twice(name)
            seen.add(name)
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number)


def _why(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else folded(str(error), 80)


def _decoded(raw: bytes, path: str, line: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable(path, "INVALID_UTF8", "is not UTF-8", line) from None
