"""A classifier of the user's own: asked by the hook with redacted commands, obeyed only where people said so."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clearway import catalog, limits, policy
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.surfaces import hooks

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "classifier" / "server.py"


class Desk:
    """A repository, one session of a client in it, and a config.toml of the person."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.home = tmp_path / "state"
        self.home.mkdir()
        self.environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(self.home), "PATH": os.environ["PATH"]}

    def configure(self, mode: str, address: str) -> None:
        text = f"classifier = {json.dumps(mode)}\nclassifier_address = {json.dumps(address)}\n"
        (self.home / "config.toml").write_text(text)

    def runs(self, command: str) -> tuple[str, str]:
        """The reason why a command is refused, or an empty text; and what the person is told."""
        payload = {
            "session_id": "s1",
            "cwd": str(self.repo),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command},
        }
        out, err, code = hooks.answer("claude", json.dumps(payload).encode(), self.environ)
        assert code == 0
        return json.loads(out)["hookSpecificOutput"].get("permissionDecisionReason", "") if out else "", err

    def human(self, operation: str, **arguments: Any) -> dict[str, Any]:
        rooms = Rooms(Settings(self.environ))
        try:
            caller = Caller("human", cwd=str(self.repo), host=rooms.liveness.host, human=True)
            return rooms.ask(catalog.OPERATIONS[operation], arguments, caller)
        finally:
            rooms.close()

    def told(self, *types: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.human("get_changes", event_types=list(types))["events"]]

    def counted(self) -> list[str]:
        file = self.home / "run" / "guard-open"
        return [line.split()[1] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def desk(tmp_path: Path, repo: Path) -> Desk:
    return Desk(tmp_path, repo)


@pytest.fixture
def served() -> Iterator[Callable[[ThreadingHTTPServer], str]]:
    """Runs a server on this machine until the test is over; its address."""
    running: list[ThreadingHTTPServer] = []

    def serve(server: ThreadingHTTPServer) -> str:
        running.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}/judge"

    yield serve
    for server in running:
        server.shutdown()
        server.server_close()


