"""What the command line and the MCP server cost from start to answer, and how much an agent has to read."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from bench import host
from bench.figures import Figure, at_most, size
from bench.spawn import Case, Ended, measure
from bench.world import World, console_script, world
from clearway.config import Caller, Settings
from clearway.db.tx import Tx
from clearway.rooms import Rooms
from clearway.work import issues

LINE_MS_MAX = 60
MCP_COLD_MS_MAX = 900
TOOLS_BYTES_MAX = 10_000
INSTRUCTIONS_BYTES_MAX = 600
MCP_ROUNDS_MAX = 10
FULL = 10_000
ASKED_MS_MAX = 150
ASKED_MIN = 50
QUESTIONS = {
    "list": ("issue", "list"),
    "ready": ("issue", "list", "--is-claimable"),
    "show": ("issue", "show", "ISSUE-5000"),
}


def figures(rounds: int) -> list[Figure]:
    with world() as here:
        cases = [
            Case("bare", [sys.executable, "-I", "-S", "-c", "pass"], here.environ),
            here.cli("owner", "owner", "own.py", expect=answers),
            Case("help", [console_script(), "--help"], here.environ, expect=answers),
        ]
        timings = measure(cases, rounds)
        starts = [start_to_tools(here) for _ in range(min(rounds, MCP_ROUNDS_MAX) + 1)][1:]
        beside = asked(here, min(rounds, ASKED_MIN))
    with world(hosted=True) as here, host.host(here):
        beside += asked(here, min(rounds, ASKED_MIN))
    bare = timings["bare"].median
    cold = statistics.median(milliseconds for milliseconds, _, _ in starts)
    _, greeting, listing = starts[-1]
    return [
        *(
            at_most(
                f"clearway {words}", timings[name].median, LINE_MS_MAX, "ms", ratio=times(timings[name].median, bare)
            )
            for name, words in (("owner", "owner PATH"), ("help", "--help"))
        ),
        *beside,
        at_most("MCP, start to tools/list, cold", cold, MCP_COLD_MS_MAX, "ms", ratio=times(cold, bare)),
        at_most(f"tools/list, core profile, {len(listing['tools'])} tools", size(listing), TOOLS_BYTES_MAX, "B"),
        at_most("MCP instructions", len(greeting.get("instructions", "").encode()), INSTRUCTIONS_BYTES_MAX, "B"),
    ]


def asked(here: World, rounds: int) -> list[Figure]:
    """What a person or a script asks of a room with ten thousand issues, each time in a process of its own (C38)."""
    rooms = Rooms(Settings(here.environ))
    room = rooms.of_folder(str(here.repository))
    room.run(_fill, caller=Caller("planner", "plan", host="bench"))
    rooms.close()
    cases = [here.cli(name, *words, expect=answers) for name, words in QUESTIONS.items()]
    timings = measure(cases, rounds)
    how = "a host" if here.hosted else "none"
    return [
        at_most(
            f"clearway {' '.join(words)}, {FULL:,} issues, {how}: 95 of 100",
            sorted(timings[name].milliseconds)[-(-95 * rounds // 100) - 1],
            ASKED_MS_MAX,
            "ms",
            note=f"half within {timings[name].median:.0f} ms, the slowest {max(timings[name].milliseconds):.0f} ms",
        )
        for name, words in QUESTIONS.items()
    ]


def _fill(tx: Tx) -> None:
    for place in range(FULL):
        issues.create_issue(tx, title=f"Issue number {place}", status="ready", priority="medium")


def answers(ended: Ended) -> bool:
    return ended.status == 0 and bool(ended.output)


def line(name: str, milliseconds: float, bare: float) -> Figure:
    return at_most(name, milliseconds, LINE_MS_MAX, "ms", ratio=times(milliseconds, bare))


def times(milliseconds: float, bare: float) -> str:
    return f"{milliseconds / bare:.1f} x bare"


def start_to_tools(here: World) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """Milliseconds until the tools are listed, the server's greeting, and the list."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2.1.0"},
    }
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    ]
    start = time.perf_counter()
    server = subprocess.Popen(
        [console_script(), "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=here.repository,
        env={**here.environ, "CLAUDE_PID": str(os.getpid())},
    )
    assert server.stdin and server.stdout and server.stderr
    greeting: dict[str, Any] = {}
    try:
        for message in messages:
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            if message.get("id") == 1:
                greeting = _answer(server, 1)
        listing = _answer(server, 2)
        return (time.perf_counter() - start) * 1_000, greeting, listing
    finally:
        server.stdin.close()
        server.stdout.close()
        server.stderr.close()
        server.wait(timeout=30)


def _answer(server: subprocess.Popen[bytes], identity: int) -> dict[str, Any]:
    """The result of one request; notifications in between are passed over."""
    assert server.stdout and server.stderr
    for line in server.stdout:
        message = json.loads(line)
        if message.get("id") == identity:
            return message["result"]
    raise RuntimeError(f"the MCP server ended without an answer: {server.stderr.read().decode()[-2_000:]}")
