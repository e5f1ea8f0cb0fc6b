"""What a plan may hold, as kinds of arguments.

A plan is judged as a whole, so a wrong entry does not end the judging: each entry arrives as what of it can be read and
what cannot. `work/plans.py` says what is wrong with it all.
"""

from __future__ import annotations

from clearway import arguments, limits
from clearway.annotating import Annotated, NotRequired, TypedDict, cast
from clearway.arguments import Choice, Kind, Problem, Record, Text, Where, Yes
from clearway.lifecycle import RELATIONS
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES_SHOWN = 20  # of fields that do not exist: they may be anything
_NAME_CHARS = 64


class Draft(TypedDict):
    """One entry: the fields that can be read, and (field, code, message) of those that cannot."""

    given: dict[str, Any]
    problems: list[tuple[str, str, str]]


class Drafts(Kind):
    """Entries of one shape. One more than `most` is handed on, so that too many can be told from enough. shown: a model
    is told the shape; rare: fields that are taken, and of which it is not told."""

    def __init__(self, shape: Any, most: int, *, shown: bool, rare: tuple[str, ...] = ()) -> None:
        self._shape = shape
        self._known: Record | None = None
        self.most = most
        self._shown = shown
        self._rare = rare

    @property
    def record(self) -> Record:
        """Drawn when it is first needed: every command loads this, and few plan."""
        if self._known is None:
            self._known = Record(self._shape)
        return self._known

    def check(self, value: Any, field: str, where: Where) -> list[Draft]:
        if not isinstance(value, list):
            raise Problem(field, "INVALID_VALUE", "must be a list")
        return [self._draft(item, where) for item in cast("list[Any]", value)[: self.most + 1]]

    def schema(self) -> dict[str, Any]:
        if not self._shown:
            return {"type": "array", "items": {"type": "object"}}
        shape = self.record.schema()
        del shape["additionalProperties"]  # any other field is refused by its name
        for name in self._rare:
            del shape["properties"][name]
        return {"type": "array", "items": shape}

    def _draft(self, item: Any, where: Where) -> Draft:
        if not isinstance(item, dict):
            return {"given": {}, "problems": [("", "INVALID_VALUE", "must be an object")]}
        entry = {name: value for name, value in cast("dict[str, Any]", item).items() if value is not None}
        draft: Draft = {"given": {}, "problems": []}
        unknown = [name for name in entry if name not in self.record.fields]
        for name in unknown[:_NAMES_SHOWN]:
            draft["problems"].append((folded(str(name), _NAME_CHARS), "UNSUPPORTED", "is not a field of this object"))
        draft["problems"] += [
            (name, "REQUIRED", "is required") for name in self.record.required if entry.get(name) is None
        ]
        for name, kind in self.record.fields.items():
            if name in entry:
                try:
                    draft["given"][name] = kind.check(entry[name], name, where)
                except Problem as problem:
                    draft["problems"].append((problem.field, problem.code, problem.message))
        return draft


Ref = Annotated[str, Text(limits.PLAN_REF_CHARS_MAX)]
Relation = Annotated[str, Choice(RELATIONS)]


class IssueShape(TypedDict):
    ref: NotRequired[Ref]
    title: arguments.Title
    type: NotRequired[arguments.IssueType]
    description: NotRequired[arguments.Description]
    acceptance_criteria: NotRequired[arguments.Criteria]
    status: NotRequired[arguments.Status]
    priority: NotRequired[arguments.Priority]
    parent_ref: NotRequired[Ref]
    blocked_reason: NotRequired[arguments.Reason]
    labels: NotRequired[arguments.Labels]
    create_missing_labels: NotRequired[Yes]
    paths: NotRequired[arguments.IssuePaths]
    needs: NotRequired[arguments.Needs]
    reserved_for: NotRequired[arguments.AgentName]


class RelationShape(TypedDict):
    source_ref: Ref
    target_ref: Ref
    type: NotRequired[Relation]


class DecisionShape(TypedDict):
    title: arguments.Title
    summary: arguments.DecisionSummary
    content: NotRequired[arguments.DecisionText]
    issue_ref: NotRequired[Ref]
    status: NotRequired[arguments.DecisionStatus]
    supersedes_id: NotRequired[arguments.DecisionRef]


_RARE = ("create_missing_labels", "blocked_reason", "reserved_for")
PlanIssues = Annotated[list[Draft], Drafts(IssueShape, limits.PLAN_ISSUES_MAX, shown=True, rare=_RARE)]
PlanRelations = Annotated[list[Draft], Drafts(RelationShape, limits.PLAN_RELATIONS_MAX, shown=True)]
PlanDecisions = Annotated[list[Draft], Drafts(DecisionShape, limits.PLAN_DECISIONS_MAX, shown=True, rare=("status",))]
# The same, for the tool that only looks: a model reads the shape once.
JudgedIssues = Annotated[list[Draft], Drafts(IssueShape, limits.PLAN_ISSUES_MAX, shown=False)]
JudgedRelations = Annotated[list[Draft], Drafts(RelationShape, limits.PLAN_RELATIONS_MAX, shown=False)]
JudgedDecisions = Annotated[list[Draft], Drafts(DecisionShape, limits.PLAN_DECISIONS_MAX, shown=False)]
