"""Several agents at work at once through real relays and registered hooks; bench/soak.py has the long run."""

from __future__ import annotations

import os

from bench import soak

LONG = bool(os.environ.get("CLEARWAY_TEST_LONG"))
HOST_MIB_MAX = 80


def test_agents_at_work_meet_no_error_and_every_count_agrees_with_the_log() -> None:
    """Issue 5, "Done when": no error, memory within budget, `stats` agrees with the log. With CLEARWAY_TEST_LONG it is
    sixteen for a minute."""
    agents, seconds, pace = (16, 60.0, 1.0) if LONG else (4, 8.0, 0.1)
    outcome = soak.run(agents, seconds, pace, idle_seconds=0)
    assert outcome.ledger.problems == []
    assert outcome.memory <= HOST_MIB_MAX
    assert outcome.ledger.done["hooks"] > agents
    assert outcome.ledger.done["finish_attempt"] > 0
