"""Boards and incidents: what they tell, what they leave out, and that nobody's words can break them."""

from __future__ import annotations

import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Terminal

from clearway.surfaces import drawings

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style></svg><b>bold",
    "[link](https://evil.example) ![x](https://evil.example/x.png)",
    "| a | b |",
    "`code` *bold* _em_ # @all #17 $x$ ~~gone~~",
    "one\ntwo\r\n## Forged heading",
    "\u202e\u200b\x1b[31mred\x07",
    "&lt;script&gt; ]]> --> {{7*7}}",
)


@pytest.fixture
def busy(terminal: Terminal) -> Terminal:
    """Work in every column, a held path, a refusal, and words that mean harm."""
    terminal("init", "--name", "Shop <i>")
    for number, title in enumerate(HOSTILE):
        status = ("ready", "open")[number % 2]
        terminal("call", "create_issue", json.dumps({"title": title, "status": status}))
    terminal("issue", "create", "Stuck", "--status", "blocked", "--blocked-reason", "no key <hr>")
    terminal("issue", "create", "Looked at", "--status", "ready")
    terminal("issue", "link", "ISSUE-1", "ISSUE-3")
    terminal("--as", "codex", "issue", "claim", "ISSUE-1", "--no-context")
    terminal("--as", "codex", "claim", "src", "--purpose", "<u>the parser</u>")
    terminal("--as", "claude", "claim", "src/a.py")
    terminal("review", "request", "ISSUE-11")
    return terminal


