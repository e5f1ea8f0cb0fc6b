"""Cursor's hooks. A denial says the same to the person and to the agent, because only one of the two is read by it.

The hooks that `connect` registers are asked before every write, command, deletion and MCP call; the narrower events,
which Cursor raises beside those, are read as well, for whoever has registered them by hand.
"""

from __future__ import annotations

from clearway import wire
from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import claude, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.guard.toolcall import Kind, Moment
    from clearway.surfaces.clients.claude import Decision

TOOLS: dict[str, Kind] = {
    **claude.TOOLS,
    **dict.fromkeys(("ApplyPatch", "Delete", "EditNotebook", "StrReplace"), "edit"),
    "Shell": "shell",
    **dict.fromkeys(("ListDir", "ListMcpResources", "FetchMcpResource", "ReadLints", "SemanticSearch"), "read"),
    **dict.fromkeys(("AskQuestion", "CreatePlan", "SwitchMode", "UpdateTodos"), "other"),
}
TAKES_CONTEXT: dict[Moment, str] = {"after": "postToolUse", "start": "sessionStart"}
_NARROW: dict[str, tuple[Moment, Kind]] = {
    "beforeShellExecution": ("before", "shell"),
    "afterShellExecution": ("after", "shell"),
    "beforeMCPExecution": ("before", "mcp"),
    "afterMCPExecution": ("after", "mcp"),
    "beforeReadFile": ("before", "read"),
    "afterFileEdit": ("after", "edit"),
}
_MOMENTS: dict[str, Moment] = {"beforeSubmitPrompt": "prompt"}
_SERVER = "MCP:"


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    event = said.text("hook_event_name") or ""
    moment, kind = _NARROW.get(event, (None, None))
    call = ToolCall(
        client="cursor",
        moment=moment or _MOMENTS.get(event) or shapes.read_moment(said, "hook_event_name"),
        session=said.text("conversation_id", "session_id"),
        thread=said.text("subagent_id", "agent_id"),
        cwd=said.text("cwd") or _root(said),
        call=said.text("tool_use_id"),
        source=said.text("source", "reason", "trigger") or "",
        prompt=said.text("prompt") or "",
        pid=shapes.process(environ, "CLEARWAY_PID"),
        raw=said.raw,
    )
    if kind is None:
        _read_tool(call, said)
    else:
        _read_narrow(call, said, kind)
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    said: dict[str, str] = {}
    if decision.deny and call.moment == "before":
        said |= {"permission": "deny", "user_message": decision.deny, "agent_message": decision.deny}
    if decision.context and call.moment in TAKES_CONTEXT:
        said["additional_context"] = decision.context
    unsaid = f"{decision.deny}\n" if decision.deny and call.moment != "before" else ""
    return (wire.dumps(said) + "\n" if said else ""), unsaid, 0


def _read_tool(call: ToolCall, said: shapes.Payload) -> None:
    tool = said.text("tool_name") or ""
    if tool.startswith(_SERVER) and call.moment in ("before", "after", "failed"):
        call.tool = tool
        shapes.read_server_tool(call, "", tool.removeprefix(_SERVER), shapes.given_in(said, ("tool_input",)))
    else:
        shapes.read_tool(call, said, TOOLS, names=("tool_name",), inputs=("tool_input",))


def _read_narrow(call: ToolCall, said: shapes.Payload, kind: Kind) -> None:
    call.kind = kind
    call.tool = said.text("tool_name") or said.text("hook_event_name") or ""
    if kind == "mcp":
        shapes.read_server_tool(call, "", call.tool, shapes.given_in(said, ("tool_input",)))
    else:
        shapes.read_what_it_does(
            call, said, {name: said.raw[name] for name in ("command", "file_path") if name in said.raw}
        )


def _root(said: shapes.Payload) -> str | None:
    roots = said.raw.get("workspace_roots")
    return next((root for root in roots if isinstance(root, str)), None) if shapes.is_list(roots) else None
