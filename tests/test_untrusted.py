"""Other people's text: on one line, with what cannot be seen shown, and never longer than allowed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.untrusted import ending, escaped, exact, folded, quoted, readable, within

ANY = st.text(st.characters(), max_size=200)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("  two\r\n\twords  ", "two words"),
        ("a\nSYSTEM: b", "a SYSTEM: b"),
        ("\x1b[31mred", "<U+001B>[31mred"),
        ("a\u202eb", "a<U+202E>b"),
        ("a\u2066b\u2069", "a<U+2066>b<U+2069>"),
        ("in\u200bvisible", "in<U+200B>visible"),
        ("soft\u00adhyphen", "soft<U+00AD>hyphen"),
        ("\ufeffmark", "<U+FEFF>mark"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("variant\U000e0101", "variant<U+E0101>"),
        ("filler\u3164", "filler<U+3164>"),
        ("done ✔\ufe0f", "done ✔\ufe0f"),
        ("line\u2028separator", "line<U+2028>separator"),
        ("\ud800", "<U+D800>"),
        ("\x00", "<U+0000>"),
        ("\x9b31m", "<U+009B>31m"),
        ("é日本語🙂", "é日本語🙂"),
        ("", ""),
    ],
)
def test_a_text_is_one_line_and_shows_what_it_hides(text: str, shown: str) -> None:
    """C46, in part."""
    assert folded(text, 100) == shown


@pytest.mark.parametrize(
    ("text", "shown"), [('say "hi"', "\"say 'hi'\""), ('x" until', '"x\' until"'), ("", '""'), ("a\nb", '"a b"')]
)
def test_a_quotation_cannot_be_ended_from_inside(text: str, shown: str) -> None:
    assert quoted(text, 100) == shown


@given(ANY, st.integers(1, 50))
def test_a_folded_text_is_printable_and_keeps_its_length(text: str, chars: int) -> None:
    shown = folded(text, chars)

    assert len(shown) <= chars
    assert "\n" not in shown
    assert all(letter.isprintable() or letter.isspace() or ord(letter) > 0x2FF for letter in shown)
    shown.encode()


@given(ANY.filter(lambda text: text.isprintable()), st.integers(3, 60))
def test_a_text_within_bytes_is_its_beginning(text: str, count: int) -> None:
    cut = within(text, count)

    assert len(cut.encode()) <= count
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


@given(ANY.filter(lambda text: text.isprintable()), st.integers(3, 60))
def test_an_ending_is_the_end_of_the_name(text: str, count: int) -> None:
    line = exact(text)
    cut = ending(text, count)

    assert len(cut.encode()) <= count
    assert cut == line or (cut.startswith("…") and line.endswith(cut[1:]))


def test_a_long_text_says_that_it_goes_on() -> None:
    assert folded("word " * 100, 10) == "word word…"
    assert folded("x" * 10, 10) == "x" * 10
    assert within("ä" * 10, 8) == "ää…"
    assert ending("src/" + "deep/" * 50 + "file.py", 12) == "…p/file.py"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a b.txt", "a b.txt"),
        ("a  b", "a  b"),
        ("f\n", "f<U+000A>"),
        ("f ", "f<U+0020>"),
        (" f", "<U+0020>f"),
        ("  ", "<U+0020><U+0020>"),
        ("a\u00a0b", "a<U+00A0>b"),
        ("a\u202eb", "a<U+202E>b"),
        ("é日本語", "é日本語"),
    ],
)
def test_a_name_is_shown_letter_for_letter(name: str, shown: str) -> None:
    assert exact(name) == shown


def test_a_reply_shows_what_it_hides_and_only_bodies_keep_their_lines() -> None:
    """C46."""
    reply = {
        "title": "a\nSYSTEM: b\x1b[2J",
        "labels": ["x\u202ey", "plain"],
        "issue": {"description": "one\r\n\ttwo\u2028three\u200b", "version": 3},
        "next_steps": ["a\nb"],
        "held_by": None,
    }
    assert readable(reply) == {
        "title": "a<U+000A>SYSTEM: b<U+001B>[2J",
        "labels": ["x<U+202E>y", "plain"],
        "issue": {"description": "one\n\ttwo<U+2028>three<U+200B>", "version": 3},
        "next_steps": ["a\nb"],
        "held_by": None,
    }


@given(ANY)
def test_escaped_json_says_the_same_and_nothing_a_terminal_could_obey(text: str) -> None:
    shown = escaped(json.dumps({"text": text}, ensure_ascii=False))

    assert json.loads(shown) == {"text": text}
    assert readable(shown) == shown or any("\ud800" <= letter <= "\udfff" for letter in text)
