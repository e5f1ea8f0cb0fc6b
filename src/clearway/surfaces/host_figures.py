"""What a host counts while it answers, and the page that says so in the words of Prometheus.

Counting costs a microsecond and is bounded by what there is to count: clients, operations and codes are lists of ours.
What the log of a room tells (`clearway stats`) is asked when somebody looks, and not again before it has paid off.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from clearway import platforms
from clearway.catalog import OPERATIONS
from clearway.config import Caller
from clearway.errors import CODES, Refusal
from clearway.guard import quiet
from clearway.limits import METRICS_ROOMS_MAX, METRICS_STATS_EVERY_MS, STATS_DAYS
from clearway.op import Operation
from clearway.rooms import Rooms
from clearway.surfaces import hooks

if TYPE_CHECKING:
    from clearway.surfaces.host import Host
    from clearway.surfaces.host_work import Worker

_BOUNDS = (500, 1_000, 2_000, 3_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000)  # microseconds
_CHEAP_PART = 100  # what takes a second to ask is asked once in so many
Labels = dict[str, str]


class Spans:
    """How many took how long."""

    __slots__ = ("classes", "count", "micros")

    def __init__(self) -> None:
        self.classes = [0] * (len(_BOUNDS) + 1)
        self.count = 0
        self.micros = 0

    def add(self, micros: int) -> None:
        self.classes[bisect_left(_BOUNDS, micros)] += 1
        self.count += 1
        self.micros += micros


class Counts:
    """What one host has counted since it began. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.hooks: dict[str, int] = {}
        self.hook_refusals: dict[str, int] = {}
        self.hook_spans = Spans()
        self.hook_bytes = 0
        self.questions: dict[tuple[str, str], int] = {}
        self.refusals: dict[tuple[str, str], int] = {}
        self.spans: dict[str, Spans] = {}
        self.defects = 0
        self.turned_away = 0

    def hook(self, client: str, micros: int, denied: str = "", said: int = 0) -> None:
        """A hook was answered. denied: the code of what it was refused for; said: the bytes a model reads of it."""
        known = client if client in hooks.CLIENTS else "other"
        with self._lock:
            self.hooks[known] = self.hooks.get(known, 0) + 1
            self.hook_spans.add(micros)
            self.hook_bytes += said
            if denied:
                code = denied if denied in CODES else "other"
                self.hook_refusals[code] = self.hook_refusals.get(code, 0) + 1

    def asked(self, by: str, operation: Operation, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Ask, and count what was asked by which way, how it was answered and how long it took."""
        began, code = quiet.now(), ""
        try:
            return ask()
        except Refusal as refusal:
            code = refusal.code
            raise
        except Exception:
            code = "INTERNAL"
            raise
        finally:
            self.question(by, operation.name, code, quiet.elapsed(began))

    def question(self, by: str, operation: str, code: str, micros: int) -> None:
        """Somebody has asked. by: which way; code: of what was refused."""
        with self._lock:
            self.questions[by, operation] = self.questions.get((by, operation), 0) + 1
            self.spans.setdefault(by, Spans()).add(micros)
            if code:
                self.refusals[by, code] = self.refusals.get((by, code), 0) + 1

    def defect(self) -> None:
        with self._lock:
            self.defects += 1

    def turn_away(self) -> None:
        """Somebody was not let in: another user, a wrong token, one too many."""
        with self._lock:
            self.turned_away += 1

    def page(self, page: Page) -> None:
        with self._lock:
            page.counter("clearway_hooks_total", "Hooks answered.", _by(self.hooks, "client"))
            page.histogram("clearway_hook_seconds", "From a hook's question to its answer.", [({}, self.hook_spans)])
            page.counter("clearway_hook_refusals_total", "Calls refused.", _by(self.hook_refusals, "code"))
            page.counter("clearway_hook_injected_bytes_total", "Put before models.", [({}, self.hook_bytes)])
            asked = _by_way(self.questions, "operation")
            page.counter("clearway_operations_total", "Operations asked.", asked)
            refused = _by_way(self.refusals, "code")
            page.counter("clearway_refusals_total", "Operations refused.", refused)
            spans = [({"by": by}, each) for by, each in sorted(self.spans.items())]
            page.histogram("clearway_operation_seconds", "From an operation's question to its answer.", spans)
            page.counter("clearway_host_defects_total", "Defects of Clearway.", [({}, self.defects)])
            away = "Who was not let in: another user, a wrong token, one too many."
            page.counter("clearway_host_turned_away_total", away, [({}, self.turned_away)])


class Page:
    """Figures as text, a family after the other."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def counter(self, name: str, about: str, values: Iterable[tuple[Labels, float]]) -> None:
        self._family(name, about, "counter", values)

    def gauge(self, name: str, about: str, values: Iterable[tuple[Labels, float]]) -> None:
        self._family(name, about, "gauge", values)

    def histogram(self, name: str, about: str, values: Iterable[tuple[Labels, Spans]]) -> None:
        self._head(name, about, "histogram")
        for labels, spans in values:
            total = 0
            for bound, count in zip(_BOUNDS, spans.classes, strict=False):
                total += count
                self._line(f"{name}_bucket", {**labels, "le": str(bound / 1_000_000)}, total)
            self._line(f"{name}_bucket", {**labels, "le": "+Inf"}, spans.count)
            self._line(f"{name}_sum", labels, spans.micros / 1_000_000)
            self._line(f"{name}_count", labels, spans.count)

    def _family(self, name: str, about: str, kind: str, values: Iterable[tuple[Labels, float]]) -> None:
        self._head(name, about, kind)
        for labels, value in values:
            self._line(name, labels, value)

    def _head(self, name: str, about: str, kind: str) -> None:
        self._lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]

    def _line(self, name: str, labels: Labels, value: float) -> None:
        said = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        self._lines.append(f"{name}{{{said}}} {value}" if said else f"{name} {value}")

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _by(counted: dict[str, int], name: str) -> list[tuple[Labels, float]]:
    """Counts by one name, in order."""
    return [({name: key}, count) for key, count in sorted(counted.items())]


