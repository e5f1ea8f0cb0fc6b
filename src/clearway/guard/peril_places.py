"""What would be lost with a path: the system, a home, a repository, the folder that an agent works in.

It resolves paths as the walk over a command line has them and asks the disk only which repository holds one. Where the
line itself has gone into a folder below, that folder's content is ordinary work: `cd build && rm -rf *`.
"""

from __future__ import annotations

import os

from clearway import repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.guard.shellwords import Scope, Value

TEXTS_JUDGED_MAX = 512

_ALL_BELOW = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/System")
_TOP = frozenset(
    "bin boot dev etc home lib lib32 lib64 media mnt nix opt private proc root run sbin snap srv sys tmp usr var "
    "Applications Library System Users Volumes".split()
) | {""}
_TWO_STEPS = frozenset({"usr", "var", "Library", "home", "Users", "nix", "private", "Applications", "snap"})
_THREE_STEPS = ("/usr/local/", "/var/lib/", "/usr/lib/", "/usr/share/")
_TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/private/var/folders/", "/dev/shm/")
_AT_HOME = frozenset(
    ".ssh .gnupg .aws .config .kube .local .claude .codex Desktop Documents Library Downloads Pictures".split()
)
_IN_GIT = frozenset({"", "objects", "refs", "logs", "worktrees", "modules", "hooks"})
_HISTORIES = frozenset({".bash_history", ".zsh_history", ".histfile", ".zhistory", ".python_history", ".psql_history"})
_DISKS = ("sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "md", "dm-", "mapper/", "nbd", "loop", "zd", "sr")
_ALL = ".*?[]!^"  # of which a name that stands for everything consists


def lost(scope: Scope, goal: Value, *, contents: bool = True) -> str:
    """What a recursive deletion of this would take, in a few words; empty for ordinary work. contents: what is
    everything in a folder counts as the folder."""
    for folder in _folders_of_all(scope, goal) if contents else ():
        found = _lost(scope, folder)
        if found:
            return found
    for text in goal.texts[:TEXTS_JUDGED_MAX]:
        folder = _folder_of_all(text) if contents else None
        found = _lost(scope, text if folder is None else folder)
        if found:
            return found
    return ""


def lost_by_name(scope: Scope, names: list[str]) -> str:
    """What would be lost if these, found by looking, are all that is in the folder."""
    for here in scope.cwd.texts:
        try:
            there = {name for name in os.listdir(here) if name[0] != "." and len(name.split()) == 1}
        except OSError:
            continue
        if there and there <= {os.path.normpath(name) for name in names if name}:
            return _lost(scope, here)
    return ""


def paths(scope: Scope, goal: Value) -> list[str]:
    """The absolute paths that a word may mean."""
    found = [path for text in goal.texts[:TEXTS_JUDGED_MAX] for path in _absolute(scope, text)]
    return found + [path for folder in _folders_of_all(scope, goal) for path in _absolute(scope, folder)]


def _folders_of_all(scope: Scope, goal: Value) -> list[str]:
    """The folders of which a word means all that is in them."""
    found = [folder for pattern in goal.patterns if (folder := _folder_of_all(pattern)) is not None]
    home = scope.home.text or "~"
    return [home + folder[1:] if folder == "~" or folder.startswith("~/") else folder for folder in found]


def _folder_of_all(pattern: str) -> str | None:
    """`src/*` -> src, `./.*` -> ., `/*/*` -> /; None where the last name does not stand for everything."""
    bare = pattern.rstrip("/")
    if not bare:
        return None
    folder, name = os.path.split(bare)
    if not name or name.strip(_ALL) or name in {".", ".."} or "*" not in name:
        return None
    return _folder_of_all(folder) or folder or "."


def _absolute(scope: Scope, text: str) -> list[str]:
    if not text or "\0" in text:
        return []
    text = "/" + text.lstrip("/") if text.startswith("//") else text
    return [os.path.normpath(os.path.join(here, text)) for here in scope.cwd.texts or ("",)]


def _lost(scope: Scope, text: str) -> str:
    homes = [os.path.normpath(home) for home in scope.home.texts]
    starts = [start for each in scope.start.texts for start in {os.path.normpath(each), os.path.realpath(each)}]
    for path in _absolute(scope, text):
        if path in homes:
            return "a home directory"
        if is_system(path) or (path[0] == "/" and path.count("/") == 1) or any(_covers(path, each) for each in homes):
            return f"the system ({path})"
        if os.path.dirname(path) in homes and os.path.basename(path) in _AT_HOME:
            return f"~/{os.path.basename(path)}"
        if path in {".", ".."} or path.startswith("../.."):  # from a place that is not known
            return "the folder it is run in"
        found = _of_repositories(path, starts)
        if found:
            return found
    return "a whole drive" if is_drive(text) else ""


def _of_repositories(path: str, starts: list[str]) -> str:
    """What of repositories, and of the folder that the agent stands in, goes with a path."""
    here = next(filter(None, map(_repository, starts)), None)
    if here is not None and any(_covers(path, root) for root in {here.root, os.path.realpath(here.root)}):
        return "the whole repository"
    if any(_covers(path, start) for start in starts):
        return "the folder it is run in"
    before, mark, after = path.partition("/.git")
    if mark and after.strip("/") in _IN_GIT and (not after or after[0] == "/"):
        return "a repository's history" if not _is_temporary(before) or _is(here, before) else ""
    if _is_temporary(path) or not os.path.lexists(os.path.join(path, ".git")):
        return ""
    return "a whole repository"


def _is(here: repository.Repository | None, path: str) -> bool:
    return here is not None and path in {here.root, os.path.realpath(here.root)}


def _repository(folder: str) -> repository.Repository | None:
    return repository.holding(folder) if os.path.isabs(folder) else None


def _is_temporary(path: str) -> bool:
    return (path + "/").startswith(_TEMPORARY)


def _covers(path: str, other: str) -> bool:
    return path == other or other.startswith(path.rstrip("/") + "/")


def is_system(path: str) -> bool:
    """Whether a machine, or everybody on it, would miss this."""
    if not path.startswith("/"):
        return False
    steps = path.strip("/").split("/")
    if len(steps) == 1:
        return steps[0] in _TOP
    if path.startswith(_TEMPORARY):
        return False
    if any(_covers(above, path) for above in _ALL_BELOW):
        return True
    if len(steps) == 2:
        return steps[0] in _TWO_STEPS or (steps[0] == "mnt" and len(steps[1]) == 1)
    return len(steps) == 3 and path.startswith(_THREE_STEPS)


def is_disk(path: str) -> bool:
    if not path.startswith("/dev/"):
        return is_drive(path)
    name = os.path.normpath(path)[len("/dev/") :]
    return name.startswith(_DISKS) or name in {"mem", "kmem", "port"}


def is_drive(text: str) -> bool:
    """`C:`, `C:\\`, `D:/*`, as they are called on Windows."""
    return len(text) >= 2 and text[0].isalpha() and text[1] == ":" and not text[2:].strip("\\/*.")


def is_history(path: str) -> bool:
    return os.path.basename(path) in _HISTORIES
