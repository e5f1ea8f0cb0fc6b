"""The words of interchange: a project as a file, and files of this and other makings as work.

Files are read and written in this process, line by line, so their size is no matter of a reply's. An export takes its
name when it is whole, and never takes the place of a file with something in it that this project has not: whoever
exports over what another machine has exported imports that first.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

import click

from clearway import platforms, wire
from clearway.errors import Refusal
from clearway.limits import IMPORT_BYTES_MAX
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.options import this_run
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.room import Room
    from clearway.work.transfer_sources import Source

FORMATS = ("rhizome", "beads", "markdown", "github")
_SHOWN = 20  # of renumbered issues, conflicts and what was left out, to a person
_CHARS = 300


@click.command("export")
@click.option("--output", metavar="FILE|-", required=True, help="Where to write it.")
@click.option("--overwrite", is_flag=True, help="Also over an earlier export, if nothing in that is unknown here.")
def export(output: str, overwrite: bool) -> None:
    """Write all issues and what belongs to them to one file, for another room or for git."""
    run = this_run()
    room = run.rooms.of_folder(run.folder)
    if output == "-":
        room.run(lambda tx: _write(tx, sys.stdout.buffer), caller=run.caller, writes=False)
        return
    shown = os.path.normpath(os.path.join(run.folder, os.path.expanduser(output)))
    file = os.path.realpath(shown)
    _check_place(run, room, file, overwrite=overwrite)
    aside = f"{file}.{run.rooms.clock.new_id()}.part"
    try:
        with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
            counts, active = room.run(lambda tx: _write(tx, opened), caller=run.caller, writes=False)
            opened.flush()
            platforms.full_sync(opened.fileno())
        if overwrite:
            os.replace(aside, file)
        elif not platforms.put_in_place(aside, file):
            raise Refusal("INVALID_ARGUMENT", f"{shown} was made by another meanwhile; --overwrite replaces it.")
    except OSError as error:
        raise Refusal("STORAGE_FAILURE", f"{shown} cannot be written: {error.strerror}.") from error
    finally:
        if os.path.lexists(aside):
            os.unlink(aside)
    size = os.path.getsize(file)
    if run.as_json:
        left: dict[str, Any] = {"left_out": {"active_attempts": active}} if active else {}
        say_json({"output": shown, "bytes": size, "counts": counts} | left)
        return
    say(f"{folded(shown, _CHARS)} has {_counted(counts) or 'an empty project'} ({size:,} bytes).")
    if active:
        what = "1 attempt that is going on is" if active == 1 else f"{active} attempts that are going on are"
        say(f"{what} not in it: who holds what is of this room alone.")


@click.command("import")
@click.argument("file", metavar="FILE|-", required=False)
@click.option("--input", "input_file", hidden=True)  # as rhizome has it, with --apply for what is done here anyway
@click.option("--apply", "_applied", is_flag=True, hidden=True, expose_value=False)
@click.option("--dry-run", "dry", is_flag=True, help="Only say what would happen.")
@click.option("--mode", metavar="empty|merge", default="empty", help="Into an empty project, or beside what is here.")
def import_project(file: str | None, input_file: str | None, dry: bool, mode: str) -> int:
    """Bring the issues of an exported file into this project; of two versions of one the newer counts."""
    named = file or input_file
    if named is None or (file and input_file):
        raise Refusal("INVALID_ARGUMENT", "project import: name one FILE, or - for stdin.")
    if mode not in ("empty", "merge"):
        raise Refusal("INVALID_ARGUMENT", "project import: --mode must be one of empty, merge.")
    return _bring(this_run(), named, None, mode, dry=dry)


@click.command("import")
@click.argument("form", metavar="|".join(FORMATS), type=click.Choice(FORMATS))
@click.argument("file", metavar="FILE|-")
@click.option("--dry-run", "dry", is_flag=True, help="Only say what would happen.")
def import_other(form: str, file: str, dry: bool) -> int:
    """Bring the issues of another tracker into this project: rhizome, beads, markdown, github."""
    return _bring(this_run(), file, form, "merge", dry=dry)


# --- reading --------------------------------------------------------------------------------------------------------


def _bring(run: Run, file: str, form: str | None, mode: str, *, dry: bool) -> int:
    from clearway.work import transfer
    from clearway.work.transfer_documents import Text
    from clearway.work.transfer_sources import source_of

    name = "stdin" if file == "-" else file
    form = form or ("markdown" if file.endswith((".md", ".markdown")) else None)
    source = source_of(Text(_opener(run, file)), form)
    room = run.rooms.of_folder(run.folder)
    looked = room.run(
        lambda tx: _named(tx, transfer.bring(tx, source, mode, writes=False, progress=_progress("read"))),
        caller=run.caller,
        writes=False,
    )
    if any(conflict["code"] == "empty_destination_required" for conflict in looked["conflicts"]):
        reason = looked["conflicts"][0]["message"]
        raise Refusal("PROJECT_ALREADY_INITIALIZED", f"Nothing was imported: {reason}.")
    done = looked if dry or not transfer.writes_anything(looked) else _written(run, room, source, mode)
    _done_counting()
    if run.as_json:
        say_json(done)
    else:
        say("\n".join(run.paper.flowed(line) for line in _told(done, folded(name, _CHARS), dry=dry)))
    return 0


def _written(run: Run, room: Room, source: Source, mode: str) -> dict[str, Any]:
    from clearway.work import transfer

    return room.run(
        lambda tx: _named(tx, transfer.bring(tx, source, mode, writes=True, progress=_progress("written"))),
        caller=run.caller,
    )


def _named(tx: Tx, found: dict[str, Any]) -> dict[str, Any]:
    """With the project's word for its issues."""
    from clearway.work import naming

    return naming.in_answer(found, tx.opening.issue_key)


