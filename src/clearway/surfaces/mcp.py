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
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from clearway import config, db, wire
from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.limits import PROGRESS_SECONDS, STREAMS_MAX, SUBSCRIPTIONS_MAX
from clearway.op import Operation
from clearway.rooms import Rooms
from clearway.surfaces import mcp_completions, mcp_prompts, mcp_resources, patience
from clearway.surfaces import mcp_notices as notices
from clearway.surfaces.asking import mention
from clearway.surfaces.mcp_callers import Connection, known_name
from clearway.surfaces.mcp_notices import Eyes, Subscriptions
from clearway.surfaces.mcp_opening import INTERNAL_ERROR, INVALID_PARAMS, Opening
from clearway.surfaces.mcp_tools import INFO, INSTRUCTIONS, NAME, Offer
from clearway.surfaces.mcp_wire import Ends, Wire, end_with_parent, last_words, leave
from clearway.untrusted import readable

if TYPE_CHECKING:
    from concurrent.futures import Future

    import mcp_types as types
    from mcp.server import Server, ServerRequestContext
    from mcp.shared.exceptions import MCPError

    Context = ServerRequestContext[Any]
    # Answers an operation with its arguments, for the client of that name, with what it says about the call.
    Ask = Callable[[Operation, dict[str, Any], str, Mapping[str, Any]], Coroutine[Any, Any, dict[str, Any]]]
    # Opens eyes for the client of that name.
    Watch = Callable[[str, Mapping[str, Any]], Awaitable[Eyes]]

Done = TypeVar("Done")

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


def main(words: Sequence[str], kept: Sequence[bytes] = (), pending: bytes = b"", unasked: Collection[str] = ()) -> int:
    """Serve the client on stdin and stdout until it leaves. words: `--tools PROFILE`.

    kept: the lines of an opening that another server has answered already. pending: what was read after it and is to be
    answered here. unasked: ids of requests among those that are not the client's, whose answers it is not told. Returns
    an exit status only if it cannot begin. Otherwise the process ends here, without the interpreter's farewell.
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
            _serve(offer, settings, client, opening, line, unasked)
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


async def converse(offer: Offer, ask: Ask, watch: Watch, ends: Any) -> None:
    """Let the SDK's server go on with a conversation. ends: those of mcp_wire."""
    from mcp.server.stdio import stdio_server

    made = server(offer, ask, watch)
    async with stdio_server(ends, ends) as (reads, writes):
        await made.run(reads, writes, made.create_initialization_options())


def _serve(
    offer: Offer, settings: Settings, client: Wire, opening: Opening, line: bytes, unasked: Collection[str]
) -> NoReturn:
    import asyncio

    db.read_all()

    async def go_on() -> None:
        desk = Desk(settings, _folder())
        ends = Ends(client, opening, line, parsed, last_words, unasked)
        await converse(offer, desk.ask, desk.watch, ends)

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


def server(offer: Offer, ask: Ask, watch: Watch) -> Server[Any]:
    """The SDK's server for an offer. It checks no argument: that is the door's business."""
    from mcp.server import Server

    served = _Served(offer, ask, watch)
    return Server(
        NAME,
        version=INFO["version"],
        instructions=INSTRUCTIONS,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_resources=served.list_resources,
        on_list_resource_templates=served.list_templates,
        on_read_resource=served.read_resource,
        on_subscribe_resource=served.subscribe,
        on_unsubscribe_resource=served.unsubscribe,
        on_subscriptions_listen=served.listen,
        on_list_prompts=served.list_prompts,
        on_get_prompt=served.get_prompt,
        on_completion=served.complete,
    )


