"""The kinds of values that an argument may be, each with its bounds: `check` returns a value as the noun takes it or
tells what is wrong with it, `schema` tells a model.

Loaded when a surface asks; a hook never checks an argument.
"""

from __future__ import annotations

import os
import sys

from clearway import config, paths, repository, wire
from clearway.annotating import Absent, Nullable, cast
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.clock import Clock
    from clearway.repository import Place

_NAME_CHARS = 64  # of a field that does not exist: it may be anything


class Problem(Exception):
    """One thing wrong with one field."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code
        self.message = message


class Kind:
    """What a value may be. `check` returns the value as the noun takes it; `schema` tells a model."""

    def check(self, value: Any, field: str, where: Where) -> Any:
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        raise NotImplementedError

    def __or__(self, nothing: None) -> Nullable:
        return Nullable(self)


class Where:
    """What checking a path needs to know of the caller: its folder, and a clock for new checkout ids."""

    __slots__ = ("clock", "cwd")

    def __init__(self, cwd: str, clock: Clock) -> None:
        self.cwd = cwd
        self.clock = clock


class Text(Kind):
    """Text of at most `chars` code points. blank: may it be empty or only white space."""

    def __init__(self, chars: int, *, blank: bool = False) -> None:
        self.chars = chars
        self.blank = blank

    def check(self, value: Any, field: str, where: Where) -> str:
        if not isinstance(value, str):
            raise Problem(field, "INVALID_VALUE", "must be a text")
        if "\0" in value:
            raise Problem(field, "NUL_NOT_ALLOWED", "must not contain NUL")
        if not value.isascii() and not _is_unicode(value):
            raise Problem(field, "INVALID_UTF8", "must be valid Unicode")
        if not self.blank and not value.strip():
            raise Problem(field, "REQUIRED", "must not be blank")
        if len(value) > self.chars:
            raise Problem(field, "MAX_RUNES", f"must have at most {self.chars} characters")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


class DocumentText(Text):
    """A whole document: its text, or the JSON value that it is. What in it is wrong is told by its place in it."""

    def check(self, value: Any, field: str, where: Where) -> Any:
        if isinstance(value, (dict, list)):
            return cast("Any", value)
        if not isinstance(value, str):
            raise Problem(field, "INVALID_VALUE", "must be a text")
        if len(value) > self.chars:
            raise Problem(field, "MAX_RUNES", f"has more than {self.chars} characters: import it as a file")
        return value


class Trimmed(Text):
    """Text whose outer spaces mean nothing: a name that people type."""

    def check(self, value: Any, field: str, where: Where) -> str:
        return super().check(value, field, where).strip()


class Whole(Kind):
    """A whole number within bounds."""

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def check(self, value: Any, field: str, where: Where) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            if not (isinstance(value, float) and value.is_integer()):
                raise Problem(field, "INVALID_VALUE", "must be a whole number")
        if not self.low <= value <= self.high:
            raise Problem(field, "OUT_OF_RANGE", f"must be from {self.low} to {self.high}")
        return int(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}


class Flag(Kind):
    def check(self, value: Any, field: str, where: Where) -> bool:
        if not isinstance(value, bool):
            raise Problem(field, "INVALID_VALUE", "must be true or false")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Choice(Kind):
    """One of a few words."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def check(self, value: Any, field: str, where: Where) -> str:
        if value not in self.words:
            raise Problem(field, "INVALID_ENUM", "must be one of " + ", ".join(self.words))
        return str(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}  # Gemini refuses an enum without its type


class Many(Kind):
    """A list of at most `most` values of one kind. unique: repeating one is an error."""

    def __init__(self, kind: Kind, most: int, *, least: int = 0, unique: bool = False) -> None:
        self.kind = kind
        self.most = most
        self.least = least
        self.unique = unique

    def check(self, value: Any, field: str, where: Where) -> list[Any]:
        if not isinstance(value, list):
            raise Problem(field, "INVALID_VALUE", "must be a list")
        items = cast("list[Any]", value)
        if len(items) > self.most:
            raise Problem(field, "MAX_ITEMS", f"must have at most {self.most} items")
        if len(items) < self.least:
            raise Problem(field, "REQUIRED", f"must have at least {self.least} item")
        found = [self.kind.check(item, f"{field}[{place}]", where) for place, item in enumerate(items)]
        if self.unique and len({str(item).lower() for item in found}) < len(found):
            raise Problem(field, "DUPLICATE", "must not repeat a value")
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.kind.schema()}


