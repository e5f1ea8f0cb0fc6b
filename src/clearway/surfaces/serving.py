"""`clearway serve`: MCP over Streamable HTTP in the foreground, for clients that cannot start a program here.

It answers beside the resident host and without it, at one address that it is given, for whoever shows a token; only a
loopback address may be served without. Whoever asks without saying in which folder he works means the one that this
was started in, except for paths: a relative one is refused, since it could be anybody's. The page of the room and hooks
are not served here.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import signal
import socket
import ssl
import sys
import threading
from typing import TYPE_CHECKING, NamedTuple, cast

from clearway import db, wire
from clearway.arguments import form
from clearway.config import Caller, Settings
from clearway.db.sqlite import SqliteEngine
from clearway.errors import Refusal
from clearway.op import Operation
from clearway.surfaces.asking import Run, mention
from clearway.surfaces.host import Host
from clearway.surfaces.http import Http, Reply, Request, Send
from clearway.surfaces.mcp_tools import Offer
from clearway.surfaces.tokens import AGENT, Tokens
from clearway.untrusted import folded

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.surfaces.http_door import Door
    from clearway.surfaces.web_door import WebDoor

_SERVED = ("ask", "events", "mcp", "healthz")
_TICK_SECONDS = 5.0
_MOMENT_SECONDS = 0.01
_ENDS_WITHIN_SECONDS = 3.0


class Files(NamedTuple):
    """A certificate and the key of it, or nothing."""

    cert: str
    key: str


def perform(run: Run, address: str, files: Files, *, no_auth: bool, insecure: bool, tools: str) -> int:
    """Listen and answer until a signal comes."""
    host, port = _where(address)
    tls = _tls(*files)
    if not (tls or insecure or no_auth or _is_here(host)):
        raise Refusal(
            "FORBIDDEN",
            "Beyond this machine everybody on the way reads what is said, tokens included: give --tls-cert and "
            "--tls-key, or say --insecure-http.",
        )
    profile = tools or run.settings.environ.get("CLEARWAY_TOOLS", "") or "core"
    Offer(profile)  # a wrong one is refused before anybody comes
    keys = Keys(run, no_auth=no_auth, here=_is_here(host))
    try:
        door = FrontDoor(host, port, keys, tls, profile, _folder(run))
    except OSError as error:
        raise Refusal(
            "STORAGE_CONFIGURATION", f"{folded(host, 200)}:{port} cannot be listened at: {error.strerror}."
        ) from None
    if not tls and not _is_here(host):
        mention("without --tls-cert everybody on the way reads what is said, tokens included")
    Foreground(run.settings, mention).open(door)
    return 0


class Keys:
    """What opens the door."""

    def __init__(self, run: Run, *, no_auth: bool, here: bool) -> None:
        self._is_open = no_auth
        self._given = run.settings.environ.get("CLEARWAY_TOKEN", "")
        self._tokens = Tokens(run.settings.home, run.settings.clock())
        if no_auth and not here:
            raise Refusal(
                "FORBIDDEN", "Without a token only this machine is served: choose 127.0.0.1, or no --no-auth."
            )
        if not no_auth and not self._given and not self._tokens.listed():
            raise Refusal(
                "STORAGE_CONFIGURATION",
                "There is no token that could let anybody in; make one: clearway token create NAME.",
            )

    def scope_of(self, authorization: str) -> str:
        """What is shown is good for; empty if it opens nothing."""
        if self._is_open:
            return AGENT
        kind, _, shown = authorization.partition(" ")
        if kind.lower() != "bearer" or not shown:
            return ""
        given = bool(self._given) and hmac.compare_digest(shown.encode(), self._given.encode())
        return self._tokens.scope_of(shown) or (AGENT if given else "")


class FrontDoor:
    """The address that is listened at."""

    def __init__(self, host: str, port: int, keys: Keys, tls: dict[str, str], profile: str, folder: str) -> None:
        """folder: where those work who do not say where."""
        self.keys = keys
        self.token = ""  # there may be several
        self.people = None  # nobody logs in here
        self.tls = tls
        self.profile = profile
        self.folder = folder
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.port = int(self.listener.getsockname()[1])
        scheme = "https" if tls else "http"
        self.names = called(_names(host), self.port, scheme)
        self.origins = {f"{scheme}://{name}" for name in self.names}
        self.address = f"{scheme}://{_bracketed(host)}:{self.port}/mcp"


class Foreground(Host):
    """A host without an office: no lock, no socket, no duties. It answers at one door until it is told to leave."""

    def __init__(self, settings: Settings, say: Callable[[str], None]) -> None:
        self._woken = threading.Event()
        super().__init__(settings, say=say)

    def open(self, door: FrontDoor) -> None:
        """Answer until a signal comes."""

        def leave(_number: int, _frame: object) -> None:
            self.leave("it was told to")

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, leave)
        db.read_all()
        SqliteEngine.together = self.together
        http = FrontHttp(self, door)
        http.start()
        print(f"listening on {door.address}", file=sys.stderr, flush=True)  # programs wait for this line
        while not self.leaving:
            crowded = self.workers.grow()
            self._woken.wait(_MOMENT_SECONDS if crowded else _TICK_SECONDS)
            self._woken.clear()
        self.watch.ring_all()
        http.end()
        http.ended.wait(_ENDS_WITHIN_SECONDS)
        self.close()

    def _wake(self) -> None:
        self._woken.set()


class FrontHttp(Http):
    """What answers at this door: no page, no hooks, no person."""

    key_asked = "Show a token of this server as a bearer token; clearway token create NAME makes one."

    def __init__(self, host: Foreground, door: FrontDoor) -> None:
        super().__init__(host, cast("Door", door))  # as much of one as answers a client
        self._front = door
        self._web = cast("WebDoor", Nobody())
        self._hosts = door.names
        self._origins = door.origins
        self.profile = door.profile
        self.ended = threading.Event()

    async def _serve(self) -> None:
        try:
            await super()._serve()
        finally:
            self.ended.set()

    def _is_let_in(self, request: Request) -> bool:
        if not self._is_own_page(request):
            return False
        request.scope = self._front.keys.scope_of(request.header("authorization"))
        return request.path == "/healthz" or bool(request.scope)

    async def _route(self, request: Request, send: Send) -> Reply:
        if request.path.strip("/").partition("/")[0] in _SERVED:
            return await super()._route(request, send)
        said = Refusal("INVALID_ARGUMENT", "There is nothing here; MCP is at /mcp.").as_dict()
        return 404, "application/json", wire.dumps(said).encode(), {}

    def meant(self, operation: Operation, caller: Caller) -> Caller:
        if not caller.cwd and not form(operation).takes_paths:
            caller.cwd = self._front.folder
        return caller

    async def watched_file(self, cwd: str) -> str:
        return await super().watched_file(cwd or self._front.folder)


class Nobody:
    """In the place of the web room's door: there is no page here, and nobody logs in."""

    def page(self, _: Request) -> None:
        return None

    def is_log_in(self, _: Request) -> bool:
        return False

    def is_persons(self, _: Request) -> bool:
        return False


