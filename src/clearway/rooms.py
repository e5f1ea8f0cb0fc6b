"""Which room answers: finds, opens and keeps the rooms of one process.

The room of a path is that of the repository that holds it; a file outside every repository belongs to the machine room.
A repository without the pointer file still has a room, remembered by its common directory, so no branch and no worktree
loses it. One call that touches several rooms asks them in order; a refusal in a later one gives back what this call
took in the earlier ones.
"""

from __future__ import annotations

import os

from clearway import repository, wire
from clearway.alive import Liveness
from clearway.beats import rooms_with
from clearway.config import Caller, Settings, pointer_text, read_pointer
from clearway.db import statements
from clearway.errors import Refusal
from clearway.limits import COMMAND_LOCK_WAIT_MS
from clearway.room import MACHINE, Room, beat_folder, open_machine_room, open_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db import Row
    from clearway.db.tx import Tx
    from clearway.op import Operation
    from clearway.repository import Place, Repository

SQL = statements(__file__)
_PATH_ARGUMENTS = ("paths", "path")


class Rooms:
    """The rooms that this process has opened. For one thread at a time."""

    def __init__(
        self,
        settings: Settings,
        *,
        liveness: Liveness | None = None,
        upgrade: bool = True,
        lock_wait_ms: int = COMMAND_LOCK_WAIT_MS,
    ) -> None:
        self.settings = settings
        self.clock = settings.clock()
        self.liveness = liveness or Liveness()
        self._upgrade = upgrade
        self._lock_wait_ms = lock_wait_ms
        self._open: dict[str, Room] = {}

    def of_folder(self, folder: str) -> Room:
        """The room of the repository in which someone works. PROJECT_NOT_FOUND outside of any."""
        found = repository.holding(os.path.realpath(folder))
        if found is None:
            raise Refusal(
                "PROJECT_NOT_FOUND", f"{folder} is in no repository; go into one, or run clearway init in a project."
            )
        return self.of_repository(found)

    def of_repository(self, place: Repository | None) -> Room:
        """The room of a repository, made if it has none yet; the machine room for None."""
        return self._of_project(MACHINE if place is None else self.project_of(place))

    def of_session(self, session: str) -> list[Room]:
        """The rooms in which a session has acted on this machine: one that works in several ends its turn in all."""
        return [self._of_project(project) for project in rooms_with(beat_folder(self.settings.home), session)]

    def others_of(self, session: str) -> list[Room]:
        """Those of them that this process has not asked yet."""
        asked = set(self._open.values())
        return [room for room in self.of_session(session) if room not in asked]

    def _of_project(self, project: str) -> Room:
        room = self._open.get(project)
        if room is None:
            room = self._machine() if project == MACHINE else self._room(project)
            self._open[project] = room
        return room

    def project_of(self, place: Repository) -> str:
        """The project id of a repository: what its pointer says, else what this machine remembers."""
        self._check_outside(place)
        named = read_pointer(place.root)
        return named or self._remembered(place, None)

    def known(self, place: Repository) -> str | None:
        """The project id of a repository that has a room here already, or None. Makes nothing."""
        self._check_outside(place)
        home = self.settings.home
        project = read_pointer(place.root)
        if project is None and os.path.exists(os.path.join(home, "machine.db")):
            row = self._find(place)
            project = None if row is None else row.project_id
        files = [os.path.join(home, "rooms", project, name) for name in ("room.db", "address")] if project else []
        return project if any(os.path.exists(file) for file in files) else None

    def adopt(self, place: Repository) -> str:
        """Write the pointer file, with the project that this repository already has here. The project id."""
        project = self._remembered(place, None)
        file = os.path.join(place.root, ".clearway.json")
        aside = f"{file}.{self.clock.new_id()}"
        with open(aside, "x", encoding="utf-8") as opened:
            opened.write(pointer_text(project))
        try:
            os.link(aside, file)
        except FileExistsError:
            raise Refusal(
                "PROJECT_ALREADY_INITIALIZED", f"{place.root} already has a pointer file; nothing was changed."
            ) from None
        finally:
            os.unlink(aside)
        return project

    def ask(self, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Answer an operation in the room it belongs to: that of its paths, else that of the caller's folder."""
        groups = self._by_room(arguments, caller)
        if groups is None:
            return self.of_folder(caller.cwd).ask(operation, arguments, caller)
        if len(groups) == 1:
            return groups[0][0].ask(operation, arguments, caller)
        return self._ask_several(operation, arguments, caller, groups)

    def give_back(self, taken: list[tuple[Room, list[int]]], caller: Caller) -> None:
        """Undo what one call took in earlier rooms, by the fences it was given there."""
        for room, fences in taken:
            if fences:
                room.run(lambda tx, fences=fences: _give_back(tx, fences), caller=caller)

    def close(self) -> None:
        for room in self._open.values():
            room.close()
        self._open.clear()

    def locate(self, raw: str, cwd: str) -> Place:
        return repository.locate(raw, cwd, os.path.expanduser("~"), self.clock)

    def _ask_several(
        self, operation: Operation, arguments: dict[str, Any], caller: Caller, groups: list[tuple[Room, list[str]]]
    ) -> dict[str, Any]:
        replies: list[dict[str, Any]] = []
        for place, (room, paths) in enumerate(groups):
            try:
                replies.append(room.ask(operation, {**arguments, "paths": paths}, caller))
            except Refusal:
                taken = [
                    (earlier[0], [lease["fence"] for lease in reply.get("granted", [])])
                    for earlier, reply in zip(groups, replies[:place], strict=False)
                ]
                self.give_back(taken, caller)
                raise
        return {name: [item for reply in replies for item in reply[name]] for name in replies[0]}

    def _by_room(self, arguments: dict[str, Any], caller: Caller) -> list[tuple[Room, list[str]]] | None:
        """The rooms that hold these paths, in order of id, each with its own; None when no path is given."""
        given: Any = next((arguments[name] for name in _PATH_ARGUMENTS if arguments.get(name)), None)
        listed = given if wire.is_list(given) else [given]
        raws: list[str] = [raw for raw in listed if isinstance(raw, str)]
        if not raws or len(raws) != len(listed):
            return None
        cwd = arguments.get("cwd")
        if not isinstance(cwd, str) or not cwd:
            cwd = caller.cwd  # the door refuses what is not a text
        by_project: dict[str, tuple[Room, list[str]]] = {}
        for raw in raws:
            place = self.locate(raw, cwd)
            room = self.of_repository(place.repository)
            by_project.setdefault(room.engine.path, (room, []))[1].append(raw)
        return [by_project[project] for project in sorted(by_project)]

    def _room(self, project: str) -> Room:
        return open_room(
            project,
            home=self.settings.home,
            clock=self.clock,
            liveness=self.liveness,
            upgrade=self._upgrade,
            lock_wait_ms=self._lock_wait_ms,
        )

    def _machine(self) -> Room:
        return open_machine_room(
            home=self.settings.home,
            clock=self.clock,
            liveness=self.liveness,
            upgrade=self._upgrade,
            lock_wait_ms=self._lock_wait_ms,
        )

    def _check_outside(self, place: Repository) -> None:
        home = self.settings.home
        if home == place.root or home.startswith(place.root + "/"):
            raise Refusal(
                "STORAGE_CONFIGURATION",
                f"CLEARWAY_HOME ({home}) is inside the repository {place.root}; choose another.",
            )

    def _remembered(self, place: Repository, project: str | None) -> str:
        known = self._find(place)
        if known is not None:
            return known.project_id
        where = _whereabouts(place)
        return self.of_repository(None).run(lambda tx: _remember(tx, where, project), caller=self._house())

    def _find(self, place: Repository) -> Row | None:
        where = _whereabouts(place)
        return self.of_repository(None).run(lambda tx: tx.one(SQL.find, **where), caller=self._house(), writes=False)

    def _house(self) -> Caller:
        return Caller("clearway", host=self.liveness.host)


def _whereabouts(place: Repository) -> dict[str, Any]:
    facts = os.stat(place.common or place.root)
    return {"common": place.common or place.root, "device": facts.st_dev, "inode": facts.st_ino}


def _remember(tx: Tx, where: dict[str, Any], project: str | None) -> str:
    known = tx.one(SQL.find, **where)  # another process may have been first
    if known is not None:
        return known.project_id
    made = project or tx.new_id()
    tx.change(SQL.remember, **where, project=made, wall=tx.wall)
    return made


def _give_back(tx: Tx, fences: list[int]) -> None:
    from clearway import lapse

    lapse.release(tx, [row for fence in fences for row in tx.all(SQL.by_fence, fence=fence)], "undone")
