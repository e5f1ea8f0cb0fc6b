"""What the arguments of an operation may be: the checks of the door, and the JSON Schema, drawn from its signature.

A noun annotates its operations with the names at the end of this module, each a kind (kinds.py) with its bounds. From
the signature follow the check of every call, the schema that a model reads, and the options of the command line.
Modules that a hook loads import this one for type checking only; it is loaded when a surface asks.
"""

from __future__ import annotations

import os
import sys

from clearway import lifecycle, limits
from clearway.annotating import Annotated, NotRequired, TypedDict
from clearway.clock import Clock
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.kinds import (
    Ability as Ability,
)
from clearway.kinds import (
    Address as Address,
)
from clearway.kinds import (
    ArtifactRecord as ArtifactRecord,
)
from clearway.kinds import (
    ArtifactUri as ArtifactUri,
)
from clearway.kinds import (
    Choice as Choice,
)
from clearway.kinds import (
    DocumentText as DocumentText,
)
from clearway.kinds import (
    Flag as Flag,
)
from clearway.kinds import (
    FreeObject as FreeObject,
)
from clearway.kinds import (
    KeyOfIssues as KeyOfIssues,
)
from clearway.kinds import (
    Kind as Kind,
)
from clearway.kinds import (
    Many as Many,
)
from clearway.kinds import (
    Moment as Moment,
)
from clearway.kinds import (
    NameOfAgent as NameOfAgent,
)
from clearway.kinds import (
    Numbered as Numbered,
)
from clearway.kinds import (
    Patch as Patch,
)
from clearway.kinds import (
    PathText as PathText,
)
from clearway.kinds import (
    Problem as Problem,
)
from clearway.kinds import (
    Record as Record,
)
from clearway.kinds import (
    RepositoryPath as RepositoryPath,
)
from clearway.kinds import (
    Span as Span,
)
from clearway.kinds import (
    Text as Text,
)
from clearway.kinds import (
    Trimmed as Trimmed,
)
from clearway.kinds import (
    Where as Where,
)
from clearway.kinds import (
    Whole as Whole,
)
from clearway.kinds import (
    kind_of,
)
from clearway.op import Operation
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clearway.repository import Place
else:
    Any = Place = object

_NAME_CHARS, _UNKNOWN_SHOWN = 64, 20  # of arguments that do not exist: they may be anything
_TOO_MUCH = frozenset({"MAX_RUNES", "MAX_ITEMS", "MAX_BYTES"})


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

    __slots__ = ("parameters", "required", "takes_paths")

    def __init__(self, operation: Operation) -> None:
        about = abouts(operation.function)
        names = {**vars(sys.modules[__name__]), **vars(sys.modules[operation.function.__module__])}
        self.parameters = {
            name: _parameter(name, hint, default, names, about.get(name, ""))
            for name, (hint, default) in _signature(operation.function).items()
            if name != "tx"
        }
        self.required = [name for name, parameter in self.parameters.items() if parameter.required]
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
    unknown: list[str] = []
    for name, value in given.items():
        parameter = expected.parameters.get(name)
        if parameter is None:
            unknown.append(name)
            continue
        try:
            values[name] = parameter.kind.check(value, name, where)
        except Problem as problem:
            problems.append(problem)
    problems += [Problem(name, "REQUIRED", "is required") for name in expected.required if name not in given]
    for name in unknown[:_UNKNOWN_SHOWN]:
        problems.append(Problem(folded(name, _NAME_CHARS), "UNSUPPORTED", f"is not an argument of {operation.name}"))
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
    return Parameter(name, kind_of(hint), required=not default, default=default[0] if default else None, about=about)


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
ListView = Annotated[str, Choice(("compact", "full"))]
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
    title: NotRequired[Annotated[str, Text(limits.ARTIFACT_TITLE_CHARS_MAX)]]
    metadata: NotRequired[Annotated[dict[str, Any], FreeObject(limits.ARTIFACT_METADATA_BYTES_MAX)]]


Artifacts = Annotated[list[ArtifactShape], Many(ArtifactRecord(ArtifactShape), limits.ARTIFACTS_MAX)]


Document = Annotated[str, DocumentText(limits.DOCUMENT_CHARS_MAX)]
ImportMode = Annotated[str, Choice(("empty", "merge"))]
DocumentFormat = Annotated[str, Choice(("clearway", "rhizome", "beads", "github", "markdown"))]
IssuePaths = Annotated[list[str], Many(RepositoryPath(limits.PATH_CHARS_MAX), limits.ISSUE_PATHS_MAX, unique=True)]
AgentName = Annotated[str, NameOfAgent(limits.AGENT_NAME_CHARS_MAX)]
Version = Annotated[int, Whole(1, limits.NUMBER_MAX)]
CostBy = Annotated[str, Choice(("issue", "agent", "model", "attempt", "task"))]
Dollars = Annotated[str, Text(20)]
ModelName = Annotated[str, Text(limits.MODEL_CHARS_MAX, blank=True)]
Since = Annotated[str, Text(40)]
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
    labels: Labels | None
    paths: IssuePaths | None
    needs: Needs | None
    reserved_for: AgentName | None


Recipient = Annotated[str, Address(limits.AGENT_NAME_CHARS_MAX + 1 + limits.SESSION_CHARS_MAX)]
MessageText = Annotated[str, Text(limits.MESSAGE_CHARS_MAX)]
MessageKind = Annotated[str, Choice(lifecycle.MESSAGE_KINDS)]
MessageRef = Annotated[int, Numbered(1, limits.NUMBER_MAX)]
SinceMessage = Annotated[int, Numbered(0, limits.NUMBER_MAX)]
DedupeKey = Annotated[str, Text(limits.DEDUPE_KEY_CHARS_MAX)]
Note = Annotated[str, Text(limits.MESSAGE_NOTE_CHARS_MAX)]
Within = Annotated[int, Span(limits.DELAY_SECONDS_MAX)]
QuotaEnd = Annotated[int, Moment(limits.QUOTA_SECONDS_MAX)]
QuotaSource = Annotated[str, Choice(lifecycle.QUOTA_SOURCES)]
AgentNames = Annotated[list[str], Many(NameOfAgent(limits.AGENT_NAME_CHARS_MAX), limits.LIST_MAX, least=1, unique=True)]
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
