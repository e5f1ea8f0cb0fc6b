"""The records of an interchange document: what each has, what each field may be, and the sign that ends it.

The format is JSON Lines: a header, the records in the order in which they refer to each other, and a last line that
counts them, so a document that was cut off is known by its missing end. A record is judged as a whole; what is wrong
with each of its fields is told at once.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from clearway import clock, lifecycle, limits
from clearway.arguments import (
    Ability,
    ArtifactUri,
    Choice,
    Flag,
    FreeObject,
    KeyOfIssues,
    Kind,
    Many,
    Problem,
    RepositoryPath,
    Text,
    Trimmed,
    Where,
    Whole,
)
from clearway.clock import Clock
from clearway.untrusted import folded
from clearway.wire import dumps, is_broken
from clearway.work.transfer_documents import Faults

FORMAT = "clearway"
VERSION = 1
ORDER: tuple[str, ...] = ("label", "issue", "relation", "comment", "decision", "attempt", "note", "artifact", "review")
ENDED = tuple(status for status in lifecycle.ATTEMPT_STATUSES if status != "active")
REVIEWS = tuple(status for status in lifecycle.REVIEW_STATUSES if status != "claimed")
# What an issue's history tells besides what its records tell already.
HISTORY = (*("issue_updated", "status_changed", "labels_changed", "issue_archived", "issue_unarchived", "commit_made"),)
# As what they are told where they were imported: nobody takes them for something that happens now.
PAST = "past_change"

_NAME_CHARS = 64
_WHERE = Where("", Clock())
_DATA_BYTES_MAX = 65_536
_COUNT_MAX = 1_000_000_000  # of numbers and versions: here they go on from what a document says
_WALL_MAX = 253_402_300_799_999  # the end of the year 9999


class Id(Kind):
    """A ULID."""

    def check(self, value: Any, field: str, where: Where) -> str:
        if not isinstance(value, str) or not clock.is_id(value):
            raise Problem(field, "INVALID_ULID", "must be an id of 26 characters")
        return value


class Moment(Kind):
    """A time as RFC 3339 writes it; in milliseconds."""

    def check(self, value: Any, field: str, where: Where) -> int:
        try:
            if not isinstance(value, str) or len(value) < 19 or value[10] not in "Tt ":
                raise ValueError(value)
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            wall = round(moment.timestamp() * 1_000)
        except (ValueError, OverflowError):
            raise Problem(field, "INVALID_VALUE", "must be a time such as 2026-11-01T08:00:00Z") from None
        if not 0 <= wall <= _WALL_MAX:
            raise Problem(field, "OUT_OF_RANGE", "must be a time from 1970 to 9999")
        return wall


class Facts(Kind):
    """What an event tells, as an object."""

    def check(self, value: Any, field: str, where: Where) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Problem(field, "INVALID_VALUE", "must be an object")
        facts = cast("dict[str, Any]", value)
        if is_broken(facts):
            raise Problem(field, "INVALID_UTF8", "must be valid Unicode")
        text = dumps(facts)
        if "\\u0000" in text:
            raise Problem(field, "NUL_NOT_ALLOWED", "must not contain NUL")
        if len(text) > _DATA_BYTES_MAX:
            raise Problem(field, "MAX_BYTES", f"must have at most {_DATA_BYTES_MAX} bytes")
        return facts


class Part(Kind):
    """An object with fields of its own."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def check(self, value: Any, field: str, where: Where) -> dict[str, Any]:
        faults = Faults()
        found = self.shape.read(value, field, faults)
        if found is None:
            first = faults.details[0]
            raise Problem(first["field"], first["code"], first["message"])
        return found


