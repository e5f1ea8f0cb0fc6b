"""The extension in a real VS Code: code-server in a browser. Opt-in, loudly skipped.

`CLEARWAY_TEST_CODE_SERVER` names code-server's `out/node/entry.js` (npm's `code-server`, built with its own Node, which
`CLEARWAY_TEST_NODE` names if the one on the PATH is another); `make vscode` has made the package that is installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
CLEARWAY = Path(sys.executable).with_name("clearway")
STARTS_SECONDS_MAX = 60
SHOWS_MS_MAX = 60_000
VIEWS = ("list", "graph", "map", "messages", "reviews", "figures")
# What stops a page of the frame that asks the host itself, and whether there is a key that it could show.
TRIES_TO_ASK = """(_, address) => new Promise(done => {
  const told = by => done([by, localStorage.getItem('clearway-key')])
  document.addEventListener('securitypolicyviolation', event => told(event.effectiveDirective), {once: true})
  fetch(address + '/healthz').then(() => told('nothing'), () => setTimeout(told, 5000, 'something else'))
})"""
AUTH = '''"""Who may come in."""

from datetime import datetime, timedelta

from tokens import Token, known

LIFETIME = timedelta(days=30)


class Refused(Exception):
    """Why somebody may not come in."""


def let_in(shown: str, now: datetime) -> Token:
    """The token that was shown, if it is good."""
    token = known(shown)
    if token is None:
        raise Refused("this token is not known")
    if now - token.made > LIFETIME:
        raise Refused("this token is too old")
    return token
'''
LOOKS = """panel => {
  const {transitionProperty, animationName} = getComputedStyle(panel)
  return [getComputedStyle(document.body).backgroundColor, transitionProperty, animationName]
}"""
HELD = re.compile(r"held by codex until \d\d:\d\d: refactor auth")


class Editor:
    """A VS Code with the extension, and a repository in which another agent works."""

    def __init__(self, folder: Path, entry: Path) -> None:
        self.repository = folder / "repository"
        subprocess.run(["git", "init", "--quiet", str(self.repository)], check=True)
        (self.repository / "auth.py").write_text(AUTH)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "CLEARWAY_HOME": str(folder / "home"),
            "CLEARWAY_PROGRAM": str(CLEARWAY),
        }
        node = os.environ.get("CLEARWAY_TEST_NODE") or shutil.which("node") or "node"
        self._command = [node, str(entry), "--user-data-dir", str(folder / "d"), "--extensions-dir", str(folder / "e")]
        user = folder / "d" / "User"
        user.mkdir(parents=True)
        self._settings = user / "settings.json"
        self.set()
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self._server: subprocess.Popen[bytes] | None = None

    def set(self, **more: Any) -> None:
        quiet = {"workbench.startupEditor": "none", "workbench.secondarySideBar.defaultVisibility": "hidden"}
        self._settings.write_text(json.dumps({"security.workspace.trust.enabled": False, **quiet, **more}))

    def clearway(self, *words: str, cwd: Path | None = None) -> dict[str, Any]:
        ran = subprocess.run(
            [str(CLEARWAY), "--json", *words],
            cwd=cwd or self.repository,
            env=self.environ,
            check=True,
            capture_output=True,
        )
        return json.loads(ran.stdout or b"{}")

    def begin(self) -> str:
        package = EXTENSION / "dist" / "clearway.vsix"
        assert package.exists(), "run: make vscode"
        subprocess.run(
            [*self._command, "--install-extension", str(package)], env=self.environ, check=True, capture_output=True
        )
        served = ["--auth", "none", "--bind-addr", f"127.0.0.1:{self.port}", "--disable-telemetry"]
        self._server = subprocess.Popen(
            [*self._command, *served, "--disable-update-check", str(self.repository)],
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self._server.stdout is not None
        for line in self._server.stdout:  # it says so when it listens, or ends
            if b"HTTP server listening" in line:
                break
        address = f"http://127.0.0.1:{self.port}"
        urllib.request.urlopen(f"{address}/healthz", timeout=STARTS_SECONDS_MAX).close()
        return f"{address}/?folder={self.repository}"

    def end(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait(20)


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    entry = os.environ.get("CLEARWAY_TEST_CODE_SERVER")
    if not entry:
        pytest.skip("CLEARWAY_TEST_CODE_SERVER is not set: it names code-server's entry for a test in a real VS Code")
    made = Editor(tmp_path, Path(entry))
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def page(editor: Editor) -> Iterator[Any]:
    """A browser's page, for a VS Code that is about to begin."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=SHOWS_MS_MAX)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        made = browser.new_page(viewport={"width": 1280, "height": 800})
        made.set_default_timeout(SHOWS_MS_MAX)
        yield made
        browser.close()


