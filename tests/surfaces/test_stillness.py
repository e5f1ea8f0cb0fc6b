"""Alive and not moving: who fails at the same command, makes and takes back the same edit, or does nothing for an hour
is warned, a person sees it, and after the warning signs of life no longer renew the lease on the issue.
"""

from __future__ import annotations

import pytest
from tests.surfaces.test_moments import Desk, Session, desk

__all__ = ["desk"]


def works(desk: Desk) -> Session:
    """A session that has claimed an issue, and has edited something once."""
    alpha = desk.session("a")
    alpha.ask("create_issue", title="Parse dates", status="ready")
    alpha.ask("claim_issue", issue_id="ISSUE-1")
    assert alpha.edits("free.txt") == ""
    return alpha


def fails(alpha: Session, command: str = "pytest -q") -> str:
    alpha.runs(command)
    return alpha.after("Bash", event="PostToolUseFailure", command=command, error="Exit code 1\nE   assert 1 == 2")


def changes(alpha: Session, to: str) -> None:
    file = str(alpha.desk.repo / "free.txt")
    assert alpha.before("Edit", file_path=file, old_string="a", new_string=to) == ""
    alpha.after("Edit", file_path=file, old_string="a", new_string=to)


def stuck(desk: Desk) -> list[str]:
    rows = desk.rows("SELECT data FROM event WHERE type = 'attempt_stuck' ORDER BY id")
    return [row.data.partition('"why":"')[2].partition('"')[0] for row in rows]


def test_five_failures_of_one_command_are_told_to_its_session_and_to_people(desk: Desk) -> None:
    alpha = works(desk)
    for _ in range(4):
        assert fails(alpha) == ""
    told = fails(alpha)
    assert 'ISSUE-1 "Parse dates" does not move: "pytest -q" has failed 5 times.' in told
    assert "your lease ends at" in told
    assert stuck(desk) == ["failing"]
    assert [each["stuck"] for each in desk.human("room")["agents"]] == ["failing"]
    assert fails(alpha) == "", "it is told once"
    alpha.ask("save_attempt_note", **proof(alpha), kind="finding", content="The clock is in UTC.")
    assert "stuck" not in desk.human("room")["agents"][0]


def test_whoever_works_between_failures_is_given_more_of_them(desk: Desk) -> None:
    alpha = works(desk)
    for number in range(9):
        assert fails(alpha) == ""
        changes(alpha, str(number))
    assert stuck(desk) == []
    assert "has failed 10 times" in fails(alpha)


def test_a_success_in_between_begins_anew(desk: Desk) -> None:
    alpha = works(desk)
    for _ in range(3):
        fails(alpha)
        fails(alpha)
        alpha.runs("pytest -q")
        assert alpha.ran("pytest -q") == ""
    assert stuck(desk) == []


def test_an_edit_that_is_made_and_taken_back_again_and_again_goes_in_circles(desk: Desk) -> None:
    alpha = works(desk)  # a -> b, once
    file = str(desk.repo / "free.txt")
    for old, new in (("b", "a"), ("a", "b"), ("b", "a")):
        alpha.before("Edit", file_path=file, old_string=old, new_string=new)
        assert alpha.after("Edit", file_path=file, old_string=old, new_string=new) == ""
    alpha.before("Edit", file_path=file, old_string="a", new_string="b")
    told = alpha.after("Edit", file_path=file, old_string="a", new_string="b")
    assert "was made 3 times and taken back in between" in told
    assert stuck(desk) == ["circling"]


@pytest.mark.parametrize("how", ["lapse", "warn", "off"])
def test_an_hour_without_edit_or_note_is_warned_of_and_then_the_lease_ends(desk: Desk, how: str) -> None:
    desk.human("set_setting", name="stuck", value=how)
    alpha, beta = works(desk), desk.session("b")
    told: list[str] = []
    for _ in range(10):  # an hour and forty minutes
        desk.forward(minutes=10)
        told.append(alpha.tell("UserPromptSubmit", prompt="and now?"))
    news = "\n".join(told)
    assert ("for 60 min no edit and no note" in news) == (how != "off"), news
    assert stuck(desk) == ([] if how == "off" else ["still"])
    if how == "lapse":
        assert "your lease on ISSUE-1" in news.replace("Your", "your")
        assert beta.ask("claim_issue", issue_id="ISSUE-1")["display_id"] == "ISSUE-1"
    else:
        assert desk.human("get_issue", issue_id="ISSUE-1")["effective_status"] == "in_progress"


