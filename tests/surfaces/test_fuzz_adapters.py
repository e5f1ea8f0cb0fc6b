"""Whatever a client's hook is given, it is answered: in that client's own dialect, without a crash and without a hang.

Payloads that real clients have sent (payloads.json; a few are from their makers' documentation) are broken in every
way that one may break: keys gone or twice, other types, deep nests, huge texts, half characters, zeros. Every client
that `hooks.CLIENTS` names is here by itself. CLEARWAY_TEST_LONG=1 looks much longer.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearway import catalog
from clearway.config import Caller, Settings
from clearway.guard.toolcall import Target, ToolCall
from clearway.rooms import Rooms
from clearway.surfaces import hooks
from clearway.surfaces.moments import Decision

LONG = bool(os.environ.get("CLEARWAY_TEST_LONG"))
PAYLOADS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "payloads.json").read_text())
OF_CLIENT = {client: [name for name in PAYLOADS if name.startswith(f"{client}-")] for client in hooks.CLIENTS}

MOMENTS = frozenset(
    "before after failed start prompt stop end interrupt compact child_start child_stop idle other".split()
)
KINDS = frozenset({"edit", "shell", "read", "mcp", "agent", "other"})
ACTIONS = frozenset({"edit", "create", "delete", "move", "run"})
TURN_ENDS = frozenset({"stop", "interrupt", "idle", "child_stop", "end"})

# What may stand at the top of an answer. `None`: it answers in plain text, and denies with status 2.
CLAUDES = frozenset({"hookSpecificOutput"})
DIALECTS: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(("claude", "codex", "qwen", "vscode"), CLAUDES),
    "gemini": frozenset({"decision", "reason", "hookSpecificOutput"}),
    "copilot": CLAUDES | {"permissionDecision", "permissionDecisionReason", "additionalContext"},
    "cursor": frozenset({"permission", "user_message", "agent_message", "additional_context"}),
    "opencode": frozenset({"deny", "context"}),
    "goose": frozenset({"decision", "reason"}),
    "cline": frozenset({"context", "overrideInput", "cancel", "contextModification"}),
    **dict.fromkeys(("generic", "windsurf", "kiro"), None),
}
WITHIN = frozenset({"hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext"})
ENDS_WITH_TWO = frozenset({"gemini"})  # beside JSON, where no shell stands between

DECISIONS = [
    Decision(),
    Decision(deny="PATH_HELD: held.txt is held by codex until 14:08."),
    Decision(context="[clearway] codex works on held.txt."),
    Decision(deny='PATH_HELD: "é\u202e', context="line\nline", warning="clearway: guard open\n"),
]

JUNK: list[Any] = [
    *(None, True, False, 0, -1, 2**70, 1e308, "", " ", "\0", "a\0b", "\ud800", "é" * 3, "../../..", "/", "~", "."),
    *("*** Begin Patch\n*** Update File: a\n@@\n-a\n+b\n*** End Patch", "echo x > a", "Stop", "PreToolUse", "before"),
    *([], {}, [[]], [None], [{}], {"": ""}, {"file_path": []}, ["a", 1, {"path": {"path": "x"}}], "x" * 100_000),
]


def nested(depth: int) -> Any:
    value: Any = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"input": value, "path": "a"}
    return value


JUNK += [nested(60), nested(600)]


def copied(value: Any) -> Any:
    """A value that may be broken further."""
    return json.loads(json.dumps(value))


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a payload that can be taken out or exchanged."""
    if len(here) > 12:
        return []
    found: list[tuple[Any, ...]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += [(*here, key), *places(inner, (*here, key))]
    return found


@st.composite
def broken(draw: st.DrawFn, client: str) -> dict[str, Any]:
    """A payload of this client, or of another, with up to four things wrong in it."""
    names = OF_CLIENT[client] if draw(st.integers(0, 9)) else list(PAYLOADS)
    payload = copied(PAYLOADS[draw(st.sampled_from(names))])
    for _ in range(draw(st.integers(0, 4))):
        known = places(payload)
        if not known:
            break
        *way, last = draw(st.sampled_from(known))
        inner = payload
        for step in way:
            inner = inner[step]
        act = draw(st.sampled_from(["drop", "junk", "junk", "wrap", "rename", "borrow"]))
        if act == "drop":
            del inner[last]
        elif act == "junk":
            inner[last] = copied(draw(st.sampled_from(JUNK)))
        elif act == "wrap":
            inner[last] = draw(st.sampled_from([[inner[last]], {"path": inner[last]}, {str(last): inner[last]}]))
        elif act == "rename" and isinstance(inner, dict):
            inner[draw(st.sampled_from(["path", "command", "tool_input", "input", "cwd", "x"]))] = inner.pop(last)
        elif act == "borrow":
            inner[last] = copied(draw(st.sampled_from(list(PAYLOADS.values()))))
    return payload


def check_call(call: ToolCall) -> None:
    assert call.moment in MOMENTS
    assert call.kind in KINDS
    for name in ("client", "tool", "command", "folder", "source", "prompt", "problem", "task"):
        assert isinstance(getattr(call, name), str), name
    for name in ("session", "thread", "cwd", "call", "agent"):
        assert getattr(call, name) is None or isinstance(getattr(call, name), str), name
    for name in ("pid", "status"):
        found = getattr(call, name)
        assert found is None or (isinstance(found, int) and not isinstance(found, bool)), name
    assert call.running is None or all(isinstance(each, str) for each in call.running)
    for target in call.targets:
        assert isinstance(target, Target)
        assert isinstance(target.path, str)
        assert target.action in ACTIONS


def check_answer(client: str, moment: str, out: str, code: int) -> None:
    """That the client understands it, and that nothing but a question before a call is refused."""
    dialect = DIALECTS[client]
    assert code in (0, 2)
    if moment != "before":
        assert code == 0, "clients loop on it"
    if dialect is None:
        return
    assert code == 0 or client in ENDS_WITH_TWO
    if not out:
        return
    assert out.endswith("\n")
    said = json.loads(out)
    assert isinstance(said, dict)
    assert said
    assert dialect >= set(said)
    within = said.get("hookSpecificOutput")
    if within is not None:
        assert set(within) <= WITHIN
        assert isinstance(within["hookEventName"], str)
    if moment in TURN_ENDS:
        assert "deny" not in json.dumps([said.get("permission"), said.get("decision"), within])
    assert said.get("cancel") is not True, "that would end the run"


def test_every_client_has_payloads_and_a_dialect() -> None:
    assert set(DIALECTS) == set(hooks.CLIENTS)
    missing = [client for client, names in OF_CLIENT.items() if not names]
    assert not missing, "payloads.json has none of these clients"


@pytest.mark.parametrize("client", hooks.CLIENTS)
def test_every_recorded_payload_is_read_without_a_problem(client: str) -> None:
    adapter = hooks._adapter(client)  # pyright: ignore[reportPrivateUsage]
    for name in OF_CLIENT[client]:
        call = adapter.read(PAYLOADS[name], {})
        check_call(call)
        assert call.problem == "", name


@pytest.mark.parametrize("client", hooks.CLIENTS)
def test_a_broken_payload_is_read_and_answered_in_the_dialect_of_its_client(client: str) -> None:
    adapter = hooks._adapter(client)  # pyright: ignore[reportPrivateUsage]

    @given(broken(client))
    @settings(
        max_examples=20_000 if LONG else 120,
        deadline=None,
        derandomize=not LONG,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    def holds(payload: dict[str, Any]) -> None:
        call = adapter.read(payload, {})
        check_call(call)
        for decision in DECISIONS:
            out, err, code = adapter.answer(call, decision)
            check_answer(client, call.moment, out, code)
            assert isinstance(err, str)

    holds()


class Desk:
    """A repository in which another session holds a file, and clients whose hooks are given anything."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
        rooms = Rooms(Settings(self.environ))
        caller = Caller("codex", "other", cwd=str(repo), host=rooms.liveness.host)
        rooms.ask(catalog.OPERATIONS["claim_paths"], {"paths": ["held.txt"]}, caller)
        rooms.close()

    def moved(self, payload: Any) -> Any:
        """The payload, as if it were about this repository."""
        if isinstance(payload, dict):
            return {key: self.moved(value) for key, value in payload.items()}
        if isinstance(payload, list):
            return [self.moved(value) for value in payload]
        if isinstance(payload, str) and payload.startswith("/repo"):
            return str(self.repo) + payload[len("/repo") :]
        return payload

    def answers(self, client: str, raw: bytes) -> None:
        """The whole hook, fail mode and all."""
        out, _, code = hooks.answer(client, raw, self.environ)
        call = hooks._read(  # pyright: ignore[reportPrivateUsage]
            hooks._adapter(client),  # pyright: ignore[reportPrivateUsage]
            raw,
            self.environ,
            hooks.Standing(),
        )
        moment = "before" if call.problem and call.moment == "other" else call.moment
        check_answer(client, moment, out, code)


@pytest.fixture
def desk(tmp_path: Path, repo: Path) -> Desk:
    return Desk(tmp_path, repo)


@pytest.mark.parametrize("fail", ["", "1"])
def test_the_whole_hook_answers_whatever_it_is_given(desk: Desk, fail: str) -> None:
    desk.environ["CLEARWAY_FAIL_CLOSED"] = fail

    @given(st.sampled_from(hooks.CLIENTS).flatmap(lambda client: st.tuples(st.just(client), broken(client))))
    @settings(
        max_examples=3_000 if LONG else 60,
        deadline=None,
        derandomize=not LONG,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    def holds(asked: tuple[str, dict[str, Any]]) -> None:
        client, payload = asked
        desk.answers(client, json.dumps(desk.moved(payload)).encode())

    holds()


def bytes_that_are_no_payload() -> list[bytes]:
    whole = json.dumps(PAYLOADS["claude-pretooluse-edit"]).encode()
    return [
        *(
            b"",
            b" ",
            b"null",
            b"true",
            b"7",
            b'"text"',
            b"[]",
            b"{}",
            b"{",
            b"}",
            b"\0",
            b"\xff\xfe{}",
            b"\xef\xbb\xbf{}",
        ),
        *(whole[: len(whole) // 2], whole + whole, whole[:-1] + b', "cwd": 7}', whole.replace(b'"', b"'")),
        *(b'{"a":' * 100_000, b"[" * 100_000, b'{"hook_event_name": "Stop", "hook_event_name": 7}'),
        whole[:-1] + b', "session_id": "other", "tool_input": {"file_path": "held.txt", "file_path": []}}',
        b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "\xc3\x28 > a"}}',
        b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "' + b"x" * 300_000 + b'"}}',
    ]


@pytest.mark.parametrize("fail", ["", "1"])
def test_bytes_that_are_no_payload_are_answered_by_the_fail_mode(desk: Desk, fail: str) -> None:
    desk.environ["CLEARWAY_FAIL_CLOSED"] = fail
    for client in hooks.CLIENTS:
        for raw in bytes_that_are_no_payload():
            desk.answers(client, raw)


@pytest.mark.parametrize("client", hooks.CLIENTS)
def test_the_end_of_a_turn_is_never_refused(desk: Desk, client: str) -> None:
    """Clients loop on it: whatever is wrong with the payload, and whatever is wrong with the room."""
    desk.environ["CLEARWAY_FAIL_CLOSED"] = "1"
    adapter = hooks._adapter(client)  # pyright: ignore[reportPrivateUsage]
    ends = [name for name in OF_CLIENT[client] if adapter.read(PAYLOADS[name], {}).moment in TURN_ENDS]
    for name in ends:
        for key in list(PAYLOADS[name]):
            for junk in ([], 7, "\ud800", None):
                payload = {**PAYLOADS[name], key: junk}
                if adapter.read(payload, {}).moment in TURN_ENDS:
                    out, _, code = hooks.answer(client, json.dumps(desk.moved(payload)).encode(), desk.environ)
                    assert code == 0
                    check_answer(client, "stop", out, code)
        break  # one event of each client, every key of it
