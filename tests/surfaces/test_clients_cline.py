"""Cline: advice as context, arguments with which a refused call fails, and never a `cancel` that ends the run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import cline
from clearway.surfaces.moments import Decision


def of_cli(hook: str, *, parent: str | None = None, **more: Any) -> ToolCall:
    """As recorded from Cline CLI 3.0.65."""
    common = {
        "clineVersion": "",
        "taskId": "conv_1796027461114_am2zgka",
        "sessionContext": {"rootSessionId": "1796027460728_tch1b"},
        "workspaceRoots": ["/repo"],
        "workspaceInfo": {"rootPath": "/repo"},
        "agent_id": "agent_1",
        "parent_agent_id": parent,
    }
    return cline.read({**common, "hookName": hook, **more}, {})


def uses(name: str, given: Any, **more: Any) -> ToolCall:
    return of_cli("tool_call", tool_call={"id": "call_1", "name": name, "input": given}, **more)


def of_extension(tool: str, parameters: dict[str, str]) -> ToolCall:
    """As documented by the vendor."""
    payload = {"clineVersion": "x", "hookName": "PreToolUse", "taskId": "t1", "workspaceRoots": ["/repo"]}
    return cline.read({**payload, "preToolUse": {"toolName": tool, "parameters": parameters}}, {})


def answer(call: ToolCall, deny: str = "", context: str = "") -> Any:
    out, err, code = cline.answer(call, Decision(deny=deny, context=context))
    assert (err, code) == ("", 0)
    return json.loads(out) if out else None


@pytest.mark.parametrize(
    ("tool", "given", "kind", "said"),
    [
        ("editor", {"path": "/repo/new.py", "new_text": "x = 1\n"}, "edit", ["/repo/new.py"]),
        ("run_commands", {"commands": ["ls", "echo > f"]}, "shell", "ls\necho > f"),
        ("read_files", {"files": [{"path": "a.py"}]}, "read", []),
        ("spawn_agent", {"task": "x"}, "agent", []),
        ("fs__write_file", {"path": "a.py", "content": "x"}, "mcp", ["a.py"]),
        ("clearway__claim_paths", {"paths": ["a.py"]}, "mcp", []),
    ],
)
def test_a_call_of_the_command_line_says_what_it_does(tool: str, given: Any, kind: str, said: Any) -> None:
    call = uses(tool, given)
    assert (call.client, call.moment, call.kind, call.problem) == ("cline", "before", kind, "")
    assert (call.session, call.thread, call.call, call.cwd) == ("1796027460728_tch1b", None, "call_1", "/repo")
    assert (call.command or [target.path for target in call.targets]) == said


@pytest.mark.parametrize(
    ("tool", "parameters", "kind", "said"),
    [
        ("write_to_file", {"path": "app.py", "content": "x\n"}, "edit", ["app.py"]),
        ("replace_in_file", {"path": "app.py", "diff": "x"}, "edit", ["app.py"]),
        ("execute_command", {"command": "echo > f", "requires_approval": "false"}, "shell", "echo > f"),
        (
            "use_mcp_tool",
            {"server_name": "fs", "tool_name": "write_file", "arguments": '{"path": "a.py", "content": "x"}'},
            "mcp",
            ["a.py"],
        ),
    ],
)
def test_a_call_of_the_extension_says_what_it_does(tool: str, parameters: Any, kind: str, said: Any) -> None:
    call = of_extension(tool, parameters)
    assert (call.moment, call.kind, call.problem, call.session) == ("before", kind, "", "t1")
    assert (call.command or [target.path for target in call.targets]) == said


def test_a_subagent_is_a_thread_of_its_session() -> None:
    call = uses("editor", {"path": "a.py"}, parent="agent_0")
    assert (call.session, call.thread) == ("1796027460728_tch1b", "agent_1")
    assert of_cli("agent_start", parent="agent_0").moment == "child_start"
    assert of_cli("agent_end", parent="agent_0").moment == "child_stop"
    assert of_cli("session_shutdown", parent="agent_0").moment == "child_stop"


@pytest.mark.parametrize(
    ("hook", "moment"),
    [
        ("agent_start", "start"),
        ("agent_resume", "start"),
        ("prompt_submit", "prompt"),
        ("agent_end", "stop"),
        ("agent_abort", "stop"),
        ("session_shutdown", "end"),
        ("TaskStart", "start"),
        ("TaskComplete", "stop"),
        ("anything_new", "other"),
    ],
)
def test_each_moment_is_known(hook: str, moment: str) -> None:
    assert of_cli(hook).moment == moment
    assert (
        of_cli("tool_result", tool_result={"name": "editor", "input": {"path": "a"}, "error": "x"}).moment == "failed"
    )


def test_a_denial_is_told_and_the_call_given_arguments_that_fail() -> None:
    """Never `cancel`: it ends the run."""
    edit = answer(uses("editor", {"path": "a.py", "new_text": "x"}), "a.py is held", "note")
    assert edit == {
        "context": "a.py is held\nnote",
        "overrideInput": {"path": "/dev/null/clearway-refused", "new_text": "a.py is held"},
    }
    run = answer(uses("run_commands", {"commands": ["echo > a.py"]}), "alpha's")
    assert run["overrideInput"] == {"commands": ["echo 'alpha'\\''s' >&2; exit 1"]}
    assert answer(uses("apply_patch", {"input": "*** Delete File: a.py"}), "no") == {"context": "no"}


def test_the_extension_is_told_and_never_cancelled() -> None:
    said = answer(of_extension("write_to_file", {"path": "a.py", "content": "x"}), "a.py is held")
    assert said == {"cancel": False, "contextModification": "a.py is held"}


def test_an_allowed_call_is_silent_and_no_other_moment_is_denied() -> None:
    assert answer(uses("editor", {"path": "a.py"})) is None
    for hook in ("agent_end", "prompt_submit", "session_shutdown", "TaskComplete"):
        assert cline.answer(of_cli(hook), Decision(deny="no", context="")) == ("", "no\n", 0)


@pytest.mark.parametrize("hook", [[], {}, None, 5])
def test_a_hook_of_another_shape_is_no_trouble(hook: Any) -> None:
    call = cline.read({"hookName": hook, "preToolUse": {"toolName": "editor", "parameters": {"path": "a.py"}}}, {})
    assert (call.moment, bool(call.problem)) == ("before", True)
    assert answer(call, "no")["context"] == "no"
