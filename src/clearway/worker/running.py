"""One run of a client: started with its words, kept within its time and its output, and ended with all it has started.

The client is no child of ours but of a keeper (keeper.py), which ends it when we close a pipe, or are gone. What it
prints is kept up to a bound, the newest last; nothing it prints is obeyed. While it runs somebody is asked, a few times
a second, whether it may go on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clearway import platforms
from clearway.clock import Clock
from clearway.errors import Refusal
from clearway.limits import WORKER_COMPLAINT_BYTES_MAX, WORKER_OUTPUT_BYTES_MAX
from clearway.worker import keeper

LOOK_MS = 200
_ENDING_MS = 20_000  # a keeper has longer than it needs
_PART = 65_536
NOT_FOUND = keeper.NOT_FOUND


@dataclass(frozen=True)
class Ran:
    """How a run ended. `late`: its time was over. `stopped`: why it was ended before, else empty."""

    status: int
    out: str
    complaint: str
    milliseconds: int
    late: bool = False
    stopped: str = ""


@dataclass(frozen=True)
class Start:
    """What is run: the words, never through a shell; where; with which environment; and what it reads."""

    words: list[str]
    folder: str
    environ: Mapping[str, str]
    given: bytes = b""


def run(
    start: Start, *, seconds: int, may_go_on: Callable[[int], str], spared: str = "", clock: Clock | None = None
) -> Ran:
    """Run it to its end, at most so long. Raises OSError when nothing can be started.

    may_go_on: asked again and again with the milliseconds since the start; a text ends the run. spared: the file that
    names a process which is not ended though the client may have started it.
    """
    check_system()
    clock = clock or Clock()
    began = clock.monotonic()
    with tempfile.TemporaryFile() as source:
        source.write(start.given)
        source.seek(0)
        theirs, ours = os.pipe()
        try:
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(theirs), spared, *start.words],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=start.folder,
                env=dict(start.environ),
                pass_fds=(theirs,),
                start_new_session=True,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
    rope = _Rope(ours)
    try:
        return _watched(child, rope, seconds, may_go_on, clock, began, spared)
    finally:
        rope.let_go()
        _wait_for_the_end(child, spared)


def check_system() -> None:
    """Refuse where a run could outlive its worker."""
    if platforms.WINDOWS:
        raise Refusal("STORAGE_CONFIGURATION", "A worker needs Linux or macOS; on Windows run it in WSL.")


class _Rope:
    """What holds a run."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def let_go(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _watched(
    child: subprocess.Popen[bytes],
    rope: _Rope,
    seconds: int,
    may_go_on: Callable[[int], str],
    clock: Clock,
    began: int,
    spared: str,
) -> Ran:
    out, complaint = _Kept(WORKER_OUTPUT_BYTES_MAX), _Kept(WORKER_COMPLAINT_BYTES_MAX)
    assert child.stdout is not None and child.stderr is not None
    kept = {child.stdout.fileno(): out, child.stderr.fileno(): complaint}
    late, stopped, asked, ended_by = False, "", began, 0
    while kept:
        ready = platforms.readable(list(kept), LOOK_MS / 1_000)
        for descriptor in ready:
            part = os.read(descriptor, _PART)
            if part:
                kept[descriptor].add(part)
            else:
                del kept[descriptor]
        if not ready and child.poll() is not None:
            break  # whoever was spared may hold the other end for ever
        now = clock.monotonic()
        if ended_by:
            if now > ended_by:
                break
            continue
        late = now - began >= seconds * 1_000
        if not late and now - asked >= LOOK_MS:
            asked = now
            stopped = may_go_on(now - began)
        if late or stopped:
            rope.let_go()
            ended_by = now + _ENDING_MS
    return Ran(
        status=_wait_for_the_end(child, spared),
        out=out.text,
        complaint=complaint.text,
        milliseconds=clock.monotonic() - began,
        late=late,
        stopped=stopped,
    )


def _wait_for_the_end(child: subprocess.Popen[bytes], spared: str) -> int:
    try:
        status = child.wait(_ENDING_MS / 1_000)
    except subprocess.TimeoutExpired:
        child.kill()
        status = child.wait()
    if status < 0:
        keeper.end_orphans(spared)
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    return status


class _Kept:
    """The newest of what was printed."""

    def __init__(self, bytes_max: int) -> None:
        self._max = bytes_max
        self._held = bytearray()

    def add(self, part: bytes) -> None:
        self._held += part
        if len(self._held) > 2 * self._max:
            del self._held[: -self._max]

    @property
    def text(self) -> str:
        return bytes(self._held[-self._max :]).decode("utf-8", "replace")
