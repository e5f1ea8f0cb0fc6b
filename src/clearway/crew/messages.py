"""What agents say to each other: sent once, shown once, answered or reminded of.

A message is to an agent, to one of its sessions, or to everybody. It is queued until a hook or the inbox has shown it,
seen until somebody takes it, and done when it was answered; what can reach nobody goes back to its sender. Its text
stands in no event, and only sender, recipient and the human can read it. Secrets are taken out before it is stored.
"""

from __future__ import annotations

from clearway import caps, clock, lapse, wire
from clearway.config import RESERVED_NAMES
from clearway.crew import screening
from clearway.crew.agents import works_for
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import PRIORITIES
from clearway.limits import (
    INBOX_CHARS,
    MESSAGES_SHOWN,
    REMINDED_MS,
    REMINDERS_SHOWN,
    SHOWN_CHARS_MAX,
    WAKES_MAX,
    WAKES_WITHIN_MS,
)
from clearway.op import op
from clearway.untrusted import folded, quoted, redacted, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        DedupeKey,
        InboxLimit,
        IssuePaths,
        IssueRef,
        MessageKind,
        MessageRef,
        MessageText,
        Note,
        Priority,
        Recipient,
        SecondsAgo,
        SinceMessage,
        Within,
        Yes,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)
EVERYBODY = "*"
_NOBODY = RESERVED_NAMES - {"human", EVERYBODY}  # names that no agent can have, and behind which nobody reads
_ANSWERED = frozenset({"chat", "task", "control"})  # what somebody has to take
_OPEN = frozenset({"queued", "seen"})
_NEAR_NAMES = 3
_MORE = "[clearway] There are more messages, which come later; read_inbox shows all."
_REMINDER_BYTES = 130  # of one message in a reminder, and of the words around all
_READ_FOR_WAKING = 50
_URGENT_CHARS = 400  # of an urgent message between tool calls


@op(
    writes=True,
    group="crew",
    core=True,
    keyed="agent",
    cli="send",
    rare=("expires_in", "not_before", "dedupe_key", "paths"),
)
def send_message(
    tx: Tx,
    to: Recipient,
    text: MessageText,
    kind: MessageKind = "chat",
    priority: Priority = "medium",
    reply_to: MessageRef | None = None,
    issue_id: IssueRef | None = None,
    expires_in: Within | None = None,
    not_before: Within | None = None,
    dedupe_key: DedupeKey | None = None,
    paths: IssuePaths | None = None,
) -> dict[str, Any]:
    """Tell another agent something; it reads it at its next turn, critical ones between tool calls.

    to: an agent, agent#session, or * for all.
    paths: what a task is expected to change; it waits while others hold that.
    """
    agent, hash_sign, part = to.partition("#")
    name, session = agent, None
    if dedupe_key is not None:
        known = tx.one(SQL.known_key, sender=tx.caller.agent, key=dedupe_key)
        if known is not None:
            return _sent_before(known, agent, text)
    warnings: list[str] = []
    if hash_sign:
        session = _session(tx, name, part)
    elif name in _NOBODY:
        raise Refusal("RESERVED_NAME", f"Nobody reads what is sent to {name}; send to human, or to an agent.")
    elif name != EVERYBODY:
        warnings = _unknown(tx, name)
    answered = _answering(tx, reply_to)
    if name == EVERYBODY:
        if kind == "task":
            warnings = [
                "Nobody takes a task that is sent to *; all are told. Send it to one agent, or create an issue."
            ]
        kind = "broadcast"
    _check_task(tx, kind, paths)
    issue = None if issue_id is None else issue_named(tx, issue_id)
    event = _store(
        tx,
        kind=kind,
        recipient=name,
        recipient_session=session,
        text=redacted(text),
        priority=PRIORITIES.index(priority),
        reply_to=None if answered is None else answered.id,
        issue=issue,
        dedupe_key=dedupe_key,
        held_back=_held_back(tx, text),
        not_before=tx.now + (not_before or 0),
        expires_at=None if expires_in is None else tx.now + expires_in,
    )
    if kind == "task":
        from clearway.crew import taskleases  # no hook gives or takes a task

        taskleases.create(tx, event, paths or [])
    closes = answered is not None and answered.kind != "task"  # a task ends with the word of who has it
    if answered is not None and closes and answered.state != "done" and _is_to_me(tx, answered):
        tx.change(SQL.take, id=answered.id, state="done", session=tx.caller.key, note=answered.note, wall=tx.wall)
        tx.change(SQL.told, session=tx.caller.key, id=answered.id)
    settle(tx)
    return {"message_id": event, "state": "queued", **({"warnings": warnings} if warnings else {})}


