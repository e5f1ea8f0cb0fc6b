"""Progress over HTTP: who waits long for an answer hears every few seconds that his call is still at work.

An answer is one JSON object as long as it comes soon, which nearly all do. When it does not, and the client has given a
token and takes events, it becomes a stream: notices of progress, and at its end the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from clearway import wire
from clearway.limits import PROGRESS_SECONDS
from clearway.surfaces import mcp
from clearway.surfaces.mcp_opening import read

if TYPE_CHECKING:
    from clearway.surfaces.http import Send


def token_of(body: bytes) -> int | str | None:
    """The token under which the client of a call wants to hear of it."""
    message = read(body) if b'"progressToken"' in body else None
    meta: Any = None if message is None or message.identity is None else message.params.get("_meta")
    token: Any = meta.get("progressToken") if wire.is_object(meta) else None
    return token if type(token) in (int, str) and not wire.is_broken(token) else None


async def told(send: Send, token: int | str, session: str, answer: Callable[[Send], Awaitable[None]]) -> None:
    """Let somebody answer, and tell of progress until he does. session: of MCP, which answers name."""
    stream = _Stream(send, session)
    made = asyncio.ensure_future(answer(stream.send))
    seconds = 0
    try:
        while not (await asyncio.wait([made], timeout=PROGRESS_SECONDS))[0] and not stream.is_answered:
            seconds += PROGRESS_SECONDS
            params = {"progressToken": token, "progress": seconds, "message": mcp.progress_sentence(seconds)}
            await stream.tell(wire.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
        await made
    except asyncio.CancelledError:
        made.cancel()
        raise


class _Stream:
    """An answer, passed on as it comes; or, once something was told before it, the last of several events."""

    def __init__(self, send: Send, session: str) -> None:
        self._send = send
        self._session = session
        self._has_told = False
        self._body = b""
        self.is_answered = False

    async def tell(self, text: str) -> None:
        if not self._has_told:
            self._has_told = True
            named = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
            named += [(b"mcp-session-id", self._session.encode("latin-1"))] if self._session else []
            await self._send({"type": "http.response.start", "status": 200, "headers": named})
        await self._event(text.encode("utf-8", "backslashreplace"), more=True)

    async def send(self, message: dict[str, Any]) -> None:
        """What the one who answers sends."""
        self.is_answered = True
        if not self._has_told:
            await self._send(message)
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._event(self._body, more=False)

    async def _event(self, data: bytes, *, more: bool) -> None:
        line = data.replace(b"\r", b" ").replace(b"\n", b" ")  # of JSON: they stand between its parts only
        body = b"event: message\r\ndata: %s\r\n\r\n" % line
        await self._send({"type": "http.response.body", "body": body, "more_body": more})
