"""A client's hook: one JSON payload in, one verdict out in that client's own dialect.

This is the full step: it opens the room in its own process, asks the guard's one question, and leaves. It never crashes
and never answers late: what it cannot read or reach in time follows the fail mode, open with one visible line unless
closed was chosen. At the end of a turn it never says "deny", whatever happens: clients loop on that.
"""

from __future__ import annotations

import os

from clearway import config, wire
from clearway.clock import Clock
from clearway.config import Settings
from clearway.errors import Refusal
from clearway.guard import quiet
from clearway.limits import HOOK_HOST_WAIT_MS, HOOK_LOCK_WAIT_MS, HOOK_WAIT_MS, PAYLOAD_BYTES_MAX
from clearway.rooms import Rooms
from clearway.surfaces import callers
from clearway.surfaces.moments import Decision, Visit, fails_closed
from clearway.surfaces.moments.before import sentence
from clearway.untrusted import folded, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from typing import Any, NoReturn

    from clearway.guard.toolcall import ToolCall
    from clearway.rooms import Shelf

CLIENTS = (
    *("claude", "codex", "gemini", "copilot", "cursor", "opencode", "windsurf", "cline", "qwen", "goose", "kiro"),
    *("vscode", "generic"),
)
_STORED = ("session", "thread", "call", "agent", "source", "prompt", "task", "tool")
_DENIABLE = frozenset({"before"})
_CHILDREN_OF_CHILDREN = frozenset({"copilot"})  # whose subagent names who began it, and not the session of them all
_TURN_ENDS = frozenset({"stop", "interrupt", "idle", "child_stop"})


class Answer:
    """What a client is told: stdout, stderr, exit status; and what follows once it has been written. visit, said: by
    whom, and how many bytes of it a model reads; denied: the code of what the call was refused for."""

    __slots__ = ("_visit", "afterwards", "code", "denied", "err", "out", "said")

    def __init__(
        self,
        out: str,
        err: str,
        code: int,
        afterwards: Callable[[], None] | None = None,
        *,
        visit: Visit | None = None,
        said: int = 0,
        denied: str = "",
    ) -> None:
        self.out = out
        self.err = err
        self.code = code
        self.afterwards = afterwards
        self._visit = visit
        self.said = said
        self.denied = denied

    def tell(self) -> None:
        """It has been given: what else there is to do, whoever has read it. Nothing that goes wrong now spoils it."""
        for act in () if self._visit is None else self._visit.later:
            try:
                act()
            except Exception:
                continue

    def count(self, micros: int) -> None:
        """It has been given, and took so long."""
        if self._visit is not None:
            from clearway.tally import Tally

            Tally(self._visit.rooms.settings.home).note(self._visit.key, micros, self.said)


class Standing:
    """From where a client is answered: what a hook knows by being one of its children. Another process that answers in
    its place is told."""

    __slots__ = ("_folder", "parent", "rooms", "shelf")

    def __init__(self, folder: str | None = None, parent: int | None = None, shelf: Shelf | None = None) -> None:
        self._folder = folder
        self.parent = parent
        self.shelf = shelf
        self.rooms: Rooms | None = None

    def close(self) -> None:
        """Put the rooms back that were asked."""
        if self.rooms is not None:
            self.rooms.close()

    @property
    def folder(self) -> str:
        """Where the hook was started: clients that do not say where they work run their hooks there."""
        if self._folder is not None:
            return self._folder
        try:
            return os.getcwd()
        except OSError:
            return ""

    def goes_on(self, refusal: Refusal) -> bool:
        """Whether it is for the fail mode to say what becomes of a call that could not be checked. Another process
        leaves that to the hook itself, which may be able to check it; a busy room is busy for both."""
        return (
            self.shelf is None
            or not (refusal.code == "INTERNAL" or refusal.is_of_storage)
            or (refusal.code == "STORAGE_BUSY")
        )


def main(client: str, raw: bytes, *, waited: bool = False, afterwards: Callable[[], None] | None = None) -> NoReturn:
    """Answer the hook of `client`, which got `raw` on stdin, and leave at once, without the interpreter's farewell.

    waited: a host was asked before, in vain; so much less time is left. afterwards: is done when all is said.
    """
    code = 0
    try:
        in_time = _answer_in_time(client, raw, HOOK_WAIT_MS - HOOK_HOST_WAIT_MS if waited else HOOK_WAIT_MS)
        said = answered(client, raw, os.environ)
        code = said.code
        in_time()
        if _write(1, said.out) and said.afterwards is not None:
            said.afterwards()
        _write(2, said.err)
        said.tell()
        said.count(quiet.elapsed())
        if afterwards is not None:
            afterwards()
    except BaseException as error:
        _write(2, f"clearway: guard open (INTERNAL {type(error).__name__})\n")
    os._exit(code)


