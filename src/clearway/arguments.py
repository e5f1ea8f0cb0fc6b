"""What an argument may be: kinds with their bounds, the checks of the door, and the JSON Schema of an operation.

A noun annotates its operations with the names at the end of this module. From the signature follow the check of every
call, the schema that a model reads, and the options of the command line. Modules that a hook loads import this one for
type checking only; it is loaded when a surface asks.
"""

from __future__ import annotations

import os
import sys
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypedDict, get_args, get_origin

from clearway import config, lifecycle, limits, paths, repository
from clearway.clock import Clock
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.op import Operation
from clearway.untrusted import folded

if typing.TYPE_CHECKING:
    from clearway.repository import Place
else:
    Place = Any

_NAME_CHARS, _UNKNOWN_SHOWN = 64, 20  # of arguments that do not exist: they may be anything
_TOO_MUCH = frozenset({"MAX_RUNES", "MAX_ITEMS", "MAX_BYTES"})


class Problem(Exception):
    """One thing wrong with one field."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code
        self.message = message


class Kind:
    """What a value may be. `check` returns the value as the noun takes it; `schema` tells a model."""

    def check(self, value: Any, field: str, where: Where) -> Any:
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        raise NotImplementedError


class Where:
    """What checking a path needs to know of the caller: its folder, and a clock for new checkout ids."""

    __slots__ = ("clock", "cwd")

    def __init__(self, cwd: str, clock: Clock) -> None:
        self.cwd = cwd
        self.clock = clock


class Text(Kind):
    """Text of at most `chars` code points. blank: may it be empty or only white space."""

    def __init__(self, chars: int, *, blank: bool = False) -> None:
        self.chars = chars
        self.blank = blank

    def check(self, value: Any, field: str, where: Where) -> str:
        if not isinstance(value, str):
            raise Problem(field, "INVALID_VALUE", "must be a text")
        if "\0" in value:
            raise Problem(field, "NUL_NOT_ALLOWED", "must not contain NUL")
        if not value.isascii() and not _is_unicode(value):
            raise Problem(field, "INVALID_UTF8", "must be valid Unicode")
        if not self.blank and not value.strip():
            raise Problem(field, "REQUIRED", "must not be blank")
        if len(value) > self.chars:
            raise Problem(field, "MAX_RUNES", f"must have at most {self.chars} characters")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


class DocumentText(Text):
    """A whole document: its text, or the JSON value that it is. What in it is wrong is told by its place in it."""

    def check(self, value: Any, field: str, where: Where) -> Any:
        if isinstance(value, (dict, list)):
            return typing.cast("Any", value)
        if not isinstance(value, str):
            raise Problem(field, "INVALID_VALUE", "must be a text")
        if len(value) > self.chars:
            raise Problem(field, "MAX_RUNES", f"has more than {self.chars} characters: import it as a file")
        return value


class Trimmed(Text):
    """Text whose outer spaces mean nothing: a name that people type."""

    def check(self, value: Any, field: str, where: Where) -> str:
        return super().check(value, field, where).strip()


class Whole(Kind):
    """A whole number within bounds."""

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high

    def check(self, value: Any, field: str, where: Where) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            if not (isinstance(value, float) and value.is_integer()):
                raise Problem(field, "INVALID_VALUE", "must be a whole number")
        if not self.low <= value <= self.high:
            raise Problem(field, "OUT_OF_RANGE", f"must be from {self.low} to {self.high}")
        return int(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}


class Flag(Kind):
    def check(self, value: Any, field: str, where: Where) -> bool:
        if not isinstance(value, bool):
            raise Problem(field, "INVALID_VALUE", "must be true or false")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Choice(Kind):
    """One of a few words."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def check(self, value: Any, field: str, where: Where) -> str:
        if value not in self.words:
            raise Problem(field, "INVALID_ENUM", "must be one of " + ", ".join(self.words))
        return str(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}  # Gemini refuses an enum without its type


