"""What the table shows: a figure, its budget, and whether it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One line. `ratio` compares with the reference that ran beside it; `holds` is None where no budget is set."""

    name: str
    measured: str
    budget: str = ""
    ratio: str = ""
    holds: bool | None = None
    note: str = ""


def over_bare(
    name: str, median: float, bare: float, budget_ms: float, note: str = "", *, rival: float | None = None
) -> Figure:
    """A program that starts an interpreter, against the same interpreter doing nothing, and against another product
    that does the same work, where one ran beside it."""
    beside = "" if rival is None else f", {median / rival:.2f} x rival (bare + {rival - bare:.0f} ms)"
    return Figure(
        name,
        f"bare + {median - bare:.1f} ms",
        f"bare + {budget_ms:g} ms",
        f"{median / bare:.2f} x bare{beside}",
        median - bare <= budget_ms,
        note,
    )


def at_most(name: str, measured: float, budget: float, unit: str, *, ratio: str = "", note: str = "") -> Figure:
    return Figure(name, _amount(measured, unit), f"<= {_amount(budget, unit)}", ratio, measured <= budget, note)


def at_least(name: str, measured: float, budget: float, unit: str, *, ratio: str = "", note: str = "") -> Figure:
    return Figure(name, _amount(measured, unit), f">= {_amount(budget, unit)}", ratio, measured >= budget, note)


def table(figures: Sequence[Figure]) -> str:
    """All figures as one table for the terminal, and a closing line that counts."""
    rows = [("figure", "measured", "budget", "ratio", "", "")]
    rows += [(f.name, f.measured, f.budget, f.ratio, _verdict(f), f.note) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    budgeted = [figure for figure in figures if figure.holds is not None]
    held = sum(1 for figure in budgeted if figure.holds)
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], "", f"{held} of {len(budgeted)} within budget"])


def size(value: Any) -> int:
    """Bytes of compact JSON: what a client's model is shown."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _verdict(figure: Figure) -> str:
    return {True: "pass", False: "OVER", None: ""}[figure.holds]


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 100 or value == int(value) else f"{value:,.2f} {unit}"
