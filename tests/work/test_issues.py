"""Issues: created, found, read and listed; what a list says and what it leaves out."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.conftest import World

from clearway import wire
from clearway.work import issues


def made(world: World, *titles: str, **more: Any) -> list[str]:
    planner = world.agent("planner")
    return [planner.ask("create_issue", title=title, **more)["display_id"] for title in titles]


def listed(world: World, **filters: Any) -> list[str]:
    return [item["display_id"] for item in world.agent("reader").ask("list_issues", **filters)["items"]]


def test_a_first_issue_is_open_of_medium_priority_and_unlabelled(world: World) -> None:
    """I8."""
    agent = world.agent("claude-code")

    created = agent.ask("create_issue", title="Parser")

    assert created == {"issue_id": created["issue_id"], "display_id": "ISSUE-1", "version": 1, "status": "open"}
    shown = agent.ask("get_issue", issue_id="ISSUE-1")
    assert (shown["status"], shown["priority"], shown["version"], shown["labels"]) == ("open", "medium", 1, [])
    assert agent.ask("create_issue", title="Lexer")["display_id"] == "ISSUE-2"


def test_a_refused_issue_uses_no_number(world: World) -> None:
    """I8."""
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="Parser")

    agent.refused("create_issue", title="Lexer", labels=["new"], create_missing_labels=False)
    agent.refused("create_issue", title="Lexer", parent_issue_id="ISSUE-1")

    assert agent.ask("create_issue", title="Lexer")["display_id"] == "ISSUE-2"
    assert [event.id for event in world.events()] == [1, 2]


def test_twenty_creates_at_once_get_twenty_numbers_in_a_row(world: World) -> None:
    """I8."""
    agents = [world.agent("claude-code", own_room=True) for _ in range(4)]
    numbers: list[str] = []

    def create(agent: Any) -> None:
        numbers.extend(agent.ask("create_issue", title="One of many")["display_id"] for _ in range(5))

    threads = [threading.Thread(target=create, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(numbers, key=lambda name: int(name[6:])) == [f"ISSUE-{number}" for number in range(1, 21)]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"status": "blocked"}, "REQUIRED"),
        ({"status": "ready", "blocked_reason": "no key"}, "FORBIDDEN"),
        ({"blocked_reason": "no key"}, "FORBIDDEN"),
    ],
)
def test_a_reason_goes_with_a_blocked_issue_and_with_no_other(world: World, given: dict[str, str], code: str) -> None:
    """I10."""
    refusal = world.agent("claude-code").refused("create_issue", title="Deploy", **given)

    assert (refusal.code, refusal.retryable) == ("INVALID_ARGUMENT", False)
    assert [(detail["field"], detail["code"]) for detail in refusal.details] == [("blocked_reason", code)]


def test_a_blocked_issue_shows_its_reason(world: World) -> None:
    """I10."""
    made(world, "Deploy", status="blocked", blocked_reason="needs an API key")

    shown = world.agent("reader").ask("get_issue", issue_id="1")

    assert (shown["status"], shown["blocked_reason"], shown["claimable"]) == ("blocked", "needs an API key", False)


def test_only_an_unarchived_epic_is_a_parent_and_an_epic_has_none(world: World) -> None:
    """I11."""
    agent = world.agent("claude-code")
    epic = agent.ask("create_issue", title="Release", type="epic")
    agent.ask("create_issue", title="Parser")  # ISSUE-2, a task
    old = agent.ask("create_issue", title="Old release", type="epic")
    agent.ask("archive_issue", issue_id=old["issue_id"], expected_version=1)

    for parent in ("ISSUE-2", "ISSUE-99", old["display_id"]):
        assert agent.refused("create_issue", title="Lexer", parent_issue_id=parent).code == "INVALID_EPIC_PARENT"
    refusal = agent.refused("create_issue", title="Sub-release", type="epic", parent_issue_id="ISSUE-1")
    assert (refusal.code, refusal.retryable) == ("INVALID_EPIC_PARENT", False)
    assert refusal.message == "An epic has no parent; leave parent_issue_id out."
    for parent in ("ISSUE-1", epic["issue_id"]):
        child = agent.ask("create_issue", title="Lexer", parent_issue_id=parent)
        assert agent.ask("get_issue", issue_id=child["issue_id"])["parent"] == "ISSUE-1"


@pytest.mark.parametrize(("status", "closed"), [("done", True), ("cancelled", True), ("ready", False)])
def test_an_issue_that_is_created_finished_has_a_closing_time(world: World, status: str, *, closed: bool) -> None:
    """I17."""
    made(world, "Imported", status=status)

    assert ("closed_at" in world.agent("reader").ask("get_issue", issue_id="ISSUE-1")) is closed


def test_an_issue_is_found_by_its_number_in_any_spelling_and_by_its_id(world: World) -> None:
    issue = world.agent("planner").ask("create_issue", title="Parser")
    reader = world.agent("reader")

    for reference in ("ISSUE-1", "issue-1", " Issue-1 ", "1", issue["issue_id"], issue["issue_id"].lower()):
        assert reader.ask("get_issue", issue_id=reference)["id"] == issue["issue_id"]
    for reference in ("ISSUE-2", "ISSUE-", "0", "٣", "9" * 30, "no such thing", "PAY-1", "ISSUE-1; DROP TABLE issue"):
        assert reader.refused("get_issue", issue_id=reference).code == "ISSUE_NOT_FOUND"


def test_labels_are_kept_once_whatever_their_case_and_spaces(world: World) -> None:
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="One", labels=["Backend", " UI "])
    agent.ask("create_issue", title="Two", labels=["backend"])

    assert agent.ask("get_issue", issue_id="ISSUE-1")["labels"] == ["Backend", "UI"]
    assert agent.ask("get_issue", issue_id="ISSUE-2")["labels"] == ["Backend"]
    for labels in (["ui", "UI"], ["ui", " ui"]):
        refusal = agent.refused("create_issue", title="Three", labels=labels)
        assert (refusal.code, refusal.details[0]["code"]) == ("INVALID_ARGUMENT", "DUPLICATE")


def test_a_missing_label_can_be_refused_instead_of_made(world: World) -> None:
    refusal = world.agent("claude-code").refused(
        "create_issue", title="Parser", labels=["typo"], create_missing_labels=False
    )

    assert refusal.code == "LABEL_NOT_FOUND"


def test_a_list_is_ordered_by_urgency_and_then_by_number(world: World) -> None:
    agent = world.agent("planner")
    for priority in ("low", "critical", "medium", "high", "critical", "low"):
        agent.ask("create_issue", title="Work", priority=priority)

    assert listed(world) == ["ISSUE-2", "ISSUE-5", "ISSUE-4", "ISSUE-3", "ISSUE-1", "ISSUE-6"]


def test_a_list_is_read_page_by_page_without_gap_or_repeat(world: World) -> None:
    made(world, *(f"Issue {number}" for number in range(7)))
    reader = world.agent("reader")
    seen: list[str] = []
    cursor = None

    for expected in (3, 3, 1):
        page = reader.ask("list_issues", limit=3, cursor=cursor)
        seen += [item["display_id"] for item in page["items"]]
        assert (len(page["items"]), page["has_more"]) == (expected, "next_cursor" in page)
        cursor = page.get("next_cursor")

    assert cursor is None
    assert seen == [f"ISSUE-{number}" for number in range(1, 8)]


@pytest.mark.parametrize(
    "cursor", ["x", "!!!", "eyJ2IjoxfQ", "eyJ2IjoyLCJwcmlvcml0eSI6MSwibnVtYmVyIjoxfQ", "é", "A" * 4_000]
)
def test_a_cursor_that_is_not_of_the_list_is_refused(world: World, cursor: str) -> None:
    refusal = world.agent("reader").refused("list_issues", cursor=cursor)

    assert (refusal.code, refusal.details[0]["code"]) == ("INVALID_ARGUMENT", "MALFORMED_CURSOR")


def test_a_list_is_narrowed_by_every_filter(world: World) -> None:
    agent = world.agent("planner")
    agent.ask("create_issue", title="Release", type="epic", priority="low")  # 1
    agent.ask("create_issue", title="Parser", status="ready", parent_issue_id="1", labels=["core", "ui"])  # 2
    agent.ask("create_issue", title="Crash", type="bug", status="ready", priority="high", labels=["UI"])  # 3
    agent.ask("create_issue", title="Old", status="done")  # 4
    agent.ask("claim_issue", issue_id="3", context=False)
    world.change("UPDATE issue SET archived_wall = 1 WHERE number = 4")

    for filters, expected in (
        ({}, ["ISSUE-3", "ISSUE-2", "ISSUE-1"]),
        ({"statuses": ["ready"]}, ["ISSUE-3", "ISSUE-2"]),
        ({"statuses": ["open", "ready"]}, ["ISSUE-3", "ISSUE-2", "ISSUE-1"]),
        ({"effective_statuses": ["in_progress"]}, ["ISSUE-3"]),
        ({"effective_statuses": ["ready"]}, ["ISSUE-2"]),
        ({"types": ["epic", "bug"]}, ["ISSUE-3", "ISSUE-1"]),
        ({"priorities": ["low", "medium"]}, ["ISSUE-2", "ISSUE-1"]),
        ({"labels": ["Ui"]}, ["ISSUE-3", "ISSUE-2"]),
        ({"labels": ["core", "none"]}, ["ISSUE-2"]),
        ({"labels": ["none"]}, []),
        ({"labels": []}, []),
        ({"parent_issue_id": "ISSUE-1"}, ["ISSUE-2"]),
        ({"is_claimable": True}, ["ISSUE-2"]),
        ({"is_claimable": False}, ["ISSUE-3", "ISSUE-1"]),
        ({"include_archived": True}, ["ISSUE-3", "ISSUE-2", "ISSUE-4", "ISSUE-1"]),
        ({"statuses": ["done"], "include_archived": True}, ["ISSUE-4"]),
    ):
        assert listed(world, **filters) == expected, filters
    assert world.agent("reader").refused("list_issues", parent_issue_id="ISSUE-9").code == "ISSUE_NOT_FOUND"


def test_a_list_says_only_what_is_not_usual(world: World) -> None:
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="Plain")
    agent.ask("create_issue", title="Loud", status="ready", priority="high", labels=["ui"])
    agent.ask("claim_issue", issue_id="2")

    loud, plain = agent.ask("list_issues")["items"]

    assert set(plain) == {"display_id", "type", "title", "status", "version", "updated_at"}
    assert loud["effective_status"] == "in_progress"
    assert (loud["priority"], loud["labels"], loud["held_by"]) == ("high", ["ui"], "claude-code")
    assert "claimable" not in loud


def test_a_hundred_issues_with_long_bodies_make_a_small_list(world: World) -> None:
    """I19."""
    made(
        world,
        *(f"Issue number {number:03} of forty characters" for number in range(100)),
        description="d" * 5_000,
        acceptance_criteria="c" * 5_000,
        labels=["backend"],
    )
    reader = world.agent("reader")

    reply = reader.ask("list_issues", limit=100)

    assert len(reply["items"]) == 100
    assert not any({"description", "acceptance_criteria"} & set(item) for item in reply["items"])
    assert len(wire.dumps(reply).encode()) <= 19_000
    assert reader.refused("list_issues", view="wide").details[0]["code"] == "INVALID_ENUM"
    full = reader.ask("list_issues", limit=100, view="full")
    assert (len(full["items"]), full["has_more"]) == (100, False)
    assert {(item["description"], item["acceptance_criteria"]) for item in full["items"]} == {
        ("d" * 5_000, "c" * 5_000)
    }
    assert full["items"][7] == reader.ask("get_issue", issue_id="ISSUE-8")


def test_a_page_with_bodies_ends_when_it_has_grown_long_enough(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issues, "LIST_BYTES", 3_000)
    made(world, "one", "two", "three", description="d" * 1_000)
    reader = world.agent("reader")

    first = reader.ask("list_issues", view="full")
    second = reader.ask("list_issues", view="full", cursor=first["next_cursor"])

    assert [item["title"] for page in (first, second) for item in page["items"]] == ["one", "two", "three"]
    assert (first["has_more"], second["has_more"]) == (True, False)


def test_what_waits_is_listed(world: World) -> None:
    """A blocker, a reason, or both; what has ended waits for nothing."""
    agent = world.agent("claude-code")
    made(world, "first", "second", "third", status="ready")
    agent.ask("create_issue", title="fourth", status="blocked", blocked_reason="a decision", priority="high")
    agent.ask("create_issue", title="fifth", type="epic")
    for waiting in ("ISSUE-2", "ISSUE-3", "ISSUE-5"):
        agent.ask("manage_issue_relation", source_issue_id="ISSUE-1", target_issue_id=waiting)
    agent.ask("update_issue", issue_id="ISSUE-3", expected_version=1, changes={"status": "cancelled"})

    assert listed(world, is_blocked=True) == ["ISSUE-4", "ISSUE-2", "ISSUE-5"]
    assert listed(world, is_blocked=True, statuses=["ready"]) == ["ISSUE-2"]
    assert listed(world, is_blocked=False) == ["ISSUE-1", "ISSUE-3"]
    assert listed(world, is_blocked=True, is_claimable=True) == []


def test_an_issue_at_work_shows_the_attempt_and_no_token(world: World) -> None:
    agent = world.agent("claude-code")
    made(world, "Parser", status="ready")
    claim = agent.ask("claim_issue", next=True)

    shown = agent.ask("get_issue", issue_id="ISSUE-1")

    assert (shown["status"], shown["effective_status"], shown["claimable"]) == ("ready", "in_progress", False)
    assert shown["attempt"]["attempt_id"] == claim["attempt_id"]
    assert shown["attempt"]["session"] == agent.caller.key
    assert claim["lease_token"] not in wire.dumps(shown)
