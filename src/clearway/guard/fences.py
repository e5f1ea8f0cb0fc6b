"""At the commit: whose are the paths that are about to be committed, or were?

A session may commit what it holds and what it was the last to hold in this checkout. What another session holds is
refused, and so is what another has had since: the fence of the one who commits is no longer current there. What was
committed is settled and belongs to nobody any more, unless its holder goes on. Nothing here knows git: names of paths
come in, from the root of the worktree.
"""

from __future__ import annotations

import os

from clearway import clock, lapse, paths, policy, wire
from clearway.alive import Process
from clearway.crew import agents
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import REFUSAL_BYTES_MAX
from clearway.untrusted import ending, folded, quoted, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.trail import Trail

SQL = statements(__file__)
HELD, OVERTAKEN, OTHERS, LEFT = "held", "overtaken", "others", "left"
_KEYS_AT_ONCE = 2_000
_EVENT_PATHS = 20
_SAID_PATH_BYTES_MIN = 24
_SEEN_KEPT_MS = 30 * 86_400_000
_SHORT = 10


class Checkout:
    """The worktree that is committed in: its id, its root, and how its volume compares names."""

    __slots__ = ("composes", "folds", "id", "root")

    def __init__(self, id: str, root: str, *, folds: bool = False, composes: bool = False) -> None:
        self.id = id
        self.root = root
        self.folds = folds
        self.composes = composes

    def key(self, name: str) -> str:
        return paths.key(name, folds=self.folds, composes=self.composes)


class Commit:
    """One commit that is to be pushed: what it changed, and when it was made (wall ms)."""

    __slots__ = ("id", "names", "wall")

    def __init__(self, id: str, wall: int, names: list[str]) -> None:
        self.id = id
        self.wall = wall
        self.names = names


class Claim:
    """What somebody else has to do with one path. why: it is `held`; the caller was `overtaken` there; it is `others`'
    work, who are still here; or it was `left` by one who is not."""

    __slots__ = ("holder", "path", "why")

    def __init__(self, path: str, why: str, holder: Row) -> None:
        self.path = path
        self.why = why
        self.holder = holder


def claims(tx: Tx, checkout: Checkout, names: list[str], trail: Trail) -> list[Claim]:
    """A read: what others have to do with these paths, the held ones first."""
    found: list[Claim] = []
    for start in range(0, len(names), _KEYS_AT_ONCE):
        found += _claims(tx, checkout, names[start : start + _KEYS_AT_ONCE], trail)
    order = (HELD, OVERTAKEN, OTHERS, LEFT)
    return sorted(found, key=lambda claim: order.index(claim.why))


def check(tx: Tx, checkout: Checkout, names: list[str], trail: Trail) -> list[Claim]:
    """Before a commit: the claims that are only worth a word. Refuses PATH_HELD, LEASE_EXPIRED or NOT_YOURS for an
    agent, and for a person where the room says so."""
    if policy.is_paused(tx):
        return []
    found = claims(tx, checkout, names, trail)
    grave = _grave(found)
    if grave and not may_pass(tx):
        raise refusal(tx, grave)
    return found


def check_pushed(tx: Tx, checkout: Checkout, commits: list[Commit], trail: Trail) -> list[Claim]:
    """The same before a push, for commits that nobody looked at when they were made: by whoever has had a path since
    before the commit. What was committed earlier than that was nobody's business."""
    if policy.is_paused(tx):
        return []
    names = list({name: None for commit in commits for name in commit.names})
    grave = {claim.path: claim for claim in _grave(claims(tx, checkout, names, trail))}
    found: list[Claim] = []
    for commit in commits if grave else ():
        end = commit.wall + 1_000  # git counts seconds
        over = [grave[name] for name in commit.names if name in grave and tx.at(grave[name].holder.since) < end]
        if over and not may_pass(tx):
            raise refusal(tx, over, of=commit.id[:_SHORT])
        found += over
    return found


def may_pass(tx: Tx) -> bool:
    """Whether the caller is only warned."""
    return policy.is_paused(tx) or (tx.caller.human and policy.value(tx, "commit_human") == "warn")


