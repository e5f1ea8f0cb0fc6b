"""Tools whose names say that they write, and of which nobody knows what: each is noted once, for `doctor`.

They are allowed and looked at after the call; a person who sees one in the list knows what the guard could not check.
"""

from __future__ import annotations

import os

from clearway.untrusted import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.guard.toolcall import ToolCall

_NAME = "unknown-tools"
_BYTES_MAX = 16_384
_NAME_CHARS_MAX = 120


def note(home: str, call: ToolCall) -> None:
    """Remember a tool. Lost without harm when nothing can be written."""
    line = f"{call.client} {folded(call.tool, _NAME_CHARS_MAX)}"
    try:
        known = noted(home)
        if line in known:
            return
        folder = os.path.join(home, "run")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(os.path.join(folder, _NAME), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            if os.fstat(descriptor).st_size < _BYTES_MAX:
                os.write(descriptor, f"{line}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
    except OSError:
        return


def noted(home: str) -> list[str]:
    """The client and the name of each such tool that was met on this machine."""
    try:
        with open(os.path.join(home, "run", _NAME), encoding="utf-8", errors="replace") as opened:
            return [line for line in opened.read(2 * _BYTES_MAX).splitlines() if line]
    except OSError:
        return []
