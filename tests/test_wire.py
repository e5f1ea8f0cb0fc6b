"""JSON by the C scanner: what it reads and writes, and that it refuses what the public package refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway import wire

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_again_and_is_the_public_packages_compact_form(value: Any) -> None:
    text = wire.dumps(value)

    assert wire.loads(text) == value
    assert text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(VALUES)
def test_what_the_public_package_wrote_is_read_alike(value: Any) -> None:
    assert wire.loads(json.dumps(value, indent=2)) == value
    assert wire.loads(b"\xef\xbb\xbf" + json.dumps(value).encode()) == value


@given(st.text(max_size=30))
def test_any_text_is_read_as_the_public_package_reads_it(text: str) -> None:
    try:
        expected: Any = json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            wire.loads(text)
    else:
        assert wire.loads(text) == expected


def _refuse(name: str) -> Any:
    raise ValueError(name)


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "}", "[1,]", '{"a":1,}', "{'a':1}", "nul", "1 2", "{} x", '"a', '"\n"', "01", "+1", ".5", "NaN",
     "Infinity", "-Infinity", '{"a":NaN}', "tru", '"\\x"', '"\\u12"', "[" * 100_000, '{"a":' * 100_000,
     b"\xff", b'"\xc3"', b"\x00"],
)  # fmt: skip
def test_what_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        wire.loads(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"bytes"])
def test_what_json_cannot_say_is_not_written(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        wire.dumps({"a": value})


def test_characters_are_written_as_they_are() -> None:
    assert wire.dumps({"é": "日本\n\u2028\x00"}) == '{"é":"日本\\n\u2028\\u0000"}'


def test_objects_and_arrays_are_told_apart() -> None:
    assert [wire.is_object(wire.loads(text)) for text in ("{}", "[]", "null", '"{}"')] == [True, False, False, False]
    assert [wire.is_list(wire.loads(text)) for text in ("{}", "[]", "null", '"[]"')] == [False, True, False, False]
