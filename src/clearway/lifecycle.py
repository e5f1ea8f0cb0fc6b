"""The state machines of issue and attempt, as tables. The schema's CHECK lists equal them; nothing else decides.

`in_progress` is never stored: it is what an issue looks like while an attempt on it lives.
"""

from __future__ import annotations

TYPES = ("epic", "task", "bug", "question")
STATUSES = ("open", "ready", "blocked", "review", "done", "cancelled")
PRIORITIES = ("low", "medium", "high", "critical")  # stored as their place in this list

TRANSITIONS: dict[str, tuple[str, ...]] = {
    "open": ("ready", "cancelled"),
    "ready": ("blocked", "review", "done", "cancelled"),
    "blocked": ("ready", "cancelled"),
    "review": ("ready", "blocked", "done", "cancelled"),
    "done": ("ready",),
    "cancelled": ("open",),
}
TERMINAL = frozenset({"done", "cancelled"})

CLAIM_KIND = {"ready": "work", "review": "review"}  # stored status -> the kind of attempt it admits
ATTEMPT_STATUSES = ("active", "completed", "failed", "interrupted", "expired")
REPEATED_FAILURES = 3

OUTCOMES = ("completed", "failed", "interrupted")
WORK_TARGETS = ("done", "review", "ready", "blocked")
REVIEW_STATUSES = ("open", "claimed", "approved", "changes_requested", "blocked", "cancelled", "superseded")
REVIEWABLE = frozenset({"ready", "review"})  # stored status of an issue that somebody may be asked to look at
DECISION_STATUSES = ("active", "superseded", "rejected")
REVIEW_OUTCOMES = {"approved": "done", "changes_requested": "ready", "blocked": "blocked"}
FAILURE_CODES = (
    "implementation_error",
    "environment_error",
    "missing_dependency",
    "invalid_requirements",
    "tests_failed",
    "context_lost",
    "timeout",
    "other",
)
INTERRUPTION_CODES = (
    "handoff",
    "user_request",
    "context_limit",
    "client_shutdown",
    "environment_change",
    "other",
)
NOTE_KINDS = ("progress", "finding", "warning", "checkpoint")
ARTIFACT_TYPES = ("file", "directory", "url", "commit", "branch", "pull_request", "log", "other")

PATH_MODES = ("edit", "run")
# What becomes of a task. A lease that lapses gives it back, too often lapsed ones end it.
TASK_TRANSITIONS: dict[str, tuple[str, ...]] = {
    "pending": ("leased", "cancelled", "expired"),
    "leased": ("started", "succeeded", "failed", "needs_review", "pending", "cancelled", "dead_letter"),
    "started": ("succeeded", "failed", "needs_review", "pending", "cancelled", "dead_letter"),
    "succeeded": (),
    "failed": ("pending",),
    "needs_review": ("pending",),
    "cancelled": ("pending",),
    "expired": ("pending",),
    "dead_letter": ("pending",),
}
TASK_STATES = tuple(TASK_TRANSITIONS)
TASK_OUTCOMES = ("succeeded", "failed", "needs_review")
TASK_REPORTS = ("started", *TASK_OUTCOMES)  # what who has it says of it

# What says that a provider's limit is reached: whom it stops, the provider asked, the class of its error, the time it
# says to try again, a program of one's own by its exit status, or a person.
QUOTA_SOURCES = ("reported", "codex_app_server", "error_class", "retry_after", "exit_status", "human")
MESSAGE_KINDS = ("chat", "task", "broadcast", "control", "result")
ACTIVITY_TYPES = ("comments", "decisions", "reviews", "attempt_notes", "attempts", "events", "artifacts")
SEARCHED = ("issue", "comment", "decision", "attempt_note", "attempt", "artifact", "review")
RELATIONS = ("blocks", "related_to", "duplicates")

# A change of these by somebody else makes the work on an issue another one: whoever completes it must have seen it.
CHANGES_THE_WORK = frozenset({"description", "acceptance_criteria", "status", "blocked_reason"})


def may_move(status: str, target: str) -> bool:
    return target in TRANSITIONS[status]
