"""A model that plays a script: the loopback server a real client talks to instead of its vendor.

It promises that the client's own machinery (hooks, permissions, tools, MCP) runs unchanged, that the client does what
the script says and nothing else, and that everything the model was shown can be read afterwards, turn by turn. It does
not think, check tool arguments or count tokens; asked to pass something on, as a proxy is, it refuses. `doctor --live`
plays with it, and so do the tests with real clients.

A script is a list of steps, or a function that is given what the model was shown first, yields steps and is sent what
the model was shown next. So a step can use what an earlier answer said (an attempt's id, a token), and a script that
waits keeps its client waiting. What the client sends again, after a broken stream, is answered as before.

Each wire format is one small class at the end of this module; another format is one more class in `WIRES`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self, cast

from clearway.clock import Clock

Body = dict[str, Any]
Parts = list[dict[str, Any]]

_CLOCK = Clock()

REQUEST_BYTES_MAX = 64 * 1024 * 1024
TURNS_MAX = 200
"""A client that asks more often than this is in a loop (an end-of-turn hook that always objects makes one)."""


# What the model says


@dataclass(frozen=True)
class Call:
    """One tool call. Arguments that are text are a free-form tool's; a namespace is Codex's word for a server."""

    name: str
    arguments: Mapping[str, Any] | str
    namespace: str | None = None


@dataclass(frozen=True)
class Step:
    """One turn of the model: text, calls or both. A step without calls ends the client's turn."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def say(text: str) -> Step:
    return Step(text=text)


def call(*calls: Call) -> Step:
    return Step(calls=calls)


# What the model is shown


@dataclass(frozen=True)
class Result:
    """The answer to one tool call, as the model reads it."""

    call: str
    text: str
    failed: bool = False

    @property
    def data(self) -> Any:
        """The JSON object in the answer, whatever a client puts around it; else `ValueError` with the text."""
        try:
            return json.JSONDecoder().raw_decode(self.text, self.text.index("{"))[0]
        except ValueError:
            raise ValueError(f"no JSON object in {self.text!r}") from None


@dataclass(frozen=True)
class Told:
    """One text that is no tool result: of the user, or put there by the client or a hook (system, developer)."""

    role: str
    text: str


@dataclass(frozen=True)
class Shown:
    """Everything new that the model reads at one turn: what was added since it spoke last."""

    results: tuple[Result, ...]
    told: tuple[Told, ...]

    @property
    def result(self) -> Result:
        """The one result of a turn that made one call."""
        assert len(self.results) == 1, f"{len(self.results)} results: {self.results}"
        return self.results[0]

    @property
    def text(self) -> str:
        return "\n".join([*(told.text for told in self.told), *(result.text for result in self.results)])


@dataclass(frozen=True)
class Request:
    """One request as it came, script or not."""

    path: str
    body: Body
    raw: str


Performance = Generator[Step, Shown, Any]
Script = Sequence[Step] | Callable[[Shown], Performance]


def each(steps: Sequence[Step]) -> Generator[Step, Shown, list[Shown]]:
    """Play steps as a part of a script: `shown = yield from each(steps)` is what the model was shown after each.

    A list cannot be yielded from directly: its iterator takes nothing back.
    """
    shown: list[Shown] = []
    for step in steps:
        shown.append((yield step))  # noqa: PERF401 (a comprehension cannot yield)
    return shown


