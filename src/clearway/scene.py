"""What held in a room after one event: who is here, who works on what, who holds which path and task, what is to be
reviewed, and every issue that is not finished.

A scene is made from the tables as they are now, or from an earlier scene and the events after it; both ways tell the
same, which a test proves at every event. Of sessions the log knows those that said or did something. Expiry times are
in no event, so they are in no scene. Retention keeps scenes as keyframes, and a replay begins at one.
"""

from __future__ import annotations

from clearway import wire
from clearway.db import Row, statements
from clearway.lifecycle import TERMINAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.db.tx import Tx

SQL = statements(__file__)
FORMAT = 2
_PARTS = ("issues", "archived", "attempts", "paths", "tasks", "reviews", "sessions")
_HOUSE = "clearway"  # whose own acts are nobody's presence
_OPEN_REVIEWS = {"review_requested": "open", "review_reopened": "open", "review_claimed": "claimed"}
_OPEN_TASKS = frozenset({"pending", "leased", "started", "needs_review"})


class Scene:
    """What held after `event`. The parts are dictionaries, by id or fence, of the small lists that are named here."""

    __slots__ = ("_places", "event", "finished", "paused", *_PARTS)

    def __init__(self) -> None:
        self.event = 0
        self.finished = 0  # issues that are done or cancelled
        self.paused: str | None = None  # since the guard is switched off: until when, or empty
        self.issues: dict[str, str] = {}  # unfinished: its status
        self.archived: dict[str, str] = {}  # the same of those put away
        self.attempts: dict[str, list[Any]] = {}  # issue, session, agent, kind, fence
        self.paths: dict[int, list[Any]] = {}  # checkout, path, mode, session, agent, purpose, thread, call, key
        self.tasks: dict[int, list[Any]] = {}  # state, recipient, session, agent
        self.reviews: dict[str, list[Any]] = {}  # issue, status
        self.sessions: dict[str, list[Any]] = {}  # agent, wall time of what it did last
        self._places: dict[tuple[Any, ...], list[int]] | None = None  # the fences of each place, some of them gone

    def fences(self, place: tuple[Any, ...]) -> list[int]:
        """The path leases of one session on one path. place: checkout, mode, session, call and key."""
        if self._places is None:
            self._places = {}
            for fence, held in self.paths.items():
                self._places.setdefault((held[0], *held[2:4], *held[7:9]), []).append(fence)
        found = [fence for fence in self._places.get(place, ()) if fence in self.paths]
        self._places[place] = found
        return found

    def moved(self) -> None:
        """Leases have another holder."""
        self._places = None

    def take(self, event: Row) -> None:
        """Go on to an event. Those of other types than TYPES change nothing here."""
        self.event = event.id
        act = _ACTS.get(event.type)
        if act is None:
            return
        if event.type in _OWN_ACTS and event.agent != _HOUSE:
            self.sessions[event.session] = [event.agent, event.at]
        act(self, event, wire.loads(event.data))


def now(tx: Tx) -> Scene:
    """What holds now, by the tables."""
    scene = Scene()
    scene.event = tx.last_event
    for row in tx.all(SQL.issues):
        (scene.archived if row.archived else scene.issues)[row.id] = row.status
    finished = tx.one(SQL.finished)
    scene.finished = 0 if finished is None else finished.issues
    scene.attempts = {row.id: [row.issue, row.session, row.agent, row.kind, row.fence] for row in tx.all(SQL.attempts)}
    for row in tx.all(SQL.paths):
        scene.paths[row.fence] = [
            *(row.checkout, row.shown, row.mode, row.session, row.agent, row.purpose),
            *(row.thread if row.apart else "", row.call, row.path),
        ]
    scene.tasks = {row.id: [row.state, row.recipient, row.session, row.agent] for row in tx.all(SQL.tasks)}
    scene.reviews = {row.id: [row.issue, row.status] for row in tx.all(SQL.reviews)}
    scene.sessions = {row.id: [row.agent, tx.at(row.beat_at)] for row in tx.all(SQL.sessions)}
    paused = tx.one(SQL.paused)
    if paused is not None and paused.paused_at is not None:
        scene.paused = "" if paused.paused_until is None else tx.iso(paused.paused_until)
    return scene


def packed(scene: Scene, wall: int) -> str:
    """A scene as a keyframe keeps it."""
    import base64
    import zlib

    parts = {name: list(getattr(scene, name).items()) for name in _PARTS}
    told = {"v": FORMAT, "event": scene.event, "wall": wall, "finished": scene.finished, "paused": scene.paused}
    return base64.b64encode(zlib.compress(wire.dumps(told | parts).encode("utf-8", "backslashreplace"), 6)).decode()


def unpacked(text: str) -> Scene:
    import base64
    import zlib

    told: dict[str, Any] = wire.loads(zlib.decompress(base64.b64decode(text)))
    scene = Scene()
    scene.event, scene.finished, scene.paused = told["event"], told["finished"], told["paused"]
    for name in _PARTS:
        setattr(scene, name, dict(told[name]))
    return scene


# --- what each event changes ------------------------------------------------------------------------------------------


