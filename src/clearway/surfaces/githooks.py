"""What the git hooks of a repository run: the check before a commit, the line in its message, the record of it, the
check before a push.

An agent is refused what another session holds or had last; a person is warned, and let pass unless the room says
otherwise. The caller is found as for the command line. A hook never makes a room, and what it cannot look at follows
the fail mode: open with one line, so that a broken product keeps nobody from committing.
"""

from __future__ import annotations

import os

from clearway import config, platforms, policy, repository
from clearway.errors import Refusal
from clearway.guard import fences
from clearway.limits import (
    COMMIT_MESSAGE_BYTES_MAX,
    GIT_HOOK_WAIT_MS,
    GIT_NAMES_BYTES_MAX,
    HOOK_LOCK_WAIT_MS,
    PUSHED_COMMITS_MAX,
)
from clearway.rooms import Rooms
from clearway.surfaces import callers
from clearway.trail import Trail
from clearway.untrusted import folded
from clearway.work import commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn, TypeVar

    from clearway.config import Caller, Settings
    from clearway.db.tx import Tx
    from clearway.guard.fences import Checkout, Claim
    from clearway.room import Room

    Answer = TypeVar("Answer")

REFUSED = 1
REFUSALS = frozenset({"PATH_HELD", "LEASE_EXPIRED", "NOT_YOURS"})
_DENIABLE = frozenset({"pre-commit", "pre-merge-commit", "pre-push"})
_MADE = "--format=%x01%H%x00%ct%x00%s"
_NAMES = ("-z", "--name-only", "--no-renames")
_LOG_BYTES = 4_096
_REWRITING = ("rebase-merge", "rebase-apply")
_COMMENT_SIGNS = "#;@!$%^&|:"  # of which git chooses one where the setting is "auto"
_HEX = frozenset("0123456789abcdef")
_NO_SIGN = "\x01"
_SIGNED_OFF = "Signed-off-by:"


def main(words: list[str]) -> NoReturn:
    """Run the hook that these words name, as git calls it, and leave at once. Its exit status is the verdict."""
    code = 0
    try:
        said, code = run(words[0], words[1:], os.environ)
        _say(said)
    except BaseException as error:
        _say(f"clearway: guard open (INTERNAL {type(error).__name__})")
    os._exit(code)


def run(name: str, words: list[str], environ: Mapping[str, str], given: bytes | None = None) -> tuple[str, int]:
    """What is said on stderr, and the exit status. given: what git writes to the hook, else it is read from stdin."""
    if config.flag(environ, "CLEARWAY_OFF"):
        return "", 0
    desk: Desk | None = None
    try:
        desk = _desk(config.Settings(environ))
        return ("" if desk is None else _HOOKS[name](desk, words, given)), 0
    except Refusal as refusal:
        if refusal.code in REFUSALS:
            return f"{refusal.code}: {refusal.message}", REFUSED
        return _failed(name, desk, refusal, environ)
    except Exception as error:
        return _failed(name, desk, Refusal("INTERNAL", f"{type(error).__name__}: {error}"), environ)
    finally:
        if desk is not None:
            desk.rooms.close()


