"""`clearway init`: a repository gets its room, here or on a team's server, and the file that finds it again.

What the repository has already is adopted, never begun anew beside it: a room that was made before the file was, a
team's room on a server, a room that this machine remembers. The address of a server, which may hold a password, is
kept on this machine alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from clearway import config, keeping, worktrees
from clearway.config import Caller
from clearway.db import copies, statements
from clearway.db.tx import Tx
from clearway.errors import Refusal
from clearway.limits import TITLE_CHARS_MAX
from clearway.repository import Repository
from clearway.room import Room, known_address, open_room
from clearway.rooms import Rooms

SQL = statements(__file__)


@dataclass(frozen=True)
class Founded:
    """What there is now. issues: how many the room had already; pointer: whether its file was written just now."""

    project: str
    root: str
    room: str
    issues: int
    pointer: bool
    team: bool
    aside: str = ""


def found(rooms: Rooms, place: Repository, *, database: str = "", name: str = "") -> Founded:
    """Make or adopt the room of a repository."""
    if worktrees.is_bare(place):
        raise Refusal(
            "PATH_INVALID",
            f"{place.root} is a bare repository, without files; go into one of its worktrees (git worktree list).",
        )
    if not place.git and place.root in ("/", os.path.realpath(os.path.expanduser("~"))):
        raise Refusal("PATH_TOO_WIDE", f"{place.root} is too wide for one project; go into the project's own folder.")
    if len(name) > TITLE_CHARS_MAX:
        raise Refusal("LIMIT_EXCEEDED", f"A project's name has at most {TITLE_CHARS_MAX} characters.")
    return _on_a_server(rooms, place, database, name) if database else _here(rooms, place, name)


def _here(rooms: Rooms, place: Repository, name: str) -> Founded:
    if config.read_pointer(place.root) is not None:
        team = config.read_team(place.root)
        is_strange = team is not None and known_address(rooms.folder(team)) is None
        way = "clearway init --database DSN" if is_strange else "clearway connect"
        raise Refusal(
            "PROJECT_ALREADY_INITIALIZED",
            f"{place.root} has its {config.POINTER} already; nothing was changed. Go on with {way}.",
        )
    room = rooms.of_repository(place)  # before the pointer: it may name only a room that opens
    issues = _prepared(room, name)
    project = rooms.adopt(place)
    return Founded(project, place.root, room.engine.path, issues, pointer=True, team=False)


def _on_a_server(rooms: Rooms, place: Repository, database: str, name: str) -> Founded:
    """The team file says that there is a room already; without it, the first comes to make one."""
    team = config.read_team(place.root)
    pointer = config.read_pointer(place.root)
    if team and pointer and team != pointer:
        raise Refusal(
            "INVALID_PROJECT_IDENTITY", f"{config.POINTER} and {config.TEAM} in {place.root} name two projects."
        )
    project = team or pointer or rooms.remembered(place) or rooms.clock.new_id()
    _refuse_to_hide(rooms, project)
    try:
        room = open_room(
            project,
            home=rooms.settings.home,
            clock=rooms.clock,
            liveness=rooms.liveness,
            address=database,
            make=team is None,
        )
    except Refusal as refusal:
        if refusal.code != "PROJECT_NOT_FOUND":
            raise
        raise Refusal(
            "PROJECT_NOT_FOUND",
            "There is no room of this project at that address; check the address. To begin a new room there, remove "
            f"{config.TEAM} first.",
        ) from refusal
    try:
        issues = _prepared(room, name)
        rooms.keep_in_mind(place, project)
        written = rooms.share(place, project, database)
        aside = keeping.move_aside(_local(rooms, project), rooms.clock, "replaced")
        return Founded(project, place.root, room.engine.path, issues, pointer=written, team=True, aside=aside)
    finally:
        room.close()


def _local(rooms: Rooms, project: str) -> str:
    return os.path.join(rooms.folder(project), "room.db")


def _refuse_to_hide(rooms: Rooms, project: str) -> None:
    """A local room that has issues is not left behind without a word."""
    file = _local(rooms, project)
    if not os.path.exists(file):
        return
    here = copies.facts_of(file)
    if here is None or here.issues:
        raise Refusal(
            "PROJECT_ALREADY_INITIALIZED",
            f"This project has its room, with issues, in {file}; a room on a server would begin without them. Write a "
            "backup and move the file away, if that is what you want.",
        )


def _prepared(room: Room, name: str) -> int:
    """How many issues the room has; the name is written where one is given."""

    def act(tx: Tx) -> int:
        if name:
            tx.change(SQL.name_project, name=name)
        return tx.all(SQL.count_issues)[0].count

    return room.run(act, caller=Caller("clearway", host=room.liveness.host), writes=bool(name))