@op(writes=True, group="crew", core=True, durable=False, cli="inbox", rare=("all", "since_id"))
def read_inbox(
    tx: Tx,
    message_id: MessageRef | None = None,
    since_id: SinceMessage = 0,
    limit: InboxLimit = 20,
    all: Yes = False,
) -> dict[str, Any]:
    """Read your messages, newest first; with message_id one of them in full."""
    if message_id is not None:
        found = _readable(tx, message_id)
        show(tx, [found.id])
        return {"items": [item(tx, found, chars=None)], "has_more": False}
    if all and not tx.caller.human:
        raise Refusal("FORBIDDEN", "Only the human reads the messages of everybody; leave out all.")
    rows = tx.all(
        SQL.inbox,
        agent=tx.caller.agent,
        session=tx.caller.key,
        since=since_id,
        all=int(all or tx.caller.human),
        limit=limit + 1,
    )
    shown = rows[:limit]
    show(tx, [row.id for row in shown if _is_to_me(tx, row) or row.recipient == EVERYBODY])
    return {"items": [item(tx, row) for row in shown], "has_more": len(rows) > limit}


@op(writes=True, group="crew", core=True, cli="accept")
def accept_message(tx: Tx, message_id: MessageRef, note: Note | None = None) -> dict[str, Any]:
    """Take what a message asks; its sender is told, with your note. A task answers its lease_token."""
    message = _readable(tx, message_id)
    if not _is_to_me(tx, message):
        raise _not_to_me(message)
    if message.kind not in _ANSWERED:
        show(tx, [message.id])
        return {"message_id": message.id, "state": "done" if message.kind == "result" else "seen"}
    if message.held_back is not None:
        raise Refusal(
            "FORBIDDEN", f"Message #{message.id} waits for the human to read it first.", message_id=message.id
        )
    if message.kind == "task":
        return take_task(tx, message, note)
    if message.state not in _OPEN:
        if message.taken_by == tx.caller.key:
            return {"message_id": message.id, "state": message.state}
        raise Refusal(
            "NOT_YOURS",
            f"Message #{message.id} was taken by another session; there is nothing to do about it.",
            message_id=message.id,
            state=message.state,
        )
    _take(tx, message, note)
    event = tx.tell("message_taken", message=message.id, to=message.sender)
    lapse.notify(tx, message.sender_session, event)
    return {"message_id": message.id, "state": "taking"}


def take_task(tx: Tx, message: Row, note: str | None = None, lease_seconds: int | None = None) -> dict[str, Any]:
    """The caller takes a task, or has it already: with its lease."""
    from clearway.crew import quotas, taskleases

    settle(tx)  # its time may be over
    if message.state in _OPEN:
        caps.check(tx)
    lease = taskleases.take(tx, message, lease_seconds)
    if message.state in _OPEN:
        _take(tx, message, note)
        quotas.trying(tx, message.id)
    return {"message_id": message.id, "state": "taking", **lease}


@op(group="crew", cli="overdue", tool=False)
def overdue(tx: Tx, seconds: SecondsAgo = 120) -> dict[str, Any]:
    """Addressed messages that nobody has taken for so long, and where they got stuck.

    seconds: how long ago they were sent at least.
    """
    rows = tx.all(SQL.late, before=tx.now - seconds * 1_000, limit=200)
    return {"items": [{**item(tx, row), "problem": _problem(row)} for row in rows if _may_read(tx, row)]}


@op(writes=True, group="crew", cli="message release", tool=False)
def release_message(tx: Tx, message_id: MessageRef) -> dict[str, Any]:
    """Let a message go to its recipient that was held back for you to read first."""
    if not tx.caller.human:
        raise Refusal("FORBIDDEN", "Only the human lets go what was held back for the human.")
    message = _readable(tx, message_id)
    if message.held_back is not None:
        tx.change(SQL.let_go, id=message.id)
        tx.tell("message_released", message=message.id)
    return {"message_id": message.id, "state": message.state}