class Desk:
    """One run of a hook: the worktree, its room, and who commits."""

    __slots__ = ("_caller", "place", "room", "rooms", "settings")

    def __init__(self, settings: Settings, rooms: Rooms, place: repository.Repository, room: Room) -> None:
        self.settings = settings
        self.rooms = rooms
        self.place = place
        self.room = room
        self._caller: Caller | None = None

    @property
    def caller(self) -> Caller:
        if self._caller is None:
            caller = callers.of_command(self.settings, "", self.place.root, self.rooms.liveness)
            self._caller = callers.in_room(caller, self.room, self.settings.environ)
        return self._caller

    @property
    def checkout(self) -> Checkout:
        root = self.place.root
        folds = platforms.ignores_case(root)
        return fences.Checkout(
            repository.checkout_id(self.place, self.rooms.clock), root, folds=folds, composes=platforms.MACOS
        )

    @property
    def trail(self) -> Trail:
        return Trail(self.settings.home)

    def read(self, look: Callable[[Tx], Answer]) -> Answer:
        """Look without a lock: the disk may be full, and a writer busy. Asked again as a write, a refusal is told to
        the log, and a lease that lapsed meanwhile is seen."""
        try:
            return self.room.run(look, caller=self.caller, writes=False)
        except Refusal as refusal:
            if refusal.code not in REFUSALS:
                raise
            try:
                return self.write(look)
            except Refusal as again:
                raise (again if again.code in REFUSALS else refusal) from None

    def write(self, act: Callable[[Tx], Answer]) -> Answer:
        return self.room.run(act, caller=self.caller, durable=False)

    def git(self, *words: str, given: bytes = b"") -> bytes:
        """What git prints, without its locks. Refused if it complains instead, or takes too long."""
        from clearway import children

        environ = {**self.settings.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        told = children.run(
            "git", list(words), environ, given=given, wait_ms=GIT_HOOK_WAIT_MS, bytes_max=GIT_NAMES_BYTES_MAX
        )
        if told.late or told.complaint.startswith((b"fatal:", b"error:", b"usage:")):
            why = "took too long" if told.late else folded(told.complaint.decode("utf-8", "replace"), 160)
            raise Refusal("STORAGE_FAILURE", f"git {words[0]}: {why}.")
        return told.text


def _desk(settings: Settings) -> Desk | None:
    """Where the hook runs; None where there is nothing to ask: git runs hooks at the root of the worktree."""
    try:
        folder = os.path.realpath(os.getcwd())
    except OSError:
        return None
    place = repository.holding(folder)
    if place is None or not place.git:
        return None
    named = settings.environ.get("GIT_DIR")
    if named and os.path.realpath(os.path.join(folder, named)) != os.path.realpath(place.git):
        return None  # another git directory, with this folder as its worktree: nobody's leases are known by it
    rooms = Rooms(settings, upgrade=False, lock_wait_ms=HOOK_LOCK_WAIT_MS)
    if rooms.known(place) is None:
        return None
    return Desk(settings, rooms, place, rooms.of_repository(place))


# --- before a commit ----------------------------------------------------------------------------------------------


def _before_commit(desk: Desk, _words: list[str], _given: bytes | None) -> str:
    names = _staged(desk)
    if not names:
        return ""
    checkout = desk.checkout

    def look(tx: Tx) -> str:
        return fences.warning(tx, fences.check(tx, checkout, names, desk.trail))

    return _warned(desk.read(look), "this is committed all the same")


def _staged(desk: Desk) -> list[str]:
    """What differs from the last commit in what is about to be committed; both names of what was renamed. In a merge
    only what is as neither side has it: what the other side brings was committed there."""
    names = _differing(desk, "HEAD")
    for head in _merged(desk):
        others = set(_differing(desk, head))
        names = [name for name in names if name in others]
    return names


def _differing(desk: Desk, commit: str) -> list[str]:
    try:
        return _listed(desk.git("diff-index", "--cached", *_NAMES, commit, "--"))
    except Refusal:
        if commit != "HEAD" or desk.git("rev-parse", "--quiet", "--verify", "HEAD"):
            raise
        return _listed(desk.git("ls-files", "-z"))  # nothing was committed yet


def _merged(desk: Desk) -> list[str]:
    """The commits that are being merged. While git makes the commit by itself only its variables name them."""
    try:
        with open(os.path.join(desk.place.git, "MERGE_HEAD"), encoding="ascii") as opened:
            return opened.read().split()
    except (OSError, ValueError):
        return [name.removeprefix("GITHEAD_") for name in desk.settings.environ if name.startswith("GITHEAD_")]


# --- the message --------------------------------------------------------------------------------------------------


def _message(desk: Desk, words: list[str], _given: bytes | None) -> str:
    """Name the attempt in the message, once, unless that is empty: git gives up on an empty one."""
    if desk.caller.human or not words:
        return ""
    said = desk.read(commits.trailer)
    if not said:
        return ""
    with open(words[0], "rb") as opened:
        text = opened.read(COMMIT_MESSAGE_BYTES_MAX).decode("utf-8", "replace")
    sign = _comment_sign(desk, text)
    if not _says_something(text, sign):
        return ""
    how = ("--in-place", "--no-divider", "--where", "end", "--if-exists", "addIfDifferent", "--if-missing", "add")
    line = f"{commits.TRAILER}: {said}"
    desk.git("-c", f"core.commentChar={sign}", "interpret-trailers", *how, "--trailer", line, words[0])
    return ""


def _comment_sign(desk: Desk, text: str) -> str:
    """With what git begins the lines that it will take out; none where no editor was opened."""
    lines = text.splitlines()
    cut = next((line for line in lines if line[:1] in _COMMENT_SIGNS and _is_cut(line[1:])), "")
    if cut:
        return cut[0]
    if desk.settings.environ.get("GIT_EDITOR") == ":":
        return _NO_SIGN
    chosen = desk.git("config", "--default", "#", "--get", "core.commentChar").decode("utf-8", "replace").rstrip("\n")
    if chosen != "auto":
        return chosen or "#"
    last = next((line for line in reversed(lines) if line.strip()), "#")
    return last[0] if last[0] in _COMMENT_SIGNS else "#"


def _says_something(text: str, sign: str) -> bool:
    for line in text.splitlines():
        if line.startswith(sign):
            if _is_cut(line[len(sign) :]):
                return False
        elif line.strip() and not line.startswith(_SIGNED_OFF):
            return True
    return False


def _is_cut(rest: str) -> bool:
    """Whether a line is the one below which git takes everything out."""
    return rest.startswith(" -") and " >8 -" in rest


# --- after a commit -----------------------------------------------------------------------------------------------


def _after_commit(desk: Desk, _words: list[str], _given: bytes | None) -> str:
    made = _commits(desk.git("diff-tree", "--root", "-c", "-r", *_NAMES, _MADE, "HEAD"))
    if not made:
        return ""
    commit, subject = made[0]
    checkout = desk.checkout
    old, how = _last_step(desk, commit.id)
    if "rebase" in how:
        desk.write(lambda tx: fences.note_seen(tx, checkout, [commit.id]))  # it was made before, and only moved
        return ""
    amends = old if how == "commit (amend)" else ""
    if amends:
        commit.names = _listed(desk.git("diff-tree", "-r", *_NAMES, amends, commit.id))

    def record(tx: Tx) -> tuple[list[Claim], str]:
        over = fences.committed(tx, checkout, commit.id, commit.names, desk.trail)
        if not tx.caller.human:
            commits.record(tx, commit.id, subject, amends=amends)
        return over, "" if fences.may_pass(tx) else fences.warning(tx, over)

    _, said = desk.write(record)
    return _warned(said, "this was committed all the same (git reset --soft HEAD~1 undoes it); a push is refused")


def _last_step(desk: Desk, commit: str) -> tuple[str, str]:
    """From which commit HEAD came to this one, and how: `commit`, `commit (amend)`, `rebase (pick)`. Without a log of
    HEAD, whatever git does in the middle of a rebase is taken for a part of it."""
    try:
        with open(os.path.join(desk.place.git, "logs", "HEAD"), "rb") as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - _LOG_BYTES))
            last = opened.read().decode("utf-8", "replace").rstrip("\n").rpartition("\n")[2]
    except OSError:
        last = ""
    who, _, what = last.partition("\t")
    old, new, *_ = [*who.split(" "), "", ""]
    if new == commit:
        return old, what.partition(":")[0]
    moving = any(os.path.isdir(os.path.join(desk.place.git, name)) for name in _REWRITING)
    return "", "rebase" if moving else ""


