"""`project export`, `project import` and `import`: files that travel, and nothing that is lost on the way."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import git
from tests.surfaces.conftest import Ended, Terminal

FORMATS = Path(__file__).parent.parent / "formats"
Machine = Callable[..., Ended]


@pytest.fixture
def machines(terminal: Terminal, tmp_path: Path) -> tuple[Machine, Machine]:
    """Two machines with a clone each of one repository, and a file that both have by git."""
    terminal("init")
    git(terminal.folder, "add", "-A")
    git(terminal.folder, "commit", "-q", "-m", "room")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(terminal.folder), str(clone))

    def other(*words: str) -> Ended:
        return terminal(*words, folder=clone, CLEARWAY_HOME=str(tmp_path / "other-state"))

    return terminal, other


def issue_titles(machine: Machine) -> set[str]:
    return {item["title"] for item in machine("--json", "issue", "list", "--limit", "100").json["items"]}


def test_an_export_is_named_where_it_is(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    first, _ = machines
    said = first("project", "export", "--output", os.path.join("..", "shop.jsonl")).out
    assert ".." not in said and "shop.jsonl has an empty project" in said


def test_a_stale_export_never_takes_the_place_of_what_is_newer(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    """C50: machine 1 exports, machine 2 exports before it imports; crosswise, again and again."""
    first, second = machines
    assert second("room").status == 0
    shared = tmp_path / "tasks.jsonl"
    export = ("project", "export", "--overwrite", "--output", str(shared))
    for turn, (one, other) in enumerate(((first, second), (second, first), (first, second))):
        title = f"Made in turn {turn}"
        one("issue", "create", title)
        assert one(*export).status == 0
        refused = other(*export)
        assert refused.code == "VERSION_CONFLICT" and refused.status == 4
        assert title in shared.read_text(encoding="utf-8"), "the refused export wrote nothing"
        assert other("project", "import", str(shared), "--mode", "merge").status == 0
        before = shared.read_bytes()
        assert other(*export).status == 0
        assert shared.read_bytes() == before, "two machines that have the same write the same"
        assert one("--json", "project", "import", str(shared), "--mode", "merge").json["created"] == {}
    assert issue_titles(first) == issue_titles(second) == {f"Made in turn {turn}" for turn in range(3)}


def test_a_newer_version_elsewhere_is_not_overwritten_either(machines: tuple[Machine, Machine], tmp_path: Path) -> None:
    """C50."""
    first, second = machines
    shared = str(tmp_path / "tasks.jsonl")
    first("issue", "create", "Common")
    first("project", "export", "--output", shared)
    second("project", "import", shared)
    second("issue", "update", "1", "--title", "Changed by the second")
    second("project", "export", "--overwrite", "--output", shared)
    refused = first("project", "export", "--overwrite", "--output", shared)
    assert refused.code == "VERSION_CONFLICT" and "newer versions of 1 issue" in refused.err
    assert "Changed by the second" in Path(shared).read_text(encoding="utf-8")


def test_an_export_is_whole_private_and_replaces_nothing_unasked(terminal: Terminal, tmp_path: Path) -> None:
    """I62."""
    terminal("issue", "create", "One")
    file = tmp_path / "out.jsonl"
    assert terminal("project", "export", "--output", str(file)).status == 0
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()
    refused = terminal("project", "export", "--output", str(file))
    assert refused.code == "INVALID_ARGUMENT" and "--overwrite" in refused.err
    assert file.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir() if "jsonl" in entry.name] == ["out.jsonl"]
    inside = Path(terminal.environ["CLEARWAY_HOME"], "machine.db")
    assert terminal("project", "export", "--overwrite", "--output", str(inside)).code == "PATH_INVALID"
    assert terminal("project", "export", "--output", str(tmp_path / "no" / "folder")).code == "PATH_INVALID"
    assert terminal("project", "export", "--overwrite", "--output", str(tmp_path)).code == "PATH_INVALID"
    file.write_bytes(before[:-30])
    assert terminal("project", "export", "--overwrite", "--output", str(file)).code == "INVALID_ARGUMENT"
    assert file.read_bytes() == before[:-30], "what cannot be read is not overwritten"
    file.write_text("something else\n", encoding="utf-8")
    assert terminal("project", "export", "--overwrite", "--output", str(file)).status == 0
    assert file.read_bytes() == before


def test_a_project_goes_through_a_pipe(terminal: Terminal, tmp_path: Path) -> None:
    terminal("issue", "create", "Ünïcödé\u202e title")
    written = terminal.program("project", "export", "--output", "-")
    assert written.returncode == 0 and written.stderr == b""
    lines = written.stdout.decode().split("\n")
    assert json.loads(lines[1])["title"] == "Ünïcödé\u202e title" and lines[-1] == ""
    other = tmp_path / "elsewhere"
    shutil.copytree(terminal.folder, other, ignore=shutil.ignore_patterns(".clearway*"))
    read = terminal("--json", "project", "import", "-", stdin=written.stdout, folder=other)
    assert read.json["created"] == {"issues": 1}


def test_what_a_shell_hands_over_as_a_pipe_is_a_file_like_any_other(terminal: Terminal, tmp_path: Path) -> None:
    """`clearway import github <(gh issue list ...)`: it can be read once, and is looked at twice."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = (FORMATS / "github.json").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    read = terminal("import", "github", str(pipe))
    writer.join()
    assert read.status == 0 and "Imported from" in read.out


