"""Which repository, worktree and room a path belongs to, read from the disk without running git.

The room of a path is that of the repository that holds the path, not of the agent's current folder. All worktrees of a
repository share its common directory, and so their room. A checkout is one worktree on one host, known by an id that
is kept in that worktree's own git directory: a copied clone gets a new one, a bind mount of the same tree keeps it.
"""

from __future__ import annotations

import os
import stat

from clearway import paths, platforms
from clearway.config import POINTER, TEAM
from clearway.errors import Refusal
from clearway.limits import BRANCH_CHARS_MAX, HARD_LINK_LOOKS_MAX, PATH_CHARS_MAX
from clearway.untrusted import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.clock import Clock

CHECKOUT_FILE = "clearway-checkout"
WORKTREE_FILE = "clearway-worktree"  # where the worktree is, beside a git directory that does not tell it
MARKS = (CHECKOUT_FILE, WORKTREE_FILE)
_HEX = frozenset("0123456789abcdefABCDEF")
_UP_MAX = PATH_CHARS_MAX // 2  # folders above a path that are looked at: more it cannot have


class Repository:
    """One worktree: its root, its own git directory and the common one (both empty in a project without git)."""

    __slots__ = ("common", "git", "root")

    def __init__(self, root: str, git: str, common: str) -> None:
        self.root = root
        self.git = git
        self.common = common


class Place:
    """A path as a room knows it: the checkout that holds it, its key there, and how it is spelled."""

    __slots__ = ("absolute", "checkout", "file", "key", "repository", "root", "seats", "shown", "wide")

    def __init__(
        self,
        absolute: str,
        repository: Repository | None,
        checkout: str,
        key: str,
        shown: str,
        *,
        wide: bool = False,
        file: tuple[int, int] | None = None,
        seats: int = 1,
    ) -> None:
        self.absolute = absolute
        self.repository = repository  # None: outside of every repository, held in the machine room
        self.root = "/" if repository is None else repository.root
        self.checkout = checkout
        self.key = key
        self.shown = shown
        self.wide = wide  # the root, a home, or above the repository in which the caller works
        self.file = file  # (device, inode) of a file that has other names besides this one
        self.seats = seats  # how many sessions may hold this named resource at once


def absolute(raw: str, cwd: str, home: str) -> str:
    """The real absolute path: relative to `cwd`, `~` and file:// understood, symlinks of existing parents resolved."""
    if not raw or len(raw) > PATH_CHARS_MAX or "\0" in raw:
        raise _unreadable(raw, "is empty" if not raw else "has a NUL" if "\0" in raw else "is too long")
    try:
        raw.encode("utf-8")
        path = _spelled_out(raw, home)
        if not os.path.isabs(path):
            if not os.path.isabs(cwd):
                raise _unreadable(raw, "is relative, and the caller's folder is not known")
            path = os.path.join(cwd, path)
        found = os.path.realpath(path)
        found.encode("utf-8")
        try:
            if stat.S_ISLNK(os.lstat(found).st_mode):  # all links are followed, and here is one still
                raise _unreadable(raw, "is a loop of links")
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            pass  # a path that is not there yet, or not ours to look at, is still a path
        return found
    except (OSError, ValueError) as error:
        raise _unreadable(raw, _reason(error)) from error


def locate(raw: str, cwd: str, home: str, clock: Clock) -> Place:
    """Where a path that a caller wrote belongs. cwd: the caller's folder; home: what `~` means."""
    path = absolute(raw, cwd, home)
    repository = holding(path)
    wide = _is_wide(path, cwd, home)
    if repository is None:
        key = key_of(path, path if os.path.isdir(path) else os.path.dirname(path))
        return Place(path, None, f"host-{platforms.host_name()}", key, path, wide=wide, file=_many_named(path))
    shown = os.path.relpath(path, repository.root).replace(os.sep, "/")
    key = key_of(shown, repository.root)
    return Place(path, repository, checkout_id(repository, clock), key, shown, wide=wide, file=_many_named(path))


def named(key: str, seats: int) -> Place:
    """The place of a named resource: in no checkout and on no disk. It belongs to the room of the caller's folder."""
    return Place("", None, paths.RESOURCES, key, key, seats=seats)


