"""What `clearway worker` does.

A worker runs in the foreground until it is told to leave (Ctrl-C, or a service that stops it); then it ends what runs
and gives it back.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable
from typing import Any, cast

from clearway import config
from clearway.clock import Clock
from clearway.crew import workers
from clearway.errors import Refusal
from clearway.limits import (
    WORKER_GRACE_SECONDS_MAX,
    WORKER_RUN_SECONDS,
    WORKER_RUN_SECONDS_MAX,
    WORKER_STARTS_PER_HOUR,
    WORKER_STARTS_PER_HOUR_MAX,
)
from clearway.room import Room
from clearway.surfaces.asking import Run, mention, say, say_json
from clearway.surfaces.bell import Bell
from clearway.surfaces.waiting import pause_ms, typed_span
from clearway.untrusted import folded
from clearway.worker import clients, keeper, models
from clearway.worker.answers import Limit
from clearway.worker.clients import Client
from clearway.worker.work import Orders, Worker, identity_of

SOURCES = ("tasks", "issues")
TARGETS = ("review", "done")
_ENDS = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))
PROVIDERS = ("cli", "openrouter", "http")


def perform(run: Run, what: str, given: dict[str, Any]) -> None:
    """Carry out one of the words. given: what was typed, by option."""
    if what == "status":
        _status(run)
        return
    agent = clients.agent_of(config.check_name(given["agent"] or _missing("--agent")))
    config.check_name(identity_of(agent))
    if what == "activate":
        _activate(run, identity_of(agent), include_existing=given["include_existing"])
        return
    _run(run, _orders(run, agent, given))


def _orders(run: Run, agent: str, given: dict[str, Any]) -> Orders:
    sources = tuple(dict.fromkeys(word.strip() for word in given["sources"].split(",") if word.strip()))
    if not sources or not set(sources) <= set(SOURCES):
        raise Refusal("INVALID_ARGUMENT", "--from takes tasks, issues, or tasks,issues.")
    if given["target"] not in TARGETS:
        raise Refusal("INVALID_ARGUMENT", "--target takes review or done.")
    try:
        more = tuple(shlex.split(given["client_args"]))
    except ValueError as error:
        raise Refusal("INVALID_ARGUMENT", f"--client-args cannot be read: {folded(str(error), 100)}.") from None
    environ = run.settings.environ
    client = _client(agent, given, environ)
    return Orders(
        agent,
        client,
        sources=sources,
        write=given["write"],
        once=given["once"],
        seconds=_seconds(given["timeout"], "--timeout", WORKER_RUN_SECONDS, WORKER_RUN_SECONDS_MAX),
        per_hour=_per_hour(given["max_per_hour"]),
        grace_seconds=_seconds(given["interactive_grace"], "--interactive-grace", 0, WORKER_GRACE_SECONDS_MAX),
        include_existing=given["include_existing"],
        model=given["model"],
        more=more,
        target=given["target"],
    )


def _client(agent: str, given: dict[str, Any], environ: Any) -> Client:
    """Who is asked: the agent's own client, any command, or a model."""
    if given["provider"] not in PROVIDERS:
        raise Refusal("INVALID_ARGUMENT", f"--provider takes {', '.join(PROVIDERS)}.")
    if given["provider"] == "cli":
        if given["base_url"]:
            raise Refusal("INVALID_ARGUMENT", "--base-url goes with --provider http.")
        return clients.of_template(given["template"]) if given["template"] else clients.known(agent)
    if given["template"] or given["write"]:
        raise Refusal("INVALID_ARGUMENT", "A model without tools takes neither --command nor --write.")
    base_url = given["base_url"] or (models.OPENROUTER if given["provider"] == "openrouter" else "")
    if not base_url:
        raise Refusal("INVALID_ARGUMENT", "--provider http needs --base-url: where the chat completions are.")
    return clients.of_model(base_url, given["model"] or environ.get("OPENROUTER_MODEL", ""), models.KEY_VARIABLE)


