"""Goose: a decision to block, or nothing at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import goose
from clearway.surfaces.moments import Decision


def read(event: str, tool: str = "", given: Any = None) -> ToolCall:
    """As documented by the vendor."""
    common = {"session_id": "abc-123", "matcher_context": tool, "working_dir": "/repo", "tool_call_id": "c1"}
    return goose.read({"event": event, **common, "tool_name": tool, "tool_input": given}, {})


@pytest.mark.parametrize(
    ("tool", "given", "kind", "said"),
    [
        ("developer__edit", {"path": "/repo/app.py", "before": "a", "after": "b"}, "edit", ["/repo/app.py"]),
        ("developer__write", {"path": "app.py", "content": "x"}, "edit", ["app.py"]),
        ("developer__text_editor", {"command": "write", "path": "app.py", "file_text": "x"}, "edit", ["app.py"]),
        ("developer__text_editor", {"command": "view", "path": "app.py"}, "read", []),
        ("developer__shell", {"command": "echo > f"}, "shell", "echo > f"),
        ("fs__write_file", {"path": "app.py", "content": "x"}, "mcp", ["app.py"]),
        ("github__create_or_update_file", {"path": "app.py", "content": "x"}, "mcp", []),
        ("clearway__create_issue", {"paths": ["app.py"]}, "mcp", []),
    ],
)
def test_a_call_says_what_it_does(tool: str, given: dict[str, Any], kind: str, said: Any) -> None:
    call = read("PreToolUse", tool, given)
    assert (call.client, call.moment, call.kind, call.problem) == ("goose", "before", kind, "")
    assert (call.session, call.call, call.cwd) == ("abc-123", "c1", "/repo")
    assert (call.command or [target.path for target in call.targets]) == said


@pytest.mark.parametrize(
    ("event", "moment"),
    [
        ("SessionStart", "start"),
        ("SessionEnd", "end"),
        ("Stop", "stop"),
        ("UserPromptSubmit", "prompt"),
        ("PostToolUse", "after"),
        ("PostToolUseFailure", "failed"),
        ("PreToolUseResult", "other"),
    ],
)
def test_only_a_coming_call_is_denied(event: str, moment: str) -> None:
    call = read(event, "developer__shell", {"command": "ls"})
    assert (call.moment, call.problem) == (moment, "")
    assert goose.answer(call, Decision(deny="no", context="note")) == ("", "no\n", 0)


def test_a_denial_is_a_decision_to_block() -> None:
    call = read("PreToolUse", "developer__write", {"path": "a.py", "content": "x"})
    out, err, code = goose.answer(call, Decision(deny="a.py is held", context="note"))
    assert (json.loads(out), err, code) == ({"decision": "block", "reason": "a.py is held"}, "", 0)
    assert goose.answer(call, Decision(deny="", context="note")) == ("", "", 0)


@pytest.mark.parametrize("verb", [[], {}, None, 5])
def test_a_verb_of_another_shape_is_no_trouble(verb: Any) -> None:
    call = read("PreToolUse", "developer__text_editor", {"command": verb, "path": "a.py"})
    assert [target.path for target in call.targets] == ["a.py"]
