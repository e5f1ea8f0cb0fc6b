"""Long texts are written in the person's editor, and none of them is lost."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from tests.surfaces.conftest import PROGRAM, Terminal

from clearway.surfaces import editing
from clearway.surfaces.spelling import COMMANDS


@pytest.fixture
def editor(terminal: Terminal, tmp_path: Path) -> Path:
    """An editor that is a script: the test says what it does to the file "$1"."""
    script = tmp_path / "an editor"
    terminal.environ["VISUAL"] = f"'{script}'"
    terminal.environ["TMPDIR"] = str(tmp_path / "texts")
    (tmp_path / "texts").mkdir()
    return script


def writes(editor: Path, shell: str) -> None:
    editor.write_text(f"#!/bin/sh\n{shell}\n")
    editor.chmod(0o755)


def texts(terminal: Terminal) -> list[Path]:
    return list(Path(terminal.environ["TMPDIR"]).iterdir())


def test_an_issue_is_written_in_the_editor(terminal: Terminal, editor: Path) -> None:
    writes(editor, r"sed -i '/==== title/a A title' $1; sed -i '/==== description/a First\n\n@second' $1")
    ended = terminal.program("issue", "create", "--edit", "--status", "ready")
    assert ended.stdout == b"ISSUE-1 created (ready).\n", ended.stderr
    shown = terminal("--json", "issue", "show", "1").json
    assert (shown["title"], shown["description"]) == ("A title", "First\n\n@second")
    assert not texts(terminal)


def test_what_was_typed_stands_in_the_editor_already(terminal: Terminal, editor: Path) -> None:
    writes(editor, "cat $1 >&2")
    ended = terminal.program("issue", "create", "Typed", "--description", "So far", "--edit")
    assert b"==== title\nTyped\n" in ended.stderr
    assert b"==== description\nSo far\n" in ended.stderr
    assert ended.stdout == b"ISSUE-1 created (open).\n"


def test_a_change_sends_only_what_is_different(terminal: Terminal, editor: Path) -> None:
    terminal("issue", "create", "Old", "--description", "Keep this", "--acceptance-criteria", "Drop this")
    writes(editor, "sed -i 's/^Old$/New/; /^Drop this$/d' $1")
    changed = json.loads(terminal.program("--json", "issue", "update", "1", "--edit").stdout)
    assert sorted(changed["changed_fields"]) == ["acceptance_criteria", "title"]
    shown = terminal("--json", "issue", "show", "1").json
    assert (shown["title"], shown["description"]) == ("New", "Keep this")
    assert not shown.get("acceptance_criteria")


@pytest.mark.parametrize("shell", [":", "printf '' > $1"])
def test_nothing_written_is_nothing_done(terminal: Terminal, editor: Path, shell: str) -> None:
    writes(editor, shell)
    ended = terminal.program("issue", "create", "--edit")
    assert (ended.returncode, ended.stdout) == (0, b"Nothing was changed.\n")
    assert not terminal("--json", "issue", "list").json["items"]
    terminal("issue", "create", "Old")
    writes(editor, ":")
    assert terminal.program("issue", "update", "1", "--edit").stdout == b"Nothing was changed.\n"
    assert terminal("--json", "issue", "show", "1").json["version"] == 1


def test_what_others_did_meanwhile_is_not_overwritten_and_the_text_is_kept(terminal: Terminal, editor: Path) -> None:
    """I14, with a person in between."""
    terminal("issue", "create", "Old", "--description", "Mine")
    other = " ".join([*PROGRAM, "issue", "update", "1", "--title", "Theirs"])
    writes(editor, f"{other} >/dev/null; sed -i 's/^Mine$/Mine, longer/' $1")
    ended = terminal.program("issue", "update", "1", "--edit")
    assert ended.stderr.startswith(b"VERSION_CONFLICT: ")
    (kept,) = texts(terminal)
    assert str(kept).encode() in ended.stderr
    assert "Mine, longer" in kept.read_text()
    assert kept.stat().st_mode & 0o77 == 0
    assert terminal("--json", "issue", "show", "1").json["description"] == "Mine"


@pytest.mark.parametrize(("shell", "words"), [("exit 3", b"ended with status 3"), (None, b"cannot be started")])
def test_an_editor_that_fails_changes_nothing(
    terminal: Terminal, editor: Path, shell: str | None, words: bytes
) -> None:
    if shell:
        writes(editor, shell)
    ended = terminal.program("issue", "create", "T", "--edit")
    assert ended.returncode == 2
    assert words in ended.stderr
    assert not texts(terminal)
    assert not terminal("--json", "issue", "list").json["items"]


def test_without_an_editor_or_a_terminal_it_says_what_to_set(terminal: Terminal) -> None:
    assert "EDITOR" in terminal("issue", "create", "T", "--edit").err
    assert terminal("issue", "create").code == "INVALID_ARGUMENT"
    terminal("issue", "create", "T")
    ended = terminal("issue", "comment", "1")
    assert ended.code == "INVALID_ARGUMENT"
    assert "CONTENT" in ended.err


def test_a_comment_without_text_opens_the_editor_on_a_terminal(terminal: Terminal, editor: Path) -> None:
    terminal("issue", "create", "T")
    writes(editor, "printf 'Said at\\nlength\\n' > $1")
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "issue", "comment", "1"]
    ended = subprocess.run(
        command, env=terminal.environ, cwd=terminal.folder, stdin=theirs, stdout=theirs, stderr=theirs, timeout=60
    )
    os.close(theirs)
    os.close(ours)
    assert ended.returncode == 0
    (said,) = [item for item in terminal("--json", "issue", "activity", "1").json["items"] if "content" in item]
    assert said["content"] == "Said at\nlength"


def test_a_text_that_looks_like_a_heading_is_a_text(terminal: Terminal, editor: Path) -> None:
    terminal("issue", "create", "T", "--description", "a\n==== title\nb")
    writes(editor, "sed -i 's/^a$/A/' $1")
    terminal.program("issue", "update", "1", "--edit")
    shown = terminal("--json", "issue", "show", "1").json
    assert (shown["title"], shown["description"]) == ("T", "A\n==== title\nb")


def test_every_command_with_a_long_text_can_be_edited() -> None:
    able = {words for words, command in COMMANDS.items() if editing.can_be_written(command)}
    assert {"issue create", "issue update", "issue comment", "attempt note"} <= able
    assert not {"claim", "owner", "issue list"} & able
