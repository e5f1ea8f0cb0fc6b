"""The one command string that clients run as a hook, and the entry that starts our MCP server.

The string promises never to lock anybody out: a missing interpreter and a package that cannot be imported both end as
one line on stderr and exit 0. `connect` registers it, `doctor` and the benchmark run it, and `read_hook_command` is
the only way in which an entry is recognised as ours. It decides nothing about tool calls.

Three programs read the string, one after the other, so it is quoted twice. The outermost is the client's choice:
Claude Code uses the system shell, Codex `$SHELL -lc`, which may be fish or csh. Therefore the string is one plain
command with one quoted argument, and everything that needs a shell's grammar, the environment included, stands inside
that argument, where `/bin/sh` reads it. Quotes are quoted by quotes, never by a backslash: fish has other rules there.
No script file is named anywhere: for a missing file Python exits 2, and 2 is a denial in every client.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import clearway
from clearway.errors import Refusal

HOOK_CLIENTS = (  # whose payloads `clearway hook` reads
    *("claude", "codex", "gemini", "copilot", "cursor", "opencode", "windsurf", "cline", "qwen", "goose", "kiro"),
    *("vscode", "generic"),
)
HOOK_TIMEOUT_SECONDS = 5  # so that a stuck hook never costs a client's own default, which is minutes
BAKED_VARIABLES = ("CLEARWAY_HOME", "CLEARWAY_AGENT", "CLEARWAY_FAIL_CLOSED")

# One line, because a Windows command line and a csh word cannot hold two. An exception hook stands in for `try`: what
# goes wrong before the module is there becomes one line and exit 0. From then on failures are the module's own.
# The folders come last on sys.path: a package beside ours must not stand in for a standard module.
# No single quote in it, so that the command stays readable where clients show it.
BOOT = (
    "import sys; sys.path += FOLDERS; "
    "sys.excepthook = lambda *problem: ("
    'print("clearway:", repr(problem[1]) + ", guard open", file=sys.stderr, flush=True), __import__("os")._exit(0)); '
    "import clearway.surfaces.faststep as hook; sys.excepthook = sys.__excepthook__; hook.main(sys.argv[1])"
)
# The same for what waits in the background: our command line. Nothing that goes wrong on the way ends with 2, on which
# a client begins a turn.
WAIT_BOOT = BOOT.replace("clearway.surfaces.faststep as hook", "clearway.surfaces.cli as cli").replace(
    "hook.main(sys.argv[1])", '__import__("os")._exit(cli.run(sys.argv[1:]))'
)
_WAIT = ["wait", "--rewake", "--for"]
WAIT_TIME = "24h"  # limits.WAIT_SECONDS_MAX
WAIT_TIMEOUT_SECONDS = 86_460  # a client ends what it started itself after this
_GUARD = ["||", "{", "echo", "clearway: not installed, guard open", ">&2;", "exit", "0;", "};"]
ISOLATED = ["-I", "-S", "-c"]  # nothing of the caller's environment and no site: both cost time and may fail


@dataclass(frozen=True)
class Binding:
    """What is baked into everything we register: clients clear or change the environment, and then two rooms appear."""

    home: str
    agent: str = ""
    fail_closed: bool = False

    def environment(self) -> dict[str, str]:
        baked = {"CLEARWAY_HOME": self.home}
        if self.agent:
            baked["CLEARWAY_AGENT"] = self.agent
        if self.fail_closed:
            # Only "closed" is baked: a baked "open" would win over a room that is configured to fail closed.
            baked["CLEARWAY_FAIL_CLOSED"] = "1"
        return baked


@dataclass(frozen=True)
class Product:
    """Where the product is: its interpreter, and the folders that hold the package and its compiled dependency."""

    interpreter: str
    folders: tuple[str, ...]


@dataclass(frozen=True)
class Registered:
    """A hook command of ours, taken apart again."""

    client: str
    interpreter: str
    boot: str
    environment: Mapping[str, str]


def hook_command(client: str, binding: Binding, product: Product | None = None) -> str:
    """The string to register for a client's hooks."""
    product = product or installed_product()
    return shell_command(product.interpreter, boot(product), client, binding.environment())


def wait_command(agent: str, binding: Binding, product: Product | None = None) -> str:
    """The string to register for what wakes an idle session of this agent."""
    product = product or installed_product()
    words = " ".join([*_WAIT, agent, "--timeout", WAIT_TIME])
    return shell_command(product.interpreter, boot(product, WAIT_BOOT), words, binding.environment())


