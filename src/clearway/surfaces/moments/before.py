"""Before a call: refuse what another holds, claim what is free, hold what is started, and be silent about the rest.

A call that may last is marked as open, so that its session's leases do not lapse meanwhile; a refused one is not. Over
several rooms it is all or nothing: a refusal in a later one gives back what the call took in the earlier ones.
"""

from __future__ import annotations

import os

from clearway import platforms, repository
from clearway.errors import Refusal
from clearway.limits import PATHS_PER_CALL_MAX
from clearway.surfaces.moments import OWN_TOOLS, Decision, fails_closed, has_others, judging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx
    from clearway.guard.danger import Watch
    from clearway.guard.gitglance import GitRun
    from clearway.guard.shell import ShellWrites
    from clearway.guard.snapshots import Taken
    from clearway.guard.sweeps import Sweep
    from clearway.guard.toolcall import Target, ToolCall
    from clearway.opencalls import OpenCall
    from clearway.repository import Place
    from clearway.room import Room
    from clearway.surfaces.moments import Visit

_REFUSES = frozenset({"PATH_HELD", "PATH_INVALID", "PATH_OTHER_CHECKOUT"})
_TOLD_AGAIN = frozenset({"PATH_HELD", "PATH_OTHER_CHECKOUT"})
_LASTING = frozenset({"agent", "mcp"})


class Wanted:
    """What a call wants of one room: places to edit, scripts to run, and named resources while it runs."""

    __slots__ = ("edits", "needs", "room", "runs", "sweeps")

    def __init__(self, room: Room) -> None:
        self.room = room
        self.edits: list[Place] = []
        self.runs: list[Place] = []
        self.needs: list[Place] = []
        self.sweeps: list[Sweep] = []

    @property
    def starts(self) -> bool:
        return bool(self.runs or self.needs)


def before(visit: Visit) -> Decision:
    call = visit.call
    if call.is_strange:
        from clearway.guard import strangers

        strangers.note(visit.rooms.settings.home, call)
    declared: list[tuple[list[str], list[str]]] = []
    found = None
    if call.kind == "shell":
        rules = judging.rules(visit)
        declared, watch = rules.declared, rules.watch()
        found = shell_writes(call, declared=bool(declared), watch=watch)
        visit.decision.deny = judging.judge(visit, rules, watch, found)
        if visit.decision.deny:
            return visit.decision
    targets = _targets(call, found)
    if len(targets) > PATHS_PER_CALL_MAX:
        return Decision(deny=sentence(Refusal("LIMIT_EXCEEDED", f"One call may touch {PATHS_PER_CALL_MAX} paths.")))
    if call.tool.startswith(OWN_TOOLS) and call.call and visit.caller.session:
        visit.calls.announce(call.call, visit.caller.session, visit.caller.thread, visit.caller.cwd)
    opened: OpenCall | None = None
    try:
        if found is not None and (found.unread or found.guesses):
            _mind_what_was_not_read(visit, found)
        turns: list[tuple[Room, Place]] = []
        gits = _gits(visit, found)
        if gits:
            from clearway.surfaces.moments import treewide

            turns = treewide.mind(visit, gits)
        wanted = _by_room(visit, targets, found, declared, turns)
        if any(each.starts for each in wanted) or _may_last(call, found):
            acts = call.kind != "agent"
            opened = visit.calls.begin(visit.key, visit.caller.thread, call.call or "", given(call), acts=acts)
        stale = _read_set(visit)
        _ask_each(visit, wanted, opened)
    except Refusal as refusal:
        if opened is not None:
            visit.calls.end(visit.key, visit.caller.thread, call.call or "", given(call))
        if refusal.code in _REFUSES:
            visit.decision.deny = sentence(refusal)
            return visit.decision
        raise
    visit.decision.add("\n".join(stale))
    heard = _watch(visit, opened)
    if opened is not None:
        visit.mark_calls()
    if not heard and not any(each.room is visit.home for each in wanted):
        visit.listen()
    return visit.decision


