"""Whatever a host does wrong, a hook finds the answer out by itself: a denial is never lost."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import hosted

from clearway import catalog
from clearway.config import Caller, Settings
from clearway.rooms import Rooms
from clearway.setup.registered import Binding, hook_command


def silence(connection: socket.socket) -> None:
    """Hears everything and says nothing, until the other side has gone."""
    while connection.recv(65_536):
        pass


def hang_up(connection: socket.socket) -> None:
    connection.recv(10)


def nonsense(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 2_000)


def another_version(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"2 0 0 0 0\n")


def half_an_answer(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"1 0 500 0 0\n{")


def strange_status(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"1 77 0 0 0\n")


def no_end(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"1" * 5_000)


class Desk:
    """A repository in which alpha holds `held.txt`, and a real hook of another session."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
        rooms = Rooms(Settings(self.environ))
        caller = Caller("alpha", cwd=str(repo), host=rooms.liveness.host)
        rooms.ask(catalog.OPERATIONS["claim_paths"], {"paths": ["held.txt"], "purpose": "work"}, caller)
        rooms.close()

    def refused(self) -> str:
        """What the registered hook says to an edit of the held file."""
        payload: dict[str, Any] = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(self.repo)}
        given = {"file_path": str(self.repo / "held.txt"), "old_string": "a", "new_string": "b"}
        done = subprocess.run(
            shlex.split(hook_command("claude", Binding(home=self.environ["CLEARWAY_HOME"]))),
            input=json.dumps(payload | {"tool_name": "Edit", "tool_input": given}).encode(),
            env=self.environ,
            cwd=self.repo,
            capture_output=True,
            timeout=30,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return str(json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"])


@pytest.fixture
def desk(tmp_path: Path, repo: Path) -> Desk:
    return Desk(tmp_path, repo)


@pytest.mark.parametrize(
    "behaves", [silence, hang_up, nonsense, another_version, half_an_answer, strange_status, no_end]
)
def test_a_denial_is_never_lost_to_a_host(desk: Desk, behaves: Callable[[socket.socket], None]) -> None:
    folder = Path(desk.environ["CLEARWAY_HOME"], "run")
    folder.mkdir(exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "host.sock"))
    listener.listen()
    asked = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        asked.set()
        with connection:
            try:
                behaves(connection)
            except OSError:
                pass

    server = threading.Thread(target=serve)
    server.start()
    assert "held.txt is held by alpha" in desk.refused()
    assert asked.is_set()
    server.join(20)
    listener.close()


def test_a_dead_socket_is_no_obstacle(desk: Desk) -> None:
    folder = Path(desk.environ["CLEARWAY_HOME"], "run")
    folder.mkdir(exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "host.sock"))
    listener.close()
    assert "held.txt is held by alpha" in desk.refused()


def test_a_real_host_says_the_same_to_the_registered_hook(desk: Desk) -> None:
    alone = desk.refused()
    with hosted(desk.environ) as running:
        assert desk.refused() == alone
        assert running.host.asked == 1
        desk.environ["CLEARWAY_HOST"] = "off"
        assert desk.refused() == alone
        assert running.host.asked == 1


def test_a_host_that_is_killed_while_hooks_ask_costs_no_denial(desk: Desk) -> None:
    """The host leaves, or comes, between any two of these."""
    for _ in range(3):
        with hosted(desk.environ) as running:
            said: list[str] = []
            asking = [threading.Thread(target=lambda said=said: said.append(desk.refused())) for _ in range(4)]
            for thread in asking:
                thread.start()
            running.host.leave("in the middle of it")
            for thread in asking:
                thread.join()
            assert len(said) == 4 and all("held.txt is held by alpha" in each for each in said)