class Unread:
    """What a session is to be told of its messages: the `text`, empty if nothing, and `ids`, those it shows."""

    __slots__ = ("ids", "text")

    def __init__(self, text: str, ids: list[int]) -> None:
        self.text = text
        self.ids = ids


def unread(tx: Tx, bytes_max: int) -> Unread:
    """What has come for the calling session and was not shown to it yet, the newest as far as there is room; and what
    still waits for its answer. bytes_max: how long the text may be."""
    asked = {"session": tx.caller.key, "now": tx.now, "limit": MESSAGES_SHOWN + 1}
    rows = tx.all(SQL.addressed, agent=tx.caller.agent, **asked) + tx.all(SQL.broadcast, **asked)
    rows.sort(key=lambda row: row.id, reverse=True)
    lines: list[str] = []
    ids: list[int] = []
    left = bytes_max
    for row in rows[:MESSAGES_SHOWN]:
        text = line(row)
        if lines and len(text.encode()) + len(_MORE) + 2 > left:
            break
        text = within(text, left)
        left -= len(text.encode()) + 1
        lines.append(text)
        ids.append(row.id)
    if len(ids) < len(rows):
        lines.append(_MORE)
    lines.reverse()
    reminder = _reminder(tx, frozenset(row.id for row in rows), left)
    return Unread("\n".join([*lines, *reminder]), ids)


def show(tx: Tx, ids: list[int]) -> None:
    """They were shown to the calling session."""
    for id in ids:
        message = tx.one(SQL.find, id=id)
        if message is None or message.sender_session == tx.caller.key:
            continue
        tx.change(SQL.told, session=tx.caller.key, id=id)
        if message.recipient == EVERYBODY:
            tx.change(SQL.heard, session=tx.caller.key, id=id)
        elif _is_to_me(tx, message):
            tx.change(SQL.shown, session=tx.caller.key, id=id, wall=tx.wall)
            if tx.change(SQL.seen, id=id, wall=tx.wall):
                tx.tell("message_seen", message=id, to=message.sender)


def line(message: Row, chars: int = SHOWN_CHARS_MAX) -> str:
    """A message as a model is told of it: who says it first, and the whole of it on one line that it cannot leave."""
    where = "everybody" if message.recipient == EVERYBODY else folded(message.recipient, 40)
    where += "" if message.addressed_to is None else f" (it was {folded(message.addressed_to, 40)}'s, which cannot)"
    urgent = "urgent " if _is_urgent(message.kind, message.priority) else ""
    head = (
        f"[clearway] Message #{message.id}, {urgent}{message.kind} from {_sender(message)} to {where}, {_at(message)}"
    )
    if message.reply_to is not None:
        head += f", answering #{message.reply_to}"
    if message.held_back is not None:
        return f"{head}, is held back until a person has read it: {message.held_back}."
    head += " (another agent's words, not your user's)" if message.sender != "human" else ""
    rest = f" (read_inbox {message.id} has all of it)" if len(message.text) > chars else ""
    return f"{head}: {quoted(message.text, chars)}{rest}"


def news_of(tx: Tx, row: Row) -> list[str]:
    """What an event about a message tells the session it is for: an urgent one itself, or who has taken one's own."""
    message = tx.one(SQL.find, id=row.event if row.type == "message_sent" else wire.loads(row.data)["message"])
    if message is None:
        return []
    if row.type == "message_sent":
        is_open = message.state in _OPEN or message.recipient == EVERYBODY
        return [line(message, _URGENT_CHARS).removeprefix("[clearway] ")] if is_open else []
    note = f": {quoted(message.note, 300)}" if message.note else ""
    return [f"{folded(row.agent, 40)} has taken your message #{message.id}{note}."]


def waking(tx: Tx) -> list[Row]:
    """A read: what has come for the calling session, was not shown to it, and is worth a turn. An agent that has woken
    it too often lately waits for its next turn; a person is no loop."""
    rows = tx.all(SQL.addressed, agent=tx.caller.agent, session=tx.caller.key, now=tx.now, limit=_READ_FOR_WAKING)
    rows = [row for row in rows if row.kind in _ANSWERED and row.held_back is None]
    if not rows:
        return []
    woken = {row.sender: row.count for row in tx.all(SQL.wakes, session=tx.caller.key, since=tx.now - WAKES_WITHIN_MS)}
    return [row for row in rows if row.sender == "human" or woken.get(row.sender, 0) < WAKES_MAX]


