"""After a call: what it held for its run is free, its mark is gone, and what it did is remembered for checkpoints."""

from __future__ import annotations

import os

from clearway.surfaces.moments import OWN_TOOLS, has_others
from clearway.surfaces.moments.before import given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.opencalls import OpenCall
    from clearway.surfaces.moments import Decision, Visit

_OPENED = frozenset({"shell", "agent", "mcp"})


def after(visit: Visit) -> Decision:
    call = visit.call
    if call.tool.startswith(OWN_TOOLS):
        visit.calls.done(call.call or "")
    elif call.kind in _OPENED:
        _look(visit, _close(visit))
    _remember(visit)
    visit.listen()
    return visit.decision


def _look(visit: Visit, ended: OpenCall | None) -> None:
    """What the call did to held files: nothing, if it can have written nothing."""
    call = visit.call
    if call.kind == "agent" or call.task:
        return
    if ended is None and call.kind == "shell":
        from clearway.guard.writers import cannot_write

        if cannot_write(call.command):
            return
    if not (ended is not None and ended.watched) and not visit.is_elsewhere() and not visit.minds(_has_something):
        return
    from clearway.surfaces.moments import watching

    watching.quietly(visit, lambda: watching.ran(visit, ended))


def _has_something(tx: Tx) -> bool:
    """A room without other sessions, in which nothing was copied, has nothing to look after."""
    return bool(tx.opening.watched) or has_others(tx)


def _are_elsewhere(visit: Visit, paths: list[str]) -> bool:
    """Whether another room may have to be asked than that of the client's folder."""
    here = visit.folder()
    return here is None or not all(path.startswith(here.root.rstrip(os.sep) + os.sep) for path in paths)


def _close(visit: Visit) -> OpenCall | None:
    """The call is over; or it only says that it goes on in the background. What was known of it."""
    call, thread = visit.call, visit.caller.thread
    if call.task:
        opened = visit.calls.find(visit.key, thread, call.call or "", given(call))
        if opened is not None:
            opened.task = call.task
            visit.calls.note(visit.key, opened)
        return None
    visit.still_here()
    ended = visit.calls.end(visit.key, thread, call.call or "", given(call))
    if ended is not None:
        visit.end_runs([(ended.name, ended.rooms)])
        visit.mark_calls()
    return ended


def _remember(visit: Visit) -> None:
    from clearway.guard import glance

    call = visit.call
    if call.kind in ("edit", "mcp") and call.targets and call.moment == "after":
        from clearway.surfaces.moments import reading

        paths = [_absolute(target.path, visit.caller.cwd) for target in call.targets]
        visit.trail.changed(visit.key, visit.rooms.clock.wall(), paths)
        reading.edited(visit, paths)
        if _are_elsewhere(visit, paths) or visit.minds(_has_something):
            from clearway.surfaces.moments import watching

            watching.quietly(visit, lambda: watching.edited(visit, paths))
    elif call.kind == "shell" and not (call.status in (0, None) and glance.is_short(call.command)):
        visit.trail.ran(visit.key, visit.rooms.clock.wall(), call.command, call.status)


def _absolute(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))