class Tags(HTMLParser):
    """What a page is made of, and where it would go."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name.startswith("on") or name in ("src", "href", "action", "style") or "url(" in (value or ""):
                self.outside.append(f"{tag} {name}={value}")


OURS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "table", "thead", "tbody", "tr"}
OURS |= {"th", "td", "svg", "defs", "marker", "path", "g", "rect", "text"}


def read(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    return found


def test_a_board_is_one_file_with_live_leases_reasons_and_open_reviews(busy: Terminal) -> None:
    """I65."""
    told = busy("board", "--output", "board.html")
    page = (busy.folder / "board.html").read_text()
    found = read(page)
    assert told.status == 0 and "html" in told.out
    assert found.outside == ["path marker-end=url(#tip)"], "no address but that of an arrow's tip"
    assert "https:" not in page.replace("https://evil.example", "") and "script" not in found.tags
    assert "codex" in page and "ISSUE-1" in page
    assert "no key &lt;hr&gt;" in page
    assert "review open" in page
    assert "waits for ISSUE-1" in page
    assert (busy.folder / "board.html").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("word", ["board", "incident"])
def test_no_words_of_others_become_part_of_a_page(busy: Terminal, word: str) -> None:
    """I65: titles are escaped, whatever they are."""
    busy(word, "--output", "page.html")
    page = (busy.folder / "page.html").read_text()
    found = read(page)
    assert found.tags <= OURS
    assert not [each for each in found.outside if "tip" not in each]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not {"\u202e", "\u200b", "\x1b", "\x07"} & set(page)


@pytest.mark.parametrize("word", ["board", "incident"])
def test_no_words_of_others_become_part_of_markdown(busy: Terminal, word: str) -> None:
    busy(word, "--output", "page.md")
    lines = (busy.folder / "page.md").read_text().split("\n")
    text = re.sub(r"\\.", "", "\n".join(lines))  # what is escaped means nothing
    assert not set("<>[]`*_~$") & set(text)
    assert "@all" not in text
    assert "://" not in text and "www." not in text, "nothing becomes a link by itself"
    assert not [line for line in lines if line.startswith("## Forged")]
    widths: list[int] = []
    for line in lines:  # every row of a table has as many cells as its heading
        if line.startswith("| "):
            widths.append(line.replace("\\|", "").count("|"))
        else:
            assert len(set(widths)) <= 1, f"above {line!r}"
            widths = []


@pytest.mark.parametrize("word", ["board", "incident", "replay"])
def test_no_words_of_others_command_a_terminal(busy: Terminal, word: str) -> None:
    told = busy(word)
    assert told.status == 0
    assert not {"\u202e", "\u200b", "\x1b", "\x07", "\r"} & set(told.out)
    assert not [line for line in told.out.split("\n") if line.startswith(("## Forged", "two"))]
    assert json.loads(busy("--json", word).out)


def test_a_report_goes_where_it_is_sent_and_says_so(busy: Terminal) -> None:
    for name, how in (("b.md", "markdown"), ("b.json", "json"), ("b.txt", "text")):
        told = busy("--json", "board", "--output", name)
        assert told.json["format"] == how
        assert (busy.folder / name).stat().st_size == told.json["bytes"]
    assert json.loads((busy.folder / "b.json").read_text())["counts"]["live"] == 1
    (busy.folder / "b.html").write_text("old")
    busy("board", "--output", "b.html")
    assert "old" not in (busy.folder / "b.html").read_text()[:3]
    assert busy("board", "--output", "no/such/folder.html").code == "INVALID_ARGUMENT"
    assert busy("board", "--format", "pdf").code == "INVALID_ARGUMENT"
    assert not list(busy.folder.glob(".clearway-*"))


def test_an_empty_project_has_a_board_too(terminal: Terminal) -> None:
    terminal("init")
    assert "No issues yet" in terminal("board").out
    assert terminal("board", "--output", "b.html").status == 0


# --- incidents --------------------------------------------------------------------------------------------------------


def event_of(terminal: Terminal, type: str) -> int:
    return int(terminal("--json", "changes", "--event-type", type, "--since", "0").json["events"][0]["id"])


def test_an_incident_tells_the_collision_with_the_room_before_and_after(busy: Terminal) -> None:
    collision = event_of(busy, "refused")
    told = busy("incident", "--event", str(collision)).out
    assert "src/a.py (by a lease on src) is held by codex" in told
    assert f"{collision}" in told
    found = busy("--json", "incident", "--from", str(collision), "--to", str(collision)).json
    assert [event["type"] for event in found["events"]] == ["refused"]
    assert found["took_part"] == ["claude"]
    assert [path["path"] for path in found["before"]["paths"]] == ["src"]


def test_an_incident_is_narrowed_to_an_agent_an_issue_or_a_path(busy: Terminal) -> None:
    def types(*words: str) -> list[str]:
        return [event["type"] for event in busy("--json", "incident", *words).json["events"]]

    assert types("--agent", "codex") == ["attempt_started", "paths_claimed", "refused"]  # it held what was refused
    assert set(types("--issue", "issue-1")) == {"issue_created", "relation_added", "attempt_started"}
    assert types("--path", "src/a.py") == ["paths_claimed", "refused"]
    assert types("--path", "docs") == []
    assert types("--from", "1h", "--to", "0s")
    assert busy("incident", "--from", "2001-01-01", "--to", "2001-01-02").code == "INVALID_ARGUMENT"
    assert busy("incident", "--issue", "ISSUE-99").code == "ISSUE_NOT_FOUND"
    for wrong in ("yesterday", "0", "99999", "25:00", "-1"):
        assert busy("incident", "--from", wrong).code == "INVALID_ARGUMENT", wrong


def test_nothing_private_leaves_with_an_incident(busy: Terminal, tmp_path: Path) -> None:
    """Secrets, message texts, notes, the home folder, the machine's name, and session ids stay behind."""
    secret = "ghp_" + "a1B2" * 9
    busy("--as", "codex", "say", f"the key is {secret}")
    busy("issue", "comment", "ISSUE-1", f"private words, password={secret}")
    busy("issue", "create", f"Rotate TOKEN={secret}")
    place = str(tmp_path / "person")
    busy("--as", "codex", "claim", "docs", "--purpose", f"as in {place}/notes.txt")
    long_id = "4f9d2b1c-aaaa-bbbb-cccc-1234567890ab"
    busy("--as", "codex", "claim", "free.txt", CLEARWAY_SESSION=long_id)
    for form in ("text", "markdown", "html", "json"):
        told = busy("incident", "--format", form).out
        for private in (secret, "private words", "the key is", place, long_id):
            assert private not in told.replace("\\", ""), (form, private)
        assert "codex" in told


