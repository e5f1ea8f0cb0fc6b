"""A conversation of the host that the SDK's own server goes on with, in one event loop for all of them.

It is loaded when somebody first says what host_talk.py does not answer, which most clients never do.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from clearway.limits import HOST_ANSWER_MS
from clearway.op import Operation
from clearway.surfaces import mcp, patience
from clearway.surfaces.host_watch import Listener
from clearway.surfaces.host_work import Worker, Workers
from clearway.surfaces.mcp_notices import Eyes
from clearway.surfaces.mcp_wire import Ends

if TYPE_CHECKING:
    from clearway.surfaces.host import Host
    from clearway.surfaces.host_talk import Talk

Done = TypeVar("Done")

_starting = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
_GLANCE_SECONDS = 60.0  # should a change have been overheard


def loop() -> asyncio.AbstractEventLoop:
    """The one event loop of this process."""
    with _starting:
        if not _loops:
            made = asyncio.new_event_loop()
            threading.Thread(target=made.run_forever, name="event loop", daemon=True).start()
            _loops.append(made)
        return _loops[0]


async def in_a_worker(workers: Workers, act: Callable[[Worker], Done]) -> Done:
    """What one of the threads that ask rooms has made of it; nothing is begun for whoever left before its turn."""
    made: Future[Done] = Future()

    def work(worker: Worker) -> None:
        if not made.set_running_or_notify_cancel():
            return
        try:
            made.set_result(act(worker))
        except BaseException as error:
            made.set_exception(error)

    workers.submit(work)
    return await asyncio.wrap_future(made)


class Rung:
    """A change of one room, to be waited for in the event loop."""

    def __init__(self, host: Host, file: str) -> None:
        """file: of the room; empty for one on a server, which is looked at now and then."""
        self._watch, self._file = host.watch, file
        self._event = asyncio.Event()
        here = asyncio.get_running_loop()
        self._listener = Listener(lambda: here.call_soon_threadsafe(self._event.set))
        self._watch.add(file, self._listener)

    async def wait(self, seconds: float) -> bool:
        """Until it rings, or so long at most; whether it rang."""
        try:
            most = seconds if self._file else min(seconds, patience.FAR_MS / 1_000)
            await asyncio.wait_for(self._event.wait(), most)
        except TimeoutError:
            return False
        self._event.clear()
        return True

    def close(self) -> None:
        self._watch.remove(self._file, self._listener)


async def news(host: Host, file: str, seconds: int, ask: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """Ask for changes until there are some, the time is over, or the host leaves."""
    until = host.watch.now() + seconds * 1_000
    rung = Rung(host, file)
    try:
        while True:
            left = until - host.watch.now()
            await rung.wait(max(0, left) / 1_000)
            reply = await ask()
            if reply["events"] or left <= 0 or host.leaving:
                return reply
    finally:
        rung.close()


class HostEyes:
    """Sees one room grow, for one client. Nobody is asked between two changes, but for a glance now and then."""

    def __init__(self, host: Host, file: str, agent: str, ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]):
        """ask: for the log of that room."""
        self.agent = agent
        self._host = host
        self._ask = ask
        self._rung = Rung(host, file)

    async def changes(self, since: int, limit: int) -> dict[str, Any]:
        return await self._ask({"since_event_id": since, "limit": limit})

    async def rung(self) -> bool:
        await self._rung.wait(_GLANCE_SECONDS)
        return not self._host.leaving

    def close(self) -> None:
        self._rung.close()


class FullTalk:
    """What the SDK's server hears and says, between an event loop and the thread of the sockets."""

    def __init__(self, host: Host, talk: Talk, line: bytes) -> None:
        self._host = host
        self._talk = talk
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._task: Future[None] = asyncio.run_coroutine_threadsafe(self._converse(line), loop())
        self._task.add_done_callback(self._ended)

    def hear(self, line: bytes) -> None:
        """The next line of the client; empty at the end."""
        self._lines.put(line)

    def line(self) -> bytes:
        return self._lines.get()

    def say(self, text: str) -> None:
        self._talk.say(text)

    async def _converse(self, line: bytes) -> None:
        self._one_at_a_time = asyncio.Lock()
        ends = Ends(self, self._talk.opening, line, mcp.parsed, self._last_words)
        try:
            await mcp.converse(self._talk.offer, self._ask, self._watch, ends)
        finally:
            ends.close()

    def _last_words(self) -> None:
        loop().call_soon_threadsafe(loop().call_later, HOST_ANSWER_MS / 1_000, self._task.cancel)

    def _ended(self, task: Future[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._host.workers.complain(error)
        self._talk.done_in_full()

    async def _ask(
        self, operation: Operation, arguments: dict[str, Any], client: str, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        reply = await self._once(operation, arguments, client, meta)
        if seconds := patience.seconds_left(operation, arguments, reply):
            file = await in_a_worker(self._host.workers, self._talk.watched_file)

            async def again() -> dict[str, Any]:
                return await self._once(operation, arguments, client, meta)

            return await news(self._host, file, seconds, again)
        return reply

    async def _watch(self, client: str, meta: Mapping[str, Any]) -> Eyes:
        """Eyes for the room that this client's calls go to."""
        watcher = await in_a_worker(self._host.workers, lambda worker: self._talk.watcher(worker, client, meta))
        file = await in_a_worker(self._host.workers, self._talk.watched_file)

        async def ask(asked: dict[str, Any]) -> dict[str, Any]:
            return await in_a_worker(self._host.workers, lambda worker: self._talk.changes(worker, asked, watcher))

        return HostEyes(self._host, file, watcher.agent, ask)

    async def _once(
        self, operation: Operation, arguments: dict[str, Any], client: str, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        made: Future[dict[str, Any]] = Future()

        def act(worker: Worker) -> None:
            if not made.set_running_or_notify_cancel():
                return
            try:
                reply = self._talk.ask(worker, operation, arguments, client, meta)
            except BaseException as error:
                made.set_exception(error)
                return
            if unheard:
                self._talk.give_back(worker, operation.name, arguments, reply, client, meta)
            made.set_result(reply)

        unheard: list[bool] = []
        async with self._one_at_a_time:
            self._host.workers.submit(act)
            try:
                return await asyncio.wrap_future(made)
            except asyncio.CancelledError:
                unheard.append(True)
                raise
