"""Copies of held files: when they are taken, what they cost, and how long they stay."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import World
from tests.guard.yard import Yard

from clearway.db import Row
from clearway.guard import readset, snapshots
from clearway.guard.snapshots import Store

DAY = 24 * 60


@pytest.fixture(params=["sqlite", "postgres"])
def yard(request: pytest.FixtureRequest, tmp_path: Path, repo: Path) -> Iterator[Yard]:
    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else None
    made = Yard(tmp_path, repo, dsn)
    yield made
    for child in made.children:
        child.kill()
        child.wait()


def kept(yard: Yard) -> dict[str, tuple[str, int, str]]:
    """Of each path whose it is, whether it is watched over, and what is kept of it."""
    rows = yard.rows("SELECT path, session, live, kept FROM snapshot ORDER BY path")
    return {row.path: (row.session, row.live, row.kept) for row in rows}


def test_nothing_is_copied_while_a_session_is_alone(yard: Yard) -> None:
    alpha = yard.session("a")
    yard.edit(alpha, "held.txt", "alpha's\n")
    yard.during(alpha, ("free.txt", "alpha's\n"), command="echo x > free.txt")
    assert kept(yard) == {}
    assert not list((yard.home / "rooms").glob("*/snapshots"))


def test_a_file_is_copied_when_it_is_leased_and_when_it_was_written(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    assert beta.name == "b"
    given = {"file_path": str(yard.repo / "held.txt"), "old_string": "a", "new_string": "b"}
    alpha.before("Edit", **given)
    assert kept(yard) == {"held.txt": ("a", 1, "content")}
    (first,) = yard.snapshots.iterdir()
    assert first.read_text() == "held.txt\n"
    yard.write("held.txt", "alpha's\n")
    alpha.after("Edit", **given)
    assert sorted(file.read_text() for file in yard.snapshots.iterdir()) == ["alpha's\n", "held.txt\n"]


def test_copies_are_for_their_owner_alone_and_named_by_their_content(yard: Yard) -> None:
    alpha, _ = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "the same\n")
    yard.edit(alpha, "free.txt", "the same\n")
    assert stat.S_IMODE(yard.snapshots.stat().st_mode) == 0o700
    files = {file.name: file for file in yard.snapshots.iterdir()}
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files.values())
    assert [file.read_text() for file in files.values()].count("the same\n") == 1


def test_what_ones_own_command_wrote_is_copied_after_it(yard: Yard) -> None:
    """Whether or not the line shows what it writes; also below a folder that is held."""
    alpha, beta = yard.session("a"), yard.session("b")
    alpha.ask("claim_paths", paths=["deploy"])
    yard.edit(alpha, "held.txt", "first\n")
    yard.during(alpha, ("held.txt", "second\n"), ("deploy/new.sh", "new\n"), command="echo second > held.txt")
    assert {"second\n", "new\n"} <= {file.read_text() for file in yard.snapshots.iterdir()}
    yard.during(alpha, ("held.txt", "third\n"), command="make format")
    yard.during(beta, ("held.txt", "beta's\n"), ("deploy/new.sh", "beta's\n"))
    rows = yard.rows("SELECT s.path, s.digest FROM snapshot s JOIN leak l ON l.path = s.path")
    contents = {row.path: (yard.snapshots / row.digest).read_text() for row in rows}
    assert contents == {"held.txt": "third\n", "deploy/new.sh": "new\n"}


def test_what_another_made_of_it_is_not_taken_for_ones_own(yard: Yard) -> None:
    """Neither by a command that came after it, nor by one that was told of it."""
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("make")
    yard.write("held.txt", "beta's\n")
    yard.during(alpha, command="pytest -q")
    beta.ran("make")
    yard.during(alpha, command="pytest -q")
    (row,) = yard.rows("SELECT digest FROM snapshot WHERE path = 'held.txt'")
    assert (yard.snapshots / row.digest).read_text() == "alpha's\n"


def test_a_lease_that_ends_is_watched_over_no_longer_but_kept(yard: Yard) -> None:
    alpha, _ = yard.session("a"), yard.session("b")
    alpha.ask("claim_paths", paths=["deploy"])
    yard.edit(alpha, "held.txt", "alpha's\n")
    alpha.tell("Stop")
    assert kept(yard) == {"deploy/x.sh": ("a", 1, "content"), "held.txt": ("a", 0, "content")}
    alpha.ask("release_paths", paths=["deploy"])
    assert kept(yard)["deploy/x.sh"] == ("a", 0, "content")


def test_a_session_that_goes_on_under_another_id_takes_its_copies_along(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    alpha.ask("claim_paths", paths=["held.txt"])
    yard.session("a2", pid=alpha.pid, start="clear")
    assert kept(yard) == {"held.txt": ("a2", 1, "content")}
    assert "held.txt (changed" in yard.during(beta, ("held.txt", "beta's\n"))


def test_old_copies_go_after_a_week_and_live_ones_stay(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    alpha.tell("Stop")
    yard.forward(minutes=8 * DAY)
    beta.ask("claim_paths", paths=["free.txt"])
    yard.session("c")
    assert kept(yard) == {"free.txt": ("b", 1, "content")}
    assert [file.read_text() for file in yard.snapshots.iterdir()] == ["free.txt\n"]


def test_a_room_keeps_no_more_than_its_bound(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go first, and of what is held the print stays."""
    monkeypatch.setattr(snapshots, "SNAPSHOTS_BYTES_MAX", 2_500)
    monkeypatch.setattr(snapshots, "_ROOM_LEFT", 0)
    alpha, _ = yard.session("a"), yard.session("b")
    for number, name in enumerate(("free.txt", "held.txt", "src/a.py")):
        yard.forward(minutes=1)
        yard.edit(alpha, name, f"{number}" * 1_000)
    yard.session("c")
    assert sum(file.stat().st_size for file in yard.snapshots.iterdir()) <= 2_500
    assert {path: facts[2] for path, facts in kept(yard).items()} == {
        "free.txt": "print",
        "held.txt": "content",
        "src/a.py": "content",
    }


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    """A pipe would be waited for, a link would lead elsewhere."""
    store = Store(str(tmp_path), "room", 0)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/hostname")
    for name in ("pipe", "link", "."):
        assert store.keep(str(tmp_path / name)) is None
    absent = store.keep(str(tmp_path / "none" / "here"))
    assert absent is not None
    assert absent.kept == "absent"
    assert store.keep("nul\0byte") is None


