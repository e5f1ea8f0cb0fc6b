"""Who may come into the web room, and what is asked of whoever does."""

from __future__ import annotations

import http.client
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted, hosted
from tests.web.busy import Room
from tests.web.conftest import repository

from clearway.clock import Clock
from clearway.errors import Refusal
from clearway.limits import WEB_LOGINS_REFUSED_MAX, WEB_SESSION_IDLE_MS, WEB_SESSION_MS, WEB_TICKET_MS
from clearway.surfaces import web_pages
from clearway.surfaces.web_people import People


class Browser:
    """What a browser sends, without one."""

    def __init__(self, host: Hosted, room: Room) -> None:
        assert host.host.http is not None
        self.door = host.host.http
        self.own = self.door.address
        self.project = room.rooms.of_folder(str(room.repo)).project
        self.cookie = self.key = ""

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=30)
        named = {"Origin": self.own, "Clearway-Room": self.project}
        named |= {"Cookie": self.cookie} if self.cookie else {}
        named |= {"Clearway-Page": self.key} if self.key else {}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        named = {name: value for name, value in named.items() if value}
        connection.request(method, path, None if body is None else json.dumps(body).encode(), named)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, said

    def log_in(self, ticket: str | None = None, **headers: str) -> int:
        given = {"ticket": self.door.people.ticket() if ticket is None else ticket}
        status, named, said = self.ask("POST", "/session", given, **headers)
        if status == 200:
            self.cookie = named["set-cookie"].partition(";")[0]
            self.key = json.loads(said)["key"]
        return status


@pytest.fixture
def browser(host: Hosted, room: Room) -> Browser:
    return Browser(host, room)


def test_a_ticket_lets_one_browser_in_once(browser: Browser) -> None:
    """P64."""
    ticket = browser.door.people.ticket()
    assert browser.log_in(ticket) == 200
    assert browser.log_in(ticket) == 401
    status, _, said = browser.ask("POST", "/ask/create_issue", {"title": "By hand"})
    assert (status, json.loads(said)["display_id"]) == (200, "ISSUE-1")


def test_what_writes_needs_the_cookie_the_key_our_origin_and_our_host(browser: Browser, room: Room) -> None:
    """P64."""
    browser.log_in()
    own = browser.own
    for lacking in ({"Cookie": ""}, {"Clearway_Page": ""}, {"Clearway_Page": browser.key[::-1]}, {"Origin": ""}):
        assert browser.ask("POST", "/ask/create_issue", {"title": "x"}, **lacking)[0] == 401
    for foreign in ("http://evil.example", "null", own.replace("127.0.0.1", "127.0.0.2"), f"{own}.evil.example"):
        assert browser.ask("POST", "/ask/create_issue", {"title": "x"}, Origin=foreign)[0] == 403
    for name in ("evil.example", f"evil.example:{browser.door.port}", "127.0.0.1:1"):
        assert browser.ask("POST", "/ask/create_issue", {"title": "x"}, Host=name)[0] == 403
        for path in ("/", "/web/js/start.mjs", "/rooms", "/events", "/healthz"):
            assert browser.ask("GET", path, Host=name)[0] == 403
    assert room.ask("list_issues", "human")["items"] == []


def test_a_session_opens_the_room_and_nothing_else(browser: Browser) -> None:
    browser.log_in()
    assert [room["name"] for room in json.loads(browser.ask("GET", "/rooms")[2])["rooms"]] == ["harbour"]
    for method, path in (("POST", "/mcp"), ("POST", "/hook/claude"), ("GET", "/metrics")):
        assert browser.ask(method, path)[0] == 401
    status, _, said = browser.ask("POST", "/ask/room", {}, Clearway_Room="01M8PKJJCC5ZF215DSAQB4F77M")
    assert (status, json.loads(said)["code"]) == (404, "PROJECT_NOT_FOUND")


def test_several_rooms_of_one_home_are_rooms_of_one_page(browser: Browser, room: Room, tmp_path: Path) -> None:
    other = Room(room.environ, repository(tmp_path / "other"))
    other.ask("create_issue", "human", title="Elsewhere")
    room.ask("create_issue", "human", title="Here")
    browser.log_in()
    found = json.loads(browser.ask("GET", "/rooms")[2])["rooms"]
    assert {each["folder"] for each in found} == {str(room.repo), str(other.repo)}
    titles = {}
    for each in found:
        said = browser.ask("POST", "/ask/list_issues", {}, Clearway_Room=each["project"])[2]
        titles[each["folder"]] = [issue["title"] for issue in json.loads(said)["items"]]
    assert titles == {str(room.repo): ["Here"], str(other.repo): ["Elsewhere"]}
    other.close()


def test_the_token_of_the_host_makes_nobody_the_human(browser: Browser) -> None:
    status, _, said = browser.ask(
        "POST", "/ask/list_messages", {}, Authorization=f"Bearer {browser.door.token}", Clearway_Cwd="/"
    )
    assert status != 200 and json.loads(said)["code"] in ("FORBIDDEN", "PROJECT_NOT_FOUND")


def test_the_cookie_is_kept_from_scripts_and_other_sites(browser: Browser) -> None:
    _, named, _ = browser.ask("POST", "/session", {"ticket": browser.door.people.ticket()})
    parts = [part.strip() for part in named["set-cookie"].split(";")]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(parts)
    assert parts[0].startswith(f"clearway-{browser.door.port}=")


