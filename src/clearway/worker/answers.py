"""What a run came to: the answer in what a client printed, what it cost, and whether a provider's limit ended it.

Clients differ in what they print, and a template may run any of them, so an answer is known by its shape. A limit is
believed only where the client itself says so, in a field or an event of its own or by the exit status that is agreed
on; what a model or a test printed about limits, quotas and 429 is text like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from clearway import wire
from clearway.worker.models import LIMITED
from clearway.worker.running import Ran

_OF_LIMITS = frozenset({"rate_limit_error", "billing_error", "usage_limit_reached"})
_OF_GEMINI = frozenset({"RESOURCE_EXHAUSTED", "TerminalQuotaError", "RetryableQuotaError"})
_OF_OVERLOAD = frozenset({"overloaded_error", "api_error"})
_OVERLOADED = 500
_CODEX_SAYS = ("You've hit your usage limit", "You’ve hit your usage limit")
_CLAUDE_SAYS = "Claude AI usage limit reached|"
# What clients print instead of an answer where nobody asks for JSON: the whole of it, or the last complaint.
_LINES = (
    *_CODEX_SAYS,
    *(f"ERROR: {line}" for line in _CODEX_SAYS),
    "API Error: Request rejected (429)",
    "You've hit your limit",
    "5-hour limit reached",
    "Weekly limit reached",
)
_AFTER = "retry-after:"
_SECONDS_MAX = 7 * 86_400
_DIGITS_MAX = 12  # of a second since 1970
_MONEY_MAX = 1_000_000.0  # no run costs more


@dataclass(frozen=True)
class Usage:
    """What a run cost, as far as the client tells."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    model: str = ""


@dataclass(frozen=True)
class Limit:
    """A provider takes nothing more now. seconds: for how long, where it said so. resets_wall: or until when (ms).
    source: how that is known, in the words of lifecycle.QUOTA_SOURCES."""

    reason: str
    seconds: int | None = None
    resets_wall: int | None = None
    source: str = "error_class"

    @property
    def has_end(self) -> bool:
        return self.seconds is not None or self.resets_wall is not None


@dataclass(frozen=True)
class Answer:
    """`failed`: the client says itself that it did not come to an end. `busy`: its provider could not be reached or had
    too much to do; the same may do later."""

    text: str = ""
    failed: bool = False
    busy: bool = False
    usage: Usage | None = None
    limit: Limit | None = None


def read(ran: Ran) -> Answer:
    """The answer in what a run has printed."""
    objects = _objects(ran.out)
    found = Answer(text=ran.out.strip())
    for shape in (_result, _gemini, _codex):
        shaped = shape(objects)
        if shaped is not None:
            found = shaped
            break
    failed = found.failed or ran.status != 0
    limit = found.limit or _by_status(ran) or _by_line(ran)
    return replace(found, failed=failed, limit=limit if failed else None, busy=found.busy and failed)


def _objects(out: str) -> list[dict[str, Any]]:
    """The JSON objects that make up an output, or all that its lines hold; none where it is mere text."""
    text = out.strip()
    if text[:1] not in ("{", "["):
        return []
    whole = _loaded(text)
    if whole is not None:
        listed: list[Any] = whole if wire.is_list(whole) else [whole]
        return [each for each in listed if wire.is_object(each)]
    lines = [_loaded(line) for line in text.splitlines() if line[:1] == "{"]
    return [line for line in lines if wire.is_object(line)]


def _loaded(text: str) -> Any:
    try:
        return wire.loads(text)
    except (ValueError, RecursionError):
        return None


def _result(objects: list[dict[str, Any]]) -> Answer | None:
    """Claude Code and Qwen Code, which end with an object of that type; and our own models.py."""
    said = next((each for each in reversed(objects) if each.get("type") == "result"), None)
    if said is None:
        return None
    text = said.get("result")
    wrong = said.get("error")
    status, kind = said.get("api_error_status"), said.get("api_error_type")
    failed = bool(said.get("is_error"))
    limit = Limit(f"the provider answered {status}") if failed and (status == 429 or kind in _OF_LIMITS) else None
    busy = failed and limit is None and (kind in _OF_OVERLOAD or _whole(status) >= _OVERLOADED)
    if not isinstance(text, str):
        text = _message(wrong)
    return Answer(text.strip(), failed, busy, _of_result(said), limit)


def _of_result(said: dict[str, Any]) -> Usage | None:
    usage: Any = said.get("usage")
    if not wire.is_object(usage):
        return None
    models: Any = said.get("modelUsage")
    named = said.get("model") or (next(iter(models), "") if wire.is_object(models) else "")
    cached = _whole(usage.get("cache_read_input_tokens"))
    return Usage(
        input_tokens=_whole(usage.get("input_tokens")) + _whole(usage.get("cache_creation_input_tokens")) + cached,
        output_tokens=_whole(usage.get("output_tokens")),
        cached_tokens=cached,
        cost_usd=_money(said.get("total_cost_usd")),
        model=named if isinstance(named, str) else "",
    )


