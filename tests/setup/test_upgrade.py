"""A hook that was registered by an older version answers while the product is upgraded, and after it.

Wheels of two versions are built and installed one over the other, which takes a while: only when asked for.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    not os.environ.get("CLEARWAY_TEST_LONG"), reason="builds and installs wheels; CLEARWAY_TEST_LONG=1 asks for it"
)


class Installation:
    """An environment of its own with one version of the product, as a tool installer makes it."""

    def __init__(self, folder: Path, repo: Path) -> None:
        self.folder = folder
        self.repo = repo
        self.python = folder / "venv" / "bin" / "python"
        self.person = folder / "person"
        self.person.mkdir()
        self.environ = {
            "HOME": str(self.person),
            "CLEARWAY_HOME": str(folder / "state"),
            "PATH": os.environ["PATH"],
        }
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
        (site,) = (folder / "venv" / "lib").glob("*/site-packages")
        # Dependencies come from here. Path files found there are not followed, so the product does not.
        dependencies = Path(apsw.__file__ or "").resolve().parents[1]
        (site / "dependencies.pth").write_text(f"{dependencies}\n")

    def install(self, wheel: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(self.python)]
        subprocess.run([*pip, "install", "--no-index", "--no-deps", "--upgrade", str(wheel)], check=True)

    def run(self, *words: str) -> str:
        command = [str(self.python), "-m", "clearway.surfaces.cli", *words]
        ended = subprocess.run(command, env=self.environ, cwd=self.repo, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def registered(self) -> str:
        settings = json.loads((self.person / ".claude" / "settings.json").read_text())
        return str(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"])

    def edit(self, command: str, file: str, session: str) -> tuple[int, str, str]:
        """What the registered command answers."""
        event = {
            "hook_event_name": "PreToolUse",
            "session_id": session,
            "cwd": str(self.repo),
            "tool_name": "Edit",
            "tool_input": {"file_path": str(self.repo / file)},
        }
        ended = subprocess.run(
            ["/bin/sh", "-c", command],
            input=json.dumps(event).encode(),
            env=self.environ,
            cwd=self.repo,
            capture_output=True,
        )
        return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def wheel(folder: Path, version: str) -> Path:
    """The product as it is here, under another version."""
    source = folder / f"source-{version}"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(REPOSITORY / "src", source / "src", ignore=ignored)
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(REPOSITORY / name, source / name)
    (source / "src" / "clearway" / "__init__.py").write_text(f'"""Clearway."""\n\n__version__ = "{version}"\n')
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run(build, check=True, capture_output=True)
    (made,) = folder.glob(f"clearway-{version}-*.whl")
    return made


def test_a_registered_hook_answers_through_an_upgrade(tmp_path: Path, repo: Path) -> None:
    """Issue 3: exit 0 always, never a denial because of the upgrade; what is held is guarded before it and after."""
    old, new = wheel(tmp_path, "0.0.1"), wheel(tmp_path, "0.0.2")
    here = Installation(tmp_path, repo)
    here.install(old)
    here.run("init")
    here.run("connect", "claude", "--write")
    command = here.registered()
    assert str(here.python) in command
    assert here.edit(command, "held.txt", "s1") == (0, "", "")
    assert "held.txt is held" in here.edit(command, "held.txt", "s2")[1]

    answers: list[tuple[int, str, str]] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            answers.append(here.edit(command, "free.txt", "s3"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for made in (new, old, new):
            here.install(made)
    finally:
        done.set()
        for thread in threads:
            thread.join()

    assert len(answers) > 20
    assert {(status, out) for status, out, _ in answers} == {(0, "")}
    odd = [err for _, _, err in answers if err]
    assert all(err.startswith("clearway:") and err.count("\n") == 1 for err in odd), odd
    assert here.run("--version").strip() == "clearway 0.0.2"
    assert here.registered() == command
    assert "held.txt is held" in here.edit(command, "held.txt", "s2")[1]
    print(f"{len(answers)} answers, {len(odd)} of them with the guard open")
