"""Notices through a relay: a client that listens outlives its host as one that asks does."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import HandClock
from tests.surfaces import test_relay
from tests.surfaces.hosted import hosted
from tests.surfaces.mcp_server import talks
from tests.surfaces.test_relay import MODERN, Client, Dying, Machine, call, reading, subscribing

from clearway import config
from clearway.clock import Clock
from clearway.op import Operation
from clearway.rooms import Rooms
from clearway.surfaces import host_start
from clearway.surfaces.mcp_resources import BOARD, INBOX

relayed = test_relay.machine


@pytest.fixture
def beside_a_host(relayed: Machine) -> Machine:
    """A machine whose clients need not wait for their host, however busy it is."""
    host_start.start(relayed.home, relayed.environ)
    return relayed


UPDATED = "notifications/resources/updated"


def hears_of(client: Client, uri: str) -> dict[str, Any]:
    notice = client.hear()
    assert (notice.get("method"), notice["params"]["uri"]) == (UPDATED, uri), notice
    return notice


def listen(identity: int | str, *uris: str) -> dict[str, Any]:
    params = {"_meta": MODERN, "notifications": {"resourceSubscriptions": list(uris)}}
    return {"jsonrpc": "2.0", "id": identity, "method": "subscriptions/listen", "params": params}


def modern(client: Client) -> Client:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": MODERN}}
    assert "result" in client.ask(hello)
    return client


def test_a_subscription_goes_on_with_the_next_host(beside_a_host: Machine) -> None:
    listener, other = beside_a_host.client().opens(), beside_a_host.client().opens()
    assert listener.ask(subscribing(2, BOARD))["result"] == {}
    assert listener.ask(subscribing(3, INBOX))["result"] == {}
    assert "error" in listener.ask(subscribing(4, "clearway://nothing"))
    other.ask(call(2, "create_issue", title="One"))
    hears_of(listener, BOARD)
    beside_a_host.kill_host()
    assert {hears["params"]["uri"] for hears in (listener.hear(), listener.hear())} == {BOARD, INBOX}, (
        "while nobody watched, anything may have changed"
    )
    assert not other.ask(call(3, "create_issue", title="Two", idempotency_key="k"))["result"]["isError"]
    hears_of(listener, BOARD)
    unsubscribing = {**subscribing(5, BOARD), "method": "resources/unsubscribe"}
    assert listener.ask(unsubscribing)["result"] == {}
    beside_a_host.kill_host()
    hears_of(listener, INBOX)
    assert listener.end() == []


def test_a_request_that_listens_goes_on_and_holds_up_no_end(beside_a_host: Machine) -> None:
    listener, other = modern(beside_a_host.client()), beside_a_host.client().opens()
    listener.say(listen("ear", BOARD))
    assert listener.hear()["method"] == "notifications/subscriptions/acknowledged"
    other.ask(call(2, "create_issue", title="One"))
    stamp = {"io.modelcontextprotocol/subscriptionId": "ear"}
    assert hears_of(listener, BOARD)["params"]["_meta"] == stamp
    beside_a_host.kill_host()
    heard = [listener.hear(), listener.hear()]
    assert sorted(notice["method"] for notice in heard) == [UPDATED, "notifications/subscriptions/acknowledged"]
    assert all(notice["params"]["_meta"] == stamp for notice in heard)
    other.ask(call(3, "create_issue", title="Two", idempotency_key="k"))
    hears_of(listener, BOARD)
    assert listener.end() == []


def test_a_host_that_leaves_takes_no_subscription_with_it(beside_a_host: Machine) -> None:
    listener, other = beside_a_host.client().opens(), beside_a_host.client().opens()
    listener.ask(subscribing(2, BOARD))
    assert host_start.stop(beside_a_host.home)
    hears_of(listener, BOARD)
    other.ask(call(2, "create_issue", title="One"))
    hears_of(listener, BOARD)
    assert not listener.ask(reading(3, BOARD)).get("error")


def test_a_client_whose_host_cannot_be_replaced_listens_in_its_own_process(relayed: Machine) -> None:
    dying = Dying(relayed.home, heard_before=3)
    listener = relayed.client().opens()
    listener.say(subscribing(2, BOARD))
    dying.thread.join(20)
    Path(relayed.home, "run").rmdir()
    Path(relayed.home, "run").write_text("no folder")
    heard = [listener.hear(), listener.hear()]
    assert [each["id"] for each in heard if "id" in each] == [2], "it was not answered before"
    assert [each["method"] for each in heard if "id" not in each] == [UPDATED]
    Path(relayed.home, "run").unlink()
    relayed.client(CLEARWAY_HOST="off").opens().ask(call(2, "create_issue", title="One"))
    hears_of(listener, BOARD)
    assert listener.end() == []


def test_a_call_through_a_host_that_takes_long_says_that_it_goes_on(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that waits for news, and of one that is long in coming: each says so to a client that wants to know."""
    goes_on = threading.Event()
    ask = Rooms.ask

    def slow(rooms: Rooms, operation: Operation, *asked: Any) -> dict[str, Any]:
        if operation.name == "list_labels":
            goes_on.wait(20)
        return ask(rooms, operation, *asked)

    monkeypatch.setattr(Rooms, "ask", slow)
    environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    clock = HandClock()
    with hosted(environ, clock) as running:
        client = Client({**environ, "CLEARWAY_TOOLS": "full"}, repo).opens()
        for identity, tool, given in ((2, "list_labels", {}), (3, "get_changes", {"wait_seconds": 50})):
            asked = call(identity, tool, **given)
            asked["params"]["_meta"] = {"progressToken": f"t{identity}"}
            client.say(asked)
            client.ask({"jsonrpc": "2.0", "id": f"after {identity}", "method": "ping"})  # it has come by then
            clock.forward(seconds=6)
            running.host.later(running.host.look_around)
            heard = client.hear()
            assert heard["method"] == "notifications/progress"
            assert (heard["params"]["progressToken"], heard["params"]["progress"]) == (f"t{identity}", 6)
            if tool == "list_labels":
                goes_on.set()
            else:
                client.say(call(4, "create_issue", title="One"))
                assert client.hear()["id"] in (3, 4)
            assert client.hear()["id"] in (identity, 4)
        assert client.end() == []


