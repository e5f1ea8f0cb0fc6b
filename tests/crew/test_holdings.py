"""What is held in all checkouts, and what is said in a room, as a person reads it without leaving a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Agent, World, git

from clearway.config import Caller


@pytest.fixture
def human(world: World) -> Agent:
    return Agent(world, Caller("human", cwd=str(world.repo), host=world.liveness.host, human=True))


@pytest.fixture
def claude(world: World) -> Agent:
    return world.agent("claude")


def held(agent: Agent) -> list[dict[str, Any]]:
    return agent.ask("get_holdings")["paths"]


def test_a_held_path_says_by_whom_what_for_and_until_when(world: World, claude: Agent, human: Agent) -> None:
    claude.ask("create_issue", title="One", status="ready")
    claude.ask("claim_issue", issue_id="ISSUE-1")
    granted = claude.ask("claim_paths", paths=["src/a.py"], purpose="auth")["granted"][0]
    found = human.ask("get_holdings")
    shown = found["paths"][0]
    assert {name: shown[name] for name in ("path", "agent", "mode", "purpose", "issue", "until")} == {
        "path": "src/a.py",
        "agent": "claude",
        "mode": "edit",
        "purpose": "auth",
        "issue": "ISSUE-1",
        "until": granted["expires_at"],
    }
    assert [each["checkout"] for each in found["checkouts"]] == [shown["checkout"]]
    assert found["checkouts"][0]["root"] == str(world.repo)


def test_what_lapsed_is_not_held(world: World, claude: Agent, human: Agent) -> None:
    claude.ask("claim_paths", paths=["src/a.py"], ttl_seconds=60)
    claude.dies()
    world.clock.forward(minutes=2)
    assert held(human) == []


def test_the_same_path_in_two_checkouts_is_marked_in_both(
    world: World, claude: Agent, human: Agent, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    git(world.repo, "worktree", "add", "-q", "-b", "other", str(tree))
    claude.ask("claim_paths", paths=["src/a.py", "held.txt"])
    codex = world.agent("codex")
    codex.caller.cwd = str(tree)
    codex.ask("claim_paths", paths=["src"])
    marks = {(each["agent"], each["path"]): each.get("elsewhere", 0) for each in held(human)}
    assert marks == {("claude", "src/a.py"): 1, ("claude", "held.txt"): 0, ("codex", "src"): 1}


def test_only_the_person_reads_what_others_say(world: World, claude: Agent, human: Agent) -> None:
    claude.ask("send_message", to="codex", text="leave src/a.py alone")
    assert claude.refused("list_messages").code == "FORBIDDEN"
    found = human.ask("list_messages")["items"]
    assert [(each["from"], each["to"], each["text"], each["state"]) for each in found] == [
        ("claude", "codex", "leave src/a.py alone", "queued")
    ]
    assert human.ask("list_messages")["items"][0]["state"] == "queued"  # looking leaves no receipt


def test_messages_come_by_page_agent_and_issue(world: World, claude: Agent, human: Agent) -> None:
    claude.ask("create_issue", title="One")
    for number in range(5):
        claude.ask("send_message", to="codex", text=f"{number}", **({"issue_id": "ISSUE-1"} if number == 2 else {}))
    world.agent("gemini").ask("send_message", to="qwen", text="elsewhere")
    page = human.ask("list_messages", agent="claude", limit=3)
    assert [each["text"] for each in page["items"]] == ["4", "3", "2"] and page["has_more"]
    rest = human.ask("list_messages", agent="claude", before=page["before"])
    assert [each["text"] for each in rest["items"]] == ["1", "0"] and not rest["has_more"]
    assert [each["text"] for each in human.ask("list_messages", issue_id="issue-1")["items"]] == ["2"]
