"""`doctor --live`: a client is advised only where a held file was written, and nothing is taken for a proof."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import World
from tests.setup import stand_in

from clearway import proofs
from clearway.clock import Clock
from clearway.config import Settings
from clearway.errors import Refusal
from clearway.policy import Outside
from clearway.setup import doctor, live
from clearway.setup.live import Proof, prove
from clearway.setup.live_clients import DRIVERS
from clearway.setup.live_model import ScriptedModel, say

CONSOLE = Path(sys.executable).with_name("clearway")


class Person:
    """A home, a folder with programs, and the rooms of this person."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "person"
        self.programs = tmp_path / "programs"
        self.state = tmp_path / "state"
        self.temporary = tmp_path / "temporary"
        for folder in (self.home, self.programs, self.temporary):
            folder.mkdir()
        self.environ = {
            "HOME": str(self.home),
            "CLEARWAY_HOME": str(self.state),
            "PATH": f"{self.programs}:/usr/bin:/bin",
            "ANTHROPIC_BASE_URL": "https://elsewhere.example.org",
            "SECRET_OF_MINE": "do not tell",
            "TMPDIR": str(self.temporary),
        }

    @property
    def settings(self) -> Settings:
        return Settings(self.environ)

    def has(self, manner: str, **more: str) -> Path:
        return stand_in.install(self.programs, manner, **more)

    def tries(self, *clients: str, seconds_max: float = live.SECONDS_MAX) -> Proof:
        (proof,) = prove(clients, self.settings, Clock(), seconds_max=seconds_max)
        return proof

    def check(self) -> dict[str, str]:
        found = doctor.examine(self.settings, str(self.home))
        return next(check for check in found if check["name"] == "enforcement")

    def says(self, *words: str, told: str = "") -> subprocess.CompletedProcess[str]:
        """What the command line answers."""
        ways = {"cwd": self.home, "env": self.environ, "capture_output": True, "text": True, "timeout": 100}
        return subprocess.run([CONSOLE, *words], input=told, **ways)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    made = Person(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(made.temporary))
    return made


def test_a_client_that_obeys_enforces(person: Person) -> None:
    person.has("obeys")
    assert person.tries("claude") == Proof("claude", "claude-code", "9.1.2", "enforced", {"edit": True, "shell": True})
    (kept,) = proofs.noted(str(person.state)).values()
    assert (kept["client"], kept["version"], kept["result"]) == ("claude", "9.1.2", "enforced")
    assert kept["stopped"] == {"edit": True, "shell": True}
    assert not proofs.advised(str(person.state))


@pytest.mark.parametrize(
    ("manner", "stopped", "why"),
    [
        ("ignores", {"edit": False, "shell": False}, "refused, and written all the same"),
        ("ignores_in_shell", {"edit": True, "shell": False}, "a shell command: refused, and written all the same"),
        ("is_deaf", {"edit": False, "shell": False}, "written, and the guard was never asked"),
    ],
)
def test_a_client_that_writes_what_is_held_is_advised_only(
    person: Person, manner: str, stopped: dict[str, bool], why: str
) -> None:
    person.has(manner)
    proof = person.tries("claude")
    assert (proof.result, proof.stopped) == ("advisory only", stopped)
    assert why in proof.why
    assert proofs.advised(str(person.state)) == {"claude", "claude-code"}


@pytest.mark.parametrize(
    ("manner", "why"),
    [
        ("writes_nothing", "a free file was not written either"),
        ("stumbles", 'it never asked the model; it ended with 1: "please sign in first"'),
        ("calls_home", "it wanted to go to licence.example.org:443 first"),
    ],
)
def test_what_was_merely_not_written_proves_nothing(person: Person, manner: str, why: str) -> None:
    person.has(manner)
    proof = person.tries("claude")
    assert (proof.result, proof.stopped) == ("not proved", {})
    assert why in proof.why
    assert person.check()["level"] == "notice"


