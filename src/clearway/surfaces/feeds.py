"""The one log of a room, told to all who listen to it over HTTP: it is read once for all of them, when it has grown.

Each listener goes at its own pace. One that falls behind what is kept here reads for itself until it has caught up;
one that takes nothing holds up nobody. Nothing is asked of the room while nothing happens in it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from clearway import wire
from clearway.errors import Refusal
from clearway.limits import STREAM_EVENTS_KEPT
from clearway.surfaces.host_full import Rung

if TYPE_CHECKING:
    from clearway.surfaces.host import Host

Send = Callable[[dict[str, Any]], Awaitable[None]]
Read = Callable[[int], Awaitable[dict[str, Any]]]  # the changes after an event
_BREATH_SECONDS = 15.0  # a stream without news says that it is alive
_BREATH = b": still here\n\n"


class Feed:
    """The newest events of one room, and those who wait for the next. For the event loop."""

    def __init__(self, host: Host, file: str, read: Read, latest: int) -> None:
        """file: of the room; empty for one on a server, which is looked at now and then."""
        self.listeners = 0
        self._host = host
        self._file = file
        self._read = read
        self._latest = latest
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=STREAM_EVENTS_KEPT)
        self._before = latest  # the event before the first that is kept
        self._news = asyncio.Event()
        self._reading: asyncio.Future[None] | None = None

    async def listen(self, send: Send, gone: asyncio.Future[None], seen: int) -> None:
        """Tell somebody what happens after an event, until he is gone or the host leaves."""
        self.listeners += 1
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._follow())
            self._reading.add_done_callback(self._ended)
        reading = self._reading
        try:
            while not (gone.done() or self._host.leaving or reading.done()):
                news = self._news
                seen, text = await self._after(seen)
                if text:
                    await _send(send, text)
                elif not await _rings(news, gone):
                    await _send(send, _BREATH)
        finally:
            self.listeners -= 1
            if not self.listeners:
                self._reading.cancel()
                self._reading = None
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _after(self, seen: int) -> tuple[int, bytes]:
        """What is kept after an event, or was so long ago that it has to be read; and the last that it tells."""
        if seen < self._before:
            reply = await self._read(seen)
            return reply["next_event_id"], b"".join(_told(event) for event in reply["events"])
        if seen >= self._latest:
            return seen, b""
        return self._latest, b"".join(text for id, text in self._kept if id > seen)

    async def _follow(self) -> None:
        """Read what is new whenever the room has changed, for as long as somebody listens."""
        rung = Rung(self._host, self._file)
        try:
            while not self._host.leaving:
                if not await rung.wait(_BREATH_SECONDS) and self._file:
                    continue
                more = True
                while more:
                    reply = await self._read(self._latest)
                    self._keep(reply)
                    more = reply["has_more"]
        finally:
            rung.close()
            self._news.set()

    def _ended(self, reading: asyncio.Future[None]) -> None:
        if reading.cancelled() or isinstance(error := reading.exception(), Refusal | None):
            return
        self._host.workers.complain(error)

    def _keep(self, reply: dict[str, Any]) -> None:
        for event in reply["events"]:
            if len(self._kept) == STREAM_EVENTS_KEPT:
                self._before = self._kept[0][0]
            self._kept.append((event["id"], _told(event)))
        if reply["next_event_id"] != self._latest:
            self._latest = reply["next_event_id"]
            self._news.set()
            self._news = asyncio.Event()


def _told(event: dict[str, Any]) -> bytes:
    text = f"event: {event['type']}\nid: {event['id']}\ndata: {wire.dumps(event)}\n\n"
    return text.encode("utf-8", "backslashreplace")


async def _rings(news: asyncio.Event, gone: asyncio.Future[None]) -> bool:
    """Wait for news, or until somebody is gone. False if there was neither for a while."""
    ring = asyncio.ensure_future(news.wait())
    done, _ = await asyncio.wait([gone, ring], timeout=_BREATH_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    ring.cancel()
    return bool(done)


async def _send(send: Send, text: bytes) -> None:
    await send({"type": "http.response.body", "body": text, "more_body": True})
