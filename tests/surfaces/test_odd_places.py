"""Folders and homes that cannot serve: one sentence with a code and a way out, never a defect."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from tests.surfaces.conftest import Terminal

from clearway.surfaces import host_wire

COMMANDS = ["init", "room", "status", "issue list", "owner src/a.py", "doctor", "git-hooks install", "web", "stats", ""]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_whose_name_is_no_text_is_said_to_be_one(terminal: Terminal, command: str) -> None:
    """P28's kind: a repository that was named in another encoding."""
    odd = Path(os.fsdecode(os.fsencode(terminal.folder.parent) + b"/shop-\xfc"))
    terminal.folder.rename(odd)
    refused = terminal(*command.split(), folder=odd)
    assert refused.code == "PATH_INVALID" and "another name" in refused.err


@pytest.mark.parametrize(
    ("home", "code"),
    [
        ("", "STORAGE_CONFIGURATION"),
        ("no-\udcfc", "STORAGE_CONFIGURATION"),
        ("/dev/null", "STORAGE_FAILURE"),
        ("/proc/nowhere", "STORAGE_FAILURE"),
    ],
)
def test_a_home_that_cannot_serve_is_told_with_the_way_out(terminal: Terminal, home: str, code: str) -> None:
    """C37: also where no home is set at all, as in a container."""
    terminal("init")
    refused = terminal("room", CLEARWAY_HOME=home, HOME="")
    assert refused.code == code and "CLEARWAY_HOME" in refused.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could close them")
def test_what_is_not_ours_alone_is_not_closed_to_others(terminal: Terminal, tmp_path: Path) -> None:
    """A device, a folder of everybody, and a person's home that is named by mistake stay as they are."""
    person = Path(terminal.environ["HOME"])
    device, everybodys = tmp_path / "device", tmp_path / "everybodys"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    everybodys.mkdir()
    (person / "backups").mkdir()
    for place, mode in ((device, 0o666), (everybodys, 0o1777), (person, 0o755), (person / "backups", 0o755)):
        place.chmod(mode)
    for place, code in ((device, "STORAGE_FAILURE"), (everybodys, "STORAGE_CONFIGURATION")):
        assert terminal("room", CLEARWAY_HOME=str(place)).code == code
        assert terminal("doctor", CLEARWAY_HOME=str(place)).status == 1
    assert terminal("issue", "create", "Ship", CLEARWAY_HOME=str(person)).status == 0
    terminal("doctor", "--repair", CLEARWAY_HOME=str(person))
    gone = terminal("--json", "uninstall", "--data", "--write", CLEARWAY_HOME=str(person)).json["removed"]
    assert str(person / "rooms") in gone and str(person / "backups") not in gone
    found = [stat.S_IMODE(place.stat().st_mode) for place in (device, everybodys, person, person / "backups")]
    assert found == [0o666, 0o1777, 0o755, 0o755]


def test_a_second_init_says_how_to_go_on(terminal: Terminal) -> None:
    """I7: no dead end, on the machine that made the room or on the next."""
    terminal("init")
    assert "clearway connect" in terminal("init").err
    assert "clearway connect" in terminal("init", CLEARWAY_HOME=str(terminal.folder.parent / "next")).err
    assert terminal("issue", "create", "Ship", CLEARWAY_HOME=str(terminal.folder.parent / "next")).status == 0


def test_a_report_goes_through_a_pipe_and_follows_a_link(terminal: Terminal, tmp_path: Path) -> None:
    """A device that is named as the output is written to, and not replaced by a file."""
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "board.md"
    os.mkfifo(pipe)
    link.symlink_to(file)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    said = terminal("--json", "board", "--output", str(pipe)).json
    assert len(os.read(reader, 65_536)) == said["bytes"] > 0
    os.close(reader)
    terminal("board", "--output", str(link))
    assert stat.S_ISFIFO(pipe.stat().st_mode) and link.is_symlink() and file.is_file()


def test_a_machine_without_git_is_told_so_and_guards_all_the_same(terminal: Terminal) -> None:
    assert terminal("--as", "anna", "claim", "src/a.py", PATH="/nowhere").status == 0
    assert terminal("--as", "ben", "claim", "src/a.py", PATH="/nowhere").code == "PATH_HELD"
    assert "git is not on PATH" in terminal("doctor", PATH="/nowhere").out
    assert terminal("git-hooks", "install", PATH="/nowhere").code == "STORAGE_CONFIGURATION"


@pytest.mark.parametrize("missing", ["psycopg", "psycopg.pq"])
def test_a_team_room_without_its_driver_says_what_to_install(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "psycopg" or each == "clearway.db.postgres"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    for words in (["init", "--database", "postgresql://nobody@127.0.0.1:1/x"], ["--room", "postgresql://h/x", "room"]):
        refused = terminal(*words)
        assert refused.code == "STORAGE_CONFIGURATION" and "clearway[postgres]" in refused.err
        if words[0] == "init":
            assert terminal("init").status == 0, "nothing was begun"


def test_an_installation_that_is_not_whole_says_so(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """C19: half upgraded, or with a package missing."""
    monkeypatch.delitem(sys.modules, "clearway.surfaces.boards", raising=False)
    monkeypatch.setitem(sys.modules, "clearway.surfaces.pages", None)
    refused = terminal("board")
    assert (
        refused.code == "INTERNAL"
        and "clearway.surfaces.pages cannot be loaded); install Clearway again" in refused.err
    )


def test_no_socket_outside_of_a_long_home_stays_behind(terminal: Terminal, tmp_path: Path) -> None:
    """C19: also where the host was killed, and took nothing away."""
    home, runtime = tmp_path / ("h" * 100), Path(tempfile.mkdtemp(dir="/tmp"))
    terminal("init", CLEARWAY_HOME=str(home))
    (home / "run").mkdir(exist_ok=True)
    where = Path(host_wire.chosen_address(str(home), {"XDG_RUNTIME_DIR": str(runtime)}))
    where.touch()
    assert where.is_relative_to(runtime)
    terminal("uninstall", "--write", CLEARWAY_HOME=str(home))
    assert list(runtime.iterdir()) == []
    runtime.rmdir()