class Many(Kind):
    """A list of at most `most` values of one kind. unique: repeating one is an error."""

    def __init__(self, kind: Kind, most: int, *, least: int = 0, unique: bool = False) -> None:
        self.kind = kind
        self.most = most
        self.least = least
        self.unique = unique

    def check(self, value: Any, field: str, where: Where) -> list[Any]:
        if not isinstance(value, list):
            raise Problem(field, "INVALID_VALUE", "must be a list")
        items = typing.cast("list[Any]", value)
        if len(items) > self.most:
            raise Problem(field, "MAX_ITEMS", f"must have at most {self.most} items")
        if len(items) < self.least:
            raise Problem(field, "REQUIRED", f"must have at least {self.least} item")
        found = [self.kind.check(item, f"{field}[{place}]", where) for place, item in enumerate(items)]
        if self.unique and len({str(item).lower() for item in found}) < len(found):
            raise Problem(field, "DUPLICATE", "must not repeat a value")
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.kind.schema()}


class Record(Kind):
    """An object with the fields of a TypedDict."""

    def __init__(self, shape: Any) -> None:
        hints = typing.get_type_hints(shape, include_extras=True)
        self.fields = {name: _kind(hint) for name, hint in hints.items()}
        # Not __required_keys__: annotations are strings here, in which it does not see NotRequired.
        self.required = frozenset(name for name, hint in hints.items() if get_origin(hint) is not typing.NotRequired)

    def check(self, value: Any, field: str, where: Where) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Problem(field, "INVALID_VALUE", "must be an object")
        given = typing.cast("dict[str, Any]", value)
        for name in given:
            if name not in self.fields:
                raise Problem(f"{field}.{folded(name, _NAME_CHARS)}", "UNSUPPORTED", "is not a field of this object")
        for name in sorted(self.required):
            if given.get(name) is None:
                raise Problem(f"{field}.{name}", "REQUIRED", "is required")
        return {
            name: self.fields[name].check(item, f"{field}.{name}", where)
            for name, item in given.items()
            if item is not None
        }

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: kind.schema() for name, kind in self.fields.items()},
            "required": sorted(self.required),
            "additionalProperties": False,
        }


class Patch(Record):
    """Fields to change: an absent one stays as it is, and null clears one that may be empty."""

    def __init__(self, shape: Any) -> None:
        super().__init__(shape)
        hints = typing.get_type_hints(shape, include_extras=True)
        self.nullable = frozenset(name for name, hint in hints.items() if type(None) in get_args(hint))
        self.required = frozenset[str]()

    def check(self, value: Any, field: str, where: Where) -> dict[str, Any]:
        found = super().check(value, field, where)
        for name, item in value.items():
            if item is None and name not in self.nullable:
                raise Problem(f"{field}.{name}", "NULL_NOT_ALLOWED", "cannot be cleared")
        return {name: found.get(name) for name in value}

    def schema(self) -> dict[str, Any]:
        fields = {
            name: {**kind.schema(), "type": ["string", "null"]} if name in self.nullable else kind.schema()
            for name, kind in self.fields.items()
        }
        return {"type": "object", "properties": fields, "additionalProperties": False}


class RepositoryPath(Text):
    """A path from the repository's root, wherever the caller stands: it may not exist yet."""

    def check(self, value: Any, field: str, where: Where) -> str:
        text = super().check(value, field, where)
        parts = [part for part in text.split("/") if part not in ("", ".")]
        if text.startswith(("/", "~")) or "\\" in text or ".." in parts or text[1:2] == ":":
            raise Problem(field, "INVALID_PATH", "must be a path from the repository's root, without .. or a drive")
        return "/".join(parts) or "."


class Ability(Trimmed):
    """Something that an agent can do or has: one word, whatever its case."""

    def check(self, value: Any, field: str, where: Where) -> str:
        word = super().check(value, field, where).lower()
        if not word.isprintable() or " " in word or "," in word:
            raise Problem(field, "INVALID_VALUE", "must be one word")
        return word


class KeyOfIssues(Text):
    """What stands before the number of an issue."""

    def check(self, value: Any, field: str, where: Where) -> str:
        key = super().check(value, field, where).strip().upper()
        if not (key.isascii() and key.isalnum() and key[0].isalpha()):
            raise Problem(field, "INVALID_VALUE", "must be a letter, then letters and digits, as in PAY-42")
        return key


class NameOfAgent(Text):
    """The name of an agent, as those are formed."""

    def check(self, value: Any, field: str, where: Where) -> str:
        name = super().check(value, field, where)
        if config.agent_name(name, fallback="") != name:
            raise Problem(field, "INVALID_VALUE", "must be letters, digits, dots, dashes or underscores")
        return name


