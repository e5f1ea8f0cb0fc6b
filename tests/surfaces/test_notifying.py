"""The notifier with a Telegram of our own on this machine: each thing once, whatever happens in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal
from tests.surfaces.test_briefs import poisoned

TOKEN = "123456:AAsecretsecretsecretsecretsecretsecr"


class Telegram:
    """What the bot API answers, and what it was sent. `answers`: other statuses and bodies, one for each call."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.paths: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, dict[str, Any], dict[str, str]]] = []
        self.arrived = threading.Event()
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, said, headers = 200, {"ok": True, "result": {}}, {}
                if service.answers:
                    status, said, headers = service.answers.pop(0)
                service.paths.append(self.path)
                service.bodies.append(body)
                service.headers.append(dict(self.headers))
                if status == 200:
                    service.texts.append(body["text"])
                service.arrived.set()
                service.may_answer.wait(30)
                answer = json.dumps(said).encode()
                try:
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(answer)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass  # whoever asked is gone

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def told(self, words: str) -> int:
        return sum(text.count(words) for text in self.texts)

    def close(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def telegram(terminal: Terminal) -> Iterator[Telegram]:
    service = Telegram()
    terminal.environ |= {
        "TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_CHAT_ID": "42", "CLEARWAY_TELEGRAM_URL": service.url,
    }  # fmt: skip
    yield service
    service.close()


def test_each_thing_is_told_once_across_restarts(terminal: Terminal, telegram: Telegram) -> None:
    poisoned(terminal)
    terminal("--as", "anna", "send", "May I drop the table?", "--to", "human")
    terminal("--as", "codex", "limit", "--until", "2h")
    assert terminal("notify").out == "3 sent.\n"
    for _ in range(3):
        assert terminal("notify", "once").out == "0 sent.\n"
    assert (telegram.paths, len(telegram.texts)) == ([f"/bot{TOKEN}/sendMessage"], 1)
    for words in ('ISSUE-1 "Cursed" failed 3 times', "anna writes (#", "codex is at its provider's limit until"):
        assert telegram.told(words) == 1
    assert "clearway why ISSUE-1" in telegram.texts[0]
    terminal("--as", "bert", "send", "And the index?", "--to", "human")
    terminal("notify")
    assert (len(telegram.texts), telegram.told("And the index?"), telegram.told("drop the table")) == (2, 1, 1)


def test_what_could_not_be_sent_is_sent_later(terminal: Terminal, telegram: Telegram) -> None:
    terminal("--as", "anna", "send", "Look at this", "--to", "human")
    telegram.answers = [(500, {"ok": False, "description": "Internal"}, {})]
    failed = terminal("notify")
    assert (failed.status, telegram.texts) == (1, [])
    assert "1 not sent by telegram: telegram answered 500: Internal" in failed.err
    assert terminal("notify").status == 0
    assert telegram.told("Look at this") == 1


def test_a_rest_that_is_asked_for_is_given(terminal: Terminal, telegram: Telegram) -> None:
    from clearway.clock import Clock
    from clearway.config import Settings
    from clearway.rooms import Rooms
    from clearway.worker import notify, ways

    terminal("--as", "anna", "send", "Look at this", "--to", "human")
    telegram.answers = [(429, {"ok": False, "description": "Too Many", "parameters": {"retry_after": 7}}, {})]

    class Hand(Clock):
        at = 0

        def monotonic(self) -> int:
            return self.at

        def pause(self, milliseconds: float) -> None:
            self.at += int(milliseconds)

    hand, said = Hand(), list[str]()
    rooms = Rooms(Settings(terminal.environ))
    try:
        room = rooms.of_folder(str(terminal.folder))
        notifier = notify.Notifier(lambda: [("demo", room)], ways.of(terminal.environ), clock=hand, say=said.append)
        notifier.once()
        hand.at += 6_999
        notifier.once()
        assert (len(telegram.paths), telegram.texts) == (1, []), "it is not even asked"
        hand.at += 1
        notifier.once()
        assert telegram.told("Look at this") == 1
        assert "it asks for a rest of 7 s" in said[0]
    finally:
        rooms.close()


def test_one_that_stays_sees_what_is_new_at_a_glance(terminal: Terminal, telegram: Telegram) -> None:
    from clearway.clock import Clock
    from clearway.config import Settings
    from clearway.rooms import Rooms
    from clearway.worker import notify, ways

    terminal("--as", "anna", "send", "First", "--to", "human")

    class Hand(Clock):
        at = 0

        def monotonic(self) -> int:
            return self.at

        def pause(self, milliseconds: float) -> None:
            self.at += int(milliseconds)
            if self.at == 3_000:
                terminal("--as", "anna", "send", "Second", "--to", "human")

    rooms = Rooms(Settings(terminal.environ))
    try:
        room = rooms.of_folder(str(terminal.folder))
        notifier = notify.Notifier(lambda: [("demo", room)], ways.of(terminal.environ), clock=Hand(), say=print)
        notifier.run(until_ms=5_000)
    finally:
        rooms.close()
    assert (len(telegram.texts), telegram.told("First"), telegram.told("Second")) == (2, 1, 1)


def test_nothing_is_sent_in_the_quiet_hours_and_all_of_it_afterwards(terminal: Terminal, telegram: Telegram) -> None:
    from clearway.worker.notify import is_quiet

    noon = 1_780_000_000_000
    from datetime import datetime

    minute = datetime.fromtimestamp(noon / 1_000)
    now, later, before = (f"{(minute.hour + add) % 24:02}:{minute.minute:02}" for add in (0, 1, -1))
    assert is_quiet(f"{now}-{later}", noon) and is_quiet(f"{before}-{later}", noon)
    assert not is_quiet(f"{later}-{now}", noon) and not is_quiet("", noon)
    terminal("--as", "anna", "send", "Look at this", "--to", "human")
    hour = datetime.now().hour
    around_now = f"{(hour - 1) % 24:02}:00-{(hour + 2) % 24:02}:00"
    assert terminal("config", "set", "notify.quiet_hours", around_now).status == 0
    said = terminal("notify").out
    assert (said, telegram.told("Look at this")) == ("0 sent. 1 held back until the quiet hours are over.\n", 0)
    terminal("config", "set", "notify.quiet_hours")
    assert terminal("notify").out == "1 sent.\n"
    assert telegram.told("Look at this") == 1
    for no_hours in ("22-7", "22:00-22:00", "22:00"):
        assert terminal("config", "set", "notify.quiet_hours", no_hours).status == 2


def test_a_look_sends_and_notes_nothing(terminal: Terminal, telegram: Telegram) -> None:
    terminal("--as", "anna", "send", "Look at this", "--to", "human")
    for _ in range(2):
        assert "anna writes" in terminal("notify", "--dry").out
    assert terminal("--json", "notify", "--dry").json["items"][0]["kind"] == "message"
    assert telegram.paths == []
    terminal("notify")
    assert terminal("notify", "--dry").out == "Nothing would be told.\n"


def test_what_waits_for_the_person_is_told_to_no_agent(terminal: Terminal, telegram: Telegram) -> None:
    terminal("--as", "anna", "send", "Between us", "--to", "human")
    for words in (("notify", "--dry"), ("notify",), ("needs",)):
        refused = terminal("--as", "bert", *words)
        assert refused.code == "FORBIDDEN" and "Between" not in refused.err
    assert telegram.paths == []


def test_a_try_is_sent_every_time(terminal: Terminal, telegram: Telegram) -> None:
    for _ in range(2):
        assert terminal("notify", "test").out == "telegram: sent.\n"
    assert telegram.texts == ["Clearway can reach you here."] * 2


def test_no_secret_is_shown_or_sent(terminal: Terminal, telegram: Telegram) -> None:
    secret = "ghp_" + "a1B2" * 9
    terminal("--as", "anna", "issue", "create", f"Rotate {secret}", "--type", "question", "--status", "ready")
    telegram.answers = [(401, {"ok": False, "description": f"Unauthorized {TOKEN}"}, {})]
    failed = terminal("notify")
    terminal("notify")
    assert TOKEN not in failed.out + failed.err and "401" in failed.err
    assert telegram.told("asks") == 1 and telegram.told(secret) == 0
    telegram.close()
    gone = terminal("notify", "test")
    assert gone.status == 1 and TOKEN not in gone.out + gone.err


def test_a_webhook_and_a_program_are_told_too(terminal: Terminal, telegram: Telegram, tmp_path: Path) -> None:
    """Each way for itself: what one could not send the others do not send again."""
    heard = tmp_path / "heard"
    script = tmp_path / "tell.py"
    script.write_text(f"import os, sys\nopen({str(heard)!r}, 'a').write(sys.stdin.read() + str(sorted(os.environ)))\n")
    terminal.environ |= {
        "CLEARWAY_NOTIFY_URL": f"{telegram.url}/hook",
        "CLEARWAY_NOTIFY_TOKEN": "hooksecret",
        "CLEARWAY_NOTIFY_COMMAND": f"{sys.executable} {script}",
    }
    terminal("--as", "anna", "send", "Look at this", "--to", "human")
    telegram.answers = [(200, {"ok": True}, {}), (503, {}, {"Retry-After": "3"})]
    failed = terminal("notify")
    assert "the webhook answered 503; it asks for a rest of 3 s" in failed.err
    terminal("notify")
    assert telegram.paths[1:] == ["/hook", "/hook"]
    assert telegram.headers[2]["Authorization"] == "Bearer hooksecret"
    assert telegram.bodies[2]["alerts"][0]["kind"] == "message"
    text = heard.read_text()
    assert text.count("Look at this") == 1
    assert "TELEGRAM_BOT_TOKEN" not in text and "CLEARWAY_NOTIFY_TOKEN" not in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nothing is set to tell you by"),
        ({"TELEGRAM_BOT_TOKEN": TOKEN}, "TELEGRAM_CHAT_ID is needed"),
        ({"CLEARWAY_NOTIFY_URL": "http://example.com/x"}, "https://..."),
        ({"CLEARWAY_NOTIFY_COMMAND": "'"}, "a program and its arguments"),
    ],
)
def test_what_is_not_set_up_is_refused_by_its_name(given: dict[str, str], said: str, terminal: Terminal) -> None:
    terminal.environ |= given
    refused = terminal("notify")
    assert refused.status == 2 and said in refused.err and TOKEN not in refused.err


