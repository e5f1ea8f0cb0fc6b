"""The wire to a client over stdio: lines in, lines out, and when to leave.

Both descriptors are taken away from everybody else in this process, so that nothing but the protocol is on the wire. A
server ends with its stdin, within two seconds whatever it is doing, and with its parent, though a child of a killed
client may hold the pipe open.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import NoReturn, Protocol

from clearway import wire
from clearway.errors import Refusal
from clearway.limits import PAYLOAD_BYTES_MAX
from clearway.surfaces.mcp_opening import PARSE_ERROR, Opening, objection, read, refused

PARENT_WATCH_SECONDS = 1.0
LAST_WORDS_SECONDS = 1.5  # after stdin has ended: what was asked before is still answered
_ANSWER = '{"jsonrpc":"2.0","id":'
_LISTEN = "subscriptions/listen"


class Lines(Protocol):
    """The client's lines in, ours out."""

    def line(self) -> bytes: ...

    def say(self, text: str) -> None: ...


class Wire:
    """The lines of the client that started this process. pending: what has been read of it already."""

    def __init__(self, pending: bytes = b"") -> None:
        try:
            for descriptor in (0, 1):
                os.fstat(descriptor)  # before anything is opened, which would take the place of a closed one
        except OSError:
            raise Refusal("INVALID_ARGUMENT", "A server speaks on stdin and stdout; one of them is closed.") from None
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.dup(1)
        self._pending = pending
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:
            os.dup2(nothing, 1)  # started without a stderr

    def line(self) -> bytes:
        """The next line; empty at the end. A line beyond all measure is an end, too."""
        line, self._pending = _first_line(self._pending)
        if not line.endswith(b"\n"):
            line += self._in.readline(PAYLOAD_BYTES_MAX)
        if len(line) == PAYLOAD_BYTES_MAX and not line.endswith(b"\n"):
            print(f"clearway mcp: a message of more than {PAYLOAD_BYTES_MAX} bytes; leaving", file=sys.stderr)
            return b""
        return line

    def say(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError:
            leave()  # nobody listens any more


class Ends:
    """The same as the SDK's transport wants it: something to iterate over, something to write to.

    The server is shown the opening again, and its answer to the greeting is kept back. What it could not read is
    answered here. The end of stdin is held back until what was asked is answered, because the SDK drops what is under
    way when it comes.
    """

    def __init__(
        self,
        wire: Lines,
        opening: Opening,
        line: bytes,
        parse: Callable[[bytes], object],
        at_end: Callable[[], object],
        unasked: Iterable[str] = (),
    ) -> None:
        """line: what the opening had no answer to. parse: how the SDK reads a line; ValueError if it cannot. at_end:
        called when the client has said its last word. unasked: ids of requests that are not the client's, whose answers
        it is not told.

        Made inside the event loop."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        self._wire = wire
        self._parse = parse
        self._at_end = at_end
        self._shown = deque([*opening.kept, line])
        self._untold: set[int | str] = {*unasked, *([] if opening.greeted is None else [opening.greeted])}
        self._endless: set[int | str] = set()  # requests that are answered when they are over
        self._thread = ThreadPoolExecutor(1, "stdin")
        self._unanswered = 0
        self._all_answered = asyncio.Event()

    def __aiter__(self) -> Ends:
        return self

    async def __anext__(self) -> str:
        line = await self._next_message()
        if not line:
            if self._unanswered:
                await self._all_answered.wait()
            raise StopAsyncIteration
        message = read(line)
        if message is not None and message.identity is not None:
            if message.method == _LISTEN:
                self._endless.add(message.identity)
            else:
                self._unanswered += 1
                self._all_answered.clear()
        return line.decode("utf-8", "replace")

    async def _next_message(self) -> bytes:
        """The next line that the server understands; empty at the end."""
        import asyncio

        while True:
            if self._shown:
                line = self._shown.popleft()
            else:
                line = await asyncio.get_running_loop().run_in_executor(self._thread, self._next)
            if not line:
                return line
            error = "" if line.isspace() else self._objection(line)
            if error is None:
                return line
            if error:
                self._wire.say(error + "\n")

    def _objection(self, line: bytes) -> str | None:
        """As that of the protocol; and whatever else the SDK would drop without a word."""
        found = objection(line)
        if found is not None:
            return found
        try:
            self._parse(line)
        except ValueError:
            asked = read(line)
            return refused(asked.identity, PARSE_ERROR, "This message cannot be read.") if asked is not None else ""
        return None

    async def write(self, text: str) -> None:
        if text.startswith(_ANSWER) and self._is_for_nobody(text):
            return
        self._wire.say(text)

    def _is_for_nobody(self, answer: str) -> bool:
        """Count an answer, and say whether its client has it already, or never asked."""
        identity = wire.loads(answer)["id"] if self._endless or self._untold else None
        if identity in self._endless:
            self._endless.discard(identity)
            return False
        self._unanswered -= 1
        if not self._unanswered:
            self._all_answered.set()
        if identity not in self._untold:
            return False
        self._untold.discard(identity)
        return True

    def close(self) -> None:
        """For those who end a conversation but not its process."""
        self._thread.shutdown(wait=False)

    async def flush(self) -> None:
        """Every line has been written through."""

    def _next(self) -> bytes:
        line = self._wire.line()
        if not line:
            self._at_end()
        return line


def last_words() -> None:
    """Answer what was asked before, and leave."""
    _begin(lambda: (threading.Event().wait(LAST_WORDS_SECONDS), leave()))


def end_with_parent() -> None:
    """Leave when the parent is gone."""
    parent = os.getppid()
    pause = threading.Event()

    def watch() -> None:
        while not pause.wait(PARENT_WATCH_SECONDS):
            if os.getppid() != parent:
                leave()

    _begin(watch)


def leave(status: int = 0) -> NoReturn:
    """At once: a thread may be waiting in a read that nobody ends, and a transaction that is cut off is undone."""
    os._exit(status)


def _first_line(data: bytes) -> tuple[bytes, bytes]:
    end = data.find(b"\n") + 1
    return (data[:end], data[end:]) if end else (data, b"")


def _begin(act: Callable[[], object]) -> None:
    threading.Thread(target=act, daemon=True).start()
