"""The eyes of a host on processes: each that it has seen alive is held by a descriptor, and asked by that.

Every transaction asks whether the process of each session lives. To read that anew costs a file each; a descriptor of
the process itself tells it in one call, and can never mean another process of the same number. Where the system has
none, the file is read.
"""

from __future__ import annotations

import os
import select
import threading

from clearway.alive import Liveness, Process
from clearway.limits import HOST_LIVES_MAX


class HeldLiveness(Liveness):
    """Liveness for a process that stays. For any thread."""

    __slots__ = ("_deaths", "_held", "_lock")

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._held: dict[tuple[int, str], int] = {}  # descriptors of processes, by pid and start
        self._deaths = select.epoll() if hasattr(os, "pidfd_open") and hasattr(select, "epoll") else None

    def is_dead(self, host: str, process: Process) -> bool:
        if self._deaths is None or host != self._host:
            return super().is_dead(host, process)
        if (process.boot, process.pidns) != (self._boot, self._pidns):
            return super().is_dead(host, process)
        who = process.pid, process.started
        with self._lock:
            if who in self._held:
                return who in self._buried()
        is_dead = super().is_dead(host, process)
        if not is_dead:
            self._hold(host, process)
        return is_dead

    def _hold(self, host: str, process: Process) -> None:
        try:
            descriptor = os.pidfd_open(process.pid)
        except OSError:
            return  # it has just ended, or nobody may
        with self._lock:
            who = process.pid, process.started
            # No other process can have this number while the descriptor is open: is it the one that is meant?
            if self._deaths is None or who in self._held or super().is_dead(host, process):
                os.close(descriptor)
                return
            while len(self._held) >= HOST_LIVES_MAX:
                self._let_go(next(iter(self._held)))
            try:
                self._deaths.register(descriptor, select.EPOLLIN)
            except OSError:  # not every system that has descriptors of processes can wait for them
                os.close(descriptor)
                return
            self._held[who] = descriptor

    def _buried(self) -> list[tuple[int, str]]:
        """Those that have ended since the last look; they are held no more."""
        ended = {descriptor for descriptor, _ in self._deaths.poll(0)} if self._deaths is not None else set[int]()
        buried = [who for who, descriptor in self._held.items() if descriptor in ended] if ended else []
        for who in buried:
            self._let_go(who)
        return buried

    def _let_go(self, who: tuple[int, str]) -> None:
        descriptor = self._held.pop(who)
        if self._deaths is not None:
            self._deaths.unregister(descriptor)
        os.close(descriptor)

    def close(self) -> None:
        with self._lock:
            while self._held:
                self._let_go(next(iter(self._held)))
            deaths, self._deaths = self._deaths, None
        if deaths is not None:
            deaths.close()
