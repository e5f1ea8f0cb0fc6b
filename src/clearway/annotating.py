"""What of `typing` is used while the program runs, without loading it, which takes longer than most commands.

Whoever checks types sees the real names. In a running program `Annotated[str, Text(64)]` is the kind alone, an object's
shape is a class with annotations, and `cast` hands its value on.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Annotated as Annotated
    from typing import Any
    from typing import NotRequired as NotRequired
    from typing import TypedDict as TypedDict
    from typing import cast as cast
else:

    class Annotated:
        def __class_getitem__(cls, both):
            return both[1]

    class NotRequired:
        def __class_getitem__(cls, hint):
            return Absent(hint)

    class TypedDict:
        pass

    def cast(_, value):
        return value


class Absent:
    """`NotRequired[Title]`: an object may lack it."""

    __slots__ = ("hint",)

    def __init__(self, hint: Any) -> None:
        self.hint = hint


class Nullable:
    """`Title | None`: null is a value, too."""

    __slots__ = ("hint",)

    def __init__(self, hint: Any) -> None:
        self.hint = hint