def answer(client: str, raw: bytes, environ: Mapping[str, str]) -> tuple[str, str, int]:
    """stdout, stderr and exit status for one payload, taken as read by the client."""
    said = answered(client, raw, environ)
    if said.afterwards is not None:
        said.afterwards()
    said.tell()
    return said.out, said.err, said.code


def answered(client: str, raw: bytes, environ: Mapping[str, str], standing: Standing | None = None) -> Answer:
    """The answer to one payload. standing: whose place is taken; what that one had better try itself is raised."""
    at = standing or Standing()
    if config.flag(environ, "CLEARWAY_OFF"):
        return Answer("", "", 0)
    try:
        adapter = _adapter(client)
    except Refusal as refusal:  # in whose dialect would it be denied?
        return Answer("", f"clearway: guard open ({sentence(refusal)})\n", 0)
    call = _read(adapter, raw, environ, at)
    visit: Visit | None = None
    try:
        visit = _visit(call, Settings(environ, at.parent), at)
        decision = decide(visit)
        if decision.lost:
            count_passage(environ, decision.lost)
        if decision.counted:
            count_passage(environ, decision.counted)
        if decision.unchecked is not None:
            decision.warning += _failed(call, decision.unchecked, visit, environ).warning
        _say_in_time(visit, decision, getattr(adapter, "TAKES_CONTEXT", None))
    except Refusal as refusal:
        if not at.goes_on(refusal):
            raise
        decision = _failed(call, refusal, visit, environ)
    except Exception as error:
        bug = Refusal("INTERNAL", f"{type(error).__name__}: {error}")
        if not at.goes_on(bug):
            raise
        decision = _failed(call, bug, visit, environ)
    out, err, code = adapter.answer(call, decision)
    afterwards = None if visit is None else lambda: _was_read(visit)
    said = len((decision.deny + decision.context).encode("utf-8", "backslashreplace"))
    denied = decision.deny.partition(":")[0]
    return Answer(out, decision.warning + err, code, afterwards, visit=visit, said=said, denied=denied)


def _visit(call: ToolCall, settings: Settings, at: Standing) -> Visit:
    rooms = Rooms(settings, upgrade=False, lock_wait_ms=HOOK_LOCK_WAIT_MS, shelf=at.shelf)
    at.rooms = rooms
    rooms.check_home(call.cwd or "")
    if call.problem:
        raise Refusal("INVALID_ARGUMENT", call.problem)
    return Visit(call, rooms, callers.of_hook(call, settings, rooms.liveness))


def _say_in_time(visit: Visit, decision: Decision, taking: Container[str] | None) -> None:
    if taking is not None and "before" not in taking:
        from clearway.surfaces.moments import unsaid

        unsaid.in_its_time(visit, decision, taking)


def decide(visit: Visit) -> Decision:
    """What becomes of one event of one client."""
    if visit.call.client in _CHILDREN_OF_CHILDREN and visit.call.thread and visit.home is not None:
        visit.caller = callers.in_room(visit.caller, visit.home, visit.rooms.settings.environ)
    decision = _at_its_moment(visit)
    for room in visit.rooms.others_of(visit.key):  # a beat renews all that a session holds, wherever it works
        room.run(lambda _: None, caller=visit.caller, writes=False)
    return decision


def _at_its_moment(visit: Visit) -> Decision:
    moment = visit.call.moment
    if moment == "before":
        from clearway.surfaces.moments.before import before

        return before(visit)
    if moment in ("after", "failed"):
        from clearway.surfaces.moments.after import after

        return after(visit)
    from clearway.surfaces.moments import turns

    if moment in _TURN_ENDS:
        return turns.stop(visit)
    known = {
        "start": turns.start,
        "prompt": turns.prompt,
        "child_start": turns.child_start,
        "compact": turns.compact,
        "end": turns.end,
    }
    if moment in known:
        return known[moment](visit)
    visit.listen()
    return Decision()


def _was_read(visit: Visit) -> None:
    """Nothing that goes wrong now may spoil an answer that is out; it is told again then."""
    try:
        visit.was_read()
    except Exception:
        return