def example(blocked: list[str]) -> ThreadingHTTPServer:
    spec = importlib.util.spec_from_file_location("classifier_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.serve(0, blocked)


class Canned:
    """A server that answers every question with the same bytes and keeps the questions."""

    def __init__(self, body: bytes, status: int = 200, more: dict[str, str] | None = None) -> None:
        self.questions: list[dict[str, Any]] = []
        canned = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                canned.questions.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(status)
                for name, value in (more or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)


Served = Callable[[ThreadingHTTPServer], str]


def test_what_the_example_blocks_is_refused_where_people_enforce_it(desk: Desk, served: Served) -> None:
    desk.configure("enforce", served(example(["make deploy"])))
    refusal, said = desk.runs("make deploy")
    assert (
        refusal.startswith('FORBIDDEN: The classifier of this machine says "make deploy is done by people here".')
        is True
    )
    assert "ask the human" in refusal
    assert len(refusal.encode()) <= 240
    assert said == ""
    assert desk.runs("make test") == ("", "")
    assert [each["code"] for each in desk.told("refused")] == ["FORBIDDEN"]


def test_in_the_shadow_it_only_says_what_it_would_have_refused(desk: Desk, served: Served) -> None:
    desk.configure("shadow", served(example(["make deploy"])))
    assert desk.runs("make deploy TOKEN=sk-0123456789abcdefghij") == ("", "")
    told = desk.told("command_classified", "refused")
    assert len(told) == 1
    assert told[0]["verdict"] == "block"
    assert "make deploy" in told[0]["command"]
    assert "0123456789abcdef" not in json.dumps(told)


def test_it_sees_redacted_commands_and_no_more_than_it_needs(desk: Desk, served: Served) -> None:
    canned = Canned(b'{"verdict": "allow"}')
    desk.configure("enforce", served(canned.server))
    desk.runs("curl -H 'Authorization: Bearer abcdefghijklmnop' https://me:hunter2@x.example | make")
    desk.runs("make " + "x" * 100_000)
    desk.runs("make \ud800")
    first, long, half = canned.questions
    assert set(first) == {"version", "command", "agent"}
    assert (first["version"], first["agent"]) == (1, "claude-code")
    assert "hunter2" not in first["command"]
    assert "abcdefghijklmnop" not in first["command"]
    assert len(long["command"]) <= 2_000
    assert half["command"] == "make \\ud800"


def test_what_is_plainly_harmless_is_never_sent(desk: Desk, served: Served) -> None:
    canned = Canned(b'{"verdict": "block"}')
    desk.configure("enforce", served(canned.server))
    for command in ("ls -la", "git status", "grep -rn x src", "cat src/a.py | head"):
        assert desk.runs(command) == ("", "")
    assert canned.questions == []
    assert desk.runs("make")[0] != ""


def test_off_asks_nobody(desk: Desk, served: Served) -> None:
    canned = Canned(b'{"verdict": "block"}')
    desk.configure("off", served(canned.server))
    assert desk.runs("make deploy") == ("", "")
    desk.configure("enforce", served(canned.server))
    desk.human("pause_guard")
    assert desk.runs("make deploy") == ("", "")
    assert canned.questions == []


@pytest.mark.parametrize(
    "canned",
    [
        lambda: Canned(b""),
        lambda: Canned(b"block"),
        lambda: Canned(b"[]"),
        lambda: Canned(b'{"verdict": "maybe"}'),
        lambda: Canned(b'{"verdict": "block", "reason": 7}'),
        lambda: Canned(b'{"verdict": "block"}', status=500),
        lambda: Canned(b'{"verdict": "block"}', status=302, more={"Location": "http://127.0.0.1:9/"}),
        lambda: Canned(b'{"verdict": "block", "reason": "' + b"x" * 100_000 + b'"}'),
    ],
)
def test_an_answer_that_is_none_lets_the_command_pass_and_is_counted(
    desk: Desk, served: Served, canned: Callable[[], Canned]
) -> None:
    """It only advises, so this is so even where the guard is to fail closed."""
    desk.human("set_setting", name="fail", value="closed")
    desk.configure("enforce", served(canned().server))
    refusal, said = desk.runs("make deploy")
    assert refusal == ""
    assert said.count("\n") == 1
    assert said.startswith("clearway: classifier not asked (")
    assert desk.counted() == ["CLASSIFIER"]


def test_one_that_is_not_there_or_does_not_answer_lets_the_command_pass(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearway.guard.classifier.CLASSIFIER_WAIT_MS", 60)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for address in (
            f"http://127.0.0.1:{silent.getsockname()[1]}/",
            "http://127.0.0.1:9/",
            "/nowhere/at/all",
            "sleep 5",
            "false",
            "",
        ):
            (desk.home / "config.toml").unlink(missing_ok=True)
            if address:
                desk.configure("enforce", address)
            else:
                (desk.home / "config.toml").write_text('classifier = "enforce"\n')
            refusal, said = desk.runs("make deploy")
            assert refusal == ""
            assert said.startswith("clearway: classifier not asked ("), address
    assert desk.counted() == ["CLASSIFIER"] * 6
    assert limits.CLASSIFIER_WAIT_MS == 1_500


def test_a_command_can_be_the_classifier_and_gets_no_secrets_of_the_environment(desk: Desk, tmp_path: Path) -> None:
    script = tmp_path / "judge.py"
    script.write_text(
        "import json, os, sys\n"
        "asked = json.load(sys.stdin)\n"
        "bad = 'deploy' in asked['command'] or 'OPENROUTER_API_KEY' in os.environ\n"
        "print(json.dumps({'verdict': 'block' if bad else 'allow', 'reason': 'not\\nhere \\u202e'}))\n"
    )
    desk.environ["OPENROUTER_API_KEY"] = "secret"
    desk.configure("enforce", f"{sys.executable} -I -S {script}")
    refusal, _ = desk.runs("make deploy")
    assert '"not here <U+202E>"' in refusal
    assert desk.runs("make test") == ("", "")


def test_the_gate_is_asked_first(desk: Desk, served: Served) -> None:
    canned = Canned(b'{"verdict": "allow"}')
    desk.configure("enforce", served(canned.server))
    desk.human("set_setting", name="danger", value="on")
    assert "discards every change" in desk.runs("git reset --hard")[0]
    assert canned.questions == []


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("http://127.0.0.1:8765/", True),
        ("http://localhost/judge?x=1", True),
        ("http://[::1]:80/", True),
        ("https://classifier.example/v1", True),
        ("/usr/local/bin/judge --strict", True),
        ("judge http://elsewhere.example/", True),
        ("http://classifier.example/", False),
        ("http://127.0.0.1.evil.example/", False),
        ("http://127.0.0.1@evil.example/", False),
        ("http://localhost\\@evil.example/", False),
        ("http://evil.example#127.0.0.1", False),
        ("http:///x", False),
        ("ftp://127.0.0.1/", False),
        ("file:///etc/passwd", False),
        ("HTTP://evil.example/", False),
    ],
)
def test_what_is_sent_stays_on_this_machine_or_is_encrypted(address: str, good: bool) -> None:
    if good:
        assert policy.checked("classifier_address", address, "classifier_address") == address
    else:
        with pytest.raises(Refusal, match="an address of this machine"):
            policy.checked("classifier_address", address, "classifier_address")


def test_a_room_that_others_share_names_no_program_to_start_here(desk: Desk) -> None:
    with pytest.raises(Refusal, match=r"config\.toml"):
        desk.human("set_setting", name="classifier_address", value="rm -rf /")


def test_the_example_says_what_to_configure(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-I", str(EXAMPLE), "--port", "0", "--block", "x"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert started.stdout is not None
        assert started.stdout.readline().startswith('classifier_address = "http://127.0.0.1:')
    finally:
        started.kill()
        started.communicate()
