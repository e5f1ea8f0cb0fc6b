"""`clearway mcp` beside a host: the same words as without one, and a host that dies in the middle of them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import hosted

import clearway
from clearway.surfaces import host_start, host_wire, relay

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "zed", "version": "1"}},
}
READY: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(identity: int | str, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}


def reading(identity: int | str, uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": "resources/read", "params": {"uri": uri}}


def subscribing(identity: int | str, uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": "resources/subscribe", "params": {"uri": uri}}


class Client:
    """A client of a real `clearway mcp`."""

    def __init__(self, environ: dict[str, str], folder: Path) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "clearway.surfaces.cli", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            cwd=folder,
        )

    def say(self, *messages: dict[str, Any] | str) -> None:
        assert self.child.stdin
        for message in messages:
            text = message if isinstance(message, str) else json.dumps(message)
            self.child.stdin.write(text.encode() + b"\n")
        self.child.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.child.stdout
        return json.loads(self.child.stdout.readline())

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        self.say(message)
        answer = self.hear()
        assert answer["id"] == message["id"]
        return answer

    def opens(self) -> Client:
        assert "result" in self.ask(HELLO)
        self.say(READY)
        return self

    def end(self) -> list[dict[str, Any]]:
        """It has nothing more to say; what it still hears."""
        assert self.child.stdin and self.child.stdout and self.child.stderr
        self.child.stdin.close()
        heard = [json.loads(line) for line in self.child.stdout]
        assert self.child.wait(20) == 0, self.child.stderr.read()
        self.child.stdout.close()
        self.child.stderr.close()
        return heard


class Machine:
    """A home with real programs, each of which ends with the test."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
        self.clients: list[Client] = []

    @property
    def home(self) -> str:
        return self.environ["CLEARWAY_HOME"]

    def client(self, **environ: str) -> Client:
        self.clients.append(Client(self.environ | environ, self.repo))
        return self.clients[-1]

    def kill_host(self) -> int:
        running = host_start.status(self.home)
        assert running is not None
        os.kill(running["pid"], signal.SIGKILL)
        host_start.wait_until_gone(self.home, running["pid"])
        return running["pid"]


@pytest.fixture
def machine(tmp_path: Path, repo: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, repo)
    yield made
    for client in made.clients:
        client.child.kill()
        client.child.wait()
        for end in (client.child.stdin, client.child.stdout, client.child.stderr):
            if end is not None:
                end.close()
    host_start.stop(made.home)


# --- the same words ---------------------------------------------------------------------------------------------------

WORDS: list[dict[str, Any] | str] = [
    HELLO,
    READY,
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    call("three", "create_issue", title="One", description="é " * 300),
    call(4, "list_issues"),
    call(5, "get_issue", issue_id="ISSUE-9"),
    call(6, "no_such_tool"),
    {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list_issues", "arguments": None}},
    {
        "jsonrpc": "2.0",
        "id": 8,
        "method": "tools/call",
        "params": {"name": "list_issues", "_meta": {"progressToken": 1}},
    },
    reading(9, "clearway://guide/room"),
    {"jsonrpc": "2.0", "id": 10, "method": "ping"},
    {"jsonrpc": "2.0", "id": 20, "method": "prompts/list"},
    {"jsonrpc": "2.0", "id": 21, "method": "resources/templates/list"},
    {"jsonrpc": "2.0", "id": 22, "method": "prompts/get", "params": {"name": "stand-up"}},
    reading(23, "clearway://board"),
    reading(24, "clearway://inbox"),
    reading(25, "clearway://issue/ISSUE-1"),
    reading(26, "clearway://issue/ISSUE-9"),
    {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
    "no JSON at all",
    '{"jsonrpc":"2.0","id":true,"method":"ping"}',
]
RARE: list[dict[str, Any] | str] = [
    *WORDS,
    reading(11, "clearway://guide/nowhere"),
    {"jsonrpc": "2.0", "id": 12, "method": "prompts/get", "params": {"name": "nothing"}},
    call(13, "list_issues", statuses=["done"]),
]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "zed", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
NEW_STYLE: list[dict[str, Any] | str] = [
    {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": MODERN}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": MODERN}},
    {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "list_issues", "arguments": {}, "_meta": MODERN},
    },
]


