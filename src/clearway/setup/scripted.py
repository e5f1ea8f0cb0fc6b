"""A stage with scripted agents: they say what a client says, through the doors a client uses, and obey the answer.

Each stands for one running client: a session, and a process that does nothing until it is killed or let go. Its hooks
are the very command that `connect` registers, in a process of their own; its operations are asked of the rooms as a
server asks them. Everything is in one temporary folder that goes with the stage, nothing of the person's is read, and
time is a file that only the stage moves.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clearway.catalog import OPERATIONS
from clearway.clock import Clock
from clearway.config import Caller, Settings
from clearway.errors import Refusal
from clearway.rooms import Rooms
from clearway.setup.registered import HOOK_TIMEOUT_SECONDS, Binding, hook_command

GIT_SECONDS_MAX = 10
# Waits for the end of its input, so it ends with us, however we end.
_STAND_IN = (sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()")
_FILES = {"src/lexer.py": "def tokens(text): ...\n", "docs/guide.md": "# Guide\n"}


@dataclass(frozen=True)
class Product:
    """A coding agent as it can be bought: `client` is its hook's name, `agent` the name it has in a room."""

    name: str
    client: str
    agent: str
    pid_variable: str


CLAUDE = Product("Claude Code", "claude", "claude-code", "CLAUDE_PID")
# The real Codex is found above its hook; a stand-in runs no hook itself, so the hook is told where it is.
CODEX = Product("Codex", "codex", "codex", "CLEARWAY_PID")


@dataclass(frozen=True)
class Heard:
    """What a client hears from its hook: a reason to deny, context for its model, or nothing at all."""

    deny: str = ""
    context: str = ""
    trouble: str = ""


ALLOWED = Heard()  # a clean allow is silent; a guard that stands open says so, and that is no allow


