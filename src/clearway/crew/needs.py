"""What waits for a person: each thing once, with a key that stays the same, why, and one thing to do.

It is gathered from what the room knows already - messages, tasks, issues, attempts, limits - and from notes that other
parts of the house leave here (`ask`). The notifier tells of it outside, by its keys; nothing here is sent anywhere.
"""

from __future__ import annotations

from clearway import clock, lapse, policy
from clearway.crew import quotas
from clearway.crew.agents import WORKERS, presence
from clearway.db import statements
from clearway.lifecycle import REPEATED_FAILURES
from clearway.limits import NEEDS_MAX_SHOWN, NEEDS_WITHIN_MS, REVIEW_WAITS_MS
from clearway.op import op
from clearway.untrusted import folded, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import SecondsAgo
    from clearway.db.tx import Tx

SQL = statements(__file__)
_CHARS = 200  # of another's words
_ENDED = {"failed": "failed", "needs_review": "is to be reviewed", "dead_letter": "was given up"}
# What the web room and the lists show by themselves, so that the answer of `room` need not.
SEEN = frozenset({"failures", "question", "message", "held_back", "overdue", "task", "review"})


@op(group="crew", cli="needs", tool=False)
def needs_you(tx: Tx, overdue_seconds: SecondsAgo | None = None) -> dict[str, Any]:
    """List what waits for a person: questions, failures, limits, messages, and what to do about each. For the human.

    overdue_seconds: messages of agents to each other count when nobody has taken them for so long.
    """
    policy.only_the_human(tx, "is shown what waits for the human")
    return {"items": listed(tx, overdue_seconds)}


def ask(tx: Tx, key: str, kind: str, text: str, *, agent: str | None = None, issue: str | None = None) -> None:
    """Something waits for a person that stands in no other table. key: the same thing is asked once."""
    event = tx.last_event
    facts = {"kind": kind, "agent": agent, "issue": issue, "text": folded(text, 2 * _CHARS)}
    tx.change(SQL.ask, key=f"{kind}:{key}", event=event, wall=tx.wall, **facts)


def over(tx: Tx, key: str, kind: str) -> bool:
    """It waits no more; whether it did."""
    return bool(tx.change(SQL.over, key=f"{kind}:{key}"))


def listed(tx: Tx, overdue_seconds: int | None = None) -> list[dict[str, Any]]:
    """A read: all that waits for a person, the newest first of each kind."""
    late = policy.seconds(tx, "notify.overdue_seconds") if overdue_seconds is None else overdue_seconds
    found = [*_issues(tx), *_questions(tx), *_messages(tx, late), *_tasks(tx), *_limits(tx), *_moves(tx)]
    return [*found, *_noted(tx), *_stuck(tx), *_reviews(tx), *_blocked(tx)][:NEEDS_MAX_SHOWN]


def _need(kind: str, key: object, text: str, next: str, at: int | None = None, **facts: Any) -> dict[str, Any]:
    shown = {"key": f"{kind}:{key}", "kind": kind, "text": text, "next": next}
    return {**shown, **({} if at is None else {"at": clock.iso(at)}), **facts}


def _issues(tx: Tx) -> list[dict[str, Any]]:
    needs: list[dict[str, Any]] = []
    for issue in tx.all(SQL.failing, limit=NEEDS_MAX_SHOWN):
        last = tx.all(SQL.last_attempts, issue=issue.id, forgiven=issue.forgiven, limit=REPEATED_FAILURES)
        if len(last) < REPEATED_FAILURES or any(row.status not in ("failed", "expired") for row in last):
            continue
        name = f"ISSUE-{issue.number}"
        who = ", ".join(dict.fromkeys(folded(row.agent, 40) for row in last))
        text = f"{name} {quoted(issue.title, 80)} failed {REPEATED_FAILURES} times in a row ({who})"
        key = f"{issue.id}:{issue.forgiven}"
        needs.append(_need("failures", key, text, f"clearway why {name}", last[0].finished_wall, issue_id=name))
    return needs


def _questions(tx: Tx) -> list[dict[str, Any]]:
    """Questions that nobody is asked, or the person."""
    return [
        _need(
            *("question", issue.id, f"ISSUE-{issue.number} asks {quoted(issue.title, _CHARS)}"),
            *(f"clearway issue show ISSUE-{issue.number}", issue.created_wall),
            issue_id=f"ISSUE-{issue.number}",
        )
        for issue in tx.all(SQL.questions, human=policy.value(tx, "human"), now=tx.now, limit=NEEDS_MAX_SHOWN)
    ]


def _messages(tx: Tx, late: int) -> list[dict[str, Any]]:
    needs: list[dict[str, Any]] = []
    here: dict[str, bool] = {}
    rows = tx.all(SQL.messages, human=policy.value(tx, "human"), before=tx.now - late * 1_000, limit=NEEDS_MAX_SHOWN)
    for row in rows:
        facts = {"message_id": row.id, "at": row.sent_wall}
        sender, to = folded(row.sender, 40), folded(row.recipient, 40)
        if row.held_back is not None:
            text = f"Message #{row.id} from {sender} to {to} is held back for you: {folded(row.held_back, 80)}"
            needs.append(_need("held_back", row.id, text, f"clearway inbox --message-id {row.id}", **facts))
        elif row.for_human:
            what = "asks for" if row.kind == "task" else "writes"
            text = f"{sender} {what} (#{row.id}): {quoted(row.text, _CHARS)}"
            needs.append(_need("message", row.id, text, f"clearway inbox --message-id {row.id}", **facts))
        elif row.kind != "task" or not _is_here(tx, here, row.recipient):
            seen = "has not seen" if row.state == "queued" else "has seen and not taken"
            text = f"{to} {seen} {row.kind} #{row.id} of {sender}: {quoted(row.text, 80)}"
            needs.append(_need("overdue", row.id, text, "clearway overdue", **facts))
    return needs


