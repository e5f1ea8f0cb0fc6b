"""Titles, paths, purposes, messages and Markdown that others wrote never run in the page, leave it, or break it."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted
from tests.web.busy import Room
from tests.web.conftest import Person

ELSEWHERE = "http://127.0.0.1:{port}/beacon"
WORDS = (
    "<script>window.hit=1</script>",
    "<img src=x onerror='window.hit=1'>",
    "<svg onload=window.hit=1><a xlink:href='javascript:window.hit=1'>x</a></svg>",
    "\"><iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "[run](javascript:window.hit=1) [data](data:text/html,<script>hit=1</script>) [x](JaVaScRiPt:hit=1)",
    "![picture]({beacon}) <link rel=stylesheet href='{beacon}'> [fine](https://example.org/)",
    "[a]( javascript:hit=1) [b](\x01javascript:hit=1) [c](java\nscript:hit=1) <javascript:hit=1>",
    "{{constructor.constructor('hit=1')()}} ${window.hit=1} %3Cscript%3E",
    "\u202eevil\u202c \u2066x\u2069 \x00 \x1b[31m \ufeff" + "z\u0301" * 200,
    "`" * 400 + "*" * 400 + "[" * 400 + "> " * 60 + "- " * 60 + "|" * 200,
    "```\n</pre><script>window.hit=1</script>",
    "| a | b |\n|---|---|\n| <b onmouseover=hit=1> | [x](vbscript:hit) |",
    "__proto__ constructor prototype toString hasOwnProperty",
)


@pytest.fixture
def beacon() -> Iterator[tuple[str, list[str]]]:
    """A place that the page must never ask."""
    asked: list[str] = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield ELSEWHERE.format(port=server.server_port), asked
    server.shutdown()
    server.server_close()


def _write(room: Room, beacon: str) -> int:
    """The words in every place that others may fill; how many issues there are."""
    count = 0
    for number, text in enumerate(WORDS):
        text = text.replace("{beacon}", beacon)
        title = text.replace("\n", " ").replace("\x00", "").replace("\x1b", "")[:300]
        clean = text.replace("\x00", "")
        given = {"description": clean, "acceptance_criteria": clean, "status": "ready", "labels": [f"<b>{number}"]}
        room.ask("create_issue", "mallory", title=title, **given)
        count += 1
        room.ask("add_comment", "mallory", issue_id=f"ISSUE-{count}", content=clean)
        room.ask("send_message", "mallory", to="human", text=clean)
        room.ask("room", "mallory", status=clean[:400])
        room.ask("record_decision", "mallory", title=title[:200], summary=clean[:900], issue_id=f"ISSUE-{count}")
        room.ask("claim_paths", "mallory", paths=[f"src/<img src=x onerror=hit=1>{number}.py"], purpose=clean[:400])
    return count


def test_what_others_wrote_is_only_text(
    room: Room, person: Person, beacon: tuple[str, list[str]], host: Hosted
) -> None:
    where, asked = beacon
    count = _write(room, where)
    room.hook("start", "mallory", source="startup")
    foreign: list[str] = []
    person.page.on(
        "request", lambda request: foreign.append(request.url) if person.door.address not in request.url else None
    )
    person.page.on("dialog", lambda dialog: foreign.append("dialog"))
    page = person.come_in()
    page.wait_for_selector(".card")
    views = ["board", "list", "graph", "map", "messages", "reviews", "figures", "search/script"]
    panels = [f"board~issue/ISSUE-{number}" for number in range(1, count + 1)]
    for place in [*views, *panels, "map~path/src%2F%3Cimg%20src%3Dx%20onerror%3Dhit%3D1%3E0.py", "board~agent/mallory"]:
        person.go(place)
        page.wait_for_selector(".panel article" if "~" in place else f".view-{place.partition('/')[0]} >> *")
        if "~issue/" in place:
            page.click(".panel details summary")
            page.wait_for_selector(".panel .sections")
        page.locator(".view .still-lines, .panel .still-lines").first.wait_for(state="detached")
        _check(page, place)
    for message in room.ask("list_messages", "human", limit=100)["items"]:
        person.go(f"messages~message/{message['message_id']}")
        page.wait_for_selector(".panel .words")
        _check(page, "message")
    assert not foreign and not asked
    assert page.evaluate("document.querySelectorAll('.panel a[href^=https]').length") >= 0


def _check(page: Any, place: str) -> None:
    assert page.evaluate("window.hit") is None, place
    bad = (
        "script:not([src]), iframe, object, embed, form[action], base, [onerror], [onload], [onmouseover], img, "
        "link:not([href^='/web/'])"
    )
    assert page.evaluate("bad => [...document.querySelectorAll(bad)].map(e => e.outerHTML)", bad) == [], place
    links = page.evaluate(
        "[...document.querySelectorAll('a')].map(a => a.getAttribute('href') ?? a.getAttribute('xlink:href'))"
    )
    assert [
        link for link in links if link and not link.startswith(("#/", "#view", "http://", "https://", "mailto:"))
    ] == []
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{place} is {wide} px too wide"


def test_links_of_markdown_lead_out_safely(room: Room, person: Person) -> None:
    text = "[fine](https://example.org/a?b=c) <https://example.com> and mailto: [me](mailto:a@b.example), ISSUE-1."
    room.ask("create_issue", "mallory", title="One", description=text, status="ready")
    page = person.come_in()
    person.go("board~issue/ISSUE-1")
    page.wait_for_selector(".panel .md a")
    found = page.evaluate(
        "[...document.querySelectorAll('.panel .md a')].map(a => [a.getAttribute('href'), a.target, a.rel])"
    )
    out = [link for link in found if not link[0].startswith("#")]
    assert [link[0] for link in out] == ["https://example.org/a?b=c", "https://example.com", "mailto:a@b.example"]
    assert all(target == "_blank" and "noopener" in rel and "noreferrer" in rel for _, target, rel in out)
    assert any(link[0].endswith("~issue/ISSUE-1") for link in found)


def test_nothing_inline_runs_even_if_it_were_written(person: Person) -> None:
    """The policy is the second lock on the door: no inline script, no HTML from text, no foreign address."""
    page = person.come_in()
    page.evaluate("""() => {
      const script = document.createElement('script')
      try { script.textContent = 'window.hit = 1' } catch {}
      document.body.append(script)
      const image = '<img src=x onerror="window.hit=1">'
      try { document.body.insertAdjacentHTML('beforeend', image) } catch { window.blocked = 1 }
    }""")
    assert page.evaluate("[window.hit, window.blocked]") == [None, 1]
    assert page.evaluate("fetch('http://127.0.0.1:1/').then(() => 'let out', () => 'kept')") == "kept"
    person.wrong.clear()  # the browser complains of each of these