def _run(run: Run, orders: Orders) -> None:
    place = run.place
    if place is None:
        raise Refusal("PROJECT_NOT_FOUND", f"{folded(run.folder, 200)} is in no repository; a worker works in one.")
    clients.check_is_there(orders.client, run.settings.environ)
    keeper.adopt_orphans()
    clock = Clock()
    eyes = _Eyes(run, run.rooms.of_repository(place), clock)
    asks = _asks_codex(run, place.root) if orders.client is clients.CLIENTS["codex"] else None
    made = Worker(run.rooms, orders, place.root, eyes=eyes, mention=mention, provider=asks, clock=clock)
    before = {kind: signal.signal(kind, lambda number, _: made.leave(signal.Signals(number).name)) for kind in _ENDS}
    try:
        mention(f"{orders.identity} works in {folded(place.root, 200)}, {'writing' if orders.write else 'read-only'}.")
        done = made.work()
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
        eyes.close()
    if run.as_json:
        say_json({"worker": orders.identity, "done": done})
    else:
        say(f"{orders.identity} has handed back {done}." if done else "There was nothing to do.")


def _asks_codex(run: Run, folder: str) -> Callable[[], Limit | None]:
    """Codex knows more of its limit than it prints."""

    def ask() -> Limit | None:
        from clearway.setup import codexlimits

        said = codexlimits.ask(run.settings.environ, folder)
        if said.state != codexlimits.LIMITED:
            return None
        return Limit(said.why, resets_wall=said.until, source="codex_app_server")

    return ask


class _Eyes:
    """What an idle worker waits with: the host rings, or the room's own counter is looked at."""

    def __init__(self, run: Run, room: Room, clock: Clock) -> None:
        self._bell = Bell(run.settings, [room.project], clock)
        self._stamp: int | None = None

    def pause(self, milliseconds: float) -> None:
        self._bell.pause(min(milliseconds, 20 * pause_ms(self._bell, near=True)))

    def has_changed(self, room: Room) -> bool:
        if self._stamp is not None and self._bell.is_needless():
            return False
        before, self._stamp = self._stamp, room.engine.stamp()
        return before != self._stamp

    def close(self) -> None:
        self._bell.close()


def _activate(run: Run, identity: str, *, include_existing: bool) -> None:
    done = run.rooms.of_folder(run.folder).run(
        lambda tx: workers.activate(tx, identity, include_existing=include_existing), caller=run.caller
    )
    if run.as_json:
        say_json(done)
    elif include_existing:
        say(f"{identity} takes whatever waits. Nothing was started.")
    else:
        say(f"{identity} takes what comes from now on and leaves what is there already. Nothing was started.")


def _status(run: Run) -> None:
    found = run.rooms.of_folder(run.folder).run(workers.standing, caller=run.caller, writes=False)
    if run.as_json:
        say_json(found)
        return
    here = cast("list[dict[str, Any]]", found["workers"])
    if not here:
        say("No worker is here. clearway worker run --agent AGENT starts one.")
        return
    paper = run.paper
    rows = [
        [
            folded(each["worker"], 64),
            each["presence"],
            folded(each["doing"], 200),
            str(each["starts"]),
            paper.moment(each["seen_at"]),
        ]
        for each in here
    ]
    say(paper.table(("WORKER", "", "DOES", "STARTS/H", "SEEN"), rows))


def _seconds(given: str, option: str, default: int, most: int) -> int:
    """A length of time as it is typed."""
    if not given:
        return default
    return typed_span("worker", option, given, most) // 1_000


def _per_hour(given: str) -> int:
    if not given:
        return WORKER_STARTS_PER_HOUR
    if not (given.isascii() and given.isdigit() and 1 <= int(given[:9]) <= WORKER_STARTS_PER_HOUR_MAX):
        raise Refusal("INVALID_ARGUMENT", f"--max-per-hour takes a number from 1 to {WORKER_STARTS_PER_HOUR_MAX}.")
    return int(given)


def _missing(option: str) -> str:
    raise Refusal("INVALID_ARGUMENT", f"Say for whom it works: {option} AGENT.")
