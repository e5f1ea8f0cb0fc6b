"""Kiro's hooks, of both generations: a denial is exit status 2 with the reason on stderr.

What stands on stdout is read by the model when a session starts and when a prompt is submitted, and nowhere else. The
older generation names no session: then it is that of the client's process (callers.py).
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

TOOLS: dict[str, Kind] = {
    **dict.fromkeys(
        ("delete_file", "fsAppend", "fsWrite", "fs_append", "fs_write", "strReplace", "str_replace", "write"), "edit"
    ),
    **dict.fromkeys(("executeBash", "executePwsh", "execute_bash", "execute_cmd", "execute_pwsh", "shell"), "shell"),
    **dict.fromkeys(
        """
        fileSearch file_search fsRead fs_read glob grep grepSearch grep_search introspect knowledge listDirectory
        list_directory read readCode readFile readMultipleFiles read_code read_file read_files remote_web_search
        web_fetch web_search
        """.split(),
        "read",
    ),
    **dict.fromkeys(("delegate", "invokeSubAgent", "subagent", "use_subagent"), "agent"),
    **dict.fromkeys(("aws", "report_issue", "thinking", "todo_list", "use_aws", "userInput"), "other"),
}
TAKES_CONTEXT: dict[Moment, str] = {"start": "agentSpawn", "prompt": "userPromptSubmit"}
_MOMENTS: dict[str, Moment] = {"agentSpawn": "start"}
_VERB = "command"  # of fs_write: create, str_replace, insert, append


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    event = said.text("hook_event_name", "trigger") or ""
    call = ToolCall(
        client="kiro",
        moment=_MOMENTS.get(event) or shapes.read_moment(said, "hook_event_name", "trigger"),
        session=said.text("session_id", "sessionId", "conversation_id"),
        cwd=said.text("cwd"),
        call=said.text("tool_use_id", "tool_call_id"),
        source=said.text("source") or "",
        prompt=said.text("prompt") or "",
        pid=shapes.process(environ, "CLEARWAY_PID"),
        raw=said.raw,
    )
    tool = said.text("tool_name") or ""
    server, split, name = tool.removeprefix("@").partition("/")
    if tool.startswith("@") and split and call.moment in ("before", "after", "failed"):
        call.tool = tool
        shapes.read_server_tool(call, server, name, shapes.given_in(said, ("tool_input",)))
    elif TOOLS.get(tool) == "edit" and call.moment in ("before", "after", "failed"):
        call.tool, call.kind = tool, "edit"
        given = shapes.given_in(said, ("tool_input",))
        if shapes.is_object(given):
            given = {name: value for name, value in given.items() if name != _VERB}
        shapes.read_what_it_does(call, said, given)
    else:
        shapes.read_tool(call, said, TOOLS, names=("tool_name",), inputs=("tool_input",))
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    said = f"{decision.context}\n" if decision.context and call.moment in TAKES_CONTEXT else ""
    if not decision.deny:
        return said, "", 0
    return said, f"{decision.deny}\n", 2 if call.moment == "before" else 0
