"""One day in a room, as a person sees and steers it in a browser, while real agents work."""

from __future__ import annotations

from typing import Any

from tests.surfaces.hosted import Hosted, hosted
from tests.web.busy import Room
from tests.web.conftest import Person
from tests.web.crowd import crowd


def sees(page: Any, selector: str, text: str) -> Any:
    """Wait until something on the page has this text."""
    found = page.locator(selector, has_text=text).first
    found.wait_for()
    return found


def test_a_person_sees_what_happens_and_acts(room: Room, person: Person, host: Hosted) -> None:
    """While fifty others watch, all of whom hear all of it, and one tries to break in, who gets nothing (P64)."""
    with crowd(host, room) as intruder:
        _a_day(room, person.come_in())
        assert intruder.tried  # it was at the door all the while


def _a_day(room: Room, page: Any) -> None:
    room.ask("create_issue", "human", title="Claim in one transaction", status="ready")
    sees(page, ".column.ready .card", "Claim in one transaction")
    # The board moves as an agent works.
    room.hook("start", "claude-code", source="startup")
    room.hook("prompt", "claude-code", prompt="go on")
    taken = room.ask("claim_issue", "claude-code", issue_id="ISSUE-1", context=False)
    sees(page, ".column.live .card", "claude#9241")
    sees(page, ".agents .one", "ISSUE-1")
    # A refused edit appears, and who holds what.
    assert room.edit("claude-code", "src/a.py").code == 0
    sees(page, ".held li", "src/a.py")
    room.hook("start", "codex", source="startup")
    assert room.edit("codex", "src/a.py").code == 2
    sees(page, ".feed li.loud", "was refused")
    assert page.locator(".counts .refusals dd").inner_text() == "1"
    collision = room.ask("get_changes", "human", event_types=["refused"])["events"][-1]["id"]
    _message(room, page)
    _release(room, page, taken)
    _review(room, page)
    _replay(page, collision)


def _message(room: Room, page: Any) -> None:
    """A message of the person's, and its receipts as they come in."""
    page.click("nav.tabs >> text=Messages")
    page.fill("#to", "codex")
    page.type(".compose textarea", "@co")
    sees(page, ".offers li", "codex").click()
    page.type(".compose textarea", "please leave src/a.py alone, see ISSUE-1")
    page.click(".compose button.first")
    sees(page, ".letter .receipt", "not seen yet")
    message = room.ask("read_inbox", "codex")["items"][0]
    assert (message["from"], message["issue_id"]) == ("human", "ISSUE-1")
    room.ask("accept_message", "codex", message_id=message["message_id"], note="will do")
    sees(page, ".letter .receipt", "will do")
    room.ask("send_message", "codex", to="human", text="May I take the parser?")
    sees(page, ".needs li.message", "May I take the parser?")


def _release(room: Room, page: Any, taken: dict[str, Any]) -> None:
    """The person takes a path and an issue away; each says first whom it hits, and the log has the person's name."""
    page.click(".held .path[data-path='src/a.py']")
    button = page.locator(".panel button.danger", has_text="Release src/a.py from claude#9241")
    button.click()
    sees(page, ".panel .sure", "its next edit there will be refused")
    page.click(".panel button.asking")
    sees(page, ".said", "is free")
    sees(page, ".held .quiet", "No path is held.")
    page.evaluate("location.hash = '#/harbour/board~issue/ISSUE-1'")
    page.locator(".panel button.danger", has_text="Release from claude#9241").click()
    page.click(".panel button.asking")
    sees(page, ".column.ready .card", "Claim in one transaction")
    events = room.ask("get_changes", "human", since_event_id=taken["event_id"], limit=200)["events"]
    forced = [event for event in events if event["data"].get("why") == "forced"]
    assert [event["data"]["forced_by"] for event in forced] == ["human"]
    assert [event["agent"] for event in events if event["type"] == "attempt_interrupted"] == ["human"]


def _review(room: Room, page: Any) -> None:
    again = room.ask("claim_issue", "codex", issue_id="ISSUE-1", context=False)
    done: dict[str, Any] = {
        "outcome": "completed",
        "result_summary": "Done, with a race test.",
        "target_issue_status": "review",
    }
    keys: dict[str, Any] = {name: again[name] for name in ("attempt_id", "lease_token")}
    room.ask("finish_attempt", "codex", **keys, **done)
    room.ask("create_review_request", "codex", issue_id="ISSUE-1")
    page.evaluate("location.hash = '#/harbour/board'")
    sees(page, ".column.review .card", "waits for review")
    page.locator(".needs li.review button", has_text="approve").click()
    page.fill("dialog textarea", "Read it, ran it.")
    page.click("dialog button.first")
    sees(page, ".said", "ISSUE-1 is approved")
    issue = room.ask("get_issue", "human", issue_id="ISSUE-1")
    assert issue["status"] == "done"
    review = room.ask("list_review_requests", "human", issue_id="ISSUE-1")["items"][0]
    assert (review["status"], review["reviewer"], review["findings"]) == ("approved", "human", "Read it, ran it.")


