"""Attempts: possession of an issue for a time, and what is left behind for the next one.

An attempt is a lease on one issue. Whoever shows its id and token may act for it, from any session; the token is
derived, so the session that holds the attempt can be given it again, and only its hash is stored. A stale holder is
refused by what became of its attempt, and a result that comes too late is kept as evidence, never applied.
"""

from __future__ import annotations

from clearway import caps, clock, lapse, policy, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.leasing import attempt_lives_until, has_lapsed
from clearway.lifecycle import REVIEW_OUTCOMES, may_move
from clearway.limits import CONTEXT_BYTES, RESERVATION_MS
from clearway.op import op
from clearway.untrusted import folded
from clearway.work import claiming, completion, evidence, issues, reviews, schedule
from clearway.work import context as contexts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        Acknowledged,
        AgentName,
        Artifacts,
        AttemptRef,
        FailureCode,
        InterruptionCode,
        IssueRef,
        KindOfWork,
        Labels,
        LeaseSeconds,
        LeaseToken,
        Needs,
        NoteKind,
        NoteText,
        Outcome,
        Priorities,
        Reason,
        ReviewOutcome,
        ReviewRef,
        Steps,
        Summary,
        TargetStatus,
        Yes,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)
EVIDENCE_CHARS = 4_000


@op(
    writes=True,
    core=True,
    keyed="session",
    cli="issue claim",
    rare=("priorities", "epic_id", "lease_seconds", "context", "review_request_id", "capabilities"),
)
def claim_issue(
    tx: Tx,
    issue_id: IssueRef | None = None,
    next: Yes = False,
    review_request_id: ReviewRef | None = None,
    kind: KindOfWork | None = None,
    lease_seconds: LeaseSeconds | None = None,
    context: Yes = True,
    labels: Labels | None = None,
    priorities: Priorities | None = None,
    epic_id: IssueRef | None = None,
    capabilities: Needs | None = None,
) -> dict[str, Any]:
    """Take the lease on one ready issue and start working. Answers the lease_token to finish with, and the context.

    issue_id: the issue, as ISSUE-42 or its id.
    next: choose the best ready issue instead.
    labels: next with any of these.
    capabilities: next passes over what needs more.
    """
    claiming.check_one_way(issue_id, review_request_id, kind, next=next)
    if not next and (labels, priorities, epic_id) != (None, None, None):
        raise issues_field("next", "REQUIRED", "labels, priorities and epic_id go with next only.")
    why = review = None
    if review_request_id is not None:
        review = reviews.to_claim(tx, review_request_id)
        issue = issues.find(tx, review.issue)
    elif issue_id is not None:
        issue = issues.find(tx, issue_id)
    else:
        wanted = schedule.Wanted(labels, priorities, epic_id, capabilities)
        issue, why = schedule.choose_review(tx, wanted) if kind == "review" else schedule.choose(tx, wanted)
    mine = issues.live_attempt(tx, issue.id) if issue.held_by else None
    if mine is not None and mine.session == tx.caller.key:
        if review is not None:
            reviews.take_instead(tx, review, mine)
        return _resumed(tx, issue, mine, context=context)
    kind, review = claiming.check(tx, issue, mine, kind, review)
    caps.check(tx)
    lease_ms = (lease_seconds or policy.seconds(tx, "lease.issue_seconds")) * 1_000
    return _start(tx, issue, lease_ms, kind=kind, review=review, context=context, why=why)


@op(writes=True, core=True, durable=False, cli="attempt renew", rare=("lease_seconds",))
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


@op(writes=True, core=True, keyed="agent", cli="attempt note", rare=("artifacts", "important"))
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
    """Write down what the next agent must know. Save a checkpoint at every milestone and before your context ends."""
    attempt = held(tx, attempt_id, lease_token)
    note = lapse.note_id(tx, attempt, kind)
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
    more: dict[str, Any] = (
        {"artifacts": len(made)} if made and attempt.kind == "work" else {}
    )  # a review then looks at something else
    event = tx.tell(told, issue=attempt.issue, attempt=attempt.id, **more, note=note, kind=kind, **_naming(made))
    issues.note_event(tx, attempt.issue, event)
    _act(tx, attempt)
    return {"note_id": note, "attempt_id": attempt.id, **({"artifact_ids": made} if made else {})}


