"""Takes the pictures of the trial in five-questions.md: a busy room at 14:41, and what is one click away from it.

The room is made as in the tests of the page, by operations and hooks, on a clock that is moved by hand; its names and
times are always the same. Needs Chromium. It looks before it takes a picture: an answer that the page no longer shows
ends it with an error.

    python docs/trials/five_questions.py [FOLDER]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.surfaces.hosted import hosted  # noqa: E402 - the tests are no installed package
from tests.web.busy import Room, end, finish, write_issues  # noqa: E402
from tests.web.conftest import Person, environ_in, program, repository  # noqa: E402

PICTURES = HERE / "images"
DAY = datetime(2026, 6, 11, tzinfo=UTC)
CREW = {
    "claude-code": "9241f0a7-51c3",
    "B": "7f3a61d2-90ae",
    "gemini": "c04b7713-2fd8",
    "copilot": "b91e55aa-07c4",
    "opencode": "e6d2084f-1b35",
    "qwen": "51aa9c3e-66f0",
}
BEAT_MINUTES = 4


class Afternoon:
    """The hours of one room: what is done at which time, by whom. Whoever is here gives signs of life in between."""

    def __init__(self, root: Path) -> None:
        self.clock = root / "clock"
        self.minute = 0
        self.here: list[str] = []
        self.at("13:00")
        environ = environ_in(root) | {"CLEARWAY_TEST_CLOCK": str(self.clock), "TZ": "UTC"}
        self.room = Room(environ, repository(root), CREW)
        self.ask = self.room.ask

    def at(self, time_of_day: str) -> None:
        """Time passes until then."""
        hours, minutes = map(int, time_of_day.split(":"))
        target = 60 * hours + minutes
        while self.minute < target:
            self.minute = min(target, self.minute + BEAT_MINUTES) if self.here else target
            wall = int(DAY.timestamp() * 1_000) + self.minute * 60_000
            room = 10_000_000 + self.minute * 60_000
            self.clock.write_text(f"{room} {wall - room}")
            for who in self.here:
                look = {"tool": "Read", "input": {"file_path": str(self.room.repo / "src/b.py")}}
                self.room.hook("before", who, call=f"{who} {self.minute}", **look)
                self.room.hook("after", who, call=f"{who} {self.minute}", **look)

    def edits(self, who: str, *paths: str, refused: bool = False) -> None:
        for path in paths:
            said = self.room.edit(who, path)
            assert said.code == (2 if refused else 0), (who, path, said.err)

    def takes(self, who: str, number: int) -> dict[str, Any]:
        return self.ask("claim_issue", who, issue_id=f"ISSUE-{number}", context=False)

    def ends(self, who: str, taken: dict[str, Any], summary: str, target: str = "done") -> None:
        done = {"outcome": "completed", "result_summary": summary, "target_issue_status": target}
        end(self.room, who, taken, **done)

    def changes(self, number: int, **changes: Any) -> None:
        issue = f"ISSUE-{number}"
        at = self.ask("get_issue", "human", issue_id=issue)["version"]
        self.ask("update_issue", "human", issue_id=issue, expected_version=at, changes=changes)


def before_two(day: Afternoon) -> None:
    """What is to be told apart from what came after 14:00."""
    day.ask("update_project", "human", name="harbour")
    write_issues(day.room, 120)
    day.ask("manage_issue_relation", "human", source_issue_id="ISSUE-3", target_issue_id="ISSUE-7")
    day.at("13:10")
    for who in CREW:
        day.room.hook("start", who, source="startup")
        day.room.hook("prompt", who, prompt="go on")
        day.here.append(who)
    finish(day.room, range(25, 61))
    day.at("13:31")
    early = day.takes("B", 21)
    day.edits("B", "src/backup.py")
    day.at("13:36")
    receipts = day.takes("copilot", 6)
    day.edits("copilot", "docs/receipts.md")
    day.at("13:44")
    day.ends("B", early, "A backup is opened and counted before it is kept.")
    day.at("13:48")
    day.ask("send_message", "B", to="claude-code", text="The backup is done; I look at the parser next.")
    beats = day.takes("opencode", 13)
    day.edits("opencode", "src/engine/snapshot.py")
    day.at("13:53")
    day.ends("copilot", receipts, "Receipts have a page: what each promises.", "review")
    day.ask("create_review_request", "copilot", issue_id="ISSUE-6")
    day.at("13:57")
    day.ends("opencode", beats, "A snapshot stops at 24 KB and says what it left out.", "review")
    day.ask("create_review_request", "opencode", issue_id="ISSUE-13")


def after_two(day: Afternoon) -> None:
    first = day.takes("claude-code", 1)
    day.edits("claude-code", "src/a.py", "src/engine/claim.py")
    day.ask("room", "claude-code", status="moving the claim into one transaction")
    day.at("14:06")
    parser = day.takes("B", 3)
    day.edits("B", "src/parser/heredoc.py")
    day.at("14:09")
    day.takes("gemini", 18)
    day.edits("gemini", "docs/graph.md")
    day.at("14:12")
    day.edits("B", "src/a.py", refused=True)
    day.ask("send_message", "B", to="claude-code", text="May I have src/a.py when you are through with it?")
    day.at("14:17")
    day.ask("add_comment", "human", issue_id="ISSUE-1", content="Mind the savepoint.")
    day.takes("opencode", 20)
    day.at("14:21")
    day.changes(13, acceptance_criteria="- [ ] 16 KB, not 24\n- [ ] a test shows it")
    day.at("14:24")
    keys: dict[str, Any] = {name: parser[name] for name in ("attempt_id", "lease_token")}
    note = "Quoted ends are read; the nested ones are next."
    day.ask("save_attempt_note", "B", **keys, kind="checkpoint", content=note)
    day.edits("B", "tests/parser/test_heredoc.py")
    day.at("14:29")
    _fails_again_and_again(day)
    day.at("14:33")
    day.changes(19, status="blocked", blocked_reason="needs an API key")
    day.ask("send_message", "gemini", to="human", text="Which layout may I use for the graph: dagre, or our own?")
    day.at("14:38")
    keys = {name: first[name] for name in ("attempt_id", "lease_token")}
    day.ask("save_attempt_note", "claude-code", **keys, kind="checkpoint", content="SQLite works, PostgreSQL is next.")
    day.at("14:41")
    day.room.hook("stop", "qwen")


def _fails_again_and_again(day: Afternoon) -> None:
    for who, why in (("copilot", "No answer."), ("qwen", "The token is refused."), ("copilot", "Needs a cluster.")):
        end(day.room, who, day.takes(who, 77), outcome="failed", result_summary=why, failure="environment_error")


@contextmanager
def same_folder() -> Iterator[Path]:
    """Where the room stands for the time of the pictures: always the same, since the page shows it."""
    folder = Path(tempfile.gettempdir(), "clearway-trial")
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def opened(browser: Any, folder: Path) -> Iterator[Person]:
    """Somebody before the room's page, at 14:41 of that day."""
    day = Afternoon(folder)
    before_two(day)
    day.at("14:02")
    after_two(day)
    with hosted(day.room.environ) as host:
        person = Person(browser, host, color_scheme="light", reduced_motion="reduce", timezone_id="UTC")
        person.page.clock.set_fixed_time(DAY.replace(hour=14, minute=41, second=5))
        person.come_in()
        yield person
        person.context.close()
    day.room.close()
    assert not person.wrong, person.wrong


