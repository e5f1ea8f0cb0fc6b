"""The fast step recognises the quiet case, and never allows what the full step would not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clearway import repository
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.db import Statement
from clearway.db.migrate import SCHEMA
from clearway.guard import quiet
from clearway.limits import (
    BEAT_EVERY_MS,
    COMPANY_MS,
    READS_BYTES_MAX,
    TRAIL_BYTES_MAX,
    TRAIL_PRINT_BYTES_MAX,
    TRAIL_RETURNS,
)
from clearway.opencalls import OpenCalls
from clearway.rooms import Rooms
from clearway.surfaces import hooks
from clearway.surfaces.moments import OWN_TOOLS
from clearway.trail import PRINT_PRIME, Trail


class Desk:
    """A repository with a pointer, in which session s1 of Claude Code holds `src/a.py` and has just given a beat."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.home = tmp_path / "state"
        self.environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(self.home), "PATH": os.environ["PATH"]}
        found = repository.holding(str(repo))
        assert found is not None
        self.rooms = Rooms(Settings(self.environ))
        self.project = self.rooms.adopt(found)
        self.room = self.rooms.of_repository(found)
        assert self.full(self.edit("src/a.py")) == ("", "", 0)
        assert self.full(self.edit("src/a.py", event="PostToolUse")) == ("", "", 0)

    def payload(self, tool: str, given: Any, *, event: str = "PreToolUse", session: str = "s1", **more: Any) -> bytes:
        payload = {"session_id": session, "cwd": str(self.repo), "hook_event_name": event, "tool_name": tool}
        return json.dumps({**payload, "tool_input": given, **more}).encode()

    def edit(self, path: str, new: str = "b", **more: Any) -> bytes:
        return self.payload("Edit", {"file_path": str(self.repo / path), "old_string": "a", "new_string": new}, **more)

    def bash(self, command: str, **more: Any) -> bytes:
        return self.payload("Bash", {"command": command}, **more)

    def quiet(self, payload: bytes, client: str = "claude", **environ: str) -> bool:
        seen = {name.encode(): value.encode() for name, value in {**self.environ, **environ}.items()}
        return quiet.is_quiet(client, payload, seen)

    def full(self, payload: bytes, **environ: str) -> tuple[str, str, int]:
        return hooks.answer("claude", payload, {**self.environ, **environ})

    def change(self, sql: str) -> None:
        """What time or another process did to the room meanwhile."""
        statement = Statement("change", sql, sql)
        self.room.run(lambda tx: tx.change(statement), caller=Caller("tests", host="tests"))


@pytest.fixture
def desk(tmp_path: Path, repo: Path) -> Desk:
    return Desk(tmp_path, repo)


def test_the_edit_of_an_own_file_is_quiet(desk: Desk) -> None:
    assert desk.quiet(desk.edit("src/a.py"))
    assert desk.quiet(desk.edit("src/a.py"), client="codex")
    assert desk.quiet(desk.edit("src/a.py", event="PostToolUse"))
    assert desk.quiet(desk.payload("Write", {"file_path": str(desk.repo / "src/a.py"), "content": "x" * 100_000}))


def test_a_directory_lease_makes_what_is_below_quiet(desk: Desk) -> None:
    desk.change("UPDATE path_lease SET path = 'src', shown = 'src'")
    assert desk.quiet(desk.edit("src/a.py"))
    assert desk.quiet(desk.edit("src/b.py"))
    assert not desk.quiet(desk.edit("held.txt"))


@pytest.mark.parametrize("command", ["ls -la", "git status", "grep -rn x src", "cat src/a.py | head"])
def test_a_command_that_cannot_write_is_quiet(desk: Desk, command: str) -> None:
    assert desk.quiet(desk.bash(command))


def test_an_edit_that_was_made_is_remembered(desk: Desk) -> None:
    """As the full step would remember it."""
    trail = Trail(str(desk.home))
    before = len(trail.steps("s1"))
    assert desk.quiet(desk.edit("src/b.py", event="PostToolUse"))
    assert desk.full(desk.edit("src/b.py", event="PostToolUse")) == ("", "", 0)
    fast, full = trail.steps("s1")[before:]
    assert (fast.kind, fast.what, fast.status) == (full.kind, full.what, full.status)
    assert abs(fast.wall - full.wall) < 60_000
    with (desk.home / "run" / "trail" / "s1").open("a") as opened:
        opened.write("x" * TRAIL_BYTES_MAX)
    assert not desk.quiet(desk.edit("src/b.py", event="PostToolUse")), "there the older half has to go"
    (desk.home / "run" / "trail" / "s1").unlink()
    assert not desk.quiet(desk.edit("src/b.py", event="PostToolUse")), "the first line is the full step's"