def next_due(tx: Tx) -> int | None:
    """A read: in how many ms a message that waits for its time comes due, at the earliest."""
    row = tx.one(SQL.next_due, agent=tx.caller.agent, now=tx.now)
    return None if row is None or row.at is None else row.at - tx.now


def woke(tx: Tx, found: list[Row]) -> None:
    """The calling session was woken by these."""
    for sender in dict.fromkeys(row.sender for row in found):
        tx.change(SQL.note_wake, session=tx.caller.key, sender=sender, now=tx.now)
    tx.change(SQL.forget_wakes, since=tx.now - WAKES_WITHIN_MS)


def handed(tx: Tx, found: list[Row]) -> list[dict[str, Any]]:
    """These are given to the calling session now: as a list shows them, and no hook shows them again."""
    show(tx, [row.id for row in found])
    return [item(tx, row) for row in reversed(found)]


def are_overdue(tx: Tx) -> bool:
    """A read: whether something is to go back that nobody will read any more."""
    return bool(tx.all(SQL.undeliverable, now=tx.now))


def settle(tx: Tx) -> None:
    """What nobody will read any more goes back to who sent it."""
    found = {message.id: message for message in tx.all(SQL.undeliverable, now=tx.now)}
    for message in found.values():
        expired = message.expires_at is not None and message.expires_at <= tx.now
        why = "its time ran out" if expired else "that session has ended"
        _return(tx, message, "who took it was lost too often" if message.dead_letter else why)


def retired(tx: Tx, agent: str) -> int:
    """An agent will not come back: what waits for it goes back to who sent it. How many."""
    waiting = tx.all(SQL.of_retired, agent=agent)
    for message in waiting:
        _return(tx, message, f"{agent} was retired")
    return len(waiting)


def newest(tx: Tx, count: int) -> list[dict[str, Any]]:
    """The newest messages that the caller may read, for the room."""
    rows = tx.all(
        SQL.inbox,
        agent=tx.caller.agent,
        session=tx.caller.key,
        since=0,
        all=int(tx.caller.human),
        limit=count,
    )
    return [item(tx, row, chars=200) for row in rows]


def waiting(tx: Tx) -> list[dict[str, Any]]:
    """What somebody has to take and the caller was shown."""
    return [item(tx, row, chars=120) for row in _waiting(tx)]


def item(tx: Tx, message: Row, *, chars: int | None = INBOX_CHARS) -> dict[str, Any]:
    """A message as lists show it. chars: of its text at most; None for all."""
    hidden = message.held_back is not None and not tx.caller.human
    text = "" if hidden else message.text
    shown: dict[str, Any] = {
        "message_id": message.id,
        "from": message.sender,
        "to": message.recipient
        if message.recipient_session is None
        else f"{message.recipient}#{message.recipient_session}",
        "kind": message.kind,
        "text": text if chars is None or len(text) <= chars else text[:chars],
        "at": clock.iso(message.sent_wall),
        "state": message.state,
    }
    if chars is not None and len(text) > chars:
        shown["truncated"] = True
    if message.priority != PRIORITIES.index("medium"):
        shown["priority"] = PRIORITIES[message.priority]
    if message.reply_to is not None:
        shown["reply_to"] = message.reply_to
    if message.issue is not None:
        found = tx.one(SQL.issue_name, id=message.issue)
        if found is not None:
            shown["issue_id"] = f"ISSUE-{found.number}"
    if message.held_back is not None:
        shown["held_back"] = message.held_back
    if message.note is not None:
        shown["note"] = message.note
    return shown


def put(tx: Tx, agent: str, session: str | None, text: str) -> None:
    """Something that has befallen an agent, into its inbox. session: the one that its hooks tell of it anyway."""
    medium = PRIORITIES.index("medium")
    facts: dict[str, Any] = dict.fromkeys(("reply_to", "issue", "dedupe_key", "held_back", "expires_at"))
    facts |= {"kind": "result", "recipient": agent, "recipient_session": session, "text": text, "priority": medium}
    id = _store(tx, sender="clearway", not_before=tx.now, **facts)
    if session is not None:
        tx.change(SQL.shown, session=session, id=id, wall=tx.wall)
        tx.change(SQL.seen, id=id, wall=tx.wall)


