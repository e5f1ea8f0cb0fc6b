"""The resident host: one at a time, the same answers as without it, and nobody who can hold it up."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import test_house
from tests.conftest import HandClock
from tests.surfaces.hosted import Hosted, answer_of, hosted

import clearway
from clearway import catalog, config, platforms, retention
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.limits import HOST_FIRST_WORD_MS, HOST_IDLE_MS, HOST_LINE_BYTES_MAX
from clearway.rooms import Rooms
from clearway.setup import doctor
from clearway.surfaces import faststep, hooks, host, host_answers, host_start, host_talk, host_wire
from clearway.surfaces.remote import Remote


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


@pytest.fixture
def running(environ: dict[str, str]) -> Iterator[Hosted]:
    with hosted(environ) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def on_each_engine(request: pytest.FixtureRequest, environ: dict[str, str], repo: Path) -> Iterator[Hosted]:
    """A host whose repository has its room in a file, and on a server."""
    project = Clock().new_id()
    (repo / config.POINTER).write_text(config.pointer_text(project))
    if request.param == "postgres":
        folder = Path(environ["CLEARWAY_HOME"], "rooms", project)
        folder.mkdir(parents=True)
        (folder / "address").write_text(request.getfixturevalue("postgres_dsn"))
    with hosted(environ) as made:
        yield made
        assert not [said for said in made.said if "defect" in said]


def edit(repo: Path, session: str, file: str = "free.txt") -> bytes:
    payload: dict[str, Any] = {"hook_event_name": "PreToolUse", "session_id": session, "cwd": str(repo)}
    given = {"file_path": str(repo / file), "old_string": "a", "new_string": "b"}
    return json.dumps(payload | {"tool_name": "Edit", "tool_input": given}).encode()


def prompt(repo: Path, session: str) -> bytes:
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(repo), "prompt": "Go on."}
    return json.dumps(payload).encode()


# --- one at a time ----------------------------------------------------------------------------------------------------


def test_a_second_host_is_refused_and_the_first_goes_on(running: Hosted) -> None:
    assert not host.Host(Settings(running.environ)).take_office()
    assert host_start.status(running.home) is not None


def test_of_two_that_start_at_once_one_is_the_host_a_hundred_times(environ: dict[str, str]) -> None:
    for _ in range(100):
        both = [host.Host(Settings(environ)), host.Host(Settings(environ))]
        start, won = threading.Barrier(2), [False, False]

        def begin(place: int, both: Any = both, start: Any = start, won: Any = won) -> None:
            both[place].tries = 1
            start.wait()
            won[place] = both[place].take_office()

        threads = [threading.Thread(target=begin, args=(place,)) for place in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [False, True]
        for each in both:
            each.leave("the round is over")
        winner = both[won.index(True)]
        winner.serve()
        both[won.index(False)].close()


def test_the_socket_is_its_owners_alone(running: Hosted) -> None:
    address = host_wire.address(running.home)
    assert stat.S_IMODE(os.stat(address).st_mode) == 0o600


def test_a_socket_that_a_killed_host_left_is_no_obstacle(environ: dict[str, str]) -> None:
    folder = Path(environ["CLEARWAY_HOME"], "run")
    folder.mkdir(parents=True)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(folder / "host.sock"))
    left.close()
    assert host_start.status(environ["CLEARWAY_HOME"]) is None
    with hosted(environ) as running:
        assert running.request("host_status")["ok"]


def test_a_home_whose_name_is_too_long_for_a_socket_has_one_elsewhere(tmp_path: Path, repo: Path) -> None:
    home = tmp_path / ("a" * 60) / ("b" * 60)
    runtime = tmp_path / "rt"
    runtime.mkdir(mode=0o700)
    environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PATH": "/usr/bin"}
    if len(str(runtime)) > 60:
        del environ["XDG_RUNTIME_DIR"]
    with hosted(environ) as running:
        address = host_wire.address(str(home))
        assert address and len(os.fsencode(address)) <= 100
        assert stat.S_IMODE(os.stat(os.path.dirname(address)).st_mode) == 0o700
        assert running.hook("claude", edit(repo, "s1"), environ) is not None
    assert not os.path.exists(address)


# --- hooks ------------------------------------------------------------------------------------------------------------


def test_a_hook_is_answered_as_it_would_answer_itself(on_each_engine: Hosted, repo: Path) -> None:
    running = on_each_engine
    taken = running.hook("claude", edit(repo, "s1"), running.environ)
    assert taken is not None and (taken.out, taken.err, taken.code) == ("", "", 0)
    refused = running.hook("claude", edit(repo, "s2"), running.environ)
    assert refused is not None and "free.txt is held by claude-code" in refused.out
    assert hooks.answer("claude", edit(repo, "s2"), running.environ) == (refused.out, refused.err, refused.code)


def test_a_path_is_one_of_the_callers_folder_and_never_of_the_hosts(
    on_each_engine: Hosted, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P11: the host works elsewhere, and everybody names the file from the repository."""
    running = on_each_engine
    monkeypatch.chdir(tmp_path)
    caller = {"agent": "gamma", "session": "g1", "cwd": str(repo), "pid": os.getpid()}
    claimed = running.request("claim_paths", args={"paths": ["held.txt"]}, caller=caller)
    assert [lease["path"] for lease in claimed["result"]["granted"]] == ["held.txt"]
    relative = json.loads(edit(repo, "s1"))
    relative["tool_input"]["file_path"] = "held.txt"
    for payload in (edit(repo, "s1", "held.txt"), json.dumps(relative).encode()):
        refused = running.hook("claude", payload, running.environ)
        assert refused is not None and "held.txt is held by gamma" in refused.out
    assert not (tmp_path / "held.txt").exists()


