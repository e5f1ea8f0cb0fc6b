"""What happened in a span of the log, as a report to look at together, to keep, or to pass on.

It has the events in order, who took part, what was refused, leaked or lost, and the room before and after. Passed on is
what happened and not what was written: no text of a message, of a note or of an issue's body is in it. Secrets are
taken out, sessions have short names, and the home folder and this machine's name do not appear.
"""

from __future__ import annotations

from typing import Any, cast

from clearway import __version__, clock, paths
from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.limits import CHANGES_MAX, INCIDENT_EVENTS_DEFAULT, INCIDENT_EVENTS_MAX
from clearway.surfaces import eventtimes
from clearway.surfaces.asking import Run
from clearway.surfaces.pages import Document
from clearway.surfaces.render import Paper, Result, count
from clearway.surfaces.stories import facts
from clearway.untrusted import redacted

_AROUND = 25  # events before and after one
_ROOM_ITEMS = 50
# What an event says that is no concern of whoever reads the report.
_LEFT_OUT = frozenset({"checkout", "note", "comment", "cwd", "command"})
_GRAVE = {
    "refused": "refused",
    "path_leaked": "written over",
    "path_changed_outside": "changed from outside",
    "attempt_expired": "work lost",
    "task_lapsed": "task lost",
    "attempt_failed": "failed",
    "message_undeliverable": "message came back",
    "work_rescued": "work saved before git ran over it",
    "late_result": "result came too late",
}


class Span:
    """Which events are meant: two numbers, and what they have to be about."""

    def __init__(self, first: int, last: int, *, agent: str = "", issue: str = "", path: str = "") -> None:
        self.first = first
        self.last = last
        self.agent = agent
        self.issue = issue
        self.path = path

    def admits(self, event: Result) -> bool:
        data: Result = event["data"]
        if self.agent and self.agent not in (event["agent"], data.get("holder"), data.get("to"), data.get("of")):
            return False
        if self.issue and event.get("display_id") != self.issue:
            return False
        return not self.path or any(paths.overlap(self.path, paths.key(each)) for each in _paths_of(data))


def span(run: Run, given: dict[str, str | None]) -> Span:
    """The events that somebody asks for. given: from, to and event as numbers or times; agent, issue, path."""
    latest = run.ask(OPERATIONS["get_changes"], limit=1)["latest_event_id"]
    issue = given["issue"]
    about = {
        "agent": given["agent"] or "",
        "issue": "" if issue is None else run.ask(OPERATIONS["get_issue"], issue_id=issue)["display_id"],
        "path": "" if given["path"] is None else paths.key(given["path"].strip("/")),
    }
    if given["event"] is not None:
        middle = max(1, min(latest, eventtimes.number(run, "event", given["event"], latest)))
        return Span(max(1, middle - _AROUND), min(latest, middle + _AROUND), **about)
    last = latest if given["to"] is None else eventtimes.number(run, "to", given["to"], latest)
    many = INCIDENT_EVENTS_MAX if any(about.values()) else INCIDENT_EVENTS_DEFAULT
    first = (
        max(1, last - many + 1)
        if given["from"] is None
        else eventtimes.number(run, "from", given["from"], latest, after=True)
    )
    if first > last:
        raise Refusal("INVALID_ARGUMENT", "Nothing happened in that span.")
    return Span(first, last, **about)


def gathered(run: Run, wanted: Span) -> Result:
    """Everything that the report says, as programs read it."""
    last = min(wanted.last, wanted.first + INCIDENT_EVENTS_MAX - 1)
    events: list[Result] = []
    since = wanted.first - 1
    while since < last:
        page = run.ask(OPERATIONS["get_changes"], since_event_id=since, limit=min(CHANGES_MAX, last - since))
        events += [event for event in page["events"] if event["id"] <= last and wanted.admits(event)]
        if not page["has_more"]:
            break
        since = page["next_event_id"]
    names = _Names(run, events)
    found = {
        "made_at": clock.iso(run.rooms.clock.wall()),
        "version": __version__,
        "from": wanted.first,
        "to": last,
        **({"left_out": wanted.last - last} if last < wanted.last else {}),
        **{name: value for name in ("agent", "issue", "path") if (value := getattr(wanted, name))},
        "took_part": sorted({names.session(event["session"], event["agent"]) for event in events}),
        "events": [_event(event, names) for event in events],
    }
    for name, at in (("before", wanted.first - 1), ("after", last)):
        scene = _scene(run, at)
        if scene is not None:
            found[name] = names.harmless(scene)
    return found


