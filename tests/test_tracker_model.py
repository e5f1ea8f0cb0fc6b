"""The rules of the tracker, said a second time in a few dictionaries, and compared with a room step by step.

Hypothesis chooses what happens to issues, relations, plans, attempts, reviews and decisions; the model says what must
come of it, refusals included. Nobody is in a hurry here: leases lapse only when everybody is silent for hours at once.
test_model.py is about time. `CLEARWAY_TEST_DEEP=1` looks much further, and elsewhere in every run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.conftest import HOST, HandClock, HandLiveness

from clearway import catalog
from clearway.clock import Clock
from clearway.config import Caller
from clearway.errors import Refusal
from clearway.lifecycle import PRIORITIES, STATUSES, TERMINAL, TRANSITIONS
from clearway.room import open_room

DEEP = bool(os.environ.get("CLEARWAY_TEST_DEEP"))
SILENT_MINUTES = 600  # longer than beats may carry any attempt
GONE = {"expired": "LEASE_EXPIRED"}
STREAK = 3
FEW = 5
PAGE = 100  # what one list shows

picks = st.integers(0, 99)
agents = st.integers(0, 2)
statuses = st.sampled_from(("open", "ready", "ready", "ready", *STATUSES))
types = st.sampled_from(("task", "task", "task", "bug", "epic"))
relations = st.sampled_from(("blocks", "blocks", "blocks", "related_to", "duplicates"))


@dataclass
class Issue:
    id: str
    number: int
    type: str
    status: str
    priority: str
    parent: int | None = None  # its number
    title: str = "Work"
    labels: frozenset[str] = frozenset()
    version: int = 1
    archived: bool = False
    ends: list[str] = field(default_factory=list)  # how its attempts ended
    changes: list[tuple[int, int, frozenset[str]]] = field(default_factory=list)  # when, by whom, which fields
    stirred: int = 0  # when it last changed as a review sees it


@dataclass
class Attempt:
    id: str
    token: str
    issue: int
    kind: str
    who: int
    since: int
    worked: set[int] = field(default_factory=set)  # sessions that ever held it
    status: str = "active"


@dataclass
class Review:
    id: str
    issue: int
    at: int
    issue_version: int
    status: str = "open"
    version: int = 1
    attempt: Attempt | None = None


@dataclass
class Decision:
    id: str
    issue: int | None
    status: str


class Tracker(RuleBasedStateMachine):
    """A room and the model of its work, side by side."""

    dsn: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="tracker-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.clock = HandClock()
        liveness = HandLiveness()
        self.room = open_room(Clock().new_id(), home=self.folder, clock=self.clock, liveness=liveness, address=self.dsn)
        self.callers = [
            Caller(name, name, cwd=self.folder, host=HOST, process=liveness.identify(100 + place))
            for place, name in enumerate(("alpha", "beta", "gamma"))
        ]
        self.observer = Caller("observer", host=HOST, cwd=self.folder)
        self.issues: dict[int, Issue] = {}
        self.relations: set[tuple[int, int, str]] = set()
        self.attempts: list[Attempt] = []
        self.reviews: list[Review] = []
        self.decisions: list[Decision] = []
        self.now = 0  # an order of what happened; no time

    def teardown(self) -> None:
        self.room.close()
        shutil.rmtree(self.folder)

    # --- what the model knows -------------------------------------------------------------------------------------

    def open_blockers(self, issue: Issue) -> int:
        sources = [
            self.issues[source] for source, target, kind in self.relations if (target, kind) == (issue.number, "blocks")
        ]
        return sum(source.status not in TERMINAL and not source.archived for source in sources)

    def live(self, issue: Issue) -> Attempt | None:
        return next((each for each in self.attempts if each.issue == issue.number and each.status == "active"), None)

    def pending(self, issue: Issue) -> Review | None:
        return next(
            (each for each in self.reviews if each.issue == issue.number and each.status in ("open", "claimed")), None
        )

    def is_stale(self, review: Review) -> bool:
        return self.issues[review.issue].stirred > review.at

    def leads(self, start: int, goal: int) -> bool:
        seen, todo = set[int](), [start]
        while todo:
            at = todo.pop()
            if at == goal:
                return True
            if at not in seen:
                seen.add(at)
                todo += [target for source, target, kind in self.relations if source == at and kind == "blocks"]
        return False

    def failures(self, issue: Issue) -> bool:
        last = issue.ends[-STREAK:]
        return len(last) == STREAK and not {"completed", "interrupted"} & set(last)

    def is_fit(self, issue: Issue) -> bool:
        return (
            issue.type != "epic"
            and not issue.archived
            and issue.status in ("ready", "review")
            and not self.open_blockers(issue)
        )

    def changed(self, issue: Issue, who: int, fields: set[str], *, for_review: bool) -> None:
        self.now += 1
        if fields:
            issue.changes.append((self.now, who, frozenset(fields)))
        if for_review:
            issue.stirred = self.now

    def pick(self, pick: int) -> Issue:
        """Mostly one of the first few, so that much happens to each."""
        numbers = sorted(self.issues)[: len(self.issues) if pick % 7 == 0 else FEW]
        return self.issues[numbers[pick % len(numbers)]]

    # --- issues ---------------------------------------------------------------------------------------------------

    @initialize()
    def there_is_work(self) -> None:
        for type, status in (("epic", "open"), ("task", "ready"), ("task", "ready"), ("bug", "ready")):
            self.create(0, type, status, "medium", 0, child=False)

    @precondition(lambda self: len(self.issues) < PAGE)
    @rule(
        who=agents, type=types, status=statuses, priority=st.sampled_from(PRIORITIES), parent=picks, child=st.booleans()
    )
    def create(self, who: int, type: str, status: str, priority: str, parent: int, *, child: bool) -> None:
        above = self.pick(parent) if child and self.issues else None
        given: dict[str, Any] = {"title": "Work", "type": type, "status": status, "priority": priority}
        given |= {"blocked_reason": "no key"} if status == "blocked" else {}
        given |= {} if above is None else {"parent_issue_id": above.id}
        reply = self._ask(who, "create_issue", **given)
        if above is not None and (type == "epic" or above.type != "epic" or above.archived):
            return self._is(reply, "INVALID_EPIC_PARENT")
        self._is(reply)
        number = int(reply["display_id"].removeprefix("ISSUE-"))
        assert number == max(self.issues, default=0) + 1, "numbers follow each other, whatever was refused"
        self.issues[number] = Issue(
            reply["issue_id"], number, type, status, priority, None if above is None else above.number
        )
        return None

    @rule(who=agents, pick=picks, to=statuses, old=st.booleans())
    def move(self, who: int, pick: int, to: str, *, old: bool) -> None:
        self._move(who, self.pick(pick), to, old=old and pick % 3 == 0)

    def _move(self, who: int, issue: Issue, to: str, *, old: bool = False) -> None:
        changes: dict[str, Any] = {"status": to} | ({"blocked_reason": "no key"} if to == "blocked" else {})
        reply = self._update(who, issue, changes, old=old)
        if reply is None:
            return None
        if to not in TRANSITIONS[issue.status]:
            return self._is(reply, "INVALID_STATUS_TRANSITION")
        fields = {"status"} | ({"blocked_reason"} if "blocked" in (to, issue.status) else set())
        assert set(reply["changed_fields"]) == fields
        issue.status = to
        self._changed(issue, who, reply, fields)
        return None

    @rule(
        who=agents,
        pick=picks,
        priority=st.sampled_from(PRIORITIES),
        title=st.sampled_from(("Work", "Toil")),
        label=st.sampled_from(("", "a", "A b")),
    )
    def describe(self, who: int, pick: int, priority: str, title: str, label: str) -> None:
        self._describe(who, self.pick(pick), priority, title, label)

    def _describe(self, who: int, issue: Issue, priority: str, title: str, label: str) -> None:
        labels = frozenset({label} - {""})
        reply = self._update(who, issue, {"priority": priority, "title": title, "labels": sorted(labels)})
        if reply is None:
            return
        new = {"priority": priority, "title": title, "labels": labels}
        fields = {name for name, value in new.items() if getattr(issue, name) != value}
        assert set(reply["changed_fields"]) == fields
        issue.priority, issue.title, issue.labels = priority, title, labels
        if fields:
            self._changed(issue, who, reply, fields)
        else:
            assert reply["version"] == issue.version, "what changes nothing is no change"

    @rule(who=agents, pick=picks, other=picks, type=types, free=st.booleans())
    def regroup(self, who: int, pick: int, other: int, type: str, *, free: bool) -> None:
        issue, above = self.pick(pick), self.pick(other)
        parent = None if free else above
        reply = self._update(who, issue, {"type": type, "parent_issue_id": None if parent is None else parent.id})
        if reply is None:
            return None
        wrong = parent is not None and (type == "epic" or parent.type != "epic" or parent.archived or parent is issue)
        held = type == "epic" and issue.type != "epic" and self.live(issue) is not None
        has_children = any(each.parent == issue.number for each in self.issues.values())
        leaves = issue.type == "epic" and type != "epic" and has_children
        if wrong or leaves:
            return self._is(reply, "INVALID_EPIC_PARENT", *(["ACTIVE_ATTEMPT_EXISTS"] if held else []))
        if held:
            return self._is(reply, "ACTIVE_ATTEMPT_EXISTS")
        number = None if parent is None else parent.number
        fields = ({"type"} if type != issue.type else set()) | (
            {"parent_issue_id"} if number != issue.parent else set()
        )
        assert set(reply["changed_fields"]) == fields
        issue.type, issue.parent = type, number
        if fields:
            self._changed(issue, who, reply, fields)
        return None

    @rule(who=agents, pick=picks, away=st.sampled_from((False, False, True)))
    def put_away(self, who: int, pick: int, *, away: bool) -> None:
        issue = self.pick(pick)
        reply = self._ask(who, "archive_issue", issue_id=issue.id, expected_version=issue.version, archived=away)
        if away and issue.archived:
            return self._is(reply, "ISSUE_ARCHIVED")
        if away and self.live(issue):
            return self._is(reply, "ACTIVE_ATTEMPT_EXISTS")
        self._is(reply)
        if away != issue.archived:
            issue.archived, issue.version = away, issue.version + 1
        assert reply["version"] == issue.version
        return None

    # --- relations and plans --------------------------------------------------------------------------------------

    @rule(who=agents, one=picks, other=picks, kind=relations, add=st.sampled_from((True, True, False)))
    def relate(self, who: int, one: int, other: int, kind: str, *, add: bool) -> None:
        self._relate(who, self.pick(one), self.pick(other), kind, add=add)

    def _relate(self, who: int, source: Issue, target: Issue, kind: str, *, add: bool) -> None:
        action = "add" if add else "remove"
        given = {"source_issue_id": source.id, "target_issue_id": target.id, "relation_type": kind, "action": action}
        reply = self._ask(who, "manage_issue_relation", **given)
        if source is target:
            return self._is(reply, "SELF_RELATION")
        if source.archived or target.archived:
            return self._is(reply, "ISSUE_ARCHIVED")
        ends = (source.number, target.number, kind)
        if kind == "related_to" and target.id < source.id:
            ends = (target.number, source.number, kind)
        if add and kind == "blocks" and self.leads(target.number, source.number):
            return self._is(reply, "BLOCKS_CYCLE")
        self._is(reply)
        assert reply["changed"] is (add is not (ends in self.relations))
        (self.relations.add if add else self.relations.discard)(ends)
        return None

    @precondition(lambda self: len(self.issues) < PAGE - 3)
    @rule(
        who=agents,
        count=st.integers(1, 3),
        edges=st.lists(st.tuples(picks, picks, relations), max_size=4),
        epic=st.booleans(),
    )
    def plan(self, who: int, count: int, edges: list[tuple[int, int, str]], *, epic: bool) -> None:
        """New issues and relations at once, between new ones and to those that are there: all of it or nothing."""
        refs = [f"new-{place}" for place in range(count)]
        first = max(self.issues, default=0) + 1
        entries: list[dict[str, Any]] = [{"ref": ref, "title": "Work", "status": "ready"} for ref in refs]
        if epic and count > 1:  # the child before its epic
            entries[-1] |= {"type": "epic", "status": "open"}
            entries[0] |= {"parent_ref": refs[-1]}
        ordered = sorted(range(count), key=lambda place: ("type" not in entries[place], place))  # epics come first
        own = [first + ordered.index(place) for place in range(count)]
        ends = refs + [f"ISSUE-{number}" for number in sorted(self.issues)]
        numbers = own + sorted(self.issues)
        listed = [
            {"source_ref": ends[one % len(ends)], "target_ref": ends[other % len(ends)], "type": kind}
            for one, other, kind in edges
        ]
        wanted = [(numbers[one % len(ends)], numbers[other % len(ends)], kind) for one, other, kind in edges]
        given: dict[str, Any] = {"issues": entries, "relations": listed}
        judged = self._ask(who, "validate_issue_plan", **given)
        reply = self._ask(who, "apply_issue_plan", **given, idempotency_key=f"plan-{self.now}-{len(self.issues)}")
        before = set(self.relations)
        valid = self._add_all(wanted)
        assert judged["valid"] is valid
        if not valid:
            self.relations = before
            return self._is(reply, "VALIDATION_ERROR")
        self._is(reply)
        for ref, entry, number in zip(refs, entries, own, strict=True):
            made = reply["created"][ref]
            assert made["display_id"] == f"ISSUE-{number}"
            parent = own[-1] if "parent_ref" in entry else None
            type = entry.get("type", "task")
            self.issues[number] = Issue(made["issue_id"], number, type, entry["status"], "medium", parent)
        return None

    def _add_all(self, wanted: list[tuple[int, int, str]]) -> bool:
        """Whether a plan may have all these relations; they are there then."""
        for source, target, kind in wanted:
            known = {end: self.issues[end] for end in (source, target) if end in self.issues}
            same = {(source, target, kind)} | ({(target, source, kind)} if kind == "related_to" else set())
            if source == target or any(issue.archived for issue in known.values()) or same & self.relations:
                return False
            if kind == "blocks" and self.leads(target, source):
                return False
            ends = (source, target)
            if kind == "related_to" and len(known) == 2 and known[target].id < known[source].id:
                ends = (target, source)
            self.relations.add((*ends, kind))
        return True

    # --- attempts -------------------------------------------------------------------------------------------------

    @rule(who=agents, pick=picks, kind=st.sampled_from((None, None, "work", "review")))
    def claim(self, who: int, pick: int, kind: str | None) -> None:
        self._claim(who, self.pick(pick), kind)

    def _claim(self, who: int, issue: Issue, kind: str | None) -> None:
        given = {} if kind is None else {"kind": kind}
        reply = self._ask(who, "claim_issue", issue_id=issue.id, context=False, **given)
        mine = self.live(issue)
        if mine is not None and mine.who == who:
            return self._is_again(reply, mine)
        pending = self.pending(issue)
        kind = kind or ("review" if issue.status == "review" else "work")
        self._is(reply, *self._refusals(issue, who, kind, pending))
        if not isinstance(reply, Refusal):
            self._started(who, issue, kind, pending, reply)
        return None

    def _refusals(self, issue: Issue, who: int, kind: str, pending: Review | None) -> list[str]:
        """Why this claim must be refused, the first reason alone; empty if it must be granted."""
        if issue.archived:
            return ["ISSUE_ARCHIVED"]
        if self.live(issue):
            return ["ACTIVE_ATTEMPT_EXISTS"]
        asked = pending is not None and not self.is_stale(pending) and issue.status in ("ready", "review")
        fits = (
            issue.status == "ready"
            if kind == "work"
            else issue.status == "review" or (asked and issue.status == "ready")
        )
        if issue.type == "epic" or not fits:
            return ["ISSUE_NOT_CLAIMABLE"]
        if kind == "review" and asked and self._has_worked(who, issue):
            return ["ISSUE_NOT_CLAIMABLE"]
        return ["ISSUE_BLOCKED"] if self.open_blockers(issue) else []

    def _has_worked(self, who: int, issue: Issue) -> bool:
        return any(each.issue == issue.number and each.kind == "work" and each.who == who for each in self.attempts)

    def _started(self, who: int, issue: Issue, kind: str, pending: Review | None, reply: Any) -> None:
        assert reply["kind"] == kind
        assert (reply["warnings"] == ["REPEATED_ATTEMPT_FAILURES"]) is self.failures(issue)
        self.now += 1
        attempt = Attempt(reply["attempt_id"], reply["lease_token"], issue.number, kind, who, self.now)
        self.attempts.append(attempt)
        if kind == "work":
            issue.stirred = self.now
        elif pending is not None and self.is_stale(pending):
            self._resolve(pending, "superseded")
        elif pending is not None:
            pending.status, pending.attempt, pending.version = "claimed", attempt, pending.version + 1

    def _is_again(self, reply: Any, mine: Attempt) -> None:
        assert (reply["attempt_id"], reply["lease_token"], reply["resumed"]) == (mine.id, mine.token, True)

    @rule(who=agents)
    def claim_next(self, who: int) -> None:
        free = [
            issue
            for issue in self.issues.values()
            if self.is_fit(issue) and issue.status == "ready" and not self.live(issue) and not self.failures(issue)
        ]
        reply = self._ask(who, "claim_issue", next=True, context=False)
        if not free:
            return self._is(reply, "NOTHING_TO_CLAIM")
        best = min(free, key=self._rank)
        assert reply["issue_id"] == best.id, f"{reply}, not ISSUE-{best.number}"
        self._started(who, best, "work", self.pending(best), reply)
        return None

    def _rank(self, issue: Issue) -> tuple[int, int, int]:
        """Priority, what it unblocks, and age. What failed again and again waits for a person to decide."""
        unblocks = sum(
            (source, kind) == (issue.number, "blocks")
            and self.issues[target].status not in TERMINAL
            and not self.issues[target].archived
            for source, target, kind in self.relations
        )
        return -PRIORITIES.index(issue.priority), -unblocks, issue.number

    @precondition(lambda self: self.attempts)
    @rule(who=agents, pick=picks, kind=st.sampled_from(("progress", "checkpoint")), artifact=st.booleans())
    def note(self, who: int, pick: int, kind: str, *, artifact: bool) -> None:
        attempt = self._attempt(pick)
        given: dict[str, Any] = {"artifacts": [{"type": "branch", "uri": "work"}]} if artifact else {}
        reply = self._ask(who, "save_attempt_note", **self._proof(attempt), kind=kind, content="On it.", **given)
        if attempt.status != "active":
            return self._is(reply, GONE.get(attempt.status, "ATTEMPT_NOT_ACTIVE"))
        self._is(reply)
        attempt.who = who
        issue = self.issues[attempt.issue]
        self.changed(issue, who, set(), for_review=artifact and attempt.kind == "work")
        return None

    @precondition(lambda self: self.attempts)
    @rule(
        who=agents,
        pick=picks,
        outcome=st.sampled_from(("completed", "completed", "completed", "failed", "interrupted")),
        goal=st.sampled_from(("done", "done", "review", "review", "ready", "blocked")),
        verdict=st.sampled_from(("approved", "changes_requested", "blocked")),
        knows=st.booleans(),
    )
    def finish(self, who: int, pick: int, outcome: str, goal: str, verdict: str, *, knows: bool) -> None:
        self._finish(who, self._attempt(pick), outcome, goal, verdict, knows=knows)

    def _finish(self, who: int, attempt: Attempt, outcome: str, goal: str, verdict: str, *, knows: bool) -> None:
        issue = self.issues[attempt.issue]
        given: dict[str, Any] = {"outcome": outcome, "result_summary": "Over."}
        if outcome == "completed":
            given |= {"target_issue_status": goal} if attempt.kind == "work" else {"review_outcome": verdict}
            given |= (
                {"blocked_reason": "no key"}
                if "blocked" in (given.get("target_issue_status"), given.get("review_outcome"))
                else {}
            )
        elif outcome == "failed":
            given["failure_reason_code"] = "other"
        else:
            given["interruption_reason_code"] = "other"
        reply = self._ask(who, "finish_attempt", **self._proof(attempt), **given)
        if attempt.status == "active" and knows and isinstance(reply, Refusal) and "latest_event_id" in reply.facts:
            seen = {name: reply.facts[name] for name in ("issue_version", "latest_event_id")}
            self._finished(who, attempt, issue, given, reply, knows=False)
            reply = self._ask(who, "finish_attempt", **self._proof(attempt), **given, acknowledged_changes=seen)
            return self._finished(who, attempt, issue, given, reply, knows=True)
        return self._finished(who, attempt, issue, given, reply, knows=False)

    def _finished(
        self, who: int, attempt: Attempt, issue: Issue, given: dict[str, Any], reply: Any, *, knows: bool
    ) -> None:
        if attempt.status != "active":
            return self._is(reply, GONE.get(attempt.status, "ATTEMPT_NOT_ACTIVE"))
        attempt.who = who  # whoever shows the token has it, even if the rest is refused
        verdict = given.get("review_outcome")
        moved = {"approved": "done", "changes_requested": "ready"}.get(verdict or "", verdict) or given.get(
            "target_issue_status"
        )
        review = next((each for each in reversed(self.reviews) if each.attempt is attempt), None)
        wrong = ""
        if verdict == "approved" and review is not None and (review.status != "claimed" or self.is_stale(review)):
            wrong = "STALE_REVIEW_TARGET"
        elif given["outcome"] == "completed":
            wrong = self._overlooked(who, attempt, issue, knows=knows)
            if not wrong and moved != issue.status and moved not in TRANSITIONS[issue.status]:
                wrong = "INVALID_STATUS_TRANSITION"
        if wrong:
            return self._is(reply, wrong)
        self._is(reply)
        self._ended(attempt, issue, given["outcome"])
        if given["outcome"] == "completed":
            issue.version += moved != issue.status
            issue.status = moved or issue.status
            self.changed(issue, who, set(), for_review=True)
        if review is not None and review.status == "claimed":
            if given["outcome"] == "completed":
                self._resolve(review, verdict or "")
            else:
                review.status, review.attempt, review.version = "open", None, review.version + 1
        assert (reply["issue_status"], reply["issue_version"]) == (issue.status, issue.version)
        return None

    def _overlooked(self, who: int, attempt: Attempt, issue: Issue, *, knows: bool) -> str:
        others = [fields for at, by, fields in issue.changes if at > attempt.since and by != who]
        unseen = set[str]().union(*others) & {"status", "blocked_reason"}
        if (unseen or issue.status == "cancelled") and not knows:
            return "ISSUE_CHANGED_DURING_ATTEMPT"
        return "UNRESOLVED_BLOCKERS_ADDED" if self.open_blockers(issue) else ""

    def _ended(self, attempt: Attempt, issue: Issue, how: str) -> None:
        attempt.status = how
        issue.ends.append(how)

    @precondition(lambda self: self.attempts)
    @rule(who=agents, pick=picks)
    def release(self, who: int, pick: int) -> None:
        attempt = self._attempt(pick)
        reply = self._ask(who, "release_attempt", attempt_id=attempt.id)
        if attempt.status != "active":
            return self._is(reply, "ATTEMPT_NOT_ACTIVE")
        if attempt.who != who:
            return self._is(reply, "NOT_YOURS")
        self._is(reply)
        self._ended(attempt, self.issues[attempt.issue], "interrupted")
        self._reopen(attempt)
        return None

    @precondition(lambda self: any(each.status == "active" for each in self.attempts))
    @rule()
    def everybody_is_silent_for_hours(self) -> None:
        self.clock.forward(minutes=SILENT_MINUTES)
        for attempt in self.attempts:
            if attempt.status == "active":
                self._ended(attempt, self.issues[attempt.issue], "expired")
                self._reopen(attempt)
        self._ask(0, "room", status="back")

    def _reopen(self, attempt: Attempt) -> None:
        for review in self.reviews:
            if review.attempt is attempt and review.status == "claimed":
                review.status, review.attempt, review.version = "open", None, review.version + 1

    # --- reviews and decisions ------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.reviews) < PAGE)
    @rule(who=agents, pick=picks)
    def ask_for_a_review(self, who: int, pick: int) -> None:
        self._request(who, self.pick(pick))

    def _request(self, who: int, issue: Issue) -> None:
        reply = self._ask(who, "create_review_request", issue_id=issue.id)
        pending, holder = self.pending(issue), self.live(issue)
        if issue.archived:
            return self._is(reply, "ISSUE_ARCHIVED")
        if pending is not None and pending.issue_version == issue.version and not self.is_stale(pending):
            assert reply["review_request_id"] == pending.id, "asked again, answered alike"
            return None
        if issue.type == "epic" or issue.status not in ("ready", "review"):
            return self._is(reply, "ISSUE_NOT_CLAIMABLE")
        if holder is not None and holder.kind == "work":
            return self._is(reply, "ACTIVE_ATTEMPT_EXISTS")
        self._is(reply)
        if pending is not None:
            self._resolve(pending, "superseded")
        self.reviews.append(Review(reply["review_request_id"], issue.number, self.now, issue.version))
        return None

    @precondition(lambda self: self.reviews)
    @rule(who=agents, pick=picks)
    def claim_review(self, who: int, pick: int) -> None:
        self._claim_review(who, self.reviews[-1 - pick % len(self.reviews)])

    def _claim_review(self, who: int, review: Review) -> None:
        issue = self.issues[review.issue]
        reply = self._ask(who, "claim_issue", review_request_id=review.id, context=False)
        if review.status not in ("open", "claimed"):
            return self._is(reply, "ISSUE_NOT_CLAIMABLE")
        if self.is_stale(review):
            return self._is(reply, "STALE_REVIEW_TARGET")
        mine = self.live(issue)
        if mine is not None and mine.who == who:
            if review.status == "open" and mine.kind == "review":
                review.status, review.attempt, review.version = "claimed", mine, review.version + 1
                mine.since = review.at
            return self._is_again(reply, mine)
        self._is(reply, *self._refusals(issue, who, "review", review))
        if not isinstance(reply, Refusal):
            self._started(who, issue, "review", review, reply)
        return None

    @precondition(lambda self: self.reviews)
    @rule(who=agents, pick=picks, how=st.sampled_from(("cancel", "supersede")), old=st.booleans())
    def withdraw(self, who: int, pick: int, how: str, *, old: bool) -> None:
        review = self.reviews[-1 - pick % len(self.reviews)]
        version = max(1, review.version - old)
        reply = self._ask(who, f"{how}_review_request", review_request_id=review.id, expected_version=version)
        if review.status not in ("open", "claimed"):
            return self._is(reply, "INVALID_STATUS_TRANSITION")
        if version != review.version:
            return self._is(reply, "VERSION_CONFLICT")
        self._is(reply)
        self._resolve(review, {"cancel": "cancelled", "supersede": "superseded"}[how])
        return None

    def _resolve(self, review: Review, status: str) -> None:
        review.status, review.version = status, review.version + 1

    @precondition(lambda self: len(self.decisions) < PAGE)
    @rule(who=agents, pick=picks, ours=st.booleans(), replaces=st.booleans(), rejected=st.booleans())
    def decide(self, who: int, pick: int, *, ours: bool, replaces: bool, rejected: bool) -> None:
        issue = self.pick(pick) if ours else None
        old = self.decisions[pick % len(self.decisions)] if replaces and self.decisions else None
        status = "rejected" if rejected else "active"
        given: dict[str, Any] = {"title": "Decided", "summary": "So be it.", "status": status}
        given |= {} if issue is None else {"issue_id": issue.id}
        given |= {} if old is None else {"supersedes_id": old.id}
        reply = self._ask(who, "record_decision", **given)
        number = None if issue is None else issue.number
        if issue is not None and issue.archived:
            return self._is(reply, "ISSUE_ARCHIVED")
        if old is not None and (rejected or old.issue != number or old.status != "active"):
            return self._is(reply, "INVALID_ARGUMENT")
        self._is(reply)
        if old is not None:
            old.status = "superseded"
        self.decisions.append(Decision(reply["decision_id"], number, status))
        return None

    # --- whole ways, which chance alone seldom goes ---------------------------------------------------------------

    @precondition(lambda self: len(self.reviews) < PAGE)
    @rule(who=agents, pick=picks, meanwhile=st.integers(0, 3), other=agents)
    def work_is_done(self, who: int, pick: int, meanwhile: int, other: int) -> None:
        """What is free is claimed, perhaps disturbed, and finished so that it is to be reviewed."""
        free = [issue for issue in self.issues.values() if self.is_fit(issue) and issue.status == "ready"]
        if not free:
            return
        issue = free[pick % len(free)]
        self._claim(who, issue, "work")
        if meanwhile == 1:
            self._move(other, issue, "blocked")
        elif meanwhile == 2:
            self._relate(other, self.pick(pick), issue, "blocks", add=True)
        attempt = self.live(issue)
        if attempt is not None:
            self._finish(who, attempt, "completed", "review", "approved", knows=bool(pick % 2))
            self._request(who, issue)

    @precondition(lambda self: any(each.status == "open" for each in self.reviews))
    @rule(who=agents, pick=picks, verdict=st.sampled_from(("approved", "changes_requested", "blocked")), stirred=picks)
    def a_review_is_made(self, who: int, pick: int, verdict: str, stirred: int) -> None:
        waiting = [each for each in self.reviews if each.status == "open"]
        review = waiting[-1 - pick % len(waiting)]
        issue = self.issues[review.issue]
        self._claim_review(who, review)
        if stirred % 3 == 1:
            self._describe(stirred % 2, issue, "high", "Toil" if issue.title == "Work" else "Work", "a")
        attempt = self.live(issue)
        if attempt is not None:
            outcome = "failed" if stirred % 5 == 0 else "completed"
            self._finish(who, attempt, outcome, "done", verdict, knows=True)

    @rule(who=agents, pick=picks)
    def it_fails_again_and_again(self, who: int, pick: int) -> None:
        free = [issue for issue in self.issues.values() if self.is_fit(issue) and issue.status == "ready"]
        for _ in range(STREAK if free else 0):
            issue = free[pick % len(free)]
            self._claim(who, issue, "work")
            attempt = self.live(issue)
            if attempt is not None:
                self._finish(who, attempt, "failed", "", "", knows=False)

    # --- both agree -------------------------------------------------------------------------------------------------

    @invariant()
    def both_see_the_same_issues(self) -> None:
        listed = self._see("list_issues", limit=100, include_archived=True)["items"]
        seen = {
            item["display_id"]: (
                item["type"],
                item["status"],
                item.get("priority", "medium"),
                item["version"],
                item.get("open_blockers", 0),
                item.get("claimable", False),
                item.get("held_by"),
                item.get("needs_human", False),
                item["title"],
                frozenset(item.get("labels", [])),
            )
            for item in listed
        }
        wanted: dict[str, Any] = {}
        for issue in self.issues.values():
            holder = self.live(issue)
            wanted[f"ISSUE-{issue.number}"] = (
                issue.type,
                issue.status,
                issue.priority,
                issue.version,
                self.open_blockers(issue),
                self.is_fit(issue) and holder is None,
                None if holder is None else self.callers[holder.who].agent,
                self.failures(issue) and issue.status not in TERMINAL,
                issue.title,
                issue.labels,
            )
        assert seen == wanted

    @invariant()
    def both_see_the_same_reviews_and_decisions(self) -> None:
        seen = {
            item["review_request_id"]: (item["status"], item["version"], item.get("stale", False))
            for item in self._see("list_review_requests", limit=100)["items"]
        }
        assert seen == {
            each.id: (each.status, each.version, each.status in ("open", "claimed") and self.is_stale(each))
            for each in self.reviews
        }
        project = self._see("list_decisions", limit=100)["items"]
        assert [(item["decision_id"], item["status"]) for item in reversed(project)] == [
            (each.id, each.status) for each in self.decisions if each.issue is None
        ]

    @invariant()
    def nothing_waits_in_a_circle_and_the_graph_has_every_relation(self) -> None:
        shown = [issue for issue in self.issues.values() if not issue.archived]
        if not shown:
            return
        root = shown[self.now % len(shown)]
        graph = self._see("get_issue_graph", root_issue_id=root.id, depth=1, include_hierarchy=False, max_nodes=500)
        seen = {
            frozenset((edge["source"], edge["target"])) | {edge["type"]}
            for edge in graph["edges"]
            if f"ISSUE-{root.number}" in (edge["source"], edge["target"])
        }
        near = {
            frozenset((f"ISSUE-{source}", f"ISSUE-{target}", kind))
            for source, target, kind in self.relations
            if root.number in (source, target) and not self.issues[source].archived and not self.issues[target].archived
        }
        assert seen == near
        assert not any(self.leads(target, source) for source, target, kind in self.relations if kind == "blocks")

    # --- within -----------------------------------------------------------------------------------------------------

    def _attempt(self, pick: int) -> Attempt:
        """Mostly one that lives."""
        alive = [each for each in self.attempts if each.status == "active"]
        some = alive if alive and pick % 5 else self.attempts
        return some[-1 - pick % len(some)]

    def _proof(self, attempt: Attempt) -> dict[str, str]:
        return {"attempt_id": attempt.id, "lease_token": attempt.token}

    def _update(self, who: int, issue: Issue, changes: dict[str, Any], *, old: bool = False) -> Any:
        """The answer to a change, or None where the model knows already that it was refused rightly."""
        version = issue.version + (1 if old else 0)
        reply = self._ask(who, "update_issue", issue_id=issue.id, expected_version=version, changes=changes)
        if issue.archived or old:
            self._is(reply, "ISSUE_ARCHIVED" if issue.archived else "VERSION_CONFLICT")
            return None
        return reply

    def _changed(self, issue: Issue, who: int, reply: Any, fields: set[str]) -> None:
        issue.version += 1
        assert reply["version"] == issue.version
        self.changed(issue, who, fields, for_review=bool({"title", "status"} & fields))

    def _is(self, reply: Any, *codes: str) -> None:
        """The answer is one of these refusals, or no refusal at all."""
        code = reply.code if isinstance(reply, Refusal) else ""
        assert code in (codes or ("",)), f"{reply!r} {getattr(reply, 'message', '')}, not {codes}"

    def _ask(self, who: int, operation: str, **arguments: Any) -> Any:
        try:
            return self.room.ask(catalog.OPERATIONS[operation], arguments, self.callers[who])
        except Refusal as refusal:
            return refusal

    def _see(self, operation: str, **arguments: Any) -> Any:
        return self.room.ask(catalog.OPERATIONS[operation], arguments, self.observer)


def _bounds(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples * (50 if DEEP else 1),
        stateful_step_count=steps * (2 if DEEP else 1),
        derandomize=not DEEP,
        report_multiple_bugs=False,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        phases=[Phase.generate, Phase.shrink],
    )


def test_a_tracker_in_a_file_does_what_the_model_says() -> None:
    run_state_machine_as_test(Tracker, settings=_bounds(60, 60))


def test_a_tracker_on_postgres_does_what_the_model_says(postgres_dsn: str) -> None:
    on_server = type("TrackerOnServer", (Tracker,), {"dsn": postgres_dsn})
    run_state_machine_as_test(on_server, settings=_bounds(5, 50))


@pytest.mark.parametrize(
    ("place", "instead"),
    [
        ("clearway.work.reviews.check_approval", lambda *_: None),
        ("clearway.work.reviews.check_not_own", lambda *_: None),
        ("clearway.work.completion.check", lambda *_: []),
        ("clearway.work.blocking.recount_around", lambda *_: None),
        ("clearway.lapse.reopen_review", lambda *_: None),
    ],
    ids=lambda given: given.rpartition(".")[2] if isinstance(given, str) else "",
)
def test_a_tracker_that_forgets_a_rule_is_noticed(monkeypatch: pytest.MonkeyPatch, place: str, instead: Any) -> None:
    monkeypatch.setattr(place, instead)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Tracker, settings=settings(_bounds(60, 60), phases=[Phase.generate]))
