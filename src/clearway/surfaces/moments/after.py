"""After a call: what it held for its run is free, its mark is gone, and what it did is remembered for checkpoints."""

from __future__ import annotations

import os

from clearway.surfaces.moments import OWN_TOOLS
from clearway.surfaces.moments.before import given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.surfaces.moments import Decision, Visit

_OPENED = frozenset({"shell", "agent", "mcp"})


def after(visit: Visit) -> Decision:
    call = visit.call
    if call.tool.startswith(OWN_TOOLS):
        visit.calls.done(call.call or "")
    elif call.kind in _OPENED:
        _close(visit)
    _remember(visit)
    visit.listen()
    return visit.decision


def _close(visit: Visit) -> None:
    """The call is over; or it only says that it goes on in the background."""
    call, thread = visit.call, visit.caller.thread
    if call.task:
        opened = visit.calls.find(visit.key, thread, call.call or "", given(call))
        if opened is not None:
            opened.task = call.task
            visit.calls.note(visit.key, opened)
        return
    visit.still_here()
    ended = visit.calls.end(visit.key, thread, call.call or "", given(call))
    if ended is not None:
        visit.end_runs([(ended.name, ended.rooms)])
        visit.mark_calls()


def _remember(visit: Visit) -> None:
    from clearway.guard import glance

    call = visit.call
    if call.kind in ("edit", "mcp") and call.targets and call.moment == "after":
        wall = visit.rooms.clock.wall()
        visit.trail.changed(visit.key, wall, [_absolute(target.path, visit.caller.cwd) for target in call.targets])
    elif call.kind == "shell" and not (call.status in (0, None) and glance.is_short(call.command)):
        visit.trail.ran(visit.key, visit.rooms.clock.wall(), call.command, call.status)


def _absolute(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))
