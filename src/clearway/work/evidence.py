"""Evidence: what hooks saw of the tests while an attempt was worked on, and whether an edit followed the last green.

What an agent says of its work and what was seen of it are two things. When an attempt ends, what its session's trail
knows is kept beside the result; whoever reviews it or goes on sees both. Work that is called complete without a green
run since its last edit is answered with a warning, or refused, as the room has decided. Of a session whose hooks are
not heard nothing is known, and nothing is said.
"""

from __future__ import annotations

import os

from clearway import clock, policy, repository, testruns
from clearway.db import Row, statements
from clearway.errors import Refusal
from clearway.limits import TRAIL_COMMAND_CHARS_MAX
from clearway.trail import CHANGED, Trail
from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.db.tx import Tx
    from clearway.trail import Step

SQL = statements(__file__)
GREEN, RED, STALE, UNTESTED, UNKNOWN, UNEDITED = "green", "red", "stale", "untested", "unknown", "unedited"
_LACKING = {
    RED: "its last test run failed",
    STALE: "it was edited after the last green test run",
    UNTESTED: "no test run was seen since it was edited",
}
# Nobody runs tests for a page of text.
_TEXTS = (".md", ".rst", ".txt", ".adoc", ".org")


class Seen:
    """What is known of the tests of one attempt."""

    __slots__ = ("edited_wall", "edits", "last", "red_runs", "runs", "verdict")

    def __init__(self, steps: list[Step], more: list[list[str]]) -> None:
        tested = [step for step in steps if step.kind != CHANGED and testruns.is_test(step.what, more)]
        files = {step.what for step in steps if step.kind == CHANGED}
        counting = {file for file in files if _counts(file)}
        edited = [step for step in steps if step.kind == CHANGED and step.what in counting]
        self.edits = len(counting)
        self.edited_wall = edited[-1].wall if edited else None
        self.runs = len(tested)
        self.red_runs = sum(bool(step.status) for step in tested)
        self.last = tested[-1] if tested else None
        place = steps.index(edited[-1]) if edited else -1
        self.verdict = _verdict(tested, [step for step in tested if steps.index(step) > place], has_edits=bool(edited))


def judge(tx: Tx, attempt: Row, outcome: str) -> list[str]:
    """Keep what was seen of an attempt that ends; the warnings for whoever ends it. Refuses work that is called
    complete and lacks a green run, where the room has decided so."""
    if attempt.kind != "work":
        return []
    found = seen(tx, attempt)
    if found is None:
        return []
    last = found.last
    tx.change(
        SQL.keep,
        attempt=attempt.id,
        verdict=found.verdict,
        runs=found.runs,
        red_runs=found.red_runs,
        edits=found.edits,
        command=None if last is None else folded(last.what, TRAIL_COMMAND_CHARS_MAX),
        status=None if last is None else last.status,
        ran_wall=None if last is None else last.wall,
        edited_wall=found.edited_wall,
    )
    how = policy.value(tx, "evidence")
    lacks = _LACKING.get(found.verdict)
    if outcome != "completed" or lacks is None or how == "off":
        return []
    if how == "refuse" and not tx.caller.human:
        raise Refusal(
            "INVALID_STATUS_TRANSITION",
            f"ISSUE-{attempt.number} cannot be called complete: {lacks}. Run the tests until they are green, or finish "
            "as interrupted; this room asks for it (setting evidence).",
            [{"field": "outcome", "code": "NO_GREEN_RUN", "message": lacks}],
            issue=f"ISSUE-{attempt.number}",
            tests=found.verdict,
        )
    return [f"NO_GREEN_RUN:{found.verdict}"]


def seen(tx: Tx, attempt: Row) -> Seen | None:
    """What hooks have seen of an attempt so far, None if they are not heard. attempt: with `session` and
    `started_wall`."""
    trail = Trail(tx.home)
    steps: list[Step] = []
    for session in dict.fromkeys((attempt.session, tx.caller.key)):
        steps += trail.steps(session)
    steps = sorted((step for step in steps if step.wall >= attempt.started_wall), key=lambda step: step.wall)
    if not steps:
        return None
    more = [words for line in policy.value(tx, "test_commands").split(";") if (words := line.split())]
    return Seen(steps, more)


def of_attempt(tx: Tx, attempt: str) -> dict[str, Any] | None:
    """What was seen of the tests of an attempt that has ended."""
    row = tx.one(SQL.of_attempt, attempt=attempt)
    return None if row is None else shown(row)


def of_issue(tx: Tx, issue: str) -> dict[str, Any] | None:
    """What was seen of the last work on an issue, for whoever reviews it or goes on with it."""
    row = tx.one(SQL.of_issue, issue=issue)
    return None if row is None else shown(row)


def shown(row: Row) -> dict[str, Any]:
    """As agents and people read it: `tests`, how the last run ended and when, when it was edited last."""
    facts: dict[str, Any] = {"tests": row.verdict, "runs": row.runs, "red_runs": row.red_runs, "edits": row.edits}
    if row.command is not None:
        facts["command"] = folded(row.command, TRAIL_COMMAND_CHARS_MAX)
        facts["ran_at"] = clock.iso(row.ran_wall)
    if row.status is not None:
        facts["exit"] = row.status
    if row.edited_wall is not None:
        facts["edited_at"] = clock.iso(row.edited_wall)
    return facts


def _verdict(tested: list[Step], since: list[Step], *, has_edits: bool) -> str:
    """since: the runs after the last edit."""
    if not has_edits and not tested:
        return UNEDITED
    known = [step for step in since if step.status is not None]
    if known:
        return RED if known[-1].status else GREEN
    if since:
        return UNKNOWN
    return STALE if any(step.status == 0 for step in tested) else RED if _is_red(tested) else UNTESTED


def _is_red(tested: list[Step]) -> bool:
    return bool(tested) and bool(tested[-1].status)


def _counts(path: str) -> bool:
    """Whether an edit of this file asks for a test run: it is no page of text, and it lies in a repository."""
    return not path.lower().endswith(_TEXTS) and repository.holding(os.path.dirname(path)) is not None
