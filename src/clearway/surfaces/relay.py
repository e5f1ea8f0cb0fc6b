"""`clearway mcp` while a host is running: a few lines that carry a client's words to it and bring the answers back.

It ends with its client. A host that dies is looked for again, or started, or done without: then this process becomes
the server itself. What had been asked of the dead one and only looks, or carries an idempotency key, is asked again;
anything else may have been done, and the client is told so instead.

Every agent has one of these all day, so it imports next to nothing.
"""

from __future__ import annotations

import sys

from clearway import __version__
from clearway.wire import dumps, is_list, is_object, loads

if sys.platform == "win32":
    import nt as posix
else:
    import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

VERSION = 1  # host_wire.VERSION
_LINE_BYTES_MAX = 8 * 1_048_576  # limits.HOST_LINE_BYTES_MAX
_ENDS_BYTES = 1_024  # that are kept of a line which is too long
_FIRST_ANSWER_SECONDS = 1.0
_START_SECONDS = 0.7  # a client waits little longer than that for a list of tools
_RESTART_SECONDS = 3.0  # in the middle of a conversation it has more patience
_LOOK_AT_PARENT_MS = 1_000
_PAUSE_MS = 5
_WATCHED_MAX = 100  # limits.SUBSCRIPTIONS_MAX
_LAST_WORDS_MS = 5_000  # without a word of the host, which may have to load the SDK before it answers
_OURS = "clearway-"  # how the ids of our own requests begin
_GOODBYE = b'{"clearway":"goodbye"}'
_TOLD = (
    "HOME",
    "CLEARWAY_",
    "AGENT_",
    "CLAUDE",
    "CODEX_",
    "COPILOT_",
    "GEMINI",
    "QWEN",
    "OPENCODE",
    "GIT_",
    "PATH",
    "LANG",
    "TZ",
)
_LOST = (
    "INTERNAL: The answer to this call was lost with the host that made it; it may have been done. Look before you ask "
    "again."
)


class Link:
    """A connection to a host that has greeted us. reads: the tools that change nothing."""

    __slots__ = ("connection", "got", "reads")

    def __init__(self, connection: Any, reads: frozenset[str], got: bytes) -> None:
        self.connection = connection
        self.reads = reads
        self.got = got


class Asked:
    """A request that has not been answered yet. watched: the resources that it listens to, for as long as it lasts."""

    __slots__ = ("line", "may_repeat", "watched")

    def __init__(self, line: bytes, may_repeat: bool, watched: list[str] | None) -> None:
        self.line = line
        self.may_repeat = may_repeat
        self.watched = watched


