"""Many agents at work for a long time: nobody may meet an error, and what they were told must be what the log says.

Each agent is a session with a process of its own, an MCP client over a real relay, and hooks as they are registered.
It claims issues, keeps notes, edits files that others want too, runs commands, holds paths, sends messages and reads
them, at the pace of somebody who thinks in between. A ledger keeps what each was answered; afterwards it is compared
with the log, with `clearway stats` and with the host's own figures.
"""

from __future__ import annotations

import json
import random
import shlex
import subprocess
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.figures import Figure, at_most
from bench.host import Relayed, cpu_ms, host, memory_mib
from bench.world import Client, World, client, edit, edit_ended, prompt, shell, shell_ended, start, world
from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.db import Statement
from clearway.rooms import Rooms
from clearway.setup.registered import Binding, hook_command

AGENTS = 16
MINUTES = 10.0
PACE_SECONDS = 2.0
SHARED_FILES = 40
IDLE_SECONDS = 10.0
# What an agent may be told among others. Everything else is an error.
_PASSED_TEXT = "SELECT coalesce(sum(passed_over), 0) AS count FROM refusal_told"
_PASSED = Statement("passed", _PASSED_TEXT, _PASSED_TEXT)  # equal refusals that the next one will tell
_FAIR = frozenset({"PATH_HELD", "NOTHING_TO_CLAIM", "ACTIVE_ATTEMPT_EXISTS"})


@dataclass
class Ledger:
    """What all agents did and were answered. For any thread."""

    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)  # ms of each call over a relay
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str) -> None:
        with self._lock:
            self.done[what] += 1

    def refuse(self, said: str) -> None:
        code = said.partition(":")[0]
        with self._lock:
            self.refused[code] += 1
        if code not in _FAIR:
            self.complain(said)

    def complain(self, problem: str) -> None:
        with self._lock:
            self.problems.append(problem[:400])


class Agent:
    """One of them, in a thread of its own."""

    def __init__(self, here: World, client: Client, others: list[str], ledger: Ledger, seed: int) -> None:
        self._here = here
        self._client = client
        self._others = others
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._command = shlex.split(hook_command("claude", Binding(home=here.environ["CLEARWAY_HOME"])))
        self._calls = 0
        self._attempt: dict[str, Any] | None = None
        self._asking = True  # whether it is in a turn
        self.relay = Relayed(here, client)
        self.relay.opens()

    def work(self, until: float, pace: float) -> None:
        """Do one thing after the other until it is time to stop, and leave nothing half done."""
        try:
            self._hook(start())
            while time.monotonic() < until:
                self._chance.choice(self._deeds())()
                time.sleep(pace * self._chance.uniform(0.5, 1.5))
            if self._attempt is not None:
                self._finish()
            self._stop()
        except Exception as error:
            self._ledger.complain(f"{type(error).__name__}: {error}")

    def _deeds(self) -> list[Callable[[], object]]:
        working = [self._note, self._note, self._finish] if self._attempt else [self._claim, self._claim]
        return [
            *working,
            *(self._edit, self._edit, self._edit, self._command_line, self._command_line, self._turn),
            *(self._hold_paths, self._say, self._read, self._look, self._plan),
        ]

    # --- over MCP -------------------------------------------------------------------------------------------------

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        """What a tool answers; None if it refuses."""
        began = time.perf_counter()
        answer = self.relay.ask("tools/call", {"name": tool, "arguments": arguments})
        self._ledger.calls.append((time.perf_counter() - began) * 1_000)
        self._ledger.note("calls")
        text = answer["content"][0]["text"]
        if answer["isError"]:
            self._ledger.refuse(text)
            return None
        self._ledger.note(tool)
        return answer.get("structuredContent") or json.loads(text)

    def _plan(self) -> None:
        self._call("create_issue", title=f"A thing to do {self._chance.random():.6f}", status="ready")

    def _claim(self) -> None:
        taken = self._call("claim_issue", next=True)
        if taken is not None and taken.get("resumed"):
            self._ledger.note("resumed")
        self._attempt = taken
        if taken is None:
            self._plan()

    def _held(self) -> dict[str, Any]:
        assert self._attempt
        return {name: self._attempt[name] for name in ("attempt_id", "lease_token")}

    def _note(self) -> None:
        self._call("save_attempt_note", **self._held(), kind="progress", content="Half of it is done.")

    def _finish(self) -> None:
        result = {"outcome": "completed", "target_issue_status": "done", "result_summary": "It is done."}
        self._call("finish_attempt", **self._held(), **result)
        self._attempt = None

    def _hold_paths(self) -> None:
        area = f"area-{self._chance.randrange(6)}/**"
        if self._call("claim_paths", paths=[area], purpose="a look around", ttl_seconds=60) is not None:
            self._call("release_paths", paths=[area])

    def _say(self) -> None:
        to = "*" if self._chance.random() < 0.1 else self._chance.choice(self._others)
        self._call("send_message", to=to, text="I have changed something; have a look.")

    def _read(self) -> None:
        self._call("read_inbox")

    def _look(self) -> None:
        self._call(self._chance.choice(["list_issues", "get_changes", "room"]))

    # --- hooks ------------------------------------------------------------------------------------------------------

    def _edit(self) -> None:
        path = self._here.repository / f"shared-{self._chance.randrange(SHARED_FILES)}.py"
        if self._is_let(edit(path)):
            path.write_text(f"print({self._chance.random()})\n")
            self._hook(self._same(edit_ended(path)))

    def _command_line(self) -> None:
        command = self._chance.choice(["ls -la", "git status", "pytest -q", "grep -rn print ."])
        if self._is_let(shell(command)):
            self._hook(self._same(shell_ended(command)))

    def _turn(self) -> None:
        self._stop()
        self._hook(prompt("Go on."))

    def _stop(self) -> None:
        self._hook({"hook_event_name": "Stop", "stop_hook_active": False})

    def _is_let(self, event: dict[str, Any]) -> bool:
        """Whether the guard lets a call pass."""
        self._calls += 1
        output = self._hook(self._same(event))
        answer = json.loads(output)["hookSpecificOutput"] if output else {}
        if answer.get("permissionDecision") != "deny":
            return True
        self._ledger.refuse(answer["permissionDecisionReason"])
        return False

    def _same(self, event: dict[str, Any]) -> dict[str, Any]:
        """An event of the call that is being made."""
        return event | {"tool_use_id": f"toolu-{self._client.pid}-{self._calls}"}

    def _hook(self, event: dict[str, Any]) -> bytes:
        """What the registered hook prints. Nothing but an answer is fair: no complaint, no other exit status."""
        payload = {"session_id": self._client.session, "cwd": str(self._here.repository)} | event
        environ = {**self._here.environ, "CLAUDE_PID": str(self._client.pid), "CLAUDECODE": "1"}
        ran = subprocess.run(self._command, input=json.dumps(payload).encode(), env=environ, capture_output=True)
        self._ledger.note("hooks")
        if ran.returncode or ran.stderr:
            self._ledger.complain(f"a hook ended with {ran.returncode}: {ran.stderr!r}")
        return ran.stdout