def _picture(page: Any, name: str) -> None:
    if "CLEARWAY_TEST_PICTURES" in os.environ:
        page.screenshot(path=os.path.join(os.environ["CLEARWAY_TEST_PICTURES"], name))


def _work(editor: Editor) -> None:
    """A room in which something happens."""
    editor.clearway("init")
    editor.clearway("--as", "codex", "claim", "auth.py", "--purpose", "refactor auth")
    for title in ("Split the lexer", "Retry lost uploads", "Name the parser's errors", "Say why a token is refused"):
        editor.clearway("issue", "create", title, "--status", "ready")
    editor.clearway(
        "issue", "create", "Deploy to the staging area", "--status", "blocked", "--blocked-reason", "needs a key"
    )
    editor.clearway("--as", "codex", "issue", "claim", "ISSUE-2")
    editor.clearway("--as", "claude", "issue", "claim", "ISSUE-3")
    editor.clearway("--as", "claude", "claim", "parser.py", "tests", "--purpose", "name the errors")
    editor.clearway("--as", "claude", "send", "--to=codex", "--", "please leave parser.py until I am through")
    editor.clearway("--as", "codex", "send", "--to=human", "--", "may the old tokens go?")


def test_a_person_sees_who_holds_what_and_is_warned(editor: Editor, page: Any) -> None:
    """Lists, status bar, the mark, the warning and where it leads; and that a release is seen without asking."""
    from playwright.sync_api import expect

    _work(editor)
    editor.set(**{"workbench.colorTheme": "Default Dark Modern"})
    page.set_viewport_size({"width": 1600, "height": 900})
    page.goto(editor.begin())
    expect(page.locator(".statusbar-item", has_text="2 live · 3 held")).to_be_visible()
    held = page.locator(".explorer-folders-view .monaco-list-row", has_text="auth.py")
    expect(held.locator(".monaco-icon-label")).to_have_attribute("aria-label", HELD)
    held.dblclick()
    expect(page.locator(".notification-list-item-message", has_text=HELD)).to_be_visible()
    page.get_by_role("tab", name="Clearway").first.click()
    for shown in ("codex", "auth.py", "Split the lexer"):
        expect(page.locator(".pane-body .monaco-list-row", has_text=shown).first).to_be_visible()
    page.get_by_role("button", name="Show the room", exact=True).click()
    frame = page.frame_locator("iframe.webview").frame_locator("#active-frame")
    expect(frame.locator(".panel", has_text="auth.py")).to_be_visible()
    frame.locator(".panel").get_by_label("Close").click()
    expect(frame.get_by_text("Split the lexer").first).to_be_visible()
    _picture(page, "vscode.png")
    editor.clearway("--as", "codex", "release", "auth.py")
    expect(page.locator(".statusbar-item", has_text="2 held")).to_be_visible()


