"""Labels: words that group issues. They change nothing in the flow of work.

Two labels are the same when they differ in case only; the spelling that came first is shown.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import LIST_DEFAULT
from clearway.op import op
from clearway.untrusted import quoted
from clearway.work import cursors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import Cursor, LabelDescription, LabelName, ListLimit
    from clearway.db.tx import Tx

SQL = statements(__file__)
FEW = 1_000  # issues with a label: up to here they are looked at one by one


@op(group="plan", cli="label list")
def list_labels(
    tx: Tx, query: LabelName | None = None, limit: ListLimit = LIST_DEFAULT, cursor: Cursor | None = None
) -> dict[str, Any]:
    """List the labels there are, and how many issues have each.

    query: how its name begins.
    """
    after = cursors.read(cursor, ("offset",)).get("offset", 0)
    # The name is compared literally, so `%` and `_` are letters like any other.
    rows = tx.all(SQL.list, prefix=None if query is None else query.lower(), offset=max(0, after), limit=limit + 1)
    shown = rows[:limit]
    reply: dict[str, Any] = {"items": [_item(row) for row in shown], "has_more": len(rows) > limit}
    if reply["has_more"]:
        reply["next_cursor"] = cursors.write({"offset": after + limit})
    return reply


@op(writes=True, group="plan", cli="label rename")
def rename_label(tx: Tx, label: LabelName, name: LabelName) -> dict[str, Any]:
    """Give a label another name; every issue that has it has it still."""
    known = _known(tx, label)
    other = tx.one(SQL.find, normal=name.lower())
    if other is not None and other.id != known.id:
        message = f"There is a label {quoted(name, 64)} already; choose another name."
        raise Refusal("INVALID_ARGUMENT", message, [{"field": "name", "code": "DUPLICATE", "message": message}])
    if known.name != name:
        tx.change(SQL.rename, id=known.id, name=name, normal=name.lower())
        tx.tell("label_renamed", label=known.id, was=known.name, name=name)
    return {"label_id": known.id, "name": name}


@op(writes=True, group="plan", cli="label describe")
def describe_label(tx: Tx, label: LabelName, text: LabelDescription) -> dict[str, Any]:
    """Say what a label stands for."""
    known = _known(tx, label)
    if known.description != text:
        tx.change(SQL.describe, id=known.id, description=text)
        tx.tell("label_described", label=known.id, name=known.name)
    return {"label_id": known.id, "name": known.name}


def attach(tx: Tx, issue: str, names: list[str], *, create: bool) -> None:
    """Give an issue labels that it does not have."""
    for name in names:
        known = tx.one(SQL.find, normal=name.lower())
        if known is None and not create:
            raise _unknown(name, "leave create_missing_labels out to make it")
        label = tx.new_id() if known is None else known.id
        if known is None:
            tx.change(SQL.create, id=label, name=name, normal=name.lower(), wall=tx.wall)
        tx.change(SQL.attach, issue=issue, label=label)


def replace(tx: Tx, issue: str, names: list[str], *, create: bool) -> None:
    """Give an issue exactly these labels."""
    tx.change(SQL.detach_all, issue=issue)
    attach(tx, issue, names, create=create)


def ids(tx: Tx, names: list[str]) -> str:
    """The ids of those of some labels that there are, as a list for SQL."""
    rows = tx.all(SQL.ids, labels=wire.dumps([name.lower() for name in names]))
    return wire.dumps([row.id for row in rows])


def are_few(tx: Tx, labels: str, most: int | None = None) -> bool:
    """Whether at most so many issues have any of some labels, given by `ids`."""
    most = FEW if most is None else most
    counted = tx.one(SQL.counted, labels=labels, most=most + 1)
    return counted is not None and counted.issues <= most


def _known(tx: Tx, name: str) -> Row:
    known = tx.one(SQL.find, normal=name.lower())
    if known is None:
        raise _unknown(name, "list_labels shows those there are")
    return known


def _unknown(name: str, way_out: str) -> Refusal:
    return Refusal("LABEL_NOT_FOUND", f"There is no label {quoted(name, 64)}; {way_out}.", label=name)


def _item(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": row.name, "issues": row.issues}
    return {**shown, "description": row.description} if row.description else shown