class Shape:
    """The fields of one kind of record. Those in `optional` may be left out."""

    def __init__(self, fields: dict[str, Kind], optional: str = "") -> None:
        self.fields = fields
        self.required = frozenset(fields) - frozenset(optional.split())

    def read(
        self, value: Any, path: str, faults: Faults, line: int = 0, names: dict[str, str] | None = None
    ) -> dict[str, Any] | None:
        """The fields as they are stored, or None when something is wrong. names: what fields are called where the
        record comes from."""
        if not isinstance(value, dict):
            faults.add(path, "INVALID_VALUE", "must be an object", line)
            return None
        given = cast("dict[str, Any]", value)
        before = faults.count
        called = names or {}
        found: dict[str, Any] = {}
        for name, item in given.items():
            kind = self.fields.get(name)
            if kind is None:
                if name != "record":
                    faults.add(f"{path}.{folded(name, _NAME_CHARS)}", "UNSUPPORTED", "is not a field of it", line)
            elif item is not None:
                try:
                    found[name] = kind.check(item, f"{path}.{called.get(name, name)}", _WHERE)
                except Problem as problem:
                    faults.add(problem.field, problem.code, problem.message, line)
        for name in sorted(self.required):
            if given.get(name) is None:
                faults.add(f"{path}.{called.get(name, name)}", "REQUIRED", "is required", line)
        return found if faults.count == before else None


_ID = Id()
_AT = Moment()
_AGENT = Text(limits.AGENT_NAME_CHARS_MAX + _NAME_CHARS)
_TITLE = Text(limits.TITLE_CHARS_MAX)
_STEPS = Many(Text(limits.STEP_CHARS_MAX), limits.STEPS_MAX)
_VERSION = Whole(1, _COUNT_MAX)
_PAST = Part(Shape({"type": Choice(HISTORY), "at": _AT, "agent": _AGENT, "data": Facts()}))

HEADER = Shape(
    {
        "format": Text(_NAME_CHARS),
        "version": Whole(0, limits.NUMBER_MAX),
        "project": Part(
            Shape(
                {
                    "id": _ID,
                    "name": Trimmed(limits.PROJECT_NAME_CHARS_MAX, blank=True),
                    "key": KeyOfIssues(limits.ISSUE_KEY_CHARS_MAX),
                    "instructions": Text(limits.INSTRUCTIONS_CHARS_MAX, blank=True),
                },
                optional="name key instructions",
            )
        ),
    },
)

