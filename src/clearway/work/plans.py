"""A plan: many issues, their relations and decisions, made at once or not at all.

Entries name each other by local refs, in any order, and issues that exist by their ids. `validate_issue_plan` says
everything that is wrong and writes nothing; `apply_issue_plan` judges again in its own transaction, so what it makes is
what was judged. A plan makes; it changes no issue that exists, except by relating it.
"""

from __future__ import annotations

from clearway import clock, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import TERMINAL
from clearway.limits import (
    ISSUE_KEY,
    PLAN_DECISIONS_MAX,
    PLAN_ERRORS_SHOWN,
    PLAN_ISSUES_MAX,
    PLAN_LABELS_MAX,
    PLAN_RELATIONS_MAX,
)
from clearway.op import op
from clearway.untrusted import quoted
from clearway.work import blocking
from clearway.work import decisions as deciding
from clearway.work import issues as stored
from clearway.work import labels as labelling
from clearway.work import relations as relating

# Not only for type checking: the schema of both operations is drawn from these.
from clearway.work.planshapes import (
    Draft,
    JudgedDecisions,
    JudgedIssues,
    JudgedRelations,
    PlanDecisions,
    PlanIssues,
    PlanRelations,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
_MOST = {"issues": PLAN_ISSUES_MAX, "relations": PLAN_RELATIONS_MAX, "decisions": PLAN_DECISIONS_MAX}
_KEPT_APART = ("ref", "parent_ref", "labels", "create_missing_labels")  # of an issue: what create_issue is not given


@op(group="plan")
def validate_issue_plan(
    tx: Tx,
    issues: JudgedIssues | None = None,
    relations: JudgedRelations | None = None,
    decisions: JudgedDecisions | None = None,
) -> dict[str, Any]:
    """Say everything that is wrong with a plan, and write nothing. Takes what apply_issue_plan takes."""
    plan = _judged(tx, issues, relations, decisions)
    return {
        "valid": not plan.errors,
        "errors": plan.errors[:PLAN_ERRORS_SHOWN],
        "warnings": plan.warnings,
        "summary": plan.summary(),
    }


@op(writes=True, group="plan", keyed="agent", key_required=True)
def apply_issue_plan(
    tx: Tx,
    issues: PlanIssues | None = None,
    relations: PlanRelations | None = None,
    decisions: PlanDecisions | None = None,
) -> dict[str, Any]:
    """Make many issues, relations and decisions at once, or none. A ref is a name that you choose, or an ISSUE-42."""
    plan = _judged(tx, issues, relations, decisions)
    if plan.errors:
        first, more = plan.errors[0], len(plan.errors) - 1
        also = f" ({more} more in details)" if more else ""
        raise Refusal(
            "VALIDATION_ERROR",
            f"Nothing was made: {first['field']} {first['message']}{also}.",
            plan.errors[:PLAN_ERRORS_SHOWN],
        )
    made = _make_issues(tx, plan)
    rows: dict[str, Row] = {}

    def row(end: str) -> Row:
        id = made[end]["issue_id"] if end in made else end
        if id not in rows:
            rows[id] = stored.find(tx, id)
        return rows[id]

    for source, target, kind in plan.relations:
        relating.relate(tx, row(source), row(target), kind)
    for given, end in plan.decisions:
        deciding.record(
            tx,
            title=given["title"],
            summary=given["summary"],
            content=given.get("content", ""),
            issue=None if end is None else row(end),
            status=given.get("status", "active"),
            supersedes=given.get("supersedes_id"),
        )
    return {
        "created": {plan.name(place): made[_new(place)] for place in range(len(plan.issues))},
        "relations": len(plan.relations),
        "decisions": len(plan.decisions),
        "latest_event_id": tx.last_event,
    }


def _make_issues(tx: Tx, plan: _Plan) -> dict[str, dict[str, str]]:
    """The new issues: epics before what is below them, otherwise in the order of the plan."""
    made: dict[str, dict[str, str]] = {}
    for place in sorted(range(len(plan.issues)), key=lambda place: plan.issues[place].get("type") != "epic"):
        given = plan.issues[place]
        fields = {name: value for name, value in given.items() if name not in _KEPT_APART}
        parent = plan.parents.get(place)
        if parent is not None:
            fields["parent_issue_id"] = made[parent]["issue_id"] if parent in made else parent
        reply = stored.create_issue(tx, **fields)
        made[_new(place)] = {"issue_id": reply["issue_id"], "display_id": reply["display_id"]}
    for create in (True, False):  # whoever makes no labels may use those that others make
        for place, given in enumerate(plan.issues):
            if given.get("create_missing_labels", True) == create:
                labelling.attach(tx, made[_new(place)]["issue_id"], given.get("labels", []), create=create)
    return made


def _judged(tx: Tx, issues: list[Draft] | None, relations: list[Draft] | None, decisions: list[Draft] | None) -> _Plan:
    plan = _Plan(tx)
    if not (issues or relations or decisions):
        plan.fault("issues", None, "", "REQUIRED", "is required: there is nothing in this plan")
    plan.read_issues(plan.entries("issues", issues))
    plan.read_relations(plan.entries("relations", relations))
    plan.read_decisions(plan.entries("decisions", decisions))
    plan.errors.sort(key=lambda error: (error.get("index", -1), error["field"], error["code"]))
    if plan.issues and not plan.errors and not plan.summary()["claimable"]:
        plan.warn(
            "issues", "NOTHING_CLAIMABLE", "none of them can be taken as it is; give status ready to where to begin"
        )
    return plan


class _Plan:
    """What a plan makes, and all that is wrong with it. An end of a relation is the id of an issue that exists, or
    stands for a new one by its place."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.errors: list[dict[str, Any]] = []
        self.warnings: list[dict[str, Any]] = []
        self.issues: list[dict[str, Any]] = []
        self.parents: dict[int, str] = {}
        self.relations: list[tuple[str, str, str]] = []
        self.decisions: list[tuple[dict[str, Any], str | None]] = []
        self._refs: dict[str, int] = {}
        self._known: dict[str, Row | None] = {}

    def name(self, place: int) -> str:
        """How the reply calls a new issue."""
        return str(self.issues[place].get("ref", f"issues[{place}]"))

    def summary(self) -> dict[str, int]:
        """What would be made, and how much of it could be taken at once."""
        waiting = {target for source, target, kind in self.relations if kind == "blocks" and self._holds_up(source)}
        ready = [
            place
            for place, given in enumerate(self.issues)
            if given.get("status") == "ready" and given.get("type") != "epic" and _new(place) not in waiting
        ]
        return {
            "issues": len(self.issues),
            "relations": len(self.relations),
            "decisions": len(self.decisions),
            "claimable": len(ready),
        }

    def warn(self, field: str, code: str, message: str) -> None:
        self.warnings.append({"field": field, "code": code, "message": message})

    def entries(self, name: str, drafts: list[Draft] | None) -> list[dict[str, Any]]:
        """What can be read of one list. What is wrong with its entries alone is said here."""
        listed = drafts or []
        most = _MOST[name]
        if len(listed) > most:
            self.fault(name, None, "", "MAX_ITEMS", f"must have at most {most} items")
        for place, draft in enumerate(listed[:most]):
            for field, code, message in draft["problems"]:
                self.fault(name, place, field, code, message)
        return [draft["given"] for draft in listed[:most]]

    # --- issues ------------------------------------------------------------------------------------------------------

    def read_issues(self, entries: list[dict[str, Any]]) -> None:
        self.issues = entries
        for place, given in enumerate(entries):
            self._read_ref(place, given.get("ref"))
        for place, given in enumerate(entries):
            if given.get("parent_ref") is not None:
                self._read_parent(place, given)
            status, reason = given.get("status", "open"), given.get("blocked_reason")
            if status == "blocked" and reason is None:
                self.fault("issues", place, "blocked_reason", "REQUIRED", "is required with status blocked")
            if status != "blocked" and reason is not None:
                self.fault("issues", place, "blocked_reason", "FORBIDDEN", "goes only with status blocked")
        self._read_labels(entries)

    def _read_ref(self, place: int, ref: str | None) -> None:
        if ref is None:
            return
        if is_of_an_issue(ref, self._tx.opening.issue_key):
            self.fault("issues", place, "ref", "RESERVED_REF", "must not look like the id of an issue")
        elif ref in self._refs:
            self.fault("issues", place, "ref", "DUPLICATE_REF", f"is the ref of issues[{self._refs[ref]}], too")
        else:
            self._refs[ref] = place

    def _read_parent(self, place: int, given: dict[str, Any]) -> None:
        end = self._end("issues", place, "parent_ref", given["parent_ref"])
        if end is None:
            return
        known = self._known.get(end)
        kind = self.issues[int(end[1:])].get("type", "task") if known is None else known.type
        if given.get("type") == "epic":
            self.fault("issues", place, "parent_ref", "INVALID_EPIC_PARENT", "must be left out: an epic has no parent")
        elif kind != "epic":
            self.fault("issues", place, "parent_ref", "INVALID_EPIC_PARENT", "must name an epic")
        else:
            self.parents[place] = end

    def _read_labels(self, entries: list[dict[str, Any]]) -> None:
        uses = sum(len(given.get("labels", ())) for given in entries)
        if uses > PLAN_LABELS_MAX:
            message = f"must have at most {PLAN_LABELS_MAX} labels in all, not {uses}"
            self.fault("issues", None, "", "MAX_ITEMS", message)
            return
        made: set[str] = set()
        asked: dict[str, str] = {}
        for place, given in enumerate(entries):
            for at, label in enumerate(given.get("labels", ())):
                if given.get("create_missing_labels", True):
                    made.add(label.lower())
                else:
                    asked[f"{place} labels[{at}]"] = label
        wanted = sorted({label.lower() for label in asked.values()} - made)
        known = made | {row.normal for row in self._tx.all(SQL.known_labels, labels=wire.dumps(wanted)) if wanted}
        for where, label in asked.items():
            if label.lower() not in known:
                place, _, field = where.partition(" ")
                message = "does not exist; leave create_missing_labels out to make it"
                self.fault("issues", int(place), field, "LABEL_NOT_FOUND", message)

    # --- relations ---------------------------------------------------------------------------------------------------

    def read_relations(self, entries: list[dict[str, Any]]) -> None:
        found: dict[int, tuple[str, str, str]] = {}
        seen: dict[tuple[str, str, str], int] = {}
        for place, given in enumerate(entries):
            ends = [
                self._end("relations", place, name, given[name]) if name in given else None
                for name in ("source_ref", "target_ref")
            ]
            source, target = ends
            if source is None or target is None:
                continue
            relation = (source, target, given.get("type", "blocks"))
            same = (min(source, target), max(source, target), "related_to") if relation[2] == "related_to" else relation
            if source == target:
                self.fault("relations", place, "target_ref", "SELF_RELATION", "must be another issue than source_ref")
            elif same in seen:
                self.fault("relations", place, "", "DUPLICATE_RELATION", f"is the same as relations[{seen[same]}]")
            else:
                seen[same] = place
                found[place] = relation
        self._drop_stored(found)
        self._check_circles(found)
        self.relations = list(found.values())

    def _drop_stored(self, found: dict[int, tuple[str, str, str]]) -> None:
        """A relation that exists already."""
        ids = sorted({end for source, target, _ in found.values() for end in (source, target) if end in self._known})
        if len(ids) < 2:
            return
        there = {(row.source, row.target, row.type) for row in self._tx.all(SQL.related, ids=wire.dumps(ids))}
        for place, (source, target, kind) in list(found.items()):
            both_ways = kind == "related_to" and (target, source, kind) in there
            if (source, target, kind) in there or both_ways:
                self.fault("relations", place, "", "DUPLICATE_RELATION", "exists already")
                del found[place]

    def _check_circles(self, found: dict[int, tuple[str, str, str]]) -> None:
        """Which relation would close a circle with those before it and those that are stored."""
        blocks = {place: relation for place, relation in found.items() if relation[2] == "blocks"}
        after: dict[str, set[str]] = {}
        starts = sorted({target for _, target, _ in blocks.values() if target in self._known})
        goals = sorted({source for source, _, _ in blocks.values() if source in self._known})
        if starts and goals:
            for row in self._tx.all(SQL.held_up, starts=wire.dumps(starts), goals=wire.dumps(goals)):
                after.setdefault(row.start, set()).add(row.id)
        for place, (source, target, _) in blocks.items():
            if blocking.leads(after, target, source):
                message = "closes a circle: what it blocks already blocks its source, itself or through others"
                self.fault("relations", place, "", "BLOCKS_CYCLE", message)
            else:
                after.setdefault(source, set()).add(target)

    # --- decisions ---------------------------------------------------------------------------------------------------

    def read_decisions(self, entries: list[dict[str, Any]]) -> None:
        replaced: dict[str, int] = {}
        for place, given in enumerate(entries):
            end = None
            if given.get("issue_ref") is not None:
                end = self._end("decisions", place, "issue_ref", given["issue_ref"])
                if end is None:
                    continue
            if given.get("supersedes_id") is not None:
                self._read_replaced(place, given, end, replaced)
            self.decisions.append((given, end))

    def _read_replaced(self, place: int, given: dict[str, Any], end: str | None, replaced: dict[str, int]) -> None:
        try:
            old = deciding.replaceable(self._tx, given["supersedes_id"], end, given.get("status", "active"))
        except Refusal as refusal:
            for detail in refusal.details:
                self.fault("decisions", place, detail["field"], detail["code"], f"cannot be: {detail['message']}")
            return
        if old in replaced:
            self.fault("decisions", place, "supersedes_id", "DUPLICATE", f"is replaced by decisions[{replaced[old]}]")
        replaced[old] = place

    # --- pieces ------------------------------------------------------------------------------------------------------

    def _end(self, name: str, place: int, field: str, ref: str) -> str | None:
        """What a ref means. None: nothing, and that is said."""
        if ref in self._refs:
            return _new(self._refs[ref])
        try:
            issue = stored.find(self._tx, ref) if is_of_an_issue(ref, self._tx.opening.issue_key) else None
        except Refusal:
            issue = None
        if issue is None:
            self.fault(name, place, field, "ISSUE_NOT_FOUND", f"names no issue: {quoted(ref, 64)}")
            return None
        if issue.archived_wall is not None:
            self.fault(name, place, field, "ISSUE_ARCHIVED", f"names ISSUE-{issue.number}, which is archived")
            return None
        self._known[issue.id] = issue
        return str(issue.id)

    def _holds_up(self, end: str) -> bool:
        """Whether an issue is unfinished."""
        known = self._known.get(end)
        status = self.issues[int(end[1:])].get("status", "open") if known is None else known.status
        return status not in TERMINAL

    def fault(self, name: str, place: int | None, field: str, code: str, message: str) -> None:
        where = name if place is None else f"{name}[{place}]"
        at = {} if place is None else {"index": place}
        self.errors.append({**at, "field": f"{where}.{field}" if field else where, "code": code, "message": message})


def _new(place: int) -> str:
    """The end that stands for a new issue: no id of an issue begins so."""
    return f"+{place}"


def is_of_an_issue(ref: str, key: str = ISSUE_KEY) -> bool:
    """Whether a ref has the form of ISSUE-42, 42 or an id; a name such as step-2 has not. key: what else stands before
    the numbers of this project."""
    text = ref.strip().upper()
    word, _, number = text.removeprefix("#").rpartition("-")
    is_number = number.isascii() and number.isdigit() and word in ("", ISSUE_KEY, key)
    return is_number or clock.is_id(text)
