"""`core.hooksPath` in a file of git's settings: read by git, changed in one line, and put back to the byte.

Git itself would leave an empty section behind, or lose a comment; so the one line is exchanged in the text, under
git's own lock of that file. Everything else in the file stays as it is, whatever others write to it meanwhile.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clearway.errors import Refusal

_SECTION = re.compile(r"^\s*\[\s*([^\]\s\"]+)\s*(\"[^\]]*\")?\s*\]")
_KEY = re.compile(r"^\s*hookspath\s*(=|$)", re.IGNORECASE)
_SECONDS_MAX = 20


@dataclass(frozen=True)
class Setting:
    """Where git got its value from. scope: local, worktree, global, system."""

    scope: str
    value: str


def asked_git(words: Sequence[str], root: str, environ: Mapping[str, str]) -> str:
    """What git prints in a worktree; empty where it fails. Variables that name another repository are not passed on."""
    clean = {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    }
    try:
        done = subprocess.run(
            ["git", *words], cwd=root, env=clean, capture_output=True, timeout=_SECONDS_MAX, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        why = getattr(error, "strerror", None) or error
        raise Refusal(
            "STORAGE_CONFIGURATION", f"git does not run here ({why}); nothing was changed. Is it on PATH?"
        ) from error
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else ""


def effective(root: str, environ: Mapping[str, str]) -> Setting | None:
    """The value that git uses in a worktree, with a leading ~ understood; None where there is none."""
    shown = asked_git(["config", "--show-scope", "-z", "--type=path", "--get-all", "core.hooksPath"], root, environ)
    parts = shown.split("\0")
    found = list(zip(parts[::2], parts[1::2], strict=False))
    return Setting(*found[-1]) if found else None


def with_line(text: str, value: str) -> tuple[str, str | None, str]:
    """The text with our line in it, the lines that it replaces (None: it is new), and what was put in."""
    lines = text.splitlines(keepends=True)
    held = _lines_of_key(lines)
    if len(held) > 1:
        raise Refusal(
            "INVALID_ARGUMENT", "core.hooksPath is set several times in this repository; keep one of them first."
        )
    ours = f"\thooksPath = {_written(value)}\n"
    if held:
        start, end = held[0]
        before = "".join(lines[start:end])
        return "".join([*lines[:start], ours, *lines[end:]]), before, ours
    at = _behind_core(lines)
    if at is None:
        joint = "" if not text or text.endswith("\n") else "\n"
        added = f"{joint}[core]\n{ours}"
        return text + added, None, added
    return "".join([*lines[:at], ours, *lines[at:]]), None, ours


def without_line(text: str, ours: str, before: str | None) -> str | None:
    """The text as it was; None where our line is not in it any more."""
    line = ours[ours.index("\thooksPath") :]
    if text.count(line) != 1:
        return None
    whole = text.replace(ours, before or "", 1)
    if ours != line and not _stands_alone(text, ours):
        return text.replace(line, "", 1)  # others have put something into the section that was begun for it
    return whole


def exchange(path: str, change: str) -> None:
    """Write a file of settings under git's lock for it."""
    path = os.path.realpath(path)
    lock = f"{path}.lock"
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
    try:
        descriptor = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    except OSError as error:
        raise Refusal("STORAGE_BUSY", f"{lock} is in the way ({error.strerror}); nothing was changed.") from error
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(change.encode("utf-8", "surrogateescape"))
        os.chmod(lock, mode)
        os.replace(lock, path)
    except OSError as error:
        os.unlink(lock)
        raise Refusal("STORAGE_FAILURE", f"{path} cannot be written: {error.strerror}; nothing was changed.") from error


def read(path: str) -> str:
    try:
        with open(path, "rb") as opened:
            return opened.read().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def _lines_of_key(lines: list[str]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    inside = False
    for at, line in enumerate(lines):
        section = _SECTION.match(line)
        if section:
            inside = section[1].lower() == "core" and not section[2]
            if inside and _KEY.match(line[section.end() :]):
                raise Refusal(
                    "INVALID_ARGUMENT", "core.hooksPath stands on the line of its section; give it a line of its own."
                )
        elif inside and _KEY.match(line):
            end = at + 1
            while end < len(lines) and lines[end - 1].rstrip("\r\n").endswith("\\"):
                end += 1
            found.append((at, end))
    return found


def _behind_core(lines: list[str]) -> int | None:
    """The place right behind the last header of the section `core`."""
    at = None
    for place, line in enumerate(lines):
        section = _SECTION.match(line)
        if section and section[1].lower() == "core" and not section[2] and line.endswith("\n"):
            at = place + 1
    return at


def _stands_alone(text: str, ours: str) -> bool:
    behind = text[text.index(ours) + len(ours) :].lstrip() if ours in text else "?"
    return not behind or behind.startswith("[")


def _written(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