def seen_from(folder: str, place: Place, shown: str) -> str:
    """How a path of the place's repository is named to one who works in `folder`: from the root of the repository where
    that is, and whole where that is another. shown: the path from the place's own root."""
    if place.checkout == paths.RESOURCES or place.repository is None:
        return shown
    here = holding(os.path.realpath(folder)) if os.path.isabs(folder) else None
    if here is not None and here.root == place.root:
        return shown
    whole = os.path.normpath(os.path.join(place.root, shown))
    inside = here is not None and whole.startswith(here.root.rstrip(os.sep) + os.sep)
    return os.path.relpath(whole, here.root) if here is not None and inside else whole


def linked_worktree(folder: str) -> str:
    """The root of the linked worktree in which a folder is; empty in a main one, and outside of any."""
    found = holding(os.path.realpath(folder)) if os.path.isabs(folder) else None
    return found.root if found is not None and found.git != found.common else ""


def branch(root: str) -> str:
    """The branch that a worktree is on, or the beginning of the commit; empty when it cannot be read."""
    found = _repository(root, os.path.join(root, ".git"))
    if found is None or not found.git:
        return ""
    try:
        head = _read_line(os.path.join(found.git, "HEAD"))
    except (OSError, ValueError):
        return ""
    return (head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:12])[:BRANCH_CHARS_MAX]


def under_another_name(file: tuple[int, int], held: list[str]) -> int | None:
    """Which of these paths is this very file, or a folder in which it has a name. The look into folders has a bound."""
    looks = HARD_LINK_LOOKS_MAX
    for place, path in enumerate(held):
        try:
            facts = os.stat(path)
        except (OSError, ValueError):
            continue
        if (facts.st_dev, facts.st_ino) == file:
            return place
        if os.path.isdir(path) and facts.st_dev == file[0]:
            found, looks = _is_below(path, file[1], looks)
            if found:
                return place
    return None


def _is_below(folder: str, inode: int, looks: int) -> tuple[bool, int]:
    """Whether a file has a name in a folder, and how many looks are left."""
    waiting = [folder]
    while waiting and looks > 0:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    looks -= 1
                    if entry.inode() == inode:
                        return True, looks
                    if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                        waiting.append(entry.path)
        except OSError:
            continue  # not ours to look into
    return False, looks


def key_of(shown: str, folder: str) -> str:
    """The key of a path from a checkout's root. folder: one that exists there, for its volume's ways with names."""
    return paths.key(shown, folds=platforms.ignores_case(folder), composes=platforms.MACOS)


def _many_named(path: str) -> tuple[int, int] | None:
    """The identity of a file that has several names (hard links), else None."""
    try:
        facts = os.lstat(path)
    except (OSError, ValueError):
        return None
    return (facts.st_dev, facts.st_ino) if facts.st_nlink > 1 and not os.path.isdir(path) else None


def _is_wide(path: str, cwd: str, home: str) -> bool:
    """The root, the caller's home or above it, or a folder above the repository in which the caller works."""
    if not os.path.isdir(path):
        return False
    if path == os.sep:
        return True
    homes = (home, os.path.realpath(home)) if home else ()
    if path in homes or any(each.startswith(path + os.sep) for each in homes):
        return True
    here = holding(os.path.realpath(cwd)) if os.path.isabs(cwd) else None
    return here is not None and here.root.startswith(path + os.sep)


