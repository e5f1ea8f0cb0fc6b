"""Reviews, from the request to what came of it: what is looked at is what is approved, and by somebody else."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.conftest import Agent, World
from tests.work.test_attempts import complete, fail, proof, ready_issue

from clearway.errors import Refusal


class Scene:
    """A finished piece of work in review, who did it, and who looks at it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.worker, self.reviewer = world.agent("claude-code"), world.agent("codex")
        ready_issue(world)
        claim = self.worker.ask("claim_issue", issue_id="ISSUE-1")
        note = self.worker.ask(
            "save_attempt_note",
            **proof(claim),
            kind="progress",
            content="x",
            artifacts=[{"type": "branch", "uri": "parser"}],
        )
        self.artifact = note["artifact_ids"][0]
        self.finished = complete(self.worker, claim, "review")

    def request(self, **more: Any) -> dict[str, Any]:
        return self.worker.ask("create_review_request", issue_id="ISSUE-1", **more)

    def claim(self, by: Agent | None = None) -> dict[str, Any]:
        review = self.reviewer.ask("list_review_requests")["items"][0]
        return (by or self.reviewer).ask("claim_issue", review_request_id=review["review_request_id"])

    def finish(self, claim: dict[str, Any], outcome: str, by: Agent | None = None, **more: Any) -> dict[str, Any]:
        return (by or self.reviewer).ask("finish_attempt", **self._end(claim, outcome), **more)

    def refused(self, claim: dict[str, Any], outcome: str) -> Refusal:
        return self.reviewer.refused("finish_attempt", **self._end(claim, outcome))

    def read(self) -> dict[str, Any]:
        newest = self.reviewer.ask("list_review_requests")["items"][0]["review_request_id"]
        return self.reviewer.ask("get_review_request", review_request_id=newest)

    def update(self, **changes: Any) -> None:
        version = self.worker.ask("get_issue", issue_id="ISSUE-1")["version"]
        self.worker.ask("update_issue", issue_id="ISSUE-1", expected_version=version, changes=changes)

    @staticmethod
    def _end(claim: dict[str, Any], outcome: str) -> dict[str, Any]:
        return {**proof(claim), "outcome": "completed", "review_outcome": outcome, "result_summary": "Line 3 is wrong."}


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world)


# --- asking -----------------------------------------------------------------------------------------------------------


def test_a_request_is_fixed_to_what_there_is_and_asking_again_answers_the_same(scene: Scene) -> None:
    """I55."""
    target = {
        "target_issue_version": scene.finished["issue_version"],
        "target_event_id": scene.finished["latest_event_id"],
        "artifact_ids": [scene.artifact],
    }
    first = scene.request(**target)
    again = scene.request(**target)

    assert first == again
    assert (first["status"], first["version"], first["claimable"]) == ("open", 1, True)
    assert {name: first[name] for name in target} == target
    refusal = scene.worker.refused("create_review_request", issue_id="ISSUE-1", **{**target, "artifact_ids": []})
    assert (refusal.code, refusal.retryable) == ("REVIEW_ALREADY_EXISTS", False)
    assert len(scene.world.events("review_requested")) == 1


def test_a_ready_issue_can_be_looked_at_too(world: World) -> None:
    """I55: the common setup, a task that is ready."""
    issue = ready_issue(world)
    agent = world.agent("codex")
    event = world.events()[-1].id

    review = agent.ask("create_review_request", issue_id=issue, target_issue_version=1, target_event_id=event)

    assert review["claimable"] is True
    claim = world.agent("gemini").ask("claim_issue", review_request_id=review["review_request_id"])
    assert claim["kind"] == "review"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"target_issue_version": 3}, "INVALID_ARGUMENT"),
        ({"target_issue_version": 1}, "STALE_REVIEW_TARGET"),
        ({"target_event_id": 10_000}, "INVALID_ARGUMENT"),
        ({"target_event_id": 0}, "INVALID_ARGUMENT"),
        ({"target_event_id": 1}, "STALE_REVIEW_TARGET"),
        ({"artifact_ids": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"]}, "INVALID_ARGUMENT"),
        ({"artifact_ids": [f"A{place}" for place in range(21)]}, "LIMIT_EXCEEDED"),
        ({"supersedes_id": "NONE"}, "REVIEW_NOT_FOUND"),
    ],
)
def test_a_target_that_is_not_there_is_refused(scene: Scene, given: dict[str, Any], code: str) -> None:
    """I55."""
    refusal = scene.worker.refused("create_review_request", issue_id="ISSUE-1", **given)

    assert (refusal.code, refusal.retryable) == (code, False)
    assert not scene.world.events("review_requested")


