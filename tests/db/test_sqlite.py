"""The file of a room: how it is made and opened, and what a broken, foreign, full or busy one answers."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import HandClock

from clearway import platforms
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller
from clearway.db import Statement
from clearway.db.migrate import SCHEMA
from clearway.db.turns import Turns
from clearway.errors import Refusal
from clearway.room import Room, open_room

CALLER = Caller("claude-code", "s1", host="h")
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project() -> str:
    return Clock().new_id()


def opened(home: Path, project: str, *, lock_wait_ms: int = 8_000, upgrade: bool = True) -> Room:
    return open_room(project, home=str(home), clock=HandClock(), lock_wait_ms=lock_wait_ms, upgrade=upgrade)


def file_of(home: Path, project: str) -> Path:
    return home / "rooms" / project / "room.db"


def create(room: Room, title: str = "Parser") -> dict[str, Any]:
    return room.ask(OPERATIONS["create_issue"], {"title": title, "status": "ready"}, CALLER)


def titles(room: Room) -> list[str]:
    return [item["title"] for item in room.ask(OPERATIONS["list_issues"], {}, CALLER)["items"]]


def refused(act: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        act()
    assert "\n" not in caught.value.message
    return caught.value


# --- made and opened --------------------------------------------------------------------------------------------


def test_a_room_is_made_once_and_found_again(home: Path, project: str) -> None:
    room = opened(home, project)
    create(room)
    room.close()

    assert titles(opened(home, project)) == ["Parser"]
    names = {file.name for file in (home / "rooms" / project).iterdir()}
    assert not any(name.endswith(".new") for name in names)


def test_a_room_uses_write_ahead_logging_and_says_whose_file_it_is(home: Path, project: str) -> None:
    opened(home, project).close()

    raw = apsw.Connection(str(file_of(home, project)))

    assert raw.pragma("journal_mode") == "wal"
    assert raw.pragma("user_version") == SCHEMA
    assert raw.pragma("application_id") == 0x63776179
    assert raw.pragma("integrity_check") == "ok"
    raw.close()


def test_a_room_whose_logging_was_changed_is_set_right(home: Path, project: str) -> None:
    """A copy that was put in its place need not be in that mode."""
    opened(home, project).close()
    raw = apsw.Connection(str(file_of(home, project)))
    raw.pragma("journal_mode", "delete")
    raw.close()

    opened(home, project)

    raw = apsw.Connection(str(file_of(home, project)))
    assert raw.pragma("journal_mode") == "wal"
    raw.close()


def test_a_disk_that_cannot_log_ahead_is_refused_and_leaves_no_room(
    home: Path, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clearway.db import sqlite

    class Stubborn:
        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def pragma(self, name: str, value: str | None = None) -> Any:
            return "delete" if name == "journal_mode" else self._connection.pragma(name, value)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._connection, name)

    real = sqlite._opened
    monkeypatch.setattr(sqlite, "_opened", lambda file, flags: Stubborn(real(file, flags)))

    assert refused(lambda: opened(home, project)).code == "STORAGE_CONFIGURATION"

    assert not file_of(home, project).exists()


def test_a_network_file_system_is_refused_by_name_with_the_way_out(
    home: Path, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platforms, "network_file_system", lambda path: "nfs4")

    refusal = refused(lambda: opened(home, project))

    assert refusal.code == "STORAGE_CONFIGURATION"
    assert all(word in refusal.message for word in ("nfs4", "CLEARWAY_HOME", "PostgreSQL"))
    assert not file_of(home, project).exists()


@pytest.mark.skipif(not platforms.LINUX, reason="reads Linux's table of mounts")
def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [
        ("/", "ext4", "ext4 /dev/a rw"),
        ("/net", "nfs4", "nfs4 host:/x rw"),
        ("/net/local", "xfs", "xfs /dev/b rw"),
    ]
    table += [("/mnt/c", "9p", "9p drvfs rw,aname=drvfs"), ("/mnt/d", "9p", "9p share rw")]
    monkeypatch.setattr(platforms, "_mounts", lambda: table)

    kinds = {
        path: platforms.network_file_system(path) for path in ("/net/a", "/net", "/net/local/a", "/network", "/mnt/c/x")
    }

    assert kinds == {"/net/a": "nfs4", "/net": "nfs4", "/net/local/a": None, "/network": None, "/mnt/c/x": "9p"}
    assert platforms.network_file_system("/mnt/d/x") is None


# --- what is not a room -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"x" * 10_000, b"SQLite format 3\0" + b"\xff" * 8_000])
def test_a_file_that_is_no_database_of_ours_is_named_and_left_alone(home: Path, project: str, content: bytes) -> None:
    file = file_of(home, project)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)

    refusal = refused(lambda: opened(home, project))

    assert (refusal.code, str(file) in refusal.message) == ("STORAGE_CORRUPT", True)
    assert file.read_bytes() == content


def test_another_programs_database_is_no_room(home: Path, project: str) -> None:
    file = file_of(home, project)
    file.parent.mkdir(parents=True)
    raw = apsw.Connection(str(file))
    raw.execute("CREATE TABLE t (a)")
    raw.close()

    assert refused(lambda: opened(home, project)).code == "STORAGE_CORRUPT"


def test_a_damaged_page_is_found_when_it_is_read_and_told_in_one_line(home: Path, project: str) -> None:
    """P47, C35: the hook follows its fail mode; nothing is repaired behind anybody's back."""
    room = opened(home, project)
    for number in range(200):
        create(room, f"Issue {number}")
    room.close()
    file = file_of(home, project)
    whole = file.read_bytes()
    file.write_bytes(whole[:8_192] + os.urandom(len(whole) - 8_192))

    refusal = refused(lambda: titles(opened(home, project)))

    assert refusal.code == "STORAGE_CORRUPT"
    assert "clearway doctor" in refusal.message


