"""`python -m bench.readme`: measure, and put the figures between the marks in README.md.

A reader wants to know what was measured, where, and whether the promise holds; the full table is `make bench`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bench import hooks
from bench.__main__ import GROUPS, machine
from bench.figures import Figure, table, within_pace
from bench.spawn import ROUNDS_MIN

README = Path(__file__).resolve().parent.parent / "README.md"
ELSEWHERE = ("growth", "interchange")  # take minutes, and stand in docs/performance.md
START, END = "<!-- bench:start -->", "<!-- bench:end -->"


def main() -> None:
    where = machine()
    figures: list[Figure] = []
    for name, group in GROUPS.items():
        if name in ELSEWHERE:
            continue
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        figures += hooks.figures(ROUNDS_MIN, with_rival=True) if name == "hooks" else group(ROUNDS_MIN)
    print(table(figures))
    README.write_text(filled(README.read_text(encoding="utf-8"), where, figures), encoding="utf-8")


def filled(page: str, where: str, figures: Sequence[Figure]) -> str:
    """The page with these figures instead of those that stand between its marks."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"the page has no {START} ... {END}")
    lines = [
        f"On {where}:",
        "",
        "| figure | measured | budget | beside |",
        "| --- | --- | --- | --- |",
        *(_row(figure, figures) for figure in figures),
    ]
    return "\n".join([f"{before}{START}", *lines, f"{END}{after}"])


def _row(figure: Figure, figures: Sequence[Figure]) -> str:
    missed = " (missed)" if figure.holds is False else ""
    if within_pace(figure, figures):
        missed = " (missed; within it at the pace of this machine)"
    return f"| {figure.name} | {figure.measured} | {figure.budget}{missed} | {figure.ratio} |"


if __name__ == "__main__":
    main()
