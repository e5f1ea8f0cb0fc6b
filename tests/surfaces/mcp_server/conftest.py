"""A machine with a room on each engine, and clients that connect from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.mcp_server.talks import Machine

from clearway import config
from clearway.clock import Clock
from clearway.surfaces import mcp_wire


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(tmp_path / "state")}
    return {
        **home,
        "CLEARWAY_HOST": "off",
        "PATH": os.environ["PATH"],
    }  # the server itself; a relay has tests of its own


@pytest.fixture(params=["sqlite", "postgres"])
def machine(request: pytest.FixtureRequest, environ: dict[str, str], repo: Path) -> Iterator[Machine]:
    project = Clock().new_id()
    (repo / config.POINTER).write_text(config.pointer_text(project))
    if request.param == "postgres":
        folder = Path(environ["CLEARWAY_HOME"], "rooms", project)
        folder.mkdir(parents=True)
        (folder / "address").write_text(request.getfixturevalue("postgres_dsn"))
    made = Machine(environ, repo)
    yield made
    for desk in made.desks:
        desk.close()


@pytest.fixture
def alone(environ: dict[str, str], repo: Path) -> Iterator[Machine]:
    """A machine for what does not depend on the engine."""
    made = Machine(environ, repo)
    yield made
    for desk in made.desks:
        desk.close()


@pytest.fixture(autouse=True)
def nobody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of stdin is the end of a server process, not of the tests."""
    monkeypatch.setattr(mcp_wire, "_begin", lambda act: None)
