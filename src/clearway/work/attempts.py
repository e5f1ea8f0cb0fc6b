"""Attempts: possession of an issue for a time, and what is left behind for the next one.

An attempt is a lease on one issue. Whoever shows its id and token may act for it, from any session; the token is
derived, so the session that holds the attempt can be given it again, and only its hash is stored. A stale holder is
refused by what became of its attempt, and a result that comes too late is kept as evidence, never applied.
"""

from __future__ import annotations

from clearway import clock, lapse, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.leasing import attempt_lives_until, has_lapsed
from clearway.lifecycle import CLAIM_KIND, FAILED_ATTEMPTS, PRIORITIES, REPEATED_FAILURES, REVIEW_OUTCOMES, may_move
from clearway.limits import CONTEXT_BYTES, ISSUE_LEASE_SECONDS
from clearway.op import op
from clearway.untrusted import folded
from clearway.work import context as contexts
from clearway.work import issues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        Artifacts,
        AttemptRef,
        FailureCode,
        InterruptionCode,
        IssueRef,
        LeaseSeconds,
        LeaseToken,
        NoteKind,
        NoteText,
        Outcome,
        Reason,
        ReviewOutcome,
        Steps,
        Summary,
        TargetStatus,
        Yes,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)
EVIDENCE_CHARS = 4_000


@op(writes=True, core=True, keyed="session", cli="issue claim")
def claim_issue(
    tx: Tx,
    issue_id: IssueRef | None = None,
    next: Yes = False,
    lease_seconds: LeaseSeconds = ISSUE_LEASE_SECONDS,
    context: Yes = True,
) -> dict[str, Any]:
    """Take the lease on one ready issue and start working. Answers the lease_token to finish with, and the context.

    issue_id: the issue, as ISSUE-42 or its id.
    next: choose the best ready issue instead.
    """
    if (issue_id is None) == (not next):
        raise issues_field("issue_id", "REQUIRED", "Give exactly one of issue_id and next.")
    why = None
    if issue_id is None:
        issue, why = _choose(tx)
    else:
        issue = issues.find(tx, issue_id)
    mine = issues.live_attempt(tx, issue.id) if issue.held_by else None
    if mine is not None and mine.session == tx.caller.key:
        token = tx.token(mine.id, mine.fence)
        return _claimed(
            tx, issue, mine.id, mine.kind, mine.fence, mine.expires_at, token=token, context=context, resumed=True
        )
    _check_claimable(tx, issue, mine)
    kind = CLAIM_KIND[issue.status]
    attempt, fence = tx.new_id(), tx.new_fence()
    token = tx.token(attempt, fence)
    expires_at = tx.now + lease_seconds * 1_000
    event = tx.tell("attempt_started", issue=issue.id, attempt=attempt, kind=kind, fence=fence)
    tx.change(
        SQL.start,
        id=attempt,
        issue=issue.id,
        session=tx.caller.key,
        agent=tx.caller.agent,
        kind=kind,
        fence=fence,
        token_hash=clock.token_hash(token),
        lease_ms=lease_seconds * 1_000,
        issue_version=issue.version,
        event=event,
        now=tx.now,
        expires_at=expires_at,
        wall=tx.wall,
    )
    issues.note_event(tx, issue.id, event)
    return _claimed(tx, issue, attempt, kind, fence, expires_at, token=token, context=context, why=why)


@op(writes=True, core=True, durable=False, cli="attempt renew")
def renew_attempt(
    tx: Tx, attempt_id: AttemptRef, lease_token: LeaseToken, lease_seconds: LeaseSeconds | None = None
) -> dict[str, Any]:
    """Lengthen your lease on an issue from now. Any tool call renews it too; use this before a long silence."""
    attempt = held(tx, attempt_id, lease_token)
    lease_ms = attempt.lease_ms if lease_seconds is None else lease_seconds * 1_000
    tx.change(SQL.renew, id=attempt.id, now=tx.now, lease_ms=lease_ms, expires_at=tx.now + lease_ms)
    return {
        "attempt_id": attempt.id,
        "lease_expires_at": tx.iso(tx.now + lease_ms),
        "server_time": clock.iso(tx.wall),
    }


