"""Automatic checkpoints: where the work stood when a context ended, from what was observed, without a model's tokens.

They are made when a client compacts its context and when its session ends. An attempt gets a note beside the written
checkpoints; a session that works on no issue keeps its newest one itself. The facts are gathered by the caller before
the transaction: nothing here touches the disk. What an attempt left when its lease was lost is lapse.py's.
"""

from __future__ import annotations

from clearway import clock, lapse
from clearway.db import Row, statements
from clearway.limits import SINCE_CHECKPOINT_BYTES
from clearway.untrusted import ending, folded, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx

SQL = statements(__file__)
_PATHS_SHOWN = 20
_COMMANDS_SHOWN = 6
_NOTE_CHARS = 200
_PATH_CHARS = 120


class Facts:
    """What was observed: `changed` files as they are shown, with what git says of each; how many `others` differ from
    the last commit; `commands` and how each ended, the newest first."""

    __slots__ = ("changed", "commands", "others")

    def __init__(self, changed: list[str], others: int, commands: list[str]) -> None:
        self.changed = changed
        self.others = others
        self.commands = commands


def save(tx: Tx, facts: Facts, why: str) -> str | None:
    """Keep where the calling session stands; the note's id if it became one. Nothing new, nothing kept."""
    attempt = tx.one(SQL.current, session=tx.caller.key, gone=lapse.gone(tx)[1])
    held = tx.all(SQL.paths_of, session=tx.caller.key, gone=lapse.gone(tx)[0])
    body = _body(facts, [ending(lease.shown, _PATH_CHARS) for lease in held])
    if attempt is None:
        if body:
            tx.change(SQL.keep, session=tx.caller.key, content=_whole(tx, why, body), wall=tx.wall)
        return None
    last = tx.one(SQL.last_written, attempt=attempt.id)
    if last is not None:
        body.append(f"Last note ({last.kind}, {_at(last)}): {folded(last.content, _NOTE_CHARS)}")
    known = tx.one(SQL.last_automatic, attempt=attempt.id)
    if not body or (known is not None and known.content.partition("\n")[2] == _cut(body)):
        return None
    note = lapse.note_id(tx, attempt, "checkpoint")
    tx.change(SQL.note, id=note, attempt=attempt.id, issue=attempt.issue, content=_whole(tx, why, body), wall=tx.wall)
    tx.tell("checkpoint_saved", issue=attempt.issue, attempt=attempt.id, note=note, automatic=True)
    return note


def _body(facts: Facts, held: list[str]) -> list[str]:
    lines: list[str] = []
    if facts.changed:
        lines.append(f"Changed: {_some(facts.changed, _PATHS_SHOWN)}")
    if facts.others:
        lines.append(f"{facts.others} other files differ from the last commit")
    if facts.commands:
        lines.append(f"Ran, the last first: {'; '.join(facts.commands[:_COMMANDS_SHOWN])}")
    if held:
        lines.append(f"Held: {_some(held, _PATHS_SHOWN)}")
    return lines


def _some(names: list[str], count: int) -> str:
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more


def _whole(tx: Tx, why: str, body: list[str]) -> str:
    return f"Automatic, {why} at {clock.local_time(tx.wall)}.\n{_cut(body)}"


def _cut(body: list[str]) -> str:
    return within("\n".join(body), SINCE_CHECKPOINT_BYTES - 60)


def _at(row: Row) -> str:
    return clock.local_time(row.created_wall)
