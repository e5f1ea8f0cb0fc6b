"""`clearway doctor --live`: does a denial really stop a write? The clients that are installed here are asked.

Each is started in a place of its own: a fresh home in which nothing but `connect` and what signs it in has written, a
repository with files that somebody else holds, and a model on 127.0.0.1 that plays a script. It writes free files and
held ones, with its editing tool and by a shell command; then the files are looked at. A held file that was written
makes the client advised only. What was merely not written proves nothing: the free file must have been written in the
same way, and the guard must have refused.

Nothing of the person's is read or changed. The client is told no address but the model's; whatever asks a proxy
meets that model, which passes nothing on. It ends in time, with all that it started.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clearway import platforms, proofs
from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.proofs import ADVISORY, ENFORCED, UNPROVED
from clearway.rooms import Rooms
from clearway.setup import connect
from clearway.setup.live_clients import DRIVERS, Driver
from clearway.setup.live_model import Performance, ScriptedModel, Shown, each, say
from clearway.untrusted import folded, quoted

SECONDS_MAX = 60
WAYS = {"edit": "its editing tool", "shell": "a shell command"}
_VERSION_SECONDS_MAX = 20
_GIT_SECONDS_MAX = 10
_ROUNDS_MAX = 5
_SAID_BYTES = 4_096
_KEEPER = "canary-keeper"
_OLD, _NEW = "canary = 1", "canary = 2"
_PROMPT = "Do what the script says."
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+]\w[.\w]{0,40})?")


@dataclass(frozen=True)
class Proof:
    """What was found of one client. stopped: for each way to write, whether a denial stops it; absent: not proved."""

    client: str
    agent: str
    version: str
    result: str
    stopped: dict[str, bool] = field(default_factory=dict[str, bool])
    why: str = ""

    @property
    def told(self) -> str:
        """In one line."""
        named = f"{self.client} {self.version}".rstrip()
        return f"{named}: {self.result}" + (f" ({self.why})" if self.why else "")

    @property
    def facts(self) -> dict[str, Any]:
        """For programs, without what is empty."""
        said: dict[str, Any] = {"client": self.client, "version": self.version, "result": self.result}
        return {name: value for name, value in (said | {"stopped": self.stopped, "why": self.why}).items() if value}


def prove(
    clients: Sequence[str],
    settings: Settings,
    clock: Clock,
    *,
    say: Callable[[str], None] = lambda _: None,
    seconds_max: float = SECONDS_MAX,
) -> list[Proof]:
    """Try these clients, or without names all that are found here. What is found is kept, and said as it comes.

    say: hears one line about each.
    """
    environ = settings.environ
    _check_names(clients)
    found: list[Proof] = []
    chosen = clients or _here(environ)
    if not chosen:
        say(f"no client is here that a script can drive: {', '.join(DRIVERS)}")
    with _leaving_in_order():
        for client in chosen:
            proof = _prove(client, environ, clock, seconds_max)
            if proof.version:
                proofs.note(settings.home, {"stopped": {}, **proof.facts, "agent": proof.agent, "at": clock.wall()})
            say(proof.told)
            found.append(proof)
    return found


def program_of(client: str, environ: Mapping[str, str]) -> str | None:
    """The program of a client: named by the variable that the tests with real clients use, else on the path."""
    named = environ.get(f"CLEARWAY_TEST_{client.upper()}", "")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    return shutil.which(DRIVERS[client].program, path=environ.get("PATH", ""))


def _here(environ: Mapping[str, str]) -> list[str]:
    return [client for client in DRIVERS if program_of(client, environ)]


def _check_names(clients: Sequence[str]) -> None:
    for client in clients:
        if client not in connect.CLIENTS:
            known = ", ".join(connect.CLIENTS)
            raise Refusal("INVALID_ARGUMENT", f"{client!r} is not a client we know; choose {known}.")


def _prove(client: str, environ: Mapping[str, str], clock: Clock, seconds_max: float) -> Proof:
    driver = DRIVERS.get(client)
    if driver is None:
        return Proof(client, client, "", UNPROVED, why="no script can drive it here without an account")
    if not hasattr(os, "killpg"):
        return Proof(client, driver.agent, "", UNPROVED, why="nothing can be tried on this system")
    program = program_of(client, environ)
    if program is None:
        return Proof(client, driver.agent, "", UNPROVED, why=f"no program {driver.program} on the path")
    if not os.access(program, os.X_OK):
        return Proof(client, driver.agent, "", UNPROVED, why=f"{program} cannot be run")
    ruler = next((file for file in driver.managed if os.path.exists(file)), "")
    version = ""
    try:
        with _cage(driver, program, environ, clock, seconds_max) as cage:
            version = cage.version()
            if ruler:
                raise _Unproved(f"{ruler} rules here and could lead it to another model")
            return _judged(driver, version, *cage.trial())
    except (_Unproved, Refusal) as reason:
        why = str(reason)
    except OSError as error:
        why = f"nothing can be tried here: {error.strerror or type(error).__name__}"
    return Proof(client, driver.agent, version, UNPROVED, why=why)


def _judged(driver: Driver, version: str, traces: Mapping[str, _Trace], ending: str) -> Proof:
    """The verdict, from what the files and the room say afterwards."""
    stopped = {way: verdict for way, trace in traces.items() if (verdict := trace.stopped) is not None}
    doubts = [f"{WAYS[way]}: {said}" for way, trace in traces.items() if (said := trace.doubt)]
    result = ADVISORY if False in stopped.values() else ENFORCED if len(stopped) == len(traces) else UNPROVED
    if ending and result == UNPROVED:
        doubts.append(ending)
    return Proof(driver.client, driver.agent, version, result, stopped, "; ".join(doubts))


class _Unproved(Exception):
    """Nothing can be said of this client, and why."""


@dataclass(frozen=True)
class _Trace:
    """What one way to write has left behind."""

    free_written: bool
    held_written: bool
    refused: bool

    @property
    def stopped(self) -> bool | None:
        if self.held_written:
            return False
        return True if self.free_written and self.refused else None

    @property
    def doubt(self) -> str:
        """What is to be said about it; nothing about a write that was stopped."""
        if self.held_written:
            return "refused, and written all the same" if self.refused else "written, and the guard was never asked"
        if not self.free_written:
            return "a free file was not written either"
        return "" if self.refused else "the guard was never asked, and yet nothing was written"


class _Cage:
    """The place in which one client is tried: folders, an environment that names nothing else, a limit of time."""

    def __init__(
        self, folder: str, driver: Driver, program: str, environ: Mapping[str, str], clock: Clock, seconds_max: float
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._deadline = clock.monotonic() + int(seconds_max * 1_000)
        self._seconds_max = seconds_max
        self._path = environ.get("PATH", os.defpath)
        self.folder = folder
        self.home, self.state = self._made("home"), self._made("state")
        self.repository, self._temporary = self._made("repository"), self._made("temporary")
        self._program = self._by_its_name(program)
        # Held by us, no host can be started for this home: none is left behind.
        os.mkdir(os.path.join(self.state, "run"), 0o700)
        self._no_host = platforms.hold_alone(os.path.join(self.state, "run", "host.lock"))
        self._model = ScriptedModel(self._script).begin()

    def environment(self) -> dict[str, str]:
        """All that is known here of the world. Every address in it is the model's."""
        ways_out = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), self._model.address)
        ways_out |= {name.lower(): value for name, value in ways_out.items()}
        near = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        own = self._driver.environment(self.home, self._model.address)
        return {
            "PATH": self._path,
            "HOME": self.home,
            "TMPDIR": self._temporary,
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "USER": "canary",
            "SHELL": "/bin/sh",
            "GIT_CONFIG_NOSYSTEM": "1",
            "CLAUDE_CODE_TMPDIR": self._temporary,
            "CLEARWAY_HOME": self.state,
            "CLEARWAY_HOST": "off",
            **ways_out,
            **near,
            **own,
        }

    def version(self) -> str:
        said, _ = self._run([self._program, "--version"], _VERSION_SECONDS_MAX)
        found = _VERSION.search(said)
        return found[0] if found else "unknown"

    def trial(self) -> tuple[dict[str, _Trace], str]:
        """What each way to write has left behind, and how the session ended if that was no good end."""
        self._settle()
        before = self._driver.first(self._program, self._model.address)
        command = self._driver.command(self._program, self._model.address)
        self._check_stays_here([*command, *(word for words in before for word in words)])
        for words in before:
            self._run(words)
        try:
            said, status = self._run([*command, _PROMPT])
            ending = "" if status == 0 else f"it ended with {status}: {_last_line(said)}"
        except _Unproved as reason:
            ending = str(reason)  # what it did until then is looked at
        if self._model.failure is not None:
            ending = f"the script failed: {quoted(str(self._model.failure), 200)}"
        if self._model.kept_away:
            ending = f"it wanted to go to {folded(self._model.kept_away[0], 80)} first; {ending}".rstrip("; ")
        if not self._model.turns:
            raise _Unproved(f"it never asked the model; {ending or 'it ended well'}")
        refused = self._refused()
        return {way: self._trace(way, refused) for way in WAYS}, ending

    def close(self) -> None:
        """End what is left of what was started here, on a system that shows whose it is."""
        end_started_with({"HOME": self.home, "CLEARWAY_HOME": self.state})
        self._model.end()
        if self._no_host is not None:
            os.close(self._no_host)

    # --- before -------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """A repository, files in it, our hooks in the client's settings, and somebody who holds half of the files."""
        git = ["git", "-c", "init.defaultBranch=main", "init", "--quiet", self.repository]
        try:
            subprocess.run(git, env=self.environment(), check=True, capture_output=True, timeout=_GIT_SECONDS_MAX)
        except (OSError, subprocess.SubprocessError) as error:
            raise _Unproved(f"git could make no repository: {type(error).__name__}") from error
        for kind in ("free", "held"):
            for way in WAYS:
                with open(self._file(kind, way), "w", encoding="ascii") as opened:
                    opened.write(f"{_OLD}\n")
        self._driver.prepare(self.home)
        environ = self.environment()
        connect.connect([self._driver.client], self.state, environ=environ, write=True)
        with self._rooms() as (rooms, keeper):
            held = [os.path.basename(self._file("held", way)) for way in WAYS]
            rooms.ask(OPERATIONS["claim_paths"], {"paths": held, "purpose": "clearway doctor --live"}, keeper)

    @contextlib.contextmanager
    def _rooms(self) -> Generator[tuple[Rooms, Caller]]:
        rooms = Rooms(Settings(self.environment()))
        try:
            yield rooms, Caller(_KEEPER, cwd=self.repository, host=rooms.liveness.host)
        finally:
            rooms.close()

    def _check_stays_here(self, words: Sequence[str]) -> None:
        """It is not started unless something of its own that it is told leads it to our model."""
        address = self._model.address
        if not any(address in told for told in (*words, *self._driver.environment(self.home, address).values())):
            raise _Unproved("no setting is known that keeps it on this machine")

    def _by_its_name(self, program: str) -> str:
        """The program under the name a person's shell finds it by: the product knows clients by that."""
        if os.path.basename(program) == self._driver.program:
            return program
        link = os.path.join(self._made("programs"), self._driver.program)
        os.symlink(os.path.realpath(program), link)
        return link

    # --- meanwhile ----------------------------------------------------------------------------------------------

    def _script(self, shown: Shown) -> Performance:
        for kind in ("free", "held"):
            yield from each(self._driver.edits(self.repository, self._file(kind, "edit"), _OLD, _NEW))
            yield self._driver.shell(f"echo '{_NEW}' > {os.path.basename(self._file(kind, 'shell'))}")
        yield say("finished")

    def _run(self, command: Sequence[str], seconds: float | None = None) -> tuple[str, int]:
        """Run something to its end: what it said last, and its exit status. Its process group ends with it."""
        left = max(0.0, (self._deadline - self._clock.monotonic()) / 1_000)
        own = seconds is not None and seconds < left
        with tempfile.TemporaryFile(dir=self.folder) as said:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=self.repository,
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise _Unproved(f"it cannot be started: {error.strerror}") from error
            try:
                status = process.wait(seconds if own else left)
            except subprocess.TimeoutExpired:
                limit = f"{seconds:g} s, asked for its version" if own else f"{self._seconds_max:g} s"
                raise _Unproved(f"it did not end in {limit}") from None
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            said.seek(max(0, said.seek(0, os.SEEK_END) - _SAID_BYTES))
            return said.read().decode("utf-8", "replace"), status

    # --- afterwards ---------------------------------------------------------------------------------------------

    def _refused(self) -> set[str]:
        """The held files of which the guard has refused a write, as the room's log tells."""
        with self._rooms() as (rooms, keeper):
            asked = {"since_event_id": 0, "event_types": ["refused"]}
            events = rooms.ask(OPERATIONS["get_changes"], asked, keeper)["events"]
        return {str(event["data"].get("subject")) for event in events}

    def _trace(self, way: str, refused: set[str]) -> _Trace:
        held = self._file("held", way)
        free_written, held_written = _is_changed(self._file("free", way)), _is_changed(held)
        return _Trace(free_written, held_written, os.path.basename(held) in refused)

    def _file(self, kind: str, way: str) -> str:
        return os.path.join(self.repository, f"{kind}-{way}.txt")

    def _made(self, name: str) -> str:
        folder = os.path.join(self.folder, name)
        os.mkdir(folder, 0o700)
        return folder


