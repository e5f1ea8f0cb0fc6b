"""What work costs, by attempt, issue, agent and model; and caps that park work with their reason."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import HOST, Agent, World
from tests.surfaces.test_moments import Desk, desk

from clearway import amounts
from clearway.config import Caller
from clearway.crew import costs
from clearway.db.tx import Tx
from clearway.surfaces.moments import spending

__all__ = ["desk"]
HOURS = 3_600_000


def human(world: World) -> Agent:
    return Agent(world, Caller("human", cwd=str(world.repo), host=HOST, human=True))


def claimed(world: World, title: str = "Parse dates") -> tuple[Agent, dict[str, Any]]:
    worker = world.agent("codex-worker")
    made = world.agent("planner").ask("create_issue", title=title, status="ready")
    claim = worker.ask("claim_issue", issue_id=made["issue_id"], context=False)
    return worker, {"attempt_id": claim["attempt_id"], "lease_token": claim["lease_token"]}


def spend(worker: Agent, **facts: Any) -> dict[str, Any]:
    return worker.room.run(lambda tx: costs.record(tx, **facts), caller=worker.caller)


def status(world: World, issue: str = "ISSUE-1") -> str:
    return human(world).ask("get_issue", issue_id=issue)["status"]


def test_what_a_run_has_cost_belongs_to_its_attempt_issue_agent_and_model(world: World) -> None:
    worker, proof = claimed(world)
    spend(worker, input_tokens=1_000, cached_tokens=600, output_tokens=50, cost_usd=0.25, model="gpt-5.5")
    spend(worker, input_tokens=10, output_tokens=5, attempt=proof["attempt_id"], model="unheard-of")
    told = human(world).ask("get_costs")
    assert told["total"] == {
        "input_tokens": 1_010,
        "output_tokens": 55,
        "cached_tokens": 600,
        "cost_usd": 0.25,
        "unpriced_tokens": 15,
    }
    assert [item["issue"] for item in told["items"]] == ["ISSUE-1"]
    for by, names in (
        ("agent", ["codex-worker"]),
        ("model", ["gpt-5.5", "unheard-of"]),
        ("attempt", [proof["attempt_id"]]),
    ):
        assert [item[by] for item in human(world).ask("get_costs", by=by)["items"]] == names
    assert human(world).ask("get_costs", agent="claude-code")["items"] == []


def test_a_known_price_is_used_where_no_money_was_told(world: World) -> None:
    worker, _ = claimed(world)
    human(world).ask("set_setting", name="cost.prices", value="gpt-5=1/0.1/10; gpt-5.5=2/0.2/20")
    spent = spend(worker, input_tokens=1_500_000, cached_tokens=500_000, output_tokens=100_000, model="gpt-5.5-codex")
    assert spent == {"recorded": True, "cost_usd": 2 + 0.1 + 2, "priced": "table"}
    assert spend(worker, input_tokens=1, model="other") == {"recorded": True}
    assert spend(worker) == {"recorded": False}


def test_an_issue_that_has_cost_what_it_may_is_parked_until_a_person_lets_it_go_on(world: World) -> None:
    human(world).ask("set_setting", name="cost.issue", value="5, 2M tokens")
    worker, proof = claimed(world)
    spend(worker, cost_usd=5.20, output_tokens=1)
    assert human(world).ask("room")["agents"][0]["stuck"] == "cost", "its holder is warned, not stopped"
    ended = worker.ask(
        "finish_attempt", **proof, outcome="interrupted", interruption_reason_code="other", result_summary="Half done."
    )
    assert ended["issue_status"] == "blocked"
    parked = human(world).ask("get_issue", issue_id="ISSUE-1")
    assert "$5.20 of $5.00" in parked["blocked_reason"]
    assert worker.refused("claim_issue", next=True).code == "NOTHING_TO_CLAIM"

    human(world).ask(
        "update_issue", issue_id="ISSUE-1", expected_version=parked["version"], changes={"status": "ready"}
    )
    again = worker.ask("claim_issue", next=True, context=False)
    spend(worker, input_tokens=1_999_999)
    assert "stuck" not in human(world).ask("room")["agents"][0], "what it cost before counts no more"
    spend(worker, input_tokens=1, attempt=again["attempt_id"])
    assert human(world).ask("room")["agents"][0]["stuck"] == "cost"


def test_work_whose_lease_lapses_over_its_cap_is_parked_too(world: World) -> None:
    human(world).ask("set_setting", name="cost.issue", value="1k tokens")
    worker, _ = claimed(world)
    spend(worker, output_tokens=1_000)
    worker.dies()
    human(world).ask("add_comment", issue_id="ISSUE-1", content="Who has it?")
    assert status(world) == "blocked"


def test_work_that_is_done_is_not_parked(world: World) -> None:
    human(world).ask("set_setting", name="cost.issue", value="1")
    worker, proof = claimed(world)
    spend(worker, cost_usd=3)
    worker.ask("finish_attempt", **proof, outcome="completed", result_summary="Done.", target_issue_status="done")
    assert status(world) == "done"


@pytest.mark.parametrize("cap", ["cost.night", "cost.agent"])
def test_at_the_cap_of_a_night_or_an_agent_nothing_new_is_begun(world: World, cap: str) -> None:
    begun = amounts.moment_of("18:00", world.clock.wall())
    assert begun is not None
    world.clock.forward(ms=begun + 25 * HOURS - world.clock.wall())  # an hour into a night
    worker, proof = claimed(world)
    other = world.agent("claude-worker")
    human(world).ask("create_issue", title="More", status="ready")
    human(world).ask("send_message", to="codex-worker", text="Look at this.", kind="task")
    human(world).ask("set_setting", name=cap, value="10")
    spend(worker, cost_usd=11.5)

    refusal = worker.refused("claim_issue", next=True)
    assert (refusal.code, refusal.retryable) == ("RATE_LIMITED", True)
    assert "$11.50 of $10.00" in refusal.message
    assert "$11.50 of $10.00" in worker.ask("next_task")["waiting"]["reason"]
    if cap == "cost.night":
        assert other.refused("claim_issue", next=True).code == "RATE_LIMITED"
    worker.ask("finish_attempt", **proof, outcome="completed", result_summary="Done.", target_issue_status="done")
    assert human(world).ask("claim_issue", next=True)["display_id"] == "ISSUE-2", "people are never stopped"
    human(world).ask("release_attempt", attempt_id=human(world).ask("list_attempts")["items"][0]["attempt_id"])

    world.clock.forward(minutes=25 * 60)
    assert worker.ask("next_task")["task"]["text"] == "Look at this."
    assert worker.ask("claim_issue", next=True)["display_id"] == "ISSUE-2"


def test_costs_are_told_since_a_time(world: World) -> None:
    worker, _ = claimed(world)
    spend(worker, cost_usd=1)
    world.clock.forward(minutes=300)
    spend(worker, cost_usd=2)
    assert human(world).ask("get_costs", since="2h")["total"]["cost_usd"] == 2
    assert human(world).ask("get_costs", since="1d")["total"]["cost_usd"] == 3
    assert human(world).refused("get_costs", since="yesterday").code == "INVALID_ARGUMENT"


def test_whoever_starts_agents_otherwise_reports_what_they_cost(world: World) -> None:
    worker, proof = claimed(world)
    worker.ask("report_cost", input_tokens=5, output_tokens=2, cost_usd="0.42", attempt_id=proof["attempt_id"])
    assert human(world).ask("get_costs")["total"]["cost_usd"] == 0.42
    assert worker.refused("report_cost", output_tokens=2, cost_usd="cheap").code == "INVALID_ARGUMENT"
    assert worker.refused("report_cost", output_tokens=2, attempt_id="0" * 26).code == "ATTEMPT_NOT_FOUND"


def test_absurd_numbers_spoil_no_sum(world: World) -> None:
    """Whoever reports the largest number again and again, under many names: the caps of others are still counted."""
    human(world).ask("set_setting", name="cost.agent", value="900000000")
    worker = world.agent("codex-worker")
    most: dict[str, Any] = {"input_tokens": 2**53, "output_tokens": 2**53}

    def report(tx: Tx) -> None:
        for place in range(1_100):
            costs.record(tx, **most, model="x" if place % 2 else f"m{place}")

    worker.room.run(report, caller=worker.caller)
    assert human(world).ask("get_costs", by="model")["total"]["input_tokens"] > 0
    claimed(world)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("5", (5_000_000, None)),
        ("$0.50", (500_000, None)),
        ("2M tokens", (None, 2_000_000)),
        ("1.5k", (None, 1_500)),
        ("300 tokens", (None, 300)),
        ("5, 2M tokens", (5_000_000, 2_000_000)),
        *((text, None) for text in ("", "five", "-5", "5 euros", "2M, 3M", "1e9", "5,", "M", "5 6")),
    ],
)
def test_a_cap_is_written_as_people_write_amounts(text: str, read: tuple[int | None, int | None] | None) -> None:
    assert amounts.cap_of(text) == read


# --- transcripts ------------------------------------------------------------------------------------------------------


def claude_line(name: str, output: int, model: str = "claude-sonnet-5") -> str:
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 90,
        "cache_read_input_tokens": 900,
        "output_tokens": output,
    }
    return json.dumps({"type": "assistant", "message": {"id": name, "model": model, "usage": usage}}) + "\n"


def codex_line(total: int, cached: int, output: int, last: int = 0) -> str:
    usage = {"input_tokens": total, "cached_input_tokens": cached, "output_tokens": output}
    info = {"total_token_usage": usage, "last_token_usage": {"output_tokens": last}}
    payload = {"type": "token_count", "info": info}
    return json.dumps({"type": "event_msg", "payload": payload}) + "\n"


def test_the_transcript_of_claude_code_is_counted_once_at_the_end_of_each_turn(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(claude_line("before", 7))
    alpha = desk.session("a", start="")
    alpha.tell("SessionStart", source="resume", transcript_path=str(path))
    alpha.ask("create_issue", title="Parse dates", status="ready")
    alpha.ask("claim_issue", issue_id="ISSUE-1")
    with path.open("a") as opened:
        opened.write('{"type": "user", "message": "usage"}\nnot JSON "usage"\n')
        opened.write(claude_line("m1", 20) * 3)  # a line for each block of one message
        opened.write(claude_line("m2", 30)[:-5])  # and one that is still being written
    alpha.tell("Stop", transcript_path=str(path))
    with path.open("a") as opened:
        opened.write(claude_line("m2", 30)[-5:] + claude_line("m3", 1, "<synthetic>"))
    for _ in range(2):
        alpha.tell("Stop", transcript_path=str(path))
    [item] = desk.human("get_costs", by="issue")["items"]
    assert item == {
        "issue": "ISSUE-1",
        "input_tokens": 2_000,
        "cached_tokens": 1_800,
        "output_tokens": 50,
        "unpriced_tokens": 250,
    }


def test_the_sums_of_codex_are_counted_by_what_is_new(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    alpha = desk.session("a", client="codex", start="")
    alpha.tell("SessionStart", source="startup", transcript_path=str(path))
    path.write_text(
        json.dumps({"type": "turn_context", "payload": {"model": "gpt-5.5"}}) + "\n" + codex_line(100, 60, 5)
    )
    alpha.raw("Stop", transcript_path=str(path))
    with path.open("a") as opened:
        opened.write(codex_line(150, 80, 9) + codex_line(300, 200, 20))
    alpha.raw("Stop", transcript_path=str(path))
    assert desk.human("get_costs", by="model")["items"] == [
        {"model": "gpt-5.5", "input_tokens": 300, "cached_tokens": 200, "output_tokens": 20, "unpriced_tokens": 120}
    ]


def test_turns_that_end_at_once_count_a_transcript_once(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Subagents that work side by side end side by side, and each names the transcript of their session."""
    path = tmp_path / "s.jsonl"
    alpha = desk.session("a", start="")
    alpha.tell("SessionStart", source="startup", transcript_path=str(path))
    path.write_text(claude_line("m1", 20))
    read_on, ended = spending.read_on, False

    def meanwhile(path: str, read: spending.Read) -> dict[str, list[int]]:
        nonlocal ended
        spent = read_on(path, read)
        if not ended:
            ended = True
            alpha.tell("Stop", transcript_path=path)
        return spent

    monkeypatch.setattr(spending, "read_on", meanwhile)
    alpha.tell("Stop", transcript_path=str(path))
    assert desk.human("get_costs")["total"]["output_tokens"] == 20


