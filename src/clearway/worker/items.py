"""What a worker has in hand, a task or an issue, and how each is carried on and given back.

Everything goes through the door with the lease's token, so whoever has lost it changes nothing any more; what it had
to say is kept by the room as coming too late.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from clearway.crew import costs, quotas, taskleases, workers
from clearway.errors import Refusal
from clearway.limits import ARTIFACTS_MAX, WORKER_TERM_SECONDS
from clearway.work import attempts
from clearway.worker import prompts
from clearway.worker.answers import Usage
from clearway.worker.trees import Saved

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.db.tx import Tx

    Ask = Callable[..., dict[str, Any]]

DONE, FAILED, LATE, LIMITED, BUSY, LEAVING = "done", "failed", "late", "limited", "busy", "leaving"
_GIVEN_BACK = frozenset({LIMITED, BUSY, LEAVING})
OVER = frozenset({"LEASE_EXPIRED", "INVALID_LEASE_TOKEN", "ATTEMPT_NOT_ACTIVE", "TASK_NOT_LEASED"})
_GONE = frozenset({"TASK_NOT_FOUND", "ATTEMPT_NOT_FOUND", "ISSUE_NOT_FOUND"})
_CHANGED = frozenset({"ISSUE_CHANGED_DURING_ATTEMPT", "UNRESOLVED_BLOCKERS_ADDED"})
_NOTE_CHARS = 1_000


@dataclass(frozen=True)
class End:
    """What a run came to: one of the words above, the sentence that goes with it, and what was written."""

    kind: str
    text: str
    saved: Saved | None = None
    limit: dict[str, str] = field(default_factory=dict[str, str])  # what report_limit is told, where it was one

    @property
    def whole(self) -> str:
        """The text, and where what was written is."""
        if self.saved is None or not self.saved.commits:
            return self.text
        count = len(self.saved.commits)
        head = (
            f"Branch {self.saved.branch}, {count} commit{'' if count == 1 else 's'}, last {self.saved.commits[0].id}."
        )
        return "\n".join([self.text, "", head, *self.saved.stat])


class Item(Protocol):
    """A piece of work under a lease."""

    @property
    def label(self) -> str: ...

    @property
    def branch(self) -> str:
        """The end of the name of a branch for it, which no other attempt at it has."""
        ...

    def prompt(self, setting: prompts.Setting, mark: str) -> str: ...

    def check(self, tx: Tx) -> None:
        """A read: refused by what became of the lease."""
        ...

    def go_on(self, tx: Tx) -> None: ...

    def record(self, tx: Tx, usage: Usage) -> None:
        """Note what a run of it has cost."""
        ...

    def end(self, ask: Ask, act: Callable[[Callable[[Tx], None]], None], end: End) -> str:
        """Give it back. What became of it, in a word."""
        ...


@dataclass(frozen=True)
class Task:
    given: dict[str, Any]

    @property
    def id(self) -> int:
        return self.given["task_id"]

    @property
    def label(self) -> str:
        return f"task #{self.id}"

    @property
    def branch(self) -> str:
        return f"task-{self.id}-{self.given['fence']}"

    def prompt(self, setting: prompts.Setting, mark: str) -> str:
        return prompts.of_task(setting, self.given, mark)

    def check(self, tx: Tx) -> None:
        token = self.given["lease_token"]
        taskleases.held(tx, taskleases.find(tx, self.id, token), token)

    def go_on(self, tx: Tx) -> None:
        workers.go_on(tx, self.id, self.given["lease_token"])

    def record(self, tx: Tx, usage: Usage) -> None:
        costs.record(tx, **asdict(usage), task=self.id)

    def end(self, ask: Ask, act: Callable[[Callable[[Tx], None]], None], end: End) -> str:
        token = self.given["lease_token"]
        if end.kind == LIMITED:
            ask("report_limit", **end.limit, task_id=self.id, task_token=token)
            return "given back"
        if end.kind in _GIVEN_BACK:
            act(lambda tx: workers.give_back(tx, self.id, token))
            return "given back"
        state = {DONE: "succeeded", LATE: "failed"}.get(end.kind, "needs_review")
        ask("update_task", task_id=self.id, lease_token=token, state=state, result=end.whole)
        return state.replace("_", " ")


@dataclass(frozen=True)
class Issue:
    given: dict[str, Any]
    target: str = "review"

    @property
    def label(self) -> str:
        return self.given["display_id"]

    @property
    def branch(self) -> str:
        return f"{self.label}-{self.given['fence']}"

    def prompt(self, setting: prompts.Setting, mark: str) -> str:
        return prompts.of_issue(setting, self.given, mark)

    def check(self, tx: Tx) -> None:
        attempts.held(tx, self.given["attempt_id"], self.given["lease_token"])

    def go_on(self, tx: Tx) -> None:
        proof = self._proof()
        attempts.renew_attempt(tx, proof["attempt_id"], proof["lease_token"], WORKER_TERM_SECONDS)

    def record(self, tx: Tx, usage: Usage) -> None:
        costs.record(tx, **asdict(usage), attempt=self.given["attempt_id"])

    def end(self, ask: Ask, act: Callable[[Callable[[Tx], None]], None], end: End) -> str:
        if end.saved is not None and end.saved.commits:
            ask("save_attempt_note", **self._proof("note"), kind="checkpoint", content=end.whole[: 4 * _NOTE_CHARS])
        asked: dict[str, Any] = self._proof("finish") | {
            "result_summary": end.whole,
            "artifacts": _artifacts(end.saved),
        }
        try:
            ask("finish_attempt", **asked, **self._outcome(end))
        except Refusal as refusal:
            if end.kind != DONE or refusal.is_of_storage or refusal.code in OVER | _GONE:
                raise
            # The work is there, and is not called done. What would be refused again the next time counts as a failure,
            # so that it comes to a person in the end.
            asked["idempotency_key"] += "-again"
            ask("finish_attempt", **asked, **_not_done(refusal))
            return "handed over" if refusal.code in _CHANGED else "failed"
        if end.kind == LIMITED:
            ask("report_limit", **end.limit)
        elif end.kind == DONE:
            act(self._well)
        return {DONE: self.target, FAILED: "failed", LATE: "failed"}.get(end.kind, "given back")

    def _well(self, tx: Tx) -> None:
        """Whoever does something well is not at its limit."""
        quotas.tried(tx, tx.caller.agent, -self.given["fence"], "succeeded")

    def _outcome(self, end: End) -> dict[str, Any]:
        if end.kind == DONE:
            return {"outcome": "completed", "target_issue_status": self.target}
        if end.kind in (FAILED, LATE):
            code = "timeout" if end.kind == LATE else "implementation_error"
            return {"outcome": "failed", "failure_reason_code": code}
        code = "client_shutdown" if end.kind == LEAVING else "environment_change"
        return {"outcome": "interrupted", "interruption_reason_code": code}

    def _proof(self, key: str = "") -> dict[str, Any]:
        proof = {"attempt_id": self.given["attempt_id"], "lease_token": self.given["lease_token"]}
        return proof | ({"idempotency_key": f"worker-{key}-{self.given['attempt_id']}"} if key else {})


def _not_done(refusal: Refusal) -> dict[str, str]:
    """How an attempt ends that was not let be complete."""
    details = {"reason_details": f"It could not be finished: {refusal.message}"[:_NOTE_CHARS]}
    if refusal.code in _CHANGED:
        return {"outcome": "interrupted", "interruption_reason_code": "handoff", **details}
    tests = any(detail["code"] == "NO_GREEN_RUN" for detail in refusal.details)
    return {"outcome": "failed", "failure_reason_code": "tests_failed" if tests else "other", **details}


def _artifacts(saved: Saved | None) -> list[dict[str, str]] | None:
    if saved is None or not saved.commits:
        return None
    commits = [{"type": "commit", "uri": commit.id, "title": commit.title or commit.id} for commit in saved.commits]
    return [{"type": "branch", "uri": saved.branch, "title": saved.branch}, *commits][:ARTIFACTS_MAX]