def test_an_edit_among_others_is_left_to_the_full_step_which_copies_it(desk: Desk) -> None:
    assert desk.full(desk.bash("sleep 9", session="s2")) == ("", "", 0)
    assert desk.quiet(desk.edit("src/a.py")), "the question before it is not"
    assert not desk.quiet(desk.edit("src/a.py", event="PostToolUse"))
    assert desk.full(desk.edit("src/a.py", event="PostToolUse")) == ("", "", 0)
    assert [file.read_text() for file in desk.home.glob("rooms/*/snapshots/*")] == ["src/a.py\n"]
    (desk.home / "run" / "beat" / desk.project / "s2").unlink()
    assert desk.quiet(desk.edit("src/a.py", "c", event="PostToolUse")), "the other one has left"
    assert not desk.quiet(desk.edit("src/a.py", event="PostToolUse")), "the same edit for the third time is looked at"


def test_a_read_is_noted(desk: Desk) -> None:
    """As the full step would note it."""
    read = desk.payload("Read", {"file_path": str(desk.repo / "src/b.py")})
    file = desk.home / "run" / "reads" / "s1"
    file.unlink()
    assert not desk.quiet(read), "the first line is the full step's"
    assert desk.full(read) == ("", "", 0)
    assert desk.quiet(read)
    full, fast = file.read_text().splitlines()
    assert fast == full
    assert desk.quiet(desk.payload("Read", {"file_path": str(desk.repo / "none.py")})), "there is nothing to note"
    assert not desk.quiet(desk.payload("Read", {"file_path": "src/b.py"}))
    assert not desk.quiet(desk.payload("Read", {}))
    assert desk.quiet(desk.payload("Grep", {"pattern": "x"}))
    with file.open("a") as opened:
        opened.write("x" * READS_BYTES_MAX)
    assert not desk.quiet(read), "the older half has to go"


def test_a_call_of_our_own_server_is_announced_and_taken_back(desk: Desk) -> None:
    """As the full step would announce it."""
    calls = OpenCalls(str(desk.home), Clock())
    call = {"tool_use_id": "toolu_1", "agent_id": "sub"}
    assert desk.full(desk.payload("mcp__clearway__room", {}, **call | {"tool_use_id": "first"})) == ("", "", 0)
    assert desk.quiet(desk.payload("mcp__clearway__room", {}, **call))
    assert calls.announced("toolu_1") == calls.announced("first") == ("s1", "sub", str(desk.repo))
    calls.sweep()
    assert calls.announced("toolu_1"), "it is of now"
    assert desk.quiet(desk.payload("mcp__clearway__room", {}, event="PostToolUse", **call))
    assert calls.announced("toolu_1") is None
    for odd in ("..", "a/b", "", 7, "x" * 500):
        assert not desk.quiet(desk.payload("mcp__clearway__room", {}, tool_use_id=odd))


def test_the_end_of_a_short_command_is_quiet(desk: Desk) -> None:
    assert desk.quiet(desk.bash("ls", event="PostToolUse"))
    assert not desk.quiet(desk.bash("pytest -q", event="PostToolUse"))
    assert not desk.quiet(desk.bash("ls", event="PostToolUseFailure"))


def test_who_is_to_be_told_something_is_not_quiet(desk: Desk) -> None:
    desk.room.beats.stir("s1")  # type: ignore[union-attr]
    assert not desk.quiet(desk.bash("ls"))
    assert not desk.quiet(desk.edit("src/a.py"))


def test_reading_is_quiet(desk: Desk) -> None:
    assert desk.quiet(desk.payload("Read", {"file_path": "/etc/passwd"}))


@pytest.mark.parametrize(
    "payload",
    [
        lambda desk: desk.edit("src/b.py"),
        lambda desk: desk.edit("src/a.py", session="s2"),
        lambda desk: desk.edit("src/../src/a.py"),
        lambda desk: desk.edit("link.py"),
        lambda desk: desk.edit("way/a.py"),
        lambda desk: desk.edit("src/new.py"),
        lambda desk: desk.payload("Edit", {"file_path": "src/a.py"}),
        lambda desk: desk.payload("Unknown", {}),
        lambda desk: desk.payload("mcp__other__tool", {}, tool_use_id="x"),
        lambda desk: desk.payload("Agent", {"prompt": "x"}),
        lambda desk: desk.bash("pytest -q"),
        lambda desk: desk.bash("python run.py"),
        lambda desk: desk.bash("./deploy/x.sh"),
        lambda desk: desk.bash("make pack"),
        lambda desk: desk.bash("ls", session=".."),
        lambda desk: desk.bash("echo x > src/a.py"),
        lambda desk: desk.bash("ls", session="s2"),
        lambda desk: desk.bash("ls", cwd="/"),
        lambda desk: desk.payload("Bash", {"command": ["ls"]}),
        lambda desk: desk.payload("Bash", {"command": "ls", "run_in_background": True}),
        lambda desk: desk.payload("", {}, event="Stop"),
        lambda desk: desk.payload("", {}, event="UserPromptSubmit"),
        lambda _: b"",
        lambda _: b"[]",
        lambda _: b"{" * 100_000,
    ],
)
def test_what_is_not_recognised_is_left_to_the_full_step(desk: Desk, payload: Callable[[Desk], bytes]) -> None:
    (desk.repo / "link.py").symlink_to("src/a.py")
    (desk.repo / "way").symlink_to("src")
    assert not desk.quiet(payload(desk))