@pytest.mark.parametrize("said", [WORDS, RARE, NEW_STYLE], ids=["plain", "rare", "modern"])
def test_a_client_hears_the_same_with_and_without_a_host(
    said: list[dict[str, Any] | str], tmp_path: Path, repo: Path
) -> None:
    heard: list[list[str]] = []
    due = sum(1 for each in said if isinstance(each, str) or "id" in each)
    for place in ("with", "without"):
        (tmp_path / place).mkdir()
        environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / place / "state"), "PATH": os.environ["PATH"]}
        if place == "with":
            with hosted(environ) as running:
                client = Client(environ, repo)
                client.say(*said)
                answers = [client.hear() for _ in range(due)] + client.end()
                assert not running.said
        else:
            client = Client(environ | {"CLEARWAY_HOST": "off"}, repo)
            client.say(*said)
            answers = [client.hear() for _ in range(due)] + client.end()
        heard.append(sorted(_without_ids(answer) for answer in answers))
    assert heard[0] == heard[1]
    assert len(heard[0]) == due >= 3


def _without_ids(answer: dict[str, Any]) -> str:
    """An answer without what is new each time."""
    import re

    return re.sub(r"[0-9A-HJKMNP-TV-Z]{26}|20\d\d-\d\d-\d\dT[\d:]+Z", "*", json.dumps(answer, sort_keys=True))


# --- a host comes by itself, and goes ---------------------------------------------------------------------------------


def test_a_client_that_connects_starts_a_host_which_is_nobodys_child(machine: Machine) -> None:
    machine.environ |= {"SECRET_OF_A_CLIENT": "hidden", "LANG": "C.UTF-8"}
    clients = [machine.client().opens()]
    running = host_start.status(machine.home)
    if running is not None and not running["clients"]:  # the machine was so busy that the first went on without it
        clients.append(machine.client().opens())
        running = host_start.status(machine.home)
    assert running is not None and running["clients"] == 1
    pid = running["pid"]
    assert os.getsid(pid) not in (os.getsid(0), pid) or os.getsid(pid) != os.getsid(0)
    if sys.platform == "linux":
        facts = Path(f"/proc/{pid}")
        assert os.readlink(facts / "cwd") == "/"
        assert b"SECRET_OF_A_CLIENT" not in (facts / "environ").read_bytes()
        assert f"CLEARWAY_HOME={machine.home}".encode() in (facts / "environ").read_bytes()
        open_files = {os.readlink(file) for file in (facts / "fd").iterdir() if file.exists()}
        assert not [name for name in open_files if name.startswith("pipe:")]
    assert [client.end() for client in clients] == [[]] * len(clients)
    assert host_start.stop(machine.home)
    assert host_start.status(machine.home) is None


def test_without_a_host_the_client_is_served_all_the_same(machine: Machine) -> None:
    client = machine.client(CLEARWAY_HOST="off").opens()
    assert "result" in client.ask(call(2, "list_issues"))
    assert client.end() == []
    assert not Path(machine.home, "run/host.sock").exists()


