"""Answers about what waits for a person, as a person reads them: why an issue does not get on, with what its last
attempts came to side by side, and the list of all that waits."""

from __future__ import annotations

from clearway.annotating import cast
from clearway.untrusted import folded, legible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.surfaces.render import Paper, Result

_COLUMNS = 100  # where no terminal says
_COLUMN_MIN = 24  # narrower ones stand below each other
_CHARS = 300
_LINES_MAX = 12  # of one text in a column


def _why(result: Result, paper: Paper) -> str:
    lines = [f"{result['display_id']} {folded(result['title'], _CHARS)}", f"  {folded(result['why'], _CHARS)}"]
    attempts = cast("list[Result]", result["attempts"])
    if attempts:
        many = "The last attempt" if len(attempts) == 1 else f"The last {len(attempts)} attempts, the newest first"
        lines += ["", f"{many}:", *_side_by_side([_column(each, paper) for each in attempts], paper), ""]
    return "\n".join([*lines, f"Next: {result['next']}"])


def _column(attempt: Result, paper: Paper) -> list[str]:
    """One attempt, as paragraphs."""
    ended = paper.moment(attempt.get("ended_at") or attempt["started_at"])
    reason = f" ({folded(attempt['reason'].replace('_', ' '), 80)})" if attempt.get("reason") else ""
    parts = [f"{folded(attempt['agent'], 40)}: {attempt['status']}{reason}, {ended}"]
    parts += [legible(attempt[name]) for name in ("result_summary", "reason_details") if attempt.get(name)]
    if attempt.get("checkpoint"):
        parts.append(f"It noted: {legible(attempt['checkpoint'])}")
    steps = cast("list[str]", attempt.get("next_steps", []))
    return [*parts, *(f"next: {folded(step, _CHARS)}" for step in steps)]


def _side_by_side(columns: list[list[str]], paper: Paper) -> list[str]:
    wide = paper.columns or _COLUMNS
    each = (wide - 3 * (len(columns) - 1) - 2) // len(columns)
    if each < _COLUMN_MIN:
        return [f"  {line}" for column in columns for line in [*_wrapped(column, wide - 2), ""]]
    wrapped = [_wrapped(column, each) for column in columns]
    height = max(map(len, wrapped))
    filled = [lines + [""] * (height - len(lines)) for lines in wrapped]
    return [("  " + " | ".join(line.ljust(each) for line in row)).rstrip() for row in zip(*filled, strict=True)]


def _wrapped(paragraphs: list[str], width: int) -> list[str]:
    import textwrap

    lines: list[str] = []
    for paragraph in paragraphs:
        own = [part for line in paragraph.split("\n") for part in textwrap.wrap(line, width) or [""]]
        lines += [*own[:_LINES_MAX], "..."] if len(own) > _LINES_MAX else own
    return lines


def _retried(result: Result, _: Paper) -> str:
    if not result["forgiven"]:
        return f"{result['display_id']} had not failed; it is {result['status']}."
    return f"{result['display_id']} may be tried again ({result['status']}); what failed before counts no more."


def needs(items: list[Result], paper: Paper) -> list[str]:
    """What waits for a person, a line each with what to do below."""
    lines: list[str] = []
    for need in items:
        when = f", {paper.distance(need['at'])}" if "at" in need else ""
        lines += [f"! {folded(need['text'], 2 * _CHARS)}{when}", f"    {need['next']}"]
    return lines


def _needs(result: Result, paper: Paper) -> str:
    items = cast("list[Result]", result["items"])
    return "\n".join(needs(items, paper)) if items else "Nothing waits for you."


WRITERS: dict[str, Callable[[Result, Paper], str]] = {
    "explain_issue": _why,
    "retry_issue": _retried,
    "needs_you": _needs,
}
