"""PowerShell's file verbs and the short names of both Windows shells, as far as a line shows what they change.

Their text is read with the same parser as any other; its backslashes are taken for slashes. Names count in any case,
parameters may be cut short.
"""

from __future__ import annotations

import os

from clearway.guard.goals import deletes, edits, in_folder, landed
from clearway.guard.shellglobs import SOME
from clearway.guard.shellwords import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.goals import Goals
    from clearway.guard.writers import Run

_PATHS = ("path", "literalpath", "filepath", "pspath", "lp")
_VALUED = (*_PATHS, "destination", "value", "name", "newname", "encoding", "filter", "include", "exclude", "itemtype",
           "inputobject", "width", "erroraction", "type", "stream", "target", "credential", "outfile",
           "destinationpath", "uri", "method", "headers", "body")  # fmt: skip
_SWITCHES = frozenset(
    "force recurse append nonewline whatif confirm passthru noclobber verbose asbytestream wait container".split()
)


def _parameter(text: str) -> str:
    """The parameter that a word names, whole; empty if it is none."""
    if text[:1] != "-" or len(text) < 2 or not text[1].isalpha():
        return ""
    short = text[1:].rstrip(":").lower()
    if short in _SWITCHES:
        return short
    return next((name for name in (*_VALUED, *_SWITCHES) if name.startswith(short)), short)


def _split(run: Run) -> tuple[dict[str, list[Value]], list[Value]]:
    """Parameters with their values, and what stands by itself. A comma makes a list."""
    given: dict[str, list[Value]] = {}
    operands: list[Value] = []
    waiting = iter(run.arguments)
    for word in waiting:
        name = _parameter(word.text or "")
        if name in _VALUED:
            given.setdefault("path" if name in _PATHS else name, []).extend(_list(next(waiting, None)))
        elif name:
            given[name] = []
        else:
            operands += _list(word)
    return given, operands


def _list(word: Value | None) -> list[Value]:
    if word is None:
        return []
    if word.text is None or "," not in word.text:
        return [word]
    return [Value((each,)) for each in word.text.split(",") if each]


def _content(run: Run) -> Goals:
    """`Set-Content PATH VALUE`, `Out-File PATH`."""
    given, operands = _split(run)
    return [] if "whatif" in given else edits(given.get("path") or operands[:1])


def _remove(run: Run) -> Goals:
    given, operands = _split(run)
    return [] if "whatif" in given else deletes(given.get("path") or operands)


def _copy(run: Run) -> Goals:
    return _two(run, moves=False)


def _move(run: Run) -> Goals:
    return _two(run, moves=True)


def _two(run: Run, *, moves: bool) -> Goals:
    given, operands = _split(run)
    sources = given.get("path") or operands[:1]
    rest = operands if "path" in given else operands[1:]
    goals = given.get("destination") or rest[:1]
    if not sources or "whatif" in given:
        return []
    ends = landed(run, sources, goals[0]) if goals else []
    return [*deletes(sources if moves else []), *edits(ends)]


def _rename(run: Run) -> Goals:
    given, operands = _split(run)
    sources = given.get("path") or operands[:1]
    name = given.get("newname") or (operands if "path" in given else operands[1:])[:1]
    if not sources or not name or "whatif" in given:
        return []
    new = [os.path.join(os.path.dirname(old), text) for old in sources[0].texts for text in name[0].texts]
    return [*deletes(sources), *edits([Value(new, sources[0].known and name[0].known)])]


def _new(run: Run) -> Goals:
    given, operands = _split(run)
    kind = (given.get("itemtype") or given.get("type") or [Value(("file",))])[0].text or ""
    if kind.lower() in {"directory", "container"}:
        return []
    folders = given.get("path") or operands[:1]
    names = given.get("name")
    if names and names[0].text:
        folders = [in_folder(folder, names[0].text) for folder in folders] or names
    return edits(folders)


def _fetch(run: Run) -> Goals:
    """`Invoke-WebRequest ADDRESS -OutFile FILE`."""
    return edits(_split(run)[0].get("outfile", ()))


def _unpack(run: Run) -> Goals:
    """`Expand-Archive FILE -DestinationPath FOLDER`: its names are not read; whoever holds that folder is asked."""
    given, operands = _split(run)
    run.walk.ran_programs = True
    archive = (given.get("path") or operands[:1] or [Value()])[0]
    for folder in given.get("destinationpath") or operands[1:2] or [Value((os.path.splitext(archive.text or "x")[0],))]:
        run.walk.suspect(in_folder(folder, SOME), run.scope)
    return []


def _plain(run: Run) -> list[Value]:
    """The operands of a command of cmd, whose options look like `/Y`."""
    return [word for word in run.arguments if not (len(word.text or "") <= 3 and (word.text or "").startswith("/"))]


def _del(run: Run) -> Goals:
    return deletes(_plain(run)) if _is_cmd(run) else _remove(run)


def _copy_short(run: Run) -> Goals:
    return edits(_ends(run)) if _is_cmd(run) else _copy(run)


def _move_short(run: Run) -> Goals:
    return [*deletes(_plain(run)[:1]), *edits(_ends(run))] if _is_cmd(run) else _move(run)


def _ends(run: Run) -> list[Value]:
    words = _plain(run)
    return landed(run, words[:1], words[1]) if len(words) > 1 else []


def _is_cmd(run: Run) -> bool:
    return not any(_parameter(word.text or "") for word in run.arguments)


_VERBS: dict[str, Callable[[Run], Goals]] = {
    "add-content": _content,
    "clear-content": _remove,
    "copy-item": _copy,
    "expand-archive": _unpack,
    "export-csv": _content,
    "invoke-restmethod": _fetch,
    "invoke-webrequest": _fetch,
    "move-item": _move,
    "new-item": _new,
    "out-file": _content,
    "remove-item": _remove,
    "rename-item": _rename,
    "set-content": _content,
    "tee-object": _content,
}

TABLE: dict[str, Callable[[Run], Goals]] = {
    **_VERBS,
    "ac": _content,
    "clc": _remove,
    "copy": _copy_short,
    "cpi": _copy,
    "del": _del,
    "erase": _del,
    "irm": _fetch,
    "iwr": _fetch,
    "mi": _move,
    "move": _move_short,
    "ni": _new,
    "rd": _del,
    "ren": _rename,
    "ri": _remove,
    "rni": _rename,
    "sc": _content,
}