def test_a_client_that_does_not_end_is_ended_with_all_it_started(person: Person) -> None:
    started = person.has("stays")
    proof = person.tries("claude", seconds_max=4)
    assert (proof.result, proof.why) == ("not proved", "it never asked the model; it did not end in 4 s")
    for pid in json.loads(started.read_text()).values():
        assert _is_over(pid)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_who_ends_the_doctor_ends_the_client_too(person: Person, ending: signal.Signals) -> None:
    started = person.has("stays")
    os.mkfifo(started)
    before = signal.signal(ending, signal.SIG_DFL)  # who runs the tests in the background ignores some, and so would it
    examination = subprocess.Popen([CONSOLE, "doctor", "--live", "claude"], env=person.environ, cwd=person.home)
    signal.signal(ending, before)
    with examination:
        pids = json.loads(started.read_text())  # waits until the client stays
        examination.send_signal(ending)
    assert examination.returncode != 0
    assert all(_is_over(pid) for pid in pids.values())
    assert list(person.temporary.iterdir()) == []


def test_what_it_has_written_counts_though_it_does_not_end(person: Person) -> None:
    person.has("lingers")
    proof = person.tries("claude", seconds_max=10)
    assert (proof.result, proof.stopped) == ("advisory only", {"edit": False, "shell": False})


