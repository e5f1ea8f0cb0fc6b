"""What a session is told once, at its next hook: that it lost a lease without its doing, and who is at the work now;
and that a file it holds was changed by others.

The log says what happened (lapse.py notes which of its events are news to whom); here it becomes a few lines for a
model to read. A path that lapsed and is still free is no news: the next edit takes it again.
"""

from __future__ import annotations

import os

from clearway import clock, lapse, paths, wire
from clearway.crew import leases, messages
from clearway.db import Row, statements
from clearway.limits import NEWS_BYTES_MAX, NOTICES_SHOWN
from clearway.untrusted import ending, folded, quoted, typed, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
_READ_MAX = 50
_OF_MESSAGES = frozenset({"message_sent", "message_taken", "task_leased"})
_HOW = {
    "lapse": "lapsed at {at} (no sign of life in time)",
    "death": "was given up at {at} (its process had ended)",
    "forced": "was taken away at {at} by the human",
}


class Unseen:
    """What has befallen the caller: the `text` for it, empty if none of it matters any more, and which `events`."""

    __slots__ = ("events", "text")

    def __init__(self, text: str, events: list[int]) -> None:
        self.text = text
        self.events = events


def unseen(tx: Tx) -> Unseen | None:
    """What the calling session has not been told yet. The door knows whether there is anything."""
    if not tx.opening.notices:
        return None
    rows = tx.all(SQL.unseen, session=tx.caller.key, limit=_READ_MAX)
    losses = [row for row in rows if row.type not in _OF_MESSAGES]
    lines = [line for row in losses for line in _lines(tx, row)]
    shown = list(dict.fromkeys(lines))[:NOTICES_SHOWN]
    text = within("\n".join(f"[clearway] {line}" for line in shown), NEWS_BYTES_MAX)
    said = [row for row in rows if row.type in _OF_MESSAGES][:NOTICES_SHOWN]  # the others wait for the next hook
    text = "\n".join(
        filter(None, [text, *(f"[clearway] {line}" for row in said for line in messages.news_of(tx, row))])
    )
    return Unseen(text, [row.event for row in (*losses, *said)])


def seen(tx: Tx, events: list[int]) -> None:
    """They were told."""
    for event in events:
        tx.change(SQL.seen, session=tx.caller.key, event=event)
    messages.show(tx, events)


def _lines(tx: Tx, row: Row) -> list[str]:
    data: dict[str, Any] = wire.loads(row.data)
    if row.type == "paths_released":
        return _of_paths(tx, row, data)
    if row.type == "commit_over_lease":
        return [_of_commit(row, data)]
    if row.type == "work_rescued":
        return [_of_rescue(row, data)]
    if row.type in ("path_leaked", "path_changed_outside"):
        return _of_changed(tx, row, data)
    if row.type == "attempt_stuck":
        return _of_stillness(tx, row, data)
    if row.type in ("task_lapsed", "task_cancelled", "task_adopted", "task_moved"):
        return [_of_task(row, data)]
    return [_of_attempt(tx, row, data)] if row.number is not None else []


def _of_attempt(tx: Tx, row: Row, data: dict[str, Any]) -> str:
    holder = tx.one(SQL.holder, issue=row.issue)
    issue = f"ISSUE-{row.number} {quoted(row.title, 60)}"
    if row.type == "attempt_adopted":
        how = f"is held by another session, which showed its token, since {_at(row)}"
    else:
        how = _HOW.get(data.get("why", "forced"), _HOW["forced"]).format(at=_at(row))
    if holder is not None and holder.session == tx.caller.key:
        return f"Your lease on {issue} {how}; you have it again under a new attempt, so drop the old token."
    if holder is not None:
        return f"Your lease on {issue} {how}; {folded(holder.agent, 40)} works on it now. Stop: your result is refused."
    return f"Your lease on {issue} {how}; it is free. Stop, and claim it again if you mean to go on."


