"""Stories from seeds: made, played, and cut down to what still breaks a rule."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.simulation.deeds import WEIGHTS, Step, Story
from tests.simulation.worlds import World

from clearway.db import Row, Statement

STEPS = 60
_WHOLE_LOG = "SELECT id, type, at, issue, attempt, session, agent, data FROM event ORDER BY id"


class Found(AssertionError):
    """A world in which something broke: its seed, the steps up to there, and what was wrong."""

    def __init__(self, seed: str, steps: Sequence[Step], wrong: BaseException) -> None:
        self.seed = seed
        self.steps = list(steps)
        self.wrong = wrong
        super().__init__(f"world {seed}, step {len(steps)}: {type(wrong).__name__}: {wrong}")


def steps_of(seed: str, count: int = STEPS) -> list[Step]:
    """What happens in the world of a seed."""
    chance = random.Random(f"steps {seed}")
    deeds = chance.choices(list(WEIGHTS), weights=list(WEIGHTS.values()), k=count)
    return [Step(deed, *(chance.randrange(10_000) for _ in range(4))) for deed in deeds]


def play(seed: str, steps: Sequence[Step] | None = None, *, dsn: str | None = None) -> list[Row]:
    """Play a world from its beginning; its whole log. Raises Found with the steps that were needed."""
    given = steps_of(seed) if steps is None else steps
    folder = Path(tempfile.mkdtemp(prefix="world-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        world = World(seed, folder, dsn)
        try:
            story = Story(world)
            for place, step in enumerate(given):
                try:
                    story.play(step)
                except Exception as wrong:
                    raise Found(seed, given[: place + 1], wrong) from wrong
            return _log(world)
        finally:
            world.close()
    finally:
        shutil.rmtree(folder)


def shrunk(found: Found, *, tries: int = 600) -> Found:
    """The same break in fewer steps: pieces are left out, large ones first, as long as something still breaks."""
    best, size = found, max(1, len(found.steps) // 2)
    while size:
        at = 0
        while at < len(best.steps) and tries:
            tries -= 1
            smaller = _found(best.seed, best.steps[:at] + best.steps[at + size :])
            if smaller is None:
                at += size
            else:
                best = smaller
        size //= 2
    return best


def _found(seed: str, steps: Sequence[Step]) -> Found | None:
    try:
        play(seed, steps)
    except Found as found:
        return found
    return None


def _log(world: World) -> list[Row]:
    """The log without the name of the folder, which is another each time."""
    rows = world.rows(Statement("log", _WHOLE_LOG, _WHOLE_LOG))
    return [Row(**{**row, "data": row.data.replace(str(world.folder), "")}) for row in rows]
