"""What the host answers, in a worker's thread: a hook's question, and operations asked by name.

Whoever asks is believed as far as anybody of the same user is; but that a person asks is looked at, since an agent's
environment must not make it one. A hook is answered only if it sees the machine as we do: else it does it itself.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from clearway import config, platforms, wire
from clearway.alive import Process
from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.guard import quiet
from clearway.limits import HOST_AT_ONCE_BYTES_MAX, SESSION_CHARS_MAX
from clearway.rooms import Rooms
from clearway.surfaces import callers, hooks, host_wire
from clearway.surfaces.hooks import Standing
from clearway.surfaces.host_wire import HookFrame
from clearway.surfaces.host_work import Worker
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.surfaces.host import Host
    from clearway.surfaces.host_talk import Talk
    from clearway.surfaces.host_watch import Watching

_QUIET = host_wire.hook_answer("", "", 0, wants_to_know=False)
_TAKEN_SECONDS = 2.0  # how long a client may take until it has read what it was told


# --- hooks ------------------------------------------------------------------------------------------------------------


def looked_at_once(host: Host, connection: socket.socket, pid: int, frame: HookFrame) -> bool | None:
    """Answer a hook that asks for nothing, in the thread of the sockets: None. Else whether that was found out."""
    if len(frame.payload) > HOST_AT_ONCE_BYTES_MAX:
        return False
    began = quiet.now()
    try:
        if _may_answer(host, pid, frame):
            if not quiet.is_quiet(frame.client, frame.payload, frame.told, host.at_once.connect):
                return True
            connection.send(_QUIET)  # it does not wait: nothing was ever sent here before
            host.counted.hook(frame.client, quiet.elapsed(began))
    except OSError:
        pass  # it is gone
    connection.close()
    return None


def hook(
    worker: Worker, host: Host, connection: socket.socket, pid: int, frame: HookFrame, *, looked: bool = False
) -> None:
    """Answer one hook and hang up. Without a word if it had better see to it itself. looked: it is known that it may be
    answered here, and asks for something."""
    standing: Standing | None = None
    try:
        began = quiet.now()
        if not looked and not _may_answer(host, pid, frame):
            return
        if not looked and quiet.is_quiet(frame.client, frame.payload, frame.told, worker.connect):
            host_wire.send(connection, _QUIET)
            host.counted.hook(frame.client, quiet.elapsed(began))
            return
        facts = platforms.process_facts(pid)
        if facts is None:
            return
        environ = frame.environ
        standing = Standing(frame.folder, facts.parent, worker.shelf(environ.get("CLEARWAY_TEST_CLOCK", "")))
        said = hooks.answered(frame.client, frame.payload, environ, standing)
        told = said.afterwards is not None and bool(said.out)
        host_wire.send(connection, host_wire.hook_answer(said.out, said.err, said.code, wants_to_know=told))
        took = quiet.elapsed(began)
        host.counted.hook(frame.client, took, said.denied, said.said)
        said.tell()
        if said.afterwards is not None and (not told or _was_taken(connection)):
            said.afterwards()
        said.count(took)
    except OSError:
        pass  # it is gone
    except Exception as error:  # it asks the room itself
        host.failed += 1
        if not isinstance(error, Refusal):
            raise
        host.say(f"left to a hook: {error.code}: {error.message}")
    finally:
        if standing is not None:
            standing.close()
        connection.close()


def _may_answer(host: Host, pid: int, frame: HookFrame) -> bool:
    """Not for one who may see another machine than we do, or means other rooms."""
    told = frame.told
    if told.get(b"CLEARWAY_ROOM") or told.get(b"HOME", b"") != os.fsencode(host.settings.environ.get("HOME", "")):
        return False
    home = os.fsdecode(told.get(b"CLEARWAY_HOME", b""))
    if home != host.settings.home and config.home(frame.environ) != host.settings.home:
        return False
    return platforms.shares_our_view(pid)


def _was_taken(connection: socket.socket) -> bool:
    connection.settimeout(_TAKEN_SECONDS)
    return connection.recv(1) == b"!"


# --- requests ---------------------------------------------------------------------------------------------------------


def request(worker: Worker, host: Host, connection: socket.socket, pid: int, line: bytes) -> Talk | Watching | None:
    """Answer one request. The conversation that it begins, if it is of that kind."""
    talk: Talk | Watching | None = None
    try:
        asked = _read(line)
        if asked["op"] == "mcp":
            from clearway.surfaces.host_talk import Talk

            talk = Talk(host, connection, pid, asked)
            reply = talk.greeting()
        elif asked["op"] == "watch":
            from clearway.surfaces.host_watch import Watching

            talk = Watching(host, connection, pid, asked)
            reply = {}
        else:
            reply = _own(host, asked) or _web(host, pid, asked) or _asked(worker, host, pid, asked)
        said = host_wire.answer(reply)
    except Refusal as refusal:
        said = host_wire.refusal(refusal)
    except Exception as error:
        host.workers.complain(error)
        said = host_wire.refusal(Refusal("INTERNAL", "This failed by a defect of Clearway; the host's log says where."))
    try:
        host_wire.send(connection, said)
    except OSError:
        if talk is not None:  # nobody is there to begin it
            talk.close()
        raise
    return talk


def _read(line: bytes) -> dict[str, Any]:
    try:
        asked: Any = wire.loads(line)
    except ValueError:
        raise Refusal("INVALID_ARGUMENT", "A request is one line of JSON.") from None
    if not wire.is_object(asked):
        raise Refusal("INVALID_ARGUMENT", "A request is one JSON object.")
    if asked.get("v") != host_wire.VERSION:
        raise Refusal(
            "UNSUPPORTED_FORMAT_VERSION", f"This host speaks version {host_wire.VERSION} only; ask the room itself."
        )
    if not isinstance(asked.get("op"), str) or not all(wire.is_object(asked.get(name, {})) for name in _OBJECTS):
        raise Refusal("INVALID_ARGUMENT", "A request has an op, and objects for args, caller and environ.")
    return asked


_OBJECTS = ("args", "caller", "environ")


def _own(host: Host, asked: dict[str, Any]) -> dict[str, Any] | None:
    """What is asked of the host itself."""
    match asked["op"]:
        case "host_status":
            return host.status()
        case "host_stop":
            host.leave("it was told to")
            return host.status()
        case "host_give_way":
            if not is_newer(str(asked.get("args", {}).get("version", "")), host.status()["version"]):
                raise Refusal("FORBIDDEN", "Only a newer version takes a host's place.")
            host.leave("a newer version takes its place")
            return host.status()
        case _:
            return None


def _web(host: Host, pid: int, asked: dict[str, Any]) -> dict[str, Any] | None:
    """What a person asks to get into the web room, or to have everybody put out of it."""
    if asked["op"] not in ("web_ticket", "web_log_out"):
        return None
    caller = _caller(host, asked.get("caller", {}), settings_for(host, asked.get("environ", {}), pid))
    if not caller.human or host.http is None:
        raise Refusal("FORBIDDEN", "The web room is the human's; an agent has the room in its tools.")
    if asked["op"] == "web_log_out":
        return {"ended": host.http.people.log_out_all()}
    return {"address": host.http.address, "ticket": host.http.people.ticket()}


def is_newer(version: str, than: str) -> bool:
    return _numbers(version) > _numbers(than)


def _numbers(version: str) -> list[int]:
    """The release of a version as numbers; what follows it (a candidate, a build) does not count."""
    found: list[int] = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        found += [int(digits)] if digits else []
        if digits != part:
            break
    return found


def _asked(worker: Worker, host: Host, pid: int, asked: dict[str, Any]) -> dict[str, Any]:
    operation = OPERATIONS.get(asked["op"])
    if operation is None:
        raise Refusal("INVALID_ARGUMENT", f"There is no operation {folded(asked['op'], 80)}.")
    if not platforms.shares_our_view(pid):
        raise Refusal("STORAGE_CONFIGURATION", "You see other files than the host does; ask the room itself.")
    settings = settings_for(host, asked.get("environ", {}), pid)
    rooms = Rooms(settings, say=host.say, shelf=worker.shelf(settings.test_clock))
    try:
        given, caller = asked.get("args", {}), _caller(host, asked.get("caller", {}), settings)
        return host.counted.asked("socket", operation, lambda: rooms.ask(operation, given, caller))
    finally:
        rooms.close()


def settings_for(host: Host, environ: dict[str, Any], pid: int) -> Settings:
    """The settings of somebody who asks: his environment, in this home."""
    person = host.settings.environ.get("HOME", "")
    theirs = {name: value for name, value in environ.items() if isinstance(value, str)}
    if theirs.get("CLEARWAY_ROOM"):
        raise Refusal("STORAGE_CONFIGURATION", "The host answers for the rooms of its home; ask that room itself.")
    if theirs.get("HOME", person) != person:
        raise Refusal("STORAGE_CONFIGURATION", "The host is another person's; ask the room itself.")
    facts = platforms.process_facts(pid)
    return Settings(
        theirs | {"CLEARWAY_HOME": host.settings.home, "HOME": person},
        None if facts is None else facts.parent,
    )


def _caller(host: Host, said: dict[str, Any], settings: Settings) -> Caller:
    session, thread, cwd = (_text(said, name) for name in ("session", "thread", "cwd"))
    if said.get("human") is True:
        if callers.client_above({}, settings.parent)[0]:
            raise Refusal("FORBIDDEN", "What an agent's client has started speaks for the agent, not for a person.")
        return Caller(callers.HUMAN, client="cli", cwd=cwd, host=host.liveness.host, human=True)
    pid, started = said.get("pid"), _text(said, "started")
    process = host.liveness.identify(pid) if isinstance(pid, int) else None
    if process is not None and started and process.started != started:
        process = Process(process.boot, process.pidns, process.pid, started)  # that one is dead: another has its number
    return Caller(
        config.check_name(_text(said, "agent")),
        session or None,
        thread=thread,
        client=_text(said, "client"),
        cwd=cwd,
        host=host.liveness.host,
        process=process,
    )


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or (name != "cwd" and len(value) > SESSION_CHARS_MAX) or "\0" in value:
        raise Refusal("INVALID_ARGUMENT", f"caller.{name} must be a text.")
    return value