def _of_stillness(tx: Tx, row: Row, data: dict[str, Any]) -> list[str]:
    """It is alive and does not move. Nothing is said of what has ended meanwhile, or goes on."""
    attempt = lapse.current_attempt(tx)
    if attempt is None or attempt.id != row.attempt or attempt.warned_at is None:
        return []
    what = quoted(data.get("what", ""), 80)
    issue = f"ISSUE-{row.number} {quoted(row.title, 60)}"
    to = attempt.carried_to
    ends = "" if to is None else f"; your lease ends at {clock.local_time(tx.at(to))} unless you do"
    if data["why"] == lapse.COST:
        spent = folded(data["what"], 80)
        return [f"{issue} has cost {spent}. Finish it now, or save a checkpoint and finish as interrupted{ends}."]
    how = {
        lapse.STILL: f"for {data.get('minutes')} min no edit and no note came from you",
        lapse.FAILING: f"{what} has failed {data.get('times')} times",
        lapse.CIRCLING: f"the same edit of {what} was made {data.get('times')} times and taken back in between",
    }[data["why"]]
    ways = "Save a note on what is in the way and go another way, or finish as failed with what you know"
    return [f"{issue} does not move: {how}. A person is told. {ways}{ends}."]


def _of_task(row: Row, data: dict[str, Any]) -> str:
    task, who = f"task #{data['task']}", folded(row.agent, 40)
    if row.type == "task_lapsed":
        how = _HOW[data["why"]].format(at=_at(row))
        return f"Your lease on {task} {how}. Stop; accept_message {data['task']} takes it again if it is still free."
    if row.type == "task_moved":
        why = "you gave no sign of life" if data["why"] == "silent" else "you were at your provider's limit"
        now = folded(data["to"], 40)
        return f"Your {task} went to {now} at {_at(row)}, since {why}. Leave it to {now}: your result is refused."
    if row.type == "task_cancelled":
        return f"Your {task} was cancelled by {who} at {_at(row)}. Stop working on it."
    return f"Your {task} is held by {who}, which showed its token, since {_at(row)}. Stop: your result is refused."


def _of_paths(tx: Tx, row: Row, data: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for lease in data["paths"][:_READ_MAX]:
        place: Any = Row(checkout=lease["checkout"], key=paths.key(lease["path"]), file=None, seats=1)
        others = leases.conflicting(tx, place, "edit")
        how = _HOW[data["why"]].format(at=_at(row))
        shown = ending(lease["path"], 80)
        if others:
            holder = folded(others[0].agent, 40)
            lines.append(
                f"Your lease on {shown} {how}; {holder} holds it now. Stop editing it, and read it again first."
            )
        elif data["why"] == "forced":
            lines.append(f"Your lease on {shown} {how}. Stop editing it, and ask before you take it again.")
    return lines


def _of_commit(row: Row, data: dict[str, Any]) -> str:
    more = f" and {len(data['paths']) - 1} more" if len(data["paths"]) > 1 else ""
    return (
        f"{folded(data['maker'], 40)} committed {ending(data['paths'][0], 80)}{more}, which you had, at {_at(row)} "
        f"({data['commit'][:10]}). Look at that commit before you go on."
    )


def _of_rescue(row: Row, data: dict[str, Any]) -> str:
    """A command ran over files that were written and not committed (guard/gitguard.py)."""
    shown = ", ".join(ending(each["path"], 60) for each in data["paths"][:3])
    return (
        f"{folded(data['command'], 40)} of {folded(row.agent, 40)} ran at {_at(row)} over {shown}. Read them again; "
        f"what you had comes back with git restore --source={folded(data['ref'], 60)} -- PATH."
    )


def _of_changed(tx: Tx, row: Row, data: dict[str, Any]) -> list[str]:
    """A held file is not as its holder left it (guard/leaks.py)."""
    lines: list[str] = []
    for each in data["paths"]:
        known = tx.one(SQL.root, checkout=each["checkout"])
        shown, cwd = str(each["path"]), tx.caller.cwd
        if known is not None and known.root and os.path.isabs(cwd):
            shown = os.path.relpath(os.path.join(str(known.root), shown), cwd)
        if row.type == "path_leaked" and row.session == tx.caller.key:
            held = f"{ending(shown, 80)}, held by {folded(data['holder'], 40)}, was {folded(data['how'], 20)}"
            lines.append(f"{held} by a call of yours that is over. Undo it: clearway restore {typed(shown)}")
            continue
        text = f"{ending(shown, 80)}, which you hold, was {folded(data['how'], 20)} at {_at(row)}"
        if row.type == "path_leaked":
            text += f" by a call of {folded(row.agent, 40)}."
        else:
            text += ", not by a call of another agent that is known: by somebody outside, or by a call of yours."
        if data.get("kept") == "print":
            lines.append(f"{text} It was too large to be kept; read it again.")
        else:
            lines.append(f"{text} Read it again; clearway restore {typed(shown)} brings back what you left.")
    return lines


def _at(row: Row) -> str:
    return clock.local_time(row.at)
