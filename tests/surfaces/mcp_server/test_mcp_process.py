"""The server as a process: when it begins, and when it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.surfaces.mcp_server.talks import READY, Machine, by_id, hello, request

from clearway import config
from clearway.clock import Clock
from clearway.room import open_room


class Process:
    """A server as a client starts it."""

    def __init__(self, machine: Machine, *words: str, command: list[str] | None = None, **environ: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, *(command or ["-m", "clearway.surfaces.mcp", *words])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=machine.repo,
            env={**machine.environ, **environ},
        )

    def say(self, *said: dict[str, Any]) -> None:
        assert self.child.stdin
        self.child.stdin.write(b"".join(json.dumps(word).encode() + b"\n" for word in said))
        self.child.stdin.flush()

    def hears(self) -> dict[str, Any]:
        assert self.child.stdout
        return json.loads(self.child.stdout.readline())

    def ends(self) -> tuple[int, list[dict[str, Any]], str]:
        """Close its stdin: exit status, what it still said, and its stderr."""
        out, err = self.child.communicate(timeout=60)
        return self.child.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


def test_a_server_that_was_never_spoken_to_ends_with_its_stdin(alone: Machine) -> None:
    """C40."""
    assert Process(alone).ends() == (0, [], "")


def test_a_server_ends_with_its_stdin_and_answers_what_was_asked_before(alone: Machine) -> None:
    """C40."""
    server = Process(alone, "--tools", "crew")
    server.say(hello(), READY, request(1, "tools/list"), request(2, "tools/call", name="room", arguments={}))
    status, said, err = server.ends()
    assert (status, err) == (0, "")
    heard = by_id(said)
    assert {tool["name"] for tool in heard[1]["result"]["tools"]} >= {"room", "path_owner"}
    assert heard[2]["result"]["structuredContent"]["me"]["agent"] == "claude-code"


def test_a_server_ends_with_its_stdin_though_a_call_still_waits(alone: Machine) -> None:
    """C40. The room is busy for as long as the server is there."""
    project = Clock().new_id()
    (alone.repo / config.POINTER).write_text(config.pointer_text(project))
    room = open_room(project, home=alone.environ["CLEARWAY_HOME"], clock=Clock())
    busy = room.engine.begin(writes=True)
    server = Process(alone)
    server.say(hello(), READY, request(1, "tools/call", name="create_issue", arguments={"title": "One"}))
    status, said, _ = server.ends()
    busy.rollback()
    room.close()
    assert status == 0
    assert set(by_id(said)) == {0}, "the call was answered"


def test_a_server_ends_with_its_parent_though_its_stdin_stays_open(alone: Machine) -> None:
    """C40. A child of the killed client may hold the pipe; here we do."""
    start = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'clearway.surfaces.mcp'])"
    server = Process(alone, command=["-c", start])
    server.say(hello())
    assert server.hears()["id"] == 0
    server.child.kill()
    assert server.child.stdout and server.child.stdin
    assert server.child.stdout.read() == b"", "the server was the last to hold this end"
    server.child.communicate()


@pytest.mark.parametrize("words", [["--tools", "everything"], ["--tools"], ["--verbose"], ["--tools=core", "x"]])
def test_a_server_that_cannot_begin_says_why_in_one_line(alone: Machine, words: list[str]) -> None:
    status, said, err = Process(alone, *words).ends()
    assert status == 2
    assert not said
    assert err.startswith("INVALID_ARGUMENT: ") and err.count("\n") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_server_without_a_wire_says_so(alone: Machine, closed: str) -> None:
    command = f"exec {sys.executable} -m clearway.surfaces.mcp {closed}"
    ran = subprocess.run(["sh", "-c", command], cwd=alone.repo, env=alone.environ, capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr.startswith("INVALID_ARGUMENT: ") and ran.stderr.count("\n") == 1


def test_the_profile_may_come_from_the_environment(alone: Machine) -> None:
    server = Process(alone, CLEARWAY_TOOLS="work")
    server.say(hello(), READY, request(1, "tools/list"))
    _, said, _ = server.ends()
    assert "get_issue" in {tool["name"] for tool in by_id(said)[1]["result"]["tools"]}
