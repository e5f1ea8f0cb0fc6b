"""The notifier: tells a person outside of the room what waits for them (crew/needs.py), each thing once.

What is told is noted in the room before it is sent and struck out when sending failed, so that neither a restart nor a
second notifier tells it again; what was being sent when a notifier was killed may have arrived and is not repeated.
Nothing is sent in the quiet hours or while a service asks for a rest: it waits. Secrets are taken out of every text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from clearway import amounts, policy
from clearway.clock import Clock
from clearway.config import Caller
from clearway.crew import needs
from clearway.db import statements
from clearway.db.tx import Tx
from clearway.errors import Refusal
from clearway.limits import NOTIFIED_KEPT_MS, NOTIFY_ALERT_CHARS, NOTIFY_CHARS_MAX, NOTIFY_EVERY_MS, NOTIFY_GLANCE_MS
from clearway.room import Room
from clearway.untrusted import folded, redacted
from clearway.worker.ways import NotSent, Way

SQL = statements(__file__)
Need = dict[str, Any]


class Notifier:
    """Tells of the rooms of one person, by some ways."""

    def __init__(
        self,
        rooms: Callable[[], Sequence[tuple[str, Room]]],
        ways: Sequence[Way],
        *,
        clock: Clock,
        say: Callable[[str], None],
        overdue: int | None = None,
    ) -> None:
        """rooms: those to be told of now, each with its name. say: whom to tell what was not sent. overdue: after how
        many seconds a message that nobody has taken counts, if not as each room says."""
        self._rooms = rooms
        self._ways = ways
        self._clock = clock
        self._say = say
        self._overdue = overdue
        self._rests: dict[str, int] = {}
        self.held_back = 0  # how many alerts wait for the end of quiet hours, as of the last `once`

    def once(self) -> tuple[int, int]:
        """Tell what was not told yet: how many alerts were sent, and how many could not be."""
        sent = failed = self.held_back = 0
        for name, room in self._rooms():
            try:
                waiting, quiet = room.run(self._look, caller=_person(room), writes=False)
                if quiet:
                    self.held_back += self._untold(room, waiting)
                    continue
                for way in self._ways:
                    told, untold = self._tell(name, room, way, waiting)
                    sent, failed = sent + told, failed + untold
            except Refusal as refusal:
                self._say(f"{name}: {refusal.code}: {refusal.message}")
        return sent, failed

    def untold(self) -> list[tuple[str, Need]]:
        """A look only: what would be told now, by the first of the ways or by any."""
        way = self._ways[0].name if self._ways else ""
        found: list[tuple[str, Need]] = []
        for name, room in self._rooms():
            waiting, _ = room.run(self._look, caller=_person(room), writes=False)
            known = room.run(lambda tx: _known(tx, way), caller=_person(room), writes=False)
            found += [(name, need) for need in waiting if need["key"] not in known]
        return found

    def run(self, until_ms: int | None = None) -> None:
        """Stay and tell, until the time is over (monotonic ms) or somebody ends us. What is new in a file is seen by a
        glance at its own counter; everything else when it is looked for the next time."""
        while until_ms is None or self._clock.monotonic() < until_ms:
            again = self._clock.monotonic() + NOTIFY_EVERY_MS
            try:
                files = [room.engine for _, room in self._rooms() if room.engine.name == "sqlite"]
                stamps = [engine.stamp() for engine in files]
                self.once()
                while self._clock.monotonic() < again and [engine.stamp() for engine in files] == stamps:
                    self._clock.pause(NOTIFY_GLANCE_MS)
            except Refusal as refusal:  # the disk may have room again later
                self._say(f"{refusal.code}: {refusal.message}")
                self._clock.pause(NOTIFY_EVERY_MS)

    def _untold(self, room: Room, waiting: list[Need]) -> int:
        told: list[set[str]] = [
            room.run(lambda tx, name=way.name: set(_known(tx, name)), caller=_person(room), writes=False)
            for way in self._ways
        ]
        return sum(any(need["key"] not in known for known in told) for need in waiting)

    def _look(self, tx: Tx) -> tuple[list[Need], bool]:
        tx.silent = True
        return needs.listed(tx, self._overdue), is_quiet(policy.value(tx, "notify.quiet_hours"), tx.wall)

    def _tell(self, name: str, room: Room, way: Way, waiting: list[Need]) -> tuple[int, int]:
        if self._clock.monotonic() < self._rests.get(way.name, 0):
            return 0, 0
        known = room.run(lambda tx: _known(tx, way.name), caller=_person(room), writes=False)
        fresh = [need for need in waiting if need["key"] not in known]
        if fresh:
            room.tidy(lambda tx: _forget(tx, way.name, waiting))
        sent = 0
        for part in _parts(name, fresh):
            mine = room.tidy(lambda tx, part=part: _claim(tx, way.name, part))
            try:
                if mine:
                    way.send(_text(name, mine), mine)
            except NotSent as error:
                room.tidy(lambda tx, mine=mine: _strike(tx, way.name, mine))
                self._rests[way.name] = self._clock.monotonic() + error.rest * 1_000
                rest = f"; it asks for a rest of {error.rest} s" if error.rest else ""
                self._say(f"{len(fresh) - sent} not sent by {way.name}: {error.said}{rest}.")
                return sent, len(fresh) - sent
            room.tidy(lambda tx, mine=mine: _sent(tx, way.name, mine))
            sent += len(mine)
        return sent, 0


def _parts(name: str, waiting: Sequence[Need]) -> list[list[Need]]:
    """Alerts in as few texts as there must be."""
    parts: list[list[Need]] = []
    for need in waiting:
        if parts and len(_text(name, [*parts[-1], need])) <= NOTIFY_CHARS_MAX:
            parts[-1].append(need)
        else:
            parts.append([need])
    return parts


def _text(name: str, part: Sequence[Need]) -> str:
    """What a person reads of some alerts of one room."""
    lines = [f"Clearway, {folded(name, 80)}:"]
    for need in part:
        lines.append(f"- {redacted(folded(need['text'], NOTIFY_ALERT_CHARS))}")
        lines.append(f"  {folded(need['next'], 200)}")
    return "\n".join(lines)


def _claim(tx: Tx, way: str, part: list[Need]) -> list[Need]:
    """Those of these that nobody has told by this way, which the caller tells now."""
    known = _known(tx, way)
    fresh = [need for need in part if need["key"] not in known]
    for need in fresh:
        tx.change(SQL.claim, key=need["key"], channel=way, now=tx.now)
    return fresh


def _forget(tx: Tx, way: str, waiting: list[Need]) -> None:
    """What was told long ago and waits no more."""
    keys = {need["key"] for need in waiting}
    for row in tx.all(SQL.old, channel=way, before=tx.now - NOTIFIED_KEPT_MS):
        if row.key not in keys:
            tx.change(SQL.strike, key=row.key, channel=way)


def _known(tx: Tx, way: str) -> set[str]:
    tx.silent = True
    return {row.key for row in tx.all(SQL.known, channel=way)}


def _sent(tx: Tx, way: str, part: list[Need]) -> None:
    for need in part:
        tx.change(SQL.sent, key=need["key"], channel=way)


def _strike(tx: Tx, way: str, part: list[Need]) -> None:
    for need in part:
        tx.change(SQL.strike, key=need["key"], channel=way)


def is_quiet(hours: str, wall: int) -> bool:
    """Whether this moment lies in the quiet hours, on this machine's clock."""
    span = amounts.hours_of(hours) if hours else None
    if span is None:
        return False
    at = datetime.fromtimestamp(wall / 1_000)
    minute = at.hour * 60 + at.minute
    begin, end = span
    return begin <= minute < end if begin <= end else minute >= begin or minute < end


def _person(room: Room) -> Caller:
    return Caller("human", host=room.liveness.host, human=True)
