"""What was decided, what takes its place, and who is told."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.conftest import World
from tests.work.test_attempts import ready_issue

from clearway.errors import Refusal


def decide(world: World, title: str = "Use SQLite", **more: Any) -> str:
    return world.agent("planner").ask("record_decision", title=title, summary=f"{title}.", **more)["decision_id"]


def test_decisions_are_listed_newest_first_for_the_project_or_for_one_issue(world: World) -> None:
    """I49."""
    ready_issue(world)
    agent = world.agent("claude-code")
    decide(world, "Use SQLite", content="One file.")
    decide(world, "Use LL(1)", issue_id="ISSUE-1")
    decide(world, "No ORM", status="rejected")

    project = agent.ask("list_decisions")
    of_issue = agent.ask("list_decisions", issue_id="issue-1")

    assert [item["title"] for item in project["items"]] == ["No ORM", "Use SQLite"]
    assert project["items"][1]["content"] == "One file."
    assert [item["title"] for item in of_issue["items"]] == ["Use LL(1)"]
    assert [item["title"] for item in agent.ask("list_decisions", status="active")["items"]] == ["Use SQLite"]
    page = agent.ask("list_decisions", limit=1)
    assert page["has_more"] and [
        item["title"] for item in agent.ask("list_decisions", limit=1, cursor=page["next_cursor"])["items"]
    ] == ["Use SQLite"]


def test_a_decision_takes_the_place_of_another_at_once(world: World) -> None:
    """I50."""
    old = decide(world)
    reply = world.agent("codex").ask(
        "record_decision", title="Use PostgreSQL", summary="It grew.", supersedes_id=old.lower()
    )

    assert reply["superseded_decision_id"] == old
    listed = world.agent("codex").ask("list_decisions")["items"]
    assert [(item["status"], item.get("supersedes_id")) for item in listed] == [("active", old), ("superseded", None)]
    assert len(world.events("decision_recorded")) == 2


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"issue_id": "ISSUE-1"}, "SCOPE_MISMATCH"),
        ({"supersedes_id": "NONE"}, "NOT_FOUND"),
        ({"status": "rejected"}, "FORBIDDEN"),
        ({"again": True}, "NOT_ACTIVE"),
    ],
)
def test_a_decision_replaces_an_active_one_of_its_own_scope_only(
    world: World, given: dict[str, Any], code: str
) -> None:
    """I50."""
    ready_issue(world)
    old = decide(world)
    given = dict(given)
    if given.pop("again", False):
        decide(world, "Use PostgreSQL", supersedes_id=old)
    count = len(world.events())

    refusal = world.agent("codex").refused(
        "record_decision", **{"title": "x", "summary": "y", "supersedes_id": old, **given}
    )

    assert (refusal.code, refusal.retryable) == ("INVALID_ARGUMENT", False)
    assert [(detail["field"], detail["code"]) for detail in refusal.details] == [("supersedes_id", code)]
    assert len(world.events()) == count


def test_of_two_decisions_that_replace_one_the_first_stands(world: World) -> None:
    """I50."""
    old = decide(world)
    said: list[str] = []

    def replace(name: str) -> None:
        try:
            world.agent(name, own_room=True).ask("record_decision", title=name, summary=name, supersedes_id=old)
            said.append("recorded")
        except Refusal as refusal:
            said.append(refusal.code)

    threads = [threading.Thread(target=replace, args=(f"agent-{place}",)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(said) == ["INVALID_ARGUMENT"] * 3 + ["recorded"]


def test_nothing_is_decided_for_an_archived_issue(world: World) -> None:
    """I50."""
    ready_issue(world)
    agent = world.agent("codex")
    agent.ask("archive_issue", issue_id="ISSUE-1", expected_version=1)

    refusal = agent.refused("record_decision", title="x", summary="y", issue_id="ISSUE-1")

    assert refusal.code == "ISSUE_ARCHIVED"


def test_a_context_has_what_is_decided_for_the_issue_and_for_the_project(world: World) -> None:
    """I49."""
    ready_issue(world)
    ready_issue(world, "Lexer")
    old = decide(world, content="Reasons " * 50)
    decide(world, "Use LL(1)", issue_id="ISSUE-1")
    decide(world, "Use flex", issue_id="ISSUE-2")
    decide(world, "Use PostgreSQL", supersedes_id=old)
    decide(world, "No ORM", status="rejected")

    decisions = world.agent("codex").ask("claim_issue", issue_id="ISSUE-1")["context"]["decisions"]

    assert [(each["title"], each.get("of")) for each in decisions] == [
        ("Use LL(1)", None),
        ("Use PostgreSQL", "project"),
    ]
    assert "content" not in decisions[0]


def test_a_decision_under_a_key_is_recorded_once(world: World) -> None:
    agent = world.agent("codex")
    said = [agent.ask("record_decision", title="x", summary="y", idempotency_key="k") for _ in range(2)]

    assert said[0] == said[1]
    assert len(world.events("decision_recorded")) == 1
    assert agent.refused("record_decision", title="z", summary="y", idempotency_key="k").code == "IDEMPOTENCY_CONFLICT"
