"""What a simulated world is made of: a machine with its clock and processes, a room, and the clients that work in it.

Nothing here knows what clients do (deeds.py) or what must hold (rules.py).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clearway import catalog
from clearway.alive import Liveness, Process
from clearway.clock import Clock
from clearway.config import Caller, pointer_text
from clearway.db import Row, Statement
from clearway.opencalls import OpenCalls
from clearway.repository import CHECKOUT_FILE
from clearway.room import Room, open_room

HOST = "machine"
DAY = 86_400_000
PROGRAMS = 3  # processes of ours that have the room open: hooks, servers and commands of different clients
FOLDERS = ("src/lib", "src-old", "docs")


class Killed(BaseException):
    """The process was killed here: nothing after this line was run."""


class Machine(Clock):
    """A computer: its clocks, its boots, its sleep, and chance itself. Locks are never waited for."""

    def __init__(self, seed: str) -> None:
        super().__init__()
        self._chance = random.Random(seed)
        self.boots = 1
        self.awake = 1_000_000
        self.wall_at_zero = 1_780_000_000_000

    def monotonic(self) -> int:
        return self.awake

    def wall(self) -> int:
        return self.awake + self.wall_at_zero

    def boot(self) -> str:
        return f"boot-{self.boots}"

    def random(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def pass_time(self, ms: int) -> None:
        self.awake += ms

    def set_wall(self, by_ms: int) -> None:
        """Somebody sets the clock on the wall, or the machine sleeps: no time passes for a room."""
        self.wall_at_zero += by_ms

    def reboot(self, away_ms: int) -> None:
        """Off and on again; what the wall clock says afterwards may be anything."""
        wall = self.wall() + away_ms
        self.boots += 1
        self.awake = 5_000
        self.wall_at_zero = wall - self.awake


class Processes(Liveness):
    """Which processes of the machine live."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(boot="none", host=HOST, pidns="one")
        self._machine = machine
        self._living: set[tuple[str, int]] = set()
        self._last = 100

    def start(self) -> int:
        self._last += 1
        self._living.add((self._machine.boot(), self._last))
        return self._last

    def kill(self, pid: int) -> None:
        self._living.discard((self._machine.boot(), pid))

    def lives(self, pid: int | None) -> bool:
        return pid is not None and (self._machine.boot(), pid) in self._living

    def identify(self, pid: int | None) -> Process | None:
        return Process(self._machine.boot(), "one", pid, f"start-{pid}") if self.lives(pid) and pid else None

    def is_dead(self, host: str, process: Process) -> bool:
        return host == HOST and (process.boot, process.pid) not in self._living


