"""One transaction as an operation sees it: statements, the time, new ids, and the one log.

Counters of events, issues and fences are held here and written back at the commit, so a refused operation consumes no
number and events are gapless in commit order.
"""

from __future__ import annotations

from clearway import clock as clocks
from clearway import wire
from clearway.db import Row, Statement, statements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.alive import Liveness
    from clearway.beats import Beats
    from clearway.clock import Clock
    from clearway.config import Caller
    from clearway.db import Session
    from clearway.opencalls import OpenCalls

SQL = statements(__file__)


class Tx:
    """What an operation may touch. Made by the door, gone with the transaction."""

    __slots__ = (
        "_before",
        "_saved",
        "_session",
        "_state",
        "beats",
        "caller",
        "calls",
        "carried",
        "changed",
        "clock",
        "farewell",
        "flights",
        "gone",
        "home",
        "liveness",
        "now",
        "opening",
        "outside",
        "project_id",
        "settings",
        "silent",
        "token",
        "wall",
        "writes",
    )

    def __init__(
        self,
        session: Session,
        opening: Row,
        *,
        clock: Clock,
        liveness: Liveness,
        beats: Beats | None,
        calls: OpenCalls,
        caller: Caller,
        token: Callable[[str, int], str],
        writes: bool,
        outside: Any = None,
        home: str = "",
    ) -> None:
        self._session = session
        self.opening = opening  # what the room said first: its state, the caller's session, when something is due
        self.token = token  # the capability of an attempt, from its id and fence
        self.clock = clock
        self.liveness = liveness
        self.beats = beats
        self.calls = calls
        self.caller = caller
        self.writes = writes
        self.home = home  # where this machine keeps what is no room's: a read may look there
        self.outside = outside  # settings that do not come from the room, and those the room keeps; see policy.value
        self.settings: dict[str, str] | None = None
        self.changed = False
        self.farewell = False  # the caller's session ends here: this question is not a sign of life
        self.silent = False  # nor is this one, and earlier signs stand
        self.carried: dict[str, int] = {}  # until when beats carry what is past its stored term; see lapse.until
        self.gone: tuple[str, str, str] | None = None  # what has lapsed, ids joined; see lapse.gone
        self.flights: dict[str, int | None] = {}  # since when sessions have a call open; see lapse.in_flight
        self._state: dict[str, int] = {
            "last_event": opening.last_event,
            "last_issue": opening.last_issue,
            "last_fence": opening.last_fence,
        }
        self._before: dict[str, int] = {}
        self._saved = False
        self.project_id: str = opening.project_id
        if opening.server_now is None or type(clock) is not clocks.Clock:
            anchor = (opening.anchor_boot, opening.anchor_monotonic, opening.anchor_wall, opening.anchor_room)
            self.now = clocks.room_time(anchor, clock)
            self.wall = clock.wall()
        else:
            self.now = max(opening.server_now, opening.anchor_room)
            self.wall = opening.server_now

    # --- statements ---------------------------------------------------------------------------------------------

    def one(self, statement: Statement, **values: Any) -> Row | None:
        """The first row, or None."""
        rows = self._session.rows(statement, values)
        return rows[0] if rows else None

    def all(self, statement: Statement, **values: Any) -> list[Row]:
        return self._session.rows(statement, values)

    def change(self, statement: Statement, **values: Any) -> int:
        """Run a statement that writes; how many rows it touched."""
        assert self.writes, statement.name
        self.changed = True
        return self._session.change(statement, values)

    def change_each(self, statement: Statement, rows: list[dict[str, Any]]) -> None:
        """Run a statement that writes once for each of many rows, in one journey."""
        assert self.writes, statement.name
        self.changed = True
        self._session.change_each(statement, rows)

    # --- what only the door can give ------------------------------------------------------------------------------

    @property
    def last_event(self) -> int:
        """The id of the newest event."""
        return self._state["last_event"]

    def new_id(self, after: str | None = None) -> str:
        return self.clock.new_id(after)

    def new_fence(self) -> int:
        """A number that only grows in this room; every acquisition gets one."""
        return self._next("last_fence")

    def new_number(self) -> int:
        """The next issue number, never used before."""
        return self._next("last_issue")

    def reach(self, *, event: int = 0, issue: int = 0, fence: int = 0) -> None:
        """Numbers up to these are taken: they came from elsewhere, or were given out and not counted."""
        for name, upto in (("last_event", event), ("last_issue", issue), ("last_fence", fence)):
            self._state[name] = max(self._state[name], upto)

    def new_event(self) -> int:
        return self._next("last_event")

    def at(self, room_ms: int) -> int:
        """A moment of room time as the wall clock will show it (wall now + time left), in ms."""
        return self.wall + room_ms - self.now

    def iso(self, room_ms: int) -> str:
        return clocks.iso(self.at(room_ms))

    def tell(
        self, told: str, /, *, issue: str | None = None, attempt: str | None = None, by: Row | None = None, **facts: Any
    ) -> int:
        """Append one event. by: the session it is attributed to, when that is not the caller's."""
        number = self.new_event()
        self.change(
            SQL.tell,
            id=number,
            type=told,
            at=self.wall,
            issue=issue,
            attempt=attempt,
            session=self.caller.key if by is None else by.session,
            agent=self.caller.agent if by is None else by.agent,
            data=wire.dumps(facts),
        )
        return number

    def _next(self, counter: str) -> int:
        self._state[counter] += 1
        return self._state[counter]

    # --- for the door -----------------------------------------------------------------------------------------------

    def savepoint(self) -> None:
        """From here on can be undone. Where nothing was done before, the whole transaction can be, which costs no copy
        of each page that is written."""
        self._before = self._state.copy()
        self._saved = self.changed
        if self._saved:
            self._session.savepoint()

    def undo(self) -> bool:
        """Take back what was done since the savepoint, numbers included. False where that was the transaction, which is
        over then."""
        assert self._before, "no savepoint"
        if self._saved:
            self._session.undo()
        elif self.changed:
            self.rollback()
            return False
        self._state = self._before
        return True

    def commit(self) -> None:
        """Write the counters and the anchor of room time back, and make all of it stand."""
        if not self.changed:
            self._session.leave()
            return
        anchor = {
            "boot": self.clock.boot(),
            "monotonic": self.clock.monotonic(),
            "wall": self.wall,
            "room": self.now,
        }
        self._session.change(SQL.keep_state, anchor | self._state)
        self._session.commit()

    def rollback(self) -> None:
        self._session.rollback()
