"""Command lines: what they write to is named before they run, and what only looks like it is left alone."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clearway.guard import shellparse, shellwalk
from clearway.guard.shell import ShellWrites, cannot_write, writes
from clearway.guard.shelltext import guessed

HOME = "/home/me"


def paths(command: str, cwd: str = "/repo") -> list[str]:
    """What a line writes to, where nothing about it is unknown."""
    found = writes(command, cwd, HOME)
    assert not found.unknown, found
    assert not found.patch_targets, found
    return [target.path for target in found.targets]


def patched(command: str, cwd: str = "/repo") -> list[tuple[str, str]]:
    found = writes(command, cwd, HOME)
    assert not found.unknown, found
    assert not found.targets, found
    return [(target.path, target.action) for target in found.patch_targets]


WRITES: list[tuple[str, list[str]]] = [
    # redirections
    ("echo x > f", ["f"]),
    ("echo x >f", ["f"]),
    ("echo x >> f", ["f"]),
    ("echo x >| f", ["f"]),
    ("echo x &> f", ["f"]),
    ("echo x &>> f", ["f"]),
    ("echo x >& f", ["f"]),
    ("echo x 1>&f", ["f"]),
    ("echo x 2> f", ["f"]),
    ("echo x <> f", ["f"]),
    ("> f", ["f"]),
    ("echo x > f > g", ["f", "g"]),
    ("exec 3> f; echo x >&3", ["f"]),
    ("exec {fd}> f", ["f"]),
    ("echo x 2>&1 > f", ["f"]),
    # tee
    ("tee f", ["f"]),
    ("echo x | tee f g", ["f", "g"]),
    ("tee -a f", ["f"]),
    ("tee f --append g", ["f", "g"]),
    ("tee -- -f", ["-f"]),
    ("/usr/bin/tee f", ["f"]),
    ("tee >(cat > f) g > /dev/null", ["f", "g"]),
    # sequences
    ("a; echo > f", ["f"]),
    ("a\necho > f", ["f"]),
    ("a && echo > f", ["f"]),
    ("a || echo > f", ["f"]),
    ("a & echo > f", ["f"]),
    ("a |& tee f", ["f"]),
    ("! echo > f", ["f"]),
    ("time echo > f", ["f"]),
    # compound commands
    ("(echo > f)", ["f"]),
    ("{ echo; } > f", ["f"]),
    ("if a; then echo > f; elif b; then echo > g; else echo > h; fi > i", ["i", "f", "g", "h"]),
    ("if tee f; then :; fi", ["f"]),
    ("for i in 1 2; do echo > f; done", ["f"]),
    ("for f in a b; do echo > $f.txt; done", ["a.txt", "b.txt"]),
    ("for ((i = 0; i < 3; i++)); do echo > f; done", ["f"]),
    ("while read x; do echo > f; done", ["f"]),
    ("until a; do echo > f; done", ["f"]),
    ("case $x in a) echo > f ;; *) echo > g ;; esac", ["f", "g"]),
    ("select x in a b; do echo > $x; done", ["a", "b"]),
    ("coproc tee f", ["f"]),
    ("f() { echo > g; }; f", ["g"]),
    ("f() { echo > $1; }; f g; f h", ["g", "h"]),
    ('function f { tee "$@"; }; f g h', ["g", "h"]),
    ("f() { shift; echo > $1; }; f g h", ["h"]),
    ("f() { echo; } > g; f", ["g"]),
    ("[[ -f x ]] && echo > f", ["f"]),
    # substitutions
    ("x=$(echo > f)", ["f"]),
    ("echo `tee f`", ["f"]),
    ('echo "a $(echo $(tee f))"', ["f"]),
    ("echo $((1 + $(tee f)))", ["f"]),
    ("[[ $(tee f) ]]", ["f"]),
    ("diff <(tee f) >(tee g)", ["f", "g"]),
    ("echo ${x:-$(tee f)}", ["f"]),
    ("cat <<EOF\n$(tee f)\nEOF", ["f"]),
    ("case $(tee f) in *) ;; esac", ["f"]),
    # directories
    ("cd d && echo > f", ["/repo/d/f"]),
    ("cd d && cd e && echo > f", ["/repo/d/e/f"]),
    ("cd /x && echo > f", ["/x/f"]),
    ("cd ~ && echo > f", ["/home/me/f"]),
    ("cd && echo > f", ["/home/me/f"]),
    ("cd d && cd .. && echo > f", ["f"]),
    ("cd d && cd - && echo > f", ["f"]),
    ("cd d && echo > /x/f", ["/x/f"]),
    ("(cd d && echo > f); echo > g", ["/repo/d/f", "g"]),
    ("cd d && (cd e && echo > f) && echo > g", ["/repo/d/e/f", "/repo/d/g"]),
    ("cd d && a | tee f", ["/repo/d/f"]),
    ("a | cd d; echo > f", ["f"]),
    ("pushd d && echo > f && popd && echo > g", ["/repo/d/f", "g"]),
    ("command cd d && builtin echo > f", ["/repo/d/f"]),
    ("env -C d tee f", ["/repo/d/f"]),
    ("sudo -D d tee f", ["/repo/d/f"]),
    ("cd d || exit 1; echo > f", ["/repo/d/f"]),
    ("cd d || { echo no; exit 1; }\necho > f", ["/repo/d/f"]),
    ("mkdir d && cd d\necho > f", ["/repo/d/f"]),
    ("set -e\ncd d\necho > f", ["/repo/d/f"]),
    ("if cd d && cd e; then echo > f; fi", ["/repo/d/e/f"]),
    # variables
    ("F=f; echo > $F", ["f"]),
    ('F=f; echo > "$F"', ["f"]),
    ("F=f; echo > ${F}.txt", ["f.txt"]),
    ("D=d F=$D/f; echo > $F", ["d/f"]),
    ("export F=f; echo > $F", ["f"]),
    ("declare -r F=f; echo > $F", ["f"]),
    ("F=f; F+=.txt; echo > $F", ["f.txt"]),
    ("F=(f g); tee ${F[@]}", ["f", "g"]),
    ("F=f; G=${F:-g}; echo > $G", ["f"]),
    ("F=; echo > ${F:-g}", ["g"]),
    ("F=a.txt; echo > ${F%.txt}.md", ["a.md"]),
    ("F=src/a.txt; echo > ${F##*/}", ["a.txt"]),
    ("F=src/a.txt; echo > ${F%/*}/b", ["src/b"]),
    ('F="f g"; tee $F', ["f", "g"]),
    ('F="f g"; tee "$F"', ["f g"]),
    ("F=f tee g", ["g"]),
    ("F=g; F=f bash -c 'echo > $F'; echo > $F", ["f", "g"]),
    ("T=tee; $T f", ["f"]),
    ("if a; then F=f; else F=g; fi; echo > $F", ["f", "g"]),
    ("set -- f g; tee $2", ["g"]),
    ("read F <<< f; echo > $F", ["f"]),
    ("printf -v F '%s.txt' f; echo > $F", ["f.txt"]),
    ("while read -r F; do echo > \"$F\"; done <<'EOF'\nf\ng h\nEOF", ["f", "g h"]),
    ("F=FILE; echo > ${F,,}.txt", ["file.txt"]),
    ("F=file; echo > ${F^}.txt", ["File.txt"]),
    ("bash -c 'echo > \"$0\"' f", ["f"]),
    ("echo > ~+/f", ["/repo/f"]),
    ("find . -name x -exec tee f \\;", ["f"]),
    ("find . -exec sh -c 'echo > f' \\; -exec tee g +", ["f", "g"]),
    ("watch -n 2 'echo > f'", ["f"]),
    ("su me -c 'echo > f'", ["f"]),
    ("script -qc 'echo > f' /dev/null", ["f"]),
    ("patch f <<'EOF'\n--- a/g\n+++ b/g\nEOF", ["f"]),
    ("patch -o f -i x.diff", ["f"]),
    ("patch -d d f x.diff", ["d/f"]),
    ("echo > $PWD/f", ["/repo/f"]),
    ("echo > $(pwd)/f", ["/repo/f"]),
    ("echo > $(echo f)", ["f"]),
    ("echo > ~/f", ["/home/me/f"]),
    ('echo > "$HOME/f"', ["/home/me/f"]),
    ('echo > "~/f"', ["~/f"]),
    # quotes and escapes
    ('echo > "a b"', ["a b"]),
    ("echo > 'a b'", ["a b"]),
    (r"echo > a\ b", ["a b"]),
    (r"echo > $'a\x20b'", ["a b"]),
    ("echo > a\"b\"'c'd", ["abcd"]),
    (r'echo > "a\"b"', ['a"b']),
    (r"""echo > 'a\b'""", [r"a\b"]),
    ('"te""e" f', ["f"]),
    (r"t\ee f", ["f"]),
    (r"$'\x74ee' f", ["f"]),
    ("te\\\ne f", ["f"]),
    ("echo x \\\n > f", ["f"]),
    ("tee {a,b}.txt", ["a.txt", "b.txt"]),
    ("tee d/{a,{b,c}}", ["d/a", "d/b", "d/c"]),
    ("tee '{a,b}'", ["{a,b}"]),
    ("tee '*'", ["*"]),
    # wrappers
    ("env A=1 tee f", ["f"]),
    ("env -u A -i B=2 tee f", ["f"]),
    ("sudo tee f", ["f"]),
    ("sudo -u root -E tee f", ["f"]),
    ("sudo -uroot tee f", ["f"]),
    ("nohup tee f &", ["f"]),
    ("timeout 5 tee f", ["f"]),
    ("timeout -s KILL --kill-after=3 5s tee f", ["f"]),
    ("nice -n 5 tee f", ["f"]),
    ("nice tee f", ["f"]),
    ("stdbuf -oL -e 0 tee f", ["f"]),
    ("command tee f", ["f"]),
    ("exec tee f", ["f"]),
    ("setsid -f tee f", ["f"]),
    ("/usr/bin/time -p tee f", ["f"]),
    ("sudo env A=1 timeout 5 nice nohup tee f", ["f"]),
    ("echo f | xargs tee", ["f"]),
    ("echo f g | xargs -n 1 tee -a", ["f", "g"]),
    ("xargs -I {} tee {}.bak <<< f", ["f.bak"]),
    # shells within shells
    ("bash -c 'echo > f'", ["f"]),
    ("bash -lc 'echo > f'", ["f"]),
    ("bash -ec 'echo > f'", ["f"]),
    ("bash -euo pipefail -c 'echo > f'", ["f"]),
    ("sh -c 'tee f'", ["f"]),
    ("zsh -c \"bash -c 'echo > f'\"", ["f"]),
    ("bash -c 'echo > $1' _ f", ["f"]),
    ("bash -c 'cd d && echo > f'; echo > g", ["/repo/d/f", "g"]),
    ("sudo bash -c 'echo > f'", ["f"]),
    ("bash <<< 'echo > f'", ["f"]),
    ("bash <<'EOF'\necho > f\nEOF", ["f"]),
    ("echo 'echo > f' | sh", ["f"]),
    ("cat <<'EOF' | bash\necho > f\nEOF", ["f"]),
    ("eval 'echo > f'", ["f"]),
    ("eval F=f; echo > $F", ["f"]),
    ("trap 'echo > f' EXIT", ["f"]),
    # here-documents
    ("cat > f <<'EOF'\ntext > not\nEOF", ["f"]),
    ("cat <<EOF > f\ntext\nEOF", ["f"]),
    ("cat <<-EOF > f\n\ttext\n\tEOF", ["f"]),
    ("cat <<A > f; cat <<B > g\nx\nA\ny\nB", ["f", "g"]),
    ("cat <<EOF > f && echo > g\ntext\nEOF\necho > h", ["f", "g", "h"]),
    ("cat > f <<EOF\nno end", ["f"]),
    ("python3 - <<'EOF' > f\nopen('not', 'w')\nEOF", ["f"]),
]


@pytest.mark.parametrize(("command", "files"), WRITES)
def test_what_a_line_writes_to_is_named(command: str, files: list[str]) -> None:
    assert paths(command) == files


HARMLESS = [
    "ls",
    "git status",
    "echo hello",
    "echo x > /dev/null",
    "ls 2>&1",
    "ls 2>/dev/null >&2",
    "exec 3>&1 4>&-",
    "echo > /dev/stderr",
    "echo '> f'",
    'echo "a > f"',
    r"echo a \> f",
    "# echo > f",
    "echo x # > f",
    "[[ a > b ]]",
    "[ a \\> b ]",
    "(( 1 > 2 ))",
    "echo $((2 > 1))",
    "grep -n '->' f",
    "awk '$1 > 3' f",
    "jq '.a > 1' f",
    "python3 -c 'open(\"f\")'",
    "cat <<EOF\ntext > f\nEOF",
    "cat <<'EOF'\ntee f\n$(tee f)\nEOF",
    "cat <<< 'x > f'",
    "f() { echo > g; }",
    "alias x='echo > f'",
    "echo tee f",
    "command -v tee",
    "which tee",
    "man tee",
    "echo '*** Begin Patch' > /dev/null",
    "git commit -m 'apply_patch <<EOF\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nEOF'",
    "cat <<'EOF' | less\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nEOF",
    "case x in (a) ;; esac",
    "tee",
    "tee /dev/null",
    "bash -c 'ls'",
    "bash script.sh",
    "ssh host 'echo > f'",
    "patch --dry-run -p1 <<'EOF'\n--- a/f\n+++ b/f\nEOF",
    "git apply --check <<'EOF'\n--- a/f\n+++ b/f\nEOF",
    "git log --format='%h -> %s'",
    "",
    " \n\t",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_what_writes_nothing_is_left_alone(command: str) -> None:
    assert paths(command) == []
    assert patched(command) == []


@pytest.mark.parametrize(
    "command",
    [
        "sed -n 's|a|b|p' README.md",
        'git commit -m "fix: > src/a.py handling"',
        'echo "rm src/a.py"',
        "grep -i sed src/a.py",
    ],
)
def test_prose_and_patterns_are_no_commands(command: str) -> None:
    """C14."""
    assert paths(command) == []


def test_text_in_a_here_document_is_no_command() -> None:
    """P37."""
    assert paths("cat <<EOF\nuse: foo > deploy/x.sh\nEOF") == []


@pytest.fixture
def repository(tmp_path: Path) -> str:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "src").mkdir()
    return str(tmp_path)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("echo x\ntee held.txt", "held.txt"),
        ("for i in 1; do tee held.txt; done", "held.txt"),
        ("timeout 5 tee held.txt", "held.txt"),
        ("bash -lc 'echo > held.txt'", "held.txt"),
        ('F=held.txt; echo > "$F"', "held.txt"),
        ("echo > $PWD/held.txt", "held.txt"),
        ('echo x > "held.txt"', "held.txt"),
        ("cat > held.txt <<'EOF'\nit's text\nEOF", "held.txt"),
        ("cd deploy && echo x > x.sh", "deploy/x.sh"),
        ("(cd deploy; echo x > x.sh)", "deploy/x.sh"),
        ("cd src && echo > ../held.txt", "held.txt"),
        ('echo x > "a b.txt"', "a b.txt"),
        (r"echo x > a\ b.txt", "a b.txt"),
    ],
)
def test_no_spelling_hides_a_held_file(command: str, file: str, repository: str) -> None:
    """P13, P28, P32, P34."""
    found = [os.path.normpath(os.path.join(repository, path)) for path in paths(command, repository)]
    assert found == [os.path.join(repository, file)]


def test_a_directory_that_is_not_there_is_not_trusted(repository: str) -> None:
    assert paths("cd nowhere; echo > f", repository) == [f"{repository}/nowhere/f", f"{repository}/f"]
    assert paths("cd nowhere && echo > f", repository) == [f"{repository}/nowhere/f"]
    assert paths("cd deploy; echo > f", repository) == [f"{repository}/deploy/f"]
    assert paths("make x; cd nowhere; echo > f", repository) == [f"{repository}/nowhere/f"]


def test_what_may_or_may_not_have_run_is_taken_both_ways(repository: str) -> None:
    both = [f"{repository}/deploy/f", f"{repository}/src/f"]
    assert paths("if a; then cd deploy; else cd src; fi; echo > f", repository) == both
    assert paths("cd deploy || cd src; echo > f", repository) == both
    assert paths("make && cd deploy; echo > f", repository) == [f"{repository}/deploy/f", f"{repository}/f"]
    assert paths("make && cd deploy || exit; echo > f", repository) == [f"{repository}/deploy/f"]
    assert paths("if a; then cd deploy; exit; fi; echo > f", repository) == ["f"]


def test_the_root_that_git_tells_is_known(repository: str) -> None:
    (Path(repository) / ".git").mkdir()
    (Path(repository) / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert paths('cd src && cd "$(git rev-parse --show-toplevel)" && echo > f', repository) == ["f"]


def test_names_that_a_glob_finds_are_among_what_is_written(repository: str) -> None:
    """There may be more of them when the line runs."""
    for name in ("a.txt", "b.txt", "c[1].md", ".hidden.txt", "src/d.txt"):
        (Path(repository) / name).touch()
    for command, named in (
        ("echo > a.t*t", ["a.txt"]),
        ("for f in *.txt; do echo > $f; done", ["a.txt", "b.txt"]),
        ("tee [!b].txt src/*", ["a.txt", "src/d.txt"]),
        ("echo > s?c/[a-d].txt", ["src/d.txt"]),
        ('tee "c[1]".m*', ["c[1].md"]),
        ("tee .*.txt", [".hidden.txt"]),
        ("echo > none*", []),
        (f"tee {repository}/src/*.txt", [f"{repository}/src/d.txt"]),
    ):
        found = writes(command, repository, HOME)
        assert [target.path for target in found.targets] == named, command
        assert found.unknown
    assert paths("echo > '*.txt'", repository) == ["*.txt"]


PATCH = "*** Begin Patch\n*** Update File: deploy/x.sh\n@@\n-a\n+b > c\n*** Delete File: held.txt\n*** End Patch"
FILES = [("deploy/x.sh", "edit"), ("held.txt", "delete")]


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"apply_patch <<EOF\n{PATCH}\nEOF",
        f'applypatch <<"EOF"\n{PATCH}\nEOF\n',
        f"apply_patch <<-'EOF'\n\t{PATCH}\n\tEOF",
        f"apply_patch '{PATCH}'",
        f'apply_patch "{PATCH}"',
        f"apply_patch <<< '{PATCH}'",
        f"cat <<'EOF' | apply_patch\n{PATCH}\nEOF",
        f"bash -lc \"apply_patch <<'EOF'\n{PATCH}\nEOF\"",
        f"sudo timeout 5 apply_patch <<'EOF'\n{PATCH}\nEOF",
        f"P='{PATCH}'; apply_patch \"$P\"",
    ],
)
def test_a_patch_in_a_shell_names_its_files(command: str) -> None:
    """P22."""
    assert patched(command) == FILES


def test_a_patch_in_another_directory_names_files_there() -> None:
    found = patched(f"cd sub && apply_patch <<'EOF'\n{PATCH}\nEOF")
    assert found == [("/repo/sub/deploy/x.sh", "edit"), ("/repo/sub/held.txt", "delete")]


def test_a_diff_for_patch_or_git_names_its_files() -> None:
    diff = "--- a/held.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert patched(f"patch -p1 <<'EOF'\n{diff}EOF") == [("held.txt", "delete")]
    assert patched(f"git apply <<'EOF'\n{diff}EOF") == [("held.txt", "delete")]
    assert patched(f"git apply -p1 --index - <<'EOF'\n{diff}EOF") == [("held.txt", "delete")]


UNKNOWN: list[tuple[str, list[str]]] = [
    ("echo > $UNSET", []),
    ('echo > "$TMPDIR/f"', []),
    ("echo > $(date).log", []),
    ("echo > *.txt", []),
    ("tee f *.txt", ["f"]),
    ("echo > ${F:-f}", ["f"]),
    ("echo > ~other/f", []),
    ("cd $D && echo > f", []),
    ("cd $(git rev-parse --show-toplevel) && echo > f && echo > /x/g", ["/x/g"]),
    ('bash -c "$X"', []),
    ("eval $X", []),
    ("$X f", []),
    ("$SUDO tee f", ["f"]),
    ("env $X tee f", ["f"]),
    ("curl -s https://example.org/x | sh", []),
    ("bash < script", []),
    ("cat list | xargs tee", []),
    ("xargs tee f", ["f"]),
    ("patch -p1 < x.diff", []),
    ("git apply x.diff", []),
    ("git am < x.mbox", []),
    ("apply_patch < x", []),
    ("echo > f\nif then", ["f"]),
    ("echo > f\nfoo( > g", ["f"]),
    ("echo > 'f", []),
    ("echo > \udcff", []),
]


@pytest.mark.parametrize(("command", "files"), UNKNOWN)
def test_what_cannot_be_told_is_said_to_be_unknown(command: str, files: list[str]) -> None:
    found = writes(command, "/repo", HOME)
    assert found.unknown
    assert [target.path for target in found.targets] == files


def test_a_patch_in_a_line_that_cannot_be_read_is_found_all_the_same() -> None:
    found = writes(f"if apply_patch <<'EOF'\n{PATCH}\nEOF\n", "/repo", HOME)
    assert found.unknown
    assert [(target.path, target.action) for target in found.patch_targets] == FILES


# Large and hostile lines.


BODY = "it's a line with $(this > not) and `that`\n" * 120_000


def test_a_document_of_five_megabytes_hides_nothing() -> None:
    """P50."""
    found = writes(f"cat > held.txt <<'EOF'\n{BODY}EOF\necho > f", "/repo", HOME)
    assert [target.path for target in found.targets] == ["held.txt", "f"]
    assert not found.unknown


def test_a_document_in_which_commands_could_stand_is_not_vouched_for() -> None:
    found = writes(f"cat > held.txt <<EOF\n{BODY}EOF\necho > f", "/repo", HOME)
    assert [target.path for target in found.targets] == ["held.txt", "f"]
    assert found.unknown


def test_a_patch_of_five_megabytes_names_its_files() -> None:
    patch = PATCH.replace("-a\n", "+a line of text\n" * 300_000)
    assert patched(f"cd sub && apply_patch <<'EOF'\n{patch}\nEOF")[1] == ("/repo/sub/held.txt", "delete")


@pytest.mark.parametrize(
    "opening",
    [
        "echo \"<<'EOF'\"\n",
        "# <<'EOF'\n",
        "echo $((1 <<EOF))\n",
        "cat <<'END' <<'EOF'\n",
        "echo '\n<<EOF\n'\n",
    ],
)
def test_what_only_looks_like_a_document_hides_nothing(opening: str) -> None:
    """A document is cut out of a long line only if the parser finds it there, too."""
    line = f"{opening}{'echo > g ' + 'x' * 40 + chr(10)}" + "ls\n" * 6_000 + "EOF\necho > f\n"
    found = writes(line, "/repo", HOME)
    assert found.unknown or {"f", "g"} <= {target.path for target in found.targets}


def test_the_cut_leaves_the_same_tree() -> None:
    lines = "a > b\n" * 4_000
    for opening, end in (
        ("<<'EOF'", "EOF"),
        ("<<EOF", "EOF"),
        ("<<-EOF", "\tEOF"),
        ('<< "E F"', "E F"),
        ("<<\\EOF", "EOF"),
    ):
        found = writes(f"tee f 'é' {opening} > g\n{lines}{end}\ntee h {opening}\n{lines}{end}\n", "/repo", HOME)
        assert [target.path for target in found.targets] == ["g", "f", "é", "h"], opening
        assert not found.unknown


@pytest.mark.parametrize(
    "command",
    [
        "echo a > b\n" * 60_000,
        "(" * 5_000 + "echo > f" + ")" * 5_000,
        "$(" * 2_000,
        "true && " * 3_000 + "echo > f",
        "{a,b}" * 30 + "; tee " + "{a,b}" * 30,
        "F=$F$F;" * 200 + "echo > $F",
        "F=x;" + "F=$F$F;" * 60 + "echo > $F",
        "f() { f; f; }; f > g",
        "f() { g; }; g() { f; }; f; echo > h",
        "for a in 1; do " * 14 + "F=$F.x; echo > $F; " + "done;" * 14,
        "eval " * 50 + "'echo > f'",
        "x" * 1_000_000 + " > f",
        "tee " + "f " * 200_000,
        "\0echo > f",
        "`" * 1_001,
        "${" * 500,
    ],
)
def test_a_hostile_line_ends_and_never_claims_to_be_harmless(command: str) -> None:
    found = writes(command, "/repo", HOME)
    assert found.unknown or found.targets


def guesses(found: ShellWrites) -> list[str]:
    return [os.path.relpath(target.path, "/repo") for target in found.guesses]


def test_a_parser_that_does_not_answer_in_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellparse, "PARSE_MS_MAX", 0)
    found = writes("echo > f", "/repo", HOME)
    assert found.unknown
    assert found.unread == shellparse.TOO_LONG
    assert (found.targets, guesses(found)) == ([], ["f"])


def test_a_target_that_depends_on_more_than_the_line_was_read_all_the_same() -> None:
    """Such a line is allowed without a word; one that was not read follows the fail mode."""
    for command, _ in UNKNOWN:
        assert not writes(command, "/repo", HOME).unread, command


def test_what_the_parser_takes_for_no_shell_is_read_as_text() -> None:
    """Another shell may run it."""
    assert guesses(writes("for f (a b) echo x > g\necho > 'h i'", "/repo", HOME)) == ["g", "h i"]


def test_a_system_without_files_in_memory_is_served_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert paths("echo > f") == ["f"]


def test_without_a_parser_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for executable in (str(tmp_path / "python"), ""):
        monkeypatch.setattr(shellparse.sys, "executable", executable)
        found = writes("echo > f", "/repo", HOME)
        assert found.unread == shellparse.NO_PARSER
        assert (found.targets, guesses(found)) == ([], ["f"])
    assert not shellparse.can_parse()


def test_a_parser_that_breaks_has_read_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "shfmt"
    broken.write_text("#!/bin/sh\necho 'fatal error: out of memory' >&2\n")
    broken.chmod(0o755)
    monkeypatch.setattr(shellparse.sys, "executable", str(tmp_path / "python"))
    found = writes("echo > f", "/repo", HOME)
    assert (found.unread, guesses(found)) == (shellparse.NO_PARSER, ["f"])


PLAINLY: list[tuple[str, list[str]]] = [
    ("echo x > f; tee -a g h", ["f", "g", "h"]),
    ("make 2>&1 >> log/f &> g >| h", ["log/f", "g", "h"]),
    ("if a; then sudo -E tee f; fi", ["f"]),
    ("X=1 env tee f", ["f"]),
    ("rm -f f; cd d; mv g h; sed -i s/a/b/ k", ["f", "d/g", "d/h", "d/k"]),
    ('cd "$D"; rm f /x/g; curl -o h x', ["../x/g"]),
    ("cd d && echo > f; (cd e; echo > g); echo > h", ["d/f", "d/e/g", "d/h"]),
    ('cd "$D" && echo > f; echo > /x/g', ["../x/g"]),
    ("x=$(tee f); echo $x > g", ["f", "g"]),
    ("bash -ec 'cd d; echo > f'", ["d/f"]),
    ("echo > 'a b'; echo > c\\ d; echo > \"e f\"", ["a b", "c d", "e f"]),
    ("cat > f <<'EOF'\necho > no\nEOF\necho > g", ["f", "g"]),
    ("cat <<-EOF > f\n\techo > no\n\tEOF\ntee g", ["f", "g"]),
    # and what only looks like it
    ("echo 'x > f' \"y > g\" z\\>h", []),
    ("# echo > f\nls # > g", []),
    ("grep tee f; echo tee f", []),
    ("cat < f <&3; cat <<< f", []),
    ("echo $(( a > b )) ${x:->f}; [[ a > b ]]", []),
    ("echo > $F; echo > a*; echo > ~/f; echo >&2", []),
]


@pytest.mark.parametrize(("command", "files"), PLAINLY)
def test_a_line_read_as_text_names_what_stands_there(command: str, files: list[str]) -> None:
    assert [os.path.relpath(os.path.join("/repo", t.path), "/repo") for t in guessed(command, "/repo")] == files


@pytest.mark.parametrize("command", [command for command, _ in WRITES])
def test_a_line_read_as_text_names_nothing_that_the_parser_does_not(command: str) -> None:
    """Else a call would be refused for a file that it never touches."""
    read = {os.path.normpath(os.path.join("/repo", path)) for path in paths(command)}
    assert {os.path.normpath(os.path.join("/repo", each.path)) for each in guessed(command, "/repo")} <= read


@pytest.mark.parametrize("command", [command for command in HARMLESS if not command.startswith("f() ")])
def test_a_harmless_line_read_as_text_names_nothing(command: str) -> None:
    assert not guessed(command, "/repo")


def test_the_walk_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellwalk, "STEPS_MAX", 3)
    found = writes("echo > a; echo > b; echo > c; echo > d", "/repo", HOME)
    assert found.unknown
    assert found.unread == shellparse.TOO_LONG
    assert [target.path for target in found.targets] == ["a", "b", "c"]
    assert guesses(found) == ["a", "b", "c", "d"]


# The quick look.


@pytest.mark.parametrize(
    "command", ["ls", "git status", "grep -rn 'a b' src", "cat f | head -5", "python run.py", "cd d && make"]
)
def test_a_line_that_cannot_write_needs_no_parser(command: str) -> None:
    assert cannot_write(command)


@pytest.mark.parametrize("command", [command for command, _ in [*WRITES, *UNKNOWN]])
def test_the_quick_look_overlooks_nothing(command: str) -> None:
    assert not cannot_write(command)


# The real shell as the judge.


PLACES = [
    *("f1", "d/f2", "../r/f3", "~/f4", "$PWD/f5", 'f"6"', "f{7,8}", "$'f\\x39'", "'a b'", "a\\ b"),
    *('"$V"', "$V", '"d/$V"', "${W:-f10}", '"$(echo f11)"', "`echo f12`"),
]
SIMPLE = [
    *("echo x > %s", "echo x >> %s", "echo x | tee %s > /dev/null", "echo x &> %s", "echo x 2> %s"),
    *("tee -a %s <<< x > /dev/null", "cat > %s <<'EOF'\nit's > q1\nEOF", "cat <<EOF > %s\n$V > q2\nEOF"),
    *("bash -c 'echo > q3'; echo > %s", "echo '> q4' > %s", 'eval "echo > %s"'),
    *("env A=1 timeout 9 tee %s < /dev/null", "echo %s | xargs -n1 tee < /dev/null"),
    *("true", "V=v1", "W=w1 V=v2", "unset W", "V+=z", "V=${V%.u}.u"),
    *("cd d", "cd ..", "cd d && cd - > /dev/null", "cd d2 || exit", "pushd d > /dev/null && popd > /dev/null"),
    *('set -- p1 p2; echo x > "$1"', 'for V in v3 d/v4; do echo x > "$V"; done'),
    'while read -r V; do echo x > "$V"; done <<< v5',
]
COMPOUND = [
    *("(%s\n)", "{ %s\n}", "x=$(%s\n)", "cat <(%s\n) > /dev/null", "{ %s\n} | cat", "for i in 1 2; do %s\ndone"),
    *("if true; then %s\nelse %s\nfi", "if false; then %s\nelse %s\nfi", "case x in x) %s\n;; *) %s\n;; esac"),
    *("g() { %s\n}; g", "g() { %s\n}; g p; %s", "%s\ntrue && V=v6", "bash <<'EOS'\necho > q5\nEOS\n%s"),
]


def program(chance: random.Random, depth: int) -> str:
    return "\n".join(statement(chance, depth) for _ in range(chance.randint(1, 3)))


def statement(chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.5:
        return chance.choice(SIMPLE).replace("%s", chance.choice(PLACES))
    first, *rest = chance.choice(COMPOUND).split("%s")
    return first + "".join(program(chance, depth - 1) + piece for piece in rest)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize("seed", range(60))
def test_bash_writes_no_file_that_was_not_named(seed: int, tmp_path: Path) -> None:
    command = "V=v0; W=w0\n" + program(random.Random(seed), 3)
    here, home = tmp_path / "r", tmp_path / "h"
    for folder in (home, here / "d", here / "d2"):
        folder.mkdir(parents=True)
    found = writes(command, str(here), str(home))
    subprocess.run(
        ["bash", "-c", command],
        cwd=here,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "PWD": str(here)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )
    written = {str(path) for path in tmp_path.rglob("*") if path.is_file()}
    named = {os.path.normpath(here / target.path) for target in found.targets}
    assert found.unknown or written <= named, command


TOKENS = st.sampled_from(
    [
        *("echo tee cd f $F F= ${F:- $( ` ' \" \\ ; && || | ( ) { } > >> < <<< * ~ & # ü".split(" ")),
        *("if then fi for in do done case esac eval xargs apply_patch".split(" ")),
        *(" ", " ", "\n", "<<EOF\n", "\nEOF\n", "bash -c ", "*** Begin Patch\n*** Delete File: x\n", "\0", "\udcff"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(TOKENS, max_size=25).map("".join))
@example("")
def test_whatever_is_typed_is_read_without_complaint(command: str) -> None:
    found = writes(command, "/repo", HOME)
    assert all(target.path for target in [*found.targets, *found.patch_targets])
