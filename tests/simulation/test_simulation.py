"""Two hundred seeded worlds in every run of the suite, a few of them on PostgreSQL, and the worlds that once broke.

`make sim` plays thousands. A seed that breaks a rule there is cut down, mended, and kept here under a name of its own.
"""

from __future__ import annotations

import pytest
from tests.simulation.deeds import WEIGHTS, Step
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


# Worlds that broke a rule once, each cut down to what was needed.


def test_what_lapsed_with_its_attempt_is_free_for_readers_too() -> None:
    """Paths go with the attempt they were claimed for; a read before anybody wrote still showed them as held."""
    steps = [
        Step(deed="create", who=6428, x=7427, y=2124, z=5570),
        Step(deed="crash", who=6691, x=2476, y=4427, z=2033),
        Step(deed="claim_paths", who=6215, x=9212, y=5866, z=5101),
        Step(deed="brink", who=6223, x=2000, y=7020, z=6759),
    ]
    play("76", steps)


def test_a_question_that_comes_too_late_carries_no_lease() -> None:
    """A holder that only read after its term gave a sign of life before anybody had settled it, and its lease rose."""
    steps = [
        Step(deed="edit", who=2826, x=8837, y=8587, z=1860),
        Step(deed="brink", who=4154, x=6570, y=5035, z=2890),
        Step(deed="edit", who=9024, x=8084, y=4660, z=7149),
    ]
    play("180", steps)


def test_an_expiry_that_beats_have_carried_on_is_shown_as_such() -> None:
    """A read before anybody had written showed a time in the past for a lease that was alive."""
    steps = [
        Step(deed="claim_paths", who=1941, x=5204, y=3091, z=9263),
        Step(deed="brink", who=4288, x=5117, y=7794, z=9411),
        Step(deed="look_around", who=5535, x=332, y=7590, z=3428),
        Step(deed="brink", who=354, x=7927, y=9091, z=5359),
        Step(deed="finish", who=409, x=8358, y=8062, z=9213),
    ]
    play("7", steps)
