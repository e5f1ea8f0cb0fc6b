"""Every place of the page is an address, also a moment and a conversation; what divides rooms and browsers divides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.surfaces.hosted import Hosted
from tests.web.busy import Room
from tests.web.conftest import Person, repository
from tests.web.test_story import sees


def _hash(page: Any) -> str:
    return page.evaluate("decodeURIComponent(location.hash)")


def test_a_moment_is_an_address_and_back_leaves_the_past(room: Room, person: Person) -> None:
    room.hook("start", "claude-code", source="startup")
    room.ask("create_issue", "human", title="First", status="ready")
    room.ask("claim_issue", "claude-code", issue_id="ISSUE-1", context=False)
    assert room.edit("claude-code", "src/a.py").code == 0
    at = room.ask("get_changes", "human", limit=1)["latest_event_id"]
    room.ask("release_paths", "claude-code", paths=["src/a.py"])
    room.ask("create_issue", "human", title="Second", status="ready")
    page = person.come_in()
    sees(page, ".column.ready .card", "Second")
    person.page.evaluate("at => { location.hash = `#/harbour@${at}/map` }", at)
    sees(page, ".replay.past", "Back to now")
    sees(page, ".tree .path", "a.py")
    page.click(".replay button[aria-label='One event back']")
    page.wait_for_function("at => location.hash === `#/harbour@${at}/map`", arg=at - 1)
    page.click("nav.tabs >> text=Board")  # other views are of the same moment
    sees(page, ".column.live .card", "First")
    assert page.locator(".card", has_text="Second").count() == 0 and f"@{at - 1}/board" in _hash(page)
    page.go_back()
    page.wait_for_selector(".view-map")
    page.go_back()
    page.locator(".replay:not(.past)").wait_for()
    sees(page, ".column.ready .card", "Second")
    page.go_forward()
    sees(page, ".replay.past", "Back to now")
    page.click(".replay >> text=Back to now")
    page.locator(".replay:not(.past)").wait_for()
    assert "@" not in _hash(page)
    page.reload()
    sees(page, ".connection.live", "connected")


def test_messages_are_read_by_pair_and_by_issue(room: Room, person: Person) -> None:
    for who in ("claude-code", "codex"):
        room.hook("start", who, source="startup")
    room.ask("create_issue", "human", title="Parser", status="ready")
    room.ask("send_message", "codex", to="claude-code", text="May I have the lexer?", issue_id="ISSUE-1")
    room.ask("send_message", "codex", to="human", text="Which engine?")
    room.ask("send_message", "human", to="*", text="Release is on Thursday")
    page = person.come_in()
    person.go("messages")
    sees(page, ".letter", "Release is on Thursday")
    page.click(".pairs a >> text=ISSUE-1")
    sees(page, ".letter", "May I have the lexer?")
    page.locator(".letter", has_text="Which engine?").wait_for(state="detached")
    assert _hash(page) == "#/harbour/messages/about/ISSUE-1"
    page.fill("#to", "codex")
    page.fill(".compose textarea", "not before noon")
    page.click(".compose button.first")
    sees(page, ".letter.mine", "not before noon")
    assert room.ask("read_inbox", "codex")["items"][-1]["issue_id"] == "ISSUE-1"
    page.click(".pairs a >> text=codex – human")
    sees(page, ".letter", "Which engine?")
    sees(page, ".letter", "not before noon")
    assert page.locator(".letter").count() == 2 and page.input_value("#to") == "codex"
    page.go_back()
    sees(page, ".letter", "May I have the lexer?")
    page.click(".pairs a >> text=to everybody")
    sees(page, ".letter", "Release is on Thursday")
    assert page.input_value("#to") == "everybody"
    page.fill(".compose textarea", "All text is UTF-8")  # which is no issue
    page.click(".compose button.first")
    sees(page, ".letter.mine", "All text is UTF-8")
    person.wrong.clear()  # the browser notes that there is no such issue


def test_rooms_of_one_host_are_chosen_at_the_top_and_logging_out_ends_all(
    room: Room, person: Person, tmp_path: Path
) -> None:
    other = Room(room.environ, repository(tmp_path / "other"))
    other.ask("create_issue", "human", title="Elsewhere", status="ready")
    room.ask("create_issue", "human", title="Here", status="ready")
    page = person.come_in()
    names = page.locator("select.rooms option").all_inner_texts()
    assert len(names) == 2
    titles: dict[str, list[str]] = {}
    for name in names:
        page.select_option("select.rooms", name)
        page.wait_for_function("name => location.hash === `#/${encodeURIComponent(name)}/board`", arg=name)
        page.wait_for_selector(".card")
        titles[name] = page.locator(".card .text").all_inner_texts()
    assert sorted(titles.values()) == [["Elsewhere"], ["Here"]]
    other.ask("create_issue", "human", title="News", status="ready")
    page.select_option("select.rooms", next(name for name, found in titles.items() if found == ["Elsewhere"]))
    sees(page, ".column.ready .card", "News")
    _each_its_own(page, {found[0]: name for name, found in titles.items()})
    other.close()
    page.click("text=Log out")
    sees(page, ".door", "clearway web --open")
    page.reload()
    sees(page, ".door", "clearway web --open")
    person.wrong.clear()  # the browser itself notes an answer that is no success


def _each_its_own(page: Any, rooms: dict[str, str]) -> None:
    """What is open at the side, and what was begun to be written, is of the room that the address names."""
    for title, name in (*rooms.items(), *rooms.items()):
        page.evaluate("name => { location.hash = `#/${encodeURIComponent(name)}/board~issue/ISSUE-1` }", name)
        sees(page, ".panel h1", title)
    for name in rooms.values():
        page.evaluate("name => { location.hash = `#/${encodeURIComponent(name)}/messages` }", name)
        page.locator("select.rooms").wait_for()
        page.wait_for_function("name => document.querySelector('select.rooms').value === name", arg=name)
        page.wait_for_selector(".compose textarea")
        assert not page.input_value(".compose textarea")
        page.fill(".compose textarea", f"begun in {name}")
    near: list[str] = []
    for name in rooms.values():
        page.evaluate("name => { location.hash = `#/${encodeURIComponent(name)}/graph` }", name)
        page.wait_for_function("name => document.querySelector('select.rooms').value === name", arg=name)
        page.locator(".world[style]:not(.moving) .node").first.wait_for()
        near.append(page.evaluate("document.querySelector('.world').style.transform.split(' ').at(-1)"))
        page.click(".tools >> text=−")
        page.wait_for_function("() => !document.querySelector('.world').style.transform.endsWith('scale(1.15)')")
    assert near == ["scale(1.15)"] * 2, "where one was is of that room"


def test_a_session_is_made_new_after_some_hours_and_a_lost_network_is_caught_up_with(
    room: Room, person: Person, host: Hosted
) -> None:
    """A laptop that slept: its stream is gone, what was meanwhile is told once, and nothing has to be done."""
    room.ask("create_issue", "human", title="Before", status="ready")
    page = person.come_in()
    before = page.evaluate("localStorage.getItem('clearway-key')")
    page.evaluate("localStorage.setItem('clearway-key-since', Date.now() - 7 * 3600e3)")
    page.reload()
    sees(page, ".column.ready .card", "Before")
    assert page.evaluate("localStorage.getItem('clearway-key')") != before
    page.wait_for_selector(".connection.live")
    person.context.set_offline(True)
    page.evaluate("dispatchEvent(new Event('online'))")  # the stream is dropped, as after sleep
    sees(page, ".connection.lost", "connection lost")
    room.ask("create_issue", "human", title="Meanwhile", status="ready")
    page.locator(".replay button.text").wait_for()
    person.context.set_offline(False)
    sees(page, ".column.ready .card", "Meanwhile")
    sees(page, ".connection.live", "connected")
    assert page.locator(".feed li", has_text="Meanwhile").count() == 1
    person.wrong.clear()