# --- the run ----------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What is known when all have stopped."""

    ledger: Ledger
    seconds: float
    host_ms: float  # of processor time, while they worked
    idle_percent: float  # of one processor, while they are there and do nothing
    memory: float
    events: int


def run(agents: int, seconds: float, pace: float, *, seed: int = 1, idle_seconds: float = IDLE_SECONDS) -> Outcome:
    """Let so many agents work for so long. What went wrong stands in the ledger."""
    ledger = Ledger()
    with ExitStack() as stack:
        here = stack.enter_context(world(hosted=True))
        for place in range(SHARED_FILES):
            (here.repository / f"shared-{place}.py").write_text("print(0)\n")
        running = stack.enter_context(host(here))
        clients = [stack.enter_context(client(f"{number:08}-session")) for number in range(agents)]
        crew = [Agent(here, each, ["claude-code"], ledger, seed + place) for place, each in enumerate(clients)]
        stack.enter_context(_watching(running["pid"], ledger))
        before, began = cpu_ms(running["pid"]), time.monotonic()
        threads = [threading.Thread(target=each.work, args=(began + seconds, pace)) for each in crew]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took, used = time.monotonic() - began, cpu_ms(running["pid"]) - before
        events = _compare(here, ledger, running)
        before = cpu_ms(running["pid"])
        time.sleep(idle_seconds)
        idle = (cpu_ms(running["pid"]) - before) / idle_seconds / 10 if idle_seconds else 0.0
        for each in crew:
            each.relay.close()
    return Outcome(ledger, took, used, idle, max(ledger.memory), events)


