"""How people write amounts: money and tokens, prices of models, hours of a day, and when something began. Pure.

Everything here reads a text and answers None where it is not one of these; whoever asks says what is expected.
"""

from __future__ import annotations

from clearway import clock

_MICROS = 1_000_000
_CHARS_MAX = 16
_SCALE = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_SPANS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


def cap_of(text: str) -> tuple[int | None, int | None] | None:
    """`5`, `$5.50`, `2M tokens`, or both as `5, 2M tokens`: millionths of a dollar, and tokens."""
    micros = tokens = None
    for part in text.split(","):
        words = part.split()
        is_tokens = words[-1:] in (["tokens"], ["token"])
        word = words[0] if len(words) == 1 + is_tokens else ""
        if is_tokens or word[-1:] in ("k", "K", "M", "G"):
            scale = _SCALE.get(word[-1:] if word[-1:].isalpha() else "")
            number = _number(word.rstrip("kKMG"))
            if number is None or scale is None or tokens is not None:
                return None
            tokens = round(number * scale)
        else:
            number = _number(word.removeprefix("$"))
            if number is None or micros is not None:
                return None
            micros = round(number * _MICROS)
    return micros, tokens


def prices_of(text: str) -> dict[str, tuple[float, float, float]] | None:
    """`claude-sonnet=3/0.30/15; gpt-5=1.25/0.125/10`: dollars for a million tokens that are read, read from a cache,
    and written, by the beginning of a model's name. With two numbers what is cached costs what is read."""
    found: dict[str, tuple[float, float, float]] = {}
    for entry in text.split(";"):
        name, _, said = entry.strip().partition("=")
        numbers = [_number(each.strip().removeprefix("$")) for each in said.split("/")]
        known = [number for number in numbers if number is not None]
        if not name.strip() or len(known) != len(numbers) or len(known) not in (2, 3):
            return None
        found[name.strip()] = (known[0], known[1], known[2]) if len(known) == 3 else (known[0], known[0], known[1])
    return found


def price_of(text: str, model: str) -> tuple[float, float, float] | None:
    """The price of one model: that of the longest name with which its own begins."""
    prices = prices_of(text) if text and model else None
    fits = [name for name in prices or () if model.startswith(name)]
    return None if not fits or prices is None else prices[max(fits, key=len)]


def hours_of(text: str) -> tuple[int, int] | None:
    """`18:00-08:00`: two minutes of the day."""
    first, dash, last = text.partition("-")
    begun, ends = minute_of(first.strip()), minute_of(last.strip())
    return None if not dash or begun is None or ends is None or begun == ends else (begun, ends)


def minute_of(text: str) -> int | None:
    """`18:00`: a minute of the day."""
    hour, colon, minute = text.partition(":")
    if not colon or not (_is_digits(hour, 2) and _is_digits(minute, 2)) or len(minute) != 2:
        return None
    return int(hour) * 60 + int(minute) if int(hour) < 24 and int(minute) < 60 else None


def moment_of(text: str, now: int) -> int | None:
    """When something began (wall ms): the last 18:00, 90m or 12h or 7d ago, or a time such as 2026-11-30T18:00Z;
    without a zone it is this machine's."""
    minute = minute_of(text.strip())
    if minute is not None:
        return clock.last_at(now, minute)
    span = _SPANS.get(text.strip()[-1:])
    if span is not None:
        number = _number(text.strip()[:-1])
        return None if number is None else now - round(number * span)
    from datetime import datetime

    try:
        return round(datetime.fromisoformat(text.strip()).timestamp() * 1_000)
    except (ValueError, OverflowError, OSError):
        return None


def dollars(micros: int) -> str:
    return f"${micros / _MICROS:,.2f}"


def thousands(tokens: int) -> str:
    """A number of tokens, short."""
    if tokens < 10_000:
        return f"{tokens:,}"
    return f"{tokens / 1_000:,.0f}k" if tokens < 1_000_000 else f"{tokens / 1_000_000:,.1f}M"


def _number(text: str) -> float | None:
    whole, _, part = text.partition(".")
    fits = len(text) <= _CHARS_MAX and _is_digits(whole, 9) and (_is_digits(part, 6) or "." not in text)
    return float(text) if fits else None


def _is_digits(text: str, longest: int) -> bool:
    return 0 < len(text) <= longest and text.isascii() and text.isdigit()