def test_many_who_ask_the_same_at_once_make_one_request(scene: Scene) -> None:
    """I55."""
    asked: list[str] = []

    def ask(place: int) -> None:
        agent = scene.world.agent(f"agent-{place}", own_room=True)
        asked.append(agent.ask("create_review_request", issue_id="ISSUE-1")["review_request_id"])

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(asked) == 5
    assert len(set(asked)) == 1


@pytest.mark.parametrize("made", [{"status": "open"}, {"status": "done"}, {"status": "ready", "type": "epic"}])
def test_only_ready_work_and_work_in_review_is_reviewed(world: World, made: dict[str, str]) -> None:
    agent = world.agent("codex")
    agent.ask("create_issue", title="x", **made)

    assert agent.refused("create_review_request", issue_id="ISSUE-1").code == "ISSUE_NOT_CLAIMABLE"


def test_work_that_goes_on_is_not_reviewed_yet(world: World) -> None:
    ready_issue(world)
    agent = world.agent("codex")
    agent.ask("claim_issue", issue_id="ISSUE-1")

    assert agent.refused("create_review_request", issue_id="ISSUE-1").code == "ACTIVE_ATTEMPT_EXISTS"


# --- claiming and ending ----------------------------------------------------------------------------------------------


def test_an_approval_finishes_the_issue(scene: Scene) -> None:
    """I56."""
    scene.request()
    claim = scene.claim()
    assert claim["kind"] == "review"
    assert claim["context"]["review"]["status"] == "claimed"
    held = scene.read()
    assert (held["status"], held["attempt_id"], held["reviewer"]) == ("claimed", claim["attempt_id"], "codex")

    reply = scene.finish(claim, "approved")

    assert reply["issue_status"] == "done"
    assert reply["latest_event_id"] == scene.world.events("review_approved")[0].id
    review = scene.read()
    assert (review["status"], review["claimable"], review["findings"]) == ("approved", False, "Line 3 is wrong.")


def test_what_was_found_is_read_by_whoever_works_next_and_asked_about_anew(scene: Scene) -> None:
    """I56."""
    first = scene.request()
    scene.worker.ask("create_issue", title="Rename the rest")

    reply = scene.finish(scene.claim(), "changes_requested", follow_up_issue_id="ISSUE-2")

    assert reply["issue_status"] == "ready"
    claim = scene.worker.ask("claim_issue", issue_id="ISSUE-1")
    review = claim["context"]["review"]
    assert (review["status"], review["findings"], review["reviewer"]) == (
        "changes_requested",
        "Line 3 is wrong.",
        "codex",
    )
    assert (review["follow_up"], review["follow_up_attempt_id"]) == ("ISSUE-2", claim["attempt_id"])
    assert len(scene.world.rows("SELECT source FROM issue_relation WHERE type = 'related_to'")) == 1
    complete(scene.worker, claim, "review")
    second = scene.request()
    assert second["review_request_id"] != first["review_request_id"]
    assert scene.read()["supersedes_id"] == first["review_request_id"]
    assert scene.finish(scene.claim(), "approved")["issue_status"] == "done"


def test_a_review_can_block_the_issue(scene: Scene) -> None:
    """I56."""
    scene.request()

    scene.finish(scene.claim(), "blocked", blocked_reason="no key")

    assert scene.read()["status"] == "blocked"
    issue = scene.worker.ask("get_issue", issue_id="ISSUE-1")
    assert (issue["status"], issue["blocked_reason"]) == ("blocked", "no key")


def test_of_two_reviewers_one_gets_it(scene: Scene) -> None:
    """I56."""
    review = scene.request()["review_request_id"]
    said: list[str] = []

    def claim(name: str) -> None:
        try:
            scene.world.agent(name, own_room=True).ask("claim_issue", review_request_id=review)
            said.append("claimed")
        except Refusal as refusal:
            said.append(refusal.code)

    threads = [threading.Thread(target=claim, args=(f"agent-{place}",)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(said) == ["ACTIVE_ATTEMPT_EXISTS"] * 3 + ["claimed"]


def test_a_claim_by_the_issue_takes_the_request_in_hand_too(scene: Scene) -> None:
    """I56."""
    scene.request()

    claim = scene.reviewer.ask("claim_issue", issue_id="ISSUE-1")

    assert scene.read()["attempt_id"] == claim["attempt_id"]


def test_nobody_reviews_what_it_did_itself(scene: Scene) -> None:
    review = scene.request()["review_request_id"]

    for given in ({"review_request_id": review}, {"issue_id": "ISSUE-1"}):
        assert scene.worker.refused("claim_issue", **given).code == "ISSUE_NOT_CLAIMABLE"
    assert scene.worker.refused("claim_issue", next=True, kind="review").code == "NOTHING_TO_CLAIM"
    same_name = scene.world.agent("claude-code")
    assert same_name.ask("claim_issue", next=True, kind="review")["kind"] == "review"


def test_next_picks_work_and_reviews_only_where_they_are_asked_for(scene: Scene) -> None:
    scene.request()
    assert scene.reviewer.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"

    claim = scene.reviewer.ask("claim_issue", next=True, kind="review")

    assert (claim["display_id"], claim["kind"]) == ("ISSUE-1", "review")
    assert claim["why"] == "review, medium priority, the oldest of its kind"
    assert claim["review_request_id"] == scene.read()["review_request_id"]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"issue_id": "ISSUE-1", "review_request_id": "x"}, "INVALID_ARGUMENT"),
        ({"review_request_id": "x", "kind": "work"}, "INVALID_ARGUMENT"),
        ({"review_request_id": "x"}, "REVIEW_NOT_FOUND"),
        ({"issue_id": "ISSUE-1", "kind": "work"}, "ISSUE_NOT_CLAIMABLE"),
    ],
)
def test_a_claim_that_means_nothing_is_refused(scene: Scene, given: dict[str, str], code: str) -> None:
    assert scene.reviewer.refused("claim_issue", **given).code == code


