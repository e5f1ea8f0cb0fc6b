"""The SQLite library, loaded without what its loading brings along.

apsw asks for `collections.abc` once, to know a mapping when it sees one; with it come `collections` and what that
needs, 2 ms of every hook. The classes it wants are those of `_collections_abc`, which `collections.abc` only passes on.
So while apsw is loaded, that module stands in for them, unless they are there already; afterwards all is as it was.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _load() -> Any:
    if "apsw" not in sys.modules and "collections" not in sys.modules:
        import _collections_abc

        stand_in: Any = type(sys)("collections")
        stand_in.abc = _collections_abc
        sys.modules["collections"], sys.modules["collections.abc"] = stand_in, _collections_abc
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
