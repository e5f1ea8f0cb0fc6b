"""`clearway top`: one page of the room that fits every window, follows keys and size, and leaves the terminal as it
was. The page itself is looked at as text; the screen runs once in a real terminal.
"""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.surfaces.conftest import PROGRAM, Terminal

from clearway import platforms
from clearway.surfaces import tables, top, top_screen
from clearway.surfaces.render import Paper, Result
from clearway.surfaces.top_screen import Screen

NOW = 1_780_000_000_000
SECONDS_MAX = 30


def iso(seconds: int) -> str:
    from clearway import clock

    return clock.iso(NOW + seconds * 1_000)


def busy_room() -> Result:
    """What the room answers on a night with everything in it, hostile texts too."""
    agents = [
        {"agent": "claude-code", "session": "s1-longer", "presence": "busy", "issue": "ISSUE-4", "seen_at": iso(-5)},
        {"agent": "codex", "session": "s2", "presence": "rate-limited", "limited_until": iso(600), "seen_at": iso(-60)},
        {
            "agent": "gemini",
            "session": "s3",
            "presence": "idle",
            "seen_at": iso(-60),
            "stuck": "failing",
            "doing": "日本語" * 40,
        },
    ]
    held = {"agent": "claude-code", "mode": "edit", "until": iso(900), "lease_seconds": 1_800, "purpose": "refactor"}
    tasks: list[Result] = [
        {"task_id": 7, "from": "human", "to": "codex", "state": "pending", "text": "Look", "attempts": 0, "at": iso(0)},
    ]
    tasks[0]["waiting"] = {"reason": "path held", "path": "src/a.py", "agent": "claude-code", "until": iso(900)}
    return {
        "project": {"name": "shop"},
        "agents": agents,
        "needs_you": [{"text": "ISSUE-3 \x1b[31m failed " + "x" * 400, "next": "clearway why ISSUE-3", "at": iso(-60)}],
        "attempts": [{"session": "s1-longer", "display_id": "ISSUE-4", "lease_expires_at": iso(60)}],
        "paths": [{**held, "path": f"src/{number}/" + "a" * 60} for number in range(60)],
        "tasks": tasks,
        "limits": [
            {"agent": "codex", "state": "limited", "source": "error_class", "until": iso(600), "since": iso(-60)}
        ],
        "counts": {"ready": 2, "blocked": 1, "review": 0, "done": 41},
        "blocked": [
            {"display_id": "ISSUE-9", "title": "Deploy", "blocked_reason": "Needs the key", "waits_for": ["ISSUE-2"]}
        ],
        "review": [{"display_id": "ISSUE-8", "title": "Cache", "review": {"status": "open", "stale": True}}],
        "ready": [{"display_id": "ISSUE-1", "title": "Parse", "priority": "high"}],
        "spent_24h": {"input_tokens": 10, "output_tokens": 5, "cost_usd": 1.5},
    }


def empty_room() -> Result:
    lists = ("agents", "needs_you", "attempts", "paths", "tasks", "limits", "blocked", "ready", "review")
    nothing: Result = {name: [] for name in lists}
    return {"project": {}, **nothing, "counts": {}, "spent_24h": {"input_tokens": 0, "output_tokens": 0}}


def page(found: Result, columns: int) -> list[top.Line]:
    return top.lines(top.sections(found, Paper(NOW), plain=True, width=columns), columns)


def test_everything_of_the_room_stands_on_the_page_with_its_reason() -> None:
    text = "\n".join(line.text for line in page(busy_room(), 120))
    for words in (
        *(
            "NEEDS YOU 1",
            "! ISSUE-3",
            "claude-code",
            "ISSUE-4",
            "60 s",
            "! fails again and again",
            "15 min",
            "####----",
        ),
        *(
            "waits for src/a.py, held by claude-code, in 15 min: Look",
            "limited",
            "waits for ISSUE-2; Needs the key",
            "and 20 more",
            "1 queued, the oldest now",
            "Cache - open, but it has changed since",
        ),
    ):
        assert words in text, (words, text)
    assert "\x1b" not in text
    quiet = "\n".join(line.text for line in page(empty_room(), 80))
    assert "Nothing waits for you." in quiet and "Nobody is here." in quiet