# --- read-only, full and busy -----------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes, which only the superuser may have."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"NO SMALL DISK HERE, full and read-only disks go untested: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    with open(folder / "ballast", "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4_096)
        except OSError:
            pass


def test_on_a_full_disk_nothing_is_lost_and_what_is_held_is_still_known(small_disk: Path, project: str) -> None:
    """P46."""
    room = opened(small_disk, project)
    create(room)
    claim = room.ask(OPERATIONS["claim_issue"], {"next": True}, CALLER)
    fill(small_disk)

    made: list[str] = []

    def create_for_ever() -> None:
        while True:
            made.append(create(room, f"Issue {len(made)} " + "x" * 200)["display_id"])

    refusal = refused(create_for_ever)

    assert (refusal.code, "full" in refusal.message) == ("STORAGE_FAILURE", True)
    again = room.ask(OPERATIONS["get_issue"], {"issue_id": "ISSUE-1"}, CALLER)
    assert again["attempt"]["attempt_id"] == claim["attempt_id"]
    other = opened(small_disk, project)
    assert other.ask(OPERATIONS["get_issue"], {"issue_id": "ISSUE-1"}, CALLER)["effective_status"] == "in_progress"
    (small_disk / "ballast").unlink()
    assert create(room, "Room again")["display_id"] == f"ISSUE-{len(made) + 2}"


def test_a_read_only_disk_answers_reads_and_refuses_writes(small_disk: Path, project: str) -> None:
    """P46, C37."""
    room = opened(small_disk, project)
    create(room)
    room.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    room = opened(small_disk, project)

    assert titles(room) == ["Parser"]
    refusal = refused(lambda: create(room, "Lexer"))
    assert (refusal.code, "read-only" in refusal.message) == ("STORAGE_FAILURE", True)
    assert titles(room) == ["Parser"]
    room.close()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)


def test_where_no_room_can_be_made_one_line_says_so(tmp_path: Path, project: str) -> None:
    (tmp_path / "home").write_text("a file stands in the way")

    assert refused(lambda: opened(tmp_path / "home", project)).code == "STORAGE_FAILURE"


def write_under_a_limit(home: str, project: str, told: Connection) -> None:
    """In a process whose files may grow to 96 KiB, as if the disk ended there."""
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    room = opened(Path(home), project)
    resource.setrlimit(resource.RLIMIT_FSIZE, (98_304, 98_304))
    made = 0
    try:
        for number in range(1_000):
            create(room, f"Issue {number}")
            made += 1
    except Refusal as refusal:
        told.send((made, refusal.code, titles(room)[:1]))


