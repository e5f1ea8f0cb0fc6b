"""What the figures were measured on: the interpreter, the load, and what it costs to reach the disk."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time

FSYNCS = 50


def machine() -> str:
    """One line; the durable figures are bounded by what one fsync costs here."""
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}, one fsync {fsync_ms():.2f} ms"
    )


def fsync_ms() -> float:
    """The median of appending a page to a file and waiting for the disk, where rooms of the bench are too."""
    times: list[float] = []
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(FSYNCS):
            file.write(b"x" * 4_096)
            start = time.perf_counter()
            os.fsync(file.fileno())
            times.append((time.perf_counter() - start) * 1_000)
    return statistics.median(times)
