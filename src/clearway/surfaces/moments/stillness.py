"""After a call: is the session alive and not moving? The same command fails again and again, or the same edit is made
and taken back. Loaded only when its trail looks so; what is seen is told once, to the session and to a person.
"""

from __future__ import annotations

from clearway import lapse
from clearway.limits import SESSION_CHARS_MAX, TRAIL_FAILURES, TRAIL_FAILURES_WORKED_ON, TRAIL_RETURNS
from clearway.trail import CHANGED, RAN
from clearway.untrusted import ending, folded, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx
    from clearway.surfaces.moments import Visit
    from clearway.trail import Step

_SHOWN_CHARS = 120
_WAYS = "A person is told. Go another way, or end and say what is in the way"


def look(visit: Visit) -> None:
    """Warn whoever works on something here and does not get on."""
    steps = visit.trail.steps(visit.key)
    if not steps:
        return

    # What a worker has started works on what the worker has claimed.
    worker = visit.rooms.settings.environ.get("CLEARWAY_WORKER", "")[:SESSION_CHARS_MAX]

    def mind(tx: Tx) -> None:
        attempt = lapse.current_attempt(tx, worker)
        if attempt is None or attempt.warned_at is not None:
            return
        found = seen([step for step in steps if step.wall >= attempt.started_wall])
        if found is None:
            return
        lapse.warn(tx, attempt, **found)
        if worker:  # whose hooks tell it nothing: it has none
            visit.decision.add(f"[clearway] This does not move: {_said(found)}. {_WAYS}.")

    for room in visit.all_rooms():
        if room.run(lambda tx: lapse.current_attempt(tx, worker), caller=visit.caller, writes=False) is not None:
            room.run(mind, caller=visit.caller, durable=False)


def _said(found: dict[str, Any]) -> str:
    what, times = quoted(found["what"], 80), found["times"]
    if found["why"] == lapse.FAILING:
        return f"{what} has failed {times} times"
    return f"the same edit of {what} was made {times} times and taken back in between"


def seen(steps: list[Step]) -> dict[str, Any] | None:
    """What is the matter, by the last step, as the log tells it."""
    last = steps[-1] if steps else None
    if last is None:
        return None
    return _failing(steps, last) if last.kind == RAN else _circling(steps, last)


def _failing(steps: list[Step], last: Step) -> dict[str, Any] | None:
    """The same command failed, in a row as far as itself goes. With changes in between it may fail more often."""
    times, alone, has_worked = 0, 0, False
    for step in reversed(steps):
        if step.kind == CHANGED:
            has_worked = True
        elif step.what == last.what:
            if not step.status:
                break
            times += 1
            alone += not has_worked
    if not last.status or not (alone >= TRAIL_FAILURES or times >= TRAIL_FAILURES_WORKED_ON):
        return None
    return {"why": lapse.FAILING, "times": times, "what": folded(last.what, _SHOWN_CHARS)}


def _circling(steps: list[Step], last: Step) -> dict[str, Any] | None:
    times = sum(step.kind == CHANGED and (step.what, step.print) == (last.what, last.print) for step in steps)
    if last.print is None or times < TRAIL_RETURNS:
        return None
    return {"why": lapse.CIRCLING, "times": times, "what": ending(last.what, _SHOWN_CHARS)}
