"""The terminal of `clearway top`: it takes the whole screen, reads keys, follows its size, and leaves all as it was.

It asks the room every two seconds and draws every second, so that leases drain while one looks. A room that cannot be
asked for a moment costs the page its freshness, and a line at the foot says so.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from clearway.errors import Refusal
from clearway.surfaces import tables, top
from clearway.surfaces.asking import Run
from clearway.surfaces.render import Paper, Result
from clearway.surfaces.top import Line, Pair, Row
from clearway.untrusted import folded

_ASK_MS = 2_000
_TICK_SECONDS = 0.25
_DETAIL_LINES = 3
_LEAST = (30, 8)
_KEYS = {
    b"q": "quit", b"\x03": "quit", b"\x1b": "back", b"?": "help", b"h": "help", b" ": "refresh", b"r": "refresh",
    b"j": "down", b"k": "up", b"\x1b[B": "down", b"\x1b[A": "up", b"\x1bOB": "down", b"\x1bOA": "up",
    b"\t": "next", b"\x1b[C": "next", b"l": "next", b"\x1b[Z": "previous", b"\x1b[D": "previous",
    b"g": "first", b"G": "last", b"\x1b[H": "first", b"\x1b[F": "last", b"\x1b[6~": "page", b"\x1b[5~": "page up",
    b"p": "pause", b"\r": "detail", b"\n": "detail",
}  # fmt: skip
_HELP = (
    ("j k, arrows", "choose a line"),
    ("tab, shift-tab", "the next part, the one before"),
    ("g G", "the first line, the last"),
    ("enter", "show or hide what is said of the chosen line, and its command"),
    ("space", "ask now"),
    ("p", "stop the page, or let it go on"),
    ("q", "leave"),
)


def targets(page: list[Line]) -> list[tuple[int, int]]:
    """All that can be chosen, as lines and sides of them: the left column down, then the right."""
    left = [(place, 0) for place, line in enumerate(page) if _row(line, 0) is not None]
    return left + [(place, 1) for place, line in enumerate(page) if _row(line, 1) is not None]


def _row(line: Line, side: int) -> Row | None:
    if isinstance(line, Pair):
        return (line.left, line.right)[side].row
    return line.row if side == 0 else None


_FOOT = "q leave  j k choose  tab part  enter detail  ? help"


class Screen:
    """What is shown: the page, what of it is chosen, and how far it is scrolled."""

    def __init__(self, *, colour: bool, plain: bool) -> None:
        self.colour = colour
        self.plain = plain
        self.chosen = 0
        self.top = 0
        self.has_detail = True
        self.helps = False
        self.paused = False
        self.notice = ""

    def key(self, name: str, page: list[Line]) -> bool:
        """Do what a key says; whether to go on."""
        if name == "quit":
            return False
        if self.helps or name == "help":
            self.helps = not self.helps and name == "help"
        elif name == "pause":
            self.paused = not self.paused
        elif name == "detail":
            self.has_detail = not self.has_detail
        elif there := targets(page):
            self.chosen = self._moved(name, there, page)
        return True

    def frame(self, found: Result, page: list[Line], paper: Paper, columns: int, rows: int) -> list[str]:
        """So many lines of so many columns."""
        if columns < _LEAST[0] or rows < _LEAST[1]:
            return [tables.cut("clearway top: the window is too small", columns)] + [""] * (rows - 1)
        head = self._inverse(f" {top.headline(found, paper, columns - 2)} ", columns)
        if self.helps:
            body = [f"  {keys:<16}{what}" for keys, what in _HELP]
            body = [tables.cut(line, columns) for line in ["", *body]][: rows - 2]
            return [head, *body, *[""] * (rows - 2 - len(body)), self._foot(columns)]
        detail = self._detail(page, columns) if self.has_detail else []
        room = rows - 2 - len(detail)
        self._scroll(page, room)
        there = targets(page)
        chosen = there[self.chosen] if there else (-1, 0)
        seen = list(enumerate(page))[self.top : self.top + room]
        body = [self._drawn(line, chosen[1] if place == chosen[0] else -1, columns) for place, line in seen]
        foot = self._foot(columns, below=max(0, len(page) - self.top - room))
        return [head, *body, *[""] * (room - len(body)), *detail, foot]

    def _moved(self, name: str, there: list[tuple[int, int]], page: list[Line]) -> int:
        last = len(there) - 1
        at = min(self.chosen, last)
        steps = {"down": 1, "up": -1, "page": 10, "page up": -10}
        if name in steps:
            return max(0, min(last, at + steps[name]))
        if name in ("first", "last"):
            return 0 if name == "first" else last
        if name in ("next", "previous"):  # a part begins where nothing can be chosen on the line before
            begins = [
                each for each, (place, side) in enumerate(there) if place == 0 or _row(page[place - 1], side) is None
            ]
            later = [each for each in begins if each > at]
            earlier = [each for each in begins if each < at]
            return (later or begins)[0] if name == "next" else (earlier or begins)[-1]
        return at

    def _scroll(self, page: list[Line], room: int) -> None:
        """The chosen line is in sight, and of the first the headings above it."""
        there = targets(page)
        self.chosen = max(0, min(self.chosen, len(there) - 1))
        place = there[self.chosen][0] if there else 0
        first = 0 if self.chosen == 0 else max(0, place - 1)
        self.top = max(0, min(self.top, first, max(0, len(page) - room)))
        if place >= self.top + room:
            self.top = place - room + 1

    def _drawn(self, line: Line, chosen: int, columns: int) -> str:
        """chosen: which side of it is, -1 for neither."""
        if not isinstance(line, Pair):
            return self._side(line, columns, chosen=chosen == 0)
        right = columns - line.half - top.GAP
        left = self._side(line.left, line.half, chosen=chosen == 0, filled=True)
        return left + " " * top.GAP + self._side(line.right, right, chosen=chosen == 1)

    def _side(self, line: Line, columns: int, *, chosen: bool, filled: bool = False) -> str:
        text = tables.cut(line.text, columns)
        if chosen:
            return self._inverse(text, columns)
        return self._inked(text, line.style) + (" " * (columns - tables.cells(text)) if filled else "")

    def _detail(self, page: list[Line], columns: int) -> list[str]:
        there = targets(page)
        row = None
        if there:
            place, side = there[min(self.chosen, len(there) - 1)]
            row = _row(page[place], side)
        said = (row.detail if row is not None else "").split("\n")
        shown = [part for line in said for part in tables.flowed(line, columns, 2).split("\n")][:_DETAIL_LINES]
        rule = self._inked(("-" if self.plain else "─") * columns, "dim")
        return [rule, *[tables.cut(line, columns) for line in shown], *[""] * (_DETAIL_LINES - len(shown))]

    def _foot(self, columns: int, *, below: int = 0) -> str:
        """below: lines of the page that are out of sight."""
        said = self.notice or ("stopped; p goes on" if self.paused else _FOOT)
        said = f"{below} lines below  {said}" if below and not self.notice else said
        return self._inked(tables.cut(said, columns), "red" if self.notice else "dim")

    def _inked(self, text: str, style: str) -> str:
        return top.painted(text, style, colour=self.colour)

    def _inverse(self, text: str, columns: int) -> str:
        return f"\x1b[7m{tables.filled(tables.cut(text, columns), columns)}\x1b[0m"


def show(run: Run) -> None:
    """Look until the person leaves."""
    environ = run.settings.environ
    colour = not environ.get("NO_COLOR") and environ.get("TERM") not in ("dumb", "")
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    screen = Screen(colour=colour, plain=plain)
    with _whole_screen():
        _loop(run, screen)


def _loop(run: Run, screen: Screen) -> None:
    clock = run.rooms.clock
    found: Result = {}
    page: list[Line] = []
    asked = drawn = -_ASK_MS
    size = (0, 0)
    while True:
        now = clock.monotonic()
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        if not found or (not screen.paused and now - asked >= _ASK_MS):
            found, asked = _asked(run, screen, found), now
            drawn = -_ASK_MS
        if found and (now - drawn >= 1_000 or size != (columns, rows)):
            paper = Paper(clock.wall())
            page = top.lines(top.sections(found, paper, plain=screen.plain, width=columns), columns)
            _write(screen.frame(found, page, paper, columns, rows))
            drawn, size = now, (columns, rows)
        for name in _keys(_TICK_SECONDS):
            if not screen.key(name, page):
                return
            drawn = -_ASK_MS
            if name == "refresh":
                asked = -_ASK_MS


def _asked(run: Run, screen: Screen, before: Result) -> Result:
    try:
        found = top.gathered(run)
        screen.notice = ""
        return found
    except Refusal as refusal:
        if not before:
            raise
        screen.notice = folded(f"{refusal.code}: {refusal.message}", 300)
        return before


def _write(frame: list[str]) -> None:
    """Over what was there, so that nothing flickers."""
    text = "\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in frame)
    sys.stdout.write(text)
    sys.stdout.flush()


def _keys(seconds: float) -> list[str]:
    """The keys that were pressed meanwhile."""
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return []
    read = os.read(sys.stdin.fileno(), 64)
    if not read:
        return ["quit"]
    found: list[str] = []
    while read:
        length = next((size for size in (4, 3, 2, 1) if read[:size] in _KEYS), 1)
        name = _KEYS.get(read[:length])
        found += [name] if name else []
        read = read[length:]
    return found


@contextmanager
def _whole_screen() -> Generator[None]:
    """The other page of the terminal, without a cursor, each key at once; afterwards all is as it was."""
    restore = _keys_at_once()
    sys.stdout.write("\x1b[?1049h\x1b[?25l\x1b[2J")
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        sys.stdout.write("\x1b[0m\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()
        restore()


def _keys_at_once() -> Callable[[], None]:
    if sys.platform == "win32":
        raise Refusal(
            "INVALID_ARGUMENT", "Windows' console gives its keys otherwise; clearway top --once shows the page."
        )
    import signal
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)

    def leave(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    former = [(number, signal.signal(number, leave)) for number in (signal.SIGTERM, signal.SIGHUP)]

    def restore() -> None:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        for number, handler in former:
            signal.signal(number, handler)

    return restore