class ScriptedModel:
    """The server, from `begin` to `end` or for a `with` block; each has a port of its own, so several can run at once.

    script: what the model of the main conversation does.
    beside: scripts of sub-agents, each by a marker that stands in the sub-agent's first messages and nowhere in the
    parent's.
    """

    def __init__(self, script: Script, *, beside: Mapping[str, Script] | None = None) -> None:
        self.requests: list[Request] = []
        self.kept_away: list[str] = []
        self.turns: list[Shown] = []
        self.failure: BaseException | None = None
        self._changed = threading.Condition()
        self._main = _Conversation(script)
        self._beside = {marker: _Conversation(other) for marker, other in (beside or {}).items()}
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def begin(self) -> ScriptedModel:
        self._thread.start()
        return self

    def end(self) -> None:
        """Stop answering; what was recorded stays. A second end does nothing."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def asked(self) -> list[Request]:
        """The requests that were answered from the main script, one a turn: `asked[n]` is where `turns[n]` stood."""
        return list(self._main.requests)

    def shown_of(self, marker: str) -> list[Shown]:
        """What the sub-agent of that marker was shown, turn by turn."""
        return list(self._beside[marker].turns)

    def wait_for_turn(self, turn: int, seconds: float) -> Shown:
        """Return what the model is shown at that turn (the first is 0) as soon as it is asked."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.turns) > turn or self.failure, timeout=seconds):
                raise TimeoutError(f"the model was not asked for turn {turn} in {seconds} s; it had {len(self.turns)}")
            if self.failure:
                raise self.failure
            return self.turns[turn]

    def answer(self, wire: Wire, request: Request) -> Step:
        """The step for one request. A request without tools (a title, a routing question) is not part of the story."""
        if not wire.carries_tools(request.body):
            return say(wire.aside(request.body))
        opening = wire.opening(request.body)
        conversation = next((other for marker, other in self._beside.items() if marker in opening), self._main)
        try:
            return conversation.next_step(wire, request, self._note)
        except Exception as error:
            with self._changed:
                self.failure = self.failure or error
                self._changed.notify_all()
            return say("The script failed.")

    def keep(self, request: Request) -> None:
        with self._changed:
            self.requests.append(request)

    def keep_away(self, address: str) -> None:
        """Remember where the client wanted to go beyond this machine, and was not let."""
        with self._changed:
            self.kept_away.append(address)

    def _note(self, conversation: _Conversation, shown: Shown) -> None:
        with self._changed:
            if conversation is self._main:
                self.turns.append(shown)
                self._changed.notify_all()


class _Conversation:
    """One conversation's place in its script.

    The place follows from the history a request carries: as many model turns as last time is the same question again.
    Any other number is the next one, so a resumed or compacted conversation goes on where it was.
    """

    def __init__(self, script: Script) -> None:
        self.turns: list[Shown] = []
        self.requests: list[Request] = []
        self._script = script
        self._performance: Performance | None = None
        self._turns_seen = -1
        self._last = Step()
        self._lock = threading.Lock()

    def next_step(self, wire: Wire, request: Request, note: Callable[[_Conversation, Shown], None]) -> Step:
        with self._lock:
            turns_seen = wire.turns(request.body)
            if turns_seen == self._turns_seen:
                return self._last
            assert len(self.turns) < TURNS_MAX, f"the client asked more than {TURNS_MAX} times"
            shown = wire.shown(request.body)
            self.turns.append(shown)
            self.requests.append(request)
            note(self, shown)
            self._turns_seen, self._last = turns_seen, self._advance(shown)
            return self._last

    def _advance(self, shown: Shown) -> Step:
        try:
            if self._performance is None:
                self._performance = _perform(self._script, shown)
                return next(self._performance)
            return self._performance.send(shown)
        except StopIteration:
            return say("done")


