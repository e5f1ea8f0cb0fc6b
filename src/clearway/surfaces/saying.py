"""What is written to a terminal: lines on stdout, JSON for programs, and a remark on stderr."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def say(text: str) -> None:
    """Lines on stdout. Where that is closed, nobody asked for them."""
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] (closed by the caller: `>&-`)
        print(text)


def say_json(result: Any) -> None:
    """One line of JSON on stdout, in UTF-8 whatever the locale says; it may be a terminal that reads it."""
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
        from clearway import wire
        from clearway.untrusted import escaped

        sys.stdout.flush()
        sys.stdout.buffer.write(escaped(wire.dumps(result)).encode("utf-8", "backslashreplace") + b"\n")


def mention(sentence: str) -> None:
    """What a person should know besides the answer."""
    try:
        print(f"clearway: {sentence}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass  # nobody listens


def columns() -> int:
    """How wide the terminal is; 0 where there is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0
    except (OSError, ValueError, AttributeError):
        return 0
