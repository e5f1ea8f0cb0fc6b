"""Which event is meant by a number, or by a time as people write it.

The log orders events by number; their times are those of the wall clock, which may have been set, so a time is found
as well as those allow.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.untrusted import folded

if TYPE_CHECKING:
    from clearway.surfaces.asking import Run

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def last(run: Run, name: str, given: str) -> int:
    """The last event at or before a time, 0 if there is none; or the one of this number."""
    latest = run.ask(OPERATIONS["get_changes"], limit=1)["latest_event_id"]
    return number(run, name, given, latest)


def number(run: Run, name: str, given: str, latest: int, *, after: bool = False) -> int:
    """An event by its number, or by the time it happened. after: the first one at or after that time, else the last."""
    text = given.strip().removeprefix("#")
    if text.isascii() and text.isdigit() and len(text) < 17:
        number = int(text)
        if not 0 < number <= latest:
            raise Refusal("INVALID_ARGUMENT", f"--{name}: events are numbered from 1 to {latest}.")
        return number
    wall = _wall(run, name, text)

    def at(number: int) -> int:
        """When the first event happened that is kept from this number on."""
        page = run.ask(OPERATIONS["get_changes"], since_event_id=number - 1, limit=1)["events"]
        return round(datetime.fromisoformat(page[0]["at"]).timestamp()) if page else wall

    low, high = 1, latest + 1
    while low < high:
        middle = (low + high) // 2
        if at(middle) < wall + (not after):
            low = middle + 1
        else:
            high = middle
    return low if after else low - 1


def _wall(run: Run, name: str, text: str) -> int:
    """A time in seconds: `14:08` today, `2h` ago, or as ISO 8601 has it."""
    now = datetime.fromtimestamp(run.rooms.clock.wall() / 1_000).astimezone()
    if text[:-1].isascii() and text[:-1].isdigit() and len(text) < 8 and text[-1:] in _UNITS:
        return round((now - timedelta(seconds=int(text[:-1]) * _UNITS[text[-1]])).timestamp())
    ways: tuple[Callable[[], datetime], ...] = (
        lambda: datetime.combine(now.date(), datetime.strptime(text, "%H:%M").time(), now.tzinfo),
        lambda: datetime.fromisoformat(text),
    )
    for way in ways:
        try:
            return round(way().timestamp())
        except (ValueError, OverflowError, OSError):
            continue
    raise Refusal(
        "INVALID_ARGUMENT",
        f"--{name}: {folded(text, 40)} is neither an event's number nor a time such as 14:08, 2h or "
        f"{now:%Y-%m-%dT%H:%M}.",
    )
