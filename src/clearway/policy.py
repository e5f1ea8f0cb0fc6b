"""What the people of a room have decided: its settings, and the switch that pauses its guard.

A setting is looked for in the environment, then in the room, then in the user's config.toml, then here, where each has
a default. Only the human changes them: an agent that could lift its own limits would have none. A value that is not
allowed is refused with those that are, wherever it stands, and never silently replaced.
"""

from __future__ import annotations

import os

from clearway import wire
from clearway.db import statements
from clearway.errors import Refusal
from clearway.limits import (
    ADDRESS_CHARS_MAX,
    DECLARED_COMMANDS_CHARS_MAX,
    FALLBACKS_CHARS_MAX,
    FALLBACKS_MAX,
    GRACE_SECONDS_MAX,
    ISSUE_LEASE_SECONDS,
    ISSUE_LEASE_SECONDS_MAX,
    ISSUE_LEASE_SECONDS_MIN,
    LIMITED_GRACE_SECONDS,
    NOTIFY_OVERDUE_SECONDS,
    OVERDUE_SECONDS_MAX,
    PATH_LEASE_SECONDS,
    PATH_LEASE_SECONDS_MAX,
    PATH_LEASE_SECONDS_MIN,
    RETENTION_DAYS,
    RETENTION_DAYS_MAX,
    SILENT_GRACE_SECONDS,
    TASK_LAPSES,
    TASK_LAPSES_MAX,
    TASK_LEASE_SECONDS,
    TASK_LEASE_SECONDS_MAX,
    TASK_LEASE_SECONDS_MIN,
)
from clearway.op import op
from clearway.untrusted import folded, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.arguments import Duration, SettingName, SettingValue
    from clearway.db.tx import Tx

SQL = statements(__file__)
_NAME_CHARS_MAX = 64
_NAMES_MAX = 50
_THEIRS = (
    ("AGENT_LEASE_TTL", "lease.path_seconds"),
    ("AGENT_LEASE_RETENTION_DAYS", "retention_days"),
    ("AGENT_LEASE_HUMAN", "human"),
    ("AGENT_LEASE_TASK_SENDERS", "task_senders"),
    ("AGENT_LEASE_FALLBACKS", "fallbacks"),
    ("AGENT_LEASE_FAILOVER_GRACE", "failover.limited_seconds"),
    ("AGENT_LEASE_OFFLINE_GRACE", "failover.silent_seconds"),
)
_AMOUNTS = {
    **dict.fromkeys(("cost.issue", "cost.agent", "cost.night"), "dollars (5.50), tokens (2M tokens), or both"),
    "cost.prices": "models with their prices, as claude-sonnet=3/0.30/15; gpt-5=1.25/0.125/10",
    "night": "two times of the day, as 18:00-08:00",
    "notify.quiet_hours": "two times of the day, as 22:00-07:00",
}
_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


class Setting:
    """One thing that can be decided: a word of a few, a whole number within bounds, or a text."""

    __slots__ = ("about", "default", "here", "high", "low", "words")

    def __init__(
        self,
        default: str,
        about: str,
        *,
        words: tuple[str, ...] = (),
        bounds: tuple[int, int] | None = None,
        here: bool = False,
    ) -> None:
        self.default = default
        self.about = about
        self.words = words
        self.low, self.high = bounds or (0, 0)
        self.here = here  # a matter of this machine: a room that others share does not decide it