def refusal(tx: Tx, found: list[Claim], *, of: str = "") -> Refusal:
    """One line: the path, who has it, until when, and what to do instead. of: the commit, if it has been made."""
    first = found[0]
    count = len({claim.path for claim in found}) - 1
    code, said, way = _said(tx, first, pushed=bool(of))
    before = f"{of}, committed without the check, has " if of else ""
    behind = (f" and {count} more" if count else "") + (f", which {said}" if of else f" {said}") + f" {way}"
    room = REFUSAL_BYTES_MAX - len(f"{code}: {before}{behind}".encode())
    return Refusal(
        code,
        f"{before}{ending(first.path, max(_SAID_PATH_BYTES_MIN, room))}{behind}",
        path=first.path,
        conflicts=[
            {"path": claim.path, "agent": claim.holder.agent, "session": claim.holder.session, "why": claim.why}
            for claim in found[:_EVENT_PATHS]
        ],
    )


def warning(tx: Tx, found: list[Claim]) -> str:
    """The same for one who is let pass: one line for each holder, empty for nothing."""
    lines: list[str] = []
    for why, agent in dict.fromkeys((claim.why, claim.holder.agent) for claim in found):
        of_one = [claim for claim in found if (claim.why, claim.holder.agent) == (why, agent)]
        more = f" and {len(of_one) - 1} more" if len(of_one) > 1 else ""
        lines.append(f"{ending(of_one[0].path, 120)}{more} {_said(tx, of_one[0], pushed=False)[1].rstrip('.')}")
    return "\n".join(lines)


def committed(tx: Tx, checkout: Checkout, commit: str, names: list[str], trail: Trail) -> list[Claim]:
    """A commit was made: the work on its paths is settled, but for what others have to do with them. They are told, and
    it is given back; unless the caller may pass, a push asks again."""
    grave = [] if policy.is_paused(tx) else _grave(claims(tx, checkout, names, trail))
    if grave:
        event = tx.tell(
            "commit_over_lease",
            commit=commit,
            checkout=checkout.id,
            maker=tx.caller.agent,
            paths=[claim.path for claim in grave[:_EVENT_PATHS]],
            of=sorted({claim.holder.session for claim in grave})[:_EVENT_PATHS],
        )
        for session in {claim.holder.session for claim in grave}:
            lapse.notify(tx, session, event)
    if not grave or may_pass(tx):
        note_seen(tx, checkout, [commit])
    foreign = {claim.path for claim in grave}
    own = [checkout.key(name) for name in names if name not in foreign]
    for start in range(0, len(own), _KEYS_AT_ONCE):
        keys = wire.dumps(own[start : start + _KEYS_AT_ONCE])
        tx.change(SQL.settle, checkout=checkout.id, keys=keys, wall=tx.wall)
        tx.change(SQL.forget_settled, checkout=checkout.id, keys=keys)
    return grave


def seen(tx: Tx, commits: list[str]) -> set[str]:
    """A read: which of these commits were looked at when they were made."""
    found: set[str] = set()
    for start in range(0, len(commits), _KEYS_AT_ONCE):
        found |= {row.id for row in tx.all(SQL.seen, ids=wire.dumps(commits[start : start + _KEYS_AT_ONCE]))}
    return found


def note_seen(tx: Tx, checkout: Checkout, commits: list[str]) -> None:
    """A push does not ask about these."""
    tx.change(SQL.forget_seen, before=tx.now - _SEEN_KEPT_MS)
    for commit in commits:
        tx.change(SQL.note_commit, id=commit, checkout=checkout.id, session=tx.caller.key, now=tx.now)


def forget_the_past(tx: Tx, checkout: Checkout) -> None:
    """From now on commits are looked at. What lies in this worktree from before, of sessions that are over, is asked
    about no more."""
    tx.change(SQL.forget_the_past, checkout=checkout.id)


def _grave(found: list[Claim]) -> list[Claim]:
    return [claim for claim in found if claim.why != LEFT]


