"""Which room answers: finds, opens and keeps the rooms of one process.

The room of a path is that of the repository that holds it; a file outside every repository belongs to the machine room.
A repository is remembered by its common directory, whether or not it has the pointer file, so no branch and no worktree
loses its room. A command that opens a room also keeps it: it mends what is damaged and writes the day's backup; a hook
never moves a database. One call that touches several rooms asks them in order; a refusal in a later one gives back
what this call took in the earlier ones.
"""

from __future__ import annotations

import os

from clearway import config, paths, platforms, repository, wire
from clearway.alive import Liveness
from clearway.beats import rooms_with
from clearway.clock import iso
from clearway.config import Caller, Settings, read_pointer, read_team
from clearway.db import statements
from clearway.errors import Refusal
from clearway.limits import COMMAND_LOCK_WAIT_MS, PATHS_PER_CLAIM_MAX
from clearway.policy import Outside
from clearway.room import (
    MACHINE,
    Room,
    beat_folder,
    known_address,
    open_machine_room,
    open_room,
    open_room_file,
    was_room,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.clock import Clock
    from clearway.db.tx import Tx
    from clearway.op import Operation
    from clearway.repository import Place, Repository

SQL = statements(__file__)
_PATH_ARGUMENTS = ("paths", "path")
_CHOSEN = "chosen"
_MARKS_MAX = 256  # that a shelf keeps in mind


class Target:
    """The file in which the room of a project is to be."""

    __slots__ = ("file", "project")

    def __init__(self, file: str, project: str) -> None:
        self.file = file
        self.project = project


class NotAtHand(Exception):
    """The room that is asked would have to be opened first."""


class Shelf:
    """Rooms that a process which stays keeps open from one question to the next. For one thread."""

    __slots__ = ("clock", "in_mind", "liveness", "places", "rooms")

    def __init__(self, clock: Clock, liveness: Liveness) -> None:
        self.clock = clock
        self.liveness = liveness
        self.rooms: dict[tuple[str, bool], Room] = {}
        self.in_mind: dict[str, tuple[str, str]] = {}  # marks of repositories (keep_in_mind) that were read already
        self.places: dict[str, tuple[object, str]] = {}  # of the roots of repositories: how they are, whose they are

    def close(self) -> None:
        for room in self.rooms.values():
            room.close()
        self.rooms.clear()


class Rooms:
    """The rooms that this process has opened. For one thread at a time."""

    def __init__(
        self,
        settings: Settings,
        *,
        liveness: Liveness | None = None,
        upgrade: bool = True,
        lock_wait_ms: int = COMMAND_LOCK_WAIT_MS,
        say: Callable[[str], None] | None = None,
        shelf: Shelf | None = None,
        opens: bool = True,
    ) -> None:
        """upgrade: rooms may be brought forward, mended and backed up (not by a hook). say: hears one sentence about
        whatever a person should know of a room that was made, restored or mended here. shelf: where rooms are taken
        from, and put back when these are closed. opens: a room that is not there is opened; else that is NotAtHand."""
        self.settings = settings
        self.clock = settings.clock() if shelf is None else shelf.clock
        self.liveness = liveness or (Liveness() if shelf is None else shelf.liveness)
        self._shelf = shelf
        self._upgrade = upgrade
        self._opens = opens
        self._lock_wait_ms = lock_wait_ms
        self._say = say or _keep_silent
        self._outside = Outside(settings.environ, settings.home)
        self._open: dict[str, Room] = {}
        self._found: dict[str, str] = {}

    def of_folder(self, folder: str) -> Room:
        """The room of the repository in which someone works. PROJECT_NOT_FOUND outside of any."""
        looks = None if self._shelf is None or self.settings.room else repository.looks_of(folder)
        known = None if looks is None or self._shelf is None else self._shelf.places.get(folder)
        if known is not None and known[0] == looks:
            return self.of_project(known[1])
        room = self._of_folder(folder)
        if looks is not None and self._shelf is not None and os.path.realpath(folder) == folder:
            if len(self._shelf.places) >= _MARKS_MAX:
                self._shelf.places.clear()
            self._shelf.places[folder] = looks, room.project
        return room

    def of_known_folder(self, folder: str) -> Room | None:
        """The same, if there is one already. Makes none."""
        if self._shelf is not None and folder in self._shelf.places:
            return self.of_folder(folder)
        place = repository.holding(os.path.realpath(folder))
        return None if place is None or self.known(place) is None else self.of_repository(place)

    def _of_folder(self, folder: str) -> Room:
        try:
            folder.encode()
            found = repository.holding(os.path.realpath(folder)) if os.path.isabs(folder) else None
        except ValueError:  # a NUL, or bytes that are no text
            raise Refusal("PATH_INVALID", "The folder you work in is not a path; name an existing folder.") from None
        if found is None and os.path.isabs(folder):
            from clearway import worktrees

            found = worktrees.around(folder)
        if found is None:
            if self.settings.room:
                return self._chosen(None)
            raise Refusal("PROJECT_NOT_FOUND", _nowhere(folder))
        return self.of_repository(found)

    def of_repository(self, place: Repository | None) -> Room:
        """The room of a repository, made if it has none yet; the machine room for None."""
        if place is None:
            return self.of_project(MACHINE)
        if self.settings.room:
            return self._chosen(place)
        project = self.project_of(place)
        begins = project not in self._open and self._begins(place, project)
        room = self.of_project(project)
        if begins:
            folder = self.folder(project)
            self._say(f"this project had no room on this machine; an empty one is made in {folder}")
        return room

    def check_home(self, folder: str) -> None:
        """Refuse a home inside the repository in which someone works: before anything is written there."""
        found = repository.holding(os.path.realpath(folder)) if os.path.isabs(folder) else None
        if found is not None:
            self._check_outside(found)

    def of_session(self, session: str) -> list[Room]:
        """The rooms in which a session has acted on this machine: one that works in several ends its turn in all."""
        return [self.of_project(project) for project in rooms_with(beat_folder(self.settings.home), session)]

    def others_of(self, session: str) -> list[Room]:
        """Those of them that this process has not asked yet."""
        asked = set(self._open.values())
        return [room for room in self.of_session(session) if room not in asked]

    def of_project(self, project: str) -> Room:
        """The room of the project with that id, made if there is none yet; MACHINE is the machine room."""
        room = self._open.get(project)
        if room is None:
            room = self._open[project] = self._off_the_shelf(project) or self._kept(project)
            room.outside = self._outside
        return room

    def _off_the_shelf(self, project: str) -> Room | None:
        return None if self._shelf is None else self._shelf.rooms.pop((project, self._upgrade), None)

    def project_of(self, place: Repository) -> str:
        """The project id of a repository: what its pointer says, else what this machine remembers."""
        self._check_outside(place)
        named = read_pointer(place.root) or read_team(place.root)
        if named is None:
            # Whoever has a shelf answers one question with this, in which a repository stays whose it is.
            known = self._found.get(place.root) or self._remembered(place)
            if self._shelf is not None:
                self._found[place.root] = known
            return known
        self.keep_in_mind(place, named)
        return named

    def known(self, place: Repository) -> str | None:
        """The project id of a repository that has a room here already, or None. Makes nothing."""
        self._check_outside(place)
        if self.settings.room:
            return self._chosen(place).project
        project = read_pointer(place.root) or read_team(place.root) or self.remembered(place)
        if project is None:
            return None
        folder = self.folder(project)
        is_here = any(os.path.exists(os.path.join(folder, name)) for name in ("room.db", "address", "backups"))
        return project if is_here or read_team(place.root) else None

    def folder(self, project: str) -> str:
        """Where this machine keeps what belongs to a project."""
        return os.path.join(self.settings.home, "rooms", project)

    def adopt(self, place: Repository) -> str:
        """Write the pointer file, with the project that this repository already has here. The project id."""
        self._check_outside(place)
        project = read_team(place.root) or self._remembered(place)
        if not self._write_once(place, config.POINTER, config.pointer_text(project)):
            raise Refusal(
                "PROJECT_ALREADY_INITIALIZED", f"{place.root} already has a pointer file; nothing was changed."
            )
        return project

    def keep_in_mind(self, place: Repository, project: str) -> None:
        """Remember a project that a pointer names, for the branches that lack the file. A mark spares the next hook
        from opening the machine room for it."""
        where = _whereabouts(place)
        if self._mark(where) == (project, where["common"]):
            return
        if not self._opens:
            raise NotAtHand
        try:
            self.of_repository(None).run(
                lambda tx: tx.change(SQL.remember, **where, project=project, wall=tx.wall),
                caller=self._house(),
                durable=False,
            )
        except Refusal:
            return  # the pointer itself still says it; the next call tries again
        self._write_mark(where, project)

    def _mark(self, where: dict[str, Any]) -> tuple[str, str]:
        """The project and the common directory that were noted for a repository beside the machine room."""
        file = _mark_file(self.settings.home, where)
        if self._shelf is not None and file in self._shelf.in_mind:
            return self._shelf.in_mind[file]
        try:
            with open(file, encoding="utf-8") as opened:
                project, _, common = opened.read().removesuffix("\n").partition(" ")
        except (OSError, ValueError):
            return "", ""
        if self._shelf is not None and len(self._shelf.in_mind) < _MARKS_MAX:
            self._shelf.in_mind[file] = project, common
        return project, common

    def _write_mark(self, where: dict[str, Any], project: str) -> None:
        mark = _mark_file(self.settings.home, where)
        if self._shelf is not None:
            self._shelf.in_mind.pop(mark, None)
        try:
            platforms.make_private(os.path.dirname(mark))
            descriptor = os.open(mark, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            try:
                os.write(descriptor, f"{project} {where['common']}\n".encode())
            finally:
                os.close(descriptor)
        except (OSError, ValueError):
            pass  # it is only a second memory

    def repositories(self, most: int) -> list[tuple[str, str]]:
        """The git directories that this machine remembers, with their projects; the one used last comes first."""
        if not os.path.exists(os.path.join(self.settings.home, "machine.db")):
            return []
        rows = self.of_repository(None).run(
            lambda tx: tx.all(SQL.repositories, limit=most), caller=self._house(), writes=False
        )
        return [(row.common_directory, row.project_id) for row in rows]

    def remembered(self, place: Repository) -> str | None:
        """The project of a repository as this machine remembers it, or None."""
        if not os.path.exists(os.path.join(self.settings.home, "machine.db")):
            return self._marked(place)
        return self._find(place)

    def file_to_restore(self, place: Repository, backed_up: str) -> Target:
        """Where the room of a repository is kept, which need not be there. backed_up: the project of a repository that
        has none yet."""
        self._check_outside(place)
        project = read_pointer(place.root) or read_team(place.root) or self.remembered(place)
        if project is None:
            project = backed_up
            self.keep_in_mind(place, project)
        folder = self.folder(project)
        if known_address(folder) is not None or read_team(place.root) is not None:
            raise Refusal(
                "STORAGE_CONFIGURATION",
                "This project's room is on a PostgreSQL server; restore it there, with pg_restore.",
            )
        return Target(os.path.join(folder, "room.db"), project)

    def share(self, place: Repository, project: str, address: str) -> bool:
        """Write down that this project's room is on a server: the fact in the repository, the address only here.
        Whether the pointer was written just now."""
        folder = self.folder(project)
        platforms.make_private(folder)
        aside = os.path.join(folder, f"address.{self.clock.new_id()}")
        descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, f"{address}\n".encode())
        finally:
            os.close(descriptor)
        os.replace(aside, os.path.join(folder, "address"))
        self._write_once(place, config.TEAM, config.team_text(project))
        return self._write_once(place, config.POINTER, config.pointer_text(project))

    def _write_once(self, place: Repository, name: str, text: str) -> bool:
        file = os.path.join(place.root, name)
        aside = f"{file}.{self.clock.new_id()}"
        try:
            with open(aside, "x", encoding="utf-8") as opened:
                opened.write(text)
            return platforms.put_in_place(aside, file)
        finally:
            if os.path.lexists(aside):
                os.unlink(aside)

    def ask(self, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Answer an operation in the room it belongs to: that of its paths, else that of the caller's folder."""
        try:
            return self._ask(operation, arguments, caller)
        except Refusal as refusal:
            if refusal.code != "STORAGE_CORRUPT" or not self._mended_while_open(refusal):
                raise
        return self._ask(operation, arguments, caller)

    def _ask(self, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        if operation.name == "claim_issue" and arguments.get("capabilities") is None and self.settings.capabilities:
            arguments = {**arguments, "capabilities": self.settings.capabilities}
        reply = self._answered(operation, arguments, caller)
        if operation.name == "claim_paths":
            self._copy_what_is_held(arguments, caller)
        return reply

    def _copy_what_is_held(self, arguments: dict[str, Any], caller: Caller) -> None:
        """Files that were claimed by name are copied as they are now, so that what others do to them can be undone. A
        claim stands without it."""
        from clearway.guard import snapshots

        looked_at: dict[str, tuple[Room, list[snapshots.Taken], list[tuple[str, str]]]] = {}
        for raw in arguments["paths"]:
            try:
                room, place = self.placed(raw, arguments.get("cwd") or caller.cwd)
                if place.repository is None:
                    continue
                store = snapshots.Store(self.settings.home, room.project, self.clock.wall())
                _, taken, leased = looked_at.setdefault(room.project, (room, [], []))
                taken += snapshots.copies(store, [place])
                leased.append((place.checkout, place.key))
            except (Refusal, OSError):
                continue
        for room, taken, leased in looked_at.values():

            def write(tx: Tx, taken: list[snapshots.Taken] = taken, leased: list[tuple[str, str]] = leased) -> None:
                snapshots.write(tx, taken, leased=leased)

            try:
                room.run(write, caller=caller, durable=False)
            except (Refusal, OSError):
                continue

    def _answered(self, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        groups = self._by_room(operation, arguments, caller)
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

    @property
    def projects(self) -> list[str]:
        """Whose rooms were asked."""
        return list(self._open)

    def close(self) -> None:
        for project, room in self._open.items():
            if self._shelf is None or project == _CHOSEN or (project, self._upgrade) in self._shelf.rooms:
                room.close()
            else:
                self._shelf.rooms[project, self._upgrade] = room
        self._open.clear()

    def locate(self, raw: str, cwd: str) -> Place:
        return repository.locate(raw, cwd, os.path.expanduser("~"), self.clock)

    def placed(self, raw: str, cwd: str) -> tuple[Room, Place]:
        """A path as somebody wrote it, or a named resource, and the room that it belongs to."""
        resource = paths.resource(raw)
        if resource is not None:
            return self.of_folder(cwd), repository.named(*resource)
        place = self.locate(raw, cwd)
        return self.of_repository(place.repository), place

    def _ask_several(
        self, operation: Operation, arguments: dict[str, Any], caller: Caller, groups: list[tuple[Room, list[str]]]
    ) -> dict[str, Any]:
        replies: list[dict[str, Any]] = []
        for place, (room, here) in enumerate(groups):
            try:
                replies.append(room.ask(operation, {**arguments, "paths": here}, caller))
            except Refusal:
                taken = [
                    (earlier[0], [lease["fence"] for lease in reply.get("granted", [])])
                    for earlier, reply in zip(groups, replies[:place], strict=False)
                ]
                self.give_back(taken, caller)
                raise
        names = {name: None for reply in replies for name in reply}
        return {name: [item for reply in replies for item in reply.get(name, [])] for name in names}

    def _by_room(
        self, operation: Operation, arguments: dict[str, Any], caller: Caller
    ) -> list[tuple[Room, list[str]]] | None:
        """The rooms that hold these paths, in order of id, each with its own; None when no path on a disk is given."""
        from clearway.arguments import checked, form

        if not form(operation).takes_paths:
            return None
        given: Any = next((arguments[name] for name in _PATH_ARGUMENTS if arguments.get(name)), None)
        listed = given if wire.is_list(given) else [given]
        raws: list[str] = [raw for raw in listed if isinstance(raw, str)]
        if not raws or len(raws) != len(listed):
            return None
        if len(raws) > PATHS_PER_CLAIM_MAX:  # each is looked for on the disk: too many are refused before that
            checked(operation, arguments, caller, self.clock)
        cwd = arguments.get("cwd")
        if not isinstance(cwd, str) or not cwd:
            cwd = caller.cwd  # the door refuses what is not a text
        by_project: dict[str, tuple[Room, list[str]]] = {}
        for raw in raws:
            room, _ = self.placed(raw, cwd)
            by_project.setdefault(room.engine.path, (room, []))[1].append(raw)
        return [by_project[project] for project in sorted(by_project)]

    # --- opening ------------------------------------------------------------------------------------------------

    def _kept(self, project: str) -> Room:
        """Open the room of a project, or the machine's; mend it first where that is needed and allowed."""
        if not self._opens:
            raise NotAtHand
        self._look_before_making(project)
        try:
            room = self._opened(project)
        except Refusal as refusal:
            if refusal.code != "STORAGE_CORRUPT" or not self._upgrade:
                raise
            self._mend(project)
            room = self._opened(project)
        if self._upgrade and room.engine.name == "sqlite":
            file = daily_backup(room.engine.path, self.clock)
            if not os.path.exists(file):
                from clearway import keeping

                keeping.daily(room, file)
        return room

    def _opened(self, project: str) -> Room:
        opening: dict[str, Any] = {
            "home": self.settings.home,
            "clock": self.clock,
            "liveness": self.liveness,
            "upgrade": self._upgrade,
            "lock_wait_ms": self._lock_wait_ms,
        }
        if project == MACHINE:
            return open_machine_room(**opening)
        return open_room(project, **opening)

    def _look_before_making(self, project: str) -> None:
        """A room is not begun anew beside what is left of it."""
        file = self._file(project)
        folder, name = os.path.split(file)
        if os.path.exists(file) or (project != MACHINE and os.path.exists(os.path.join(folder, "address"))):
            return
        if not _has_leftovers(folder, name):
            if project == MACHINE and os.path.isdir(os.path.join(folder, "rooms")):
                self._say(f"{file} is gone; a repository without {config.POINTER} may be given a new, empty room")
            return
        if not self._upgrade:
            raise Refusal(
                "STORAGE_CORRUPT",
                f"The file of the room in {folder} is gone; any clearway command restores its newest backup.",
            )
        self._mend(project)

    def _file(self, project: str) -> str:
        if project == MACHINE:
            return os.path.join(self.settings.home, "machine.db")
        return os.path.join(self.folder(project), "room.db")

    def mend(self, room: Room) -> None:
        """Mend a room in which damage was found, if it is proved."""
        room.close()
        self._mend(room.project)

    def _mend(self, project: str) -> None:
        """Mend a room if it is proved to be damaged, or gone beside its backups."""
        from clearway import keeping

        told = keeping.mend(self._file(project), project, self.clock, self._lock_wait_ms)
        if told is not None:
            self._say(told)

    def _mended_while_open(self, refusal: Refusal) -> bool:
        """The same for a room in which the damage showed while it was asked. Whether to ask again."""
        file = refusal.facts.get("file")
        damaged = next((each for each, room in self._open.items() if room.engine.path == file), None)
        if damaged is None or damaged == _CHOSEN or not self._upgrade or not self._opens:
            return False
        self._open.pop(damaged).close()
        self._mend(damaged)
        return True

    def _chosen(self, place: Repository | None) -> Room:
        """The room that --room or CLEARWAY_ROOM names, instead of the one that would be found."""
        room = self._open.get(_CHOSEN)
        if room is None:
            room = self._open[_CHOSEN] = self._open_chosen(place)
        return room

    def _open_chosen(self, place: Repository | None) -> Room:
        named = None if place is None else read_pointer(place.root) or read_team(place.root)
        opening: dict[str, Any] = {
            "home": self.settings.home,
            "clock": self.clock,
            "liveness": self.liveness,
            "upgrade": self._upgrade,
            "lock_wait_ms": self._lock_wait_ms,
        }
        if not config.is_address(self.settings.room):
            return open_room_file(os.path.realpath(os.path.expanduser(self.settings.room)), named, **opening)
        if named is None:
            raise Refusal(
                "PROJECT_NOT_FOUND",
                "The address of a server does not say which project is meant; go into a repository with "
                f"{config.POINTER}.",
            )
        return open_room(named, address=self.settings.room, make=False, **opening)

    # --- which project it is ----------------------------------------------------------------------------------------

    def _check_outside(self, place: Repository) -> None:
        home = self.settings.home
        if home == place.root or home.startswith(place.root.rstrip("/") + "/"):
            raise Refusal(
                "STORAGE_CONFIGURATION",
                f"CLEARWAY_HOME ({home}) is inside the repository {place.root}; choose another.",
                inside=place.root,
            )

    def _begins(self, place: Repository, project: str) -> bool:
        """Whether a project that has its file gets its first room here. A team's is never begun anew on a machine that
        does not know where the team's room is."""
        team = read_team(place.root)
        folder = self.folder(project)
        if team is None:
            kept = any(os.path.exists(os.path.join(folder, name)) for name in ("room.db", "address", "backups"))
            return not kept and read_pointer(place.root) is not None
        if known_address(folder) is not None:  # a file that holds none, as a crash may leave it, leads nowhere
            return False
        if team != project:
            raise Refusal(
                "INVALID_PROJECT_IDENTITY",
                f"{config.POINTER} and {config.TEAM} in {place.root} name two projects; restore them from version "
                "control.",
            )
        raise Refusal(
            "PROJECT_NOT_CONNECTED",
            "This project's room is on a PostgreSQL server whose address this machine does not know; "
            "run clearway init --database DSN.",
        )

    def _remembered(self, place: Repository) -> str:
        known = self._find(place)
        if known is not None:
            return known
        where = _whereabouts(place)
        # Under another name (moved, or mounted a second time) it is known by what its git directory says it is.
        repository.checkout_id(place, self.clock)
        made = self.of_repository(None).run(lambda tx: _remember(tx, where), caller=self._house())
        self._write_mark(where, made)
        return made

    def _find(self, place: Repository) -> str | None:
        where = _whereabouts(place)
        moved = _was_here_before(place)
        try:
            found = self.of_repository(None).run(
                lambda tx: _known(tx, where, moved=moved), caller=self._house(), writes=False
            )
        except Refusal:
            found = self._marked(place)
            if found is None:
                raise
        return found or self._marked(place)

    def _marked(self, place: Repository) -> str | None:
        """The project that was noted for a repository, if its room is there: should the machine room be gone."""
        where = _whereabouts(place)
        project, common = self._mark(where)
        if not project or (common != where["common"] and not _was_here_before(place)):
            return None
        return project if os.path.isdir(self.folder(project)) else None

    def _house(self) -> Caller:
        return Caller("clearway", host=self.liveness.host)


def _nowhere(folder: str) -> str:
    if not os.path.isabs(folder):
        return "Nobody said in which folder to look; name it whole (cwd, or the header Clearway-Cwd)."
    return f"{folder} is in no repository; go into one, or run clearway init in a project."


def _keep_silent(_: str) -> None:
    """What nobody wants to hear."""


def daily_backup(file: str, clock: Clock) -> str:
    """The name of today's backup of the room in `file`."""
    return os.path.join(os.path.dirname(file), "backups", f"daily-{iso(clock.wall())[:10]}.db")


def _mark_file(home: str, where: dict[str, Any]) -> str:
    return os.path.join(home, "run", "known", f"{where['device']}-{where['inode']}")


def _has_leftovers(folder: str, file: str) -> bool:
    """Whether a room that has no file has left anything: backups, or a file that was moved aside."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    if any(was_room(name, file) for name in names):
        return True
    return "backups" in names and bool(os.listdir(os.path.join(folder, "backups")))


def _whereabouts(place: Repository) -> dict[str, Any]:
    facts = os.stat(place.common or place.root)
    return {"common": place.common or place.root, "device": facts.st_dev, "inode": facts.st_ino}


def _was_here_before(place: Repository) -> bool:
    """Whether this very git directory has been in a room: it holds its checkout's id, and its inode is no other's."""
    return bool(place.git) and os.path.exists(os.path.join(place.git, repository.CHECKOUT_FILE))


def _known(tx: Tx, where: dict[str, Any], *, moved: bool) -> str | None:
    row = tx.one(SQL.find, common=where["common"], inode=where["inode"])
    if row is None and moved:
        row = tx.one(SQL.find_moved, device=where["device"], inode=where["inode"])
    return None if row is None else row.project_id


def _remember(tx: Tx, where: dict[str, Any]) -> str:
    known = _known(tx, where, moved=False)  # another process may have been first
    if known is not None:
        return known
    made = tx.new_id()
    tx.change(SQL.remember, **where, project=made, wall=tx.wall)
    return made


def _give_back(tx: Tx, fences: list[int]) -> None:
    from clearway import lapse

    lapse.release(tx, [row for fence in fences for row in tx.all(SQL.by_fence, fence=fence)], "undone")
