"""After a call: did it change what another holds? Nobody is stopped here; what happened is told, and can be undone.

Before the call the disk was asked about held files of others; now it is asked again. A file that changed meanwhile, and
whose holder had no call open, was changed by the call: a leak, told to both. What else differs from what its holder
left is `changed outside`, told to the holder alone. A file that was only touched is none of it, nor is what the holder
wrote itself. The disk is read by `compare`, the room by `judge`.
"""

from __future__ import annotations

import os

from clearway import policy
from clearway.db import Row
from clearway.guard import snapshots
from clearway.guard.snapshots import ABSENT, SQL, Copy, Store, Taken
from clearway.lapse import notify
from clearway.limits import COMPARED_BYTES_MAX, NEWS_BYTES_MAX, OPEN_CALL_HOLDS_MS, SNAPSHOT_BYTES_MAX
from clearway.untrusted import ending, folded, typed, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.db.tx import Tx
    from clearway.guard.snapshots import Seen

_TOLD_AT_ONCE = 5
CHANGED, DELETED, REPLACED, CREATED = "changed", "deleted", "replaced", "created"


class Change:
    """A held file that is not as its holder left it. `inside`: it changed during the call. `copy`: the holder did it
    itself, as its trail says. `touched`: its content is the same."""

    __slots__ = ("copy", "digest", "how", "inside", "row", "seen", "touched")

    def __init__(self, row: Row, seen: Seen, *, inside: bool) -> None:
        self.row = row
        self.seen = seen
        self.inside = inside
        self.digest = ""
        self.how = CHANGED
        self.touched = False
        self.copy: Copy | None = None


class Leak:
    """What the actor is told of one file."""

    __slots__ = ("holder", "how", "restorable", "shown")

    def __init__(self, shown: str, holder: str, how: str, *, restorable: bool) -> None:
        self.shown = shown
        self.holder = holder
        self.how = how
        self.restorable = restorable


def compare(
    root: str,
    rows: list[Row],
    before: dict[str, Seen],
    began_at: int,
    store: Store,
    is_own: Callable[[Row, str, Seen], bool],
) -> list[Change]:
    """What of these files differs from its snapshot. before: what the disk said when the call began. began_at: when
    that was (room ms). is_own: whether a holder's own trail knows this change. Content is read only of what differs."""
    found: list[Change] = []
    size = 0
    prefix = root.rstrip(os.sep) + os.sep
    for row in rows:
        path = prefix + row.shown
        now, left = snapshots.look(path), (row.size, row.modified, row.inode)
        if now == left or (row.noticed is not None and now[1] == row.noticed and before.get(row.path, now) == now):
            continue  # as its holder left it, or told already
        earlier = before.get(row.path)
        if earlier is None:
            if row.taken_at < began_at:
                continue  # there are more than can be watched
            earlier = left
        change = Change(row, now, inside=now != earlier)
        size += now[0] if now[0] <= SNAPSHOT_BYTES_MAX else 0
        if size <= COMPARED_BYTES_MAX or now == ABSENT:
            _read(change, path, store)
        elif now[0] == left[0]:
            continue  # it may only have been touched, and nobody waits for all of them to be read
        if not change.touched and is_own(row, path, now):
            change.copy = store.keep(path)
        found.append(change)
    return found


def _read(change: Change, path: str, store: Store) -> None:
    row, now = change.row, change.seen
    if now == ABSENT:
        change.how = DELETED
        return
    copy = store.keep(path, store=False)
    change.digest = "" if copy is None else copy.digest
    if copy is not None and copy.seen != now:  # it goes on changing; the last look counts
        change.seen = copy.seen
    if copy is not None and copy.digest == row.digest and row.kept != snapshots.NO_FILE:
        change.touched = True
    elif row.kept == snapshots.NO_FILE:
        change.how = CREATED
    elif copy is None or now[2] != row.inode:
        change.how = REPLACED


def judge(tx: Tx, checkout: str, changes: list[Change], *, later: bool = False) -> list[Leak]:
    """Tell the log and the holders; what the calling session has to be told. A write, for time has to have passed.
    later: the session is told at its next hook."""
    leaks: list[Leak] = []
    told: dict[tuple[str, str | None], list[Leak]] = {}
    if policy.is_paused(tx):  # then everybody may change everything
        return leaks
    for change in changes:
        row = tx.one(SQL.find, checkout=checkout, path=change.row.path)
        if row is None or row.session != change.row.session or _is_mine(tx, row):
            continue  # it has come to somebody else meanwhile
        if snapshots.was(row) == change.seen:
            continue  # the holder's own hook came while we looked
        size, modified, inode = change.seen
        where = {"checkout": checkout, "path": row.path}
        if change.touched:
            tx.change(SQL.touched, size=size, modified=modified, inode=inode, digest=row.digest, **where)
        elif change.copy is not None:
            snapshots.write(tx, [Taken(checkout, row.path, row.shown, change.copy)], holder=row)
        elif change.inside and not _was_at_work(tx, row.session):
            new = row.noticed != modified
            leaks.append(_leak(tx, row, change, where, later=later))
            if new:
                told.setdefault((row.agent, None if row.named else row.session), []).append(leaks[-1])
        elif row.noticed != modified:
            _tell(tx, "path_changed_outside", row, change, where, by=Row(session=row.session, agent=row.agent))
    for (agent, session), theirs in told.items():
        _put(tx, agent, session, theirs)
    return leaks