SETTINGS = {
    "lease.issue_seconds": Setting(
        str(ISSUE_LEASE_SECONDS),
        "how long an issue is leased",
        bounds=(ISSUE_LEASE_SECONDS_MIN, ISSUE_LEASE_SECONDS_MAX),
    ),
    "lease.path_seconds": Setting(
        str(PATH_LEASE_SECONDS), "how long a path is leased", bounds=(PATH_LEASE_SECONDS_MIN, PATH_LEASE_SECONDS_MAX)
    ),
    "lease.task_seconds": Setting(
        str(TASK_LEASE_SECONDS),
        "how long a task is leased once it is started",
        bounds=(TASK_LEASE_SECONDS_MIN, TASK_LEASE_SECONDS_MAX),
    ),
    "task_lapses": Setting(
        str(TASK_LAPSES), "who takes a task may be lost so often; then it is given up", bounds=(1, TASK_LAPSES_MAX)
    ),
    "task_senders": Setting("*", "who may give tasks: names separated by commas, or * for all"),
    "fallbacks": Setting("", "who takes the tasks of an agent that cannot: codex=claude-code,gemini;gemini=codex"),
    "failover.limited_seconds": Setting(
        str(LIMITED_GRACE_SECONDS), "so long a task waits for an agent at its limit", bounds=(0, GRACE_SECONDS_MAX)
    ),
    "failover.silent_seconds": Setting(
        str(SILENT_GRACE_SECONDS), "and for one that gives no sign of life", bounds=(1, GRACE_SECONDS_MAX)
    ),
    "notify.quiet_hours": Setting("", "when nothing is sent to you, on this machine's clock: 22:00-07:00"),
    "notify.overdue_seconds": Setting(
        str(NOTIFY_OVERDUE_SECONDS),
        "a message that no agent has taken for so long waits for you",
        bounds=(0, OVERDUE_SECONDS_MAX),
    ),
    "overlap": Setting("note", "the same path held in another worktree", words=("note", "refuse")),
    "worktree_binding": Setting("on", "a session writes only in its own worktree", words=("on", "off")),
    "subagents": Setting("share", "subagents of one session and each other's paths", words=("share", "exclude")),
    "fail": Setting("open", "what the guard does when it cannot tell", words=("open", "closed")),
    "commit_human": Setting("warn", "a person commits what an agent holds", words=("warn", "refuse")),
    "tree_git": Setting("refuse", "git over a whole work tree in which others have work", words=("refuse", "rescue")),
    "stuck": Setting("lapse", "an agent that is alive and does not get on", words=("lapse", "warn", "off")),
    "evidence": Setting(
        "warn", "work called complete without a green test run since its last edit", words=("warn", "refuse", "off")
    ),
    "cost.issue": Setting("", "what one issue may cost, as 5, 2M tokens, or both; then it is parked"),
    "cost.agent": Setting("", "what one agent may cost in 24 hours; then it begins nothing more"),
    "cost.night": Setting("", "what one night may cost; then nothing more is begun until it ends"),
    "cost.prices": Setting("", "dollars for a million tokens, as claude-sonnet=3/0.30/15; gpt-5=1.25/0.125/10"),
    "night": Setting("18:00-08:00", "from when to when it is night here"),
    "test_commands": Setting("", "commands that run tests here, besides those that are known; separated by ;"),
    "durability": Setting("normal", "which commits reach the disk before the answer", words=("normal", "full")),
    "retention_days": Setting(
        str(RETENTION_DAYS),
        "how long events of crew and guard and handled messages are kept; work is kept for ever",
        bounds=(1, RETENTION_DAYS_MAX),
    ),
    "human": Setting("human", "the name of the person in this room"),
    "codex_thread": Setting("", "the thread of Codex that clearway codex-wake wakes"),
    "declared_commands": Setting("", "commands that are run like scripts, with the resources they need"),
    "danger": Setting("off", "destructive commands of agents are refused", words=("off", "on")),
    "classifier": Setting("off", "a program of yours judges commands, too", words=("off", "shadow", "enforce")),
    "classifier_address": Setting("", "where it is: a command, or an address of this machine", here=True),
}