ODD: list[tuple[str, dict[str, Any]]] = [
    ("prompts/get", {"name": "stand-up", "arguments": None}),
    ("prompts/get", {"name": "stand-up", "arguments": {"since": 5}}),
    ("prompts/get", {"name": "stand-up", "arguments": []}),
    ("prompts/get", {"name": "stand-up", "arguments": {"since": "yesterday"}, "more": 1}),
    ("prompts/get", {"name": 5}),
    ("prompts/get", {}),
    ("prompts/get", {"name": "review", "_meta": {"progressToken": 7}}),
    ("resources/read", {"uri": 5}),
    ("resources/read", {}),
    ("resources/read", {"uri": ""}),
    ("resources/read", {"uri": BOARD, "more": 1}),
    ("resources/read", {"uri": BOARD, "_meta": {"progressToken": []}}),
    ("resources/read", {"uri": INBOX, "_meta": {"progressToken": "t"}}),
    ("resources/read", {"uri": "clearway://issue/" + "9" * 5_000}),
    ("resources/read", {"uri": "clearway://issue/%49SSUE-1"}),
    ("resources/subscribe", {"uri": 5}),
    ("resources/unsubscribe", {"uri": "clearway://nothing"}),
    ("subscriptions/listen", {"notifications": {}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "to", "value": ""}}),
    ("completion/complete", {"ref": 5}),
    ("logging/setLevel", {"level": "info"}),
    ("tools/call", {"name": "room", "arguments": {"status": talks.HALF}}),
    ("tools/call", {"name": "room", "arguments": []}),
    ("tools/call", {"name": "room", "arguments": 0}),
    ("tools/call", {"name": "room", "arguments": {talks.HALF: 1}}),
    ("prompts/get", {"name": "review", "arguments": {"issue_id": talks.HALF}}),
    ("resources/read", {"uri": "clearway://issue/" + talks.HALF}),
]


def test_odd_requests_are_answered_by_a_host_as_without_one(alone: talks.Machine) -> None:
    """What it answers itself and what it leaves to the SDK is the SDK's answer, word for word."""
    (alone.repo / config.POINTER).write_text(config.pointer_text(Clock().new_id()))
    desk = alone.agent().desk
    environ = {name: value for name, value in alone.environ.items() if name != "CLEARWAY_HOST"}
    with hosted(environ) as running:
        for method, params in ODD:
            asked = talks.request(7, method, **params)
            without = talks.by_id(talks.whole(talks.hello(), talks.READY, asked, ask=desk.ask, watch=desk.watch))[7]
            lines = running.connect().makefile("rwb")
            hello = {"v": 1, "op": "mcp", "args": {"words": []}, "caller": {"cwd": str(alone.repo)}, "environ": environ}
            for said in (hello, talks.hello(), talks.READY, asked):
                lines.write(json.dumps(said).encode() + b"\n")
            lines.flush()
            heard = [json.loads(lines.readline()) for _ in range(3)][-1]
            lines.close()
            told = [re.sub(r"mcp-[0-9A-Z]{26}", "*", json.dumps(each, sort_keys=True)) for each in (heard, without)]
            assert told[0] == told[1], (method, params)
