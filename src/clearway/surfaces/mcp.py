"""MCP over stdio: the catalogue as tools, on the official SDK's low-level server.

A reply stands once, where that client's model reads it. Whatever is refused, a bad argument and a defect of ours
included, is one error object, with a text that is complete by itself. This module holds no rule: it translates.

The SDK is imported when the first thing has to be done (mcp_opening.py says why). Rooms are asked in one thread beside
the event loop, one question after the other.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from clearway import config, db, wire
from clearway.catalog import OPERATIONS
from clearway.config import Settings
from clearway.errors import Refusal
from clearway.op import Operation
from clearway.rooms import Rooms
from clearway.surfaces import patience
from clearway.surfaces.asking import mention
from clearway.surfaces.mcp_callers import Connection, known_name
from clearway.surfaces.mcp_opening import Opening
from clearway.surfaces.mcp_tools import INFO, INSTRUCTIONS, NAME, Offer, guide
from clearway.surfaces.mcp_wire import Ends, Wire, end_with_parent, last_words, leave
from clearway.untrusted import readable

if TYPE_CHECKING:
    from concurrent.futures import Future

    import mcp_types as types
    from mcp.server import Server, ServerRequestContext

    # Answers an operation with its arguments, for the client of that name, with what it says about the call.
    Ask = Callable[[Operation, dict[str, Any], str, Mapping[str, Any]], Awaitable[dict[str, Any]]]

# Where a client's model looks, as recorded with the real clients: in a reply, in an error. An unknown one gets both.
DATA, TEXT, BOTH = "data", "text", "both"
READS = {
    "claude-code": (DATA, TEXT),
    "codex": (DATA, DATA),
    "copilot": (DATA, TEXT),  # shows the text, and then the data again
    "gemini": (TEXT, TEXT),
    "opencode": (TEXT, TEXT),
    "qwen": (TEXT, TEXT),
}
_TAKING = frozenset({"claim_issue"})
_IN_DATA = "The reply is in structuredContent."


def main(words: Sequence[str], kept: Sequence[bytes] = (), pending: bytes = b"") -> int:
    """Serve the client on stdin and stdout until it leaves. words: `--tools PROFILE`.

    kept: the lines of an opening that another server has answered already. pending: what was read after it and is to be
    answered here. Returns an exit status only if it cannot begin. Otherwise the process ends here, without the
    interpreter's farewell.
    """
    try:
        settings = config.settings()
        offer = chosen_offer(words, settings.environ)
        client = Wire(pending)
    except Refusal as refusal:
        print(f"{refusal.code}: {refusal.message}", file=sys.stderr)
        return refusal.exit_status
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
    opening = Opening(offer)
    for line in kept:
        opening.answer(line)
    while line := client.line():
        answer = opening.answer(line)
        if answer is None:
            _serve(offer, settings, client, opening, line)
        if answer:
            client.say(answer + "\n")
    return leave()


def chosen_offer(words: Sequence[str], environ: Mapping[str, str]) -> Offer:
    """The tools that were asked for."""
    return Offer(_profile(words) or environ.get("CLEARWAY_TOOLS", "") or "core")


def http_manager(made: Server[Any], body_bytes_max: int) -> Any:
    """The SDK's sessions over Streamable HTTP. Whoever asks has been let in by http.py."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    return StreamableHTTPSessionManager(made, json_response=True, max_request_body_size=body_bytes_max)


async def converse(offer: Offer, ask: Ask, ends: Any) -> None:
    """Let the SDK's server go on with a conversation. ends: those of mcp_wire."""
    from mcp.server.stdio import stdio_server

    made = server(offer, ask)
    async with stdio_server(ends, ends) as (reads, writes):
        await made.run(reads, writes, made.create_initialization_options())


def _serve(offer: Offer, settings: Settings, client: Wire, opening: Opening, line: bytes) -> NoReturn:
    import asyncio

    db.read_all()

    async def go_on() -> None:
        await converse(offer, Desk(settings, _folder()).ask, Ends(client, opening, line, parsed, last_words))

    try:
        asyncio.run(go_on())
    except BaseException as error:
        _complain(error, settings)
        leave(1)
    leave()


def parsed(line: bytes) -> object:
    """A line as the SDK reads it. ValueError if it cannot."""
    import mcp_types as types

    return types.jsonrpc_message_adapter.validate_json(line, by_name=False)


# --- the SDK's server -----------------------------------------------------------------------------------------------


