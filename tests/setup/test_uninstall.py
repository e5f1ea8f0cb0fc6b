"""Taking Clearway away: nothing of ours stays in any client's settings, and nothing of anybody else goes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.conftest import git

from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.rooms import Rooms
from clearway.setup import connect, uninstall
from clearway.setup.connect import CLIENTS


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A person who has both clients, settings of their own in them, and a repository with a room."""
    person = tmp_path / "person"
    for folder in (".claude", ".codex"):
        (person / folder).mkdir(parents=True)
    (person / ".claude" / "settings.json").write_text('{"model": "opus", "hooks": {"Stop": []}}\n')
    (person / ".codex" / "config.toml").write_text('model = "o3"  # mine\n')
    environ = {"HOME": str(person), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    return Settings(environ)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file() and ".git" not in file.parts}


def lives_here(settings: Settings, *roots: Path) -> None:
    """Rooms were opened in these repositories, and the clients connected in every scope."""
    rooms = Rooms(settings)
    for root in roots:
        caller = Caller("anna", "s", cwd=str(root), host=rooms.liveness.host)
        rooms.ask(OPERATIONS["create_issue"], {"title": "Work"}, caller)
    rooms.close()
    connect.connect(list(CLIENTS), settings.home, environ=settings.environ, write=True)
    for root in roots:
        connect.connect(
            list(CLIENTS), settings.home, environ=settings.environ, write=True, scope="project", project=str(root)
        )


def test_no_entry_stays_behind_anywhere(settings: Settings, repo: Path, tmp_path: Path) -> None:
    """C19: user settings, the settings of every repository that was worked in, and of its worktrees."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    before = everything(tmp_path)
    lives_here(settings, repo, other, tmp_path / "tree")
    assert any("clearway" in text.decode("utf-8", "replace") for text in everything(tmp_path / "person").values())
    uninstall.plan(settings, "", data=True).carry_out()
    assert everything(tmp_path) == before
    assert not os.path.exists(settings.home)


def test_rooms_stay_unless_their_end_is_asked_for(settings: Settings, repo: Path) -> None:
    lives_here(settings, repo)
    planned = uninstall.plan(settings, str(repo), data=False)
    assert planned.kept == settings.home
    planned.carry_out()
    assert list(Path(settings.home, "rooms").glob("*/room.db"))
    assert not os.path.exists(os.path.join(settings.home, "run"))


def test_what_would_go_is_said_before_anything_goes(settings: Settings, repo: Path, tmp_path: Path) -> None:
    lives_here(settings, repo)
    before = everything(tmp_path)
    planned = uninstall.plan(settings, str(repo), data=True)
    assert {key: text for key, text in everything(tmp_path).items() if "state" not in key} == {
        key: text for key, text in before.items() if "state" not in key
    }
    assert planned.paths[os.path.join(settings.home, "rooms")] == "1 room with 1 issue and their history"
    assert len(planned.changes) >= 4


def test_what_is_not_ours_in_our_folder_stays(settings: Settings, repo: Path) -> None:
    lives_here(settings, repo)
    Path(settings.home, "notes.txt").write_text("mine")
    uninstall.plan(settings, "", data=True).carry_out()
    assert os.listdir(settings.home) == ["notes.txt"]


@pytest.mark.parametrize("damaged", ["machine.db", "rooms"])
def test_a_damaged_database_keeps_nobody_from_leaving(
    settings: Settings, repo: Path, tmp_path: Path, damaged: str
) -> None:
    lives_here(settings, repo)
    file = Path(settings.home, damaged)
    for path in [file] if file.is_file() else file.glob("*/room.db"):
        path.write_bytes(b"no database" * 1_000)
    uninstall.plan(settings, str(repo), data=True).carry_out()
    assert not os.path.exists(settings.home)
    assert "clearway" not in (tmp_path / "person" / ".claude" / "settings.json").read_text()


def test_twice_is_once(settings: Settings, repo: Path) -> None:
    lives_here(settings, repo)
    uninstall.plan(settings, str(repo), data=True).carry_out()
    again = uninstall.plan(settings, str(repo), data=True)
    assert (again.changes, again.paths) == ([], {})
    assert json.loads(Path(settings.environ["HOME"], ".claude", "settings.json").read_text())["model"] == "opus"