class Stage:
    """A repository, a home, the rooms, and the clock."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.repository = os.path.join(folder, "shop")
        self.home = os.path.join(folder, "home")
        self.now = Clock().wall()
        self._clock_file = os.path.join(folder, "clock")
        self.forward(minutes=0)
        self.rooms = Rooms(Settings(self.environ))
        self.you = Caller("human", client="cli", cwd=self.repository, host=self.rooms.liveness.host, human=True)
        self.agents: list[Agent] = []

    @property
    def environ(self) -> dict[str, str]:
        """All that the programs on this stage know of the world."""
        return {
            "HOME": self.home,
            "CLEARWAY_HOME": os.path.join(self.home, "clearway"),
            "CLEARWAY_TEST_CLOCK": self._clock_file,
            "GIT_CONFIG_NOSYSTEM": "1",
            "PATH": os.pathsep.join(os.get_exec_path()),
        }

    def forward(self, *, minutes: int) -> None:
        """Let time pass. The file is replaced whole: a hook may be reading it."""
        self.now += minutes * 60_000
        with open(f"{self._clock_file}.next", "w", encoding="ascii") as file:
            file.write(f"{self.now} 0\n")
        os.replace(f"{self._clock_file}.next", self._clock_file)

    def join(self, product: Product, session: str) -> Agent:
        """A new session of a client, in a process of its own."""
        agent = Agent(self, product, session)
        self.agents.append(agent)
        return agent

    def ask(self, operation: str, caller: Caller | None = None, **arguments: Any) -> dict[str, Any]:
        """Ask the room of the repository; as the human when nobody else asks."""
        return self.rooms.ask(OPERATIONS[operation], arguments, caller or self.you)

    def close(self) -> None:
        for agent in self.agents:
            agent.ends()
        self.rooms.close()


class Agent:
    """One running session of a client."""

    def __init__(self, stage: Stage, product: Product, session: str) -> None:
        self._stage = stage
        self._product = product
        self._session = session
        self._process = subprocess.Popen(_STAND_IN, stdin=subprocess.PIPE)
        self._caller = Caller(
            product.agent,
            session,
            client=product.client,
            cwd=stage.repository,
            host=stage.rooms.liveness.host,
            process=stage.rooms.liveness.identify(self._process.pid),
        )
        self.claimed: dict[str, Any] = {}
        self.task: dict[str, Any] = {}

    # --- what its hooks say -------------------------------------------------------------------------------------

    def starts(self) -> Heard:
        """The session begins, and its first turn."""
        heard = self._hook("SessionStart", source="startup")
        self._hook("UserPromptSubmit", prompt="go on")
        return heard

    def is_prompted(self) -> Heard:
        """Its next turn begins."""
        return self._hook("UserPromptSubmit", prompt="go on")

    def changes(self, line: str, *files: str) -> Heard:
        """Add a line to some files with the client's own tool, if its hook lets it."""
        heard = self._before(*self._edit(line, *files))
        if heard == ALLOWED:
            for file in files:
                with open(os.path.join(self._stage.repository, file), "a", encoding="utf-8") as opened:
                    opened.write(f"{line}\n")
        return heard

    def types(self, command: str) -> Heard:
        """Run a shell command, if the hook lets it."""
        heard = self._before("Bash", {"command": command})
        if heard == ALLOWED:
            subprocess.run(["/bin/sh", "-c", command], cwd=self._stage.repository, env=self._stage.environ, check=True)
        return heard

    # --- what it asks the room ----------------------------------------------------------------------------------

    def claims_next(self) -> dict[str, Any]:
        self.claimed = self._ask("claim_issue", next=True)
        return self.claimed

    def leaves(self, checkpoint: str, next_step: str) -> dict[str, Any]:
        """Save a checkpoint for whoever comes after."""
        note = {"kind": "checkpoint", "content": checkpoint, "next_steps": [next_step]}
        return self._ask("save_attempt_note", **self._proof(), **note)

    def finishes(self, summary: str) -> dict[str, Any]:
        done = {"outcome": "completed", "target_issue_status": "done", "result_summary": summary}
        return self._ask("finish_attempt", **self._proof(), **done)

    def is_told_when_it_finishes(self, summary: str) -> Refusal | None:
        """The refusal of a result, or None when it was taken."""
        try:
            self.finishes(summary)
        except Refusal as refusal:
            return refusal
        return None

    def takes_a_task(self) -> dict[str, Any]:
        """The next task, begun."""
        self.task = self._ask("next_task")["task"]
        self._ask("update_task", **self._task_proof(), state="started")
        return self.task

    def has_no_task(self) -> bool:
        return self._ask("next_task")["task"] is None

    def reports_a_limit(self) -> dict[str, Any]:
        return self._ask("report_limit", until="2h", reason="weekly limit")

    def ends_its_task(self, result: str) -> dict[str, Any]:
        return self._ask("update_task", **self._task_proof(), state="succeeded", result=result)

    # --- its process --------------------------------------------------------------------------------------------

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def is_killed(self) -> int:
        """kill -9, from outside. The status it ended with."""
        self._process.kill()
        return self._process.wait()

    def ends(self) -> None:
        self._process.communicate()

    # --- how this client says it --------------------------------------------------------------------------------

    def _ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self._stage.ask(operation, self._caller, **arguments)

    def _task_proof(self) -> dict[str, Any]:
        return {name: self.task[name] for name in ("task_id", "lease_token")}

    def _proof(self) -> dict[str, str]:
        return {name: self.claimed[name] for name in ("attempt_id", "lease_token")}

    def _edit(self, line: str, *files: str) -> tuple[str, dict[str, Any]]:
        """The name and the arguments of the client's own editing tool."""
        if self._product is CLAUDE:
            (file,) = files
            path = os.path.join(self._stage.repository, file)
            return "Edit", {"file_path": path, "old_string": "", "new_string": line, "replace_all": False}
        parts = [f"*** Update File: {file}\n@@\n+{line}\n" for file in files]
        return "apply_patch", {"command": f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"}

    def _before(self, tool: str, arguments: dict[str, Any]) -> Heard:
        return self._hook("PreToolUse", tool_name=tool, tool_input=arguments, tool_use_id="call-1")

    def _hook(self, event: str, **facts: Any) -> Heard:
        """Run the registered hook command with one payload."""
        said = {"session_id": self._session, "cwd": self._stage.repository, "hook_event_name": event, **facts}
        environ = {**self._stage.environ, self._product.pid_variable: str(self._process.pid)}
        ran = subprocess.run(
            shlex.split(hook_command(self._product.client, Binding(home=environ["CLEARWAY_HOME"]))),
            check=False,
            input=json.dumps(said),
            capture_output=True,
            encoding="utf-8",
            cwd=self._stage.repository,
            env=environ,
            timeout=HOOK_TIMEOUT_SECONDS,
        )
        return _heard(ran.returncode, ran.stdout, ran.stderr)


@contextmanager
def stage() -> Generator[Stage]:
    """A stage with a small repository on it, gone afterwards with everybody on it."""
    with tempfile.TemporaryDirectory(prefix="clearway-rehearsal-") as name:
        made = Stage(os.path.realpath(name))
        os.mkdir(made.home)
        for file, text in _FILES.items():
            path = os.path.join(made.repository, file)
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as opened:
                opened.write(text)
        git = ["git", "-c", "init.defaultBranch=main", "init", "--quiet", made.repository]
        subprocess.run(git, env=made.environ, check=True, capture_output=True, timeout=GIT_SECONDS_MAX)
        try:
            yield made
        finally:
            made.close()


def _heard(status: int, out: str, err: str) -> Heard:
    """The answer as the client takes it. Both clients read the same JSON."""
    trouble = err.strip() or (f"exit status {status}" if status else "")
    if not out.strip():
        return Heard(trouble=trouble)
    answer = json.loads(out)["hookSpecificOutput"]
    deny = answer.get("permissionDecisionReason", "") if answer.get("permissionDecision") == "deny" else ""
    return Heard(deny, answer.get("additionalContext", ""), trouble)
