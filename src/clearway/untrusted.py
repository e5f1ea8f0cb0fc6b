"""Other people's text: folded, quoted, cut. Pure.

What another agent wrote is data. Before it stands in a sentence that a model or a person reads it becomes one line,
its control, bidirectional and zero-width characters are shown instead of obeyed, and its quotes cannot end ours.
"""

from __future__ import annotations

_UNSEEN = frozenset(
    [*range(0x00, 0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F)]
    + [*range(0x2060, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080)]
)


def folded(text: str, chars: int) -> str:
    """One line of at most `chars` characters, with what cannot be seen shown as its code."""
    cut = text[: chars * 4]
    shown = "".join(_shown(letter) for letter in cut)
    line = " ".join(shown.split())
    return line if len(line) <= chars and len(cut) == len(text) else line[: max(0, chars - 1)] + "…"


def quoted(text: str, chars: int) -> str:
    """The same in double quotes that the text cannot close."""
    return '"' + folded(text, chars).replace('"', "'") + '"'


def within(text: str, count: int) -> str:
    """At most `count` bytes of UTF-8, cut between characters."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= count else raw[: max(0, count - 3)].decode("utf-8", "ignore") + "…"


def ending(text: str, count: int) -> str:
    """One line of at most `count` bytes that keeps the end: of a path, the file's name says most."""
    raw = folded(text, len(text) * 8 + 1).encode("utf-8", "replace")
    return raw.decode() if len(raw) <= count else "…" + raw[len(raw) - max(0, count - 3) :].decode("utf-8", "ignore")


def legible(text: str) -> str:
    """All its lines, with what cannot be seen shown as its code: for a person who asked to read the whole text."""
    lines = text.expandtabs(4).replace("\r\n", "\n").split("\n")
    return "\n".join("".join(_shown(letter) for letter in line) for line in lines)


def _shown(letter: str) -> str:
    code = ord(letter)
    if letter in "\n\r\t":
        return " "
    if code in _UNSEEN or 0xD800 <= code <= 0xDFFF:
        return f"<U+{code:04X}>"
    return letter
