"""Changing issues and putting them away: versions, the state machine, labels, parents, the archive."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.errors import Refusal
from clearway.lifecycle import STATUSES, TRANSITIONS
from clearway.limits import RESERVATION_MS


def made(agent: Agent, **given: Any) -> str:
    return agent.ask("create_issue", **{"title": "Parser", "status": "ready", **given})["display_id"]


def update(agent: Agent, issue: str, expected: int | None = None, **changes: Any) -> dict[str, Any]:
    """A change of the issue as it is now."""
    if expected is None:
        expected = agent.ask("get_issue", issue_id=issue)["version"]
    return agent.ask("update_issue", issue_id=issue, expected_version=expected, changes=changes)


def refused(agent: Agent, issue: str, expected: int | None = None, **changes: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        update(agent, issue, expected, **changes)
    return caught.value


def archive(agent: Agent, issue: str, **more: Any) -> dict[str, Any]:
    version = agent.ask("get_issue", issue_id=issue)["version"]
    return agent.ask("archive_issue", issue_id=issue, expected_version=version, **more)


def facts(event: Any) -> dict[str, Any]:
    return json.loads(event.data)


def test_a_change_keeps_what_it_does_not_name_and_null_clears(world: World) -> None:
    agent = world.agent("claude-code")
    issue = made(agent, description="LL(1)", acceptance_criteria="Parses itself.", labels=["core"], priority="high")

    reply = update(agent, issue, title="Lexer", description=None, labels=[])

    assert (reply["version"], reply["display_id"], reply["changed_fields"]) == (
        2,
        issue,
        ["title", "description", "labels"],
    )
    assert (reply["status"], reply["effective_status"]) == ("ready", "ready")
    shown = agent.ask("get_issue", issue_id=issue)
    assert (shown["title"], shown["labels"], shown["version"]) == ("Lexer", [], 2)
    assert "description" not in shown
    assert (shown["acceptance_criteria"], shown["priority"]) == ("Parses itself.", "high")


def test_every_field_can_be_changed(world: World) -> None:
    agent = world.agent("claude-code")
    epic, issue = made(agent, type="epic"), made(agent)
    changes = {
        "title": "Lexer",
        "description": "New.",
        "acceptance_criteria": "Done.",
        "type": "bug",
        "priority": "critical",
        "status": "blocked",
        "blocked_reason": "no key",
        "parent_issue_id": epic,
        "labels": ["b", "a"],
        "paths": ["src/b.py", "./src//a.py"],
        "reserved_for": "codex",
    }

    reply = update(agent, issue, **changes)

    assert set(reply["changed_fields"]) == set(changes)
    shown = agent.ask("get_issue", issue_id=issue)
    assert shown["parent"] == epic
    assert (shown["labels"], shown["paths"]) == (["a", "b"], ["src/a.py", "src/b.py"])
    for name in ("title", "description", "acceptance_criteria", "type", "priority", "status", "blocked_reason"):
        assert shown[name] == changes[name]
    assert shown["reserved_for"] == "codex"


def test_a_change_of_nothing_bumps_no_version_and_tells_nothing(world: World) -> None:
    agent = world.agent("claude-code")
    epic = made(agent, type="epic")
    same = {"title": "Same", "priority": "high", "labels": ["Core", "ui"], "paths": ["a", "b"], "reserved_for": "codex"}
    issue = made(agent, **same, description="LL(1)", parent_issue_id=epic)
    before = len(world.events())

    reply = update(
        agent,
        issue,
        **{**same, "labels": ["UI", "core"], "paths": ["b", "a"]},
        description="LL(1)",
        parent_issue_id=epic,
    )
    nothing = update(agent, issue)

    assert (reply["changed_fields"], reply["version"]) == ([], 1)
    assert (nothing["changed_fields"], nothing["version"]) == ([], 1)
    assert len(world.events()) == before


def test_a_change_names_the_version_it_was_made_for(world: World) -> None:
    agent = world.agent("claude-code")
    issue = made(agent)
    update(agent, issue, title="Lexer")

    refusal = refused(agent, issue, 1, title="Scanner")

    assert (refusal.code, refusal.retryable, refusal.facts["version"]) == ("VERSION_CONFLICT", True, 2)
    assert agent.ask("get_issue", issue_id=issue)["title"] == "Lexer"
    assert agent.refused("update_issue", issue_id=issue, changes={}).code == "INVALID_ARGUMENT"


def test_of_two_changes_of_one_version_exactly_one_is_made(world: World) -> None:
    """I14."""
    issue = made(world.agent("planner"))
    agents = [world.agent(f"agent-{place}", own_room=True) for place in range(2)]
    start = threading.Barrier(len(agents))
    told: list[str] = []

    def change(agent: Agent) -> None:
        start.wait()
        try:
            told.append(str(update(agent, issue, 1, title=agent.caller.agent)["version"]))
        except Refusal as refusal:
            told.append(refusal.code)

    threads = [threading.Thread(target=change, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(told) == ["2", "VERSION_CONFLICT"]
    assert len(world.events("issue_updated")) == 1


@pytest.mark.parametrize("old", STATUSES)
def test_a_status_moves_only_where_the_table_says(world: World, old: str) -> None:
    """I13."""
    agent = world.agent("claude-code")
    for new in STATUSES:
        issue = made(agent, status=old, **({"blocked_reason": "no key"} if old == "blocked" else {}))
        changes: dict[str, Any] = {"status": new, **({"blocked_reason": "no answer"} if new == "blocked" else {})}
        if new not in TRANSITIONS[old]:
            refusal = refused(agent, issue, **changes)
            assert (refusal.code, refusal.retryable) == ("INVALID_STATUS_TRANSITION", False), (old, new)
            continue
        assert update(agent, issue, **changes)["status"] == new
        shown = agent.ask("get_issue", issue_id=issue)
        assert ("closed_at" in shown) == (new in ("done", "cancelled"))
        assert shown.get("blocked_reason") == ("no answer" if new == "blocked" else None)


def test_a_reason_goes_with_blocked_and_can_be_replaced_alone(world: World) -> None:
    """I10, I13."""
    agent = world.agent("claude-code")
    issue = made(agent)

    without = refused(agent, issue, status="blocked")
    update(agent, issue, status="blocked", blocked_reason="no key")
    replaced = update(agent, issue, blocked_reason="no answer")
    cleared = refused(agent, issue, blocked_reason=None)
    left = update(agent, issue, status="ready")
    alone = refused(agent, issue, blocked_reason="no key")

    assert (without.code, without.details[0]["code"]) == ("INVALID_ARGUMENT", "REQUIRED")
    assert replaced["changed_fields"] == ["blocked_reason"]
    assert cleared.details[0]["code"] == "REQUIRED"
    assert left["changed_fields"] == ["status", "blocked_reason"]
    assert (alone.code, alone.details[0]["code"]) == ("INVALID_ARGUMENT", "FORBIDDEN")


def test_a_finished_issue_keeps_its_closing_time_while_it_is_finished(world: World) -> None:
    agent = world.agent("claude-code")
    issue = made(agent, status="done")
    closed = agent.ask("get_issue", issue_id=issue)["closed_at"]
    world.clock.forward(minutes=5)

    update(agent, issue, title="Renamed")

    assert agent.ask("get_issue", issue_id=issue)["closed_at"] == closed


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"title": None}, "changes.title", "NULL_NOT_ALLOWED"),
        ({"status": None}, "changes.status", "NULL_NOT_ALLOWED"),
        ({"title": " "}, "changes.title", "REQUIRED"),
        ({"status": "in_progress"}, "changes.status", "INVALID_ENUM"),
        ({"owner": "me"}, "changes.owner", "UNSUPPORTED"),
        ({"labels": ["a", "A"]}, "changes.labels", "DUPLICATE"),
        ({"paths": ["../x"]}, "changes.paths[0]", "INVALID_PATH"),
        ({"paths": ["/etc/passwd"]}, "changes.paths[0]", "INVALID_PATH"),
        ({"reserved_for": "a b"}, "changes.reserved_for", "INVALID_VALUE"),
    ],
)
def test_a_change_of_the_wrong_shape_is_refused(world: World, changes: dict[str, Any], field: str, code: str) -> None:
    agent = world.agent("claude-code")
    issue = made(agent)

    refusal = refused(agent, issue, **changes)

    assert (refusal.code, refusal.details[0]["field"], refusal.details[0]["code"]) == ("INVALID_ARGUMENT", field, code)
    assert agent.ask("get_issue", issue_id=issue)["version"] == 1


def test_one_change_is_one_event_named_after_its_weightiest_field(world: World) -> None:
    agent = world.agent("claude-code")
    issue = made(agent)

    update(agent, issue, title="Lexer", description="Long.")
    update(agent, issue, title="Scanner", labels=["core"])
    update(agent, issue, labels=[], status="review", priority="low")

    told = [event for event in world.events() if event.type != "issue_created"]
    assert [event.type for event in told] == ["issue_updated", "labels_changed", "status_changed"]
    assert {event.session for event in told} == {agent.caller.key}
    assert facts(told[0]) == {"changed_fields": ["title", "description"], "title": "Lexer"}
    assert facts(told[2]) == {
        "changed_fields": ["priority", "status", "labels"],
        "priority": "low",
        "status": "review",
        "labels": [],
        "from_status": "ready",
    }


def test_a_missing_label_can_be_refused_in_a_change(world: World) -> None:
    agent = world.agent("claude-code")
    issue = made(agent, labels=["core"])
    given = {"issue_id": issue, "expected_version": 1, "create_missing_labels": False}

    refusal = agent.refused("update_issue", **given, changes={"labels": ["nowhere"], "title": "Lexer"})
    reply = agent.ask("update_issue", **given, changes={"labels": []})

    assert refusal.code == "LABEL_NOT_FOUND"
    assert (reply["version"], reply["changed_fields"]) == (2, ["labels"])


def test_a_change_under_a_key_is_made_once(world: World) -> None:
    agent = world.agent("claude-code")
    issue = made(agent)
    asked = {"issue_id": issue, "expected_version": 1, "idempotency_key": "k"}

    first = agent.ask("update_issue", **asked, changes={"title": "Lexer"})
    again = agent.ask("update_issue", **asked, changes={"title": "Lexer"})

    assert first == again
    assert agent.refused("update_issue", **asked, changes={"title": "Other"}).code == "IDEMPOTENCY_CONFLICT"
    assert len(world.events("issue_updated")) == 1


# --- epics --------------------------------------------------------------------------------------------------------


def test_an_epic_tells_how_far_its_children_are(world: World) -> None:
    agent, worker = world.agent("planner"), world.agent("codex")
    epic = made(agent, type="epic")
    assert agent.ask("get_issue", issue_id=epic)["children"] == {"total": 0, "done": 0, "active": 0}
    for status in ("done", "ready", "open", "cancelled"):
        made(agent, status=status, parent_issue_id=epic)
    archive(agent, made(agent, parent_issue_id=epic))
    worker.ask("claim_issue", issue_id="ISSUE-3", lease_seconds=60)

    assert agent.ask("get_issue", issue_id=epic)["children"] == {"total": 3, "done": 1, "active": 1}
    assert "children" not in agent.ask("get_issue", issue_id="ISSUE-3")
    world.clock.forward(seconds=60)
    assert agent.ask("get_issue", issue_id=epic)["children"]["active"] == 0


def test_an_epic_with_children_stays_an_epic(world: World) -> None:
    """I17."""
    agent = world.agent("planner")
    epic, child = made(agent, type="epic"), made(agent)
    update(agent, child, parent_issue_id=epic)

    refusal = refused(agent, epic, type="task")
    update(agent, child, parent_issue_id=None)

    assert (refusal.code, refusal.retryable) == ("INVALID_EPIC_PARENT", False)
    assert update(agent, epic, type="task")["changed_fields"] == ["type"]


def test_an_epic_has_no_parent_and_nobody_at_work_on_it(world: World) -> None:
    """I11."""
    agent = world.agent("planner")
    epic, child, task = made(agent, type="epic"), made(agent), made(agent)
    update(agent, child, parent_issue_id=epic)

    assert refused(agent, child, type="epic").code == "INVALID_EPIC_PARENT"
    assert refused(agent, child, parent_issue_id=task).code == "INVALID_EPIC_PARENT"
    assert refused(agent, child, parent_issue_id="ISSUE-99").code == "INVALID_EPIC_PARENT"
    assert refused(agent, epic, parent_issue_id=epic).code == "INVALID_EPIC_PARENT"
    assert refused(agent, epic, type="task", parent_issue_id=epic).code == "INVALID_EPIC_PARENT"
    assert update(agent, child, type="epic", parent_issue_id=None)["version"] == 3
    world.agent("codex").ask("claim_issue", issue_id=task)
    assert refused(agent, task, type="epic").code == "ACTIVE_ATTEMPT_EXISTS"


# --- the archive --------------------------------------------------------------------------------------------------


def test_an_archived_issue_is_hidden_and_takes_no_change(world: World) -> None:
    """I16."""
    agent = world.agent("planner")
    issue, other = made(agent, status="review"), made(agent)
    agent.ask("add_comment", issue_id=issue, content="Said before.")

    reply = archive(agent, issue)

    assert (reply["version"], reply["status"], "changed_fields" in reply) == (2, "review", False)
    assert [item["display_id"] for item in agent.ask("list_issues")["items"]] == [other]
    assert len(agent.ask("list_issues", include_archived=True)["items"]) == 2
    codes = {
        refused(agent, issue, title="x").code,
        agent.refused("archive_issue", issue_id=issue, expected_version=2).code,
        agent.refused("add_comment", issue_id=issue, content="x").code,
        agent.refused("claim_issue", issue_id=issue).code,
        agent.refused("manage_issue_relation", source_issue_id=issue, target_issue_id=other).code,
        agent.refused("manage_issue_relation", source_issue_id=other, target_issue_id=issue).code,
        agent.refused("manage_issue_relation", source_issue_id=issue, target_issue_id=other, action="remove").code,
    }
    assert codes == {"ISSUE_ARCHIVED"}
    story = agent.ask("get_issue_activity", issue_id=issue)["items"]
    assert [item["event_type"] for item in story] == ["issue_archived", "comment_added", "issue_created"]
    assert "archived_at" in agent.ask("get_issue", issue_id=issue)


def test_an_archived_issue_comes_back(world: World) -> None:
    agent = world.agent("planner")
    issue = made(agent)
    archive(agent, issue)

    reply = archive(agent, issue, archived=False)
    again = archive(agent, issue, archived=False)

    assert (reply["version"], again["version"]) == (3, 3)
    assert agent.ask("list_issues")["items"][0]["claimable"] is True
    assert "archived_at" not in agent.ask("get_issue", issue_id=issue)
    assert len(world.events("issue_unarchived")) == 1


def test_what_is_being_worked_on_is_not_archived_until_its_lease_lapses(world: World) -> None:
    """I16."""
    agent, worker = world.agent("planner"), world.agent("codex")
    issue = made(agent)
    worker.ask("claim_issue", issue_id=issue, lease_seconds=60)

    refusal = agent.refused("archive_issue", issue_id=issue, expected_version=1)
    world.clock.forward(seconds=60)
    archive(agent, issue)

    assert (refusal.code, refusal.retryable) == ("ACTIVE_ATTEMPT_EXISTS", False)
    told = [event.type for event in world.events("attempt_expired", "issue_archived")]
    assert told == ["attempt_expired", "issue_archived"]


def test_an_archive_names_its_version_too(world: World) -> None:
    agent = world.agent("planner")
    issue = made(agent)
    update(agent, issue, title="Lexer")

    refusal = agent.refused("archive_issue", issue_id=issue, expected_version=1)

    assert (refusal.code, refusal.facts["version"]) == ("VERSION_CONFLICT", 2)


# --- kept for an agent --------------------------------------------------------------------------------------------


def test_what_is_kept_for_an_agent_is_passed_over_by_the_others(world: World) -> None:
    planner, claude, codex = world.agent("planner"), world.agent("claude-code"), world.agent("codex")
    kept = made(planner, reserved_for="codex", priority="critical")
    free = made(planner, priority="low")

    refusal = claude.refused("claim_issue", issue_id=kept)
    other = claude.ask("claim_issue", next=True)
    own = codex.ask("claim_issue", next=True)

    assert (refusal.code, refusal.facts["agent"], refusal.facts["next"]) == ("ISSUE_RESERVED", "codex", free)
    assert re.search(r"until \d{4}-\d\d-\d\d \d\d:\d\d;", refusal.message), "a day from now is not the same hour"
    assert (other["display_id"], own["display_id"]) == (free, kept)
    assert "reserved for you" in own["why"]


def test_what_was_kept_is_free_after_a_day_or_when_it_is_cleared(world: World) -> None:
    planner, claude = world.agent("planner"), world.agent("claude-code")
    issue, other = made(planner, reserved_for="codex"), made(planner, reserved_for="codex")

    update(planner, other, reserved_for=None)
    assert claude.ask("claim_issue", next=True)["display_id"] == other
    update(planner, other, status="done")
    world.clock.forward(ms=RESERVATION_MS - 1)
    assert claude.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"
    world.clock.forward(ms=1)

    assert "reserved_for" not in planner.ask("get_issue", issue_id=issue)
    assert claude.ask("claim_issue", next=True)["display_id"] == issue


def test_clones_of_one_name_do_not_do_one_task_twice(world: World) -> None:
    """C08."""
    planner = world.agent("planner")
    kept, free = made(planner, reserved_for="Writer"), made(planner)
    writers = [world.agent(name, own_room=True) for name in ("Writer", "Writer-2", "Writer-3", *["Writer"] * 13)]
    start = threading.Barrier(len(writers))
    told: list[str] = []

    def claim(agent: Agent) -> None:
        start.wait()
        try:
            agent.ask("claim_issue", issue_id=kept, context=False)
            told.append(f"won by {agent.caller.agent}")
        except Refusal as refusal:
            told.append(f"{refusal.code}, take {refusal.facts['next']}")

    threads = [threading.Thread(target=claim, args=(agent,)) for agent in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert told.count("won by Writer") == 1
    assert len(told) == len(writers)
    assert set(told) <= {"won by Writer", f"ACTIVE_ATTEMPT_EXISTS, take {free}", f"ISSUE_RESERVED, take {free}"}
    assert len(world.events("attempt_started")) == 1


# --- labels -------------------------------------------------------------------------------------------------------


def test_labels_are_listed_with_how_many_issues_have_them(world: World) -> None:
    agent = world.agent("planner")
    made(agent, labels=["core", "ui"])
    made(agent, labels=["Core", "100%"])

    agent.ask("describe_label", label="CORE", text="What everything needs.")

    assert agent.ask("list_labels")["items"] == [
        {"name": "100%", "issues": 1},
        {"name": "core", "issues": 2, "description": "What everything needs."},
        {"name": "ui", "issues": 1},
    ]
    assert [item["name"] for item in agent.ask("list_labels", query="c")["items"]] == ["core"]
    assert agent.ask("list_labels", query="%")["items"] == []
    page = agent.ask("list_labels", limit=2)
    assert (len(page["items"]), page["has_more"]) == (2, True)
    assert [item["name"] for item in agent.ask("list_labels", limit=2, cursor=page["next_cursor"])["items"]] == ["ui"]


def test_a_renamed_label_stays_on_its_issues(world: World) -> None:
    agent = world.agent("planner")
    issue = made(agent, labels=["core", "ui"])

    agent.ask("rename_label", label="Core", name="kernel")

    assert agent.ask("get_issue", issue_id=issue)["labels"] == ["kernel", "ui"]
    taken = agent.refused("rename_label", label="kernel", name="UI")
    assert (taken.code, taken.details[0]["code"]) == ("INVALID_ARGUMENT", "DUPLICATE")
    assert agent.refused("rename_label", label="core", name="x").code == "LABEL_NOT_FOUND"
    assert agent.refused("describe_label", label="core", text="x").code == "LABEL_NOT_FOUND"
