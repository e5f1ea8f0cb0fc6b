"""The packages for clients are what the declarations say, and their hooks stand in nobody's way without the product."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

PACKAGES = Path(__file__).parents[2] / "integrations"
GENERATED = ("claude-code", "codex", "gemini", "skill", ".claude-plugin", "AGENTS.md")


def _texts(folder: Path) -> dict[str, str]:
    files = [
        path for name in GENERATED for path in ([folder / name] if "." in name[1:] else (folder / name).rglob("*"))
    ]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(files) if path.is_file()}


def test_what_is_generated_is_what_the_declarations_say(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(PACKAGES / "generate.py"), str(tmp_path)], check=True)
    written = _texts(tmp_path)
    assert len(written) > 20
    assert _texts(PACKAGES) == written, "run: make docs"


def test_every_file_can_be_read_by_what_reads_it() -> None:
    for name, text in _texts(PACKAGES).items():
        if name.endswith(".json"):
            json.loads(text)
        elif name.endswith(".toml"):
            tomllib.loads(text)
        elif text.startswith("---\n"):
            head = yaml.safe_load(text.split("---\n")[1])
            assert isinstance(head["description"], str), name
            assert isinstance(head.get("argument-hint", ""), str), name


@pytest.mark.parametrize("package", ["claude-code", "codex", "gemini"])
def test_a_hook_without_the_product_says_so_and_lets_everything_through(package: str) -> None:
    (file,) = (PACKAGES / package).rglob("hooks.json")
    hooks = json.loads(file.read_text())["hooks"]
    commands = {handler["command"] for groups in hooks.values() for group in groups for handler in group["hooks"]}
    assert commands
    for command in commands:
        ran = subprocess.run(
            ["/bin/sh", "-c", command], input=b"{}", env={"PATH": "/usr/bin:/bin"}, capture_output=True, timeout=20
        )
        assert (ran.returncode, ran.stdout) == (0, b"")
        assert ran.stderr == b"clearway: not installed, guard open\n"
