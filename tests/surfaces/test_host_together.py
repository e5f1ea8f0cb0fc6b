"""Threads of a host that write: one sync for many, none too early, and a failure is everybody's whom it concerns."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import hosted
from tests.surfaces.test_host_at_once import Client

from clearway import config, platforms
from clearway.alive import Liveness
from clearway.clock import Clock
from clearway.db import sqlite
from clearway.db.sqlite import SqliteEngine
from clearway.limits import HOST_WORKERS_AT_ONCE
from clearway.surfaces import host_together
from clearway.surfaces.host_together import Together
from clearway.surfaces.host_work import Worker, Workers

LOG = (1, 2)


class Disk:
    """Syncs that end when a test says so."""

    def __init__(self) -> None:
        self.together = Together(lambda: None, lambda: None, lambda _: None)
        self.begun: list[threading.Event] = []
        self.fails: list[bool] = []
        self.came = threading.Semaphore(0)
        self.refused: list[str] = []
        self.done: list[str] = []

    def sync(self) -> None:
        go_on = threading.Event()
        place = len(self.begun)
        self.begun.append(go_on)
        self.came.release()
        assert go_on.wait(20)
        if self.fails[place : place + 1] == [True]:
            raise OSError(errno.EIO, "the disk is gone")

    def wait(self, name: str) -> threading.Thread:
        """Somebody who has committed and waits for the disk."""

        def act() -> None:
            try:
                self.together.sync(LOG, self.sync)
                self.done.append(name)
            except OSError as error:
                self.refused.append(f"{name}: {error.strerror}")

        thread = threading.Thread(target=act)
        thread.start()
        return thread

    def waiting(self, count: int) -> None:
        """Until so many wait."""
        pause = threading.Event()
        while self.together._rounds[LOG].here < count:  # pyright: ignore[reportPrivateUsage]
            pause.wait(0.001)


def test_one_sync_serves_all_who_came_before_it_began() -> None:
    disk = Disk()
    first = disk.wait("first")
    assert disk.came.acquire(timeout=20)
    others = [disk.wait("other") for _ in range(5)]
    disk.waiting(6)
    disk.begun[0].set()
    first.join(20)
    assert disk.done == ["first"], "the others have written after that one began"
    assert disk.came.acquire(timeout=20)
    disk.begun[1].set()
    for each in others:
        each.join(20)
    assert disk.done == ["first", *["other"] * 5] and len(disk.begun) == 2
    assert not disk.together._rounds, "nothing is kept of logs that nobody waits for"  # pyright: ignore[reportPrivateUsage]


def test_a_sync_that_fails_is_refused_to_all_whom_it_would_have_served() -> None:
    disk = Disk()
    disk.fails = [False, True, False]
    waiting = [disk.wait("first")]
    assert disk.came.acquire(timeout=20)
    waiting += [disk.wait("second") for _ in range(2)]
    disk.waiting(3)
    disk.begun[0].set()
    assert disk.came.acquire(timeout=20)
    waiting.append(disk.wait("third"))
    disk.waiting(3)
    disk.begun[1].set()
    assert disk.came.acquire(timeout=20)
    disk.begun[2].set()
    for each in waiting:
        each.join(20)
    assert sorted(disk.done) == ["first", "third"]
    assert disk.refused == ["second: the disk is gone"] * 2


def test_the_turn_of_a_room_is_taken_by_one_and_waited_for_no_longer_than_said() -> None:
    together = Together(lambda: None, lambda: None, lambda _: None)
    assert together.take("a", 0) and together.take("b", 0)
    assert not together.take("a", 0) and not together.take("a", 1)
    together.leave("a")
    assert together.take("a", 0)


def test_what_no_thread_can_be_had_for_waits_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was lost, and whoever had just written and waited for the disk was told of a defect."""
    workers = Workers(Liveness(), lambda error: None, lambda: None)
    done, go_on = threading.Semaphore(0), threading.Event()

    def first(_: Worker) -> None:
        workers.step_aside()
        done.release()
        assert go_on.wait(20)
        workers.step_back()

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        workers.submit(first)
        workers.submit(lambda _: done.release())
        assert (workers.count, workers.waiting) == (0, 2)
        workers.step_aside()
        workers.step_back()
        assert workers.grow() and workers.grow() and workers.waiting == 2
    workers.grow()
    assert done.acquire(timeout=20) and done.acquire(timeout=20)
    go_on.set()
    workers.close()


def test_a_long_log_is_shortened_by_a_worker_and_no_answer_waits_for_it(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    (repo / config.POINTER).write_text(config.pointer_text(Clock().new_id()))
    monkeypatch.setattr(sqlite, "WAL_PAGES_BEFORE_CHECKPOINT", 1)
    monkeypatch.setattr(SqliteEngine, "_shorten", lambda _: 1 / 0)
    go_on, shortened, shorten = threading.Event(), threading.Semaphore(0), host_together.shorten

    def held(room: str) -> None:
        assert go_on.wait(20)
        shorten(room)
        shortened.release()

    monkeypatch.setattr(host_together, "shorten", held)
    with hosted(environ) as running:
        client = Client(running, repo)
        for place in range(3):
            assert not client.call("create_issue", title=f"Of {place}")["isError"]
        go_on.set()
        assert shortened.acquire(timeout=20)
        assert len(titles(client)) == 3
        client.lines.close()
        client.connection.close()
        assert not [said for said in running.said if "defect" in said]


def test_many_write_at_once_and_who_waits_for_the_disk_holds_up_nobody(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that is acknowledged has been synced after it was written."""
    environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    (repo / config.POINTER).write_text(config.pointer_text(Clock().new_id()))
    with hosted(environ) as running:
        clients = [Client(running, repo) for _ in range(HOST_WORKERS_AT_ONCE + 2)]
        go_on, syncs, sync = threading.Event(), threading.Semaphore(0), platforms.sync_data

        def held(descriptor: int) -> None:
            syncs.release()
            assert go_on.wait(20)
            sync(descriptor)

        monkeypatch.setattr(platforms, "sync_data", held)
        for place, client in enumerate(clients):
            client.ask("create_issue", title=f"Of {place}")
        assert syncs.acquire(timeout=20)
        reader = Client(running, repo)
        pause = threading.Event()
        while len(titles(reader)) < len(clients):  # all are written, though none is acknowledged yet
            pause.wait(0.001)
        for client in clients:
            client.connection.settimeout(0.01)
            with pytest.raises(TimeoutError):
                client.connection.recv(1)
            client.connection.settimeout(20)
        go_on.set()
        assert [client.heard()["isError"] for client in clients] == [False] * len(clients)
        assert not [said for said in running.said if "defect" in said]
        for client in (*clients, reader):
            client.lines.close()
            client.connection.close()
    assert SqliteEngine.together is None


def titles(client: Client) -> list[Any]:
    reply: list[Any] = client.call("list_issues")["structuredContent"]["items"]
    return reply
