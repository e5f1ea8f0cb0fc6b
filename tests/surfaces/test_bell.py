"""Waiting with a host that says when a room has changed: nothing is missed, whatever becomes of the host."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted, answer_of, hosted

from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.db import Row
from clearway.rooms import Rooms
from clearway.surfaces import host_watch, waking
from clearway.surfaces.bell import Bell
from clearway.surfaces.waiting import until_free


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": "/usr/bin:/bin"}


@pytest.fixture
def running(environ: dict[str, str]) -> Iterator[Hosted]:
    with hosted(environ) as made:
        yield made
        assert until(lambda: made.host.watch.count == 0)
        assert not [said for said in made.said if "defect" in said]


class Desk:
    """Two agents in one room, each with rooms of its own."""

    def __init__(self, environ: dict[str, str], repo: Path) -> None:
        self.repo = str(repo)
        self.environ = environ
        self.rooms = Rooms(Settings(environ))
        self.project = self.rooms.of_folder(self.repo).project
        self.ask("beta", "room", status="here")

    def ask(self, agent: str, operation: str, **given: Any) -> dict[str, Any]:
        caller = Caller(agent, f"{agent}-1", cwd=self.repo, host=self.rooms.liveness.host)
        return self.rooms.ask(OPERATIONS[operation], given, caller)

    def send(self, text: str) -> None:
        self.ask("alpha", "send_message", to="beta", text=text)


@pytest.fixture
def desk(environ: dict[str, str], repo: Path) -> Iterator[Desk]:
    made = Desk(environ, repo)
    yield made
    made.rooms.close()


class Waiter:
    """Beta, who waits for a message in a thread. `looks`: how often it has looked at the room."""

    def __init__(self, desk: Desk, seconds: int = 20) -> None:
        self.found: list[str] = []
        self.bell: Bell | None = None
        self.looks = 0
        self._desk = desk
        self._seconds = seconds
        self._thread = threading.Thread(target=self._wait)
        self._thread.start()

    def _wait(self) -> None:
        rooms = Rooms(Settings(self._desk.environ))
        room, clock = rooms.of_folder(self._desk.repo), Clock()
        caller = Caller("beta", "beta-1", cwd=self._desk.repo, host=rooms.liveness.host)
        self.bell = Bell(rooms.settings, [room.project], clock)
        eyes = Counted(room, caller, rooms.liveness, bell=self.bell)
        eyes.waiter = self
        until_free(eyes, clock, self._seconds * 1_000, self.bell.pause)
        self.bell.close()
        if eyes.found:
            room.run(lambda tx: waking.messages.handed(tx, eyes.found), caller=caller)
        self.found = [row.text for row in eyes.found]
        rooms.close()

    def is_listened_for(self) -> bool:
        return until(lambda: self.bell is not None and self.bell.is_there)

    def join(self) -> list[str]:
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.found


class Counted(waking.Arrivals):
    waiter: Waiter

    def look(self) -> list[Row]:
        self.waiter.looks += 1
        return super().look()


def until(holds: Any, seconds: float = 10) -> bool:
    """Wait for another thread."""
    clock = Clock()
    deadline = clock.monotonic() + round(seconds * 1_000)
    while not (is_so := holds()) and clock.monotonic() < deadline:
        clock.pause(5)
    return is_so


@pytest.mark.usefixtures("running")
def test_a_message_is_rung_for_and_nothing_is_asked_before(desk: Desk) -> None:
    """C41."""
    waiter = Waiter(desk)
    assert waiter.is_listened_for()
    until(lambda: False, 0.3)  # the looks at what came before it was listened to are over
    before = waiter.looks
    until(lambda: False, 0.5)
    assert waiter.looks == before, "nobody looks while nothing happens"
    desk.send("Now")
    assert waiter.join() == ["Now"]


@pytest.mark.usefixtures("running")
def test_a_message_sent_in_the_instant_in_which_a_wait_begins_is_not_missed_200_times(desk: Desk) -> None:
    """C41: the race runs 200 times."""
    for turn in range(200):
        waiter = Waiter(desk)
        Clock().pause(turn % 50 / 2.5)  # from before the wait to well in it
        desk.send(f"Message {turn}")
        assert waiter.join() == [f"Message {turn}"]


def test_a_host_that_leaves_while_somebody_waits_is_survived(environ: dict[str, str], desk: Desk) -> None:
    with hosted(environ):
        waiter = Waiter(desk)
        assert waiter.is_listened_for()
    assert until(lambda: not waiter.bell.is_there)  # type: ignore[union-attr]
    desk.send("Without it")
    assert waiter.join() == ["Without it"]


def test_a_host_that_says_nothing_any_more_is_survived(
    running: Hosted, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process keeps its connections."""
    waiter = Waiter(desk)
    assert waiter.is_listened_for()
    monkeypatch.setattr(host_watch.Watching, "_say", lambda _: None)
    with running.host.watch._lock:  # pyright: ignore[reportPrivateUsage]
        for watched in running.host.watch._files.values():  # pyright: ignore[reportPrivateUsage]
            for listener in watched.listeners:
                listener.ring = lambda: None
    desk.send("Unheard")
    assert waiter.join() == ["Unheard"]


def test_another_host_is_found_after_a_while(
    environ: dict[str, str], desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearway.surfaces.bell._AGAIN_MS", 50)
    with hosted(environ):
        waiter = Waiter(desk)
        assert waiter.is_listened_for()
    with hosted(environ):
        assert waiter.is_listened_for()
        desk.send("By the second")
        assert waiter.join() == ["By the second"]


@pytest.mark.parametrize("room", [None, 7, "../../etc/passwd", "machine/..", "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_only_rooms_of_this_home_are_watched(running: Hosted, room: object) -> None:
    said = running.request("watch", args={"room": room})
    assert said["error"]["code"] in ("INVALID_ARGUMENT", "PROJECT_NOT_FOUND")


def test_one_who_waits_is_told_numbers_only_and_has_nothing_to_say(running: Hosted, desk: Desk) -> None:
    with running.connect() as connection:
        connection.sendall((json.dumps({"v": 1, "op": "watch", "args": {"room": desk.project}}) + "\n").encode())
        lines = answer_of(connection)
        while lines.count(b"\n") < 2:  # it is rung for once at the beginning
            lines += connection.recv(4_096)
        desk.send("A secret")
        while lines.count(b"\n") < 3:
            lines += connection.recv(4_096)
        assert b"secret" not in lines
        assert all(json.loads(line) in _SAID for line in lines.splitlines())
        connection.sendall(b'{"v":1}\n')
        while part := connection.recv(4_096):
            lines += part
    assert running.host.status()["clients"] == 0


_SAID = [{"v": 1, "ok": True, "result": {}}, {"v": 1, "ok": True, "result": {"changed": 1}}]


def test_many_wait_and_one_change_wakes_them_all(running: Hosted, desk: Desk) -> None:
    woken: list[int] = []
    listeners = [host_watch.Listener(lambda number=number: woken.append(number)) for number in range(50)]
    file = host_watch.file_of(running.host, desk.project)
    for listener in listeners:
        running.host.watch.add(file, listener)
    assert until(lambda: set(woken) == set(range(50)))
    until(lambda: False, 0.3)
    woken.clear()
    desk.send("All of you")
    assert until(lambda: set(woken) == set(range(50)))
    for listener in listeners:
        running.host.watch.remove(file, listener)
    assert until(lambda: running.host.watch._thread is None)  # pyright: ignore[reportPrivateUsage]
