"""An office: a repository with a room on either engine, programs that stand for clients, and workers that run them."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clearway import catalog, repository
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.db import Statement
from clearway.errors import Refusal
from clearway.room import Room
from clearway.rooms import Rooms
from clearway.worker import clients
from clearway.worker.work import Orders, Worker

# What every stand-in does first: it keeps what it was started with.
_BEGIN = """#!{python}
import json, os, sys, time
HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "asked"), "a") as asked:
    told = {{"words": sys.argv, "cwd": os.getcwd(), "environ": dict(os.environ), "stdin": sys.stdin.read()}}
    asked.write(json.dumps(told) + "\\n")
PROMPT = next((word for word in sys.argv if word.startswith("You are ")), "")
def answer(text, **more):
    print(json.dumps({{"type": "result", "is_error": False, "result": text}} | more))
"""


# A stand-in says that it is there.
THERE = "open(os.path.join(HERE, 'there'), 'w').close()"


class Eyes:
    """Nobody is waited for: whoever looks has something to see."""

    def pause(self, milliseconds: float) -> None:
        Clock().pause(min(milliseconds, 20))

    def has_changed(self, room: Room) -> bool:
        return True


class Office:
    def __init__(self, folder: Path, repo: Path, dsn: str | None) -> None:
        self.folder = folder
        self.repo = repo
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.clock = folder / "clock"
        self.now = 1_000_000
        self.forward()
        self.environ = {
            "HOME": str(folder),
            "CLEARWAY_HOME": str(folder / "state"),
            "CLEARWAY_HOST": "off",
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "CLEARWAY_TEST_CLOCK": str(self.clock),
        }
        self.said: list[str] = []
        self.rooms = Rooms(Settings(self.environ))
        place = repository.holding(str(repo))
        assert place is not None
        if dsn is None:
            self.rooms.adopt(place)
        else:
            self.rooms.share(place, Clock().new_id(), dsn)
        self.room = self.rooms.of_repository(place)

    def forward(self, *, minutes: float = 0, seconds: float = 0) -> None:
        self.now += int(minutes * 60_000 + seconds * 1_000)
        self.clock.write_text(f"{self.now} 1780000000000")

    def program(self, name: str, body: str) -> Path:
        """A client of that name, which does this."""
        file = self.programs / name
        file.write_text(_BEGIN.format(python=sys.executable) + body)
        file.chmod(0o755)
        return file

    @property
    def asked(self) -> list[dict[str, Any]]:
        """What the stand-ins were started with."""
        file = self.programs / "asked"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def worker(
        self, agent: str = "claude-code", *, template: str = "", more: dict[str, str] | None = None, **orders: Any
    ) -> Worker:
        """A worker of this process. more: of its environment."""
        client = clients.of_template(template) if template else clients.known(agent)
        rooms = Rooms(Settings(self.environ | (more or {})))
        given = Orders(agent, client, **({"once": True, "per_hour": 100} | orders))
        return Worker(rooms, given, str(self.repo), eyes=Eyes(), mention=self.said.append)

    def work(self, agent: str = "claude-code", **orders: Any) -> int:
        """Let a worker do one thing; how many it has handed back."""
        return self.worker(agent, **orders).work()

    def ask(self, operation: str, agent: str = "human", **arguments: Any) -> dict[str, Any]:
        caller = self.caller()
        if agent != "human":
            caller = Caller(agent, f"{agent}-session", cwd=str(self.repo), host=caller.host)
        return self.room.ask(catalog.OPERATIONS[operation], arguments, caller)

    def refused(self, operation: str, agent: str = "human", **arguments: Any) -> str:
        with pytest.raises(Refusal) as caught:
            self.ask(operation, agent, **arguments)
        return caught.value.code

    def task(self, text: str = "Run the tests", to: str = "claude-code", sender: str = "human", **more: Any) -> int:
        return self.ask("send_message", sender, to=to, text=text, kind="task", **more)["message_id"]

    def caller(self) -> Caller:
        return Caller("human", cwd=str(self.repo), host=self.rooms.liveness.host, human=True)

    @contextmanager
    def meanwhile(self, file: str, act: Callable[[], object]) -> Iterator[None]:
        """Let something happen as soon as a stand-in has made this file."""
        failures: list[BaseException] = []

        def wait_and_act() -> None:
            clock = Clock()
            until = clock.monotonic() + 30_000
            try:
                while not (self.programs / file).exists():
                    assert clock.monotonic() < until, f"nobody made {file}"
                    clock.pause(10)
                act()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=wait_and_act)
        thread.start()
        try:
            yield
        finally:
            thread.join(40)
        assert not failures, failures

    def state(self, task: int) -> str:
        return self.ask("list_tasks", task_id=task)["items"][0]["state"]

    def result(self, task: int) -> str:
        """What the sender was answered."""
        found = self.rows(f"SELECT text FROM message WHERE reply_to = {task} ORDER BY id DESC")
        return found[0].text if found else ""

    def issue(self, title: str = "Mend it", **more: Any) -> str:
        return self.ask("create_issue", title=title, status="ready", **more)["display_id"]

    def last_attempt(self, issue: str) -> dict[str, Any]:
        return self.ask("list_attempts", issue_id=issue)["items"][0]

    def rows(self, text: str) -> list[Any]:
        session = self.room.engine.begin(writes=False)
        try:
            return list(session.rows(Statement("rows", text, text), {}))
        finally:
            session.rollback()


@pytest.fixture(params=["sqlite", "postgres"])
def office(request: pytest.FixtureRequest, tmp_path: Path, repo: Path) -> Iterator[Office]:
    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else None
    made = Office(tmp_path, repo, dsn)
    yield made
    made.rooms.close()


@pytest.fixture
def here(tmp_path: Path, repo: Path) -> Iterator[Office]:
    """An office whose room is a file: for what has nothing to do with the room."""
    made = Office(tmp_path, repo, None)
    yield made
    made.rooms.close()
