"""Whoever else is at the room while a person works in it: fifty who only watch, and one who means it ill."""

from __future__ import annotations

import contextlib
import http.client
import json
import selectors
import socket
import threading
from collections.abc import Iterator
from typing import Any

from tests.surfaces.hosted import Hosted
from tests.web.busy import Room
from tests.web.test_door import Browser

VIEWERS = 50


class Watchers:
    """Those who only watch: each a stream of its own, all of them read as what they say comes in."""

    def __init__(self, browser: Browser, count: int = VIEWERS) -> None:
        self._came = threading.Condition()
        self._heard: dict[socket.socket, list[int]] = {}
        self._selector = selectors.DefaultSelector()
        for _ in range(count):
            stream = stream_of(browser)
            stream.setblocking(False)
            self._heard[stream] = []
            self._selector.register(stream, selectors.EVENT_READ)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        rest = dict.fromkeys(self._heard, b"")
        while not self._over.is_set():
            for found, _ in self._selector.select(0.1):
                stream: Any = found.fileobj
                got = stream.recv(262_144)
                if not got:
                    self._selector.unregister(stream)
                    continue
                lines = (rest[stream] + got).split(b"\n")
                rest[stream] = lines.pop()
                ids = [int(line[4:]) for line in lines if line.startswith(b"id: ")]
                with self._came:
                    self._heard[stream] += ids
                    self._came.notify_all()

    def all_have(self, wanted: list[int]) -> bool:
        """Whether every one of them has heard just these events, in this order, before long."""
        with self._came:
            self._came.wait_for(lambda: all(ids[-1:] == wanted[-1:] for ids in self._heard.values()), 20)
            return all(ids == wanted for ids in self._heard.values())

    def leave(self) -> None:
        self._over.set()
        self._thread.join()
        for stream in self._heard:
            stream.close()


class Intruder:
    """One who runs against the door all the while: each way in turn, and what came back of it."""

    def __init__(self, browser: Browser) -> None:
        self._knows = browser
        self.tried: dict[str, set[int]] = {}
        self.got = b""
        self._streams = [stream_of(browser, takes=1), socket.create_connection(("127.0.0.1", browser.door.port))]
        self._streams[1].sendall(b"POST /ask/create_issue HTTP/1.1\r\nHost: 127")  # and never says the rest
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            for name, way in self._ways().items():
                self._try(name, **way)
            if self._over.wait(0.05):
                return

    def _ways(self) -> dict[str, dict[str, Any]]:
        knows = self._knows
        whole = {"Cookie": knows.cookie, "Clearway-Page": knows.key, "Origin": knows.own}
        forged = f"{knows.cookie.partition('=')[0]}={'A' * 43}"
        return {
            "another host": {"headers": whole | {"Host": "evil.example"}},
            "another page": {"headers": whole | {"Origin": "http://evil.example"}},
            "a page of no origin": {"headers": whole | {"Origin": "null"}},
            "no cookie": {"headers": whole | {"Cookie": ""}},
            "a forged cookie": {"headers": whole | {"Cookie": forged}},
            "a forged key": {"headers": whole | {"Clearway-Page": "A" * 43}},
            "no key": {"headers": whole | {"Clearway-Page": ""}},
            "events without a key": {"headers": whole | {"Clearway-Page": ""}, "path": "/events", "method": "GET"},
            "rooms from elsewhere": {"headers": whole | {"Host": "evil.example"}, "path": "/rooms", "method": "GET"},
            "a guessed ticket": {"headers": {"Origin": knows.own}, "path": "/session", "body": b'{"ticket":"guess"}'},
            "a huge request": {"headers": {}, "body": b" " * 3_000_000},
            "a huge header": {"headers": {"Cookie": "x" * 300_000}},
            "another file": {"headers": {}, "path": "/web/../web_door.py", "method": "GET"},
        }

    def _try(
        self, name: str, headers: dict[str, str], path: str = "/ask/create_issue", method: str = "POST", **more: bytes
    ) -> None:
        body = more.get("body", b'{"title":"INTRUDER"}')
        connection = http.client.HTTPConnection("127.0.0.1", self._knows.door.port, timeout=20)
        named = {each: value for each, value in (headers | {"Clearway-Room": self._knows.project}).items() if value}
        status = 0  # it was hung up on
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request(method, path, body if method == "POST" else None, named)
            answer = connection.getresponse()
            status = answer.status
            self.got += answer.read(4_096)
        connection.close()
        self.tried.setdefault(name, set()).add(status)

    def leave(self) -> None:
        self._over.set()
        self._thread.join()
        for stream in self._streams:
            stream.close()


def stream_of(browser: Browser, takes: int = 0) -> socket.socket:
    """A stream of events whose head has been read. takes: no more than about this many bytes at a time."""
    stream = socket.socket()
    if takes:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes)
    stream.connect(("127.0.0.1", browser.door.port))
    named = {
        "Host": browser.own.removeprefix("http://"),
        "Cookie": browser.cookie,
        "Clearway-Page": browser.key,
        "Clearway-Room": browser.project,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    stream.sendall(f"GET /events HTTP/1.1\r\n{lines}\r\n".encode())
    got = b""
    while b"\r\n\r\n" not in got:
        part = stream.recv(1 if takes else 4_096)
        assert part, got
        got += part
    assert got.startswith(b"HTTP/1.1 200 "), got
    return stream


@contextlib.contextmanager
def crowd(host: Hosted, room: Room) -> Iterator[Intruder]:
    """All of them, for as long as a story is told. At its end those who watch have heard all of it, and the intruder
    has got nothing and done nothing."""
    browser = Browser(host, room)
    assert browser.log_in() == 200
    before = room.ask("get_changes", "human", limit=1)["latest_event_id"]
    watchers, intruder = Watchers(browser), Intruder(browser)
    try:
        yield intruder
        told = _since(room, before)
        assert told and watchers.all_have([event["id"] for event in told])
    finally:
        intruder.leave()
        watchers.leave()
    assert all(statuses <= {0, 400, 401, 403, 404, 413, 429, 431} for statuses in intruder.tried.values()), (
        intruder.tried
    )
    assert len(intruder.tried) == 13 and not intruder.tried["a guessed ticket"] - {401, 429}
    words = [event["data"]["title"] for event in told if event["type"] == "issue_created"]
    assert not [word for word in words if word.encode() in intruder.got]
    assert "INTRUDER" not in json.dumps(_since(room, 0))


def _since(room: Room, event: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        reply = room.ask("get_changes", "human", since_event_id=event, limit=200)
        found += reply["events"]
        event = reply["next_event_id"]
        if not reply["has_more"]:
            return found
