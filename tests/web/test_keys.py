"""Without a mouse, and without eyes: everything by keyboard, the focus always seen, and what is new told in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted, hosted
from tests.web.busy import Room
from tests.web.conftest import Person, roomed
from tests.web.test_story import sees

VIEWS = {"l": "list", "g": "graph", "m": "map", "w": "messages", "r": "reviews", "f": "figures", "b": "board"}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A few issues, one of them in review, an agent that holds a path, and a message to the person."""
    with roomed(tmp_path_factory.mktemp("keys")) as room:
        for number in range(4):
            room.ask("create_issue", "human", title=f"Issue {number}", status="ready")
        room.ask("manage_issue_relation", "human", source_issue_id="ISSUE-1", target_issue_id="ISSUE-4")
        room.ask("create_review_request", "human", issue_id="ISSUE-2")
        room.hook("start", "codex", source="startup")
        room.ask("send_message", "codex", to="human", text="Which layout may I use?")
        assert room.edit("codex", "src/a.py").code == 0
        yield room


@pytest.fixture(scope="module")
def host(few: Room) -> Iterator[Hosted]:
    with hosted(few.environ) as running:
        yield running


def _place(page: Any) -> str:
    return page.evaluate("location.hash")


def _focus(page: Any, what: str) -> Any:
    return page.evaluate(f"document.activeElement?.{what}")


def test_every_key_does_what_the_list_of_keys_says(few: Room, person: Person) -> None:
    page = person.come_in()
    press = page.keyboard.press
    page.wait_for_selector(".card")
    for key, view in VIEWS.items():
        press("g")
        press(key)
        page.wait_for_selector(f".view-{view} >> *")
        assert _place(page) == f"#/harbour/{view}"
        assert page.locator("nav.tabs [aria-current=page]").inner_text().lower() == view
    press("/")
    assert _focus(page, "id") == "search"
    page.keyboard.type("Issue")
    press("Enter")
    page.wait_for_selector(".view-search .hit")
    press("g")
    press("b")
    page.wait_for_selector(".card")
    for key, card in (("j", "ISSUE-1"), ("j", "ISSUE-2"), ("k", "ISSUE-1"), ("l", "ISSUE-4"), ("h", "ISSUE-1")):
        press(key)
        assert _focus(page, "dataset.id") == card, key
    press(".")
    sees(page, "dialog", "ISSUE-1")
    press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.locator(".card[data-id='ISSUE-1']:focus").wait_for()  # whence it was opened
    press("Enter")
    sees(page, ".panel h1", "Issue 0")
    assert _focus(page, "className") == "panel"
    press(".")
    sees(page, "dialog", "ISSUE-1")
    press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.locator(".panel:focus").wait_for()
    press("Escape")
    page.wait_for_selector(".panel", state="detached")
    page.locator(".card[data-id='ISSUE-1']:focus").wait_for()  # where it was
    for key, what in (("?", "previous"), ("n", "New issue")):
        press(key)
        sees(page, "dialog", what)
        press("Escape")
        page.wait_for_selector("dialog", state="detached")
    press("c")
    page.locator("#to:focus").wait_for()
    # What is no link itself is opened all the same.
    for view, kind in (("r", "issue/ISSUE-2"), ("w", "message/"), ("l", "issue/ISSUE-")):
        press("Escape")
        press("g")
        press(view)
        page.wait_for_selector(f".view-{VIEWS[view]} [data-item]")
        press("j")
        press("Enter")
        page.wait_for_selector(".panel article")
        assert kind in _place(page)
        press("Escape")
        page.wait_for_selector(".panel", state="detached")


