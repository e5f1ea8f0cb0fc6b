"""Page cursors: where a list goes on, as an opaque, versioned, strictly read text."""

from __future__ import annotations

from clearway import wire
from clearway.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def write(place: dict[str, int]) -> str:
    """The cursor after the row with these sort keys."""
    import base64

    return base64.urlsafe_b64encode(wire.dumps({"v": 1, **place}).encode()).rstrip(b"=").decode("ascii")


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
