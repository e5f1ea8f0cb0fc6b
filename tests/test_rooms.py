"""Which room answers: found by the pointer, by memory, or by what is left; never begun anew beside existing work."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import git

from clearway import config, platforms, repository
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.repository import Repository
from clearway.rooms import Rooms
from clearway.surfaces import hooks


class House:
    """A machine's state, and whoever asks for rooms of it."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.home = tmp_path / "state"
        self.repo = repo
        self.environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(self.home)}
        self.said: list[str] = []
        self._opened: list[Rooms] = []

    def rooms(self, *, upgrade: bool = True) -> Rooms:
        self._opened.append(Rooms(Settings(self.environ), upgrade=upgrade, say=self.said.append))
        return self._opened[-1]

    def ask(self, operation: str, folder: Path | None = None, **arguments: Any) -> dict[str, Any]:
        """What a process of its own would be answered."""
        rooms = self.rooms()
        try:
            caller = Caller("anna", cwd=str(folder or self.repo), host="here")
            return rooms.ask(OPERATIONS[operation], arguments, caller)
        finally:
            rooms.close()

    def titles(self, folder: Path | None = None) -> list[str]:
        return [item["title"] for item in self.ask("list_issues", folder)["items"]]

    def init(self, folder: Path | None = None) -> str:
        return self.rooms().adopt(self.place(folder))

    def place(self, folder: Path | None = None) -> Repository:
        found = repository.holding(str(folder or self.repo))
        assert found is not None
        return found

    def edit(self, file: Path) -> str:
        """What the hook of a client says to an edit."""
        payload = f'{{"event": "before", "agent": "beta", "session": "b1", "tool": "Edit", "cwd": "{self.repo}",'
        out, err, _ = hooks.answer("generic", f'{payload} "input": {{"file_path": "{file}"}}}}'.encode(), self.environ)
        return out + err

    @property
    def files(self) -> list[Path]:
        return sorted(self.home.glob("rooms/*/room.db"))

    def close(self) -> None:
        for rooms in self._opened:
            rooms.close()


@pytest.fixture
def house(tmp_path: Path, repo: Path) -> Iterator[House]:
    made = House(tmp_path, repo)
    yield made
    made.close()


# --- found again ------------------------------------------------------------------------------------------------------


def test_a_branch_without_the_pointer_stays_in_the_room(house: House) -> None:
    house.init()
    git(house.repo, "add", "-A")
    git(house.repo, "commit", "-q", "-m", "pointer")
    house.ask("create_issue", title="Here")
    git(house.repo, "checkout", "-q", "HEAD~1")
    assert not (house.repo / ".clearway.json").exists()
    assert house.titles() == ["Here"]
    assert len(house.files) == 1


def test_a_clone_whose_pointer_was_only_seen_by_a_hook_is_remembered_too(house: House, tmp_path: Path) -> None:
    house.init()
    git(house.repo, "add", "-A")
    git(house.repo, "commit", "-q", "-m", "pointer")
    house.ask("create_issue", title="Here")
    git(tmp_path, "clone", "-q", str(house.repo), "clone")
    clone = tmp_path / "clone"
    assert house.edit(clone / "free.txt") == ""
    git(clone, "checkout", "-q", "HEAD~1")
    assert house.titles(clone) == ["Here"]
    assert len(house.files) == 1


def test_a_repository_that_was_moved_keeps_its_room(house: House, tmp_path: Path) -> None:
    house.ask("create_issue", title="Here")
    house.ask("claim_paths", paths=["held.txt"])
    house.repo.rename(tmp_path / "elsewhere")
    assert house.titles(tmp_path / "elsewhere") == ["Here"]


def test_another_repository_in_the_same_place_has_a_room_of_its_own(house: House) -> None:
    house.ask("create_issue", title="Here")
    shutil.move(house.repo, house.repo.with_name("old"))
    house.repo.mkdir()
    git(house.repo, "init", "-q")
    assert house.titles() == []