def test_where_nothing_can_be_made_nothing_is_said_of_a_client(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person.has("obeys")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert person.tries("claude").why == "nothing can be tried here: No such file or directory"


def test_nothing_of_the_person_is_read_or_changed_and_nothing_is_left(person: Person) -> None:
    settings = person.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": {"PreToolUse": "mine"}}')
    started = person.has("obeys")
    person.tries()
    assert settings.read_text() == '{"hooks": {"PreToolUse": "mine"}}'
    assert sorted(path.name for path in person.home.rglob("*")) == [".claude", "settings.json"]
    assert list(person.temporary.iterdir()) == []
    told = json.loads(started.read_text())["environ"]
    assert "SECRET_OF_MINE" not in told
    assert told["HOME"].startswith(str(person.temporary))
    assert [path.name for path in person.state.rglob("*")] == ["run", "proofs.json"]


def test_every_address_that_a_client_is_told_is_the_models(person: Person) -> None:
    started = person.has("obeys")
    person.tries("claude")
    told = json.loads(started.read_text())
    addresses = {value for value in told["environ"].values() if "://" in value}
    assert len(addresses) == 1
    assert addresses.pop().startswith("http://127.0.0.1:")
    assert {name for name in told["environ"] if name.lower() == "https_proxy"} == {"HTTPS_PROXY", "https_proxy"}


@pytest.mark.parametrize("client", DRIVERS)
def test_every_client_is_led_to_the_model_and_nowhere_else(client: str, tmp_path: Path) -> None:
    address, driver = "http://127.0.0.1:4711", DRIVERS[client]
    told = [*driver.environment(str(tmp_path), address).values(), *driver.command(client, address)]
    told += [word for words in driver.first(client, address) for word in words]
    assert any(address in text for text in told)
    assert "://" not in "".join(told).replace(address, "")


def test_a_client_that_nothing_leads_to_the_model_is_not_started(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = person.has("obeys")
    monkeypatch.setattr(type(DRIVERS["claude"]), "environment", lambda *_: {})
    assert person.tries("claude").why == "no setting is known that keeps it on this machine"
    assert not started.exists()


def test_a_client_that_this_machine_rules_is_not_started(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = person.has("obeys")
    ruler = tmp_path / "managed-settings.json"
    ruler.write_text("{}")
    monkeypatch.setattr(DRIVERS["claude"], "managed", (str(ruler),))
    assert str(ruler) in person.tries("claude").why
    assert not started.exists()


def test_a_model_passes_nothing_on() -> None:
    with ScriptedModel([say("hello")]) as model:
        here = model.address.removeprefix("http://")
        assert [_connect(here, "example.org:443"), _connect(here, here)] == [403, 200]
        assert model.kept_away == ["example.org:443"]


def test_who_is_not_here_or_cannot_be_driven_is_said_and_not_kept(person: Person) -> None:
    lines: list[str] = []
    prove(["codex", "cursor"], person.settings, Clock(), say=lines.append)
    assert lines == [
        "codex: not proved (no program codex on the path)",
        "cursor: not proved (no script can drive it here without an account)",
    ]
    prove([], person.settings, Clock(), say=lines.append)
    assert lines[2].startswith("no client is here that a script can drive: claude, codex")
    assert not person.state.exists()
    with pytest.raises(Refusal, match="'clod' is not a client we know"):
        prove(["clod"], person.settings, Clock())


def test_a_version_that_was_proved_stays_so_when_nothing_is_proved_later(person: Person) -> None:
    home = str(person.state)
    person.has("ignores")
    person.tries("claude")
    person.has("stumbles")
    person.tries("claude")
    assert proofs.noted(home)["claude"]["result"] == "advisory only"
    person.has("stumbles", version="9.2.0")
    person.tries("claude")
    assert proofs.noted(home)["claude"]["version"] == "9.2.0"
    assert proofs.advised(home) == {"claude", "claude-code"}, "nobody knows better of the newer one"
    person.has("obeys", version="9.2.0")
    person.tries("claude")
    assert proofs.advised(home) == frozenset()


@pytest.mark.parametrize("spoilt", ["", "{", "[1]", '[{"client": "claude"}]', '{"claude": []}', "\x00"])
def test_a_file_of_proofs_that_cannot_be_read_says_nothing(person: Person, spoilt: str) -> None:
    file = person.state / "run" / "proofs.json"
    file.parent.mkdir(parents=True)
    file.write_text(spoilt)
    assert proofs.noted(str(person.state)) == {}
    assert proofs.advised(str(person.state)) == frozenset()
    assert person.check()["level"] == "ok"


def test_the_doctor_tells_what_was_found_until_it_is_tried_again(person: Person) -> None:
    person.has("ignores_in_shell")
    ended = person.says("--json", "doctor", "--live", "claude", "cursor")
    told = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert [(each["client"], each["result"]) for each in told["tried"]] == [
        ("claude", "advisory only"),
        ("cursor", "not proved"),
    ]
    assert told["clients"]["claude"]["live"]["stopped"] == {"edit": True, "shell": False}
    assert "clearway: claude 9.1.2: advisory only (a shell command: refused" in ended.stderr

    check = person.check()
    assert check["level"] == "problem"
    assert "claude 9.1.2 advisory only" in check["message"]
    assert "git-hooks" in check["fix"]

    person.has("obeys", version="9.2.0")
    person.tries("claude")
    assert person.check()["level"] == "ok"


def test_clients_are_named_only_for_what_is_done_with_them(person: Person) -> None:
    ended = person.says("doctor", "claude")
    assert ended.returncode == 2
    assert "--live" in ended.stderr


def test_the_room_says_whose_refusals_stop_nothing(world: World) -> None:
    world.room.outside = Outside({}, str(world.home))
    kept: dict[str, Any] = {"client": "claude", "agent": "claude-code", "version": "9.1.2", "at": 1}
    proofs.note(str(world.home), kept | {"result": "advisory only", "stopped": {"edit": False}})
    world.agent("claude-code").ask("room", status="working")
    world.agent("codex").ask("room", status="working")
    agents = world.agent("gemini").ask("room")["agents"]
    assert {agent["agent"]: agent.get("hooks") for agent in agents} == {"claude-code": "advisory only", "codex": None}


def test_room_and_status_say_it_to_people(person: Person, repo: Path) -> None:
    kept: dict[str, Any] = {"client": "claude", "agent": "claude-code", "version": "9.1.2", "at": 1}
    proofs.note(str(person.state), kept | {"result": "advisory only", "stopped": {"edit": False}})
    begins = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "session-1", "cwd": str(repo)}
    assert person.says("hook", "claude", told=json.dumps(begins)).returncode == 0
    shown = person.says("-C", str(repo), "room").stdout
    assert "claude-code: advisory only; a refusal does not stop what it writes" in shown
    assert "advisory only: claude-code" in person.says("-C", str(repo), "status").stdout


@pytest.mark.parametrize("client", DRIVERS)
def test_the_real_client_enforces(client: str, person: Person) -> None:
    variable = f"CLEARWAY_TEST_{client.upper()}"
    if not os.environ.get(variable):
        pytest.skip(f"{variable} is not set: it names the {client} program for tests with the real client")
    person.environ |= {variable: os.environ[variable], "PATH": os.environ["PATH"]}
    proof = person.tries(client)
    assert (proof.result, proof.stopped) == ("enforced", {"edit": True, "shell": True}), proof.told
    assert list(person.temporary.iterdir()) == []


def _is_over(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def _connect(proxy: str, address: str) -> int:
    import socket

    host, port = proxy.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
        return int(connection.recv(100).split()[1])
