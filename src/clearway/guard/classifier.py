"""A program of the user's own that judges commands: asked behind the danger gate, never instead of it.

It is sent one redacted command and answers `allow` or `block` with a reason; docs/how-to/danger-gate.md has the
protocol. It advises: whatever goes wrong - no answer in time, no such program, an answer that cannot be read - is a
refusal to the caller of `ask`, who lets the command pass. Its reason is another's text, and is folded as such.
"""

from __future__ import annotations

from clearway import children, wire
from clearway.errors import Refusal
from clearway.limits import CLASSIFIER_WAIT_MS, REFUSAL_BYTES_MAX
from clearway.untrusted import folded, quoted, redacted, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

VERSION = 1
COMMAND_CHARS_MAX = 2_000
REASON_CHARS_MAX = 120
REPLY_BYTES_MAX = 4_096
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")


class Verdict:
    """What it said of one command, as it was sent."""

    __slots__ = ("blocks", "command", "reason")

    def __init__(self, blocks: bool, reason: str, command: str) -> None:
        self.blocks = blocks
        self.reason = reason
        self.command = command

    def sentence(self) -> str:
        from clearway.guard.danger import WAY_OUT

        why = quoted(self.reason or "no reason given", REASON_CHARS_MAX)
        room = REFUSAL_BYTES_MAX - len("FORBIDDEN: ") - len(WAY_OUT) - 2
        return f"{within(f'The classifier of this machine says {why}', room)}. {WAY_OUT}"


def ask(address: str, command: str, agent: str, environ: Mapping[str, str]) -> Verdict:
    """What the classifier at `address`, a command or a URL, says of a command. Raises Refusal if it says nothing that
    can be used, after CLASSIFIER_WAIT_MS at the latest."""
    if not address:
        raise Refusal("STORAGE_CONFIGURATION", "classifier_address is not set in config.toml")
    shown = redacted(command[: COMMAND_CHARS_MAX * 2])[:COMMAND_CHARS_MAX]
    shown = shown.encode("utf-8", "backslashreplace").decode()  # half a character is legal JSON, and in no encoding
    question = wire.dumps({"version": VERSION, "command": shown, "agent": agent}).encode()
    try:
        is_url = "://" in address.partition(" ")[0]
        reply = _over_http(address, question) if is_url else _run(address, question, environ)
    except (OSError, ValueError) as error:
        raise Refusal("STORAGE_FAILURE", f"it cannot be asked: {folded(str(error), 80)}") from None
    return _read(reply, shown)


def _read(reply: bytes, shown: str) -> Verdict:
    try:
        said: Any = wire.loads(reply)
        verdict, reason = said["verdict"], said.get("reason") or ""
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Refusal("UNSUPPORTED_FIELD", "its answer cannot be read") from None
    if verdict not in ("allow", "block") or not isinstance(reason, str):
        raise Refusal("UNSUPPORTED_FIELD", "its answer is neither allow nor block")
    return Verdict(verdict == "block", folded(reason, REASON_CHARS_MAX), shown)


def _run(address: str, question: bytes, environ: Mapping[str, str]) -> bytes:
    program, *arguments = address.split()
    passed_on = {name: environ[name] for name in _PASSED_ON if name in environ}
    printed = children.run(
        program, arguments, passed_on, given=question, wait_ms=CLASSIFIER_WAIT_MS, bytes_max=REPLY_BYTES_MAX
    )
    if printed.late:
        raise Refusal("STORAGE_BUSY", "it did not answer in time")
    return printed.text


def _over_http(address: str, question: bytes) -> bytes:
    """One POST over a connection of its own, in a thread, so that nothing - a name that is looked up, an answer that
    drips - takes longer than it may."""
    import _thread

    answers: list[bytes | Exception] = []
    over = _thread.allocate_lock()
    over.acquire()

    def post() -> None:
        try:
            answers.append(_posted(address, question))
        except Exception as error:
            answers.append(error)
        finally:
            over.release()

    _thread.start_new_thread(post, ())
    if not over.acquire(timeout=CLASSIFIER_WAIT_MS / 1_000):
        raise Refusal("STORAGE_BUSY", "it did not answer in time")
    answer = answers[0]
    if isinstance(answer, Exception):
        raise answer if isinstance(answer, (Refusal, OSError)) else ValueError(str(answer))
    return answer


def _posted(address: str, question: bytes) -> bytes:
    """No proxy of the environment, and no redirection is followed."""
    from http.client import HTTPConnection, HTTPSConnection
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=CLASSIFIER_WAIT_MS / 1_000)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", path, question, {"Content-Type": "application/json", "Connection": "close"})
        with connection.getresponse() as answer:
            if answer.status != 200:
                raise Refusal("STORAGE_FAILURE", f"it answered with status {answer.status}")
            return answer.read(REPLY_BYTES_MAX)
    finally:
        connection.close()
