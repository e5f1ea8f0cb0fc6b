"""Tells a checked story in a terminal: one line for each thing that happened, with a tick or a cross.

At most 80 columns wide, and complete without colour: colour only repeats what a sign or a name says. Each agent keeps
its colour, and none is red or green, which mean that a check failed or held.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from clearway.errors import Refusal

COLUMNS = 80
_BOLD, _DIM, _RED, _GREEN = "1", "2", "31", "32"
_NAMES = {"Claude Code": "35", "Codex": "36"}
_SPACE = "\N{NO-BREAK SPACE}"  # keeps a name on one line while the text is wrapped


class Narrator:
    """Where the story goes, and what has held so far."""

    def __init__(self, out: Callable[[str], None], *, colour: bool) -> None:
        self._out = out
        self._colour = colour
        self._checks = 0
        self.failed: list[str] = []

    def plainly(self, text: str) -> None:
        for line in text.splitlines():
            self._out(line)

    def chapter(self, title: str) -> None:
        self._out("")
        self._out(self._inked(_BOLD, title))

    def step(self, sentence: str, came: object = True, expected: object = True, *, quote: str = "") -> None:
        """One thing that happened, and whether it is what should have. quote: the words that an agent reads."""
        self._checks += 1
        holds = came == expected
        self._marked(self._inked(_GREEN, "✓") if holds else self._inked(_RED, "✗"), sentence)
        for line in quote.splitlines():
            self._quoted(line, reader=sentence)
        if not holds:
            self.failed.append(sentence)
            self._marked(" ", f"expected {expected!r}")
            self._marked(" ", f"but was  {came!r}")

    def stopped(self, error: Exception) -> None:
        """What comes next needs what just failed."""
        self._checks += 1
        kind = error.code if isinstance(error, Refusal) else type(error).__name__
        self.failed.append(f"The story stops here: {kind}: {error}")
        self._marked(self._inked(_RED, "✗"), self.failed[-1])

    def closing(self, milliseconds: int) -> None:
        self._out("")
        if not self.failed:
            self._out(f"{self._checks} checks, all held, in {milliseconds / 1_000:.1f} s. Nothing is left behind.")
            return
        self._out(self._inked(_RED, f"{len(self.failed)} of {self._checks} checks failed:"))
        for sentence in self.failed:
            self._marked(self._inked(_RED, "✗"), sentence)

    def _marked(self, mark: str, sentence: str) -> None:
        for number, line in enumerate(_wrapped(sentence, COLUMNS - 4)):
            self._out(f"  {mark if number == 0 else ' '} {self._named(line)}")

    def _quoted(self, text: str, *, reader: str) -> None:
        code = next((code for name, code in _NAMES.items() if reader.startswith(name)), _DIM)
        for line in _wrapped(text, COLUMNS - 8):
            self._out(f"      {self._inked(code, '│')} {line}")

    def _named(self, line: str) -> str:
        for name, code in _NAMES.items():
            line = line.replace(name, self._inked(code, name))
        return line

    def _inked(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text


def _wrapped(text: str, columns: int) -> list[str]:
    for name in _NAMES:
        text = text.replace(name, name.replace(" ", _SPACE))
    lines = textwrap.wrap(text, columns, break_on_hyphens=False)
    return [line.replace(_SPACE, " ") for line in lines] or [""]
