"""Properties of the readers: of shell lines, of patches, and of the fast step, which may never allow too much.

Lines are put together from pieces that shells, agents and attackers use, and from the corpus, cut and joined anywhere.
In the suite the same examples every time; CLEARWAY_TEST_LONG=1 looks much longer, elsewhere each time.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.guard import corpus
from tests.guard.test_danger import DESTROYS, HARMLESS, lines
from tests.guard.test_quiet import Desk

from clearway import catalog
from clearway.config import Caller
from clearway.guard import patches, shell
from clearway.guard.glance import is_short, starts_nothing
from clearway.guard.shellparse import RUNS_MAX
from clearway.guard.shellwalk import STEPS_MAX, Walk
from clearway.guard.toolcall import Target
from clearway.guard.writers import cannot_write

LONG = bool(os.environ.get("CLEARWAY_TEST_LONG"))
ACTIONS = frozenset({"edit", "create", "delete", "move", "run"})
COMMANDS = [*corpus.REFUSED, *corpus.AFTER, *corpus.ALLOWED, *lines(DESTROYS), *lines(HARMLESS)]


def bounded(examples: int) -> Any:
    """How many examples are looked at, and that no machine is too slow for them."""
    return settings(
        max_examples=examples * 100 if LONG else examples,
        deadline=None,
        derandomize=not LONG,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


PIECES = st.sampled_from(
    [*"> >> >| &> < << <<- <<< <> | |& & && || ; ;; ! ( ) { } (( )) [[ ]] $( ` ' \" \\ $ ${ } * ? ~ # = , - --".split()]
    + [*"\n", "\t", " ", "\0", "\x01", "\ud800", "é", "\u202e", "EOF", "\nEOF\n", "'EOF'", "$'\\x72m'", "${x:-a}", "$@"]
    + [*"if then else fi for in do done while case esac function select time coproc eval exec trap set alias".split()]
    + [*"echo cat tee rm cp mv sed -i git push reset --hard xargs find -exec {} + bash -c sh sudo env cd ls".split()]
    + [*"held.txt src/a.py a/../b /etc/passwd $HOME x=1 f() make python run.py apply_patch timeout 5 grep -rn".split()]
)
LINES = st.one_of(
    st.lists(PIECES, max_size=18).map("".join),
    st.lists(PIECES, max_size=18).map(" ".join),
    st.text(max_size=60),
    st.tuples(st.sampled_from(COMMANDS), st.sampled_from(COMMANDS), st.integers(0, 60), PIECES).map(
        lambda drawn: drawn[0][: drawn[2]] + drawn[3] + drawn[1][drawn[2] // 2 :]
    ),
)


def shown(found: shell.ShellWrites) -> list[Any]:
    targets = [found.targets, found.patch_targets, found.runs, found.guesses, found.sweeps]
    return [[(each.path, each.action) for each in some] for some in targets] + [found.unknown, found.commands]


def check_targets(found: list[Target]) -> None:
    for target in found:
        assert isinstance(target.path, str)
        assert target.action in ACTIONS


@given(LINES)
@bounded(200)
def test_any_line_is_read_within_its_bounds_and_always_the_same(line: str) -> None:
    found = shell.writes(line, "/nowhere/repo", "/home/person")
    for some in (found.targets, found.patch_targets, found.runs, found.guesses, found.sweeps):
        check_targets(some)
    assert shown(shell.writes(line, "/nowhere/repo", "/home/person")) == shown(found)
    walk = Walk()
    walk.read(line, "/nowhere/repo", "/home/person")
    assert walk._steps <= STEPS_MAX + 1 or walk.unread  # pyright: ignore[reportPrivateUsage]
    assert walk._parser._runs <= RUNS_MAX + 1  # pyright: ignore[reportPrivateUsage]


@given(LINES)
@example("./a=b.sh")
@example("=src/a.py")
@example("~")
@bounded(250)
def test_what_needs_no_parser_writes_nothing_that_a_parser_would_see(line: str) -> None:
    """The glance that spares most commands the parser is modest enough."""
    if cannot_write(line) and starts_nothing(line):
        walk = Walk()
        walk.read(line, "/nowhere/repo", "/home/person")
        assert (list(walk.targets), list(walk.patch_targets), list(walk.runs)) == ([], [], []), line


@pytest.mark.parametrize(
    "line",
    [
        "(" * 5_000,
        "$(" * 3_000,
        "{ " * 5_000,
        "`" * 5_001,
        "a && " * 4_000 + "b",
        "a | " * 4_000 + "b",
        "f() { f | f; }; f",
        "f() { f; f; }; f",
        "for a in 1 2 3 4 5 6 7 8; do " * 9 + "echo x > $a; " + "done; " * 9,
        "x=aaaaaaaaaaaaaaaa; " + "x=$x$x; " * 40 + "echo > $x",
        "echo > " + "{a,b}" * 40,
        "bash -c '" * 40,
        "eval " * 3_000 + "ls > held.txt",
        "cat <<A " + "<<A " * 2_000 + "\nA\n",
        "\\\n" * 50_000 + "ls",
        "'" + "x" * 2_000_000 + "' > held.txt",
        "rm " + "--aa " * 20_000,
    ],
    ids=range(17),
)
def test_a_line_made_to_take_long_ends(line: str) -> None:
    found = shell.writes(line, "/nowhere/repo", "/home/person")
    assert len(found.targets) < 10_000


PATCH_LINES = st.sampled_from(
    [
        "*** Begin Patch",
        "*** End Patch",
        "*** Add File: a",
        "*** Update File: b/c",
        "*** Delete File: d",
        "*** Move to: e",
    ]
    + [
        "@@",
        "@@ -1,2 +3,4 @@",
        "@@ -1 +1 @@ x",
        "+x",
        "-x",
        " x",
        "",
        "--- a/x",
        "+++ b/x",
        "--- /dev/null",
        "+++ /dev/null",
    ]
    + [
        "diff --git a/x b/y",
        "rename from x",
        "rename to y",
        "new file mode 100644",
        "deleted file mode 100644",
        "\\ No newline",
    ]
    + [
        '--- "a/\\303\\251"',
        '+++ "b/\\',
        "+++ b/x\t2026-01-01",
        "Index: x",
        "copy from x",
        "*** Update File:",
        "--- ",
        "\ud800\0",
    ]
    + [
        "apply_patch <<'EOF'",
        "EOF",
        "@@ -99999999999999999999,1 +1 @@",
        "GIT binary patch",
        "Binary files a and b differ",
    ]
)


@given(st.lists(st.one_of(PATCH_LINES, st.text(max_size=30)), max_size=25), st.sampled_from(["\n", "\r\n", "\n\n"]))
@bounded(400)
def test_any_patch_is_read_and_always_the_same(text: list[str], ending: str) -> None:
    patch = ending.join(text)
    found = patches.targets(patch)
    check_targets(found)
    assert patches.targets(patch) == found
    assert len(set(found)) == len(found)
    check_targets(patches.in_unreadable(patch))
    assert patches.in_array(text) is None or isinstance(patches.in_array(text), str)


# The fast step.


class Room(Desk):
    """The desk of the fast step: others hold what the corpus tries to change, and people switched the gate on."""

    def __init__(self, tmp_path: Path, repo: Path) -> None:
        super().__init__(tmp_path, repo)
        other = Caller("codex", "other", cwd=str(repo), host="tests")
        paths = ["held.txt", "deploy", "src/b.py", "a b.txt"]
        self.room.ask(catalog.OPERATIONS["claim_paths"], self._arguments(paths), other)
        (repo / "mine").mkdir()
        (repo / "mine" / "own.txt").write_text("mine\n")
        (repo / "mine" / "link").symlink_to("../held.txt")
        (repo / "mine" / "way").symlink_to("../deploy")
        mine = Caller("claude-code", "s1", cwd=str(repo), host=self.rooms.liveness.host)
        self.room.ask(catalog.OPERATIONS["claim_paths"], self._arguments(["mine"]), mine)
        human = Caller("human", cwd=str(repo), host="tests", human=True)
        self.room.ask(catalog.OPERATIONS["set_setting"], {"name": "danger", "value": "on"}, human)

    def _arguments(self, paths: list[str]) -> dict[str, Any]:
        return {"paths": [str(self.repo / path) for path in paths]}

    def agrees(self, payload: bytes) -> bool:
        """Whether the fast step allows this; then the full step has to, and to have nothing to say."""
        for client in ("claude", "codex"):
            if self.quiet(payload, client):
                assert self.full(payload) == ("", "", 0), payload
                return True
        return False


@pytest.fixture
def room(tmp_path: Path, repo: Path) -> Room:
    return Room(tmp_path, repo)


def test_the_fast_step_allows_no_command_that_the_full_step_refuses(room: Room) -> None:
    for command in [*corpus.REFUSED, *corpus.AFTER, *lines(DESTROYS)]:
        assert not (cannot_write(command) and is_short(command)), command
        assert not room.quiet(room.bash(command)), command
    allowed = [command for command in COMMANDS if room.agrees(room.bash(command))]
    assert len(allowed) >= 20, "it is of some use"

    @given(LINES)
    @bounded(250)
    def holds(line: str) -> None:
        room.agrees(room.bash(line))

    holds()


def test_the_fast_step_allows_no_edit_that_the_full_step_refuses(room: Room) -> None:
    os.link(room.repo / "src/b.py", room.repo / "mine" / "twin.py")
    steps = st.sampled_from(
        [
            "src",
            "a.py",
            "b.py",
            "held.txt",
            "deploy",
            "x.sh",
            ".",
            "..",
            "",
            "mine",
            "link",
            "way",
            "twin.py",
            "own.txt",
        ]
        + ["SRC", "A.py", "a.py ", "a\u0301.py", "a.py\0", "~", ".git", "new", "\ud800", "repo"]
    )
    paths = st.one_of(
        st.sampled_from(
            ["src/a.py", "src/b.py", "held.txt", "deploy/x.sh", "mine/own.txt", "mine/link", "mine/way/x.sh"]
        ),
        st.sampled_from(["mine/twin.py", "mine/../held.txt", "mine/new/x", "src/a.py/../b.py", "mine/way/../held.txt"]),
        st.lists(steps, max_size=5).map("/".join),
    )
    roots = st.sampled_from(
        [str(room.repo) + "/", "", "/", "./", str(room.repo) + "//", "file://" + str(room.repo) + "/"]
    )
    tools = st.sampled_from(["Edit", "Write", "MultiEdit", "NotebookEdit", "Read"])
    quiet = 0

    @given(tools, roots, paths, st.sampled_from(["s1", "other", "s2"]), st.sampled_from(["file_path", "notebook_path"]))
    @bounded(300)
    def holds(tool: str, root: str, path: str, session: str, key: str) -> None:
        nonlocal quiet
        quiet += room.agrees(room.payload(tool, {key: root + path}, session=session))

    holds()
    assert quiet, "it is of some use"


def test_the_fast_step_allows_no_broken_payload_that_the_full_step_refuses(room: Room) -> None:
    known = [
        *(json.loads(room.edit(path)) for path in ("src/a.py", "held.txt")),
        *(json.loads(room.bash(command)) for command in ("ls", "echo x > held.txt", "git reset --hard")),
        json.loads(room.payload("mcp__clearway__room", {}, tool_use_id="t1")),
    ]
    junk = st.sampled_from(
        [None, 7, [], {}, "", "held.txt", "Edit", "Bash", str(room.repo / "held.txt"), ["x"], "\ud800"]
    )
    keys = sorted(
        {key for each in known for key in each} | {"run_in_background", "agent_id", "extra", "command", "file_path"}
    )

    @given(st.sampled_from(known), st.lists(st.tuples(st.sampled_from(keys), junk, st.booleans()), max_size=3))
    @bounded(200)
    def holds(payload: dict[str, Any], changes: list[tuple[str, Any, bool]]) -> None:
        broken = json.loads(json.dumps(payload))
        for key, value, within in changes:
            inner = broken.get("tool_input") if within else broken
            if isinstance(inner, dict):
                inner[key] = json.loads(json.dumps(value))
        room.agrees(json.dumps(broken).encode())

    holds()
