"""Calls that are being made: they hold what beats do not carry, and are matched to their ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.conftest import HandClock, World
from tests.test_lapse import ready_issue

from clearway.limits import OPEN_CALL_HOLDS_MS
from clearway.opencalls import OpenCalls


@pytest.fixture
def calls(tmp_path: Path, clock: HandClock) -> OpenCalls:
    return OpenCalls(str(tmp_path / "home"), clock)


def test_a_busy_worker_keeps_its_issue_until_the_call_comes_back(world: World) -> None:
    """C02."""
    busy, other = world.agent("busy"), world.agent("other")
    ready_issue(world)
    busy.ask("claim_issue", next=True)
    busy.ask("claim_paths", paths=["src/a.py"])
    world.room.calls.begin(busy.caller.key, "", "toolu_1", "")
    world.clock.forward(minutes=45)

    refusal = other.refused("claim_issue", issue_id="ISSUE-1")
    assert refusal.code == "ACTIVE_ATTEMPT_EXISTS"
    assert "tool call in flight since" in refusal.message
    refusal = other.refused("claim_paths", paths=["src/a.py"])
    assert "tool call in flight since" in refusal.message
    assert len(refusal.message.encode()) <= 240
    assert other.ask("path_owner", path="src/a.py")["agent"] == "busy"

    world.room.calls.end(busy.caller.key, "", "toolu_1", "")
    busy.ask("room")  # what comes back is a sign of life, but a late one
    assert other.ask("claim_issue", issue_id="ISSUE-1")["attempt_id"]


def test_a_call_that_comes_back_in_time_goes_on_by_beats(world: World) -> None:
    """C02, P43."""
    busy, other = world.agent("busy"), world.agent("other")
    busy.ask("claim_paths", paths=["src/a.py"], ttl_seconds=600)
    for _ in range(5):
        world.room.calls.begin(busy.caller.key, "", "toolu_1", "")
        world.clock.forward(minutes=9)
        busy.ask("room")
        world.room.calls.end(busy.caller.key, "", "toolu_1", "")
    assert other.refused("claim_paths", paths=["src/a.py"]).code == "PATH_HELD"


def test_a_call_holds_for_two_hours_and_no_longer(world: World) -> None:
    """C02: up to the cap."""
    busy, other = world.agent("busy"), world.agent("other")
    ready_issue(world)
    busy.ask("claim_issue", next=True)
    world.room.calls.begin(busy.caller.key, "", "toolu_1", "")
    world.clock.forward(ms=OPEN_CALL_HOLDS_MS - 1)
    assert other.refused("claim_issue", issue_id="ISSUE-1").code == "ACTIVE_ATTEMPT_EXISTS"
    world.clock.forward(ms=1)
    assert other.ask("list_issues", is_claimable=True)["items"], "a read knows it, too"
    assert other.ask("claim_issue", issue_id="ISSUE-1")["attempt_id"]


def test_a_dead_client_has_no_call_in_flight(world: World) -> None:
    """C02: or if the holder's process is gone."""
    busy, other = world.agent("busy"), world.agent("other")
    ready_issue(world)
    busy.ask("claim_issue", next=True)
    world.room.calls.begin(busy.caller.key, "", "toolu_1", "")
    world.clock.forward(minutes=45)
    busy.dies()
    assert other.ask("claim_issue", issue_id="ISSUE-1")["attempt_id"]


def test_a_call_of_an_earlier_boot_holds_nothing(world: World) -> None:
    busy, other = world.agent("busy"), world.agent("other")
    busy.ask("claim_paths", paths=["src/a.py"], ttl_seconds=60)
    world.room.calls.begin(busy.caller.key, "", "toolu_1", "")
    world.clock.booted = "boot-2"
    world.clock.forward(minutes=2)
    assert other.ask("claim_paths", paths=["src/a.py"])["granted"]


def test_a_call_in_flight_does_not_lengthen_the_lease_past_its_own_end(world: World) -> None:
    busy, other = world.agent("busy"), world.agent("other")
    busy.ask("claim_paths", paths=["src/a.py"], ttl_seconds=60)
    world.room.calls.begin(busy.caller.key, "", "toolu_1", "")
    world.clock.forward(minutes=5)
    other.ask("claim_paths", paths=["src/b.py"])  # a write settles what is due
    world.room.calls.close(busy.caller.key, "")
    assert other.ask("claim_paths", paths=["src/a.py"])["granted"]