@op(
    writes=True,
    core=True,
    keyed="agent",
    cli="attempt finish",
    rare=("reason_details", "follow_up_issue_id"),
)
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
    acknowledged_changes: Acknowledged | None = None,
    follow_up_issue_id: IssueRef | None = None,
    hand_over_to: AgentName | None = None,
) -> dict[str, Any]:
    """End your attempt, give back its paths, and leave the result. Failed and interrupted are always accepted.

    target_issue_status: with completed work.
    failure_reason_code: with failed.
    interruption_reason_code: with interrupted.
    verification: how you know it works.
    acknowledged_changes: as a refusal named them.
    follow_up_issue_id: where else a review's findings go on.
    hand_over_to: an agent; the issue is kept for it.
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
    follow_up = claiming.follow_up(tx, issue, review_outcome, follow_up_issue_id)
    if review_outcome == "approved":
        reviews.check_approval(tx, attempt.id)
    wanted = REVIEW_OUTCOMES[review_outcome] if review_outcome is not None else target_issue_status
    warnings = completion.check(tx, attempt, issue, acknowledged_changes, wanted) if wanted is not None else []
    warnings += evidence.judge(tx, attempt, outcome)
    target = _target(issue, wanted)
    result = {
        "result_summary": result_summary,
        "next_steps": _listed(next_steps),
        "verification": _listed(verification),
        "failure_code": failure_reason_code,
        "interruption_code": interruption_reason_code,
        "reason_details": reason_details,
    }
    if hand_over_to is not None:
        claiming.check_hand_over(issue, target)
    made = _naming(_attach(tx, attempt, artifacts))
    reply = _end(tx, attempt, issue, outcome, result, target, blocked_reason=blocked_reason, warnings=warnings, **made)
    if hand_over_to is not None:
        reply["latest_event_id"] = _hand_over(tx, attempt, hand_over_to)
        reply["issue_version"] += 1
    return _with_review(tx, attempt, reply, review_outcome, result_summary, follow_up)


@op(writes=True, cli="attempt release")
def release_attempt(tx: Tx, attempt_id: AttemptRef) -> dict[str, Any]:
    """Give an attempt back without its token: your own, or as the human anyone's. Its notes stay."""
    attempt = _find(tx, attempt_id)
    if attempt.status != "active":
        raise _not_active(attempt)
    own = attempt.session == tx.caller.key or (attempt.named and attempt.agent == tx.caller.agent)
    if not own and not tx.caller.human:
        raise Refusal(
            "NOT_YOURS",
            f"ISSUE-{attempt.number} is being worked on by {attempt.agent}; only that session or the human can end it.",
            attempt_id=attempt.id,
            agent=attempt.agent,
        )
    result = dict.fromkeys(("result_summary", "next_steps", "verification", "failure_code", "reason_details"))
    forced: dict[str, Any] = {} if own else {"forced": True, "of": attempt.session}
    issue = issues.find(tx, attempt.issue)
    if not own:
        lapse.leave_note(tx, attempt, "forced")
    evidence.judge(tx, attempt, "interrupted")
    reply = _end(tx, attempt, issue, "interrupted", {**result, "interruption_code": "user_request"}, None, **forced)
    if not own:
        lapse.notify(tx, attempt.session, reply["latest_event_id"])
    return _with_review(tx, attempt, reply)


def held(tx: Tx, attempt_id: str, token: str, *, late: str | None = None) -> Row:
    """The live attempt that this token opens. Refused by what became of it.

    late: a result that is being handed in; if the attempt is over it is kept as evidence.
    """
    attempt = _find(tx, attempt_id)
    ours = clock.token_hash(token) == attempt.token_hash
    if not ours and attempt.session == tx.caller.key and attempt.status == "active":
        ours = token == token_again(tx, attempt)
    if attempt.status != "active":
        raise _over(tx, attempt, late if ours else None)
    if not ours:
        raise Refusal(
            "INVALID_LEASE_TOKEN",
            f"That is not the lease token of this attempt on ISSUE-{attempt.number}; claim the issue again to get it.",
            attempt_id=attempt.id,
        )
    return attempt


