"""What all leases share: a term, renewal by signs of life, and the moment they lapse. Pure.

A lease lives until its expiry, or as long as beats of its session keep arriving within its length. The boundary
belongs to time: a lease whose expiry is now has lapsed. Nothing here knows what is leased.
"""

from __future__ import annotations

from clearway.limits import ATTEMPT_UNATTENDED_MS, TASK_PONDERED_MS


def path_lives_until(expires_at: int, lease_ms: int, beat_at: int | None) -> int:
    """When a path lease lapses (room ms), given the last beat of the session that holds it."""
    return expires_at if beat_at is None else max(expires_at, beat_at + lease_ms)


def attempt_lives_until(
    expires_at: int, lease_ms: int, beat_at: int | None, acted_at: int, carried_to: int | None = None
) -> int:
    """When an attempt lapses (room ms): beats carry it, but only so long after the last act that concerned it, and no
    further than `carried_to` if its holder was warned."""
    if beat_at is None:
        return expires_at
    until = min(beat_at, acted_at + ATTEMPT_UNATTENDED_MS) + lease_ms
    return max(expires_at, until if carried_to is None else min(until, carried_to))


def task_lives_until(
    expires_at: int, lease_ms: int, beat_at: int | None, acted_at: int, *, ponders: bool = False
) -> int:
    """When a task that was taken lapses (room ms): like an attempt. ponders: its holder is in a turn and has not said
    that it began; between two calls a model may think for longer than the short term lasts."""
    until = attempt_lives_until(expires_at, lease_ms, beat_at, acted_at)
    return max(until, beat_at + TASK_PONDERED_MS) if ponders and beat_at is not None else until


def has_lapsed(until: int, now: int) -> bool:
    return until <= now