def test_a_write_that_the_system_stops_half_way_is_undone(home: Path, project: str) -> None:
    opened(home, project).close()
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=write_under_a_limit, args=(str(home), project, theirs))
    child.start()
    made, code, first = ours.recv()
    child.join()

    assert (code, first) == ("STORAGE_FAILURE", ["Issue 0"])
    room = opened(home, project)
    assert create(room)["display_id"] == f"ISSUE-{made + 1}"
    assert apsw.Connection(room.engine.path).pragma("integrity_check") == "ok"


@pytest.mark.parametrize("takes_turns", [True, False])
def test_a_busy_room_refuses_a_write_at_its_deadline_and_still_answers_reads(
    home: Path, project: str, *, takes_turns: bool
) -> None:
    """C34, with a writer that knows of turns and with one that only SQLite knows of."""
    first, second = opened(home, project), opened(home, project, lock_wait_ms=30)
    create(first)
    raw = apsw.Connection(first.engine.path)
    session = first.engine.begin(writes=True) if takes_turns else None
    if session is None:
        raw.execute("BEGIN IMMEDIATE")

    refusal = refused(lambda: create(second))

    assert (refusal.code, refusal.retryable) == ("STORAGE_BUSY", True)
    assert titles(second) == ["Parser"]
    raw.execute("ROLLBACK") if session is None else session.rollback()
    raw.close()
    assert create(second)["display_id"] == "ISSUE-2"


def test_a_promise_waits_for_the_disk_and_lets_the_next_writer_in(
    home: Path, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = opened(home, project)
    others = Turns(str(file_of(home, project)) + "-turn")
    synced: list[tuple[int, bool]] = []

    def note(descriptor: int) -> None:
        free = others.take(0)
        others.leave()
        synced.append((os.fstat(descriptor).st_ino, free))

    monkeypatch.setattr(platforms, "sync_data", note)
    log = os.stat(str(file_of(home, project)) + "-wal").st_ino

    create(room)
    assert synced == [(log, True)]
    asked = {"title": "Once", "idempotency_key": "k"}
    first = room.ask(OPERATIONS["create_issue"], asked, CALLER)
    assert room.ask(OPERATIONS["create_issue"], asked, CALLER) == first
    assert synced == [(log, True)] * 3, "an answer that is given again promises the same"
    room.run(lambda tx: tx.tell("session_ended"), caller=CALLER, durable=False)
    titles(room)
    assert len(synced) == 3


def test_what_promises_nothing_does_not_wait_for_the_disk(home: Path, project: str) -> None:
    synced: list[str] = []

    class File(apsw.VFSFile):
        def xSync(self, flags: int) -> None:  # noqa: N802
            synced.append("by the library")
            super().xSync(flags)

    class Disk(apsw.VFS):
        def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
            return File("unix", name, flags)

    opened(home, project).close()
    disk = Disk("clearway-counting", "unix", True)
    try:
        room = opened(home, project)
        room.run(lambda tx: tx.tell("session_ended"), caller=CALLER, durable=False)
        synced.clear()  # a log that begins is synced once
        for _ in range(3):
            room.run(lambda tx: tx.tell("session_ended"), caller=CALLER, durable=False)
            create(room)
        assert synced == [], "nor does a promise, while it keeps others waiting"
        room.close()
    finally:
        apsw.set_default_vfs("unix")
        disk.unregister()


def test_a_promise_that_does_not_reach_the_disk_is_no_promise(
    home: Path, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = opened(home, project)

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(platforms, "sync_data", broken)
        assert refused(lambda: create(room)).code == "STORAGE_FAILURE"
    assert create(room)["version"] == 1


def test_a_turn_that_came_too_late_is_given_on(tmp_path: Path) -> None:
    """Whoever gave up waiting does not hold the turn when it comes to it after all."""
    one, two, three = (Turns(str(tmp_path / "turn")) for _ in range(3))
    assert one.take(1_000)

    assert not two.take(100)  # long enough to stand in the queue
    one.leave()

    assert three.take(60_000)
    three.leave()
    assert two.take(60_000)
    two.leave()


def hold_a_turn(path: str, told: Connection) -> None:
    turns = Turns(path)
    assert turns.take(1_000)
    told.send("taken")
    told.recv()


def test_a_turn_ends_with_its_process(tmp_path: Path) -> None:
    path = str(tmp_path / "turn")
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=hold_a_turn, args=(path, theirs))
    child.start()
    assert ours.recv() == "taken"
    turns = Turns(path)
    assert not turns.take(1)

    child.kill()

    assert turns.take(60_000)
    child.join()


def test_without_a_place_for_turns_the_file_alone_decides(tmp_path: Path) -> None:
    assert Turns(str(tmp_path / "not" / "there" / "turn")).take(0)


def test_a_long_log_is_shortened_by_who_writes(home: Path, project: str) -> None:
    room = opened(home, project)
    for number in range(400):
        create(room, f"Issue {number}")

    assert Path(room.engine.path + "-wal").stat().st_size < 3_000 * 4_120
    assert file_of(home, project).stat().st_size > 200_000


# --- schema -----------------------------------------------------------------------------------------------------


def tampered(home: Path, project: str, *statements: str) -> bytes:
    opened(home, project).close()
    raw = apsw.Connection(str(file_of(home, project)))
    for statement in statements:
        raw.execute(statement)
    raw.pragma("wal_checkpoint", "TRUNCATE")
    raw.close()
    return file_of(home, project).read_bytes()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE schema_migration SET checksum = replace(checksum, substr(checksum, 1, 1), 'x') WHERE version = 1",
        "UPDATE schema_migration SET name = 'other' WHERE version = 1",
        "UPDATE schema_migration SET version = 99 WHERE version = 1",
        "DELETE FROM schema_migration",
        "DELETE FROM schema_migration; PRAGMA user_version = 0",
        f"PRAGMA user_version = {SCHEMA + 1}",
    ],
)
def test_a_foreign_or_newer_schema_is_refused_and_not_touched(home: Path, project: str, statement: str) -> None:
    """I4."""
    before = tampered(home, project, statement)

    refusal = refused(lambda: opened(home, project))

    assert refusal.code == "STORAGE_MIGRATION"
    assert file_of(home, project).read_bytes() == before


