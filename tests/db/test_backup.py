"""Backups prove themselves, damage is mended by the first command that proves it, and what is lost is said."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import World, git

from clearway import keeping
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.db import copies
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.surfaces import hooks


class Shop:
    """A repository with work in its room, asked by processes that come and go."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.home = tmp_path / "state"
        self.repo = repo
        self.environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(self.home)}
        self.said: list[str] = []

    def ask(self, operation: str, session: str = "s1", **arguments: Any) -> dict[str, Any]:
        rooms = self.rooms()
        try:
            caller = Caller("anna", session, cwd=str(self.repo), host="here")
            return rooms.ask(OPERATIONS[operation], arguments, caller)
        finally:
            rooms.close()

    def rooms(self) -> Rooms:
        return Rooms(Settings(self.environ), say=self.said.append)

    def titles(self) -> set[str]:
        return {item["title"] for item in self.ask("list_issues", limit=100)["items"]}

    def edit(self, file: str) -> str:
        payload = f'{{"event": "before", "agent": "beta", "session": "b1", "tool": "Edit", "cwd": "{self.repo}",'
        raw = f'{payload} "input": {{"file_path": "{self.repo}/{file}"}}}}'.encode()
        out, err, _ = hooks.answer("generic", raw, self.environ)
        return out + err

    @property
    def file(self) -> Path:
        (found,) = self.home.glob("rooms/*/room.db")
        return found

    @property
    def beside(self) -> list[str]:
        """What stands beside the room, but for what SQLite and the turns need."""
        names = [path.name for path in self.file.parent.iterdir()]
        return sorted(name for name in names if not name.endswith(("-wal", "-shm", "-turn", "-turn-line")))

    def overwrite(self, page: int) -> None:
        """Damage one page of the file, once nobody has it open."""
        with open(self.file, "r+b") as file:
            file.seek((page - 1) * 4096)
            file.write(os.urandom(4096))

    def page_of(self, table: str) -> int:
        connection = apsw.Connection(str(self.file))
        try:
            return next(iter(connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))))[0]
        finally:
            connection.close()


@pytest.fixture
def shop(tmp_path: Path, repo: Path) -> Shop:
    made = Shop(tmp_path, repo)
    made.ask("create_issue", title="First", status="ready")
    return made


def refusal(act: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        act()
    return caught.value


# --- backups ----------------------------------------------------------------------------------------------------------


def test_a_backup_is_whole_private_and_opens_again(world: World, tmp_path: Path) -> None:
    """I62, on both engines."""
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="First", status="ready")
    claim = agent.ask("claim_issue", next=True)
    agent.ask("claim_paths", paths=["held.txt"])
    file = tmp_path / "copy.db"
    found = keeping.back_up(world.room, str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.glob("copy.db*")) == ["copy.db"]
    assert (found.project, found.events) == (world.room.project, world.events()[-1].id)
    connection = copies.opened(str(file))
    assert connection.execute("SELECT shown FROM path_lease").fetchall() == [("held.txt",)]
    assert connection.execute("SELECT count(*) FROM event").fetchone() == (found.events,)
    connection.close()
    raw = file.read_bytes()
    assert claim["lease_token"].encode() not in raw
    assert (tmp_path / "home" / "secret").read_bytes() not in raw


def test_a_backup_never_overwrites_not_even_the_room(world: World, tmp_path: Path) -> None:
    """I62: neither an output that is there nor the room."""
    world.agent("claude-code").ask("create_issue", title="First")
    (tmp_path / "mine.db").write_text("mine")
    assert refusal(lambda: keeping.back_up(world.room, str(tmp_path / "mine.db"))).code == "INVALID_ARGUMENT"
    assert (tmp_path / "mine.db").read_text() == "mine"
    assert refusal(lambda: keeping.back_up(world.room, str(tmp_path / "none" / "x.db"))).code == "PATH_INVALID"
    if world.room.engine.name == "sqlite":
        (tmp_path / "link.db").symlink_to(world.room.engine.path)
        for name in (world.room.engine.path, str(tmp_path / "link.db")):
            assert "is the room itself" in refusal(lambda name=name: keeping.back_up(world.room, name)).message


