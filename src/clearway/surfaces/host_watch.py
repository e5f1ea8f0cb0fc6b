"""Telling those who wait that a room has changed: at once, and without asking it in vain.

One thread of the host watches for all of them, and only while somebody waits. The system says that something was
written (host_ears.py); the file's own counter says when that stands, which is a moment later. A ring says no more than
"look": whoever is told looks at what it waits for, and is told once at the beginning, so that nothing that happened
before it was listened to is missed.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clearway import clock, platforms
from clearway.clock import Clock
from clearway.db.sqlite import identity_of
from clearway.errors import Refusal
from clearway.guard.quiet import open_as_it_is
from clearway.limits import HOST_WATCHED_MAX
from clearway.room import MACHINE
from clearway.surfaces import host_wire
from clearway.surfaces.host_ears import Ears
from clearway.surfaces.host_wire import Spoken

if TYPE_CHECKING:
    from clearway.rooms import Rooms
    from clearway.surfaces.host import Host

_SOON_MS = 1  # after something was written: then twice as long, and so on
_REST_MS = 20  # between two rings for one file, however much is written
_SELDOM_MS = 2_000  # should the system not say everything
_GLANCE_MS = 30  # where it says nothing
_CLOSES_WITHIN_SECONDS = 1.0


class Listener:
    """Somebody who waits. `ring` is called by the watching thread and waits for nothing; once more at `until`."""

    def __init__(self, ring: Callable[[], object], until: int | None = None) -> None:
        self.ring = ring
        self.until = until
        self.was_told = False  # that it is listened to


class _Watched:
    """One file, those who wait for it to change, and when it is looked at next."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.listeners: list[Listener] = []
        self.number: int | None = None  # of its folder
        self.due = 0
        self._pause = _SOON_MS
        self._rests_until = 0
        self._identity: tuple[int, int] | None = None
        self._connection: Any = None
        self._stamp = -1

    def stir(self, now: int) -> None:
        """Something was written: it will stand soon."""
        self._pause = _SOON_MS
        self.due = min(self.due, max(now, self._rests_until))

    def has_changed(self, now: int, slowest_ms: int) -> bool:
        """Look, and settle when to look again."""
        if not self.file:  # of a room on a server there is nothing to see
            self.due = now + _SELDOM_MS
            return False
        self.due = now + self._pause
        self._pause = min(2 * self._pause, slowest_ms)
        before = self._stamp
        try:
            here = identity_of(self.file)
            if here != self._identity or self._connection is None:
                self.close()
                self._connection, self._identity = open_as_it_is(self.file), here
                before = -1
            self._stamp = int(self._connection.pragma("data_version"))
        except Exception:  # it is gone, or busy with being made: whoever waits sees for himself
            self.close()
        if self._stamp == before:
            return False
        self._rests_until = now + _REST_MS
        self.due = max(self.due, self._rests_until)
        return True

    def close(self) -> None:
        self._stamp = -1
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Watch:
    """All files that somebody waits for. Its thread begins with the first of them and ends with the last."""

    def __init__(self, complain: Callable[[BaseException], None]) -> None:
        self._complain = complain
        self._clock = Clock()
        self._lock = threading.Lock()
        self._files: dict[str, _Watched] = {}
        self._left: list[_Watched] = []
        self._thread: threading.Thread | None = None
        self._ear, self._voice = socket.socketpair()
        for end in (self._ear, self._voice):
            end.setblocking(False)

    @property
    def count(self) -> int:
        """How many are waiting."""
        with self._lock:
            return sum(len(watched.listeners) for watched in self._files.values())

    def now(self) -> int:
        """The time by which listeners are rung for, in ms."""
        return self._clock.monotonic()

    def add(self, file: str, listener: Listener) -> None:
        """Ring for a file from now on, and once as soon as it is listened to."""
        with self._lock:
            if file not in self._files and len(self._files) >= HOST_WATCHED_MAX:
                raise Refusal("RATE_LIMITED", "Too many rooms are watched; look at this one yourself.")
            watched = self._files.setdefault(file, _Watched(file))
            watched.listeners.append(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="watch", daemon=True)
                self._thread.start()
        self._wake()

    def remove(self, file: str, listener: Listener) -> None:
        """Ring no more. For one that is not there any more, too."""
        with self._lock:
            watched = self._files.get(file)
            if watched is None or listener not in watched.listeners:
                return
            watched.listeners.remove(listener)
            if not watched.listeners:
                self._left.append(self._files.pop(file))
        self._wake()

    def again(self, listener: Listener, until: int) -> None:
        """Ring once more at this time."""
        listener.until = until
        self._wake()

    def ring_all(self) -> None:
        """For everybody: the host is about to leave."""
        with self._lock:
            listeners = [listener for watched in self._files.values() for listener in watched.listeners]
        for listener in listeners:
            listener.ring()

    def close(self) -> None:
        with self._lock:
            self._left += self._files.values()
            self._files.clear()
            thread = self._thread
        self._wake()
        if thread is not None:
            thread.join(_CLOSES_WITHIN_SECONDS)
        for end in (self._ear, self._voice):
            end.close()

    def _wake(self) -> None:
        try:
            self._voice.send(b"!")
        except OSError:
            pass  # it has not slept since the last time

    # --- the thread -------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            ears = Ears()
        except OSError:
            ears = None
        try:
            while self._go_on(ears):
                pass
        except BaseException as error:
            self._complain(error)
            with self._lock:
                self._files.clear()  # whoever waits looks now and then, too
                self._thread = None
        finally:
            if ears is not None:
                ears.close()

    def _go_on(self, ears: Ears | None) -> bool:
        """One round: look at what is due, then listen. Whether there is anything left to do."""
        with self._lock:
            files, left, self._left = list(self._files.values()), self._left, []
            if not files:
                self._thread = None  # whoever comes now begins another
        for watched in left:
            self._part_with(watched, ears)
        if not files:
            return False
        now = self._clock.monotonic()
        slowest = _GLANCE_MS if ears is None else _SELDOM_MS
        for watched in files:
            self._see_to(watched, ears, now, slowest)
        self._listen(files, ears)
        return True

    def _see_to(self, watched: _Watched, ears: Ears | None, now: int, slowest: int) -> None:
        if ears is not None and watched.number is None and watched.file:
            try:
                watched.number = ears.listen(os.path.dirname(watched.file))
            except OSError:
                slowest = _GLANCE_MS
        self._ring(watched, now, has_changed=now >= watched.due and watched.has_changed(now, slowest))

    def _ring(self, watched: _Watched, now: int, *, has_changed: bool) -> None:
        """For all who wait for a file that has changed; else for those who are new, or whose time is over."""
        rung: list[Listener] = []
        with self._lock:
            for listener in watched.listeners:
                is_over = listener.until is not None and now >= listener.until
                if has_changed or is_over or not listener.was_told:
                    rung.append(listener)
                listener.was_told = True
                listener.until = None if is_over else listener.until
        for listener in rung:
            listener.ring()

    def _listen(self, files: list[_Watched], ears: Ears | None) -> None:
        """Until something is heard or due."""
        now = self._clock.monotonic()
        with self._lock:
            ends = [each.until for watched in files for each in watched.listeners if each.until is not None]
        sleep = max(0, min([*(watched.due for watched in files), *ends]) - now)
        waiting = select.poll()
        waiting.register(self._ear, select.POLLIN)
        if ears is not None:
            waiting.register(ears.descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in waiting.poll(sleep)}
        if self._ear.fileno() in ready:
            self._ear.recv(4_096)
        if ears is None or ears.descriptor not in ready:
            return
        now, heard = self._clock.monotonic(), ears.heard()
        for watched in files:
            if watched.number in heard or -1 in heard:
                watched.stir(now)
        if all(watched.due > now for watched in files):  # much is written: it is not listened to every time
            self._clock.pause(min(_REST_MS / 2, min(watched.due for watched in files) - now))

    def _part_with(self, watched: _Watched, ears: Ears | None) -> None:
        watched.close()
        others = {each.number for each in list(self._files.values())}
        if ears is not None and watched.number is not None and watched.number not in others:
            ears.forget(watched.number)


