"""Reviews: a look by somebody else at one state of one issue, from the request to what came of it.

A request is fixed to what there is when it is made: a version of the issue, its last event, and the artifacts to look
at. A reviewer claims it as work is claimed; the attempt's end resolves it, or opens it again when it did not get that
far. What has changed since cannot be approved. Only what happened to that very issue counts, and of that only what a
review looks at (the view review_change): priority, labels and remarks make nothing stale.
"""

from __future__ import annotations

from clearway import clock, lapse, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import REVIEWABLE
from clearway.limits import FINDINGS_CHARS, LIST_DEFAULT
from clearway.op import op
from clearway.work import cursors, evidence, issues, relations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.arguments import (
        ArtifactIds,
        Cursor,
        EventNumber,
        IssueRef,
        ListLimit,
        ReviewRef,
        ReviewStatus,
        Version,
        Yes,
    )
    from clearway.db.tx import Tx

SQL = statements(__file__)
_PENDING = ("open", "claimed")


@op(writes=True, group="plan", cli="review request")
def create_review_request(
    tx: Tx,
    issue_id: IssueRef,
    target_issue_version: Version | None = None,
    target_event_id: EventNumber | None = None,
    artifact_ids: ArtifactIds | None = None,
    supersedes_id: ReviewRef | None = None,
) -> dict[str, Any]:
    """Ask for a review of an issue as it is now, by another session. Asking again answers the same request."""
    issue = issues.find(tx, issue_id)
    issues.check_not_archived(issue)
    artifacts = [artifact.strip().upper() for artifact in artifact_ids or ()]
    version = issue.version if target_issue_version is None else target_issue_version
    earlier = None if supersedes_id is None else _of_issue(tx, issue, supersedes_id)
    waiting = _pending(tx, issue.id)
    if waiting is not None and (earlier is None or earlier.id != waiting.id):
        if _is_same(waiting, version, target_event_id, artifacts):
            return _brief(waiting)
        if waiting.issue_version == version and not waiting.stale:
            raise _exists(waiting)
    _check_reviewable(tx, issue)
    event = issue.latest_event if target_event_id is None else target_event_id
    _check_target(tx, issue, version, event, artifacts)
    if waiting is not None:
        _resolve(tx, waiting, "superseded")
    last = earlier or tx.one(SQL.newest, issue=issue.id)
    return _brief(_made(tx, issue, version, event, artifacts, None if last is None else last.id))


@op(group="plan", cli="review show")
def get_review_request(tx: Tx, review_request_id: ReviewRef) -> dict[str, Any]:
    """Read a review request: what is to be looked at, who has it, and what was found."""
    return _whole(tx, _find(tx, review_request_id))


@op(group="plan", cli="review list")
def list_review_requests(
    tx: Tx,
    issue_id: IssueRef | None = None,
    status: ReviewStatus | None = None,
    claimable: Yes | None = None,
    limit: ListLimit = LIST_DEFAULT,
    cursor: Cursor | None = None,
) -> dict[str, Any]:
    """List review requests, newest first."""
    rows = tx.all(
        SQL.list,
        issue=None if issue_id is None else issues.find(tx, issue_id).id,
        status=status,
        claimable=None if claimable is None else int(claimable),
        before=cursors.read(cursor, ("event",)).get("event"),
        chars=FINDINGS_CHARS,
        gone=lapse.gone(tx)[1],
        limit=limit + 1,
    )
    return cursors.page(rows, limit, _shown, "event")


@op(writes=True, group="plan", cli="review cancel")
def cancel_review_request(tx: Tx, review_request_id: ReviewRef, expected_version: Version) -> dict[str, Any]:
    """Withdraw a review request: it can neither be claimed nor approved."""
    return _withdrawn(tx, review_request_id, expected_version, "cancelled")


@op(writes=True, group="plan", cli="review supersede")
def supersede_review_request(tx: Tx, review_request_id: ReviewRef, expected_version: Version) -> dict[str, Any]:
    """Close a review request: there is something newer to look at."""
    return _withdrawn(tx, review_request_id, expected_version, "superseded")


