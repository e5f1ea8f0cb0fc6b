"""What a call did to the files of others is noticed after it, and told to those whom it concerns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git
from tests.guard.yard import UNREADABLE, Yard


@pytest.fixture(params=["sqlite", "postgres"])
def yard(request: pytest.FixtureRequest, tmp_path: Path, repo: Path) -> Iterator[Yard]:
    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else None
    made = Yard(tmp_path, repo, dsn)
    yield made
    for child in made.children:
        child.kill()
        child.wait()


# --- leaks ----------------------------------------------------------------------------------------------------------


def test_a_held_file_that_an_unreadable_program_changed_is_told_to_both(yard: Yard) -> None:
    """Semantics 5; agent-lease C 19: what `python -c` writes passes unseen there."""
    alpha, beta = yard.session("a"), yard.session("b", client="codex")
    yard.edit(alpha, "held.txt", "alpha's\n")
    said = yard.during(beta, ("held.txt", "beta's\n"))
    assert "held.txt (changed; held by claude-code)" in said
    assert said.endswith("clearway restore held.txt")
    assert len(said.encode()) <= 600
    heard = alpha.tell("UserPromptSubmit", prompt="Go on.")
    assert "held.txt, which you hold, was changed" in heard
    assert "by a call of codex" in heard
    assert "clearway restore held.txt" in heard
    assert "held.txt" not in alpha.tell("UserPromptSubmit", prompt="Go on."), "told once"
    (event,) = yard.log("path_leaked")
    assert (event.session, event.agent) == ("b", "codex")
    assert json.loads(event.data)["paths"][0]["path"] == "held.txt"


def test_a_leak_stands_in_the_inbox_of_the_holder_and_its_hook_tells_it_once(yard: Yard) -> None:
    """Semantics 5. A holder without hooks finds it there."""
    alpha, beta = yard.session("a"), yard.session("b", client="codex")
    for file in ("held.txt", "free.txt"):
        yard.edit(alpha, file, "alpha's\n")
    yard.during(beta, ("held.txt", "beta's\n"), ("free.txt", "beta's\n"))
    heard = alpha.tell("UserPromptSubmit", prompt="Go on.")
    assert heard.count("held.txt, which you hold") == 1
    assert "Message #" not in heard
    (message,) = alpha.ask("read_inbox")["items"]
    assert (message["from"], message["state"]) == ("clearway", "done")
    assert message["text"].startswith("A call of codex changed what you hold: ")
    assert "held.txt (changed)" in message["text"]
    assert "clearway restore" in message["text"]
    assert beta.ask("read_inbox")["items"] == []


@pytest.mark.parametrize(
    ("how", "said"), [("rm", "deleted"), ("mv", "replaced"), ("link", "replaced"), ("folder", "replaced")]
)
def test_a_held_file_that_is_gone_or_another_file_now_is_a_leak(yard: Yard, how: str, said: str) -> None:
    """P29, where nothing in the line showed it."""
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    assert beta.runs("make clean") == ""
    held = yard.repo / "held.txt"
    if how == "mv":
        (yard.repo / "free.txt").rename(held)
    else:
        held.unlink()
    if how == "link":
        held.symlink_to("free.txt")
    if how == "folder":
        held.mkdir()
    assert f"held.txt ({said}; held by claude-code)" in beta.ran("make clean")


def test_a_file_that_its_holder_meant_to_make_is_held_before_it_is_there(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    alpha.ask("claim_paths", paths=["new.txt"])
    assert "new.txt (created; held by claude-code)" in yard.during(beta, ("new.txt", "beta's\n"))


def test_what_was_claimed_by_name_and_never_edited_is_watched_over(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    alpha.ask("claim_paths", paths=["held.txt", "deploy"])
    said = yard.during(beta, ("held.txt", "beta's\n"), ("deploy/x.sh", "beta's\n"), ("src/a.py", "beta's\n"))
    assert "held.txt (changed" in said
    assert "deploy/x.sh (changed" in said
    assert "src/a.py" not in said


def test_what_was_leased_while_its_holder_was_alone_is_watched_over_when_somebody_comes(yard: Yard) -> None:
    alpha = yard.session("a")
    yard.edit(alpha, "held.txt", "alpha's\n")
    assert yard.rows("SELECT path FROM snapshot") == [], "there was nobody to mind"
    beta = yard.session("b")
    assert "held.txt (changed" in yard.during(beta, ("held.txt", "beta's\n"))


def test_what_another_lease_of_its_holder_still_covers_is_watched_on(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    alpha.ask("claim_paths", paths=["src"])
    alpha.ask("claim_paths", paths=["src/a.py"])
    alpha.ask("release_paths", paths=["src/a.py"])
    assert [row.path for row in yard.rows("SELECT path FROM path_lease")] == ["src"]
    assert "src/a.py (changed" in yard.during(beta, ("src/a.py", "beta's\n"))


def test_a_folder_is_copied_once_and_not_at_each_call_of_others(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    alpha.ask("claim_paths", paths=["src", "to-come.txt"])
    taken = yard.rows("SELECT path, taken_at FROM snapshot")
    yard.forward(ms=5_000)
    beta.runs("pytest -q")
    beta.ran("pytest -q")
    assert yard.rows("SELECT path, taken_at FROM snapshot") == taken


def test_a_session_whose_start_nobody_told_is_watched_from_its_first_call(yard: Yard) -> None:
    """Some clients tell no start; and what was leased while its holder was alone has no copy yet."""
    alpha = yard.session("a")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta, gamma = yard.session("b", start=""), yard.session("g", start="")
    assert "PATH_HELD" in beta.runs("rm held.txt")
    assert "held.txt (changed" in yard.during(beta, ("held.txt", "beta's\n"))
    assert "held.txt (changed" in yard.during(gamma, ("held.txt", "gamma's\n"))


@pytest.mark.parametrize("there", ["..", "src", "/"])
def test_a_client_that_has_gone_elsewhere_by_the_end_of_its_call_is_told(yard: Yard, there: str) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    given: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": f"make; cd {there}"}, "tool_use_id": "x"}
    assert beta.raw("PreToolUse", **given) == ("", "", 0)
    yard.write("held.txt", "beta's\n")
    out, _, _ = beta.raw("PostToolUse", **given, tool_response={}, cwd=os.path.join(str(yard.repo), there))
    assert "held.txt (changed" in out


@pytest.mark.parametrize("command", ["cd {} && make", "cd '{}'; python x.py", "make -C {}", "cd {}/src; cd ..; make"])
def test_a_command_that_goes_to_another_repository_is_watched_there(yard: Yard, tmp_path: Path, command: str) -> None:
    """A session often works from the folder above, or from a neighbour."""
    alpha, beta = yard.session("a"), yard.session("b", start="")
    yard.edit(alpha, "held.txt", "alpha's\n")
    given: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command.format(yard.repo)}}
    given |= {"tool_use_id": "x", "cwd": str(tmp_path)}
    assert beta.raw("PreToolUse", **given) == ("", "", 0)
    yard.write("held.txt", "beta's\n")
    out, _, _ = beta.raw("PostToolUse", **given, tool_response={})
    assert "repo/held.txt (changed" in out


def test_a_repository_that_has_no_room_gets_none_by_a_visit(yard: Yard, tmp_path: Path) -> None:
    beta = yard.session("b")
    git(tmp_path, "init", "-q", "strange")
    rooms = sorted((yard.home / "rooms").iterdir())
    assert beta.runs(f"cd {tmp_path}/strange && make") == ""
    assert beta.ran(f"cd {tmp_path}/strange && make") == ""
    assert sorted((yard.home / "rooms").iterdir()) == rooms


def test_a_dynamic_target_is_checked_after_the_call(yard: Yard) -> None:
    """Semantics 5: allowed and checked after."""
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    said = yard.during(beta, ("held.txt", "beta's\n"), command="echo x > $(cat where)")
    assert "held.txt (changed" in said


def test_the_tool_of_another_server_that_nobody_knows_is_checked_after_the_call(yard: Yard) -> None:
    """P25, C17."""
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    assert beta.before("mcp__code__transform", goal="tidy up") == ""
    yard.write("held.txt", "beta's\n")
    assert "held.txt (changed" in beta.after("mcp__code__transform", goal="tidy up")


def test_a_failed_call_is_looked_at_too(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("make")
    yard.write("held.txt", "beta's\n")
    assert "held.txt (changed" in beta.ran("make", event="PostToolUseFailure", error="Exit code 2\nno rule")


def test_many_changed_files_are_named_shortly(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    names = [f"deep/folder/of/many/names/that/are/long/{'x' * 40}-{place}.txt" for place in range(12)]
    for name in names:
        yard.edit(alpha, name, "alpha's\n")
    said = yard.during(beta, *((name, "beta's\n") for name in names))
    assert "and 7 more" in said or said.endswith("…")
    assert len(said.encode()) <= 600
    assert len(yard.log("path_leaked")) == 12


# --- in the background, side by side, without ids -------------------------------------------------------------------


def test_a_call_in_the_background_is_looked_at_when_its_task_ends(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    given = {"command": "make watch", "run_in_background": True}
    assert beta.before("Bash", **given) == ""
    assert beta.after("Bash", **given, response={"backgroundTaskId": "t1", "stdout": ""}) == ""
    beta.tell("Stop", background_tasks=[{"id": "t1"}])
    yard.write("held.txt", "beta's\n")
    assert yard.log("path_leaked") == []
    said = beta.tell("UserPromptSubmit", prompt="Go on.", background_tasks=[])
    assert "held.txt, held by claude-code, was changed by a call of yours that is over" in said
    assert len(yard.log("path_leaked")) == 1


def test_a_call_that_was_broken_off_is_looked_at_at_the_end_of_the_turn(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("make")
    yard.write("held.txt", "beta's\n")
    assert beta.tell("Stop") == ""
    assert len(yard.log("path_leaked")) == 1
    assert "clearway restore held.txt" in beta.tell("UserPromptSubmit", prompt="Go on.")


def test_a_session_that_ends_in_the_middle_of_a_call_has_it_looked_at(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("make")
    yard.write("held.txt", "beta's\n")
    beta.tell("SessionEnd", reason="logout")
    assert "held.txt, which you hold, was changed" in alpha.tell("UserPromptSubmit", prompt="Go on.")


def test_calls_without_an_id_are_matched_by_what_they_are(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    assert "held.txt (changed" in yard.during(beta, ("held.txt", "beta's\n"), call=None)
    assert yard.during(beta, call=None) == "", "the next call finds it changed already"


def test_several_who_ran_something_meanwhile_are_all_told_and_the_holder_once(yard: Yard) -> None:
    alpha, beta, gamma = yard.session("a"), yard.session("b"), yard.session("c", client="codex")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs(UNREADABLE)
    gamma.runs("make")
    yard.write("held.txt", "whose?\n")
    assert "held.txt (changed" in gamma.ran("make")
    assert "held.txt (changed" in beta.ran(UNREADABLE)
    assert len(yard.log("path_leaked")) == 1
    heard = alpha.tell("UserPromptSubmit", prompt="Go on.")
    assert heard.count("held.txt, which you hold") == 1


def test_calls_of_one_session_side_by_side_tell_it_once(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("make one", call="one")
    yard.write("held.txt", "beta's\n")
    beta.runs("make two", call="two")
    assert beta.ran("make two", call="two") == "", "it was changed before that call"
    assert "held.txt (changed" in beta.ran("make one", call="one")


# --- what is none ---------------------------------------------------------------------------------------------------


def test_a_touch_that_leaves_the_content_is_no_leak(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    assert yard.during(beta, ("held.txt", "alpha's\n")) == ""
    assert yard.log("path_leaked", "path_changed_outside") == []


def test_what_the_holder_writes_itself_meanwhile_is_no_leak(yard: Yard) -> None:
    """Its edits, and what its own commands write."""
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("pytest -q")
    yard.edit(alpha, "held.txt", "alpha's second\n")
    assert beta.ran("pytest -q") == ""
    beta.runs("pytest -q")
    assert yard.during(alpha, ("held.txt", "formatted\n"), command="make format") == ""
    assert beta.ran("pytest -q") == ""
    assert yard.log("path_leaked", "path_changed_outside") == []


def test_what_the_holder_began_to_edit_during_the_call_and_the_call_then_changed_is_a_leak(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    beta.runs("make")
    yard.edit(alpha, "held.txt", "alpha's\n")
    yard.write("held.txt", "beta's\n")
    assert "held.txt (changed" in beta.ran("make")


def test_what_changed_while_the_holder_had_a_call_open_is_told_to_the_holder_alone(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    alpha.runs("make format")
    assert yard.during(beta, ("held.txt", "whose?\n")) == ""
    assert yard.log("path_leaked") == []
    (event,) = yard.log("path_changed_outside")
    assert event.session == "a"
    assert "held.txt, which you hold, was changed" in alpha.ran("ls")


def test_what_changed_before_the_call_is_told_to_the_holder_alone(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    yard.write("held.txt", "somebody's\n")
    assert yard.during(beta) == ""
    assert yard.during(beta) == ""
    assert len(yard.log("path_changed_outside")) == 1, "told once"
    assert "not by a call of another agent" in alpha.tell("UserPromptSubmit", prompt="Go on.")


def test_an_edit_whose_word_comes_late_takes_the_alarm_back(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    given = {"file_path": str(yard.repo / "held.txt"), "old_string": "a", "new_string": "b"}
    beta.runs("pytest -q")
    alpha.before("Edit", **given)
    yard.write("held.txt", "alpha's second\n")
    beta.ran("pytest -q")
    assert alpha.after("Edit", **given) == ""
    assert alpha.tell("UserPromptSubmit", prompt="Go on.") == ""
    assert yard.during(beta) == ""


def test_the_same_path_in_another_worktree_is_another_file(yard: Yard) -> None:
    """C26, C28."""
    git(yard.repo, "worktree", "add", "-q", str(yard.repo.parent / "tree"), "-b", "side")
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    tree = str(yard.repo.parent / "tree")
    beta.raw("PreToolUse", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="x", cwd=tree)
    (yard.repo.parent / "tree" / "held.txt").write_text("beta's\n")
    out, _, _ = beta.raw(
        "PostToolUse", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="x", cwd=tree, tool_response={}
    )
    assert out == ""
    assert yard.log("path_leaked", "path_changed_outside") == []


def test_what_nobody_holds_may_be_changed_by_anybody(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    alpha.tell("Stop")
    assert yard.during(beta, ("held.txt", "beta's\n")) == ""
    assert yard.log("path_leaked", "path_changed_outside") == []


def test_what_was_given_back_during_the_call_that_spoiled_it_is_still_told(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("make")
    yard.write("held.txt", "beta's\n")
    alpha.tell("Stop")
    assert "held.txt (changed" in beta.ran("make")


def test_nothing_is_a_leak_while_the_guard_is_switched_off(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    yard.human("pause_guard")
    assert yard.during(beta, ("held.txt", "beta's\n")) == ""
    assert yard.log("path_leaked", "path_changed_outside") == []


def test_ones_own_file_is_never_ones_leak(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    assert beta.name == "b"
    assert yard.during(alpha, ("held.txt", "again\n")) == ""
    assert yard.log("path_leaked", "path_changed_outside") == []


# --- what it costs, and what it must not do -------------------------------------------------------------------------


def test_a_call_is_marked_with_nothing_when_nobody_holds_anything(yard: Yard) -> None:
    yard.session("a")
    beta = yard.session("b")
    beta.runs("pytest -q")
    (name,) = yard.open_calls("b")
    assert "\n" not in (yard.home / "run" / "open" / "b" / name).read_text()


def test_the_nearest_are_watched_where_there_are_too_many(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    from clearway.guard import snapshots

    monkeypatch.setattr(snapshots, "WATCHED_MAX", 2)
    alpha, beta = yard.session("a"), yard.session("b")
    for name in ("free.txt", "held.txt", "src/a.py", "src/b.py"):
        yard.edit(alpha, name, "alpha's\n")
    call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "x", "cwd": str(yard.repo / "src")}
    beta.raw("PreToolUse", **call)
    for name in ("held.txt", "src/a.py", "src/b.py"):
        yard.write(name, "beta's\n")
    out, _, _ = beta.raw("PostToolUse", **call, tool_response={})
    assert "a.py (changed" in out
    assert "b.py (changed" in out
    assert "held.txt" not in out


def test_what_would_take_long_to_read_is_told_by_its_size(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    from clearway.guard import leaks

    monkeypatch.setattr(leaks, "COMPARED_BYTES_MAX", 0)
    alpha, beta = yard.session("a"), yard.session("b")
    for name in ("held.txt", "free.txt"):
        yard.edit(alpha, name, "alpha's\n")
    said = yard.during(beta, ("held.txt", "longer than that\n"), ("free.txt", "as long\n"))
    assert "held.txt (changed" in said
    assert "free.txt" not in said, "it may only have been touched"


def test_a_full_disk_costs_the_copy_and_not_the_call(yard: Yard) -> None:
    """P46: one line, counted."""
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "free.txt", "alpha's\n")
    folder = yard.snapshots
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    given = {"file_path": str(yard.repo / "held.txt"), "old_string": "a", "new_string": "b"}
    payload = {"tool_name": "Edit", "tool_input": given, "tool_use_id": "x"}
    out, err, code = alpha.raw("PreToolUse", **payload)
    assert (out, code) == ("", 0)
    yard.write("held.txt", "alpha's\n")
    out, err, code = alpha.raw("PostToolUse", **payload, tool_response={})
    assert (out, code) == ("", 0)
    assert err.count("\n") == 1
    assert "was not copied" in err
    assert "SNAPSHOT_NOT_KEPT" in (yard.home / "run" / "guard-open").read_text()
    said = yard.during(beta, ("held.txt", "beta's\n"))
    assert "held.txt (changed" in said, "its print was taken all the same"
    assert "tell its holder" in said


@pytest.mark.parametrize(
    "text", [b'{"foreign": [["held.txt", "x"]], "root": 3}', b"[1", b'{"foreign": {}, "own": 7}', b"\xff\xff"]
)
def test_a_damaged_mark_of_a_call_is_no_trouble(yard: Yard, text: bytes) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("make")
    (name,) = yard.open_calls("b")
    mark = yard.home / "run" / "open" / "b" / name
    mark.write_bytes(mark.read_bytes().partition(b"\n")[0] + b"\n" + text)
    assert beta.ran("make") == ""


def test_a_mistake_of_ours_does_not_refuse_a_call(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the guard fails closed."""
    from clearway.guard import snapshots

    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    yard.human("set_setting", name="fail", value="closed")

    def breaks(*_: object) -> None:
        raise KeyError("oh")

    monkeypatch.setattr(snapshots, "foreign_names", breaks)
    out, err, code = beta.raw("PreToolUse", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="x")
    assert (out, code) == ("", 0)
    assert err == "clearway: held files are not watched over now (KeyError)\n"
    assert "SNAPSHOT_NOT_KEPT" in (yard.home / "run" / "guard-open").read_text()


def test_the_state_of_a_call_is_for_its_owner_alone(yard: Yard) -> None:
    alpha, beta = yard.session("a"), yard.session("b")
    yard.edit(alpha, "held.txt", "alpha's\n")
    beta.runs("make")
    (name,) = yard.open_calls("b")
    assert os.stat(yard.home / "run" / "open" / "b" / name).st_mode & 0o777 == 0o600
