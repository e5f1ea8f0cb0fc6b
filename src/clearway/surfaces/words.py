"""The words of the command line that stand for no operation: setting up, and what clients start.

Where each of them is; it is loaded when it is typed, for a word may need half the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, cast

import click

from clearway import config, wire
from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.surfaces import looking, spelling
from clearway.surfaces.asking import Run, mention, say, say_json
from clearway.surfaces.options import this_run
from clearway.untrusted import folded


@click.command()
def status() -> None:
    """Say in one line where things stand, for prompts and status bars."""
    looking.status(this_run())


@click.command()
@click.argument("operation")
@click.argument("arguments_json", metavar="[JSON|-|@FILE]", required=False, default="{}")
def call(operation: str, arguments_json: str) -> None:
    """Ask any operation by its name, with a JSON object of arguments; the answer is JSON."""
    run = this_run()
    if operation not in OPERATIONS:
        raise Refusal(
            "INVALID_ARGUMENT", f"There is no operation {folded(operation, 80)}; there is {', '.join(OPERATIONS)}."
        )
    try:
        given = wire.loads(spelling.LongTexts(run.folder).read(arguments_json))
    except ValueError as error:
        raise Refusal("INVALID_ARGUMENT", f"The arguments are not JSON: {folded(str(error), 200)}.") from None
    if not isinstance(given, dict):
        raise Refusal("INVALID_ARGUMENT", "The arguments must be one JSON object.")
    say_json(run.asked(OPERATIONS[operation], cast("dict[str, Any]", given)))


# --- setting up -------------------------------------------------------------------------------------------------


@click.command()
@click.argument("clients", nargs=-1, metavar="[CLIENT...]")
@click.option("--write", is_flag=True, help="Do it; otherwise the exact change is only shown.")
@click.option("--scope", metavar="user|project", default="user", help="Whose settings. [default: user]")
@click.option("--gate", is_flag=True, help="Refuse destructive commands, too.")
@click.option("--rewake", is_flag=True, help="Let messages wake an idle session (Claude Code).")
@click.option("--scope-note", "scope_note", is_flag=True, help="Let agents read what you allow unattended.")
@click.option("--git-hooks", "git_hooks", is_flag=True, help="Look at commits of this repository, too.")
@click.option("--as", "agent_name", metavar="NAME", default="", help="The name to register the agent under.")
def connect(
    clients: tuple[str, ...],
    write: bool,
    scope: str,
    gate: bool,
    rewake: bool,
    scope_note: bool,
    git_hooks: bool,
    agent_name: str,
) -> None:
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
        danger_gate=gate,
        rewake=rewake,
        scope_note=scope_note,
    )
    if git_hooks:
        from clearway.surfaces import committing

        for sentence in committing.beside_clients(run, write=write):
            mention(sentence)
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
        say(render.changes(planned, run.paper, written=written))
        return
    shown = [
        {"client": change.client, "file": change.file, "diff": change.diff, "notes": list(change.notes)}
        for change in planned
    ]
    say_json({"written": written, "changes": shown})


@click.command()
@click.option("--data", is_flag=True, help="Remove rooms, issues and history, too.")
@click.option("--write", is_flag=True, help="Do it; otherwise what would go is only shown.")
def uninstall(data: bool, write: bool) -> None:
    """Disconnect everything on this machine, and with --data remove what is kept."""
    from clearway.setup import uninstall as uninstalling
    from clearway.surfaces import host_start, host_wire, render

    run = this_run()
    place = run.place
    socket = host_wire.address(run.settings.home)
    removal = uninstalling.plan(run.settings, place.root if place else "", data=data)
    run.close()
    if write:
        host_start.stop(run.settings.home)
    for sentence in removal.carry_out() if write else ():
        mention(sentence)
    if write:
        host_wire.forget(run.settings.home, socket)
    if run.as_json:
        say_json(
            {
                "written": write,
                "files": [change.file for change in removal.changes],
                "git_hooks": removal.git_hooks,
                **({"services": list(removal.services)} if removal.services else {}),
                "removed": [*removal.paths, *removal.marks],
                **({"kept": removal.kept} if removal.kept else {}),
            }
        )
    else:
        say(render.removal(removal, run.paper, written=write))


@click.command()
@click.argument("clients", nargs=-1, metavar="[CLIENT...]")
@click.option("--full", is_flag=True, help="Compare every index of the room with its table, too.")
@click.option("--live", is_flag=True, help="Let clients try to write what others hold. [default: all found here]")
@click.option("--repair", is_flag=True, help="Mend first what can be mended.")
def doctor(clients: tuple[str, ...], full: bool, live: bool, repair: bool) -> int:
    """Look whether everything is in order; exit status 1 when something is not."""
    from clearway.setup import doctor as examination
    from clearway.setup import repairing, waits
    from clearway.surfaces import host_start, render

    run = this_run()
    if clients and not live:
        raise Refusal("INVALID_ARGUMENT", "Clients are named with --live only; without it all of them are looked at.")
    done = repairing.repair(run.settings, run.folder) if repair else []
    tried: list[dict[str, Any]] = []
    if live:
        from clearway.setup.live import prove

        tried = [proof.facts for proof in prove(clients, run.settings, run.rooms.clock, say=mention)]
    ask, runs = host_start.status, waits.RUNS
    found = examination.examine(run.settings, run.folder, full=full, ask_host=ask, hook_runs=runs)
    told = examination.report(run.settings, run.folder, found)
    if run.as_json:
        say_json(told | ({"repaired": done} if repair else {}) | ({"tried": tried} if live else {}))
    else:
        say("\n".join([*(f"repaired {folded(sentence, 2_000)}" for sentence in done), render.checks(found, run.paper)]))
    return int(not told["ok"])


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


# --- paths over time ------------------------------------------------------------------------------------------------


@click.command()
@click.option("--path", metavar="PATH", default="", help="Only this one. [default: the whole repository]")
@click.option("--limit", metavar="N", help="How many events, the newest first.")
def history(path: str, limit: str | None) -> None:
    """Tell what happened to the paths of this repository, or to one of them."""
    looking.history(this_run(), path, limit)


@click.command()
@click.option("--path", "paths", metavar="PATH", multiple=True, help="Until it is free. (repeat for several)")
@click.option("--issue", metavar="ISSUE", help="Until nobody works on it.")
@click.option("--for", "agent", metavar="AGENT", help="For a message to this agent. [default: to you]")
@click.option("--rewake", is_flag=True, help="For a client's hook: exit status 2 when a message has come, else 0.")
@click.option("--timeout", metavar="TIME", default="10m", help="How long at most, as 90s, 30m or 2h. [default: 10m]")
def wait(paths: tuple[str, ...], issue: str | None, agent: str | None, rewake: bool, timeout: str) -> int:
    """Wait for a message, until a path is free, or for an issue; exit status 124 when the time is over."""
    from clearway.surfaces import letters, stories, waiting, waking

    run = this_run()
    if agent:
        run.agent = config.check_name(agent)
    if rewake:
        return waking.rewake(run.rooms, run.agent or run.caller.agent, run.folder, timeout)
    if issue is not None:
        over = waking.for_issue(run.rooms, run.caller, run.folder, issue, timeout)
        if run.as_json:
            say_json({"free": over})
        else:
            say(f"Nobody works on {folded(issue, 40)}." if over else f"{folded(issue, 40)} is still being worked on.")
        return 0 if over else waiting.TIMED_OUT
    if not paths:
        come = waking.for_mail(run.rooms, run.caller, run.folder, timeout)
        if run.as_json:
            say_json({"items": come})
        else:
            say(letters.come(come, run.paper))
        return 0 if come else waiting.TIMED_OUT
    left = waiting.for_paths(run.rooms, run.caller, list(paths), timeout)
    if run.as_json:
        say_json({"free": not left, **({"blockers": waiting.shown(left)} if left else {})})
    else:
        say(stories.waited(list(paths), waiting.shown(left)))
    return waiting.TIMED_OUT if left else 0


@click.command("codex-wake")
@click.option("--thread", metavar="ID", default="", help="Which. [default: CLEARWAY_CODEX_THREAD, codex_thread]")
@click.option("--for", "agent", metavar="AGENT", default="codex", help="Whose messages. [default: codex]")
@click.option("--once", is_flag=True, help="Look once; exit status 124 when nothing waits.")
@click.option("--timeout", metavar="TIME", default="24h", help="How long at most. [default: 24h]")
def codex_wake(thread: str, agent: str, once: bool, timeout: str) -> int:
    """Queue a line for a thread of Codex whenever a message waits for it."""
    from clearway.surfaces import codexwake, waiting, waking

    run = this_run()
    queued = codexwake.keep_awake(
        run.rooms,
        config.check_name(agent),
        run.folder,
        thread,
        timeout_ms=waking.span(timeout),
        once=once,
        mention=mention,
    )
    if run.as_json:
        say_json({"queued": queued})
    else:
        say(f"{queued} queued." if queued else "Nothing was queued.")
    return waiting.TIMED_OUT if once and not queued else 0


@click.command()
@click.argument("path", metavar="PATH")
@click.option("--show", is_flag=True, help="Only print what is kept.")
def restore(path: str, show: bool) -> None:
    """Bring a held file back as its holder left it; exit status 3 when nothing is kept of it."""
    from clearway.surfaces import restoring, stories

    run = this_run()
    kept = restoring.find(run.rooms, run.caller, path, run.folder)
    if show:
        click.echo(kept.content or b"", nl=False)
        return
    done = restoring.restore(run.rooms, run.caller, kept)
    if run.as_json:
        say_json(done)
    else:
        say(stories.restored(done))


# --- programs that clients start; cli.py answers these words before it comes to this ---------------------------------


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, metavar="[--tools PROFILE]")
def mcp(words: tuple[str, ...]) -> int:
    """Serve the operations as MCP tools on stdin and stdout."""
    from clearway.surfaces.mcp import main

    os.chdir(this_run().folder)
    return main(list(words))


@click.command()
@click.argument("what", type=click.Choice(["run", "start", "stop", "status"]))
@click.option("--stay", is_flag=True, help="With run: do not leave when nobody needs it.")
def host(what: str, stay: bool) -> int:
    """Run, start, stop or show the one process that answers for all clients of this home."""
    from clearway.surfaces import hosting

    return hosting.perform(this_run(), what, stay=stay)


@click.command()
@click.option("--open", "open_it", is_flag=True, help="Open it in a browser.")
@click.option("--host", metavar="H", default="127.0.0.1", help="An address of this machine. [default: 127.0.0.1]")
@click.option("--port", metavar="P", type=click.IntRange(1_024, 65_535), default=None, help="Listen there from now on.")
@click.option("--log-out", is_flag=True, help="Log every browser out instead.")
def web(open_it: bool, host: str, port: int | None, log_out: bool) -> int:
    """Print a link to the room in a browser, which lets one browser in once."""
    from clearway.surfaces import webbing

    return webbing.perform(this_run(), host=host, port=port or 0, open_it=open_it, log_out=log_out)


@click.command()
@click.argument("client", required=False)
def hook(client: str | None) -> None:
    """Answer one hook event of a client: its JSON on stdin, its dialect on stdout."""
    if client:
        from clearway.surfaces import faststep

        faststep.main(client)
    # Exit status 2 would be a denial in every client: a registration without a name may not lock anybody out.
    click.echo("clearway: guard open (name the client whose event this is)", err=True)


class Words:
    """Commands by their words, each loaded when it is asked for."""

    def __init__(self, places: dict[str, str]) -> None:
        self._places = places

    def __contains__(self, word: str) -> bool:
        return word in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def get(self, word: str) -> click.Command | None:
        if word not in self._places:
            return None
        module, _, name = self._places[word].partition(".")
        return getattr(__import__(f"clearway.surfaces.{module}", fromlist=(name,)), name)


BY_NAME = Words(
    {
        **{word: f"words.{word}" for word in ("connect", "disconnect", "doctor", "simulate", "uninstall", "status")},
        **{word: f"words.{word}" for word in ("history", "wait", "restore", "call", "completion", "host", "mcp")},
        **{word: f"words.{word}" for word in ("hook", "web")},
        **{word: f"publishing.{word}" for word in ("board", "incident", "report", "top")},
        **{word: f"http_words.{word}" for word in ("serve", "token")},
        **{word: f"keeping.{word.replace('-', '_')}" for word in ("init", "backup", "restore-backup", "prune")},
        "codex-wake": "words.codex_wake",
        "forecast": "forecasting.forecast",
        "gc": "collecting.gc",
        "git-hooks": "committing.git_hooks",
        "graph": "graphics.graph",
        "import": "interchange.import_other",
        "notify": "notifying.notify",
        "plan": "planning.plan",
        "provider": "providers.provider",
        "service": "standing.service",
        "worker": "working.worker",
    }
)
BELOW = {"project": Words({"export": "interchange.export", "import": "interchange.import_project"})}