def holding(path: str) -> Repository | None:
    """The worktree that holds `path`, or None. A submodule or nested clone is its own repository."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    for _ in range(_UP_MAX):
        git = os.path.join(folder, ".git")
        found = _repository(folder, git)
        if found is not None:
            return found
        upper = os.path.dirname(folder)
        if upper == folder:
            return None
        folder = upper
    return None


def looks_of(root: str) -> tuple[int, ...] | None:
    """What tells the repository at this folder from another, and from itself with another pointer. None where more has
    to be looked at: in a folder below, without a pointer, with a room on a server."""
    try:
        git, pointer = os.stat(os.path.join(root, ".git")), os.lstat(os.path.join(root, POINTER))
        if os.path.lexists(os.path.join(root, TEAM)):
            return None
    except (OSError, ValueError):
        return None
    written = (0, 0) if stat.S_ISDIR(git.st_mode) else (git.st_mtime_ns, git.st_size)
    named = pointer.st_dev, pointer.st_ino, pointer.st_size, pointer.st_mtime_ns, pointer.st_ctime_ns
    return git.st_dev, git.st_ino, *written, *named


def checkout_id(repository: Repository, clock: Clock) -> str:
    """The id of this worktree on this host. It is kept with the git directory's identity, so a copy is noticed; and it
    follows from that identity, so whoever cannot write it down gets the same."""
    place = repository.git or repository.root
    try:
        here = os.stat(place)
        identity = f"{here.st_dev}:{here.st_ino}"
    except OSError:
        return _id_of(place)
    if not repository.git:
        return _id_of(f"{place}|{identity}")
    file = os.path.join(place, CHECKOUT_FILE)
    try:
        known = _read_line(file).split(" ")
        if len(known) == 2 and known[0] and known[1] == identity:
            return known[0]
    except OSError:
        pass
    made = _id_of(f"{os.path.basename(place)}|{identity}")
    try:
        _write_down(file, f"{made} {identity}\n", clock)
        if repository.git == repository.common not in (repository.root, os.path.join(repository.root, ".git")):
            _write_down(os.path.join(place, WORKTREE_FILE), f"{repository.root}\n", clock)
    except OSError:
        pass  # it cannot be kept; should the directory move to another disk, it will have another id
    return made


def _id_of(what: str) -> str:
    return "X" + platforms.digest(f"{platforms.host_name()}|{what}".encode("utf-8", "surrogateescape"))[:25].upper()


def _write_down(file: str, text: str, clock: Clock) -> None:
    """All who come at once write the same."""
    aside = f"{file}.{clock.new_id()}"
    try:
        with open(aside, "x", encoding="utf-8", errors="surrogateescape") as opened:
            opened.write(text)
        os.replace(aside, file)
    except OSError:
        if os.path.lexists(aside):
            os.unlink(aside)
        raise


def _repository(root: str, git: str) -> Repository | None:
    try:
        if not os.path.lexists(git):
            return Repository(root, "", "") if os.path.lexists(os.path.join(root, POINTER)) else None
        if os.path.isdir(git):
            return Repository(root, git, git) if os.path.exists(os.path.join(git, "HEAD")) else None
        pointer = _read_small(git).rstrip("\r\n")  # a path may have a line break in it
        if not pointer.startswith("gitdir: ") or not pointer[8:].strip():
            return None
        own = os.path.realpath(os.path.join(root, pointer[8:]))
        shared = _read_small(os.path.join(own, "commondir")).rstrip("\r\n")
        common = os.path.realpath(os.path.join(own, shared)) if shared else own
        return Repository(root, own, common) if os.path.isdir(own) else None
    except (OSError, ValueError):  # a NUL, for one, is in no path
        return None


def _read_line(file: str) -> str:
    """The first line of a small file, empty when it is not there."""
    return _read_small(file).partition("\n")[0][: PATH_CHARS_MAX + 16].strip()


def _read_small(file: str) -> str:
    """A small file, empty when it is not there. Whoever opened a pipe would wait for its writer."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            return ""
        descriptor = os.open(file, os.O_RDONLY)  # a hook reads several, and `open` takes three times as long
        try:
            return os.read(descriptor, 4 * (PATH_CHARS_MAX + 16)).decode("utf-8", "surrogateescape")
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return ""
    except NotADirectoryError:
        return ""


def _spelled_out(raw: str, home: str) -> str:
    scheme, _, rest = raw.partition(":")
    if scheme.lower() == "file" and rest[:1] == "/":
        raw = _from_uri(rest)
    if raw == "~" or raw.startswith("~/"):
        if not home:
            raise ValueError("begins at a home that is not known")
        return home + raw[1:]
    return raw


def _from_uri(rest: str) -> str:
    """The path in what follows `file:`, which is `//HOST/PATH` or `/PATH`."""
    path = rest
    if rest.startswith("//"):
        host, slash, below = rest[2:].partition("/")
        if host.lower() not in ("", "localhost") or not slash:
            raise ValueError("is on another host")
        path = "/" + below
    parts = path.split("%")
    raw = parts[0].encode("utf-8")
    for part in parts[1:]:
        if len(part) < 2 or not _HEX.issuperset(part[:2]):
            raise ValueError("has a % that two hexadecimal digits do not follow")
        raw += bytes([int(part[:2], 16)]) + part[2:].encode("utf-8")
    return raw.decode("utf-8")


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "is not valid text"
    if isinstance(error, OSError):
        return f"cannot be followed ({error.strerror})"
    return str(error) or "cannot be understood"


def _unreadable(raw: str, why: str) -> Refusal:
    return Refusal("PATH_INVALID", f"The path {quoted(raw, 80)} {why}; give an existing folder's plain path.")
