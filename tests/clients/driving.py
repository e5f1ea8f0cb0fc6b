"""Real clients at a desk: Claude Code and Codex CLI, started in a home of their own against a scripted model.

A desk is one person's machine for one test: a fresh home, a repository with one commit, a temporary folder and an
environment that names nothing else. Clients of one desk share it, as two agents of one person do. A client reads its
hooks and servers from that home, where the product's `connect` writes them; what only the test needs (the address of
the model, permissions) is given by environment and flags, so no file that `connect` owns is written here.

Nothing waits by sleeping. A gate keeps a tool call open until the test lets it go, and tells when it was reached. A run
has a hard limit, and what a desk started ends with it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearway.setup import live_clients
from clearway.setup.live import end_started_with
from clearway.setup.live_clients import Driver
from clearway.setup.live_model import Call, Performance, Script, ScriptedModel, Shown, Step, call, say

RUN_SECONDS_MAX = 120
"""A scripted run takes two to six seconds; the rest is for a busy machine."""

GATE_SECONDS_MAX = 90

PROMPT = "Do what the script says."


class Desk:
    """A home, a repository and an environment for the clients of one test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = _made(root / "home")
        self.repository = _made(root / "repository")
        self.temporary = _made(root / "temporary")
        self.programs = _made(root / "programs")
        self._runs: list[Run] = []
        self._gates: list[Gate] = []
        self._begin_repository()

    def environment(self, **more: str) -> dict[str, str]:
        """The whole environment of whatever runs here. Nothing is inherited: an agent may well be running this test."""
        return {
            "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "USER": "dev",
            "SHELL": "/bin/bash",
            # Claude Code leaves a folder a project and a socket a killed session in the temporary folder.
            "TMPDIR": str(self.temporary),
            "CLAUDE_CODE_TMPDIR": str(self.temporary),
            **more,
        }

    def run(self, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the repository, with this desk's environment, and expect it to succeed."""
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.repository,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS_MAX,
        )
        assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def file(self, name: str, text: str | None = None) -> Path:
        """The path of a file of the repository, written first when a text is given."""
        path = self.repository / name
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return path

    def relative(self, path: Path) -> Path:
        return path.relative_to(self.repository)

    def gate(self) -> Gate:
        gate = Gate(self.root / f"gate-{len(self._gates)}")
        self._gates.append(gate)
        return gate

    def keep(self, run: Run) -> None:
        self._runs.append(run)

    def clear(self) -> None:
        """End what was started here, by process id: the runs, and on Linux what outlived them with this home."""
        for run in self._runs:
            run.close()
        for gate in self._gates:
            gate.let_go()
        end_started_with({"HOME": str(self.home)})

    def _begin_repository(self) -> None:
        self.file("app.py", "print(1)\n")
        self.file("free.py", "free = 1\n")
        author = ("-c", "user.name=dev", "-c", "user.email=dev@example.org")
        self.run("git", "init", "--quiet", "--initial-branch=main")
        self.run("git", "add", "--all")
        self.run("git", *author, "commit", "--quiet", "--message", "Begin")


class Gate:
    """A named pipe that a tool call stands at: reading it blocks until the test lets go.

    Only read by the shell, so no guard takes it for a write.
    """

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.command = f"cat {path}"
        self._reached = threading.Event()
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._stand, daemon=True)
        self._thread.start()

    def wait_until_reached(self, run: Run, seconds: float = GATE_SECONDS_MAX) -> None:
        """Return once the shell call of that run stands at the gate."""
        if not self._reached.wait(seconds):
            raise AssertionError(f"nobody came to {self.path} in {seconds} s\n{run.story()}")

    def let_go(self) -> None:
        self._released.set()
        if not self._reached.is_set():
            # Nobody ever came: meet our own opening, so that its thread ends.
            os.close(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))
        self._thread.join(5)

    def _stand(self) -> None:
        # Opening the writing end returns once somebody opened the reading end; closing it is the reader's end of file.
        writing = os.open(self.path, os.O_WRONLY)
        self._reached.set()
        self._released.wait()
        os.close(writing)


