"""What the same things cost while the host is running: hooks, an MCP client's start and calls, and the host itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bench.figures import Figure, over_bare
from bench.hooks import quick, references
from bench.spawn import Timing, measure, stays_silent
from bench.world import FREE_FILES, World, client, edit, prompt, start, world
from clearway.surfaces import host_start

# case of bench/hooks.py -> what it is called, and milliseconds over a bare interpreter
HOOKS = {
    "own": ("guard, Edit of own leased file", 2),
    "free": ("guard, first Edit of a free file", 3),
    "refusal": ("guard, refusal", 3),
    "ls": ("guard, Bash that cannot write", 2),
    "lasting": ("guard, Bash that may last or write", 4),
    "parser": ("guard, Bash that needs the parser", 6),
    "context": ("context hook, nothing new", 3),
}


def figures(rounds: int) -> list[Figure]:
    """Every figure with a host beside."""
    rounds = min(rounds, FREE_FILES - 1)
    with ExitStack() as stack:
        here = stack.enter_context(world(hosted=True))
        stack.enter_context(host(here))
        holder, other, third = (stack.enter_context(client(f"{letter}" * 8 + "-session")) for letter in "abc")
        for each in (holder, other, third):
            here.tell(here.hook("start", each, lambda _: start()))
        here.tell(here.hook("hold", holder, lambda _: edit(here.repository / "own.py"), stays_silent))
        here.tell(here.hook("settle", third, lambda _: prompt("Go on.")))
        timings = measure([*references(here), *quick(here, holder, other, third)], rounds)
        return _hook_rows(timings)


@contextmanager
def host(here: World) -> Iterator[dict[str, Any]]:
    """A running host of this world's home."""
    home = here.environ["CLEARWAY_HOME"]
    running = host_start.start(home, here.environ)
    try:
        yield running
    finally:
        host_start.stop(home)


def _hook_rows(timings: dict[str, Timing]) -> list[Figure]:
    bare = timings["bare"].median
    rows = [Figure("bare interpreter, beside a host", f"{bare:.1f} ms", ratio="1.00 x bare")]
    for case, (name, budget) in HOOKS.items():
        timing = timings[case]
        note = f"median {timing.median:.1f}, slowest tenth {timing.slowest_tenth:.1f} ms"
        rows.append(over_bare(f"{name}, host", timing.median, bare, budget, note))
    return rows
