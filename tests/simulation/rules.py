"""What must hold in every world after every step. Each rule speaks for itself and trusts no rule of the product.

The log is read once, event by event, and rebuilds who holds what; the tables must say the same. Beside it stands a
ledger of what was really seen to happen: when each lease was given and when its session last spoke.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.taskrules import TaskBroken, Tasks
from tests.simulation.worlds import HOST, World

from clearway import wire
from clearway.alive import Process
from clearway.db import Row, Statement

BEAT_MS = 15_000
RESOURCES = "@"
CALL_MS = 2 * 3_600_000
UNATTENDED_MS = 4 * 3_600_000


class Broken(TaskBroken):
    """A rule does not hold."""


def _statement(name: str, text: str) -> Statement:
    return Statement(name, text, text)


NEW_EVENTS = _statement(
    "new_events", "SELECT id, type, issue, attempt, session, agent, data FROM event WHERE id > :after ORDER BY id"
)
COUNTERS = _statement("counters", "SELECT last_event, last_fence, anchor_room, anchor_boot FROM room")
LIVE = _statement(
    "live",
    "SELECT id, issue, session, fence, lease_ms, expires_at, acted_at FROM attempt WHERE status = 'active'",
)
PATHS = _statement(
    "paths",
    "SELECT checkout, path, shown, mode, session, agent, named, thread, auto, seats, fence, lease_ms, expires_at "
    "FROM path_lease ORDER BY fence",
)
TASKS = _statement(
    "tasks",
    "SELECT t.id, t.state, l.fence, l.session FROM task t LEFT JOIN task_lease l ON l.task = t.id "
    "AND l.status = 'held' ORDER BY t.id",
)
TASK_LEASES = _statement(
    "task_leases",
    "SELECT 'task ' || fence AS id, session, fence, lease_ms, expires_at, acted_at FROM task_lease "
    "WHERE status = 'held'",
)
ISSUES = _statement("issues", "SELECT id, status, archived_wall IS NOT NULL AS archived FROM issue")
ATTEMPTS = _statement("attempts", "SELECT id, status FROM attempt")
PROCESS = _statement("process", "SELECT boot, pidns, pid, started FROM session WHERE id = :id")
ENDED = _statement("ended", "SELECT id FROM session WHERE ended_at IS NOT NULL")
DIGEST = tuple(
    _statement(f"digest_{table}", f"SELECT {columns} FROM {table} ORDER BY 1, 2")
    for table, columns in {
        "issue": "id, version, status, latest_event",
        "attempt": "id, session, status, fence, acted_at",
        "path_lease": "id, session, fence",
        "attempt_note": "id, content",
        "artifact": "id, uri",
        "task": "id, state, attempts, lapses",
        "task_lease": "fence, session, status, started",
        "message": "id, state, taken_by",
        "event": "id, type",
        "answered": "key, operation",
    }.items()
)


@dataclass
class PathHeld:
    """A path lease as the log tells it."""

    checkout: str
    path: str
    mode: str
    session: str
    agent: str
    auto: bool
    run: bool  # by a call, for as long as it runs


@dataclass
class IssueHeld:
    """A live attempt as the log tells it."""

    issue: str
    session: str
    agent: str
    fence: int


@dataclass
class Log:
    """The live state of a room, from its events alone."""

    last: int = 0
    fence: int = 0
    attempts: dict[str, IssueHeld] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    paths: dict[int, PathHeld] = field(default_factory=dict)
    issues: dict[str, str] = field(default_factory=dict)
    archived: set[str] = field(default_factory=set)
    tasks: Tasks = field(default_factory=Tasks)

    def read(self, events: Iterable[Row]) -> None:
        for event in events:
            if event.id != self.last + 1:
                raise Broken(f"event {event.id} follows event {self.last}")
            self.last = event.id
            self._take(event, wire.loads(event.data))

    def _take(self, event: Row, facts: dict[str, Any]) -> None:
        kind = event.type
        fence = self.tasks.take(event, facts)
        if fence is not None:
            self._new_fence(fence)
        if kind == "paths_claimed":
            for path in facts["paths"]:
                self._new_fence(path["fence"])
                self._claim(event, facts, path)
        elif kind == "paths_released":
            for path in facts["paths"]:
                held = self.paths.pop(path["fence"], None)
                if held is None or held.session != event.session:
                    raise Broken(f"event {event.id} releases {path}, which {event.session} does not hold")
        elif kind == "session_continued":
            for held in [*self.paths.values(), *self.attempts.values()]:
                if held.session == facts["from_session"]:
                    held.session = event.session
        elif kind == "attempt_started":
            self._new_fence(facts["fence"])
            if any(held.issue == event.issue for held in self.attempts.values()):
                raise Broken(f"event {event.id} starts a second attempt on {event.issue}")
            self.attempts[event.attempt] = IssueHeld(event.issue, event.session, event.agent, facts["fence"])
        elif kind == "attempt_adopted":
            self.attempts[event.attempt].session = event.session
            self.attempts[event.attempt].agent = event.agent
        elif kind in ("attempt_expired", "attempt_completed", "attempt_failed", "attempt_interrupted"):
            del self.attempts[event.attempt]
            self.ended[event.attempt] = kind.removeprefix("attempt_")
            if facts.get("target"):
                self.issues[event.issue] = facts["target"]
        elif kind in ("issue_created", "status_changed"):
            self.issues[event.issue] = facts["status"]
        elif kind == "issue_archived":
            self.archived.add(event.issue)
        elif kind == "issue_unarchived":
            self.archived.discard(event.issue)

    def _claim(self, event: Row, facts: dict[str, Any], path: dict[str, Any]) -> None:
        run = bool(facts["auto"]) and facts["purpose"] == "running"
        new = PathHeld(
            path["checkout"], path["path"], facts["mode"], event.session, event.agent, bool(facts["auto"]), run
        )
        for fence, held in list(self.paths.items()):  # claiming again replaces one's own lease
            same = (held.checkout, held.path, held.mode, held.session, held.run)
            if not run and same == (new.checkout, new.path, new.mode, new.session, False):
                del self.paths[fence]
        self.paths[path["fence"]] = new

    def _new_fence(self, fence: int) -> None:
        if fence <= self.fence:
            raise Broken(f"fence {fence} was given after {self.fence}")
        self.fence = fence


@dataclass
class Ledger:
    """What was seen to happen, in room time. spoke: at the latest; surely: a sign of life that must have arrived."""

    granted: dict[int, int] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    acted: dict[str, int] = field(default_factory=dict)
    perhaps_acted: dict[str, int] = field(default_factory=dict)
    calls: dict[str, dict[str, int]] = field(default_factory=dict)  # session: when each of its open calls began
    over: set[int] = field(default_factory=set)  # fences of leases that were past their term when their holder came
    ended: set[str] = field(default_factory=set)  # sessions that were over when the step began
    haunted: set[str] = field(default_factory=set)  # sessions that spoke although their process was gone
    spoke: dict[str, int] = field(default_factory=dict)
    surely: dict[str, list[int]] = field(default_factory=dict)

    def note_speech(self, session: str, now: int, *, surely: bool) -> None:
        self.spoke[session] = max(now, self.spoke.get(session, 0))
        if surely:
            self.surely.setdefault(session, []).append(now)

    def beat(self, session: str, now: int) -> int:
        """A time at which a sign of life had certainly arrived when the one who came at `now` was let in."""
        heard = [] if session in self.ended else self.surely.get(session, [])
        return max((at - BEAT_MS for at in heard if at < now), default=-BEAT_MS)

    def call_holds_until(self, session: str) -> int:
        """Until when the newest open call of a session holds what it has, if its client lives."""
        return max(self.calls.get(session, {}).values(), default=-CALL_MS) + CALL_MS

    def path_may_live(self, lease: Row) -> int:
        """Until when this lease may live at the most."""
        if lease.fence in self.over:
            return 0
        last = self.granted[lease.fence]
        if not lease.named:
            last = max(last, self.spoke.get(lease.session, 0))
        return last + lease.lease_ms

    def attempt_may_live(self, attempt: Row) -> int:
        if attempt.fence in self.over:
            return 0
        acted = max(self._acted(attempt.fence, attempt.id), self.perhaps_acted.get(attempt.id, 0))
        spoke = self.spoke.get(attempt.session, 0)
        return max(acted, min(spoke, acted + UNATTENDED_MS)) + attempt.lease_ms

    def path_must_live(self, fence: int, session: str, now: int) -> int:
        """Until when this lease must live at the least, unless it is given back or its holder dies."""
        return max(self.granted[fence], self.beat(session, now)) + self.lengths[fence]

    def attempt_must_live(self, fence: int, session: str, attempt: str, now: int) -> int:
        acted = self._acted(fence, attempt)
        beat = self.beat(session, now)
        return max(acted, min(beat, acted + UNATTENDED_MS)) + self.lengths[fence]

    def _acted(self, fence: int, attempt: str) -> int:
        return max(self.granted[fence], self.acted.get(attempt, 0))


def overlap(one: str, other: str) -> bool:
    """Whether one of two paths is the other or lies above it, part by part."""
    first, second = (() if path == "." else tuple(path.split("/")) for path in (one, other))
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


def exclude(one: Row, other: Row) -> bool:
    """Whether two leases may not be held at once."""
    if one.session == other.session or one.checkout != other.checkout or one.mode == other.mode == "run":
        return False
    if one.checkout == RESOURCES and one.seats + other.seats > 2:
        return False  # counted: see _check_seats
    if one.agent == other.agent and (one.named or other.named):
        return False
    return overlap(one.path, other.path)


class Watch:
    """Looks at a world after every step, and says what is broken."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.log = Log()
        self.ledger = Ledger()
        self.written = 0
        self.anchored = True  # somebody has written since the machine was started

    def look(self, *, now: int) -> None:
        """Read what is new in the log and compare it with the tables."""
        before = self.log.fence
        new = self.world.rows(NEW_EVENTS, after=self.log.last)
        for event in new:
            self._check_end(event, wire.loads(event.data), now)
            self.log.read([event])
        taken = [*self.log.attempts.values(), *self.log.tasks.held.values()]
        for fence in [held.fence for held in taken] + list(self.log.paths):
            if fence > before:
                self.ledger.granted.setdefault(fence, now)
        self._compare_counters(now)
        live, paths = self.world.rows(LIVE), self.world.rows(PATHS)
        tasks = self.world.rows(TASK_LEASES)
        self.ledger.lengths.update({lease.fence: lease.lease_ms for lease in live + paths + tasks})
        self.ledger.ended = {row.id for row in self.world.rows(ENDED)}
        self._compare_attempts(live)
        self._compare_paths(paths)
        self._compare_issues()
        self.log.tasks.compare(self.world.rows(TASKS))

    def settled(self, *, now: int) -> None:
        """After a write: nothing may live that is past its term, whatever has carried it."""
        for lease in self.overdue(now):
            raise Broken(f"{lease.session} still holds this at {now}: {lease}")
        for lease in self.world.rows(PATHS) + self._taken():
            if not lease.session.startswith("=") and self._is_dead(lease.session):
                raise Broken(f"{lease.session} is dead and holds {lease}")

    def overdue(self, now: int) -> list[Row]:
        """The leases and attempts that nothing carries any more, whether or not anybody has noticed."""
        ledger = self.ledger
        found = [lease for lease in self.world.rows(PATHS) if ledger.path_may_live(lease) <= now]
        found += [taken for taken in self._taken() if ledger.attempt_may_live(taken) <= now]
        return [lease for lease in found if lease.fence in ledger.over or not self._is_calling(lease.session, now)]

    def is_over(self, fence: int) -> bool:
        """Whether this lease was past its term when its holder came."""
        return fence in self.ledger.over

    def _taken(self) -> list[Row]:
        """Issues and tasks in somebody's hands."""
        return self.world.rows(LIVE) + self.world.rows(TASK_LEASES)

    def _is_calling(self, session: str, now: int, *, surely: bool = False) -> bool:
        """Whether a call of this session is open, and its client there to make it. surely: the room knows it, too."""
        alive = any(
            client.session == session and self.world.processes.lives(client.pid) for client in self.world.clients
        )
        if surely:
            alive = alive and not self._is_dead(session)
        return alive and now < self.ledger.call_holds_until(session)

    def _is_dead(self, session: str) -> bool:
        """Whether the process that the room knows for a session is gone."""
        (known,) = self.world.rows(PROCESS, id=session)
        return self.world.processes.is_dead(HOST, Process(known.boot, known.pidns, known.pid, known.started))

    def before_speech(self, session: str, now: int) -> None:
        """A sign of life that comes too late carries nothing: what is over stays so, whoever notices first."""
        self.ledger.over.update(lease.fence for lease in self.overdue(now) if lease.session == session)

    def rows_of(self, session: str) -> list[Row]:
        """The path leases of a session."""
        return [lease for lease in self.world.rows(PATHS) if lease.session == session]

    def ends(self, session: str | None = None) -> list[int]:
        """When the leases of all, or of one session, are over by what is stored."""
        live = self.world.rows(PATHS) + self._taken()
        return [lease.expires_at for lease in live if session in (None, lease.session)]

    def digest(self) -> list[list[Row]]:
        """All that a question can change, signs of life aside."""
        return [self.world.rows(statement) for statement in DIGEST]

    def _check_end(self, event: Row, facts: dict[str, Any], now: int) -> None:
        """Nothing is taken from anybody too early, nor for a reason that is not so."""
        if event.type == "session_ended":
            self.ledger.surely.pop(event.session, None)  # beats carry no longer
        if facts.get("why") == "lapse" and self._is_calling(event.session, now, surely=True):
            raise Broken(f"{event.session} lost {facts} in the middle of a call")
        if event.type == "session_ended":
            self.ledger.calls.pop(event.session, None)
        if event.type == "paths_released":
            for path in facts["paths"]:
                self._check_path_end(event, facts["why"], path["fence"], now)
        elif event.type == "attempt_expired":
            until = self.ledger.attempt_must_live(facts["fence"], event.session, event.attempt, now)
            if facts["why"] == "lapse" and now < until:
                raise Broken(f"{event.session} lost {event.issue} at {now}, {until - now} ms early")
        elif event.type == "task_lapsed":
            until = self.ledger.attempt_must_live(facts["fence"], event.session, f"task {facts['fence']}", now)
            if facts["why"] == "lapse" and now < until:
                raise Broken(f"{event.session} lost task {facts['task']} at {now}, {until - now} ms early")
        if facts.get("why") == "death" and event.session not in self.ledger.haunted:
            if not self._is_dead(event.session):
                raise Broken(f"{event.session} was taken for dead and lives")

    def _check_path_end(self, event: Row, why: str, fence: int, now: int) -> None:
        held = self.log.paths.get(fence)
        if why == "lapse" and now < (until := self.ledger.path_must_live(fence, event.session, now)):
            raise Broken(f"{event.session} lost {held} at {now}, {until - now} ms early")
        if why == "turn_ended" and held is not None and not held.auto:
            raise Broken(f"{event.session} lost {held} at the end of a turn")

    def _compare_counters(self, now: int) -> None:
        (room,) = self.world.rows(COUNTERS)
        if room.last_event != self.log.last:
            raise Broken(f"the room counts {room.last_event} events, the log has {self.log.last}")
        if room.last_fence != self.log.fence:
            raise Broken(f"the room counts {room.last_fence} fences, the log {self.log.fence}")
        if room.anchor_room < self.written or now < room.anchor_room:
            raise Broken(f"room time was written as {self.written} and then {room.anchor_room}, and is {now}")
        self.written = room.anchor_room
        self.anchored = room.anchor_boot == self.world.machine.boot()

    def _compare_attempts(self, live: list[Row]) -> None:
        if len({attempt.issue for attempt in live}) < len(live):
            raise Broken(f"two live attempts on one issue: {live}")
        stored = {attempt.id: (attempt.issue, attempt.session, attempt.fence) for attempt in live}
        told = {attempt: (held.issue, held.session, held.fence) for attempt, held in self.log.attempts.items()}
        if stored != told:
            raise Broken(f"attempts: the tables say {stored}, the log says {told}")
        ended = {attempt.id: attempt.status for attempt in self.world.rows(ATTEMPTS) if attempt.status != "active"}
        if ended != self.log.ended:
            raise Broken(f"ended attempts: the tables say {ended}, the log says {self.log.ended}")

    def _compare_paths(self, paths: list[Row]) -> None:
        for place, one in enumerate(paths):
            for other in paths[place + 1 :]:
                if exclude(one, other):
                    raise Broken(f"two hold one path: {one} and {other}")
        self._check_seats([lease for lease in paths if lease.checkout == RESOURCES])
        stored = {lease.fence: (lease.checkout, lease.shown, lease.mode, lease.session) for lease in paths}
        told = {fence: (held.checkout, held.path, held.mode, held.session) for fence, held in self.log.paths.items()}
        if stored != told:
            raise Broken(f"paths: the tables say {stored}, the log says {told}")

    def _check_seats(self, taken: list[Row]) -> None:
        """No more sessions hold a counted resource than the most modest of them says; a holder's name counts as one."""
        for path in {lease.path for lease in taken}:
            here = [lease for lease in taken if lease.path == path and lease.mode == "edit"]
            shared = {lease.agent for lease in here if lease.named}
            holders = {lease.agent if lease.agent in shared else lease.session for lease in here}
            if here and len(holders) > min(lease.seats for lease in here):
                raise Broken(f"{len(holders)} hold {path}: {here}")

    def _compare_issues(self) -> None:
        rows = self.world.rows(ISSUES)
        stored = {issue.id: issue.status for issue in rows}
        if stored != self.log.issues:
            raise Broken(f"issues: the tables say {stored}, the log says {self.log.issues}")
        archived = {issue.id for issue in rows if issue.archived}
        if archived != self.log.archived:
            raise Broken(f"archived: the tables say {archived}, the log says {self.log.archived}")
