"""Windsurf: exit status 2 with the reason on stderr before an action, silence everywhere else."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import windsurf
from clearway.surfaces.moments import Decision


def read(action: str, info: Any) -> ToolCall:
    """As documented by the vendor."""
    common = {"trajectory_id": "t1", "execution_id": "e1", "timestamp": "2026-11-30T00:00:00Z"}
    return windsurf.read({"agent_action_name": action, **common, "tool_info": info}, {})


EDIT = {"file_path": "/repo/app.py", "edits": [{"old_string": "a", "new_string": "b"}]}
MCP = {"mcp_server_name": "fs", "mcp_tool_name": "write_file", "mcp_tool_arguments": {"path": "a.py", "content": "x"}}


@pytest.mark.parametrize(
    ("action", "info", "moment", "kind", "said"),
    [
        ("pre_write_code", EDIT, "before", "edit", ["/repo/app.py"]),
        ("post_write_code", EDIT, "after", "edit", ["/repo/app.py"]),
        ("pre_run_command", {"command_line": "npm test", "cwd": "/repo"}, "before", "shell", "npm test"),
        ("post_run_command", {"command_line": "npm test", "cwd": "/repo"}, "after", "shell", "npm test"),
        ("pre_mcp_tool_use", MCP, "before", "mcp", ["a.py"]),
        ("pre_mcp_tool_use", MCP | {"mcp_server_name": "github"}, "before", "mcp", []),
        ("pre_read_code", {"file_path": "/repo/app.py"}, "before", "read", []),
        ("pre_user_prompt", {"user_prompt": "do it"}, "prompt", "other", []),
        ("post_cascade_response", {"response": "done"}, "stop", "other", []),
        ("anything_new", {}, "other", "other", []),
    ],
)
def test_an_action_says_what_it_does(action: str, info: Any, moment: str, kind: str, said: Any) -> None:
    call = read(action, info)
    assert (call.client, call.session, call.moment, call.kind, call.problem) == ("windsurf", "t1", moment, kind, "")
    assert (call.command or [target.path for target in call.targets]) == said


def test_our_own_tools_are_known_as_such() -> None:
    own = {"mcp_server_name": "clearway", "mcp_tool_name": "claim_paths", "mcp_tool_arguments": {"paths": ["a.py"]}}
    assert read("pre_mcp_tool_use", own).tool == "mcp__clearway__claim_paths"


def test_a_denial_is_exit_two_with_the_reason() -> None:
    assert windsurf.answer(read("pre_write_code", EDIT), Decision(deny="no", context="note")) == ("", "no\n", 2)
    assert windsurf.answer(read("pre_write_code", EDIT), Decision(deny="", context="note")) == ("", "", 0)


@pytest.mark.parametrize(
    "action", [name for name in windsurf.EVENTS if not name.startswith("pre_")] + ["pre_user_prompt"]
)
def test_nothing_but_a_coming_action_can_be_denied(action: str) -> None:
    """A refused prompt would lock the person out."""
    assert windsurf.answer(read(action, EDIT), Decision(deny="no", context="")) == ("", "no\n", 0)


@pytest.mark.parametrize("info", [None, [], 5, {}, {"file_path": 5}])
def test_an_edit_without_a_file_is_said(info: Any) -> None:
    assert read("pre_write_code", info).problem