def _read_set(visit: Visit) -> list[str]:
    """A read is noted; of an edit, what has changed since it was read. Asked before the edit claims its file."""
    if visit.call.kind not in ("read", "edit"):
        return []
    from clearway.surfaces.moments import reading

    return reading.mind(visit)


def _watch(visit: Visit, opened: OpenCall | None) -> bool:
    """What others hold is compared after the call. Whether the session has been told what is new."""
    if opened is None or visit.call.kind not in ("shell", "mcp"):
        return False
    if not visit.is_elsewhere() and not visit.minds(_is_anything_held):
        return False
    from clearway.surfaces.moments import watching

    return bool(watching.quietly(visit, lambda: watching.begin(visit, opened)))


def _is_anything_held(tx: Tx) -> bool:
    """What others hold was copied, or is still to be: a session whose start nobody told has not been minded yet."""
    return bool(tx.opening.watched) or (tx.opening.path_at is not None and has_others(tx))


def given(call: ToolCall) -> str:
    """What is called, to know its end by if the client gives calls no id."""
    from clearway import wire

    text = f"{call.tool} {call.command or wire.dumps(input_of(call))}"
    return text.encode("utf-8", "backslashreplace").decode()


def sentence(refusal: Refusal) -> str:
    return f"{refusal.code}: {refusal.message}"


def input_of(call: ToolCall) -> object:
    """What the call was given, as its client has it."""
    names = ("tool_input", "toolInput", "input", "toolArgs", "args")
    return next((call.raw[name] for name in names if call.raw.get(name) is not None), None)


def shell_writes(call: ToolCall, *, declared: bool, watch: Watch | None = None) -> ShellWrites:
    from clearway.guard import shell

    folder = os.path.join(call.cwd or "", call.folder)
    command = call.command
    if "powershell" in call.tool.lower() or call.tool.lower() == "pwsh":
        command = shell.of_windows(command)
    return shell.writes(command, folder, os.path.expanduser("~"), declared=declared, watch=watch)


def _mind_what_was_not_read(visit: Visit, found: ShellWrites) -> None:
    """Of a command that nobody could read as one: what it plainly writes is asked about and not claimed, and then it
    follows the fail mode."""
    from clearway import policy
    from clearway.guard.shellparse import TOO_LONG

    asked: dict[str, Wanted] = {}
    for place in _located(visit, found.guesses):
        _of(visit, place, asked).edits.append(place)
    for each in asked.values():
        _only_look(visit, each)
    home = visit.home
    if not found.unread or home is None or home.run(policy.is_paused, caller=visit.caller, writes=False):
        return
    unread = Refusal("LIMIT_EXCEEDED" if found.unread == TOO_LONG else "STORAGE_CONFIGURATION", f"{found.unread}.")
    if fails_closed(visit, visit.rooms.settings.environ):
        raise unread
    visit.decision.unchecked = unread


def _only_look(visit: Visit, wanted: Wanted) -> None:
    from clearway.guard import verdict

    def look(tx: Tx) -> object:
        return verdict.look(tx, wanted.edits)

    try:
        wanted.room.run(look, caller=visit.caller, writes=False)
    except Refusal as refusal:
        if refusal.code not in _TOLD_AGAIN:
            raise
        try:  # so that the log hears of it
            wanted.room.run(look, caller=visit.caller, durable=False)
        except Refusal as again:
            raise (again if again.code in _TOLD_AGAIN else refusal) from None


def _gits(visit: Visit, found: ShellWrites | None) -> list[GitRun]:
    """The git commands of a line, or the one that a tool of another server stands for."""
    call = visit.call
    if found is not None or call.kind != "mcp" or "git_" not in call.tool:
        return [] if found is None else found.gits
    from clearway.guard import gittools

    run = gittools.run_of(call.tool, input_of(call), visit.caller.cwd)
    return [] if run is None else [run]


def _targets(call: ToolCall, found: ShellWrites | None) -> list[Target]:
    if found is None:
        return call.targets
    return [*call.targets, *found.targets, *found.patch_targets]