LOOK = """() => {
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect()
  const rgb = text => (text.match(/[\\d.]+/g) || []).slice(0, 3).map(Number)
  const light = ([r, g, b]) => [r, g, b].map(each => each / 255)
    .map(each => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4)
    .reduce((sum, each, n) => sum + each * [.2126, .7152, .0722][n], 0)
  let below = at.parentElement
  while (below && /rgba\\(0, 0, 0, 0\\)/.test(getComputedStyle(below).backgroundColor)) below = below.parentElement
  const ground = getComputedStyle(below || document.body).backgroundColor
  const [one, two] = [style.outlineColor, ground].map(each => light(rgb(each))).sort()
  return {name: at.id || at.getAttribute('aria-label') || at.textContent.trim().slice(0, 40), tag: at.tagName,
    part: at.closest('.skip, .top, .side, .needs, .tabs, .view, .feed, .panel, .replay')?.className.split(' ')[0],
    outline: style.outlineStyle, wide: parseFloat(style.outlineWidth), contrast: (two + .05) / (one + .05),
    inside: box.left >= -1 && box.top >= -1 && box.right <= innerWidth + 1 && box.bottom <= innerHeight + 1}
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_focus_goes_in_order_and_is_always_seen(chromium: Any, few: Room, host: Hosted, theme: str) -> None:
    person = Person(chromium, host, color_scheme=theme, reduced_motion="reduce")
    page = person.come_in()
    page.wait_for_selector(".feed li .what")
    person.go("board~path/src%2Fa.py")
    page.wait_for_selector(".panel article .story li")
    page.evaluate("document.querySelector('.skip').focus()")
    stops = [page.evaluate(LOOK)]
    for _ in range(160):
        page.keyboard.press("Tab")
        stop = page.evaluate(LOOK)
        if stop["tag"] == "BODY":
            break
        stops.append(stop)
    unseen = [stop for stop in stops if stop["outline"] == "none" or stop["wide"] < 2 or stop["contrast"] < 3]
    assert not unseen
    assert not [stop for stop in stops if not stop["inside"]]
    parts = list(dict.fromkeys(stop["part"] for stop in stops))
    assert parts == ["skip", "top", "side", "needs", "tabs", "view", "feed", "panel", "replay"]
    # Past all of that, at once.
    person.go("board")
    page.wait_for_selector(".panel", state="detached")
    page.reload()
    page.wait_for_selector(".card")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert _focus(page, "id") == "view"
    marks = "header, [role=search], aside, main, nav, footer, section[aria-label], section[aria-labelledby]"
    assert page.evaluate("marks => marks.split(', ').filter(each => !document.querySelector(each))", marks) == []
    assert not page.evaluate("""[...document.querySelectorAll('a[href], button, input, select, textarea')]
      .filter(each => each.offsetParent && !each.textContent.trim())
      .filter(each => !each.labels?.length && !each.getAttribute('aria-label'))
      .map(each => each.outerHTML)""")
    person.context.close()


def test_what_is_new_is_told_in_words_and_never_in_floods(few: Room, person: Person) -> None:
    page = person.come_in()
    page.wait_for_selector(".card")
    assert page.locator("#news").get_attribute("aria-live") == "polite"
    page.evaluate("""() => { window.told = []
      const news = document.getElementById('news')
      new MutationObserver(() => news.innerText.trim() && window.told.push(news.innerText.trim()))
        .observe(news, {childList: true, subtree: true, characterData: true}) }""")
    few.hook("start", "claude-code", source="startup")
    assert few.edit("claude-code", "src/a.py").code == 2
    for number in range(1, 15):
        few.ask("add_comment", "codex", issue_id="ISSUE-1", content=f"Note {number}")
    sees(page, "#news", "more in the feed")
    told = page.evaluate("window.told")
    assert told[0].startswith("claude#9241 was refused src/a.py: held by codex#7f3a."), told
    assert len(told) <= 2 and len(told[-1]) < 600
    # What went wrong interrupts, and stands in a region that was there before.
    assert page.locator(".said.refused[role=alert], #wrong[role=alert]").count() == 2
    page.evaluate("import('/web/js/store.mjs').then(store => store.say('That was refused.', 'refused'))")
    sees(page, ".said[role=alert]", "That was refused.")
    page.evaluate("import('/web/js/store.mjs').then(store => store.set({connection: 'lost'}))")
    sees(page, "#wrong", "connection to the host is lost")
    page.evaluate("import('/web/js/store.mjs').then(store => store.set({connection: 'live'}))")
    sees(page, "#news", "Connected again.")


def test_where_there_is_little_room_the_drawer_takes_the_focus_and_gives_it_back(
    chromium: Any, few: Room, host: Hosted
) -> None:
    person = Person(chromium, host, reduced_motion="reduce")
    page = person.page
    page.set_viewport_size({"width": 360, "height": 780})
    person.come_in()
    page.wait_for_selector(".card")
    assert not page.locator(".agents .one").first.is_visible()
    page.focus(".drawer-opener")
    page.keyboard.press("Enter")
    page.locator(".side.open:focus").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.agents .one')")
    page.keyboard.press("Escape")
    if page.locator(".side.open").count():  # the small card of what was reached goes first
        page.keyboard.press("Escape")
    page.locator(".drawer-opener:focus").wait_for()
    person.context.close()
