"""After a call: what it held for its run is free, its mark is gone, and what it did is remembered for checkpoints."""

from __future__ import annotations

import os

from clearway.surfaces.moments import OWN_TOOLS, has_others
from clearway.surfaces.moments.before import given, input_of
from clearway.trail import print_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.guard.toolcall import ToolCall
    from clearway.opencalls import OpenCall
    from clearway.surfaces.moments import Decision, Visit

_JOINS = frozenset("|;&\n")
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
        if visit.trail.changed(visit.key, visit.rooms.clock.wall(), paths, print_of(input_of(call))):
            _look_closer(visit)
        reading.edited(visit, paths)
        if _are_elsewhere(visit, paths) or visit.minds(_has_something):
            from clearway.surfaces.moments import watching

            watching.quietly(visit, lambda: watching.edited(visit, paths))
    elif call.kind == "shell" and not (call.status in (0, None) and glance.is_short(call.command)):
        if visit.trail.ran(visit.key, visit.rooms.clock.wall(), call.command, _status(call)):
            _look_closer(visit)


def _status(call: ToolCall) -> int | None:
    """How a command ended. Of a line that may run tests more than its exit status may have to be looked at, above all
    where the client tells none."""
    command = call.command
    if not ("test" in command or "spec" in command) or (call.status is not None and _JOINS.isdisjoint(command)):
        return call.status
    from clearway.surfaces.moments import testing

    return testing.status(call)


def _look_closer(visit: Visit) -> None:
    """The session may be alive and not moving."""
    from clearway.surfaces.moments import stillness

    stillness.look(visit)


def _absolute(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))
