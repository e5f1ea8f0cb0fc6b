"""Which of the files that a command writes are worth a lease: those in a repository that somebody could want to edit.

What a command leaves outside of every repository, in a folder of tools and products, or where git ignores it, is
guarded while another holds it and claimed by nobody.
"""

from __future__ import annotations

from clearway import children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.repository import Place

NEVER = frozenset({".git", "node_modules", "__pycache__", ".venv", "dist", "build", "target"})
GIT_WAIT_MS = 300
ANSWER_BYTES_MAX = 4 * 1_048_576


def passing(places: list[Place], environ: Mapping[str, str]) -> set[str]:
    """The absolute paths of those that nobody needs to hold."""
    found: set[str] = set()
    asked: dict[str, list[Place]] = {}
    for place in places:
        if place.repository is None or not NEVER.isdisjoint(place.shown.split("/")):
            found.add(place.absolute)
        elif place.repository.git and place.shown != ".":
            asked.setdefault(place.repository.root, []).append(place)
    for root, here in asked.items():
        ignored = _ignored(root, [place.shown for place in here], environ)
        found |= {place.absolute for place in here if place.shown in ignored}
    return found


def _ignored(root: str, paths: list[str], environ: Mapping[str, str]) -> frozenset[str]:
    """What git ignores among these. It is asked without touching its index; if it does not answer, nothing is."""
    told = {name: environ[name] for name in ("PATH", "HOME") if name in environ}
    told |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    given = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    try:
        printed = children.run(
            "git",
            ["-C", root, "check-ignore", "-z", "--stdin"],
            told,
            given=given,
            wait_ms=GIT_WAIT_MS,
            bytes_max=ANSWER_BYTES_MAX,
        )
    except OSError:
        return frozenset()
    return frozenset(printed.text.decode("utf-8", "surrogateescape").split("\0"))
