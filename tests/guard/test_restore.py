"""`clearway restore` brings back what a holder left: by those who may, in one step, and never over newer work."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.guard.yard import Yard
from tests.surfaces.test_moments import Session

LARGE = 1_048_577


@pytest.fixture(params=["sqlite", "postgres"])
def yard(request: pytest.FixtureRequest, tmp_path: Path, repo: Path) -> Iterator[Yard]:
    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else None
    made = Yard(tmp_path, repo, dsn)
    yield made
    for child in made.children:
        child.kill()
        child.wait()


def restore(yard: Yard, session: Session | None, *words: str, folder: str = "") -> subprocess.CompletedProcess[bytes]:
    """The command, as a session's shell call or as the human types it."""
    agent = {} if session is None else {"CLEARWAY_SESSION": session.name, "CLEARWAY_AGENT": "claude-code"}
    return subprocess.run(
        [sys.executable, "-m", "clearway.surfaces.cli", "-C", str(yard.repo / folder), "restore", *words],
        env=yard.environ | agent,
        capture_output=True,
        timeout=60,
    )


@pytest.fixture
def leaked(yard: Yard) -> tuple[Yard, Session, Session]:
    """alpha holds held.txt, and beta's program wrote over it."""
    alpha, beta = yard.session("a"), yard.session("b")
    (yard.repo / "held.txt").chmod(0o640)
    yard.edit(alpha, "held.txt", "alpha's\n")
    yard.during(beta, ("held.txt", "beta's\n"))
    return yard, alpha, beta


@pytest.mark.parametrize("who", ["the actor", "the holder", "the human"])
def test_those_who_may_bring_it_back_with_its_mode(leaked: tuple[Yard, Session, Session], who: str) -> None:
    yard, alpha, beta = leaked
    done = restore(yard, {"the actor": beta, "the holder": alpha, "the human": None}[who], "held.txt")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"held.txt is again as claude-code left it." in done.stdout
    assert yard.text("held.txt") == "alpha's\n"
    assert stat.S_IMODE((yard.repo / "held.txt").stat().st_mode) == 0o640
    assert not list(yard.repo.glob(".*.clearway"))
    (event,) = yard.log("path_restored")
    assert json.loads(event.data)["paths"][0]["path"] == "held.txt"
    again = restore(yard, None, "held.txt")
    assert b"nothing was changed" in again.stdout
    aside = done.stdout.decode().partition("What stood there is in ")[2].strip().rstrip(".")
    assert Path(aside).read_text() == "beta's\n"


def test_bringing_it_back_is_no_leak_again(leaked: tuple[Yard, Session, Session]) -> None:
    yard, alpha, beta = leaked
    assert beta.runs("clearway restore held.txt") == ""
    assert restore(yard, beta, "held.txt").returncode == 0
    assert beta.ran("clearway restore held.txt") == ""
    assert alpha.tell("UserPromptSubmit", prompt="Go on.") == "", "it is as it was"
    assert len(yard.log("path_leaked")) == 1


def test_a_bystander_may_not(leaked: tuple[Yard, Session, Session]) -> None:
    yard, _, _ = leaked
    gamma = yard.session("c")
    for words in (["held.txt"], ["held.txt", "--show"]):
        done = restore(yard, gamma, *words)
        assert done.returncode == 1
        assert done.stdout == b""
        assert done.stderr.startswith(b"NOT_YOURS: ")
    assert yard.text("held.txt") == "beta's\n"


def test_it_may_only_be_shown(leaked: tuple[Yard, Session, Session]) -> None:
    yard, _, beta = leaked
    assert restore(yard, beta, "held.txt", "--show").stdout == b"alpha's\n"
    assert yard.text("held.txt") == "beta's\n"
    assert yard.log("path_restored") == []


def test_what_nobody_held_is_not_kept(yard: Yard) -> None:
    yard.session("a")
    for words in (["held.txt"], ["none/of/this.txt"], ["held.txt", "--show"]):
        done = restore(yard, None, *words)
        assert done.returncode == 3
        assert done.stderr.startswith(b"SNAPSHOT_NOT_FOUND: ")


@pytest.mark.parametrize("how", ["deleted", "folder deleted", "symlinked", "renamed"])
def test_it_comes_back_whatever_became_of_the_path(yard: Yard, how: str) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "src/a.py", "alpha's\n")
    held = yard.repo / "src" / "a.py"
    beta.runs("make")
    if how == "renamed":
        held.rename(yard.repo / "src" / "c.py")
    else:
        held.unlink()
    if how == "folder deleted":
        (yard.repo / "src" / "b.py").unlink()
        held.parent.rmdir()
    if how == "symlinked":
        held.symlink_to("b.py")
    assert "clearway restore src/a.py" in beta.ran("make")
    assert restore(yard, beta, "src/a.py").returncode == 0
    assert not held.is_symlink()
    assert held.read_text() == "alpha's\n"
    if how == "symlinked":
        assert (yard.repo / "src" / "b.py").read_text() == "src/b.py\n", "the link is replaced, not followed"


