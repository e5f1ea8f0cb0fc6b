"""A real host, a real repository, and Debian's Chromium. Without a browser these tests are skipped, and say so."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.hosted import Hosted, hosted
from tests.web.busy import Room

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program() -> str | None:
    """The browser's program. CLEARWAY_TEST_CHROMIUM names another one."""
    return os.environ.get("CLEARWAY_TEST_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, started once."""
    found = program()
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium, or CLEARWAY_TEST_CHROMIUM=/path/to/it")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        # The sandbox of Chromium needs a kernel feature that containers lack, and root may not use it at all.
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def environ_in(root: Path) -> dict[str, str]:
    return {"HOME": str(root), "CLEARWAY_HOME": str(root / "state"), "PATH": os.environ["PATH"]}


def repository(root: Path) -> Path:
    repo = root / "harbour"
    for name in ("src/a.py", "src/b.py", "deploy/x.sh"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(f"{name}\n")
    git = ["git", "-C", str(repo), "-c", "user.name=anna", "-c", "user.email=anna@example.org"]
    for words in (["init", "-q", "-b", "main", "--template="], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return repo


@contextmanager
def roomed(root: Path) -> Iterator[Room]:
    """A room named harbour, for as many tests as like."""
    room = Room(environ_in(root), repository(root))
    room.ask("update_project", "human", name="harbour")
    yield room
    room.close()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return environ_in(tmp_path)


@pytest.fixture
def harbour(tmp_path: Path) -> Path:
    return repository(tmp_path)


@pytest.fixture
def room(environ: dict[str, str], harbour: Path) -> Iterator[Room]:
    made = Room(environ, harbour)
    made.ask("update_project", "human", name="harbour")
    yield made
    made.close()


@pytest.fixture
def host(environ: dict[str, str], room: Room) -> Iterator[Hosted]:
    with hosted(environ) as running:
        yield running
        assert not running.said


class Person:
    """Somebody who sits before a browser."""

    def __init__(self, browser: Any, host: Hosted, **looks: Any) -> None:
        assert host.host.http is not None
        self.door = host.host.http
        self.context = browser.new_context(viewport={"width": 1440, "height": 900}, **looks)
        self.context.set_default_timeout(15_000)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)

    def come_in(self) -> Any:
        self.page.goto(f"{self.door.address}/#ticket={self.door.people.ticket()}")
        self.page.wait_for_selector(".frame")
        self.page.wait_for_selector(".connection.live")
        return self.page

    def go(self, place: str) -> None:
        self.page.evaluate("place => { location.hash = '#/harbour/' + place }", place)


@pytest.fixture
def person(chromium: Any, host: Hosted) -> Iterator[Person]:
    made = Person(chromium, host)
    yield made
    made.context.close()
    assert not made.wrong, made.wrong
