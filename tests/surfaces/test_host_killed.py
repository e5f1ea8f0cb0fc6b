"""A host that is killed between any two steps of ours: nothing acknowledged is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.setup.registered import Binding, hook_command
from clearway.surfaces.remote import Remote

# Every step takes minutes; by default every so many-th is tried.
STRIDE = 17 if os.environ.get("CLEARWAY_TEST_LONG") else 331
STEPS_MAX = 20_000
PROGRAM = Path(__file__).with_name("dying_host.py")


class Mortals:
    """One host after the other, each of which dies after so many steps."""

    def __init__(self, environ: dict[str, str], repo: Path) -> None:
        self.environ = environ
        self.repo = repo
        self._nursery = subprocess.Popen(
            [sys.executable, str(PROGRAM)], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._pid = 0

    def begin(self, steps: int) -> None:
        assert self._nursery.stdin and self._nursery.stdout
        print(steps, file=self._nursery.stdin, flush=True)
        word, pid = self._nursery.stdout.readline().split()
        assert word == "ready"
        self._pid = int(pid)

    def end(self) -> bool:
        """Whether it had died before it was killed now."""
        assert self._nursery.stdout
        facts = Path(f"/proc/{self._pid}/stat").read_bytes() if os.path.exists(f"/proc/{self._pid}") else b") Z"
        was_dead = facts.rpartition(b")")[2].split()[0] == b"Z"
        try:
            os.kill(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            was_dead = True
        assert self._nursery.stdout.readline() == "ended\n"
        return was_dead

    def close(self) -> None:
        self._nursery.communicate()

    def points(self) -> Iterator[int]:
        """The steps at which to die, until a host has outlived what was asked of it."""
        for steps in range(1, STEPS_MAX, STRIDE):
            self.begin(steps)
            yield steps
            if not self.end():
                return
        raise AssertionError("no question takes so many steps")

    def hook(self, file: str, session: str) -> str:
        """What the registered hook answers to an edit; empty if it lets it pass."""
        given = {"file_path": str(self.repo / file), "old_string": "a", "new_string": "b"}
        payload: dict[str, Any] = {"hook_event_name": "PreToolUse", "session_id": session, "cwd": str(self.repo)}
        done = subprocess.run(
            shlex.split(hook_command("claude", Binding(home=self.environ["CLEARWAY_HOME"]))),
            input=json.dumps(payload | {"tool_name": "Edit", "tool_input": given}).encode(),
            env=self.environ | {"CLAUDE_PID": str(os.getpid())},
            cwd=self.repo,
            capture_output=True,
            timeout=30,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return str(json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"]) if done.stdout else ""

    def ask(self, operation: str, **given: Any) -> dict[str, Any]:
        """The room itself is asked, beside all hosts."""
        rooms = Rooms(Settings(self.environ))
        try:
            return rooms.ask(OPERATIONS[operation], given, Caller("tester", cwd=str(self.repo), host="tester"))
        finally:
            rooms.close()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """All of a kind: there are more than a page of them when every step is tried."""
        found: list[dict[str, Any]] = []
        page: dict[str, Any] = {"has_more": True, "next_event_id": 0}
        while page["has_more"]:
            since = page["next_event_id"]
            page = self.ask("get_changes", event_types=[kind], limit=200, since_event_id=since)
            found += page["events"]
        return found


@pytest.fixture
def mortals(tmp_path: Path, repo: Path) -> Iterator[Mortals]:
    environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    made = Mortals(environ, repo)
    made.ask("claim_paths", paths=["held.txt"], purpose="work")
    yield made
    made.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no host on this system")
def test_a_file_is_claimed_once_whenever_the_host_dies(mortals: Mortals) -> None:
    """Issue 5, "Bad input and faults": killed -9 between any two steps."""
    tried = 0
    for tried, steps in enumerate(mortals.points()):  # noqa: B007  (how many there were)
        assert mortals.hook(f"free-{steps}.py", "s1") == ""
        assert mortals.ask("path_owner", path=f"free-{steps}.py")["session"] == "s1"
        claimed = [event for event in mortals.events("paths_claimed") if f"free-{steps}.py" in json.dumps(event)]
        assert len(claimed) == 1
    assert tried > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no host on this system")
def test_a_denial_stands_whenever_the_host_dies(mortals: Mortals) -> None:
    for _ in mortals.points():
        assert "held.txt is held by tester" in mortals.hook("held.txt", "s1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no host on this system")
def test_what_a_host_has_acknowledged_stands_and_a_key_makes_it_once(mortals: Mortals) -> None:
    for steps in mortals.points():
        caller = Caller("anna", "anna-1", cwd=str(mortals.repo), host="tester")
        given = {"title": f"Issue {steps}", "idempotency_key": f"key-{steps}"}
        answer = None
        with Remote(mortals.environ["CLEARWAY_HOME"]) as far:
            lost = None
            try:
                answer = far.ask(OPERATIONS["create_issue"], given, caller)
            except Refusal as refusal:
                lost = refusal
            assert lost is None or lost.is_of_storage
        rooms = Rooms(Settings(mortals.environ))
        again = rooms.ask(OPERATIONS["create_issue"], given, caller)
        rooms.close()
        assert answer in (None, again)
        titles = [event["data"]["title"] for event in mortals.events("issue_created")]
        assert titles.count(f"Issue {steps}") == 1