def test_what_was_being_sent_when_it_was_killed_is_not_told_again(terminal: Terminal, telegram: Telegram) -> None:
    """kill -9 between the sending and its answer."""
    terminal("--as", "anna", "send", "Look at this", "--to", "human")
    telegram.may_answer.clear()
    command = [sys.executable, "-m", "clearway.surfaces.cli", "notify", "run"]
    process = subprocess.Popen(command, cwd=terminal.folder, env=terminal.environ)
    try:
        assert telegram.arrived.wait(60)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    telegram.may_answer.set()
    terminal("--as", "anna", "send", "And at that", "--to", "human")
    assert terminal("notify").out == "1 sent.\n"
    assert (telegram.told("Look at this"), telegram.told("And at that")) == (1, 1)


def test_all_rooms_of_this_machine_can_be_told_of(terminal: Terminal, telegram: Telegram, tmp_path: Path) -> None:
    terminal("--as", "anna", "send", "From the first", "--to", "human")
    terminal("project", "set", "--name", "First")
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    terminal("-C", str(other), "--as", "bert", "send", "From the second", "--to", "human")
    assert terminal("notify").out == "1 sent.\n"
    assert terminal("notify", "--all").out == "1 sent.\n"
    assert telegram.told("From the second") == 1 and telegram.texts[0].startswith("Clearway, First:")
