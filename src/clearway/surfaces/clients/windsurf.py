"""Windsurf's hooks (Cascade): a denial is exit status 2 with the reason on stderr, and nothing else is ever heard.

There is no word for the model but a denial's reason, and no event at which a session starts or ends.
"""

from __future__ import annotations

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.guard.toolcall import Kind, Moment
    from clearway.surfaces.clients.claude import Decision

EVENTS: dict[str, tuple[Moment, Kind]] = {
    "pre_read_code": ("before", "read"),
    "post_read_code": ("after", "read"),
    "pre_write_code": ("before", "edit"),
    "post_write_code": ("after", "edit"),
    "pre_run_command": ("before", "shell"),
    "post_run_command": ("after", "shell"),
    "pre_mcp_tool_use": ("before", "mcp"),
    "post_mcp_tool_use": ("after", "mcp"),
    "pre_user_prompt": ("prompt", "other"),
    "post_cascade_response": ("stop", "other"),
}
TAKES_CONTEXT: dict[Moment, str] = {}


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    event = said.text("agent_action_name")
    if event is None:
        said.needed("agent_action_name")
    moment, kind = EVENTS.get(event, ("other", "other")) if event else ("before", "other")
    given: Any = said.raw.get("tool_info")
    info = shapes.Payload(given if shapes.is_object(given) else {})
    call = ToolCall(
        client="windsurf",
        moment=moment,
        session=said.text("trajectory_id"),
        cwd=info.text("cwd"),
        tool=event or "",
        kind=kind,
        prompt=info.text("user_prompt") or "",
        pid=shapes.process(environ, "CLEARWAY_PID"),
        raw=said.raw,
    )
    if kind == "mcp":
        call.tool = f"mcp__{info.text('mcp_server_name') or ''}__{info.text('mcp_tool_name') or ''}"
        arguments = shapes.given_in(info, ("mcp_tool_arguments",))
        shapes.read_server_tool(call, info.text("mcp_server_name") or "", info.text("mcp_tool_name") or "", arguments)
    else:
        shapes.read_what_it_does(call, said, given)
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    if not decision.deny:
        return "", "", 0
    return "", f"{decision.deny}\n", 2 if call.moment == "before" else 0
