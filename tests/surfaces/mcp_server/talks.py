"""Conversations with the MCP server: through the SDK's own client, or over lines as they stand on the wire."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import mcp_types as types
from mcp import Client
from mcp.server.stdio import stdio_server

from clearway.config import Settings
from clearway.rooms import Rooms
from clearway.surfaces import mcp, mcp_wire
from clearway.surfaces.mcp_opening import Opening
from clearway.surfaces.mcp_tools import Offer

CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE = (
    "claude-code",
    "codex-mcp-client",
    "gemini-cli-mcp-client",
    "copilot-cli",
    "opencode",
)
EVERYBODY = [CLAUDE, CODEX, GEMINI, COPILOT, OPENCODE, "somebody-new"]


def size(value: Any) -> int:
    """The bytes of a value as compact JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


class Agent:
    """One connection of one client to a server of its own, asked through the SDK's client."""

    def __init__(self, desk: mcp.Desk, client: str, offer: Offer, mode: str) -> None:
        self.desk = desk
        self.server = mcp.server(offer, desk.ask, desk.watch)
        self.introduction = types.Implementation(name=client, version="1")
        self.mode: Any = mode

    def call(self, tool: str, meta: dict[str, Any] | None = None, **given: Any) -> types.CallToolResult:
        return asyncio.run(self._call(tool, meta, given))

    def ask(self, tool: str, **given: Any) -> dict[str, Any]:
        """The reply, wherever it stands; a refusal fails the test."""
        result = self.call(tool, **given)
        assert not result.is_error, text_of(result)
        return cast("dict[str, Any]", result.structured_content or json.loads(text_of(result)))

    def refusal(self, tool: str, **given: Any) -> dict[str, Any]:
        """The error object of a client that reads it from the data; an answer fails the test."""
        result = self.call(tool, **given)
        assert result.is_error and result.structured_content, result
        return cast("dict[str, Any]", result.structured_content)

    async def _call(self, tool: str, meta: dict[str, Any] | None, given: dict[str, Any]) -> types.CallToolResult:
        async with Client(self.server, client_info=self.introduction, mode=self.mode) as client:
            return await client.call_tool(tool, given, meta=cast("Any", meta))


class Machine:
    """A repository with a room on one engine, and agents that connect from it."""

    def __init__(self, environ: dict[str, str], repo: Path) -> None:
        self.environ = environ
        self.repo = repo
        self.desks: list[mcp.Desk] = []

    def agent(
        self, client: str = "somebody-new", *, profile: str = "full", mode: str = "legacy", **environ: str
    ) -> Agent:
        self.desks.append(mcp.Desk(Settings({**self.environ, **environ}), str(self.repo)))
        return Agent(self.desks[-1], client, Offer(profile), mode)

    def rooms(self) -> Rooms:
        return Rooms(Settings(self.environ))


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "title": "Claude Code", "version": "2.1.332"},
    "io.modelcontextprotocol/clientCapabilities": {"roots": {"listChanged": True}, "elicitation": {"form": {}}},
}
HALF = "\ud800"  # of a pair that stands alone
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(identity: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def hello(version: str = "2025-11-25", client: str = CLAUDE, **capabilities: Any) -> dict[str, Any]:
    introduction = {"name": client, "title": "A client", "version": "1"}
    return request(0, "initialize", protocolVersion=version, capabilities=capabilities, clientInfo=introduction)


def greeting(**other: Any) -> dict[str, Any]:
    """A handshake with something else in it."""
    return request(0, "initialize", **{**hello()["params"], **other})


CODEX_HELLO = hello("2025-06-18", CODEX, experimental={"codex/auth-change": {}}, elicitation={"form": {}, "url": {}})
MODERN = [
    request("server-discover-probe-1", "server/discover", _meta=ENVELOPE),
    request(1, "tools/list", _meta={**ENVELOPE, "progressToken": "t"}),
    request(2, "resources/list", _meta=ENVELOPE),
]
LISTS = [
    READY,
    request(1, "tools/list"),
    {"jsonrpc": "2.0", "id": "two", "method": "resources/list"},
    request(3, "tools/list", _meta={"progressToken": 7, "traceparent": "00-a-b-01"}),
    request(4, "ping"),
]


class Line:
    """The wire without the process: what a client says, and what reaches it."""

    def __init__(self, *said: dict[str, Any] | str) -> None:
        self._lines = [(word if isinstance(word, str) else json.dumps(word)).encode() + b"\n" for word in said]
        self.heard: list[dict[str, Any]] = []

    def line(self) -> bytes:
        return self._lines.pop(0) if self._lines else b""

    def say(self, text: str) -> None:
        self.heard.append(json.loads(text))


def whole(*said: dict[str, Any] | str, ask: Any = None, watch: Any = None) -> list[dict[str, Any]]:
    """The whole conversation, as the server process leads it."""
    wire, offer = Line(*said), Offer("core")
    opening = Opening(offer)
    while line := wire.line():
        answer = opening.answer(line)
        if answer is None:
            asyncio.run(served(wire, opening, line, mcp.server(offer, ask, watch)))
            break
        if answer:
            wire.say(answer)
    return wire.heard


def by_the_server(*said: dict[str, Any] | str) -> list[dict[str, Any]]:
    """The same conversation without an opening."""
    wire, offer = Line(*said), Offer("core")
    asyncio.run(served(wire, Opening(offer), wire.line(), mcp.server(offer, cast("Any", None), cast("Any", None))))
    return wire.heard


async def served(wire: Line, opening: Opening, line: bytes, server: Any) -> None:
    ends = cast("Any", mcp_wire.Ends(cast("Any", wire), opening, line, mcp.parsed, mcp_wire.last_words))
    async with stdio_server(ends, ends) as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


def by_id(heard: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    found = {answer["id"]: answer for answer in heard}
    assert len(found) == len(heard), "something was answered twice"
    return found
