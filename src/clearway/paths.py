"""Canonical keys of paths and how they relate. Pure: strings in, strings out.

A key is the repository-relative path with `/` between its parts, and `.` for the root itself. A lease on a directory
covers what is below, so two keys overlap when one is the other or lies above it.
"""

from __future__ import annotations

ROOT = "."


def key(relative: str, *, folds: bool = False) -> str:
    """The canonical key of a normalised relative path. folds: the volume ignores case and Unicode form."""
    text = relative.replace("\\", "/") if "\\" in relative and folds else relative
    text = text.strip("/") or ROOT
    return folded(text) if folds else text


def folded(text: str) -> str:
    """One spelling for all that a case-ignoring, normalising volume takes for one name."""
    if text.isascii():
        return text.lower()
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def covers(upper: str, lower: str) -> bool:
    """Whether a lease on `upper` covers `lower`."""
    return upper in (ROOT, lower) or lower.startswith(upper + "/")


def overlap(one: str, other: str) -> bool:
    return covers(one, other) or covers(other, one)


def above(path: str) -> list[str]:
    """The key itself and every key that covers it, the nearest first."""
    found: list[str] = []
    current = path
    while current != ROOT:
        found.append(current)
        current = current.rpartition("/")[0] or ROOT
    return [*found, ROOT]


def below(path: str) -> tuple[str, str]:
    """The half-open range of keys strictly below `path`, for an index: `/` is followed by `0`."""
    return ("", "\U0010ffff") if path == ROOT else (path + "/", path + "0")
