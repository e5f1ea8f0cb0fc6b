"""JSON for modules that a hook loads.

The public `json` package imports `re` and costs more than the work itself. The C scanner and encoder behind it do not;
where a Python lacks them, the public package is used instead, with the same results.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeGuard

_SPACE = " \t\n\r"
_IN_ADDRESS = bytes.maketrans(b"+/", b"-_")
_ENCODES: list[Callable[..., bytes]] = []  # loaded with the first word: most hooks write none


class _Scanning:
    """The attributes that the C scanner reads from its context."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(f"{name} is not JSON")


def _c_loads() -> Callable[[str], Any]:
    from _json import make_scanner  # type: ignore[import-not-found, attr-defined]

    scan = _scanner(make_scanner)

    def decode(text: str) -> Any:
        start = len(text) - len(text.lstrip(_SPACE))
        if start == len(text):  # not worth the ten milliseconds in which json would say the same
            raise ValueError("no JSON: the text is empty")
        try:
            value, end = scan(text, start)
        except (StopIteration, SystemError):  # without json.decoder loaded, the scanner cannot say what is wrong
            return _public_loads(text)
        except RecursionError:
            raise ValueError("JSON nested too deeply") from None
        if text[end:].strip(_SPACE):
            raise ValueError(f"more than one JSON value, at character {end}")
        return value

    return decode


def _scanner(make: Callable[[Any], Callable[[str, int], tuple[Any, int]]]) -> Callable[[str, int], tuple[Any, int]]:
    """Any object with the attributes will do as the context, whatever the stubs say."""
    return make(_Scanning)


def _public_loads(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


def _c_dumps() -> Callable[[Any], str]:
    from _json import encode_basestring, make_encoder  # type: ignore[import-not-found, attr-defined]

    def refuse(value: Any) -> Any:
        raise TypeError(f"{type(value).__name__} is not JSON")

    encode = make_encoder(None, refuse, encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(encode(value, 0))


def _choose() -> tuple[Callable[[str], Any], Callable[[Any], str]]:
    try:
        decode, encode = _c_loads(), _c_dumps()
        if decode(encode({"a": [1, None, "b"]})) == {"a": [1, None, "b"]}:
            return decode, encode
    except (ImportError, AttributeError, TypeError):
        pass
    import json

    return _public_loads, lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


_decode, _encode = _choose()


def loads(text: str | bytes) -> Any:
    """Read one JSON value. A byte order mark is skipped. Raises ValueError for anything else."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")  # UnicodeDecodeError is a ValueError
    return _decode(text[1:] if text[:1] == "\ufeff" else text)


def dumps(value: Any) -> str:
    """Write one JSON value, compact, with non-ASCII characters as they are."""
    return _encode(value)


def in_address(raw: bytes) -> str:
    """Bytes as a word that may stand in an address: base64 as RFC 4648 has it for that, without what fills it up."""
    if not _ENCODES:
        from binascii import b2a_base64

        _ENCODES.append(b2a_base64)
    return str(_ENCODES[0](raw, newline=False).rstrip(b"=").translate(_IN_ADDRESS), "ascii")


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value that `loads` read is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value that `loads` read is a JSON array."""
    return isinstance(value, list)


def is_broken(value: Any) -> bool:
    """Whether half of a surrogate pair stands alone in a text of this value: what no encoding can carry."""
    waiting = [value]
    while waiting:
        each: Any = waiting.pop()
        if isinstance(each, str):
            if not each.isascii() and any("\ud800" <= letter <= "\udfff" for letter in each):
                return True
        elif is_object(each):
            waiting += each
            waiting += each.values()
        elif is_list(each):
            waiting += each
    return False
