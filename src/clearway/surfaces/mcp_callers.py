"""Who asks over one MCP connection.

The client names itself once; the session is what it says about each call, else what its hook has announced of that very
call, else what its hooks have told the room of its process, else what it put into our environment, else one of this
connection's own. Only what belongs to this very client counts: a client that was started inside another one inherits
that one's variables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from clearway import alive, config
from clearway.alive import Process
from clearway.config import RESERVED_NAMES, Caller
from clearway.limits import SESSION_CHARS_MAX
from clearway.opencalls import OpenCalls
from clearway.rooms import Rooms
from clearway.surfaces import callers

# Where a client names the session in the environment of the servers it starts.
_SESSION_VARIABLES = {
    "claude-code": ("CLAUDE_CODE_SESSION_ID",),
    "codex": ("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
    "copilot": ("COPILOT_AGENT_SESSION_ID",),
}
_CALL = "claudecode/toolUseId"  # under which Claude Code's hook has seen the same call
# What a client calls itself in `clientInfo`, where that does not begin with the name we know it by.
_OTHER_NAMES = {"visual studio code": "vscode", "github copilot": "copilot", "github-copilot": "copilot"}
_known: dict[str, str] = {}  # who has connected: it is asked several times in every call
_KNOWN_MAX = 256
# Programs that start others: what becomes of them says nothing about a client.
_IN_BETWEEN = frozenset(
    "sh bash dash zsh fish ksh csh tcsh busybox pwsh powershell cmd env npm npx uv uvx pipx sudo doas timeout nohup "
    "nice setsid stdbuf tini dumb-init docker-init clearway init systemd launchd".split()
)


class Connection:
    """One client's connection to one server process. For the thread that asks the rooms."""

    def __init__(self, rooms: Rooms, cwd: str) -> None:
        """cwd: the folder in which the client started the server."""
        self.rooms = rooms  # those of the thread that asks now
        self._cwd = cwd
        self._settings = rooms.settings
        self._calls = OpenCalls(self._settings.home, rooms.clock)
        self._own_session = f"mcp-{rooms.clock.new_id()}"
        # Of the environment only what is meant for us: another client's process may be named in it.
        self._environ = {
            name: value
            for name, value in self._settings.environ.items()
            if name in ("CLEARWAY_SESSION", "CLEARWAY_PID") and value
        }
        self._program, pid = callers.client_above(self._environ, self._settings.parent)
        self._client = rooms.liveness.identify(pid)
        self._started_by = self._parent() if self._client is None else None

    def caller(self, client: str, meta: Mapping[str, Any]) -> Caller:
        """The caller of one call. client: `clientInfo.name`; meta: what the client says about this call."""
        known = known_name(client)
        name = known or config.agent_name(client, fallback="")
        session = _text(meta, "sessionId") if known == "codex" else ""
        cwd = self._folder(meta) if known == "codex" else self._cwd
        if session:
            thread = _text(meta, "threadId")
            return self._made(name, session, cwd, self._client, thread="" if thread == session else thread)
        announced = self._calls.announced(_text(meta, _CALL)) if _text(meta, _CALL) else None
        if announced is not None:
            session, thread, cwd = announced
            return self._made(name, session, cwd or self._cwd, self._client, thread=thread)
        given = self._settings.session or self._variable(known)
        if given:
            return self._as_the_room_knows(self._made(name, given[:SESSION_CHARS_MAX], cwd, self._client))
        return self._as_the_room_knows(self._made(name, self._own_session, cwd, self._client or self._started_by))

    def _made(self, name: str, session: str, cwd: str, process: Process | None, *, thread: str = "") -> Caller:
        agent = name or self._program or "agent"
        if self._settings.agent:
            agent = config.check_name(self._settings.agent)
        elif agent in RESERVED_NAMES:
            agent = f"{agent}-agent"
        host = self.rooms.liveness.host
        return Caller(agent, session, thread=thread, client=name, cwd=cwd, host=host, process=process)

    def _variable(self, name: str) -> str:
        variables = _SESSION_VARIABLES.get(name, ())
        return next(filter(None, (self._settings.environ.get(variable) for variable in variables)), "")

    def _as_the_room_knows(self, caller: Caller) -> Caller:
        """With the session that the client's hooks have told the room in which it works, if there is one already."""
        if caller.process is None:  # and no client above: that was looked for when the connection was made
            return caller
        room = self.rooms.of_known_folder(caller.cwd)
        return caller if room is None else callers.in_room(caller, room, self._environ, self._settings.parent)

    def _parent(self) -> Process | None:
        """Who started this server, if that can be the client itself."""
        above = alive.ancestors(self._settings.parent)[:1]
        if not above or above[0][1].partition(" ")[0] in _IN_BETWEEN:
            return None
        return self.rooms.liveness.identify(above[0][0])

    def _folder(self, meta: Mapping[str, Any]) -> str:
        """Where Codex works in this turn, if the server was started elsewhere."""
        turn = meta.get("x-codex-turn-metadata")
        spaces: Any = cast("dict[str, Any]", turn).get("workspaces") if isinstance(turn, dict) else None
        if not isinstance(spaces, dict) or len(cast("dict[str, Any]", spaces)) != 1:
            return self._cwd
        (space,) = cast("dict[str, Any]", spaces)
        if not os.path.isabs(space) or "\0" in space:
            return self._cwd
        inside = os.path.realpath(self._cwd) + os.sep
        return self._cwd if inside.startswith(os.path.realpath(space).rstrip(os.sep) + os.sep) else space


def known_name(client: str) -> str:
    """The agent's name of a client we know, from what it calls itself; empty for another."""
    known = _known.get(client)
    if known is None:
        known = _recognised(client)
        if len(_known) < _KNOWN_MAX:
            _known[client] = known
    return known


def _recognised(client: str) -> str:
    said = client.lower()
    for begin, name in (*((name, name) for name in callers.NAMES.values()), *_OTHER_NAMES.items()):
        if said.startswith(begin) and not said[len(begin) : len(begin) + 1].isalnum():
            return name
    return ""


def _text(meta: Mapping[str, Any], name: str) -> str:
    value = meta.get(name)
    return value[:SESSION_CHARS_MAX] if isinstance(value, str) and value.isprintable() else ""