# --- for attempts -----------------------------------------------------------------------------------------------------


def to_claim(tx: Tx, reference: str) -> Row:
    """The request that somebody wants to claim by its id, if it can be claimed at all; who holds the issue is not
    judged here."""
    review = _find(tx, reference)
    if review.status not in _PENDING:
        raise Refusal(
            "ISSUE_NOT_CLAIMABLE",
            f"This review of ISSUE-{review.number} is over ({review.status}); list_review_requests shows what is open.",
            issue=f"ISSUE-{review.number}",
            status=review.status,
        )
    if review.stale:
        raise _stale(review, "ask for a review of what there is now (create_review_request)")
    return review


def for_issue(tx: Tx, issue: Row) -> Row | None:
    """The request that a review of this issue answers, or None. One that looks at what is no longer there is closed."""
    review = _pending(tx, issue.id)
    if review is not None and review.stale:
        _resolve(tx, review, "superseded")
        return None
    return review


def waits(tx: Tx, issue: Row) -> bool:
    """Whether a review of this issue was asked for and can still be made."""
    review = _pending(tx, issue.id)
    return review is not None and not review.stale


def check_not_own(tx: Tx, issue: Row) -> None:
    """Nobody reviews what it did itself."""
    if tx.one(SQL.own_work, issue=issue.id, session=tx.caller.key) is not None:
        name = f"ISSUE-{issue.number}"
        raise Refusal(
            "ISSUE_NOT_CLAIMABLE",
            f"{name} is your own work, for which a review was asked; another session or the human makes it.",
            issue=name,
        )


def take(tx: Tx, review: Row, attempt: str) -> int:
    """A request is in the hands of this attempt now; the event that tells it."""
    tx.change(SQL.take, id=review.id, attempt=attempt)
    event = tx.tell("review_claimed", issue=review.issue, attempt=attempt, review=review.id)
    issues.note_event(tx, review.issue, event)
    return event


def take_instead(tx: Tx, review: Row, attempt: Row) -> None:
    """Who reviews an issue already goes on with a newer request for it: what it asks to be looked at is what counts."""
    if review.status == "open" and attempt.kind == "review":
        tx.change(SQL.look_at, id=attempt.id, issue_version=review.issue_version, event=review.target_event)
        take(tx, review, attempt.id)


def check_approval(tx: Tx, attempt: str) -> None:
    """Refuse to approve what is not what was looked at, or what nobody wants looked at any more."""
    review = _which(tx, tx.one(SQL.of_attempt, attempt=attempt))
    if review is None:
        return
    if review.status != "claimed":
        raise _stale(review, "finish as interrupted, with what you found in the summary")
    if review.stale:
        raise _stale(
            review, "request changes, or ask for a review of what there is now (create_review_request) and claim that"
        )


def end(tx: Tx, attempt: Row, outcome: str | None, findings: str | None, follow_up: Row | None) -> int | None:
    """The review attempt is over: its request is resolved, or open again without an outcome; the event of that."""
    review = _which(tx, tx.one(SQL.of_attempt, attempt=attempt.id))
    if review is None or review.status != "claimed":
        return None
    if outcome is None:
        return lapse.reopen_review(tx, attempt)
    if follow_up is not None:
        relations.manage_issue_relation(tx, follow_up.id, review.issue, "related_to")
    return _resolve(tx, review, outcome, findings=findings, follow_up=follow_up)


def state(tx: Tx, issue: str) -> dict[str, Any] | None:
    """Where the review of an issue stands, for whoever works on it or looks at it: the newest request and what was
    found."""
    review = _which(tx, tx.one(SQL.newest, issue=issue))
    if review is None:
        return None
    shown = {name: value for name, value in _whole(tx, review).items() if name not in ("issue_id", "display_id")}
    if shown["artifact_ids"]:
        shown["artifacts"] = [
            {name: row[name] for name in ("type", "uri", "title") if row[name] is not None}
            for row in tx.all(SQL.artifacts, artifacts=review.artifacts)
        ]
    del shown["artifact_ids"]
    return shown


