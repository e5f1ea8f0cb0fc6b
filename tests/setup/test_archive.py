"""The archive of a hook's modules: nothing is taken from it that is not what lies on the disk."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clearway
from clearway.driver import apsw
from clearway.setup.archive import ALWAYS
from clearway.setup.registered import Product, boot

PACKAGE = Path(clearway.__file__).parent
# Tells, as the last thing a hook does, who loaded what: Python's own finder, or ours when it was asked.
PROBE = """
import os, sys
def end(status):
    from clearway.surfaces import faststep
    mine = {name: module for name, module in sys.modules.items() if name.startswith("clearway")}
    asked = [name for name in mine if isinstance(getattr(mine[name].__spec__, "loader", None), faststep.Archive)]
    plain = [name for name in mine if getattr(mine[name], "__cached__", None)]
    os.write(2, repr((list(mine), asked, plain)).encode())
    stop(status)
stop, os._exit = os._exit, end
"""
PROMPT: dict[str, object] = {"hook_event_name": "UserPromptSubmit", "prompt": "Go on."}


class Installed:
    """A product of its own, which a test may change."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "site" / "clearway"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        self.repository = folder / "repository"
        subprocess.run(["git", "init", "--quiet", str(self.repository)], check=True)
        self._home = folder / "home"
        sqlite = str(Path(apsw.__file__ or "").parent.parent)
        self._boot = boot(Product(sys.executable, (str(self.package.parent), sqlite)))

    @property
    def archive(self) -> Path:
        return self.package / "__pycache__" / f"hook.{sys.implementation.cache_tag}.clearway"

    def hook(self, event: dict[str, object] = PROMPT, *, probe: str = "") -> subprocess.CompletedProcess[bytes]:
        given = {"session_id": "s" * 8, "cwd": str(self.repository), **event}
        return subprocess.run(
            [sys.executable, "-I", "-S", "-c", f"{probe}\n{self._boot}", "claude"],
            input=json.dumps(given).encode(),
            env={"CLEARWAY_HOME": str(self._home), "HOME": str(self._home), "PATH": os.environ["PATH"]},
            capture_output=True,
            timeout=60,
        )

    def loaded(self) -> tuple[set[str], set[str], set[str]]:
        """What a hook has loaded: all of it, what the archive was asked for, and what Python found by itself."""
        ran = self.hook(probe=PROBE)
        assert ran.returncode == 0, ran.stderr
        everything, asked, plain = ast.literal_eval(ran.stderr.decode())
        return set(everything), set(asked), set(plain)

    def change(self, module: str, line: str) -> None:
        with open(self.package / module, "a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    made = Installed(tmp_path)
    first = made.hook()
    assert (first.returncode, first.stderr) == (0, b"")
    assert made.archive.exists(), "the first hook writes it once it has answered"
    return made


def test_a_hook_takes_its_modules_from_the_archive_that_an_earlier_one_wrote(installed: Installed) -> None:
    everything, asked, plain = installed.loaded()
    assert set(ALWAYS) <= everything
    assert "clearway.db.sqlite" in asked
    # What the fast step needs before it knows that there is more to do, and what says all this.
    assert {name for name in plain if name.count(".") < 2} <= {
        "clearway", "clearway.surfaces", "clearway.guard", "clearway.wire", "clearway.driver"
    }  # fmt: skip
    assert not asked & set(ALWAYS), "what every step needs is put in before it is asked for, in an order that allows it"


@pytest.mark.parametrize("module", ["room.py", "crew/messages.py", "guard/__init__.py"])
def test_a_module_that_was_changed_is_loaded_as_it_is_now(installed: Installed, module: str) -> None:
    """As after an upgrade, or one that is half done: of modules that all load and of those that one step needs."""
    before = installed.archive.read_bytes()
    installed.change(module, "import os as _os; _os.write(2, b'as it is now')")
    assert installed.hook().stderr == b"as it is now"
    if module != "guard/__init__.py":  # which Python loads by itself
        assert installed.archive.read_bytes() != before, "and the archive is made anew"
    assert installed.hook().stderr == b"as it is now"


def test_statements_that_were_changed_are_read_as_they_are_now(installed: Installed) -> None:
    (installed.package / "room.sql").write_text("")
    assert b"guard open" in installed.hook().stderr


@pytest.mark.parametrize("content", [b"", b"00000012", b"99999999" + b"x" * 100, b"not a number", -9, -1_000_000])
def test_an_archive_that_cannot_be_read_is_as_good_as_none(installed: Installed, content: bytes | int) -> None:
    whole = installed.archive.read_bytes()
    installed.archive.write_bytes(whole[:content] if isinstance(content, int) else content)
    ran = installed.hook()
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert installed.archive.stat().st_size == len(whole), "and it is made anew"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_product_that_nobody_may_write_to_does_without(installed: Installed) -> None:
    installed.archive.unlink()
    installed.package.chmod(0o555)
    (installed.package / "__pycache__").chmod(0o555)
    try:
        ran = installed.hook()
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert not installed.archive.exists()
    finally:
        installed.package.chmod(0o755)
        (installed.package / "__pycache__").chmod(0o755)