def test_logging_out_and_renewing_end_what_was_before(browser: Browser) -> None:
    browser.log_in()
    before = browser.cookie, browser.key
    status, named, said = browser.ask("PUT", "/session")
    assert status == 200
    browser.cookie, browser.key = named["set-cookie"].partition(";")[0], json.loads(said)["key"]
    assert (browser.cookie, browser.key) != before and browser.ask("GET", "/rooms")[0] == 200
    assert browser.ask("DELETE", "/session")[0] == 200
    assert browser.ask("GET", "/rooms")[0] == 401


def test_wrong_tickets_are_answered_a_few_times_only(browser: Browser) -> None:
    for _ in range(WEB_LOGINS_REFUSED_MAX):
        assert browser.log_in("guessed") == 401
    assert browser.log_in("guessed") == 429
    assert browser.log_in() == 200  # whoever has a good one is let in all the same


def test_pages_are_plain_files_under_a_strict_policy(browser: Browser) -> None:
    status, named, said = browser.ask("GET", "/")
    assert status == 200 and b'<script type="module" src=' in said
    policy = named["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert named["x-content-type-options"] == "nosniff" and named["referrer-policy"] == "no-referrer"
    assert browser.ask("GET", "/", If_None_Match=named["etag"])[0] == 304
    assert browser.ask("GET", "/web/js/start.mjs", Accept_Encoding="gzip")[1]["content-encoding"] == "gzip"
    for path in (
        "/web/",
        "/web/../web_door.py",
        "/web/%2e%2e/http.py",
        "/web/.hidden.mjs",
        "/web/js",
        "/web/js/none.mjs",
    ):
        assert browser.ask("GET", path)[0] in (401, 404)
    assert browser.ask("POST", "/", {})[0] in (401, 404, 405)


def test_the_page_says_nothing_of_a_room_before_somebody_logs_in(browser: Browser, room: Room) -> None:
    room.ask("create_issue", "human", title="Secret plan")
    for path in ("/rooms", "/events"):
        assert browser.ask("GET", path)[0] == 401
    assert b"Secret" not in browser.ask("GET", "/")[2]


def test_a_first_view_is_small(browser: Browser) -> None:
    """First paint below 100 KB, packed as it is sent. What a click brings is not among it, and is not loaded before."""
    sizes = {path: len(browser.ask("GET", path, Accept_Encoding="gzip")[2]) for path in _before_anything_is_chosen()}
    assert all(sizes.values()) and sum(sizes.values()) < 60_000, sizes
    assert not {"/web/js/panel.mjs", "/web/js/graph.mjs", "/web/js/about.mjs"} & set(sizes)


def _before_anything_is_chosen() -> list[str]:
    """What the first script imports, and what that imports."""
    found: list[str] = []
    waiting = ["/web/js/start.mjs"]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.append(path)
            text = Path(web_pages.FOLDER, path.removeprefix("/web/")).read_text("utf-8")
            named = re.findall(r"^(?:import|export) (?:[^'(]* from )?'(\.[^']+)'", text, re.MULTILINE)
            waiting += [os.path.normpath(os.path.join(os.path.dirname(path), name)) for name in named]
    return ["/", "/web/style.css", "/web/icon.svg", *found]


class Hands(Clock):
    """A clock that is set by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_800_000_000_000

    def wall(self) -> int:
        return self.now


def test_tickets_and_sessions_end_by_themselves(tmp_path: Path) -> None:
    clock = Hands()
    people = People(str(tmp_path / "web-sessions"), clock)
    late = people.ticket()
    clock.now += WEB_TICKET_MS
    with pytest.raises(Refusal):
        people.log_in(late)
    idle, used = people.log_in(people.ticket()), people.log_in(people.ticket())
    for _ in range(WEB_SESSION_MS // (WEB_SESSION_IDLE_MS // 2) - 1):
        clock.now += WEB_SESSION_IDLE_MS // 2
        assert people.knows(*used)
    assert not people.knows(*idle)
    clock.now += WEB_SESSION_IDLE_MS // 2
    assert not people.knows(*used)


def test_a_session_outlives_its_host_and_is_stored_as_a_hash(tmp_path: Path) -> None:
    file = tmp_path / "web-sessions"
    first = People(str(file), Clock())
    cookie, key = first.log_in(first.ticket())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert cookie not in file.read_text() and key not in file.read_text()
    next_host = People(str(file), Clock())
    assert next_host.knows(cookie, key) and not next_host.knows(cookie, cookie)
    assert next_host.log_out_all() == 1
    assert not People(str(file), Clock()).knows(cookie, key)


def test_the_next_host_listens_where_the_last_one_did(environ: dict[str, str]) -> None:
    ports: set[int] = set()
    for _ in range(2):
        with hosted(environ) as running:
            assert running.host.http is not None
            ports.add(running.host.http.port)
    assert len(ports) == 1


def test_an_agent_is_given_no_link(host: Hosted) -> None:
    asked = {"agent": "codex", "session": "s1", "cwd": "/", "pid": os.getpid()}
    said = host.request("web_ticket", caller=asked)
    assert (said["ok"], said["error"]["code"]) == (False, "FORBIDDEN")
    assert host.request("web_log_out", caller=asked)["error"]["code"] == "FORBIDDEN"