class _Served:
    """What the SDK's server asks of us."""

    def __init__(self, offer: Offer, ask: Ask, watch: Watch) -> None:
        self._offer = offer
        self._ask = ask
        self._watch = watch
        self._lists = offer.lists()
        self._listening = 0

    # --- tools --------------------------------------------------------------------------------------------------

    async def list_tools(self, _: Context, __: object) -> types.ListToolsResult:
        import mcp_types as types

        return types.ListToolsResult.model_validate(self._lists["tools/list"])

    async def call_tool(self, ctx: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        client = _client(ctx)
        try:
            operation = self._offer.operation(asked.name)
            reply = await _with_progress(ctx, self._ask(operation, asked.arguments or {}, client, _meta(ctx)))
        except Refusal as refusal:
            return refused(refusal, client)
        return answered(reply, client)

    # --- resources ----------------------------------------------------------------------------------------------

    async def list_resources(self, _: Context, __: object) -> types.ListResourcesResult:
        import mcp_types as types

        return types.ListResourcesResult.model_validate(self._lists["resources/list"])

    async def list_templates(self, _: Context, __: object) -> types.ListResourceTemplatesResult:
        import mcp_types as types

        return types.ListResourceTemplatesResult.model_validate(self._lists["resources/templates/list"])

    async def read_resource(self, ctx: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        import mcp_types as types

        uri = str(asked.uri)
        text, question = mcp_resources.guide(uri), mcp_resources.question(uri)
        if text is not None:
            return types.ReadResourceResult.model_validate(mcp_resources.guide_contents(uri, text))
        if question is None:
            raise _nothing_there()
        try:
            reply = await self._ask(*question, _client(ctx), _meta(ctx))
        except Refusal as refusal:
            raise _objection(refusal) from None
        return types.ReadResourceResult.model_validate(mcp_resources.contents(uri, reply))

    async def subscribe(self, ctx: Context, asked: types.SubscribeRequestParams) -> types.EmptyResult:
        import mcp_types as types

        uri = str(asked.uri)
        if not mcp_resources.is_there(uri):
            raise _nothing_there()
        try:
            added = await self._subscriptions(ctx).add(uri)
        except Refusal as refusal:
            raise _objection(refusal) from None
        if not added:
            raise _objection(_too_many())
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Context, asked: types.UnsubscribeRequestParams) -> types.EmptyResult:
        import mcp_types as types

        await self._subscriptions(ctx).remove(str(asked.uri))
        return types.EmptyResult()

    def _subscriptions(self, ctx: Context) -> Subscriptions:
        """Those of this connection, which end with it."""
        # The SDK has no other way to what lasts as long as a connection.
        connection = ctx.session._connection  # pyright: ignore[reportPrivateUsage]
        found: Subscriptions | None = connection.state.get("subscriptions")
        if found is None:
            client, meta, session = _client(ctx), _meta(ctx), ctx.session
            found = Subscriptions(lambda: self._watch(client, meta), session.send_resource_updated)
            connection.state["subscriptions"] = found
            connection.exit_stack.push_async_callback(found.close)
        return found

    async def listen(
        self, ctx: Context, asked: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """The same in the modern era: one request, whose answer is the end of it."""
        import mcp_types as types
        from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

        honored = asked.notifications
        uris = [uri for uri in map(str, honored.resource_subscriptions or []) if mcp_resources.is_there(uri)]
        if len(uris) > SUBSCRIPTIONS_MAX or self._listening >= STREAMS_MAX:
            raise _objection(_too_many())
        honored = honored.model_copy(update={"resource_subscriptions": uris or None})
        stamp: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        self._listening += 1
        try:
            eyes = await self._watch(_client(ctx), _meta(ctx))
            try:
                seen = await notices.now(eyes)
                acknowledged = types.SubscriptionsAcknowledgedNotificationParams(notifications=honored, _meta=stamp)
                await _tell(ctx, types.SubscriptionsAcknowledgedNotification(params=acknowledged))
                async for uri in notices.news(eyes, lambda: uris, seen):
                    params = types.ResourceUpdatedNotificationParams(uri=uri, _meta=stamp)
                    await _tell(ctx, types.ResourceUpdatedNotification(params=params))
            finally:
                eyes.close()
        except Refusal as refusal:
            raise _objection(refusal) from None
        finally:
            self._listening -= 1
        return types.SubscriptionsListenResult(_meta=stamp)

    # --- prompts ------------------------------------------------------------------------------------------------

    async def list_prompts(self, _: Context, __: object) -> types.ListPromptsResult:
        import mcp_types as types

        return types.ListPromptsResult.model_validate(self._lists["prompts/list"])

    async def get_prompt(self, _: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        import mcp_types as types
        from mcp.shared.exceptions import MCPError

        prompt = mcp_prompts.filled(asked.name, asked.arguments or {})
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, mcp_prompts.NO_SUCH_PROMPT)
        return types.GetPromptResult.model_validate(prompt)

    async def complete(self, ctx: Context, asked: types.CompleteRequestParams) -> types.CompleteResult:
        """Suggest what is there. A room that cannot be asked suggests nothing, and nobody is told while typing."""
        import mcp_types as types

        name, begun = asked.argument.name, asked.argument.value
        question, found = mcp_completions.question(name), list[str]()
        if question is not None:
            try:
                reply = await self._ask(*question, _client(ctx), _meta(ctx))
                found = mcp_completions.values(name, begun, readable(reply))
            except Refusal:
                pass
        return types.CompleteResult(completion=types.Completion(values=found))


def _client(ctx: Context) -> str:
    introduced = ctx.session.client_params
    return introduced.client_info.name if introduced else ""


def _meta(ctx: Context) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", ctx.meta or {})


async def _tell(ctx: Context, notice: types.ServerNotification) -> None:
    await ctx.session.send_notification(notice, related_request_id=ctx.request_id)


async def _with_progress(ctx: Context, asked: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """The reply; and meanwhile, to a client that wants to know, how long it has been at it: clients give up a call that
    says nothing."""
    import asyncio

    if "progress_token" not in (ctx.meta or {}):
        return await asked
    made = asyncio.ensure_future(asked)
    seconds = 0
    try:
        while not (await asyncio.wait([made], timeout=PROGRESS_SECONDS))[0]:
            seconds += PROGRESS_SECONDS
            await ctx.session.report_progress(seconds, message=progress_sentence(seconds))
        return made.result()
    except asyncio.CancelledError:
        made.cancel()
        raise


def progress_sentence(seconds: int) -> str:
    return f"still at it after {seconds} s"


def _nothing_there() -> MCPError:
    import mcp_types as types
    from mcp.shared.exceptions import MCPError

    return MCPError(types.INVALID_PARAMS, mcp_resources.NOTHING_THERE)


def _objection(refusal: Refusal) -> MCPError:
    """A refusal where the protocol has no place for one but its own errors."""
    from mcp.shared.exceptions import MCPError

    return MCPError(*objection_to(refusal))


def objection_to(refusal: Refusal) -> tuple[int, str, dict[str, Any]]:
    """A refusal as an error of the protocol: its code there, the whole sentence, and the object itself."""
    code = INVALID_PARAMS if refusal.http_status < 500 else INTERNAL_ERROR
    return code, error_text(refusal), readable(refusal.as_dict())


def _too_many() -> Refusal:
    return Refusal("LIMIT_EXCEEDED", f"At most {SUBSCRIPTIONS_MAX} resources are watched for one client.")


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


def answer_line(identity: int | str, reply: dict[str, Any], client: str) -> str:
    """The whole answer to a call as it is spelled. A reply is spelled once, and looked through only if there is
    something in it that would be shown otherwise."""
    data = wire.dumps(reply)
    if "\\" in data or not (data.isascii() and data.isprintable()):
        data = wire.dumps(readable(reply))
    where, _ = READS.get(known_name(client), (BOTH, BOTH))
    text = wire.dumps(_IN_DATA if where == DATA else data)
    more = "" if where == TEXT else f',"structuredContent":{data}'
    result = f'{{"content":[{{"text":{text},"type":"text"}}],"isError":false{more}}}'
    return f'{{"jsonrpc":"2.0","id":{wire.dumps(identity)},"result":{result}}}'


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
        self.asked = 0  # questions that may have changed something

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
            reply = rooms.ask(operation, arguments, connection.caller(client, meta))
            self.asked += operation.writes is not False
            return reply
        except Refusal:
            raise
        except Exception as error:
            _complain(error, self._settings)
            raise Refusal(
                "INTERNAL", f"{operation.name} failed by a defect of Clearway; the server's stderr says where."
            ) from error

    async def watch(self, client: str, meta: Mapping[str, Any]) -> Eyes:
        """Eyes for what happens in the room that this client's calls go to."""
        return await self.in_thread(lambda: self._eyes(client, meta))

    def _eyes(self, client: str, meta: Mapping[str, Any]) -> Eyes:
        rooms, connection = self._open()
        return _DeskEyes(self, rooms, watcher(connection.caller(client, meta)))

    async def in_thread(self, act: Callable[[], Done]) -> Done:
        import asyncio

        return await asyncio.wrap_future(self._thread.submit(act))

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


class _DeskEyes:
    """Looks at a room that this process alone asks: now and then, whether anything was written."""

    def __init__(self, desk: Desk, rooms: Rooms, caller: Caller) -> None:
        self.agent = caller.agent
        self._desk = desk
        self._rooms = rooms
        self._caller = caller
        engine = rooms.of_folder(caller.cwd).engine
        self._pause = patience.GLANCE_SECONDS if engine.name == "sqlite" else patience.FAR_MS / 1_000
        self._seen: tuple[int, int] | None = None

    async def changes(self, since: int, limit: int) -> dict[str, Any]:
        asked = {"since_event_id": since, "limit": limit}
        return await self._desk.in_thread(
            lambda: self._rooms.ask(OPERATIONS["get_changes"], asked, self._caller),
        )

    async def rung(self) -> bool:
        import asyncio

        while True:
            before, self._seen = self._seen, await self._desk.in_thread(self._glance)
            if self._seen is None or self._seen != before:
                return True
            await asyncio.sleep(self._pause)

    def close(self) -> None:
        """The rooms are those of the desk."""

    def _glance(self) -> tuple[int, int] | None:
        """What is different after every change, others' and our own client's; None where it cannot be told."""
        try:
            return self._rooms.of_folder(self._caller.cwd).engine.stamp(), self._desk.asked
        except Refusal:
            return None


def watcher(caller: Caller) -> Caller:
    """Somebody who looks on for a caller, without being taken for it at work."""
    return Caller(caller.agent, cwd=caller.cwd, host=caller.host)


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
