"""Two sessions of one client are told apart by what is shown of their names, in the terminal as in the browser."""

from __future__ import annotations

import pytest

from clearway.surfaces import tables


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("01a22b86-a250-7271-a12e-bbe0f41cb1ad", "01a22b86-d115-7140-bacf-c2170182a41a"),  # Codex, a minute apart
        ("ses_dd476ce59ffepRZWlr7Rzr9WYb", "ses_dd476ce71ffeKxq0TnB5uV2hLd"),  # OpenCode
        ("mcp-01M8Q7J4TQ7VJHDBT9XHDZFPAZ", "mcp-01M8Q7JJJBGMHB59ZF8GTV192Q"),  # a client without hooks
        ("92bfbb4c-3bbb-438e-9ef7-d165b7d66065", "18765b11-52c2-4145-9d91-2787a6d50a3f"),  # Claude Code
    ],
)
def test_sessions_begun_within_a_minute_look_different(one: str, other: str) -> None:
    shown = {tables.session(one), tables.session(other)}
    assert len(shown) == 2 and {len(each) for each in shown} == {8}


def test_a_name_that_is_random_is_known_by_its_beginning_and_a_person_by_the_name_alone() -> None:
    assert tables.session("92bfbb4c-3bbb-438e-9ef7-d165b7d66065") == "92bfbb4c"
    assert tables.session("=anna@somewhere") == ""
