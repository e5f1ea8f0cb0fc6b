"""Writing the long texts of a command in the person's own editor.

The texts stand in one file, each under its heading; what was changed there is what is asked for. A refusal loses
nothing: the file is kept, and the refusal says where. For a change, the version is the one that was read before the
editor opened, so what others did meanwhile is not overwritten.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from clearway.errors import Refusal
from clearway.surfaces.asking import Run
from clearway.surfaces.spelling import Command, Slot, Verbatim, is_long
from clearway.untrusted import folded

OPTIONS = (click.Option(["--edit", "edit"], is_flag=True, default=False, help="Write the texts in your editor."),)
_END = "Everything above is kept, this line and what follows is not. Leave it all empty to give up."
_MARK = "===="


def can_be_written(command: Command) -> bool:
    """Whether this command takes a text with so much room that nobody wants to type it in a shell."""
    return any(is_long(slot.kind) for slot in command.slots)


def is_wanted(command: Command, given: dict[str, Any]) -> bool:
    """Whether to open an editor: it was asked for, or a long text is missing and somebody sits at a terminal."""
    asked = bool(given.pop("edit", False))
    if asked:
        return True
    missing = [slot for slot in command.slots if slot.required and given.get(slot.name) is None]
    texts = [slot for slot in missing if is_long(slot.kind)]
    if texts and sys.stdin.isatty() and sys.stdout.isatty():
        if texts == missing:
            return True
    for slot in missing:
        if slot.placed:
            raise click.UsageError(f"Missing argument {slot.metavar!r}.", click.get_current_context())
    return False


def perform(run: Run, command: Command, given: dict[str, Any]) -> dict[str, Any] | None:
    """Let the texts be written, then ask; None when nothing was written or nothing is different."""
    import tempfile

    slots = [slot for slot in command.slots if is_long(slot.kind) or slot.name == "title"]
    before = _current(run, command, given, slots)
    shown = {slot.name: given.get(slot.name) or before.get(slot.name, "") for slot in slots}
    descriptor, file = tempfile.mkstemp(prefix="clearway-", suffix=".md")
    with open(descriptor, "w", encoding="utf-8") as opened:
        opened.write(_page(slots, shown))
    kept = False
    try:
        _edit(file, run.settings.environ)
        written = _read(file, slots, shown)
        wanted = _wanted(slots, before, written)
        for slot in slots:
            given.pop(slot.name, None)
        given |= wanted
        if not wanted and not any(slot.patch is not None and given.get(slot.name) for slot in command.slots):
            return None
        try:
            return run.perform(command, given)
        except Refusal as refusal:
            kept = True
            message = f"{refusal.message} What you wrote is in {file}."
            raise Refusal(refusal.code, message, refusal.details, **refusal.facts) from refusal
    finally:
        if not kept:
            os.unlink(file)


def _current(run: Run, command: Command, given: dict[str, Any], slots: list[Slot]) -> dict[str, str]:
    """The texts as they are, where the command changes something; notes the version they have."""
    reader = command.reads_version
    if reader is None or not any(slot.patch is not None for slot in slots):
        return {}
    subject = next(slot.name for slot in command.slots if slot.placed)
    found = run.ask(reader, **{subject: given[subject]})
    given["expected_version"] = given.get("expected_version") or str(found["version"])
    return {slot.name: found.get(slot.name) or "" for slot in slots}


def _wanted(slots: list[Slot], before: dict[str, str], written: dict[str, str]) -> dict[str, Any]:
    """What to ask for: what is different, where something was there before; else what is not empty, if all that must
    be there is."""
    if any(slot.patch is not None for slot in slots):
        return {name: Verbatim(text) for name, text in written.items() if text != before.get(name, "")}
    if not any(written.values()) or any(slot.required and not written[slot.name] for slot in slots):
        return {}
    return {name: Verbatim(text) for name, text in written.items() if text}


def _page(slots: list[Slot], texts: dict[str, str]) -> str:
    mark = _mark(texts)
    if len(slots) == 1:
        return f"{texts[slots[0].name]}\n\n{mark} {_END}\n"
    parts = [f"{mark} {_heading(slot)}\n{texts[slot.name]}\n" for slot in slots]
    return "\n".join([*parts, f"{mark} {_END}\n"])


def _read(file: str, slots: list[Slot], shown: dict[str, str]) -> dict[str, str]:
    """The texts under their headings."""
    with open(file, encoding="utf-8", errors="surrogateescape") as opened:
        text = opened.read()
    mark = _mark(shown)
    headings = {f"{mark} {_heading(slot)}": slot.name for slot in slots}
    found: dict[str, list[str]] = {slot.name: [] for slot in slots}
    current = found[slots[0].name]
    for line in text.splitlines():
        if line.rstrip() == f"{mark} {_END}":
            break
        if line.rstrip() in headings and len(slots) > 1:
            current = found[headings[line.rstrip()]]
        else:
            current.append(line)
    return {name: "\n".join(lines).strip("\n") if lines else "" for name, lines in found.items()}


def _mark(texts: dict[str, str]) -> str:
    """What headings begin with: nothing that stands in the texts themselves."""
    mark = _MARK
    while any(mark in text for text in texts.values()):
        mark += "="
    return mark


def _heading(slot: Slot) -> str:
    return slot.name.replace("_", " ")


def _edit(file: str, environ: Any) -> None:
    import shlex
    import subprocess

    editor = environ.get("VISUAL") or environ.get("EDITOR") or ("vi" if sys.stdin.isatty() else "")
    if not editor:
        raise Refusal("INVALID_ARGUMENT", "EDITOR is not set: say which editor you write in.")
    try:
        status = subprocess.run([*shlex.split(editor), file], check=False).returncode
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Refusal("INVALID_ARGUMENT", f"{folded(editor, 100)} cannot be started ({why}).") from error
    if status:
        raise Refusal("INVALID_ARGUMENT", f"{folded(editor, 100)} ended with status {status}; nothing was changed.")
