"""`clearway serve` as a server that stands alone: what it answers to, and how it begins and ends."""

from __future__ import annotations

import http.client
import os
import signal
import socket
from pathlib import Path

import pytest
from tests.surfaces.mcp_server.test_mcp_http import Web, command, served

from clearway.surfaces import serving


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


def raw(port: int, head: str) -> int:
    """The status of an answer to a request written by hand."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode() + b"\r\n\r\n")
        line = connection.makefile("rb").readline()
    return int(line.split()[1])


def test_what_is_malformed_too_large_or_not_for_it_is_turned_away_by_status(
    environ: dict[str, str], repo: Path
) -> None:
    """I64."""
    with served(environ, repo, "127.0.0.1:0", "--no-auth") as running:
        for head, status in (
            ("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0", 421),
            ("POST /mcp HTTP/1.1\r\nHost: [::1\r\nContent-Length: 0", 421),
            ("POST /mcp HTTP/1.1\r\nContent-Length: 0", 400),
            (f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nHost: evil.example\r\nContent-Length: 0", 400),
        ):
            assert raw(running.port, head) == status, head
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
        connection.putrequest("POST", "/mcp")
        for name, value in {"Content-Type": "application/json", "Content-Length": str(200 * 1_048_576)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status == 413


def test_it_answers_to_its_names_as_clients_write_them(environ: dict[str, str], repo: Path) -> None:
    """Names have no case, and no client writes the port that its scheme stands for."""
    with served(environ, repo, "127.0.0.1:0", "--no-auth") as running:
        assert raw(running.port, f"GET /healthz HTTP/1.1\r\nHost: LocalHost:{running.port}") == 200
        assert raw(running.port, "GET /healthz HTTP/1.1\r\nHost: localhost") == 403
    assert serving.called({"Box.local"}, 443, "https") == {"box.local", "box.local:443"}
    assert serving.called({"[::1]"}, 443, "http") == {"[::1]:443"}


def test_a_session_that_was_ended_is_over_and_no_other_is(environ: dict[str, str], repo: Path) -> None:
    """I64: clients side by side have sessions of their own; DELETE ends one."""
    with served(environ, repo, "127.0.0.1:0", "--no-auth") as running:
        anna, ben = (Web(running.port).opens() for _ in range(2))
        assert anna.headers["Mcp-Session-Id"] != ben.headers["Mcp-Session-Id"]
        assert anna.request("DELETE").status == 200
        listing = {"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}}
        assert anna.request("POST", listing).status == 404
        assert ben.ask("tools/list")["result"]["tools"]


def test_it_stops_when_it_is_told_to_and_a_busy_port_is_fatal(environ: dict[str, str], repo: Path) -> None:
    """I64."""
    with served(environ, repo, "127.0.0.1:0", "--no-auth") as running:
        status, out, err = command(environ, repo, "serve", "--http", f"127.0.0.1:{running.port}", "--no-auth")
        assert (status, out, err.partition(":")[0]) == (5, "", "STORAGE_CONFIGURATION")
        stream = Web(running.port).opens().request("GET")
        running.child.send_signal(signal.SIGINT)
        assert running.child.wait(timeout=30) == 0, "also while somebody listens"
        stream.close()
