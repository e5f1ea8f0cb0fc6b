"""A fleet: workers that are killed, limited and late, a host that goes away, and a checker that believes only the log.

What an item does stands in its own text, as words that a stand-in or a scripted model obeys: `fine`, `slow`, `broken`
(it always fails), `shaky` (the first run fails), `stuck` (it never ends), `limited` (the provider has enough, the first
time). The arrangement knows how each has to end; the checker says what the log shows instead.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clearway import catalog
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.db import Statement
from clearway.rooms import Rooms

CLI = [sys.executable, "-m", "clearway.surfaces.cli"]
ENDED = frozenset({"succeeded", "failed", "needs_review", "dead_letter"})
# How a task with this word ends. Each may also be given up, when too many of those who had it were killed.
TASKS_END = {
    "fine": "succeeded",
    "slow": "succeeded",
    "limited": "succeeded",
    "shaky": "needs_review",
    "broken": "needs_review",
    "stuck": "failed",
}
GIVEN_UP = "dead_letter"

# A client of any name: it writes down when it begins and when it has an answer, and writes a file where it may.
STAND_IN = """#!{python}
import json, os, re, sys, time
HERE = os.path.dirname(os.path.abspath(__file__))
prompt = next(word for word in sys.argv if word.startswith("You are "))
item = re.search(r"task #[0-9]+|ISSUE-[0-9]+", prompt)[0].replace("task #", "task-")
word = re.search(r"do it: ([a-z]+)", prompt)[1]
def note(what):
    with open(os.path.join(HERE, "journal"), "a") as journal:
        journal.write(json.dumps([item, what, os.getpid()]) + "\\n")
