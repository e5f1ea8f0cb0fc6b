"""What a caller is told of the project itself."""

from __future__ import annotations

from tests.conftest import World

from clearway.lifecycle import STATUSES, TRANSITIONS
from clearway.surfaces.mcp_tools import GUIDES


def test_a_caller_learns_who_it_is_and_what_may_be_asked(world: World) -> None:
    """I5."""
    one, other = world.agent("claude-code", "s1"), world.agent("codex", "s2")
    one.ask("create_issue", title="Parser")
    told = other.ask("get_project")
    assert told["session"] == {"agent": "codex", "session": "s2"}
    assert told["latest_event_id"] == world.events()[-1].id
    assert told["limits"]["list_default"] == 20
    assert told["supported"]["statuses"] == list(STATUSES)
    assert set(told["supported"]["transitions"]) == set(TRANSITIONS)
    assert told["guides"] == [f"clearway://guide/{name}" for name in GUIDES]
