"""At the end of a turn: what the client's transcript says that it has cost, noted in the room.

Claude Code writes the usage of every message, Codex counts the tokens of its session. Each line is read once: a small
file in the home remembers how far a transcript was read. What is not understood counts for nothing; nothing is guessed,
and nothing that goes wrong here spoils the turn.
"""

from __future__ import annotations

import os

from clearway import platforms, wire
from clearway.beats import file_name
from clearway.limits import TRAIL_KEPT_MS, TRANSCRIPT_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clearway.surfaces.moments import Visit

_FOLDER = "spent"
_LINE_BYTES_MAX = 8 * 1_048_576
_LOCK_TRIES, _LOCK_PAUSE_MS = 40, 5


class Read:
    """How far a transcript was read: the `place`, the last message that was counted, the totals of its session (None if
    they were not read), and the model that was named last."""

    __slots__ = ("last", "model", "place", "totals")

    def __init__(self, known: Any = None) -> None:
        facts: dict[str, Any] = known if wire.is_object(known) else {}
        self.place = _whole(facts.get("place"))
        self.last = str(facts.get("last", ""))
        self.model = str(facts.get("model", ""))
        totals = facts.get("totals", [0, 0, 0])
        self.totals = [_whole(each) for each in totals][:3] if wire.is_list(totals) else None

    def as_dict(self) -> dict[str, Any]:
        return {"place": self.place, "last": self.last, "model": self.model, "totals": self.totals}


def begin(visit: Visit) -> None:
    """A session starts: what stands in its transcript already was spent before."""
    path = visit.call.raw.get("transcript_path")
    if isinstance(path, str) and os.path.isabs(path):
        memory = _memory(visit, path)
        try:
            if not os.path.exists(memory):
                _remember(memory, _behind(path) if os.path.exists(path) else Read())
        except (OSError, ValueError):
            pass


def note(visit: Visit) -> None:
    """Read on in the transcript of the session, and of the subagent whose turn ends."""
    raw = visit.call.raw
    for name in ("agent_transcript_path", "transcript_path"):
        path = raw.get(name)
        if isinstance(path, str) and os.path.isabs(path) and os.path.isfile(path):  # a pipe would be waited for
            try:
                _note(visit, path, whole=name != "transcript_path")
            except (OSError, ValueError):
                continue


def sweep(home: str, wall: int) -> None:
    """Part with what is known of transcripts that nobody has written to for long."""
    platforms.remove_older(os.path.join(home, "run", _FOLDER), wall - TRAIL_KEPT_MS)


def _note(visit: Visit, path: str, *, whole: bool) -> None:
    """whole: all of it is of this session. Otherwise, if nobody saw it begin, what stands in it belongs to no work that
    is known."""
    memory = _memory(visit, path)
    with_us = _alone(visit, memory + ".lock")
    if with_us is None:
        return  # whoever reads it now counts it, and what is new by then is counted the next time
    try:
        read = _remembered(memory) or (Read() if whole else _behind(path))
        spent = read_on(path, read)
        _remember(memory, read)
    finally:
        if with_us >= 0:
            os.close(with_us)
    room = visit.home
    if room is None:
        return
    from clearway.crew import costs

    for model, (fresh, cached, output) in spent.items():
        room.run(
            lambda tx, model=model, fresh=fresh, cached=cached, output=output: costs.record(
                tx,
                input_tokens=fresh + cached,
                cached_tokens=cached,
                output_tokens=output,
                model=model,
                source=costs.TRANSCRIPT,
            ),
            caller=visit.caller,
            durable=False,
        )


def _alone(visit: Visit, lock: str) -> int | None:
    """The turns of a session and of its subagents may end at once, and all name one transcript: one after the other
    reads it. The descriptor of the lock, -1 where there are none, None if another has it for too long."""
    if platforms.WINDOWS:
        return -1
    for _ in range(_LOCK_TRIES):
        held = platforms.hold_alone(lock)
        if held is not None:
            return held
        visit.rooms.clock.pause(_LOCK_PAUSE_MS)
    return None


def _behind(path: str) -> Read:
    """What stands in it until now is left alone."""
    read = Read({"totals": None})
    read.place = os.stat(path).st_size
    return read


def _memory(visit: Visit, path: str) -> str:
    folder = os.path.join(visit.rooms.settings.home, "run", _FOLDER)
    platforms.make_private(folder)
    return os.path.join(folder, file_name(path))


