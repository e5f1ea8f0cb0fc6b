"""Connect agent products to Clearway, and disconnect them again.

`connect` registers the hooks and the MCP server in a client's own settings, `disconnect` takes them out. Both plan
every file first and refuse before anything is written; without `write` they only say what they would do. Entries of
other people are never dropped, changed or reordered. A client is one module beside this one: `installed(asked)` says
whether it is on this machine, `files(asked)` which of its files hold what.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType

from clearway.config import Settings, check_name
from clearway.errors import Refusal
from clearway.setup.connect import (
    claude,
    cline,
    codex,
    copilot,
    cursor,
    files,
    gemini,
    goose,
    kiro,
    opencode,
    pasting,
    qwen,
    scopenote,
    vscode,
    windsurf,
)
from clearway.setup.connect.shapes import BACKUP_SUFFIX, Asked, Change, SettingsFile
from clearway.setup.registered import Binding

_KNOWN = (claude, codex, gemini, copilot, qwen, opencode, vscode, cursor, windsurf, goose, kiro, cline)
CLIENTS: dict[str, ModuleType] = {client.CLIENT: client for client in _KNOWN}
SCOPES = ("user", "project")


def connect(
    clients: Sequence[str],
    home: str,
    *,
    environ: Mapping[str, str],
    write: bool = False,
    scope: str = "user",
    agent_name: str = "",
    project: str = "",
    danger_gate: bool = False,
    rewake: bool = False,
    scope_note: bool = False,
) -> list[Change]:
    """Register hooks and MCP server; answer what changes (nothing, when all is registered already).

    clients: their names; none for those installed here; `json` for a text to paste.
    home: the resolved CLEARWAY_HOME, baked into every entry. environ: where HOME, CODEX_HOME and the like come from.
    project: the root of the checkout, needed for the scope `project`. danger_gate: it is to be on for this user.
    rewake: messages are to wake a client's idle sessions; once asked for, it stays until the client is disconnected.
    scope_note: what agents read is to have a section in which the person says what may be done unattended.
    """
    asked = _asked(home, scope, agent_name, environ, project, rewake=rewake)
    changes: list[Change] = []
    chosen = _chosen(clients, asked)
    if rewake and claude.CLIENT not in chosen:
        raise Refusal(
            "INVALID_ARGUMENT", "Only Claude Code is woken by its hooks: connect claude --rewake. Codex has codex-wake."
        )
    for client in chosen:
        if client == pasting.CLIENT:
            changes.append(Change(client, "", None, pasting.text(asked.binding)))
        else:
            changes += _planned(CLIENTS[client].files(asked), _joined)
    if scope_note:
        noted = scopenote.files(asked, [client for client in chosen if client in CLIENTS])
        changes += [replace(change, backup=False) for change in _planned(noted, _joined)]
    if danger_gate:
        from clearway.setup.connect import gate

        changes += gate.change(asked.binding.home)
    if write:
        files.write_all([change for change in changes if change.file])
    return changes


def disconnect(
    clients: Sequence[str],
    home: str,
    *,
    environ: Mapping[str, str],
    write: bool = False,
    scopes: Sequence[str] = SCOPES,
    project: str = "",
) -> list[Change]:
    """Take our entries out again; a file in which nothing else changed gets its old bytes back.

    clients: their names; none for all we know. project: without one only the user's own files are looked at.
    """
    chosen = _known(clients or list(CLIENTS), list(CLIENTS))
    shared = _still_read(chosen, home, environ, scopes, project)
    found = _everywhere(chosen, home, environ, scopes, project)
    changes = _planned([file for file in found if os.path.realpath(file.path) not in shared], _parted)
    if write:
        files.write_all(changes)
    return changes


def registered(
    clients: Sequence[str], home: str, *, environ: Mapping[str, str], project: str = ""
) -> list[tuple[str, str, str]]:
    """Every hook command of ours that the clients' files hold now: client, file, command.

    A file that cannot be read as what it should be is refused, by its name.
    """
    found: list[tuple[str, str, str]] = []
    for file in _everywhere(_known(clients or list(CLIENTS), list(CLIENTS)), home, environ, SCOPES, project):
        if file.commands and (text := files.read(file.path)) is not None:
            with _named(file):
                found += [(file.client, file.path, command) for command in file.commands(_start(file, text))]
    return found


def installed(environ: Mapping[str, str]) -> list[str]:
    """The clients found on this machine, in the order of the catalogue."""
    return _installed(Asked("user", "", Binding(""), environ))


def _asked(
    home: str, scope: str, agent_name: str, environ: Mapping[str, str], project: str, *, rewake: bool = False
) -> Asked:
    if scope not in SCOPES:
        raise Refusal("INVALID_ARGUMENT", f"The scope is one of: {', '.join(SCOPES)}.")
    if scope == "project" and not project:
        raise Refusal("INVALID_ARGUMENT", "The scope project needs a repository; run this inside one.")
    agent = check_name(agent_name) if agent_name else ""
    binding = Binding(os.path.abspath(home), agent, Settings(environ).fail_closed)
    return Asked(scope, project, binding, environ, rewake)


def _chosen(clients: Sequence[str], asked: Asked) -> list[str]:
    known = [*CLIENTS, pasting.CLIENT]
    chosen = _known(clients, known) if clients else _installed(asked)
    if not chosen:
        raise Refusal("INVALID_ARGUMENT", f"No client was found on this machine; name one of: {', '.join(known)}.")
    return chosen


def _known(clients: Sequence[str], known: Sequence[str]) -> list[str]:
    for client in clients:
        if client not in known:
            raise Refusal("INVALID_ARGUMENT", f"{client!r} is not a client we can connect; choose {', '.join(known)}.")
    return list(dict.fromkeys(clients))


def _installed(asked: Asked) -> list[str]:
    return [name for name, client in CLIENTS.items() if client.installed(asked)]


def _everywhere(
    clients: Sequence[str], home: str, environ: Mapping[str, str], scopes: Sequence[str], project: str
) -> list[SettingsFile]:
    """The files of some clients in all scopes, each once: for a repository in the home folder they are the same."""
    settings: dict[str, SettingsFile] = {}
    for scope in scopes:
        if scope == "user" or project:
            asked = _asked(home, scope, "", environ, project)
            found = [file for name in clients for file in CLIENTS[name].files(asked)]
            found += scopenote.files(asked, list(clients))
            settings |= {os.path.realpath(file.path): file for file in found}
    return list(settings.values())


def _still_read(
    parted: Sequence[str], home: str, environ: Mapping[str, str], scopes: Sequence[str], project: str
) -> set[str]:
    """The instructions (an AGENTS.md) that clients read which stay connected: their section is not for those to take
    who go. A client whose own files cannot be read counts as connected."""
    staying: list[str] = []
    for name in CLIENTS:
        if name not in parted:
            try:
                connected = bool(registered([name], home, environ=environ, project=project))
            except Refusal:
                connected = True
            staying += [name] if connected else []
    notes = [
        scopenote.files(_asked(home, scope, "", environ, project), staying)
        for scope in scopes
        if scope == "user" or project
    ]
    return {os.path.realpath(file.path) for files_of_scope in notes for file in files_of_scope}


@contextmanager
def _named(file: SettingsFile) -> Generator[None]:
    """What is wrong with a file is told with its name."""
    try:
        yield
    except ValueError as problem:
        raise Refusal(
            "INVALID_ARGUMENT", f"{file.path} was left alone: {problem}. Nothing was written.", file=file.path
        ) from problem


def _planned(settings: Sequence[SettingsFile], plan: Callable[[SettingsFile, str | None], Change]) -> list[Change]:
    """The changes of some files; the files are read here, and written only when all of them could be planned."""
    changes: list[Change] = []
    for file in settings:
        text = files.read(file.path)
        with _named(file):
            change = plan(file, text)
        if change.after != change.before:
            changes.append(change)
    return changes


def _joined(file: SettingsFile, text: str | None) -> Change:
    start = _start(file, text)
    after = file.join(start)
    # Where our entries stand already, the file is no longer what it was before us: too late for a first backup.
    backup = text is not None and file.part(start, None) == start and not os.path.lexists(file.path + BACKUP_SUFFIX)
    notes = file.notes + (file.remark(start, after) if file.remark else ())
    return Change(file.client, file.path, text, text if after == start else after, notes, file.mode, backup)


def _parted(file: SettingsFile, text: str | None) -> Change:
    start = _start(file, text)
    original = _original(file)
    after = file.part(start, None if original is None else _start(file, original))
    notes = file.remark(start, after) if file.remark else ()
    if after == start:
        return Change(file.client, file.path, text, text)
    if original is None:
        ours_alone = after.strip() == file.blank.strip()
        return Change(file.client, file.path, text, None if ours_alone else after, notes, file.mode)
    if after == _restarted(file, original):
        after = original
    return Change(file.client, file.path, text, after, notes, file.mode, obsolete_backup=after == original)


def _start(file: SettingsFile, text: str | None) -> str:
    """The text to work on: a file that is missing or empty holds nothing."""
    return text if text and text.strip() else file.blank


def _original(file: SettingsFile) -> str | None:
    """What the file held before us, where a backup says so and holds nothing of ours itself."""
    text = files.read(file.path + BACKUP_SUFFIX)
    try:
        return text if text is not None and file.part(_start(file, text), None) == _start(file, text) else None
    except ValueError:
        return None


def _restarted(file: SettingsFile, original: str) -> str | None:
    """What connecting and disconnecting makes of the original. Where the file, without our entries, is the same,
    nothing else has changed since.

    Asked this way because taking out is not always the exact reverse of putting in, and because nobody knows any
    more with which options, and by which version, the entries were put in."""
    try:
        return file.part(file.join(_start(file, original)), _start(file, original))
    except ValueError:
        return None
