"""What somebody meets who has never seen this before: words as people say them, answers that say what to do next."""

from __future__ import annotations

import json

import pytest
from tests.surfaces.conftest import Terminal


@pytest.fixture
def shop(terminal: Terminal) -> Terminal:
    terminal("init", "--name", "Shop")
    for title in ("Read", "Print", "Send"):
        terminal("issue", "create", title, "--status", "ready")
    return terminal


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (("ISSUE-1", "blocks", "ISSUE-2"), ("ISSUE-1", "blocks", "ISSUE-2")),
        (("1", "blocked-by", "2"), ("ISSUE-2", "blocks", "ISSUE-1")),
        (("1", "related-to", "2"), ("ISSUE-1", "related_to", "ISSUE-2")),
        (("1", "related", "2"), ("ISSUE-1", "related_to", "ISSUE-2")),
        (("2", "duplicates", "1"), ("ISSUE-2", "duplicates", "ISSUE-1")),
        (("1", "2"), ("ISSUE-1", "blocks", "ISSUE-2")),
        (("1", "2", "--type", "duplicates"), ("ISSUE-1", "duplicates", "ISSUE-2")),
    ],
)
def test_issues_are_linked_as_people_say_it(shop: Terminal, said: tuple[str, ...], meant: tuple[str, ...]) -> None:
    for word, changed in (("link", True), ("link", False), ("unlink", True)):
        told = shop("--json", "issue", word, *said).json
        assert (told["source"], told["type"], told["target"]) == meant
        assert told["changed"] is changed
    assert shop("issue", "link", "1", "eats", "2").code == "INVALID_ARGUMENT"


def test_a_refusal_names_the_words_to_type(shop: Terminal) -> None:
    """On a terminal nobody can type the name of an operation; programs are told as before."""
    for number in ("1", "2", "3"):
        shop("issue", "update", number, "--status", "cancelled")
    told = shop("next")
    assert told.code == "NOTHING_TO_CLAIM"
    assert "clearway issue list shows what is there, clearway issue create adds work" in told.err
    assert "list_issues" in shop("--json", "next").err
    assert "clearway issue list" in shop("issue", "show", "99").err


def test_who_finds_no_work_learns_why(shop: Terminal) -> None:
    shop("issue", "link", "1", "blocks", "2")
    shop("issue", "update", "3", "--status", "cancelled")
    shop("issue", "create", "Later")
    shop("--as", "codex", "next")
    told = shop("--as", "gemini", "next").err
    assert "(1 in work, 1 waiting for others, 1 open and not ready yet)" in told


def test_a_project_is_shown_in_a_few_lines(shop: Terminal) -> None:
    shop("project", "set", "--key", "PAY", "--instructions", "Run the suite.\nNo ORM.")
    told = shop("project", "show").out
    assert told.startswith("Shop\n") and "PAY-1" in told and "you are human" in told
    assert "{" not in told and "--include-instructions" in told
    assert "  No ORM." in shop("project", "show", "--include-instructions").out
    assert shop("--json", "project", "show").json["supported"]["types"]


def test_what_is_finished_is_not_said_to_wait(shop: Terminal) -> None:
    shop("issue", "link", "1", "blocks", "2")
    assert "waits for 1 other issue" in shop("issue", "show", "2").out
    shop("issue", "update", "2", "--status", "done")
    assert "waits for" not in shop("issue", "show", "2").out


def test_keeping_an_issue_for_somebody_is_said_in_words(shop: Terminal) -> None:
    assert "changed: whom it is kept for" in shop("issue", "reserve", "1", "--for", "codex").out
    assert "kept for codex" in shop("issue", "show", "1").out


def test_a_list_shows_a_person_what_is_unfinished_and_says_so(shop: Terminal) -> None:
    """Who has worked for a year would else read the oldest finished issues first; programs get what they ask for."""
    assert "Finished" not in shop("issue", "list").out
    shop("issue", "update", "1", "--status", "done")
    told = shop("issue", "list").out
    assert "ISSUE-1" not in told and "ISSUE-2" in told
    assert told.endswith("Finished ones are not listed; --status cancelled --status done lists them.\n")
    assert "ISSUE-1" in shop("issue", "list", "--status", "done").out
    assert len(shop("--json", "issue", "list").json["items"]) == 3
    for number in ("2", "3"):
        shop("issue", "update", number, "--status", "cancelled")
    assert shop("issue", "list").out.startswith("No such issues.")


# --- artifacts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "uri", "fits"),
    [
        ("url", "https://example.com/a?b=c@d#e", True),
        ("url", "http://[::1]:8080/x", True),
        ("url", "src/a.py", False),
        ("url", "javascript:alert(1)", False),
        ("url", "data:text/html,x", False),
        ("url", "https://me:secret@example.com/", False),
        ("url", "https://token@example.com/", False),
        ("url", "https://example.com/a b", False),
        ("url", "https://example.com/\n/x", False),
        ("url", "https://example.com\\@evil.example/", False),
        ("url", "https:///etc/passwd", False),
        ("file", "src/a b.py", True),
        ("file", "résumé.md", True),
        ("file", "https://example.com/a", False),
        ("file", "/etc/passwd", False),
        ("file", "~/.ssh/id", False),
        ("file", "src/../../x", False),
        ("file", "C:/x", False),
        ("file", "src\\a.py", False),
        ("file", "src/a\x1b[31m.py", False),
        ("file", "file:///etc/passwd", False),
        ("directory", "docs", True),
        ("directory", "https://example.com/", False),
        ("pull_request", "https://example.com/pull/7", True),
        ("commit", "0a1b2c3", True),
        ("log", "build/log.txt", True),
    ],
)
def test_an_artifact_names_a_place_in_the_repository_or_a_plain_address(
    shop: Terminal, kind: str, uri: str, *, fits: bool
) -> None:
    shop("--as", "codex", "next")
    artifact = json.dumps({"type": kind, "uri": uri})
    told = shop("--as", "codex", "attempt", "note", "--kind", "finding", "--content", "x", "--artifact", artifact)
    assert told.status == 0 if fits else told.code == "INVALID_ARGUMENT", told.err
