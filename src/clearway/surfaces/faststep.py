"""What a registered hook runs first: the host's answer passed on as it is, or the quiet case answered at once.

BOOT (setup/registered.py) imports this module and calls `main`. Everything else goes to the full step: it loads the
house only when there is something to do and nobody else has done it. A host that is not there, speaks another version,
or says nothing within a second is done without; whatever it was about to say, this process then finds out by itself.
"""

from __future__ import annotations

import gc
import sys

if sys.platform == "win32":
    import nt as posix
else:
    import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

_PAYLOAD_BYTES_MAX = 64 * 1_048_576  # limits.PAYLOAD_BYTES_MAX
_HOST_BYTES_MAX = 1_048_576  # limits.HOST_HOOK_BYTES_MAX
_HOST_SECONDS = 1.0  # limits.HOOK_HOST_WAIT_MS
_SOCKET_BYTES_MAX = 100  # limits.SOCKET_PATH_BYTES_MAX
_VERSION = b"1"  # host_wire.VERSION
# What of the environment may sway an answer: ours, the clients', and git's. A test compares them with what is read.
TOLD = (
    *(
        b"CLEARWAY_",
        b"AGENT_",
        b"CLAUDE",
        b"CODEX_",
        b"COPILOT_",
        b"GEMINI_",
        b"QWEN",
        b"OPENCODE",
        b"CURSOR",
        b"VSCODE",
    ),
    *(b"WINDSURF", b"GOOSE", b"KIRO", b"CLINE", b"GIT_", b"HOME", b"PATH", b"XDG_", b"LANG", b"LC_", b"TZ", b"TMPDIR"),
    b"SHLVL",
)
_OFF = frozenset({b"off", b"0", b"no", b"false"})


def main(client: str) -> NoReturn:
    """Answer the hook of `client` on stdin. Never returns."""
    gc.disable()  # this process ends before there is anything to collect, and loading makes much to look through
    raw = _standard_input()
    asked = _ask_host(client, raw, posix.environ)
    try:
        from clearway.guard.quiet import is_quiet

        if is_quiet(client, raw, posix.environ):
            posix._exit(0)  # pyright: ignore[reportPrivateUsage]  # the interpreter's farewell costs a millisecond
        from clearway.surfaces import hooks
    except Exception as problem:  # the product is being exchanged under us: what is missing can enforce nothing
        posix.write(2, f"clearway: {problem!r}, guard open\n".encode("utf-8", "backslashreplace"))
        posix._exit(0)  # pyright: ignore[reportPrivateUsage]
    hooks.main(client, raw, waited=asked)


def _standard_input() -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= _PAYLOAD_BYTES_MAX:
        try:
            part = posix.read(0, 1_048_576)
        except OSError:  # closed: then nothing was asked
            break
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _ask_host(client: str, raw: bytes, environ: Mapping[bytes, bytes]) -> bool:
    """Let the host answer, if there is one; then this does not return. Whether it was asked in vain."""
    home = environ.get(b"CLEARWAY_HOME", b"")
    if not home or len(raw) > _HOST_BYTES_MAX or environ.get(b"CLEARWAY_HOST", b"").lower() in _OFF:
        return False
    try:
        where = home + b"/run/host.sock"
        if len(where) > _SOCKET_BYTES_MAX:
            where = _written_address(home)
        posix.lstat(where)
    except OSError:  # there is no host, as far as one can see
        return False
    try:
        import _socket

        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.settimeout(_HOST_SECONDS)
        connection.connect(where)
        if is_ours(connection):
            connection.sendall(frame(client, raw, environ))
            _pass_on(connection)
    except Exception:  # whatever is the matter with it, here it only means that we do it ourselves
        return True
    return True


def _written_address(home: bytes) -> bytes:
    descriptor = posix.open(home + b"/run/host.address", posix.O_RDONLY)
    try:
        return posix.read(descriptor, 4_096).strip()
    finally:
        posix.close(descriptor)


def is_ours(connection: Any) -> bool:
    """Whether it is this user who listens (platforms.peer)."""
    if sys.platform == "linux":
        return connection.getsockopt(1, 17, 12)[4:8] == posix.getuid().to_bytes(4, sys.byteorder)
    return connection.getsockopt(0, 1, 76)[4:8] == posix.getuid().to_bytes(4, sys.byteorder)


def frame(client: str, raw: bytes, environ: Mapping[bytes, bytes]) -> bytes:
    """host_wire.hook_frame reads it."""
    told = b"\0".join([name + b"=" + value for name, value in environ.items() if name.startswith(TOLD)])
    try:
        folder = posix.getcwdb()
    except OSError:
        folder = b""
    head = b"hook %s %s %d %d %d\n" % (_VERSION, client.encode(), len(folder), len(told), len(raw))
    return head + folder + told + raw


def _pass_on(connection: Any) -> None:
    """Give the client the host's answer, and end. Returns if there is none that can be understood."""
    got = head = code = out = told = b""
    size = 0
    while not head or len(got) < size:
        part = connection.recv(262_144)
        if not part:
            return
        got += part
        if not head and b"\n" in got:
            head, _, got = got.partition(b"\n")
            version, code, out, err, told = head.split(b" ")
            if version != _VERSION or code not in (b"0", b"2"):
                return
            size = int(out) + int(err)
        elif not head and len(got) > 100:
            return
    taken = _write(1, got[: int(out)])
    _write(2, got[int(out) : size])
    if told == b"1" and taken:
        try:
            connection.send(b"!")
        except OSError:
            pass  # then it is told again
    posix._exit(int(code))  # pyright: ignore[reportPrivateUsage]


def _write(descriptor: int, data: bytes) -> bool:
    """Whether all of it was taken."""
    try:
        while data:
            data = data[posix.write(descriptor, data) :]
    except OSError:
        return False
    return True
