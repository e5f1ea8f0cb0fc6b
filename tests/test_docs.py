"""The manual: its examples run, its links lead somewhere, and its generated part is what the declarations say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *REPOSITORY.glob("README.md")])
EXAMPLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)(#[^)\s]+)?\)")
EXIT = re.compile(r"\s+# exits (\d+)$")
SECONDS_MAX = 60


@dataclass(frozen=True)
class Step:
    """One command of an example, how it must end, and what it must print (`...` stands for anything)."""

    command: str
    status: int
    output: str


def steps(page: str) -> list[Step]:
    """The commands of a page in order: lines that begin with `$ `, each followed by what it prints."""
    found: list[Step] = []
    for block in EXAMPLE.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            ends = EXIT.search(command)
            found.append(Step(EXIT.sub("", command), int(ends.group(1)) if ends else 0, output.strip()))
    return found


def prints(expected: str, printed: str) -> bool:
    pattern = ".*".join(re.escape(piece) for piece in expected.split("..."))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if steps(page.read_text())], ids=name)
def test_the_examples_of_a_page_run_as_printed(page: Path, tmp_path: Path) -> None:
    repository, home = tmp_path / "shop", tmp_path / "home"
    home.mkdir()
    environ = {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "/usr/bin:/bin")]),
        "LANG": "C.UTF-8",
    }
    for command in ("git init --quiet shop", "echo 'print(1)' > shop/app.py", "mkdir shop/docs"):
        subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env=environ, check=True)
    for step in steps(page.read_text()):
        ran = subprocess.run(
            ["/bin/sh", "-c", step.command],
            cwd=repository,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS_MAX,
        )
        assert ran.returncode == step.status, f"{step.command}\n{ran.stdout}"
        assert not step.output or prints(step.output, ran.stdout), f"{step.command}\n{ran.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    missing = [
        target
        for target, _ in LINK.findall(page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not missing


def test_every_page_can_be_reached_from_the_first() -> None:
    seen: set[Path] = set()
    waiting = [DOCS / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        waiting += [page.parent / target for target, _ in LINK.findall(page.read_text()) if "://" not in target]
    assert sorted(name(page) for page in DOCS.rglob("*.md") if page.resolve() not in seen) == []


def test_an_example_that_prints_something_else_is_noticed() -> None:
    page = "```console\n$ echo one\none\n$ echo two # exits 3\ntw...\n```\n"
    first, second = steps(page)
    assert (first.command, first.status, first.output) == ("echo one", 0, "one")
    assert (second.command, second.status, second.output) == ("echo two", 3, "tw...")
    assert prints("until ... today", "until 14:08 today\n")
    assert not prints("one", "two")


def test_what_is_generated_is_what_the_declarations_say(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(DOCS / "generate.py"), str(tmp_path)], check=True)
    written = _texts(tmp_path)
    kept = {path: text for path, text in _texts(DOCS).items() if path in written or path.startswith("reference/")}
    assert kept == written, "run: make docs"


def _texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.md"))}


def test_the_manual_needs_only_what_a_shell_has() -> None:
    """An example that needs a program nobody promised would fail for the reader and not here."""
    words = {step.command.split()[0] for page in PAGES for step in steps(page.read_text())}
    assert {word for word in words if "=" not in word and shutil.which(word) is None} - {"clearway"} == set()