# --- before a push ------------------------------------------------------------------------------------------------


def _before_push(desk: Desk, words: list[str], given: bytes | None) -> str:
    tips = _pushed(_standard_input() if given is None else given)
    if not tips:
        return ""
    remote, url = [*words, "", ""][:2]
    known = "--remotes" if remote == url else f"--remotes={remote}"
    ids = desk.git("rev-list", f"--max-count={PUSHED_COMMITS_MAX}", *tips, "--not", known, "--").decode().split()
    if not ids:
        return ""
    seen = desk.read(lambda tx: fences.seen(tx, ids))
    asked = "".join(f"{id}\n" for id in ids if id not in seen).encode()
    if not asked:
        return ""
    made = [
        commit for commit, _ in _commits(desk.git("diff-tree", "--stdin", "--root", "-r", *_NAMES, _MADE, given=asked))
    ]
    checkout = desk.checkout

    def look(tx: Tx) -> str:
        return fences.warning(tx, fences.check_pushed(tx, checkout, made, desk.trail))

    return _warned(desk.read(look), "this is pushed all the same")


def _pushed(given: bytes) -> list[str]:
    """What is pushed: `local-ref local-id remote-ref remote-id` a line; only zeros for what is deleted there."""
    lines = [line.split(" ") for line in given.decode("utf-8", "replace").splitlines()]
    return [line[1] for line in lines if len(line) == 4 and line[1].strip("0") and _HEX.issuperset(line[1])]