def _is_here(tx: Tx, known: dict[str, bool], agent: str) -> bool:
    """Whether an agent, or a worker of it, is there to do its tasks one after the other."""
    if agent not in known:
        from clearway.crew import roster  # knows far more than a prompt asks, which counts what waits

        rows = [row for name in (agent, *(agent + end for end in WORKERS)) for row in tx.all(SQL.sessions, agent=name)]
        known[agent] = any(roster.is_running(tx, row) or presence(tx, row) != "offline" for row in rows)
    return known[agent]


def _tasks(tx: Tx) -> list[dict[str, Any]]:
    return [
        _need(
            *("task", f"{row.id}:{row.state}:{row.attempts}"),
            f"Task #{row.id} for {folded(row.recipient, 40)} {_ENDED[row.state]}: {quoted(row.text, 80)}",
            *(f"clearway task list --task-id {row.id}", row.ended_wall),
            task_id=row.id,
        )
        for row in tx.all(SQL.tasks, since=tx.wall - NEEDS_WITHIN_MS, limit=NEEDS_MAX_SHOWN)
    ]


def _limits(tx: Tx) -> list[dict[str, Any]]:
    needs: list[dict[str, Any]] = []
    for row in quotas.limited(tx).values():
        if not quotas.stops(tx, row):
            continue
        until = "and nobody knows until when"
        if row.until is not None and row.until > tx.now:
            until = f"until {clock.local_moment(tx.at(row.until), tx.wall)}"
        text = f"{folded(row.agent, 40)} is at its provider's limit {until}"
        text += f" ({folded(row.reason, 80)})" if row.reason else ""
        key = f"{row.agent}:{row.event}"
        needs.append(
            _need("limit", key, text, f"clearway provider clear {row.agent}", row.reported_wall, agent=row.agent)
        )
    return needs


def _moves(tx: Tx) -> list[dict[str, Any]]:
    return [
        _need(
            *("moved", row.event),
            f"Task #{row.task} went from {folded(row.source, 40)} to {folded(row.target, 40)} ({row.why})",
            *(f"clearway task list --task-id {row.task}", row.at),
            task_id=row.task,
        )
        for row in tx.all(SQL.moves, since=tx.wall - NEEDS_WITHIN_MS, limit=NEEDS_MAX_SHOWN)
    ]


def _noted(tx: Tx) -> list[dict[str, Any]]:
    needs: list[dict[str, Any]] = []
    for row in tx.all(SQL.noted, limit=NEEDS_MAX_SHOWN):
        name = None if row.number is None else f"ISSUE-{row.number}"
        next = "clearway room" if name is None else f"clearway why {name}"
        facts: dict[str, Any] = {} if name is None else {"issue_id": name}
        facts |= {} if row.agent is None else {"agent": row.agent}
        found = _need(row.kind, "", row.text, next, row.opened_wall, **facts)
        needs.append({**found, "key": row.key})
    return needs


def _stuck(tx: Tx) -> list[dict[str, Any]]:
    """Who is alive and does not get on."""
    return [
        _need(
            *("stuck", f"{row.id}:{row.warned_at}"),
            f"{folded(row.agent, 40)} does not get on: ISSUE-{row.number} {quoted(row.title, 60)} ({row.warned_why})",
            *(f"clearway why ISSUE-{row.number}", tx.at(row.warned_at)),
            issue_id=f"ISSUE-{row.number}",
        )
        for row in tx.all(SQL.stuck, gone=lapse.gone(tx)[1], limit=NEEDS_MAX_SHOWN)
    ]


def _reviews(tx: Tx) -> list[dict[str, Any]]:
    """Reviews that no agent has taken for a while."""
    return [
        _need(
            *("review", row.id, f"ISSUE-{row.number} {quoted(row.title, 80)} waits for a review"),
            *(f"clearway review show {row.id}", row.created_wall),
            issue_id=f"ISSUE-{row.number}",
        )
        for row in tx.all(SQL.reviews, before=tx.wall - REVIEW_WAITS_MS, limit=NEEDS_MAX_SHOWN)
    ]


def _blocked(tx: Tx) -> list[dict[str, Any]]:
    """What was lately put aside with a reason."""
    return [
        _need(
            *("blocked", f"{row.id}:{row.version}"),
            f"ISSUE-{row.number} {quoted(row.title, 80)} is blocked: {folded(row.blocked_reason, _CHARS)}",
            *(f"clearway why ISSUE-{row.number}", row.updated_wall),
            issue_id=f"ISSUE-{row.number}",
        )
        for row in tx.all(SQL.blocked, since=tx.wall - NEEDS_WITHIN_MS, limit=NEEDS_MAX_SHOWN)
    ]