def test_the_room_in_a_tab_is_the_whole_room(editor: Editor, page: Any) -> None:
    """A comment and a release from the frame stand in the log as the human's; a host that was exchanged and a window
    that is loaded again are gone on with; and the frame can reach no host."""
    from playwright.sync_api import expect

    editor.clearway("init")
    editor.clearway("--as", "codex", "claim", "auth.py", "--purpose", "refactor auth")
    editor.clearway("issue", "create", "Split the lexer", "--status", "ready")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(editor.begin())
    page.get_by_role("tab", name="Clearway").first.click()
    page.locator(".pane-body .monaco-list-row", has_text="Split the lexer").first.click()
    frame = page.frame_locator("iframe.webview").frame_locator("#active-frame")
    panel = frame.locator(".panel")
    expect(panel.get_by_role("heading", name="Split the lexer")).to_be_visible()
    panel.locator("textarea").fill("from the tab")
    panel.get_by_role("button", name="Comment").click()
    expect(panel.get_by_text("from the tab")).to_be_visible()
    panel.get_by_label("Close").click()
    frame.get_by_role("link", name="auth.py").first.click()
    panel.get_by_role("button", name=re.compile("^Release")).click()
    panel.get_by_role("button", name="Yes, do it").click()
    expect(page.locator(".statusbar-item", has_text="0 held")).to_be_visible()
    events = editor.clearway("changes", "--limit", "200")["events"]
    assert [each["agent"] for each in events if each["type"] == "comment_added"] == ["human"]
    assert [each["data"]["forced_by"] for each in events if each["type"] == "paths_released"] == ["human"]
    panel.get_by_label("Close").click()
    for view in VIEWS:
        frame.locator(".tabs").get_by_role("link", name=view.capitalize()).click()
        expect(frame.locator(f"#view.view-{view} > *").first).to_be_visible()
    address = editor.clearway("host", "status")["http"]
    editor.clearway("host", "stop")
    editor.clearway("issue", "create", "After the host", "--status", "ready")
    frame.locator("#view").press("g")
    frame.locator("#view").press("b")
    expect(frame.get_by_text("After the host").first).to_be_visible()
    frame.get_by_role("link", name="ISSUE-2").first.click()
    expect(panel.get_by_role("heading", name="After the host")).to_be_visible()
    editor.set(**{"workbench.colorTheme": "Default High Contrast", "workbench.reduceMotion": "on"})
    page.locator(".part.sidebar").click(position={"x": 200, "y": 200})
    page.keyboard.press("F1")
    page.keyboard.type("Developer: Reload Window")
    expect(page.locator(".quick-input-list .monaco-list-row", has_text="Reload Window")).to_be_visible()
    page.keyboard.press("Enter")
    expect(panel.get_by_role("heading", name="After the host")).to_be_visible()
    expect(frame.locator("html[data-theme=dark]")).to_be_attached()
    assert frame.locator(".panel").evaluate(LOOKS) == ["rgb(0, 0, 0)", "none", "none"]
    _picture(page, "vscode-contrast.png")
    assert not [url for url in asked if url.startswith(address)]
    assert frame.locator("body").evaluate(TRIES_TO_ASK, address) == ["connect-src", None]


def test_each_folder_of_a_window_has_its_room(editor: Editor, page: Any, tmp_path: Path) -> None:
    """The tab shows the rooms of the window's folders, and of no other repository of this home."""
    from playwright.sync_api import expect

    folders = [editor.repository, tmp_path / "second", tmp_path / "elsewhere"]
    for folder in folders[1:]:
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    for folder in folders:
        editor.clearway("init", cwd=folder)
        editor.clearway("issue", "create", f"Work of {folder.name}", "--status", "ready", cwd=folder)
    window = tmp_path / "both.code-workspace"
    window.write_text(json.dumps({"folders": [{"path": str(folder)} for folder in folders[:2]]}))
    page.goto(f"{editor.begin().partition('?')[0]}?workspace={window}")
    page.get_by_role("tab", name="Clearway").first.click()
    page.locator(".pane-body .monaco-list-row", has_text="Work of second").first.click()
    frame = page.frame_locator("iframe.webview").frame_locator("#active-frame")
    expect(frame.get_by_role("heading", name="Work of second")).to_be_visible()
    frame.locator(".panel").get_by_label("Close").click()
    rooms = frame.get_by_label("Room", exact=True)
    assert sorted(rooms.locator("option").all_inner_texts()) == ["repository", "second"]
    page.locator(".pane-body .monaco-list-row", has_text="Work of repository").first.click()
    expect(frame.get_by_role("heading", name="Work of repository")).to_be_visible()


def test_in_a_workspace_that_is_not_trusted_nothing_runs(editor: Editor, page: Any, tmp_path: Path) -> None:
    """The folder names a program of its own in its settings, and has it beside them."""
    from playwright.sync_api import expect

    editor.clearway("init")
    ran, program = tmp_path / "ran", editor.repository / "program"
    program.write_text(f'#!/bin/sh\ntouch {ran}\nexec {CLEARWAY} "$@"\n')
    program.chmod(0o755)
    (editor.repository / ".vscode").mkdir()
    (editor.repository / ".vscode" / "settings.json").write_text(json.dumps({"clearway.program": str(program)}))
    editor.set(**{"security.workspace.trust.enabled": True})
    page.goto(editor.begin())
    expect(page.locator(".statusbar-item", has_text="Restricted Mode")).to_be_visible()
    expect(page.locator(".explorer-folders-view .monaco-list-row", has_text="auth.py")).to_be_visible()
    assert page.locator(".statusbar-item", has_text="held").count() == 0
    assert not ran.exists()
    page.locator(".statusbar-item", has_text="Restricted Mode").click()
    page.get_by_role("button", name="Trust", exact=True).click()
    expect(page.locator(".statusbar-item", has_text="0 held")).to_be_visible()
    assert ran.exists(), "a person who trusts a folder trusts the program that it names"
