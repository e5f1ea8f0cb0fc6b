"""Whether a process lives, asked by a host: the same as reading it anew, for a fraction of the cost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from clearway import platforms
from clearway.alive import Liveness, Process
from clearway.surfaces import host_life
from clearway.surfaces.host_life import HeldLiveness

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors of processes are Linux's")


@pytest.fixture
def eyes() -> Iterator[HeldLiveness]:
    made = HeldLiveness()
    yield made
    made.close()


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)


def identity(eyes: Liveness, child: subprocess.Popen[bytes]) -> Process:
    found = eyes.identify(child.pid)
    assert found is not None
    return found


def test_a_process_that_is_held_is_asked_without_reading_it(
    eyes: HeldLiveness, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sleeper() as child:
        process = identity(eyes, child)
        assert not eyes.is_dead(eyes.host, process)
        monkeypatch.setattr(platforms, "process_facts", lambda _: 1 / 0)
        assert not eyes.is_dead(eyes.host, process)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has fetched it yet
        assert eyes.is_dead(eyes.host, process)
        monkeypatch.undo()
        assert eyes.is_dead(eyes.host, process)
    assert eyes.is_dead(eyes.host, process)


def test_of_several_that_end_each_is_dead(eyes: HeldLiveness) -> None:
    children = [sleeper() for _ in range(3)]
    processes = [identity(eyes, child) for child in children]
    assert [eyes.is_dead(eyes.host, each) for each in processes] == [False] * 3
    for child in (children[0], children[2]):
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert [eyes.is_dead(eyes.host, each) for each in processes] == [True, False, True]
    for child in children:
        child.kill()
        child.communicate()


def test_a_process_of_the_same_number_is_not_taken_for_it(eyes: HeldLiveness) -> None:
    """P62, the identity is more than a number."""
    with sleeper() as child:
        process = identity(eyes, child)
        earlier = Process(process.boot, process.pidns, process.pid, str(int(process.started) - 1))
        assert eyes.is_dead(eyes.host, earlier)
        assert not eyes.is_dead(eyes.host, process)
        assert eyes.is_dead(eyes.host, earlier)
        assert eyes.is_dead(eyes.host, Process("another boot", process.pidns, process.pid, process.started))
        assert not eyes.is_dead("another host", earlier)
        child.kill()


def test_as_many_are_held_as_there_is_room_for(eyes: HeldLiveness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_life, "HOST_LIVES_MAX", 2)
    before = len(os.listdir("/proc/self/fd"))
    children = [sleeper() for _ in range(4)]
    processes = [identity(eyes, child) for child in children]
    for _ in range(2):
        assert [eyes.is_dead(eyes.host, each) for each in processes] == [False] * 4
    assert len(os.listdir("/proc/self/fd")) == before + len(children) + 2  # their pipes, and those that are held
    for child in children:
        child.kill()
        child.communicate()
    assert [eyes.is_dead(eyes.host, each) for each in processes] == [True] * 4
    assert len(os.listdir("/proc/self/fd")) == before


def test_where_the_system_has_no_such_descriptors_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "pidfd_open", refused)
    eyes = HeldLiveness()
    with sleeper() as child:
        process = identity(eyes, child)
        assert not eyes.is_dead(eyes.host, process)
        child.kill()
        child.wait()
        assert eyes.is_dead(eyes.host, process)
    eyes.close()
    own = eyes.identify(os.getpid())
    assert own is not None and not eyes.is_dead(eyes.host, own)


def test_where_an_end_cannot_be_waited_for_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for alive for ever, and whoever asked first was told of a defect."""

    class Deaf:
        def register(self, *_: int) -> None:
            raise PermissionError

        def poll(self, _: float) -> list[tuple[int, int]]:
            return []

        def close(self) -> None:
            pass

    monkeypatch.setattr(host_life.select, "epoll", Deaf)
    eyes, before = HeldLiveness(), len(os.listdir("/proc/self/fd"))
    with sleeper() as child:
        process = identity(eyes, child)
        assert not eyes.is_dead(eyes.host, process)
        child.kill()
        child.wait()
        assert eyes.is_dead(eyes.host, process)
    assert len(os.listdir("/proc/self/fd")) == before
    eyes.close()