def document(found: Result, paper: Paper) -> Document:
    """The report of what was gathered."""
    report = Document(f"What happened from event {found['from']} to {found['to']}")
    about = [f"{name} {found[name]}" for name in ("agent", "issue", "path") if name in found]
    only = f", only what concerns {' and '.join(about)}" if about else ""
    report.say(f"{count(len(found['events']), 'event')}{only}. Made {found['made_at']} by Clearway {found['version']}.")
    if "left_out" in found:
        report.say(f"The last {found['left_out']} events of the span are left out; ask for them with --from.")
    if found["took_part"]:
        report.say("Took part: " + ", ".join(found["took_part"]) + ".")
    grave = [event for event in found["events"] if event["type"] in _GRAVE]
    if grave:
        report.head("What went wrong, or was kept from it")
        report.table(
            ("event", "at", "who", "what", "issue", ""),
            [[*_row(event, paper)[:3], _GRAVE[event["type"]], *_row(event, paper)[4:]] for event in grave],
        )
    for name, title in (("before", "The room before"), ("after", "The room after")):
        if name in found:
            _room(report, title, found[name])
    report.head("All events")
    report.table(("event", "at", "who", "what", "issue", ""), [_row(event, paper) for event in found["events"]])
    report.say(
        "Titles, purposes and refusals are in this report; messages, notes and the bodies of issues are not, and what "
        "looked like a secret was taken out. Read it before you pass it on."
    )
    return report


def _row(event: Result, paper: Paper) -> list[str]:
    return [
        str(event["id"]),
        paper.moment(event["at"]),
        event["session"],
        event["type"].replace("_", " "),
        event.get("display_id", ""),
        event["data"].get("message") or facts(event["data"]),
    ]


def _room(report: Document, title: str, scene: Result) -> None:
    report.head(f"{title} (event {scene['at']})")
    rows = [[each["session"], "path", each["path"], each.get("purpose", "")] for each in scene["paths"]]
    rows += [
        [each["session"], "issue", each["display_id"], each["title"]] for each in scene["issues"] if "session" in each
    ]
    rows += [[each["agent"], "task", f"#{each['task_id']}", ""] for each in scene["tasks"] if "agent" in each]
    report.table(("who", "held", "", ""), rows)
    if not rows:
        report.say("Nobody held anything.")


def _event(event: Result, names: _Names) -> Result:
    data = {name: value for name, value in event["data"].items() if name not in _LEFT_OUT}
    kept = {name: event[name] for name in ("id", "type", "at", "display_id") if name in event}
    return {**kept, "session": names.session(event["session"], event["agent"]), "data": names.harmless(data)}


def _paths_of(data: Result) -> list[str]:
    listed: list[Any] = data.get("paths", [])
    found = [str(cast("Result", each)["path"]) if isinstance(each, dict) else str(each) for each in listed]
    return found + ([data["subject"]] if isinstance(data.get("subject"), str) else [])


class _Names:
    """Short names of sessions, and texts without what is nobody else's concern."""

    def __init__(self, run: Run, events: list[Result]) -> None:
        self._short: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._places = [place for place in (run.settings.environ.get("HOME", ""), run.settings.home) if len(place) > 1]
        self._host = run.rooms.liveness.host
        for event in events:
            self.session(event["session"], event["agent"])

    def session(self, session: str, agent: str) -> str:
        """`codex`, and `codex (2)` for the second of that name."""
        if session not in self._short:
            number = self._count[agent] = self._count.get(agent, 0) + 1
            self._short[session] = agent if number == 1 else f"{agent} ({number})"
        return self._short[session]

    def harmless(self, value: Any, name: str = "") -> Any:
        """The same value, safe to pass on. name: under which it stands."""
        if isinstance(value, dict):
            found = cast("Result", value)
            agent = found.get("agent")
            if isinstance(agent, str) and isinstance(found.get("session"), str):
                found = found | {"session": self.session(found["session"], agent)}
            return {key: self.harmless(each, key) for key, each in found.items() if key not in _LEFT_OUT}
        if isinstance(value, list):
            return [self.harmless(each, name) for each in cast("list[Any]", value)]
        if not isinstance(value, str):
            return value
        if name in ("from_session", "of", "session"):
            return self._short.get(value, value.partition("@")[0].lstrip("=") if "@" in value else value[:8])
        text = redacted(value)
        for place in self._places:
            text = text.replace(place, "~")
        return text.replace(self._host, "this-machine") if len(self._host) > 3 else text


def _scene(run: Run, at: int) -> Result | None:
    try:
        return run.ask(OPERATIONS["replay"], at=at, limit=_ROOM_ITEMS)
    except Refusal as refusal:
        if refusal.code in ("INVALID_ARGUMENT", "LIMIT_EXCEEDED"):  # it is no longer known
            return None
        raise
