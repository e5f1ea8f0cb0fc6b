"""What the table shows: a figure, its budget, and whether it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One line. `ratio` compares with the reference that ran beside it; `holds` is None where no budget is set.

    `times`: how many times its budget a time took, or a rate fell short of; 0 for what does not depend on the machine.
    `pace`: how many times as long as where the budgets were set a reference took here; only the line that says so has
    one.
    """

    name: str
    measured: str
    budget: str = ""
    ratio: str = ""
    holds: bool | None = None
    note: str = ""
    times: float = 0.0
    pace: float = 0.0


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
        times=(median - bare) / budget_ms,
    )


def at_most(name: str, measured: float, budget: float, unit: str, *, ratio: str = "", note: str = "") -> Figure:
    times = measured / budget if unit == "ms" else 0.0
    return Figure(name, _amount(measured, unit), f"<= {_amount(budget, unit)}", ratio, measured <= budget, note, times)


def at_least(name: str, measured: float, budget: float, unit: str, *, ratio: str = "", note: str = "") -> Figure:
    times = budget / measured if unit == "/s" and measured else 0.0
    return Figure(name, _amount(measured, unit), f">= {_amount(budget, unit)}", ratio, measured >= budget, note, times)


def pace_of(over_bare_ms: dict[str, float], then_ms: dict[str, float]) -> Figure:
    """How this machine compares with the one where the budgets were set: what the other product's hooks take over bare
    here, against what they took there, in the middle of the cases."""
    each = sorted(over_bare_ms[case] / then_ms[case] for case in then_ms)
    pace = each[len(each) // 2]
    where = "agent-lease-mcp, against what it took where the budgets were set"
    return Figure("pace of this machine", f"{pace:.2f} x as long", ratio=where, pace=pace)


def within_pace(figure: Figure, figures: Sequence[Figure]) -> bool:
    """Whether a budget of time that was missed by the clock holds at the pace of this machine, where that is known."""
    pace = max((other.pace for other in figures), default=0.0)
    return figure.holds is False and 0.0 < figure.times <= pace


def table(figures: Sequence[Figure]) -> str:
    """All figures as one table for the terminal, and a closing line that counts."""
    rows = [("figure", "measured", "budget", "ratio", "", "")]
    rows += [(f.name, f.measured, f.budget, f.ratio, _verdict(f, figures), f.note) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    budgeted = [figure for figure in figures if figure.holds is not None]
    held = sum(1 for figure in budgeted if figure.holds)
    paced = sum(1 for figure in budgeted if within_pace(figure, figures))
    more = f", {paced} more at the pace of this machine" if paced else ""
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], "", f"{held} of {len(budgeted)} within budget{more}"])


def size(value: Any) -> int:
    """Bytes of compact JSON: what a client's model is shown."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _verdict(figure: Figure, figures: Sequence[Figure]) -> str:
    if within_pace(figure, figures):
        return "OVER, at this pace within"
    return {True: "pass", False: "OVER", None: ""}[figure.holds]


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 100 or value == int(value) else f"{value:,.2f} {unit}"