def _by_way(counted: dict[tuple[str, str], int], name: str) -> list[tuple[Labels, float]]:
    """Counts by the way in which something was asked and another name, in order."""
    return [({"by": by, name: key}, count) for (by, key), count in sorted(counted.items())]


# --- the page ---------------------------------------------------------------------------------------------------------


def of_host(host: Host, streams: int) -> str:
    """What there is to say of the host itself."""
    status, page = host.status(), Page()
    version: Labels = {"version": status["version"]}
    page.gauge("clearway_host_info", "Which version this host is of.", [(version, 1)])
    page.gauge("clearway_host_seconds", "How long this host has been running.", [({}, status["seconds"])])
    page.counter("clearway_host_questions_total", "Questions over the socket.", [({}, status["asked"])])
    left = "Questions that were left to those who asked."
    page.counter("clearway_host_left_total", left, [({}, status["failed"])])
    page.gauge("clearway_host_clients", "MCP clients over relays.", [({}, status["clients"])])
    page.gauge("clearway_host_connections", "Open connections.", _connections(host, streams))
    page.gauge("clearway_host_waiters", "Who is rung for when a room changes.", [({}, host.watch.count)])
    page.gauge("clearway_host_streams", "Open event streams.", [({}, streams)])
    page.gauge("clearway_host_workers", "Threads that ask rooms.", [({}, host.workers.count)])
    page.gauge("clearway_host_busy_workers", "Those that ask a room now, and what waits.", [({}, host.workers.busy)])
    page.gauge("clearway_host_queue", "Questions that wait for a thread.", [({}, host.workers.waiting)])
    host.counted.page(page)
    _process(page)
    return page.text


def _connections(host: Host, streams: int) -> list[tuple[Labels, float]]:
    http = 0 if host.http is None else host.http.active
    return [({"by": "socket"}, host.connections), ({"by": "http"}, http), ({"by": "stream"}, streams)]


