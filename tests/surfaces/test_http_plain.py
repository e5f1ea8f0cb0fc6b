"""Plain calls over HTTP: read without the web server, the same to the byte; and progress for those that take long."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import hosted
from tests.surfaces.test_host_http import Session, Web, environ, tool

from clearway.surfaces import host_at_once, host_full, http_mcp, http_progress
from clearway.surfaces import http as behind
from clearway.surfaces.http_plain import plain

__all__ = ["environ"]


@pytest.fixture
def web(environ: dict[str, str], repo: Path) -> Iterator[Web]:
    with hosted(environ) as running:
        yield Web(running, repo)
        assert not running.said


BODY = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_issues"}}'
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAccept: a, b\r\nContent-Length: %d\r\n\r\n" % len(BODY)


def test_a_plain_request_is_read() -> None:
    asked = plain(HEAD.replace(b"/mcp", b"/mcp?tools=full") + BODY)
    assert asked is not None and (asked.query, asked.body, asked.missing) == ("tools=full", BODY, 0)
    assert asked.headers == {"host": "127.0.0.1:1", "accept": "a, b", "content-length": str(len(BODY))}
    begun = plain(HEAD + BODY[:5])
    assert begun is not None and begun.missing == len(BODY) - 5


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"POST /mcp",
        HEAD[:-2],
        HEAD + BODY + b"P",
        HEAD.replace(b"POST", b"GET") + BODY,
        HEAD.replace(b"/mcp", b"/mcp/") + BODY,
        HEAD.replace(b"/mcp", b"/mcp%20") + BODY,
        HEAD.replace(b"1.1", b"1.0", 1) + BODY,
        HEAD.replace(b"Host", b"Host ") + BODY,
        HEAD.replace(b"Host: ", b"Host: a\r\nhost: ") + BODY,
        HEAD.replace(b"Accept: a", b"Accept: a\r\n b") + BODY,
        HEAD.replace(b"Accept: a", b"Accept: a\nX: y") + BODY,
        HEAD.replace(b"Accept: a", b"Accept: \xe9") + BODY,
        HEAD.replace(b"Accept: a", b"Accept: \x00") + BODY,
        HEAD.replace(b"Accept", b"Transfer-Encoding") + BODY,
        HEAD.replace(b"Accept", b"Expect") + BODY,
        HEAD.replace(b"Accept", b"Cookie") + BODY,
        HEAD.replace(b"Accept: a, b", b"Connection: close") + BODY,
        HEAD.replace(b"Content-Length: ", b"Content-Length: +") + BODY,
        HEAD.replace(b"Content-Length", b"Content-Size") + BODY,
        HEAD.replace(b"Content-Length: ", b"Content-Length: 9999999") + BODY,
    ],
)
def test_whatever_is_not_plain_is_left_to_the_web_server(data: bytes) -> None:
    assert plain(data) is None


class Raw:
    """A session over one connection that stays open, spoken to in bytes."""

    def __init__(self, web: Web) -> None:
        self.session = Session(web)
        self.connection = socket.create_connection(("127.0.0.1", web.port), timeout=30)
        named = {
            "Host": f"127.0.0.1:{web.port}",
            "Authorization": f"Bearer {web.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Clearway-Cwd": str(web.repo),
            **{name.replace("_", "-"): value for name, value in self.session._named.items()},  # pyright: ignore[reportPrivateUsage]
        }
        self.head = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in named.items())

    def request(self, message: Any) -> tuple[bytes, bytes]:
        body = json.dumps(message).encode()
        return f"{self.head}Content-Length: {len(body)}\r\n\r\n".encode(), body

    def heard(self) -> tuple[int, list[tuple[str, str]], bytes]:
        answer = http.client.HTTPResponse(self.connection)
        answer.begin()
        return answer.status, answer.getheaders(), answer.read()

    def say(self, message: Any) -> tuple[int, list[tuple[str, str]], bytes]:
        self.connection.sendall(b"".join(self.request(message)))
        return self.heard()


@pytest.fixture
def raw(web: Web) -> Iterator[Raw]:
    made = Raw(web)
    yield made
    made.connection.close()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that the web server has read."""
    seen: list[str] = []
    answer = http_mcp.Served.answer

    async def noted(self: Any, scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["path"])
        await answer(self, scope, receive, send)

    monkeypatch.setattr(http_mcp.Served, "answer", noted)
    return seen


def test_a_plain_call_is_answered_without_the_web_server_and_to_the_byte(
    web: Web, raw: Raw, served: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        tool("list_issues", arguments={"limit": 1}, _meta={"progressToken": 3}),
        tool("list_issues", "seven"),
        tool("get_work_context", arguments={"issue_id": "ISSUE-99"}),
        tool("list_issues", arguments={"limit": "many"}),
    ]
    web.operation("create_issue", title='A "quoted" é \u2028 one')
    raw.say(asked[0])  # by now a worker has left the room open
    served.clear()
    with monkeypatch.context() as patch:
        patch.setattr(behind, "plain", lambda _: None)
        expected = [raw.say(message) for message in asked]
    assert len(served) == len(asked)
    assert [raw.say(message) for message in asked] == expected
    assert len(served) == len(asked)