def token_again(tx: Tx, attempt: Row) -> str:
    """The token of an attempt, derived again for the session that holds it. Where the machine has lost its secret
    meanwhile it is another one, which takes the place of the first."""
    token = tx.token(attempt.id, attempt.fence)
    tx.change(SQL.keep_token, id=attempt.id, token_hash=clock.token_hash(token))
    return token


def replayed(tx: Tx, reply: dict[str, Any]) -> None:
    """Add to the answer that a claim once got what is not kept with it: its token, and that the attempt has ended."""
    attempt = _find(tx, reply["attempt_id"])
    if attempt.status == "active" and attempt.session == tx.caller.key:
        reply["lease_token"] = token_again(tx, attempt)
        return
    reply["lease_token"] = tx.token(attempt.id, attempt.fence)
    if attempt.status != "active":
        reply["attempt_status"] = attempt.status


def own_token(tx: Tx, attempt_id: str) -> str:
    """The token of an attempt of the calling session, derived again; what the attempt has become is not judged here."""
    attempt = _find(tx, attempt_id)
    if attempt.session == tx.caller.key:
        return tx.token(attempt.id, attempt.fence)
    if attempt.status != "active":
        raise _over(tx, attempt, None)
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
    until = lapse.attempt_until(tx, attempt)
    if has_lapsed(until, tx.now) or clock.token_hash(token) != attempt.token_hash:
        return
    # What the former holder's signs of life carried stays carried: the new one has given none yet.
    until = min(until, tx.now + attempt.lease_ms)
    tx.change(SQL.adopt, id=attempt.id, session=tx.caller.key, agent=tx.caller.agent, expires_at=until)
    event = tx.tell("attempt_adopted", issue=attempt.issue, attempt=attempt.id, from_session=attempt.session)
    if attempt.agent != tx.caller.agent:
        lapse.notify(tx, attempt.session, event)


def issues_field(name: str, code: str, message: str) -> Refusal:
    return Refusal("INVALID_ARGUMENT", message, [{"field": name, "code": code, "message": message}])


def _resumed(tx: Tx, issue: Row, mine: Row, *, context: bool) -> dict[str, Any]:
    """The caller has it already: the same attempt, and the token again."""
    until = _act(tx, mine)
    token = token_again(tx, mine)
    return _claimed(tx, issue, mine.id, mine.kind, mine.fence, until, token=token, context=context, resumed=True)


def _start(
    tx: Tx, issue: Row, lease_ms: int, *, kind: str, review: Row | None, context: bool, why: str | None
) -> dict[str, Any]:
    attempt, fence = tx.new_id(), tx.new_fence()
    token = tx.token(attempt, fence)
    expires_at = tx.now + lease_ms
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
        lease_ms=lease_ms,
        issue_version=issue.version,
        event=event,
        now=tx.now,
        expires_at=expires_at,
        wall=tx.wall,
    )
    if review is not None:
        reviews.take(tx, review, attempt)
    reply = _claimed(tx, issue, attempt, kind, fence, expires_at, token=token, context=context, why=why)
    return reply if review is None else {**reply, "review_request_id": review.id}


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
        "warnings": contexts.warnings(issue),
    }
    if resumed:
        reply["resumed"] = True
    if why:
        reply["why"] = why
    if context:
        reply["context"] = contexts.of_issue(tx, issues.find(tx, issue.id), CONTEXT_BYTES)
    return reply


def _end(
    tx: Tx,
    attempt: Row,
    issue: Row,
    outcome: str,
    result: dict[str, Any],
    target: str | None,
    *,
    blocked_reason: str | None = None,
    warnings: list[str] | None = None,
    **facts: Any,
) -> dict[str, Any]:
    """The attempt is over: its result stays, its issue moves or is free again, and its paths go back."""
    tx.change(SQL.finish, id=attempt.id, status=outcome, wall=tx.wall, **result)
    event = tx.tell(
        f"attempt_{outcome}", issue=issue.id, attempt=attempt.id, fence=attempt.fence, target=target, **facts
    )
    version = issue.version
    if target is None:
        issues.note_event(tx, issue.id, event)
    else:
        version = issues.move(tx, issue, target, event, blocked_reason=blocked_reason)
    released = lapse.release_of_attempt(tx, attempt.id)
    parked = caps.settle(tx, issue.id)
    return {
        "attempt_id": attempt.id,
        "attempt_status": outcome,
        "issue_id": issue.id,
        "issue_status": "blocked" if parked else target or issue.status,
        "issue_version": version + 1 if parked else version,
        "latest_event_id": parked or event,
        "warnings": warnings or [],
        **({"released_paths": released} if released else {}),
    }