def test_a_copy_that_cannot_be_read_again_is_removed(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I62."""
    world.agent("claude-code").ask("create_issue", title="First")

    def torn(file: str) -> None:
        Path(file).write_bytes(b"SQLite format 3\0" + b"\1" * 8_192)

    monkeypatch.setattr(world.room.engine, "copy_to", torn)
    assert refusal(lambda: keeping.back_up(world.room, str(tmp_path / "copy.db"))).code == "STORAGE_CORRUPT"
    assert not list(tmp_path.glob("copy.db*"))


def test_a_backup_is_written_while_others_write(world: World, tmp_path: Path) -> None:
    """I62: every backup is one moment of the room, whoever writes meanwhile."""
    writer = world.agent("codex", own_room=True)
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            writer.ask("create_issue", title=f"Issue {number}")

    thread = threading.Thread(target=write)
    if world.room.engine.name == "sqlite":
        thread.start()
    try:
        for number in range(5):
            found = keeping.back_up(world.room, str(tmp_path / f"{number}.db"))
            connection = copies.opened(str(tmp_path / f"{number}.db"))
            assert connection.execute("SELECT count(*) FROM event").fetchone() == (found.events,)
            connection.close()
    finally:
        done.set()
        if thread.ident is not None:
            thread.join()


def test_the_first_command_of_a_day_writes_a_backup_and_seven_are_kept(shop: Shop) -> None:
    folder = shop.file.parent / "backups"
    assert not folder.exists()
    for day in range(1, 10):
        (shop.file.parent / "backups").mkdir(exist_ok=True)
        (folder / f"daily-2020-01-0{day}.db").write_bytes(b"old")
    (folder / "before-schema-2.db").write_bytes(b"kept")
    shop.titles()
    shop.titles()
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 8
    assert names[0] == "before-schema-2.db"
    assert names[1] == "daily-2020-01-04.db"
    assert copies.examine(str(folder / names[-1])).issues == 1
    assert (folder / names[-1]).stat().st_mode & 0o777 == 0o600


def test_a_hook_writes_no_backup(shop: Shop) -> None:
    shop.edit("free.txt")
    shop.edit("free.txt")
    assert not (shop.file.parent / "backups").exists()


def test_a_backup_that_cannot_be_written_keeps_nobody_from_working(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop.file.parent / "backups").write_text("in the way")
    assert shop.titles() == {"First"}


# --- restored ---------------------------------------------------------------------------------------------------------


def restore(shop: Shop, backup: Path, *, force: bool = False) -> tuple[copies.Facts, str]:
    target = shop.file.parent if list(shop.home.glob("rooms/*/room.db")) else next(shop.home.glob("rooms/*"))
    return keeping.restore(str(target / "room.db"), str(backup), target.name, Clock(), force=force)


@pytest.fixture
def backup(shop: Shop, tmp_path: Path) -> Path:
    rooms = shop.rooms()
    keeping.back_up(rooms.of_folder(str(shop.repo)), str(tmp_path / "backup.db"))
    rooms.close()
    return tmp_path / "backup.db"


def test_a_backup_goes_into_a_missing_room(shop: Shop, backup: Path) -> None:
    shutil.rmtree(shop.file.parent / "backups", ignore_errors=True)
    for path in shop.home.glob("rooms/*/room.db*"):
        path.unlink()
    found, kept = restore(shop, backup)
    assert (found.issues, kept) == (1, "")
    assert shop.titles() == {"First"}
    assert shop.file.stat().st_mode & 0o777 == 0o600


def test_newer_work_is_only_replaced_by_force_and_kept_aside(shop: Shop, backup: Path) -> None:
    shop.ask("create_issue", title="Second")
    refused = refusal(lambda: restore(shop, backup))
    assert refused.code == "PROJECT_ALREADY_INITIALIZED"
    assert "--force" in refused.message
    assert shop.titles() == {"First", "Second"}
    kept = restore(shop, backup, force=True)[1]
    assert shop.titles() == {"First"}
    assert copies.examine(kept).issues == 2
    assert shop.ask("create_issue", title="Third")["display_id"] == "ISSUE-3", "a number is given out once"


def test_a_process_that_has_the_old_room_open_goes_on_in_the_new_one(shop: Shop, backup: Path) -> None:
    rooms = shop.rooms()
    caller = Caller("anna", "s1", cwd=str(shop.repo), host="here")
    rooms.ask(OPERATIONS["create_issue"], {"title": "Second"}, caller)
    kept = restore(shop, backup, force=True)[1]
    rooms.ask(OPERATIONS["create_issue"], {"title": "Third"}, caller)
    rooms.close()
    assert shop.titles() == {"First", "Third"}
    assert copies.examine(kept).issues == 2


def test_what_is_no_backup_of_this_project_is_refused(shop: Shop, backup: Path, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database")
    assert refusal(lambda: restore(shop, tmp_path / "text.db")).code == "STORAGE_CORRUPT"
    assert refusal(lambda: restore(shop, tmp_path / "none.db")).code == "STORAGE_CORRUPT"
    assert refusal(lambda: restore(shop, shop.file)).code == "INVALID_ARGUMENT"
    wrong = refusal(lambda: keeping.restore(str(shop.file), str(backup), Clock().new_id(), Clock(), force=True))
    assert wrong.code == "PROJECT_DATABASE_MISMATCH"
    connection = apsw.Connection(str(backup))
    connection.pragma("user_version", 999)
    connection.close()
    assert refusal(lambda: restore(shop, backup)).code == "STORAGE_MIGRATION"
    assert shop.titles() == {"First"}


# --- mended -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def busy(shop: Shop) -> Shop:
    """A shop with a backup, and work since."""
    shop.titles()
    for number in range(60):
        shop.ask("create_issue", title=f"Issue {number}", description="x" * 2_000)
    return shop


def test_a_damaged_room_is_mended_by_a_command_and_what_is_lost_is_said(busy: Shop) -> None:
    """C35: overwrite a page of the database; run status."""
    busy.overwrite(busy.page_of("label"))
    busy.ask("create_issue", title="Asked of the damaged room", labels=["new"])
    assert busy.titles() == {"First", "Asked of the damaged room", *(f"Issue {number}" for number in range(60))}
    (said,) = busy.said
    assert "was damaged and is now" in said
    assert "lost is what stood in label" in said
    assert [name for name in busy.beside if name.startswith("room.db.corrupt-")]
    assert copies.examine(str(busy.file)).issues == 62


def test_a_room_of_which_nothing_can_be_read_is_restored_from_its_backup(busy: Shop) -> None:
    busy.file.write_bytes(os.urandom(20_000))
    assert busy.titles() == {"First"}
    assert "the backup daily-" in busy.said[0]
    assert "could not be read" in busy.said[0]


def test_without_a_backup_an_empty_room_is_begun_and_says_so(shop: Shop) -> None:
    shop.file.write_bytes(os.urandom(20_000))
    assert shop.titles() == set()
    assert "an empty room was begun" in shop.said[0]
    assert [name for name in shop.beside if name.startswith("room.db.corrupt-")]


def test_what_a_mend_left_that_was_killed_is_not_taken_for_the_room(busy: Shop) -> None:
    room = busy.file
    shutil.rmtree(room.parent / "backups")
    room.rename(room.with_name("room.db.corrupt-2026-08-01"))
    for left in (".new", ".new-turn", ".new-turn-line", ".new-wal"):
        room.with_name(f"room.db.01AAAA{left}").touch()
    assert busy.titles() == {"First", *(f"Issue {number}" for number in range(60))}


def test_damage_in_the_newest_backup_is_noticed_and_an_older_one_taken(busy: Shop) -> None:
    folder = busy.file.parent / "backups"
    (newest,) = folder.iterdir()
    shutil.copy(newest, folder / "daily-2020-01-01.db")
    os.utime(folder / "daily-2020-01-01.db", (1, 1))
    newest.write_bytes(newest.read_bytes()[:5_000])
    busy.file.write_bytes(os.urandom(20_000))
    assert busy.titles() == {"First"}
    assert "daily-2020-01-01.db" in busy.said[0]


def test_a_lease_of_a_damaged_room_stays_a_lease(busy: Shop) -> None:
    busy.ask("claim_paths", "s2", paths=["held.txt"])
    busy.overwrite(busy.page_of("label"))
    busy.ask("create_issue", title="Asked of the damaged room", labels=["new"])
    assert busy.said
    assert "held.txt is held by anna" in busy.edit("held.txt")


def test_a_hook_never_moves_a_damaged_room(busy: Shop) -> None:
    """C20."""
    busy.overwrite(1)
    before = busy.file.read_bytes()
    assert "guard open (STORAGE_CORRUPT" in busy.edit("free.txt")
    assert busy.file.read_bytes() == before
    assert busy.beside == ["backups", "room.db"]


def test_damage_that_shows_only_when_it_is_read_is_mended_too(busy: Shop) -> None:
    """The file opens; the statement meets the damage."""
    busy.overwrite(busy.page_of("issue"))
    assert busy.titles() == {"First"}
    assert "lost is what stood in" in busy.said[0]
    assert "issue" in busy.said[0]
    assert git(busy.repo, "status", "--porcelain") == "", "nothing of ours is in the repository"


def test_of_several_commands_that_meet_the_damage_one_mends_it(busy: Shop) -> None:
    busy.overwrite(busy.page_of("label"))
    failed: list[BaseException] = []

    def ask(number: int) -> None:
        try:
            busy.ask("create_issue", title=f"New {number}", labels=["new"])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert {f"New {number}" for number in range(4)} <= busy.titles()
    assert len([name for name in busy.beside if name.startswith("room.db.corrupt-")]) == 1
