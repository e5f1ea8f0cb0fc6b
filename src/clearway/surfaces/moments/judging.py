"""Before a command, where people asked for it: is it dangerous, and what does their own classifier say?

Both come before possession is asked about: a command that is refused here takes nothing that would have to be given
back. The gate decides from the line alone; the classifier advises, and whatever goes wrong with it lets the call pass
with one counted line. What is refused is told to the log.
"""

from __future__ import annotations

from clearway import policy
from clearway.errors import Refusal
from clearway.limits import TRAIL_COMMAND_CHARS_MAX
from clearway.untrusted import within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.guard.classifier import Verdict
    from clearway.guard.danger import Watch
    from clearway.guard.shell import ShellWrites
    from clearway.surfaces.moments import Visit


class Rules:
    """What the people of a room have decided about commands."""

    __slots__ = ("classifier", "danger", "declared")

    def __init__(self) -> None:
        self.declared: list[tuple[list[str], list[str]]] = []
        self.danger = False
        self.classifier = "off"

    def watch(self) -> Watch | None:
        """Who watches the walk over the command line."""
        if not self.danger:
            return None
        from clearway.guard.danger import Watch

        return Watch()


def rules(visit: Visit) -> Rules:
    """What holds where the client works; nothing for a call that plainly does nothing."""
    from clearway.guard import glance
    from clearway.guard.writers import cannot_write

    found, command = Rules(), visit.call.command
    short = glance.is_short(command)
    if short and cannot_write(command):
        return found
    room = visit.home
    if room is None:  # outside of every repository only the user's own file speaks
        outside = policy.Outside(visit.rooms.settings.environ, visit.rooms.settings.home)
        found.danger = policy.anywhere(outside, "danger") == "on"
        found.classifier = policy.anywhere(outside, "classifier")
        return found

    def read(tx: Tx) -> None:
        found.declared = [] if short else policy.declared(tx)
        if not policy.is_paused(tx):
            found.danger = policy.value(tx, "danger") == "on"
            found.classifier = policy.value(tx, "classifier")

    room.run(read, caller=visit.caller, writes=False)
    return found


def judge(visit: Visit, found_rules: Rules, watch: Watch | None, found: ShellWrites) -> str:
    """Why the command is refused, in one line; empty if it is not."""
    if watch is not None:
        from clearway.guard import danger

        watch.done(found)
        if watch.why:
            refusal = Refusal("FORBIDDEN", danger.sentence(watch.why), danger=watch.why)
            _tell(visit, refusal)
            return f"{refusal.code}: {refusal.message}"
    if found_rules.classifier != "off":
        return _classified(visit, found_rules.classifier)
    return ""


def _classified(visit: Visit, mode: str) -> str:
    from clearway.guard import classifier

    outside = policy.Outside(visit.rooms.settings.environ, visit.rooms.settings.home)
    try:
        address = policy.anywhere(outside, "classifier_address")
        said = classifier.ask(address, visit.call.command, visit.caller.agent, visit.rooms.settings.environ)
    except Refusal as refusal:
        visit.decision.warning += f"clearway: classifier not asked ({refusal.code}: {refusal.message})\n"
        visit.decision.counted = "CLASSIFIER"
        return ""
    if not said.blocks:
        return ""
    if mode != "enforce":
        _note(visit, said)
        return ""
    refusal = Refusal("FORBIDDEN", said.sentence(), danger=said.reason)
    _tell(visit, refusal)
    return f"{refusal.code}: {refusal.message}"


def _tell(visit: Visit, refusal: Refusal) -> None:
    """The log hears of it. The refusal stands, whether or not that can be written now."""

    def refuse(_: Tx) -> None:
        raise refusal

    try:
        (visit.home or visit.rooms.of_repository(None)).run(refuse, caller=visit.caller, durable=False)
    except Refusal:
        pass


def _note(visit: Visit, said: Verdict) -> None:
    """What would have been refused."""

    def tell(tx: Tx) -> None:
        shown = within(said.command, TRAIL_COMMAND_CHARS_MAX)
        tx.tell("command_classified", verdict="block", reason=said.reason, command=shown)

    try:
        (visit.home or visit.rooms.of_repository(None)).run(tell, caller=visit.caller, durable=False)
    except Refusal:
        pass
