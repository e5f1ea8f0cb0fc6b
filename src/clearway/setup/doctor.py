"""Is everything in order? Each check looks at one thing a person relies on, and says how to mend it.

The checks come in a fixed order, always all of them. A problem means that something is not guarded or not kept; a
notice is worth knowing. Nothing is changed: a write is proved and taken back, a room is never made here, and hooks are
run as they are registered, with an event about which there is nothing to say. (That a room which is opened is closed
to other users is the door's doing, here as anywhere.)
"""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clearway import __version__, keeping, platforms, policy, proofs, worktrees
from clearway.clock import iso
from clearway.config import Caller, Settings
from clearway.crew import roster
from clearway.db import migrate, statements
from clearway.db.tx import Tx
from clearway.errors import Refusal
from clearway.guard import shellparse, strangers
from clearway.repository import Repository
from clearway.room import Room, is_home_of_others
from clearway.rooms import Rooms
from clearway.setup import githooks, readiness, registrations, upkeep, waits
from clearway.setup.connect import CLIENTS
from clearway.setup.registrations import NOTICE, OK, PROBLEM, Check
from clearway.setup.registrations import check as _check
from clearway.tally import passages
from clearway.untrusted import folded

PREDECESSORS_VARIABLES = ("AGENT_LEASE_DB", "AGENT_LEASE_SOCKET")
LOCK_WAIT_MS = 2_000  # a writer that holds the room longer is itself worth a word
SPACE_BYTES_MIN = 64 * 1_048_576
LOG_BYTES_MAX = 100 * 1_048_576
BACKUP_AGE_MS_MAX = 8 * 86_400_000
SQL = statements(__file__)
AskHost = Callable[[str], dict[str, Any] | None]
_PROBE_BYTES = 4_096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def examine(
    settings: Settings, folder: str, *, full: bool = False, ask_host: AskHost | None = None, hook_runs: int = 0
) -> list[Check]:
    """What there is to say about this machine and the repository that holds `folder`. full: every index of the room
    is compared with its table, too. ask_host: what the running host of a home says of itself. hook_runs: how often a
    hook is run to see how long a client waits for it."""
    place = worktrees.around(folder)
    root = place.root if place else ""
    found = [
        _program(),
        _shell_parser(),
        _environment(settings),
        _home(settings),
        _modes(settings),
        _file_system(settings),
    ]
    found.append(_disk(settings))
    rooms = Rooms(settings, upgrade=False, lock_wait_ms=LOCK_WAIT_MS)
    try:
        project, about_room, room = _room(rooms, place)
        file = os.path.join(rooms.folder(project), "room.db") if project else ""
        found += [_space(settings, file), about_room, _write(room), _integrity(room, full=full), _schema(room)]
        found.append(_agreement(room, full=full))
        found += [_log(file), _backups(room, rooms.clock.wall()), _aside(settings.home), _guard(room), _names(room)]
    finally:
        rooms.close()
    for client in CLIENTS:
        found += registrations.examine(client, settings, root, project)
    found.append(_enforcement(settings))
    found += [_git_hooks(settings, place), _guard_open(settings, rooms.clock.wall()), _unknown_tools(settings)]
    found.append(_host(settings, ask_host or (lambda _: None)))
    found.append(waits.examined(waits.measure(settings, root, project, hook_runs)))
    return found


def report(settings: Settings, folder: str, found: list[Check]) -> dict[str, Any]:
    """The checks and what they were made of, for programs."""
    levels = {check["name"]: check["level"] for check in found}
    counted, last = passages(settings.home, settings.clock().wall())
    hooks: dict[str, Any] = {"passed_unchecked": sum(counted.values()), "by_code": counted}
    if last:
        hooks["last"] = iso(last)
    proved = proofs.noted(settings.home)
    return {
        "ok": PROBLEM not in levels.values(),
        "checks": found,
        "store": _store(settings, folder),
        "hooks": hooks,
        "clients": {name: _client(name, levels, proved.get(name)) for name in CLIENTS},
        **readiness.facts(settings, folder, lock_wait_ms=LOCK_WAIT_MS),
    }


def _client(name: str, levels: Mapping[str, str], proof: Mapping[str, Any] | None) -> dict[str, Any]:
    told: dict[str, Any] = {"hooks": levels[f"{name}_hooks"], "mcp": levels[f"{name}_mcp"]}
    if proof is not None:
        shown = {key: proof[key] for key in ("version", "result", "stopped", "why") if key in proof}
        told["live"] = shown | {"at": iso(proof["at"])}
    return told


