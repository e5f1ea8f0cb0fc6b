"""GitHub Copilot CLI: what it was recorded to tell becomes a call, and a decision goes back in the dialect asked in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_moments import Desk, desk, team

from clearway.guard.toolcall import ToolCall
from clearway.surfaces import hooks
from clearway.surfaces.clients import copilot
from clearway.surfaces.moments import Decision

__all__ = ["desk", "team"]

PAYLOADS: dict[str, dict[str, Any]] = {
    name: payload
    for name, payload in json.loads((Path(__file__).parent / "payloads.json").read_text()).items()
    if name.startswith("copilot-")
}
ROOT = "5346c1fa-3a2a-4da0-86c9-e2678491076a"
CHILD = "d0c929e7-b227-44a4-9d9c-c3ee92405f80"
GRANDCHILD = "373f2ff5-247b-4288-8fd1-23daa6696ef6"
TRANSCRIPT = f"/home/dev/.copilot/session-state/{ROOT}/events.jsonl"
REASON = "PATH_HELD: held.txt is held by codex until 14:08."


def recorded(name: str, **other: Any) -> ToolCall:
    return copilot.read({**PAYLOADS[name], **other}, {})


def answer(call: ToolCall, deny: str = "", context: str = "") -> tuple[str, str, int]:
    return copilot.answer(call, Decision(deny, context))


@pytest.mark.parametrize(
    ("name", "moment", "kind", "said"),
    [
        ("copilot-pretooluse-edit", "before", "edit", ["/repo/app.py"]),
        ("copilot-pretooluse-create", "before", "edit", ["/repo/new.py"]),
        ("copilot-pretooluse-bash", "before", "shell", "echo hi > b.txt"),
        ("copilot-pretooluse-view", "before", "read", []),
        ("copilot-posttooluse-edit", "after", "edit", ["/repo/app.py"]),
        ("copilot-posttooluse-bash", "after", "shell", "echo hi > b.txt"),
        ("copilot-posttoolusefailure", "failed", "edit", ["z.py"]),
        ("copilot-sessionstart", "start", "other", []),
        ("copilot-userpromptsubmitted", "prompt", "other", []),
        ("copilot-agentstop", "stop", "other", []),
        ("copilot-sessionend", "end", "other", []),
        ("copilot-subagentstart", "child_start", "other", []),
        ("copilot-subagentstop", "child_stop", "other", []),
        ("copilot-permissionrequest", "other", "other", []),
        ("copilot-pascal-sessionstart", "start", "other", []),
        ("copilot-pascal-stop", "stop", "other", []),
        ("copilot-pascal-pretooluse-write", "before", "edit", ["/repo/ex2.py"]),
    ],
)
def test_what_was_recorded_is_understood(name: str, moment: str, kind: str, said: Any) -> None:
    """A camelCase payload does not say which event it is: its keys do."""
    call = recorded(name)
    assert (call.moment, call.kind, call.problem, call.cwd) == (moment, kind, "", "/repo")
    assert (call.command if kind == "shell" else [target.path for target in call.targets]) == said


def test_a_session_is_the_root_of_its_subagents() -> None:
    root = recorded("copilot-pretooluse-create")
    assert (root.session, root.thread) == (PAYLOADS["copilot-pretooluse-create"]["sessionId"], None)
    own = {"sessionId": CHILD, "agentId": CHILD, "parentAgentId": ROOT}
    child = recorded("copilot-pretooluse-create", **own)
    assert (child.session, child.thread) == (ROOT, CHILD)
    # A subagent's subagent names its parent; its transcript, where there is one, is the root's.
    own = {"sessionId": "be340427", "agentId": GRANDCHILD, "parentAgentId": CHILD, "transcriptPath": TRANSCRIPT}
    grandchild = recorded("copilot-subagentstart", **own)
    assert (grandchild.session, grandchild.thread) == (ROOT, GRANDCHILD)


def test_what_a_parent_says_to_its_subagent_begins_no_turn() -> None:
    own = {"sessionId": CHILD, "agentId": CHILD, "parentAgentId": ROOT}
    assert recorded("copilot-userpromptsubmitted", **own).moment == "other"


@pytest.mark.parametrize(
    ("told", "status", "task"),
    [
        ("\n<shellId: 0 completed with exit code 0>", 0, ""),
        ("<shellId: 1 completed with exit code 9>\n<shellId: 0 completed with exit code 3>", 3, ""),
        ("<command started in background with shellId: 2>", None, "2"),
        ("still running", None, ""),
    ],
)
def test_how_a_command_ended_is_known(told: str, status: int | None, task: str) -> None:
    call = recorded("copilot-posttooluse-bash", toolResult={"resultType": "success", "textResultForLlm": told})
    assert (call.status, call.task) == (status, task)


@pytest.mark.parametrize(
    ("tool", "name", "kind"),
    [
        ("clearway-claim_paths", "mcp__clearway__claim_paths", "mcp"),
        ("spy-ping", "mcp__spy__ping", "mcp"),
        ("read_bash", "read_bash", "read"),
    ],
)
def test_a_tool_of_a_server_has_one_name_for_all_clients(tool: str, name: str, kind: str) -> None:
    call = recorded("copilot-pretooluse-view", toolName=tool, toolArgs={})
    assert (call.tool, call.kind) == (name, kind)


# Answers.


def test_a_denial_is_flat_for_camel_case_and_nested_for_pascal_case() -> None:
    """Each form is ignored where the other is expected."""
    out, err, code = answer(recorded("copilot-pretooluse-edit"), deny=REASON)
    assert json.loads(out) == {"permissionDecision": "deny", "permissionDecisionReason": REASON}
    assert (err, code) == ("", 0)
    out, err, code = answer(recorded("copilot-pascal-pretooluse-write"), deny=REASON)
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": REASON}
    assert json.loads(out) == {"hookSpecificOutput": said}
    assert (err, code) == ("", 0)


@pytest.mark.parametrize("name", [name for name in PAYLOADS if "pretooluse" not in name])
def test_nothing_but_a_call_is_denied(name: str) -> None:
    """Any exit status but 0 denies here, and at the end of a turn makes a loop."""
    assert answer(recorded(name), deny=REASON) == ("", f"{REASON}\n", 0)


@pytest.mark.parametrize(
    "name",
    [
        "copilot-sessionstart",
        "copilot-userpromptsubmitted",
        "copilot-posttooluse-edit",
        "copilot-subagentstart",
    ],
)
def test_context_is_flat(name: str) -> None:
    out, err, code = answer(recorded(name), context="news")
    assert (json.loads(out), err, code) == ({"additionalContext": "news"}, "", 0)


@pytest.mark.parametrize("name", PAYLOADS)
def test_an_allow_is_silent(name: str) -> None:
    assert answer(recorded(name)) == ("", "", 0)


# In a room.


@pytest.fixture(params=["desk", "team"], ids=["file", "server"])
def place(request: pytest.FixtureRequest) -> Desk:
    """A machine whose room is a file, or stands on a server."""
    return request.getfixturevalue(request.param)


def test_a_subagents_subagent_works_under_the_leases_of_the_session(
    place: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names only who began it; the session is the one that its process runs. Semantics 1."""
    process = place.process()
    monkeypatch.setattr("clearway.surfaces.callers._client_pid", lambda *_: process)

    def tell(name: str, **other: Any) -> str:
        payload = {**PAYLOADS[name], "cwd": str(place.repo), **other}
        out, err, code = hooks.answer("copilot", json.dumps(payload).encode(), place.environ)
        assert (err, code) == ("", 0)
        return json.loads(out).get("permissionDecisionReason", "") if out else ""

    def edits(path: str, **who: Any) -> str:
        given = {"path": str(place.repo / path), "old_str": "a", "new_str": "b"}
        return tell("copilot-pretooluse-edit", toolArgs=given, **who)

    tell("copilot-sessionstart", sessionId=ROOT)
    tell("copilot-userpromptsubmitted", sessionId=ROOT)
    assert not edits("root.txt", sessionId=ROOT)
    deep = {"sessionId": GRANDCHILD, "agentId": GRANDCHILD, "parentAgentId": CHILD}
    assert not edits("deep.txt", **deep)
    assert not edits("root.txt", **deep)
    tell("copilot-userpromptsubmitted", **deep)
    held = {lease["path"]: lease["session"] for lease in place.human("room")["paths"]}
    assert held == {"root.txt": ROOT, "deep.txt": ROOT}
    tell("copilot-agentstop", **deep, transcriptPath=TRANSCRIPT)
    assert [lease["path"] for lease in place.human("room")["paths"]] == ["root.txt"]
    tell("copilot-agentstop", sessionId=ROOT)
    assert not place.human("room")["paths"]
