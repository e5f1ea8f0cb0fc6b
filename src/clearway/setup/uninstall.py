"""Take Clearway off this machine again.

The entries in the settings of every client go, for the user and for every repository that was ever worked in here, and
so do our services and the signs of life of sessions. What is kept - rooms, with the issues in them - goes only when
that is asked for. Only what is ours is removed: a file of somebody else in our folder stays, and so does the pointer
file of a repository, which belongs to the project. Nothing is written before all of it could be planned.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field

from clearway import repository, worktrees
from clearway.config import Caller, Settings
from clearway.db import statements
from clearway.errors import Refusal
from clearway.room import MACHINE, is_home_of_others, open_machine_room, open_room
from clearway.setup import connect, githooks, services
from clearway.setup.connect import files
from clearway.setup.connect.shapes import Change

SQL = statements(__file__)
_RUN = "run"
_OURS = ("rooms", _RUN, "secret", "environment", "config.toml", "backups", "services")
_OURS_BEGIN = ("machine.db",)
_PERHAPS_OURS = ("environment", "config.toml", "backups", "services")  # in a folder that is a home of others, too
_RUN_HOLDS = ("beat", "known", "host.lock")
_LOCK_WAIT_MS = 2_000


@dataclass
class Removal:
    """What goes. paths: with what is in them, as a person would say it. git_hooks: worktrees of repositories that have
    ours, each once."""

    changes: list[Change] = field(default_factory=list[Change])
    git_hooks: list[str] = field(default_factory=list[str])
    services: dict[str, services.Plan] = field(default_factory=dict[str, services.Plan])
    machine: services.Machine | None = None  # on which they stand
    paths: dict[str, str] = field(default_factory=dict[str, str])
    marks: list[str] = field(default_factory=list[str])  # the few bytes in git directories that name a checkout
    kept: str = ""  # the folder of what stays

    def carry_out(self) -> list[str]:
        """Do it; what was kept, a sentence each."""
        if self.machine is not None:
            for planned in self.services.values():
                services.carry_out(planned, self.machine)
        files.write_all(self.changes)
        places = [place for root in self.git_hooks if (place := repository.holding(root)) is not None]
        kept = [sentence for place in places for sentence in githooks.remove(place).kept]
        for path in self.paths:
            try:
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            except OSError as error:
                raise Refusal(
                    "STORAGE_FAILURE", f"{path} could not be removed ({error.strerror}); remove it by hand."
                ) from error
        if not self.kept and self.paths:
            folder = os.path.dirname(next(iter(self.paths)))
            if not os.listdir(folder):
                os.rmdir(folder)
        for mark in self.marks:
            with suppress(OSError):  # without a room it names nothing
                os.unlink(mark)
        return kept


def plan(settings: Settings, root: str, *, data: bool) -> Removal:
    """What would go. root: of the repository that the person stands in, or empty."""
    roots = {root, *_roots(settings)} - {""}
    removal = Removal(_entries(settings, roots), _git_hooks(roots))
    removal.machine = services.this_machine(settings)
    removal.services = {unit: services.remove(removal.machine, unit) for unit in services.installed(removal.machine)}
    here = [name for name in _OURS if os.path.lexists(os.path.join(settings.home, name))]
    here += [name for name in _listed(settings.home) if name.startswith(_OURS_BEGIN)]
    if is_home_of_others(settings.home):
        is_run = any(os.path.lexists(os.path.join(settings.home, _RUN, name)) for name in _RUN_HOLDS)
        here = [name for name in here if name not in _PERHAPS_OURS and (name != _RUN or is_run)]
    removal.marks = _marks(roots) if data else []
    if not data:
        here = [name for name in here if name == _RUN]
        removal.kept = settings.home if os.path.isdir(os.path.join(settings.home, "rooms")) else ""
    for name in here:
        removal.paths[os.path.join(settings.home, name)] = _said(settings, name)
    return removal


def _entries(settings: Settings, roots: set[str]) -> list[Change]:
    """The changes of all settings files, each file once."""
    environ, home = settings.environ, settings.home
    found = connect.disconnect([], home, environ=environ, scopes=("user",))
    for root in sorted(roots):
        found += connect.disconnect([], home, environ=environ, scopes=("project",), project=root)
    return list({os.path.realpath(change.file): change for change in found}.values())


def _git_hooks(roots: set[str]) -> list[str]:
    """One worktree of each repository in which our git hooks are installed."""
    found: dict[str, str] = {}
    for root in sorted(roots):
        place = repository.holding(root)
        if place is not None and place.git and githooks.recorded(place) is not None:
            found.setdefault(place.common, root)
    return [*found.values()]


def _marks(roots: set[str]) -> list[str]:
    places = [place for root in sorted(roots) if (place := repository.holding(root)) is not None and place.git]
    files = [os.path.join(each.git, name) for each in places for name in repository.MARKS]
    return [file for file in files if os.path.lexists(file)]


def _roots(settings: Settings) -> Iterator[str]:
    """Every checkout of every repository that this machine remembers."""
    for common in _repositories(settings):
        yield from worktrees.of_repository(common) or [common]


def _repositories(settings: Settings) -> list[str]:
    if not os.path.exists(os.path.join(settings.home, "machine.db")):
        return []
    try:
        room = open_machine_room(home=settings.home, clock=settings.clock(), upgrade=False, lock_wait_ms=_LOCK_WAIT_MS)
        with closing(room):
            rows = room.run(lambda tx: tx.all(SQL.repositories), caller=Caller("clearway"), writes=False)
    except Exception:
        return []  # whatever is wrong with a database, it keeps nobody from leaving
    return [row.common_directory for row in rows]


def _said(settings: Settings, name: str) -> str:
    if name == _RUN:
        return "signs of life of sessions"
    if name != "rooms":
        return "settings" if name in ("environment", "config.toml") else "what this machine remembers"
    rooms = _listed(os.path.join(settings.home, name))
    issues = sum(_issues(settings, room) for room in rooms)
    return f"{_count(len(rooms), 'room')} with {_count(issues, 'issue')} and their history"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _issues(settings: Settings, project: str) -> int:
    if project == MACHINE or not os.path.exists(os.path.join(settings.home, "rooms", project, "room.db")):
        return 0
    try:
        room = open_room(project, home=settings.home, clock=settings.clock(), upgrade=False, lock_wait_ms=_LOCK_WAIT_MS)
        with closing(room):
            return room.run(lambda tx: tx.all(SQL.issues), caller=Caller("clearway"), writes=False)[0].issues
    except Exception:
        return 0


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
