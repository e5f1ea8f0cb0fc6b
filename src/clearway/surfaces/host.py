"""The resident host: one process for all rooms of one home, whom clients ask instead of opening rooms themselves.

It holds an operating system's lock that dies with it, so there is one at a time. It leaves when nobody has needed it
for a while, when its product or its home is exchanged under it, or when a newer version asks it to. Everything also
works without it, with the same answers: whoever is not answered in time sees to it himself.

One thread waits for all sockets and asks a room only what is answered at once (host_at_once.py); the others
(host_work.py) ask rooms whatever there is to ask, and wait for nobody's socket longer than a bound.
"""

from __future__ import annotations

import errno
import gc
import os
import selectors
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import clearway
from clearway import db, platforms
from clearway.clock import Clock
from clearway.config import Settings
from clearway.db.sqlite import SqliteEngine
from clearway.errors import Refusal
from clearway.guard import shellparse
from clearway.limits import (
    HOST_FIRST_WORD_MS,
    HOST_HAND_OVER_MS,
    HOST_IDLE_MS,
    HOST_LINE_BYTES_MAX,
    HOST_PEERS_MAX,
)
from clearway.surfaces import host_answers, host_wire
from clearway.surfaces.host_at_once import AtOnce
from clearway.surfaces.host_duties import Duties
from clearway.surfaces.host_figures import Counts
from clearway.surfaces.host_life import HeldLiveness
from clearway.surfaces.host_talk import Talk
from clearway.surfaces.host_together import Together
from clearway.surfaces.host_watch import Watch, Watching
from clearway.surfaces.host_wire import HookFrame, Spoken
from clearway.surfaces.host_work import Worker, Workers
from clearway.surfaces.http_door import Door

_READ_BYTES = 65_536  # more would be mapped anew for each word that is said
_TICK_SECONDS = 5.0
_LOOK_AROUND_MS = 1_000
_MOMENT_SECONDS = 0.01  # in which a question that waits should have its turn, or another worker
_BACKLOG = 256
_DESCRIPTORS = 8_192  # a client has two, and so has each room that a worker keeps open
_NO_ROOM_MS = 20
_LOCK_TRIES = 20


class Peer:
    """One connection: what has arrived of it and was not understood yet, and the conversation that it became."""

    __slots__ = ("asking", "connection", "got", "heard", "is_listened_to", "pid", "since", "talk")

    def __init__(self, connection: socket.socket, pid: int, since: int) -> None:
        self.connection = connection
        self.pid = pid
        self.since = since
        self.got = bytearray()
        self.asking = False  # it waits for an answer
        self.heard = False  # it has asked something
        self.is_listened_to = False
        self.talk: Talk | Watching | None = None


