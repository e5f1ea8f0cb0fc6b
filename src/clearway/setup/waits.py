"""How long a client waits for us, measured from its side: from the start of the registered command to its end.

What a hook counts of itself (tally.py) begins when the interpreter has started, and what a host counts when it is
asked; a client waits for all of it. So the command is run a few times with an event about which there is nothing to
say, as `doctor` runs it to see whether it answers, and told is how the times lie.
"""

from __future__ import annotations

import os
import subprocess

from clearway import wire
from clearway.config import Settings
from clearway.guard import quiet
from clearway.room import beat_folder
from clearway.setup.registered import Binding, hook_command
from clearway.setup.registrations import NOTICE, OK, SESSION, Check, check, harmless_read, without_a_trace

RUNS = 9
SLOW_MS = 150  # of a hundred commands, 95 should take less
_SECONDS_MAX = 10


def measure(settings: Settings, root: str, project: str, runs: int) -> list[float]:
    """So many times in milliseconds, the shortest first. Nothing where there is no room, or the command fails."""
    if not project or not runs:
        return []
    command = hook_command("claude", Binding(home=settings.home))
    event = wire.dumps(harmless_read(root, SESSION)).encode("utf-8", "surrogateescape")
    took: list[float] = []
    with without_a_trace(os.path.join(beat_folder(settings.home), project), settings.home):
        for _ in range(runs + 1):
            began = quiet.now()
            try:
                ended = subprocess.run(
                    ["/bin/sh", "-c", command],
                    check=False,
                    input=event,
                    env=dict(settings.environ),
                    cwd=root,
                    capture_output=True,
                    timeout=_SECONDS_MAX,
                )
            except (OSError, subprocess.SubprocessError):
                return []
            if ended.returncode or ended.stdout or ended.stderr:
                return []
            took.append(quiet.elapsed(began) / 1_000)
    return sorted(took[1:])  # the first finds everything cold


def spread(took: list[float]) -> dict[str, float]:
    """How they lie."""
    last = len(took) - 1
    parts = {"p50_ms": took[last // 2], "p95_ms": took[-(-95 * len(took) // 100) - 1], "max_ms": took[last]}
    return {"runs": len(took), **{name: round(milliseconds, 1) for name, milliseconds in parts.items()}}


def examined(took: list[float]) -> Check:
    if not took:
        return check("latency", OK, "not measured: that takes a room, and a hook that answers")
    lie = spread(took)
    said = (
        f"a hook takes {lie['p50_ms']} ms here from its start to its end (half of {lie['runs']}), most {lie['p95_ms']} "
        f"ms, the slowest {lie['max_ms']} ms"
    )
    if lie["p95_ms"] <= SLOW_MS:
        return check("latency", OK, said)
    fix = "see what keeps this machine busy; clearway host start lets hooks be answered by a process that is there"
    return check("latency", NOTICE, said, fix)
