"""The log read forwards, and the story of an issue read backwards."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conftest import Agent, World

from clearway.limits import HISTORY_BYTES


def made(agent: Agent, **given: Any) -> dict[str, Any]:
    return agent.ask("create_issue", **{"title": "Parser", "status": "ready", **given})


def proof(claim: dict[str, Any]) -> dict[str, str]:
    return {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


def complete(agent: Agent, claim: dict[str, Any], **more: Any) -> dict[str, Any]:
    ending = {"outcome": "completed", "result_summary": "It works.", "target_issue_status": "done"}
    return agent.ask("finish_attempt", **proof(claim), **ending, **more)


def story(world: World, agent: Agent) -> dict[str, Any]:
    """An issue that was worked on twice, once too late; and its claims."""
    other = world.agent("codex")
    made(other)
    late = agent.ask("claim_issue", next=True, lease_seconds=60)
    agent.ask(
        "save_attempt_note",
        **proof(late),
        kind="finding",
        content="It is ambiguous.",
        next_steps=["Ask"],
        important=True,
    )
    world.clock.forward(seconds=60)
    claim = other.ask("claim_issue", next=True)
    ending = {"outcome": "completed", "result_summary": "Mine works, too.", "target_issue_status": "done"}
    agent.refused("finish_attempt", **proof(late), **ending)
    agent.ask("add_comment", issue_id="ISSUE-1", content="Too late, sorry.")
    complete(other, claim, artifacts=[{"type": "commit", "uri": "abc"}], verification=["ran the suite"])
    return {"late": late, "claim": claim}


# --- changes ------------------------------------------------------------------------------------------------------


def test_changes_are_read_on_without_gap_or_repeat(world: World) -> None:
    """I53."""
    agent = world.agent("claude-code")
    for _ in range(3):
        made(agent)
    start = agent.ask("get_changes")["next_event_id"]
    for number in range(1, 6):
        agent.ask("add_comment", issue_id="ISSUE-1", content=f"Word {number}.")
        agent.ask("add_comment", issue_id="ISSUE-2", content="Elsewhere.")

    read: list[int] = []
    since, more = start, True
    while more:
        page = agent.ask("get_changes", since_event_id=since, limit=3)
        read += [event["id"] for event in page["events"]]
        since, more = page["next_event_id"], page["has_more"]

    assert read == list(range(start + 1, start + 11))
    assert since == page["latest_event_id"] == read[-1]
    assert agent.ask("get_changes", since_event_id=since) == {
        "events": [],
        "latest_event_id": since,
        "next_event_id": since,
        "has_more": False,
    }


def test_a_change_names_its_issue_as_people_do(world: World) -> None:
    agent = world.agent("claude-code")
    issue = made(agent)
    agent.ask("claim_paths", paths=["free.txt"])

    events = agent.ask("get_changes")["events"]

    named = {event["type"]: (event.get("issue_id"), event.get("display_id")) for event in events}
    assert named["issue_created"] == (issue["issue_id"], "ISSUE-1")
    assert named["paths_claimed"] == (None, None)


def test_a_filter_narrows_and_the_cursor_still_passes_everything(world: World) -> None:
    """I53."""
    agent = world.agent("claude-code")
    first, second = made(agent), made(agent)
    agent.ask("add_comment", issue_id="ISSUE-1", content="Here.")
    agent.ask("update_issue", issue_id="ISSUE-2", expected_version=1, changes={"title": "Lexer"})
    agent.ask("add_comment", issue_id="ISSUE-2", content="There.")

    one = agent.ask("get_changes", issue_id="issue-1")
    comments = agent.ask("get_changes", event_types=["comment_added"], limit=1)
    rest = agent.ask("get_changes", event_types=["comment_added"], since_event_id=comments["next_event_id"])
    both = agent.ask("get_changes", issue_id="ISSUE-2", event_types=["issue_updated", "issue_created"])

    assert [event["type"] for event in one["events"]] == ["issue_created", "comment_added"]
    assert {event["issue_id"] for event in one["events"]} == {first["issue_id"]}
    assert one["next_event_id"] == one["latest_event_id"] == world.events()[-1].id
    assert (comments["has_more"], comments["events"][0]["issue_id"]) == (True, first["issue_id"])
    assert [event["issue_id"] for event in rest["events"]] == [second["issue_id"]]
    assert [event["type"] for event in both["events"]] == ["issue_created", "issue_updated"]


def test_every_event_names_who_did_it(world: World) -> None:
    """I53."""
    agent = world.agent("claude-code")
    story(world, agent)

    events = agent.ask("get_changes", limit=200)["events"]

    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert all(event["session"] and event["agent"] and event["at"].endswith("Z") for event in events)
    assert {event["session"] for event in events if event["type"] == "comment_added"} == {agent.caller.key}


@pytest.mark.parametrize(
    "given",
    [{"since_event_id": -1}, {"limit": 0}, {"limit": 201}, {"event_types": ["x"] * 101}, {"issue_id": "ISSUE-9"}],
)
def test_a_question_about_changes_has_its_bounds(world: World, given: dict[str, Any]) -> None:
    refusal = world.agent("claude-code").refused("get_changes", **given)
    assert refusal.code in ("INVALID_ARGUMENT", "LIMIT_EXCEEDED", "ISSUE_NOT_FOUND")


# --- activity -------------------------------------------------------------------------------------------------------


def test_the_story_of_an_issue_has_the_words_that_were_left(world: World) -> None:
    agent = world.agent("claude-code")
    claims = story(world, agent)

    items = agent.ask("get_issue_activity", issue_id="ISSUE-1")["items"]

    assert [item["event_type"] for item in items] == [
        "attempt_completed",
        "comment_added",
        "late_result",
        "attempt_started",
        "attempt_expired",
        "attempt_note_saved",
        "attempt_started",
        "issue_created",
    ]
    ended, comment, late, *_, note, _, _ = items
    assert (ended["entity_type"], ended["entity_id"]) == ("attempt", claims["claim"]["attempt_id"])
    assert (ended["result_summary"], ended["verification"]) == ("It works.", ["ran the suite"])
    assert (comment["entity_type"], comment["content"], comment["agent"]) == (
        "comment",
        "Too late, sorry.",
        "claude-code",
    )
    assert late["result_summary"] == "Mine works, too."
    assert (note["content"], note["next_steps"], note["important"]) == ("It is ambiguous.", ["Ask"], True)
    assert not any(claim["lease_token"] in json.dumps(items) for claim in claims.values())


def test_the_story_of_an_issue_has_the_artifacts_that_came_with_its_words(world: World) -> None:
    agent = world.agent("claude-code")
    made(agent)
    proved = proof(agent.ask("claim_issue", next=True))
    file = {"type": "file", "uri": "src/a.py"}
    log = {"type": "log", "uri": "ci/1.log", "title": "Suite", "metadata": {"run": 17, "green": ["é", None]}}
    for kind, artifacts in (("finding", [file, log]), ("progress", None)):
        agent.ask("save_attempt_note", **proved, kind=kind, content="See.", artifacts=artifacts)
    end = {"outcome": "completed", "result_summary": "It works.", "target_issue_status": "done"}
    agent.ask("finish_attempt", **proved, **end, artifacts=[file])

    found = agent.ask("get_issue_activity", issue_id="ISSUE-1", types=["artifacts"])["items"]

    assert [item["event_type"] for item in found] == ["attempt_completed", "attempt_note_saved"]
    shown = [[{name: each[name] for name in each if name != "id"} for each in item["artifacts"]] for item in found]
    assert shown == [[file], [file, log]]
    assert "artifacts" not in agent.ask("get_issue_activity", issue_id="ISSUE-1", types=["attempt_notes"])["items"][0]


def test_a_story_is_narrowed_and_read_page_by_page(world: World) -> None:
    agent = world.agent("claude-code")
    story(world, agent)

    kinds = {
        kind: len(agent.ask("get_issue_activity", issue_id="ISSUE-1", types=[kind])["items"])
        for kind in ("comments", "attempt_notes", "attempts", "events")
    }
    read: list[int] = []
    page: dict[str, Any] = {"next_cursor": None, "has_more": True}
    while page["has_more"]:
        page = agent.ask("get_issue_activity", issue_id="ISSUE-1", limit=3, cursor=page["next_cursor"])
        read += [item["event_id"] for item in page["items"]]

    assert kinds == {"comments": 1, "attempt_notes": 1, "attempts": 5, "events": 1}
    assert len(read) == 8
    assert read == sorted(read, reverse=True)


def test_a_page_of_long_words_ends_early_and_loses_none(world: World) -> None:
    agent = world.agent("claude-code")
    made(agent)
    for number in range(5):
        agent.ask("add_comment", issue_id="ISSUE-1", content=str(number) * 20_000)
    agent.ask("add_comment", issue_id="ISSUE-1", content="é" * 50_000)

    read: list[str] = []
    page: dict[str, Any] = {"next_cursor": None, "has_more": True}
    while page["has_more"]:
        page = agent.ask("get_issue_activity", issue_id="ISSUE-1", types=["comments"], cursor=page["next_cursor"])
        size = len(json.dumps(page["items"], ensure_ascii=False).encode())
        assert size <= HISTORY_BYTES + 2_000 or len(page["items"]) == 1
        read += [item["content"][0] for item in page["items"]]

    assert read == ["é", "4", "3", "2", "1", "0"]


# --- attempts -------------------------------------------------------------------------------------------------------


def test_attempts_are_listed_with_their_results_and_those_that_came_late(world: World) -> None:
    agent = world.agent("claude-code")
    claims = story(world, agent)

    reply = agent.ask("list_attempts", issue_id="ISSUE-1")

    done, expired = reply["items"]
    assert (done["attempt_id"], done["status"], done["result_summary"]) == (
        claims["claim"]["attempt_id"],
        "completed",
        "It works.",
    )
    assert done["artifacts"][0]["uri"] == "abc"
    assert "late_results" not in done
    assert (expired["attempt_id"], expired["status"]) == (claims["late"]["attempt_id"], "expired")
    assert "result_summary" not in expired
    assert [late["result_summary"] for late in expired["late_results"]] == ["Mine works, too."]
    text = json.dumps(reply)
    assert not any(claim["lease_token"] in text for claim in claims.values())


def test_an_attempt_that_has_lapsed_is_listed_as_over_before_anybody_writes_so(world: World) -> None:
    """I32."""
    agent, reader = world.agent("claude-code"), world.agent("codex")
    made(agent)
    claim = agent.ask("claim_issue", next=True, lease_seconds=60)
    active = reader.ask("list_attempts", statuses=["active"])["items"]
    world.clock.forward(seconds=60)

    assert [(item["attempt_id"], item["display_id"]) for item in active] == [(claim["attempt_id"], "ISSUE-1")]
    assert active[0]["lease_expires_at"] == claim["lease_expires_at"]
    assert reader.ask("list_attempts", statuses=["active"])["items"] == []
    assert reader.ask("list_attempts", statuses=["expired"])["items"][0]["attempt_id"] == claim["attempt_id"]
    assert reader.ask("get_work_context", issue_id="ISSUE-1")["previous_attempt"]["status"] == "expired"


def test_attempts_are_listed_page_by_page(world: World) -> None:
    agent = world.agent("claude-code")
    for _ in range(5):
        made(agent)
        agent.ask("claim_issue", next=True)

    first = agent.ask("list_attempts", limit=3)
    rest = agent.ask("list_attempts", limit=3, cursor=first["next_cursor"])

    fences = [item["fence"] for item in [*first["items"], *rest["items"]]]
    assert (fences, first["has_more"], rest["has_more"]) == ([5, 4, 3, 2, 1], True, False)


# --- what a context tells of it -------------------------------------------------------------------------------------


def test_a_context_tells_what_changed_since_the_last_attempt_began(world: World) -> None:
    worker, other, third = world.agent("claude-code"), world.agent("codex"), world.agent("gemini")
    made(other)
    other.ask("update_issue", issue_id="ISSUE-1", expected_version=1, changes={"title": "Before"})
    other.ask("add_comment", issue_id="ISSUE-1", content="Mind the\nleft recursion.")

    before = third.ask("get_work_context", issue_id="ISSUE-1")
    claim = worker.ask("claim_issue", next=True)
    other.ask("update_issue", issue_id="ISSUE-1", expected_version=2, changes={"description": "LL(k)"})
    other.ask("create_issue", title="First")
    other.ask("manage_issue_relation", source_issue_id="ISSUE-2", target_issue_id="ISSUE-1")
    worker.ask("release_attempt", attempt_id=claim["attempt_id"])
    whole = third.ask("get_work_context", issue_id="ISSUE-1")
    after = whole["changes"]

    said = [("codex", "Mind the\nleft recursion.")]
    for context in (before, claim["context"], whole):
        assert [(comment["agent"], comment["content"]) for comment in context["comments"]] == said, "for all who come"
    assert (before["changes"], claim["context"]["changes"]) == ([], [])
    assert [change["type"] for change in after] == ["relation_added", "issue_updated"]
    assert after[1]["changed_fields"] == ["description"]
    assert (after[0]["source"], after[0]["agent"]) == ("ISSUE-2", "codex")


def test_an_observed_checkpoint_stands_beside_the_newest_written_one(world: World) -> None:
    agent = world.agent("claude-code")
    made(agent)
    claim = agent.ask("claim_issue", next=True)

    def observe(text: str) -> None:
        note = agent.ask("save_attempt_note", **proof(claim), kind="checkpoint", content=text)["note_id"]
        world.change("UPDATE attempt_note SET automatic = 1 WHERE id = :note", note=note)

    observe("Early.")
    alone = agent.ask("get_work_context", issue_id="ISSUE-1")
    agent.ask("save_attempt_note", **proof(claim), kind="checkpoint", content="Lexer done.")
    written = agent.ask("get_work_context", issue_id="ISSUE-1")
    observe("Touched src/a.py. " * 200)
    both = agent.ask("get_work_context", issue_id="ISSUE-1")

    assert (alone.get("checkpoint"), alone["since_checkpoint"]["content"]) == (None, "Early.")
    assert (written["checkpoint"]["content"], written.get("since_checkpoint")) == ("Lexer done.", None)
    assert both["checkpoint"]["content"] == "Lexer done."
    assert both["since_checkpoint"]["content"].startswith("Touched src/a.py.")
    assert len(both["since_checkpoint"]["content"].encode()) <= 1_000


@pytest.mark.parametrize("max_bytes", [1_000, 8_000])
@pytest.mark.parametrize("letter", ["x", "é", "\x01", '"'])
def test_everything_at_its_longest_fits_the_budget(world: World, max_bytes: int, letter: str) -> None:
    """I49."""
    agent, other = world.agent("claude-code"), world.agent("codex")
    long = letter * 100_000
    made(
        agent,
        title=letter * 300,
        description=long,
        acceptance_criteria=long[:50_000],
        labels=[f"{letter * 60}{number}" for number in range(50)],
        paths=[f"{letter * 4_000}{number}" for number in range(20)],
    )
    for number in range(12):
        blocker = made(other, title=letter * 300, type="bug")["display_id"]
        other.ask("add_comment", issue_id="ISSUE-1", content=long[:50_000])
        if number < 3:
            claim = agent.ask("claim_issue", issue_id="ISSUE-1", context=False)
            note = {"kind": "checkpoint", "content": long[:50_000], "next_steps": [letter * 1_000] * 20}
            agent.ask("save_attempt_note", **proof(claim), **note)
            ending = {"outcome": "failed", "failure_reason_code": "other", "next_steps": [letter * 1_000] * 20}
            agent.ask("finish_attempt", **proof(claim), **ending, result_summary=long[:50_000])
        else:
            other.ask("manage_issue_relation", source_issue_id=blocker, target_issue_id="ISSUE-1")
            other.ask("claim_issue", issue_id=blocker, context=False)

    context = agent.ask("get_work_context", issue_id="ISSUE-1", max_bytes=max_bytes)

    assert len(json.dumps(context, ensure_ascii=False, separators=(",", ":")).encode()) <= max_bytes
    assert context["issue"]["display_id"] == "ISSUE-1"
    assert context["warnings"] == ["REPEATED_ATTEMPT_FAILURES"]
    assert context["truncated"] is True
