"""The tree of commands: each declared operation under its words, and the words of the command line itself.

A command is built when it is asked for, so that one run pays for one command. Nothing here decides anything about a
room: arguments go to the door, and its answer comes back as text or, with `--json`, as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from clearway import __version__, arguments, config
from clearway.surfaces import editing, looking, menu, options, spelling, vocabulary, words
from clearway.surfaces.asking import Run, columns
from clearway.surfaces.options import this_run
from clearway.surfaces.vocabulary import COMMANDS, Command
from clearway.untrusted import folded


class Menu(click.Group):
    """A word that leads to others."""

    def __init__(
        self, name: str, entries: Callable[[], dict[str, str]], make: Callable[[str], Any], **more: Any
    ) -> None:
        super().__init__(name, no_args_is_help=False, **more)
        self._entries = entries
        self._make = make

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._entries())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        made = self._make(cmd_name)
        return None if made is None else _with_manners(made)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.UsageError(_not_there(args[0], self.list_commands(ctx)), ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        if not self.invoke_without_command and not ctx._protected_args:  # pyright: ignore[reportPrivateUsage]
            raise click.UsageError(f"Missing command: one of {', '.join(self.list_commands(ctx))}.", ctx)
        return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._entries().items()))


class Program(Menu):
    """The whole of it."""

    def get_help(self, ctx: click.Context) -> str:
        return menu.help_page(columns())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _in_our_words(args))


def _first_words() -> dict[str, str]:
    return {word: about for _, entries in menu.sections() for word, about in entries.items()}


def _made(word: str) -> click.Command | None:
    """The command of a first word."""
    if word in COMMANDS:
        return _command(COMMANDS[word], word)
    if word in menu.families():
        return Menu(
            word,
            lambda: {second: _summary(word, second) for second in menu.families()[word]},
            lambda second: _made_below(word, second),
            help=f"Commands of {word}: {word} COMMAND --help says what one takes.",
        )
    return words.BY_NAME.get(word)


def _made_below(word: str, second: str) -> click.Command | None:
    if f"{word} {second}" in COMMANDS:
        return _command(COMMANDS[f"{word} {second}"], second)
    return words.BELOW[word].get(second) if word in words.BELOW else None


def _summary(word: str, second: str) -> str:
    below = menu.BELOW.get(word, {}).get(second)
    return COMMANDS[f"{word} {second}"].summary if below is None else below


def _command(command: Command, name: str) -> click.Command:
    can_be_written = editing.can_be_written(command)

    def act(**given: Any) -> int:
        run = this_run()
        edited = can_be_written and editing.is_wanted(command, given)
        result = editing.perform(run, command, given) if edited else run.perform(command, given)
        if result is None:
            click.echo("Nothing was changed.", err=run.as_json)
            return 0
        return run.answer(command.operation, result, command.words)

    return click.Command(
        name,
        callback=act,
        params=[*options.of_command(command), *(editing.OPTIONS if can_be_written else ())],
        help=arguments.description(command.operation),
        short_help=command.summary,
    )


def _not_there(word: str, known: list[str]) -> str:
    """What to say to a word that is no command: the words that were probably meant."""
    from difflib import get_close_matches

    meant = [words for words in COMMANDS if words.endswith(f" {word}")] or get_close_matches(word, known)
    hint = f" (did you mean {' or '.join(meant[:3])}?)" if meant else ""
    return f"No such command {folded(word, 40)!r}{hint}"


def _in_our_words(typed: list[str]) -> list[str]:
    """What a predecessor's words mean here; every other line as it is."""
    start = _behind_manners(typed)
    if vocabulary.asks_why_of_an_issue(typed[start:]):
        return [*typed[:start], "issue", *typed[start:]]
    related = spelling.as_said(typed[start:])
    related = related or spelling.placed(typed[start:])
    if related is not None:
        return [*typed[:start], *related]
    for theirs, ours in menu.ALIASES.items():
        count = theirs.count(" ") + 1
        is_ours = ours == "" or ours.startswith("-") or _is_there(ours)
        if typed[start : start + count] == theirs.split(" ") and is_ours:
            return [*typed[:start], *ours.split(), *typed[start + count :]]
    return typed


def _behind_manners(typed: list[str]) -> int:
    """Where the first word stands, behind the options that every command takes."""
    start = 0
    while start < len(typed) and typed[start].startswith("-"):
        start += 2 if typed[start] in ("--as", "-C", "--room") else 1
    return start


def _is_there(line: str) -> bool:
    return line in COMMANDS or line.partition(" ")[0] in words.BY_NAME


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


def _room(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(Run).room = value


def _manners() -> list[click.Parameter]:
    common: dict[str, Any] = {"expose_value": False, "hidden": True}
    return [
        click.Option(["--json", "as_json"], is_flag=True, callback=_json, **common),
        click.Option(["--as", "as_agent"], metavar="NAME", callback=_agent, **common),
        click.Option(["-C", "directory"], metavar="DIR", callback=_directory, **common),
        click.Option(["--room", "room"], metavar="DSN|PATH", callback=_room, **common),
    ]


def _with_manners(command: click.Command) -> click.Command:
    taken = {option for parameter in command.params for option in parameter.opts}
    command.params += [option for option in _manners() if not taken & set(option.opts)]
    return command


def _begin(ctx: click.Context, **_: Any) -> None:
    run = ctx.ensure_object(Run)
    ctx.call_on_close(run.close)
    if ctx.invoked_subcommand is None:
        looking.overview(run)


program = Program(
    "clearway",
    _first_words,
    _made,
    callback=click.pass_context(_begin),
    invoke_without_command=True,
    params=_manners(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": menu.HELP_COLUMNS},
    help=menu.SUMMARY,
)
click.version_option(__version__, message="%(prog)s %(version)s")(program)
