"""How soon an issue is free when the client that held it is killed: at the next question anyone asks."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time

from bench.claims import claim, room_with_issues
from bench.figures import Figure, at_most
from clearway.alive import Liveness
from clearway.config import Caller

CLAIMABLE_MS_MAX = 100
_WAITS = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


def figures(rounds: int) -> list[Figure]:
    took: list[float] = []
    liveness = Liveness()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        room, issues = room_with_issues(folder, rounds)
        for place, issue in enumerate(issues):
            client = subprocess.Popen(_WAITS, stdin=subprocess.PIPE)
            process = liveness.identify(client.pid)
            claim(room, Caller("holder", f"holder-{place}", host=liveness.host, process=process), issue)
            start = time.perf_counter()
            client.kill()
            client.wait()
            claim(room, Caller("next", "next", host=liveness.host), issue)
            took.append((time.perf_counter() - start) * 1_000)
            assert client.stdin
            client.stdin.close()
        room.close()
    note = f"slowest {max(took):.1f} ms"
    name = "kill -9 of the holder to claimed by another"
    return [at_most(name, statistics.median(took), CLAIMABLE_MS_MAX, "ms", note=note)]
