"""What a hook costs, in the form in which it is registered, without a host.

The person pays this on every tool call of every agent, so the reference is an interpreter that does nothing.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

from bench import rival
from bench.figures import Figure, at_most, over_bare, pace_of
from bench.spawn import Case, Ended, Timing, measure, stays_silent
from bench.world import (
    FREE_FILES,
    Client,
    World,
    client,
    edit,
    edit_ended,
    prompt,
    shell,
    shell_ended,
    start,
    world,
    write,
)

HEAVY_ROUNDS = 5
WATCHED = 256  # files that another holds, and that were copied
_CLAIMED_AT_ONCE = 64
_LINE = "a line of text, again and again\n"
_LONG_TEXT = _LINE * 1_638_400  # 50 MB
LARGE_ROUNDS_MS = 500
REFUSAL_BYTES_MAX = 240
BRIEF_BYTES_MAX = 2_400
# What the other product's hooks took over a bare interpreter on the machine where the budgets were set.
RIVAL_THEN_MS: dict[str, float] = {"own": 53, "free": 53, "refusal": 45, "ls": 47, "context": 82}


def figures(rounds: int, *, with_rival: bool = False) -> list[Figure]:
    """Every figure of the hook that this version can have. with_rival: the other product runs beside us."""
    rounds = min(rounds, FREE_FILES - 1)
    with ExitStack() as stack:
        here = stack.enter_context(world())
        holder, other, third = (stack.enter_context(client(f"{letter}" * 8 + "-session")) for letter in "abc")
        briefs = [here.tell(here.hook("start", each, lambda _: start())) for each in (holder, other, third)]
        here.tell(here.hook("hold", holder, lambda _: edit(here.repository / "own.py"), stays_silent))
        here.tell(here.hook("settle", third, lambda _: prompt("Go on.")))
        beside = [rival_quick(here), rival_heavy(here)] if with_rival else [[], []]
        timings = measure([*references(here), *quick(here, holder, other, third), *beside[0]], rounds)
        large = measure([*heavy(here, holder), *beside[1]], HEAVY_ROUNDS)
        brief = here.tell(here.hook("brief", other, lambda _: start()))
    return [*_rows(timings), *watched(rounds), *_large_rows(large), *_sizes(timings, [*briefs, brief])]


def watched(rounds: int) -> list[Figure]:
    """What it costs that others hold 256 files here: the question before a command that nobody can read, and the look
    after it; and the word after an edit among others."""
    with ExitStack() as stack:
        here = stack.enter_context(world())
        names = [f"free-{place}.py" for place in range(WATCHED)]
        for first in range(0, WATCHED, _CLAIMED_AT_ONCE):
            here.tell(here.cli("claim", "--as", "holder", "claim", *names[first : first + _CLAIMED_AT_ONCE]))
        mine, other = (stack.enter_context(client(f"{letter}" * 8 + "-session")) for letter in "de")
        for each in (mine, other):
            here.tell(here.hook("start", each, lambda _: start()))
        own = here.repository / "own.py"
        here.tell(here.hook("hold", mine, lambda _: edit(own), stays_silent))
        cases = [
            here.hook("before", mine, lambda _: shell("pytest -q"), stays_silent),
            here.hook("after", mine, lambda _: shell_ended("pytest -q"), stays_silent),
            here.hook("edited", mine, lambda _: edit_ended(own), stays_silent),
        ]
        timings = measure([*references(here), *cases], rounds)
    bare = timings["bare"].median

    def row(case: str, name: str, budget_ms: float) -> Figure:
        timing = timings[case]
        note = f"median {timing.median:.1f}, slowest tenth {timing.slowest_tenth:.1f} ms"
        return over_bare(name, timing.median, bare, budget_ms, note)

    return [
        row("before", f"guard, Bash that may last, {WATCHED} foreign snapshots", 25),
        row("after", f"post-call check, {WATCHED} foreign snapshots", 30),
        row("edited", "word after an edit, among others", 25),
    ]


def references(here: World) -> list[Case]:
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    return [Case("bare", bare, here.environ), Case("sh", ["/bin/sh", "-c", ":"], here.environ)]


def quick(here: World, holder: Client, other: Client, third: Client) -> list[Case]:
    own = here.repository / "own.py"
    return [
        here.hook("own", holder, lambda _: edit(own), stays_silent),
        here.hook("free", holder, lambda place: edit(here.repository / f"free-{place}.py"), stays_silent),
        here.hook("refusal", other, lambda _: edit(own), refuses),
        here.hook("ls", holder, lambda _: shell("ls -la src"), stays_silent),
        here.hook("lasting", holder, lambda _: shell("pytest -q"), stays_silent),
        here.hook("parser", holder, lambda _: shell(f"echo 'print(2)' > {own}"), stays_silent),
        here.hook("context", third, lambda _: prompt("Go on."), stays_silent),
    ]


def rival_quick(here: World) -> list[Case]:
    """The same events for the other product."""
    own = here.repository / "own.py"
    here.tell(rival.case(here, "hold", "alpha", lambda _: edit(own)))
    here.tell(rival.case(here, "settle", "gamma", lambda _: prompt("Go on."), program=rival.CONTEXT))
    return [
        rival.case(here, "own", "alpha", lambda _: edit(own)),
        rival.case(here, "free", "alpha", lambda place: edit(here.repository / f"free-{place}.py")),
        rival.case(here, "refusal", "beta", lambda _: edit(own), rival.blocks),
        rival.case(here, "ls", "alpha", lambda _: shell("ls -la src")),
        rival.case(here, "lasting", "alpha", lambda _: shell("pytest -q")),
        rival.case(here, "parser", "alpha", lambda _: shell(f"echo 'print(2)' > {own}")),
        rival.case(here, "context", "gamma", lambda _: prompt("Go on."), program=rival.CONTEXT),
    ]


def heavy(here: World, holder: Client) -> list[Case]:
    own = here.repository / "own.py"
    return [
        here.hook("heredoc", holder, lambda _: shell(_heredoc(own)), stays_silent),
        here.hook("write", holder, lambda _: write(own, _LONG_TEXT), stays_silent),
    ]


def rival_heavy(here: World) -> list[Case]:
    own = here.repository / "own.py"
    return [
        rival.case(here, "heredoc", "alpha", lambda _: shell(_heredoc(own)), _ends),
        rival.case(here, "write", "alpha", lambda _: write(own, _LONG_TEXT), _ends),
    ]


def _heredoc(path: Path) -> str:
    """A command of 5 MB."""
    return f"cat > {path} <<'EOF'\n" + _LINE * 163_840 + "EOF\n"


def _ends(ended: Ended) -> bool:
    return ended.status >= 0


def refuses(ended: Ended) -> bool:
    return ended.status == 0 and b'"deny"' in ended.output and b"own.py" in ended.output


def _rows(timings: dict[str, Timing]) -> list[Figure]:
    bare = timings["bare"].median
    others = {case: timings[f"rival {case}"].median - bare for case in RIVAL_THEN_MS if f"rival {case}" in timings}

    def row(case: str, name: str, budget_ms: float) -> Figure:
        timing = timings[case]
        note = f"median {timing.median:.1f}, slowest tenth {timing.slowest_tenth:.1f} ms"
        other = timings.get(f"rival {case}")
        return over_bare(name, timing.median, bare, budget_ms, note, rival=other and other.median)

    return [
        Figure("bare interpreter, python -I -S -c pass", f"{bare:.1f} ms", ratio="1.00 x bare"),
        Figure("sh -c :", f"{timings['sh'].median:.1f} ms", ratio=f"{timings['sh'].median / bare:.2f} x bare"),
        *([pace_of(others, RIVAL_THEN_MS)] if others else []),
        row("own", "guard, Edit of own leased file", 6),
        row("free", "guard, first Edit of a free file", 25),
        row("refusal", "guard, refusal", 25),
        row("ls", "guard, Bash that cannot write", 6),
        row("lasting", "guard, Bash that may last or write", 25),
        row("parser", "guard, Bash that needs the parser", 30),
        row("context", "context hook, nothing new", 25),
    ]


def _large_rows(timings: dict[str, Timing]) -> list[Figure]:
    def row(case: str, name: str) -> Figure:
        ours, other = timings[case].median, timings.get(f"rival {case}")
        ratio = "" if other is None else f"{ours / other.median:.2f} x rival ({other.median:.0f} ms)"
        return at_most(name, ours, LARGE_ROUNDS_MS, "ms", ratio=ratio)

    return [row("heredoc", "guard, 5 MB heredoc command"), row("write", "guard, 50 MB Write payload")]


def _sizes(timings: dict[str, Timing], briefs: list[Ended]) -> list[Figure]:
    refusal, context = timings["refusal"].last, timings["context"].last
    assert refusal and context
    return [
        at_most("refusal, what the model reads", len(_reason(refusal.output)), REFUSAL_BYTES_MAX, "B"),
        at_most("session brief", max(len(brief.output) for brief in briefs), BRIEF_BYTES_MAX, "B"),
        at_most("quiet turn", len(context.output), 0, "B"),
    ]


def _reason(output: bytes) -> bytes:
    answer = json.loads(output)["hookSpecificOutput"]
    return answer["permissionDecisionReason"].encode()
