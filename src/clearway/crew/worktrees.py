"""Several worktrees of one repository: which one a session works in, and what others hold of the same file elsewhere.

A session that began in a linked worktree is bound to it: what it writes to another checkout of that repository is
refused with the path that was meant. The same path held in another worktree is another file, so both may hold it, but
who comes second is told once that the two will meet at the merge; a room may decide that this is refused, too.
"""

from __future__ import annotations

import os

from clearway import lapse, paths, policy, repository, wire
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import REFUSAL_BYTES_MAX
from clearway.untrusted import ending, exact, folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx
    from clearway.repository import Place

SQL = statements(__file__)
ELSEWHERE_SHOWN = 10


def check_bound(tx: Tx, places: list[Place]) -> None:
    """Refuse PATH_OTHER_CHECKOUT for a place in another checkout of the repository than the caller's own worktree."""
    bound = bound_to(tx)
    strangers = [place for place in places if place.repository is not None and place.root != bound]
    if not bound or not strangers or policy.value(tx, "worktree_binding") == "off":
        return
    home = repository.holding(bound)
    for place in strangers:
        if home is not None and home.common and place.repository and home.common == place.repository.common:
            raise _other_checkout(place, os.path.join(bound, place.shown))


def bound_to(tx: Tx) -> str:
    """The root of the linked worktree in which the calling session began; empty when it did not begin in one."""
    if tx.caller.named:
        return ""
    if tx.opening.session is None:  # a first question that is only a read
        return repository.linked_worktree(tx.caller.cwd)
    return tx.opening.bound or ""


def elsewhere(tx: Tx, places: list[Place]) -> list[Row]:
    """Live edit leases of others on the same paths in other worktrees, each once."""
    found: dict[str, Row] = {}
    for place in places:
        if place.repository is None:
            continue
        low, high = paths.below(place.key)
        for lease in tx.all(
            SQL.elsewhere,
            checkout=place.checkout,
            above=wire.dumps(paths.above(place.key)),
            below_from=low,
            below_to=high,
            session=tx.caller.key,
            agent=tx.caller.agent,
            named=int(tx.caller.named),
            gone=lapse.gone(tx)[0],
            limit=ELSEWHERE_SHOWN,
        ):
            found.setdefault(lease.id, lease)
    return list(found.values())[:ELSEWHERE_SHOWN]


def notices(tx: Tx, places: list[Place]) -> list[str]:
    """A line for each lease elsewhere that the calling session was not told of yet. It is now."""
    return [_line(tx, lease) for lease in told(tx, elsewhere(tx, places))]


def told(tx: Tx, leases: list[Row]) -> list[Row]:
    """Note that the calling session knows of these leases; which of them are news. The log says where work overlaps."""
    news = [
        lease
        for lease in leases
        if tx.change(SQL.note_told, session=tx.caller.key, path=lease.shown, holder=lease.session)
    ]
    if news:
        facts = [{"path": lease.shown, "session": lease.session, "agent": lease.agent} for lease in news]
        tx.tell("overlap_noted", paths=facts)
    return news


def shown(tx: Tx, lease: Row) -> dict[str, Any]:
    """A lease elsewhere as a reply shows it."""
    branch = _branch(tx, lease)
    facts = {"path": lease.shown, "agent": lease.agent, "session": lease.session, "until": tx.iso(lease.expires_at)}
    facts |= {"issue": f"ISSUE-{lease.number}"} if lease.number is not None else {}
    facts |= {"branch": branch} if branch else {}
    return facts | ({"purpose": folded(lease.purpose, 120)} if lease.purpose else {})


def _line(tx: Tx, lease: Row) -> str:
    branch = _branch(tx, lease)
    on = f" on branch {folded(branch, 60)}" if branch else ""
    issue = f" for ISSUE-{lease.number}" if lease.number is not None else ""
    what = ending(lease.shown, 100)
    return f"[clearway] {what} is also in flight in another worktree: {lease.agent}{on}{issue}; you meet at the merge."


def _branch(tx: Tx, lease: Row) -> str:
    """Where that worktree is now if it is on this machine, else where it was when the lease was taken."""
    here = repository.branch(lease.root) if lease.host == tx.caller.host else ""
    return here or lease.branch


def _other_checkout(place: Place, meant: str) -> Refusal:
    said = " is in another checkout; this session works in its own worktree: use "
    room = REFUSAL_BYTES_MAX - len(f"PATH_OTHER_CHECKOUT: {said}{exact(meant)}.".encode()) - 1
    return Refusal(
        "PATH_OTHER_CHECKOUT",
        f"{ending(place.absolute, max(room, 24))}{said}{exact(meant)}.",
        path=place.absolute,
        instead=meant,
    )
