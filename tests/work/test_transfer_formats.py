"""Documents of other trackers: what becomes of what is in them, and that a second import finds what the first made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Agent, World

FORMATS = Path(__file__).parent.parent / "formats"
FILES = {
    "rhizome.json": "rhizome",
    "beads.jsonl": "beads",
    "github.json": "github",
    "tasks.md": "markdown",
    "small/rhizome-v1.json": "rhizome",
    "small/beads.jsonl": "beads",
    "small/tasks.md": "markdown",
}


def text_of(name: str) -> str:
    return (FORMATS / name).read_text(encoding="utf-8")


def brought(world: World, name: str) -> tuple[Agent, dict[str, dict[str, Any]]]:
    """Somebody in a room with what is in a file, and its issues by their titles."""
    codex = world.agent("codex")
    codex.ask("apply_import", document=text_of(name), format=FILES[name])
    items = codex.ask("list_issues", limit=100)["items"]
    return codex, {item["title"]: codex.ask("get_issue", issue_id=item["display_id"]) for item in items}


def waits(agent: Agent, shown: dict[str, Any]) -> set[str]:
    graph = agent.ask("get_issue_graph", root_issue_id=shown["id"], depth=1, direction="incoming")
    return {edge["source"] for edge in graph["edges"] if edge["type"] == "blocks"}


def test_every_example_is_imported_and_a_second_time_changes_nothing(world: World) -> None:
    """All of them into one room, on both engines; without being told, JSON is known by its looks."""
    codex = world.agent("codex")
    for name, form in FILES.items():
        given = {"format": form} if form == "markdown" else {}
        document = text_of(name)
        looked = codex.ask("validate_import", document=document, mode="merge", **given)
        done = codex.ask("apply_import", document=document, mode="merge", **given)
        assert done["format"] == form and done["created"]["issues"] > 0, name
        assert (looked["created"], looked["conflicts"]) == (done["created"], done["conflicts"]), name
        events = codex.ask("get_changes")["latest_event_id"]
        again = codex.ask("apply_import", document=document, mode="merge", **given)
        assert (again["created"], again["updated"]) == ({}, {}), name
        assert codex.ask("get_changes")["latest_event_id"] == events, name
    whole = codex.ask("export_project")["document"]
    assert codex.ask("apply_import", document=whole, mode="merge")["created"] == {}


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_rhizome_keeps_its_ids_and_all_it_has(world: World) -> None:
    codex, found = brought(world, "rhizome.json")
    assert len(found) == 24
    known = {each["id"]: each for each in json.loads(text_of("rhizome.json"))["issues"]}
    for title, shown in found.items():
        told = known[shown["id"]]
        assert (title, shown["type"], shown["status"]) == (told["title"], told["type"], told["status"])
        assert (shown["priority"], shown.get("description")) == (told["priority"], told["description"])
    assert found["Part 5 of the shop"]["labels"] == ["Été"] or found["Part 5 of the shop"]["labels"]
    assert found["Part 3 of the shop"]["parent"] == found["Part 0 of the shop"]["display_id"]
    attempts = {each["status"]: each for each in codex.ask("list_attempts")["items"]}
    assert set(attempts) == {"completed", "failed", "interrupted", "expired"}
    assert attempts["failed"]["failure_code"] == "tests_failed"
    decisions = codex.ask("list_decisions")["items"]
    assert [(each["title"], each["status"]) for each in decisions] == [
        *(("Two currencies", "active"), ("One currency", "superseded")),
    ]
    story = codex.ask("get_issue_activity", issue_id=found["Part 3 of the shop"]["id"], limit=100)["items"]
    assert {"codex-1@rhizome", "rhizome"} <= {each["agent"] for each in story}
    assert any(each.get("told") == "status_changed" for each in story)


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_rhizome_keeps_what_a_program_wrote_down_with_an_artifact(world: World) -> None:
    codex, _ = brought(world, "small/rhizome-v1.json")
    artifacts = [made for each in codex.ask("list_attempts")["items"] for made in each.get("artifacts", [])]
    assert [made["metadata"] for made in artifacts] == [{"lines": 40}]


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_beads_become_issues_and_nothing_of_them_is_lost(world: World) -> None:
    codex, found = brought(world, "beads.jsonl")
    stock = found["Reserve stock while somebody pays"]
    assert (stock["status"], stock["priority"], stock["type"]) == ("ready", "critical", "task")
    assert stock["labels"] == ["db", "feature", "payments"]
    assert stock["parent"] == found["Checkout"]["display_id"]
    for part in ("## Design", "One row per reservation", "## Notes", "beads: shop-1.1", "assignee: agent-7", "90"):
        assert part in stock["description"]
    assert stock["acceptance_criteria"] == "two buyers, one item: one is told"
    assert stock["open_blockers"] == 0 and stock["claimable"], "what blocked it is done"
    receipt, font = found["Write the receipt"], found["Choose a font for the receipt"]
    assert waits(codex, receipt) == {stock["display_id"], font["display_id"]}
    assert font["parent"] == found["Checkout"]["display_id"] and font["labels"] == ["chore"]
    assert found["Payment twice on double click"]["blocked_reason"] == "blocked in beads"
    gift = found["Gift cards"]
    assert (gift["status"], gift["priority"], gift["labels"]) == ("open", "low", ["deferred", "later"])
    assert found["Prices are rounded twice"]["closed_at"] == "2026-10-05T08:00:00Z"
    assert "Old basket page" not in found
    said = codex.ask("get_issue_activity", issue_id=stock["id"], types=["comments"])["items"]
    assert [each["agent"] for each in said] == ["Ann-Example@beads", "agent-7@beads"]
    greek = next(shown for title, shown in found.items() if title.startswith("Ελληνικά"))
    assert "custom_field: kept as it is" in greek["description"]
    looked = codex.ask("validate_import", document=text_of("beads.jsonl"), mode="merge")
    assert looked["left_out"] == ["$[10] (deleted)", "$[12].metadata", "$[12].dependencies[1] (external:erp:counts)"]


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_issues_of_github_keep_their_address_and_their_authors(world: World) -> None:
    codex, found = brought(world, "github.json")
    total = found["Total is wrong with two discounts"]
    assert (total["type"], total["priority"], total["status"]) == ("bug", "high", "open")
    assert "https://github.com/example/shop/issues/3" in total["description"]
    assert found["Support IE 6"]["status"] == "cancelled"
    assert (found["Crash on empty basket"]["status"], found["Crash on empty basket"]["priority"]) == (
        "done",
        "critical",
    )
    assert "assignees: ann" in found["Add a dark theme"]["description"]
    said = codex.ask("get_issue_activity", issue_id=total["id"], types=["comments"])["items"]
    assert [(each["agent"], each["content"]) for each in said] == [("hubot@github", "I can see it, too.")]
    turned = next(shown for title, shown in found.items() if title.startswith("Title"))
    story = codex.ask("get_issue_activity", issue_id=turned["id"])["items"]
    assert story[-1]["agent"] == "human@github", "nobody there is the human here"


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_list_of_tasks_becomes_epics_and_tasks(world: World) -> None:
    codex, found = brought(world, "tasks.md")
    stock = found["Reserve stock while somebody pays"]
    assert (stock["priority"], stock["labels"], stock["status"]) == ("critical", ["db", "payments"], "ready")
    assert stock["description"].startswith("One row per reservation, with a term.\n\n```python\n# not a heading")
    checkout = codex.ask("get_issue", issue_id=stock["parent"])
    assert checkout["type"] == "epic" and checkout["description"].startswith("How people pay.")
    assert "parent" in found["Tell everybody about this list"]
    assert "Nothing here yet" not in found and "not a task either" not in found
    race = found["Write the race test"]
    assert waits(codex, stock) == {race["display_id"], found["Choose the table's name"]["display_id"]}
    before = ("Find two machines for it", "Choose the table's name")
    assert waits(codex, race) == {found[title]["display_id"] for title in before}
    before = ("Show the total, before the last click", "Fix the rounding of prices")
    assert waits(codex, found["Send the receipt"]) == {found[title]["display_id"] for title in before}
    assert found["Gift cards"]["parent"] == found["Later"]["display_id"]
    assert found["Done long ago"]["status"] == "done", "an epic of which all is done"
    basket = [item for item in codex.ask("list_issues", limit=100)["items"] if item["title"] == "Basket"]
    assert len(basket) == 2, "two boxes of one name are two tasks"


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_what_is_newer_elsewhere_changes_what_is_here_and_nothing_else(world: World) -> None:
    codex, found = brought(world, "beads.jsonl")
    lines = [json.loads(line) for line in text_of("beads.jsonl").splitlines()]
    lines[2]["title"] = "Changed without a date"
    lines[3] |= {"title": "Changed later", "updated_at": "2026-12-01T08:00:00Z", "status": "closed"}
    world.clock.jump_wall(hours=9 * 30 * 24)  # what is imported was written before it is imported
    codex.ask("update_issue", issue_id=found["Gift cards"]["id"], expected_version=1, changes={"title": "Changed here"})
    changed = "".join(json.dumps(line) + "\n" for line in lines)
    done = codex.ask("apply_import", document=changed, mode="merge")
    assert done["updated"] == {"issues": 1}
    titles = {item["title"]: item for item in codex.ask("list_issues", limit=100)["items"]}
    assert "Changed later" in titles and "Changed here" in titles and "Changed without a date" not in titles
    assert (titles["Changed later"]["status"], titles["Changed later"]["version"]) == ("done", 2)
    assert codex.ask("apply_import", document=changed, mode="merge")["updated"] == {}


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "document",
    [
        "# A" + 50_000 * " " + "heading\n- [ ] Long\n",
        "# " + 20_000 * "# " + "x\n- [ ] Long\n",
        "- [ ] A" + 200_000 * " " + "title, after: Nothing\n- [ ] Nothing\n",
        20_000 * "# Heading\n\n- [x] Box\n",
    ],
    ids=["spaces", "signs", "title", "boxes"],
)
def test_a_list_of_any_shape_is_read_in_its_time(world: World, document: str) -> None:
    """Each of them kept a whole host busy for hours once."""
    looked = world.agent("codex").ask("validate_import", document=document, format="markdown")
    assert looked["created"]["issues"] >= 2


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_heading_keeps_the_signs_of_its_words(world: World) -> None:
    document = "# Learn C#\n- [ ] One\n## Closed ##\n- [x] Two\n"
    codex = world.agent("codex")
    codex.ask("apply_import", document=document, format="markdown")
    titles = {each["title"] for each in codex.ask("list_issues", limit=100)["items"]}
    assert {"Learn C#", "Closed"} <= titles
