"""One run of a client: its time, its output, and that nothing of it is left, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clearway import platforms
from clearway.clock import Clock
from clearway.worker import keeper, running
from clearway.worker.running import Ran, Start

pytestmark = pytest.mark.skipif(platforms.WINDOWS, reason="workers run on Linux and macOS")

# A client with a child in its group, and one that left for a session of its own; both are nobody's when it ends.
FAMILY = """
import os, subprocess, sys
folder = sys.argv[1]
for name, more in (("near", False), ("far", True)):
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=more)
    with open(os.path.join(folder, name + ".new"), "w") as file:
        file.write(str(child.pid))
    os.rename(os.path.join(folder, name + ".new"), os.path.join(folder, name))
print("here", flush=True)
if "stay" in sys.argv:
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.pause()
"""


def start(tmp_path: Path, *words: str, given: bytes = b"") -> Start:
    return Start([sys.executable, *words], str(tmp_path), {"PATH": os.environ["PATH"]}, given)


def ran(tmp_path: Path, *words: str, seconds: int = 60, given: bytes = b"") -> Ran:
    return running.run(start(tmp_path, *words, given=given), seconds=seconds, may_go_on=lambda _: "")


def is_there(pid: int) -> bool:
    facts = platforms.process_facts(pid)
    return facts is not None and not facts.zombie


def until(what: str, seconds: int = 20, *, gone: int = 0, file: Path | None = None) -> None:
    """Wait until a process has ended or a file is there."""
    clock = Clock()
    deadline = clock.monotonic() + seconds * 1_000
    while clock.monotonic() < deadline:
        if (gone and not is_there(gone)) or (file is not None and file.exists()):
            return
        clock.pause(10)
    raise AssertionError(what)


def family(tmp_path: Path) -> list[int]:
    return [int((tmp_path / name).read_text()) for name in ("near", "far")]


def test_a_run_ends_with_its_status_and_its_words(tmp_path: Path) -> None:
    code = "import sys; print(sys.stdin.read().upper()); print('hm', file=sys.stderr); sys.exit(7)"
    found = ran(tmp_path, "-c", code, given=b"words")
    assert (found.status, found.out, found.complaint, found.late) == (7, "WORDS\n", "hm\n", False)


def test_a_program_that_is_not_there_says_so(tmp_path: Path) -> None:
    start_ = Start(["/nowhere/claude"], str(tmp_path), {})
    found = running.run(start_, seconds=10, may_go_on=lambda _: "")
    assert found.status == running.NOT_FOUND
    assert found.complaint.startswith("/nowhere/claude: No such file")


def test_of_much_output_the_newest_is_kept(tmp_path: Path) -> None:
    code = "import sys\nfor n in range(300): sys.stdout.write('x' * 65536)\nprint('end')"
    found = ran(tmp_path, "-c", code)
    assert found.out.endswith("xend\n")
    assert len(found.out) == running.WORKER_OUTPUT_BYTES_MAX


@pytest.mark.parametrize("stays", ["stay", "goes"])
def test_nobody_outlives_a_run(tmp_path: Path, stays: str) -> None:
    """A timeout ends what ignores being asked, its children, and those that left its group; an end by itself, too."""
    found = ran(tmp_path, "-c", FAMILY, str(tmp_path), stays, seconds=1 if stays == "stay" else 60)
    assert found.late == (stays == "stay")
    assert found.out == "here\n"
    near, far = family(tmp_path)
    assert not is_there(near)
    assert not is_there(far) or not platforms.LINUX


def test_a_run_that_may_not_go_on_is_ended(tmp_path: Path) -> None:
    words = start(tmp_path, "-c", FAMILY, str(tmp_path), "goes on")
    words = Start([*words.words, "stay"], words.folder, words.environ)
    found = running.run(words, seconds=60, may_go_on=lambda ms: "cancelled" if (tmp_path / "far").exists() else "")
    assert (found.stopped, found.late) == ("cancelled", False)
    assert not any(is_there(pid) for pid in family(tmp_path) if platforms.LINUX)


def test_the_host_that_a_client_has_started_is_spared(tmp_path: Path) -> None:
    words = start(tmp_path, "-c", FAMILY, str(tmp_path))
    running.run(words, seconds=60, may_go_on=lambda _: "", spared=str(tmp_path / "far"))
    near, far = family(tmp_path)
    try:
        assert not is_there(near)
        assert is_there(far)
    finally:
        os.kill(far, signal.SIGKILL)


@pytest.mark.parametrize("victim", ["worker", "group"])
def test_who_is_killed_leaves_no_grandchild(tmp_path: Path, victim: str) -> None:
    """P57: `kill -9` of a worker in the middle of a run."""
    code = (
        "import sys\nfrom clearway.worker import running\n"
        f"words = [sys.executable, '-c', {FAMILY!r}, {str(tmp_path)!r}, 'stay']\n"
        f"start = running.Start(words, {str(tmp_path)!r}, {{}})\n"
        "running.run(start, seconds=60, may_go_on=lambda _: '')\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        until("the client did not start", file=tmp_path / "far")
        kill = os.killpg if victim == "group" else os.kill
        kill(worker.pid, signal.SIGKILL)
        worker.wait(10)
        near, far = family(tmp_path)
        until("a child of the client is left", gone=near)
        if platforms.LINUX:
            until("a grandchild in a group of its own is left", gone=far)
    finally:
        worker.kill()
        worker.wait(10)


@pytest.mark.skipif(not os.path.exists("/bin/ps"), reason="there is no ps here")
def test_where_there_is_no_proc_the_tree_is_known_from_ps() -> None:
    """What macOS goes by."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        parents = keeper._from_ps()  # pyright: ignore[reportPrivateUsage]
        assert parents[child.pid] == os.getpid()
        assert parents[os.getpid()] == os.getppid()
        child.communicate(b"\n")
