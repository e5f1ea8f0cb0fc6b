"""From a message to the end of the waiter that it wakes, and what a waiter costs while nothing comes."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from contextlib import ExitStack
from typing import Any

from bench.figures import Figure, at_most
from bench.host import cpu_ms, host
from bench.soak import metrics
from bench.world import World, console_script, world
from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.rooms import Rooms

P50_MS_MAX = 50
IDLE_MS_MAX = 1.0
ROUNDS_MAX = 20
IDLE_SECONDS = 10.0
_READY_SECONDS = 30


def figures(rounds: int) -> list[Figure]:
    with ExitStack() as stack:
        here = stack.enter_context(world(hosted=True))
        running = stack.enter_context(host(here))
        took = [_woken(here, running, place) for place in range(min(rounds, ROUNDS_MAX) + 1)][1:]
        waiter, watching = _idle(here, running)
    slowest = f"the slowest of {len(took)}: {max(took):.0f} ms"
    return [
        at_most(
            "message to the end of a sleeping waiter, median", statistics.median(took), P50_MS_MAX, "ms", note=slowest
        ),
        at_most("waiter, idle", waiter, IDLE_MS_MAX, "ms/s"),
        at_most("host with a waiter, idle", watching, IDLE_MS_MAX, "ms/s"),
    ]


def _woken(here: World, running: dict[str, Any], place: int) -> float:
    """Milliseconds from the answer to a sender until the waiter has ended."""
    waiter = _waiter(here, running, f"beta-{place}")
    rooms = Rooms(Settings(here.environ))
    try:
        caller = Caller("alpha", "alpha-1", cwd=str(here.repository), host=rooms.liveness.host)
        given = {"to": f"beta-{place}", "text": "Wake up."}
        rooms.ask(OPERATIONS["send_message"], given, caller)
        sent = time.perf_counter()
        status = waiter.wait(timeout=_READY_SECONDS)
        took = (time.perf_counter() - sent) * 1_000
    finally:
        rooms.close()
    if status:
        raise RuntimeError(f"a waiter ended with {status}")
    return took


def _idle(here: World, running: dict[str, Any]) -> tuple[float, float]:
    """Processor time in ms a second: of a waiter for whom nothing comes, and of the host."""
    waiter = _waiter(here, running, "gamma")
    before = cpu_ms(waiter.pid), cpu_ms(running["pid"])
    time.sleep(IDLE_SECONDS)
    after = cpu_ms(waiter.pid), cpu_ms(running["pid"])
    waiter.terminate()
    waiter.wait()
    return (after[0] - before[0]) / IDLE_SECONDS, (after[1] - before[1]) / IDLE_SECONDS


def _waiter(here: World, running: dict[str, Any], agent: str) -> subprocess.Popen[bytes]:
    """One that sleeps: the host rings for it."""
    waiter = subprocess.Popen(
        [console_script(), "wait", "--for", agent, "--timeout", "5m"],
        cwd=here.repository,
        env={**here.environ, "CLAUDE_PID": str(os.getpid())},
        stdout=subprocess.DEVNULL,
    )
    until = time.monotonic() + _READY_SECONDS
    while not metrics(here, running)["clearway_host_waiters"]:
        if waiter.poll() is not None or time.monotonic() > until:
            raise RuntimeError("a waiter does not wait")
        time.sleep(0.02)
    time.sleep(0.2)  # it looks once more when it is listened to, and then sleeps
    return waiter
