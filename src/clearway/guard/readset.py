"""What a session has read, so that it is told once when it edits what another has changed since.

A short file a session: of each read a line, the time at which the file had been changed last and its path. A read costs
one appended line and no database write; whether anything is to be said is looked up by the first edit alone. The older
half goes when the file has grown too long: what is forgotten so is not told.
"""

from __future__ import annotations

import os

from clearway import platforms
from clearway.beats import file_name
from clearway.limits import READS_BYTES_MAX, TRAIL_KEPT_MS

FOLDER = "run/reads"


def note(home: str, session: str, path: str) -> None:
    """The session is about to read this file, or has just been told what became of it. path: absolute."""
    try:
        line = f"{os.stat(path).st_mtime_ns} {path}\n"
    except (OSError, ValueError):
        return  # there is nothing to read
    if "\n" in path:
        return
    file = _file(home, session)
    how = os.O_CREAT | os.O_APPEND | os.O_WRONLY
    try:
        try:
            descriptor = os.open(file, how, 0o600)
        except FileNotFoundError:
            platforms.make_private(os.path.dirname(file))
            descriptor = os.open(file, how, 0o600)
        try:
            os.write(descriptor, line.encode("utf-8", "backslashreplace"))
            too_long = os.fstat(descriptor).st_size > READS_BYTES_MAX
        finally:
            os.close(descriptor)
        if too_long:
            _halve(file)
    except OSError:
        pass  # a full disk costs the memory of what was read, not the call


def changed_since(home: str, session: str, path: str) -> int | None:
    """When a file that the session has read was last changed (ns), if that was after each of its reads; else None."""
    try:
        now = os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return None
    read = {line.partition(" ")[0] for line in _text(_file(home, session)).split("\n") if line.endswith(f" {path}")}
    return now if read and str(now) not in read else None


def hand_over(home: str, session: str, to: str) -> None:
    """The work goes on under another session's id."""
    try:
        os.replace(_file(home, session), _file(home, to))
    except OSError:
        pass


def forget(home: str, session: str) -> None:
    try:
        os.unlink(_file(home, session))
    except OSError:
        pass


def sweep(home: str, wall: int) -> None:
    """Part with what was left long ago by sessions that never said farewell."""
    platforms.remove_older(os.path.join(home, FOLDER), wall - TRAIL_KEPT_MS)


def _file(home: str, session: str) -> str:
    return os.path.join(home, FOLDER, file_name(session))


def _text(file: str) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return ""
    try:
        return os.read(descriptor, READS_BYTES_MAX * 2).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _halve(file: str) -> None:
    kept = _text(file)[-READS_BYTES_MAX // 2 :].partition("\n")[2]
    aside = platforms.aside(file)
    descriptor = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, kept.encode())
    finally:
        os.close(descriptor)
    os.replace(aside, file)
