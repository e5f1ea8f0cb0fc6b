"""The word `notify`: tell a person outside of the room what waits for them, once, for as long as it runs, or to try."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.limits import OVERDUE_SECONDS_MAX
from clearway.surfaces import callers
from clearway.surfaces.asking import Run, mention, say, say_json
from clearway.surfaces.options import this_run

if TYPE_CHECKING:
    from clearway.room import Room

_ROOMS_MAX = 200
_NAME_CHARS = 80


@click.command()
@click.argument("what", metavar="[once|run|test]", type=click.Choice(["once", "run", "test"]), default="once")
@click.option("--loop", is_flag=True, help="Stay, and tell what comes: the same as run.")
@click.option("--dry", is_flag=True, help="Only say what would be told; nothing is sent or noted.")
@click.option("--all", "everywhere", is_flag=True, help="Of all rooms here. [default: outside of any repository]")
@click.option(
    "--overdue", metavar="TIME", default="", help="A message that no agent has taken for so long waits for you."
)
def notify(what: str, loop: bool, dry: bool, everywhere: bool, overdue: str) -> int:
    """Tell you by Telegram, a webhook or a command what waits for you, each once: once, run, test."""
    from clearway.worker import notify as telling
    from clearway.worker import ways

    run = this_run()
    if not callers.of_command(run.settings, run.agent, run.folder, run.rooms.liveness).human:
        raise Refusal("FORBIDDEN", "Only the human is told what waits for the human; ask for it.")
    offered = ways.of(run.settings.environ)
    if not offered and not dry:
        raise Refusal(
            "INVALID_ARGUMENT",
            "notify: nothing is set to tell you by; TELEGRAM_BOT_TOKEN and TELEGRAM_CHAT_ID, CLEARWAY_NOTIFY_URL or "
            "CLEARWAY_NOTIFY_COMMAND in the environment say how.",
        )
    if what == "test":
        return _try(offered)
    late = None if not overdue else _seconds(overdue)
    notifier = telling.Notifier(
        lambda: _rooms(run, everywhere=everywhere), offered, clock=run.rooms.clock, say=mention, overdue=late
    )
    if dry:
        return _show(run, notifier.untold())
    if loop or what == "run":
        notifier.run()
    sent, failed = notifier.once()
    if run.as_json:
        say_json({"sent": sent, "failed": failed, "held_back": notifier.held_back})
    else:
        waits = f" {notifier.held_back} held back until the quiet hours are over." if notifier.held_back else ""
        say((f"{sent} sent." if sent or not failed else "Nothing was sent.") + waits)
    return int(failed > 0)


def _try(offered: list[Any]) -> int:
    from clearway.worker.ways import NotSent

    failed = 0
    for way in offered:
        try:
            way.send("Clearway can reach you here.", [])
            say(f"{way.name}: sent.")
        except NotSent as error:
            failed += 1
            say(f"{way.name}: {error.said}.")
    return int(failed > 0)


def _show(run: Run, waiting: list[tuple[str, dict[str, Any]]]) -> int:
    from clearway.surfaces import briefs

    if run.as_json:
        say_json({"items": [{"room": name, **need} for name, need in waiting]})
    elif not waiting:
        say("Nothing would be told.")
    else:
        say("\n".join(briefs.needs([need for _, need in waiting], run.paper)))
    return 0


def _rooms(run: Run, *, everywhere: bool) -> list[tuple[str, Room]]:
    """Those to be told of, each by the name of its project."""
    place = run.place
    if not everywhere and (place is not None or run.settings.room):
        room = run.rooms.of_folder(run.folder)
        return [(_name(room) or os.path.basename(place.root if place else run.folder), room)]
    home = os.path.join(run.settings.home, "rooms")
    projects = sorted(os.listdir(home))[:_ROOMS_MAX] if os.path.isdir(home) else []
    found: list[tuple[str, Room]] = []
    for project in projects:
        folder = os.path.join(home, project)
        if any(os.path.exists(os.path.join(folder, file)) for file in ("room.db", "address")):
            try:
                room = run.rooms.of_project(project)
                found.append((_name(room) or project[-6:], room))
            except Refusal as refusal:
                mention(f"{project}: {refusal.code}: {refusal.message}")
    return found


def _name(room: Room) -> str:
    from clearway.config import Caller

    caller = Caller("human", host=room.liveness.host, human=True)
    return str(room.ask(OPERATIONS["get_project"], {}, caller)["project"].get("name", ""))[:_NAME_CHARS]


def _seconds(text: str) -> int:
    unit = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}.get(text[-1:], 0)
    digits = text[:-1] if unit else text
    read = int(digits) * (unit or 1) if digits.isascii() and digits.isdigit() and len(digits) < 9 else -1
    if not 0 <= read <= OVERDUE_SECONDS_MAX:
        raise Refusal("INVALID_ARGUMENT", "notify: --overdue takes a length of time such as 300, 90s or 30m.")
    return read
