"""OpenCode: what our plugin tells becomes a call, and its answer is one object of two words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import opencode
from clearway.surfaces.moments import Decision

SESSION = "ses_dd476ce59ffepRZWlr7Rzr9WYb"


def read(hook: str, asked: dict[str, Any], told: dict[str, Any] | None = None, **more: Any) -> ToolCall:
    payload = {"hook": hook, "input": {"sessionID": SESSION, **asked}, "output": told or {}, **more}
    return opencode.read({**payload, "directory": "/repo", "worktree": "/repo", "pid": 4711}, {})


def before(tool: str, given: Any, **more: Any) -> ToolCall:
    return read("tool.execute.before", {"tool": tool, "callID": "call_1"}, {"args": given}, **more)


def answer(call: ToolCall, deny: str = "", context: str = "") -> tuple[str, str, int]:
    return opencode.answer(call, Decision(deny=deny, context=context))


@pytest.mark.parametrize(
    ("tool", "given", "kind", "said"),
    [
        ("edit", {"filePath": "/repo/app.py", "oldString": "a", "newString": "b"}, "edit", ["/repo/app.py"]),
        ("write", {"filePath": "/repo/new.py", "content": "x"}, "edit", ["/repo/new.py"]),
        ("multiedit", {"filePath": "/repo/app.py", "edits": [{"oldString": "a"}]}, "edit", ["/repo/app.py"]),
        ("apply_patch", {"patchText": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"}, "edit", ["a.py"]),
        ("bash", {"command": "echo hi > b.txt", "description": "d"}, "shell", "echo hi > b.txt"),
        ("read", {"filePath": "/repo/app.py"}, "read", []),
        ("task", {"description": "a", "prompt": "p", "subagent_type": "general"}, "agent", []),
        ("todowrite", {"todos": []}, "other", []),
        ("fs_write_file", {"path": "held.txt", "content": "x"}, "mcp", ["held.txt"]),
        ("github_create_or_update_file", {"path": "held.txt", "content": "x"}, "mcp", []),
        ("clearway_update_issue", {"changes": {"paths": ["held.txt"]}}, "mcp", []),
    ],
)
def test_a_call_says_what_it_does(tool: str, given: dict[str, Any], kind: str, said: Any) -> None:
    call = before(tool, given)
    assert (call.moment, call.kind, call.problem, call.is_strange) == ("before", kind, "", False)
    assert (call.session, call.thread, call.call, call.cwd, call.pid) == (SESSION, None, "call_1", "/repo", 4711)
    assert (call.command or [target.path for target in call.targets]) == said


def test_our_own_tools_are_known_as_such() -> None:
    assert before("clearway_claim_paths", {"paths": ["held.txt"]}).tool == "mcp__clearway__claim_paths"


def test_a_command_runs_where_it_says() -> None:
    assert before("bash", {"command": "make", "workdir": "sub"}).folder == "sub"


def test_a_subagent_works_for_the_session_at_the_top() -> None:
    call = before("write", {"filePath": "a.py"}, root="ses_root")
    assert (call.session, call.thread) == ("ses_root", SESSION)
    assert read("chat.message", {}, root="ses_root").moment == "child_start"
    assert read("idle", {}, root="ses_root").moment == "child_stop"


@pytest.mark.parametrize(
    ("hook", "asked", "told", "moment"),
    [
        ("tool.execute.after", {"tool": "bash", "args": {"command": "ls"}}, {"metadata": {"exit": 0}}, "after"),
        ("tool.execute.after", {"tool": "bash", "args": {"command": "ls"}}, {"error": "failed"}, "failed"),
        ("session", {"event": "start", "source": "resume"}, {}, "start"),
        ("session", {"event": "compact"}, {}, "compact"),
        ("session", {"event": "end", "source": "deleted"}, {}, "end"),
        ("session", {"event": "new one"}, {}, "other"),
        ("chat.message", {}, {"prompt": "do it"}, "prompt"),
        ("idle", {}, {}, "stop"),
        ("anything.new", {}, {}, "other"),
    ],
)
def test_each_moment_is_known(hook: str, asked: dict[str, Any], told: dict[str, Any], moment: str) -> None:
    call = read(hook, asked, told)
    assert (call.moment, call.problem) == (moment, "")
    assert call.source == asked.get("source", "")


def test_how_a_command_ended_is_known() -> None:
    asked = {"tool": "bash", "callID": "c", "args": {"command": "false"}}
    assert read("tool.execute.after", asked, {"metadata": {"exit": 1}}).status == 1
    assert read("tool.execute.after", asked, {"metadata": {"exit": None}}).status is None


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({}, "hook is missing"),
        ({"hook": 5}, "hook is a number, not a text"),
        ({"hook": "tool.execute.before", "input": {"tool": 5}}, "tool is a number, not a text"),
        ({"hook": "tool.execute.before", "input": {"tool": "edit"}}, "the arguments of edit are null, not an object"),
        ({"hook": "tool.execute.before", "input": {"tool": "bash"}, "output": {"args": {}}}, "bash names no command"),
    ],
)
def test_what_cannot_be_read_is_said_and_may_be_refused(payload: dict[str, Any], problem: str) -> None:
    call = opencode.read(payload, {})
    assert (call.problem, call.moment) == (problem, "before")


def test_the_answer_denies_or_tells_or_is_silent() -> None:
    call = before("edit", {"filePath": "a.py"})
    assert answer(call) == ("", "", 0)
    out, err, code = answer(call, "a.py is held", "note")
    assert (json.loads(out), err, code) == ({"deny": "a.py is held", "context": "note"}, "", 0)
    out, err, code = answer(read("chat.message", {}), context="alpha is here")
    assert (json.loads(out), err, code) == ({"context": "alpha is here"}, "", 0)


@pytest.mark.parametrize("hook", ["tool.execute.after", "chat.message", "idle", "session"])
def test_nothing_but_a_coming_call_can_be_denied(hook: str) -> None:
    out, err, code = answer(read(hook, {"tool": "bash", "args": {"command": "ls"}}), "no")
    assert (out, err, code) == ("", "no\n", 0)
