"""MCP over Streamable HTTP: the SDK's own session manager, with JSON responses.

A client that comes over HTTP has no process here. It says in headers what a hook would have told: its agent, its
session, and the folder it works in; without a folder, a relative path is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from clearway.catalog import OPERATIONS
from clearway.config import RESERVED_NAMES, Caller, agent_name, check_name
from clearway.limits import HOST_LINE_BYTES_MAX, SESSION_CHARS_MAX, STREAMS_MAX
from clearway.op import Operation
from clearway.surfaces import mcp
from clearway.surfaces.host_full import HostEyes
from clearway.surfaces.mcp_callers import known_name
from clearway.surfaces.mcp_notices import Eyes
from clearway.surfaces.mcp_tools import Offer

if TYPE_CHECKING:
    from clearway.surfaces.http import Http, Receive, Send

_asking: ContextVar[Mapping[str, str]] = ContextVar("headers of the request that is answered")


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
                self._served[name] = Served(mcp.server(offer, self._ask, self._watch), self._ending)
            found = self._served[name]
            if len(self._known) < STREAMS_MAX:
                self._known[profile] = found
        return found

    async def _ask(
        self, operation: Operation, arguments: dict[str, Any], client: str, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        return await self._http.asked(operation, arguments, self._caller(client))

    async def _watch(self, client: str, _: Mapping[str, Any]) -> Eyes:
        """Eyes for the room of the folder that this client works in."""
        watcher = mcp.watcher(self._caller(client))

        async def ask(asked: dict[str, Any]) -> dict[str, Any]:
            return await self._http.asked(OPERATIONS["get_changes"], asked, watcher)

        return HostEyes(self._http.host, await self._http.watched_file(watcher.cwd), watcher.agent, ask)

    def _caller(self, client: str) -> Caller:
        headers = _asking.get()
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

    def __init__(self, server: Any, ending: asyncio.Event) -> None:
        self._manager = mcp.http_manager(server, HOST_LINE_BYTES_MAX)
        self._ending = ending
        self._ready = asyncio.Event()
        self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._ending.wait()

    async def answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        _asking.set({name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]})
        await self._ready.wait()
        await self._manager.handle_request(scope, receive, send)
