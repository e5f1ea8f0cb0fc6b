"""kill -9 at any moment of writing processes: what they were answered is there, and what they held comes free."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from clearway import catalog
from clearway.alive import Liveness
from clearway.clock import Clock
from clearway.config import Caller
from clearway.db import Statement
from clearway.errors import Refusal
from clearway.room import Room, open_room

# 200 when asked for; each kill takes a tenth of a second.
KILLS = 200 if os.environ.get("CLEARWAY_TEST_LONG") else 16
PROJECT = Clock().new_id()
WRITERS = 2
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def opened(home: Path) -> Room:
    return open_room(PROJECT, home=str(home), clock=Clock(), liveness=Liveness())


def caller(name: str, repo: Path, liveness: Liveness, *, session: str = "") -> Caller:
    process = liveness.identify(os.getpid())
    return Caller(name, session or f"{name}-{os.getpid()}", cwd=str(repo), host=liveness.host, process=process)


def write_until_killed(home: Path, repo: Path, told: int) -> None:
    """Everything that is acknowledged is told before the next thing is asked."""
    room = opened(home)
    me = caller("writer", repo, room.liveness)
    number = 0

    def ask(operation: str, **arguments: Any) -> dict[str, Any]:
        return room.ask(catalog.OPERATIONS[operation], arguments, me)

    def tell(*words: str) -> None:
        os.write(told, (" ".join(words) + "\n").encode())

    while True:
        number += 1
        made = ask("create_issue", title=f"{os.getpid()} {number}", status="ready", description="x" * 3_000)
        tell("issue", made["issue_id"])
        path = f"file-{os.getpid()}-{number}"
        tell("path", path, str(ask("claim_paths", paths=[path])["granted"][0]["fence"]))
        try:
            claim = ask("claim_issue", next=True, context=False)
        except Refusal as refusal:
            if refusal.code != "NOTHING_TO_CLAIM":
                raise
            continue
        tell("claim", claim["attempt_id"], str(claim["fence"]))
        proof = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
        ask("save_attempt_note", **proof, kind="progress", content="y" * 500)
        if number % 3:
            ask("finish_attempt", **proof, outcome="completed", target_issue_status="done", result_summary="Done.")
            tell("finish", claim["attempt_id"])


class Writers:
    """Processes that write, until they are killed."""

    def __init__(self, home: Path, repo: Path) -> None:
        self.reading, writing = os.pipe()
        self.pids: list[int] = []
        for _ in range(WRITERS):
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(self.reading)
                    write_until_killed(home, repo, writing)
                finally:
                    os._exit(1)
            self.pids.append(pid)
        os.close(writing)
        self._rest = b""

    def hear(self, lines: int) -> None:
        """Wait for so many acknowledgements."""
        while self._rest.count(b"\n") < lines:
            part = os.read(self.reading, 65_536)
            assert part, "the writers ended by themselves"
            self._rest += part

    def kill(self) -> list[list[str]]:
        """Kill them one after the other; all that they were answered."""
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        while part := os.read(self.reading, 65_536):
            self._rest += part
        os.close(self.reading)
        return [line.split() for line in self._rest.decode().splitlines()]


def rows(room: Room, text: str) -> list[Any]:
    session = room.engine.begin(writes=False)
    try:
        return session.rows(Statement("look", text, text), {})
    finally:
        session.rollback()


def test_writers_that_are_killed_lose_nothing_and_leave_nothing_locked(tmp_path: Path, repo: Path) -> None:
    """Issue 3: a loop of kills. C01, C34: their leases are free at the next question, no lock is left behind."""
    home = tmp_path / "home"
    opened(home).close()
    chance = random.Random(3)
    acknowledged: list[list[str]] = []
    for _ in range(KILLS // WRITERS):
        writers = Writers(home, repo)
        writers.hear(chance.randint(1, 30))
        acknowledged += writers.kill()
        room = opened(home)
        assert room.engine.integrity(full=True) == []
        check(room, acknowledged)
        look = catalog.OPERATIONS["room"]
        room.ask(catalog.OPERATIONS["create_issue"], {"title": "After"}, caller("checker", repo, room.liveness))
        seen = room.ask(look, {}, caller("checker", repo, room.liveness))
        assert seen["paths"] == [], "the dead hold nothing"
        assert not rows(room, "SELECT id FROM attempt WHERE status = 'active'")
        room.close()


def check(room: Room, acknowledged: list[list[str]]) -> None:
    issues = {row.id for row in rows(room, "SELECT id FROM issue")}
    attempts = {row.id: row for row in rows(room, "SELECT id, fence, status, issue FROM attempt")}
    events = [row.id for row in rows(room, "SELECT id FROM event ORDER BY id")]
    granted = "SELECT data FROM event WHERE type = 'paths_claimed'"
    told = " ".join(str(row.data) for row in rows(room, granted))
    assert events == list(range(1, len(events) + 1))
    finished = {words[1] for words in acknowledged if words[0] == "finish"}
    for kind, name, *more in acknowledged:
        if kind == "issue":
            assert name in issues
        elif kind == "claim":
            assert str(attempts[name].fence) == more[0]
            assert attempts[name].status == "completed" or name not in finished
        elif kind == "path":
            assert name in told
    live = [row.issue for row in attempts.values() if row.status == "active"]
    assert len(live) == len(set(live))
    fences = [row.fence for row in attempts.values()]
    assert len(fences) == len(set(fences))