class Address(Text):
    """Whom a message is for: an agent, one session of it as agent#session, or * for everybody."""

    def check(self, value: Any, field: str, where: Where) -> str:
        text = super().check(value, field, where)
        name, _, session = text.partition("#")
        known = name in ("*", "human") or config.agent_name(name, fallback="") == name
        if not known or (name == "*" and session) or (not session and "#" in text) or not session.isprintable():
            raise Problem(field, "INVALID_VALUE", "must be an agent's name, agent#session, or * for everybody")
        return text


class Numbered(Whole):
    """A number of the room, also as people write it: #17."""

    def check(self, value: Any, field: str, where: Where) -> int:
        digits = value.strip().removeprefix("#") if isinstance(value, str) else ""
        is_number = digits.isascii() and digits.isdigit() and len(digits) < 17
        return super().check(int(digits) if is_number else value, field, where)


class ArtifactUri(Text):
    """A reference: a repository-relative path, or an http(s) address without credentials."""

    def check(self, value: Any, field: str, where: Where) -> str:
        text = super().check(value, field, where)
        parts = text.split("/")
        if text.startswith(("http://", "https://")):
            if "@" in parts[2] or not parts[2]:
                raise Problem(field, "INVALID_URL", "must name a host and carry no credentials")
            return text
        if text.startswith("/") or "\\" in text or ".." in parts or ":" in parts[0]:
            raise Problem(field, "INVALID_PATH", "must be a path inside the repository, without .., drive or scheme")
        return text


class PathText(Kind):
    """A path, resolved in the caller's process to the place that a room knows; or a named resource."""

    def check(self, value: Any, field: str, where: Where) -> Place:
        if not isinstance(value, str):
            raise Problem(field, "INVALID_VALUE", "must be a text")
        resource = paths.resource(value)
        if resource is not None:
            return repository.named(*resource)
        return repository.locate(value, where.cwd, os.path.expanduser("~"), where.clock)

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


class Span(Kind):
    """A length of time as people write it: 90s, 30m or 2h; in milliseconds."""

    _UNITS = types.MappingProxyType({"s": 1_000, "m": 60_000, "h": 3_600_000})

    def __init__(self, seconds_max: int) -> None:
        self.seconds_max = seconds_max

    def check(self, value: Any, field: str, where: Where) -> int:
        number, unit = (value[:-1], value[-1:]) if isinstance(value, str) else ("", "")
        if not (number.isascii() and number.isdigit() and len(number) < 9 and unit in self._UNITS):
            raise Problem(field, "INVALID_VALUE", "must be a length of time such as 90s, 30m or 2h")
        span = int(number) * self._UNITS[unit]
        if not 0 < span <= self.seconds_max * 1_000:
            raise Problem(field, "OUT_OF_RANGE", f"must be from 1s to {self.seconds_max // 3_600}h")
        return span

    def schema(self) -> dict[str, Any]:
        return {"type": "string"}


class Parameter:
    """One argument of one operation."""

    def __init__(self, name: str, kind: Kind, *, required: bool, default: Any, about: str) -> None:
        self.name = name
        self.kind = kind
        self.required = required
        self.default = default
        self.about = about


class Form:
    """The arguments of one operation, by name in the order of its signature."""

    __slots__ = ("parameters", "takes_paths")

    def __init__(self, operation: Operation) -> None:
        about = abouts(operation.function)
        names = {**vars(sys.modules[__name__]), **vars(sys.modules[operation.function.__module__])}
        self.parameters = {
            name: _parameter(name, hint, default, names, about.get(name, ""))
            for name, (hint, default) in _signature(operation.function).items()
            if name != "tx"
        }
        self.takes_paths = any(_is_path(parameter.kind) for parameter in self.parameters.values())


KEY = Parameter("idempotency_key", Text(limits.KEY_CHARS_MAX), required=False, default=None, about="")
_FORMS: dict[str, Form] = {}


def form(operation: Operation) -> Form:
    known = _FORMS.get(operation.name)
    if known is None:
        known = _FORMS[operation.name] = Form(operation)
    return known


