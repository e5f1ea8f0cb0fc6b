"""Worktrees of one repository: bound sessions, and the same path held elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import HOST, Agent, World, git

from clearway import repository
from clearway.clock import Clock
from clearway.config import Caller
from clearway.crew import worktrees
from clearway.errors import Refusal
from clearway.guard import verdict
from clearway.repository import Place


@pytest.fixture
def tree(world: World) -> Callable[[str], Path]:
    """Makes a linked worktree on a branch of the same name."""

    def make(name: str) -> Path:
        git(world.repo, "worktree", "add", "-q", "-b", name, str(world.repo.parent / name))
        return world.repo.parent / name

    return make


def agent_in(world: World, name: str, folder: Path) -> Agent:
    """A client whose first event comes from this folder."""
    made = world.agent(name)
    made.caller.cwd = str(folder)
    return made


def place(file: Path) -> Place:
    return repository.locate(str(file), str(file.parent), "/nowhere", Clock())


def edit(agent: Agent, file: Path) -> list[str]:
    """What the guard does for an edit: look, then claim, then say what is new."""
    places = [place(file)]
    agent.room.run(lambda tx: verdict.look(tx, places), caller=agent.caller, writes=False)
    return agent.room.run(lambda tx: (verdict.claim(tx, places), verdict.notices(tx, places)), caller=agent.caller)[1]


def test_the_same_file_in_another_worktree_may_be_edited_and_is_told_once(
    world: World, tree: Callable[[str], Path]
) -> None:
    """P17, C26."""
    feature = tree("feature")
    alpha, beta = agent_in(world, "alpha", feature), agent_in(world, "beta", world.repo)
    issue = alpha.ask("create_issue", title="Colour", status="ready")["display_id"]
    alpha.ask("claim_issue", issue_id=issue)
    alpha.ask("claim_paths", paths=["src/a.py"])
    (told,) = edit(beta, world.repo / "src/a.py")
    assert "src/a.py is also in flight" in told
    assert f"alpha on branch feature for {issue}" in told
    assert edit(beta, world.repo / "src/a.py") == []
    assert edit(beta, world.repo / "src/b.py") == []
    assert len(world.events("overlap_noted")) == 1
    with pytest.raises(Refusal, match="held by alpha"):
        edit(beta_in_feature := agent_in(world, "gamma", feature), feature / "src/a.py")
    assert beta_in_feature.caller.agent == "gamma"


def test_a_claim_answers_what_is_in_flight_elsewhere(world: World, tree: Callable[[str], Path]) -> None:
    feature = tree("feature")
    alpha, beta = agent_in(world, "alpha", feature), agent_in(world, "beta", world.repo)
    alpha.ask("claim_paths", paths=["src/a.py"], purpose="paint")
    reply = beta.ask("claim_paths", paths=["src"])
    (lease,) = reply["elsewhere"]
    assert (lease["path"], lease["agent"], lease["branch"], lease["purpose"]) == (
        "src/a.py",
        "alpha",
        "feature",
        "paint",
    )
    git(feature, "switch", "-q", "-c", "second")
    assert beta.ask("claim_paths", paths=["src"])["elsewhere"][0]["branch"] == "second"
    assert "elsewhere" not in alpha.ask("claim_paths", paths=["deploy"])
    assert edit(beta, world.repo / "src/a.py") == []  # the claim has told it


def test_a_room_may_refuse_what_is_held_in_another_worktree(world: World, tree: Callable[[str], Path]) -> None:
    """P17."""
    feature = tree("feature")
    alpha, beta = agent_in(world, "alpha", feature), agent_in(world, "beta", world.repo)
    alpha.ask("claim_paths", paths=["src/a.py"])
    human(world).ask("set_setting", name="overlap", value="refuse")
    refusal = beta.refused("claim_paths", paths=["src/a.py"])
    assert refusal.code == "PATH_HELD"
    assert "in another worktree" in refusal.message
    with pytest.raises(Refusal) as caught:
        edit(beta, world.repo / "src/a.py")
    assert caught.value.code == "PATH_HELD"
    assert world.rows("SELECT count(*) AS held FROM path_lease")[0].held == 1
    beta.ask("claim_paths", paths=["src/b.py"])


def test_two_isolated_sessions_each_write_in_their_own_tree(world: World, tree: Callable[[str], Path]) -> None:
    """C28."""
    one, two = tree("one"), tree("two")
    alpha, beta = agent_in(world, "alpha", one), agent_in(world, "beta", two)
    edit(alpha, one / "src/a.py")
    edit(beta, two / "src/a.py")
    assert world.rows("SELECT count(*) AS held FROM path_lease")[0].held == 2


def test_a_session_of_a_worktree_is_shown_the_path_it_meant(world: World, tree: Callable[[str], Path]) -> None:
    """C26, C28."""
    feature = tree("feature")
    alpha = agent_in(world, "alpha", feature)
    for _ in range(2):  # before the session is known, and after
        with pytest.raises(Refusal) as caught:
            edit(alpha, world.repo / "src/a.py")
        assert caught.value.code == "PATH_OTHER_CHECKOUT"
        assert str(feature / "src/a.py") in caught.value.message
        assert len(f"PATH_OTHER_CHECKOUT: {caught.value.message}".encode()) <= 240 + len(str(feature))
        alpha.ask("room", status="here")
    assert alpha.refused("claim_paths", paths=[str(world.repo / "src/a.py")]).code == "PATH_OTHER_CHECKOUT"
    assert world.rows("SELECT count(*) AS held FROM path_lease")[0].held == 0
    alpha.caller.cwd = str(world.repo)  # a cd does not lift it
    assert alpha.refused("claim_paths", paths=["src/a.py"]).code == "PATH_OTHER_CHECKOUT"
    human(world).ask("set_setting", name="worktree_binding", value="off")
    alpha.ask("claim_paths", paths=["src/a.py"])


def test_a_session_of_the_main_checkout_is_bound_to_none(world: World, tree: Callable[[str], Path]) -> None:
    feature = tree("feature")
    alpha = agent_in(world, "alpha", world.repo)
    edit(alpha, feature / "src/a.py")
    edit(alpha, world.repo / "src/a.py")


def test_a_named_holder_is_bound_to_none(world: World, tree: Callable[[str], Path]) -> None:
    feature = tree("feature")
    alpha = world.agent("alpha", named=True)
    alpha.caller.cwd = str(feature)
    alpha.ask("claim_paths", paths=["src/a.py"])
    alpha.ask("claim_paths", paths=[str(world.repo / "src/a.py")])


def test_another_repository_is_no_other_checkout(world: World, tree: Callable[[str], Path], tmp_path: Path) -> None:
    """P16."""
    other = tmp_path / "other" / "repo"
    other.mkdir(parents=True)
    git(other, "init", "-q")
    (other / "a.py").write_text("")
    alpha = agent_in(world, "alpha", tree("feature"))
    assert edit(alpha, other / "a.py") == []


def test_what_is_told_names_nobody_twice(world: World, tree: Callable[[str], Path]) -> None:
    feature = tree("feature")
    alpha, beta, gamma = (agent_in(world, name, feature) for name in ("alpha", "beta", "gamma"))
    alpha.ask("claim_paths", paths=["src"], mode="run")  # what only runs is in nobody's way
    beta.ask("claim_paths", paths=["deploy"])
    gamma.ask("claim_paths", paths=["free.txt"])
    reader = agent_in(world, "delta", world.repo)
    places = [place(world.repo / name) for name in ("src/a.py", "deploy/x.sh", "deploy", "free.txt")]
    told = reader.room.run(lambda tx: worktrees.notices(tx, places), caller=reader.caller)
    assert [line.split(" is ")[0] for line in told] == ["[clearway] deploy", "[clearway] free.txt"]
    noted: list[Any] = json.loads(world.events("overlap_noted")[0].data)["paths"]
    assert [fact["agent"] for fact in noted] == ["beta", "gamma"]


def human(world: World) -> Agent:
    return Agent(world, Caller("human", cwd=str(world.repo), host=HOST, human=True))


def test_what_a_session_was_told_is_forgotten_with_it(world: World, tree: Callable[[str], Path]) -> None:
    agent_in(world, "alpha", tree("feature")).ask("claim_paths", paths=["src/a.py"])
    beta = agent_in(world, "beta", world.repo)
    edit(beta, world.repo / "src/a.py")
    assert world.rows("SELECT count(*) AS told FROM elsewhere_told")[0].told == 1
    beta.dies()
    human(world).ask("room", status="here")
    assert world.rows("SELECT count(*) AS told FROM elsewhere_told")[0].told == 0
