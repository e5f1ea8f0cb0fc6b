"""The door of the web room: its files, logging in and out, which rooms there are; and whether a request is a person's.

A person is whoever shows both halves of a session (web_people.py). What changes something is asked from our own page
only: its Origin must be named. Questions and events themselves are answered as everybody's are (http.py).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from clearway import repository, wire, worktrees
from clearway.errors import Refusal
from clearway.limits import WEB_ROOMS_SHOWN, WEB_SESSION_MS, WEB_TICKET_CHARS_MAX
from clearway.surfaces import web_pages

if TYPE_CHECKING:
    from clearway.rooms import Rooms
    from clearway.surfaces.host_work import Worker
    from clearway.surfaces.http import Http, Reply, Request
    from clearway.surfaces.http_door import Door

_JSON = "application/json"
_PERSONS = ("ask", "events", "rooms", "session")  # what a person in a browser may ask for


class WebDoor:
    """One host's web room."""

    def __init__(self, http: Http, door: Door, origins: set[str]) -> None:
        self._http = http
        self._people = door.people
        self._origins = origins
        self._cookie = f"clearway-{door.port}"
        self._folders: dict[str, str] = {}  # project -> where it lies

    def page(self, request: Request) -> Reply | None:
        """A file of the room, for anybody who asks this host under its own name."""
        if request.method not in ("GET", "HEAD"):
            return None
        found = web_pages.page(request.path, request.header("if-none-match"), request.header("accept-encoding"))
        return found if found is None or request.method == "GET" else (found[0], found[1], b"", found[3])

    def is_persons(self, request: Request) -> bool:
        """Whether this is asked by a person who is logged in. What writes must come from our page."""
        first = request.path.strip("/").partition("/")[0]
        if first not in _PERSONS or (request.method != "GET" and request.header("origin") not in self._origins):
            return False
        return self._people.knows(self._shown(request), request.header("clearway-page"))

    def is_log_in(self, request: Request) -> bool:
        """Whether somebody shows a ticket, for which he need not be logged in."""
        return request.method == "POST" and request.path == "/session" and request.header("origin") in self._origins

    async def log_in(self, request: Request) -> Reply:
        given = _object(await request.body())
        ticket = given.get("ticket")
        if not isinstance(ticket, str) or not 0 < len(ticket) <= WEB_TICKET_CHARS_MAX:
            raise Refusal("INVALID_ARGUMENT", "A ticket is a text.")
        return self._let_in(*self._people.log_in(ticket))

    async def folder(self, request: Request) -> str:
        """Where a person asks: the folder of the room that is named, since a header holds no folder's name whole."""
        project = request.header("clearway-room")
        if project not in self._folders:
            await self._http.in_a_worker(self._rooms_here)
        if project not in self._folders:
            raise Refusal("PROJECT_NOT_FOUND", "There is no such room on this machine; choose another.")
        return self._folders[project]

    async def answer(self, request: Request) -> Reply:
        """What only a person asks: the rooms, a renewed session, the end of one."""
        match request.method, request.path:
            case "GET", "/rooms":
                rooms = await self._http.in_a_worker(self._rooms_here)
                return 200, _JSON, wire.dumps({"rooms": rooms}).encode("utf-8", "backslashreplace"), {}
            case "PUT", "/session":
                return self._let_in(*self._people.renew(self._shown(request)))
            case "DELETE", "/session":
                self._people.log_out(self._shown(request))
                return 200, _JSON, b'{"ended":true}', {"Set-Cookie": self._set("", 0)}
            case _:
                refusal = Refusal("INVALID_ARGUMENT", "This is asked in another way.")
                return 405, _JSON, wire.dumps(refusal.as_dict()).encode(), {}

    def _let_in(self, cookie: str, key: str) -> Reply:
        return 200, _JSON, wire.dumps({"key": key}).encode(), {"Set-Cookie": self._set(cookie, WEB_SESSION_MS // 1_000)}

    def _set(self, value: str, seconds: int) -> str:
        return f"{self._cookie}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict"

    def _shown(self, request: Request) -> str:
        for pair in request.header("cookie").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self._cookie:
                return value
        return ""

    def _rooms_here(self, worker: Worker) -> list[dict[str, str]]:
        rooms = self._http.rooms_of(worker)
        try:
            found = rooms_here(rooms)
            self._folders = {room["project"]: room["folder"] for room in found}
            return found
        finally:
            rooms.close()


def rooms_here(rooms: Rooms) -> list[dict[str, str]]:
    """The repositories of this home whose folder is still there, the one that was used last first."""
    found: dict[str, dict[str, str]] = {}
    for common, project in rooms.repositories(WEB_ROOMS_SHOWN):
        if project in found:
            continue
        for folder in _roots(common)[:1]:
            found[project] = {"project": project, "name": os.path.basename(folder) or folder, "folder": folder}
    return list(found.values())


def _roots(common: str) -> list[str]:
    """The worktrees of a repository, or the folder itself of a project without git."""
    roots = worktrees.of_repository(common)
    place = None if roots or not os.path.isdir(common) else repository.holding(common)
    return [common] if place is not None and place.root == common and not place.git else roots


def _object(body: bytes) -> dict[str, Any]:
    try:
        given: Any = wire.loads(body or b"{}")
    except ValueError:
        given = None
    if not wire.is_object(given):
        raise Refusal("INVALID_ARGUMENT", "The body must be a JSON object.")
    return given
