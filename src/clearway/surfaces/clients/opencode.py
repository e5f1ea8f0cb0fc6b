"""OpenCode's plugin, which is ours (setup/plugins/opencode.js): it says what happens and passes on what we answer.

The answer is one JSON object with `deny`, `context`, or both, and nothing at all for a silent allow. A subagent is a
session of its own there; the plugin says at the top of which session it works.
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
    **dict.fromkeys(("apply_patch", "edit", "multiedit", "patch", "write"), "edit"),
    **dict.fromkeys(("bash", "shell"), "shell"),
    **dict.fromkeys(
        "codesearch glob grep list ls lsp lsp_diagnostics lsp_hover read todoread webfetch websearch".split(), "read"
    ),
    "task": "agent",
    **dict.fromkeys("batch invalid plan_enter plan_exit question skill todo todowrite".split(), "other"),
}
HOOKS: dict[str, Moment] = {
    "tool.execute.before": "before",
    "tool.execute.after": "after",
    "chat.message": "prompt",
    "idle": "stop",
}
_OF_A_SESSION: dict[str, Moment] = {"start": "start", "compact": "compact", "end": "end"}
_OF_A_CHILD: dict[Moment, Moment] = {"prompt": "child_start", "stop": "child_stop"}
TAKES_CONTEXT = frozenset({"before", "after", "failed", "start", "prompt", "child_start"})


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    asked, told = _object(said, "input"), _object(said, "output")
    session = asked.text("sessionID")
    root = said.text("root") or session
    call = ToolCall(
        client="opencode",
        moment=_moment(said, asked, told),
        session=root,
        thread=session if session != root else None,
        cwd=said.text("directory"),
        call=asked.text("callID"),
        source=asked.text("source") or "",
        pid=said.number("pid") or shapes.process(environ, "OPENCODE_PID"),
        prompt=told.text("prompt") or "",
        raw=said.raw,
    )
    if call.thread:
        call.moment = _OF_A_CHILD.get(call.moment, call.moment)
    _read_tool(call, asked, told)
    call.problem = said.problem or asked.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    said: dict[str, str] = {}
    if decision.deny and call.moment == "before":
        said["deny"] = decision.deny
    if decision.context and call.moment in TAKES_CONTEXT:
        said["context"] = decision.context
    unsaid = f"{decision.deny}\n" if decision.deny and call.moment != "before" else ""
    return (wire.dumps(said) + "\n" if said else ""), unsaid, 0


def _object(said: shapes.Payload, name: str) -> shapes.Payload:
    given = said.raw.get(name)
    return shapes.Payload(given if shapes.is_object(given) else {})


def _moment(said: shapes.Payload, asked: shapes.Payload, told: shapes.Payload) -> Moment:
    hook = said.text("hook")
    if hook is None:
        said.needed("hook")
        return "before"  # the only moment at which a guard that fails closed can refuse
    if hook == "session":
        return _OF_A_SESSION.get(asked.text("event") or "", "other")
    moment = HOOKS.get(hook, "other")
    return "failed" if moment == "after" and "error" in told.raw else moment


def _read_tool(call: ToolCall, asked: shapes.Payload, told: shapes.Payload) -> None:
    if call.moment not in ("before", "after", "failed"):
        return
    given = shapes.given_in(told if call.moment == "before" else asked, ("args",))
    call.tool = asked.text("tool") or ""
    server, split, tool = call.tool.partition("_")
    if split and call.tool not in TOOLS:  # no other sign tells a server's tool from one of another plugin
        shapes.read_server_tool(call, server, tool, given)
        return
    called = shapes.Payload({"tool": asked.raw.get("tool"), "args": given})
    shapes.read_tool(call, called, TOOLS, names=("tool",), inputs=("args",))
    asked.complain(called.problem)
    ended = told.raw.get("metadata")
    if call.kind == "shell" and call.moment == "after" and shapes.is_object(ended):
        status = ended.get("exit")
        call.status = status if isinstance(status, int) and not isinstance(status, bool) else None
