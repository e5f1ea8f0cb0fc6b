"""How issues hang together: around one of them, and for the whole project."""

from __future__ import annotations

from typing import Any

from tests.conftest import World
from tests.work.test_relations import archive, made, relate, set_status

from clearway import wire
from clearway.work import graphs

Graph = dict[str, Any]


def size(reply: Graph) -> int:
    return len(wire.dumps(reply).encode())


def names(graph: Graph) -> list[str]:
    return [node["display_id"] for node in graph["nodes"]]


def edges(graph: Graph) -> set[tuple[str, str, str]]:
    return {(edge["source"], edge["target"], edge["type"]) for edge in graph["edges"]}


def fill(world: World, count: int, *, status: str = "done", title: str = "x" * 40) -> None:
    """Many issues at once, as a room has them after a year."""
    last = world.rows("SELECT last_issue FROM room")[0].last_issue
    closed = 1 if status in ("done", "cancelled") else None
    for number in range(last + 1, last + count + 1):
        world.change(
            "INSERT INTO issue (id, number, type, title, status, priority, version, open_blockers, unblocks,"
            " latest_event, created_by, created_wall, updated_wall, closed_wall)"
            " VALUES (:id, :number, 'task', :title, :status, 1, 1, 0, 0, 1, 'x', 1, 1, :closed)",
            id=f"0{number:025}",
            number=number,
            title=title,
            status=status,
            closed=closed,
        )
    world.change("UPDATE room SET last_issue = :last", last=last + count)


def test_the_graph_of_an_issue_goes_so_many_steps(world: World) -> None:
    """I22."""
    agent = world.agent("planner")
    first, second, third, friend = made(agent, "A", "B", "C", "D")
    relate(agent, first, second)
    relate(agent, second, third)
    relate(agent, friend, first, relation_type="related_to")

    alone = agent.ask("get_issue_graph", root_issue_id=first, depth=0, max_nodes=1)
    assert (names(alone), alone["edges"], alone["truncated"]) == ([first], [], False)
    near = agent.ask("get_issue_graph", root_issue_id=first, depth=1)
    assert names(near) == [first, second, friend]
    whole = agent.ask("get_issue_graph", root_issue_id=first)
    assert edges(whole) == {(first, second, "blocks"), (second, third, "blocks"), (first, friend, "related_to")}
    assert whole["critical_path"] == [first, second, third]
    assert set(whole["entry_points"]) == {first, friend}
    assert whole["blocking_nodes"] == [first, second]
    back = agent.ask("get_issue_graph", root_issue_id=second, direction="incoming", relation_types=["blocks"])
    assert names(back) == [second, first]
    assert "updated_at" not in whole["nodes"][0]


def test_a_graph_that_is_too_large_says_so(world: World) -> None:
    """I22."""
    agent = world.agent("planner")
    root, *rest = made(agent, *"ABCDE")
    for issue in rest:
        relate(agent, root, issue)

    cut = agent.ask("get_issue_graph", root_issue_id=root, max_nodes=3)

    assert (len(cut["nodes"]), cut["truncated"], cut["truncation_reason"]) == (3, True, "node_limit")
    assert cut["summary"]["left_out"] == {"ready": 2}
    for wrong in ({"max_nodes": 0}, {"max_nodes": 501}, {"depth": 6}, {"depth": -1}, {"direction": "up"}):
        assert agent.refused("get_issue_graph", root_issue_id=root, **wrong).code == "INVALID_ARGUMENT"
    assert agent.refused("get_issue_graph", root_issue_id="ISSUE-99").code == "ISSUE_NOT_FOUND"
    archive(agent, root)
    assert agent.refused("get_issue_graph", root_issue_id=root).code == "ISSUE_ARCHIVED"
    assert agent.refused("get_planning_graph", root_issue_id=root).code == "ISSUE_ARCHIVED"


def test_an_epic_contains_what_is_below_it(world: World) -> None:
    """I22."""
    agent = world.agent("planner")
    (epic,) = made(agent, "E", type="epic")
    first, second = made(agent, "A", "B", parent_issue_id=epic, description="A long story.")
    set_status(agent, second, "done")

    graph = agent.ask("get_issue_graph", root_issue_id=epic)
    assert edges(graph) == {(epic, first, "contains"), (epic, second, "contains")}
    assert "A long story." not in wire.dumps(graph)
    assert names(agent.ask("get_issue_graph", root_issue_id=first, depth=1)) == [first, epic]
    assert names(agent.ask("get_issue_graph", root_issue_id=epic, include_hierarchy=False)) == [epic]
    assert names(agent.ask("get_issue_graph", root_issue_id=epic, include_terminal=False)) == [epic, first]
    archive(agent, first)
    assert names(agent.ask("get_issue_graph", root_issue_id=epic)) == [epic, second]


def test_planning_shows_where_to_begin_and_what_everything_waits_for(world: World) -> None:
    """I23."""
    agent = world.agent("planner")
    lone, start, middle, end, idea = made(agent, "lone", "start", "middle", "end", "idea")
    relate(agent, start, middle)
    relate(agent, middle, end)
    set_status(agent, lone, "done")
    (review,) = made(agent, "seen", status="review")

    graph = agent.ask("get_planning_graph")

    assert names(graph)[:4] == [start, idea, review, middle]
    assert set(graph["entry_points"]) == {start, idea, review}
    assert graph["critical_path"] == [start, middle, end]
    assert graph["blocking_nodes"] == [start, middle]
    assert graph["summary"]["left_out"] == {"done": 1}
    assert graph["truncated"] is False
    without = agent.ask("get_planning_graph", include_review=False)
    assert review not in names(without)
    assert without["summary"]["left_out"] == {"review": 1, "done": 1}


