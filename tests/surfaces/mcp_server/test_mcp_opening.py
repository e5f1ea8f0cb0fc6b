"""The first words of a client, and words that are none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from tests.surfaces.mcp_server.talks import (
    CODEX_HELLO,
    ENVELOPE,
    HALF,
    LISTS,
    MODERN,
    READY,
    by_id,
    by_the_server,
    greeting,
    hello,
    request,
    whole,
)

from clearway.surfaces import mcp_opening
from clearway.surfaces.mcp_opening import Opening
from clearway.surfaces.mcp_tools import Offer


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01", "2026-07-28"])
def test_a_handshake_is_answered_as_the_server_would(version: str) -> None:
    said = [hello(version), *LISTS]
    assert by_id(whole(*said)) == by_id(by_the_server(*said))


@pytest.mark.parametrize("opening", [[CODEX_HELLO, *LISTS], MODERN], ids=["codex", "modern"])
def test_the_first_words_of_a_client_are_answered_as_the_server_would(opening: list[dict[str, Any]]) -> None:
    assert by_id(whole(*opening)) == by_id(by_the_server(*opening))


def test_the_first_words_need_no_server() -> None:
    for said in ([CODEX_HELLO, *LISTS], MODERN):
        opening = Opening(Offer("core"))
        assert all(opening.answer(json.dumps(word).encode()) is not None for word in said)


def test_the_versions_are_those_of_the_sdk() -> None:
    assert tuple(HANDSHAKE_PROTOCOL_VERSIONS) == mcp_opening.HANDSHAKES
    assert tuple(MODERN_PROTOCOL_VERSIONS) == (mcp_opening.MODERN,)


@pytest.mark.parametrize(
    "said",
    [
        ["no JSON"],
        ["[]"],
        ["\xff"],
        ["[" * 100_000],
        [READY],
        [request(1, "tools/list")],
        [request(None, "initialize", **hello()["params"])],
        [request(1.5, "initialize", **hello()["params"])],
        [{**hello(), "jsonrpc": "1.0"}],
        [greeting(clientInfo={"name": "x"})],
        [greeting(clientInfo=None)],
        [greeting(protocolVersion=5)],
        [greeting(capabilities=[])],
        [greeting(capabilities=None)],
        [greeting(capabilities={"roots": True})],
        [request(0, "server/discover")],
        [request(0, "server/discover", _meta={**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2027-01-01"})],
        [hello(), request(1, "tools/list", cursor="next")],
        [hello(), request(1, "tools/list", _meta=5)],
        [hello(), request(1, "tools/list", _meta={"progressToken": []})],
        [hello(), request(1, "tools/list", _meta=ENVELOPE)],
        [hello(), request(1, "completion/complete")],
        [hello(), hello()],
        [hello(), {"jsonrpc": "2.0", "id": 1, "result": {}}],
        [MODERN[0], request(1, "tools/list")],
        [MODERN[0], request(1, "ping", _meta=ENVELOPE)],
        [MODERN[0], hello()],
    ],
)  # fmt: skip
def test_what_is_not_an_ordinary_first_word_is_left_to_the_server(said: list[Any]) -> None:
    opening = Opening(Offer("core"))
    *before, last = [(word if isinstance(word, str) else json.dumps(word)).encode("latin-1") for word in said]
    assert all(opening.answer(line) for line in before)
    assert opening.answer(last) is None


@pytest.mark.parametrize("opening", [[hello(), READY], [hello(), *LISTS], [CODEX_HELLO, *LISTS]])
def test_the_server_takes_over_from_a_handshake(opening: list[dict[str, Any]]) -> None:
    heard = by_id(whole(*opening, request("call", "tools/call", name="nothing"), request("list", "tools/list")))
    assert heard[0]["result"]["serverInfo"]["name"] == "clearway"
    assert heard["call"]["result"]["isError"] is True
    assert heard["list"]["result"] == Offer("core").lists()["tools/list"]


def test_the_server_takes_over_from_a_modern_opening() -> None:
    heard = by_id(whole(*MODERN, request("call", "tools/call", name="nothing", _meta=ENVELOPE)))
    assert heard["call"]["result"]["resultType"] == "complete"
    assert heard["call"]["result"]["isError"] is True


@pytest.mark.parametrize(
    ("opening", "other"), [([hello(), READY], MODERN[1]), (MODERN, hello())], ids=["handshake", "modern"]
)
def test_a_client_that_changes_its_era_is_told_so(opening: list[Any], other: dict[str, Any]) -> None:
    said = [*opening, {**other, "id": "other"}]
    assert "error" in by_id(whole(*said))["other"]
    assert by_id(whole(*said)) == by_id(by_the_server(*said))


def test_a_call_before_the_handshake_is_refused_and_the_handshake_still_possible() -> None:
    said = [request(1, "tools/call", name="room"), hello(), READY, request(2, "tools/list")]
    heard = by_id(whole(*said))
    assert heard[1]["error"]["code"] == types.INVALID_PARAMS
    assert heard[2]["result"]["tools"]


def test_malformed_words_about_a_call_are_refused_and_the_next_call_is_answered() -> None:
    said = [request(1, "tools/call", name="room", _meta="?"), request(2, "tools/call", name="nothing")]
    heard = by_id(whole(hello(), READY, "{", *said))
    assert heard[1]["error"]["code"] == types.INVALID_PARAMS
    assert heard[2]["result"]["isError"] is True


@pytest.mark.parametrize(
    ("said", "identity", "code"),
    [
        ("garbage", None, -32700),
        ('{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "room"', None, -32700),
        ("[" * 5_000 + "]" * 5_000, None, -32700),
        ("[]", None, -32600),
        ([request(5, "ping"), request(6, "ping")], None, -32600),
        ("5", None, -32600),
        (request({}, "ping"), None, -32600),
        (request(1.5, "ping"), None, -32600),
        (request(None, "ping"), None, -32600),
        (request(True, "ping"), None, -32600),
        (request(HALF, "ping"), None, -32600),
        ({**request(5, "ping"), "jsonrpc": "1.0"}, 5, -32600),
        ({"id": 5, "method": "ping"}, 5, -32600),
        ({**request(5, "ping"), "method": 7}, 5, -32600),
        ({"jsonrpc": "2.0", "id": 5}, 5, -32600),
        ({**request(5, "ping"), "params": []}, 5, -32600),
        (request(5, "tools/call", name="room", arguments={"status": HALF}), 5, -32600),
        (request(5, "tools/call", name="room", arguments={HALF: 1}), 5, -32600),
        (request(5, "tools/call", name="room", arguments={"x": [[{"y": HALF}]]}), 5, -32600),
        (request(5, "tools/call", name="room", arguments={"x": json.loads("[" * 400 + "]" * 400)}), 5, -32700),
        ('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"room","arguments":{"x":NaN}}}', None, -32700),
    ],
)
@pytest.mark.parametrize("opened", [[], [hello(), READY]], ids=["first", "later"])
def test_what_is_no_message_is_answered_and_the_next_one_too(
    opened: list[Any], said: Any, identity: Any, code: int
) -> None:
    word = said if isinstance(said, str) else json.dumps(said)
    heard = whole(*opened, word, *([] if opened else [hello(), READY]), "", request("next", "ping"))
    errors = [answer for answer in heard if "error" in answer]
    assert [(error["id"], error["error"]["code"]) for error in errors] == [(identity, code)]
    assert errors[0]["error"]["message"]
    assert by_id([answer for answer in heard if "result" in answer])["next"]["result"] == {}


def test_a_notification_is_never_answered() -> None:
    for word in ({"jsonrpc": "2.0", "method": "x", "params": 5}, {"jsonrpc": "2.0", "method": HALF}):
        assert [answer["id"] for answer in whole(hello(), READY, word, request("next", "ping"))] == [0, "next"]


def test_what_was_asked_is_answered_though_the_client_has_said_its_last_word() -> None:
    async def slow(*_: Any) -> dict[str, Any]:
        for _turn in range(50):
            await asyncio.sleep(0)
        return {"agents": []}

    heard = by_id(whole(hello(), READY, request(1, "tools/call", name="room"), ask=slow))
    assert heard[1]["result"]["structuredContent"] == {"agents": []}
