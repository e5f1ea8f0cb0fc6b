"""The hook of any client that nobody has written an adapter for, and of scripts.

It takes Clearway's own short payload and the spellings that other clients have made common. A denial is exit status 2
with the reason on stderr, and is given only before a call: at the end of a turn clients loop on it. Context is plain
text on stdout.
"""

from __future__ import annotations

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import shapes
from clearway.surfaces.clients.claude import TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.surfaces.clients.claude import Decision


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    call = ToolCall(
        client="generic",
        moment=shapes.read_moment(said, "event", "hook_event_name", "hookEventName"),
        session=said.text("session", "session_id", "sessionId"),
        thread=said.text("thread", "agent_id", "agentId"),
        cwd=said.text("cwd", "working_dir", "workingDir"),
        call=said.text("call", "tool_use_id", "toolUseId", "tool_call_id", "toolCallId"),
        source=said.text("source", "reason", "trigger") or "",
        pid=said.number("pid") or shapes.process(environ, "CLEARWAY_PID"),
        agent=said.text("agent"),
        prompt=said.text("prompt") or "",
        raw=said.raw,
    )
    names = ("tool", "tool_name", "toolName")
    shapes.read_tool(call, said, TOOLS, names=names, inputs=("input", "tool_input", "toolInput", "toolArgs", "args"))
    ended = said.raw.get("output")
    told = [said.raw, *([ended] if shapes.is_object(ended) else [])]
    for status in (each.get(name) for each in told for name in ("exit_code", "exitCode", "status")):
        if call.moment in {"after", "failed"} and isinstance(status, int) and not isinstance(status, bool):
            call.status = status
            break
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    said = f"{decision.context}\n" if decision.context else ""
    if not decision.deny:
        return said, "", 0
    return said, f"{decision.deny}\n", 2 if call.moment == "before" else 0
