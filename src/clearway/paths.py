"""Canonical keys of paths and of named resources, and how they relate. Pure: strings in, strings out.

A key is the repository-relative path with `/` between its parts, and `.` for the root itself. A lease on a directory
covers what is below, so two keys overlap when one is the other or lies above it. A named resource is written `@gpu`,
`@port:3000` or, with so many seats, `@build:2`; a file of such a name is written `./@gpu`.
"""

from __future__ import annotations

from clearway.limits import RESOURCE_CHARS_MAX, RESOURCE_SEATS_MAX

ROOT = "."
RESOURCES = "@"  # stands for the checkout of what is on no disk
_NUMBERED = "@port:"  # here a number is a name and never a count
_RESOURCE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@:._-")


def key(relative: str, *, folds: bool = False, composes: bool = False) -> str:
    """The canonical key of a normalised relative path. folds: the volume ignores case and Unicode form; composes: it
    ignores the form alone."""
    text = relative.replace("\\", "/") if "\\" in relative and folds else relative
    text = text.strip("/") or ROOT
    return folded(text) if folds else composed(text) if composes else text


def folded(text: str) -> str:
    """One spelling for all that a case-ignoring, normalising volume takes for one name."""
    return text.lower() if text.isascii() else composed(composed(text).casefold())


def composed(text: str) -> str:
    """One spelling for all that a normalising volume takes for one name."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def resource(raw: str) -> tuple[str, int] | None:
    """The key and the seats of a named resource, or None for a path."""
    if not raw.startswith("@") or len(raw) > RESOURCE_CHARS_MAX or not _RESOURCE.issuperset(raw):
        return None
    name, _, count = raw.rpartition(":")
    if len(name) > 1 and not raw.startswith(_NUMBERED) and count.isdigit() and 0 < int(count) <= RESOURCE_SEATS_MAX:
        return name, int(count)
    return (raw, 1) if len(raw) > 1 and raw[1].isalnum() else None


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
