"""A client's hook: one JSON payload in, one verdict out in that client's own dialect.

This is the full step: it opens the room in its own process, asks the guard's one question, and leaves. It never crashes
and never answers late: what it cannot read or reach follows the fail mode, open with one visible line unless closed was
chosen. At the end of a turn it never says "deny", whatever happens: clients loop on that.
"""

from __future__ import annotations

import os

from clearway import config, repository, wire
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.limits import HOOK_LOCK_WAIT_MS, PATHS_PER_CALL_MAX, PAYLOAD_BYTES_MAX
from clearway.rooms import Rooms
from clearway.surfaces import callers
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from clearway.db.tx import Tx
    from clearway.guard.toolcall import Target, ToolCall
    from clearway.repository import Place
    from clearway.room import Room

CLIENTS = ("claude", "codex", "generic")
_ENDS = frozenset({"stop", "interrupt", "idle", "child_stop", "end"})
_DENIABLE = frozenset({"before"})
_TOLD_AGAIN = frozenset({"PATH_HELD", "PATH_OTHER_CHECKOUT"})
_COMES_BACK = frozenset({"clear", "resume"})  # a session that ends so goes on under another id


class Decision:
    """What the guard answers: a reason to deny, context to add, both empty for a silent allow."""

    __slots__ = ("context", "deny", "warning")

    def __init__(self, deny: str = "", context: str = "", warning: str = "") -> None:
        self.deny = deny
        self.context = context
        self.warning = warning


def main(client: str, raw: bytes) -> NoReturn:
    """Answer the hook of `client`, which got `raw` on stdin, and leave at once, without the interpreter's farewell."""
    code = 0
    try:
        out, err, code = answer(client, raw, os.environ)
        _write(1, out)
        _write(2, err)
    except BaseException as error:
        _write(2, f"clearway: guard open (INTERNAL {type(error).__name__})\n")
    os._exit(code)


def answer(client: str, raw: bytes, environ: Mapping[str, str]) -> tuple[str, str, int]:
    """stdout, stderr and exit status for one payload."""
    if config.flag(environ, "CLEARWAY_OFF"):
        return "", "", 0
    adapter = _adapter(client)
    fail_closed = config.flag(environ, "CLEARWAY_FAIL_CLOSED") or config.flag(environ, "AGENT_LEASE_FAIL_CLOSED")
    payload, problem = _payload(raw)
    call = adapter.read(payload, environ)
    call.cwd = call.cwd or _own_folder()
    if problem:
        call.problem = problem
    try:
        if call.problem:
            raise Refusal("INVALID_ARGUMENT", call.problem)
        decision = decide(call, Settings(environ))
    except Refusal as refusal:
        decision = _failed(call, refusal, closed=fail_closed, environ=environ)
    except Exception as error:
        bug = Refusal("INTERNAL", f"{type(error).__name__}: {error}")
        decision = _failed(call, bug, closed=fail_closed, environ=environ)
    out, err, code = adapter.answer(call, decision)
    return out, decision.warning + err, code


def decide(call: ToolCall, settings: Settings) -> Decision:
    """What becomes of one event of one client."""
    rooms = Rooms(settings, upgrade=False, lock_wait_ms=HOOK_LOCK_WAIT_MS)
    caller = callers.of_hook(call, settings, rooms.liveness)
    decision = _decide(call, rooms, caller)
    for room in rooms.others_of(caller.key):  # a beat renews everything that a session holds, wherever it works
        room.run(_only_a_beat, caller=caller, writes=False)
    return decision


def _decide(call: ToolCall, rooms: Rooms, caller: Caller) -> Decision:
    if call.moment == "before":
        return _before(call, rooms, caller)
    home_room = _home_room(rooms, caller)
    if call.moment in _ENDS:
        for room in _each_once([home_room, *rooms.of_session(caller.key)]):
            _end(call, room, caller)
        return Decision()
    return Decision(context=_event(call, home_room, caller) if home_room is not None else "")


