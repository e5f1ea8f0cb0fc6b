"""Every bound of the tracker at its edge, texts of every kind, and cursors that nobody gave out."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway import limits
from clearway.limits import LIST_MAX

WIDE = "𝄞"  # one character, four bytes, two units elsewhere
EVERYTHING = "".join(
    map(chr, [*range(1, 0x20), 0x7F, 0x85, 0xA0, 0xAD, 0x200B, 0x200E, 0x2028, 0x202E, 0xFEFF, 0xFFFD])
)
TEXT = f"a{EVERYTHING}\U0001f468\u200d\U0001f469 ñ n\u0303 \ue000 \U0010ffff '\"\\%_?:$1;--/*{{}}"


@pytest.fixture
def agent(world: World) -> Agent:
    found = world.agent("claude-code")
    found.ask("create_issue", title="One", status="ready", type="task")
    return found


def text(chars: int) -> str:
    return WIDE * chars


def listed(count: int, chars: int = 1) -> list[str]:
    return [f"{number:02}" + "x" * (chars - 2) if chars > 1 else "x" for number in range(count)]


def claim(agent: Agent) -> dict[str, Any]:
    held = agent.ask("claim_issue", issue_id="ISSUE-1", context=False)
    return {"attempt_id": held["attempt_id"], "lease_token": held["lease_token"]}


NOTE = {"kind": "finding", "content": "x"}
END = {"outcome": "interrupted", "interruption_reason_code": "other", "result_summary": "x"}
DECISION = {"title": "t", "summary": "s"}
ARTIFACT = {"type": "file", "uri": "a"}
PLAN = {"idempotency_key": "k"}

# operation, what else it takes (a dictionary, or "claimed" with more), the field, a value at its edge, one beyond it
EDGES: list[tuple[str, dict[str, Any], str, Any, Any]] = [
    ("create_issue", {}, "title", text(300), text(301)),
    ("create_issue", {"title": "t"}, "description", text(100_000), text(100_001)),
    ("create_issue", {"title": "t"}, "acceptance_criteria", text(50_000), text(50_001)),
    ("create_issue", {"title": "t", "status": "blocked"}, "blocked_reason", text(2_000), text(2_001)),
    ("create_issue", {"title": "t"}, "labels", ["x" * 64], ["x" * 65]),
    ("create_issue", {"title": "t"}, "labels", listed(50, 4), listed(51, 4)),
    ("create_issue", {"title": "t"}, "idempotency_key", "k" * 128, "k" * 129),
    ("add_comment", {"issue_id": "1"}, "content", text(50_000), text(50_001)),
    ("record_decision", {"summary": "s"}, "title", text(300), text(301)),
    ("record_decision", {"title": "t"}, "summary", text(2_000), text(2_001)),
    ("record_decision", DECISION, "content", text(100_000), text(100_001)),
    ("save_attempt_note", NOTE, "content", text(50_000), text(50_001)),
    ("save_attempt_note", NOTE, "next_steps", listed(20, 1_000), listed(21, 5)),
    ("save_attempt_note", NOTE, "next_steps", [text(1_000)], [text(1_001)]),
    ("save_attempt_note", NOTE, "artifacts", [ARTIFACT] * 20, [ARTIFACT] * 21),
    ("save_attempt_note", NOTE, "artifacts", [{**ARTIFACT, "uri": "a" * 4_096}], [{**ARTIFACT, "uri": "a" * 4_097}]),
    ("save_attempt_note", NOTE, "artifacts", [{**ARTIFACT, "title": text(300)}], [{**ARTIFACT, "title": text(301)}]),
    # {"k":"..."} has eight bytes besides its letters.
    (
        *("save_attempt_note", NOTE, "artifacts"),
        [{**ARTIFACT, "metadata": {"k": "x" * 8_184}}],
        [{**ARTIFACT, "metadata": {"k": "x" * 8_185}}],
    ),
    ("finish_attempt", END, "result_summary", text(50_000), text(50_001)),
    ("finish_attempt", END, "verification", listed(20, 1_000), listed(21, 5)),
    ("finish_attempt", END, "verification", [text(1_000)], [text(1_001)]),
    ("finish_attempt", END, "reason_details", text(2_000), text(2_001)),
    ("apply_issue_plan", PLAN, "issues", [{"title": "t"}] * 50, [{"title": "t"}] * 51),
    ("apply_issue_plan", PLAN, "issues", [{"title": "t", "ref": "r" * 64}], [{"title": "t", "ref": "r" * 65}]),
    ("apply_issue_plan", PLAN, "decisions", [DECISION] * 20, [DECISION] * 21),
    ("search", {}, "query", "q" * 1_000, "q" * 1_001),
    ("search", {"query": "q"}, "limit", 100, 101),
    ("search", {"query": "q"}, "snippet_length", 1_000, 1_001),
    ("get_changes", {}, "limit", 200, 201),
    ("list_issues", {}, "limit", 100, 101),
    ("get_issue_graph", {"root_issue_id": "1"}, "depth", 5, 6),
    ("get_issue_graph", {"root_issue_id": "1"}, "max_nodes", 500, 501),
    ("get_planning_graph", {}, "max_nodes", 500, 501),
    ("claim_issue", {"issue_id": "1"}, "lease_seconds", 3_600, 3_601),
    ("claim_issue", {"issue_id": "1"}, "lease_seconds", 30, 29),
    ("update_project", {}, "instructions", text(50_000), text(50_001)),
]
NAMES = [f"{operation}-{field}-{place}" for place, (operation, _, field, *_) in enumerate(EDGES)]


@pytest.mark.parametrize(("operation", "more", "field", "most", "beyond"), EDGES, ids=NAMES)
def test_what_is_allowed_is_taken_and_one_more_is_refused_with_its_field(
    agent: Agent, operation: str, more: dict[str, Any], field: str, most: Any, beyond: Any
) -> None:
    """Lengths are characters, whatever an encoding makes of them."""
    proof = claim(agent) if operation in ("save_attempt_note", "finish_attempt") else {}
    told = len(agent.world.events())

    refusal = agent.refused(operation, **proof, **{**more, field: beyond})

    assert refusal.code in ("LIMIT_EXCEEDED", "INVALID_ARGUMENT", "VALIDATION_ERROR")
    assert refusal.details[0]["field"].partition("[")[0] == field
    assert refusal.details[0]["code"] in ("MAX_RUNES", "MAX_ITEMS", "OUT_OF_RANGE", "MAX_BYTES")
    assert len(agent.world.events()) == told, "nothing half-written"
    agent.ask(operation, **proof, **{**more, field: most})


def test_a_token_or_a_cursor_of_any_length_is_refused_by_name(agent: Agent) -> None:
    held = claim(agent)
    for field, value in (("lease_token", "t" * 513), ("attempt_id", "a" * 65)):
        refusal = agent.refused("renew_attempt", **{**held, field: value})
        assert (refusal.code, refusal.details[0]["field"]) == ("LIMIT_EXCEEDED", field)
    assert agent.refused("list_issues", cursor="c" * 4_097).code == "LIMIT_EXCEEDED"


def test_every_character_that_is_one_comes_back_as_it_was(agent: Agent) -> None:
    """Control, invisible, private and combining ones, and what means something to SQL or to a pattern."""
    made = agent.ask("create_issue", title=TEXT, description=TEXT, acceptance_criteria=TEXT, labels=[TEXT[-30:]])
    agent.ask("add_comment", issue_id=made["issue_id"], content=TEXT)
    agent.ask("record_decision", issue_id=made["issue_id"], title=TEXT, summary=TEXT, content=TEXT)
    held = claim(agent)
    agent.ask("save_attempt_note", **held, kind="checkpoint", content=TEXT, next_steps=[TEXT])
    agent.ask("finish_attempt", **held, **{**END, "result_summary": TEXT}, verification=[TEXT])

    shown = agent.ask("get_issue", issue_id=made["issue_id"])
    assert (shown["title"], shown["description"], shown["acceptance_criteria"]) == (TEXT, TEXT, TEXT)
    assert shown["labels"] == [TEXT[-30:].strip()]
    story = agent.ask("get_issue_activity", issue_id=made["issue_id"], types=["comments"])["items"]
    assert story[0]["content"] == TEXT
    decision = agent.ask("list_decisions", issue_id=made["issue_id"])["items"][0]
    assert (decision["title"], decision["summary"], decision["content"]) == (TEXT, TEXT, TEXT)
    attempt = agent.ask("list_attempts", issue_id="1")["items"][0]
    assert (attempt["result_summary"], attempt["verification"]) == (TEXT, [TEXT])


@pytest.mark.parametrize(
    ("bad", "code"), [("a\0b", "NUL_NOT_ALLOWED"), ("a\ud800b", "INVALID_UTF8"), ("\udfff", "INVALID_UTF8")]
)
def test_what_is_no_character_is_refused_wherever_a_text_can_be(agent: Agent, bad: str, code: str) -> None:
    held = claim(agent)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("create_issue", {"title": bad}),
        ("create_issue", {"title": "t", "description": bad}),
        ("create_issue", {"title": "t", "labels": [bad]}),
        ("create_issue", {"title": "t", "paths": [bad]}),
        ("create_issue", {"title": "t", "idempotency_key": bad}),
        ("update_issue", {"issue_id": "1", "expected_version": 1, "changes": {"title": bad}}),
        ("add_comment", {"issue_id": "1", "content": bad}),
        ("record_decision", {**DECISION, "title": bad}),
        ("save_attempt_note", {**held, **NOTE, "content": bad}),
        ("save_attempt_note", {**held, **NOTE, "next_steps": [bad]}),
        ("save_attempt_note", {**held, **NOTE, "artifacts": [{**ARTIFACT, "title": bad}]}),
        ("finish_attempt", {**held, **END, "result_summary": bad}),
        ("search", {"query": bad}),
        ("get_issue", {"issue_id": bad}),
        ("list_issues", {"labels": [bad]}),
        ("list_issues", {"cursor": bad}),
        ("get_changes", {"event_types": [bad]}),
        ("update_project", {"name": bad}),
    ]
    told = len(agent.world.events())
    for operation, arguments in asked:
        refusal = agent.refused(operation, **arguments)
        assert refusal.code == "INVALID_ARGUMENT", (operation, arguments)
        assert refusal.details[0]["code"] == code, (operation, arguments)
    assert len(agent.world.events()) == told


# --- cursors ----------------------------------------------------------------------------------------------------------


def coded(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


NOT_OURS = [
    "x",
    "not base64!",
    "ÄÖÜ",
    "=" * 8,
    coded(b"\xff\xfe"),
    coded(b"{"),
    coded(b"[" * 3_000),
    coded(b'{"v":1,"number":' + b"9" * 3_000 + b"}"),
    coded([]),
    coded(7),
    coded(None),
    coded({}),
    coded({"v": 2, "event": 1}),
    coded({"v": 1}),
    coded({"v": 1, "event": "1"}),
    coded({"v": 1, "event": True}),
    coded({"v": 1, "event": 1.5}),
    coded({"v": 1, "event": None}),
    coded({"v": 1, "event": {"v": 1}}),
    coded({"v": 1, "event": 1, "more": 1}),
    coded(b'{"v":1,"event":NaN}'),
    coded(b'{"v":1,"event":1e400}'),
]
LISTS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("list_issues", {}, ("priority", "number")),
    ("list_labels", {}, ("offset",)),
    ("list_decisions", {}, ("event",)),
    ("list_attempts", {}, ("fence",)),
    ("list_review_requests", {}, ("event",)),
    ("get_issue_activity", {"issue_id": "1"}, ("event",)),
    ("search", {"query": "one"}, ("place",)),
]


@pytest.mark.parametrize(("operation", "more", "keys"), LISTS, ids=[each[0] for each in LISTS])
def test_a_cursor_that_nobody_gave_out_is_refused_and_never_breaks_a_list(
    agent: Agent, operation: str, more: dict[str, Any], keys: tuple[str, ...]
) -> None:
    for cursor in NOT_OURS:
        refusal = agent.refused(operation, **more, cursor=cursor)
        assert refusal.code == "INVALID_ARGUMENT", cursor[:80]
        assert refusal.details[0]["code"] == "MALFORMED_CURSOR", cursor[:80]
    for number in (-(2**63), -1, 0, 1, 2**31, 2**63 - 1):
        page = agent.ask(operation, **more, cursor=coded({"v": 1, **dict.fromkeys(keys, number)}))
        assert len(page["items"]) <= LIST_MAX
    for number in (-(2**63) - 1, 2**63, 10**30):
        refusal = agent.refused(operation, **more, cursor=coded({"v": 1, **dict.fromkeys(keys, number)}))
        assert refusal.details[0]["code"] == "MALFORMED_CURSOR"
    other = next(keyed for _, _, keyed in LISTS if keyed != keys)
    refusal = agent.refused(operation, **more, cursor=coded({"v": 1, **dict.fromkeys(other, 1)}))
    assert refusal.details[0]["code"] == "MALFORMED_CURSOR", "of another list"


def test_a_list_gives_its_pages_once_each_and_in_order(agent: Agent) -> None:
    for number in range(25):
        agent.ask(
            "create_issue", title=f"Issue {number}", priority=("low", "high")[number % 2], labels=[f"l{number:02}"]
        )
        agent.ask("record_decision", title=f"Decision {number}", summary="s")
        agent.ask("add_comment", issue_id="1", content=f"Comment {number}")
    for operation, more, _ in LISTS:
        whole = agent.ask(operation, **more, limit=100)["items"]
        read: list[Any] = []
        cursor: dict[str, Any] = {}
        while True:
            page = agent.ask(operation, **more, limit=7, **cursor)
            read += page["items"]
            if not page["has_more"]:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert read == whole, operation


def test_the_bounds_are_those_of_the_page_of_limits() -> None:
    """The tracker before this one had these; none of ours is smaller."""
    theirs = {
        "TITLE_CHARS_MAX": 300,
        "DESCRIPTION_CHARS_MAX": 100_000,
        "CRITERIA_CHARS_MAX": 50_000,
        "COMMENT_CHARS_MAX": 50_000,
        "DECISION_SUMMARY_CHARS_MAX": 2_000,
        "DECISION_CHARS_MAX": 100_000,
        "NOTE_CHARS_MAX": 50_000,
        "SUMMARY_CHARS_MAX": 50_000,
        "STEPS_MAX": 20,
        "STEP_CHARS_MAX": 1_000,
        "LABEL_CHARS_MAX": 64,
        "LABELS_PER_ISSUE_MAX": 50,
        "PLAN_ISSUES_MAX": 50,
        "PLAN_RELATIONS_MAX": 100,
        "PLAN_DECISIONS_MAX": 20,
        "PLAN_LABELS_MAX": 50,
        "PLAN_REF_CHARS_MAX": 64,
        "KEY_CHARS_MAX": 128,
        "TOKEN_CHARS_MAX": 512,
        "SESSION_CHARS_MAX": 256,
        "ARTIFACT_URI_CHARS_MAX": 4_096,
        "ARTIFACT_TITLE_CHARS_MAX": 300,
        "ARTIFACTS_MAX": 20,
        "REVIEW_ARTIFACTS_MAX": 20,
        "GRAPH_DEPTH_MAX": 5,
        "GRAPH_NODES_MAX": 500,
        "QUERY_CHARS_MAX": 1_000,
        "SNIPPET_CHARS_MAX": 1_000,
        "CHANGES_MAX": 200,
        "LIST_MAX": 100,
        "CURSOR_CHARS_MAX": 4_096,
        "ISSUE_LEASE_SECONDS_MAX": 3_600,
    }
    assert not {name: least for name, least in theirs.items() if getattr(limits, name) < least}
