"""Programs of ours that stand by themselves: host, workers, notifier and codex-wake, as services of the user's system.

A plan says every file and every command before anything is done; what it says is what is done. Files that somebody else
wrote are neither replaced nor removed. Services run as the user, begin with the user's session, and are told no secret
but those in the `environment` file of the home, which has to be the user's alone.
"""

from __future__ import annotations

import getpass
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from clearway import config, platforms
from clearway.errors import Refusal
from clearway.setup import registered, service_units
from clearway.setup.service_units import LAUNCHD, SYSTEMD, WINDOWS, WSL, Distribution, Standing
from clearway.untrusted import folded

KINDS = {
    "host": "answers for all clients of this home",
    "worker": "does tasks and issues while nobody is there",
    "notify": "tells a person what waits for them",
    "codex-wake": "wakes a thread of Codex when a message waits for it",
}
_WORDS = {
    "host": ("host", "run", "--stay"),
    "worker": ("worker", "run"),
    "notify": ("notify", "run"),
    "codex-wake": ("codex-wake",),
}
_ENVIRONMENT_BYTES_MAX = 65_536
_COMMAND_SECONDS = 30
_PRINTED_CHARS = 300
_PROJECT_CHARS = 6  # of a project's id, its end: the beginning is the time, which repositories may share


@dataclass(frozen=True)
class Machine:
    """The system on which services are to stand."""

    platform: str
    environ: Mapping[str, str]
    home: str
    user: str
    distribution: Distribution | None = None  # inside Windows
    has_systemd: bool = False  # there


@dataclass(frozen=True)
class File:
    path: str
    text: str
    encoding: str = "utf-8"

    @property
    def data(self) -> bytes:
        return self.text.encode(self.encoding)


@dataclass
class Plan:
    """What will be done, in this order: before, written, removed, after. hints: what only the person can do."""

    unit: str
    before: list[list[str]] = field(default_factory=list[list[str]])
    written: list[File] = field(default_factory=list[File])
    removed: list[str] = field(default_factory=list[str])
    after: list[list[str]] = field(default_factory=list[list[str]])
    hints: list[str] = field(default_factory=list[str])
    is_there: bool = False  # as it would be written, and it runs

    def told(self) -> str:
        """The plan as a person reads it."""
        parts = [f"$ {shlex.join(command)}" for command in self.before]
        parts += [f"--- {file.path}\n{file.text.rstrip()}" for file in self.written]
        parts += [f"remove {path}" for path in self.removed]
        parts += [f"$ {shlex.join(command)}" for command in self.after]
        return "\n".join(parts)


def this_machine(settings: config.Settings, platform: str = "") -> Machine:
    """What is known of the system. platform: another than the one found, to see what it would be given."""
    environ = settings.environ
    found = platform or _platform(environ)
    user = environ.get("USER") or environ.get("USERNAME") or _login()
    if found == WINDOWS and environ.get("USERDOMAIN"):
        user = f"{environ['USERDOMAIN']}\\{user}"
    distribution = Distribution(environ.get("WSL_DISTRO_NAME", "") or "Ubuntu", user) if found == WSL else None
    is_booted = os.path.isdir("/run/systemd/system") if found == WSL else False
    return Machine(found, environ, settings.home, user, distribution, is_booted)


def standing(machine: Machine, kind: str, words: tuple[str, ...], folder: str, project: str) -> Standing:
    """One of our programs as it is to stand. words: its own options; folder: the repository it is for, empty for the
    host, which is for all."""
    if kind == "host" and (machine.platform == WINDOWS or words):
        raise Refusal(
            "INVALID_ARGUMENT",
            "There is no host on Windows, and everything works without it."
            if machine.platform == WINDOWS
            else "The host takes no options of its own.",
        )
    name = kind
    if kind != "host":
        name += "".join(f"-{config.agent_name(agent)}" for agent in _agent(words)) + f"-{project[-_PROJECT_CHARS:]}"
    run = ("service", "run", "--home", machine.home, kind, *(("--", *words) if words else ()))
    program = registered.console_script()
    for text in (program, machine.home, folder, *words):
        if not text.isprintable():
            raise Refusal("INVALID_ARGUMENT", f"A service cannot be given {folded(text, 120)!r}.")
    return Standing(
        name=name,
        about=KINDS[kind] + (f", in {os.path.basename(folder)}" if folder else ""),
        program=program,
        words=run,
        folder=folder or _root(machine),
        home=machine.home,
        runs_agents=kind != "host",
        # The programs of agents are found by it, and a service manager has a path of its own.
        variables={"PATH": machine.environ["PATH"]} if machine.environ.get("PATH") else {},
    )


