"""The board beside what is looked at: nothing lies on it, everything of it can be reached, and words mean one thing."""

from __future__ import annotations

from typing import Any

from tests.web.busy import Room
from tests.web.conftest import Person
from tests.web.test_story import sees

MANY = 230


def test_a_column_reaches_all_it_holds(room: Room, person: Person) -> None:
    for start in range(0, MANY, 50):
        issues = [
            {"ref": f"i{n}", "title": f"Issue {n}", "status": "ready"} for n in range(start, min(start + 50, MANY))
        ]
        room.ask("apply_issue_plan", "human", issues=issues, idempotency_key=f"k{start}")
    page = person.come_in()
    cards = page.locator(".column.ready .card")
    cards.first.wait_for()
    assert cards.count() == 60
    for count in (180, MANY):
        page.evaluate("document.querySelector('.column.ready .cards').scrollTop = 1e6")
        cards.nth(count - 1).wait_for(state="attached")
        assert cards.count() == count
    page.locator(".column.ready .further").wait_for(state="detached")


def test_the_side_panel_lies_on_nothing_and_what_it_shows_is_marked(room: Room, person: Person) -> None:
    for status in ("ready", "blocked", "review"):
        given: dict[str, Any] = {"blocked_reason": "needs a key"} if status == "blocked" else {}
        for number in range(20):
            room.ask("create_issue", "human", title=f"{status} {number}", status=status, **given)
    page = person.come_in()
    page.emulate_media(reduced_motion="reduce")  # a panel that slides in is not yet where it will be
    page.wait_for_selector(".card")
    for wide in (1920, 1440, 1280, 1100, 920):
        page.set_viewport_size({"width": wide, "height": 800})
        for issue in ("ISSUE-20", "ISSUE-60"):
            person.go(f"board~issue/{issue}")
            page.wait_for_selector(".panel article h1")
            card = page.locator(f".card[data-id='{issue}']")
            page.wait_for_selector(f".card[data-id='{issue}'][aria-current=true]")
            board, panel = page.locator(".board").bounding_box(), page.locator(".panel").bounding_box()
            assert board and panel and board["x"] + board["width"] <= panel["x"]
            assert panel["x"] + panel["width"] <= wide
            at = card.bounding_box()
            assert at and board["x"] - 1 <= at["x"] and at["x"] + at["width"] <= board["x"] + board["width"] + 1
        person.go("board")
        page.wait_for_selector(".panel", state="detached")


def test_a_lease_has_a_name_and_minutes_and_one_word_one_meaning(room: Room, person: Person) -> None:
    for who in ("claude-code", "codex"):
        room.hook("start", who, source="startup")
        room.hook("prompt", who, prompt="go on")
    room.ask("create_issue", "human", title="Parser", status="ready", reserved_for="claude-code")
    room.ask("create_issue", "human", title="Noted")
    room.ask("create_review_request", "human", issue_id="ISSUE-1")
    assert room.edit("claude-code", "src/a.py").code == 0
    assert room.edit("codex", "src/a.py").code == 2
    page = person.come_in()
    held = sees(page, ".held > ul > li", "src/a.py")
    assert "claude#9241" in held.inner_text() and "30 min" in held.inner_text()
    sees(page, ".feed li.loud", "was refused src/a.py: held by")
    sees(page, ".card", "for claude")
    # Open is a state of an issue and its column, and nothing else; a holder has one name.
    for place in ("board", "reviews", "messages", "board~issue/ISSUE-1", "map~path/src%2Fa.py"):
        person.go(place)
        page.wait_for_selector(".panel article h1" if "~" in place else f".view-{place} >> *")
        said = page.evaluate(
            """[...document.querySelectorAll('a, button, .chip')].map(each => each.innerText.trim())"""
        )
        assert "open" not in [each.lower() for each in said if each != "Open\\n1"], place
        assert "claude-code" not in page.locator("body").inner_text(), place
    said = "claude-code (busy) has docs/claude-code.md and claude-code/x; ask claude-code."
    renamed = page.evaluate("text => import('/web/js/words.mjs').then(words => words.renamed(text))", said)
    assert renamed == "claude (busy) has docs/claude-code.md and claude-code/x; ask claude."


def test_two_sessions_of_codex_have_two_names(room: Room, person: Person) -> None:
    # Codex, OpenCode and clients without hooks begin a session's name with the time, which all of a day share.
    room.crew = {"one": "01a22b86-a250-7271-a12e-bbe0f41cb1ad", "other": "01a22b86-d115-7140-bacf-c2170182a41a"}
    room.crew |= {"third": "mcp-01M8Q7J4TQ7VJHDBT9XHDZFPAZ", "fourth": "ses_dd476ce59ffepRZWlr7Rzr9WYb"}
    for who in room.crew:
        room.ask("claim_paths", who, paths=[f"src/{who}.py"], purpose="new prices")
    page = person.come_in()
    for name in ("one#b1ad", "other#a41a", "third#FPAZ", "fourth#9WYb"):
        sees(page, ".held > ul > li", name)
    person.go("board~path/src%2Fone.py")
    facts = sees(page, ".panel .facts", "new prices").inner_text()
    assert facts.count("for") == 1 and "editing" not in facts, "it is held for one thing"
