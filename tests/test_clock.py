"""Room time and ids: what a jump, a reboot and a sleep do to the one, and how the others follow each other."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from tests.conftest import HOUR, HandClock

from clearway import clock as clocks
from clearway.clock import Clock, FileClock, room_time
from clearway.errors import Refusal

DAY = 24 * HOUR


def anchored(clock: HandClock, room: int = 5_000) -> tuple[str, int, int, int]:
    return clock.boot(), clock.monotonic(), clock.wall(), room


@pytest.mark.parametrize("hours", [0, 0.5, -0.5, 24 * 365, -24 * 365])
def test_room_time_runs_with_the_monotonic_clock_whatever_the_wall_says(hours: float) -> None:
    clock = HandClock()
    anchor = anchored(clock)

    clock.forward(seconds=7)
    clock.jump_wall(hours=hours)

    assert room_time(anchor, clock) == 12_000


@pytest.mark.parametrize(
    ("gap", "counted"),
    [(0, 0), (1, 1), (HOUR, HOUR), (7 * DAY, 7 * DAY), (7 * DAY + 1, 0), (400 * DAY, 0), (-1, 0), (-DAY, 0)],
)
def test_after_a_reboot_a_believable_gap_counts_and_no_other(gap: int, counted: int) -> None:
    clock = HandClock()
    anchor = anchored(clock)

    clock.booted, clock.elapsed = "boot-2", 10
    clock.offset = anchor[2] + gap - clock.elapsed

    assert room_time(anchor, clock) == 5_000 + counted


def test_room_time_never_falls_below_what_was_written() -> None:
    """Another process of this boot may have read the shared clock a moment later."""
    clock = HandClock()
    boot, monotonic, wall, room = anchored(clock)

    assert room_time((boot, monotonic + 50, wall, room), clock) == room


def test_the_real_clock_stands_on_the_clock_that_all_processes_share() -> None:
    one, other = Clock(), Clock()

    assert abs(one.monotonic() - other.monotonic()) < 60_000
    assert one.boot() == other.boot() != ""
    assert one.wall() > 1_700_000_000_000


def test_ids_grow_within_a_millisecond_and_when_the_wall_clock_goes_back() -> None:
    clock = HandClock()
    made = [clock.new_id() for _ in range(100)]
    clock.jump_wall(hours=-1)
    made += [clock.new_id() for _ in range(100)]
    clock.jump_wall(hours=2)
    made += [clock.new_id() for _ in range(100)]

    assert made == sorted(set(made))
    assert all(clocks.is_id(each) for each in made)


def test_ids_carry_their_time_first() -> None:
    clock = HandClock()
    early = clock.new_id()
    clock.forward(ms=1)

    assert early[:10] < clock.new_id()[:10]


@pytest.mark.parametrize(
    "text",
    ["", "01J", "01J0000000000000000000000", "01J000000000000000000000000", "01j00000000000000000000000",
     "81J00000000000000000000000", "01J0000000000000000000000I", "01J0000000000000000000000U", "é" * 26],
)  # fmt: skip
def test_an_id_has_one_spelling(text: str) -> None:
    assert not clocks.is_id(text)
    assert clocks.is_id("01J00000000000000000000000")


def test_times_are_shown_in_utc_to_the_second() -> None:
    assert clocks.iso(0) == "1970-01-01T00:00:00Z"
    assert clocks.iso(1_780_000_000_999) == "2026-05-28T20:26:40Z"


@pytest.mark.parametrize("day", ["1969-12-31", "1970-01-01", "2000-02-29", "2026-02-28", "2028-02-29", "2100-03-01"])
def test_a_time_is_read_as_it_was_written(day: str) -> None:
    for time in ("00:00:00", "23:59:59"):
        said = f"{day}T{time}Z"
        assert clocks.iso(clocks.moment(said)) == said
        assert clocks.moment(said) == clocks.moment(said.replace("Z", ".000+00:00"))


def test_a_token_is_derived_from_secret_attempt_and_fence() -> None:
    token = clocks.tokens(b"s" * 32)

    assert token("A", 1) == clocks.tokens(b"s" * 32)("A", 1)
    assert len({token("A", 1), token("A", 2), token("B", 1), token("A", 11), clocks.tokens(b"t" * 32)("A", 1)}) == 5
    assert len(token("A", 1)) == 43
    for secret in (b"", b"s", b"s" * 64, b"s" * 65):
        made = hmac.digest(secret, b"ISSUE|7", "sha256")
        assert clocks.tokens(secret)("ISSUE", 7) == urlsafe_b64encode(made).rstrip(b"=").decode()
    assert set(token("A", 1)) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def test_a_clock_in_a_file_is_moved_for_every_process_that_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    file.write_text("1000 50")
    clock = FileClock(str(file))
    assert (clock.monotonic(), clock.wall(), clock.boot()) == (1_000, 1_050, "test-clock")

    file.write_text("2000 50\n")

    assert (clock.monotonic(), clock.wall()) == (2_000, 2_050)


@pytest.mark.parametrize("content", [None, "", "1000", "1000 x", "1 2 3", "\x00"])
def test_a_file_that_holds_no_time_is_named_in_one_line(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "clock"
    if content is not None:
        file.write_text(content)

    for ask in (FileClock(str(file)).wall, FileClock(str(file)).monotonic, FileClock(str(file)).new_id):
        with pytest.raises(Refusal) as caught:
            ask()
        assert caught.value.code == "STORAGE_CONFIGURATION"
        assert str(file) in caught.value.message


def test_a_file_that_is_just_being_written_is_looked_at_again(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    file.write_text("10")

    class Watched(FileClock):
        def pause(self, milliseconds: float) -> None:
            file.write_text("1000 50")

    assert Watched(str(file)).wall() == 1_050


def test_an_id_sorts_behind_the_one_it_comes_after() -> None:
    clock, other = HandClock(), HandClock()
    clock.jump_wall(hours=1)
    early = clock.new_id()
    late = other.new_id(early)
    assert early < late < other.new_id(late)
    assert late[:10] != other.new_id()[:10], "what comes after nothing keeps the time of the wall"
    assert len(other.new_id("7" + "Z" * 25)) == 26, "an id at the end of all ids is not gone beyond"
