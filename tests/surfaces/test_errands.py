"""Tasks on the command line: an agent that has nothing else can do all of it."""

from __future__ import annotations

import pytest
from tests.surfaces.conftest import Terminal


@pytest.fixture
def errands(terminal: Terminal) -> Terminal:
    terminal("init")
    for name in ("codex", "claude"):
        terminal("--as", name, "room", "--status", "here")
    return terminal


def given(terminal: Terminal, *words: str) -> str:
    asked = ("--json", "--as", "claude", "send", "--to", "codex", "--kind", "task")
    return str(terminal(*asked, *words).json["message_id"])


def test_an_agent_without_mcp_takes_starts_and_finishes_a_task(errands: Terminal) -> None:
    """P62."""
    long = "y" * 3_000
    task = given(errands, long)
    assert long in errands("--as", "codex", "inbox", task).out
    handed = errands("--as", "codex", "task", "next").out
    assert handed.startswith(f"Task #{task} from claude is yours until") and long in handed
    assert "codex has it until" in errands("--as", "claude", "task", "list", task).out
    assert "is started; it is yours until" in errands("--as", "codex", "task", "start", f"#{task}").out
    assert errands("--as", "claude", "task", "done", task).code == "TASK_NOT_LEASED", "it never had it"
    done = errands("--as", "codex", "task", "done", task, "--result", "All green").out
    assert done == f"Task #{task} is succeeded; its sender is told.\n"
    assert f"Task #{task} succeeded: All green" in errands("--as", "claude", "inbox").out
    assert "answered by #" in errands("task", "list", task).out
    assert errands("--as", "codex", "task", "next").out == "No task for you now.\n"


def test_a_token_is_taken_from_the_command_line_too(errands: Terminal) -> None:
    task = given(errands, "Look at it")
    taken = errands("--json", "--as", "codex", "accept", task, "--note", "now").json
    wrong = errands("--as", "codex", "task", "fail", task, "--token", "x" * 43)
    assert (wrong.status, wrong.code) == (4, "INVALID_LEASE_TOKEN")
    failed = errands("--json", "--as", "codex", "task", "fail", task, "--token", taken["lease_token"], "--result", "No")
    assert failed.json == {"task_id": int(task), "state": "failed"}
    assert errands("--as", "claude", "task", "retry", task).out == f"Task #{task} is pending.\n"
    assert errands("--as", "claude", "cancel", task).out == f"Task #{task} is cancelled.\n", "a predecessor's word"
    assert errands("--as", "claude", "retry", task).status == 0


def test_the_list_says_what_each_task_waits_for(errands: Terminal) -> None:
    """P63: the path, who holds it, and until when."""
    assert errands("task", "list").out.startswith("No tasks.")
    errands("--as", "claude", "claim", "src/a.py", "--ttl", "10m")
    given(errands, "Change a", "--path", "src/a.py", "--priority", "high")
    given(errands, "Later", "--not-before", "2h")
    listed = errands("jobs").out
    assert "waits for src/a.py, held by claude until" in listed and "(in 10 min)" in listed
    assert "its time has not come until" in listed
    assert "waits for src/a.py" in errands("--as", "codex", "task", "next").out
    assert errands("task", "list", "--state", "succeeded").out.startswith("No tasks.")
    assert errands("task", "list", "999").code == "TASK_NOT_FOUND"
