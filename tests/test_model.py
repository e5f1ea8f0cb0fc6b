"""The rules of leases, said a second time in a few dictionaries, and compared with a room step by step.

Hypothesis chooses who claims, renews, edits, leaves and dies, and how time moves; the model says what must come of it.
All times are whole multiples of the 15 s between two signs of life, so the model need not know how often they are kept.
`CLEARWAY_TEST_DEEP=1` looks much further, and elsewhere in every run.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.simulation.rules import overlap
from tests.simulation.worlds import Client, World

from clearway import repository
from clearway.crew import agents, leases
from clearway.errors import Refusal
from clearway.guard import verdict

DEEP = bool(os.environ.get("CLEARWAY_TEST_DEEP"))
HOUR = 3_600_000
UNATTENDED = 4 * HOUR
PATHS = ("src/a.py", "src", "src.py", "src/lib", "src/lib0", ".")
PRIORITIES = ("low", "medium", "high", "critical")
MOVES = (15, 30, 45, 60, 300, 885, 900, 1_785, 1_800, 3_600, 14_400)

clients = st.integers(0, 5)
paths = st.sampled_from(PATHS)
few_paths = st.lists(paths, min_size=1, max_size=2, unique=True)
issue_terms = st.sampled_from((30, 60, 900, 3_600))
path_terms = st.sampled_from((15, 60, 1_800, 28_800))
modes = st.sampled_from(("edit", "edit", "run"))
threads = st.sampled_from(("", "", "helper"))
picks = st.integers(0, 99)


@dataclass
class Session:
    """A session, a named holder or the human, as the model knows it."""

    key: str
    agent: str
    named: bool
    beat: int = 0
    ended: bool = False
    known: bool = False


@dataclass
class Lease:
    """Possession of an issue (an attempt) or of a path."""

    holder: Session
    expires: int
    length: int
    acted: int = 0
    issue: str = ""
    attempt: str = ""
    token: str = ""
    checkout: str = ""
    path: str = ""
    mode: str = ""
    auto: bool = False
    thread: str = ""
    order: int = 0

    def lives_until(self) -> int:
        """Its expiry, or as long as its session keeps giving signs of life: an attempt only so long without an act."""
        holder = self.holder
        if holder.named or holder.ended:
            return self.expires
        beat = min(holder.beat, self.acted + UNATTENDED) if self.issue else holder.beat
        return max(self.expires, beat + self.length)


@dataclass
class Model:
    """Who holds what. `now` is room time; `dead` are the keys of sessions whose process is gone."""

    now: int
    sessions: dict[str, Session] = field(default_factory=dict)
    issues: dict[str, tuple[int, int, str]] = field(default_factory=dict)  # id: (priority, number, status)
    attempts: list[Lease] = field(default_factory=list)
    held: list[Lease] = field(default_factory=list)
    dead: set[str] = field(default_factory=set)
    failures: dict[str, int] = field(default_factory=dict)  # issue: how many attempts at it came to nothing
    order: int = 0

    def live_attempts(self) -> list[Lease]:
        return [lease for lease in self.attempts if self._lives(lease)]

    def live_paths(self) -> list[Lease]:
        attempts = {lease.attempt for lease in self.live_attempts()}
        return [lease for lease in self.held if self._lives(lease) and (not lease.attempt or lease.attempt in attempts)]

    def read_by(self, session: Session) -> None:
        """Somebody asks: what it held and is over stays over; then it has given a sign of life."""
        late = any(lease.holder is session and lease.lives_until() <= self.now for lease in self.attempts + self.held)
        if late:
            self.write_by(session)
        session.beat = self.now

    def write_by(self, session: Session, token: Lease | None = None) -> None:
        """Somebody writes: a valid token comes first, then time passes for everybody, then the dead go."""
        if token is not None and token in self.attempts and token.lives_until() > self.now:
            token.holder = session
        for lease in self.attempts + self.held:
            if lease.expires <= self.now:
                lease.expires = lease.lives_until()
        attempts = [lease for lease in self.attempts if lease.expires > self.now]
        self._keep(attempts, [lease for lease in self.held if lease.expires > self.now])
        for key in [key for key in self.dead if key in self.sessions]:
            gone = self.sessions[key]
            if gone.known:
                self._keep([lease for lease in self.attempts if lease.holder is not gone], self.held)
                self.held = [lease for lease in self.held if lease.holder is not gone]
                gone.ended = True
        session.known, session.ended, session.beat = True, False, self.now

    def end(self, lease: Lease) -> None:
        """An attempt is over, and what was claimed for it goes with it."""
        self._keep([other for other in self.attempts if other is not lease], self.held)

    def in_the_way(self, session: Session, checkout: str, path: str, mode: str) -> list[Lease]:
        return [
            lease
            for lease in self.live_paths()
            if lease.checkout == checkout
            and lease.holder is not session
            and not (lease.holder.agent == session.agent and (lease.holder.named or session.named))
            and not (lease.mode == mode == "run")
            and overlap(lease.path, path)
        ]

    def covers(self, session: Session, checkout: str, path: str) -> bool:
        return any(
            lease.checkout == checkout
            and (lease.holder is session or (lease.holder.agent == session.agent and lease.holder.named))
            and lease.mode == "edit"
            and (lease.path in (path, ".") or path.startswith(lease.path + "/"))
            for lease in self.live_paths()
        )

    def grant(
        self, session: Session, checkout: str, path: str, mode: str, seconds: int, *, auto: bool, thread: str
    ) -> None:
        mine = [lease for lease in self.attempts if lease.holder is session]
        current = max(mine, key=lambda lease: (lease.acted, lease.order), default=None)
        self.held = [
            lease
            for lease in self.held
            if (lease.checkout, lease.path, lease.mode, lease.holder) != (checkout, path, mode, session)
        ]
        self.held.append(
            Lease(
                session,
                self.now + seconds * 1_000,
                seconds * 1_000,
                attempt="" if current is None else current.attempt,
                checkout=checkout,
                path=path,
                mode=mode,
                auto=auto,
                thread=thread,
            )
        )

    def best(self) -> str | None:
        """The issue that `next` must choose; what failed three times in a row waits for a person."""
        taken = {lease.issue for lease in self.live_attempts()}
        free = [
            (-priority, number, issue)
            for issue, (priority, number, status) in self.issues.items()
            if status == "ready" and issue not in taken and self.failures.get(issue, 0) < 3
        ]
        return min(free)[2] if free else None

    def _lives(self, lease: Lease) -> bool:
        return lease.lives_until() > self.now and lease.holder.key not in self.dead

    def _keep(self, attempts: list[Lease], held: list[Lease]) -> None:
        ended = {lease.attempt for lease in self.attempts} - {lease.attempt for lease in attempts}
        for lease in self.attempts:
            if lease.attempt in ended:  # completed ones are done, and never chosen again
                self.failures[lease.issue] = self.failures.get(lease.issue, 0) + 1
        self.attempts = attempts
        self.held = [lease for lease in held if lease.attempt not in ended]


class Rooms(RuleBasedStateMachine):
    """A room and the model of it, side by side."""

    dsn: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="model-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.world = World("model", self.folder, self.dsn)
        one, two = self.world.checkouts
        self.world.clients = [
            Client("claude-code", one, 0),
            Client("claude-code", one, 1),
            Client("codex", one, 2),
            Client("gemini", two, 0),
            Client("codex", one, 1),
            Client("human", one, 2, human=True),
        ]
        for client in self.world.clients[:4]:
            self.world.start(client)
        self.model = Model(self.world.now())
        self.past: list[Lease] = []  # every attempt there ever was, with its token

    def teardown(self) -> None:
        self.world.close()
        shutil.rmtree(self.folder)

    # --- work -----------------------------------------------------------------------------------------------------

    @initialize()
    def there_is_work(self) -> None:
        for priority in (1, 3, 1):
            self.create(0, priority, True)

    @rule(who=clients, priority=st.integers(0, 3), ready=st.sampled_from((True, True, False)))
    def create(self, who: int, priority: int, ready: bool) -> None:
        client, session = self._speaker(who)
        self.model.write_by(session)
        status = "ready" if ready else "open"
        reply = self._ask(client, "create_issue", title="Work", priority=PRIORITIES[priority], status=status)
        number = int(reply["display_id"].removeprefix("ISSUE-"))
        self.model.issues[reply["issue_id"]] = (priority, number, status)

    @rule(who=clients, pick=picks, seconds=issue_terms)
    def claim(self, who: int, pick: int, seconds: int) -> None:
        if self.model.issues:
            self._claim(who, sorted(self.model.issues)[pick % len(self.model.issues)], seconds)

    @rule(who=clients, seconds=issue_terms)
    def claim_next(self, who: int, seconds: int) -> None:
        self._claim(who, None, seconds)

    @precondition(lambda self: self.past)
    @rule(who=clients, pick=picks, seconds=st.none() | issue_terms)
    def renew(self, who: int, pick: int, seconds: int | None) -> None:
        """Whoever has the token may renew, from any session."""
        lease = self.past[-1 - pick % len(self.past)]
        client, accepted = self._show_token(who, lease)
        given = {"lease_seconds": seconds} if seconds else {}
        reply = self._ask(client, "renew_attempt", attempt_id=lease.attempt, lease_token=lease.token, **given)
        self._same(reply, accepted, lease)
        if accepted:
            lease.length = seconds * 1_000 if seconds else lease.length
            lease.acted, lease.expires = self.model.now, self.model.now + lease.length

    @precondition(lambda self: self.past)
    @rule(who=clients, pick=picks)
    def note(self, who: int, pick: int) -> None:
        lease = self.past[-1 - pick % len(self.past)]
        client, accepted = self._show_token(who, lease)
        given = {"attempt_id": lease.attempt, "lease_token": lease.token, "kind": "progress", "content": "On it."}
        self._same(self._ask(client, "save_attempt_note", **given), accepted, lease)
        if accepted:
            lease.acted = self.model.now
            lease.expires = max(lease.expires, self.model.now + lease.length)

    @precondition(lambda self: self.past)
    @rule(who=clients, pick=picks, done=st.booleans())
    def finish(self, who: int, pick: int, done: bool) -> None:
        lease = self.past[-1 - pick % len(self.past)]
        client, accepted = self._show_token(who, lease)
        how = (
            {"outcome": "completed", "target_issue_status": "done"}
            if done
            else {"outcome": "failed", "failure_reason_code": "other"}
        )
        given = {"attempt_id": lease.attempt, "lease_token": lease.token, "result_summary": "Over.", **how}
        self._same(self._ask(client, "finish_attempt", **given), accepted, lease)
        if accepted:
            self.model.end(lease)
            if done:
                priority, number, _ = self.model.issues[lease.issue]
                self.model.issues[lease.issue] = (priority, number, "done")

    @precondition(lambda self: self.past)
    @rule(who=clients, pick=picks)
    def guess(self, who: int, pick: int) -> None:
        """A wrong token opens nothing and takes nothing, from whomever it comes."""
        lease = self.past[-1 - pick % len(self.past)]
        client, session = self._speaker(who)
        self.model.write_by(session)
        alive = lease in self.model.attempts
        reply = self._ask(client, "renew_attempt", attempt_id=lease.attempt, lease_token=f"{lease.token[:-2]}xx")
        assert _code(reply) in (("INVALID_LEASE_TOKEN",) if alive else ("LEASE_EXPIRED", "ATTEMPT_NOT_ACTIVE"))
        if alive:
            shown = self.world.observe("get_issue", issue_id=lease.issue)
            assert shown["attempt"]["session"] == lease.holder.key

    # --- paths ----------------------------------------------------------------------------------------------------

    @rule(who=clients, wanted=few_paths, mode=modes, seconds=path_terms)
    def claim_paths(self, who: int, wanted: list[str], mode: str, seconds: int) -> None:
        client, session = self._speaker(who)
        self.model.write_by(session)
        refused = any(self.model.in_the_way(session, client.folder, path, mode) for path in wanted)
        reply = self._ask(client, "claim_paths", paths=wanted, mode=mode, ttl_seconds=seconds)
        assert _code(reply) == ("PATH_HELD" if refused else "")
        for path in [] if refused else wanted:
            self.model.grant(session, client.folder, path, mode, seconds, auto=False, thread="")

    @rule(one=clients, other=clients, first=paths, second=paths, one_mode=modes, other_mode=modes)
    def two_meet(self, one: int, other: int, first: str, second: str, one_mode: str, other_mode: str) -> None:
        self.claim_paths(one, [first], one_mode, 60)
        self.claim_paths(other, [second], other_mode, 60)

    @rule(who=clients, path=paths, thread=threads)
    def edit(self, who: int, path: str, thread: str) -> None:
        """What a hook does before a file is written: look, and claim what is free."""
        client, session = self._speaker(who)
        client.thread = thread
        place = repository.locate(path, client.folder, str(self.folder), self.world.machine)
        refused = bool(self.model.in_the_way(session, client.folder, path, "edit"))
        covered = self.model.covers(session, client.folder, path)
        reply = self._run(client, lambda tx: verdict.look(tx, [place]), writes=False)
        assert _code(reply) == ("PATH_HELD" if refused else "")
        if not refused:
            assert bool(reply) is not covered
            self.model.read_by(session)
        if refused or reply:
            self.model.write_by(session)
            assert _code(self._run(client, lambda tx: verdict.claim(tx, [place]))) == ("PATH_HELD" if refused else "")
            if not refused:
                self.model.grant(session, client.folder, path, "edit", 1_800, auto=True, thread=thread)
        client.thread = ""

    @rule(who=clients, path=st.none() | paths)
    def release(self, who: int, path: str | None) -> None:
        client, session = self._speaker(who)
        self.model.write_by(session)
        mine = [
            lease
            for lease in self.model.held
            if (path is None and lease.holder is session)
            or (
                path is not None
                and (lease.holder is session or (lease.holder.named and lease.holder.agent == session.agent))
                and lease.checkout == client.folder
                and (path in (".", lease.path) or lease.path.startswith(f"{path}/"))
            )
        ]
        not_mine = path is not None and not mine and self.model.in_the_way(session, client.folder, path, "edit")
        reply = self._ask(client, "release_paths", **({} if path is None else {"paths": [path]}))
        assert _code(reply) == ("NOT_YOURS" if not_mine else "")
        if not not_mine:
            assert sorted(reply["released"]) == sorted(lease.path for lease in mine)
            self.model.held = [lease for lease in self.model.held if lease not in mine]

    @rule(who=clients, thread=threads)
    def end_turn(self, who: int, thread: str) -> None:
        client, session = self._speaker(who)
        self.model.write_by(session)
        self._run(client, lambda tx: leases.end_turn(tx, thread))
        self.model.held = [
            lease
            for lease in self.model.held
            if not (lease.holder is session and lease.auto and lease.thread == thread)
        ]

    # --- sessions and time ------------------------------------------------------------------------------------------

    @rule(who=clients)
    def look_around(self, who: int) -> None:
        client, session = self._speaker(who)
        self._ask(client, "path_owner", path="src/a.py")
        self.model.read_by(session)

    @precondition(lambda self: self.model.attempts + self.model.held)
    @rule(pick=picks, tenths=st.sampled_from((1, 3, 24, 25)))
    def works_long(self, pick: int, tenths: int) -> None:
        """Hours of tool calls without a word about the issue: every ten minutes a sign of life."""
        held = self.model.attempts + self.model.held
        holder = held[pick % len(held)].holder
        who = next(
            (n for n, client in enumerate(self.world.clients) if self.world.caller(client).key == holder.key), -1
        )
        for _ in range(tenths if who >= 0 else 0):
            self.time_passes(600)
            self.look_around(who)

    @rule(who=st.integers(0, 3))
    def leave(self, who: int) -> None:
        client, session = self._speaker(who)
        self.model.write_by(session)
        self._run(client, lambda tx: agents.leave(tx, "ended"))
        self.model.held = [lease for lease in self.model.held if lease.holder is not session]
        session.ended = True

    @rule(who=st.integers(0, 3), again=st.sampled_from(("no", "same", "new")))
    def die(self, who: int, again: str) -> None:
        """kill -9; and perhaps the client is started again before anybody has noticed."""
        client = self.world.clients[who]
        assert client.pid is not None
        assert client.session is not None
        self.world.processes.kill(client.pid)
        self.model.dead.add(client.session)
        if again != "no":
            self._start(client, same=again == "same")

    @rule(seconds=st.sampled_from(MOVES))
    def time_passes(self, seconds: int) -> None:
        self.world.machine.pass_time(seconds * 1_000)
        self.model.now += seconds * 1_000

    @precondition(lambda self: self.model.attempts + self.model.held)
    @rule(pick=picks)
    def something_ends(self, pick: int) -> None:
        """Time goes to the very moment at which a lease is over."""
        ends = sorted({lease.lives_until() for lease in self.model.attempts + self.model.held})
        ahead = [end - self.model.now for end in ends if end > self.model.now]
        if ahead:
            self.time_passes(ahead[pick % len(ahead)] // 1_000)

    @precondition(lambda self: self.model.attempts + self.model.held)
    @rule(pick=picks, bye=st.booleans(), writes=st.booleans())
    def comes_back_late(self, pick: int, bye: bool, writes: bool) -> None:
        """A holder is silent until what it held is over, perhaps after a good-bye, and is the first to speak then."""
        held = self.model.attempts + self.model.held
        holder = held[pick % len(held)].holder
        who = next(
            (n for n, client in enumerate(self.world.clients) if self.world.caller(client).key == holder.key), -1
        )
        if who < 0:
            return
        if bye and who < 4:
            self.leave(who)
        client, session = self._speaker(who)
        until = max([lease.lives_until() for lease in held if lease.holder is session], default=0)
        self.time_passes(max(0, until - self.model.now) // 1_000)
        (self.model.write_by if writes else self.model.read_by)(session)
        self._run(client, lambda tx: None, writes=writes)

    @rule(hours=st.sampled_from((-700, -1, 1, 700)))
    def the_wall_clock_is_set(self, hours: int) -> None:
        self.world.machine.set_wall(hours * HOUR)

    # --- both agree -------------------------------------------------------------------------------------------------

    @invariant()
    def both_see_the_same(self) -> None:
        listed = self.world.observe("list_issues", limit=100)["items"]
        names = {f"ISSUE-{number}": issue for issue, (_, number, _) in self.model.issues.items()}
        seen = {names[item["display_id"]]: item["held_by"] for item in listed if item.get("held_by")}
        assert seen == {lease.issue: lease.holder.agent for lease in self.model.live_attempts()}
        shown = self.world.observe("room")["paths"]
        assert sorted((path["path"], path["mode"], path["session"]) for path in shown) == sorted(
            (lease.path, lease.mode, lease.holder.key) for lease in self.model.live_paths()
        )

    # --- within -----------------------------------------------------------------------------------------------------

    def _speaker(self, who: int) -> tuple[Client, Session]:
        """Only a client that lives speaks: one that died is started again first, going on with its session."""
        client = self.world.clients[who]
        if client.session is not None and not self.world.processes.lives(client.pid):
            self._start(client, same=True)
        key = self.world.caller(client).key
        session = self.model.sessions.setdefault(key, Session(key, client.name, client.session is None))
        return client, session

    def _start(self, client: Client, *, same: bool) -> None:
        before = client.session
        self.world.start(client, before if same else None)
        if same and before is not None:
            self.model.dead.discard(before)
            client_caller = self.world.caller(client)  # it says at once where it runs now
            session = self.model.sessions.setdefault(client_caller.key, Session(client_caller.key, client.name, False))
            self.model.write_by(session)
            self._run(client, lambda tx: None)

    def _claim(self, who: int, issue: str | None, seconds: int) -> None:
        client, session = self._speaker(who)
        self.model.write_by(session)
        wanted = issue or self.model.best()
        holder = next((lease for lease in self.model.attempts if lease.issue == wanted), None)
        given = {"next": True} if issue is None else {"issue_id": issue}
        reply = self._ask(client, "claim_issue", lease_seconds=seconds, context=False, **given)
        if wanted is None:
            assert _code(reply) == "NOTHING_TO_CLAIM"
        elif holder is not None and holder.holder is session:
            assert (reply["attempt_id"], reply["lease_token"], reply["resumed"]) == (holder.attempt, holder.token, True)
        elif holder is not None:
            assert _code(reply) == "ACTIVE_ATTEMPT_EXISTS"
        elif self.model.issues[wanted][2] != "ready":
            assert _code(reply) == "ISSUE_NOT_CLAIMABLE"
        else:
            assert (_code(reply), reply["issue_id"]) == ("", wanted)
            self.model.order += 1
            length = seconds * 1_000
            lease = Lease(session, self.model.now + length, length, self.model.now, wanted, order=self.model.order)
            lease.attempt, lease.token = reply["attempt_id"], reply["lease_token"]
            self.model.attempts.append(lease)
            self.past.append(lease)

    def _show_token(self, who: int, lease: Lease) -> tuple[Client, bool]:
        client, session = self._speaker(who)
        self.model.write_by(session, lease)
        return client, lease in self.model.attempts

    def _same(self, reply: Any, accepted: bool, lease: Lease) -> None:
        if accepted:
            assert _code(reply) == ""
        else:
            assert _code(reply) in ("LEASE_EXPIRED", "ATTEMPT_NOT_ACTIVE")

    def _ask(self, client: Client, operation: str, **arguments: Any) -> Any:
        try:
            return self.world.ask(client, operation, arguments)
        except Refusal as refusal:
            return refusal

    def _run(self, client: Client, act: Any, *, writes: bool = True) -> Any:
        try:
            return self.world.run(client, act, writes=writes)
        except Refusal as refusal:
            return refusal


def _code(reply: Any) -> str:
    return reply.code if isinstance(reply, Refusal) else ""


def _bounds(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples * (50 if DEEP else 1),
        stateful_step_count=steps * (2 if DEEP else 1),
        derandomize=not DEEP,
        report_multiple_bugs=False,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        phases=[Phase.generate, Phase.shrink],
    )


def test_a_room_in_a_file_does_what_the_model_says() -> None:
    run_state_machine_as_test(Rooms, settings=_bounds(110, 60))


def test_a_room_on_postgres_does_what_the_model_says(postgres_dsn: str) -> None:
    on_server = type("RoomsOnServer", (Rooms,), {"dsn": postgres_dsn})
    run_state_machine_as_test(on_server, settings=_bounds(8, 50))
