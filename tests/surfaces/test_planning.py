"""Plans in files, and graphs in every form: what people write down and look at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal

from clearway.errors import Refusal
from clearway.surfaces import graphics, planfiles

OUTLINE = """\
# The first half of payments

For people; nothing is made of this.

## Charging {#charging}
priority: high

Everything up to the first charge.

- [ ] Store cards {#store}
  labels: backend, db
  paths: src/cards.py
  done when: tokens only

  Never numbers.

  ```python
  after: not a field
  # nor a heading
  ```

  - [ ] no number in the database
  - labels: are sorted
- [x] Choose a provider
* Charge cards
  - after: Store cards, choose-a-provider
  Type: bug
  needs: gpu
goes on here

## Notes

Nothing comes of this.

## Decisions

1. Use tokens
   issue: store

   Numbers are a liability.

   They leak.
2. No ORM
"""


def outline(text: str) -> dict[str, Any]:
    return planfiles.read(text, "markdown").plan


def test_an_outline_is_a_plan() -> None:
    plan = outline(OUTLINE)

    assert plan["issues"] == [
        {
            "title": "Charging",
            "ref": "charging",
            "type": "epic",
            "priority": "high",
            "description": "Everything up to the first charge.",
        },
        {
            "title": "Store cards",
            "ref": "store",
            "status": "ready",
            "labels": ["backend", "db"],
            "paths": ["src/cards.py"],
            "acceptance_criteria": "tokens only\n- no number in the database\n- labels: are sorted",
            "parent_ref": "charging",
            "description": "Never numbers.\n\n```python\nafter: not a field\n# nor a heading\n```",
        },
        {"title": "Choose a provider", "ref": "choose-a-provider", "status": "done", "parent_ref": "charging"},
        {
            "title": "Charge cards",
            "ref": "charge-cards",
            "status": "ready",
            "type": "bug",
            "needs": ["gpu"],
            "description": "goes on here",
            "parent_ref": "charging",
        },
    ]
    assert plan["relations"] == [
        {"source_ref": "store", "target_ref": "charge-cards", "type": "blocks"},
        {"source_ref": "choose-a-provider", "target_ref": "charge-cards", "type": "blocks"},
    ]
    assert plan["decisions"] == [
        {
            "title": "Use tokens",
            "issue_ref": "store",
            "summary": "Numbers are a liability.",
            "content": "Numbers are a liability.\n\nThey leak.",
        },
        {"title": "No ORM", "summary": "No ORM"},
    ]


def test_names_made_of_titles_do_not_collide() -> None:
    plan = outline("- Same\n- Same\n- 42\n- ISSUE-7\n- 💥\n- Last\n  after: 42, Same, ISSUE-3, nobody\n")

    refs = [entry["ref"] for entry in plan["issues"]]
    assert refs == ["same", "same-2", "item-42", "item-issue-7", "item", "last"]
    sources = [relation["source_ref"] for relation in plan["relations"]]
    assert sources == ["42", "same", "ISSUE-3", "nobody"]


def test_titles_keep_their_signs() -> None:
    plan = outline("## C# ##\n- F# {#f}\n- Use {#braces} here\n## C#\n- {#only}\n")

    assert [(entry["title"], entry["ref"]) for entry in plan["issues"]] == [
        ("C#", "c"),
        ("F#", "f"),
        ("Use {#braces} here", "use-braces-here"),
        ("C#", "c-2"),
        ("", "only"),
    ]


def test_an_outline_of_any_length_is_read_at_once() -> None:
    outline("## a" + " " * 500_000 + "b\n- a" + " {#" * 200_000 + "\n" + "- x: " * 100_000)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"issues": [{"ref": "a", "title": "A", "blocks": ["b"]}, {"title": "B", "after": "a"}]}', "json"),
        ('[{"ref": "a", "title": "A"}, {"title": "B", "after": ["A"]}]', "json"),
        ("issues:\n  - {ref: a, title: A}\n  - title: B\n    after: [a]\n", "yaml"),
        ("- Title: 1\n- [not an object]\n", "yaml"),
    ],
)
def test_json_and_yaml_may_say_what_comes_after_what(text: str, form: str) -> None:
    plan = planfiles.read(text, form).plan

    relations = plan.get("relations", [])
    assert all(relation["source_ref"] == "a" and relation["target_ref"] == "b" for relation in relations)
    assert all("after" not in entry for entry in plan["issues"] if isinstance(entry, dict))
    assert bool(relations) == ("after" in text)


def test_scalars_of_yaml_are_texts() -> None:
    plan = planfiles.read(
        "issues:\n- {title: 42, description: 2026-01-02, status: no, create_missing_labels: false, labels: [1.0, ~]}\n",
        "yaml",
    ).plan

    assert plan["issues"] == [
        {
            "title": "42",
            "description": "2026-01-02",
            "status": "no",
            "create_missing_labels": False,
            "labels": ["1.0", None],
        }
    ]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a: &x [1]\nb: *x", "yaml"),
        ("a: 1\na: 2", "yaml"),
        ("- !!python/object/apply:os.system [true]", "yaml"),
        ("- !!binary aGVsbG8=", "yaml"),
        ("[" * 10_000, "yaml"),
        ("[" * 100_000, "json"),
        ("a: [", "yaml"),
        ("a: \x01", "yaml"),
        ("just text", "yaml"),
        ("{", "json"),
        ("3", "json"),
        ("NaN", "json"),
        ("- A\n\n  ```\n  never closed\n", "markdown"),
    ],
)
def test_what_is_no_plan_is_refused_in_one_line(text: str, form: str) -> None:
    with pytest.raises(Refusal) as caught:
        planfiles.read(text, form)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert len(caught.value.message) < 500


def test_a_plan_in_a_file_is_validated_and_applied_once(terminal: Terminal) -> None:
    (terminal.folder / "plan.md").write_text(OUTLINE)

    looked = terminal("plan", "validate", "plan.md")
    assert (looked.status, looked.out) == (
        0,
        "plan.md can be applied: 4 issues, 2 relations, 2 decisions; 1 to begin with.\n",
    )
    assert terminal("--json", "issue", "list").json["items"] == []
    made = terminal("--json", "plan", "apply", "plan.md").json
    assert set(made["created"]) == {"charging", "store", "choose-a-provider", "charge-cards"}
    again = terminal("plan", "apply", "plan.md")
    assert "applied before" in again.out
    assert "Store cards" in again.out
    assert len(terminal("--json", "issue", "list").json["items"]) == 4
    more = terminal("--json", "plan", "apply", "plan.md", "--idempotency-key", "again").json
    assert more["created"]["store"] != made["created"]["store"]


def test_what_is_wrong_is_told_by_its_line(terminal: Terminal) -> None:
    (terminal.folder / "plan.md").write_text("- A\n  priority: urgent\n- B\n  after: nobody\n")

    looked = terminal("plan", "validate", "plan.md")
    assert looked.status == 2
    assert looked.out.splitlines() == [
        "line 1, priority: must be one of low, medium, high, critical (INVALID_ENUM)",
        'line 3, source_ref: names no issue: "nobody" (ISSUE_NOT_FOUND)',
    ]
    applied = terminal("plan", "apply", "plan.md")
    assert applied.status == 2
    assert "VALIDATION_ERROR: Nothing was made: 2 things are wrong with plan.md." in applied.err
    assert "line 3, source_ref" in applied.err
    refusal = json.loads(terminal("--json", "plan", "apply", "plan.md").err)
    assert [(detail["line"], detail["index"]) for detail in refusal["details"]] == [(1, 0), (3, 0)]
    assert terminal("--json", "plan", "validate", "plan.md").status == 2


def test_a_plan_may_come_from_elsewhere(terminal: Terminal) -> None:
    made = terminal("--json", "plan", "apply", "-", stdin=b'[{"ref": "a", "title": "A", "status": "ready"}]')
    assert made.json["created"]["a"]["display_id"] == "ISSUE-1"
    yaml = terminal("plan", "validate", "-", "--format", "yaml", stdin=b"issues:\n- title: B\n")
    assert yaml.out.splitlines()[0] == "- can be applied: 1 issue; 0 to begin with."
    for words, stdin in (
        (("plan", "validate", "-"), b"issues: []"),
        (("plan", "validate", "-", "--format", "xml"), b""),
        (("plan", "validate", "missing.md"), b""),
        (("plan", "apply", "-", "--format", "json"), b"\xff"),
    ):
        assert terminal(*words, stdin=stdin).status == 2, words


def test_a_graph_comes_in_every_form(terminal: Terminal) -> None:
    (terminal.folder / "plan.md").write_text(OUTLINE)
    assert terminal("graph").out == "There are no issues yet.\n"
    terminal("plan", "apply", "plan.md")
    terminal("issue", "create", 'A "quoted" `title` ] --> [ \\', "--status", "ready")

    lines = terminal("graph").out.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["ISSUE", "ISSUE-2", "ISSUE-5", "ISSUE-4", "ISSUE-1"]
    assert lines[-3:] == ["Begin with: ISSUE-2, ISSUE-5.", "Critical path: ISSUE-2 > ISSUE-4.", "Left out: 1 done."]
    whole = terminal("graph", "--format", "json").json
    assert whole["entry_points"] == ["ISSUE-2", "ISSUE-5"]
    drawn = terminal("graph", "--format", "mermaid").out
    assert "  ISSUE_2 --> ISSUE_4\n" in drawn
    assert "A #34;quoted#34; #96;title#96; #93; --#62; #91; #92;" in drawn
    dot = terminal("graph", "ISSUE-4", "--format", "dot", "--depth", "1", "--relation-type", "blocks").out
    assert '  "ISSUE-2" -> "ISSUE-4";\n' in dot
    assert "ISSUE-5" not in dot
    assert '[label="ISSUE-5 A \\"quoted\\" `title` ] --> [ \\\\"' in terminal("graph", "--format", "dot").out


def test_a_graph_is_refused_what_it_cannot_be(terminal: Terminal) -> None:
    terminal("issue", "create", "A")
    for words in (("--format", "svg"), ("--depth", "x"), ("--direction", "incoming"), ("ISSUE-1", "--max-nodes", "0")):
        assert terminal("graph", *words).status == 2, words
    assert terminal("graph", "ISSUE-9").status == 3


def test_every_status_and_relation_can_be_drawn() -> None:
    from clearway.lifecycle import RELATIONS, STATUSES

    for status in (*STATUSES, "in_progress"):
        graph = {
            "nodes": [{"display_id": "ISSUE-1", "type": "task", "title": "x\ny", "status": status}],
            "edges": [{"source": "ISSUE-1", "target": "ISSUE-1", "type": kind} for kind in (*RELATIONS, "contains")],
            "summary": {},
        }
        assert graphics.mermaid(graph).count("ISSUE_1 ") == 4
        assert graphics.dot(graph).count("->") == 4


def test_a_large_file_is_refused_unread(terminal: Terminal, tmp_path: Path) -> None:
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(50 * 1_048_576)
    ended = terminal("plan", "validate", str(big))
    assert (ended.status, ended.err.partition(":")[0]) == (2, "LIMIT_EXCEEDED")
