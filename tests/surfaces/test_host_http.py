"""HTTP on the loopback address: who is let in, and the same answers as everywhere."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from tests.surfaces.hosted import Hosted, hosted

from clearway import catalog
from clearway.config import Caller, Settings
from clearway.limits import HOST_LINE_BYTES_MAX, HOST_WORKERS_AT_ONCE
from clearway.rooms import Rooms
from clearway.surfaces import hooks, host_full, host_start, http_mcp
from clearway.surfaces import http as http_surface


class Web:
    """Somebody who asks over HTTP, and has read the token."""

    def __init__(self, running: Hosted, repo: Path) -> None:
        self.running = running
        self.repo = repo
        assert running.host.http is not None
        self.port = running.host.http.port
        self.token = Path(running.home, "run/http-token").read_text().strip()

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token != "":
            named["Authorization"] = f"Bearer {token or self.token}"
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, data, named)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, said

    def operation(
        self, name: str, *, headers: dict[str, str] | None = None, **given: Any
    ) -> tuple[int, dict[str, Any]]:
        more = {"Clearway_Agent": "anna", "Clearway_Cwd": str(self.repo), **(headers or {})}
        status, _, said = self.ask("POST", f"/ask/{name}", given, **more)
        return status, json.loads(said)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


@pytest.fixture
def web(environ: dict[str, str], repo: Path) -> Iterator[Web]:
    with hosted(environ) as running:
        yield Web(running, repo)
        assert not running.said


# --- who is let in ----------------------------------------------------------------------------------------------------

CLOSED = [("POST", "/ask/room"), ("POST", "/hook/claude"), ("GET", "/events"), ("GET", "/metrics"), ("POST", "/mcp")]


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_without_the_token_nothing_is_answered(web: Web, method: str, path: str) -> None:
    for token in ("", "wrong", web.token[:-1], web.token + "x"):
        status, headers, said = web.ask(method, path, token=token)
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
        assert json.loads(said)["code"] == "UNAUTHORIZED" and web.token.encode() not in said


@pytest.mark.parametrize(("method", "path"), [*CLOSED, ("GET", "/healthz")])
def test_a_wrong_host_or_a_foreign_page_is_turned_away(web: Web, method: str, path: str) -> None:
    for name in ("example.com", f"example.com:{web.port}", "127.0.0.1", "127.0.0.1:1", ""):
        assert web.ask(method, path, Host=name)[0] == (421 if path == "/mcp" else 403)
    for origin in ("http://example.com", "null", f"https://127.0.0.1:{web.port}", "http://127.0.0.1"):
        assert web.ask(method, path, Origin=origin)[0] == 403
    assert web.ask("GET", "/healthz", Origin=f"http://127.0.0.1:{web.port}")[0] == 200


def test_the_token_is_its_owners_alone_and_new_each_time(environ: dict[str, str]) -> None:
    tokens: set[str] = set()
    file = Path(environ["CLEARWAY_HOME"], "run/http-token")
    for _ in range(2):
        with hosted(environ):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            tokens.add(file.read_text())
        assert not file.exists()
    assert len(tokens) == 2 and all(len(token) > 40 for token in tokens)


def test_it_listens_on_the_loopback_address_only(web: Web) -> None:
    assert web.running.host.http is not None
    assert web.running.host.http.listener.getsockname()[0] == "127.0.0.1"


def test_an_answer_in_two_parts_is_not_kept_back(web: Web) -> None:
    """Else each takes 40 ms: asyncio lets only a socket of a named protocol send at once."""
    door = web.running.host.http
    assert door is not None and door.listener.proto == socket.IPPROTO_TCP


def test_what_is_not_there_and_what_is_asked_otherwise(web: Web) -> None:
    for path in ("/nothing", "/healthz/x", "/web/%2e%2e/http.py"):
        assert web.ask("GET", path)[0] == 404
    for method, path, right in (("GET", "/ask/room", "POST"), ("DELETE", "/events", "GET"), ("GET", "/hook/x", "POST")):
        status, headers, said = web.ask(method, path)
        assert (status, headers["allow"], json.loads(said)["retryable"]) == (405, right, False)


def test_a_scheme_may_be_spelled_in_any_case(web: Web) -> None:
    for scheme in ("bearer", "BEARER"):
        assert web.ask("GET", "/metrics", token="", Authorization=f"{scheme} {web.token}")[0] == 200
    for given in (web.token, f"Basic {web.token}", f"Bearer  {web.token}", "Bearer", "Bearer \xe9"):
        assert web.ask("GET", "/metrics", token="", Authorization=given)[0] == 401


NO_PLACE = ["", "shop", "/tmp/a%00b", "%00", "/nowhere"]


@pytest.mark.parametrize("cwd", NO_PLACE)
def test_a_folder_that_is_none_is_the_askers_mistake(web: Web, cwd: str) -> None:
    status, _, said = web.ask("GET", f"/events?cwd={cwd}")
    told = json.loads(said)
    assert (status, told["code"]) in {(404, "PROJECT_NOT_FOUND"), (400, "PATH_INVALID")}
    assert not told["message"].startswith(" ")


def test_an_address_that_says_too_much_is_the_askers_mistake(web: Web) -> None:
    """Also what asks for a number and is given none; the events begin with the next then."""
    many = "&".join(f"a{number}=1" for number in range(40))
    for method, path in (("GET", "/events"), ("POST", "/mcp")):
        assert web.ask(method, f"{path}?{many}")[0] == 400
    web.operation("create_issue", title="Ship")
    for since in ("%C2%B2", "9" * 6_000, "-1", "x"):
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)
        named = {"Authorization": f"Bearer {web.token}", "Clearway-Cwd": str(web.repo)}
        connection.request("GET", f"/events?since={since}", headers=named)
        assert connection.getresponse().status == 200
        connection.close()


def test_bodies_are_bounded(web: Web) -> None:
    status, _, said = web.ask("POST", "/ask/room", b"x" * (HOST_LINE_BYTES_MAX + 1))
    assert (status, json.loads(said)["code"]) == (400, "LIMIT_EXCEEDED")


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe", b"7"])
def test_a_body_that_is_no_object_is_refused(web: Web, body: bytes) -> None:
    status, _, said = web.ask("POST", "/ask/room", body)
    assert (status, json.loads(said)["code"]) == (400, "INVALID_ARGUMENT")


# --- the same answers -------------------------------------------------------------------------------------------------


def test_operations_answer_as_at_the_door(web: Web) -> None:
    status, made = web.operation("create_issue", title="One", description="text")
    assert (status, made["display_id"]) == (200, "ISSUE-1")
    status, refused = web.operation("get_issue", issue_id="ISSUE-9")
    assert (status, refused["code"]) == (404, "ISSUE_NOT_FOUND")
    status, refused = web.operation("no_such_operation")
    assert (status, refused["code"]) == (400, "INVALID_ARGUMENT")
    rooms = Rooms(Settings(web.running.environ))
    caller = Caller("anna", cwd=str(web.repo), host=rooms.liveness.host)
    here = rooms.ask(catalog.OPERATIONS["get_issue"], {"issue_id": "ISSUE-1"}, caller)
    rooms.close()
    assert web.operation("get_issue", issue_id="ISSUE-1") == (200, here)


def test_a_key_in_a_header_answers_once(web: Web) -> None:
    headers = {"Idempotency_Key": "k1", "Clearway_Session": "s1"}
    first = web.operation("create_issue", headers=headers, title="One")
    assert web.operation("create_issue", headers=headers, title="One") == first
    status, refused = web.operation("create_issue", headers=headers, title="Two")
    assert (status, refused["code"]) == (409, "IDEMPOTENCY_CONFLICT")


def test_nobody_is_a_person_over_http(web: Web) -> None:
    status, refused = web.operation("pause_guard", headers={"Clearway_Agent": "human"})
    assert (status, refused["code"]) == (403, "RESERVED_NAME")
    assert web.operation("pause_guard")[0] == 403


def test_a_hook_is_answered_in_its_clients_words(web: Web) -> None:
    payload: dict[str, Any] = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(web.repo)}
    given = {"file_path": str(web.repo / "free.txt"), "old_string": "a", "new_string": "b"}
    edit = payload | {"tool_name": "Edit", "tool_input": given}
    status, headers, said = web.ask("POST", "/hook/claude", edit)
    assert (status, headers["clearway-exit"], said) == (200, "0", b"")
    status, headers, said = web.ask("POST", "/hook/claude", edit | {"session_id": "s2"})
    alone = hooks.answer("claude", json.dumps(edit | {"session_id": "s2"}).encode(), web.running.environ)
    assert (said.decode(), headers["clearway-exit"]) == (alone[0], "0")
    assert "free.txt is held by claude-code" in alone[0]


# --- figures and events -----------------------------------------------------------------------------------------------


def test_whoever_asks_for_health_at_once_spoils_no_answer(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each proves a write of its own."""
    sync, both = os.fsync, threading.Barrier(2, timeout=20)

    def meet(descriptor: int) -> None:
        sync(descriptor)
        both.wait()

    monkeypatch.setattr(os, "fsync", meet)
    home, proved = web.running.home, list[str]()
    threads = [
        threading.Thread(target=lambda: proved.append("yes" if host_start.can_write(home) else "no")) for _ in range(2)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert proved == ["yes", "yes"]


def test_health_is_a_write_that_works(web: Web) -> None:
    assert web.ask("GET", "/healthz", token="")[::2] == (200, b'{"ok":true}')
    run = Path(web.running.home, "run")
    run.rename(run.with_name("away"))
    run.write_text("no folder")
    try:
        status, _, said = web.ask("GET", "/healthz", token="")
    finally:
        run.unlink()
        run.with_name("away").rename(run)
    assert (status, json.loads(said)["code"]) == (503, "STORAGE_FAILURE")


def figures_of(text: str) -> dict[str, float]:
    """A page of figures by name and labels, after a look at whether it is one."""
    found: dict[str, float] = {}
    families: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in families, "a family stands in one place"
            families[name] = kind
        elif not line.startswith("# HELP "):
            match = re.fullmatch(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? (-?[0-9.e+-]+)', line)
            assert match, line
            family = match[1]
            if family not in families:
                family = match[1].removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
                assert families[family] == "histogram", line
            assert match[1] + (match[2] or "") not in found, line
            found[match[1] + (match[2] or "")] = float(match[3])
    assert text.endswith("\n")
    return found


def test_figures_are_in_the_words_of_prometheus(web: Web) -> None:
    """Issue 5, build item 6."""
    status, headers, said = web.ask("GET", "/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    figures = figures_of(said.decode())
    assert figures["clearway_host_clients"] == 0
    assert figures['clearway_host_connections{by="http"}'] == 1, "whoever asks"


def test_what_is_asked_is_counted_by_its_way_and_its_answer(web: Web) -> None:
    web.operation("create_issue", title="One")
    web.operation("create_issue")
    web.ask("POST", "/hook/claude", b"{}", Clearway_Cwd=str(web.repo))
    web.ask("POST", "/hook/nobody", b"{}", Clearway_Cwd=str(web.repo))
    web.ask("GET", "/metrics", token="wrong")
    figures = figures_of(web.ask("GET", "/metrics")[2].decode())
    assert figures['clearway_operations_total{by="http",operation="create_issue"}'] == 2
    assert figures['clearway_refusals_total{by="http",code="INVALID_ARGUMENT"}'] == 1
    assert figures['clearway_operation_seconds_count{by="http"}'] == 2
    assert figures['clearway_operation_seconds_bucket{by="http",le="+Inf"}'] == 2
    assert figures['clearway_hooks_total{client="claude"}'] == 1
    assert figures['clearway_hooks_total{client="other"}'] == 1, "what is no list of ours is no label"
    assert figures["clearway_hook_seconds_count"] == 2
    assert figures["clearway_host_turned_away_total"] == 1
    assert figures["clearway_host_defects_total"] == 0


def test_a_refused_edit_is_counted_once_everywhere(web: Web) -> None:
    """The host's own count, and what the log of the room tells (clearway stats)."""
    (web.repo / "held.py").write_text("")
    web.operation("claim_paths", headers={"Clearway_Session": "anna-1"}, paths=["held.py"])
    for _ in range(2):
        edit = {"tool_name": "Edit", "tool_input": {"file_path": str(web.repo / "held.py")}, "session_id": "boris-1"}
        payload = {"hook_event_name": "PreToolUse", "cwd": str(web.repo), **edit}
        answer = web.ask("POST", "/hook/claude", payload, Clearway_Cwd=str(web.repo), Clearway_Agent="boris")
        assert b"deny" in answer[2]
    (project,) = os.listdir(Path(web.running.home, "rooms"))
    figures = figures_of(web.ask("GET", "/metrics")[2].decode())
    assert figures['clearway_hook_refusals_total{code="PATH_HELD"}'] == 2
    assert figures["clearway_hook_injected_bytes_total"] > 100
    told = web.operation("stats")[1]
    assert figures[f'clearway_room_up{{project="{project}"}}'] == 1
    assert figures[f'clearway_room_refusals{{project="{project}",code="PATH_HELD"}}'] == 1
    assert told["refusals"]["by_code"] == {"PATH_HELD": 1}, "equal ones within a minute are told once"


def test_a_room_that_does_not_answer_is_said_to_be_down(web: Web, environ: dict[str, str]) -> None:
    folder = Path(environ["CLEARWAY_HOME"], "rooms", "01" + "Z" * 24)
    folder.mkdir(parents=True)
    (folder / "room.db").write_bytes(b"no room")
    figures = figures_of(web.ask("GET", "/metrics")[2].decode())
    assert figures[f'clearway_room_up{{project="{folder.name}"}}'] == 0


def test_rooms_are_not_asked_for_figures_again_and_again(web: Web) -> None:
    web.operation("create_issue", title="One")
    for _ in range(5):
        figures = figures_of(web.ask("GET", "/metrics")[2].decode())
    assert sum(value for name, value in figures.items() if name.startswith("clearway_room_up")) == 1
    assert 'clearway_operations_total{by="http",operation="stats"}' not in figures


def test_events_come_as_they_happen_and_go_on_where_they_ended(web: Web) -> None:
    web.operation("create_issue", title="Before")
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)
    headers = {"Authorization": f"Bearer {web.token}", "Clearway-Cwd": str(web.repo), "Last-Event-ID": "0"}
    connection.request("GET", "/events", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("content-type")) == (200, "text/event-stream")
    first = [answer.readline().decode() for _ in range(4)]
    assert first[0] == "event: issue_created\n" and first[1] == "id: 1\n" and first[3] == "\n"
    assert json.loads(first[2].removeprefix("data: "))["id"] == 1
    web.operation("create_issue", title="While")
    second = [answer.readline().decode() for _ in range(4)]
    assert second[:2] == ["event: issue_created\n", "id: 2\n"]
    if answer.fp is not None:
        answer.close()
    connection.close()


def test_no_more_streams_than_there_is_room_for(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    from clearway.surfaces import http as ours

    web.operation("create_issue", title="One")
    monkeypatch.setattr(ours, "STREAMS_MAX", 1)
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)
    headers = {"Authorization": f"Bearer {web.token}", "Clearway-Cwd": str(web.repo), "Last-Event-ID": "0"}
    connection.request("GET", "/events", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200 and answer.readline()
    assert web.ask("GET", f"/events?cwd={web.repo}")[0] == 503
    answer.close()
    connection.close()


def test_streams_that_are_asked_for_at_once_are_bounded_too(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a host comes back, every page that is open asks again."""
    from clearway.surfaces import http as ours

    monkeypatch.setattr(ours, "STREAMS_MAX", 1)
    asked, go = threading.Event(), threading.Event()
    ask = ours.Http.asked

    async def held(self: Any, operation: Any, arguments: Any, caller: Any) -> Any:
        asked.set()
        await asyncio.to_thread(go.wait, 20)
        return await ask(self, operation, arguments, caller)

    monkeypatch.setattr(ours.Http, "asked", held)
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)
    connection.request("GET", f"/events?cwd={web.repo}", headers={"Authorization": f"Bearer {web.token}"})
    assert asked.wait(20)
    try:
        assert web.ask("GET", f"/events?cwd={web.repo}")[0] == 503
    finally:
        go.set()
        connection.close()


def test_those_who_connect_and_say_nothing_are_left(
    environ: dict[str, str], repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 5, "Bad input and faults": 200 idle sockets. Anybody on the machine can open them."""
    monkeypatch.setattr(http_surface, "HOST_FIRST_WORD_MS", 300)
    with hosted(environ) as running:
        web = Web(running, repo)
        idle = [socket.create_connection(("127.0.0.1", web.port)) for _ in range(200)]
        idle[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.")  # a word, and then nothing more
        for one in idle:
            one.settimeout(20)
            assert one.recv(10) == b"", "it is closed without a word"
            one.close()
        assert web.ask("GET", "/healthz")[0] == 200


@pytest.mark.parametrize("has_begun", [True, False])
def test_whoever_leaves_before_the_answer_is_no_defect(web: Web, has_begun: bool) -> None:
    """Issue 5, "Bad input and faults": dead peers."""
    assert web.ask("GET", "/healthz")[0] == 200
    assert web.running.host.http is not None
    behind, turns, go = web.running.host.http._http, host_full.loop(), threading.Event()
    assert behind is not None
    begun = [threading.Event() for _ in range(HOST_WORKERS_AT_ONCE)]

    def wait(worker: object, place: int) -> None:
        begun[place].set()
        go.wait(20)

    asked = [
        asyncio.run_coroutine_threadsafe(behind.in_a_worker(lambda worker, place=place: wait(worker, place)), turns)
        for place in range(HOST_WORKERS_AT_ONCE)
    ]
    assert all(each.wait(20) for each in begun)
    if not has_begun:
        asked.append(asyncio.run_coroutine_threadsafe(behind.in_a_worker(lambda _: None), turns))
    asked[-1].cancel()
    for _ in range(3):  # it has been told when the loop has turned a few times
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), turns).result(20)
    go.set()
    assert web.ask("GET", "/healthz")[0] == 200


def test_a_slow_client_holds_up_nobody(web: Web) -> None:
    slow = [socket.create_connection(("127.0.0.1", web.port)) for _ in range(20)]
    for connection in slow:
        connection.sendall(b"POST /ask/room HTTP/1.1\r\nHost: 127.0.0.1:")
    assert web.ask("GET", "/healthz")[0] == 200
    for connection in slow:
        connection.close()


# --- MCP --------------------------------------------------------------------------------------------------------------


def test_mcp_speaks_streamable_http(web: Web) -> None:
    def say(message: dict[str, Any], **more: str) -> tuple[int, dict[str, str], bytes]:
        accepts = {"Accept": "application/json, text/event-stream", "Content_Type": "application/json"}
        return web.ask("POST", "/mcp", message, **accepts, Clearway_Cwd=str(web.repo), **more)

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "zed", "version": "1"}}
    status, headers, said = say({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    assert status == 200 and json.loads(said)["result"]["serverInfo"]["name"] == "clearway"
    session = {"Mcp_Session_Id": headers["mcp-session-id"], "Mcp_Protocol_Version": "2025-06-18"}
    assert say({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)[0] == 202
    params = {"name": "create_issue", "arguments": {"title": "One"}}
    status, _, said = say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}, **session)
    made = json.loads(said)["result"]
    assert status == 200 and made["structuredContent"]["display_id"] == "ISSUE-1"
    claim = {"name": "claim_paths", "arguments": {"paths": ["free.txt"]}}
    _, _, said = say({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": claim}, **session)
    assert not json.loads(said)["result"]["isError"], said
    status, owner = web.operation("path_owner", path="free.txt")
    assert (status, owner["agent"]) == (200, "zed")
    assert owner["session"].startswith("mcp-")


class Session:
    """A client's session over Streamable HTTP, which has made one call."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._named: dict[str, str] = {}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "zed", "version": "1"}}
        headers = self.say({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})[1]
        self._named = {"Mcp_Session_Id": headers["mcp-session-id"], "Mcp_Protocol_Version": "2025-06-18"}
        assert self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})[0] == 202
        assert self.call("list_issues")[0] == 200

    def say(self, message: Any, method: str = "POST", **more: str) -> tuple[int, dict[str, str], bytes]:
        accepts = {"Accept": "application/json, text/event-stream", "Content_Type": "application/json"}
        return self._web.ask(
            method, "/mcp", message, **accepts | {"Clearway_Cwd": str(self._web.repo)} | self._named | more
        )

    def call(self, tool: str, identity: int | str = 2, **given: Any) -> tuple[int, dict[str, str], bytes]:
        params = {"name": tool, "arguments": given}
        return self.say({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params})


def tool(name: Any, identity: Any = 7, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": {"name": name, **params}}


@pytest.mark.parametrize(
    "message",
    [
        tool("list_issues", arguments={"limit": 1}),
        tool("list_issues", "seven"),
        tool("list_issues", arguments=None),
        tool("get_issue", arguments={"issue_id": "ISSUE-99"}),
        tool("get_work_context", arguments={"issue_id": "ISSUE-99"}),
        tool("create_issue", arguments={}),
        tool("list_issues", arguments={"limit": "many"}),
        tool("list_issues", arguments=[1]),
        tool("list_issues", arguments={}, _meta={"claudecode/toolUseId": "x"}),
        tool("list_issues", arguments={}, _meta={"progressToken": 3}),
        tool("get_changes", arguments={"wait_seconds": 1, "since_event_id": 0}),
        tool("no_such_tool", arguments={}),
        tool(7, arguments={}),
        tool("list_issues", True),
        tool("list_issues", more=1),
        {"jsonrpc": "2.0", "id": 7, "method": "ping"},
        [tool("list_issues")],
        b"no JSON",
    ],
    ids=lambda message: str(message)[:60],
)
def test_a_call_is_answered_as_the_sdk_would_answer_it(web: Web, message: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    web.operation("create_issue", title="One \u2028 é")
    session, said = Session(web), []
    for quick_for in (60_000, -1):
        monkeypatch.setattr(http_mcp, "_QUICK_FOR_MS", quick_for)
        status, headers, body = session.say(message)
        headers.pop("date", None)
        headers.pop("content-length", None)
        said.append((status, headers, json.loads(body) if body else None))
    assert said[0] == said[1]


def test_most_calls_do_without_the_sdk_and_an_ended_session_is_over(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    session, other = Session(web), Session(web)
    with monkeypatch.context() as patched:
        patched.setattr(StreamableHTTPSessionManager, "handle_request", None)
        assert session.call("list_issues")[0] == 200
        made = json.loads(session.call("create_issue", title="One")[2])["result"]
        assert made["structuredContent"]["display_id"] == "ISSUE-1"
    assert session.say(None, "DELETE")[0] == 200
    assert session.call("list_issues")[0] == 404
    assert other.call("list_issues")[0] == 200
    assert other.say(tool("list_issues"), Mcp_Protocol_Version="1999-01-01")[0] == 400