def test_a_project_whose_room_is_gone_comes_back_from_its_export(terminal: Terminal, tmp_path: Path) -> None:
    """C35: delete the database, keep the export; one command."""
    terminal("init")
    terminal("issue", "create", "One", "--status", "ready")
    terminal("next")
    terminal("issue", "comment", "1", "said")
    file = str(tmp_path / "kept.jsonl")
    terminal("project", "export", "--output", file)
    shutil.rmtree(os.path.join(terminal.environ["CLEARWAY_HOME"], "rooms"))
    back = terminal("project", "import", file)
    assert back.status == 0 and "Imported from" in back.out
    assert "room" in back.err, "that the room is new is said"
    assert issue_titles(terminal) == {"One"}
    assert terminal("issue", "create", "Two").out.startswith("ISSUE-2")


@pytest.mark.parametrize("name", ["rhizome.json", "beads.jsonl", "github.json", "tasks.md"])
def test_what_another_tracker_has_is_imported_once(terminal: Terminal, name: str) -> None:
    form = {"rhizome.json": "rhizome", "beads.jsonl": "beads", "github.json": "github", "tasks.md": "markdown"}[name]
    file = str(FORMATS / name)
    looked = terminal("import", form, file, "--dry-run")
    assert looked.status == 0 and looked.out.startswith(f"New in {file}")
    assert issue_titles(terminal) == set()
    done = terminal("import", form, file)
    assert done.status == 0 and done.out.startswith(f"Imported from {file}")
    assert len(issue_titles(terminal)) > 3
    again = terminal("import", form, file)
    assert again.out.startswith(f"{file} has nothing that is not here already.")


def test_the_words_of_the_predecessor_do_the_same(terminal: Terminal) -> None:
    file = str(FORMATS / "small" / "rhizome-v1.json")
    assert terminal("project", "import", "--input", file, "--dry-run").out.startswith("New in")
    assert terminal("project", "import", "--input", file, "--apply").out.startswith("Imported from")
    assert terminal("project", "import").code == "INVALID_ARGUMENT"


def test_a_wrong_file_is_refused_in_one_line(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_bytes(b'{"id": "a", "title": "\xff"}\n')
    refused = terminal("import", "beads", str(file))
    assert (refused.code, refused.status, refused.err.count("\n")) == ("INVALID_ARGUMENT", 2, 1)
    assert "$[0] (line 1) is not UTF-8" in refused.err
    assert terminal("import", "beads", str(tmp_path / "missing")).code == "PATH_INVALID"
    assert terminal("import", "beads", str(tmp_path)).code == "PATH_INVALID"
    assert terminal("import", "jira", str(file)).status == 2
    assert terminal("project", "import", str(file), "--mode", "guess").code == "INVALID_ARGUMENT"
    refused = terminal("--json", "project", "import", str(FORMATS / "small" / "rhizome-v1.json"), "--mode", "merge")
    assert refused.status == 0
    conflict = terminal("project", "import", str(FORMATS / "small" / "rhizome-v1.json"))
    assert (conflict.code, conflict.status) == ("PROJECT_ALREADY_INITIALIZED", 4)


def test_numbers_are_told_in_the_projects_own_word(terminal: Terminal, tmp_path: Path) -> None:
    terminal("issue", "create", "Theirs")
    file = str(tmp_path / "theirs.jsonl")
    terminal("project", "export", "--output", file)
    other = tmp_path / "elsewhere"
    shutil.copytree(terminal.folder, other, ignore=shutil.ignore_patterns(".clearway*"))
    terminal("issue", "create", "Ours", folder=other)
    terminal("project", "set", "--key", "PAY", folder=other)
    done = terminal("project", "import", file, "--mode", "merge", folder=other)
    assert "PAY-1 is PAY-2 here" in done.out
