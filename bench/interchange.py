"""What 50 MB of another tracker's issues cost: looked at, imported, imported again, exported; time and memory.

Each is one run of the command line, so its start is in the figure; the file has about as many relations and remarks as
real ones have. Time is that of the processor and depends on the machine, memory does not.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from bench.figures import Figure, at_most

ISSUES = 48_000
MIB_MAX = 512.0
SECONDS_MAX = 60.0
WORDS = "claim lease token cursor engine index writer reader room path beat term fence note task".split()
PROGRAM = (sys.executable, "-m", "clearway.surfaces.cli")


def figures(rounds: int) -> list[Figure]:
    del rounds  # once: it takes minutes where others work, too
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file, tree = Path(folder, "beads.jsonl"), Path(folder, "tree")
        tree.mkdir()
        with file.open("w", encoding="utf-8") as opened:
            _write(opened)
        size = f"{file.stat().st_size / 1_000_000:.0f} MB"
        environ = {**os.environ, "CLEARWAY_HOME": str(Path(folder, "home")), "CLEARWAY_HOST": "off"}
        _run(tree, environ, "init")
        shown: list[Figure] = []
        for name, words in (
            (f"import of {size}, looked at", ("import", "beads", str(file), "--dry-run")),
            (f"import of {size}", ("import", "beads", str(file))),
            (f"import of {size}, nothing new", ("import", "beads", str(file))),
            ("its export", ("project", "export", "--output", "out.jsonl")),
        ):
            seconds, mib = _run(tree, environ, *words)
            shown.append(at_most(name, seconds, SECONDS_MAX, "s", note=f"processor time, {ISSUES:,} issues"))
            shown.append(at_most(f"{name}, memory", mib, MIB_MAX, "MiB"))
        return shown


def _run(tree: Path, environ: dict[str, str], *words: str) -> tuple[float, float]:
    """Seconds of processor time, which others at work do not lengthen much, and the most memory that it had (MiB)."""
    done = subprocess.Popen([*PROGRAM, *words], cwd=tree, env=environ, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / (1_024 if sys.platform != "darwin" else 1_048_576)


def _write(file: IO[str]) -> None:
    chance = random.Random(3)
    when = "2026-11-01T08:00:00Z"
    for place in range(ISSUES):
        name = f"bd-{place}"
        issue = {
            "id": name,
            "title": f"Issue {place} {_text(chance, 5)}",
            "description": _text(chance, 140),
            "status": "open",
            "priority": place % 5,
            "issue_type": "task",
            "labels": [f"area-{place % 20}"],
            "created_at": when,
            "updated_at": when,
        }
        if place and place % 3 == 0:
            other = f"bd-{chance.randrange(place)}"
            issue["dependencies"] = [{"issue_id": name, "depends_on_id": other, "type": "blocks", "created_at": when}]
        if place % 4 == 0:
            issue["comments"] = [{"id": "1", "author": "ann", "text": _text(chance, 20), "created_at": when}]
        file.write(json.dumps(issue) + "\n")


def _text(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))
