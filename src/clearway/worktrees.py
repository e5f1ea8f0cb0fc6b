"""Where the worktrees of a repository are, told from its git directory, and which repository a bare one is.

Read from the disk without running git. A worktree is answered only while it stands there and is of that repository.
"""

from __future__ import annotations

import os

from clearway import repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.repository import Repository

_PATH_BYTES_MAX = 16_384


def around(folder: str) -> Repository | None:
    """The repository in which somebody stands: that which holds the folder, else the bare one that the folder is in."""
    real = os.path.realpath(folder)
    return repository.holding(real) or _bare(real)


def is_bare(place: Repository) -> bool:
    """Whether this is a git directory that somebody stands in, with no files that anybody works on."""
    return bool(place.git) and place.root == place.git


def of_repository(common: str) -> list[str]:
    """The roots of the worktrees of a repository, the main one first. common: its git directory."""
    found: dict[str, None] = {}
    for root in _named(common):
        place = repository.holding(root) if os.path.isdir(root) else None
        if place is not None and place.root == root and os.path.realpath(place.common) == os.path.realpath(common):
            found[root] = None
    return [*found]


def _named(common: str) -> Iterator[str]:
    if os.path.basename(common) == ".git":
        yield os.path.dirname(common)
    yield _line(os.path.join(common, repository.WORKTREE_FILE))
    linked = os.path.join(common, "worktrees")
    try:
        names = sorted(os.listdir(linked))
    except OSError:
        return
    for name in names:
        yield os.path.dirname(os.path.join(linked, name, _line(os.path.join(linked, name, "gitdir"))))


def _line(file: str) -> str:
    """What a small file says; empty when it is not there, half made or half removed."""
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            return opened.read(_PATH_BYTES_MAX).removesuffix("\n")
    except (OSError, ValueError):
        return ""


def _bare(folder: str) -> Repository | None:
    while True:
        if all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
            return repository.Repository(folder, folder, folder)
        upper = os.path.dirname(folder)
        if upper == folder:
            return None
        folder = upper
