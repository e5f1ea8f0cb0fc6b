"""Two hundred seeded worlds in every run of the suite, and a few on PostgreSQL. What they found is in test_found.py.

`make sim` plays thousands. A seed that breaks a rule there is cut down, mended, and kept under a name of its own.
"""

from __future__ import annotations

import pytest
from tests.simulation.deeds import WEIGHTS
from tests.simulation.playing import Found, play, shrunk, steps_of
from tests.simulation.rules import Broken, Log, overlap

WORLDS = 200
GROUP = 10


@pytest.mark.parametrize("first", range(0, WORLDS, GROUP))
def test_no_world_breaks_a_rule(first: int) -> None:
    _play_all(range(first, first + GROUP))


@pytest.mark.parametrize("seed", ["one", "two", "three", "four"])
def test_no_world_breaks_a_rule_on_postgres(seed: str, postgres_dsn: str) -> None:
    """The story is another one than on SQLite: there a sign of life is a write, and a write settles what is due."""
    play(seed, dsn=postgres_dsn)


def test_a_seed_decides_everything() -> None:
    """Every id, token, time and death: the same seed gives the same log to the letter."""
    assert play("again") == play("again")
    assert play("again") != play("another")


def test_every_deed_is_done_in_the_worlds_of_the_suite() -> None:
    done = {step.deed for seed in range(WORLDS) for step in steps_of(str(seed))}
    assert done == set(WEIGHTS)


def test_a_break_is_found_and_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worlds can fail: a product that never lets a lease lapse is noticed, and few steps remain to read."""
    monkeypatch.setattr("clearway.lapse.has_lapsed", lambda until, now: False)
    with pytest.raises(Found) as caught:
        _play_all(range(20))

    few = shrunk(caught.value)

    assert isinstance(few.wrong, Broken)
    assert len(few.steps) <= 6


def test_the_rules_have_their_own_idea_of_overlap() -> None:
    assert overlap("src", "src/a.py")
    assert overlap("src/a.py", "src")
    assert overlap(".", "docs")
    assert not overlap("src", "src.py")
    assert not overlap("src/lib", "src/lib0")


def test_the_log_notices_a_gap_and_a_fence_that_does_not_grow() -> None:
    from clearway.db import Row

    event = Row(id=2, type="refused", issue=None, attempt=None, session="s", agent="a", data="{}")
    with pytest.raises(Broken, match="follows"):
        Log().read([event])
    started = {"type": "attempt_started", "session": "s", "agent": "a", "data": '{"fence":1}'}
    with pytest.raises(Broken, match="fence"):
        Log().read([Row(id=1, issue="i", attempt="a", **started), Row(id=2, issue="j", attempt="b", **started)])


def _play_all(seeds: range) -> None:
    for seed in seeds:
        play(str(seed))
