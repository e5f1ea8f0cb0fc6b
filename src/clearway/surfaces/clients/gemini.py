"""Gemini CLI's hooks.

Gemini reads the whole of stdout as one JSON text, and what it cannot read so as an allow. It runs hooks through `bash
-c` with a socket as stdin; where it was itself not started from a shell, bash then reads `~/.bashrc`, and what that
prints stands before our answer. Only the exit status still speaks then, so there a denial is said by 2 as well.
"""

from __future__ import annotations

from clearway import wire
from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.guard.toolcall import Kind, Moment
    from clearway.surfaces.clients.claude import Decision

TOOLS: dict[str, Kind] = {
    **dict.fromkeys(("replace", "write_file"), "edit"),
    "run_shell_command": "shell",
    **dict.fromkeys(
        ("get_internal_docs", "glob", "google_web_search", "grep_search", "list_background_processes", "list_directory",
         "list_mcp_resources", "read_background_output", "read_file", "read_many_files", "read_mcp_resource",
         "search_file_content", "web_fetch"),
        "read",
    ),
    "invoke_agent": "agent",
    **dict.fromkeys(
        ("activate_skill", "ask_user", "complete_task", "enter_plan_mode", "exit_plan_mode", "save_memory",
         "update_topic", "write_todos"),
        "other",
    ),
}  # fmt: skip
TAKES_CONTEXT: dict[Moment, str] = {"after": "AfterTool", "start": "SessionStart", "prompt": "BeforeAgent"}
_SHELL_LEVEL = "SHLVL"
_NO_SHELL_ABOVE = frozenset({"", "0"})  # a bash that hands over to its only command takes its own level back
_EXIT_CODE = "Exit Code: "
_IN_BACKGROUND = "Command moved to background (PID: "


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(_spelled(payload))
    call = ToolCall(
        client="gemini",
        moment=shapes.read_moment(said, "hook_event_name"),
        session=said.text("session_id") or environ.get("GEMINI_SESSION_ID") or None,
        cwd=said.text("cwd") or environ.get("GEMINI_CWD"),
        source=said.text("source", "reason", "trigger") or "",
        prompt=said.text("prompt") or "",
        raw={**said.raw, _SHELL_LEVEL: environ.get(_SHELL_LEVEL, "")},
    )
    if call.moment == "compact" and call.source == "auto":  # asked before every call of the model, needed or not
        call.moment = "other"
    shapes.read_tool(call, said, TOOLS, names=("tool_name",), inputs=("tool_input",))
    read_outcome(call, _IN_BACKGROUND, ")")
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    event = TAKES_CONTEXT.get(call.moment)
    if decision.deny and call.moment == "before":
        code = 2 if call.raw.get(_SHELL_LEVEL) in _NO_SHELL_ABOVE else 0
        return f"\n{wire.dumps({'decision': 'deny', 'reason': decision.deny})}\n", "", code
    unsaid = f"{decision.deny}\n" if decision.deny else ""
    if not decision.context or not event:
        return "", unsaid, 0
    told = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": decision.context}}
    return f"\n{wire.dumps(told)}\n", unsaid, 0


def read_outcome(call: ToolCall, background: str, end: str) -> None:
    """How a command ended, from the text that the model is shown; or its name, if it goes on in the background.

    background, end: what stands before and behind that name."""
    given = call.raw.get("tool_response")
    if call.moment != "after" or not shapes.is_object(given):
        return
    if given.get("error"):
        call.moment = "failed"
    told = given.get("llmContent")
    if call.kind != "shell" or not isinstance(told, str):
        return
    call.task = told.partition(background)[2].partition(end)[0]
    if not call.task and call.moment == "after":
        _, found, code = told.rpartition(f"\n{_EXIT_CODE}")
        call.status = shapes.exit_status(code) if found else 0


def _spelled(payload: dict[str, Any]) -> dict[str, Any]:
    """With an MCP tool under the name that most clients give it."""
    context = payload.get("mcp_context") if shapes.is_object(payload) else None
    if not shapes.is_object(context):
        return payload
    return {**payload, "tool_name": f"mcp__{context.get('server_name')}__{context.get('tool_name')}"}
