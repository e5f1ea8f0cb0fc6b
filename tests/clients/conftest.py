"""Fixtures for tests with real clients. Opt-in: the clients are large and partly proprietary.

`CLEARWAY_TEST_CLAUDE`, `CLEARWAY_TEST_CODEX` and so on name the programs (README.md beside this file says where npm
puts them). Without them the tests are skipped and the reason says so; a name that leads nowhere fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import ClaudeCode, Client, Codex, Desk
from driving_cline import ClineCli
from driving_copilot import CopilotCli
from driving_gemini import GeminiCli, QwenCode
from driving_opencode import OpenCode

VARIABLES = {
    "claude": "CLEARWAY_TEST_CLAUDE",
    "codex": "CLEARWAY_TEST_CODEX",
    "gemini": "CLEARWAY_TEST_GEMINI",
    "copilot": "CLEARWAY_TEST_COPILOT",
    "qwen": "CLEARWAY_TEST_QWEN",
    "opencode": "CLEARWAY_TEST_OPENCODE",
    "cline": "CLEARWAY_TEST_CLINE",
}


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    # A short path: clients and product put sockets below it, and those bear about a hundred bytes.
    desk = Desk(tmp_path_factory.mktemp("desk"))
    try:
        yield desk
    finally:
        desk.clear()


@pytest.fixture
def claude(desk: Desk) -> ClaudeCode:
    return ClaudeCode(_program("claude"), desk)


@pytest.fixture
def codex(desk: Desk) -> Codex:
    return Codex(_program("codex"), desk)


@pytest.fixture
def opencode(desk: Desk) -> OpenCode:
    return OpenCode(_program("opencode"), desk)


@pytest.fixture
def cline(desk: Desk) -> ClineCli:
    return ClineCli(_program("cline"), desk)


@pytest.fixture
def gemini(desk: Desk) -> GeminiCli:
    return GeminiCli(_program("gemini"), desk)


@pytest.fixture
def copilot(desk: Desk) -> CopilotCli:
    return CopilotCli(_program("copilot"), desk)


@pytest.fixture
def qwen(desk: Desk) -> QwenCode:
    return QwenCode(_program("qwen"), desk)


@pytest.fixture(params=["claude", "codex"])
def client(request: pytest.FixtureRequest) -> Client:
    """Each client in turn, for a promise that both keep."""
    return request.getfixturevalue(request.param)


def _program(name: str) -> Path:
    variable = VARIABLES[name]
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: it names the {name} program for tests with the real client")
    path = Path(value).expanduser()
    assert path.is_file(), f"{variable} names {path}, which is no file"
    assert os.access(path, os.X_OK), f"{variable} names {path}, which cannot be executed"
    return path.resolve()
