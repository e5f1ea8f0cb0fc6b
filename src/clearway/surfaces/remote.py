"""A room behind the host's socket, asked like one that is open here: nobody who asks has to know which it is."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Any

from clearway import wire
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.limits import COMMAND_LOCK_WAIT_MS, HOST_LINE_BYTES_MAX
from clearway.op import Operation
from clearway.surfaces import host_wire
from clearway.surfaces.host_wire import Spoken

_SECONDS = COMMAND_LOCK_WAIT_MS / 1_000 + 4  # a room may wait so long for a writer, and then answers that it is busy


class Remote:
    """The rooms of a home, as far as its host answers. STORAGE_CONFIGURATION where it does not: then ask them here."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._connection: socket.socket | None = None

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def ask(self, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Answer one operation. Only the connect is tried again: what was sent may have been done."""
        said = {"v": host_wire.VERSION, "op": operation.name, "args": arguments, "caller": told(caller)}
        connection = self._reach()
        try:
            connection.sendall((wire.dumps(said) + "\n").encode("utf-8", "backslashreplace"))
            return host_wire.result(_line(connection))
        except (OSError, Spoken) as error:
            self.close()
            raise Refusal(
                "STORAGE_FAILURE",
                f"The host was lost while it answered {operation.name}, which may have been done; look before you ask "
                "again.",
            ) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _reach(self) -> socket.socket:
        """The connection that is there, unless the host has ended it meanwhile; else a new one."""
        if self._connection is not None and _has_ended(self._connection):
            self.close()
        if self._connection is None:
            self._connection = host_wire.connect(self._home, _SECONDS)
        if self._connection is None:
            raise Refusal("STORAGE_CONFIGURATION", f"No host answers for {self._home}; ask its rooms themselves.")
        return self._connection


def _has_ended(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(_SECONDS)


def told(caller: Caller) -> dict[str, Any]:
    """The caller as it stands on the wire."""
    process = caller.process
    known = {} if process is None else {"pid": process.pid, "started": process.started, "boot": process.boot}
    return {
        "agent": caller.agent,
        "session": caller.session,
        "thread": caller.thread,
        "client": caller.client,
        "cwd": caller.cwd,
        "host": caller.host,
        **known,
        **({"human": True} if caller.human else {}),
    }


def _line(connection: socket.socket) -> bytes:
    got = bytearray()
    while not got.endswith(b"\n"):
        part = connection.recv(262_144)
        if not part or len(got) > 8 * HOST_LINE_BYTES_MAX:
            raise Spoken("half a line")
        got += part
    return bytes(got)
