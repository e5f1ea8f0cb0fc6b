"""What clients and the world around them do. A deed is chosen by name and four numbers, whatever state the world is in.

So a story can be cut anywhere and still be played: a deed that has nothing to act on does nothing. Every answer is
checked here against what the log said before it was asked; what must hold afterwards is looked at in rules.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from tests.simulation import taskdeeds
from tests.simulation.rules import Broken, PathHeld, Watch, overlap
from tests.simulation.worlds import DAY, Claim, Client, Killed, Request, World

from clearway import catalog, repository
from clearway.crew import agents, leases
from clearway.errors import Refusal
from clearway.guard import verdict
from clearway.lifecycle import FAILURE_CODES, INTERRUPTION_CODES, PRIORITIES, WORK_TARGETS

MINUTE = 60_000
HOUR = 60 * MINUTE
# Names that are easily taken for each other: a folder and its neighbours before and after the separator.
PATHS = (
    "src/a.py", "src/b.py", "src/lib/c.py", "src", "src/lib", "docs/x.md", "src/lib0", "src.py", "src-old/a.py", "docs",
    ".", "README.md",
)  # fmt: skip
RESOURCES = ("@gpu", "@build:2", "@build:2")
TERMS = (1, 30, 60, 1_800, 28_800)
LEASES = (30, 60, 900, 3_600)
LITTLE = (1, 999, 5_000, 14_999, 15_000, 15_001, 29_999, 30_000, 31_000, 60_000)
LONG = (5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 4 * HOUR, 8 * HOUR)
JUMPS = (-30 * DAY, -HOUR, -MINUTE, MINUTE, HOUR, 30 * DAY, 400 * DAY)
WORKED = (2, 6, 24, 25, 30)  # times ten minutes
NAPS = (10 * MINUTE, 10 * HOUR, 3 * DAY)
AWAY = (-HOUR, 0, MINUTE, 40 * MINUTE, DAY, 8 * DAY)
UNTOLD = frozenset({"INTERNAL", "STORAGE_FAILURE", "STORAGE_BUSY", "STORAGE_CORRUPT", "STORAGE_MIGRATION"})


class Step(NamedTuple):
    """One deed, by whom, and three numbers that decide the rest."""

    deed: str
    who: int
    x: int
    y: int
    z: int


class Story:
    """One world while it is played."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.watch = Watch(world)
        self.now = world.now()
        self._free_of: dict[int, list[repository.Place]] = {}  # a hook has looked and has yet to claim

    def play(self, step: Step) -> None:
        """One step, and everything that must hold after it."""
        client = self.world.clients[step.who % len(self.world.clients)]
        self.now = self.world.now()
        if step.z % 5 and step.deed in _BY_THE_LIVING:
            self.start(client, step)
        _DEEDS[step.deed](self, client, step)
        self.now = self.world.now()
        self.watch.look(now=self.now)
        if step.z % 3 == 0:
            self._settle()

    # --- speaking -------------------------------------------------------------------------------------------------

    def ask(self, client: Client, operation: str, **arguments: Any) -> dict[str, Any] | Refusal:
        given = {name: value for name, value in arguments.items() if value is not None}
        return self.speak(client, lambda: self.world.ask(client, operation, given))

    def speak(self, client: Client, act: Callable[[], Any], paths: Collection[str] = (), mode: str = "edit") -> Any:
        """Let a client ask; the answer, or the refusal. Nothing else may come of a question."""
        if client.session is not None and not self.world.processes.lives(client.pid):
            self.watch.ledger.haunted.add(client.session)
        key = self.world.caller(client).key
        if client.session is not None:  # a name without a client gives no sign of life
            self.watch.before_speech(key, self.now)
            self.watch.ledger.note_speech(key, self.now, surely=False)
        try:
            answer = act()
        except Refusal as refusal:
            if refusal.code in UNTOLD:
                raise Broken(f"{refusal.code}: {refusal.message}") from refusal
            self._check_refusal(refusal, client, paths, mode)
            return refusal
        if client.session is not None:
            self.watch.ledger.note_speech(key, self.now, surely=True)
        return answer

    def keyed(self, client: Client, operation: str, **arguments: Any) -> dict[str, Any] | Refusal:
        """Ask with a key, and keep the request: it may be repeated at any time."""
        given = {name: value for name, value in arguments.items() if value is not None}
        given["idempotency_key"] = self.world.key()
        request = Request(operation, given, self.world.caller(client).key, None)
        client.requests.append(request)
        reply = self.speak(client, lambda: self.world.ask(client, operation, given))
        if isinstance(reply, Refusal):
            client.requests.remove(request)
        else:
            request.reply = reply
        return reply

    def with_token(self, client: Client, claim: Claim, act: Callable[[], Any]) -> Any:
        """Act on an attempt. Accepted only if it lives by the log, and not past its term."""
        lived = claim.attempt in self.watch.log.attempts
        overdue = [row for row in self.watch.overdue(self.now) if getattr(row, "id", None) == claim.attempt]
        reply = act()
        if not isinstance(reply, Refusal):
            if not lived:
                raise Broken(f"the token of {claim.attempt} was accepted after its end")
            if overdue:
                raise Broken(f"the token of {claim.attempt} was accepted past its term: {overdue}")
            self.watch.ledger.acted[claim.attempt] = self.now
        return reply

    def _check_refusal(self, refusal: Refusal, client: Client, paths: Collection[str], mode: str) -> None:
        """Who is named as the holder does hold it, and is in the way."""
        log = self.watch.log
        if refusal.code == "PATH_HELD":
            if "conflicts" not in refusal.facts:
                raise Broken(f"only the database itself refused what the rules allowed: {refusal.message}")
            for conflict in refusal.facts["conflicts"]:
                if not any(
                    (held.path, held.session) == (conflict["path"], conflict["session"])
                    and self._is_in_the_way(held, client, paths, mode)
                    for held in log.paths.values()
                ):
                    raise Broken(f"{refusal.message} But the log knows no such lease: {conflict}")
        elif refusal.code == "ACTIVE_ATTEMPT_EXISTS":
            if not any(held.agent == refusal.facts["agent"] for held in log.attempts.values()):
                raise Broken(f"{refusal.message} But the log knows no such attempt")

    def _settle(self) -> None:
        """What a read said before anything was carried out is what stands afterwards."""
        before = self._seen()
        self.world.settle()
        self.watch.look(now=self.now)
        after = self._seen()
        if before != after:
            raise Broken(f"a read said {before}\nand after a write that changes nothing {after}")
        self.watch.settled(now=self.now)

    def _seen(self) -> list[Any]:
        listed = self.world.observe("list_issues", limit=100)
        room, tasks = self.world.observe("room"), self.world.tasks_seen()
        return [listed, room, tasks, *(self.world.observe("path_owner", path=path) for path in ("src/a.py", "docs"))]

    # --- work -----------------------------------------------------------------------------------------------------

    def create(self, client: Client, step: Step) -> None:
        if step.z % 9 == 0:  # refused when much of it is done already: nothing of that may remain, not even a number
            labels = {"labels": ["nowhere"], "create_missing_labels": False}
            self.ask(client, "create_issue", title="Refused", **labels)
            return
        status = ("ready", "ready", "ready", "open", "review")[step.x % 5]
        self.keyed(
            client,
            "create_issue",
            title=f"Issue {self.world.keys}",
            status=status,
            priority=PRIORITIES[step.y % len(PRIORITIES)],
        )

    def claim_next(self, client: Client, step: Step) -> None:
        reply = self.keyed(
            client, "claim_issue", next=True, lease_seconds=LEASES[step.x % len(LEASES)], context=step.y % 5 == 0
        )
        if isinstance(reply, Refusal) and reply.code == "NOTHING_TO_CLAIM":
            left = self.world.observe("list_issues", statuses=["ready"], is_claimable=True)["items"]
            if left:
                raise Broken(f"nothing to claim, yet {left}")
        self._took(client, reply)

    def claim(self, client: Client, step: Step) -> None:
        if self.watch.log.issues:
            issue = list(self.watch.log.issues)[step.y % len(self.watch.log.issues)]
            reply = self.keyed(
                client, "claim_issue", issue_id=issue, lease_seconds=LEASES[step.x % len(LEASES)], context=False
            )
            self._took(client, reply)

    def renew(self, client: Client, step: Step) -> None:
        claim = self._claim_of(client, step)
        if claim is not None:
            seconds = LEASES[step.x % len(LEASES)] if step.y % 2 else None
            given = {"attempt_id": claim.attempt, "lease_token": claim.token, "lease_seconds": seconds}
            self.with_token(client, claim, lambda: self.ask(client, "renew_attempt", **given))

    def note(self, client: Client, step: Step) -> None:
        claim = self._claim_of(client, step)
        if claim is not None:
            self._note(client, claim, step)

    def finish(self, client: Client, step: Step) -> None:
        claim = self._claim_of(client, step)
        if claim is None:
            return
        outcome: dict[str, Any] = {"outcome": ("completed", "failed", "interrupted")[step.y % 3]}
        if outcome["outcome"] == "completed":
            outcome["target_issue_status"] = target = WORK_TARGETS[step.x % len(WORK_TARGETS)]
            outcome["blocked_reason"] = "a question is open" if target == "blocked" else None
        elif outcome["outcome"] == "failed":
            outcome["failure_reason_code"] = FAILURE_CODES[step.x % len(FAILURE_CODES)]
        else:
            outcome["interruption_reason_code"] = INTERRUPTION_CODES[step.x % len(INTERRUPTION_CODES)]
        given = {"attempt_id": claim.attempt, "lease_token": claim.token, "result_summary": "Done.", **outcome}
        self.with_token(client, claim, lambda: self.keyed(client, "finish_attempt", **given))

    def borrow(self, client: Client, step: Step) -> None:
        """Somebody acts with a token that another was given: it was handed over."""
        other = self.world.clients[step.x % len(self.world.clients)]
        claim = self._claim_of(other, step)
        if claim is not None and client is not other:
            self._note(client, claim, step)
            client.claims.append(claim)

    def guess(self, client: Client, step: Step) -> None:
        """A wrong token opens nothing."""
        claim = self._claim_of(self.world.clients[step.x % len(self.world.clients)], step)
        if claim is not None:
            given = {"attempt_id": claim.attempt, "lease_token": claim.token[:-2] + "xx"}
            before = self.watch.log.attempts.get(claim.attempt)
            holder = None if before is None else before.session
            if not isinstance(self.ask(client, "renew_attempt", **given), Refusal):
                raise Broken("a wrong token was accepted")
            self.watch.look(now=self.now)
            after = self.watch.log.attempts.get(claim.attempt)
            if after is not None and after.session != holder:
                raise Broken(f"a wrong token took {claim.attempt} from {holder}")

    def repeat(self, client: Client, step: Step) -> None:
        """A request that was answered is sent again. It gets the same answer and changes nothing."""
        if step.y % 4 == 0:
            self._overhear(client, step)
            return
        asked = [request for request in client.requests if request.session == self.world.caller(client).key]
        if asked and (client.session is None or self.world.processes.lives(client.pid)):
            request = asked[step.x % len(asked)]
            self._repeat(client, request)

    def update(self, client: Client, step: Step) -> None:
        """Somebody changes an issue while others work on it, or puts it away."""
        if not self.watch.log.issues:
            return
        issue = list(self.watch.log.issues)[step.y % len(self.watch.log.issues)]
        if step.x % 4 == 0 and "archive_issue" in catalog.OPERATIONS:
            self.keyed(client, "archive_issue", issue_id=issue, archived=step.x % 8 == 0)
        elif "update_issue" in catalog.OPERATIONS:
            version = self.world.observe("get_issue", issue_id=issue)["version"] - (step.x % 7 == 0)
            changes: dict[str, Any] = {"status": ("open", "ready", "review", "cancelled")[step.x % 4]}
            if step.x % 3 == 0:
                changes = {"description": f"Now {step.x}"}
            self.keyed(client, "update_issue", issue_id=issue, expected_version=max(1, version), changes=changes)

    def take_away(self, client: Client, step: Step) -> None:
        """Attempts are ended from outside: by the human, or by somebody who may not."""
        if "release_attempt" in catalog.OPERATIONS and self.watch.log.attempts:
            attempt = list(self.watch.log.attempts)[step.x % len(self.watch.log.attempts)]
            held = self.watch.log.attempts[attempt]
            reply = self.ask(client, "release_attempt", attempt_id=attempt)
            named = held.session.startswith("=") or client.session is None
            mine = held.session == self.world.caller(client).key or (named and held.agent == client.name)
            if not isinstance(reply, Refusal) and not (client.human or mine):
                raise Broken(f"{client.name} ended the attempt of {held.session}")

    # --- paths ----------------------------------------------------------------------------------------------------

    def claim_paths(self, client: Client, step: Step) -> None:
        wanted = {PATHS[number % len(PATHS)] for number in (step.x, step.y)[: 1 + step.z % 2]}
        if step.z % 7 == 0:
            wanted = {RESOURCES[step.x % len(RESOURCES)]}
        mode = "run" if step.y % 4 == 0 else "edit"
        given = {
            "paths": sorted(wanted),
            "mode": mode,
            "ttl_seconds": TERMS[step.x % len(TERMS)],
            "purpose": "the plan",
        }
        reply = self.speak(client, lambda: self.world.ask(client, "claim_paths", given), wanted, mode)
        if not isinstance(reply, Refusal) and len(reply["granted"]) != len(wanted):
            raise Broken(f"{len(wanted)} paths were asked for and {reply} granted")
        self._acted_under(client)

    def force(self, client: Client, step: Step) -> None:
        """Paths are taken from whoever holds them: by the human, and by nobody else."""
        path = PATHS[step.x % len(PATHS)]
        reply = self.ask(client, "release_paths", paths=[path], force=True)
        if client.human and isinstance(reply, Refusal):
            raise Broken(f"the human may not take {path}: {reply.message}")
        if not client.human and not isinstance(reply, Refusal):
            raise Broken(f"{client.name} took {reply} by force")

    def run(self, client: Client, step: Step) -> None:
        """A call starts a script, which nobody may edit meanwhile; or an earlier one has ended."""
        if client.runs and step.y % 2:
            call = client.runs.pop()
            self.speak(client, lambda: self.world.run(client, lambda tx: leases.release_run(tx, call)))
            return
        place = self._place(client, PATHS[step.x % 3])
        call = self.world.key()
        reply = self.speak(
            client,
            lambda: self.world.run(client, lambda tx: leases.take_run(tx, [place], call)),
            [place.key],
            "run",
        )
        if not isinstance(reply, Refusal):
            client.runs.append(call)

    def call(self, client: Client, step: Step) -> None:
        """A call that lasts begins, or the newest one ends: which is a sign of life, and comes first."""
        if client.session is None or not self.world.processes.lives(client.pid):
            return
        open_here = self.watch.ledger.calls.setdefault(client.session, {})
        self.speak(client, lambda: self.world.run(client, lambda tx: None, writes=False))
        self.watch.look(now=self.now)
        if open_here and step.x % 2:
            name, _ = open_here.popitem()
            self.world.calls.end(client.session, "", name, "")
        else:
            name = self.world.key()
            self.world.calls.begin(client.session, "", name, "")
            open_here[name] = self.now

    def clear(self, client: Client, step: Step) -> None:
        """The context of a client is cleared: another session goes on with all that this one had."""
        before = client.session
        if before is None or not self.world.processes.lives(client.pid):
            return
        self._go_on(client)  # it has spoken in this process before it is cleared there
        self.speak(client, lambda: self.world.run(client, agents.move if step.x % 2 else lambda tx: None))
        held = [lease.fence for lease in self.watch.rows_of(before)]
        client.cleared += 1
        client.session = f"{client.name}-{client.pid}-{client.cleared}"
        moved = self.speak(client, lambda: self.world.run(client, lambda tx: agents.begin_session(tx, "clear")))
        if moved == before:
            for name in self.watch.ledger.calls.pop(before, {}):
                self.world.calls.end(before, "", name, "")
            for request in client.requests:
                request.session = client.session if request.session == before else request.session
        elif held:
            raise Broken(f"{client.session} goes on with {moved} and not with {before}, which holds {held}")

    def release(self, client: Client, step: Step) -> None:
        self.ask(client, "release_paths", paths=[PATHS[step.x % len(PATHS)]] if step.y % 3 else None)

    def edit(self, client: Client, step: Step) -> None:
        """A hook looks, and then claims what is free; others may come in between."""
        client.thread = "helper" if step.y % 5 == 0 else ""
        place = self._place(client, PATHS[step.x % len(PATHS)])
        free = self.speak(
            client,
            lambda: self.world.run(client, lambda tx: verdict.look(tx, [place]), writes=False),
            [place.key],
        )
        if isinstance(free, Refusal):
            self._claim_free(client, [place])
        elif free and step.z % 2:
            self._free_of[id(client)] = free
        elif free:
            self._claim_free(client, free)
        elif not self._is_covered(client, place):
            raise Broken(f"{client.session} may edit {place.key} without holding it")

    def end_turn(self, client: Client, step: Step) -> None:
        self._go_on(client)
        client.thread = "helper" if step.x % 4 == 0 else ""
        self.speak(client, lambda: self.world.run(client, lambda tx: leases.end_turn(tx, client.thread)))
        held = [lease for lease in self.watch.rows_of(self.world.caller(client).key) if lease.auto]
        if any(lease.thread == client.thread for lease in held):
            raise Broken(f"the turn of {client.session} ended, and it kept {held}")
        client.thread = ""

    # --- sessions -------------------------------------------------------------------------------------------------

    def look_around(self, client: Client, step: Step) -> None:
        """Any question is a sign of life."""
        self._go_on(client)
        name, given = (("list_issues", {}), ("room", {}), ("path_owner", {"path": PATHS[step.x % len(PATHS)]}))[
            step.y % 3
        ]
        self.ask(client, name, **given)

    def leave(self, client: Client, step: Step) -> None:
        """A session says that it ends; its client is closed, or goes on with it later."""
        if client.session is None:
            return
        self._free_of.pop(id(client), None)
        self._say_good_bye(client)
        if self.watch.rows_of(client.session):
            raise Broken(f"{client.session} has left and holds {self.watch.rows_of(client.session)}")
        if step.x % 3 == 0:
            self._start(client)
        elif step.x % 3 == 1:
            self.speak(client, lambda: self.world.run(client, agents.begin_session))

    def die(self, client: Client, step: Step) -> None:
        """kill -9. Its client may be started again, with a new session or going on with the old one."""
        if client.pid is None:
            return
        self.world.processes.kill(client.pid)
        self._free_of.pop(id(client), None)
        if step.x % 3 == 0:
            self._start(client)
        elif step.x % 3 == 1:
            self._start(client, client.session)

    def start(self, client: Client, step: Step) -> None:
        """A client that died is started again."""
        if client.pid is not None and not self.world.processes.lives(client.pid):
            self._start(client, client.session if step.x % 2 else None)
            self.speak(client, lambda: self.world.run(client, agents.begin_session))

    # --- the world ------------------------------------------------------------------------------------------------

    def little(self, client: Client, step: Step) -> None:
        self.world.machine.pass_time(LITTLE[step.x % len(LITTLE)])

    def long(self, client: Client, step: Step) -> None:
        self.world.machine.pass_time(LONG[step.x % len(LONG)])

    def brink(self, client: Client, step: Step) -> None:
        """Time goes to the very moment at which a lease is over, or a millisecond to either side of it."""
        ends = sorted(self.watch.ends())
        if ends:
            until = ends[step.x % len(ends)] + step.y % 3 - 1
            self.world.machine.pass_time(max(0, until - self.now))

    def come_back(self, client: Client, step: Step) -> None:
        """A client is silent until something of its own is over, or nearly; it may have said good-bye before. It is the
        first to speak again."""
        key = self.world.caller(client).key
        ends = sorted(self.watch.ends(key))
        if ends:
            if step.x % 2 and client.session is not None:
                self._say_good_bye(client)
            self.world.machine.pass_time(max(0, ends[step.y % len(ends)] + step.z % 3 - 1 - self.now))
            self.now = self.world.now()
            self.speak(client, lambda: self.world.run(client, lambda tx: None, writes=bool(step.y % 2)))
            self._settle()

    def work_long(self, client: Client, step: Step) -> None:
        """One who holds an issue works for hours without a word about it, and is seen at every tool call."""
        holders = {held.session for held in self.watch.log.attempts.values()}
        busy = [each for each in self.world.clients if self.world.caller(each).key in holders] or [client]
        worker = busy[step.y % len(busy)]
        for _ in range(WORKED[step.x % len(WORKED)]):
            self.world.machine.pass_time(10 * MINUTE)
            self.now = self.world.now()
            self.ask(worker, "path_owner", path="README.md")
            self.watch.look(now=self.now)

    def set_wall(self, client: Client, step: Step) -> None:
        self._set_wall(JUMPS[step.x % len(JUMPS)])

    def sleep(self, client: Client, step: Step) -> None:
        self._set_wall(NAPS[step.x % len(NAPS)])

    def reboot(self, client: Client, step: Step) -> None:
        self.world.machine.reboot(AWAY[step.x % len(AWAY)])
        for number in range(len(self.world.rooms)):
            self.world.crash_program(number)
        self._free_of.clear()
        for number, each in enumerate(self.world.clients):
            if each.pid is not None and (step.y >> number) % 2:
                self._start(each, each.session if step.z % 2 else None)

    def crash(self, client: Client, step: Step) -> None:
        """A program of ours is killed in the middle of a deed: all of it happened or nothing. It is tried again."""
        deeds = ("create", "claim_next", "finish", "note", "claim_paths", "edit", "release", "end_turn", "repeat")
        deeds += ("give_task", "take_task", "report_task")
        engine = self.world.frail(client)
        engine.left = step.y % 24
        try:
            _DEEDS[deeds[step.x % len(deeds)]](self, client, step)
        except Killed:
            self._free_of.pop(id(client), None)
            self.world.crash_program(client.program)
            self.watch.look(now=self.now)
            for request in [request for request in client.requests if request.reply is None]:
                self._repeat(client, request)
        finally:
            engine.left = None

    # --- within -----------------------------------------------------------------------------------------------------

    def _start(self, client: Client, session: str | None = None) -> None:
        """A client is started; one that goes on with a session calls nothing any more."""
        self.world.start(client, session)
        if session is not None:
            self.world.calls.forget(session)
            self.watch.ledger.calls.pop(session, None)

    def _say_good_bye(self, client: Client) -> None:
        assert client.session is not None
        self.speak(client, lambda: self.world.run(client, lambda tx: agents.leave(tx, "ended")))
        self.world.calls.forget(client.session)

    def _set_wall(self, by_ms: int) -> None:
        self.world.machine.set_wall(by_ms)
        if self.watch.anchored and self.world.now() != self.now:
            raise Broken("the wall clock moved, and room time with it")

    def _took(self, client: Client, reply: dict[str, Any] | Refusal) -> None:
        if not isinstance(reply, Refusal):
            client.claims.append(Claim(reply["attempt_id"], reply["lease_token"], reply["issue_id"]))
            self.watch.look(now=self.now)
            held = self.watch.log.attempts.get(reply["attempt_id"])
            if held is None or held.session != self.world.caller(client).key:
                raise Broken(f"{reply} was answered, but the log says {held}")

    def _note(self, client: Client, claim: Claim, step: Step) -> None:
        given = {
            "attempt_id": claim.attempt,
            "lease_token": claim.token,
            "kind": "checkpoint" if step.y % 2 else "progress",
            "content": f"Stand {step.x}",
        }
        self.with_token(client, claim, lambda: self.keyed(client, "save_attempt_note", **given))

    def _repeat(self, client: Client, request: Request) -> None:
        if request.reply is None:  # it is not known whether it was heard: it is asked as if for the first time
            reply = self.speak(client, lambda: self.world.ask(client, request.operation, request.arguments))
            if isinstance(reply, Refusal):
                client.requests.remove(request)
                return
            request.reply = reply
            if request.operation == "claim_issue":
                reply.pop("attempt_status", None)
                client.claims.append(Claim(reply["attempt_id"], reply["lease_token"], reply["issue_id"]))
            return
        self.speak(client, lambda: self.world.run(client, lambda tx: None))
        before = self.watch.digest()
        reply = self.speak(client, lambda: self.world.ask(client, request.operation, request.arguments))
        if request.operation == "claim_issue" and not isinstance(reply, Refusal):
            self.watch.look(now=self.now)
            ended = reply.pop("attempt_status", None)  # said of a claim that is over
            if ended != self.watch.log.ended.get(request.reply["attempt_id"]):
                raise Broken(f"{request} was answered with another end than the log tells: {ended}")
        if isinstance(reply, Refusal) or reply != request.reply:
            raise Broken(f"{request} was answered otherwise the second time: {reply}")
        if self.watch.digest() != before:
            raise Broken(f"{request} was repeated and changed something")

    def _overhear(self, client: Client, step: Step) -> None:
        """The key of another session's claim is no key to its attempt: the request is a new one."""
        key = self.world.caller(client).key
        asked = [request for each in self.world.clients for request in each.requests if request.session != key]
        claims = [request for request in asked if request.operation == "claim_issue" and request.reply]
        if not claims:
            return
        request = claims[step.x % len(claims)]
        assert request.reply is not None
        known = self.watch.log.attempts.get(request.reply["attempt_id"])
        reply = self.speak(client, lambda: self.world.ask(client, request.operation, request.arguments))
        handed_over = known is not None and known.session == key
        if not isinstance(reply, Refusal) and reply["attempt_id"] == request.reply["attempt_id"] and not handed_over:
            raise Broken(f"{key} was given {reply['attempt_id']} for the key of {request.session}")
        if not isinstance(reply, Refusal) and "attempt_status" not in reply:
            self._took(client, reply)

    def _claim_of(self, client: Client, step: Step) -> Claim | None:
        """Mostly a claim of this client that is alive, sometimes one that is long over."""
        alive = [claim for claim in client.claims if claim.attempt in self.watch.log.attempts]
        among = alive if alive and step.z % 4 else client.claims
        return among[step.x % len(among)] if among else None

    def _place(self, client: Client, path: str) -> repository.Place:
        return repository.locate(path, client.folder, os.path.dirname(client.folder), self.world.machine)

    def _claim_free(self, client: Client, places: list[repository.Place]) -> None:
        self._acted_under(client)
        keys = [place.key for place in places]
        done = self.speak(client, lambda: self.world.run(client, lambda tx: verdict.claim(tx, places)), keys)
        if not isinstance(done, Refusal):
            self.watch.look(now=self.now)
            for place in places:
                if not place.wide and not self._is_covered(client, place):
                    raise Broken(f"{client.session} may edit {place.key} and does not hold it")

    def _go_on(self, client: Client) -> None:
        """A hook that has looked goes on to claim what was free then."""
        free = self._free_of.pop(id(client), None)
        if free is not None:
            self._claim_free(client, free)

    def _is_covered(self, client: Client, place: repository.Place) -> bool:
        key = self.world.caller(client).key
        for held in self.watch.log.paths.values():
            mine = held.session == key or (held.agent == client.name and held.session.startswith("="))
            above = overlap(held.path, place.key) and len(held.path) <= len(place.key)
            if mine and held.checkout == place.checkout and held.mode == "edit" and (above or held.path == "."):
                return True
        return False

    def _is_in_the_way(self, held: PathHeld, client: Client, paths: Collection[str], mode: str) -> bool:
        named = client.session is None or held.session.startswith("=")
        return (
            held.session != self.world.caller(client).key
            and held.checkout in ("@", self._place(client, ".").checkout)
            and not (held.agent == client.name and named)
            and not (held.mode == mode == "run")
            and any(overlap(held.path, path.removesuffix(":2")) for path in paths)
        )

    def _acted_under(self, client: Client) -> None:
        """An edit may count as an act for the attempts of its session."""
        for attempt, held in self.watch.log.attempts.items():
            if held.session == self.world.caller(client).key:
                self.watch.ledger.perhaps_acted[attempt] = self.now