def test_ready_work_is_not_claimed_for_a_review_that_nobody_asked_for(world: World) -> None:
    ready_issue(world)

    assert world.agent("codex").refused("claim_issue", issue_id="ISSUE-1", kind="review").code == "ISSUE_NOT_CLAIMABLE"


# --- what changes meanwhile -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{"description": "x"}, {"acceptance_criteria": "x"}, {"title": "x"}])
def test_what_has_changed_cannot_be_approved(scene: Scene, changes: dict[str, str]) -> None:
    first = scene.request()
    claim = scene.claim()
    scene.update(**changes)

    refusal = scene.refused(claim, "approved")

    assert (refusal.code, refusal.retryable) == ("STALE_REVIEW_TARGET", False)
    assert refusal.facts["issue_version"] == 3
    second = scene.request()
    assert (
        scene.reviewer.ask("get_review_request", review_request_id=first["review_request_id"])["status"] == "superseded"
    )
    resumed = scene.reviewer.ask("claim_issue", review_request_id=second["review_request_id"])
    assert (resumed["attempt_id"], resumed["resumed"]) == (claim["attempt_id"], True)
    assert scene.finish(claim, "approved")["issue_status"] == "done"
    assert scene.read()["status"] == "approved"


def test_only_that_issue_counts_and_only_what_a_review_looks_at(scene: Scene) -> None:
    scene.request()
    claim = scene.claim()
    scene.update(priority="high", labels=["description"])
    scene.worker.ask("add_comment", issue_id="ISSUE-1", content="x")
    ready_issue(scene.world, "Lexer")
    other = scene.worker.ask("claim_issue", issue_id="ISSUE-2")
    complete(scene.worker, other)
    scene.reviewer.ask(
        "save_attempt_note",
        **proof(claim),
        kind="finding",
        content="x",
        artifacts=[{"type": "file", "uri": "notes.md"}],
    )

    assert "stale" not in scene.read()
    assert scene.finish(claim, "approved")["issue_status"] == "done"


def test_a_request_for_what_is_no_longer_there_cannot_be_claimed(scene: Scene) -> None:
    review = scene.request()
    scene.update(description="x")

    refusal = scene.reviewer.refused("claim_issue", review_request_id=review["review_request_id"])

    assert refusal.code == "STALE_REVIEW_TARGET"
    assert (scene.read()["stale"], scene.read()["claimable"]) == (True, False)
    claim = scene.reviewer.ask("claim_issue", next=True, kind="review")
    assert "review_request_id" not in claim, "the issue is in review all the same"
    assert scene.read()["status"] == "superseded"


def test_changes_can_be_requested_of_what_has_changed(scene: Scene) -> None:
    scene.request()
    claim = scene.claim()
    ready_issue(scene.world, "x")
    scene.world.agent("planner").ask("add_comment", issue_id="ISSUE-1", content="see above")
    scene.update(title="Parsers")

    assert scene.finish(claim, "changes_requested")["issue_status"] == "ready"


