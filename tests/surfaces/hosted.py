"""A host in a thread of the test's own process, and what its clients would send."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clearway.clock import Clock
from clearway.config import Settings
from clearway.surfaces import faststep, host_wire
from clearway.surfaces.host import Host


class Hosted:
    """A running host, and a place to ask it from."""

    def __init__(self, environ: dict[str, str], clock: Clock | None = None) -> None:
        self.environ = environ
        self.said: list[str] = []
        self.host = Host(Settings(environ), clock, self.said.append)
        assert self.host.take_office()
        self.thread = threading.Thread(target=self.host.serve)
        self.thread.start()

    @property
    def home(self) -> str:
        return self.host.settings.home

    def connect(self) -> socket.socket:
        connection = host_wire.connect(self.home, 10)
        assert connection is not None
        return connection

    def request(self, op: str, *, v: int = 1, **more: Any) -> dict[str, Any]:
        """The answer to one JSON line, as it stands."""
        return json.loads(self.line((json.dumps({"v": v, "op": op, **more}) + "\n").encode()))

    def line(self, data: bytes) -> bytes:
        """What comes back for these bytes, up to the end of a line or of the connection."""
        with self.connect() as connection:
            connection.sendall(data)
            return answer_of(connection)

    def hook(self, client: str, payload: bytes, environ: dict[str, str], *, takes: bool = True) -> Answer | None:
        """What the host would have a hook pass on; None if it is left to do it itself. takes: the client reads it."""
        told = {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}
        with self.connect() as connection:
            connection.sendall(faststep.frame(client, payload, told))
            got = b""
            while part := connection.recv(65_536):
                got += part
                if whole := Answer.of(got):
                    if whole.told and takes:
                        connection.sendall(b"!")
                        connection.recv(1)  # the end: it has been noted by then
                    return whole
        assert not got
        return None

    def leave(self) -> None:
        self.host.leave("the test is over")
        self.thread.join(20)
        assert not self.thread.is_alive()


class Answer:
    """A host's answer to a hook, taken apart."""

    def __init__(self, out: str, err: str, code: int, told: bool) -> None:
        self.out = out
        self.err = err
        self.code = code
        self.told = told

    @classmethod
    def of(cls, got: bytes) -> Answer | None:
        head, newline, rest = got.partition(b"\n")
        if not newline:
            return None
        version, code, out, err, told = (int(word) for word in head.split())
        assert version == host_wire.VERSION
        if len(rest) < out + err:
            return None
        return cls(rest[:out].decode(), rest[out:].decode(), code, bool(told))


def answer_of(connection: socket.socket) -> bytes:
    got = b""
    while not got.endswith(b"\n"):
        try:
            part = connection.recv(65_536)
        except ConnectionResetError:
            break
        if not part:
            break
        got += part
    return got


@contextmanager
def hosted(environ: dict[str, str], clock: Clock | None = None) -> Iterator[Hosted]:
    running = Hosted(environ, clock)
    try:
        yield running
    finally:
        running.leave()