def _hand_over(tx: Tx, attempt: Row, agent: str) -> int:
    """The issue is kept for another agent, which next gives it to; the event that tells it."""
    event = tx.tell("issue_updated", issue=attempt.issue, changed_fields=["reserved_for"], reserved_for=agent)
    tx.change(SQL.keep_for, id=attempt.issue, agent=agent, until=tx.now + RESERVATION_MS, event=event, wall=tx.wall)
    return event


def _with_review(
    tx: Tx,
    attempt: Row,
    reply: dict[str, Any],
    outcome: str | None = None,
    findings: str | None = None,
    follow_up: Row | None = None,
) -> dict[str, Any]:
    """The same answer after the review that the attempt made, if it was one, has ended or is open again."""
    event = reviews.end(tx, attempt, outcome, findings, follow_up) if attempt.kind == "review" else None
    return reply if event is None else {**reply, "latest_event_id": event}


def _find(tx: Tx, attempt_id: str) -> Row:
    attempt = tx.one(SQL.find, id=attempt_id.strip().upper())
    if attempt is None:
        raise Refusal(
            "ATTEMPT_NOT_FOUND", "There is no such attempt; claim_issue starts one.", attempt_id=attempt_id[:40]
        )
    return attempt


def _over(tx: Tx, attempt: Row, late: str | None) -> Refusal:
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
        issue = issues.find(tx, attempt.issue)
        return Refusal(
            "LEASE_EXPIRED",
            f"Your lease on ISSUE-{attempt.number} lapsed, {_since_then(tx, issue)}.",
            evidence=evidence,
            attempt_id=attempt.id,
            **({"agent": issue.held_by} if issue.held_by else {}),
        )
    return _not_active(attempt, evidence)


def _since_then(tx: Tx, issue: Row) -> str:
    """What became of an issue whose holder was too late, and what to do about it."""
    if issue.held_by:
        mine = issues.live_attempt(tx, issue.id)
        if mine is not None and mine.session == tx.caller.key:
            return "and you have claimed it again; go on with the token of that claim"
        return f"and {issue.held_by} works on it now; stop, and take other work (next)"
    if issues.is_claimable(issue):
        return "it is free for others; stop, and claim it again to go on"
    return f"and it is {'archived' if issue.archived_wall is not None else issue.status} now; stop"


def _not_active(attempt: Row, evidence: dict[str, Any] | None = None) -> Refusal:
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


def _target(issue: Row, wanted: str | None) -> str | None:
    """The status the issue moves to, or None when it stays. Ready from ready is not a change but is accepted."""
    if wanted is None or wanted == issue.status:
        return None
    if not may_move(issue.status, wanted):
        raise Refusal(
            "INVALID_STATUS_TRANSITION",
            f"ISSUE-{issue.number} is {issue.status} and cannot become {wanted} from there; another target, or "
            "interrupted, is accepted.",
        )
    return wanted


def _act(tx: Tx, attempt: Row) -> int:
    """An act that concerns the attempt: it is the current one, and beats carry it on from here. When it lapses now."""
    until = attempt_lives_until(attempt.expires_at, attempt.lease_ms, tx.now, tx.now)
    assert not has_lapsed(until, tx.now)
    tx.change(SQL.act, id=attempt.id, now=tx.now, expires_at=until)
    return until


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
            metadata=wire.dumps(artifact["metadata"]) if artifact.get("metadata") else None,
            wall=tx.wall,
        )
    return made


def _naming(artifacts: list[str]) -> dict[str, Any]:
    """What an event says of the artifacts that came with it."""
    return {"artifact_ids": artifacts} if artifacts else {}


def _listed(steps: list[str] | None) -> str | None:
    return wire.dumps(steps) if steps else None
