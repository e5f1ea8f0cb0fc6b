"""The registered command: it finds the product wherever that is, and never locks anybody out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import clearway
from clearway.setup.registered import (
    Binding,
    Product,
    boot,
    hook_command,
    installed_product,
    is_mcp_entry,
    mcp_entry,
    read_hook_command,
)

# Claude Code uses the system shell, Codex the person's login shell.
SHELLS = [["/bin/sh", "-c"], ["bash", "-c"], ["bash", "-lc"], ["zsh", "-lc"], ["fish", "-lc"]]
STAND_IN = """
import os, sys
def main(client):
    baked = [os.environ.get("CLEARWAY_" + name, "-") for name in ("HOME", "AGENT", "FAIL_CLOSED")]
    sys.stdout.write("|".join([client, sys.executable, *baked, sys.stdin.read()]))
    sys.stdout.flush()
    os._exit(7)
"""


@pytest.fixture(params=SHELLS, ids=lambda shell: " ".join(shell))
def shell(request: pytest.FixtureRequest) -> list[str]:
    if not shutil.which(request.param[0]):
        pytest.skip(f"{request.param[0]} is not installed")
    return request.param


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package folder with a stand-in for the hook module, at a path that needs quoting."""
    folder = tmp_path / 'it\'s "site" $HOME packages'
    surfaces = folder / "clearway" / "surfaces"
    surfaces.mkdir(parents=True)
    (folder / "clearway" / "__init__.py").touch()
    (surfaces / "__init__.py").touch()
    (surfaces / "faststep.py").write_text(STAND_IN)
    return folder


def run(shell: list[str], command: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "CLEARWAY_HOME": "/other"}
    return subprocess.run([*shell, command], input='{"x": 1}', env=environ, capture_output=True, text=True)


def test_the_command_runs_the_hook_module_with_what_was_baked_in(shell: list[str], folder: Path) -> None:
    product = Product(sys.executable, (str(folder),))
    ended = run(shell, hook_command("claude", Binding("/the home/o'f it", "o'brien \\n $x", True), product))
    assert ended.stdout == f"claude|{sys.executable}|/the home/o'f it|o'brien \\n $x|1|" + '{"x": 1}'
    assert (ended.returncode, ended.stderr) == (7, "")


