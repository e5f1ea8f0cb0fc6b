"""Runs, threads, forced release, several names of one file, and the forms of a path on volumes that fold them."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path

import pytest
from tests.conftest import HOST, Agent, World

from clearway import platforms, repository
from clearway.clock import Clock
from clearway.config import Caller
from clearway.crew import leases
from clearway.errors import Refusal
from clearway.guard import verdict
from clearway.repository import Place


def place(world: World, path: str) -> Place:
    return repository.locate(path, str(world.repo), "/nowhere", Clock())


def edit(world: World, agent: Agent, path: str) -> None:
    """What the guard does for an edit."""
    here = [place(world, path)]
    agent.room.run(lambda tx: verdict.look(tx, here), caller=agent.caller, writes=False)
    agent.room.run(lambda tx: verdict.claim(tx, here), caller=agent.caller)


def edit_is_refused(world: World, agent: Agent, path: str) -> str:
    with pytest.raises(Refusal) as caught:
        edit(world, agent, path)
    assert caught.value.code == "PATH_HELD"
    return caught.value.message


def run(world: World, agent: Agent, path: str, call: str) -> None:
    here = [place(world, path)]
    agent.room.run(lambda tx: leases.take_run(tx, here, call), caller=agent.caller)


def ends(agent: Agent, call: str) -> list[str]:
    return agent.room.run(lambda tx: leases.release_run(tx, call), caller=agent.caller)


def thread(agent: Agent, name: str) -> Agent:
    """A subagent of the same session."""
    own = agent.caller
    caller = Caller(own.agent, own.session, thread=name, cwd=own.cwd, host=own.host, process=own.process)
    return Agent(agent.world, caller, agent.room)


def human(world: World) -> Agent:
    return Agent(world, Caller("human", cwd=str(world.repo), host=HOST, human=True))


# --- runs -------------------------------------------------------------------------------------------------------------


def test_a_script_is_not_edited_while_it_runs(world: World) -> None:
    """C10, P38."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    run(world, alpha, "run.py", "call-1")
    assert "(running)" in edit_is_refused(world, beta, "run.py")
    run(world, beta, "run.py", "call-7")
    assert ends(beta, "call-7") == ["run.py"]
    assert ends(alpha, "call-1") == ["run.py"]
    edit(world, beta, "run.py")


