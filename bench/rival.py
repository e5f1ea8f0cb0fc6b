"""The published agent-lease-mcp 0.2.0 in an environment of its own, run beside us on the same events.

It is installed once, into the user's cache and never into this repository, and only when somebody asks for it. It has
one name an agent and no sessions, so each of our clients is one of its agents.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.spawn import Case, Ended, succeeds
from bench.world import World

RELEASE = "agent-lease-mcp==0.2.0"
GUARD, CONTEXT = "agent-lease-guard", "agent-lease-context"


def installed() -> Path:
    """The folder of its programs; installed on the first call."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clearway-bench"
    environment = cache / RELEASE.replace("==", "-")
    programs = environment / "bin"
    if not (programs / GUARD).exists():
        print(f"installing {RELEASE} into {environment} ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
        pip = [str(programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", RELEASE], check=True)
        subprocess.run([str(programs / "python"), "-m", "compileall", "-q", str(environment / "lib")], check=False)
    return programs


def case(
    here: World,
    name: str,
    agent: str,
    event: Callable[[int], dict[str, Any]],
    expect: Callable[[Ended], bool] = succeeds,
    program: str = GUARD,
) -> Case:
    """One of its hooks as it registers them, given one event a round."""
    state = here.home / "rival"
    state.mkdir(exist_ok=True)
    environ = {**here.environ, "AGENT_NAME": agent, "AGENT_LEASE_DB": str(state / "room.db")}
    common = {"session_id": f"{agent}-session", "cwd": str(here.repository), "permission_mode": "acceptEdits"}

    def payload(place: int) -> bytes:
        return json.dumps(common | event(place)).encode()

    return Case(f"rival {name}", [str(installed() / program)], environ, payload, expect)


def blocks(ended: Ended) -> bool:
    return ended.status == 2 and bool(ended.errors)
