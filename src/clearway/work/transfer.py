"""Interchange: all of a project's work as one document, and documents of this and other makings as work.

The own format is JSON Lines (docs/reference/interchange.md): it is written and read line by line, whatever its size,
and its lines merge in git. A document has what people and agents have made - no token, no session, no lease, no number
of one room's log. Imports keep ids, so what was imported once is found again; a merge lets the newer version
win, and a second run writes nothing. Nothing is half-written: a document with any fault in it is refused as a whole.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import DOCUMENT_CHARS_MAX, IMPORT_CONFLICTS_SHOWN, ISSUE_KEY
from clearway.op import op
from clearway.untrusted import escaped
from clearway.work import projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from clearway.arguments import Document, DocumentFormat, ImportMode
    from clearway.db import Statement
    from clearway.db.tx import Tx
    from clearway.work.transfer_sources import Source
    from clearway.work.transfer_survey import Item

SQL = statements(__file__)
_PAGE = 500


@op(group="admin")
def export_project(tx: Tx) -> dict[str, Any]:
    """Get all issues and what belongs to them as one document. Of a large project the human exports a file."""
    parts: list[str] = []
    size = 0
    for line in lines(tx):
        size += len(line.encode()) + 1
        if size > DOCUMENT_CHARS_MAX:
            raise Refusal(
                "LIMIT_EXCEEDED",
                f"This project is larger than the {DOCUMENT_CHARS_MAX // 1_048_576} MiB that one reply carries; "
                "clearway project export --output FILE writes it to a file.",
            )
        parts.append(line)
    left = tx.one(SQL.left_out)
    assert left is not None
    document = "\n".join(parts) + "\n"
    return {
        "document": document,
        "counts": wire.loads(parts[-1])["counts"],
        **({"left_out": {"active_attempts": left.attempts}} if left.attempts else {}),
    }


@op(group="admin", rare=("format",))
def validate_import(
    tx: Tx, document: Document, mode: ImportMode = "empty", format: DocumentFormat | None = None
) -> dict[str, Any]:
    """Look at a document without importing it: what would be created, changed, renumbered or left out."""
    return bring(tx, _source(document, format), mode, writes=False)


@op(writes=True, group="admin", rare=("format",))
def apply_import(
    tx: Tx, document: Document, mode: ImportMode = "empty", format: DocumentFormat | None = None
) -> dict[str, Any]:
    """Import a document of export_project, rhizome, beads or GitHub, all or nothing.

    mode: merge lets the newer version win and keeps ids.
    """
    return bring(tx, _source(document, format), mode, writes=True)


def bring(
    tx: Tx, source: Source, mode: str, *, writes: bool, progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Import what a source has to give, or only say what that would do. Refused if anything is wrong with it."""
    from clearway.work.transfer_documents import Faults
    from clearway.work.transfer_survey import Survey
    from clearway.work.transfer_writing import Writing

    faults = Faults()
    survey = Survey(tx, faults, source.called)
    survey.go_through(_counting(source.items(faults), progress))
    faults.refuse()
    size = tx.one(SQL.size)
    assert size is not None
    is_there = bool(size.issues or size.decisions)
    if mode == "empty" and is_there:
        return _not_empty(tx, source, size)
    if writes and (any(survey.created.values()) or any(survey.updated.values())):
        Writing(tx, survey, source.name).write(_counting(source.items(faults), progress))
    if writes:
        _introduce(tx, source.project, whole=not is_there)
    return {
        "applied": writes,
        "format": source.name,
        "created": _counted(survey.created),
        "updated": _counted(survey.updated),
        "unchanged": survey.unchanged,
        **({"newer_here": survey.older} if survey.older else {}),
        "renumbered": [
            {"issue_id": issue, "was": f"ISSUE-{was}", "display_id": f"ISSUE-{number}"}
            for issue, (was, number) in list(survey.renumbered.items())[:IMPORT_CONFLICTS_SHOWN]
        ],
        "conflicts": survey.conflicts.shown,
        **({"left_out": source.left_out[:IMPORT_CONFLICTS_SHOWN]} if source.left_out else {}),
        "latest_event_id": tx.last_event,
    }


def _counting(items: Iterator[Item], progress: Callable[[int], None] | None) -> Iterator[Item]:
    for count, item in enumerate(items, 1):
        if progress is not None and not count % _PAGE:
            progress(count)
        yield item


def writes_anything(found: dict[str, Any]) -> bool:
    """Whether what `bring` said, or would say, changes the room."""
    return bool(found["created"] or found["updated"])


def _not_empty(tx: Tx, source: Source, size: Row) -> dict[str, Any]:
    counted = (("issue", size.issues), ("decision", size.decisions))
    has = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counted if count]
    message = f"the project has {' and '.join(has)} already; mode merge adds to that"
    return {
        "applied": False,
        "format": source.name,
        "created": {},
        "updated": {},
        "unchanged": 0,
        "renumbered": [],
        "conflicts": [{"code": "empty_destination_required", "message": message}],
        "latest_event_id": tx.last_event,
    }


def _introduce(tx: Tx, project: dict[str, Any], *, whole: bool) -> None:
    """What the project is called and what is asked of all, where nobody has said so here. whole: it begins with this
    document, and has its word for issues, too."""
    stored = tx.one(projects.SQL.show)
    assert stored is not None
    given: dict[str, Any] = {}
    for name in ("name", "instructions"):
        if project.get(name) and not stored[name]:
            given[name] = project[name]
    if whole and stored.issue_key == ISSUE_KEY and project.get("key", ISSUE_KEY) != ISSUE_KEY:
        given["key"] = project["key"]
    if given:
        projects.update_project(tx, **given)


