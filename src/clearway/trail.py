"""What a session did lately, as its hooks saw it: files it changed, commands it ran and how they ended.

A short file a session, for its owner alone, from which automatic checkpoints are made. It costs no model token and no
database write: one line is appended after a call, about 20 us. The older half goes when it has grown too long. Secrets
are taken out before anything is written.
"""

from __future__ import annotations

import os

from clearway import platforms, wire
from clearway.beats import file_name
from clearway.limits import (
    TRAIL_BYTES_MAX,
    TRAIL_COMMAND_CHARS_MAX,
    TRAIL_FAILURES,
    TRAIL_KEPT_MS,
    TRAIL_PRINT_BYTES_MAX,
    TRAIL_RETURNS,
)
from clearway.untrusted import folded, redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

CHANGED, RAN = "changed", "ran"
PRINT_PRIME = 2**59 - 55
_SCANNED_CHARS = 1_000
_PATH_CHARS = 1_000


class Step:
    """One thing that was done: a command, with its exit status if the client told it, or a path that was changed, with
    the time (ns) that the disk then gave as that of its last change, and a print of the edit."""

    __slots__ = ("kind", "print", "status", "wall", "what")

    def __init__(self, wall: int, kind: str, what: str, status: int | None = None, print: int | None = None) -> None:
        self.wall = wall
        self.kind = kind
        self.what = what
        self.status = status
        self.print = print


class Trail:
    """The trails of all sessions whose clients run on this machine, in one folder."""

    __slots__ = ("_folder",)

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, "run", "trail")

    def changed(self, session: str, wall: int, paths: Iterable[str], print: int | None = None) -> bool:
        """These files were changed by a call that is over. paths: absolute; print: that of what the call was given.
        Whether the same may have been done so often now that somebody should look."""
        short = (path for path in paths if len(path) <= _PATH_CHARS)
        self._append(session, "".join(line(wall, CHANGED, path, _modified(path), print) for path in short))
        return print is not None and self._has(session, f",{print}]\n", TRAIL_RETURNS)

    def ran(self, session: str, wall: int, command: str, status: int | None) -> bool:
        """This command is over. status: how it ended, None where the client does not say. Whether it has failed so
        often now that somebody should look."""
        said = folded(redacted(command[:_SCANNED_CHARS]), TRAIL_COMMAND_CHARS_MAX)
        if len(command) > _SCANNED_CHARS and not said.endswith("…"):
            said += "…"
        self._append(session, line(wall, RAN, said, status))
        return bool(status) and self._has(session, wire.dumps([RAN, said, status])[1:] + "\n", TRAIL_FAILURES)

    def steps(self, session: str) -> list[Step]:
        """What is known, the oldest first."""
        found: list[Step] = []
        for text in self._read(session).split("\n"):
            if not text.endswith("]"):  # the end of a write that was cut off, or of the file
                continue
            try:
                said: Any = wire.loads(text)
            except ValueError:
                continue  # cut off within its words
            if wire.is_list(said) and len(said) in (4, 5) and isinstance(said[0], int) and isinstance(said[2], str):
                numbers = [each if isinstance(each, int) else None for each in said[3:]]
                found.append(Step(said[0], str(said[1]), said[2], *numbers))
        return found

    def edited(self, session: str) -> int | None:
        """When the session last changed a file (wall ms), 0 if it is known and has changed none; None if nobody saw
        what it does."""
        known = self.steps(session)
        if not known:
            return 0 if os.path.exists(self._file(session)) else None
        return max((step.wall for step in known if step.kind == CHANGED), default=0)

    def left(self, session: str, path: str) -> int | None:
        """The time of a file's last change (ns) when the session's own edit of it was over, if it edited it lately."""
        found = [step.status for step in self.steps(session) if step.kind == CHANGED and step.what == path]
        return found[-1] if found else None

    def hand_over(self, session: str, to: str) -> None:
        """The work goes on under another session's id."""
        earlier = self._read(session)
        if earlier:
            self._append(to, earlier)
        self.forget(session)

    def sweep(self, wall: int) -> None:
        """Part with what was left long ago by sessions that never said farewell."""
        platforms.remove_older(self._folder, wall - TRAIL_KEPT_MS)

    def forget(self, session: str) -> None:
        try:
            os.unlink(self._file(session))
        except OSError:
            pass

    def _has(self, session: str, end: str, times: int) -> bool:
        """Whether lines with this end are there so often. Looked for without being parsed."""
        return self._read(session).count(end) >= times

    def _file(self, session: str) -> str:
        return os.path.join(self._folder, file_name(session))

    def _append(self, session: str, text: str) -> None:
        if not text:
            return
        how = os.O_CREAT | os.O_APPEND | os.O_WRONLY
        try:
            try:
                descriptor = os.open(self._file(session), how, 0o600)
            except FileNotFoundError:
                platforms.make_private(self._folder)
                descriptor = os.open(self._file(session), how, 0o600)
            try:
                os.write(descriptor, text.encode("utf-8", "backslashreplace"))
                too_long = os.fstat(descriptor).st_size > TRAIL_BYTES_MAX
            finally:
                os.close(descriptor)
            if too_long:
                self._halve(session)
        except OSError:
            pass  # a full disk costs the memory of what was done, not the call

    def _halve(self, session: str) -> None:
        kept = self._read(session)[-TRAIL_BYTES_MAX // 2 :].partition("\n")[2]
        aside = platforms.aside(self._file(session))
        descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, kept.encode())
        finally:
            os.close(descriptor)
        os.replace(aside, self._file(session))

    def _read(self, session: str) -> str:
        try:
            descriptor = os.open(self._file(session), os.O_RDONLY)
        except OSError:
            return ""
        try:
            return os.read(descriptor, TRAIL_BYTES_MAX * 2).decode("utf-8", "replace")
        finally:
            os.close(descriptor)


def _modified(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return None


def line(wall: int, kind: str, what: str, status: int | None = None, print: int | None = None) -> str:
    """One step as it is written. The fast step writes it, too."""
    return wire.dumps([wall, kind, what, status] if print is None else [wall, kind, what, status, print]) + "\n"


def print_of(given: Any) -> int | None:
    """A number that two edits hardly share, of what a call was given, if that is not much. It is taken on the way of
    every edit, so it needs no module: 6 ns a byte."""
    text = wire.dumps(given).encode("utf-8", "backslashreplace")
    return int.from_bytes(text, "big") % PRINT_PRIME if len(text) <= TRAIL_PRINT_BYTES_MAX else None
