"""The life of a worker: it takes a task or an issue, lets a client do it, keeps the lease meanwhile, and hands it back.

One thing at a time. Nothing of the room is open while the client runs; every look and every beat is a question of its
own, so a room that cannot be asked for a while costs nothing but the wait. Whoever takes the lease away (a cancelled
task, a release by the human) ends the run. After three failing runs in a row a worker rests, longer each time, and says
so: what is wrong is more likely its own than that of the next task.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from clearway import caps
from clearway.catalog import OPERATIONS
from clearway.clock import Clock, iso, local_time
from clearway.config import Caller
from clearway.crew import agents, quotas, workers
from clearway.errors import Refusal
from clearway.limits import (
    QUOTA_SECONDS_MAX,
    WORKER_FAILURES_IN_A_ROW,
    WORKER_LOOK_MS,
    WORKER_REST_MS,
    WORKER_REST_MS_MAX,
    WORKER_RESULT_CHARS,
    WORKER_TAIL_CHARS,
    WORKER_TERM_SECONDS,
)
from clearway.untrusted import folded, redacted
from clearway.work import attempts, schedule
from clearway.worker import answers, clients, items, prompts, running, trees
from clearway.worker.clients import Client
from clearway.worker.items import End, Item

if TYPE_CHECKING:
    from clearway.db.tx import Tx
    from clearway.room import Room
    from clearway.rooms import Rooms

    Got = TypeVar("Got")

_CHECK_MS = 1_000
_RENEW_MS = 60_000
_AGAIN_MS = 1_000
_BUSY_MS = 60_000
_TELLING = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")
_SECRET_CHARS_MIN = 8


@dataclass(frozen=True)
class Orders:
    """What a worker is told when it is started."""

    agent: str
    client: Client
    sources: tuple[str, ...] = ("tasks",)
    write: bool = False
    once: bool = False
    seconds: int = 1_800
    per_hour: int = 12
    grace_seconds: int = 0
    include_existing: bool = False
    model: str = ""
    more: tuple[str, ...] = ()
    target: str = "review"

    @property
    def identity(self) -> str:
        return identity_of(self.agent)

    @property
    def said_minutes(self) -> str:
        """How long a run may take, as people read it."""
        return f"at most {max(1, self.seconds // 60)} min"


class Eyes(Protocol):
    """What an idle worker waits with."""

    def pause(self, milliseconds: float) -> None:
        """Sleep so long, or until the room rings."""
        ...

    def has_changed(self, room: Room) -> bool: ...


@dataclass(frozen=True)
class _Rest:
    """Nothing is taken until that moment of this process, and why."""

    until: int
    why: str


def identity_of(agent: str) -> str:
    """The name under which somebody works for an agent."""
    return agent if agents.works_for(agent) != agent else f"{agent}{agents.WORKERS[0]}"


class Worker:
    """One process that works for one agent in one repository."""

    def __init__(
        self,
        rooms: Rooms,
        orders: Orders,
        folder: str,
        *,
        eyes: Eyes,
        mention: Callable[[str], None],
        provider: Callable[[], answers.Limit | None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """provider: asks the client itself whether its limit is reached; done after a failing run, where it can be."""
        self._provider = provider
        self._rooms = rooms
        self._orders = orders
        self._folder = folder
        self._eyes = eyes
        self._mention = mention
        self._clock = clock or Clock()
        self._environ: Mapping[str, str] = rooms.settings.environ
        self._home = rooms.settings.home
        self._leaving = ""
        self._failures = 0
        self._rest: _Rest | None = None
        self._waiting = ""
        self._git = trees.Git(folder, self._environ)
        self.caller = Caller(
            orders.identity,
            f"worker-{self._clock.new_id()}",
            client=workers.CLIENT,
            cwd=folder,
            host=rooms.liveness.host,
            process=rooms.liveness.identify(os.getpid()),
        )

    def leave(self, why: str) -> None:
        """Take nothing more, and end what runs."""
        self._leaving = why

    def work(self) -> int:
        """Work until told to leave, or once; how many pieces of work were handed back."""
        running.check_system()
        clients.check_is_there(self._orders.client, self._environ)
        if self._orders.write:
            self._git.check_base()
        done = 0
        self._sure(workers.begin)
        try:
            if self._orders.write:
                self._sweep()
            while not self._leaving:
                item = self._take()
                if item is not None:
                    self._carry_out(item)
                    done += 1
                if self._orders.once:
                    break
                if item is None:
                    self._wait()
        finally:
            self._say_farewell()
        return done

    # --- taking -----------------------------------------------------------------------------------------------------

    def _take(self) -> Item | None:
        now = self._clock.monotonic()
        if self._rest is not None:
            if now < self._rest.until:
                return None
            self._rest = None
        try:
            return self._room.run(self._taken, caller=self.caller)
        except Refusal as refusal:
            self._mention(refusal.message)
            self._rest = _Rest(now + (_AGAIN_MS if refusal.is_of_storage else _BUSY_MS), "")
            return None

    def _taken(self, tx: Tx) -> Item | None:
        until = workers.left_until(tx, self._orders.per_hour)
        if until is not None:
            self._waits(tx, f"{self._orders.per_hour} starts an hour are allowed", tx.iso(until))
            return None
        limited = quotas.in_the_way(tx)
        if limited is not None:
            self._waits(tx, limited["reason"], limited.get("until", ""))
            return None
        capped = caps.in_the_way(tx)
        if capped is not None:
            self._waits(tx, capped[0], iso(capped[1]))
            return None
        if "tasks" in self._orders.sources:
            orders = self._orders
            how = "writing" if orders.write else "read-only"
            task = workers.take_task(
                tx,
                note=f"{self._program} works on it, {how}, for {orders.said_minutes}.",
                grace_ms=orders.grace_seconds * 1_000,
                include_existing=orders.include_existing,
            )
            if task is not None:
                return items.Task(task)
        return self._issue(tx) if "issues" in self._orders.sources else None

    def _issue(self, tx: Tx) -> Item | None:
        since = 0 if self._orders.include_existing else workers.since(tx)[1]
        able = self._rooms.settings.capabilities or None
        try:
            issue, _ = schedule.choose(tx, schedule.Wanted(able=able, since=since))
        except Refusal as refusal:
            if refusal.code != "NOTHING_TO_CLAIM":
                raise
            return None
        claimed = attempts.claim_issue(tx, issue_id=issue.id, lease_seconds=WORKER_TERM_SECONDS)
        workers.note_start(tx)
        quotas.trying(tx, -claimed["fence"])
        workers.say_doing(tx, f"{claimed['display_id']}: {issue.title}", busy=True)
        return items.Issue(claimed, self._orders.target)

    def _wait(self) -> None:
        """Until something has changed in the room, or it is time to look again."""
        until = self._clock.monotonic() + WORKER_LOOK_MS
        if self._rest is not None:
            until = max(until, self._rest.until)
        while not self._leaving and (left := until - self._clock.monotonic()) > 0:
            self._eyes.pause(min(left, 500))
            if self._rest is None and self._has_changed():
                return

    def _has_changed(self) -> bool:
        try:
            return self._eyes.has_changed(self._room)
        except Refusal:
            return False  # it is looked at again when it is time

    # --- one run ----------------------------------------------------------------------------------------------------

    def _carry_out(self, item: Item) -> None:
        tree: trees.Tree | None = None
        try:
            if self._orders.write:
                tree = trees.make(self._git, self._home, self._room.project, item.branch)
            end, lost = self._ran(item, tree)
        except (Refusal, OSError) as error:
            end, lost = End(items.BUSY, str(error)), ""
            self._rest = _Rest(self._clock.monotonic() + _BUSY_MS, str(error))
        if tree is not None:
            end = replace(end, saved=self._saved(item, tree))
        became = self._handed_back(item, end, lost)
        self._mention(f"{item.label}: {became}.")
        self._count(end)

    def _ran(self, item: Item, tree: trees.Tree | None) -> tuple[End, str]:
        orders = self._orders
        folder = self._folder if tree is None else tree.folder
        branch = "" if tree is None else tree.branch
        setting = prompts.Setting(orders.identity, folder, branch, orders.seconds)
        prompt = item.prompt(setting, self._clock.new_id()[-10:])
        words = orders.client.words(prompt, write=orders.write, model=orders.model, more=list(orders.more))
        start = running.Start(
            words,
            folder,
            clients.environment(self._environ, orders.identity, self.caller.key, self._home),
            prompt.encode() if clients.takes_stdin(orders.client, write=orders.write) else b"",
        )
        watch = _Watch(self, item)
        spared = os.path.join(self._home, "run", "host.lock")
        ran = running.run(start, seconds=orders.seconds, may_go_on=watch.look, spared=spared, clock=self._clock)
        answer = answers.read(ran)
        if answer.usage is not None:
            self._record(item, answer.usage)
        return self._end_of(ran, answer), watch.lost

    def _end_of(self, ran: running.Ran, answer: answers.Answer) -> End:
        if self._leaving:
            return End(items.LEAVING, f"{self._orders.identity} was stopped ({self._leaving}).")
        if ran.late:
            return End(items.LATE, self._clean(f"No answer within {self._orders.seconds} s. {_tail(ran)}"))
        limit = self._limit(answer)
        if limit is not None:
            told = self._told_of(limit)
            return End(items.LIMITED, f"The provider is at its limit ({limit.reason}).", limit=told)
        if answer.busy:
            self._rest = _Rest(self._clock.monotonic() + _BUSY_MS, "its provider has too much to do")
            return End(items.BUSY, "The provider had too much to do.")
        if answer.failed:
            said = f"{answer.text[-WORKER_TAIL_CHARS:]}\n" if answer.text and answer.text != ran.out.strip() else ""
            return End(items.FAILED, self._clean(f"{self._program} ended with status {ran.status}. {said}{_tail(ran)}"))
        if not answer.text:
            return End(items.FAILED, f"{self._program} ended and said nothing.")
        return End(items.DONE, self._clean(answer.text[:WORKER_RESULT_CHARS]))

    def _record(self, item: Item, usage: answers.Usage) -> None:
        """What the run has cost, as its client tells it."""
        try:
            self._act(lambda tx: item.record(tx, usage))
        except Refusal as refusal:
            self._mention(refusal.message)

    @property
    def _program(self) -> str:
        return folded(os.path.basename(self._orders.client.program), 80)

    def _saved(self, item: Item, tree: trees.Tree) -> trees.Saved | None:
        """What was written, on its branch. The worktree stays where that cannot be saved."""
        trailer = f"Clearway-Attempt: {item.label} #{item.branch.rpartition('-')[2]}"
        try:
            saved = tree.save(f"Work on {item.label}\n\n{trailer}", self._orders.identity)
        except (Refusal, OSError) as error:
            self._mention(f"{tree.folder} stays: {error}")
            return None
        try:
            tree.clear()
        except (Refusal, OSError) as error:
            self._mention(f"{tree.folder} stays: {error}")
        return saved

    def _limit(self, answer: answers.Answer) -> answers.Limit | None:
        """The limit that ended a run. What the client knows of it besides is asked where its words do not say all."""
        limit = answer.limit
        if self._provider is None or not answer.failed or (limit is not None and limit.has_end):
            return limit
        return self._provider() or limit

    def _told_of(self, limit: answers.Limit) -> dict[str, str]:
        """What the room is told of a limit: its end only where the provider said so."""
        seconds = limit.seconds
        if limit.resets_wall is not None:
            seconds = max(1, (limit.resets_wall - self._clock.wall()) // 1_000)
        until = {} if not seconds else {"until": f"{min(seconds, QUOTA_SECONDS_MAX)}s"}
        return {"reason": limit.reason, "source": limit.source, **until}

    def _count(self, end: End) -> None:
        if end.kind in (items.DONE, items.FAILED, items.LATE):
            self._failures = 0 if end.kind == items.DONE else self._failures + 1
        beyond = self._failures - WORKER_FAILURES_IN_A_ROW
        if beyond >= 0 and end.kind in (items.FAILED, items.LATE):
            rest = min(WORKER_REST_MS << min(beyond, 10), WORKER_REST_MS_MAX)
            self._rest = _Rest(self._clock.monotonic() + rest, "its last runs have all failed")
        if self._rest is not None and not self._orders.once:
            self._tell_of_rest(end)

    def _tell_of_rest(self, end: End) -> None:
        assert self._rest is not None
        until = local_time(self._clock.wall() + self._rest.until - self._clock.monotonic())
        doing = f"rests until {until}: {self._rest.why}"
        self._mention(doing)
        try:
            self._room.run(lambda tx: workers.say_doing(tx, doing), caller=self.caller, durable=False)
            if end.kind in (items.FAILED, items.LATE):
                text = f"{self._orders.identity} {doing}. The last said: {folded(end.text, 1_000)}"
                self._ask("send_message", to="human", text=text)
        except Refusal as refusal:
            self._mention(refusal.message)

    # --- giving back ------------------------------------------------------------------------------------------------

    def _handed_back(self, item: Item, end: End, lost: str) -> str:
        """Give it back, however long the room cannot be asked. What became of it."""
        try:
            became = self._again(lambda: item.end(self._ask, self._act, end))
        except Refusal as refusal:
            became = lost or refusal.message
        self._waiting = ""
        try:
            self._room.run(lambda tx: workers.say_doing(tx, "waits for work"), caller=self.caller, durable=False)
        except Refusal:
            pass  # the next look says it
        return became

    def _ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        given = {key: value for key, value in arguments.items() if value is not None}
        return self._rooms.ask(OPERATIONS[name], given, self.caller)

    def _act(self, act: Callable[[Tx], None]) -> None:
        self._room.run(act, caller=self.caller)

    def _sure(self, act: Callable[[Tx], None]) -> None:
        self._again(lambda: self._act(act))

    def _again(self, act: Callable[[], Got]) -> Got:
        """Do something of which the room must hear. While it cannot be asked, it is asked again until a lease that
        nobody renews is over."""
        until = self._clock.monotonic() + WORKER_TERM_SECONDS * 1_000
        while True:
            try:
                return act()
            except Refusal as refusal:
                if not refusal.is_of_storage or self._clock.monotonic() >= until:
                    raise
                self._mention(refusal.message)
                self._clock.pause(_AGAIN_MS)

    def _say_farewell(self) -> None:
        try:
            self._room.run(workers.leave, caller=self.caller)
        except Refusal as refusal:
            self._mention(refusal.message)

    def _sweep(self) -> None:
        for branch in trees.sweep(self._git, self._home, self._room.project, self._orders.identity):
            self._mention(f"what a worker left that was lost is saved on {folded(branch, 200)}")

    def _waits(self, tx: Tx, why: str, until: str) -> None:
        """Say once what keeps it from taking anything."""
        waits = f"waits{f' until {until}' if until else ''}: {why}"
        if waits != self._waiting:
            self._waiting = waits
            workers.say_doing(tx, waits)

    @property
    def _room(self) -> Room:
        return self._rooms.of_folder(self._folder)

    def _clean(self, text: str) -> str:
        """What a client has printed, without what looks like a secret and without those that it was started with."""
        shown = redacted(text).strip()
        for name, value in self._environ.items():
            if name.upper().endswith(_TELLING) and len(value) >= _SECRET_CHARS_MIN:
                shown = shown.replace(value, "[redacted]")
        return shown


class _Watch:
    """The eyes of a worker on its run: whether the lease is still its own. `lost`: what became of it."""

    def __init__(self, worker: Worker, item: Item) -> None:
        self.lost = ""
        self._worker = worker
        self._item = item
        self._checked = 0
        self._renewed = 0

    def look(self, milliseconds: int) -> str:
        """A text where the run may not go on."""
        if self._worker._leaving:  # pyright: ignore[reportPrivateUsage]
            return self._worker._leaving  # pyright: ignore[reportPrivateUsage]
        renews = milliseconds - self._renewed >= _RENEW_MS
        if not renews and milliseconds - self._checked < _CHECK_MS:
            return ""
        self._checked = milliseconds
        self._renewed = milliseconds if renews else self._renewed
        try:
            self._look(milliseconds // 60_000, renews=renews)
        except Refusal as refusal:
            if not refusal.is_of_storage:
                self.lost = refusal.message
        return self.lost

    def _look(self, minutes: int, *, renews: bool) -> None:
        worker, item = self._worker, self._item
        room = worker._room  # pyright: ignore[reportPrivateUsage]
        if not renews:
            room.run(item.check, caller=worker.caller, writes=False)
            return

        def go_on(tx: Tx) -> None:
            item.go_on(tx)
            workers.say_doing(tx, f"{item.label}, for {minutes} min", busy=True)

        room.run(go_on, caller=worker.caller, durable=False)


def _tail(ran: running.Ran) -> str:
    """The end of what was printed, complaints last."""
    said = "\n".join(part for part in (ran.out.strip(), ran.complaint.strip()) if part)
    return f"It printed last:\n{said[-WORKER_TAIL_CHARS:]}" if said else "It printed nothing."
