"""Package tools: which of a project's own files each of their words may change.

What is installed lies in folders that nobody edits. The project's files are those of the nearest folder upwards that
has one, as the tools look for them.
"""

from __future__ import annotations

import os

from clearway.guard.goals import edits
from clearway.guard.shellwords import Value
from clearway.guard.writers import split_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.goals import Goals
    from clearway.guard.writers import Run

_UP_MAX = 32


class Tool:
    """Its `manifest`, the files it locks versions in, the words that change the `lock` alone, those that change `both`,
    and the options that name the project's folder."""

    __slots__ = ("both", "folder", "lock", "locks", "manifest")

    def __init__(self, manifest: str, locks: str, *, lock: str, both: str, folder: str = "") -> None:
        self.manifest = manifest
        self.locks = tuple(locks.split())
        self.lock = frozenset(lock.split())
        self.both = frozenset(both.split())
        self.folder = frozenset(folder.split())


TOOLS: dict[str, Tool] = {
    "bun": Tool("package.json", "bun.lock bun.lockb", lock="install i", both="add a remove rm update", folder="--cwd"),
    "bundle": Tool("Gemfile", "Gemfile.lock", lock="install update lock", both="add remove"),
    "cargo": Tool("Cargo.toml", "Cargo.lock", lock="update generate-lockfile", both="add remove rm"),
    "composer": Tool(
        "composer.json", "composer.lock", lock="update install", both="require remove", folder="-d --working-dir"
    ),
    "dotnet": Tool("*.csproj", "packages.lock.json", lock="", both="add remove"),
    "go": Tool("go.mod", "go.sum", lock="", both="get mod", folder="-C"),
    "npm": Tool(
        "package.json",
        "package-lock.json",
        lock="install i shrinkwrap dedupe update up audit",
        both="uninstall un remove rm r version pkg add",
        folder="--prefix -C",
    ),
    "pdm": Tool(
        "pyproject.toml", "pdm.lock", lock="install lock sync", both="add remove update", folder="-p --project"
    ),
    "pip-compile": Tool("requirements.in", "requirements.txt", lock="", both=""),
    "pipenv": Tool("Pipfile", "Pipfile.lock", lock="lock sync", both="install uninstall update"),
    "pixi": Tool("pixi.toml", "pixi.lock", lock="install update lock", both="add remove"),
    "pnpm": Tool(
        "package.json", "pnpm-lock.yaml", lock="install i dedupe", both="add remove rm update up", folder="-C --dir"
    ),
    "poetry": Tool(
        "pyproject.toml",
        "poetry.lock",
        lock="install lock update",
        both="add remove version",
        folder="-C -P --directory",
    ),
    "uv": Tool(
        "pyproject.toml", "uv.lock", lock="lock sync", both="add remove version", folder="--directory --project"
    ),
    "yarn": Tool("package.json", "yarn.lock", lock="install", both="add remove up upgrade version", folder="--cwd"),
}

# With operands, these words also name what is to be added.
_ADDS = {("npm", "install"), ("npm", "i"), ("pnpm", "install"), ("pnpm", "i"), ("bun", "install"), ("bun", "i")}
_DRY = frozenset({"--dry-run", "--frozen-lockfile", "--frozen", "--locked", "--check", "--no-save", "-g", "--global"})


def _packages(name: str) -> Callable[[Run], Goals]:
    return lambda run: _changed(run, name, TOOLS[name])


def _changed(run: Run, name: str, tool: Tool) -> Goals:
    options, words = split_options(run.arguments, tool.folder | {"-o", "--output-file"}, anywhere=True)
    given = {text for text, _ in options}
    if name == "pip-compile":
        named = next((value for text, value in options if text in {"-o", "--output-file"}), None)
        return edits([named or Value(tool.locks)])
    verb = (words[0].text or "") if words else "install" if name == "yarn" else ""
    more = words[1:]
    both = verb in tool.both or ((name, verb) in _ADDS and bool(more))
    if name == "go" and verb == "mod":
        both = bool(more) and more[0].text in {"tidy", "edit", "init", "vendor"}
    if name == "npm" and ((verb == "pkg" and more and more[0].text == "get") or (verb == "audit" and not more)):
        return []
    if name == "dotnet" and "package" not in [word.text for word in more]:
        return []
    if not (both or verb in tool.lock) or not _DRY.isdisjoint(given):
        return []
    folder = next((value for text, value in options if text in tool.folder and value is not None), None)
    names = [*((tool.manifest,) if both else ()), *tool.locks]
    return edits(_project(run, folder, tool.manifest, names))


def _project(run: Run, folder: Value | None, manifest: str, names: list[str]) -> list[Value]:
    """These files in the folder of the project, spelled from here where that is the same."""
    here = run.scope.cwd.texts[0] if run.scope.cwd.texts else ""
    start = os.path.normpath(os.path.join(here, folder.text or "")) if folder is not None else here
    top = start
    for _ in range(_UP_MAX):
        if not top or os.path.lexists(os.path.join(top, manifest)) or top == os.path.dirname(top):
            break
        top = os.path.dirname(top)
    if not os.path.lexists(os.path.join(top, manifest)):
        top = start
    known = run.scope.cwd.known and (folder is None or folder.known)
    return [Value((name if top == here else os.path.join(top, name),), known) for name in names]


def _pip(run: Run) -> Goals:
    """`pip install -t DIR` fills a folder that somebody may work in."""
    options, words = split_options(run.arguments, frozenset("-t --target -r -c -i -e".split()), anywhere=True)
    if not words or words[0].text != "install":
        return []
    return edits(value for text, value in options if text in {"-t", "--target"} and value is not None)


def _several(*tables: Callable[[Run], Goals]) -> Callable[[Run], Goals]:
    return lambda run: [goal for table in tables for goal in table(run)]


def _shaped(name: str) -> Callable[[Run], Goals]:
    def goals(run: Run) -> Goals:
        from clearway.guard.formatters import ALSO

        return ALSO[name](run)

    return goals


def _go_build(run: Run) -> Goals:
    words = run.arguments
    if not words or words[0].text not in {"build", "test"}:
        return []
    options = split_options(words[1:], frozenset({"-o", "-coverprofile", "-tags", "-run"}), anywhere=True)[0]
    return edits(value for text, value in options if text in {"-o", "-coverprofile"} and value is not None)


TABLE: dict[str, Callable[[Run], Goals]] = {
    **{name: _packages(name) for name in TOOLS},
    "cargo": _several(_packages("cargo"), _shaped("cargo")),
    "go": _several(_packages("go"), _shaped("go"), _go_build),
    "pip": _pip,
    "pip3": _pip,
}
