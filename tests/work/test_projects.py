"""What a caller is told of the project itself."""

from __future__ import annotations

import pytest
from tests.conftest import World

from clearway.lifecycle import STATUSES, TRANSITIONS
from clearway.surfaces.mcp_resources import GUIDES


def test_a_caller_learns_who_it_is_and_what_may_be_asked(world: World) -> None:
    """I5."""
    one, other = world.agent("claude-code", "s1"), world.agent("codex", "s2")
    one.ask("create_issue", title="Parser")
    told = other.ask("get_project")
    assert told["session"] == {"agent": "codex", "session": "s2"}
    assert told["latest_event_id"] == world.events()[-1].id
    assert told["limits"]["list_default"] == 20
    assert told["supported"]["statuses"] == list(STATUSES)
    assert set(told["supported"]["transitions"]) == set(TRANSITIONS)
    assert told["guides"] == [f"clearway://guide/{name}" for name in GUIDES]


def test_a_project_has_a_name_and_asks_something_of_everybody(world: World) -> None:
    """I5."""
    agent = world.agent("planner")

    reply = agent.ask("update_project", name=" Payments ", instructions="Run the suite.\nNo ORM.")

    assert reply["changed_fields"] == ["name", "instructions"]
    assert agent.ask("get_project")["project"] == {
        "id": world.room.project,
        "key": "ISSUE",
        "name": "Payments",
        "has_instructions": True,
    }
    whole = world.agent("codex").ask("get_project", include_instructions=True)["project"]
    assert whole["instructions"] == "Run the suite.\nNo ORM."
    assert agent.ask("update_project", name="Payments")["changed_fields"] == []
    assert agent.ask("update_project", instructions="")["changed_fields"] == ["instructions"]
    assert "has_instructions" not in agent.ask("get_project")["project"]
    assert [event.session for event in world.events("project_updated")] == [agent.caller.session] * 2


def test_issues_are_called_as_the_project_says_and_the_old_name_goes_on(world: World) -> None:
    agent, other = world.agent("planner"), world.agent("codex")
    agent.ask("create_issue", title="ISSUE-1 again", status="ready")
    agent.ask("update_project", key="pay")

    assert agent.ask("create_issue", title="Lexer", status="ready")["display_id"] == "PAY-2"
    for name in ("PAY-1", "pay-1", "ISSUE-1", "1"):
        assert agent.ask("get_issue", issue_id=name)["display_id"] == "PAY-1"
    assert agent.ask("get_issue", issue_id="1")["title"] == "ISSUE-1 again", "what people wrote is theirs"
    agent.ask("manage_issue_relation", source_issue_id="PAY-2", target_issue_id="ISSUE-1")
    refusal = other.refused("claim_issue", issue_id="PAY-1")
    assert refusal.facts["blockers"] == ["PAY-2"]
    assert refusal.message.startswith("PAY-1 waits for PAY-2;")
    assert other.refused("get_issue", issue_id="SHOP-1").code == "ISSUE_NOT_FOUND"
    assert other.ask("list_issues")["items"][0]["display_id"] == "PAY-1"


@pytest.mark.parametrize("key", ["", "4PAY", "PAY-MENT", "PÄY", "X" * 11])
def test_a_key_is_a_short_word(world: World, key: str) -> None:
    refusal = world.agent("planner").refused("update_project", key=key)

    assert refusal.code in ("INVALID_ARGUMENT", "LIMIT_EXCEEDED")
