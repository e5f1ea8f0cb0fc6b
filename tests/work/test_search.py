"""What was written down anywhere is found by its words, whatever signs are in them."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.db.salvage import salvage
from clearway.room import open_room_file


@pytest.fixture
def agent(world: World) -> Agent:
    return world.agent("claude-code")


def made(agent: Agent, title: str, **given: Any) -> str:
    return agent.ask("create_issue", title=title, status="ready", **given)["display_id"]


def found(agent: Agent, query: str, **given: Any) -> list[str]:
    """What a question finds, as ISSUE-1 or as the kind of what was said about it."""
    reply = agent.ask("search", query=query, **given)
    assert not reply["has_more"]
    return [item["display_id"] if item["entity_type"] == "issue" else item["entity_type"] for item in reply["items"]]


def proof(claim: dict[str, Any]) -> dict[str, str]:
    return {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


def test_everything_that_says_something_is_found(agent: Agent) -> None:
    """I52: titles, descriptions, criteria, labels, comments, decisions, notes, steps, artifacts, results."""
    made(agent, "Zebra", description="Alpaca", acceptance_criteria="Badger", labels=["camel-care"])
    agent.ask("add_comment", issue_id="ISSUE-1", content="Dolphin")
    agent.ask("record_decision", issue_id="ISSUE-1", title="Ermine", summary="Ferret", content="Gecko")
    agent.ask("record_decision", title="Hamster", summary="For all", content="Of us")
    claim = agent.ask("claim_issue", next=True)
    agent.ask("save_attempt_note", **proof(claim), kind="finding", content="Ibex", next_steps=["Jackal"])
    agent.ask(
        "finish_attempt",
        **proof(claim),
        outcome="completed",
        result_summary="Koala",
        target_issue_status="done",
        verification=["Lemur"],
        artifacts=[{"type": "file", "uri": "src/meerkat.py", "title": "Newt"}],
    )

    for word in ("zebra", "alpaca", "badger", "camel", "camel-care"):
        assert found(agent, word) == ["ISSUE-1"], word
    assert found(agent, "dolphin") == ["comment"]
    for word in ("ermine", "ferret", "gecko", "hamster"):
        assert found(agent, word) == ["decision"], word
    for word in ("ibex", "jackal"):
        assert found(agent, word) == ["attempt_note"], word
    for word in ("koala", "lemur"):
        assert found(agent, word) == ["attempt"], word
    for word in ("meerkat", "newt", "src/meerkat.py"):
        assert found(agent, word) == ["artifact"], word


def test_an_item_says_what_it_is_and_where(agent: Agent) -> None:
    issue = agent.ask("create_issue", title="Parser")
    comment = agent.ask("add_comment", issue_id="ISSUE-1", content="The tokens are\nwrong.")["comment_id"]

    assert agent.ask("search", query="tokens") == {
        "items": [
            {
                "entity_type": "comment",
                "entity_id": comment,
                "issue_id": issue["issue_id"],
                "display_id": "ISSUE-1",
                "title": "Parser",
                "snippet": "The tokens are wrong.",
                "score": 1,
            }
        ],
        "has_more": False,
    }


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("C++", "C and plus"),
        ("C#", "C sharpness"),
        ("rhizome-mcp", "rhizome of mcp"),
        ("src/a.go", "src a go"),
        ("a:b", "a b"),
        ("x.y()", "x y"),
        ("foo_bar", "foo bar"),
        ("50%", "50 of"),
        ("user@host", "user host"),
    ],
)
def test_signs_inside_a_word_are_looked_for_too(agent: Agent, text: str, other: str) -> None:
    """I52: plain text finds what has it letter by letter, and not what has the same letters."""
    made(agent, f"About {text} and more", description="Nothing")
    made(agent, f"About {other} and more", description="Nothing")

    assert found(agent, text) == ["ISSUE-1"]
    assert found(agent, f'"about {text}"') == ["ISSUE-1"]


@pytest.mark.parametrize(
    "text",
    ['"', '""', "*", "-", "--", "OR", "OR OR", "NEAR", "NEAR(a b)", "AND", "NOT", "a OR", "^x", "{a}:b", "(", "'", "\\"]
    + [
        "-x",
        '-"',
        'x"y',
        '"x',
        "x*y*",
        "***",
        "a & b | !c",
        ":*",
        "<->",
        "a\\'b",
        "💥",
        "٣",
        "ü",
        "e\u0301",
        "%s %(x)s :x",
    ],
)
def test_no_text_is_wrong(agent: Agent, text: str) -> None:
    """I52: an unbalanced quote is read as a letter, and so is every sign that is no syntax."""
    made(agent, "Something else")

    assert agent.ask("search", query=text)["has_more"] is False
    assert agent.ask("search", query=f"else {text} something")["has_more"] is False


def test_words_phrases_beginnings_alternatives_and_what_is_not_wanted(agent: Agent) -> None:
    one, two = made(agent, "Mend the parser of dates"), made(agent, "Write a parser for dates and times")
    three = made(agent, "Print dates")

    assert found(agent, "dates parser") == [two, one]
    assert found(agent, '"parser of dates"') == [one]
    assert found(agent, '"the parser" dates') == [one]
    assert found(agent, "pars*") == [two, one]
    assert found(agent, '"parser f"*') == [two]
    assert found(agent, "mend OR print dates") == [three, one]
    assert found(agent, "dates -parser") == [three]
    assert found(agent, 'dates -"parser of"') == [three, two]
    assert found(agent, "pri* OR -times") == [three]
    assert found(agent, "-parser") == [two, one]
    assert found(agent, "PARSER MEND") == [one]
    assert found(agent, "near") == []


def test_what_is_not_wanted_may_stand_anywhere(agent: Agent) -> None:
    made(agent, "Mend dates", description="In the parser")
    two = made(agent, "Mend dates", description="In the printer")

    assert found(agent, "dates -parser") == [two]
    assert found(agent, "mend -dates") == []


def test_accents_do_not_matter(agent: Agent) -> None:
    made(agent, "Café über alles")

    for word in ("cafe", "café", "cafe\u0301", "UBER", "Über*"):
        assert found(agent, word) == ["ISSUE-1"], word


SCRIPTS = ("हिन्दी", "தமிழ்", "がんばる", "パーサ", "한국어", "العَرَبِيَّة", "עִבְרִית", "ภาษาไทย", "Việt", "йод", "日本語")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_every_script_is_found_however_it_is_typed(agent: Agent, form: Any) -> None:
    """Both engines; signs of vowels belong to their word, and letters may come in parts."""
    for word in SCRIPTS:
        made(agent, f"{word} now")
    typed = [unicodedata.normalize(form, word) for word in SCRIPTS]
    assert [found(agent, word) for word in typed] == [[f"ISSUE-{number}"] for number in range(1, len(SCRIPTS) + 1)]
    assert found(agent, f'"{typed[0]} now"') == found(agent, f"{typed[0][:2]}*") == ["ISSUE-1"]
    assert found(agent, typed[2], issue_id="ISSUE-3") == ["ISSUE-3"]


def test_titles_come_first_then_the_newest(agent: Agent) -> None:
    by_text = [made(agent, f"Number {number}", description="On the parser") for number in range(3)]
    by_title = [made(agent, f"Parser {number}", description="The parser itself") for number in range(3)]
    made(agent, "Something else")
    agent.ask("add_comment", issue_id=by_title[0], content="A parser.")

    assert found(agent, "parser") == [*reversed(by_title), "comment", *reversed(by_text)]
    scores = [item["score"] for item in agent.ask("search", query="parser")["items"]]
    assert scores == sorted(scores, reverse=True)


def test_pages_show_everything_once(agent: Agent) -> None:
    for number in range(4):
        made(agent, f"Parser {number}", description="The parser")
        made(agent, f"Number {number}", description="A parser")

    seen: list[str] = []
    cursor = None
    while True:
        page = agent.ask("search", query="parser", limit=3, **({"cursor": cursor} if cursor else {}))
        seen += [item["display_id"] for item in page["items"]]
        if not page["has_more"]:
            break
        cursor = page["next_cursor"]

    assert seen == [f"ISSUE-{number}" for number in (7, 5, 3, 1, 8, 6, 4, 2)]
    assert agent.refused("search", query="parser", cursor="bm90IG91cnM").details[0]["code"] == "MALFORMED_CURSOR"


def test_a_search_is_narrowed(agent: Agent) -> None:
    """I52: by kind, issue, epic, status and label; what was archived is hidden."""
    epic = agent.ask("create_issue", title="Grammar", type="epic")["display_id"]
    one = made(agent, "Parser", labels=["Core"], parent_issue_id=epic)
    two = made(agent, "Parser")
    agent.ask("add_comment", issue_id=two, content="Our parser.")
    agent.ask("update_issue", issue_id=two, expected_version=1, changes={"status": "done"})

    assert found(agent, "parser", entity_types=["comment"]) == ["comment"]
    assert found(agent, "parser", issue_id=two) == [two, "comment"]
    assert found(agent, "parser", epic_id=epic) == [one]
    assert found(agent, "parser", statuses=["ready"]) == [one]
    assert found(agent, "parser", labels=["core"]) == [one]
    agent.ask("archive_issue", issue_id=two, expected_version=2)
    assert found(agent, "parser") == [one]
    assert found(agent, "parser", include_archived=True) == [two, one, "comment"]
    assert agent.refused("search", query="parser", entity_types=["thing"]).code == "INVALID_ARGUMENT"
    assert agent.refused("search", query="parser", issue_id="ISSUE-99").code == "ISSUE_NOT_FOUND"


def test_a_snippet_is_short_and_has_the_word_in_it(agent: Agent) -> None:
    """I52."""
    made(agent, "Long", description="before " * 9_000 + "needle" + " after" * 5_000)

    for length in (0, 20, 100, 1_000):
        snippet = agent.ask("search", query="needle", snippet_length=length)["items"][0]["snippet"]
        assert len(snippet) <= length
        assert length < 100 or "needle" in snippet
    assert agent.refused("search", query="needle", snippet_length=1_001).code == "INVALID_ARGUMENT"
    assert agent.refused("search", query="n" * 1_001).code == "LIMIT_EXCEEDED"


def test_messages_are_found_by_those_who_may_read_them(world: World, agent: Agent) -> None:
    other, third, human = world.agent("codex"), world.agent("gemini"), world.agent("human")
    human.caller.human = True
    third.ask("room")
    private = other.ask("send_message", to="claude-code", text="The parser is yours, " * 20 + "and the C++ lexer")
    public = other.ask("send_message", to="*", text="Nobody touch the parser")
    other.ask("send_message", to="gemini", text="Nothing of that kind")

    def numbers(who: Agent, query: str = "parser", **given: Any) -> list[str]:
        return [item["entity_id"] for item in who.ask("search", query=query, messages=True, **given)["items"]]

    both = [f"#{public['message_id']}", f"#{private['message_id']}"]
    assert numbers(agent) == numbers(other) == numbers(human) == both
    assert numbers(third) == both[:1]
    assert numbers(agent, "c++") == numbers(agent, '"c++ lexer"') == both[1:]
    page = agent.ask("search", query="parser", messages=True, limit=1)
    assert page["has_more"]
    assert numbers(agent, cursor=page["next_cursor"]) == both[1:]
    found_one = agent.ask("search", query="lexer", messages=True, snippet_length=80)["items"][0]
    assert found_one["title"] == "codex to claude-code"
    assert "lexer" in found_one["snippet"]
    assert len(found_one["snippet"]) <= 80
    assert found(agent, "parser") == []


def test_what_was_changed_is_found_by_its_new_words_only(agent: Agent) -> None:
    made(agent, "Parser", description="Old words", labels=["red"])

    changes = {"title": "Lexer", "description": "New words", "labels": ["green"]}
    agent.ask("update_issue", issue_id="ISSUE-1", expected_version=1, changes=changes)
    for gone in ("parser", "old", "red"):
        assert found(agent, gone) == [], gone
    for here in ("lexer", "new", "green"):
        assert found(agent, here) == ["ISSUE-1"], here
    agent.ask("rename_label", label="green", name="blue")
    assert found(agent, "green") == []
    assert found(agent, "blue") == ["ISSUE-1"]


def test_what_is_taken_back_is_not_found(agent: Agent) -> None:
    agent.refused("create_issue", title="Parser", labels=["x"], create_missing_labels=False)

    assert found(agent, "parser") == []


def test_a_rebuilt_index_finds_the_same(world: World, agent: Agent) -> None:
    """I52."""
    test_everything_that_says_something_is_found(agent)
    words = ("zebra", "alpaca", "camel", "dolphin", "gecko", "hamster", "ibex", "koala", "meerkat")
    before = {word: agent.ask("search", query=word) for word in words}
    human = world.agent("human")
    human.caller.human = True

    assert human.ask("rebuild_search")["entries"] == 7
    assert {word: agent.ask("search", query=word) for word in words} == before
    assert agent.refused("rebuild_search").code == "FORBIDDEN"


def test_a_copy_of_a_room_finds_the_same(world: World, agent: Agent, tmp_path: Path) -> None:
    """The index is not among what is copied from a server: it is made from the rest."""
    test_everything_that_says_something_is_found(agent)
    copy = str(tmp_path / "copy.db")
    world.room.engine.copy_to(copy)
    room = open_room_file(copy, None, home=str(tmp_path / "other"), clock=world.clock, liveness=world.liveness)

    for word in ("zebra", "camel", "dolphin", "gecko", "koala"):
        assert Agent(world, agent.caller, room).ask("search", query=word) == agent.ask("search", query=word)
    room.close()


def test_what_is_saved_of_a_damaged_room_is_found(world: World, agent: Agent, tmp_path: Path) -> None:
    made(agent, "Parser", labels=["red"])
    damaged, sound = str(tmp_path / "damaged.db"), str(tmp_path / "sound.db")
    world.room.engine.copy_to(sound)
    made(agent, "Lexer")
    agent.ask("add_comment", issue_id="ISSUE-1", content="Mend it")
    world.room.engine.copy_to(damaged)
    salvage(damaged, sound)
    room = open_room_file(sound, None, home=str(tmp_path / "other"), clock=world.clock, liveness=world.liveness)
    reader = Agent(world, agent.caller, room)

    assert found(reader, "parser") == found(reader, "red") == ["ISSUE-1"]
    assert found(reader, "lexer") == ["ISSUE-2"]
    assert found(reader, "mend") == ["comment"]
    room.close()


def test_what_nobody_indexes_costs_no_entry(world: World, agent: Agent) -> None:
    """A claim and a renewal write nothing into the index."""
    made(agent, "Parser")
    before = world.rows("SELECT count(*) AS entries FROM search_entry")
    claim = agent.ask("claim_issue", next=True)
    agent.ask("renew_attempt", **proof(claim))

    assert world.rows("SELECT count(*) AS entries FROM search_entry") == before
