"""Before a shell call that asks git for more than one's own files: refuse what would run over another's work.

Somebody alone in a work tree pays one read. Where the guard is switched off, or the room has decided for it, the work
of all is saved under a ref first. Calls that write one index take turns.
"""

from __future__ import annotations

import os

from clearway import repository
from clearway.clock import Clock
from clearway.errors import Refusal
from clearway.guard import gitdeeds, gitguard
from clearway.guard.gitguard import Command, Hit, Others, Reach
from clearway.limits import GIT_TURN_WAIT_MS, STALE_INDEX_LOCK_MS
from clearway.untrusted import exact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.guard.gitdeeds import Deed
    from clearway.guard.gitglance import GitRun
    from clearway.repository import Place, Repository
    from clearway.room import Room
    from clearway.surfaces.moments import Visit

_ALIASES_MAX = 4  # aliases of aliases
_GLANCE_MS = 40


class Tree:
    """One work tree that a call meets: its room, and who else is there."""

    __slots__ = ("checkout", "others", "place", "room", "saved")

    def __init__(self, visit: Visit, place: Repository) -> None:
        self.place = place
        self.room: Room = visit.rooms.of_repository(place)
        self.checkout = repository.checkout_id(place, visit.rooms.clock)
        self.others: Others = self.room.run(
            lambda tx: gitguard.others(tx, self.checkout, place.root), caller=visit.caller, writes=False
        )
        self.saved = False


def mind(visit: Visit, gits: list[GitRun]) -> list[tuple[Room, Place]]:
    """Refuse what these git commands would do to others; the turns at an index that the call is to have while it
    runs."""
    watch = _Watch(visit)
    for run in gits:
        watch.look(Command(run, visit.rooms.settings.environ), 0)
    return [watch.turn(tree) for tree in watch.writing.values() if not tree.others.off]


