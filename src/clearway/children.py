"""Run one program for what it prints, within a deadline, from a process that must stay light.

Input and output are files without a name, so that neither side ever waits for the other; the end of the child is seen
as the end of its stderr, so one wait with a time limit is all there is. No shell, and only the environment that is
given.
"""

from __future__ import annotations

import os

from clearway.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

COMPLAINT_BYTES_MAX = 4_096


class Printed:
    """What a child printed, and the beginning of what it complained about. `late`: it did not end in time."""

    __slots__ = ("complaint", "late", "text")

    def __init__(self, text: bytes, complaint: bytes, late: bool) -> None:
        self.text = text
        self.complaint = complaint
        self.late = late


def run(
    program: str, arguments: list[str], environ: Mapping[str, str], *, given: bytes = b"", wait_ms: int, bytes_max: int
) -> Printed:
    """Start `program` (a path, or a name that is looked for) and wait for its end. Raises OSError if it cannot start.

    bytes_max: of what it prints; of more nothing is read.
    """
    source = result = ended = errors = -1
    try:
        source, result = _unnamed_file(given), _unnamed_file(b"")
        ended, errors = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate((source, result, errors))]
        start = os.posix_spawn if os.path.isabs(program) else os.posix_spawnp
        child = start(program, [os.path.basename(program), *arguments], environ, file_actions=actions)
        os.close(errors)
        errors = -1
        complaint = _last_words(ended, wait_ms)
        if complaint is None:
            os.kill(child, 9)
        _bury(child)
        size = os.fstat(result).st_size
        text = os.pread(result, size, 0) if complaint is not None and size <= bytes_max else b""
        return Printed(text, complaint or b"", complaint is None)
    finally:
        for descriptor in (source, result, ended, errors):
            if descriptor >= 0:
                os.close(descriptor)


def _last_words(ended: int, wait_ms: int) -> bytes | None:
    """What the child wrote to stderr until it ended; None if it did not end in time."""
    import select

    clock = Clock()
    deadline = clock.monotonic() + wait_ms
    waiting = select.poll()
    waiting.register(ended, select.POLLIN)
    said = b""
    while waiting.poll(max(0, deadline - clock.monotonic())):
        part = os.read(ended, COMPLAINT_BYTES_MAX)
        if not part:
            return said
        said = (said + part)[:COMPLAINT_BYTES_MAX]
    return None


def _bury(child: int) -> None:
    try:
        os.waitpid(child, 0)
    except ChildProcessError:  # whoever started us ignores its children, and so do we
        pass


def _unnamed_file(data: bytes) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("clearway")
    else:
        alone = [data]  # no other thread has this object, so none makes this name
        path = f"/tmp/clearway-{os.getpid()}-{id(alone)}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written : written + 1_048_576])
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