def _store(tx: Tx, *, sender: str | None = None, **facts: Any) -> int:
    """One new message; its number is that of its event."""
    told = {name: facts[name] for name in ("kind", "reply_to") if facts.get(name) is not None}
    if facts["held_back"]:
        told["held_back"] = True
    event = tx.tell("message_sent", to=facts["recipient"], priority=PRIORITIES[facts["priority"]], **told)
    tx.change(
        SQL.send,
        id=event,
        sender=sender or tx.caller.agent,
        sender_session=tx.caller.key if sender is None else sender,
        now=tx.now,
        wall=tx.wall,
        **facts,
    )
    if _is_urgent(facts["kind"], facts["priority"]) and facts["not_before"] <= tx.now:
        for session in _recipients(tx, facts["recipient"], facts["recipient_session"]):
            if session != tx.caller.key:
                lapse.notify(tx, session, event)
    return event


def _recipients(tx: Tx, agent: str, session: str | None) -> list[str]:
    if session is not None:
        return [session]
    if agent == EVERYBODY:
        return [row.id for row in tx.all(SQL.everybody, session=tx.caller.key)]
    return [row.id for row in tx.all(SQL.open_sessions, agent=agent)]


def _return(tx: Tx, message: Row, why: str) -> None:
    tx.change(SQL.give_up, id=message.id)
    tx.tell("message_undeliverable", message=message.id, to=message.recipient)
    if message.kind == "result":  # nobody asked, and an answer to an answer has no end
        return
    if message.kind == "task":
        from clearway.crew import taskleases

        taskleases.give_up(tx, message.id)
    text = f"Your {_what(message)} #{message.id} to {message.recipient} came back: {why}. It said: {message.text[:200]}"
    answer(tx, message, text, sender="clearway")


def answer(tx: Tx, message: Row, text: str, *, sender: str | None = None) -> int:
    """What became of a message, to who sent it; its number. sender: if it is not the caller who says it."""
    return _store(
        tx,
        sender=sender,
        kind="result",
        recipient=message.sender,
        recipient_session=None,
        text=redacted(text),
        priority=PRIORITIES.index("medium"),
        reply_to=message.id,
        issue=message.issue,
        dedupe_key=None,
        held_back=_held_back(tx, text) if sender is None else None,
        not_before=tx.now,
        expires_at=None,
    )


def _take(tx: Tx, message: Row, note: str | None) -> None:
    show(tx, [message.id])
    note = None if note is None else redacted(note)
    tx.change(SQL.take, id=message.id, state="taking", session=tx.caller.key, note=note, wall=tx.wall)


def _what(message: Row) -> str:
    return "task" if message.kind == "task" else "message"


def _check_task(tx: Tx, kind: str, paths: list[str] | None) -> None:
    from clearway.crew import taskleases

    if kind != "task":
        if paths:
            what = "go with a task only"
            raise Refusal(
                "INVALID_ARGUMENT",
                f"send_message: paths {what}.",
                [{"field": "paths", "code": "FORBIDDEN", "message": what}],
            )
    elif not taskleases.may_ask(tx):
        raise Refusal(
            "FORBIDDEN",
            f"{folded(tx.caller.agent, 40)} may not give tasks in this room (task_senders); send a chat message.",
        )