@contextmanager
def _watching(pid: int, ledger: Ledger) -> Iterator[None]:
    """Look at the host's memory once a second."""
    over = threading.Event()

    def look() -> None:
        while True:
            ledger.memory.append(memory_mib(pid))
            if over.wait(1.0):
                return

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _compare(here: World, ledger: Ledger, running: dict[str, Any]) -> int:
    """What the agents were answered, what the log says, what `stats` and the host make of it. How long the log is."""
    figures = metrics(here, running)
    rooms = Rooms(Settings(here.environ))
    try:
        room = rooms.of_folder(str(here.repository))
        caller = Caller("bench", host="bench")
        log = list(_events(lambda given: room.ask(OPERATIONS["get_changes"], given, caller)))
        stats = room.ask(OPERATIONS["stats"], {}, caller)
        untold = room.run(lambda tx: tx.one(_PASSED), caller=caller, writes=False)
    finally:
        rooms.close()
    assert untold
    refused: Counter[str] = Counter()
    for event in log:
        if event["type"] == "refused":
            refused[event["data"]["code"]] += 1 + event["data"].get("repeated", 0)
    told = Counter(event["type"] for event in log)
    for what, one, other in (
        ("the numbers of events", [event["id"] for event in log], list(range(log[0]["id"], log[0]["id"] + len(log)))),
        ("refused paths, and the log", ledger.refused["PATH_HELD"], refused["PATH_HELD"] + untold.count),
        ("refusals by stats, and the log", stats["refusals"]["by_code"], dict(sorted(refused.items()))),
        *_pairs(ledger.done, told, stats, figures),
    ):
        if one != other:
            ledger.complain(f"{what}: {one} and {other}")
    return len(log)


def _pairs(
    done: Counter[str], told: Counter[str], stats: dict[str, Any], figures: Counter[str]
) -> list[tuple[str, Any, Any]]:
    """What is said twice, and has to be the same."""
    return [
        ("issues, and the log", done["create_issue"], told["issue_created"]),
        ("claims, and the log", done["claim_issue"] - done["resumed"], told["attempt_started"]),
        ("results, and the log", done["finish_attempt"], told["attempt_completed"]),
        ("messages, and the log", done["send_message"], told["message_sent"]),
        ("leaks by stats, and the log", stats["leaks"], told["path_leaked"]),
        ("work that was lost", (stats["recovery"]["lost"], told["attempt_expired"]), (0, 0)),
        ("hooks by stats, and those that ran", stats["hooks"]["calls"], done["hooks"]),
        ("hooks that passed unchecked", stats["hooks"]["unchecked_24h"], {}),
        ("hooks by the host, and those that ran", figures["clearway_hooks_total"], done["hooks"]),
        ("calls by the host, and those that were made", figures["clearway_operations_total"], done["calls"]),
        ("questions that the host left", figures["clearway_host_left_total"], 0),
        ("defects of the host", figures["clearway_host_defects_total"], 0),
    ]


def _events(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The whole log."""
    since = 0
    while True:
        answer = ask({"since_event_id": since, "limit": 200})
        yield from answer["events"]
        if not answer["has_more"]:
            return
        since = answer["next_event_id"]


def metrics(here: World, running: dict[str, Any]) -> Counter[str]:
    """The host's own figures, of all labels together."""
    token = Path(here.environ["CLEARWAY_HOME"], "run", "http-token").read_text().strip()
    asked = urllib.request.Request(f"{running['http']}/metrics", headers={"Authorization": f"Bearer {token}"})
    found: Counter[str] = Counter()
    with urllib.request.urlopen(asked, timeout=30) as answer:
        for line in answer.read().decode().splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[name.partition("{")[0]] += int(float(value))
    return found


def figures(minutes: float = MINUTES) -> list[Figure]:
    """The long run of sixteen agents."""
    outcome = run(AGENTS, minutes * 60, PACE_SECONDS)
    ledger = outcome.ledger
    asked = ledger.done["calls"] + ledger.done["hooks"]
    calls = sorted(ledger.calls)
    refusals = ", ".join(f"{code} {count}" for code, count in ledger.refused.most_common())
    return [
        Figure(
            f"{AGENTS} agents at work for {minutes:g} min",
            f"{len(ledger.problems)} problems",
            "0 problems",
            holds=not ledger.problems,
            note="; ".join(ledger.problems[:3]),
        ),
        Figure("calls over relays, hooks, events", f"{ledger.done['calls']}, {ledger.done['hooks']}, {outcome.events}"),
        Figure("refusals that are fair", refusals or "none"),
        at_most("host, memory at most", outcome.memory, 80, "MiB"),
        Figure(
            "host, processor while they work",
            f"{outcome.host_ms / outcome.seconds / 10:.2f} %",
            note=f"{outcome.host_ms / asked:.2f} ms a question, {asked / outcome.seconds:.1f} questions a second",
        ),
        at_most("host, processor while they are there", outcome.idle_percent, 0.3, "%"),
        Figure(
            "call over a relay, between hooks",
            f"{calls[len(calls) // 2]:.2f} ms",
            note=f"median; of a hundred, 99 within {calls[int(len(calls) * 0.99)]:.1f} ms",
        ),
    ]
