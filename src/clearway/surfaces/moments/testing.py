"""After a test run: how it ended. Loaded only for lines that may be one.

Of `pytest | tail` the exit status is tail's, and some clients tell none (Codex); then what was printed says how the
tests ended, or nobody knows.
"""

from __future__ import annotations

from clearway import testruns, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway.guard.toolcall import ToolCall

_TOLD = (
    "tool_response",
    "toolResponse",
    "tool_output",
    "toolResult",
    "tool_result",
    "response",
    "output",
    "result",
    "error",
)
_DEPTH = 4
_PARTS_MAX = 100


def status(call: ToolCall) -> int | None:
    """The exit status of the tests in a line, None where nothing tells it; of any other line its own."""
    if not testruns.is_test(call.command):
        return call.status
    if call.status is not None and not testruns.is_masked(call.command):
        return call.status
    printed: list[str] = []
    for name in _TOLD:
        _gather(call.raw.get(name), printed, _DEPTH)
    return testruns.told("\n".join(printed))


def _gather(said: object, into: list[str], depth: int) -> None:
    """Every text in an answer, however its client wraps it."""
    if len(into) >= _PARTS_MAX:
        return
    if isinstance(said, str):
        into.append(said)
    elif depth and wire.is_object(said):
        for each in said.values():
            _gather(each, into, depth - 1)
    elif depth and wire.is_list(said):
        for each in said:
            _gather(each, into, depth - 1)
