"""Turns of writers, and the descriptors they are taken on."""

from __future__ import annotations

import _thread
import errno
import fcntl
import itertools
import multiprocessing
import os
import resource
import signal
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple

import pytest

from clearway import platforms
from clearway.clock import Clock
from clearway.db import turns as turns_module
from clearway.db.turns import LINE, SEAT_MS, SEATS, UNUSED_MS, Turns

BEYOND = 1_100  # more than `select` has numbers for
LONG_MS = 60_000
WRITERS = 4
TURNS_EACH = 400
HOLD_NS = 200_000
FIRST = 16 * SEATS  # where a line says when its first last looked
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


class Passing(Waiting):
    """Time that passes with every look at it, too."""

    def monotonic(self) -> int:
        self.now += 1
        return super().monotonic()


def who_sits(line: Path) -> bytes:
    return line.read_bytes()[:FIRST]


def look(line: int, clock: Waiting) -> None:
    """Say that the first of the line is at work."""
    os.pwrite(line, clock.monotonic().to_bytes(8, "big"), FIRST)


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
    said = who_sits(line)
    assert not third.take(UNUSED_MS - 1)
    assert who_sits(line) == said, "both seats are used"
    assert not third.take(UNUSED_MS + 1)
    assert who_sits(line) != said, "it took one that was not used any more"
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
        look(line, clock)
        while sitting.take(UNUSED_MS):
            sitting.leave()
            clock.now += 1
            had += 1
            look(line, clock)
            assert had <= SEAT_MS, "others stand in line all the time"
        assert had > 0, "a seat is kept for a while"
        fcntl.flock(line, fcntl.LOCK_UN)
        assert sitting.take(UNUSED_MS), "nobody stands there any more"
    finally:
        os.close(line)


def test_whoever_sits_does_not_stand_behind_one_that_was_stopped(tmp_path: Path) -> None:
    clock = Waiting()
    sitting, line = seated(tmp_path / "turn", clock), os.open(tmp_path / f"turn{LINE}", os.O_RDWR)
    try:
        fcntl.flock(line, fcntl.LOCK_EX)  # and does not say that it looks
        for _ in range(3 * SEAT_MS):
            assert sitting.take(1)
            sitting.leave()
            clock.now += 1
    finally:
        os.close(line)


def test_a_line_that_does_not_move_any_more_is_left_and_not_joined_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Passing()
    for _ in range(SEATS):
        seated(tmp_path / "turn", clock)
    monkeypatch.setattr(turns_module, "UNUSED_MS", LONG_MS)  # both are used all the time
    monkeypatch.setattr(turns_module, "STILL_MS", 5)
    line = os.open(tmp_path / f"turn{LINE}", os.O_RDWR)
    try:
        writer, third = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
        assert writer.take(0)
        fcntl.flock(line, fcntl.LOCK_EX)
        look(line, clock)
        opened: list[int] = []
        for _ in range(3):
            pauses = clock.pauses
            assert not third.take(30)
            assert clock.pauses > pauses, "it looks for the turn"
            opened.append(len(os.listdir("/dev/fd")))
        assert opened[1] == opened[2], "one more waits in line each time"
        writer.leave()
        assert third.take(0)
    finally:
        os.close(line)


def test_a_wait_that_a_signal_breaks_off_leaves_the_turn_to_others(tmp_path: Path) -> None:
    clock = Waiting()
    holder, other = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
    assert holder.take(0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            other.take(LONG_MS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    other.leave()
    holder.leave()
    assert Turns(str(tmp_path / "turn"), clock).take(2_000), "the one that was broken off has it"


def test_who_waits_in_vain_again_and_again_has_no_more_files_open(tmp_path: Path) -> None:
    clock = Waiting()
    holder, other = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
    assert holder.take(0)
    opened: list[int] = []
    for _ in range(4):
        began = clock.now
        assert not other.take(50)
        assert clock.now - began < 51
        opened.append(len(os.listdir("/dev/fd")))
    assert opened[1] == opened[3]
    holder.leave()
    assert other.take(0)


def test_without_threads_the_turn_is_looked_for_until_the_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", start_none)
    clock = Waiting()
    holder, other = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
    assert holder.take(0)
    assert not other.take(500)
    assert 500 <= clock.now - 1_000 < 501
    holder.leave()
    assert other.take(0)


def test_a_line_that_cannot_be_read_leaves_the_file_to_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(errno.ESTALE, "stale")

    monkeypatch.setattr(os, "pread", fail)
    clock = Waiting()
    holder, other = Turns(str(tmp_path / "turn"), clock), Turns(str(tmp_path / "turn"), clock)
    assert holder.take(0)
    assert other.take(20)
    other.leave()
    assert not Turns(str(tmp_path / "turn"), clock).take(0), "the holder has it"


def test_who_sat_long_enough_and_cannot_wait_takes_a_turn_that_is_free(tmp_path: Path) -> None:
    clock = Waiting()
    sitting = seated(tmp_path / "turn", clock)
    line = os.open(tmp_path / f"turn{LINE}", os.O_RDWR)
    try:
        fcntl.flock(line, fcntl.LOCK_EX)
        for _ in range(2 * SEAT_MS):
            look(line, clock)
            assert sitting.take(0)
            sitting.leave()
            clock.now += 1
    finally:
        os.close(line)


def test_what_could_not_be_closed_is_not_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []

    def close(file: int) -> None:
        closed.append(file)
        raise OSError(errno.EIO, "lost")

    turns = Turns(str(tmp_path / "turn"), Waiting())
    assert turns.take(0)
    with monkeypatch.context() as patched:
        patched.setattr(os, "close", close)
        with pytest.raises(OSError, match="lost"):
            turns.close()
        turns.close()
    assert len(closed) == 1, "by now the number may be another file's"
    os.close(closed[0])


def test_all_get_their_turn_and_never_two_at_once(tmp_path: Path) -> None:
    """Two could write for ever while the others stand in line: who sat for long enough lets the next one in."""
    together = SPAWN.Barrier(WRITERS)
    with SPAWN.Pool(WRITERS, initializer=start_with, initargs=(together,)) as pool:
        had = pool.map(write_often, [str(tmp_path / "turn")] * WRITERS, chunksize=1)

    last_to_begin, first_to_end = max(each[0].begun for each in had), min(each[-1].begun for each in had)
    assert last_to_begin < first_to_end, "some were done before others began"
    turns = sorted(turn for each in had for turn in each)
    assert all(turn.ended <= after.begun for turn, after in itertools.pairwise(turns)), "two at once"