def test_a_worktree_and_its_repository_share_a_room(house: House, tmp_path: Path) -> None:
    house.ask("create_issue", title="Here")
    git(house.repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert house.titles(tmp_path / "tree") == ["Here"]


def test_what_was_done_before_the_pointer_is_adopted_with_it(house: House) -> None:
    house.ask("create_issue", title="Here")
    project = house.init()
    assert [file.parent.name for file in house.files] == [project]
    assert house.titles() == ["Here"]


def test_files_outside_every_repository_belong_to_the_machine(house: House, tmp_path: Path) -> None:
    house.ask("claim_paths", paths=[str(tmp_path / "notes.txt"), "held.txt"])
    assert "notes.txt" in house.edit(tmp_path / "notes.txt")
    assert "held by anna" in house.edit(house.repo / "held.txt")
    assert len(house.files) == 1


def test_too_many_paths_are_refused_before_any_is_looked_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def locate(*_: Any) -> None:
        raise AssertionError("looked at the disk")

    house.init()
    monkeypatch.setattr(repository, "locate", locate)
    for operation in ("claim_paths", "release_paths"):
        with pytest.raises(Refusal) as caught:
            house.ask(operation, paths=[f"src/{number}" for number in range(100_000)])
        assert caught.value.code == "LIMIT_EXCEEDED"


def test_the_paths_an_issue_will_change_do_not_choose_its_room(house: House) -> None:
    """They are looked for nowhere: they may not exist yet, and are spelled from the root."""
    house.init()
    inner = house.repo / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    house.ask("create_issue", title="Both", paths=["inner/a.py", "src/a.py"])
    assert house.titles() == ["Both"]
    assert house.titles(inner) == []


def test_a_fresh_clone_gets_an_empty_room_and_one_line_says_so(house: House, tmp_path: Path) -> None:
    """I7."""
    house.init()
    house.ask("create_issue", title="Here")
    other = House(tmp_path, house.repo)
    other.environ["CLEARWAY_HOME"] = str(tmp_path / "other machine")
    assert other.titles() == []
    assert [sentence.partition(";")[0] for sentence in other.said] == ["this project had no room on this machine"]
    assert other.titles() == []
    assert len(other.said) == 1
    other.close()


# --- never beside existing work ---------------------------------------------------------------------------------------


def test_a_hook_begins_no_room_beside_the_backups_of_one(house: House) -> None:
    """C35: a fresh start never ignores existing items."""
    house.ask("create_issue", title="Here")
    house.titles()  # the first command after something happened writes the day's backup
    (file,) = house.files
    file.unlink()
    assert "STORAGE_CORRUPT" in house.edit(house.repo / "free.txt")
    assert not file.exists()


def test_a_command_restores_a_room_that_is_gone_and_says_what_is_lost(house: House) -> None:
    """C35: delete the database; run status."""
    house.ask("create_issue", title="Here")
    house.titles()
    house.ask("create_issue", title="After the backup")
    for left in house.home.glob("rooms/*/room.db*"):
        left.unlink()
    assert house.titles() == ["Here"]
    assert house.said[-1].endswith("was restored, and what was written after it is lost.")


def test_the_log_of_a_room_that_somebody_removed_is_not_applied_to_a_new_one(house: House) -> None:
    rooms = house.rooms()
    caller = Caller("anna", cwd=str(house.repo), host="here")
    for number in range(20):
        rooms.ask(OPERATIONS["create_issue"], {"title": f"Old {number}", "description": "x" * 5_000}, caller)
    (file,) = house.files
    log = file.with_name("room.db-wal").read_bytes()
    rooms.close()
    file.unlink()
    file.with_name("room.db-wal").write_bytes(log)
    assert house.titles() == []
    house.ask("create_issue", title="New")
    assert house.titles() == ["New"]
    assert house.rooms().of_repository(house.place()).engine.integrity(full=True) == []


def test_numbers_given_out_before_are_not_given_out_again(house: House) -> None:
    house.ask("create_issue", title="Here")
    before = house.ask("claim_paths", paths=["held.txt"])["granted"][0]["fence"]
    house.titles()
    for left in house.home.glob("rooms/*/room.db*"):
        left.unlink()
    assert house.ask("claim_paths", paths=["free.txt"])["granted"][0]["fence"] > before + 100


# --- refused ----------------------------------------------------------------------------------------------------------


def refusal(house: House) -> str:
    with pytest.raises(Refusal) as caught:
        house.titles()
    return caught.value.code


def test_the_room_of_another_project_is_refused(house: House, tmp_path: Path) -> None:
    """I4."""
    house.ask("create_issue", title="Here")
    (file,) = house.files
    (house.repo / ".clearway.json").write_text(config.pointer_text("01JD0000000000000000000000"))
    (house.home / "rooms" / "01JD0000000000000000000000").mkdir()
    shutil.copy(file, house.home / "rooms" / "01JD0000000000000000000000" / "room.db")
    assert refusal(house) == "PROJECT_DATABASE_MISMATCH"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE schema_migration SET checksum = 'x' || substr(checksum, 2)",
        "UPDATE schema_migration SET name = 'other'",
        "PRAGMA user_version = 999",
    ],
)
def test_a_tampered_or_newer_schema_is_refused_and_left_alone(house: House, damage: str) -> None:
    """I4."""
    house.ask("create_issue", title="Here")
    (file,) = house.files
    connection = apsw.Connection(str(file))
    connection.execute(damage)
    connection.close()
    before = file.read_bytes()
    assert refusal(house) == "STORAGE_MIGRATION"
    assert file.read_bytes() == before


