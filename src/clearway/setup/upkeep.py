"""What a room stores twice, because it is asked too often to be counted: does it agree, and how is it put right?

Counters of what was given out, how much each issue waits for and holds up, the index of words, and what hangs on an
attempt or a lease that is over. `clearway doctor --full` compares all of it, `--repair` writes it anew from what it
follows from. Nothing that people or agents have made is touched.
"""

from __future__ import annotations

from clearway import lapse
from clearway.config import Caller
from clearway.db import Statement, statements
from clearway.db.tx import Tx
from clearway.room import Room
from clearway.work import blocking, search

SQL = statements(__file__)
_TOGETHER = 500


def faults(room: Room) -> list[str]:
    """What does not agree, a sentence each; nothing in a sound room."""
    return room.run(_faults, caller=Caller("clearway", host=room.liveness.host), writes=False)


def put_right(room: Room) -> list[str]:
    """Write anew what does not agree; what was done, a sentence each."""
    return room.tidy(_put_right) if faults(room) else []


def _faults(tx: Tx) -> list[str]:
    tx.silent = True
    found = [f"the counter of {name} is at {has}, and {needs} was given out" for name, has, needs in _behind(tx)]
    compared = (
        (SQL.miscounted, "of {} issues it is wrong how many they wait for or hold up"),
        (SQL.unindexed, "{} texts are not in the index of words"),
        (SQL.indexed_in_vain, "{} entries of the index of words stand for nothing"),
        (SQL.left_held, "{} paths are held for attempts that are over"),
        (SQL.left_watched, "{} copies of files are watched over that nobody holds"),
    )
    counted = ((_count(tx, statement), sentence) for statement, sentence in compared)
    return [*found, *(sentence.format(count) for count, sentence in counted if count)]


def _count(tx: Tx, statement: Statement) -> int:
    row = tx.one(statement)
    return 0 if row is None else int(row.count)


def _behind(tx: Tx) -> list[tuple[str, int, int]]:
    """The counters that would give something out a second time: what, where it is, where it has to be."""
    given = tx.one(SQL.given_out)
    assert given is not None
    at = tx.opening
    known = (
        ("events", at.last_event, given.event),
        ("issues", at.last_issue, given.issue),
        ("fences", at.last_fence, given.fence),
    )
    return [each for each in known if each[1] < each[2]]


def _put_right(tx: Tx) -> list[str]:
    done: list[str] = []
    behind = {name: needs for name, _, needs in _behind(tx)}
    if behind:
        tx.reach(event=behind.get("events", 0), issue=behind.get("issues", 0), fence=behind.get("fences", 0))
        done.append("the counters go on behind what was given out")
    wrong = [row.id for row in tx.all(SQL.which_miscounted)]
    for start in range(0, len(wrong), _TOGETHER):
        blocking.recount(tx, wrong[start : start + _TOGETHER])
    if wrong:
        done.append(f"what {len(wrong)} issues wait for and hold up was counted again")
    if _count(tx, SQL.unindexed) or _count(tx, SQL.indexed_in_vain):
        search.index_anew(tx)
        done.append("the index of words was written anew")
    left = tx.all(SQL.which_left_held)
    lapse.release(tx, left, "attempt_ended")
    if left:
        done.append(f"{len(left)} paths are free again")
    if tx.change(SQL.unwatch):
        done.append("copies of files that nobody holds are watched over no longer")
    return done
