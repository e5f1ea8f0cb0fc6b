"""The door. Everything asked of a room comes in here, and the door does all that is not the operation's own business.

A write: begin; settle what time and death changed; note the caller's presence; replay a known idempotency key; run,
inside a savepoint if anything was settled; store the reply; commit. A refusal undoes what the operation did, not what
time did, and is told to the log before the commit, or in a transaction of its own where the first had to be undone. A
read takes no lock and writes nothing; afterwards the caller's beat is noted.

`ask` is for outsiders: a name, JSON arguments, all checked. `run` is for ourselves: a function and typed arguments.
"""

from __future__ import annotations

import os

from clearway import config, lapse, platforms, policy, wire
from clearway.alive import Liveness
from clearway.beats import Beats
from clearway.clock import Clock, token_hash, tokens
from clearway.config import Caller
from clearway.crew import agents
from clearway.db import statements
from clearway.db.tx import Tx
from clearway.errors import TOLD, Refusal
from clearway.limits import BEAT_EVERY_MS, COMMAND_LOCK_WAIT_MS, ISSUE_KEY, REFUSAL_QUIET_MS
from clearway.opencalls import OpenCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from clearway.db import Row
    from clearway.db.postgres import PostgresEngine
    from clearway.db.sqlite import SqliteEngine
    from clearway.op import Operation

    Answer = TypeVar("Answer")

SQL = statements(__file__)
_FOUND_MAX = 256