def _may_last(call: ToolCall, found: ShellWrites | None) -> bool:
    """Whether the call may take long, and its end will be told."""
    if found is None:
        return call.kind in _LASTING and not call.tool.startswith(OWN_TOOLS)
    from clearway.guard import glance

    if call.client == "codex" and found.patch_targets:  # applied by the client itself, which tells no end of it
        return False
    return found.unknown or not glance.is_short(call.command)


def _by_room(
    visit: Visit,
    targets: list[Target],
    found: ShellWrites | None,
    declared: list[tuple[list[str], list[str]]],
    turns: list[tuple[Room, Place]],
) -> list[Wanted]:
    """What is wanted of which room, in order of the rooms' ids. turns: at an index that git writes."""
    wanted: dict[str, Wanted] = {}
    for room, turn in turns:
        wanted.setdefault(room.engine.path, Wanted(room)).needs.append(turn)
    for place in _located(visit, targets):
        _of(visit, place, wanted).edits.append(place)
    for place in _located(visit, [] if found is None else found.runs):
        if place.repository is not None and os.path.isfile(place.absolute):
            _of(visit, place, wanted).runs.append(place)
    if found is not None and found.sweeps:
        _add_sweeps(visit, found.sweeps, wanted)
    if found is not None and (found.sweeps or found.targets):
        from clearway.surfaces.moments import around

        # `awk '{print > "/tmp/" $1}'`: a folder that is only suspected is the beginning of some name
        swept = [target for target in found.sweeps if not target.path.endswith("/")]
        for sweep in around.checkouts(visit, [*found.targets, *swept]):
            _of(visit, sweep.place, wanted).sweeps.append(sweep)
    for raw in _needed([] if found is None else found.commands, declared):
        _add_needed(visit, raw, wanted)
    return [wanted[name] for name in sorted(wanted)]


def _add_sweeps(visit: Visit, found: list[Target], wanted: dict[str, Wanted]) -> None:
    """What a program looks for itself: asked about in the room of the folder where it looks."""
    from clearway.guard import sweeps
    from clearway.guard.toolcall import Target

    for target in found:
        folder, parts = sweeps.parted(target.path)
        for place in _located(visit, [Target(folder)]):
            _of(visit, place, wanted).sweeps.append(sweeps.Sweep(place, parts))


def _of(visit: Visit, place: Place, wanted: dict[str, Wanted]) -> Wanted:
    room = visit.rooms.of_repository(place.repository)
    return wanted.setdefault(room.engine.path, Wanted(room))


def _needed(commands: list[str], declared: list[tuple[list[str], list[str]]]) -> list[str]:
    """The resources that the declared ones among these commands need, as the room's setting spells them."""
    asked = [command.split() for command in commands]
    return [raw for words, needs in declared if any(each[: len(words)] == words for each in asked) for raw in needs]


def _add_needed(visit: Visit, raw: str, wanted: dict[str, Wanted]) -> None:
    """`@port:3000` is a resource of the room in which the client works; `@deploy/make.sh` is a script of its tree."""
    from clearway import paths

    here, home = visit.folder(), visit.home
    resource = None if "/" in raw else paths.resource(raw)
    if here is None or home is None:
        return
    if resource is not None:
        wanted.setdefault(home.engine.path, Wanted(home)).needs.append(repository.named(*resource))
    elif os.path.isfile(os.path.join(here.root, raw[1:])):
        place = visit.rooms.locate(raw[1:], here.root)
        _of(visit, place, wanted).runs.append(place)


def _located(visit: Visit, targets: list[Target]) -> list[Place]:
    """Each place once. A path that a command computes and we cannot follow is not refused: it is unknown. A device, and
    what the system only shows as a file, is nobody's."""
    places: dict[str, Place] = {}
    folder = os.path.join(visit.caller.cwd, visit.call.folder)
    for target in targets:
        if platforms.is_device(os.path.normpath(os.path.join(folder, target.path))):  # a link to ourselves, perhaps
            continue
        try:
            place = visit.rooms.locate(target.path, folder)
        except Refusal:
            if visit.call.kind in ("shell", "mcp"):  # read by guessing
                continue
            raise
        if not platforms.is_device(place.absolute):
            places.setdefault(place.absolute, place)
    return list(places.values())


