"""The tools of git's MCP servers, as the git command that each of them runs.

They are known by the end of their name, `git_checkout` or `git_reset`, and by the arguments that the usual servers
share. A tool that only looks is none of these.
"""

from __future__ import annotations

import os

from clearway import wire
from clearway.guard.gitglance import GitRun
from clearway.guard.shellwords import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOLDERS = ("repo_path", "repository_path", "repo", "path", "directory", "cwd")
_BRANCHES = ("branch_name", "branch", "target", "commit", "ref", "revision", "source", "upstream")
_FILES = ("files", "paths", "file", "filePath")
_WAYS = ("mode", "action", "operation", "subcommand", "command")
_VERBS = frozenset(
    "add am bisect checkout cherry_pick clean commit merge pull rebase reset restore revert stash submodule switch "
    "worktree".split()
)
_SUBCOMMANDS = frozenset({"bisect", "stash", "submodule", "worktree"})
_WITHOUT_BRANCH = frozenset({"add", "clean", "commit", "pull", "stash", "submodule"})
_ITEMS_MAX = 2_048


def run_of(tool: str, given: object, cwd: str) -> GitRun | None:
    """The git command behind a call of a tool, None if it is none that could change a tree."""
    _, sign, verb = tool.rpartition("git_")
    if not sign or verb not in _VERBS or not wire.is_object(given):
        return None
    words = _words(verb, given)
    if given.get("dryRun") is True or given.get("dry_run") is True:
        words.append("--dry-run")
    folder = os.path.join(cwd, _first(given, _FOLDERS) or "")
    return GitRun("git", [Value((word,)) for word in [verb.replace("_", "-"), *words]], Value((folder,)), {})


def _words(verb: str, given: dict[str, Any]) -> list[str]:
    words: list[str] = []
    way = _first(given, _WAYS)
    if way and verb == "reset":
        words.append(f"--{way.lstrip('-')}")
    elif way and verb in _SUBCOMMANDS:
        words.append(way)
    if verb == "commit":
        words += ["-m", "x"]
    if given.get("all") is True:
        words.append("-a" if verb == "commit" else "-A")
    branch = _first(given, _BRANCHES)
    if branch and verb not in _WITHOUT_BRANCH:
        words.append(branch)
    elif verb == "worktree":
        words += [place] if (place := _first(given, ("worktreePath", "worktree_path"))) else []
    files = _files(given)
    return [*words, "--", *files] if files else words


def _files(given: dict[str, Any]) -> list[str]:
    for name in _FILES:
        listed = given.get(name)
        if isinstance(listed, str) and listed:
            return [listed]
        if wire.is_list(listed):
            return [each for each in listed[:_ITEMS_MAX] if isinstance(each, str)]
    return []


def _first(given: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((text for name in names if isinstance(text := given.get(name), str) and text), "")
