"""Cline's hooks, of its command line and of its extension.

A `cancel` ends the whole run, so that the agent could not go on with something else: it is never said. A denial is
told to the model as context. On the command line the call is also given other arguments, with which it must fail; in
the extension that is all, so there we only advise.
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
    **dict.fromkeys(("apply_patch", "editor", "replace_in_file", "write_to_file"), "edit"),
    **dict.fromkeys(("bash", "execute_command", "run_command", "run_commands"), "shell"),
    **dict.fromkeys(
        """
        access_mcp_resource fetch_web_content list_code_definition_names list_files load_mcp_documentation read_file
        read_files search_codebase search_files web_fetch web_search
        """.split(),
        "read",
    ),
    **dict.fromkeys(("new_task", "spawn_agent", "use_subagents"), "agent"),
    **dict.fromkeys(
        """
        act_mode_respond ask_followup_question ask_question attempt_completion condense focus_chain new_rule
        plan_mode_respond report_bug skills submit_and_exit use_skill
        """.split(),
        "other",
    ),
}
# The command line says what happens, the extension which of its hooks runs.
HOOKS: dict[str, Moment] = {
    "tool_call": "before",
    "PreToolUse": "before",
    "tool_result": "after",
    "PostToolUse": "after",
    "agent_start": "start",
    "agent_resume": "start",
    "TaskStart": "start",
    "TaskResume": "start",
    "prompt_submit": "prompt",
    "UserPromptSubmit": "prompt",
    "agent_end": "stop",
    "agent_abort": "stop",
    "agent_error": "stop",
    "TaskComplete": "stop",
    "TaskCancel": "stop",
    "TaskError": "stop",
    "PreCompact": "compact",
    "session_shutdown": "end",
    "SessionShutdown": "end",
}
_OF_A_CHILD: dict[Moment, Moment] = {
    "start": "child_start",
    "prompt": "other",
    "stop": "child_stop",
    "end": "child_stop",
}
_RESUMES = frozenset({"agent_resume", "TaskResume"})
_EXTENSION = frozenset(name for name in HOOKS if name[:1].isupper())
# On the command line a hook that begins a run is not waited for, and what it says is not read.
TAKES_CONTEXT: dict[Moment, str] = {"before": "context", "after": "context"}
_NOWHERE = "/dev/null/clearway-refused"  # below a file: nothing can be written there
_TOOL_OF_SERVERS = "use_mcp_tool"


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    hook = said.text("hookName")
    if hook is None:
        said.needed("hookName")
    child = said.text("parent_agent_id") is not None
    moment = HOOKS.get(hook, "other") if hook else "before"
    call = ToolCall(
        client="cline",
        moment=_OF_A_CHILD.get(moment, moment) if child else moment,
        session=_inner(said, "sessionContext").text("rootSessionId") or said.text("taskId"),
        thread=said.text("agent_id") if child else None,
        cwd=_root(said),
        source="resume" if hook in _RESUMES else said.text("reason") or "",
        prompt=_inner(said, "userPromptSubmit").text("prompt") or "",
        pid=shapes.process(environ, "CLEARWAY_PID"),
        raw=said.raw,
    )
    if moment in ("before", "after"):
        _read_tool(call, said)
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    refused = decision.deny if call.moment == "before" else None
    told = "\n".join(filter(None, (refused, decision.context if call.moment in TAKES_CONTEXT else None)))
    unsaid = f"{decision.deny}\n" if decision.deny and not refused else ""
    if not told:
        return "", unsaid, 0
    if str(call.raw.get("hookName")) in _EXTENSION:
        return wire.dumps({"cancel": False, "contextModification": told}) + "\n", unsaid, 0
    instead = _must_fail(call, refused) if refused else None
    said: dict[str, Any] = {"context": told} | ({} if instead is None else {"overrideInput": instead})
    return wire.dumps(said) + "\n", unsaid, 0


def _must_fail(call: ToolCall, reason: str) -> dict[str, Any] | None:
    """Arguments with which the call does nothing but fail; None for a tool whose arguments are not known."""
    if call.tool == "editor":
        return {"path": _NOWHERE, "new_text": reason}
    if call.tool == "run_commands":
        quoted = reason.replace("'", "'\\''")
        return {"commands": [f"echo '{quoted}' >&2; exit 1"]}
    return None


def _inner(said: shapes.Payload, name: str) -> shapes.Payload:
    given = said.raw.get(name)
    return shapes.Payload(given if shapes.is_object(given) else {})


def _read_tool(call: ToolCall, said: shapes.Payload) -> None:
    """The call as the command line tells it, else as the extension does, which gives every argument as a text."""
    before = call.moment == "before"
    made = _inner(said, "tool_call" if before else "tool_result")
    if not made.raw:
        made = _inner(said, "preToolUse" if before else "postToolUse")
    call.call = made.text("id")
    if made.raw.get("error") or made.raw.get("success") is False:
        call.moment = "failed"
    given = shapes.given_in(made, ("input", "parameters"))
    tool = made.text("name", "toolName", "tool") or ""
    server, split, name = tool.partition("__")
    if tool == _TOOL_OF_SERVERS and shapes.is_object(given):
        asked = shapes.Payload(given)
        call.tool, server, name = tool, asked.text("server_name") or "", asked.text("tool_name") or ""
        shapes.read_server_tool(call, server, name, shapes.given_in(asked, ("arguments",)))
    elif split and tool not in TOOLS:
        call.tool = tool
        shapes.read_server_tool(call, server, name, given)
    else:
        called = shapes.Payload({"tool_name": made.raw.get("name", made.raw.get("toolName")), "tool_input": given})
        shapes.read_tool(call, called, TOOLS, names=("tool_name",), inputs=("tool_input",))
        said.complain(called.problem)


def _root(said: shapes.Payload) -> str | None:
    roots = said.raw.get("workspaceRoots")
    first = next((root for root in roots if isinstance(root, str)), None) if shapes.is_list(roots) else None
    return first or _inner(said, "workspaceInfo").text("rootPath")
