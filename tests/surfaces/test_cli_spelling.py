"""How an operation is spelt: two readers of one declaration, and what a person may leave out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.surfaces.conftest import Terminal

from clearway import arguments
from clearway.arguments import Choice, Many, Whole
from clearway.catalog import OPERATIONS
from clearway.errors import Refusal
from clearway.surfaces import asking, boards, commands, index, looking, menu, options, shortcut, words
from clearway.surfaces.spelling import COMMANDS, Slot

VALUES = ["x", "", "-", "--", "-1", "--json", "ISSUE-1", "@x", "a b", "--status", "ü", "0", "=", "--title=x"]
ALWAYS = ["--json", "--as", "anna", "-C", ".", "--room", "r", "--help", "-h", "--nonsense", "-x"]


class Understood(Exception):
    """Raised in the place of asking a room: what was understood."""


def by_click(line: Sequence[str]) -> tuple[Any, ...] | None:
    """What the tree of commands makes of a line; None where it has something to say about it."""
    try:
        commands.program.main(args=list(line), prog_name="clearway", standalone_mode=False)
    except Understood as found:
        return found.args
    except Refusal as refusal:
        return (refusal.code,)
    except (click.UsageError, click.exceptions.Exit):
        return None
    return None


def by_shortcut(line: list[str]) -> tuple[Any, ...] | None:
    try:
        return None if shortcut.carried_out(line, {}) is None else ("page",)
    except Refusal as refusal:
        return (refusal.code,)
    except Understood as found:
        return found.args


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both readers end where a room would be asked."""

    def perform(run: asking.Run, command: Any, given: dict[str, Any]) -> None:
        typed = {name: value for name, value in given.items() if value not in (None, ()) and name != "edit"}
        raise Understood(command.words, sorted(typed.items()), run.as_json, run.agent, run.directory, run.room)

    def look(name: str) -> Any:
        def seen(run: asking.Run, *_: Any) -> None:
            raise Understood(name, run.as_json, run.agent, run.directory, run.room)

        return seen

    monkeypatch.setattr(asking.Run, "perform", perform)
    monkeypatch.setattr(boards, "show", look("board"))
    monkeypatch.setattr(looking, "status", look("status"))
    monkeypatch.setattr(looking, "history", look("history"))
    monkeypatch.setattr(looking, "overview", look("overview"))
    monkeypatch.setattr(sys, "stdout", open("/dev/null", "w"))  # noqa: SIM115