def parameters(operation: Operation) -> list[Parameter]:
    """The arguments of an operation, in the order of its signature."""
    return list(form(operation).parameters.values())


def checked(
    operation: Operation, arguments: Mapping[str, Any], caller: Caller, clock: Clock
) -> tuple[dict[str, Any], str | None]:
    """Check every argument; the values for the function and the idempotency key. `null` means not given.

    `cwd` may come with any operation that takes a path; it stands for the caller's folder.
    """
    expected = form(operation)
    given = {name: value for name, value in arguments.items() if value is not None}
    problems: list[Problem] = []
    cwd = _cwd(given.pop("cwd", None), caller, problems) if expected.takes_paths else caller.cwd
    key = _check_key(operation, given, problems)
    where = Where(cwd, clock)
    values: dict[str, Any] = {}
    for name, parameter in expected.parameters.items():
        if name in given:
            try:
                values[name] = parameter.kind.check(given.pop(name), name, where)
            except Problem as problem:
                problems.append(problem)
        elif parameter.required:
            problems.append(Problem(name, "REQUIRED", "is required"))
    unknown = [folded(name, _NAME_CHARS) for name in list(given)[:_UNKNOWN_SHOWN]]
    problems += [Problem(name, "UNSUPPORTED", f"is not an argument of {operation.name}") for name in unknown]
    if problems:
        raise _refusal(operation, problems)
    return values, key


