"""Command lines: which scripts they start, which are over in a moment, and what a glance may prove of that."""

from __future__ import annotations

import random

import pytest

from clearway.guard import glance
from clearway.guard.shell import cannot_write, writes
from clearway.guard.shellwalk import Walk

HOME = "/home/me"


def runs(command: str, cwd: str = "/repo") -> list[str]:
    return [target.path for target in writes(command, cwd, HOME).runs]


STARTS: list[tuple[str, list[str]]] = [
    # a program that is a file
    ("./deploy/make.sh", ["./deploy/make.sh"]),
    ("deploy/make.sh --fast", ["deploy/make.sh"]),
    ("/repo/deploy/make.sh", ["/repo/deploy/make.sh"]),
    ("~/x.sh", ["/home/me/x.sh"]),
    ("cd deploy && ./make.sh", ["/repo/deploy/./make.sh"]),
    ("D=deploy; $D/make.sh", ["deploy/make.sh"]),
    ("if ./a.sh; then ./b.sh; fi", ["./a.sh", "./b.sh"]),
    # shells
    ("bash deploy/make.sh", ["deploy/make.sh"]),
    ("sh -e deploy/make.sh", ["deploy/make.sh"]),
    ("zsh -x -o pipefail a.sh b", ["a.sh"]),
    ("bash -lc './a.sh'", ["./a.sh"]),
    ("bash -lc 'python run.py'", ["run.py"]),
    ("source env.sh", ["env.sh"]),
    ("bash -ex < deploy/make.sh", ["deploy/make.sh"]),
    ("bash a.sh < data.txt", ["a.sh"]),
    (". ./env.sh", ["./env.sh"]),
    ("for f in a b; do bash $f.sh; done", ["a.sh", "b.sh"]),
    # interpreters
    ("python run.py", ["run.py"]),
    ("python3.12 -u -W ignore run.py --flag x.py", ["run.py"]),
    ("/usr/bin/python3 run.py", ["run.py"]),
    ("node --require ./hook.js a.js", ["a.js"]),
    ("ruby -I lib a.rb", ["a.rb"]),
    ("perl a.pl", ["a.pl"]),
    ("deno run -c deno.json a.ts", ["a.ts"]),
    ("bun run a.ts", ["a.ts"]),
    # behind other programs
    ("env A=1 nohup timeout 5 ./x.sh &", ["./x.sh"]),
    ("sudo -u me bash x.sh", ["x.sh"]),
    ("echo a | xargs -n1 ./x.sh", ["./x.sh"]),
    ("uv run --with rich run.py", ["run.py"]),
    ("uv run python run.py", ["run.py"]),
    ("poetry run python run.py", ["run.py"]),
    ("./x.sh > log", ["./x.sh"]),
]


@pytest.mark.parametrize(("command", "expected"), STARTS)
def test_a_started_script_is_named(command: str, expected: list[str]) -> None:
    """C10: in every spelling."""
    assert runs(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        *("pytest -q", "make pack", "ls deploy/make.sh", "cat run.py", "echo ./x.sh", "echo 'bash x.sh'"),
        *("python -c 'print(1)'", "python -m pytest tests", "python -Im pytest", "python - < x", "node -e '1'"),
        *("python <<'EOF'\nimport os\nEOF", "cat <<EOF\nbash x.sh\nEOF", "echo x | bash", "bash -c true"),
        *("bash -c cat < data.txt", "cat < x.sh", "bash -n x.sh", "node --check a.js", "php -l a.php", "ruby -c a.rb"),
        *("grep python run.py", "git commit -m './x.sh'", "/usr/bin/env true", "uv pip install x", "npm test"),
        *("perl -pi -e s/a/b/ f", "uv", "bash", "python", "xargs ls", "", "\0", "((", "'"),
    ],
)
def test_what_starts_no_script_names_none(command: str) -> None:
    assert runs(command) == []


def test_the_commands_of_a_line_are_named_where_they_are_asked_for() -> None:
    """C10: `make pack` when declared."""
    found = writes("cd deploy && make pack; echo $X", "/repo", HOME, declared=True)
    assert found.commands == ["cd deploy", "make pack", "echo"]
    assert writes("make pack", "/repo", HOME).commands == []


@pytest.mark.parametrize(
    "command",
    [
        *("ls -la", "git status", "git -C x --no-pager log -5", "grep -rn x src | head -5", "cat a; wc -l b"),
        *("cd src && ls", "sed -n 1,40p a.py", "tail -n 5 log", "find . -name x", ""),
        *("LANG=C sort a", "rg --files | wc -l", "! grep x y", "(cd src; pwd)"),
    ],
)
def test_a_look_around_is_short(command: str) -> None:
    assert glance.is_short(command)


@pytest.mark.parametrize(
    "command",
    [
        *("pytest -q", "make", "sleep 300", "npm test", "./x.sh", "tail -f log", "tail -F log", "git commit -m x"),
        *("git fetch", "ls; sleep 9", "ls && make", "ls | xargs make", "ls &\nmake", "find . -exec make {} ;"),
        *("sed -i s/a/b/ f", "sed -n w\\ f x", "while true; do ls; done", "bash -c ls", "'l's", "git", "cargo build"),
        *("python run.py", "timeout 5 ls", "watch ls", "x" * 9_000, "l\\\ns | make"),
    ],
)
def test_what_may_last_is_not_short(command: str) -> None:
    assert not glance.is_short(command)


@pytest.mark.parametrize(
    "command", ["pytest -q", "make -j8", "npm test", "go test ./...", "pytest tests/a.py::b", "A=1 cargo test"]
)
def test_a_usual_test_run_needs_no_parser(command: str) -> None:
    assert cannot_write(command)
    assert glance.starts_nothing(command)


@pytest.mark.parametrize("command", [command for command, _ in STARTS])
def test_a_glance_overlooks_no_start(command: str) -> None:
    assert not (cannot_write(command) and (glance.starts_nothing(command) or glance.is_short(command)))


WORDS = (
    "ls|./x.sh|bash|python|run.py|a.sh|make|-c|-e|sh|env|A=1|;|&&|'|\"|(|)|\n|!|if|then|fi|\\|while|do|done|xargs|find|"
    "-exec|{}|source|.|uv|run|node|time|<|f|[[|]]|timeout|5|pytest|x/y|cd|d|<<EOF|EOF|\\\n|&|eval"
).split("|") + ["|"]


@pytest.mark.parametrize("seed", range(200))
def test_where_a_glance_sees_no_start_the_parser_sees_none(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(10):
        command = " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 9)))
        if cannot_write(command) and glance.starts_nothing(command):
            walk = Walk()
            walk.read(command, "/repo", HOME)
            assert not walk.runs, command
        if cannot_write(command) and glance.is_short(command):
            assert glance.starts_nothing(command), command
