"""Gemini CLI and Qwen Code: what they were recorded to tell becomes a call, a decision goes back as they read it."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from test_moments import Desk, desk, team

from clearway.guard.toolcall import ToolCall
from clearway.surfaces import hooks
from clearway.surfaces.clients import gemini, qwen

__all__ = ["desk", "team"]

PAYLOADS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "payloads.json").read_text())
REASON = "PATH_HELD: held.txt is held by codex until 14:08."


def recorded(name: str, environ: dict[str, str] | None = None, **other: Any) -> ToolCall:
    adapter = gemini if name.startswith("gemini") else qwen
    return adapter.read({**PAYLOADS[name], **other}, environ or {})


def answer(adapter: ModuleType, call: ToolCall, deny: str = "", context: str = "") -> tuple[str, str, int]:
    return adapter.answer(call, SimpleNamespace(deny=deny, context=context))


@pytest.mark.parametrize(
    ("name", "moment", "kind", "said"),
    [
        ("gemini-beforetool-replace", "before", "edit", ["app.py"]),
        ("gemini-beforetool-write_file", "before", "edit", ["new.py"]),
        ("gemini-beforetool-run_shell_command", "before", "shell", "echo hi > b.txt"),
        ("gemini-beforetool-read_file", "before", "read", []),
        ("gemini-beforetool-mcp", "before", "mcp", []),
        ("gemini-aftertool-write_file", "after", "edit", ["ok.py"]),
        ("gemini-aftertool-run_shell_command", "after", "shell", "echo hi > b.txt"),
        ("gemini-beforeagent", "prompt", "other", []),
        ("gemini-afteragent", "stop", "other", []),
        ("gemini-sessionstart", "start", "other", []),
        ("gemini-sessionend", "end", "other", []),
        ("qwen-pretooluse-edit", "before", "edit", ["/repo/app.py"]),
        ("qwen-pretooluse-write_file", "before", "edit", ["/repo/new.py"]),
        ("qwen-pretooluse-run_shell_command", "before", "shell", "echo hi > b.txt"),
        ("qwen-posttooluse-write_file", "after", "edit", ["/repo/ok.py"]),
        ("qwen-posttoolusefailure-edit", "failed", "edit", ["/repo/app.py"]),
        ("qwen-userpromptsubmit", "prompt", "other", []),
        ("qwen-stop", "stop", "other", []),
    ],
)
def test_what_was_recorded_is_understood(name: str, moment: str, kind: str, said: Any) -> None:
    call = recorded(name)
    assert (call.moment, call.kind, call.problem) == (moment, kind, "")
    assert (call.session, call.cwd) == (PAYLOADS[name]["session_id"], "/repo")
    assert (call.command if kind == "shell" else [target.path for target in call.targets]) == said


def test_a_tool_of_a_server_has_one_name_for_all_clients() -> None:
    assert recorded("gemini-beforetool-mcp").tool == "mcp__spy__ping"
    ours = {"server_name": "clearway", "tool_name": "claim_paths"}
    call = recorded("gemini-beforetool-mcp", tool_name="mcp_clearway_claim_paths", mcp_context=ours)
    assert call.tool == "mcp__clearway__claim_paths"


def test_a_session_that_the_payload_does_not_name_is_named_by_the_environment() -> None:
    call = recorded("gemini-afteragent", {"GEMINI_SESSION_ID": "s1"}, session_id="")
    assert call.session == "s1"


def test_a_compression_is_one_when_somebody_asks_for_it() -> None:
    """Gemini says "auto" before every call of its model."""
    assert recorded("gemini-precompress").moment == "other"
    assert recorded("gemini-precompress", trigger="manual").moment == "compact"


def test_a_prompt_without_text_is_none() -> None:
    """Qwen gives that event after every answer of a tool."""
    assert recorded("qwen-userpromptsubmit", prompt="").moment == "other"


@pytest.mark.parametrize(
    ("told", "status", "task"),
    [
        ("<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 5\n</untrusted_context>", 0, ""),
        ("<untrusted_context>\nOutput: x\nExit Code: 3\nProcess Group PGID: 5\n</untrusted_context>", 3, ""),
        ("<untrusted_context>\nCommand moved to background (PID: 32414). Output hidden.", None, "32414"),
    ],
)
def test_how_a_command_of_gemini_ended_is_known(told: str, status: int | None, task: str) -> None:
    call = recorded("gemini-aftertool-run_shell_command", tool_response={"llmContent": told})
    assert (call.status, call.task) == (status, task)


@pytest.mark.parametrize(
    ("told", "status", "task"),
    [
        ("Command: x\nOutput: Exit Code: 7\nError: (none)\nExit Code: 0\nSignal: 0", 0, ""),
        ("Command: x\nOutput: (empty)\nExit Code: 3\nSignal: 0", 3, ""),
        ("Background shell started.\nid: bg_eda9f527\npid: 401", None, "bg_eda9f527"),
    ],
)
def test_how_a_command_of_qwen_ended_is_known(told: str, status: int | None, task: str) -> None:
    shell = PAYLOADS["qwen-pretooluse-run_shell_command"]
    payload = {**shell, "hook_event_name": "PostToolUse", "tool_response": {"llmContent": told}}
    call = qwen.read(payload, {})
    assert (call.status, call.task) == (status, task)


def test_a_tool_that_failed_has_changed_nothing() -> None:
    call = recorded("gemini-aftertool-replace", tool_response={"llmContent": "x", "error": {"message": "no match"}})
    assert call.moment == "failed"


# Answers.


def test_a_denial_of_gemini_is_json_and_zero_where_a_shell_stands_above() -> None:
    out, err, code = answer(gemini, recorded("gemini-beforetool-replace", {"SHLVL": "1"}), deny=REASON)
    assert (json.loads(out), err, code) == ({"decision": "deny", "reason": REASON}, "", 0)


@pytest.mark.parametrize("environ", [{}, {"SHLVL": "0"}])
def test_a_denial_of_gemini_is_kept_when_a_start_up_file_spoils_the_json(environ: dict[str, str]) -> None:
    """The client takes text that is no JSON for an allow, unless the exit status says otherwise."""
    out, _, code = answer(gemini, recorded("gemini-beforetool-replace", environ), deny=REASON)
    assert code == 2
    assert out.startswith("\n{"), "on a line of its own"


@pytest.mark.parametrize(
    "name", ["gemini-afteragent", "gemini-beforeagent", "gemini-sessionstart", "gemini-sessionend"]
)
def test_nothing_but_a_call_is_denied(name: str) -> None:
    """At the end of a turn the client would loop."""
    assert answer(gemini, recorded(name), deny=REASON) == ("", f"{REASON}\n", 0)


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("gemini-aftertool-replace", "AfterTool"),
        ("gemini-beforeagent", "BeforeAgent"),
        ("gemini-sessionstart", "SessionStart"),
        ("qwen-userpromptsubmit", "UserPromptSubmit"),
        ("qwen-posttooluse-write_file", "PostToolUse"),
    ],
)
def test_context_goes_under_the_clients_own_event(name: str, event: str) -> None:
    adapter = gemini if name.startswith("gemini") else qwen
    out, err, code = answer(adapter, recorded(name), context="news")
    assert json.loads(out) == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "news"}}
    assert (err, code) == ("", 0)


@pytest.mark.parametrize("name", [name for name in PAYLOADS if name.startswith(("gemini-", "qwen-"))])
def test_an_allow_is_silent(name: str) -> None:
    adapter = gemini if name.startswith("gemini") else qwen
    assert answer(adapter, recorded(name)) == ("", "", 0)


# In a room.


@pytest.fixture(params=["desk", "team"], ids=["file", "server"])
def place(request: pytest.FixtureRequest) -> Desk:
    """A machine whose room is a file, or stands on a server."""
    return request.getfixturevalue(request.param)


def told(place: Desk, client: str, event: str, **more: Any) -> tuple[str, str, int]:
    """One event of a session of that client; stdout, stderr and exit status."""
    payload = {"session_id": f"{client}-1", "cwd": str(place.repo), "hook_event_name": event, **more}
    return hooks.answer(client, json.dumps(payload).encode(), {**place.environ, "SHLVL": "1"})


def test_what_gemini_cannot_be_told_before_a_call_it_is_told_after_it(place: Desk) -> None:
    """It takes words for its model after a call and not before; what is told once is not lost."""
    told(place, "gemini", "SessionStart", source="startup")
    told(place, "gemini", "BeforeAgent", prompt="do it")
    mine = {"tool_name": "write_file", "tool_input": {"file_path": "mine.txt", "content": "x"}}
    free = {"tool_name": "write_file", "tool_input": {"file_path": "free.txt", "content": "x"}}
    assert told(place, "gemini", "BeforeTool", **mine) == ("", "", 0)
    told(place, "gemini", "AfterTool", **mine, tool_response={"llmContent": "ok"})
    place.human("release_paths", paths=["mine.txt"], force=True)
    assert told(place, "gemini", "BeforeTool", **free) == ("", "", 0)
    out, _, _ = told(place, "gemini", "AfterTool", **free, tool_response={"llmContent": "ok"})
    assert "mine.txt" in json.loads(out)["hookSpecificOutput"]["additionalContext"]
    assert told(place, "gemini", "AfterTool", **free, tool_response={"llmContent": "ok"})[0] == ""


def test_the_first_prompt_of_a_session_that_told_no_start_is_answered_with_the_brief(place: Desk) -> None:
    """Qwen without a terminal tells none."""
    other = place.session("codex")
    other.tell("SessionStart", source="startup")
    assert not other.edits("held.txt")
    out, _, _ = told(place, "qwen", "UserPromptSubmit", prompt="do it")
    assert "held.txt" in json.loads(out)["hookSpecificOutput"]["additionalContext"]
    assert told(place, "qwen", "UserPromptSubmit", prompt="go on")[0] == ""


def test_a_prompt_without_text_does_not_end_the_turn(place: Desk) -> None:
    told(place, "qwen", "UserPromptSubmit", prompt="do it")
    given = {"tool_name": "write_file", "tool_input": {"file_path": str(place.repo / "mine.txt"), "content": "x"}}
    assert told(place, "qwen", "PreToolUse", **given, tool_use_id="t1") == ("", "", 0)
    told(place, "qwen", "PostToolUse", **given, tool_use_id="t1", tool_response={"llmContent": "ok"})
    told(place, "qwen", "UserPromptSubmit", prompt="")
    other = place.session("codex")
    assert "mine.txt" in other.edits("mine.txt")
    told(place, "qwen", "Stop", stop_hook_active=True)
    assert not other.edits("mine.txt")
