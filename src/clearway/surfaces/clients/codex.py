"""Codex's hooks: patches as a tool, everything else through a shell.

Answers follow Codex's schemas to the key: one that they do not name voids the whole answer, and the tool runs. So the
event named in an answer is that of the question, and nothing is said on events that take nothing.
"""

from __future__ import annotations

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import shapes
from clearway.surfaces.clients.claude import in_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.guard.toolcall import Kind, Moment
    from clearway.surfaces.clients.claude import Decision

_TYPES = "write_stdin"  # into a command that goes on: often a shell
TOOLS: dict[str, Kind] = {
    "apply_patch": "edit",
    **dict.fromkeys(("Bash", "exec_command", "local_shell", "shell"), "shell"),
    **dict.fromkeys(("spawn_agent", "send_input", "wait_agent", "close_agent"), "agent"),
    **dict.fromkeys(("list_dir", "view_image", "web_search"), "read"),
    **dict.fromkeys(("update_plan", _TYPES), "other"),
}
TAKES_CONTEXT: dict[Moment, str] = {
    "before": "PreToolUse",
    "after": "PostToolUse",
    "start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "child_start": "SubagentStart",
}


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    call = ToolCall(
        client="codex",
        moment=shapes.read_moment(said, "hook_event_name"),
        session=said.text("session_id") or environ.get("CODEX_SESSION_ID") or environ.get("CODEX_THREAD_ID") or None,
        thread=said.text("agent_id"),
        cwd=said.text("cwd"),
        call=said.text("tool_use_id"),
        source=said.text("source", "reason", "trigger") or "",
        prompt=said.text("prompt") or "",
        raw=said.raw,
    )
    shapes.read_tool(call, said, TOOLS, names=("tool_name",), inputs=("tool_input",))
    if call.tool == _TYPES:
        given = shapes.Payload(shapes.given_in(said, ("tool_input",)))
        call.kind, call.command = "shell", given.text("chars") or ""
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    return in_json(call, decision, TAKES_CONTEXT)
