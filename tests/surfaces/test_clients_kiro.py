"""Kiro, of both generations: exit status 2 with the reason on stderr, context as plain text where it is read."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import kiro
from clearway.surfaces.moments import Decision


def read(event: str, tool: str = "", given: Any = None) -> ToolCall:
    """As documented by the vendor."""
    return kiro.read({"hook_event_name": event, "cwd": "/repo", "tool_name": tool, "tool_input": given}, {})


@pytest.mark.parametrize("event", ["preToolUse", "PreToolUse"])
@pytest.mark.parametrize(
    ("tool", "given", "kind", "said"),
    [
        ("fs_write", {"path": "/repo/app.py"}, "edit", ["/repo/app.py"]),
        ("fs_write", {"command": "create", "path": "app.py", "file_text": "x"}, "edit", ["app.py"]),
        ("str_replace", {"path": "app.py", "oldStr": "a", "newStr": "b"}, "edit", ["app.py"]),
        ("execute_bash", {"command": "echo > f"}, "shell", "echo > f"),
        ("fs_read", {"operations": [{"mode": "Line", "path": "app.py"}]}, "read", []),
        ("@fs/write_file", {"path": "app.py", "content": "x"}, "mcp", ["app.py"]),
        ("@github/create_or_update_file", {"path": "app.py", "content": "x"}, "mcp", []),
        ("@clearway/create_issue", {"paths": ["app.py"]}, "mcp", []),
    ],
)
def test_a_call_says_what_it_does(event: str, tool: str, given: dict[str, Any], kind: str, said: Any) -> None:
    call = read(event, tool, given)
    assert (call.client, call.moment, call.kind, call.problem) == ("kiro", "before", kind, "")
    assert (call.session, call.cwd) == (None, "/repo")
    assert (call.command or [target.path for target in call.targets]) == said


def test_a_denial_is_exit_two_with_the_reason() -> None:
    call = read("preToolUse", "fs_write", {"path": "a.py"})
    assert kiro.answer(call, Decision(deny="no", context="note")) == ("", "no\n", 2)
    assert kiro.answer(call, Decision(deny="", context="note")) == ("", "", 0)


@pytest.mark.parametrize(
    ("event", "moment", "hears"),
    [
        ("agentSpawn", "start", True),
        ("SessionStart", "start", True),
        ("userPromptSubmit", "prompt", True),
        ("postToolUse", "after", False),
        ("stop", "stop", False),
    ],
)
def test_context_is_plain_text_and_the_end_of_a_turn_is_never_denied(event: str, moment: str, hears: bool) -> None:
    call = read(event, "execute_bash", {"command": "ls"})
    assert call.moment == moment
    assert kiro.answer(call, Decision(deny="no", context="note")) == ("note\n" if hears else "", "no\n", 0)
