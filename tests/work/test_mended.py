"""What the tracker before this one got wrong and no other test here proves right: docs/why/what-was-mended.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import World

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PAGE = REPOSITORY / "docs" / "why" / "what-was-mended.md"


def test_reads_answer_while_somebody_writes(world: World) -> None:
    """A question waits for no writer, and takes no lock that a writer would wait for."""
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="Parser", status="ready", description="Long ago")
    agent.ask("claim_issue", issue_id="ISSUE-1", context=False)
    writer = world.open_again().engine.begin(writes=True)
    try:
        for operation, arguments in (
            ("list_issues", {}),
            ("get_issue", {"issue_id": "1"}),
            ("get_work_context", {"issue_id": "1"}),
            ("search", {"query": "parser"}),
            ("get_changes", {}),
            ("get_issue_activity", {"issue_id": "1"}),
            ("list_attempts", {}),
            ("list_decisions", {}),
            ("list_review_requests", {}),
            ("list_labels", {}),
            ("get_issue_graph", {"root_issue_id": "1"}),
            ("get_planning_graph", {}),
            ("get_project", {}),
            ("replay", {}),
            ("get_board", {}),
            ("room", {}),
        ):
            assert agent.ask(operation, **arguments) is not None, operation
    finally:
        writer.rollback()


def test_what_is_asked_for_is_found_behind_any_number_of_others(world: World) -> None:
    """Filters are met before a page is cut, so that a page is never empty while there is more."""
    agent = world.agent("claude-code")
    for number in range(5):
        agent.ask("create_issue", title=f"Issue {number}", status="ready", labels=["rare"] if number == 0 else [])
        agent.ask("create_review_request", issue_id=f"ISSUE-{number + 1}")
    for number in range(1, 5):
        review = agent.ask("list_review_requests", issue_id=f"ISSUE-{number + 1}")["items"][0]
        agent.ask("cancel_review_request", review_request_id=review["review_request_id"], expected_version=1)

    assert [item["display_id"] for item in agent.ask("list_review_requests", claimable=True, limit=1)["items"]] == [
        "ISSUE-1"
    ]
    assert len(agent.ask("list_review_requests", status="open", limit=1)["items"]) == 1
    assert len(agent.ask("list_issues", labels=["RARE"], limit=1)["items"]) == 1
    assert len(agent.ask("get_changes", event_types=["review_cancelled"], limit=1)["events"]) == 1


def test_what_happens_within_a_second_is_told_in_order(world: World) -> None:
    agent = world.agent("claude-code")
    agent.ask("create_issue", title="Parser")
    for number in range(12):
        agent.ask("add_comment", issue_id="ISSUE-1", content=f"Word {number}")
        world.clock.forward(ms=1)
    story = agent.ask("get_issue_activity", issue_id="ISSUE-1", types=["comments"])["items"]
    assert [item["content"] for item in story] == [f"Word {number}" for number in reversed(range(12))]


def test_an_issue_goes_by_its_number_in_any_case_and_by_its_id(world: World) -> None:
    agent = world.agent("claude-code")
    made = agent.ask("create_issue", title="Parser")
    for name in ("ISSUE-1", "issue-1", "1", " Issue-1 ", made["issue_id"], made["issue_id"].lower()):
        assert agent.ask("get_issue", issue_id=name)["id"] == made["issue_id"]
    for name in ("ISSUE-", "ISSUE--1", "-1", "ISSUE-1x", "0", "ISSUE-" + "9" * 30, "%", "ISSUE_1"):
        assert agent.refused("get_issue", issue_id=name).code == "ISSUE_NOT_FOUND", name


def _named() -> list[str]:
    return re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("file", "test"), _named(), ids=lambda given: given.rpartition("/")[2])
def test_every_proof_that_the_page_names_is_there(file: str, test: str) -> None:
    assert f"\ndef {test}(" in (REPOSITORY / file).read_text(encoding="utf-8")


def test_the_page_names_a_proof_for_everything() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 30
    assert not [row for row in rows if not re.search(r"`tests/[\w/]+\.py::test_\w+`", row)]
