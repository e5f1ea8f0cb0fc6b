"""Whether a process is still the same one, asked of real processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from clearway import alive, platforms
from clearway.alive import Liveness, Process

pytestmark = pytest.mark.skipif(not (platforms.LINUX or platforms.MACOS), reason="no process facts on this system")

WAITS = "import sys; sys.stdin.read()"  # until its standard input is closed


@pytest.fixture
def child() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE)


def end(child: subprocess.Popen[bytes], *, reap: bool = True) -> None:
    child.kill()
    if reap:
        child.wait()
    else:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended and nobody has asked how
    assert child.stdin is not None
    child.stdin.close()


def test_a_running_process_is_known_and_alive(child: subprocess.Popen[bytes]) -> None:
    liveness = Liveness()

    process = liveness.identify(child.pid)

    assert process is not None
    assert (process.pid, process.boot) == (child.pid, platforms.boot_id())
    assert not liveness.is_dead(liveness.host, process)
    assert not Liveness().is_dead(liveness.host, process), "every process of this machine sees the same"
    end(child)


def test_a_killed_process_is_dead(child: subprocess.Popen[bytes]) -> None:
    liveness = Liveness()
    process = liveness.identify(child.pid)
    assert process is not None

    end(child)

    assert liveness.is_dead(liveness.host, process)
    assert liveness.identify(child.pid) is None


def test_a_zombie_is_dead(child: subprocess.Popen[bytes]) -> None:
    """A killed client whose parent has not asked for it holds nothing any more."""
    liveness = Liveness()
    process = liveness.identify(child.pid)
    assert process is not None

    end(child, reap=False)

    assert liveness.is_dead(liveness.host, process)
    assert liveness.identify(child.pid) is None
    child.wait()


def test_another_process_under_the_same_number_is_not_the_same(child: subprocess.Popen[bytes]) -> None:
    liveness = Liveness()
    now = liveness.identify(child.pid)
    assert now is not None

    before = Process(now.boot, now.pidns, now.pid, "1")

    assert liveness.is_dead(liveness.host, before)
    end(child)


def test_what_cannot_be_judged_from_here_is_not_dead() -> None:
    here = Liveness(boot="b1", host="h1", pidns="n1")
    gone = 2**22 + 1  # beyond any process number

    assert here.is_dead("h1", Process("b1", "n1", gone, "1"))
    assert here.is_dead("h1", Process("b0", "n1", os.getpid(), "1")), "an earlier boot of this host"
    assert not here.is_dead("h2", Process("b1", "n1", gone, "1")), "another host"
    assert not here.is_dead("h1", Process("b1", "n2", gone, "1")), "another namespace"
    assert not here.is_dead("h1", Process("unknown", "n1", gone, "1")), "a boot that is not known"
    assert not Liveness(boot="unknown", host="h1", pidns="n1").is_dead("h1", Process("b1", "n1", gone, "1"))


@pytest.mark.parametrize("pid", [None, 0, -1, 2**22 + 1, 2**70])
def test_no_process_has_no_identity(pid: int | None) -> None:
    assert Liveness().identify(pid) is None


def test_a_system_that_will_not_say_calls_nobody_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> None:
        raise PermissionError

    liveness = Liveness()
    process = liveness.identify(os.getpid())
    assert process is not None
    monkeypatch.setattr(platforms, "process_facts", refuse)

    assert not liveness.is_dead(liveness.host, process)
    assert liveness.identify(os.getpid()) is None


def test_a_programs_name_may_hold_brackets_and_spaces() -> None:
    """The line that the system prints is read from its last bracket."""
    code = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'a) S (b 7', 0, 0, 0); print(flush=True); sys.stdin.read()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()

    facts = platforms.process_facts(child.pid)

    assert facts is not None
    assert (facts.parent, facts.zombie) == (os.getpid(), False)
    if platforms.LINUX:
        assert facts.name == "a) S (b 7"
    child.stdout.close()
    end(child)


def test_the_ancestors_begin_with_the_nearest() -> None:
    child = subprocess.run(
        [sys.executable, "-c", "from clearway import alive; print([pid for pid, _, _ in alive.ancestors()])"],
        capture_output=True,
        text=True,
        check=True,
    )

    above = [os.getpid(), *(pid for pid, _, _ in alive.ancestors())]

    assert child.stdout.strip() == str(above)


def test_this_machine_has_a_name_and_a_boot() -> None:
    assert platforms.host_name() == Liveness().host != ""
    assert platforms.boot_id() == platforms.boot_id() != ""


def test_the_arguments_of_a_process_are_read_as_macos_tells_them() -> None:
    """How many, the program's file, zeros, the arguments; what stands behind them is its environment."""
    count = (3).to_bytes(4, sys.byteorder)
    told = count + b"/usr/bin/python3\0\0\0\0\0python3\0-c\0import clearway\0SECRET=1\0HOME=/Users/a\0"
    assert platforms.macos_arguments(told) == ["python3", "-c", "import clearway"]
    assert platforms.macos_arguments(b"") == platforms.macos_arguments(count) == []


def test_the_arguments_of_a_running_process_are_its_own() -> None:
    """It says first that it runs: one that has only just been started has no arguments yet."""
    code = "print(flush=True); input()"
    command = [sys.executable, "-c", code, "said"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert platforms.command_line(process.pid)[1:] == ["-c", code, "said"]
        process.kill()
