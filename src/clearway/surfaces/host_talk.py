"""An MCP client's conversation with the host, over a relay.

What clients say all day - the opening, calls of tools, the guides - is answered here as the SDK's server would answer
it (a test compares them); the SDK is loaded when somebody says something else, and goes on with that conversation. One
client's calls are made one after the other; other clients' are made meanwhile.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import clearway
from clearway import platforms, wire
from clearway.catalog import OPERATIONS
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.limits import HOST_LINE_BYTES_MAX, HOST_WAITING_MAX, PROGRESS_SECONDS
from clearway.op import Operation
from clearway.rooms import NotAtHand, Rooms
from clearway.surfaces import host_answers, host_wire, mcp, mcp_prompts, mcp_resources, patience
from clearway.surfaces.host_watch import Listener, file_in
from clearway.surfaces.host_work import Worker
from clearway.surfaces.mcp_callers import Connection
from clearway.surfaces.mcp_opening import Message, Opening, objection, read, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.surfaces.host import Host
    from clearway.surfaces.host_full import FullTalk

GOODBYE = b'{"clearway":"goodbye"}\n'
_TAKING = frozenset({"claim_issue"})
_CALL_HAS = frozenset({"name", "arguments", "_meta"})
_INTERNAL = -32603
_RESERVED = "io.modelcontextprotocol/"


class Call:
    """One call of a tool that has been asked for; or, with the `uri` of a resource, the operation that answers it."""

    __slots__ = ("arguments", "cancelled", "identity", "meta", "name", "operation", "since", "told", "uri")

    def __init__(
        self, identity: int | str, name: str, arguments: dict[str, Any], meta: dict[str, Any], since: int
    ) -> None:
        self.identity = identity
        self.name = name
        self.arguments = arguments
        self.meta = meta
        self.operation: Operation | None = None
        self.uri = ""
        self.cancelled = False
        self.since = since
        self.told = 0  # after how many seconds its client was last told that it is still waited for


class Parked:
    """A call that waits for something to happen in its room, and keeps no thread meanwhile."""

    __slots__ = ("call", "file", "listener", "until")

    def __init__(self, call: Call, file: str, until: int) -> None:
        self.call = call
        self.file = file
        self.until = until
        self.listener: Listener


class Speech:
    """What is said to one client: whole lines, one after the other, by whoever is speaking already."""

    def __init__(self, connection: socket.socket) -> None:
        self._out = connection.dup()  # which may wait, while the other end of it is listened to without waiting
        self._lock = threading.Lock()
        self._unsaid: deque[bytes] = deque()
        self._size = 0
        self._speaking = False

    def add(self, data: bytes) -> bool:
        """Whether nobody is speaking now: then whoever asks goes on. One who does not listen for long is left."""
        with self._lock:
            self._unsaid.append(data)
            self._size += len(data)
            is_first, self._speaking = not self._speaking, True
            too_much = self._size > 2 * HOST_LINE_BYTES_MAX
        if too_much:
            self._hang_up()
        return is_first

    def go_on(self) -> None:
        """Say everything."""
        while data := self._next():
            try:
                host_wire.send(self._out, data)
            except OSError:
                self._hang_up()

    def go_on_without_waiting(self) -> bool:
        """The same, as far as the other side listens now. Whether that was all."""
        while data := self._next():
            try:
                sent = self._out.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._hang_up()
                continue
            if sent < len(data):
                with self._lock:
                    self._unsaid.appendleft(data[sent:])
                    self._size += len(data) - sent
                return False
        return True

    def close(self) -> None:
        self._hang_up()
        self._out.close()

    def _next(self) -> bytes:
        """What is to be said next; nothing when all has been said, and then nobody speaks any more."""
        with self._lock:
            if not self._unsaid:
                self._speaking = False
                return b""
            data = self._unsaid.popleft()
            self._size -= len(data)
            return data

    def _hang_up(self) -> None:
        """Nobody listens. What is left is said to nobody."""
        try:
            self._out.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Talk:
    """One conversation. `hear` and `end` are called by the thread that waits for the sockets."""

    def __init__(self, host: Host, connection: socket.socket, pid: int, hello: dict[str, Any]) -> None:
        args, caller = hello.get("args", {}), hello.get("caller", {})
        words = args.get("words", [])
        if not wire.is_list(words) or not all(isinstance(word, str) for word in words):
            raise Refusal("INVALID_ARGUMENT", "args.words must be a list of texts.")
        self._host = host
        self._speech = Speech(connection)
        self._settings = host_answers.settings_for(host, hello.get("environ", {}), pid)
        if not platforms.shares_our_view(pid):
            raise Refusal("STORAGE_CONFIGURATION", "You see other files than the host does; ask the rooms yourself.")
        cwd = caller.get("cwd", "")
        self._cwd = cwd if isinstance(cwd, str) and os.path.isabs(cwd) else os.sep
        self.offer = mcp.chosen_offer([str(word) for word in words], self._settings.environ)
        self.opening = Opening(self.offer)
        self._client = ""
        self._caller: Connection | None = None
        self._waiting: deque[Call] = deque()
        self._active: Call | None = None
        self._unsaid = 0  # answers that workers are about to say
        self._turn = threading.Lock()  # whose call is made, and whether the connection is to be closed after it
        self._asking = threading.Lock()
        self._close: Callable[[], object] | None = None
        self._full: FullTalk | None = None
        self._parked: list[Parked] = []

    def greeting(self) -> dict[str, Any]:
        """What a relay is told first: who speaks, and which tools may be asked again if the answer got lost."""
        reads = [name for name, operation in self.offer.operations.items() if operation.writes is False]
        return {"version": clearway.__version__, "pid": os.getpid(), "reads": reads}

    # --- the thread of the sockets ------------------------------------------------------------------------------

    def hear(self, line: bytes) -> None:
        if self._full is not None:
            self._full.hear(line)
            return
        if b"notifications/cancelled" in line and self._is_cancelled(line):
            return
        answer = None if b'"tools/call"' in line and len(self.opening.kept) == 2 else self.opening.answer(line)
        if answer is None:
            answer = self._plain(line)
        if answer is None:
            self._go_on_in_full(line)
        elif answer:
            self._say_soon((answer + "\n").encode("utf-8", "backslashreplace"))

    def end(self, close: Callable[[], object]) -> None:
        """The other side has nothing more to say. close: what to do when it has its answers."""
        with self._turn:
            self._close = close
        self._leave_parked()
        if self._full is not None:
            self._full.hear(b"")
        self._close_if_done()

    def look(self, now: int) -> None:
        """Once in a while: tell a client that wants to know that its call is still waited for. Some give up a call that
        says nothing."""
        with self._turn:
            calls = [*([] if self._active is None else [self._active]), *(parked.call for parked in self._parked)]
        for call in calls:
            token, seconds = call.meta.get("progressToken"), (now - call.since) // 1_000
            if token is None or seconds < call.told + PROGRESS_SECONDS:
                continue
            call.told = seconds
            params = {"progressToken": token, "progress": seconds, "message": mcp.progress_sentence(seconds)}
            line = wire.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) + "\n"
            self._say_soon(line.encode("utf-8", "backslashreplace"))

    def _now(self) -> int:
        return self._host.clock.monotonic()

    def say_goodbye(self) -> None:
        """Ask the relay to end its side, and to look for another host then."""
        self._say_soon(GOODBYE)

    def close(self) -> None:
        """The connection is closed."""
        self._leave_parked()
        self._speech.close()

    def _say_soon(self, data: bytes) -> None:
        """Say something without waiting: where the other side does not listen now, a worker waits for it."""
        if self._speech.add(data) and not self._speech.go_on_without_waiting():
            self._host.workers.submit(lambda _: self._speech.go_on())

    def done_in_full(self) -> None:
        self._full = None
        self._host.later(self._close_if_done)

    def _close_if_done(self) -> None:
        with self._turn:
            is_quiet = self._active is None and not self._waiting and not self._unsaid
        if self._close is not None and is_quiet and self._full is None:
            close, self._close = self._close, None
            close()

    # --- what is answered without the SDK -----------------------------------------------------------------------

    def _plain(self, line: bytes) -> str | None:
        """The answer to a line; empty if none is due yet, None if it takes the SDK to answer."""
        message = read(line)
        if message is None:
            return "" if line.isspace() else objection(line) or ""
        if b"\\u" in line and (refusal := objection(line)):  # half of a letter, written by its number
            return refusal
        if len(self.opening.kept) < 2 or self.opening.is_modern:
            return None
        if message.identity is None:
            return ""
        if message.method == "tools/call":
            return self._plain_call(message)
        if message.method == "resources/read":
            return self._plain_reading(message)
        return _plain_prompt(message) if message.method == "prompts/get" else None

    def _plain_reading(self, message: Message) -> str | None:
        uri = message.params.get("uri")
        if not isinstance(uri, str) or set(message.params) - {"uri", "_meta"} or not _is_plain(message):
            return None
        assert message.identity is not None
        text = mcp_resources.guide(uri)
        if text is not None:
            return _result(message.identity, mcp_resources.guide_contents(uri, text))
        question = mcp_resources.question(uri)
        if question is None:
            return None
        operation, asked = question
        call = Call(message.identity, operation.name, asked, message.params.get("_meta", {}), self._now())
        call.operation, call.uri = operation, uri
        return self._in_turn(call)

    def _plain_call(self, message: Message) -> str | None:
        given, name = message.params.get("arguments"), message.params.get("name")
        if set(message.params) - _CALL_HAS or not isinstance(name, str) or not _is_plain(message):
            return None
        if not isinstance(given, dict | None):
            return None
        assert message.identity is not None
        asked = cast("dict[str, Any]", given or {})
        return self._in_turn(Call(message.identity, name, asked, message.params.get("_meta", {}), self._now()))

    def _in_turn(self, call: Call) -> str:
        """Make a call when those before it are made."""
        if len(self._waiting) >= HOST_WAITING_MAX:
            refusal = Refusal("RATE_LIMITED", "Too many calls wait for their turn; ask again when some are answered.")
            return self._refusal(call, refusal)
        with self._turn:
            if self._active is not None:
                self._waiting.append(call)
                return ""
        if (said := self._at_once(call)) is not None:
            return said
        self._active = call
        self._host.workers.submit(lambda worker: self._make_all(worker, call))
        return ""

    def _at_once(self, call: Call) -> str | None:
        """The answer, if it can be given without waiting for anything."""
        if self._caller is None:
            return None

        def who(rooms: Rooms) -> Caller:
            return self._caller_at_once(rooms, self.client, call.meta)

        try:
            operation = call.operation or self.offer.operation(call.name)
            reply = self._host.at_once.reply("mcp", self._settings, operation, call.arguments, who)
        except NotAtHand:
            return None
        except Refusal as refusal:
            return self._refusal(call, refusal)
        except Exception as error:
            return self._refusal(call, self._defect(call.name, error))
        return self._answer(call, reply)

    def _is_cancelled(self, line: bytes) -> bool:
        """Whether a line takes a call back, which is done then. A call that is cancelled before its turn is not made.
        Once it has begun it is finished, and an issue it took is given back, since the client never hears of it."""
        message = read(line)
        if message is None or message.method != "notifications/cancelled" or not self.opening.kept:
            return False
        identity = message.params.get("requestId")
        with self._turn:
            self._waiting = deque(call for call in self._waiting if call.identity != identity)
            if self._active is not None and self._active.identity == identity:
                self._active.cancelled = True
        self._leave_parked(identity)
        return True

    # --- a worker's thread --------------------------------------------------------------------------------------

    def _make_all(self, worker: Worker, call: Call) -> None:
        """Make one call after the other, until none waits any more. Before an answer is said its turn is over: what its
        client asks next need not wait for this thread to look up."""
        following: Call | None = call
        while following is not None:
            try:
                line = self._made(worker, following)
            except Exception as error:
                self._host.workers.complain(error)
                line = refused(following.identity, _INTERNAL, "This failed by a defect of Clearway.") + "\n"
            with self._turn:
                following = self._active = self._waiting.popleft() if self._waiting else None
                self._unsaid += 1
            if line:
                self.say(line)
            with self._turn:
                self._unsaid -= 1
                is_last = following is None and self._close is not None
            if is_last:
                self._host.later(self._close_if_done)

    def _made(self, worker: Worker, call: Call) -> str:
        """Make a call; what there is to say now."""
        reply, line = self._answered(worker, call)
        if call.cancelled:
            self.give_back(worker, call.name, call.arguments, reply, self.client, call.meta)
            return ""
        if reply and not call.uri and (seconds := _seconds_left(call, reply)):
            self._park(worker, call, seconds)
            return ""
        return line

    def _answered(self, worker: Worker, call: Call) -> tuple[dict[str, Any], str]:
        """The reply, empty for a refusal; and what is to be said."""
        client = self.client
        try:
            operation = call.operation or self.offer.operation(call.name)
            reply = self.ask(worker, operation, call.arguments, client, call.meta)
        except Refusal as refusal:
            return {}, self._refusal(call, refusal) + "\n"
        return reply, self._answer(call, reply) + "\n"

    def _answer(self, call: Call, reply: dict[str, Any]) -> str:
        if call.uri:
            return _result(call.identity, mcp_resources.contents(call.uri, reply))
        return mcp.answer_line(call.identity, reply, self.client)

    def _refusal(self, call: Call, refusal: Refusal) -> str:
        if call.uri:
            return refused(call.identity, *mcp.objection_to(refusal))
        return _result(call.identity, mcp.refusal_on_the_wire(refusal, self.client))

    # --- calls that wait for news -------------------------------------------------------------------------------

    def watched_file(self, worker: Worker) -> str:
        """The file of the room that this client's calls go to."""
        rooms = Rooms(self._settings, say=self._host.say, shelf=worker.shelf(self._settings.test_clock))
        try:
            return file_in(rooms, self._cwd)
        finally:
            rooms.close()

    def watcher(self, worker: Worker, client: str, meta: Mapping[str, Any]) -> Caller:
        """Who looks on for this client."""
        rooms = Rooms(self._settings, say=self._host.say, shelf=worker.shelf(self._settings.test_clock))
        try:
            return mcp.watcher(self._caller_of(rooms, client, meta))
        finally:
            rooms.close()

    def changes(self, worker: Worker, asked: dict[str, Any], watcher: Caller) -> dict[str, Any]:
        """The log of the room, for one who only looks on."""
        rooms = Rooms(self._settings, say=self._host.say, shelf=worker.shelf(self._settings.test_clock))
        try:
            return rooms.ask(OPERATIONS["get_changes"], asked, watcher)
        finally:
            rooms.close()

    def _park(self, worker: Worker, call: Call, seconds: int) -> None:
        parked = Parked(call, self.watched_file(worker), self._host.watch.now() + seconds * 1_000)
        parked.listener = Listener(
            lambda: self._host.workers.submit(lambda worker: self._look_again(worker, parked)), parked.until
        )
        with self._turn:
            self._parked.append(parked)
        self._host.watch.add(parked.file, parked.listener)

    def _look_again(self, worker: Worker, parked: Parked) -> None:
        """Ask once more. Of two who do, one gives the answer."""
        if parked not in self._parked:
            return
        now = self._host.watch.now()
        reply, line = self._answered(worker, parked.call)
        if reply and not reply["events"] and now < parked.until and not self._host.leaving:
            if not parked.file:
                self._host.watch.again(parked.listener, min(parked.until, now + patience.FAR_MS))
            return
        if self._leave(parked):
            self.say(line)

    def _leave(self, parked: Parked) -> bool:
        """Whether it was still waiting."""
        self._host.watch.remove(parked.file, parked.listener)
        with self._turn:
            if parked not in self._parked:
                return False
            self._parked.remove(parked)
            return True

    def _leave_parked(self, identity: object = None) -> None:
        """Nobody waits for these any more: for all, or for this one."""
        for parked in list(self._parked):
            if identity is None or parked.call.identity == identity:
                self._leave(parked)

    def ask(
        self, worker: Worker, operation: Operation, arguments: dict[str, Any], client: str, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Answer one call; a defect of ours is a refusal, too."""
        rooms = Rooms(self._settings, say=self._host.say, shelf=worker.shelf(self._settings.test_clock))
        try:
            caller = self._caller_of(rooms, client, meta)
            return self._host.counted.asked("mcp", operation, lambda: rooms.ask(operation, arguments, caller))
        except Refusal:
            raise
        except Exception as error:
            raise self._defect(operation.name, error) from error
        finally:
            asked = rooms.projects
            rooms.close()
            self._host.at_once.offer(worker, self._settings, asked)

    def _defect(self, name: str, error: Exception) -> Refusal:
        self._host.workers.complain(error)
        return Refusal("INTERNAL", f"{name} failed by a defect of Clearway; the host's log says where.")

    def _caller_of(self, rooms: Rooms, client: str, meta: Mapping[str, Any]) -> Caller:
        with self._asking:
            if self._caller is None:
                self._caller = Connection(rooms, self._cwd)
            self._caller.rooms = rooms
            return self._caller.caller(client, meta)

    def _caller_at_once(self, rooms: Rooms, client: str, meta: Mapping[str, Any]) -> Caller:
        """The same, if no worker is at it."""
        if self._caller is None or not self._asking.acquire(blocking=False):
            raise NotAtHand
        try:
            self._caller.rooms = rooms
            return self._caller.caller(client, meta)
        finally:
            self._asking.release()

    def give_back(
        self,
        worker: Worker,
        name: str,
        arguments: dict[str, Any],
        reply: dict[str, Any],
        client: str,
        meta: Mapping[str, Any],
    ) -> None:
        """What an answer that nobody hears has taken anew. With an idempotency key it is asked for again instead."""
        if name not in _TAKING or "idempotency_key" in arguments or "attempt_id" not in reply or reply.get("resumed"):
            return
        try:
            self.ask(worker, OPERATIONS["release_attempt"], {"attempt_id": reply["attempt_id"]}, client, meta)
        except Refusal:
            pass  # it is over already

    @property
    def client(self) -> str:
        """What the client calls itself."""
        if not self._client and self.opening.kept:
            hello: Any = wire.loads(self.opening.kept[0])
            self._client = str(hello["params"].get("clientInfo", {}).get("name", ""))
        return self._client

    def say(self, text: str) -> None:
        """Say something, and wait until the other side listens."""
        if self._speech.add(text.encode("utf-8", "backslashreplace")):
            self._speech.go_on()

    # --- everything else ----------------------------------------------------------------------------------------

    def _go_on_in_full(self, line: bytes) -> None:
        from clearway.surfaces.host_full import FullTalk

        self._full = FullTalk(self._host, self, line)


def _is_plain(message: Message) -> bool:
    """Whether what a request says about itself changes nothing about its answer."""
    meta = message.params.get("_meta", {})
    if not isinstance(meta, dict):
        return False
    about = cast("dict[str, Any]", meta)
    plain = not any(key.startswith(_RESERVED) for key in about)
    return plain and type(about.get("progressToken", 0)) in (int, str)


def _plain_prompt(message: Message) -> str | None:
    name = message.params.get("name")
    given: dict[str, Any] = {} if message.params.get("arguments") is None else message.params["arguments"]
    if set(message.params) - _CALL_HAS or not isinstance(name, str) or not _is_plain(message):
        return None
    if not wire.is_object(given) or not all(isinstance(value, str) for value in given.values()):
        return None
    assert message.identity is not None
    prompt = mcp_prompts.filled(name, given)
    return None if prompt is None else _result(message.identity, prompt)


def _seconds_left(call: Call, reply: dict[str, Any]) -> int:
    return patience.seconds_left(OPERATIONS[call.name], call.arguments, reply)


def _result(identity: int | str, result: dict[str, Any]) -> str:
    return wire.dumps({"jsonrpc": "2.0", "id": identity, "result": result})
