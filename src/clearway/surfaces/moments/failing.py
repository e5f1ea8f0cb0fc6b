"""The fail mode of a room that can no longer be asked: a file beside it remembers that it is to fail closed.

A damaged room cannot say what its people decided. The file is put right whenever a session starts.
"""

from __future__ import annotations

import os

from clearway import policy
from clearway.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
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


def _file(visit: Visit, project: str) -> str:
    return os.path.join(visit.rooms.folder(project), _NAME)