@op(writes=True, core=True, keyed="agent", cli="attempt note")
def save_attempt_note(
    tx: Tx,
    attempt_id: AttemptRef,
    lease_token: LeaseToken,
    kind: NoteKind,
    content: NoteText,
    next_steps: Steps | None = None,
    important: Yes = False,
    artifacts: Artifacts | None = None,
) -> dict[str, Any]:
    """Write down what the next agent must know. Save a checkpoint at every milestone and before your context ends.

    kind: a checkpoint says where the work stands.
    """
    attempt = held(tx, attempt_id, lease_token)
    note = tx.new_id()
    tx.change(
        SQL.note,
        id=note,
        attempt=attempt.id,
        issue=attempt.issue,
        kind=kind,
        content=content,
        next_steps=_listed(next_steps),
        important=int(important),
        wall=tx.wall,
    )
    made = _attach(tx, attempt, artifacts)
    told = "checkpoint_saved" if kind == "checkpoint" else "attempt_note_saved"
    event = tx.tell(told, issue=attempt.issue, attempt=attempt.id, note=note, kind=kind)
    issues.note_event(tx, attempt.issue, event)
    _act(tx, attempt)
    return {"note_id": note, "attempt_id": attempt.id, **({"artifact_ids": made} if made else {})}


@op(writes=True, core=True, keyed="agent", cli="attempt finish")
def finish_attempt(
    tx: Tx,
    attempt_id: AttemptRef,
    lease_token: LeaseToken,
    outcome: Outcome,
    result_summary: Summary,
    target_issue_status: TargetStatus | None = None,
    review_outcome: ReviewOutcome | None = None,
    failure_reason_code: FailureCode | None = None,
    interruption_reason_code: InterruptionCode | None = None,
    blocked_reason: Reason | None = None,
    reason_details: Reason | None = None,
    next_steps: Steps | None = None,
    verification: Steps | None = None,
    artifacts: Artifacts | None = None,
) -> dict[str, Any]:
    """End your attempt, give back its paths, and leave the result. Failed and interrupted are always accepted.

    target_issue_status: with completed work.
    failure_reason_code: with failed.
    interruption_reason_code: with interrupted.
    verification: how you know it works.
    """
    attempt = held(tx, attempt_id, lease_token, late=result_summary)
    given = {
        "target_issue_status": target_issue_status,
        "review_outcome": review_outcome,
        "failure_reason_code": failure_reason_code,
        "interruption_reason_code": interruption_reason_code,
        "blocked_reason": blocked_reason,
    }
    _check_shape(outcome, attempt.kind, given, reason_details)
    issue = issues.find(tx, attempt.issue)
    target = _target(issue, outcome, target_issue_status, review_outcome)
    tx.change(
        SQL.finish,
        id=attempt.id,
        status=outcome,
        wall=tx.wall,
        result_summary=result_summary,
        next_steps=_listed(next_steps),
        verification=_listed(verification),
        failure_code=failure_reason_code,
        interruption_code=interruption_reason_code,
        reason_details=reason_details,
    )
    _attach(tx, attempt, artifacts)
    event = tx.tell(f"attempt_{outcome}", issue=issue.id, attempt=attempt.id, fence=attempt.fence, target=target)
    version = issue.version
    if target is None:
        issues.note_event(tx, issue.id, event)
    else:
        version = issues.move(tx, issue, target, event, blocked_reason=blocked_reason)
    released = lapse.release_of_attempt(tx, attempt.id)
    return {
        "attempt_id": attempt.id,
        "attempt_status": outcome,
        "issue_id": issue.id,
        "issue_status": target or issue.status,
        "issue_version": version,
        "latest_event_id": event,
        "warnings": [],
        **({"released_paths": released} if released else {}),
    }


def held(tx: Tx, attempt_id: str, token: str, *, late: str | None = None) -> Row:
    """The live attempt that this token opens. Refused by what became of it.

    late: a result that is being handed in; if the attempt is over it is kept as evidence.
    """
    attempt = tx.one(SQL.find, id=attempt_id.strip().upper())
    if attempt is None:
        raise _unknown(attempt_id)
    ours = clock.token_hash(token) == attempt.token_hash
    if attempt.status != "active":
        raise _over(attempt, late if ours else None)
    if not ours:
        raise Refusal(
            "INVALID_LEASE_TOKEN",
            f"That is not the lease token of this attempt on ISSUE-{attempt.number}; claim the issue again to get it.",
            attempt_id=attempt.id,
        )
    return attempt


def current(tx: Tx) -> Row | None:
    """The attempt that the calling session works on: the last it claimed or acted on."""
    return tx.one(SQL.current, session=tx.caller.key, gone=lapse.gone(tx)[1])


