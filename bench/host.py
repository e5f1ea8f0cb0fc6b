"""What the same things cost while the host is running: hooks, an MCP client's start and calls, and the host itself."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from bench.figures import Figure, at_least, at_most, over_bare
from bench.hooks import quick, references
from bench.spawn import Timing, measure, stays_silent
from bench.world import FREE_FILES, Client, World, client, edit, prompt, start, world
from clearway.setup.registered import console_script
from clearway.surfaces import host_start

CROWD = 16

# case of bench/hooks.py -> what it is called, and milliseconds over a bare interpreter
HOOKS = {
    "own": ("guard, Edit of own leased file", 2),
    "free": ("guard, first Edit of a free file", 3),
    "refusal": ("guard, refusal", 3),
    "ls": ("guard, Bash that cannot write", 2),
    "lasting": ("guard, Bash that may last or write", 4),
    "parser": ("guard, Bash that needs the parser", 6),
    "context": ("context hook, nothing new", 3),
}


def figures(rounds: int) -> list[Figure]:
    """Every figure with a host beside."""
    rounds = min(rounds, FREE_FILES - 1)
    with ExitStack() as stack:
        here = stack.enter_context(world(hosted=True))
        running = stack.enter_context(host(here))
        holder, other, third = (stack.enter_context(client(f"{letter}" * 8 + "-session")) for letter in "abc")
        for each in (holder, other, third):
            here.tell(here.hook("start", each, lambda _: start()))
        here.tell(here.hook("hold", holder, lambda _: edit(here.repository / "own.py"), stays_silent))
        here.tell(here.hook("settle", third, lambda _: prompt("Go on.")))
        timings = measure([*references(here), *quick(here, holder, other, third)], rounds)
        bare = timings["bare"].median
        idle = idle_row(running)
        return [*_hook_rows(timings), *relay_rows(here, running, rounds, bare), http_row(here, running, rounds), idle]


@contextmanager
def host(here: World) -> Iterator[dict[str, Any]]:
    """A running host of this world's home."""
    home = here.environ["CLEARWAY_HOME"]
    running = host_start.start(home, here.environ)
    try:
        yield running
    finally:
        host_start.stop(home)


def _hook_rows(timings: dict[str, Timing]) -> list[Figure]:
    bare = timings["bare"].median
    rows = [Figure("bare interpreter, beside a host", f"{bare:.1f} ms", ratio="1.00 x bare")]
    for case, (name, budget) in HOOKS.items():
        timing = timings[case]
        note = f"median {timing.median:.1f}, slowest tenth {timing.slowest_tenth:.1f} ms"
        rows.append(over_bare(f"{name}, host", timing.median, bare, budget, note))
    return rows


# --- an MCP client over the relay ---------------------------------------------------------------------------------

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "2.1.0"},
}


def _launcher(here: World) -> str:
    """The console script as `uv tool install` and newer installers write it. What older ones write loads `re` for the
    name of a Windows program, 1 MiB for as long as a relay lives."""
    file = here.folder / "clearway"
    if not file.exists():
        interpreter = Path(console_script()).read_text(encoding="utf-8").partition("\n")[0]
        lines = [interpreter, "import sys", "from clearway.surfaces.cli import main", "sys.exit(main())", ""]
        file.write_text("\n".join(lines), encoding="utf-8")
        file.chmod(0o755)
    return str(file)