def first_time():
    try:
        os.close(os.open(os.path.join(HERE, item + ".seen"), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
note("begun")
if word == "stuck":
    time.sleep(300)
if word == "slow":
    time.sleep(1.5)
if word == "limited" and first_time():
    print("Retry-After: 1", file=sys.stderr)
    sys.exit(75)
if word == "broken" or (word == "shaky" and first_time()):
    print("it broke: 429 quota", file=sys.stderr)
    sys.exit(1)
time.sleep(0.1)
if "write only here" in prompt:
    with open(item + ".txt", "w") as file:
        file.write(word + "\\n")
note("answered")
usage = {{"input_tokens": 3, "output_tokens": 1}}
print(json.dumps({{"type": "result", "result": "Did " + item + ".", "usage": usage}}))
"""


@dataclass
class Fleet:
    """A repository, its room, a host, and workers that come back when they are killed, as a service has it."""

    root: Path
    repo: Path
    environ: dict[str, str]
    seed: int = 1
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])
    commands: list[list[str]] = field(default_factory=list[list[str]])
    kills: int = 0
    tasks: dict[int, str] = field(default_factory=dict[int, str])
    issues: dict[str, str] = field(default_factory=dict[str, str])
    blockers: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.clock = Clock()
        self.cli("init")
        self.rooms = Rooms(Settings(self.environ))
        self.room = self.rooms.of_folder(str(self.repo))
        self.human = Caller("human", cwd=str(self.repo), host=self.rooms.liveness.host, human=True)

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self.room.ask(catalog.OPERATIONS[operation], arguments, self.human)

    def cli(self, *words: str) -> str:
        done = subprocess.run([*CLI, *words], cwd=self.repo, env=self.environ, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def give_tasks(self, words: Sequence[str], agents: Sequence[str]) -> None:
        for place, word in enumerate(words):
            to = agents[place % len(agents)]
            sent = self.ask("send_message", to=to, text=f"Please do it: {word}", kind="task")
            self.tasks[sent["message_id"]] = word

    def give_issues(self, words: Sequence[str], waits_for: Callable[[int], Sequence[int]]) -> None:
        """waits_for: the places of those that the one at a place waits for."""
        names: list[str] = []
        for place, word in enumerate(words):
            text = f"Please do it: {word}"
            made = self.ask("create_issue", title=f"Number {place}", description=text, status="ready")
            names.append(made["display_id"])
            self.issues[names[-1]] = word
            self.blockers[names[-1]] = [names[other] for other in waits_for(place)]
            for other in self.blockers[names[-1]]:
                self.ask(
                    "manage_issue_relation",
                    action="add",
                    source_issue_id=other,
                    target_issue_id=names[-1],
                    relation_type="blocks",
                )

    # --- the night ----------------------------------------------------------------------------------------------------

    def begin(self, *commands: Sequence[str]) -> None:
        self.commands = [[*CLI, "worker", "run", *command] for command in commands]
        self.workers = [self._started(place) for place in range(len(self.commands))]

    def kill(self, place: int) -> None:
        """kill -9, and a service starts another one."""
        self.workers[place].send_signal(signal.SIGKILL)
        self.workers[place].wait(30)
        self.workers[place] = self._started(place)
        self.kills += 1

    def tend(self, seconds: int, *, kills: int, restarts: int, every_ms: int = 1_500) -> None:
        """Let the night pass, with what happens in it, until nothing is left that could go on."""
        until = self.clock.monotonic() + seconds * 1_000
        due = self.clock.monotonic() + every_ms
        while not self.is_over():
            now = self.clock.monotonic()
            assert now < until, f"not over in {seconds} s: {self.story()}"
            for place, worker in enumerate(self.workers):
                assert worker.poll() is None, f"worker {place} left: {self._complaint(place)}"
            if now >= due:
                due = now + every_ms
                if self.kills < kills:
                    self.kill(self.chance.randrange(len(self.workers)))
                if restarts:
                    restarts -= 1
                    self.restart_host(kill=bool(restarts % 2))
                self.clear_limits()
            self.clock.pause(100)

    def restart_host(self, *, kill: bool) -> None:
        running = json.loads(self._said("--json", "host", "status"))
        if kill and running.get("pid"):
            os.kill(running["pid"], signal.SIGKILL)
        else:
            self._said("host", "stop")
        self.cli("host", "start")

    def clear_limits(self) -> None:
        """What `provider sync` does once a provider says that it can again."""
        for limit in self.ask("list_limits")["items"]:
            if limit["state"] != "limited" or "until" not in limit:
                self.ask("report_limit", agent=limit["agent"], clear=True)

    def is_over(self) -> bool:
        pending = [task for task in self.tasks if self.task(task)["state"] not in ENDED]
        return not pending and all(self.fate(issue) for issue in self.issues)

    def task(self, number: int) -> dict[str, Any]:
        return self.ask("list_tasks", task_id=number)["items"][0]

    def fate(self, issue: str) -> str:
        """What became of an issue: done, or why it is parked; empty while it can go on."""
        found = self.ask("get_issue", issue_id=issue)
        if found["status"] == "done":
            return "done"
        if found.get("needs_human"):
            return "three attempts failed"
        waiting = [self.fate(blocker) for blocker in self.blockers[issue]]
        if any(fate and fate != "done" for fate in waiting):
            return "waits for what is parked"
        return ""

    def end(self) -> None:
        """Whoever is asked to leave leaves, and nothing stays behind."""
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            try:
                worker.wait(30)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait(10)
        self._said("host", "stop")
        self.rooms.close()

    def story(self) -> str:
        states = {number: self.task(number)["state"] for number in self.tasks}
        left = {number: state for number, state in states.items() if state not in ENDED}
        open_ = [issue for issue in self.issues if not self.fate(issue)]
        said = "\n".join(self._complaint(place) for place in range(len(self.workers)))
        return f"{left} {open_} {self.ask('list_limits')['items']}\n{said}"

    def _started(self, place: int) -> subprocess.Popen[bytes]:
        command, log = self.commands[place], self.root / f"worker-{place}.log"
        with log.open("ab") as told:
            return subprocess.Popen(command, cwd=self.repo, env=self.environ, stdout=told, stderr=told)

    def _complaint(self, place: int) -> str:
        log = self.root / f"worker-{place}.log"
        return f"{place}: {log.read_text()[-1500:]}" if log.exists() else ""

    def _said(self, *words: str) -> str:
        """A command that may have nothing to do."""
        return subprocess.run(
            [*CLI, *words], cwd=self.repo, env=self.environ, capture_output=True, timeout=60
        ).stdout.decode()

    # --- what the log shows -------------------------------------------------------------------------------------------

    def events(self) -> list[dict[str, Any]]:
        session = self.room.engine.begin(writes=False)
        try:
            text = "SELECT id, type, issue, attempt, session, agent, data FROM event ORDER BY id"
            rows = list(session.rows(Statement("events", text, text), {}))
            names = "SELECT id, number FROM issue"
            numbers = {row.id: f"ISSUE-{row.number}" for row in session.rows(Statement("names", names, names), {})}
        finally:
            session.rollback()
        return [
            {
                "id": row.id,
                "type": row.type,
                "issue": numbers.get(row.issue),
                "attempt": row.attempt,
                "agent": row.agent,
            }
            | {"data": json.loads(row.data)}
            for row in rows
        ]

    def faults(self) -> list[str]:
        """What is wrong with this night, by its log; nothing if every item ended once or is parked with its reason."""
        events = self.events()
        numbers = [event["id"] for event in events]
        found = [] if numbers == list(range(1, len(numbers) + 1)) else ["the log has gaps"]
        found += [fault for number, word in self.tasks.items() for fault in _of_task(events, number, word)]
        found += [fault for name in self.issues for fault in self._of_issue(events, name)]
        return found

    def _of_issue(self, events: list[dict[str, Any]], name: str) -> list[str]:
        holder, done, failed = None, 0, 0
        faults: list[str] = []
        for event in [event for event in events if event["issue"] == name and event["attempt"]]:
            if event["type"] == "attempt_started":
                if holder is not None:
                    faults.append(f"{name}: two attempts at once, #{event['id']}")
                if done:
                    faults.append(f"{name}: begun again after it was done")
                if not all(self._done_before(events, blocker, event["id"]) for blocker in self.blockers[name]):
                    faults.append(f"{name}: begun before what it waits for was done")
                holder = event["attempt"]
            elif event["type"] in ("attempt_completed", "attempt_failed", "attempt_interrupted", "attempt_expired"):
                if event["attempt"] != holder:
                    faults.append(f"{name}: an end of what nobody had, #{event['id']}")
                holder = None
                done += event["type"] == "attempt_completed"
                failed = failed + 1 if event["type"] in ("attempt_failed", "attempt_expired") else 0
        fate = self.fate(name)
        if done != int(fate == "done"):
            faults.append(f"{name}: completed {done} times, and is {fate or 'neither done nor parked'}")
        if fate == "three attempts failed" and failed < 3:
            faults.append(f"{name}: parked after {failed} failures")
        if self.issues[name] == "broken" and done:
            faults.append(f"{name}: a broken one was called done")
        return faults if holder is None else [*faults, f"{name}: somebody still has it"]

    def _done_before(self, events: list[dict[str, Any]], issue: str, number: int) -> bool:
        return any(
            event["issue"] == issue and event["type"] == "attempt_completed" and event["id"] < number
            for event in events
        )


def _of_task(events: list[dict[str, Any]], number: int, word: str) -> list[str]:
    """The leases of a task follow each other, and it ended once."""
    fence, ends, state = None, 0, "pending"
    faults: list[str] = []
    for event in [event for event in events if event["data"].get("task") == number]:
        kind, data = event["type"], event["data"]
        if kind == "task_leased":
            if fence is not None:
                faults.append(f"task #{number}: taken twice, #{event['id']}")
            if ends:
                faults.append(f"task #{number}: taken after its end")
            fence = data["fence"]
        elif kind in ("task_lapsed", "task_given_back", "task_ended"):
            if data["fence"] != fence:
                faults.append(f"task #{number}: an end of what nobody had, #{event['id']}")
            fence = None
            state = data["state"]
            ends += kind == "task_ended" or state == "dead_letter"
    if fence is not None:
        faults.append(f"task #{number}: somebody still has it")
    if ends != 1:
        faults.append(f"task #{number}: ended {ends} times")
    if state not in (TASKS_END[word], GIVEN_UP):
        faults.append(f"task #{number} ({word}): ended as {state}")
    return faults