class Record(Kind):
    """An object with the fields of a TypedDict."""

    def __init__(self, shape: Any) -> None:
        hints = _hints(shape)
        self.fields = {name: kind_of(hint) for name, hint in hints.items()}
        self.required = frozenset(name for name, hint in hints.items() if not isinstance(hint, Absent))

    def check(self, value: Any, field: str, where: Where) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Problem(field, "INVALID_VALUE", "must be an object")
        given = cast("dict[str, Any]", value)
        for name in given:
            if name not in self.fields:
                raise Problem(f"{field}.{folded(name, _NAME_CHARS)}", "UNSUPPORTED", "is not a field of this object")
        for name in sorted(self.required):
            if given.get(name) is None:
                raise Problem(f"{field}.{name}", "REQUIRED", "is required")
        return {
            name: self.fields[name].check(item, f"{field}.{name}", where)
            for name, item in given.items()
            if item is not None
        }

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: kind.schema() for name, kind in self.fields.items()},
            "required": sorted(self.required),
            "additionalProperties": False,
        }


class Patch(Record):
    """Fields to change: an absent one stays as it is, and null clears one that may be empty."""

    def __init__(self, shape: Any) -> None:
        super().__init__(shape)
        self.nullable = frozenset(name for name, hint in _hints(shape).items() if isinstance(hint, Nullable))
        self.required = frozenset[str]()

    def check(self, value: Any, field: str, where: Where) -> dict[str, Any]:
        found = super().check(value, field, where)
        for name, item in value.items():
            if item is None and name not in self.nullable:
                raise Problem(f"{field}.{name}", "NULL_NOT_ALLOWED", "cannot be cleared")
        return {name: found.get(name) for name in value}

    def schema(self) -> dict[str, Any]:
        fields = {name: kind.schema() for name, kind in self.fields.items()}
        fields |= {name: {**fields[name], "type": [fields[name]["type"], "null"]} for name in self.nullable}
        return {"type": "object", "properties": fields, "additionalProperties": False}


class FreeObject(Kind):
    """An object with whatever a program likes to know again, of at most so many bytes of JSON."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max

    def check(self, value: Any, field: str, where: Where) -> dict[str, Any]:
        if not wire.is_object(value):
            raise Problem(field, "INVALID_VALUE", "must be an object")
        try:
            text = wire.dumps(value)
            wire.loads(text)  # what is no number in JSON, and what is nested too deeply, comes back from nowhere
            size = len(text.encode())
        except (ValueError, RecursionError):
            raise Problem(field, "INVALID_VALUE", "must be an object that JSON can hold") from None
        if size > self.bytes_max:
            raise Problem(field, "MAX_BYTES", f"must have at most {self.bytes_max} bytes of JSON")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}


class RepositoryPath(Text):
    """A path from the repository's root, wherever the caller stands: it may not exist yet."""

    def check(self, value: Any, field: str, where: Where) -> str:
        text = super().check(value, field, where)
        parts = [part for part in text.split("/") if part not in ("", ".")]
        if text.startswith(("/", "~")) or "\\" in text or ".." in parts or text[1:2] == ":":
            raise Problem(field, "INVALID_PATH", "must be a path from the repository's root, without .. or a drive")
        return "/".join(parts) or "."


class Ability(Trimmed):
    """Something that an agent can do or has: one word, whatever its case."""

    def check(self, value: Any, field: str, where: Where) -> str:
        word = super().check(value, field, where).lower()
        if not word.isprintable() or " " in word or "," in word:
            raise Problem(field, "INVALID_VALUE", "must be one word")
        return word


class KeyOfIssues(Text):
    """What stands before the number of an issue."""

    def check(self, value: Any, field: str, where: Where) -> str:
        key = super().check(value, field, where).strip().upper()
        if not (key.isascii() and key.isalnum() and key[0].isalpha()):
            raise Problem(field, "INVALID_VALUE", "must be a letter, then letters and digits, as in PAY-42")
        return key


class NameOfAgent(Text):
    """The name of an agent, as those are formed."""

    def check(self, value: Any, field: str, where: Where) -> str:
        name = super().check(value, field, where)
        if config.agent_name(name, fallback="") != name:
            raise Problem(field, "INVALID_VALUE", "must be letters, digits, dots, dashes or underscores")
        return name


class Address(Text):
    """Whom a message is for: an agent, one session of it as agent#session, or * for everybody."""

    def check(self, value: Any, field: str, where: Where) -> str:
        text = super().check(value, field, where)
        name, _, session = text.partition("#")
        known = name in ("*", "human") or config.agent_name(name, fallback="") == name
        if not known or (name == "*" and session) or (not session and "#" in text) or not session.isprintable():
            raise Problem(field, "INVALID_VALUE", "must be an agent's name, agent#session, or * for everybody")
        return text


class Numbered(Whole):
    """A number of the room, also as people write it: #17."""

    def check(self, value: Any, field: str, where: Where) -> int:
        digits = value.strip().removeprefix("#") if isinstance(value, str) else ""
        is_number = digits.isascii() and digits.isdigit() and len(digits) < 17
        return super().check(int(digits) if is_number else value, field, where)


