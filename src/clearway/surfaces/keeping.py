"""The words about rooms as files: make one, back it up, restore it."""

from __future__ import annotations

import os

import click

from clearway import config
from clearway.clock import iso
from clearway.errors import Refusal
from clearway.repository import Repository
from clearway.surfaces import callers
from clearway.surfaces.asking import Run, say, say_json
from clearway.surfaces.options import this_run


@click.command()
@click.option("--database", metavar="DSN", default="", help="Keep the room on a PostgreSQL server, for a team.")
@click.option("--name", metavar="NAME", default="", help="What the project is called.")
def init(database: str, name: str) -> None:
    """Make the room of this repository, and the file that names it."""
    from clearway.setup import founding

    run = this_run()
    here = os.path.realpath(run.folder)
    made = founding.found(run.rooms, run.place or Repository(here, "", ""), database=database, name=name)
    if run.as_json:
        say_json({"project_id": made.project, "root": made.root, "room": made.room})
        return
    files = " and ".join([config.POINTER, config.TEAM] if made.team else [config.POINTER])
    lines = [f"{made.root} has its room now, and {files} to find it by: commit {'them' if made.team else 'that file'}."]
    kept = "1 issue already, and has it" if made.issues == 1 else f"{made.issues} issues already, and has them"
    lines += [f"It had {kept} still."] if made.issues else []
    lines += [f"The empty room that was here is now {made.aside}."] if made.aside else []
    lines.append("  clearway connect                            connect your agents (shows first)")
    lines.append("  clearway issue create TITLE --status ready  give them something to do")
    say(run.paper.flowed("\n".join(lines)))


@click.command()
@click.option("--output", metavar="FILE", required=True, help="The new file to write.")
def backup(output: str) -> None:
    """Write a backup of this room, which proves itself, while others work on."""
    from clearway import keeping

    run = this_run()
    room = run.rooms.of_folder(run.folder)
    file = os.path.join(run.folder, os.path.expanduser(output))
    found = keeping.back_up(room, file)
    size = os.path.getsize(file)
    if run.as_json:
        say_json({"output": file, "project_id": found.project, "latest_event_id": found.events, "bytes": size})
    else:
        say(f"{file} holds the room up to event {found.events} ({size} bytes), and was read again.")


@click.command()
@click.argument("file")
@click.option("--force", is_flag=True, help="Also over newer work, which is kept aside.")
def restore_backup(file: str, force: bool) -> None:
    """Put a backup in the place of a room that is missing, or older."""
    from clearway import keeping

    run = this_run()
    if force and not callers.of_command(run.settings, run.agent, run.folder, run.rooms.liveness).human:
        raise Refusal("FORBIDDEN", "Only the human restores over newer work; ask for it.")
    place = _place(run)
    backup_file = os.path.join(run.folder, os.path.expanduser(file))
    target = run.rooms.file_to_restore(place, keeping.project_in(backup_file))
    found, kept = keeping.restore(target.file, backup_file, target.project, run.rooms.clock, force=force)
    if run.as_json:
        say_json(
            {
                "project_id": found.project,
                "latest_event_id": found.events,
                "room": target.file,
                **({"kept": kept} if kept else {}),
            }
        )
        return
    say(f"{target.file} is now the room as it was at {iso(found.wall)} (event {found.events}).")
    if kept:
        say(f"The room that was there is now {kept}.")


@click.command()
@click.option("--dry-run", "dry", is_flag=True, help="Only say what would go.")
def prune(dry: bool) -> None:
    """Part with events of crew and guard and with handled messages that are older than retention_days."""
    from clearway import retention

    run = this_run()
    done = retention.prune(run.rooms.of_folder(run.folder), run.settings.home, dry=dry)
    if run.as_json:
        say_json({**done.as_dict(), "dry_run": dry})
        return
    what = f"{done.events} events, {done.messages} messages and {done.notices} notices"
    say(f"{what} {'are' if dry else 'were'} older than {done.days} days{'' if dry else ' and are gone'}; work is kept.")


def _place(run: Run) -> Repository:
    if run.place is None:
        raise Refusal("PROJECT_NOT_FOUND", f"{run.folder} is in no repository; go into the project's own folder.")
    return run.place
