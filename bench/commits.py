"""What a commit costs more with our git hooks, beside the interpreter and the one question to git that it needs."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence

from bench.figures import Figure, over_bare
from bench.spawn import Case, Ended, measure, succeeds
from bench.world import World, world
from clearway.catalog import OPERATIONS
from clearway.config import Caller, Settings
from clearway.limits import PATHS_PER_CLAIM_MAX
from clearway.rooms import Rooms

HOOK_MS_MAX = 60
LEASES = 10_000
STAGED = 1_000
_QUESTION = "git diff-index --cached -z --name-only --no-renames HEAD -- > /dev/null"


def figures(rounds: int) -> list[Figure]:
    with world() as here:
        prepared(here)
        agent = {"CLEARWAY_AGENT": "committer", "CLEARWAY_SESSION": "committer-1"}
        cases = [
            case(here, "bare", f"{_QUESTION}; exec {shlex.quote(sys.executable)} -I -S -c pass", {}),
            case(here, "passes", "exec .git/hooks/pre-commit", agent),
            case(here, "person", "exec .git/hooks/pre-commit", {}),
        ]
        timings = measure(cases, rounds)
        hold(here, LEASES)
        (here.repository / "held-0.py").write_text("x\n")
        git(here, "add", "held-0.py")
        refused = [*cases[:1], case(here, "refused", "exec .git/hooks/pre-commit", agent, refuses)]
        later = measure(refused, rounds)
    many = f"{STAGED:,} paths staged"
    return [
        over_bare(f"pre-commit, agent, {many}", timings["passes"].median, timings["bare"].median, HOOK_MS_MAX),
        over_bare(f"pre-commit, person, {many}", timings["person"].median, timings["bare"].median, HOOK_MS_MAX),
        over_bare(
            f"pre-commit, refusal, {LEASES:,} foreign leases",
            later["refused"].median,
            later["bare"].median,
            HOOK_MS_MAX,
        ),
    ]


def case(here: World, name: str, line: str, more: dict[str, str], expect: Callable[[Ended], bool] = succeeds) -> Case:
    command = ["/bin/sh", "-c", f"cd {shlex.quote(str(here.repository))} && {line}"]
    return Case(name, command, here.environ | more, expect=expect)


def refuses(ended: Ended) -> bool:
    return ended.status == 1


def prepared(here: World) -> None:
    """A thousand staged files that nobody holds, and the hooks."""
    git(here, "commit", "--quiet", "--allow-empty", "--message", "Begin")
    here.tell(here.cli("hooks", "git-hooks", "install"))
    for place in range(STAGED):
        folder = here.repository / f"part-{place % 20}"
        folder.mkdir(exist_ok=True)
        (folder / f"file-{place}.py").write_text("x\n")
    git(here, "add", "--all")


def hold(here: World, count: int) -> None:
    rooms = Rooms(Settings(here.environ))
    caller = Caller("holder", cwd=str(here.repository), host=rooms.liveness.host)
    for first in range(0, count, PATHS_PER_CLAIM_MAX):
        names = [f"held-{place}.py" for place in range(first, min(first + PATHS_PER_CLAIM_MAX, count))]
        rooms.ask(OPERATIONS["claim_paths"], {"paths": names}, caller)
    rooms.close()


def git(here: World, *words: str) -> None:
    author: Sequence[str] = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    subprocess.run(["git", "-C", str(here.repository), *author, *words], env=here.environ, check=True)
