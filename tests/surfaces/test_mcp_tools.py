"""Tools of other MCP servers: what writes here is checked like an edit, readers and others are left alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.surfaces.test_moments import Desk, desk

from clearway.guard import strangers
from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import claude, generic

__all__ = ["desk"]

PATCH = "*** Begin Patch\n*** Update File: held.txt\n@@\n-a\n+b\n*** End Patch\n"
WRITERS: list[tuple[str, dict[str, Any]]] = [
    ("mcp__fs__edit_file", {"path": "held.txt", "edits": [{"oldText": "a", "newText": "b"}]}),
    ("mcp__fs__write_file", {"path": "held.txt", "content": "x"}),
    ("mcp__fs__move_file", {"source": "held.txt", "destination": "free.txt"}),
    ("mcp__fs__move_file", {"source": "free.txt", "destination": "held.txt"}),
    ("mcp__fs__copy_file", {"source": "free.txt", "destination": "held.txt"}),
    ("mcp__fs__rename", {"old_path": "held.txt", "new_path": "free.txt"}),
    ("mcp__serena__replace_symbol_body", {"name_path": "f", "relative_path": "held.txt", "body": "x"}),
    ("mcp__ide__applyEdit", {"uri": "file:///repo/held.txt", "newText": "x"}),
    ("mcp__x__delete_files", {"paths": ["free.txt", "held.txt"]}),
    ("mcp__x__write_files", {"files": [{"path": "free.txt", "content": "x"}, {"path": "held.txt", "content": "y"}]}),
    ("mcp__x__multi_edit", {"edits": [{"filePath": "held.txt", "newText": "x"}]}),
    ("mcp__x__search_replace", {"path": "held.txt", "old_string": "a", "new_string": "b"}),
    ("mcp__x__find_and_replace", {"path": "held.txt", "replacement": "x"}),
    ("mcp__x__strange", {"path": "held.txt", "content": "x"}),
    ("mcp__x__apply_patch", {"patch": PATCH}),
    ("mcp__x__download", {"url": "https://example.org/a", "output_path": "held.txt"}),
    ("mcp__x__format_code", {"file_path": "held.txt"}),
    ("mcp__jetbrains__replace_file_text_by_path", {"pathInProject": "held.txt", "text": "x"}),
    ("mcp__x__save_file", {"FilePath": "held.txt"}),
    ("mcp__x__copy_file", {"src": "free.txt", "dst": "held.txt"}),
    ("mcp__x__rename", {"oldName": "held.txt", "newName": "free.txt"}),
    ("mcp__x__delete", {"target": "held.txt"}),
    ("mcp__x__write_files", {"files": {"free.txt": "x", "held.txt": "y"}}),
    ("mcp__x__apply_workspace_edit", {"edit": {"changes": {"held.txt": []}}}),
    ("mcp__x__str_replace_editor", {"command": "insert", "path": "held.txt"}),
]
LEFT_ALONE: list[tuple[str, dict[str, Any]]] = [
    ("mcp__x__dispatch_read", {"path": "held.txt"}),
    ("mcp__github__create_or_update_file", {"path": "held.txt", "content": "x"}),
    ("mcp__forge__create_or_update_file", {"owner": "o", "repo": "r", "path": "held.txt", "content": "x"}),
    ("mcp__claude_ai_Slack__send_file", {"file": "held.txt", "content": "x"}),
    ("mcp__gitlab-mcp__update_file", {"file_path": "held.txt", "content": "x"}),
    ("mcp__notion__update_page", {"page_id": "1", "content": "x", "path": "held.txt"}),
    ("mcp__playwright__browser_take_screenshot", {"filename": "held.txt"}),
    ("mcp__fs__read_text_file", {"path": "held.txt"}),
    ("mcp__fs__read_multiple_files", {"paths": ["held.txt"]}),
    ("mcp__fs__list_directory", {"path": "deploy"}),
    ("mcp__fs__search_files", {"path": "deploy", "pattern": "x"}),
    ("mcp__fs__get_file_info", {"path": "held.txt"}),
    ("mcp__x__get_edit_history", {"path": "held.txt"}),
    ("mcp__x__lint", {"path": "held.txt"}),
    ("mcp__x__str_replace_editor", {"command": "view", "path": "held.txt"}),
    ("mcp__x__dispatch", {"path": "held.txt"}),
    ("mcp__fs__create_directory", {"path": "deploy"}),
    ("mcp__fs__copy_file", {"source": "held.txt", "destination": "new.txt"}),
    ("mcp__x__write_page", {"uri": "https://example.org/held.txt", "content": "x"}),
    ("mcp__clearway__claim_paths", {"paths": ["held.txt"]}),
    ("mcp__plugin_clearway_clearway__save_attempt_note", {"path": "held.txt", "content": "x"}),
    ("mcp__clearway__update_issue", {"paths": ["held.txt"]}),
]


def read(tool: str, given: dict[str, Any]) -> ToolCall:
    payload = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/repo"}
    return claude.read({**payload, "tool_name": tool, "tool_input": given}, {})


@pytest.mark.parametrize(("tool", "given"), WRITERS)
def test_a_tool_that_writes_names_its_files(tool: str, given: dict[str, Any]) -> None:
    """P25, C17."""
    call = read(tool, given)
    assert (call.kind, call.problem, call.is_strange) == ("mcp", "", False)
    assert {target.path.removeprefix("file:///repo/") for target in call.targets} >= {"held.txt"}


@pytest.mark.parametrize(("tool", "given"), LEFT_ALONE)
def test_readers_and_servers_elsewhere_are_left_alone(tool: str, given: dict[str, Any]) -> None:
    """P26."""
    call = read(tool, given)
    assert (call.kind, call.problem, call.is_strange) == ("mcp", "", False)
    assert "held.txt" not in {target.path for target in call.targets}
    assert "deploy" not in {target.path for target in call.targets}


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("mcp__desktop-commander__start_process", {"command": "rm held.txt", "timeout_ms": 1000}),
        ("mcp__serena__execute_shell_command", {"command": "rm held.txt", "cwd": None}),
        ("mcp__x__run_command", {"cmd": "cd .. && rm held.txt", "workdir": "/repo/src"}),
        ("mcp__terminal__bash", {"commands": "true; rm held.txt"}),
        ("mcp__x__run_shell", {"CommandLine": "rm held.txt"}),
    ],
)
def test_a_tool_that_runs_a_command_here_is_read_like_a_shell(tool: str, given: dict[str, Any], desk: Desk) -> None:
    call = read(tool, given)
    assert (call.kind, call.problem) == ("shell", "")
    assert call.command.endswith("rm held.txt")
    alpha, beta = desk.session("a"), desk.session("b")
    alpha.edits("held.txt")
    assert "PATH_HELD" in beta.before(tool, **{**given, "workdir": "src"} if "workdir" in given else given)


@pytest.mark.parametrize("given", [{"command": ["rm", "held.txt"]}, {"command": "rm", "args": ["held.txt"]}])
def test_an_argument_vector_is_a_command_too(given: dict[str, Any]) -> None:
    assert read("mcp__x__execute", given).command == "'rm' 'held.txt'"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("mcp__ssh__execute_command", {"command": "rm held.txt"}),
        ("mcp__docker__run_command", {"command": "rm held.txt"}),
        ("mcp__x__exec", {"container": "web", "command": "rm held.txt"}),
        ("mcp__x__run_remote_command", {"command": "rm held.txt"}),
        ("mcp__x__exec", {"host": "example.org", "command": "rm held.txt"}),
        ("mcp__x__get_command_help", {"name": "rm held.txt"}),
        ("mcp__db__execute_query", {"query": "rm held.txt"}),
    ],
)
def test_a_command_that_runs_elsewhere_is_nobodys_here(tool: str, given: dict[str, Any], desk: Desk) -> None:
    alpha, beta = desk.session("a"), desk.session("b")
    alpha.edits("held.txt")
    assert read(tool, given).kind == "mcp"
    assert beta.before(tool, **given) == ""


@pytest.mark.parametrize("given", [None, [], "text", 7, {"path": None}, {"path": {"a": 1}}, {"paths": [1, None, []]}])
def test_arguments_of_any_shape_are_no_problem(given: Any) -> None:
    for tool in ("mcp__x__write_file", "mcp__", "mcp____", "mcp__x", "mcp__x__"):
        assert read(tool, given).problem == ""


def test_where_text_moves_is_not_taken_for_a_path() -> None:
    assert [target.path for target in read("mcp__x__replace", {"path": "a.py", "from": "b", "to": "c"}).targets] == [
        "a.py"
    ]
    cell = {"path": "a.ipynb", "source": "print(1)"}
    assert [target.path for target in read("mcp__x__edit_cell", cell).targets] == ["a.ipynb"]


def test_a_tool_that_seems_to_write_and_names_no_file_is_strange() -> None:
    """C17."""
    assert read("mcp__x__write_everything", {"what": "x"}).is_strange
    assert not read("mcp__github__create_issue", {"title": "x"}).is_strange
    payload = {"event": "before", "tool": "saveWorkspace", "input": {"a": 1}}
    assert generic.read(payload, {}).is_strange
    assert not generic.read(payload | {"tool": "TodoWrite"}, {}).is_strange


@pytest.mark.parametrize(("tool", "given"), WRITERS)
def test_what_another_holds_is_refused_to_every_writing_tool(desk: Desk, tool: str, given: dict[str, Any]) -> None:
    """P25, C17."""
    alpha, beta = desk.session("alpha"), desk.session("beta", client="codex")
    assert alpha.edits("held.txt") == ""
    said = beta.before(tool, **_here(desk, given))
    assert said.startswith("PATH_HELD: "), said
    assert "held.txt" in said


@pytest.mark.parametrize(("tool", "given"), [each for each in LEFT_ALONE if "clearway" not in each[0]])
def test_what_another_holds_may_be_read_and_written_elsewhere(desk: Desk, tool: str, given: dict[str, Any]) -> None:
    """P26."""
    alpha, beta = desk.session("alpha"), desk.session("beta", client="codex")
    assert alpha.edits("held.txt") == ""
    assert alpha.edits("deploy/x.sh") == ""
    assert beta.before(tool, **given) == ""


def test_a_free_file_that_such_a_tool_writes_is_held_afterwards(desk: Desk) -> None:
    alpha, beta = desk.session("alpha"), desk.session("beta", client="codex")
    assert alpha.before("mcp__fs__write_file", path="free.txt", content="x") == ""
    assert "free.txt" in beta.edits("free.txt")


def test_a_stranger_is_allowed_and_noted_once(desk: Desk) -> None:
    """C17."""
    beta = desk.session("beta", client="codex")
    for _ in range(2):
        assert beta.before("mcp__x__write_everything", what="x") == ""
    assert strangers.noted(desk.environ["CLEARWAY_HOME"]) == ["codex mcp__x__write_everything"]


def _here(desk: Desk, given: dict[str, Any]) -> dict[str, Any]:
    return {name: f"file://{desk.repo}/held.txt" if name == "uri" else value for name, value in given.items()}
