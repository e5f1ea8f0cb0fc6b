"""What a hook costs, in the form in which it is registered, without a host.

The person pays this on every tool call of every agent, so the reference is an interpreter that does nothing.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack

from bench.figures import Figure, at_most, over_bare
from bench.spawn import Case, Ended, Timing, measure, stays_silent
from bench.world import FREE_FILES, Client, World, client, edit, prompt, shell, start, world, write

HEAVY_ROUNDS = 5
LARGE_ROUNDS_MS = 500
REFUSAL_BYTES_MAX = 240
BRIEF_BYTES_MAX = 2_400


def figures(rounds: int) -> list[Figure]:
    """Every figure of the hook that this version can have."""
    rounds = min(rounds, FREE_FILES - 1)
    with ExitStack() as stack:
        here = stack.enter_context(world())
        holder, other, third = (stack.enter_context(client(f"{letter}" * 8 + "-session")) for letter in "abc")
        briefs = [here.tell(here.hook("start", each, lambda _: start())) for each in (holder, other, third)]
        here.tell(here.hook("hold", holder, lambda _: edit(here.repository / "own.py"), stays_silent))
        here.tell(here.hook("settle", third, lambda _: prompt("Go on.")))
        timings = measure([*references(here), *quick(here, holder, other, third)], rounds)
        large = measure(heavy(here, holder), HEAVY_ROUNDS)
        brief = here.tell(here.hook("brief", other, lambda _: start()))
    return [*_rows(timings), *_large_rows(large), *_sizes(timings, [*briefs, brief])]


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
        here.hook("parser", holder, lambda _: shell(f"echo 'print(2)' > {own}"), stays_silent),
        here.hook("context", third, lambda _: prompt("Go on."), stays_silent),
    ]


def heavy(here: World, holder: Client) -> list[Case]:
    own = here.repository / "own.py"
    heredoc = "cat > " + str(own) + " <<'EOF'\n" + "a line of text, again and again\n" * 163_840 + "EOF\n"
    content = "a line of text, again and again\n" * 1_638_400
    return [
        here.hook("heredoc", holder, lambda _: shell(heredoc), stays_silent),
        here.hook("write", holder, lambda _: write(own, content), stays_silent),
    ]


def refuses(ended: Ended) -> bool:
    return ended.status == 0 and b'"deny"' in ended.output and b"own.py" in ended.output


def _rows(timings: dict[str, Timing]) -> list[Figure]:
    bare = timings["bare"].median

    def row(case: str, name: str, budget_ms: float) -> Figure:
        timing = timings[case]
        note = f"median {timing.median:.1f}, slowest tenth {timing.slowest_tenth:.1f} ms"
        return over_bare(name, timing.median, bare, budget_ms, note)

    return [
        Figure("bare interpreter, python -I -S -c pass", f"{bare:.1f} ms", ratio="1.00 x bare"),
        Figure("sh -c :", f"{timings['sh'].median:.1f} ms", ratio=f"{timings['sh'].median / bare:.2f} x bare"),
        row("own", "guard, Edit of own leased file", 6),
        row("free", "guard, first Edit of a free file", 25),
        row("refusal", "guard, refusal", 25),
        row("ls", "guard, Bash that cannot write", 6),
        row("parser", "guard, Bash that needs the parser", 30),
        row("context", "context hook, nothing new", 25),
    ]


def _large_rows(timings: dict[str, Timing]) -> list[Figure]:
    return [
        at_most("guard, 5 MB heredoc command", timings["heredoc"].median, LARGE_ROUNDS_MS, "ms"),
        at_most("guard, 50 MB Write payload", timings["write"].median, LARGE_ROUNDS_MS, "ms"),
    ]


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