def _read(adapter: Any, raw: bytes, environ: Mapping[str, str], at: Standing) -> ToolCall:
    payload, problem = _payload(raw)
    call = adapter.read(payload, environ)
    call.cwd = call.cwd or at.folder
    call.problem = problem or call.problem
    for name in _STORED:  # half a character is legal JSON, and no text that anybody could keep
        text = getattr(call, name)
        if text and not text.isascii():
            setattr(call, name, text.encode("utf-8", "backslashreplace").decode())
    return call


def _answer_in_time(client: str, raw: bytes, within_ms: int) -> Callable[[], None]:
    """Should something hold us up for longer than the client waits, answer by the fail mode before it gives up: a hook
    that is killed is a silent pass. What is given back calls this off."""
    alarm: Any = __import__("_signal")  # the public module brings `enum` along
    if not hasattr(alarm, "setitimer"):
        return lambda: None

    def late(_number: int, _frame: object) -> None:
        adapter = _adapter(client)
        call = _read(adapter, raw, os.environ, Standing())
        refusal = Refusal("STORAGE_BUSY", "The guard was not answered in time.")
        decision = _failed(call, refusal, None, os.environ, is_late=True)
        out, err, code = adapter.answer(call, decision)
        _write(1, out)
        _write(2, decision.warning + err)
        os._exit(code)

    alarm.signal(alarm.SIGALRM, late)
    alarm.setitimer(alarm.ITIMER_REAL, within_ms / 1_000)
    return lambda: alarm.setitimer(alarm.ITIMER_REAL, 0)


def _failed(
    call: ToolCall, refusal: Refusal, visit: Visit | None, environ: Mapping[str, str], *, is_late: bool = False
) -> Decision:
    """The fail mode: open with one visible, counted line; closed turns it into a refusal in the client's dialect."""
    said = sentence(refusal)
    if call.problem and call.moment == "other":
        call.moment = "before"  # what cannot be read may be a call that is about to write
    if call.moment in _DENIABLE and fails_closed(visit, environ, call.cwd or "", is_late=is_late):
        return Decision(deny=f"{said} (the guard is set to fail closed)")
    if "inside" not in refusal.facts:  # nothing of ours is written into a repository
        count_passage(environ, refusal.code)
    return Decision(warning=f"clearway: guard open ({said})\n")


def count_passage(environ: Mapping[str, str], code: str) -> None:
    """One line a passage, for doctor. Lost without harm when nothing can be written."""
    try:
        folder = os.path.join(config.home(environ), "run")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(os.path.join(folder, "guard-open"), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            if os.fstat(descriptor).st_size < 1_048_576:
                os.write(descriptor, f"{_wall(environ)} {code}\n".encode())
        finally:
            os.close(descriptor)
    except (OSError, Refusal, ValueError):
        pass


def _wall(environ: Mapping[str, str]) -> int:
    try:
        return Settings(environ).clock().wall()
    except Refusal:  # a test's clock that cannot be read
        return Clock().wall()


def _payload(raw: bytes) -> tuple[dict[str, Any], str]:
    """The payload as an object, or an empty one and what is wrong with it."""
    if len(raw) > PAYLOAD_BYTES_MAX:
        return {}, f"the payload has more than {PAYLOAD_BYTES_MAX // 1_048_576} MiB"
    try:
        try:
            payload: Any = wire.loads(raw)
        except UnicodeDecodeError:  # a byte in a content or a path is no reason not to see which file is meant
            payload = wire.loads(raw.decode("utf-8", "surrogateescape"))
    except ValueError as error:
        return {}, f"the payload is not JSON: {folded(str(error), 80)}"
    if isinstance(payload, dict):
        return payload, ""  # pyright: ignore[reportUnknownVariableType]
    return {}, "the payload is not a JSON object"


def _adapter(client: str) -> Any:
    """The adapter of a client: the module of its name, loaded when it is asked for."""
    if client not in CLIENTS:
        raise Refusal("INVALID_ARGUMENT", f"There is no hook for {quoted(client, 40)}; there is {', '.join(CLIENTS)}.")
    return __import__(f"clearway.surfaces.clients.{client}", fromlist=("answer",))


def _write(descriptor: int, text: str) -> bool:
    """Whether all of it was taken. The client may be gone, or have closed this end; the exit status still speaks."""
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        return False
    return True