class _Watch:
    """The git commands of one call, one after the other."""

    __slots__ = ("_aliases", "_environ", "_trees", "_visit", "writing")

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._environ = visit.rooms.settings.environ
        self._trees: dict[str, Tree | None] = {}
        self._aliases: dict[str, str] = {}  # that the line itself makes
        self.writing: dict[str, Tree] = {}  # whose index the call writes, beside others

    def look(self, command: Command, depth: int) -> None:
        made = command.defines()
        if made is not None:
            self._aliases[made[0]] = made[1]
        if not command.name or (gitdeeds.is_known(command.name) and not gitdeeds.may_act(command.name)):
            return
        for place, folder in command.trees():
            deed = gitdeeds.deed(command.name, command.words, folder)
            if deed is not None and deed.foreach is not None:
                if depth < _ALIASES_MAX:
                    self._in_submodules(deed.foreach, place, depth)
            elif deed is not None:
                self._judge(command, deed, place, folder)
            elif not gitdeeds.is_known(command.name) and depth < _ALIASES_MAX and self._tree(place):
                self._look_behind(command, place, folder, depth)

    def turn(self, tree: Tree) -> tuple[Room, Place]:
        return tree.room, repository.named(gitguard.turn_name(tree.checkout), 1)

    def _tree(self, place: Repository) -> Tree | None:
        """A work tree in which somebody else has something; None where nobody can have."""
        if place.root not in self._trees:
            tree = Tree(self._visit, place) if self._has_room(place) else None
            self._trees[place.root] = tree if tree is not None and tree.others else None
        return self._trees[place.root]

    def _has_room(self, place: Repository) -> bool:
        """Git is used in many repositories that no agent has ever edited: none of them gets a room by it."""
        home = self._visit.folder()
        if home is not None and home.root == place.root:
            return True
        return self._visit.has_room(place)

    def _look_behind(self, command: Command, place: Repository, folder: str, depth: int) -> None:
        """What an alias means: a git command, or a line for the shell in the root of the tree."""
        name = command.name
        meaning = command.aliases.get(name) or self._aliases.get(name)
        if meaning is None:
            printed = gitguard.ask(folder, ["config", "--get", f"alias.{name}"], self._environ)
            meaning = (printed or b"").decode("utf-8", "replace").strip()
        if not meaning:
            return
        from clearway.guard import shell

        words = " ".join('"$CLEARWAY_UNKNOWN"' if word is None else _quoted(word) for word in command.words)
        line, where = (meaning[1:], place.root) if meaning[0] == "!" else (f"git {meaning}", folder)
        for run in shell.writes(f"{line} {words}", where, os.path.expanduser("~")).gits:
            self.look(Command(run, self._environ), depth + 1)

    def _in_submodules(self, line: str, place: Repository, depth: int) -> None:
        """A line that is run in each of them."""
        from clearway.guard import shell

        for inner in gitguard.submodules(place.root):
            for run in shell.writes(line, inner.root, os.path.expanduser("~")).gits:
                self.look(Command(run, self._environ), depth + 1)

    def _judge(self, command: Command, deed: Deed, place: Repository, folder: str) -> None:
        for other in _also(deed, place, folder):
            tree = self._tree(other)
            if tree is not None:
                self._judge_elsewhere(deed, tree)
        if deed.modules:
            reach = Reach(deed.paths, deed.vague, folder, place.root)
            for inner in gitguard.submodules(place.root):
                if gitguard.key(os.path.relpath(inner.root, place.root), place.root) in reach:
                    self._judge_tree(gitdeeds.deed_of_update(deed), inner, inner.root)
        if command.apart and (deed.takes_along or not deed.files):
            return
        self._judge_tree(deed, place, folder)

    def _judge_tree(self, deed: Deed, place: Repository, folder: str) -> None:
        tree = self._tree(place)
        if tree is None:
            return
        hits = self._hits(tree, deed, Reach(deed.paths, deed.vague, folder, place.root))
        if hits:
            self._meet(tree, deed, hits)
        elif deed.index and tree.others.present and place.root not in self.writing:
            self.writing[place.root] = tree
            self._await_turn(tree)

    def _judge_elsewhere(self, deed: Deed, tree: Tree) -> None:
        """A branch, or the whole of another work tree, is taken from whoever is there."""
        found = tree.others
        hits: list[Hit] = []
        if not deed.stash:
            hits += [Hit(row.agent, row.session, row.shown) for row in found.held]
            hits += gitguard.unknown(found) if deed.worktrees else []
        stash = f"the stash of branch {repository.branch(tree.place.root)}" if deed.stash else ""
        hits += [Hit(row.agent, row.id, stash, row.number) for row in found.here]
        if hits:
            self._meet(tree, deed, hits)

    def _hits(self, tree: Tree, deed: Deed, reach: Reach) -> list[Hit]:
        found = tree.others
        hits = gitguard.hits_by_lease(found, deed, reach)
        if hits or not (found.last or (deed.takes_along and found.held)):
            return hits
        if deed.vague and deed.takes_along:  # nobody knows which files are meant
            return []
        root = tree.place.root
        of: list[gitguard.Dirty] | None = []
        if deed.files or deed.takes_along:
            wanted = [row.path for row in [*found.last, *(found.held if deed.takes_along else [])]]
            of = gitguard.dirty(root, wanted, self._environ)
            if of is None:
                return [] if deed.takes_along else gitguard.unknown(found)
        if deed.stash:
            of += gitguard.stashed(root, deed.stash, self._environ)
        if not of:
            return []

        def look(tx: Tx) -> list[Hit]:
            return gitguard.hits_in(tx, tree.checkout, root, found, deed, reach, of)

        return tree.room.run(look, caller=self._visit.caller, writes=False)

    def _meet(self, tree: Tree, deed: Deed, hits: list[Hit]) -> None:
        """Refused, or let pass by people's decision with everything saved first."""
        refusal = gitguard.refusal(deed, hits)
        if not tree.others.off and (deed.takes_along or tree.others.way != "rescue"):
            self._refuse(tree.room, refusal)
        if tree.others.off:
            self._visit.decision.warning += (
                f"clearway: the guard is switched off, this passes: {refusal.message.partition(': ')[0]}\n"
            )
        if not deed.takes_along and not tree.saved:
            tree.saved = True
            self._save(tree, deed, hits, refusal)

    def _save(self, tree: Tree, deed: Deed, hits: list[Hit], refusal: Refusal) -> None:
        from clearway.guard import rescue

        name = self._visit.rooms.clock.new_id()
        try:
            saved = rescue.save(tree.place, name, deed.label, self._environ)
            ref, lost = saved.ref, "" if saved.whole else "not all could be read"
        except rescue.NotSaved as error:
            ref, lost = "", str(error)
        if lost:
            if not tree.others.off:  # what cannot be saved is not run over
                self._refuse(tree.room, refusal)
            how_much = "not everything" if ref else "nothing"
            self._visit.decision.warning += f"clearway: {how_much} was saved before {deed.label} ({lost}).\n"
        if not ref:
            return
        way_back = f"git restore --source={ref} -- PATH"
        self._visit.decision.add(
            f"[clearway] Before {deed.label}, all uncommitted work here was saved; to bring back a file: {way_back}"
        )
        tree.room.run(
            lambda tx: gitguard.tell_rescue(tx, tree.checkout, ref, deed.label, hits), caller=self._visit.caller
        )

    def _refuse(self, room: Room, refusal: Refusal) -> None:
        """Told to the log first; should the log be out of reach, it is refused all the same."""

        def tell(_: Tx) -> None:
            raise refusal

        try:
            room.run(tell, caller=self._visit.caller, durable=False)
        except Refusal:
            raise refusal from None

    def _await_turn(self, tree: Tree) -> None:
        """Wait a moment for another's call that writes the same index; then refuse, unless that call is one of the long
        ones that wrote it long ago."""
        clock = Clock()  # a hook waits in real time, whatever time it is in the room
        deadline = clock.monotonic() + GIT_TURN_WAIT_MS
        agent, long_ago = tree.others.turn
        while agent and not long_ago and not tree.others.off:
            if clock.monotonic() >= deadline:
                self._refuse(tree.room, gitguard.turn_refusal(agent))
            clock.pause(_GLANCE_MS)
            agent, long_ago = tree.room.run(
                lambda tx: gitguard.turn_of(tx, tree.checkout), caller=self._visit.caller, writes=False
            )
        if long_ago:
            del self.writing[tree.place.root]
        elif not agent:
            self._mind_a_stale_lock(tree.place)

    def _mind_a_stale_lock(self, place: Repository) -> None:
        """A lock of the index that its maker left behind stops everybody: who finds it is told what is known of it."""
        lock = os.path.join(place.git, "index.lock")
        try:
            age = self._visit.rooms.clock.wall() - int(os.stat(lock).st_mtime * 1_000)
        except OSError:
            return
        if age < STALE_INDEX_LOCK_MS or gitguard.git_works_in(place.root):
            return
        self._visit.decision.add(
            f"[clearway] {exact(lock)} is {age // 60_000} min old, and no git process works in this tree: its maker "
            "is gone. If you know of none either, remove it; nothing else will."
        )


def _also(deed: Deed, place: Repository, folder: str) -> list[Repository]:
    """The other work trees from under which it takes something."""
    found = [repository.holding(os.path.realpath(os.path.join(folder, path))) for path in deed.worktrees]
    also = {each.root: each for each in found if each is not None and each.root != place.root}
    if deed.branches:
        wanted = set(deed.branches)
        trees = gitguard.worktrees(place)
        also |= {each.root: each for each in trees if repository.branch(each.root) in wanted}
    if deed.stash and deed.stash_is_used_up:
        wanted = set(gitguard.entries(place, deed.stash))
        trees = gitguard.worktrees(place) if wanted else []
        also |= {each.root: each for each in trees if each.root != place.root and _is_on(each, wanted)}
    return list(also.values())


def _is_on(place: Repository, branches: set[str]) -> bool:
    return repository.branch(place.root) in branches


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
