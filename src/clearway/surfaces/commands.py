"""The tree of commands: each declared operation under its words, and the words of the command line itself.

A command is built when it is asked for, so that one run pays for one command. Nothing here decides anything about a
room: arguments go to the door, and its answer comes back as text or, with `--json`, as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from clearway import __version__, config
from clearway.catalog import OPERATIONS
from clearway.op import Operation
from clearway.surfaces import words
from clearway.surfaces.asking import Run, this_run


class Entry:
    """One word: what it is good for, and how its command is made."""

    def __init__(self, summary: str, make: Callable[[], click.Command]) -> None:
        self.summary = summary
        self.make = make


Section = tuple[str, dict[str, Entry]]


class Menu(click.Group):
    """A word that leads to others."""

    def __init__(self, name: str, sections: Callable[[], list[Section]], **more: Any) -> None:
        super().__init__(name, no_args_is_help=False, **more)
        self._sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [word for _, entries in self._sections() for word in entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = next((entries[cmd_name] for _, entries in self._sections() if cmd_name in entries), None)
        return None if found is None else _with_globals(found.make())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, entries in self._sections():
            with formatter.section(title):
                formatter.write_dl([(word, entry.summary) for word, entry in entries.items()])


def _sections() -> list[Section]:
    """Every first word, by what it is about."""
    declared = _declared()
    claim = OPERATIONS["claim_issue"]
    declared["work"]["next"] = Entry(
        "Claim the best ready issue.", lambda: _command(claim, "next", fixed={"next": True}, without=("issue_id",))
    )
    declared["crew"]["who"] = declared["crew"]["room"]
    declared["crew"]["status"] = _own(words.status)
    titles = {"work": "Work", "plan": "Plan", "crew": "Crew", "admin": "Project"}
    return [
        *((titles.get(group, group.capitalize()), entries) for group, entries in declared.items()),
        ("Set-up", {command.name or "": _own(command) for command in words.SETTING_UP}),
        ("More", {command.name or "": _own(command) for command in words.MORE}),
    ]


def _declared() -> dict[str, dict[str, Entry]]:
    """The first words that operations declare, by group. A word with several operations is a menu of its own, in the
    group of the first of them."""
    groups: dict[str, dict[str, Entry]] = {}
    families: dict[str, dict[str, Entry]] = {}
    homes: dict[str, dict[str, Entry]] = {}
    for operation in OPERATIONS.values():
        first, _, second = operation.cli.partition(" ")
        here = homes.setdefault(first, groups.setdefault(operation.group, {}))
        if second:
            family = families.setdefault(first, {})
            family[second] = Entry(_summary(operation), _maker(operation, second))
            here[first] = Entry(", ".join(family), _menu_maker(first, family))
        elif first:
            here[first] = Entry(_summary(operation), _maker(operation, first))
    return groups


def _maker(operation: Operation, name: str) -> Callable[[], click.Command]:
    return lambda: _command(operation, name)


def _menu_maker(name: str, entries: dict[str, Entry]) -> Callable[[], click.Command]:
    return lambda: Menu(name, lambda: [("Commands", entries)])


def _own(command: click.Command) -> Entry:
    return Entry(command.get_short_help_str(100), lambda: command)


def _summary(operation: Operation) -> str:
    return (operation.function.__doc__ or "").strip().partition("\n")[0]


def _command(
    operation: Operation, name: str, *, fixed: dict[str, Any] | None = None, without: tuple[str, ...] = ()
) -> click.Command:
    """The command of an operation. fixed: arguments that the word itself gives; without: those it has no option for."""
    from clearway import arguments
    from clearway.surfaces import options

    fixed = fixed or {}
    takes_token = any(parameter.name == "lease_token" for parameter in arguments.parameters(operation))

    def act(**given: Any) -> None:
        run = this_run()
        asked = options.gathered(operation, given, run.folder) | fixed
        if takes_token and "lease_token" not in asked:
            # Everything else is looked at first: an attempt is sought only under a name that can be one.
            arguments.checked(operation, asked | {"lease_token": "derived"}, run.caller, run.rooms.clock)
            asked["lease_token"] = run.own_token(asked["attempt_id"])
        run.answer(operation, run.ask(operation, **asked))

    return click.Command(
        name,
        callback=act,
        params=options.of_operation(operation, (*fixed, *without)),
        help=arguments.description(operation),
        short_help=_summary(operation),
    )


# --- options that every command takes, before it or after it --------------------------------------------------------


def _json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Run).as_json = True


def _agent(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(Run).agent = config.check_name(value)


def _directory(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(Run).directory = value


def _globals(*, hidden: bool) -> list[click.Parameter]:
    common: dict[str, Any] = {"expose_value": False, "hidden": hidden}
    return [
        click.Option(
            ["--json", "as_json"], is_flag=True, callback=_json, help="Answer (and refuse) in JSON.", **common
        ),
        click.Option(["--as", "as_agent"], metavar="NAME", callback=_agent, help="Act as this agent.", **common),
        click.Option(["-C", "directory"], metavar="DIR", callback=_directory, help="Act in this folder.", **common),
    ]


def _with_globals(command: click.Command) -> click.Command:
    taken = {option for parameter in command.params for option in parameter.opts}
    command.params += [option for option in _globals(hidden=True) if not taken & set(option.opts)]
    return command


def _begin(ctx: click.Context, **_: Any) -> None:
    run = ctx.ensure_object(Run)
    ctx.call_on_close(run.close)
    if ctx.invoked_subcommand is None:
        words.overview(run)


program = Menu(
    "clearway",
    _sections,
    callback=click.pass_context(_begin),
    invoke_without_command=True,
    params=[*_globals(hidden=False)],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Coordinate coding agents that work in one repository: nothing is owned, everything is leased.",
    epilog="Without a command, in a repository: where it stands, and the next two commands.",
)
click.version_option(__version__, message="%(prog)s %(version)s")(program)
