"""The SQLite library, loaded without what its loading brings along.

apsw asks for `collections.abc` once, to know a mapping when it sees one; with it come `collections` and what that
needs, 3 ms of every hook. The classes it wants are those of `_collections_abc`, which `collections.abc` only passes on.
So while apsw is loaded, that module stands in for them, unless they are there already; afterwards all is as it was.
Where not even that one is there, `dict` is the mapping: no other is ever given to it here.

The fast step of a hook may have asked a room before the full step opens it: that connection is gone on with.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _mappings() -> Any:
    """As much of `collections.abc` as apsw asks for; the rest is fetched if it should ever want it."""

    def fetch(name: str) -> Any:
        import _collections_abc

        return getattr(_collections_abc, name)

    stand_in: Any = type(sys)("collections.abc")
    stand_in.Mapping, stand_in.__getattr__ = dict, fetch
    return stand_in


def _load() -> Any:
    if "apsw" not in sys.modules and "collections" not in sys.modules:
        stand_in: Any = type(sys)("collections")
        stand_in.abc = sys.modules.get("_collections_abc") or _mappings()
        sys.modules["collections"], sys.modules["collections.abc"] = stand_in, stand_in.abc
        try:
            import apsw
        finally:
            del sys.modules["collections"], sys.modules["collections.abc"]
    import apsw

    return apsw


if TYPE_CHECKING:
    import apsw as apsw
else:
    apsw = _load()

_left: dict[str, tuple[tuple[int, int], Any]] = {}


def leave(path: str, identity: tuple[int, int], connection: Any) -> None:
    """Let whoever opens this file next in this process go on with a connection. identity: the file's device and inode,
    as they were before it was opened."""
    _left[path] = identity, connection


def left(path: str, identity: tuple[int, int]) -> Any:
    """The connection that was left for a file, if it still is that file; else None."""
    known, connection = _left.pop(path, (None, None))
    return connection if known == identity else None