def server(offer: Offer, ask: Ask) -> Server[Any]:
    """The SDK's server for an offer. It checks no argument: that is the door's business."""
    import mcp_types as types
    from mcp.server import Server
    from mcp.shared.exceptions import MCPError

    lists = offer.lists()

    async def list_tools(_ctx: ServerRequestContext[Any], _asked: object) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(lists["tools/list"])

    async def call_tool(ctx: ServerRequestContext[Any], asked: types.CallToolRequestParams) -> types.CallToolResult:
        introduced = ctx.session.client_params
        client = introduced.client_info.name if introduced else ""
        try:
            operation = offer.operation(asked.name)
            reply = await ask(operation, asked.arguments or {}, client, cast("Mapping[str, Any]", ctx.meta or {}))
        except Refusal as refusal:
            return refused(refusal, client)
        return answered(reply, client)

    async def list_resources(_ctx: ServerRequestContext[Any], _asked: object) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate(lists["resources/list"])

    async def read_resource(
        _ctx: ServerRequestContext[Any], asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(asked.uri)
        text = guide(uri)
        if text is None:
            raise MCPError(types.INVALID_PARAMS, "There is no such resource; resources/list shows those there are.")
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="text/markdown", text=text)]
        )

    return Server(
        NAME,
        version=INFO["version"],
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def answered(reply: dict[str, Any], client: str) -> types.CallToolResult:
    """The reply of an operation as the SDK has it."""
    import mcp_types as types

    return types.CallToolResult.model_validate(answer_on_the_wire(reply, client))


def refused(refusal: Refusal, client: str) -> types.CallToolResult:
    """A refusal as the SDK has it."""
    import mcp_types as types

    return types.CallToolResult.model_validate(refusal_on_the_wire(refusal, client))


def answer_on_the_wire(reply: dict[str, Any], client: str) -> dict[str, Any]:
    """The reply of an operation, where the model of this client reads it; other agents' texts in it are shown only."""
    reply = readable(reply)
    where, _ = READS.get(known_name(client), (BOTH, BOTH))
    return _result(_IN_DATA if where == DATA else wire.dumps(reply), None if where == TEXT else reply)


def refusal_on_the_wire(refusal: Refusal, client: str) -> dict[str, Any]:
    """A refusal. Its text is complete for everybody: some clients show a model nothing else of an error."""
    _, where = READS.get(known_name(client), (BOTH, BOTH))
    return _result(error_text(refusal), None if where == TEXT else readable(refusal.as_dict()), is_error=True)


def error_text(refusal: Refusal) -> str:
    """Code, sentence and way out on one line; on a second what the sentence has no room for."""
    said = readable(refusal.as_dict())
    facts = {name: fact for name, fact in said.items() if name not in ("code", "message", "retryable")}
    more = {name: fact for name, fact in facts.items() if not _is_said(fact, said["message"])}
    first = f"{refusal.code}: {said['message']}"
    return f"{first}\n{wire.dumps(more)}" if more else first


def _is_said(fact: Any, sentence: str) -> bool:
    """Whether the sentence tells this fact: of several things it names the first."""
    return len(cast("list[Any]", fact)) < 2 if isinstance(fact, list) else str(fact) in sentence


def _result(text: str, data: dict[str, Any] | None, *, is_error: bool = False) -> dict[str, Any]:
    more = {} if data is None else {"structuredContent": data}
    return {"content": [{"text": text, "type": "text"}], "isError": is_error, **more}


class Desk:
    """Asks the rooms for one connection, in a thread of its own: they are for one thread, and it may wait there."""

    def __init__(self, settings: Settings, cwd: str) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._settings = settings
        self._cwd = cwd
        self._thread = ThreadPoolExecutor(1, "rooms")
        self._opened: tuple[Rooms, Connection] | None = None

    async def ask(
        self, operation: Operation, arguments: dict[str, Any], client: str, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A call that its client cancels before its turn is not made. Once it has begun it is finished, and an issue it
        took is given back, since the client never hears of it."""
        import asyncio

        reply = await self._once(operation, arguments, client, meta)
        left = patience.seconds_left(operation, arguments, reply)
        while not reply.get("events") and left > 0:
            await asyncio.sleep(min(patience.GLANCE_SECONDS, left))
            left -= patience.GLANCE_SECONDS
            reply = await self._once(operation, arguments, client, meta)
        return reply

    async def _once(
        self, operation: Operation, arguments: dict[str, Any], client: str, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        import asyncio

        made = self._thread.submit(self.answer, operation, arguments, client, meta)
        try:
            return await asyncio.wrap_future(made)
        except asyncio.CancelledError:
            if operation.name in _TAKING and "idempotency_key" not in arguments and not made.cancelled():
                self._thread.submit(self._give_back, made, client, meta)
            raise

    def _give_back(self, made: Future[dict[str, Any]], client: str, meta: Mapping[str, Any]) -> None:
        """What an answer that nobody heard had taken anew. With an idempotency key it is asked for again instead."""
        try:
            reply = made.result()  # it is over: this thread made it
            if "attempt_id" in reply and not reply.get("resumed"):
                self.answer(OPERATIONS["release_attempt"], {"attempt_id": reply["attempt_id"]}, client, meta)
        except Refusal:
            pass  # nothing was taken, or it is over already

    def answer(
        self, operation: Operation, arguments: dict[str, Any], client: str, meta: Mapping[str, Any]
    ) -> dict[str, Any]:
        try:
            rooms, connection = self._open()
            return rooms.ask(operation, arguments, connection.caller(client, meta))
        except Refusal:
            raise
        except Exception as error:
            _complain(error, self._settings)
            raise Refusal(
                "INTERNAL", f"{operation.name} failed by a defect of Clearway; the server's stderr says where."
            ) from error

    def close(self) -> None:
        """For those who end a server but not its process."""
        self._thread.shutdown(wait=True)
        if self._opened is not None:
            self._opened[0].close()

    def _open(self) -> tuple[Rooms, Connection]:
        if self._opened is None:
            rooms = Rooms(self._settings, say=mention)
            self._opened = rooms, Connection(rooms, self._cwd)
        return self._opened


def _complain(error: BaseException, settings: Settings) -> None:
    """Where a defect lies, on stderr. Its text may hold what callers keep secret: it is shown on demand only."""
    import traceback

    if settings.environ.get("CLEARWAY_LOG", "") == "debug":
        text = "".join(traceback.format_exception(error))
    else:
        text = "".join(traceback.format_tb(error.__traceback__)) + type(error).__name__ + "\n"
    print(f"clearway mcp: a defect\n{text}", file=sys.stderr, end="", flush=True)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep  # the folder is gone; a path that is relative to it is refused as outside of any repository


def _profile(words: Sequence[str]) -> str:
    """The value of `--tools`, empty if it is not given."""
    match list(words):
        case []:
            return ""
        case ["--tools", profile]:
            return profile
        case [word] if word.startswith("--tools="):
            return word.partition("=")[2]
        case _:
            raise Refusal("INVALID_ARGUMENT", "clearway mcp takes --tools PROFILE and nothing else.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
