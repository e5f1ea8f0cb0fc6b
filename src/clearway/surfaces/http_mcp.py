"""MCP over Streamable HTTP: the SDK's own session manager, with JSON responses.

A client that comes over HTTP has no process here. It says in headers what a hook would have told: its agent, its
session, and the folder it works in; without a folder, a relative path is refused.

The SDK takes 2 ms of processor time for a call. So the plain calls of a session that it has opened, which is most of
what clients say, are answered here as it would answer them (a test compares them); once a minute it is given one, so
that a session which it has ended ends here as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from clearway import wire
from clearway.catalog import OPERATIONS
from clearway.config import RESERVED_NAMES, Caller, agent_name, check_name
from clearway.errors import Refusal
from clearway.limits import HOST_LINE_BYTES_MAX, HTTP_BODY_SECONDS, SESSION_CHARS_MAX, STREAMS_MAX
from clearway.op import Operation
from clearway.rooms import NotAtHand
from clearway.surfaces import http_progress, mcp
from clearway.surfaces.host_full import HostEyes
from clearway.surfaces.http import READ, SCOPE, by_token, check_scope
from clearway.surfaces.mcp_callers import known_name
from clearway.surfaces.mcp_notices import Eyes
from clearway.surfaces.mcp_opening import read
from clearway.surfaces.mcp_tools import Offer
from clearway.surfaces.tokens import AGENT

if TYPE_CHECKING:
    from clearway.surfaces.http import Http, Receive, Send
    from clearway.surfaces.http_plain import Plain

_asking: ContextVar[Mapping[str, str]] = ContextVar("headers of the request that is answered")
_serving: ContextVar[Served] = ContextVar("the sessions to which that request belongs")
_QUICK_FOR_MS = 60_000  # after a call of its session that the SDK has answered
_SESSIONS_MAX = 1_000
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
_CALL_HAS = frozenset({"name", "arguments", "_meta"})
_ACCEPTED = frozenset({"application/json", "text/event-stream"})
_RESERVED = "io.modelcontextprotocol/"


class Conversations:
    """All conversations over HTTP with one host: of each profile of tools those that were opened with it."""

    def __init__(self, http: Http, ending: asyncio.Event) -> None:
        self._http = http
        self._ending = ending
        self._served: dict[str, Served] = {}
        self._known: dict[str, Served] = {}  # by what clients call a profile, of which there are many words

    def served(self, profile: str) -> Served:
        """What answers a client that wants these tools. INVALID_ARGUMENT if there is no such profile."""
        found = self._known.get(profile)
        if found is None:
            offer = Offer(profile)
            name = ",".join(sorted(offer.operations))
            if name not in self._served:
                self._served[name] = Served(self, offer, mcp.server(offer, self._ask, self._watch), self._ending)
            found = self._served[name]
            if len(self._known) < STREAMS_MAX:
                self._known[profile] = found
        return found

    async def _ask(
        self, operation: Operation, arguments: dict[str, Any], client: str, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        _serving.get().opened(_asking.get(), client)
        check_scope(_asking.get()[SCOPE], operation, arguments)
        return await self._http.asked(operation, arguments, self._caller(client, _asking.get()))

    @property
    def now(self) -> int:
        return self._http.host.clock.monotonic()

    async def answer(self, call: Call, headers: Mapping[str, str]) -> str:
        """The answer to a call, as a client reads it."""
        try:
            check_scope(headers[SCOPE], call.operation, call.arguments)
            reply = await self._http.asked(call.operation, call.arguments, self._caller(call.client, headers))
        except Refusal as refusal:
            return _refused(call, refusal)
        return mcp.answer_line(call.identity, reply, call.client)

    def answer_at_once(self, call: Call, headers: Mapping[str, str]) -> str | None:
        """The same, without waiting for anything; None if it has to be waited for."""
        http = self._http
        try:
            caller = http.meant(call.operation, self._caller(call.client, headers))
            reply = http.at_once.reply("http", http.settings(), call.operation, call.arguments, lambda _: caller)
        except NotAtHand:
            return None
        except Refusal as refusal:
            return _refused(call, refusal)
        return mcp.answer_line(call.identity, reply, call.client)

    def said_at_once(self, profile: str, asked: Plain) -> bytes | None:
        """The whole answer to a plain call of a session that is known here. Its headers say what its token is good
        for."""
        served = self._known.get(profile)
        return None if served is None else served.said_at_once(asked)

    async def _watch(self, client: str, _: Mapping[str, Any]) -> Eyes:
        """Eyes for the room of the folder that this client works in."""
        watcher = mcp.watcher(self._caller(client, _asking.get()))

        async def ask(asked: dict[str, Any]) -> dict[str, Any]:
            return await self._http.asked(OPERATIONS["get_changes"], asked, watcher)

        return HostEyes(self._http.host, await self._http.watched_file(watcher.cwd), watcher.agent, ask)

    def _caller(self, client: str, headers: Mapping[str, str]) -> Caller:
        if headers[SCOPE] != AGENT and (headers[SCOPE] == READ or not headers.get("clearway-agent")):
            return by_token(headers[SCOPE], headers.get("clearway-cwd", ""), self._http.host.liveness.host)
        session = headers.get("clearway-session", "")
        if not session and "mcp-session-id" in headers:
            session = f"mcp-{headers['mcp-session-id']}"
        named = headers.get("clearway-agent", "")
        name = check_name(named) if named else known_name(client) or agent_name(client)
        return Caller(
            f"{name}-agent" if name in RESERVED_NAMES else name,
            session[:SESSION_CHARS_MAX] or None,
            client=known_name(client) or agent_name(client),
            cwd=headers.get("clearway-cwd", ""),
            host=self._http.host.liveness.host,
        )


class Call:
    """A plain call of a tool, and of which client."""

    __slots__ = ("arguments", "client", "identity", "operation")

    def __init__(self, identity: int | str, operation: Operation, arguments: dict[str, Any], client: str) -> None:
        self.identity = identity
        self.operation = operation
        self.arguments = arguments
        self.client = client


class Served:
    """The SDK's sessions for one server, until the host leaves."""

    def __init__(self, all_: Conversations, offer: Offer, server: Any, ending: asyncio.Event) -> None:
        self._all = all_
        self._offer = offer
        self._clients: dict[str, tuple[str, str, int]] = {}  # of a session: client, protocol, when the SDK had a call
        self._manager = mcp.http_manager(server, HOST_LINE_BYTES_MAX)
        self._ending = ending
        self._ready = asyncio.Event()
        self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._ending.wait()

    def opened(self, headers: Mapping[str, str], client: str) -> None:
        """The SDK has found a call in order, of this client in this session."""
        session, now = headers.get("mcp-session-id", ""), self._all.now
        if len(self._clients) >= _SESSIONS_MAX and session not in self._clients:  # most clients leave without a word
            self._clients = {one: known for one, known in self._clients.items() if now - known[2] <= _QUICK_FOR_MS}
        if session and (session in self._clients or len(self._clients) < _SESSIONS_MAX):
            self._clients[session] = client, headers.get("mcp-protocol-version", ""), now

    async def answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        headers[SCOPE] = scope[SCOPE]
        _asking.set(headers)
        _serving.set(self)
        await self._ready.wait()
        if scope["method"] != "POST" or not _fits(headers):
            self._client(str(scope["method"]), headers)
            await self._manager.handle_request(scope, receive, send)
            return
        body, receive = await _read(receive)
        client = self._client("POST", headers)
        call = None if client is None else self._call(body, client)

        async def answer(send: Send) -> None:
            if call is None:
                await self._manager.handle_request(scope, receive, send)
                return
            said = (await self._all.answer(call, headers)).encode("utf-8", "backslashreplace")
            names = (b"content-type", b"application/json"), (b"content-length", str(len(said)).encode())
            given = [*names, (b"mcp-session-id", headers["mcp-session-id"].encode("latin-1"))]
            await send({"type": "http.response.start", "status": 200, "headers": given})
            await send({"type": "http.response.body", "body": said})

        token = http_progress.token_of(body) if "text/event-stream" in headers.get("accept", "") else None
        if token is None:
            await answer(send)
        else:
            await http_progress.told(send, token, headers.get("mcp-session-id", ""), answer)

    def said_at_once(self, asked: Plain) -> bytes | None:
        """What `answer` would send, where nothing has to be waited for."""
        client = self._client("POST", asked.headers)
        call = None if client is None else self._call(asked.body, client)
        said = None if call is None else self._all.answer_at_once(call, asked.headers)
        if said is None:
            return None
        body = said.encode("utf-8", "backslashreplace")
        session = asked.headers["mcp-session-id"].encode()
        return b"%scontent-length: %d\r\nmcp-session-id: %s\r\n\r\n%s" % (_HEAD, len(body), session, body)

    def _client(self, method: str, headers: Mapping[str, str]) -> str | None:
        """Whose session this belongs to; None if the SDK is to see to it."""
        session = headers.get("mcp-session-id", "")
        if method == "DELETE":
            self._clients.pop(session, None)
        known = self._clients.get(session)
        if known is None or method != "POST" or self._all.now - known[2] > _QUICK_FOR_MS:
            return None
        accepts = {each.partition(";")[0].strip() for each in headers.get("accept", "").split(",")}
        plain = headers.get("content-type", "") == "application/json" and accepts >= _ACCEPTED
        return known[0] if plain and headers.get("mcp-protocol-version", "") == known[1] else None

    def _call(self, body: bytes, client: str) -> Call | None:
        """A plain call of a tool; None for everything else."""
        message = read(body) if body.startswith(b"{") else None  # a byte order mark is no JSON to the SDK
        if message is None or message.method != "tools/call" or message.identity is None:
            return None
        params = message.params
        if b"\\u" in body and wire.is_broken(params):  # half of a letter, written by its number
            return None
        name, given, meta = params.get("name"), params.get("arguments"), params.get("_meta", {})
        operation = self._offer.operations.get(name) if isinstance(name, str) else None
        if operation is None or set(params) - _CALL_HAS or not wire.is_object(meta):
            return None
        asked: Any = {} if given is None else given
        if not wire.is_object(asked) or any(key.startswith(_RESERVED) for key in meta):
            return None
        if "wait_seconds" in asked or type(meta.get("progressToken", 0)) not in (int, str):
            return None
        return Call(message.identity, operation, asked, client)


def _fits(headers: Mapping[str, str]) -> bool:
    """Whether a body says how long it is, and is not too long."""
    size = headers.get("content-length", "")
    return len(size) < 10 and size.isdigit() and int(size) <= HOST_LINE_BYTES_MAX


def _refused(call: Call, refusal: Refusal) -> str:
    result = mcp.refusal_on_the_wire(refusal, call.client)
    return wire.dumps({"jsonrpc": "2.0", "id": call.identity, "result": result})


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    """The body of a request, and how it is received once more. What never comes is not waited for."""
    messages: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(HTTP_BODY_SECONDS):
            while not messages or messages[-1].get("more_body", False):
                messages.append(await receive())
    except TimeoutError:
        pass

    async def again() -> dict[str, Any]:
        return messages.pop(0) if messages else await receive()

    body = b"".join(message.get("body", b"") for message in messages)
    is_whole = bool(messages) and messages[-1]["type"] == "http.request" and not messages[-1].get("more_body", False)
    return body if is_whole else b"", again
