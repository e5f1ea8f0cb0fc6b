"""Hundreds of command lines through the hook: what may change what another holds is refused or compared after it."""

from __future__ import annotations

import io
import json
import os
import random
import shlex
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git
from tests.guard.corpus import AFTER, ALLOWED, REFUSED

from clearway.guard import formatters, gitpaths, inplace, movers, outputs, packages, powershell, shellrunners
from clearway.guard.glance import starts_nothing
from clearway.guard.shell import cannot_write
from clearway.guard.shellglobs import NAMES_MAX
from clearway.guard.shellwalk import Walk
from clearway.guard.shellwords import UNKNOWN, Scope, Value
from clearway.guard.writers import RUNNING, RUNS_OTHERS, SOMETIMES, WRITERS, Run, written_by
from clearway.surfaces import hooks

HELD = (
    "held.txt",
    "deploy",
    "src/a.py",
    "a b.txt",
    "web/app.ts",
    "package-lock.json",
    "many/7.txt",
    "app/[id]/page.tsx",
)


class Corner:
    """A machine with one repository, where alpha holds some files and beta asks for commands."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        self.repo = repo
        self.home = tmp_path / "state"
        self.children = [subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in "abg"]
        self.environ = {"HOME": str(tmp_path), "CLEARWAY_HOME": str(self.home), "PATH": os.environ["PATH"]}
        self.asked = 0
        for path in HELD:
            given = {"file_path": str(repo / path), "old_string": "a", "new_string": "b"}
            assert self.tell("alpha", "PreToolUse", "Edit", given, "edit") == ""

    def tell(self, session: str, event: str, tool: str, given: dict[str, Any], call: str) -> str:
        """The reason why it is refused, or an empty text."""
        payload = {"session_id": session, "cwd": str(self.repo), "hook_event_name": event, "tool_name": tool}
        payload |= {"tool_input": given, "tool_use_id": call}
        environ = self.environ | {"CLAUDE_PID": str(self.children["abg".index(session[0])].pid)}
        out, err, code = hooks.answer("claude", json.dumps(payload).encode(), environ)
        assert (err, code) == ("", 0), (given, err)
        return json.loads(out)["hookSpecificOutput"].get("permissionDecisionReason", "") if out else ""

    def runs(self, command: str) -> tuple[str, bool]:
        """Why beta may not run it, and whether what others hold is compared after it."""
        self.asked += 1
        call = f"call-{self.asked}"
        refusal = self.tell("beta", "PreToolUse", "Bash", {"command": command}, call)
        folder = self.home / "run" / "open" / "beta"
        compared = any(call in name for name in os.listdir(folder)) if folder.exists() else False
        if compared:
            self.tell("beta", "PostToolUse", "Bash", {"command": command}, call)
        return refusal, compared


@pytest.fixture
def corner(tmp_path: Path, repo: Path) -> Iterator[Corner]:
    for file in ("web/app.ts", "web/own.ts", "package.json", "package-lock.json", "app/[id]/page.tsx"):
        (repo / file).parent.mkdir(parents=True, exist_ok=True)
        (repo / file).write_text("{}\n")
    (repo / "many").mkdir()
    for number in range(NAMES_MAX + 1):
        (repo / "many" / f"{number}.txt").touch()
    (repo / "link.txt").symlink_to("held.txt")
    (repo / "ops").symlink_to("deploy")
    (repo / "list.txt").write_text("held.txt\n")
    for name in ("held", "own"):
        file = "held.txt" if name == "held" else "free.txt"
        (repo / f"{name}.patch").write_text(f"--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{file}\n+x\n")
    (repo / ".gitignore").write_text("out/\n*.log\n")
    named = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-src/a.py\n+x\n"
    (repo / "git.patch").write_text(f"diff --git a/src/a.py b/src/a.py\n{named}")
    with zipfile.ZipFile(repo / "bundle.zip", "w") as archive:
        archive.writestr("src/a.py", "x")
    with zipfile.ZipFile(repo / "own.zip", "w") as archive:
        archive.writestr("src/new.py", "x")
    with tarfile.open(repo / "bundle.tar.gz", "w:gz") as packed:
        packed.addfile(tarfile.TarInfo("held.txt"), io.BytesIO())
    made = Corner(tmp_path, repo)
    yield made
    for child in made.children:
        child.communicate()


def test_what_changes_a_held_file_is_refused(corner: Corner) -> None:
    """P28, P29, P31, P32, P34, P35, C13."""
    passed = [command for command in REFUSED if not corner.runs(command)[0].startswith("PATH_HELD")]
    assert not passed, "\n".join(passed)


def test_what_cannot_be_told_is_compared_after_the_call(corner: Corner) -> None:
    assert [command for command in AFTER if corner.runs(command) != ("", True)] == []


def test_what_is_harmless_passes(corner: Corner) -> None:
    """P37, C14."""
    refused = [(command, refusal) for command in ALLOWED if (refusal := corner.runs(command)[0])]
    assert not refused


def _spoken_by(shell: str) -> Callable[[str], str]:
    return lambda command: f"{shell} {shlex.quote(command)}"


AROUND: list[Callable[[str], str]] = [
    *(_spoken_by(shell) for shell in ("bash -lc", "eval", "sudo bash -c", "timeout 30 sh -c", "env A=b zsh -c")),
    lambda command: f"({command}\n)",
    lambda command: f"set -euo pipefail\n{command}",
    lambda command: f"echo first\n{command}\necho done",
    lambda command: f"false || {{ {command}\n}}",
    lambda command: f"if true; then\n{command}\nfi",
    lambda command: f"{{ {command}\n}} 2>&1 | tail -5",
    lambda command: f"{{ {command}\n}} &\nwait",
    lambda command: f"bash <<'THE_END'\n{command}\nTHE_END",
    lambda command: f"x=$({command}\n)",
    lambda command: f"work() {{\n{command}\n}}\nwork",
    lambda command: f"for i in 1 2; do\n{command}\ndone",
    lambda command: f'cd "$PWD" && {{ {command}\n}}',
]


def test_whatever_stands_around_a_command_changes_nothing(corner: Corner) -> None:
    """P32. A few of each list, each in another way; all of them in all ways under CLEARWAY_TEST_LONG=1."""
    is_long = bool(os.environ.get("CLEARWAY_TEST_LONG"))
    wrong: list[str] = []
    for commands, is_refused in ((REFUSED, True), (ALLOWED, False)):
        for number, command in enumerate(commands if is_long else commands[::12]):
            for around in AROUND if is_long else [AROUND[number % len(AROUND)]]:
                refusal = corner.runs(around(command))[0]
                if not refusal.startswith("PATH_HELD") if is_refused else refusal:
                    wrong.append(around(command))
    assert not wrong, "\n".join(wrong)


def test_a_worktree_goes_with_no_folder_while_somebody_works_in_it(corner: Corner) -> None:
    """C29."""
    tree = corner.repo / ".trees" / "one"
    git(corner.repo, "worktree", "add", "-q", str(tree), "-b", "one")
    given = {"file_path": str(tree / "free.txt"), "old_string": "a", "new_string": "b"}
    assert corner.tell("gamma", "PreToolUse", "Edit", given, "edit") == ""
    for command in ("rm -rf .trees", "mv .trees /tmp/elsewhere", "rm -rf .trees/*", "find .trees -delete"):
        assert "free.txt) is held by" in corner.runs(command)[0], command
    assert corner.runs("ls .trees; rm -rf .trees/none")[0] == ""
    clone = corner.repo.parent / "clones" / "other"
    clone.mkdir(parents=True)
    git(clone, "init", "-q")
    corner.runs("rm -rf ../elsewhere")
    rooms = os.listdir(corner.home / "rooms")
    assert corner.runs("rm -rf ../clones")[0] == ""
    assert os.listdir(corner.home / "rooms") == rooms, "no room is made for what is only looked at"


@pytest.mark.parametrize(
    "command",
    [
        *("Set-Content -Path .\\held.txt -Value x", "'x' | Out-File src\\a.py", "Remove-Item deploy -Recurse -Force"),
        *("Copy-Item free.txt `\n  -Destination held.txt", "del held.txt; ls", "$x = 1; ADD-CONTENT held.txt $x"),
        *("mv free.txt held.txt", "Get-ChildItem *.txt | Remove-Item; rm held.txt", "'x' >> held.txt"),
    ],
)
def test_a_client_whose_shell_is_powershell_is_read_too(corner: Corner, command: str) -> None:
    assert "PATH_HELD" in corner.tell("beta", "PreToolUse", "PowerShell", {"command": command}, "call")


def test_what_a_command_writes_is_leased_where_somebody_may_edit_it(corner: Corner) -> None:
    for command, file, leased in (
        ("echo x > free.txt", "free.txt", True),
        ("mv src/b.py src/c.py", "src/b.py", True),
        ("sed -i s/a/b/ web/own.ts", "web/own.ts", True),
        ("echo x > out/x.txt", "out/x.txt", False),  # ignored
        ("make > make.log", "make.log", False),
        ("mkdir -p build && echo x > build/x", "build/x", False),
        ("touch node_modules/m/index.js", "node_modules/m/index.js", False),
        ("echo x > ../beside.txt", "../beside.txt", False),  # in no repository
        ("black web", "web/d.py", False),  # only asked about
        ("touch run.py", "run.py", False),  # changes nothing
    ):
        assert corner.runs(command)[0] == "", command
        given = {"file_path": str(corner.repo / file), "old_string": "a", "new_string": "b"}
        assert corner.tell("gamma", "PreToolUse", "Edit", given, "edit").startswith("PATH_HELD") == leased, command


def test_there_are_enough_of_them() -> None:
    """What is refused before is 93 in a hundred of what may change a held file."""
    assert len(set(REFUSED + AFTER + ALLOWED)) == len(REFUSED + AFTER + ALLOWED) >= 400
    assert len(REFUSED) >= 0.93 * len(REFUSED + AFTER)


def test_the_quick_look_never_vouches_for_what_the_parser_would_find(corner: Corner) -> None:
    for command in REFUSED + AFTER + ALLOWED:
        if cannot_write(command) and starts_nothing(command):
            walk = Walk()
            walk.read(command, str(corner.repo), str(corner.repo.parent))
            assert not (walk.targets or walk.patch_targets or walk.sweeps), command
            assert command not in REFUSED, command


def test_every_writer_stands_in_one_table() -> None:
    """A walk loads only the table of the family that a program belongs to."""
    families = (formatters, gitpaths, inplace, movers, outputs, packages, powershell)
    tables = {name: module.__name__.rpartition(".")[2] for module in families for name in module.TABLE}
    assert tables == WRITERS
    assert sum(len(module.TABLE) for module in families) == len(WRITERS)
    assert set(SOMETIMES) <= {*WRITERS, *RUNS_OTHERS}
    assert shellrunners.RUNNERS.keys() == RUNNING


WORDS = (
    "- -- -x -i -o -of --output=f f a/b . / x.tar -xf -C d --fix add install -d -t s/a/b/w of=x * **/*.py a:b".split()
)
WORDS += "checkout rm mv cp push stash clean config format fmt get mod pkg -c -command --write -n".split()
WORDS += ["", '{ print > "x" }', "x" * 5_000, "\0", "é", "w" * 9_000]


@pytest.mark.parametrize("family", sorted(set(WRITERS.values())))
def test_no_words_are_too_odd_for_a_writer(family: str, tmp_path: Path) -> None:
    chance = random.Random(family)
    values = [*(Value((word,)) for word in WORDS), UNKNOWN, Value(("a", "b"), known=False), Value(("-i", "f")), Value()]
    for program in sorted(name for name, its in WRITERS.items() if its == family):
        for _ in range(40):
            walk, scope = Walk(), Scope(str(tmp_path), "")
            words = [chance.choice(values) for _ in range(chance.randint(0, 5))]
            run = Run(words, chance.choice([None, UNKNOWN, Value(("x\n",))]), scope, walk)
            for goal, action in written_by(program, run):
                walk.touch(goal, action, scope)
