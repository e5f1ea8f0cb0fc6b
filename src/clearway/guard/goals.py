"""Where what a program writes ends up: in a file, in a folder under the name of its source, or somewhere below.

What a program finds by itself is written as a path with wildcards in it: `src/<DEEP>/<ANY>.py` is every such file at
any depth below `src`. Such a path is asked about and never claimed. The disk is asked what is a folder, and for the
names in one that is copied, within bounds.
"""

from __future__ import annotations

import os

from clearway.guard.shellglobs import ANY, DEEP, SOME
from clearway.guard.shellwords import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.guard.shellwords import Scope
    from clearway.guard.toolcall import Action
    from clearway.guard.writers import Run

    Goals = Iterable[tuple[Value, Action]]

COPIED_MAX = 256  # files of one folder that is copied; beyond, all that is below its goal is asked about
ENTRIES_MAX = 4_000


def edits(values: Iterable[Value]) -> Goals:
    return [(value, "edit") for value in values]


def deletes(values: Iterable[Value]) -> Goals:
    return [(value, "delete") for value in values]


def below(folder: str, name: str = ANY, *, deep: bool = True) -> str:
    """The path with wildcards for all names like `name` in a folder, and in those below it."""
    return f"{folder.rstrip('/') or folder}/{DEEP + '/' if deep else ''}{name}"


def found_by(word: Value, scope: Scope, endings: tuple[str, ...]) -> Value:
    """What a program that looks for its files itself makes of an operand: a file is meant, a folder stands for all of
    these endings below it, and a pattern for what it matches."""
    texts: list[str] = []
    for text in word.texts:
        if "*" in text or "?" in text or "{" in text:
            texts += _pattern(text)
        elif is_folder(text, scope):
            texts += [below(text, ANY + ending) for ending in endings or ("",)]
        else:
            texts.append(text)
    return Value(texts, word.known)


def _pattern(text: str) -> list[str]:
    from clearway.guard.shellwords import braces

    return [
        each.replace("**", DEEP).replace("*", ANY).replace("?", ANY) for each in braces(text) if each[:1] not in "!-"
    ]


def is_folder(text: str, scope: Scope) -> bool:
    return any(os.path.isdir(os.path.join(here, text)) for here in scope.cwd.texts)


def exists(text: str, scope: Scope) -> bool:
    return any(os.path.exists(os.path.join(here, text)) for here in scope.cwd.texts)


def is_link(text: str, scope: Scope) -> bool:
    """A slash behind the name of a link means what it leads to."""
    return any(os.path.islink(os.path.join(here, text)) for here in scope.cwd.texts)


def base_name(text: str) -> str:
    return text.rstrip("/").rpartition("/")[2]


def beside(value: Value, ending: str) -> Value:
    return value.map(lambda text: text + ending)


def in_folder(folder: Value, name: str) -> Value:
    return folder.map(lambda text: os.path.join(text, name))


def under(folder: Value | None, goals: Iterable[Value]) -> list[Value]:
    """The same goals, if the program changes to that folder first."""
    if folder is None:
        return list(goals)
    return [
        Value((os.path.join(where, text) for where in folder.texts for text in goal.texts), folder.known and goal.known)
        for goal in goals
    ]


def landed(run: Run, sources: list[Value], goal: Value, *, into: bool | None = None) -> list[Value]:
    """Where copies of these sources end up. into: whether the goal is a folder for them; None: as the disk says."""
    ends: list[Value] = []
    folders = {where: _goes_into(run, sources, where) if into is None else into for where in goal.texts}
    left = [ENTRIES_MAX]
    for source in sources:
        texts = [
            end
            for where, inside in folders.items()
            for text in source.texts
            for end in _ends(text, where, inside, run.scope, left)
        ]
        if not source.texts:  # `mv "$(mktemp)" f`: whatever it is, this is where it ends up
            texts = [os.path.join(where, SOME) if inside else where for where, inside in folders.items()]
        ends.append(Value(texts, source.known and goal.known))
    return ends


def _goes_into(run: Run, sources: list[Value], where: str) -> bool:
    many = len(sources) > 1 or any(len(source.texts) > 1 for source in sources)
    return many or where.endswith("/") or is_folder(where, run.scope)


def _ends(source: str, where: str, into: bool, scope: Scope, left: list[int]) -> Iterator[str]:
    name = base_name(source)
    end = os.path.join(where, name) if into and name not in {"", ".", ".."} else where
    if not is_folder(source, scope) or not is_folder(end, scope):
        yield end
        return
    inside = contents(source, scope, left)
    if inside is None:
        yield below(end)
    else:
        yield from (os.path.join(end, path) for path in inside)


def contents(folder: str, scope: Scope, left: list[int]) -> list[str] | None:
    """The files below a folder, relative to it; None if there are too many. left: so many entries may yet be read."""
    found: list[str] = []
    top = next((os.path.join(here, folder) for here in scope.cwd.texts), folder)
    for where, folders, names in os.walk(top):
        left[0] -= len(folders) + len(names)
        if left[0] < 0 or len(found) + len(names) > COPIED_MAX:
            return None
        found += [os.path.relpath(os.path.join(where, name), top) for name in names]
    return found