class Relayed:
    """A client of a real `clearway mcp`."""

    def __init__(self, here: World, client: Client | None = None) -> None:
        """client: whose child it is; else ours."""
        self.began = time.perf_counter()
        self.child = subprocess.Popen(
            [_launcher(here), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=here.repository,
            env={**here.environ, "CLAUDE_PID": str(os.getpid() if client is None else client.pid)},
        )
        self._count = 0

    def opens(self) -> float:
        """Milliseconds from its start until the tools are listed."""
        self.ask("initialize", HELLO)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list", {})
        return (time.perf_counter() - self.began) * 1_000

    def call(self, tool: str, **arguments: Any) -> float:
        """Milliseconds of one call."""
        start = time.perf_counter()
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        took = (time.perf_counter() - start) * 1_000
        if answer["isError"]:
            raise RuntimeError(str(answer)[:500])
        return took

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.child.stdout
        self._count += 1
        self.say({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        return json.loads(self.child.stdout.readline())["result"]

    def say(self, message: dict[str, Any]) -> None:
        assert self.child.stdin
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def close(self) -> None:
        self.child.communicate()


def relay_rows(here: World, running: dict[str, Any], rounds: int, bare: float) -> list[Figure]:
    """Start, memory and calls of one relay; the calls of sixteen; and the host meanwhile."""
    starts: list[float] = []
    for _ in range(rounds):
        relayed = Relayed(here)
        starts.append(relayed.opens())
        relayed.close()
    start_ms = statistics.median(starts)
    relayed = Relayed(here)
    relayed.opens()
    for place in range(5):
        relayed.call("create_issue", title=f"Issue {place}")
    calls = [relayed.call("list_issues") for _ in range(rounds * 4)]
    kept = memory_mib(relayed.child.pid)
    relayed.close()
    crowd = [Relayed(here) for _ in range(CROWD)]
    for each in crowd:
        each.opens()
    looks, look_ms = crowded(crowd, running, rounds * 4, lambda each: each.call("list_issues"))
    writes, write_ms = crowded(crowd, running, rounds, lambda each: each.call("create_issue", title="One of many"))
    for each in crowd:
        each.close()
    return [
        Figure(
            "stdio MCP: start to tools/list, host running",
            f"{start_ms:.1f} ms",
            "<= 3.00 x bare",
            f"{start_ms / bare:.2f} x bare",
            start_ms <= 3 * bare,
        ),
        at_most("relay, memory of one", kept, 10, "MiB"),
        at_most("MCP call through the relay, median", statistics.median(calls), 1, "ms"),
        at_least("MCP calls of 16 agents over relays", looks, 1_000, "/s", note=f"host {look_ms:.2f} ms each"),
        Figure("MCP calls of 16 agents that write", f"{writes:,.0f} /s", note=f"host {write_ms:.2f} ms each"),
        at_most("host, memory with 16 agents", memory_mib(running["pid"]), 80, "MiB"),
    ]


def crowded(
    crowd: list[Relayed], running: dict[str, Any], each_makes: int, call: Callable[[Relayed], object]
) -> tuple[float, float]:
    """Calls of all at once: how many a second, and what the host uses for one (ms)."""

    def make(one: Relayed) -> None:
        for _ in range(each_makes):
            call(one)

    before, began = cpu_ms(running["pid"]), time.perf_counter()
    with ThreadPoolExecutor(len(crowd)) as threads:
        for done in [threads.submit(make, each) for each in crowd]:
            done.result()
    seconds, used, made = time.perf_counter() - began, cpu_ms(running["pid"]) - before, len(crowd) * each_makes
    return made / seconds, used / made


def http_row(here: World, running: dict[str, Any], rounds: int) -> Figure:
    """Calls of a tool over Streamable HTTP, one after the other on one connection."""
    token = Path(here.environ["CLEARWAY_HOME"], "run", "http-token").read_text().strip()
    named = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Clearway-Cwd": str(here.repository),
    }
    connection = HTTPConnection(running["http"].removeprefix("http://"), timeout=30)

    def say(message: dict[str, Any]) -> dict[str, Any]:
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), named)
        answer = connection.getresponse()
        named.setdefault("Mcp-Session-Id", answer.getheader("mcp-session-id", ""))
        said = answer.read()
        return json.loads(said) if said else {}

    say({"id": 0, "method": "initialize", "params": HELLO})
    named["Mcp-Protocol-Version"] = HELLO["protocolVersion"]
    say({"method": "notifications/initialized"})
    call = {"id": 1, "method": "tools/call", "params": {"name": "list_issues", "arguments": {}}}
    say(call)
    took: list[float] = []
    before = cpu_ms(running["pid"])
    for _ in range(rounds * 8):
        start = time.perf_counter()
        answer = say(call)
        took.append((time.perf_counter() - start) * 1_000)
        if answer["result"]["isError"]:
            raise RuntimeError(str(answer)[:500])
    each = (cpu_ms(running["pid"]) - before) / len(took)
    connection.close()
    note = f"host {each:.2f} ms each"
    return at_most("MCP call over Streamable HTTP, median", statistics.median(took), 1.5, "ms", note=note)


def idle_row(running: dict[str, Any], seconds: float = 10) -> Figure:
    """What the host uses while nobody asks."""
    before = cpu_ms(running["pid"])
    time.sleep(seconds)
    return at_most("host, idle", (cpu_ms(running["pid"]) - before) / seconds / 10, 0.3, "%")


def memory_mib(pid: int) -> float:
    """What is in memory of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        line = next(line for line in file if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1_024


def cpu_ms(pid: int) -> float:
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")
