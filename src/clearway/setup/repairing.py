"""`clearway doctor --repair`: what the doctor finds and a program can mend.

State is closed to others again, a damaged or missing room is mended, an older one brought forward, and what a client
has of ours is registered anew as this version would. What was never connected stays unconnected, and nothing is
removed.
"""

from __future__ import annotations

from clearway import platforms, worktrees
from clearway.config import Settings
from clearway.errors import Refusal
from clearway.repository import Repository
from clearway.rooms import Rooms
from clearway.setup import doctor, githooks, registrations, upkeep
from clearway.setup.connect import CLIENTS, connect
from clearway.setup.registered import Binding


def repair(settings: Settings, folder: str) -> list[str]:
    """Mend what can be mended; a sentence for each thing that was done, or that could not be."""
    place = worktrees.around(folder)
    done: list[str] = []
    _close_to_others(settings, done)
    if place is not None:
        _room(settings, place, done)
        _git_hooks(settings, place, done)
    for name in CLIENTS:
        _registration(name, settings, place.root if place else "", done)
    return done


def _close_to_others(settings: Settings, done: list[str]) -> None:
    for path in doctor.open_to_others(settings.home):
        platforms.keep_private(path)
        done.append(f"{path} is closed to other users")


def _room(settings: Settings, place: Repository, done: list[str]) -> None:
    rooms = Rooms(settings, say=done.append)
    try:
        if rooms.known(place) is not None:
            room = rooms.of_repository(place)
            if room.engine.integrity(full=True):
                rooms.mend(room)
                room = rooms.of_repository(place)
            done += upkeep.put_right(room)
    except Refusal as refusal:
        done.append(f"the room could not be mended: {refusal.code}: {refusal.message}")
    finally:
        rooms.close()


def _git_hooks(settings: Settings, place: Repository, done: list[str]) -> None:
    """Hooks that were installed are what this version would install."""
    record = githooks.recorded(place)
    if record is None:
        return
    try:
        if githooks.faults(place, settings, record) or not githooks.is_current(place, settings, record):
            mended = githooks.install(place, settings)
            done += [*mended.changed, *mended.kept]
    except (Refusal, OSError) as problem:
        done.append(f"the git hooks could not be put right: {problem}")


def _registration(name: str, settings: Settings, root: str, done: list[str]) -> None:
    found = registrations.standing(name, settings, root)
    if found is None:
        return
    scope, bound = found
    environ = _as_bound(settings, bound)
    try:
        changed = connect(
            [name],
            settings.home,
            environ=environ,
            write=True,
            scope=scope,
            agent_name=bound.agent,
            project=root if scope == "project" else "",
        )
    except (Refusal, ValueError) as problem:
        done.append(f"{name} could not be registered again: {problem}")
        return
    done += [f"{change.file} registers what this version does" for change in changed if change.diff]


def _as_bound(settings: Settings, bound: Binding) -> dict[str, str]:
    """A registration that fails closed goes on to."""
    return dict(settings.environ) | ({"CLEARWAY_FAIL_CLOSED": "1"} if bound.fail_closed else {})
