"""The environment, read once; the folder where state lives; the pointer file; who the caller is.

State lives outside every repository. A repository carries at most the pointer `.clearway.json`, which names its project
and nothing else.
"""

from __future__ import annotations

import os

from clearway import clock as clocks
from clearway import platforms, wire
from clearway.errors import Refusal
from clearway.limits import AGENT_NAME_CHARS_MAX, SESSION_CHARS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.alive import Process

POINTER = ".clearway.json"
TEAM = ".clearway-team.json"
RESERVED_NAMES = frozenset({"human", "system", "clearway", "*"})
# Variables in which clients name the session that a shell call or an MCP server belongs to.
SESSION_VARIABLES = (
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
)
PROCESS_VARIABLES = ("CLEARWAY_PID", "CLAUDE_PID", "OPENCODE_PID")
_PID_DIGITS_MAX = 10
_TRUE = frozenset({"1", "true", "yes", "on"})


class Caller:
    """Who asks: an agent (a name), its session (one running client) and, in a subagent, its thread."""

    __slots__ = ("agent", "client", "cwd", "host", "human", "process", "session", "thread")

    def __init__(
        self,
        agent: str,
        session: str | None = None,
        *,
        thread: str = "",
        client: str = "",
        cwd: str = "",
        host: str = "",
        process: Process | None = None,
        human: bool = False,
    ) -> None:
        self.agent = agent
        self.session = session
        self.thread = thread
        self.client = client or agent
        self.cwd = cwd
        self.host = host
        self.process = process
        self.human = human

    @property
    def named(self) -> bool:
        """A name without a running client: holds by term only, and is open to every session of that name."""
        return self.session is None

    @property
    def key(self) -> str:
        """The id under which the room keeps this caller."""
        return self.session or f"={self.agent}@{self.host}"


class Settings:
    """What the environment says, read once at the edge."""

    __slots__ = (
        "agent",
        "capabilities",
        "environ",
        "fail_closed",
        "home",
        "off",
        "parent",
        "room",
        "session",
        "test_clock",
    )

    def __init__(self, environ: Mapping[str, str], parent: int | None = None) -> None:
        """parent: who started the process whose environment this is; None if it is our own."""
        self.environ = environ
        self.parent = parent
        self.home = home(environ)
        self.agent = environ.get("CLEARWAY_AGENT", "") or environ.get("AGENT_NAME", "")
        self.session = environ.get("CLEARWAY_SESSION", "")
        self.capabilities = environ.get("CLEARWAY_CAPABILITIES", "").replace(",", " ").split()
        self.fail_closed = flag(environ, "CLEARWAY_FAIL_CLOSED") or flag(environ, "AGENT_LEASE_FAIL_CLOSED")
        self.off = flag(environ, "CLEARWAY_OFF")
        self.room = environ.get("CLEARWAY_ROOM", "")  # an address or a file that is asked instead of the found room
        self.test_clock = environ.get("CLEARWAY_TEST_CLOCK", "")

    def clock(self) -> clocks.Clock:
        return clocks.FileClock(self.test_clock) if self.test_clock else clocks.Clock()


def is_address(text: str) -> bool:
    """Whether a room is named by the address of a server, not by a file."""
    return text.startswith(("postgresql://", "postgres://"))


def settings() -> Settings:
    """The settings of this process."""
    return Settings(os.environ)