def _issue_is(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    was_open = scene.issues.pop(event.issue, None) is not None
    if facts["status"] not in TERMINAL:
        scene.issues[event.issue] = facts["status"]
    scene.finished += (facts["status"] in TERMINAL) - (event.type != "issue_created" and not was_open)


def _issue_put_away(scene: Scene, event: Row, _: dict[str, Any]) -> None:
    status = scene.issues.pop(event.issue, None)
    if status is not None:
        scene.archived[event.issue] = status


def _issue_brought_back(scene: Scene, event: Row, _: dict[str, Any]) -> None:
    status = scene.archived.pop(event.issue, None)
    if status is not None:
        scene.issues[event.issue] = status


def _attempt_starts(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    scene.attempts[event.attempt] = [event.issue, event.session, event.agent, facts["kind"], facts["fence"]]


def _attempt_adopted(scene: Scene, event: Row, _: dict[str, Any]) -> None:
    if event.attempt in scene.attempts:
        scene.attempts[event.attempt][1:3] = [event.session, event.agent]


def _attempt_ends(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    scene.attempts.pop(event.attempt, None)
    if facts.get("target"):
        _issue_is(scene, event, {"status": facts["target"]})


def _review(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    status = _OPEN_REVIEWS.get(event.type)
    if status is None:
        scene.reviews.pop(facts["review"], None)
    else:
        scene.reviews[facts["review"]] = [event.issue, status]


def _paths_claimed(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    thread, call = facts.get("thread"), facts.get("call", "")
    for claimed in facts["paths"]:
        key = claimed.get("key", claimed["path"])
        mine = scene.fences((claimed["checkout"], facts["mode"], event.session, call, key))
        shown = claimed["path"]
        for fence in list(mine):  # claiming again renews one's own lease
            if thread in (None, scene.paths[fence][6]):
                shown = scene.paths.pop(fence)[1]
        mine.append(claimed["fence"])
        new = [claimed["checkout"], shown, facts["mode"], event.session, event.agent, facts["purpose"]]
        scene.paths[claimed["fence"]] = [*new, thread or "", call, key]


def _paths_released(scene: Scene, _: Row, facts: dict[str, Any]) -> None:
    for released in facts["paths"]:
        scene.paths.pop(released["fence"], None)


def _session_starts(_: Scene, __: Row, ___: dict[str, Any]) -> None:
    """That it is here is noted for whatever it does."""


def _session_goes_on(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    """All that an earlier session held is this one's."""
    scene.moved()
    for held in scene.paths.values():
        if held[3] == facts["from_session"]:
            held[3:5] = [event.session, event.agent]
    for attempt in scene.attempts.values():
        if attempt[1] == facts["from_session"]:
            attempt[1:3] = [event.session, event.agent]
    for task in scene.tasks.values():
        if task[2] == facts["from_session"]:
            task[2:4] = [event.session, event.agent]


def _session_ends(scene: Scene, event: Row, _: dict[str, Any]) -> None:
    scene.sessions.pop(event.session, None)


def _message(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    if facts.get("kind") == "task":
        scene.tasks[event.id] = ["pending", facts["to"], None, None]


def _task_taken(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    task = scene.tasks.setdefault(facts["task"], ["leased", "", None, None])
    if event.type == "task_leased":
        task[0] = "leased"
    task[2:4] = [event.session, event.agent]


def _task_starts(scene: Scene, _: Row, facts: dict[str, Any]) -> None:
    if facts["task"] in scene.tasks:
        scene.tasks[facts["task"]][0] = "started"


def _task_is(scene: Scene, event: Row, facts: dict[str, Any]) -> None:
    """Nobody has it any more."""
    state = facts.get("state") or ("pending" if event.type == "task_retried" else "")
    known = scene.tasks.pop(facts["task"], ["", "", None, None])
    if state in _OPEN_TASKS:
        scene.tasks[facts["task"]] = [state, facts.get("to") or known[1], None, None]


def _guard_paused(scene: Scene, _: Row, facts: dict[str, Any]) -> None:
    scene.paused = facts.get("until") or ""


def _guard_resumed(scene: Scene, _: Row, __: dict[str, Any]) -> None:
    scene.paused = None


_TASK_FREE = (
    "task_ended",
    "task_lapsed",
    "task_cancelled",
    "task_expired",
    "task_retried",
    "task_given_back",
    "task_moved",
)
_ACTS: dict[str, Callable[[Scene, Row, dict[str, Any]], None]] = {
    "issue_created": _issue_is,
    "status_changed": _issue_is,
    "issue_archived": _issue_put_away,
    "issue_unarchived": _issue_brought_back,
    "attempt_started": _attempt_starts,
    "attempt_adopted": _attempt_adopted,
    **dict.fromkeys(
        ("attempt_completed", "attempt_failed", "attempt_interrupted", "attempt_expired"),
        _attempt_ends,
    ),
    **dict.fromkeys(
        (*_OPEN_REVIEWS, "review_approved", "review_changes_requested", "review_blocked", "review_cancelled"), _review
    ),
    "review_superseded": _review,
    "paths_claimed": _paths_claimed,
    "paths_released": _paths_released,
    "session_started": _session_starts,
    "session_continued": _session_goes_on,
    "session_ended": _session_ends,
    "message_sent": _message,
    "task_leased": _task_taken,
    "task_adopted": _task_taken,
    "task_started": _task_starts,
    **dict.fromkeys(_TASK_FREE, _task_is),
    "guard_paused": _guard_paused,
    "guard_resumed": _guard_resumed,
}
TYPES = tuple(_ACTS)
# Whoever is named by these did it; the others may be told of a session that is gone.
_OWN_ACTS = frozenset(_ACTS) - {
    *("attempt_expired", "review_reopened", "paths_released", "session_ended", "task_lapsed", "task_expired"),
}
