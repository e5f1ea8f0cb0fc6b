"""What the clients have registered of ours: is it what this program would register, and does it do what it should?

Hooks are run as they are registered, from the client's own settings, with an event that asks for nothing; what they
leave behind is removed. Nothing is written into the settings of anybody.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Generator, Mapping
from types import ModuleType
from typing import Any

from clearway import wire
from clearway.beats import Beats
from clearway.config import Settings
from clearway.errors import Refusal
from clearway.room import beat_folder
from clearway.setup import codextrust
from clearway.setup.connect import CLIENTS, files
from clearway.setup.connect.shapes import Asked, SettingsFile
from clearway.setup.registered import Binding, Registered, installed_product, read_hook_command
from clearway.tally import Tally
from clearway.untrusted import quoted

Check = dict[str, str]

OK, NOTICE, PROBLEM = "ok", "notice", "problem"
SESSION = "clearway-doctor"
_HOOK_SECONDS_MAX = 10


def examine(name: str, settings: Settings, root: str, project: str) -> tuple[Check, Check]:
    """The hooks of a client and its MCP server, in the first of its scopes that has anything of ours.

    root, project: of the repository in which hooks are tried; both empty outside of any, or where it has no room yet.
    """
    client = CLIENTS[name]
    fix = f"clearway connect {name} --write"
    for scope in ("user", "project") if root else ("user",):
        asked = Asked(scope, root, Binding(settings.home), settings.environ)
        more = f"{fix} --scope project" if scope == "project" else fix
        try:
            hook_files, server_file = _files(client, asked)
            hooks = _registered(hook_files)
            server = _holds_server(server_file)
        except (Refusal, ValueError) as error:
            return check(f"{name}_hooks", PROBLEM, str(error), more), check(f"{name}_mcp", OK, "not looked at")
        if hooks or server:
            bound = _bound(hooks, settings)
            asked = Asked(scope, root, bound, settings.environ)
            hook_files, server_file = _files(client, asked)
            named = f"{more} --as {bound.agent}" if bound.agent else more
            checks = _Registration(name, settings, root if project else "/", project, named)
            return checks.hooks(hooks, hook_files), checks.server(server_file, present=server)
    if client.installed(Asked("user", "", Binding(settings.home), settings.environ)):
        message = f"{name} is installed here and not connected"
        return check(f"{name}_hooks", NOTICE, message, fix), check(f"{name}_mcp", NOTICE, message, fix)
    return check(f"{name}_hooks", OK, "not installed here"), check(f"{name}_mcp", OK, "not installed here")


def standing(name: str, settings: Settings, root: str) -> tuple[str, Binding] | None:
    """In which scope a client has anything of ours, and what is baked into it; None where it has nothing that we can
    read."""
    client = CLIENTS[name]
    for scope in ("user", "project") if root else ("user",):
        asked = Asked(scope, root, Binding(settings.home), settings.environ)
        try:
            hook_files, server_file = _files(client, asked)
            hooks = _registered(hook_files)
            if hooks or _holds_server(server_file):
                return scope, _bound(hooks, settings)
        except (Refusal, ValueError):
            return None
    return None


def _files(client: ModuleType, asked: Asked) -> tuple[list[SettingsFile], SettingsFile | None]:
    """The files in which a client's hooks stand, and the one with its servers, if that is one we write: for some it is
    the same."""
    found: list[SettingsFile] = client.files(asked)
    servers = [file for file in found if file.serves or not file.commands]
    return [file for file in found if file.commands], servers[0] if servers else None


def _registered(hook_files: list[SettingsFile]) -> dict[str, Registered]:
    """The different commands of ours in a client's files, by their text."""
    found: dict[str, Registered] = {}
    for file in hook_files:
        text = files.read(file.path)
        try:
            commands = file.commands(text) if file.commands and text and text.strip() else []
            file.join(text or file.blank)  # what it cannot read, its client cannot either
        except ValueError as error:
            raise ValueError(f"{file.path}: {error}, so its client ignores it") from None
        for command in commands:
            registered = read_hook_command(command)
            if registered is not None:
                found[command] = registered
    return found


def _holds_server(file: SettingsFile | None) -> bool:
    if file is None:
        return False
    text = files.read(file.path) or file.blank
    return file.serves(text) if file.serves else file.part(text, None) != text


def _bound(hooks: Mapping[str, Registered], settings: Settings) -> Binding:
    """What is baked into the registration; without hooks, what would be."""
    nothing: Mapping[str, str] = {}
    baked = next((registered.environment for registered in hooks.values()), nothing)
    home = baked.get("CLEARWAY_HOME", settings.home)
    return Binding(home, baked.get("CLEARWAY_AGENT", ""), "CLEARWAY_FAIL_CLOSED" in baked)


