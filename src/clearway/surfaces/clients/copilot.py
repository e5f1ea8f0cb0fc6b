"""GitHub Copilot CLI's hooks, in both of its dialects.

An event that is registered under its camelCase name has camelCase keys, and is answered flat; under a PascalCase name
it is told and answered as Claude's would be, with the client's own keys inside. A subagent is told by its own id, which
the client also calls its session; its root is named by the transcript, else by the parent, which may itself be a
subagent (callers.py asks the room then). A hook that ends badly denies, so this one never does.
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
    **dict.fromkeys(("apply_patch", "create", "edit", "str_replace_editor"), "edit"),
    **dict.fromkeys(("bash", "local_shell", "powershell"), "shell"),
    **dict.fromkeys(
        ("fetch_copilot_cli_documentation", "glob", "grep", "list_agents", "list_bash", "list_powershell", "read_agent",
         "read_bash", "read_powershell", "rg", "session_store_sql", "view", "web_fetch", "web_search"),
        "read",
    ),
    "task": "agent",
    **dict.fromkeys(
        ("ask_user", "report_intent", "skill", "sql", "stop_bash", "stop_powershell", "store_memory", "update_todo",
         "write_agent", "write_bash", "write_powershell"),
        "other",
    ),
}  # fmt: skip
TAKES_CONTEXT: dict[Moment, str] = {
    "after": "PostToolUse",
    "start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "child_start": "SubagentStart",
}
# Events without a tool are told apart by keys where the payload does not name them, as in every camelCase one.
_BY_KEYS: tuple[tuple[str, Moment], ...] = (
    ("initialPrompt", "start"),
    ("source", "start"),
    ("prompt", "prompt"),
    ("agentName", "child_start"),
    ("stopReason", "stop"),
    ("trigger", "compact"),
    ("reason", "end"),
)
_IN_BACKGROUND = "<command started in background with shellId: "
_ENDED = "completed with exit code "


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    if shapes.is_object(payload) and "hookEventName" in payload:  # VS Code runs the hooks of these settings as its own
        from clearway.surfaces.clients import vscode

        return vscode.read(payload, {})
    said = shapes.Payload(_spelled(payload))
    child = said.text("agentId", "agent_id")
    call = ToolCall(
        client="copilot",
        moment=_moment(said),
        session=_root(said, child),
        thread=child,
        cwd=said.text("cwd") or environ.get("COPILOT_PROJECT_DIR"),
        source=said.text("source", "reason", "trigger") or "",
        prompt=said.text("prompt") or "",
        raw=said.raw,
    )
    if call.moment == "prompt" and child:  # what a parent says to a subagent begins no turn
        call.moment = "other"
    shapes.read_tool(call, said, TOOLS, names=("toolName", "tool_name"), inputs=("toolArgs", "tool_input"))
    _read_outcome(call)
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    if "hook_event_name" in call.raw or call.client == "vscode":
        return claude.in_json(call, decision, {"before": "PreToolUse", **TAKES_CONTEXT})
    said: dict[str, str] = {}
    unsaid = ""
    if decision.deny and call.moment == "before":
        said = {"permissionDecision": "deny", "permissionDecisionReason": decision.deny}
    elif decision.deny:
        unsaid = f"{decision.deny}\n"
    if decision.context and call.moment in TAKES_CONTEXT:
        said["additionalContext"] = decision.context
    return (wire.dumps(said) + "\n" if said else ""), unsaid, 0


def _moment(said: shapes.Payload) -> Moment:
    if said.text("hook_event_name", "hookName"):
        return shapes.read_moment(said, "hook_event_name", "hookName")
    if "toolName" in said.raw:
        return "after" if "toolResult" in said.raw else "failed" if "error" in said.raw else "before"
    if "agentName" in said.raw and "stopReason" in said.raw:
        return "child_stop"
    found: Moment | None = next((moment for key, moment in _BY_KEYS if key in said.raw), None)
    if found is None:
        said.complain("the payload names no event that Copilot has")
    return found or "before"


def _root(said: shapes.Payload, child: str | None) -> str | None:
    """The session that a person began: `.../session-state/ROOT/events.jsonl` is its transcript."""
    own = said.text("sessionId", "session_id")
    if not child:
        return own
    folders = (said.text("transcriptPath", "transcript_path") or "").replace("\\", "/").split("/")
    if len(folders) > 2 and folders[-3] == "session-state":
        return folders[-2]
    return said.text("parentAgentId", "parent_agent_id") or own


def _read_outcome(call: ToolCall) -> None:
    given = call.raw.get("toolResult", call.raw.get("tool_result"))
    told = given.get("textResultForLlm") if shapes.is_object(given) else None
    if call.kind != "shell" or call.moment != "after" or not isinstance(told, str):
        return
    call.task = told.partition(_IN_BACKGROUND)[2].partition(">")[0]
    call.status = shapes.exit_status(told.rpartition(_ENDED)[2]) if _ENDED in told else None


def _spelled(payload: dict[str, Any]) -> dict[str, Any]:
    """With an MCP tool, `server-tool` here, under the name that most clients give it."""
    for key in ("toolName", "tool_name") if shapes.is_object(payload) else ():
        tool = payload.get(key)
        if isinstance(tool, str) and "-" in tool and tool not in TOOLS:
            server, _, name = tool.partition("-")
            return {**payload, key: f"mcp__{server}__{name}"}
    return payload