def test_planning_around_one_issue_keeps_to_it(world: World) -> None:
    agent = world.agent("planner")
    (epic,) = made(agent, "E", type="epic")
    first, second = made(agent, "A", "B", parent_issue_id=epic)
    (other,) = made(agent, "other")
    relate(agent, first, second)
    relate(agent, other, second, relation_type="related_to")
    set_status(agent, first, "done")

    graph = agent.ask("get_planning_graph", root_issue_id=epic)

    assert names(graph) == [epic, second]
    assert edges(graph) == {(epic, second, "contains")}
    assert graph["summary"]["left_out"] == {"done": 1}
    assert "critical_path" not in graph
    assert other in names(agent.ask("get_planning_graph", root_issue_id=epic, include_related=True))
    assert names(agent.ask("get_planning_graph", root_issue_id=epic, max_nodes=1)) == [epic]
    (third,) = made(agent, "C", parent_issue_id=epic)
    relate(agent, second, third)
    later = agent.ask("get_planning_graph", root_issue_id=epic)
    assert (later["critical_path"], later["blocking_nodes"]) == ([second, third], [second])


def test_finished_work_never_hides_what_is_ready(world: World) -> None:
    """I23."""
    fill(world, 150)
    agent = world.agent("planner")
    (ready,) = made(agent, "the one")

    graph = agent.ask("get_planning_graph")

    assert (names(graph), graph["entry_points"]) == ([ready], [ready])
    assert graph["summary"]["left_out"] == {"done": 150}


def test_a_thousand_issues_fit_the_budget_with_ready_work(world: World) -> None:
    """The budget of a default call: 8,000 bytes, with the best ready work in it, what is left out named."""
    fill(world, 300)
    fill(world, 350, status="open", title="й" * 300)
    fill(world, 340, status="ready")
    agent = world.agent("planner")
    best, urgent = made(agent, "unblocks", "urgent")
    waiting = made(agent, *"ABCDEFGH", labels=["a rather long label", "and another one"])
    for one, other in zip([best, *waiting], waiting, strict=False):
        relate(agent, one, other)
    version = agent.ask("get_issue", issue_id=urgent)["version"]
    agent.ask("update_issue", issue_id=urgent, expected_version=version, changes={"priority": "critical"})

    graph = agent.ask("get_planning_graph")

    assert size(graph) <= 8_000
    assert graph["entry_points"][:2] == [urgent, best]
    assert graph["critical_path"] == [best, *waiting]
    assert set(names(graph)) >= set(waiting)
    assert (graph["truncated"], graph["truncation_reason"]) == (True, "byte_limit")
    shown = graph["summary"]["nodes"]
    assert shown + sum(graph["summary"]["left_out"].values()) == 1_000
    assert graph["summary"]["left_out"]["done"] == 300
    agent.ask("update_project", key="LONGERKEYS")
    renamed = agent.ask("get_planning_graph")
    assert 7_000 < size(renamed) <= 8_000
    assert renamed["entry_points"][0] == urgent.replace("ISSUE", "LONGERKEYS")
    more = agent.ask("get_planning_graph", max_nodes=500, max_bytes=500_000)
    assert (len(more["nodes"]), more["truncation_reason"]) == (500, "node_limit")
    around = agent.ask("get_issue_graph", root_issue_id=best, depth=5)
    assert size(around) <= 8_000
    assert around["truncated"] is False


def test_titles_and_labels_of_any_kind_keep_the_budget(world: World) -> None:
    agent = world.agent("planner")
    labels = [f"{place:02}{'й' * 62}" for place in range(50)]
    (root,) = made(agent, '"\\' * 150, labels=labels)
    others = made(agent, *("\u200b" + "\x01" * 299 for _ in range(30)), labels=labels)
    for issue in others:
        relate(agent, root, issue)

    for most in (8_000, 2_000):
        graph = agent.ask("get_issue_graph", root_issue_id=root, max_bytes=most)
        assert size(graph) <= most
        assert graph["truncation_reason"] == "byte_limit"
        assert graph["nodes"][0]["display_id"] == root
        assert "labels" not in graph["nodes"][0]
    assert root in agent.ask("get_planning_graph", max_bytes=2_000)["entry_points"]


def test_what_is_in_work_is_in_the_plan_and_no_entry(world: World) -> None:
    agent, other = world.agent("planner"), world.agent("codex")
    (taken,) = made(agent, "taken")
    other.ask("claim_issue", issue_id=taken)

    graph = agent.ask("get_planning_graph")

    assert graph["nodes"][0] | {"held_by": "codex", "effective_status": "in_progress"} == graph["nodes"][0]
    assert graph["entry_points"] == []
    world.clock.forward(minutes=60 * 5)
    assert agent.ask("get_planning_graph")["entry_points"] == [taken]


def test_the_longest_chain_is_found() -> None:
    waits = [("a", "b"), ("b", "c"), ("a", "c"), ("x", "c"), ("c", "d"), ("y", "z")]

    assert graphs.critical_path(waits) == ["a", "b", "c", "d"]
    assert graphs.critical_path(list(reversed(waits))) == ["a", "b", "c", "d"]
    assert graphs.critical_path([]) == []
    assert graphs.critical_path([("a", "b"), ("b", "a")]) == []