def test_what_no_client_has_read_is_told_again(on_each_engine: Hosted, repo: Path) -> None:
    """A hook that is killed between its host and its client shows the text again."""
    running = on_each_engine
    running.hook("claude", edit(repo, "s1"), running.environ)
    rooms = Rooms(Settings(running.environ))
    human = Caller("human", cwd=str(repo), host=rooms.liveness.host, human=True)
    rooms.ask(catalog.OPERATIONS["release_paths"], {"paths": ["free.txt"], "force": True}, human)
    rooms.close()
    unread = running.hook("claude", prompt(repo, "s1"), running.environ, takes=False)
    assert unread is not None and "free.txt" in unread.out
    again = running.hook("claude", prompt(repo, "s1"), running.environ)
    assert again is not None and again.out == unread.out
    quiet = running.hook("claude", prompt(repo, "s1"), running.environ)
    assert quiet is not None and quiet.out == ""


def test_a_hook_that_means_another_room_or_person_is_left_to_itself(running: Hosted, repo: Path) -> None:
    for other in ({"HOME": "/"}, {"CLEARWAY_ROOM": "/nowhere/room.db"}, {"CLEARWAY_HOME": str(repo)}):
        assert running.hook("claude", edit(repo, "s1"), running.environ | other) is None


def test_a_hook_that_sees_another_machine_is_left_to_itself(
    running: Hosted, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platforms, "shares_our_view", lambda pid: False)
    assert running.hook("claude", edit(repo, "s1"), running.environ) is None


@pytest.mark.parametrize(
    ("code", "answered"), [("STORAGE_FAILURE", False), ("INTERNAL", False), ("STORAGE_BUSY", True)]
)
def test_a_room_that_fails_the_host_is_left_to_the_hook_itself(
    running: Hosted, repo: Path, monkeypatch: pytest.MonkeyPatch, code: str, answered: bool
) -> None:
    """The host's disk may be full where the client's is not; a busy room is busy for both."""

    def fail(_: object) -> None:
        raise Refusal(code, "The disk is full.")

    monkeypatch.setattr(hooks, "decide", fail)
    said = running.hook("claude", edit(repo, "s2"), running.environ)
    assert (said is not None) is answered
    assert said is None or "guard open" in said.err
    assert Path(running.home, "run/guard-open").exists() is answered


def test_another_version_of_the_frame_is_not_answered(running: Hosted, repo: Path) -> None:
    """Old host, new client."""
    frame = faststep.frame("claude", edit(repo, "s1"), {b"CLEARWAY_HOME": running.home.encode()})
    assert running.line(frame.replace(b"hook 1 ", b"hook 2 ", 1)) == b""
    assert running.request("host_status")["ok"]