def test_a_call_in_two_parts_is_put_together(raw: Raw) -> None:
    raw.say(tool("list_issues"))
    for cut in (1, 30):
        head, body = raw.request(tool("list_issues"))
        for part in (head, body[:cut], body[cut:]):
            raw.connection.sendall(part)
        assert raw.heard()[0] == 200


def test_a_call_whose_rest_is_late_is_waited_for_by_the_web_server(
    raw: Raw, monkeypatch: pytest.MonkeyPatch, served: list[str]
) -> None:
    monkeypatch.setattr(behind, "_REST_SECONDS", 0.0)
    head, body = raw.request(tool("list_issues"))
    raw.connection.sendall(head)
    given_up, pause = 0, threading.Event()
    while not served and given_up < 5_000:
        given_up += 1
        pause.wait(0.002)
    raw.connection.sendall(body)
    assert raw.heard()[0] == 200


def test_a_call_that_comes_bit_by_bit_is_soon_one_for_the_web_server(
    raw: Raw, monkeypatch: pytest.MonkeyPatch, served: list[str]
) -> None:
    """Each bit gave it the same time anew, and neither the web server's bounds nor its timers held."""
    monkeypatch.setattr(behind, "_REST_SECONDS", 0.05)
    head, body = raw.request(tool("list_issues", _meta={"note": "x" * 500}))
    raw.connection.sendall(head)
    sent, pause = 0, threading.Event()
    while not served and sent < len(body) - 1:
        raw.connection.sendall(body[sent : sent + 1])
        sent += 1
        pause.wait(0.005)
    assert sent < len(body) - 1
    raw.connection.sendall(body[sent:])
    assert raw.heard()[0] == 200


def test_a_first_call_that_is_held_counts_as_a_first_word(web: Web, raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behind, "HOST_FIRST_WORD_MS", 50)
    raw.connection.close()
    head, body = raw.request(tool("list_issues"))
    raw.connection = socket.create_connection(("127.0.0.1", web.port), timeout=30)
    raw.connection.sendall(head)
    too_late, turns = threading.Event(), host_full.loop()
    turns.call_soon_threadsafe(turns.call_later, 0.15, too_late.set)
    assert too_late.wait(20)
    raw.connection.sendall(body)
    assert raw.heard()[0] == 200


