"""Hearing from the system that something in a folder was written. Linux only; elsewhere whoever watches has to look.

What is heard is a beginning: a room writes its log first, and only then says to its readers that the write stands.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from typing import Any

_MODIFIED, _MOVED_HERE, _CREATED = 0x2, 0x80, 0x100
_HEAD = struct.Struct("iIII")


class Ears:
    """Folders that are listened to. For one thread."""

    def __init__(self) -> None:
        """Raises OSError where the system has no ears, or none left to give."""
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "this system is looked at")
        import ctypes

        self._library: Any = ctypes.CDLL(None, use_errno=True)
        self._errno = ctypes.get_errno
        self.descriptor: int = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(self._errno(), "no ears are left")

    def listen(self, folder: str) -> int:
        """The number under which this folder is heard."""
        what = _MODIFIED | _MOVED_HERE | _CREATED
        number: int = self._library.inotify_add_watch(self.descriptor, os.fsencode(folder), what)
        if number < 0:
            raise OSError(self._errno(), "it cannot be listened to", folder)
        return number

    def forget(self, number: int) -> None:
        self._library.inotify_rm_watch(self.descriptor, number)

    def heard(self) -> set[int]:
        """The folders in which something was written since the last time; -1 among them if there was too much."""
        found: set[int] = set()
        try:
            said = os.read(self.descriptor, 65_536)
        except BlockingIOError:
            return found
        at = 0
        while at < len(said):
            number, _, _, length = _HEAD.unpack_from(said, at)
            found.add(number)
            at += _HEAD.size + length
        return found

    def close(self) -> None:
        os.close(self.descriptor)
