"""What Codex itself says of its account's limit: its app server is asked, and its typed answer read.

Three things can come of it: the limit is reached, perhaps with the time at which it ends; ordinary use is allowed,
which only an explicit word of the account's backend means; or nobody knows, as without a login or in an older Codex.
Neither a percentage nor a time that is past makes a limit end. Nothing is written here.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clearway import wire
from clearway.setup import codextrust
from clearway.untrusted import folded

LIMITED, ALLOWED, UNKNOWN = "limited", "allowed", "unknown"
_FULL = 100
_REASON_CHARS = 200
_SECONDS_MAX = 10**11  # since 1970


@dataclass(frozen=True)
class Said:
    """`state`: limited, allowed or unknown. `until`: when the limit ends (wall ms), if that was said. `why`: in a few
    words."""

    state: str
    until: int | None = None
    why: str = ""


def ask(environ: Mapping[str, str], folder: str) -> Said:
    """Ask the Codex of this machine. folder: where it is started."""
    program = shutil.which("codex", path=environ.get("PATH", ""))
    if program is None:
        return Said(UNKNOWN, why="codex is not on the PATH")
    answer = codextrust.answered(program, folder, environ, "account/rateLimits/read", {})
    if answer is None:
        return Said(UNKNOWN, why="codex app-server gave no answer")
    wrong: Any = answer.get("error")
    if wire.is_object(wrong):
        return Said(UNKNOWN, why=folded(str(wrong.get("message") or "it refused"), _REASON_CHARS))
    return read(answer.get("result"))


def read(result: Any) -> Said:
    """What an answer to account/rateLimits/read means."""
    if not wire.is_object(result) or not wire.is_object(result.get("rateLimits")):
        return Said(UNKNOWN, why="the answer of codex app-server has another shape")
    buckets = [_bucket(each) for each in _snapshots(result)]
    reached = [said for said in buckets if said is not None]
    allowed = result.get("ordinaryUsageAllowed")
    if reached or allowed is False:
        ends = [said.until for said in reached]
        until = None if not ends or None in ends else max(end for end in ends if end is not None)
        why = next((said.why for said in reached if said.why), "ordinary use is not allowed")
        return Said(LIMITED, until, why)
    if allowed is True:
        return Said(ALLOWED)
    return Said(UNKNOWN, why="codex does not say whether ordinary use is allowed")


def _snapshots(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The account's own bucket. The others meter single models, which can be at their limit alone."""
    named: Any = result.get("rateLimitsByLimitId")
    own: Any = named.get("codex") if wire.is_object(named) else None
    return [own if wire.is_object(own) else result["rateLimits"]]


def _bucket(snapshot: dict[str, Any]) -> Said | None:
    """The limit of one bucket, None if it is not reached."""
    windows: list[dict[str, Any]] = [
        window for name in ("primary", "secondary") if wire.is_object(window := snapshot.get(name))
    ]
    full = [window for window in windows if _number(window.get("usedPercent")) >= _FULL]
    kind = snapshot.get("rateLimitReachedType")
    if snapshot.get("spendControlReached") is True:
        own: Any = snapshot.get("individualLimit")
        return Said(LIMITED, _end(own) if wire.is_object(own) else None, "the spend control is reached")
    if isinstance(kind, str) and kind and kind != "rate_limit_reached":  # credits and caps come back by a deed
        return Said(LIMITED, None, folded(kind.replace("_", " "), _REASON_CHARS))
    if full or kind:
        ends = [_end(window) for window in full]
        until = None if not ends or None in ends else max(end for end in ends if end is not None)
        return Said(LIMITED, until, "the rate limit is reached")
    return None


def _end(window: dict[str, Any]) -> int | None:
    at = _number(window.get("resetsAt"))
    return int(at) * 1_000 if 0 < at < _SECONDS_MAX else None


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