@dataclass(frozen=True)
class Outcome:
    exit_status: int
    stdout: str
    stderr: str
    model: ScriptedModel


class Run:
    """A client at work. It is waited for, killed, or ended with its desk."""

    def __init__(self, desk: Desk, model: ScriptedModel, command: Sequence[str], environment: dict[str, str]) -> None:
        self.model = model
        self._records = _made(desk.root / "runs" / str(len(list(desk.root.glob("runs/*")))))
        with (self._records / "stdout").open("wb") as stdout, (self._records / "stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                command,
                cwd=desk.repository,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        desk.keep(self)

    def wait(self, seconds: float = RUN_SECONDS_MAX) -> Outcome:
        """Wait for the client to end by itself. A script that failed is this run's failure."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.close()
            raise AssertionError(f"the client did not end in {seconds} s\n{self.story()}") from None
        finally:
            if self.model.failure:
                raise AssertionError(f"the script failed\n{self.story()}") from self.model.failure
        self.model.end()
        return Outcome(status, self._read("stdout"), self._read("stderr"), self.model)

    def kill(self, *, reap: bool = True) -> None:
        """Kill the client with SIGKILL, and only it: its tools and servers are left to what they do then.

        reap: False leaves a zombie, which still answers to its process id.
        """
        self.process.send_signal(signal.SIGKILL)
        if reap:
            self.process.wait(10)
        else:
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)

    def close(self) -> None:
        """End the client with its process group, if it is still there, and its model."""
        if self.process.returncode is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait(10)
        self.model.end()

    def story(self) -> str:
        """What happened so far, for a failed test: the ends of the outputs and what the model was shown."""
        turns = [f"turn {turn}: {shown.text[-1500:]}" for turn, shown in enumerate(self.model.turns) if turn]
        return "\n".join([*turns, f"stdout: {self._read('stdout')[-3000:]}", f"stderr: {self._read('stderr')[-3000:]}"])

    def _read(self, name: str) -> str:
        return (self._records / name).read_text(errors="replace")


class Client:
    """What all clients have in common: a program, a desk, and hands that make the client's own tool calls.

    How it is started and how it edits is the product's own knowledge: `doctor --live` drives it in the same way.
    """

    driver: Driver

    def __init__(self, program: Path, desk: Desk) -> None:
        self.desk = desk
        self.driver.prepare(str(desk.home))
        # Run by its ordinary name, as a person's shell would find it: the product knows clients by that.
        self.program = desk.programs / self.command_name
        if not self.program.is_symlink():
            self.program.symlink_to(program)

    @property
    def name(self) -> str:
        """The agent name the product gives this client without configuration."""
        return self.driver.agent

    @property
    def command_name(self) -> str:
        return self.driver.program

    def start(
        self, script: Script, *, asks_first: bool = False, beside: Mapping[str, Script] | None = None, **environ: str
    ) -> Run:
        """Begin a session and return at once.

        asks_first: the script asks the product's server at once, so the client is to wait until that is up. beside:
        the scripts of its subagents, by a word in what they are told. environ: what is different in its environment.
        """
        model = ScriptedModel(script, beside=beside).begin()
        told = self._environment(model) | environ
        return Run(self.desk, model, [*self._command(model, asks_first), PROMPT], told)

    def play(
        self, script: Script, *, asks_first: bool = False, beside: Mapping[str, Script] | None = None, **environ: str
    ) -> Outcome:
        """Run a session to its end, which must be a good one."""
        outcome = self.start(script, asks_first=asks_first, beside=beside, **environ).wait()
        assert outcome.exit_status == 0, f"{self.name} ended with {outcome.exit_status}: {outcome.stderr}"
        return outcome

    def edits(self, path: Path, old: str, new: str) -> list[Step]:
        """The steps of an ordinary edit; the last one is the edit."""
        return self.driver.edits(str(self.desk.repository), str(path), old, new)

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        """Every way this client has to put a new line into a file, each as steps whose last is the write."""
        raise NotImplementedError

    def shell(self, command: str, **more: Any) -> Step:
        return self.driver.shell(command, **more)

    def ask(self, operation: str, **arguments: Any) -> Step:
        """Ask the product's own server, over MCP."""
        raise NotImplementedError

    def stand_at(self, gate: Gate) -> Performance:
        """Stay in a shell call until the gate is let go, however long: `shown = yield from client.stand_at(gate)`."""
        return (yield self.shell(gate.command))

    def _command(self, model: ScriptedModel, asks_first: bool) -> list[str]:
        for words in self.driver.first(str(self.program), model.address):
            self.desk.run(*words)
        return self.driver.command(str(self.program), model.address)

    def _environment(self, model: ScriptedModel) -> dict[str, str]:
        return self.desk.environment(**self.driver.environment(str(self.desk.home), model.address))


class ClaudeCode(Client):
    """Claude Code, with hooks from `~/.claude/settings.json` and servers from `~/.claude.json`."""

    driver = live_clients.ClaudeCode()

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        return {
            "Edit": self.edits(path, old, new),
            "Write": [self.read(path), call(Call("Write", {"file_path": str(path), "content": f"{new}\n"}))],
            "Bash redirect": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def read(self, path: Path) -> Step:
        return call(Call("Read", {"file_path": str(path)}))

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(f"mcp__clearway__{operation}", arguments))


class Codex(Client):
    """Codex CLI, with hooks from `~/.codex/hooks.json` and servers from `~/.codex/config.toml`."""

    driver: live_clients.Codex

    def __init__(self, program: Path, desk: Desk) -> None:
        self.driver = live_clients.Codex()
        super().__init__(program, desk)

    def ways_to_write(self, path: Path, old: str, new: str) -> dict[str, list[Step]]:
        patch = self.driver.patch(str(self.desk.repository), str(path), old, new)
        return {
            "apply_patch": self.edits(path, old, new),
            "apply_patch in a shell": [self.shell(f"apply_patch <<'EOF'\n{patch}EOF")],
            "shell redirect": [self.shell(f"echo '{new}' > {self.desk.relative(path)}")],
        }

    def ask(self, operation: str, **arguments: Any) -> Step:
        return call(Call(operation, arguments, namespace="mcp__clearway"))

    def stand_at(self, gate: Gate) -> Performance:
        # A command that lasts is given back to the model as a running session, which it has to look at again.
        patience = {"yield_time_ms": 30_000}
        shown: Shown = yield self.shell(gate.command, **patience)
        while running := re.search(r"session ID (\d+)", shown.result.text):
            looks = {"session_id": int(running[1]), "chars": "", **patience}
            shown = yield call(Call("write_stdin", looks))
        return shown

    def _command(self, model: ScriptedModel, asks_first: bool) -> list[str]:
        # Without it the client gives a server one second and then goes on without its tools.
        waits = ["-c", "mcp_servers.clearway.required=true"] if asks_first else []
        return [*super()._command(model, asks_first), *waits]


def in_turn(*parts: Sequence[Step]) -> list[Step]:
    """One script of several parts, with a last word."""
    return [*(step for part in parts for step in part), say("finished")]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def words_of_codex(driver: Driver, address: str) -> str:
    """What leads Codex to the model, as words for `clearway worker run --client-args`: all but what it may do."""
    words = driver.command("codex", address)
    pairs = [words[at + 1] for at, word in enumerate(words) if word == "-c"]
    kept = [pair for pair in pairs if not pair.startswith(("sandbox_mode", "approval_policy"))]
    return " ".join(["--dangerously-bypass-hook-trust", *(f"-c '{pair}'" for pair in kept)])
