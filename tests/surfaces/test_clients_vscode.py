"""VS Code's agent mode: its own tools, in Claude's dialect, through whichever hook command it runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import claude, copilot, vscode
from clearway.surfaces.moments import Decision

# As documented by the vendor.
COMMON = {
    "timestamp": "2026-02-09T10:30:00.000Z",
    "cwd": "/repo",
    "sessionId": "s1",
    "transcript_path": "/home/dev/t.json",
}


def uses(tool: str, given: Any) -> dict[str, Any]:
    return {**COMMON, "hookEventName": "PreToolUse", "tool_name": tool, "tool_input": given, "tool_use_id": "tool-123"}


def test_the_documented_payload_is_read() -> None:
    """C17."""
    call = vscode.read(uses("editFiles", {"files": ["src/main.ts"]}), {})
    assert (call.client, call.moment, call.session, call.call, call.cwd) == (
        "vscode",
        "before",
        "s1",
        "tool-123",
        "/repo",
    )
    assert ([target.path for target in call.targets], call.problem) == (["src/main.ts"], "")


@pytest.mark.parametrize("adapter", [vscode, claude, copilot])
@pytest.mark.parametrize(
    ("tool", "given", "kind", "said"),
    [
        ("create_file", {"filePath": "/repo/a.py", "content": "x"}, "edit", ["/repo/a.py"]),
        ("replace_string_in_file", {"filePath": "a.py", "oldString": "a", "newString": "b"}, "edit", ["a.py"]),
        ("multi_replace_string_in_file", {"replacements": [{"filePath": "a.py"}]}, "edit", ["a.py"]),
        ("insert_edit_into_file", {"filePath": "a.py", "code": "x"}, "edit", ["a.py"]),
        ("edit_notebook_file", {"filePath": "a.ipynb", "editType": "insert"}, "edit", ["a.ipynb"]),
        ("apply_patch", {"input": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"}, "edit", ["a.py"]),
        ("run_in_terminal", {"command": "echo > f", "isBackground": False}, "shell", "echo > f"),
        ("read_file", {"filePath": "a.py"}, "read", []),
        ("create_directory", {"dirPath": "/repo/src"}, "other", []),
        ("runSubagent", {"prompt": "x"}, "agent", []),
        ("mcp_filesystem_edit_file", {"path": "a.py", "edits": []}, "mcp", ["a.py"]),
        ("mcp_github_create_or_update_file", {"path": "a.py", "content": "x"}, "mcp", []),
        ("mcp_clearway_claim_paths", {"paths": ["a.py"]}, "mcp", []),
    ],
)
def test_its_tools_say_what_they_do(adapter: Any, tool: str, given: dict[str, Any], kind: str, said: Any) -> None:
    """C17. The hooks of Claude's and of Copilot's settings run here, too."""
    call: ToolCall = adapter.read(uses(tool, given), {"CLAUDE_PID": "1"})
    assert (call.client, call.kind, call.problem, call.pid) == ("vscode", kind, "", None)
    assert (call.command or [target.path for target in call.targets]) == said


@pytest.mark.parametrize(
    ("event", "moment"),
    [
        ("SessionStart", "start"),
        ("UserPromptSubmit", "prompt"),
        ("PostToolUse", "after"),
        ("PreCompact", "compact"),
        ("SubagentStart", "child_start"),
        ("SubagentStop", "child_stop"),
        ("Stop", "stop"),
    ],
)
def test_each_moment_is_known_and_only_a_coming_call_is_denied(event: str, moment: str) -> None:
    call = vscode.read({**uses("run_in_terminal", {"command": "ls"}), "hookEventName": event}, {})
    assert (call.moment, call.problem) == (moment, "")
    assert vscode.answer(call, Decision(deny="no", context="")) == ("", "no\n", 0)


@pytest.mark.parametrize("adapter", [vscode, claude, copilot])
def test_a_denial_is_in_claudes_words(adapter: Any) -> None:
    call = adapter.read(uses("editFiles", {"files": ["a.py"]}), {})
    out, err, code = adapter.answer(call, Decision(deny="a.py is held", context="note"))
    assert json.loads(out) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "a.py is held",
            "additionalContext": "note",
        }
    }
    assert (err, code) == ("", 0)


def test_what_copilot_cli_tells_through_this_file_is_left_alone() -> None:
    payload = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/repo", "tool_name": "Write"}
    call = vscode.read({**payload, "tool_input": {"path": "a.py"}}, {"COPILOT_CLI": "1"})
    assert (call.moment, call.session, call.targets) == ("other", None, [])