def test_a_named_holder_has_no_call_in_flight(world: World) -> None:
    named, other = world.agent("named", named=True), world.agent("other")
    named.ask("claim_paths", paths=["src/a.py"], ttl_seconds=60)
    world.room.calls.begin(named.caller.key, "", "toolu_1", "")
    world.clock.forward(minutes=2)
    assert other.ask("claim_paths", paths=["src/a.py"])["granted"]


def test_a_death_takes_the_marks_along(world: World) -> None:
    busy, other = world.agent("busy"), world.agent("other")
    busy.ask("room", status="busy")
    world.room.calls.begin(busy.caller.key, "", "toolu_1", "")
    busy.dies()
    other.ask("room", status="here")
    assert world.room.calls.newest(busy.caller.key) is None


def test_calls_without_an_id_are_counted(calls: OpenCalls) -> None:
    first = calls.begin("s", "", "", "Bash make")
    second = calls.begin("s", "", "", "Bash make")
    other = calls.begin("s", "t", "", "Bash make")
    assert len({first.name, second.name, other.name}) == 3
    assert calls.end("s", "", "", "Bash ls") is None
    assert calls.end("s", "", "", "Bash make") is not None
    assert calls.newest("s") is not None
    ended = calls.end("s", "", "", "Bash make")
    assert ended is not None
    assert ended.name == first.name
    assert calls.end("s", "", "", "Bash make") is None
    assert calls.end("s", "t", "", "Bash make") is not None
    assert calls.newest("s") is None


def test_a_thread_ends_its_own_calls_only(calls: OpenCalls) -> None:
    main, sub = calls.begin("s", "", "c1", ""), calls.begin("s", "a.b", "c2", "")
    assert [call.name for call in calls.close("s", "")] == [main.name]
    assert [call.name for call in calls.close("s", "a")] == []
    assert [call.name for call in calls.close("s", "a.b")] == [sub.name]


def test_what_goes_on_in_the_background_stays_until_the_client_says_it_ended(calls: OpenCalls) -> None:
    call = calls.begin("s", "", "c1", "")
    call.task = "shell-1"
    calls.note("s", call)
    assert calls.background("s") == [call.name]
    assert calls.close("s", "") == [], "the client does not say what goes on"
    assert calls.close("s", "", ["shell-1", "x"]) == []
    assert [ended.name for ended in calls.close("s", "other", ["x"])] == [call.name]


def test_the_end_of_a_session_ends_all_its_calls(calls: OpenCalls, tmp_path: Path) -> None:
    calls.begin("s", "", "c1", "")
    calls.begin("s", "t", "c2", "")
    calls.begin("other", "", "c1", "")
    assert len(calls.forget("s")) == 2
    assert os.listdir(tmp_path / "home" / "run" / "open") == ["other"]


@pytest.mark.parametrize("name", ["..", ".", "a/b", "x" * 1_000, "\0", "\ud800", "ü", "", "~1", "a.b"])
def test_whatever_a_client_calls_things_stays_in_its_folder(calls: OpenCalls, tmp_path: Path, name: str) -> None:
    call = calls.begin(name or "s", name, name, name)
    call.rooms = ["r"]
    calls.note(name or "s", call)
    found = calls.end(name or "s", name, name, name)
    assert found is not None
    assert found.rooms == ["r"]
    assert os.listdir(tmp_path / "home" / "run") == ["open"]


def test_a_file_that_says_something_else_is_no_call(calls: OpenCalls, tmp_path: Path) -> None:
    calls.begin("s", "", "c1", "")
    folder = tmp_path / "home" / "run" / "open" / "s"
    for number, text in enumerate([b"", b"[]", b"{", b'{"boot": 1}', b"\xff" * 100, b'{"boot":"b","at":"x","wall":1}']):
        (folder / f".c{number + 2}").write_bytes(text)
    assert len(calls.close("s", "")) == 1


def test_a_full_disk_costs_the_mark_and_not_the_call(tmp_path: Path, clock: HandClock) -> None:
    (tmp_path / "home").write_text("not a folder")
    calls = OpenCalls(str(tmp_path / "home"), clock)
    assert calls.begin("s", "", "c1", "").name == ".c1"
    assert calls.end("s", "", "c1", "") is None


def test_a_call_of_our_own_tools_is_announced_once(calls: OpenCalls, clock: HandClock) -> None:
    calls.announce("toolu_1", "s1", "sub", "/repo")
    calls.announce("toolu_2", "s2", "", "/repo")
    assert calls.announced("toolu_1") == ("s1", "sub", "/repo")
    calls.done("toolu_1")
    assert calls.announced("toolu_1") is None
    clock.forward(minutes=11)
    calls.sweep()
    assert calls.announced("toolu_2") is None