def test_what_may_sway_an_answer_is_told_to_the_host() -> None:
    """Every variable that modules of the hook read has a name that the fast step passes on."""
    import re

    source = Path(clearway.__file__).parent
    files = [source / "config.py", source / "policy.py", source / "surfaces/callers.py", source / "platforms.py"]
    files += sorted((source / "surfaces/clients").glob("*.py")) + sorted((source / "surfaces/moments").glob("*.py"))
    files += sorted((source / "guard").glob("*.py"))
    reading = re.compile(
        r"environ(?:\.get\(|\[)\s*\"([A-Z][A-Z0-9_]+)\"|_number\(environ, \"([A-Z_]+)\"|\"([A-Z]+_[A-Z_]+)\""
    )
    names = {name for file in files for found in reading.findall(file.read_text()) for name in found if name}
    clients = tuple(name.upper() for name in hooks.CLIENTS)
    variables = {name for name in names if name.startswith((*clients, "CLEARWAY_", "AGENT_LEASE", "GIT_", "HOME"))}
    assert {"CLEARWAY_FAIL_CLOSED", "CLAUDE_PID", "CODEX_THREAD_ID", "OPENCODE_PID", "HOME"} <= variables
    assert not [name for name in variables if not name.encode().startswith(faststep.TOLD)]


def test_a_hook_whose_host_answers_loads_next_to_nothing(repo: Path) -> None:
    environ = {"HOME": str(repo), "CLEARWAY_HOME": str(repo.parent / "state"), "PATH": os.environ["PATH"]}
    code = "from clearway.surfaces import faststep\nfaststep.main('claude')"
    nothing = test_house._loaded("import os", repo)
    with hosted(environ) as running:
        for event in (test_house.AT_START, test_house.BEFORE_EDIT, test_house.BEFORE_SHELL, test_house.AT_PROMPT):
            more = test_house._loaded(code, repo, event) - nothing
            assert more == {"__future__", "_socket", "clearway", "clearway.surfaces", "clearway.surfaces.faststep"} | (
                {"gc"} if "gc" in more else set()
            )
        assert running.host.asked == 4


# --- requests ---------------------------------------------------------------------------------------------------------


def test_an_operation_is_asked_over_the_socket(on_each_engine: Hosted, repo: Path) -> None:
    running = on_each_engine
    caller = {"agent": "anna", "session": "a1", "cwd": str(repo), "pid": os.getpid()}
    made = running.request("create_issue", args={"title": "One"}, caller=caller)
    assert made["v"] == 1 and made["ok"] and made["result"]["display_id"] == "ISSUE-1"
    refused = running.request("get_issue", args={"issue_id": "ISSUE-9"}, caller=caller)
    assert not refused["ok"] and refused["error"]["code"] == "ISSUE_NOT_FOUND"


def test_a_room_far_away_is_asked_like_one_at_hand(on_each_engine: Hosted, repo: Path) -> None:
    running = on_each_engine
    here = Rooms(Settings(running.environ))
    caller = Caller("anna", "a1", cwd=str(repo), host=here.liveness.host, process=here.liveness.identify(os.getpid()))
    with Remote(running.home) as remote:
        made = remote.ask(catalog.OPERATIONS["create_issue"], {"title": "One"}, caller)
        asked: dict[str, Any] = {"issue_id": made["display_id"]}
        assert remote.ask(catalog.OPERATIONS["get_issue"], asked, caller) == here.ask(
            catalog.OPERATIONS["get_issue"], asked, caller
        )
        with pytest.raises(Refusal) as far:
            remote.ask(catalog.OPERATIONS["get_issue"], {"issue_id": "ISSUE-9"}, caller)
    with pytest.raises(Refusal) as near:
        here.ask(catalog.OPERATIONS["get_issue"], {"issue_id": "ISSUE-9"}, caller)
    assert far.value.as_dict() == near.value.as_dict()
    here.close()


