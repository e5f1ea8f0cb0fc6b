"""Whether an issue can be claimed by this caller, as work or for review, and what to say when it cannot.

Every refusal says who or what is in the way, and the next issue that could be had instead.
"""

from __future__ import annotations

from clearway import clock, lapse
from clearway.db import Row
from clearway.errors import Refusal
from clearway.lifecycle import CLAIM_KIND, TERMINAL
from clearway.work import blocking, issues, reviews, schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx

_BLOCKERS_NAMED = 5


def check_one_way(issue: str | None, review: str | None, kind: str | None, *, next: bool) -> None:
    """Refuse a claim that names no way to choose, or more than one."""
    if (issue is not None) + next + (review is not None) != 1:
        raise _field("issue_id", "REQUIRED", "Give exactly one of issue_id, next and review_request_id.")
    if review is not None and kind == "work":
        raise _field("kind", "FORBIDDEN", "A review request is claimed as a review; leave kind out.")


def check(tx: Tx, issue: Row, holder: Row | None, kind: str | None, review: Row | None) -> tuple[str, Row | None]:
    """Refuse what cannot be claimed; what kind of attempt it is, and the review request that it answers.

    holder: the attempt of somebody else. kind: what the caller asked for. review: the request it named.
    """
    issues.check_not_archived(issue)
    if holder is not None:
        raise _held(tx, issue, holder)
    kind = kind or ("review" if review is not None else CLAIM_KIND.get(issue.status, "work"))
    if kind == "review":
        asked = review or (reviews.for_issue(tx, issue) if issue.status in CLAIM_KIND else None)
        _check_status(issue, "review", fits=issue.status == "review" or (asked is not None and issue.status == "ready"))
        if asked is not None:
            reviews.check_not_own(tx, issue)
        review = asked
    else:
        _check_status(issue, "work", fits=issue.status == "ready")
    _check_unblocked(tx, issue)
    _check_reserved(tx, issue)
    return kind, review


def follow_up(tx: Tx, issue: Row, outcome: str | None, reference: str | None) -> Row | None:
    """The other issue in which what a review found goes on."""
    if reference is None:
        return None
    if outcome is None:
        raise _field("follow_up_issue_id", "FORBIDDEN", "follow_up_issue_id goes with a review_outcome.")
    further = issues.find(tx, reference)
    issues.check_not_archived(further)
    if further.id == issue.id:
        raise _field("follow_up_issue_id", "FORBIDDEN", "Name another issue; the reviewed one goes on by itself.")
    return further


def check_hand_over(issue: Row, target: str | None) -> None:
    """What has ended is not kept for anybody."""
    if (target or issue.status) in TERMINAL:
        raise _field("hand_over_to", "FORBIDDEN", "hand_over_to goes with an issue that goes on.")


def _check_status(issue: Row, kind: str, *, fits: bool) -> None:
    name = f"ISSUE-{issue.number}"
    if issue.type == "epic":
        raise Refusal(
            "ISSUE_NOT_CLAIMABLE", f"{name} is an epic; only ready tasks and bugs can be claimed.", issue=name
        )
    if fits:
        return
    if kind == "review":
        said = f"{name} is {issue.status} and no review of it was asked for; create_review_request asks for one."
    elif issue.status == "review":
        said = f"{name} is in review; claim it with kind review, or take other work (next)."
    else:
        said = f"{name} is {issue.status}; only ready tasks and bugs can be claimed."
    raise Refusal("ISSUE_NOT_CLAIMABLE", said, issue=name)


def _check_unblocked(tx: Tx, issue: Row) -> None:
    if not issue.open_blockers:
        return
    name = f"ISSUE-{issue.number}"
    blockers = [f"ISSUE-{row.number}" for row in blocking.blockers(tx, issue.id, _BLOCKERS_NAMED)]
    raise Refusal(
        "ISSUE_BLOCKED",
        f"{name} waits for {', '.join(blockers)}; finish that first, or take other work (next).",
        issue=name,
        blockers=blockers,
    )


def _check_reserved(tx: Tx, issue: Row) -> None:
    reserved = issues.reserved_for(tx, issue)
    if reserved is None or reserved == tx.caller.agent:
        return
    name, another = f"ISSUE-{issue.number}", schedule.another(tx)
    raise Refusal(
        "ISSUE_RESERVED",
        f"{name} is kept for {reserved} until {_moment(tx, issue.reserved_until)}; {_instead(another)}.",
        issue=name,
        agent=reserved,
        until=tx.iso(issue.reserved_until),
        next=another,
    )


def _held(tx: Tx, issue: Row, holder: Row) -> Refusal:
    name, another = f"ISSUE-{issue.number}", schedule.another(tx)
    return Refusal(
        "ACTIVE_ATTEMPT_EXISTS",
        f"{name} is being worked on by {holder.agent}{lapse.said_in_flight(tx, holder.session)} "
        f"until {_moment(tx, lapse.until(tx, holder))}; {_instead(another)}.",
        issue=name,
        agent=holder.agent,
        until=tx.iso(lapse.until(tx, holder)),
        next=another,
    )


def _moment(tx: Tx, at: int) -> str:
    return clock.local_moment(tx.at(at), tx.wall)


def _instead(another: str | None) -> str:
    return "nothing else is ready now, wait" if another is None else f"take {another} (next) instead"


def _field(name: str, code: str, message: str) -> Refusal:
    return Refusal("INVALID_ARGUMENT", message, [{"field": name, "code": code, "message": message}])