def test_an_incident_is_bounded_and_says_what_it_left_out(busy: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.surfaces.incidents.INCIDENT_EVENTS_MAX", 3)
    found: dict[str, Any] = busy("--json", "incident", "--from", "1").json
    assert len(found["events"]) == 3
    assert found["left_out"] > 5
    assert "left out" in busy("incident", "--from", "1").out


def test_in_a_drawing_what_waits_stands_behind_and_no_arrow_crosses_a_box() -> None:
    chance = random.Random("drawings")
    for _ in range(30):
        count = chance.randint(2, 20)
        names = [f"ISSUE-{number}" for number in range(count)]
        edges = [
            {"source": names[one], "target": names[other], "type": "blocks"}
            for one in range(count)
            for other in range(one + 1, count)
            if chance.random() < 0.2
        ]
        nodes = [{"display_id": name, "title": name, "status": "ready"} for name in names]
        drawn = drawings.waiting({"nodes": nodes, "edges": edges})
        assert bool(drawn) == bool(edges)
        boxes = {
            name: (int(x), int(y))
            for x, y, name in re.findall(r'<rect x="(\d+)" y="(\d+)"[^>]*/><text[^>]*>(ISSUE-\d+) ', drawn)
        }
        assert set(boxes) == {edge[end] for edge in edges for end in ("source", "target")}
        assert len(set(boxes.values())) == len(boxes)
        for edge in edges:
            assert boxes[edge["source"]][0] < boxes[edge["target"]][0]
        for level in re.findall(r" (\d+) (\d+)H(\d+)", drawn):  # where an arrow passes a column
            begins, y, ends = map(int, level)
            crossed = [box for box in boxes.values() if begins <= box[0] < ends and box[1] <= y <= box[1] + 42]
            assert not crossed


def test_a_replay_is_asked_for_by_number_or_by_time(busy: Terminal) -> None:
    latest = busy("--json", "replay").json["at"]
    assert busy("--json", "replay", "--at", "0s").json["at"] == latest
    assert busy("--json", "replay", "--at", "2001-01-01").json["counts"] == {"finished": 0}
    assert busy("--json", "replay", "--at", "#2").json["at"] == 2
    assert busy("replay", "--at", "yesterday").code == "INVALID_ARGUMENT"
    assert busy("replay", "--at", str(latest + 1)).code == "INVALID_ARGUMENT"


# --- what is registered ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "file", "theirs"),
    [
        ("claude", "person/.claude.json", {"mcpServers": {"other": {"command": "other"}}, "theme": "dark"}),
        ("vscode", "repo/.vscode/mcp.json", {"servers": {"other": {"command": "other"}}}),
    ],
)
def test_a_client_is_connected_once_beside_the_servers_of_others(
    terminal: Terminal, tmp_path: Path, client: str, file: str, theirs: dict[str, Any]
) -> None:
    """I65: shown without being written, written, the same again, and an unknown client is told which there are."""
    terminal("init")
    settings = tmp_path / file
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps(theirs))
    scope = ("--scope", "project") if client == "vscode" else ()

    shown = terminal("connect", client, *scope)
    assert "clearway" in shown.out and json.loads(settings.read_text()) == theirs
    terminal("connect", client, *scope, "--write")
    written = settings.read_bytes()
    (servers,) = [value for name, value in json.loads(written).items() if name in ("mcpServers", "servers")]
    assert set(servers) == {"other", "clearway"} and servers["other"] == {"command": "other"}
    terminal("connect", client, *scope, "--write")
    assert settings.read_bytes() == written

    unknown = terminal("connect", "emacs")
    assert unknown.code == "INVALID_ARGUMENT"
    assert "claude" in unknown.err and "vscode" in unknown.err