class Host:
    """The host of one home. `take_office` first; `serve` ends when it has left."""

    def __init__(
        self, settings: Settings, clock: Clock | None = None, say: Callable[[str], None] | None = None
    ) -> None:
        self.settings = settings
        self.clock = clock or Clock()
        self.liveness = HeldLiveness()
        self.say = say or _silent
        self.leaving = ""  # why
        self.stays = False  # a service does not leave when nobody needs it
        self.asked = 0
        self.failed = 0  # questions that were left to those who asked, since no room could be used here
        self.counted = Counts()
        self.tries = _LOCK_TRIES
        self.began = self.clock.monotonic()
        self._last = self._looked = self.began
        self.http: Door | None = None
        self._lock: int | None = None
        self._address = ""
        self._product = _product()
        self._peers: dict[int, Peer] = {}
        self._later: deque[Callable[[], object]] = deque()
        self._selector = selectors.DefaultSelector()
        self._listener: socket.socket | None = None
        self._ear, self._voice = socket.socketpair()
        self.workers = Workers(self.liveness, self._complain, self._wake)
        self.at_once = AtOnce(self, self.later)
        self.together = Together(self.workers.step_aside, self.workers.step_back, self.workers.submit)
        self.duties = Duties(self)
        self.watch = Watch(self._complain)
        self._thread = threading.get_ident()

    # --- office -------------------------------------------------------------------------------------------------

    def take_office(self) -> bool:
        """Become the host of this home. False if there is one already."""
        platforms.make_private(host_wire.folder(self.settings.home))
        self._lock = self._take_lock()
        if self._lock is None:
            return False
        os.ftruncate(self._lock, 0)
        os.write(self._lock, f"{os.getpid()}\n".encode())
        self._address = host_wire.chosen_address(self.settings.home, self.settings.environ)
        _remove(self._address)  # of a host that was killed: whoever holds the lock may
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            self._listener.bind(self._address)
        finally:
            os.umask(before)
        self._listener.listen(_BACKLOG)
        self.http = _door(self)
        if self.http is not None:
            self._selector.register(self.http.listener, selectors.EVENT_READ)
        self._listener.setblocking(False)
        for end in (self._ear, self._voice):
            end.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._ear, selectors.EVENT_READ)
        return True

    def _take_lock(self) -> int | None:
        """Somebody who waits for a host to be gone tries the lock for a moment: so it is asked for more than once."""
        for _ in range(self.tries):
            held = platforms.hold_alone(host_wire.lock_file(self.settings.home))
            if held is not None:
                return held
            self.clock.pause(5)
        return None

    def serve(self) -> None:
        """Answer until it is time to leave."""
        self._thread = threading.get_ident()
        SqliteEngine.together = self.together
        shellparse.remember()
        try:
            while not self.leaving:
                self._turn(_TICK_SECONDS)
                if self.clock.monotonic() - self._looked >= _LOOK_AROUND_MS:  # not at every word that is said
                    self.look_around()
            self._say_goodbye()
        finally:
            self.close()

    def leave(self, why: str) -> None:
        """Ask the host to leave. For any thread, and for a signal."""
        self.leaving = self.leaving or why
        self._wake()

    def later(self, act: Callable[[], object]) -> None:
        """Let the thread that waits for the sockets do something."""
        self._later.append(act)
        self._wake()

    def _wake(self) -> None:
        try:
            self._voice.send(b"!")
        except OSError:
            pass  # it has not slept since the last time

    def close(self) -> None:
        """Give back everything. For one that has not taken office, too."""
        if self._lock is not None:
            _remove(self._address)  # while the lock is still ours
        if self.http is not None:
            self.http.close()
        if self._listener is not None:
            self._listener.close()
        for peer in list(self._peers.values()):
            self._drop(peer)
        self.watch.close()
        shellparse.forget()
        if SqliteEngine.together is self.together:
            SqliteEngine.together = None
        self.at_once.close()
        self.workers.close()
        self.liveness.close()
        self._selector.close()
        for end in (self._ear, self._voice):
            end.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _say_goodbye(self) -> None:
        """Nobody new is let in; what was asked before is answered. A relay is told, and ends its side when it has heard
        all its answers."""
        _remove(self._address)
        assert self._listener is not None
        self._selector.unregister(self._listener)
        self._listener.close()
        self.watch.ring_all()  # whoever waits for news is told what there is
        for peer in list(self._peers.values()):
            if peer.talk is not None:
                peer.talk.say_goodbye()
            elif not peer.got and not peer.asking:
                self._drop(peer)
        deadline = self.clock.monotonic() + HOST_HAND_OVER_MS
        while (self._peers or self.workers.busy) and self.clock.monotonic() < deadline:
            self._turn(0.05)

    def look_around(self) -> None:
        """Once in a while: is there still a reason to be here?"""
        now = self._looked = self.clock.monotonic()
        for peer in list(self._peers.values()):
            if not peer.heard and now - peer.since > HOST_FIRST_WORD_MS:
                self._drop(peer)
            elif isinstance(peer.talk, Talk):
                peer.talk.look(now)
        if self._peers or self.workers.busy or (self.http is not None and self.http.active):
            self._last = now
        if now - self._last > HOST_IDLE_MS and not self.stays:
            self.leave("nobody needed it")
        elif _product() != self._product:
            self.leave("the product was exchanged")
        elif not os.path.exists(self._address):
            self.leave("its socket is gone")
        else:
            self.at_once.look()
            self.duties.look(now)

    # --- sockets ------------------------------------------------------------------------------------------------

    def _turn(self, seconds: float) -> None:
        """Wait for something to happen, and see to it."""
        crowded = self.workers.grow()
        ready = self._selector.select(_MOMENT_SECONDS if crowded else seconds)
        self.at_once.begin_round()
        for key, _ in ready:
            if key.fileobj is self._listener:
                self._let_in()
            elif key.fileobj is self._ear:
                self._hear_ourselves()
            elif self.http is not None and key.fileobj is self.http.listener:
                self._selector.unregister(self.http.listener)
                self.http.open()
            else:
                self._hear(key.data)

    def _hear_ourselves(self) -> None:
        try:
            self._ear.recv(4_096)
        except OSError:
            pass
        while self._later:
            self._later.popleft()()

    def _let_in(self) -> None:
        """One of them: whoever is behind it is seen at once as well, and most often there is nobody."""
        assert self._listener is not None
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):  # it waits until there are descriptors, and so do we
                self.clock.pause(_NO_ROOM_MS)
            return  # else it has left already
        self._greet(connection)

    def _greet(self, connection: socket.socket) -> None:
        try:
            uid, pid = platforms.peer(connection)
        except OSError:
            uid, pid = -1, 0
        if uid != os.getuid() or len(self._peers) >= HOST_PEERS_MAX:
            connection.close()
            self.counted.turn_away()
            return
        connection.setblocking(False)
        peer = Peer(connection, pid, self.clock.monotonic())
        number = connection.fileno()
        self._peers[number] = peer
        self._last = peer.since
        self._hear(peer)  # most have spoken by now, and need not be listened to
        if self._peers.get(number) is peer and not peer.asking and not peer.is_listened_to:
            self._listen(peer)

    def _listen(self, peer: Peer) -> None:
        self._selector.register(peer.connection, selectors.EVENT_READ, peer)
        peer.is_listened_to = True

    def _listen_no_more(self, peer: Peer) -> None:
        if peer.is_listened_to:
            peer.is_listened_to = False
            self._selector.unregister(peer.connection)

    def _hear(self, peer: Peer) -> None:
        try:
            part = peer.connection.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            if peer.talk is None:
                self._drop(peer)
            else:
                self._listen_no_more(peer)
                peer.talk.end(lambda: self._drop(peer))
            return
        peer.got += part
        try:
            self._understand(peer)
        except Spoken:
            self._drop(peer)

    def _understand(self, peer: Peer) -> None:
        """See what has arrived: a hook's frame, a request, or lines of a conversation."""
        got = peer.got
        if peer.talk is None and got.startswith(b"h"):
            frame = host_wire.hook_frame(got)
            if frame is not None:
                self._forget(peer)
                self.asked += 1
                self._hook(peer, frame)
            return
        if peer.talk is None and got and not got.startswith(b"{"):
            raise Spoken("no request")
        while (end := got.find(b"\n")) >= 0:
            line = bytes(got[: end + 1])
            del got[: end + 1]
            if peer.talk is None:
                self._request(peer, line)
                return
            peer.talk.hear(line)
        if len(got) > HOST_LINE_BYTES_MAX:
            raise Spoken("too long")

    def _hook(self, peer: Peer, frame: HookFrame) -> None:
        """Most ask for nothing but a silent allow, which needs no thread of its own."""
        looked = host_answers.looked_at_once(self, peer.connection, peer.pid, frame)
        if looked is not None:
            submit = self.workers.submit
            submit(lambda worker: host_answers.hook(worker, self, peer.connection, peer.pid, frame, looked=looked))

    def _request(self, peer: Peer, line: bytes) -> None:
        """One request at a time: the peer is not listened to until it has its answer."""
        peer.heard = peer.asking = True
        self.asked += 1
        self._listen_no_more(peer)
        self.workers.submit(lambda worker: self._answer(worker, peer, line))

    def _answer(self, worker: Worker, peer: Peer, line: bytes) -> None:
        """In a worker's thread."""
        try:
            talk = host_answers.request(worker, self, peer.connection, peer.pid, line)
        except OSError:
            self.later(lambda: self._drop(peer))
        else:
            self.later(lambda: self._go_on(peer, talk))

    def _go_on(self, peer: Peer, talk: Talk | Watching | None) -> None:
        """The peer has its answer; it may ask again, or it has begun a conversation."""
        if self.leaving and talk is None:
            self._drop(peer)
            return
        peer.connection.setblocking(False)
        peer.asking = False
        peer.talk = talk
        peer.since = self.clock.monotonic()
        self._listen(peer)
        if self.leaving and talk is not None:
            talk.say_goodbye()
        try:
            self._understand(peer)
        except Spoken:
            self._drop(peer)

    def _forget(self, peer: Peer) -> None:
        """Somebody else has this connection now."""
        self._listen_no_more(peer)
        self._peers.pop(peer.connection.fileno(), None)

    def _drop(self, peer: Peer) -> None:
        self._forget(peer)
        if peer.talk is not None:
            peer.talk.close()
        peer.connection.close()

    # --- what it says of itself ---------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "version": clearway.__version__,
            "home": self.settings.home,
            "seconds": (self.clock.monotonic() - self.began) // 1_000,
            "clients": sum(1 for peer in list(self._peers.values()) if isinstance(peer.talk, Talk)),
            "asked": self.asked,
            "failed": self.failed,
            **({} if self.http is None else {"http": self.http.address}),
        }

    @property
    def connections(self) -> int:
        """How many are connected to the socket."""
        return len(self._peers)

    def needed(self) -> None:
        """Somebody has asked over HTTP, in whichever thread."""
        self._last = self.clock.monotonic()

    def _complain(self, error: BaseException) -> None:
        """Where a defect lies. Its text may hold what callers keep secret: it is not written down."""
        import traceback

        self.counted.defect()
        place = "".join(traceback.format_tb(error.__traceback__)[-6:])
        self.say(f"a defect: {type(error).__name__}\n{place}")