class Relay:
    """One client, and the host it talks to at present."""

    def __init__(self, words: Sequence[str], home: str, environ: dict[str, str]) -> None:
        self._words = list(words)
        self._home = home
        self._environ = environ
        self._opening: list[bytes] = []  # what another host has to be told first
        self._open: dict[int | str, Asked] = {}
        self._watched: dict[str, bytes] = {}  # resources the client wants to be told of, and how it said so
        self._unasked: set[str] = set()  # ids of requests of our own, whose answers are for nobody
        self._in = b""
        self._too_long: tuple[bytes, bytes] | None = None  # the ends of a line that is passed over
        self._ended = False
        self._leaving = False  # the host has said goodbye: nothing more is sent to it
        self._alone = False  # no host answers for us
        self._gave_way = False

    def run(self) -> int:
        """Carry words until the client leaves. An exit status; else this process has become the server itself."""
        parent = posix.getppid()
        link = self._find(_START_SECONDS)
        while link is not None:
            self._carry(link, parent)
            link.connection.close()
            if self._ended:
                return 0
            link = self._next_link()
        return self._serve()

    # --- finding a host -----------------------------------------------------------------------------------------

    def _find(self, seconds: float) -> Link | None:
        """The running host, else a new one, which is waited for so long."""
        link = self._reach()
        if link is not None or self._alone:
            return link
        import select

        if not _in_a_child(self._launch):  # it cannot be: everything works without one
            return None
        pause = select.poll()
        for _ in range(int(seconds * 1_000 / _PAUSE_MS)):
            pause.poll(_PAUSE_MS)
            link = self._reach()
            if link is not None or self._alone:
                break
        return link

    def _launch(self) -> None:
        from clearway.surfaces import host_start

        host_start.launch(self._home, self._environ)

    def _give_way(self) -> None:
        from clearway.surfaces import host_start

        host_start.start(self._home, self._environ)

    def _reach(self) -> Link | None:
        try:
            import _socket

            connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            connection.settimeout(_FIRST_ANSWER_SECONDS)
            connection.connect(_address(self._home))
        except (OSError, AttributeError, ImportError):
            return None
        try:
            if _is_ours(connection):
                return self._greeted(connection)
        except (OSError, ValueError):
            pass
        connection.close()
        return None

    def _greeted(self, connection: Any) -> Link | None:
        """Say who we are, and hear who answers."""
        told = {name: value for name, value in self._environ.items() if name.startswith(_TOLD)}
        hello = {"v": VERSION, "op": "mcp", "args": {"words": self._words}, "caller": {"cwd": _folder()}}
        connection.sendall((dumps(hello | {"environ": told}) + "\n").encode("utf-8", "surrogateescape"))
        got = b""
        while b"\n" not in got:
            part = connection.recv(65_536)
            if not part or len(got) > _LINE_BYTES_MAX:
                connection.close()
                return None
            got += part
        line, _, rest = got.partition(b"\n")
        said: Any = loads(line)
        if not is_object(said) or said.get("v") != VERSION or said.get("ok") is not True:
            self._alone = True
            connection.close()
            return None
        if said["result"].get("version") != __version__ and not self._gave_way:
            return self._another(connection)
        reads = said["result"].get("reads", [])
        return Link(connection, frozenset(reads if is_list(reads) else ()), rest)

    def _another(self, connection: Any) -> Link | None:
        """Let a host of our version take the place of an older one; a newer one stays."""
        self._gave_way = True
        connection.close()
        return self._reach() if _in_a_child(self._give_way) else None

    def _next_link(self) -> Link | None:
        """Another host in the place of one that is gone, which has been told what the client said first."""
        for identity, asked in list(self._open.items()):
            if not asked.may_repeat:
                del self._open[identity]
                self._say(_answer_lost(identity))
        self._leaving = False
        link = self._find(_RESTART_SECONDS)
        if link is None:
            return None
        again = self._said_again()
        try:
            for line in self._opening:
                link.connection.sendall(line)
                if b'"id"' in line:
                    self._skip_answer(link)
            for line in again:
                link.connection.sendall(line)
        except OSError:
            link.connection.close()
            return None
        self._tell_listeners()
        return link

    def _said_again(self) -> list[bytes]:
        """What another host has to be asked: what the one before left unanswered, and what it told the client of."""
        again = [asked.line for asked in self._open.values() if asked.line not in self._opening]
        for uri, line in self._watched.items():
            if line not in again:
                identity = _OURS + uri
                self._unasked.add(identity)
                again.append(_line({"id": identity, "method": "resources/subscribe", "params": {"uri": uri}}))
        return again

    def _tell_listeners(self) -> None:
        """While nobody watched, anything may have changed."""
        for identity, asked in self._open.items():
            for uri in asked.watched or ():
                self._say(_changed(uri, {"_meta": {"io.modelcontextprotocol/subscriptionId": identity}}))

    def _skip_answer(self, link: Link) -> None:
        """The client has had it from the one before; unless it was lost with that one."""
        while b"\n" not in link.got:
            part = link.connection.recv(65_536)
            if not part:
                raise OSError
            link.got += part
        line, _, link.got = link.got.partition(b"\n")
        identity = _identity(line)
        if identity in self._open:
            self._hear(line + b"\n")

    # --- carrying -----------------------------------------------------------------------------------------------

    def _carry(self, link: Link, parent: int) -> None:
        """Until one of the two is gone. `_ended`: it was the client."""
        import select

        host = link.connection.fileno()
        link.connection.settimeout(None)
        waiting = select.poll()
        waiting.register(host, select.POLLIN)
        waiting.register(0, select.POLLIN)
        silent_for = 0
        self._take_lines(link, waiting)
        while True:
            ready = dict(waiting.poll(_LOOK_AT_PARENT_MS))
            if posix.getppid() != parent:
                self._ended = True
                return
            if host in ready and not self._from_host(link):
                return
            if 0 in ready and not self._from_client(link, waiting):
                silent_for = 0
            if self._ended:
                silent_for += _LOOK_AT_PARENT_MS if not ready else 0
                if silent_for > _LAST_WORDS_MS or all(asked.watched is not None for asked in self._open.values()):
                    return

    def _from_host(self, link: Link) -> bool:
        try:
            part = link.connection.recv(65_536)
        except OSError:
            part = b""
        if not part:
            return False
        link.got += part
        *lines, link.got = link.got.split(b"\n")
        for line in lines:
            if line == _GOODBYE:
                self._leaving = True
                _end_of_words(link.connection)
            else:
                self._hear(line + b"\n")
        return True

    def _hear(self, line: bytes) -> None:
        if self._open or self._unasked:
            identity = _identity(line)
            if identity in self._unasked:
                self._unasked.discard(str(identity))
                if b'"result"' in line:  # it is watched again, and what happened meanwhile nobody knows
                    self._say(_changed(str(identity).removeprefix(_OURS), {}))
                return
            self._open.pop(identity, None)
        self._say(line)

    def _from_client(self, link: Link, waiting: Any) -> bool:
        """Whether there may be more of it."""
        part = posix.read(0, 65_536)
        self._in += self._after_what_is_too_long(part)
        self._take_lines(link, waiting)
        if part and len(self._in) > _LINE_BYTES_MAX and not self._leaving:
            self._too_long, self._in = (self._in[:_ENDS_BYTES], self._in[-_ENDS_BYTES:]), b""
        if part and len(self._in) <= _LINE_BYTES_MAX:
            return True
        self._ended = True
        waiting.unregister(0)
        _end_of_words(link.connection)
        return False

    def _after_what_is_too_long(self, part: bytes) -> bytes:
        """What follows a line that is longer than any may be. That one is refused when it has ended, and costs the
        client no more than its answer."""
        if self._too_long is None:
            return part
        rest, newline, following = part.partition(b"\n")
        first, last = self._too_long[0], (self._too_long[1] + rest)[-_ENDS_BYTES:]
        if not newline:
            self._too_long = first, last
            return b""
        self._too_long = None
        self._say(_refused(_identity_of_ends(first, last)))
        return following

    def _take_lines(self, link: Link, waiting: Any) -> None:
        """Carry over what is whole. Nothing more once the host is leaving: that waits for the next one."""
        *lines, rest = self._in.split(b"\n")
        while lines and not self._leaving:
            line = lines.pop(0) + b"\n"
            self._note(line, link)
            try:
                link.connection.sendall(line)
            except OSError:
                break  # its end is seen by the reader, who then sees what was asked
        self._in = b"\n".join([*lines, rest])

    def _note(self, line: bytes, link: Link) -> None:
        """Keep what has to be known should the host be lost."""
        try:
            said: Any = loads(line)
        except ValueError:
            return
        if not is_object(said):
            return
        method, identity = said.get("method"), said.get("id")
        if not self._opening or (method == "notifications/initialized" and len(self._opening) == 1):
            self._opening.append(line)
        if method == "notifications/cancelled" and is_object(said.get("params")):
            self._open.pop(said["params"].get("requestId", ""), None)
        if isinstance(method, str) and isinstance(identity, int | str):
            params = said.get("params")
            watched = _listened_to(params) if method == "subscriptions/listen" else None
            self._open[identity] = Asked(line, _may_repeat(method, params, link.reads), watched)
            self._note_watched(method, params, line)

    def _note_watched(self, method: str, params: Any, line: bytes) -> None:
        uri = params.get("uri") if is_object(params) else None
        if method == "resources/subscribe" and isinstance(uri, str) and len(self._watched) < _WATCHED_MAX:
            self._watched[uri] = line
        elif method == "resources/unsubscribe":
            self._watched.pop(str(uri), None)

    def _say(self, line: bytes) -> None:
        try:
            while line:
                line = line[posix.write(1, line) :]
        except OSError:
            posix._exit(0)  # pyright: ignore[reportPrivateUsage]  # nobody listens any more

    def _serve(self) -> int:
        """Be the server: there is no host."""
        from clearway.surfaces import mcp

        again = b"".join(self._said_again())
        self._tell_listeners()
        for uri in self._watched:
            self._say(_changed(uri, {}))
        return mcp.main(self._words, self._opening, again + self._in, self._unasked)


