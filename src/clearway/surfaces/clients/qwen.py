"""Qwen Code's hooks: Gemini's tools under Claude's events and in Claude's dialect.

A prompt without text is none: the client gives that event after every answer of a tool, too.
"""

from __future__ import annotations

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import gemini, shapes
from clearway.surfaces.clients.claude import in_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.guard.toolcall import Kind, Moment
    from clearway.surfaces.clients.claude import Decision

TOOLS: dict[str, Kind] = {
    **gemini.TOOLS,
    "edit": "edit",
    "monitor": "shell",
    **dict.fromkeys(("lsp", "tool_search", "web_search"), "read"),
    **dict.fromkeys(("agent", "task"), "agent"),
    **dict.fromkeys(
        ("ask_user_question", "cron_create", "cron_delete", "cron_list", "send_message", "skill", "structured_output",
         "task_stop", "todo_write"),
        "other",
    ),
}  # fmt: skip
TAKES_CONTEXT: dict[Moment, str] = {
    "before": "PreToolUse",
    "after": "PostToolUse",
    "start": "SessionStart",
    "prompt": "UserPromptSubmit",
}
_IN_BACKGROUND = "Background shell started.\nid: "


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    call = ToolCall(
        client="qwen",
        moment=shapes.read_moment(said, "hook_event_name"),
        session=said.text("session_id"),
        thread=said.text("agent_id"),
        cwd=said.text("cwd") or environ.get("QWEN_PROJECT_DIR"),
        call=said.text("tool_use_id"),
        source=said.text("source", "reason", "trigger") or "",
        prompt=said.text("prompt") or "",
        raw=said.raw,
    )
    if call.moment == "prompt" and not call.prompt:
        call.moment = "other"
    shapes.read_tool(call, said, TOOLS, names=("tool_name",), inputs=("tool_input",))
    gemini.read_outcome(call, _IN_BACKGROUND, "\n")
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    return in_json(call, decision, TAKES_CONTEXT)