def own_token(tx: Tx, attempt_id: str) -> str:
    """The token of an attempt of the calling session, derived again; what the attempt has become is not judged here."""
    attempt = tx.one(SQL.find, id=attempt_id.strip().upper())
    if attempt is not None and attempt.session == tx.caller.key:
        return tx.token(attempt.id, attempt.fence)
    if attempt is None:
        raise _unknown(attempt_id)
    if attempt.status != "active":
        raise _over(attempt, None)
    raise issues_field(
        "lease_token",
        "REQUIRED",
        f"This attempt on ISSUE-{attempt.number} is held by {attempt.agent}; give the lease_token its claim answered.",
    )


def adopt(tx: Tx, attempt_id: str, token: str) -> None:
    """Whoever shows the token of a live attempt before its term holds it from now on, from any session."""
    attempt = tx.one(SQL.find, id=attempt_id.strip().upper())
    if attempt is None or attempt.status != "active" or attempt.session == tx.caller.key:
        return
    if has_lapsed(lapse.attempt_until(tx, attempt), tx.now) or clock.token_hash(token) != attempt.token_hash:
        return
    tx.change(SQL.adopt, id=attempt.id, session=tx.caller.key, agent=tx.caller.agent)
    tx.tell("attempt_adopted", issue=attempt.issue, attempt=attempt.id, from_session=attempt.session)


def repeated_failures(tx: Tx, issue: str) -> bool:
    """Whether the last attempts on an issue all failed or expired."""
    ended = tx.all(SQL.last_ended, issue=issue, limit=REPEATED_FAILURES)
    return len(ended) == REPEATED_FAILURES and all(attempt.status in FAILED_ATTEMPTS for attempt in ended)


def issues_field(name: str, code: str, message: str) -> Refusal:
    return Refusal("INVALID_ARGUMENT", message, [{"field": name, "code": code, "message": message}])


def _choose(tx: Tx) -> tuple[Row, str]:
    """The best ready issue: priority, how much it unblocks, number; and why, in one line."""
    best = tx.one(SQL.best)
    if best is None:
        raise Refusal(
            "NOTHING_TO_CLAIM", "No issue is ready and free; list_issues shows what is there, create_issue adds work."
        )
    reason = f"{PRIORITIES[best.priority]} priority"
    if best.unblocks:
        reason += f", unblocks {best.unblocks}"
    return issues.find(tx, best.id), f"{reason}, the oldest of its kind" if not best.unblocks else reason


def _check_claimable(tx: Tx, issue: Row, holder: Row | None) -> None:
    name = f"ISSUE-{issue.number}"
    if issue.archived_wall is not None:
        raise Refusal("ISSUE_ARCHIVED", f"{name} is archived; un-archive it first.", issue=name)
    if holder is not None:
        until = clock.local_time(tx.at(holder.expires_at))
        raise Refusal(
            "ACTIVE_ATTEMPT_EXISTS",
            f"{name} is being worked on by {holder.agent} until {until}; ask for another (next) or wait.",
            issue=name,
            agent=holder.agent,
            until=tx.iso(holder.expires_at),
        )
    if issue.type == "epic" or issue.status not in CLAIM_KIND:
        what = "is an epic" if issue.type == "epic" else f"is {issue.status}"
        raise Refusal("ISSUE_NOT_CLAIMABLE", f"{name} {what}; only ready tasks and bugs can be claimed.", issue=name)
    if issue.open_blockers:
        raise Refusal(
            "ISSUE_BLOCKED",
            f"{name} waits for {issue.open_blockers} unfinished issue(s); claim one of those.",
            issue=name,
        )


def _claimed(
    tx: Tx,
    issue: Row,
    attempt: str,
    kind: str,
    fence: int,
    expires_at: int,
    *,
    token: str,
    context: bool,
    resumed: bool = False,
    why: str | None = None,
) -> dict[str, Any]:
    reply: dict[str, Any] = {
        "attempt_id": attempt,
        "issue_id": issue.id,
        "display_id": f"ISSUE-{issue.number}",
        "kind": kind,
        "fence": fence,
        "lease_token": token,
        "lease_expires_at": tx.iso(expires_at),
        "issue_version": issue.version,
        "event_id": tx.last_event,
        "warnings": ["REPEATED_ATTEMPT_FAILURES"] if repeated_failures(tx, issue.id) else [],
    }
    if resumed:
        reply["resumed"] = True
    if why:
        reply["why"] = why
    if context:
        reply["context"] = contexts.of_issue(tx, issues.find(tx, issue.id), CONTEXT_BYTES)
    return reply