class ArtifactUri(Text):
    """A reference: a repository-relative path, or an http(s) address without credentials."""

    def check(self, value: Any, field: str, where: Where) -> str:
        text = super().check(value, field, where)
        parts = text.split("/")
        steers = any(ord(sign) < 0x20 or 0x7F <= ord(sign) < 0xA0 for sign in text)
        if is_address(text):
            if "@" in parts[2] or not parts[2]:
                raise Problem(field, "INVALID_URL", "must name a host and carry no credentials")
            if steers or "\\" in text or any(sign.isspace() for sign in text):
                raise Problem(field, "INVALID_URL", "must not contain blanks, control characters or backslashes")
            return text
        if text.startswith(("/", "~")) or "\\" in text or ".." in parts or ":" in parts[0] or steers:
            raise Problem(field, "INVALID_PATH", "must be a path inside the repository, without .., drive or scheme")
        return text


def is_address(uri: str) -> bool:
    return uri[:8].lower().startswith(("http://", "https://"))  # a scheme has no case


class ArtifactRecord(Record):
    """An artifact: a url is an address, a file or directory is none, and everything else may be either."""

    def check(self, value: Any, field: str, where: Where) -> dict[str, Any]:
        found = super().check(value, field, where)
        address = is_address(found["uri"])
        if found["type"] == "url" and not address:
            raise Problem(f"{field}.uri", "INVALID_URL", "must be an http or https address, as a url is one")
        if found["type"] in ("file", "directory") and address:
            raise Problem(f"{field}.uri", "INVALID_PATH", f"must be a path in the repository, as a {found['type']} is")
        return found


class PathText(Kind):
    """A path, resolved in the caller's process to the place that a room knows; or a named resource."""

    def check(self, value: Any, field: str, where: Where) -> Place:
        if not isinstance(value, str):
            raise Problem(field, "INVALID_VALUE", "must be a text")
        resource = paths.resource(value)
        if resource is not None:
            return repository.named(*resource)
        return repository.locate(value, where.cwd, os.path.expanduser("~"), where.clock)

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


class Span(Kind):
    """A length of time as people write it: 90s, 30m or 2h; in milliseconds."""

    _UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000}

    def __init__(self, seconds_max: int) -> None:
        self.seconds_max = seconds_max

    def check(self, value: Any, field: str, where: Where) -> int:
        number, unit = (value[:-1], value[-1:]) if isinstance(value, str) else ("", "")
        if not (number.isascii() and number.isdigit() and len(number) < 9 and unit in self._UNITS):
            raise Problem(field, "INVALID_VALUE", "must be a length of time such as 90s, 30m or 2h")
        span = int(number) * self._UNITS[unit]
        if not 0 < span <= self.seconds_max * 1_000:
            raise Problem(field, "OUT_OF_RANGE", f"must be from 1s to {self.seconds_max // 3_600}h")
        return span

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


class Moment(Span):
    """When something will be over: a length of time from now (30m, +2h, 3d), a time as 2026-08-01T14:00:00Z, or seconds
    since 1970; in milliseconds from now."""

    _UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

    def check(self, value: Any, field: str, where: Where) -> int:
        text = value.strip() if isinstance(value, str) else ""
        if text.removeprefix("+")[-1:] in self._UNITS and text.removeprefix("+")[:-1].isdigit():
            return super().check(text.removeprefix("+"), field, where)
        left = self._wall(text, field) - where.clock.wall()
        if not 0 < left <= self.seconds_max * 1_000:
            raise Problem(field, "OUT_OF_RANGE", f"must be a time within the next {self.seconds_max // 86_400} days")
        return left

    def _wall(self, text: str, field: str) -> int:
        from datetime import datetime

        try:
            if text.isascii() and text.isdigit() and len(text) < 12:
                return int(text) * 1_000
            at = datetime.fromisoformat(text)
            return int(at.timestamp() * 1_000)
        except (ValueError, OverflowError, OSError):
            what = "must be a length of time such as 30m or 2h, or a time such as 2026-08-01T14:00:00Z"
            raise Problem(field, "INVALID_VALUE", what) from None


def kind_of(hint: Any) -> Kind:
    """The kind that an annotation names."""
    while isinstance(hint, Nullable | Absent):
        hint = hint.hint
    if not isinstance(hint, Kind):
        raise TypeError(f"{hint} is not a kind of argument")
    return hint


def _hints(shape: Any) -> dict[str, Any]:
    """What the fields of a TypedDict are, read where it was written."""
    names = vars(sys.modules[shape.__module__])
    return {name: eval(hint, names) for name, hint in shape.__annotations__.items()}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
