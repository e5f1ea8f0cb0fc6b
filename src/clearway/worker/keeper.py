"""A program between a worker and the client that it runs: when either is gone, nothing of the run is left.

It is started alone, as a script, and loads no more of this package. The worker holds the other end of a pipe; when that
is closed, on purpose or because the worker was killed, the client and all that it has started are ended: first asked
to, then without asking. The same goes for what a client leaves behind when it ends by itself. On Linux a process cannot
leave this circle; elsewhere one can that has become nobody's child in a group of its own.
"""

import os
import select
import signal
import subprocess
import sys

ROUND_SECONDS = 0.02
ROUNDS_ASKED = 50  # so long somebody who was asked to end may take
ROUNDS_MAX = 500
NOT_FOUND = 127
_SUBREAPER, _DEATH_SIGNAL = 36, 1  # prctl
_PART = 65_536


def main(words: list[str]) -> int:
    """words: the descriptor of the pipe, the file that names a process to be spared, and the program. Its status."""
    rope, spared, program = int(words[0]), words[1], words[2:]
    linux = _prctl(_SUBREAPER, 1)
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, _notice)  # the worker decides, by the pipe; the client gets its own back
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.signal(signal.SIGCHLD, _notice)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    client = _start(program, rope, linux=linux)
    _let_go()
    circle = _Circle(client, spared, linux=linux)
    both = select.poll()  # not `select`, which knows no descriptor above 1,023: the rope keeps its number
    both.register(rope, select.POLLIN | select.POLLHUP)
    both.register(told, select.POLLIN)
    while circle.status is None:
        if any(each == rope for each, _ in both.poll()):
            break
        os.read(told, _PART)
        circle.reap()
    circle.end()
    return circle.status if circle.status is not None else 128 + signal.SIGKILL


def adopt_orphans() -> bool:
    """For a worker: should its keeper be killed, what that had to end becomes the worker's own child. Whether this
    system has that."""
    return _prctl(_SUBREAPER, 1)


def end_orphans(spared: str) -> None:
    """The keeper was killed: end what it left to us."""
    if sys.platform.startswith("linux"):
        _Circle(0, spared, linux=True).end()


class _Circle:
    """The client, and what came of it."""

    def __init__(self, client: int, spared: str, *, linux: bool) -> None:
        self.status: int | None = None
        self._client = client
        self._spared = spared
        self._linux = linux
        self._known: set[int] = set()

    def reap(self) -> bool:
        """Bury who has ended. Whether anybody is left who is our child."""
        while True:
            try:
                pid, how = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._client:
                code = os.waitstatus_to_exitcode(how)
                self.status = code if code >= 0 else 128 - code

    def end(self) -> None:
        """End everybody, and do not leave before they have ended."""
        asked: set[int] = set()
        for turn in range(ROUNDS_MAX):
            there = self._there()
            if not there:
                return
            for pid in there:
                if turn >= ROUNDS_ASKED:
                    _kill(pid, signal.SIGKILL)
                elif pid not in asked:
                    asked.add(pid)
                    _kill(pid, signal.SIGTERM)
            select.select([], [], [], ROUND_SECONDS)

    def _there(self) -> set[int]:
        """Who has to be ended still."""
        self.reap()
        parents = _from_proc() if self._linux else _from_ps()
        found: set[int] = set()
        waiting = [os.getpid()]
        if not self._linux:  # who has lost its parent there is nobody's child any more, and known from before
            found = {pid for pid in self._known if parents.get(pid) == 1}
            waiting += found
        while waiting:
            above = waiting.pop()
            below = [pid for pid, parent in parents.items() if parent == above and pid not in found]
            found.update(below)
            waiting += below
        self._known = set(found)
        return found - {self._to_spare()}

    def _to_spare(self) -> int:
        """The host that somebody may have started on the way: it works for others, too."""
        try:
            with open(self._spared, encoding="ascii") as file:
                return int(file.read(32))
        except (OSError, ValueError):
            return 0


def _notice(_number: int, _frame: object) -> None:
    """That it came is all there is to know."""


def _start(program: list[str], rope: int, *, linux: bool) -> int:
    keeper = os.getpid()
    client = os.fork()
    if client:
        return client
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(kind, signal.SIG_DFL)
        os.close(rope)
        if linux:
            _prctl(_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != keeper:
                os._exit(128 + signal.SIGKILL)
        os.execvp(program[0], program)
    except OSError as error:
        os.write(2, f"{program[0]}: {error.strerror}\n".encode("utf-8", "replace"))
    finally:
        os._exit(NOT_FOUND)


def _let_go() -> None:
    """What the client writes is over when the client's own ends of it are closed."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _from_proc() -> dict[int, int]:
    """The living processes, each with its parent."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                facts = file.read()
        except OSError:
            continue
        state, parent = facts[facts.rindex(b")") + 2 :].split()[:2]
        if state not in (b"Z", b"X"):
            parents[int(name)] = int(parent)
    return parents


def _from_ps() -> dict[int, int]:
    """The same from the program that every Unix has."""
    try:
        said = subprocess.run(["/bin/ps", "-axo", "pid=,ppid=,stat="], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = [line.split() for line in said.stdout.splitlines()]
    return {int(row[0]): int(row[1]) for row in rows if len(row) == 3 and not row[2].startswith(b"Z")}


def _kill(pid: int, kind: int) -> None:
    try:
        os.kill(pid, kind)
    except (ProcessLookupError, PermissionError):
        pass


def _prctl(option: int, value: int) -> bool:
    """Whether this system took it."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