def main(words: Sequence[str], environ: dict[str, str]) -> int:
    """Serve the client on stdin and stdout. Returns an exit status only if it cannot begin, or when it has left."""
    home = _home(environ)
    if home and not environ.get("CLEARWAY_ROOM") and _is_plain(words):
        return Relay(words, home, environ).run()
    from clearway.surfaces import mcp

    return mcp.main(words)


def _is_plain(words: Sequence[str]) -> bool:
    """Whether the descriptors are there; and a wrong word is refused by the server, as ever."""
    try:
        posix.fstat(0)
        posix.fstat(1)
    except OSError:
        return False
    return not words or words[0].startswith("--tools")


def _home(environ: dict[str, str]) -> str:
    """The home as it is baked into what clients start; empty where it would have to be looked for, or no host may be
    asked."""
    if environ.get("CLEARWAY_HOST", "").strip().lower() in ("off", "0", "no", "false") or not hasattr(posix, "fork"):
        return ""
    home = environ.get("CLEARWAY_HOME", "")
    if home.startswith("/") and "/../" not in home + "/":
        return home
    from clearway import config
    from clearway.errors import Refusal

    try:
        return config.home(environ)
    except Refusal:
        return ""


def _address(home: str) -> str:
    """host_wire.address"""
    usual = f"{home}/run/host.sock"
    if len(usual.encode("utf-8", "surrogateescape")) <= 100:
        return usual
    descriptor = posix.open(f"{home}/run/host.address", posix.O_RDONLY)
    try:
        return posix.read(descriptor, 4_096).decode().strip()
    finally:
        posix.close(descriptor)


