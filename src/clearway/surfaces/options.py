"""The slots of a command as click's parameters, with their help and what a shell may complete."""

from __future__ import annotations

from typing import Any

import click

from clearway.arguments import Choice, Flag, Kind, Many, PathText
from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.limits import LIST_MAX
from clearway.surfaces.asking import Run
from clearway.surfaces.spelling import Command, Slot, is_long
from clearway.untrusted import folded

_ISSUES = ("issue_id", "source_issue_id", "target_issue_id", "parent_issue_id")
_HELP_CHARS = 60  # of a title beside a completed id


def of_command(command: Command) -> list[click.Parameter]:
    """What the command takes."""
    derived = command.derived
    return [_argument(slot) if slot.placed else _option(slot, derived=slot.name in derived) for slot in command.slots]


def this_run() -> Run:
    """The run that the current command belongs to."""
    return click.get_current_context().ensure_object(Run)


class _Word(click.ParamType[Any]):
    """A value as it was written; what it may be is offered to the shell's completion."""

    name = "text"

    def __init__(self, kind: Kind, name: str) -> None:
        self._kind = kind
        self._name = name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        if isinstance(self._kind, PathText):
            return [CompletionItem(incomplete, type="file")]
        if isinstance(self._kind, Choice):
            return [CompletionItem(word) for word in self._kind.words if word.startswith(incomplete)]
        if self._name not in _ISSUES:
            return []
        return [
            CompletionItem(item["display_id"], help=folded(item["title"], _HELP_CHARS))
            for item in _issues(ctx.ensure_object(Run))
            if item["display_id"].startswith(incomplete.upper())
        ]


def _issues(run: Run) -> list[dict[str, Any]]:
    """The issues that can be named here. A key in a shell makes no room, and is told of no failure."""
    try:
        place = run.place
        if place is None or run.rooms.known(place) is None:
            return []
        return run.ask(OPERATIONS["list_issues"], limit=LIST_MAX)["items"]
    except (Refusal, OSError):
        return []
    finally:
        run.close()


def _argument(slot: Slot) -> click.Argument:
    return click.Argument(
        [slot.name],
        required=slot.required and slot.name != "title" and not is_long(slot.kind),  # an editor may give those
        nargs=-1 if slot.several else 1,
        type=_Word(slot.one, slot.name),
        metavar=slot.metavar if slot.required else f"[{slot.metavar}]",
    )


def _option(slot: Slot, *, derived: bool) -> click.Option:
    about = _about(slot, derived=derived)
    if slot.is_flag:
        both = f"{slot.options[0]}/{slot.no}" if slot.no else slot.options[0]
        return click.Option([both, *slot.options[1:], slot.name], is_flag=True, default=None, help=about)
    return click.Option(
        [*slot.options, slot.name],
        multiple=slot.several,
        type=_Word(slot.one, slot.name),
        metavar=slot.metavar,
        help=about,
    )


def _about(slot: Slot, *, derived: bool) -> str:
    parts = [slot.about] if slot.about else []
    if isinstance(slot.one, Choice) and slot.metavar == "WORD":
        parts.append(f"One of {', '.join(slot.one.words)}.")
    if slot.patch is not None and slot.name in slot.patch.nullable:
        parts.append("Empty clears it.")
    parts += ["(repeat for several)"] if isinstance(slot.kind, Many) else []
    if slot.required or derived:
        parts.append("[required]" if slot.required else "[default: found by itself]")
    if slot.default not in (None, "", False, True) and not isinstance(slot.kind, Flag):
        parts.append(f"[default: {slot.default}]")
    return " ".join(parts)
