"""How each client is asked one thing and answers it without a person: its words, and the mode in which it only reads.

A client that has no such mode is not here; it is run by a template of words (`--command`). A model without tools is
asked by a small program of ours (models.py), which is one more client. Words are handed to programs as they are, never
to a shell.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from clearway.config import PROCESS_VARIABLES, SESSION_VARIABLES
from clearway.errors import Refusal
from clearway.untrusted import folded
from clearway.worker import models

PROMPT = "{prompt}"
MODEL = "{model}"
# What would make a client take itself for a part of the session that started the worker.
_NOT_FOR_CHILDREN = (
    *("CLEARWAY_SESSION", "CLEARWAY_AGENT", "AGENT_NAME", "CLEARWAY_LEASE_TOKEN", "CLAUDECODE"),
    *("CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "OPENCODE", *SESSION_VARIABLES, *PROCESS_VARIABLES),
)  # fmt: skip


@dataclass(frozen=True)
class Client:
    """One client. `reads` and `writes`: its words behind the program's name, in either mode."""

    program: str
    reads: tuple[str, ...]
    writes: tuple[str, ...] = ()
    model: tuple[str, ...] = ("--model", MODEL)
    environ: Mapping[str, str] = field(default_factory=dict[str, str])

    def words(self, prompt: str, *, write: bool, model: str, more: list[str]) -> list[str]:
        """What is run. more: what somebody wants to be said besides."""
        mode = self.writes if write else self.reads
        said = [*mode, *more, *(self.model if model else ())]
        return [self.program, *(word.replace(MODEL, model).replace(PROMPT, prompt) for word in said)]


CLIENTS = {
    "claude-code": Client(
        "claude",
        ("-p", PROMPT, "--output-format", "json", "--permission-mode", "plan"),
        ("-p", PROMPT, "--output-format", "json", "--permission-mode", "acceptEdits"),
    ),
    "codex": Client(
        "codex",
        ("exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check", PROMPT),
        ("exec", "--json", "--sandbox", "workspace-write", "--skip-git-repo-check", PROMPT),
    ),
    "gemini": Client(
        "gemini",
        ("-p", PROMPT, "--output-format", "json", "--approval-mode", "plan"),
        ("-p", PROMPT, "--output-format", "json", "--approval-mode", "auto_edit"),
    ),
    "qwen": Client(
        "qwen",
        ("-p", PROMPT, "--output-format", "json", "--approval-mode", "plan"),
        ("-p", PROMPT, "--output-format", "json", "--approval-mode", "auto-edit"),
    ),
    "copilot": Client(
        "copilot",
        ("-p", PROMPT, "--silent", "--deny-tool=write", "--deny-tool=shell"),
        ("-p", PROMPT, "--silent", "--allow-tool=write", "--deny-tool=shell(git push)"),
    ),
    "opencode": Client("opencode", ("run", "--agent", "plan", PROMPT), ("run", PROMPT)),
}
NAMES = {"claude": "claude-code"}


def agent_of(name: str) -> str:
    """The agent that is meant by a word for a client."""
    return NAMES.get(name, name)


def of_template(template: str) -> Client:
    """A client by its command line, in which {prompt} stands for what is asked; where it does not, that is read from
    stdin. Read-only or not is the template's own business."""
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise Refusal("INVALID_ARGUMENT", f"--command cannot be read: {folded(str(error), 100)}.") from None
    if not words or PROMPT in words[0]:
        raise Refusal("INVALID_ARGUMENT", 'Give --command as a program with its words: --command "prog {prompt}".')
    return Client(words[0], tuple(words[1:]), tuple(words[1:]), model=())


def of_model(base_url: str, model: str, key_variable: str) -> Client:
    """A model that is reached over HTTP and has no tools."""
    models.check_address(base_url)
    if not model:
        raise Refusal("INVALID_ARGUMENT", "Name the model: --model NAME, or OPENROUTER_MODEL.")
    return Client(sys.executable, ("-I", models.__file__, base_url, model, key_variable), model=())


def known(agent: str) -> Client:
    """The client of an agent, which has to be installed."""
    client = CLIENTS.get(agent)
    if client is None:
        raise Refusal(
            "INVALID_ARGUMENT",
            f"How {folded(agent, 64)} is asked without a person is not known; there is {', '.join(CLIENTS)}. "
            'For others give --command "prog {prompt}", or --provider openrouter.',
        )
    return client


def check_is_there(client: Client, environ: Mapping[str, str]) -> None:
    if shutil.which(client.program, path=environ.get("PATH", "")) is None:
        raise Refusal("INVALID_ARGUMENT", f"{folded(client.program, 200)} is not on the PATH; nothing was started.")


def environment(environ: Mapping[str, str], identity: str, session: str, home: str) -> dict[str, str]:
    """What a client is started with: ours, without what says whose session this is, and with the worker's name and
    session, so that what its hooks tell is told of the worker and what they saw is seen of its work."""
    kept = {name: value for name, value in environ.items() if name not in _NOT_FOR_CHILDREN}
    return kept | {"CLEARWAY_AGENT": identity, "CLEARWAY_WORKER": session, "CLEARWAY_HOME": home}


def takes_stdin(client: Client, *, write: bool) -> bool:
    """Whether what is asked is read from stdin, because no word stands for it."""
    return not any(PROMPT in word for word in (client.writes if write else client.reads))
