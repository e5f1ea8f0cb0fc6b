"""Page cursors: where a list goes on, as an opaque, versioned, strictly read text."""

from __future__ import annotations

from clearway import wire
from clearway.errors import Refusal
from clearway.limits import HISTORY_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clearway.db import Row


def write(place: dict[str, int]) -> str:
    """The cursor after the row with these sort keys."""
    return wire.in_address(wire.dumps({"v": 1, **place}).encode())


def read(cursor: str | None, names: tuple[str, ...]) -> dict[str, int]:
    """The sort keys in a cursor; empty for the first page. A cursor that was not ours is refused."""
    if cursor is None:
        return {}
    import base64

    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place: Any = wire.loads(raw)
        if place.pop("v") != 1 or set(place) != set(names) or not all(type(key) is int for key in place.values()):
            raise ValueError
        if not all(-(2**63) <= key < 2**63 for key in place.values()):
            raise ValueError
        return place
    except (ValueError, KeyError, AttributeError, TypeError):
        message = "The cursor is not one of this list; leave it out to begin at the first page."
        raise Refusal(
            "INVALID_ARGUMENT", message, [{"field": "cursor", "code": "MALFORMED_CURSOR", "message": message}]
        ) from None


def page(
    rows: list[Row], limit: int, shown: Callable[[Row], dict[str, Any]], key: str, column: str = ""
) -> dict[str, Any]:
    """As many items as were asked for and as fit, at least one, and where the list goes on. rows: one more than asked
    for, if there is one. column: which of them holds the sort key, if it has another name."""
    items: list[dict[str, Any]] = []
    size = 0
    for row in rows[:limit]:
        item = shown(row)
        size += len(wire.dumps(item).encode())
        if items and size > HISTORY_BYTES:
            break
        items.append(item)
    more = len(items) < len(rows)
    reply: dict[str, Any] = {"items": items, "has_more": more}
    if more:
        reply["next_cursor"] = write({key: rows[len(items) - 1][column or key]})
    return reply
