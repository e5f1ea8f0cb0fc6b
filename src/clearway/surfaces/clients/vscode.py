"""VS Code's agent mode: Claude's dialect with keys in camel case and tools of its own.

It reads the hooks of Claude's and of Copilot's settings as well as those registered for it, and ignores their matchers,
so any of these commands may be told what happens in VS Code. Copilot CLI in turn reads the file in which ours stand:
what it tells here is its own hook's business and left alone.
"""

from __future__ import annotations

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import claude, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.guard.toolcall import Kind, Moment
    from clearway.surfaces.clients.claude import Decision

TOOLS: dict[str, Kind] = {
    **dict.fromkeys(
        """
        apply_patch createFile create_file create_new_jupyter_notebook deleteFile editFiles edit_files
        edit_notebook_file insert_edit_into_file multi_replace_string_in_file renameFile replace_string_in_file
        """.split(),
        "edit",
    ),
    **dict.fromkeys(("runCommands", "runInTerminal", "runTerminalCommand", "run_in_terminal"), "shell"),
    **dict.fromkeys(
        """
        copilot_getNotebookSummary fetch_webpage file_search get_changed_files get_errors get_project_setup_info
        get_search_view_results get_task_output get_terminal_output get_vscode_api github_repo grep_search
        list_code_usages list_dir readFile read_file read_notebook_cell_output semantic_search terminal_last_command
        terminal_selection test_failure test_search view_image
        """.split(),
        "read",
    ),
    **dict.fromkeys(("runSubagent", "search_subagent"), "agent"),
    **dict.fromkeys(
        """
        create_and_run_task create_directory create_new_workspace install_extension manage_todo_list
        open_simple_browser run_notebook_cell run_task run_tests run_vscode_command think
        """.split(),
        "other",
    ),
}
TAKES_CONTEXT: dict[Moment, str] = {
    "before": "PreToolUse",
    "after": "PostToolUse",
    "start": "SessionStart",
    "child_start": "SubagentStart",
}
_SERVER = "mcp_"  # before the server's name, which ends at the next underscore


def read(payload: dict[str, Any], environ: Mapping[str, str]) -> ToolCall:
    said = shapes.Payload(payload)
    if environ.get("COPILOT_CLI") and "hookEventName" not in said.raw:
        return ToolCall(client="copilot", moment="other", cwd=said.text("cwd"), raw=said.raw)
    call = ToolCall(
        client="vscode",
        moment=shapes.read_moment(said, "hookEventName", "hook_event_name"),
        session=said.text("sessionId", "session_id"),
        thread=said.text("agent_id", "agentId"),
        cwd=said.text("cwd"),
        call=said.text("tool_use_id", "toolUseId"),
        source=said.text("source", "trigger") or "",
        prompt=said.text("prompt") or "",
        raw=said.raw,
    )
    names, inputs = ("tool_name", "toolName"), ("tool_input", "toolInput")
    tool = said.text(*names) or ""
    if tool.startswith(_SERVER) and not tool.startswith("mcp__") and call.moment in ("before", "after", "failed"):
        call.tool = tool
        server, _, name = tool.removeprefix(_SERVER).partition("_")
        shapes.read_server_tool(call, server, name, shapes.given_in(said, inputs))
    else:
        shapes.read_tool(call, said, TOOLS, names=names, inputs=inputs)
    call.problem = said.problem
    return call


def answer(call: ToolCall, decision: Decision) -> tuple[str, str, int]:
    return claude.in_json(call, decision, TAKES_CONTEXT)