def _event(call: ToolCall, room: Room, caller: Caller) -> str:
    """Everything that neither asks nor ends anything. Any of it is a sign of life."""
    from clearway.crew import agents, briefing

    if call.moment == "start":
        room.run(agents.begin_session, caller=caller, durable=False)
        return room.run(briefing.brief, caller=caller, writes=False)
    if call.moment == "prompt":
        room.run(lambda tx: agents.turn(tx, begins=True), caller=caller, durable=False)
    else:
        room.run(_only_a_beat, caller=caller, writes=False)
    return ""


def _end(call: ToolCall, room: Room, caller: Caller) -> None:
    """A turn, a subagent's turn or a session ends in one of the rooms it worked in."""
    from clearway.crew import agents, leases

    if call.moment == "child_stop":
        room.run(lambda tx: leases.end_turn(tx, caller.thread), caller=caller, durable=False)
    elif call.moment != "end":
        room.run(lambda tx: leases.end_turn(tx, caller.thread), caller=caller, durable=False)
        room.run(lambda tx: agents.turn(tx, begins=False), caller=caller, durable=False)
    elif call.source not in _COMES_BACK:
        room.run(lambda tx: agents.leave(tx, call.source or "ended"), caller=caller, durable=False)


def _only_a_beat(_: Tx) -> None:
    """Nothing is asked; the door notes that the session lives."""


def _each_once(rooms: list[Room | None]) -> list[Room]:
    return list({id(room): room for room in rooms if room is not None}.values())


def _before(call: ToolCall, rooms: Rooms, caller: Caller) -> Decision:
    """Refuse what another holds, claim what is free, and be silent about the rest."""
    targets = _targets(call)
    if len(targets) > PATHS_PER_CALL_MAX:
        return Decision(deny=_sentence(Refusal("LIMIT_EXCEEDED", f"One call may touch {PATHS_PER_CALL_MAX} paths.")))
    if not targets:
        room = _home_room(rooms, caller)
        if room is not None:
            room.run(_only_a_beat, caller=caller, writes=False)
        return Decision()
    try:
        places = _located(call, targets, rooms, caller)
        return _ask_each_room(rooms, caller, places)
    except Refusal as refusal:
        if refusal.code in ("PATH_HELD", "PATH_INVALID", "PATH_OTHER_CHECKOUT"):
            return Decision(deny=_sentence(refusal))
        raise


def _targets(call: ToolCall) -> list[Target]:
    if call.kind == "edit":
        return call.targets
    if call.kind == "shell":
        from clearway.guard import shell

        found = shell.writes(call.command, call.cwd or "", os.path.expanduser("~"))
        return [*call.targets, *found.targets, *found.patch_targets]
    return []


def _located(call: ToolCall, targets: list[Target], rooms: Rooms, caller: Caller) -> list[Place]:
    """Each place once. A path that a command computes and we cannot follow is not refused: it is unknown."""
    places: dict[str, Place] = {}
    for target in targets:
        try:
            place = rooms.locate(target.path, caller.cwd)
        except Refusal:
            if call.kind == "shell":
                continue
            raise
        places.setdefault(place.absolute, place)
    return list(places.values())


def _ask_each_room(rooms: Rooms, caller: Caller, places: list[Place]) -> Decision:
    """Ask the rooms in order of id; a refusal in a later one gives back what this call took in the earlier ones. What
    there is to know of the places comes with the silent allow."""
    by_room: dict[str, tuple[Room, list[Place]]] = {}
    for place in places:
        room = rooms.of_repository(place.repository)
        by_room.setdefault(room.engine.path, (room, []))[1].append(place)
    taken: list[tuple[Room, list[int]]] = []
    decision = Decision()
    for name in sorted(by_room):
        room, here = by_room[name]
        try:
            taken.append((room, _ask(room, caller, here, decision)))
        except Refusal:
            rooms.give_back(taken, caller)
            raise
    return decision


