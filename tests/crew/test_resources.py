"""Named resources and counted ones; what is written with an @."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import World

from clearway import paths


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ("@gpu", ("@gpu", 1)),
        ("@port:3000", ("@port:3000", 1)),
        ("@port:22", ("@port:22", 1)),  # a port is a number and never a count
        ("@db:test", ("@db:test", 1)),
        ("@db:5432", ("@db:5432", 1)),  # more than anybody counts
        ("@build:2", ("@build", 2)),
        ("@db:test:2", ("@db:test", 2)),
        ("@build:0", ("@build:0", 1)),
        ("@types/node", None),
        ("./@gpu", None),
        ("@", None),
        ("@:2", None),
        ("@ gpu", None),
        ("gpu", None),
        ("@" + "a" * 200, None),
    ],
)
def test_a_resource_is_a_name_with_perhaps_a_count(raw: str, found: Any) -> None:
    assert paths.resource(raw) == found


def test_a_named_resource_has_one_holder(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["@port:3000"], purpose="the shop")
    refusal = beta.refused("claim_paths", paths=["src/a.py", "@port:3000"])
    assert refusal.code == "PATH_HELD"
    assert "@port:3000 is held by alpha" in refusal.message
    beta.ask("claim_paths", paths=["@port:3001", "src/a.py"])
    assert alpha.ask("path_owner", path="@port:3000")["purpose"] == "the shop"
    alpha.ask("release_paths", paths=["@port:3000"])
    assert beta.ask("claim_paths", paths=["@port:3000"])["granted"][0]["path"] == "@port:3000"


def test_a_resource_is_freed_as_a_path_is(world: World) -> None:
    alpha, beta, gamma = (world.agent(name) for name in ("alpha", "beta", "gamma"))
    alpha.ask("claim_paths", paths=["@gpu"])
    alpha.dies()
    beta.ask("claim_paths", paths=["@gpu"], ttl_seconds=60)
    world.clock.forward(seconds=60)
    gamma.ask("claim_paths", paths=["@gpu"])


def test_a_file_of_that_name_is_another_thing(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=["@gpu"])
    beta.ask("claim_paths", paths=["./@gpu"])
    beta.ask("claim_paths", paths=["."], force=True)


def test_a_counted_resource_has_so_many_seats(world: World) -> None:
    alpha, beta, gamma = (world.agent(name) for name in ("alpha", "beta", "gamma"))
    alpha.ask("claim_paths", paths=["@build:2"])
    beta.ask("claim_paths", paths=["@build:2"])
    assert gamma.refused("claim_paths", paths=["@build:2"]).code == "PATH_HELD"
    alpha.ask("claim_paths", paths=["@build:2"])  # its own seat once more
    alpha.ask("release_paths")
    gamma.ask("claim_paths", paths=["@build:2"])


@pytest.mark.parametrize(
    ("first", "second", "allowed"),
    [("@build", "@build:2", False), ("@build:2", "@build", False), ("@build:2", "@build:9", True)],
)
def test_of_several_counts_the_smallest_holds(world: World, first: str, second: str, *, allowed: bool) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    alpha.ask("claim_paths", paths=[first])
    if allowed:
        beta.ask("claim_paths", paths=[second])
        assert world.agent("gamma").refused("claim_paths", paths=["@build:9"]).code == "PATH_HELD"
    else:
        assert beta.refused("claim_paths", paths=[second]).code == "PATH_HELD"


def test_a_holder_cannot_make_its_seat_the_only_one(world: World) -> None:
    alpha, beta = world.agent("alpha"), world.agent("beta")
    for agent in (alpha, beta):
        agent.ask("claim_paths", paths=["@build:2"])
    assert alpha.refused("claim_paths", paths=["@build"]).code == "PATH_HELD"


def test_the_database_itself_counts_the_seats(world: World) -> None:
    """The second lock on the door."""
    for name in ("alpha", "beta"):
        world.agent(name).ask("claim_paths", paths=["@build:2"])
    columns = (
        "checkout, path, shown, mode, agent, named, thread, apart, auto, call, seats, purpose, lease_ms, claimed_at"
    )
    world.agent("gamma", "gamma-1").ask("room", status="here")
    with pytest.raises(Exception, match="path_held"):
        world.change(
            f"INSERT INTO path_lease (id, session, fence, expires_at, {columns})"
            f" SELECT 'x', 'gamma-1', 99, 9999999999, {columns.replace('agent', chr(39) + 'gamma' + chr(39))}"
            " FROM path_lease LIMIT 1"
        )
