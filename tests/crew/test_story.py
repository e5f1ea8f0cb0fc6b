"""The story of a path: who held it, who was refused, how it came free, and what to do now."""

from __future__ import annotations

import pytest
from tests.conftest import HOST, Agent, World, git

from clearway.config import Caller


def human(world: World) -> Agent:
    return Agent(world, Caller("human", cwd=str(world.repo), host=HOST, human=True))


def test_the_story_of_a_path_answers_why_it_is_held(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    issue = alpha.ask("create_issue", title="Paint", status="ready")["display_id"]
    alpha.ask("claim_issue", issue_id=issue)
    alpha.ask("claim_paths", paths=["src"], purpose="paint")
    alpha.ask("claim_paths", paths=["free.txt"])
    beta.refused("claim_paths", paths=["src/a.py"])
    beta.refused("claim_paths", paths=["free.txt"])
    story = beta.ask("path_history", path="src/a.py")
    assert (story["free"], story["agent"], story["purpose"], story["issue"]) == (False, "alpha", "paint", issue)
    assert [(event["type"], event["agent"]) for event in story["events"]] == [
        ("refused", "beta"),
        ("paths_claimed", "alpha"),
    ]
    refused = story["events"][0]
    assert "held by alpha" in refused["message"]
    # As facts, too: an agent's name tells no session from another, and a sentence has the host's time.
    holder = (refused["holder"], refused["holder_session"], refused["until"])
    assert holder == (story["agent"], story["session"], story["until"])
    assert "clearway wait --path src/a.py" in story["next"]
    assert "--force" in human(world).ask("path_history", path="src/a.py")["next"]
    assert "clearway release" in alpha.ask("path_history", path="src/a.py")["next"]


def test_the_story_tells_how_a_path_came_free(world: World) -> None:
    alpha = world.agent("alpha")
    alpha.ask("claim_paths", paths=["src/a.py"])
    human(world).ask("release_paths", paths=["src"], force=True)
    alpha.ask("claim_paths", paths=["src/a.py"], ttl_seconds=1)
    world.clock.forward(minutes=1)
    world.agent("beta").ask("create_issue", title="Let time pass")
    story = human(world).ask("path_history", path="src/a.py")
    assert [event.get("why") for event in story["events"]] == ["lapse", None, "forced", None]
    assert story["events"][2]["forced_by"] == "human"
    assert story["free"] is True
    assert "free" in story["next"]


def test_a_long_story_is_told_in_parts(world: World) -> None:
    alpha = world.agent("alpha")
    for _ in range(4):
        alpha.ask("claim_paths", paths=["src/a.py"])
        alpha.ask("release_paths")
    assert len(alpha.ask("path_history", path="src", limit=8)["events"]) == 8
    assert alpha.ask("path_history", path="src", limit=8)["has_more"] is False
    assert alpha.ask("path_history", path="src", limit=7)["has_more"] is True


def test_the_story_of_another_worktree_is_another_story(world: World) -> None:
    git(world.repo, "worktree", "add", "-q", "-b", "feature", str(world.repo.parent / "feature"))
    alpha = world.agent("alpha")
    alpha.ask("claim_paths", paths=["src/a.py"])
    other = str(world.repo.parent / "feature" / "src/a.py")
    assert alpha.ask("path_history", path=other)["events"] == []


def test_what_agents_wrote_cannot_forge_a_line_of_the_story(world: World) -> None:
    world.agent("alpha").ask("claim_paths", paths=["src/a.py"], purpose="one\ntwo\x1b[31m")
    (event,) = world.agent("beta").ask("path_history", path="src/a.py")["events"]
    assert event["purpose"] == "one two<U+001B>[31m"


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("src/a.py", "src/a.py"),
        ("a b.txt", "'a b.txt'"),
        ("$(touch x)", "'$(touch x)'"),
        ("it's", "'it'\\''s'"),
        ("a\n;x", "'a<U+000A>;x'"),
    ],
)
def test_a_command_that_is_named_has_the_path_as_one_word(world: World, path: str, word: str) -> None:
    assert f"clearway claim {word}, or" in human(world).ask("path_history", path=path)["next"]
    world.agent("alpha").ask("claim_paths", paths=[path])
    assert world.agent("beta").ask("path_history", path=path)["next"].endswith(f"clearway wait --path {word}.")
