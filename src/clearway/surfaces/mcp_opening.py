"""The first words with an MCP client, answered before the SDK is loaded.

Codex gives a server about a second from its start to its list of tools and then goes on without it; the SDK alone takes
most of that to load, more on a busy machine. What clients ask first has answers that never change: they are given here,
each equal to what the SDK's server would say (a test compares them). At the first thing that is not of this kind, or
not exactly well-formed, the server takes over; it is shown the opening again, so it knows with whom it speaks.
"""

from __future__ import annotations

from typing import Any, cast

from clearway import wire
from clearway.surfaces.mcp_tools import INFO, INSTRUCTIONS, Offer

# Oldest first. A client of the handshake era begins with `initialize`, a modern one sends an envelope each time.
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32602, -32603


def capabilities(*, modern: bool) -> dict[str, Any]:
    """What a server can do. Its lists never change while a client is connected; resources do. In the modern era a
    client names the changes it wants to hear of in one request, and all of them may be named."""
    listed = {"listChanged": modern}
    return {"tools": listed, "prompts": listed, "resources": {**listed, "subscribe": True}, "completions": {}}


_RESERVED = "io.modelcontextprotocol/"
_VERSION, _CLIENT, _CAPABLE = (_RESERVED + name for name in ("protocolVersion", "clientInfo", "clientCapabilities"))


class Message:
    """One request or notification of a client. identity: None for a notification."""

    __slots__ = ("identity", "method", "params")

    def __init__(self, identity: int | str | None, method: str, params: dict[str, Any]) -> None:
        self.identity = identity
        self.method = method
        self.params = params


class Opening:
    """What has been said so far. `kept`: the lines that the server has to see, too. `greeted`: the id of the request
    among them whose answer the client already has."""

    def __init__(self, offer: Offer) -> None:
        self.kept: list[bytes] = []
        self.greeted: int | str | None = None
        self._lists = offer.lists()
        self._modern = False

    @property
    def is_modern(self) -> bool:
        """Whether the client sends an envelope each time."""
        return self._modern

    def answer(self, line: bytes) -> str | None:
        """The answer to a line: empty if none is due, None if it takes the server to answer."""
        message = read(line)
        if message is None:
            return None
        if not self.kept:
            return self._open(message, line)
        if message.identity is None:
            return self._noted(message, line)
        if not (_is_enveloped if self._modern else _is_bare)(message.params):
            return None
        result = {} if message.method == "ping" and not self._modern else self._lists.get(message.method)
        return None if result is None else self._reply(message.identity, result)

    def _open(self, message: Message, line: bytes) -> str | None:
        if message.identity is None:
            return None
        result: dict[str, Any] = {"instructions": INSTRUCTIONS}
        if message.method == "initialize" and _is_hello(message.params):
            version = message.params["protocolVersion"]
            result["protocolVersion"] = version if version in HANDSHAKES else HANDSHAKES[-1]
            result["serverInfo"] = INFO
        elif message.method == "server/discover" and _is_enveloped(message.params):
            result["supportedVersions"] = [MODERN]
            self._modern = True
        else:
            return None
        result["capabilities"] = capabilities(modern=self._modern)
        self.kept.append(line)
        self.greeted = message.identity
        return self._reply(message.identity, result)

    def _noted(self, message: Message, line: bytes) -> str:
        """A notification: only the end of the handshake matters later."""
        if message.method == "notifications/initialized" and len(self.kept) == 1:
            self.kept.append(line)
        return ""

    def _reply(self, identity: int | str, result: dict[str, Any]) -> str:
        if self._modern:
            stamp = {f"{_RESERVED}serverInfo": INFO}
            result = {**result, "ttlMs": 0, "cacheScope": "private", "resultType": "complete", "_meta": stamp}
        return wire.dumps({"jsonrpc": "2.0", "id": identity, "result": result})


def read(line: bytes) -> Message | None:
    """The request or notification on a line; None for anything else."""
    try:
        said: Any = wire.loads(line)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    message = cast("dict[str, Any]", said)
    method, params, identity = message.get("method"), message.get("params"), message.get("id")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params, dict | None):
        return None
    if "id" in message and (type(identity) not in (int, str) or wire.is_broken(identity)):
        return None
    return Message(identity, method, cast("dict[str, Any]", params or {}))


def objection(line: bytes) -> str | None:
    """The answer to a line that is no message of this protocol, empty if nobody waits for one; None for a message. The
    SDK says nothing to such a line, and its sender waits for ever."""
    try:
        said: Any = wire.loads(line)
    except ValueError:
        return refused(None, PARSE_ERROR, "This line is not JSON in UTF-8, or it is nested too deeply.")
    if not isinstance(said, dict):
        return refused(None, INVALID_REQUEST, "A message is one JSON object; batches are not spoken here.")
    message = cast("dict[str, Any]", said)
    given = message.get("id")
    identity = given if type(given) in (int, str) and not wire.is_broken(given) else None
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return refused(identity, INVALID_REQUEST, 'A request has "jsonrpc": "2.0" and the name of a method.')
    if "id" not in message:
        return None if isinstance(message.get("params"), dict | None) else ""
    if identity is None:
        return refused(None, INVALID_REQUEST, "The id of a request is a text or a whole number.")
    if not isinstance(message.get("params"), dict | None):
        return refused(identity, INVALID_REQUEST, "The params of a request are an object.")
    if wire.is_broken(message):
        return refused(identity, INVALID_REQUEST, "A text in it is not valid Unicode: half of a pair stands alone.")
    return None


def refused(identity: int | str | None, code: int, sentence: str, facts: dict[str, Any] | None = None) -> str:
    """An error of the protocol itself."""
    more = {} if facts is None else {"data": facts}
    return wire.dumps({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": sentence, **more}})


def _is_hello(params: dict[str, Any]) -> bool:
    """Whether a client opens a handshake as it should."""
    return isinstance(params.get("protocolVersion"), str) and _introduces(
        params.get("clientInfo"), params.get("capabilities")
    )


def _is_bare(params: dict[str, Any]) -> bool:
    """Whether there is nothing in it that an answer could depend on: handshake era."""
    about = _about(params)
    return about is not None and not any(name.startswith(_RESERVED) for name in about)


def _is_enveloped(params: dict[str, Any]) -> bool:
    """The same in the modern era: the envelope is whole, and in our version."""
    about = _about(params)
    return (
        about is not None
        and about.get(_VERSION) == MODERN
        and _introduces(about.get(_CLIENT), about.get(_CAPABLE))
        and all(name in (_VERSION, _CLIENT, _CAPABLE) for name in about if name.startswith(_RESERVED))
    )


def _about(params: dict[str, Any]) -> dict[str, Any] | None:
    """What a request without arguments says about itself; None if it has arguments, or says it badly."""
    meta = params.get("_meta", {})
    if set(params) - {"_meta"} or not isinstance(meta, dict):
        return None
    about = cast("dict[str, Any]", meta)
    return about if type(about.get("progressToken", 0)) in (int, str) else None


def _introduces(client: Any, capabilities: Any) -> bool:
    """Whether a client says properly who it is and what it can do."""
    if not isinstance(client, dict) or not isinstance(capabilities, dict):
        return False
    named, able = cast("dict[str, Any]", client), cast("dict[str, Any]", capabilities)
    return all(isinstance(named.get(name), str) for name in ("name", "version")) and all(
        isinstance(value, dict) for value in able.values()
    )
