"""`python -m bench.readme`: measure, and put the figures between the marks in README.md.

A reader wants to know what was measured, where, and whether the promise holds; the full table is `make bench`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bench.__main__ import GROUPS, machine
from bench.figures import Figure
from bench.spawn import ROUNDS_MIN

README = Path(__file__).resolve().parent.parent / "README.md"
START, END = "<!-- bench:start -->", "<!-- bench:end -->"


def main() -> None:
    where = machine()
    figures: list[Figure] = []
    for name, group in GROUPS.items():
        if name == "growth":  # takes minutes, and has a page of its own: docs/performance.md
            continue
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        figures += group(ROUNDS_MIN)
    README.write_text(filled(README.read_text(encoding="utf-8"), where, figures), encoding="utf-8")


def filled(page: str, where: str, figures: Sequence[Figure]) -> str:
    """The page with these figures instead of those that stand between its marks."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"the page has no {START} ... {END}")
    lines = [f"On {where}:", "", "| figure | measured | budget |", "| --- | --- | --- |", *map(_row, figures)]
    return "\n".join([f"{before}{START}", *lines, f"{END}{after}"])


def _row(figure: Figure) -> str:
    missed = " (missed)" if figure.holds is False else ""
    return f"| {figure.name} | {figure.measured} | {figure.budget}{missed} |"


if __name__ == "__main__":
    main()