def typed(slot: Slot) -> st.SearchStrategy[list[str]]:
    """A slot as somebody would fill it."""
    value = st.sampled_from(VALUES)
    if slot.placed:
        return st.lists(value, min_size=1, max_size=2 if slot.several else 1)
    if slot.is_flag:
        return st.sampled_from([slot.options, [slot.no] if slot.no else slot.options]).map(lambda words: [words[-1]])
    return st.tuples(st.sampled_from(slot.options), value).map(list)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A line that is nearly right: a command, some of its slots, and now and then something else."""
    name = draw(st.sampled_from([*COMMANDS, "status", "board", "history", ""]))
    line = draw(st.lists(st.sampled_from(ALWAYS), max_size=2)) if draw(st.booleans()) else []
    line += name.split()
    slots = COMMANDS[name].slots if name in COMMANDS else []
    wanted = [slot for slot in slots if slot.placed and slot.required]
    wanted += draw(st.lists(st.sampled_from(slots), max_size=4)) if slots else []
    parts = [draw(typed(slot)) for slot in wanted]
    parts += [[word] for word in draw(st.lists(st.sampled_from([*VALUES, *ALWAYS]), max_size=1))]
    return line + [word for part in draw(st.permutations(parts)) for word in part]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=lines())
def test_a_line_means_the_same_to_both_readers(readers: None, line: list[str]) -> None:
    quick = by_shortcut(line)
    assert quick is None or quick == ("page",) or quick == by_click(line)


@pytest.mark.parametrize(
    "line",
    [
        "", "status", "--json status", "board", "--json board", "history", "owner a", "--as anna claim a b --purpose x",
        "claim a --ttl 30m --as anna --json",
        "release", "release a b", "issue list --status ready --status open --limit 5", "issue --json show 1", "next",
        "issue create T --no-create-missing-labels", "issue claim 1 --no-context", "why a", "changes --since 4",
        "issue update 1 --title T --label a", "issue comment 1 text", "off 30m", "off", "config set fail closed",
        "issue link 1 2 --type related_to", "attempt finish 1 --outcome completed --target done --summary x",
    ],
)  # fmt: skip
def test_a_line_as_it_is_declared_needs_no_library(readers: None, line: str) -> None:
    found = by_shortcut(line.split())
    assert found is not None
    assert found == by_click(line.split())


def test_an_empty_word_is_not_no_word() -> None:
    assert shortcut.understood([""]) is None
    assert shortcut.understood([]) is not None


HEAVY = {"click", "collections", "contextlib", "datetime", "enum", "functools", "inspect", "json", "re", "typing"}
NOUNS = {"clearway.work.issues", "clearway.crew.leases", "clearway.crew.messages", "clearway.work.plans"}


@pytest.mark.parametrize(
    ("line", "nouns"),
    [
        ("owner held.txt", {"clearway.crew.leases"}),
        ("issue list", {"clearway.work.issues"}),
        ("inbox", {"clearway.crew.messages"}),
        ("--help", set[str]()),
        ("--version", set[str]()),
    ],
)
def test_a_plain_line_loads_its_noun_and_no_library(terminal: Terminal, line: str, nouns: set[str]) -> None:
    loaded, ended = _loads(terminal, line)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert loaded & HEAVY == set()
    assert loaded & NOUNS == nouns
    assert ("clearway.arguments" in loaded) == bool(nouns)


@pytest.mark.parametrize(
    "line",
    [
        *("status", "room", "issue show 1", "issue why 1", "why held.txt", "cost", "board", "history", ""),
        *("issue list --limit 1", "replay", "--as anna next", "--as anna claim held.txt", "--as anna say hello"),
    ],
)
def test_a_plain_line_loads_no_library(terminal: Terminal, line: str) -> None:
    for title in ("Work", "More"):
        terminal("issue", "create", title, "--status", "ready")
    loaded, ended = _loads(terminal, line)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert loaded & HEAVY == set()


def _loads(terminal: Terminal, line: str) -> tuple[set[str], subprocess.CompletedProcess[str]]:
    """What a line of its own process has loaded when it is answered."""
    code = (
        "import sys; from clearway.surfaces import cli; status = cli.run(sys.argv[2:]);"
        "open(sys.argv[1], 'w').write(' '.join(sys.modules)); sys.exit(status)"
    )
    file = terminal.folder.parent / "loaded"
    code = f"import sys; sys.path[:0] = {sys.path!r}; {code}"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(file), *line.split()],
        env=terminal.environ, cwd=terminal.folder, capture_output=True, text=True,
    )  # fmt: skip
    return set(file.read_text().split()), ended


def test_the_index_is_what_the_declarations_say() -> None:
    spelt = [(each.name, (each.cli, each.group, arguments.summary(each))) for each in OPERATIONS.values()]
    assert list(index.SPELT.items()) == spelt, "run: make docs"


def test_the_index_knows_who_tells_a_person_each_answer() -> None:
    written: dict[str, str] = {}
    for file in Path(index.__file__).parent.glob("*.py"):
        if file.stem != "index" and "\nWRITERS" in file.read_text():
            written |= dict.fromkeys(import_module(f"clearway.surfaces.{file.stem}").WRITERS, file.stem)
    assert written == index.WRITERS, "run: make docs"
    assert {name for name in written if " " not in name} <= set(OPERATIONS)
    assert {name for name in written if " " in name} <= set(COMMANDS)


# --- the menu ---------------------------------------------------------------------------------------------------------


def test_every_word_of_the_menu_has_its_command_and_its_summary() -> None:
    listed = {word: about for _, entries in menu.sections() for word, about in entries.items()}
    made = {word: words.BY_NAME.get(word) for word in words.BY_NAME}
    assert all(command is not None and command.name == word for word, command in made.items())
    own = {word: command.get_short_help_str(200) for word, command in made.items() if command is not None}
    for word, about in own.items():
        assert listed[word] == about
    assert set(listed) == {*own, *(words.partition(" ")[0] for words in COMMANDS)}
    assert {operation.cli for operation in OPERATIONS.values() if operation.cli} <= set(COMMANDS)


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_the_first_page_of_help_fits_the_terminal(columns: int) -> None:
    lines = menu.help_page(columns).splitlines()
    assert max(map(len, lines)) <= min(columns, menu.HELP_COLUMNS)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_two_options_of_a_command_have_one_name(command: Any) -> None:
    options = [option for slot in command.slots for option in (*slot.options, slot.no) if option]
    assert len(options) == len(set(options))
    assert not {"--json", "--as", "-C", "--room", "--edit", "--help", "-h"} & set(options)


def test_predecessors_words_are_understood(terminal: Terminal) -> None:
    terminal("issue", "create", "Work", "--status", "ready")
    attempt = terminal("--json", "--as", "anna", "next").json["attempt_id"]
    assert terminal("maintenance", "release-attempt", attempt).status == 0
    assert terminal("--json", "attempt", "list", "1").json["items"][0]["status"] == "interrupted"
    assert "Nothing was written" in terminal("init", "claude-code").out
    assert terminal("--json", "project", "info").json["root"] == terminal("--json").json["root"]
    assert terminal("info").out == terminal().out
    assert terminal("version").out == terminal("--version").out
    assert terminal("maintenance", "rebuild-search-index").status == 0
    assert "Run, start, stop" in terminal("broker", "--help").out
    assert "maintenance" not in terminal("--help").out


# --- what may be left out, and shorter words --------------------------------------------------------------------------


def test_the_version_is_the_one_that_was_just_read(terminal: Terminal) -> None:
    terminal("issue", "create", "Work")
    assert terminal("--json", "issue", "update", "1", "--title", "Other").json["version"] == 2
    assert terminal("--json", "issue", "update", "1", "--priority", "high").json["changed_fields"] == ["priority"]
    assert terminal("issue", "update", "1", "--title", "Late", "--expected-version", "1").code == "VERSION_CONFLICT"
    assert terminal("issue", "archive", "1").status == 0
    assert "ISSUE-1" not in terminal("issue", "list").out
    assert terminal("issue", "unarchive", "1").status == 0
    assert "ISSUE-1" in terminal("issue", "list").out
    assert terminal("issue", "archive", "9").code == "ISSUE_NOT_FOUND"
    assert terminal("issue", "update", "1").code == "INVALID_ARGUMENT"


def test_fields_are_set_and_cleared_by_options(terminal: Terminal) -> None:
    (terminal.folder / "text.md").write_text("Long\ntext\n")
    terminal("issue", "create", "Work", "--label", "a", "--labels", "b", "--acceptance-criteria", "when green")
    terminal("issue", "update", "1", "--description", "@text.md", "--label", "c", "--acceptance-criteria", "")
    shown = terminal("--json", "issue", "show", "1").json
    assert (shown["description"], shown["labels"]) == ("Long\ntext", ["c"])
    assert not shown.get("acceptance_criteria")
    terminal("issue", "update", "1", "--label", "", "--description", "")
    shown = terminal("--json", "issue", "show", "1").json
    assert (shown.get("description"), shown["labels"]) == (None, [])
    assert terminal("issue", "update", "1", "--title", "").code == "INVALID_ARGUMENT"
    assert terminal("issue", "update", "1", "--status", "asleep").code == "INVALID_ARGUMENT"


def test_issues_are_linked_and_unlinked(terminal: Terminal) -> None:
    for title in ("One", "Two"):
        terminal("issue", "create", title, "--status", "ready")
    assert terminal("issue", "link", "1", "2").out == "ISSUE-1 blocks ISSUE-2.\n"
    assert terminal("issue", "claim", "2").code == "ISSUE_BLOCKED"
    assert terminal("issue", "link", "2", "1").code == "BLOCKS_CYCLE"
    assert terminal("issue", "unlink", "1", "2").out == "ISSUE-1 no longer blocks ISSUE-2.\n"
    assert terminal("issue", "unlink", "1", "2").out == "Nothing to change: ISSUE-1 no longer blocks ISSUE-2.\n"
    assert terminal("issue", "link", "1", "2", "--type", "duplicates").out == "ISSUE-1 is a duplicate of ISSUE-2.\n"


def test_seconds_may_be_written_as_people_do(terminal: Terminal) -> None:
    assert "(in 3 h)" in terminal("--as", "anna", "claim", "held.txt", "--ttl", "3h").out
    assert "(in 2 min)" in terminal("--as", "anna", "claim", "free.txt", "--ttl", "2m").out
    assert terminal("--as", "anna", "claim", "free.txt", "--ttl", "-1m").code == "INVALID_ARGUMENT"
    assert terminal("--as", "anna", "claim", "free.txt", "--ttl", "soon").code == "INVALID_ARGUMENT"


def test_a_new_operation_needs_nothing_here() -> None:
    """Whatever is declared can be spelt: each argument has a place, has an option, or is fixed."""
    for command in COMMANDS.values():
        reached = {slot.name for slot in command.slots} | {*command.fixed, *command.without}
        for parameter in arguments.parameters(command.operation):
            if not isinstance(parameter.kind, arguments.Patch):
                assert parameter.name in reached, command.words
        for parameter in options.of_command(command):
            assert isinstance(parameter, click.Parameter)


def test_completion_knows_the_issues_of_this_room(terminal: Terminal) -> None:
    terminal("issue", "create", "First thing")
    terminal("issue", "create", "Second thing")

    def completed(line: str, shell: str = "bash") -> str:
        asked = {"_CLEARWAY_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return terminal.program(environ=asked).stdout.decode()

    assert completed("clearway issue show iss") == "plain,ISSUE-1\nplain,ISSUE-2\n"
    assert "First thing" in completed("clearway issue show I", "zsh")
    assert completed("clearway issue update 1 --priority h") == "plain,high\n"
    assert completed("clearway attempt no") == "plain,note\n"
    assert completed("clearway owner hel").startswith("file,")
    assert completed("clearway conf") == "plain,config\n"


def test_completion_makes_no_room_and_no_noise(terminal: Terminal) -> None:
    asked = {"_CLEARWAY_COMPLETE": "bash_complete", "COMP_WORDS": "clearway issue show I", "COMP_CWORD": "3"}
    ended = terminal.program(environ=asked)
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, b"", b"")
    assert not (terminal.folder.parent / "state" / "rooms").exists()


def test_help_tells_what_a_value_may_be(terminal: Terminal) -> None:
    shown = " ".join(terminal("issue", "update", "--help").out.split())
    assert "--parent, --parent-issue-id TEXT Empty clears it." in shown
    assert "--status open|ready|blocked|review|done|cancelled" in shown
    assert "[default: found by itself]" in shown
    assert "[required]" not in shown
    assert "--edit" in shown
    whole = next(slot for slot in COMMANDS["claim"].slots if isinstance(slot.kind, Whole))
    assert whole.metavar == "TIME"
    assert isinstance(next(s for s in COMMANDS["issue list"].slots if s.several).kind, Many)
    assert isinstance(next(s for s in COMMANDS["issue list"].slots if s.several).one, Choice)


def test_refusals_of_derived_arguments_name_what_was_typed_wrong(terminal: Terminal) -> None:
    ended = terminal("--json", "issue", "update", "1", "--status", "asleep")
    assert json.loads(ended.err)["details"][0]["field"] == "changes.status"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("attempt list --issue ISSUE-1", "attempt list ISSUE-1"),
        ("decision list --limit 5 --issue-id=ISSUE-1", "decision list ISSUE-1 --limit 5"),
        ("--json attempt renew --attempt-id x", "--json attempt renew x"),
        ("issue claim --issue ISSUE-1 --no-context", "issue claim ISSUE-1 --no-context"),
    ],
)
def test_what_may_be_left_out_goes_by_its_name_too(readers: None, line: str, meant: str) -> None:
    assert by_click(line.split()) == by_click(meant.split()) is not None
    assert by_click("search x --issue ISSUE-1".split()) is not None, "what is an option stays one"
    assert by_click(f"{line} y".split()) is None, "no place is there twice"


@pytest.mark.parametrize(
    ("line", "way_out"),
    [
        ("issue link ISSUE-1 eats ISSUE-2", "must be one of blocks, related_to, duplicates"),
        ("issue update ISSUE-1", "say what changes, as with --title"),
        ("issue reserve ISSUE-1", "say what changes, as with --for"),
        ("plan validate nowhere.json", "There is no file"),
    ],
)
def test_what_was_typed_wrong_is_answered_with_what_may_be_typed(terminal: Terminal, line: str, way_out: str) -> None:
    terminal("init")
    terminal("issue", "create", "Parser")
    ran = terminal(*line.split())
    assert (ran.status, way_out in ran.err) == (2, True), ran.err