def _opener(run: Run, file: str) -> Callable[[], IO[bytes]]:
    """What gives the file from its beginning, as often as it is asked; of a pipe, such as a shell makes for
    `<(gh issue list ...)`, that is kept here."""
    if file == "-":
        stdin = getattr(sys.stdin, "buffer", None)
        raw = b"" if stdin is None else stdin.read(IMPORT_BYTES_MAX + 1)
        return lambda: io.BytesIO(raw)
    path = os.path.join(run.folder, os.path.expanduser(file))
    try:
        with open(path, "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                said = opened.read(IMPORT_BYTES_MAX + 1)
                return lambda: io.BytesIO(said)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a file name"
        raise Refusal("PATH_INVALID", f"{folded(file, _CHARS)} cannot be read ({why}).") from error
    return lambda: open(path, "rb")


def _told(done: dict[str, Any], name: str, *, dry: bool) -> list[str]:
    """What happened, for a person."""
    created, updated = _counted(done["created"]), _counted(done["updated"])
    lines: list[str] = []
    if created:
        lines.append(f"{'New in' if dry else 'Imported from'} {name}: {created}.")
    if updated:
        lines.append(f"{'Newer in' if dry else 'Brought forward from'} {name}: {updated}.")
    if not lines:
        lines.append(f"{name} has nothing that is not here already.")
    elif done["unchanged"]:
        lines.append(f"{done['unchanged']} more are here already.")
    if done.get("newer_here"):
        lines.append(f"Of {done['newer_here']} the version here is the newer one, and stays.")
    moved = [f"{number['was']} is {number['display_id']} here" for number in done["renumbered"]]
    if moved:
        lines.append(f"Numbers that were taken: {_some(moved)}.")
    lines += [f"Mind: {folded(conflict['message'], _CHARS)}." for conflict in done["conflicts"][:_SHOWN]]
    if done.get("left_out"):
        lines.append(f"There is no place here for {_some([folded(path, 100) for path in done['left_out']])}.")
    return lines


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _counted(counts: dict[str, int]) -> str:
    """`3 issues, 1 comment`"""
    named = ((name.removesuffix("s"), count) for name, count in counts.items() if count)
    return ", ".join(f"{count:,} {name}{'' if count == 1 else 's'}" for name, count in named)


def _progress(what: str) -> Callable[[int], None] | None:
    """A line that counts, on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        return None
    return lambda count: print(f"\r{count:,} records {what}", end="", file=sys.stderr, flush=True)


def _done_counting() -> None:
    if sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        print("\r\033[K", end="", file=sys.stderr, flush=True)


# --- writing --------------------------------------------------------------------------------------------------------


def _write(tx: Tx, file: IO[bytes]) -> tuple[dict[str, int], int]:
    from clearway.work import transfer

    progress = _progress("written")
    last = ""
    for count, last in enumerate(transfer.lines(tx), 1):
        file.write(last.encode() + b"\n")
        if progress is not None and not count % 1_000:
            progress(count)
    _done_counting()
    left = tx.one(transfer.SQL.left_out)
    assert left is not None
    counts: dict[str, int] = wire.loads(last)["counts"]
    return {name: count for name, count in counts.items() if count}, left.attempts


def _check_place(run: Run, room: Room, file: str, *, overwrite: bool) -> None:
    shown = folded(file, _CHARS)
    if not os.path.isdir(os.path.dirname(file)):
        raise Refusal("PATH_INVALID", f"There is no folder {folded(os.path.dirname(file), _CHARS)}.")
    if file.startswith(os.path.realpath(run.settings.home) + os.sep):
        raise Refusal("PATH_INVALID", f"{shown} is where rooms are kept; choose another place.")
    if not os.path.lexists(file):
        return
    if not os.path.isfile(file):
        raise Refusal("PATH_INVALID", f"{shown} is no file.")
    if not overwrite:
        raise Refusal("INVALID_ARGUMENT", f"{shown} is there already; --overwrite replaces it.")
    _check_known(run, room, file)


def _check_known(run: Run, room: Room, file: str) -> None:
    """An earlier export is replaced only if this room has all that is in it."""
    from clearway.work import transfer
    from clearway.work.transfer_documents import Text
    from clearway.work.transfer_sources import Own

    text = Text(_opener(run, file))
    if not text.head().startswith('{"format":"clearway"'):
        return
    shown = folded(file, _CHARS)
    try:
        earlier = Own(text)
        found = room.run(lambda tx: transfer.bring(tx, earlier, "merge", writes=False), caller=run.caller, writes=False)
    except Refusal as refusal:
        if refusal.is_of_storage:
            raise
        fault = refusal.details[0] if refusal.details else {"field": "it", "message": "cannot be read"}
        why = f"{fault['field']} {fault['message']}"
        raise Refusal(
            "INVALID_ARGUMENT",
            f"Nobody knows what would be lost of {shown}, an export of which {why}; move it away first.",
        ) from refusal
    if transfer.writes_anything(found):
        new = _counted({**found["created"]}) or "nothing new"
        changed = f", and newer versions of {_counted(found['updated'])}" if found["updated"] else ""
        raise Refusal(
            "VERSION_CONFLICT",
            f"{shown} has {new}{changed} that this project has not; import it first: clearway project import FILE "
            "--mode merge.",
        )