# A picture, what is clicked before it is taken, and what it must show.
VIEWS = (
    ("1-board.png", "", (".needs li", "The review of ISSUE-13 is out of date")),
    ("2-src-a.png", ".held .path[data-path='src/a.py']", (".panel .facts dd", "claude#9241")),
    ("3-task-7.png", ".column.blocked .card[data-id='ISSUE-7']", (".panel .facts dd", "ISSUE-3")),
    ("4-b.png", ".agents a.one[href$='7f3a61d2-90ae']", (".panel .did li.stretch", "14:00")),
    ("5-reviews.png", "nav.tabs a[href$='reviews']", (".reviews tr[data-id='ISSUE-13']", "out of date")),
)


def look(person: Person, target: Path) -> None:
    page = person.page
    page.wait_for_selector(".feed li .what")
    for name, clicked, (selector, text) in VIEWS:
        if clicked:
            page.click(clicked)
        page.locator(selector, has_text=text).first.wait_for()
        page.locator(".panel .still-lines, .view .still-lines").first.wait_for(state="detached")
        page.screenshot(path=target / name)
        page.keyboard.press("Escape")


def main(target: Path = PICTURES) -> None:
    from playwright.sync_api import sync_playwright

    os.environ["TZ"] = "UTC"
    time.tzset()
    chromium = program()
    if chromium is None:
        sys.exit("no Chromium here: apt-get install chromium, or CLEARWAY_TEST_CHROMIUM=/path/to/it")
    target.mkdir(parents=True, exist_ok=True)
    with same_folder() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        with opened(browser, folder) as person:
            look(person, target)
        browser.close()
    if small := shutil.which("pngquant"):
        pictures = [target / name for name, *_ in VIEWS]
        subprocess.run([small, "--force", "--ext", ".png", "128", *pictures], check=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
