"""Waking a Codex thread: one line with numbers is queued for it when a message waits that it was not shown.

Codex has no hook that begins a turn; `codex queue` does, for a thread that is named by its id. This command stays and
looks, gives no sign of life for anybody and writes nothing into the room. While a line that it queued was not taken up
it queues no other, and while Codex says that its limit is reached it queues none; when that ends, one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from clearway import policy
from clearway.clock import Clock
from clearway.config import Caller
from clearway.crew import agents, messages
from clearway.errors import Refusal
from clearway.limits import WAKES_MAX, WAKES_WITHIN_MS
from clearway.setup import codexlimits
from clearway.surfaces.waiting import until_free
from clearway.surfaces.waking import Arrivals, alone, pointer
from clearway.untrusted import folded

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.db.tx import Tx
    from clearway.rooms import Rooms

REARM_MS = 15 * 60_000  # a line that was not taken up is queued again after this
AGAIN_MS = 60_000  # and one that could not be queued after this
_LIMIT_AGAIN_MS = 15 * 60_000  # a limit that does not say when it ends
_QUEUE_SECONDS = 60
_THREAD_CHARS = 36


class Codex:
    """The program on this machine, for one thread."""

    def __init__(self, environ: dict[str, str], thread: str, folder: str) -> None:
        program = shutil.which("codex", path=environ.get("PATH", ""))
        if program is None:
            raise Refusal("INVALID_ARGUMENT", "codex is not on the PATH; codex-wake queues its lines with it.")
        self._program = program
        self._environ = environ
        self._thread = thread
        self._folder = folder

    def queue(self, text: str) -> str:
        """Begin a turn with this text, now or when the present one is over. Empty, or why that was not taken."""
        command = [self._program, "queue", "--thread", self._thread, "--message", text, "--resume"]
        try:
            done = subprocess.run(
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._environ,
                cwd=self._folder,
                timeout=_QUEUE_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return type(error).__name__
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return folded(lines[-1] if lines else f"exit {done.returncode}", 200) if done.returncode else ""

    def limited_for(self, wall: int) -> int:
        """For how many ms Codex says that its limit is reached; 0 when it is not, or when nobody can tell."""
        said = codexlimits.ask(self._environ, self._folder)
        if said.state != codexlimits.LIMITED:
            return 0
        return max(0, (said.until or 0) - wall) or _LIMIT_AGAIN_MS


class _Sleeper(Arrivals):
    """The eyes of a thread on what comes for it."""

    def __init__(self, rooms: Rooms, caller: Caller) -> None:
        super().__init__(rooms.of_folder(caller.cwd), caller, rooms.liveness, idle=True)
        self._told: set[int] = set()
        self._rearm_at = 0
        self._now = 0
        self._woke: list[tuple[str, int]] = []

    def _ask(self, tx: Tx) -> int | None:
        tx.silent = True
        if agents.is_busy(tx):
            return None
        self._woke = [(sender, at) for sender, at in self._woke if at > tx.now - WAKES_WITHIN_MS]
        found = messages.waking(tx)
        if tx.now < self._rearm_at and self._told & {row.id for row in found}:
            return self._rearm_at - tx.now
        worn = {sender for sender, _ in self._woke if sum(other == sender for other, _ in self._woke) >= WAKES_MAX}
        self.found = [row for row in found if row.sender == "human" or row.sender not in worn]
        self._now = tx.now
        return messages.next_due(tx)

    def woken(self) -> None:
        """A line about what was found has been queued."""
        self._told = {row.id for row in self.found}
        self._rearm_at = self._now + REARM_MS
        self._woke += [(sender, self._now) for sender in dict.fromkeys(row.sender for row in self.found)]


def keep_awake(
    rooms: Rooms,
    agent: str,
    folder: str,
    thread: str,
    *,
    timeout_ms: int,
    once: bool = False,
    clock: Clock | None = None,
    mention: Callable[[str], None] = lambda _: None,
) -> int:
    """Queue a line for the thread whenever something waits for it, until the time is over; how many were queued.
    once: leave after the first look. mention: whom to tell why something was not queued."""
    thread = _checked(thread or _thread_of(rooms, folder))
    codex = Codex(dict(rooms.settings.environ), thread, folder)
    place = alone(rooms.settings.home, f"codex-wake {thread}", Clock().wall())
    if place is None:
        raise Refusal("INVALID_ARGUMENT", f"Another codex-wake looks after {thread} already.")
    clock = clock or Clock()
    try:
        eyes = _Sleeper(rooms, Caller(agent, thread, cwd=folder, host=rooms.liveness.host))
        return _look_after(eyes, codex, clock, 0 if once else timeout_ms, mention)
    finally:
        os.close(place)


def _look_after(eyes: _Sleeper, codex: Codex, clock: Clock, timeout_ms: int, mention: Callable[[str], None]) -> int:
    until = clock.monotonic() + timeout_ms
    queued = 0
    while True:
        until_free(eyes, clock, max(0, until - clock.monotonic()))
        pause = codex.limited_for(clock.wall()) if eyes.found else 0
        if pause:
            mention("Codex is at its limit; a line is queued when that is over.")
        elif eyes.found:
            refused = codex.queue(pointer(eyes.found))
            if refused:
                mention(f"codex did not take the line: {refused}")
                pause = AGAIN_MS
            else:
                eyes.woken()
                queued += 1
        left = until - clock.monotonic()
        if left <= 0:
            return queued
        if pause:
            _pause(clock, min(pause, left))


def _pause(clock: Clock, milliseconds: int) -> None:
    """Wait in pieces: a machine that sleeps, or a clock that is set, may not make one wait a night long."""
    until = clock.monotonic() + milliseconds
    while (left := until - clock.monotonic()) > 0:
        clock.pause(min(left, AGAIN_MS))


def _thread_of(rooms: Rooms, folder: str) -> str:
    """The thread that the environment names, else the settings."""
    environ = rooms.settings.environ
    thread = environ.get("CLEARWAY_CODEX_THREAD") or environ.get("AGENT_LEASE_CODEX_THREAD")
    if not thread:
        nobody = Caller("clearway", host=rooms.liveness.host)
        thread = rooms.of_folder(folder).run(_kept, caller=nobody, writes=False)
    return thread


def _checked(thread: str) -> str:
    """A name would do for Codex, but not to know what the thread was shown."""
    if len(thread) != _THREAD_CHARS or thread.count("-") != 4:
        raise Refusal(
            "INVALID_ARGUMENT",
            "codex-wake needs the id of a thread (clearway who shows it as the session): --thread, "
            "CLEARWAY_CODEX_THREAD or clearway config set codex_thread ID.",
        )
    return thread


def _kept(tx: Tx) -> str:
    tx.silent = True
    return policy.value(tx, "codex_thread")
