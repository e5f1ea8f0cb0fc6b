"""Plans: many issues at once or none, and everything that is wrong with one that cannot be made."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.conftest import Agent, World
from tests.work.test_relations import archive, made, numbers, relate, set_status

from clearway.errors import Refusal

Plan = dict[str, Any]


def judged(agent: Agent, **plan: Any) -> list[tuple[int, str, str]]:
    """(index, field, code) of what is wrong with a plan, which both operations say alike; nothing is written."""
    before = (agent.world.rows("SELECT last_event, last_issue FROM room"), counted(agent.world))
    found = agent.ask("validate_issue_plan", **plan)
    assert (agent.world.rows("SELECT last_event, last_issue FROM room"), counted(agent.world)) == before
    if found["errors"]:
        refusal = agent.refused("apply_issue_plan", idempotency_key="judged", **plan)
        assert (refusal.code, refusal.retryable, refusal.details) == ("VALIDATION_ERROR", False, found["errors"])
        assert (agent.world.rows("SELECT last_event, last_issue FROM room"), counted(agent.world)) == before
    assert found["valid"] == (not found["errors"])
    return [(error.get("index", -1), error["field"], error["code"]) for error in found["errors"]]


def counted(world: World) -> list[int]:
    tables = ("issue", "issue_relation", "label", "decision", "answered")
    return [world.rows(f"SELECT count(*) AS n FROM {table}")[0].n for table in tables]


def task(ref: str, **more: Any) -> Plan:
    return {"ref": ref, "title": ref.upper(), "status": "ready", **more}


def blocks(source: str, target: str) -> Plan:
    return {"source_ref": source, "target_ref": target}


def apply(agent: Agent, **plan: Any) -> dict[str, Any]:
    return agent.ask("apply_issue_plan", idempotency_key="once", **plan)


def test_a_plan_makes_everything_at_once_in_any_order(world: World) -> None:
    """I26: the child stands before its epic, and a label that exists is used."""
    agent = world.agent("planner")
    (old,) = made(agent, "old", labels=["Backend"])
    plan: Plan = {
        "issues": [
            task(
                "step-2",
                parent_ref="epic",
                labels=["backend"],
                create_missing_labels=False,
                paths=["src/a.py"],
                needs=["GPU"],
            ),
            {"ref": "epic", "title": "The whole", "type": "epic"},
            task("step-1", parent_ref="epic", priority="high", labels=["new"], type="bug"),
            {"title": "nameless", "labels": ["NEW"], "create_missing_labels": False},
        ],
        "relations": [blocks("step-1", "step-2"), blocks(old.lower(), "step-1")],
        "decisions": [
            {"title": "Use SQLite", "summary": "It is there.", "issue_ref": "step-1"},
            {"title": "No ORM", "summary": "Never."},
        ],
    }
    assert judged(agent, **plan) == []
    assert agent.ask("validate_issue_plan", **plan)["summary"] == {
        "issues": 4, "relations": 2, "decisions": 2, "claimable": 0,
    }  # fmt: skip

    reply = apply(agent, **plan)

    names = {ref: made["display_id"] for ref, made in reply["created"].items()}
    assert names == {"epic": "ISSUE-2", "step-2": "ISSUE-3", "step-1": "ISSUE-4", "issues[3]": "ISSUE-5"}
    assert (reply["relations"], reply["decisions"]) == (2, 2)
    assert reply["latest_event_id"] == world.events()[-1].id
    second = agent.ask("get_issue", issue_id=names["step-2"])
    assert (second["parent"], second["labels"], second["open_blockers"]) == (names["epic"], ["Backend"], 1)
    assert (second["paths"], second["needs"]) == (["src/a.py"], ["gpu"])
    first = agent.ask("get_issue", issue_id=names["step-1"])
    assert (first["type"], first["priority"], first["id"]) == ("bug", "high", reply["created"]["step-1"]["issue_id"])
    assert agent.ask("get_issue", issue_id=names["issues[3]"])["labels"] == ["new"]
    assert agent.ask("get_issue", issue_id=names["epic"])["children"]["total"] == 2
    assert agent.ask("claim_issue", next=True)["display_id"] == old
    decisions = agent.ask("list_decisions", issue_id=names["step-1"])["items"]
    assert [decision["title"] for decision in decisions] == ["Use SQLite"]
    numbers(world)


def test_a_plan_is_made_once_under_its_key(world: World) -> None:
    agent = world.agent("planner")
    plan = {"issues": [task("a"), task("b")], "relations": [blocks("a", "b")]}

    missing = agent.refused("apply_issue_plan", **plan)
    first = apply(agent, **plan)

    assert (missing.code, missing.details[0]["field"]) == ("INVALID_ARGUMENT", "idempotency_key")
    assert apply(agent, **plan) == first
    assert counted(world)[0] == 2
    assert agent.refused("apply_issue_plan", idempotency_key="once", issues=[task("c")]).code == "IDEMPOTENCY_CONFLICT"


def test_too_much_is_named_list_by_list(world: World) -> None:
    """I25."""
    agent = world.agent("planner")
    issues = [task(f"t{place}") for place in range(51)]
    relations = [blocks(f"t{place % 50}", f"t{place // 50 + 5}") for place in range(101)]
    decisions = [{"title": "t", "summary": "s"} for _ in range(21)]

    found = judged(agent, issues=issues, relations=relations[:0] or relations, decisions=decisions)
    assert [each for each in found if each[2] == "MAX_ITEMS"] == [
        (-1, "decisions", "MAX_ITEMS"),
        (-1, "issues", "MAX_ITEMS"),
        (-1, "relations", "MAX_ITEMS"),
    ]
    labelled = [
        task("a", labels=[f"l{place}" for place in range(26)]),
        task("b", labels=[*"abcdefghijklmnopqrstuvwxy"]),
    ]
    assert judged(agent, issues=labelled) == [(-1, "issues", "MAX_ITEMS")]
    most = [task(f"t{place}", labels=["one"]) for place in range(50)]
    assert judged(agent, issues=most, decisions=decisions[:20]) == []
    assert len(apply(agent, issues=most, decisions=decisions[:20])["created"]) == 50


def test_a_circle_is_found_over_the_plan_and_what_is_stored(world: World) -> None:
    """I25."""
    agent = world.agent("planner")
    first, middle, last = made(agent, "A", "B", "C")
    relate(agent, first, middle)
    relate(agent, middle, last)
    set_status(agent, middle, "done")

    alone = {"issues": [task("a"), task("b")], "relations": [blocks("a", "b"), blocks("b", "a")]}
    assert judged(agent, **alone) == [(1, "relations[1]", "BLOCKS_CYCLE")]
    through = {"issues": [task("new")], "relations": [blocks(last, "new"), blocks("new", first)]}
    assert judged(agent, **through) == [(1, "relations[1]", "BLOCKS_CYCLE")]
    assert judged(agent, relations=[blocks(last, first)]) == [(0, "relations[0]", "BLOCKS_CYCLE")]
    others = {"issues": [task("new")], "relations": [blocks(first, "new"), blocks("new", last)]}
    assert judged(agent, **others) == []
    backwards = {"source_ref": last, "target_ref": first, "type": "duplicates"}
    assert judged(agent, relations=[backwards]) == []
    assert apply(agent, **others)["relations"] == 2
    numbers(world)


def test_errors_come_all_at_once_and_in_order(world: World) -> None:
    """I25."""
    agent = world.agent("planner")
    (old, gone) = made(agent, "old", "gone")
    archive(agent, gone)
    issues: list[Any] = [
        task("a", parent_ref="b", status="blocked"),
        {"ref": "b", "priority": "urgent", "colour": "red"},
        task("a", parent_ref=old, blocked_reason="why"),
        task("issue-7", type="epic", parent_ref="e"),
        task("e", type="epic", labels=["none"], create_missing_labels=False),
        {"ref": "x" * 65, "title": " ", "description": "a\0b"},
        "text",
        task("01ARZ3NDEKTSV4RRFFQ69G5FAV", parent_ref="ISSUE-99"),
    ]
    relations: list[Any] = [
        blocks("a", "a"),
        {"source_ref": "a", "target_ref": "b", "type": "related_to"},
        {"source_ref": "b", "target_ref": "a", "type": "related_to"},
        blocks("a", gone),
        blocks("nobody", "a"),
        {"source_ref": "a"},
    ]
    decisions = [{"title": "t", "summary": "s", "issue_ref": "nobody"}, {"title": "t"}]

    assert judged(agent, issues=issues, relations=relations, decisions=decisions) == [
        (0, "decisions[0].issue_ref", "ISSUE_NOT_FOUND"),
        (0, "issues[0].blocked_reason", "REQUIRED"),
        (0, "issues[0].parent_ref", "INVALID_EPIC_PARENT"),
        (0, "relations[0].target_ref", "SELF_RELATION"),
        (1, "decisions[1].summary", "REQUIRED"),
        (1, "issues[1].colour", "UNSUPPORTED"),
        (1, "issues[1].priority", "INVALID_ENUM"),
        (1, "issues[1].title", "REQUIRED"),
        (2, "issues[2].blocked_reason", "FORBIDDEN"),
        (2, "issues[2].parent_ref", "INVALID_EPIC_PARENT"),
        (2, "issues[2].ref", "DUPLICATE_REF"),
        (2, "relations[2]", "DUPLICATE_RELATION"),
        (3, "issues[3].parent_ref", "INVALID_EPIC_PARENT"),
        (3, "issues[3].ref", "RESERVED_REF"),
        (3, "relations[3].target_ref", "ISSUE_ARCHIVED"),
        (4, "issues[4].labels[0]", "LABEL_NOT_FOUND"),
        (4, "relations[4].source_ref", "ISSUE_NOT_FOUND"),
        (5, "issues[5].description", "NUL_NOT_ALLOWED"),
        (5, "issues[5].ref", "MAX_RUNES"),
        (5, "issues[5].title", "REQUIRED"),
        (5, "relations[5].target_ref", "REQUIRED"),
        (6, "issues[6]", "INVALID_VALUE"),
        (7, "issues[7].parent_ref", "ISSUE_NOT_FOUND"),
        (7, "issues[7].ref", "RESERVED_REF"),
    ]


def test_a_plan_of_nothing_is_none(world: World) -> None:
    agent = world.agent("planner")

    assert judged(agent) == [(-1, "issues", "REQUIRED")]
    assert judged(agent, issues=[], relations=[]) == [(-1, "issues", "REQUIRED")]
    for wrong in ({"issues": "text"}, {"issues": {}}, {"colour": []}):
        with pytest.raises(Refusal, match="validate_issue_plan"):
            agent.ask("validate_issue_plan", **wrong)


def test_a_relation_that_exists_is_said_and_may_be_left_out(world: World) -> None:
    agent = world.agent("planner")
    first, second, third = made(agent, "A", "B", "C")
    relate(agent, first, second)
    relate(agent, second, third, relation_type="related_to")

    same = {"source_ref": third, "target_ref": second, "type": "related_to"}
    assert judged(agent, relations=[blocks(first, second), same, blocks(first, third)]) == [
        (0, "relations[0]", "DUPLICATE_RELATION"),
        (1, "relations[1]", "DUPLICATE_RELATION"),
    ]
    assert apply(agent, relations=[blocks(first, third)]) | {"created": {}, "relations": 1} == apply(
        agent, relations=[blocks(first, third)]
    )


def test_a_decision_of_a_plan_may_replace_another(world: World) -> None:
    agent = world.agent("planner")
    (issue,) = made(agent, "A")
    old = agent.ask("record_decision", title="Old", summary="s")["decision_id"]
    new = {"title": "New", "summary": "s", "supersedes_id": old}

    assert judged(agent, decisions=[new | {"issue_ref": issue}]) == [
        (0, "decisions[0].supersedes_id", "SCOPE_MISMATCH")
    ]
    assert judged(agent, decisions=[new, new]) == [(1, "decisions[1].supersedes_id", "DUPLICATE")]
    assert judged(agent, decisions=[new | {"supersedes_id": "nothing"}]) == [
        (0, "decisions[0].supersedes_id", "NOT_FOUND")
    ]
    apply(agent, decisions=[new])
    listed = agent.ask("list_decisions")["items"]
    assert [(each["title"], each["status"]) for each in listed] == [("New", "active"), ("Old", "superseded")]


def test_a_plan_that_nobody_could_begin_is_warned_about(world: World) -> None:
    agent = world.agent("planner")

    idle = agent.ask("validate_issue_plan", issues=[{"title": "a"}, {"title": "b", "type": "epic"}])
    busy = agent.ask("validate_issue_plan", issues=[task("a"), task("b")], relations=[blocks("a", "b")])

    assert [warning["code"] for warning in idle["warnings"]] == ["NOTHING_CLAIMABLE"]
    assert (busy["warnings"], busy["summary"]["claimable"]) == ([], 1)


def test_refs_may_use_the_word_of_the_project(world: World) -> None:
    agent = world.agent("planner")
    made(agent, "old")
    agent.ask("update_project", key="PAY")

    reply = apply(agent, issues=[task("new")], relations=[blocks("pay-1", "new")])

    assert reply["created"]["new"]["display_id"] == "PAY-2"
    assert agent.ask("get_issue", issue_id="ISSUE-2")["open_blockers"] == 1
    assert judged(agent, issues=[task("pay-7")]) == [(0, "issues[0].ref", "RESERVED_REF")]
    assert judged(agent, issues=[task("play-7")]) == []


def test_any_plan_is_made_as_it_was_judged(world: World) -> None:
    """Plans at random in one room: a circle is found exactly where there is one, and the numbers hold."""
    agent = world.agent("planner")
    chance = Random(7)
    stored: list[str] = []
    edges: set[tuple[str, str]] = set()
    made_plans = 0
    for turn in range(25):
        new = [f"n{place}" for place in range(chance.randint(1, 4))]
        ends = [*new, *chance.sample(stored, min(4, len(stored)))]
        wanted = {(chance.choice(ends), chance.choice(ends)) for _ in range(chance.randint(1, 5))}
        pairs = sorted((source, target) for source, target in wanted - edges if source != target)
        closing: list[int] = []
        known = set(edges)
        for place, (source, target) in enumerate(pairs):
            if leads(known, target, source):
                closing.append(place)
            else:
                known.add((source, target))
        plan = {"issues": [task(ref) for ref in new], "relations": [blocks(*pair) for pair in pairs]}

        assert judged(agent, **plan) == [(place, f"relations[{place}]", "BLOCKS_CYCLE") for place in closing]

        if not closing:
            reply = agent.ask("apply_issue_plan", idempotency_key=str(turn), **plan)
            name = {ref: made["display_id"] for ref, made in reply["created"].items()}
            edges |= {(name.get(source, source), name.get(target, target)) for source, target in pairs}
            stored += name.values()
            made_plans += 1
            numbers(world)
    assert 3 < made_plans < 25
    assert world.rows("SELECT count(*) AS n FROM issue_relation")[0].n == len(edges)


def leads(edges: set[tuple[str, str]], start: str, goal: str) -> bool:
    reached = {start}
    while True:
        more = {target for source, target in edges if source in reached} - reached
        if not more:
            return goal in reached
        reached |= more
