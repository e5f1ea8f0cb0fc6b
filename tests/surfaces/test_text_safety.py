"""Whatever anybody wrote, wherever it is read: it stays text. It forges no line, and commands no terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal

from clearway.surfaces import words
from clearway.surfaces.spelling import COMMANDS

MARK = "FORGED"
EVIL = f"a\n{MARK} 1\r\n{MARK} 2\r{MARK} 3\x0b{MARK} 4\x85{MARK} 5\u2028{MARK} 6\u2029{MARK} 7"
EVIL += "\x1b[2J\x1b]0;t\x07\x9b31m\x7f\u202e\u2066\u200b\u200f\u2060\ufeff\U000e0041\u061c \"'`$(id)`|&;</b><script>"
PATH = "src/e\u202ev\u200bil \x1b[31m.py"
HARMFUL = {
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u2028\u2029\u202a\u202e\u2066\u2069\u200b\u200f\u2060\ufeff\U000e0041\u061c",
}
HARMFUL -= {"\n"}


@pytest.fixture
def shop(terminal: Terminal) -> Terminal:
    """A room in which every text that can be written is meant to do harm."""
    terminal("init")

    def call(operation: str, agent: str = "", **given: Any) -> Any:
        told = terminal(*(("--as", agent) if agent else ()), "call", operation, json.dumps(given))
        assert told.status == 0, (operation, told.err)
        return json.loads(told.out)

    call("update_project", name=EVIL[:150], instructions=EVIL)
    call("create_issue", title="Epic " + EVIL[:200], type="epic")
    call(
        "create_issue",
        title=EVIL[:290],
        description=EVIL,
        acceptance_criteria=EVIL,
        labels=[EVIL[:60]],
        paths=["docs/" + EVIL[:40].replace("/", "")],
        status="ready",
        parent_issue_id="ISSUE-1",
    )
    call("create_issue", title=EVIL[:290], status="blocked", blocked_reason=EVIL)
    call("create_issue", title=EVIL[:290], status="ready")
    call("manage_issue_relation", source_issue_id="ISSUE-2", target_issue_id="ISSUE-4")
    call("describe_label", label=EVIL[:60], text=EVIL)
    call("add_comment", "codex", issue_id="ISSUE-2", content=EVIL)
    call("record_decision", "codex", title=EVIL[:290], summary=EVIL, content=EVIL)
    call("record_decision", "codex", title=EVIL[:290], summary=EVIL, content=EVIL, issue_id="ISSUE-2")
    claim = call("claim_issue", "codex", issue_id="ISSUE-2")
    proof = {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}
    artifact = {"type": "other", "uri": "x\u202e\u200b y", "title": EVIL}
    call(
        "save_attempt_note", "codex", **proof, kind="checkpoint", content=EVIL, next_steps=[EVIL], artifacts=[artifact]
    )
    done = {"outcome": "completed", "target_issue_status": "review", "result_summary": EVIL}
    call("finish_attempt", "codex", **proof, **done, verification=[EVIL], next_steps=[EVIL])
    call("create_review_request", "codex", issue_id="ISSUE-2")
    look = call("claim_issue", "gemini", issue_id="ISSUE-2")
    seen = {"outcome": "completed", "review_outcome": "changes_requested", "result_summary": EVIL}
    call("finish_attempt", "gemini", attempt_id=look["attempt_id"], lease_token=look["lease_token"], **seen)
    call("claim_issue", "codex", issue_id="ISSUE-2")
    call("room", "codex", status=EVIL[:400])
    call("claim_paths", "codex", paths=["src", PATH], purpose=EVIL[:400])
    call("send_message", "codex", to="*", text=EVIL)
    call("send_message", "codex", to="human", text=EVIL)
    call("send_message", "human-2", to="codex", text=EVIL, kind="task")
    terminal("--as", "gemini", "claim", "src/a.py")
    return terminal


def subject(shop: Terminal, command: str) -> list[str]:
    """What stands behind the words of a command that needs it."""
    name = next((slot.name for slot in COMMANDS[command].slots if slot.placed and slot.required), "")
    if name == "review_request_id":
        return [shop("--json", "review", "list").json["items"][0]["review_request_id"]]
    return {"issue_id": ["ISSUE-2"], "path": ["src/a.py"], "query": ["script"], "name": ["overlap"]}.get(name, [])


OWN = {
    "status": [],
    "history": [],
    "graph": [],
    "board": [],
    "incident": [],
    "report": [],
    "": [],
}
READING = [
    command
    for command, declared in COMMANDS.items()
    if not declared.operation.writes or isinstance(declared.operation.writes, tuple)
]
MORE = [
    *(["graph", "--format", form] for form in ("mermaid", "dot", "json")),
    ["graph", "ISSUE-2"],
    ["board", "--format", "markdown"],
    ["incident", "--format", "markdown"],
    ["inbox"],
    ["inbox", "--all"],
    ["history", "--path", "src"],
    ["search", "script", "--messages"],
    ["project", "show", "--include-instructions"],
    ["issue", "show", "ISSUE-3"],
    ["issue", "show", "ISSUE-99\x1b[2J\nFORGED"],
    ["owner", PATH],
    ["why", PATH],
    ["release", PATH],
    ["claim", "src/a.py"],
    ["attempt", "note", "--kind", EVIL, "--content", "x"],
    ["no such\nFORGED\x1b[2J"],
    ["issue", "list", "--status", EVIL],
    ["--as", "a\nFORGED", "room"],
    ["--room", "/nowhere/\nFORGED\x1b[2J.db", "room"],
    ["call", "no\nFORGED"],
    ["call", "get_issue", '{"\\nFORGED\\u001b[2J":1}'],
]


def lines_of(told: Any) -> list[str]:
    return [*told.out.split("\n"), *told.err.split("\n")]


def check(told: Any, what: object) -> None:
    harm = HARMFUL & set(told.out + told.err)
    assert not harm, f"{what}: {sorted(map(hex, map(ord, harm)))}"
    forged = [line for line in lines_of(told) if line.startswith(MARK)]
    assert not forged, f"{what}: {forged[:2]}"
    assert "Traceback" not in told.err and "INTERNAL" not in told.err, f"{what}: {told.err}"


def test_no_text_of_others_forges_a_line_or_commands_a_terminal(shop: Terminal) -> None:
    """Every command that reads, whoever added it."""
    lines: list[list[str]] = [[*command.split(), *subject(shop, command)] for command in READING]
    lines += [[word] if word else [] for word in OWN if not word or word in words.BY_NAME]
    for line in [*lines, *MORE]:
        check(shop(*line), line)
        told = shop("--json", *line)
        check(told, ["--json", *line])
        for text in filter(None, told.out.split("\n")):
            if line[:1] not in (["graph"], ["board"], ["incident"], ["report"]) or text.startswith("{"):
                json.loads(text)


def test_the_texts_are_there_all_the_same(shop: Terminal) -> None:
    """Nothing is safe because it is left out: what cannot be seen is shown by its code."""
    shown = shop("issue", "show", "ISSUE-2").out
    assert f"  {MARK} 1" in shown and "<U+202E>" in shown and "<U+001B>" in shown and "</b><script>" in shown
    whole: Callable[..., Any] = shop
    assert whole("--json", "issue", "show", "ISSUE-2").json["description"] == EVIL
