"""Gemini CLI, and clients made from it: hooks and MCP server stand in one `settings.json`, which may have comments."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from clearway.setup.connect import hookgroups, servers
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import HOOK_TIMEOUT_SECONDS, mcp_entry

CLIENT = "gemini"
EVENTS: tuple[tuple[str, str | None], ...] = (
    ("BeforeTool", "*"),
    ("AfterTool", "write_file|replace|run_shell_command|invoke_agent|mcp_.*"),
    ("BeforeAgent", None),
    ("AfterAgent", None),
    ("SessionStart", None),
    ("SessionEnd", None),
    # Gemini says "auto" before every call of its model, whether it compresses or not.
    ("PreCompress", "manual"),
)
_START_SECONDS_MAX = 3
_RESTART = "Sessions that run already keep their old hooks: start them again."
_PROJECT_SCOPE = (
    "Registered for this project: the entries name paths of this machine, so keep them out of git. The client reads "
    "them only in a folder that it trusts."
)


def installed(asked: Asked) -> bool:
    return is_here(asked, CLIENT)


def files(asked: Asked) -> list[SettingsFile]:
    named = {event: {"name": "clearway"} for event, _ in EVENTS}
    return [settings_file(asked, CLIENT, EVENTS, named)]


def caution(environ: Mapping[str, str]) -> str:
    """What spoils the words of a hook, though not its refusals: start-up files that print, where no shell stands above
    the client. The bash that runs hooks then reads them, because its stdin is a socket."""
    bash = shutil.which("bash", path=environ.get("PATH", ""))
    if bash is None:
        return ""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            ended = subprocess.run(
                [bash, "-c", ":"],
                stdin=theirs.fileno(),
                capture_output=True,
                check=False,
                env={**environ, "SHLVL": "0"},
                timeout=_START_SECONDS_MAX,
            )
        except (OSError, subprocess.SubprocessError):
            return "its hooks may be late: bash is not ready in time with what ~/.bashrc does"
    if not ended.stdout:
        return ""
    return "~/.bashrc prints something, which spoils what hooks tell a Gemini that no shell has started; keep it silent"


def is_here(asked: Asked, client: str) -> bool:
    found = shutil.which(client, path=asked.environ.get("PATH", ""))
    return found is not None or os.path.isdir(asked.personal(f".{client}"))


def settings_file(
    asked: Asked,
    client: str,
    events: Sequence[tuple[str, str | None]],
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> SettingsFile:
    """The one file of a client of this kind: `.CLIENT/settings.json`, of the person or of the project."""
    wanted = hookgroups.wanted_for(client, events, asked.binding, timeout=HOOK_TIMEOUT_SECONDS * 1_000, more=more)
    entry = mcp_entry(asked.binding)
    project = asked.scope == "project"
    folder = os.path.join(asked.project, f".{client}") if project else asked.personal(f".{client}")
    return SettingsFile(
        client,
        os.path.join(folder, "settings.json"),
        blank="{}\n",
        join=lambda text: servers.join(hookgroups.join(text, wanted), entry, {}),
        part=lambda text, original: servers.part(hookgroups.part(text, original), original),
        notes=(_PROJECT_SCOPE, _RESTART) if project else (_RESTART,),
        mode=0o644 if project else 0o600,
        commands=hookgroups.commands,
        serves=servers.is_there,
    )
