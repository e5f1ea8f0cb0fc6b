"""The bench proved with a guard of a few lines of shell: a failure elsewhere is then the product's, not the bench's."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from driving import Client, Desk, in_turn

from clearway.setup.live_model import Performance, Script, Shown, Step, call, each, say

REASON = "held.py is somebody else's until noon"
BRIEF = "nobody else is here today"


@pytest.fixture
def guard(desk: Desk) -> Path:
    """A hook that refuses every call in whose payload `held.py` stands, and keeps what it was given."""
    log = desk.root / "payloads.jsonl"
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": REASON}
    brief = {"hookEventName": "SessionStart", "additionalContext": BRIEF}
    script = desk.root / "guard.sh"
    script.write_text(
        f"""payload=$(cat)
printf '%s\\n' "$payload" >> {log}
case $payload in
  *SessionStart*) printf '%s' '{json.dumps({"hookSpecificOutput": brief})}' ;;
  *PreToolUse*Read*) ;;
  *PreToolUse*held.py*) printf '%s' "{json.dumps({"hookSpecificOutput": answer}).replace('"', chr(92) + '"')}" ;;
esac
"""
    )
    _register(desk, f"/bin/sh {script}")
    return log


def _register(desk: Desk, command: str) -> None:
    group = {"hooks": [{"type": "command", "command": command, "timeout": 5}]}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "*", **group}], "SessionStart": [group], "Stop": [group]}}
    for place in (".claude/settings.json", ".codex/hooks.json"):
        path = desk.home / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(hooks))


def test_a_refused_write_never_happens_and_the_model_reads_why(client: Client, desk: Desk, guard: Path) -> None:
    held = desk.file("held.py", "held = 1\n")
    heard: dict[str, str] = {}

    def tries_every_way(shown: Shown) -> Performance:
        for way, steps in client.ways_to_write(held, "held = 1", "held = 2").items():
            heard[way] = (yield from each(steps))[-1].result.text
        yield say("none of them worked")

    client.play(tries_every_way)

    assert len(heard) == 3
    assert {way: REASON in text for way, text in heard.items()} == dict.fromkeys(heard, True), heard
    assert held.read_text() == "held = 1\n"


def test_an_allowed_edit_happens(client: Client, desk: Desk, guard: Path) -> None:
    for number, steps in enumerate(client.ways_to_write(desk.file("free.py"), "free = 1", "free = 2").values()):
        free = desk.file("free.py", "free = 1\n")
        client.play(in_turn(steps))
        assert free.read_text() == "free = 2\n", number


def test_what_a_start_hook_says_is_in_the_first_request(client: Client, desk: Desk, guard: Path) -> None:
    outcome = client.play(in_turn([client.shell("true")]))
    first, second = outcome.model.turns[:2]
    assert BRIEF in first.text
    assert BRIEF not in second.text
    assert BRIEF in outcome.model.asked[0].raw


def test_the_hooks_are_told_the_start_the_call_and_the_end_of_the_turn(client: Client, desk: Desk, guard: Path) -> None:
    client.play(in_turn([client.shell("true")]))
    payloads = [json.loads(line) for line in guard.read_text().splitlines()]
    assert [payload["hook_event_name"] for payload in payloads] == ["SessionStart", "PreToolUse", "Stop"]
    assert len({payload["session_id"] for payload in payloads}) == 1
    assert {payload["cwd"] for payload in payloads} == {str(desk.repository)}


def test_a_client_stands_at_a_gate_until_it_is_let_go(client: Client, desk: Desk) -> None:
    gate = desk.gate()
    run = client.start(lambda shown: client.stand_at(gate))
    gate.wait_until_reached(run)
    assert run.process.poll() is None
    assert len(run.model.turns) == 1
    gate.let_go()
    assert run.wait().exit_status == 0
    assert len(run.model.turns) >= 2


@pytest.mark.parametrize("reap", [True, False], ids=["reaped", "zombie"])
def test_a_client_killed_in_the_middle_of_a_tool_asks_its_model_nothing_more(
    client: Client, desk: Desk, reap: bool
) -> None:
    gate = desk.gate()
    run = client.start(lambda shown: client.stand_at(gate))
    gate.wait_until_reached(run)
    run.kill(reap=reap)
    gate.let_go()
    run.close()
    assert run.process.returncode == -9
    assert len(run.model.turns) == 1


def test_a_script_that_waits_keeps_its_client_waiting(client: Client, desk: Desk) -> None:
    may_answer = threading.Event()

    def thinks(shown: Shown) -> Performance:
        assert may_answer.wait(60)
        yield client.shell("echo thought")

    run = client.start(thinks)
    run.model.wait_for_turn(0, 60)
    assert run.process.poll() is None
    may_answer.set()
    assert "thought" in run.model.wait_for_turn(1, 60).text
    run.wait()


def test_a_step_can_use_what_an_earlier_one_was_answered(client: Client, desk: Desk) -> None:
    def repeats(shown: Shown) -> Performance:
        shown = yield client.shell("echo word-$((40 + 2))")
        word = next(word for word in shown.result.text.split() if word.startswith("word-"))
        yield client.shell(f"echo {word} > {word}.txt")

    client.play(repeats)

    assert desk.file("word-42.txt").read_text() == "word-42\n"


def test_a_script_that_fails_is_the_failure_of_its_test(client: Client, desk: Desk) -> None:
    def stumbles(shown: Shown) -> Performance:
        yield client.shell("true")
        raise LookupError("the claim was refused")

    with pytest.raises(AssertionError, match="the script failed") as failed:
        client.play(stumbles)
    assert isinstance(failed.value.__cause__, LookupError)


def test_two_clients_at_one_desk_have_a_model_each(claude: Client, codex: Client, desk: Desk) -> None:
    runs = [client.start(in_turn([client.shell(f"echo {client.name}")])) for client in (claude, codex)]
    outcomes = [run.wait() for run in runs]
    assert [outcome.exit_status for outcome in outcomes] == [0, 0]
    assert [outcome.model.turns[1].result.text.strip().splitlines()[-1] for outcome in outcomes] == [
        "claude-code",
        "codex",
    ]


def test_parallel_calls_of_one_turn_are_all_answered_in_the_next(client: Client, desk: Desk) -> None:
    both: Script = [call(*client.shell("echo one").calls, *client.shell("echo two").calls), Step(text="finished")]
    outcome = client.play(both)
    # They run side by side, and a client may hand them back in the order in which they ended.
    assert sorted(("one" in result.text, "two" in result.text) for result in outcome.model.turns[1].results) == [
        (False, True),
        (True, False),
    ]


def test_a_cleared_desk_leaves_no_process_behind(client: Client, desk: Desk) -> None:
    gate = desk.gate()
    run = client.start(lambda shown: client.stand_at(gate))
    gate.wait_until_reached(run)
    desk.clear()
    assert run.process.returncode is not None
    assert not Path(f"/proc/{run.process.pid}").exists()
