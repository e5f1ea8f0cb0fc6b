"""Text in columns: how wide a text is on a terminal, tables that fit, and colour.

A character of Chinese, Japanese or Korean takes two columns and a combining one none. Where a table does not fit, the
widest columns give way; where even that is not enough, each row takes two lines.
"""

from __future__ import annotations

from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_GAP = "  "
_STACKED_MARGIN = "  "
_NARROW = 10  # columns up to this width are never cut: they hold words, numbers and names of issues
_LAST = 16  # what the last column keeps beside the others
_INKS = {"red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36", "bold": "1", "dim": "2"}
STYLES = {
    "ready": "green", "in_progress": "cyan", "review": "magenta", "blocked": "red", "done": "dim", "cancelled": "dim",
    "active": "cyan", "completed": "green", "failed": "red", "interrupted": "yellow", "expired": "yellow",
    "critical": "bold red", "high": "yellow", "low": "dim",
    "busy": "green", "stalled": "yellow", "offline": "dim",
    "ok": "green", "notice": "yellow", "problem": "bold red",
}  # fmt: skip


def session(name: str) -> str:
    """Eight characters that tell a session from others: its end, where it begins with a time, as Codex's do."""
    if name.startswith("="):
        return ""
    timed = name.startswith(("mcp-", "ses_")) or (name[8:9] == name[13:14] == "-" and name[14:15] == "7")
    return folded(name[-8:] if timed else name[:8], 8)


def cells(text: str) -> int:
    """How many columns a line takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(sign) in ("Mn", "Me", "Cf") else 1 + (east_asian_width(sign) in "WF") for sign in text)


def cut(text: str, columns: int) -> str:
    """The text in at most so many columns; what is missing is shown as missing."""
    if cells(text) <= columns:
        return text
    kept = text[: max(0, columns - 1)]
    while kept and cells(kept) > columns - 1:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def filled(text: str, columns: int) -> str:
    """The text and spaces up to so many columns."""
    return text + " " * (columns - cells(text))


def flowed(text: str, columns: int | None, hang: int | None = None) -> str:
    """Lines that are too long go on below, between words. hang: how far those begin; as deep as the line without.

    A command to type stays in one piece: a terminal lets it be copied so.
    """
    if columns is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _flowed(line, columns, hang))


def _flowed(line: str, columns: int, hang: int | None) -> list[str]:
    depth = len(line) - len(line.lstrip())
    if cells(line) <= columns or line.startswith("  clearway ") or "\x1b" in line:
        return [line]
    margin = " " * min(depth if hang is None else hang, columns // 2)
    lines: list[str] = []
    current = line[:depth]
    for place, word in enumerate(line[depth:].split(" ")):
        if place and cells(current) + 1 + cells(word) > columns:
            lines.append(current.rstrip())
            current = margin + word
        else:
            current += (" " if place else "") + word
    return [*lines, current.rstrip()]


def inked(text: str, style: str) -> str:
    """The text in a colour, as terminals are told."""
    return f"\x1b[{';'.join(_INKS[word] for word in style.split(' '))}m{text}\x1b[0m" if style and text else text


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], columns: int | None, *, colour: bool = False) -> str:
    """Rows below their headings; columns that are empty throughout are left out. columns: None for what it takes."""
    used = [place for place, _ in enumerate(heads) if any(row[place] for row in rows)]
    lines = [[line[place] for place in used] for line in (heads, *rows)]
    widths = [max(cells(line[place]) for line in lines) for place in range(len(used))]
    if columns is not None and _total(widths) > columns:
        widths = _narrowed(widths, columns)
        if _total(widths) > columns:
            return "\n".join(_stacked(row, columns, colour=colour) for row in lines[1:])
    head, *others = lines
    shown = [_line(head, widths, ["dim"] * len(used), colour=colour)]
    shown += [_line(row, widths, [STYLES.get(cell, "") for cell in row], colour=colour) for row in others]
    return "\n".join(shown)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _narrowed(widths: Sequence[int], columns: int) -> list[int]:
    """The widest give way until all fit, or until nothing is left to give."""
    found = list(widths)
    least = [min(width, _NARROW) for width in found]
    least[-1] = min(found[-1], _LAST)
    while _total(found) > columns:
        place = max(range(len(found)), key=lambda place: (found[place] > least[place]) * found[place])
        if found[place] <= least[place]:
            break
        found[place] -= 1
    return found


def _line(row: Sequence[str], widths: Sequence[int], styles: Sequence[str], *, colour: bool) -> str:
    parts: list[str] = []
    for cell, width, style in zip(row, widths, styles, strict=True):
        fitting = cut(cell, width)
        space = " " * (width - cells(fitting))
        parts.append((inked(fitting, style) if colour else fitting) + space)
    return _GAP.join(parts).rstrip()


def _stacked(row: Sequence[str], columns: int, *, colour: bool) -> str:
    """What a row is about on one line, and below it everything else about it."""
    first, *between, last = row if len(row) > 1 else (*row, "")
    head = _side_by_side([first, last], columns, colour=colour)
    facts = _side_by_side([cell for cell in between if cell], columns - len(_STACKED_MARGIN), colour=colour)
    return head + (f"\n{_STACKED_MARGIN}{facts}" if facts else "")


def _side_by_side(row: Sequence[str], columns: int, *, colour: bool) -> str:
    """As much of some cells as there is room for."""
    parts: list[str] = []
    left = columns
    for cell in row:
        fitting = cut(cell, left) if left > 0 else ""
        parts.append(inked(fitting, STYLES.get(cell, "")) if colour else fitting)
        left -= cells(fitting) + len(_GAP)
    return _GAP.join(part for part in parts if part)
