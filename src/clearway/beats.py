"""Signs of life that cost no database write: one empty file a session, modified at room time, accessed at wall time.

A hook runs on every tool call of every agent; a beat must not wake the disk or wait for a writer. Rooms on PostgreSQL
keep beats in the session's row instead (room.py).
"""

from __future__ import annotations

import os

from clearway import platforms
from clearway.limits import BEAT_EVERY_MS

_MS = 1_000_000
_NAME_MAX = 200
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=@")
_OTHERS_MAX = 64


class Beats:
    """The beats of one room's sessions, in one folder."""

    __slots__ = ("_folder", "_noted")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._noted: dict[str, int] = {}  # what this process wrote last: most beats need not look at the disk

    def note(self, session: str, now: int, wall: int) -> None:
        """Remember that `session` lived at `now` (room ms) and `wall` (wall ms, for the fast step, which does not know
        room time). Lost without harm when the disk is full or read-only."""
        if 0 <= now - self._noted.get(session, now + 1) < BEAT_EVERY_MS:
            return
        seen = self.last(session)
        if seen is not None and 0 <= now - seen < BEAT_EVERY_MS:
            return
        file = self._file(session)
        try:
            if seen is None:
                platforms.make_private(self._folder)
                os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
            os.utime(file, ns=(wall * _MS, now * _MS))
            self._noted[session] = now
        except OSError:
            pass

    def last(self, session: str) -> int | None:
        """When `session` last gave a sign of life (room ms), as far as its file knows."""
        try:
            return os.stat(self._file(session)).st_mtime_ns // _MS
        except (OSError, ValueError):
            return None

    def others(self, session: str, since: int) -> bool:
        """Whether another session gave a sign of life since then (room ms). Many are not looked at one by one."""
        own = file_name(session)
        try:
            names = os.listdir(self._folder)
            if len(names) > _OTHERS_MAX:
                return True
            return any(
                name != own and os.stat(os.path.join(self._folder, name)).st_mtime_ns >= since * _MS for name in names
            )
        except OSError:  # none yet, or one has just left
            return False

    def stir(self, session: str) -> None:
        """There is something to tell this session: its next hook is not to be answered by the fast step, which knows
        only that a beat is fresh. What the session holds by its last sign of life stays."""
        file = self._file(session)
        try:
            os.utime(file, ns=(0, os.stat(file).st_mtime_ns))
        except (OSError, ValueError):
            pass

    def forget(self, session: str) -> None:
        self._noted.pop(session, None)
        try:
            os.unlink(self._file(session))
        except (OSError, ValueError):
            pass

    def _file(self, session: str) -> str:
        return os.path.join(self._folder, file_name(session))


def rooms_with(folder: str, session: str) -> list[str]:
    """The rooms, by the names of their folders below `folder`, in which `session` has given signs of life."""
    try:
        rooms = sorted(os.listdir(folder))
    except OSError:
        return []
    return [room for room in rooms if os.path.exists(os.path.join(folder, room, file_name(session)))]


def file_name(text: str, longest: int = _NAME_MAX) -> str:
    """The name of the file that stands for a session, a thread or a call, whatever its client calls it."""
    if _PLAIN.issuperset(text) and text[:1] != "." and len(text) <= longest:
        return text
    name = "".join(
        letter if letter.isascii() and letter.isalnum() or letter in "-_.=@" else f"%{ord(letter):x}" for letter in text
    )
    if name[:1] == ".":  # neither hidden, nor this folder or the one above
        name = "%2e" + name[1:]
    if len(name) <= longest:
        return name
    import hashlib

    return name[: longest - 40] + "%%" + hashlib.sha256(name.encode()).hexdigest()[:38]