# --- making -----------------------------------------------------------------------------------------------------------


def _is_same(waiting: Row, version: int, event: int | None, artifacts: list[str]) -> bool:
    """Whether this was asked already. Without an event the issue as it is now is meant."""
    at = not waiting.stale if event is None else waiting.target_event == event
    return waiting.issue_version == version and at and wire.loads(waiting.artifacts) == artifacts


def _check_reviewable(tx: Tx, issue: Row) -> None:
    name = f"ISSUE-{issue.number}"
    if issue.type == "epic" or issue.status not in REVIEWABLE:
        what = "is an epic" if issue.type == "epic" else f"is {issue.status}"
        raise Refusal(
            "ISSUE_NOT_CLAIMABLE",
            f"{name} {what}; a review is of a task or bug that is ready or in review.",
            issue=name,
        )
    holder = issues.live_attempt(tx, issue.id) if issue.held_by else None
    if holder is not None and holder.kind == "work":
        raise Refusal(
            "ACTIVE_ATTEMPT_EXISTS",
            f"{name} is being worked on by {holder.agent}; ask for a review when that is finished.",
            issue=name,
            agent=holder.agent,
            until=tx.iso(lapse.until(tx, holder)),
        )


def _check_target(tx: Tx, issue: Row, version: int, event: int, artifacts: list[str]) -> None:
    """What a request is fixed to exists, and is what there is now."""
    problems: list[tuple[str, str]] = []
    if version > issue.version:
        problems.append(("target_issue_version", f"ISSUE-{issue.number} is at version {issue.version}"))
    if not 0 < event <= tx.last_event:
        problems.append(("target_event_id", f"the newest event is {tx.last_event}"))
    known = {row.id for row in tx.all(SQL.known_artifacts, issue=issue.id, artifacts=wire.dumps(artifacts))}
    for place, artifact in enumerate(artifacts):
        if artifact not in known:
            problems.append((f"artifact_ids[{place}]", f"ISSUE-{issue.number} has no such artifact"))
    if problems:
        details = [{"field": field, "code": "NOT_FOUND", "message": message} for field, message in sorted(problems)]
        first = details[0]
        raise Refusal("INVALID_ARGUMENT", f"{first['field']} does not exist: {first['message']}.", details)
    if version < issue.version or tx.one(SQL.changed_since, issue=issue.id, event=event) is not None:
        raise Refusal(
            "STALE_REVIEW_TARGET",
            f"ISSUE-{issue.number} has changed since then; look at it again and ask for a review of what there is now.",
            issue=f"ISSUE-{issue.number}",
            issue_version=issue.version,
            latest_event_id=issue.latest_event,
        )


def _made(tx: Tx, issue: Row, version: int, event: int, artifacts: list[str], supersedes: str | None) -> Row:
    review = tx.new_id()
    target = {"issue_version": version, "target_event": event, "artifacts": artifacts}
    replaced: dict[str, Any] = {} if supersedes is None else {"supersedes": supersedes}
    told = tx.tell("review_requested", issue=issue.id, review=review, **target, **replaced)
    tx.change(
        SQL.create,
        id=review,
        event=told,
        issue=issue.id,
        issue_version=version,
        target_event=event,
        artifacts=wire.dumps(artifacts),
        supersedes=supersedes,
        session=tx.caller.key,
        agent=tx.caller.agent,
        wall=tx.wall,
    )
    issues.note_event(tx, issue.id, told)
    return _find(tx, review)


def _resolve(tx: Tx, review: Row, status: str, *, findings: str | None = None, follow_up: Row | None = None) -> int:
    further: dict[str, Any] = {} if follow_up is None else {"follow_up": f"ISSUE-{follow_up.number}"}
    event = tx.tell(f"review_{status}", issue=review.issue, review=review.id, **further)
    tx.change(
        SQL.resolve,
        id=review.id,
        status=status,
        event=event,
        findings=findings,
        follow_up=None if follow_up is None else follow_up.id,
        wall=tx.wall,
    )
    issues.note_event(tx, review.issue, event)
    return event