def _reminder(tx: Tx, new: frozenset[int], left: int) -> list[str]:
    rows = [row for row in _waiting(tx) if row.id not in new][: max(0, left // _REMINDER_BYTES - 1)]
    if not rows:
        return []
    named = "; ".join(f"#{row.id} from {_sender(row)} {quoted(row.text, 60)}" for row in rows)
    return [f"[clearway] Waiting for your answer (accept_message, or send_message with reply_to): {named}."]


def _waiting(tx: Tx) -> list[Row]:
    return tx.all(
        SQL.waiting,
        agent=tx.caller.agent,
        session=tx.caller.key,
        since=tx.now - REMINDED_MS,
        limit=REMINDERS_SHOWN,
    )


def _is_urgent(kind: str, priority: int) -> bool:
    return kind == "control" or PRIORITIES[priority] == "critical"


def _is_to_me(tx: Tx, message: Row) -> bool:
    mine = tx.caller.agent if message.kind != "task" else works_for(tx.caller.agent)
    return message.recipient in (tx.caller.agent, mine) and message.recipient_session in (None, tx.caller.key)


def _may_read(tx: Tx, message: Row) -> bool:
    return (
        tx.caller.human
        or message.recipient == EVERYBODY
        or tx.caller.agent in (message.sender, message.addressed_to)
        or _is_to_me(tx, message)
    )


def _not_to_me(message: Row) -> Refusal:
    if message.addressed_to is None:
        return Refusal("NOT_YOURS", f"Message #{message.id} is not to you.", message_id=message.id)
    now = folded(message.recipient, 40)
    said = f"Task #{message.id} went to {now} when you could not take it; leave it to {now}."
    return Refusal("NOT_YOURS", said, message_id=message.id, agent=message.recipient)


def _readable(tx: Tx, id: int) -> Row:
    """A message that the caller may know of. Of others' it is not even said that they exist."""
    message = tx.one(SQL.find, id=id)
    if message is None or not _may_read(tx, message):
        raise Refusal("MESSAGE_NOT_FOUND", "There is no such message for you; read_inbox shows yours.", message_id=id)
    return message


def _answering(tx: Tx, id: int | None) -> Row | None:
    return None if id is None else _readable(tx, id)


def issue_named(tx: Tx, reference: str) -> str:
    """The id of an issue as somebody writes it."""
    number = reference.strip().upper().rpartition("-")[2]
    by_number = number.isascii() and number.isdigit() and len(number) <= 15
    found = tx.one(SQL.issue, id=reference.strip().upper(), number=int(number) if by_number else -1)
    if found is None:
        raise Refusal(
            "ISSUE_NOT_FOUND", "There is no such issue; list_issues shows those there are.", issue=reference[:40]
        )
    return found.id


def _held_back(tx: Tx, text: str) -> str | None:
    return None if tx.caller.human else screening.suspicion(text) or None


def _sent_before(known: Row, recipient: str, text: str) -> dict[str, Any]:
    if recipient not in (known.recipient, known.addressed_to) or known.text != redacted(text):
        raise Refusal(
            "IDEMPOTENCY_CONFLICT",
            f"This dedupe_key was used for message #{known.id}, which says something else; use a new key.",
            message_id=known.id,
        )
    return {"message_id": known.id, "state": known.state}


def _session(tx: Tx, agent: str, part: str) -> str:
    """The session of an agent that these first or last letters of its id mean."""
    found = tx.all(SQL.sessions_of, agent=agent, part=part)
    here = [row.id for row in found if row.ended_at is None]
    if len(here) == 1:
        return here[0]
    if len(here) > 1:
        raise Refusal(
            "INVALID_ARGUMENT",
            f"Several sessions of {agent} begin or end with {folded(part, 40)}; write more of its id.",
        )
    ended = "has ended" if found else "is not here"
    raise Refusal("AGENT_NOT_FOUND", f"That session of {agent} {ended}; send to {agent} for whichever is next.")


def _unknown(tx: Tx, name: str) -> list[str]:
    """A name that nobody has had here may be a slip, or of one who comes later. One that was retired is neither."""
    agents = tx.all(SQL.agents)
    known = [row.agent for row in agents if row.listed]
    if name not in known and any(row.agent == name for row in agents):
        raise Refusal(
            "AGENT_NOT_FOUND", f"{name} was retired and has not come back; room shows who is here.", agent=name
        )
    if name in known or name == "human":
        return []
    from difflib import get_close_matches

    near = get_close_matches(name, known, _NEAR_NAMES)
    meant = f"; near names: {', '.join(near)}" if near else ""
    return [f"Nobody named {name} has been here yet; it waits for one{meant}."]


def _problem(message: Row) -> str:
    if message.held_back is not None:
        return "held back for the human"
    return "not delivered" if message.state == "queued" else "seen, not acknowledged"


def _sender(message: Row) -> str:
    session = message.sender_session
    if session in (message.sender, "") or message.sender == "human":
        return folded(message.sender, 40)
    return f"{folded(message.sender, 40)}#{folded(session, 80)[:12]}"


def _at(message: Row) -> str:
    return clock.local_time(message.sent_wall)
