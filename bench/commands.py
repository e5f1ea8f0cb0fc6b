"""What the command line and the MCP server cost from start to answer, and how much an agent has to read."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from bench.figures import Figure, at_most, size
from bench.spawn import Case, Ended, measure
from bench.world import World, console_script, world

LINE_MS_MAX = 60
MCP_COLD_MS_MAX = 900
TOOLS_BYTES_MAX = 10_000
INSTRUCTIONS_BYTES_MAX = 600
MCP_ROUNDS_MAX = 10


def figures(rounds: int) -> list[Figure]:
    with world() as here:
        cases = [
            Case("bare", [sys.executable, "-I", "-S", "-c", "pass"], here.environ),
            here.cli("owner", "owner", "own.py", expect=answers),
            Case("help", [console_script(), "--help"], here.environ, expect=answers),
        ]
        timings = measure(cases, rounds)
        starts = [start_to_tools(here) for _ in range(min(rounds, MCP_ROUNDS_MAX) + 1)][1:]
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
        at_most("MCP, start to tools/list, cold", cold, MCP_COLD_MS_MAX, "ms", ratio=times(cold, bare)),
        at_most(f"tools/list, core profile, {len(listing['tools'])} tools", size(listing), TOOLS_BYTES_MAX, "B"),
        at_most("MCP instructions", len(greeting.get("instructions", "").encode()), INSTRUCTIONS_BYTES_MAX, "B"),
    ]


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
