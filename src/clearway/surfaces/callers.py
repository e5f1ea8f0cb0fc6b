"""Who is asking: the agent, its session, and the client's process, as a hook, a command or a server can know them.

The process of a session is the client's, never a shell, a runner or a program of ours: its death frees what the
session held. A command with neither a name, nor a session, nor a client above it is the human's.
"""

from __future__ import annotations

from clearway import alive, config
from clearway.alive import Liveness, Process
from clearway.config import Caller, Settings
from clearway.limits import SESSION_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.guard.toolcall import ToolCall
    from clearway.room import Room

HUMAN = "human"
# client of a hook -> the agent's name when nothing else names it
NAMES = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini",
    "copilot": "copilot",
    "cursor": "cursor",
    "opencode": "opencode",
    "windsurf": "windsurf",
    "cline": "cline",
    "qwen": "qwen",
    "goose": "goose",
    "kiro": "kiro",
    "vscode": "vscode",
}
# What a client's program is called; a program that runs scripts is known by the script.
_PROGRAMS = ("claude", "codex", "gemini", "copilot", "opencode", "qwen", "cline", "goose", "cursor-agent", "kiro")
# Clients that name no session: one process of theirs is one.
_SESSIONLESS = frozenset({"kiro"})
_RUNNERS = ("node", "bun", "deno", "python", "python3")
_VARIABLE_NAMES = (
    ("CLAUDECODE", "claude-code"),
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_SESSION_ID", "codex"),
    ("COPILOT_AGENT_SESSION_ID", "copilot"),
    ("GEMINI_CLI", "gemini"),
    ("OPENCODE", "opencode"),
    ("OPENCODE_PID", "opencode"),
)


def of_hook(call: ToolCall, settings: Settings, liveness: Liveness) -> Caller:
    """The caller of a hook: its payload names the session; its process is the client above it."""
    name = call.agent or settings.agent or NAMES.get(call.client, "")
    agent = config.agent_name(name or call.client, fallback="agent")
    session = (call.session or settings.session)[:SESSION_CHARS_MAX] if call.session or settings.session else None
    process = None
    if session or call.client in _SESSIONLESS:
        process = liveness.identify(
            call.pid or config.pid_from(settings.environ) or _client_pid(call.client, settings.parent)
        )
    if process is not None and not session:
        session = f"{call.client}-{process.pid}-{process.started}"[:SESSION_CHARS_MAX]
    return Caller(
        agent if agent not in config.RESERVED_NAMES else f"{agent}-agent",
        session,
        thread=call.thread or "",
        client=call.client,
        cwd=call.cwd or "",
        host=liveness.host,
        process=process,
    )


def of_command(settings: Settings, named: str, cwd: str, liveness: Liveness) -> Caller:
    """The caller of a command line: a name alone is a named holder; nothing at all is the human.

    A command that a client runs belongs to that client's session, as far as its environment tells.
    """
    client, pid = client_above(settings.environ)
    if named or settings.agent:
        name = config.check_name(named or settings.agent)
        session = settings.session or None
        return Caller(
            name, session, client=client or "cli", cwd=cwd, host=liveness.host, process=_of(session, pid, liveness)
        )
    session = config.session_from(settings.environ) or None
    if client or session:
        process = _of(session, pid, liveness)
        return Caller(client or "agent", session, client=client, cwd=cwd, host=liveness.host, process=process)
    return Caller(HUMAN, client="cli", cwd=cwd, host=liveness.host, human=True)


def in_room(caller: Caller, room: Room, environ: Mapping[str, str], parent: int | None = None) -> Caller:
    """The same caller with the session that its client's process runs now, where the room knows better than the
    environment, which is fixed when a server starts. parent: whose ancestors are looked at, else our own."""
    from clearway.crew import agents

    if environ.get("CLEARWAY_SESSION") or caller.human:
        return caller
    process = caller.process or room.liveness.identify(client_above(environ, parent)[1])
    if process is None:
        return caller
    who = caller.host, process.boot, process.pid, process.started
    current = room.unless_changed(
        who,
        lambda: room.run(
            lambda tx: agents.current_session(tx, *who),
            caller=Caller(caller.agent, host=caller.host),  # who asks as a guess gives no sign of life under it
            writes=False,
        ),
    )
    if current is None or current == caller.session:
        return caller
    return Caller(
        caller.agent,
        current,
        thread=caller.thread,
        client=caller.client,
        cwd=caller.cwd,
        host=caller.host,
        process=process,
    )


def client_above(environ: Mapping[str, str], parent: int | None = None) -> tuple[str, int | None]:
    """The agent's name and process of the client that runs us: from its environment, else from our ancestors.

    parent: where to begin, if it is not us who were started by the client.
    """
    pid = config.pid_from(environ)
    for variable, name in _VARIABLE_NAMES:
        if environ.get(variable):
            return name, pid or _client_pid("", parent)
    for above, program, line in alive.ancestors(parent):
        known = _program(program, line)
        if known:
            return NAMES.get(known, known), pid or above
    return "", pid


def _of(session: str | None, pid: int | None, liveness: Liveness) -> Process | None:
    return liveness.identify(pid) if session else None


def _client_pid(client: str, parent: int | None) -> int | None:
    """The nearest ancestor that is a client's program."""
    for above, program, line in alive.ancestors(parent):
        known = _program(program, line)
        if known and (not client or client == "generic" or known.startswith(client)):
            return above
    return None


def _program(name: str, line: str) -> str:
    """Which client a process is, by its program or by the script that a runner runs; empty for none."""
    words = line.split(" ")
    candidates = [name, words[0].rpartition("/")[2]]
    if name.startswith(_RUNNERS) or candidates[1].startswith(_RUNNERS):
        candidates += [word.rpartition("/")[2] for word in words[1:3]]
    for candidate in candidates:
        stem = candidate.removesuffix(".exe").removesuffix(".js").removesuffix(".mjs")
        if stem in _PROGRAMS:
            return stem
    return ""
