"""Writing what a survey found: rows in the order in which they refer to each other, then the log.

What happened before an import is told to the log as it was, with its own times and names, so that an issue's story can
be read; at the end of it stands when and by whom it was imported. Numbers of the room - of events, of fences - are
given anew. All of it is one transaction: nothing is half-written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from clearway import wire
from clearway.db import Row, statements
from clearway.lifecycle import PRIORITIES, TERMINAL
from clearway.work import blocking, issues, transfer_survey, updates
from clearway.work import labels as labelling
from clearway.work.transfer_records import HISTORY, PAST, SHAPES, as_past, history_of
from clearway.work.transfer_survey import TOGETHER, Item, Survey, as_value, ordered

if TYPE_CHECKING:
    from clearway.db import Statement
    from clearway.db.tx import Tx

SQL = statements(__file__)
Value = dict[str, Any]
_STORED = {"parent_issue_id": "parent"}
_ATTEMPT = (
    *("id", "issue", "agent", "kind", "status", "issue_version"),
    *("result_summary", "failure_code", "interruption_code", "reason_details"),
)
_TITLE_FIRST = ("title", "description", "acceptance_criteria")

# In which order things of one moment happened.
_MADE, _CHANGED, _RELATED, _SAID, _WORKED, _NOTED, _ASKED, _LOOKED = range(8)


@dataclass(slots=True)
class _Told:
    """One event that is still to be written, and the row that is to know its number."""

    at: int
    rank: int
    place: int
    type: str
    agent: str
    data: Value
    issue: str | None = field(kw_only=True)
    attempt: str | None = field(default=None, kw_only=True)
    known_by: tuple[Statement, str] | None = field(default=None, kw_only=True)


class Writing:
    """One import."""

    def __init__(self, tx: Tx, survey: Survey, source: str) -> None:
        self._tx = tx
        self._survey = survey
        self._source = source  # the name of the format
        self._events: list[_Told] = []
        self._numbers: dict[str, int] = {}
        self._labels: dict[str, str] = {}
        self._parents: dict[str, str] = {}
        self._replaced: list[tuple[Statement, str, str]] = []
        self._recount: set[str] = set()
        self._issues: list[tuple[str, Value, bool]] = []  # what came or changed: id, what is told of it, is it new
        self._touched: set[str] = set()
        self._agents: set[str] = set()
        self._rows: dict[Statement, list[Value]] = {statement: [] for statement in _in_order()}
        self._waiting = 0

    def write(self, items: Iterable[Item]) -> None:
        """Write what the survey did not pass over."""
        self._tx.reach(issue=self._survey.last_number)
        kind = ""
        for count, item in enumerate(items, 1):
            value = SHAPES[item.record].read(item.value, item.path, self._survey.faults, item.line, item.names)
            assert value is not None, item.path  # the survey has read it
            key = value.get("id", value.get("name", "")).lower() if item.record == "label" else value.get("id", "")
            if item.record != kind or self._waiting >= TOGETHER:
                self._flush()
                kind = item.record
            if key not in self._survey.passed[item.record]:
                _WRITES[item.record](self, value, count)
        self._flush()
        for issue, parent in self._parents.items():
            self._put(SQL.adopt_issue, id=issue, parent=parent)
        self._flush()
        for statement, entity, replaced in self._replaced:
            self._tx.change(statement, id=entity, supersedes=replaced)
        for group in _groups(sorted(self._recount)):
            blocking.recount(self._tx, group)
        self._tell()

    def _put(self, statement: Statement, **values: Any) -> None:
        """Write a row together with others of its kind: on a server each journey costs more than the row."""
        self._rows[statement].append(values)
        self._waiting += 1

    def _flush(self) -> None:
        for statement, rows in self._rows.items():
            if rows:
                self._tx.change_each(statement, rows)
                rows.clear()
        self._waiting = 0

    # --- by kind -----------------------------------------------------------------------------------------------------

    def _label(self, value: Value, place: int) -> None:
        del place
        self._label_id(value["name"], value.get("description"), value.get("created_at"))

    def _label_id(self, name: str, description: str | None = None, wall: int | None = None) -> str:
        normal = name.lower()
        known = self._labels.get(normal)
        if known is None:
            row = self._tx.one(labelling.SQL.find, normal=normal)
            known = self._tx.new_id() if row is None else row.id
            if row is None:
                wall = self._tx.wall if wall is None else wall
                self._put(SQL.write_label, id=known, name=name, normal=normal, description=description, wall=wall)
            self._labels[normal] = known
        return known

    def _issue(self, value: Value, place: int) -> None:
        issue = value["id"]
        if issue in self._survey.changed["issue"]:
            self._change(value, place)
            return
        number = self._number_for(value)
        self._numbers[issue] = number
        for label in value.get("labels", ()):
            self._put(labelling.SQL.attach, issue=issue, label=self._label_id(label))
        made = value.get("created_at", self._tx.wall)
        columns = self._columns(value) | {"version": value.get("version", 1)}
        author = self._session(value["created_by"])
        self._put(SQL.write_issue, id=issue, number=number, created_by=author, created_wall=made, **columns)
        self._surround(value)
        told = {"number": number, "title": value["title"], "type": value["type"], "status": value["status"]}
        self._past(
            _Told(made, _MADE, place, "issue_created", value["created_by"], {**told, "imported": True}, issue=issue)
        )
        if "archived_at" in value:
            author = value["created_by"]
            self._past(
                _Told(value["archived_at"], _CHANGED, place, "issue_archived", author, {"imported": True}, issue=issue)
            )
        self._history(value, place, set())
        self._issues.append((issue, {**told, "source": self._source, "imported": True}, True))

    def _change(self, value: Value, place: int) -> None:
        """An issue that is here already, in a version that counts more."""
        issue = value["id"]
        row = self._tx.all(transfer_survey.SQL.issues_named, ids=wire.dumps([issue]))[0]
        before = as_value(row)
        self._numbers[issue] = row.number
        changed = _differences(before, value)
        version = value.get("version", row.version + bool(changed))
        self._tx.change(SQL.update_issue, id=issue, **self._columns(value), version=version)
        self._tx.change(labelling.SQL.detach_all, issue=issue)
        for label in value.get("labels", ()):
            self._put(labelling.SQL.attach, issue=issue, label=self._label_id(label))
        self._tx.change(issues.SQL.forget_paths, issue=issue)
        self._surround(value)
        self._history(value, place, self._stored_history(issue))
        if (before["status"] in TERMINAL) != (value["status"] in TERMINAL) or (
            ("archived_at" in before) != ("archived_at" in value)
        ):
            self._recount.update(near.id for near in self._tx.all(blocking.SQL.around, issue=issue))
        if changed:
            facts: Value = {"changed_fields": changed}
            facts |= {name: value.get(_STORED.get(name, name)) for name in updates.TOLD if name in changed}
            facts |= {"from_status": before["status"]} if "status" in changed else {}
            self._issues.append((issue, {**facts, "source": self._source, "imported": True}, False))
        if ("archived_at" in before) != ("archived_at" in value):
            told = "issue_archived" if "archived_at" in value else "issue_unarchived"
            self._past(
                _Told(self._tx.wall, _CHANGED, place, told, self._tx.caller.agent, {"imported": True}, issue=issue)
            )

    def _number_for(self, value: Value) -> int:
        wanted = self._survey.renumbered.get(value["id"])
        if wanted is not None:
            return wanted[1]
        return value["number"] if "number" in value else self._tx.new_number()

    def _columns(self, value: Value) -> Value:
        needs = value.get("needs")
        updated = value.get("updated_at", value.get("created_at", self._tx.wall))
        closed = value.get("closed_at", updated) if value["status"] in TERMINAL else None
        return {
            "type": value["type"],
            "title": value["title"],
            "description": value.get("description"),
            "acceptance_criteria": value.get("acceptance_criteria"),
            "status": value["status"],
            "priority": PRIORITIES.index(value["priority"]),
            "blocked_reason": value.get("blocked_reason"),
            "needs": wire.dumps(sorted(needs)) if needs else None,
            "updated_wall": updated,
            "closed_wall": closed,
            "archived_wall": value.get("archived_at"),
        }

    def _surround(self, value: Value) -> None:
        if "parent" in value and value["id"] not in self._survey.orphans:
            self._parents[value["id"]] = value["parent"]
        for path in value.get("paths", ()):
            self._put(issues.SQL.declare_path, issue=value["id"], path=path)

    def _stored_history(self, issue: str) -> set[tuple[int, str]]:
        rows = self._tx.all(SQL.history, ids=wire.dumps([issue]), types=wire.dumps([*HISTORY, PAST]))
        return {(row.at, wire.dumps(history_of(row.type, wire.loads(row.data)))) for row in rows}

    def _history(self, value: Value, place: int, here: set[tuple[int, str]]) -> None:
        for each in value.get("history", ()):
            if (each["at"], wire.dumps((each["type"], each["data"]))) not in here:
                told = as_past(each["type"], each["data"])
                self._past(_Told(each["at"], _CHANGED, place, PAST, each["agent"], told, issue=value["id"]))

    def _relation(self, value: Value, place: int) -> None:
        source, target, kind = ordered(value)
        if f"{source} {target} {kind}" in self._survey.passed["relation"]:
            return
        if (source, target, kind) in self._survey.left_apart:
            return
        made = value.get("created_at", self._tx.wall)
        author = self._session(value["created_by"])
        self._put(SQL.write_relation, source=source, target=target, type=kind, created_by=author, wall=made)
        ends = {"relation": kind, "source": source, "target": target, "imported": True}
        for issue in (source, target):
            self._past(_Told(made, _RELATED, place, "relation_added", value["created_by"], ends, issue=issue))
        if kind == "blocks":
            self._recount |= {source, target}

    def _comment(self, value: Value, place: int) -> None:
        self._put(SQL.write_comment, **self._said(value), issue=value["issue"], content=value["content"])
        self._past(
            _Told(
                *(value["created_at"], _SAID, place, "comment_added", value["agent"]),
                {"comment": value["id"], "imported": True},
                issue=value["issue"],
            )
        )

    def _decision(self, value: Value, place: int) -> None:
        if value["id"] in self._survey.changed["decision"]:
            self._tx.change(SQL.settle_decision, id=value["id"], status=value["status"])
            return
        self._put(
            SQL.write_decision,
            **self._said(value),
            issue=value.get("issue"),
            title=value["title"],
            summary=value["summary"],
            content=value.get("content", ""),
            status=value["status"],
            event=-place,
        )
        if "supersedes" in value and value["id"] not in self._survey.alone:
            self._replaced.append((SQL.replace_decision, value["id"], value["supersedes"]))
        self._past(
            _Told(
                *(value["created_at"], _SAID, place, "decision_recorded", value["agent"]),
                {"decision": value["id"], "title": value["title"], "status": value["status"], "imported": True},
                issue=value.get("issue"),
                known_by=(SQL.decision_told, value["id"]),
            )
        )

    def _attempt(self, value: Value, place: int) -> None:
        fence = self._tx.new_fence()
        self._put(
            SQL.write_attempt,
            **{name: value.get(name) for name in _ATTEMPT},
            **{name: wire.dumps(value[name]) if value.get(name) else None for name in ("next_steps", "verification")},
            fence=fence,
            session=self._session(value["agent"]),
            now=self._tx.now,
            started_wall=value["started_at"],
            finished_wall=value["finished_at"],
        )
        of: Value = {"issue": value["issue"], "attempt": value["id"]}
        began: Value = {"kind": value["kind"], "fence": fence, "imported": True}
        self._past(
            _Told(
                *(value["started_at"], _WORKED, 2 * place, "attempt_started", value["agent"], began),
                **of,
                known_by=(SQL.attempt_told, value["id"]),
            )
        )
        ended = f"attempt_{value['status']}"
        self._past(
            _Told(
                value["finished_at"],
                _WORKED,
                2 * place + 1,
                ended,
                value["agent"],
                {"fence": fence, "imported": True},
                **of,
            )
        )

    def _note(self, value: Value, place: int) -> None:
        steps = value.get("next_steps")
        self._put(
            SQL.write_note,
            **{name: value[name] for name in ("id", "attempt", "issue", "kind", "content")},
            next_steps=wire.dumps(steps) if steps else None,
            important=int(value.get("important", False)),
            automatic=int(value.get("automatic", False)),
            wall=value["created_at"],
        )
        if not value.get("automatic"):
            told = "checkpoint_saved" if value["kind"] == "checkpoint" else "attempt_note_saved"
            self._past(
                _Told(
                    *(value["created_at"], _NOTED, place, told, self._author_of(value["attempt"])),
                    {"note": value["id"], "kind": value["kind"], "imported": True},
                    issue=value["issue"],
                    attempt=value["attempt"],
                )
            )

    def _artifact(self, value: Value, place: int) -> None:
        del place
        self._put(
            SQL.write_artifact,
            **{name: value.get(name) for name in ("id", "issue", "attempt", "type", "uri", "title")},
            metadata=wire.dumps(value["metadata"]) if value.get("metadata") else None,
            wall=value["created_at"],
        )

    def _review(self, value: Value, place: int) -> None:
        resolved = value.get("resolved_at")
        state: Value = {
            "status": value["status"],
            "version": value["version"],
            "attempt": value.get("attempt"),
            "findings": value.get("findings"),
            "follow_up": value.get("follow_up"),
            "resolved_event": None if resolved is None else 0,
            "resolved_wall": resolved,
        }
        told: Value = {"review": value["id"], "imported": True}
        if value["id"] in self._survey.changed["review"]:
            self._tx.change(SQL.settle_review, id=value["id"], **state)
        else:
            self._put(
                SQL.write_review,
                **self._said(value),
                **state,
                issue=value["issue"],
                issue_version=value["issue_version"],
                artifacts=wire.dumps(value.get("artifacts", [])),
                event=-place,
            )
            if "supersedes" in value:
                self._replaced.append((SQL.replace_review, value["id"], value["supersedes"]))
            self._past(
                _Told(
                    *(value["created_at"], _ASKED, place, "review_requested", value["agent"], told),
                    issue=value["issue"],
                    known_by=(SQL.review_told, value["id"]),
                )
            )
        if resolved is not None:
            by = value["agent"] if "attempt" not in value else self._author_of(value["attempt"])
            self._past(
                _Told(
                    *(resolved, _LOOKED, place, f"review_{value['status']}", by, told),
                    issue=value["issue"],
                    known_by=(SQL.review_settled, value["id"]),
                )
            )

    # --- who, and what is told ---------------------------------------------------------------------------------------

    def _said(self, value: Value) -> Value:
        agent = value["agent"]
        return {"id": value["id"], "agent": agent, "session": self._session(agent), "wall": value["created_at"]}

    def _author_of(self, attempt: str) -> str:
        row = self._tx.one(SQL.agent_of_attempt, id=attempt)
        return self._tx.caller.agent if row is None else row.agent

    def _session(self, agent: str) -> str:
        """The session that stands for all that somebody did elsewhere. It is over, and nobody is in it."""
        session = f"import:{agent}"
        if agent not in self._agents:
            self._agents.add(agent)
            self._put(SQL.write_session, id=session, agent=agent, now=self._tx.now)
        return session

    def _past(self, told: _Told) -> None:
        self._session(told.agent)
        self._events.append(told)

    def _tell(self) -> None:
        """The past in its order, then what the import has done."""
        self._events.sort(key=lambda each: (each.at, each.rank, each.place))
        for each in self._events:
            event = self._tx.new_event()
            self._put(
                SQL.write_event,
                id=event,
                type=each.type,
                at=each.at,
                issue=each.issue,
                attempt=each.attempt,
                session=f"import:{each.agent}",
                agent=each.agent,
                data=wire.dumps(self._with_names(each)),
            )
            if each.known_by is not None:
                statement, entity = each.known_by
                self._put(statement, id=entity, event=event)
            if each.issue is not None:
                self._touched.add(each.issue)
            if self._waiting >= TOGETHER:
                self._flush()
        self._flush()
        for agent in sorted({each.agent for each in self._events}):  # whom the past names is not here
            by = Row(session=f"import:{agent}", agent=agent)
            self._tx.tell("session_ended", by=by, why="import", imported=True)
        for issue, facts, is_new in self._issues:
            changed: list[str] = facts.get("changed_fields", [])
            self._tx.tell("issue_imported" if is_new else updates.told(changed), issue=issue, **facts)
            self._touched.add(issue)
        for group in _groups(sorted(self._touched)):
            self._tx.change(SQL.note_events, ids=wire.dumps(group))

    def _with_names(self, event: _Told) -> Value:
        if event.type != "relation_added" or not event.data.get("imported"):
            return event.data
        ends = {name: f"ISSUE-{self._number(event.data[name])}" for name in ("source", "target")}
        return event.data | ends

    def _number(self, issue: str) -> int:
        if issue not in self._numbers:
            self._numbers[issue] = self._tx.all(transfer_survey.SQL.known_types, ids=wire.dumps([issue]))[0].number
        return self._numbers[issue]


def _differences(before: Value, after: Value) -> list[str]:
    """The fields that change, in the order in which changes are told."""
    names = (*_TITLE_FIRST, "type", "priority", "status", "blocked_reason", "parent", "labels", "paths", "needs")
    called = {"parent": "parent_issue_id"}
    return [called.get(name, name) for name in names if _plain(before.get(name)) != _plain(after.get(name))]


def _plain(value: Any) -> Any:
    return sorted(cast("list[str]", value)) or None if isinstance(value, list) else value


def _groups(ids: list[str]) -> Iterable[list[str]]:
    return (ids[start : start + TOGETHER] for start in range(0, len(ids), TOGETHER))


def _in_order() -> tuple[Statement, ...]:
    """What is written together, in the order in which it refers to each other. Labels come before their issues, so that
    those are indexed once."""
    return (
        *(SQL.write_session, SQL.write_label, labelling.SQL.attach, SQL.write_issue, issues.SQL.declare_path),
        *(SQL.write_relation, SQL.write_comment, SQL.write_decision, SQL.write_attempt, SQL.write_note),
        *(SQL.write_artifact, SQL.write_review, SQL.write_event),
        *(SQL.adopt_issue, SQL.decision_told, SQL.attempt_told, SQL.review_told, SQL.review_settled),
    )


_WRITES = {
    "label": Writing._label,  # pyright: ignore[reportPrivateUsage]
    "issue": Writing._issue,  # pyright: ignore[reportPrivateUsage]
    "relation": Writing._relation,  # pyright: ignore[reportPrivateUsage]
    "comment": Writing._comment,  # pyright: ignore[reportPrivateUsage]
    "decision": Writing._decision,  # pyright: ignore[reportPrivateUsage]
    "attempt": Writing._attempt,  # pyright: ignore[reportPrivateUsage]
    "note": Writing._note,  # pyright: ignore[reportPrivateUsage]
    "artifact": Writing._artifact,  # pyright: ignore[reportPrivateUsage]
    "review": Writing._review,  # pyright: ignore[reportPrivateUsage]
}
