"""Is that process still the same one?

A process is known by boot, pid namespace, pid and start time. Its life is judged only inside the same boot and
namespace; another boot of the same host means dead, another namespace or host means "cannot say". A zombie is dead: a
killed client whose parent has not reaped it holds nothing any more.
"""

from __future__ import annotations

import os

from clearway import platforms

ANCESTORS_MAX = 40


class Process:
    """The identity of one process, as a session records it."""

    __slots__ = ("boot", "pid", "pidns", "started")

    def __init__(self, boot: str, pidns: str, pid: int, started: str) -> None:
        self.boot = boot
        self.pidns = pidns
        self.pid = pid
        self.started = started


class Liveness:
    """The eyes of a room on processes. The simulation replaces it."""

    __slots__ = ("_boot", "_host", "_pidns")

    def __init__(self, boot: str = "", host: str = "", pidns: str | None = None) -> None:
        self._boot = boot or platforms.boot_id()
        self._host = host or platforms.host_name()
        self._pidns = platforms.pid_namespace() if pidns is None else pidns

    @property
    def host(self) -> str:
        return self._host

    def identify(self, pid: int | None) -> Process | None:
        """The identity of a process that lives here now, or None."""
        if not pid or pid <= 0:
            return None
        try:
            facts = platforms.process_facts(pid)
        except (OSError, ValueError):
            return None
        return None if facts is None or facts.zombie else Process(self._boot, self._pidns, pid, facts.started)

    def is_dead(self, host: str, process: Process) -> bool:
        """True only when it is certain that the process is gone."""
        if host != self._host:
            return False
        if process.boot != self._boot:
            return "unknown" not in (process.boot, self._boot)
        if process.pidns != self._pidns:
            return False
        try:
            facts = platforms.process_facts(process.pid)
        except (OSError, ValueError):
            return False
        return facts is None or facts.zombie or facts.started != process.started


def ancestors(pid: int | None = None) -> list[tuple[int, str, str]]:
    """(pid, program, whole command line) of this process's ancestors, the nearest first."""
    found: list[tuple[int, str, str]] = []
    current = pid or os.getppid()
    while current > 1 and len(found) < ANCESTORS_MAX:
        try:
            facts = platforms.process_facts(current)
        except (OSError, ValueError):
            break
        if facts is None:
            break
        words = platforms.command_line(current)
        found.append((current, facts.name, " ".join(words[:4])))
        current = facts.parent
    return found
