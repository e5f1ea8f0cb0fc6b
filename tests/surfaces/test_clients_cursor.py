"""Cursor: one denial in both of its fields, read from the broad hooks and from the narrow ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clearway.surfaces.clients import cursor
from clearway.surfaces.moments import Decision

# As documented by the vendor.
COMMON = {
    "conversation_id": "conv-1",
    "generation_id": "gen-1",
    "model": "m",
    "cursor_version": "3.9.16",
    "workspace_roots": ["/repo"],
    "user_email": None,
    "transcript_path": None,
}


def uses(tool: str, given: Any) -> dict[str, Any]:
    return {**COMMON, "hook_event_name": "preToolUse", "tool_name": tool, "tool_input": given, "tool_use_id": "t1"}


@pytest.mark.parametrize(
    ("tool", "given", "kind", "said"),
    [
        ("Write", {"file_path": "/repo/app.py"}, "edit", ["/repo/app.py"]),
        ("StrReplace", {"path": "app.py", "old_string": "a", "new_string": "b"}, "edit", ["app.py"]),
        ("Delete", {"path": "app.py"}, "edit", ["app.py"]),
        ("Shell", {"command": "echo > f", "working_directory": "/repo/sub"}, "shell", "echo > f"),
        ("Read", {"path": "app.py"}, "read", []),
        ("Task", {"prompt": "x"}, "agent", []),
        ("MCP:write_file", {"path": "app.py", "content": "x"}, "mcp", ["app.py"]),
        ("MCP:write_file", json.dumps({"path": "app.py", "content": "x"}), "mcp", ["app.py"]),
        ("MCP:create_or_update_file", {"owner": "o", "repo": "r", "path": "app.py"}, "mcp", []),
        ("MCP:create_issue", {"title": "x", "paths": ["app.py"]}, "mcp", []),
    ],
)
def test_a_call_says_what_it_does(tool: str, given: Any, kind: str, said: Any) -> None:
    call = cursor.read(uses(tool, given), {})
    assert (call.client, call.moment, call.kind, call.problem) == ("cursor", "before", kind, "")
    assert (call.session, call.call, call.cwd, call.is_strange) == ("conv-1", "t1", "/repo", False)
    assert (call.command or [target.path for target in call.targets]) == said


@pytest.mark.parametrize(
    ("event", "more", "moment", "said"),
    [
        ("beforeShellExecution", {"command": "npm test", "cwd": "/repo"}, "before", "npm test"),
        ("afterFileEdit", {"file_path": "/repo/app.py", "edits": []}, "after", ["/repo/app.py"]),
        ("beforeMCPExecution", {"tool_name": "edit_file", "tool_input": '{"path": "a.py"}'}, "before", ["a.py"]),
        ("beforeReadFile", {"file_path": "/repo/app.py"}, "before", []),
        ("beforeSubmitPrompt", {"prompt": "do it"}, "prompt", []),
        ("sessionStart", {"composer_mode": "agent"}, "start", []),
        ("sessionEnd", {"reason": "completed"}, "end", []),
        ("stop", {"status": "completed", "loop_count": 0}, "stop", []),
        ("afterAgentThought", {"text": "x"}, "other", []),
    ],
)
def test_every_event_is_known(event: str, more: dict[str, Any], moment: str, said: Any) -> None:
    call = cursor.read({**COMMON, "hook_event_name": event, **more}, {})
    assert (call.moment, call.problem, call.session) == (moment, "", "conv-1")
    assert (call.command or [target.path for target in call.targets]) == said


def test_a_denial_says_the_same_to_both() -> None:
    call = cursor.read(uses("Write", {"file_path": "a.py"}), {})
    assert cursor.answer(call, Decision(deny="", context="")) == ("", "", 0)
    out, err, code = cursor.answer(call, Decision(deny="a.py is held", context=""))
    assert json.loads(out) == {"permission": "deny", "user_message": "a.py is held", "agent_message": "a.py is held"}
    assert (err, code) == ("", 0)


def test_context_is_given_where_cursor_takes_it() -> None:
    for event, taken in {"sessionStart": True, "postToolUse": True, "stop": False, "beforeSubmitPrompt": False}.items():
        call = cursor.read({**uses("Shell", {"command": "ls"}), "hook_event_name": event}, {})
        out, _, code = cursor.answer(call, Decision(deny="", context="note"))
        assert (out, code) == ('{"additional_context":"note"}\n' if taken else "", 0), event


def test_the_end_of_a_turn_is_never_denied() -> None:
    call = cursor.read({**COMMON, "hook_event_name": "stop"}, {})
    assert cursor.answer(call, Decision(deny="no", context="")) == ("", "no\n", 0)