@pytest.mark.parametrize("columns", [30, 60, 80, 129, 130, 200])
@pytest.mark.parametrize("rows", [8, 24, 60])
@pytest.mark.parametrize("found", [busy_room(), empty_room()], ids=["busy", "empty"])
def test_the_screen_fits_every_window(found: Result, columns: int, rows: int) -> None:
    screen, shown = Screen(colour=False, plain=True), page(found, columns)
    for key in ("down", "next", "last", "page up", "previous", "first", "help", "help", "detail"):
        assert screen.key(key, shown)
        frame = screen.frame(found, shown, Paper(NOW), columns, rows)
        assert len(frame) == rows
        for line in frame:
            bare = line.replace("\x1b[7m", "").replace("\x1b[0m", "")
            assert tables.cells(bare) <= columns, (line, columns)
    assert not screen.key("quit", shown)


def test_every_row_can_be_chosen_and_says_what_to_do() -> None:
    for columns in (80, 160):
        screen, found = Screen(colour=False, plain=True), busy_room()
        shown = page(found, columns)
        said: set[str] = set()
        for _ in top_screen.targets(shown):
            frame = screen.frame(found, shown, Paper(NOW), columns, 24)
            said |= {line.strip() for line in frame if line.startswith("  clearway ")}
            screen.key("down", shown)
        assert {"clearway why ISSUE-3", "clearway task list --task-id 7", "clearway provider clear codex"} <= said
        assert {"clearway why ISSUE-9", "clearway why ISSUE-1"} <= said


def test_without_a_terminal_the_page_is_printed_once(terminal: Terminal) -> None:
    terminal("--as", "alpha", "claim", "held.txt", "--purpose", "work")
    told = terminal("top")
    assert "HELD 1" in told.out and "held.txt" in told.out and "\x1b" not in told.out
    assert terminal("top", "--once").out.count("\n") == told.out.count("\n")
    assert terminal("overview", "--once").status == 0
    assert terminal("--json", "top").json["paths"][0]["path"] == "held.txt"


# --- in a terminal --------------------------------------------------------------------------------------------------


class Window:
    """A terminal with the program in it, and what it has written so far."""

    def __init__(self, screen: int, program: subprocess.Popen[bytes]) -> None:
        self.screen = screen
        self.program = program
        self.text = ""

    def until(self, word: str) -> str:
        """Read until it stands there; what was read for it."""
        seen = ""
        while word not in seen:
            assert platforms.readable([self.screen], SECONDS_MAX), f"{word!r} did not come: {seen[-2_000:]}"
            try:
                part = os.read(self.screen, 65_536)
            except OSError:
                part = b""
            assert part, f"it ended before {word!r}: {seen[-2_000:]}"
            seen += part.decode("utf-8", "replace")
        self.text += seen
        return seen

    def size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self.screen, keys)


@contextmanager
def window(terminal: Terminal) -> Iterator[Window]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    program = subprocess.Popen(
        [*PROGRAM, "top"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**terminal.environ, "TERM": "xterm-256color"},
        cwd=terminal.folder,
        start_new_session=True,
    )
    try:
        yield Window(ours, program)
    finally:
        program.kill()
        program.wait()
        os.close(ours)
        os.close(theirs)


def test_it_stays_follows_keys_and_size_and_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    terminal("--as", "alpha", "claim", "held.txt", "--purpose", "work")
    with window(terminal) as seen:
        before = termios.tcgetattr(seen.screen)
        assert "\x1b[?1049h" in seen.until("held.txt")
        terminal("--as", "beta", "claim", "free.txt")
        seen.until("free.txt")
        seen.press(b"?")
        seen.until("the next part")
        seen.press(b"?")
        seen.size(140, 30)
        seen.until("━" if "━" in seen.text else "#")
        seen.press(b"q")
        assert "\x1b[?1049l" in seen.until("\x1b[?1049l")
        assert seen.program.wait(SECONDS_MAX) == 0
        assert termios.tcgetattr(seen.screen) == before


def test_whoever_ends_it_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    with window(terminal) as seen:
        seen.until("Nothing waits for you.")
        seen.program.send_signal(signal.SIGTERM)
        seen.until("\x1b[?25h\x1b[?1049l")
        assert seen.program.wait(SECONDS_MAX) == 0