def _where(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise Refusal("INVALID_ARGUMENT", "Say where to listen: serve --http 127.0.0.1:8765.")
    return host, int(port)


def _tls(cert: str, key: str) -> dict[str, str]:
    if not cert and not key:
        return {}
    if not cert or not key:
        raise Refusal("INVALID_ARGUMENT", "--tls-cert and --tls-key belong together.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror if isinstance(error, FileNotFoundError) else "it is no certificate with its key"
        raise Refusal("STORAGE_CONFIGURATION", f"{folded(cert, 200)} cannot be used: {why}.") from None
    return {"ssl_certfile": cert, "ssl_keyfile": key}


def _is_here(host: str) -> bool:
    """Whether this address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _names(host: str) -> set[str]:
    """What a client may call this server in Host. Under another name it was led here by somebody else."""
    if _is_here(host):
        return {"127.0.0.1", "localhost", _bracketed(host)}
    names = {_bracketed(host)}
    try:
        if ipaddress.ip_address(host).is_unspecified:
            names = {"127.0.0.1", "localhost", socket.gethostname()}
            names |= {_bracketed(str(each[4][0])) for each in socket.getaddrinfo(socket.gethostname(), None)}
    except (ValueError, OSError):
        pass  # a name, or a machine that does not know its own addresses
    return names


def called(names: set[str], port: int, scheme: str) -> set[str]:
    """How clients write these names in Host: in small letters, and without the port that the scheme stands for."""
    ends = [f":{port}", *([""] if port == {"https": 443, "http": 80}[scheme] else [])]
    return {name.lower() + end for name in names for end in ends}


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _folder(run: Run) -> str:
    """Where those work who do not say where: the repository in which this was started, if it is in one."""
    place = run.place
    return "" if place is None else os.path.realpath(run.folder)
