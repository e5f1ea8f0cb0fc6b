"""Every client's own dialect through the whole hook: what another holds is refused in it, what is free is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.test_moments import Desk, desk

from clearway.surfaces import callers, hooks

__all__ = ["desk"]

Made = Callable[[str, str, dict[str, Any]], dict[str, Any]]
ALONE = frozenset({"claude", "codex", "generic", "gemini", "copilot", "qwen"})  # have suites of their own


def _opencode(cwd: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    names = {"edit": {"filePath": given.get("path")}, "shell": given, "end": {}}
    if tool == "end":
        return {"hook": "idle", "input": {"sessionID": "s1"}, "directory": cwd, "root": "s1"}
    asked = {"tool": {"shell": "bash"}.get(tool, tool), "sessionID": "s1", "callID": "c1"}
    return {
        "hook": "tool.execute.before",
        "input": asked,
        "output": {"args": names[tool]},
        "directory": cwd,
        "root": "s1",
    }


def _vscode(cwd: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    common = {"cwd": cwd, "sessionId": "s1", "hookEventName": "Stop" if tool == "end" else "PreToolUse"}
    if tool == "edit":
        return {**common, "tool_name": "editFiles", "tool_input": {"files": [given["path"]]}}
    return {**common, "tool_name": "run_in_terminal", "tool_input": given}


def _cursor(cwd: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    common = {"conversation_id": "s1", "workspace_roots": [cwd]}
    common["hook_event_name"] = "stop" if tool == "end" else "preToolUse"
    return {**common, "tool_name": {"edit": "Write", "shell": "Shell"}.get(tool), "tool_input": given}


def _windsurf(cwd: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    action = {"edit": "pre_write_code", "shell": "pre_run_command", "end": "post_cascade_response"}[tool]
    told = {"file_path": given.get("path"), "command_line": given.get("command"), "cwd": cwd}
    return {"agent_action_name": action, "trajectory_id": "s1", "tool_info": told}


def _goose(cwd: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    common = {"event": "Stop" if tool == "end" else "PreToolUse", "session_id": "s1", "working_dir": cwd}
    return {**common, "tool_name": f"developer__{tool}", "tool_input": given}


def _kiro(cwd: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    name = {"edit": "fs_write", "shell": "execute_bash"}.get(tool)
    event = "stop" if tool == "end" else "preToolUse"
    return {"hook_event_name": event, "cwd": cwd, "tool_name": name, "tool_input": given}


def _cline(cwd: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    common = {"sessionContext": {"rootSessionId": "s1"}, "workspaceRoots": [cwd], "parent_agent_id": None}
    if tool == "end":
        return {**common, "hookName": "agent_end"}
    name, asked = ("editor", given) if tool == "edit" else ("run_commands", {"commands": [given["command"]]})
    return {**common, "hookName": "tool_call", "tool_call": {"id": "c1", "name": name, "input": asked}}


MADE: dict[str, Made] = {
    "opencode": _opencode,
    "vscode": _vscode,
    "cursor": _cursor,
    "windsurf": _windsurf,
    "goose": _goose,
    "kiro": _kiro,
    "cline": _cline,
}


def reason(client: str, answered: tuple[str, str, int]) -> str:
    """The words of a denial, in exactly the form that the client takes; empty for none."""
    out, err, code = answered
    if client in ("windsurf", "kiro"):
        assert (out, code) == ("", 2 if err else 0)
        return err
    assert (err, code) == ("", 0)
    said = json.loads(out) if out else {}
    match client:
        case "vscode":
            return said["hookSpecificOutput"]["permissionDecisionReason"] if said else ""
        case "cursor":
            return said["agent_message"] if said.get("permission") == "deny" else ""
        case "goose":
            return said["reason"] if said.get("decision") == "block" else ""
        case "cline":
            assert "cancel" not in said
            return said.get("context", "")
        case _:
            return said.get("deny", "")


def ask(desk: Desk, client: str, tool: str, pid: int, **given: Any) -> tuple[str, str, int]:
    payload = MADE[client](str(desk.repo), tool, given)
    return hooks.answer(client, json.dumps(payload).encode(), {**desk.environ, "CLEARWAY_PID": str(pid)})


def test_every_client_is_held_to_it_somewhere() -> None:
    assert set(hooks.CLIENTS) == set(MADE) | ALONE
    assert set(callers.NAMES) == set(hooks.CLIENTS) - {"generic"}


@pytest.mark.parametrize("client", MADE)
def test_what_another_holds_is_refused_and_what_is_free_is_not(desk: Desk, client: str) -> None:
    alpha, pid = desk.session("alpha"), desk.process()
    assert alpha.edits("held.txt") == ""
    here = desk.repo
    for path in ("held.txt", str(here / "held.txt")):
        said = reason(client, ask(desk, client, "edit", pid, path=path, content="x"))
        assert "held.txt" in said and "claude-code" in said, path
    assert "held.txt" in reason(client, ask(desk, client, "shell", pid, command="echo x > held.txt"))
    assert reason(client, ask(desk, client, "shell", pid, command="cat held.txt")) == ""
    assert reason(client, ask(desk, client, "edit", pid, path="free.txt", content="x")) == ""


@pytest.mark.parametrize("client", MADE)
def test_what_it_edits_is_its_own_until_the_end_of_its_turn(desk: Desk, client: str) -> None:
    alpha, pid = desk.session("alpha"), desk.process()
    assert reason(client, ask(desk, client, "edit", pid, path="free.txt", content="x")) == ""
    assert callers.NAMES[client] in alpha.edits("free.txt")
    assert ask(desk, client, "end", pid) == ("", "", 0)
    assert alpha.edits("free.txt") == ""


@pytest.mark.parametrize("client", MADE)
def test_what_its_process_held_is_free_when_it_dies(desk: Desk, client: str) -> None:
    alpha, pid = desk.session("alpha"), desk.process()
    assert reason(client, ask(desk, client, "edit", pid, path="free.txt", content="x")) == ""
    assert alpha.edits("free.txt") != ""
    desk.kill(pid)
    assert alpha.edits("free.txt") == ""


@pytest.mark.parametrize("client", MADE)
def test_what_cannot_be_read_passes_with_one_line_or_is_refused_where_closed_is_chosen(desk: Desk, client: str) -> None:
    environ = {**desk.environ, "CLEARWAY_PID": str(desk.process())}
    out, err, code = hooks.answer(client, b"{", environ)
    assert (out, code) == ("", 0)
    assert err.count("\n") == 1 and err.startswith("clearway: guard open")
    closed = hooks.answer(client, b"{", {**environ, "CLEARWAY_FAIL_CLOSED": "1"})
    if client == "cline":
        assert "fail closed" in closed[0]
    else:
        assert "fail closed" in reason(client, closed)


def test_two_kiros_are_two_sessions(desk: Desk) -> None:
    """It names none: its process is one."""
    one, two = desk.process(), desk.process()
    assert reason("kiro", ask(desk, "kiro", "edit", one, path="free.txt", content="x")) == ""
    assert "free.txt" in reason("kiro", ask(desk, "kiro", "edit", two, path="free.txt", content="x"))
    assert reason("kiro", ask(desk, "kiro", "edit", one, path="free.txt", content="x")) == ""


def test_a_subagent_of_opencode_works_under_the_leases_of_its_session(desk: Desk, tmp_path: Path) -> None:
    pid = desk.process()
    assert reason("opencode", ask(desk, "opencode", "edit", pid, path="free.txt")) == ""
    payload = _opencode(str(desk.repo), "edit", {"path": "free.txt"})
    payload["input"]["sessionID"] = "child"
    environ = {**desk.environ, "CLEARWAY_PID": str(pid)}
    assert hooks.answer("opencode", json.dumps(payload).encode(), environ) == ("", "", 0)
    payload["root"] = "somebody else"
    assert "free.txt" in reason("opencode", hooks.answer("opencode", json.dumps(payload).encode(), environ))