def test_foreign_files_are_found_by_the_index(world: World) -> None:
    """However many leases and copies of others there are, only so many are looked at."""
    holder = world.agent("codex")
    me = world.agent("claude-code")
    holder.ask("list_issues")
    copy = snapshots.Copy((1, 2, 3), 0o644, "d", "print")
    taken = [snapshots.Taken("K", f"d{n % 7}/f{n:04}", f"d{n % 7}/f{n:04}", copy) for n in range(600)]
    owner = Row(session=holder.caller.key, agent="codex", named=0)
    world.room.run(lambda tx: snapshots.write(tx, taken, holder=owner), caller=holder.caller)
    found = me.room.run(lambda tx: snapshots.foreign(tx, "K", "d3/below"), caller=me.caller, writes=False)
    assert len(found) == 256
    assert {row.path.partition("/")[0] for row in found[:80]} == {"d3"}, "the nearest first"
    if world.room.engine.name == "sqlite":
        plan = world.rows(
            "EXPLAIN QUERY PLAN SELECT s.path FROM snapshot s WHERE s.checkout = 'K' AND s.live = 1 "
            "AND s.path >= 'a' AND s.path < 'b' AND s.session <> 'x' ORDER BY s.path LIMIT 256"
        )
        assert "SEARCH s USING INDEX snapshot_watched" in plan[0]["detail"]