# --- what is withdrawn, and what is lost ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cancel", "supersede"])
def test_a_request_that_is_withdrawn_is_neither_claimed_nor_approved(scene: Scene, how: str) -> None:
    """I59."""
    review = scene.request()
    claim = scene.claim()
    given = {"review_request_id": review["review_request_id"]}
    refusal = scene.worker.refused(f"{how}_review_request", **given, expected_version=1)
    assert (refusal.code, refusal.retryable, refusal.facts["version"]) == ("VERSION_CONFLICT", True, 2)

    gone = scene.worker.ask(f"{how}_review_request", **given, expected_version=2)

    assert (gone["version"], gone["claimable"]) == (3, False)
    again = scene.worker.refused(f"{how}_review_request", **given, expected_version=3)
    assert (again.code, again.retryable) == ("INVALID_STATUS_TRANSITION", False)
    assert scene.refused(claim, "approved").code == "STALE_REVIEW_TARGET"
    fail(scene.reviewer, claim)
    assert scene.reviewer.refused("claim_issue", **given).code == "ISSUE_NOT_CLAIMABLE"
    anew = scene.request()
    assert anew["review_request_id"] != review["review_request_id"], "the same version can be asked about again"
    assert scene.finish(scene.claim(), "approved")["issue_status"] == "done"


def test_a_reviewer_whose_lease_lapses_leaves_the_request_open(scene: Scene) -> None:
    """I58."""
    scene.request()
    claim = scene.claim()
    scene.world.clock.forward(minutes=16)

    seen = scene.read()
    assert (seen["status"], seen["claimable"], "reviewer" in seen) == ("open", True, False), "before anybody writes so"
    assert scene.world.agent("gemini").ask("list_review_requests", status="open", claimable=True)["items"]
    other = scene.claim(by=scene.world.agent("gemini"))

    assert other["attempt_id"] != claim["attempt_id"]
    assert scene.refused(claim, "approved").code == "LEASE_EXPIRED"
    assert [event.session for event in scene.world.events("review_reopened")] == [scene.reviewer.caller.session]


@pytest.mark.parametrize("how", ["failed", "interrupted", "released", "death"])
def test_a_review_that_did_not_get_that_far_opens_the_request_again(scene: Scene, how: str) -> None:
    """I58."""
    scene.request()
    claim = scene.claim()
    if how == "failed":
        fail(scene.reviewer, claim)
    elif how == "interrupted":
        scene.reviewer.ask(
            "finish_attempt",
            **proof(claim),
            outcome="interrupted",
            result_summary="x",
            interruption_reason_code="context_limit",
        )
    elif how == "released":
        scene.reviewer.ask("release_attempt", attempt_id=claim["attempt_id"])
    else:
        scene.reviewer.dies()

    other = scene.claim(by=scene.world.agent("gemini"))

    assert other["kind"] == "review"
    assert len(scene.world.events("review_reopened")) == 1


# --- reading ----------------------------------------------------------------------------------------------------------


def test_requests_are_listed_newest_first_and_narrowed(scene: Scene) -> None:
    first = scene.request()
    ready_issue(scene.world, "Lexer")
    second = scene.worker.ask("create_review_request", issue_id="ISSUE-2")
    scene.worker.ask(
        "cancel_review_request", review_request_id=second["review_request_id"], expected_version=second["version"]
    )

    def listed(**given: Any) -> list[str]:
        return [item["display_id"] for item in scene.reviewer.ask("list_review_requests", **given)["items"]]

    assert listed() == ["ISSUE-2", "ISSUE-1"]
    assert listed(claimable=True) == ["ISSUE-1"]
    assert listed(claimable=False) == ["ISSUE-2"]
    assert listed(status="cancelled") == ["ISSUE-2"]
    assert listed(issue_id="ISSUE-1") == ["ISSUE-1"]
    page = scene.reviewer.ask("list_review_requests", limit=1)
    more = scene.reviewer.ask("list_review_requests", limit=1, cursor=page["next_cursor"])
    assert [item["review_request_id"] for item in more["items"]] == [first["review_request_id"]]
    assert more["has_more"] is False


def test_every_step_of_a_review_is_one_event_with_its_session(scene: Scene) -> None:
    """I53."""
    scene.request()
    scene.finish(scene.claim(), "approved")

    events = scene.worker.ask("get_changes", event_types=["review_requested", "review_claimed", "review_approved"])

    assert [(event["type"], event["agent"]) for event in events["events"]] == [
        ("review_requested", "claude-code"),
        ("review_claimed", "codex"),
        ("review_approved", "codex"),
    ]


def test_the_story_of_an_issue_has_its_reviews_and_decisions(scene: Scene) -> None:
    scene.request()
    scene.worker.ask("record_decision", title="LL(1)", summary="One token ahead.", issue_id="ISSUE-1")
    scene.finish(scene.claim(), "changes_requested")

    def told(kind: str) -> list[dict[str, Any]]:
        return scene.worker.ask("get_issue_activity", issue_id="ISSUE-1", types=[kind])["items"]

    assert [item["event_type"] for item in told("reviews")] == [
        "review_changes_requested",
        "review_claimed",
        "review_requested",
    ]
    assert told("reviews")[0]["findings"] == "Line 3 is wrong."
    assert [(item["entity_type"], item["summary"]) for item in told("decisions")] == [("decision", "One token ahead.")]
