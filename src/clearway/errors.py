"""Refusals: the answers in which a room says no.

A refusal carries a code from the one table below, a sentence that states the fact and then the way out, and the facts
needed to act. Surfaces look up exit and HTTP status here; they never decide. Everything that is not a refusal is a bug
and is left to rise.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BAD = (False, 2, 400)
_ABSENT = (False, 3, 404)
_CONFLICT = (False, 4, 409)
_CONFLICT_AGAIN = (True, 4, 409)
_UNFIT = (False, 1, 422)
_FORBIDDEN = (False, 1, 403)
_STORAGE = (False, 5, 503)

# code -> (is it worth trying again as it is, exit status of the command line, HTTP status)
CODES: dict[str, tuple[bool, int, int]] = {
    "INVALID_ARGUMENT": _BAD,
    "UNSUPPORTED_FIELD": _BAD,
    "UNSUPPORTED_FORMAT_VERSION": _BAD,
    "LIMIT_EXCEEDED": _BAD,
    "PATH_INVALID": _BAD,
    "PATH_TOO_WIDE": _BAD,
    "VALIDATION_ERROR": _BAD,
    "ISSUE_NOT_FOUND": _ABSENT,
    "ATTEMPT_NOT_FOUND": _ABSENT,
    "MESSAGE_NOT_FOUND": _ABSENT,
    "TASK_NOT_FOUND": _ABSENT,
    "LABEL_NOT_FOUND": _ABSENT,
    "REVIEW_NOT_FOUND": _ABSENT,
    "AGENT_NOT_FOUND": _ABSENT,
    "PROJECT_NOT_FOUND": _ABSENT,
    "SNAPSHOT_NOT_FOUND": _ABSENT,
    "NOTHING_TO_CLAIM": (True, 3, 404),
    "VERSION_CONFLICT": _CONFLICT_AGAIN,
    "ACTIVE_ATTEMPT_EXISTS": _CONFLICT,
    "PATH_HELD": _CONFLICT_AGAIN,
    "PATH_OTHER_CHECKOUT": _CONFLICT,
    "IDEMPOTENCY_CONFLICT": _CONFLICT,
    "REVIEW_ALREADY_EXISTS": _CONFLICT,
    "STALE_REVIEW_TARGET": _CONFLICT,
    "ISSUE_CHANGED_DURING_ATTEMPT": _CONFLICT_AGAIN,
    "UNRESOLVED_BLOCKERS_ADDED": _CONFLICT_AGAIN,
    "LEASE_EXPIRED": _CONFLICT,
    "INVALID_LEASE_TOKEN": _CONFLICT,
    "ATTEMPT_NOT_ACTIVE": _CONFLICT,
    "TASK_NOT_LEASED": _CONFLICT,
    "PROJECT_ALREADY_INITIALIZED": _CONFLICT,
    "ISSUE_ARCHIVED": _UNFIT,
    "ISSUE_BLOCKED": _UNFIT,
    "ISSUE_NOT_CLAIMABLE": _UNFIT,
    "ISSUE_RESERVED": _UNFIT,
    "INVALID_STATUS_TRANSITION": _UNFIT,
    "BLOCKS_CYCLE": _UNFIT,
    "SELF_RELATION": _UNFIT,
    "INVALID_EPIC_PARENT": _UNFIT,
    "NOT_YOURS": _FORBIDDEN,
    "RESERVED_NAME": _FORBIDDEN,
    "FORBIDDEN": _FORBIDDEN,
    "UNAUTHORIZED": (False, 1, 401),
    "INTERNAL": (False, 1, 500),
    "RATE_LIMITED": (True, 5, 429),
    "STORAGE_CONFIGURATION": _STORAGE,
    "STORAGE_BUSY": (True, 5, 503),
    "STORAGE_FAILURE": _STORAGE,
    "STORAGE_MIGRATION": _STORAGE,
    "STORAGE_CORRUPT": _STORAGE,
    "PROJECT_DATABASE_MISMATCH": _STORAGE,
    "PROJECT_NOT_CONNECTED": _STORAGE,
    "INVALID_PROJECT_IDENTITY": _STORAGE,
}

# Refusals about possession are told to the log: "why was I blocked" must have an answer.
TOLD = frozenset(
    {
        "ACTIVE_ATTEMPT_EXISTS",
        "PATH_HELD",
        "PATH_OTHER_CHECKOUT",
        "LEASE_EXPIRED",
        "INVALID_LEASE_TOKEN",
        "ATTEMPT_NOT_ACTIVE",
        "ISSUE_RESERVED",
        "NOT_YOURS",
        "FORBIDDEN",
    }
)


class Refusal(Exception):
    """The room understood, and says no."""

    def __init__(
        self,
        code: str,
        message: str,
        details: list[dict[str, Any]] | None = None,
        *,
        evidence: Any = None,
        **facts: Any,
    ) -> None:
        """code: a key of CODES. details: one object per offending field. facts: what the reader needs to act (holder,
        until, next). evidence: what the log keeps of an act that came too late; it is shown to nobody else."""
        super().__init__(message)
        assert code in CODES, code
        self.code = code
        self.message = message
        self.details = details or []
        self.evidence = evidence
        self.facts = facts

    @property
    def retryable(self) -> bool:
        return CODES[self.code][0]

    @property
    def is_of_storage(self) -> bool:
        """The room could not be read or written; what was asked of it is not judged."""
        return self.code.startswith("STORAGE_")

    @property
    def exit_status(self) -> int:
        return CODES[self.code][1]

    @property
    def http_status(self) -> int:
        return CODES[self.code][2]

    def as_dict(self) -> dict[str, Any]:
        """The error object of every surface: code, message, details, retryable, and the facts beside them."""
        return {
            "code": self.code,
            "message": self.message,
            "details": self.details,
            "retryable": self.retryable,
            **{name: fact for name, fact in self.facts.items() if fact is not None},
        }