def test_a_line_that_is_too_long_hides_no_usage_behind_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "_LINE_BYTES_MAX", 1_000)
    path = tmp_path / "s.jsonl"
    alpha = desk.session("a", start="")
    alpha.tell("SessionStart", source="startup", transcript_path=str(path))
    path.write_text(json.dumps({"type": "user", "picture": 5_000 * "x"}) + "\n" + claude_line("m1", 20) + 2_500 * "x")
    alpha.tell("Stop", transcript_path=str(path))
    with path.open("a") as opened:
        opened.write("x\n" + claude_line("m2", 30))
    alpha.tell("Stop", transcript_path=str(path))
    assert desk.human("get_costs")["total"]["output_tokens"] == 50


def test_a_transcript_that_nobody_saw_begin_or_cannot_be_read_spoils_nothing(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(claude_line("m1", 20))
    alpha = desk.session("a")
    alpha.tell("Stop", transcript_path=str(path))
    alpha.tell("Stop", transcript_path=str(tmp_path / "gone.jsonl"))
    alpha.tell("Stop", transcript_path=str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    alpha.tell("Stop", transcript_path=str(tmp_path / "pipe"))
    assert desk.human("get_costs")["items"] == []
    with path.open("a") as opened:
        opened.write(claude_line("m2", 20))
    alpha.tell("Stop", transcript_path=str(path))
    assert desk.human("get_costs")["total"]["output_tokens"] == 20


def test_of_the_sums_of_a_session_that_goes_on_only_what_is_new_counts(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text(codex_line(100, 60, 5))
    alpha = desk.session("a", client="codex", start="")
    alpha.tell("SessionStart", source="resume", transcript_path=str(path))
    with path.open("a") as opened:
        opened.write(codex_line(100, 60, 9, last=4))
    alpha.raw("Stop", transcript_path=str(path))
    assert desk.human("get_costs")["total"]["output_tokens"] == 4
