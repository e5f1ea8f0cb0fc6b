"""Calls that are being made: a small file each, from the question before a call to the word after it.

A client that runs a long command says nothing meanwhile; the file says for it that it is at work (lapse.py: its leases
do not lapse while the process of the client lives, but not for longer than limits.OPEN_CALL_HOLDS_MS). It costs no
database write. A call without an id of its client's is known by what it is, and equal ones are counted. Beside them
stands, for the moment between a hook and our own server, which session makes a call of our tools.
"""

from __future__ import annotations

import os

from clearway import platforms, wire
from clearway.beats import file_name
from clearway.limits import JOINS_KEPT_MS, OPEN_CALLS_READ_MAX, SESSION_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from clearway.clock import Clock

_BYTES_MAX = 16_384
_WHOLE_BYTES_MAX = 2_097_152  # with what the disk said of WATCHED_MAX files
_COUNT_MAX = 64
_NAME_MAX = 100  # of a thread and of a call, which share a file name
_MODULUS = (1 << 89) - 1


class OpenCall:
    """One call: its `name` is unique in its session; since when it runs (monotonic ms of `boot`, and wall ms); the
    `rooms` in which it holds what it started; the client's `task` if it goes on in the background. `acts`: it may write
    by itself, which a subagent's call does not. `watched`: what the disk said of others' files when it began."""

    __slots__ = ("acts", "at", "boot", "name", "rooms", "task", "wall", "watched")

    def __init__(self, name: str, boot: str, at: int, wall: int, rooms: list[str], task: str = "") -> None:
        self.name = name
        self.boot = boot
        self.at = at
        self.wall = wall
        self.rooms = rooms
        self.task = task
        self.acts = True
        self.watched: dict[str, Any] | None = None


