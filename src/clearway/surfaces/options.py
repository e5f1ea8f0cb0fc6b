"""An operation as a command: its arguments as words and options, and back.

The required subject of an operation is positional, everything else is `--its-name`; a list is an option that repeats, a
boolean a flag. A long text may come from stdin (`-`) or from a file (`@FILE`). Values are not judged here: what cannot
be understood is handed on as it was written, so that the door refuses it with the words it uses everywhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from typing import Any, cast

import click

from clearway import arguments, wire
from clearway.arguments import Choice, Flag, Kind, Many, Parameter, PathText, Record, Text, Whole
from clearway.errors import Refusal
from clearway.limits import PAYLOAD_BYTES_MAX
from clearway.op import Operation
from clearway.untrusted import folded

SUBJECTS = ("issue_id", "attempt_id", "message_id", "title", "text", "query", "path", "paths")
SHORT = {"lease_token": "--token", "target_issue_status": "--target", "result_summary": "--summary"}
# One word for the two codes: which of them is meant follows from the outcome.
REASON = "reason"
_REASONS = {"failed": "failure_reason_code", "interrupted": "interruption_reason_code"}
_METAVAR_CHARS = 40  # more words than fit here are listed in the help's text
_LONG_TEXT_CHARS = 10_000  # a text with more room than this may be read from stdin or a file


def of_operation(operation: Operation, without: Collection[str] = ()) -> list[click.Parameter]:
    """What the command of an operation takes. without: arguments that the command gives itself."""
    listed = [parameter for parameter in arguments.parameters(operation) if parameter.name not in without]
    if operation.keyed:
        listed.append(arguments.KEY)
    subject = next((parameter for parameter in listed if parameter.name in SUBJECTS), None)
    options: list[click.Parameter] = [_option(parameter) for parameter in listed if parameter is not subject]
    if any(parameter.name == "failure_reason_code" for parameter in listed):
        options.append(click.Option(["--reason", REASON], metavar="CODE", help="why it failed or was interrupted."))
    return [*([_argument(subject)] if subject else []), *options]


def gathered(operation: Operation, given: dict[str, Any], folder: str) -> dict[str, Any]:
    """The arguments to ask with, from what click found. folder: where `@FILE` begins."""
    reason = given.pop(REASON, None)
    if reason is not None:
        given[_REASONS.get(str(given.get("outcome")), _REASONS["failed"])] = reason
    kinds = {parameter.name: parameter.kind for parameter in [*arguments.parameters(operation), arguments.KEY]}
    texts = LongTexts(folder)
    return {
        name: _read(kinds[name], list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value, texts)
        for name, value in given.items()
        if value is not None and value != ()
    }


class LongTexts:
    """Texts that were given as `-` or `@FILE`; everything else is the text itself."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._stdin_read = False

    def read(self, given: str) -> str:
        if given == "-":
            return self._standard_input()
        if given.startswith("@@"):
            return given[1:]
        return self._file(given[1:]) if given.startswith("@") else given

    def _standard_input(self) -> str:
        if self._stdin_read:
            raise Refusal("INVALID_ARGUMENT", "stdin can be read once; give one of the texts as @FILE.")
        self._stdin_read = True
        source = getattr(sys.stdin, "buffer", None)
        return _decoded(b"" if source is None else source.read(PAYLOAD_BYTES_MAX + 1), "stdin")

    def _file(self, name: str) -> str:
        shown = folded(name, 200)
        try:
            with open(os.path.join(self._folder, os.path.expanduser(name)), "rb") as file:
                return _decoded(file.read(PAYLOAD_BYTES_MAX + 1), shown)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a file name"
            raise Refusal(
                "INVALID_ARGUMENT", f"@{shown} cannot be read ({why}); a text that begins with @ is written @@."
            ) from error


def _decoded(raw: bytes, source: str) -> str:
    if len(raw) > PAYLOAD_BYTES_MAX:
        raise Refusal("LIMIT_EXCEEDED", f"{source} has more than {PAYLOAD_BYTES_MAX // 1_048_576} MiB.")
    try:
        return raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise Refusal("INVALID_ARGUMENT", f"{source} is not UTF-8 text.") from None


class _Word(click.ParamType[Any]):
    """A value as it was written; one of a few words is offered to the shell's completion."""

    name = "text"

    def __init__(self, kind: Kind) -> None:
        self._words = kind.words if isinstance(kind, Choice) else ()

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self._words if word.startswith(incomplete)]


def _argument(parameter: Parameter) -> click.Argument:
    several = isinstance(parameter.kind, Many)
    metavar = parameter.name.removesuffix("s").upper() if several else parameter.name.upper()
    metavar += "..." if several else ""
    return click.Argument(
        [parameter.name],
        required=parameter.required,
        nargs=-1 if several else 1,
        type=_Word(parameter.kind),
        metavar=metavar if parameter.required else f"[{metavar}]",
    )


def _option(parameter: Parameter) -> click.Option:
    name = "--" + parameter.name.replace("_", "-")
    about = _about(parameter)
    if isinstance(parameter.kind, Flag):
        both = name if parameter.default is False else f"{name}/--no-{name[2:]}"
        return click.Option([both, parameter.name], is_flag=True, default=None, help=about)
    several = isinstance(parameter.kind, Many)
    kind = parameter.kind.kind if isinstance(parameter.kind, Many) else parameter.kind
    short = [SHORT[parameter.name]] if parameter.name in SHORT else []
    return click.Option(
        [name, *short, parameter.name], multiple=several, type=_Word(kind), metavar=_metavar(kind), help=about
    )


def _about(parameter: Parameter) -> str:
    kind = parameter.kind.kind if isinstance(parameter.kind, Many) else parameter.kind
    parts = [parameter.about] if parameter.about else []
    parts += [f"One of {', '.join(kind.words)}."] if isinstance(kind, Choice) and _metavar(kind) == "WORD" else []
    parts += ["(repeat for several)"] if isinstance(parameter.kind, Many) else []
    parts += ["[required]"] if parameter.required and parameter.name != "lease_token" else []
    if parameter.default not in (None, "", False, True):
        parts.append(f"[default: {parameter.default}]")
    return " ".join(parts)


def _metavar(kind: Kind) -> str:
    match kind:
        case Choice():
            words = "|".join(kind.words)
            return words if len(words) <= _METAVAR_CHARS else "WORD"
        case Whole():
            return "N"
        case Record():
            return "JSON"
        case PathText():
            return "PATH"
        case Text():
            return "TEXT|-|@FILE" if kind.chars > _LONG_TEXT_CHARS else "TEXT"
        case _:
            return "VALUE"


def _read(kind: Kind, value: Any, texts: LongTexts) -> Any:
    """A value as JSON would have it. What cannot be read stays a text, for the door to refuse."""
    match kind:
        case Many():
            return [_read(kind.kind, item, texts) for item in value]
        case Whole():
            return _number(value)
        case Record():
            return _record(value)
        case Text() if kind.chars > _LONG_TEXT_CHARS:
            return texts.read(value)
        case _:
            return value


def _number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _record(text: str) -> Any:
    try:
        return wire.loads(text)
    except ValueError:
        return text
