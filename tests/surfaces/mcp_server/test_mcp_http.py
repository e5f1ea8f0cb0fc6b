"""MCP over Streamable HTTP: the host's address, and `clearway serve` in the foreground."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import hosted
from tests.surfaces.mcp_server.talks import HALF, MODERN

from clearway.surfaces.mcp_resources import BOARD

ACCEPTS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "zed", "version": "1"}}


class Web:
    """A client over HTTP. Without a token where none is needed."""

    def __init__(self, port: int, token: str = "", folder: Path | None = None, path: str = "/mcp") -> None:
        self.port = port
        self.path = path
        self.headers = ACCEPTS | ({"Authorization": f"Bearer {token}"} if token else {})
        self.headers |= {"Clearway-Cwd": str(folder)} if folder else {}
        self._identity = 0

    def request(self, method: str, body: Any = None, **more: str) -> http.client.HTTPResponse:
        connection = self.connection()
        headers = self.headers | {name.replace("_", "-"): value for name, value in more.items()}
        connection.request(method, self.path, None if body is None else json.dumps(body).encode(), headers)
        return connection.getresponse()

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, method: str, **params: Any) -> Any:
        """The answer to one request, whatever it is."""
        self._identity += 1
        body = {"jsonrpc": "2.0", "id": self._identity, "method": method, "params": params}
        answer = self.request("POST", body)
        said = answer.read()
        if method == "initialize" and answer.status == 200:
            self.headers |= {"Mcp-Session-Id": answer.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-06-18"}
            self.request("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}).read()
        return json.loads(said)

    def opens(self) -> Web:
        assert self.ask("initialize", **HELLO)["result"]["serverInfo"]["name"] == "clearway"
        return self

    def call(self, tool: str, **given: Any) -> dict[str, Any]:
        result = self.ask("tools/call", name=tool, arguments=given)["result"]
        assert not result["isError"], result
        return result["structuredContent"]


def events(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """What comes over a stream."""
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.read()
    while line := answer.readline():
        if line.startswith(b"data: {"):
            yield json.loads(line.removeprefix(b"data: "))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


@contextlib.contextmanager
def host(environ: dict[str, str]) -> Iterator[tuple[int, str]]:
    with hosted(environ) as running:
        assert running.host.http is not None
        yield running.host.http.port, Path(running.home, "run/http-token").read_text().strip()
        assert not running.said


def test_a_session_over_http_is_one_session_of_the_room_and_hears_of_changes(
    environ: dict[str, str], repo: Path
) -> None:
    with host(environ) as (port, token):
        anna, ben = (Web(port, token, repo).opens() for _ in range(2))
        assert anna.ask("resources/subscribe", uri=BOARD)["result"] == {}
        heard = events(anna.request("GET"))
        ben.call("create_issue", title="One", status="ready")
        assert next(heard)["params"] == {"uri": BOARD}
        claim = anna.call("claim_issue", next=True)
        held = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
        anna.call("save_attempt_note", kind="progress", content="Half.", **held)
        sessions = {anna.call("room")["me"]["session"], anna.call("room")["me"]["session"]}
        assert len(sessions) == 1 and ben.call("room")["me"]["session"] not in sessions
        board = json.loads(ben.ask("resources/read", uri=BOARD)["result"]["contents"][0]["text"])
        assert board["in_progress"][0]["held_by"] == "zed"
        assert anna.request("DELETE").status == 200


def test_a_client_of_the_modern_era_listens_over_http(environ: dict[str, str], repo: Path) -> None:
    envelope = MODERN[0]["params"]["_meta"]
    version = {"Mcp_Protocol_Version": "2026-07-28"}

    def said(method: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
        named = {"Mcp_Name": params["name"]} if "name" in params else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": envelope}}
        return body, {**version, **named, "Mcp_Method": method}

    with host(environ) as (port, token):
        client = Web(port, token, repo)
        body, headers = said("subscriptions/listen", notifications={"resourceSubscriptions": [BOARD]})
        heard = events(client.request("POST", body, **headers))
        assert next(heard)["method"] == "notifications/subscriptions/acknowledged"
        body, headers = said("tools/call", name="create_issue", arguments={"title": "One"})
        made = json.loads(client.request("POST", body, **headers).read())
        assert made["result"]["structuredContent"]["display_id"] == "ISSUE-1"
        assert next(heard)["params"]["uri"] == BOARD
        body, headers = said("tools/call", name="room", arguments={})
        asked = [json.loads(client.request("POST", body, **headers).read()) for _ in range(2)]
        me = [answer["result"]["structuredContent"]["me"] for answer in asked]
        assert me[0] == me[1], "a client without a session is one named holder"


def test_a_client_chooses_its_tools_in_the_address(environ: dict[str, str], repo: Path) -> None:
    def listed(path: str) -> set[str]:
        return {tool["name"] for tool in Web(port, token, repo, path).opens().ask("tools/list")["result"]["tools"]}

    with host(environ) as (port, token):
        assert "get_issue" not in listed("/mcp") and "get_issue" in listed("/mcp?tools=full")
        assert "room" not in listed("/mcp?tools=work")
        refused = Web(port, token, repo, "/mcp?tools=everything").ask("initialize", **HELLO)
        assert refused["code"] == "INVALID_ARGUMENT" and "core, full" in refused["message"]


ODD: list[Any] = [
    {"name": "list_issues", "arguments": []},
    {"name": "list_issues", "arguments": 0},
    {"name": "list_issues", "arguments": None},
    {"name": "list_issues", "arguments": {"x": HALF}},
    {"name": "list_issues", "arguments": {}, "more": 1},
    {"name": "list_issues", "_meta": []},
    {"name": "list_issues", "_meta": {"progressToken": []}},
    {"name": "nothing"},
    {"name": 5},
    {},
]


def test_a_session_that_is_known_is_answered_as_a_new_one(environ: dict[str, str], repo: Path) -> None:
    """What is answered without the SDK is what the SDK would answer."""

    def said(client: Web, params: Any) -> tuple[int, Any]:
        body = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
        answer = client.request("POST", body)
        return answer.status, json.loads(answer.read())

    with host(environ) as (port, token):
        known = Web(port, token, repo).opens()
        known.call("list_issues")
        for params in ODD:
            assert said(known, params) == said(Web(port, token, repo).opens(), params), params


# --- in the foreground ----------------------------------------------------------------------------------------------


class Served:
    """A `clearway serve` that ends with the test."""

    def __init__(self, environ: dict[str, str], folder: Path, *words: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "clearway.surfaces.cli", "serve", "--http", *words],
            env=environ,
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.child.stderr
        self.said = [self.child.stderr.readline()]
        while self.said[-1] and not self.said[-1].startswith("listening on "):
            self.said.append(self.child.stderr.readline())
        self.address = self.said[-1].removeprefix("listening on ").strip()

    @property
    def port(self) -> int:
        return int(self.address.removesuffix("/mcp").rpartition(":")[2])

    def end(self) -> str:
        self.child.send_signal(signal.SIGTERM)
        _, rest = self.child.communicate(timeout=30)
        assert self.child.returncode == 0, rest
        return rest


@contextlib.contextmanager
def served(environ: dict[str, str], folder: Path, *words: str) -> Iterator[Served]:
    running = Served(environ, folder, *words)
    try:
        yield running
        assert "Traceback" not in running.end()
    finally:
        running.child.kill()
        running.child.wait()


def command(environ: dict[str, str], folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "clearway.surfaces.cli", *words],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_tokens_open_the_door_until_they_are_revoked(environ: dict[str, str], repo: Path) -> None:
    status, _, err = command(environ, repo, "serve", "--http", "127.0.0.1:0")
    assert (status, err.partition(":")[0]) == (5, "STORAGE_CONFIGURATION") and "token create" in err
    _, token, _ = command(environ, repo, "token", "create", "laptop")
    _, other, _ = command(environ, repo, "token", "create", "desk")
    assert command(environ, repo, "token", "create", "desk")[0] == 2
    kept = Path(environ["CLEARWAY_HOME"], "http-tokens")
    assert kept.stat().st_mode & 0o777 == 0o600 and token not in kept.read_text()
    with served(environ | {"CLEARWAY_TOKEN": "third"}, repo, "127.0.0.1:0") as running:
        for good in (token, other, "third"):
            assert "result" in Web(running.port, good).ask("initialize", **HELLO)
        for bad in ("", "wrong", token + "x"):
            answer = Web(running.port, bad).request("POST", {})
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "clearway token create" in json.loads(answer.read())["message"], "this server's, not the host's"
        session = Web(running.port, other).opens()
        assert command(environ, repo, "token", "revoke", "desk")[0] == 0
        assert session.request("POST", {}).status == 401
        assert "result" in Web(running.port, token).ask("initialize", **HELLO)
    listed = json.loads(command(environ, repo, "--json", "token", "list")[1])
    assert [each["name"] for each in listed["items"]] == ["laptop"]
    assert command(environ, repo, "token", "revoke", "desk")[0] == 2


def test_a_token_is_good_for_what_it_was_made_for_and_as_long(
    environ: dict[str, str], repo: Path, tmp_path: Path
) -> None:
    """C51: one that only looks, an agent's, a person's; also in a session that another token has opened."""
    now = tmp_path / "clock"
    now.write_text("0 0")
    environ = environ | {"CLEARWAY_TEST_CLOCK": str(now)}
    made = {
        scope: command(environ, repo, "token", "create", f"{scope}-1", "--scope", scope, "--expires", lasts)[1]
        for scope, lasts in (("read", "2h"), ("agent", "2h"), ("human", "1h"))
    }
    for wrong in (
        ["create", "x", "--scope", "root"],
        ["create", "x", "--expires", "soon"],
        ["list", "--expires", "1h"],
    ):
        assert command(environ, repo, "token", *wrong)[0] == 2
    with served(environ, repo, "127.0.0.1:0") as running:

        def forces(scope: str, **more: str) -> int:
            body = {"paths": [str(repo / "held.txt")], "force": True}
            return Web(running.port, made[scope], path="/ask/release_paths").request("POST", body, **more).status

        agent = Web(running.port, made["agent"], repo).opens()
        assert "issue_id" in agent.call("create_issue", title="Ship")
        agent.call("claim_paths", paths=["held.txt"])
        for reads in (Web(running.port, made["read"], repo).opens(), agent):
            reads.headers["Authorization"] = f"Bearer {made['read']}"
            assert reads.call("list_issues")["items"][0]["title"] == "Ship"
            refused = reads.ask("tools/call", name="create_issue", arguments={"title": "Sink"})["result"]
            assert refused["isError"] and "FORBIDDEN: This token only looks" in refused["content"][0]["text"]
            assert reads.call("room")["me"]["agent"] == "http"
        told = forces("read"), forces("agent"), forces("human", **{"Clearway-Agent": "ben"}), forces("human")
        assert told == (403, 403, 403, 200)
        now.write_text(f"{5_400_000} 0")
        assert forces("human") == 401 and "items" in agent.call("list_issues")
    listed = json.loads(command(environ, repo, "--json", "token", "list")[1])["items"]
    assert {each["scope"] for each in listed} == {"read", "agent", "human"} and all("until" in each for each in listed)


def test_it_answers_beside_a_host_for_the_folder_it_was_started_in(environ: dict[str, str], repo: Path) -> None:
    with hosted(environ), served(environ, repo, "127.0.0.1:0", "--no-auth", "--tools", "full") as running:
        assert running.address == f"http://127.0.0.1:{running.port}/mcp"
        client = Web(running.port).opens()
        assert client.call("create_issue", title="One")["display_id"] == "ISSUE-1"
        assert client.call("get_issue", issue_id="ISSUE-1")["title"] == "One"
        refused = client.ask("tools/call", name="path_owner", arguments={"path": "free.txt"})["result"]
        assert refused["structuredContent"]["code"] == "PATH_INVALID", "a relative path could be anybody's"
        assert client.call("path_owner", path=str(repo / "free.txt"))["free"]
        heard = events(client.request("GET"))
        client.ask("resources/subscribe", uri=BOARD)
        client.call("create_issue", title="Two")
        assert next(heard)["params"] == {"uri": BOARD}


def test_only_its_own_name_and_its_own_pages_are_answered(environ: dict[str, str], repo: Path) -> None:
    with served(environ, repo, "127.0.0.1:0", "--no-auth") as running:
        client = Web(running.port)
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        assert client.request("POST", body, Host=f"evil.example:{running.port}").status == 421
        assert client.request("POST", body, Origin="http://evil.example").status == 403
        assert client.request("POST", body, Origin=f"http://localhost:{running.port}").status == 200
        for path, status in (
            ("/healthz", 200),
            ("/", 404),
            ("/hook/claude", 404),
            ("/session", 404),
            ("/metrics", 404),
        ):
            client.path = path
            assert client.request("GET").status == status, path


def test_tls_is_spoken_where_there_is_a_certificate(environ: dict[str, str], repo: Path, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1".split()
    try:
        subprocess.run(["openssl", *made, "-keyout", key, "-out", cert], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl here that could make a certificate")
    files = ("--tls-cert", str(cert), "--tls-key", str(key))
    with served(environ, repo, "127.0.0.1:0", "--no-auth", *files) as running:
        assert running.address.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(cert))
        connection = http.client.HTTPSConnection("127.0.0.1", running.port, timeout=30, context=context)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()
    status, _, err = command(environ, repo, "serve", "--http", "127.0.0.1:0", *files[:3], str(cert))
    assert status == 5 and err.count("\n") == 0 and "certificate" in err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], "INVALID_ARGUMENT"),
        (["--http", "127.0.0.1"], "INVALID_ARGUMENT"),
        (["--http", "127.0.0.1:http"], "INVALID_ARGUMENT"),
        (["--http", "0.0.0.0:0", "--no-auth"], "FORBIDDEN"),
        (["--http", "127.0.0.1:0", "--no-auth", "--tools", "everything"], "INVALID_ARGUMENT"),
        (["--http", "127.0.0.1:0", "--no-auth", "--tls-cert", "x"], "INVALID_ARGUMENT"),
        (["--http", "192.0.2.1:0", "--no-auth"], "FORBIDDEN"),
        (["--http", "192.0.2.1:0"], "FORBIDDEN"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    environ: dict[str, str], repo: Path, words: list[str], code: str
) -> None:
    _, out, err = command(environ, repo, "serve", *words)
    assert (out, err.partition(":")[0], err.count("\n")) == ("", code, 0)