# --- what all of them share ---------------------------------------------------------------------------------------


def _listed(raw: bytes) -> list[str]:
    """Names as git writes them with -z. One that is no text cannot be leased."""
    found: list[str] = []
    for name in raw.split(b"\0"):
        try:
            found.append(name.decode("utf-8"))
        except UnicodeDecodeError:
            continue
    return [name for name in found if name]


def _commits(raw: bytes) -> list[tuple[fences.Commit, str]]:
    """The commits that diff-tree printed, each with its subject."""
    found: list[tuple[fences.Commit, str]] = []
    for part in raw.split(b"\x01"):
        id, *rest = part.split(b"\0", 3)
        if len(rest) == 3 and rest[0].isdigit():
            names = _listed(rest[2].removeprefix(b"\n"))
            made = fences.Commit(id.decode("ascii", "replace"), int(rest[0]) * 1_000, names)
            found.append((made, rest[1].decode("utf-8", "replace")))
    return found


def _warned(said: str, what: str) -> str:
    """The warning for whoever is let pass."""
    return f"clearway: {said.replace(chr(10), chr(10) + 'clearway: ')}; {what}" if said else ""


def _failed(name: str, desk: Desk | None, refusal: Refusal, environ: Mapping[str, str]) -> tuple[str, int]:
    """The fail mode: open with one visible, counted line, or closed where a commit can still be stopped."""
    said = f"{refusal.code}: {refusal.message}"
    if name in _DENIABLE and _fails_closed(desk, environ):
        return f"{said} (the guard is set to fail closed)", REFUSED
    from clearway.surfaces import hooks

    hooks.count_passage(environ, refusal.code)
    return f"clearway: guard open ({said})", 0


def _fails_closed(desk: Desk | None, environ: Mapping[str, str]) -> bool:
    if config.flag(environ, "CLEARWAY_FAIL_CLOSED") or config.flag(environ, "AGENT_LEASE_FAIL_CLOSED"):
        return True
    try:
        return desk is not None and desk.read(lambda tx: policy.value(tx, "fail")) == "closed"
    except Exception:
        return False


def _standard_input() -> bytes:
    parts: list[bytes] = []
    while part := os.read(0, 65_536):
        parts.append(part)
    return b"".join(parts)


def _say(text: str) -> None:
    if text:
        try:
            os.write(2, f"{text}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            pass  # nobody listens; the exit status still speaks


_HOOKS = {
    "pre-commit": _before_commit,
    "pre-merge-commit": _before_commit,
    "commit-msg": _message,
    "post-commit": _after_commit,
    "pre-push": _before_push,
}