class _Registration:
    """What one client has of ours, compared with what this program would register, and tried."""

    def __init__(self, name: str, settings: Settings, cwd: str, project: str, fix: str) -> None:
        self._name = name
        self._settings = settings
        self._cwd = cwd
        self._project = project
        self._fix = fix

    def hooks(self, found: Mapping[str, Registered], hook_files: list[SettingsFile]) -> Check:
        name = f"{self._name}_hooks"
        if not found:
            return check(name, PROBLEM, "the MCP server is registered and no hook is: nothing is guarded", self._fix)
        trouble = next((said for said in map(self._trouble, found, found.values()) if said), "")
        if trouble:
            return check(name, PROBLEM, trouble, self._fix)
        changed = next((file.path for file in hook_files if _would_change(file)), "")
        if changed:
            interpreters = {registered.interpreter for registered in found.values()}
            mine = installed_product().interpreter
            other = f" (it starts {', '.join(sorted(interpreters))}, this is {mine})" if interpreters != {mine} else ""
            return check(name, NOTICE, f"{changed} does not hold what this version registers{other}", self._fix)
        skipped, trust = self._trust(hook_files[0].path)
        if skipped:
            return check(name, PROBLEM, skipped, "start `codex`, type /hooks and trust the clearway hooks")
        caution: Callable[[Mapping[str, str]], str] | None = getattr(CLIENTS[self._name], "caution", None)
        said = caution(self._settings.environ) if caution else ""
        if said:
            return check(name, NOTICE, said)
        where = hook_files[0].path if len(hook_files) == 1 else os.path.dirname(hook_files[-1].path)
        events = len(CLIENTS[self._name].EVENTS)
        return check(name, OK, f"{events} events are registered in {where}, and the command allows{trust}")

    def _trust(self, hooks_file: str) -> tuple[str, str]:
        """Why Codex runs our hooks not, and what else there is to say of it."""
        if self._name != "codex":
            return "", ""
        skipped = codextrust.untrusted(hooks_file, self._cwd, self._settings.environ)
        if skipped is None:
            return "", "; Codex runs it once you have trusted it in /hooks"
        if skipped:
            return f"Codex skips its hooks, because they are not trusted: {', '.join(skipped)}", ""
        return "", "; Codex trusts it"

    def server(self, file: SettingsFile | None, *, present: bool) -> Check:
        name = f"{self._name}_mcp"
        if file is None:
            return check(name, OK, "its settings are not ours to write; `clearway connect` says what to paste")
        if not present:
            return check(name, NOTICE, "the hooks are registered and the MCP server is not", self._fix)
        text = files.read(file.path) or file.blank
        try:
            same = file.join(text) == text
        except ValueError as error:
            return check(name, PROBLEM, f"{file.path}: {error}", self._fix)
        if not same:
            return check(name, NOTICE, f"{file.path} does not hold what this version registers", self._fix)
        return check(name, OK, f"the server is registered in {file.path}")

    def _trouble(self, command: str, registered: Registered) -> str:
        """Why a registered command guards nothing, or not this; empty when it does what it should."""
        home = registered.environment.get("CLEARWAY_HOME", "")
        if os.path.realpath(home) != self._settings.home:
            return f"its hooks use the rooms in {home}, this command those in {self._settings.home}"
        if not os.access(registered.interpreter, os.X_OK):
            return f"the guard is open: its hooks start {registered.interpreter}, which is not there"
        with without_a_trace(os.path.join(beat_folder(self._settings.home), self._project), self._settings.home):
            try:
                return self._try(command)
            except (OSError, subprocess.SubprocessError) as error:
                return f"the registered hook did not answer: {type(error).__name__}"

    def _try(self, command: str) -> str:
        event = getattr(CLIENTS[self._name], "probe", harmless_read)(self._cwd, SESSION)
        ended = subprocess.run(
            ["/bin/sh", "-c", command],
            check=False,
            input=wire.dumps(event).encode("utf-8", "surrogateescape"),
            env=dict(self._settings.environ),
            cwd=self._cwd,
            capture_output=True,
            timeout=_HOOK_SECONDS_MAX,
        )
        if ended.returncode or ended.stdout:
            said = quoted((ended.stdout or ended.stderr).decode("utf-8", "replace"), 200)
            return f"the registered hook does not allow a harmless read (exit {ended.returncode}): {said}"
        if ended.stderr:
            return f"the registered hook says {quoted(ended.stderr.decode('utf-8', 'replace'), 200)}"
        return ""


def harmless_read(cwd: str, session: str) -> dict[str, Any]:
    """An event about which there is nothing to say, in the dialect that most clients share."""
    return {
        "hook_event_name": "PreToolUse",
        "session_id": session,
        "cwd": cwd,
        "tool_name": "Read",
        "tool_input": {"file_path": os.path.join(cwd, "README.md")},
    }


def _would_change(file: SettingsFile) -> bool:
    text = files.read(file.path) or file.blank
    return file.join(text) != text


@contextlib.contextmanager
def without_a_trace(beats: str, home: str) -> Generator[None]:
    """A hook is a sign of life of its session; ours has none to give. beats: the folder of such signs in a room."""
    made: list[str] = []
    for wanted in (os.path.join(home, "run", "figures"), beats):
        folder = wanted
        while folder != home and folder not in made and not os.path.exists(folder):
            made.append(folder)
            folder = os.path.dirname(folder)
    made.sort(key=len, reverse=True)
    yield
    Beats(beats).forget(SESSION)
    Tally(home).forget(SESSION)
    for folder in made:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def check(name: str, level: str, message: str, fix: str = "") -> Check:
    """One line of the doctor's: what was looked at, how it is, what there is to say, and how to mend it."""
    return {"name": name, "level": level, "message": message, **({"fix": fix} if fix else {})}