def _ask_each(visit: Visit, wanted: list[Wanted], opened: OpenCall | None) -> None:
    taken: list[tuple[Room, list[int]]] = []
    try:
        for each in wanted:
            fences = _ask(visit, each, opened)
            taken.append((each.room, fences))
    except Refusal:
        visit.rooms.give_back(taken, visit.caller)
        raise
    if opened is not None and (_goes_on(visit.call) or any(each.starts for each in wanted)):
        opened.rooms = [each.room.project for each in wanted]
        visit.calls.note(visit.key, opened)


def _ask(visit: Visit, wanted: Wanted, opened: OpenCall | None) -> list[int]:
    """Look first, without a lock: a held file stays held though the disk is full or a writer is busy. The fences of
    what was taken."""
    from clearway.guard import verdict

    room, call = wanted.room, "" if opened is None else opened.name
    guarded: list[Place] = []
    copied: list[Taken] = []
    passing: set[str] = set()

    def look(tx: Tx) -> tuple[list[Place], bool, bool, str]:
        visit.hear(room, tx)
        waived = verdict.waived(tx, wanted.edits)
        free = verdict.look(tx, wanted.edits)
        _look_swept(tx, wanted)
        guarded[:] = free if free and has_others(tx) and verdict.has_company(tx) else []
        starts = verdict.look_run(tx, wanted.runs, wanted.needs)
        return free, starts, verdict.is_due(tx, wanted.edits), waived

    def look_again(tx: Tx) -> None:
        verdict.look(tx, wanted.edits)
        _look_swept(tx, wanted)
        verdict.look_run(tx, wanted.runs, wanted.needs)

    def claim(tx: Tx) -> list[int]:
        _look_swept(tx, wanted)
        verdict.look(tx, [place for place in wanted.edits if place.absolute in passing])
        claimed = [place for place in wanted.edits if place.absolute not in passing]
        fences = verdict.claim(tx, claimed, call if _goes_on(visit.call) else "")
        verdict.keep(tx, copied if fences else [])
        if fences:
            visit.decision.add("\n".join(verdict.notices(tx, claimed)))
        return fences + (verdict.run(tx, wanted.runs, wanted.needs, call) if wanted.starts else [])

    try:
        free, starts, due, waived = room.run(look, caller=visit.caller, writes=False)
    except Refusal as refusal:
        if refusal.code in _TOLD_AGAIN:  # asked again as a write, it is told to the log; the client need not wait
            visit.later.append(lambda: room.run(look_again, caller=visit.caller, durable=False))
        raise
    if waived:
        visit.decision.warning += f"{waived}\n"
    if visit.call.kind == "shell" and free:
        from clearway.surfaces.moments import leasable

        passing |= leasable.passing(free, visit.rooms.settings.environ)
        free = [place for place in free if place.absolute not in passing]
        guarded = [place for place in guarded if place.absolute not in passing]
    if not free and not starts:
        if due:
            _renew(visit, room)
        return []
    if guarded:
        from clearway.surfaces.moments import watching

        copied = watching.first(visit, room, guarded)
    try:
        return room.run(claim, caller=visit.caller, durable=False)
    except Refusal as refusal:
        if refusal.code == "STORAGE_BUSY":  # whoever kept us waiting may hold it by now, and a read can tell
            room.run(look, caller=visit.caller, writes=False)
        raise


def _look_swept(tx: Tx, wanted: Wanted) -> None:
    if wanted.sweeps:
        from clearway.guard import sweeps

        sweeps.look(tx, wanted.sweeps)


def _renew(visit: Visit, room: Room) -> None:
    """Any write renews what beats carry. One that cannot be made now is made by the next call."""
    try:
        room.run(lambda _: None, caller=visit.caller, durable=False)
    except Refusal as refusal:
        if not refusal.is_of_storage:
            raise


def _goes_on(call: ToolCall) -> bool:
    """Whether the client says that the call is to run in the background."""
    asked = input_of(call)
    if not isinstance(asked, dict):
        return False
    said: dict[str, Any] = asked  # pyright: ignore[reportUnknownVariableType]
    return said.get("run_in_background") is True or said.get("is_background") is True or said.get("mode") == "async"
