"""Waiting for a path: what wakes, what does not, and when it is given up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import HandClock, World

from clearway import repository
from clearway.clock import Clock
from clearway.db import Row
from clearway.surfaces.waiting import GLANCE_MS, RoomEyes, until_free


class ScriptedClock(HandClock):
    """Every pause passes at once, and may let something happen."""

    def __init__(self) -> None:
        super().__init__()
        self.plans: list[tuple[int, Any]] = []

    def after(self, ms: int, act: Any) -> None:
        self.plans.append((self.elapsed + ms, act))

    def pause(self, milliseconds: float) -> None:
        self.elapsed += max(1, round(milliseconds))
        for at, act in list(self.plans):
            if at <= self.elapsed:
                self.plans.remove((at, act))
                act()


class ScriptedEyes:
    """Sees what it is told to see, and counts its looks."""

    glance_ms = GLANCE_MS

    def __init__(self, left_ms: int = 1_800_000) -> None:
        self.blockers = [Row(shown="a.py", left_ms=left_ms)]
        self.looks = 0
        self.stirred = False
        self.dead = False

    def look(self) -> list[Row]:
        self.looks += 1
        self.stirred = False
        return self.blockers

    def changed(self) -> bool:
        return self.stirred

    def ended(self, blockers: list[Row]) -> bool:
        return self.dead

    def free(self) -> None:
        self.blockers, self.stirred = [], True


def test_a_wait_ends_with_the_first_glance_after_the_release() -> None:
    clock, eyes = ScriptedClock(), ScriptedEyes()
    began = clock.elapsed
    clock.after(5_000, eyes.free)
    assert until_free(eyes, clock, 60_000) == []
    assert clock.elapsed - began <= 5_000 + GLANCE_MS
    assert eyes.looks == 2  # nothing is asked while nothing happens


def test_what_is_free_is_not_waited_for() -> None:
    clock, eyes = ScriptedClock(), ScriptedEyes()
    eyes.blockers = []
    began = clock.elapsed
    assert until_free(eyes, clock, 60_000) == []
    assert clock.elapsed == began


def test_a_wait_is_given_up_when_its_time_is_over() -> None:
    clock, eyes = ScriptedClock(), ScriptedEyes()
    began = clock.elapsed
    assert until_free(eyes, clock, 60_000) == eyes.blockers
    assert clock.elapsed - began == 60_000


def test_a_term_that_runs_out_is_seen_though_nothing_changes() -> None:
    clock, eyes = ScriptedClock(), ScriptedEyes(left_ms=20_000)

    def run_out() -> None:
        eyes.blockers = []

    clock.after(20_000, run_out)
    assert until_free(eyes, clock, 60_000) == []
    assert eyes.looks == 2


def test_a_death_is_seen_though_nothing_changes() -> None:
    clock, eyes = ScriptedClock(), ScriptedEyes()

    def die() -> None:
        eyes.dead = True
        eyes.blockers = []

    began = clock.elapsed
    clock.after(3_000, die)
    assert until_free(eyes, clock, 60_000) == []
    assert clock.elapsed - began < 3_500


def test_other_changes_are_looked_at_and_waited_through() -> None:
    clock, eyes = ScriptedClock(), ScriptedEyes()

    def stir() -> None:
        eyes.stirred = True

    for ms in (1_000, 2_000):
        clock.after(ms, stir)
    clock.after(3_000, eyes.free)
    assert until_free(eyes, clock, 60_000) == []
    assert eyes.looks == 4


def test_whoever_waits_for_a_room_wakes_writes_nothing_and_gives_no_sign_of_life(world: World) -> None:
    alpha, beta = world.agent("alpha", own_room=True), world.agent("beta")
    alpha.ask("claim_paths", paths=["src"])
    beta.ask("claim_paths", paths=["free.txt"])
    clock = ScriptedClock()
    eyes = RoomEyes([(beta.room, [place(world, "src/a.py")])], beta.caller, world.liveness)
    (before,) = world.rows("SELECT last_event FROM room")
    beats = world.rows("SELECT id, beat_at FROM session ORDER BY id")
    world.clock.forward(minutes=1)
    assert [each.agent for each in until_free(eyes, clock, 500)] == ["alpha"]
    assert world.rows("SELECT last_event FROM room") == [before]
    assert world.rows("SELECT id, beat_at FROM session ORDER BY id") == beats
    assert not eyes.changed()
    clock.after(100, lambda: alpha.ask("release_paths"))
    assert until_free(eyes, clock, 60_000) == []


def test_the_death_of_a_holder_ends_a_wait(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["src"])
    clock = ScriptedClock()
    eyes = RoomEyes([(beta.room, [place(world, "src/a.py")])], beta.caller, world.liveness)
    clock.after(100, alpha.dies)
    assert until_free(eyes, clock, 60_000) == []


def test_ones_own_lease_is_nothing_to_wait_for(world: World) -> None:
    alpha = world.agent("alpha")
    alpha.ask("claim_paths", paths=["src"])
    eyes = RoomEyes([(alpha.room, [place(world, "src/a.py")])], alpha.caller, world.liveness)
    assert until_free(eyes, ScriptedClock(), 60_000) == []


def place(world: World, path: str) -> repository.Place:
    return repository.locate(path, str(world.repo), str(Path("/nowhere")), Clock())