class Outside:
    """What stands around a room's own settings: the environment before them, the user's config.toml behind them."""

    __slots__ = ("_file", "_user", "environment", "home")

    def __init__(self, environ: Mapping[str, str], home: str) -> None:
        self.environment = _from_environment(environ) if environ else {}
        self.home = home
        self._file = os.path.join(home, "config.toml") if home else ""
        self._user: dict[str, str] | None = None

    @property
    def user(self) -> dict[str, str]:
        """The settings of the user's file. It is parsed only if it is there."""
        if self._user is None:
            self._user = _from_file(self._file) if self._file and os.path.exists(self._file) else {}
        return self._user


NOTHING_OUTSIDE = Outside({}, "")


def value(tx: Tx, name: str) -> str:
    """What holds in this room for one setting."""
    return _found(tx, name)[0]


def anywhere(outside: Outside, name: str) -> str:
    """What holds for one setting outside of every room."""
    return outside.environment.get(name) or outside.user.get(name, SETTINGS[name].default)


def seconds(tx: Tx, name: str) -> int:
    """What holds for a setting that is a number of seconds."""
    return int(value(tx, name))


def declared(tx: Tx) -> list[tuple[list[str], list[str]]]:
    """The declared commands: the words each begins with, and the named resources that it needs."""
    return _commands(value(tx, "declared_commands"))


def fallbacks(tx: Tx) -> dict[str, list[str]]:
    """Who takes the tasks of an agent that cannot, in their order."""
    return _chains(value(tx, "fallbacks"))


def is_paused(tx: Tx) -> bool:
    """Whether the guard of this room is off now."""
    at = tx.opening
    return at.paused_at is not None and (at.paused_until is None or tx.now < at.paused_until)


def pause(tx: Tx) -> dict[str, Any] | None:
    """The pause of the guard as everybody is shown it, or None."""
    if not is_paused(tx):
        return None
    until = tx.opening.paused_until
    return {"state": "off", **({} if until is None else {"until": tx.iso(until)})}


@op(group="admin", cli="config get", tool=False)
def get_setting(tx: Tx, name: SettingName) -> dict[str, Any]:
    """Read one setting of this room, and where its value comes from."""
    return _shown(tx, _known(name))


@op(group="admin", cli="config list", tool=False)
def list_settings(tx: Tx) -> dict[str, Any]:
    """List the settings of this room, their values and what else they may be."""
    return {"settings": [_shown(tx, name) for name in SETTINGS]}


@op(writes=True, group="admin", cli="config set", tool=False)
def set_setting(tx: Tx, name: SettingName, value: SettingValue | None = None) -> dict[str, Any]:
    """Decide one setting for this room; without a value it goes back to its default. For the human only."""
    only_the_human(tx, "changes settings")
    if SETTINGS[_known(name)].here:  # whoever shares the room would start a program here, or be sent what is run here
        raise Refusal("INVALID_ARGUMENT", f"{name} is a matter of each machine: it stands in your config.toml.")
    kept = None if value is None else checked(name, value, name)
    event = tx.tell("setting_changed", name=name, value=value)
    if kept is None:
        tx.change(SQL.forget, name=name)
    else:
        tx.change(SQL.keep, name=name, value=kept, event=event)
    tx.settings = {row.name: row.value for row in tx.all(SQL.all)}
    return _shown(tx, name)


@op(writes=True, group="admin", cli="off", tool=False)
def pause_guard(tx: Tx, duration: Duration | None = None) -> dict[str, Any]:
    """Let every edit in this room pass, for a time or until it is switched on again. For the human only.

    duration: how long, as 90s, 30m or 2h.
    """
    only_the_human(tx, "switches the guard off")
    until = None if duration is None else tx.now + duration
    tx.change(SQL.pause, now=tx.now, until=until)
    ends = None if until is None else tx.iso(until)
    tx.tell("guard_paused", until=ends)
    return {"state": "off", **({"until": ends} if ends else {})}


@op(writes=True, group="admin", cli="on", tool=False)
def resume_guard(tx: Tx) -> dict[str, Any]:
    """Switch the guard of this room on again. For the human only."""
    only_the_human(tx, "switches the guard on")
    if is_paused(tx):
        tx.tell("guard_resumed")
    tx.change(SQL.resume)
    return {"state": "on"}


