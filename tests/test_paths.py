"""Keys of paths and how they relate, by table and against the plain meaning of folders."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway import paths

PARTS = st.sampled_from(["a", "b", "a.py", "a-b", "é", "a0", "%", "_"])
KEYS = st.lists(PARTS, max_size=4).map(lambda parts: "/".join(parts) or ".")


@pytest.mark.parametrize(
    ("relative", "key"),
    [(".", "."), ("", "."), ("/", "."), ("a", "a"), ("a/", "a"), ("a/b", "a/b"), ("A/B", "A/B"), ("a\\b", "a\\b")],
)
def test_a_key_has_one_form(relative: str, key: str) -> None:
    assert paths.key(relative) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [("README.md", "readme.MD"), ("straße", "STRASSE"), ("é", unicodedata.normalize("NFD", "É")), ("a\\B", "A/b")],
)
def test_on_a_volume_that_folds_names_the_spellings_are_one(one: str, other: str) -> None:
    """P14."""
    assert paths.key(one, folds=True) == paths.key(other, folds=True)
    assert paths.key(one) != paths.key(other)


@pytest.mark.parametrize(
    ("upper", "lower", "covers"),
    [
        (".", "a", True),
        ("a", "a", True),
        ("a", "a/b", True),
        ("a", "ab", False),
        ("a/b", "a", False),
        ("a", ".", False),
    ],
)
def test_a_folder_covers_itself_and_what_is_below(upper: str, lower: str, *, covers: bool) -> None:
    assert paths.covers(upper, lower) is covers


@given(KEYS, KEYS)
def test_paths_overlap_when_one_holds_the_other(one: str, other: str) -> None:
    def parts(key: str) -> list[str]:
        return [] if key == "." else key.split("/")

    shorter = min(len(parts(one)), len(parts(other)))

    assert paths.overlap(one, other) is (parts(one)[:shorter] == parts(other)[:shorter])
    assert paths.overlap(one, other) is paths.overlap(other, one)


@given(KEYS, KEYS)
def test_what_an_index_finds_above_and_below_is_what_overlaps(one: str, other: str) -> None:
    """The statements look for the keys in `above` and for the range in `below`."""
    low, high = paths.below(one)

    assert (other in paths.above(one) or low <= other < high) is paths.overlap(one, other)


def test_the_keys_above_begin_with_the_nearest() -> None:
    assert paths.above("a/b/c") == ["a/b/c", "a/b", "a", "."]
    assert paths.above(".") == ["."]
