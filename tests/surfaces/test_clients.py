"""Adapters: every client's payload becomes one ToolCall, every decision goes back in that client's own dialect."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearway.guard.toolcall import ToolCall
from clearway.surfaces.clients import claude, codex, generic

ADAPTERS = {"claude": claude, "codex": codex, "generic": generic}
PATCH = """*** Begin Patch
*** Update File: app.py
*** Move to: moved.py
@@
-a
+b
*** Delete File: old.py
*** End Patch
"""
PATCHED = [("app.py", "move"), ("moved.py", "create"), ("old.py", "delete")]


def of_claude(event: str, **more: Any) -> dict[str, Any]:
    return {
        "session_id": "e2adf6cc-96c7",
        "transcript_path": "/home/dev/.claude/projects/-repo/e2adf6cc-96c7.jsonl",
        "cwd": "/repo",
        "permission_mode": "acceptEdits",
        "hook_event_name": event,
        **more,
    }


def of_codex(event: str, **more: Any) -> dict[str, Any]:
    return {
        "session_id": "01a22b86-a250",
        "turn_id": "01a22b86-a268",
        "transcript_path": "/home/dev/.codex/sessions/rollout.jsonl",
        "cwd": "/repo",
        "hook_event_name": event,
        "model": "gpt-5.5",
        "permission_mode": "bypassPermissions",
        **more,
    }


def uses(tool: Any, given: Any, event: str = "PreToolUse") -> dict[str, Any]:
    return of_claude(event, tool_name=tool, tool_input=given, tool_use_id="toolu_1")


def files(call: ToolCall) -> list[tuple[str, str]]:
    assert call.problem == ""
    return [(target.path, target.action) for target in call.targets]


def read(payload: dict[str, Any], client: str = "claude", environ: dict[str, str] | None = None) -> ToolCall:
    return ADAPTERS[client].read(payload, environ or {})


# Moments.


@pytest.mark.parametrize(
    ("event", "moment"),
    [
        ("PreToolUse", "before"),
        ("PostToolUse", "after"),
        ("PostToolUseFailure", "failed"),
        ("SessionStart", "start"),
        ("UserPromptSubmit", "prompt"),
        ("Stop", "stop"),
        ("SubagentStart", "child_start"),
        ("SubagentStop", "child_stop"),
        ("PreCompact", "compact"),
        ("SessionEnd", "end"),
        ("Interrupt", "interrupt"),
        ("PostToolBatch", "other"),
        ("CwdChanged", "other"),
        ("AnythingNew", "other"),
    ],
)
@pytest.mark.parametrize("client", ADAPTERS)
def test_an_event_is_told_by_its_name(client: str, event: str, moment: str) -> None:
    call = read(of_claude(event, tool_name="Bash", tool_input={"command": "ls"}), client)
    assert (call.moment, call.problem) == (moment, "")


@pytest.mark.parametrize(
    ("event", "moment"),
    [("before", "before"), ("after", "after"), ("failed", "failed"), ("start", "start"), ("prompt", "prompt")]
    + [
        ("stop", "stop"),
        ("end", "end"),
        ("child_start", "child_start"),
        ("child_stop", "child_stop"),
        ("idle", "idle"),
    ],
)
def test_our_own_payload_has_words_of_its_own(event: str, moment: str) -> None:
    payload = {"event": event, "agent": "alpha", "session": "s1", "thread": "t1", "cwd": "/repo", "call": "c1"}
    call = read({**payload, "tool": "Edit", "input": {"file_path": "a.py"}, "pid": 4711}, "generic")
    assert (call.moment, call.agent, call.session, call.thread) == (moment, "alpha", "s1", "t1")
    assert (call.cwd, call.call, call.pid, call.problem) == ("/repo", "c1", 4711, "")


def test_only_a_notice_of_waiting_is_an_idle_moment() -> None:
    assert read(of_claude("Notification", notification_type="idle_prompt")).moment == "idle"
    assert read(of_claude("Notification", notification_type="permission_prompt")).moment == "other"


def test_a_tool_without_an_event_is_the_question_before_its_call() -> None:
    payload = {"toolName": "Edit", "toolInput": {"filePath": "held.txt"}}
    assert read(payload, "generic").moment == "before"
    assert read({**payload, "toolResult": {}}, "generic").moment == "after"


# Who and where.


def test_claude_is_known_by_its_session_its_subagent_and_its_process() -> None:
    payload = of_claude("PreToolUse", agent_id="a187", tool_name="Write", tool_input={"file_path": "/repo/a.py"})
    call = read({**payload, "tool_use_id": "toolu_37"}, environ={"CLAUDE_PID": "12048"})
    assert (call.client, call.session, call.thread, call.call) == ("claude", "e2adf6cc-96c7", "a187", "toolu_37")
    assert (call.cwd, call.pid, call.raw) == ("/repo", 12048, {**payload, "tool_use_id": "toolu_37"})


def test_codex_is_known_by_its_root_session_and_the_thread_of_a_subagent() -> None:
    call = read(of_codex("PreToolUse", agent_id="01a22b8d", tool_name="Bash", tool_input={"command": "ls"}), "codex")
    assert (call.client, call.session, call.thread, call.pid) == ("codex", "01a22b86-a250", "01a22b8d", None)


def test_a_payload_without_a_session_takes_that_of_the_environment() -> None:
    assert read({"hook_event_name": "Stop"}, environ={"CLAUDE_CODE_SESSION_ID": "s1"}).session == "s1"
    assert read({"hook_event_name": "Stop"}, "codex", {"CODEX_THREAD_ID": "s2"}).session == "s2"
    assert read({"hook_event_name": "Stop"}).session is None


def test_a_script_may_name_its_process_in_the_environment() -> None:
    assert read({"event": "start"}, "generic", {"CLEARWAY_PID": "4711"}).pid == 4711
    assert read({"event": "start", "pid": "4712"}, "generic", {"CLEARWAY_PID": "4711"}).pid == 4712


@pytest.mark.parametrize("value", [0, -1, True, 2**40, 1.5, "x", "", None, [], "9" * 99])
def test_what_is_no_process_id_is_none(value: Any) -> None:
    assert read({"event": "start", "pid": value}, "generic", {"CLEARWAY_PID": str(value)}).pid is None


@pytest.mark.parametrize(
    ("payload", "source"),
    [
        (of_claude("SessionStart", source="resume"), "resume"),
        (of_claude("SessionEnd", reason="clear"), "clear"),
        (of_claude("PreCompact", trigger="auto"), "auto"),
        (of_claude("Stop"), ""),
    ],
)
def test_how_a_session_begins_and_ends_is_kept(payload: dict[str, Any], source: str) -> None:
    assert read(payload).source == source
    assert read(payload, "codex").source == source


def test_a_prompt_is_kept() -> None:
    assert read(of_claude("UserPromptSubmit", prompt="do it")).prompt == "do it"


# File tools.


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"file_path": "/repo/held.txt", "old_string": "a", "new_string": "b"}),
        ("Write", {"file_path": "/repo/held.txt", "content": "x"}),
        ("MultiEdit", {"file_path": "/repo/held.txt", "edits": [{"old_string": "a", "new_string": "b"}]}),
        ("NotebookEdit", {"notebook_path": "/repo/held.txt", "new_source": "x"}),
        ("edit_file", {"target_file": "/repo/held.txt", "code_edit": "x"}),
        ("write_file", {"file_path": "/repo/held.txt", "content": "x"}),
        ("replace_string_in_file", {"filePath": "/repo/held.txt", "oldString": "a", "newString": "b"}),
        ("strange", {"path": "/repo/held.txt", "content": "x"}),
    ],
)
def test_an_edit_names_its_file(tool: str, given: dict[str, Any]) -> None:
    """P19."""
    for client, adapter in ADAPTERS.items():
        call = adapter.read(uses(tool, given), {})
        assert (call.kind, files(call)) == ("edit", [("/repo/held.txt", "edit")]), client


def test_keys_may_be_spelt_in_camel_case() -> None:
    """P19."""
    payload = {
        "hookEventName": "PreToolUse",
        "toolName": "Write",
        "toolInput": {"filePath": "held.txt"},
        "sessionId": "s1",
    }
    call = read(payload, "generic")
    assert (call.session, call.kind, files(call)) == ("s1", "edit", [("held.txt", "edit")])


@pytest.mark.parametrize(
    ("tool", "given", "named"),
    [
        ("editFiles", {"files": ["src/a.py", "src/b.py"]}, [("src/a.py", "edit"), ("src/b.py", "edit")]),
        (
            "edit_file",
            {"edits": [{"path": "src/a.py"}, {"filePath": "b.py"}]},
            [("src/a.py", "edit"), ("b.py", "edit")],
        ),
        ("multi_replace_string_in_file", {"replacements": [{"filePath": "a.py"}]}, [("a.py", "edit")]),
        ("create_file", {"filePath": "a.py", "content": "x"}, [("a.py", "create")]),
        ("createFile", {"path": "a.py"}, [("a.py", "create")]),
        ("deleteFile", {"path": "a.py"}, [("a.py", "delete")]),
        ("renameFile", {"old_path": "a.py", "new_path": "b.py"}, [("a.py", "move"), ("b.py", "create")]),
        ("editFiles", {"files": [{"uri": {"path": "/repo/a.py"}}]}, [("/repo/a.py", "edit")]),
        ("editFiles", {"paths": "a.py"}, [("a.py", "edit")]),
        ("editFiles", ["a.py"], [("a.py", "edit")]),
        ("write_to_file", {"TargetFile": "a.py", "CodeContent": "x"}, [("a.py", "edit")]),
        ("saveFile", {"filepath": "a.py"}, [("a.py", "edit")]),
        ("text_editor", {"command": "str_replace", "path": "a.py"}, [("a.py", "edit")]),
    ],
)
def test_tools_of_other_shapes_name_their_files(tool: str, given: Any, named: list[tuple[str, str]]) -> None:
    """C17."""
    call = read(uses(tool, given))
    assert (call.kind, files(call)) == ("edit", named)


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("Read", "read"), ("Grep", "read"), ("listFiles", "read"), ("view", "read"), ("get_errors", "read"),
        ("Agent", "agent"), ("Task", "agent"), ("spawn_agent", "agent"), ("runSubagent", "agent"),
        ("mcp__clearway__claim_paths", "mcp"), ("mcp__github__create_file", "mcp"),
        ("TodoWrite", "other"), ("Skill", "other"), ("update_plan", "other"), ("createIssue", "other"),
    ],
)  # fmt: skip
def test_tools_that_edit_nothing_have_no_targets(tool: str, kind: str) -> None:
    given = {"path": "held.txt", "prompt": "x"} if kind in {"read", "mcp", "agent"} else {"text": "x"}
    call = read(uses(tool, given))
    assert (call.kind, call.targets, call.command, call.problem) == (kind, [], "", "")


@pytest.mark.parametrize("tool", ["str_replace_editor", "str_replace_based_edit_tool", "text_editor"])
def test_an_editor_that_shows_a_file_only_reads_it(tool: str) -> None:
    call = read(uses(tool, {"command": "view", "path": "held.txt"}))
    assert (call.kind, call.targets, call.command, call.problem) == ("read", [], "", "")


def test_what_is_typed_into_a_running_command_is_read_as_one() -> None:
    call = read(uses("write_stdin", {"session_id": 1, "chars": "rm held.txt\n"}), "codex")
    assert (call.kind, call.command, call.problem) == ("shell", "rm held.txt\n", "")
    call = read(uses("write_stdin", {"session_id": 1, "chars": ""}), "codex")
    assert (call.kind, call.command, call.problem) == ("shell", "", "")


def test_a_command_of_the_client_is_no_command_of_a_shell() -> None:
    assert read(uses("SlashCommand", {"command": "/rm held.txt"})).kind == "other"


def test_a_hook_that_runs_inside_vs_code_knows_its_tools() -> None:
    payload = {"timestamp": "2026-11-30T08:00:00Z", "cwd": "/repo", "sessionId": "s1", "hookEventName": "PreToolUse"}
    call = read(
        {**payload, "tool_name": "run_in_terminal", "tool_input": {"command": "echo > f"}}, environ={"CLAUDE_PID": "1"}
    )
    assert (call.client, call.session, call.pid) == ("vscode", "s1", None)
    assert (call.kind, call.command) == ("shell", "echo > f")
    call = read({**payload, "tool_name": "editFiles", "tool_input": {"files": ["src/main.ts"]}})
    assert (call.client, files(call)) == ("vscode", [("src/main.ts", "edit")])


def test_a_hook_that_runs_inside_cursor_is_not_claude() -> None:
    call = read({**uses("Write", {"file_path": "a.py"}), "cursor_version": "3.9"}, environ={"CLAUDE_PID": "1"})
    assert (call.client, call.pid, files(call)) == ("cursor", None, [("a.py", "edit")])


# Patches.


@pytest.mark.parametrize(
    "given",
    [
        {"command": PATCH},
        {"input": PATCH},
        {"patch": PATCH},
        {"patchText": PATCH},
        {"command": PATCH.replace("\n", "\r\n")},
        {"command": ["apply_patch", PATCH]},
        {"command": ["apply_patch", f"<<'EOF'\n{PATCH}EOF\n"]},
        PATCH,
        ["apply_patch", PATCH],
        json.dumps({"input": PATCH}),
    ],
)
@pytest.mark.parametrize("client", ADAPTERS)
def test_a_patch_tool_names_its_files_in_every_form(client: str, given: Any) -> None:
    """P20."""
    call = read(of_codex("PreToolUse", tool_name="apply_patch", tool_input=given, tool_use_id="call_f7"), client)
    assert (call.kind, files(call), call.call) == ("edit", PATCHED, "call_f7")


def test_a_patch_as_an_argument_vector_of_the_shell_is_a_patch() -> None:
    """P20, C16."""
    given = {"command": ["apply_patch", PATCH]}
    call = read(of_codex("PreToolUse", tool_name="shell", tool_input=given), "codex")
    assert (call.kind, files(call), call.command) == ("edit", PATCHED, "")


def test_a_diff_that_deletes_names_its_file() -> None:
    """P23."""
    diff = "--- a/held.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert files(read(uses("apply_patch", {"input": diff}), "codex")) == [("held.txt", "delete")]


# Commands.


@pytest.mark.parametrize(
    ("tool", "given", "command"),
    [
        ("Bash", {"command": "echo hi > b.txt", "description": "write b"}, "echo hi > b.txt"),
        ("PowerShell", {"command": "ls > b.txt"}, "ls > b.txt"),
        ("run_shell_command", {"command": "ls"}, "ls"),
        ("runTerminalCommand", {"command": "ls"}, "ls"),
        ("exec_command", {"cmd": "ls"}, "ls"),
        ("Monitor", {"command": "tail -f log"}, "tail -f log"),
        ("run_commands", {"commands": ["ls", "echo > f"]}, "ls\necho > f"),
        ("shell", {"command": ["bash", "-lc", "echo > f"]}, "echo > f"),
        ("shell", {"command": ["/bin/zsh", "-c", "echo > f"]}, "echo > f"),
        ("shell", {"command": ["pwsh", "-NoProfile", "-Command", "ls > f"]}, "ls > f"),
        ("shell", {"command": ["tee", "a b", "it's"]}, "'tee' 'a b' 'it'\\''s'"),
        ("Bash", "echo > f", "echo > f"),
        ("Bash", ["bash", "-lc", "echo > f"], "echo > f"),
        ("Bash", json.dumps({"command": "echo > f"}), "echo > f"),
    ],
)
@pytest.mark.parametrize("client", ADAPTERS)
def test_a_shell_tool_gives_its_command_line(client: str, tool: str, given: Any, command: str) -> None:
    call = read(uses(tool, given), client)
    assert (call.kind, call.command, call.targets, call.problem) == ("shell", command, [], "")


# What cannot be read.


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ([], "the payload is a list, not an object"),
        ({}, "hook_event_name is missing"),
        ({"hook_event_name": 5}, "hook_event_name is a number, not a text"),
        ({"hook_event_name": "PreToolUse"}, "tool_name is missing"),
        (uses(5, {}), "tool_name is a number, not a text"),
        (uses("Edit", None), "the arguments of Edit are null, not an object"),
        (uses("Edit", 7), "the arguments of Edit are a number, not an object"),
        (uses("Edit", {}), "Edit names no file"),
        (uses("Edit", {"file_path": ""}), "file_path of Edit is an empty text that names no file"),
        (uses("Edit", {"file_path": {"a": 1}}), "file_path of Edit is an object that names no file"),
        (uses("Write", {"file_path": ["x"]}), "file_path of Write is a list that names no file"),
        (uses("Bash", {}), "Bash names no command"),
        (uses("Bash", {"command": {"a": 1}}), "its command is an object"),
        (uses("Bash", {"command": ["ls", 5]}), "its command is a list"),
        (uses("Bash", True), "its command is true"),
        (uses("apply_patch", {"command": "no patch"}), "apply_patch names no file"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(payload: Any, problem: str) -> None:
    call = read(payload)
    assert call.problem == problem
    assert call.moment == "before"  # the only moment at which a guard that fails closed can refuse


def test_what_can_be_read_is_kept_beside_what_cannot() -> None:
    call = read({**uses("Bash", {"command": 5}), "cwd": 7, "agent_id": ["x"]})
    assert (call.session, call.tool, call.kind, call.call) == ("e2adf6cc-96c7", "Bash", "shell", "toolu_1")
    assert (call.cwd, call.thread) == (None, None)


def test_a_tool_whose_name_cannot_be_read_is_known_by_its_arguments() -> None:
    assert files(read(uses(["Edit"], {"file_path": "held.txt", "new_string": "x"}))) == [("held.txt", "edit")]
    assert read(uses(None, {"command": "echo > held.txt"})).command == "echo > held.txt"


@pytest.mark.parametrize(
    "path", ["a\0b", "x" * 5_000, "../" * 2_000, "file:///repo/a.py", "~/a.py", " ", "\udcff", "a\nb"]
)
def test_an_odd_path_is_handed_on_as_it_is(path: str) -> None:
    assert files(read(uses("Edit", {"file_path": path}))) == [(path, "edit")]


KEYS = st.sampled_from(
    ["hook_event_name", "hookEventName", "event", "tool_name", "toolName", "tool", "tool_input", "toolInput", "input",
     "file_path", "path", "files", "edits", "command", "commands", "session_id", "cwd", "pid", "agent_id", "uri"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["PreToolUse", "PostToolUse", "Stop", "Edit", "Bash", "apply_patch", "editFiles", "mcp__x__y", PATCH]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=8), st.sampled_from(sorted(ADAPTERS)), st.booleans(), st.booleans())
def test_whatever_a_client_sends_is_read_and_answered(
    payload: dict[str, Any], client: str, deny: bool, add: bool
) -> None:
    call = read(payload, client)
    decision = SimpleNamespace(deny="no" if deny else "", context="note" if add else None)
    out, _, code = ADAPTERS[client].answer(call, decision)
    assert code in {0, 2}
    assert code == 0 or (client == "generic" and call.moment == "before")
    if client != "generic" and out:
        assert json.loads(out)["hookSpecificOutput"].keys() - {"hookEventName"}


# Answers.


def answer(client: str, event: str, *, deny: str | None = None, context: str | None = None) -> tuple[str, str, int]:
    call = read(of_claude(event, tool_name="Bash", tool_input={"command": "ls"}), client)
    return ADAPTERS[client].answer(call, SimpleNamespace(deny=deny, context=context))


EVENTS = ["PreToolUse", "PostToolUse", "SessionStart", "UserPromptSubmit", "SubagentStart", "Stop", "SubagentStop"]
EVENTS += ["SessionEnd", "PreCompact", "Interrupt", "AnythingNew"]


@pytest.mark.parametrize("nothing", [None, ""])
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("client", ADAPTERS)
def test_an_allow_is_silent(client: str, event: str, nothing: str | None) -> None:
    assert answer(client, event, deny=nothing, context=nothing) == ("", "", 0)


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_denial_is_json_with_exit_zero(client: str) -> None:
    out, err, code = answer(client, "PreToolUse", deny="held.txt is held by alpha")
    assert json.loads(out) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "held.txt is held by alpha",
        }
    }
    assert (err, code) == ("", 0)


def test_a_denial_of_a_generic_client_is_exit_two_with_the_reason() -> None:
    assert answer("generic", "PreToolUse", deny="no", context="note") == ("note\n", "no\n", 2)


@pytest.mark.parametrize("event", EVENTS[1:])
@pytest.mark.parametrize("client", ADAPTERS)
def test_nothing_but_a_coming_call_can_be_denied(client: str, event: str) -> None:
    """Clients loop on a denial at the end of a turn."""
    assert answer(client, event, deny="no") == ("", "no\n", 0)


@pytest.mark.parametrize(
    ("client", "events"),
    [
        (
            "claude",
            {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart"},
        ),
        ("codex", {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}),
    ],
)
def test_context_is_given_where_the_client_takes_it(client: str, events: set[str]) -> None:
    for event in [*EVENTS, "PostToolUseFailure"]:
        out, err, code = answer(client, event, context='two\nlines and "quotes"')
        assert (err, code) == ("", 0)
        if event in events:
            said = {"hookEventName": event, "additionalContext": 'two\nlines and "quotes"'}
            assert json.loads(out) == {"hookSpecificOutput": said}
        else:
            assert out == ""


def test_context_of_a_generic_client_is_plain_text() -> None:
    assert answer("generic", "SessionStart", context="alpha is here") == ("alpha is here\n", "", 0)


def codex_schema(event: str) -> dict[str, Any]:
    """What Codex 0.171 accepts on this event: exactly these keys, or the whole answer is void."""
    text = {"type": "string"}
    own: dict[str, Any] = {"hookEventName": {"const": event}, "additionalContext": text}
    if event == "PreToolUse":
        own |= {
            "permissionDecision": {"enum": ["allow", "deny", "ask"]},
            "permissionDecisionReason": text,
            "updatedInput": {},
        }
    universal = {
        "continue": {"type": "boolean"},
        "stopReason": text,
        "suppressOutput": {"type": "boolean"},
        "systemMessage": text,
    }
    specific = {"type": "object", "properties": own, "required": ["hookEventName"], "additionalProperties": False}
    return {
        "type": "object",
        "properties": {**universal, "hookSpecificOutput": specific},
        "additionalProperties": False,
    }


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "SessionStart", "UserPromptSubmit", "SubagentStart"])
@pytest.mark.parametrize("deny", [None, "no"])
def test_codex_is_answered_with_the_keys_of_its_schema(event: str, deny: str | None) -> None:
    out, _, _ = answer("codex", event, deny=deny, context="note")
    jsonschema.validate(json.loads(out), codex_schema(event))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(out), "extra": 1}, codex_schema(event))


def test_a_denial_may_bring_context_along() -> None:
    said = json.loads(answer("codex", "PreToolUse", deny="no", context="note")[0])["hookSpecificOutput"]
    assert (said["permissionDecision"], said["additionalContext"]) == ("deny", "note")