@pytest.mark.parametrize(
    "meanwhile",
    [
        "DELETE FROM path_lease",
        "UPDATE path_lease SET expires_at = 0",
        "UPDATE path_lease SET mode = 'run'",
        "UPDATE session SET ended_at = 1, ended_why = 'death'",
        "UPDATE room SET anchor_boot = 'another'",
        "UPDATE room SET test_clock = 1",
        "PRAGMA user_version = 999",
    ],
)
def test_a_lease_that_is_not_certainly_live_is_not_quiet(desk: Desk, meanwhile: str) -> None:
    session = desk.room.engine.begin(writes=True)
    session.change(Statement("meanwhile", meanwhile, meanwhile), {})
    session.commit()
    assert not desk.quiet(desk.edit("src/a.py"))


def test_a_stale_beat_is_not_quiet(desk: Desk) -> None:
    beat = desk.home / "run" / "beat" / desk.project / "s1"
    seen = beat.stat()
    for moved in (-BEAT_EVERY_MS * 1_000_000, 3_600 * 1_000_000_000):  # long ago, or by a clock that ran ahead
        os.utime(beat, ns=(seen.st_atime_ns + moved, seen.st_mtime_ns))
        assert not desk.quiet(desk.edit("src/a.py"))
        assert not desk.quiet(desk.bash("ls"))


def test_another_client_process_is_not_quiet(desk: Desk) -> None:
    assert not desk.quiet(desk.edit("src/a.py"), CLAUDE_PID="4242")


@pytest.mark.parametrize("variable", ["CLEARWAY_OFF", "CLEARWAY_TEST_CLOCK", "CLEARWAY_SESSION"])
def test_a_setting_that_changes_the_answer_is_left_to_the_full_step(desk: Desk, variable: str) -> None:
    assert not desk.quiet(desk.edit("src/a.py"), **{variable: "1"})


def test_a_file_with_two_names_is_not_quiet(desk: Desk) -> None:
    """Another may hold it under the other one."""
    assert desk.quiet(desk.edit("src/a.py"))
    os.link(desk.repo / "src/a.py", desk.repo / "twin.py")
    assert not desk.quiet(desk.edit("src/a.py"))


def test_a_copied_clone_is_another_checkout(desk: Desk, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(desk.repo, copy)
    payload = json.loads(desk.edit("src/a.py"))
    payload["cwd"], payload["tool_input"]["file_path"] = str(copy), str(copy / "src/a.py")
    assert not desk.quiet(json.dumps(payload).encode())


def test_whatever_is_quiet_is_a_silent_allow_of_the_full_step(desk: Desk) -> None:
    payloads = [
        desk.payload(tool, given, event=event, session=session)
        for event in ("PreToolUse", "PostToolUse", "Stop")
        for session in ("s1", "s2")
        for tool, given in (
            *(("Edit", {"file_path": str(desk.repo / path)}) for path in ("src/a.py", "src/b.py", "src", ".")),
            *(("Bash", {"command": command}) for command in ("ls", "echo x > src/a.py", "tee src/a.py", "make")),
            ("Read", {"file_path": str(desk.repo / "src/a.py")}),
        )
    ]
    quiet_ones = [payload for payload in payloads if desk.quiet(payload)]
    assert len(quiet_ones) >= 6
    for payload in quiet_ones:
        assert desk.full(payload) == ("", "", 0)


def test_the_fast_step_knows_the_current_schema() -> None:
    assert quiet.SCHEMA == SCHEMA
    assert quiet._OWN_TOOLS == OWN_TOOLS  # pyright: ignore[reportPrivateUsage]
    assert quiet._TRAIL_BYTES_MAX == TRAIL_BYTES_MAX  # pyright: ignore[reportPrivateUsage]
    assert quiet._PRINT_BYTES_MAX == TRAIL_PRINT_BYTES_MAX  # pyright: ignore[reportPrivateUsage]
    assert quiet._PRINT_PRIME == PRINT_PRIME  # pyright: ignore[reportPrivateUsage]
    assert quiet._RETURNS == TRAIL_RETURNS  # pyright: ignore[reportPrivateUsage]
    assert quiet._READS_BYTES_MAX == READS_BYTES_MAX  # pyright: ignore[reportPrivateUsage]
    assert quiet._COMPANY_NS == COMPANY_MS * 1_000_000  # pyright: ignore[reportPrivateUsage]
    assert quiet._BEAT_NS == BEAT_EVERY_MS * 1_000_000  # pyright: ignore[reportPrivateUsage]


def test_a_pipe_in_the_place_of_a_small_file_is_not_waited_for(desk: Desk) -> None:
    for name in (".git", ".clearway.json"):
        (desk.repo / name).rename(desk.repo / "kept")
        os.mkfifo(desk.repo / name)
        assert not desk.quiet(desk.edit("src/a.py"))
        (desk.repo / name).unlink()
        (desk.repo / "kept").rename(desk.repo / name)
    assert desk.quiet(desk.edit("src/a.py"))
