"""Claims, renewals, notes and ends of attempts, and what a stale holder is told."""

from __future__ import annotations

from tests.conftest import World


def test_a_lapsed_attempt_frees_the_issue_at_its_very_moment(world: World) -> None:
    """I31."""
    first, second = world.agent("claude-code"), world.agent("codex")
    first.ask("create_issue", title="Parser", status="ready")
    claim = first.ask("claim_issue", next=True, lease_seconds=60)
    world.clock.forward(seconds=60)

    refusal = first.refused("renew_attempt", attempt_id=claim["attempt_id"], lease_token=claim["lease_token"])

    assert refusal.code == "LEASE_EXPIRED"
    assert len(world.events("attempt_expired")) == 1
    assert second.ask("list_issues")["items"][0]["claimable"] is True
    again = second.ask("claim_issue", next=True)
    assert again["attempt_id"] != claim["attempt_id"]
    assert (
        first.refused("renew_attempt", attempt_id=claim["attempt_id"], lease_token=claim["lease_token"]).code
        == "LEASE_EXPIRED"
    )