SHAPES = {
    "label": Shape(
        {
            "name": Trimmed(limits.LABEL_CHARS_MAX),
            "description": Text(limits.LABEL_DESCRIPTION_CHARS_MAX, blank=True),
            "created_at": _AT,
        },
        optional="description created_at",
    ),
    "issue": Shape(
        {
            "id": _ID,
            "number": Whole(1, _COUNT_MAX),
            "type": Choice(lifecycle.TYPES),
            "title": _TITLE,
            "description": Text(limits.DESCRIPTION_CHARS_MAX, blank=True),
            "acceptance_criteria": Text(limits.CRITERIA_CHARS_MAX, blank=True),
            "status": Choice(lifecycle.STATUSES),
            "priority": Choice(lifecycle.PRIORITIES),
            "parent": _ID,
            "blocked_reason": Text(limits.REASON_CHARS_MAX),
            "labels": Many(Trimmed(limits.LABEL_CHARS_MAX), limits.LABELS_PER_ISSUE_MAX, unique=True),
            "paths": Many(RepositoryPath(limits.PATH_CHARS_MAX), limits.ISSUE_PATHS_MAX, unique=True),
            "needs": Many(Ability(limits.LABEL_CHARS_MAX), limits.NEEDS_MAX, unique=True),
            "version": _VERSION,
            "created_by": _AGENT,
            "created_at": _AT,
            "updated_at": _AT,
            "closed_at": _AT,
            "archived_at": _AT,
            "history": Many(_PAST, limits.IMPORT_HISTORY_MAX),
        },
        optional="number description acceptance_criteria parent blocked_reason labels paths needs version created_at "
        "updated_at closed_at archived_at history",
    ),
    "relation": Shape(
        {
            "type": Choice(lifecycle.RELATIONS),
            "source": _ID,
            "target": _ID,
            "created_by": _AGENT,
            "created_at": _AT,
        },
        optional="created_at",
    ),
    "comment": Shape(
        {"id": _ID, "issue": _ID, "agent": _AGENT, "content": Text(limits.COMMENT_CHARS_MAX), "created_at": _AT}
    ),
    "decision": Shape(
        {
            "id": _ID,
            "issue": _ID,
            "title": _TITLE,
            "summary": Text(limits.DECISION_SUMMARY_CHARS_MAX),
            "content": Text(limits.DECISION_CHARS_MAX, blank=True),
            "status": Choice(lifecycle.DECISION_STATUSES),
            "supersedes": _ID,
            "agent": _AGENT,
            "created_at": _AT,
        },
        optional="issue content supersedes",
    ),
    "attempt": Shape(
        {
            "id": _ID,
            "issue": _ID,
            "agent": _AGENT,
            "kind": Choice(tuple(lifecycle.CLAIM_KIND.values())),
            "status": Choice(ENDED),
            "issue_version": _VERSION,
            "started_at": _AT,
            "finished_at": _AT,
            "result_summary": Text(limits.SUMMARY_CHARS_MAX),
            "next_steps": _STEPS,
            "verification": _STEPS,
            "failure_code": Choice(lifecycle.FAILURE_CODES),
            "interruption_code": Choice(lifecycle.INTERRUPTION_CODES),
            "reason_details": Text(limits.REASON_CHARS_MAX),
        },
        optional="result_summary next_steps verification failure_code interruption_code reason_details",
    ),
    "note": Shape(
        {
            "id": _ID,
            "attempt": _ID,
            "issue": _ID,
            "kind": Choice(lifecycle.NOTE_KINDS),
            "content": Text(limits.NOTE_CHARS_MAX),
            "next_steps": _STEPS,
            "important": Flag(),
            "automatic": Flag(),
            "created_at": _AT,
        },
        optional="next_steps important automatic",
    ),
    "artifact": Shape(
        {
            "id": _ID,
            "issue": _ID,
            "attempt": _ID,
            "type": Choice(lifecycle.ARTIFACT_TYPES),
            "uri": ArtifactUri(limits.ARTIFACT_URI_CHARS_MAX),
            "title": Text(limits.ARTIFACT_TITLE_CHARS_MAX),
            "metadata": FreeObject(limits.ARTIFACT_METADATA_BYTES_MAX),
            "created_at": _AT,
        },
        optional="attempt title metadata",
    ),
    "review": Shape(
        {
            "id": _ID,
            "issue": _ID,
            "issue_version": _VERSION,
            "artifacts": Many(_ID, limits.REVIEW_ARTIFACTS_MAX, unique=True),
            "status": Choice(REVIEWS),
            "version": _VERSION,
            "supersedes": _ID,
            "attempt": _ID,
            "findings": Text(limits.SUMMARY_CHARS_MAX),
            "follow_up": _ID,
            "agent": _AGENT,
            "created_at": _AT,
            "resolved_at": _AT,
        },
        optional="artifacts supersedes attempt findings follow_up resolved_at",
    ),
}


def moment(wall: int) -> str:
    """A time to the millisecond, as documents have it."""
    return f"{clock.iso(wall)[:-1]}.{wall % 1_000:03}Z"


def history_of(told: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """An event of an issue's history as it was where it happened: its type, and what it told."""
    if told != PAST:
        return told, data
    inner = data.get("data")
    if len(data) == 2 and isinstance(inner, dict) and "told" in inner:
        return data["told"], cast("dict[str, Any]", inner)
    return data["told"], {name: value for name, value in data.items() if name != "told"}


def as_past(told: str, data: dict[str, Any]) -> dict[str, Any]:
    """The same as it is told where it was imported: its type stands with the rest, unless that has the word, too."""
    return {"told": told, "data": data} if "told" in data else {"told": told, **data}