def _ask(room: Room, caller: Caller, places: list[Place], decision: Decision) -> list[int]:
    """Look first, without a lock: a held file stays held though the disk is full or a writer is busy. The fences of
    what was claimed; what is to be said goes into `decision`."""
    from clearway.guard import verdict

    def claim(tx: Tx) -> list[int]:
        fences = verdict.claim(tx, places)
        if fences:
            decision.context = "\n".join([*filter(None, [decision.context]), *verdict.notices(tx, places)])
        return fences

    try:
        free, waived = room.run(
            lambda tx: (verdict.look(tx, places), verdict.waived(tx, places)), caller=caller, writes=False
        )
    except Refusal as refusal:
        if refusal.code not in _TOLD_AGAIN:
            raise
        try:  # asked again as a write, the refusal is told to the log, and a lease that lapsed meanwhile is seen
            return room.run(claim, caller=caller, durable=False)
        except Refusal as again:
            raise (again if again.code in _TOLD_AGAIN else refusal) from None
    if waived:
        decision.warning += f"{waived}\n"
    return room.run(claim, caller=caller, durable=False) if free else []


def _own_folder() -> str:
    """Where this process was started: clients that do not say where they work run their hooks there."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _home_room(rooms: Rooms, caller: Caller) -> Room | None:
    """The room of the folder in which the client works, or None outside of any repository."""
    if not os.path.isabs(caller.cwd):
        return None
    found = repository.holding(os.path.realpath(caller.cwd))
    return None if found is None else rooms.of_repository(found)


def _failed(call: ToolCall, refusal: Refusal, *, closed: bool, environ: Mapping[str, str]) -> Decision:
    """The fail mode: open with one visible, counted line; closed turns it into a refusal in the client's dialect."""
    sentence = _sentence(refusal)
    if call.problem and call.moment == "other":
        call.moment = "before"  # what cannot be read may be a call that is about to write
    if closed and call.moment in _DENIABLE:
        return Decision(deny=f"{sentence} (the guard is set to fail closed)")
    _count(environ, refusal.code)
    return Decision(warning=f"clearway: guard open ({sentence})\n")


def _count(environ: Mapping[str, str], code: str) -> None:
    """One line a passage, for doctor. Lost without harm when nothing can be written."""
    try:
        folder = os.path.join(config.home(environ), "run")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(os.path.join(folder, "guard-open"), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            if os.fstat(descriptor).st_size < 1_048_576:
                os.write(descriptor, f"{Settings(environ).clock().wall()} {code}\n".encode())
        finally:
            os.close(descriptor)
    except (OSError, Refusal, ValueError):
        pass


def _payload(raw: bytes) -> tuple[dict[str, Any], str]:
    """The payload as an object, or an empty one and what is wrong with it."""
    if len(raw) > PAYLOAD_BYTES_MAX:
        return {}, f"the payload has more than {PAYLOAD_BYTES_MAX // 1_048_576} MiB"
    try:
        payload: Any = wire.loads(raw)
    except ValueError as error:
        return {}, f"the payload is not JSON: {folded(str(error), 80)}"
    if isinstance(payload, dict):
        return payload, ""  # pyright: ignore[reportUnknownVariableType]
    return {}, "the payload is not a JSON object"


def _adapter(client: str) -> Any:
    if client == "claude":
        from clearway.surfaces.clients import claude as adapter
    elif client == "codex":
        from clearway.surfaces.clients import codex as adapter
    elif client == "generic":
        from clearway.surfaces.clients import generic as adapter
    else:
        raise Refusal("INVALID_ARGUMENT", f"There is no hook for {client!r}; there is {', '.join(CLIENTS)}.")
    return adapter


def _sentence(refusal: Refusal) -> str:
    return f"{refusal.code}: {refusal.message}"


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        pass  # the client is gone, or closed this end; the exit status still speaks