WEIGHTS: dict[str, int] = {
    "create": 8, "claim_next": 9, "claim": 5, "renew": 5, "note": 8, "finish": 8, "borrow": 5, "guess": 3, "repeat": 8,
    "update": 4, "take_away": 2,
    "claim_paths": 10, "release": 5, "force": 2, "run": 4, "call": 5, "clear": 3, "edit": 14, "end_turn": 5,
    "give_task": 9, "take_task": 12, "report_task": 14, "take_task_back": 3,
    "look_around": 8, "leave": 2, "die": 3, "start": 2,
    "come_back": 4,
    "little": 8, "long": 1, "brink": 5, "work_long": 3, "set_wall": 2, "sleep": 1, "reboot": 1, "crash": 8,
}  # fmt: skip
_DEEDS: dict[str, Callable[[Story, Client, Step], None]] = {
    name: getattr(Story, name) for name in WEIGHTS if "_task" not in name
}
_DEEDS |= {
    "give_task": taskdeeds.give,
    "take_task": taskdeeds.take,
    "report_task": taskdeeds.report,
    "take_task_back": taskdeeds.take_back,
}
_BY_THE_LIVING = frozenset(WEIGHTS) - {
    "start", "die", "little", "long", "brink", "set_wall", "sleep", "reboot"
}  # fmt: skip
