"""Documents that are wrong: each is refused as a whole, with a code, the path of what is wrong, and nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Agent, World

FORMATS = Path(__file__).parent.parent / "formats"
Record = dict[str, Any]

one_engine = pytest.mark.parametrize("world", ["sqlite"], indirect=True)

EPIC, TASK, OTHER = ("01K0000000000000000000000" + sign for sign in "123")
AT = "2026-11-01T08:00:00.000Z"


def issue(number: int, issue_id: str, **more: Any) -> Record:
    return {
        "record": "issue",
        "id": issue_id,
        "number": number,
        "type": "task",
        "title": f"Issue {number}",
        "status": "ready",
        "priority": "medium",
        "version": 1,
        "created_by": "codex",
        "created_at": AT,
        "updated_at": AT,
        **more,
    }


def relation(source: str, target: str, kind: str = "blocks") -> Record:
    return {"record": "relation", "type": kind, "source": source, "target": target, "created_by": "codex"}


def comment(sign: str = "9", **more: Any) -> Record:
    said = {"record": "comment", "id": f"01K0000000000000000000000{sign}", "issue": TASK, "agent": "codex"}
    return {**said, "content": "hm", "created_at": AT, **more}


HEADER: Record = {"format": "clearway", "version": 1, "project": {"id": EPIC, "name": "Demo"}}


def document(*records: Record, header: Record | None = None) -> str:
    order = ("label", "issue", "relation", "comment", "decision", "attempt", "note", "artifact", "review")
    counts = {name: sum(each.get("record") == name for each in records) for name in order}
    lines = [header or HEADER, *records, {"record": "end", "counts": counts}]
    return "".join(json.dumps(line) + "\n" for line in lines)


SOUND = (issue(1, EPIC, type="epic", status="open"), issue(2, TASK, parent=EPIC), issue(3, OTHER))

WRONG: dict[str, tuple[Callable[[], str], str, str]] = {
    "another version": (
        lambda: document(*SOUND, header={**HEADER, "version": 2}),
        *("UNSUPPORTED_FORMAT_VERSION", "$[0].version"),
    ),
    "no version": (
        lambda: document(*SOUND, header={"format": "clearway", "project": {"id": EPIC}}),
        *("UNSUPPORTED_FORMAT_VERSION", "$[0].version"),
    ),
    "an unknown field of the header": (
        lambda: document(*SOUND, header={**HEADER, "token": "x"}),
        *("UNSUPPORTED_FIELD", "$[0].token"),
    ),
    "an unknown field": (lambda: document(issue(1, TASK, assignee="x")), "UNSUPPORTED_FIELD", "$[1].assignee"),
    "an unknown record": (lambda: document({"record": "lease"}), "INVALID_ARGUMENT", "$[1].record"),
    "an active attempt": (
        lambda: document(
            *SOUND,
            {
                "record": "attempt",
                "id": comment()["id"],
                "issue": TASK,
                "agent": "codex",
                "kind": "work",
                "status": "active",
                "issue_version": 1,
                "started_at": AT,
                "finished_at": AT,
            },
        ),
        *("INVALID_ARGUMENT", "$[4].status"),
    ),
    "cut off in a record": (lambda: document(*SOUND)[:-160], "INVALID_ARGUMENT", "$[3]"),
    "cut off between records": (
        lambda: "\n".join(document(*SOUND).splitlines()[:3]) + "\n",
        *("INVALID_ARGUMENT", "$[-1]"),
    ),
    "a record too few": (
        lambda: "\n".join(line for line in document(*SOUND).splitlines() if OTHER not in line),
        *("INVALID_ARGUMENT", "$[3].counts"),
    ),
    "more behind the end": (lambda: document(*SOUND) + json.dumps(comment()), "INVALID_ARGUMENT", "$[5]"),
    "an id twice": (lambda: document(*SOUND, issue(4, TASK)), "INVALID_ARGUMENT", "$[4].id"),
    "a number twice": (lambda: document(issue(1, TASK), issue(1, OTHER)), "INVALID_ARGUMENT", "$[2].number"),
    "a name twice": (
        lambda: document(issue(1, TASK)).replace('"title"', '"title": "x", "title"'),
        *("INVALID_ARGUMENT", "$[1]..title"),
    ),
    "a label twice": (
        lambda: document({"record": "label", "name": "Db"}, {"record": "label", "name": "dB"}),
        *("INVALID_ARGUMENT", "$[2].name"),
    ),
    "no such parent": (lambda: document(issue(1, TASK, parent=EPIC)), "INVALID_ARGUMENT", "$[1].parent"),
    "a parent that is no epic": (
        lambda: document(issue(1, TASK, parent=OTHER), issue(2, OTHER)),
        *("INVALID_EPIC_PARENT", "$[1].parent"),
    ),
    "an epic with a parent": (
        lambda: document(issue(1, EPIC, type="epic"), issue(2, TASK, type="epic", parent=EPIC)),
        *("INVALID_EPIC_PARENT", "$[2].parent"),
    ),
    "a remark about nothing": (lambda: document(comment()), "INVALID_ARGUMENT", "$[1].issue"),
    "a relation with nothing": (
        lambda: document(issue(1, TASK), relation(TASK, OTHER)),
        *("INVALID_ARGUMENT", "$[2].target"),
    ),
    "a relation with itself": (
        lambda: document(issue(1, TASK), relation(TASK, TASK)),
        *("SELF_RELATION", "$[2].target"),
    ),
    "a circle": (
        lambda: document(issue(1, TASK), issue(2, OTHER), relation(TASK, OTHER), relation(OTHER, TASK)),
        *("BLOCKS_CYCLE", "$[3].target"),
    ),
    "related both ways": (
        lambda: document(*SOUND, relation(TASK, OTHER, "related_to"), relation(OTHER, TASK, "related_to")),
        *("INVALID_ARGUMENT", "$[5].target"),
    ),
    "blocked without a reason": (
        lambda: document(issue(1, TASK, status="blocked")),
        *("INVALID_ARGUMENT", "$[1].blocked_reason"),
    ),
    "a number that leaves none": (
        lambda: document(issue(2**53 - 1, TASK)),
        *("INVALID_ARGUMENT", "$[1].number"),
    ),
    "a title too long": (lambda: document(issue(1, TASK, title="x" * 301)), "LIMIT_EXCEEDED", "$[1].title"),
    "NUL": (lambda: document(issue(1, TASK, title="a\0b")), "INVALID_ARGUMENT", "$[1].title"),
    "half a surrogate pair": (lambda: document(issue(1, TASK, title="\ud800")), "INVALID_ARGUMENT", "$[1].title"),
    "half a surrogate pair in a history": (
        lambda: document(
            issue(1, TASK, history=[{"type": "issue_updated", "at": AT, "agent": "x", "data": {"title": "\udfff"}}])
        ),
        *("INVALID_ARGUMENT", "$[1].history[0].data"),
    ),
    "NUL in a history": (
        lambda: document(
            issue(1, TASK, history=[{"type": "issue_updated", "at": AT, "agent": "x", "data": {"title": "\0"}}])
        ),
        *("INVALID_ARGUMENT", "$[1].history[0].data"),
    ),
    "a time that is none": (lambda: document(issue(1, TASK, created_at="soon")), "INVALID_ARGUMENT", "$[1].created_at"),
    "a time before all": (
        lambda: document(issue(1, TASK, created_at="0001-01-01T00:00:00Z")),
        *("INVALID_ARGUMENT", "$[1].created_at"),
    ),
    "a number that is none": (lambda: document(issue(1.5, TASK)), "INVALID_ARGUMENT", "$[1].number"),  # type: ignore[arg-type]
    "a number without end": (
        lambda: document(issue(1, TASK)).replace('"number": 1', '"number": ' + "9" * 5_000),
        *("INVALID_ARGUMENT", "$[1]"),
    ),
    "no number at all": (
        lambda: document(issue(1, TASK)).replace('"number": 1', '"number": NaN'),
        *("INVALID_ARGUMENT", "$[1]"),
    ),
    "nested without end": (
        lambda: document(issue(1, TASK)).replace('"Issue 1"', "[" * 100_000),
        *("INVALID_ARGUMENT", "$[1]"),
    ),
    "an address with a password": (
        lambda: document(
            issue(1, TASK),
            {
                "record": "artifact",
                "id": comment()["id"],
                "issue": TASK,
                "type": "url",
                "created_at": AT,
                "uri": "https://me:secret@example.org",
            },
        ),
        *("INVALID_ARGUMENT", "$[2].uri"),
    ),
    "records out of order": (lambda: document(comment(), *SOUND), "INVALID_ARGUMENT", "$[2].record"),
    "nothing": (lambda: "", "INVALID_ARGUMENT", "$"),
    "no JSON": (lambda: "once upon a time", "INVALID_ARGUMENT", "$"),
    "only half of JSON": (lambda: '{"format"', "INVALID_ARGUMENT", "$[0]"),
    "a number": (lambda: "[1, 2]", "INVALID_ARGUMENT", "$[0].number"),
    "more than a tool takes": (lambda: " " * 5_000_000, "LIMIT_EXCEEDED", "document"),
}


def refuses(agent: Agent, wrong: str, text: str, code: str, path: str, **more: Any) -> None:
    """The document is refused by whoever looks at it and by whoever writes it, and the room is as it was."""
    before = agent.ask("get_changes")["latest_event_id"]
    for operation in ("validate_import", "apply_import"):
        refusal = agent.refused(operation, document=text, **more)
        assert refusal.code == code, (wrong, refusal.as_dict())
        assert refusal.details[0]["field"] == path, (wrong, refusal.as_dict())
    assert agent.ask("get_changes")["latest_event_id"] == before
    assert agent.ask("list_issues")["items"] == []


@one_engine
def test_a_wrong_document_is_refused_with_its_path(world: World) -> None:
    """I61."""
    codex = world.agent("codex")
    for wrong, (made, code, path) in WRONG.items():
        refuses(codex, wrong, made(), code, path)


def test_a_document_with_one_fault_leaves_nothing_behind(world: World) -> None:
    """Not the numbers either. On both engines."""
    codex = world.agent("codex")
    many = [issue(place + 10, f"01K1{place:022}") for place in range(600)]
    refuses(
        codex,
        "dangling",
        document(*SOUND, *many, comment(issue="01KZZZZZZZZZZZZZZZZZZZZZZZ")),
        "INVALID_ARGUMENT",
        "$[604].issue",
    )
    assert codex.ask("create_issue", title="First")["display_id"] == "ISSUE-1"


@one_engine
def test_every_fault_is_told_up_to_a_hundred(world: World) -> None:
    refusal = world.agent("codex").refused(
        "validate_import", document=document(*(issue(place + 1, f"01K1{place:022}", title="") for place in range(150)))
    )
    assert len(refusal.details) == 100 and "149 more" in refusal.message
    assert refusal.details[7] == {
        "field": "$[8].title",
        "code": "REQUIRED",
        "message": "must not be blank",
        "line": 9,
    }


# --- rhizome --------------------------------------------------------------------------------------------------------


def rhizome(change: Callable[[Any], None]) -> str:
    made = json.loads((FORMATS / "rhizome.json").read_text(encoding="utf-8"))
    change(made)
    return json.dumps(made)


def _set(*keys: Any) -> Callable[[Any], None]:
    *path, last, value = keys

    def change(made: Any) -> None:
        for key in path:
            made = made[key]
        made[last] = value

    return change


RHIZOME: dict[str, tuple[Callable[[Any], None], str, str]] = {
    "version 2": (_set("version", 2), "UNSUPPORTED_FORMAT_VERSION", "$.version"),
    "version true": (_set("version", True), "UNSUPPORTED_FORMAT_VERSION", "$.version"),
    "an unknown member": (_set("sessions", []), "UNSUPPORTED_FIELD", "$.sessions"),
    "an unknown field": (_set("issues", 3, "display_id", "ISSUE-3"), "UNSUPPORTED_FIELD", "$.issues[3].display_id"),
    "a field too few": (lambda made: made["issues"][2].pop("status"), "INVALID_ARGUMENT", "$.issues[2].status"),
    "a member too few": (lambda made: made.pop("comments"), "INVALID_ARGUMENT", "$.comments"),
    "no list": (_set("comments", {}), "INVALID_ARGUMENT", "$.comments"),
    "an active attempt": (_set("attempts", 0, "status", "active"), "INVALID_ARGUMENT", "$.attempts[0].status"),
    "a session": (
        _set("comments", 1, "created_by_session_id", "x"),
        "INVALID_ARGUMENT",
        "$.comments[1].created_by_session_id",
    ),
    "a dangling parent": (
        _set("issues", 5, "parent_id", "01KZZZZZZZZZZZZZZZZZZZZZZZ"),
        *("INVALID_ARGUMENT", "$.issues[5].parent_id"),
    ),
    "a dangling label": (_set("issue_labels", 0, "label_id", []), "INVALID_ARGUMENT", "$.issue_labels[0].label_id"),
    "a dangling note": (
        _set("attempt_notes", 0, "attempt_id", "01KZZZZZZZZZZZZZZZZZZZZZZZ"),
        *("INVALID_ARGUMENT", "$.attempt_notes[0].attempt_id"),
    ),
    "a duplicated issue": (
        lambda made: made["issues"].append(made["issues"][4]),
        *("INVALID_ARGUMENT", "$.issues[24].id"),
    ),
    "a circle": (
        lambda made: made["relations"].append(
            {
                **made["relations"][0],
                "source_issue_id": made["issues"][7]["id"],
                "target_issue_id": made["issues"][3]["id"],
            }
        ),
        *("BLOCKS_CYCLE", "$.relations[0].target_issue_id"),
    ),
    "NUL": (_set("issues", 4, "description", "a\0"), "INVALID_ARGUMENT", "$.issues[4].description"),
    "half a pair": (_set("comments", 0, "content", "\udc00"), "INVALID_ARGUMENT", "$.comments[0].content"),
    "too long": (_set("decisions", 0, "summary", "x" * 2_001), "LIMIT_EXCEEDED", "$.decisions[0].summary"),
}


@one_engine
def test_a_wrong_document_of_rhizome_is_refused_with_its_path(world: World) -> None:
    """I61."""
    codex = world.agent("codex")
    for wrong, (change, code, path) in RHIZOME.items():
        refuses(codex, wrong, rhizome(change), code, path)


@one_engine
def test_a_document_of_rhizome_that_ends_too_early_is_refused(world: World) -> None:
    text = (FORMATS / "rhizome.json").read_text(encoding="utf-8")
    codex = world.agent("codex")
    for part in (0.2, 0.6, 0.999):
        refusal = codex.refused("apply_import", document=text[: int(len(text) * part)])
        assert refusal.code == "INVALID_ARGUMENT"
        assert refusal.details[0]["code"] == "INVALID_JSON"
        assert refusal.details[0]["field"].startswith("$.") and refusal.details[0]["line"] > 1
    assert codex.refused("apply_import", document=text + "{}").details[0]["code"] == "INVALID_JSON"
    assert codex.ask("list_issues")["items"] == []


# --- beads, GitHub, Markdown ----------------------------------------------------------------------------------------


def bead(name: str, **more: Any) -> str:
    return json.dumps({"id": name, "title": f"Bead {name}", "issue_type": "task", **more}) + "\n"


def waits(name: str, other: Any, kind: str = "blocks") -> str:
    return bead(name, dependencies=[{"issue_id": name, "depends_on_id": other, "type": kind}])


OTHERS: dict[str, tuple[str, str, str, str]] = {
    "dangling": ("beads", waits("a", "b"), "INVALID_ARGUMENT", "$[0].dependencies[0].depends_on_id"),
    "twice": ("beads", bead("a") + bead("a"), "INVALID_ARGUMENT", "$[1].id"),
    "in a circle": (
        *("beads", waits("a", "b") + waits("b", "c") + waits("c", "a")),
        *("BLOCKS_CYCLE", "$[0].dependencies[0].depends_on_id"),
    ),
    "on itself": ("beads", waits("a", "a"), "SELF_RELATION", "$[0].dependencies[0].depends_on_id"),
    "cut off": ("beads", bead("a") + bead("b")[:20], "INVALID_ARGUMENT", "$[1]"),
    "without an id": ("beads", '{"title": "x"}', "INVALID_ARGUMENT", "$[0].id"),
    "without a title": ("beads", '{"id": "x"}', "INVALID_ARGUMENT", "$[0].title"),
    "no object": ("beads", "[]\n", "INVALID_ARGUMENT", "$[0]"),
    "no issue of GitHub": ("github", '[{"title": "x"}]', "INVALID_ARGUMENT", "$[0].number"),
    "no list": ("github", '{"number": 1}', "INVALID_ARGUMENT", "$"),
    "NUL in a body": ("github", '[{"number": 1, "title": "x", "body": "a\\u0000"}]', "INVALID_ARGUMENT", "$[0].body"),
    "no boxes": ("markdown", "# Title\n\nText.\n", "INVALID_ARGUMENT", "$"),
    "after nothing": ("markdown", "- [ ] a, after: nothing\n", "INVALID_ARGUMENT", "$ line 1"),
    "after each other": ("markdown", "- [ ] a after: b\n- [ ] b after: a\n", "BLOCKS_CYCLE", "$ line 1.target"),
}


@one_engine
def test_a_wrong_document_of_others_is_refused_with_its_path(world: World) -> None:
    codex = world.agent("codex")
    for wrong, (form, text, code, path) in OTHERS.items():
        refuses(codex, wrong, text, code, path, format=form)
    refused = codex.refused("apply_import", document=waits("a", "away"), format="beads", mode="merge")
    assert "the room: away." in refused.message, "an id is called as the document calls it"
