"""HTTP on the loopback address, for what cannot speak over a socket or stdio: `/ask`, `/events`, `/hook`, `/mcp`.

Whoever asks shows the bearer token that only this user can read, names this server in Host, and comes from no foreign
page; only `/healthz` is open. The web server is loaded when somebody first connects. Nothing is decided here: requests
go to the host's workers, and statuses come from the table of errors.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from clearway import wire
from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings, check_name
from clearway.errors import Refusal
from clearway.guard import quiet
from clearway.limits import (
    CHANGES_MAX,
    HOST_FIRST_WORD_MS,
    HOST_LINE_BYTES_MAX,
    HOST_WORKER_IDLE_SECONDS,
    HTTP_BODY_SECONDS,
    HTTP_CONNECTIONS_MAX,
    SESSION_CHARS_MAX,
    STREAMS_MAX,
)
from clearway.op import Operation
from clearway.rooms import Rooms
from clearway.surfaces import hooks, host_figures, host_start, patience
from clearway.surfaces.callers import HUMAN
from clearway.surfaces.feeds import Feed
from clearway.surfaces.hooks import Standing
from clearway.surfaces.host_at_once import AtOnce
from clearway.surfaces.host_full import Done, in_a_worker, loop, news
from clearway.surfaces.host_watch import file_in
from clearway.surfaces.host_work import Worker
from clearway.surfaces.http_plain import Plain, plain
from clearway.surfaces.tokens import AGENT
from clearway.surfaces.web_door import WebDoor
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.surfaces.host import Host
    from clearway.surfaces.http_door import Door
    from clearway.surfaces.http_mcp import Conversations

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

SCOPE = "clearway.scope"
READ = "read"
_JSON = "application/json"
_REST_SECONDS = 0.2  # between the head of a plain call and its body
_METHODS = {"healthz": "GET", "metrics": "GET", "events": "GET", "ask": "POST", "hook": "POST"}
_EVENT_DIGITS_MAX = 18
_QUERY_FIELDS_MAX = 16


class Http:
    """What answers at the door of one host, in its event loop."""

    profile = "core"  # the tools of whoever does not say which he wants
    key_asked = "Show the token in run/http-token as a bearer token."

    def __init__(self, host: Host, door: Door) -> None:
        self.host = host
        self.active = 0
        self._door = door
        self._streams = 0
        self._hosts = {f"{name}:{door.port}" for name in ("127.0.0.1", "localhost")}
        self._origins = {f"http://{name}" for name in self._hosts}
        self._web = WebDoor(self, door, self._origins)
        self._feeds: dict[str, Feed] = {}
        self._mcp: Conversations | None = None
        self._room_figures = host_figures.RoomFigures(host)
        self._ending = asyncio.Event()
        self.at_once = AtOnce(host, loop().call_soon_threadsafe)

    def start(self) -> None:
        serving = asyncio.run_coroutine_threadsafe(self._serve(), loop())
        serving.add_done_callback(self._ended)

    def end(self) -> None:
        loop().call_soon_threadsafe(self._ending.set)

    async def _serve(self) -> None:
        import uvicorn

        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            proxy_headers=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            http=_hurried(self),
            ws="none",
            limit_concurrency=HTTP_CONNECTIONS_MAX,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
            **self._door.tls,
        )
        ending = self._ending

        class Server(uvicorn.Server):
            async def main_loop(self) -> None:
                """Its own looks ten times a second whether to end, and sets the clock of a header."""
                await ending.wait()

        looking = asyncio.ensure_future(self._look_around())
        try:
            await Server(config).serve(sockets=[self._door.listener])
        finally:
            looking.cancel()
            self.at_once.close()

    async def _look_around(self) -> None:
        while True:
            await asyncio.sleep(HOST_WORKER_IDLE_SECONDS)
            self.at_once.look()

    def _ended(self, serving: Future[None]) -> None:
        if not serving.cancelled() and (error := serving.exception()) is not None:
            self.host.workers.complain(error)

    # --- one request --------------------------------------------------------------------------------------------

    def said_at_once(self, asked: Plain) -> bytes | None:
        """The answer to a plain call of a tool that waits for nothing; None for everything else."""
        self.host.needed()
        request = Request(asked.scope, _nothing_more)
        if self._mcp is None or not self._is_let_in(request):
            return None
        self.at_once.begin_round()
        try:
            profile = request.query().get("tools", self.profile) if asked.query else self.profile
            asked.headers[SCOPE] = request.scope
            return self._mcp.said_at_once(profile, asked)
        except Refusal:
            return None
        except Exception as error:
            self.host.workers.complain(error)
            return None

    async def _answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.host.needed()
        self.active += 1
        try:
            request = Request(scope, receive)
            if self._is_own_page(request) and (page := self._web.page(request)) is not None:
                status, kind, body, more = page
            elif self._is_let_in(request):
                if request.path == "/mcp":
                    await self._converse(scope | {SCOPE: request.scope}, receive, send)
                    return
                status, kind, body, more = await self._routed(request, send)
            else:
                self.host.counted.turn_away()
                status, kind, body, more = _turned_away(request, self._hosts, self._origins, self.key_asked)
            if status:
                await _say(send, status, kind, body, more)
        finally:
            self.active -= 1

    def _is_own_page(self, request: Request) -> bool:
        return request.header("host").lower() in self._hosts and _is_own(request.header("origin"), self._origins)

    def _is_let_in(self, request: Request) -> bool:
        if not self._is_own_page(request):
            return False
        if request.path == "/healthz" or self._web.is_log_in(request):
            return True
        request.is_persons = self._web.is_persons(request)
        if request.is_persons:
            return True
        scheme, _, given = request.header("authorization").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), self._door.token.encode())

    async def _routed(self, request: Request, send: Send) -> Reply:
        try:
            return await self._route(request, send)
        except Refusal as refusal:
            return _refusal(refusal)
        except Exception as error:
            self.host.workers.complain(error)
            return _refusal(Refusal("INTERNAL", "This failed by a defect of Clearway; the host's log says where."))

    async def _route(self, request: Request, send: Send) -> Reply:
        first, _, rest = request.path.strip("/").partition("/")
        match request.method, first:
            case "GET", "healthz" if not rest:
                return await self._healthz()
            case "GET", "metrics" if not rest:
                said = host_figures.of_host(self.host, self._streams) + await self.in_a_worker(self._room_figures.text)
                return 200, "text/plain; version=0.0.4; charset=utf-8", said.encode(), {}
            case "POST", "ask" if rest:
                return await self._ask(request, rest)
            case "POST", "hook" if rest:
                return await self._hook(request, rest)
            case "GET", "events" if not rest:
                return await self._events(request, send)
            case "POST", "session" if not rest:
                return await self._web.log_in(request)
            case _ if request.is_persons and first in ("rooms", "session"):
                return await self._web.answer(request)
            case _:
                return _asked_otherwise(request.method, first)

    async def _healthz(self) -> Reply:
        await self.in_a_worker(lambda _: host_start.prove_a_write(self.host.settings.home))
        return 200, _JSON, b'{"ok":true}', {}

    async def _ask(self, request: Request, name: str) -> Reply:
        operation = OPERATIONS.get(name)
        if operation is None:
            raise Refusal("INVALID_ARGUMENT", f"There is no operation {folded(name, 80)}.")
        try:
            given: Any = wire.loads(await request.body() or b"{}")
        except ValueError:
            raise Refusal("INVALID_ARGUMENT", "The body must be a JSON object of arguments.") from None
        if not wire.is_object(given):
            raise Refusal("INVALID_ARGUMENT", "The body must be a JSON object of arguments.")
        if request.header("idempotency-key"):
            given["idempotency_key"] = request.header("idempotency-key")
        if request.is_persons:
            request.folder = await self._web.folder(request)
        check_scope(request.scope, operation, given)
        reply = await self.asked(operation, given, _caller(request, self.host))
        return 200, _JSON, wire.dumps(reply).encode("utf-8", "backslashreplace"), {}

    async def _hook(self, request: Request, client: str) -> Reply:
        payload = await request.body()

        def act(worker: Worker) -> hooks.Answer:
            standing = Standing(request.header("clearway-cwd"), 1, worker.shelf(""))
            environ = {"CLEARWAY_HOME": self.host.settings.home, "HOME": self.host.settings.environ.get("HOME", "")}
            if request.header("clearway-agent"):
                environ["CLEARWAY_AGENT"] = check_name(request.header("clearway-agent"))
            try:
                began = quiet.now()
                said = hooks.answered(client, payload, environ, standing)
                self.host.counted.hook(client, quiet.elapsed(began), said.denied, said.said)
                if said.afterwards is not None:
                    said.afterwards()
                said.tell()
                return said
            finally:
                standing.close()

        said = await self.in_a_worker(act)
        body = (said.out or said.err).encode("utf-8", "backslashreplace")
        return 200, _JSON if said.out else "text/plain", body, {"Clearway-Exit": str(said.code)}

    # --- events -------------------------------------------------------------------------------------------------

    async def _events(self, request: Request, send: Send) -> Reply:
        """The one log of a room as it grows. It is read once for all who listen, and not at all between two changes."""
        if self._streams >= STREAMS_MAX:
            return _refusal(Refusal("RATE_LIMITED", "Too many streams; try later."), 503)
        self._streams += 1  # before anything is waited for: when a host comes back, all pages ask at once
        try:
            return await self._streamed(request, send)
        finally:
            self._streams -= 1
            self._feeds = {key: one for key, one in self._feeds.items() if one.listeners}

    async def _streamed(self, request: Request, send: Send) -> Reply:
        if request.is_persons:
            request.folder = await self._web.folder(request)
        cwd = request.folder or request.header("clearway-cwd") or request.query().get("cwd", "")
        since = request.header("last-event-id") or request.query().get("since", "")
        watcher = Caller("http", host=self.host.liveness.host, cwd=cwd)
        changes = OPERATIONS["get_changes"]
        latest = (await self.asked(changes, {"limit": 1}, watcher))["latest_event_id"]
        seen = min(int(since[:_EVENT_DIGITS_MAX]), latest) if since.isascii() and since.isdecimal() else latest
        file = await self.in_a_worker(lambda worker: self._file_of(worker, cwd))
        feed = self._feed(file, watcher, latest)
        gone = asyncio.ensure_future(_gone(request.receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _headers("text/event-stream", {})})
            await feed.listen(send, gone, seen)
        finally:
            gone.cancel()
        return 0, "", b"", {}

    def _feed(self, file: str, watcher: Caller, latest: int) -> Feed:
        key = file or f"folder {watcher.cwd}"
        feed = self._feeds.get(key)
        if feed is None:

            async def read(seen: int) -> dict[str, Any]:
                asked = {"since_event_id": seen, "limit": CHANGES_MAX}
                return await self.asked(OPERATIONS["get_changes"], asked, watcher)

            feed = self._feeds[key] = Feed(self.host, file, read, latest)
        return feed

    async def watched_file(self, cwd: str) -> str:
        """The file of the room of a folder, whose changes can be waited for."""
        return await self.in_a_worker(lambda worker: self._file_of(worker, cwd))

    def _file_of(self, worker: Worker, cwd: str) -> str:
        rooms = self.rooms_of(worker)
        try:
            return file_in(rooms, cwd)
        finally:
            rooms.close()

    # --- MCP ----------------------------------------------------------------------------------------------------

    async def _converse(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Streamable HTTP, by the SDK."""
        from clearway.surfaces import http_mcp

        if self._mcp is None:
            self._mcp = http_mcp.Conversations(self, self._ending)
        try:
            profile = Request(scope, receive).query().get("tools", self.profile)
            served = self._mcp.served(profile)
        except Refusal as refusal:
            await _say(send, *_refusal(refusal))
            return
        await served.answer(scope, receive, send)

    # --- rooms --------------------------------------------------------------------------------------------------

    def settings(self) -> Settings:
        """Those of whoever asks over HTTP, who has no environment here."""
        own = self.host.settings
        told = {name: own.environ.get(name, "") for name in ("HOME", "CLEARWAY_TEST_CLOCK")}
        return Settings(told | {"CLEARWAY_HOME": own.home}, 1)

    def rooms_of(self, worker: Worker) -> Rooms:
        settings = self.settings()
        return Rooms(settings, say=self.host.say, shelf=worker.shelf(settings.test_clock))

    def meant(self, operation: Operation, caller: Caller) -> Caller:
        """The caller, with the folder he means where he has named none."""
        return caller

    async def asked(self, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        caller = self.meant(operation, caller)

        async def once() -> dict[str, Any]:
            return await self.in_a_worker(lambda worker: self.ask(worker, operation, arguments, caller))

        reply = await once()
        if seconds := patience.seconds_left(operation, arguments, reply):
            file = await self.in_a_worker(lambda worker: self._file_of(worker, caller.cwd))
            return await news(self.host, file, seconds, once)
        return reply

    def ask(self, worker: Worker, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        rooms = self.rooms_of(worker)
        try:
            return self.host.counted.asked("http", operation, lambda: rooms.ask(operation, arguments, caller))
        finally:
            asked = rooms.projects
            rooms.close()
            self.at_once.offer(worker, rooms.settings, asked)

    async def in_a_worker(self, act: Callable[[Worker], Done]) -> Done:
        return await in_a_worker(self.host.workers, act)


def _hurried(http: Http) -> type[asyncio.Protocol]:
    """Connections as the web server has them, but one on which nothing is asked is closed after a while: anybody on
    this machine can open one, and there is a bound on how many there are. And a plain call that can be answered at
    once is, before the web server has seen it."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Hurried(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._nothing_asked = self.conn.states
            self._asked = False
            self._held = b""  # the beginning of a plain call
            self._giving_up: asyncio.TimerHandle | None = None
            self._too_late = self.loop.call_later(HOST_FIRST_WORD_MS / 1_000, self._hang_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._too_late.cancel()
            self._hold_no_longer()  # nobody waits for an answer to it
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            data, self._held = self._held + data, b""
            asked = plain(data) if self._is_free() else None
            said = http.said_at_once(asked) if asked is not None and not asked.missing else None
            if said is not None:
                self._asked = True
                self._unset_keepalive_if_required()
                self.transport.write(said)
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )
            elif asked is not None and asked.missing:  # clients send head and body one after the other
                self._held = data
                self._unset_keepalive_if_required()
                if self._giving_up is None:  # whoever sends bit by bit has no more time
                    self._giving_up = self.loop.call_later(_REST_SECONDS, self._give_up)
                return
            else:
                super().data_received(data)
            self._hold_no_longer()

        def _is_free(self) -> bool:
            """Whether nothing of a request has been read, and nothing of an answer is to be sent."""
            cycle: Any = self.cycle  # there is none before the first request, whatever is declared
            done = cycle is None or cycle.response_complete
            nothing = done and self.conn.states == self._nothing_asked and not self.conn.trailing_data[0]
            return nothing and self.transport.get_write_buffer_size() == 0

        def _give_up(self) -> None:
            """The rest has not come in time: the web server waits for it."""
            data, self._held, self._giving_up = self._held, b"", None
            super().data_received(data)

        def _hold_no_longer(self) -> None:
            if self._giving_up is not None:
                self._giving_up.cancel()
                self._giving_up = None

        def _hang_up(self) -> None:
            if getattr(self, "cycle", None) is None and not self._asked and not self._held:  # no request has begun
                self.transport.close()

    return Hurried


async def _nothing_more() -> dict[str, Any]:
    return {"type": "http.disconnect"}


Reply = tuple[int, str, bytes, dict[str, str]]  # status, content type, body, further headers


class Request:
    """What was asked. Headers are given by their names in lower case."""

    def __init__(self, scope: dict[str, Any], receive: Receive) -> None:
        self.method = str(scope["method"])
        self.path = str(scope["path"])
        self.receive = receive
        self.is_persons = False  # asked in a browser by somebody who is logged in
        self.scope = AGENT  # what the token that was shown is good for
        self.folder = ""  # where that person asks
        self._headers: dict[str, str] = {}
        self._repeated = False
        for raw_name, raw_value in scope["headers"]:
            name = raw_name.decode("latin-1").lower()
            self._repeated |= name in self._headers and name in ("host", "origin", "authorization")
            self._headers[name] = raw_value.decode("latin-1")
        self._query: bytes = scope.get("query_string", b"")

    def header(self, name: str) -> str:
        return "" if self._repeated else self._headers.get(name, "")

    def query(self) -> dict[str, str]:
        from urllib.parse import parse_qsl

        try:
            return dict(parse_qsl(self._query.decode("latin-1"), max_num_fields=_QUERY_FIELDS_MAX))
        except ValueError:
            raise Refusal("INVALID_ARGUMENT", f"An address has at most {_QUERY_FIELDS_MAX} arguments.") from None

    async def body(self) -> bytes:
        """All of it, within bounds of size and time."""
        try:
            return await asyncio.wait_for(self._read(), HTTP_BODY_SECONDS)
        except TimeoutError:
            raise Refusal("INVALID_ARGUMENT", "The body did not come in time.") from None

    async def _read(self) -> bytes:
        body = bytearray()
        while True:
            message = await self.receive()
            body += message.get("body", b"")
            if len(body) > HOST_LINE_BYTES_MAX:
                raise Refusal("LIMIT_EXCEEDED", f"A body has at most {HOST_LINE_BYTES_MAX} bytes.")
            if not message.get("more_body", False):
                return bytes(body)


def _turned_away(request: Request, hosts: set[str], origins: set[str], key_asked: str) -> Reply:
    """Why somebody is not let in: a wrong Host, a foreign Origin, or no valid token."""
    if request.header("host").lower() not in hosts:
        refusal, status = (
            Refusal("FORBIDDEN", "This is not the server you mean."),
            421 if request.path == "/mcp" else 403,
        )
    elif not _is_own(request.header("origin"), origins):
        refusal, status = Refusal("FORBIDDEN", "Another page may not ask here."), 403
    else:
        refusal, status = Refusal("UNAUTHORIZED", key_asked), 401
    more = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return status, _JSON, wire.dumps(refusal.as_dict()).encode(), more


def _is_own(origin: str, origins: set[str]) -> bool:
    return not origin or origin in origins


def _asked_otherwise(method: str, first: str) -> Reply:
    """Nothing is here, or it is asked with another method."""
    right = _METHODS.get(first, "")
    if not right or method == right:
        return _refusal(Refusal("INVALID_ARGUMENT", "There is nothing here."), 404)
    status, kind, body, _ = _refusal(Refusal("INVALID_ARGUMENT", f"This is asked with {right}."), 405)
    return status, kind, body, {"Allow": right}


def _refusal(refusal: Refusal, status: int = 0) -> Reply:
    return status or refusal.http_status, _JSON, wire.dumps(refusal.as_dict()).encode("utf-8", "backslashreplace"), {}


def check_scope(scope: str, operation: Operation, given: dict[str, Any]) -> None:
    """Refuse what changes the room to a token that is for looking."""
    if scope == READ and operation.writes_with(given):
        raise Refusal("FORBIDDEN", f"This token only looks, and {operation.name} writes; ask for one of scope agent.")


def by_token(scope: str, cwd: str, host: str) -> Caller:
    """Who asks with a token that is no agent's: the person, or somebody who only looks and is nobody in the room."""
    is_human = scope == HUMAN
    return Caller(HUMAN if is_human else "http", client="http", cwd=cwd, host=host, human=is_human)


def _caller(request: Request, host: Host) -> Caller:
    """Who asks, as the headers say: an agent, and its session if it has one; or the person who is logged in."""
    if request.is_persons:
        return Caller(HUMAN, client="web", cwd=request.folder, host=host.liveness.host, human=True)
    if request.scope != AGENT and (request.scope == READ or not request.header("clearway-agent")):
        return by_token(request.scope, request.header("clearway-cwd"), host.liveness.host)
    session = request.header("clearway-session")
    if len(session) > SESSION_CHARS_MAX:
        raise Refusal("INVALID_ARGUMENT", "Clearway-Session is too long.")
    name = check_name(request.header("clearway-agent") or "http")
    return Caller(name, session or None, client="http", cwd=request.header("clearway-cwd"), host=host.liveness.host)


async def _say(send: Send, status: int, kind: str, body: bytes, more: dict[str, str]) -> None:
    headers = [*_headers(kind, more), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _headers(kind: str, more: dict[str, str]) -> list[tuple[bytes, bytes]]:
    named = {"Content-Type": kind, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **more}
    return [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in named.items()]


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
