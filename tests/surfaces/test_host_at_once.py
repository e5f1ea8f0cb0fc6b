"""What the thread of the sockets answers itself: the same answers, and never anything that could hold up the others."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted, answer_of, hosted

from clearway import config
from clearway.clock import Clock
from clearway.db.sqlite import SqliteEngine
from clearway.surfaces import host_at_once, host_talk
from clearway.surfaces.host_work import Workers

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "zed", "version": "1"}}


@pytest.fixture
def running(tmp_path: Path, repo: Path) -> Iterator[Hosted]:
    environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    (repo / config.POINTER).write_text(config.pointer_text(Clock().new_id()))
    with hosted(environ) as made:
        yield made
        assert not [said for said in made.said if "defect" in said]


class Client:
    """A client over the host's socket, whose room a worker has opened by now."""

    def __init__(self, running: Hosted, folder: Path) -> None:
        self.connection = running.connect()
        self.lines = self.connection.makefile("rb")
        self.say({"v": 1, "op": "mcp", "args": {"words": []}, "caller": {"cwd": str(folder)}})
        self.lines.readline()
        self.say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        self.lines.readline()
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.call("room")

    def say(self, message: dict[str, Any]) -> None:
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def ask(self, tool: str, **arguments: Any) -> None:
        params = {"name": tool, "arguments": arguments}
        self.say({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})

    def heard(self) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.lines.readline())["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.ask(tool, **arguments)
        return self.heard()


@pytest.fixture
def client(running: Hosted, repo: Path) -> Iterator[Client]:
    made = Client(running, repo)
    yield made
    made.lines.close()
    made.connection.close()


class Given(list[object]):
    """What workers are given, after those that are at work have done."""

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self.workers = workers

    def begin(self) -> None:
        pause = threading.Event()
        while self.workers.busy:
            pause.wait(0.001)
        self.clear()


@pytest.fixture
def given(running: Hosted, monkeypatch: pytest.MonkeyPatch) -> Given:
    given = Given(running.host.workers)
    submit = Workers.submit

    def noted(self: Workers, act: Any) -> None:
        given.append(act)
        submit(self, act)

    monkeypatch.setattr(Workers, "submit", noted)
    return given


def test_a_short_question_takes_no_worker_and_says_the_same(client: Client, given: Given) -> None:
    assert not client.call("create_issue", title='A café\u200b \\ "quoted"', status="ready")["isError"]
    told = client.call("list_issues")
    given.begin()
    assert client.call("list_issues") == told
    assert client.call("list_issues", limit=0)["isError"]
    assert client.call("no_such_tool")["isError"]
    client.say({"jsonrpc": "2.0", "id": 8, "method": "resources/read", "params": {"uri": "clearway://board"}})
    assert "ISSUE-1" in client.heard()["contents"][0]["text"]
    assert given == []


def test_what_may_wait_is_done_by_a_worker(client: Client, given: Given) -> None:
    for tool, arguments in (
        ("create_issue", {"title": "One"}),
        ("room", {"status": "reading"}),
        ("get_changes", {"wait_seconds": 0}),
    ):
        given.begin()
        assert not client.call(tool, **arguments)["isError"]
        assert len(given) == 1, tool


def test_a_query_that_takes_long_is_broken_off_and_answered_by_a_worker(
    client: Client, given: Given, monkeypatch: pytest.MonkeyPatch, running: Hosted
) -> None:
    told = client.call("list_issues")
    given.begin()
    monkeypatch.setattr(SqliteEngine, "_is_too_late", lambda _: True)
    for shelf in running.host.at_once._shelves.values():  # pyright: ignore[reportPrivateUsage]
        for room in shelf.rooms.values():
            assert isinstance(room.engine, SqliteEngine) and room.engine._connection  # pyright: ignore[reportPrivateUsage]
            room.engine._connection.set_progress_handler(lambda: True, 1)  # pyright: ignore[reportPrivateUsage]
    assert client.call("list_issues") == told
    assert len(given) == 1


def test_what_has_taken_long_is_left_to_workers_for_a_while(
    client: Client, given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it takes no more than its part of the thread on which everybody waits."""
    now = host_at_once.quiet.now
    given.begin()
    with monkeypatch.context() as patch:
        patch.setattr(host_at_once, "HOST_AT_ONCE_MS", -1)  # whatever it takes is too much
        patch.setattr(host_at_once, "HOST_AT_ONCE_PART", 100_000)
        client.call("list_issues")
    assert given == []
    client.call("list_issues")
    assert len(given) == 1
    given.begin()
    client.call("get_changes")
    assert given == []  # that is another one
    monkeypatch.setattr(host_at_once.quiet, "now", lambda: now() + 3_600_000_000_000)
    given.begin()
    client.call("list_issues")
    assert given == []


def test_many_questions_at_once_hold_up_nobody(client: Client, given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too much for one round is left to the workers; and every answer comes in its turn."""
    monkeypatch.setattr(host_at_once, "HOST_AT_ONCE_ROUND_MS", -1)
    given.begin()
    for _ in range(50):
        client.ask("list_issues")
    assert [client.heard()["isError"] for _ in range(50)] == [False] * 50
    assert given


def test_a_question_after_one_that_waits_comes_in_its_turn(
    client: Client, running: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    ask = host_talk.Talk.ask

    def held(self: Any, worker: Any, operation: Any, *rest: Any) -> dict[str, Any]:
        if operation.name == "create_issue":
            assert go_on.wait(20)
        return ask(self, worker, operation, *rest)

    monkeypatch.setattr(host_talk.Talk, "ask", held)
    client.ask("create_issue", title="First")
    client.ask("list_issues")
    running.request("host_status")  # by now both were heard
    go_on.set()
    assert not client.heard()["isError"]
    assert "First" in json.dumps(client.heard())


def test_a_repository_with_another_pointer_has_another_room_at_once(client: Client, repo: Path) -> None:
    """A branch may name another project: nothing that is kept in mind of a folder outlives its pointer."""
    client.call("create_issue", title="Of the first")
    assert "Of the first" in json.dumps(client.call("list_issues"))
    first = (repo / config.POINTER).read_text()
    (repo / config.POINTER).write_text(config.pointer_text(Clock().new_id()))
    assert "Of the first" not in json.dumps(client.call("list_issues"))
    (repo / config.POINTER).write_text(first)
    assert "Of the first" in json.dumps(client.call("list_issues"))


def test_rooms_that_nobody_asks_are_closed(
    client: Client, running: Hosted, given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = host_at_once.quiet.now
    monkeypatch.setattr(host_at_once.quiet, "now", lambda: now() + 3_600_000_000_000)
    done = threading.Event()
    running.host.later(lambda: (running.host.at_once.look(), done.set()))
    assert done.wait(20)
    assert not client.call("list_issues")["isError"]  # by a worker, who leaves it to us again
    given.begin()
    assert not client.call("list_issues")["isError"]
    assert given == []


def test_a_hook_that_asks_for_nothing_takes_no_worker(running: Hosted, repo: Path, given: Given) -> None:
    def hook(event: str, tool: str, **given: Any) -> None:
        said = {"hook_event_name": event, "session_id": "s1", "cwd": str(repo), "tool_name": tool, "tool_input": given}
        answer = running.hook("claude", json.dumps(said).encode(), running.environ)
        assert answer is not None and answer.out == ""

    file = str(repo / "free.txt")
    hook("PreToolUse", "Edit", file_path=file, old_string="a", new_string="b")
    given.begin()
    hook("PreToolUse", "Edit", file_path=file, old_string="a", new_string="b")
    hook("PreToolUse", "Bash", command="ls")
    assert given == []
    hook("PreToolUse", "Edit", file_path=str(repo / "held.txt"), old_string="a", new_string="b")
    assert len(given) == 1


def test_a_hook_that_hangs_up_before_its_answer_is_forgotten(running: Hosted, repo: Path) -> None:
    from clearway.surfaces import faststep

    said = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(repo), "tool_name": "Bash"}
    payload = json.dumps({**said, "tool_input": {"command": "ls"}}).encode()
    for _ in range(3):
        with running.connect() as connection:
            connection.sendall(faststep.frame("claude", payload, {}))
            connection.shutdown(socket.SHUT_RDWR)
    with running.connect() as connection:
        connection.sendall(b'{"v":1,"op":"host_status"}\n')
        assert json.loads(answer_of(connection))["ok"]
