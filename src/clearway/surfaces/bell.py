"""Sleeping until a host says that a room has changed, instead of looking at it again and again.

It is a comfort and no more: what has changed is seen by the looks of whoever waits. A host that is not there, refuses,
stops or dies costs nothing but looks, as they are made without one; another host is found after a while.
"""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

from clearway import wire
from clearway.errors import Refusal
from clearway.surfaces import host_start, host_wire
from clearway.surfaces.host_wire import Spoken

if TYPE_CHECKING:
    from clearway.clock import Clock
    from clearway.config import Settings

SLEEP_MS = 250  # between two looks at what no host tells: whether a process has ended
_TRUST_MS = 2_000  # a host that was stopped says nothing, and keeps the connection: so often its word is not needed
_REST_MS = 20  # between two looks, however often it rings
_AGAIN_MS = 5_000
_CONNECT_SECONDS = 0.5


class Bell:
    """What rings when one of some rooms has changed. Used by one who waits, in turns: `pause`, then `is_needless`."""

    def __init__(self, settings: Settings, rooms: list[str], clock: Clock) -> None:
        self._home = settings.home
        self._environ = settings.environ
        self._rooms = rooms
        self._clock = clock
        self._lines: dict[int, _Line] = {}
        self._waiting = select.poll() if hasattr(select, "poll") else None
        self._tried = 0
        self._trusted = 0
        self._rung = True
        if self._waiting is not None and host_start.is_wanted(self._environ):
            self._reach()

    @property
    def is_there(self) -> bool:
        """Whether a host listens to all of the rooms for us."""
        return len(self._lines) == len(self._rooms) and all(line.is_heard for line in self._lines.values())

    def is_needless(self) -> bool:
        """Whether a look would be in vain: nobody has rung since the last one."""
        now = self._clock.monotonic()
        if self.is_there and now - self._trusted < (_REST_MS if self._rung else _TRUST_MS):
            return True
        self._rung, self._trusted = False, now
        return False

    def pause(self, milliseconds: float) -> None:
        """Sleep so long, or until it rings."""
        if self._lines and not self._rung:
            assert self._waiting is not None
            for descriptor, _ in self._waiting.poll(milliseconds):
                self._hear(descriptor)
        else:
            self._clock.pause(min(milliseconds, _REST_MS) if self._lines else milliseconds)
        if not self._lines and self._tried and self._clock.monotonic() - self._tried > _AGAIN_MS:
            self._reach()

    def close(self) -> None:
        for descriptor in list(self._lines):
            self._lose(descriptor)

    def _reach(self) -> None:
        """Ask the host to ring; it says so when it does."""
        self._tried = self._clock.monotonic()
        for room in self._rooms:
            connection = host_wire.connect(self._home, _CONNECT_SECONDS)
            if connection is None:
                self.close()
                return
            asked = {"v": host_wire.VERSION, "op": "watch", "args": {"room": room}}
            try:
                connection.sendall((wire.dumps(asked) + "\n").encode())
            except OSError:
                connection.close()
                self.close()
                return
            connection.setblocking(False)
            assert self._waiting is not None
            self._lines[connection.fileno()] = _Line(connection)
            self._waiting.register(connection, select.POLLIN)

    def _hear(self, descriptor: int) -> None:
        line = self._lines.get(descriptor)
        if line is None:
            return
        try:
            self._rung |= line.hear()
        except (OSError, Spoken):
            self.close()  # it is looked without it, at once
        except Refusal:
            self.close()
            self._tried = 0  # it will not do it

    def _lose(self, descriptor: int) -> None:
        self._rung = True
        assert self._waiting is not None
        self._waiting.unregister(descriptor)
        self._lines.pop(descriptor).connection.close()


class _Line:
    """The connection for one room."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.is_heard = False  # the room is listened to, which the second line says
        self._got = b""
        self._lines = 0

    def hear(self) -> bool:
        """Whether it has rung."""
        try:
            part = self.connection.recv(65_536)
        except BlockingIOError:
            return False
        if not part:
            raise Spoken("the end")
        *lines, self._got = (self._got + part).split(b"\n")
        for line in lines[-2:]:
            host_wire.result(line)
        self._lines += len(lines)
        self.is_heard |= self._lines > 1
        return bool(lines)
