"""A page of a list has what its filters admit, in order and once, however it was found."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.lifecycle import PRIORITIES
from clearway.work import labels

FILTERS: list[dict[str, Any]] = [
    {},
    {"statuses": ["ready"]},
    {"statuses": ["blocked", "done"]},
    {"types": ["bug"]},
    {"types": ["epic", "task"], "statuses": ["ready", "open"]},
    {"priorities": ["low", "critical"]},
    {"priorities": ["high"], "types": ["bug"], "statuses": ["ready"]},
    {"effective_statuses": ["in_progress"]},
    {"effective_statuses": ["in_progress", "open"]},
    {"effective_statuses": ["ready"], "types": ["task"]},
    {"effective_statuses": ["ready"], "statuses": ["open"]},
    {"labels": ["rare"]},
    {"labels": ["Common", "rare"], "types": ["task"]},
    {"labels": ["nowhere"]},
    {"is_claimable": True},
    {"is_claimable": True, "statuses": ["ready"], "labels": ["common"]},
    {"is_claimable": False, "priorities": ["high"]},
    {"include_archived": True},
    {"include_archived": True, "types": ["bug"]},
    {"parent_issue_id": "ISSUE-1"},
    {"parent_issue_id": "ISSUE-1", "statuses": ["ready"], "priorities": ["medium"]},
]


def backlog(agent: Agent, other: Agent) -> None:
    """Issues of every kind: some held, some blocked by others, some put away."""
    agent.ask("create_issue", title="Epic", type="epic")
    kinds = product(("task", "bug"), ("ready", "open", "done"), PRIORITIES)
    for place, (type, status, priority) in enumerate(kinds):
        given: dict[str, Any] = {"labels": ["common"] if place % 3 else ["common", "rare"]} if place % 2 else {}
        given |= {"parent_issue_id": "ISSUE-1"} if place % 4 == 0 else {}
        agent.ask("create_issue", title=f"{place}", type=type, status=status, priority=priority, **given)
    agent.ask("create_issue", title="Stuck", status="blocked", blocked_reason="It rains.", labels=["rare"])
    agent.ask("manage_issue_relation", action="add", source_issue_id="ISSUE-6", target_issue_id="ISSUE-4",
              relation_type="blocks")  # fmt: skip
    for issue in ("ISSUE-2", "ISSUE-14"):
        agent.ask("claim_issue", issue_id=issue)
    other.ask("claim_issue", issue_id="ISSUE-15", lease_seconds=60)
    agent.ask("archive_issue", issue_id="ISSUE-3", expected_version=1)
    agent.ask("archive_issue", issue_id="ISSUE-16", expected_version=1)


def admits(filters: dict[str, Any], issue: dict[str, Any]) -> bool:
    """What the filters say, in plain words."""
    named = {"statuses": "status", "effective_statuses": "effective_status", "types": "type", "priorities": "priority"}
    wanted = {label.lower() for label in filters.get("labels", issue["labels"])}
    return (
        all(issue[field] in filters[name] for name, field in named.items() if name in filters)
        and ("labels" not in filters or bool(wanted & set(issue["labels"])))
        and filters.get("is_claimable", issue["claimable"]) == issue["claimable"]
        and filters.get("parent_issue_id", issue.get("parent")) == issue.get("parent")
        and ("archived_at" not in issue or "include_archived" in filters)
    )


@pytest.mark.parametrize("few", [labels.FEW, 0])
def test_pages_have_what_the_filters_admit_in_order_and_once(
    world: World, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "FEW", few)
    agent, other = world.agent("claude-code"), world.agent("codex")
    backlog(agent, other)
    other.dies()  # its claim is over before anybody writes so
    everything = [agent.ask("get_issue", issue_id=f"ISSUE-{number}") for number in range(1, 27)]
    everything.sort(key=lambda issue: -PRIORITIES.index(issue["priority"]))

    for filters in FILTERS:
        listed: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = agent.ask("list_issues", limit=3, **filters, **cursor)
            listed += [item["display_id"] for item in page["items"]]
            if not page["has_more"]:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert listed == [issue["display_id"] for issue in everything if admits(filters, issue)], filters
