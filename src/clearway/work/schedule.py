"""Which issue comes next: the best of those that are ready and free, and why.

Priority first, then how much it unblocks, then age. What has failed again and again is given to no agent until a person
has decided about it; a person who asks for work gets it after all else. Passed over is what is kept for another agent,
what needs more than the caller can do, and work that is expected to change what another session holds now, in whichever
checkout: two who change one file meet at the latest when they merge. Reviews are chosen only for who asks for them, and
never of the caller's own work; questions only for the agent that is asked.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.lifecycle import PRIORITIES, REPEATED_FAILURES
from clearway.untrusted import folded
from clearway.work import issues
from clearway.work import labels as labelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db import Statement
    from clearway.db.tx import Tx

SQL = statements(__file__)
FEW = labelling.FEW
_NEEDS_SHOWN = 60  # characters
_COUNTED_MAX = 100  # of what is not free; there may be more


class Wanted:
    """What the caller wants to be given: filters, and what it is able to do (None: as it told the room)."""

    __slots__ = ("able", "epic", "labels", "priorities", "since")

    def __init__(
        self,
        labels: list[str] | None = None,
        priorities: list[str] | None = None,
        epic: str | None = None,
        able: list[str] | None = None,
        *,
        since: int = 0,
    ) -> None:
        """since: only that of which something was told after this event."""
        self.since = since
        self.labels = labels
        self.priorities = priorities
        self.epic = epic
        self.able = able

    @property
    def filtered(self) -> bool:
        return (self.labels, self.priorities, self.epic) != (None, None, None)

    def given(self, tx: Tx) -> dict[str, Any]:
        """The values of the statements that choose."""
        return {
            "labels": None if self.labels is None else labelling.ids(tx, self.labels),
            "epic": None if self.epic is None else issues.find(tx, self.epic).id,
            "able": tx.opening.capabilities or "[]" if self.able is None else wire.dumps(self.able),
            "agent": tx.caller.agent,
            "session": tx.caller.key,
            "now": tx.now,
            "since": self.since,
        }

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Each priority by itself, so that none is read to be passed over; all at once where none is named."""
        wanted = sorted((PRIORITIES.index(word) for word in self.priorities or ()), reverse=True)
        return [(place, place) for place in wanted] or [(0, len(PRIORITIES) - 1)]


def choose(tx: Tx, wanted: Wanted) -> tuple[Row, str]:
    """The best issue for the caller, and the reason in one line."""
    given = wanted.given(tx)
    best = _best(tx, wanted, given)
    passed = _passed_over(tx, wanted, given, best)
    if best is None:
        what = "No issue that fits" if wanted.filtered else "No issue"
        why = [passed, "" if wanted.filtered else _not_free(tx)]
        but = f" ({'; '.join(each for each in why if each)})" if any(why) else ""
        raise Refusal(
            "NOTHING_TO_CLAIM",
            f"{what} is ready and free for you{but}; list_issues shows what is there, create_issue adds work.",
        )
    return issues.find(tx, best.id), _reason(tx, best) + (f"; {passed}" if passed else "")


def _not_free(tx: Tx) -> str:
    """Why there is nothing, as far as numbers tell it."""
    found = tx.one(SQL.not_free, most=_COUNTED_MAX)
    counts = (
        []
        if found is None
        else [
            (found.live, "in work"),
            (found.waiting, "waiting for others"),
            (found.unready, "open and not ready yet"),
        ]
    )
    return ", ".join(f"{count}{'+' if count == _COUNTED_MAX else ''} {what}" for count, what in counts if count)


def choose_review(tx: Tx, wanted: Wanted) -> tuple[Row, str]:
    """The most urgent issue that others have done and that waits to be looked at, and the reason in one line."""
    given = wanted.given(tx)
    for least, most in wanted.spans:
        best = tx.one(SQL.best_review, least=least, most=most, **_without(given, "since"))
        if best is not None:
            return issues.find(tx, best.id), f"review, {_reason(tx, best)}"
    raise Refusal(
        "NOTHING_TO_CLAIM", "Nothing that others have done waits for a review; claim work instead (kind work)."
    )


def another(tx: Tx) -> str | None:
    """What the caller could take instead of an issue that it cannot have."""
    wanted = Wanted()
    best = _best(tx, wanted, wanted.given(tx))
    return None if best is None else f"ISSUE-{best.number}"


def _reason(tx: Tx, best: Row) -> str:
    reason = f"{PRIORITIES[best.priority]} priority"
    if best.reserved_for is not None and issues.reserved_for(tx, best) is not None:
        reason += ", reserved for you"
    return reason + (f", unblocks {best.unblocks}" if best.unblocks else ", the oldest of its kind")


def _best(tx: Tx, wanted: Wanted, given: dict[str, Any]) -> Row | None:
    """The first that passes; what has failed again and again only for a person, when there is nothing else."""
    labels = given["labels"]
    statement = SQL.best_of_few if labels is not None and labelling.are_few(tx, labels, FEW) else SQL.best
    best = _first(tx, statement, wanted, given, failing=0)
    return best or (_first(tx, statement, wanted, given, failing=1) if tx.caller.human else None)


def _first(tx: Tx, statement: Statement, wanted: Wanted, given: dict[str, Any], *, failing: int) -> Row | None:
    for least, most in wanted.spans:
        best = tx.one(statement, least=least, most=most, failing=failing, streak=REPEATED_FAILURES, **given)
        if best is not None:
            return best
    return None


def _passed_over(tx: Tx, wanted: Wanted, given: dict[str, Any], best: Row | None) -> str:
    """What would have come first but for its needs, its reservation, its paths or its history; empty if nothing."""
    if wanted.labels is not None:
        return ""
    for least, most in wanted.spans:
        asked = _without(given, "labels", "since")
        first = tx.one(SQL.foremost, least=least, most=most, streak=REPEATED_FAILURES, **asked)
        if first is not None:
            why = "" if best is not None and first.id == best.id else _why_not(tx, first, given)
            return f"passed over ISSUE-{first.number}: {why}" if why else ""
    return ""


def _why_not(tx: Tx, issue: Row, given: dict[str, Any]) -> str:
    if issue.reserved_for not in (None, tx.caller.agent) and issues.reserved_for(tx, issue) is not None:
        return f"kept for {issue.reserved_for}"
    able: list[str] = wire.loads(given["able"])
    needs: list[str] = wire.loads(issue.needs) if issue.needs else []
    missing = [need for need in needs if need not in able]
    if missing:
        return f"needs {folded(', '.join(missing), _NEEDS_SHOWN)}"
    if issue.in_the_way is not None:
        return f"{issue.in_the_way} holds its paths"
    return "it failed again and again, and a person has to decide" if issue.failures >= REPEATED_FAILURES else ""


def _without(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in names}
