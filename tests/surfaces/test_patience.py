"""`get_changes` that waits: answered with the first news, holding up nobody, with a host and without."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal
from tests.surfaces.hosted import Hosted, answer_of, hosted
from tests.surfaces.test_bell import Desk, desk, environ, running, until

from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.rooms import Rooms
from clearway.surfaces import mcp, patience

__all__ = ["desk", "environ", "running"]

HELLO = {"protocolVersion": "2025-06-18", "clientInfo": {"name": "codex", "version": "1"}, "capabilities": {}}


class Client:
    """An MCP client of a host, as its relay speaks for it."""

    def __init__(self, running: Hosted, desk: Desk) -> None:
        self.connection = running.connect()
        self._got = b""
        self.line({"v": 1, "op": "mcp", "args": {"words": []}, "caller": {"cwd": desk.repo}})
        assert json.loads(answer_of(self.connection))["ok"]
        self.line({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
        self.answer()
        self.line({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def line(self, said: dict[str, Any]) -> None:
        self.connection.sendall((json.dumps(said) + "\n").encode())

    def call(self, identity: int, name: str, **given: Any) -> None:
        self.line(
            {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": {"name": name, "arguments": given}}
        )

    def answer(self) -> dict[str, Any]:
        while b"\n" not in self._got:
            part = self.connection.recv(65_536)
            assert part, "the host hung up"
            self._got += part
        line, _, self._got = self._got.partition(b"\n")
        return json.loads(line)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def latest(desk: Desk) -> int:
    return desk.ask("alpha", "get_changes", limit=1)["latest_event_id"]


def test_a_client_of_a_host_waits_for_news_and_is_served_meanwhile(running: Hosted, desk: Desk) -> None:
    with Client(running, desk) as client:
        client.call(2, "room")
        client.answer()
        client.call(3, "get_changes", since_event_id=latest(desk), wait_seconds=50)
        client.call(4, "room")
        assert client.answer()["id"] == 4
        desk.send("News")
        told = client.answer()
        assert told["id"] == 3
        assert [event["type"] for event in told["result"]["structuredContent"]["events"]] == ["message_sent"]


def test_many_who_wait_keep_no_thread_of_the_host(running: Hosted, desk: Desk) -> None:
    clients = [Client(running, desk) for _ in range(8)]
    since = latest(desk)
    for client in clients:
        client.call(2, "get_changes", since_event_id=since, wait_seconds=50)
    assert until(lambda: running.host.watch.count == 8 and running.host.workers.busy == 0)
    desk.send("News")
    for client in clients:
        assert client.answer()["result"]["structuredContent"]["events"]
        client.connection.close()


def test_a_wait_ends_without_news_when_its_time_is_over(running: Hosted, desk: Desk) -> None:
    with Client(running, desk) as client:
        since = latest(desk)
        client.call(2, "get_changes", since_event_id=since, wait_seconds=1)
        assert client.answer()["result"]["structuredContent"]["next_event_id"] == since
        client.call(3, "get_changes", since_event_id=since, wait_seconds=51)
        assert client.answer()["result"]["isError"]


def test_a_wait_that_is_called_off_is_not_answered(running: Hosted, desk: Desk) -> None:
    with Client(running, desk) as client:
        client.call(2, "get_changes", since_event_id=latest(desk), wait_seconds=50)
        assert until(lambda: running.host.watch.count == 1)
        client.line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        assert until(lambda: running.host.watch.count == 0)
        desk.send("News")
        client.call(3, "room")
        assert client.answer()["id"] == 3


def test_a_host_that_leaves_answers_those_who_wait(environ: dict[str, str], desk: Desk) -> None:
    with hosted(environ) as running:
        client = Client(running, desk)
        since = latest(desk)
        client.call(2, "get_changes", since_event_id=since, wait_seconds=50)
        assert until(lambda: running.host.watch.count == 1)
        running.host.leave("the test says so")
        answers = [client.answer(), client.answer()]
        assert {"clearway": "goodbye"} in answers
        assert any(each.get("id") == 2 for each in answers)
        client.connection.close()


def test_whoever_goes_on_with_the_sdk_waits_for_news_as_well(running: Hosted, desk: Desk) -> None:
    with Client(running, desk) as client:
        client.line({"jsonrpc": "2.0", "id": 2, "method": "resources/templates/list", "params": {}})
        client.answer()
        client.call(3, "get_changes", since_event_id=latest(desk), wait_seconds=50)
        assert until(lambda: running.host.watch.count == 1)
        desk.send("News")
        assert client.answer()["id"] == 3


def test_a_server_without_a_host_waits_for_news_and_answers_others_meanwhile(
    environ: dict[str, str], desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "GLANCE_SECONDS", 0.02)
    waited = {"since_event_id": latest(desk), "wait_seconds": 50}
    server = mcp.Desk(Settings(environ), desk.repo)

    async def talk() -> None:
        waiting = asyncio.ensure_future(server.ask(OPERATIONS["get_changes"], waited, "codex", {}))
        await server.ask(OPERATIONS["room"], {}, "codex", {})
        assert not waiting.done()
        await asyncio.get_running_loop().run_in_executor(None, _sends, environ, desk.repo)
        assert "message_sent" in [event["type"] for event in (await waiting)["events"]]

    asyncio.run(talk())
    server.close()


def _sends(environ: dict[str, str], repo: str) -> None:
    rooms = Rooms(Settings(environ))
    caller = Caller("alpha", "alpha-1", cwd=repo, host=rooms.liveness.host)
    rooms.ask(OPERATIONS["send_message"], {"to": "beta", "text": "News"}, caller)
    rooms.close()


@pytest.mark.parametrize("with_host", [False, True])
def test_a_command_waits_for_news(environ: dict[str, str], repo: Path, desk: Desk, with_host: bool) -> None:
    since, found = latest(desk), list[dict[str, Any]]()

    def wait() -> None:
        rooms = Rooms(Settings(environ))
        caller = Caller("beta", "beta-1", cwd=str(repo), host=rooms.liveness.host)
        asked = {"since_event_id": since, "wait_seconds": 50}
        found.append(patience.asked(rooms, OPERATIONS["get_changes"], asked, caller))
        rooms.close()

    running = Hosted(environ) if with_host else None
    thread = threading.Thread(target=wait)
    thread.start()
    Clock().pause(100)
    desk.send("News")
    thread.join(20)
    assert [event["type"] for event in found[0]["events"]] == ["message_sent"]
    if running is not None:
        running.leave()


def test_the_command_line_takes_how_long_to_wait(terminal: Terminal) -> None:
    terminal("init")
    terminal("--as", "codex", "room", "--status", "here")
    since = json.loads(terminal("--json", "changes").out)["latest_event_id"]
    over = terminal("--json", "changes", "--since", str(since), "--wait-seconds", "1")
    assert json.loads(over.out)["events"] == []