def _replay(page: Any, collision: int) -> None:
    """Back to the moment of the collision: the board and what was held are as they were."""
    for _ in range(4):  # what was taken away since is an exception, too
        page.click(".replay button[aria-label='To the exception before']")
        page.wait_for_selector(".replay.past .then a.agent")
        if page.locator(".replay input").input_value() == str(collision):
            break
    sees(page, ".replay.past .then", "was refused")
    sees(page, ".column.live .card", "Claim in one transaction")
    sees(page, ".held li", "src/a.py")
    page.click(".replay >> text=Back to now")
    sees(page, ".held .quiet", "No path is held.")


def test_an_issue_is_written_edited_linked_and_told_of_by_keyboard(room: Room, person: Person) -> None:
    page = person.come_in()
    sees(page, ".empty", "Two commands bring the first agent in")
    page.keyboard.press("n")
    page.fill("dialog input[type=text]", "Parse heredocs")
    page.fill("dialog textarea >> nth=0", "Both *quoted* and plain.")
    page.keyboard.press("Control+Enter")
    sees(page, ".panel h1", "Parse heredocs")
    sees(page, ".panel .md em", "quoted")
    page.keyboard.press("Escape")
    room.ask("create_issue", "anna", title="Lex first", status="ready")
    sees(page, ".column.ready .card", "Lex first")
    for key in ("j", "j", "k", "."):
        page.keyboard.press(key)
    page.locator("dialog button", has_text="Link").click()
    page.fill("dialog input", "ISSUE-2")
    page.click("dialog button.first")
    sees(page, ".column.blocked .card", "← 2")
    page.keyboard.press("g")
    page.keyboard.press("g")
    sees(page, ".node", "Parse heredocs")
    page.keyboard.press("/")
    page.keyboard.type("heredocs")
    page.keyboard.press("Enter")
    sees(page, ".hit", "Parse heredocs")
    page.go_back()
    sees(page, ".node", "Parse heredocs")
    page.keyboard.press("?")
    sees(page, "dialog .keys", "search")
    page.keyboard.press("Escape")
    issue = room.ask("get_issue", "human", issue_id="ISSUE-1")
    assert (issue["open_blockers"], issue["status"]) == (1, "ready")
    created = room.ask("get_changes", "human", event_types=["issue_created"])["events"][0]
    assert created["agent"] == "human"


def test_a_failed_deed_says_so_where_it_was_done(room: Room, person: Person) -> None:
    room.ask("create_issue", "human", title="One", status="ready")
    page = person.come_in()
    person.go("board~issue/ISSUE-1")
    page.locator(".panel button", has_text="Edit…").click()
    at = room.ask("get_issue", "human", issue_id="ISSUE-1")["version"]
    room.ask("update_issue", "anna", issue_id="ISSUE-1", expected_version=at, changes={"title": "Two"})
    page.fill("dialog input[type=text]", "Three")
    page.click("dialog button.first")
    sees(page, "dialog .failure", "VERSION_CONFLICT")
    page.click("dialog button >> text=Not now")
    room.ask("create_issue", "human", title="Two", status="ready")
    room.ask("manage_issue_relation", "human", source_issue_id="ISSUE-1", target_issue_id="ISSUE-2")
    unlink = page.locator(".panel .relations li", has_text="ISSUE-2").locator("button", has_text="unlink")
    unlink.click()
    sees(page, ".panel .relations .sure", "ISSUE-1 and ISSUE-2 are no longer linked.")
    page.route("**/ask/manage_issue_relation", lambda route: route.abort())
    page.click(".panel .relations button.asking")
    sees(page, ".panel .relations .act .failure", "The host does not answer.")
    person.wrong.clear()  # the browser itself notes every answer that is no success


def test_the_page_goes_on_after_the_host_was_gone(chromium: Any, environ: dict[str, str], room: Room) -> None:
    """The next host listens where the last one did and knows who is logged in; the stream goes on where it ended, and
    nothing in between is missed or told twice."""
    room.ask("create_issue", "human", title="Before", status="ready")
    with hosted(environ) as first:
        person = Person(chromium, first)
        page = person.come_in()
        sees(page, ".column.ready .card", "Before")
    sees(page, ".connection.lost", "connection lost")
    room.ask("create_issue", "human", title="Meanwhile", status="ready")
    with hosted(environ):
        sees(page, ".connection.live", "connected")
        sees(page, ".column.ready .card", "Meanwhile")
        sees(page, ".feed li", "Meanwhile")
        assert page.locator(".feed li", has_text="Meanwhile").count() == 1
        person.context.close()
