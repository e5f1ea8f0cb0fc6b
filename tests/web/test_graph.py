"""The graph of five hundred issues: moving it draws nothing, what is drawn is bounded, and keys reach all of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.surfaces.hosted import Hosted
from tests.web.busy import Room
from tests.web.conftest import Person

COUNT = 500
# How often a part of the graph was drawn, and which of its elements were touched.
WATCH = """async () => {
  const {options} = await import('/web/vendor/preact-11.2.0.mjs'), before = options.diffed
  window.drawn = 0
  options.diffed = vnode => {
    if (/^(Graph|Canvas|Drawn|Node)$/.test(vnode.type?.name)) window.drawn++
    before?.(vnode)
  }
  window.touched = new Set()
  const note = each => window.touched.add(each.type + ' ' + (each.target.className?.baseVal ?? each.target.className))
  new MutationObserver(found => found.forEach(note))
    .observe(document.querySelector('.canvas'), {subtree: true, childList: true, attributes: true})
}"""


def weave(room: Room, count: int = COUNT) -> None:
    """Issues of which each waits for one or two before it."""
    for start in range(0, count, 50):
        numbers = range(start, min(count, start + 50))
        issues = [{"ref": f"n{n}", "title": f"Step {n} of a large plan", "status": "ready"} for n in numbers]
        room.ask(
            "apply_issue_plan", "human", issues=issues, relations=_waits(numbers), idempotency_key=f"weave {start}"
        )


def _waits(numbers: range) -> list[dict[str, str]]:
    found: set[tuple[int, int]] = set()
    for n in numbers:
        found |= {(max(0, n - 1 - n * 7 % 19), n)} if n else set()
        found |= {(n - 1 - n * 3 % 41, n)} if n > 41 and n % 3 == 0 else set()
    named = {n: f"n{n}" for n in numbers}
    return [
        {"source_ref": named.get(source, f"ISSUE-{source + 1}"), "target_ref": named[target]}
        for source, target in sorted(found)
    ]


def _longest() -> int:
    """In the whole of it, of which the room tells no more than the first part."""
    length = [1] * COUNT
    for start in range(0, COUNT, 50):
        for wait in _waits(range(start, start + 50)):
            source, target = (
                int(ref.removeprefix("n")) if ref[0] == "n" else int(ref[6:]) - 1 for ref in wait.values()
            )
            length[target] = max(length[target], length[source] + 1)
    return max(length)


def _pan(page: Any, dx: int, dy: int, steps: int = 6) -> None:
    page.mouse.move(700, 420)
    page.mouse.down()
    page.mouse.move(700 + dx, 420 + dy, steps=steps)
    page.mouse.up()


def _settled(page: Any) -> None:
    page.locator(".world:not(.moving)").wait_for(state="attached")


def test_moving_a_large_graph_draws_nothing_and_what_is_drawn_is_bounded(
    room: Room, host: Hosted, chromium: Any
) -> None:
    weave(room)
    person = Person(chromium, host)
    page = person.come_in()
    person.go("graph")
    page.wait_for_selector(".node .text")
    _settled(page)
    page.evaluate(WATCH)
    was = page.evaluate("document.querySelector('.world').style.transform")
    _pan(page, -180, -90)
    _settled(page)
    assert page.evaluate("document.querySelector('.world').style.transform") != was
    assert page.evaluate("window.drawn") == 0
    assert page.evaluate("[...window.touched]") in (
        ["attributes world moving", "attributes world"],
        ["attributes world"],
    )
    # Far from there something else is drawn, and no more of it.
    assert page.evaluate("document.querySelectorAll('.canvas *').length") < 1_200
    for _ in range(4):
        _pan(page, -600, 0, 4)
    _settled(page)
    assert 0 < page.evaluate("document.querySelectorAll('.canvas *').length") < 1_200
    # All at once: a mark for each, without words, and the lines as a few paths.
    page.click(".tools >> text=Fit")
    page.wait_for_selector(".world.small:not(.moving)", state="attached")
    assert page.locator(".node").count() == COUNT and page.locator(".node > *").count() == 0
    assert page.locator(".edges path").count() <= 5
    assert page.locator(".legend").inner_text().endswith(f"the longest chain ({_longest()})")
    assert page.evaluate("window.drawn") > COUNT  # what is counted is drawn when it has to be
    page.evaluate("window.drawn = 0")
    _pan(page, 20, 10)
    page.mouse.wheel(0, 30)
    _settled(page)
    assert page.evaluate("window.drawn") == 0
    _by_keys(page)
    person.go("board")
    page.wait_for_selector(".column")
    person.go("graph")  # and whoever comes back is where they were
    page.wait_for_selector(".node")
    assert page.locator(".node[data-id='ISSUE-1']").count() == 0
    person.context.close()
    assert not person.wrong


def _by_keys(page: Any) -> None:
    """From issue to issue by arrows, also to what was not drawn; what has the focus is in view."""
    page.focus(".canvas")
    for _ in range(13):
        page.keyboard.press("+")
    page.focus(".node >> nth=0")
    page.keyboard.press("ArrowRight")
    for key in ["ArrowRight"] * 7 + ["ArrowDown", "ArrowLeft"]:
        before = page.evaluate("document.activeElement.dataset.id")
        page.keyboard.press(key)
        page.wait_for_function(IN_VIEW, arg=before)
    name = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "of a large plan, blocked, after " in name
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel h1")
    page.keyboard.press("Escape")


@pytest.mark.parametrize("beside", [True, False])
def test_a_graph_is_laid_out_beside_the_page_or_in_it_and_grows_around_what_is_looked_at(
    room: Room, person: Person, beside: bool
) -> None:
    weave(room, 40)
    if not beside:  # as within an editor, where a page may start no worker
        person.page.add_init_script("window.Worker = class { constructor() { throw new Error('not here') } }")
    page = person.come_in()
    person.go("graph")
    page.wait_for_selector(".node .text")
    assert len(page.workers) == int(beside)
    _pan(page, -240, -60, 3)
    _settled(page)
    name, x, y = page.evaluate(MIDDLE)
    for number in (4, 5, 6):
        before = {"ref": "new", "title": f"Before step {number}", "status": "ready"}
        waits = [{"source_ref": "new", "target_ref": f"ISSUE-{number}"}]
        room.ask("apply_issue_plan", "human", issues=[before], relations=waits, idempotency_key=f"more {number}")
    page.wait_for_function("() => document.querySelector('.canvas').ariaLabel.includes('Graph of 43')")
    _settled(page)
    box = page.locator(f".node[data-id='{name}']").bounding_box()
    assert abs(box["x"] - x) < 2 and abs(box["y"] - y) < 2


MIDDLE = """(() => {
  const box = document.querySelector('.canvas').getBoundingClientRect(), all = [...document.querySelectorAll('.node')]
  const x = box.left + box.width / 2, y = box.top + box.height / 2
  const far = ({left, top, width, height}) => Math.hypot(left + width / 2 - x, top + height / 2 - y)
  const found = all.sort((a, b) => far(a.getBoundingClientRect()) - far(b.getBoundingClientRect()))[0]
  return [found.dataset.id, found.getBoundingClientRect().left, found.getBoundingClientRect().top]
})()"""
IN_VIEW = """before => {
  const now = document.activeElement.dataset.id
  if (!now || now === before) return false
  const one = document.activeElement.getBoundingClientRect()
  const box = document.querySelector('.canvas').getBoundingClientRect()
  return one.left >= box.left && one.right <= box.right && one.top >= box.top && one.bottom <= box.bottom
}"""
