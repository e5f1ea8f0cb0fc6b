"""Turns of writers, and the descriptors they are taken on."""

from __future__ import annotations

import fcntl
import itertools
import multiprocessing
import os
import resource
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple

from clearway import platforms
from clearway.clock import Clock
from clearway.db.turns import LINE, SEAT_MS, SEATS, UNUSED_MS, Turns

BEYOND = 1_100  # more than `select` has numbers for
LONG_MS = 60_000
WRITERS = 4
TURNS_EACH = 400
HOLD_NS = 200_000
SPAWN = multiprocessing.get_context("spawn")
_START: list[Barrier] = []


class Turn(NamedTuple):
    """When somebody had it (ns of the monotonic clock)."""

    begun: int
    ended: int


def start_with(others: Barrier) -> None:
    _START.append(others)


def write_often(path: str) -> list[Turn]:
    turns, had = Turns(path), list[Turn]()
    _START[0].wait()
    for _ in range(TURNS_EACH):
        assert turns.take(LONG_MS)
        begun = time.monotonic_ns()
        while time.monotonic_ns() < begun + HOLD_NS:
            pass
        had.append(Turn(begun, time.monotonic_ns()))
        turns.leave()
    return had


class Waiting(Clock):
    """Time that passes only while somebody waits for a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0
        self.pauses = 0

    def monotonic(self) -> int:
        return int(self.now)

    def pause(self, milliseconds: float) -> None:
        self.now += milliseconds
        self.pauses += 1


def seated(path: Path, clock: Clock) -> Turns:
    """One that has a seat: it found the turn taken, waited for it, and left it again."""
    first, second = Turns(str(path), clock), Turns(str(path), clock)
    assert first.take(0)
    assert not second.take(2), "two at once"
    first.leave()
    first.close()
    assert second.take(0)
    second.leave()
    return second


def test_turns_that_nobody_closes_leave_no_file_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for number in range(20):
        turns = Turns(str(tmp_path / f"{number}-turn"))
        assert turns.take(0)
        del turns
    assert len(os.listdir("/dev/fd")) == before


def test_whoever_has_a_thousand_files_open_still_hears() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, BEYOND + 200)), hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(BEYOND)]
    try:
        ours, theirs = os.pipe()
        opened += [ours, theirs]
        assert ours > 1_023
        assert platforms.readable([ours], 0) == []
        os.write(theirs, b"x")
        assert platforms.readable([ours], 0) == [ours]
    finally:
        for each in opened:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_whoever_cannot_wait_is_told_at_once_and_nothing_is_left_behind(tmp_path: Path) -> None:
    clock = Waiting()
    holder, other = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
    assert holder.take(0)
    assert not other.take(0)
    assert (clock.pauses, [path.name for path in tmp_path.iterdir()]) == (0, ["turn"])
    holder.leave()
    assert other.take(0)


def test_a_turn_that_does_not_come_is_waited_for_no_longer_than_was_said(tmp_path: Path) -> None:
    clock = Waiting()
    holder, other = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
    assert holder.take(0)
    assert not other.take(20)
    assert 20 <= clock.now - 1_000 < 21
    holder.leave()
    assert other.take(0), "and it can be had afterwards"


def test_two_sit_and_the_third_waits_until_a_seat_is_not_used_any_more(tmp_path: Path) -> None:
    clock, line = Waiting(), tmp_path / f"turn{LINE}"
    sitting = [seated(tmp_path / "turn", clock) for _ in range(SEATS)]
    for each in sitting:
        assert each.take(0)
        each.leave()
    writer, third = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
    assert writer.take(0)
    said = line.read_bytes()
    assert not third.take(UNUSED_MS - 1)
    assert line.read_bytes() == said, "both seats are used"
    assert not third.take(UNUSED_MS + 1)
    assert line.read_bytes() != said, "it took one that was not used any more"
    writer.leave()
    assert third.take(0)


def test_a_seat_whose_holder_died_is_free_in_a_moment(tmp_path: Path) -> None:
    clock = Waiting()
    for _ in range(SEATS):
        seated(tmp_path / "turn", clock).close()
    writer, waiter = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
    assert writer.take(0)
    assert not waiter.take(2 * UNUSED_MS), "the turn is taken, but it sat and looked for it"
    writer.leave()
    assert waiter.take(0)


def test_what_a_line_says_is_not_believed_when_it_makes_no_sense(tmp_path: Path) -> None:
    for said in (b"\xff" * 200, b"x", b"\0" * 32):
        (tmp_path / f"turn{LINE}").write_bytes(said)
        clock = Waiting()
        holder, other = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
        assert holder.take(0)
        assert not other.take(3)
        holder.leave()
        assert other.take(0)
        other.leave()


def test_who_sat_long_enough_stands_in_line_behind_those_who_do(tmp_path: Path) -> None:
    clock = Waiting()
    sitting = seated(tmp_path / "turn", clock)
    line = os.open(tmp_path / f"turn{LINE}", os.O_RDWR)
    try:
        for _ in range(2 * SEAT_MS):  # nobody stands in line
            assert sitting.take(UNUSED_MS)
            sitting.leave()
            clock.now += 1
        fcntl.flock(line, fcntl.LOCK_EX)
        had = 0
        while sitting.take(UNUSED_MS):
            sitting.leave()
            clock.now += 1
            had += 1
            assert had <= SEAT_MS, "others stand in line all the time"
        assert had > 0, "a seat is kept for a while"
        fcntl.flock(line, fcntl.LOCK_UN)
        assert sitting.take(UNUSED_MS), "nobody stands there any more"
    finally:
        os.close(line)


def test_all_get_their_turn_and_never_two_at_once(tmp_path: Path) -> None:
    """Two could write for ever while the others stand in line: who sat for long enough lets the next one in."""
    together = SPAWN.Barrier(WRITERS)
    with SPAWN.Pool(WRITERS, initializer=start_with, initargs=(together,)) as pool:
        had = pool.map(write_often, [str(tmp_path / "turn")] * WRITERS, chunksize=1)

    last_to_begin, first_to_end = max(each[0].begun for each in had), min(each[-1].begun for each in had)
    assert last_to_begin < first_to_end, "some were done before others began"
    turns = sorted(turn for each in had for turn in each)
    assert all(turn.ended <= after.begun for turn, after in itertools.pairwise(turns)), "two at once"