def read_on(path: str, read: Read) -> dict[str, list[int]]:
    """What was spent behind the place up to which it was read, by model: read, read from a cache, written. The place
    moves behind the last whole line."""
    spent: dict[str, list[int]] = {}
    with open(path, "rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        if size < read.place:  # another file under the same name
            read.place, read.last, read.totals = 0, "", [0, 0, 0]
        if size - read.place > TRANSCRIPT_BYTES_MAX:  # what lies so far behind is left alone
            opened.seek(size - TRANSCRIPT_BYTES_MAX)
            opened.readline(_LINE_BYTES_MAX)
        else:
            opened.seek(read.place)
        while line := opened.readline(_LINE_BYTES_MAX):
            if not line.endswith(b"\n"):
                if len(line) < _LINE_BYTES_MAX or not _passed(opened):
                    break  # it is still being written
                line = b""  # a picture, or as large a result: no usage stands in it
            read.place = opened.tell()
            if b'"usage"' in line or b'"token_count"' in line or b'"turn_context"' in line:
                _count(line, read, spent)
    return {model: numbers for model, numbers in spent.items() if any(numbers)}


def _passed(opened: Any) -> bool:
    """Go behind a line of which a part was read. Whether it has an end."""
    while part := opened.readline(_LINE_BYTES_MAX):
        if part.endswith(b"\n"):
            return True
    return False


def _count(line: bytes, read: Read, spent: dict[str, list[int]]) -> None:
    try:
        said = wire.loads(line)
    except ValueError:
        return
    if not wire.is_object(said):
        return
    message, payload = said.get("message"), said.get("payload")
    if said.get("type") == "assistant" and wire.is_object(message):
        _claude(message, read, spent)
    elif wire.is_object(payload):
        _codex(said, payload, read, spent)


def _claude(message: dict[str, Any], read: Read, spent: dict[str, list[int]]) -> None:
    """One message stands on several lines, each with its whole usage."""
    usage, name = message.get("usage"), str(message.get("id", ""))
    if not wire.is_object(usage) or (name and name == read.last):
        return
    read.last = name
    model = str(message.get("model", ""))
    if model == "<synthetic>":  # the client's own words
        return
    fresh = _whole(usage.get("input_tokens")) + _whole(usage.get("cache_creation_input_tokens"))
    _add(spent, model, [fresh, _whole(usage.get("cache_read_input_tokens")), _whole(usage.get("output_tokens"))])


def _codex(said: dict[str, Any], payload: dict[str, Any], read: Read, spent: dict[str, list[int]]) -> None:
    """The session's own sums, of which the difference is new."""
    if said.get("type") == "turn_context":
        read.model = str(payload.get("model", read.model))
    info = payload.get("info")
    if payload.get("type") != "token_count" or not wire.is_object(info):
        return
    totals = info.get("total_token_usage")
    if not wire.is_object(totals):
        return
    now, last = _three(totals), _three(info.get("last_token_usage"))
    before = [new - one for new, one in zip(now, last, strict=True)] if read.totals is None else read.totals
    if any(new < old for new, old in zip(now, before, strict=True)):
        before = [0, 0, 0]  # it counts anew
    _add(spent, read.model, [max(0, new - old) for new, old in zip(now, before, strict=True)])
    read.totals = now


def _three(usage: Any) -> list[int]:
    """Read, read from a cache, written."""
    if not wire.is_object(usage):
        return [0, 0, 0]
    cached = _whole(usage.get("cached_input_tokens"))
    return [max(0, _whole(usage.get("input_tokens")) - cached), cached, _whole(usage.get("output_tokens"))]


def _add(spent: dict[str, list[int]], model: str, numbers: list[int]) -> None:
    known = spent.setdefault(model, [0, 0, 0])
    for place, number in enumerate(numbers):
        known[place] += number


def _remembered(file: str) -> Read | None:
    try:
        with open(file, encoding="utf-8") as opened:
            return Read(wire.loads(opened.read(4_096)))
    except (OSError, ValueError):
        return None


def _remember(file: str, read: Read) -> None:
    aside = platforms.aside(file)
    with open(aside, "w", encoding="utf-8") as opened:
        opened.write(wire.dumps(read.as_dict()))
    os.replace(aside, file)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