def only_the_human(tx: Tx, what: str) -> None:
    """FORBIDDEN for every agent, whatever name it gives itself."""
    if not tx.caller.human:
        raise Refusal("FORBIDDEN", f"Only the human {what}, from a command line without an agent; ask for it.")


def checked(name: str, given: str, where: str) -> str:
    """The value as it is kept, or a refusal that names what is allowed. where: what the sentence calls the place."""
    setting, text = SETTINGS[name], given.strip()
    if setting.words:
        fits, allowed = text in setting.words, " or ".join(setting.words)
    elif setting.high:
        fits = text.isascii() and text.isdigit() and len(text) < 10 and setting.low <= int(text) <= setting.high
        allowed = f"a whole number from {setting.low} to {setting.high}"
    elif name == "declared_commands":
        fits, allowed = _reads_as_commands(text), "commands separated by ; with their @resources at the end of each"
    elif name in _AMOUNTS:
        fits, allowed = _reads_as_amount(name, text), _AMOUNTS[name]
    elif name == "test_commands":
        fits, allowed = len(text) <= DECLARED_COMMANDS_CHARS_MAX and text.isprintable(), "commands separated by ;"
    elif name == "task_senders":
        fits, allowed = _reads_as_names(text), "names separated by commas, or * for all"
    elif name == "fallbacks":
        fits, allowed = _reads_as_chains(text), "chains such as codex=claude-code,gemini;gemini=codex"
    elif name == "human":
        fits = _reads_as_person(text)
        allowed = "human, or a free name of up to 64 letters, digits, dots, dashes or underscores"
    elif name == "classifier_address":
        fits, allowed = is_safe_address(text), "a command, https://..., or http:// and an address of this machine"
    else:
        fits, allowed = 0 < len(text) <= _NAME_CHARS_MAX and text.isprintable(), "a name of up to 64 characters"
    if not fits:
        raise Refusal("INVALID_ARGUMENT", f"{where} must be {allowed}, not {quoted(given, 60)}.", allowed=allowed)
    return str(int(text)) if setting.high else text


def _known(name: str) -> str:
    if name not in SETTINGS:
        raise Refusal("INVALID_ARGUMENT", f"There is no setting {quoted(name, 60)}; there is {', '.join(SETTINGS)}.")
    return name


def _found(tx: Tx, name: str) -> tuple[str, str]:
    """The value that holds, and where it was found."""
    outside: Outside = tx.outside
    if name in outside.environment:
        return outside.environment[name], "environment"
    kept = _kept(tx)
    if name in kept and not SETTINGS[name].here:
        return kept[name], "room"
    if name in outside.user:
        return outside.user[name], "config.toml"
    return SETTINGS[name].default, "default"


def _kept(tx: Tx) -> dict[str, str]:
    """What this room keeps, from the row with which the transaction began."""
    if tx.settings is None:
        pairs: list[str] = wire.loads(tx.opening.settings) if tx.opening.settings != "[]" else []
        tx.settings = {name: kept for name, _, kept in (pair.partition("=") for pair in pairs)}
    return tx.settings


def _shown(tx: Tx, name: str) -> dict[str, Any]:
    found, source = _found(tx, name)
    setting = SETTINGS[name]
    allowed = "|".join(setting.words) or (f"{setting.low}..{setting.high}" if setting.high else "")
    shown = {"name": name, "value": found, "from": source, "default": setting.default}
    return shown | ({"allowed": allowed} if allowed else {}) | {"about": setting.about}


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The settings that the environment gives; a predecessor's names are understood."""
    from clearway.config import flag

    found: dict[str, str] = {}
    if flag(environ, "CLEARWAY_FAIL_CLOSED") or flag(environ, "AGENT_LEASE_FAIL_CLOSED"):
        found["fail"] = "closed"
    for variable, name in _THEIRS:
        if environ.get(variable):
            found[name] = checked(name, environ[variable], variable)
    return found


