"""What a registered hook runs first: the quiet case, answered at once; everything else goes to the full step.

BOOT (setup/registered.py) imports this module and calls `main`. It loads the house only when there is something to do.
"""

from __future__ import annotations

import gc
import sys

from clearway.guard.quiet import is_quiet

if sys.platform == "win32":
    import nt as posix
else:
    import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_PAYLOAD_BYTES_MAX = 64 * 1_048_576  # limits.PAYLOAD_BYTES_MAX


def main(client: str) -> NoReturn:
    """Answer the hook of `client` on stdin. Never returns."""
    gc.disable()  # this process ends before there is anything to collect, and loading makes much to look through
    raw = _standard_input()
    if is_quiet(client, raw, posix.environ):
        posix._exit(0)  # pyright: ignore[reportPrivateUsage]  # the interpreter's farewell costs a millisecond
    try:
        from clearway.surfaces import hooks
    except Exception as problem:  # the product is being exchanged under us: what is missing can enforce nothing
        posix.write(2, f"clearway: {problem!r}, guard open\n".encode("utf-8", "backslashreplace"))
        posix._exit(0)  # pyright: ignore[reportPrivateUsage]
    hooks.main(client, raw)


def _standard_input() -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= _PAYLOAD_BYTES_MAX:
        try:
            part = posix.read(0, 1_048_576)
        except OSError:  # closed: then nothing was asked
            break
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)
