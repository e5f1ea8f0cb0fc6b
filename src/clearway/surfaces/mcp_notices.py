"""Telling a client that a resource has changed, from the one log.

A subscriber is told which resource to read again, never what is in it. Nothing that happens after the answer to
`resources/subscribe` is missed while the connection lasts; several changes at once may come as one notice. Looking does
not count as a sign of the agent's life: it is the client's program that listens, and it would listen for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from clearway.errors import Refusal
from clearway.limits import SUBSCRIPTIONS_MAX
from clearway.surfaces.mcp_resources import touched

_BURST_MAX = 50  # pages of the log in one look: a client that slept through more is told by those


class Eyes(Protocol):
    """What sees a room grow, for one client."""

    agent: str

    async def changes(self, since: int, limit: int) -> dict[str, Any]:
        """The log after an event, as `get_changes` gives it."""
        ...

    async def rung(self) -> bool:
        """Wait until something may have happened. False when there will be nothing more."""
        ...

    def close(self) -> None: ...


Look = Callable[[], Awaitable[Eyes]]


async def now(eyes: Eyes) -> int:
    """The last event until now."""
    reply = await eyes.changes(0, 1)
    return reply["latest_event_id"]


async def news(eyes: Eyes, uris: Callable[[], list[str]], seen: int) -> AsyncIterator[str]:
    """The resources that change from an event on, one after the other, until nothing more will come."""
    while await eyes.rung():
        found: dict[str, None] = {}
        for _ in range(_BURST_MAX):
            try:
                reply = await eyes.changes(seen, 200)
            except Refusal:
                break  # busy, or being mended: the next look sees it
            seen = reply["next_event_id"]
            found |= dict.fromkeys(touched(uris(), reply["events"], eyes.agent))
            if not reply["has_more"]:
                break
        for uri in found:
            yield uri


class Subscriptions:
    """What one client of the handshake era wants to be told of."""

    def __init__(self, look: Look, tell: Callable[[str], Awaitable[None]]) -> None:
        self._look = look
        self._tell = tell
        self._uris: dict[str, None] = {}
        self._watching: asyncio.Task[None] | None = None
        self._beginning = asyncio.Lock()

    async def add(self, uri: str) -> bool:
        """Tell of this resource from now on. False if it is one too many."""
        if uri not in self._uris and len(self._uris) >= SUBSCRIPTIONS_MAX:
            return False
        async with self._beginning:
            if self._watching is None or self._watching.done():
                eyes = await self._look()
                try:
                    seen = await now(eyes)
                except BaseException:
                    eyes.close()
                    raise
                self._watching = asyncio.ensure_future(self._watch(eyes, seen))
        self._uris[uri] = None
        return True

    async def remove(self, uri: str) -> None:
        self._uris.pop(uri, None)
        if not self._uris:
            await self.close()

    async def close(self) -> None:
        self._uris.clear()
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()

    async def _watch(self, eyes: Eyes, seen: int) -> None:
        try:
            async for uri in news(eyes, lambda: list(self._uris), seen):
                if uri in self._uris:
                    await self._tell(uri)
        finally:
            eyes.close()