def test_an_agents_client_cannot_speak_for_a_person(
    running: Hosted, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    human = {"human": True, "cwd": str(repo)}
    monkeypatch.setattr(host_answers.callers.alive, "ancestors", lambda pid=None: [(7, "claude", "claude")])
    refused = running.request("pause_guard", args={}, caller=human)
    assert refused["error"]["code"] == "FORBIDDEN"
    monkeypatch.setattr(host_answers.callers.alive, "ancestors", lambda pid=None: [(7, "bash", "bash")])
    assert running.request("pause_guard", args={}, caller=human)["ok"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"v":2,"op":"room"}\n', "UNSUPPORTED_FORMAT_VERSION"),
        (b'{"op":"room"}\n', "UNSUPPORTED_FORMAT_VERSION"),
        (b'{"v":1}\n', "INVALID_ARGUMENT"),
        (b'{"v":1,"op":"no_such_thing"}\n', "INVALID_ARGUMENT"),
        (b'{"v":1,"op":"room","caller":[]}\n', "INVALID_ARGUMENT"),
        (b'{"v":1,"op":"room","caller":{"agent":"a","session":7}}\n', "INVALID_ARGUMENT"),
        (b'{"v":1,"op":"room","caller":{"agent":"human"}}\n', "RESERVED_NAME"),
        (b"{nonsense}\n", "INVALID_ARGUMENT"),
    ],
)
def test_a_bad_request_is_refused(running: Hosted, line: bytes, code: str) -> None:
    said = json.loads(running.line(line))
    assert (said["v"], said["ok"], said["error"]["code"]) == (1, False, code)


def test_several_requests_may_follow_each_other(running: Hosted) -> None:
    with running.connect() as connection:
        for _ in range(3):
            connection.sendall(b'{"v":1,"op":"host_status"}\n')
            assert json.loads(answer_of(connection))["ok"]


# --- those who disturb ------------------------------------------------------------------------------------------------


def test_two_hundred_who_say_nothing_hold_up_nobody(environ: dict[str, str], clock: HandClock, repo: Path) -> None:
    with hosted(environ, clock) as running:
        idle = [running.connect() for _ in range(200)]
        assert running.hook("claude", edit(repo, "s1"), environ) is not None
        clock.forward(ms=HOST_FIRST_WORD_MS + 1)
        running.host.later(lambda: None)
        assert all(connection.recv(1) == b"" for connection in idle)
        for connection in idle:
            connection.close()


def test_an_endless_line_is_cut_off(running: Hosted) -> None:
    with running.connect() as connection:
        try:
            connection.sendall(b'{"v":1,"op":"' + b"x" * (HOST_LINE_BYTES_MAX + 1_000_000))
        except OSError:
            pass  # it has hung up already
        assert answer_of(connection) == b""
    assert running.request("host_status")["ok"]


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", b"\x00\x01\x02\n", b"hook 1 claude x y z\n", b"hook" * 100]
)
def test_what_is_no_frame_is_cut_off(running: Hosted, data: bytes) -> None:
    assert running.line(data) == b""
    assert running.request("host_status")["ok"]


def test_half_a_frame_waits_for_the_rest(running: Hosted, repo: Path) -> None:
    frame = faststep.frame(
        "claude", edit(repo, "s1"), {name.encode(): v.encode() for name, v in running.environ.items()}
    )
    with running.connect() as connection:
        for part in (frame[:3], frame[3:40], frame[40:]):
            connection.sendall(part)
            assert running.request("host_status")["ok"]
        assert answer_of(connection).startswith(b"1 0 ")


def test_who_hangs_up_early_is_forgotten(running: Hosted, repo: Path) -> None:
    frame = faststep.frame(
        "claude", edit(repo, "s1"), {name.encode(): v.encode() for name, v in running.environ.items()}
    )
    for data in (b"", frame[:50], frame, b'{"v":1,"op":"host_status"}\n'):
        connection = running.connect()
        connection.sendall(data)
        connection.close()
    assert running.request("host_status")["ok"]


