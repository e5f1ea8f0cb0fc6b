"""The fail mode of a room that can no longer be asked: a file beside it remembers that it is to fail closed.

A damaged room cannot say what its people decided. The file is put right whenever a session starts.
"""

from __future__ import annotations

import os

from clearway import policy, repository
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.rooms import Rooms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.room import Room
    from clearway.surfaces.moments import Visit

_NAME = "fail-closed"


def remember(visit: Visit, room: Room) -> None:
    """Keep what the room has decided."""
    closed = room.run(lambda tx: policy.value(tx, "fail"), caller=visit.caller, writes=False) == "closed"
    file = _file(visit, room.project)
    try:
        if closed and not os.path.exists(file):
            os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        elif not closed and os.path.exists(file):
            os.unlink(file)
    except OSError:
        pass  # the room itself still says it


def is_remembered(visit: Visit) -> bool:
    """Whether the room of the folder in which the client works was to fail closed when it could last be asked."""
    try:
        here = visit.folder()
        return here is not None and os.path.exists(_file(visit, visit.rooms.project_of(here)))
    except (OSError, Refusal):
        return False


def is_closed_at(folder: str, environ: Mapping[str, str], *, is_late: bool) -> bool:
    """The fail mode of the room of a folder, for a call that could not be understood. is_late: what is remembered of it
    must do."""
    try:
        rooms = Rooms(Settings(environ), upgrade=False, lock_wait_ms=0)
        place = repository.holding(os.path.realpath(folder)) if os.path.isabs(folder) else None
        project = None if place is None else rooms.known(place)
        if place is None or project is None:
            return False
        try:
            if not is_late:
                asks = Caller("clearway", host=rooms.liveness.host)
                told = rooms.of_repository(place).run(lambda tx: policy.value(tx, "fail"), caller=asks, writes=False)
                return told == "closed"
        except Exception:  # the room cannot be asked
            pass
        return os.path.exists(os.path.join(rooms.folder(project), _NAME))
    except (OSError, ValueError, Refusal):
        return False


def _file(visit: Visit, project: str) -> str:
    return os.path.join(visit.rooms.folder(project), _NAME)
