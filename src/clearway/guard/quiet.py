"""The fast step: recognise the case in which there is provably nothing to decide and nothing to say.

A session edits what it already holds, or runs a command that cannot write and is over in a moment, and its beat is
fresh: then the guard allows, and this module says so in one indexed read. After an edit it adds the line to the
session's trail, before a read one to what it has read; around a call of our own server it leaves or takes the note by
which the server knows the session. It refuses nothing and holds no rule of its own. Whatever it does not recognise at
once - another client, a symlink on the way, an older schema, a stale beat - it leaves to the full step: being too
modest costs milliseconds, and it may never be too bold.

It imports only what is built into the interpreter; apsw is loaded for the one question to the room.
"""

from __future__ import annotations

import sys
import time

from clearway.wire import dumps, loads

if sys.platform == "win32":
    import nt as posix
else:
    import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

SCHEMA = 1  # db.migrate.SCHEMA; a test compares them
_BEAT_NS = 15_000_000_000  # limits.BEAT_EVERY_MS
_EVENTS = frozenset({"PreToolUse", "PostToolUse"})
_EDITS = {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_READS = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite", "ToolSearch"})
_CLIENTS = frozenset({"claude", "codex"})
_UNQUIET = frozenset({b"CLEARWAY_OFF", b"CLEARWAY_ROOM", b"CLEARWAY_TEST_CLOCK", b"CLEARWAY_SESSION"})
_OWN_TOOLS = "mcp__clearway__"  # moments.OWN_TOOLS
_TRAIL_BYTES_MAX = 65_536  # limits.TRAIL_BYTES_MAX
_PRINT_BYTES_MAX = 8_192  # limits.TRAIL_PRINT_BYTES_MAX
_RETURNS = 3  # limits.TRAIL_RETURNS
_PRINT_PRIME = 2**59 - 55  # trail.PRINT_PRIME
_READS_BYTES_MAX = 65_536  # limits.READS_BYTES_MAX
_READERS = {"Read": "file_path", "NotebookRead": "notebook_path"}
_TALLY_BYTES_MAX = 65_536  # limits.TALLY_BYTES_MAX
_LOADED = time.monotonic_ns()
_COMPANY_NS = 7_200_000_000_000  # limits.COMPANY_MS
_OTHERS_MAX = 64
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=@")
_READ_MAX = 4_096
_MODE, _LINK, _FOLDER, _FILE = 0o170000, 0o120000, 0o040000, 0o100000


def is_quiet(
    client: str, raw: bytes, environ: Mapping[bytes, bytes], connect: Callable[[str], Any] | None = None
) -> bool:
    """Whether this payload asks for nothing but a silent allow. Never raises: what is odd is not quiet.

    environ: the process's environment, as the interpreter has it without the `os` module. connect: how a
    process that stays reaches the file of a room.
    """
    began = 0 if connect is None else now()
    who: list[str] = []
    try:
        if not _is_quiet(client, raw, environ, connect or _opened, who):
            return False
    except Exception:
        return False
    count(who[0], who[1], elapsed(began))
    return True


def _is_quiet(
    client: str, raw: bytes, environ: Mapping[bytes, bytes], connect: Callable[[str], Any], who: list[str]
) -> bool:
    home = environ.get(b"CLEARWAY_HOME", b"").decode()
    if client not in _CLIENTS or not home or not _UNQUIET.isdisjoint(environ):
        return False
    payload = loads(raw)
    event, session, cwd = payload["hook_event_name"], payload["session_id"], payload["cwd"]
    if event not in _EVENTS or not session or not _PLAIN.issuperset(session) or len(session) > 200:
        return False
    if session[0] == ".":  # such a name is spelled otherwise in our folders
        return False
    who += (home, session)
    tool, given, asked = payload["tool_name"], payload["tool_input"], event == "PreToolUse"
    if tool in _EDITS:
        path = given[_EDITS[tool]]
        root = _root(path.rpartition("/")[0] or "/") if _is_plain(path) else ""
        if not root or not _beats(home, _project(root), session):
            return False
        if not asked:  # among others the full step copies what was written
            return not _has_company(home, _project(root), session) and _remember(home, session, path, given)
        return _holds(home, session, root, path, environ.get(b"CLAUDE_PID", b"").decode(), connect)
    root = _root(cwd) if _is_plain(cwd) else ""
    if not root or not _beats(home, _project(root), session):
        return False
    if tool == "Bash":
        return not set(given) & {"run_in_background"} and _is_nothing(given["command"])
    if tool in _READS:
        return not asked or tool not in _READERS or _note(home, session, given.get(_READERS[tool]))
    return tool.startswith(_OWN_TOOLS) and _announce(home, payload, asked=asked)


def elapsed(since: int = 0) -> int:
    """Microseconds since this module was loaded, or since a time that `now` gave."""
    return (time.monotonic_ns() - (since or _LOADED)) // 1_000


def now() -> int:
    return time.monotonic_ns()


def count(home: str, session: str, micros: int) -> None:
    """Add this hook to what is counted of its session, if the full step has begun to (tally.line)."""
    try:
        descriptor = posix.open(f"{home}/run/figures/{session}", posix.O_WRONLY | posix.O_APPEND)
        try:
            if posix.fstat(descriptor).st_size < 2 * _TALLY_BYTES_MAX:
                posix.write(descriptor, b"%d 0\n" % micros)
        finally:
            posix.close(descriptor)
    except OSError:
        pass


def _is_nothing(command: Any) -> bool:
    from clearway.guard.glance import is_short
    from clearway.guard.writers import cannot_write

    return isinstance(command, str) and cannot_write(command) and is_short(command)


def _remember(home: str, session: str, path: str, given: dict[str, Any]) -> bool:
    """Add the edited file to the session's trail, if there is one that has room, and if the same edit was not made
    again and again: whether it goes in circles is for others to say."""
    descriptor = posix.open(f"{home}/run/trail/{session}", posix.O_RDWR | posix.O_APPEND)
    try:
        if posix.fstat(descriptor).st_size > _TRAIL_BYTES_MAX:
            return False
        left = posix.stat(path).st_mtime_ns
        step = [time.time_ns() // 1_000_000, "changed", path, left]  # trail.line
        text = dumps(given).encode("utf-8", "backslashreplace")
        if len(text) <= _PRINT_BYTES_MAX:
            step.append(int.from_bytes(text, "big") % _PRINT_PRIME)  # trail.print_of
            if posix.read(descriptor, 2 * _TRAIL_BYTES_MAX).count(b",%d]\n" % step[4]) + 1 >= _RETURNS:
                return False
        posix.write(descriptor, (dumps(step) + "\n").encode())
        return True
    finally:
        posix.close(descriptor)


def _note(home: str, session: str, path: Any) -> bool:
    """Add the file that is about to be read to what the session has read (readset.note)."""
    if not isinstance(path, str) or path[:1] != "/" or "\n" in path or "/./" in path or "//" in path or ".." in path:
        return False
    try:
        line = f"{posix.stat(path).st_mtime_ns} {path}\n"
    except (OSError, ValueError):
        return True  # there is nothing to read
    descriptor = posix.open(f"{home}/run/reads/{session}", posix.O_WRONLY | posix.O_APPEND)
    try:
        if posix.fstat(descriptor).st_size > _READS_BYTES_MAX:
            return False
        posix.write(descriptor, line.encode())
        return True
    finally:
        posix.close(descriptor)


def _has_company(home: str, project: str, session: str) -> bool:
    """Whether another session gave a sign of life lately. Of a beat only the time at which it was set tells when: room
    time is not known here, and the other two times are set with it."""
    names = posix.listdir(f"{home}/run/beat/{project}")
    if len(names) > _OTHERS_MAX:
        return True
    now = time.time_ns()
    return any(
        name != session and now - posix.stat(f"{home}/run/beat/{project}/{name}").st_ctime_ns < _COMPANY_NS
        for name in names
    )


def _announce(home: str, payload: dict[str, Any], *, asked: bool) -> bool:
    """Leave the note of which session calls our server, or take it away (opencalls.announce and done)."""
    call, thread = payload["tool_use_id"], payload.get("agent_id", "")
    if not call or not _PLAIN.issuperset(call) or len(call) > 100 or call[0] == "." or not isinstance(thread, str):
        return False
    file = f"{home}/run/calls/{call}"
    if not asked:
        posix.unlink(file)
        return True
    said = {"session": payload["session_id"], "thread": thread, "cwd": payload["cwd"]}
    descriptor = posix.open(file, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o600)
    try:
        posix.write(descriptor, dumps(said | {"at": time.monotonic_ns() // 1_000_000}).encode())
        return True
    finally:
        posix.close(descriptor)


def _holds(home: str, session: str, root: str, path: str, client_pid: str, connect: Callable[[str], Any]) -> bool:
    """One indexed read: a live edit lease of this session covers the path, its client is the one that took it."""
    project = _project(root)
    key = path[len(root) :].lstrip("/")
    checkout = _checkout(root)
    if not key or not checkout:
        return False
    if _ignores_case(root):
        if not key.isascii():
            return False
        key = key.lower()
    above = _above(key)
    room = connect(f"{home}/rooms/{project}/room.db")
    row = room.execute(_statement(), (checkout, session, above)).fetchone()
    if row is None:
        return False
    expires_at, schema, boot, monotonic, anchored, test_clock, pid = row
    if schema != SCHEMA or test_clock or (client_pid and client_pid != str(pid)) or boot != _boot():
        return False
    return expires_at > anchored + max(0, time.monotonic_ns() // 1_000_000 - monotonic)


def open_as_it_is(room: str) -> Any:
    """The file of a room, which has to be there."""
    from clearway.driver import apsw

    return apsw.Connection(room, flags=apsw.SQLITE_OPEN_READWRITE)


def _opened(room: str) -> Any:
    """The same, left for the full step, if that comes: opening a room costs 2 ms."""
    found = posix.stat(room)
    connection = open_as_it_is(room)
    from clearway.driver import leave

    leave(room, (found.st_dev, found.st_ino), connection)
    return connection


def _statement() -> str:
    """The statement beside this module, which a bare interpreter reads without the house's loader."""
    text = _file(__file__.rpartition("/")[0] + "/quiet.sql")
    return text[text.index("\n", text.index("-- name: ")) :]


def _above(key: str) -> str:
    """The key and all that covers it, as a JSON list."""
    parts = key.split("/")
    found = [".", *("/".join(parts[:count]) for count in range(1, len(parts) + 1))]
    return dumps(found)


def _is_plain(path: Any) -> bool:
    """An absolute path without a symlink on it, spelled as the room would spell it, and the only name of its file."""
    if not isinstance(path, str) or not 1 < len(path) < _READ_MAX or path[0] != "/" or "\0" in path:
        return False
    parts = path[1:].split("/")
    if any(part in ("", ".", "..") or not part.isprintable() for part in parts):
        return False
    here = ""
    for part in parts:
        here += "/" + part
        found = posix.lstat(here)
        kind = found.st_mode & _MODE
        if kind == _LINK or (kind == _FILE and found.st_nlink > 1):  # held under another name, perhaps
            return False
    return True


def _root(folder: str) -> str:
    """The nearest folder with git's mark or a pointer; empty when there is none."""
    while len(folder) > 1:
        for mark in ("/.git", "/.clearway.json"):
            try:
                posix.lstat(folder + mark)
                return folder
            except OSError:
                pass
        folder = folder.rpartition("/")[0]
    return ""


def _project(root: str) -> str:
    """The project in the pointer file, of which only the exact form that we write is recognised."""
    text = _file(root + "/.clearway.json", plain=True)
    head, tail = '{"version": 1, "project_id": "', '"}\n'
    project = text[len(head) : -len(tail)]
    return project if text == head + project + tail and len(project) == 26 and project.isalnum() else ""


def _checkout(root: str) -> str:
    git = root + "/.git"
    if posix.lstat(git).st_mode & _MODE != _FOLDER:
        pointer = _file(git)
        git = pointer[8:].strip()
        if not pointer.startswith("gitdir: ") or git[:1] != "/":
            return ""
    else:
        posix.stat(git + "/HEAD")  # an empty .git marks no repository
    known, _, identity = _file(git + "/clearway-checkout").strip().partition(" ")
    here = posix.stat(git)
    return known if identity == f"{here.st_dev}:{here.st_ino}" else ""


def _beats(home: str, project: str, session: str) -> bool:
    """Whether the session gave a sign of life within the time for which one is enough. The file's access time is the
    wall clock's, set with it; a clock that was moved makes it stale, never fresh for longer."""
    if not project:
        return False
    seen = posix.stat(f"{home}/run/beat/{project}/{session}").st_atime_ns
    return 0 <= time.time_ns() - seen < _BEAT_NS


def _ignores_case(root: str) -> bool:
    if sys.platform != "darwin":
        return False
    head, _, name = root.rpartition("/")
    try:
        here, there = posix.stat(root), posix.stat(f"{head}/{name.swapcase()}")
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _boot() -> str:
    if sys.platform == "linux":
        return _file("/proc/sys/kernel/random/boot_id").strip()
    from clearway import platforms

    return platforms.boot_id()


def _file(path: str, *, plain: bool = False) -> str:
    """The text of a small file. plain: a symlink is not followed. A pipe is not waited for: it has no text."""
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK | (posix.O_NOFOLLOW if plain else 0))
    try:
        return posix.read(descriptor, _READ_MAX).decode()
    finally:
        posix.close(descriptor)