def test_a_venv_may_stand_at_a_path_with_a_space_and_a_quote(shell: list[str], folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "dev's own" / "venv é"
    venv.create(place, with_pip=False, symlinks=True)
    interpreter = str(place / "bin" / "python")
    ended = run(shell, hook_command("codex", Binding("/h"), Product(interpreter, (str(folder),))))
    assert (ended.returncode, ended.stdout) == (7, f"codex|{interpreter}|/h|-|-|" + '{"x": 1}')


def test_no_quote_is_quoted_by_a_backslash() -> None:
    """fish reads a backslash inside single quotes by rules of its own; it may not be installed where this runs."""
    command = hook_command("codex", Binding("/o'brien's \"home\""), Product("/o'b/python", ("/o'b \"lib\\new\nline",)))
    assert "\\'" not in command
    assert "\\\\" not in command


def test_a_missing_interpreter_leaves_the_guard_open(shell: list[str], folder: Path, tmp_path: Path) -> None:
    """C19."""
    ended = run(shell, hook_command("claude", Binding("/h"), Product(str(tmp_path / "gone/python"), (str(folder),))))
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == "clearway: not installed, guard open\n"


def test_a_missing_package_leaves_the_guard_open(shell: list[str], folder: Path) -> None:
    """C19."""
    shutil.rmtree(folder)
    ended = run(shell, hook_command("claude", Binding("/h", fail_closed=True), Product(sys.executable, (str(folder),))))
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == "clearway: ModuleNotFoundError(\"No module named 'clearway'\"), guard open\n"


@pytest.mark.parametrize(
    "text", ["def main(:", "import nothing_of_that_name", "1 / 0", "raise Exception('two\\nlines')"]
)
def test_a_package_that_cannot_be_imported_leaves_the_guard_open(folder: Path, text: str) -> None:
    """C19."""
    (folder / "clearway" / "surfaces" / "faststep.py").write_text(text)
    ended = run(["/bin/sh", "-c"], hook_command("claude", Binding("/h"), Product(sys.executable, (str(folder),))))
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr.startswith("clearway: ")
    assert ended.stderr.endswith("guard open\n")
    assert ended.stderr.count("\n") == 1


def test_what_fails_after_the_import_is_the_modules_own(folder: Path) -> None:
    (folder / "clearway" / "surfaces" / "faststep.py").write_text("def main(client): raise KeyError(client)")
    ended = run(["/bin/sh", "-c"], hook_command("claude", Binding("/h"), Product(sys.executable, (str(folder),))))
    assert ended.returncode == 1
    assert "guard open" not in ended.stderr


def test_a_module_beside_the_package_does_not_stand_in_for_a_standard_one(folder: Path) -> None:
    (folder / "stat.py").write_text("raise SystemExit('shadowed')")
    ended = run(["/bin/sh", "-c"], hook_command("claude", Binding("/h"), Product(sys.executable, (str(folder),))))
    assert ended.returncode == 7


def test_the_installed_product_is_found_without_site(tmp_path: Path) -> None:
    """Both the package and its compiled dependency, also where an editable install keeps them apart."""
    product = installed_product()
    assert product.interpreter == os.path.abspath(sys.executable)
    code = f"import sys; sys.path += {list(product.folders)!r}; import apsw, clearway.errors"
    subprocess.run([product.interpreter, "-I", "-S", "-c", code], cwd=tmp_path, check=True)


AWKWARD = ["/a", "/a b/it's", '/x"y\\z', "/é😀/\n\t'\"", "\\'", "$(exit 9)`exit 9`", "exec", "/\udcff"]


@pytest.mark.parametrize("text", AWKWARD)
def test_a_command_of_ours_is_read_back_exactly(text: str) -> None:
    registered = read_hook_command(hook_command("codex", Binding(text, text, True), Product(text, (text, text))))
    assert registered is not None
    assert (registered.client, registered.interpreter) == ("codex", text)
    assert registered.environment == {"CLEARWAY_HOME": text, "CLEARWAY_AGENT": text, "CLEARWAY_FAIL_CLOSED": "1"}


OURS = hook_command("claude", Binding("/h"), Product("/opt/clearway/bin/python", ("/opt/clearway/lib",)))


@pytest.mark.parametrize(
    "command",
    [
        "",
        None,
        5,
        "'",
        "/home/me/clearway/lint.sh",
        "clearway hook claude",
        "grep 'clearway: not installed, guard open' log",
        OURS + " && /home/me/notify",
        "/home/me/before; " + OURS,
        "nice " + OURS,
        OURS.replace("clearway.surfaces.faststep", "clearway_fork.faststep"),
        OURS.replace("exec /opt/clearway/bin/python", "exec /home/me/python"),
        OURS.replace("CLEARWAY_HOME=", "PYTHONPATH="),
    ],
)
def test_a_command_of_somebody_else_is_not_taken_for_ours(command: object) -> None:
    """P61."""
    assert read_hook_command(command) is None


def test_a_server_is_ours_by_what_it_starts_and_not_by_its_name() -> None:
    assert is_mcp_entry(mcp_entry(Binding("/h")))
    assert is_mcp_entry({"command": "clearway", "args": ["mcp", "--tools", "full"]})
    for entry in (None, [], {}, {"command": "node", "args": ["mcp"]}, {"command": "clearway", "args": ["serve"]}):
        assert not is_mcp_entry(entry)


@pytest.mark.parametrize("closed", ["", "1"])
@pytest.mark.parametrize(
    "file",
    [
        *("wire.py", "errors.py", "room.py", "db/sqlite.py", "crew/leases.py", "crew/leases.sql", "guard/quiet.py"),
        *("guard/verdict.py", "surfaces/faststep.py", "surfaces/hooks.py", "surfaces/clients/claude.py"),
    ],
)
def test_a_package_that_is_half_replaced_is_one_line_and_no_lockout(
    tmp_path: Path, repo: Path, file: str, closed: str
) -> None:
    """C19. Whoever chose closed may be refused, in the client's own words; nobody is at the end of a turn."""
    package = Path(clearway.__file__).parent
    shutil.copytree(package, tmp_path / "lib" / "clearway", ignore=shutil.ignore_patterns("__pycache__"))
    product = Product(sys.executable, (str(tmp_path / "lib"), *installed_product().folders[1:]))
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    environ |= {"CLEARWAY_HOME": str(tmp_path / "state"), "CLEARWAY_FAIL_CLOSED": closed}
    payload = {"session_id": "s", "cwd": str(repo), "tool_name": "Edit", "tool_input": {"file_path": "held.txt"}}
    for text in (None, "def main(:\n"):
        (tmp_path / "lib" / "clearway" / file).unlink(missing_ok=True)
        if text is not None:
            (tmp_path / "lib" / "clearway" / file).write_text(text)
        for event in ("PreToolUse", "Stop"):
            ended = subprocess.run(
                [sys.executable, "-I", "-S", "-c", boot(product), "claude"],
                input=json.dumps(payload | {"hook_event_name": event}),
                env=environ,
                capture_output=True,
                text=True,
            )
            assert (ended.returncode, ended.stderr.count("\n") <= 1) == (0, True), ended.stderr
            if event == "PreToolUse":
                assert "guard open" in ended.stderr or (closed and '"deny"' in ended.stdout), ended
            else:
                assert not ended.stdout


def test_a_hook_that_is_asked_nothing_says_so_in_one_line(tmp_path: Path) -> None:
    product = installed_product()
    command = hook_command("claude", Binding(str(tmp_path / "state")), product)
    ended = subprocess.run(["/bin/sh", "-c", f"{command} <&-"], capture_output=True, text=True, cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (0, "", 1), ended.stderr
    assert "guard open (INVALID_ARGUMENT" in ended.stderr