def test_a_file_that_was_not_there_goes_again(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    alpha.ask("claim_paths", paths=["new.txt"])
    yard.during(beta, ("new.txt", "beta's\n"))
    assert restore(yard, beta, "new.txt").returncode == 0
    assert not (yard.repo / "new.txt").exists()


def test_the_path_is_meant_from_the_folder_in_which_it_is_typed(leaked: tuple[Yard, Session, Session]) -> None:
    yard, _, beta = leaked
    assert restore(yard, beta, "held.txt", folder="src").returncode == 3
    assert restore(yard, beta, "../held.txt", folder="src").returncode == 0
    assert yard.text("held.txt") == "alpha's\n"


def test_newer_work_of_the_holder_is_not_written_over(leaked: tuple[Yard, Session, Session]) -> None:
    """Neither what it edited since, nor what somebody else has made of it since."""
    yard, alpha, beta = leaked
    yard.write("held.txt", "a third one's\n")
    done = restore(yard, beta, "held.txt")
    assert done.returncode == 1
    assert b"has changed since your call" in done.stderr
    yard.edit(alpha, "held.txt", "alpha's second\n")
    assert restore(yard, beta, "held.txt").returncode == 1, "the leak is over"
    assert yard.text("held.txt") == "alpha's second\n"
    assert b"nothing was changed" in restore(yard, None, "held.txt").stdout


def test_an_edit_that_only_the_trail_knows_is_newer_work(leaked: tuple[Yard, Session, Session]) -> None:
    """The holder was alone when it edited, and nothing was copied."""
    yard, alpha, beta = leaked
    beta.tell("SessionEnd", reason="logout")
    yard.edit(alpha, "held.txt", "alpha's second\n")
    done = restore(yard, None, "held.txt")
    assert done.returncode == 1
    assert b"newer work" in done.stderr
    assert yard.text("held.txt") == "alpha's second\n"


def test_a_large_file_has_a_print_and_no_copy(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "x" * LARGE)
    yard.write("held.txt", "x" * LARGE)
    assert yard.during(beta) == "", "only touched"
    said = yard.during(beta, ("held.txt", "y" * LARGE))
    assert "held.txt (changed" in said
    assert "tell its holder" in said
    done = restore(yard, beta, "held.txt")
    assert done.returncode == 3
    assert b"too large to be kept" in done.stderr
    assert [file.read_text() for file in yard.snapshots.iterdir()] == ["held.txt\n"], "as it was before the edit"


def test_bytes_that_are_no_text_come_back_as_they_were(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    given = {"file_path": str(yard.repo / "image.bin"), "content": "?"}
    alpha.before("Write", **given)
    (yard.repo / "image.bin").write_bytes(bytes(range(256)) * 100)
    alpha.after("Write", **given)
    yard.during(beta, ("image.bin", "beta's\n"))
    assert restore(yard, beta, "image.bin", "--show").stdout == bytes(range(256)) * 100
    restore(yard, beta, "image.bin")
    assert (yard.repo / "image.bin").read_bytes() == bytes(range(256)) * 100


def test_a_copy_that_was_spoilt_is_not_brought_back(leaked: tuple[Yard, Session, Session]) -> None:
    yard, _, beta = leaked
    for file in yard.snapshots.iterdir():
        file.write_text("something else")
    done = restore(yard, beta, "held.txt")
    assert done.returncode == 3
    assert yard.text("held.txt") == "beta's\n"


def test_a_folder_that_cannot_be_written_is_said(leaked: tuple[Yard, Session, Session]) -> None:
    yard, _, beta = leaked
    (yard.repo / "held.txt").unlink()
    (yard.repo / "held.txt").mkdir()
    (yard.repo / "held.txt" / "inside").write_text("in the way")
    done = restore(yard, None, "held.txt")
    assert done.returncode == 5
    assert b"STORAGE_FAILURE" in done.stderr
    assert os.listdir(yard.repo / "held.txt") == ["inside"]
    assert beta.name == "b"
    assert not list(yard.repo.glob(".*.clearway"))


def test_the_story_of_the_path_tells_it(leaked: tuple[Yard, Session, Session]) -> None:
    yard, alpha, beta = leaked
    restore(yard, beta, "held.txt")
    told = alpha.ask("path_history", path="held.txt")["events"]
    assert {"path_leaked", "path_restored"} <= {event["type"] for event in told}
