"""The small card beside a link: what it says, when it comes and goes, where it stands, and for whom it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted, hosted
from tests.web.busy import Room, end
from tests.web.conftest import Person, roomed

CARD = "#small-card"


@pytest.fixture(scope="module")
def harbour_at_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Room, Hosted]]:
    """A room in which one works, one was refused, one has failed, and something was said; for all who only look."""
    with roomed(tmp_path_factory.mktemp("hover")) as room:
        _work(room)
        with hosted(room.environ) as running:
            yield room, running


def _work(room: Room) -> None:
    title = "Claim in one transaction, whatever else is going on in the room"
    room.ask("create_issue", "human", title=title, status="ready")
    room.ask("create_issue", "human", title="Parser", status="ready")
    room.ask("create_issue", "human", title="Noted only")
    for who in ("claude-code", "codex"):
        room.hook("start", who, source="startup")
        room.hook("prompt", who, prompt="go on")
    failing = room.ask("claim_issue", "codex", issue_id="ISSUE-2", context=False)
    end(room, "codex", failing, outcome="failed", result_summary="No answer.", failure="environment_error")
    taken = room.ask("claim_issue", "claude-code", issue_id="ISSUE-1", context=False)
    keys = {name: taken[name] for name in ("attempt_id", "lease_token")}
    room.ask("save_attempt_note", "claude-code", **keys, kind="checkpoint", content="The **insert** works.")
    assert room.edit("claude-code", "src/a.py").code == 0
    assert room.edit("codex", "src/a.py").code == 2
    room.ask("send_message", "codex", to="claude-code", text="May I have src/a.py?")


@pytest.fixture
def person(chromium: Any, harbour_at_work: tuple[Room, Hosted]) -> Iterator[Person]:
    made = Person(chromium, harbour_at_work[1])
    yield made
    made.context.close()
    assert not made.wrong, made.wrong


@pytest.fixture
def worked(person: Person) -> Any:
    page = person.come_in()
    page.wait_for_selector(".feed li.loud")
    page.evaluate("import('/web/js/hover.mjs').then(() => true)")
    return page


def _says(page: Any, link: Any, *words: str) -> str:
    """Rest on a link until its card is there; what it says."""
    page.mouse.move(1, 1)
    page.wait_for_selector(CARD, state="detached")
    link.hover()
    page.locator(CARD, has_text=words[0]).wait_for()
    said = " ".join(page.locator(CARD).inner_text().split())
    assert all(word in said for word in words), said
    _stands_well(page, link)
    return said


def _stands_well(page: Any, link: Any) -> None:
    """Inside the window, beside its link, so never under a pointer that rests on it; and named by the link."""
    card, at = page.locator(CARD).bounding_box(), link.bounding_box()
    size = page.viewport_size
    assert card["x"] >= 0 and card["y"] >= 0
    assert card["x"] + card["width"] <= size["width"] and card["y"] + card["height"] <= size["height"]
    apart = (
        card["y"] >= at["y"] + at["height"]
        or card["y"] + card["height"] <= at["y"]
        or card["x"] >= at["x"] + at["width"]
        or card["x"] + card["width"] <= at["x"]
    )
    assert apart, (card, at)
    assert page.locator(CARD).get_attribute("role") == "tooltip"
    assert link.get_attribute("aria-describedby") == "small-card"


def test_every_object_shows_its_card_to_whoever_rests_on_it(worked: Any, person: Person) -> None:
    page, asked = worked, []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    issue = page.locator(".column.live .card[data-id='ISSUE-1'] .text")
    page.mouse.move(1, 1)
    issue.hover()
    page.locator(CARD, has_text="ISSUE-1").wait_for()
    _says(page, page.locator(".held [data-path='src/a.py']"), "src/a.py", "claude#9241", "codex#7f3a was refused it")
    _says(page, page.locator(".feed .who a.agent", has_text="codex").first, "codex, session 7f3a61d2-90ae", "enforced")
    _says(page, page.locator(".feed li.loud a.when").first, "refused", "was refused src/a.py: held by claude#9241", "Z")
    _says(page, page.locator(".feed a.issue-id", has_text="#").first, "May I have src/a.py?", "not seen yet")
    _says(page, page.locator(".feed a.issue-id", has_text="ISSUE-1").first, "whatever else is going on", "claude#9241")
    assert not asked, "what the page knows is not asked for"
    person.go("board~issue/ISSUE-2")
    attempt = page.locator(".panel .attempts a", has_text="failed")
    _says(page, attempt, "attempt on ISSUE-2", "No answer.", "environment error")
    time = page.locator(".panel .facts time").first
    page.mouse.move(1, 1)
    time.hover()
    at = time.get_attribute("datetime")
    page.locator(CARD, has_text=at).wait_for()
    local = page.evaluate("at => new Date(at).toLocaleTimeString([], {hourCycle: 'h23', timeStyle: 'medium'})", at)
    assert local in page.locator(CARD).inner_text()


def test_what_the_page_does_not_know_is_asked_for_once(
    harbour_at_work: tuple[Room, Hosted], worked: Any, person: Person
) -> None:
    page, asked, room = worked, [], harbour_at_work[0]
    room.ask("create_issue", "human", title="Whole", status="ready", description="See ISSUE-4 and ISSUE-9.")
    at = room.ask("get_issue", "human", issue_id="ISSUE-4")["version"]
    room.ask("archive_issue", "human", issue_id="ISSUE-4", expected_version=at)
    page.wait_for_selector(".card[data-id='ISSUE-4']", state="detached")
    person.go("board~issue/ISSUE-4")
    link = page.locator(".panel .md a", has_text="ISSUE-4")
    link.wait_for()
    page.locator(".panel .still-lines").first.wait_for(state="detached")
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    for _ in range(2):
        _says(page, link, "Whole")
    assert asked.count("get_issue") == 1
    _says(page, page.locator(".panel .md a", has_text="ISSUE-9"), "ISSUE-9:")
    person.wrong.clear()  # the browser complains that there is no ISSUE-9
    # What touches it while somebody reads its card is asked for anew.
    room.ask("create_issue", "human", title="Another", status="ready", description="See ISSUE-4.")
    person.go("board~issue/ISSUE-5")
    _says(page, page.locator(".panel .md a", has_text="ISSUE-4"), "Whole")
    with page.expect_request(lambda request: request.url.endswith("/ask/get_issue") and "ISSUE-4" in request.post_data):
        for archived in (False, True):
            at = room.ask("get_issue", "human", issue_id="ISSUE-4")["version"]
            room.ask("archive_issue", "human", issue_id="ISSUE-4", expected_version=at, archived=archived)
    page.locator(CARD, has_text="Whole").wait_for()


def test_a_card_comes_with_the_keys_and_goes_with_escape_and_nothing_moves(worked: Any) -> None:
    page = worked
    page.evaluate("""() => { window.shifts = []
      new PerformanceObserver(found => window.shifts.push(...found.getEntries().map(each => each.value)))
        .observe({type: 'layout-shift'}) }""")
    page.keyboard.press("j")
    page.locator(CARD).wait_for()
    first = page.evaluate("document.activeElement.getAttribute('aria-describedby')")
    assert first == "small-card"
    page.keyboard.press("Escape")
    page.wait_for_selector(CARD, state="detached")
    assert page.evaluate("document.activeElement.matches('[data-item]:not([aria-describedby])')")
    assert sum(page.evaluate("window.shifts")) < 0.01
    page.evaluate("location.hash = '#/harbour/board~issue/ISSUE-1'")
    page.locator(".panel a.agent").first.wait_for()
    while not page.evaluate("document.activeElement.matches('.panel a.agent')"):
        page.keyboard.press("Tab")
    page.locator(CARD, has_text="session").wait_for()
    page.keyboard.press("Escape")  # the card first
    page.wait_for_selector(CARD, state="detached")
    assert page.locator(".panel").count() == 1
    page.keyboard.press("Escape")  # then the panel
    page.wait_for_selector(".panel", state="detached")
    page.wait_for_timeout(400)  # what must not come cannot be waited for
    assert page.locator(CARD).count() == 0, "the page moved the focus back, not the person"


def test_a_card_stays_while_the_pointer_is_on_it_and_none_comes_after_a_click(worked: Any) -> None:
    page = worked
    link = page.locator(".feed .who a.agent", has_text="codex").first
    _says(page, link, "codex")
    box = page.locator(CARD).bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2, steps=4)
    page.wait_for_timeout(400)
    assert page.locator(CARD).count() == 1
    page.mouse.move(1, 1)
    page.wait_for_selector(CARD, state="detached")
    link.click()
    page.wait_for_selector(".panel article")
    page.wait_for_timeout(400)
    assert page.locator(CARD).count() == 0


def test_touch_shows_no_card(chromium: Any, harbour_at_work: tuple[Room, Hosted]) -> None:
    person = Person(chromium, harbour_at_work[1], has_touch=True)
    page = person.come_in()
    page.evaluate("import('/web/js/hover.mjs').then(() => true)")
    page.locator(".card").first.tap()
    page.wait_for_selector(".panel article")
    page.wait_for_timeout(400)
    assert page.locator(CARD).count() == 0
    person.context.close()