def _door(host: Host) -> Door | None:
    """The loopback listener; a machine that has none left to give does without."""
    try:
        return Door(host)
    except OSError as error:
        host.say(f"no HTTP: {error.strerror}")
        return None


def _product() -> tuple[int, int, int]:
    """What tells this product from one that was put in its place."""
    try:
        facts = os.stat(clearway.__file__)
    except OSError:
        return 0, 0, 0
    return facts.st_ino, facts.st_mtime_ns, facts.st_size


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _silent(_: str) -> None:
    """Nobody keeps a log."""


def run(settings: Settings, say: Callable[[str], None], *, stay: bool = False) -> bool:
    """Be the host in this process until it is time to leave. False if there is one already. stay: also while nobody
    needs it, as a service does."""
    import signal

    host = Host(settings, say=say)
    host.stays = stay
    if not host.take_office():
        return False

    def leave(_number: int, _frame: object) -> None:
        host.leave("it was told to")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, leave)
    platforms.allow_descriptors(_DESCRIPTORS)
    say(f"host {os.getpid()} of {settings.home}, version {clearway.__version__}")
    db.read_all()
    gc.freeze()  # what is loaded by now stays, and need not be looked through again and again
    host.serve()
    say(f"host {os.getpid()} left: {host.leaving}")
    return True


def main() -> None:
    """The detached process (host_start.py): stderr is the log."""
    from clearway import config
    from clearway.surfaces.asking import mention

    try:
        run(config.settings(), mention)
    except Refusal as refusal:
        mention(f"{refusal.code}: {refusal.message}")
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
