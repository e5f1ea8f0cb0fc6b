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

SQL = statements(__file__)


class Tx:
    """What an operation may touch. Made by the door, gone with the transaction."""

    __slots__ = (
        "_before",
        "_secret",
        "_session",
        "_state",
        "beats",
        "caller",
        "changed",
        "clock",
        "farewell",
        "gone",
        "liveness",
        "now",
        "project_id",
        "wall",
        "writes",
    )

    def __init__(
        self,
        session: Session,
        *,
        clock: Clock,
        liveness: Liveness,
        beats: Beats | None,
        caller: Caller,
        secret: Callable[[], bytes],
        writes: bool,
        server_time: int | None,
    ) -> None:
        self._session = session
        self._secret = secret
        self.clock = clock
        self.liveness = liveness
        self.beats = beats
        self.caller = caller
        self.writes = writes
        self.changed = False
        self.farewell = False  # the caller's session ends here: this question is not a sign of life
        self.gone: tuple[str, str] | None = None  # ids of lapsed path leases and attempts, joined; see lapse.gone
        self._state = self._only(SQL.state)
        self._before: Row | None = None
        self.project_id: str = self._state.project_id
        state = self._state
        if server_time is None:
            anchor = (state.anchor_boot, state.anchor_monotonic, state.anchor_wall, state.anchor_room)
            self.now = clocks.room_time(anchor, clock)
            self.wall = clock.wall()
        else:
            self.now = max(server_time, state.anchor_room)
            self.wall = server_time

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

    def change_if(self, statement: Statement, **values: Any) -> bool:
        """Run a statement that writes; only if it touched a row does the transaction count as a change."""
        touched = self._session.change(statement, values) > 0
        self.changed = self.changed or touched
        return touched

    def _only(self, statement: Statement) -> Row:
        row = self.one(statement)
        assert row is not None, "the room's own row is missing"
        return row

    # --- what only the door can give ------------------------------------------------------------------------------

    @property
    def last_event(self) -> int:
        """The id of the newest event."""
        return self._state.last_event

    def new_id(self) -> str:
        return self.clock.new_id()

    def new_fence(self) -> int:
        """A number that only grows in this room; every acquisition gets one."""
        return self._next("last_fence")

    def new_number(self) -> int:
        """The next issue number, never used before."""
        return self._next("last_issue")

    def new_event(self) -> int:
        return self._next("last_event")

    def token(self, attempt: str, fence: int) -> str:
        return clocks.token(self._secret(), attempt, fence)

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
        self._session.savepoint()
        self._before = Row(self._state)

    def undo(self) -> None:
        """Take back what was done since the savepoint, numbers included."""
        assert self._before is not None
        self._session.undo()
        self._state = self._before

    def commit(self) -> None:
        """Write the counters and the anchor of room time back, and make all of it stand."""
        if not self.changed:
            self._session.rollback()
            return
        state = self._state
        self._session.change(
            SQL.keep_state,
            {
                "boot": self.clock.boot(),
                "monotonic": self.clock.monotonic(),
                "wall": self.wall,
                "room": self.now,
                "last_event": state.last_event,
                "last_issue": state.last_issue,
                "last_fence": state.last_fence,
            },
        )
        self._session.commit()

    def rollback(self) -> None:
        self._session.rollback()
