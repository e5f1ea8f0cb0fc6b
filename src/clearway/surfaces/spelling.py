"""How an operation is spelt on the command line, and how what was typed becomes its arguments.

The required subjects of an operation stand by themselves, everything else is `--its-name`; a list is an option that
repeats, a boolean a flag, an object of changes one option for each of its fields. A long text may come from stdin (`-`)
or from a file (`@FILE`). Values are not judged here: what cannot be understood is handed on as it was written, so that
the door refuses it with the words it uses everywhere. Both readers of a command line work from these declarations.
"""

from __future__ import annotations

import os
import sys

from clearway import arguments, wire
from clearway.annotating import cast
from clearway.arguments import Choice, Flag, Kind, Many, Parameter, Patch, PathText, Record, Text, Whole
from clearway.errors import Refusal
from clearway.limits import PAYLOAD_BYTES_MAX
from clearway.surfaces.vocabulary import COMMANDS as COMMANDS
from clearway.surfaces.vocabulary import Command as Command
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUBJECTS = (
    "issue_id",
    "source_issue_id",
    "target_issue_id",
    "attempt_id",
    "review_request_id",
    "message_id",
    "task_id",
    "title",
    "label",
    "name",
    "text",
    "query",
    "path",
    "paths",
    "duration",
    "agents",
)
_NOTHING_PLACED = frozenset({"update_project"})
_PLACED_TOO = {"add_comment": ("content",), "retry_issue": ("content",), "set_setting": ("value",)}
SHORT = {
    "lease_token": "--token",
    "target_issue_status": "--target",
    "result_summary": "--summary",
    "ttl_seconds": "--ttl",
    "since_event_id": "--since",
    "relation_type": "--type",
    "parent_issue_id": "--parent",
    "issue_id": "--issue",
    "review_request_id": "--review",
    "supersedes_id": "--supersedes",
    "reserved_for": "--for",
}
_SINGULAR = {
    "statuses": "status",
    "effective_statuses": "effective-status",
    "priorities": "priority",
    "capabilities": "capability",
}
# One word for the two codes: which of them is meant follows from the outcome.
REASON = "reason"
_REASONS = {"failed": "failure_reason_code", "interrupted": "interruption_reason_code"}
_SPANS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_METAVAR_CHARS = 40  # more words than fit here are listed in the help's text
_LONG_TEXT_CHARS = 10_000  # a text with more room than this may be read from stdin or a file


class Slot:
    """One argument, or one field of an object of changes, as it may be typed."""

    __slots__ = ("about", "default", "kind", "name", "options", "patch", "placed", "required")

    def __init__(
        self, parameter: Parameter, *, required: bool, placed: bool, options: list[str], patch: Patch | None = None
    ) -> None:
        self.name = parameter.name
        self.kind = parameter.kind
        self.about = parameter.about
        self.default = parameter.default
        self.required = required
        self.placed = placed
        self.options = options
        self.patch = patch

    @property
    def several(self) -> bool:
        return isinstance(self.kind, Many)

    @property
    def is_flag(self) -> bool:
        return isinstance(self.kind, Flag)

    @property
    def one(self) -> Kind:
        """What one value of it is."""
        return self.kind.kind if isinstance(self.kind, Many) else self.kind

    @property
    def no(self) -> str:
        """What switches off a flag that is on by itself."""
        return f"--no-{self.options[0][2:]}" if self.is_flag and self.default is not False else ""

    @property
    def metavar(self) -> str:
        if self.placed:
            word = self.name.removesuffix("_id").upper().replace("SOURCE_", "").replace("_", "-")
            word = "PATH" if self.name in ("path", "paths") else word
            return word + ("..." if self.several else "")
        return metavar(self.one, self.name)


def slots(command: Command) -> list[Slot]:
    """What may be typed after the words of a command."""
    gone = {*command.fixed, *command.without}
    listed = [each for each in arguments.parameters(command.operation) if each.name not in gone]
    placed = [each for each in listed if each.name in SUBJECTS]
    placed = [each for each in placed if each.required] or placed[: command.name not in _NOTHING_PLACED]
    placed += [each for each in listed if each.name in _PLACED_TOO.get(command.name, ())]
    if command.operation.keyed:
        listed.append(arguments.KEY)
    derived = command.derived
    found = [
        Slot(each, required=each.required and each.name not in derived, placed=True, options=[]) for each in placed
    ]
    taken = {f"--{each.name.replace('_', '-')}" for each in listed}
    for parameter in listed:
        if parameter in placed:
            continue
        if isinstance(parameter.kind, Patch):
            for name, kind in parameter.kind.fields.items():
                if name in gone:
                    continue
                field = Parameter(name, kind, required=False, default=None, about="")
                options = _options(field, taken)
                found.append(Slot(field, required=False, placed=False, options=options, patch=parameter.kind))
        else:
            required = parameter.required and parameter.name not in derived
            found.append(Slot(parameter, required=required, placed=False, options=_options(parameter, taken)))
    if any(parameter.name == "failure_reason_code" for parameter in listed):
        reason = Parameter(REASON, Text(64), required=False, default=None, about="why it failed or was interrupted.")
        found.append(Slot(reason, required=False, placed=False, options=["--reason"]))
    return found


def _options(parameter: Parameter, taken: set[str]) -> list[str]:
    """Its short word, for a list the word for one of it, and `--its-name`."""
    name = parameter.name
    more = [SHORT.get(name, "")]
    if isinstance(parameter.kind, Many):
        one = _SINGULAR.get(name, name.removesuffix("s")).replace("_", "-")
        more.append(f"--{one}")
    own = f"--{name.replace('_', '-')}"
    return [*(word for word in dict.fromkeys(more) if word and word != own and word not in taken), own]


