"""Every view of a busy room, in both themes, wide and narrow: readable by everybody, and shown as it should be.

CLEARWAY_TEST_SCREENSHOTS=FOLDER keeps what was looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted, hosted
from tests.web.busy import CREW, Room, fill
from tests.web.conftest import Person, environ_in, repository

VIEWS = {
    "board": "board",
    "list": "list",
    "graph": "graph",
    "map": "map",
    "messages": "messages",
    "reviews": "reviews",
    "figures": "figures",
    "search": "search/claim",
    "issue": "board~issue/ISSUE-1",
    "failed-issue": "board~issue/ISSUE-7",
    "agent": f"board~agent/{CREW['claude-code']}",
    "path": "map~path/src%2Fa.py",
    "message": "messages~message/{message}",
    "event": "board~event/1",
}
# theme, width, height, and the views that differ there enough to be judged again
LOOKS = [
    ("light", 1440, 900, list(VIEWS)),
    ("dark", 1440, 900, ["board", "graph", "messages", "issue"]),
    ("light", 360, 780, ["board", "issue"]),
    ("dark", 360, 780, []),
]
KEEPING = bool(os.environ.get("CLEARWAY_TEST_SCREENSHOTS"))


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Room, Hosted]]:
    """One busy room for all who only look."""
    root = tmp_path_factory.mktemp("busy")
    environ = environ_in(root)
    room = Room(environ, repository(root))
    fill(room)
    with hosted(environ) as running:
        yield room, running
    room.close()


@pytest.mark.parametrize(("theme", "wide", "high", "judged"), LOOKS)
def test_every_view_is_readable_by_everybody(
    chromium: Any, busy: tuple[Room, Hosted], theme: str, wide: int, high: int, judged: list[str]
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    room, host = busy
    person = Person(chromium, host, color_scheme=theme, has_touch=wide < 500, reduced_motion="reduce")
    person.page.set_viewport_size({"width": wide, "height": high})
    page = person.come_in()
    page.wait_for_selector(".card")
    message = room.ask("list_messages", "human", limit=1)["items"][0]["message_id"]
    looked = axe.Axe()
    found: list[str] = []
    for name, place in VIEWS.items():
        if not KEEPING and wide > 500 and name not in judged:
            continue
        person.go(place.replace("{message}", str(message)))
        page.wait_for_selector(".panel article h1" if "~" in place else f".view-{place.partition('/')[0]} >> *")
        page.locator(".view .still-lines, .panel .still-lines").first.wait_for(state="detached")
        _keep(page, f"{name}-{theme}-{wide}")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        assert not [sizes for sizes in page.evaluate(SIZES) if len(sizes) > 3], name
        part = None if name == "board" else [".panel" if "~" in place else "#view"]
        for broken in looked.run(page, context=part).response["violations"] if name in judged else []:
            found += [f"{name}: {broken['id']}: {node['html'][:160]}" for node in broken["nodes"][:3]]
    person.context.close()
    assert not found, "\n".join(found)
    assert not person.wrong


# At most two sizes of type in each part of the page, whose name comes first. The letters of a badge are a mark.
SIZES = """['.top', '.agents', '.held', '.needs', '.tabs', '#view', '.feed', '.panel', '.replay'].map(part => {
  const box = document.querySelector(part), sizes = new Set()
  for (const each of box?.querySelectorAll('*') || []) {
    const worded = [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    const marks = each.closest('.badge, [aria-hidden], .hidden, option')
    if (worded && !marks && each.checkVisibility()) sizes.add(getComputedStyle(each).fontSize)
  }
  return [part, ...sizes]
})"""


def _keep(page: Any, name: str) -> None:
    if KEEPING:
        page.screenshot(path=Path(os.environ["CLEARWAY_TEST_SCREENSHOTS"], f"{name}.png"))


def test_the_board_fits_every_width_and_moves_nothing_for_whoever_wants_no_motion(
    chromium: Any, busy: tuple[Room, Hosted]
) -> None:
    person = Person(chromium, busy[1], reduced_motion="reduce")
    page = person.come_in()
    page.wait_for_selector(".card")
    for wide in (360, 768, 1180, 1440, 2560, 3840):
        page.set_viewport_size({"width": wide, "height": wide * 9 // 16 if wide > 1000 else 900})
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.locator(".needs li").count() >= 3
        _keep(page, f"board-width-{wide}")
    assert page.evaluate("document.getAnimations().length") == 0
    person.context.close()


def test_nothing_on_the_page_moves_when_it_comes(chromium: Any, busy: tuple[Room, Hosted]) -> None:
    person = Person(chromium, busy[1])
    person.page.add_init_script(SHIFTS)
    page = person.come_in()
    page.wait_for_selector(".feed li .what")
    assert sum(page.evaluate("window.shifts")) < 0.02
    person.context.close()


SHIFTS = """window.shifts = []
new PerformanceObserver(found => window.shifts.push(...found.getEntries().map(each => each.value)))
  .observe({type: 'layout-shift', buffered: true})"""


def test_many_issues_do_not_hold_up_the_page(chromium: Any, room: Room, host: Hosted) -> None:
    """5,000 issues: the page holds what is looked at and no more, and is told so by its size, not by a clock."""
    for start in range(0, 5_000, 50):
        issues = [{"ref": f"i{n}", "title": f"Issue number {n}", "status": "ready"} for n in range(start, start + 50)]
        room.ask("apply_issue_plan", "human", issues=issues, idempotency_key=f"k{start}")
    person = Person(chromium, host)
    page = person.come_in()
    page.wait_for_selector(".card")
    assert page.locator(".column.ready h3").inner_text().split() == ["Ready", "5,000+"]
    assert page.evaluate("document.querySelectorAll('*').length") < 1_500
    person.go("list")
    for number in range(6):  # pages come as they are needed, and those that are far away are only room
        page.wait_for_selector(f".list [data-page='{number}'] tr:nth-child(100)")
        page.evaluate("const view = document.getElementById('view'); view.scrollTop = view.scrollHeight")
    page.wait_for_selector(".list [data-page='6']")
    assert page.locator(".list [data-page]").count() <= 3
    page.evaluate("document.getElementById('view').scrollTop = 0")
    page.wait_for_selector(".list [data-page='0']")
    assert len(set(page.locator(".list tr[data-id]").evaluate_all("all => all.map(each => each.dataset.id)"))) <= 300
    person.go("search/number")
    page.wait_for_selector(".hit")
    assert page.evaluate("document.querySelectorAll('*').length") < 1_500
    person.context.close()
    assert not person.wrong