def _from_file(file: str) -> dict[str, str]:
    """The user's file: `lease.path_seconds = 600`, or `[lease]` and `path_seconds = 600`."""
    import tomllib

    try:
        with open(file, "rb") as opened:
            read = tomllib.load(opened)
    except (OSError, ValueError) as error:
        raise Refusal("STORAGE_CONFIGURATION", f"{file} cannot be read ({folded(str(error), 120)}).") from error
    found: dict[str, str] = {}
    for name, given in _flat(read).items():
        if name in SETTINGS:  # other keys are for other parts of the house
            text = given if isinstance(given, str) else wire.dumps(given)
            found[name] = checked(name, text, f"{name} in {file}")
    return found


def _flat(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, given in table.items():
        flat |= _flat(given, f"{above}{name}.") if wire.is_object(given) else {above + name: given}
    return flat


def _reads_as_commands(text: str) -> bool:
    return (
        len(text) <= DECLARED_COMMANDS_CHARS_MAX and text.isprintable() and all(words for words, _ in _commands(text))
    )


def _reads_as_amount(name: str, text: str) -> bool:
    from clearway import amounts

    hours = dict.fromkeys(("night", "notify.quiet_hours"), amounts.hours_of)
    read = {**hours, "cost.prices": amounts.prices_of}.get(name, amounts.cap_of)
    return len(text) <= DECLARED_COMMANDS_CHARS_MAX and text.isprintable() and read(text) is not None


def _reads_as_names(text: str) -> bool:
    from clearway.config import agent_name

    names = [name.strip() for name in text.split(",")]
    return text == "*" or (len(names) <= _NAMES_MAX and all(agent_name(name, fallback="") == name for name in names))


def _reads_as_person(text: str) -> bool:
    """Whether messages can be sent to this name, and nobody else answers to it."""
    from clearway.config import RESERVED_NAMES, agent_name

    return text == "human" or (text != "" and text not in RESERVED_NAMES and agent_name(text, fallback="") == text)


def _reads_as_chains(text: str) -> bool:
    from clearway.config import agent_name

    parts = [part for part in text.split(";") if part.strip()]
    chains = _chains(text)
    names = [name for agent, others in chains.items() for name in (agent, *others)]
    return (
        len(text) <= FALLBACKS_CHARS_MAX
        and len(chains) == len(parts) <= _NAMES_MAX
        and all(others and len(others) <= FALLBACKS_MAX and agent not in others for agent, others in chains.items())
        and all(agent_name(name, fallback="") == name for name in names)
    )


def _chains(text: str) -> dict[str, list[str]]:
    chains: dict[str, list[str]] = {}
    for part in text.split(";"):
        agent, _, others = part.partition("=")
        if agent.strip():
            named = [name.strip() for name in others.split(",")]
            chains[agent.strip()] = list(dict.fromkeys(name for name in named if name))
    return chains


def is_safe_address(text: str) -> bool:
    """A command; or an address to which nothing travels that others could read on the way."""
    if not 0 < len(text) <= ADDRESS_CHARS_MAX or not text.isascii() or not text.isprintable():
        return False
    scheme, there, rest = text.partition("://")
    if not there or " " in scheme:
        return True
    host = rest.replace("?", "/").replace("#", "/").partition("/")[0]
    if " " in text or "@" in host or "\\" in text:
        return False
    name = host[1:].partition("]")[0] if host[:1] == "[" else host.partition(":")[0]
    return bool(name) and (scheme == "https" or (scheme == "http" and name in _THIS_MACHINE))


def _commands(text: str) -> list[tuple[list[str], list[str]]]:
    found: list[tuple[list[str], list[str]]] = []
    for command in text.split(";"):
        words = command.split()
        first = next((place for place, word in enumerate(words) if word.startswith("@")), len(words))
        if words:
            found.append((words[:first], words[first:]))
    return found