def test_another_user_is_not_let_in(running: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = running.connect()
    connection.close()
    monkeypatch.setattr(host.platforms, "peer", lambda connection: (os.getuid() + 1, 7))
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(host_wire.address(running.home))
    raw.settimeout(10)
    try:
        raw.sendall(b'{"v":1,"op":"host_status"}\n')
        assert answer_of(raw) == b""
    except BrokenPipeError:
        pass  # it was quicker
    finally:
        raw.close()


def test_a_socket_of_another_user_is_not_spoken_to(running: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_wire.platforms, "peer", lambda connection: (os.getuid() + 1, 7))
    assert host_wire.connect(running.home, 1) is None


# --- when it leaves ---------------------------------------------------------------------------------------------------


def test_it_leaves_when_nobody_needs_it(environ: dict[str, str], clock: HandClock) -> None:
    running = Hosted(environ, clock)
    client = running.connect()
    client.sendall(b'{"v":1,"op":"host_status"}\n')
    assert answer_of(client)
    clock.forward(ms=HOST_IDLE_MS + 1)
    running.host.later(running.host.look_around)
    assert running.request("host_status")["ok"]  # somebody is there
    client.close()
    running.host.later(running.host.look_around)
    clock.forward(ms=HOST_IDLE_MS + 1)
    while running.thread.is_alive():
        running.host.later(running.host.look_around)
        running.thread.join(0.05)
        clock.forward(ms=HOST_IDLE_MS + 1)
    assert running.host.leaving == "nobody needed it"
    assert not os.path.exists(host_wire.address(running.home))


def test_it_leaves_when_its_product_is_exchanged(running: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_product", lambda: (1, 2, 3))
    running.host.later(running.host.look_around)
    running.thread.join(20)
    assert running.host.leaving == "the product was exchanged"


def test_it_leaves_when_its_home_is_gone(running: Hosted) -> None:
    os.unlink(host_wire.address(running.home))
    running.host.later(running.host.look_around)
    running.thread.join(20)
    assert running.host.leaving == "its socket is gone"


def test_only_a_newer_version_takes_its_place(running: Hosted) -> None:
    """C32."""
    refused = running.request("host_give_way", args={"version": clearway.__version__})
    assert refused["error"]["code"] == "FORBIDDEN"
    assert running.request("host_give_way", args={"version": "999.0"})["ok"]
    running.thread.join(20)
    assert running.host.leaving == "a newer version takes its place"


@pytest.mark.parametrize(
    ("version", "than", "newer"),
    [
        ("0.2.0", "0.1.9", True),
        ("0.10.0", "0.9.0", True),
        ("1.0", "1.0", False),
        ("0.1", "0.2", False),
        ("", "1", False),
    ],
)
def test_versions_are_compared_as_numbers(version: str, than: str, newer: bool) -> None:
    assert host_answers.is_newer(version, than) is newer


# --- what it does unasked ---------------------------------------------------------------------------------------------


def test_it_lets_time_pass_in_rooms_that_nobody_asks(environ: dict[str, str], repo: Path, tmp_path: Path) -> None:
    clock_file = tmp_path / "clock"
    clock_file.write_text("1000000 1780000000000")
    environ = environ | {"CLEARWAY_TEST_CLOCK": str(clock_file)}
    with hosted(environ) as running:
        rooms = Rooms(Settings(environ))
        alone = Caller("anna", host=rooms.liveness.host, cwd=str(repo))
        rooms.ask(catalog.OPERATIONS["claim_paths"], {"paths": ["free.txt"], "ttl_seconds": 60}, alone)
        clock_file.write_text("1100000 1780000000000")
        done = threading.Event()
        running.host.workers.submit(lambda worker: (running.host.duties.sweep(worker), done.set()))
        assert done.wait(20)
        room = rooms.of_folder(str(repo))
        log = room.ask(catalog.OPERATIONS["get_changes"], {}, alone)
        rooms.close()
    assert [event for event in log["events"] if event["type"] == "paths_released"], log
    assert list(Path(running.home, "rooms").glob("*/backups/daily-*.db"))
    assert not running.said


# --- what doctor says of it -------------------------------------------------------------------------------------------


def test_doctor_tells_how_the_host_is(environ: dict[str, str], repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> tuple[str, str]:
        found = doctor.examine(Settings(environ), str(repo), ask_host=host_start.status)
        check = next(check for check in found if check["name"] == "host")
        return check["level"], check["message"]

    assert told() == ("ok", "no host is running; everything works without it")
    with hosted(environ) as running:
        assert told() == ("ok", f"host {os.getpid()} answers for this home")
        with monkeypatch.context() as patch:
            patch.setattr(doctor, "__version__", "0.0.9")
            assert told()[0] == "notice" and "this is 0.0.9" in told()[1]
        with monkeypatch.context() as patch:
            patch.setattr(host_wire, "connect", lambda home, seconds: None)
            assert told() == ("notice", "a host is running and does not answer; clients do without it")
        running.host.failed = 2
        assert told()[0] == "notice" and "2 times" in told()[1]
    assert told()[0] == "ok"


# --- conversations ----------------------------------------------------------------------------------------------------

TALK = b'{"v":1,"op":"mcp","args":{"words":[]},"caller":{"cwd":"/"}}\n'
HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "zed", "version": "1"}},
    }
).encode()
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


