"""Services: what each system is given, compared with files that a person has read.

CLEARWAY_WRITE_GOLDEN=1 writes those anew. What is done with it from the command line stands in
tests/surfaces/test_standing.py.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from clearway.setup import service_units, services
from clearway.setup.service_units import Distribution, Standing

GOLDEN = Path(__file__).parent / "golden"
HOST = Standing(
    "host", services.KINDS["host"], "/opt/clearway/bin/clearway", ("service", "run"), "/", "/home/ada/state"
)
WORKER = Standing(
    name="worker-codex-H0ZX3V",
    about="does tasks & issues, 100 % of them",
    program="/opt/my tools/clearway",
    words=(
        "service",
        "run",
        "--home",
        "/home/ada/my state",
        "worker",
        "--",
        "--command",
        'run "$TASK" 5%',
        "C:\\dir\\",
    ),
    folder="/home/ada/my shop",
    home="/home/ada/my state",
    runs_agents=True,
    variables={"PATH": "/home/ada/.local/bin:/usr/bin", "NOTE": 'a "b" $c %d'},
)
UBUNTU = Distribution("Ubuntu-24.04", "ada")
TEXTS = {
    "host.service": service_units.systemd(HOST),
    "worker.service": service_units.systemd(WORKER),
    "host.plist": service_units.launchd(HOST),
    "worker.plist": service_units.launchd(WORKER),
    "worker.windows.xml": service_units.windows(WORKER, "OFFICE\\ada"),
    "worker.wsl.xml": service_units.wsl(WORKER, "ada", UBUNTU),
    "keep-alive.wsl.xml": service_units.keep_alive("ada", UBUNTU),
}


@pytest.mark.parametrize("name", TEXTS)
def test_each_system_is_given_what_a_person_has_read(name: str) -> None:
    golden = GOLDEN / name
    if os.environ.get("CLEARWAY_WRITE_GOLDEN"):
        golden.write_text(TEXTS[name], encoding="utf-8")
    assert TEXTS[name] == golden.read_text(encoding="utf-8")


def test_a_property_list_says_to_its_readers_what_was_meant() -> None:
    read = plistlib.loads(TEXTS["worker.plist"].encode())
    assert read["ProgramArguments"] == [WORKER.program, *WORKER.words]
    assert read["EnvironmentVariables"] == dict(WORKER.variables)
    assert (read["WorkingDirectory"], read["Umask"], read["KeepAlive"]) == (WORKER.folder, 0o077, True)


@pytest.mark.parametrize("name", [name for name in TEXTS if name.endswith(".xml")])
def test_a_task_says_to_its_readers_what_was_meant(name: str) -> None:
    root = ElementTree.fromstring(TEXTS[name].encode("utf-16"))
    space = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
    assert root.findtext(".//t:RunLevel", namespaces=space) == "LeastPrivilege"
    words = root.findtext(".//t:Arguments", namespaces=space) or ""
    if name.startswith("worker"):
        assert words.endswith('worker -- --command "run \\"$TASK\\" 5%" C:\\dir\\')


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here")
def test_systemd_finds_nothing_wrong_with_a_unit(tmp_path: Path) -> None:
    program = tmp_path / "my tools" / "clearway"
    program.parent.mkdir()
    program.symlink_to("/bin/true")
    for runs_agents in (False, True):
        words = ("run", 'a "b" $c %d')
        unit = Standing("x", "is looked at", str(program), words, str(tmp_path), str(tmp_path), runs_agents)
        file = tmp_path / "clearway-x.service"
        file.write_text(service_units.systemd(unit))
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", str(file)],
            capture_output=True,
            text=True,
            env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "SYSTEMD_LOG_LEVEL": "warning"},
        )
        assert "clearway-x.service" not in done.stdout + done.stderr
