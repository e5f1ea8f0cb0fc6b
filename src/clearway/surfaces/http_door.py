"""The loopback address of a host, and the token that opens it. The web server behind it is loaded when somebody comes.

The token is new with each start, and stands where only this user can read it: `run/http-token`, beside
`run/http-address`.
"""

from __future__ import annotations

import os
import socket
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any, ClassVar

from clearway import platforms
from clearway.surfaces import host_wire
from clearway.surfaces.web_people import People

if TYPE_CHECKING:
    from clearway.surfaces.host import Host
    from clearway.surfaces.http import Http

_FILES = ("http-token", "http-address")  # until this host leaves
PORT_FILE = "http-port"
_BIND_TRIES = 60
_BIND_PAUSE_MS = 25


class Door:
    """A listening socket, until somebody connects; then what goes on behind it."""

    tls: ClassVar[dict[str, Any]] = {}  # none: it is this machine's own address

    def __init__(self, host: Host) -> None:
        self._host = host
        self._http: Http | None = None
        # The protocol is named: asyncio sends at once only on sockets that say so, and else an answer in two parts
        # waits 40 ms for the other side's word.
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        # The port of before, if it is free: a page that is open, and a bookmark, find the next host there.
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._bind(_port_of_before(host.settings.home))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.port = int(self.listener.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self.token = urlsafe_b64encode(host.clock.random(32)).rstrip(b"=").decode()
        self.people = People(os.path.join(host_wire.folder(host.settings.home), "web-sessions"), host.clock)
        for name, text in zip((*_FILES, PORT_FILE), (self.token, self.address, str(self.port)), strict=True):
            platforms.write_private(os.path.join(host_wire.folder(host.settings.home), name), f"{text}\n".encode())

    @property
    def active(self) -> int:
        """How many requests are being answered."""
        return 0 if self._http is None else self._http.active

    def open(self) -> None:
        """Somebody connects: the web server goes on from here."""
        from clearway.surfaces.http import Http

        self._http = Http(self._host, self)
        self._http.start()

    def close(self) -> None:
        """Nobody is let in any more."""
        for name in _FILES:
            try:
                os.unlink(os.path.join(host_wire.folder(self._host.settings.home), name))
            except OSError:
                pass
        if self._http is None:
            self.listener.close()
        else:
            self._http.end()

    def _bind(self, port: int) -> None:
        """Listen where the host before did, which may just be leaving; else anywhere."""
        for _ in range(_BIND_TRIES if port else 0):
            try:
                self.listener.bind(("127.0.0.1", port))
                return
            except OSError:
                self._host.clock.pause(_BIND_PAUSE_MS)
        self.listener.bind(("127.0.0.1", 0))


def _port_of_before(home: str) -> int:
    """Where the last host of this home listened; 0 for any port."""
    try:
        with open(os.path.join(host_wire.folder(home), PORT_FILE), encoding="ascii") as file:
            port = int(file.read(16))
    except (OSError, ValueError):
        return 0
    return port if 1_024 <= port <= 65_535 else 0
