"""The modules of a hook's full step in one file, beside the compiled modules that Python itself keeps.

A full step loads about fifty modules: to look for each, check it and put it in costs more than to run it. The file
holds them as they were compiled, those that every full step needs in one piece and in the order in which they load, and
the statements of their `.sql` files. The time and size of every file it was made from stand in it, as in Python's own
cache: what does not match is loaded from where it always was, and the hook that met it writes the file anew once it has
answered. Without the file everything works as before, some milliseconds later. surfaces/faststep.py reads it.
"""

from __future__ import annotations

import marshal
import os
from importlib.machinery import SourceFileLoader
from pathlib import Path

import clearway
from clearway import db, platforms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

_PACKAGE = Path(clearway.__file__).parent
# What every full step loads, in the order in which it is complete. A module that is missing here, or that comes too
# late, is found all the same.
ALWAYS = (
    *("clearway.platforms", "clearway.errors", "clearway.limits", "clearway.untrusted", "clearway.clock"),
    *("clearway.config", "clearway.paths", "clearway.repository", "clearway.alive", "clearway.beats", "clearway.db"),
    *("clearway.op", "clearway.policy", "clearway.leasing", "clearway.lapse", "clearway.crew", "clearway.crew.agents"),
    *("clearway.db.tx", "clearway.opencalls", "clearway.room", "clearway.rooms", "clearway.surfaces.callers"),
    *("clearway.surfaces.moments", "clearway.surfaces.moments.judging", "clearway.surfaces.moments.before"),
    *("clearway.surfaces.hooks", "clearway.surfaces.clients", "clearway.guard.toolcall"),
    *("clearway.surfaces.clients.shapes", "clearway.db.migrate", "clearway.db.turns", "clearway.tally"),
)
# Where the rest of what a hook may load is, one by one.
_FOLDERS = ("", "crew", "db", "guard", "surfaces/clients", "surfaces/moments", "work")


def write(file: str, made_by: tuple[str | int, ...]) -> bool:
    """Make the file anew. made_by: what its reader looks for. False where nothing can be written: then it is done
    without."""
    aside = platforms.aside(file)
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(aside, "xb") as opened:
            opened.write(_content(made_by))
        os.replace(aside, file)
    except OSError:
        return False
    finally:
        if os.path.exists(aside):
            os.unlink(aside)
    return True


def _content(made_by: tuple[str | int, ...]) -> bytes:
    together = [_Module(name) for name in ALWAYS]
    pieces: list[bytes] = []
    apart: dict[str, tuple[bool, str, int, int, int, int]] = {}

    def place(piece: bytes) -> tuple[int, int]:
        at = sum(map(len, pieces))
        pieces.append(piece)
        return at, len(piece)

    marks = [each.mark() for each in together]
    place(marshal.dumps({each.name: (each.is_package, each.file, each.code()) for each in together}))
    for each in _others():
        mark = each.mark()
        apart[each.name] = (each.is_package, *mark, *place(marshal.dumps(each.code())))
    for file in sorted(_PACKAGE.rglob("*.sql")):
        if file.parent.name != "migrations":
            mark = _mark(file)
            apart[mark[0]] = (False, *mark, *place(marshal.dumps(db.split(file.read_text("utf-8")))))
    head = marshal.dumps((made_by, marks, len(pieces[0]), apart, sum(map(len, pieces))))
    return b"%08d" % len(head) + head + b"".join(pieces)


class _Module:
    """One of ours, as it lies on the disk."""

    def __init__(self, name: str) -> None:
        self.name = name
        path = _PACKAGE.joinpath(*name.split(".")[1:])
        self.is_package = path.is_dir()
        self._path = path / "__init__.py" if self.is_package else path.with_suffix(".py")
        self.file = self._path.relative_to(_PACKAGE).as_posix()

    def mark(self) -> tuple[str, int, int]:
        return _mark(self._path)

    def code(self) -> CodeType:
        """As Python's own cache has it, or compiled now."""
        loader = SourceFileLoader(self.name, str(self._path))
        code = loader.get_code(self.name)
        assert code is not None, self._path
        return code


def _mark(path: Path) -> tuple[str, int, int]:
    """Its place, time and size. Taken before the content is read: what is exchanged meanwhile does not match later."""
    found = path.stat()
    return path.relative_to(_PACKAGE).as_posix(), found.st_mtime_ns, found.st_size


def _others() -> list[_Module]:
    found: list[_Module] = []
    for folder in _FOLDERS:
        package = ".".join(("clearway", *folder.split("/"))) if folder else "clearway"
        for file in sorted((_PACKAGE / folder).glob("*.py")):
            name = package if file.stem == "__init__" else f"{package}.{file.stem}"
            if name not in ALWAYS and name != "clearway":
                found.append(_Module(name))
    return found
