"""Judging a document against a room: what is wrong with it, what of it is new, and what is decided where both differ.

The survey reads and changes nothing. It goes through the document once and remembers ids, numbers and relations, never
texts. A contradiction within the document is a fault, and then nothing is imported; one between the document and the
room is decided (the newer version wins, what is here keeps its number, what is being worked on stays as it is) and told
as a conflict. A second survey of the same document after its import finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clearway import wire
from clearway.db import Row, Statement, statements
from clearway.lifecycle import PRIORITIES, TERMINAL
from clearway.limits import IMPORT_CONFLICTS_SHOWN, IMPORT_RECORDS_MAX
from clearway.untrusted import quoted
from clearway.work import blocking
from clearway.work.transfer_documents import Faults, Unreadable
from clearway.work.transfer_records import ORDER, SHAPES

if TYPE_CHECKING:
    from clearway.db.tx import Tx

SQL = statements(__file__)
TOGETHER = 500  # records that are looked up with one question
Relation = tuple[str, str, str]


@dataclass(slots=True)
class Item:
    """One record of a document: its kind, its fields, and where it stands. names: what fields are called there. soft:
    a relation that is left out where it would close a circle."""

    record: str
    value: Any
    path: str
    line: int = 0
    names: dict[str, str] | None = None
    soft: bool = field(default=False, kw_only=True)


class Conflicts:
    """What document and room do not agree about, and what was done."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.count = 0

    def add(self, code: str, message: str, **facts: Any) -> None:
        self.count += 1
        if len(self.shown) < IMPORT_CONFLICTS_SHOWN:
            self.shown.append({"code": code, "message": message, **facts})


