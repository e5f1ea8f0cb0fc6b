"""Commits that were made under an attempt: the line that names it in their message, and their place among its results.

The current attempt of a session is the last it claimed or acted on. A commit that is made while there is none belongs
to no issue, and nothing is written down for it.
"""

from __future__ import annotations

from clearway import lapse
from clearway.db import Row, statements
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
TRAILER = "Clearway-Attempt"
_TITLE_CHARS = 200


def trailer(tx: Tx) -> str:
    """A read: what follows the key in a commit's message, as ISSUE-42 #7; empty without a current attempt."""
    attempt = _current(tx)
    return "" if attempt is None else f"ISSUE-{attempt.number} #{attempt.fence}"


def record(tx: Tx, commit: str, subject: str, *, amends: str = "") -> str | None:
    """Put a commit among the results of the current attempt; the attempt's id, or None when there is none.

    amends: the commit in whose place it stands, if that was amended.
    """
    attempt = _current(tx)
    if attempt is None:
        return None
    here = {"issue": attempt.issue, "attempt": attempt.id}
    made = {"uri": commit, "title": folded(subject, _TITLE_CHARS)}
    if tx.one(SQL.known, uri=commit, **here) is not None:
        return attempt.id
    if not (amends and tx.change(SQL.replace, earlier=amends, **made, **here)):
        tx.change(SQL.attach, id=tx.new_id(), wall=tx.wall, **made, **here)
    tx.change(SQL.act, id=attempt.id, now=tx.now)
    more: dict[str, Any] = {"amends": amends} if amends else {}
    tx.tell("commit_made", issue=attempt.issue, attempt=attempt.id, commit=commit, **more)
    return attempt.id


def _current(tx: Tx) -> Row | None:
    return tx.one(SQL.current, session=tx.caller.key, gone=lapse.gone(tx)[1])
