"""What held files looked like when their holders left them, so that a foreign change is noticed and can be undone.

A room knows of each such file who left it, its fingerprint and what the disk said of it; the content lies in the home,
named by its digest, for the owner alone. Taking one never blocks a call: a full disk costs the copy and nothing else.
Files are read outside of transactions, rows are written inside.
"""

from __future__ import annotations

import os
import stat

from clearway import paths, platforms, repository, wire
from clearway.db import statements
from clearway.limits import (
    COMPANY_MS,
    SNAPSHOT_BYTES_MAX,
    SNAPSHOTS_BYTES_MAX,
    SNAPSHOTS_KEPT_MS,
    SNAPSHOTS_PER_CLAIM_BYTES_MAX,
    WATCHED_MAX,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any

    from clearway.db import Row, Statement
    from clearway.db.tx import Tx
    from clearway.repository import Place

    Seen = tuple[int, int, int]

SQL = statements(__file__)
ABSENT: Seen = (0, 0, 0)  # size, time of change in ns, inode
CONTENT, PRINT, NO_FILE = "content", "print", "absent"
_INODE_MAX = 2**63 - 1
_SAMPLE = 65_536
_LOOKS = 3
_OLDEST_READ = 500
_STRAY_MS = 3_600_000  # content without a row may have been written a moment ago, and its row not yet
_ROOM_LEFT = 16 * 1_048_576  # what is made free beyond what is needed, so that the next file need not look again


class Copy:
    """One file as it was at one moment: `seen` is what the disk said of it, `kept` whether its content can be had."""

    __slots__ = ("digest", "kept", "mode", "seen")

    def __init__(self, seen: Seen, mode: int, digest: str, kept: str) -> None:
        self.seen = seen
        self.mode = mode
        self.digest = digest
        self.kept = kept


class Taken:
    """A copy and where it belongs."""

    __slots__ = ("checkout", "copy", "path", "shown")

    def __init__(self, checkout: str, path: str, shown: str, copy: Copy) -> None:
        self.checkout = checkout
        self.path = path
        self.shown = shown
        self.copy = copy


class Store:
    """The contents that belong to one room, in its folder of the home. lost: hears that one could not be written."""

    __slots__ = ("_folder", "_lost", "_wall")

    def __init__(self, home: str, project: str, wall: int, lost: Callable[[], None] | None = None) -> None:
        self._folder = os.path.join(home, "rooms", project, "snapshots")
        self._wall = wall
        self._lost = lost

    def keep(self, path: str, *, store: bool = True) -> Copy | None:
        """A copy of the file at an absolute path; None of what is no plain file. store: False for its print alone."""
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except (FileNotFoundError, NotADirectoryError):
            return Copy(ABSENT, 0, "", NO_FILE)
        except (OSError, ValueError):  # a link, a folder that is not ours, no permission
            return None
        try:
            return self._read(descriptor, store)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int, store: bool) -> Copy | None:
        facts = os.fstat(descriptor)
        data = b""
        for _ in range(_LOOKS):  # somebody may be writing it
            if not stat.S_ISREG(facts.st_mode):
                return None
            if facts.st_size > SNAPSHOT_BYTES_MAX:
                return Copy(_seen(facts), facts.st_mode & 0o7777, _print(descriptor, facts.st_size), PRINT)
            data, before = _all(descriptor), facts
            facts = os.fstat(descriptor)
            if _seen(before) == _seen(facts):
                break
        digest = platforms.digest(data)
        kept = CONTENT if store and self._put(digest, data) else PRINT
        return Copy(_seen(facts), facts.st_mode & 0o7777, digest, kept)

    def content(self, digest: str) -> bytes | None:
        """What was kept under a digest, or None when it is not there any more or not what it was."""
        try:
            descriptor = os.open(os.path.join(self._folder, digest), os.O_RDONLY)
        except OSError:
            return None
        try:
            data = _all(descriptor)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return data if platforms.digest(data) == digest else None

    def put_aside(self, path: str) -> str:
        """Keep what is about to be written over; the file in which it is, or an empty text."""
        copy = self.keep(path)
        return os.path.join(self._folder, copy.digest) if copy is not None and copy.kept == CONTENT else ""

    def files(self) -> list[tuple[str, int, int]]:
        """Name, size and age (wall ms) of all that is kept."""
        found: list[tuple[str, int, int]] = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    facts = entry.stat(follow_symlinks=False)
                    found.append((entry.name, facts.st_size, self._wall - facts.st_mtime_ns // 1_000_000))
        except OSError:
            pass
        return found

    def drop(self, name: str) -> None:
        try:
            os.unlink(os.path.join(self._folder, name))
        except OSError:
            pass

    def _put(self, digest: str, data: bytes) -> bool:
        file = os.path.join(self._folder, digest)
        times = (self._wall * 1_000_000, self._wall * 1_000_000)
        try:
            os.utime(file, ns=times)
            return True
        except OSError:
            pass
        aside = platforms.aside(file)
        try:
            descriptor = self._open(aside)
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(descriptor, left) :]
            finally:
                os.close(descriptor)
            os.utime(aside, ns=times)
            os.replace(aside, file)
            return True
        except OSError:
            if self._lost is not None:
                self._lost()
            self.drop(os.path.basename(aside))
            return False

    def _open(self, aside: str) -> int:
        how = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
        try:
            return os.open(aside, how, 0o600)
        except FileNotFoundError:
            platforms.make_private(self._folder)
            return os.open(aside, how, 0o600)


# --- what the disk says -------------------------------------------------------------------------------------------


def look(path: str) -> Seen:
    """What the disk says of a file now; ABSENT if there is none."""
    try:
        return _seen(os.lstat(path))
    except (OSError, ValueError):
        return ABSENT


def was(row: Row) -> Seen:
    """What the disk said of it when its holder left it."""
    return row.size, row.modified, row.inode


def below(folder: str, shown: str, count: int) -> list[str]:
    """Files below a folder, as their checkout spells them; of the nearest so many. What nobody edits is left out."""
    found: list[str] = []
    waiting = [(folder, shown)]
    while waiting and len(found) < count:
        here, name = waiting.pop(0)
        try:
            with os.scandir(here) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            inside = entry.name if name == paths.ROOT else f"{name}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _NEVER:
                    waiting.append((entry.path, inside))
            elif entry.is_file(follow_symlinks=False) and len(found) < count:
                found.append(inside)
    return found


_NEVER = frozenset({".git", "node_modules", "__pycache__", ".venv", "dist", "build", "target"})


def copies(store: Store, places: list[Place]) -> list[Taken]:
    """What these places hold now."""
    taken: list[Taken] = []
    for place in places[:WATCHED_MAX]:
        taken += of_lease(store, place.checkout, place.root, place.key, place.shown)
    return taken


def of_lease(store: Store, checkout: str, root: str, key: str, shown: str) -> list[Taken]:
    """The file that is leased, or the files below the folder that is, as many as one claim may copy."""
    path = os.path.join(root, shown)
    if not os.path.isdir(path):
        copy = store.keep(path)
        return [] if copy is None else [Taken(checkout, key, shown, copy)]
    taken: list[Taken] = []
    size = 0
    for inside in below(path, shown, WATCHED_MAX):
        copy = store.keep(os.path.join(root, inside))
        if copy is None:
            continue
        taken.append(Taken(checkout, repository.key_of(inside, root), inside, copy))
        size += copy.seen[0]
        if size > SNAPSHOTS_PER_CLAIM_BYTES_MAX:
            break
    return taken


def packed(rows: list[Row], root: str) -> list[list[Any]]:
    """What the disk says of these files now, as it is kept until the call is over."""
    found: list[list[Any]] = []
    prefix = root.rstrip(os.sep) + os.sep
    for row in rows:
        try:
            facts = os.lstat(prefix + row.shown)
        except (OSError, ValueError):
            found.append([row.path, *ABSENT])
        else:
            found.append([row.path, facts.st_size, facts.st_mtime_ns, facts.st_ino & _INODE_MAX])
    return found


def unpacked(listed: Any) -> dict[str, Seen]:
    found: dict[str, Seen] = {}
    for each in listed if wire.is_list(listed) else []:
        if wire.is_list(each) and len(each) == 4 and isinstance(each[0], str):
            size, modified, inode = each[1:]
            if isinstance(size, int) and isinstance(modified, int) and isinstance(inode, int):
                found[each[0]] = (size, modified, inode)
    return found


# --- rows ---------------------------------------------------------------------------------------------------------


def write(tx: Tx, taken: Iterable[Taken], *, holder: Row | None = None, leased: Iterable[tuple[str, str]] = ()) -> None:
    """These copies are how their holder left the files: the caller, or whose lease it works under. holder: somebody
    else, for whom the caller looks. leased: leases (checkout, path) that were looked at, whatever was found there."""
    looked_at: dict[str, list[str]] = {}
    for checkout, path in leased:
        looked_at.setdefault(checkout, []).append(path)
    for each in taken:
        looked_at.setdefault(each.checkout, []).append(each.path)
        found = holder if holder is not None else _lease_of(tx, each)
        known = tx.one(SQL.find, checkout=each.checkout, path=each.path)
        where: dict[str, Any] = {"checkout": each.checkout, "path": each.path}
        if known is not None and known.told is not None and known.noticed == each.copy.seen[1]:
            tx.change(SQL.withdraw, session=known.session, event=known.told)  # it was the holder's own doing
        tx.change(SQL.forget_leaks, **where)
        size, modified, inode = each.copy.seen
        tx.change(
            SQL.put,
            shown=each.shown,
            session=tx.caller.key if found is None else found.session,
            agent=tx.caller.agent if found is None else found.agent,
            named=int(tx.caller.named) if found is None else found.named,
            live=int(found is not None),
            kept=each.copy.kept,
            digest=each.copy.digest,
            mode=each.copy.mode,
            size=size,
            modified=modified,
            inode=inode,
            now=tx.now,
            wall=tx.wall,
            **where,
        )
    for checkout, keys in looked_at.items():
        tx.change(SQL.looked_at, checkout=checkout, paths=wire.dumps(keys))


def _lease_of(tx: Tx, taken: Taken) -> Row | None:
    return tx.one(
        SQL.lease_of,
        checkout=taken.checkout,
        above=wire.dumps(paths.above(taken.path)),
        session=tx.caller.key,
        agent=tx.caller.agent,
    )


def foreign(tx: Tx, checkout: str, folder: str) -> list[Row]:
    """What others hold here and was copied, the nearest to a folder (its key) first; at most WATCHED_MAX."""
    return _nearest(tx, SQL.foreign_within, checkout, folder)


def foreign_names(tx: Tx, checkout: str, folder: str) -> list[Row]:
    """The same, with nothing but the names."""
    return _nearest(tx, SQL.foreign_names_within, checkout, folder)


def _nearest(tx: Tx, statement: Statement, checkout: str, folder: str) -> list[Row]:
    found: dict[str, Row] = {}
    who = {"session": tx.caller.key, "agent": tx.caller.agent, "named": int(tx.caller.named)}
    for around in paths.above(folder):
        low, high = paths.below(around)
        limit = len(found) + WATCHED_MAX  # those that are known already come again
        rows = tx.all(statement, checkout=checkout, below_from=low, below_to=high, limit=limit, **who)
        found |= {row.path: row for row in rows if row.path not in found}
        if len(found) >= WATCHED_MAX:
            break
    return [*found.values()][:WATCHED_MAX]


def at(tx: Tx, checkout: str, keys: Collection[str]) -> list[Row]:
    """The snapshots of these very paths."""
    return tx.all(SQL.at, checkout=checkout, paths=wire.dumps([*keys])) if keys else []


def own(tx: Tx, checkout: str) -> list[Row]:
    """The snapshots of what the caller holds here."""
    return tx.all(SQL.own, session=tx.caller.key, checkout=checkout, limit=WATCHED_MAX)


def own_leases(tx: Tx, checkout: str) -> list[Row]:
    return tx.all(SQL.own_leases, session=tx.caller.key, checkout=checkout, limit=WATCHED_MAX)


def unwatched(tx: Tx, checkout: str, limit: int = WATCHED_MAX) -> list[Row]:
    """What others hold here and nobody has looked at."""
    return tx.all(SQL.unwatched, session=tx.caller.key, checkout=checkout, limit=limit)


def has_company(tx: Tx) -> bool:
    """Whether another session lives on this machine, so that there is anybody to mind."""
    if tx.beats is not None:  # one that has only asked so far is in no row
        return tx.beats.others(tx.caller.key, tx.now - COMPANY_MS)
    found = tx.one(SQL.others, session=tx.caller.key, host=tx.caller.host, since=tx.now - COMPANY_MS)
    return found is not None


def prune(tx: Tx, store: Store) -> None:
    """Part with what is old, and with the oldest where there is too much."""
    tx.change(SQL.forget_old, before=tx.now - SNAPSHOTS_KEPT_MS)
    tx.change(SQL.forget_old_leaks, before=tx.now - SNAPSHOTS_KEPT_MS)
    files = store.files()
    referred = {row.digest for row in tx.all(SQL.referred)}
    left = {name: size for name, size, age in files if name in referred or 0 <= age < _STRAY_MS}
    for name, _, _ in files:
        if name not in left:
            store.drop(name)
    total = sum(left.values())
    if total <= SNAPSHOTS_BYTES_MAX:
        return
    for row in tx.all(SQL.oldest, limit=_OLDEST_READ):
        if total <= SNAPSHOTS_BYTES_MAX - _ROOM_LEFT:
            return
        tx.change(SQL.only_print, digest=row.digest)
        total -= left.pop(row.digest, 0)
        store.drop(row.digest)


def is_time_to_prune(digest: str) -> bool:
    """One content in sixteen: so the bound is kept without counting each time."""
    return digest[:1] == "0"


# --- reading ------------------------------------------------------------------------------------------------------


def _seen(facts: os.stat_result) -> Seen:
    return facts.st_size, facts.st_mtime_ns, facts.st_ino & _INODE_MAX


def _all(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts: list[bytes] = []
    size = 0
    while size <= SNAPSHOT_BYTES_MAX:
        part = os.read(descriptor, SNAPSHOT_BYTES_MAX + 1)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _print(descriptor: int, size: int) -> str:
    """Tells large files apart by their length, beginning and end, without reading all of them."""
    parts = [str(size).encode()]
    for place in (0, max(0, size - _SAMPLE)):
        os.lseek(descriptor, place, os.SEEK_SET)
        parts.append(os.read(descriptor, _SAMPLE))
    return "~" + platforms.digest(b"|".join(parts))