def metavar(kind: Kind, name: str = "") -> str:
    """What stands for a value in the help."""
    match kind:
        case Choice():
            words = "|".join(kind.words)
            return words if len(words) <= _METAVAR_CHARS else "WORD"
        case Whole():
            return "TIME" if name.endswith("_seconds") else "N"
        case Record():
            return "JSON"
        case PathText():
            return "PATH"
        case Text():
            return "TEXT|-|@FILE" if is_long(kind) else "TEXT"
        case _:
            return "VALUE"


def is_long(kind: Kind) -> bool:
    """Whether a text has so much room that it may come from elsewhere."""
    return isinstance(kind, Text) and kind.chars > _LONG_TEXT_CHARS


_SAID = {"related": "related_to", "belongs-with": "related_to"}
_BACKWARDS = {"blocked-by": "blocks", "duplicated-by": "duplicates"}


def as_said(typed: list[str]) -> list[str] | None:
    """`issue link A blocks B`, and `A blocked-by B`, as people say it; None for every other line."""
    if len(typed) < 5 or typed[0] != "issue" or typed[1] not in ("link", "unlink") or typed[2].startswith("-"):
        return None
    one, said, other = typed[2], typed[3].lower().replace("_", "-"), typed[4]
    if said in _BACKWARDS:
        one, other, said = other, one, _BACKWARDS[said]
    kind = _SAID.get(said, said.replace("-", "_"))
    # A word that is none goes on to the door, which says the words there are.
    return (
        None
        if typed[3].startswith("-") or typed[4].startswith("-")
        else [*typed[:2], one, other, "--type", kind, *typed[5:]]
    )


_NAMES = frozenset(
    [f"--{name.replace('_', '-')}" for name in SUBJECTS] + [SHORT[name] for name in SUBJECTS if name in SHORT]
)


def placed(typed: list[str]) -> list[str] | None:
    """`attempt list --issue ISSUE-42`: what has a place and may be left out goes by its name, too. None for every other
    line."""
    at = next((place for place, word in enumerate(typed) if word.partition("=")[0] in _NAMES), 0)
    words = next((words for words in (" ".join(typed[:2]), *typed[:1]) if words in COMMANDS), None)
    if words is None or at <= words.count(" "):
        return None
    (option, equals, value), rest = typed[at].partition("="), typed[at + 1 :]
    if not equals and rest:
        value, rest = rest[0], rest[1:]
    slots, start = COMMANDS[words].slots, words.count(" ") + 1
    known = any(option in slot.options for slot in slots)
    own = [slot for slot in slots if slot.placed and not slot.required and option in _called(slot.name)]
    return None if known or not own or not value else [*typed[:start], value, *typed[start:at], *rest]


def _called(name: str) -> tuple[str, ...]:
    return (f"--{name.replace('_', '-')}", SHORT.get(name, ""))


# --- what was typed, as arguments -------------------------------------------------------------------------------------


def gathered(command: Command, given: dict[str, Any], folder: str) -> dict[str, Any]:
    """The arguments to ask with. given: by slot, the text, the texts, or the boolean. folder: where `@FILE` begins."""
    texts = LongTexts(folder)
    asked: dict[str, Any] = {}
    changes: dict[str, Any] = {}
    for slot in command.slots:
        value = given.get(slot.name)
        if value is None or value == ():
            continue
        if slot.patch is not None:
            changes[slot.name] = _change(slot, value, texts)
        elif slot.name == REASON and _ends_an_attempt(command):
            asked[_REASONS.get(str(given.get("outcome")), _REASONS["failed"])] = value
        else:
            asked[slot.name] = _read(slot.kind, slot.name, value, texts)
    first = next((slot for slot in command.slots if slot.patch is not None), None)
    if first is not None and not changes:
        says = f"say what changes, as with {first.options[0]}; --help has the rest"
        absent = [{"field": "changes", "code": "REQUIRED", "message": says}]
        raise Refusal("INVALID_ARGUMENT", f"{command.words}: {says}.", absent)
    if changes:
        asked["changes"] = changes
    return asked | command.fixed


def _ends_an_attempt(command: Command) -> bool:
    return any(parameter.name in _REASONS.values() for parameter in arguments.parameters(command.operation))


def _change(slot: Slot, value: Any, texts: LongTexts) -> Any:
    """A field of an object of changes: an empty text clears what can be cleared."""
    if slot.several and list(value) == [""]:
        return []
    read = _read(slot.kind, slot.name, value, texts)
    return None if read == "" and slot.patch is not None and slot.name in slot.patch.nullable else read


def _read(kind: Kind, name: str, value: Any, texts: LongTexts) -> Any:
    """A value as JSON would have it. What cannot be read stays a text, for the door to refuse."""
    match kind:
        case Many():
            return [_read(kind.kind, name, item, texts) for item in cast("tuple[Any, ...]", value)]
        case Whole():
            return _number(value, name)
        case Record():
            return _record(value)
        case Text() if is_long(kind):
            return texts.read(value)
        case _:
            return value


def _number(text: str, name: str) -> int | str:
    """A number as people write it: `#17` for the seventeenth of something, `30m` for seconds."""
    unit = _SPANS.get(text[-1:], 0) if name.endswith("_seconds") else 0
    try:
        return int(text[:-1]) * unit if unit else int(text.removeprefix("#"))
    except ValueError:
        return text


def _record(text: str) -> Any:
    try:
        return wire.loads(text)
    except ValueError:
        return text


class Verbatim(str):
    """A text that is what it says, whatever it begins with."""

    __slots__ = ()


class LongTexts:
    """Texts that were given as `-` or `@FILE`; everything else is the text itself."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._stdin_read = False

    def read(self, given: str) -> str:
        if isinstance(given, Verbatim):
            return str(given)
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
