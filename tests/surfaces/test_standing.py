"""`clearway service`: every file and command is shown before it is written, what is written is what was shown, and it
goes again. The system's own programs are stood in for by scripts that write down what they were asked.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.surfaces.conftest import Terminal

from clearway.setup import service_units


@pytest.fixture
def asked(tmp_path: Path, environ: dict[str, str]) -> Path:
    """What systemctl was asked, in a file; it says that everything is active."""
    folder, said = tmp_path / "programs", tmp_path / "asked"
    folder.mkdir()
    program = folder / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {said}\necho active\n')
    program.chmod(0o755)
    environ["PATH"] = f"{folder}:{environ['PATH']}"
    environ.pop("WSL_DISTRO_NAME", None)
    return said


def test_a_service_is_shown_then_written_then_gone_without_a_trace(
    terminal: Terminal,
    asked: Path,
    environ: dict[str, str],
) -> None:
    person = Path(environ["HOME"])
    shown = terminal("service", "install", "host", "--dry-run").out
    assert "ExecStart=" in shown and "enable clearway-host.service" in shown and "Nothing was changed." in shown
    assert not list(person.iterdir()) and not asked.exists()

    assert "clearway-host is installed." in terminal("service", "install", "host").out
    unit = person / ".config/systemd/user/clearway-host.service"
    assert unit.read_text() in shown + "\n"
    assert asked.read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable clearway-host.service",
        "--user restart clearway-host.service",
    ]
    assert "as it would be now" in terminal("service", "install", "host").out
    assert terminal("--json", "service", "status").json["services"] == [
        {"service": "clearway-host", "state": "running"}
    ]

    assert "clearway-host is removed." in terminal("service", "remove", "host").out
    assert asked.read_text().splitlines()[-2:] == ["--user disable --now clearway-host.service", "--user daemon-reload"]
    assert not [path for path in person.rglob("*") if path.is_file()]
    assert terminal("service", "remove", "host").code == "INVALID_ARGUMENT"


def test_what_failed_to_start_is_started_by_installing_it_again(
    terminal: Terminal, asked: Path, tmp_path: Path
) -> None:
    """The way out of a failed installation is the same command once more."""
    program = tmp_path / "programs" / "systemctl"
    works = program.read_text()
    program.write_text(f'#!/bin/sh\necho "$@" >> {asked}\necho no bus >&2\nexit 1\n')
    assert "STORAGE_CONFIGURATION" in terminal("service", "install", "host").err
    assert "STORAGE_CONFIGURATION" in terminal("service", "install", "host").err, "it does not say that all is well"
    program.write_text(works.replace("echo active", '[ "$2" != is-active ] || { echo inactive; exit 3; }'))
    assert "clearway-host is installed." in terminal("service", "install", "host").out
    assert asked.read_text().splitlines()[-1] == "--user restart clearway-host.service"


def test_a_home_has_its_own_services_and_not_those_of_a_longer_name(
    terminal: Terminal, asked: Path, environ: dict[str, str]
) -> None:
    other = environ["CLEARWAY_HOME"] + "-of-another"
    assert terminal("service", "install", "host", CLEARWAY_HOME=other).status == 0 and asked.exists()
    assert terminal("--json", "service", "status").json["services"] == []
    assert "clearway-host" not in terminal("uninstall").out


def test_a_worker_is_of_one_agent_and_one_repository(terminal: Terminal, asked: Path) -> None:
    assert asked.name == "asked"
    assert terminal("service", "install", "worker").code == "INVALID_ARGUMENT"
    for agent in ("codex", "claude"):
        assert terminal("service", "install", "worker", "--agent", agent, "--from", "tasks").status == 0
    two = terminal("--json", "service", "status").json["services"]
    assert [unit["service"].rsplit("-", 1)[0] for unit in two] == ["clearway-worker-claude", "clearway-worker-codex"]
    assert terminal("service", "remove", "worker", "--agent", "codex").status == 0
    left = terminal("--json", "service", "status").json["services"]
    assert len(left) == 1 and "claude" in left[0]["service"]
    assert terminal("service", "remove", "all").status == 0
    assert terminal("--json", "service", "status").json["services"] == []


def test_a_file_of_somebody_else_is_neither_replaced_nor_removed(
    terminal: Terminal,
    asked: Path,
    environ: dict[str, str],
) -> None:
    theirs = Path(environ["HOME"]) / ".config/systemd/user/clearway-host.service"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("[Service]\nExecStart=/bin/true\n")
    assert terminal("service", "install", "host").code == "FORBIDDEN"
    assert terminal("service", "remove", "host").code == "INVALID_ARGUMENT"
    assert theirs.read_text() == "[Service]\nExecStart=/bin/true\n"
    assert not asked.exists()


@pytest.mark.parametrize("platform", service_units.PLATFORMS)
def test_another_system_is_only_shown_what_it_would_be_given(
    terminal: Terminal,
    asked: Path,
    environ: dict[str, str],
    platform: str,
) -> None:
    shown = terminal("service", "install", "notify", "--platform", platform)
    assert "Nothing was changed." in shown.out and "clearway" in shown.out
    assert not list(Path(environ["HOME"]).iterdir()) and not asked.exists()


def test_a_service_is_told_its_home_and_the_secrets_of_the_environment_file(
    terminal: Terminal,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = Path(environ["CLEARWAY_HOME"])
    home.mkdir(exist_ok=True)
    file = home / "environment"
    file.write_text("# for notify\nTELEGRAM_BOT_TOKEN='12:ab'\nexport OPENROUTER_API_KEY=k=1\n\n")
    file.chmod(0o600)
    begun: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda program, words, env: begun.append((words, env)))
    words = ("service", "run", "--home", str(home), "worker", "--", "--agent", "codex")
    terminal(*words)
    [(command, told)] = begun
    assert command[1:] == ["worker", "run", "--agent", "codex"]
    assert (told["TELEGRAM_BOT_TOKEN"], told["OPENROUTER_API_KEY"]) == ("12:ab", "k=1")
    assert told["CLEARWAY_HOME"] == str(home)
    file.chmod(file.stat().st_mode | stat.S_IROTH)
    assert terminal(*words).code == "STORAGE_CONFIGURATION"


def test_who_leaves_takes_the_services_along(terminal: Terminal, asked: Path, environ: dict[str, str]) -> None:
    terminal("service", "install", "host")
    assert "Removes the service clearway-host" in terminal("uninstall").out
    assert terminal("--json", "uninstall", "--write").json["services"] == ["clearway-host"]
    assert not [path for path in Path(environ["HOME"]).rglob("*") if path.is_file()]
    assert "--user disable --now clearway-host.service" in asked.read_text()