def _is_ours(connection: Any) -> bool:
    """Whether it is this user who listens (platforms.peer)."""
    level, option, size = (1, 17, 12) if sys.platform == "linux" else (0, 1, 76)
    return connection.getsockopt(level, option, size)[4:8] == posix.getuid().to_bytes(4, sys.byteorder)


def _folder() -> str:
    try:
        return posix.getcwd()
    except OSError:
        return "/"


def _in_a_child(act: Callable[[], object]) -> bool:
    """Do something for which the house is loaded, without keeping it. Whether it was done."""
    child = posix.fork()
    if child == 0:
        try:
            act()
            posix._exit(0)  # pyright: ignore[reportPrivateUsage]
        finally:
            posix._exit(1)  # pyright: ignore[reportPrivateUsage]
    return posix.waitpid(child, 0)[1] == 0


def _end_of_words(connection: Any) -> None:
    try:
        connection.shutdown(1)  # SHUT_WR
    except OSError:
        pass


def _may_repeat(method: str, params: Any, reads: frozenset[str]) -> bool:
    """Whether a request that may have been carried out does no harm a second time."""
    if method != "tools/call":
        return True
    if not is_object(params):
        return True
    arguments = params.get("arguments")
    keyed = is_object(arguments) and isinstance(arguments.get("idempotency_key"), str)
    return keyed or params.get("name") in reads


def _listened_to(params: Any) -> list[str]:
    """The resources that a request of the modern era listens to."""
    wanted = params.get("notifications") if is_object(params) else None
    uris = wanted.get("resourceSubscriptions") if is_object(wanted) else None
    return [uri for uri in uris if isinstance(uri, str)][:_WATCHED_MAX] if is_list(uris) else []


def _changed(uri: str, more: dict[str, Any]) -> bytes:
    return _line({"method": "notifications/resources/updated", "params": {"uri": uri, **more}})


def _line(message: dict[str, Any]) -> bytes:
    return (dumps({"jsonrpc": "2.0", **message}) + "\n").encode("utf-8", "backslashreplace")


def _identity_of_ends(first: bytes, last: bytes) -> int | str | None:
    """Which request a line was of which only the ends are known: clients say that first, or last."""
    for text in (first.removeprefix(b'{"jsonrpc":"2.0",').partition(b",")[0], last.strip().rpartition(b",")[2][:-1]):
        if text.startswith(b'"id":'):
            try:
                said: Any = loads(text[5:])
            except ValueError:
                continue
            if isinstance(said, int | str):
                return said
    return None


def _refused(identity: int | str | None) -> bytes:
    error = {"code": -32600, "message": f"A message has at most {_LINE_BYTES_MAX} bytes."}
    return (dumps({"jsonrpc": "2.0", "id": identity, "error": error}) + "\n").encode("utf-8", "backslashreplace")


def _answer_lost(identity: int | str) -> bytes:
    result = {"content": [{"text": _LOST, "type": "text"}], "isError": True}
    return _line({"id": identity, "result": result})


def _identity(line: bytes) -> int | str:
    """Which request a line answers; empty for none. Read from its beginning, since the rest may be long."""
    start = b'{"jsonrpc":"2.0","id":'
    if line.startswith(start):
        head = line[len(start) : len(start) + 24]
        digits = head.partition(b",")[0]
        if digits.isdigit():
            return int(digits)
    try:
        said: Any = loads(line)
    except ValueError:
        return ""
    identity = said.get("id") if is_object(said) and "method" not in said else None
    return identity if isinstance(identity, int | str) else ""