def test_no_host_is_started_where_nothing_can_be_written(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's sandbox may be read-only; a host that lived on in it would answer for others."""
    Path(machine.home).mkdir()
    Path(machine.home, "run").write_text("no folder")
    client = machine.client().opens()
    assert client.end() == []
    assert not os.path.exists(host_wire.lock_file(machine.home))
    os.unlink(Path(machine.home, "run"))


@pytest.mark.parametrize("moment", ["opened", "between calls"])
def test_a_host_that_was_killed_between_two_calls_is_not_missed(machine: Machine, moment: str) -> None:
    client = machine.client().opens()
    if moment == "between calls":
        assert "result" in client.ask(call(2, "create_issue", title="One"))
    killed = machine.kill_host()
    made = client.ask(call(3, "create_issue", title="Two"))
    assert not made["result"]["isError"]
    running = host_start.status(machine.home)
    assert running is not None and running["pid"] != killed
    assert client.end() == []


def test_two_clients_outlive_their_host_and_share_the_next(machine: Machine) -> None:
    clients = [machine.client().opens(), machine.client().opens()]
    machine.kill_host()
    for client in clients:
        assert "result" in client.ask(call(2, "list_issues"))
    running = host_start.status(machine.home)
    assert running is not None and running["clients"] == 2


def test_a_host_that_leaves_answers_first_and_the_next_goes_on(machine: Machine) -> None:
    client = machine.client().opens()
    for place in range(5):
        client.say(call(10 + place, "create_issue", title=f"Issue {place}"))
    assert host_start.stop(machine.home)
    heard = [client.hear() for _ in range(5)]
    assert [answer["id"] for answer in heard] == [10, 11, 12, 13, 14]
    assert not [answer for answer in heard if answer["result"]["isError"]]
    listed = client.ask(call(20, "list_issues"))
    assert len(listed["result"]["structuredContent"]["items"]) == 5


# --- a host that dies in the middle of a call -------------------------------------------------------------------------


class Dying:
    """Greets like a host, hears one request, and is gone."""

    def __init__(self, home: str, heard_before: int = 3) -> None:
        self.heard: list[dict[str, Any]] = []
        os.makedirs(os.path.join(home, "run"), exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(home, "run", "host.sock"))
        self._listener.listen()
        self._address = os.path.join(home, "run", "host.sock")
        self._count = heard_before
        self.thread = threading.Thread(target=self._live)
        self.thread.start()

    def _live(self) -> None:
        connection, _ = self._listener.accept()
        lines = connection.makefile("rwb")
        json.loads(lines.readline())
        reads = ["list_issues", "get_issue"]
        greeting = {"v": 1, "ok": True, "result": {"version": relay.__version__, "pid": 1, "reads": reads}}
        lines.write(json.dumps(greeting).encode() + b"\n")
        lines.flush()
        while len(self.heard) < self._count:
            self.heard.append(json.loads(lines.readline()))
            if self.heard[-1].get("method") == "initialize":
                lines.write(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
                lines.flush()
        os.unlink(self._address)
        self._listener.close()
        lines.close()
        connection.close()


@pytest.mark.parametrize(
    ("asked", "again"),
    [
        (call(2, "create_issue", title="One"), False),
        (call(2, "create_issue", title="One", idempotency_key="k1"), True),
        (call(2, "list_issues"), True),
        ({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, True),
    ],
)
def test_only_what_does_no_harm_twice_is_asked_again(machine: Machine, asked: dict[str, Any], again: bool) -> None:
    dying = Dying(machine.home)
    client = machine.client().opens()
    answer = client.ask(asked)
    dying.thread.join(20)
    assert dying.heard[-1] == asked
    lost = answer["result"].get("isError", False)
    assert lost is not again, answer
    if lost:
        assert "may have been done" in answer["result"]["content"][0]["text"]
    listed = client.ask(call(3, "list_issues"))  # the conversation goes on
    assert len(listed["result"]["structuredContent"]["items"]) == (again and "idempotency_key" in json.dumps(asked))
    assert client.end() == []


def test_a_client_whose_host_cannot_be_replaced_is_served_in_its_own_process(machine: Machine) -> None:
    dying = Dying(machine.home, heard_before=2)
    client = machine.client().opens()
    dying.thread.join(20)
    Path(machine.home, "run").rmdir()
    Path(machine.home, "run").write_text("no folder")
    client.say(call(2, "list_issues"))
    answer = client.hear()
    assert answer["id"] == 2
    Path(machine.home, "run").unlink()
    assert client.end() == []
    assert host_start.status(machine.home) is None


def test_a_host_of_another_version_is_done_without(machine: Machine) -> None:
    """Old client, new host: its frames are not understood."""

    class Newer(Dying):
        def _live(self) -> None:
            connection, _ = self._listener.accept()
            connection.recv(65_536)
            connection.sendall(b'{"v":2,"ok":true,"result":{}}\n')
            connection.close()

    newer = Newer(machine.home)
    client = machine.client().opens()
    assert "result" in client.ask(call(2, "list_issues"))
    newer.thread.join(20)
    assert client.end() == []


@pytest.mark.parametrize("says_who_first", [True, False])
def test_a_line_without_measure_is_refused_and_the_next_is_heard(machine: Machine, says_who_first: bool) -> None:
    """Issue 5, "Bad input and faults": oversized lines."""
    host_start.start(machine.home, machine.environ)  # else a busy machine lets the client go on without it
    client = machine.client().opens()
    long = call(2, "create_issue", title="One", description="x" * 9 * 1_048_576)
    who = {"jsonrpc": "2.0", "id": 2}
    what = {name: long[name] for name in ("method", "params")}
    client.say(json.dumps(who | what if says_who_first else what | who, separators=(",", ":")))
    heard = client.hear()
    assert (heard["id"], heard["error"]["code"]) == (2, -32600)
    assert client.ask(call(3, "list_issues"))["result"]["structuredContent"]["items"] == []
    assert client.end() == []


# --- when it leaves ---------------------------------------------------------------------------------------------------


def test_what_was_asked_before_the_end_is_answered(machine: Machine) -> None:
    client = machine.client()
    client.say(HELLO, READY, call(2, "create_issue", title="One"), call(3, "list_issues"))
    assert [answer["id"] for answer in client.end()] == [1, 2, 3]


def test_a_relay_ends_with_its_parent(machine: Machine) -> None:
    code = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-m', 'clearway.surfaces.cli', 'mcp'], "
        "stdin=subprocess.PIPE); print(child.pid, flush=True); sys.stdin.read(1)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        env=machine.environ,
        cwd=machine.repo,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout and parent.stdin
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    parent.stdin.close()
    waiting = threading.Event()
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists() or b"Z" in Path(f"/proc/{pid}/stat").read_bytes().split()[2:3]:
            break
        waiting.wait(0.05)
    else:
        pytest.fail("the relay outlived its parent")


# --- what a person does with it ---------------------------------------------------------------------------------------


def test_a_person_starts_shows_and_stops_the_host(machine: Machine) -> None:
    def clearway(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "clearway.surfaces.cli", *words]
        done = subprocess.run(
            command, env=machine.environ, cwd=machine.repo, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    assert clearway("host", "status") == (1, "No host is running; everything works without it.\n")
    status, said = clearway("--json", "host", "start")
    assert status == 0 and json.loads(said)["running"]
    pid = json.loads(said)["pid"]
    assert json.loads(clearway("--json", "host", "start")[1])["pid"] == pid
    status, said = clearway("host", "run")
    assert status == 5 and said.startswith("STORAGE_BUSY: There is a host")
    assert clearway("host", "stop") == (0, "The host has left.\n")
    assert clearway("host", "stop") == (0, "There was no host.\n")
    clearway("host", "start")
    assert clearway("uninstall", "--write")[0] == 0
    assert host_start.status(machine.home) is None
    machine.environ["CLEARWAY_HOST"] = "off"
    assert clearway("host", "start")[0] == 5


def test_a_newer_client_brings_a_newer_host_and_nobody_loses_an_answer(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old host, new client; another client is in the middle of its work."""
    with hosted(machine.environ) as old:
        first = machine.client().opens()
        assert "result" in first.ask(call(2, "create_issue", title="One"))
        monkeypatch.setattr(clearway, "__version__", "0.0.1")
        second = machine.client().opens()
        old.thread.join(20)
        assert old.host.leaving == "a newer version takes its place"
        monkeypatch.undo()
        running = host_start.status(machine.home)
        assert running is not None and running["pid"] != os.getpid()
        for client in (first, second):
            listed = client.ask(call(3, "list_issues"))
            assert len(listed["result"]["structuredContent"]["items"]) == 1
        assert first.end() == second.end() == []


def test_an_older_client_leaves_a_newer_host_in_its_place(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clearway, "__version__", "999.0")
    with hosted(machine.environ) as new:
        client = machine.client().opens()
        assert "result" in client.ask(call(2, "list_issues"))
        assert not new.host.leaving
        running = host_start.status(machine.home)
        assert running is not None and (running["clients"], running["version"]) == (1, "999.0")
        assert client.end() == []


def test_of_two_processes_that_start_at_once_one_is_the_host(machine: Machine) -> None:
    """Issue 5, "Bad input and faults": two hosts started at once, a hundred times (CLEARWAY_TEST_LONG; else 5)."""
    command = [sys.executable, "-m", "clearway.surfaces.cli", "host", "run"]
    for _ in range(100 if os.environ.get("CLEARWAY_TEST_LONG") else 5):
        both = [
            subprocess.Popen(command, env=machine.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        while (running := host_start.status(machine.home)) is None:
            threading.Event().wait(0.02)
        losers = [each for each in both if each.pid != running["pid"]]
        assert len(losers) == 1
        assert b"There is a host" in losers[0].communicate(timeout=30)[1]
        assert losers[0].returncode != 0
        assert host_start.stop(machine.home)
        (winner,) = [each for each in both if each.pid == running["pid"]]
        winner.communicate(timeout=30)
        assert winner.returncode == 0


def test_of_many_that_are_started_at_once_one_stays(machine: Machine) -> None:
    clients = [machine.client() for _ in range(6)]
    for client in clients:
        client.opens()
    running = host_start.status(machine.home)
    assert running is not None and running["clients"] == 6
    assert Path(host_wire.log_file(machine.home)).read_text().count(", version ") == 1
    assert all(client.end() == [] for client in clients)
