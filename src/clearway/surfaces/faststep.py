"""What a registered hook runs first: the host's answer passed on as it is, or the quiet case answered at once.

BOOT (setup/registered.py) imports this module and calls `main`. Everything else goes to the full step: it loads the
house only when there is something to do and nobody else has done it. A host that is not there, speaks another version,
or says nothing within a second is done without; whatever it was about to say, this process then finds out by itself.
"""

from __future__ import annotations

import gc
import marshal
import sys

from clearway import __version__

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
# What an archive has to be made by: this version of ours, and an interpreter that compiles as this one does.
FOLDER = __file__.replace("\\", "/").rpartition("/")[0].rpartition("/")[0]
MADE_BY = (__version__, sys.hexversion, str(sys.implementation.cache_tag))


def main(client: str) -> NoReturn:
    """Answer the hook of `client` on stdin. Never returns."""
    gc.disable()  # this process ends before there is anything to collect, and loading makes much to look through
    raw = _standard_input()
    asked = _ask_host(client, raw, posix.environ)
    try:
        from clearway.guard.quiet import is_quiet

        if is_quiet(client, raw, posix.environ):
            posix._exit(0)  # pyright: ignore[reportPrivateUsage]  # the interpreter's farewell costs a millisecond
        archive = Archive(FOLDER)
        archive.unpack()
        from clearway.surfaces import hooks
    except Exception as problem:  # the product is being exchanged under us: what is missing can enforce nothing
        posix.write(2, f"clearway: {problem!r}, guard open\n".encode("utf-8", "backslashreplace"))
        posix._exit(0)  # pyright: ignore[reportPrivateUsage]
    hooks.main(client, raw, waited=asked, afterwards=archive.renew)


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


class Archive:
    """What setup/archive.py wrote of the package in `folder`: put in at once, or found module by module. Whatever is
    not of the very files that lie there is left to the interpreter."""

    def __init__(self, folder: str) -> None:
        self.file = f"{folder}/__pycache__/hook.{sys.implementation.cache_tag}.clearway"
        self._folder = folder
        self._together: dict[str, tuple[bool, str, Any]] = {}
        self._apart: dict[str, tuple[bool, str, int, int, int, int]] = {}
        self._descriptor = -1
        self._pieces = 0
        self._fits = False

    def unpack(self) -> None:
        """Put in what every full step needs, and be asked for the rest."""
        try:
            self._descriptor = posix.open(self.file, posix.O_RDONLY)
            size = int(posix.read(self._descriptor, 8))
            made_by, marks, length, apart, whole = marshal.loads(posix.read(self._descriptor, size))
            if made_by != MADE_BY or posix.fstat(self._descriptor).st_size != 8 + size + whole:
                return
            if not all(self._is_there(*mark) for mark in marks):
                return
            self._together = marshal.loads(posix.read(self._descriptor, length))
        except (OSError, ValueError, TypeError, EOFError):
            return
        self._pieces, self._apart, self._fits = 8 + size, apart, True
        sys.meta_path.insert(0, self)  # pyright: ignore[reportArgumentType]
        try:
            for name, (is_package, file, code) in self._together.items():
                if name not in sys.modules:
                    self._put_in(name, is_package, file, code)
        except Exception:  # then as if there were none
            sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
            for name in self._together:
                sys.modules.pop(name, None)
            self._fits = False
            return
        sys.modules["clearway.db"].archived = self.statements  # type: ignore[attr-defined]

    def renew(self) -> None:
        """Write it, if there is none that fits and one can be written."""
        if not self._fits and posix.access(self._folder, posix.W_OK):
            from clearway.setup import archive

            archive.write(self.file, MADE_BY)

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """As the interpreter asks a finder."""
        if name in self._together:
            is_package, _, _ = self._together[name]
        elif name in self._apart and self._is_there(*self._apart[name][1:4]):
            is_package = self._apart[name][0]
        else:
            self._fits = self._fits and name not in self._apart
            return None
        return type(__spec__)(name, self, is_package=is_package)

    def create_module(self, spec: object) -> None:
        """It is made as any other."""

    def exec_module(self, module: Any) -> None:
        """As the interpreter asks a loader."""
        name = module.__name__
        if name in self._together:
            _, file, code = self._together[name]
        else:
            file, code = self._apart[name][1], self._piece(name)
        self._fill(module, file, code)

    def statements(self, path: str) -> dict[str, str] | None:
        """Those of a `.sql` file, as db.split gives them."""
        name = path[len(self._folder) + 1 :]
        return self._piece(name) if name in self._apart and self._is_there(*self._apart[name][1:4]) else None

    def _put_in(self, name: str, is_package: bool, file: str, code: Any) -> None:
        """Import without being asked: half of what an import costs is to find out that this is all there is to do."""
        module: Any = type(sys)(name)
        parent, _, last = name.rpartition(".")
        module.__package__ = name if is_package else parent
        if is_package:
            module.__path__ = []
        sys.modules[name] = module
        self._fill(module, file, code)
        setattr(sys.modules[parent], last, module)

    def _fill(self, module: Any, file: str, code: Any) -> None:
        module.__file__ = f"{self._folder}/{file}"
        if hasattr(module, "__path__"):
            module.__path__ = [module.__file__.rpartition("/")[0]]
        exec(code, module.__dict__)

    def _piece(self, name: str) -> Any:
        *_, at, length = self._apart[name]
        posix.lseek(self._descriptor, self._pieces + at, 0)
        return marshal.loads(posix.read(self._descriptor, length))

    def _is_there(self, file: str, modified: int, size: int) -> bool:
        try:
            found = posix.stat(f"{self._folder}/{file}")
        except OSError:
            return False
        return found.st_mtime_ns == modified and found.st_size == size
