"""The words of the command line that stand for no operation: looking around, setting up, and what clients start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

import click

from clearway import config, repository, wire
from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.limits import LIST_MAX
from clearway.repository import Repository
from clearway.surfaces.asking import Run, say_json, this_run
from clearway.surfaces.callers import HUMAN
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.db.tx import Tx

NOTHING_IN_JSON = "{}"


# --- looking around ---------------------------------------------------------------------------------------------


def _state(run: Run) -> dict[str, Any]:
    """Who is here besides the caller, what is held, and what the caller works on. Empty where there is no room."""
    place = run.place
    project = None if place is None else run.rooms.known(place)
    if place is None or project is None:
        return {}
    room = run.ask(OPERATIONS["room"])
    others = [
        agent for agent in room["agents"] if agent["agent"] != HUMAN and agent["session"] != room["me"]["session"]
    ]
    mine = run.rooms.of_repository(place).run(_mine, caller=run.caller, writes=False)
    return {
        "project_id": project,
        "root": place.root,
        "me": room["me"]["agent"],
        "agents": sum(agent["presence"] != "offline" for agent in others),
        "paths": len(room["paths"]),
        **({"mine": mine} if mine else {}),
    }


def _mine(tx: Tx) -> dict[str, Any] | None:
    """What the caller works on."""
    from clearway.work import attempts

    found = attempts.current(tx)
    if found is None:
        return None
    return {
        "display_id": f"ISSUE-{found.number}",
        "title": found.title,
        "attempt_id": found.id,
        "until": tx.iso(found.expires_at),
    }


def overview(run: Run) -> None:
    """What a bare `clearway` says: where this repository stands, and the next two commands."""
    from clearway.surfaces import render

    place = run.place
    if place is None:
        _welcome(run)
        return
    state = _state(run) or {"root": place.root}
    if "project_id" in state:
        ready = run.ask(OPERATIONS["list_issues"], is_claimable=True, limit=LIST_MAX)
        state |= {"claimable": len(ready["items"]), "more": ready["has_more"]}
    state["next"] = _next_commands(place, state)
    if run.as_json:
        say_json(state)
    else:
        click.echo(render.overview(state, run.paper))


def _next_commands(place: Repository, state: dict[str, Any]) -> list[str]:
    if "mine" in state:
        attempt = state["mine"]["attempt_id"]
        return [
            f"clearway attempt note {attempt} --kind checkpoint --content TEXT",
            f"clearway attempt finish {attempt} --outcome completed --target done --summary TEXT",
        ]
    if "claimable" not in state or config.read_pointer(place.root) is None:
        return ["clearway init", "clearway connect"]
    if state["claimable"]:
        return ["clearway next", "clearway issue list"]
    return ["clearway issue create TITLE --status ready", "clearway room"]


def _welcome(run: Run) -> None:
    if run.as_json:
        click.echo(NOTHING_IN_JSON)
        return
    click.echo(
        "Clearway coordinates coding agents that work in one repository: who does what, and who may touch which file.\n"
        "This folder is in no repository. Go into one, then:\n"
        "  clearway init      make its room\n"
        "  clearway connect   show what connecting your agents would change"
    )


@click.command()
def status() -> None:
    """Say in one line where things stand, for prompts and status bars."""
    from clearway.surfaces import render

    run = this_run()
    state = _state(run)
    if run.as_json:
        say_json(state)
    elif state:
        click.echo(render.status(state, run.paper))


@click.command()
@click.argument("operation")
@click.argument("arguments_json", metavar="[JSON|-|@FILE]", required=False, default="{}")
def call(operation: str, arguments_json: str) -> None:
    """Ask any operation by its name, with a JSON object of arguments; the answer is JSON."""
    from clearway.surfaces import options

    run = this_run()
    if operation not in OPERATIONS:
        raise Refusal(
            "INVALID_ARGUMENT", f"There is no operation {folded(operation, 80)}; there is {', '.join(OPERATIONS)}."
        )
    try:
        given = wire.loads(options.LongTexts(run.folder).read(arguments_json))
    except ValueError as error:
        raise Refusal("INVALID_ARGUMENT", f"The arguments are not JSON: {folded(str(error), 200)}.") from None
    if not isinstance(given, dict):
        raise Refusal("INVALID_ARGUMENT", "The arguments must be one JSON object.")
    say_json(run.rooms.ask(OPERATIONS[operation], cast("dict[str, Any]", given), run.caller))


# --- setting up -------------------------------------------------------------------------------------------------


@click.command()
def init() -> None:
    """Make the room of this repository, and the file that names it."""
    run = this_run()
    here = os.path.realpath(run.folder)
    place = repository.holding(here) or Repository(here, "", "")
    if config.read_pointer(place.root) is not None:
        raise Refusal(
            "PROJECT_ALREADY_INITIALIZED", f"{place.root} has its {config.POINTER} already; nothing was changed."
        )
    if not place.git and place.root in ("/", os.path.realpath(os.path.expanduser("~"))):
        raise Refusal("PATH_TOO_WIDE", f"{place.root} is too wide for one project; go into the project's own folder.")
    room = run.rooms.of_repository(place)  # before the pointer: it may name only a room that opens
    project = run.rooms.adopt(place)
    if run.as_json:
        say_json({"project_id": project, "root": place.root, "room": room.engine.path})
        return
    click.echo(
        f"{place.root} has its room now, and {config.POINTER} to find it by: commit that file.\n"
        "  clearway connect                            show what connecting your agents would change\n"
        "  clearway issue create TITLE --status ready  give them something to do"
    )


@click.command()
@click.argument("clients", nargs=-1, metavar="[CLIENT...]")
@click.option("--write", is_flag=True, help="Do it; otherwise the exact change is only shown.")
@click.option("--scope", metavar="user|project", default="user", help="Whose settings. [default: user]")
@click.option("--as", "agent_name", metavar="NAME", default="", help="The name to register the agent under.")
def connect(clients: tuple[str, ...], write: bool, scope: str, agent_name: str) -> None:
    """Register hooks and MCP server with the agents installed here."""
    from clearway.setup import connect as clients_of

    run = this_run()
    place = run.place if scope == "project" else None
    planned = clients_of.connect(
        clients,
        run.settings.home,
        environ=run.settings.environ,
        write=write,
        scope=scope,
        agent_name=agent_name or run.agent,
        project=place.root if place else "",
    )
    _show_changes(run, planned, written=write)


@click.command()
@click.argument("clients", nargs=-1, metavar="[CLIENT...]")
@click.option("--write", is_flag=True, help="Do it; otherwise the exact change is only shown.")
def disconnect(clients: tuple[str, ...], write: bool) -> None:
    """Take our hooks and MCP server out of the agents' settings again."""
    from clearway.setup import connect as clients_of

    run = this_run()
    place = run.place
    planned = clients_of.disconnect(
        clients,
        run.settings.home,
        environ=run.settings.environ,
        write=write,
        project=place.root if place else "",
    )
    _show_changes(run, planned, written=write)


