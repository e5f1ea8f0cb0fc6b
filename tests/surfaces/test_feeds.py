"""The log of a room is told to all who listen, is read once for all of them, and nobody is held up by another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clearway.errors import Refusal
from clearway.limits import STREAM_EVENTS_KEPT
from clearway.surfaces import feeds
from clearway.surfaces.feeds import Feed


class Log:
    """A log that grows by hand, and counts how often it is read."""

    def __init__(self, events: int = 0) -> None:
        self.events = [{"id": number, "type": "told"} for number in range(1, events + 1)]
        self.read_times = 0
        self.changed = asyncio.Event()

    @property
    def latest(self) -> int:
        return len(self.events)

    async def read(self, seen: int) -> dict[str, Any]:
        self.read_times += 1
        found = self.events[seen : seen + 200]
        more = seen + len(found) < self.latest
        return {"events": found, "next_event_id": found[-1]["id"] if more else self.latest, "has_more": more}

    def grow(self, count: int = 1) -> None:
        self.events += [{"id": self.latest + 1 + number, "type": "told"} for number in range(count)]
        self.changed.set()


class Rung:
    """Rings when the log is changed by hand."""

    def __init__(self, host: Any, file: str) -> None:
        self.log: Log = host.log

    async def wait(self, seconds: float) -> bool:
        await self.log.changed.wait()
        self.log.changed.clear()
        return True

    def close(self) -> None:
        pass


class Listener:
    """Somebody who listens, and takes what he is told or does not."""

    def __init__(self, feed: Feed, seen: int) -> None:
        self.heard: list[int] = []
        self.takes = asyncio.Event()
        self.takes.set()
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = asyncio.ensure_future(feed.listen(self._send, self.gone, seen))

    async def _send(self, part: dict[str, Any]) -> None:
        await self.takes.wait()
        lines = part["body"].decode().split("\n")
        self.heard += [int(line[4:]) for line in lines if line.startswith("id: ")]

    async def leave(self) -> None:
        self.gone.set_result(None)
        self.takes.set()
        await self.task


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Log, Feed], Awaitable[None]], int], None]:
    """Let a story happen to a feed of a log that has so many events."""
    monkeypatch.setattr(feeds, "Rung", Rung)

    class Host:
        leaving = ""
        log: Log

    def run(story: Callable[[Log, Feed], Awaitable[None]], events: int = 0) -> None:
        async def played() -> None:
            host: Any = Host()
            log = host.log = Log(events)
            await asyncio.wait_for(story(log, Feed(host, "room.db", log.read, log.latest)), 20)

        asyncio.run(played())

    return run


async def settles(done: Callable[[], bool]) -> None:
    while not done():
        await asyncio.sleep(0)


Play = Callable[..., None]


def test_many_listeners_cost_one_reading(play: Play) -> None:
    async def story(log: Log, feed: Feed) -> None:
        listeners = [Listener(feed, 0) for _ in range(50)]
        await asyncio.sleep(0)
        for number in range(1, 6):
            log.grow()
            await settles(lambda number=number: all(one.heard[-1:] == [number] for one in listeners))
        assert log.read_times == 5
        for one in listeners:
            await one.leave()
        assert not feed.listeners

    play(story)


def test_who_comes_late_reads_what_was_before_and_misses_nothing(play: Play) -> None:
    async def story(log: Log, feed: Feed) -> None:
        late = Listener(feed, 100)
        await settles(lambda: late.heard[-1:] == [1_000])
        log.grow(3)
        await settles(lambda: late.heard[-1:] == [1_003])
        assert late.heard == list(range(101, 1_004))
        await late.leave()

    play(story, 1_000)


def test_who_takes_nothing_holds_up_nobody_and_catches_up(play: Play) -> None:
    async def story(log: Log, feed: Feed) -> None:
        slow, quick = Listener(feed, 0), Listener(feed, 0)
        slow.takes.clear()
        most = 3 * STREAM_EVENTS_KEPT
        for _ in range(most // 100):
            log.grow(100)
            await settles(lambda: quick.heard[-1:] == [log.latest])
        assert slow.heard == []
        slow.takes.set()
        await settles(lambda: slow.heard[-1:] == [most])
        assert slow.heard == quick.heard == list(range(1, most + 1))
        for one in (slow, quick):
            await one.leave()

    play(story)


def test_a_log_that_cannot_be_read_ends_the_streams(play: Play) -> None:
    """So that whoever listens comes again, and is told why it cannot be."""

    async def story(log: Log, feed: Feed) -> None:
        listener = Listener(feed, 0)
        await asyncio.sleep(0)

        async def broken(seen: int) -> dict[str, Any]:
            raise Refusal("STORAGE_BUSY", "The room is busy.")

        feed._read = broken  # pyright: ignore[reportPrivateUsage]
        log.grow()
        await listener.task
        assert listener.heard == []

    play(story)