def test_a_client_that_is_gone_between_head_and_body_is_no_defect(
    raw: Raw, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each of them left a traceback in the host's log."""
    monkeypatch.setattr(behind, "_REST_SECONDS", 0.2)
    given_up, turns = threading.Event(), host_full.loop()
    raw.connection.sendall(raw.request(tool("list_issues"))[0])
    raw.connection.close()
    turns.call_soon_threadsafe(turns.call_later, 0.4, given_up.set)
    assert given_up.wait(20)
    assert not caplog.records


def test_rooms_that_nobody_asks_any_more_are_closed(
    environ: dict[str, str], repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the first 32 projects stayed open, and no other was ever answered without a worker."""
    monkeypatch.setattr(behind, "HOST_WORKER_IDLE_SECONDS", 0.02)
    monkeypatch.setattr(host_at_once, "HOST_WORKER_IDLE_SECONDS", 0)
    closed = threading.Event()
    look = host_at_once.AtOnce.look

    def noted(self: host_at_once.AtOnce) -> None:
        had = bool(self._has)  # pyright: ignore[reportPrivateUsage]
        look(self)
        if had and not self._has:  # pyright: ignore[reportPrivateUsage]
            closed.set()

    monkeypatch.setattr(host_at_once.AtOnce, "look", noted)
    with hosted(environ) as running:
        web = Web(running, repo)
        assert web.operation("list_issues")[0] == 200
        assert closed.wait(20)
        assert web.operation("list_issues")[0] == 200


def test_many_sessions_that_left_without_a_word_slow_down_no_other(
    web: Web, raw: Raw, served: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_mcp, "_SESSIONS_MAX", 1)
    monkeypatch.setattr(http_mcp, "_QUICK_FOR_MS", -1)
    raw.say(tool("list_issues"))
    other = Raw(web)
    other.say(tool("list_issues"))
    monkeypatch.setattr(http_mcp, "_QUICK_FOR_MS", 60_000)
    other.say(tool("list_issues"))
    served.clear()
    other.say(tool("list_issues"))
    other.connection.close()
    assert not served


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [("Bearer ", "Bearer x", 401), ("Host: 127.0.0.1", "Host: evil.example", 421), ("Mcp-Session-Id: ", "X: ", 400)],
)
def test_who_is_not_let_in_is_told_so_by_the_web_server(raw: Raw, before: str, after: str, status: int) -> None:
    raw.say(tool("list_issues"))
    raw.head = raw.head.replace(before, after)
    assert raw.say(tool("list_issues"))[0] == status


def test_what_the_sdk_refuses_is_refused_in_a_session_that_is_known_as_well(raw: Raw) -> None:
    """A quick answer was given to both."""
    raw.say(tool("list_issues"))
    body = b"\xef\xbb\xbf" + json.dumps(tool("list_issues")).encode()
    raw.connection.sendall(f"{raw.head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert raw.heard()[0] == 400
    accepted = raw.head
    raw.head = accepted.replace("text/event-stream", "text/event-stream;q=0.5")
    assert raw.say(tool("list_issues"))[0] == 200
    raw.head = accepted.replace("application/json, text/event-stream", "xapplication/json, xtext/event-stream")
    assert raw.say(tool("list_issues"))[0] == 406


def test_several_calls_in_one_go_are_answered_in_their_order(raw: Raw) -> None:
    raw.say(tool("list_issues"))
    raw.connection.sendall(b"".join(b"".join(raw.request(tool("list_issues", place))) for place in range(3)))
    answers = raw.connection.makefile("rb")
    for place in range(3):
        size = 0
        while (line := answers.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            size = int(value) if name.lower() == "content-length" else size
        assert json.loads(answers.read(size))["id"] == place
    answers.close()


# --- progress ---------------------------------------------------------------------------------------------------------


def events(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(part.partition(b"data: ")[2]) for part in body.strip().split(b"\r\n\r\n")]


@pytest.mark.parametrize("by_the_sdk", [False, True])
def test_a_client_that_wants_to_know_hears_of_a_call_that_takes_long(
    web: Web, raw: Raw, monkeypatch: pytest.MonkeyPatch, by_the_sdk: bool
) -> None:
    """As over stdio: some clients give up a call that says nothing."""
    monkeypatch.setattr(http_progress, "PROGRESS_SECONDS", 0.05)
    if by_the_sdk:
        monkeypatch.setattr(http_mcp, "_QUICK_FOR_MS", -1)
    told, ask = threading.Event(), behind.Http.ask
    tell = http_progress._Stream.tell  # pyright: ignore[reportPrivateUsage]

    async def noted(self: Any, text: str) -> None:
        await tell(self, text)
        told.set()

    def held(self: Any, worker: Any, operation: Any, *rest: Any) -> dict[str, Any]:
        if operation.name == "create_issue":
            assert told.wait(20)
        return ask(self, worker, operation, *rest)

    monkeypatch.setattr(http_progress._Stream, "tell", noted)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(behind.Http, "ask", held)
    slow = tool("create_issue", arguments={"title": "One"}, _meta={"progressToken": "p1"})
    status, headers, body = raw.say(slow)
    named = dict(headers)
    assert status == 200 and named["content-type"] == "text/event-stream"
    assert named["mcp-session-id"] == raw.session._named["Mcp_Session_Id"]  # pyright: ignore[reportPrivateUsage]
    *notices, answer = events(body)
    assert {notice["method"] for notice in notices} == {"notifications/progress"}
    assert notices[0]["params"]["progressToken"] == "p1" and "still at it" in notices[0]["params"]["message"]
    assert answer["id"] == 7 and answer["result"]["structuredContent"]["display_id"] == "ISSUE-1"
    assert raw.say(tool("list_issues"))[0] == 200  # on the same connection


def test_who_waits_for_news_with_a_token_hears_that_he_waits(raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_progress, "PROGRESS_SECONDS", 0.05)
    asked = {"wait_seconds": 1, "since_event_id": 10_000}
    _, headers, body = raw.say(tool("get_changes", arguments=asked, _meta={"progressToken": 5}))
    assert dict(headers)["content-type"] == "text/event-stream"
    *notices, answer = events(body)
    assert [notice["params"]["progressToken"] for notice in notices] == [5] * len(notices) and notices
    assert answer["result"]["structuredContent"]["events"] == []


def test_a_call_that_does_not_take_long_or_has_no_token_is_one_object(
    raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, headers, _ = raw.say(tool("create_issue", arguments={"title": "One"}, _meta={"progressToken": 5}))
    assert (status, dict(headers)["content-type"]) == (200, "application/json")
    monkeypatch.setattr(http_progress, "PROGRESS_SECONDS", 0.05)
    status, headers, _ = raw.say(tool("get_changes", arguments={"wait_seconds": 1, "since_event_id": 10_000}))
    assert (status, dict(headers)["content-type"]) == (200, "application/json")
