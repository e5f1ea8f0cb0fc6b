"""What is said on the host's socket, and where the socket is.

A request is one JSON line `{v, op, args, caller}`, its answer another: `{v, ok, result}` or `{v, ok, error}`. A hook is
in a hurry and speaks shorter: a line of words and numbers, then bytes, so that neither side has to spell JSON. Both
begin with the version. Whoever hears one that it does not know says so, or hangs up; the other side then does without.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clearway import platforms, wire
from clearway.errors import CODES, Refusal
from clearway.limits import HOST_ANSWER_MS, HOST_HOOK_BYTES_MAX, SOCKET_PATH_BYTES_MAX

if TYPE_CHECKING:
    import socket

VERSION = 1
_HEADER_BYTES_MAX = 200
_ENVIRONMENT_BYTES_MAX = 262_144


class Spoken(Exception):
    """This is no frame of ours, or of another version."""


class HookFrame:
    """A hook's question: the client's dialect, the folder and environment it was started in, and the payload."""

    __slots__ = ("client", "folder", "payload", "told")

    def __init__(self, client: str, folder: str, told: dict[bytes, bytes], payload: bytes) -> None:
        self.client = client
        self.folder = folder
        self.told = told  # of its environment, as the system has it
        self.payload = payload

    @property
    def environ(self) -> dict[str, str]:
        """The same as texts."""
        return {os.fsdecode(name): os.fsdecode(value) for name, value in self.told.items()}


def hook_frame(got: bytearray) -> HookFrame | None:
    """The frame that has arrived, None if there is more to come. `hook 1 CLIENT FOLDER ENVIRONMENT PAYLOAD`, of which
    the last three are lengths; then the three, one after the other."""
    end = got.find(b"\n", 0, _HEADER_BYTES_MAX)
    if end < 0:
        if len(got) >= _HEADER_BYTES_MAX:
            raise Spoken("a long first line")
        return None
    words = bytes(got[:end]).decode("ascii", "replace").split(" ")
    if len(words) != 6 or words[:2] != ["hook", str(VERSION)] or not all(word.isdigit() for word in words[3:]):
        raise Spoken("another version")
    folder, environ, payload = (int(word) for word in words[3:])
    if folder > 8_192 or environ > _ENVIRONMENT_BYTES_MAX or payload > HOST_HOOK_BYTES_MAX:
        raise Spoken("too long")
    start = end + 1
    if len(got) < start + folder + environ + payload:
        return None
    rest = memoryview(bytes(got))[start:]
    return HookFrame(
        words[2],
        os.fsdecode(bytes(rest[:folder])),
        _environment(bytes(rest[folder : folder + environ])),
        bytes(rest[folder + environ : folder + environ + payload]),
    )


def _environment(block: bytes) -> dict[bytes, bytes]:
    pairs = (variable.partition(b"=") for variable in block.split(b"\0") if b"=" in variable)
    return {name: value for name, _, value in pairs}


def hook_answer(out: str, err: str, code: int, *, wants_to_know: bool) -> bytes:
    """What the hook passes on as it is. wants_to_know: it says when its client has taken it."""
    said, complained = (text.encode("utf-8", "backslashreplace") for text in (out, err))
    return b"%d %d %d %d %d\n" % (VERSION, code, len(said), len(complained), wants_to_know) + said + complained


def answer(result: dict[str, Any]) -> bytes:
    return (wire.dumps({"v": VERSION, "ok": True, "result": result}) + "\n").encode("utf-8", "backslashreplace")


def refusal(refused: Refusal) -> bytes:
    said = {"v": VERSION, "ok": False, "error": refused.as_dict()}
    return (wire.dumps(said) + "\n").encode("utf-8", "backslashreplace")


def result(line: bytes) -> dict[str, Any]:
    """What a line of the host says: a result, or the refusal that is raised here. Spoken if it is neither."""
    try:
        said: Any = wire.loads(line)
    except ValueError:
        raise Spoken("no JSON") from None
    if not wire.is_object(said) or said.get("v") != VERSION:
        raise Spoken("another version")
    if said.get("ok") is True and wire.is_object(said.get("result")):
        return said["result"]
    error: Any = said.get("error")
    if not wire.is_object(error) or error.get("code") not in CODES:
        raise Spoken("another version")
    facts = {name: fact for name, fact in error.items() if name not in ("code", "message", "details", "retryable")}
    raise Refusal(error["code"], str(error.get("message", "")), error.get("details") or None, **facts)


def send(connection: socket.socket, data: bytes) -> None:
    """Give somebody his answer, who takes it in time or is left. OSError if he does not."""
    connection.settimeout(HOST_ANSWER_MS / 1_000)
    connection.sendall(data)


# --- where the socket is ----------------------------------------------------------------------------------------------


def folder(home: str) -> str:
    return os.path.join(home, "run")


def lock_file(home: str) -> str:
    return os.path.join(folder(home), "host.lock")


def log_file(home: str) -> str:
    return os.path.join(folder(home), "host.log")


def address(home: str) -> str:
    """The socket of the host of this home, which need not be there."""
    usual = os.path.join(folder(home), "host.sock")
    if len(os.fsencode(usual)) <= SOCKET_PATH_BYTES_MAX:
        return usual
    try:
        with open(_elsewhere(home), encoding="utf-8") as file:
            return file.read(4_096).strip()
    except (OSError, ValueError):
        return ""


def chosen_address(home: str, environ: Mapping[str, str]) -> str:
    """Where a new host is to listen. A name that is too long for a socket is written down beside the lock, and the
    socket lies in a folder that is this user's alone."""
    usual = os.path.join(folder(home), "host.sock")
    if len(os.fsencode(usual)) <= SOCKET_PATH_BYTES_MAX:
        return usual
    name = platforms.digest(os.fsencode(home))[:16] + ".sock"
    for place in (environ.get("XDG_RUNTIME_DIR", ""), "/tmp"):
        private = os.path.join(place, "clearway" if place != "/tmp" else f"clearway-{os.getuid()}")
        chosen = os.path.join(private, name)
        if os.path.isabs(place) and len(os.fsencode(chosen)) <= SOCKET_PATH_BYTES_MAX and _is_private(private):
            aside = f"{_elsewhere(home)}.{os.getpid()}"
            with open(aside, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(chosen + "\n")
            os.replace(aside, _elsewhere(home))
            return chosen
    raise Refusal(
        "STORAGE_CONFIGURATION", f"The path {usual} is too long for a socket; set XDG_RUNTIME_DIR to a short folder."
    )


def forget(home: str, where: str) -> None:
    """Take away a socket that lies outside its home, and the folder that was made for such, if no other is in it."""
    if not where or where.startswith(home + os.sep):
        return
    for remove, path in ((os.unlink, where), (os.rmdir, os.path.dirname(where))):
        try:
            remove(path)
        except OSError:
            pass  # gone with its host, or another home's


def _elsewhere(home: str) -> str:
    return os.path.join(folder(home), "host.address")


def _is_private(place: str) -> bool:
    """Whether a folder is ours and nobody else's; it is made if it is missing."""
    try:
        os.mkdir(place, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    facts = os.lstat(place)
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077


def connect(home: str, seconds: float) -> socket.socket | None:
    """A connection to the host of this home, None if there is none. It has to be this user's."""
    import socket

    where = address(home)
    if not where or not hasattr(socket, "AF_UNIX"):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(where)
        if platforms.peer(connection)[0] == os.getuid():
            return connection
    except OSError:
        pass
    connection.close()
    return None