def _show_changes(run: Run, planned: list[Any], *, written: bool) -> None:
    from clearway.surfaces import render

    if not run.as_json:
        click.echo(render.changes(planned, written=written))
        return
    shown = [
        {"client": change.client, "file": change.file, "diff": change.diff, "notes": list(change.notes)}
        for change in planned
    ]
    say_json({"written": written, "changes": shown})


@click.command()
def doctor() -> int:
    """Look whether everything is in order; exit status 1 when something is not."""
    from clearway.setup import doctor as examination
    from clearway.surfaces import render

    run = this_run()
    found = examination.examine(config.settings(), run.folder)
    healthy = all(check["level"] != "problem" for check in found)
    if run.as_json:
        say_json({"ok": healthy, "checks": found})
    else:
        click.echo(render.checks(found, run.paper))
    return int(not healthy)


@click.command()
def simulate() -> int:
    """Play one story with two agents, each step checked, in a place of its own."""
    from clearway.setup.rehearse import rehearse

    return int(not rehearse(click.echo, colour=this_run().paper.colour))


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes a shell complete these commands."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(click.get_current_context().find_root().command, {}, "clearway", "_CLEARWAY_COMPLETE").source())


# --- programs that clients start; cli.py answers these words before it comes to this ---------------------------------


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, metavar="[--tools PROFILE]")
def mcp(words: tuple[str, ...]) -> int:
    """Serve the operations as MCP tools on stdin and stdout."""
    from clearway.surfaces.mcp import main

    os.chdir(this_run().folder)
    return main(list(words))


@click.command()
@click.argument("client", required=False)
def hook(client: str | None) -> None:
    """Answer one hook event of a client: its JSON on stdin, its dialect on stdout."""
    if client:
        from clearway.surfaces import faststep

        faststep.main(client)
    # Exit status 2 would be a denial in every client: a registration without a name may not lock anybody out.
    click.echo("clearway: guard open (name the client whose event this is)", err=True)


SETTING_UP = (init, connect, disconnect, doctor, simulate)
MORE = (call, completion, mcp, hook)