class Frail:
    """An engine whose process can be killed between any two statements."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.left: int | None = None  # statements until the end; None: it is well

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def begin(self, **how: Any) -> Any:
        self.age()
        return _FrailSession(self, self._engine.begin(**how))

    def age(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed


class _FrailSession:
    def __init__(self, engine: Frail, session: Any) -> None:
        self._engine = engine
        self._session = session

    def rollback(self) -> None:
        self._session.rollback()  # the database does this for the dead

    def commit(self) -> None:
        self._engine.age()
        self._session.commit()
        self._engine.age()  # it stands, but nobody was told

    def __getattr__(self, name: str) -> Any:
        act = getattr(self._session, name)

        def aging(*given: Any) -> Any:
            self._engine.age()
            return act(*given)

        return aging


@dataclass
class Claim:
    """What a client keeps of a claim: enough to act for it, for ever."""

    attempt: str
    token: str
    issue: str


@dataclass
class Errand:
    """What a client keeps of a task it was handed."""

    task: int
    fence: int
    token: str


@dataclass
class Request:
    """A question with a key, to be repeated by a client that is not sure it was heard. reply None: it is not known."""

    operation: str
    arguments: dict[str, Any]
    session: str
    reply: dict[str, Any] | None


@dataclass
class Client:
    """One client: a name, and the session and process it runs in; or a named holder or the human, without either."""

    name: str
    folder: str
    program: int
    session: str | None = None
    pid: int | None = None
    human: bool = False
    started: int = 0
    cleared: int = 0
    claims: list[Claim] = field(default_factory=list)
    errands: list[Errand] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    thread: str = ""


class World:
    """One machine with one room, the programs that have it open, and the clients that work through them."""

    def __init__(self, seed: str, folder: Path, dsn: str | None = None) -> None:
        self.seed = seed
        self.folder = folder
        self.machine = Machine(f"machine {seed}")
        self.processes = Processes(self.machine)
        # On a server the room of an earlier run may still be there: only the name of the room is left to chance.
        self.project = Clock().new_id() if dsn else self.machine.new_id()
        self.checkouts = [_checkout(folder / name, self.project, self.machine.new_id()) for name in ("one", "two")]
        self._dsn = dsn
        self.rooms = [self._open() for _ in range(PROGRAMS)]
        self.calls = OpenCalls(str(folder / "home"), self.machine)
        self.keys = 0
        chance = random.Random(f"clients {seed}")
        self.clients = [
            Client(name, self.checkouts[int(chance.random() < 0.25)], number % PROGRAMS)
            for number, name in enumerate(chance.choices(("claude-code", "codex", "gemini"), k=chance.randint(2, 5)))
        ]
        for client in self.clients:
            self.start(client)
        self.clients.append(Client("codex", self.checkouts[0], 1))
        self.clients.append(Client("human", self.checkouts[0], 2, human=True))
        self.observer = Caller("observer", host=HOST, cwd=self.checkouts[0])

    def start(self, client: Client, session: str | None = None) -> None:
        """A client is started: with a new session, or it goes on with an earlier one."""
        client.started += 1
        client.pid = self.processes.start()
        client.session = session or f"{client.name}-{client.pid}"

    def caller(self, client: Client) -> Caller:
        process = None
        if client.session is not None and client.pid is not None:
            process = self.processes.identify(client.pid) or Process(
                self.machine.boot(), "one", client.pid, f"start-{client.pid}"
            )
        return Caller(
            client.name,
            client.session,
            thread=client.thread,
            cwd=client.folder,
            host=HOST,
            process=process,
            human=client.human,
        )

    def room(self, client: Client) -> Room:
        return self.rooms[client.program]

    def ask(self, client: Client, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.room(client).ask(catalog.OPERATIONS[operation], arguments, self.caller(client))

    def run(self, client: Client, act: Callable[[Any], Any], *, writes: bool = True) -> Any:
        """What a hook does for its client."""
        return self.room(client).run(act, caller=self.caller(client), writes=writes, durable=False)

    def observe(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """What somebody sees who holds nothing and gives no sign of life."""
        return self.rooms[0].ask(catalog.OPERATIONS[operation], arguments, self.observer)

    def tasks_seen(self) -> Any:
        """What a person sees of the tasks, who sees all."""
        human = Caller("human", host=HOST, cwd=self.checkouts[0], human=True)
        return self.rooms[0].ask(catalog.OPERATIONS["list_tasks"], {"limit": 100}, human)

    def settle(self) -> None:
        """Somebody writes nothing: what time and death changed is carried out."""
        self.rooms[0].run(lambda _: None, caller=self.observer, durable=False)

    def now(self) -> int:
        """Room time."""
        return self.rooms[0].run(lambda tx: tx.now, caller=self.observer, writes=False)

    def rows(self, statement: Statement, **values: Any) -> list[Row]:
        """What stands in the tables, whatever the operations say."""
        session = self.rooms[0].engine.begin(writes=False)
        try:
            return session.rows(statement, values)
        finally:
            session.rollback()

    def crash_program(self, number: int) -> None:
        """A process of ours is gone; another one opens the room in its place."""
        self.rooms[number].close()
        self.rooms[number] = self._open()

    def frail(self, client: Client) -> Frail:
        engine: Any = self.room(client).engine
        return engine

    def key(self) -> str:
        self.keys += 1
        return f"key-{self.keys}"

    def close(self) -> None:
        for room in self.rooms:
            room.close()

    def _open(self) -> Room:
        room = open_room(
            self.project,
            home=str(self.folder / "home"),
            clock=self.machine,
            address=self._dsn,
            liveness=self.processes,
        )
        engine: Any = Frail(room.engine)
        room.engine = engine
        return room


def _checkout(root: Path, project: str, known: str) -> str:
    """A clone as far as a room looks at one: git's mark, the pointer, a few folders. known: the id it has already."""
    for folder in (".git", *FOLDERS):
        os.makedirs(root / folder)
    here = os.stat(root / ".git")
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / CHECKOUT_FILE).write_text(f"{known} {here.st_dev}:{here.st_ino}\n")
    (root / ".clearway.json").write_text(pointer_text(project))
    return str(root)
