"""The loopback address of a host, and the token that opens it. The web server behind it is loaded when somebody comes.

The token is new with each start, and stands where only this user can read it: `run/http-token`, beside
`run/http-address`.
"""

from __future__ import annotations

import os
import socket
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

from clearway.surfaces import host_wire

if TYPE_CHECKING:
    from clearway.surfaces.host import Host
    from clearway.surfaces.http import Http

_FILES = ("http-token", "http-address")


class Door:
    """A listening socket, until somebody connects; then what goes on behind it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._http: Http | None = None
        # The protocol is named: asyncio sends at once only on sockets that say so, and else an answer in two parts
        # waits 40 ms for the other side's word.
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.port = int(self.listener.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self.token = urlsafe_b64encode(host.clock.random(32)).rstrip(b"=").decode()
        for name, text in zip(_FILES, (self.token, self.address), strict=True):
            self._write_private(name, text + "\n")

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

    def _write_private(self, name: str, text: str) -> None:
        """Put a file of ours in its place, which nobody else can ever read."""
        path = os.path.join(host_wire.folder(self._host.settings.home), name)
        aside = f"{path}.{self._host.clock.new_id()}"
        descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
        os.replace(aside, path)
