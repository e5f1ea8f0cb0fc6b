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
from clearway.surfaces import mcp
from clearway.surfaces.host_full import HostEyes
from clearway.surfaces.http import READ, SCOPE, by_token, check_scope
from clearway.surfaces.mcp_callers import known_name
from clearway.surfaces.mcp_notices import Eyes
from clearway.surfaces.mcp_opening import read
from clearway.surfaces.mcp_tools import Offer
from clearway.surfaces.tokens import AGENT

if TYPE_CHECKING:
    from clearway.surfaces.http import Http, Receive, Send

_asking: ContextVar[Mapping[str, str]] = ContextVar("headers of the request that is answered")
_serving: ContextVar[Served] = ContextVar("the sessions to which that request belongs")
_QUICK_FOR_MS = 60_000  # after a call of its session that the SDK has answered
_SESSIONS_MAX = 1_000
_CALL_HAS = frozenset({"name", "arguments", "_meta"})
_FOR_THE_SDK = ("progressToken", "io.modelcontextprotocol/")


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
        return await self._http.asked(operation, arguments, self._caller(client))

    @property
    def now(self) -> int:
        return self._http.host.clock.monotonic()

    async def result(self, operation: Operation, arguments: dict[str, Any], client: str) -> dict[str, Any]:
        """The result of a call, as a client reads it."""
        try:
            check_scope(_asking.get()[SCOPE], operation, arguments)
            reply = await self._http.asked(operation, arguments, self._caller(client))
        except Refusal as refusal:
            return mcp.refusal_on_the_wire(refusal, client)
        return mcp.answer_on_the_wire(reply, client)

    async def _watch(self, client: str, _: Mapping[str, Any]) -> Eyes:
        """Eyes for the room of the folder that this client works in."""
        watcher = mcp.watcher(self._caller(client))

        async def ask(asked: dict[str, Any]) -> dict[str, Any]:
            return await self._http.asked(OPERATIONS["get_changes"], asked, watcher)

        return HostEyes(self._http.host, await self._http.watched_file(watcher.cwd), watcher.agent, ask)

    def _caller(self, client: str) -> Caller:
        headers = _asking.get()
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
        session = headers.get("mcp-session-id", "")
        if session and (session in self._clients or len(self._clients) < _SESSIONS_MAX):
            self._clients[session] = client, headers.get("mcp-protocol-version", ""), self._all.now

    async def answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        headers[SCOPE] = scope[SCOPE]
        _asking.set(headers)
        _serving.set(self)
        await self._ready.wait()
        client = self._client(str(scope["method"]), headers)
        if client is not None:
            body, receive = await _read(receive)
            said = await self._answered(body, client)
            if said is not None:
                names = (b"content-type", b"application/json"), (b"content-length", str(len(said)).encode())
                given = [*names, (b"mcp-session-id", headers["mcp-session-id"].encode("latin-1"))]
                await send({"type": "http.response.start", "status": 200, "headers": given})
                await send({"type": "http.response.body", "body": said})
                return
        await self._manager.handle_request(scope, receive, send)

    def _client(self, method: str, headers: Mapping[str, str]) -> str | None:
        """Whose session this belongs to; None if the SDK is to see to it."""
        session, size = headers.get("mcp-session-id", ""), headers.get("content-length", "")
        if method == "DELETE":
            self._clients.pop(session, None)
        known = self._clients.get(session)
        if known is None or method != "POST" or self._all.now - known[2] > _QUICK_FOR_MS:
            return None
        accepts, kind = headers.get("accept", ""), headers.get("content-type", "")
        plain = kind == "application/json" and "application/json" in accepts and "text/event-stream" in accepts
        fits = len(size) < 10 and size.isdigit() and int(size) <= HOST_LINE_BYTES_MAX
        return known[0] if plain and fits and headers.get("mcp-protocol-version", "") == known[1] else None

    async def _answered(self, body: bytes, client: str) -> bytes | None:
        """The answer to a plain call of a tool; None for everything else."""
        message = read(body)
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
        if not wire.is_object(asked) or "wait_seconds" in asked or any(key.startswith(_FOR_THE_SDK) for key in meta):
            return None
        result = await self._all.result(operation, asked, client)
        said = wire.dumps({"jsonrpc": "2.0", "id": message.identity, "result": result})
        return said.encode("utf-8", "backslashreplace")


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
