"""A project as one document, and back: across rooms, across engines, twice, and when both sides went on meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import HOST, Agent, HandClock, HandLiveness, World

from clearway import replay, scene
from clearway.clock import Clock
from clearway.config import Caller
from clearway.crew import briefing
from clearway.room import Room, open_room

Rooms = Callable[..., Agent]
# The other room is on the other engine, so both are in every story; here it is told in one direction.
one_direction = pytest.mark.parametrize("world", ["sqlite"], indirect=True)


@pytest.fixture
def elsewhere(
    request: pytest.FixtureRequest, world: World, tmp_path: Path, clock: HandClock, liveness: HandLiveness
) -> Iterator[Rooms]:
    """Further rooms; the first of them is on the other engine. project: of a clone, the same."""
    opened: list[Room] = []

    def another(name: str = "other", *, project: str | None = None, engine: str = "") -> Agent:
        here = world.room.engine.name
        engine = engine or {"sqlite": "postgres", "postgres": "sqlite"}[here]
        same_server = engine == here == "postgres" and project is not None
        assert not same_server, "one server has one room of a project"
        home = tmp_path / f"home-{len(opened)}"
        room = open_room(
            project or Clock().new_id(),
            home=str(home),
            clock=clock,
            address=request.getfixturevalue("postgres_dsn") if engine == "postgres" else None,
            liveness=liveness,
        )
        opened.append(room)
        return Agent(world, Caller(name, f"{name}-{len(opened)}", host=HOST), room)

    yield another
    for room in opened:
        room.close()


def exported(agent: Agent) -> str:
    document: str = agent.ask("export_project")["document"]
    return document


def records(document: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in document.splitlines()]


def events_of(agent: Agent) -> int:
    last: int = agent.ask("get_changes", since_event_id=0, limit=1)["latest_event_id"]
    return last


def make(agent: Agent, title: str, **more: Any) -> dict[str, Any]:
    return agent.ask("create_issue", title=title, **{"status": "ready", **more})


def rich(world: World) -> Agent:
    """A room in which much has happened."""
    codex, claude, reviewer = (world.agent(name) for name in ("codex", "claude-code", "reviewer"))
    codex.ask("update_project", name="Shop", key="PAY", instructions="Run the tests.")
    epic = make(codex, "Checkout", type="epic", status="open", priority="high")["display_id"]
    stock = make(
        codex,
        "Reserve stock – 日本語 🛒",
        description='Zeile 1\n"zwei" \\ \u2028 drei',
        acceptance_criteria="two buyers, one item",
        parent_issue_id=epic,
        labels=["db", "Été"],
        paths=["src/stock.py", "docs"],
        needs=["gpu"],
        priority="critical",
    )["display_id"]
    receipt = make(codex, "Write the receipt", type="bug")["display_id"]
    blocked = make(codex, "Wait for the bank", status="blocked", blocked_reason="no account")["display_id"]
    codex.ask("describe_label", label="db", text="what is stored")
    codex.ask("manage_issue_relation", source_issue_id=stock, target_issue_id=receipt)
    codex.ask("manage_issue_relation", source_issue_id=blocked, target_issue_id=stock, relation_type="related_to")
    codex.ask("manage_issue_relation", source_issue_id=blocked, target_issue_id=receipt, relation_type="duplicates")
    world.clock.forward(minutes=3)
    first = codex.ask("record_decision", title="Leases", summary="They end.")["decision_id"]
    codex.ask("record_decision", title="Renewed", summary="Renewable.", content="x", supersedes_id=first)
    claude.ask("record_decision", title="Here only", summary="Of one issue.", issue_id=stock, status="rejected")
    claude.ask("add_comment", issue_id=stock, content="  mind the zones\n")
    world.clock.forward(minutes=1)
    failed = codex.ask("claim_issue", issue_id=stock, context=False)
    work = {"attempt_id": failed["attempt_id"], "lease_token": failed["lease_token"]}
    codex.ask("save_attempt_note", **work, kind="checkpoint", content="half", next_steps=["other half"], important=True)
    codex.ask("finish_attempt", **work, outcome="failed", failure_reason_code="tests_failed", result_summary="red")
    world.clock.forward(minutes=1)
    again = claude.ask("claim_issue", issue_id=stock, context=False)
    work = {"attempt_id": again["attempt_id"], "lease_token": again["lease_token"]}
    world.clock.forward(minutes=2)
    claude.ask(
        "finish_attempt",
        **work,
        outcome="completed",
        target_issue_status="review",
        result_summary="green",
        verification=["make test"],
        next_steps=["look at it"],
        artifacts=[
            {"type": "url", "uri": "https://example.org/x", "metadata": {"x": [1, "é"]}},
            {"type": "file", "uri": "src/a.py"},
        ],
    )
    version = codex.ask("get_issue", issue_id=stock)["version"]
    asked = claude.ask("create_review_request", issue_id=stock, target_issue_version=version)
    review = reviewer.ask("claim_issue", review_request_id=asked["review_request_id"], context=False)
    world.clock.forward(minutes=2)
    reviewer.ask(
        "finish_attempt",
        attempt_id=review["attempt_id"],
        lease_token=review["lease_token"],
        outcome="completed",
        review_outcome="changes_requested",
        result_summary="one thing",
        follow_up_issue_id=receipt,
    )
    version = codex.ask("get_issue", issue_id=stock)["version"]
    claude.ask("create_review_request", issue_id=stock, target_issue_version=version)
    away = make(codex, "Put away")
    codex.ask("archive_issue", issue_id=away["issue_id"], expected_version=1)
    world.clock.forward(minutes=1)
    codex.ask(
        "update_issue", issue_id=receipt, expected_version=1, changes={"title": "Write receipts", "labels": ["db"]}
    )
    return codex


def test_a_document_says_the_same_in_another_room_on_the_other_engine(world: World, elsewhere: Rooms) -> None:
    """I61: SQLite to PostgreSQL and back; numbers, versions, archived issues, reviews and authors are kept."""
    first = exported(rich(world))
    other = elsewhere()
    done = other.ask("apply_import", document=first)
    assert done["applied"] and done["conflicts"] == [] and done["renumbered"] == []
    assert done["created"] == {
        "labels": 2,
        "issues": 5,
        "relations": 4,
        "comments": 1,
        "decisions": 3,
        "attempts": 3,
        "notes": 1,
        "artifacts": 2,
        "reviews": 2,
    }
    second = exported(other)
    assert second.splitlines()[1:] == first.splitlines()[1:]
    assert {**records(first)[0]["project"], "id": 0} == {**records(second)[0]["project"], "id": 0}
    third = elsewhere(engine="sqlite")
    third.ask("apply_import", document=second)
    assert exported(third).splitlines()[1:] == first.splitlines()[1:]


def test_a_second_import_writes_nothing(world: World, elsewhere: Rooms) -> None:
    """C49: also where it is merged."""
    document = exported(rich(world))
    other = elsewhere()
    other.ask("apply_import", document=document)
    before, count = exported(other), events_of(other)
    again = other.ask("apply_import", document=document, mode="merge")
    assert (again["created"], again["updated"], again["conflicts"]) == ({}, {}, [])
    assert again["unchanged"] == len(records(document)) - 2
    assert (exported(other), events_of(other)) == (before, count)


@one_direction
def test_looking_at_a_document_changes_nothing_and_says_what_would_happen(world: World, elsewhere: Rooms) -> None:
    document = exported(rich(world))
    other = elsewhere()
    looked = other.ask("validate_import", document=document)
    assert not looked["applied"] and events_of(other) == 0
    done = other.ask("apply_import", document=document)
    assert (looked["created"], looked["updated"]) == (done["created"], done["updated"])


@one_direction
def test_a_document_has_no_token_no_session_and_no_possession(world: World) -> None:
    """I34, C50: what is of one machine is in no export."""
    codex = rich(world)
    held = codex.ask("claim_issue", issue_id=make(codex, "In work")["issue_id"], context=False)
    codex.ask(
        "save_attempt_note",
        attempt_id=held["attempt_id"],
        lease_token=held["lease_token"],
        kind="progress",
        content="begun",
    )
    found = codex.ask("export_project")
    assert found["left_out"] == {"active_attempts": 1}
    assert '"title":"In work"' in found["document"] and "begun" not in found["document"]
    assert held["lease_token"] not in found["document"] and held["attempt_id"] not in found["document"]
    assert codex.caller.key not in found["document"] and HOST not in found["document"]


@one_direction
def test_what_was_imported_can_be_found_read_and_worked_on(world: World, elsewhere: Rooms) -> None:
    document = exported(rich(world))
    other = elsewhere("gemini")
    other.ask("apply_import", document=document)
    assert other.ask("search", query="zones")["items"][0]["entity_type"] == "comment"
    assert other.ask("search", query="日本語")["items"][0]["entity_type"] == "issue"
    story = other.ask("get_issue_activity", issue_id="PAY-2")["items"]
    assert story[0]["event_type"] == "issue_imported" and story[-1]["event_type"] == "issue_created"
    assert [each["occurred_at"] for each in story[1:]] == sorted((e["occurred_at"] for e in story[1:]), reverse=True)
    assert {"codex", "claude-code"} <= {each["agent"] for each in story}
    context = other.ask("get_work_context", issue_id="ISSUE-2")
    assert context["previous_attempt"]["result_summary"] == "one thing"
    assert context["review"]["status"] == "open"
    assert other.ask("get_issue", issue_id="ISSUE-3")["open_blockers"] == 1
    assert [each["title"] for each in context["decisions"]] == ["Renewed"]
    waiting = other.ask("list_review_requests", claimable=True)["items"]
    claimed = other.ask("claim_issue", review_request_id=waiting[0]["review_request_id"], context=False)
    assert claimed["display_id"] == "PAY-2" and claimed["fence"] == 4
    assert make(other, "Next one")["display_id"] == "PAY-6"


@one_direction
def test_a_replay_of_the_log_agrees_after_an_import(world: World, elsewhere: Rooms) -> None:
    """The log alone rebuilds what holds: also what was imported."""
    document = exported(rich(world))
    other = elsewhere()
    other.ask("apply_import", document=document)
    now = other.room.run(scene.now, caller=other.caller, writes=False)
    told = replayed(other)
    for part in ("issues", "archived", "finished", "attempts", "reviews"):
        assert getattr(told, part) == getattr(now, part), part
    assert not [session for session in told.sessions if session.startswith("import:")]


def replayed(agent: Agent) -> scene.Scene:

    return agent.room.run(lambda tx: replay.as_of(tx, tx.last_event), caller=agent.caller, writes=False)


# --- both sides went on ---------------------------------------------------------------------------------------------


@one_direction
def test_two_clones_that_made_issues_apart_agree_after_a_merge(world: World, elsewhere: Rooms) -> None:
    """C49: three issues each, one archived, one more; both exports merged both ways, twice."""
    one = world.agent("one")
    make(one, "Common")
    two = elsewhere("two", project=world.room.project)
    two.ask("apply_import", document=exported(one))
    for place in range(3):
        world.clock.forward(minutes=1)
        mine = make(one, f"Of one {place}")
        theirs = make(two, f"Of two {place}")
    one.ask("archive_issue", issue_id=mine["issue_id"], expected_version=1)
    two.ask("archive_issue", issue_id=theirs["issue_id"], expected_version=1)
    make(one, "After the archive")
    make(two, "After that archive")
    documents = exported(one), exported(two)
    first = one.ask("apply_import", document=documents[1], mode="merge")
    second = two.ask("apply_import", document=documents[0], mode="merge")
    assert first["created"] == second["created"] == {"issues": 4}
    assert [(each["was"], each["display_id"]) for each in first["renumbered"]] == [
        *((f"ISSUE-{number}", f"ISSUE-{number + 4}") for number in (2, 3, 4, 5)),
    ]
    listed = [agent.ask("list_issues", include_archived=True, limit=100)["items"] for agent in (one, two)]
    assert {item["title"] for item in listed[0]} == {item["title"] for item in listed[1]}
    assert all(len({item["display_id"] for item in items}) == 9 for items in listed)
    counts = events_of(one), events_of(two)
    for agent, document in ((one, documents[1]), (two, documents[0]), (one, exported(two)), (two, exported(one))):
        again = agent.ask("apply_import", document=document, mode="merge")
        assert (again["created"], again["updated"], again["renumbered"]) == ({}, {}, [])
    assert (events_of(one), events_of(two)) == counts
    assert make(one, "No number twice")["display_id"] == "ISSUE-10"


@one_direction
def test_the_newer_version_of_an_issue_wins_on_both_sides(world: World, elsewhere: Rooms) -> None:
    one = world.agent("one")
    issue = make(one, "First words", labels=["a"])["issue_id"]
    two = elsewhere("two", project=world.room.project)
    two.ask("apply_import", document=exported(one))
    world.clock.forward(minutes=1)
    one.ask("update_issue", issue_id=issue, expected_version=1, changes={"title": "By one", "labels": ["b"]})
    world.clock.forward(minutes=1)
    two.ask("update_issue", issue_id=issue, expected_version=1, changes={"title": "By two", "status": "cancelled"})
    documents = exported(one), exported(two)
    assert one.ask("apply_import", document=documents[1], mode="merge")["updated"] == {"issues": 1}
    older = two.ask("apply_import", document=documents[0], mode="merge")
    assert (older["updated"], older["newer_here"]) == ({}, 1)
    for agent in (one, two):
        shown = agent.ask("get_issue", issue_id=issue)
        assert (shown["title"], shown["status"], shown["labels"], shown["version"]) == ("By two", "cancelled", ["a"], 2)
        assert "closed_at" in shown
    assert next(each for each in records(exported(one)) if each.get("record") == "issue")["version"] == 2
    change = one.ask("get_changes", since_event_id=0, limit=100)["events"][-1]
    assert change["type"] == "status_changed"
    assert change["data"]["changed_fields"] == ["title", "status", "labels"]


@one_direction
def test_what_is_being_worked_on_is_not_moved_by_an_import(world: World, elsewhere: Rooms) -> None:
    one = world.agent("one")
    issue = make(one, "In work soon")["issue_id"]
    two = elsewhere("two", project=world.room.project)
    two.ask("apply_import", document=exported(one))
    world.clock.forward(minutes=1)
    two.ask("update_issue", issue_id=issue, expected_version=1, changes={"status": "done"})
    one.ask("claim_issue", issue_id=issue, context=False)
    done = one.ask("apply_import", document=exported(two), mode="merge")
    assert [each["code"] for each in done["conflicts"]] == ["being_worked_on"]
    assert one.ask("get_issue", issue_id=issue)["status"] == "ready"


@one_direction
def test_texts_that_an_import_changes_under_a_worker_must_be_acknowledged(world: World, elsewhere: Rooms) -> None:
    one = world.agent("one")
    issue = make(one, "In work", description="old")["issue_id"]
    two = elsewhere("two", project=world.room.project)
    two.ask("apply_import", document=exported(one))
    held = one.ask("claim_issue", issue_id=issue, context=False)
    world.clock.forward(minutes=1)
    two.ask("update_issue", issue_id=issue, expected_version=1, changes={"description": "new"})
    world.agent("clerk").ask("apply_import", document=exported(two), mode="merge")
    refused = one.refused(
        "finish_attempt",
        attempt_id=held["attempt_id"],
        lease_token=held["lease_token"],
        outcome="completed",
        target_issue_status="done",
        result_summary="done",
    )
    assert refused.code == "ISSUE_CHANGED_DURING_ATTEMPT"
    assert [detail["field"] for detail in refused.details] == ["description"]


@one_direction
def test_a_merge_closes_no_circle_and_says_so(world: World, elsewhere: Rooms) -> None:
    one = world.agent("one")
    first, second = make(one, "First")["issue_id"], make(one, "Second")["issue_id"]
    two = elsewhere("two", project=world.room.project)
    two.ask("apply_import", document=exported(one))
    one.ask("manage_issue_relation", source_issue_id=first, target_issue_id=second)
    two.ask("manage_issue_relation", source_issue_id=second, target_issue_id=first)
    done = one.ask("apply_import", document=exported(two), mode="merge")
    assert [each["code"] for each in done["conflicts"]] == ["blocks_cycle"]
    assert done["created"] == {}
    assert one.ask("get_issue", issue_id=second)["open_blockers"] == 1
    assert one.ask("get_issue", issue_id=first)["open_blockers"] == 0


@one_direction
def test_a_decision_that_both_sides_replaced_stands_twice(world: World, elsewhere: Rooms) -> None:
    one = world.agent("one")
    old = one.ask("record_decision", title="Old", summary="old")["decision_id"]
    two = elsewhere("two", project=world.room.project)
    two.ask("apply_import", document=exported(one))
    one.ask("record_decision", title="By one", summary="1", supersedes_id=old)
    two.ask("record_decision", title="By two", summary="2", supersedes_id=old)
    done = one.ask("apply_import", document=exported(two), mode="merge")
    assert [each["code"] for each in done["conflicts"]] == ["decided_twice"]
    active = one.ask("list_decisions", status="active")["items"]
    assert {each["title"] for each in active} == {"By one", "By two"}
    count = events_of(one)
    one.ask("apply_import", document=exported(two), mode="merge")
    assert events_of(one) == count


@one_direction
def test_what_is_no_epic_here_gets_no_children(world: World, elsewhere: Rooms) -> None:
    one = world.agent("one")
    epic = make(one, "Perhaps an epic", type="epic", status="open")["issue_id"]
    two = elsewhere("two", project=world.room.project)
    two.ask("apply_import", document=exported(one))
    two.ask("update_issue", issue_id=epic, expected_version=1, changes={"type": "task"})
    child = make(one, "Its child", parent_issue_id=epic)["issue_id"]
    done = two.ask("apply_import", document=exported(one), mode="merge")
    assert [each["code"] for each in done["conflicts"]] == ["no_epic_here"]
    assert "parent" not in two.ask("get_issue", issue_id=child)
    again = two.ask("apply_import", document=exported(one), mode="merge")
    assert (again["created"], again["updated"]) == ({}, {})


@one_direction
def test_a_review_that_was_settled_makes_room_for_the_next(world: World, elsewhere: Rooms) -> None:
    """The one that waits here is settled by the document, and then the next is asked for: one import brings both."""
    one = world.agent("one")
    issue = make(one, "Looked at twice", status="review")["issue_id"]
    first = one.ask("create_review_request", issue_id=issue)["review_request_id"]
    two = elsewhere("two", project=world.room.project)
    two.ask("apply_import", document=exported(one))
    one.ask("cancel_review_request", review_request_id=first, expected_version=1)
    second = one.ask("create_review_request", issue_id=issue)["review_request_id"]
    done = two.ask("apply_import", document=exported(one), mode="merge")
    assert done["conflicts"] == []
    waiting = two.ask("list_review_requests", status="open")["items"]
    assert [each["review_request_id"] for each in waiting] == [second]
    again = two.ask("apply_import", document=exported(one), mode="merge")
    assert (again["created"], again["updated"]) == ({}, {})


@one_direction
def test_a_project_that_is_not_empty_is_not_written_to_unless_it_is_merged(world: World, elsewhere: Rooms) -> None:
    """I61."""
    document = exported(rich(world))
    other = elsewhere()
    make(other, "Already here")
    count = events_of(other)
    for operation in ("validate_import", "apply_import"):
        done = other.ask(operation, document=document)
        assert not done["applied"] and done["created"] == {}
        assert [each["code"] for each in done["conflicts"]] == ["empty_destination_required"]
    assert events_of(other) == count
    merged = other.ask("apply_import", document=document, mode="merge")
    assert [(each["was"], each["display_id"]) for each in merged["renumbered"]] == [("ISSUE-1", "ISSUE-6")]
    assert other.ask("get_project")["project"]["key"] == "ISSUE", "who has begun keeps the word for its issues"


@one_direction
def test_whatever_a_past_change_told_comes_back_as_it_was(world: World, elsewhere: Rooms) -> None:
    one = world.agent("one")
    make(one, "Old")
    lines = records(exported(one))
    told: list[dict[str, Any]] = [{}, {"a": [1, None]}, {"told": "x"}, {"told": 1, "data": {}}, {"data": {"x": "é"}}]
    at = "2026-01-01T00:00:00.000Z"
    lines[1]["history"] = [{"type": "issue_updated", "at": at, "agent": "a", "data": data} for data in told]
    document = "".join(json.dumps(line) + "\n" for line in lines)
    two, three = elsewhere("two"), elsewhere("three", engine="sqlite")
    two.ask("apply_import", document=document)
    three.ask("apply_import", document=exported(two))
    for agent in (two, three):
        history = next(each for each in records(exported(agent)) if each.get("record") == "issue")["history"]
        assert sorted(map(json.dumps, (each["data"] for each in history))) == sorted(map(json.dumps, told))


@one_direction
def test_what_happened_elsewhere_is_no_news_and_in_no_figure(world: World, elsewhere: Rooms) -> None:
    """A quiet turn stays quiet after an import, and the figures of a room are its own."""
    document = (Path(__file__).parent.parent / "formats" / "rhizome.json").read_text(encoding="utf-8")
    other, reader = elsewhere("gemini"), world.agent("reader")

    def news() -> str:
        return other.room.run(briefing.news, caller=reader.caller)

    news()
    assert other.ask("apply_import", document=document)["created"]["attempts"] == 5
    assert news() == ""
    assert other.ask("stats")["recovery"]["lost"] == 0, "one of them had expired there"
