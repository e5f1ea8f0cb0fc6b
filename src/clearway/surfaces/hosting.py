"""`clearway host`: what a person does with the resident host."""

from __future__ import annotations

from typing import Any

from clearway.errors import Refusal
from clearway.surfaces import host_start
from clearway.surfaces.asking import Run, mention, say, say_json
from clearway.untrusted import folded


def perform(run: Run, what: str, *, stay: bool = False) -> int:
    """Carry out one of the words; the exit status. `status` is 1 where no host is running."""
    if what == "run":
        return _run(run, stay=stay)
    home = run.settings.home
    if what == "start":
        if not host_start.is_wanted(run.settings.environ):
            raise Refusal(
                "STORAGE_CONFIGURATION", "CLEARWAY_HOST=off: no host is started; everything works without it."
            )
        _show(run, host_start.start(home, run.settings.environ))
        return 0
    if what == "stop":
        was_there = host_start.stop(home)
        if run.as_json:
            say_json({"stopped": was_there})
        else:
            say("The host has left." if was_there else "There was no host.")
        return 0
    running = host_start.status(home)
    hangs = host_start.in_office(home) if running is None else 0
    if hangs and not run.as_json:
        say(
            f"Host {hangs} of {folded(home, 200)} does not answer, and everything works without it: clearway host stop."
        )
    elif hangs:
        say_json({"running": False, "hangs": hangs})
    else:
        _show(run, running)
    return int(running is None)


def _run(run: Run, *, stay: bool) -> int:
    """Be the host here, until it is told to leave."""
    from clearway.surfaces import host

    if stay:  # one that a client has started is not in the way of the service
        host_start.stop(run.settings.home)
    if not host.run(run.settings, mention, stay=stay):
        raise Refusal("STORAGE_BUSY", f"There is a host of {run.settings.home} already; clearway host status shows it.")
    return 0


def _show(run: Run, running: dict[str, Any] | None) -> None:
    if run.as_json:
        say_json({"running": running is not None, **(running or {})})
    elif running is None:
        say("No host is running; everything works without it.")
    else:
        clients = running["clients"]
        say(
            f"Host {running['pid']} of {folded(running['home'], 200)}, version {running['version']}: "
            f"{clients} MCP client{'' if clients == 1 else 's'}, {running['asked']} "
            f"question{'' if running['asked'] == 1 else 's'} answered, "
            f"for {running['seconds'] // 60} min."
        )