class Room:
    """One room, opened by one thread at a time."""

    def __init__(
        self,
        engine: SqliteEngine | PostgresEngine,
        project: str,
        *,
        home: str,
        clock: Clock,
        liveness: Liveness,
        beats: Beats,
    ) -> None:
        self.engine = engine
        self.project = project
        self.clock = clock
        self.liveness = liveness
        # On a server signs of life are rows, which every machine sees; here they only say which rooms a session is in.
        self.beats = beats if engine.name == "sqlite" else None
        self._files = beats
        self.calls = OpenCalls(home, clock)
        self.outside = policy.NOTHING_OUTSIDE  # the environment's and the user's settings: rooms.py knows them
        self._full = False
        self._issue_key = ISSUE_KEY
        self._home = home
        self._tokens: Callable[[str, int], str] | None = None
        self._checked: Callable[..., tuple[dict[str, Any], str | None]] | None = None
        self._noted: dict[str, int] = {}
        self._found: dict[object, Any] = {}
        self._version: object = None

    def unless_changed(self, key: object, ask: Callable[[], Answer]) -> Answer:
        """What was found out under this key, or what is found out now: it is asked again after every change of the room
        and where a change cannot be seen. For what follows from nothing but what is stored."""
        version = self.engine.version()
        if version is None:
            return ask()
        if version != self._version or len(self._found) >= _FOUND_MAX:
            self._version, self._found = version, {}
        if key not in self._found:
            self._found[key] = ask()
        return self._found[key]

    def ask(self, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Answer one operation asked from outside. Raises Refusal; anything else is a bug."""
        try:
            answer = self._asked(operation, arguments, caller)
        except Refusal as refusal:
            if self._issue_key != ISSUE_KEY:
                from clearway.work import naming

                naming.in_refusal(refusal, self._issue_key)
            raise
        if self._issue_key == ISSUE_KEY:
            return answer
        from clearway.work import naming

        return naming.in_answer(answer, self._issue_key)

    def _asked(self, operation: Operation, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
        if self._checked is None:
            from clearway.arguments import checked

            self._checked = checked
        values, key = self._checked(operation, arguments, caller, self.clock)
        function = operation.function
        if not operation.writes_with(values):
            return self.run(lambda tx: function(tx, **values), caller=caller, writes=False)
        first = _adoption(operation, key, values) if "lease_token" in values else None
        if key is None:
            return self.run(lambda tx: function(tx, **values), caller=caller, durable=operation.durable, first=first)
        return self.run(
            lambda tx: _once(tx, operation, key, values), caller=caller, durable=operation.durable, first=first
        )

    def run(
        self,
        act: Callable[[Tx], Answer],
        *,
        caller: Caller,
        writes: bool = True,
        durable: bool = True,
        wait_ms: int | None = None,
        first: Callable[[Tx], None] | None = None,
    ) -> Answer:
        """Run one act of ours in a transaction of its own. first: what comes before time passes (an adoption)."""
        if not writes:
            return self._read(act, caller)
        tx = self._begin(caller, writes=True, durable=durable, wait_ms=wait_ms)
        try:
            agents.arrive(tx)
            if first is not None:
                first(tx)
            died = lapse.lapse(tx)
            if caller.key in died or tx.opening.ended_at is not None:  # a session that is over and speaks begins anew
                agents.reopen(tx)
            agents.beat(tx)
            tx.savepoint()
            try:
                answer = act(tx)
            except Refusal as refusal:
                if refusal.is_of_storage:
                    raise  # the disk or the server failed under the act: nothing more can be written
                if tx.undo():
                    _tell_refusal(tx, refusal)
                    tx.commit()
                else:
                    self._tell_again(refusal, caller, durable=durable)
                raise
            tx.commit()
        except Refusal:
            tx.rollback()
            raise
        except BaseException as error:
            tx.rollback()
            rule = self.engine.constraint(error) if isinstance(error, Exception) else None
            if rule is not None:
                raise _objection(rule) from error
            raise
        self._beat(caller, tx)
        return answer

    def _tell_again(self, refusal: Refusal, caller: Caller, *, durable: bool) -> None:
        """Tell a refusal for which a whole transaction was undone."""
        if _is_told(refusal):
            self.run(lambda tx: _tell_refusal(tx, refusal), caller=caller, durable=durable)

    def settle(self) -> bool:
        """Let time pass in a room that nobody asks: who loses something by it is told then. Whether anybody did."""
        from clearway.crew import failover, messages

        caller = Caller("clearway", host=self.liveness.host)
        tx = self._begin(caller, writes=False)
        try:
            late = any((*lapse.gone(tx), lapse.gone_tasks(tx))) or bool(lapse.dead_sessions(tx))
            late = late or messages.are_overdue(tx) or bool(failover.due(tx))
        finally:
            tx.rollback()
        if late:
            self.tidy(lambda tx: (lapse.lapse(tx), messages.settle(tx), failover.sweep(tx)), wait_ms=0)
        return late

    def tidy(self, act: Callable[[Tx], Answer], *, wait_ms: int | None = None) -> Answer:
        """Run one act of the house itself, for which nobody comes in."""
        caller = Caller("clearway", host=self.liveness.host)
        tx = self._begin(caller, writes=True, durable=False, wait_ms=wait_ms)
        try:
            answer = act(tx)
            tx.commit()
        except BaseException:
            tx.rollback()
            raise
        return answer

    def close(self) -> None:
        self.engine.close()

    def _read(self, act: Callable[[Tx], Answer], caller: Caller) -> Answer:
        tx = self._begin(caller, writes=False)
        try:
            answer = act(tx)
            late = lapse.is_late(tx)
        finally:
            tx.rollback()
        self._beat(caller, tx, late=late)
        return answer

    def _begin(self, caller: Caller, *, writes: bool, durable: bool = True, wait_ms: int | None = None) -> Tx:
        durable = durable or self._full
        session = self.engine.begin(writes=writes, durable=durable, wait_ms=wait_ms)
        try:
            tx = Tx(
                session,
                session.rows(SQL.opening, {"session": caller.key})[0],
                clock=self.clock,
                liveness=self.liveness,
                beats=self.beats,
                calls=self.calls,
                caller=caller,
                token=self._token,
                writes=writes,
                outside=self.outside,
                home=self._home,
            )
            self._full = policy.value(tx, "durability") == "full"
            self._issue_key = tx.opening.issue_key
        except BaseException:
            session.rollback()
            raise
        if writes and self._full and not durable:  # what a commit waits for cannot be changed once it has begun
            session.rollback()
            return self._begin(caller, writes=True, wait_ms=wait_ms)
        return tx

    def _beat(self, caller: Caller, tx: Tx, *, late: bool = False) -> None:
        """Any question of a session is a sign of its life. late: what it held is over, and a write says so before the
        sign is given; otherwise none is given."""
        if caller.named or tx.silent:
            return
        if tx.farewell:
            self._files.forget(caller.key)
            return
        if not late:
            self._files.note(caller.key, tx.now, tx.wall)
            if self.beats is not None or tx.writes:
                return  # a write has noted the session in its row already
        last = max(self._noted.get(caller.key, 0), tx.opening.beat_at or 0)
        if late or not 0 <= tx.now - last < BEAT_EVERY_MS:
            self._noted[caller.key] = tx.now
            try:
                self.run(lambda _: None, caller=caller, durable=False, wait_ms=0)
            except Refusal:
                pass  # the reply stands; the next question is a beat, too

    def _token(self, attempt: str, fence: int) -> str:
        if self._tokens is None:
            self._tokens = tokens(config.secret(self._home, self.clock))
        return self._tokens(attempt, fence)


def open_room(
    project: str,
    *,
    home: str,
    clock: Clock,
    address: str | None = None,
    liveness: Liveness | None = None,
    upgrade: bool = True,
    lock_wait_ms: int = COMMAND_LOCK_WAIT_MS,
    make: bool = True,
) -> Room:
    """Open the room of a project, made if it is not there yet.

    address: the DSN of a PostgreSQL server, or None for the one this machine knows, else the file in `home`. upgrade:
    an older schema may be brought forward (a backup is written first). lock_wait_ms: how long a write waits for another
    writer. make: False to refuse PROJECT_NOT_FOUND where there is no room yet.
    """
    folder = os.path.join(home, "rooms", project)
    address = address or known_address(folder)
    engine: SqliteEngine | PostgresEngine
    if address is None:
        from clearway.db.sqlite import SqliteEngine

        platforms.keep_private(folder)
        engine = SqliteEngine(os.path.join(folder, "room.db"), clock, lock_wait_ms=lock_wait_ms)
    else:
        try:
            from clearway.db.postgres import PostgresEngine
        except ImportError as missing:  # not there, or without the library of PostgreSQL
            if "psycopg" not in f"{missing.name} {missing}" and "pq wrapper" not in str(missing):
                raise
            raise Refusal(
                "STORAGE_CONFIGURATION",
                "A room on PostgreSQL needs psycopg, which is not installed; install clearway[postgres], as in: "
                'uv tool install ".[postgres]".',
            ) from None
        engine = PostgresEngine(address, f"clearway_{project.lower()}", clock, lock_wait_ms=lock_wait_ms)
    return _opened(engine, project, home=home, clock=clock, liveness=liveness, upgrade=upgrade, make=make)


def open_machine_room(
    *,
    home: str,
    clock: Clock,
    liveness: Liveness | None = None,
    upgrade: bool = True,
    lock_wait_ms: int = COMMAND_LOCK_WAIT_MS,
) -> Room:
    """The room of files outside every repository, which also remembers where repositories without a pointer live."""
    from clearway.db.sqlite import SqliteEngine

    engine = SqliteEngine(os.path.join(home, "machine.db"), clock, lock_wait_ms=lock_wait_ms)
    return _opened(engine, MACHINE, home=home, clock=clock, liveness=liveness, upgrade=upgrade)


def open_room_file(
    file: str,
    project: str | None,
    *,
    home: str,
    clock: Clock,
    liveness: Liveness | None = None,
    upgrade: bool = True,
    lock_wait_ms: int = COMMAND_LOCK_WAIT_MS,
) -> Room:
    """Open the room in a file that somebody names, never made. project: whose it has to be, None for anybody's."""
    from clearway.db.sqlite import SqliteEngine

    engine = SqliteEngine(file, clock, lock_wait_ms=lock_wait_ms)
    return _opened(engine, project, home=home, clock=clock, liveness=liveness, upgrade=upgrade, make=False)


MACHINE = "machine"
_OURS = ("secret", "environment", "machine.db", "rooms", "run", "backups")  # in a home, which may hold other things
_SHALLOW = 2  # names in the path of a folder that may well be the system's, as /etc and /var/lib


def beat_folder(home: str) -> str:
    """Where the beats of all rooms are, a folder each."""
    return os.path.join(home, "run", "beat")


def was_room(name: str, file: str) -> bool:
    """Whether a file of this name, beside a room's `file`, once was that room: not its log, and nothing that was only
    being made."""
    return name.startswith(file + ".") and not name.endswith(("-wal", "-shm")) and ".new" not in name


def known_address(folder: str) -> str | None:
    """The address of a project's server, if this machine knows one. folder: where it keeps what belongs to it."""
    try:
        with open(os.path.join(folder, "address"), encoding="utf-8") as file:
            return file.read().strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise Refusal("STORAGE_FAILURE", f"The address in {folder} cannot be read; nothing was changed.") from error


def _opened(
    engine: SqliteEngine | PostgresEngine,
    project: str | None,
    *,
    home: str,
    clock: Clock,
    liveness: Liveness | None,
    upgrade: bool,
    make: bool = True,
) -> Room:
    _keep_private(home)
    try:
        engine.migrate(beginning(project, clock) if make and project else None, upgrade=upgrade)
        found = _check_identity(engine, project, clock)
    except BaseException:
        engine.close()
        raise
    beats = Beats(os.path.join(beat_folder(home), found))
    return Room(engine, found, home=home, clock=clock, liveness=liveness or Liveness(), beats=beats)


def is_home_of_others(home: str) -> bool:
    """Whether a home is a folder that others need as it is: a person's own, one above that, or one of the system's."""
    person = os.path.realpath(os.path.expanduser("~"))
    if f"{person}/".startswith(f"{home.rstrip('/')}/"):
        return True
    try:
        return home.count("/") <= _SHALLOW and not all(name.startswith(_OURS) for name in os.listdir(home))
    except OSError:
        return False


def _keep_private(home: str) -> None:
    """State is its owner's alone. Whoever opened the house to others may have opened all that is ours in it."""
    if not platforms.is_open(home):
        return
    if platforms.is_everybodys(home):
        raise Refusal(
            "STORAGE_CONFIGURATION", f"All users may write in {home}; name a folder of your own in CLEARWAY_HOME."
        )
    if is_home_of_others(home) or not platforms.keep_private(home):
        return
    try:
        names = os.listdir(home)
    except OSError:
        return  # opening says what is wrong
    for name in names:
        if name.startswith(_OURS):
            platforms.keep_all_private(os.path.join(home, name))


def beginning(project: str, clock: Clock) -> dict[str, Any]:
    """The first row of a new room."""
    return {
        "project_id": project,
        "wall": clock.wall(),
        "test_clock": int(type(clock) is not Clock),
        "boot": clock.boot(),
        "monotonic": clock.monotonic(),
        "room": clock.monotonic() if type(clock) is not Clock else clock.wall(),
    }


def _check_identity(engine: SqliteEngine | PostgresEngine, project: str | None, clock: Clock) -> str:
    """Whose room it is, which must be that project's."""
    session = engine.begin(writes=False)
    try:
        here = next(iter(session.rows(SQL.identity, {})), None)
    finally:
        session.rollback()
    if here is None or (project is not None and here.project_id != project):
        raise Refusal(
            "PROJECT_DATABASE_MISMATCH",
            f"The room at {engine.path} belongs to another project; restore the right file or remove it.",
        )
    if here.test_clock != int(type(clock) is not Clock):
        raise Refusal(
            "STORAGE_CONFIGURATION",
            "A room keeps the kind of clock it was made with; CLEARWAY_TEST_CLOCK is for tests.",
        )
    return here.project_id


def _adoption(operation: Operation, key: str | None, values: dict[str, Any]) -> Callable[[Tx], None]:
    """Whoever shows a valid token before its term holds the attempt or task: before time or a death can take it away.
    A request that was answered already takes nothing: it may come late, and from one who has handed it on since."""
    if "task_id" in values:
        from clearway.crew import taskleases

        return lambda tx: taskleases.adopt(tx, values["task_id"], values["lease_token"], values.get("result"))
    from clearway.work import attempts

    def adopt(tx: Tx) -> None:
        if key is None or _known(tx, operation, key) is None:
            attempts.adopt(tx, values["attempt_id"], values["lease_token"])

    return adopt


def _known(tx: Tx, operation: Operation, key: str) -> Row | None:
    """What was answered under this key to this caller."""
    return tx.one(SQL.answered, operation=operation.name, scope=_scope(tx, operation), key=key)


def _scope(tx: Tx, operation: Operation) -> str:
    return tx.caller.key if operation.keyed == "session" else tx.caller.agent


def _once(tx: Tx, operation: Operation, key: str, values: dict[str, Any]) -> dict[str, Any]:
    """Answer a keyed request once; the same request under the same key gets the same answer again, token included."""
    from clearway.op import defaults

    usual = defaults(operation.function)  # saying what goes without saying is the same request
    asked = token_hash(wire.dumps(sorted((name, value) for name, value in values.items() if value != usual.get(name))))
    known = _known(tx, operation, key)
    if known is not None:
        if known.request_hash != asked:
            raise Refusal(
                "IDEMPOTENCY_CONFLICT",
                "This idempotency key was used for another request; use a new key for a new request.",
            )
        reply = wire.loads(known.reply)
        if "fence" in reply and "attempt_id" in reply:
            from clearway.work import attempts

            attempts.replayed(tx, reply)
        return reply
    reply = operation.function(tx, **values)
    kept = {name: value for name, value in reply.items() if name != "lease_token"}
    tx.change(
        SQL.keep_answer,
        operation=operation.name,
        scope=_scope(tx, operation),
        key=key,
        request_hash=asked,
        reply=wire.dumps(kept),
        at=tx.now,
    )
    return reply


def _is_told(refusal: Refusal) -> bool:
    return refusal.evidence is not None or refusal.code in TOLD


def _tell_refusal(tx: Tx, refusal: Refusal) -> None:
    """Refusals about possession are told to the log, equal ones once a minute."""
    if refusal.evidence is not None:
        tx.tell("late_result", **refusal.evidence)
    if refusal.code not in TOLD:
        return
    subject = str(refusal.facts.get("path") or refusal.facts.get("issue") or refusal.facts.get("attempt_id") or "")
    subject = subject or str(refusal.facts.get("danger") or "")
    subject = subject or (f"#{refusal.facts['task_id']}" if "task_id" in refusal.facts else "")
    who = {"session": tx.caller.key, "code": refusal.code, "subject": subject}
    last = tx.one(SQL.refusal_told, **who)
    if last is not None and tx.now - last.told_at < REFUSAL_QUIET_MS:
        tx.change(SQL.pass_over, **who)
        return
    tx.change(SQL.note_refusal, **who, now=tx.now)
    repeated = {"repeated": last.passed_over} if last is not None and last.passed_over else {}
    tx.tell("refused", code=refusal.code, subject=subject, message=refusal.message, **repeated, **_in_the_way(refusal))


def _in_the_way(refusal: Refusal) -> dict[str, Any]:
    """Who had it, in which session, and until when as things stood: what the sentence says for people, as facts."""
    first, *_ = refusal.facts.get("conflicts") or [refusal.facts]
    named = (("holder", "agent"), ("holder_session", "session"), ("until", "until"))
    return {name: first[fact] for name, fact in named if first.get(fact)}


def _objection(rule: str) -> Refusal:
    """The database enforces too. What it says in the place of a rule of ours is translated here, once."""
    if "path_held" in rule:
        return Refusal("PATH_HELD", "One of these paths is held by another session; ask again to see by whom.")
    if "task_lease_live" in rule:
        return Refusal("TASK_NOT_LEASED", "This task is being done by another session; ask for another.")
    if "attempt_live" in rule:
        return Refusal("ACTIVE_ATTEMPT_EXISTS", "This issue is being worked on; ask for another.")
    return Refusal("INTERNAL", "The room refused an inconsistent change; nothing was changed.")