def test_what_a_room_has_is_told_by_its_history_and_the_number_follows(home: Path, project: str) -> None:
    tampered(home, project, "PRAGMA user_version = 0")

    hook = opened(home, project, upgrade=False)
    create(hook)
    hook.close()
    assert titles(opened(home, project)) == ["Parser"]

    raw = apsw.Connection(str(file_of(home, project)))
    assert raw.pragma("user_version") == SCHEMA
    raw.close()


def test_a_newer_schema_is_refused_to_a_hook_as_well(home: Path, project: str) -> None:
    """I4: who may not bring a room forward does not write into one that it does not know either."""
    tampered(home, project, f"PRAGMA user_version = {SCHEMA + 1}")

    assert refused(lambda: opened(home, project, upgrade=False)).code == "STORAGE_MIGRATION"


def test_a_statement_that_meets_another_schema_is_a_bug_and_not_a_refusal(home: Path, project: str) -> None:
    text = "SELECT nothing FROM nowhere"

    with pytest.raises(apsw.SQLError):
        opened(home, project).run(lambda tx: tx.one(Statement("x", text, text)), caller=CALLER)


# --- many at once -----------------------------------------------------------------------------------------------


def open_and_write(home: str, project: str, number: int) -> str:
    room = opened(Path(home), project)
    try:
        return str(create(room, f"Issue {number}")["display_id"])
    finally:
        room.close()


def test_sixty_processes_open_a_room_that_is_not_there_and_it_is_one_room(home: Path, project: str) -> None:
    """P7, on the file itself."""
    with SPAWN.Pool(12) as pool:
        names = pool.starmap(open_and_write, [(str(home), project, number) for number in range(60)], chunksize=1)

    assert sorted(names, key=lambda name: int(name[6:])) == [f"ISSUE-{number}" for number in range(1, 61)]
    assert [file.name for file in (home / "rooms").iterdir()] == [project]
    left = {file.name for file in (home / "rooms" / project).iterdir()}
    assert left <= {"room.db", "room.db-wal", "room.db-shm", "room.db-turn", "room.db-turn-line"}