def _store(settings: Settings, folder: str) -> dict[str, Any]:
    """The room's files, as far as there are any."""
    store: dict[str, Any] = {"home": settings.home}
    place = worktrees.around(folder)
    rooms = Rooms(settings, upgrade=False, lock_wait_ms=LOCK_WAIT_MS)
    try:
        project = None if place is None else rooms.known(place)
        if project is not None:
            store["project_id"] = project
            file = os.path.join(rooms.folder(project), "room.db")
            if os.path.exists(file):
                store |= {"room": file, "bytes": os.path.getsize(file), "log_bytes": _size(file + "-wal")}
                store["backups"] = keeping.backups(file)
    except (OSError, Refusal):
        pass  # the checks say what is wrong
    finally:
        rooms.close()
    return store


def _size(file: str) -> int:
    try:
        return os.path.getsize(file)
    except OSError:
        return 0


# --- the program and where it keeps things ------------------------------------------------------------------------


def _program() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return _check("program", OK, f"Clearway {__version__} on Python {version} ({sys.executable})")


def _shell_parser() -> Check:
    """What shell commands write is known from their syntax tree."""
    if shellparse.can_parse():
        return _check("shell_parser", OK, "shell commands are read before they run")
    message = "shell commands cannot be read (shfmt does not run): they pass, or are refused where closed is chosen"
    return _check("shell_parser", PROBLEM, message, "install clearway anew, with its dependency shfmt-py")


def _environment(settings: Settings) -> Check:
    strange = [name for name in PREDECESSORS_VARIABLES if settings.environ.get(name)]
    if settings.off:
        return _check("environment", NOTICE, "CLEARWAY_OFF is set: hooks started from here guard nothing", "unset it")
    if settings.test_clock:
        return _check("environment", NOTICE, "CLEARWAY_TEST_CLOCK is set: time stands still here", "unset it")
    if strange:
        message = f"{' and '.join(strange)} of the predecessor is set and has no effect: rooms are in {settings.home}"
        return _check("environment", NOTICE, message, "unset it; CLEARWAY_HOME says where rooms are")
    mode = "refused (fail closed)" if settings.fail_closed else "let pass with a line (fail open)"
    return _check("environment", OK, f"a call that cannot be checked is {mode}")


def _home(settings: Settings) -> Check:
    there = settings.home
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        fix = "move it away, or set CLEARWAY_HOME to a folder"
        return _check("home", PROBLEM, f"{there} is not a folder", fix)
    if there != settings.home:
        return _check("home", OK, f"{settings.home} is not there yet; the first command makes it")
    if platforms.is_everybodys(there):
        return _check("home", PROBLEM, f"all users may write in {there}", "set CLEARWAY_HOME to a folder of your own")
    return _check("home", OK, settings.home)


def _modes(settings: Settings) -> Check:
    """State is its owner's alone."""
    if os.name == "nt":
        return _check("modes", OK, "not looked at on this system")
    wide = open_to_others(settings.home)
    if not wide:
        return _check("modes", OK, "only you can read and write what is kept")
    fix = f"chmod -R go= {settings.home}"
    lasting = [path for path in wide if path != settings.home and not path.endswith(".db")]
    if not lasting:
        message = f"other users of this machine could read {_first(wide)}; it is closed to them whenever it is opened"
        return _check("modes", NOTICE, message, fix)
    return _check("modes", PROBLEM, f"other users of this machine can reach {_first(lasting)}", fix)


def open_to_others(home: str) -> list[str]:
    """What other users of this machine could reach. A home that is more than ours stays as it is."""
    found = [path for path in _state(home) if _is_wide(path)]
    return found[1:] if found[:1] == [home] and is_home_of_others(home) else found


def _first(paths: list[str]) -> str:
    return paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")


def _state(home: str) -> Iterator[str]:
    yield home
    for name in ("secret", "environment", "machine.db", "run", "rooms"):
        yield os.path.join(home, name)
    try:
        rooms = [entry.path for entry in os.scandir(os.path.join(home, "rooms"))]
    except OSError:
        rooms = []
    for room in rooms:
        yield room
        yield os.path.join(room, "room.db")