def flag(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() in _TRUE


def home(environ: Mapping[str, str]) -> str:
    """The folder of all state: CLEARWAY_HOME, else this system's place for a user's data."""
    chosen = environ.get("CLEARWAY_HOME", "")
    found = os.path.expanduser(chosen) if chosen else platforms.data_directory(environ)
    if found is None:
        raise Refusal("STORAGE_CONFIGURATION", "Neither CLEARWAY_HOME nor HOME is set; set one of them to a folder.")
    if not is_text(found):
        raise Refusal("STORAGE_CONFIGURATION", "The path of the home is not UTF-8; name another in CLEARWAY_HOME.")
    return os.path.realpath(found)


def is_text(path: str) -> bool:
    """Whether a path is UTF-8: files can have any bytes for a name, and a room keeps text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def secret(home_folder: str, clock: clocks.Clock) -> bytes:
    """The 32 bytes from which lease tokens are derived. Made once per machine, never in a room, backup or export."""
    file = os.path.join(home_folder, "secret")
    try:
        return _read_secret(file)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Refusal("STORAGE_FAILURE", f"{file} cannot be read: {error.strerror}; nothing was changed.") from error
    try:
        platforms.make_private(home_folder)
        aside = f"{file}.{clock.new_id()}"
        descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(descriptor, clock.random(32))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if not platforms.put_in_place(aside, file):
            os.unlink(aside)
        return _read_secret(file)
    except OSError as error:
        raise Refusal(
            "STORAGE_FAILURE", f"The secret in {home_folder} cannot be made: {error.strerror}; nothing was changed."
        ) from error


def _read_secret(file: str) -> bytes:
    with open(file, "rb") as opened:
        value = opened.read(64)
    if len(value) != 32:
        raise Refusal("STORAGE_CONFIGURATION", f"{file} must hold 32 bytes; move it away and a new one is made.")
    return value


# --- the pointer file -----------------------------------------------------------------------------------------------


def read_pointer(root: str) -> str | None:
    """The project id in the pointer file at `root`, or None when there is none. Strict: anything else is refused."""
    return _read_identity(os.path.join(root, POINTER), {})


def read_team(root: str) -> str | None:
    """The project id in the team file at `root`: this project's room is on a server, whose address it does not say."""
    return _read_identity(os.path.join(root, TEAM), {"kind": "team"})


def _read_identity(file: str, more: dict[str, str]) -> str | None:
    try:
        facts = os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _identity(file, f"cannot be read ({error.strerror})") from error
    if facts.st_mode & 0o170000 != 0o100000:
        raise _identity(file, "must be a plain file")
    if facts.st_size > 4_096:
        raise _identity(file, "is too large")
    version = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    known = _identities.get(file)
    if known is not None and known[0] == version:
        return known[1]
    try:
        with open(file, "rb") as opened:
            project = _project_in(opened.read(), file, more)
    except OSError as error:
        raise _identity(file, f"cannot be read ({error.strerror})") from error
    if len(_identities) >= _IDENTITIES_MAX:
        _identities.clear()
    _identities[file] = version, project
    return project


# What stood in a pointer file and which one it was: every question asks for it twice.
_identities: dict[str, tuple[tuple[int, ...], str]] = {}
_IDENTITIES_MAX = 256


def _project_in(raw: bytes, file: str, more: dict[str, str]) -> str:
    try:
        value = wire.loads(raw)
    except ValueError as error:
        raise _identity(file, "is not JSON") from error
    expected = ("version", "project_id", *more)
    if not wire.is_object(value) or set(value) != set(expected) or _repeats_a_key(raw, len(expected) + len(more) + 1):
        raise _identity(file, f"must hold exactly {' and '.join(expected)}")
    if type(value["version"]) is not int or value["version"] != 1:  # neither true nor 1.0
        raise _identity(file, "has another version than 1")
    if any(value[name] != text for name, text in more.items()):
        raise _identity(file, "is of another kind")
    project = value["project_id"]
    if not isinstance(project, str) or not clocks.is_id(project):
        raise _identity(file, "has no canonical project_id")
    return project


def _repeats_a_key(raw: bytes, texts: int) -> bool:
    """The reader keeps the last of two equal keys. A key spelled with an escape is not canonical either."""
    return raw.count(b'"') != 2 * texts or b"\\" in raw


def pointer_text(project: str) -> str:
    return '{"version": 1, "project_id": "' + project + '"}\n'


def team_text(project: str) -> str:
    return '{"version": 1, "project_id": "' + project + '", "kind": "team"}\n'


def _identity(file: str, what: str) -> Refusal:
    return Refusal(
        "INVALID_PROJECT_IDENTITY",
        f"{file} {what}; restore it from version control, or remove it and run clearway init.",
    )


# --- names ------------------------------------------------------------------------------------------------------


def agent_name(text: str, *, fallback: str = "agent") -> str:
    """A name cut to what a name may be: letters, digits, dot, dash, underscore; it begins with a letter or digit."""
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in text)
    return kept.lstrip("._-")[:AGENT_NAME_CHARS_MAX] or fallback


def check_name(name: str) -> str:
    """A name that a caller gives itself, or a refusal."""
    if name in RESERVED_NAMES:
        raise Refusal("RESERVED_NAME", f"The name {name} is reserved; choose another, for example {name}-1.")
    if agent_name(name, fallback="") != name or not name:
        raise Refusal(
            "INVALID_ARGUMENT",
            "An agent's name has 1 to 64 letters, digits, dots, dashes or underscores; the first is a letter or digit.",
            [{"field": "agent", "code": "INVALID_VALUE", "message": "not a name"}],
        )
    return name


def session_from(environ: Mapping[str, str]) -> str:
    """The session that the environment of a shell call or MCP server names, or empty."""
    for variable in ("CLEARWAY_SESSION", *SESSION_VARIABLES):
        if environ.get(variable):
            return environ[variable][:SESSION_CHARS_MAX]
    return ""


def pid_from(environ: Mapping[str, str]) -> int | None:
    """The client's process that the environment names, or None."""
    for variable in PROCESS_VARIABLES:
        text = environ.get(variable, "")
        if text.isascii() and text.isdigit() and len(text) <= _PID_DIGITS_MAX:
            return int(text)
    return None