def test_an_edit_takes_the_warning_back(desk: Desk) -> None:
    alpha = works(desk)
    for _ in range(7):
        desk.forward(minutes=10)
        alpha.tell("UserPromptSubmit", prompt="and now?")
    assert stuck(desk) == ["still"]
    desk.forward(minutes=4)
    changes(alpha, "z")
    for number in range(5):
        desk.forward(minutes=10)
        changes(alpha, str(number))
    assert desk.human("get_issue", issue_id="ISSUE-1")["effective_status"] == "in_progress"
    assert "stuck" not in desk.human("room")["agents"][0]


def test_an_hour_of_edits_is_an_hour_of_acts(desk: Desk) -> None:
    """An edit under an attempt concerns it: beats carry it on for as long as it is worked on."""
    alpha = works(desk)
    for number in range(36):
        desk.forward(minutes=10)
        changes(alpha, str(number))
    assert stuck(desk) == []
    assert desk.human("get_issue", issue_id="ISSUE-1")["effective_status"] == "in_progress"


def test_a_call_that_lasts_is_no_standstill(desk: Desk) -> None:
    """C02: the tests of an hour and a half."""
    alpha = works(desk)
    alpha.runs("pytest --slow")
    for _ in range(9):
        desk.forward(minutes=10)
        desk.human("add_comment", issue_id="ISSUE-1", content="How far?")
    alpha.ran("pytest --slow")
    assert stuck(desk) == []
    assert desk.human("get_issue", issue_id="ISSUE-1")["effective_status"] == "in_progress"


def proof(alpha: Session) -> dict[str, str]:
    claim = alpha.ask("claim_issue", issue_id="ISSUE-1", context=False)
    return {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


def test_a_masked_test_run_is_known_by_what_it_printed(desk: Desk) -> None:
    alpha = works(desk)
    changes(alpha, "c")
    for printed, tests in (("1 failed, 2 passed", "red"), ("", "unknown"), ("3 passed in 1s", "green")):
        desk.forward(minutes=1)
        alpha.runs("pytest -q | tail -3")
        alpha.ran("pytest -q | tail -3", response={"stdout": printed, "stderr": "", "interrupted": False})
        ended = alpha.ask(
            "finish_attempt",
            **proof(alpha),
            outcome="interrupted",
            result_summary=".",
            interruption_reason_code="other",
        )
        assert ended["attempt_status"] == "interrupted"
        last = alpha.ask("list_attempts", issue_id="ISSUE-1")["items"][0]
        assert last["evidence"]["tests"] == tests
        desk.forward(minutes=1)
        alpha.ask("claim_issue", issue_id="ISSUE-1")
        changes(alpha, printed)


def test_of_a_client_that_tells_no_status_what_it_printed_decides(desk: Desk) -> None:
    alpha = desk.session("a", client="codex")
    alpha.ask("create_issue", title="Parse dates", status="ready")
    alpha.ask("claim_issue", issue_id="ISSUE-1")
    for _ in range(4):
        alpha.runs("pytest -q")
        assert alpha.ran("pytest -q", response="E   assert 1 == 2\n1 failed in 0.1s") == ""
    alpha.runs("pytest -q")
    assert '"pytest -q" has failed 5 times' in alpha.ran("pytest -q", response="1 failed in 0.1s")
    alpha.runs("pytest -q")
    alpha.ran("pytest -q", response="3 passed in 0.1s")
    done = {"outcome": "completed", "result_summary": ".", "target_issue_status": "done"}
    assert alpha.ask("finish_attempt", **proof(alpha), **done)["warnings"] == []
    assert alpha.ask("list_attempts")["items"][0]["evidence"]["tests"] == "green"


def test_what_a_worker_has_started_is_seen_of_what_the_worker_has_claimed(desk: Desk) -> None:
    """The client of a worker is told itself, and the worker, which only renews, does not make it move."""
    worker = desk.session("w")
    worker.ask("create_issue", title="Parse dates", status="ready")
    mine = worker.ask("claim_issue", issue_id="ISSUE-1")
    desk.environ["CLEARWAY_WORKER"] = "w"
    child = desk.session("c")
    for _ in range(4):
        assert fails(child) == ""
    assert 'This does not move: "pytest -q" has failed 5 times.' in fails(child)
    assert fails(child) == "", "it is told once"
    worker.ask("renew_attempt", attempt_id=mine["attempt_id"], lease_token=mine["lease_token"])
    [need] = [need for need in desk.human("needs_you")["items"] if need["kind"] == "stuck"]
    assert "ISSUE-1" in need["text"]
    kept = {"attempt_id": mine["attempt_id"], "lease_token": mine["lease_token"]}
    worker.ask("save_attempt_note", **kept, kind="finding", content="The clock is in UTC.")
    assert "stuck" not in [need["kind"] for need in desk.human("needs_you")["items"]]