def schema(operation: Operation, *, whole: bool = True) -> dict[str, Any]:
    """The JSON Schema of the arguments: closed, and described only where the name does not say it. whole: with those
    that are rarely needed."""
    listed = [parameter for parameter in parameters(operation) if whole or parameter.name not in operation.rare]
    shown: dict[str, Any] = {parameter.name: _described(parameter) for parameter in listed}
    if form(operation).takes_paths:
        shown["cwd"] = {"type": "string"}
    if operation.keyed:
        shown[KEY.name] = KEY.kind.schema()
    required = [parameter.name for parameter in listed if parameter.required]
    required += [KEY.name] if operation.key_required else []
    return {
        "type": "object",
        "properties": shown,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def summary(operation: Operation) -> str:
    """The first line of the docstring."""
    return (operation.function.__doc__ or "").strip().partition("\n")[0]


def description(operation: Operation) -> str:
    """What a model reads before it calls: the docstring without the lines about arguments, as one text."""
    return " ".join(" ".join(block.split()) for block in _blocks(operation.function)[0])


def abouts(function: Any) -> dict[str, str]:
    """`name: meaning.` lines of a docstring."""
    return _blocks(function)[1]


def _blocks(function: Any) -> tuple[list[str], dict[str, str]]:
    names = _signature(function)
    prose: list[str] = []
    about: dict[str, str] = {}
    for block in _doc(function).split("\n\n"):
        current = ""
        for line in block.split("\n"):
            name, colon, rest = line.partition(":")
            if colon and name in names:
                current = name
                about[current] = rest.strip()
            elif current:
                about[current] += " " + line.strip()
        if not current:
            prose.append(block)
    return prose, about


def _signature(function: Any) -> dict[str, tuple[Any, Any]]:
    """The parameters of a plain function, each with its annotation and its default, which is a tuple of one or of none.

    Asked of the code itself: `inspect` takes longer to load than a command takes to run.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    given = function.__defaults__ or ()
    defaults = [()] * (len(names) - len(given)) + [(value,) for value in given]
    return {name: (function.__annotations__[name], default) for name, default in zip(names, defaults, strict=True)}


def _doc(function: Any) -> str:
    """The docstring without the indentation of the code around it."""
    first, *rest = (function.__doc__ or "").split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:] for line in rest)]).strip()


def _parameter(name: str, hint: Any, default: tuple[Any, ...], names: dict[str, Any], about: str) -> Parameter:
    hint = eval(hint, names) if isinstance(hint, str) else hint
    return Parameter(name, _kind(hint), required=not default, default=default[0] if default else None, about=about)


def _kind(hint: Any) -> Kind:
    if get_origin(hint) in (typing.Union, types.UnionType):
        (inner,) = [part for part in get_args(hint) if part is not type(None)]
        return _kind(inner)
    if get_origin(hint) in (typing.NotRequired, typing.Required):
        return _kind(get_args(hint)[0])
    if get_origin(hint) is Annotated:
        return next(extra for extra in get_args(hint)[1:] if isinstance(extra, Kind))
    raise TypeError(f"{hint} is not a kind of argument")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_path(kind: Kind) -> bool:
    return isinstance(kind, PathText) or (isinstance(kind, Many) and _is_path(kind.kind))


def _cwd(value: Any, caller: Caller, problems: list[Problem]) -> str:
    if value is None:
        return caller.cwd
    if not isinstance(value, str) or not os.path.isabs(value):
        problems.append(Problem("cwd", "INVALID_VALUE", "must be an absolute path"))
        return caller.cwd
    return value


def _check_key(operation: Operation, given: dict[str, Any], problems: list[Problem]) -> str | None:
    if not operation.keyed or KEY.name not in given:
        if operation.key_required:
            problems.append(Problem(KEY.name, "REQUIRED", "is required"))
        return None
    try:
        return KEY.kind.check(given.pop(KEY.name), KEY.name, Where("", Clock()))
    except Problem as problem:
        problems.append(problem)
        return None


def _described(parameter: Parameter) -> dict[str, Any]:
    shown = parameter.kind.schema()
    return {**shown, "description": parameter.about} if parameter.about else shown


def _refusal(operation: Operation, problems: list[Problem]) -> Refusal:
    problems.sort(key=lambda problem: (problem.field, problem.code))
    first = problems[0]
    code = "LIMIT_EXCEEDED" if all(problem.code in _TOO_MUCH for problem in problems) else "INVALID_ARGUMENT"
    more = f" ({len(problems) - 1} more in details)" if len(problems) > 1 else ""
    return Refusal(
        code,
        f"{operation.name}: {first.field} {first.message}{more}.",
        [{"field": problem.field, "code": problem.code, "message": problem.message} for problem in problems],
    )


# --- the words that signatures use --------------------------------------------------------------------------------

IssueRef = Annotated[str, Text(limits.ID_CHARS_MAX)]
AttemptRef = Annotated[str, Text(limits.ID_CHARS_MAX)]
LeaseToken = Annotated[str, Text(limits.TOKEN_CHARS_MAX)]
IssueType = Annotated[str, Choice(lifecycle.TYPES)]
Status = Annotated[str, Choice(lifecycle.STATUSES)]
Statuses = Annotated[list[str], Many(Choice(lifecycle.STATUSES), len(lifecycle.STATUSES), unique=True)]
EffectiveStatuses = Annotated[list[str], Many(Choice((*lifecycle.STATUSES, "in_progress")), 7, unique=True)]
Types = Annotated[list[str], Many(Choice(lifecycle.TYPES), len(lifecycle.TYPES), unique=True)]
Priority = Annotated[str, Choice(lifecycle.PRIORITIES)]
Priorities = Annotated[list[str], Many(Choice(lifecycle.PRIORITIES), len(lifecycle.PRIORITIES), unique=True)]
Title = Annotated[str, Text(limits.TITLE_CHARS_MAX)]
Description = Annotated[str, Text(limits.DESCRIPTION_CHARS_MAX, blank=True)]
Criteria = Annotated[str, Text(limits.CRITERIA_CHARS_MAX, blank=True)]
Reason = Annotated[str, Text(limits.REASON_CHARS_MAX)]
Labels = Annotated[list[str], Many(Trimmed(limits.LABEL_CHARS_MAX), limits.LABELS_PER_ISSUE_MAX, unique=True)]
Yes = Annotated[bool, Flag()]
Force = Annotated[bool, Flag()]
Doing = Annotated[str, Text(limits.PURPOSE_CHARS_MAX)]
LeaseSeconds = Annotated[int, Whole(limits.ISSUE_LEASE_SECONDS_MIN, limits.ISSUE_LEASE_SECONDS_MAX)]
PathSeconds = Annotated[int, Whole(limits.PATH_LEASE_SECONDS_MIN, limits.PATH_LEASE_SECONDS_MAX)]
ListLimit = Annotated[int, Whole(1, limits.LIST_MAX)]
Cursor = Annotated[str, Text(limits.CURSOR_CHARS_MAX)]
ContextBytes = Annotated[int, Whole(limits.CONTEXT_BYTES_MIN, limits.CONTEXT_BYTES_MAX)]
NoteKind = Annotated[str, Choice(lifecycle.NOTE_KINDS)]
NoteText = Annotated[str, Text(limits.NOTE_CHARS_MAX)]
Summary = Annotated[str, Text(limits.SUMMARY_CHARS_MAX)]
Steps = Annotated[list[str], Many(Text(limits.STEP_CHARS_MAX), limits.STEPS_MAX)]
Outcome = Annotated[str, Choice(lifecycle.OUTCOMES)]
TargetStatus = Annotated[str, Choice(lifecycle.WORK_TARGETS)]
ReviewOutcome = Annotated[str, Choice(tuple(lifecycle.REVIEW_OUTCOMES))]
FailureCode = Annotated[str, Choice(lifecycle.FAILURE_CODES)]
InterruptionCode = Annotated[str, Choice(lifecycle.INTERRUPTION_CODES)]
PathMode = Annotated[str, Choice(lifecycle.PATH_MODES)]
Purpose = Annotated[str, Text(limits.PURPOSE_CHARS_MAX, blank=True)]
Placed = Annotated[Place, PathText()]
PlacedPaths = Annotated[list[Place], Many(PathText(), limits.PATHS_PER_CLAIM_MAX, least=1)]


SettingName = Annotated[str, Text(limits.ID_CHARS_MAX)]
SettingValue = Annotated[str, Text(limits.DECLARED_COMMANDS_CHARS_MAX)]
Duration = Annotated[int, Span(limits.PAUSE_SECONDS_MAX)]
HistoryLimit = Annotated[int, Whole(1, limits.LIST_MAX)]


class ArtifactShape(TypedDict):
    type: Annotated[str, Choice(lifecycle.ARTIFACT_TYPES)]
    uri: Annotated[str, ArtifactUri(limits.ARTIFACT_URI_CHARS_MAX)]
    title: typing.NotRequired[Annotated[str, Text(limits.ARTIFACT_TITLE_CHARS_MAX)]]


Artifacts = Annotated[list[ArtifactShape], Many(Record(ArtifactShape), limits.ARTIFACTS_MAX)]
ClaimKind = Literal["work", "review"]


Document = Annotated[str, DocumentText(limits.DOCUMENT_CHARS_MAX)]
ImportMode = Annotated[str, Choice(("empty", "merge"))]
DocumentFormat = Annotated[str, Choice(("clearway", "rhizome", "beads", "github", "markdown"))]
IssuePaths = Annotated[list[str], Many(RepositoryPath(limits.PATH_CHARS_MAX), limits.ISSUE_PATHS_MAX, unique=True)]
AgentName = Annotated[str, NameOfAgent(limits.AGENT_NAME_CHARS_MAX)]
Version = Annotated[int, Whole(1, limits.NUMBER_MAX)]
EventNumber = Annotated[int, Whole(0, limits.NUMBER_MAX)]
EventTypes = Annotated[list[str], Many(Text(limits.LABEL_CHARS_MAX), limits.EVENT_TYPES_MAX, unique=True)]
ChangesLimit = Annotated[int, Whole(1, limits.CHANGES_MAX)]
ChangesWait = Annotated[int, Whole(0, limits.CHANGES_WAIT_SECONDS_MAX)]
RelationType = Annotated[str, Choice(lifecycle.RELATIONS)]
RelationAction = Annotated[str, Choice(("add", "remove"))]
RelationTypes = Annotated[list[str], Many(Choice(lifecycle.RELATIONS), len(lifecycle.RELATIONS), unique=True)]
Direction = Annotated[str, Choice(("outgoing", "incoming", "both"))]
GraphDepth = Annotated[int, Whole(0, limits.GRAPH_DEPTH_MAX)]
GraphNodes = Annotated[int, Whole(1, limits.GRAPH_NODES_MAX)]
GraphBytes = Annotated[int, Whole(limits.GRAPH_BYTES_MIN, limits.GRAPH_BYTES_MAX)]
Comment = Annotated[str, Text(limits.COMMENT_CHARS_MAX)]
LabelName = Annotated[str, Trimmed(limits.LABEL_CHARS_MAX)]
LabelDescription = Annotated[str, Text(limits.LABEL_DESCRIPTION_CHARS_MAX, blank=True)]
AttemptStatuses = Annotated[
    list[str], Many(Choice(lifecycle.ATTEMPT_STATUSES), len(lifecycle.ATTEMPT_STATUSES), unique=True)
]
ActivityTypes = Annotated[list[str], Many(Choice(lifecycle.ACTIVITY_TYPES), len(lifecycle.ACTIVITY_TYPES), unique=True)]


Needs = Annotated[list[str], Many(Ability(limits.LABEL_CHARS_MAX), limits.NEEDS_MAX, unique=True)]
ReviewRef = Annotated[str, Text(limits.ID_CHARS_MAX)]
ReviewStatus = Annotated[str, Choice(lifecycle.REVIEW_STATUSES)]
ArtifactIds = Annotated[list[str], Many(Text(limits.ID_CHARS_MAX), limits.REVIEW_ARTIFACTS_MAX, unique=True)]
KindOfWork = Annotated[str, Choice(tuple(lifecycle.CLAIM_KIND.values()))]
DecisionRef = Annotated[str, Text(limits.ID_CHARS_MAX)]
DecisionStatus = Annotated[str, Choice(lifecycle.DECISION_STATUSES)]
DecisionSummary = Annotated[str, Text(limits.DECISION_SUMMARY_CHARS_MAX)]
DecisionText = Annotated[str, Text(limits.DECISION_CHARS_MAX, blank=True)]
ProjectName = Annotated[str, Trimmed(limits.PROJECT_NAME_CHARS_MAX, blank=True)]
Instructions = Annotated[str, Text(limits.INSTRUCTIONS_CHARS_MAX, blank=True)]
IssueKey = Annotated[str, KeyOfIssues(limits.ISSUE_KEY_CHARS_MAX)]


class ChangesShape(TypedDict):
    title: Title
    description: Description | None
    acceptance_criteria: Criteria | None
    type: IssueType
    priority: Priority
    status: Status
    parent_issue_id: IssueRef | None
    blocked_reason: Reason | None
    labels: Labels
    paths: IssuePaths
    needs: Needs
    reserved_for: AgentName | None


Recipient = Annotated[str, Address(limits.AGENT_NAME_CHARS_MAX + 1 + limits.SESSION_CHARS_MAX)]
MessageText = Annotated[str, Text(limits.MESSAGE_CHARS_MAX)]
MessageKind = Annotated[str, Choice(lifecycle.MESSAGE_KINDS)]
MessageRef = Annotated[int, Numbered(1, limits.NUMBER_MAX)]
SinceMessage = Annotated[int, Numbered(0, limits.NUMBER_MAX)]
DedupeKey = Annotated[str, Text(limits.DEDUPE_KEY_CHARS_MAX)]
Note = Annotated[str, Text(limits.MESSAGE_NOTE_CHARS_MAX)]
Within = Annotated[int, Span(limits.DELAY_SECONDS_MAX)]
InboxLimit = Annotated[int, Whole(1, limits.LIST_MAX)]
TaskReport = Annotated[str, Choice(lifecycle.TASK_REPORTS)]
TaskStates = Annotated[list[str], Many(Choice(lifecycle.TASK_STATES), len(lifecycle.TASK_STATES), unique=True)]
TaskSeconds = Annotated[int, Whole(limits.TASK_LEASE_SECONDS_MIN, limits.TASK_LEASE_SECONDS_MAX)]
Days = Annotated[int, Whole(1, limits.STATS_DAYS_MAX)]
SecondsAgo = Annotated[int, Whole(0, limits.OVERDUE_SECONDS_MAX)]


Query = Annotated[str, Text(limits.QUERY_CHARS_MAX)]
SearchTypes = Annotated[list[str], Many(Choice(lifecycle.SEARCHED), len(lifecycle.SEARCHED), unique=True)]
SnippetChars = Annotated[int, Whole(0, limits.SNIPPET_CHARS_MAX)]


class AcknowledgedShape(TypedDict):
    issue_version: Version
    latest_event_id: EventNumber


Changes = Annotated[dict[str, Any], Patch(ChangesShape)]
Acknowledged = Annotated[dict[str, int], Record(AcknowledgedShape)]