def shell_command(interpreter: str, boot_text: str, client: str, environment: Mapping[str, str]) -> str:
    """The same of its parts. client: the words behind, which need no quotes."""
    interpreter = shlex.quote(interpreter)
    assignments = "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())
    script = (
        f'test -x {interpreter} || {{ echo "clearway: not installed, guard open" >&2; exit 0; }}; '
        f"{assignments}exec {interpreter} {' '.join(ISOLATED)} {shlex.quote(boot_text)} {client}"
    )
    return f"/bin/sh -c {shlex.quote(script)}"


def boot(product: Product, text: str = BOOT) -> str:
    """The Python text that finds the package and hands over to the hook module."""
    return text.replace("FOLDERS", "[" + ", ".join(map(_literal, product.folders)) + "]")


def read_hook_command(command: Any) -> Registered | None:
    """Take a hook of ours apart; None for any other command, whatever words its path may contain."""
    found = _read(command)
    if found is None or len(found[1]) != 1 or "clearway.surfaces.faststep" not in found[0].boot:
        return None
    return found[0]


def is_wait_command(command: Any) -> bool:
    """Is this what wakes an idle session, as we register it?"""
    found = _read(command)
    return found is not None and found[1][:3] == _WAIT and "clearway.surfaces.cli" in found[0].boot


def _read(command: Any) -> tuple[Registered, list[str]] | None:
    """A command in our form, and the words behind its boot text."""
    try:
        outer = shlex.split(command) if isinstance(command, str) else []
        words = shlex.split(outer[2]) if outer[:2] == ["/bin/sh", "-c"] and len(outer) == 3 else []
        guard_end = 3 + len(_GUARD)
        start = words.index("exec", guard_end)
    except ValueError:
        return None
    if words[:2] != ["test", "-x"] or words[3:guard_end] != _GUARD:
        return None
    environment = dict(word.split("=", 1) for word in words[guard_end:start] if "=" in word)
    interpreter, *rest = words[start + 1 :] or [""]
    if interpreter != words[2] or rest[:3] != ISOLATED or len(rest) < 5:
        return None
    if len(environment) != start - guard_end or not set(environment) <= set(BAKED_VARIABLES):
        return None
    return Registered(rest[4], interpreter, rest[3], environment), rest[4:]


def mcp_entry(binding: Binding) -> dict[str, Any]:
    """The command, arguments and environment that start our MCP server over stdio."""
    return {"command": console_script(), "args": ["mcp"], "env": binding.environment()}


def is_mcp_entry(entry: Any) -> bool:
    """Is this server entry ours? It starts our console script as an MCP server; its name alone does not make it so."""
    match entry:
        case {"command": str(command), "args": ["mcp", *_]}:
            return os.path.basename(command.replace("\\", "/")) in ("clearway", "clearway.exe")
        case _:
            return False


def _literal(text: str) -> str:
    """A Python string in ASCII, since a path may not depend on the locale the client runs in, without a single quote
    and without two backslashes, which fish reads as one."""
    escaped = text.encode("unicode_escape").decode("ascii")
    for sign in "\\\\", '"', "'":
        escaped = escaped.replace(sign, f"\\x{ord(sign[0]):02x}")
    return f'"{escaped}"'


def installed_product() -> Product:
    """The product as it runs now. The interpreter's path is not resolved: a link such as a tool's `bin/python` stays
    the same over upgrades of what it points to."""
    if not sys.executable:
        raise Refusal("STORAGE_CONFIGURATION", "The path of this Python is unknown; run clearway from its own venv.")
    package = os.path.dirname(os.path.dirname(os.path.abspath(clearway.__file__)))
    driver = importlib.util.find_spec("apsw")
    folders = [package]
    if driver and driver.submodule_search_locations:
        # Beside the package in an ordinary installation, in the venv for an editable one.
        folders.append(os.path.dirname(os.path.abspath(driver.submodule_search_locations[0])))
    return Product(os.path.abspath(sys.executable), tuple(dict.fromkeys(folders)))


def console_script() -> str:
    """The installed `clearway` command: beside the interpreter, else where this user's scripts go, else on the path."""
    beside = os.path.dirname(os.path.abspath(sys.executable))
    folders = [beside, sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    name = "clearway.exe" if os.name == "nt" else "clearway"
    for folder in folders:
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    return shutil.which(name) or os.path.join(beside, name)
