"""Claude Code's hooks, and those of VS Code and Cursor, which run the hooks of Claude's settings as their own.

The answer is JSON with exit status 0: a denial as `hookSpecificOutput`, context on the events that take it, nothing at
all for a silent allow. Only the question before a call can be denied.
"""

from __future__ import annotations

from clearway import wire
from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from clearway.guard.toolcall import Kind, Moment

    class Decision(Protocol):
        """What the guard answers: a reason to deny, context to add; empty or None for neither."""

        @property
        def deny(self) -> str | None: ...
        @property
        def context(self) -> str | None: ...


TOOLS: dict[str, Kind] = {
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Bash", "PowerShell"), "shell"),
    **dict.fromkeys(("Glob", "Grep", "LS", "NotebookRead", "Read", "ToolSearch", "WebFetch", "WebSearch"), "read"),
    **dict.fromkeys(("Agent", "Task"), "agent"),
    **dict.fromkeys(
        ("BashOutput", "KillShell", "Skill", "SlashCommand", "TaskOutput", "TaskStop", "TodoWrite"), "other"
    ),
}
TAKES_CONTEXT: dict[Moment, str] = {
    "before": "PreToolUse",
    "after": "PostToolUse",
    "failed": "PostToolUseFailure",
    "start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "child_start": "SubagentStart",
}


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    client = _client(said)
    if client == "vscode":
        from clearway.surfaces.clients import vscode

        return vscode.read(payload, environ)
    own = client == "claude"
    call = ToolCall(
        client=client,
        moment=shapes.read_moment(said, "hook_event_name", "hookEventName"),
        session=said.text("session_id", "sessionId", "conversation_id") or (own and _session(environ)) or None,
        thread=said.text("agent_id", "agentId"),
        cwd=said.text("cwd"),
        call=said.text("tool_use_id", "toolUseId"),
        source=said.text("source", "reason", "trigger") or "",
        pid=shapes.process(environ, "CLAUDE_PID") if own else None,
        prompt=said.text("prompt") or "",
        raw=said.raw,
    )
    if said.text("hook_event_name") == "Notification" and said.text("notification_type") == "idle_prompt":
        call.moment = "idle"
    shapes.read_tool(call, said, TOOLS, names=("tool_name", "toolName"), inputs=("tool_input", "toolInput"))
    _read_outcome(call, said)
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    return in_json(call, decision, TAKES_CONTEXT)


def _read_outcome(call: ToolCall, said: shapes.Payload) -> None:
    """How a call ended, what of it goes on in the background, and what else does."""
    given = said.raw.get("tool_response")
    if call.moment == "after" and shapes.is_object(given):
        launched = given.get("agentId") if given.get("status") == "async_launched" else None
        task = given.get("backgroundTaskId") or launched
        call.task = task if isinstance(task, str) else ""
        if call.kind == "shell" and not call.task and given.get("interrupted") is not True:
            call.status = 0
    elif call.moment == "failed":
        call.status = shapes.whole_number((said.text("error") or "").partition("Exit code ")[2].partition("\n")[0])
    listed = said.raw.get("background_tasks")
    if shapes.is_list(listed):
        call.running = [each["id"] for each in listed if shapes.is_object(each) and isinstance(each.get("id"), str)]


def in_json(call: ToolCall, decision: Decision, takes_context: Mapping[Moment, str]) -> tuple[str, str, int]:
    """The dialect that Claude Code has made common. Exactly these keys: others read it strictly."""
    event = takes_context.get(call.moment)
    said: dict[str, str] = {}
    if decision.deny and call.moment == "before":
        said |= {"permissionDecision": "deny", "permissionDecisionReason": decision.deny}
    if decision.context and event:
        said["additionalContext"] = decision.context
    unsaid = f"{decision.deny}\n" if decision.deny and call.moment != "before" else ""
    if not said:
        return "", unsaid, 0
    return wire.dumps({"hookSpecificOutput": {"hookEventName": event, **said}}) + "\n", unsaid, 0


def _client(said: shapes.Payload) -> str:
    """Who really runs this hook: VS Code spells the common keys in camel case, Cursor gives its version."""
    if "cursor_version" in said.raw:
        return "cursor"
    if "hookEventName" in said.raw and "hook_event_name" not in said.raw:
        return "vscode"
    return "claude"


def _session(environ: Mapping[str, str]) -> str:
    return environ.get("CLAUDE_CODE_SESSION_ID", "")
