"""`make sim`: many seeded worlds; the seeds that break a rule, each with the fewest steps that still do."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.playing import STEPS, Found, play, shrunk, steps_of

TOLD = 25  # worlds between two signs of life


def main() -> None:
    asked = argparse.ArgumentParser(prog="make sim", description=__doc__)
    asked.add_argument("--worlds", type=int, default=2_000)
    asked.add_argument("--steps", type=int, default=STEPS)
    asked.add_argument("--seed", default="1", help="the first seed; a number is counted up, a word gets one appended")
    asked.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked.add_argument("--database", metavar="DSN", help="play on a PostgreSQL server")
    chosen = asked.parse_args()
    seeds = list(_seeds(chosen.seed, chosen.worlds))
    broken = 0
    with ProcessPoolExecutor(chosen.jobs) as pool:
        played = pool.map(_play, seeds, [chosen.steps] * len(seeds), [chosen.database] * len(seeds), chunksize=5)
        for place, story in enumerate(played, 1):
            if story:
                broken += 1
                print(f"\r{story}", flush=True)
            if place % TOLD == 0 and sys.stderr.isatty():
                print(f"\r{place} of {len(seeds)} worlds", end="", file=sys.stderr, flush=True)
    print(f"\r{len(seeds)} worlds of {chosen.steps} steps, from seed {seeds[0]}: {broken} broke a rule")
    sys.exit(bool(broken))


def _seeds(first: str, count: int) -> Iterator[str]:
    for number in range(count):
        yield str(int(first) + number) if first.isdigit() else f"{first}-{number}" if number else first


def _play(seed: str, count: int, dsn: str | None) -> str:
    """Play one world; what broke in it, cut down to the steps that are needed, as text for a named test."""
    try:
        play(seed, steps_of(seed, count), dsn=dsn)
    except Found as found:
        few = found if dsn else shrunk(found)
        steps = "".join(f"    {step!r},\n" for step in few.steps)
        where = "".join(traceback.format_exception(few.wrong, limit=-3))
        return f"SEED {seed} broke a rule\n{where}shrunk to\nplay({seed!r}, [\n{steps}])\n"
    return ""


if __name__ == "__main__":
    main()
