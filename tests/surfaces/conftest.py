"""Somebody at a terminal, for every test of the command line.

Most of it runs in this process, which is quick; what depends on a real program starts one.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clearway import alive
from clearway.errors import CODES
from clearway.surfaces import cli

PROGRAM = [sys.executable, "-m", "clearway.surfaces.cli"]


class Ended:
    """How a command line ended."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    @property
    def code(self) -> str:
        """The code of a refusal, which is one line and nothing else."""
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        code = self.err.partition(":")[0]
        assert self.status == CODES[code][1]
        return code

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        assert self.out.count("\n") == 1
        return json.loads(self.out)


class Terminal:
    """Somebody who types commands in a repository. Without a name it is the human."""

    def __init__(self, environ: dict[str, str], folder: Path, run: Callable[..., Ended]) -> None:
        self.environ = environ
        self.folder = folder
        self._run = run

    def __call__(self, *words: str, stdin: bytes = b"", folder: Path | None = None, **environ: str) -> Ended:
        return self._run(list(words), stdin, folder or self.folder, environ)

    def program(
        self, *words: str | bytes, stdin: bytes = b"", environ: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """The real program, with nothing of this machine's environment."""
        return subprocess.run(
            [*PROGRAM, *words],
            input=stdin,
            env=self.environ | (environ or {}),
            cwd=self.folder,
            capture_output=True,
            timeout=60,
        )


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "person").mkdir()
    return {
        "HOME": str(tmp_path / "person"),
        "CLEARWAY_HOME": str(tmp_path / "state"),
        "CLEARWAY_HOST": "off",
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


@pytest.fixture
def terminal(
    environ: dict[str, str], repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    monkeypatch.setattr(alive, "ancestors", lambda pid=None: [])

    def run(words: list[str], stdin: bytes, folder: Path, more: dict[str, str]) -> Ended:
        with monkeypatch.context() as patch:
            for name in list(os.environ):
                patch.delenv(name)
            for name, value in (environ | more).items():
                patch.setenv(name, value)
            patch.chdir(folder)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            capsys.readouterr()
            status = cli.run(words)
        said = capsys.readouterr()
        return Ended(status, said.out, said.err)

    return Terminal(environ, repo, run)