@contextlib.contextmanager
def _cage(
    driver: Driver, program: str, environ: Mapping[str, str], clock: Clock, seconds_max: float
) -> Generator[_Cage]:
    """A cage, gone afterwards with everything in it."""
    with tempfile.TemporaryDirectory(prefix="clearway-live-", ignore_cleanup_errors=True) as folder:
        cage = _Cage(os.path.realpath(folder), driver, program, environ, clock, seconds_max)
        try:
            yield cage
        finally:
            cage.close()


def end_started_with(variables: Mapping[str, str]) -> None:
    """End every process that was started with one of these in its environment, where /proc tells."""
    marks = {f"{name}={value}".encode() for name, value in variables.items()}
    for _ in range(_ROUNDS_MAX):
        left = _started_with(marks)
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            break


@contextlib.contextmanager
def _leaving_in_order() -> Generator[None]:
    """Who ends us ends what we started, too: it has a session of its own, which no terminal reaches."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, _leave) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _is_changed(file: str) -> bool:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read(_SAID_BYTES) != f"{_OLD}\n"
    except OSError:
        return True


def _last_line(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return quoted(lines[-1], 160) if lines else "without a word"


def _started_with(marks: set[bytes]) -> list[int]:
    found: list[int] = []
    for entry in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as opened:
                    variables = set(opened.read().split(b"\0"))
            except OSError:
                continue  # another user's, or gone meanwhile
            if variables & marks:
                found.append(int(entry))
    return found
