"""What is written on the page completes itself, from what the page knows: by keyboard, by finger, and for a reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted, hosted
from tests.web.busy import Room
from tests.web.conftest import Person, roomed


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """Two agents, held paths, labels, and more issues than the board shows."""
    with roomed(tmp_path_factory.mktemp("composing")) as room:
        for start in (0, 40):
            issues: list[dict[str, Any]] = [
                {"ref": f"i{n}", "title": f"Step {n}", "status": "ready"} for n in range(start, start + 40)
            ]
            issues[0] |= {"labels": ["parser", "docs"], "priority": "high"}
            issues[-1] |= {"title": "Brew the heredoc tea", "priority": "low"}
            room.ask("apply_issue_plan", "human", issues=issues, idempotency_key=f"k{start}")
        for who in ("claude-code", "codex"):
            room.hook("start", who, source="startup")
        assert room.edit("codex", "src/parser/heredoc.py").code == 0
        yield room


@pytest.fixture(scope="module")
def host(spoken: Room) -> Iterator[Hosted]:
    with hosted(spoken.environ) as running:
        yield running


def _offers(page: Any, *wanted: str) -> None:
    """Wait until what is offered begins with these words, and is told to a reader as a list box of its field."""
    page.wait_for_function(OFFERED, arg=list(wanted))
    field = page.evaluate("""() => {
      const at = document.activeElement, list = document.getElementById(at.getAttribute('aria-controls'))
      const chosen = document.getElementById(at.getAttribute('aria-activedescendant'))
      return [at.getAttribute('role'), at.getAttribute('aria-expanded'), list.getAttribute('role'),
              chosen.parentElement === list && chosen.getAttribute('aria-selected'), Boolean(at.labels[0].innerText)]
    }""")
    assert field == ["combobox", "true", "listbox", "true", True]


OFFERED = """wanted => {
  const found = [...document.querySelectorAll('.offers li')].map(each => each.innerText.trim().replaceAll('\\n', ' '))
  return wanted.every((each, n) => found[n]?.includes(each))
}"""


def test_a_message_completes_agents_issues_paths_and_labels(person: Person) -> None:
    asked: list[str] = []
    page = person.come_in()
    page.wait_for_selector(".held .path")
    person.go("messages")
    page.focus("#to")
    page.keyboard.press("ArrowDown")
    _offers(page, "claude-code", "codex", "everybody")
    page.keyboard.type("cod")
    _offers(page, "codex")
    page.keyboard.press("Enter")
    assert page.input_value("#to") == "codex"
    words = page.locator(".compose textarea")
    words.focus()
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.keyboard.type("@cla")
    _offers(page, "claude-code")
    page.keyboard.press("Tab")
    page.keyboard.type("has src/")
    _offers(page, "src/parser/heredoc.py held by codex#7f3a")
    page.keyboard.press("Enter")
    page.keyboard.type("for issue-1")
    _offers(page, "ISSUE-1 Step 0", "ISSUE-10")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert not set(asked) - {"get_issue"} and len(asked) <= 1  # of what is not on the board, one number at most
    page.keyboard.type("#pa")
    _offers(page, "parser")
    page.keyboard.press("Enter")
    page.keyboard.type("and ISSUE-80")  # not on the board
    page.wait_for_function("() => document.querySelector('.compose [role=status]').innerText === ''")
    page.keyboard.type(" ISSUE-hered")
    _offers(page, "ISSUE-80 Brew the heredoc tea")
    page.keyboard.press("Enter")
    page.keyboard.type("see http://x.example/a/b 1/2 a@b.example # x")
    assert page.locator(".offers").count() == 0
    page.keyboard.press("Control+ ")
    page.keyboard.press("Escape")
    page.keyboard.type(" heredoc")
    page.keyboard.press("Control+ ")
    _offers(page, "src/parser/heredoc.py")
    page.keyboard.press("Escape")
    assert page.locator(".offers").count() == 0
    assert words.input_value() == (
        "@claude-code has src/parser/heredoc.py for ISSUE-1 #parser and ISSUE-80 ISSUE-80 "
        "see http://x.example/a/b 1/2 a@b.example # x heredoc"
    )
    page.keyboard.press("Control+z")
    assert not words.input_value().endswith("heredoc")
    assert asked.count("search") <= 2 and asked.count("list_labels") <= 1 and asked.count("get_issue") <= 6


def test_comments_and_the_labels_of_an_issue_complete_and_escape_closes_the_list_only(person: Person) -> None:
    page = person.come_in()
    person.go("board~issue/ISSUE-1")
    page.wait_for_selector(".panel h1")
    page.focus(".panel form textarea")
    page.keyboard.type("ask @co")
    _offers(page, "codex")
    page.keyboard.press("Escape")
    assert page.locator(".panel h1").count() == 1 and page.locator(".offers").count() == 0
    page.keyboard.type("d")
    _offers(page, "codex")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    page.locator(".panel .story", has_text="ask @codex").wait_for()
    page.locator(".panel button", has_text="Edit…").click()
    labels = page.get_by_label("Labels")
    assert labels.input_value() == "docs, parser"
    labels.fill("docs, pa")
    _offers(page, "parser")
    page.keyboard.press("Enter")
    assert labels.input_value() == "docs, parser, "
    page.click("dialog button.first")
    page.locator(".said", has_text="Nothing was changed").wait_for()


def test_a_finger_chooses_what_is_offered(host: Hosted, chromium: Any) -> None:
    person = Person(chromium, host, has_touch=True, is_mobile=True)
    person.page.set_viewport_size({"width": 360, "height": 780})
    page = person.come_in()
    person.go("messages")
    page.fill("#to", "everybody")
    heights = page.evaluate(
        "[...document.querySelectorAll('.compose .row :is(input, select)')].map(e => e.offsetHeight)"
    )
    assert len(heights) == 3 and len(set(heights)) == 1, "what stands in one row is of one height"
    page.tap(".compose textarea")
    page.keyboard.type("@")
    _offers(page, "claude-code", "codex")
    offer = page.locator(".offers li", has_text="codex")
    assert offer.bounding_box()["height"] >= 32
    offer.tap()
    assert page.input_value(".compose textarea") == "@codex "
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    person.context.close()
    assert not person.wrong
