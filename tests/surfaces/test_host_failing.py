"""Whatever a host does wrong, a hook finds the answer out by itself: a denial is never lost."""

from __future__ import annotations

import json
import os
import resource
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.db import faulty
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
        done = self.edit("held.txt")
        assert (done.returncode, done.stderr) == (0, b"")
        return str(json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"])

    def edit(self, file: str, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[bytes]:
        """How the registered hook answers an edit. before: what becomes of its process first."""
        payload: dict[str, Any] = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": str(self.repo)}
        given = {"file_path": str(self.repo / file), "old_string": "a", "new_string": "b"}
        return subprocess.run(
            shlex.split(hook_command("claude", Binding(home=self.environ["CLEARWAY_HOME"]))),
            input=json.dumps(payload | {"tool_name": "Edit", "tool_input": given}).encode(),
            env=self.environ,
            cwd=self.repo,
            capture_output=True,
            timeout=30,
            preexec_fn=before,
        )

    def holder(self, file: str) -> str:
        rooms = Rooms(Settings(self.environ))
        caller = Caller("looker", cwd=str(self.repo), host=rooms.liveness.host)
        owner = rooms.ask(catalog.OPERATIONS["path_owner"], {"path": file}, caller)
        rooms.close()
        return str(owner.get("session", ""))


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


def no_file_grows() -> None:
    """What a sandbox that may write nothing is to a hook: it can still speak over a socket."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_a_client_that_can_write_nothing_is_served_over_the_socket(desk: Desk) -> None:
    """C37: works through the socket; without it the fail mode."""
    with hosted(desk.environ):
        done = desk.edit("free.txt", no_file_grows)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert desk.holder("free.txt") == "s1"
        assert b"held.txt is held by alpha" in desk.edit("held.txt", no_file_grows).stdout
    alone = desk.edit("other.txt", no_file_grows)
    assert (alone.returncode, alone.stdout, alone.stderr.count(b"\n")) == (0, b"", 1)
    assert b"guard open (STORAGE_FAILURE" in alone.stderr
    assert b"held.txt is held by alpha" in desk.edit("held.txt", no_file_grows).stdout


def test_a_command_that_can_write_nothing_is_served_over_the_socket(desk: Desk) -> None:
    """C37: without it a sentence and an exit status."""

    def command(*words: str) -> tuple[int, bytes, bytes]:
        ran = [sys.executable, "-m", "clearway.surfaces.cli", *words]
        done = subprocess.run(
            ran, env=desk.environ, cwd=desk.repo, capture_output=True, timeout=60, preexec_fn=no_file_grows
        )
        return done.returncode, done.stdout, done.stderr

    with hosted(desk.environ):
        assert command("--as", "ben", "claim", "free.txt")[::2] == (0, b"")
        assert command("issue", "create", "Ship")[:2] == (0, b"ISSUE-1 created (open).\n")
        assert command("call", "add_comment", '{"issue_id": "ISSUE-1", "content": "Now"}')[0] == 0
        status, _, said = command("--as", "ben", "claim", "held.txt")
        assert (status, said.partition(b":")[0]) == (4, b"PATH_HELD")
    assert desk.holder("free.txt").startswith("=ben@")
    status, _, said = command("issue", "create", "Sink")
    assert (status, said.partition(b":")[0], said.count(b"\n")) == (5, b"STORAGE_FAILURE", 1)


def test_a_host_whose_disk_is_full_is_gone_round(desk: Desk) -> None:
    """Nothing blocks an agent's work: who can write for himself does, and a denial is never lost."""
    disk = faulty.Disk()
    try:
        with hosted(desk.environ) as running:
            disk.arm(faulty.FULL, 1)
            disk.stays = True
            assert "held.txt is held by alpha" in desk.refused()
            done = desk.edit("free.txt")
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
            assert running.host.failed == 1
            disk.disarm()
            assert desk.holder("free.txt") == "s1"
            done = desk.edit("other.txt")
            assert (done.stdout, done.stderr, running.host.failed) == (b"", b"", 1), "it answers again"
            assert desk.holder("other.txt") == "s1"
    finally:
        apsw.set_default_vfs("unix")
        disk.unregister()
