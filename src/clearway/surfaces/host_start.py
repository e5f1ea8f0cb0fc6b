"""Starting, stopping and finding the host, as a client of it.

A new host is detached from whoever starts it: a session of its own, `/` as its folder, no descriptor but its log, and
of the environment only what is named here, so that neither a client's sandbox nor its secrets live on in it. Before
that the starter proves that something can be written in the home: a host that cannot write would answer for those who
can.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import clearway
from clearway import platforms, wire
from clearway.clock import Clock
from clearway.errors import Refusal
from clearway.limits import HOST_ANSWER_MS, HOST_LINE_BYTES_MAX, HOST_LOG_BYTES_MAX, HOST_START_MS
from clearway.surfaces import host_wire
from clearway.surfaces.host_wire import Spoken

# What a host may know of the environment of the one who started it: where things are, and how texts are written.
KEPT_VARIABLES = (
    *("HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR"),
    *("XDG_DATA_HOME", "XDG_CONFIG_HOME", "SYSTEMROOT", "CLEARWAY_LOG"),
)
_RUN = "import clearway.surfaces.host as host; host.main()"


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether a host may be asked at all."""
    return environ.get("CLEARWAY_HOST", "").strip().lower() not in ("off", "0", "no", "false") and hasattr(os, "fork")


def status(home: str) -> dict[str, Any] | None:
    """What the running host says of itself, None if there is none that answers."""
    return ask(home, "host_status")


def stop(home: str) -> bool:
    """Let the running host leave, and wait until it has. One that does not answer is ended. False if there was none."""
    running = ask(home, "host_stop")
    if running is not None:
        wait_until_gone(home, running["pid"])
        return True
    pid = in_office(home)
    if not pid:
        return False
    try:
        os.kill(pid, 9)  # it may die at any time, and one that hangs hears nothing else
    except ProcessLookupError:
        pass
    wait_until_gone(home, pid)
    return True


def in_office(home: str) -> int:
    """The process that has the lock of this home, whether or not it answers; 0 if there is none that is surely ours."""
    try:
        held = platforms.hold_alone(host_wire.lock_file(home))
        if held is not None:
            os.close(held)
            return 0
        pid = _holder(home)
        return pid if any("clearway" in word for word in platforms.command_line(pid)) else 0
    except OSError:  # no home yet, or a system that does not tell
        return 0


def start(home: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """See to it that a host is running, of our version or a newer one; what it says of itself. Raises Refusal if there
    can be none."""
    running = status(home)
    if running is not None:
        from clearway.surfaces.host_answers import is_newer

        if not is_newer(clearway.__version__, running["version"]):
            return running
        ask(home, "host_give_way", {"version": clearway.__version__})
        wait_until_gone(home, running["pid"])
    launch(home, environ)
    clock = Clock()
    deadline = clock.monotonic() + HOST_START_MS
    while clock.monotonic() < deadline:
        running = status(home)
        if running is not None:
            return running
        clock.pause(10)
    raise Refusal(
        "STORAGE_FAILURE",
        f"The host did not answer in time; {host_wire.log_file(home)} says why. Nothing depends on it.",
    )


def launch(home: str, environ: Mapping[str, str]) -> None:
    """Start a host that is nobody's child. One that finds another in office leaves at once."""
    if not hasattr(os, "fork"):
        raise Refusal("STORAGE_CONFIGURATION", "There is no host on this system; everything works without it.")
    prove_a_write(home)
    kept = {name: environ[name] for name in KEPT_VARIABLES if name in environ}
    command = [sys.executable, "-I", "-c", _RUN]
    log = _log(home)
    child = os.fork()
    if child:
        os.close(log)
        os.waitpid(child, 0)
        return
    _detach(command, {**kept, "CLEARWAY_HOME": home}, log)


def _detach(command: list[str], environ: dict[str, str], log: int) -> None:
    """In the child: become nobody's, and then the host."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDWR)
        for theirs, ours in ((0, nothing), (1, log), (2, log)):
            os.dup2(ours, theirs)
        os.closerange(3, min(65536, os.sysconf("SC_OPEN_MAX")))
        os.umask(0o077)
        os.execve(command[0], command, environ)
    finally:
        os._exit(1)


def can_write(home: str) -> bool:
    try:
        prove_a_write(home)
    except Refusal:
        return False
    return True


def prove_a_write(home: str) -> None:
    """Write something below a home and take it away again. Raises Refusal if that cannot be."""
    folder = host_wire.folder(home)
    proof = platforms.aside(os.path.join(folder, "host.proof"))  # a host is asked for its health by several at once
    try:
        platforms.make_private(folder)
        descriptor = os.open(proof, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, b"a write\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            os.unlink(proof)
    except OSError as error:
        raise Refusal(
            "STORAGE_FAILURE", f"No host is started where nothing can be written: {folder}: {error.strerror}."
        ) from error


def _log(home: str) -> int:
    """Where the host complains. A long one begins anew."""
    path = host_wire.log_file(home)
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    if os.fstat(descriptor).st_size > HOST_LOG_BYTES_MAX:
        os.ftruncate(descriptor, 0)
    return descriptor


def ask(
    home: str, op: str, args: dict[str, Any] | None = None, caller: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """One question to the host itself. None where nobody answers, or not in our words."""
    connection = host_wire.connect(home, HOST_ANSWER_MS / 1_000)
    if connection is None:
        return None
    try:
        request = {"v": host_wire.VERSION, "op": op, "args": args or {}, "caller": caller or {}}
        connection.sendall((wire.dumps(request) + "\n").encode())
        got = b""
        while not got.endswith(b"\n") and len(got) < HOST_LINE_BYTES_MAX:
            part = connection.recv(65_536)
            if not part:
                return None
            got += part
        return host_wire.result(got)
    except (OSError, Spoken):
        return None
    finally:
        connection.close()


def wait_until_gone(home: str, pid: int) -> None:
    """Until a host has left for good: the lock is free, or another's."""
    clock = Clock()
    deadline = clock.monotonic() + HOST_ANSWER_MS
    while clock.monotonic() < deadline:
        try:
            held = platforms.hold_alone(host_wire.lock_file(home))
            if held is not None:
                os.close(held)
                return
            if _holder(home) != pid:
                return
        except OSError:
            return
        clock.pause(10)


def _holder(home: str) -> int:
    """The process that wrote its number into the lock."""
    try:
        with open(host_wire.lock_file(home), encoding="ascii") as file:
            return int(file.read(32))
    except ValueError:  # it is just being written
        return 0