def _put(tx: Tx, agent: str, session: str | None, leaks: list[Leak]) -> None:
    """Into the holder's inbox: one message a call, for whoever looks there and for a holder without hooks."""
    from clearway.crew import messages

    said = ", ".join(f"{ending(leak.shown, 80)} ({leak.how})" for leak in leaks[:_TOLD_AT_ONCE])
    more = f" and {len(leaks) - _TOLD_AT_ONCE} more" if len(leaks) > _TOLD_AT_ONCE else ""
    first = next((leak for leak in leaks if leak.restorable), None)
    back = "Read it again." if first is None else f"clearway restore {typed(first.shown)} brings back what you left."
    text = f"A call of {folded(tx.caller.agent, 40)} changed what you hold: {said}{more}. {back}"
    messages.put(tx, agent, session, text)


def _leak(tx: Tx, row: Row, change: Change, where: dict[str, Any], *, later: bool) -> Leak:
    """Whoever had a call open when it happened is told; the log and the holder hear of it once."""
    restorable = row.kept != snapshots.PRINT
    if row.noticed != change.seen[1]:
        event = _tell(tx, "path_leaked", row, change, where, holder=row.agent)
        if later:
            notify(tx, tx.caller.key, event)
    tx.change(SQL.note_leak, session=tx.caller.key, agent=tx.caller.agent, digest=change.digest, now=tx.now, **where)
    return Leak(row.shown, row.agent, change.how, restorable=restorable)


def _tell(
    tx: Tx, told: str, row: Row, change: Change, where: dict[str, Any], *, by: Row | None = None, **more: Any
) -> int:
    paths = [{"path": row.shown, "checkout": where["checkout"]}]
    event = tx.tell(told, by=by, how=change.how, paths=paths, kept=row.kept, **more)
    tx.change(SQL.notice_change, modified=change.seen[1], event=event, **where)
    if not row.named:  # a named holder has no hooks: the log has it
        notify(tx, row.session, event)
    return event


def _was_at_work(tx: Tx, session: str) -> bool:
    """Whether the holder has a call open that may have done it."""
    call = tx.calls.newest(session, acting=True)
    return call is not None and tx.clock.monotonic() - call.at < OPEN_CALL_HOLDS_MS


def _is_mine(tx: Tx, row: Row) -> bool:
    return row.session == tx.caller.key or (row.agent == tx.caller.agent and bool(row.named or tx.caller.named))


def context(leaks: list[Leak], root: str, cwd: str) -> str:
    """What the actor reads after its call: what happened, and the command that undoes it."""
    if not leaks:
        return ""
    said = [
        f"{ending(_from(root, leak.shown, cwd), 80)} ({leak.how}; held by {folded(leak.holder, 40)})"
        for leak in leaks[:_TOLD_AT_ONCE]
    ]
    more = f" and {len(leaks) - _TOLD_AT_ONCE} more" if len(leaks) > _TOLD_AT_ONCE else ""
    first = next((leak for leak in leaks if leak.restorable), None)
    text = f"[clearway] While this call ran, what others hold was changed: {', '.join(said)}{more}."
    if first is not None:
        command = f"clearway restore {typed(_from(root, first.shown, cwd))}"
        text += f" Unless it was agreed, undo it: {command}"
    else:
        text += " It was too large to be kept: tell its holder."
    return within(text, NEWS_BYTES_MAX)


def _from(root: str, shown: str, cwd: str) -> str:
    return os.path.relpath(os.path.join(root, shown), cwd) if os.path.isabs(cwd) else shown


# --- bringing back ------------------------------------------------------------------------------------------------


def find(tx: Tx, checkout: str, key: str) -> Row | None:
    """The snapshot of a path, or None."""
    return tx.one(SQL.find, checkout=checkout, path=key)


def may_restore(tx: Tx, checkout: str, row: Row) -> str | None:
    """Why the caller may bring a path back: it is the `holder`, it `changed` it, or it is the `human`; or None."""
    if tx.caller.human:
        return "human"
    if _is_mine(tx, row):
        return "holder"
    found = tx.one(SQL.leak_by, checkout=checkout, path=row.path, session=tx.caller.key)
    return None if found is None else "changed"


def made_by(tx: Tx, checkout: str, key: str) -> str:
    """The digest of what the calling session made of a path by a leak; empty of what it deleted."""
    found = tx.one(SQL.leak_by, checkout=checkout, path=key, session=tx.caller.key)
    return "" if found is None else found.digest


def restored(tx: Tx, checkout: str, row: Row, seen: Seen) -> None:
    """It is as its holder left it again."""
    size, modified, inode = seen
    where = {"checkout": checkout, "path": row.path}
    current = tx.one(SQL.find, **where)
    if current is None or current.digest != row.digest:
        return  # the holder has written since
    if current.told is not None:
        tx.change(SQL.withdraw, session=current.session, event=current.told)
    tx.change(SQL.forget_leaks, **where)
    tx.change(SQL.touched, size=size, modified=modified, inode=inode, digest=row.digest, **where)
    tx.tell("path_restored", holder=row.agent, paths=[{"path": row.shown, "checkout": checkout}])


def begun_at(tx: Tx, at: int) -> int:
    """When a call began (room ms). at: its time on the machine's clock."""
    return tx.now - max(0, tx.clock.monotonic() - at)
