"""Pages of issues: the most urgent first, then the oldest, at the same cost however many there are.

A filter that few issues meet must not cost a walk past all the others. So each page is put together from questions that
an index answers in the order of the list (a priority, and within it a status, a type, what is free, what is held, an
epic's children, the issues of a rare label), and only what these name is looked at with all the filters.
"""

from __future__ import annotations

from clearway import lapse, wire
from clearway.db import Row, statements
from clearway.lifecycle import CLAIM_KIND, PRIORITIES, REPEATED_FAILURES, STATUSES, TERMINAL
from clearway.work import labels as labelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db import Statement
    from clearway.db.tx import Tx

SQL = statements(__file__)
_BATCH = 1_000  # looked at together when few of them are wanted


class Filters:
    """What is asked of a list; None where anything goes."""

    __slots__ = ("archived", "blocked", "claimable", "effective", "labels", "parent", "priorities", "statuses", "types")

    def __init__(
        self,
        *,
        statuses: list[str] | None,
        effective: list[str] | None,
        types: list[str] | None,
        priorities: list[str] | None,
        labels: list[str] | None,
        parent: str | None,
        claimable: bool | None,
        blocked: bool | None,
        archived: bool,
    ) -> None:
        self.statuses = statuses
        self.effective = effective
        self.types = types
        self.priorities = priorities
        self.labels = labels
        self.parent = parent
        self.claimable = claimable
        self.blocked = blocked
        self.archived = archived


def page(tx: Tx, filters: Filters, after: dict[str, int], count: int) -> list[Row]:
    """The next so many issues after a place of the list."""
    labels = None if filters.labels is None else labelling.ids(tx, filters.labels)
    ways = _ways(tx, filters, labels)
    judged = _judged(tx, filters, labels)
    found: list[Row] = []
    for priority in _priorities(filters, after.get("priority")):
        last = after["number"] if priority == after.get("priority") else 0
        size = count
        while len(found) < count:
            numbers = _numbers(tx, ways, priority, last, size)
            if not numbers:
                break
            found += tx.all(SQL.wanted, numbers=wire.dumps(numbers), limit=count - len(found), **judged)
            if len(numbers) < size:
                break
            last, size = numbers[-1], _BATCH
        if len(found) == count:
            break
    return found


def _priorities(filters: Filters, first: int | None) -> list[int]:
    """The places of the priorities to look at, the most urgent first."""
    wanted = PRIORITIES if filters.priorities is None else filters.priorities
    places = sorted((PRIORITIES.index(word) for word in wanted), reverse=True)
    return [place for place in places if first is None or place <= first]


def _ways(tx: Tx, filters: Filters, labels: str | None) -> list[tuple[Statement, dict[str, str]]]:
    """The questions whose answers together have all that is wanted."""
    if labels is not None and labelling.are_few(tx, labels):
        return [(SQL.labelled, {"labels": labels})]
    if filters.parent is not None:
        return [(SQL.children, {"parent": filters.parent})]
    if filters.archived:
        return [(SQL.all, {})]
    statuses = set(STATUSES if filters.statuses is None else filters.statuses)
    if filters.claimable:
        return [(SQL.free, {"status": status}) for status in sorted(statuses & set(CLAIM_KIND))]
    if filters.blocked:
        epics = [(SQL.of_kind, {"status": status, "type": "epic"}) for status in STATUSES if status not in TERMINAL]
        return [(SQL.of_status, {"status": "blocked"}), (SQL.waiting, {}), *epics]
    ways: list[tuple[Statement, dict[str, str]]] = []
    if filters.effective is not None:
        statuses &= set(filters.effective)
        if "in_progress" in filters.effective:
            ways.append((SQL.held, {}))
    if filters.types is not None:
        kinds = [{"status": status, "type": type} for status in sorted(statuses) for type in filters.types]
        return [*ways, *((SQL.of_kind, kind) for kind in kinds)]
    if filters.statuses is None and filters.effective is None:
        return [(SQL.shown, {})]
    return [*ways, *((SQL.of_status, {"status": status}) for status in sorted(statuses))]


def _numbers(tx: Tx, ways: list[tuple[Statement, dict[str, str]]], priority: int, after: int, size: int) -> list[int]:
    """The next numbers that any of the questions names."""
    numbers: set[int] = set()
    for statement, given in ways:
        rows = tx.all(statement, priority=priority, after=after, limit=size, **given)
        numbers.update(row.number for row in rows)
    return sorted(numbers)[:size]


def _judged(tx: Tx, filters: Filters, labels: str | None) -> dict[str, Any]:
    return {
        "statuses": _joined(filters.statuses),
        "effective": _joined(filters.effective),
        "types": _joined(filters.types),
        "labels": labels,
        "parent": filters.parent,
        "claimable": None if filters.claimable is None else int(filters.claimable),
        "blocked": None if filters.blocked is None else int(filters.blocked),
        "archived": int(filters.archived),
        "gone": lapse.gone(tx)[1],
        "streak": REPEATED_FAILURES,
    }


def _joined(words: list[str] | None) -> str | None:
    """A set of words for SQL: found by instr with its separators."""
    return None if words is None else "," + ",".join(words) + ","