class Watching:
    """The conversation of one who waits, over the socket: it says nothing, and hears a line for each change."""

    def __init__(self, host: Host, connection: socket.socket, pid: int, asked: dict[str, Any]) -> None:
        if not platforms.shares_our_view(pid):
            raise Refusal("STORAGE_CONFIGURATION", "You see other files than the host does; look yourself.")
        self._watch = host.watch
        self._file = file_of(host, asked.get("args", {}).get("room"))
        self._out = connection.dup()
        self._listener = Listener(self._say)
        self._watch.add(self._file, self._listener)

    def hear(self, line: bytes) -> None:
        raise Spoken(f"{len(line)} bytes that nobody asked for")

    def end(self, close: Callable[[], object]) -> None:
        close()

    def say_goodbye(self) -> None:
        """It sees the end of the connection, and looks for another host."""
        try:
            self._out.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        self._watch.remove(self._file, self._listener)
        self._out.close()

    def _say(self) -> None:
        try:
            self._out.send(_CHANGED, socket.MSG_DONTWAIT)
        except OSError:
            pass  # it has not read the last one yet, or is gone


_CHANGED = host_wire.answer({"changed": 1})


def file_in(rooms: Rooms, folder: str) -> str:
    """The file of the room of a folder; empty for a room on a server."""
    engine = rooms.of_folder(folder).engine
    return engine.path if engine.name == "sqlite" else ""


def file_of(host: Host, room: Any) -> str:
    """The file of a room of this home. Refuses where there is none to watch."""
    if room == MACHINE:
        return os.path.join(host.settings.home, "machine.db")
    if not isinstance(room, str) or not clock.is_id(room):
        raise Refusal("INVALID_ARGUMENT", "args.room must be the id of a room.")
    file = os.path.join(host.settings.home, "rooms", room, "room.db")
    if not os.path.exists(file):
        raise Refusal("PROJECT_NOT_FOUND", "This room is not in a file of this home; look yourself.")
    return file
