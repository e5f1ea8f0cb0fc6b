"""Which git commands throw away work for good, whoever's it is: history, commits nobody else has, untracked files.

What touches the files of others in a shared checkout is decided elsewhere (guard/gitguard.py); here it does not matter
whose they are. Dry runs, the safe forms (`--force-with-lease`, paths named one by one) and help pass.
"""

from __future__ import annotations

from clearway.guard import gitdeeds
from clearway.guard.perils import Words, texts
from clearway.guard.shellwords import Value, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.guard.writers import Run

_VALUED = frozenset("-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env".split())
_ALIAS = "alias."
ALIASES_FOLLOWED_MAX = 5


def peril(run: Run) -> str:
    """What a git command would throw away, in a few words; empty if nothing."""
    words, aliases = _subcommand(run.arguments)
    for _ in range(ALIASES_FOLLOWED_MAX):
        name = words[0].text if words else None
        text = "" if name is None or gitdeeds.is_known(name) else aliases.get(name) or _configured(run, name)
        if not text:
            break
        if text.startswith("!"):
            run.walk.read_script(join([_plain(text[1:]), *words[1:]]), run.scope.copy(), run.stdin)
            return ""
        words = [*map(_plain, text.split()), *words[1:]]
    name = words[0].text if words else None
    if name is None or name not in _PERILS:
        return ""
    arguments = words[1:]
    said = set(texts(arguments[: texts_before_paths(arguments)]))
    if said & {"-h", "--help"}:
        return ""
    return _PERILS[name](arguments)


def by_own_name(program: str, run: Run) -> str:
    """`git-filter-branch` and the like."""
    judge = _PERILS.get(program.removeprefix("git-"))
    return judge(run.arguments) if judge and program.startswith("git-") else ""


def texts_before_paths(arguments: list[Value]) -> int:
    return next((at for at, each in enumerate(arguments) if each.text == "--"), len(arguments))


def _plain(text: str) -> Value:
    return Value((text,))


def _configured(run: Run, name: str) -> str:
    """What an alias means where the line runs git: no word of git's own, so it is one, or nothing."""
    from clearway.guard import gitguard

    folder = run.scope.cwd.text
    if folder is None or not folder.startswith("/") or not name.replace("-", "").isalnum():
        return ""
    printed = gitguard.ask(folder, ["config", "--get", f"{_ALIAS}{name}"], {"HOME": run.scope.home.text or "/"})
    return (printed or b"").decode("utf-8", "replace").strip()


def _subcommand(arguments: list[Value]) -> tuple[list[Value], dict[str, str]]:
    """The words behind git's own options, and the aliases that these define."""
    aliases: dict[str, str] = {}
    at = 0
    while at < len(arguments) and (arguments[at].text or "")[:1] == "-":
        option = arguments[at].text or ""
        if option == "-c" and at + 1 < len(arguments):
            name, _, text = (arguments[at + 1].text or "").partition("=")
            if name.startswith(_ALIAS):
                aliases[name[len(_ALIAS) :]] = text
        at += 2 if option in _VALUED else 1
    return arguments[at:], aliases


def _push(arguments: list[Value]) -> str:
    words = Words(arguments, "-o --push-option --repo --receive-pack --exec")
    if words.says("n", "--dry-run"):
        return ""
    if "--force" in words.long or "f" in words.letters:
        return "overwrites what others have pushed (--force-with-lease does not)"
    if words.says("d", "--delete") or "--mirror" in words.long or "--prune" in words.long:
        return "deletes branches on the remote"
    refs = texts(words.operands[1:])
    if any(ref.startswith("+") for ref in refs):
        return "overwrites what others have pushed (--force-with-lease does not)"
    return "deletes a branch on the remote" if any(len(ref) > 1 and ref[0] == ":" for ref in refs) else ""


def _reset(arguments: list[Value]) -> str:
    words = Words(arguments)
    return "discards every change that is not committed (git stash keeps them)" if words.says("", "--hard") else ""


def _clean(arguments: list[Value]) -> str:
    words = Words(arguments, "-e --exclude")
    if not words.says("f", "--force") or words.says("n", "--dry-run"):
        return ""
    paths = texts(words.operands)
    if paths and not {path.rstrip("/") for path in paths} & {"", ".", "*", ":", ".."}:
        return ""
    return "deletes every file that git does not know (-n lists them)" if words.letters & {"d", "x", "X"} else ""


def _branch(arguments: list[Value]) -> str:
    words = Words(arguments)
    forced = "D" in words.letters or (words.says("d", "--delete") and words.says("f", "--force"))
    return "deletes a branch whose commits may be nowhere else" if forced else ""


def _reflog(arguments: list[Value]) -> str:
    words = Words(arguments)
    loses = words.first in {"expire", "delete"} and not words.says("n", "--dry-run")
    return "deletes the record by which lost commits are found" if loses else ""


def _gc(arguments: list[Value]) -> str:
    when = next((text for text in texts(arguments) if text.startswith("--prune=")), "")
    return "deletes lost commits for good" if when.partition("=")[2] in {"now", "all"} else ""


def _prune(arguments: list[Value]) -> str:
    words = Words(arguments, "--expire")
    dry = words.says("n", "--dry-run") or "--expire" in words.given
    return "" if dry else "deletes lost commits for good"


def _rewrite(_: list[Value]) -> str:
    return "rewrites the whole history"


def _filter_repo(arguments: list[Value]) -> str:
    harmless = {"--analyze", "--dry-run", "--version"} & Words(arguments).long
    return "" if harmless else "rewrites the whole history"


def _update_ref(arguments: list[Value]) -> str:
    return "deletes a ref" if "d" in Words(arguments, "-m").letters else ""


def _stash(arguments: list[Value]) -> str:
    return "deletes every stash" if texts(arguments[:1]) == ["clear"] else ""


_PERILS: dict[str, Callable[[list[Value]], str]] = {
    "push": _push,
    "reset": _reset,
    "clean": _clean,
    "branch": _branch,
    "reflog": _reflog,
    "gc": _gc,
    "prune": _prune,
    "filter-branch": _rewrite,
    "filter-repo": _filter_repo,
    "update-ref": _update_ref,
    "stash": _stash,
}
NAMES = frozenset({*_PERILS, *(f"git-{name}" for name in _PERILS), "-c"})