def test_a_file_that_is_no_room_is_refused_and_left_alone(house: House) -> None:
    house.ask("create_issue", title="Here")
    (file,) = house.files
    file.unlink()
    connection = apsw.Connection(str(file))
    connection.execute("CREATE TABLE somebody_elses (x); INSERT INTO somebody_elses VALUES (1)")
    connection.close()
    before = file.read_bytes()
    assert refusal(house) == "STORAGE_CORRUPT"
    assert file.read_bytes() == before


def test_state_inside_the_repository_is_refused_before_anything_is_made(house: House, tmp_path: Path) -> None:
    """I2."""
    house.environ["CLEARWAY_HOME"] = str(house.repo / "state")
    for act in (house.titles, house.init, lambda: house.rooms().known(house.place())):
        with pytest.raises(Refusal) as caught:
            act()
        assert caught.value.code == "STORAGE_CONFIGURATION"
    assert not (house.repo / "state").exists()
    assert not (house.repo / ".clearway.json").exists()


def test_the_root_of_the_disk_holds_every_state(house: House) -> None:
    with pytest.raises(Refusal) as caught:
        house.rooms().adopt(Repository("/", "", ""))
    assert caught.value.code == "STORAGE_CONFIGURATION"


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "project_id": "01JD0000000000000000000000"}',
        '{"version": 1, "project_id": "01JD0000000000000000000000", "kind": "solo"}',
        '{"version": 1, "project_id": "01JD0000000000000000000000", "kind": "team", "kind": "team"}',
        '{"version": 2, "project_id": "01JD0000000000000000000000", "kind": "team"}',
        '{"version": 1, "project_id": "x", "kind": "team"}',
        "{",
        "",
    ],
)
def test_a_team_file_that_is_not_exactly_one_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / config.TEAM).write_text(text)
    with pytest.raises(Refusal) as caught:
        config.read_team(str(tmp_path))
    assert caught.value.code == "INVALID_PROJECT_IDENTITY"


def test_the_team_file_that_we_write_is_read_again(tmp_path: Path) -> None:
    project = Clock().new_id()
    assert config.read_team(str(tmp_path)) is None
    (tmp_path / config.TEAM).write_text(config.team_text(project))
    assert config.read_team(str(tmp_path)) == project


# --- the machine's memory ---------------------------------------------------------------------------------------------


def lose_the_machine_room(house: House) -> None:
    house.close()
    for file in house.home.glob("machine.db*"):
        file.unlink()


def test_a_repository_without_a_pointer_keeps_its_room_when_the_machine_room_is_gone(house: House) -> None:
    house.ask("create_issue", title="Here")
    house.ask("claim_paths", paths=["held.txt"], purpose="work")
    lose_the_machine_room(house)

    assert "held.txt is held by anna" in house.edit(house.repo / "held.txt")
    assert house.titles() == ["Here"]
    assert len(house.files) == 1
    assert house.edit(house.repo / "free.txt") == ""


