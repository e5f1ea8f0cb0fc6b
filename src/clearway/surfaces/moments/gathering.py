"""What was observed of a session, for an automatic checkpoint: its trail, and what git says of the files it changed.

All of it is gathered before the transaction. Git is asked once a repository, without locks, and not waited for longer
than the client would allow; without its answer the checkpoint says less.
"""

from __future__ import annotations

import os

from clearway import children, repository
from clearway.limits import GIT_WAIT_MS
from clearway.trail import CHANGED
from clearway.work import checkpoints
from clearway.work.checkpoints import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.room import Room
    from clearway.surfaces.moments import Visit
    from clearway.trail import Step

_BYTES_MAX = 262_144
_STEPS_MAX = 200
_ROOTS_MAX = 3  # repositories that are asked
# Neither locks, nor programs that a repository's settings name, nor colours.
_GIT = ("-c", "core.fsmonitor=false", "--no-pager")
_DIFF = (
    "diff",
    "--numstat",
    "-z",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules",
    "HEAD",
    "--",
)


def keep(visit: Visit, why: str) -> None:
    """Save a checkpoint in every room in which the session works on something."""
    steps = visit.trail.steps(visit.key)[-_STEPS_MAX:]
    commands = [_command(step) for step in reversed(steps) if step.kind != CHANGED]
    touched = _by_root(steps)
    for room in visit.all_rooms():
        facts = _facts(visit, room, touched, commands)
        room.run(lambda tx, facts=facts: checkpoints.save(tx, facts, why), caller=visit.caller, durable=False)


def _facts(visit: Visit, room: Room, touched: dict[str, list[str]], commands: list[str]) -> Facts:
    """What belongs into this room: the files of its repositories."""
    changed: list[str] = []
    others = 0
    for root, paths in touched.items():
        here = repository.holding(root)
        if here is None or visit.rooms.project_of(here) != room.project:
            continue
        counts = _numstat(root, visit.rooms.settings.environ)
        changed += [_counted(path, counts) for path in paths]
        others += len(counts.keys() - set(paths))
    return Facts(changed, others, list(dict.fromkeys(commands)))


def _by_root(steps: list[Step]) -> dict[str, list[str]]:
    """The changed files of each repository, as it spells them, the last first."""
    found: dict[str, dict[str, None]] = {}
    for path in dict.fromkeys(step.what for step in reversed(steps) if step.kind == CHANGED):
        here = repository.holding(os.path.realpath(path))
        if here is not None:
            found.setdefault(here.root, {})[os.path.relpath(os.path.realpath(path), here.root)] = None
    return {root: list(paths) for root, paths in list(found.items())[:_ROOTS_MAX]}


def _counted(path: str, counts: dict[str, str]) -> str:
    return f"{path} {counts[path]}" if path in counts else path


def _numstat(root: str, environ: Mapping[str, str]) -> dict[str, str]:
    """How many lines came and went in each file that differs from the last commit: `+3 -1`."""
    asked = {name: environ[name] for name in ("PATH", "HOME") if name in environ}
    asked |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        printed = children.run("git", ["-C", root, *_GIT, *_DIFF], asked, wait_ms=GIT_WAIT_MS, bytes_max=_BYTES_MAX)
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in printed.text.decode("utf-8", "replace").split("\0"):
        added, _, rest = line.partition("\t")
        removed, _, path = rest.partition("\t")
        if path:
            found[path] = f"+{added} -{removed}" if added != "-" else "(binary)"
    return found


def _command(step: Step) -> str:
    return step.what if step.status is None else f"{step.what} (exit {step.status})"
