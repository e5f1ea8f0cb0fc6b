"""The hook and the command line while the room cannot be written, read, or reached: a held file stays held."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.db import faulty

from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.setup import doctor
from clearway.surfaces import hooks


def _as_anybody() -> list[str] | None:
    """How to start a process to which the modes of files mean something; None where that cannot be done."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    return [setpriv, "--bounding-set=-dac_override,-dac_read_search"] if setpriv else None


ANYBODY = _as_anybody()
needs_modes = pytest.mark.skipif(ANYBODY is None, reason="the superuser may write everywhere, and setpriv is missing")


class Desk:
    """A repository in which alpha holds `held.txt`."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.home = tmp_path / "state"
        self.before: Callable[[], None] | None = None  # what a program does before it begins
        self.environ = {
            "HOME": str(tmp_path),
            "CLEARWAY_HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def rooms(self, **more: Any) -> Rooms:
        return Rooms(Settings(self.environ), **more)

    def hold(self, rooms: Rooms) -> None:
        alpha = Caller("alpha", "a1", cwd=str(self.repo), host=rooms.liveness.host)
        rooms.ask(OPERATIONS["claim_paths"], {"paths": ["held.txt"], "purpose": "work"}, alpha)

    def edit(self, file: str, agent: str = "beta", **environ: str) -> tuple[str, int]:
        """What the hook says to an edit, in this process."""
        out, err, status = hooks.answer("generic", self.payload(file, agent), {**self.environ, **environ})
        return out + err, status

    def edit_outside(self, file: str, **environ: str) -> tuple[str, int]:
        """The same in a process to which the modes of files mean something."""
        ended = self.program(["hook", "generic"], stdin=self.payload(file, "beta"), **environ)
        return (ended.stdout + ended.stderr).decode(), ended.returncode

    def program(self, words: list[str], stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*(ANYBODY or []), sys.executable, "-m", "clearway.surfaces.cli", *words],
            input=stdin,
            env=self.environ | environ,
            cwd=self.repo,
            capture_output=True,
            timeout=60,
            preexec_fn=self.before,
        )

    def payload(self, file: str, agent: str) -> bytes:
        payload = {"event": "before", "agent": agent, "session": f"{agent}-1", "tool": "Edit", "cwd": str(self.repo)}
        return json.dumps(payload | {"input": {"file_path": str(self.repo / file)}}).encode()

    @property
    def file(self) -> Path:
        (found,) = self.home.glob("rooms/*/room.db")
        return found


@pytest.fixture
def desk(tmp_path: Path, repo: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, repo)
    yield made
    thaw(tmp_path)


def freeze(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.chmod(0o500 if path.is_dir() else 0o400)
    folder.chmod(0o500)


def thaw(folder: Path) -> None:
    for where, folders, _ in os.walk(folder):
        for name in folders:
            (Path(where) / name).chmod(0o700)


# --- what cannot be written -------------------------------------------------------------------------------------------


def left_by_a_clean_end(desk: Desk, rooms: Rooms) -> None:
    rooms.close()


def left_by_a_process_that_lives(desk: Desk, rooms: Rooms) -> None:
    """Its log and the index of that are beside the file."""


def left_without_an_index(desk: Desk, rooms: Rooms) -> None:
    """A copy of the file and its log alone: what was committed last is in the log only."""
    log = desk.file.with_name("room.db-wal").read_bytes()
    content = desk.file.read_bytes()
    rooms.close()
    desk.file.write_bytes(content)
    desk.file.with_name("room.db-wal").write_bytes(log)


@needs_modes
@pytest.mark.parametrize(
    "left", [left_by_a_clean_end, left_by_a_process_that_lives, left_without_an_index], ids=lambda left: left.__name__
)
def test_a_state_that_cannot_be_written_still_says_who_holds_what(
    desk: Desk, left: Callable[[Desk, Rooms], None]
) -> None:
    """P46, P47, C37."""
    rooms = desk.rooms()
    desk.hold(rooms)
    left(desk, rooms)
    freeze(desk.home)
    said, status = desk.edit_outside("held.txt")
    assert (status, "held.txt is held by alpha" in said) == (2, True), said
    said, status = desk.edit_outside("free.txt")
    assert (status, said.count("\n")) == (0, 1)
    assert "guard open (STORAGE_FAILURE" in said
    said, status = desk.edit_outside("free.txt", CLEARWAY_FAIL_CLOSED="1")
    assert (status, "fail closed" in said) == (2, True)
    ended = desk.program(["owner", "held.txt"])
    assert (ended.returncode, b"alpha" in ended.stdout) == (0, True)
    ended = desk.program(["claim", "free.txt", "--as", "beta"])
    assert (ended.returncode, ended.stderr.startswith(b"STORAGE_FAILURE: ")) == (5, True)
    thaw(desk.home)
    rooms.close()


@needs_modes
def test_init_where_nothing_can_be_written_says_so(desk: Desk, tmp_path: Path) -> None:
    """C37."""
    desk.home.mkdir()
    freeze(desk.home)
    ended = desk.program(["init"])
    assert ended.returncode == 5
    assert ended.stderr.startswith(b"STORAGE_FAILURE: ")
    assert ended.stderr.count(b"\n") == 1
    assert not (desk.repo / ".clearway.json").exists()


def test_on_a_full_disk_what_is_held_stays_held(desk: Desk) -> None:
    """P46, C20: the disk refuses everything from now on."""
    rooms = desk.rooms()
    desk.hold(rooms)
    rooms.close()
    disk = faulty.Disk()
    try:
        disk.arm(faulty.FULL, 1)
        disk.stays = True
        assert "held.txt is held by alpha" in desk.edit("held.txt")[0]
        assert "guard open (STORAGE_FAILURE" in desk.edit("free.txt")[0]
        assert desk.edit("free.txt", CLEARWAY_FAIL_CLOSED="1")[1] == 2
        disk.disarm()
        assert desk.edit("free.txt") == ("", 0)
    finally:
        apsw.set_default_vfs("unix")
        disk.unregister()


def no_file_grows() -> None:
    """What a full disk is to whoever has to make even the index of a log anew."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("left", [left_by_a_clean_end, left_without_an_index], ids=lambda left: left.__name__)