def test_the_machine_room_is_restored_from_its_backup_when_it_is_gone(house: House, tmp_path: Path) -> None:
    house.ask("create_issue", title="Here")
    house.ask("claim_paths", paths=[str(tmp_path / "notes.txt")], purpose="work")
    house.titles()  # the first command of the day that finds work in it writes the backup
    lose_the_machine_room(house)

    assert "guard open (STORAGE_CORRUPT" in house.edit(tmp_path / "notes.txt")
    assert house.edit(house.repo / "held.txt") == "", "the room of a repository is known all the same"
    assert house.titles() == ["Here"]
    assert "machine.db was gone; the backup" in "".join(house.said)
    assert "notes.txt is held by anna" in house.edit(tmp_path / "notes.txt")


def test_nobody_loses_a_room_in_silence(house: House) -> None:
    house.ask("create_issue", title="Here")
    lose_the_machine_room(house)
    shutil.rmtree(house.home / "run")

    assert house.titles() == []
    assert "may be given a new, empty room" in "".join(house.said)


def test_a_repository_that_is_mounted_a_second_time_is_in_the_same_room(house: House, tmp_path: Path) -> None:
    """Whoever comes by the one name and by the other share what is held."""
    house.ask("list_issues")
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    if subprocess.run(["mount", "--bind", str(house.repo), str(mounted)], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        house.ask("claim_paths", mounted, paths=["held.txt"], purpose="work")
        assert "held.txt is held by anna" in house.edit(house.repo / "held.txt")
        assert "held.txt is held by anna" in house.edit(mounted / "held.txt")
        assert len(house.files) == 1
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


# --- what is kept private, and where there are no hard links ----------------------------------------------------------


def test_what_was_opened_to_others_is_closed_when_it_is_opened(house: House) -> None:
    house.ask("create_issue", title="Here")
    (file,) = house.files
    file.chmod(0o666)
    file.parent.chmod(0o777)
    house.home.chmod(0o755)
    house.titles()
    assert [path.stat().st_mode & 0o777 for path in (file, file.parent, house.home)] == [0o600, 0o700, 0o700]


def test_all_that_is_ours_is_closed_when_the_home_was_open_to_others(house: House, tmp_path: Path) -> None:
    issue = house.ask("create_issue", title="Here", status="ready")
    house.ask("claim_issue", issue_id=issue["display_id"])
    (house.home / "run" / "calls").mkdir(parents=True, exist_ok=True)
    beside, outside = house.home / "notes.txt", tmp_path / "outside"
    for file in (beside, outside, house.home / "run" / "guard-open"):
        file.touch()
    (house.home / "run" / "link").symlink_to(outside)
    ours = [path for path in house.home.rglob("*") if path != beside and not path.is_symlink()]
    assert {"secret", "run", "rooms", "room.db", "room.db-turn", "guard-open"} <= {path.name for path in ours}
    for path in (house.home, beside, outside, *ours):
        path.chmod(0o777)

    house.titles()

    assert [str(path) for path in ours if path.exists() and path.stat().st_mode & 0o077] == []
    assert house.home.stat().st_mode & 0o777 == 0o700
    assert (beside.stat().st_mode & 0o777, outside.stat().st_mode & 0o777) == (0o777, 0o777)


def test_a_disk_without_hard_links_will_do(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    issue = house.ask("create_issue", title="Here", status="ready")
    house.ask("claim_issue", issue_id=issue["display_id"])
    house.ask("claim_paths", paths=["held.txt"])
    house.init()
    assert house.titles() == ["Here"]
    assert "held by anna" in house.edit(house.repo / "held.txt")
    with pytest.raises(Refusal) as caught:
        house.init()
    assert caught.value.code == "PROJECT_ALREADY_INITIALIZED"
    assert not [path for path in house.home.rglob("*") if ".new" in path.name]


def test_a_name_that_is_taken_stays_with_its_file(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).write_text(name)
    assert platforms.put_in_place(str(tmp_path / "first"), str(tmp_path / "it"))
    assert not platforms.put_in_place(str(tmp_path / "second"), str(tmp_path / "it"))
    assert (tmp_path / "it").read_text() == "first"
    assert (tmp_path / "second").exists()


def test_a_secret_that_cannot_be_read_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    with pytest.raises(Refusal) as caught:
        config.secret(str(tmp_path), Clock())
    assert caught.value.code == "STORAGE_FAILURE"