def _gemini(objects: list[dict[str, Any]]) -> Answer | None:
    """Gemini CLI: one object with the answer, or with what went wrong."""
    said = objects[0] if len(objects) == 1 else {}
    if "stats" not in said and not wire.is_object(said.get("error")):
        return None
    wrong: Any = said.get("error")
    text = said.get("response")
    if not wire.is_object(wrong):
        return Answer(text.strip() if isinstance(text, str) else "", usage=_of_gemini(said.get("stats")))
    is_limit = wrong.get("code") == 429 or bool(_OF_GEMINI & {wrong.get("type"), wrong.get("status")})
    limit = Limit("the provider answered 429") if is_limit else None
    busy = limit is None and _OVERLOADED <= _whole(wrong.get("code")) < 600
    return Answer(_message(wrong), True, busy, _of_gemini(said.get("stats")), limit)


def _of_gemini(stats: Any) -> Usage | None:
    models: Any = stats.get("models") if wire.is_object(stats) else None
    if not wire.is_object(models):
        return None
    total = Usage(model=", ".join(models)[:100])
    for each in models.values():
        tokens: Any = each.get("tokens") if wire.is_object(each) else None
        if wire.is_object(tokens):
            total = replace(
                total,
                input_tokens=total.input_tokens + _whole(tokens.get("prompt")),
                output_tokens=total.output_tokens + _whole(tokens.get("candidates")) + _whole(tokens.get("thoughts")),
                cached_tokens=total.cached_tokens + _whole(tokens.get("cached")),
            )
    return total


def _codex(objects: list[dict[str, Any]]) -> Answer | None:
    """`codex exec --json`: events, a line each."""
    if not any(str(each.get("type")).startswith(("thread.", "turn.")) for each in objects):
        return None
    text, wrong, usage = "", "", None
    for event in objects:
        kind, item = event.get("type"), event.get("item")
        if kind == "item.completed" and wire.is_object(item) and item.get("type") == "agent_message":
            text = str(item.get("text") or "")
        elif kind == "turn.completed":
            usage = _added(usage, event.get("usage"))
        elif kind == "turn.failed":
            wrong = _message(event.get("error")) or "the turn failed"
    limit = Limit("the usage limit is reached") if wrong.startswith(_CODEX_SAYS) else None
    return Answer((wrong or text).strip(), bool(wrong), usage=usage, limit=limit)


def _added(usage: Usage | None, said: Any) -> Usage | None:
    if not wire.is_object(said):
        return usage
    before = usage or Usage()
    return Usage(
        input_tokens=before.input_tokens + _whole(said.get("input_tokens")),
        output_tokens=before.output_tokens + _whole(said.get("output_tokens")),
        cached_tokens=before.cached_tokens + _whole(said.get("cached_input_tokens")),
    )


def _by_status(ran: Ran) -> Limit | None:
    """The exit status that is agreed on, with the time on a line of its own where it is known."""
    if ran.status != LIMITED:
        return None
    lines = [line.strip() for line in ran.complaint.splitlines()]
    given = next((line[len(_AFTER) :].strip() for line in reversed(lines) if line.lower().startswith(_AFTER)), "")
    if given.isascii() and given.isdigit() and len(given) < 10:
        return Limit("exit status 75", seconds=min(int(given), _SECONDS_MAX), source="retry_after")
    at = _moment(given)
    return Limit("exit status 75", resets_wall=at, source="exit_status" if at is None else "retry_after")


def _by_line(ran: Ran) -> Limit | None:
    """One line and nothing else. An older Claude Code names the second at which the limit ends."""
    text = ran.out.strip()
    if ran.status == 0 or "\n" in text:
        return None
    if not text.startswith(_CLAUDE_SAYS):
        last = ran.complaint.strip().rpartition("\n")[2]
        says_so = text.startswith(_LINES) or (not text and last.startswith(_LINES))
        return Limit("the client says that its limit is reached") if says_so else None
    until = text[len(_CLAUDE_SAYS) :]
    is_time = until.isascii() and until.isdigit() and len(until) <= _DIGITS_MAX
    return Limit("the usage limit is reached", resets_wall=int(until) * 1_000 if is_time else None)


def _moment(given: str) -> int | None:
    """A time as HTTP writes it (ms since 1970)."""
    from email.utils import parsedate_to_datetime

    try:
        return int(parsedate_to_datetime(given).timestamp() * 1_000)
    except (TypeError, ValueError, OverflowError):
        return None


def _message(wrong: Any) -> str:
    told: Any = wrong.get("message") if wire.is_object(wrong) else wrong
    return told if isinstance(told, str) else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _money(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < _MONEY_MAX else None