def test_a_script_that_another_edits_is_not_started(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    edit(world, alpha, "deploy/x.sh")
    with pytest.raises(Refusal, match="held by alpha"):
        run(world, beta, "deploy/x.sh", "call-1")
    run(world, alpha, "deploy/x.sh", "call-2")


def test_each_call_holds_its_own_run(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    run(world, alpha, "run.py", "call-1")
    run(world, alpha, "run.py", "call-2")
    run(world, alpha, "run.py", "call-2")  # told twice
    ends(alpha, "call-1")
    edit_is_refused(world, beta, "run.py")
    assert ends(alpha, "call-2") == ["run.py"]
    assert ends(alpha, "call-2") == []
    edit(world, beta, "run.py")


def test_a_run_ends_with_its_turn_unless_it_is_in_the_background(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    run(world, alpha, "run.py", "call-1")
    run(world, alpha, "deploy/x.sh", "call-2")
    freed = alpha.room.run(lambda tx: leases.end_turn(tx, "", background=["call-2"]), caller=alpha.caller)
    assert freed == ["run.py"]
    edit_is_refused(world, beta, "deploy/x.sh")
    alpha.room.run(lambda tx: leases.end_turn(tx, ""), caller=alpha.caller)
    edit(world, beta, "deploy/x.sh")


def test_a_run_does_not_serve_an_edit(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    run(world, alpha, "run.py", "call-1")
    edit(world, alpha, "run.py")
    ends(alpha, "call-1")
    edit_is_refused(world, beta, "run.py")


def test_a_run_has_the_resources_it_needs_for_itself(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    needs = [repository.named("@gpu", 1), repository.named("@build", 2)]

    def take(agent: Agent, call: str) -> None:
        agent.room.run(
            lambda tx: leases.take(tx, needs, mode="edit", purpose="running", lease_ms=60_000, auto=True, call=call),
            caller=agent.caller,
        )

    take(alpha, "call-1")
    take(alpha, "call-2")
    assert beta.refused("claim_paths", paths=["@gpu"]).code == "PATH_HELD"
    with pytest.raises(Refusal, match="@gpu is held by alpha"):
        take(beta, "call-3")
    alpha.ask("claim_paths", paths=["@build:2"])  # one seat, however often it sits down
    beta.ask("claim_paths", paths=["@build:2"])
    assert sorted(ends(alpha, "call-1")) == ["@build", "@gpu"]
    assert beta.refused("claim_paths", paths=["@gpu"]).code == "PATH_HELD"  # the second call still runs
    ends(alpha, "call-2")
    beta.ask("claim_paths", paths=["@gpu"])


def test_an_edit_does_not_rest_on_what_ends_with_another_call(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    here = [place(world, "src/a.py")]
    alpha.room.run(
        lambda tx: leases.take(tx, here, mode="edit", purpose="", lease_ms=60_000, auto=True, call="call-1"),
        caller=alpha.caller,
    )
    edit(world, alpha, "src/a.py")
    ends(alpha, "call-1")
    edit_is_refused(world, beta, "src/a.py")


# --- explicit and automatic -------------------------------------------------------------------------------------------


def test_a_claim_makes_an_automatic_lease_explicit_and_an_edit_does_not_undo_that(world: World) -> None:
    """P41."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    edit(world, alpha, "held.txt")
    alpha.ask("claim_paths", paths=["held.txt"])
    edit(world, alpha, "held.txt")
    edit(world, alpha, "free.txt")
    alpha.room.run(lambda tx: leases.end_turn(tx, ""), caller=alpha.caller)
    edit_is_refused(world, beta, "held.txt")
    edit(world, beta, "free.txt")


# --- threads ----------------------------------------------------------------------------------------------------------


def test_threads_of_a_session_share_unless_the_room_decides_otherwise(world: World) -> None:
    parent = world.agent("alpha")
    one, two = thread(parent, "one"), thread(parent, "two")
    edit(world, one, "src/a.py")
    edit(world, two, "src/a.py")
    edit(world, parent, "src/a.py")
    assert world.rows("SELECT count(*) AS held FROM path_lease")[0].held == 1
    one.ask("claim_paths", paths=["src/a.py"])
    two.ask("claim_paths", paths=["src/a.py"])
    assert world.rows("SELECT count(*) AS held FROM path_lease")[0].held == 1


def test_threads_that_exclude_each_other_share_only_what_their_parent_holds(world: World) -> None:
    human(world).ask("set_setting", name="subagents", value="exclude")
    parent, stranger = world.agent("alpha"), world.agent("beta")
    one, two = thread(parent, "one"), thread(parent, "two")
    edit(world, parent, "free.txt")
    edit(world, one, "free.txt")  # the parent's is open to its children
    edit(world, one, "src/a.py")
    edit_is_refused(world, two, "src/a.py")
    edit_is_refused(world, parent, "src/a.py")
    edit_is_refused(world, stranger, "src/a.py")
    edit(world, two, "src/b.py")
    assert one.refused("claim_paths", paths=["src"]).code == "PATH_HELD"
    assert two.refused("release_paths", paths=["src/a.py"]).code == "NOT_YOURS"
    assert one.ask("release_paths")["released"] == ["src/a.py"]
    edit(world, two, "src/a.py")


def test_a_turn_of_a_thread_frees_what_that_thread_took(world: World) -> None:
    human(world).ask("set_setting", name="subagents", value="exclude")
    parent = world.agent("alpha")
    one, two = thread(parent, "one"), thread(parent, "two")
    edit(world, one, "src/a.py")
    edit(world, two, "src/b.py")
    assert one.room.run(lambda tx: leases.end_turn(tx, "one"), caller=one.caller) == ["src/a.py"]
    edit_is_refused(world, one, "src/b.py")


def test_the_database_itself_keeps_threads_apart(world: World) -> None:
    human(world).ask("set_setting", name="subagents", value="exclude")
    edit(world, thread(world.agent("alpha"), "one"), "src/a.py")
    columns = (
        "checkout, path, shown, mode, session, agent, named, apart, auto, call, seats, purpose, lease_ms, claimed_at"
    )
    with pytest.raises(Exception, match="path_held"):
        world.change(
            f"INSERT INTO path_lease (id, thread, fence, expires_at, {columns})"
            f" SELECT 'x', 'two', 99, 9999999999, {columns} FROM path_lease"
        )


# --- force ------------------------------------------------------------------------------------------------------------


def test_the_human_takes_a_path_from_its_holder_and_the_log_says_so(world: World) -> None:
    """P44."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["deploy", "held.txt"])
    for agent in (alpha, beta):
        assert agent.refused("release_paths", paths=["deploy/x.sh"], force=True).code == "FORBIDDEN"
    assert human(world).ask("release_paths", paths=["deploy/x.sh"], force=True)["released"] == ["deploy"]
    beta.ask("claim_paths", paths=["deploy"])
    assert beta.refused("claim_paths", paths=["held.txt"]).code == "PATH_HELD"
    (event,) = world.events("paths_released")
    told = json.loads(event.data)
    assert (event.agent, told["why"], told["forced_by"]) == ("alpha", "forced", "human")
    assert [refused.agent for refused in world.events("refused")] == ["alpha", "beta", "beta"]


def test_force_names_what_it_takes(world: World) -> None:
    world.agent("alpha").ask("claim_paths", paths=["deploy"])
    assert human(world).refused("release_paths", force=True).code == "INVALID_ARGUMENT"
    assert human(world).ask("release_paths", paths=["src"], force=True)["released"] == []


# --- several names of one file ----------------------------------------------------------------------------------------


def test_a_hard_link_is_the_file_it_links_to(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    os.link(world.repo / "held.txt", world.repo / "alias.txt")
    os.link(world.repo / "deploy/x.sh", world.repo / "link.sh")
    alpha.ask("claim_paths", paths=["held.txt", "deploy"])
    assert "alias.txt (by a lease on held.txt) is held by alpha" in edit_is_refused(world, beta, "alias.txt")
    assert "(by a lease on deploy)" in edit_is_refused(world, beta, "link.sh")
    edit(world, alpha, "alias.txt")
    alpha.ask("release_paths")
    edit(world, beta, "alias.txt")
    assert "held.txt (by a lease on alias.txt)" in edit_is_refused(world, alpha, "held.txt")


def test_a_link_made_later_is_seen_and_one_that_is_gone_is_not(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    edit(world, alpha, "held.txt")
    os.link(world.repo / "held.txt", world.repo / "alias.txt")
    edit_is_refused(world, beta, "alias.txt")
    (world.repo / "alias.txt").unlink()
    (world.repo / "alias.txt").write_text("another file\n")
    edit(world, beta, "alias.txt")


# --- case and form ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["HELD.txt", "Held.TXT"])
def test_on_a_volume_that_ignores_case_one_file_has_many_spellings(
    world: World, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    """P14."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    monkeypatch.setattr(platforms, "ignores_case", lambda folder: True)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    alpha.ask("claim_paths", paths=["held.txt"])
    edit_is_refused(world, beta, spelling)


def test_elsewhere_spellings_are_other_files(world: World) -> None:
    """P14."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    name = unicodedata.normalize("NFC", "é.txt")
    alpha.ask("claim_paths", paths=["held.txt", name])
    edit(world, beta, "HELD.txt")
    edit(world, beta, unicodedata.normalize("NFD", name))


@pytest.mark.parametrize("folds", [True, False])
def test_on_a_volume_that_composes_names_a_name_has_one_form(
    world: World, monkeypatch: pytest.MonkeyPatch, *, folds: bool
) -> None:
    """P14."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    monkeypatch.setattr(platforms, "MACOS", True)
    monkeypatch.setattr(platforms, "ignores_case", lambda folder: folds)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    alpha.ask("claim_paths", paths=[unicodedata.normalize("NFC", "É.txt")])
    edit_is_refused(world, beta, unicodedata.normalize("NFD", "É.txt"))
    if folds:
        edit_is_refused(world, beta, "é.txt")
    else:
        edit(world, beta, "é.txt")


def test_a_symlink_spelled_in_the_other_case_makes_no_volume_ignore_case(tmp_path: Path) -> None:
    (tmp_path / "Repo").mkdir()
    (tmp_path / "rEPO").symlink_to(tmp_path / "Repo")
    assert platforms.ignores_case(str(tmp_path / "Repo")) == (tmp_path / "REPO").exists()


# --- coming back ------------------------------------------------------------------------------------------------------


def test_a_session_that_lost_its_leases_to_silence_claims_anew_and_not_under_the_old(world: World) -> None:
    """C05."""
    alpha, beta = world.agent("alpha"), world.agent("beta")
    (first,) = alpha.ask("claim_paths", paths=["src/a.py"])["granted"]
    world.clock.forward(minutes=31)
    beta.ask("room", status="looking")
    (again,) = alpha.ask("claim_paths", paths=["src/a.py"])["granted"]
    assert again["fence"] > first["fence"]
    assert json.loads(world.events("paths_released")[0].data)["why"] == "lapse"
    alpha.dies()
    beta.ask("claim_paths", paths=["src/a.py"])
    assert alpha.refused("claim_paths", paths=["src/a.py"]).code == "PATH_HELD"