def _process(page: Page) -> None:
    """What every program says of itself, under the names that everybody knows."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    page.counter("process_cpu_seconds_total", "Processor time used.", [({}, round(used.ru_utime + used.ru_stime, 3))])
    page.gauge("process_threads", "Threads.", [({}, threading.active_count())])
    burden = platforms.own_burden()
    if burden is not None:
        memory, descriptors = burden
        page.gauge("process_resident_memory_bytes", "Memory in use.", [({}, memory)])
        page.gauge("process_open_fds", "Open descriptors.", [({}, descriptors)])


# --- what rooms tell --------------------------------------------------------------------------------------------------


class RoomFigures:
    """The figures of `clearway stats` for the rooms of a host, each asked seldom enough to cost nothing."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[str, tuple[int, dict[str, Any]]] = {}  # when to ask again (ms), and the last answer

    def text(self, worker: Worker) -> str:
        """In a worker's thread."""
        told = {project: self._of(worker, project) for project in _lately(self._host.settings.home)}
        self._known = {project: known for project, known in self._known.items() if project in told}
        page, log = Page(), {project: answer for project, answer in told.items() if answer}
        up = [({"project": project}, int(bool(answer))) for project, answer in told.items()]
        page.gauge("clearway_room_up", "Whether a room answers.", up)
        within = f"in the last {STATS_DAYS} days"
        codes = [
            ({"project": project, "code": code}, count)
            for project, answer in log.items()
            for code, count in answer["refusals"]["by_code"].items()
        ]
        page.gauge("clearway_room_refusals", f"Refusals told to the log {within}.", codes)
        for name, about, value in _OF_A_ROOM:
            values = [({"project": project}, value(answer)) for project, answer in log.items()]
            page.gauge(f"clearway_room_{name}", f"{about} {within}.", values)
        page.gauge("clearway_room_recovery_seconds", f"Lost work lay so long {within}.", _quantiles(log, "recovery"))
        page.gauge("clearway_room_hook_seconds", f"Hooks took so long {within}.", _quantiles(log, "hooks"))
        return page.text

    def _of(self, worker: Worker, project: str) -> dict[str, Any]:
        """The last answer, or a new one; empty where the room does not answer."""
        began = self._host.clock.monotonic()
        due, answer = self._known.get(project, (began, {}))
        if began < due:
            return answer
        shelf = worker.shelf(self._host.settings.test_clock)
        rooms = Rooms(
            self._host.settings, upgrade=False, say=self._host.say, shelf=shelf
        )  # whoever looks mends nothing
        try:
            room, caller = rooms.of_project(project), Caller("clearway", host=self._host.liveness.host)
            answer = room.ask(OPERATIONS["stats"], {}, caller)
        except Refusal:
            answer = {}
        finally:
            rooms.close()
        ended = self._host.clock.monotonic()
        self._known[project] = ended + max(METRICS_STATS_EVERY_MS, _CHEAP_PART * (ended - began)), answer
        return answer


_OF_A_ROOM: tuple[tuple[str, str, Callable[[dict[str, Any]], float]], ...] = (
    ("leaks", "Held files that a call changed", lambda stats: stats["leaks"]),
    ("overlaps", "Paths in flight in two worktrees at once", lambda stats: stats["overlaps"]),
    ("duplicates_avoided", "Work that was not done twice", lambda stats: stats["duplicate_work_avoided"]),
    ("attempts_lost", "Attempts whose holder was lost", lambda stats: stats["recovery"]["lost"]),
    ("attempts_recovered", "Lost work that somebody went on with", lambda stats: stats["recovery"]["recovered"]),
    ("hooks", "Hooks counted on this machine", lambda stats: stats["hooks"]["calls"]),
    ("injected_bytes", "Put before models by the hooks of this machine", lambda s: s["hooks"]["bytes_injected"]),
)


def _quantiles(log: dict[str, dict[str, Any]], part: str) -> list[tuple[Labels, float]]:
    found: list[tuple[Labels, float]] = []
    for project, answer in log.items():
        for name, quantile in (("p50", "0.5"), ("p95", "0.95")):
            seconds = answer[part].get(f"{name}_seconds")
            if seconds is None and f"{name}_ms" in answer[part]:
                seconds = answer[part][f"{name}_ms"] / 1_000
            if seconds is not None:
                found.append(({"project": project, "quantile": quantile}, seconds))
    return found


def _lately(home: str) -> list[str]:
    """The projects of this home whose rooms were changed last."""
    folder = os.path.join(home, "rooms")
    try:
        changed = {project: _changed(os.path.join(folder, project)) for project in os.listdir(folder)}
    except OSError:
        return []
    there = [project for project in changed if changed[project]]
    return sorted(sorted(there, key=lambda project: changed[project], reverse=True)[:METRICS_ROOMS_MAX])


def _changed(folder: str) -> int:
    """When the room in a folder was changed, as far as its files say; 0 where there is none."""
    found = 0
    for name in ("room.db", "room.db-wal", "address"):
        try:
            found = max(found, os.stat(os.path.join(folder, name)).st_mtime_ns)
        except OSError:
            continue
    return found