def test_on_a_disk_that_was_full_before_the_room_is_opened_what_is_held_stays_held(
    desk: Desk, left: Callable[[Desk, Rooms], None]
) -> None:
    """P46, C20: the last who closes a room takes the index of its log along, and a new one cannot be made."""
    rooms = desk.rooms()
    desk.hold(rooms)
    left(desk, rooms)

    desk.before = no_file_grows
    said, status = desk.edit_outside("held.txt")
    assert (status, "held.txt is held by alpha" in said) == (2, True), said
    said, status = desk.edit_outside("free.txt")
    assert (status, said.count("\n"), "guard open (STORAGE_FAILURE" in said) == (0, 1, True), said
    assert desk.edit_outside("free.txt", CLEARWAY_FAIL_CLOSED="1")[1] == 2
    ended = desk.program(["claim", "free.txt", "--as", "beta"])
    assert (ended.returncode, ended.stderr.startswith(b"STORAGE_FAILURE: ")) == (5, True)
    assert desk.edit("free.txt") == ("", 0), "it can be written again"


# --- what another keeps -----------------------------------------------------------------------------------------------


def test_while_a_writer_does_not_end_what_is_held_stays_held(desk: Desk) -> None:
    """P46, C34."""
    rooms = desk.rooms()
    desk.hold(rooms)
    writer = apsw.Connection(str(desk.file))
    writer.execute("BEGIN IMMEDIATE")
    assert "held.txt is held by alpha" in desk.edit("held.txt")[0]
    assert "guard open (STORAGE_BUSY" in desk.edit("free.txt")[0]
    assert desk.edit("free.txt", CLEARWAY_FAIL_CLOSED="1")[1] == 2
    impatient = desk.rooms(lock_wait_ms=20)
    with pytest.raises(Refusal) as caught:
        desk.hold(impatient)
    assert (caught.value.code, caught.value.exit_status, caught.value.retryable) == ("STORAGE_BUSY", 5, True)
    writer.execute("ROLLBACK")
    assert desk.edit("free.txt") == ("", 0)
    impatient.close()
    rooms.close()


def test_what_was_asked_while_a_writer_was_busy_is_done_when_it_ends(desk: Desk) -> None:
    """C34: ten claims wait, and all of them succeed."""
    rooms = desk.rooms()
    desk.hold(rooms)
    writer = apsw.Connection(str(desk.file))
    writer.execute("BEGIN IMMEDIATE")
    done: list[str] = []
    begun = threading.Barrier(11)

    def claim(number: int) -> None:
        mine = desk.rooms()
        begun.wait()
        caller = Caller(f"agent{number}", f"s{number}", cwd=str(desk.repo), host="here")
        done.extend(
            lease["path"]
            for lease in mine.ask(OPERATIONS["claim_paths"], {"paths": [f"new{number}"]}, caller)["granted"]
        )
        mine.close()

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    begun.wait()
    assert "guard open (STORAGE_BUSY" in desk.edit("free.txt")[0]
    writer.execute("ROLLBACK")
    for thread in threads:
        thread.join()
    assert sorted(done) == sorted(f"new{number}" for number in range(10))
    rooms.close()


# --- what is wrong ----------------------------------------------------------------------------------------------------


def unreadable(file: Path) -> None:
    file.unlink()
    file.mkdir()


def corrupt(file: Path) -> None:
    file.write_bytes(b"no database at all" * 1_000)


def newer(file: Path) -> None:
    connection = apsw.Connection(str(file))
    connection.pragma("user_version", 999)
    connection.close()


@pytest.mark.parametrize(
    ("harm", "code"),
    [(unreadable, "STORAGE_FAILURE"), (corrupt, "STORAGE_CORRUPT"), (newer, "STORAGE_MIGRATION")],
)
def test_every_passage_is_counted_and_the_doctor_says_how_many(
    desk: Desk, harm: Callable[[Path], None], code: str
) -> None:
    """C20."""
    rooms = desk.rooms()
    desk.hold(rooms)
    rooms.close()
    harm(desk.file)
    for _ in range(3):
        said, status = desk.edit("held.txt")
        assert (status, said.count("\n"), f"guard open ({code}" in said) == (0, 1, True)
    assert desk.edit("held.txt", CLEARWAY_FAIL_CLOSED="1")[1] == 2
    found = {check["name"]: check for check in doctor.examine(Settings(desk.environ), str(desk.repo))}
    assert "3 calls passed unchecked" in found["guard_open"]["message"]
    assert f"{code} 3" in found["guard_open"]["message"]
    assert "the last at" in found["guard_open"]["message"]
    assert found["room"]["level"] == "problem"
