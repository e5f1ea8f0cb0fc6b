"""Goose's hooks: a decision to block on stdout, or nothing. It takes no words for its model beside that."""

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

_OWN = "developer__"
TOOLS: dict[str, Kind] = {
    **dict.fromkeys(("developer__edit", "developer__write"), "edit"),
    "developer__shell": "shell",
    **dict.fromkeys(
        """
        developer__analyze developer__image_processor developer__list_windows developer__read developer__screen_capture
        developer__tree
        """.split(),
        "read",
    ),
    **dict.fromkeys(("dynamic_task__create_task", "subagent__execute_task", "summon__delegate"), "agent"),
    **dict.fromkeys(("platform__manage_schedule", "todo__todo_write", "todo__write"), "other"),
}
TAKES_CONTEXT: dict[Moment, str] = {}
_READING = "view"  # of developer__text_editor, which names what it does in an argument


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    call = ToolCall(
        client="goose",
        moment=shapes.read_moment(said, "event", "hook_event_name"),
        session=said.text("session_id"),
        cwd=said.text("working_dir", "cwd"),
        call=said.text("tool_call_id"),
        prompt=said.text("message") or "",
        pid=shapes.process(environ, "CLEARWAY_PID"),
        raw=said.raw,
    )
    tool = said.text("tool_name") or ""
    given = shapes.given_in(said, ("tool_input",))
    server, split, name = tool.partition("__")
    if call.moment in ("before", "after", "failed") and tool not in TOOLS and split:
        call.tool = tool
        if tool != f"{_OWN}text_editor":
            shapes.read_server_tool(call, server, name, given)
        elif not (shapes.is_object(given) and given.get("command") == _READING):
            call.kind = "edit"
            shapes.read_what_it_does(call, said, _without_command(given))
        else:
            call.kind = "read"
    else:
        shapes.read_tool(call, said, TOOLS, names=("tool_name",), inputs=("tool_input",))
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    if not decision.deny:
        return "", "", 0
    if call.moment != "before":
        return "", f"{decision.deny}\n", 0
    return wire.dumps({"decision": "block", "reason": decision.deny}) + "\n", "", 0


def _without_command(given: Any) -> Any:
    """`command` is a verb of the editor here, and no command line."""
    return {name: value for name, value in given.items() if name != "command"} if shapes.is_object(given) else given