def install(machine: Machine, wanted: Standing) -> Plan:
    """What makes it stand. Twice is once."""
    plan = Plan(wanted.unit)
    if machine.platform == SYSTEMD or machine.has_systemd:
        _install_unit(plan, machine, wanted)
    elif machine.platform == LAUNCHD:
        _install_agent(plan, machine, wanted)
    elif machine.platform == WINDOWS:
        _install_task(plan, machine, wanted.name, service_units.windows(wanted, machine.user))
    if machine.platform == WSL:
        _install_around(plan, machine, wanted)
    plan.is_there = not (plan.written or plan.after)
    return plan


def remove(machine: Machine, unit: str) -> Plan:
    """What takes it away again, and nothing else."""
    name = unit.removeprefix("clearway-")
    plan = Plan(unit)
    for path in _paths(machine, name):
        if os.path.lexists(path):
            if not _is_ours(path):
                raise Refusal("FORBIDDEN", f"{path} was not written by clearway, and stays; remove it by hand.")
            plan.removed.append(path)
    if not plan.removed:
        return plan
    if machine.platform == SYSTEMD or machine.has_systemd:
        plan.before.append([*_SYSTEMCTL, "disable", "--now", f"{unit}.service"])
        plan.after.append([*_SYSTEMCTL, "daemon-reload"])
    elif machine.platform == LAUNCHD:
        plan.before.append(["launchctl", "bootout", f"gui/{_uid()}/{service_units.LABEL}.{name}"])
    tasks = [path for path in plan.removed if path.endswith(".xml")]
    plan.before += [[_scheduler(machine), "/Delete", "/TN", _task_of(path), "/F"] for path in tasks]
    if machine.distribution is not None and machine.has_systemd and not _others(machine, unit):
        kept = _task_file(machine, service_units.keep_alive_name(machine.distribution))
        if os.path.exists(kept) and _is_ours(kept):
            plan.before.append([_scheduler(machine), "/Delete", "/TN", _task_of(kept), "/F"])
            plan.removed.append(kept)
    return plan


def installed(machine: Machine) -> list[str]:
    """The units of ours that are there for this home."""
    found: set[str] = set()
    for folder, ending in _folders(machine):
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            file = os.path.join(folder, name)
            if name.endswith(ending) and _is_ours(file) and _is_of_home(file, machine.home):
                found.add(_unit_named(name.removesuffix(ending), machine))
    return sorted(unit for unit in found if not unit.startswith("clearway-keep-alive-"))


def state(machine: Machine, unit: str) -> str:
    """What the system says of it: running, stopped, or unknown."""
    name = unit.removeprefix("clearway-")
    if machine.platform == SYSTEMD or machine.has_systemd:
        status, said = _asked([*_SYSTEMCTL, "is-active", f"{unit}.service"], machine)
        return "running" if said.strip() == "active" else "stopped" if status in (3, 4) else "unknown"
    if machine.platform == LAUNCHD:
        status, said = _asked(["launchctl", "print", f"gui/{_uid()}/{service_units.LABEL}.{name}"], machine)
        return "stopped" if status else "running" if "state = running" in said else "stopped"
    path = service_units.task_path(name if machine.distribution is None else f"{name}-{machine.distribution.name}")
    status, said = _asked([_scheduler(machine), "/Query", "/TN", path, "/FO", "LIST"], machine)
    return "unknown" if status else "running" if "Running" in said else "stopped"


def carry_out(plan: Plan, machine: Machine) -> None:
    """Do what the plan says. What is removed need not have been running; what is installed has to run."""
    for command in plan.before:
        _asked(command, machine)
    try:
        for file in plan.written:
            platforms.make_private(os.path.dirname(file.path)) if file.path.startswith(machine.home) else os.makedirs(
                os.path.dirname(file.path), exist_ok=True
            )
            aside = platforms.aside(str(file.path))
            with open(aside, "wb") as opened:
                opened.write(file.data)
            os.replace(aside, file.path)
        for path in plan.removed:
            os.unlink(path)
    except OSError as error:
        raise Refusal("STORAGE_FAILURE", f"{error.filename}: {error.strerror}.") from error
    for command in plan.after:
        status, said = _asked(command, machine)
        if status:
            raise Refusal(
                "STORAGE_CONFIGURATION",
                f"{shlex.join(command)} failed (exit {status}): {folded(said, _PRINTED_CHARS)}. The files are written.",
            )