def _is_wide(path: str) -> bool:
    try:
        return bool(os.lstat(path).st_mode & _OTHERS)
    except OSError:
        return False


def _file_system(settings: Settings) -> Check:
    folder = _nearest(settings.home)
    kind = platforms.network_file_system(os.path.realpath(folder))
    if kind:
        message = f"{settings.home} is on a network file system ({kind}), where locks cannot be trusted"
        return _check("file_system", PROBLEM, message, "set CLEARWAY_HOME to a local folder")
    return _check("file_system", OK, "rooms are on a local disk")


def _disk(settings: Settings) -> Check:
    """A file is written, synced and removed again."""
    folder = _nearest(settings.home)
    try:
        with tempfile.NamedTemporaryFile(prefix=".doctor-", dir=folder) as probe:
            probe.write(b"\0" * _PROBE_BYTES)
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        fix = "make room on the disk, or make the folder yours again"
        return _check("disk", PROBLEM, f"nothing can be written in {folder}: {error.strerror}", fix)
    return _check("disk", OK, f"{folder} can be written")


def _space(settings: Settings, file: str) -> Check:
    """Room for the room to grow, and for one copy of it."""
    folder = _nearest(settings.home)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return _check("space", NOTICE, f"how much space is left in {folder} cannot be learned: {error.strerror}")
    wanted = max(SPACE_BYTES_MIN, 2 * (_size(file) + _size(file + "-wal")))
    said = f"{free // 1_048_576} MiB are free in {folder}"
    if free < wanted:
        fix = "make room on the disk: on a full one the guard refuses what is held and lets the rest pass"
        return _check("space", PROBLEM, f"only {said}", fix)
    return _check("space", OK, said)


