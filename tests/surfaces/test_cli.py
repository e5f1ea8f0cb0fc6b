"""The command line: its words reach the operations, its lines are for people, and whatever goes wrong is one line.

Most of it runs in this process, which is quick; what depends on a real program - raw bytes, closed streams, what is
loaded - starts one.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import pytest
from tests.conftest import git
from tests.surfaces.conftest import PROGRAM, Terminal

from clearway import arguments
from clearway.arguments import Patch
from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.surfaces import cli, commands, tables
from clearway.surfaces.spelling import COMMANDS, Command


@pytest.fixture
def held(terminal: Terminal) -> Terminal:
    """The acceptance fixture: alpha holds `held.txt` and `deploy` for its work."""
    assert terminal("--as", "alpha", "claim", "held.txt", "deploy", "--purpose", "work").status == 0
    return terminal


# --- paths ----------------------------------------------------------------------------------------------------------


def test_a_held_file_is_refused_with_holder_purpose_and_time(held: Terminal) -> None:
    """P1."""
    ended = held("--as", "beta", "claim", "held.txt")
    assert ended.code == "PATH_HELD"
    assert ended.status == 4
    for word in ("held.txt", "alpha", '"work"', "until"):
        assert word in ended.err


def test_the_owner_is_named_with_purpose_and_time(held: Terminal) -> None:
    """P1."""
    assert 'held.txt is held by alpha for "work" until' in held("owner", "held.txt").out
    assert "(in 30 min)" in held("owner", "held.txt").out
    shown = held("--json", "owner", "deploy/x.sh").json
    assert (shown["free"], shown["agent"], shown["purpose"], shown["mode"]) == (False, "alpha", "work", "edit")


def test_a_free_file_goes_to_the_first_who_asks(terminal: Terminal) -> None:
    """P2."""
    assert terminal("owner", "free.txt").out == "free.txt is free.\n"
    assert "free.txt is yours until" in terminal("--as", "beta", "claim", "free.txt").out
    assert terminal("--as", "alpha", "claim", "free.txt").code == "PATH_HELD"


def test_a_folder_with_a_held_file_in_it_is_refused(held: Terminal) -> None:
    """P4."""
    assert held("--as", "beta", "claim", ".").code == "PATH_HELD"
    assert held("--json", "owner", "free.txt").json["free"]


def test_several_paths_are_granted_all_or_none(held: Terminal) -> None:
    """P5."""
    assert held("--as", "beta", "claim", "free.txt", "held.txt").code == "PATH_HELD"
    assert held("--json", "owner", "free.txt").json["free"]


def test_a_path_is_relative_to_the_folder_that_is_named(held: Terminal, tmp_path: Path) -> None:
    """P10."""
    assert held("-C", str(held.folder), "--as", "beta", "claim", "held.txt", folder=tmp_path).code == "PATH_HELD"
    granted = held("-C", "repo/src", "--as", "beta", "claim", "a.py", folder=tmp_path)
    assert granted.out.startswith("src/a.py is yours")
    assert held("--json", "owner", str(held.folder / "src" / "a.py"), folder=tmp_path).json["agent"] == "beta"


@pytest.mark.parametrize("spelling", ["a b.txt", "./a b.txt", "src/../a b.txt", "file://{repo}/a%20b.txt"])
def test_a_path_is_one_path_however_it_is_spelled(terminal: Terminal, spelling: str) -> None:
    """P13 and P14."""
    terminal("--as", "alpha", "claim", "a b.txt")
    assert terminal("--as", "beta", "claim", spelling.format(repo=terminal.folder)).code == "PATH_HELD"


def test_two_repositories_of_one_name_have_nothing_to_do_with_each_other(held: Terminal, tmp_path: Path) -> None:
    """P16."""
    other = tmp_path / "elsewhere" / "repo"
    (other / "src").mkdir(parents=True)
    git(other, "init", "-q")
    assert held("--json", "owner", "held.txt", folder=other).json["free"]
    assert held("--as", "beta", "claim", "held.txt", folder=other).status == 0


def test_of_programs_that_race_for_a_path_exactly_one_wins(terminal: Terminal) -> None:
    """P7, before there is any database."""
    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(lambda n: terminal.program("--as", f"a{n}", "claim", "free.txt"), range(8)))
    assert sorted(each.returncode for each in ended) == [0] + [4] * 7


def test_a_file_outside_of_every_repository_can_be_held(terminal: Terminal, tmp_path: Path) -> None:
    terminal("--as", "alpha", "claim", str(tmp_path / "notes.txt"))
    assert terminal("--as", "beta", "claim", str(tmp_path / "notes.txt"), folder=tmp_path).code == "PATH_HELD"


def test_paths_are_given_back_one_or_all(held: Terminal) -> None:
    assert held("--as", "beta", "release", "held.txt").code == "NOT_YOURS"
    assert held("--as", "alpha", "release", "held.txt").out == "Given back: held.txt.\n"
    assert held("--as", "alpha", "release").out == "Given back: deploy.\n"
    assert held("--as", "alpha", "release").out == "Nothing was held.\n"


def test_the_hook_denies_a_patch_in_a_heredoc(held: Terminal) -> None:
    """P22, through the program that a client starts."""
    command = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: deploy/x.sh\n@@\n-a\n+b\n*** End Patch\nEOF"
    event = {"event": "before", "agent": "beta", "session": "s", "tool": "Bash", "input": {"command": command}}
    ended = held.program("hook", "generic", stdin=json.dumps(event | {"cwd": str(held.folder)}).encode())
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.startswith(b"PATH_HELD: deploy/x.sh (by a lease on deploy)")


def test_the_hook_answers_in_the_dialect_of_its_client(held: Terminal) -> None:
    """P1."""
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(held.folder), "tool_name": "Edit"}
    event |= {"tool_input": {"file_path": str(held.folder / "held.txt")}}
    ended = held.program("hook", "claude", stdin=json.dumps(event).encode())
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert json.loads(ended.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


# --- setting up -------------------------------------------------------------------------------------------------------


def test_init_writes_the_pointer_once_and_the_room_elsewhere(terminal: Terminal, tmp_path: Path) -> None:
    """I1."""
    made = terminal("--json", "init").json
    pointer = terminal.folder / ".clearway.json"
    assert json.loads(pointer.read_text()) == {"version": 1, "project_id": made["project_id"]}
    room = Path(made["room"])
    assert room.is_relative_to(tmp_path / "state")
    before = pointer.read_bytes(), room.read_bytes()
    again = terminal("init")
    assert again.code == "PROJECT_ALREADY_INITIALIZED"
    assert (pointer.read_bytes(), room.read_bytes()) == before


@pytest.mark.parametrize("exists", [True, False])
def test_state_inside_the_repository_is_refused(terminal: Terminal, exists: bool) -> None:
    """I2."""
    inside = terminal.folder / "inside"
    if exists:
        inside.mkdir()
    before = git(terminal.folder, "status", "--porcelain"), inside.exists()
    assert terminal("init", CLEARWAY_HOME=str(inside)).code == "STORAGE_CONFIGURATION"
    assert (git(terminal.folder, "status", "--porcelain"), inside.exists()) == before
    assert not inside.exists() or not list(inside.iterdir())
    assert terminal("init").status == 0


def test_a_clone_with_the_pointer_works_on_a_machine_without_the_room(terminal: Terminal, tmp_path: Path) -> None:
    """I7."""
    project = terminal("--json", "init").json["project_id"]
    ended = terminal("--json", CLEARWAY_HOME=str(tmp_path / "other machine"))
    assert ended.json["root"] == str(terminal.folder)
    assert terminal("issue", "create", "First", CLEARWAY_HOME=str(tmp_path / "other machine")).status == 0
    assert terminal("--json", CLEARWAY_HOME=str(tmp_path / "other machine")).json["project_id"] == project


def test_what_was_done_before_init_is_still_there_after_it(held: Terminal) -> None:
    assert held("init").status == 0
    assert held("--json", "owner", "held.txt").json["agent"] == "alpha"


def test_init_finds_the_root_and_all_worktrees_share_the_room(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal("init", folder=terminal.folder / "src").status == 0
    assert (terminal.folder / ".clearway.json").is_file()
    git(terminal.folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    terminal("issue", "create", "Shared")
    assert "Shared" in terminal("issue", "list", folder=tmp_path / "tree").out


def test_a_folder_without_git_can_be_a_project(terminal: Terminal, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    (plain / "deep").mkdir(parents=True)
    assert terminal("room", folder=plain).code == "PROJECT_NOT_FOUND"
    assert terminal("init", folder=plain).status == 0
    assert terminal("issue", "create", "First", folder=plain / "deep").status == 0


def test_a_home_is_no_project(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal("init", folder=tmp_path / "person").code == "PATH_TOO_WIDE"
    assert not list((tmp_path / "person").iterdir())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', '{"version": 2, "project_id": "x"}'])
def test_a_broken_pointer_is_named_and_left_alone(terminal: Terminal, text: str) -> None:
    pointer = terminal.folder / ".clearway.json"
    pointer.write_text(text)
    for words in (["init"], ["room"], ["status"], []):
        assert terminal(*words).code == "INVALID_PROJECT_IDENTITY"
    assert pointer.read_text() == text


def test_connect_shows_the_change_and_makes_it_only_when_told(terminal: Terminal, tmp_path: Path) -> None:
    settings = tmp_path / "person" / ".claude" / "settings.json"
    shown = terminal("connect", "claude")
    assert shown.status == 0
    assert f"+++ {settings}" in shown.out
    assert shown.out.endswith("Nothing was written; --write does it.\n")
    assert not settings.exists()
    assert terminal("connect", "claude", "--write").out.endswith("Written; clearway doctor tries what is registered.\n")
    assert settings.exists()
    assert terminal("connect", "claude", "--write").out == "Nothing to change.\n"
    assert terminal("--json", "disconnect", "--write").json["written"]
    assert not settings.exists()


def test_uninstall_shows_what_goes_and_takes_it_away_only_when_told(terminal: Terminal, tmp_path: Path) -> None:
    """C19."""
    terminal("issue", "create", "Work")
    terminal("connect", "claude", "--write")
    settings, state = tmp_path / "person" / ".claude" / "settings.json", tmp_path / "state"
    shown = terminal("uninstall", "--data").out
    assert f"--- {settings}" in shown
    assert f"Removes {state / 'rooms'}: 1 room with 1 issue and their history" in shown
    assert "--write does it" in shown
    assert settings.exists()
    assert f"{state} stays" in terminal("uninstall", "--write").out
    assert not settings.exists()
    assert "ISSUE-1" in terminal("issue", "list").out
    assert terminal("--json", "uninstall", "--data", "--write").json["written"]
    assert not state.exists()
    assert "Nothing of Clearway" in terminal("uninstall").out


def test_connect_without_a_client_on_the_machine_names_those_there_are(terminal: Terminal, tmp_path: Path) -> None:
    ended = terminal("connect", PATH=str(tmp_path))
    assert ended.code == "INVALID_ARGUMENT"
    assert "claude" in ended.err
    assert terminal("connect", "emacs").code == "INVALID_ARGUMENT"


def test_connect_bakes_in_the_name_it_is_given(terminal: Terminal) -> None:
    for words in (["connect", "claude", "--as", "anna"], ["--as", "anna", "connect", "claude"]):
        assert "CLEARWAY_AGENT=anna" in terminal(*words).out


def test_the_rehearsal_says_whether_it_went_well(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    from clearway.setup import rehearse

    for went_well, status in ((True, 0), (False, 1)):
        monkeypatch.setattr(rehearse, "rehearse", lambda out, *, colour, well=went_well: out("a line") or well)
        ended = terminal("simulate")
        assert (ended.status, ended.out) == (status, "a line\n")


# --- work -------------------------------------------------------------------------------------------------------------


def test_an_issue_is_created_listed_and_shown(terminal: Terminal) -> None:
    words = ["issue", "create", "Split the lexer", "--status", "ready", "--priority", "high", "--labels", "ui"]
    assert terminal(*words, "--labels", "core").out == "ISSUE-1 created (ready).\n"
    assert terminal("issue", "list").out.splitlines() == [
        "ISSUE    STATUS  PRIORITY  LABELS   TITLE",
        "ISSUE-1  ready   high      core ui  Split the lexer",
    ]
    assert "ISSUE-1 Split the lexer" in terminal("issue", "show", "issue-1").out
    assert terminal("--json", "issue", "show", "1").json["labels"] == ["core", "ui"]


def test_a_list_goes_on_where_it_was_cut(terminal: Terminal) -> None:
    for title in ("One", "Two", "Three"):
        terminal("issue", "create", title)
    first = terminal("issue", "list", "--limit", "2").out
    cursor = first.splitlines()[-1].removeprefix("More: --cursor ")
    assert "Three" not in first
    assert "Three" in terminal("issue", "list", "--limit", "2", "--cursor", cursor).out


def test_an_empty_list_says_what_to_do(terminal: Terminal) -> None:
    assert "clearway issue create" in terminal("issue", "list").out


def claim(terminal: Terminal, name: str) -> dict[str, Any]:
    terminal("issue", "create", "Work", "--status", "ready")
    return terminal("--json", "--as", name, "next").json


def test_next_is_the_best_ready_issue(terminal: Terminal) -> None:
    assert terminal("next").code == "NOTHING_TO_CLAIM"
    terminal("issue", "create", "Later", "--status", "ready", "--priority", "low")
    terminal("issue", "create", "Now", "--status", "ready")
    ended = terminal("--as", "anna", "next")
    assert ended.out.startswith("ISSUE-2 is yours until")
    assert "lease token" in ended.out
    assert "clearway attempt finish" in ended.out
    assert terminal("--as", "ben", "issue", "claim", "ISSUE-2").code == "ACTIVE_ATTEMPT_EXISTS"


def test_an_issue_is_kept_for_an_agent_until_it_is_freed(terminal: Terminal) -> None:
    terminal("issue", "create", "Work", "--status", "ready")
    assert "ISSUE-1 changed: whom it is kept for" in terminal("issue", "reserve", "ISSUE-1", "--for", "ben").out
    assert terminal("--as", "anna", "issue", "claim", "ISSUE-1").code == "ISSUE_RESERVED"
    assert terminal("issue", "reserve", "ISSUE-1", "--for", "").status == 0
    assert terminal("--as", "anna", "issue", "claim", "ISSUE-1").status == 0


def test_the_environment_may_say_what_an_agent_can_do(terminal: Terminal) -> None:
    terminal("issue", "create", "Train", "--status", "ready", "--need", "gpu", "--need", "net")
    assert terminal("--as", "anna", "next").code == "NOTHING_TO_CLAIM"
    assert terminal("--as", "anna", "next", "--capability", "gpu").code == "NOTHING_TO_CLAIM"
    able = terminal("--as", "anna", "next", CLEARWAY_CAPABILITIES="net, GPU")
    assert able.out.startswith("ISSUE-1 is yours")


def test_a_review_and_a_decision_are_made_and_read(terminal: Terminal) -> None:
    claim(terminal, "anna")
    finish = ["attempt", "finish", "--outcome", "completed"]
    terminal("--as", "anna", *finish, "--target", "review", "--summary", "Done.")
    review = terminal("--json", "--as", "anna", "review", "request", "ISSUE-1").json["review_request_id"]
    assert "open" in terminal("review", "show", review).out
    assert terminal("review", "cancel", review).status == 0, "the version to expect is found by itself"
    assert "cancelled" in terminal("review", "list").out
    again = terminal("--json", "review", "request", "ISSUE-1").json["review_request_id"]
    assert terminal("review", "supersede", again).status == 0
    assert terminal("decision", "add", "No floats", "--summary", "Cents.", "--issue", "ISSUE-1").status == 0
    assert "No floats" in terminal("decision", "list", "ISSUE-1").out
    context = terminal("issue", "context", "ISSUE-1").out
    assert "Decided: No floats: Cents." in context
    assert "Review of version 2: superseded." in context


def test_a_project_is_named(terminal: Terminal) -> None:
    assert "PAY-1" in terminal("project", "set", "--name", "Payments", "--key", "pay").out
    assert terminal("issue", "create", "Work").out == "PAY-1 created (open).\n"
    assert terminal("project", "set", "--key", "PAY").out == "Nothing to change.\n"
    terminal("issue", "create", "Refunds", "--status", "ready")
    terminal("--as", "anna", "next")
    assert "PAY-2 until" in terminal("--as", "anna", "status").out
    assert "PAY-2" in terminal("--as", "anna").out


def test_a_claim_without_context_is_short(terminal: Terminal) -> None:
    terminal("issue", "create", "Work", "--status", "ready")
    assert "context" not in terminal("--json", "issue", "claim", "ISSUE-1", "--no-context").json


def test_the_token_is_derived_again_for_the_session_that_holds(terminal: Terminal) -> None:
    attempt = claim(terminal, "anna")["attempt_id"]
    assert terminal("--as", "anna", "attempt", "renew", attempt).status == 0
    assert terminal("--as", "anna", "attempt", "note", attempt, "--kind", "finding", "--content", "So.").status == 0
    refused = terminal("--as", "ben", "attempt", "renew", attempt)
    assert refused.code == "INVALID_ARGUMENT"
    assert "held by anna" in refused.err
    finish = ["attempt", "finish", attempt, "--outcome", "completed", "--target", "done", "--summary", "Done."]
    assert terminal("--as", "anna", *finish).out == "Attempt completed; the issue is done.\n"
    assert terminal("--as", "anna", *finish).code == "ATTEMPT_NOT_ACTIVE"
    assert terminal("--as", "ben", *finish).code == "ATTEMPT_NOT_ACTIVE"
    assert terminal("attempt", "renew", "nonsense").code == "ATTEMPT_NOT_FOUND"


def test_the_attempt_is_the_one_that_the_session_works_on(terminal: Terminal) -> None:
    claim(terminal, "anna")
    note = ["attempt", "note", "--kind", "finding", "--content", "So."]
    assert terminal("--as", "anna", *note).status == 0
    assert "take an issue" in terminal("--as", "ben", *note).err
    assert terminal("--as", "anna", "attempt", "note", "--kind", "dream", "--content", "So.").code == "INVALID_ARGUMENT"
    finish = ["attempt", "finish", "--outcome", "completed", "--target", "done", "--summary", "Done."]
    assert terminal("--as", "ben", *finish).code == "INVALID_ARGUMENT"
    assert terminal("--as", "anna", *finish).out == "Attempt completed; the issue is done.\n"
    assert terminal("--as", "anna", *finish).code == "INVALID_ARGUMENT"


def test_a_refusal_speaks_of_the_words_that_were_typed(terminal: Terminal) -> None:
    assert terminal("off", "5x").err.startswith("INVALID_ARGUMENT: off: duration must be")
    assert "pause_guard: duration" in terminal("--json", "off", "5x").err


def test_a_misspelt_word_is_answered_with_the_right_one(terminal: Terminal) -> None:
    assert "(did you mean issue?)" in terminal("isue", "list").err
    assert "(did you mean issue list or" in terminal("list").err
    assert "(did you mean show?)" in terminal("issue", "shwo", "1").err
    assert "one of list, show, create" in terminal("issue").err
    assert "did you mean" not in terminal("xyzzy").err


@pytest.mark.parametrize("way", ["--token", "--lease-token", "environment"])
def test_whoever_has_the_token_may_act(terminal: Terminal, way: str) -> None:
    claimed = claim(terminal, "anna")
    token = claimed["lease_token"]
    words = ["attempt", "renew", claimed["attempt_id"]]
    if way == "environment":
        assert terminal("--as", "ben", *words, CLEARWAY_LEASE_TOKEN=token).status == 0
        assert terminal("--as", "cleo", *words, CLEARWAY_LEASE_TOKEN="another").code == "INVALID_LEASE_TOKEN"
    else:
        assert terminal("--as", "ben", *words, way, token).status == 0
        assert terminal("--as", "cleo", *words, way, "another").code == "INVALID_LEASE_TOKEN"


def test_the_holder_of_a_lapsed_attempt_is_told_that_it_lapsed(terminal: Terminal, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("1000000 1780000000000")
    terminal.environ["CLEARWAY_TEST_CLOCK"] = str(clock)
    attempt = claim(terminal, "anna")["attempt_id"]
    clock.write_text(f"{1_000_000 + 16 * 60_000} 1780000000000")
    finish = ["attempt", "finish", attempt, "--outcome", "failed", "--reason", "other", "--summary", "Too late."]
    assert terminal("--as", "anna", *finish).code == "LEASE_EXPIRED"
    assert terminal("--as", "ben", "next").status == 0


@pytest.mark.parametrize(("outcome", "reason"), [("failed", "timeout"), ("interrupted", "handoff")])
def test_reason_is_the_code_that_belongs_to_the_outcome(terminal: Terminal, outcome: str, reason: str) -> None:
    attempt = claim(terminal, "anna")["attempt_id"]
    words = ["attempt", "finish", attempt, "--outcome", outcome, "--reason", reason, "--summary", "No."]
    assert terminal("--as", "anna", *words).out.startswith(f"Attempt {outcome};")


def test_context_shows_where_the_work_stands(terminal: Terminal) -> None:
    attempt = claim(terminal, "anna")["attempt_id"]
    note = ["attempt", "note", attempt, "--kind", "checkpoint", "--content", "Half way.", "--next-steps", "The rest"]
    terminal("--as", "anna", *note)
    shown = terminal("issue", "context", "ISSUE-1").out
    assert "Checkpoint of anna" in shown
    assert "  Half way.\n  next: The rest" in shown


def test_artifacts_are_json(terminal: Terminal) -> None:
    attempt = claim(terminal, "anna")["attempt_id"]
    note = ["--as", "anna", "--json", "attempt", "note", attempt, "--kind", "finding", "--content", "See."]
    made = terminal(*note, "--artifacts", '{"type": "commit", "uri": "abc"}', "--artifacts", '{"type":"log","uri":"l"}')
    assert len(made.json["artifact_ids"]) == 2
    assert json.loads(terminal(*note, "--artifacts", "{").err)["details"][0]["field"] == "artifacts[0]"


# --- long texts -------------------------------------------------------------------------------------------------------


def described(terminal: Terminal, *words: str, stdin: bytes = b"") -> str:
    made = terminal("--json", "issue", "create", "Long", *words, stdin=stdin).json
    return terminal("--json", "issue", "show", made["display_id"]).json["description"]


def test_a_long_text_comes_from_stdin_or_a_file(terminal: Terminal) -> None:
    (terminal.folder / "text.md").write_text("First\n\nSecond\n")
    assert described(terminal, "--description", "-", stdin="Grüße\nan alle\n".encode()) == "Grüße\nan alle"
    assert described(terminal, "--description", "@text.md") == "First\n\nSecond"
    assert described(terminal, "-C", "src", "--description", "@../text.md") == "First\n\nSecond"
    assert described(terminal, "--description", "@@anna: look") == "@anna: look"


def test_a_short_text_is_what_it_says(terminal: Terminal) -> None:
    terminal("issue", "create", "@nobody")
    terminal("issue", "create", "-")
    assert [item["title"] for item in terminal("--json", "issue", "list").json["items"]] == ["@nobody", "-"]


@pytest.mark.parametrize(
    ("words", "stdin", "code"),
    [
        (["--description", "@missing.md"], b"", "INVALID_ARGUMENT"),
        (["--description", "@src"], b"", "INVALID_ARGUMENT"),
        (["--description", "@" + "n" * 5_000], b"", "INVALID_ARGUMENT"),
        (["--description", "-"], b"\xff\xfe", "INVALID_ARGUMENT"),
        (["--description", "-"], b"a\0b", "INVALID_ARGUMENT"),
        (["--description", "-", "--acceptance-criteria", "-"], b"text", "INVALID_ARGUMENT"),
        (["--description", "-"], b"x" * 100_001, "LIMIT_EXCEEDED"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(terminal: Terminal, words: list[str], stdin: bytes, code: str) -> None:
    assert terminal("issue", "create", "Title", *words, stdin=stdin).code == code
    assert not terminal("--json", "issue", "list").json["items"]


# --- every operation --------------------------------------------------------------------------------------------------


def command_of(words: str) -> click.Command:
    command: click.Command = commands.program
    for word in words.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    return command


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_operation_has_its_words_and_an_option_for_each_argument(command: Command) -> None:
    made = command_of(command.words)
    names = {parameter.name for parameter in made.params}
    operation = command.operation
    for parameter in arguments.parameters(operation):
        if isinstance(parameter.kind, Patch):
            assert set(parameter.kind.fields) - {*command.without} <= names
        elif parameter.name not in {*command.fixed, *command.without}:
            assert parameter.name in names
    assert ("idempotency_key" in names) == bool(operation.keyed)
    assert made.short_help == command.summary


def test_every_operation_can_be_called_by_its_name(held: Terminal) -> None:
    assert held("call", "path_owner", '{"path": "held.txt"}').json["agent"] == "alpha"
    assert held("call", "path_owner", "-", stdin=b'{"path": "free.txt"}').json["free"]
    assert held("call", "room").json["me"]["agent"] == "human"
    for name in OPERATIONS:
        refused = held("--json", "call", name, '{"no_such_argument": 1}')
        assert json.loads(refused.err)["code"] == "INVALID_ARGUMENT"
        assert refused.status == 2


@pytest.mark.parametrize("given", ["{", "[]", "1", '"x"', "nonsense", "", "{} {}", "[" * 100_000, "@missing"])
def test_what_is_no_object_of_arguments_is_refused(terminal: Terminal, given: str) -> None:
    assert terminal("call", "room", given).code == "INVALID_ARGUMENT"


def test_an_unknown_operation_is_refused_with_those_there_are(terminal: Terminal) -> None:
    ended = terminal("call", "make_coffee")
    assert ended.code == "INVALID_ARGUMENT"
    assert "claim_issue" in ended.err


# --- who asks, and in which form --------------------------------------------------------------------------------------


def test_options_for_all_commands_stand_before_or_after_the_word(held: Terminal, tmp_path: Path) -> None:
    for words in (["--json", "--as", "beta", "-C", "repo", "room"], ["room", "--json", "--as", "beta", "-C", "repo"]):
        assert held(*words, folder=tmp_path).json["me"]["agent"] == "beta"


def test_without_a_name_it_is_the_human(terminal: Terminal) -> None:
    assert terminal("--json", "room").json["me"]["agent"] == "human"
    assert terminal("--json", "room", CLEARWAY_AGENT="anna").json["me"]["agent"] == "anna"
    assert terminal("--json", "--as", "ben", "room", CLEARWAY_AGENT="anna").json["me"]["agent"] == "ben"


def test_a_command_that_a_client_runs_belongs_to_its_session(terminal: Terminal) -> None:
    me = terminal("--json", "room", CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="abc").json["me"]
    assert me == {"agent": "claude-code", "session": "abc"}


@pytest.mark.parametrize("name", ["human", "system", "clearway", "*"])
def test_a_reserved_name_is_refused(terminal: Terminal, name: str) -> None:
    assert terminal("--as", name, "room").code == "RESERVED_NAME"


def test_who_is_room(held: Terminal) -> None:
    held("--as", "beta", "room", "--status", "reading")
    shown = held("who").out
    assert "reading" in shown
    assert "held.txt" in shown
    assert held("--json", "who").json == held("--json", "room").json


# --- looking around ---------------------------------------------------------------------------------------------------


def test_status_is_one_line_where_there_is_a_room_and_none_elsewhere(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal("status").out == ""
    assert terminal("status", folder=tmp_path).out == ""
    assert not (tmp_path / "state" / "rooms").exists(), "looking makes no room"
    terminal("--as", "alpha", "claim", "held.txt")
    assert terminal("status").out == "clearway: 1 other agent, 1 path held\n"
    claim(terminal, "anna")
    assert terminal("--as", "anna", "status").out.startswith("clearway: 1 other agent, 1 path held, ISSUE-1 until ")


def test_a_bare_command_says_where_things_stand_and_what_comes_next(terminal: Terminal, tmp_path: Path) -> None:
    assert "clearway init" in terminal(folder=tmp_path).out
    assert terminal().out.splitlines()[-2:] == ["  clearway init", "  clearway connect"]
    assert not (tmp_path / "state" / "rooms").exists(), "looking makes no room"
    terminal("init")
    create = "clearway issue create TITLE --status ready"
    assert terminal("--json").json["next"] == ["clearway connect", create], "nobody was ever here"
    terminal("--as", "ben", "room", "--status", "looking")
    assert terminal("--json").json["next"] == [create, "clearway room"]
    terminal("issue", "create", "Work", "--status", "ready")
    assert terminal("--json").json["next"] == ["clearway next", "clearway issue list"]
    terminal("--as", "anna", "next")
    assert "  clearway attempt finish --outcome completed" in terminal("--as", "anna").out
    assert terminal("--json").json["claimable"] == 0


def test_help_names_every_word_with_what_it_is_for(terminal: Terminal) -> None:
    shown = terminal("--help").out
    for word in ("issue", "attempt", "next", "room", "claim", "owner", "init", "connect", "doctor", "call", "mcp"):
        assert f"\n  {word} " in shown
    assert terminal("owner", "-h").out.startswith("Usage: clearway owner")
    assert terminal("--version").out == "clearway 0.1.0\n"


def test_words_are_completed(terminal: Terminal) -> None:
    asked = {
        "_CLEARWAY_COMPLETE": "bash_complete",
        "COMP_WORDS": "clearway issue create t --status r",
        "COMP_CWORD": "5",
    }
    assert terminal.program(environ=asked).stdout == b"plain,ready\nplain,review\n"
    assert "_CLEARWAY_COMPLETE" in terminal("completion", "fish").out
    assert terminal("completion", "csh").code == "INVALID_ARGUMENT"


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["nonsense"], "INVALID_ARGUMENT"),
        (["--nonsense"], "INVALID_ARGUMENT"),
        (["issue"], "INVALID_ARGUMENT"),
        (["issue", "nonsense"], "INVALID_ARGUMENT"),
        (["owner"], "INVALID_ARGUMENT"),
        (["owner", "a", "b"], "INVALID_ARGUMENT"),
        (["owner", ""], "PATH_INVALID"),
        (["owner", "x" * 5_000], "PATH_INVALID"),
        (["owner", "x" * 300], "PATH_INVALID"),
        (["owner", "https://example.com/x"], ""),
        (["claim", *(f"f{n}" for n in range(65))], "LIMIT_EXCEEDED"),
        (["claim", "x", "--ttl-seconds", "0"], "INVALID_ARGUMENT"),
        (["claim", "x", "--ttl-seconds", "soon"], "INVALID_ARGUMENT"),
        (["claim", "x", "--ttl-seconds", "9" * 5_000], "INVALID_ARGUMENT"),
        (["claim", "x", "--mode", "eat"], "INVALID_ARGUMENT"),
        (["issue", "create", ""], "INVALID_ARGUMENT"),
        (["issue", "create", "x" * 301], "LIMIT_EXCEEDED"),
        (["issue", "list", "--cursor", "nonsense"], "INVALID_ARGUMENT"),
        (["issue", "list", "--limit", "101"], "INVALID_ARGUMENT"),
        (["issue", "show", "ISSUE-99"], "ISSUE_NOT_FOUND"),
        (["issue", "claim"], "INVALID_ARGUMENT"),
        (["--as", "no name", "room"], "INVALID_ARGUMENT"),
        (["--as", "", "room"], "INVALID_ARGUMENT"),
        (["-C", "missing", "room"], "PATH_INVALID"),
        (["-C", "held.txt", "room"], "PATH_INVALID"),
    ],
    ids=lambda given: " ".join(given)[:40] if isinstance(given, list) else None,
)
def test_bad_input_is_one_line_with_a_code(terminal: Terminal, words: list[str], code: str) -> None:
    ended = terminal(*words)
    assert (ended.code if ended.status else "") == code
    with_json = terminal("--json", *words)
    assert with_json.status == ended.status
    if code:
        error = json.loads(with_json.err)
        assert {"code", "message", "details", "retryable"} <= set(error)
        assert error["code"] == code


@pytest.mark.parametrize(
    "words",
    [
        [b"owner", b"\xff\xfe"],
        [b"attempt", b"renew", b"\xff"],
        [b"issue", b"create", b"\xed\xa0\x80"],
        [b"-C", b"\xff", b"room"],
    ],
)
def test_what_is_not_utf8_is_refused(terminal: Terminal, words: list[bytes]) -> None:
    for more in ([b"--as", b"anna"], [b"--json"]):
        ended = terminal.program(*more, *words)
        assert ended.returncode == 2, ended.stderr
        assert ended.stderr.count(b"\n") == 1
        assert b"Traceback" not in ended.stderr


def test_a_folder_that_is_gone_is_named(terminal: Terminal, tmp_path: Path) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    ended = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *PROGRAM, "room"], cwd=tmp_path, env=terminal.environ, capture_output=True
    )
    assert (ended.returncode, ended.stderr.partition(b":")[0]) == (2, b"PATH_INVALID")


def test_without_a_home_it_says_what_to_set(terminal: Terminal) -> None:
    del terminal.environ["CLEARWAY_HOME"], terminal.environ["HOME"]
    assert terminal("room").code == "STORAGE_CONFIGURATION"
    assert terminal("--help").status == 0


def test_state_that_cannot_be_made_is_one_line(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words in (["room"], ["init"], ["issue", "create", "x"], ["connect", "claude"]):
        ended = terminal(*words, CLEARWAY_HOME=str(tmp_path / "file" / "below"))
        assert ended.status in (0, 5)
        assert ended.status == 0 or ended.code.startswith("STORAGE_")


def test_a_damaged_room_is_set_aside_by_a_command_which_says_so(terminal: Terminal) -> None:
    room = Path(terminal("--json", "init").json["room"])
    room.write_bytes(b"no database at all" * 1_000)
    ended = terminal("room")
    assert ended.status == 0
    assert ended.err.startswith(f"clearway: {room} was damaged and is now")
    assert "Traceback" not in ended.err
    assert terminal("room").err == ""


def test_a_bug_is_one_line_without_what_it_says(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("the token is hunter2")

    monkeypatch.setattr("clearway.rooms.Rooms.ask", broken)
    ended = terminal("room")
    assert ended.code == "INTERNAL"
    assert "ValueError" in ended.err
    assert "test_cli.py" in ended.err
    assert "hunter2" not in ended.err
    debugged = terminal("room", CLEARWAY_LOG="debug")
    assert debugged.status == 1
    assert "Traceback" in debugged.err
    assert json.loads(terminal("room", "--json").err)["code"] == "INTERNAL"


def test_an_error_of_the_system_is_a_refusal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", "/a/file")

    monkeypatch.setattr("clearway.rooms.Rooms.ask", broken)
    assert terminal("room").err == "STORAGE_FAILURE: /a/file: Permission denied.\n"


def test_an_interrupt_is_quiet(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.rooms.Rooms.ask", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background starts deaf to it
    try:
        ended = terminal("room")
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ended.status, ended.out, ended.err.strip()) == (130, "", "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "| true", "> /dev/full"])
def test_a_closed_stream_is_no_crash(terminal: Terminal, closed: str) -> None:
    for words in ("room", "owner", "issue create title --description -", "--help"):
        script = f'"$@" {words} {closed}'
        ended = subprocess.run(
            ["/bin/sh", "-c", script, "sh", *PROGRAM], cwd=terminal.folder, env=terminal.environ, capture_output=True
        )
        assert b"Traceback" not in ended.stderr
        assert b"Exception" not in ended.stderr
        assert ended.stderr.count(b"\n") <= 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_cannot_be_written_is_no_failure_of_the_room(terminal: Terminal, unbuffered: str) -> None:
    """What was asked is done: whoever tried again would do it twice."""
    for number, words in enumerate((["issue", "create", "X"], ["--json", "issue", "create", "X"]), start=1):
        ended = subprocess.run(
            ["/bin/sh", "-c", '"$@" > /dev/full', "sh", *PROGRAM, *words],
            cwd=terminal.folder,
            env=terminal.environ | {"PYTHONUNBUFFERED": unbuffered},
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 1
        assert ended.stderr == (
            "clearway: what was asked is done, but the answer could not be written: No space left on device.\n"
        )
        assert len(terminal("--json", "issue", "list").json["items"]) == number


# --- what is loaded ---------------------------------------------------------------------------------------------------


def test_hooks_and_servers_do_not_pay_for_the_command_line() -> None:
    code = "import sys; before = set(sys.modules); import clearway.surfaces.cli; print(*set(sys.modules) - before)"
    environ = {"PYTHONPATH": str(Path(cli.__file__).parents[2])}
    loaded = subprocess.run([sys.executable, "-S", "-c", code], env=environ, capture_output=True, text=True).stdout
    assert "clearway.surfaces.cli" in loaded.split()
    assert not {"click", "typing", "re", "enum", "apsw", "clearway.rooms", "clearway.catalog"} & set(loaded.split())


def test_a_server_that_cannot_begin_says_why(terminal: Terminal) -> None:
    del terminal.environ["CLEARWAY_HOME"], terminal.environ["HOME"]
    ended = terminal.program("mcp")
    assert (ended.returncode, ended.stdout) == (5, b"")
    assert ended.stderr.startswith(b"STORAGE_CONFIGURATION: ")
    assert terminal.program("mcp", "--help").stdout.startswith(b"Usage: clearway mcp [OPTIONS] [--tools PROFILE]")


def test_a_hook_without_a_name_locks_nobody_out(terminal: Terminal) -> None:
    for words in (["hook"], ["hook", "nobody"]):
        ended = terminal.program(*words, stdin=b"{}")
        assert (ended.returncode, ended.stdout) == (0, b"")
        assert b"guard open" in ended.stderr


# --- lines for people -------------------------------------------------------------------------------------------------


def test_what_agents_wrote_is_shown_and_never_obeyed(terminal: Terminal) -> None:
    evil = "title \x1b[2J\u202e end"
    made = terminal("--json", "issue", "create", evil, "--status", "ready", "--description", "a\x1b]0;x\x07\n  b").json
    terminal("--as", "anna", "claim", "held.txt", "--purpose", evil)
    terminal("--as", "anna", "room", "--status", evil)
    attempt = terminal("--json", "--as", "anna", "next").json["attempt_id"]
    for words in (
        ["issue", "list"], ["issue", "show", made["display_id"]], ["issue", "context", "1"], ["room"],
        ["owner", "held.txt"], ["--as", "anna"], ["--as", "anna", "issue", "claim", "1"],
        ["--as", "ben", "claim", "held.txt"],
    ):  # fmt: skip
        ended = terminal(*words)
        assert "\x1b" not in ended.out + ended.err
        assert "\u202e" not in ended.out + ended.err
    assert "\n  a<U+001B>]0;x<U+0007>\n    b\n" in terminal("issue", "show", "1").out
    assert attempt


def test_changes_name_the_issues_they_are_about(terminal: Terminal) -> None:
    terminal("issue", "create", "One")
    terminal("claim", "free.txt")
    heads, created, *_ = terminal("changes").out.splitlines()
    assert created[heads.index("ISSUE") :].startswith("ISSUE-1")


def test_a_refusal_cannot_forge_a_second_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise Refusal("PATH_HELD", "one\nINTERNAL: two\x1b[2J")

    monkeypatch.setattr("clearway.rooms.Rooms.ask", refuse)
    assert terminal("room").err == "PATH_HELD: one INTERNAL: two<U+001B>[2J\n"


def test_json_says_all_and_holds_nothing_that_a_terminal_obeys(terminal: Terminal) -> None:
    title = "a\x9b31m\u202eb\U000e0041é"
    terminal("issue", "create", title)
    ended = terminal.program("--json", "issue", "list")
    assert json.loads(ended.stdout)["items"][0]["title"] == title
    assert not {"\x9b", "\u202e", "\U000e0041"} & set(ended.stdout.decode())
    refused = terminal.program("--json", "claim", "/\u202e\x9b/.")
    assert not {"\x9b", "\u202e"} & set(refused.stderr.decode())


def on_a_terminal(terminal: Terminal, columns: int, *words: str, **environ: str) -> str:
    """What a real program shows on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    command = [*PROGRAM, *words]
    environ = terminal.environ | {"TERM": "xterm-256color"} | environ
    subprocess.run(command, env=environ, cwd=terminal.folder, stdin=theirs, stdout=theirs, stderr=theirs, timeout=60)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65_536):
            shown += part
    except OSError:
        pass  # the other end is closed: all is read
    finally:
        os.close(ours)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_what_is_shown_fits_the_terminal(terminal: Terminal, columns: int) -> None:
    terminal("issue", "create", "修复登录页面的错误处理逻辑 and everything else " * 4, "--status", "ready")
    terminal("--as", "anna", "claim", "held.txt", "deploy", "--purpose", "a long story about prices " * 6)
    terminal("--as", "ben", "claim", "held.txt")
    lines = (
        "issue list", "room", "status", "config list", "changes", "--help", "label list",
        "why held.txt", "issue claim 99", "uninstall",
    )  # fmt: skip
    for line in lines:
        shown = click.unstyle(on_a_terminal(terminal, columns, *line.split()))
        paths = [part for part in shown.split("\n") if str(terminal.folder.parent) not in part]
        assert max(map(tables.cells, paths)) <= columns, line


def test_colour_is_for_a_terminal_that_wants_it(terminal: Terminal) -> None:
    terminal("issue", "create", "Work", "--status", "ready")
    assert "\x1b[32mready" in on_a_terminal(terminal, 80, "issue", "list")
    assert "\x1b" not in on_a_terminal(terminal, 80, "issue", "list", NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(terminal, 80, "issue", "list", TERM="dumb")
    assert "\x1b" not in on_a_terminal(terminal, 80, "--json", "issue", "list")
    assert b"\x1b" not in terminal.program("issue", "list", environ={"TERM": "xterm-256color"}).stdout