def environment(home: str) -> dict[str, str]:
    """What services are told besides: `NAME=VALUE` a line, from a file that nobody else may read."""
    file = os.path.join(home, "environment")
    try:
        facts = os.stat(file)
        with open(file, encoding="utf-8") as opened:
            text = opened.read(_ENVIRONMENT_BYTES_MAX + 1)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Refusal("STORAGE_CONFIGURATION", f"{file} cannot be read: {folded(str(error), 120)}.") from error
    if os.name != "nt" and (facts.st_mode & 0o077 or facts.st_uid != os.getuid()):
        raise Refusal("STORAGE_CONFIGURATION", f"{file} can be read by others; chmod 600 it.")
    if len(text) > _ENVIRONMENT_BYTES_MAX:
        raise Refusal("STORAGE_CONFIGURATION", f"{file} is too long.")
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name.isidentifier() or "\0" in value:
            raise Refusal("STORAGE_CONFIGURATION", f"{file}, line {number}: NAME=VALUE is expected.")
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        found[name] = value[1:-1] if quoted else value
    return found


def command(kind: str, words: tuple[str, ...]) -> list[str]:
    """What a service runs, once its environment is there."""
    return [registered.console_script(), *_WORDS[kind], *words]


# --- the systems ----------------------------------------------------------------------------------------------------

_SYSTEMCTL = ["systemctl", "--user"]


def _install_unit(plan: Plan, machine: Machine, wanted: Standing) -> None:
    file = File(_unit_file(machine, wanted.unit), service_units.systemd(wanted))
    if _is_new(file):
        plan.written.append(file)
    if plan.written or state(machine, wanted.unit) != "running":  # it may have failed the last time
        plan.after.append([*_SYSTEMCTL, "daemon-reload"])
        plan.after.append([*_SYSTEMCTL, "enable", f"{wanted.unit}.service"])
        plan.after.append([*_SYSTEMCTL, "restart", f"{wanted.unit}.service"])
    plan.hints.append("It runs while you are logged in; `loginctl enable-linger` lets it run without.")


def _install_agent(plan: Plan, machine: Machine, wanted: Standing) -> None:
    file = File(_agent_file(machine, wanted.name), service_units.launchd(wanted))
    if _is_new(file):
        plan.written.append(file)
    elif state(machine, wanted.unit) == "running":
        return
    if os.path.exists(file.path):
        plan.before.append(["launchctl", "bootout", f"gui/{_uid()}/{service_units.LABEL}.{wanted.name}"])
    plan.after.append(["launchctl", "bootstrap", f"gui/{_uid()}", file.path])


def _install_task(plan: Plan, machine: Machine, name: str, text: str) -> None:
    file = File(_task_file(machine, name), text, "utf-16")
    if not _is_new(file):
        return
    plan.written.append(file)
    path, seen = service_units.task_path(name), _seen_from_windows(machine, file.path)
    plan.after.append([_scheduler(machine), "/Create", "/TN", path, "/XML", seen, "/F"])
    plan.after.append([_scheduler(machine), "/Run", "/TN", path])


def _install_around(plan: Plan, machine: Machine, wanted: Standing) -> None:
    """In the Windows around this Linux."""
    distribution = machine.distribution or Distribution("Ubuntu", machine.user)
    owner = machine.environ.get("CLEARWAY_WINDOWS_USER") or distribution.user
    if machine.has_systemd:
        text = service_units.keep_alive(owner, distribution)
        _install_task(plan, machine, service_units.keep_alive_name(distribution), text)
    else:
        name = f"{wanted.name}-{distribution.name}"
        _install_task(plan, machine, name, service_units.wsl(wanted, owner, distribution))
    plan.hints.append(f"The task is {owner}'s of Windows; CLEARWAY_WINDOWS_USER says another name.")


