"""Many at once, and killed in the middle: counted, not timed. One winner, the rest refused, nothing acknowledged lost.

Threads have a room each, as processes would; where a room's first millisecond or a kill matters, they are processes.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import apsw
import pytest

import clearway
from clearway import paths
from clearway.alive import Liveness, Process
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller
from clearway.db import Statement
from clearway.errors import Refusal
from clearway.room import Room, open_room

CALLERS, CLAIMS, ISSUES = 16, 200, 50
PLANNER = Caller("planner", "planner", host="h")
ENDS = {"attempt_completed", "attempt_expired"}


class Alive(Liveness):
    """Processes that die when a test says so."""

    def __init__(self) -> None:
        super().__init__(boot="b", host="h", pidns="n")
        self.dead: set[int] = set()

    def is_dead(self, host: str, process: Process) -> bool:
        return process.pid in self.dead


class Shared:
    """One room on one engine, which every thread opens for itself."""

    def __init__(self, home: Path, dsn: str | None) -> None:
        self.liveness = Alive()
        self._home = home
        self._dsn = dsn
        self._project = Clock().new_id()

    def open(self) -> Room:
        return open_room(
            self._project,
            home=str(self._home),
            clock=Clock(),
            address=self._dsn,
            liveness=self.liveness,
            lock_wait_ms=60_000,
        )


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Shared:
    return Shared(tmp_path, request.getfixturevalue("postgres_dsn") if request.param == "postgres" else None)


def at_once(count: int, act: Callable[[int], None]) -> None:
    """Run `act` in so many threads that begin together; what one of them raises fails the test."""
    barrier = threading.Barrier(count)
    patience = sys.getswitchinterval()
    raised: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            act(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    sys.setswitchinterval(0.0002)  # whoever gets the room's lock shall not wait for the interpreter's
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(patience)
    assert not raised, raised[0]


def ask(room: Room, caller: Caller, operation: str, **arguments: Any) -> dict[str, Any]:
    return room.ask(OPERATIONS[operation], arguments, caller)


def rows(room: Room, text: str) -> list[Any]:
    return room.run(lambda tx: tx.all(Statement("rows", text, text)), caller=PLANNER, writes=False)


def ready_issues(room: Room, count: int) -> None:
    for number in range(count):
        ask(room, PLANNER, "create_issue", title=f"Issue {number}", status="ready")


def finish(room: Room, caller: Caller, claim: dict[str, Any]) -> dict[str, Any]:
    return ask(
        room,
        caller,
        "finish_attempt",
        attempt_id=claim["attempt_id"],
        lease_token=claim["lease_token"],
        outcome="completed",
        result_summary="Done.",
        target_issue_status="ready",
    )


def test_each_task_is_handed_to_one_of_many(shared: Shared) -> None:
    """C08, C41: clones of one name ask at once, and a worker with them."""
    room = shared.open()
    given = [
        ask(room, PLANNER, "send_message", to="codex", text=f"Task {number}", kind="task")["message_id"]
        for number in range(ISSUES // 2)
    ]
    handed: list[int] = []

    def work(number: int) -> None:
        own = shared.open()
        caller = Caller("codex-worker" if number % 4 == 0 else "codex", f"codex-{number}", host="h")
        while (task := ask(own, caller, "next_task")["task"]) is not None:
            handed.append(task["task_id"])
            proof = {"task_id": task["task_id"], "lease_token": task["lease_token"]}
            ask(own, caller, "update_task", **proof, state="started")
            ask(own, caller, "update_task", **proof, state="succeeded")
        own.close()

    at_once(CALLERS // 2, work)
    assert sorted(handed) == given
    assert [row.n for row in rows(room, "SELECT count(*) AS n FROM task WHERE state = 'succeeded'")] == [len(given)]
    room.close()


def check_possession(room: Room) -> list[Any]:
    """The log alone shows that no issue ever had two holders and that fences only grow; all events of attempts."""
    events = rows(room, "SELECT id, type, issue, attempt, data FROM event ORDER BY id")
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    holders: dict[str, str] = {}
    fences: list[int] = []
    for event in events:
        if event.type == "attempt_started":
            assert event.issue not in holders, f"{event.attempt} was given what {holders[event.issue]} held"
            holders[event.issue] = event.attempt
            fences.append(json.loads(event.data)["fence"])
        elif event.type in ENDS:
            assert holders.pop(event.issue) == event.attempt
    assert fences == sorted(set(fences))
    active = {row.issue: row.id for row in rows(room, "SELECT issue, id FROM attempt WHERE status = 'active'")}
    assert active == holders
    return [event for event in events if event.attempt]


def test_sixteen_callers_claim_and_finish_and_crash_and_no_issue_has_two_holders(shared: Shared) -> None:
    """Every twentieth claim its session dies, and its caller comes back as another."""
    room = shared.open()
    # What three sessions in a row died with is given to nobody until a person decides: as many more as that may be.
    ready_issues(room, ISSUES + CALLERS * CLAIMS // 20 // 3)
    claimed: list[str] = []
    finished: list[str] = []
    abandoned: list[str] = []

    def work(number: int) -> None:
        mine = shared.open()
        for turn in range(CLAIMS):
            pid = 1_000 * (number + 1) + turn // 20
            caller = Caller("agent", f"{number}-{turn // 20}", host="h", process=Process("b", "n", pid, "s"))
            claim = ask(mine, caller, "claim_issue", next=True, context=False)
            claimed.append(claim["attempt_id"])
            if turn % 20 == 19:
                abandoned.append(claim["attempt_id"])
                shared.liveness.dead.add(pid)
            else:
                finish(mine, caller, claim)
                finished.append(claim["attempt_id"])
        mine.close()

    at_once(CALLERS, work)
    ask(room, PLANNER, "room", status="settle")

    assert (len(claimed), len(set(claimed))) == (CALLERS * CLAIMS, CALLERS * CLAIMS)
    events = check_possession(room)
    ended = {kind: {event.attempt for event in events if event.type == kind} for kind in ENDS}
    assert ended == {"attempt_completed": set(finished), "attempt_expired": set(abandoned)}
    room.close()


def test_fifty_who_want_one_issue_get_one_attempt(shared: Shared) -> None:
    """C08."""
    room = shared.open()
    ready_issues(room, 1)
    answers: list[str] = []

    def want(number: int) -> None:
        mine = shared.open()
        try:
            ask(mine, Caller("Writer", f"s{number}", host="h"), "claim_issue", issue_id="ISSUE-1", context=False)
            answers.append("claimed")
        except Refusal as refusal:
            answers.append(refusal.code)
        mine.close()

    at_once(50, want)

    assert sorted(answers) == ["ACTIVE_ATTEMPT_EXISTS"] * 49 + ["claimed"]
    assert len(rows(room, "SELECT id FROM attempt")) == 1
    room.close()


def test_one_key_asked_by_sixteen_threads_of_a_session_is_answered_once(shared: Shared) -> None:
    """I34, I38."""
    room = shared.open()
    ready_issues(room, 4)
    caller = Caller("agent", "s1", host="h")
    answers: list[str] = []

    def want(number: int) -> None:
        mine = shared.open()
        claim = ask(mine, caller, "claim_issue", next=True, context=False, idempotency_key="k")
        answers.append(claim["attempt_id"] + claim["lease_token"])
        mine.close()

    at_once(CALLERS, want)

    assert (len(answers), len(set(answers))) == (CALLERS, 1)
    assert len(rows(room, "SELECT id FROM attempt")) == 1
    room.close()


# --- before there is a database ---------------------------------------------------------------------------------


def hooks_at_once(repo: Path, home: Path, edits: list[str]) -> list[tuple[int, str]]:
    """Ask the hook before an edit of each path, each in a process of its own that is told all at the same time; exit
    status and what it said."""
    folders = [str(Path(clearway.__file__).parent.parent), str(Path(apsw.__file__ or "").parent.parent)]
    code = (
        f"import sys; sys.path += {folders!r}; from clearway.surfaces import faststep, hooks; faststep.main('generic')"
    )
    environ = {"CLEARWAY_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]}
    asked = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            text=True,
        )
        for _ in edits
    ]
    for number, (process, path) in enumerate(zip(asked, edits, strict=True)):
        payload = {"event": "before", "agent": f"agent-{number}", "session": f"s{number}", "cwd": str(repo)}
        assert process.stdin is not None
        process.stdin.write(json.dumps({**payload, "tool": "Edit", "input": {"file_path": path}}))
        process.stdin.flush()
    for process in asked:
        assert process.stdin is not None
        process.stdin.close()
    answers: list[tuple[int, str]] = []
    for process in asked:
        assert process.stdout is not None and process.stderr is not None
        said = process.stdout.read() + process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        answers.append((process.wait(), said))
    return answers


def test_sixty_hooks_that_want_one_file_before_there_is_a_room_let_one_edit(repo: Path, tmp_path: Path) -> None:
    """P7."""
    answers = hooks_at_once(repo, tmp_path / "home", ["free.txt"] * 60)

    assert [said for _, said in answers if "guard open" in said] == []
    assert sorted(code for code, _ in answers) == [0] + [2] * 59
    assert all("PATH_HELD" in said for code, said in answers if code == 2)


def test_hooks_that_want_a_folder_and_files_in_it_never_overlap(repo: Path, tmp_path: Path) -> None:
    """P8."""
    edits = ["deploy" if number % 2 else f"deploy/{number}.sh" for number in range(20)]

    answers = hooks_at_once(repo, tmp_path / "home", edits)

    allowed = [edit for (code, _), edit in zip(answers, edits, strict=True) if code == 0]
    assert [said for _, said in answers if "guard open" in said] == []
    assert allowed
    assert not any(paths.overlap(one, other) for one in allowed for other in allowed if one is not other), allowed


# --- killed in the middle ---------------------------------------------------------------------------------------

KILLS = 30
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.test_races", "clearway.arguments", "clearway.db.sqlite"])


def claim_and_finish(home: str, project: str, name: str, told: Connection) -> None:
    """Claim, take a path, finish, for ever; every answer is acknowledged on the pipe before the next question."""
    room = open_room(project, home=home, clock=Clock())
    caller = Caller("worker", name, cwd=home, host=room.liveness.host, process=room.liveness.identify(os.getpid()))
    while True:
        claim = ask(room, caller, "claim_issue", next=True, context=False)
        told.send(("claimed", claim["attempt_id"]))
        ask(room, caller, "claim_paths", paths=["work"])
        told.send(("holds", name))
        finish(room, caller, claim)
        told.send(("finished", claim["attempt_id"]))


def test_what_a_killed_writer_was_told_is_in_the_room_and_what_it_held_is_free(tmp_path: Path) -> None:
    """kill -9 at thirty moments: no acknowledged write is lost, nobody ever holds twice, the file stays sound."""
    chance = random.Random(7)
    project = Clock().new_id()
    room = open_room(project, home=str(tmp_path), clock=Clock())
    ready_issues(room, 3 + KILLS // 3)  # what dies three times in a row is given to nobody
    survivor = Caller("survivor", "survivor", cwd=str(tmp_path), host=room.liveness.host)
    finished: set[str] = set()
    claimed: set[str] = set()

    for kill in range(KILLS):
        ours, theirs = FORKS.Pipe()
        child = FORKS.Process(target=claim_and_finish, args=(str(tmp_path), project, f"w{kill}", theirs))
        child.start()
        theirs.close()
        told = [ours.recv() for _ in range(chance.randrange(1, 9))]
        child.kill()
        child.join()
        told += drained(ours)
        claimed |= {name for kind, name in told if kind == "claimed"}
        finished |= {name for kind, name in told if kind == "finished"}

        assert ask(room, survivor, "claim_paths", paths=["work"])["granted"], "the dead hold nothing"
        ask(room, survivor, "release_paths")
        assert rows(room, "SELECT id FROM attempt WHERE status = 'active'") == []

    known = {row.id: row.status for row in rows(room, "SELECT id, status FROM attempt")}
    assert claimed <= set(known)
    assert {known[name] for name in finished} == {"completed"}
    check_possession(room)
    raw = apsw.Connection(room.engine.path)
    assert raw.pragma("integrity_check") == "ok"
    assert list(raw.execute("PRAGMA foreign_key_check")) == []
    raw.close()
    room.close()


def drained(pipe: Connection) -> list[tuple[str, str]]:
    """What was still on its way when the writer was killed."""
    told: list[tuple[str, str]] = []
    try:
        while pipe.poll():
            told.append(pipe.recv())
    except EOFError:
        pass
    return told