# --- what a session has read ----------------------------------------------------------------------------------------


def test_who_edits_what_another_changed_since_its_reading_is_told_once(yard: Yard) -> None:
    """Build 8."""
    alpha, beta = yard.session("a", client="codex"), yard.session("b")
    path = str(yard.repo / "held.txt")
    beta.before("Read", file_path=path)
    yard.edit(alpha, "held.txt", "alpha's\n")
    alpha.tell("Stop")
    edit = {"tool_name": "Edit", "tool_input": {"file_path": path, "old_string": "a", "new_string": "b"}}
    said = beta.tell("PreToolUse", **edit, tool_use_id="x")
    assert said.startswith("[clearway] held.txt was changed by codex at ")
    assert "after you last read it" in said
    assert beta.tell("PreToolUse", **edit, tool_use_id="y") == ""


def test_who_has_read_it_again_or_never_is_told_nothing(yard: Yard) -> None:
    alpha, beta, gamma = yard.session("a"), yard.session("b"), yard.session("c")
    path = str(yard.repo / "held.txt")
    beta.before("Read", file_path=path)
    yard.edit(alpha, "held.txt", "alpha's\n")
    alpha.tell("Stop")
    beta.before("Read", file_path=path)
    edit = {"tool_name": "Edit", "tool_input": {"file_path": path, "old_string": "a", "new_string": "b"}}
    assert beta.tell("PreToolUse", **edit, tool_use_id="x") == ""
    beta.tell("Stop")
    assert gamma.tell("PreToolUse", **edit, tool_use_id="x") == ""


def test_ones_own_edits_are_known_to_oneself(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    alpha.tell("Stop")
    assert yard.edit(beta, "held.txt", "beta's\n") == ""
    beta.tell("Stop")
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(yard.repo / "held.txt"), "content": ""}}
    assert "was changed by claude-code" in alpha.tell("PreToolUse", **edit, tool_use_id="x")


def test_what_a_person_changed_is_not_told(yard: Yard) -> None:
    beta = yard.session("b")
    path = str(yard.repo / "held.txt")
    beta.before("Read", file_path=path)
    yard.write("held.txt", "a person's\n")
    edit = {"tool_name": "Edit", "tool_input": {"file_path": path, "old_string": "a", "new_string": "b"}}
    assert beta.tell("PreToolUse", **edit, tool_use_id="x") == ""


def test_what_was_read_is_remembered_within_a_bound(tmp_path: Path) -> None:
    home, file = str(tmp_path / "home"), tmp_path / "file"
    file.write_text("x")
    for _ in range(3_000):
        readset.note(home, "s", str(file))
    kept_file = tmp_path / "home" / "run" / "reads" / "s"
    assert kept_file.stat().st_size <= 65_536
    assert stat.S_IMODE(kept_file.stat().st_mode) == 0o600
    assert readset.changed_since(home, "s", str(file)) is None
    os.utime(file, ns=(1, 1))
    assert readset.changed_since(home, "s", str(file)) == 1
    readset.forget(home, "s")
    assert readset.changed_since(home, "s", str(file)) is None


def test_two_threads_of_a_host_that_copy_the_same_at_once_both_have_it(tmp_path: Path) -> None:
    file, lost = tmp_path / "file", []
    for round_ in range(40):
        file.write_text(f"{round_}\n" * 5_000)
        together = threading.Barrier(4)

        def copy() -> None:
            together.wait()  # noqa: B023  (all have ended before the next round)
            store = Store(str(tmp_path / "home"), "project", round_, lambda: lost.append(1))  # noqa: B023
            assert store.keep(str(file)) is not None

        threads = [threading.Thread(target=copy) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not lost
    assert len(os.listdir(tmp_path / "home" / "rooms" / "project" / "snapshots")) == 40