def talking(running: Hosted) -> socket.socket:
    """A relay that has introduced its client."""
    connection = running.connect()
    connection.sendall(TALK)
    assert json.loads(answer_of(connection))["ok"]
    connection.sendall(HELLO + b"\n")
    assert json.loads(answer_of(connection))["id"] == 1
    connection.sendall(READY)
    return connection


def test_a_client_that_never_listens_holds_up_nobody(running: Hosted, repo: Path) -> None:
    deaf = talking(running)
    deaf.setblocking(False)
    asked = b'{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n'
    for _ in range(200):  # two megabytes of answers
        try:
            deaf.send(asked)
        except BlockingIOError:
            break
    for _ in range(5):
        assert running.hook("claude", edit(repo, "s1"), running.environ) is not None
        assert running.request("host_status")["ok"]
    deaf.close()


def test_a_client_may_not_pile_up_calls_without_end(running: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_talk, "HOST_WAITING_MAX", 3)
    held = threading.Event()
    monkeypatch.setattr(host_talk.Talk, "ask", lambda *_: held.wait(20) and {})
    with talking(running) as connection:
        for place in range(6):
            call = {"jsonrpc": "2.0", "id": 10 + place, "method": "tools/call", "params": {"name": "room"}}
            connection.sendall(json.dumps(call).encode() + b"\n")
        lines = connection.makefile("rb")
        refused = [json.loads(lines.readline())]
        held.set()
        heard = refused + [json.loads(lines.readline()) for _ in range(5)]
    assert sorted(answer["id"] for answer in heard) == [10, 11, 12, 13, 14, 15]
    assert "RATE_LIMITED" in refused[0]["result"]["content"][0]["text"]