def _claims(tx: Tx, checkout: Checkout, names: list[str], trail: Trail) -> list[Claim]:
    keys = {name: checkout.key(name) for name in names}
    folders = {key.rpartition("/")[0] for key in keys.values()}
    over = {folder: paths.above(folder) if folder else [paths.ROOT] for folder in folders}
    every = {*keys.values(), *(key for above in over.values() for key in above)}
    asked = {"checkout": checkout.id, "keys": wire.dumps(list(every))}
    me = {
        "session": tx.caller.key,
        "agent": tx.caller.agent,
        "named": int(tx.caller.named),
        "gone": lapse.gone(tx)[0],
    }
    held = {row.path: row for row in tx.all(SQL.held, **asked, **me)}
    last = {row.path: row for row in tx.all(SQL.last, **asked)}
    if not held and all(_is_mine(tx, row) for row in last.values()):
        return []
    own = {row.path for row in tx.all(SQL.own, **asked, **me)}
    found: list[Claim] = []
    for name, key in keys.items():
        above = [key, *over[key.rpartition("/")[0]]]
        holder = next((held[each] for each in above if each in held), None)
        if holder is not None:
            found.append(Claim(name, HELD, holder))
        elif not own.intersection(above):
            why, row = _came_last(tx, checkout, name, [last[each] for each in above if each in last], trail)
            if row is not None:
                found.append(Claim(name, why, row))
    return found


def _came_last(tx: Tx, checkout: Checkout, name: str, rows: list[Row], trail: Trail) -> tuple[str, Row | None]:
    """Whose uncommitted work a path is, if not the caller's. Above the path itself only the caller's own counts: that
    somebody once claimed a whole folder does not say that this file was changed."""
    if not rows:
        return "", None
    newest = max(rows, key=lambda row: row.fence)
    exact = next((row for row in rows if row.path == checkout.key(name)), None)
    if _is_mine(tx, newest) or exact is None or _is_mine(tx, exact):
        return "", None
    if exact.settled_wall is not None and not _went_on(exact, checkout, name, trail):
        return "", None
    if exact.former == tx.caller.key:
        return OVERTAKEN, exact
    return (OTHERS if _is_here(tx, exact) else LEFT), exact


def _is_mine(tx: Tx, row: Row) -> bool:
    return row.session == tx.caller.key or (row.agent == tx.caller.agent and bool(row.named or tx.caller.named))


def _went_on(row: Row, checkout: Checkout, name: str, trail: Trail) -> bool:
    """Whether its holder changed the file again under the lease that it had at the commit: no new lease tells."""
    whole = os.path.join(checkout.root, name)
    return any(step.what == whole and step.wall > row.settled_wall for step in trail.steps(row.session))


def _is_here(tx: Tx, row: Row) -> bool:
    """Whether a session that came last may come back to its work. Of one without a process only signs of life tell."""
    if row.ended_at is not None:
        return False
    if row.pid is not None:
        return not tx.liveness.is_dead(row.host, Process(row.boot, row.pidns, row.pid, row.started))
    return agents.presence(tx, row) != "offline"


def _said(tx: Tx, claim: Claim, *, pushed: bool) -> tuple[str, str, str]:
    """The code, what is the matter, and the way out."""
    holder = claim.holder
    agent = folded(holder.agent, 40)
    if claim.why == HELD:
        purpose = f" for {quoted(within(holder.purpose, 40), 32)}" if holder.purpose else ""
        until = clock.local_time(tx.at(lapse.until(tx, holder)))
        way = "Commit your own paths (git commit -- PATH), or wait." if not pushed else "Ask its holder, or wait."
        return "PATH_HELD", f"is held by {agent}{purpose} until {until}.", way
    if claim.why == OVERTAKEN:
        way = "Look at it (git diff HEAD), claim it (clearway claim PATH), then commit."
        return "LEASE_EXPIRED", f"was taken by {agent} after you had it; your lease is over.", way
    here = "who is still here" if claim.why == OTHERS else "whose session is over"
    way = "Leave it out (git commit -- PATH), or take it over with clearway claim PATH."
    return "NOT_YOURS", f"was last held by {agent}, {here}.", way
