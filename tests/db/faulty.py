"""A disk that fails on command: the n-th write, sync or truncation of any database file, in one of several ways.

It is an SQLite file system below everything of ours, so every commit point is reached. After a crash nothing is written
any more, whoever tries; after a loss of power what was not synced is gone as well.
"""

from __future__ import annotations

import errno
import os
from typing import Any

import apsw

FULL, BROKEN, CRASH, TORN, POWER = "full", "broken", "crash", "torn", "power"
KINDS = (FULL, BROKEN, CRASH, TORN, POWER)
NAME = "clearway-faulty"


class Disk(apsw.VFS):
    """Registered as the default file system while it is in use."""

    def __init__(self) -> None:
        super().__init__(NAME, "unix", True)
        self.kind = ""
        self.fails_at = 0
        self.count = 0
        self.is_dead = False
        self.stays = False  # it fails from then on, not once
        self._unsynced: dict[str, list[tuple[int, bytes, int]]] = {}

    def arm(self, kind: str, fails_at: int) -> None:
        self.kind, self.fails_at, self.count, self.is_dead, self.stays = kind, fails_at, 0, False, False
        self._unsynced = {}

    def disarm(self) -> None:
        """The machine is up again, with what reached the disk."""
        if self.kind == POWER and self.is_dead:
            self._lose_what_was_not_synced()
        self.arm("", 0)

    @property
    def has_failed(self) -> bool:
        return 0 < self.fails_at <= self.count

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self, name, flags)

    def step(self, file: _File | None, write: tuple[bytes, int] | None) -> None:
        """Before each change of a file: whether it fails, and how."""
        if self.is_dead:
            raise apsw.IOError("the machine is down")
        self.count += 1
        if self.count != self.fails_at and not (self.stays and self.has_failed):
            return
        if self.kind == FULL:
            raise apsw.FullError("no space left")
        if self.kind == BROKEN:
            raise apsw.IOError("the disk reports an error")
        self.is_dead = True
        if self.kind == TORN and write is not None and file is not None:
            data, offset = write
            file.write_through(data[: len(data) // 2], offset)
        raise apsw.IOError("the machine went down")

    def remember(self, path: str, offset: int, length: int) -> None:
        """What a write is about to change, until it is synced."""
        if self.kind != POWER or not path:  # a file without a name does not outlive its process
            return
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            self._unsynced.setdefault(path, []).append((offset, file.read(length), size))

    def synced(self, path: str) -> None:
        self._unsynced.pop(path, None)

    def sync_data(self, descriptor: int) -> None:
        """Stands for platforms.sync_data: a room syncs its log by itself, after SQLite has let it go."""
        try:
            self.step(None, None)
        except apsw.Error as error:
            raise OSError(errno.ENOSPC if isinstance(error, apsw.FullError) else errno.EIO, str(error)) from error
        os.fdatasync(descriptor)
        here = os.fstat(descriptor)
        for path in list(self._unsynced):
            if os.path.exists(path) and os.path.samestat(os.stat(path), here):
                self.synced(path)

    def _lose_what_was_not_synced(self) -> None:
        for path, writes in self._unsynced.items():
            if not os.path.exists(path):
                continue
            with open(path, "r+b") as file:
                for offset, before, size in reversed(writes):
                    file.seek(offset)
                    file.write(before)
                    file.truncate(size)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.step(self, (data, offset))
        self._disk.remember(self._path, offset, len(data))
        super().xWrite(data, offset)

    def write_through(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.step(self, None)
        super().xSync(flags)
        self._disk.synced(self._path)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.step(self, None)
        if os.path.exists(self._path):
            self._disk.remember(self._path, newsize, max(0, os.path.getsize(self._path) - newsize))
        super().xTruncate(newsize)
