"""Whom the server takes a client for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.mcp_server.talks import CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE, Machine

from clearway.config import Settings
from clearway.crew import agents
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.surfaces import callers, mcp_callers
from clearway.surfaces.mcp_callers import Connection


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (CLAUDE, "claude-code"),
        (CODEX, "codex"),
        (GEMINI, "gemini"),
        (COPILOT, "copilot"),
        (OPENCODE, "opencode"),
        ("qwen-cli-mcp-client-clearway", "qwen"),
        ("cursor-vscode", "cursor"),
        ("Visual Studio Code", "vscode"),
        ("Cline", "cline"),
        ("codexify", ""),
        ("somebody-new", ""),
    ],
)
def test_a_client_is_known_by_what_it_calls_itself(said: str, name: str) -> None:
    assert mcp_callers.known_name(said) == name


def known(
    alone: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any, *, pid: int | None = 500, **environ: str
) -> Connection:
    """A connection whose client is process 500, on a machine where nothing else runs."""
    monkeypatch.setattr(callers, "client_above", lambda _, parent=None: ("", pid))
    monkeypatch.setattr(
        callers.alive, "ancestors", lambda pid=None: [(700, "python3", "python3 app.py"), (600, "bash", "bash")]
    )
    return Connection(Rooms(Settings({**alone.environ, **environ}), liveness=liveness), str(alone.repo))


@pytest.mark.parametrize(
    ("said", "agent"),
    [
        (CODEX, "codex"),
        ("My Client 2.0!", "My-Client-2.0-"),
        ("human", "human-agent"),
        ("", "agent"),
        ("é" * 500, "agent"),
        ("x" * 500, "x" * 64),
    ],
)
def test_an_unnamed_agent_is_called_after_its_client(
    alone: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any, said: str, agent: str
) -> None:
    assert known(alone, monkeypatch, liveness).caller(said, {}).agent == agent


def test_a_given_name_wins(alone: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any) -> None:
    assert known(alone, monkeypatch, liveness, CLEARWAY_AGENT="anna").caller(CLAUDE, {}).agent == "anna"
    with pytest.raises(Refusal, match="reserved"):
        known(alone, monkeypatch, liveness, CLEARWAY_AGENT="human").caller(CLAUDE, {})


def test_codex_names_session_and_thread_with_each_call(
    alone: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any
) -> None:
    connection = known(alone, monkeypatch, liveness, CLEARWAY_SESSION="given")
    root = connection.caller(CODEX, {"sessionId": "s", "threadId": "s"})
    child = connection.caller(CODEX, {"sessionId": "s", "threadId": "t"})
    assert (root.session, root.thread) == ("s", "")
    assert (child.session, child.thread) == ("s", "t")
    assert root.process is not None and root.process.pid == 500
    assert connection.caller(CLAUDE, {"sessionId": "s"}).session == "given", "that of Codex only"


@pytest.mark.parametrize("bad", [5, None, "", [], {"a": 1}, "a\0b", "line\nbreak"])
def test_malformed_words_about_a_session_are_ignored(
    alone: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any, bad: Any
) -> None:
    connection = known(alone, monkeypatch, liveness)
    meta = {"sessionId": bad, "threadId": bad, "x-codex-turn-metadata": bad}
    caller = connection.caller(CODEX, meta)
    assert caller.session is not None and caller.session.startswith("mcp-")
    assert connection.caller(CODEX, {"x-codex-turn-metadata": {"workspaces": bad}}).cwd == str(alone.repo)
    assert connection.caller(CODEX, {"sessionId": "x" * 9_000}).session == "x" * 256


def test_a_client_s_variable_names_its_session_and_no_other_client_s(
    alone: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any
) -> None:
    """A client that was started in a shell of another one inherits its variables."""
    connection = known(alone, monkeypatch, liveness, CLAUDE_CODE_SESSION_ID="of claude", CLAUDE_PID="900")
    assert connection.caller(CLAUDE, {}).session == "of claude"
    other = connection.caller(OPENCODE, {})
    assert other.session is not None and other.session.startswith("mcp-")
    assert other.process is not None and other.process.pid == 500


def test_what_hooks_told_of_the_process_is_newer_than_its_variables(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any
) -> None:
    connection = known(machine, monkeypatch, liveness, CLAUDE_CODE_SESSION_ID="before clear")
    caller = connection.caller(CLAUDE, {})
    assert caller.session == "before clear", "there is no room yet"
    room = machine.agent().desk._open()[0].of_folder(str(machine.repo))  # pyright: ignore[reportPrivateUsage]
    caller.session = "after clear"
    room.run(agents.begin_session, caller=caller)
    assert connection.caller(CLAUDE, {}).session == "after clear"


def test_the_process_of_a_connection_is_its_client_or_a_parent_that_may_be_it(
    alone: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any
) -> None:
    def pid(connection: Connection) -> int | None:
        process = connection.caller("somebody-new", {}).process
        return process and process.pid

    assert pid(known(alone, monkeypatch, liveness)) == 500
    assert pid(known(alone, monkeypatch, liveness, pid=None)) == 700
    monkeypatch.setattr(callers.alive, "ancestors", lambda pid=None: [(600, "bash", "bash -c clearway mcp")])
    assert pid(Connection(Rooms(Settings(alone.environ), liveness=liveness), str(alone.repo))) is None


def test_codex_works_where_its_turn_says_if_the_server_was_started_elsewhere(
    alone: Machine, monkeypatch: pytest.MonkeyPatch, liveness: Any, tmp_path: Path
) -> None:
    def folder(*spaces: object) -> str:
        meta = {"x-codex-turn-metadata": {"workspaces": {str(space): {} for space in spaces}}}
        return known(alone, monkeypatch, liveness).caller(CODEX, meta).cwd

    other = tmp_path / "other"
    assert folder(other) == str(other)
    assert folder(tmp_path) == str(alone.repo), "we are inside of it"
    assert folder(alone.repo) == str(alone.repo)
    assert folder(other, alone.repo) == str(alone.repo), "which of them, it does not say"
    assert folder("other") == str(alone.repo)


def test_two_connections_of_one_client_are_two_sessions(machine: Machine) -> None:
    """C11."""
    first, second = machine.agent(CLAUDE), machine.agent(CLAUDE)
    first.ask("claim_paths", paths=["src/a.py"])
    assert second.call("claim_paths", paths=["src/a.py"]).is_error
    first.ask("release_paths")
    second.ask("claim_paths", paths=["src/a.py"])
    assert first.ask("room")["me"]["session"] != second.ask("room")["me"]["session"]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_connection_is_one_session_from_call_to_call(machine: Machine, mode: str) -> None:
    agent = machine.agent("somebody-new", mode=mode)
    issue = agent.ask("create_issue", title="One", status="ready")
    claim = agent.ask("claim_issue", issue_id=issue["display_id"])
    assert agent.ask("claim_issue", issue_id=issue["display_id"])["resumed"] is True
    assert agent.ask("room")["me"] == {"agent": "somebody-new", "session": agent.ask("room")["me"]["session"]}
    assert agent.ask("get_issue", issue_id=issue["issue_id"])["attempt"]["attempt_id"] == claim["attempt_id"]


def test_a_repeated_claim_gives_the_token_again_to_its_session_only(machine: Machine) -> None:
    """I34."""
    alpha, beta = machine.agent("alpha"), machine.agent("beta")
    issue = alpha.ask("create_issue", title="One", status="ready")["display_id"]
    asked = {"issue_id": issue, "idempotency_key": "k"}
    claim = alpha.ask("claim_issue", **asked)
    again = alpha.ask("claim_issue", **asked)
    assert (again["attempt_id"], again["lease_token"]) == (claim["attempt_id"], claim["lease_token"])
    assert alpha.refusal("claim_issue", **asked, lease_seconds=60)["code"] == "IDEMPOTENCY_CONFLICT"
    refused = beta.refusal("claim_issue", **asked)
    assert refused["code"] == "ACTIVE_ATTEMPT_EXISTS"
    assert claim["lease_token"] not in json.dumps(refused)
    same_name = machine.agent("alpha").refusal("claim_issue", **asked)
    assert same_name["code"] == "ACTIVE_ATTEMPT_EXISTS", "another session of the same name"