def _withdrawn(tx: Tx, reference: str, expected: int, status: str) -> dict[str, Any]:
    review = _find(tx, reference)
    if review.status not in _PENDING:
        raise Refusal(
            "INVALID_STATUS_TRANSITION",
            f"This review of ISSUE-{review.number} is over ({review.status}); ask for another one.",
            status=review.status,
        )
    if review.version != expected:
        raise Refusal(
            "VERSION_CONFLICT",
            f"The review request is at version {review.version}, not {expected}; read it again before you change it.",
            version=review.version,
        )
    _resolve(tx, review, status)
    return _brief(_find(tx, review.id))


# --- reading ----------------------------------------------------------------------------------------------------------


def _find(tx: Tx, reference: str) -> Row:
    review = tx.one(SQL.find, id=reference.strip().upper(), gone=lapse.gone(tx)[1])
    if review is None:
        raise Refusal(
            "REVIEW_NOT_FOUND", "There is no such review request; list_review_requests shows those there are."
        )
    return review


def _of_issue(tx: Tx, issue: Row, reference: str) -> Row:
    review = _find(tx, reference)
    if review.issue != issue.id:
        message = f"That is a review of ISSUE-{review.number}; a request takes the place of one of the same issue."
        raise Refusal(
            "INVALID_ARGUMENT",
            message,
            [{"field": "supersedes_id", "code": "SCOPE_MISMATCH", "message": message}],
        )
    return review


def _pending(tx: Tx, issue: str) -> Row | None:
    return _which(tx, tx.one(SQL.pending, issue=issue))


def _which(tx: Tx, known: Row | None) -> Row | None:
    return None if known is None else _find(tx, known.id)


def _exists(waiting: Row) -> Refusal:
    return Refusal(
        "REVIEW_ALREADY_EXISTS",
        f"A review of this version of ISSUE-{waiting.number} was asked for already, of another event or other "
        "artifacts; cancel that one, or name it in supersedes_id.",
        review_request_id=waiting.id,
        version=waiting.version,
    )


def _stale(review: Row, instead: str) -> Refusal:
    why = (
        "has changed since this review was asked for" if review.stale else f"is not to be reviewed so: {review.status}"
    )
    return Refusal(
        "STALE_REVIEW_TARGET",
        f"ISSUE-{review.number} {why}; {instead}.",
        issue=f"ISSUE-{review.number}",
        review_request_id=review.id,
        target_issue_version=review.issue_version,
        issue_version=review.current_version,
    )


def _brief(review: Row) -> dict[str, Any]:
    return {
        "review_request_id": review.id,
        "issue_id": review.issue,
        "target_issue_version": review.issue_version,
        "target_event_id": review.target_event,
        "artifact_ids": wire.loads(review.artifacts),
        "status": review.status,
        "version": review.version,
        "claimable": bool(review.claimable),
    }


def _whole(tx: Tx, review: Row) -> dict[str, Any]:
    """With what was seen of the tests of the work that is reviewed."""
    seen = evidence.of_issue(tx, review.issue)
    return _shown(review) if seen is None else {**_shown(review), "evidence": seen}


def _shown(review: Row) -> dict[str, Any]:
    more: dict[str, Any] = {
        "stale": True if review.stale and review.status in _PENDING else None,
        "requested_by": review.agent,
        "created_at": clock.iso(review.created_wall),
        "attempt_id": review.attempt,
        "reviewer": review.reviewer,
        "resolved_at": None if review.resolved_wall is None else clock.iso(review.resolved_wall),
        "findings": review.findings,
        "follow_up": None if review.follow_up_number is None else f"ISSUE-{review.follow_up_number}",
        "follow_up_attempt_id": review.follow_up_attempt,
        "supersedes_id": review.supersedes,
    }
    shown = {**_brief(review), "display_id": f"ISSUE-{review.number}"}
    return {**shown, **{name: value for name, value in more.items() if value is not None}}