def _unknown(attempt_id: str) -> Refusal:
    return Refusal("ATTEMPT_NOT_FOUND", "There is no such attempt; claim_issue starts one.", attempt_id=attempt_id[:40])


def _over(attempt: Row, late: str | None) -> Refusal:
    """What a holder is told whose attempt is no longer active."""
    evidence = (
        None
        if late is None
        else {
            "issue": attempt.issue,
            "attempt": attempt.id,
            "fence": attempt.fence,
            "result_summary": folded(late, EVIDENCE_CHARS),
        }
    )
    if attempt.status == "expired":
        return Refusal(
            "LEASE_EXPIRED",
            f"Your lease on ISSUE-{attempt.number} lapsed, it is free for others; stop, and claim it again to go on.",
            evidence=evidence,
            attempt_id=attempt.id,
        )
    return Refusal(
        "ATTEMPT_NOT_ACTIVE",
        f"This attempt on ISSUE-{attempt.number} has ended ({attempt.status}); claim an issue to start another.",
        evidence=evidence,
        attempt_id=attempt.id,
    )


_FORBIDDEN_WITH_END = ("target_issue_status", "review_outcome", "blocked_reason")


def _check_shape(outcome: str, kind: str, given: dict[str, Any], reason_details: str | None) -> None:
    """Which arguments an outcome needs and which it forbids."""
    needed: list[str] = []
    forbidden: list[str] = []
    if outcome == "completed":
        forbidden += ["failure_reason_code", "interruption_reason_code"]
        needed += ["review_outcome" if kind == "review" else "target_issue_status"]
        forbidden += ["target_issue_status" if kind == "review" else "review_outcome"]
        blocks = "blocked" in (given["target_issue_status"], given["review_outcome"])
        (needed if blocks else forbidden).append("blocked_reason")
        if reason_details is not None and not blocks:
            forbidden.append("reason_details")
    else:
        needed += ["failure_reason_code" if outcome == "failed" else "interruption_reason_code"]
        forbidden += [
            "interruption_reason_code" if outcome == "failed" else "failure_reason_code",
            *_FORBIDDEN_WITH_END,
        ]
    given = {**given, "reason_details": reason_details}
    problems = [
        {"field": name, "code": "REQUIRED", "message": f"{outcome} needs it"} for name in needed if given[name] is None
    ]
    problems += [
        {"field": name, "code": "FORBIDDEN", "message": f"{outcome} {kind} does not take it"}
        for name in forbidden
        if given[name] is not None
    ]
    if problems:
        problems.sort(key=lambda problem: (problem["field"], problem["code"]))
        first = problems[0]
        raise Refusal("INVALID_ARGUMENT", f"finish_attempt: {first['field']}: {first['message']}.", problems)


def _target(issue: Row, outcome: str, target: str | None, review: str | None) -> str | None:
    """The status the issue moves to, or None when it stays. Ready from ready is not a change but is accepted."""
    if outcome != "completed":
        return None
    wanted = REVIEW_OUTCOMES[review] if review is not None else target
    assert wanted is not None
    if wanted == issue.status:
        return None
    if not may_move(issue.status, wanted):
        raise Refusal(
            "INVALID_STATUS_TRANSITION",
            f"ISSUE-{issue.number} is {issue.status} and cannot become {wanted} from there.",
        )
    return wanted


def _act(tx: Tx, attempt: Row) -> None:
    """An act that concerns the attempt: it is the current one, and beats carry it on from here."""
    until = attempt_lives_until(attempt.expires_at, attempt.lease_ms, tx.now, tx.now)
    assert not has_lapsed(until, tx.now)
    tx.change(SQL.act, id=attempt.id, now=tx.now, expires_at=until)


def _attach(tx: Tx, attempt: Row, artifacts: list[Any] | None) -> list[str]:
    made: list[str] = []
    for artifact in artifacts or []:
        made.append(tx.new_id())
        tx.change(
            SQL.attach,
            id=made[-1],
            issue=attempt.issue,
            attempt=attempt.id,
            type=artifact["type"],
            uri=artifact["uri"],
            title=artifact.get("title"),
            wall=tx.wall,
        )
    return made


def _listed(steps: list[str] | None) -> str | None:
    return wire.dumps(steps) if steps else None