def _perform(script: Script, shown: Shown) -> Performance:
    return script(shown) if callable(script) else each(script)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # The default backlog of 5 is short for a client that opens its side requests all at once.
    request_queue_size = 64

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed in the middle of an answer is part of many a test, and no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the requests are kept, a log beside them says nothing new."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_CONNECT(self) -> None:
        """A client that takes this for its proxy may reach through it what is here, and nothing else."""
        here = self.path == f"127.0.0.1:{self.server.server_port}"
        self.close_connection = not here  # on it goes with the request itself, whatever the first one said
        self.send_response(200 if here else 403)
        if not here:
            self.send_header("Content-Length", "0")
            self.server.model.keep_away(self.path)
        self.end_headers()

    def do_GET(self) -> None:
        self._reply({"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        raw = self._read()
        request = Request(path=self.path, body=json.loads(raw or b"{}"), raw=raw.decode())
        self.server.model.keep(request)
        path = self.path.partition("?")[0]
        wire = next((wire for wire in WIRES if path.endswith(wire.ending)), None)
        if wire is None:
            self._reply({"input_tokens": 1} if path.endswith("/count_tokens") else {}, 200 if "count" in path else 404)
        else:
            self._speak(wire, request, self.server.model.answer(wire, request))

    def _speak(self, wire: Wire, request: Request, step: Step) -> None:
        if not wire.streams(request):
            self._reply(wire.whole(request.body, step))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in wire.stream(request.body, step):
            named = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{named}data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(wire.farewell)
        self.wfile.flush()

    def _reply(self, document: Body, status: int = 200) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _read(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(self._chunks())
        length = int(self.headers.get("Content-Length") or 0)
        assert length <= REQUEST_BYTES_MAX, f"a request of {length} bytes"
        return self.rfile.read(length)

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(100).partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline(100)
        while self.rfile.readline(8192).strip():
            """Trailers are read past."""


# Wire formats


class Wire(Protocol):
    """How one vendor writes requests and answers."""

    ending: str
    """What the path of a request in this format ends with."""
    farewell: bytes
    """What follows the last event of a stream."""

    def streams(self, request: Request) -> bool: ...
    def aside(self, body: Body) -> str:
        """What a request without tools is answered."""
        ...

    def carries_tools(self, body: Body) -> bool: ...
    def turns(self, body: Body) -> int:
        """How many turns the model has had so far, by the history."""
        ...

    def opening(self, body: Body) -> str:
        """The text a sub-agent's marker is looked for in."""
        ...

    def shown(self, body: Body) -> Shown: ...
    def whole(self, body: Body, step: Step) -> Body: ...
    def stream(self, body: Body, step: Step) -> Iterator[Body]: ...


def _new_id(prefix: str) -> str:
    return prefix + _CLOCK.new_id()


def _text_of(content: Any) -> str:
    """The text of a content that is a string or a list of parts; what is no text is named by its type."""
    if isinstance(content, str):
        return content
    parts: Parts = content or []
    return "\n".join(part.get("text", f"[{part.get('type')}]") for part in parts)


class _InEvents:
    """What the formats have in common whose requests ask for a stream in their body."""

    farewell = b""

    def streams(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def aside(self, body: Body) -> str:
        return "ok"


class AnthropicMessages(_InEvents):
    """Claude Code. The history is a list of messages; a hook's context stands in it as a message of role system."""

    ending = "/messages"

    def carries_tools(self, body: Body) -> bool:
        return bool(body.get("tools"))

    def turns(self, body: Body) -> int:
        return sum(message["role"] == "assistant" for message in body["messages"])

    def opening(self, body: Body) -> str:
        return "\n".join(_text_of(message["content"]) for message in body["messages"][:2])

    def shown(self, body: Body) -> Shown:
        told: list[Told] = []
        results: list[Result] = []
        if not self.turns(body):
            told.append(Told("system", _text_of(body.get("system"))))
        for message in self._since_the_model_spoke(body["messages"]):
            content = message["content"]
            for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if part["type"] == "tool_result":
                    failed = bool(part.get("is_error"))
                    results.append(Result(part["tool_use_id"], _text_of(part.get("content")), failed))
                elif part["type"] == "text":
                    told.append(Told(message["role"], part["text"]))
        return Shown(tuple(results), tuple(told))

    def _since_the_model_spoke(self, messages: list[Body]) -> list[Body]:
        last = max((at for at, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
        return messages[last + 1 :]

    def whole(self, body: Body, step: Step) -> Body:
        content: list[Body] = [{"type": "text", "text": step.text}] if step.text else []
        content += [
            {"type": "tool_use", "id": _new_id("toolu_"), "name": made.name, "input": made.arguments}
            for made in step.calls
        ]
        return {
            "id": _new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": content,
            "stop_reason": "tool_use" if step.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def stream(self, body: Body, step: Step) -> Iterator[Body]:
        message = self.whole(body, step)
        yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        for index, block in enumerate(message["content"]):
            empty, delta = self._in_two(block)
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}}
        yield {"type": "message_stop"}

    def _in_two(self, block: Body) -> tuple[Body, Body]:
        if block["type"] == "text":
            return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


class OpenAIResponses(_InEvents):
    """Codex. The history is a flat list of items; a hook's context stands in it as a message of role developer."""

    ending = "/responses"

    def carries_tools(self, body: Body) -> bool:
        # Models of the code mode get their tools as an item of the history instead.
        return bool(body.get("tools")) or any(item.get("type") == "additional_tools" for item in body["input"])

    def turns(self, body: Body) -> int:
        own = [self._is_of_the_model(item) for item in body["input"]]
        return sum(now and not before for before, now in zip([False, *own], own, strict=False))

    def opening(self, body: Body) -> str:
        return "\n".join(_text_of(item.get("content")) for item in body["input"] if item.get("role") == "user")

    def shown(self, body: Body) -> Shown:
        told: list[Told] = []
        results: list[Result] = []
        if not self.turns(body):
            told.append(Told("system", body.get("instructions") or ""))
        for item in self._since_the_model_spoke(body["input"]):
            kind = item.get("type")
            if kind in ("function_call_output", "custom_tool_call_output"):
                results.append(self._result(item))
            elif kind == "message":
                told.append(Told(item["role"], _text_of(item["content"])))
        return Shown(tuple(results), tuple(told))

    def _is_of_the_model(self, item: Body) -> bool:
        if item.get("type") in ("function_call", "custom_tool_call", "reasoning"):
            return True
        return item.get("role") == "assistant"

    def _since_the_model_spoke(self, items: list[Body]) -> list[Body]:
        last = max((at for at, item in enumerate(items) if self._is_of_the_model(item)), default=-1)
        return items[last + 1 :]

    def _result(self, item: Body) -> Result:
        output = item["output"]
        if isinstance(output, dict):
            said = cast("Body", output)
            return Result(item["call_id"], _text_of(said.get("content")), said.get("success") is False)
        return Result(item["call_id"], _text_of(output))

    def whole(self, body: Body, step: Step) -> Body:
        output = [self._message(step.text)] if step.text or not step.calls else []
        output += [self._call(made) for made in step.calls]
        nothing = {"cached_tokens": 0, "reasoning_tokens": 0}
        return {
            "id": _new_id("resp_"),
            "object": "response",
            "status": "completed",
            "model": body.get("model"),
            "output": output,
            "usage": {
                "input_tokens": 1,
                "input_tokens_details": nothing,
                "output_tokens": 1,
                "output_tokens_details": nothing,
                "total_tokens": 2,
            },
        }

    def stream(self, body: Body, step: Step) -> Iterator[Body]:
        response = self.whole(body, step)
        nothing_yet: Parts = []
        yield {"type": "response.created", "response": {**response, "status": "in_progress", "output": nothing_yet}}
        for index, item in enumerate(response["output"]):
            yield {"type": "response.output_item.added", "output_index": index, "item": item}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": "response.completed", "response": response}

    def _message(self, text: str) -> Body:
        part: Body = {"type": "output_text", "text": text, "annotations": []}
        return {"type": "message", "id": _new_id("msg_"), "role": "assistant", "status": "completed", "content": [part]}

    def _call(self, made: Call) -> Body:
        item: Body = {"call_id": _new_id("call_"), "name": made.name, "status": "completed"}
        if isinstance(made.arguments, str):
            return {"type": "custom_tool_call", "id": _new_id("ctc_"), "input": made.arguments, **item}
        if made.namespace:
            item["namespace"] = made.namespace
        return {"type": "function_call", "id": _new_id("fc_"), "arguments": json.dumps(made.arguments), **item}


class ChatCompletions(_InEvents):
    """Copilot CLI, Qwen Code, OpenCode. The history is a list of messages; an answer to a call is one of role tool."""

    ending = "/chat/completions"
    farewell = b"data: [DONE]\n\n"

    def carries_tools(self, body: Body) -> bool:
        return bool(body.get("tools"))

    def turns(self, body: Body) -> int:
        return sum(message["role"] == "assistant" for message in body["messages"])

    def opening(self, body: Body) -> str:
        return "\n".join(_text_of(message["content"]) for message in body["messages"] if message["role"] == "user")

    def shown(self, body: Body) -> Shown:
        told: list[Told] = []
        results: list[Result] = []
        messages = body["messages"]
        last = max((at for at, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
        for message in messages[last + 1 :]:
            text = _text_of(message.get("content"))
            if message["role"] == "tool":
                results.append(Result(message["tool_call_id"], text))
            else:
                told.append(Told(message["role"], text))
        return Shown(tuple(results), tuple(told))

    def whole(self, body: Body, step: Step) -> Body:
        message: Body = {"role": "assistant", "content": step.text or None}
        if step.calls:
            message["tool_calls"] = self._calls(step)
        ended = "tool_calls" if step.calls else "stop"
        return {
            **self._head(body, "chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": ended}],
            "usage": self._usage(),
        }

    def stream(self, body: Body, step: Step) -> Iterator[Body]:
        head = self._head(body, "chat.completion.chunk")
        deltas: list[Body] = [{"role": "assistant", "content": step.text}]
        if step.calls:
            deltas.append({"tool_calls": [{"index": at, **made} for at, made in enumerate(self._calls(step))]})
        for delta in deltas:
            yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        ended = "tool_calls" if step.calls else "stop"
        yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": ended}]}
        yield {**head, "choices": [], "usage": self._usage()}

    def _head(self, body: Body, kind: str) -> Body:
        return {"id": _new_id("chatcmpl-"), "object": kind, "created": 1, "model": body.get("model")}

    def _usage(self) -> Body:
        return {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}

    def _calls(self, step: Step) -> list[Body]:
        return [
            {
                "id": _new_id("call_"),
                "type": "function",
                "function": {"name": made.name, "arguments": json.dumps(made.arguments)},
            }
            for made in step.calls
        ]


class GeminiContents:
    """Gemini CLI. The history is a list of contents; an answer to a call is a part of the user's."""

    ending = "enerateContent"  # `:generateContent`, `:streamGenerateContent`
    farewell = b""

    def streams(self, request: Request) -> bool:
        return ":stream" in request.path

    def aside(self, body: Body) -> str:
        """It asks which model to take, and who speaks next, and reads the answer as JSON."""
        reasons = {"reasoning": "it is so", "complexity_reasoning": "it is so"}
        return json.dumps({**reasons, "model_choice": "flash", "complexity_score": 1, "next_speaker": "user"})

    def carries_tools(self, body: Body) -> bool:
        tools: Parts = body.get("tools") or []
        return any("functionDeclarations" in tool for tool in tools)

    def turns(self, body: Body) -> int:
        return sum(content.get("role") == "model" for content in body["contents"])

    def opening(self, body: Body) -> str:
        told = [part for content in body["contents"] if content.get("role") != "model" for part in content["parts"]]
        return "\n".join(part["text"] for part in told if "text" in part)

    def shown(self, body: Body) -> Shown:
        told: list[Told] = []
        results: list[Result] = []
        contents = body["contents"]
        if not self.turns(body):
            system: Body = body.get("systemInstruction") or {}
            parts: Parts = system.get("parts") or []
            told.append(Told("system", "\n".join(part.get("text", "") for part in parts)))
        last = max((at for at, content in enumerate(contents) if content.get("role") == "model"), default=-1)
        for part in (part for content in contents[last + 1 :] for part in content["parts"]):
            if "functionResponse" in part:
                results.append(self._result(part["functionResponse"]))
            elif "text" in part:
                told.append(Told("user", part["text"]))
        return Shown(tuple(results), tuple(told))

    def _result(self, answer: Body) -> Result:
        said: Body = answer.get("response") or {}
        text = said.get("output", said.get("error"))
        failed = "error" in said
        return Result(answer.get("id") or answer["name"], text if isinstance(text, str) else json.dumps(said), failed)

    def whole(self, body: Body, step: Step) -> Body:
        parts: list[Body] = [{"text": step.text}] if step.text or not step.calls else []
        parts += [{"functionCall": {"name": made.name, "args": made.arguments}} for made in step.calls]
        content = {"role": "model", "parts": parts}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        }

    def stream(self, body: Body, step: Step) -> Iterator[Body]:
        yield self.whole(body, step)


WIRES: tuple[Wire, ...] = (AnthropicMessages(), OpenAIResponses(), ChatCompletions(), GeminiContents())