def _counted(counts: dict[str, int]) -> dict[str, int]:
    return {f"{name}s": count for name, count in counts.items() if count}


def _source(document: Any, form: str | None) -> Source:
    import io

    from clearway.work.transfer_documents import Text
    from clearway.work.transfer_sources import source_of

    raw = (document if isinstance(document, str) else wire.dumps(document)).encode("utf-8", "surrogatepass")
    return source_of(Text(lambda: io.BytesIO(raw)), form)


# --- writing a document ---------------------------------------------------------------------------------------------


def lines(tx: Tx) -> Iterator[str]:
    """The document, line by line, without the ends of lines."""
    from clearway.work.transfer_records import FORMAT, ORDER, VERSION

    room = tx.one(projects.SQL.show)
    assert room is not None
    project = {"id": tx.project_id, "name": room.name, "key": room.issue_key, "instructions": room.instructions}
    project = {name: value for name, value in project.items() if value}
    yield _line({"format": FORMAT, "version": VERSION, "project": project})
    counts = dict.fromkeys(ORDER, 0)
    for kind in ORDER:
        for value in _RECORDS[kind](tx):
            counts[kind] += 1
            yield _line({"record": kind, **value})
    yield _line({"record": "end", "counts": counts})


def _line(value: dict[str, Any]) -> str:
    """What cannot be seen, or is taken for the end of a line, is written by its number: so it comes through a surface
    that shows such letters to a model as it was."""
    return escaped(wire.dumps(value))


def _labels(tx: Tx) -> Iterator[dict[str, Any]]:
    after = ""
    while rows := tx.all(SQL.labels, after=after, limit=_PAGE):
        after = rows[-1].normal
        for row in rows:
            yield _written({"name": row.name, "description": row.description, "created_at": row.created_wall})


def _issues(tx: Tx) -> Iterator[dict[str, Any]]:
    from clearway.work import transfer_survey, transfer_writing
    from clearway.work.transfer_records import HISTORY, PAST, history_of
    from clearway.work.transfer_survey import as_value

    after = ""
    types = wire.dumps([*HISTORY, PAST])
    while page := tx.all(SQL.issues, after=after, limit=_PAGE):
        after = page[-1].id
        ids = wire.dumps([row.id for row in page])
        past: dict[str, list[dict[str, Any]]] = {}
        for event in tx.all(transfer_writing.SQL.history, ids=ids, types=types):
            told, data = history_of(event.type, wire.loads(event.data))
            past.setdefault(event.issue, []).append({"type": told, "at": event.at, "agent": event.agent, "data": data})
        for row in tx.all(transfer_survey.SQL.issues_named, ids=ids):
            history = sorted(past.get(row.id, ()), key=lambda each: (each["at"], each["type"], wire.dumps(each)))
            value = _written(as_value(row))
            yield {**value, "history": [_written(each) for each in history]} if history else value


def _relations(tx: Tx) -> Iterator[dict[str, Any]]:
    source = target = kind = ""
    while rows := tx.all(SQL.relations, source=source, target=target, type=kind, limit=_PAGE):
        source, target, kind = rows[-1].source, rows[-1].target, rows[-1].type
        for row in rows:
            yield _written(
                {name: row[name] for name in ("type", "source", "target", "created_by")}
                | {"created_at": row.created_wall}
            )


def _by_id(named: Callable[[], Statement]) -> Callable[[Tx], Iterator[dict[str, Any]]]:
    def rows_of(tx: Tx) -> Iterator[dict[str, Any]]:
        after = ""
        while rows := tx.all(named(), after=after, limit=_PAGE):
            after = rows[-1].id
            for row in rows:
                yield _written(_renamed(row))

    return rows_of


_JSON = frozenset({"next_steps", "verification", "artifacts", "metadata"})
_FLAGS = frozenset({"important", "automatic"})


def _renamed(row: Row) -> dict[str, Any]:
    """A row as a record has it: `*_wall` is called `*_at`, lists are lists, what says nothing is left out."""
    value: dict[str, Any] = {}
    for name, item in vars(row).items():
        if name in _JSON:
            item = wire.loads(item) if item else None
        elif name in _FLAGS:
            item = True if item else None
        if item is not None and item != [] and (name != "content" or item):
            value[name.replace("_wall", "_at")] = item
    return value


def _written(value: dict[str, Any]) -> dict[str, Any]:
    from clearway.work.transfer_records import moment

    return {
        name: moment(item) if (name == "at" or name.endswith("_at")) and isinstance(item, int) else item
        for name, item in value.items()
        if item is not None
    }


_RECORDS: dict[str, Callable[[Tx], Iterator[dict[str, Any]]]] = {
    "label": _labels,
    "issue": _issues,
    "relation": _relations,
    "comment": _by_id(lambda: SQL.comments),  # the file of statements is read when somebody exports
    "decision": _by_id(lambda: SQL.decisions),
    "attempt": _by_id(lambda: SQL.attempts),
    "note": _by_id(lambda: SQL.notes),
    "artifact": _by_id(lambda: SQL.artifacts),
    "review": _by_id(lambda: SQL.reviews),
}