class Survey:
    """What is to be done with a document."""

    def __init__(self, tx: Tx, faults: Faults, called: Callable[[str], str]) -> None:
        """called: what the document calls what has this id here."""
        self._tx = tx
        self.faults = faults
        self._called = called
        self.conflicts = Conflicts()
        self.created = dict.fromkeys(ORDER, 0)
        self.updated = dict.fromkeys(ORDER, 0)
        self.unchanged = 0
        self.older = 0
        # What the writing does not do, or does in another way than creating it.
        self.passed: dict[str, set[str]] = {name: set() for name in ORDER}
        self.changed: dict[str, set[str]] = {name: set() for name in ORDER}
        self.renumbered: dict[str, tuple[int, int]] = {}
        self.last_number = tx.opening.last_issue
        self.alone: set[str] = set()  # decisions that replace what another one here replaces already
        self.left_apart: set[Relation] = set()
        self.orphans: set[str] = set()  # issues whose epic is none here
        self._children: list[tuple[str, str]] = []
        self._seen: dict[str, set[str]] = {name: set() for name in ORDER}
        self._epics: set[str] = set()
        self._numbers: dict[int, str] = {}
        self._needed: list[tuple[str, str, str, str, int]] = []  # (kind, id, what it must be, path, line)
        self._blocks: list[tuple[str, str, Item]] = []
        self._new_blocks: set[tuple[str, str]] = set()
        self._replaced: set[str] = set()
        self._pending: dict[str, str] = {}
        self._count = 0

    def go_through(self, items: Iterable[Item]) -> None:
        """Look at the whole document."""
        try:
            for kind, group in _chunks(items):
                self._count += len(group)
                if self._count > IMPORT_RECORDS_MAX:
                    message = f"has more than {IMPORT_RECORDS_MAX} records"
                    self.faults.add(group[0][0].path, "MAX_ITEMS", message, group[0][0].line)
                    return
                read = [each for each in map(self._read, group) if each is not None]
                _LOOKS[kind](self, read)
        except Unreadable as end:
            self.faults.add(end.path, end.code, end.message, end.line)
            return
        self._check_needed()
        self._check_parents()
        self._check_circles()
        self._check_numbers()

    # --- one record --------------------------------------------------------------------------------------------------

    def _read(self, pair: tuple[Item, str]) -> tuple[Item, dict[str, Any]] | None:
        item, kind = pair
        value = SHAPES[kind].read(item.value, item.path, self.faults, item.line, item.names)
        if value is None:
            return None
        if "id" in value:
            if value["id"] in self._seen[kind]:
                self._fault(item, "id", "DUPLICATE", "stands twice in this document")
                return None
            self._seen[kind].add(value["id"])
        return item, value

    def _fault(self, item: Item, field: str, code: str, message: str) -> None:
        self.faults.add(f"{item.path}.{(item.names or {}).get(field, field)}", code, message, item.line)

    def _need(self, item: Item, field: str, kind: str, wanted: str | None, must_be: str = "") -> None:
        """Something that a record refers to has to be in the document or in the room."""
        if wanted is None or (wanted in self._seen[kind] and not must_be):
            return
        path = f"{item.path}.{(item.names or {}).get(field, field)}"
        self._needed.append((kind, wanted, must_be, path, item.line))

    def _known(self, statement: Statement, ids: Iterable[str]) -> list[Row]:
        return self._tx.all(statement, ids=wire.dumps(sorted(set(ids))))

    def _passes(self, kind: str, read: list[tuple[Item, dict[str, Any]]], statement: Statement) -> None:
        """Records that never change: what is here stays."""
        here = {row.id for row in self._known(statement, (value["id"] for _, value in read))}
        self.passed[kind] |= here
        self.unchanged += len(here)
        self.created[kind] += len(read) - len(here)

    # --- by kind -----------------------------------------------------------------------------------------------------

    def _labels(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        names: list[str] = []
        for item, value in read:
            normal = value["name"].lower()
            if normal in self._seen["label"]:
                self._fault(item, "name", "DUPLICATE", "stands twice in this document")
            self._seen["label"].add(normal)
            names.append(normal)
        here = {row.normal for row in self._known(SQL.known_label, names)}
        self.passed["label"] |= here
        self.unchanged += len(here)
        self.created["label"] += len(read) - len(here)

    def _issues(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        here = {row.id: row for row in self._known(SQL.issues_named, (value["id"] for _, value in read))}
        stay_epics = [i for i, row in here.items() if row.type == "epic"]
        parents = {row.id for row in self._known(SQL.with_children, stay_epics)} if stay_epics else set[str]()
        for item, value in read:
            self._check_issue(item, value)
            if value["type"] == "epic":
                self._epics.add(value["id"])
            row = here.get(value["id"])
            if row is None:
                self.created["issue"] += 1
                self._number(item, value)
            else:
                self._decide(value, row, has_children=row.id in parents)

    def _check_issue(self, item: Item, value: dict[str, Any]) -> None:
        if (value["status"] == "blocked") != ("blocked_reason" in value):
            code = "REQUIRED" if value["status"] == "blocked" else "FORBIDDEN"
            self._fault(item, "blocked_reason", code, "goes with status blocked, and only with that")
        if "closed_at" in value and value["status"] not in TERMINAL:
            self._fault(item, "closed_at", "FORBIDDEN", "goes with status done or cancelled only")
        parent = value.get("parent")
        if parent is not None and (value["type"] == "epic" or parent == value["id"]):
            self._fault(item, "parent", "INVALID_EPIC_PARENT", "must be left out of an epic, and name another issue")
        elif parent is not None:
            self._need(item, "parent", "issue", parent, "epic")
            self._children.append((value["id"], parent))

    def _number(self, item: Item, value: dict[str, Any]) -> None:
        number = value.get("number")
        if number is None:
            return
        if number in self._numbers:
            self._fault(item, "number", "DUPLICATE", "stands twice in this document")
        self._numbers[number] = value["id"]

    def _decide(self, value: dict[str, Any], row: Row, *, has_children: bool) -> None:
        """Whose version of an issue counts."""
        change = _is_newer(value, row)
        name = f"ISSUE-{row.number}"
        if change and row.held and _moves(value, row):
            message = f"{name} is being worked on here and stays as it is until that ends; import again then"
            self.conflicts.add("being_worked_on", message, issue_id=row.id, display_id=name)
            change = False
        elif change and has_children and value["type"] != "epic":
            self.conflicts.add("has_children", f"{name} has children here and stays an epic", issue_id=row.id)
            change = False
        elif not change and _is_older(value, row):
            self.older += 1
        if change:
            self.changed["issue"].add(row.id)
            self.updated["issue"] += 1
        else:
            self.passed["issue"].add(row.id)
            self.unchanged += 1

    def _relations(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        ends = [tuple(ordered(value)) for _, value in read]
        here = {(row.source, row.target, row.type) for row in self._known(SQL.known_relation, (e[0] for e in ends))}
        for (item, value), end in zip(read, ends, strict=True):
            source, target, kind = end
            self._need(item, "source", "issue", value["source"])
            self._need(item, "target", "issue", value["target"])
            mark = f"{source} {target} {kind}"
            if source == target:
                self._fault(item, "target", "SELF_RELATION", "must be another issue than the first")
            elif mark in self._seen["relation"]:
                self._fault(item, "target", "DUPLICATE", "stands in the same relation twice in this document")
            elif end in here:
                self.passed["relation"].add(mark)
                self.unchanged += 1
            else:
                self.created["relation"] += 1
                if kind == "blocks":
                    self._new_blocks.add((source, target))
            if kind == "blocks":
                self._blocks.append((source, target, item))
            self._seen["relation"].add(mark)

    def _comments(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        for item, value in read:
            self._need(item, "issue", "issue", value["issue"])
        self._passes("comment", read, SQL.known_comment)

    def _decisions(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        here = {row.id: row for row in self._known(SQL.known_decision, (value["id"] for _, value in read))}
        taken = {row.id for row in self._known(SQL.superseded, (v["supersedes"] for _, v in read if "supersedes" in v))}
        for item, value in read:
            self._need(item, "issue", "issue", value.get("issue"))
            replaced = value.get("supersedes")
            self._need(item, "supersedes", "decision", replaced)
            if replaced is not None and replaced in self._replaced:
                self._fault(item, "supersedes", "DUPLICATE", "is replaced twice in this document")
            if replaced is not None:
                self._replaced.add(replaced)
            row = here.get(value["id"])
            if row is None:
                self.created["decision"] += 1
                if replaced in taken:
                    message = f"{quoted(value['title'], 80)} replaces what another decision here replaces; both stand"
                    self.conflicts.add("decided_twice", message, decision_id=value["id"])
                    self.alone.add(value["id"])
            elif row.status == "active" != value["status"]:
                self.changed["decision"].add(row.id)
                self.updated["decision"] += 1
            else:
                self.passed["decision"].add(row.id)
                self.unchanged += 1

    def _attempts(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        for item, value in read:
            self._need(item, "issue", "issue", value["issue"])
            for status, reason in (("failed", "failure_code"), ("interrupted", "interruption_code")):
                if (value["status"] == status) != (reason in value):
                    code = "REQUIRED" if value["status"] == status else "FORBIDDEN"
                    self._fault(item, reason, code, f"goes with status {status}, and only with that")
        self._passes("attempt", read, SQL.known_attempt)

    def _notes(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        for item, value in read:
            self._need(item, "attempt", "attempt", value["attempt"])
            self._need(item, "issue", "issue", value["issue"])
        self._passes("note", read, SQL.known_note)

    def _artifacts(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        for item, value in read:
            self._need(item, "issue", "issue", value["issue"])
            self._need(item, "attempt", "attempt", value.get("attempt"))
        self._passes("artifact", read, SQL.known_artifact)

    def _reviews(self, read: list[tuple[Item, dict[str, Any]]]) -> None:
        here = {row.id: row for row in self._known(SQL.known_review, (value["id"] for _, value in read))}
        waiting = {row.issue: row.id for row in self._known(SQL.pending_reviews, (value["issue"] for _, value in read))}
        for item, value in read:
            self._check_review(item, value)
            is_open = value["status"] == "open"
            other = waiting.get(value["issue"]) or self._pending.get(value["issue"])
            if other in self.changed["review"]:  # this document settles it
                other = self._pending.get(value["issue"])
            row = here.get(value["id"])
            if row is not None:
                newer = value["version"] > row.version and row.status in ("open", "claimed") and not is_open
                (self.changed if newer and row.status == "open" else self.passed)["review"].add(row.id)
                self.updated["review"] += newer and row.status == "open"
                self.unchanged += not (newer and row.status == "open")
            elif is_open and other is not None:
                message = "a review of this issue is waited for here already; this one is left out"
                self.conflicts.add("review_already_exists", message, issue_id=value["issue"])
                self.passed["review"].add(value["id"])
            else:
                self.created["review"] += 1
            if is_open:
                self._pending[value["issue"]] = value["id"]

    def _check_review(self, item: Item, value: dict[str, Any]) -> None:
        self._need(item, "issue", "issue", value["issue"])
        self._need(item, "attempt", "attempt", value.get("attempt"))
        self._need(item, "supersedes", "review", value.get("supersedes"))
        self._need(item, "follow_up", "issue", value.get("follow_up"))
        if (value["status"] == "open") == ("resolved_at" in value):
            self._fault(item, "resolved_at", "INVALID_VALUE", "goes with every status but open")
        if (value["status"] in ("approved", "changes_requested", "blocked")) and "attempt" not in value:
            self._fault(item, "attempt", "REQUIRED", f"is required of a review that is {value['status']}")
        if value["status"] == "open" and "attempt" in value:
            self._fault(item, "attempt", "FORBIDDEN", "must be left out: possession is not imported")

    # --- the document as a whole -------------------------------------------------------------------------------------

    def _check_needed(self) -> None:
        for kind, statement in _NEEDED.items():
            asked = [each for each in self._needed if each[0] == kind]
            for start in range(0, len(asked), TOGETHER):
                group = asked[start : start + TOGETHER]
                rows = self._known(statement, (wanted for _, wanted, *_ in group))
                here = {row.id: row for row in rows}
                for _, wanted, must_be, path, line in group:
                    if wanted in self._seen[kind]:
                        fits = not must_be or wanted in self._epics
                    elif wanted in here:
                        fits = not must_be or here[wanted].type == must_be
                    else:
                        message = f"names no {kind} of this document or of the room: {self._called(wanted)}"
                        self.faults.add(path, "NOT_FOUND", message, line)
                        continue
                    if not fits:
                        self.faults.add(path, "INVALID_EPIC_PARENT", "must name an epic", line)

    def _check_parents(self) -> None:
        """What is an epic in the document, and is kept here as something else, has no children."""
        kept = [(child, parent) for child, parent in self._children if parent in self.passed["issue"]]
        for start in range(0, len(kept), TOGETHER):
            group = kept[start : start + TOGETHER]
            here = {row.id: row for row in self._known(SQL.known_types, (parent for _, parent in group))}
            for child, parent in group:
                if here[parent].type != "epic" and child not in self.passed["issue"]:
                    self.orphans.add(child)
                    name = f"ISSUE-{here[parent].number}"
                    self.conflicts.add("no_epic_here", f"{name} is no epic here: {child} has no parent", issue_id=child)

    def _check_circles(self) -> None:
        """Circles within the document are its fault. Those that it makes together with the room are left open."""
        if not self._new_blocks:
            return
        given = [(source, target) for source, target, item in self._blocks if not item.soft]
        turning = _turning(given)
        for source, target, item in self._blocks:
            if not item.soft and source in turning and target in turning:
                message = "closes a circle: what it blocks already blocks its source, itself or through others"
                self._fault(item, "target", "BLOCKS_CYCLE", message)
        if self.faults.count:
            return
        stored = [(row.source, row.target) for row in self._tx.all(SQL.blocks)]
        turning = _turning([*stored, *((source, target) for source, target, _ in self._blocks)])
        if not turning:
            return
        after: dict[str, set[str]] = {}
        hard_first = sorted((each for each in self._blocks), key=lambda each: each[2].soft)
        for source, target in stored:
            after.setdefault(source, set()).add(target)
        for source, target, item in hard_first:
            if source in turning and target in turning and (source, target) in self._new_blocks:
                if blocking.leads(after, target, source):
                    self._leave_apart(source, target, item)
                    continue
            after.setdefault(source, set()).add(target)

    def _leave_apart(self, source: str, target: str, item: Item) -> None:
        self.left_apart.add((source, target, "blocks"))
        self.created["relation"] -= 1
        message = f"{item.path} would close a circle of what waits for what; it is left out"
        self.conflicts.add("blocks_cycle", message, source=source, target=target)

    def _check_numbers(self) -> None:
        """What is here keeps its number; what comes gets the next one that is free, in the order of the old ones."""
        wanted = sorted(self._numbers)
        taken: list[int] = []
        for start in range(0, len(wanted), TOGETHER):
            group = wanted[start : start + TOGETHER]
            taken += [row.number for row in self._tx.all(SQL.known_numbers, ids=wire.dumps(group))]
        self.last_number = max([self._tx.opening.last_issue, *wanted[-1:]])
        for number in sorted(taken):
            self.last_number += 1
            self.renumbered[self._numbers[number]] = (number, self.last_number)


def ordered(value: dict[str, Any]) -> Relation:
    """A relation as it is stored: belonging together has no direction, and is kept in one."""
    source, target = value["source"], value["target"]
    if value["type"] == "related_to" and target < source:
        source, target = target, source
    return source, target, value["type"]


def content(value: dict[str, Any]) -> list[Any]:
    """What an issue says, whoever stores it."""
    return [
        *(value["type"], value["title"], value.get("description"), value.get("acceptance_criteria"), value["status"]),
        *(value["priority"], value.get("parent"), value.get("blocked_reason")),
        sorted(label.lower() for label in value.get("labels", ())),
        *(sorted(value.get("paths", ())), sorted(value.get("needs", ())), "archived_at" in value),
    ]


def as_value(row: Row) -> dict[str, Any]:
    """An issue of the room as a document would have it, times as numbers."""
    value: dict[str, Any] = {
        "id": row.id,
        "number": row.number,
        "type": row.type,
        "title": row.title,
        "description": row.description,
        "acceptance_criteria": row.acceptance_criteria,
        "status": row.status,
        "priority": PRIORITIES[row.priority],
        "parent": row.parent,
        "blocked_reason": row.blocked_reason,
        "labels": sorted(wire.loads(row.labels)),
        "paths": sorted(wire.loads(row.paths)),
        "needs": wire.loads(row.needs) if row.needs else None,
        "version": row.version,
        "created_by": row.created_by,
        "created_at": row.created_wall,
        "updated_at": row.updated_wall,
        "closed_at": row.closed_wall,
        "archived_at": row.archived_wall,
    }
    return {name: item for name, item in value.items() if item is not None and item != []}


def _is_newer(value: dict[str, Any], row: Row) -> bool:
    """The higher version, else the later change; where both are equal and the words are not, the order of the words
    decides, so that both sides decide alike."""
    if "version" not in value:
        return value.get("updated_at", 0) > row.updated_wall
    theirs, ours = (value["version"], value.get("updated_at", 0)), (row.version, row.updated_wall)
    if theirs != ours:
        return theirs > ours
    said, here = content(value), content(as_value(row))
    return said != here and wire.dumps(said) > wire.dumps(here)


def _is_older(value: dict[str, Any], row: Row) -> bool:
    return content(value) != content(as_value(row))


def _moves(value: dict[str, Any], row: Row) -> bool:
    archived = ("archived_at" in value) != (row.archived_wall is not None)
    return archived or value["status"] != row.status or value["type"] != row.type


def _turning(edges: Iterable[tuple[str, str]]) -> set[str]:
    """The issues in a circle, or between two of them: what is left when ends are taken away again and again."""
    after: dict[str, list[str]] = {}
    before: dict[str, list[str]] = {}
    for source, target in set(edges):
        after.setdefault(source, []).append(target)
        before.setdefault(target, []).append(source)
    left = set(after) | set(before)
    for near, far in ((before, after), (after, before)):
        open_ends = {node: sum(other in left for other in near.get(node, ())) for node in left}
        ready = [node for node, count in open_ends.items() if not count]
        while ready:
            node = ready.pop()
            left.discard(node)
            for other in far.get(node, ()):
                if other in left:
                    open_ends[other] -= 1
                    if not open_ends[other]:
                        ready.append(other)
    return left


def _chunks(items: Iterable[Item]) -> Iterator[tuple[str, list[tuple[Item, str]]]]:
    """The records in groups of one kind."""
    group: list[tuple[Item, str]] = []
    for item in items:
        if group and (group[0][1] != item.record or len(group) == TOGETHER):
            yield group[0][1], group
            group = []
        group.append((item, item.record))
    if group:
        yield group[0][1], group


_LOOKS = {
    "label": Survey._labels,  # pyright: ignore[reportPrivateUsage]
    "issue": Survey._issues,  # pyright: ignore[reportPrivateUsage]
    "relation": Survey._relations,  # pyright: ignore[reportPrivateUsage]
    "comment": Survey._comments,  # pyright: ignore[reportPrivateUsage]
    "decision": Survey._decisions,  # pyright: ignore[reportPrivateUsage]
    "attempt": Survey._attempts,  # pyright: ignore[reportPrivateUsage]
    "note": Survey._notes,  # pyright: ignore[reportPrivateUsage]
    "artifact": Survey._artifacts,  # pyright: ignore[reportPrivateUsage]
    "review": Survey._reviews,  # pyright: ignore[reportPrivateUsage]
}
_NEEDED = {
    "issue": SQL.known_types,
    "decision": SQL.known_decision,
    "attempt": SQL.known_attempt,
    "review": SQL.known_review,
}
