"""`clearway web`: see to it that a host is there, and give the person who asks a link that lets one browser in.

An agent gets no link: what its client has started speaks for the agent, and the page acts as the human.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from clearway.errors import Refusal
from clearway.surfaces import host_start, host_wire
from clearway.surfaces.asking import Run, mention, say, say_json
from clearway.surfaces.http_door import PORT_FILE
from clearway.surfaces.remote import told
from clearway.surfaces.web_pages import FOLDER

_HERE = ("127.0.0.1", "localhost", "::1")


def perform(run: Run, *, host: str, port: int, open_it: bool, log_out: bool) -> int:
    if host not in _HERE:
        raise Refusal(
            "FORBIDDEN", f"The web room listens on this machine only; from elsewhere: ssh -L PORT:127.0.0.1:PORT {host}"
        )
    if not run.caller.human:
        raise Refusal("FORBIDDEN", "The web room is the human's; an agent has the room in its tools.")
    if port:
        _move(run, port)
    if not host_start.is_wanted(run.settings.environ) and host_start.status(run.settings.home) is None:
        raise Refusal("STORAGE_CONFIGURATION", "CLEARWAY_HOST=off: no host is started, and the page is served by one.")
    host_start.start(run.settings.home, run.settings.environ)
    if log_out:
        ended = _asked(run, "web_log_out")["ended"]
        if run.as_json:
            say_json({"ended": ended})
        else:
            say(f"{ended} browser{' is' if ended == 1 else 's are'} logged out.")
        return 0
    link = _link(run)
    if port and f":{port}/" not in link:
        mention(f"port {port} is taken by something else; the host listens on another one")
    if run.as_json:
        say_json({"url": link, "page": FOLDER})
    else:
        say(link)
    if open_it:
        _open(link)
    elif not run.as_json:
        mention("the link lets one browser in, within ten minutes")
    return 0


def _link(run: Run) -> str:
    """The address with the ticket in its fragment, which no server is ever sent."""
    made = _asked(run, "web_ticket")
    place = run.place
    room = "" if place is None else f"&room={quote(run.rooms.project_of(place))}"
    if place is not None:  # so that it stands among the rooms of this machine
        run.rooms.of_repository(place)
    return f"{made['address']}/#ticket={made['ticket']}{room}"


def _asked(run: Run, what: str) -> dict[str, Any]:
    answer = host_start.ask(run.settings.home, what, caller=told(run.caller))
    if answer is None:
        raise Refusal("STORAGE_FAILURE", f"The host does not answer; {host_wire.log_file(run.settings.home)} says why.")
    return answer


def _move(run: Run, port: int) -> None:
    """Let the host listen on that port, from now on."""
    running = host_start.status(run.settings.home)
    if running is not None and running.get("http", "").endswith(f":{port}"):
        return
    folder = host_wire.folder(run.settings.home)
    host_start.prove_a_write(run.settings.home)
    with open(os.path.join(folder, PORT_FILE), "w", encoding="ascii") as file:
        file.write(f"{port}\n")
    if running is not None:
        host_start.stop(run.settings.home)


def _open(link: str) -> None:
    import webbrowser

    if not webbrowser.open(link):
        mention("no browser was found; open the link yourself")