def _nearest(path: str) -> str:
    """The folder itself, or the one in which it would be made."""
    while not os.path.isdir(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


# --- the room -----------------------------------------------------------------------------------------------------


class _TakenBack(Exception):
    """The write was possible; it is not to stand."""


def _room(rooms: Rooms, place: Repository | None) -> tuple[str, Check, Room | None]:
    """The project id, what there is to say, and the room if it opens."""
    if place is None:
        return "", _check("room", OK, "this folder is in no repository"), None
    try:
        project = rooms.known(place)
        if project is None:
            return "", _check("room", OK, f"{place.root} has no room yet; the first agent makes it"), None
        room = rooms.of_repository(place)
    except Refusal as refusal:
        fix = (
            "clearway doctor --repair, which mends it from its newest backup and what can be read"
            if refusal.code == "STORAGE_CORRUPT"
            else ""
        )
        return "", _check("room", PROBLEM, f"{refusal.code}: {refusal.message}", fix), None
    return project, _check("room", OK, f"{place.root} has its room in {room.engine.path}"), room


def _write(room: Room | None) -> Check:
    if room is None:
        return _check("write", OK, "no room to write to")
    try:
        room.run(_write_and_take_back, caller=Caller("clearway", host=room.liveness.host))
    except _TakenBack:
        pass
    except Refusal as refusal:
        return _check("write", PROBLEM, f"{refusal.code}: {refusal.message}")
    return _check("write", OK, "the room can be written")


def _write_and_take_back(tx: Tx) -> None:
    tx.tell("doctor")
    raise _TakenBack


def _integrity(room: Room | None, *, full: bool) -> Check:
    if room is None:
        return _check("integrity", OK, "no room to look at")
    try:
        faults = room.engine.integrity(full=full)
    except Refusal as refusal:
        return _check("integrity", PROBLEM, f"{refusal.code}: {refusal.message}")
    if faults:
        fix = "clearway doctor --repair, which mends it from its newest backup and what can be read"
        return _check("integrity", PROBLEM, f"the room is damaged: {folded(faults[0], 200)}", fix)
    how = "sound, every index compared" if full else "sound"
    return _check("integrity", OK, f"the room's file is {how}")


def _agreement(room: Room | None, *, full: bool) -> Check:
    """What is stored twice says the same in both places."""
    if room is None:
        return _check("agreement", OK, "no room to look at")
    if not full:
        return _check("agreement", OK, "not compared: --full compares counters and the index of words with the rest")
    try:
        faults = upkeep.faults(room)
    except Refusal as refusal:
        return _check("agreement", PROBLEM, f"{refusal.code}: {refusal.message}")
    if faults:
        return _check("agreement", PROBLEM, folded("; ".join(faults), 400), "clearway doctor --repair")
    return _check("agreement", OK, "counters, blockers, leases and the index of words agree with the rest")


def _schema(room: Room | None) -> Check:
    """The schema is of this version, and its recorded history is ours."""
    if room is None:
        return _check("schema", OK, "no room to look at")
    session = room.engine.begin(writes=False)
    try:
        applied = session.rows(migrate.SQL.history, {})
        doubly = session.rows(SQL.doubly_held, {})
        migrate.check_history(applied, room.engine.name, room.engine.path)
    except Refusal as refusal:
        return _check("schema", PROBLEM, f"{refusal.code}: {refusal.message}")
    finally:
        session.rollback()
    if doubly:
        return _check("schema", PROBLEM, f"{len(doubly)} issues have two live attempts; please report this")
    if len(applied) < migrate.SCHEMA:
        message = f"the room has schema {len(applied)}, this version writes {migrate.SCHEMA}"
        return _check("schema", NOTICE, message, "any other command brings it forward, after a backup")
    return _check("schema", OK, f"schema {len(applied)}, with the history that this version knows")


def _log(file: str) -> Check:
    size = _size(file + "-wal") if file else 0
    if size > LOG_BYTES_MAX:
        message = f"the room's write-ahead log has {size // 1_048_576} MiB: somebody reads all the time"
        return _check("log", NOTICE, message, "end the process that has the room open the longest")
    return _check("log", OK, f"the room's write-ahead log has {size // 1_024} KiB")


def _backups(room: Room | None, now: int) -> Check:
    if room is None or room.engine.name != "sqlite":
        said = "no room to look at" if room is None else "the server's owner backs it up; clearway backup copies it"
        return _check("backups", OK, said)
    found = keeping.backups(room.engine.path)
    if not found:
        return _check("backups", OK, "none yet; the first command of a day writes one")
    age = now - int(os.stat(found[0]).st_mtime * 1_000)
    count = f"{len(found)} backup{'' if len(found) == 1 else 's'}"
    if age > BACKUP_AGE_MS_MAX:
        message = f"{count}, the newest {age // 86_400_000} days old: is there space, and is its folder yours?"
        return _check("backups", NOTICE, message, "clearway backup --output FILE")
    return _check("backups", OK, f"{count}, the newest {found[0]}")


def _aside(home: str) -> Check:
    """Files that a mending or a restoring left beside a room."""
    found = [
        path
        for path in glob.glob(os.path.join(glob.escape(home), "rooms", "*", "room.db.*"))
        if ".new" not in path and not path.endswith(("-wal", "-shm"))
    ]
    if found:
        message = f"{_first(found)} was replaced and is kept"
        return _check("aside", NOTICE, message, "remove it once you miss nothing")
    return _check("aside", OK, "no replaced room is kept")


def _guard(room: Room | None) -> Check:
    """Whether the guard of this room is switched off, and what it does when it cannot tell."""
    if room is None:
        return _check("guard", OK, "no room to guard")
    try:
        off, fail = room.run(_switches, caller=Caller("clearway", host=room.liveness.host), writes=False)
    except Refusal as refusal:
        return _check("guard", PROBLEM, f"{refusal.code}: {refusal.message}")
    if off is not None:
        until = f" until {off['until']}" if "until" in off else ""
        return _check("guard", NOTICE, f"the guard is switched off{until}: edits of held paths pass", "clearway on")
    return _check("guard", OK, f"the guard is on, and fails {fail}")


def _switches(tx: Tx) -> tuple[dict[str, Any] | None, str]:
    return policy.pause(tx), policy.value(tx, "fail")


def _names(room: Room | None) -> Check:
    """Whether a session goes by two names: what is sent to one of them does not reach it under the other."""
    if room is None:
        return _check("names", OK, "no room to look at")
    try:
        found = room.run(roster.of_two_names, caller=Caller("clearway", host=room.liveness.host), writes=False)
    except Refusal as refusal:
        return _check("names", PROBLEM, f"{refusal.code}: {refusal.message}")
    if not found:
        return _check("names", OK, "every session goes by one name")
    first = found[0]
    names = f"{folded(first['first'], 40)} and {folded(first['second'], 40)}"
    more = f" ({len(found) - 1} more sessions have two names)" if len(found) > 1 else ""
    message = f"session {folded(first['session'], 40)} goes by {names}: mail to one is not read by the other{more}"
    return _check("names", NOTICE, message, "clearway connect CLIENT --as NAME --write gives hooks and server one name")


# --- what happened ------------------------------------------------------------------------------------------------


def _unknown_tools(settings: Settings) -> Check:
    """Tools that seem to write, of which the guard cannot tell what (C17)."""
    found = strangers.noted(settings.home)
    if not found:
        return _check("unknown_tools", OK, "no tool was met that seems to write and does not say what")
    message = f"{len(found)} tools seem to write and do not say which file: {folded(', '.join(found), 200)}"
    return _check("unknown_tools", NOTICE, message, "nothing; what they write is noticed after the call")


def _host(settings: Settings, ask_host: AskHost) -> Check:
    """The process that answers for all clients of this home, if there is one."""
    lock = os.path.join(settings.home, "run", "host.lock")
    try:
        held = platforms.hold_alone(lock) if os.path.exists(lock) else -1
    except OSError:
        held = -1
    if held is not None:
        if held >= 0:
            os.close(held)
        return _check("host", OK, "no host is running; everything works without it")
    said = ask_host(settings.home)
    if said is None:
        message = "a host is running and does not answer; clients do without it"
        return _check("host", NOTICE, message, f"end the process whose number is in {lock}; a client starts another")
    if said["version"] != __version__:
        message = f"a host of version {said['version']} is running; this is {__version__}"
        return _check("host", NOTICE, message, "run clearway host start: a newer version takes an older one's place")
    if said["failed"]:
        message = f"hooks went round the host {said['failed']} times, since it could not do what they asked"
        return _check("host", NOTICE, message, f"{os.path.join(settings.home, 'run', 'host.log')} says why")
    return _check("host", OK, f"host {said['pid']} answers for this home")


def _enforcement(settings: Settings) -> Check:
    """What was found when clients were asked to write what others hold, the last time for each."""
    found = proofs.noted(settings.home)
    if not found:
        message = "not tried: clearway doctor --live asks each client that is here to write what others hold"
        return _check("enforcement", OK, message)
    weak = [proof["client"] for proof in found.values() if proof["client"] in proofs.advised(settings.home)]
    unproved = [proof["client"] for proof in found.values() if proof["result"] == proofs.UNPROVED]
    message = "; ".join(map(_proved, found.values()))
    if weak:
        fix = "let nobody rely on it: clearway git-hooks install looks at what it commits; try a newer version"
        return _check("enforcement", PROBLEM, message, fix)
    if unproved:
        return _check("enforcement", NOTICE, message, f"clearway doctor --live {' '.join(unproved)}")
    return _check("enforcement", OK, message)


def _proved(proof: Mapping[str, Any]) -> str:
    why = f": {folded(str(proof['why']), 200)}" if proof.get("why") else ""
    return (
        f"{folded(proof['client'], 40)} {folded(proof['version'], 60)} {proof['result']}{why} ({iso(proof['at'])[:10]})"
    )


def _git_hooks(settings: Settings, place: Repository | None) -> Check:
    """Whether what is committed is looked at, where that was asked for."""
    if shutil.which("git", path=settings.environ.get("PATH")) is None:
        missed = "git is not on PATH: what is ignored, committed or lies in worktrees cannot be told"
        return _check("git_hooks", NOTICE, missed, "install git")
    try:
        return _check("git_hooks", *githooks.examined(place, settings))
    except Refusal as refusal:
        return _check("git_hooks", NOTICE, f"{refusal.code}: {refusal.message}")


def _guard_open(settings: Settings, now: int) -> Check:
    """How often hooks let something pass that they could not check, within a day."""
    counted, last = passages(settings.home, now)
    if not counted:
        return _check("guard_open", OK, "no call passed unchecked in the last 24 hours")
    by_code = ", ".join(f"{code} {count}" for code, count in sorted(counted.items()))
    calls = "call" if sum(counted.values()) == 1 else "calls"
    message = (
        f"{sum(counted.values())} {calls} passed unchecked in the last 24 hours ({by_code}), the last at {iso(last)}"
    )
    return _check("guard_open", NOTICE, message, "CLEARWAY_FAIL_CLOSED=1 refuses such calls; the codes say what failed")