class OpenCalls:
    """The open calls of all sessions whose clients run on this machine, in one folder."""

    __slots__ = ("_clock", "_folder", "_joins")

    def __init__(self, home: str, clock: Clock) -> None:
        self._folder = os.path.join(home, "run", "open")
        self._joins = os.path.join(home, "run", "calls")
        self._clock = clock

    # --- one call -----------------------------------------------------------------------------------------------

    def begin(self, session: str, thread: str, call: str, given: str, *, acts: bool = True) -> OpenCall:
        """A call begins. call: the client's id for it, or empty; given: what is called, by which it is known then.

        Where no file can be written the call is made all the same, and holds nothing."""
        made = OpenCall("", self._clock.boot(), self._clock.monotonic(), self._clock.wall(), [])
        made.acts = acts
        if call:
            made.name = _of_thread(thread) + file_name(call, _NAME_MAX)
            self._write(session, made, os.O_CREAT)
            return made
        for count in range(_COUNT_MAX):
            made.name = f"{_of_thread(thread)}~{_digest(given)}~{count:02}"
            if self._write(session, made, os.O_CREAT | os.O_EXCL):
                break
        return made

    def note(self, session: str, call: OpenCall) -> None:
        """Remember what has become known of an open call since it began."""
        self._write(session, call, 0)

    def end(self, session: str, thread: str, call: str, given: str) -> OpenCall | None:
        """A call has ended; what was known of it. None when it was not open."""
        if call:
            return self._take(session, _of_thread(thread) + file_name(call, _NAME_MAX))
        known = f"{_of_thread(thread)}~{_digest(given)}~"
        names = [name for name in self._names(session) if name.startswith(known)]
        return self._take(session, max(names)) if names else None

    def find(self, session: str, thread: str, call: str, given: str) -> OpenCall | None:
        """An open call, left as it is."""
        known = _of_thread(thread) + (file_name(call, _NAME_MAX) if call else f"~{_digest(given)}~")
        names = [name for name in self._names(session) if name == known or (not call and name.startswith(known))]
        return self._read(session, max(names), whole=True) if names else None

    # --- those of a session or thread ---------------------------------------------------------------------------

    def newest(self, session: str, *, acting: bool = False) -> OpenCall | None:
        """The one that began last in this boot of the machine. acting: of those that may write by themselves."""
        boot = self._clock.boot()
        found = [call for call in self._all(session) if call.boot == boot and (call.acts or not acting)]
        return max(found, key=lambda call: call.at, default=None)

    def close(self, session: str, thread: str | None, running: Collection[str] | None = None) -> list[OpenCall]:
        """A thread (None: the whole session) has come to a point at which nothing of it is being called any more.

        running: the client's names for what still goes on in the background; None if the client does not say, then
        whatever went there is taken to go on. The calls that are over."""
        over: list[OpenCall] = []
        for call in self._all(session):
            here = thread is None or call.name.startswith(_of_thread(thread))
            if call.task and running is not None:
                ended = call.task not in running
            else:
                ended = here and not call.task
            taken = self._take(session, call.name) if ended else None
            if taken is not None:
                over.append(taken)
        return over

    def background(self, session: str) -> list[str]:
        """The names of the calls that go on in the background."""
        return [call.name for call in self._all(session) if call.task]

    def forget(self, session: str) -> list[OpenCall]:
        """The session is over, and all its calls; which."""
        taken = [self._take(session, name) for name in self._names(session)]
        over = [call for call in taken if call is not None]
        try:
            os.rmdir(self._of(session))
        except OSError:
            pass
        return over

    # --- which session calls our own tools ------------------------------------------------------------------------

    def announce(self, call: str, session: str, thread: str, cwd: str) -> None:
        """The session is about to call a tool of ours, over a connection that does not say whose it is."""
        said = {"session": session, "thread": thread, "cwd": cwd, "at": self._clock.monotonic()}
        self._store(self._joins, file_name(call, _NAME_MAX), wire.dumps(said), os.O_CREAT)

    def announced(self, call: str) -> tuple[str, str, str] | None:
        """The session, thread and folder of the call with that id; None if no hook has announced it."""
        said = _object(_text(os.path.join(self._joins, file_name(call, _NAME_MAX))))
        session, thread, cwd = (said.get(name) for name in ("session", "thread", "cwd"))
        if not isinstance(session, str) or not isinstance(thread, str) or not isinstance(cwd, str):
            return None
        return (session, thread, cwd) if 0 < len(session) <= SESSION_CHARS_MAX else None

    def done(self, call: str) -> None:
        """The call of our own tool is over."""
        _unlink(os.path.join(self._joins, file_name(call, _NAME_MAX)))

    def sweep(self) -> None:
        """Drop what was announced long ago and never called: a client that was killed in between."""
        for name in _listed(self._joins):
            file = os.path.join(self._joins, name)
            at = _object(_text(file)).get("at")
            if not isinstance(at, int) or not 0 <= self._clock.monotonic() - at < JOINS_KEPT_MS:
                _unlink(file)

    # --- files ----------------------------------------------------------------------------------------------------

    def _of(self, session: str) -> str:
        return os.path.join(self._folder, file_name(session))

    def _names(self, session: str) -> list[str]:
        return _listed(self._of(session))[:OPEN_CALLS_READ_MAX]

    def _all(self, session: str) -> list[OpenCall]:
        found = (self._read(session, name) for name in self._names(session))
        return [call for call in found if call is not None]

    def _read(self, session: str, name: str, *, whole: bool = False) -> OpenCall | None:
        raw = _text(os.path.join(self._of(session), name), _WHOLE_BYTES_MAX if whole else _BYTES_MAX)
        first, _, second = raw.partition(b"\n")
        said = _object(first)
        boot, at, wall, rooms, task = (said.get(key) for key in ("boot", "at", "wall", "rooms", "task"))
        if not isinstance(boot, str) or not isinstance(at, int) or not isinstance(wall, int):
            return None
        listed = [room for room in rooms if isinstance(room, str)] if wire.is_list(rooms) else []
        call = OpenCall(name, boot, at, wall, listed, task if isinstance(task, str) else "")
        call.acts = said.get("acts") is not False
        call.watched = _object(second) if whole and second else None
        return call

    def _take(self, session: str, name: str) -> OpenCall | None:
        call = self._read(session, name, whole=True)
        _unlink(os.path.join(self._of(session), name))
        return call

    def _write(self, session: str, call: OpenCall, how: int) -> bool:
        return self._store(self._of(session), call.name, text(call), how)

    def _store(self, folder: str, name: str, said: str, how: int) -> bool:
        try:
            try:
                descriptor = os.open(os.path.join(folder, name), how | os.O_WRONLY, 0o600)
            except FileNotFoundError:
                if not how & os.O_CREAT:
                    return False
                platforms.make_private(folder)
                descriptor = os.open(os.path.join(folder, name), how | os.O_WRONLY, 0o600)
        except OSError:
            return False
        try:
            # Cut only after the write: some file systems bring a file that was emptied to the disk, and whoever empties
            # it once more waits for that.
            os.ftruncate(descriptor, os.write(descriptor, said.encode()))
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)


def text(call: OpenCall) -> str:
    """What the file of a call says. On a line of its own stands what is only read when the call is over."""
    said: dict[str, Any] = {"boot": call.boot, "at": call.at, "wall": call.wall, "rooms": call.rooms}
    said |= ({"task": call.task} if call.task else {}) | ({} if call.acts else {"acts": False})
    return wire.dumps(said) + ("" if call.watched is None else "\n" + wire.dumps(call.watched))


def _of_thread(thread: str) -> str:
    return file_name(thread, _NAME_MAX).replace(".", "%2e") + "."


def _digest(given: str) -> str:
    """Tells calls apart, equal ones excepted. Nothing depends on its being hard to forge."""
    return f"{int.from_bytes(given.encode('utf-8', 'surrogatepass'), 'big') % _MODULUS:x}"


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(file: str, longest: int = _BYTES_MAX) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(descriptor, longest)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _object(raw: bytes) -> dict[str, Any]:
    if not raw:  # most calls have no mark; to say what is wrong with nothing would load a package
        return {}
    try:
        said: Any = wire.loads(raw)
    except ValueError:
        return {}
    return said if wire.is_object(said) else {}


def _unlink(file: str) -> None:
    try:
        os.unlink(file)
    except (OSError, ValueError):
        pass