def _platform(environ: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        return WINDOWS
    if sys.platform == "darwin":
        return LAUNCHD
    return WSL if environ.get("WSL_DISTRO_NAME") else SYSTEMD


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "user"


def _root(machine: Machine) -> str:
    return os.path.expanduser("~") if machine.platform == WINDOWS else "/"


def _agent(words: tuple[str, ...]) -> list[str]:
    """The agent that a worker is for, from its options."""
    for place, word in enumerate(words):
        if word.startswith("--agent="):
            return [word.partition("=")[2]]
        if word == "--agent" and place + 1 < len(words):
            return [words[place + 1]]
    return []


def _unit_file(machine: Machine, unit: str) -> str:
    base = machine.environ.get("XDG_CONFIG_HOME") or os.path.join(_person(machine), ".config")
    return os.path.join(base, "systemd", "user", f"{unit}.service")


def _agent_file(machine: Machine, name: str) -> str:
    return os.path.join(_person(machine), "Library", "LaunchAgents", f"{service_units.LABEL}.{name}.plist")


def _task_file(machine: Machine, name: str) -> str:
    """The scheduler keeps a copy of its own; ours says what it was given."""
    return os.path.join(machine.home, "services", f"clearway-{name}.xml")


def _task_of(file: str) -> str:
    return service_units.task_path(os.path.basename(file).removeprefix("clearway-").removesuffix(".xml"))


def _folders(machine: Machine) -> list[tuple[str, str]]:
    if machine.platform == LAUNCHD:
        return [(os.path.dirname(_agent_file(machine, "x")), ".plist")]
    tasks = (os.path.dirname(_task_file(machine, "x")), ".xml")
    if machine.platform == WINDOWS or not (machine.platform == SYSTEMD or machine.has_systemd):
        return [tasks]
    return [(os.path.dirname(_unit_file(machine, "x")), ".service")]


def _unit_named(stem: str, machine: Machine) -> str:
    if machine.platform == LAUNCHD:
        return "clearway-" + stem.removeprefix(f"{service_units.LABEL}.")
    if machine.distribution is not None and not machine.has_systemd:
        return stem.removesuffix(f"-{machine.distribution.name}")
    return stem


def _paths(machine: Machine, name: str) -> list[str]:
    if machine.platform == LAUNCHD:
        return [_agent_file(machine, name)]
    if machine.platform == SYSTEMD or machine.has_systemd:
        return [_unit_file(machine, f"clearway-{name}")]
    end = f"-{machine.distribution.name}" if machine.distribution is not None else ""
    return [_task_file(machine, name + end)]


def _others(machine: Machine, unit: str) -> bool:
    return any(other != unit for other in installed(machine))


def _person(machine: Machine) -> str:
    return machine.environ.get("HOME") or os.path.expanduser("~")


def _uid() -> int:
    return os.getuid() if os.name != "nt" else 0


def _scheduler(machine: Machine) -> str:
    return "schtasks.exe" if machine.platform == WSL else "schtasks"


def _seen_from_windows(machine: Machine, path: str) -> str:
    if machine.distribution is None:
        return path
    return f"\\\\wsl.localhost\\{machine.distribution.name}" + path.replace("/", "\\")


def _is_new(file: File) -> bool:
    """Whether there is something to write. A file of somebody else is not ours to replace."""
    try:
        with open(file.path, "rb") as opened:
            there = opened.read()
    except FileNotFoundError:
        return True
    except OSError as error:
        raise Refusal("STORAGE_FAILURE", f"{file.path}: {error.strerror}.") from error
    if there != file.data and not _is_ours(file.path):
        raise Refusal("FORBIDDEN", f"{file.path} was not written by clearway; move it away first.")
    return there != file.data


def _is_ours(path: str) -> bool:
    return not os.path.islink(path) and service_units.WRITTEN_BY in _text(path)


def _is_of_home(path: str, home: str) -> bool:
    """Whether it is told this home, and not another one whose name begins with it."""
    from xml.sax.saxutils import escape

    text = _text(path) + "\n"
    ends = ((name, end) for name in (home, escape(home)) for end in " \n\"'<")
    return any(name + end in text for name, end in ends) or "keep-alive" in os.path.basename(path)


def _text(path: str) -> str:
    try:
        with open(path, "rb") as opened:
            raw = opened.read(_ENVIRONMENT_BYTES_MAX)
    except OSError:
        return ""
    return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")


def _asked(words: list[str], machine: Machine) -> tuple[int, str]:
    """Run one command of the system; its status, and what it said."""
    try:
        done = subprocess.run(
            words,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(machine.environ),
            timeout=_COMMAND_SECONDS,
        )
    except FileNotFoundError:
        return 127, f"{words[0]} is not there"
    except (OSError, subprocess.SubprocessError) as error:
        return 126, type(error).__name__
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace").strip()
