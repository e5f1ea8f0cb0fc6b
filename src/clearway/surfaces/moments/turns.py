"""When a turn, a subagent or a session begins or ends: leases come and go, and the session is told what is new.

A session that ends to go on under another id gives nothing back. A prompt after a turn of which nobody told the end is
that end first.
"""

from __future__ import annotations

from clearway.limits import BRIEF_BYTES_MAX, MAIL_BYTES_MAX, MAIL_BYTES_MIN, SESSION_CHARS_MAX
from clearway.surfaces.moments import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.opencalls import OpenCall
    from clearway.room import Room
    from clearway.surfaces.moments import Visit

GOES_ON = frozenset({"clear", "resume"})  # a session that ends so goes on under another id


def start(visit: Visit) -> Decision:
    """A session starts, or goes on after its context was cleared or compacted."""
    from clearway.crew import agents, briefing
    from clearway.guard import readset
    from clearway.surfaces.moments import failing, spending, watching
    from clearway.tally import Tally

    source = visit.call.source
    visit.still_here()
    over = visit.calls.close(visit.key, "") if source == "compact" else visit.calls.forget(visit.key)
    _free_runs(visit, over)
    visit.calls.sweep()
    visit.trail.sweep(visit.rooms.clock.wall())
    Tally(visit.rooms.settings.home).sweep(visit.rooms.clock.wall())
    readset.sweep(visit.rooms.settings.home, visit.rooms.clock.wall())
    spending.begin(visit)
    spending.sweep(visit.rooms.settings.home, visit.rooms.clock.wall())
    room = visit.home
    if room is None:
        return visit.decision
    failing.remember(visit, room)
    earlier = room.run(lambda tx: agents.begin_session(tx, source), caller=visit.caller, durable=False)
    if earlier is not None:
        _take_over(visit, earlier, room)

    def tell(tx: Tx) -> None:
        visit.hear(room, tx)
        visit.decision.add(briefing.brief(tx))
        visit.read_mail(tx, room, max(MAIL_BYTES_MIN, BRIEF_BYTES_MAX - len(visit.decision.context.encode())))

    room.run(tell, caller=visit.caller, writes=False)
    watching.quietly(visit, lambda: watching.arrived(visit))
    return visit.decision


def prompt(visit: Visit) -> Decision:
    """A person, or a message, starts a turn. Told is what is new; usually that is nothing."""
    from clearway.crew import agents, briefing, leases

    room = visit.home
    if room is None:
        return visit.decision
    visit.still_here()
    running = visit.calls.close(visit.key, "", visit.call.running)
    background = visit.calls.background(visit.key)

    def begin(tx: Tx) -> str:
        unannounced = tx.opening.session is None  # some clients tell no start, or not always
        if unannounced:
            agents.begin_session(tx)
        elif agents.is_in_turn(tx):
            leases.end_turn(tx, "", background)
        agents.turn(tx, begins=True)
        visit.hear(room, tx)
        visit.read_mail(tx, room, MAIL_BYTES_MAX)
        return briefing.brief(tx) if unannounced else briefing.news(tx)

    _free_runs(visit, running)
    visit.decision.add(room.run(begin, caller=visit.caller, durable=False))
    return visit.decision


def child_start(visit: Visit) -> Decision:
    """A subagent begins: it is told whose leases it works under."""
    from clearway.crew import briefing

    visit.still_here()
    _free_runs(visit, visit.calls.close(visit.key, visit.caller.thread))
    room = visit.home
    if room is None:
        return visit.decision

    def tell(tx: Tx) -> str:
        visit.hear(room, tx)
        return briefing.brief(tx)

    visit.decision.add(room.run(tell, caller=visit.caller, writes=False))
    return visit.decision


def compact(visit: Visit) -> Decision:
    """The client is about to forget the better part of its context: where the work stands is kept."""
    from clearway.surfaces.moments import gathering

    gathering.keep(visit, "before the context was compacted")
    visit.listen()
    return Decision()


def stop(visit: Visit) -> Decision:
    """A turn ends, of the session or of a subagent. What still runs in the background keeps what it holds."""
    from clearway.crew import agents, leases

    thread = visit.caller.thread
    if visit.call.moment == "child_stop" and not thread:  # whose it was is not said; it was not the session's own turn
        visit.listen()
        return Decision()
    visit.still_here()
    _free_runs(visit, visit.calls.close(visit.key, thread, visit.call.running))
    background = visit.calls.background(visit.key)

    def end(tx: Tx) -> None:
        leases.end_turn(tx, thread, background)
        if not thread:
            agents.turn(tx, begins=False)

    _note_cost(visit)
    for room in visit.all_rooms():
        room.run(end, caller=visit.caller, durable=False)
    visit.mark_calls()
    return Decision()


def end(visit: Visit) -> Decision:
    """A session ends. Its paths go at once, unless it says that it goes on under another id."""
    from clearway.crew import agents
    from clearway.guard import readset
    from clearway.surfaces.moments import gathering

    source = visit.call.source
    gathering.keep(visit, "at the end of the session")
    _note_cost(visit)
    goes_on = source in GOES_ON
    if not goes_on:  # while it still is a session that can be told of
        _free_runs(visit, visit.calls.close(visit.key, None, []))
    for room in visit.all_rooms():
        if goes_on:
            room.run(agents.move, caller=visit.caller, durable=False)
        else:
            room.run(lambda tx: agents.leave(tx, source or "ended"), caller=visit.caller, durable=False)
    if goes_on:
        visit.calls.close(visit.key, None)
    else:
        visit.calls.forget(visit.key)
        worker = _worker(visit)
        if worker:  # which ends the work itself: what was seen is seen of that
            visit.trail.hand_over(visit.key, worker)
        else:
            visit.trail.forget(visit.key)
        readset.forget(visit.rooms.settings.home, visit.key)
    return Decision()


def _note_cost(visit: Visit) -> None:
    """What the client's transcript says that the turn has cost, where it names one. A worker counts its runs itself."""
    if visit.call.raw.get("transcript_path") and not _worker(visit):
        from clearway.surfaces.moments import spending

        spending.note(visit)


def _worker(visit: Visit) -> str:
    """The session of the worker that runs this client for something it has taken; empty for none."""
    return visit.rooms.settings.environ.get("CLEARWAY_WORKER", "")[:SESSION_CHARS_MAX]


def _take_over(visit: Visit, earlier: str, begun: Room) -> None:
    """The work of another session goes on here: in its other rooms, too."""
    from clearway.crew import agents
    from clearway.guard import readset

    visit.trail.hand_over(earlier, visit.key)
    readset.hand_over(visit.rooms.settings.home, earlier, visit.key)
    visit.calls.forget(earlier)
    for room in visit.rooms.of_session(earlier):
        if room is not begun:
            room.run(lambda tx: agents.go_on_elsewhere(tx, earlier), caller=visit.caller, durable=False)


def _free_runs(visit: Visit, over: list[OpenCall]) -> None:
    visit.end_runs([(call.name, call.rooms) for call in over])
    if any(call.watched is not None for call in over):
        from clearway.surfaces.moments import watching

        watching.over(visit, over)
