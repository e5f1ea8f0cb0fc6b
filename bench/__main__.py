"""`python -m bench [GROUP...] [--rounds N] [--rival] [--million] [--minutes M]`: measure, and print one table."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from functools import partial

from bench import (
    backlog,
    claims,
    commands,
    commits,
    crowd,
    growth,
    hooks,
    host,
    interchange,
    recovery,
    replies,
    soak,
    waiting,
    web,
)
from bench.figures import Figure, table
from bench.machine import machine
from bench.spawn import ROUNDS_MIN

GROUPS: dict[str, Callable[[int], list[Figure]]] = {
    "hooks": hooks.figures,
    "host": host.figures,
    "crowd": crowd.figures,
    "commands": commands.figures,
    "commits": commits.figures,
    "claims": claims.figures,
    "recovery": recovery.figures,
    "backlog": backlog.figures,
    "growth": growth.figures,
    "interchange": interchange.figures,
    "replies": replies.figures,
    "waiting": waiting.figures,
    "web": web.figures,
}
LONG: dict[str, Callable[[int], list[Figure]]] = {}  # only when asked for
FAILED = "not measured"


def main() -> None:
    asked = argparse.ArgumentParser(prog="make bench", description=__doc__)
    asked.add_argument("groups", nargs="*", metavar="GROUP", help=f"one of {', '.join(GROUPS)}; all without; or soak")
    asked.add_argument("--rounds", type=int, default=ROUNDS_MIN, help="runs of each case (default: %(default)s)")
    asked.add_argument(
        "--rival", action="store_true", help="run agent-lease-mcp 0.2.0 beside us, in its own environment"
    )
    asked.add_argument(
        "--million", action="store_true", help="let growth measure a million issues; a quarter of an hour"
    )
    asked.add_argument(
        "--minutes", type=float, default=soak.MINUTES, help="how long soak lets agents work (default: %(default)s)"
    )
    chosen = asked.parse_args()
    LONG["soak"] = lambda _: soak.figures(chosen.minutes)
    if chosen.rival:
        GROUPS["hooks"] = partial(hooks.figures, with_rival=True)
    if chosen.million:
        GROUPS["growth"] = partial(growth.figures, sizes=(growth.SMALL, growth.HUGE))
    unknown = [group for group in chosen.groups if group not in GROUPS | LONG]
    if unknown:
        asked.error(f"unknown group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    print(machine(), file=sys.stderr)
    figures: list[Figure] = []
    for group in chosen.groups or GROUPS:
        print(f"measuring {group} ...", file=sys.stderr, flush=True)
        figures += measured(group, chosen.rounds)
    print(table(figures))
    sys.exit(any(figure.measured == FAILED for figure in figures))


def measured(group: str, rounds: int) -> list[Figure]:
    """The figures of one group. What goes wrong in it is told, and does not cost the others their figures."""
    try:
        return (GROUPS | LONG)[group](rounds)
    except Exception:
        traceback.print_exc()
        return [Figure(group, FAILED, holds=False)]


if __name__ == "__main__":
    main()
