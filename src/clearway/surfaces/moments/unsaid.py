"""Words for a client that takes none at this moment: kept until the next moment at which it does.

Some clients let a hook speak to the model only after a call, not before it. What is told there is told once, so it may
not be dropped. A short file a session holds it; what cannot be kept is lost without harm to the call.
"""

from __future__ import annotations

import os

from clearway import platforms
from clearway.beats import file_name
from clearway.limits import TRAIL_KEPT_MS, UNSAID_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from clearway.surfaces.moments import Decision, Visit


def in_its_time(visit: Visit, decision: Decision, taking: Container[str]) -> None:
    """Keep what is to be said now and cannot be, or add what could not be said before. taking: the moments at which
    the client takes words for its model."""
    folder = os.path.join(visit.rooms.settings.home, "run", "unsaid")
    file = os.path.join(folder, file_name(visit.key))
    moment = visit.call.moment
    try:
        if moment in taking:
            earlier = _taken(file)
            decision.context = "\n".join(filter(None, (earlier, decision.context)))
        elif decision.context:
            _keep(folder, file, decision.context)
        if moment == "start":
            platforms.remove_older(folder, visit.rooms.clock.wall() - TRAIL_KEPT_MS)
        elif moment == "end":
            os.unlink(file)
    except (OSError, ValueError):
        pass


def _taken(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as kept:
            text = kept.read(UNSAID_BYTES_MAX)
        os.unlink(file)
    except FileNotFoundError:
        return ""
    return text.strip()


def _keep(folder: str, file: str, text: str) -> None:
    platforms.make_private(folder)
    descriptor = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        if os.fstat(descriptor).st_size < UNSAID_BYTES_MAX:
            os.write(descriptor, f"{text}\n".encode("utf-8", "backslashreplace"))
    finally:
        os.close(descriptor)
