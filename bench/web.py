"""The web room: what a first view weighs, and how soon 50 people see an event while one of them takes nothing."""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
import threading
import time
from pathlib import Path
from typing import Any

from bench.figures import Figure, at_most
from bench.host import host
from bench.world import World, world
from clearway.surfaces import web_pages

VIEWERS = 50
EVENTS = 200
PAUSE_SECONDS = 0.03
IDLE_SECONDS = 5.0
ISSUES = 120
# What a browser loads before anything is chosen; the other views come when they are first looked at.
FIRST = (
    *("vdom", "wire", "store", "place", "words", "marks", "shell", "needs", "feed", "deeds", "board", "replay", "keys"),
    *("aloud", "bridge", "start"),
)
DATA = {
    "get_board": {"cards": 60},
    "room": {},
    "get_holdings": {},
    "list_tasks": {"limit": 100},
    "overdue": {},
    "get_changes": {"since_event_id": 0, "limit": 200},
    "stats": {"days": 1},
}


def figures(rounds: int) -> list[Figure]:
    with world(hosted=True) as here, host(here) as running:
        room = Room(here, running)
        room.fill()
        seen = _seen(room)
        return [*_weights(room), *seen]


class Room:
    """One room, asked over HTTP by whoever has read the token."""

    def __init__(self, here: World, running: dict[str, Any]) -> None:
        self.here = here
        self.pid: int = running["pid"]
        run = Path(here.environ["CLEARWAY_HOME"], "run")
        self.address = (run / "http-address").read_text().strip()
        self.token = (run / "http-token").read_text().strip()
        self.port = int(self.address.rpartition(":")[2])
        self._line = http.client.HTTPConnection("127.0.0.1", self.port)

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.token}",
            "Clearway-Cwd": str(self.here.repository),
            "Clearway-Agent": "a",
        }

    def ask(self, operation: str, **given: Any) -> bytes:
        self._line.request("POST", f"/ask/{operation}", json.dumps(given), self.headers)
        answer = self._line.getresponse()
        said = answer.read()
        assert answer.status == 200, said
        return said

    def hang_up(self) -> None:
        """What was idle for long, the host has hung up already."""
        self._line.close()

    def fill(self) -> None:
        for start in range(0, ISSUES, 40):
            titles = [f"What is to be done, number {number}" for number in range(start, start + 40)]
            issues = [{"ref": f"n{n}", "title": title, "status": "ready"} for n, title in enumerate(titles)]
            self.ask("apply_issue_plan", issues=issues, idempotency_key=f"k{start}")

    def listen(self) -> socket.socket:
        """A stream of events whose head has been read."""
        stream = socket.create_connection(("127.0.0.1", self.port))
        lines = [f"{name}: {value}\r\n" for name, value in self.headers.items()]
        stream.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{''.join(lines)}\r\n".encode())
        got = b""
        while b"\r\n\r\n" not in got:
            got += stream.recv(4_096)
        stream.setblocking(False)
        return stream


def _weights(room: Room) -> list[Figure]:
    names = ["/", "/web/style.css", "/web/icon.svg", *(f"/web/js/{name}.mjs" for name in FIRST)]
    names += [f"/web/vendor/{name}" for name in ("preact-11.2.0.mjs", "hooks-11.2.0.mjs", "htm-3.1.1.mjs")]
    files = 0
    for name in names:
        page = web_pages.page(name, "", "gzip")
        assert page is not None, name
        files += len(page[2])
    data = sum(len(room.ask(operation, **given)) for operation, given in DATA.items())
    return [
        at_most("web room: files before first paint, as sent", files / 1_024, 100, "KiB"),
        at_most(f"web room: first view of {ISSUES} issues", (files + data) / 1_024, 150, "KiB"),
    ]


def _seen(room: Room) -> list[Figure]:
    viewers = [room.listen() for _ in range(VIEWERS)]
    hostile = room.listen()  # asks for events and reads none of them
    hostile.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    asked = _questions(room)
    began = _cpu_seconds(room.pid)
    time.sleep(IDLE_SECONDS)
    idle = (_cpu_seconds(room.pid) - began) / IDLE_SECONDS
    questions = _questions(room) - asked
    room.hang_up()
    told: dict[int, float] = {}
    heard: list[tuple[int, float]] = []
    watching = threading.Thread(target=_watch, args=(viewers, heard, EVENTS))
    watching.start()
    for number in range(EVENTS):
        reply = json.loads(room.ask("create_issue", title=f"seen {number}"))
        told[int(reply["display_id"].rpartition("-")[2])] = time.perf_counter()
        time.sleep(PAUSE_SECONDS)
    watching.join(30)
    for stream in (*viewers, hostile):
        stream.close()
    late = sorted(max(0.0, 1_000 * (at - told[issue])) for issue, at in heard if issue in told)
    assert len(late) == VIEWERS * EVENTS, f"{VIEWERS * EVENTS - len(late)} events were not seen"
    half = f"half within {_percentile(late, 0.5):.1f} ms; one more viewer takes nothing"
    return [
        at_most(f"web room: event to {VIEWERS} viewers, p99", _percentile(late, 0.99), 20, "ms", note=half),
        Figure(
            f"web room: {VIEWERS} viewers of an idle room",
            f"{questions} questions",
            "0 questions",
            holds=questions == 0,
            note=f"in {IDLE_SECONDS:g} s; {100 * idle:.2f} % CPU",
        ),
    ]


def _watch(viewers: list[socket.socket], heard: list[tuple[int, float]], events: int) -> None:
    """Note when each viewer has each issue, by its number, until all have all."""
    rest = dict.fromkeys(viewers, b"")
    missing = len(viewers) * events
    until = time.perf_counter() + 60
    while missing > 0 and time.perf_counter() < until:
        for viewer in select.select(viewers, [], [], 1)[0]:
            lines = (rest[viewer] + viewer.recv(262_144)).split(b"\n")
            now = time.perf_counter()
            rest[viewer] = lines.pop()
            for line in lines:
                if line.startswith(b"data: ") and b'"issue_created"' in line:
                    heard.append((json.loads(line[6:])["data"]["number"], now))
                    missing -= 1


def _percentile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _questions(room: Room) -> int:
    """How many operations the host has answered over HTTP."""
    line = http.client.HTTPConnection("127.0.0.1", room.port)
    line.request("GET", "/metrics", headers=room.headers)
    said = line.getresponse().read().decode()
    line.close()
    found = [row for row in said.splitlines() if row.startswith("clearway_operations_total{")]
    return int(sum(float(row.rpartition(" ")[2]) for row in found))


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