def test_a_cancelled_call_is_not_answered_and_gives_back_what_it_took(
    running: Hosted, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def ask(self: object, worker: object, operation: Any, *_: object) -> dict[str, Any]:
        asked.append(operation.name)
        begun.set()
        assert go_on.wait(20)
        return {"attempt_id": "A1"}

    monkeypatch.setattr(host_talk.Talk, "ask", ask)
    with talking(running) as connection:
        for identity, tool in ((20, "claim_issue"), (21, "create_issue"), (22, "room")):
            call = {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": {"name": tool}}
            connection.sendall(json.dumps(call).encode() + b"\n")
        assert begun.wait(20)
        for identity in (20, 21):
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": identity}}
            connection.sendall(json.dumps(note).encode() + b"\n")
        connection.sendall(b'{"jsonrpc":"2.0","id":30,"method":"ping"}\n')
        assert json.loads(answer_of(connection))["id"] == 30  # by now it has heard that
        go_on.set()
        assert json.loads(answer_of(connection))["id"] == 22
    assert asked == ["claim_issue", "release_attempt", "room"]


# --- workers ----------------------------------------------------------------------------------------------------------


def test_questions_that_wait_for_something_hold_up_nobody(running: Hosted, repo: Path) -> None:
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def wait(_: object) -> None:
        begun.release()
        assert go_on.wait(20)

    for _ in range(6):
        running.host.workers.submit(wait)
    for _ in range(6):
        assert begun.acquire(timeout=20)  # though two are at work at once as a rule
    assert running.hook("claude", edit(repo, "s1"), running.environ) is not None
    go_on.set()


def test_a_worker_that_fails_works_on(running: Hosted) -> None:
    done, told = threading.Event(), threading.Event()

    def say(text: str) -> None:
        running.said.append(text)
        told.set()

    running.host.say = say
    running.host.workers.submit(lambda _: 1 / 0)
    assert told.wait(20)
    running.host.workers.submit(lambda _: done.set())
    assert done.wait(20)
    assert "ZeroDivisionError" in running.said[0]


def test_a_room_that_somebody_is_in_is_rid_of_what_is_old_and_its_state_is_kept(
    on_each_engine: Hosted, repo: Path
) -> None:
    running = on_each_engine
    assert running.hook("claude", edit(repo, "s1"), running.environ) is not None
    done = threading.Event()
    running.host.workers.submit(lambda worker: (running.host.duties.sweep(worker), done.set()))
    assert done.wait(20)
    rooms = Rooms(Settings(running.environ))
    alone = Caller("anna", host="here")
    kept = rooms.of_folder(str(repo)).run(lambda tx: tx.one(retention.SQL.newest_keyframe), caller=alone, writes=False)
    rooms.close()
    assert kept is not None and kept.event > 0
    assert not running.said


def test_who_has_died_loses_his_paths_though_nobody_asks(on_each_engine: Hosted, repo: Path) -> None:
    """The kill of a client is noticed by the next look at its room."""
    running = on_each_engine
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert running.hook("claude", edit(repo, "s1"), running.environ | {"CLAUDE_PID": str(child.pid)}) is not None
    child.kill()
    child.communicate()
    done = threading.Event()
    running.host.workers.submit(lambda worker: (running.host.duties.sweep(worker), done.set()))
    assert done.wait(20)
    rooms = Rooms(Settings(running.environ))
    log = rooms.of_folder(str(repo)).ask(catalog.OPERATIONS["get_changes"], {}, Caller("anna", host="here"))
    rooms.close()
    assert "paths_released" in [event["type"] for event in log["events"]], log


_HANGS = """
import os, sys, time
from clearway import platforms
held = platforms.hold_alone(sys.argv[1])
os.write(held, str(os.getpid()).encode())
print("in office", flush=True)
time.sleep(600)
"""


_FEW = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (48, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
from clearway.surfaces import host
host.main()
"""


def test_a_host_has_descriptors_for_all_its_clients(environ: dict[str, str], repo: Path) -> None:
    """Whatever whoever started it was granted: macOS begins with 256, and a client takes two."""
    home = environ["CLEARWAY_HOME"]
    platforms.make_private(host_wire.folder(home))
    with subprocess.Popen([sys.executable, "-c", _FEW], env=environ, stderr=subprocess.DEVNULL) as started:
        for _ in range(1_000):
            if host_start.status(home) is not None:
                break
            Clock().pause(10)
        try:
            clients = [host_wire.connect(home, 10) for _ in range(100)]
            assert (host_start.status(home) or {}).get("pid") == started.pid
            for each in clients:
                assert each is not None
                each.close()
            assert host_start.stop(home) and started.wait(timeout=20) == 0
        finally:
            started.kill()


def test_a_host_without_descriptors_rests_until_it_has_some(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that cannot be let in waits; to try again at once would keep a processor busy."""
    rests: list[float] = []

    class Rests(Clock):
        def pause(self, milliseconds: float) -> None:
            rests.append(milliseconds)

    class Full:
        def accept(self) -> None:
            raise OSError(errno.EMFILE, "Too many open files")

    made = host.Host(Settings(environ), Rests())
    monkeypatch.setattr(made, "_listener", Full())
    made._let_in()
    assert rests and rests[0] > 0
    monkeypatch.setattr(made, "_listener", None)
    made.close()


def test_a_host_that_hangs_is_told_of_and_ended(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """C32: no lock is ever removed by hand."""
    monkeypatch.setattr(host_start, "HOST_ANSWER_MS", 2_000)
    home = environ["CLEARWAY_HOME"]
    platforms.make_private(host_wire.folder(home))
    words = [sys.executable, "-c", _HANGS, host_wire.lock_file(home)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as hanging:
        assert hanging.stdout is not None and hanging.stdout.readline() == b"in office\n"
        assert host_start.status(home) is None and host_start.in_office(home) == hanging.pid
        assert host_start.stop(home)
        assert hanging.wait(timeout=10) == -9
    assert host_start.in_office(home) == 0
    assert not host_start.stop(home)
